//! Rows of a few small numbers each, in few bytes, and any of them at hand.
//!
//! ```text
//! rows      group after group of 64; each row by how it differs from the one before
//! begins    u64 a group: where it begins
//! count     u64: how many rows
//! ```
//!
//! The first row of a group leans on none, so that a row costs the reading of its group.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use crate::blocks::{BlockReader, BlockWriter, FileEntry};
use crate::storage::StorageError;

/// Rows in a group. Fewer would be found faster, and take more bytes for where they begin.
pub(super) const GROUP: u64 = 64;

/// What is packed.
pub(super) trait Row: Copy + fmt::Debug {
    /// Appends the row, by how it differs from the one before; the first of a group has none.
    fn put(self, before: Option<Self>, out: &mut Vec<u8>);
    /// Takes a row off the front; `None` where there is none.
    fn take(before: Option<Self>, bytes: &mut &[u8]) -> Option<Self>;
}

/// A file of rows being written. Memory: a block, and a word a group.
#[derive(Debug)]
pub(super) struct PackedWriter<R> {
    file: BlockWriter,
    begins: Vec<u64>,
    count: u64,
    before: Option<R>,
    bytes: Vec<u8>,
}

impl<R: Row> PackedWriter<R> {
    pub(super) fn new(file: BlockWriter) -> PackedWriter<R> {
        PackedWriter {
            file,
            begins: Vec::new(),
            count: 0,
            before: None,
            bytes: Vec::new(),
        }
    }

    pub(super) fn append(&mut self, row: R) -> Result<(), StorageError> {
        if self.count.is_multiple_of(GROUP) {
            self.begins.push(self.file.position());
            self.before = None;
        }
        self.bytes.clear();
        row.put(self.before.replace(row), &mut self.bytes);
        self.count += 1;
        self.file.append(&self.bytes)
    }

    pub(super) fn finish(mut self) -> Result<FileEntry, StorageError> {
        if self.count > 0 {
            self.file.append_records(&self.begins)?;
            self.file.append_record(self.count)?;
        }
        self.file.finish()
    }
}

/// A file of rows to be read. Memory: a word a group, and one group.
#[derive(Debug)]
pub(super) struct Packed<R> {
    reader: BlockReader,
    count: u64,
    /// Where each group begins, and where the last one ends.
    begins: Vec<u64>,
    /// The group that was read last: rows are often asked for one after the other.
    last: Mutex<Option<Group<R>>>,
}

/// A group's number, and its rows.
type Group<R> = (usize, Arc<[R]>);

impl<R: Row> Packed<R> {
    /// Opens a file of so many rows.
    pub(super) fn new(reader: BlockReader, count: u64) -> Result<Packed<R>, StorageError> {
        let groups = count.div_ceil(GROUP);
        let words = groups + u64::from(count > 0);
        let wrong = || {
            let what = "it has another number of rows than the manifest says";
            StorageError::damaged(&reader.entry().name, what, None)
        };
        let end = reader.len().checked_sub(8 * words).ok_or_else(wrong)?;
        let mut bytes = vec![0; usize::try_from(8 * words).map_err(|_| wrong())?];
        reader.read_at(end, &mut bytes)?;
        let numbers = bytes.as_chunks().0.iter();
        let mut begins: Vec<u64> = numbers.map(|word| u64::from_le_bytes(*word)).collect();
        // In the place of the count: where rows end.
        let held = begins.last_mut().map(|last| std::mem::replace(last, end));
        let is_whole = begins.first().copied().unwrap_or(end) == 0 && begins.is_sorted();
        if held.unwrap_or(0) != count || !is_whole {
            return Err(wrong());
        }
        Ok(Packed {
            reader,
            count,
            begins,
            last: Mutex::new(None),
        })
    }

    fn groups(&self) -> usize {
        self.begins.len().saturating_sub(1)
    }

    /// A row by its number.
    pub(super) fn row(&self, index: u64) -> Result<R, StorageError> {
        if index >= self.count {
            return Err(self.damaged("something else points beyond its end"));
        }
        let place = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let rows = self.group(place(index / GROUP))?;
        let row = rows.get(place(index % GROUP)).copied();
        row.ok_or_else(|| self.damaged("a row makes no sense"))
    }

    /// Calls `each` with the rows from the first on of which `is_before` is not true, as it
    /// must be of those before it and of none behind, until `each` gives false.
    pub(super) fn each_from(
        &self,
        is_before: impl Fn(&R) -> bool,
        mut each: impl FnMut(R) -> bool,
    ) -> Result<(), StorageError> {
        let (mut low, mut high) = (0, self.groups());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.group(middle)?.first().is_some_and(&is_before) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        for group in low.saturating_sub(1)..self.groups() {
            for &row in &*self.group(group)? {
                if !is_before(&row) && !each(row) {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn group(&self, group: usize) -> Result<Arc<[R]>, StorageError> {
        // What a panicking thread left there is whole: it is put there in one piece.
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, rows)) = last.as_ref().filter(|(held, _)| *held == group) {
            return Ok(Arc::clone(rows));
        }
        let rows = self.read(group)?;
        *last = Some((group, Arc::clone(&rows)));
        Ok(rows)
    }

    fn read(&self, group: usize) -> Result<Arc<[R]>, StorageError> {
        let wrong = || self.damaged("a row makes no sense");
        let Some(&[from, to]) = self.begins.get(group..group + 2) else {
            return Err(wrong());
        };
        // They were compared when the file was opened: no more is read than it has.
        let mut bytes = vec![0; usize::try_from(to - from).map_err(|_| wrong())?];
        self.reader.read_at(from, &mut bytes)?;
        let (mut rest, mut before) = (&bytes[..], None);
        let first = group as u64 * GROUP;
        let rows = (first..self.count.min(first + GROUP)).map(|_| {
            before = R::take(before, &mut rest);
            before.ok_or_else(wrong)
        });
        let rows = rows.collect::<Result<Arc<[R]>, _>>()?;
        if rest.is_empty() {
            return Ok(rows);
        }
        Err(wrong())
    }

    fn damaged(&self, what: &'static str) -> StorageError {
        StorageError::damaged(&self.reader.entry().name, what, None)
    }
}
