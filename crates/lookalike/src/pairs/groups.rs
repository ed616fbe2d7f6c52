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
//!
//! A partition at a time: the new keys are looked up by their first bits for each older
//! posting, segment after segment, so that the older documents of a key come in order. N new
//! and M older postings: O(N + M), whatever the number of segments, nearly without branches
//! that depend on the data; small sweeps added one by one are all such branches otherwise.
//! Where M is much larger, keys are searched for instead: O(N log M), but for reading.

use std::ops::Range;

use super::postings::{KEY_BITS, OlderPostings, Sorted, keyed};
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

/// How many groups have how many documents, and how many meetings of two documents they
/// would make.
#[derive(Debug, Default)]
pub(crate) struct Sizes {
    /// By size, up to the largest there is; those above [`SIZES`] are in its last place.
    meetings: Vec<u64>,
    counts: Vec<u64>,
    pub(crate) groups: u64,
    pub(crate) memberships: u64,
}

/// So many group sizes are told apart.
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
    /// Adds so many groups of a size.
    pub(crate) fn add_many(&mut self, older: usize, new: usize, groups: u64) {
        let size = (older + new).min(SIZES - 1);
        if size >= self.counts.len() {
            self.meetings.resize(size + 1, 0);
            self.counts.resize(size + 1, 0);
        }
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
        // Too many even so, of groups that are always looked at whole.
        if sum > affordable {
            return LEAST_CAP;
        }
        usize::MAX
    }

    /// How many groups are larger than a size.
    pub(crate) fn above(&self, cap: usize) -> u64 {
        self.counts.iter().skip(cap.saturating_add(1)).sum()
    }
}

/// The new postings of a partition, by key.
#[derive(Debug, Default)]
struct New {
    /// Each key once, increasing, and two behind them that are larger than any.
    keys: Vec<u64>,
    /// Where the documents of each key begin, and where the last end.
    starts: Vec<u32>,
    /// A document is there once for a key.
    docs: Vec<u32>,
    /// By the first bits of a key: how many keys have smaller ones.
    slots: Vec<u32>,
    /// How many bits are behind these.
    shift: u32,
    // A buffer.
    steps: Vec<u8>,
}

/// Larger than any key.
const NO_KEY: u64 = u64::MAX;

impl New {
    /// How many keys there are.
    fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Takes a partition in place of the one before.
    fn set(&mut self, sorted: &Sorted) {
        let all = sorted.postings.len();
        sorted.steps(&mut self.steps);
        self.keys.resize(all + 2, 0);
        self.starts.resize(all + 1, 0);
        self.docs.resize(all, 0);
        let (mut keys, mut docs) = (0, 0);
        let mut last = (NO_KEY, 0);
        // Everything is written, and stays where it is something new.
        for (key, doc) in keyed(&self.steps, &sorted.postings) {
            // Two samples of one document may share what is kept of their keys.
            let is_new = (key, doc) != last;
            let is_new_key = key != last.0;
            self.keys[keys] = key;
            self.starts[keys] = to_u32(docs);
            self.docs[docs] = doc;
            keys += usize::from(is_new_key);
            docs += usize::from(is_new);
            last = (key, doc);
        }
        self.starts[keys] = to_u32(docs);
        self.starts.truncate(keys + 1);
        self.docs.truncate(docs);
        self.keys.truncate(keys);
        self.keys.extend([NO_KEY; 2]);
    }

    /// Makes them ready to be looked up: two to four slots a key, so that few slots have
    /// more than one.
    fn index(&mut self) {
        let bits = (2 * self.len()).next_power_of_two().ilog2().min(KEY_BITS);
        self.shift = KEY_BITS - bits;
        self.slots.clear();
        self.slots.resize(1 << bits, 0);
        for key in &self.keys[..self.len()] {
            self.slots[first_bits(*key, self.shift)] += 1;
        }
        let mut before = 0;
        for slot in &mut self.slots {
            before += std::mem::replace(slot, before);
        }
    }

    /// Appends the older documents that have one of the keys: place of the key and document
    /// in one number, by key.
    fn meet(&self, older: &OlderPostings, met: &mut Vec<u64>) {
        let mut count = met.len();
        met.resize(count + older.len(), 0);
        let mut last = (NO_KEY, 0);
        for (key, doc) in older.keyed() {
            let mut at = self.slots[first_bits(key, self.shift)] as usize;
            while self.keys[at + 1] < key {
                at += 1;
            }
            // Keys are there once, so it is one of the two at most.
            let is_first = usize::from(self.keys[at] == key);
            let is_second = usize::from(self.keys[at + 1] == key);
            let one = ((at + is_second) as u64) << 32 | u64::from(doc);
            met[count] = one;
            count += (is_first + is_second) & usize::from((key, doc) != last);
            last = (key, doc);
        }
        met.truncate(count);
    }

    /// The same where keys are few: each is searched for in its bucket.
    fn meet_among_many(&self, older: &OlderPostings, met: &mut Vec<u64>) {
        let bucket_of = |at: usize| self.keys[at] >> 32;
        let mut at = 0;
        for (bucket, mut postings) in older.by_bucket() {
            let bucket = u64::from(bucket);
            while bucket_of(at) < bucket {
                at += 1;
            }
            while bucket_of(at) == bucket {
                let rest = self.keys[at] & 0xffff_ffff;
                let first = postings.partition_point(|posting| posting >> 32 < rest);
                postings = &postings[first..];
                for posting in postings.iter().take_while(|it| **it >> 32 == rest) {
                    let one = (at as u64) << 32 | (posting & 0xffff_ffff);
                    if met.last() != Some(&one) {
                        met.push(one);
                    }
                }
                at += 1;
            }
        }
    }
}

/// So many older postings for a new key make it faster to search for the key than to go
/// through them.
const MANY: usize = 16;

fn to_u32(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// A key without so many bits at its end.
#[inline]
fn first_bits(key: u64, shift: u32) -> usize {
    usize::try_from(key >> shift).unwrap_or(usize::MAX)
}

/// Groups on their way from the postings to the counts.
pub(crate) struct Groups<'a> {
    scratch: &'a dyn Storage,
    chunk: Chunk,
    spilled: Vec<FileEntry>,
    most: usize,
    base: u32,
    pub(crate) sizes: Sizes,
    // Buffers, of one partition.
    new: New,
    met: Vec<u64>,
    places: Vec<u32>,
}

impl<'a> Groups<'a> {
    /// Documents from `base` on are new; at most `budget` bytes of groups in memory, and
    /// those of one partition.
    pub(crate) fn new(scratch: &'a dyn Storage, base: u32, budget: u64) -> Groups<'a> {
        let most = usize::try_from(budget / 4).unwrap_or(usize::MAX);
        Groups {
            scratch,
            chunk: Chunk::default(),
            spilled: Vec::new(),
            most: most.clamp(1 << 6, 1 << 30),
            base,
            sizes: Sizes::default(),
            new: New::default(),
            met: Vec::new(),
            places: Vec::new(),
        }
    }

    /// Adds the groups of one sorted partition of new postings. Partitions come in order,
    /// those without postings may be left out.
    pub(crate) fn partition(
        &mut self,
        partition: usize,
        sorted: &Sorted,
        segments: &mut [OlderPostings],
    ) -> Result<(), StorageError> {
        if sorted.postings.is_empty() {
            return Ok(());
        }
        self.new.set(sorted);
        self.met.clear();
        if !segments.is_empty() {
            self.new.index();
            let used = sorted.used();
            for segment in segments {
                segment.hold(partition, &used)?;
                if segment.len() / MANY > self.new.len() {
                    self.new.meet_among_many(segment, &mut self.met);
                } else {
                    self.new.meet(segment, &mut self.met);
                }
            }
        }
        self.put();
        if self.chunk.members.len() >= self.most {
            self.spill()?;
        }
        Ok(())
    }

    /// Puts the documents of each key that has two at least side by side: older ones, which
    /// were met in the order of their segments, then new ones.
    fn put(&mut self) {
        let keys = self.new.len();
        let place_of = |met: u64| (met >> 32) as usize;
        // First how many older documents each key has, then where the next of them goes.
        self.places.clear();
        self.places.resize(keys, 0);
        for &met in &self.met {
            self.places[place_of(met)] += 1;
        }
        let members = &mut self.chunk.members;
        let mut end = members.len();
        // One more: the last key may have a single document.
        members.resize(end + self.met.len() + self.new.docs.len() + 1, 0);
        for (place, own) in self.places.iter_mut().zip(self.new.starts.windows(2)) {
            let docs = &self.new.docs[own[0] as usize..own[1] as usize];
            let older = *place as usize;
            *place = to_u32(end);
            let size = older + docs.len();
            members[end + older] = docs[0];
            if docs.len() > 1 {
                members[end + older..end + size].copy_from_slice(docs);
            }
            // A document by itself is no group: what it writes here the next group writes
            // over. An older document is put to the mark below.
            members[end] = FIRST | if older == 0 { docs[0] } else { 0 };
            let groups = usize::from(size > 1);
            self.sizes.add_many(older, docs.len(), groups as u64);
            end += groups * size;
        }
        for &met in &self.met {
            let place = &mut self.places[place_of(met)];
            members[*place as usize] |= (met & 0xffff_ffff) as u32;
            *place += 1;
        }
        members.truncate(end);
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

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use lookalike_testkit::texts::Draw;

    use super::*;
    use crate::pairs::postings::{PARTITIONS, Partitions, PostingsWriter};
    use crate::storage::sim::SimFs;

    type Posting = (u64, u32);

    /// A segment as an adder writes it, and finds it again.
    fn segment(storage: &SimFs, number: usize, all: &[Posting]) -> OlderPostings {
        let mut partitions = Partitions::new(storage, 1 << 20, 0);
        for &(key, doc) in all {
            partitions.push(key, doc).expect("pushed");
        }
        let sortable = partitions.finish().expect("finished");
        let create = |what: &str, kind| {
            let name = format!("{what}-{number}.lk");
            BlockWriter::create(storage, &name, kind, number as u64).expect("created")
        };
        let mut writer = PostingsWriter::new(create("postings", FileKind::Fingerprints));
        for partition in 0..PARTITIONS {
            let sorted = sortable.sort(partition).expect("sorted");
            writer.partition(&sorted).expect("written");
        }
        let (postings, fences) = writer.finish().expect("written");
        let mut fence_file = create("fences", FileKind::Lookup);
        fence_file.append(&fences).expect("written");
        let fences = fence_file.finish().expect("written");
        OlderPostings::open(storage, &postings, &fences).expect("opened")
    }

    /// The groups of new postings and older ones, as documents and how many are older; and
    /// their sizes.
    fn groups_of(
        new: &[Posting],
        older: &[Vec<Posting>],
        base: u32,
        budget: u64,
    ) -> (Vec<Vec<u32>>, Sizes) {
        let storage = SimFs::new();
        let segments = older.iter().enumerate();
        let mut segments: Vec<_> = segments
            .map(|(number, all)| segment(&storage, number, all))
            .collect();
        let mut partitions = Partitions::new(&storage, 1 << 20, 0);
        for &(key, doc) in new {
            partitions.push(key, doc).expect("pushed");
        }
        let sortable = partitions.finish().expect("finished");
        let mut groups = Groups::new(&storage, base, budget);
        let (mut met, mut searched) = (Vec::new(), Vec::new());
        for partition in 0..PARTITIONS {
            let sorted = sortable.sort(partition).expect("sorted");
            groups
                .partition(partition, &sorted, &mut segments)
                .expect("added");
            met.clear();
            searched.clear();
            for segment in segments.iter().filter(|_| !sorted.postings.is_empty()) {
                groups.new.meet(segment, &mut met);
                groups.new.meet_among_many(segment, &mut searched);
                assert_eq!(met, searched);
            }
        }
        let mut all = Vec::new();
        for number in 0..groups.chunks() {
            let chunk = groups.chunk(number).expect("read");
            all.extend((chunk.groups()).map(|group| group.map(|place| chunk.doc(place)).collect()));
        }
        (all, groups.sizes)
    }

    /// The same by definition: the documents of each key, where one is new and there are two.
    fn by_definition(
        new: &[Posting],
        older: &[Vec<Posting>],
        base: u32,
    ) -> (Vec<Vec<u32>>, Vec<(usize, usize)>) {
        let mut by_key: BTreeMap<u64, BTreeSet<u32>> = BTreeMap::new();
        for (key, doc) in older.iter().flatten().chain(new) {
            by_key.entry(key >> 16).or_default().insert(*doc);
        }
        let groups = by_key.into_values().map(Vec::from_iter);
        let groups = groups.filter(|docs| docs.len() > 1 && docs.iter().any(|doc| *doc >= base));
        let groups: Vec<Vec<u32>> = groups.collect();
        let sizes = groups.iter().map(|docs| {
            let older = docs.iter().filter(|doc| **doc < base).count();
            (older, docs.len() - older)
        });
        let sizes = sizes.collect();
        (groups, sizes)
    }

    fn check(new: &[Posting], older: &[Vec<Posting>], base: u32) {
        let (expected, expected_sizes) = by_definition(new, older, base);
        for budget in [0, 1 << 12, 1 << 24] {
            let (got, sizes) = groups_of(new, older, base, budget);
            assert!(got == expected, "{} segments, {budget}", older.len());
            assert_eq!(sizes.groups, expected.len() as u64);
            let memberships: usize = expected.iter().map(Vec::len).sum();
            assert_eq!(sizes.memberships, memberships as u64);
            let largest = expected.iter().map(Vec::len).max().unwrap_or(0);
            for size in 0..=largest + 1 {
                let above = expected.iter().filter(|docs| docs.len() > size).count();
                assert_eq!(sizes.above(size), above as u64);
            }
            let meetings = |(older, new): &(usize, usize)| older * new + new * (new - 1) / 2;
            let meetings: usize = expected_sizes.iter().map(meetings).sum();
            assert_eq!(sizes.meetings.iter().sum::<u64>(), meetings as u64);
        }
    }

    #[test]
    fn groups_are_the_documents_of_each_key() {
        let mut draw = Draw::new(5);
        // Keys all over, in few buckets, in one; what differs below the 48 bits that are
        // kept is one key.
        let spread: [fn(u64) -> u64; 4] = [
            |n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15),
            |n| (n % 5) << 61 | (n / 5) << 16 | (n % 7),
            |n| n << 14,
            |n| u64::MAX - (n << 15),
        ];
        for key in spread {
            for (keys, postings) in [(3, 20), (400, 300), (5000, 3000)] {
                for segments in 0..5_u32 {
                    let mut some = |docs: std::ops::Range<u32>| -> Vec<Posting> {
                        let count = draw.below(postings + 1);
                        let doc = |draw: &mut Draw| {
                            docs.start + u32::try_from(draw.below(9)).expect("small")
                        };
                        (0..count)
                            .map(|_| (key(draw.below(keys)), doc(&mut draw)))
                            .collect()
                    };
                    let older: Vec<_> = (0..segments).map(|s| some(9 * s..9 * s + 9)).collect();
                    let base = 9 * segments;
                    let new = some(base..base + 9);
                    check(&new, &older, base);
                }
            }
        }
    }

    #[test]
    fn few_buckets_of_a_large_segment_are_enough() {
        let mut draw = Draw::new(6);
        // Two partitions of more than a block, and a key in each.
        let key = |draw: &mut Draw| draw.below(2) << 62 | draw.below(1 << 56) >> 20 << 20;
        let mut large: Vec<Posting> = (0..30_000).map(|doc| (key(&mut draw), doc)).collect();
        // Two samples of one document.
        large.push((large[0].0 | 1, large[0].1));
        let small: Vec<Posting> = large.iter().step_by(3).map(|one| (one.0, 30_000)).collect();
        let mut new: Vec<Posting> = (large.iter().step_by(1500))
            .map(|one| (one.0, 30_001))
            .collect();
        new.push((0, 30_002));
        new.push((u64::MAX, 30_002));
        check(&new, &[large, small], 30_001);
    }

    #[test]
    fn a_cap_does_not_depend_on_the_largest_size_there_is() {
        let mut sizes = Sizes::default();
        assert_eq!((sizes.cap(), sizes.above(0)), (usize::MAX, 0));
        // So many that it is too much, but no group is larger than may always meet.
        sizes.add_many(0, LEAST_CAP - 1, FREE_MEETINGS);
        assert_eq!((sizes.cap(), sizes.above(LEAST_CAP)), (LEAST_CAP, 0));
        sizes.add_many(10, 1 << 17, 1);
        assert_eq!((sizes.cap(), sizes.above(LEAST_CAP)), (LEAST_CAP, 1));
    }
}
