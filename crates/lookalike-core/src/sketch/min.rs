//! `MIN_s`, the s smallest fingerprints, and `MIN_s(MOD_m)`, the s smallest multiples of m.
//!
//! A fixed size for any length, but resemblance only: a document's smallest fingerprints
//! need not be among those of a longer one that contains it. `min-mod` considers only one
//! fingerprint in m, which spares work while it is made and changes nothing else.

use super::modulo::Multiples;
use super::{NotIncreasing, strictly_increasing};
use crate::estimate::Estimate;

/// The s smallest fingerprints of one document, or all if it has no more.
///
/// # Invariants
///
/// Strictly increasing.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct MinSketch(Box<[u64]>);

impl MinSketch {
    /// Takes what a reader decoded, or says where the order breaks: O(n).
    pub fn from_sorted(all: Vec<u64>) -> Result<MinSketch, NotIncreasing> {
        strictly_increasing(&all)?;
        Ok(MinSketch(all.into_boxed_slice()))
    }

    /// What was kept, increasing.
    pub fn fingerprints(&self) -> &[u64] {
        &self.0
    }

    /// `|MIN_s(A ∪ B) ∩ A ∩ B| / |MIN_s(A ∪ B)|`: among the s smallest of both together,
    /// those that both have. O(s), no allocation. Absent when both are empty.
    ///
    /// `samples` is the recipe's s, `modulus` its m (1 for plain `min`).
    pub fn resemblance(&self, other: &MinSketch, samples: usize, modulus: u64) -> Option<Estimate> {
        let Walk {
            common,
            union,
            largest,
            is_all,
        } = Walk::of(&self.0, &other.0, samples);
        // Nothing was cut off anywhere: every considered fingerprint of both was seen.
        // Else the s-th smallest of n uniform numbers lies at s/n of the range, so where
        // it lies tells which share was seen.
        let whole = union < samples || (is_all && self.0.len().max(other.0.len()) < samples);
        let seen = if whole {
            1.0
        } else {
            largest as f64 / 2_f64.powi(64)
        };
        Estimate::of(common, union, seen / modulus as f64)
    }
}

/// Among the `samples` smallest of two increasing lists together: how many both have, and
/// how many these are.
pub fn smallest_of_both(a: &[u64], b: &[u64], samples: usize) -> (usize, usize) {
    let walk = Walk::of(a, b, samples);
    (walk.common, walk.union)
}

/// The smallest of two increasing lists together.
struct Walk {
    common: usize,
    union: usize,
    largest: u64,
    /// Both lists were gone through to their ends.
    is_all: bool,
}

impl Walk {
    fn of(a: &[u64], b: &[u64], samples: usize) -> Walk {
        let (mut xs, mut ys) = (a, b);
        let (mut common, mut union, mut largest) = (0, 0, 0);
        while union < samples {
            let from = match (xs.first(), ys.first()) {
                (Some(&x), Some(&y)) => x.min(y),
                (Some(&x), None) => x,
                (None, Some(&y)) => y,
                (None, None) => break,
            };
            let (in_a, in_b) = (xs.first() == Some(&from), ys.first() == Some(&from));
            common += usize::from(in_a && in_b);
            union += 1;
            largest = from;
            xs = &xs[usize::from(in_a)..];
            ys = &ys[usize::from(in_b)..];
        }
        Walk {
            common,
            union,
            largest,
            is_all: xs.is_empty() && ys.is_empty(),
        }
    }
}

/// Makes a [`MinSketch`] from fingerprints in any order, with repetitions.
///
/// A buffer of a few times s, cut back to the s smallest when full, in place of paper
/// 002's heap or search tree: each fingerprint costs one compare, and of a long document
/// nearly all fail it.
#[derive(Debug)]
pub(crate) struct MinSampler {
    samples: usize,
    multiples: Option<Multiples>,
    /// Nothing from here up can matter any more.
    bound: u64,
    kept: Vec<u64>,
}

impl MinSampler {
    pub(crate) fn new(samples: usize, modulus: u64) -> MinSampler {
        let multiples = (modulus > 1).then(|| Multiples::of(modulus));
        MinSampler {
            samples,
            multiples,
            bound: u64::MAX,
            kept: Vec::new(),
        }
    }

    pub(crate) fn push(&mut self, fingerprints: &[u64]) {
        for block in fingerprints.chunks(1024) {
            let bound = self.bound;
            match self.multiples {
                None => self.kept.extend(block.iter().filter(|&&x| x <= bound)),
                Some(multiples) => {
                    self.kept.extend(
                        block
                            .iter()
                            .filter(|&&x| x <= bound && multiples.contain(x)),
                    );
                }
            }
            if self.kept.len() >= 4 * self.samples + 1024 {
                self.settle();
            }
        }
    }

    /// Cuts back to the `samples` smallest. Sorts only the smallest twice as many, which
    /// hold enough distinct ones unless the document repeats itself.
    fn settle(&mut self) {
        let few = 2 * self.samples;
        if self.kept.len() > few {
            self.kept.select_nth_unstable(few);
            let (least, rest) = self.kept.split_at_mut(few);
            least.sort_unstable();
            let distinct = 1 + least.windows(2).filter(|pair| pair[0] != pair[1]).count();
            if distinct >= self.samples {
                self.kept.truncate(few);
            } else {
                rest.sort_unstable();
            }
        } else {
            self.kept.sort_unstable();
        }
        self.kept.dedup();
        self.kept.truncate(self.samples);
        if self.kept.len() == self.samples {
            self.bound = self.kept.last().copied().unwrap_or(u64::MAX);
        }
    }

    /// The sketch; the sampler is as new.
    pub(crate) fn finish(&mut self) -> MinSketch {
        self.settle();
        let sketch = MinSketch(self.kept.as_slice().into());
        self.kept.clear();
        self.bound = u64::MAX;
        sketch
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn sketch(all: &BTreeSet<u64>, samples: usize, modulus: u64) -> MinSketch {
        let kept = all
            .iter()
            .copied()
            .filter(|x| x % modulus == 0)
            .take(samples);
        MinSketch::from_sorted(kept.collect()).expect("a set is increasing")
    }

    proptest! {
        #[test]
        fn the_sampler_agrees_with_the_definition(
            all in prop::collection::vec(0_u64..3000, 0..6000), s in 1_usize..50, m in 1_u64..9, block in 1_usize..3000,
        ) {
            let mut sampler = MinSampler::new(s, m);
            for block in all.chunks(block) {
                sampler.push(block);
            }
            prop_assert_eq!(sampler.finish(), sketch(&all.into_iter().collect(), s, m));
        }

        #[test]
        fn resemblance_is_that_of_the_smallest_of_the_union(
            a in prop::collection::btree_set(0_u64..300, 0..100), b in prop::collection::btree_set(0_u64..300, 0..100),
            s in 1_usize..60,
        ) {
            let union: BTreeSet<u64> = a.union(&b).copied().take(s).collect();
            let hits = union.iter().filter(|x| a.contains(x) && b.contains(x)).count();
            let got = sketch(&a, s, 1).resemblance(&sketch(&b, s, 1), s, 1);
            prop_assert_eq!(got.map(|e| (e.value, e.samples)),
                (!union.is_empty()).then(|| (hits as f64 / union.len() as f64, union.len())));
        }
    }

    #[test]
    fn two_whole_sketches_are_compared_exactly() {
        let of = |range: std::ops::Range<u64>| sketch(&range.collect(), 100, 1);
        let e = of(0..40).resemblance(&of(20..60), 100, 1).expect("samples");
        assert!(
            (e.value - 1.0 / 3.0).abs() < 1e-12 && e.high - e.low < 1e-12,
            "{e:?}"
        );
    }
}
