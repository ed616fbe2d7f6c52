//! Where pages are that vanished: the page of the next sweep that has their text.

use super::timeline::{Seen, Timeline};
use crate::find::{FindOptions, Finder, Match, Query, Reread};
use crate::storage::StorageError;

/// Where a page went.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Move {
    /// The document that has its text.
    pub doc: u32,
    /// The page that this document is.
    pub key: u64,
    /// How sure that is: the page has moved from [`MOVED`] on.
    pub confidence: f64,
}

/// From this confidence on a page has moved.
pub const MOVED: f64 = 0.5;

/// Documents looked at for each page that vanished: versions of other sweeps come first as
/// often as not.
const LOOKED_AT: usize = 64;

/// Where each of the pages is that sweep `from` saw and sweep `to` did not.
pub fn moves(
    finder: &Finder,
    timeline: &Timeline,
    from: usize,
    to: usize,
    vanished: &[Seen],
) -> Result<Vec<Option<Move>>, StorageError> {
    let queries: Result<Vec<Query>, StorageError> = vanished
        .iter()
        .map(|seen| finder.query_of(seen.doc, Reread::Never))
        .collect();
    let options = FindOptions {
        top: LOOKED_AT,
        min_resemblance: Some(0.5),
        min_containment: Some(0.8),
    };
    let found = finder.find_all(&queries?, &options)?;
    let mut moves = Vec::with_capacity(vanished.len());
    for matches in found {
        let mut best: Option<Move> = None;
        for one in &matches {
            let key = finder.collection().entry(one.doc)?.key;
            let is_there = timeline.at(to, key) == Some(one.doc);
            let confidence = confidence(one);
            if is_there
                && timeline.at(from, key).is_none()
                && best.is_none_or(|best| best.confidence < confidence)
            {
                best = Some(Move {
                    doc: one.doc,
                    key,
                    confidence,
                });
            }
        }
        moves.push(best);
    }
    Ok(moves)
}

fn confidence(one: &Match) -> f64 {
    let resemblance = one.resemblance().map_or(0.0, |share| share.value);
    let kept = one.query_in_doc().map_or(0.0, |share| share.value);
    if resemblance >= 0.5 || kept >= 0.8 {
        resemblance.max(kept)
    } else {
        0.0
    }
}
