//! Super-shingles: runs of consecutive samples, the filter of the 1997 paper.
//!
//! ```text
//! fingerprints of a sketch, sorted ─► every v in a row ─► one name each ─► a set
//! ```
//!
//! Two documents that share one super-shingle have v fingerprints in common with
//! nothing between them in either sketch, and so are likely to resemble each other:
//! a pair is found by sorting names, without counting. Cost O(n) for the names of n
//! fingerprints and O(n log n) to sort them.
//!
//! Two limits, both the paper's. Short documents have few super-shingles and often
//! share none although they resemble each other. And containment cannot be seen: the
//! larger document's other fingerprints fall between the common ones.

use std::num::NonZero;

use crate::draw::fold;
use crate::estimate::Overlap;

/// Sets super-shingles apart from other rows of numbers that are named.
const LABEL: u64 = 0x7375_7065_7273_6869; // "supershi"

/// The super-shingles of one sketch.
///
/// # Invariants
///
/// Strictly increasing, so that [`shared`] is one walk and counts each once.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SuperShingles(Box<[u64]>);

impl SuperShingles {
    /// Names every `width` consecutive fingerprints of `sketch`, which must be
    /// strictly increasing.
    ///
    /// A sketch of fewer than `width` fingerprints, but at least one, has a single
    /// super-shingle of all of them, as a document shorter than a shingle has a single
    /// shingle: it is shared by equal sketches only. An empty sketch has none.
    pub fn new(sketch: &[u64], width: NonZero<usize>) -> SuperShingles {
        debug_assert!(sketch.is_sorted_by(|x, y| x < y), "a sketch out of order");
        let width = width.get().min(sketch.len()).max(1);
        let mut names: Vec<u64> = sketch.windows(width).map(|run| fold(LABEL, run)).collect();
        names.sort_unstable();
        names.dedup();
        SuperShingles(names.into_boxed_slice())
    }

    /// The names, strictly increasing.
    pub fn names(&self) -> &[u64] {
        &self.0
    }
}

/// How many super-shingles two documents share. One is the paper's sign that they
/// resemble each other; the number itself estimates nothing.
///
/// Time O(|a| + |b|), no allocation.
pub fn shared(a: &SuperShingles, b: &SuperShingles) -> usize {
    Overlap::of_sorted(a.names(), b.names()).common
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(numbers: &[u64], width: usize) -> SuperShingles {
        SuperShingles::new(numbers, NonZero::new(width).unwrap())
    }

    /// The definition: runs that stand in both sketches, themselves compared.
    fn by_definition(a: &[u64], b: &[u64], width: usize) -> usize {
        let runs = |all: &[u64]| -> Vec<Vec<u64>> {
            if all.is_empty() {
                return Vec::new();
            }
            let width = width.min(all.len());
            all.windows(width).map(<[u64]>::to_vec).collect()
        };
        let others = runs(b);
        runs(a).iter().filter(|run| others.contains(run)).count()
    }

    #[test]
    fn shared_names_are_shared_runs() {
        // Every pair of subsets of six fingerprints, in every width: all there are.
        let subset = |bits: u64| -> Vec<u64> { (0..6).filter(|i| bits >> i & 1 == 1).collect() };
        for (x, y) in (0..64).flat_map(|x| (0..64).map(move |y| (x, y))) {
            let (x, y) = (subset(x), subset(y));
            for width in 1..=7 {
                let got = shared(&of(&x, width), &of(&y, width));
                assert_eq!(got, by_definition(&x, &y, width), "{x:?} {y:?} {width}");
            }
        }
    }

    #[test]
    fn a_sketch_of_n_has_n_less_width_plus_one() {
        let all: Vec<u64> = (10..30).collect();
        assert_eq!(of(&all, 4).names().len(), 17);
        assert_eq!(of(&all, 20).names().len(), 1);
        assert!(of(&all, 4).names().is_sorted_by(|x, y| x < y));
    }

    #[test]
    fn a_short_sketch_has_one_and_an_empty_sketch_none() {
        assert_eq!(of(&[1, 2], 5).names().len(), 1);
        assert_eq!(shared(&of(&[1, 2], 5), &of(&[1, 2], 5)), 1);
        assert_eq!(shared(&of(&[1, 2], 5), &of(&[1, 2, 3], 5)), 0);
        assert_eq!(of(&[], 5).names().len(), 0);
        assert_eq!(shared(&of(&[], 5), &of(&[], 5)), 0);
    }

    #[test]
    fn containment_is_not_seen() {
        // Every fingerprint of the smaller stands in the larger, each with another
        // one after it: no two in a row are common.
        let small: Vec<u64> = (0..50).map(|i| 2 * i).collect();
        let large: Vec<u64> = (0..100).collect();
        assert_eq!(shared(&of(&small, 2), &of(&large, 2)), 0);
    }
}
