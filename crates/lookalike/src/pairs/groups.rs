//! Equal fingerprints side by side → the documents that share one.
//!
//! ```text
//! sorted postings of the new documents ─┐
//! postings of the older segments ───────┴─► groups: older and new documents, at least
//!                                           two, at least one of them new
//! ```
//!
//! Groups are kept as one list of documents, each group's first marked by a bit, and
//! handed on in chunks that fit the budget. A group knows no fingerprint any more.

use std::ops::Range;

use super::postings::{Buckets, Sorted};
use crate::blocks::{BlockReader, BlockWriter, FileEntry, FileKind};
use crate::storage::{Storage, StorageError};

/// Marks the first document of a group. Documents have numbers below it.
pub(crate) const FIRST: u32 = 1 << 31;

/// Some groups: documents in increasing order, the first of each group marked.
#[derive(Debug, Default)]
pub(crate) struct Chunk {
    pub(crate) members: Vec<u32>,
}

impl Chunk {
    /// The places of each group.
    pub(crate) fn groups(&self) -> impl Iterator<Item = Range<usize>> {
        let mut from = 0;
        std::iter::from_fn(move || {
            let start = from;
            if start == self.members.len() {
                return None;
            }
            from += 1;
            while from < self.members.len() && self.members[from] & FIRST == 0 {
                from += 1;
            }
            Some(start..from)
        })
    }

    /// The document at a place.
    pub(crate) fn doc(&self, place: usize) -> u32 {
        self.members[place] & !FIRST
    }
}

/// What is left of a sorted list behind those of which something is true. They are few
/// nearly always.
fn skip(mut list: &[u64], is_before: impl Fn(u64) -> bool) -> &[u64] {
    for _ in 0..8 {
        match list {
            [first, rest @ ..] if is_before(*first) => list = rest,
            _ => return list,
        }
    }
    &list[list.partition_point(|posting| is_before(*posting))..]
}

/// The document of a posting: its lower half.
fn doc_of(posting: u64) -> u32 {
    (posting & 0xffff_ffff) as u32
}

/// How many groups have how many documents, and how many meetings of two documents they
/// would make.
#[derive(Debug, Default)]
pub(crate) struct Sizes {
    /// By size; those larger than the list are in its last place.
    meetings: Vec<u64>,
    counts: Vec<u64>,
    pub(crate) groups: u64,
    pub(crate) memberships: u64,
}

/// Group sizes told apart.
const SIZES: usize = 1 << 16;

/// However many meetings there are: so large a group is always looked at whole.
const LEAST_CAP: usize = 64;

/// Meetings that are always affordable: well below a second. On 21,270 manual pages, most of
/// them made from templates, 99.81 % of the pairs that are alike to 0.8 end in one cluster
/// (shingles of five words); with 1 << 25 99.98 % do, with 1 << 26 all of them. But on Spark
/// the meetings of one piece travel in one go, and 1 << 26 of them are more than a gigabyte.
const FREE_MEETINGS: u64 = 1 << 24;

/// Meetings for each membership. On 128,055 documents of Debian packages: with 24 of them
/// 99.998 % of the true pairs end in one cluster, with 6 99.999 % (and the phase takes four
/// fifths of the time), with 3 99.988 %.
const MEETINGS: u64 = 6;

impl Sizes {
    fn add(&mut self, older: usize, new: usize) {
        self.add_many(older, new, 1);
    }

    /// Adds so many groups of a size.
    pub(crate) fn add_many(&mut self, older: usize, new: usize, groups: u64) {
        if self.meetings.is_empty() {
            self.meetings = vec![0; SIZES];
            self.counts = vec![0; SIZES];
        }
        let size = (older + new).min(SIZES - 1);
        let (older, new) = (older as u64, new as u64);
        let meetings = (new * older + new * (new - 1) / 2).saturating_mul(groups);
        self.meetings[size] = self.meetings[size].saturating_add(meetings);
        self.counts[size] += groups;
        self.groups += groups;
        self.memberships += groups * (older + new);
    }

    /// The largest size up to which every two documents of a group may meet, so that all
    /// meetings together stay in proportion to the memberships.
    pub(crate) fn cap(&self) -> usize {
        let affordable = FREE_MEETINGS + MEETINGS * self.memberships;
        let mut sum = 0_u64;
        for (size, &meetings) in self.meetings.iter().enumerate() {
            sum = sum.saturating_add(meetings);
            if sum > affordable && size > LEAST_CAP {
                return size - 1;
            }
        }
        usize::MAX
    }

    /// How many groups are larger than a size.
    pub(crate) fn above(&self, cap: usize) -> u64 {
        self.counts.iter().skip(cap.saturating_add(1)).sum()
    }
}

/// Groups on their way from the postings to the counts.
pub(crate) struct Groups<'a> {
    scratch: &'a dyn Storage,
    chunk: Chunk,
    spilled: Vec<FileEntry>,
    most: usize,
    base: u32,
    pub(crate) sizes: Sizes,
    // A buffer.
    docs: Vec<u32>,
}

impl<'a> Groups<'a> {
    /// Documents from `base` on are new; at most `budget` bytes of groups in memory.
    pub(crate) fn new(scratch: &'a dyn Storage, base: u32, budget: u64) -> Groups<'a> {
        let most = usize::try_from(budget / 4).unwrap_or(usize::MAX);
        Groups {
            scratch,
            chunk: Chunk::default(),
            spilled: Vec::new(),
            most: most.clamp(1 << 6, 1 << 30),
            base,
            sizes: Sizes::default(),
            docs: Vec::new(),
        }
    }

    /// Adds the groups of one sorted partition of new postings.
    pub(crate) fn partition(
        &mut self,
        partition: usize,
        sorted: &Sorted,
        segments: &mut [Buckets<'_>],
    ) -> Result<(), StorageError> {
        let buckets = sorted.ends.len();
        let first = partition * buckets;
        let is_used = |bucket: &usize| !sorted.bucket(*bucket).is_empty();
        // Reading a bucket costs a look at each segment; a small sweep has use for few of
        // them, and must not read all that there is.
        let at_once = match (0..buckets).filter(is_used).count() {
            many if many * 8 >= buckets => buckets,
            _ => 1,
        };
        for from in (0..buckets).step_by(at_once) {
            let mut used = (from..from + at_once).filter(is_used).peekable();
            if used.peek().is_none() {
                continue;
            }
            for segment in &mut *segments {
                segment.hold(first + from..first + from + at_once)?;
            }
            let mut older = Vec::with_capacity(segments.len());
            for bucket in used {
                older.clear();
                older.extend(segments.iter().map(|one| one.bucket(first + bucket)));
                self.bucket(sorted.bucket(bucket), &mut older)?;
            }
        }
        Ok(())
    }

    /// Adds the groups of one bucket. Of the older postings none is needed twice.
    fn bucket(&mut self, new: &[u64], older: &mut [&[u64]]) -> Result<(), StorageError> {
        let rest = |posting: u64| posting >> 32;
        for same in new.chunk_by(|x, y| rest(*x) == rest(*y)) {
            let key = rest(same[0]);
            self.docs.clear();
            for older in &mut *older {
                *older = skip(older, |posting| rest(posting) < key);
                while let [posting, after @ ..] = *older
                    && rest(*posting) == key
                {
                    self.docs.push(doc_of(*posting));
                    *older = after;
                }
            }
            let older = self.docs.len();
            if older + same.len() < 2 {
                continue;
            }
            self.docs
                .extend(same.iter().map(|posting| doc_of(*posting)));
            // Two samples of one document may share what is kept of their keys.
            self.docs.dedup();
            let new = self.docs.len() - older;
            if self.docs.len() < 2 {
                continue;
            }
            self.sizes.add(older, new);
            self.docs[0] |= FIRST;
            self.chunk.members.extend_from_slice(&self.docs);
            if self.chunk.members.len() >= self.most {
                self.spill()?;
            }
        }
        Ok(())
    }

    fn spill(&mut self) -> Result<(), StorageError> {
        let number = self.spilled.len();
        let name = format!("groups-{number:05}.lk");
        let mut file = BlockWriter::create(self.scratch, &name, FileKind::Scratch, number as u64)?;
        file.append_records(&self.chunk.members)?;
        self.spilled.push(file.finish_scratch()?);
        self.chunk.members.clear();
        Ok(())
    }

    /// All groups are there: how many chunks they are in.
    pub(crate) fn chunks(&self) -> usize {
        self.spilled.len() + usize::from(!self.chunk.members.is_empty())
    }

    /// Takes a chunk; each can be taken again but the last, which was never written.
    pub(crate) fn chunk(&mut self, number: usize) -> Result<Chunk, StorageError> {
        let Some(entry) = self.spilled.get(number) else {
            return Ok(std::mem::take(&mut self.chunk));
        };
        let mut stream = BlockReader::open(self.scratch, entry)?.all_records::<u32>(8)?;
        let mut members = Vec::new();
        while let Some(batch) = stream.next_batch()? {
            members.extend_from_slice(batch);
        }
        Ok(Chunk { members })
    }

    /// Calls `each` with the number of every group larger than `cap`, and each of its
    /// documents.
    pub(crate) fn common_members(
        &mut self,
        cap: usize,
        mut each: impl FnMut(u32, u32),
    ) -> Result<(), StorageError> {
        let mut common = 0;
        for number in 0..self.chunks() {
            let chunk = self.chunk(number)?;
            for group in chunk.groups().filter(|group| group.len() > cap) {
                group.for_each(|place| each(common, chunk.doc(place)));
                common += 1;
            }
            if number == self.spilled.len() {
                self.chunk = chunk;
            }
        }
        Ok(())
    }

    /// The first new document.
    pub(crate) fn base(&self) -> u32 {
        self.base
    }

    /// Bytes written to scratch.
    pub(crate) fn spilled_len(&self) -> u64 {
        self.spilled.iter().map(|entry| entry.file_len).sum()
    }

    /// Removes what was spilled.
    pub(crate) fn remove(&self) -> Result<(), StorageError> {
        for entry in &self.spilled {
            let removed = self.scratch.remove(&entry.name);
            removed.map_err(|error| StorageError::io(&entry.name, error))?;
        }
        Ok(())
    }
}
