//! Why documents are in one cluster: the strongest links that hold it together.
//!
//! ```text
//! pairs among the members ─► strongest first, those that join something ─► a tree
//! the tree, seen from the representative ─► for each member the one it hangs on
//! ```
//!
//! On the way to the representative no link is weaker than it must be: the weakest of a
//! maximum spanning tree is the strongest possible between any two of its ends.

use hashbrown::{HashMap, HashSet};
use lookalike_core::components::DisjointSets;

use super::table::Clustering;
use crate::collection::Collection;
use crate::collection::entry::Grade;
use crate::pairs::{Measure, Pair};
use crate::storage::StorageError;

/// How a document hangs on to its cluster.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Why {
    /// It stands for the cluster.
    Representative,
    /// It is a copy of another member.
    Copy(u32, Grade),
    /// It is like another member, which is on the way to the representative.
    Like(u32, Pair),
    /// The pairs that joined it were not kept.
    Unknown,
}

/// More members than this are not explained: their pairs would fill the memory.
pub const MOST_EXPLAINED: usize = 20_000;

/// Why each of the documents of a cluster is in it, in their order. O(pairs · log pairs).
pub fn explain(
    collection: &Collection,
    clustering: &Clustering,
    docs: &[u32],
) -> Result<Vec<Why>, StorageError> {
    let Some(&first) = docs.first() else {
        return Ok(Vec::new());
    };
    let root = clustering.member(first)?.representative;
    let mut copies = HashMap::new();
    let mut speakers = Vec::new();
    let members: HashSet<u32> = docs.iter().copied().collect();
    for &doc in docs {
        let entry = collection.entry(doc)?;
        match entry.grade() {
            Some(grade) if members.contains(&entry.copy_of) => {
                copies.insert(doc, (entry.copy_of, grade));
            }
            _ => speakers.push(doc),
        }
    }
    let parents = if docs.len() > MOST_EXPLAINED {
        HashMap::new()
    } else {
        // A copy that stands for the cluster hangs on its original, like everything else.
        let root = copies.get(&root).map_or(root, |copy| copy.0);
        tree(collection, &speakers, root)?
    };
    let why = |doc: &u32| {
        if *doc == root {
            Why::Representative
        } else if let Some((of, grade)) = copies.get(doc) {
            Why::Copy(*of, *grade)
        } else if let Some((to, pair)) = parents.get(doc) {
            Why::Like(*to, *pair)
        } else if copies.get(&root).is_some_and(|(of, _)| of == doc) {
            let grade = copies.get(&root).map_or(Grade::Identical, |copy| copy.1);
            Why::Copy(root, grade)
        } else {
            Why::Unknown
        }
    };
    Ok(docs.iter().map(why).collect())
}

/// For each document the next one towards the root, and their pair.
fn tree(
    collection: &Collection,
    docs: &[u32],
    root: u32,
) -> Result<HashMap<u32, (u32, Pair)>, StorageError> {
    let kind = collection.sketch_kind();
    let places: HashMap<u32, u32> = docs.iter().copied().zip(0..).collect();
    let strength = |pair: &Pair| {
        let value = |measure| pair.value(measure, kind).unwrap_or(0.0);
        let contained = value(Measure::AInB).max(value(Measure::BInA));
        (value(Measure::Resemblance), contained)
    };
    let mut pairs = collection.pairs_of(docs)?;
    pairs.retain(|pair| places.contains_key(&pair.b));
    pairs.sort_by(|x, y| {
        let ((r, c), (s, d)) = (strength(x), strength(y));
        s.total_cmp(&r)
            .then(d.total_cmp(&c))
            .then((x.a, x.b).cmp(&(y.a, y.b)))
    });
    let mut sets = DisjointSets::new(u32::try_from(docs.len()).unwrap_or(u32::MAX));
    let mut links: HashMap<u32, Vec<(u32, Pair)>> = HashMap::new();
    for pair in pairs {
        let (a, b) = (places[&pair.a], places[&pair.b]);
        if sets.find(a) != sets.find(b) {
            sets.join(a, b);
            links.entry(pair.a).or_default().push((pair.b, pair));
            links.entry(pair.b).or_default().push((pair.a, pair));
        }
    }
    let mut parents = HashMap::new();
    let mut open = vec![root];
    while let Some(doc) = open.pop() {
        for &(next, pair) in links.get(&doc).into_iter().flatten() {
            if next != root && !parents.contains_key(&next) {
                parents.insert(next, (doc, pair));
                open.push(next);
            }
        }
    }
    Ok(parents)
}
