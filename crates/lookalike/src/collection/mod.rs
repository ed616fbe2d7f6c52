//! A collection: a folder of files that are written once, and manifests that say which of
//! them are its state.
//!
//! ```text
//! lock ─► collect_garbage ─► latest ─► write files, keep a journal ─► commit
//!         reader:            latest ─► open files
//! ```
//!
//! | name | is |
//! |---|---|
//! | `MANIFEST-<n>` | generation n, the newest and the one before |
//! | `<stem>-<n>.lk`, `<stem>-<n>-<part>.lk` | a file first named by generation n |
//! | `JOURNAL` | how far the work on the next generation has come |
//! | `LOCK` | locked while there is a writer |
//! | `*.tmp` | a manifest or journal being written |
//!
//! Files of other names are nobody's business here: never read, never removed.

pub mod envelope;

pub mod manifest;

pub mod journal;

pub mod lock;

pub mod verify;

pub mod state;

pub mod entry;

pub mod lookup;

pub mod sketches;

pub mod kept;

pub mod segment;

mod open;

pub mod sightings;

pub mod texts;

pub mod raw;

pub use open::{Collection, Pairs};
pub(crate) use open::{postings_of, sketches_of};

#[cfg(test)]
mod crash_tests;

#[cfg(test)]
mod texts_tests;

#[cfg(test)]
mod raw_tests;

use crate::storage::StorageError;

/// Why a collection cannot be opened, or not be written to.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CollectionError {
    /// The folder holds no manifest.
    #[error("it is not a collection: it has no manifest")]
    NotACollection,
    /// It is a filter's, and has features alone.
    #[error("it was made with --filter and keeps nothing but features: that tells no resemblance")]
    FeaturesOnly,
    /// There is a writer already.
    #[error("another writer holds the collection; wait until it is done")]
    Locked,
    /// One of its files is at fault.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// The name of a file that generation `generation` is the first to name. `stem` says what
/// it holds.
///
/// # Panics
///
/// On a stem of other characters than lower-case letters, digits and `-`.
pub fn file_name(stem: &str, generation: u64) -> String {
    let name = format!("{stem}-{generation}.lk");
    assert!(is_file_name(&name), "`{stem}` is no stem of a file name");
    name
}

/// Whether a name is one that we give to files of a collection, and so may take away.
pub fn is_file_name(name: &str) -> bool {
    let Some(stem) = name.strip_suffix(".lk") else {
        return false;
    };
    let part = |part: &str| {
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        !part.is_empty() && part.bytes().all(plain)
    };
    name.len() <= 100
        && stem.split('-').count() >= 2
        && stem.starts_with(|first: char| first.is_ascii_lowercase())
        && stem.split('-').all(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_names_are_ours() {
        assert_eq!(file_name("pairs", 12), "pairs-12.lk");
        for name in ["pairs-12.lk", "names-1-002.lk", "a-b-3.lk"] {
            assert!(is_file_name(name), "{name}");
        }
        for name in [
            "",
            ".lk",
            "-.lk",
            "a.lk",
            "a-.lk",
            "-1.lk",
            "1-1.lk",
            "A-1.lk",
            "a-1.LK",
            "a-1",
            "a-1.lk.tmp",
            "../a-1.lk",
            "a/b-1.lk",
            "notes-2 (copy).lk",
            "LOCK",
            "JOURNAL",
        ] {
            assert!(!is_file_name(name), "{name}");
        }
    }
}
