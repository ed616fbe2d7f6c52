//! `MOD_m`: the fingerprints that are 0 modulo m. The 1997 system's, with m = 25.
//!
//! Grows with the document; resemblance and both containments, without bias. A short
//! document may have no fingerprint that is 0 modulo m: with m = 25, one in three of 25
//! shingles.

use super::{NotIncreasing, strictly_increasing};
use crate::estimate::{Comparison, Overlap};

/// The fingerprints of one document that are 0 modulo the recipe's m.
///
/// # Invariants
///
/// Strictly increasing, so comparing is one merge walk and a common fingerprint counts
/// once. Empty is legal.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ModSketch(Box<[u64]>);

impl ModSketch {
    /// Takes what a reader decoded, or says where the order breaks: O(n).
    pub fn from_sorted(all: Vec<u64>) -> Result<ModSketch, NotIncreasing> {
        strictly_increasing(&all)?;
        Ok(ModSketch(all.into_boxed_slice()))
    }

    /// What was kept, increasing.
    pub fn fingerprints(&self) -> &[u64] {
        &self.0
    }

    /// Compares two documents, given the recipe's m. O(|a| + |b|), no allocation.
    pub fn compare(&self, other: &ModSketch, modulus: u64) -> Comparison {
        Overlap::of_sorted(&self.0, &other.0).estimate(1.0 / modulus as f64)
    }
}

/// Tells multiples of m without dividing: an odd m has an inverse modulo 2^64, and
/// multiplying by it takes the multiples, and only those, to 0..=MAX/m. The power of two
/// in m is rotated to the top.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Multiples {
    inverse: u64,
    shift: u32,
    largest: u64,
}

impl Multiples {
    pub(crate) fn of(modulus: u64) -> Multiples {
        assert!(modulus > 0, "nothing is a multiple of zero");
        let shift = modulus.trailing_zeros();
        let odd = modulus >> shift;
        // Newton: each round doubles the number of right bits, from 3.
        let inverse = (0..5).fold(odd, |inverse, _| {
            inverse.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(inverse)))
        });
        Multiples {
            inverse,
            shift,
            largest: u64::MAX / modulus,
        }
    }

    #[inline]
    pub(crate) fn contain(self, x: u64) -> bool {
        x.wrapping_mul(self.inverse).rotate_right(self.shift) <= self.largest
    }
}

/// Makes a [`ModSketch`] from fingerprints in any order, with repetitions, in memory for
/// twice the sketch.
#[derive(Debug)]
pub(crate) struct ModSampler {
    multiples: Multiples,
    kept: Vec<u64>,
    settled: usize,
}

impl ModSampler {
    pub(crate) fn new(modulus: u64) -> ModSampler {
        ModSampler {
            multiples: Multiples::of(modulus),
            kept: Vec::new(),
            settled: 0,
        }
    }

    pub(crate) fn push(&mut self, fingerprints: &[u64]) {
        let multiples = self.multiples;
        self.kept
            .extend(fingerprints.iter().filter(|&&x| multiples.contain(x)));
        // Doubled since repetitions were last removed: do it again.
        if self.kept.len() > 2 * self.settled + 4096 {
            self.settle();
        }
    }

    fn settle(&mut self) {
        self.kept.sort_unstable();
        self.kept.dedup();
        self.settled = self.kept.len();
    }

    /// The sketch; the sampler is as new.
    pub(crate) fn finish(&mut self) -> ModSketch {
        self.settle();
        let sketch = ModSketch(self.kept.as_slice().into());
        self.kept.clear();
        self.settled = 0;
        sketch
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn multiples_are_those_of_division(x in any::<u64>(), m in 1_u64..2000, far in any::<u64>()) {
            prop_assert_eq!(Multiples::of(m).contain(x), x % m == 0);
            prop_assert!(Multiples::of(m).contain(x / m * m));
            let far = far.max(1);
            prop_assert_eq!(Multiples::of(far).contain(x), x % far == 0);
        }

        #[test]
        fn the_sampler_agrees_with_the_definition(
            all in prop::collection::vec(0_u64..9000, 0..9000), m in 1_u64..40, block in 1_usize..3000,
        ) {
            let mut sampler = ModSampler::new(m);
            for block in all.chunks(block) {
                sampler.push(block);
            }
            let set: std::collections::BTreeSet<u64> = all.into_iter().filter(|x| x % m == 0).collect();
            let expected: Vec<u64> = set.into_iter().collect();
            let sketch = sampler.finish();
            prop_assert_eq!(sketch.fingerprints(), expected);
        }
    }
}
