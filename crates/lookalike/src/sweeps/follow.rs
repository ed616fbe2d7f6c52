//! Pages followed from sweep to sweep, also where they moved.
//!
//! What this costs is looking for every page that vanished; what is counted from it
//! afterwards, for all hosts or for one, is cheap beside.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use super::hosts::Hosts;
use super::moves::{MOVED, Move, moves};
use super::timeline::{Seen, Timeline};
use crate::find::Finder;
use crate::storage::StorageError;

/// The sweeps of a collection, and which pages moved between them.
#[derive(Clone, Debug, Default)]
pub struct Followed {
    /// What each sweep saw.
    pub timeline: Arc<Timeline>,
    /// Which hosts it visited.
    pub hosts: Hosts,
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
        Followed::along(finder, Arc::new(Timeline::of(finder.collection())?))
    }

    /// The same where the timeline is known.
    pub fn along(finder: &Finder, timeline: Arc<Timeline>) -> Result<Followed, StorageError> {
        let hosts = Hosts::of(finder.collection(), &timeline)?;
        let mut followed = Followed {
            timeline,
            hosts,
            ..Followed::default()
        };
        for from in 0..followed.timeline.sweeps().len().saturating_sub(1) {
            let vanished = followed.timeline.vanished(from, from + 1);
            let found = moves(finder, &followed.timeline, from, from + 1, &vanished)?;
            let moved = vanished.into_iter().zip(found);
            let moved = moved.filter_map(|(seen, to)| Some((seen, to?)));
            let moved: Vec<(Seen, Move)> = moved.filter(|(_, to)| to.confidence >= MOVED).collect();
            let mut targets: Vec<u64> = moved.iter().map(|(_, to)| to.key).collect();
            targets.sort_unstable();
            targets.dedup();
            followed.moves.push(moved);
            followed.all_targets.extend_from_slice(&targets);
            followed.targets.push(targets);
        }
        followed.all_targets.sort_unstable();
        followed.all_targets.dedup();
        Ok(followed)
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
