//! A source → pieces: what is known of its documents, and their samples.
//!
//! ```text
//! source ─► batches ─► Piece: entries 160 bytes each | samples, id, URL, media type | tally
//! ```
//!
//! A piece is one batch of the source, half a mebibyte of text or so.

use std::ops::ControlFlow;

use lookalike_core::recipe::Recipe;
use serde::{Deserialize, Serialize};

use super::Garbled;
use crate::add::contents::Contents;
use crate::add::intake::reject_line;
use crate::add::recent::Recent;
use crate::add::sketching::{RECENT, Sketched, Worker};
use crate::add::tally::Tally;
use crate::blocks::Record;
use crate::collection::entry::Entry;
use crate::corpus::inputs::Source;
use crate::corpus::options::ReadOptions;
use crate::corpus::read::read_source;
use crate::storage::StorageError;

/// Some documents of a source, sketched.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Piece {
    /// Entries, one after the other.
    pub heads: Vec<u8>,
    /// Of each: samples, id, URL, media type.
    pub bodies: Vec<u8>,
    /// What became of the records, and those that were rejected.
    pub notes: Notes,
}

/// What became of the records of a piece.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Notes {
    /// How many of which kind.
    pub tally: Tally,
    /// The rejected ones: one JSON object a line.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub rejects: String,
}

impl Piece {
    fn of(sketched: Sketched, source: &Source) -> Piece {
        let mut heads = Vec::with_capacity(Entry::LEN * sketched.entries.len());
        for entry in &sketched.entries {
            heads.extend_from_slice(entry.to_bytes().as_ref());
        }
        let rejects = sketched.refused.iter().filter(|one| one.is_rejected);
        Piece {
            heads,
            bodies: sketched.bodies,
            notes: Notes {
                tally: sketched.tally,
                rejects: rejects.map(|one| reject_line(&source.name, one)).collect(),
            },
        }
    }

    /// How many entries it has.
    pub fn entries(&self) -> usize {
        self.heads.len() / Entry::LEN
    }
}

/// The entries of a piece.
pub(crate) fn entries(heads: &[u8]) -> Result<Vec<Entry>, Garbled> {
    if !heads.len().is_multiple_of(Entry::LEN) {
        return Err(Garbled("entries"));
    }
    Ok(heads
        .chunks_exact(Entry::LEN)
        .map(Entry::from_bytes)
        .collect())
}

/// Sketches a source from its beginning to its end, on the calling thread. `number` is its
/// place among the sources of the job. `take` may stop it.
///
/// A source that cannot be read, or no further, is a rejected record of the last piece.
pub fn sketch_source(
    source: &Source,
    number: u32,
    recipe: &Recipe,
    options: &ReadOptions,
    mut take: impl FnMut(Piece) -> ControlFlow<()>,
) -> Result<(), StorageError> {
    let contents = Contents::default();
    let recent = Recent::new(RECENT);
    let mut worker = Worker::alone(options, recipe, &recent, &contents);
    let mut wrong = None;
    let mut is_stopped = false;
    let read = read_source(source, options, &mut |batch| match worker
        .sketch((number, &source.name), &batch)
    {
        Ok(sketched) => {
            let flow = take(Piece::of(sketched, source));
            is_stopped = flow.is_break();
            flow
        }
        Err(error) => {
            wrong = Some(error);
            ControlFlow::Break(())
        }
    });
    if let Some(error) = wrong {
        return Err(error);
    }
    if let (false, Err(error)) = (is_stopped, read) {
        let sketched = Sketched::unreadable(&error);
        let _ = take(Piece::of(sketched, source));
    }
    Ok(())
}
