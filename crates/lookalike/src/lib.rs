//! Near-duplicate documents: which are roughly the same, which are roughly contained in
//! another, from a folder of files to tens of millions of documents.
//!
//! ```text
//! inputs ─► records ─► text ─► tokens ─► shingles ─► sketches ─► postings ─► pairs ─► clusters
//! └──────── corpus ────────┘└─────────── core ─────────────┘└───── pairs ─────┘└ clusters ┘
//!                      all of it, one sweep at a time: add, into a collection
//! ```
//!
//! You probably want [`add::add`] and [`collection::Collection`] for more documents than
//! fit in memory, [`sweeps`] for how its pages change, [`scan::scan`] for a look at some
//! files, or for two texts at hand what [`core`] offers: [`core::shingle::overlap`] for exact
//! figures, [`core::sketcher::Sketcher`] for sketches. [`corpus::document::Document`] makes
//! text of bytes, whatever their charset, and of HTML.
//!
//! ```
//! use lookalike::corpus::inputs::Inputs;
//! use lookalike::scan::{ScanOptions, scan};
//!
//! let folder = tempfile::tempdir()?;
//! let rose = "a rose is a rose is a rose and nothing else than a rose";
//! std::fs::write(folder.path().join("one.txt"), rose)?;
//! std::fs::write(folder.path().join("two.html"), format!("<p>{rose}!</p>"))?;
//!
//! let options = ScanOptions::default();
//! let inputs = Inputs::expand(&[folder.path()], &options.reading);
//! let found = scan(&inputs, &options, &mut |_| {})?;
//! assert_eq!(found.groups.len(), 1);
//! assert_eq!(found.groups[0].lowest, 1.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! What this crate is not: it draws no table, parses no command line, opens no network
//! connection, and asks no clock.
//!
//! | step | time | memory |
//! |---|---|---|
//! | [`corpus::document::Document::read`] | O(bytes) | O(bytes), none for UTF-8 text |
//! | [`scan::scan`] | that of [`add::add`], and the inputs once more | what is allowed |

#[doc(no_inline)]
pub use lookalike_core as core;

pub mod error;

pub mod corpus;

pub mod storage;

pub mod blocks;

pub mod collection;

mod parallel;

pub mod add;

pub mod pairs;

pub mod clusters;

pub mod find;

pub mod wording;

pub mod filters;

pub mod sweeps;

pub mod collapse;

pub mod crumbs;

pub mod copies;

pub mod drift;

pub mod search;

pub mod archive;

pub mod tables;

pub mod shards;

pub mod passing;

pub mod dedup;

pub mod scan;

pub mod phases;

pub use error::Error;
