//! Content that an older sweep has: what it came to then it comes to now, so nothing is
//! parsed and nothing sketched.
//!
//! ```text
//! bytes, way of reading ─► name ─► contents of each older sweep ─► the entry there
//! ```
//!
//! BLAKE3 of the bytes decides, together with the way they are read. The digest that a WARC
//! gives does not: anyone can write one there, and a page must not pass for another.
//!
//! A lookup costs some hundred nanoseconds a sweep: files are mapped as far as the budget
//! allows, and each of their blocks is checked when it is touched first. An entry that is
//! not mapped costs a block, unless the block has the one before: a sweep like the last one
//! asks for them in order.

use xxhash_rust::xxh3::xxh3_64;

use crate::blocks::BlockReader;
use crate::collection::entry::{Entry, Flag};
use crate::collection::lookup::Lookup;
use crate::collection::manifest::Manifest;
use crate::collection::state::{State, Sweep};
use crate::storage::{Storage, StorageError};

/// What a content is looked up by. 0 is for a revisit, which has none of its own.
pub(crate) fn content_name(bytes_name: u128, way: u32) -> u64 {
    let mut both = [0; 20];
    both[..16].copy_from_slice(&bytes_name.to_le_bytes());
    both[16..].copy_from_slice(&way.to_le_bytes());
    xxh3_64(&both)
}

/// The contents of all older sweeps.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    sweeps: Vec<OfSweep>,
}

#[derive(Debug)]
struct OfSweep {
    base: u32,
    names: Lookup,
    entries: BlockReader,
    keeps_text: bool,
}

/// An older document.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) entry: Entry,
    /// Whether the collection keeps its text.
    pub(crate) has_text: bool,
}

impl Contents {
    /// Opens those of all sweeps of a manifest; no more than `budget` bytes are mapped.
    pub(crate) fn open(
        storage: &dyn Storage,
        manifest: &Manifest<State>,
        budget: u64,
    ) -> Result<Contents, StorageError> {
        #[cfg(test)]
        if tests::FORGETS.get() {
            return Ok(Contents::default());
        }
        let sweeps = &manifest.state.sweeps;
        let file = |what, sweep: &Sweep| manifest.file(&sweep.file_name(what));
        let mut left = budget;
        let mut open = |entry: &crate::blocks::FileEntry| {
            if let Some(less) = left.checked_sub(entry.file_len) {
                left = less;
                BlockReader::open_mapped(storage, entry)
            } else {
                BlockReader::open(storage, entry)
            }
        };
        // All names before any entry: they are small, and touched all over.
        let mut names = Vec::with_capacity(sweeps.len());
        for sweep in sweeps {
            names.push(Lookup::new(open(file("contents", sweep)?)?)?);
        }
        let mut opened = Vec::with_capacity(sweeps.len());
        for (sweep, names) in sweeps.iter().zip(names) {
            opened.push(OfSweep {
                base: sweep.base,
                names,
                entries: open(file("documents", sweep)?)?,
                keeps_text: sweep.keeps_text,
            });
        }
        Ok(Contents { sweeps: opened })
    }

    /// A document with these bytes, read in this way.
    pub(crate) fn find(&self, bytes_name: u128, way: u32) -> Result<Option<Found>, StorageError> {
        let name = content_name(bytes_name, way);
        for sweep in &self.sweeps {
            let found = sweep.names.find(name, |doc| {
                let index = doc.checked_sub(sweep.base).map_or(u64::MAX, u64::from);
                let entry: Entry = sweep.entries.record(index)?;
                let is_same = entry.bytes_name == bytes_name && entry.way == way;
                Ok((is_same && !entry.has(Flag::Revisit)).then_some(Found {
                    entry,
                    has_text: sweep.keeps_text,
                }))
            })?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::cell::Cell;
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::add::{AddError, CollectionError, add, fault_tests::options};
    use crate::collection::Collection;
    use crate::corpus::inputs::Inputs;
    use crate::corpus::tests::{page, warc};
    use crate::storage::disk::Disk;

    thread_local! {
        /// Whether nothing is known of older sweeps, so that all is sketched again.
        pub(in super::super) static FORGETS: Cell<bool> = const { Cell::new(false) };
    }

    fn collection(folder: &Path) -> Result<Collection, AddError> {
        let digest = "WARC-Target-URI: http://x/2\r\nWARC-Payload-Digest: sha1:a\r\n";
        let block = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>digested";
        let records = [
            page("http://x/0", "words"),
            page("http://x/1", "other words"),
            warc("response", digest, block),
            warc("revisit", &digest.replace("/2", "/3"), b""),
        ];
        let path = folder.join("pages.warc");
        fs::write(&path, records.concat()).unwrap();
        let options = options(1, 32 << 20);
        let inputs = Inputs::expand(&[path], &options.reading);
        add(&folder.join("c"), &inputs, &options, &mut |_| {})?;
        Ok(Collection::open(&folder.join("c")).unwrap())
    }

    #[test]
    fn a_content_is_found_by_its_bytes_and_the_way_they_were_read() {
        let folder = tempfile::tempdir().unwrap();
        let collection = collection(folder.path()).unwrap();
        assert_eq!(collection.documents(), 4);
        let disk = Disk::new(&folder.path().join("c"));
        // Mapped, only the names, nothing.
        for budget in [u64::MAX, 200, 0] {
            let contents = Contents::open(&disk, collection.manifest(), budget).unwrap();
            for doc in 0..3 {
                let entry = collection.entry(doc).unwrap();
                let found = contents.find(entry.bytes_name, entry.way).unwrap();
                let found = found.expect("it was added");
                assert_eq!((found.entry, found.has_text), (entry, true));
                assert!(
                    contents
                        .find(entry.bytes_name, entry.way ^ 1)
                        .unwrap()
                        .is_none()
                );
                assert!(
                    contents
                        .find(entry.bytes_name ^ 1, entry.way)
                        .unwrap()
                        .is_none()
                );
            }
            let revisit = collection.entry(3).unwrap();
            assert_eq!(revisit.bytes_name, collection.entry(2).unwrap().bytes_name);
            assert!(
                contents
                    .find(revisit.bytes_name, revisit.way)
                    .unwrap()
                    .is_none()
            );
        }
    }

    #[test]
    fn a_damaged_file_of_contents_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let whole = collection(folder.path()).unwrap();
        let entry = whole.manifest().file("contents-1.lk").unwrap();
        let packed = entry.packed.as_ref().expect("it is small");
        let place = folder.path().join("c").join(&packed.file);
        let mut bytes = fs::read(&place).unwrap();
        let end = usize::try_from(packed.at + entry.file_len).unwrap();
        bytes[end - 1] ^= 1;
        fs::write(&place, bytes).unwrap();
        match collection(folder.path()) {
            Err(AddError::Collection(CollectionError::Storage(error))) => {
                assert!(error.is_damage(), "{error}");
                assert_eq!(error.file, "sweep-1.lk");
            }
            other => panic!("{other:?}"),
        }
    }
}
