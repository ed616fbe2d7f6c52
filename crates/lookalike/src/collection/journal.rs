//! The journal: how far the work on the next generation has come, so that the same
//! command again goes on and does not start over.

use std::io;

use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};

use super::envelope::{FORMAT, TEMPORARY, seal, unseal, write_atomic};
use crate::blocks::FileEntry;
use crate::storage::{Fault, Storage, StorageError};

/// The name of the journal.
pub const JOURNAL: &str = "JOURNAL";

/// Work in progress.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Journal<T> {
    format: u32,
    /// The generation that the work is for.
    pub generation: u64,
    /// Files that are done. They are safe from [`super::manifest::collect_garbage`].
    pub files: Vec<FileEntry>,
    /// Whatever else the writer must know to go on.
    pub state: T,
}

impl<T> Journal<T> {
    /// A journal for the work on a generation.
    pub fn new(generation: u64, files: Vec<FileEntry>, state: T) -> Journal<T> {
        Journal {
            format: FORMAT,
            generation,
            files,
            state,
        }
    }
}

/// Replaces the journal. The files it names must be finished; when this returns they and
/// the journal last.
pub fn save_journal<T: Serialize>(
    storage: &dyn Storage,
    journal: &Journal<T>,
) -> Result<(), StorageError> {
    write_atomic(storage, JOURNAL, &seal(JOURNAL, journal)?)
}

/// The journal of the work on a generation. `None` when there is none, or only that of a
/// generation committed since. A damaged one is an error; who would rather start over
/// removes it.
pub fn load_journal<T: DeserializeOwned>(
    storage: &dyn Storage,
    generation: u64,
) -> Result<Option<Journal<T>>, StorageError> {
    // Another generation's state may have another shape: its number is read first.
    match unseal::<Journal<IgnoredAny>>(storage, JOURNAL) {
        Ok(journal) if journal.generation == generation => unseal(storage, JOURNAL).map(Some),
        Err(error) if !matches!(error.fault, Fault::Missing) => Err(error),
        _ => Ok(None),
    }
}

/// Removes the journal, if there is one. A crash may bring it back.
pub fn remove_journal(storage: &dyn Storage) -> Result<(), StorageError> {
    for name in [JOURNAL.to_owned(), format!("{JOURNAL}{TEMPORARY}")] {
        match storage.remove(&name) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(StorageError::io(&name, error));
            }
            _ => {}
        }
    }
    Ok(())
}
