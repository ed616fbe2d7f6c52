//! ⟨fingerprint, document⟩, sorted: the inverted index.
//!
//! ```text
//! key of a sample, 64 bits:  bucket 16 | rest 32 | not kept 16
//! postings file: bucket 0: (rest, doc) (rest, doc) … | bucket 1: … | … bucket 65,535
//! fences file:   for each bucket that is not empty: gap, count       (as varints)
//!
//! samples ─► 256 partitions by their first 8 bits ─► each: by bucket, then sorted
//!            in memory, or spilled once and read once
//! ```
//!
//! Fingerprints are as good as random, so partitions are equal in size and nothing needs
//! merging. 48 bits are kept: of a hundred million fingerprints one in three million
//! meets another by chance, and a pair's figures come from whole sketches where it
//! matters.
//!
//! N postings: O(N log N) compares, but in cache; 12 bytes each while they are sorted, of
//! which no more than the budget in memory; 8 on disk.

use std::ops::Range;

use lookalike_core::recipe::SketchKind;

use crate::blocks::varint::{put_varint, take_varint};
use crate::blocks::{
    BlockCursor, BlockReader, BlockWriter, FileEntry, FileKind, PAYLOAD_LEN, Words,
};
use crate::storage::{Storage, StorageError};

/// How many partitions there are while postings are sorted.
pub const PARTITIONS: usize = 256;

/// How many buckets a partition has.
const BUCKETS: usize = 256;

/// What a sample is found under. Samples that are 0 modulo something have random bits at
/// the top; the smallest of all, and minima, must be spread first.
pub fn key(kind: SketchKind, place: usize, sample: u64) -> u64 {
    // Odd, so that no two samples get one key.
    const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
    match kind {
        SketchKind::Nested { .. } | SketchKind::Mod { .. } => sample,
        SketchKind::Min { .. } | SketchKind::MinMod { .. } => sample.wrapping_mul(SPREAD),
        // A minimum means something only under its own permutation.
        SketchKind::Perm { .. } => {
            let mixed =
                (sample ^ (place as u64).wrapping_mul(0xd6e8_feb8_6659_fd93)).wrapping_mul(SPREAD);
            (mixed ^ mixed >> 32).wrapping_mul(SPREAD)
        }
    }
}

/// A posting on its way: rest of the key, document, bucket.
type Loose = (u32, u32, u32);

/// Postings on their way to being sorted.
pub(crate) struct Partitions<'a> {
    scratch: &'a dyn Storage,
    parts: Vec<Vec<Loose>>,
    spilled: Vec<Option<BlockWriter>>,
    held: usize,
    /// How many may be held in memory.
    most: usize,
    /// Bytes written to scratch.
    spilled_len: u64,
}

impl<'a> Partitions<'a> {
    /// No postings yet; at most `budget` bytes of them will be in memory. There will be no
    /// more than `expected`.
    pub(crate) fn new(scratch: &'a dyn Storage, budget: u64, expected: u64) -> Partitions<'a> {
        let most = usize::try_from(budget / 12).unwrap_or(usize::MAX).max(64);
        // Room at once spares moving them while they grow; a little more, for they are not
        // all of one size.
        let expected = usize::try_from(expected).unwrap_or(usize::MAX).min(most);
        let each = expected / PARTITIONS;
        let part = |_| Vec::with_capacity(each + each / 8);
        Partitions {
            scratch,
            parts: (0..PARTITIONS).map(part).collect(),
            spilled: (0..PARTITIONS).map(|_| None).collect(),
            held: 0,
            most,
            spilled_len: 0,
        }
    }

    pub(crate) fn push(&mut self, key: u64, doc: u32) -> Result<(), StorageError> {
        let rest = ((key >> 16) & 0xffff_ffff) as u32;
        let loose = (rest, doc, (key >> 48) as u32);
        self.parts[(key >> 56) as usize].push(loose);
        self.held += 1;
        if self.held >= self.most {
            self.spill()?;
        }
        Ok(())
    }

    fn spill(&mut self) -> Result<(), StorageError> {
        for (i, part) in self.parts.iter_mut().enumerate() {
            if part.is_empty() {
                continue;
            }
            let file = match &mut self.spilled[i] {
                Some(file) => file,
                none => {
                    let name = format!("sorting-{i:03}.lk");
                    let id = i as u64;
                    none.insert(BlockWriter::create(
                        self.scratch,
                        &name,
                        FileKind::Scratch,
                        id,
                    )?)
                }
            };
            file.append_records(part)?;
            self.spilled_len += 12 * part.len() as u64;
            part.clear();
        }
        self.held = 0;
        Ok(())
    }

    /// All are there.
    pub(crate) fn finish(self) -> Result<Sortable<'a>, StorageError> {
        let mut parts = Vec::with_capacity(PARTITIONS);
        for (held, spilled) in self.parts.into_iter().zip(self.spilled) {
            let spilled = spilled.map(BlockWriter::finish_scratch).transpose()?;
            parts.push((held, spilled));
        }
        Ok(Sortable {
            scratch: self.scratch,
            parts,
            spilled_len: self.spilled_len,
        })
    }
}

/// Postings in partitions, to be sorted one by one.
pub(crate) struct Sortable<'a> {
    scratch: &'a dyn Storage,
    parts: Vec<(Vec<Loose>, Option<FileEntry>)>,
    pub(crate) spilled_len: u64,
}

/// A partition in order.
pub(crate) struct Sorted {
    /// Rest and document in one number, by bucket and then by size.
    pub(crate) postings: Vec<u64>,
    /// Where each bucket ends.
    pub(crate) ends: Vec<usize>,
}

impl Sorted {
    /// Of postings that `each` goes through, twice, in whatever order.
    fn of(
        each: impl Fn(&mut dyn FnMut(&Loose)) -> Result<(), StorageError>,
    ) -> Result<Sorted, StorageError> {
        let mut ends = vec![0_usize; BUCKETS];
        let bucket = |loose: &Loose| (loose.2 & 0xff) as usize;
        each(&mut |loose| ends[bucket(loose)] += 1)?;
        let mut all = 0;
        for end in &mut ends {
            all += std::mem::replace(end, all);
        }
        let mut postings = vec![0; all];
        each(&mut |loose| {
            let place = &mut ends[bucket(loose)];
            postings[*place] = u64::from(loose.0) << 32 | u64::from(loose.1);
            *place += 1;
        })?;
        let mut from = 0;
        for &end in &ends {
            postings[from..end].sort_unstable();
            from = end;
        }
        Ok(Sorted { postings, ends })
    }

    /// Which buckets have postings.
    pub(crate) fn used(&self) -> Wanted {
        let mut used = [false; BUCKETS];
        let mut from = 0;
        for (used, &end) in used.iter_mut().zip(&self.ends) {
            *used = end > from;
            from = end;
        }
        used
    }

    /// Where the bucket changes from one posting to the next: see [`keyed`].
    pub(crate) fn steps(&self, steps: &mut Vec<u8>) {
        let mut from = 0;
        let counts = (0..=u8::MAX).zip(&self.ends).map(|(bucket, &end)| {
            let count = end - from;
            from = end;
            (bucket, count)
        });
        put_steps(counts, self.postings.len(), steps);
    }
}

/// Some of the buckets of a partition.
pub(crate) type Wanted = [bool; BUCKETS];

/// Writes, for each posting of a partition, how much larger its bucket is than that of the
/// posting before it, given how many postings each bucket has.
///
/// A small sweep has a posting or two a bucket: to go through them bucket by bucket would be
/// a loop of unforeseeable length each, and takes three times as long as to add up steps.
fn put_steps(counts: impl Iterator<Item = (u8, usize)>, postings: usize, steps: &mut Vec<u8>) {
    steps.clear();
    // One more: buckets without postings may stand behind the last posting.
    steps.resize(postings + 1, 0);
    let (mut at, mut last) = (0, 0);
    for (bucket, count) in counts {
        steps[at] += bucket - last;
        (at, last) = (at + count, bucket);
    }
    steps.truncate(postings);
}

/// Bits of the keys that postings of one partition are told apart by: those of the bucket
/// and the rest.
pub(crate) const KEY_BITS: u32 = 40;

/// The postings of a partition as keys, bucket and rest in one number, and documents.
#[inline]
pub(crate) fn keyed<'a>(
    steps: &'a [u8],
    postings: &'a [u64],
) -> impl Iterator<Item = (u64, u32)> + 'a {
    let mut bucket = 0_u8;
    steps.iter().zip(postings).map(move |(step, posting)| {
        bucket += step;
        let key = u64::from(bucket) << 32 | posting >> 32;
        (key, (posting & 0xffff_ffff) as u32)
    })
}

impl Sortable<'_> {
    /// How many there are.
    pub(crate) fn len(&self) -> u64 {
        let held: usize = self.parts.iter().map(|(held, _)| held.len()).sum();
        held as u64 + self.spilled_len / 12
    }

    /// Sorts one partition.
    pub(crate) fn sort(&self, partition: usize) -> Result<Sorted, StorageError> {
        let (held, spilled) = &self.parts[partition];
        Sorted::of(|take| {
            if let Some(entry) = spilled {
                let mut stream = BlockReader::open(self.scratch, entry)?.all_records::<Loose>(8)?;
                while let Some(batch) = stream.next_batch()? {
                    batch.iter().for_each(&mut *take);
                }
            }
            held.iter().for_each(take);
            Ok(())
        })
    }

    /// Removes what was spilled.
    pub(crate) fn remove(&self) -> Result<(), StorageError> {
        for entry in self
            .parts
            .iter()
            .filter_map(|(_, spilled)| spilled.as_ref())
        {
            let removed = self.scratch.remove(&entry.name);
            removed.map_err(|error| StorageError::io(&entry.name, error))?;
        }
        Ok(())
    }
}

/// A partition of several segments' postings, in order.
pub(crate) fn merged(
    segments: &mut [OlderPostings],
    partition: usize,
) -> Result<Sorted, StorageError> {
    for segment in &mut *segments {
        segment.hold(partition, &[true; BUCKETS])?;
    }
    Sorted::of(|take| {
        for segment in &*segments {
            for (key, doc) in segment.keyed() {
                take(&((key & 0xffff_ffff) as u32, doc, (key >> 32) as u32));
            }
        }
        Ok(())
    })
}

/// Writes sorted partitions, one after the other.
pub(crate) struct PostingsWriter {
    postings: BlockWriter,
    fences: Vec<u8>,
    empty: u64,
    pub(crate) count: u64,
}

impl PostingsWriter {
    pub(crate) fn new(postings: BlockWriter) -> PostingsWriter {
        PostingsWriter {
            postings,
            fences: Vec::new(),
            empty: 0,
            count: 0,
        }
    }

    pub(crate) fn partition(&mut self, sorted: &Sorted) -> Result<(), StorageError> {
        let mut from = 0;
        for &end in &sorted.ends {
            if end == from {
                self.empty += 1;
                continue;
            }
            put_varint(&mut self.fences, std::mem::take(&mut self.empty));
            put_varint(&mut self.fences, (end - from) as u64);
            from = end;
        }
        self.count += sorted.postings.len() as u64;
        self.postings.append_records(&sorted.postings)
    }

    /// The postings' file and the bytes of the fences.
    pub(crate) fn finish(self) -> Result<(FileEntry, Vec<u8>), StorageError> {
        Ok((self.postings.finish()?, self.fences))
    }
}

/// The postings of one key.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct List {
    /// How many, one at least.
    pub len: u32,
    /// Where they stand; the document itself where there is one, as mostly there is.
    place: u64,
}

/// A key that is being looked for.
#[derive(Clone, Copy, Default)]
struct Sought {
    /// Its middle bits.
    rest: u64,
    /// Its bucket.
    low: u64,
    high: u64,
    /// About where it stands in there.
    guess: u64,
}

impl Sought {
    /// Guesses again, from what stands at the guess.
    #[inline]
    fn refine(&mut self, words: Words<'_>) -> Result<(), StorageError> {
        if self.low < self.high {
            // However wrong, it stays in the bucket.
            let at = self.guess.min(self.high - 1);
            let ahead = self.rest.wrapping_sub(words.get(at)? >> 32).cast_signed();
            let off = ahead.wrapping_mul((self.high - self.low).cast_signed()) >> 32;
            let guess = at.cast_signed().saturating_add(off);
            self.guess = guess.max(0).cast_unsigned().clamp(self.low, self.high - 1);
        }
        Ok(())
    }

    /// Its postings.
    fn list(&self, words: Words<'_>) -> Result<Option<List>, StorageError> {
        let wanted = self.rest << 32;
        let first = lower_bound(words, wanted, self.low, self.guess, self.high)?;
        let mut end = first;
        let mut doc = 0;
        // Most lists are short.
        while end < self.high && end < first + 8 {
            let posting = words.get(end)?;
            if posting >> 32 != self.rest {
                break;
            }
            doc = posting & 0xffff_ffff;
            end += 1;
        }
        if end == first + 8 {
            end = lower_bound(words, wanted + (1 << 32), end, end, self.high)?;
        }
        Ok(match end - first {
            0 => None,
            1 => Some(List { len: 1, place: doc }),
            // A document is in a list once, and there are fewer than 2^31.
            len => Some(List {
                len: u32::try_from(len).unwrap_or(u32::MAX),
                place: first,
            }),
        })
    }
}

/// Looks at all guesses and does nothing with them: so short a loop has more of them under
/// way at once than one that goes on from each.
fn touch(words: Words<'_>, some: &[Sought]) -> Result<(), StorageError> {
    let mut seen = 0;
    for sought in some {
        if sought.guess < sought.high {
            seen ^= words.get(sought.guess)?;
        }
    }
    std::hint::black_box(seen);
    Ok(())
}

/// The first of `low..high` that is not smaller, sought from a guess in ever larger steps.
fn lower_bound(
    words: Words<'_>,
    wanted: u64,
    mut low: u64,
    guess: u64,
    mut high: u64,
) -> Result<u64, StorageError> {
    let is_below = |at: u64| Ok::<bool, StorageError>(words.get(at)? < wanted);
    let mut step = 4;
    if guess < high && is_below(guess)? {
        low = guess + 1;
        while low + step < high && is_below(low + step)? {
            low += step + 1;
            step *= 4;
        }
        high = high.min(low + step);
    } else {
        high = guess.min(high);
        while high > low + step && !is_below(high - step)? {
            high -= step;
            step *= 4;
        }
        low = low.max(high.saturating_sub(step));
    }
    while low < high {
        let middle = low + (high - low) / 2;
        if is_below(middle)? {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    Ok(low)
}

/// The postings of one segment.
#[derive(Debug)]
pub struct Postings {
    reader: BlockReader,
    /// Where each bucket begins, and where the last ends.
    starts: Vec<u64>,
}

impl Postings {
    /// Opens a segment's postings.
    pub fn open(
        storage: &dyn Storage,
        postings: &FileEntry,
        fences: &FileEntry,
    ) -> Result<Postings, StorageError> {
        let reader = BlockReader::open(storage, postings)?;
        let bytes = BlockReader::open(storage, fences)?.read_all()?;
        let wrong = || StorageError::damaged(&fences.name, "its buckets make no sense", None);
        if bytes.is_empty() && reader.is_empty() {
            // Memory that nobody has touched: a sweep without anything new costs none.
            let starts = vec![0; PARTITIONS * BUCKETS + 1];
            return Ok(Postings { reader, starts });
        }
        let mut starts = Vec::with_capacity(PARTITIONS * BUCKETS + 1);
        let (mut rest, mut position) = (bytes.as_slice(), 0_u64);
        while !rest.is_empty() {
            let gap = take_varint(&mut rest).ok_or_else(wrong)?;
            let count = take_varint(&mut rest).ok_or_else(wrong)?;
            if gap >= (PARTITIONS * BUCKETS - starts.len()) as u64 {
                return Err(wrong());
            }
            let bucket = starts.len() + usize::try_from(gap).unwrap_or(0);
            starts.resize(bucket + 1, position);
            position = position.checked_add(count).ok_or_else(wrong)?;
        }
        starts.resize(PARTITIONS * BUCKETS + 1, position);
        if reader.record_count::<u64>()? != position {
            return Err(wrong());
        }
        Ok(Postings { reader, starts })
    }

    /// How many there are.
    pub fn len(&self) -> u64 {
        self.starts.last().copied().unwrap_or(0)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The postings of some buckets, rest and document in one number, sorted within each.
    pub fn buckets(&self, buckets: Range<usize>, out: &mut Vec<u64>) -> Result<(), StorageError> {
        out.clear();
        let (from, to) = (self.starts[buckets.start], self.starts[buckets.end]);
        let mut stream = self.reader.records::<u64>(from..to, 4)?;
        while let Some(batch) = stream.next_batch()? {
            out.extend_from_slice(batch);
        }
        Ok(())
    }

    /// Calls `each` with the list of every key that has one, and the place of the key.
    ///
    /// Keys are as good as random, so the place of one is guessed, guessed again from what
    /// stands there, and then searched around there. This is done for some keys at a time,
    /// step by step: their places are far apart, and the memory is waited for together.
    pub fn find_each(
        &self,
        keys: impl IntoIterator<Item = u64>,
        mut each: impl FnMut(usize, List),
    ) -> Result<(), StorageError> {
        const TOGETHER: usize = 32;
        let words = self.reader.words();
        let mut keys = keys.into_iter();
        let mut done = 0;
        loop {
            let mut some = [Sought::default(); TOGETHER];
            let mut count = 0;
            for (sought, key) in some.iter_mut().zip(&mut keys) {
                *sought = self.sought(key);
                count += 1;
            }
            if count == 0 {
                return Ok(());
            }
            let some = &mut some[..count];
            for _ in 0..2 {
                touch(words, some)?;
                for sought in &mut *some {
                    sought.refine(words)?;
                }
            }
            touch(words, some)?;
            for sought in some {
                if let Some(list) = sought.list(words)? {
                    each(done, list);
                }
                done += 1;
            }
        }
    }

    /// A key's bucket, and where it stands in there if keys are spread evenly.
    #[inline]
    fn sought(&self, key: u64) -> Sought {
        let bucket = (key >> 48) as usize;
        let (low, high) = (self.starts[bucket], self.starts[bucket + 1]);
        let rest = (key >> 16) & 0xffff_ffff;
        Sought {
            rest,
            low,
            high,
            guess: low + ((high - low).wrapping_mul(rest) >> 32),
        }
    }

    /// Appends the documents of a list.
    pub fn docs(&self, list: List, out: &mut Vec<u32>) -> Result<(), StorageError> {
        let of = |posting: u64| (posting & 0xffff_ffff) as u32;
        if list.len == 1 {
            out.push(of(list.place));
            return Ok(());
        }
        let (offset, len) = (8 * list.place, 8 * u64::from(list.len));
        self.reader.parts(offset, len, |part| {
            let postings = part.as_chunks().0.iter();
            out.extend(postings.map(|bytes| of(u64::from_le_bytes(*bytes))));
        })
    }

    /// How many postings a bucket has.
    pub fn bucket_len(&self, bucket: usize) -> usize {
        usize::try_from(self.starts[bucket + 1] - self.starts[bucket]).unwrap_or(usize::MAX)
    }
}

/// The postings of a segment that is there already, one partition after the other: what is
/// read of it where others are added.
///
/// Memory: the fences, a block, and the postings of a partition that are wanted. Time: a few
/// instructions for each bucket, and for each posting that is held.
pub(crate) struct OlderPostings {
    cursor: BlockCursor,
    all: u64,
    fences: FileEntry,
    fence_bytes: Vec<u8>,
    /// What of them was decoded, and which bucket and which posting come next.
    decoded: usize,
    bucket: usize,
    position: u64,
    /// The buckets of the partition at hand and how many postings each has.
    counts: Vec<(u8, usize)>,
    held: Vec<u64>,
    steps: Vec<u8>,
}

/// So many postings are in a block, which is read as a whole.
const IN_A_BLOCK: u64 = PAYLOAD_LEN as u64 / 8;

impl OlderPostings {
    /// Opens a segment's postings.
    pub(crate) fn open(
        storage: &dyn Storage,
        postings: &FileEntry,
        fences: &FileEntry,
    ) -> Result<OlderPostings, StorageError> {
        let reader = BlockReader::open(storage, postings)?;
        Ok(OlderPostings {
            cursor: reader.cursor(),
            all: reader.record_count::<u64>()?,
            fence_bytes: BlockReader::open(storage, fences)?.read_all()?,
            fences: fences.clone(),
            decoded: 0,
            bucket: 0,
            position: 0,
            counts: Vec::new(),
            held: Vec::new(),
            steps: Vec::new(),
        })
    }

    /// Reads the postings of a partition, which is behind those read before: all of them, or
    /// where they are many, those of the buckets that are wanted. A small sweep has use for
    /// few of them, and must not read all that there is.
    pub(crate) fn hold(&mut self, partition: usize, wanted: &Wanted) -> Result<(), StorageError> {
        let words = self.decode(partition)?;
        self.held.clear();
        if words.end - words.start > IN_A_BLOCK {
            let is_wanted = |bucket: u8| wanted[usize::from(bucket)];
            // Buckets side by side are read in one go.
            let (mut from, mut run) = (words.start, words.start..words.start);
            for &(bucket, count) in &self.counts {
                let end = from + count as u64;
                if is_wanted(bucket) {
                    if run.end != from {
                        self.cursor.read_words(run, &mut self.held)?;
                        run = from..from;
                    }
                    run.end = end;
                }
                from = end;
            }
            self.cursor.read_words(run, &mut self.held)?;
            self.counts.retain(|(bucket, _)| is_wanted(*bucket));
        } else {
            self.cursor.read_words(words, &mut self.held)?;
        }
        let counts = self.counts.iter().copied();
        put_steps(counts, self.held.len(), &mut self.steps);
        Ok(())
    }

    /// What is held, by bucket.
    pub(crate) fn by_bucket(&self) -> impl Iterator<Item = (u8, &[u64])> {
        let mut rest = self.held.as_slice();
        self.counts.iter().map(move |&(bucket, count)| {
            let (postings, after) = rest.split_at(count);
            rest = after;
            (bucket, postings)
        })
    }

    /// What is held, as [`keyed`].
    #[inline]
    pub(crate) fn keyed(&self) -> impl Iterator<Item = (u64, u32)> {
        keyed(&self.steps, &self.held)
    }

    /// How many are held.
    pub(crate) fn len(&self) -> usize {
        self.held.len()
    }

    /// Decodes the fences of a partition, and tells where its postings stand.
    fn decode(&mut self, partition: usize) -> Result<Range<u64>, StorageError> {
        let wrong = || StorageError::damaged(&self.fences.name, "its buckets make no sense", None);
        let (first, end) = (partition * BUCKETS, (partition + 1) * BUCKETS);
        let mut rest = &self.fence_bytes[self.decoded..];
        let mut from = self.position;
        self.counts.clear();
        while !rest.is_empty() {
            let mut after = rest;
            // Nearly all numbers of a small segment are one byte.
            let (gap, count) = if let [gap @ ..0x80, count @ ..0x80, others @ ..] = rest {
                after = others;
                (u64::from(*gap), u64::from(*count))
            } else {
                let mut next = || take_varint(&mut after).ok_or_else(wrong);
                (next()?, next()?)
            };
            if gap >= (PARTITIONS * BUCKETS - self.bucket) as u64 {
                return Err(wrong());
            }
            let bucket = self.bucket + usize::try_from(gap).unwrap_or(0);
            if bucket >= end {
                break;
            }
            let position = self.position.checked_add(count);
            self.position = position.filter(|it| *it <= self.all).ok_or_else(wrong)?;
            if bucket < first {
                from = self.position;
            } else {
                // Below the bucket's number of 256, and of postings that are there.
                let number = u8::try_from(bucket - first).unwrap_or(u8::MAX);
                let count = usize::try_from(count).map_err(|_| wrong())?;
                self.counts.push((number, count));
            }
            self.bucket = bucket + 1;
            rest = after;
        }
        self.decoded = self.fence_bytes.len() - rest.len();
        if rest.is_empty() && self.position != self.all {
            return Err(wrong());
        }
        Ok(from..self.position)
    }
}

#[cfg(test)]
mod tests {
    use lookalike_testkit::texts::Draw;

    use super::*;
    use crate::storage::sim::SimFs;

    /// Files of postings, all in the first partition, and of fences that are said to be theirs.
    fn opened(storage: &SimFs, buckets: &[Vec<u64>], fences: &[u8]) -> OlderPostings {
        let create =
            |name: &str| BlockWriter::create(storage, name, FileKind::Scratch, 1).expect("created");
        let (mut postings, mut fence_file) = (create("postings"), create("fences"));
        for bucket in buckets {
            postings.append_records(bucket).expect("written");
        }
        fence_file.append(fences).expect("written");
        let postings = postings.finish().expect("written");
        let fences = fence_file.finish().expect("written");
        OlderPostings::open(storage, &postings, &fences).expect("opened")
    }

    #[test]
    fn of_many_postings_only_the_wanted_are_read() {
        let storage = SimFs::new();
        let mut draw = Draw::new(8);
        let (mut buckets, mut fences) = (Vec::new(), Vec::new());
        for _ in 0..BUCKETS {
            let count = draw.below(200);
            buckets.push((0..count).map(|rest| rest << 32 | 7).collect::<Vec<u64>>());
        }
        let mut empty = 0;
        for bucket in &buckets {
            if bucket.is_empty() {
                empty += 1;
                continue;
            }
            put_varint(&mut fences, std::mem::take(&mut empty));
            put_varint(&mut fences, bucket.len() as u64);
        }
        for every in [1, 2, 9, 100] {
            let mut wanted = [false; BUCKETS];
            wanted.iter_mut().step_by(every).for_each(|it| *it = true);
            let mut older = opened(&storage, &buckets, &fences);
            older.hold(0, &wanted).expect("read");
            let is_wanted = |bucket: &usize| wanted[*bucket];
            let expected = (0..BUCKETS).filter(is_wanted).flat_map(|bucket| {
                let of_bucket = buckets[bucket].iter();
                of_bucket.map(move |posting| ((bucket as u64) << 32 | posting >> 32, 7))
            });
            assert!(older.keyed().eq(expected), "every {every}th");
            assert_eq!(older.len(), older.keyed().count());
            for (bucket, postings) in older.by_bucket() {
                assert_eq!(postings, buckets[usize::from(bucket)]);
            }
            // Behind them there is nothing.
            older.hold(200, &wanted).expect("read");
            assert_eq!(older.len(), 0);
        }
    }

    #[test]
    fn fences_of_other_postings_are_an_error() {
        let storage = SimFs::new();
        let postings = [vec![1, 2, 3]];
        let wrong: [&[u8]; 7] = [
            &[],
            &[0],
            &[0, 0x80],
            &[0, 2],
            &[0, 4],
            &[0, 3, 0, 1],
            // A bucket behind the last.
            &[0, 3, 0xff, 0xff, 3, 0],
        ];
        for fences in wrong {
            let mut older = opened(&storage, &postings, fences);
            let mut hold = |partition| older.hold(partition, &[true; BUCKETS]);
            assert!(
                (0..PARTITIONS).any(|partition| hold(partition).is_err()),
                "{fences:?}"
            );
        }
        let mut older = opened(&storage, &postings, &[0, 3]);
        older.hold(0, &[true; BUCKETS]).expect("read");
        assert_eq!(older.held, [1, 2, 3]);
    }
}
