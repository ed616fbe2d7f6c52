//! What stood at a capture, byte for byte as replay wants it.
//!
//! ```text
//! sighting ─► its record, read again ─► still the same? ─► status, headers, body
//!                └─► a revisit: the record with its payload ─► the body of that one
//! ```
//!
//! The body is the payload as it was stored: chunks are joined, and `Transfer-Encoding` is
//! gone with them; a content coding stays, and so does its `Content-Encoding`. That is what
//! the `id_` address of a Wayback machine gives. All other headers are as they stood.
//!
//! A record is the same if its URL, its date, its payload digest and the name of its content
//! are those that were written down. Costs and limits are those of [`texts`](super::texts);
//! a text that the collection keeps is no substitute, for it is not what stood there.

use super::Collection;
use super::entry::Entry;
use super::sightings::Sighting;
use super::texts::{Lost, is_file, refused_lost, source_lost};
use crate::add::sketching::{Original, body_name, payload_name};
use crate::corpus::options::ReadOptions;
use crate::corpus::read::fetch;
use crate::corpus::record::{Block, Body, Record, Refused, When};
use crate::corpus::unusable::shown;
use crate::corpus::warc::{Served, served};
use crate::storage::StorageError;

/// What stood at a capture.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Raw {
    /// The status of the HTTP response; `None` for what was not served.
    pub status: Option<u16>,
    /// Its headers, in order; for what was not served a `Content-Type` that suits it.
    pub headers: Vec<(String, Vec<u8>)>,
    /// Its body: chunks joined, content codings as they were.
    pub body: Vec<u8>,
}

impl Raw {
    fn plain(content_type: &str, body: Vec<u8>) -> Raw {
        let content_type = content_type.as_bytes().to_vec();
        Raw {
            status: None,
            headers: vec![("Content-Type".to_owned(), content_type)],
            body,
        }
    }

    /// The first header of a name.
    pub fn header(&self, name: &str) -> Option<&[u8]> {
        let mut all = self.headers.iter();
        let found = all.find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| &**value)
    }
}

impl From<Served<'_>> for Raw {
    fn from(served: Served<'_>) -> Raw {
        Raw {
            status: served.status,
            headers: served.headers,
            body: served.body.into_owned(),
        }
    }
}

/// Records that are tried for the payload of a revisit. One is there nearly always.
const ENOUGH: usize = 8;

/// What a record gave, and what is to be done about it.
enum Stood {
    Here(Raw),
    /// A revisit: where its payload is, and the head of its response if that was stored.
    Elsewhere(Whose, Option<Raw>),
}

/// Whose payload a revisit has, as its record tells it.
struct Whose {
    payload: Option<u64>,
    original: Option<Original>,
}

impl Collection {
    /// What stood at a capture, or why it cannot be had. A revisit has the payload of the
    /// record it refers to, wherever in the collection that is; its head is its own if it
    /// has one that says that all is well, else that of the other.
    pub fn raw(&self, sighting: &Sighting) -> Result<Result<Raw, Lost>, StorageError> {
        let (whose, head) = match self.stood(sighting)? {
            Ok(Stood::Here(raw)) => return Ok(Ok(raw)),
            Ok(Stood::Elsewhere(whose, head)) => (whose, head),
            Err(lost) => return Ok(Err(lost)),
        };
        let mut lost = Lost::NoOriginal;
        for original in self.originals(sighting, &whose)? {
            match self.stood(&original)? {
                Ok(Stood::Here(raw)) => {
                    let head = head.filter(|head| matches!(head.status, Some(200..300)));
                    return Ok(Ok(match head {
                        Some(head) => Raw {
                            body: raw.body,
                            ..head
                        },
                        None => raw,
                    }));
                }
                Ok(Stood::Elsewhere(..)) => {}
                Err(why) => lost = why,
            }
        }
        Ok(Err(lost))
    }

    /// Captures that have the payload of a revisit: of its own document, for they are most
    /// like it, and then of documents that have its payload digest; where there are none,
    /// the one that it names by address and date. Of any number, a few.
    fn originals(&self, revisit: &Sighting, whose: &Whose) -> Result<Vec<Sighting>, StorageError> {
        let mut docs = vec![revisit.doc];
        for add in 0..self.state().sweeps.len() {
            let payload = whose.payload.as_slice();
            let same_payload = self.segment(add).payloads.found(payload)?;
            docs.extend(same_payload.iter().map(|(doc, _)| doc));
        }
        let mut originals = Vec::new();
        for (place, doc) in docs.into_iter().enumerate() {
            if originals.len() >= ENOUGH {
                break;
            }
            if place == 0 || doc != revisit.doc {
                let seen = self.captures_of(doc)?.into_iter();
                originals.extend(seen.filter(|one| !one.is_revisit).take(ENOUGH));
            }
        }
        if originals.is_empty()
            && let Some(Original { key, date }) = whose.original
        {
            for add in 0..self.state().sweeps.len() {
                for (doc, _) in self.segment(add).keys.found(&[key])? {
                    let seen = self.captures_of(doc)?.into_iter();
                    let named = seen.filter(|one| !one.is_revisit && one.own_date == Some(date));
                    originals.extend(named.take(ENOUGH));
                }
            }
        }
        Ok(originals)
    }

    /// Reads the record of a capture again.
    fn stood(&self, sighting: &Sighting) -> Result<Result<Stood, Lost>, StorageError> {
        let source = self.source(sighting.add, sighting.source)?;
        let entry = self.entry(sighting.doc)?;
        let (_, url) = self.strings(sighting.doc, &entry)?;
        let options = self.reading(sighting.add);
        let changed = || Lost::Changed(shown(&source.path));
        let mut stood = Err(changed());
        let mut take = |_, record: Result<Record<'_>, Refused>| {
            let is_same = |record: &Record<'_>| is_same(record, sighting, &entry, url.as_deref());
            stood = match record {
                Ok(record) if is_same(&record) => Ok(of(&record, options)),
                Ok(_) => Err(changed()),
                Err(refused) => Err(refused_lost(&source.path, &refused)),
            };
        };
        match is_file(&source) {
            Ok(true) => {
                if let Err(error) = fetch(&source, &[sighting.offset], options, &mut take) {
                    stood = Err(source_lost(&source.path, &error.fault));
                }
            }
            Ok(false) => {}
            Err(error) => stood = Err(source_lost(&source.path, &error.into())),
        }
        Ok(stood)
    }
}

/// Whether a record is the one that a capture was made of.
fn is_same(record: &Record<'_>, sighting: &Sighting, entry: &Entry, url: Option<&str>) -> bool {
    let date = match record.date {
        When::At(date) => Some(date),
        When::Unsaid | When::Unreadable => None,
    };
    let is_revisit = matches!(record.body, Body::Revisit { .. });
    record.url.as_deref() == url
        && date == sighting.own_date
        && record.archived.digest == sighting.digest
        && is_revisit == sighting.is_revisit
        // All captures of a document have its content; a revisit says so and has none.
        && (is_revisit || body_name(&record.body).1 == entry.bytes_name)
}

fn of(record: &Record<'_>, options: &ReadOptions) -> Stood {
    let is_html = || {
        record
            .document(options)
            .is_ok_and(|document| document.is_html())
    };
    let kind = || if is_html() { "text/html" } else { "text/plain" };
    Stood::Here(match (&record.body, record.archived.block) {
        (Body::Revisit { payload_digest, .. }, block) => {
            let whose = Whose {
                payload: payload_digest.as_deref().map(payload_name),
                original: Original::of(&record.body),
            };
            let head = match block {
                Block::Message(block) => Some(served(block).into()),
                Block::Content(_) | Block::Nowhere => None,
            };
            return Stood::Elsewhere(whose, head);
        }
        (_, Block::Message(block)) => served(block).into(),
        (_, Block::Content(block)) => {
            let mime = record.archived.mime.as_deref();
            Raw::plain(mime.unwrap_or_else(kind), block.to_vec())
        }
        // Which charset it is in, it says itself or nobody does.
        (Body::Bytes { bytes, .. }, Block::Nowhere) => Raw::plain(kind(), bytes.to_vec()),
        (Body::Text(text), Block::Nowhere) => {
            let content_type = format!("{}; charset=utf-8", kind());
            Raw::plain(&content_type, text.as_bytes().to_vec())
        }
        (Body::Weighted(list), Block::Nowhere) => {
            let weights: serde_json::Map<String, serde_json::Value> = list
                .iter()
                .map(|(name, weight)| (name.clone(), (*weight).into()))
                .collect();
            let weights = serde_json::Value::Object(weights).to_string();
            Raw::plain("application/json", weights.into_bytes())
        }
        (Body::Features(list), Block::Nowhere) => {
            let list = serde_json::json!(list).to_string();
            Raw::plain("application/json", list.into_bytes())
        }
    })
}
