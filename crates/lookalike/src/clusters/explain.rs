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
use lookalike_core::recipe::SketchKind;

use super::table::Clustering;
use crate::collection::entry::Grade;
use crate::collection::{Collection, Pairs};
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
    pairs: &Pairs,
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
        tree(
            pairs.of(&speakers)?,
            collection.sketch_kind(),
            &speakers,
            root,
        )
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
    mut pairs: Vec<Pair>,
    kind: SketchKind,
    docs: &[u32],
    root: u32,
) -> HashMap<u32, (u32, Pair)> {
    let places: HashMap<u32, u32> = docs.iter().copied().zip(0..).collect();
    let strength = |pair: &Pair| {
        let value = |measure| pair.value(measure, kind).unwrap_or(0.0);
        let contained = value(Measure::AInB).max(value(Measure::BInA));
        (value(Measure::Resemblance), contained)
    };
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
    parents
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::add::{AddOptions, add};
    use crate::corpus::inputs::Inputs;

    #[test]
    fn a_chain_hangs_together_by_its_neighbours() {
        let folder = tempfile::tempdir().expect("a folder");
        // Each shares most with the one before and the one after; the last is a copy.
        let text = |from: u32| {
            let words = (from..from + 200).map(|word| format!("w{word}"));
            words.collect::<Vec<_>>().join(" ")
        };
        let texts = [0, 20, 40, 60, 80, 60].map(text);
        let lines = texts.map(|text| format!("{}\n", serde_json::json!({ "text": text })));
        let file = folder.path().join("in.jsonl");
        std::fs::write(&file, lines.concat()).expect("a file");
        let options = AddOptions::default();
        let inputs = Inputs::expand(&[&file], &options.reading);
        let place = folder.path().join("c.lk");
        add(&place, &inputs, &options, &mut |_| {}).expect("documents");
        let collection = Collection::open(&place).expect("a collection");
        let stored = &collection.state().clusterings[0];
        let clustering = collection.clustering(stored).expect("clusters");
        let docs = clustering.roster(0).expect("members");
        assert_eq!(docs, [0, 1, 2, 3, 4, 5]);
        let root = clustering.member(0).expect("a member").representative;
        let pairs = collection.pairs().expect("pairs");
        let whys = explain(&collection, &pairs, &clustering, &docs).expect("reasons");
        for (&doc, why) in docs.iter().zip(&whys) {
            match why {
                Why::Representative => assert_eq!(doc, root),
                Why::Copy(of, grade) => {
                    assert_eq!((doc, *of, *grade), (5, 3, Grade::Identical));
                }
                Why::Like(to, pair) => {
                    assert_eq!(doc.abs_diff(*to), 1, "{doc} by {to}");
                    let kind = collection.sketch_kind();
                    let value = pair.value(Measure::Resemblance, kind);
                    assert!(value.is_some_and(|value| (value - 171.0 / 211.0).abs() < 1e-9));
                }
                Why::Unknown => panic!("{doc}"),
            }
        }
        assert_eq!(
            whys.iter()
                .filter(|why| **why == Why::Representative)
                .count(),
            1
        );
    }
}
