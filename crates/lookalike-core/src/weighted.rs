//! Sets whose elements carry weights: how much two have in common, and a sample that
//! estimates it.
//!
//! ```text
//! features, each with a weight ─► WeightedSet ─► WeightedOverlap: Σ min / Σ max   (exact)
//!                               └► for each of t draws: the element that comes first,
//!                                  and how far its weight reaches ─► t samples
//! ```
//!
//! The sample is Ioffe's consistent weighted sampling (ICDM 2010): sample i of two sets is
//! equal with probability Σ min / Σ max of their weights, and samples of different draws
//! are independent, as those of permutations are for sets without weights. Whole weights
//! count as so many occurrences: the value is that of the labelled shingles.
//!
//! Cost: five logarithms an element and draw, some 50 ns. They are computed by additions,
//! multiplications and divisions alone, so that every machine draws the same.

use crate::draw::mix;
use crate::estimate::Overlap;

/// Elements with their weights.
///
/// # Invariants
///
/// Elements strictly increase; every weight is finite and above 0, and so is their sum.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WeightedSet(Vec<(u64, f64)>);

/// Why a number is no weight.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BadWeight {
    /// 0 says that a feature is not there.
    #[error("a weight of 0 says that the feature is not there; leave it out")]
    Zero,
    /// Below 0.
    #[error("a weight is not negative")]
    Negative,
    /// Not a number, or without end.
    #[error("a weight is a finite number")]
    NotFinite,
    /// The sum of weights that are finite is not.
    #[error(
        "with it they add up to more than a number holds, 1.8e308; divide all weights by one number"
    )]
    TooMuch,
}

/// Whether a number may be a weight.
pub fn check(weight: f64) -> Result<f64, BadWeight> {
    match weight {
        w if !w.is_finite() => Err(BadWeight::NotFinite),
        0.0 => Err(BadWeight::Zero),
        w if w < 0.0 => Err(BadWeight::Negative),
        w => Ok(w),
    }
}

impl WeightedSet {
    /// Takes elements in any order. The weights of one that comes twice are added.
    pub fn new(mut elements: Vec<(u64, f64)>) -> Result<WeightedSet, BadWeight> {
        for (_, weight) in &elements {
            check(*weight)?;
        }
        elements.sort_by(|x, y| x.0.cmp(&y.0).then(x.1.total_cmp(&y.1)));
        elements.dedup_by(|later, first| {
            let is_same = later.0 == first.0;
            if is_same {
                first.1 += later.1;
            }
            is_same
        });
        let set = WeightedSet(elements);
        // Weights that are finite may have a sum that is not.
        if set.weight().is_finite() {
            Ok(set)
        } else {
            Err(BadWeight::TooMuch)
        }
    }

    /// The elements, increasing, each with its weight.
    pub fn elements(&self) -> &[(u64, f64)] {
        &self.0
    }

    /// The sum of all weights.
    pub fn weight(&self) -> f64 {
        self.0.iter().map(|(_, weight)| weight).sum()
    }

    /// What two have in common. O(|A| + |B|).
    pub fn overlap(&self, other: &WeightedSet) -> WeightedOverlap {
        let (mut xs, mut ys, mut common) = (&self.0[..], &other.0[..], 0.0);
        while let ([x, after_x @ ..], [y, after_y @ ..]) = (xs, ys) {
            if x.0 == y.0 {
                common += x.1.min(y.1);
            }
            let (is_x, is_y) = (x.0 <= y.0, y.0 <= x.0);
            xs = if is_x { after_x } else { xs };
            ys = if is_y { after_y } else { ys };
        }
        WeightedOverlap {
            a: self.weight(),
            b: other.weight(),
            common,
        }
    }
}

/// How much two weighted sets have in common. The sum of maxima is a + b − common.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WeightedOverlap {
    /// The weight of A.
    pub a: f64,
    /// The weight of B.
    pub b: f64,
    /// The sum of minima.
    pub common: f64,
}

impl WeightedOverlap {
    /// The sum of minima over the sum of maxima, absent for two empty sets.
    pub fn resemblance(&self) -> Option<f64> {
        // Two sums that are numbers may have a sum that is none. A quarter of each is exact
        // where they are large, and where they are small it would not be.
        let scale = if self.a.max(self.b) > 1.0 { 0.25 } else { 1.0 };
        let common = self.common * scale;
        let union = self.a * scale + self.b * scale - common;
        (union > 0.0).then(|| (common / union).clamp(0.0, 1.0))
    }

    /// The share of A's weight that B has too, absent for an empty A.
    pub fn a_in_b(&self) -> Option<f64> {
        (self.a > 0.0).then(|| (self.common / self.a).clamp(0.0, 1.0))
    }

    /// The share of B's weight that A has too, absent for an empty B.
    pub fn b_in_a(&self) -> Option<f64> {
        (self.b > 0.0).then(|| (self.common / self.b).clamp(0.0, 1.0))
    }

    /// The same in whole parts of the larger weight, of which there are 2^29 to 2^30: as
    /// counts of elements that every measure can be made of. A part is a power of two, so
    /// that whole weights, and halves and quarters, stay what they are; others are exact to a
    /// part in five hundred million.
    pub fn counts(&self) -> Overlap {
        let larger = self.a.max(self.b);
        // The power of two that is not above it, by its bits, of which numbers near 0 have
        // no exponent; and 2^-29 of that.
        let power = match larger.to_bits() {
            bits if bits >> 52 > 0 => f64::from_bits(bits >> 52 << 52),
            bits => f64::from_bits(bits.checked_ilog2().map_or(0, |top| 1 << top)),
        };
        let unit = (power / f64::from(1_u32 << 29)).max(f64::from_bits(1));
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "shares of the larger, which is below 2^31, and not negative"
        )]
        let part = |weight: f64| (weight / unit).round() as usize;
        Overlap {
            a: part(self.a),
            b: part(self.b),
            common: part(self.common),
        }
    }
}

/// Where an element comes in one draw, and what is kept of it if it is the first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Place {
    /// The smallest comes first.
    pub(crate) at: f64,
    /// Names the element and how far its weight reaches.
    pub(crate) sample: u64,
}

/// The place of an element in the draw of a seed; `log` is that of its weight.
pub(crate) fn place(seed: u64, element: u64, log: f64) -> Place {
    let mut state = mix(element ^ seed);
    let mut uniform = || {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        // 53 bits and a half: never 0, never 1.
        ((mix(state) >> 11) as f64 + 0.5) / 9_007_199_254_740_992.0
    };
    // Two gamma variates of shape 2, each the sum of two exponential ones, and a uniform.
    let r = -ln(uniform()) - ln(uniform());
    let c = -ln(uniform()) - ln(uniform());
    let beta = uniform();
    let t = (log / r + beta).floor();
    // ln a = ln c − ln y − r, where ln y = r (t − β).
    let at = ln(c) - r * (t - beta) - r;
    Place {
        at,
        sample: mix(mix(t.to_bits()) ^ element),
    }
}

/// The natural logarithm of a number above 0, to some 1e-16 of its size: x is m·2^e with m
/// near 1, and ln m = 2 artanh((m−1)/(m+1)), whose series ends early.
pub(crate) fn ln(x: f64) -> f64 {
    if x < f64::MIN_POSITIVE {
        // Too small to have all its digits: 2^54 times as much has them.
        return ln(x * 18_014_398_509_481_984.0) - 54.0 * std::f64::consts::LN_2;
    }
    let bits = x.to_bits();
    let mut exponent = f64::from(u32::try_from(bits >> 52).unwrap_or(0)) - 1023.0;
    let mut m = f64::from_bits(bits & ((1 << 52) - 1) | 1023 << 52);
    if m > std::f64::consts::SQRT_2 {
        m /= 2.0;
        exponent += 1.0;
    }
    let s = (m - 1.0) / (m + 1.0);
    let z = s * s;
    let series = (0..=11_u32)
        .rev()
        .fold(0.0, |sum, k| sum * z + 1.0 / f64::from(2 * k + 1));
    exponent * std::f64::consts::LN_2 + 2.0 * s * series
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::Draw;
    use crate::permutation::Family;
    use crate::sketch::perm::{PermSketch, PermSketcher, resemblance};
    use proptest::prelude::*;

    fn set(elements: &[(u64, f64)]) -> WeightedSet {
        WeightedSet::new(elements.to_vec()).unwrap()
    }

    fn sketch(sketcher: &PermSketcher, set: &WeightedSet) -> PermSketch {
        let mut state = sketcher.start();
        for &(element, weight) in set.elements() {
            sketcher.push_weighted(&mut state, element, weight);
        }
        sketcher.finish(state)
    }

    proptest! {
        #[test]
        fn logarithms_are_those_of_the_library(x in prop::num::f64::POSITIVE | prop::num::f64::SUBNORMAL) {
            let x = x.abs();
            prop_assume!(x > 0.0 && x.is_finite());
            let exact = x.ln();
            prop_assert!((ln(x) - exact).abs() <= 4e-16 * exact.abs().max(1.0), "{x}: {} {exact}", ln(x));
        }

        #[test]
        fn whole_weights_are_occurrences(a in prop::collection::vec(0_u64..12, 1..40), b in prop::collection::vec(0_u64..12, 1..40)) {
            // Labelled: the n-th occurrence of an element is an element of its own.
            let labelled = |all: &[u64]| {
                let mut counts = [0_u64; 12];
                let mut set: Vec<(u64, u64)> = all.iter().map(|&x| {
                    counts[usize::try_from(x).unwrap()] += 1;
                    (x, counts[usize::try_from(x).unwrap()])
                }).collect();
                set.sort_unstable();
                set
            };
            let counted = |all: &[u64]| set(&all.iter().map(|&x| (x, 1.0)).collect::<Vec<_>>());
            let exact = Overlap::of_sorted(&labelled(&a), &labelled(&b));
            let weighted = counted(&a).overlap(&counted(&b));
            prop_assert_eq!(weighted.resemblance(), exact.resemblance());
            prop_assert_eq!(weighted.counts().resemblance(), exact.resemblance());
            prop_assert_eq!((weighted.a, weighted.b, weighted.common), (exact.a as f64, exact.b as f64, exact.common as f64));
        }

        #[test]
        fn counts_tell_the_same_as_weights(a in prop::collection::vec((0_u64..9, 1e-3..1e3), 1..9), b in prop::collection::vec((0_u64..9, 1e-3..1e3), 1..9)) {
            let overlap = set(&a).overlap(&set(&b));
            let counts = overlap.counts().resemblance().unwrap();
            prop_assert!((counts - overlap.resemblance().unwrap()).abs() < 1e-8);
        }
    }

    #[test]
    fn what_is_no_weight_is_refused() {
        for (weight, why) in [
            (0.0, BadWeight::Zero),
            (-0.0, BadWeight::Zero),
            (-1.0, BadWeight::Negative),
            (f64::NAN, BadWeight::NotFinite),
            (f64::INFINITY, BadWeight::NotFinite),
            (f64::NEG_INFINITY, BadWeight::NotFinite),
        ] {
            assert_eq!(
                WeightedSet::new(vec![(1, 1.0), (2, weight)]),
                Err(why),
                "{weight}"
            );
        }
        // Of one element or of all.
        assert_eq!(
            WeightedSet::new(vec![(1, f64::MAX), (2, f64::MAX)]),
            Err(BadWeight::TooMuch)
        );
        assert_eq!(
            WeightedSet::new(vec![(1, f64::MAX), (1, f64::MAX)]),
            Err(BadWeight::TooMuch)
        );
        assert!(WeightedSet::new(vec![(1, f64::MIN_POSITIVE), (2, 5e-324)]).is_ok());
    }

    #[test]
    fn the_largest_and_the_smallest_weights_are_compared_as_others_are() {
        for unit in [1.0, 1e308, 1e300, 1e-300, f64::MIN_POSITIVE, 1e-323, 5e-324] {
            let (a, b) = (set(&[(1, unit)]), set(&[(1, unit)]));
            let overlap = a.overlap(&b);
            assert_eq!(overlap.resemblance(), Some(1.0), "{unit}");
            assert_eq!(overlap.counts().resemblance(), Some(1.0), "{unit}");
            let other = a.overlap(&set(&[(2, unit)]));
            assert_eq!(other.resemblance(), Some(0.0), "{unit}");
            assert_eq!(other.counts().resemblance(), Some(0.0), "{unit}");
            assert!(other.counts().a <= 1 << 31, "{unit}");
        }
        for unit in [0.5e308, 1.0, 1e-320] {
            let (a, b) = (set(&[(1, 2.0 * unit)]), set(&[(1, 2.0 * unit), (2, unit)]));
            let overlap = a.overlap(&b);
            for value in [overlap.resemblance(), overlap.counts().resemblance()] {
                let value = value.unwrap();
                assert!((value - 2.0 / 3.0).abs() < 1e-3, "{unit}: {value}");
            }
            assert_eq!(overlap.a_in_b(), Some(1.0));
            assert!(
                (overlap.b_in_a().unwrap() - 2.0 / 3.0).abs() < 1e-3,
                "{unit}"
            );
        }
    }

    #[test]
    fn estimates_have_no_bias() {
        // 4,000 draws a pair, independent: equal samples are binomial with p the weighted
        // resemblance. Over 30 pairs the sum of hits less that of p·4,000 has variance
        // Σ 4,000 p(1−p); 4 standard deviations are passed once in 16,000 seeds, and a bias
        // of 0.6 percentage points would pass them.
        let draws = 4000;
        let sketcher = PermSketcher::new(Family::Weighted, draws, 77);
        let mut draw = Draw::new(3);
        let mut uniform = || (draw.next_u64() >> 11) as f64 / 9_007_199_254_740_992.0;
        let (mut off, mut variance) = (0.0, 0.0);
        for pair in 0..30_u64 {
            // Weights over six orders of magnitude, and some elements in one set only.
            let mut one = |share: f64| {
                let elements = (0..12).filter_map(|i| {
                    let weight = 10_f64.powf(6.0 * uniform() - 3.0);
                    (uniform() < share).then_some((mix(pair * 100 + i + 1), weight))
                });
                elements.collect::<Vec<_>>()
            };
            let (a, mut b) = (one(1.0), one(0.8));
            // Half of them alike: otherwise nearly all pairs are apart.
            for (x, y) in a.iter().zip(&mut b).take(6) {
                *y = (x.0, x.1 * 1.3);
            }
            let (a, b) = (set(&a), set(&b));
            let p = a.overlap(&b).resemblance().unwrap();
            let (hits, of) = resemblance(&sketch(&sketcher, &a), &sketch(&sketcher, &b)).unwrap();
            assert_eq!(of, draws);
            let own = draws as f64 * p * (1.0 - p);
            // And each pair for itself, with five.
            assert!(
                (hits as f64 - draws as f64 * p).abs() <= 5.0 * own.sqrt() + 1.0,
                "{hits} {p}"
            );
            off += hits as f64 - draws as f64 * p;
            variance += own;
        }
        assert!(
            off.abs() <= 4.0 * f64::sqrt(variance),
            "{off} ± {}",
            variance.sqrt()
        );
    }

    #[test]
    fn without_weights_it_is_one_more_family_of_permutations() {
        let sketcher = PermSketcher::new(Family::Weighted, 50, 7);
        let all: Vec<u64> = (1..40).map(mix).collect();
        let mut state = sketcher.start();
        sketcher.push(&mut state, &all);
        let ones = set(&all.iter().map(|&x| (x, 1.0)).collect::<Vec<_>>());
        assert_eq!(sketcher.finish(state), sketch(&sketcher, &ones));
    }

    #[test]
    fn draws_are_the_same_on_every_machine() {
        // Written into every sketch: these change only with the rules.
        let sketcher = PermSketcher::new(Family::Weighted, 3, 1997);
        let sketch = sketch(&sketcher, &set(&[(1, 0.5), (2, 3.0), (3, 1e-9)]));
        assert_eq!(
            sketch.samples(),
            [
                9_356_855_055_295_377_256,
                9_356_855_055_295_377_256,
                18_186_160_512_298_303_275
            ]
        );
    }
}
