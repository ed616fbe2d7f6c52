//! Which filter: what is kept of a document, and when two are taken for one another.

use std::fmt;
use std::num::NonZero;
use std::str::FromStr;

use lookalike_core::acceptance::Filter;
use lookalike_core::permutation::Family;
use lookalike_core::recipe::SketchKind;
use lookalike_core::sketch::features::{EightBytes, EightBytesSpec, FeatureSpec, Features};
use lookalike_core::sketch::perm::PermSketch;
use lookalike_core::sketch::super_shingle::SuperShingles;

/// A filter, written `6x14/2`, `super-shingles:100/10`, `eight:3` or `eight:7`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Spec {
    /// k features of s samples each, r of them equal.
    Features(FeatureSpec),
    /// One run of `width` of the `samples` smallest fingerprints in common.
    SuperShingles {
        /// How many fingerprints.
        samples: NonZero<usize>,
        /// How many in a row.
        width: NonZero<usize>,
    },
    /// Eight bytes, 3 or 7 of them equal; within one host only.
    EightBytes(EightBytesSpec),
}

/// A filter that there is not.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BadSpec {
    /// Written in no known way.
    #[error(
        "`{0}` names no filter; there are KxS/R as in 6x14/2, super-shingles:N/W as in super-shingles:100/10, eight:3 and eight:7"
    )]
    Unknown(String),
    /// There are too many ways to choose so many of the features.
    #[error(
        "{0} is joined by too many choices of features; ask for fewer in common, or nearly all"
    )]
    TooMany(String),
}

/// Choices of r from k features that are gone through. 12 of 6, the largest in use is 56.
const MOST_CHOICES: u64 = 1000;

/// The most samples that super-shingles are made of, and the widest.
const MOST_SUPER: usize = 4096;

impl FromStr for Spec {
    type Err = BadSpec;

    fn from_str(text: &str) -> Result<Spec, BadSpec> {
        let unknown = || BadSpec::Unknown(text.to_owned());
        let number = |text: &str| -> Option<NonZero<usize>> {
            let number: NonZero<usize> = text.parse().ok()?;
            (number.get() <= MOST_SUPER).then_some(number)
        };
        match text.split_once(':') {
            None => {
                let spec: FeatureSpec = text.parse().map_err(|_| unknown())?;
                if choices(spec.groups() as u64, spec.common() as u64) > MOST_CHOICES {
                    return Err(BadSpec::TooMany(text.to_owned()));
                }
                Ok(Spec::Features(spec))
            }
            Some(("super-shingles", rest)) => {
                let parts = rest.split_once('/');
                let parts = parts.and_then(|(n, w)| Some((number(n)?, number(w)?)));
                let (samples, width) = parts.ok_or_else(unknown)?;
                Ok(Spec::SuperShingles { samples, width })
            }
            Some(("eight", "3")) => Ok(Spec::EightBytes(EightBytesSpec::THREE)),
            Some(("eight", "7")) => Ok(Spec::EightBytes(EightBytesSpec::SEVEN)),
            _ => Err(unknown()),
        }
    }
}

/// In how many ways r of k can be chosen, as far as it matters.
fn choices(k: u64, r: u64) -> u64 {
    let few = r.min(k - r.min(k));
    (0..few).fold(1_u64, |all, i| {
        (all.saturating_mul(k - i) / (i + 1)).min(u64::MAX / (k + 1))
    })
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Spec::Features(spec) => spec.fmt(f),
            Spec::SuperShingles { samples, width } => write!(f, "super-shingles:{samples}/{width}"),
            Spec::EightBytes(spec) => write!(f, "eight:{}", spec.common()),
        }
    }
}

impl Spec {
    /// The sketch that it is made from.
    ///
    /// Of the families of permutations the linear one: the fastest, and on fingerprints,
    /// which are mixed, no bias shows in any (docs/PERMUTATIONS.md).
    pub fn sketch(self) -> SketchKind {
        let family = Family::Linear;
        match self {
            Spec::Features(spec) => SketchKind::Perm {
                samples: spec.permutations(),
                family,
            },
            Spec::EightBytes(spec) => SketchKind::Perm {
                samples: spec.permutations(),
                family,
            },
            Spec::SuperShingles { samples, .. } => SketchKind::Min {
                samples: samples.get(),
            },
        }
    }

    /// Its acceptance curve.
    pub fn curve(self) -> Filter {
        match self {
            Spec::Features(spec) => Filter::Features(spec),
            Spec::EightBytes(spec) => Filter::EightBytes(spec),
            Spec::SuperShingles { samples, width } => Filter::SuperShingles { samples, width },
        }
    }

    /// How many words are kept of every document; `None` where that differs.
    pub fn words(self) -> Option<usize> {
        match self {
            Spec::Features(spec) => Some(spec.groups()),
            Spec::EightBytes(_) => Some(1),
            Spec::SuperShingles { .. } => None,
        }
    }

    /// How many features two documents need in common.
    pub fn common(self) -> usize {
        match self {
            Spec::Features(spec) => spec.common(),
            Spec::EightBytes(spec) => spec.common(),
            Spec::SuperShingles { .. } => 1,
        }
    }

    /// Whether only documents of one host are compared.
    ///
    /// Of two unrelated documents, eight bytes are taken for one another too often to
    /// compare all of a large collection (3 of 8), or are too blunt to be believed without
    /// a common host (7 of 8). Most duplicates are within a host.
    pub fn is_within_host(self) -> bool {
        matches!(self, Spec::EightBytes(_))
    }

    /// What is kept of a sketch that [`Spec::sketch`] made, which has a sample.
    pub fn reduce(self, samples: Vec<u64>) -> Vec<u64> {
        match self {
            Spec::Features(spec) => {
                let features = Features::new(spec, &PermSketch::from_samples(samples));
                features.map_or_else(Vec::new, |features| features.names().to_vec())
            }
            Spec::EightBytes(spec) => {
                let bytes = EightBytes::new(spec, &PermSketch::from_samples(samples));
                bytes.map_or_else(Vec::new, |bytes| vec![u64::from_le_bytes(bytes.0)])
            }
            Spec::SuperShingles { width, .. } => {
                SuperShingles::new(&samples, width).names().to_vec()
            }
        }
    }

    /// How many features two documents have in common.
    pub fn shared(self, a: &[u64], b: &[u64]) -> usize {
        let equal = |a: &[u64], b: &[u64]| a.iter().zip(b).filter(|(x, y)| x == y).count();
        match self {
            Spec::Features(_) => equal(a, b),
            Spec::EightBytes(_) => match (a, b) {
                ([a], [b]) => EightBytes(a.to_le_bytes()).common(EightBytes(b.to_le_bytes())),
                _ => 0,
            },
            Spec::SuperShingles { .. } => lookalike_core::estimate::Overlap::of_sorted(a, b).common,
        }
    }

    /// Whether two documents are taken for one another.
    pub fn accepts(self, a: &[u64], b: &[u64]) -> bool {
        self.shared(a, b) >= self.common()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn specs_read_back_what_they_print() {
        for text in [
            "6x14/2",
            "8x25/1",
            "super-shingles:100/10",
            "eight:3",
            "eight:7",
        ] {
            assert_eq!(text.parse::<Spec>().expect("valid").to_string(), text);
        }
        for text in [
            "",
            "6",
            "eight:5",
            "super-shingles:0/1",
            "super-shingles:9",
            "mod:25",
        ] {
            assert!(
                matches!(text.parse::<Spec>(), Err(BadSpec::Unknown(_))),
                "{text}"
            );
        }
        assert!(matches!(
            "84x1/42".parse::<Spec>(),
            Err(BadSpec::TooMany(_))
        ));
        assert!("84x1/83".parse::<Spec>().is_ok());
        assert_eq!(
            (choices(6, 2), choices(8, 3), choices(8, 7), choices(8, 8)),
            (15, 56, 8, 1)
        );
    }
}
