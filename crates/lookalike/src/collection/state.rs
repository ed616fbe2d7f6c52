//! What a manifest says of a collection besides its files.

use std::collections::BTreeMap;

use lookalike_core::canonical::Case;
use lookalike_core::recipe::{Recipe, SketchKind};
use lookalike_core::seed::{Key, Seed};
use lookalike_core::shingle::{Shingling, Width};
use serde::{Deserialize, Serialize};

use super::file_name;
use crate::clusters::policy::Policy;
use crate::corpus::options::ReadOptions;
use crate::pairs::judge::Floor;

/// The state of a collection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// How its documents are sketched.
    pub recipe: StoredRecipe,
    /// Its sweeps, in the order they were added.
    pub sweeps: Vec<Sweep>,
    /// Its clusterings, the default one first.
    pub clusterings: Vec<StoredClustering>,
    /// The generation that counted all pairs again, with a lower floor.
    pub recounted: Option<u64>,
    /// The generation that wrote down which true values are known.
    pub exact: Option<u64>,
    /// Which pairs are kept.
    pub floor: Floor,
}

/// One dated batch of documents.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sweep {
    /// The generation that added it: its files are named after it.
    pub generation: u64,
    /// Its first document.
    pub base: u32,
    /// How many documents it has.
    pub documents: u32,
    /// How many captures without a word it has.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub blanks: u32,
    /// Its date, in seconds since 1970, if it was given one.
    pub date: Option<i64>,
    /// How its documents were read, so that they can be read again.
    pub reading: StoredReading,
    /// The media types that its archives name, [`MOST_MIMES`] at most, in the order they
    /// were met. Entries and captures have their number, from 1.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mimes: Vec<String>,
    /// Whether the texts of its documents are kept.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keeps_text: bool,
    /// The generation that drew its sketches again, where one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redrawn: Option<Redrawn>,
    /// What became of what was read.
    pub counts: Counts,
}

/// A generation that drew the sketches of all sweeps again, and which sweep this was then.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Redrawn {
    /// The generation.
    pub generation: u64,
    /// The sweep's place among all of them.
    pub part: u32,
}

/// The files of a sweep that follow from its sketches.
pub(crate) const DRAWN: [&str; 8] = [
    "documents",
    "heads",
    "sketches",
    "places",
    "names",
    "postings",
    "fences",
    "pairs",
];

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// Media types that a sweep tells apart. The web has some forty that are text; a manifest
/// must not grow with what servers make up.
pub const MOST_MIMES: usize = 256;

/// Bytes of the longest media type that is kept. The longest registered one has 85.
pub const MIME_LEN: usize = 100;

impl Sweep {
    /// The name of one of its files.
    pub fn file_name(&self, what: &str) -> String {
        match self.redrawn {
            Some(redrawn) if DRAWN.contains(&what) => redrawn.file_name(what),
            _ => file_name(what, self.generation),
        }
    }

    /// The media type with a number, if that is one.
    pub fn mime(&self, number: u16) -> Option<&str> {
        let index = usize::from(number).checked_sub(1)?;
        self.mimes.get(index).map(String::as_str)
    }
}

impl Redrawn {
    /// The name of a file that was drawn again.
    pub(crate) fn file_name(self, what: &str) -> String {
        format!("{what}-{}-{}.lk", self.generation, self.part)
    }
}

/// How documents were read, as it is written down.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct StoredReading {
    text_field: String,
    id_field: String,
    url_field: String,
    date_field: String,
    format: String,
    tokens: String,
    most_document: u64,
    most_line: u64,
    most_record: u64,
}

impl Default for StoredReading {
    fn default() -> StoredReading {
        StoredReading::new(&ReadOptions::default())
    }
}

impl StoredReading {
    /// What is written down of how documents are read.
    pub fn new(options: &ReadOptions) -> StoredReading {
        StoredReading {
            text_field: options.text_field.clone(),
            id_field: options.id_field.clone(),
            url_field: options.url_field.clone(),
            date_field: options.date_field.clone(),
            format: options.format.to_string(),
            tokens: options.tokens.to_string(),
            most_document: options.limits.document as u64,
            most_line: options.limits.line as u64,
            most_record: options.limits.record as u64,
        }
    }

    /// How to read them again.
    pub fn options(&self) -> ReadOptions {
        let mut options = ReadOptions {
            text_field: self.text_field.clone(),
            id_field: self.id_field.clone(),
            url_field: self.url_field.clone(),
            date_field: self.date_field.clone(),
            format: self.format.parse().unwrap_or_default(),
            tokens: self.tokens.parse().unwrap_or_default(),
            ..ReadOptions::default()
        };
        let size = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
        options.limits.document = size(self.most_document);
        options.limits.line = size(self.most_line);
        options.limits.record = size(self.most_record);
        options
    }
}

/// The sizes of every stage of one sweep.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Counts {
    /// Records read.
    pub read: u64,
    /// Of these, left out by their nature.
    pub skipped: BTreeMap<String, u64>,
    /// Of these, rejected.
    pub rejected: BTreeMap<String, u64>,
    /// The same document again, in the same words: captures, counted as skipped.
    pub again: u64,
    /// A document that was there before, now in other words.
    pub versions: u64,
    /// New documents with the bytes of another.
    pub identical: u64,
    /// With the tokens of another.
    pub lexical: u64,
    /// With the sketch of another.
    pub shingle: u64,
    /// With a sketch of their own.
    pub distinct: u64,
    /// Documents with fewer tokens than a shingle.
    pub short: u64,
    /// Documents with malformed bytes.
    pub repaired: u64,
    /// Documents whose date is no date.
    pub dates_unreadable: u64,
    /// Bytes of all bodies.
    pub bytes: u64,
    /// Tokens of all documents.
    pub tokens: u64,
    /// Fingerprints kept, of distinct documents.
    pub postings: u64,
    /// Fingerprints that more than one document has.
    pub groups: u64,
    /// Documents in them, all together.
    pub memberships: u64,
    /// Fingerprints common to more documents than every two of which can be compared.
    pub common: u64,
    /// From how many documents on a fingerprint is common; 0 when none was.
    pub common_from: u64,
    /// Counted pairs kept.
    pub pairs: u64,
    /// Pairs not kept, for their documents have many better.
    pub pairs_set_aside: u64,
}

/// A clustering that is kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredClustering {
    /// Its policy.
    pub policy: Policy,
    /// The generation that made it: its files are named after it.
    pub generation: u64,
    /// Which of the clusterings that generation made.
    pub part: u32,
    /// What it came to.
    pub summary: Summary,
}

/// What a clustering came to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Documents in the collection.
    pub documents: u64,
    /// Clusters of two or more.
    pub clusters: u64,
    /// Documents in them.
    pub clustered_documents: u64,
    /// Clusters all of whose documents have one and the same bytes.
    pub identical_only_clusters: u64,
    /// Documents in the largest cluster.
    pub largest: u64,
    /// Clusters that look like chains or templates, or are very large.
    pub flagged: u64,
    /// Pairs decided on their true value.
    pub verified: u64,
    /// Pairs too near the threshold to tell, decided by estimate all the same.
    pub by_estimate: u64,
}

/// A recipe as it is written down. Of a key only its id is.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct StoredRecipe {
    tokens: String,
    keep_case: bool,
    width: usize,
    labelled: bool,
    sketch: String,
    seed: Option<u64>,
    key: Option<String>,
}

/// A recipe that cannot be had from what was written down.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum RecipeFault {
    /// It needs the secret.
    #[error("it was made with a key; give the same one with --key-file")]
    NeedsKey,
    /// It was made with another secret, or none.
    #[error("it was made with another key")]
    OtherKey,
    /// What is written down makes no sense.
    #[error("its recipe makes no sense")]
    Damaged,
}

impl StoredRecipe {
    /// What is written down of a recipe.
    pub fn new(recipe: &Recipe) -> StoredRecipe {
        let (seed, key) = match &recipe.seed {
            Seed::Public(number) => (Some(*number), None),
            Seed::Secret(key) => (None, Some(format!("{:016x}", key.id()))),
        };
        StoredRecipe {
            tokens: recipe.tokens.to_string(),
            keep_case: recipe.case == Case::Keep,
            width: recipe.width.get(),
            labelled: recipe.shingling == Shingling::Labelled,
            sketch: recipe.sketch.to_string(),
            seed,
            key,
        }
    }

    /// How many tokens make a shingle.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Which fingerprints sketches keep.
    pub fn sketch_kind(&self) -> SketchKind {
        self.sketch.parse().unwrap_or_default()
    }

    /// The recipe; one with a secret needs it.
    pub fn recipe(&self, key: Option<&Key>) -> Result<Recipe, RecipeFault> {
        let seed = match (self.seed, &self.key, key) {
            (Some(number), _, None) => Seed::Public(number),
            (None, Some(_), None) => return Err(RecipeFault::NeedsKey),
            (None, Some(id), Some(key)) if *id == format!("{:016x}", key.id()) => {
                Seed::Secret(key.clone())
            }
            (Some(_), _, Some(_)) | (None, Some(_), Some(_)) => {
                return Err(RecipeFault::OtherKey);
            }
            (None, None, _) => return Err(RecipeFault::Damaged),
        };
        self.with_seed(seed)
    }

    /// The same recipe with another seed: it keeps other fingerprints.
    pub(crate) fn with_seed(&self, seed: Seed) -> Result<Recipe, RecipeFault> {
        let damaged = RecipeFault::Damaged;
        Ok(Recipe {
            tokens: self.tokens.parse().map_err(|_| damaged.clone())?,
            case: if self.keep_case {
                Case::Keep
            } else {
                Case::Fold
            },
            width: Width::new(self.width).ok_or_else(|| damaged.clone())?,
            shingling: if self.labelled {
                Shingling::Labelled
            } else {
                Shingling::Set
            },
            seed,
            sketch: self.sketch.parse().map_err(|_| damaged)?,
        })
    }
}
