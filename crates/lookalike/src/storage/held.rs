//! A storage in front of another: what is small and synced by nobody stays in memory.
//!
//! ```text
//! append ─► in memory ─┬─ sync, or no room left ─► the storage behind
//!                      └─ dropped ─► read and removed here, never on a disk
//!
//! small: append ─► in memory ─┬─ past 512 KiB ─► the storage behind
//!                             └─ sync ─► waits here ─► several put together in one file
//! ```
//!
//! To make a file and to remove it again costs more than to fill it, where it is small: what
//! a small sweep comes to on the way is not worth a file. What is to last is synced, and so
//! is written at once and in one piece; unless it was said to be small, for then others will
//! come that can share a file with it. Which ones do depends on their length alone, not on
//! the room.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Append, ReadAt, Storage};

/// A storage with some room in memory before it.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    behind: Arc<dyn Storage>,
    shared: Arc<Mutex<Shared>>,
}

#[derive(Debug)]
struct Shared {
    /// Bytes that may still be taken into memory.
    room: usize,
    files: BTreeMap<String, Arc<Vec<u8>>>,
    /// Those that wait to be put together.
    small: BTreeMap<String, Arc<Vec<u8>>>,
}

/// Bytes up to which a file that is said to be small is: of the score of files that a sweep
/// has few come near it at once, so that a few megabytes wait at most.
const SMALL: usize = 512 << 10;

impl Held {
    /// Room for so many bytes before a storage.
    pub(crate) fn new(behind: Arc<dyn Storage>, room: u64) -> Held {
        Held {
            behind,
            shared: Arc::new(Mutex::new(Shared {
                room: usize::try_from(room).unwrap_or(usize::MAX),
                files: BTreeMap::new(),
                small: BTreeMap::new(),
            })),
        }
    }

    /// Another thread's panic leaves all of it whole.
    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open_as(
        &self,
        name: &str,
        open: impl FnOnce() -> io::Result<Box<dyn ReadAt>>,
    ) -> io::Result<Box<dyn ReadAt>> {
        let shared = self.lock();
        let held = shared.files.get(name).or_else(|| shared.small.get(name));
        match held.cloned() {
            Some(bytes) => Ok(Box::new(Opened(bytes))),
            None => open(),
        }
    }

    /// Lets go of a file in memory, if there is one of that name.
    fn forget(&self, name: &str) -> bool {
        let mut shared = self.lock();
        let gone = shared.files.remove(name);
        shared.room += gone.as_ref().map_or(0, |bytes| bytes.len());
        let waited = shared.small.remove(name);
        gone.is_some() || waited.is_some()
    }

    /// Whether a file waits to be put together with others.
    pub(crate) fn is_small(&self, name: &str) -> bool {
        self.lock().small.contains_key(name)
    }

    /// Puts small files, one behind the other, into one file of the storage behind. It lasts,
    /// and they are here no longer.
    pub(crate) fn put_together<'n>(
        &self,
        name: &str,
        files: impl Iterator<Item = &'n str>,
    ) -> io::Result<()> {
        let mut together = self.behind.create(name)?;
        for file in files {
            let bytes = self.lock().small.remove(file);
            together.append(&bytes.ok_or(io::ErrorKind::NotFound)?)?;
        }
        together.sync()
    }

    fn start(&self, name: &str, is_small: bool) -> Box<dyn Append> {
        self.forget(name);
        Box::new(Written {
            held: self.clone(),
            name: name.to_owned(),
            is_small,
            bytes: Vec::new(),
            file: None,
        })
    }
}

impl Storage for Held {
    fn create(&self, name: &str) -> io::Result<Box<dyn Append>> {
        Ok(self.start(name, false))
    }

    fn create_small(&self, name: &str) -> io::Result<Box<dyn Append>> {
        Ok(self.start(name, true))
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn ReadAt>> {
        self.open_as(name, || self.behind.open(name))
    }

    fn open_mapped(&self, name: &str) -> io::Result<Box<dyn ReadAt>> {
        self.open_as(name, || self.behind.open_mapped(name))
    }

    /// Of files that were put together, which are behind.
    fn open_shared(&self, name: &str) -> io::Result<Arc<dyn ReadAt>> {
        self.behind.open_shared(name)
    }

    /// Of files that were synced: the others are nobody's after a crash, whatever their name.
    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.behind.rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let was_held = self.forget(name);
        match self.behind.remove(name) {
            // One of that name may be there from before.
            Err(error) if was_held && error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        }
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let mut names = self.behind.list()?;
        let shared = self.lock();
        names.extend(shared.files.keys().chain(shared.small.keys()).cloned());
        drop(shared);
        names.sort();
        names.dedup();
        Ok(names)
    }

    fn sync_folder(&self) -> io::Result<()> {
        self.behind.sync_folder()
    }

    fn is_stopped(&self) -> bool {
        self.behind.is_stopped()
    }
}

struct Written {
    held: Held,
    name: String,
    is_small: bool,
    /// All of it, as long as it has no file.
    bytes: Vec<u8>,
    file: Option<Box<dyn Append>>,
}

impl Written {
    /// Whether so many bytes more can be in memory. If so, they are reckoned with.
    fn has_room(&self, more: usize) -> bool {
        if self.is_small {
            return self.bytes.len() + more <= SMALL;
        }
        let mut shared = self.held.lock();
        let left = shared.room.checked_sub(more);
        shared.room = left.unwrap_or(shared.room);
        left.is_some()
    }

    /// The file, and in it what was in memory.
    fn file(&mut self) -> io::Result<&mut dyn Append> {
        if self.file.is_none() {
            let mut file = self.held.behind.create(&self.name)?;
            let bytes = std::mem::take(&mut self.bytes);
            if !self.is_small {
                self.held.lock().room += bytes.len();
            }
            file.append(&bytes)?;
            self.file = Some(file);
        }
        match &mut self.file {
            Some(file) => Ok(&mut **file),
            None => Err(io::Error::other("it was not made")),
        }
    }
}

impl Append for Written {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.file.is_none() && self.has_room(bytes.len()) {
            self.bytes.extend_from_slice(bytes);
            return Ok(());
        }
        self.file()?.append(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        if self.file.is_none() {
            if self.bytes.is_empty() {
                return Ok(());
            }
            if self.is_small {
                let bytes = Arc::new(std::mem::take(&mut self.bytes));
                let name = std::mem::take(&mut self.name);
                self.held.lock().small.insert(name, bytes);
                return Ok(());
            }
        }
        self.file()?.sync()
    }
}

impl Drop for Written {
    /// What has no file is read from memory from now on; a small one that nobody synced is
    /// nobody's.
    fn drop(&mut self) {
        if !self.bytes.is_empty() && !self.is_small {
            let bytes = Arc::new(std::mem::take(&mut self.bytes));
            let name = std::mem::take(&mut self.name);
            self.held.lock().files.insert(name, bytes);
        }
    }
}

struct Opened(Arc<Vec<u8>>);

impl ReadAt for Opened {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let from = usize::try_from(offset).ok();
        let part = from.and_then(|from| self.0.get(from..)?.get(..buffer.len()));
        buffer.copy_from_slice(part.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn mapped(&self) -> Option<&[u8]> {
        Some(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::disk::Disk;
    use super::*;

    fn read(storage: &dyn Storage, name: &str) -> Vec<u8> {
        let file = storage.open(name).unwrap();
        let mut bytes = vec![0; usize::try_from(file.len()).unwrap()];
        file.read_at(0, &mut bytes).unwrap();
        bytes
    }

    #[test]
    fn only_what_is_synced_or_too_large_is_on_the_disk() {
        let folder = tempfile::tempdir().unwrap();
        let disk: Arc<dyn Storage> = Arc::new(Disk::new(folder.path()));
        let held = Held::new(Arc::clone(&disk), 10);
        let write = |name: &str, parts: &[&[u8]], is_synced: bool| {
            let mut file = held.create(name).unwrap();
            for part in parts {
                file.append(part).unwrap();
            }
            if is_synced {
                file.sync().unwrap();
            }
        };
        write("small", &[b"123", b"456"], false);
        write("large", &[b"12", b"345678", b"9"], false);
        write("synced", &[b"1"], true);
        assert_eq!(disk.list().unwrap(), ["large", "synced"]);
        assert_eq!(held.list().unwrap(), ["large", "small", "synced"]);
        assert_eq!(read(&held, "small"), b"123456");
        assert_eq!(read(&held, "large"), b"123456789");
        assert_eq!(read(&held, "synced"), b"1");
        // What was taken is given back, and nothing is there twice.
        write("small", &[b"1234567890"], false);
        assert_eq!(read(&held, "small"), b"1234567890");
        held.remove("small").unwrap();
        assert!(held.open("small").is_err());
        write("other", &[b"1234567890"], false);
        assert_eq!(disk.list().unwrap(), ["large", "synced"]);
    }

    #[test]
    fn small_files_wait_and_share_one() {
        let folder = tempfile::tempdir().unwrap();
        let disk: Arc<dyn Storage> = Arc::new(Disk::new(folder.path()));
        // There need be no room for them.
        let held = Held::new(Arc::clone(&disk), 0);
        let write = |name: &str, parts: &[&[u8]]| {
            let mut file = held.create_small(name).unwrap();
            for part in parts {
                file.append(part).unwrap();
            }
            file.sync().unwrap();
        };
        let most = vec![7; SMALL];
        write("b", &[b"123", b"456"]);
        write("empty", &[]);
        write("most", &[&most]);
        write("more", &[&most, b"8"]);
        drop(held.create_small("abandoned").unwrap());
        assert_eq!(disk.list().unwrap(), ["more"]);
        assert_eq!(held.list().unwrap(), ["b", "more", "most"]);
        assert_eq!(read(&held, "b"), b"123456");
        // Who comes later takes the place.
        write("b", &[b"12"]);
        assert!(held.is_small("b") && !held.is_small("more") && !held.is_small("empty"));
        let both = ["most", "b"].into_iter();
        held.put_together("together", both).unwrap();
        assert_eq!(disk.list().unwrap(), ["more", "together"]);
        assert_eq!(held.list().unwrap(), ["more", "together"]);
        assert_eq!(read(&*disk, "together"), [&most[..], b"12"].concat());
        let again = held.put_together("again", ["b"].into_iter());
        assert_eq!(again.unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
