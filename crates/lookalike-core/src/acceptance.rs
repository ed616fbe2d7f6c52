//! How likely a filter is to accept a pair, by the pair's resemblance.
//!
//! ```text
//! ρ ─► chance p that one part agrees ─► chance that enough parts agree
//! ```
//!
//! The curves of the 2005 slides are drawn in a logarithmic scale on both sides:
//! what matters of a filter is how rarely it accepts what it should not, and rejects
//! what it should accept. So both chances are computed as sums of positive terms, and
//! each has its leading digits right (a relative error near 1e-13 for sketches of
//! a few hundred samples) down to the smallest number an `f64` can hold.
//!
//! Samples of different permutations are independent, so full sketches and features
//! are exact. Super-shingles rest on a model, which
//! [`Filter::SuperShingles`] states.

use std::num::NonZero;

use crate::sketch::features::{EightBytesSpec, FeatureSpec};

/// A rule that accepts or rejects a pair of documents by their sketches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Filter {
    /// At least `common` of `of` samples, one for each permutation, are equal.
    Samples {
        /// How many samples there are.
        of: usize,
        /// How many must be equal.
        common: usize,
    },
    /// Features: a group agrees with probability ρ^s.
    Features(FeatureSpec),
    /// The eight-byte sketch: a byte agrees with its group, or once in 256 anyway:
    /// p = ρ^s + (1 - ρ^s)/256.
    EightBytes(EightBytesSpec),
    /// At least one super-shingle in common.
    ///
    /// The model: the `samples` smallest fingerprints of the two documents together
    /// are each common with probability ρ, independently, and the pair is accepted
    /// when `width` in a row are. Where it departs from the truth: common ones are
    /// drawn without replacement, which matters for documents of not many more
    /// shingles than samples; and the sketches of two documents reach a little
    /// beyond the `samples` smallest of both together, so that a few more runs are
    /// seen and the true acceptance is somewhat higher, mostly at low ρ. It holds for MIN
    /// sketches; under MOD the number of samples itself is random.
    ///
    /// Fewer samples than `width` are accepted when all are common, the rule of
    /// [`SuperShingles`](crate::sketch::super_shingle::SuperShingles).
    SuperShingles {
        /// How many fingerprints a sketch keeps.
        samples: NonZero<usize>,
        /// How many in a row make a super-shingle.
        width: NonZero<usize>,
    },
}

/// The two chances, each accurate where it is small. They sum to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Odds {
    /// The probability that the pair is accepted.
    pub accept: f64,
    /// The probability that it is rejected.
    pub reject: f64,
}

impl Odds {
    /// From the smaller one: 1 less the larger would have lost its digits.
    fn accepted(accept: f64) -> Odds {
        let accept = accept.min(1.0);
        let reject = 1.0 - accept;
        Odds { accept, reject }
    }

    fn rejected(reject: f64) -> Odds {
        Odds::accepted(reject).reversed()
    }

    fn reversed(self) -> Odds {
        Odds {
            accept: self.reject,
            reject: self.accept,
        }
    }
}

impl Filter {
    /// The chances of a pair whose resemblance is `rho`.
    ///
    /// Time O(parts), for super-shingles O(samples · width).
    ///
    /// # Panics
    ///
    /// When `rho` is not between 0 and 1.
    pub fn odds(self, rho: f64) -> Odds {
        assert!((0.0..=1.0).contains(&rho), "{rho} is no resemblance");
        match self {
            Filter::Samples { of, common } => at_least(common, of, all_agree(rho, 1)),
            Filter::Features(spec) => {
                at_least(spec.common(), spec.groups(), all_agree(rho, spec.samples()))
            }
            Filter::EightBytes(spec) => {
                let group = all_agree(rho, spec.samples());
                let byte = Odds {
                    accept: group.accept + group.reject / 256.0,
                    reject: group.reject * (255.0 / 256.0),
                };
                at_least(spec.common(), 8, byte)
            }
            Filter::SuperShingles { samples, width } => {
                run_exists(width.min(samples).get(), samples.get(), all_agree(rho, 1))
            }
        }
    }

    /// The resemblance at which acceptance reaches `accept`: 0 when even unrelated
    /// pairs are accepted as often, 1 when nothing less than equality is.
    ///
    /// By bisection, which the curves allow because all of them rise; 64 steps,
    /// which leaves nothing an `f64` near 1 could still tell apart.
    ///
    /// # Panics
    ///
    /// When `accept` is not between 0 and 1.
    pub fn threshold_where(self, accept: f64) -> f64 {
        assert!((0.0..=1.0).contains(&accept), "{accept} is no probability");
        if self.odds(0.0).accept >= accept {
            return 0.0;
        }
        let (mut below, mut reached) = (0.0, 1.0);
        for _ in 0..64 {
            let middle = f64::midpoint(below, reached);
            if self.odds(middle).accept >= accept {
                reached = middle;
            } else {
                below = middle;
            }
        }
        reached
    }
}

/// ρ^s and 1 - ρ^s, the second without the cancellation near ρ = 1.
fn all_agree(rho: f64, samples: usize) -> Odds {
    if samples == 1 {
        // 1 - ρ is exact from ρ = 1/2 upwards.
        return Odds::accepted(rho);
    }
    let log = rho.ln() * samples as f64;
    Odds {
        accept: log.exp(),
        reject: log.exp_m1().abs(),
    }
}

/// The binomial tails: whether at least `common` of `of` parts agree.
fn at_least(common: usize, of: usize, part: Odds) -> Odds {
    if common == 0 {
        return Odds::accepted(1.0);
    }
    if common > of {
        return Odds::accepted(0.0);
    }
    if part.accept == 0.0 || part.reject == 0.0 {
        return part;
    }
    // Fewer than `common` agree when more than of - common disagree.
    let too_few = || tail(of - common + 1, of, part.reversed());
    // From the threshold away from the mean the terms fall, so that tail is summed and
    // the other is what it leaves of 1. Only when the threshold is the next number
    // above the mean can it leave little, as "2 of 2" does at ρ near 1; the terms
    // fall in both directions then.
    if common as f64 <= of as f64 * part.accept {
        return Odds::rejected(too_few());
    }
    let accept = tail(common, of, part);
    if accept < 0.5 {
        Odds::accepted(accept)
    } else {
        Odds::rejected(too_few())
    }
}

/// The probability that at least `from` of `of` parts agree, summed upwards; `from`
/// is not below the mean, so that the terms fall and the first one is the largest.
fn tail(from: usize, of: usize, part: Odds) -> f64 {
    let ratio = part.accept / part.reject;
    let mut term = point(from, of, part);
    let mut sum = 0.0;
    for i in from..=of {
        sum += term;
        term *= (of - i) as f64 / (i + 1) as f64 * ratio;
        if term < sum * 1e-18 {
            break;
        }
    }
    sum
}

/// The probability that exactly `i` of `of` parts agree, as one product.
fn point(i: usize, of: usize, part: Odds) -> f64 {
    let mut product = 1.0;
    let mut disagree = of - i;
    for chosen in 1..=i {
        // C(of, i) p^i overflows and q^(of-i) underflows although their product does
        // neither: so whatever lifts the product above 1 is paid for at once.
        while product > 1.0 && disagree > 0 {
            product *= part.reject;
            disagree -= 1;
        }
        product *= (of - i + chosen) as f64 / chosen as f64 * part.accept;
    }
    for _ in 0..disagree {
        product *= part.reject;
    }
    product
}

/// Whether `width` in a row of `of` independent parts agree, `width` ≤ `of`.
fn run_exists(width: usize, of: usize, part: Odds) -> Odds {
    // none[m]: no such run among m. It begins with j < width that agree and one that
    // does not; and is certain while m < width.
    let mut none = vec![1.0; of + 1];
    for m in width..=of {
        let mut agree = 1.0;
        let mut sum = 0.0;
        for before in none[m - width..m].iter().rev() {
            sum += agree * before;
            agree *= part.accept;
        }
        none[m] = sum * part.reject;
    }
    // The first run ends at m: `width` agree, one before them does not, and no run
    // stands before that one. Again a sum of positive terms.
    let full = (0..width).fold(1.0, |product, _| product * part.accept);
    let later: f64 = none[..of - width].iter().sum();
    let accept = full + full * part.reject * later;
    let reject = none[of];
    Odds {
        accept: accept.min(1.0),
        reject,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::Draw;
    use crate::permutation::Family;
    use crate::sketch::features::{EightBytes, Features};
    use crate::sketch::perm::{PermSketch, PermSketcher};
    use crate::sketch::super_shingle::{SuperShingles, shared};

    fn features(text: &str) -> Filter {
        Filter::Features(text.parse().unwrap())
    }

    fn super_shingles(samples: usize, width: usize) -> Filter {
        Filter::SuperShingles {
            samples: NonZero::new(samples).unwrap(),
            width: NonZero::new(width).unwrap(),
        }
    }

    #[track_caller]
    fn assert_close(got: f64, exact: f64) {
        let error = if exact == 0.0 {
            got.abs()
        } else {
            (got / exact - 1.0).abs()
        };
        assert!(error < 1e-12, "{got:e} is not {exact:e}");
    }

    /// Adds up, over all patterns of agreement of n parts, the chance of those that
    /// the filter accepts, and of those it rejects.
    fn by_enumeration(n: usize, rho: f64, accepts: impl Fn(u32) -> bool) -> Odds {
        let (mut accept, mut reject) = (0.0, 0.0);
        for pattern in 0..1_u32 << n {
            let chance: f64 = (0..n)
                .map(|i| {
                    if pattern >> i & 1 == 1 {
                        rho
                    } else {
                        1.0 - rho
                    }
                })
                .product();
            if accepts(pattern) {
                accept += chance;
            } else {
                reject += chance;
            }
        }
        Odds { accept, reject }
    }

    #[track_caller]
    fn assert_odds(filter: Filter, rho: f64, exact: Odds) {
        let got = filter.odds(rho);
        assert_close(got.accept, exact.accept);
        assert_close(got.reject, exact.reject);
    }

    const RHOS: [f64; 9] = [0.0, 1e-9, 0.01, 0.3, 0.5, 0.9, 0.99, 1.0 - 1e-9, 1.0];

    #[test]
    fn full_sketches_agree_with_enumeration() {
        for (of, rho) in (1..=9).flat_map(|of| RHOS.map(|rho| (of, rho))) {
            for common in 0..=of + 1 {
                let exact = by_enumeration(of, rho, |p| p.count_ones() as usize >= common);
                assert_odds(Filter::Samples { of, common }, rho, exact);
            }
        }
    }

    #[test]
    fn features_agree_with_enumeration_of_samples() {
        for (k, s) in [(1, 4), (2, 3), (3, 3), (4, 2), (6, 1)] {
            for (r, rho) in (1..=k).flat_map(|r| RHOS.map(|rho| (r, rho))) {
                let group = (1_u32 << s) - 1;
                let exact = by_enumeration(k * s, rho, |pattern| {
                    let agrees = |i: &usize| pattern >> (i * s) & group == group;
                    (0..k).filter(agrees).count() >= r
                });
                assert_odds(features(&format!("{k}x{s}/{r}")), rho, exact);
            }
        }
    }

    #[test]
    fn super_shingles_agree_with_enumeration() {
        for (n, width) in (1..=10).flat_map(|n| (1..=n + 1).map(move |width| (n, width))) {
            for rho in RHOS {
                let exact = by_enumeration(n, rho, |pattern| {
                    let width = width.min(n);
                    let run = (1_u32 << width) - 1;
                    (0..=n - width).any(|at| pattern >> at & run == run)
                });
                assert_odds(super_shingles(n, width), rho, exact);
            }
        }
    }

    #[test]
    fn far_tails_keep_their_digits() {
        // Exact rationals of the very f64 arguments, by Python's Fraction:
        // sum(comb(n,i) * p**i * (1-p)**(n-i) for i in range(r, n+1)).
        let samples = |of, common| Filter::Samples { of, common };
        assert_close(samples(84, 60).odds(0.1).accept, 5.354_084_591_755_958e-41);
        assert_close(samples(84, 20).odds(0.9).reject, 4.609_500_714_732_51e-48);
        assert_close(
            samples(200, 190).odds(0.3).accept,
            2.918_008_540_992_064e-85,
        );
        assert_close(
            samples(1000, 900).odds(0.5).accept,
            6.701_717_790_006_296e-162,
        );
        assert_close(
            features("6x14/2").odds(0.1).accept,
            1.499_999_999_999_962e-27,
        );
        assert_close(features("6x14/2").odds(0.9).accept, 0.415_051_393_128_219_8);
        assert_close(
            features("6x14/2").odds(0.999_999).reject,
            3.226_801_480_355_035e-24,
        );
        assert_close(features("8x25/1").odds(0.9).accept, 0.448_975_769_439_672_8);
        assert_close(
            features("8x25/1").odds(0.999_999).reject,
            1.525_732_429_501_126e-37,
        );
    }

    #[test]
    fn a_tail_too_small_for_a_float_is_zero_and_not_nan() {
        let filter = Filter::Samples {
            of: 4096,
            common: 4000,
        };
        assert_eq!(filter.odds(0.5), Odds::accepted(0.0));
        assert_eq!(features("8x25/8").odds(1e-100), Odds::accepted(0.0));
    }

    #[test]
    fn every_curve_rises_and_its_odds_sum_to_one() {
        let filters = [
            Filter::Samples { of: 84, common: 76 },
            features("6x14/2"),
            features("8x25/1"),
            Filter::EightBytes(EightBytesSpec::THREE),
            Filter::EightBytes(EightBytesSpec::SEVEN),
            super_shingles(100, 10),
            super_shingles(3, 10),
        ];
        for filter in filters {
            let mut last = 0.0;
            for step in 0..=1000 {
                let odds = filter.odds(f64::from(step) / 1000.0);
                assert!((odds.accept + odds.reject - 1.0).abs() < 1e-12);
                // Equal is allowed where acceptance has reached 1 but for rounding.
                assert!(odds.accept >= last - 1e-15, "{filter:?} {step}");
                last = odds.accept;
            }
            assert_eq!(filter.odds(1.0), Odds::accepted(1.0), "{filter:?}");
        }
    }

    #[test]
    fn the_slides_parameters_have_their_threshold_at_ninety_per_cent() {
        // The slides say ρ = 90 % for both; half the pairs are accepted at:
        let six = features("6x14/2").threshold_where(0.5);
        let eight = features("8x25/1").threshold_where(0.5);
        assert!((0.90..0.915).contains(&six), "{six}");
        assert!((0.90..0.915).contains(&eight), "{eight}");
    }

    #[test]
    fn the_threshold_is_where_the_curve_crosses() {
        for filter in [features("6x14/2"), super_shingles(100, 10)] {
            for accept in [1e-9, 0.01, 0.5, 0.99] {
                let rho = filter.threshold_where(accept);
                assert!(filter.odds(rho).accept >= accept);
                assert!(filter.odds(rho - 1e-12).accept < accept);
            }
        }
        let bytes = Filter::EightBytes(EightBytesSpec::THREE);
        assert!(bytes.threshold_where(1e-6).abs() < f64::EPSILON);
        let never = Filter::Samples { of: 3, common: 4 };
        assert!((never.threshold_where(0.5) - 1.0).abs() < f64::EPSILON);
    }

    #[test]
    fn eight_bytes_default_to_the_samples_nearest_ninety_per_cent() {
        for chosen in [EightBytesSpec::THREE, EightBytesSpec::SEVEN] {
            let distance = |samples| {
                let spec = EightBytesSpec::new(samples, chosen.common()).unwrap();
                (Filter::EightBytes(spec).threshold_where(0.5) - 0.9).abs()
            };
            for other in (1..40).filter(|&other| other != chosen.samples()) {
                assert!(
                    distance(chosen.samples()) < distance(other),
                    "{chosen:?} {other}"
                );
            }
        }
    }

    #[test]
    fn unrelated_pairs_pass_eight_bytes_as_often_as_chance_says() {
        let none = |spec| Filter::EightBytes(spec).odds(0.0).accept;
        // 56/256³ and 8/256⁷, and the few that agree in yet more bytes.
        assert!((none(EightBytesSpec::THREE) / 3.29e-6 - 1.0).abs() < 0.01);
        assert!((none(EightBytesSpec::SEVEN) / 1.106e-16 - 1.0).abs() < 0.01);
    }

    /// A pair of sets with `apart` fingerprints in each that the other lacks.
    fn pair(draw: &mut Draw, common: usize, apart: usize) -> (Vec<u64>, Vec<u64>) {
        let all: Vec<u64> = (0..common + 2 * apart).map(|_| draw.next_u64()).collect();
        (all[..common + apart].to_vec(), all[apart..].to_vec())
    }

    #[test]
    fn simulated_features_and_bytes_follow_their_curves() {
        // 3,000 pairs of random sets at ρ = 180/200; the permutations are drawn once.
        // A count of probability p has standard deviation sqrt(3000 p (1-p)), at most
        // 27.4; four of them.
        let sketcher = PermSketcher::new(Family::LeadByte, 88, 1);
        let sketch = |all: &[u64]| -> PermSketch {
            let mut state = sketcher.start();
            sketcher.push(&mut state, all);
            sketcher.finish(state)
        };
        let spec: FeatureSpec = "6x14/2".parse().unwrap();
        let bytes = [EightBytesSpec::THREE, EightBytesSpec::SEVEN];
        let mut counts = [0_u32; 3];
        let mut draw = Draw::new(2);
        for _ in 0..3000 {
            let (a, b) = pair(&mut draw, 180, 10);
            let (a, b) = (sketch(&a), sketch(&b));
            let of = |sketch| Features::new(spec, sketch).unwrap();
            counts[0] += u32::from(of(&a).fungible(&of(&b), spec));
            for (spec, count) in bytes.into_iter().zip(&mut counts[1..]) {
                let of = |sketch| EightBytes::new(spec, sketch).unwrap();
                *count += u32::from(of(&a).fungible(of(&b), spec));
            }
        }
        let filters = [
            Filter::Features(spec),
            Filter::EightBytes(bytes[0]),
            Filter::EightBytes(bytes[1]),
        ];
        for (filter, count) in filters.into_iter().zip(counts) {
            let p = filter.odds(0.9).accept;
            let bound = 4.0 * (3000.0 * p * (1.0 - p)).sqrt();
            let off = f64::from(count) - 3000.0 * p;
            assert!(off.abs() < bound, "{filter:?}: {count}, off by {off}");
        }
    }

    #[test]
    fn simulated_super_shingles_are_accepted_a_little_above_the_model() {
        // Sketches of the 60 smallest, super-shingles of 6, 2,000 pairs of sets of 4,000.
        // The model is a bound from below. From above: the sketches reach about 2/(1+ρ)
        // times as far into the union as 60 fingerprints, where the model for that many
        // samples holds nearly. The standard deviation of the share is at most
        // sqrt(1/4/2000) = 0.0112: four of them are 0.045.
        let mut draw = Draw::new(3);
        let width = NonZero::new(6).unwrap();
        for (common, apart) in [(3000, 1000), (3300, 700), (3600, 450)] {
            let accepted = (0..2000).filter(|_| {
                let (a, b) = pair(&mut draw, common, apart);
                let smallest = |mut all: Vec<u64>| {
                    all.select_nth_unstable(59);
                    all.truncate(60);
                    all.sort_unstable();
                    SuperShingles::new(&all, width)
                };
                shared(&smallest(a), &smallest(b)) > 0
            });
            let share = accepted.count() as f64 / 2000.0;
            let rho = common as f64 / (common + 2 * apart) as f64;
            let model = super_shingles(60, 6).odds(rho).accept;
            let reach = (60 * (common + 2 * apart)).div_ceil(common + apart);
            let above = super_shingles(reach, 6).odds(rho).accept;
            assert!(share > model - 0.045, "{rho}: {share} {model}");
            assert!(share < above + 0.045, "{rho}: {share} {above}");
        }
    }
}
