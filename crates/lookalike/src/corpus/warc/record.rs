//! One WARC record as a document: type, URI, date, content.

use std::borrow::Cow;

use super::super::date;
use super::super::json::lossy;
use super::super::options::ReadOptions;
use super::super::record::{Archived, Block, Body, Kind, Offset, Record, Refused};
use super::Extent;
use super::digest::sha1;
use super::header::Fields;
use super::http::{self, BodyFault, ContentType, Message};

/// The types that hold no document.
pub(crate) fn skipped_type(head: &[u8]) -> Option<&'static str> {
    let kind = Fields(head).get("warc-type")?.to_ascii_lowercase();
    ["warcinfo", "request", "metadata", "continuation"]
        .into_iter()
        .find(|known| *known == kind)
}

/// Reads one record: from its version line to the end of its block.
pub(crate) fn record<'a>(
    bytes: &'a [u8],
    head: usize,
    extent: Extent,
    options: &ReadOptions,
) -> Result<Record<'a>, Refused> {
    let offset = extent.offset;
    let (head, block) = bytes.split_at_checked(head).unwrap_or((bytes, &[]));
    if !head.starts_with(b"WARC/1.") && !head.starts_with(b"WARC/0.") {
        let message = "the version of the record is not 1.0 or 1.1";
        return Err(Refused::rejected(offset, "unknown version", message));
    }
    let fields = Fields(head);
    let kind = fields
        .get("warc-type")
        .unwrap_or_default()
        .to_ascii_lowercase();
    let url = target(fields, offset, options)?;
    let date = fields.get("warc-date").unwrap_or_default();
    let mut record = Record {
        offset: Offset(offset),
        id: None,
        url,
        date: date::when(&date),
        body: Body::Features(Vec::new()),
        archived: Archived::default(),
        repaired: 0,
    };
    let said = fields.get("content-type");
    let digest = fields.get("warc-payload-digest");
    record.archived = Archived {
        status: None,
        mime: media_type(said.as_deref()),
        digest: digest.as_deref().and_then(sha1),
        record_len: u32::try_from(extent.len).unwrap_or(0),
        block: Block::Content(block),
    };
    // What a crawler says of its own run is no document.
    let is_about_run = record
        .url
        .as_deref()
        .is_some_and(|url| url.starts_with("metadata:"));
    record.body = match kind.as_str() {
        "response" | "resource" | "conversion" if is_about_run => {
            return Err(Refused::skipped(
                offset,
                "metadata",
                "a record about the crawl",
            ));
        }
        "response" if is_http(said.as_deref(), block) => {
            let message = http::message(block);
            if let Some(status) = message.status.filter(|status| !(200..300).contains(status)) {
                let message = format!("a response of status {status}");
                return Err(Refused::skipped(offset, "status", message));
            }
            record.archived.say(&message, block);
            let said = message.fields.get("content-type");
            let (kind, charset) = text_type(said.as_deref(), offset)?;
            let bytes = http::content(&message, &options.limits)
                .map_err(|fault| bad_body(&fault, offset))?;
            Body::Bytes {
                bytes,
                kind,
                charset: charset.map(|charset| Cow::Owned(charset.to_owned())),
                payload_digest: digest,
            }
        }
        "response" | "resource" => {
            let (kind, charset) = text_type(said.as_deref(), offset)?;
            Body::Bytes {
                bytes: Cow::Borrowed(block),
                kind,
                charset: charset.map(|charset| Cow::Owned(charset.to_owned())),
                payload_digest: digest,
            }
        }
        "conversion" => {
            text_type(said.as_deref(), offset)?;
            let (text, repaired) = lossy(block);
            record.repaired = repaired;
            Body::Text(text)
        }
        "revisit" => {
            // Of the response that was not stored again, its head often is.
            record.archived.say(&http::message(block), block);
            Body::Revisit {
                payload_digest: digest,
                refers_to: fields.get("warc-refers-to-target-uri").map(bare_uri),
                refers_to_date: date::when(&fields.get("warc-refers-to-date").unwrap_or_default()),
            }
        }
        "" => {
            let message = "the record has no WARC-Type";
            return Err(Refused::rejected(offset, "unknown type", message));
        }
        kind => {
            let kind: String = kind.chars().take(40).collect();
            let message = format!("a record of type {kind:?}");
            let code = skipped_type(head).unwrap_or("unknown type");
            return Err(Refused::skipped(offset, code, message));
        }
    };
    Ok(record)
}

impl<'a> Archived<'a> {
    /// Notes what an HTTP message says.
    fn say(&mut self, message: &Message<'a>, block: &'a [u8]) {
        self.status = message.status;
        self.mime = media_type(message.fields.get("content-type").as_deref());
        self.block = Block::Message(block);
    }
}

/// What the record is of.
fn target<'a>(
    fields: Fields<'a>,
    offset: u64,
    options: &ReadOptions,
) -> Result<Option<Cow<'a, str>>, Refused> {
    let url = fields.get("warc-target-uri").map(bare_uri);
    match url.as_deref().map_or(0, str::len) {
        len if len > options.limits.url => {
            let limit = options.limits.url;
            let message = format!("the URI has {len} bytes, more than {limit} (limit `url`)");
            Err(Refused::rejected(offset, "too large", message))
        }
        _ => Ok(url),
    }
}

/// The media type of a `Content-Type`: all before its parameters, in lower case.
fn media_type(said: Option<&str>) -> Option<Cow<'static, str>> {
    let is_end = |c: char| c == ';' || c.is_whitespace();
    let name = said?.trim_start().split(is_end).next()?;
    (!name.is_empty()).then(|| Cow::Owned(name.to_ascii_lowercase()))
}

fn is_http(said: Option<&str>, block: &[u8]) -> bool {
    let said = said.unwrap_or("application/http").trim_start();
    let is_said = |prefix: &str| {
        said.get(..prefix.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(prefix))
    };
    is_said("application/http") || block.starts_with(b"HTTP/")
}

/// Some writers put the URI in angle brackets.
fn bare_uri(uri: Cow<'_, str>) -> Cow<'_, str> {
    match uri.strip_prefix('<').and_then(|uri| uri.strip_suffix('>')) {
        Some(bare) => Cow::Owned(bare.to_owned()),
        None => uri,
    }
}

fn text_type(said: Option<&str>, offset: u64) -> Result<(Kind, Option<&str>), Refused> {
    match http::content_type(said) {
        ContentType::Text(kind, charset) => Ok((kind, charset)),
        ContentType::Other => {
            let said: String = said.unwrap_or_default().chars().take(80).collect();
            let message = format!("a content of type {said:?}");
            Err(Refused::skipped(offset, "not text", message))
        }
    }
}

fn bad_body(fault: &BodyFault, offset: u64) -> Refused {
    match fault {
        BodyFault::TooLarge(name, limit) => Refused::rejected(
            offset,
            "too large",
            format!("the content unfolds to more than {limit} bytes (limit `{name}`)"),
        ),
        BodyFault::Damaged(why) => Refused::damaged(offset, *why),
    }
}
