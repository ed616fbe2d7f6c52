//! Text → canonical tokens.
//!
//! ```text
//! text ─► word:    UAX #29 segments with something alphanumeric in them
//!         char:    characters, a run of white space counting as one space
//!         line:    lines, white space inside folded to one space
//!         byte:    bytes
//!         feature: lines as they are, or what the caller hands over
//!      ─► canonical form: NFKC, case folded, invisible characters gone
//! ```
//!
//! Two texts that differ only in what the canonical form ignores (case, punctuation and
//! white space between words, composed or decomposed accents, soft hyphens, curly
//! apostrophes, half or full width) give the same tokens. Scripts without spaces come out a character at a time
//! (Chinese, Thai with its marks) or a run at a time (Katakana): never one giant word.
//!
//! [`Tokens`] keeps canonical bytes and source ranges, for whoever shows or compares
//! tokens themselves. The sketching path ([`crate::sketcher`]) asks only for token
//! values and takes a vector path through ASCII; the tests hold both to each other and
//! to a third party's segmentation.

pub mod unicode;

pub(crate) mod words;

use std::fmt;
use std::ops::Range;
use std::str::FromStr;
use unicode::{CharTable, Form, canonical_form, stands_alone};

/// Whether capitals count.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum Case {
    /// "Rose" and "rose" are one token.
    #[default]
    Fold,
    /// They are two.
    Keep,
}

/// What a token is.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum TokenKind {
    /// A word of UAX #29.
    #[default]
    Word,
    /// A character.
    Char,
    /// A line.
    Line,
    /// A byte of the text.
    Byte,
    /// A feature of the caller's own, compared as it is; in a text, one a line.
    Feature,
}

impl TokenKind {
    const ALL: [(TokenKind, &'static str); 5] = [
        (TokenKind::Word, "word"),
        (TokenKind::Char, "char"),
        (TokenKind::Line, "line"),
        (TokenKind::Byte, "byte"),
        (TokenKind::Feature, "feature"),
    ];
}

impl fmt::Display for TokenKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = TokenKind::ALL
            .iter()
            .find(|(kind, _)| kind == self)
            .map_or("", |(_, name)| name);
        f.write_str(name)
    }
}

/// A kind of token that does not exist.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("unknown token kind `{0}`; there are word, char, line, byte and feature")]
pub struct UnknownTokenKind(pub String);

impl FromStr for TokenKind {
    type Err = UnknownTokenKind;

    fn from_str(name: &str) -> Result<TokenKind, UnknownTokenKind> {
        let known = TokenKind::ALL.iter().find(|(_, known)| *known == name);
        known
            .map(|(kind, _)| *kind)
            .ok_or_else(|| UnknownTokenKind(name.to_owned()))
    }
}

/// The tokens of one document in reading order, each with the place it came from.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Tokens {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    source: Vec<Range<usize>>,
}

impl Tokens {
    /// The tokens of a text.
    pub fn of_text(text: &str, kind: TokenKind, case: Case) -> Tokens {
        let mut tokens = Tokens::default();
        for_each_token(text, kind, case, |canonical, source| {
            tokens.push(canonical, source);
        });
        tokens
    }

    /// The caller's own features, compared byte for byte. Their source range is their
    /// place in the list.
    pub fn of_features<F: AsRef<[u8]>>(features: impl IntoIterator<Item = F>) -> Tokens {
        let mut tokens = Tokens::default();
        let mut escaped = Vec::new();
        for (i, feature) in features.into_iter().enumerate() {
            escaped.clear();
            feature_bytes(feature.as_ref(), &mut escaped);
            tokens.push(&escaped, i..i + 1);
        }
        tokens
    }

    fn push(&mut self, canonical: &[u8], source: Range<usize>) {
        self.bytes.extend_from_slice(canonical);
        self.ends.push(self.bytes.len());
        self.source.push(source);
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The canonical bytes of token `i`. Panics past the end, like a slice.
    pub fn canonical(&self, i: usize) -> &[u8] {
        &self.bytes[self.start(i)..self.ends[i]]
    }

    /// Where token `i` begins.
    fn start(&self, i: usize) -> usize {
        if i == 0 { 0 } else { self.ends[i - 1] }
    }

    /// Whether some tokens in a row are the same as some of another document.
    pub(crate) fn is_same(&self, ours: Range<usize>, other: &Tokens, theirs: Range<usize>) -> bool {
        let (from, there) = (self.start(ours.start), other.start(theirs.start));
        let (ends, their_ends) = (&self.ends[ours], &other.ends[theirs]);
        let bytes = &self.bytes[from..ends.last().map_or(from, |end| *end)];
        let their_bytes = &other.bytes[there..their_ends.last().map_or(there, |end| *end)];
        // All bytes at once, and then that words end in the same places.
        ends.len() == their_ends.len()
            && bytes == their_bytes
            && ends
                .iter()
                .zip(their_ends)
                .all(|(x, y)| x - from == y - there)
    }

    /// The byte range of the source that token `i` was read from. Panics past the end.
    pub fn source(&self, i: usize) -> Range<usize> {
        self.source[i].clone()
    }

    /// The canonical bytes of all tokens, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        (0..self.len()).map(|i| self.canonical(i))
    }
}

/// Calls `each` with the canonical bytes and the source range of every token.
///
/// Canonical bytes hold no NUL, so that zero-padded chunks of them stay apart (bytes as
/// tokens are the exception: they are told apart by a second byte). No token is empty.
pub fn for_each_token(
    text: &str,
    kind: TokenKind,
    case: Case,
    mut each: impl FnMut(&[u8], Range<usize>),
) {
    match kind {
        TokenKind::Word => words::for_each_word(text, case, each),
        TokenKind::Char => for_each_char(text, case, each),
        TokenKind::Line => for_each_line(text, case, each),
        TokenKind::Byte => {
            for (i, &byte) in text.as_bytes().iter().enumerate() {
                each(&[byte, 1], i..i + 1);
            }
        }
        TokenKind::Feature => {
            let mut escaped = Vec::new();
            for (line, start) in lines(text).filter(|(line, _)| !line.is_empty()) {
                escaped.clear();
                feature_bytes(line.as_bytes(), &mut escaped);
                each(&escaped, start..start + line.len());
            }
        }
    }
}

/// A feature's bytes with NUL written as C0 80, which no UTF-8 text holds.
pub(crate) fn feature_bytes(feature: &[u8], out: &mut Vec<u8>) {
    for &byte in feature {
        match byte {
            0 => out.extend_from_slice(&[0xc0, 0x80]),
            _ => out.push(byte),
        }
    }
    if feature.is_empty() {
        // The empty feature is a feature like any other.
        out.extend_from_slice(&[0xc0, 0x81]);
    }
}

/// The lines of a text without their ends, and where each begins.
fn lines(text: &str) -> impl Iterator<Item = (&str, usize)> {
    let mut start = 0;
    text.split_inclusive('\n').map(move |line| {
        let here = start;
        start += line.len();
        let line = line.strip_suffix('\n').unwrap_or(line);
        (line.strip_suffix('\r').unwrap_or(line), here)
    })
}

fn for_each_line(text: &str, case: Case, mut each: impl FnMut(&[u8], Range<usize>)) {
    let mut canonical = Form::default();
    for (line, start) in lines(text) {
        canonical.bytes.clear();
        for piece in line.split_whitespace() {
            // A space between pieces, unless nothing of this one is left.
            let before = canonical.bytes.len();
            if before > 0 {
                canonical.bytes.push(b' ');
            }
            let with_space = canonical.bytes.len();
            canonical.append(piece, case);
            if canonical.bytes.len() == with_space {
                canonical.bytes.truncate(before);
            }
        }
        if !canonical.bytes.is_empty() {
            let from = start + (line.len() - line.trim_start().len());
            each(&canonical.bytes, from..from + line.trim().len());
        }
    }
}

fn for_each_char(text: &str, case: Case, mut each: impl FnMut(&[u8], Range<usize>)) {
    let table = CharTable::get(case);
    let mut rest = text.char_indices().peekable();
    let mut space = None; // a run of white space not told yet
    let mut any = false;
    while let Some((start, c)) = rest.next() {
        if c.is_whitespace() {
            space.get_or_insert(start);
            continue;
        }
        let mut end = start + c.len_utf8();
        while let Some((at, mark)) =
            rest.next_if(|&(_, next)| !next.is_whitespace() && !stands_alone(next))
        {
            end = at + mark.len_utf8();
        }
        let mut told = |canonical: &str| {
            for c in canonical.chars() {
                if let (Some(from), true) = (space.take(), any) {
                    each(b" ", from..start);
                }
                any = true;
                each(c.encode_utf8(&mut [0; 4]).as_bytes(), start..end);
            }
        };
        match table.entry(c).simple() {
            Some(simple) if end == start + c.len_utf8() => told(simple.encode_utf8(&mut [0; 4])),
            _ => told(&canonical_form(&text[start..end], case)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str, kind: TokenKind) -> Vec<String> {
        let tokens = Tokens::of_text(text, kind, Case::Fold);
        tokens
            .iter()
            .map(|t| String::from_utf8_lossy(t).into_owned())
            .collect()
    }

    #[test]
    fn words_are_folded_and_punctuation_separates() {
        assert_eq!(
            told("The Rose, the ROSE—the «rose»!", TokenKind::Word),
            ["the", "rose", "the", "rose", "the", "rose"]
        );
        assert_eq!(
            told("don't 3.14 foo_bar a-b __ x__", TokenKind::Word),
            ["don't", "3.14", "foo_bar", "a", "b", "x__"]
        );
        assert_eq!(
            told("Straße ﬁnd exam\u{ad}ple cafe\u{301}", TokenKind::Word),
            ["strasse", "find", "example", "café"]
        );
    }

    #[test]
    fn a_curly_apostrophe_is_formatting() {
        assert_eq!(told("don’t DON'T", TokenKind::Word), ["don't", "don't"]);
    }

    #[test]
    fn scripts_without_spaces_yield_many_tokens() {
        assert_eq!(told("我爱北京", TokenKind::Word).len(), 4);
        assert_eq!(told("ภาษาไทย", TokenKind::Word).len(), 7);
        assert_eq!(
            told("これはテストです", TokenKind::Word),
            ["こ", "れ", "は", "テスト", "で", "す"]
        );
        assert_eq!(told("한국어 문서", TokenKind::Word), ["한국어", "문서"]);
    }

    #[test]
    fn characters_count_a_run_of_white_space_once() {
        assert_eq!(
            told("  A \n\t b.e\u{301} ", TokenKind::Char),
            ["a", " ", "b", ".", "é"]
        );
    }

    #[test]
    fn lines_fold_white_space_and_blank_ones_are_no_tokens() {
        assert_eq!(
            told("  One   two\r\n\n \t\nTHREE", TokenKind::Line),
            ["one two", "three"]
        );
    }

    #[test]
    fn features_are_taken_as_they_are() {
        assert_eq!(told("A b\n\nA b\n", TokenKind::Feature), ["A b", "A b"]);
        let odd = Tokens::of_features(["a", "a\0", "", "\0"]);
        for i in 0..4 {
            assert!(!odd.canonical(i).is_empty() && !odd.canonical(i).contains(&0));
            assert!((0..i).all(|j| odd.canonical(i) != odd.canonical(j)));
        }
    }

    #[test]
    fn tokens_remember_their_place() {
        let text = "Ein «schöner» Tag";
        let tokens = Tokens::of_text(text, TokenKind::Word, Case::Fold);
        let places: Vec<&str> = (0..tokens.len()).map(|i| &text[tokens.source(i)]).collect();
        assert_eq!(places, ["Ein", "schöner", "Tag"]);
    }
}
