//! Bytes to text, in the charset a browser would choose.
//!
//! ```text
//! byte order mark ─► HTTP charset ─► meta or XML declaration ─► valid UTF-8 ─► guess
//! ```
//!
//! The first that answers is taken. A declared charset is obeyed even when it is
//! wrong, as browsers obey it; one that no browser knows (UTF-7 among them) is passed
//! over. Malformed bytes become U+FFFD and are counted, so nothing is refused and
//! nothing is lost in silence.
//!
//! Valid UTF-8 is borrowed: it costs one check. Other charsets are converted once.
//! A guess looks at `GUESS_LEN` bytes. `decode_mapped`, which also tells where
//! each character came from, goes byte by byte and is for showing passages only.

mod prescan;

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{DecoderResult, Encoding, UTF_8, UTF_16BE, UTF_16LE};

use super::source_map::{Builder, SourceMap};

/// What is known about some bytes besides the bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hints<'a> {
    /// The `charset` of the HTTP `Content-Type`, if there was one.
    pub http_charset: Option<&'a str>,
    /// Whether the bytes are HTML, so that a `meta` element may name the charset.
    pub html: bool,
}

/// A text, and how its bytes were read.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Decoded<'a> {
    /// The text, without its byte order mark; borrowed when the bytes are UTF-8.
    ///
    /// Empty only for bytes that hold no character: none at all, a byte order mark
    /// alone, the shifts of a stateful charset alone.
    pub text: Cow<'a, str>,
    /// The charset, by the name the Encoding Standard gives it.
    pub encoding: &'static str,
    /// Who named it.
    pub source: EncodingSource,
    /// How many malformed sequences became U+FFFD.
    pub replaced: usize,
}

/// Why a charset was chosen.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum EncodingSource {
    /// A byte order mark.
    Bom,
    /// The HTTP header.
    Http,
    /// A `meta` element or an XML declaration in the page.
    Meta,
    /// Nobody named one, and the bytes are UTF-8, or nearly.
    Default,
    /// Nobody named one, and the bytes look like it.
    Detected,
}

/// How many bytes a guess looks at, from the first that is not ASCII.
///
/// The detector reads about 20 MB/s, a hundredth of what decoding does or less; this
/// is the most that keeps a guess under a millisecond.
pub const GUESS_LEN: usize = 16 << 10;

/// Reads bytes as text. Never fails: [`Decoded::replaced`] says what was not text.
///
/// ```
/// use lookalike::corpus::decode::{EncodingSource, Hints, decode};
///
/// let page = b"<meta charset=koi8-r>\xd4\xc5\xcb\xd3\xd4";
/// let read = decode(page, Hints { http_charset: None, html: true });
/// assert!(read.text.ends_with("текст"));
/// assert_eq!((read.encoding, read.source), ("KOI8-R", EncodingSource::Meta));
/// ```
pub fn decode<'a>(bytes: &'a [u8], hints: Hints<'_>) -> Decoded<'a> {
    let choice = choose(bytes, hints);
    let body = bytes.get(choice.bom_len..).unwrap_or_default();
    let whole = choice
        .encoding
        .decode_without_bom_handling_and_without_replacement(body);
    let (text, replaced) = if let Some(text) = whole {
        (text, 0)
    } else {
        let (text, replaced) = convert(choice.encoding, body);
        (Cow::Owned(text), replaced)
    };
    choice.decoded(text, replaced)
}

/// As [`decode`], with the way back from the text to the bytes.
pub fn decode_mapped<'a>(bytes: &'a [u8], hints: Hints<'_>) -> (Decoded<'a>, SourceMap) {
    let choice = choose(bytes, hints);
    let body = bytes.get(choice.bom_len..).unwrap_or_default();
    let mut map = Builder::default();
    let (text, replaced) = match str::from_utf8(body) {
        Ok(valid) if choice.encoding == UTF_8 => {
            map.copied(valid.len(), choice.bom_len);
            (Cow::Borrowed(valid), 0)
        }
        _ => {
            let (text, replaced) = convert_mapped(choice.encoding, body, choice.bom_len, &mut map);
            (Cow::Owned(text), replaced)
        }
    };
    (choice.decoded(text, replaced), map.finish())
}

struct Choice {
    encoding: &'static Encoding,
    source: EncodingSource,
    bom_len: usize,
}

impl Choice {
    fn decoded(self, text: Cow<'_, str>, replaced: usize) -> Decoded<'_> {
        Decoded {
            text,
            encoding: self.encoding.name(),
            source: self.source,
            replaced,
        }
    }
}

fn choose(bytes: &[u8], hints: Hints<'_>) -> Choice {
    if let Some((encoding, bom_len)) = Encoding::for_bom(bytes) {
        return Choice {
            encoding,
            source: EncodingSource::Bom,
            bom_len,
        };
    }
    let from_http = || {
        let label = hints.http_charset?.trim().trim_matches(['"', '\'']);
        Some((Encoding::for_label(label.as_bytes())?, EncodingSource::Http))
    };
    let from_page = || {
        let named = hints.html.then(|| prescan::declared(bytes))??;
        Some((named, EncodingSource::Meta))
    };
    let (encoding, source) = from_http()
        .or_else(from_page)
        .unwrap_or_else(|| look(bytes));
    Choice {
        encoding,
        source,
        bom_len: 0,
    }
}

/// The charset of bytes about which nothing is known.
fn look(bytes: &[u8]) -> (&'static Encoding, EncodingSource) {
    if str::from_utf8(bytes).is_ok() {
        return (UTF_8, EncodingSource::Default);
    }
    // One broken character does not make a UTF-8 page Latin-1: what another charset
    // writes rarely looks like UTF-8 by chance, so the majority decides.
    let (mut sequences, mut malformed) = (0, 0);
    for chunk in bytes.utf8_chunks() {
        sequences += chunk.valid().bytes().filter(|&byte| byte >= 0xc0).count();
        malformed += chunk.invalid().len();
    }
    if sequences > malformed {
        return (UTF_8, EncodingSource::Default);
    }
    // Two bytes before the first that is not ASCII are all the context it uses.
    let start = Encoding::ascii_valid_up_to(bytes).saturating_sub(2);
    let rest = bytes.get(start..).unwrap_or_default();
    let sample = rest.get(..GUESS_LEN).unwrap_or(rest);
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(sample, sample.len() == rest.len());
    let encoding = detector.guess(None, Utf8Detection::Deny);
    (encoding, EncodingSource::Detected)
}

/// Converts what has malformed sequences, and counts them.
///
/// Goes through a small buffer: each time it is called, so at each malformed sequence,
/// the decoder touches every page of the room in a `String`. That would be quadratic.
fn convert(encoding: &'static Encoding, bytes: &[u8]) -> (String, usize) {
    let mut decoder = encoding.new_decoder_without_bom_handling();
    let (mut text, mut replaced, mut rest) = (String::new(), 0, bytes);
    let mut out = [0; 1024];
    loop {
        let (result, read, written) =
            decoder.decode_to_utf8_without_replacement(rest, &mut out, true);
        rest = rest.get(read..).unwrap_or_default();
        let made = out.get(..written).map(str::from_utf8);
        text.push_str(made.and_then(Result::ok).unwrap_or_default());
        match result {
            DecoderResult::InputEmpty => return (text, replaced),
            DecoderResult::OutputFull => {}
            DecoderResult::Malformed(..) => {
                text.push(char::REPLACEMENT_CHARACTER);
                replaced += 1;
            }
        }
    }
}

/// Converts byte by byte, noting which bytes each character came from. The bytes
/// stand at `base` in the source.
fn convert_mapped(
    encoding: &'static Encoding,
    bytes: &[u8],
    base: usize,
    map: &mut Builder,
) -> (String, usize) {
    let mut decoder = encoding.new_decoder_without_bom_handling();
    let (mut text, mut replaced) = (String::new(), 0);
    // Bytes given to the decoder, and those of them whose text has come out.
    let (mut fed, mut done) = (0, 0);
    // After a malformed sequence the decoder may hold a character that was read to
    // its end: it is asked for that before it gets more.
    let mut holds = false;
    loop {
        let rest = bytes.get(fed..).unwrap_or_default();
        if fed == done && encoding.is_ascii_compatible() {
            // Between characters such a decoder has no state: ASCII stays ASCII.
            let len = Encoding::ascii_valid_up_to(rest);
            if let Some(ascii) = rest.get(..len).and_then(|ascii| str::from_utf8(ascii).ok())
                && len > 0
            {
                text.push_str(ascii);
                map.copied(len, base + fed);
                (fed, done) = (fed + len, done + len);
                continue;
            }
        }
        let mut out = [0; 32];
        let next = rest.get(..usize::from(!holds)).unwrap_or_default();
        let is_last = rest.is_empty() && !holds;
        let (result, read, written) =
            decoder.decode_to_utf8_without_replacement(next, &mut out, is_last);
        fed += read;
        let bad = match result {
            DecoderResult::Malformed(len, after) => {
                let end = fed.saturating_sub(usize::from(after));
                Some(end.saturating_sub(usize::from(len))..end)
            }
            DecoderResult::InputEmpty | DecoderResult::OutputFull => None,
        };
        let made = out
            .get(..written)
            .and_then(|made| str::from_utf8(made).ok());
        if let Some(made) = made.filter(|made| !made.is_empty()) {
            let end = match &bad {
                Some(bad) => bad.start.max(done),
                // It may also hold the start of another character.
                None if holds => fed.min(done + source_len(encoding, made)),
                None => fed,
            };
            text.push_str(made);
            map.made(made.len(), base + done..base + end);
            done = end;
        }
        holds = bad.is_some();
        if let Some(bad) = bad {
            text.push(char::REPLACEMENT_CHARACTER);
            map.made(
                '\u{fffd}'.len_utf8(),
                base + bad.start.max(done)..base + bad.end,
            );
            replaced += 1;
            done = bad.end.max(done);
        } else if is_last && result == DecoderResult::InputEmpty {
            return (text, replaced);
        }
    }
}

/// How many bytes such a text takes up that a decoder held back: these are code units
/// of UTF-16 and, in other charsets, mostly ASCII. More than there are means all.
fn source_len(encoding: &'static Encoding, text: &str) -> usize {
    if encoding.is_ascii_compatible() && text.is_ascii() {
        text.len()
    } else if encoding == UTF_16LE || encoding == UTF_16BE {
        2 * text.encode_utf16().count()
    } else {
        usize::MAX / 2
    }
}

#[cfg(test)]
mod tests {
    use lookalike_testkit::{corpora, html5lib, warc};
    use proptest::prelude::*;

    use super::*;

    const HTML: Hints<'static> = Hints {
        http_charset: None,
        html: true,
    };

    const TEXT: Hints<'static> = Hints {
        http_charset: None,
        html: false,
    };

    fn http(charset: &str) -> Hints<'_> {
        Hints {
            http_charset: Some(charset),
            html: true,
        }
    }

    /// What was read, the charset and who named it.
    fn read<'a>(bytes: &'a [u8], hints: Hints<'_>) -> (Cow<'a, str>, &'static str, EncodingSource) {
        let decoded = decode(bytes, hints);
        (decoded.text, decoded.encoding, decoded.source)
    }

    #[test]
    fn valid_utf_8_is_borrowed() {
        let decoded = decode("été".as_bytes(), HTML);
        assert!(matches!(decoded.text, Cow::Borrowed("été")));
        assert_eq!(
            (decoded.source, decoded.replaced),
            (EncodingSource::Default, 0)
        );
    }

    #[test]
    fn a_byte_order_mark_outranks_every_label() {
        let page = b"\xef\xbb\xbf<meta charset=koi8-r>\xc3\xa9";
        assert_eq!(read(page, http("koi8-r")).2, EncodingSource::Bom);
        assert!(read(page, http("koi8-r")).0.ends_with('é'));
        assert_eq!(read(b"\xff\xfea\0", TEXT).0, "a");
        assert_eq!(read(b"\xfe\xff\0a", TEXT).0, "a");
    }

    #[test]
    fn the_header_outranks_the_page() {
        let page = b"<meta charset=utf-8>\xd4";
        let (text, encoding, source) = read(page, http("KOI8-R"));
        assert_eq!((encoding, source), ("KOI8-R", EncodingSource::Http));
        assert!(text.ends_with('т'));
        assert_eq!(read(b"a", http(" \"UTF-8\" ")).2, EncodingSource::Http);
    }

    #[test]
    fn a_wrong_label_is_obeyed_as_browsers_obey_it() {
        assert_eq!(read("é".as_bytes(), http("iso-8859-1")).0, "Ã©");
        assert_eq!(read(b"\x93a\x94", http("latin1")).0, "“a”");
        let cp1252 = decode(b"caf\xe9!", http("utf-8"));
        assert_eq!((cp1252.text.as_ref(), cp1252.replaced), ("caf\u{fffd}!", 1));
    }

    #[test]
    fn a_label_nobody_knows_is_passed_over() {
        assert_eq!(read("é".as_bytes(), http("no-such-charset")).0, "é");
        let utf_7 = b"<meta charset=utf-7>+ADw-script+AD4-";
        let (text, encoding, source) = read(utf_7, http("utf-7"));
        assert!(text.ends_with("+ADw-script+AD4-"));
        assert_eq!((encoding, source), ("UTF-8", EncodingSource::Default));
    }

    #[test]
    fn without_a_label_the_bytes_decide() {
        let russian: Vec<u8> = encoding_rs::WINDOWS_1251
            .encode("Съешь же ещё этих мягких французских булок, да выпей чаю")
            .0
            .into_owned();
        let (text, encoding, source) = read(&russian, TEXT);
        assert_eq!(
            (encoding, source),
            ("windows-1251", EncodingSource::Detected)
        );
        assert!(text.starts_with("Съешь"));
        let japanese = encoding_rs::SHIFT_JIS
            .encode("吾輩は猫である。名前はまだ無い。")
            .0;
        assert_eq!(read(&japanese, TEXT).1, "Shift_JIS");
        // What tells comes late.
        let late = [vec![b' '; 3 * GUESS_LEN], russian].concat();
        assert_eq!(read(&late, TEXT).1, "windows-1251");
    }

    #[test]
    fn nearly_utf_8_is_utf_8_with_what_is_broken_counted() {
        let decoded = decode(
            b"\xc3\xa9t\xc3\xa9 caf\xe9 na\xc3\xafvet\xc3\xa9 \xe2\x82",
            TEXT,
        );
        assert_eq!(decoded.text, "été caf\u{fffd} naïveté \u{fffd}");
        assert_eq!(
            (decoded.encoding, decoded.source),
            ("UTF-8", EncodingSource::Default)
        );
        assert_eq!(decoded.replaced, 2);
    }

    #[test]
    fn an_odd_utf_16_text_loses_only_its_last_byte() {
        let decoded = decode(b"\xff\xfea\0b\0c", TEXT);
        assert_eq!((decoded.text.as_ref(), decoded.replaced), ("ab\u{fffd}", 1));
    }

    #[test]
    fn bytes_that_hold_a_character_are_never_read_as_nothing() {
        for byte in 0..=255 {
            for label in [
                "",
                "utf-8",
                "utf-16",
                "shift_jis",
                "iso-2022-kr",
                "hz-gb-2312",
                "x-user-defined",
            ] {
                assert!(
                    !decode(&[byte], http(label)).text.is_empty(),
                    "{byte} as {label}"
                );
            }
        }
    }

    /// What is quadratic would take minutes here.
    #[test]
    fn bytes_that_are_all_malformed_take_linear_time() {
        for label in [
            "",
            "utf-8",
            "utf-16le",
            "shift_jis",
            "gb18030",
            "iso-2022-jp",
        ] {
            for unit in [b"\xff\xff".as_slice(), b"\x81\x30", b"\x00\xd8", b"\x1b$"] {
                let bytes = unit.repeat(1 << 20);
                let start = std::time::Instant::now();
                let decoded = decode(&bytes, http(label));
                let taken = start.elapsed();
                assert!(!decoded.text.is_empty());
                assert!(taken.as_secs() < 5, "{unit:?} as {label} took {taken:?}");
            }
        }
    }

    #[test]
    fn a_map_leads_from_a_character_to_its_bytes() {
        let euc_kr = encoding_rs::EUC_KR.encode("a 한국 b").0;
        let (decoded, map) = decode_mapped(&euc_kr, http("euc-kr"));
        let at = decoded.text.find('국').expect("it is there");
        assert_eq!(map.source_range(at..at + 3), 4..6);
        assert_eq!(map.source_range(0..decoded.text.len()), 0..euc_kr.len());
        let (decoded, map) = decode_mapped(b"\xff\xfea\0\x3d\xd8\x00\xde", TEXT);
        assert_eq!(decoded.text, "a😀");
        assert_eq!(
            (map.source_range(0..1), map.source_range(1..5)),
            (2..4, 4..8)
        );
    }

    #[test]
    fn a_map_leads_from_a_replacement_to_the_malformed_bytes() {
        let (decoded, map) = decode_mapped(b"a\xe2\x82b", http("utf-8"));
        assert_eq!(decoded.text, "a\u{fffd}b");
        assert_eq!(map.source_range(1..4), 1..3);
        assert_eq!(map.source_range(4..5), 3..4);
        let (decoded, map) = decode_mapped(b"\x81 a", http("shift_jis"));
        assert_eq!(decoded.text, "\u{fffd} a");
        assert_eq!(map.source_range(0..3), 0..1);
        assert_eq!(map.source_range(3..4), 1..2);
    }

    const LABELS: &[&str] = &[
        "",
        "utf-8",
        "utf-16le",
        "utf-16be",
        "shift_jis",
        "euc-jp",
        "iso-2022-jp",
        "big5",
        "gb18030",
        "gbk",
        "euc-kr",
        "windows-1252",
        "koi8-r",
        "iso-2022-kr",
        "x-user-defined",
    ];

    fn any_bytes() -> impl Strategy<Value = Vec<u8>> {
        let fragment = prop_oneof![
            prop::collection::vec(any::<u8>(), 1..4),
            prop::sample::select(vec![
                b"abc".to_vec(),
                b"\x1b$B".to_vec(),
                b"\x1b(B".to_vec(),
                b"\x1b(J".to_vec(),
                b"\x1b".to_vec(),
                b"\xef\xbb\xbf".to_vec(),
                b"\xff\xfe".to_vec(),
                b"\xc3\xa9".to_vec(),
                b"\xe2\x82".to_vec(),
                b"\xf0\x9f\x98\x80".to_vec(),
                b"\x81\x30\x81\x30".to_vec(),
                b"\x88\x62".to_vec(),
                b"\x3d\xd8\x00\xde".to_vec(),
                b"\xb0\xa1".to_vec(),
                b"\x81".to_vec(),
                b"\xfe\x50".to_vec(),
            ]),
        ];
        prop::collection::vec(fragment, 0..12).prop_map(|parts| parts.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1024))]

        #[test]
        fn text_and_count_are_those_of_encoding_rs(
            bytes in any_bytes(), label in prop::sample::select(LABELS),
        ) {
            let decoded = decode(&bytes, http(label));
            let encoding = Encoding::for_label(decoded.encoding.as_bytes()).expect("a known name");
            // Its own reading, which also takes a byte order mark off.
            let (expected, _, malformed) = encoding.decode(&bytes);
            prop_assert_eq!(&decoded.text, &expected);
            prop_assert_eq!(decoded.replaced > 0, malformed);
        }

        #[test]
        fn the_mapped_reading_is_the_reading(
            bytes in any_bytes(), label in prop::sample::select(LABELS),
        ) {
            let (mapped, map) = decode_mapped(&bytes, http(label));
            prop_assert_eq!(&mapped, &decode(&bytes, http(label)));
            prop_assert_eq!(map.text_len(), mapped.text.len());
            let encoding = Encoding::for_label(mapped.encoding.as_bytes()).expect("a known name");
            let mut end = 0;
            for (at, c) in mapped.text.char_indices() {
                let source = map.source_range(at..at + c.len_utf8());
                prop_assert!(source.start <= source.end && source.end <= bytes.len());
                prop_assert!(source.end >= end);
                end = source.end;
                // Those bytes alone say the same, where no shift is needed before them.
                if encoding != encoding_rs::ISO_2022_JP {
                    let (alone, _) = encoding.decode_without_bom_handling(&bytes[source]);
                    prop_assert!(alone.contains(c), "{:?} at {}", c, at);
                }
            }
        }
    }

    #[test]
    fn html5lib_pages_name_the_charset_they_should() {
        let Some(files) = html5lib::files("encoding", "dat") else {
            return;
        };
        let (mut agreed, mut all) = (0, 0);
        for test in files.iter().flat_map(|file| html5lib::dat_tests(file)) {
            let page = test.section("data").unwrap_or_default();
            let label = test.section("encoding").unwrap_or_default().trim_ascii();
            let expected = Encoding::for_label(label).map(Encoding::name);
            let read = decode(page, HTML);
            let declared = matches!(read.source, EncodingSource::Meta | EncodingSource::Bom);
            // Where nothing is declared the tests expect the Western default.
            let got = if declared {
                read.encoding
            } else {
                "windows-1252"
            };
            all += 1;
            agreed += usize::from(Some(got) == expected);
        }
        // The one left writes its `meta` by a script.
        assert_eq!((agreed, all), (82, 83));
    }

    #[test]
    fn the_apache_manual_reads_in_its_declared_charsets_without_a_fault() {
        let Some(corpora) = corpora() else { return };
        let folder = corpora.join("charset-apache-manual");
        let truth =
            std::fs::read_to_string(folder.join("truth.tsv")).expect("the truth can be read");
        let pages = warc::responses(&folder.join("manual.warc.gz")).expect("the pages can be read");
        assert!(pages.len() > 100);
        for (url, body) in &pages {
            let row = truth
                .lines()
                .find(|row| row.starts_with(&format!("{url}\t")));
            let declared = row.and_then(|row| row.split('\t').nth(3)).expect(url);
            let expected = Encoding::for_label(declared.as_bytes()).expect(declared);
            let read = decode(body, HTML);
            assert_eq!(
                (read.encoding, read.source),
                (expected.name(), EncodingSource::Meta),
                "{url}"
            );
            assert_eq!(read.replaced, 0, "{url}");
        }
    }
}
