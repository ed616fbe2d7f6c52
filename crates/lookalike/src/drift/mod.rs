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
//! In a collection ([`of_collection`]) copies are found by sketches (those of a template that
//! has too few words between what may vary by reading all texts) and judged by their text,
//! which is kept or read again; of every address the newest copy is told, and since
//! which capture it differs. Elsewhere ([`Baselines::judge`]) every document is looked at:
//! O(its length), and that of a comparison for each copy.

mod baseline;

mod collection;

mod layout;

mod template;

pub use baseline::Baseline;
pub use collection::{DriftedCopy, Found, of_collection};
pub use template::{BadVariable, FILLING, Markup};

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
const NEAREST: usize = 16;

/// Baselines, ready to be compared with.
#[derive(Debug)]
pub struct Baselines {
    all: Vec<Baseline>,
    /// How many different fingerprints of each must be there.
    sizes: Vec<usize>,
    /// Who has which fingerprints, for each width of shingles that is needed.
    layers: Vec<Layer>,
    /// Who goes by a name.
    names: HashMap<String, Vec<usize>>,
    recipe: Recipe,
    options: DriftOptions,
}

/// Fingerprints of shingles of one width.
#[derive(Debug)]
struct Layer {
    recipe: Recipe,
    /// Who has a fingerprint, and whether it may be left out.
    owners: HashMap<u64, Vec<(u32, bool)>>,
}

impl Baselines {
    /// Takes baselines, in their order.
    pub fn new(all: Vec<Baseline>, recipe: &Recipe, options: DriftOptions) -> Baselines {
        let mut layers: Vec<(Layer, Sketcher)> = Vec::new();
        let mut names: HashMap<String, Vec<usize>> = HashMap::new();
        for (place, baseline) in all.iter().enumerate() {
            names.entry_ref(baseline.name()).or_default().push(place);
        }
        let mut sizes = Vec::with_capacity(all.len());
        for (number, baseline) in (0_u32..).zip(&all) {
            let width = baseline.width();
            let known = layers
                .iter()
                .position(|(layer, _)| layer.recipe.width == width);
            let place = known.unwrap_or_else(|| {
                let recipe = Recipe {
                    width,
                    ..recipe.clone()
                };
                let sketcher = Sketcher::new(&recipe);
                let owners = HashMap::new();
                layers.push((Layer { recipe, owners }, sketcher));
                layers.len() - 1
            });
            let (layer, sketcher) = &mut layers[place];
            let own = baseline.fingerprints(sketcher);
            let due = own.iter().filter(|(_, is_optional)| !is_optional).count();
            sizes.push(due);
            for (fingerprint, is_optional) in own {
                let owners = layer.owners.entry(fingerprint).or_default();
                owners.push((number, is_optional));
            }
        }
        Baselines {
            all,
            sizes,
            layers: layers.into_iter().map(|(layer, _)| layer).collect(),
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
        let mut judged = Vec::with_capacity(near.len());
        for i in near {
            let drifted = self.all[i].compare(&words, around);
            let is_all = drifted.status == Status::Verbatim && drifted.around == 0;
            judged.push((i, drifted));
            if is_all {
                break; // nothing is nearer
            }
        }
        judged.into_iter().min_by_key(|(i, drifted)| {
            let is_other = drifted.status != Status::Verbatim;
            (is_other, drifted.cost(), drifted.around, *i)
        })
    }

    /// The baselines that a document has enough of, the likeliest ones.
    fn near(&self, document: &Document<'_>, sketcher: &mut Sketcher) -> Vec<usize> {
        // Of each, how many fingerprints are there: of all, and of those that must be.
        let mut common = vec![(0_usize, 0_usize); self.all.len()];
        for layer in &self.layers {
            let own = if layer.recipe.width == self.recipe.width {
                set_of(document, sketcher)
            } else {
                set_of(document, &mut Sketcher::new(&layer.recipe))
            };
            for fingerprint in own {
                let owners = layer.owners.get(&fingerprint);
                for &(owner, is_optional) in owners.into_iter().flatten() {
                    let (all, due) = &mut common[owner as usize];
                    *all += 1;
                    *due += usize::from(!is_optional);
                }
            }
        }
        let share = |i: usize| common[i].1 as f64 / self.sizes[i].max(1) as f64;
        // Shingles are lost at the holes of a template; words are what counts.
        let held = |i: usize| {
            let (all, due) = common[i];
            share(i) * self.all[i].due() as f64 + (all - due) as f64
        };
        let is_copy = |i: &usize| common[*i].1 > 0 && share(*i) >= self.options.least;
        let mut near: Vec<usize> = (0..self.all.len()).filter(is_copy).collect();
        // Of two that are there as a whole, the longer says more: one that is a small part
        // of another is not what the document is a copy of.
        let most = near.iter().map(|&i| held(i)).fold(0.0, f64::max);
        near.retain(|&i| 2.0 * held(i) >= most);
        // What is verbatim lacks nothing; of the others few lack little and have much.
        near.sort_by(|&x, &y| {
            let missing = |i: usize| self.sizes[i] - common[i].1;
            let score = |i: usize| missing(i) as f64 - held(i);
            let order = (missing(x) > 0).cmp(&(missing(y) > 0));
            order.then(score(x).total_cmp(&score(y))).then(x.cmp(&y))
        });
        near.truncate(NEAREST);
        near
    }
}

impl Baseline {
    fn document(&self) -> Document<'_> {
        Document::of_text(self.words().text())
    }

    /// The fingerprints between what may vary, each once, and whether they may be left out.
    fn fingerprints(&self, sketcher: &mut Sketcher) -> Vec<(u64, bool)> {
        if !self.is_template() {
            let own = set_of(&self.document(), sketcher).into_iter();
            return own.map(|fingerprint| (fingerprint, false)).collect();
        }
        let mut all = Vec::new();
        let mut some = Vec::new();
        let width = self.width().get();
        let stretches = self.stretches().into_iter();
        for (stretch, is_optional) in stretches.filter(|(stretch, _)| stretch.len() >= width) {
            let text = self.words().part(&stretch);
            Document::of_text(text).fingerprints(sketcher, &mut some);
            all.extend(some.drain(..).map(|fingerprint| (fingerprint, is_optional)));
        }
        // One that must be there may also stand in a part that need not.
        all.sort_unstable();
        all.dedup_by_key(|(fingerprint, _)| *fingerprint);
        all
    }
}

fn set_of(document: &Document<'_>, sketcher: &mut Sketcher) -> Vec<u64> {
    let mut all = Vec::new();
    document.fingerprints(sketcher, &mut all);
    all.sort_unstable();
    all.dedup();
    all
}
