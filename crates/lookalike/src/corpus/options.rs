//! How inputs are to be read: the names of fields, what a token is, and limits.
//!
//! Every limit is named in the refusal it causes, so a user knows which one to raise.

use std::fmt;
use std::str::FromStr;

use lookalike_core::canonical::TokenKind;

use super::document::Format;

/// What an input is taken for.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum InputFormat {
    /// By its first bytes; its name is a hint where they do not tell.
    #[default]
    Auto,
    /// WARC or WET.
    Warc,
    /// WACZ: a zip archive with WARC files in it.
    Wacz,
    /// One JSON object a line.
    Jsonl,
    /// Comma-separated values, the names of the fields in the first row.
    Csv,
    /// Parquet.
    Parquet,
    /// One document.
    Document,
}

impl InputFormat {
    const ALL: [(InputFormat, &'static str); 7] = [
        (InputFormat::Auto, "auto"),
        (InputFormat::Warc, "warc"),
        (InputFormat::Wacz, "wacz"),
        (InputFormat::Jsonl, "jsonl"),
        (InputFormat::Csv, "csv"),
        (InputFormat::Parquet, "parquet"),
        (InputFormat::Document, "document"),
    ];
}

impl fmt::Display for InputFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = InputFormat::ALL.iter().find(|(format, _)| format == self);
        f.write_str(known.map_or("", |(_, name)| name))
    }
}

/// An input format that does not exist.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("unknown input format `{0}`; there are auto, warc, wacz, jsonl, csv, parquet and document")]
pub struct UnknownInputFormat(pub String);

impl FromStr for InputFormat {
    type Err = UnknownInputFormat;

    fn from_str(name: &str) -> Result<InputFormat, UnknownInputFormat> {
        let known = InputFormat::ALL.iter().find(|(_, known)| *known == name);
        known
            .map(|(format, _)| *format)
            .ok_or_else(|| UnknownInputFormat(name.to_owned()))
    }
}

/// How much of anything is read. Lengths are in bytes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Limits {
    /// The text of a document.
    pub document: usize,
    /// A line of JSON, a row of CSV.
    pub line: usize,
    /// A file that is one document, a record of a WARC, and either decoded.
    pub record: usize,
    /// How many times its own length a content encoding may unfold to, past
    /// [`RATIO_FROM`].
    pub ratio: usize,
    /// An id.
    pub id: usize,
    /// A URL.
    pub url: usize,
}

/// Content that unfolds to no more than this is taken whatever its ratio: short pages of
/// one repeated phrase are no bombs.
pub const RATIO_FROM: usize = 1 << 20;

/// How deep arrays and objects may stand in one another in JSON.
pub const JSON_DEPTH: usize = 128;

/// The largest window a zstd frame may ask for: 2^27 bytes are 128 MiB.
pub(crate) const ZSTD_WINDOW_LOG: u32 = 27;

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            document: 16 << 20,
            line: 64 << 20,
            record: 64 << 20,
            ratio: 1000,
            id: 4 << 10,
            url: 8 << 10,
        }
    }
}

/// How inputs are to be read.
#[derive(Clone, Debug)]
pub struct ReadOptions {
    /// What the inputs are.
    pub input: InputFormat,
    /// The field with the text; dots reach into nested objects, and a key that has the
    /// dot itself wins.
    pub text_field: String,
    /// The field with the id: a string or an integer.
    pub id_field: String,
    /// The field with the URL.
    pub url_field: String,
    /// The field with the date.
    pub date_field: String,
    /// What a token will be: features may come as a list in the field `features`.
    pub tokens: TokenKind,
    /// What the bytes of a document are taken for.
    pub format: Format,
    /// How much of anything is read.
    pub limits: Limits,
    /// Whether files and folders whose name begins with a dot are read too.
    pub hidden: bool,
    /// Whether every record is a document of its own, and goes by where it stands: one
    /// that has the name and the words of another is a copy then, and not met again.
    pub by_place: bool,
}

impl Default for ReadOptions {
    fn default() -> ReadOptions {
        ReadOptions {
            input: InputFormat::default(),
            text_field: "text".to_owned(),
            id_field: "id".to_owned(),
            url_field: "url".to_owned(),
            date_field: "date".to_owned(),
            tokens: TokenKind::default(),
            format: Format::default(),
            limits: Limits::default(),
            hidden: false,
            by_place: false,
        }
    }
}
