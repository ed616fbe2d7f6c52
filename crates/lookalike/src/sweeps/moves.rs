//! Pages that one sweep saw and the next did not → where they are in that.

use super::timeline::Seen;
use super::trail::Trail;
use crate::find::Finder;
use crate::storage::StorageError;

/// Where a page went.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Move {
    /// What it is there.
    pub doc: u32,
    /// The page it is now.
    pub key: u64,
    /// How sure that is.
    pub confidence: f64,
}

/// From this confidence on a page is said to have moved.
pub const MOVED: f64 = 0.5;

impl Trail {
    /// Where each of some pages of sweep `from` is in sweep `to`, which did not see it
    /// under its address; nothing for pages that are not there.
    pub fn moves(
        &self,
        finder: &Finder,
        from: usize,
        to: usize,
        vanished: &[Seen],
    ) -> Result<Vec<Option<Move>>, StorageError> {
        let (before, after) = (self.seen(from..from + 1), self.seen(to..to + 1));
        let mut pages = self.counting();
        let mut moves = Vec::with_capacity(vanished.len());
        for seen in vanished {
            let later = (to..to + 1, &after);
            let traces = self.traces(finder, seen.doc, (from, &before), later, &mut pages)?;
            let best = traces.first().map(|best| (best.doc, best.confidence()));
            moves.push(match best {
                Some((doc, confidence)) if confidence >= MOVED => Some(Move {
                    doc,
                    key: finder.collection().entry(doc)?.key,
                    confidence,
                }),
                _ => None,
            });
        }
        Ok(moves)
    }
}
