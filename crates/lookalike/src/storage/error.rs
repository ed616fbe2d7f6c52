//! A file of a collection that cannot be used, and why.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// A file that could not be written or read.
#[derive(Debug, thiserror::Error)]
#[error("cannot use `{file}` of the collection")]
pub struct StorageError {
    /// Which file.
    pub file: String,
    /// What is wrong with it.
    #[source]
    pub fault: Fault,
}

/// What can be wrong with a file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// It is not there.
    #[error("it is missing")]
    Missing,
    /// Its bytes are not those that were written.
    #[error("it is damaged: {0}")]
    Damaged(Damage),
    /// Written by another release.
    #[error("it has format {found}, this program reads format {supported}")]
    Version {
        /// What the file says.
        found: u32,
        /// The newest that this program knows.
        supported: u32,
    },
    /// The operating system refused.
    #[error("{}", refusal(.0))]
    Io(#[source] io::Error),
}

/// What is damaged, and where.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Damage {
    /// What does not fit.
    pub what: &'static str,
    /// Bytes into the file, where that says something.
    pub at: Option<u64>,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.what)?;
        match self.at {
            Some(at) => write!(f, ", at byte {at}"),
            None => Ok(()),
        }
    }
}

/// What the operating system said, and in which folder.
#[derive(Debug, thiserror::Error)]
#[error("{error}")]
struct InFolder {
    folder: PathBuf,
    error: io::Error,
}

/// The same error, which knows in which folder it was.
pub(crate) fn in_folder(folder: &Path, error: io::Error) -> io::Error {
    let folder = folder.to_owned();
    io::Error::new(error.kind(), InFolder { folder, error })
}

fn refusal(error: &io::Error) -> &'static str {
    if is_full(error) {
        "the disk is full"
    } else {
        "the operating system refused"
    }
}

fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
    )
}

impl StorageError {
    /// A file that does not hold what it should.
    pub fn damaged(file: &str, what: &'static str, at: impl Into<Option<u64>>) -> StorageError {
        StorageError {
            file: file.to_owned(),
            fault: Fault::Damaged(Damage {
                what,
                at: at.into(),
            }),
        }
    }

    /// What the operating system said while `file` was in hand. A file that is not there
    /// is missing, one that stops too early is damaged.
    pub fn io(file: &str, error: io::Error) -> StorageError {
        let fault = match error.kind() {
            io::ErrorKind::NotFound => Fault::Missing,
            io::ErrorKind::UnexpectedEof => Fault::Damaged(Damage {
                what: "it ends too early",
                at: None,
            }),
            _ => Fault::Io(error),
        };
        StorageError {
            file: file.to_owned(),
            fault,
        }
    }

    /// Whether the bytes are at fault, and not the machine: trying again will not help.
    pub fn is_damage(&self) -> bool {
        !matches!(self.fault, Fault::Io(_))
    }

    /// The folder that could not be written to, where that is known. It need not be the
    /// collection's: what is needed on the way may stand elsewhere.
    pub fn folder(&self) -> Option<&Path> {
        let Fault::Io(error) = &self.fault else {
            return None;
        };
        let known = error.get_ref()?.downcast_ref::<InFolder>()?;
        Some(&known.folder)
    }

    /// Whether there was no room left.
    pub fn is_full_disk(&self) -> bool {
        matches!(&self.fault, Fault::Io(error) if is_full(error))
    }
}
