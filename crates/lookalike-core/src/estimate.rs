//! Counts → resemblance and containment, with their 95 % intervals.
//!
//! A sketch is a random sample of the shingles, so a ratio of counts in two sketches is
//! an unbiased estimate of the ratio over the whole sets (paper 002, theorem 1). How far
//! it may be off depends on the number of samples and on the share of all shingles that
//! was sampled: a sketch that kept everything is not an estimate at all.
//!
//! The interval is Wilson's score interval with the finite-population correction: for `n`
//! samples, a share `f` of the whole, it is Wilson's for `n / (1 − f)`. Unlike the
//! textbook `± 1.96 σ` it holds near 0 and 1, where most interesting pairs lie.
//! `docs/MATH.md` derives it and shows its measured coverage.

/// The two-sided 95 % point of the normal distribution.
const Z: f64 = 1.959_963_984_540_054;

/// A share of shingles, as seen through a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The unbiased estimate.
    pub value: f64,
    /// The lower end of the 95 % interval.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
    /// How many samples it rests on.
    pub samples: usize,
}

impl Estimate {
    /// `hits` of `samples`, where the samples are this share of all there is:
    /// 1 for everything, 0 for a sample with replacement or from a very large set.
    ///
    /// `None` without a sample: no evidence is neither 0 nor 1.
    pub fn of(hits: usize, samples: usize, share: f64) -> Option<Estimate> {
        if samples == 0 {
            return None;
        }
        let value = hits as f64 / samples as f64;
        let unseen = (1.0 - share).clamp(0.0, 1.0);
        if unseen == 0.0 {
            return Some(Estimate {
                value,
                low: value,
                high: value,
                samples,
            });
        }
        let n = samples as f64 / unseen;
        let z2 = Z * Z / n;
        let centre = (value + z2 / 2.0) / (1.0 + z2);
        let half = Z * (value * (1.0 - value) / n + z2 / (4.0 * n)).sqrt() / (1.0 + z2);
        // At the ends the interval reaches 0 and 1 exactly, up to rounding: say so.
        let low = if hits == 0 {
            0.0
        } else {
            (centre - half).max(0.0)
        };
        let high = if hits == samples {
            1.0
        } else {
            (centre + half).min(1.0)
        };
        Some(Estimate {
            value,
            low,
            high,
            samples,
        })
    }
}

/// How much two sets have in common: what every measure is made of.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Overlap {
    /// |A|
    pub a: usize,
    /// |B|
    pub b: usize,
    /// |A ∩ B|
    pub common: usize,
}

impl Overlap {
    /// Counts two strictly increasing slices. O(|A| + |B|), no allocation.
    pub fn of_sorted<T: Ord>(a: &[T], b: &[T]) -> Overlap {
        let (mut xs, mut ys, mut common) = (a, b, 0);
        while let ([x, after_x @ ..], [y, after_y @ ..]) = (xs, ys) {
            common += usize::from(x == y);
            xs = if x <= y { after_x } else { xs };
            ys = if y <= x { after_y } else { ys };
        }
        Overlap {
            a: a.len(),
            b: b.len(),
            common,
        }
    }

    /// |A ∪ B|
    pub fn union(&self) -> usize {
        self.a + self.b - self.common
    }

    /// |A ∩ B| / |A ∪ B|, absent for two empty sets.
    pub fn resemblance(&self) -> Option<f64> {
        share(self.common, self.union())
    }

    /// |A ∩ B| / |A|, absent for an empty A.
    pub fn a_in_b(&self) -> Option<f64> {
        share(self.common, self.a)
    }

    /// |A ∩ B| / |B|, absent for an empty B.
    pub fn b_in_a(&self) -> Option<f64> {
        share(self.common, self.b)
    }

    /// 1 − resemblance: a metric, 0 for two empty sets.
    pub fn distance(&self) -> f64 {
        1.0 - self.resemblance().unwrap_or(1.0)
    }

    /// The estimates these counts give when they are a share `sampled` of the whole.
    pub fn estimate(&self, sampled: f64) -> Comparison {
        Comparison {
            resemblance: Estimate::of(self.common, self.union(), sampled),
            a_in_b: Estimate::of(self.common, self.a, sampled),
            b_in_a: Estimate::of(self.common, self.b, sampled),
        }
    }
}

fn share(part: usize, whole: usize) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// What two sketches say of their documents. Absent where they hold no evidence, or where
/// that kind of sketch cannot answer.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Comparison {
    /// |A ∩ B| / |A ∪ B|
    pub resemblance: Option<Estimate>,
    /// |A ∩ B| / |A|
    pub a_in_b: Option<Estimate>,
    /// |A ∩ B| / |B|
    pub b_in_a: Option<Estimate>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn merge_walk_agrees_with_the_definition() {
        // Every pair of subsets of five values: 1,024 cases, all there are.
        let subset = |bits: u32| {
            (0..5)
                .filter(|i| bits >> i & 1 == 1)
                .collect::<BTreeSet<u32>>()
        };
        for (x, y) in (0..32).flat_map(|x| (0..32).map(move |y| (x, y))) {
            let (a, b) = (subset(x), subset(y));
            let sorted = |set: &BTreeSet<u32>| set.iter().copied().collect::<Vec<_>>();
            let got = Overlap::of_sorted(&sorted(&a), &sorted(&b));
            let common = a.intersection(&b).count();
            assert_eq!(
                got,
                Overlap {
                    a: a.len(),
                    b: b.len(),
                    common
                }
            );
            assert_eq!(got.union(), a.union(&b).count());
        }
    }

    #[test]
    fn no_sample_is_no_estimate() {
        assert_eq!(Estimate::of(0, 0, 0.0), None);
        assert_eq!(Overlap::default().resemblance(), None);
    }

    #[test]
    fn a_complete_sample_is_certain() {
        let all = Estimate::of(3, 7, 1.0).expect("samples");
        assert_eq!((all.low, all.high), (all.value, all.value));
    }

    #[test]
    fn intervals_hold_their_value_and_narrow_with_samples() {
        let mut last = 2.0;
        for n in [1, 4, 16, 64, 256, 1024] {
            let e = Estimate::of(n / 2, n, 0.0).expect("samples");
            assert!(e.low <= e.value && e.value <= e.high, "{e:?}");
            assert!(e.high - e.low < last, "{e:?}");
            last = e.high - e.low;
        }
    }

    /// The share of hypergeometric draws whose interval holds the truth, summed exactly
    /// over all outcomes: no randomness in this test.
    fn coverage(population: usize, successes: usize, draws: usize) -> f64 {
        let ln_factorial: Vec<f64> = std::iter::once(0.0)
            .chain((1..=population).scan(0.0, |sum, i| {
                *sum += (i as f64).ln();
                Some(*sum)
            }))
            .collect();
        let ln_choose =
            |n: usize, k: usize| ln_factorial[n] - ln_factorial[k] - ln_factorial[n - k];
        let truth = successes as f64 / population as f64;
        (draws.saturating_sub(population - successes)..=draws.min(successes))
            .filter(|&hits| {
                let e =
                    Estimate::of(hits, draws, draws as f64 / population as f64).expect("samples");
                e.low <= truth && truth <= e.high
            })
            .map(|hits| {
                (ln_choose(successes, hits) + ln_choose(population - successes, draws - hits)
                    - ln_choose(population, draws))
                .exp()
            })
            .sum()
    }

    #[test]
    fn the_interval_covers_95_percent_on_average_whatever_share_was_sampled() {
        for sampled in [2, 4, 32] {
            let draws = 150;
            let population = draws * sampled;
            let truths = (1..50).map(|i| population * i / 50);
            let mean = truths
                .map(|successes| coverage(population, successes, draws))
                .sum::<f64>()
                / 49.0;
            assert!((0.94..=0.97).contains(&mean), "1 in {sampled}: {mean}");
        }
    }

    proptest! {
        #[test]
        fn resemblance_distance_obeys_the_triangle_inequality(
            sets in prop::array::uniform3(prop::collection::btree_set(0_u8..12, 0..12)),
        ) {
            let [a, b, c] = sets.map(|set| set.into_iter().collect::<Vec<_>>());
            let d = |x: &[u8], y: &[u8]| Overlap::of_sorted(x, y).distance();
            prop_assert!(d(&a, &c) <= d(&a, &b) + d(&b, &c) + 1e-12);
            prop_assert_eq!(d(&a, &b) == 0.0, a == b);
            prop_assert!((d(&a, &b) - d(&b, &a)).abs() < 1e-15);
        }
    }
}
