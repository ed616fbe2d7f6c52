//! The only door to the files of a collection: a flat folder of files that are written
//! once, from front to back, and then only read.
//!
//! ```text
//! create ─► append … append ─► sync ─► (rename) ─► sync_folder     open ─► read_at
//! ```
//!
//! Nothing is ever rewritten in place, so a crash can lose what was not synced and
//! nothing else. [`disk`] is the real thing, `held` some room in memory before it; its twin
//! for tests, `sim`, keeps files in memory and fails, tears and forgets on demand.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

pub mod disk;
mod error;
pub(crate) mod held;
mod map;
#[doc(hidden)]
pub mod sim;

pub(crate) use error::in_folder;
pub use error::{Damage, Fault, StorageError};

/// A folder of files.
pub trait Storage: fmt::Debug + Send + Sync {
    /// Starts a new file, which is there from its first byte on. One of that name is removed
    /// then, never overwritten: whoever has it open keeps what it was.
    fn create(&self, name: &str) -> io::Result<Box<dyn Append>>;
    /// Opens a file for reading.
    fn open(&self, name: &str) -> io::Result<Box<dyn ReadAt>>;
    /// Opens a file for many small reads all over it: mapped into memory, where that can be
    /// done.
    fn open_mapped(&self, name: &str) -> io::Result<Box<dyn ReadAt>> {
        self.open(name)
    }
    /// Opens a file that many readers have a part of: mapped into memory, where that can be
    /// done, and the same for all who have it at one time.
    fn open_shared(&self, name: &str) -> io::Result<Arc<dyn ReadAt>> {
        self.open_mapped(name).map(Arc::from)
    }
    /// Starts a new file that may share one with others of its kind once all are there.
    fn create_small(&self, name: &str) -> io::Result<Box<dyn Append>> {
        self.create(name)
    }
    /// Gives a file another name, replacing whatever had it, at once or not at all.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    /// Removes a file.
    fn remove(&self, name: &str) -> io::Result<()>;
    /// The names of all files, sorted; folders are not ours.
    fn list(&self) -> io::Result<Vec<String>>;
    /// Makes creations, renames and removals last.
    fn sync_folder(&self) -> io::Result<()>;
    /// Whether somebody wants the work to end.
    fn is_stopped(&self) -> bool {
        false
    }
}

/// An error if somebody wants the work to end: asked now and then by all that takes long.
pub(crate) fn go_on(storage: &dyn Storage) -> Result<(), StorageError> {
    if storage.is_stopped() {
        let stopped = io::Error::new(io::ErrorKind::Interrupted, "the work was stopped");
        return Err(StorageError::io(".", stopped));
    }
    Ok(())
}

/// A wish that work ends, which any thread may have: it ends soon after, with an error, and
/// what it would have made is not there.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Ends the work.
    pub fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it is to end.
    pub fn is_stopped(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// A file being written.
pub trait Append: Send {
    /// Adds bytes at the end.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Makes all that was appended last. After an error the file is of no use any more:
    /// the kernel may have dropped what it could not write.
    fn sync(&mut self) -> io::Result<()>;
}

/// A file being read.
#[expect(clippy::len_without_is_empty, reason = "no caller asks")]
pub trait ReadAt: Send + Sync {
    /// How many bytes it has.
    fn len(&self) -> u64;
    /// Fills `buffer` from an offset on; an error of kind `UnexpectedEof` when the file
    /// ends before.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()>;
    /// All of it, where it is mapped into memory.
    fn mapped(&self) -> Option<&[u8]> {
        None
    }
}
