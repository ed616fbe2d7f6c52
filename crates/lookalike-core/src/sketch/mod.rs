//! Fingerprints → sketch: which few are kept, and what they can answer.
//!
//! | type | keeps | size | answers |
//! |---|---|---|---|
//! | [`NestedSketch`] | 0 modulo 2^i, i grown with the document | up to N | resemblance, both containments, any two lengths |
//! | [`ModSketch`] | 0 modulo m | shingles/m | resemblance, both containments |
//! | [`MinSketch`] | the s smallest (of those 0 modulo m) | s | resemblance |
//! | [`PermSketch`] | one minimum for each of t permutations | t | resemblance; [`features`] and filters |
//!
//! You probably want [`NestedSketch`], the default. [`super_shingle`] makes sketches of
//! sketches; [`serial`] writes and reads them all.

pub mod nested;

pub mod modulo;

pub mod min;

pub mod perm;

pub mod features;

pub mod super_shingle;

pub mod serial;

pub use min::MinSketch;
pub use modulo::ModSketch;
pub use nested::NestedSketch;
pub use perm::PermSketch;

use crate::estimate::{Comparison, Estimate};
use crate::recipe::{RecipeId, SketchKind};

/// A list that should be strictly increasing and is not.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("fingerprint {position} is not larger than the one before it")]
pub struct NotIncreasing {
    /// Where.
    pub position: usize,
}

fn strictly_increasing(all: &[u64]) -> Result<(), NotIncreasing> {
    match all.windows(2).position(|pair| pair[0] >= pair[1]) {
        Some(i) => Err(NotIncreasing { position: i + 1 }),
        None => Ok(()),
    }
}

/// What is kept of one document.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Sketch {
    recipe: RecipeId,
    kind: SketchKind,
    tokens: u64,
    kept: Kept,
}

/// The samples, by kind.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Kept {
    /// Of the default kind.
    Nested(NestedSketch),
    /// `mod:m`
    Mod(ModSketch),
    /// `min:s` and `min-mod:s,m`
    Min(MinSketch),
    /// `perm:t`
    Perm(PermSketch),
}

/// Sketches of two recipes, which mean nothing to each other.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("sketches of two recipes cannot be compared: {0} and {1}")]
pub struct TwoRecipes(pub RecipeId, pub RecipeId);

impl Sketch {
    /// `kept` must be of the kind `kind`: whoever made or read it has seen to that.
    pub(crate) fn new(recipe: RecipeId, kind: SketchKind, tokens: u64, kept: Kept) -> Sketch {
        Sketch {
            recipe,
            kind,
            tokens,
            kept,
        }
    }

    /// The recipe it was made by.
    pub fn recipe(&self) -> RecipeId {
        self.recipe
    }

    /// Which fingerprints it keeps.
    pub fn kind(&self) -> SketchKind {
        self.kind
    }

    /// How many tokens the document had.
    pub fn tokens(&self) -> u64 {
        self.tokens
    }

    /// The samples.
    pub fn kept(&self) -> &Kept {
        &self.kept
    }

    /// The samples as numbers: increasing fingerprints, or for `perm` the minima in order.
    pub fn samples(&self) -> &[u64] {
        match &self.kept {
            Kept::Nested(sketch) => sketch.fingerprints(),
            Kept::Mod(sketch) => sketch.fingerprints(),
            Kept::Min(sketch) => sketch.fingerprints(),
            Kept::Perm(sketch) => sketch.samples(),
        }
    }

    /// Estimates resemblance and, where the kind can, both containments. The only place
    /// where two recipes meet.
    pub fn compare(&self, other: &Sketch) -> Result<Comparison, TwoRecipes> {
        if self.recipe != other.recipe {
            return Err(TwoRecipes(self.recipe, other.recipe));
        }
        let resemblance = |resemblance| Comparison {
            resemblance,
            ..Comparison::default()
        };
        Ok(match (&self.kept, &other.kept, self.kind) {
            (Kept::Nested(a), Kept::Nested(b), _) => a.compare(b),
            (Kept::Mod(a), Kept::Mod(b), SketchKind::Mod { modulus }) => a.compare(b, modulus),
            (Kept::Min(a), Kept::Min(b), SketchKind::Min { samples }) => {
                resemblance(a.resemblance(b, samples, 1))
            }
            (Kept::Min(a), Kept::Min(b), SketchKind::MinMod { samples, modulus }) => {
                resemblance(a.resemblance(b, samples, modulus))
            }
            (Kept::Perm(a), Kept::Perm(b), _) => resemblance(
                perm::resemblance(a, b).and_then(|(common, of)| Estimate::of(common, of, 0.0)),
            ),
            _ => unreachable!("one recipe makes one kind of sketch"),
        })
    }
}
