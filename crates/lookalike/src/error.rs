//! One error for callers who do not care which stage failed.

use crate::corpus::unusable::UnusableFile;

/// Whatever can go wrong in the engine, one variant a stage.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file gave no document.
    #[error(transparent)]
    File(#[from] UnusableFile),
}
