//! One document: bytes in, text or features out, with the way back to the bytes.
//!
//! ```text
//! bytes ─► binary? ─► HTML or text? ─► decode ─► html::text ─┐
//!                                      decode ─► JSON features ─┴─► tokens, sketch
//! ```
//!
//! Markdown and source code are text as they stand. Time and memory O(bytes); UTF-8
//! text is borrowed. [`Document::read_mapped`] also keeps the way back, for showing
//! passages; it is slower for HTML and for other charsets.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::str::FromStr;

use lookalike_core::canonical::{TokenKind, Tokens};
use lookalike_core::recipe::Recipe;
use lookalike_core::sketch::Sketch;
use lookalike_core::sketcher::Sketcher;
use lookalike_core::weighted::{self, BadWeight, WeightedSet};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::decode::{Decoded, EncodingSource, Hints, decode, decode_mapped};
use super::html;
use super::options::ReadOptions;
use super::record::{Body, Kind, Record};
use super::source_map::SourceMap;
use super::unusable::Unusable;

/// What the bytes of a file are taken for.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Format {
    /// HTML by its extension or its first tag, otherwise text; binary files are refused.
    #[default]
    Auto,
    /// HTML, whatever it looks like.
    Html,
    /// Text as it stands, whatever it looks like.
    Text,
}

impl Format {
    const ALL: [(Format, &'static str); 3] = [
        (Format::Auto, "auto"),
        (Format::Html, "html"),
        (Format::Text, "text"),
    ];
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = Format::ALL.iter().find(|(format, _)| format == self);
        f.write_str(known.map_or("", |(_, name)| name))
    }
}

/// A format that does not exist.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("unknown format `{0}`; there are auto, html and text")]
pub struct UnknownFormat(pub String);

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(name: &str) -> Result<Format, UnknownFormat> {
        let known = Format::ALL.iter().find(|(_, known)| *known == name);
        known
            .map(|(format, _)| *format)
            .ok_or_else(|| UnknownFormat(name.to_owned()))
    }
}

/// How bytes are to be read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reading<'a> {
    /// The file's name, whose extension counts; none for standard input.
    pub name: Option<&'a Path>,
    /// What the bytes are taken for.
    pub format: Format,
    /// What a token will be: features may come as JSON.
    pub tokens: TokenKind,
}

/// A document, ready to be cut into tokens.
#[derive(Clone, Debug)]
pub struct Document<'a> {
    content: Content<'a>,
    is_html: bool,
    encoding: &'static str,
    encoding_source: EncodingSource,
    replaced: usize,
}

#[derive(Clone, Debug)]
enum Content<'a> {
    Text(Cow<'a, str>),
    Features(Features),
}

/// A list of features, and where each ends when they stand one a line.
#[derive(Clone, Debug, Default)]
struct Features {
    list: Vec<String>,
    ends: Vec<usize>,
    /// One for each of them, or none.
    weights: Vec<f64>,
}

impl Features {
    fn new(list: Vec<String>) -> Features {
        let ends = list.iter().scan(0, |next, feature| {
            let end = *next + feature.len();
            *next = end + 1;
            Some(end)
        });
        Features {
            ends: ends.collect(),
            list,
            weights: Vec::new(),
        }
    }

    fn weighted(all: Vec<(String, f64)>) -> Features {
        let (list, weights) = all.into_iter().unzip();
        Features {
            weights,
            ..Features::new(list)
        }
    }

    fn text_range(&self, features: Range<usize>) -> Range<usize> {
        let end_of = |i: usize| self.ends.get(i).or(self.ends.last()).copied().unwrap_or(0);
        let before = features.start.checked_sub(1);
        let start = before.map_or(0, |i| end_of(i) + 1);
        let last = features.end.checked_sub(1);
        start..last.map_or(start, |i| end_of(i).max(start))
    }
}

/// The way back from a document's tokens to the bytes of its file.
#[derive(Clone, Debug)]
pub struct Origin(Way);

#[derive(Clone, Debug)]
enum Way {
    Text(SourceMap),
    /// Where each feature stands.
    Features(Vec<Range<usize>>),
}

impl Origin {
    /// The bytes of the file that a range of [`Tokens::source`] came from.
    pub fn bytes(&self, source: Range<usize>) -> Range<usize> {
        match &self.0 {
            Way::Text(map) => map.source_range(source),
            Way::Features(places) => {
                let first = places.get(source.start).map_or(0, |place| place.start);
                let last = source.end.checked_sub(1).and_then(|i| places.get(i));
                first..last.map_or(first, |place| place.end.max(first))
            }
        }
    }
}

/// How many bytes are looked at to tell binary from text, and HTML from text.
const LOOK_LEN: usize = 8 << 10;

impl<'a> Document<'a> {
    /// Reads bytes as a document. Whether there are tokens in it is not looked at.
    ///
    /// ```
    /// use lookalike::corpus::document::{Document, Reading};
    ///
    /// let page = b"<!doctype html><p>A rose<b>bud</b> is a rose";
    /// let document = Document::read(page, Reading::default())?;
    /// assert_eq!(document.text(), "A rosebud is a rose");
    /// # Ok::<(), lookalike::corpus::unusable::Unusable>(())
    /// ```
    pub fn read(bytes: &'a [u8], reading: Reading<'_>) -> Result<Document<'a>, Unusable> {
        Document::read_said(bytes, reading, name_kind(reading.name), None)
    }

    /// Reads bytes of which a server or an archive said something.
    fn read_said(
        bytes: &'a [u8],
        reading: Reading<'_>,
        kind: Kind,
        http_charset: Option<&str>,
    ) -> Result<Document<'a>, Unusable> {
        let html = look(bytes, reading, kind)?;
        let decoded = decode(bytes, Hints { http_charset, html });
        let is_html = html;
        if let Some((features, _)) = json_features(&decoded.text, reading)? {
            return Ok(Document::new(Content::Features(features), false, &decoded));
        }
        let mut document = Document::new(Content::Features(Features::default()), is_html, &decoded);
        document.content = Content::Text(if is_html {
            Cow::Owned(html::text(&decoded.text))
        } else {
            decoded.text
        });
        Ok(document)
    }

    /// As [`Document::read`], with the way back to the bytes.
    pub fn read_mapped(
        bytes: &'a [u8],
        reading: Reading<'_>,
    ) -> Result<(Document<'a>, Origin), Unusable> {
        let is_html = look(bytes, reading, name_kind(reading.name))?;
        let (decoded, map) = decode_mapped(bytes, hints(is_html));
        if let Some((features, places)) = json_features(&decoded.text, reading)? {
            let places = places.into_iter().map(|place| map.source_range(place));
            let origin = Origin(Way::Features(places.collect()));
            let document = Document::new(Content::Features(features), false, &decoded);
            return Ok((document, origin));
        }
        let mut document = Document::new(Content::Features(Features::default()), is_html, &decoded);
        let (text, map) = if is_html {
            let (text, inner) = html::text_mapped(&decoded.text);
            (Cow::Owned(text), inner.then(&map))
        } else {
            (decoded.text, map)
        };
        document.content = Content::Text(text);
        Ok((document, Origin(Way::Text(map))))
    }

    /// A text that needs no decoding.
    pub fn of_text(text: impl Into<Cow<'a, str>>) -> Document<'a> {
        Document::decoded(Content::Text(text.into()))
    }

    /// A list of features.
    pub fn of_features(features: Vec<String>) -> Document<'a> {
        Document::decoded(Content::Features(Features::new(features)))
    }

    /// Features with weights, in the order of their names.
    pub fn of_weighted(mut features: Vec<(String, f64)>) -> Document<'a> {
        features.sort_by(|x, y| x.0.cmp(&y.0).then(x.1.total_cmp(&y.1)));
        Document::decoded(Content::Features(Features::weighted(features)))
    }

    /// Whether a recipe makes something of it: weights count only where they are drawn by,
    /// and are finite and above 0.
    pub fn check(&self, recipe: &Recipe) -> Result<(), Unusable> {
        let Content::Features(features) = &self.content else {
            return Ok(());
        };
        if !features.weights.is_empty() && !recipe.sketch.is_weighted() {
            return Err(Unusable::Weights);
        }
        let mut sum = 0.0_f64;
        for (feature, &weight) in features.list.iter().zip(&features.weights) {
            let bad = |why| Unusable::BadWeight(excerpt(feature), why);
            sum += weighted::check(weight).map_err(bad)?;
            if sum.is_infinite() {
                return Err(bad(BadWeight::TooMuch));
            }
        }
        Ok(())
    }

    /// Its features with their weights; how often each comes, where there are none.
    fn weights(&self) -> Vec<(String, f64)> {
        let list: Vec<String> = match &self.content {
            Content::Features(features) if !features.weights.is_empty() => {
                let list = features.list.iter().cloned();
                return list.zip(features.weights.iter().copied()).collect();
            }
            Content::Features(features) => features.list.clone(),
            Content::Text(text) => {
                let lines = text.lines().map(|line| line.trim_end_matches('\r'));
                lines
                    .filter(|line| !line.is_empty())
                    .map(str::to_owned)
                    .collect()
            }
        };
        let mut counts: BTreeMap<String, f64> = BTreeMap::new();
        for feature in list {
            *counts.entry(feature).or_insert(0.0) += 1.0;
        }
        counts.into_iter().collect()
    }

    /// All its features with their weights, as fingerprints by a weighted recipe.
    pub fn weighted_set(&self, sketcher: &mut Sketcher) -> WeightedSet {
        // Who was not checked has no weight that is one: it is like nothing.
        sketcher.weighted_set(self.weights()).unwrap_or_default()
    }

    fn decoded(content: Content<'a>) -> Document<'a> {
        Document {
            content,
            is_html: false,
            encoding: "UTF-8",
            encoding_source: EncodingSource::Default,
            replaced: 0,
        }
    }

    fn new(content: Content<'a>, is_html: bool, decoded: &Decoded<'_>) -> Document<'a> {
        Document {
            content,
            is_html,
            encoding: decoded.encoding,
            encoding_source: decoded.source,
            replaced: decoded.replaced,
        }
    }

    /// The same, borrowing nothing.
    pub fn into_owned(self) -> Document<'static> {
        let content = match self.content {
            Content::Text(text) => Content::Text(Cow::Owned(text.into_owned())),
            Content::Features(features) => Content::Features(features),
        };
        Document {
            content,
            is_html: self.is_html,
            encoding: self.encoding,
            encoding_source: self.encoding_source,
            replaced: self.replaced,
        }
    }

    /// Whether it was read as HTML.
    pub fn is_html(&self) -> bool {
        self.is_html
    }

    /// The charset, by the name the Encoding Standard gives it.
    pub fn encoding(&self) -> &'static str {
        self.encoding
    }

    /// Who named the charset.
    pub fn encoding_source(&self) -> EncodingSource {
        self.encoding_source
    }

    /// How many malformed sequences of bytes became U+FFFD.
    pub fn replaced(&self) -> usize {
        self.replaced
    }

    /// The text that tokens are read from; features one a line.
    pub fn text(&self) -> Cow<'_, str> {
        match &self.content {
            Content::Text(text) => Cow::Borrowed(text),
            Content::Features(features) => Cow::Owned(features.list.join("\n")),
        }
    }

    /// The tokens by a recipe.
    pub fn tokens(&self, recipe: &Recipe) -> Tokens {
        match &self.content {
            Content::Text(text) => Tokens::of_text(text, recipe.tokens, recipe.case),
            Content::Features(features) => Tokens::of_features(&features.list),
        }
    }

    /// The sketch by the sketcher's recipe.
    pub fn sketch(&self, sketcher: &mut Sketcher) -> Sketch {
        if sketcher.recipe().sketch.is_weighted() {
            let none = Vec::<(String, f64)>::new();
            return sketcher
                .sketch_weighted(self.weights())
                .unwrap_or_else(|_| {
                    let empty = sketcher.sketch_weighted(none);
                    empty.unwrap_or_else(|_| unreachable!("there is no weight in it"))
                });
        }
        match &self.content {
            Content::Text(text) => sketcher.sketch(text),
            Content::Features(features) => sketcher.sketch_features(&features.list),
        }
    }

    /// Adds the fingerprints of all its shingles to a list, in reading order.
    pub fn fingerprints(&self, sketcher: &mut Sketcher, out: &mut Vec<u64>) {
        let take = |block: &[u64]| out.extend_from_slice(block);
        match &self.content {
            Content::Text(text) => sketcher.fingerprints(text, take),
            Content::Features(features) => sketcher.feature_fingerprints(&features.list, take),
        };
    }

    /// The features, where the document is a list of them.
    pub fn features(&self) -> Option<&[String]> {
        match &self.content {
            Content::Text(_) => None,
            Content::Features(features) => Some(&features.list),
        }
    }

    /// What is kept of its features: a JSON array, of pairs where they carry weights.
    pub(crate) fn features_json(&self) -> Option<String> {
        match &self.content {
            Content::Text(_) => None,
            Content::Features(features) if features.weights.is_empty() => {
                Some(json!(features.list).to_string())
            }
            Content::Features(features) => {
                let pairs: Vec<_> = features.list.iter().zip(&features.weights).collect();
                Some(json!(pairs).to_string())
            }
        }
    }

    /// Where a range of [`Tokens::source`] stands in [`Document::text`], widened to
    /// whole characters (bytes as tokens may begin inside one).
    pub fn text_range(&self, source: Range<usize>) -> Range<usize> {
        match &self.content {
            Content::Text(text) => {
                let end = text.ceil_char_boundary(source.end);
                text.floor_char_boundary(source.start)..end
            }
            Content::Features(features) => features.text_range(source),
        }
    }
}

impl Record<'_> {
    /// What the record holds, as a document. Borrowed where that is possible.
    ///
    /// A revisit has no content of its own: [`Unusable::Revisit`].
    pub fn document(&self, options: &ReadOptions) -> Result<Document<'_>, Unusable> {
        let document = match &self.body {
            Body::Text(text) if text.is_empty() => return Err(Unusable::Empty),
            Body::Text(text) if is_page(text, options.format) => {
                let mut document = Document::of_text(html::text(text));
                document.is_html = true;
                document
            }
            Body::Text(text) => Document::of_text(&**text),
            Body::Features(list) if list.is_empty() => return Err(Unusable::Empty),
            Body::Features(list) => Document::of_features(list.clone()),
            Body::Weighted(list) if list.is_empty() => return Err(Unusable::Empty),
            Body::Weighted(list) => Document::of_weighted(list.clone()),
            Body::Bytes {
                bytes,
                kind,
                charset,
                ..
            } => {
                let reading = Reading {
                    name: None,
                    format: options.format,
                    tokens: options.tokens,
                };
                Document::read_said(bytes, reading, *kind, charset.as_deref())?
            }
            Body::Revisit { .. } => return Err(Unusable::Revisit),
        };
        let limit = options.limits.document;
        let len = match &document.content {
            Content::Text(text) => text.len(),
            Content::Features(features) => features.ends.last().copied().unwrap_or(0),
        };
        if len > limit {
            return Err(Unusable::TooLong(limit as u64));
        }
        Ok(document)
    }
}

/// Whether a text that an input gave is a page: told so, or begun as nothing else is.
fn is_page(text: &str, format: Format) -> bool {
    match format {
        Format::Html => true,
        Format::Text => false,
        Format::Auto => {
            let head = &text[..text.floor_char_boundary(512)];
            head.trim_start().starts_with('<') && looks_like_html(head.as_bytes(), Kind::Named)
        }
    }
}

/// What a file's name says of its bytes.
fn name_kind(name: Option<&Path>) -> Kind {
    match name {
        _ if has_html_extension(name) => Kind::Html,
        Some(name) if name.extension().is_some() => Kind::Named,
        _ => Kind::Unsaid,
    }
}

fn hints(html: bool) -> Hints<'static> {
    Hints {
        http_charset: None,
        html,
    }
}

/// Whether the bytes are HTML, or why they are no text at all.
fn look(bytes: &[u8], reading: Reading<'_>, kind: Kind) -> Result<bool, Unusable> {
    if bytes.is_empty() {
        return Err(Unusable::Empty);
    }
    match reading.format {
        Format::Html => return Ok(true),
        Format::Text => return Ok(false),
        Format::Auto => {}
    }
    let head = bytes.get(..LOOK_LEN).unwrap_or(bytes);
    let is_html = match kind {
        _ if reading.tokens == TokenKind::Feature => false,
        Kind::Html => true,
        Kind::Text => false,
        Kind::Unsaid | Kind::Named => looks_like_html(head, kind),
    };
    match binary(head, is_html) {
        Some(what) => Err(Unusable::Binary(what)),
        None => Ok(is_html),
    }
}

/// How files begin that hold no text but may show no NUL for a while.
const SIGNATURES: [(&[u8], &str); 12] = [
    (b"%PDF-", "a PDF"),
    (b"\x89PNG", "a PNG picture"),
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"GIF8", "a GIF picture"),
    (b"PK\x03\x04", "a ZIP archive"),
    (b"\x1f\x8b", "gzip"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"\xfd7zXZ", "xz"),
    (b"BZh", "bzip2"),
    (b"\x7fELF", "a program"),
    (b"LKSK", "a lookalike sketch"),
    (b"PAR1", "Parquet"),
];

/// What kind of binary the first bytes of a file are, if they are.
fn binary(head: &[u8], is_html: bool) -> Option<&'static str> {
    let signed = SIGNATURES.iter().find(|(start, _)| head.starts_with(start));
    if let Some((_, what)) = signed {
        return Some(what);
    }
    if head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff") {
        return None; // UTF-16, where every other byte may be NUL
    }
    // What a text file may hold: tab, line ends, form feed, backspace (old manuals),
    // escape (terminal logs, ISO-2022-JP).
    let is_odd = |&&byte: &&u8| byte < b' ' && !matches!(byte, 8..=13 | 27);
    let odd = head.iter().filter(is_odd).count();
    if head.contains(&0) {
        // HTML says what becomes of a NUL, and pages have a stray one now and then. In
        // bytes that mean something else, a tenth are control characters.
        let is_stray = odd <= 1 + head.len() / 50;
        return (!is_html || !is_stray).then_some("it has NUL bytes");
    }
    (odd * 10 > head.len()).then_some("it has many control characters")
}

fn has_html_extension(name: Option<&Path>) -> bool {
    let extension = name.and_then(Path::extension).and_then(|end| end.to_str());
    extension.is_some_and(|end| {
        ["html", "htm", "xhtml", "xht", "shtml"]
            .iter()
            .any(|known| end.eq_ignore_ascii_case(known))
    })
}

/// Whether the first tag is one that a page begins with. A file whose name ends in
/// something else than HTML's endings may be Markdown, which well begins with a `<div>` or
/// a comment: there only what nothing but a page begins with counts.
fn looks_like_html(head: &[u8], kind: Kind) -> bool {
    const SURE: [&str; 4] = ["<!doctype html", "<html", "<head", "<body"];
    // What the standard's sniffing takes for HTML besides, and a few as likely.
    const LIKELY: [&str; 18] = [
        "<title", "<meta", "<link", "<script", "<style", "<iframe", "<h1", "<h2", "<div", "<font",
        "<table", "<a", "<br", "<p", "<b", "<span", "<ul", "<article",
    ];
    let likely = match kind {
        Kind::Named => &[][..],
        _ => &LIKELY,
    };
    let openers = SURE.iter().chain(likely);
    let head = decode(head, Hints::default()).text;
    let mut rest = head.trim_start();
    loop {
        // A declaration and comments may come first.
        let skipped = if let Some(after) = rest.strip_prefix("<?xml") {
            after.split_once("?>")
        } else if let Some(after) = rest.strip_prefix("<!--") {
            after.split_once("-->")
        } else {
            break;
        };
        match skipped {
            Some((_, after)) => rest = after.trim_start(),
            None => return false,
        }
    }
    openers.into_iter().any(|tag| {
        let start = rest.get(..tag.len());
        let next = rest.as_bytes().get(tag.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(tag))
            && next.is_some_and(|&next| next == b'>' || next.is_ascii_whitespace())
    })
}

/// Features, and where each stands in the text.
type Placed = (Features, Vec<Range<usize>>);

/// A document that is a list of features. Other fields may stand beside them.
#[derive(Deserialize)]
struct FeatureObject<'a> {
    #[serde(borrow)]
    features: &'a RawValue,
}

/// The members of an object in their order, also those of one name.
struct Pairs(Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for Pairs {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Pairs, D::Error> {
        struct Members;

        impl<'de> serde::de::Visitor<'de> for Members {
            type Value = Pairs;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of weights")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(
                self,
                mut map: A,
            ) -> Result<Pairs, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }

        from.deserialize_map(Members)
    }
}

/// The features of an object by name, each with its weight, or why they are none.
pub(super) fn weights_of(json: &str) -> Result<Vec<(String, f64)>, Unusable> {
    let Pairs(pairs) = serde_json::from_str(json).map_err(|_| Unusable::BadFeatures)?;
    // What is no number, or one that nobody can write down, is no weight either.
    let number = |raw: Box<RawValue>| raw.get().parse().unwrap_or(f64::NAN);
    let pairs = pairs.into_iter().map(|(name, raw)| (name, number(raw)));
    let mut pairs: Vec<(String, f64)> = pairs.collect();
    pairs.sort_by(|x, y| x.0.cmp(&y.0));
    if let Some(twice) = pairs.windows(2).find(|two| two[0].0 == two[1].0) {
        return Err(Unusable::TwoWeights(excerpt(&twice[0].0)));
    }
    for (feature, weight) in &pairs {
        let bad = |why| Unusable::BadWeight(excerpt(feature), why);
        weighted::check(*weight).map_err(bad)?;
    }
    Ok(pairs)
}

/// The beginning of a feature, for a message.
fn excerpt(feature: &str) -> String {
    feature[..feature.floor_char_boundary(60)]
        .escape_debug()
        .to_string()
}

/// The features of a JSON object `{"features": […]}` and where each stands in the
/// text; `None` for what does not begin like an object, which is then one feature a line.
///
/// An integer is the feature of its digits: 7 and "7" are equal.
fn json_features(text: &str, reading: Reading<'_>) -> Result<Option<Placed>, Unusable> {
    if reading.tokens != TokenKind::Feature || !text.trim_start().starts_with('{') {
        return Ok(None);
    }
    let mut objects = serde_json::Deserializer::from_str(text).into_iter::<FeatureObject<'_>>();
    let Some(Ok(object)) = objects.next() else {
        return Err(Unusable::BadFeatures);
    };
    if objects.next().is_some() {
        return Err(Unusable::ManyDocuments);
    }
    let raw = object.features.get();
    let at = |json: &str| json.as_ptr().addr().saturating_sub(text.as_ptr().addr());
    if raw.starts_with('{') {
        let features = weights_of(raw)?;
        // In the order of their names, and so at no place of their own: all of it.
        let places = vec![at(raw)..at(raw) + raw.len(); features.len()];
        return Ok(Some((Features::weighted(features), places)));
    }
    let all: Vec<&RawValue> = serde_json::from_str(raw).map_err(|_| Unusable::BadFeatures)?;
    let (mut features, mut places) = (Vec::new(), Vec::new());
    for (i, raw) in all.into_iter().enumerate() {
        let json = raw.get();
        let digits = json.strip_prefix('-').unwrap_or(json);
        let feature = if digits.bytes().all(|byte| byte.is_ascii_digit()) {
            json.to_owned()
        } else {
            serde_json::from_str(json).map_err(|_| Unusable::BadFeature(i + 1))?
        };
        // The raw value is a part of the text: its address tells where.
        let start = at(json);
        features.push(feature);
        places.push(start..start + json.len());
    }
    Ok(Some((Features::new(features), places)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, bytes: &[u8]) -> Result<(String, bool), Unusable> {
        let reading = Reading {
            name: Some(Path::new(name)),
            ..Reading::default()
        };
        let document = Document::read(bytes, reading)?;
        Ok((document.text().into_owned(), document.is_html()))
    }

    #[test]
    fn pages_are_known_by_their_extension_or_their_first_tag() {
        let html = |name: &str, text: &str| read(name, text.as_bytes()).expect("text").1;
        assert!(html("a.HTML", "no tag at all"));
        assert!(html("a", "\u{feff}\n <!DOCTYPE html>\n"));
        assert!(html(
            "a.txt",
            "<?xml version='1.0'?><!-- x --><html lang=en>"
        ));
        assert!(!html("README.md", "<div align=center># Title</div>"));
        assert!(html("page", "<div align=center>Title</div>"));
        assert!(!html("a.rs", "// <html>"));
        assert!(!html("a", "<htmlx>"));
        assert!(!html("a", "<!-- never closed <html>"));
    }

    #[test]
    fn a_page_in_utf_16_is_a_page() {
        let bytes: Vec<u8> = "\u{feff}<html><p>née"
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect();
        assert_eq!(read("a", &bytes).expect("text"), ("née".to_owned(), true));
    }

    #[test]
    fn binary_files_are_refused_unless_told_otherwise() {
        for bytes in [
            &b"%PDF-1.4 text"[..],
            b"a\0b",
            b"\x1f\x8b\x08\x01",
            b"\x01\x02\x03\x04abc",
        ] {
            assert!(matches!(read("a.txt", bytes), Err(Unusable::Binary(_))));
            let told = Reading {
                format: Format::Text,
                ..Reading::default()
            };
            assert!(Document::read(bytes, told).is_ok());
        }
        assert!(matches!(read("a.txt", b""), Err(Unusable::Empty)));
        assert!(read("log.txt", b"\x1b[31mred\x1b[0m\x08\x08 and more text").is_ok());
    }

    #[test]
    fn a_page_may_have_a_stray_nul() {
        let page = b"<!doctype html><p>a rose\0bud is a rose";
        let whole = ("a rosebud is a rose".to_owned(), true);
        for name in ["a.html", "a.txt", "a"] {
            assert_eq!(read(name, page).expect("a page"), whole, "{name}");
        }
        // By its name alone, without a tag.
        assert!(read("a.html", b"a rose\0bud").is_ok());
        let long = [&page[..], &b" is a rose".repeat(1000), b"\0"].concat();
        assert!(read("a.html", &long).is_ok());
        let noise = |step: u32| (0..4096).map(move |i: u32| (i * step).to_le_bytes()[0]);
        for bytes in [
            // All bytes there are, and records of numbers, whatever they are called.
            noise(37).collect::<Vec<u8>>(),
            [&b"<html>"[..], &noise(101).collect::<Vec<u8>>()].concat(),
            (0..999_u32).flat_map(u32::to_le_bytes).collect(),
        ] {
            assert!(matches!(read("a.html", &bytes), Err(Unusable::Binary(_))));
        }
        // Text without a tag stays what it was.
        assert!(matches!(
            read("a.md", b"a rose\0bud"),
            Err(Unusable::Binary(_))
        ));
    }

    #[test]
    fn the_way_back_leads_to_the_bytes_of_the_file() {
        // Latin-1, named in the page; the word is cut by a tag and an entity.
        let page = b"<meta charset=latin1><p>un caf\xe9 <b>na&iuml;</b>f";
        let reading = Reading {
            name: Some(Path::new("a.html")),
            ..Reading::default()
        };
        let (document, origin) = Document::read_mapped(page, reading).expect("text");
        let tokens = document.tokens(&Recipe::default());
        let bytes = |i: usize| &page[origin.bytes(tokens.source(i))];
        assert_eq!(tokens.len(), 3);
        assert_eq!(bytes(1), b"caf\xe9");
        assert_eq!(bytes(2), b"na&iuml;</b>f");
        assert_eq!(document.text().as_ref(), "un café naïf");
    }

    fn features(bytes: &[u8]) -> Result<(Document<'_>, Origin), Unusable> {
        let reading = Reading {
            tokens: TokenKind::Feature,
            ..Reading::default()
        };
        Document::read_mapped(bytes, reading)
    }

    #[test]
    fn features_come_as_json_or_one_a_line() {
        let json = br#"{"id":"x","features":["a b",7,"7","",-3]}"#;
        let (document, origin) = features(json).expect("features");
        assert_eq!(
            document.features(),
            Some(&["a b", "7", "7", "", "-3"].map(str::to_owned)[..])
        );
        assert_eq!(&json[origin.bytes(0..1)], br#""a b""#);
        assert_eq!(&json[origin.bytes(1..3)], br#"7,"7""#);
        assert_eq!(&document.text()[document.text_range(1..3)], "7\n7");
        let (lines, _) = features(b"a b\n{}\n").expect("features");
        assert!(lines.features().is_none());
    }

    #[test]
    fn what_is_no_single_list_of_features_is_refused() {
        let two = b"{\"features\":[1]}\n{\"features\":[2]}\n";
        assert!(matches!(features(two), Err(Unusable::ManyDocuments)));
        for bad in [
            &b"{\"features\":[1,2.5]}"[..],
            b"{\"features\":[1,null]}",
            b"{\"features\":[1,[]]}",
        ] {
            assert!(matches!(features(bad), Err(Unusable::BadFeature(2))));
        }
    }

    #[test]
    fn what_begins_like_features_and_is_none_is_refused() {
        for bad in [
            &b"{\"features\":[1,2"[..],
            b"{\"features\":\"x\"}",
            b"{\"other\":1}",
        ] {
            assert!(matches!(features(bad), Err(Unusable::BadFeatures)));
        }
    }

    #[test]
    fn nesting_does_not_hurt() {
        let deep = [
            b"{\"features\":".to_vec(),
            vec![b'['; 400_000],
            b"]}".to_vec(),
        ]
        .concat();
        assert!(matches!(features(&deep), Err(Unusable::BadFeatures)));
    }
}
