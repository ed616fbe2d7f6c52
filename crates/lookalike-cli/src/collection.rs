//! A collection that a command was given.

use std::path::Path;
use std::sync::Arc;

use lookalike::collection::Collection;
use lookalike::core::seed::Key;
use lookalike::find::Finder;
use lookalike::storage::disk::Disk;

use crate::failure::Failure;

/// Opens a collection, or says why not.
pub(crate) fn open(folder: &Path) -> Result<Collection, Failure> {
    Collection::open(folder).map_err(|error| Failure::from_collection(folder, &error))
}

/// Opens a collection to search it, or says why not.
pub(crate) fn searchable(folder: &Path, key: Option<&Key>) -> Result<Finder, Failure> {
    Finder::open(folder, key).map_err(|error| Failure::from_find(folder, error))
}

/// The same with its files mapped, for many small reads all over them.
pub(crate) fn open_mapped(folder: &Path) -> Result<Collection, Failure> {
    if !folder.is_dir() {
        return open(folder);
    }
    Collection::open_in(folder, Arc::new(Disk::mapped(folder)))
        .map_err(|error| Failure::from_collection(folder, &error))
}
