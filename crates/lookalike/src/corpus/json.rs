//! The wanted fields of one JSON object, found without building the rest.
//!
//! ```text
//! line ─► keys compared with the wanted names ─► the raw values of those ─► text
//!         └─ every other value is walked over, strings a block at a time
//! ```
//!
//! Walking costs one pass at some gigabytes a second; only wanted strings are decoded,
//! and borrowed where they have no escape. Arrays and objects may stand
//! [`JSON_DEPTH`] deep; deeper ones are refused, so no input exhausts the stack.
//!
//! Where a key comes twice the last one counts, as in most readers of JSON. Control
//! characters in strings are taken as they are. Bytes that are not UTF-8 and halves of
//! surrogate pairs become U+FFFD and are counted.

use std::borrow::Cow;

use lookalike_core::simd::bytes::{self, BLOCK};
use memchr::memchr;

use super::options::JSON_DEPTH;

/// What is wrong with a line.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Fault {
    /// It is broken at this byte, from 0.
    Broken(usize),
    /// It is JSON perhaps, but no object.
    NotObject,
    /// Arrays or objects stand too deep in one another.
    TooDeep,
}

/// The raw values of some fields of an object, by the order of their names.
///
/// A dot in a name reaches into a nested object; a key that has the dot itself wins.
pub(crate) fn fields<'a, const N: usize>(
    line: &'a [u8],
    names: &[&str; N],
) -> Result<[Option<&'a [u8]>; N], Fault> {
    let mut walk = Walk { line, at: 0 };
    walk.space();
    if walk.peek() != Some(b'{') {
        return Err(Fault::NotObject);
    }
    let mut found = [None; N];
    walk.object(&names.map(Some), &mut found, 1)?;
    walk.space();
    match walk.peek() {
        None => Ok(found),
        Some(_) => Err(Fault::Broken(walk.at)),
    }
}

struct Walk<'a> {
    line: &'a [u8],
    at: usize,
}

impl<'a> Walk<'a> {
    fn peek(&self) -> Option<u8> {
        self.line.get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    fn expect(&mut self, byte: u8) -> Result<(), Fault> {
        if self.peek() != Some(byte) {
            return Err(Fault::Broken(self.at));
        }
        self.at += 1;
        Ok(())
    }

    /// After a value in an object or array: whether another follows.
    fn another(&mut self, close: u8) -> Result<bool, Fault> {
        self.space();
        match self.peek() {
            Some(b',') => {
                self.at += 1;
                self.space();
                Ok(true)
            }
            Some(byte) if byte == close => {
                self.at += 1;
                Ok(false)
            }
            _ => Err(Fault::Broken(self.at)),
        }
    }

    /// After the opening bracket: whether it is closed at once.
    fn is_empty(&mut self, close: u8) -> bool {
        self.at += 1;
        self.space();
        let is_empty = self.peek() == Some(close);
        self.at += usize::from(is_empty);
        is_empty
    }

    /// An object in which some names are wanted. Descends only along their dots.
    fn object<const N: usize>(
        &mut self,
        names: &[Option<&str>; N],
        found: &mut [Option<&'a [u8]>; N],
        depth: usize,
    ) -> Result<(), Fault> {
        if depth > JSON_DEPTH {
            return Err(Fault::TooDeep);
        }
        // How much of each name the key took that its value was found under.
        let mut best = [0; N];
        if self.is_empty(b'}') {
            return Ok(());
        }
        loop {
            let key = self.string()?;
            self.space();
            self.expect(b':')?;
            self.space();
            let key = key_text(key);
            let mut inner = [None; N];
            let mut is_exact = [false; N];
            let mut descends = false;
            for (i, name) in names.iter().enumerate() {
                let Some(rest) = name.and_then(|name| name.as_bytes().strip_prefix(&*key)) else {
                    continue;
                };
                if let (true, Some(exact)) = (rest.is_empty(), is_exact.get_mut(i)) {
                    *exact = true;
                } else if let ([b'.', ..], Some(slot)) = (rest, inner.get_mut(i)) {
                    *slot = name.and_then(|name| name.get(key.len() + 1..));
                    descends = true;
                }
            }
            let start = self.at;
            let mut below = [None; N];
            if descends && self.peek() == Some(b'{') {
                self.object(&inner, &mut below, depth + 1)?;
            } else {
                self.value(depth)?;
            }
            let raw = self.line.get(start..self.at);
            let news = is_exact.into_iter().zip(below);
            for ((slot, best), (is_exact, below)) in found.iter_mut().zip(&mut best).zip(news) {
                let value = if is_exact { raw } else { below };
                if value.is_some() && key.len() >= *best {
                    (*slot, *best) = (value, key.len());
                }
            }
            if !self.another(b'}')? {
                return Ok(());
            }
        }
    }

    /// Any value, walked over; `depth` arrays and objects stand around it.
    fn value(&mut self, depth: usize) -> Result<(), Fault> {
        match self.peek() {
            Some(b'"') => self.string().map(|_| ()),
            Some(open @ (b'{' | b'[')) => {
                if depth >= JSON_DEPTH {
                    return Err(Fault::TooDeep);
                }
                let close = if open == b'{' { b'}' } else { b']' };
                if self.is_empty(close) {
                    return Ok(());
                }
                loop {
                    if open == b'{' {
                        self.string()?;
                        self.space();
                        self.expect(b':')?;
                        self.space();
                    }
                    self.value(depth + 1)?;
                    if !self.another(close)? {
                        return Ok(());
                    }
                }
            }
            Some(b't') => self.word(b"true"),
            Some(b'f') => self.word(b"false"),
            Some(b'n') => self.word(b"null"),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => Err(Fault::Broken(self.at)),
        }
    }

    /// A string walked over; what stands between its quotes.
    fn string(&mut self) -> Result<&'a [u8], Fault> {
        self.expect(b'"')?;
        let start = self.at;
        // Whether the byte at hand stands behind a backslash that counts. Kept as a bit:
        // where escapes are is beyond any branch predictor.
        let mut escaped = 0;
        loop {
            let rest = self.line.get(self.at..).unwrap_or_default();
            let Some(block) = rest.first_chunk::<BLOCK>() else {
                self.at += usize::from(escaped != 0);
                return self.string_end(start);
            };
            let quotes = bytes::equal(block, b'"');
            let mut backslashes = bytes::equal(block, b'\\') & !escaped;
            if quotes == 0 && backslashes >> (BLOCK - 1) == 0 {
                escaped = 0;
                self.at += BLOCK;
                continue;
            }
            let mut over = 0;
            while backslashes != 0 {
                let first = backslashes & backslashes.wrapping_neg();
                escaped |= first << 1;
                over = first >> (BLOCK - 1);
                backslashes &= !(first | first << 1);
            }
            let ends = quotes & !escaped;
            if ends != 0 {
                self.at += ends.trailing_zeros() as usize + 1;
                return Ok(self.line.get(start..self.at - 1).unwrap_or_default());
            }
            escaped = over;
            self.at += BLOCK;
        }
    }

    /// The last few bytes of a line in which a string must end.
    fn string_end(&mut self, start: usize) -> Result<&'a [u8], Fault> {
        loop {
            match self.peek() {
                None => return Err(Fault::Broken(self.line.len())),
                Some(b'"') => {
                    self.at += 1;
                    return Ok(self.line.get(start..self.at - 1).unwrap_or_default());
                }
                Some(b'\\') => self.at += 2,
                Some(_) => self.at += 1,
            }
        }
    }

    fn word(&mut self, word: &[u8]) -> Result<(), Fault> {
        let rest = self.line.get(self.at..).unwrap_or_default();
        if !rest.starts_with(word) {
            return Err(Fault::Broken(self.at));
        }
        self.at += word.len();
        Ok(())
    }

    fn digits(&mut self) -> Result<(), Fault> {
        if !matches!(self.peek(), Some(b'0'..=b'9')) {
            return Err(Fault::Broken(self.at));
        }
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        Ok(())
    }

    fn number(&mut self) -> Result<(), Fault> {
        self.at += usize::from(self.peek() == Some(b'-'));
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            self.at += usize::from(matches!(self.peek(), Some(b'+' | b'-')));
            self.digits()?;
        }
        Ok(())
    }
}

/// A key as it reads; one with a broken escape is nobody's.
fn key_text(raw: &[u8]) -> Cow<'_, [u8]> {
    if memchr(b'\\', raw).is_none() {
        return Cow::Borrowed(raw);
    }
    match unescaped(raw) {
        Some((Cow::Owned(text), _)) => Cow::Owned(text.into_bytes()),
        _ => Cow::Borrowed(raw),
    }
}

/// A value that a field may have.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Scalar<'a> {
    /// A string, and how many of its sequences became U+FFFD.
    Text(Cow<'a, str>, usize),
    /// An integer, by its digits.
    Integer(&'a str),
    /// `null`.
    Null,
    /// Anything else.
    Other,
}

/// Reads a raw value; `None` if it is a string with a broken escape.
pub(crate) fn scalar(raw: &[u8]) -> Option<Scalar<'_>> {
    match raw {
        [b'"', inner @ .., b'"'] => {
            let (text, repaired) = unescaped(inner)?;
            Some(Scalar::Text(text, repaired))
        }
        b"null" => Some(Scalar::Null),
        [b'-' | b'0'..=b'9', digits @ ..] if digits.iter().all(u8::is_ascii_digit) => {
            Some(str::from_utf8(raw).map_or(Scalar::Other, Scalar::Integer))
        }
        _ => Some(Scalar::Other),
    }
}

/// The raw elements of an array; `None` for anything else.
pub(crate) fn elements(raw: &[u8]) -> Option<Vec<&[u8]>> {
    let mut walk = Walk { line: raw, at: 0 };
    let mut all = Vec::new();
    if walk.peek() != Some(b'[') {
        return None;
    }
    if walk.is_empty(b']') {
        return Some(all);
    }
    loop {
        let start = walk.at;
        walk.value(1).ok()?;
        all.push(raw.get(start..walk.at)?);
        if !walk.another(b']').ok()? {
            return Some(all);
        }
    }
}

/// The text between the quotes of a string, and how many of its sequences became
/// U+FFFD; `None` for an escape that does not exist.
fn unescaped(raw: &[u8]) -> Option<(Cow<'_, str>, usize)> {
    let Some(first) = memchr(b'\\', raw) else {
        return Some(lossy(raw));
    };
    // Escapes are never shorter than what they stand for, so there is room; the stretches
    // between them are copied in whole blocks, the last of which reaches too far.
    let mut out = vec![0; raw.len() + BLOCK];
    out[..first].copy_from_slice(&raw[..first]);
    let (mut from, mut to, mut repaired) = (first, first, 0);
    loop {
        (from, to) = simple_escapes(raw, from, &mut out, to);
        let [b'\\', escape, rest @ ..] = raw.get(from..)? else {
            break;
        };
        match *SIMPLE.get(usize::from(*escape))? {
            0 if *escape == b'u' => {
                let mut behind = rest;
                let c = unit(&mut behind)?;
                repaired += usize::from(c.is_none());
                let c = c.unwrap_or(char::REPLACEMENT_CHARACTER);
                to += c.encode_utf8(out.get_mut(to..)?).len();
                from += 2 + rest.len() - behind.len();
            }
            0 => return None,
            byte => {
                *out.get_mut(to)? = byte;
                (from, to) = (from + 2, to + 1);
            }
        }
    }
    if from < raw.len() {
        // A backslash with nothing behind it.
        return None;
    }
    out.truncate(to);
    // Escapes are whole characters: what is broken around them stays broken.
    match bytes::text(out) {
        Ok(text) => Some((Cow::Owned(text), repaired)),
        Err(broken) => {
            let (text, more) = lossy(&broken);
            Some((Cow::Owned(text.into_owned()), repaired + more))
        }
    }
}

/// The character behind `\u`, for which one or two escapes are taken; nothing for half a
/// surrogate pair, `None` for what is no escape.
#[expect(clippy::option_option, reason = "half a pair is read, as no character")]
fn unit(rest: &mut &[u8]) -> Option<Option<char>> {
    let unit = hex(rest)?;
    *rest = rest.get(4..)?;
    if !(0xd800..=0xdbff).contains(&unit) {
        return Some(char::from_u32(unit));
    }
    let low = rest.strip_prefix(b"\\u").and_then(hex);
    let Some(low) = low.filter(|low| (0xdc00..=0xdfff).contains(low)) else {
        return Some(None);
    };
    *rest = rest.get(6..)?;
    Some(char::from_u32(
        0x1_0000 + ((unit & 0x3ff) << 10) + (low & 0x3ff),
    ))
}

/// What the escapes of one letter stand for; 0 for all that are none. A table, for which
/// of them comes next is beyond any branch predictor.
const SIMPLE: [u8; 256] = {
    let mut bytes = [0; 256];
    let pairs = [
        *b"n\n", *b"\"\"", *b"\\\\", *b"//", *b"t\t", *b"r\r", *b"b\x08", *b"f\x0c",
    ];
    let mut i = 0;
    while i < pairs.len() {
        bytes[pairs[i][0] as usize] = pairs[i][1];
        i += 1;
    }
    bytes
};

/// Copies plain text and undoes escapes of one letter, as far as whole blocks go and then
/// up to the next backslash; gives where both ended.
#[inline]
fn simple_escapes(raw: &[u8], mut from: usize, out: &mut [u8], mut to: usize) -> (usize, usize) {
    while let Some(block) = raw.get(from..).and_then(<[u8]>::first_chunk::<BLOCK>) {
        let mut backslashes = bytes::equal(block, b'\\');
        // Up to here the block is done.
        let mut done = 0;
        while backslashes != 0 {
            let at = backslashes.trailing_zeros() as usize;
            let Some(&escape) = raw.get(from + at + 1) else {
                return (from + done, to);
            };
            let byte = SIMPLE[usize::from(escape)];
            copy_block(raw, from + done, out, to);
            to += at - done;
            if byte == 0 {
                return (from + at, to);
            }
            if let Some(place) = out.get_mut(to) {
                *place = byte;
            }
            (done, to) = (at + 2, to + 1);
            // The escape itself, and the letter in case it is a backslash.
            backslashes &= !(3 << at);
        }
        if done < BLOCK {
            copy_block(raw, from + done, out, to);
            to += BLOCK - done;
            done = BLOCK;
        }
        from += done;
    }
    let rest = raw.get(from..).unwrap_or_default();
    let end = rest.iter().position(|&byte| byte == b'\\');
    let plain = end.unwrap_or(rest.len());
    if let (Some(space), Some(bytes)) = (out.get_mut(to..to + plain), rest.get(..plain)) {
        space.copy_from_slice(bytes);
    }
    (from + plain, to + plain)
}

/// Copies a block, or what is left of it.
#[inline]
fn copy_block(raw: &[u8], from: usize, out: &mut [u8], to: usize) {
    let (source, space) = (raw.get(from..).unwrap_or_default(), out.get_mut(to..));
    let space = space.unwrap_or_default();
    if let (Some(source), Some(space)) = (
        source.first_chunk::<BLOCK>(),
        space.first_chunk_mut::<BLOCK>(),
    ) {
        *space = *source;
    } else {
        let len = source.len().min(space.len());
        space[..len].copy_from_slice(&source[..len]);
    }
}

/// Bytes as text, and how many sequences that are not UTF-8 became U+FFFD.
pub(crate) fn lossy(bytes: &[u8]) -> (Cow<'_, str>, usize) {
    if let Some(text) = bytes::as_text(bytes) {
        return (Cow::Borrowed(text), 0);
    }
    let chunks = bytes.utf8_chunks();
    let repaired = chunks.filter(|chunk| !chunk.invalid().is_empty()).count();
    (String::from_utf8_lossy(bytes), repaired)
}

/// The number that four hexadecimal digits make.
fn hex(text: &[u8]) -> Option<u32> {
    let digits = text.get(..4)?;
    digits.iter().try_fold(0, |number, &digit| {
        Some(number << 4 | char::from(digit).to_digit(16)?)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn field<'a>(line: &'a str, name: &str) -> Result<Option<&'a str>, Fault> {
        let [found] = fields(line.as_bytes(), &[name])?;
        Ok(found.map(|raw| str::from_utf8(raw).expect("UTF-8")))
    }

    #[test]
    fn dots_reach_into_objects_and_an_exact_key_wins() {
        assert_eq!(field(r#"{"a":{"b":{"c":1}}}"#, "a.b.c"), Ok(Some("1")));
        for line in [
            r#"{"a":{"b":1},"a.b":2}"#,
            r#"{"a.b":2,"a":{"b":1}}"#,
            r#"{"\u0061.b":2}"#,
        ] {
            assert_eq!(field(line, "a.b"), Ok(Some("2")), "{line}");
        }
        assert_eq!(field(r#"{"a.b":{"c":3}}"#, "a.b.c"), Ok(Some("3")));
        assert_eq!(field(r#"{"a":1}"#, "a.b"), Ok(None));
        assert_eq!(field(r#"{"ab":1}"#, "a"), Ok(None));
    }

    #[test]
    fn the_last_of_equal_keys_counts() {
        assert_eq!(field(r#"{"a":1,"a":2}"#, "a"), Ok(Some("2")));
    }

    #[test]
    fn what_is_no_object_is_refused_and_depth_exhausts_nothing() {
        let deep = "[".repeat(400_000);
        let inside = format!(r#"{{"text":"x","z":{deep}"#);
        for (line, fault) in [
            ("[1]", Fault::NotObject),
            ("\"text\"", Fault::NotObject),
            (&deep, Fault::NotObject),
            (&inside, Fault::TooDeep),
            (&"{\"a\":".repeat(400_000), Fault::TooDeep),
            ("{", Fault::Broken(1)),
            (r#"{"a":1"#, Fault::Broken(6)),
            (r#"{"a":"b}"#, Fault::Broken(8)),
            (r#"{"a":"b\"#, Fault::Broken(8)),
            (r#"{"a":1}x"#, Fault::Broken(7)),
            (r#"{"a":1,}"#, Fault::Broken(7)),
            (r#"{"a":01}"#, Fault::Broken(6)),
        ] {
            assert_eq!(field(line, "a.a"), Err(fault), "{}", line.len());
        }
        let fits = format!(r#"{{"a":{}{}}}"#, "[".repeat(127), "]".repeat(127));
        assert!(field(&fits, "a").is_ok());
    }

    #[test]
    fn strings_are_unescaped_and_what_is_no_text_is_repaired_and_counted() {
        let text = |raw: &[u8]| match scalar(raw) {
            Some(Scalar::Text(text, repaired)) => Some((text.into_owned(), repaired)),
            _ => None,
        };
        let read = |raw: &[u8], text_of: &str, repaired| {
            assert_eq!(text(raw), Some((text_of.to_owned(), repaired)));
        };
        read(br#""a\n\"\\\/\t\u00e9\ud83d\ude00""#, "a\n\"\\/\té😀", 0);
        read(br#""\ud83dx""#, "\u{fffd}x", 1);
        read(br#""\ud83d\u0041""#, "\u{fffd}A", 1);
        read(br#""\ude00""#, "\u{fffd}", 1);
        read(b"\"caf\xe9 \xff\"", "caf\u{fffd} \u{fffd}", 2);
        read(b"\"a\xff\\n\"", "a\u{fffd}\n", 1);
        for broken in [&br#""\x""#[..], br#""\u12""#, br#""\u12g4""#] {
            assert_eq!(scalar(broken), None);
        }
        assert!(matches!(
            scalar(b"\"plain\""),
            Some(Scalar::Text(Cow::Borrowed("plain"), 0))
        ));
        assert_eq!(scalar(b"-12"), Some(Scalar::Integer("-12")));
        assert_eq!(scalar(b"1.5"), Some(Scalar::Other));
    }

    fn json() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(Into::into),
            any::<i64>().prop_map(Into::into),
            any::<i32>().prop_map(|n| (f64::from(n) / 8.0).into()),
            ".{0,8}".prop_map(Into::into),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Into::into),
                prop::collection::vec(("[ab.\\\\é]{0,3}", inner), 0..4)
                    .prop_map(|fields| serde_json::Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn whatever_serde_reads_is_found_with_the_same_value(
            fields_of in prop::collection::vec(("[ab.\\\\é]{0,3}", json()), 0..5),
        ) {
            let object: serde_json::Map<_, _> = fields_of.into_iter().collect();
            for line in [
                serde_json::to_string(&object).expect("JSON"),
                serde_json::to_string_pretty(&object).expect("JSON"),
            ] {
                let [a, ab] = fields(line.as_bytes(), &["a", "ab"]).expect("an object");
                for (raw, name) in [(a, "a"), (ab, "ab")] {
                    let got: Option<serde_json::Value> =
                        raw.map(|raw| serde_json::from_slice(raw).expect("a value"));
                    prop_assert_eq!(got.as_ref(), object.get(name));
                    if let (Some(serde_json::Value::String(text)), Some(raw)) = (&got, raw) {
                        let read = scalar(raw);
                        prop_assert_eq!(read, Some(Scalar::Text(text.as_str().into(), 0)));
                    }
                    if let (Some(serde_json::Value::Array(list)), Some(raw)) = (&got, raw) {
                        prop_assert_eq!(elements(raw).map(|all| all.len()), Some(list.len()));
                    }
                }
            }
        }

        #[test]
        fn escapes_at_any_place_of_a_long_string_are_read_as_serde_does(
            text in r#"([\\\\"]{1,5}|[a-z\n\té]{1,70}){0,12}"#,
            cut in 0_usize..900,
        ) {
            let line = serde_json::json!({ "z": text, "a": text }).to_string();
            let [raw] = fields(line.as_bytes(), &["a"]).expect("an object");
            let read = raw.and_then(scalar);
            prop_assert_eq!(read, Some(Scalar::Text(text.as_str().into(), 0)));
            if let Some(part) = line.as_bytes().get(..cut.min(line.len() - 1)) {
                prop_assert!(fields(part, &["a"]).is_err());
            }
        }

        #[test]
        fn any_bytes_are_read_or_refused_as_serde_does(
            line in r#"[{}\[\],:"\\a0-9.eE+ntu -]{0,24}"#,
        ) {
            let line = format!("{{{line}}}");
            let ours = fields(line.as_bytes(), &["a"]);
            if serde_json::from_str::<serde_json::Map<_, _>>(&line).is_ok() {
                prop_assert!(ours.is_ok(), "{line}");
            } else if ours.is_ok() {
                // Escapes are not looked at in what is not wanted.
                prop_assert!(line.contains('\\'), "{line}");
            }
        }
    }
}
