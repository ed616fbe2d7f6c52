//! True values: documents read again, kept or from where they came, all their shingles
//! compared.
//!
//! ```text
//! pairs ─► bundles that share no document and fit the budget ─► each: its documents,
//!          source by source in their order ─► sorted fingerprints ─► exact pairs
//! ```
//!
//! A document whose source is gone or changed has no true value; who needs one is told so.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};

use hashbrown::HashMap;
use lookalike_core::components::DisjointSets;
use lookalike_core::estimate::Overlap;
use lookalike_core::recipe::Recipe;
use lookalike_core::sketcher::Sketcher;
use lookalike_core::spread::SpreadSort;
use lookalike_core::weighted::WeightedSet;

use crate::collection::Collection;
use crate::collection::texts::{Task, tasks};
use crate::corpus::document::Document;
use crate::pairs::Pair;
use crate::parallel;
use crate::storage::{StorageError, go_on};

/// The fingerprints of all shingles of some documents, increasing; nothing for those that
/// could not be read again.
pub(crate) type ReadSets = HashMap<u32, Shingles>;

/// What true values come from.
pub(crate) enum Sets<'a> {
    /// What was read here.
    Read(ReadSets),
    /// What others read.
    Told(&'a Told),
}

impl Sets<'_> {
    /// The pair of two documents with all their shingles.
    pub(crate) fn pair(&self, a: u32, b: u32) -> Option<Pair> {
        match self {
            Sets::Read(sets) => {
                let overlap = sets.get(&a)?.overlap(sets.get(&b)?);
                Some(Pair::of_overlap(a, b, overlap))
            }
            Sets::Told(told) => told.pair(a, b),
        }
    }
}

/// True pairs that others told, and those they have not been asked for yet.
#[derive(Debug, Default)]
pub(crate) struct Told {
    /// Nothing for a pair that cannot be told.
    known: HashMap<(u32, u32), Option<Pair>>,
    asked: Mutex<BTreeSet<(u32, u32)>>,
}

impl Told {
    fn pair(&self, a: u32, b: u32) -> Option<Pair> {
        self.want(a, b);
        self.known.get(&(a, b)).copied().flatten()
    }

    /// A pair will be asked for.
    fn want(&self, a: u32, b: u32) {
        if !self.known.contains_key(&(a, b)) {
            let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
            asked.insert((a, b));
        }
    }

    /// What was asked for since the last time.
    pub(crate) fn asked(&self) -> Vec<(u32, u32)> {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *asked).into_iter().collect()
    }

    /// Of pairs that were asked for those that can be told.
    pub(crate) fn tell(&mut self, asked: &[(u32, u32)], told: &[Pair]) {
        self.known.extend(asked.iter().map(|pair| (*pair, None)));
        let told = told.iter().map(|pair| ((pair.a, pair.b), Some(*pair)));
        self.known.extend(told);
    }
}

/// All shingles of a document.
#[derive(Debug)]
pub(crate) enum Shingles {
    /// Their fingerprints, increasing.
    Set(Box<[u64]>),
    /// Features with their weights.
    Weighted(WeightedSet),
}

/// What the shingles of one document after the other are put in order in.
#[derive(Default)]
pub(crate) struct Room {
    all: Vec<u64>,
    sort: SpreadSort,
}

impl Shingles {
    /// All shingles of a document by a sketcher's recipe; its name is the sketcher's then.
    pub(crate) fn of(
        document: &Document<'_>,
        sketcher: &mut Sketcher,
        room: &mut Room,
    ) -> Shingles {
        if sketcher.recipe().sketch.is_weighted() {
            return Shingles::Weighted(document.weighted_set(sketcher));
        }
        let Room { all, sort } = room;
        all.clear();
        document.fingerprints(sketcher, all);
        let len = sort.sort_and_dedup(all);
        Shingles::Set(all[..len].into())
    }

    /// What two documents of one recipe have in common.
    pub(crate) fn overlap(&self, other: &Shingles) -> Overlap {
        match (self, other) {
            (Shingles::Set(a), Shingles::Set(b)) => Overlap::of_sorted(a, b),
            (Shingles::Weighted(a), Shingles::Weighted(b)) => a.overlap(b).counts(),
            _ => Overlap::default(),
        }
    }
}

/// Reads documents again.
pub(crate) struct Truth<'a> {
    collection: &'a Collection,
    recipe: &'a Recipe,
    threads: NonZeroUsize,
    budget: u64,
    /// What others read, if nothing is read here.
    told: Option<&'a Told>,
}

/// Pairs to be decided together.
#[derive(Default)]
pub(crate) struct Bundle {
    /// In the order they are to be decided in.
    pub(crate) pairs: Vec<Pair>,
    /// What must be read again for it, increasing.
    pub(crate) documents: Vec<u32>,
}

impl<'a> Truth<'a> {
    pub(crate) fn new(
        collection: &'a Collection,
        recipe: &'a Recipe,
        threads: NonZeroUsize,
        budget: u64,
    ) -> Truth<'a> {
        Truth {
            collection,
            recipe,
            threads,
            budget,
            told: None,
        }
    }

    /// The same, but nothing is read: others are asked.
    pub(crate) fn told_by(self, told: Option<&'a Told>) -> Truth<'a> {
        Truth { told, ..self }
    }

    /// Puts pairs into bundles that share no document. Within a bundle pairs keep their
    /// order. The sets of a bundle's documents fit the budget, unless those of one
    /// component do not. Only documents of pairs that are `wanted` are to be read; it is
    /// asked of all pairs in the order they are to be decided in.
    pub(crate) fn bundles(
        &self,
        pairs: &[Pair],
        mut wanted: impl FnMut(&Pair) -> bool,
    ) -> Result<Vec<Bundle>, StorageError> {
        let mut docs: Vec<u32> = pairs.iter().flat_map(|pair| [pair.a, pair.b]).collect();
        docs.sort_unstable();
        docs.dedup();
        let place = |doc: u32| {
            let place = docs.binary_search(&doc).unwrap_or(0);
            u32::try_from(place).unwrap_or(u32::MAX)
        };
        let mut together = DisjointSets::new(u32::try_from(docs.len()).unwrap_or(u32::MAX));
        for pair in pairs {
            together.join(place(pair.a), place(pair.b));
        }
        let mut cost = vec![0_u64; docs.len()];
        for (i, &doc) in docs.iter().enumerate() {
            let root = together.find(u32::try_from(i).unwrap_or(u32::MAX));
            cost[root as usize] += self.cost(doc)?;
        }
        // Components in the order of their first document, as many as fit.
        let mut by_root: BTreeMap<u32, Vec<Pair>> = BTreeMap::new();
        for pair in pairs {
            let root = together.find(place(pair.a));
            by_root.entry(root).or_default().push(*pair);
        }
        let mut bundles: Vec<Bundle> = Vec::new();
        let mut held = u64::MAX;
        for (root, mut pairs) in by_root {
            let cost = cost[root as usize];
            if held.saturating_add(cost) > self.budget {
                bundles.push(Bundle::default());
                held = 0;
            }
            held += cost;
            if let Some(bundle) = bundles.last_mut() {
                bundle.pairs.append(&mut pairs);
            }
        }
        for bundle in &mut bundles {
            let wanted = bundle.pairs.iter().filter(|pair| wanted(pair));
            let wanted = wanted.inspect(|pair| {
                if let Some(told) = self.told {
                    told.want(pair.a, pair.b);
                }
            });
            bundle.documents = wanted.flat_map(|pair| [pair.a, pair.b]).collect();
            bundle.documents.sort_unstable();
            bundle.documents.dedup();
        }
        Ok(bundles)
    }

    /// Whether the sets of some documents fit the budget.
    pub(crate) fn fits(&self, docs: &[u32]) -> Result<bool, StorageError> {
        let mut cost = 0;
        for &doc in docs {
            cost += self.cost(doc)?;
        }
        Ok(cost <= self.budget)
    }

    /// Bytes that the set of a document takes, about.
    fn cost(&self, doc: u32) -> Result<u64, StorageError> {
        let shingles = self
            .collection
            .entry(doc)?
            .shingles(self.collection.one_in());
        Ok(8 * shingles + 64)
    }

    /// Calls `each` with the exact pair of one document and every other that can be read,
    /// in order; as many at a time as the budget holds.
    pub(crate) fn with(
        &self,
        one: u32,
        others: &[u32],
        mut each: impl FnMut(&Pair),
    ) -> Result<(), StorageError> {
        let first = self.cost(one)?;
        let mut rest = others;
        while !rest.is_empty() {
            let (mut held, mut many) = (first, 0);
            while many < rest.len() && (many == 0 || held <= self.budget) {
                held += self.cost(rest[many])?;
                many += 1;
            }
            let (now, later) = rest.split_at(many);
            let mut docs = now.to_vec();
            docs.push(one);
            docs.sort_unstable();
            docs.dedup();
            let sets = self.sets(&docs)?;
            for &other in now {
                if let Some(pair) = sets.pair(one.max(other), one.min(other)) {
                    each(&pair);
                }
            }
            rest = later;
        }
        Ok(())
    }

    /// The fingerprints of documents, which must increase.
    pub(crate) fn sets(&self, docs: &[u32]) -> Result<Sets<'a>, StorageError> {
        match self.told {
            Some(told) => Ok(Sets::Told(told)),
            None => self.read(docs).map(Sets::Read),
        }
    }

    /// The same, read here.
    pub(crate) fn read(&self, docs: &[u32]) -> Result<ReadSets, StorageError> {
        let tasks = tasks(self.collection, docs)?;
        let mut sets = HashMap::new();
        let sketcher = Sketcher::new(self.recipe);
        parallel::in_order(
            self.threads,
            tasks.len(),
            || (sketcher.another(), Room::default()),
            |(sketcher, room), i| read_again(&tasks[i], sketcher, room),
            |_, found| {
                go_on(&**self.collection.storage())?;
                sets.extend(found);
                Ok(())
            },
        )?;
        Ok(sets)
    }
}

/// Documents with their fingerprints.
type Found = Vec<(u32, Shingles)>;

fn read_again(
    task: &Task<'_>,
    sketcher: &mut Sketcher,
    room: &mut Room,
) -> Result<Found, StorageError> {
    let mut found = Vec::new();
    task.read(&mut |doc, entry, again| {
        // Who is lost is missing from the answer, and its pairs are counted as decided
        // by estimate.
        let Ok(again) = again else {
            return;
        };
        let all = Shingles::of(&again.document, sketcher, room);
        // Another text than was sketched then tells nothing of it.
        if sketcher.tokens_name().0 != entry.tokens_name {
            return;
        }
        found.push((doc, all));
    })?;
    Ok(found)
}
