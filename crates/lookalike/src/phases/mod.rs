//! The paper's phases as pieces that other machines can do: what a cluster runs.
//!
//! ```text
//! many machines                               one machine: the draft of a collection
//! source ─► pieces: entries and samples ────► numbers, copies set aside ──┐
//! piece, numbers ─► postings, by key ◄────────────────────────────────────┘
//! postings of a range of keys ─► groups ────► how large a group may be (cap)
//! groups, cap ─► meetings, by document
//! meetings of some documents ─► pairs ──────► sure links; which pairs must be true ──┐
//! source ─► sets of fingerprints ─► true pairs ◄───────────────────────────────────┘
//!                                        └──► clusters, and the collection is whole
//! ```
//!
//! What goes from one machine to another is bytes, packed here and unpacked here: a row of
//! whatever carries it holds thousands of documents, so that carrying costs next to
//! nothing. Where a piece is cut, in how many ranges keys and documents lie, and in what
//! order pieces arrive does not show: each function sorts what it is given.
//!
//! The results are those of [`crate::add`], row for row: the same functions decide.

pub mod draft;

pub mod join;

pub mod meet;

pub mod sketch;

pub mod verify;

#[cfg(test)]
mod tests;

use lookalike_core::recipe::{Recipe, SketchKind};
use lookalike_core::seed::Key;
use serde::{Deserialize, Serialize};

use crate::clusters::policy::Policy;
use crate::collection::state::{RecipeFault, StoredReading, StoredRecipe};
use crate::corpus::options::ReadOptions;
use crate::pairs::judge::Floor;

/// What every machine must know: it travels as text, without the secret of a recipe.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Job {
    recipe: StoredRecipe,
    reading: StoredReading,
    /// Which pairs are kept.
    pub floor: Floor,
}

impl Job {
    /// A job; pairs are kept from the floor on, lowered as far as the policy needs it.
    pub fn new(recipe: &Recipe, reading: &ReadOptions, floor: Floor, policy: &Policy) -> Job {
        let floor = floor.reaching(policy);
        Job {
            recipe: StoredRecipe::new(recipe),
            reading: StoredReading::new(reading),
            floor,
        }
    }

    /// How documents are sketched; a recipe with a secret needs it.
    pub fn recipe(&self, key: Option<&Key>) -> Result<Recipe, RecipeFault> {
        self.recipe.recipe(key)
    }

    /// Which fingerprints sketches keep.
    pub fn sketch_kind(&self) -> SketchKind {
        self.recipe.sketch_kind()
    }

    /// How inputs are read.
    pub fn reading(&self) -> ReadOptions {
        self.reading.options()
    }
}

/// Bytes that are not what one of these phases wrote.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{0} are not as they were written")]
pub struct Garbled(pub(crate) &'static str);

impl Garbled {
    /// Of the pieces of a source.
    pub fn pieces() -> Garbled {
        Garbled("pieces")
    }
}
