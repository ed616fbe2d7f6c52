//! Groups of samples named by eight bytes, or by one: filters for "nearly the
//! same" that need no counting of samples.
//!
//! ```text
//! t samples ─► k groups of s ─► one name each ─► at least r names in common?
//! ```
//!
//! A group agrees when all its s samples do: with probability ρ^s, ρ being the
//! resemblance. Asking for r of k groups makes a curve that is close to 0 below a
//! threshold and close to 1 above it ([`crate::acceptance`]), and an index over
//! names finds the candidates that an index over samples would drown in. Where
//! the value of the resemblance matters, features are the wrong sketch.

use std::fmt;
use std::str::FromStr;

use crate::draw::fold;
use crate::sketch::perm::PermSketch;

/// `k` groups of `s` samples, of which `r` must agree; written `6x14/2`.
///
/// The slides use 6x14/2 for a resemblance of 90 %, and 8x25/1 as a variant.
/// (They call documents fungible with "more than r" features in common, and sum
/// their formula from r: here it is r or more, as in the formula.)
///
/// # Invariants
///
/// No part is 0, r is at most k, and k·s at most [`FeatureSpec::MOST_SAMPLES`].
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct FeatureSpec {
    groups: usize,
    samples: usize,
    common: usize,
}

impl FeatureSpec {
    /// A sketch of more samples would outgrow most documents, and takes half a
    /// megabyte each.
    pub const MOST_SAMPLES: usize = 1 << 16;

    /// `groups` of `samples` each, `common` of the groups needed.
    pub fn new(groups: usize, samples: usize, common: usize) -> Result<FeatureSpec, BadFeatures> {
        if groups == 0 || samples == 0 || common == 0 {
            return Err(BadFeatures::Zero);
        }
        if common > groups {
            return Err(BadFeatures::Unreachable { groups, common });
        }
        match groups.checked_mul(samples) {
            Some(all) if all <= FeatureSpec::MOST_SAMPLES => Ok(FeatureSpec {
                groups,
                samples,
                common,
            }),
            _ => Err(BadFeatures::TooMany),
        }
    }

    /// k: how many features a document gets.
    pub fn groups(self) -> usize {
        self.groups
    }

    /// s: how many samples make a feature.
    pub fn samples(self) -> usize {
        self.samples
    }

    /// r: how many common features make two documents fungible.
    pub fn common(self) -> usize {
        self.common
    }

    /// k·s: how many permutations the sketch must have.
    pub fn permutations(self) -> usize {
        self.groups * self.samples
    }
}

impl fmt::Display for FeatureSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}/{}", self.groups, self.samples, self.common)
    }
}

/// Why groups, samples and common features do not go together.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BadFeatures {
    /// Not three numbers with `x` and `/` between them.
    #[error("`{0}` does not name features; write groups x samples / common, as in 6x14/2")]
    Form(String),
    /// A part is 0.
    #[error("groups, samples and common features must each be at least 1")]
    Zero,
    /// More common features than features.
    #[error("{common} common features cannot be had from {groups}; ask for {groups} or fewer")]
    Unreachable {
        /// How many there are.
        groups: usize,
        /// How many were asked for.
        common: usize,
    },
    /// The sketch would be too large.
    #[error("groups times samples must not pass {}", FeatureSpec::MOST_SAMPLES)]
    TooMany,
}

impl FromStr for FeatureSpec {
    type Err = BadFeatures;

    fn from_str(text: &str) -> Result<FeatureSpec, BadFeatures> {
        let parts = || {
            let (groups, rest) = text.split_once('x')?;
            let (samples, common) = rest.split_once('/')?;
            Some((number(groups)?, number(samples)?, number(common)?))
        };
        let (groups, samples, common) =
            parts().ok_or_else(|| BadFeatures::Form(text.to_owned()))?;
        FeatureSpec::new(groups, samples, common)
    }
}

/// Digits only: `usize` itself would also take a plus sign.
fn number(text: &str) -> Option<usize> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok())?
}

/// The features of one document: one name per group.
///
/// A name includes the number of its group, so that features may be thrown
/// together in one index: equal names are the same group with the same samples.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Features(Box<[u64]>);

impl Features {
    /// Groups the first k·s samples. `None` for an empty document, which must not
    /// become fungible with other empty ones.
    ///
    /// # Panics
    ///
    /// When the sketch has samples, but fewer than
    /// [`permutations`](FeatureSpec::permutations).
    pub fn new(spec: FeatureSpec, sketch: &PermSketch) -> Option<Features> {
        let names = names(sketch, spec.groups, spec.samples)?;
        Some(Features(names.collect()))
    }

    /// Takes what a reader decoded: any numbers are legal names.
    pub fn from_names(names: Vec<u64>) -> Features {
        Features(names.into_boxed_slice())
    }

    /// Name i is that of group i.
    pub fn names(&self) -> &[u64] {
        &self.0
    }

    /// How many features two documents have in common.
    ///
    /// # Panics
    ///
    /// When they have not equally many features: they are of different recipes.
    pub fn common(&self, other: &Features) -> usize {
        assert_eq!(
            self.0.len(),
            other.0.len(),
            "features of different recipes met"
        );
        self.0.iter().zip(&other.0).filter(|(x, y)| x == y).count()
    }

    /// Whether they have enough features in common to be taken for one another.
    ///
    /// # Panics
    ///
    /// As [`Features::common`].
    pub fn fungible(&self, other: &Features, spec: FeatureSpec) -> bool {
        self.common(other) >= spec.common
    }
}

/// Names `groups` groups of consecutive samples; nothing for an empty document.
fn names(sketch: &PermSketch, groups: usize, samples: usize) -> Option<impl Iterator<Item = u64>> {
    let all = sketch.samples();
    assert!(
        all.is_empty() || groups * samples <= all.len(),
        "{groups} groups of {samples} samples need more than a sketch of {}",
        all.len()
    );
    let groups = (0_u64..).zip(all.chunks_exact(samples)).take(groups);
    (!all.is_empty()).then(|| groups.map(|(group, row)| fold(group, row)))
}

/// How samples become an [`EightBytes`] sketch, and how many bytes must agree.
///
/// # Invariants
///
/// `samples` and `common` are at least 1, `common` at most 8.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct EightBytesSpec {
    samples: usize,
    common: usize,
}

impl EightBytesSpec {
    /// 3 of 8 bytes, for a small collection; each of 11 samples.
    ///
    /// Two unrelated documents agree in three bytes by chance with probability
    /// 56/256³ = 3.3e-6: among 50,000 documents, where the slides draw the line,
    /// some 4,000 of the 1.2e9 pairs. Eleven samples a byte put the resemblance at
    /// which half the pairs are accepted nearest to the slides' 90 %.
    pub const THREE: EightBytesSpec = EightBytesSpec {
        samples: 11,
        common: 3,
    };

    /// 7 of 8 bytes, for a large collection; each of 2 samples.
    ///
    /// By chance seven bytes agree with probability 8/256⁷ = 1.1e-16: less than one
    /// pair among 100 million documents. Pairs are found by sorting: one of the eight
    /// ways to leave a byte out leaves equal keys of seven. Two samples a byte again
    /// come nearest to 90 % (one would give 80 %, three 93 %); the price of so few
    /// is a curve that is not sharp.
    pub const SEVEN: EightBytesSpec = EightBytesSpec {
        samples: 2,
        common: 7,
    };

    /// Eight groups of `samples` each, `common` of the bytes needed.
    pub fn new(samples: usize, common: usize) -> Result<EightBytesSpec, BadFeatures> {
        let checked = FeatureSpec::new(8, samples, common)?;
        Ok(EightBytesSpec {
            samples: checked.samples,
            common: checked.common,
        })
    }

    /// How many samples make a byte.
    pub fn samples(self) -> usize {
        self.samples
    }

    /// How many common bytes make two documents fungible.
    pub fn common(self) -> usize {
        self.common
    }

    /// How many permutations the sketch must have.
    pub fn permutations(self) -> usize {
        8 * self.samples
    }
}

/// A document in eight bytes: one byte for each of eight groups of samples.
///
/// Different groups still have equal bytes once in 256, and the acceptance curve
/// says so: a small share of unrelated pairs passes, however unrelated.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct EightBytes(pub [u8; 8]);

impl EightBytes {
    /// Groups the first 8·s samples. `None` for an empty document.
    ///
    /// # Panics
    ///
    /// When the sketch has samples, but fewer than
    /// [`permutations`](EightBytesSpec::permutations).
    pub fn new(spec: EightBytesSpec, sketch: &PermSketch) -> Option<EightBytes> {
        let mut bytes = [0; 8];
        for (byte, name) in bytes.iter_mut().zip(names(sketch, 8, spec.samples)?) {
            [*byte, ..] = name.to_be_bytes();
        }
        Some(EightBytes(bytes))
    }

    /// How many bytes agree: 0 to 8.
    pub fn common(self, other: EightBytes) -> usize {
        self.0.iter().zip(other.0).filter(|&(&x, y)| x == y).count()
    }

    /// Whether enough bytes agree.
    pub fn fungible(self, other: EightBytes, spec: EightBytesSpec) -> bool {
        self.common(other) >= spec.common
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(text: &str) -> FeatureSpec {
        text.parse().unwrap()
    }

    fn sketch(samples: impl IntoIterator<Item = u64>) -> PermSketch {
        PermSketch::from_samples(samples.into_iter().collect())
    }

    #[test]
    fn specs_read_back_what_they_print() {
        for text in ["6x14/2", "8x25/1", "1x1/1", "8x1/8"] {
            assert_eq!(spec(text).to_string(), text);
        }
        let spec = spec("6x14/2");
        let parts = (spec.groups(), spec.samples(), spec.common());
        assert_eq!(parts, (6, 14, 2));
        assert_eq!(spec.permutations(), 84);
    }

    #[test]
    fn impossible_specs_are_refused() {
        let refused = |text: &str| text.parse::<FeatureSpec>().unwrap_err();
        for text in [
            "",
            "6",
            "6x14",
            "6/2",
            "x/",
            "6x14/2/3",
            "6x14/-2",
            "6x+14/2",
            " 6x14/2",
            "6X14/2",
            "99999999999999999999x1/1",
        ] {
            assert_eq!(refused(text), BadFeatures::Form(text.to_owned()));
        }
        for text in ["0x14/1", "6x0/2", "6x14/0"] {
            assert_eq!(refused(text), BadFeatures::Zero);
        }
        let (groups, common) = (6, 7);
        assert_eq!(
            refused("6x14/7"),
            BadFeatures::Unreachable { groups, common }
        );
        assert_eq!(refused("257x256/1"), BadFeatures::TooMany);
        assert_eq!(refused("9999999999x9999999999/1"), BadFeatures::TooMany);
        assert!("256x256/1".parse::<FeatureSpec>().is_ok());
        assert_eq!(
            EightBytesSpec::new(3, 9),
            Err(BadFeatures::Unreachable {
                groups: 8,
                common: 9
            })
        );
    }

    #[test]
    fn a_feature_is_lost_with_any_of_its_samples_and_no_other() {
        let spec = spec("4x3/2");
        // One sample more than are used: it must not matter.
        let whole = Features::new(spec, &sketch(0..13)).unwrap();
        for changed in 0..13 {
            let other = sketch((0..13).map(|i| if i == changed { 99 } else { i }));
            let other = Features::new(spec, &other).unwrap();
            let equal: Vec<bool> = (0..4)
                .map(|i| whole.names()[i] == other.names()[i])
                .collect();
            let expected: Vec<bool> = (0..4).map(|group| changed / 3 != group).collect();
            assert_eq!(equal, expected, "{changed}");
            assert_eq!(whole.common(&other), if changed < 12 { 3 } else { 4 });
            assert!(whole.fungible(&other, spec));
        }
        let half = sketch((0..12).map(|i| if i % 6 == 0 { 99 } else { i }));
        let half = Features::new(spec, &half).unwrap();
        assert_eq!(whole.common(&half), 2);
        assert!(whole.fungible(&half, spec));
        assert!(!whole.fungible(&half, FeatureSpec::new(4, 3, 3).unwrap()));
    }

    #[test]
    fn equal_samples_in_different_groups_are_different_features() {
        let features = Features::new(spec("5x2/1"), &sketch([7; 10])).unwrap();
        let mut names = features.names().to_vec();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), 5);
    }

    #[test]
    fn an_empty_document_has_no_features() {
        assert_eq!(Features::new(spec("6x14/2"), &sketch([])), None);
        assert_eq!(EightBytes::new(EightBytesSpec::THREE, &sketch([])), None);
    }

    #[test]
    #[should_panic(expected = "6 groups of 14 samples need more than a sketch of 83")]
    fn a_sketch_too_small_for_its_features_is_our_mistake() {
        let _ = Features::new(spec("6x14/2"), &sketch(0..83));
    }

    #[test]
    fn eight_bytes_lose_the_byte_of_a_changed_sample() {
        let spec = EightBytesSpec::new(2, 7).unwrap();
        let whole = EightBytes::new(spec, &sketch(0..16)).unwrap();
        let one =
            EightBytes::new(spec, &sketch((0..16).map(|i| i + 100 * u64::from(i == 5)))).unwrap();
        assert_eq!(whole.common(whole), 8);
        assert_eq!(whole.common(one), 7);
        assert!(whole.fungible(one, spec));
        assert!(!whole.fungible(one, EightBytesSpec::new(2, 8).unwrap()));
    }

    #[test]
    fn unrelated_bytes_agree_once_in_256() {
        // 8 x 20,000 comparisons, 625 expected, standard deviation 24.95: four are 100.
        let spec = EightBytesSpec::new(1, 3).unwrap();
        let of = |start: u64| EightBytes::new(spec, &sketch(start..start + 8)).unwrap();
        let common: usize = (0..20_000).map(|i| of(16 * i).common(of(16 * i + 8))).sum();
        assert!((525..=725).contains(&common), "{common}");
    }
}
