//! The bytes of a capture again, from where they were read.

use std::fs;

use crate::add::sketching::body_name;
use crate::collection::Collection;
use crate::collection::entry::Flag;
use crate::collection::texts::{Lost, refused_lost, source_lost};
use crate::corpus::inputs::SourceKind;
use crate::corpus::read::fetch;
use crate::corpus::record::{Body, Record, Refused};
use crate::corpus::unusable::shown;
use crate::storage::StorageError;

/// What was served, chunks and content encodings undone.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Raw {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// What they are, as the archive says, with their charset; nothing if it does not.
    pub content_type: Option<String>,
}

/// The bytes of a document, if its source still has them. Costs what its text costs.
pub fn raw(collection: &Collection, doc: u32) -> Result<Result<Raw, Lost>, StorageError> {
    let (mut holder, mut entry) = (doc, collection.entry(doc)?);
    if entry.has(Flag::Revisit) {
        // It has the content of another, and only that one's record has it.
        (holder, entry) = (entry.copy_of, collection.entry(entry.copy_of)?);
    }
    let sweep = collection.sweep_of(holder);
    let source = collection.source(sweep, entry.source)?;
    let path = &source.path;
    if source.kind != SourceKind::Stdin {
        match fs::metadata(path) {
            // A pipe that stands there now may never end.
            Ok(there) if !there.is_file() => return Ok(Err(Lost::Changed(shown(path)))),
            Ok(_) => {}
            Err(error) => return Ok(Err(source_lost(path, &error.into()))),
        }
    }
    let mut found = Err(Lost::Changed(shown(path)));
    let mut take = |_, record: Result<Record<'_>, Refused>| {
        found = match record {
            Err(refused) => Err(refused_lost(path, &refused)),
            Ok(record) if body_name(&record.body).1 == entry.bytes_name => Ok(of(record)),
            Ok(_) => Err(Lost::Changed(shown(path))),
        };
    };
    let options = collection.reading(sweep);
    match fetch(&source, &[entry.place()], options, &mut take) {
        Ok(()) => Ok(found),
        Err(error) => Ok(Err(source_lost(path, &error.fault))),
    }
}

fn of(record: Record<'_>) -> Raw {
    let mime = record.archived.mime.as_deref();
    let with = |charset: Option<&str>| {
        let mime = mime?;
        Some(match charset {
            Some(charset) => format!("{mime}; charset={charset}"),
            None => mime.to_owned(),
        })
    };
    match record.body {
        Body::Bytes { bytes, charset, .. } => Raw {
            content_type: with(charset.as_deref()),
            bytes: bytes.into_owned(),
        },
        Body::Text(text) => Raw {
            content_type: Some("text/plain; charset=utf-8".to_owned()),
            bytes: text.into_owned().into_bytes(),
        },
        Body::Features(features) => Raw {
            content_type: Some("text/plain; charset=utf-8".to_owned()),
            bytes: features.join("\n").into_bytes(),
        },
        Body::Revisit { .. } => Raw {
            content_type: None,
            bytes: Vec::new(),
        },
    }
}
