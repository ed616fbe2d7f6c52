//! A document → everything in a collection that resembles it, contains it or is contained
//! in it, on the fly.
//!
//! ```text
//! document ─► sketch ─► a list of documents for each sample ─► counted: candidates
//!                       (postings of every sweep, mapped)       └─► sizes ─► matches, copies too
//! ```
//!
//! A sample that both have is of the higher of their two levels, so what the lists count
//! is what they have in common there; the sketch of a candidate is read only where it is
//! the one with the lower level. Lists are taken from the shortest on until enough was
//! looked at: whoever is only in the long ones shares nothing but what everybody has. For
//! candidates the long lists are searched.
//!
//! Nothing is loaded: opening reads a table of 65,536 places a sweep, a query touches a few
//! pages for each sample. O(samples · log list + candidates).

#[cfg(test)]
mod tests;

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use lookalike_core::estimate::Estimate;
use lookalike_core::recipe::{Recipe, SketchKind};
use lookalike_core::seed::Key;
use lookalike_core::sketch::{Kept, min};
use lookalike_core::sketcher::Sketcher;

use crate::add::sketching::{name_of_bytes, sketch_name};
use crate::clusters::table::Clustering;
use crate::clusters::truth::Truth;
use crate::collection::entry::{Entry, Grade};
use crate::collection::sketches::SketchPlaces;
use crate::collection::state::RecipeFault;
use crate::collection::{Collection, CollectionError, file_name};
use crate::corpus::document::Document;
use crate::pairs::postings::{Postings, key};
use crate::pairs::{Basis, Measure, Pair};
use crate::storage::StorageError;
use crate::storage::disk::Disk;

/// What is a match, and how many are wanted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FindOptions {
    /// How many matches.
    pub top: usize,
    /// A match has at least this resemblance;
    pub min_resemblance: Option<f64>,
    /// or contains, or is contained, by at least this share.
    pub min_containment: Option<f64>,
}

impl Default for FindOptions {
    fn default() -> FindOptions {
        FindOptions {
            top: 10,
            min_resemblance: Some(0.3),
            min_containment: Some(0.5),
        }
    }
}

impl FindOptions {
    /// How a document with these shares is a match, if it is.
    fn verdict(&self, share: impl Fn(Measure) -> Option<f64>) -> Option<Grade> {
        let reaches = |measure, least: Option<f64>| {
            least.is_some_and(|least| share(measure).is_some_and(|share| share >= least))
        };
        if reaches(Measure::Resemblance, self.min_resemblance) {
            return Some(Grade::Similar);
        }
        let is_contained = reaches(Measure::AInB, self.min_containment)
            || reaches(Measure::BInA, self.min_containment);
        is_contained.then_some(Grade::Contained)
    }
}

/// A document to look for.
#[derive(Clone, Debug)]
pub struct Query {
    bytes_name: Option<u128>,
    tokens_name: u128,
    sketch_name: u128,
    level: u32,
    samples: Vec<u64>,
    /// All its fingerprints, where exact values are wanted.
    all: Option<Vec<u64>>,
}

impl Query {
    /// How many samples it is looked for by.
    pub fn samples(&self) -> usize {
        self.samples.len()
    }
}

/// A document that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Match {
    /// Its number.
    pub doc: u32,
    /// How it is the same as the document looked for.
    pub grade: Grade,
    /// What they have in common: the document looked for is `a`, with no number.
    pair: Pair,
    kind: SketchKind,
    /// What they have in common, of all shingles, where that was asked for and the source
    /// is still there.
    exact: Option<Pair>,
}

impl Match {
    /// The resemblance of the two.
    pub fn resemblance(&self) -> Option<Estimate> {
        self.pair.estimate(Measure::Resemblance, self.kind)
    }

    /// How much of the document looked for is in it.
    pub fn query_in_doc(&self) -> Option<Estimate> {
        self.pair.estimate(Measure::AInB, self.kind)
    }

    /// How much of it is in the document looked for.
    pub fn doc_in_query(&self) -> Option<Estimate> {
        self.pair.estimate(Measure::BInA, self.kind)
    }

    /// The best that is known of the two.
    fn best(&self) -> &Pair {
        self.exact.as_ref().unwrap_or(&self.pair)
    }

    /// Exact resemblance and both containments, where they are known.
    pub fn exact(&self) -> Option<[f64; 3]> {
        let known = |measure| self.best().exact(measure, self.kind);
        Some([
            known(Measure::Resemblance)?,
            known(Measure::AInB)?,
            known(Measure::BInA)?,
        ])
    }
}

/// Why a collection cannot be searched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FindError {
    /// It cannot be read.
    #[error(transparent)]
    Collection(#[from] CollectionError),
    /// It needs another key.
    #[error(transparent)]
    Recipe(#[from] RecipeFault),
}

/// A collection, ready to be searched, by any number of threads.
#[derive(Debug)]
pub struct Finder {
    collection: Collection,
    recipe: Recipe,
    postings: Vec<Postings>,
    sketches: Vec<SketchPlaces>,
    clustering: Option<Clustering>,
}

/// When so many postings were looked at for a query, the longer lists are only searched.
/// The shortest is looked at whole in any case.
const ENOUGH: u64 = 1 << 14;

/// So many documents are read again for each match that is wanted exactly.
const READ_AGAIN: usize = 4;

/// Candidates that are judged, for each match that is wanted, and at least.
const PER_MATCH: usize = 8;
const LEAST_JUDGED: usize = 256;

/// The postings of one sample in one sweep.
struct List {
    sweep: usize,
    range: Range<u64>,
}

impl Finder {
    /// Opens the newest generation of a collection.
    pub fn open(folder: &Path, key: Option<&Key>) -> Result<Finder, FindError> {
        if !folder.is_dir() {
            return Err(CollectionError::NotACollection.into());
        }
        let collection = Collection::open_in(folder, Arc::new(Disk::mapped(folder)))?;
        let recipe = collection.recipe(key)?;
        let storage = &**collection.storage();
        let open = |sweep: &crate::collection::state::Sweep| {
            let file = |what| {
                let name = file_name(what, sweep.generation);
                collection.manifest().file(&name)
            };
            let (heads, places) = (file("heads")?, file("places")?);
            SketchPlaces::open(storage, sweep.base, heads, places, file("sketches")?)
        };
        let sketches: Result<Vec<_>, StorageError> =
            collection.state().sweeps.iter().map(open).collect();
        let clustering = collection.state().clusterings.first();
        let clustering = clustering.map(|stored| collection.clustering(stored));
        Ok(Finder {
            postings: collection.postings().map_err(CollectionError::from)?,
            sketches: sketches.map_err(CollectionError::from)?,
            clustering: clustering.transpose().map_err(CollectionError::from)?,
            recipe,
            collection,
        })
    }

    /// The collection.
    pub fn collection(&self) -> &Collection {
        &self.collection
    }

    /// What makes sketches that can be looked for here.
    pub fn sketcher(&self) -> Sketcher {
        Sketcher::new(&self.recipe)
    }

    /// Its recipe.
    pub fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    /// The first clustering, if there is one.
    pub fn clustering(&self) -> Option<&Clustering> {
        self.clustering.as_ref()
    }

    /// The cluster of a document in the first clustering, if there is one.
    pub fn cluster(&self, doc: u32) -> Result<Option<u32>, StorageError> {
        let member = self.clustering.as_ref().map(|all| all.member(doc));
        Ok(member.transpose()?.map(|member| member.cluster))
    }

    /// A document from outside, and the bytes it was read from. `is_exact` keeps all its
    /// fingerprints.
    pub fn query(
        &self,
        document: &Document<'_>,
        bytes: Option<&[u8]>,
        sketcher: &mut Sketcher,
        is_exact: bool,
    ) -> Query {
        let sketch = document.sketch(sketcher);
        let tokens_name = sketcher.tokens_name().0;
        let all = is_exact.then(|| {
            let mut all = Vec::new();
            document.fingerprints(sketcher, &mut all);
            all.sort_unstable();
            all.dedup();
            all
        });
        Query {
            bytes_name: bytes.map(name_of_bytes),
            tokens_name,
            sketch_name: sketch_name(&sketch, tokens_name),
            level: match sketch.kept() {
                Kept::Nested(kept) => kept.level(),
                _ => 0,
            },
            samples: sketch.samples().to_vec(),
            all,
        }
    }

    /// A document of the collection. Exact values are told where its source is still there.
    pub fn query_of(&self, doc: u32, is_exact: bool) -> Result<Query, StorageError> {
        let entry = self.collection.entry(doc)?;
        let class = entry.copy_of;
        let sketches = &self.sketches[self.collection.sweep_of(class)];
        let mut samples = Vec::new();
        sketches.samples(class, &mut samples)?;
        let all = if is_exact {
            self.truth().sets(&[doc])?.remove(&doc)
        } else {
            None
        };
        Ok(Query {
            bytes_name: Some(entry.bytes_name),
            tokens_name: entry.tokens_name,
            sketch_name: entry.sketch_name,
            level: sketches.head(class)?.level(),
            samples,
            all: all.map(Vec::from),
        })
    }

    fn truth(&self) -> Truth<'_> {
        let threads = std::num::NonZeroUsize::MIN;
        Truth::new(&self.collection, &self.recipe, threads, 64 << 20)
    }

    /// The best matches of a document, the best first. Where exact values are wanted, what
    /// may be a match is read again, and decided and ordered by them.
    pub fn find(&self, query: &Query, options: &FindOptions) -> Result<Vec<Match>, StorageError> {
        let kind = self.recipe.sketch;
        let wanted = match query.all {
            Some(_) => options.top.saturating_mul(READ_AGAIN),
            None => options.top,
        };
        let mut found = Vec::new();
        for (class, met) in self.candidates(query, wanted)? {
            let pair = self.judge(query, class, met)?;
            let how = options.verdict(|measure| {
                let estimate = pair.estimate(measure, kind)?;
                Some(match query.all {
                    Some(_) => estimate.high,
                    None => estimate.value,
                })
            });
            if let Some(how) = how {
                found.push((rank(&pair, kind, how), class, pair, how));
            }
        }
        found.sort_by(|x, y| y.0.total_cmp(&x.0).then(x.1.cmp(&y.1)));
        let mut matches = Vec::new();
        for (_, class, pair, how) in found {
            if matches.len() >= wanted {
                break;
            }
            let name = self.collection.entry(class)?.sketch_name;
            self.collection.each_named_sketch(name, |doc, entry| {
                matches.push(Match {
                    doc,
                    grade: copied(query, entry).unwrap_or(how),
                    pair: Pair { b: doc, ..pair },
                    kind,
                    exact: None,
                });
            })?;
        }
        if let Some(all) = &query.all {
            self.learn(all, &mut matches)?;
            matches.retain_mut(|one| {
                let known = *one.best();
                let how = options.verdict(|measure| known.value(measure, kind));
                if one.grade > Grade::Shingle {
                    one.grade = how.unwrap_or(one.grade);
                }
                how.is_some()
            });
            let rank = |one: &Match| rank(one.best(), kind, one.grade);
            matches.sort_by(|x, y| rank(y).total_cmp(&rank(x)).then(x.doc.cmp(&y.doc)));
        }
        matches.truncate(options.top);
        Ok(matches)
    }

    /// Learns the exact values of matches whose sources are still there.
    fn learn(&self, all: &[u64], matches: &mut [Match]) -> Result<(), StorageError> {
        let mut docs: Vec<u32> = matches.iter().map(|one| one.doc).collect();
        docs.sort_unstable();
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let sets = self.truth().sets(&docs)?;
        for one in matches {
            one.exact = sets.get(&one.doc).map(|set| {
                let overlap = lookalike_core::estimate::Overlap::of_sorted(all, set);
                Pair {
                    common: count(overlap.common),
                    of_a: count(overlap.a),
                    of_b: count(overlap.b),
                    basis: Basis::Exact,
                    ..one.pair
                }
            });
        }
        Ok(())
    }

    /// Documents that share samples, and how many: the most first, as many as are worth
    /// judging.
    fn candidates(&self, query: &Query, top: usize) -> Result<Vec<(u32, u32)>, StorageError> {
        let mut lists = Vec::with_capacity(query.samples.len() * self.postings.len());
        for (place, &sample) in query.samples.iter().enumerate() {
            let key = key(self.recipe.sketch, place, sample);
            for (sweep, postings) in self.postings.iter().enumerate() {
                let range = postings.find(key)?;
                if !range.is_empty() {
                    lists.push(List { sweep, range });
                }
            }
        }
        lists.sort_by_key(|list| list.range.end - list.range.start);
        let mut docs = Vec::new();
        let (mut taken, mut looked) = (0, 0);
        for list in &lists {
            if looked >= ENOUGH && taken > 0 {
                break;
            }
            for at in list.range.clone() {
                docs.push(self.postings[list.sweep].doc(at)?);
            }
            looked += list.range.end - list.range.start;
            taken += 1;
        }
        docs.sort_unstable();
        let mut met: Vec<(u32, u32)> = Vec::new();
        for same in docs.chunk_by(|x, y| x == y) {
            met.push((same[0], u32::try_from(same.len()).unwrap_or(u32::MAX)));
        }
        let judged = LEAST_JUDGED.max(PER_MATCH * top);
        let order = |&(doc, count): &(u32, u32)| (std::cmp::Reverse(count), doc);
        if met.len() > judged && taken < lists.len() {
            met.select_nth_unstable_by_key(judged, order);
            met.truncate(judged);
        }
        for list in &lists[taken..] {
            for (doc, count) in &mut met {
                if self.collection.sweep_of(*doc) == list.sweep
                    && self.postings[list.sweep].has(list.range.clone(), *doc)?
                {
                    *count += 1;
                }
            }
        }
        met.sort_unstable_by_key(order);
        Ok(met)
    }

    /// What the sketches of a query and a document have in common.
    fn judge(&self, query: &Query, doc: u32, met: u32) -> Result<Pair, StorageError> {
        let sketches = &self.sketches[self.collection.sweep_of(doc)];
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let pair = |common, of_a, of_b, basis| Pair {
            a: u32::MAX,
            b: doc,
            common,
            of_a,
            of_b,
            basis,
        };
        Ok(match self.recipe.sketch {
            SketchKind::Nested { .. } => {
                let head = sketches.head(doc)?;
                let level = head.level().max(query.level);
                let at_level = |samples: &[u64]| {
                    let of_level = samples.iter().filter(|x| x.trailing_zeros() >= level);
                    count(of_level.count())
                };
                let of_doc = if head.level() == level {
                    count(head.samples())
                } else {
                    let mut samples = Vec::new();
                    sketches.samples(doc, &mut samples)?;
                    at_level(&samples)
                };
                let level_code = Basis::Level(u8::try_from(level).unwrap_or(64));
                pair(met, at_level(&query.samples), of_doc, level_code)
            }
            SketchKind::Mod { .. } => {
                let of_doc = count(sketches.head(doc)?.samples());
                pair(met, count(query.samples.len()), of_doc, Basis::Modulus)
            }
            SketchKind::Perm { samples, .. } => pair(met, count(samples), 0, Basis::Resemblance),
            SketchKind::Min { samples: most } | SketchKind::MinMod { samples: most, .. } => {
                let mut samples = Vec::new();
                sketches.samples(doc, &mut samples)?;
                let (hits, of) = min::smallest_of_both(&query.samples, &samples, most);
                pair(count(hits), count(of), 0, Basis::Resemblance)
            }
        })
    }
}

/// How good a match is: those that resemble first, then by how much of the document looked
/// for they have; few samples count less.
fn rank(pair: &Pair, kind: SketchKind, how: Grade) -> f64 {
    let value = |measure| pair.value(measure, kind).unwrap_or(0.0);
    if how != Grade::Contained {
        return 1.0 + value(Measure::Resemblance);
    }
    let shrunk = |of: u32| f64::from(pair.common + 1) / f64::from(of + 2);
    match pair.basis {
        Basis::Exact | Basis::Level(0) => value(Measure::AInB).max(0.5 * value(Measure::BInA)),
        _ => shrunk(pair.of_a).max(0.5 * shrunk(pair.of_b)),
    }
}

/// How a document is a copy of the one looked for, if it is.
fn copied(query: &Query, entry: &Entry) -> Option<Grade> {
    if query.bytes_name == Some(entry.bytes_name) && query.tokens_name == entry.tokens_name {
        Some(Grade::Identical)
    } else if query.tokens_name == entry.tokens_name {
        Some(Grade::Lexical)
    } else {
        (query.sketch_name == entry.sketch_name).then_some(Grade::Shingle)
    }
}
