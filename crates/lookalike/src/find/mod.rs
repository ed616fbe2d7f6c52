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
//! looked at: whoever is only in the long ones shares nothing but what everybody has. If
//! some were left out, the sketches of candidates are read: of those that could be the
//! best matches, by their size, if they shared all that was left out.
//!
//! How much of a short text is in a long one must be told by few samples: versions of one
//! text then all look the same, and [`Reread::Doubtful`] reads them again.
//!
//! Nothing is loaded: opening reads a table of 65,536 places a sweep, a query touches a few
//! pages for each sample. O(samples + candidates); of postings no more than 16,384 are
//! looked at, or the shortest list.

mod every;

mod shares;

#[cfg(test)]
mod tests;

pub use every::Least;

pub(crate) use shares::{Pages, Shares};

use std::path::Path;
use std::sync::Arc;

use lookalike_core::estimate::{Estimate, Overlap};
use lookalike_core::recipe::{Recipe, SketchKind};
use lookalike_core::seed::Key;
use lookalike_core::sketch::{Kept, min};
use lookalike_core::sketcher::Sketcher;

use crate::add::sketching::{name_of_bytes, sketch_name};
use crate::clusters::table::Clustering;
use crate::clusters::truth::{Room, Shingles, Truth};
use crate::collection::entry::{Entry, Grade};
use crate::collection::sketches::SketchPlaces;
use crate::collection::state::RecipeFault;
use crate::collection::{Collection, CollectionError};
use crate::corpus::document::Document;
use crate::pairs::postings::{List, PARTITIONS, Postings, key};
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
    /// A threshold that is given is the only one, unless both are.
    pub fn new(
        top: usize,
        min_resemblance: Option<f64>,
        min_containment: Option<f64>,
    ) -> FindOptions {
        let default = FindOptions::default();
        let (min_resemblance, min_containment) = match (min_resemblance, min_containment) {
            (None, None) => (default.min_resemblance, default.min_containment),
            given => given,
        };
        FindOptions {
            top,
            min_resemblance,
            min_containment,
        }
    }

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
    /// All its fingerprints, where exact values may be wanted.
    all: Option<Arc<Shingles>>,
    reread: Reread,
}

/// When the sources of what may be a match are read again.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Reread {
    /// Samples alone decide.
    #[default]
    Never,
    /// When what holds the document must be told by few samples: a short text in long ones.
    Doubtful,
    /// In any case: every value is exact where the source is still there.
    Always,
}

/// From so many samples on it is left to them which document holds the most of another.
const TELLING: u32 = 64;

impl Query {
    /// Its samples.
    pub(crate) fn all_samples(&self) -> &[u64] {
        &self.samples
    }

    /// How many samples it is looked for by.
    pub fn samples(&self) -> usize {
        self.samples.len()
    }

    /// Whether all its shingles are at hand, so that exact values can be told.
    pub fn knows_all(&self) -> bool {
        self.all.is_some()
    }

    /// The length in shingles from which on documents may hold all of it and share no
    /// sample with it, once in twenty times; nothing where that cannot be told.
    pub fn may_be_missed_in(&self, kind: SketchKind) -> Option<u64> {
        let shingles = (self.samples.len() as u64) << self.level.min(40);
        match kind {
            // A long document keeps half the samples at least, and the chance to meet none
            // of three that are expected is e^-3.
            SketchKind::Nested { samples } => {
                let samples = samples as u64; // up to these a document keeps all
                Some(samples.max(shingles.saturating_mul(samples) / 6))
            }
            SketchKind::Mod { .. } => (self.samples.len() < 3).then_some(0),
            _ => None,
        }
    }

    /// What its samples are found under.
    fn keys(&self, kind: SketchKind) -> impl Iterator<Item = u64> {
        let samples = self.samples.iter().enumerate();
        samples.map(move |(place, &sample)| key(kind, place, sample))
    }

    /// How many samples a sketch has in common with it.
    fn common(&self, samples: &[u64], kind: SketchKind) -> u32 {
        count(match kind {
            SketchKind::Perm { .. } => {
                let both = self.samples.iter().zip(samples);
                both.filter(|(x, y)| x == y).count()
            }
            _ => Overlap::of_sorted(&self.samples, samples).common,
        })
    }

    /// How many samples it has at a level.
    fn samples_at(&self, level: u32) -> u32 {
        if level <= self.level {
            return count(self.samples.len());
        }
        at_level(&self.samples, level)
    }

    /// How many matches are to be looked at.
    fn wanted(&self, options: &FindOptions) -> usize {
        match self.all {
            Some(_) => options.top.saturating_mul(READ_AGAIN),
            None => options.top,
        }
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
        if self.grade <= Grade::Lexical {
            return Some([1.0; 3]); // all tokens are the same
        }
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

/// So many postings are looked at for a query, or all of the shortest list: a document of
/// the collection is in each list of its own.
const ENOUGH: usize = 1 << 14;

/// So many documents are read again for each match that is wanted exactly.
const READ_AGAIN: usize = 4;

/// Candidates that are judged, for each match that is wanted, and at least: reading a
/// sketch costs a microsecond.
const PER_MATCH: usize = 8;
const LEAST_JUDGED: usize = 512;

/// Samples that are looked up in one pass over the postings, 40 bytes each.
const ONE_PASS: usize = 1 << 22;

/// Documents to be judged.
struct Candidates {
    /// Each with how many samples it was met by.
    met: Vec<(u32, u32)>,
    /// Whether they were met by all that they share.
    is_all: bool,
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
                let name = sweep.file_name(what);
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

    /// A document from outside, and the bytes it was read from.
    pub fn query(
        &self,
        document: &Document<'_>,
        bytes: Option<&[u8]>,
        sketcher: &mut Sketcher,
        reread: Reread,
    ) -> Query {
        let sketch = document.sketch(sketcher);
        let tokens_name = sketcher.tokens_name().0;
        let all = (reread != Reread::Never)
            .then(|| Arc::new(Shingles::of(document, sketcher, &mut Room::default())));
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
            reread,
        }
    }

    /// A document of the collection. Exact values are told where its source is still there.
    pub fn query_of(&self, doc: u32, reread: Reread) -> Result<Query, StorageError> {
        let entry = self.collection.entry(doc)?;
        let class = entry.copy_of;
        let sketches = &self.sketches[self.collection.sweep_of(class)];
        let mut samples = Vec::new();
        if !entry.is_blank() {
            sketches.samples(class, &mut samples)?;
        }
        // What is in the collection resembles itself, and leaves no doubt.
        let all = match reread {
            Reread::Always => self.truth().read(&[doc])?.remove(&doc),
            Reread::Never | Reread::Doubtful => None,
        };
        Ok(Query {
            bytes_name: Some(entry.bytes_name),
            tokens_name: entry.tokens_name,
            sketch_name: entry.sketch_name,
            level: entry.sketch.level(),
            samples,
            all: all.map(Arc::new),
            reread,
        })
    }

    /// What the sketches of two documents of the collection have in common.
    pub fn pair(&self, a: u32, b: u32) -> Result<Pair, StorageError> {
        let query = self.query_of(a, Reread::Never)?;
        let entry = self.collection.entry(b)?;
        if entry.is_blank() {
            let of_a = count(query.samples.len());
            return Ok(Pair {
                a,
                ..pair(b, 0, of_a, 0, Basis::Exact)
            });
        }
        let class = entry.copy_of;
        let mut samples = Vec::new();
        self.sketches[self.collection.sweep_of(class)].samples(class, &mut samples)?;
        let met = query.common(&samples, self.recipe.sketch);
        let judged = self.judge(&query, class, met, &mut samples)?;
        Ok(Pair { a, b, ..judged })
    }

    fn truth(&self) -> Truth<'_> {
        let threads = std::num::NonZeroUsize::MIN;
        Truth::new(&self.collection, &self.recipe, threads, 64 << 20)
    }

    /// The best matches of a document, the best first. Where exact values are wanted, what
    /// may be a match is read again, and decided and ordered by them.
    pub fn find(&self, query: &Query, options: &FindOptions) -> Result<Vec<Match>, StorageError> {
        let mut lists = Vec::with_capacity(query.samples.len());
        for (sweep, postings) in (0..).zip(&self.postings) {
            let keys = query.keys(self.recipe.sketch);
            postings.find_each(keys, |_, list| lists.push((list, sweep)))?;
        }
        self.decide(query, self.candidates(query, lists, options)?, options)
    }

    /// What [`Finder::find`] tells of each of many documents. Their samples are looked up
    /// in the order of the postings, in one pass over these.
    pub fn find_all(
        &self,
        queries: &[Query],
        options: &FindOptions,
    ) -> Result<Vec<Vec<Match>>, StorageError> {
        let mut found = Vec::with_capacity(queries.len());
        let mut rest = queries;
        while !rest.is_empty() {
            let mut samples = 0;
            let many = rest.iter().take_while(|query| {
                samples += query.samples.len();
                samples <= ONE_PASS
            });
            let (now, later) = rest.split_at(many.count().max(1));
            rest = later;
            // By their first bits, and then in order: all that is sorted at once stays in
            // the cache.
            let mut parts = vec![Vec::new(); PARTITIONS];
            for (owner, query) in (0_u32..).zip(now) {
                for key in query.keys(self.recipe.sketch) {
                    parts[(key >> 56) as usize].push((key, owner));
                }
            }
            let room = |query: &Query| Vec::with_capacity(query.samples.len());
            let mut lists: Vec<Vec<(List, u32)>> = now.iter().map(room).collect();
            for mut keys in parts {
                keys.sort_unstable();
                for (sweep, postings) in (0..).zip(&self.postings) {
                    postings.find_each(keys.iter().map(|(key, _)| *key), |i, list| {
                        lists[keys[i].1 as usize].push((list, sweep));
                    })?;
                }
            }
            for (query, lists) in now.iter().zip(lists) {
                let candidates = self.candidates(query, lists, options)?;
                found.push(self.decide(query, candidates, options)?);
            }
        }
        Ok(found)
    }

    /// What [`Finder::find`] tells, by comparing with every sketch there is: the slow
    /// version that it is judged by.
    pub fn find_by_scan(
        &self,
        query: &Query,
        options: &FindOptions,
    ) -> Result<Vec<Match>, StorageError> {
        let mut met = Vec::new();
        for sketches in &self.sketches {
            sketches.each(|doc, samples| {
                let common = query.common(samples, self.recipe.sketch);
                if common > 0 {
                    met.push((doc, common));
                }
            })?;
        }
        self.decide(query, Candidates { met, is_all: true }, options)
    }

    /// Judges candidates and tells the best matches.
    fn decide(
        &self,
        query: &Query,
        candidates: Candidates,
        options: &FindOptions,
    ) -> Result<Vec<Match>, StorageError> {
        let kind = self.recipe.sketch;
        let wanted = query.wanted(options);
        let mut found = Vec::new();
        let mut samples = Vec::new();
        for (class, mut met) in candidates.met {
            if !candidates.is_all {
                let sketches = &self.sketches[self.collection.sweep_of(class)];
                sketches.samples(class, &mut samples)?;
                met = query.common(&samples, kind);
            }
            let pair = self.judge(query, class, met, &mut samples)?;
            let how = options.verdict(|measure| match query.all {
                Some(_) => Some(pair.estimate(measure, kind)?.high),
                None => pair.value(measure, kind),
            });
            if let Some(how) = how {
                found.push((rank(&pair, kind), class, pair, how));
            }
        }
        found.sort_by(|x, y| y.0.total_cmp(&x.0).then(x.1.cmp(&y.1)));
        let is_reread = match query.reread {
            Reread::Never => false,
            Reread::Doubtful => found.first().is_some_and(|(_, _, pair, _)| {
                let is_sample = !matches!(pair.basis, Basis::Exact | Basis::Level(0));
                let resembles = pair.value(Measure::Resemblance, kind) >= Some(ALIKE);
                is_sample && !resembles && pair.of_a < TELLING
            }),
            Reread::Always => true,
        };
        if query.all.is_some() && !is_reread {
            let value = |pair: &Pair| options.verdict(|measure| pair.value(measure, kind));
            found.retain(|(_, _, pair, _)| value(pair).is_some());
        }
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
        if let Some(all) = &query.all
            && is_reread
        {
            self.learn(all, &mut matches)?;
            matches.retain_mut(|one| {
                let known = *one.best();
                let how = options.verdict(|measure| known.value(measure, kind));
                if one.grade > Grade::Shingle {
                    one.grade = how.unwrap_or(one.grade);
                }
                how.is_some()
            });
            let rank = |one: &Match| rank(one.best(), kind);
            matches.sort_by(|x, y| rank(y).total_cmp(&rank(x)).then(x.doc.cmp(&y.doc)));
        }
        matches.truncate(options.top);
        Ok(matches)
    }

    /// Learns the exact values of matches whose sources are still there.
    fn learn(&self, all: &Shingles, matches: &mut [Match]) -> Result<(), StorageError> {
        let mut docs: Vec<u32> = matches.iter().map(|one| one.doc).collect();
        docs.sort_unstable();
        let sets = self.truth().read(&docs)?;
        for one in matches {
            one.exact = sets.get(&one.doc).map(|set| {
                let overlap = all.overlap(set);
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

    /// Documents that share samples: as many as are worth judging.
    fn candidates(
        &self,
        query: &Query,
        mut lists: Vec<(List, u32)>,
        options: &FindOptions,
    ) -> Result<Candidates, StorageError> {
        lists.sort_unstable();
        let mut docs = Vec::new();
        let mut taken = 0;
        for &(list, sweep) in &lists {
            if taken > 0 && docs.len() + list.len as usize > ENOUGH {
                break;
            }
            self.postings[sweep as usize].docs(list, &mut docs)?;
            taken += 1;
        }
        docs.sort_unstable();
        let counted = docs.chunk_by(|x, y| x == y);
        let counted = counted.map(|same| (same[0], u32::try_from(same.len()).unwrap_or(u32::MAX)));
        let mut met: Vec<(u32, u32)> = counted.collect();
        let judged = LEAST_JUDGED.max(PER_MATCH.saturating_mul(query.wanted(options)));
        if met.len() > judged {
            // Those that would be the best if they shared all that was not looked at.
            let unseen = u32::try_from(lists.len() - taken).unwrap_or(u32::MAX);
            let mut hopes = Vec::with_capacity(met.len());
            for &(doc, count) in &met {
                let best = self.hope(query, doc, count.saturating_add(unseen), options)?;
                hopes.push((best, doc, count));
            }
            let order = |x: &(f64, u32, u32), y: &(f64, u32, u32)| {
                y.0.total_cmp(&x.0).then(y.2.cmp(&x.2)).then(x.1.cmp(&y.1))
            };
            hopes.select_nth_unstable_by(judged, order);
            hopes.truncate(judged);
            met.clear();
            met.extend(hopes.iter().map(|&(_, doc, count)| (doc, count)));
            met.sort_unstable();
        }
        let is_all = taken == lists.len();
        Ok(Candidates { met, is_all })
    }

    /// About how good a match a document is that shares up to so many samples, by the size
    /// of its sketch alone.
    fn hope(
        &self,
        query: &Query,
        doc: u32,
        most: u32,
        options: &FindOptions,
    ) -> Result<f64, StorageError> {
        let kind = self.recipe.sketch;
        let head = self.sketches[self.collection.sweep_of(doc)].head(doc)?;
        let (level, of_doc) = match kind {
            SketchKind::Nested { .. } => {
                let level = head.level().max(query.level);
                (level, head.samples() >> (level - head.level()).min(31))
            }
            _ => (0, head.samples()),
        };
        let (of_query, of_doc) = (query.samples_at(level), count(of_doc).max(1));
        let common = most.min(of_query).min(of_doc);
        let pair = pair(doc, common, of_query, of_doc, Basis::Modulus);
        let how = options.verdict(|measure| pair.value(measure, kind));
        Ok(how.map_or(0.0, |_| rank(&pair, kind)))
    }

    /// What the sketches of a query and a document have in common, given how many samples.
    pub(crate) fn judge(
        &self,
        query: &Query,
        doc: u32,
        met: u32,
        samples: &mut Vec<u64>,
    ) -> Result<Pair, StorageError> {
        let sketches = &self.sketches[self.collection.sweep_of(doc)];
        Ok(match self.recipe.sketch {
            SketchKind::Nested { .. } => {
                let head = sketches.head(doc)?;
                let level = head.level().max(query.level);
                let of_doc = if head.level() == level {
                    count(head.samples())
                } else {
                    sketches.samples(doc, samples)?;
                    at_level(samples, level)
                };
                let basis = Basis::Level(u8::try_from(level).unwrap_or(64));
                pair(doc, met, query.samples_at(level), of_doc, basis)
            }
            SketchKind::Mod { .. } => {
                let of_doc = count(sketches.head(doc)?.samples());
                let of_query = count(query.samples.len());
                pair(doc, met, of_query, of_doc, Basis::Modulus)
            }
            SketchKind::Perm { samples, .. } => {
                pair(doc, met, count(samples), 0, Basis::Resemblance)
            }
            SketchKind::Min { samples: most } | SketchKind::MinMod { samples: most, .. } => {
                sketches.samples(doc, samples)?;
                let (hits, of) = min::smallest_of_both(&query.samples, samples, most);
                pair(doc, count(hits), count(of), 0, Basis::Resemblance)
            }
        })
    }
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// How many samples are of a level.
fn at_level(samples: &[u64], level: u32) -> u32 {
    let of_level = samples.iter().filter(|x| x.trailing_zeros() >= level);
    count(of_level.count())
}

/// A query, which has no number, and a document.
fn pair(doc: u32, common: u32, of_a: u32, of_b: u32, basis: Basis) -> Pair {
    Pair {
        a: u32::MAX,
        b: doc,
        common,
        of_a,
        of_b,
        basis,
    }
}

/// From this resemblance on a match is alike, and comes before what only holds the document.
const ALIKE: f64 = 0.5;

/// What has so much of the document holds it, and comes before what is little like it.
const HOLDS: f64 = 0.8;

/// How good a match is: what is alike first, then what holds the document, then what has
/// something in common with it; few samples count less.
fn rank(pair: &Pair, kind: SketchKind) -> f64 {
    let value = |measure| pair.value(measure, kind).unwrap_or(0.0);
    let resemblance = value(Measure::Resemblance);
    if resemblance >= ALIKE || pair.basis == Basis::Resemblance {
        return 2.0 + resemblance;
    }
    let shrunk = |of: u32| f64::from(pair.common + 1) / f64::from(of + 2);
    let (in_doc, in_query) = match pair.basis {
        Basis::Exact | Basis::Level(0) => (value(Measure::AInB), value(Measure::BInA)),
        _ => (shrunk(pair.of_a), shrunk(pair.of_b)),
    };
    if in_doc >= HOLDS {
        return 1.0 + in_doc;
    }
    in_doc.max(0.5 * in_query)
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
