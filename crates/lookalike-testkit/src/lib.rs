//! What the tests of every crate share: corpora, oracles and helpers. Not published.

use std::path::PathBuf;

/// A site whose addresses have crumbs.
pub mod crumbs;

/// Files in a `.tar.gz`.
pub mod archive;

/// Pairs of texts of which it is known what the one copied of the other.
pub mod copied;

/// The html5lib tests.
pub mod html5lib;

/// The text of a page by html5gum, the slow definition.
pub mod html_oracle;

/// Texts made of nothing.
pub mod texts;

/// Pages in a WARC file.
pub mod warc;

/// The case table: documents, small and odd, one JSON object a line.
pub const CASES: &str = include_str!("../cases.jsonl");

/// What they cluster to at the defaults: the rows of each cluster of two and more. Written
/// down from true resemblances, which `tests/python/test_cases.py` computes by definition.
pub fn case_clusters() -> Vec<Vec<u64>> {
    let lines = include_str!("../case_clusters.txt").lines();
    let row = |word: &str| word.parse().unwrap_or(u64::MAX);
    lines
        .map(|line| line.split_whitespace().map(row).collect())
        .collect()
}

/// The folder of test corpora named by `LOOKALIKE_CORPORA`, if it is set.
///
/// Says so on standard error when it is not, so that a skipped test can be seen.
pub fn corpora() -> Option<PathBuf> {
    let folder = std::env::var_os("LOOKALIKE_CORPORA")
        .filter(|folder| !folder.is_empty())
        .map(PathBuf::from);
    if folder.is_none() {
        eprintln!("skipped: LOOKALIKE_CORPORA names no folder of corpora");
    }
    folder
}
