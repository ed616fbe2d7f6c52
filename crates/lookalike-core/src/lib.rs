//! The mathematics of near-duplicate documents: text in, numbers out.
//!
//! ```text
//! text ─► tokens ─► shingles ─► fingerprints ─► sketch ─┐
//! text ─► tokens ─► shingles ─► fingerprints ─► sketch ─┴─► resemblance, containment
//!  canonical      shingle    fingerprint      sketch          estimate
//! ```
//!
//! You probably want a [`Recipe`](recipe::Recipe), a [`Sketcher`](sketcher::Sketcher) and
//! [`Sketch::compare`](sketch::Sketch::compare):
//!
//! ```
//! use lookalike_core::{recipe::Recipe, shingle::Width, sketcher::Sketcher};
//!
//! let recipe = Recipe { width: Width::new(3).unwrap(), ..Recipe::default() };
//! let mut sketcher = Sketcher::new(&recipe);
//! let a = sketcher.sketch("a rose is a rose is a rose");
//! let b = sketcher.sketch("A rose is a flower, which is a rose.");
//! let answer = a.compare(&b)?;
//! assert!((answer.resemblance.unwrap().value - 3.0 / 7.0).abs() < 1e-9);
//! # Ok::<(), lookalike_core::sketch::TwoRecipes>(())
//! ```
//!
//! What this crate is not: it opens no file, starts no thread, reads no clock and no
//! environment, and knows nothing of HTML or character sets. The same input gives the same output on every
//! machine, with every instruction set.
//!
//! | step | time | memory |
//! |---|---|---|
//! | [`Sketcher::sketch`](sketcher::Sketcher::sketch) | O(bytes) | O(samples) |
//! | [`Sketch::compare`](sketch::Sketch::compare) | O(samples) | none |
//! | [`shingle::overlap`], exact | O(bytes) | O(tokens) |

pub mod recipe;

pub mod seed;

pub mod canonical;

pub mod shingle;

pub mod fingerprint;

pub mod simd;

pub mod permutation;

pub mod draw;

pub mod sketch;

pub mod weighted;

pub mod sketcher;

pub mod estimate;

pub mod acceptance;

pub mod diff;

pub mod passages;

pub mod components;

pub mod spread;
