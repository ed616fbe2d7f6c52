//! The case table: one list of documents, small and odd, that every way in must agree on.
//! The Python package is held to the command line by the same rows, and a cluster of
//! machines to this engine.

use std::collections::BTreeMap;

use lookalike_testkit::CASES;

use super::*;

/// The clusters of two and more, by the numbers of their rows.
fn clusters(collection: &Collection) -> Vec<Vec<u64>> {
    let stored = &collection.state().clusterings[0];
    let clustering = collection.clustering(stored).expect("a clustering");
    let mut found: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
    let rows: BTreeMap<u64, u64> = {
        let mut at = 0;
        let lines = CASES.split_inclusive('\n').enumerate();
        lines
            .map(|(row, line)| {
                let offset = at;
                at += line.len() as u64;
                (offset, row as u64)
            })
            .collect()
    };
    collection
        .each_entry(|doc, entry| {
            let member = clustering.member(doc).expect("a member");
            if member.size > 1 {
                let row = rows.get(&entry.offset).copied().unwrap_or(u64::MAX);
                found.entry(member.cluster).or_default().push(row);
            }
        })
        .expect("documents");
    found.into_values().collect()
}

#[test]
fn the_engine_clusters_the_case_table_as_written_down() {
    let made = Made::of(CASES, &options());
    assert_eq!(
        clusters(&made.collection()),
        lookalike_testkit::case_clusters()
    );
    let counts = &made.report.counts;
    let left: u64 = counts
        .skipped
        .values()
        .chain(counts.rejected.values())
        .sum();
    assert_eq!(counts.read, made.report.added + left);
}
