//! One error for callers who do not care which stage failed.

use crate::collection::CollectionError;
use crate::corpus::unusable::UnusableFile;
use crate::storage::StorageError;

/// Whatever can go wrong in the engine, one variant a stage.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file gave no document.
    #[error(transparent)]
    File(#[from] UnusableFile),
    /// A collection cannot be opened or written to.
    #[error(transparent)]
    Collection(#[from] CollectionError),
    /// A file of a collection is at fault.
    #[error(transparent)]
    Storage(#[from] StorageError),
}
