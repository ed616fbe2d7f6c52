//! The captures of a collection as an archive tells of them.
//!
//! ```text
//! documents, further captures ─► Index::of ─► by key and date
//!                capture of the index ─► Captures::row ─► what a line says
//! ```
//!
//! What WARC said of a capture is told as it stood there. For documents from elsewhere: the
//! status is 200, the type that of a page or of text, and the digest the collection's own
//! name of the bytes, followed by zeros.

use std::collections::BTreeMap;

use super::cdx::digits;
use super::index::{Index, Order, Slot};
use super::row::{Original, REVISIT, Row, base32, key_of};
use crate::blocks::RecordStream;
use crate::clusters::table::Clustering;
use crate::collection::Collection;
use crate::collection::entry::{Capture, Entry, Flag};
use crate::collection::sightings::Sighting;
use crate::corpus::inputs::{Source, SourceKind};
use crate::corpus::record::Timestamp;
use crate::corpus::wacz;
use crate::storage::StorageError;

impl Index {
    /// The dated captures of all documents that have an address. One pass over them.
    pub fn of(collection: &Collection) -> Result<Index, StorageError> {
        let adds = 0..collection.state().sweeps.len();
        let streams: Result<Vec<Further>, StorageError> =
            adds.map(|add| Further::new(collection, add)).collect();
        let mut streams = streams?;
        let mut all = Vec::new();
        let (mut undated, mut unnamed) = (0, 0);
        for add in 0..streams.len() {
            let mut entries = collection.entries(add)?;
            let mut doc = collection.state().sweeps[add].base;
            while let Some(entry) = entries.next_record()? {
                let (_, url) = collection.strings(doc, &entry)?;
                let key = url.as_deref().map(key_of);
                let mut nth = 0;
                let mut put = |sighting: &Sighting| {
                    let date = sighting.date.map(|Timestamp(date)| date);
                    let date = date.filter(|date| digits(*date).is_some());
                    match (&key, date) {
                        (None, _) => unnamed += 1,
                        (_, None) => undated += 1,
                        (Some(key), Some(date)) => {
                            let order = Order::of(sighting);
                            all.push((key.clone(), Slot { date, doc, nth }, order));
                        }
                    }
                    nth += 1;
                };
                put(&collection.first_sighting(doc, &entry));
                for (add, further) in streams.iter_mut().enumerate().skip(add) {
                    while let Some(capture) = further.next_of(doc)? {
                        put(&collection.sighting(add, &capture));
                    }
                }
                doc += 1;
            }
        }
        let mut index = Index::new(all);
        (index.undated, index.unnamed) = (undated, unnamed);
        Ok(index)
    }
}

/// The further captures of one sweep, by document.
struct Further {
    stream: RecordStream<Capture>,
    next: Option<Capture>,
}

impl Further {
    fn new(collection: &Collection, add: usize) -> Result<Further, StorageError> {
        let mut stream = collection.captures(add)?;
        let next = stream.next_record()?;
        Ok(Further { stream, next })
    }

    /// The next one, if it is of a document.
    fn next_of(&mut self, doc: u32) -> Result<Option<Capture>, StorageError> {
        match self.next.filter(|capture| capture.doc == doc) {
            None => Ok(None),
            Some(capture) => {
                self.next = self.stream.next_record()?;
                Ok(Some(capture))
            }
        }
    }
}

/// Sources whose names are remembered.
const REMEMBERED: usize = 4096;

/// What tells of captures, one after the other.
#[derive(Debug)]
pub struct Captures<'c> {
    collection: &'c Collection,
    clustering: Option<&'c Clustering>,
    sources: BTreeMap<(usize, u32), Source>,
}

impl<'c> Captures<'c> {
    /// Of a collection, with the clusters of a clustering.
    pub fn new(collection: &'c Collection, clustering: Option<&'c Clustering>) -> Captures<'c> {
        Captures {
            collection,
            clustering,
            sources: BTreeMap::new(),
        }
    }

    /// What the collection knows of a capture.
    pub fn sighting(&self, slot: Slot) -> Result<Sighting, StorageError> {
        let entry = self.collection.entry(slot.doc)?;
        if slot.nth == 0 {
            return Ok(self.collection.first_sighting(slot.doc, &entry));
        }
        let all = self.collection.captures_of(slot.doc)?;
        let lost = || StorageError::damaged("captures", "a capture is not there any more", None);
        all.into_iter().nth(slot.nth as usize).ok_or_else(lost)
    }

    /// What an index says of a capture. How like it is to others, the caller adds.
    pub fn row(&mut self, index: &Index, capture: u32) -> Result<Row, StorageError> {
        let slot = index.slot(capture);
        let sighting = self.sighting(slot)?;
        let entry = self.collection.entry(slot.doc)?;
        let (_, url) = self.collection.strings(slot.doc, &entry)?;
        let clustering = self.clustering.map(|all| all.member(slot.doc));
        let member = clustering.transpose()?;
        let record = self.record(&sighting, &entry)?;
        let is_revisit = sighting.is_revisit;
        let mime = if is_revisit { REVISIT } else { &*record.mime };
        Ok(Row {
            key: index.key(capture).to_owned(),
            timestamp: digits(slot.date).unwrap_or_default(),
            url: url.unwrap_or_default(),
            mime: mime.to_owned(),
            status: record.status,
            digest: digest(&sighting, &entry),
            length: record.length,
            offset: record.offset,
            filename: record.filename,
            cluster: member.map(|member| member.cluster),
            ..Row::default()
        })
    }

    /// The record that has the content of a revisit.
    pub fn original(&mut self, slot: Slot) -> Result<Option<Original>, StorageError> {
        if !self.sighting(slot)?.is_revisit {
            return Ok(None);
        }
        let mut doc = slot.doc;
        let mut entry = self.collection.entry(doc)?;
        if entry.has(Flag::Revisit) {
            // It has the content of another document, and only that one's record has it.
            doc = entry.copy_of;
            entry = self.collection.entry(doc)?;
        }
        let sighting = self.collection.first_sighting(doc, &entry);
        if sighting.is_revisit {
            return Ok(None);
        }
        self.record(&sighting, &entry).map(Some)
    }

    /// What is said of the record of a capture, and where it stands. Archives go by the last
    /// part of their path, as indexers have it.
    fn record(&mut self, sighting: &Sighting, entry: &Entry) -> Result<Original, StorageError> {
        let number = (sighting.add, sighting.source);
        if !self.sources.contains_key(&number) {
            if self.sources.len() >= REMEMBERED {
                self.sources.clear();
            }
            let source = self.collection.source(number.0, number.1)?;
            self.sources.insert(number, source);
        }
        let source = &self.sources[&number];
        let last = source.name.rsplit('/').next().unwrap_or_default();
        let (filename, offset) = match source.kind {
            SourceKind::Warc => (last.to_owned(), sighting.offset.0),
            SourceKind::Wacz => {
                let (file, offset) = wacz::place(sighting.offset);
                (format!("{last}/{file}"), offset)
            }
            _ => (source.name.clone(), sighting.offset.0),
        };
        let is_archive = matches!(source.kind, SourceKind::Warc | SourceKind::Wacz);
        let is_archived = is_archive || sighting.record_len > 0;
        let ending = last.rsplit_once('.').map(|(_, ending)| ending);
        let is_page = ending.is_some_and(|ending| {
            let pages = ["html", "htm", "xhtml"];
            pages.iter().any(|page| ending.eq_ignore_ascii_case(page))
        });
        let mime = match (&sighting.mime, is_archived) {
            (Some(mime), _) => mime,
            (None, true) => "",
            (None, false) if is_page => "text/html",
            (None, false) => "text/plain",
        };
        Ok(Original {
            mime: mime.to_owned(),
            status: match sighting.status {
                0 => (!is_archived).then_some(200),
                status => Some(status),
            },
            length: match sighting.record_len {
                0 => entry.body_len,
                len => u64::from(len),
            },
            offset,
            filename,
        })
    }
}

/// The name of a payload, as WARC has it, or of the bytes, in as many digits.
fn digest(sighting: &Sighting, entry: &Entry) -> String {
    if let Some(digest) = sighting.digest {
        return format!("sha1:{}", base32(&digest));
    }
    let mut name = [0; 20];
    name[..16].copy_from_slice(&entry.bytes_name.to_le_bytes());
    base32(&name)
}
