//! Filters: collections so large that only a few bytes are kept of each document, and
//! "nearly the same" is all that is asked (the mechanism of the 2005 slides).
//!
//! ```text
//! add:     documents ─► sketch ─► features: 6 × 8 bytes, or 8 bytes ─► features, places
//! cluster: features ─► those that two documents share ─► r of them equal ─► components
//!          with a threshold: what is accepted is read again and decided on true values
//! find:    a document ─► its features ─► one pass over all features
//! ```
//!
//! Kept of a document: its features, where it was read and when (some five bytes), its id and
//! URL, and a lookup by these (4 bytes). Not kept: names of bytes and tokens, sketches, postings,
//! pairs, further captures. So the same page seen again is a document again, nothing tells
//! how alike two documents are, and what needs more than "accepted" is read again.
//!
//! | step | time | memory |
//! |---|---|---|
//! | [`add()`] | that of a sketch of k·s permutations | a few megabytes a thread |
//! | [`cluster()`] | two passes over the features, and sorting what is shared | 2 bytes a feature, and the features that are shared |
//! | [`find()`] | one pass over the features | none |

mod spec;

mod packed;

mod places;

mod collection;

mod add;

mod join;

mod cluster;

mod truth;

mod find;

#[cfg(test)]
mod tests;

pub(crate) use add::is_filtered;
pub use add::{Added, add};
pub use cluster::cluster;
pub use collection::{FilterClustering, FilterState, FilterSweep, Filtered, FilteredDocument};
pub use find::{Fungible, find, find_like};
pub use spec::{BadSpec, Spec};
pub use truth::{Bin, Measured, acceptance};
