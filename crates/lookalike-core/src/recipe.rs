//! Every choice that makes two sketches comparable, as one value.
//!
//! Sketches of different recipes are never compared: [`RecipeId`]s meet in one place,
//! [`crate::sketch::Sketch::compare`], and the error names both.

use crate::canonical::{Case, TokenKind};
use crate::permutation::Family;
use crate::seed::{Seed, first_u64};
use crate::shingle::{Shingling, Width};
use std::fmt;
use std::str::FromStr;

/// The version of the rules that turn text into tokens and tokens into fingerprints. Part
/// of every recipe's id; raised when the same recipe would give another sketch.
pub const RULES: u32 = 1;

/// The seed of recipes that name none.
pub const DEFAULT_SEED: u64 = 1997;

/// A recipe: text in, sketch out, and nothing else decides.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Recipe {
    /// What a token is.
    pub tokens: TokenKind,
    /// Whether capitals count.
    pub case: Case,
    /// Tokens in a shingle.
    pub width: Width,
    /// Set or labelled.
    pub shingling: Shingling,
    /// Where the random choices come from.
    pub seed: Seed,
    /// Which fingerprints are kept.
    pub sketch: SketchKind,
}

impl Default for Recipe {
    /// Ten folded words, as a set, at most 256 samples.
    fn default() -> Recipe {
        Recipe {
            tokens: TokenKind::Word,
            case: Case::Fold,
            width: Width::new(10).expect("ten is not zero"),
            shingling: Shingling::Set,
            seed: Seed::Public(DEFAULT_SEED),
            sketch: SketchKind::default(),
        }
    }
}

impl Recipe {
    /// The recipe's name: equal if and only if sketches are comparable (up to chance, 2^-64).
    pub fn id(&self) -> RecipeId {
        let text = format!("lookalike rules {RULES}: {self}");
        RecipeId(first_u64(blake3::hash(text.as_bytes()).as_bytes()))
    }
}

impl fmt::Display for Recipe {
    /// All of it on one line; of a key only its id.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Recipe {
            tokens,
            case,
            width,
            shingling,
            seed,
            sketch,
        } = self;
        let case = match (tokens, case) {
            // Bytes and features are what they are.
            (TokenKind::Byte | TokenKind::Feature, _) => "as-is",
            (_, Case::Fold) => "fold",
            (_, Case::Keep) => "keep-case",
        };
        write!(f, "{tokens} {case} w={width} {shingling} {sketch} ")?;
        match seed {
            Seed::Public(n) => write!(f, "seed={n}"),
            Seed::Secret(key) => write!(f, "key={:016x}", key.id()),
        }
    }
}

/// The name of a recipe.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct RecipeId(pub u64);

impl fmt::Display for RecipeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// Which fingerprints of a document are kept.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum SketchKind {
    /// Those that are 0 modulo 2^i, `i` the smallest that keeps no more than `samples`:
    /// bounded, and right for every length.
    Nested {
        /// The most that are kept.
        samples: usize,
    },
    /// Those that are 0 modulo `modulus`: the 1997 system's, with 25.
    Mod {
        /// One in how many is kept.
        modulus: u64,
    },
    /// The `samples` smallest.
    Min {
        /// The most that are kept.
        samples: usize,
    },
    /// The `samples` smallest of those that are 0 modulo `modulus`.
    MinMod {
        /// The most that are kept.
        samples: usize,
        /// One in how many is considered.
        modulus: u64,
    },
    /// The minimum under each of `samples` permutations.
    Perm {
        /// How many permutations.
        samples: usize,
        /// What kind.
        family: Family,
    },
}

impl Default for SketchKind {
    fn default() -> SketchKind {
        SketchKind::Nested { samples: 256 }
    }
}

impl SketchKind {
    /// Whether two sketches tell containment: those that keep what a fixed rule of each
    /// fingerprint says. The smallest of a document's own say only how alike two are.
    pub fn tells_containment(self) -> bool {
        matches!(self, SketchKind::Nested { .. } | SketchKind::Mod { .. })
    }

    /// Whether elements carry weights.
    pub fn is_weighted(self) -> bool {
        matches!(
            self,
            SketchKind::Perm {
                family: Family::Weighted,
                ..
            }
        )
    }
}

impl fmt::Display for SketchKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SketchKind::Nested { samples } => write!(f, "nested:{samples}"),
            SketchKind::Mod { modulus } => write!(f, "mod:{modulus}"),
            SketchKind::Min { samples } => write!(f, "min:{samples}"),
            SketchKind::MinMod { samples, modulus } => write!(f, "min-mod:{samples},{modulus}"),
            SketchKind::Perm { samples, family } => write!(f, "perm:{samples},{family}"),
        }
    }
}

/// The most samples a sketch may be asked to keep: 8 MiB of them.
pub const MOST_SAMPLES: usize = 1 << 20;

/// The most permutations: 64 MiB of tables for the families that need most.
pub const MOST_PERMUTATIONS: usize = 1 << 12;

/// A sketch kind that cannot be.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum BadSketchKind {
    /// No such name.
    #[error(
        "unknown sketch `{0}`; there are nested:N, mod:M, min:S, min-mod:S,M and perm:T (with a family: perm:84,tabulation)"
    )]
    Unknown(String),
    /// The name is right, the numbers are not.
    #[error(
        "sketch `{0}` needs numbers from 1 up (at most {MOST_SAMPLES} samples, {MOST_PERMUTATIONS} permutations), as in nested:256, mod:25, min:200, min-mod:200,5, perm:84"
    )]
    Numbers(String),
}

impl FromStr for SketchKind {
    type Err = BadSketchKind;

    fn from_str(text: &str) -> Result<SketchKind, BadSketchKind> {
        let bad = || BadSketchKind::Numbers(text.to_owned());
        let (name, numbers) = text.split_once(':').unwrap_or((text, ""));
        let (first, second) = match numbers.split_once(',') {
            Some((first, second)) => (first, Some(second)),
            None => (numbers, None),
        };
        let samples = |text: &str| match text.parse() {
            Ok(n) if (1..=MOST_SAMPLES).contains(&n) => Ok(n),
            _ => Err(bad()),
        };
        let modulus = |text: &str| match text.parse() {
            Ok(n) if n > 0 => Ok(n),
            _ => Err(bad()),
        };
        match (name, second) {
            ("nested", None) => Ok(SketchKind::Nested {
                samples: samples(first)?,
            }),
            ("mod", None) => Ok(SketchKind::Mod {
                modulus: modulus(first)?,
            }),
            ("min", None) => Ok(SketchKind::Min {
                samples: samples(first)?,
            }),
            ("min-mod", Some(second)) => Ok(SketchKind::MinMod {
                samples: samples(first)?,
                modulus: modulus(second)?,
            }),
            ("perm", family) => Ok(SketchKind::Perm {
                samples: samples(first)
                    .ok()
                    .filter(|&n| n <= MOST_PERMUTATIONS)
                    .ok_or_else(bad)?,
                family: family
                    .map_or(Ok(Family::Tabulation), str::parse)
                    .map_err(|_| bad())?,
            }),
            ("nested" | "mod" | "min" | "min-mod", _) => Err(bad()),
            _ => Err(BadSketchKind::Unknown(text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_choice_changes_the_id() {
        let base = Recipe::default();
        let key = crate::seed::Key::from_bytes(&[7; 32]).expect("long enough");
        let others = [
            Recipe {
                tokens: TokenKind::Char,
                ..base.clone()
            },
            Recipe {
                case: Case::Keep,
                ..base.clone()
            },
            Recipe {
                width: Width::new(9).expect("not zero"),
                ..base.clone()
            },
            Recipe {
                shingling: Shingling::Labelled,
                ..base.clone()
            },
            Recipe {
                seed: Seed::Public(2),
                ..base.clone()
            },
            Recipe {
                seed: Seed::Secret(key),
                ..base.clone()
            },
            Recipe {
                sketch: SketchKind::Nested { samples: 128 },
                ..base.clone()
            },
        ];
        for (i, other) in others.iter().enumerate() {
            assert_ne!(other.id(), base.id(), "{other}");
            assert!(
                others[..i].iter().all(|earlier| earlier.id() != other.id()),
                "{other}"
            );
        }
    }

    #[test]
    fn the_default_recipe_keeps_its_name() {
        // Written into every sketch: it changes only with RULES.
        assert_eq!(
            Recipe::default().to_string(),
            "word fold w=10 set nested:256 seed=1997"
        );
        assert_eq!(Recipe::default().id().to_string(), "e6756436b83fb6d8");
    }

    #[test]
    fn sketch_kinds_are_read_as_they_are_written() {
        for text in [
            "nested:256",
            "mod:25",
            "min:100",
            "min-mod:100,5",
            "perm:84,tabulation",
            "perm:9,lead-byte",
        ] {
            assert_eq!(text.parse::<SketchKind>().expect("valid").to_string(), text);
        }
        for text in [
            "mod:0",
            "mod",
            "min:-1",
            "min-mod:3",
            "perm:84,odd",
            "nested:99999999999",
            "mod:1,2",
        ] {
            assert!(
                matches!(text.parse::<SketchKind>(), Err(BadSketchKind::Numbers(_))),
                "{text}"
            );
        }
        assert!(matches!(
            "bloom:3".parse::<SketchKind>(),
            Err(BadSketchKind::Unknown(_))
        ));
    }
}
