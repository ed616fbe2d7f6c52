//! What an input gives: documents one by one, each with the place it was read from.
//!
//! ```text
//! inputs ─► batches of raw records ─► Record: id, url, date, body ─► Document: text
//!                                 └─► Refused: why not, and where
//! ```
//!
//! The place is enough to read the same record again: a source and an offset in it.

use std::borrow::Cow;
use std::fmt;

/// Where a record stands in its source.
///
/// The meaning belongs to the reader: the byte offset of a line, of a WARC record's
/// compressed member or its header, or the number of a row.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Offset(pub u64);

/// A moment, in seconds since 1970 in UTC.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Timestamp(pub i64);

/// One document as its input gave it.
#[derive(Clone, Debug)]
pub struct Record<'a> {
    /// Where it stands.
    pub offset: Offset,
    /// The caller's id, where the input has one.
    pub id: Option<Cow<'a, str>>,
    /// Its address, where the input has one.
    pub url: Option<Cow<'a, str>>,
    /// When it was captured.
    pub date: When,
    /// What it holds.
    pub body: Body<'a>,
    /// What a web archive says of it besides; nothing where it was read from anything else.
    pub archived: Archived<'a>,
    /// How many malformed sequences of its fields became U+FFFD.
    pub repaired: usize,
}

/// What a web archive says of a record besides what it holds.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Archived<'a> {
    /// The status of the HTTP response, if it is one.
    pub status: Option<u16>,
    /// The media type, in lower case and without parameters.
    pub mime: Option<Cow<'a, str>>,
    /// SHA-1 of the payload, as the archive has it. Anyone can write one there.
    pub digest: Option<[u8; 20]>,
    /// Bytes it takes up in its file as it is stored there, packed or not; 0 where that is
    /// not known.
    pub record_len: u32,
    /// What the record holds, as it is stored.
    pub block: Block<'a>,
}

/// The block of a record in a web archive.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Block<'a> {
    /// It was read from no archive.
    #[default]
    Nowhere,
    /// An HTTP message: head and body.
    Message(&'a [u8]),
    /// A content without a head.
    Content(&'a [u8]),
}

/// What an input says of a record's date.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum When {
    /// A moment that exists.
    At(Timestamp),
    /// Nothing.
    Unsaid,
    /// Something that is no date: `2026-02-30`, `yesterday`.
    Unreadable,
}

/// What a record holds.
#[derive(Clone, Debug)]
pub enum Body<'a> {
    /// Text, decoded: a field of JSON, CSV or Parquet, a WET record.
    Text(Cow<'a, str>),
    /// Bytes as they were served or stored, content encodings undone.
    Bytes {
        /// The bytes.
        bytes: Cow<'a, [u8]>,
        /// What they are said to be.
        kind: Kind,
        /// The charset that HTTP named.
        charset: Option<Cow<'a, str>>,
        /// The name WARC gives the payload, as in `sha1:…`, for revisits to refer to.
        payload_digest: Option<Cow<'a, str>>,
    },
    /// The caller's own features.
    Features(Vec<String>),
    /// The same with weights, by name.
    Weighted(Vec<(String, f64)>),
    /// The same content as an earlier capture had: a WARC revisit record.
    Revisit {
        /// The payload digest it shares with the earlier one.
        payload_digest: Option<Cow<'a, str>>,
        /// The address the earlier one had, if it is said.
        refers_to: Option<Cow<'a, str>>,
        /// When that was captured.
        refers_to_date: When,
    },
}

/// What bytes are said to be.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Kind {
    /// HTML.
    Html,
    /// Text as it stands.
    Text,
    /// Nothing is said: look.
    Unsaid,
    /// A file whose name ends in something else than a page's endings: it may be Markdown
    /// or code, so only what nothing but a page begins with counts.
    Named,
}

/// A record that is not taken: skipped by its nature, or rejected as unreadable.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Refused {
    /// Where it stands, as far as known: byte offset, or line from 1 where `is_line`.
    pub at: u64,
    /// Whether `at` counts lines.
    pub is_line: bool,
    /// A word for counting, stable in reports: `request`, `not text`, `bad json`, `too large`.
    pub code: &'static str,
    /// What exactly.
    pub message: String,
    /// Whether something that was asked for could not be had; else it is only skipped.
    pub is_rejected: bool,
}

impl Refused {
    /// What is left out by its nature.
    pub fn skipped(at: u64, code: &'static str, message: impl Into<String>) -> Refused {
        Refused {
            at,
            is_line: false,
            code,
            message: message.into(),
            is_rejected: false,
        }
    }

    /// What was asked for and cannot be had.
    pub fn rejected(at: u64, code: &'static str, message: impl Into<String>) -> Refused {
        Refused {
            is_rejected: true,
            ..Refused::skipped(at, code, message)
        }
    }

    /// Bytes that are not what they ought to be.
    pub(crate) fn damaged(at: u64, message: impl Into<String>) -> Refused {
        Refused::rejected(at, "damaged", message)
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = if self.is_line { "line" } else { "offset" };
        write!(f, "{what} {}: {}", self.at, self.message)
    }
}
