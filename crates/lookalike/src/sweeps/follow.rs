//! Pages followed from sweep to sweep, also where they moved.
//!
//! What this costs is looking for every page that vanished; what is counted from it
//! afterwards, for all hosts or for one, is cheap beside.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use super::moves::Move;
use super::timeline::{Seen, Timeline};
use super::trail::Trail;
use crate::find::Finder;
use crate::storage::StorageError;

/// The sweeps of a collection, and which pages moved between them.
#[derive(Clone, Debug)]
pub struct Followed {
    /// What each sweep saw, and where.
    pub trail: Arc<Trail>,
    /// For each sweep but the last, the pages that moved after it, by key.
    moves: Vec<Vec<(Seen, Move)>>,
    /// For each of them, the pages that others moved to, sorted.
    targets: Vec<Vec<u64>>,
    /// All of these, sorted.
    all_targets: Vec<u64>,
}

impl Followed {
    /// Follows all pages of a collection.
    pub fn of(finder: &Finder) -> Result<Followed, StorageError> {
        Followed::along(finder, Arc::new(Trail::of(finder.collection())?))
    }

    /// The same where it is known what each sweep saw.
    pub fn along(finder: &Finder, trail: Arc<Trail>) -> Result<Followed, StorageError> {
        let (mut moves, mut targets, mut all_targets) = (Vec::new(), Vec::new(), Vec::new());
        for from in 0..trail.timeline.sweeps().len().saturating_sub(1) {
            let vanished = trail.timeline.vanished(from, from + 1);
            let found = trail.moves(finder, from, from + 1, &vanished)?;
            let both = vanished.into_iter().zip(found);
            let gone: Vec<(Seen, Move)> = both.filter_map(|(seen, to)| Some((seen, to?))).collect();
            let mut there: Vec<u64> = gone.iter().map(|(_, to)| to.key).collect();
            there.sort_unstable();
            there.dedup();
            moves.push(gone);
            all_targets.extend_from_slice(&there);
            targets.push(there);
        }
        all_targets.sort_unstable();
        all_targets.dedup();
        Ok(Followed {
            trail,
            moves,
            targets,
            all_targets,
        })
    }

    /// The pages that moved between a sweep and the next, by key.
    pub fn moves(&self, from: usize) -> &[(Seen, Move)] {
        self.moves.get(from).map_or(&[], Vec::as_slice)
    }

    /// Where a page moved to between a sweep and the next, if it did.
    pub fn moved(&self, from: usize, key: u64) -> Option<Move> {
        let moves = self.moves(from);
        let found = moves.binary_search_by_key(&key, |(seen, _)| seen.key);
        found.ok().map(|place| moves[place].1)
    }

    /// Whether another page moved to this one between a sweep and the next.
    pub fn is_target(&self, from: usize, key: u64) -> bool {
        let targets = self.targets.get(from);
        targets.is_some_and(|targets| targets.binary_search(&key).is_ok())
    }

    /// Whether another page ever moved to this one.
    pub(crate) fn was_target(&self, key: u64) -> bool {
        self.all_targets.binary_search(&key).is_ok()
    }
}

impl Timeline {
    /// The pages that one sweep saw and another did not, by key.
    pub fn vanished(&self, from: usize, to: usize) -> Vec<Seen> {
        let mut there = self.pages(to).iter().peekable();
        let is_gone = |seen: &Seen| {
            while there.next_if(|other| other.key < seen.key).is_some() {}
            there.peek().is_none_or(|other| other.key != seen.key)
        };
        self.pages(from).iter().copied().filter(is_gone).collect()
    }

    /// All pages by key, each with the sweeps that saw it, in order of time, and the
    /// document it was. O(pages of all sweeps · log sweeps).
    pub fn each_page(
        &self,
        mut each: impl FnMut(u64, &[(usize, u32)]) -> Result<(), StorageError>,
    ) -> Result<(), StorageError> {
        let sweeps = self.sweeps().len();
        let mut next = vec![0_usize; sweeps];
        let first = |sweep| Some(Reverse((self.pages(sweep).first()?.key, sweep)));
        let mut heap: BinaryHeap<_> = (0..sweeps).filter_map(first).collect();
        let mut sightings = Vec::new();
        while let Some(&Reverse((key, _))) = heap.peek() {
            sightings.clear();
            // Of equal keys the earlier sweep comes first.
            while let Some(&Reverse((same, sweep))) = heap.peek() {
                if same != key {
                    break;
                }
                heap.pop();
                let pages = self.pages(sweep);
                sightings.push((sweep, pages[next[sweep]].doc));
                next[sweep] += 1;
                if let Some(seen) = pages.get(next[sweep]) {
                    heap.push(Reverse((seen.key, sweep)));
                }
            }
            each(key, &sightings)?;
        }
        Ok(())
    }
}
