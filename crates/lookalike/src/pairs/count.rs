//! Groups → how many fingerprints each two documents share.
//!
//! ```text
//! for each new document a:  for each group it is in:  for each earlier member b:
//!                               count[b] += 1
//! ```
//!
//! One counter a document, no pair list: only the b that were met are looked at. Groups
//! that do not fit in memory come in chunks, and the counts of one a from all chunks are
//! added up.
//!
//! **Common fingerprints.** A group larger than the cap, which follows from the sizes of
//! all groups, would make quadratic work. There a document meets only the smallest
//! documents of the group, which resemble it most where the group's text is all they
//! share, and those next to it in size. How many common fingerprints a pair shares is then
//! counted from the lists of them, so nothing common is left out of a figure. Two documents that
//! share rarer fingerprints meet there as all others do.

use std::num::NonZeroUsize;
use std::ops::Range;

use lookalike_core::estimate::Overlap;

use super::Pair;
use super::groups::{Chunk, FIRST, Groups};
use super::judge::{Judge, Judging};
use crate::blocks::{BlockReader, BlockWriter, FileEntry, FileKind, RecordStream};
use crate::collection::sketches::Sketches;
use crate::parallel;
use crate::storage::{Storage, StorageError};

/// The smallest documents of a common group that all others meet.
const HUBS: usize = 8;

/// The neighbours in size, on either side, that a document of a common group meets.
const NEIGHBOURS: usize = 4;

/// Documents whose pairs one thread counts in one go.
const TASK: usize = 2048;

/// What counting came to.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Counted {
    /// Pairs kept.
    pub(crate) pairs: u64,
    /// Pairs above the floor that were not kept, for their documents have many better.
    pub(crate) set_aside: u64,
    /// Groups too large for every two of their documents to meet.
    pub(crate) common: u64,
    /// From which size on.
    pub(crate) cap: usize,
    /// Bytes written to scratch.
    pub(crate) scratch: u64,
}

/// Marks a place in a common group.
const COMMON: u32 = 1 << 31;

/// Counters of what is not counted.
const IDLE: usize = 8;

/// A chunk made ready: for each new document the places where it is a member.
struct Ready {
    chunk: Chunk,
    /// Of each new document, where its places begin.
    starts: Vec<u32>,
    /// Places among the members, those in common groups marked.
    places: Vec<u32>,
    /// The common groups, by size of their documents.
    common: Vec<Range<usize>>,
}

impl Ready {
    fn new(
        mut chunk: Chunk,
        base: u32,
        new: usize,
        cap: usize,
        size: impl Fn(u32) -> u64,
    ) -> Ready {
        let mut common = Vec::new();
        if cap < usize::MAX {
            let groups: Vec<Range<usize>> = chunk.groups().filter(|g| g.len() > cap).collect();
            for group in groups {
                let members = &mut chunk.members[group.clone()];
                members[0] &= !FIRST;
                members.sort_unstable_by_key(|&doc| (size(doc), doc));
                members[0] |= FIRST;
                common.push(group);
            }
        }
        // A counter for each new document, and some for older ones. Which a member is cannot
        // be foreseen, so both are counted: not to count would take longer. They take turns,
        // for each waits for what was last written to it.
        let slot = |place: usize, member: u32| {
            let i = (member & !FIRST).wrapping_sub(base) as usize;
            if i < new { i } else { new + place % IDLE }
        };
        let mut next = vec![0_u32; new + IDLE];
        for (place, &member) in chunk.members.iter().enumerate() {
            next[slot(place, member)] += 1;
        }
        let mut starts = Vec::with_capacity(new + 1);
        let mut all = 0;
        for count in &mut next[..new] {
            starts.push(all);
            all += std::mem::replace(count, all);
        }
        starts.push(all);
        // One more place, for older documents.
        next[new..].fill(all);
        let mut places = vec![0; all as usize + 1];
        let mut common_left = common.iter().cloned();
        let mut following = || common_left.next().unwrap_or(usize::MAX..usize::MAX);
        let mut next_common = following();
        for (place, &member) in chunk.members.iter().enumerate() {
            if place >= next_common.end {
                next_common = following();
            }
            let is_common = place >= next_common.start;
            let slot = slot(place, member);
            // Chunks have fewer than 2^31 members.
            let marked = to_u32(place) | if is_common { COMMON } else { 0 };
            places[next[slot] as usize] = marked;
            next[slot] += u32::from(slot < new);
        }
        places.truncate(all as usize);
        Ready {
            chunk,
            starts,
            places,
            common,
        }
    }

    fn common_group(&self, place: usize) -> Range<usize> {
        let at = self.common.partition_point(|group| group.end <= place);
        self.common[at].clone()
    }

    /// Calls `meet` with each earlier document that shares a group with a new one, once
    /// a group.
    /// Meeting in a common group is told with a weight of 0: see [`Common`].
    fn meetings(&self, doc: u32, base: u32, mut meet: impl FnMut(u32, u32)) {
        let i = (doc - base) as usize;
        let places = &self.places[self.starts[i] as usize..self.starts[i + 1] as usize];
        // The groups of a document lie all over the memory. Touched all at once they come
        // together; one after the other, each is waited for.
        let touched = places.iter().fold(0, |sum, &place| {
            sum ^ self.chunk.members[(place & !COMMON) as usize]
        });
        std::hint::black_box(touched);
        for &place in places {
            if place & COMMON != 0 {
                let place = (place & !COMMON) as usize;
                let group = self.common_group(place);
                let at = place - group.start;
                for k in met_in_common(at, group.len()) {
                    let other = self.chunk.doc(group.start + k);
                    if other < doc {
                        meet(other, 0);
                    }
                }
                continue;
            }
            // Backwards to the first of the group: all of them earlier.
            let mut k = place as usize;
            while self.chunk.members[k] & FIRST == 0 {
                k -= 1;
                meet(self.chunk.members[k] & !FIRST, 1);
            }
        }
    }
}

fn to_u32(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// Which places of a common group, sorted by size, the document at a place meets: all if
/// it is one of the smallest, else these and those next to it.
pub(crate) fn met_in_common(at: usize, len: usize) -> impl Iterator<Item = usize> {
    let near = at.saturating_sub(NEIGHBOURS)..(at + NEIGHBOURS + 1).min(len);
    let (hubs, all) = if at < HUBS {
        (0..0, 0..len)
    } else {
        (0..HUBS.min(near.start), near)
    };
    hubs.chain(all)
}

/// Counters, one a document, all 0 between two uses.
struct Counters {
    counts: Vec<u32>,
    met: Vec<u32>,
}

impl Counters {
    fn new(documents: usize) -> Counters {
        Counters {
            counts: vec![0; documents],
            met: Vec::new(),
        }
    }

    #[inline]
    fn add(&mut self, doc: u32, times: u32) {
        let count = &mut self.counts[doc as usize];
        if *count == 0 {
            self.met.push(doc);
            // That it was met at all.
            *count = 1;
        }
        *count += 2 * times;
    }

    /// Hands out what was counted, in no order.
    fn drain(&mut self, mut each: impl FnMut(u32, u32)) {
        for doc in self.met.drain(..) {
            each(doc, std::mem::take(&mut self.counts[doc as usize]) / 2);
        }
    }
}

/// Which common fingerprints each document has, as their numbers, increasing: 4 bytes a
/// membership, and 4 a document. Empty when nothing is common.
///
/// Pages of one template have nearly all of them, and each two of these pages are asked
/// about. There a bit for each common fingerprint is no larger than the lists, and two rows
/// of bits are compared in a few instructions.
#[derive(Debug, Default)]
pub(crate) struct Common {
    starts: Vec<u32>,
    numbers: Vec<u32>,
    /// Words of bits a document; 0 where lists are smaller.
    words: usize,
    bits: Vec<u64>,
}

impl Common {
    fn gather(
        groups: &mut Groups<'_>,
        cap: usize,
        documents: usize,
    ) -> Result<Common, StorageError> {
        let mut starts = vec![0_u32; documents + 1];
        groups.common_members(cap, |_, doc| starts[doc as usize + 1] += 1)?;
        for i in 1..starts.len() {
            starts[i] += starts[i - 1];
        }
        let mut numbers = vec![0; starts.last().map_or(0, |&all| all as usize)];
        let mut next = starts.clone();
        groups.common_members(cap, |group, doc| {
            let place = &mut next[doc as usize];
            numbers[*place as usize] = group;
            *place += 1;
        })?;
        Ok(Common::new(starts, numbers))
    }

    fn new(starts: Vec<u32>, numbers: Vec<u32>) -> Common {
        let mut common = Common {
            starts,
            numbers,
            words: 0,
            bits: Vec::new(),
        };
        let documents = common.starts.len() - 1;
        let most = common.numbers.iter().max();
        let words = most.map_or(0, |&most| most as usize / 64 + 1);
        if words * documents * size_of::<u64>() <= common.numbers.len() * size_of::<u32>() {
            let mut bits = vec![0; words * documents];
            for (doc, row) in (0..).zip(bits.chunks_exact_mut(words.max(1))) {
                for &number in common.of(doc) {
                    row[number as usize / 64] |= 1_u64 << (number % 64);
                }
            }
            (common.words, common.bits) = (words, bits);
        }
        common
    }

    /// From ⟨document, number⟩, sorted.
    pub(crate) fn of_pairs(pairs: &[(u32, u32)]) -> Common {
        let documents = pairs.last().map_or(0, |one| one.0 as usize + 1);
        let mut starts = vec![0_u32; documents + 1];
        for (doc, _) in pairs {
            starts[*doc as usize + 1] += 1;
        }
        for i in 1..starts.len() {
            starts[i] += starts[i - 1];
        }
        Common::new(starts, pairs.iter().map(|one| one.1).collect())
    }

    /// The common fingerprints of a document.
    pub(crate) fn of(&self, doc: u32) -> &[u32] {
        let doc = doc as usize;
        match self.starts.get(doc..doc + 2) {
            Some(&[from, to]) => &self.numbers[from as usize..to as usize],
            _ => &[],
        }
    }

    /// How many common fingerprints two documents share.
    #[inline]
    pub(crate) fn shared(&self, a: u32, b: u32) -> usize {
        if self.words == 0 {
            return self.shared_by_lists(a, b);
        }
        let row = |doc: u32| {
            let from = doc as usize * self.words;
            self.bits.get(from..from + self.words).unwrap_or(&[])
        };
        let both = row(a).iter().zip(row(b));
        both.map(|(x, y)| (x & y).count_ones() as usize).sum()
    }

    fn shared_by_lists(&self, a: u32, b: u32) -> usize {
        Overlap::of_sorted(self.of(a), self.of(b)).common
    }
}

/// Counts the pairs of the new documents among themselves and with older ones, and hands
/// those worth keeping to `keep`, by later document and then by earlier one.
pub(crate) fn count(
    scratch: &dyn Storage,
    groups: &mut Groups<'_>,
    judging: &Judging<'_, Sketches>,
    threads: NonZeroUsize,
    mut keep: impl FnMut(&Pair) -> Result<(), StorageError>,
) -> Result<Counted, StorageError> {
    let cap = groups.sizes.cap();
    let base = groups.base();
    let documents = judging.sketches().documents() as usize;
    let new = documents - base as usize;
    let mut counted = Counted {
        common: groups.sizes.above(cap),
        cap,
        scratch: groups.spilled_len(),
        ..Counted::default()
    };
    let common = if cap < usize::MAX {
        Common::gather(groups, cap, documents)?
    } else {
        Common::default()
    };
    let size = |doc: u32| judging.size(doc);
    let chunks = groups.chunks();
    let tasks = new.div_ceil(TASK);
    let range = |task: usize| task * TASK..((task + 1) * TASK).min(new);
    let doc_at = |i: usize| base + u32::try_from(i).unwrap_or(u32::MAX);
    if chunks <= 1 {
        let chunk = groups.chunk(0)?;
        let ready = Ready::new(chunk, base, new, cap, size);
        parallel::in_order(
            threads,
            tasks,
            || (Counters::new(documents), Judge::new(judging, &common)),
            |(counters, judge), task| {
                for i in range(task) {
                    let doc = doc_at(i);
                    ready.meetings(doc, base, |other, weight| counters.add(other, weight));
                    judge.begin(doc);
                    let mut wrong = None;
                    counters.drain(|other, common| {
                        if wrong.is_none() {
                            wrong = judge.consider(other, common).err();
                        }
                    });
                    if let Some(wrong) = wrong {
                        return Err(wrong);
                    }
                    judge.end();
                }
                Ok(judge.take())
            },
            |_, (pairs, set_aside)| {
                counted.pairs += pairs.len() as u64;
                counted.set_aside += set_aside;
                pairs.iter().try_for_each(&mut keep)
            },
        )?;
        return Ok(counted);
    }
    // Counts of each chunk go to scratch, by (a, b), and are added up afterwards.
    let mut partial = Vec::new();
    for number in 0..chunks {
        let chunk = groups.chunk(number)?;
        let ready = Ready::new(chunk, base, new, cap, size);
        let name = format!("counts-{number:05}.lk");
        let mut file = BlockWriter::create(scratch, &name, FileKind::Scratch, number as u64)?;
        parallel::in_order(
            threads,
            tasks,
            || Counters::new(documents),
            |counters, task| {
                let mut out: Vec<(u32, u32, u32)> = Vec::new();
                for i in range(task) {
                    let doc = doc_at(i);
                    ready.meetings(doc, base, |other, weight| counters.add(other, weight));
                    let first = out.len();
                    counters.drain(|other, common| out.push((doc, other, common)));
                    out[first..].sort_unstable();
                }
                Ok(out)
            },
            |_, out| file.append_records(&out),
        )?;
        let entry = file.finish_scratch()?;
        counted.scratch += entry.file_len;
        partial.push(entry);
    }
    add_up(
        scratch,
        &partial,
        documents,
        &mut Judge::new(judging, &common),
        |pairs, set_aside| {
            counted.pairs += pairs.len() as u64;
            counted.set_aside += set_aside;
            pairs.iter().try_for_each(&mut keep)
        },
    )?;
    for entry in partial {
        let removed = scratch.remove(&entry.name);
        removed.map_err(|error| StorageError::io(&entry.name, error))?;
    }
    Ok(counted)
}

/// Adds up the counts of several chunks.
fn add_up(
    scratch: &dyn Storage,
    partial: &[FileEntry],
    documents: usize,
    judge: &mut Judge<'_, Sketches>,
    mut keep: impl FnMut(Vec<Pair>, u64) -> Result<(), StorageError>,
) -> Result<(), StorageError> {
    let open = |entry| BlockReader::open(scratch, entry)?.all_records::<(u32, u32, u32)>(4);
    let mut streams: Vec<RecordStream<(u32, u32, u32)>> =
        partial.iter().map(open).collect::<Result<_, _>>()?;
    let mut counters = Counters::new(documents);
    loop {
        let mut next = None;
        for stream in &mut streams {
            if let Some((a, _, _)) = stream.peek()? {
                next = Some(next.map_or(a, |least: u32| least.min(a)));
            }
        }
        let Some(doc) = next else {
            return Ok(());
        };
        for stream in &mut streams {
            while let Some((a, b, common)) = stream.peek()?
                && a == doc
            {
                counters.add(b, common);
                stream.next_record()?;
            }
        }
        judge.begin(doc);
        let mut wrong = Ok(());
        counters.drain(|other, common| {
            if wrong.is_ok() {
                wrong = judge.consider(other, common);
            }
        });
        wrong?;
        judge.end();
        let (pairs, set_aside) = judge.take();
        keep(pairs, set_aside)?;
    }
}

#[cfg(test)]
mod tests {
    use lookalike_testkit::texts::Draw;

    use super::*;

    /// Bits and lists say the same, whichever are smaller.
    #[test]
    fn bits_count_what_lists_do() {
        let mut draw = Draw::new(11);
        for (numbers, share, has_bits) in [(1, 50, false), (200, 80, true), (2000, 1, false)] {
            let mut pairs = Vec::new();
            for doc in 0..60 {
                // Some documents have none.
                let has_any = doc % 7 > 0;
                pairs.extend((0..numbers).filter_map(|number| {
                    (has_any && draw.below(100) < share).then_some((doc, number))
                }));
            }
            // One has all, so that the highest number is there.
            pairs.extend((0..numbers).map(|number| (60, number)));
            let common = Common::of_pairs(&pairs);
            assert_eq!(common.words > 0, has_bits, "{numbers} numbers");
            for (a, b) in (0..63).flat_map(|a| (0..63).map(move |b| (a, b))) {
                assert_eq!(common.shared(a, b), common.shared_by_lists(a, b), "{a} {b}");
            }
        }
        assert_eq!(Common::default().shared(0, 1), 0);
    }
}
