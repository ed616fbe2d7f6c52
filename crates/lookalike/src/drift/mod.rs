//! Drift: texts that ought to be verbatim, and what was done to them.
//!
//! ```text
//! baselines ─► all their fingerprints ─┐
//! documents ─► all of theirs ──────────┴─► the baselines each may be a copy of
//!              └─► each of these against its words ─► the nearest ─► status, edits
//! ```
//!
//! A document is a copy of a baseline if it has enough of its shingles
//! ([`DriftOptions::least`]). Of several, that one counts to which the fewest words were
//! changed. A baseline may be a template: [`Markup`].
//!
//! A document of a baseline's own name, its address or id, is that text as it stands there
//! now: it is held against no other, whatever it has left, and all its words count.
//!
//! In a collection ([`of_collection`]) copies are found by sketches and judged by their
//! text, which is kept or read again; of every address the newest copy is told, and since
//! which capture it differs. Elsewhere ([`Baselines::judge`]) every document is looked at:
//! O(its length), and that of a comparison for each copy.

mod baseline;

mod collection;

mod template;

pub use baseline::Baseline;
pub use collection::{DriftedCopy, Found, of_collection};
pub use template::{FILLING, Markup};

use hashbrown::HashMap;
use lookalike_core::recipe::Recipe;
use lookalike_core::sketcher::Sketcher;

use crate::corpus::document::Document;
use crate::wording::{Edit, Words};

/// How a copy relates to its baseline.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Status {
    /// Word for word the same, but for what may vary.
    Verbatim,
    /// Words were changed.
    Altered,
    /// A part: stretches of a shingle or more are left out and nothing else was done, or
    /// less than half of the words stand there in passages, but some do.
    Excerpt,
}

impl Status {
    /// As it is written down.
    pub fn name(self) -> &'static str {
        match self {
            Status::Verbatim => "verbatim",
            Status::Altered => "altered",
            Status::Excerpt => "excerpt",
        }
    }
}

/// Whether words before and behind the baseline are changes.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Around {
    /// Not in a document most of which is something else, or that has less than half of
    /// the text: a page that holds it, or quotes it. But in one of the baseline's own name.
    #[default]
    Auto,
    /// Yes.
    Counted,
    /// No.
    Ignored,
}

/// What became of a baseline in a copy.
#[derive(Clone, Debug)]
pub struct Drifted {
    /// In a word.
    pub status: Status,
    /// The exact resemblance of baseline and document.
    pub resemblance: f64,
    /// What was changed, in reading order.
    pub changes: Vec<Edit>,
    /// What stands in the holes of a template.
    pub filled: Vec<Filled>,
    /// How many words of the document stand around the copy and were left out of account.
    pub around: usize,
}

impl Drifted {
    /// How many words were changed, of both texts.
    pub fn cost(&self) -> usize {
        self.changes.iter().map(Edit::cost).sum()
    }
}

/// Words in the place of a variable.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Filled {
    /// What the variable is called.
    pub name: String,
    /// The words of the copy.
    pub words: String,
}

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DriftOptions {
    /// A copy has at least this share of the shingles of its baseline.
    pub least: f64,
    /// Whether words around it count.
    pub around: Around,
}

impl Default for DriftOptions {
    fn default() -> DriftOptions {
        DriftOptions {
            // One word in ten changed leaves a third of the shingles of ten words.
            least: 0.3,
            around: Around::Auto,
        }
    }
}

/// How many baselines a document is held against word by word.
const NEAREST: usize = 4;

/// Baselines, ready to be compared with.
#[derive(Debug)]
pub struct Baselines {
    all: Vec<Baseline>,
    /// How many different fingerprints each has.
    sizes: Vec<usize>,
    /// Who has a fingerprint.
    owners: HashMap<u64, Vec<u32>>,
    /// Who goes by a name.
    names: HashMap<String, Vec<usize>>,
    recipe: Recipe,
    options: DriftOptions,
}

impl Baselines {
    /// Takes baselines, in their order.
    pub fn new(all: Vec<Baseline>, recipe: &Recipe, options: DriftOptions) -> Baselines {
        let mut sketcher = Sketcher::new(recipe);
        let mut owners: HashMap<u64, Vec<u32>> = HashMap::new();
        let mut names: HashMap<String, Vec<usize>> = HashMap::new();
        for (place, baseline) in all.iter().enumerate() {
            names.entry_ref(baseline.name()).or_default().push(place);
        }
        let mut sizes = Vec::with_capacity(all.len());
        for (number, baseline) in (0_u32..).zip(&all) {
            let set = set_of(&baseline.document(), &mut sketcher);
            sizes.push(set.len());
            for fingerprint in set {
                owners.entry(fingerprint).or_default().push(number);
            }
        }
        Baselines {
            all,
            sizes,
            owners,
            names,
            recipe: recipe.clone(),
            options,
        }
    }

    /// The baselines.
    pub fn all(&self) -> &[Baseline] {
        &self.all
    }

    /// What makes the fingerprints that documents are looked at by.
    pub fn sketcher(&self) -> Sketcher {
        Sketcher::new(&self.recipe)
    }

    /// Which baseline a document is a copy of, by its place among them, and how it
    /// differs; `None` for what is no copy of any. `names` are the document's: its address,
    /// its id.
    pub fn judge(
        &self,
        document: &Document<'_>,
        names: &[&str],
        sketcher: &mut Sketcher,
    ) -> Option<(usize, Drifted)> {
        let own = names.iter().filter_map(|name| self.names.get(*name));
        let own: Vec<usize> = own.flatten().copied().collect();
        let (near, around) = if own.is_empty() {
            (self.near(document, sketcher), self.options.around)
        } else {
            let around = match self.options.around {
                Around::Auto => Around::Counted,
                told => told,
            };
            (own, around)
        };
        if near.is_empty() {
            return None;
        }
        let words = Words::of(document, &self.recipe);
        let judged = near.into_iter().map(|i| {
            let drifted = self.all[i].compare(&words, around);
            (i, drifted)
        });
        judged.min_by_key(|(i, drifted)| (drifted.cost(), *i))
    }

    /// The baselines that a document has enough of, the likeliest ones.
    fn near(&self, document: &Document<'_>, sketcher: &mut Sketcher) -> Vec<usize> {
        let mut common = vec![0_usize; self.all.len()];
        for fingerprint in set_of(document, sketcher) {
            for &owner in self.owners.get(&fingerprint).into_iter().flatten() {
                common[owner as usize] += 1;
            }
        }
        let share = |i: usize| common[i] as f64 / self.sizes[i].max(1) as f64;
        let mut near: Vec<usize> = (0..self.all.len())
            .filter(|&i| common[i] > 0 && share(i) >= self.options.least)
            .collect();
        // Of two that are there as a whole, the longer says more.
        near.sort_by(|&x, &y| {
            let order = common[y].cmp(&common[x]);
            order.then(share(y).total_cmp(&share(x))).then(x.cmp(&y))
        });
        near.truncate(NEAREST);
        near
    }
}

impl Baseline {
    fn document(&self) -> Document<'_> {
        Document::of_text(self.words().text())
    }
}

fn set_of(document: &Document<'_>, sketcher: &mut Sketcher) -> Vec<u64> {
    let mut all = Vec::new();
    document.fingerprints(sketcher, &mut all);
    all.sort_unstable();
    all.dedup();
    all
}
