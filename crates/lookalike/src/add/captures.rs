//! Further captures, sorted by document, however many there are.
//!
//! ```text
//! captures, as they are read ─► held, as many as the budget allows ─► sorted ─► file
//!                           └─► runs in a scratch file, each sorted ─► merged ─► file
//! ```
//!
//! N captures, M of them held: O(N log N) compares and one more pass over the disk. That a
//! page was captured a million times costs no more than a million pages once: ranges of
//! documents would be of very unequal size, runs are not. A run needs a block of memory
//! while it is merged.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use crate::blocks::{BlockReader, BlockWriter, FileEntry, FileKind, RecordStream};
use crate::collection::entry::Capture;
use crate::storage::{Storage, StorageError};

/// What a capture takes up in memory.
const HELD_LEN: u64 = size_of::<Capture>() as u64;

/// Captures on their way to being sorted.
pub(crate) struct Captures<'a> {
    scratch: &'a dyn Storage,
    held: Vec<Capture>,
    /// How many may be held in memory.
    most: usize,
    spilled: Option<BlockWriter>,
    runs: Vec<Range<u64>>,
}

impl<'a> Captures<'a> {
    /// None yet; at most `budget` bytes of them will be in memory.
    pub(crate) fn new(scratch: &'a dyn Storage, budget: u64) -> Captures<'a> {
        let most = usize::try_from(budget / HELD_LEN).unwrap_or(usize::MAX);
        Captures {
            scratch,
            held: Vec::new(),
            most: most.max(1 << 4),
            spilled: None,
            runs: Vec::new(),
        }
    }

    pub(crate) fn push(&mut self, capture: Capture) -> Result<(), StorageError> {
        self.held.push(capture);
        if self.held.len() >= self.most {
            self.spill()?;
        }
        Ok(())
    }

    fn spill(&mut self) -> Result<(), StorageError> {
        let file = match &mut self.spilled {
            Some(file) => file,
            none => {
                let name = "sorting-captures.lk";
                none.insert(BlockWriter::create(
                    self.scratch,
                    name,
                    FileKind::Scratch,
                    0,
                )?)
            }
        };
        self.held.sort_unstable();
        file.append_records(&self.held)?;
        let from = self.runs.last().map_or(0, |run| run.end);
        self.runs.push(from..from + self.held.len() as u64);
        self.held.clear();
        Ok(())
    }

    /// All are there: writes them in order.
    pub(crate) fn write(mut self, mut file: BlockWriter) -> Result<FileEntry, StorageError> {
        if self.spilled.is_some() && !self.held.is_empty() {
            self.spill()?;
        }
        let Some(spilled) = self.spilled else {
            self.held.sort_unstable();
            file.append_records(&self.held)?;
            return file.finish();
        };
        let spilled = spilled.finish_scratch()?;
        let reader = BlockReader::open(self.scratch, &spilled)?;
        let mut runs: Vec<RecordStream<Capture>> = Vec::with_capacity(self.runs.len());
        let mut next = BinaryHeap::with_capacity(self.runs.len());
        for (number, run) in self.runs.into_iter().enumerate() {
            let mut stream = reader.records(run, 1)?;
            if let Some(first) = stream.next_record()? {
                next.push(Reverse((first, number)));
            }
            runs.push(stream);
        }
        while let Some(Reverse((capture, number))) = next.pop() {
            file.append_record(capture)?;
            if let Some(following) = runs[number].next_record()? {
                next.push(Reverse((following, number)));
            }
        }
        drop((runs, reader));
        let removed = self.scratch.remove(&spilled.name);
        removed.map_err(|error| StorageError::io(&spilled.name, error))?;
        file.finish()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::collection::entry::Facts;
    use crate::storage::sim::SimFs;

    proptest! {
        #[test]
        fn captures_come_out_sorted_whatever_is_held(
            docs in prop::collection::vec((0_u32..20, -3_i64..3, 0_u32..3), 0..200),
            budget in 0_u64..20_000,
        ) {
            let disk = SimFs::new();
            let mut captures = Captures::new(&disk, budget);
            let mut expected = Vec::new();
            for (offset, (doc, date, source)) in (0..).zip(docs) {
                let facts = Facts::default();
                let is_revisit = offset % 2 == 0;
                let capture = Capture { doc, date, source, offset, facts, is_revisit };
                captures.push(capture).unwrap();
                expected.push(capture);
            }
            expected.sort_by_key(|one| (one.doc, one.date, one.source, one.offset));
            let file = BlockWriter::create(&disk, "captures-1.lk", FileKind::Captures, 7).unwrap();
            let file = captures.write(file).unwrap();
            let reader = BlockReader::open(&disk, &file).unwrap();
            let mut stream = reader.all_records::<Capture>(1).unwrap();
            let mut found = Vec::new();
            while let Some(capture) = stream.next_record().unwrap() {
                found.push(capture);
            }
            prop_assert_eq!(&found, &expected);
            let left: &[&str] = if found.is_empty() { &[] } else { &["captures-1.lk"] };
            prop_assert_eq!(disk.list().unwrap(), left);
        }
    }
}
