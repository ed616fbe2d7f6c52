//! One capture as a line: of CDXJ, of columns.
//!
//! Lines are written as `cdxj-indexer` writes them, space for space, so that an index of
//! ours and one of theirs can be compared and merged.

use std::borrow::Cow;
use std::fmt::Write;

use super::cdx::Dialect;
use super::surt::surt;

/// One capture as an index tells of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// Its key, the SURT of its address.
    pub key: String,
    /// When, in 14 digits.
    pub timestamp: String,
    /// Its address.
    pub url: String,
    /// What it was said to be, `warc/revisit` for a revisit.
    pub mime: String,
    /// The status of HTTP.
    pub status: Option<u16>,
    /// The name of its payload in base 32, with `sha1:` before it where it is one.
    pub digest: String,
    /// Bytes of its record in the file, packed or not as it stands there.
    pub length: u64,
    /// Where in the file.
    pub offset: u64,
    /// The file.
    pub filename: String,
    /// For a revisit, the record that has the content.
    pub original: Option<Original>,
    /// Its cluster.
    pub cluster: Option<u32>,
    /// How like it is to the capture of its address before it.
    pub resemblance: Option<f64>,
    /// Where the page is now.
    pub moved_to: Option<String>,
}

/// The record whose content a revisit has.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Original {
    /// What it was said to be.
    pub mime: String,
    /// The status of HTTP.
    pub status: Option<u16>,
    /// Bytes of the record.
    pub length: u64,
    /// Where in the file.
    pub offset: u64,
    /// The file.
    pub filename: String,
}

/// What the type of a revisit is called.
pub const REVISIT: &str = "warc/revisit";

/// A column.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Field {
    Key,
    Timestamp,
    Url,
    Mime,
    Status,
    Digest,
    Length,
    Offset,
    Filename,
    OriginalLength,
    OriginalOffset,
    OriginalFilename,
    Cluster,
    Resemblance,
    MovedTo,
}

impl Field {
    /// By any of the names that the two servers and older indexes give it.
    pub(super) fn named(name: &str) -> Option<Field> {
        Some(match name {
            "urlkey" | "k" => Field::Key,
            "timestamp" | "t" => Field::Timestamp,
            "url" | "original" | "u" => Field::Url,
            "mime" | "mimetype" | "m" => Field::Mime,
            "status" | "statuscode" => Field::Status,
            "digest" | "d" => Field::Digest,
            "length" | "l" | "s" => Field::Length,
            "offset" | "o" => Field::Offset,
            "filename" | "f" => Field::Filename,
            "orig.length" => Field::OriginalLength,
            "orig.offset" => Field::OriginalOffset,
            "orig.filename" => Field::OriginalFilename,
            "cluster" => Field::Cluster,
            "resemblance" => Field::Resemblance,
            "moved_to" => Field::MovedTo,
            _ => return None,
        })
    }

    /// The name in lines of JSON.
    fn name(self) -> &'static str {
        match self {
            Field::Key => "urlkey",
            Field::Timestamp => "timestamp",
            Field::Url => "url",
            Field::Mime => "mime",
            Field::Status => "status",
            Field::Digest => "digest",
            Field::Length => "length",
            Field::Offset => "offset",
            Field::Filename => "filename",
            Field::OriginalLength => "orig.length",
            Field::OriginalOffset => "orig.offset",
            Field::OriginalFilename => "orig.filename",
            Field::Cluster => "cluster",
            Field::Resemblance => "resemblance",
            Field::MovedTo => "moved_to",
        }
    }

    /// Whether its values are numbers in JSON. (Those of other indexers are all text.)
    fn is_number(self) -> bool {
        matches!(self, Field::Cluster | Field::Resemblance)
    }
}

/// What lines of JSON say after key and date, in the order of `cdxj-indexer`.
pub(super) const FACTS: [Field; 7] = [
    Field::Url,
    Field::Mime,
    Field::Status,
    Field::Digest,
    Field::Length,
    Field::Offset,
    Field::Filename,
];

/// And what they say besides, where it is known.
pub(super) const MORE: [Field; 6] = [
    Field::OriginalLength,
    Field::OriginalOffset,
    Field::OriginalFilename,
    Field::Cluster,
    Field::Resemblance,
    Field::MovedTo,
];

/// The columns of the Wayback Machine.
pub(super) const COLUMNS: [&str; 7] = [
    "urlkey",
    "timestamp",
    "original",
    "mimetype",
    "statuscode",
    "digest",
    "length",
];

impl Row {
    /// The value of a field, if it has one.
    pub(super) fn value(&self, field: Field) -> Option<Cow<'_, str>> {
        let original = self.original.as_ref();
        Some(match field {
            Field::Key => Cow::Borrowed(&*self.key),
            Field::Timestamp => Cow::Borrowed(&*self.timestamp),
            Field::Url => Cow::Borrowed(&*self.url),
            Field::Mime if self.mime.is_empty() => return None,
            Field::Mime => Cow::Borrowed(&*self.mime),
            Field::Status => Cow::Owned(self.status?.to_string()),
            Field::Digest => Cow::Borrowed(&*self.digest),
            Field::Length => Cow::Owned(self.length.to_string()),
            Field::Offset => Cow::Owned(self.offset.to_string()),
            Field::Filename => Cow::Borrowed(&*self.filename),
            Field::OriginalLength => Cow::Owned(original?.length.to_string()),
            Field::OriginalOffset => Cow::Owned(original?.offset.to_string()),
            Field::OriginalFilename => Cow::Borrowed(&*original?.filename),
            Field::Cluster => Cow::Owned(self.cluster?.to_string()),
            Field::Resemblance => {
                let tenth = (self.resemblance? * 10_000.0).round() / 10_000.0;
                Cow::Owned(tenth.to_string())
            }
            Field::MovedTo => Cow::Borrowed(self.moved_to.as_deref()?),
        })
    }

    /// Its line in a CDXJ file, as `cdxj-indexer` writes it: `key date {"url": …}`.
    pub fn cdxj(&self) -> String {
        let mut line = format!("{} {} ", self.key, self.timestamp);
        self.write_object(&mut line, FACTS.iter().chain(&MORE).copied());
        line
    }

    /// An object of the fields that have values. Spaces and escapes are those of Python's
    /// `json.dumps`, which wrote the files that ours are compared with.
    pub(super) fn write_object(&self, out: &mut String, fields: impl Iterator<Item = Field>) {
        out.push('{');
        let mut is_first = true;
        for field in fields {
            let Some(value) = self.value(field) else {
                continue;
            };
            if !is_first {
                out.push_str(", ");
            }
            is_first = false;
            let _ = write!(out, "\"{}\": ", field.name());
            if field.is_number() {
                out.push_str(&value);
            } else {
                write_string(out, &value);
            }
        }
        out.push('}');
    }

    /// A field as a column: nothing in it that ends a column or a line, `-` for nothing.
    pub(super) fn column(&self, field: Option<Field>, dialect: Dialect) -> String {
        let value = field.and_then(|field| self.value(field));
        let Some(value) = value.filter(|value| !value.is_empty()) else {
            return "-".to_owned();
        };
        if field == Some(Field::Digest) && dialect == Dialect::Wayback {
            let digest = value.rsplit(':').next();
            return digest.unwrap_or_default().to_owned();
        }
        harmless(&value).into_owned()
    }
}

/// Text in which whatever ends a word or a line became `%XX`.
fn harmless(text: &str) -> Cow<'_, str> {
    let is_harmful = |c: char| c.is_whitespace() || c.is_control();
    if !text.contains(is_harmful) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 2);
    for c in text.chars() {
        if is_harmful(c) {
            for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                let _ = write!(out, "%{byte:02X}");
            }
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// A string of JSON in ASCII.
fn write_string(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            ' '..='\u{7f}' => out.push(c),
            c => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
        }
    }
    out.push('"');
}

/// Bytes in base 32 without padding (RFC 4648), as WARC writes digests.
pub fn base32(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    let mut out = String::with_capacity(bytes.len().div_ceil(5) * 8);
    for chunk in bytes.chunks(5) {
        let mut word = [0; 8];
        word[3..3 + chunk.len()].copy_from_slice(chunk);
        let word = u64::from_be_bytes(word);
        for digit in 0..(chunk.len() * 8).div_ceil(5) {
            let value = word >> (35 - 5 * digit) & 31;
            out.push(char::from(DIGITS[value as usize]));
        }
    }
    out
}

/// The key under which an address is indexed: its SURT, on one line and in one word.
pub fn key_of(url: &str) -> String {
    let key = surt(url);
    match harmless(&key) {
        Cow::Borrowed(_) => key,
        Cow::Owned(harmless) => harmless,
    }
}

/// Strings as an array of JSON.
pub(super) fn write_array(out: &mut String, values: impl IntoIterator<Item = impl AsRef<str>>) {
    out.push('[');
    for (i, value) in values.into_iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        write_string(out, value.as_ref());
    }
    out.push(']');
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn row() -> Row {
        Row {
            key: "org,example)/a".to_owned(),
            timestamp: "20200924060001".to_owned(),
            url: "https://example.org/a \"ä\"".to_owned(),
            mime: "text/html".to_owned(),
            status: Some(200),
            digest: "sha1:OH2QFNPPO7FDHGGEYJ2KMYEX6PPT63SX".to_owned(),
            length: 1625,
            offset: 367,
            filename: "a.warc.gz".to_owned(),
            cluster: Some(7),
            resemblance: Some(2.0 / 3.0),
            ..Row::default()
        }
    }

    #[test]
    fn a_line_is_that_of_the_indexer_and_what_we_add() {
        assert_eq!(
            row().cdxj(),
            r#"org,example)/a 20200924060001 {"url": "https://example.org/a \"\u00e4\"", "mime": "text/html", "status": "200", "digest": "sha1:OH2QFNPPO7FDHGGEYJ2KMYEX6PPT63SX", "length": "1625", "offset": "367", "filename": "a.warc.gz", "cluster": 7, "resemblance": 0.6667}"#
        );
    }

    #[test]
    fn a_column_is_one_word() {
        let row = row();
        let column = |name, dialect| row.column(Field::named(name), dialect);
        let url = column("original", Dialect::Wayback);
        assert_eq!(url, "https://example.org/a%20\"ä\"");
        assert_eq!(column("digest", Dialect::Wayback).len(), 32);
        assert_eq!(column("digest", Dialect::Pywb).len(), 37);
        assert_eq!(column("moved_to", Dialect::Pywb), "-");
        assert_eq!(column("whatever", Dialect::Pywb), "-");
    }

    #[test]
    fn base_32_is_that_of_the_standard() {
        // The vectors of RFC 4648, without their padding.
        for (plain, coded) in [
            ("", ""),
            ("f", "MY"),
            ("fo", "MZXQ"),
            ("foo", "MZXW6"),
            ("foob", "MZXW6YQ"),
            ("fooba", "MZXW6YTB"),
            ("foobar", "MZXW6YTBOI"),
        ] {
            assert_eq!(base32(plain.as_bytes()), coded);
        }
        assert_eq!(base32(&[0xff; 20]), "7".repeat(32));
    }

    proptest! {
        #[test]
        fn objects_are_json_on_one_line_in_ascii(url in any::<String>(), mime in any::<String>()) {
            let row = Row { url, mime, ..row() };
            let mut object = String::new();
            row.write_object(&mut object, FACTS.into_iter());
            prop_assert!(object.is_ascii() && !object.contains('\n'));
            let read: serde_json::Value = serde_json::from_str(&object).expect("JSON");
            prop_assert_eq!(&read["url"], &serde_json::json!(row.url));
        }
    }
}
