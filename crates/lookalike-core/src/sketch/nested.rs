//! The nested MOD 2^i sketch: bounded, and right for every length. The default.
//!
//! ```text
//! level 0 ⊇ level 1 ⊇ level 2 ⊇ …      level i = fingerprints that are 0 modulo 2^i
//! kept: the lowest level with at most N of them, so N/2 to N for a long document
//!       and everything for one of up to N shingles
//! ```
//!
//! Levels nest, so two documents of any lengths are compared at the higher of their two
//! levels. The level follows from the fingerprints alone, never from the order or the
//! number of repetitions they come in.

use super::{NotIncreasing, strictly_increasing};
use crate::estimate::{Comparison, Overlap};
use crate::simd::{Filter, Level, Ranks};
use crate::spread::SpreadSort;

/// The fingerprints of one document that are 0 modulo 2^level.
///
/// # Invariants
///
/// Strictly increasing, all 0 modulo 2^level, level ≤ 64. Empty only for a document
/// without shingles, or at a level that chance has emptied.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct NestedSketch {
    level: u32,
    kept: Box<[u64]>,
}

/// What is wrong with a nested sketch that a reader decoded.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum BadNested {
    /// Not sorted, or something twice.
    #[error(transparent)]
    Order(#[from] NotIncreasing),
    /// A fingerprint that its own level would have left out.
    #[error("fingerprint {0} is not of the sketch's level")]
    Level(usize),
}

impl NestedSketch {
    /// Takes what a reader decoded, or says what is wrong: O(n).
    pub fn from_sorted(level: u32, kept: Vec<u64>) -> Result<NestedSketch, BadNested> {
        strictly_increasing(&kept)?;
        match kept.iter().position(|&x| !is_of_level(x, level)) {
            Some(i) => Err(BadNested::Level(i)),
            None => Ok(NestedSketch {
                level,
                kept: kept.into_boxed_slice(),
            }),
        }
    }

    /// The sketch of a set of fingerprints, by definition: sort, then raise the level
    /// while too many are left. The oracle of the sampler that sees them block by block.
    pub fn of_all(mut all: Vec<u64>, samples: usize) -> NestedSketch {
        all.sort_unstable();
        all.dedup();
        let mut level = 0;
        while all.len() > samples {
            level += 1;
            all.retain(|&x| is_of_level(x, level));
        }
        NestedSketch {
            level,
            kept: all.into_boxed_slice(),
        }
    }

    /// The level: one fingerprint in 2^level was kept.
    pub fn level(&self) -> u32 {
        self.level
    }

    /// What was kept, increasing.
    pub fn fingerprints(&self) -> &[u64] {
        &self.kept
    }

    /// Compares two documents at the higher of their levels. O(|a| + |b|), no allocation.
    pub fn compare(&self, other: &NestedSketch) -> Comparison {
        let level = self.level.max(other.level);
        self.overlap(other, level)
            .estimate(0.5_f64.powi(level.cast_signed()))
    }

    /// What the two have in common at a level both have.
    fn overlap(&self, other: &NestedSketch, level: u32) -> Overlap {
        if self.level == other.level {
            return Overlap::of_sorted(&self.kept, &other.kept);
        }
        let mut overlap = Overlap::default();
        let mut xs = self
            .kept
            .iter()
            .filter(|&&x| is_of_level(x, level))
            .peekable();
        let mut ys = other
            .kept
            .iter()
            .filter(|&&y| is_of_level(y, level))
            .peekable();
        loop {
            let (x, y) = (xs.peek().copied(), ys.peek().copied());
            if x.is_none() && y.is_none() {
                return overlap;
            }
            // `None` must count as larger than everything.
            let from_a = y.is_none() || x.is_some_and(|x| y.is_some_and(|y| x <= y));
            let from_b = x.is_none() || y.is_some_and(|y| x.is_some_and(|x| y <= x));
            overlap.a += usize::from(from_a && xs.next().is_some());
            overlap.b += usize::from(from_b && ys.next().is_some());
            overlap.common += usize::from(from_a && from_b);
        }
    }

    /// The estimated number of distinct shingles: exact at level 0.
    pub fn shingles(&self) -> f64 {
        self.kept.len() as f64 * 2_f64.powi(self.level.cast_signed())
    }
}

fn is_of_level(fingerprint: u64, level: u32) -> bool {
    fingerprint & mask(level) == 0
}

/// The bits that are 0 at a level.
fn mask(level: u32) -> u64 {
    1_u64.checked_shl(level).map_or(u64::MAX, |power| power - 1)
}

/// Makes a [`NestedSketch`] from fingerprints in any order, with repetitions, in memory
/// for a few times the samples.
///
/// Sorting everything to count what is distinct would cost as much as making the
/// fingerprints. Instead, levels are counted with repetitions: one with at most `samples`
/// is high enough, and whether the level below has too many distinct ones is known at the
/// first that is too many.
#[derive(Debug)]
pub(crate) struct NestedSampler {
    samples: usize,
    level: u32,
    /// Of `level` or above, perhaps with repetitions.
    kept: Buffer,
    below: Buffer,
    spare: Buffer,
    seen: Seen,
    sort: SpreadSort,
    filter: Filter,
}

impl NestedSampler {
    pub(crate) fn new(samples: usize, filter: Filter) -> NestedSampler {
        NestedSampler {
            samples,
            level: 0,
            kept: Buffer::default(),
            below: Buffer::default(),
            spare: Buffer::default(),
            seen: Seen::new(samples, filter.level()),
            sort: SpreadSort::with_level(filter.level()),
            filter,
        }
    }

    pub(crate) fn push(&mut self, fingerprints: &[u64]) {
        // Blocks, so that the buffer outgrows its mark by one block at most. Four times
        // the samples makes settling rare even at the start of a long document.
        for block in fingerprints.chunks(MOST_AT_ONCE) {
            if self.kept.len == 0 && self.raise(block) {
                continue; // most documents: nothing was copied that is not kept
            }
            self.kept.append_level(block, self.level, self.filter);
            if self.kept.len >= 4 * self.samples + 1024 {
                self.settle();
            }
        }
    }

    /// Cuts back to `samples`, if there are more.
    fn settle(&mut self) {
        // The buffers change places, so that none is given back.
        let mut all = std::mem::replace(&mut self.kept, std::mem::take(&mut self.spare));
        if self.raise(all.all()) {
            all.len = 0;
            self.spare = all;
        } else {
            self.spare = std::mem::replace(&mut self.kept, all);
            if self.kept.len > self.samples {
                // It is repetitions that make too many: without them, once more.
                self.kept.sort_and_dedup(&mut self.sort);
                self.settle();
            }
        }
    }

    /// Fills `kept` with the part of `all` at the first level with at most `samples` distinct
    /// ones, provided that this level is higher than the present one and that counting with
    /// repetitions finds it; else leaves it empty and says so.
    ///
    /// More than `samples` at a level are too many for good, whatever still comes, so
    /// this never goes too far.
    fn raise(&mut self, all: &[u64]) -> bool {
        if all.len() <= self.samples {
            return false;
        }
        // Each level halves: from here the search is short, and goes up. It ends at 64,
        // where 0 is all that can be left, perhaps many times.
        let mut level = self.level + (all.len() / self.samples).ilog2().max(1);
        self.below.len = 0;
        self.below.append_level(all, level - 1, self.filter);
        while self.below.len <= self.samples {
            if level - 1 == self.level {
                return false;
            }
            level -= 1;
            self.below.len = 0;
            self.below.append_level(all, level - 1, self.filter);
        }
        loop {
            self.kept.len = 0;
            self.kept.append_level(self.below.all(), level, self.filter);
            if level == 64 || self.kept.len <= self.samples {
                break;
            }
            std::mem::swap(&mut self.below, &mut self.kept);
            level += 1;
        }
        if !self.seen.more_than(self.samples, self.below.all()) {
            self.kept.len = 0;
            return false;
        }
        self.level = level;
        true
    }

    /// The sketch; the sampler is as new.
    pub(crate) fn finish(&mut self) -> NestedSketch {
        self.settle();
        self.kept.sort_and_dedup(&mut self.sort);
        let sketch = NestedSketch {
            level: self.level,
            kept: self.kept.all().into(),
        };
        self.kept.len = 0;
        self.level = 0;
        sketch
    }
}

/// Fingerprints looked at in one go: they and what is kept of them stay in the first cache.
const MOST_AT_ONCE: usize = 2048;

/// A vector that is not cleared when it is emptied, so that filling it again costs only
/// what is written.
#[derive(Debug, Default)]
struct Buffer {
    words: Vec<u64>,
    len: usize,
}

impl Buffer {
    fn all(&self) -> &[u64] {
        &self.words[..self.len]
    }

    /// Appends those of a level.
    fn append_level(&mut self, from: &[u64], level: u32, with: Filter) {
        let room = self.len + from.len() + Filter::MORE;
        if self.words.len() < room {
            self.words.resize(room, 0);
        }
        self.len += with.without_bits(from, mask(level), &mut self.words[self.len..]);
    }

    /// Sorts and removes repetitions.
    fn sort_and_dedup(&mut self, sort: &mut SpreadSort) {
        self.len = sort.sort_and_dedup(&mut self.words[..self.len]);
    }
}

/// Tells whether many fingerprints differ, by their top bits, which are as good as random.
#[derive(Debug)]
struct Seen {
    ranks: Ranks,
    /// A hash table with open addressing, for when that is not enough.
    slots: Vec<u64>,
}

impl Seen {
    fn new(samples: usize, level: Level) -> Seen {
        Seen {
            ranks: Ranks::new(level),
            // Room for `samples` and one, half full at most.
            slots: vec![0; (2 * (samples + 1)).next_power_of_two()],
        }
    }

    /// Whether there are more than `limit` different ones.
    fn more_than(&mut self, limit: usize, all: &[u64]) -> bool {
        self.surely_more_than(limit, all) || self.many(limit, all)
    }

    /// Whether their top bits alone tell that there are.
    fn surely_more_than(&mut self, limit: usize, all: &[u64]) -> bool {
        self.ranks.clear(limit);
        // Few have their top bits in common: most often the first part tells.
        let mut parts = all.chunks(limit + limit / 4 + 4);
        parts.any(|part| self.ranks.mark(part) > limit)
    }

    /// [`Seen::more_than`], one by one.
    fn many(&mut self, limit: usize, all: &[u64]) -> bool {
        self.slots.fill(0);
        let (mut count, mut zero) = (0, false);
        for &x in all {
            if x == 0 {
                // 0 marks a free slot, and is a fingerprint too.
                count += usize::from(!zero);
                zero = true;
            } else {
                let mut at = top(x, self.slots.len());
                while self.slots[at] != 0 && self.slots[at] != x {
                    at = (at + 1) % self.slots.len();
                }
                count += usize::from(self.slots[at] == 0);
                self.slots[at] = x;
            }
            if count > limit {
                return true;
            }
        }
        false
    }
}

/// The top bits as an index below `size`, a power of two above 1.
fn top(x: u64, size: usize) -> usize {
    // The shift leaves an index.
    usize::try_from(x >> (64 - size.trailing_zeros())).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_short_document_is_kept_whole() {
        let all: Vec<u64> = (1..=256)
            .map(|i| 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(i))
            .collect();
        let sketch = NestedSketch::of_all(all.clone(), 256);
        assert_eq!((sketch.level(), sketch.fingerprints().len()), (0, 256));
    }

    #[test]
    fn a_sketch_with_a_fingerprint_below_its_level_is_refused() {
        assert!(matches!(
            NestedSketch::from_sorted(2, vec![4, 6]),
            Err(BadNested::Level(1))
        ));
        assert!(matches!(
            NestedSketch::from_sorted(0, vec![4, 4]),
            Err(BadNested::Order(_))
        ));
    }

    proptest! {
        #[test]
        fn buffers_sort_like_std(all in prop::collection::vec(prop_oneof![0_u64..50, any::<u64>()], 0..1500)) {
            let mut buffer = Buffer { len: all.len(), words: all.clone() };
            buffer.sort_and_dedup(&mut SpreadSort::default());
            let set: std::collections::BTreeSet<u64> = all.into_iter().collect();
            prop_assert!(buffer.all().iter().eq(&set));
        }

        #[test]
        fn the_sampler_agrees_with_the_definition(
            all in prop::collection::vec(prop_oneof![0_u64..5000, any::<u64>()], 0..6000), samples in 1_usize..40, block in 1_usize..3000,
        ) {
            // Small numbers: many repetitions, many at high levels, 0 at all of them.
            for level in Level::available() {
                let mut sampler = NestedSampler::new(samples, Filter::new(level));
                for _ in 0..2 {
                    for block in all.chunks(block) {
                        sampler.push(block);
                    }
                    prop_assert_eq!(sampler.finish(), NestedSketch::of_all(all.clone(), samples));
                }
            }
        }

        #[test]
        fn levels_are_compared_at_the_higher_one(
            a in prop::collection::vec(any::<u64>(), 0..300), b in prop::collection::vec(any::<u64>(), 0..300),
            shared in prop::collection::vec(any::<u64>(), 0..300), n in 1_usize..100, m in 1_usize..100,
        ) {
            let (x, y) = ([a, shared.clone()].concat(), [b, shared].concat());
            let (x, y) = (NestedSketch::of_all(x, n), NestedSketch::of_all(y, m));
            let level = x.level().max(y.level());
            let at = |s: &NestedSketch| -> Vec<u64> {
                s.fingerprints().iter().copied().filter(|f| f.trailing_zeros() >= level).collect()
            };
            prop_assert_eq!(x.overlap(&y, level), Overlap::of_sorted(&at(&x), &at(&y)));
        }
    }
}
