//! A name → the documents that have it: sorted records in a file.
//!
//! ```text
//! (name u64, document u32) (name, document) …    12 bytes each, increasing
//! ```
//!
//! Names are as good as random, so where one stands is guessed from its value and found
//! within a block or two. Many names at once cost one pass at most.

use crate::blocks::{BlockReader, BlockWriter, FileEntry};
use crate::storage::{Storage, StorageError};

/// Names and their documents, one segment's.
#[derive(Debug)]
pub struct Lookup {
    reader: BlockReader,
    len: u64,
}

/// About as many records as a block holds.
const STEP: u64 = 4096;

/// So few names are always looked up one by one.
const FEW: usize = 4;

impl Lookup {
    /// Opens a file of names.
    pub fn open(storage: &dyn Storage, entry: &FileEntry) -> Result<Lookup, StorageError> {
        Lookup::new(BlockReader::open(storage, entry)?)
    }

    pub(crate) fn new(reader: BlockReader) -> Result<Lookup, StorageError> {
        let len = reader.record_count::<(u64, u32)>()?;
        Ok(Lookup { reader, len })
    }

    /// Calls `each` with the documents of one name, in order, until it gives something.
    pub(crate) fn find<T>(
        &self,
        name: u64,
        mut each: impl FnMut(u32) -> Result<Option<T>, StorageError>,
    ) -> Result<Option<T>, StorageError> {
        for at in self.lower_bound(name, 0)?..self.len {
            let (found, doc) = self.reader.record::<(u64, u32)>(at)?;
            if found != name {
                break;
            }
            if let Some(answer) = each(doc)? {
                return Ok(Some(answer));
            }
        }
        Ok(None)
    }

    /// The documents that have one of some names, which must increase: by number, so that
    /// reading what is known of them goes from front to back, and each with its name.
    pub(crate) fn found(&self, names: &[u64]) -> Result<Vec<(u32, u64)>, StorageError> {
        let mut found = Vec::new();
        self.find_all(names, |name, doc| {
            found.push((doc, name));
            Ok(())
        })?;
        found.sort_unstable();
        Ok(found)
    }

    /// Calls `each` with every document that has one of some names, which must increase.
    pub fn find_all(
        &self,
        names: &[u64],
        mut each: impl FnMut(u64, u32) -> Result<(), StorageError>,
    ) -> Result<(), StorageError> {
        // One of every other block is touched anyway: read them all, in order.
        if names.len() > FEW && names.len() as u64 >= self.len / (2 * STEP) {
            return self.join(names, each);
        }
        let mut from = 0;
        for &name in names {
            from = self.lower_bound(name, from)?;
            for at in from..self.len {
                let (found, doc) = self.reader.record::<(u64, u32)>(at)?;
                if found != name {
                    break;
                }
                each(name, doc)?;
            }
        }
        Ok(())
    }

    fn join(
        &self,
        mut names: &[u64],
        mut each: impl FnMut(u64, u32) -> Result<(), StorageError>,
    ) -> Result<(), StorageError> {
        let mut stream = self.reader.all_records::<(u64, u32)>(8)?;
        while let Some(batch) = stream.next_batch()? {
            for &(name, doc) in batch {
                while let [first, rest @ ..] = names
                    && *first < name
                {
                    names = rest;
                }
                match names.first() {
                    None => return Ok(()),
                    Some(&first) if first == name => each(name, doc)?,
                    Some(_) => {}
                }
            }
        }
        Ok(())
    }

    /// The first place from `from` on whose name is not smaller.
    fn lower_bound(&self, name: u64, from: u64) -> Result<u64, StorageError> {
        let (mut low, mut high) = (from, self.len);
        // Two guesses by the value, then halves.
        let share = (u128::from(name) * u128::from(self.len)) >> 64;
        let guess = u64::try_from(share).unwrap_or(u64::MAX);
        let slack = 64 + self.len.isqrt();
        for place in [guess.saturating_sub(slack), guess.saturating_add(slack)] {
            if (low..high).contains(&place) {
                if self.name(place)? < name {
                    low = place + 1;
                } else {
                    high = place;
                }
            }
        }
        while low < high {
            let middle = low + (high - low) / 2;
            if self.name(middle)? < name {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(low)
    }

    fn name(&self, place: u64) -> Result<u64, StorageError> {
        Ok(self.reader.record::<(u64, u32)>(place)?.0)
    }
}

/// Writes names in order, in as many passes over them as the budget asks for.
/// `all` calls back with every name and document, each time it is called.
pub(crate) fn write_lookup(
    mut file: BlockWriter,
    count: u64,
    budget: u64,
    all: impl FnMut(&mut dyn FnMut(u64, u32)) -> Result<(), StorageError>,
) -> Result<FileEntry, StorageError> {
    each_in_order(count, budget, all, |named| file.append_records(named))?;
    file.finish()
}

/// Calls `take` with names and documents in order, some at a time, as [`write_lookup`] has
/// them.
pub(crate) fn each_in_order(
    count: u64,
    budget: u64,
    mut all: impl FnMut(&mut dyn FnMut(u64, u32)) -> Result<(), StorageError>,
    mut take: impl FnMut(&[(u64, u32)]) -> Result<(), StorageError>,
) -> Result<(), StorageError> {
    let per_pass = (budget / 16).max(1 << 4);
    let bits = count
        .div_ceil(per_pass)
        .max(1)
        .next_power_of_two()
        .trailing_zeros();
    for pass in 0..1_u64 << bits {
        let mut named: Vec<(u64, u32)> = Vec::new();
        all(&mut |name, doc| {
            if name.checked_shr(64 - bits).unwrap_or(0) == pass {
                named.push((name, doc));
            }
        })?;
        named.sort_unstable();
        take(&named)?;
    }
    Ok(())
}
