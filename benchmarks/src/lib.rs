//! What the measuring programs share. Not published; `benchmarks/README.md` says how to
//! run each.
//!
//! ```text
//! corpora ─► judge: exact values against estimates ─► figures: a table with targets
//! .bench  ─► clock: CPU time against `wc -w`       ─► a record
//! ```

/// The shared corpora as documents and true pairs.
pub mod corpora;

/// The tokens the truth files were made with.
pub mod truth_words;

/// Estimates against exact values, over pairs and seeds.
pub mod judge;

/// Clusters of whole corpora against exact truth.
pub mod collections;

/// What `find` finds, against exact truth.
pub mod finding;

/// Passages, copies and drift, each against a slow judge.
pub mod evidence;

/// What `where` tells, against what became of pages.
pub mod lost;

/// Ranked lists, with one place for each cluster.
pub mod collapsing;

/// Rules of addresses, against the words of pages.
pub mod crumbs;

/// Eight bytes a document, against exact truth.
pub mod eight;

/// What is counted from sweep to sweep, against what is recorded.
pub mod sweeps;

/// Figures with their targets.
pub mod figures;

/// CPU time of this process and of its children.
pub mod clock;

/// The text and the HTML that speed is measured on.
pub mod bench_corpus;

/// An allocator that counts.
pub mod counting;

/// Files in a tar stream.
pub mod tar;

/// Manual pages as text.
pub mod roff;

/// Words with Zipf's frequencies.
pub mod vocabulary;

/// Synthetic documents with known truth.
pub mod synthetic;

/// What a child process cost.
pub mod child;
