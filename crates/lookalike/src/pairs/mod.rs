//! Fingerprints in common → counted pairs of documents.
//!
//! ```text
//! sketches ─► postings ─► groups ─► count ─► judge: Pair or not
//!             sorted by   documents  how often    resemblance or containment
//!             fingerprint that share  two meet    above the floor
//! ```
//!
//! A [`Pair`] holds counts, not a verdict: thresholds come later, and any number of them.

pub mod postings;

pub mod groups;

pub mod count;

pub mod judge;

use lookalike_core::estimate::{Estimate, Overlap};
use lookalike_core::recipe::SketchKind;

use crate::blocks::Record;

/// What the counts of a pair rest on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Basis {
    /// The fingerprints that are 0 modulo 2^level.
    Level(u8),
    /// One fingerprint in the recipe's modulus.
    Modulus,
    /// A sample that only resemblance follows from: `of_a` samples, `common` hits.
    Resemblance,
    /// All shingles: nothing is estimated.
    Exact,
}

impl Basis {
    fn code(self) -> u32 {
        match self {
            Basis::Level(level) => u32::from(level),
            Basis::Modulus => 0x100,
            Basis::Resemblance => 0x200,
            Basis::Exact => 0x400,
        }
    }

    fn from_code(code: u32) -> Basis {
        match code {
            0x100 => Basis::Modulus,
            0x200 => Basis::Resemblance,
            0x400 => Basis::Exact,
            level => Basis::Level(u8::try_from(level).unwrap_or(64)),
        }
    }
}

/// Two documents and what they have in common, `b < a`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Pair {
    /// The later document.
    pub a: u32,
    /// The earlier one.
    pub b: u32,
    /// How many fingerprints both have.
    pub common: u32,
    /// How many the later one has, counted on the same basis.
    pub of_a: u32,
    /// How many the earlier one has.
    pub of_b: u32,
    /// What was counted.
    pub basis: Basis,
}

/// Which of a pair's figures.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Measure {
    /// |A ∩ B| / |A ∪ B|
    Resemblance,
    /// |A ∩ B| / |A|
    AInB,
    /// |A ∩ B| / |B|
    BInA,
}

impl Pair {
    /// Two documents with all their shingles, each once and in order.
    pub(crate) fn of_sets(a: u32, b: u32, of_a: &[u64], of_b: &[u64]) -> Pair {
        Pair::of_overlap(a, b, Overlap::of_sorted(of_a, of_b))
    }

    /// Two documents by what all their shingles have in common.
    pub(crate) fn of_overlap(a: u32, b: u32, overlap: Overlap) -> Pair {
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Pair {
            a,
            b,
            common: count(overlap.common),
            of_a: count(overlap.a),
            of_b: count(overlap.b),
            basis: Basis::Exact,
        }
    }

    /// Hits, samples and the share of all shingles that was looked at.
    fn counts(&self, measure: Measure, kind: SketchKind) -> Option<(usize, usize, f64)> {
        let overlap = self.overlap();
        let share = match (self.basis, kind) {
            (Basis::Exact, _) => 1.0,
            (Basis::Level(level), _) => half_to_the(level),
            (Basis::Modulus, SketchKind::Mod { modulus }) => 1.0 / modulus as f64,
            (Basis::Modulus | Basis::Resemblance, _) => 0.0,
        };
        let of = match (self.basis, measure) {
            (Basis::Resemblance, Measure::Resemblance) => overlap.a,
            (Basis::Resemblance, _) => return None,
            (_, Measure::Resemblance) => overlap.union(),
            (_, Measure::AInB) => overlap.a,
            (_, Measure::BInA) => overlap.b,
        };
        Some((overlap.common, of, share))
    }

    /// The counts as sets have them.
    pub fn overlap(&self) -> Overlap {
        Overlap {
            a: self.of_a as usize,
            b: self.of_b as usize,
            common: self.common as usize,
        }
    }

    /// A figure alone.
    pub fn value(&self, measure: Measure, kind: SketchKind) -> Option<f64> {
        let (hits, of, _) = self.counts(measure, kind)?;
        (of > 0).then(|| hits as f64 / of as f64)
    }

    /// A figure with its interval. Absent without a sample, or where the kind of sketch
    /// does not tell.
    pub fn estimate(&self, measure: Measure, kind: SketchKind) -> Option<Estimate> {
        let (hits, of, share) = self.counts(measure, kind)?;
        Estimate::of(hits, of, share)
    }

    /// The exact figure, where all shingles were counted.
    pub fn exact(&self, measure: Measure, kind: SketchKind) -> Option<f64> {
        match self.basis {
            Basis::Exact | Basis::Level(0) => Some(self.estimate(measure, kind)?.value),
            _ => None,
        }
    }

    /// How a figure lies to a threshold, told apart by `errors` standard errors.
    pub fn side(&self, measure: Measure, kind: SketchKind, threshold: f64, errors: f64) -> Side {
        let Some((value, samples, unseen)) = self.sampled(measure, kind) else {
            return Side::Below;
        };
        let error = scatter(threshold, samples, unseen);
        // A sample of very few says little, whatever the formula: one more or one less
        // is always possible where not all was seen.
        let slack = (errors * error).max(if unseen > 0.0 { 1.0 / samples } else { 0.0 });
        if unseen > 0.0 && errors > 0.0 && (value - threshold).abs() <= slack {
            Side::Near
        } else if value >= threshold {
            Side::Above
        } else {
            Side::Below
        }
    }

    /// Whether a figure may be at a threshold: it is no further below than `errors`
    /// standard errors, and than `most`.
    pub fn may_reach(
        &self,
        measure: Measure,
        kind: SketchKind,
        threshold: f64,
        errors: f64,
        most: f64,
    ) -> bool {
        self.sampled(measure, kind)
            .is_some_and(|(value, samples, unseen)| {
                value + (errors * scatter(threshold, samples, unseen)).min(most) >= threshold
            })
    }

    /// A figure, on how many samples it rests, and the share that was not sampled.
    fn sampled(&self, measure: Measure, kind: SketchKind) -> Option<(f64, f64, f64)> {
        let (hits, of, share) = self.counts(measure, kind)?;
        let samples = of as f64;
        (of > 0).then(|| {
            (
                hits as f64 / samples,
                samples,
                (1.0 - share).clamp(0.0, 1.0),
            )
        })
    }
}

/// 2^-level, without a call to a power function: it is asked for once a pair.
fn half_to_the(level: u8) -> f64 {
    f64::from_bits((1023 - u64::from(level)) << 52)
}

/// The standard error of estimates, were the threshold the true value.
fn scatter(threshold: f64, samples: f64, unseen: f64) -> f64 {
    (threshold * (1.0 - threshold) * unseen / samples).sqrt()
}

/// How an estimate lies to a threshold.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Side {
    /// Surely below, or without evidence.
    Below,
    /// Too near to tell.
    Near,
    /// Surely at or above.
    Above,
}

impl Record for Pair {
    type Bytes = [u8; 24];
    const LEN: usize = 24;

    fn to_bytes(self) -> [u8; 24] {
        let words = [
            self.a,
            self.b,
            self.common,
            self.of_a,
            self.of_b,
            self.basis.code(),
        ];
        let mut bytes = [0; 24];
        for (place, word) in bytes.as_chunks_mut().0.iter_mut().zip(words) {
            *place = word.to_le_bytes();
        }
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Pair {
        let word = |i: usize| <u32 as Record>::from_bytes(&bytes[4 * i..4 * i + 4]);
        Pair {
            a: word(0),
            b: word(1),
            common: word(2),
            of_a: word(3),
            of_b: word(4),
            basis: Basis::from_code(word(5)),
        }
    }
}
