//! The sketches of a collection, by document.
//!
//! ```text
//! heads     one u32 a document: samples and level; 0 samples for a copy
//! sketches  the samples of all documents, one after the other, u64 each
//! places    u64 for every 64th document: how many samples the documents before it have
//! ```
//!
//! Where all documents are gone through, the heads are held in memory, 4 bytes a document,
//! and lead to the samples; these are read when they are asked for, from memory where all of
//! them fit the budget: loaded, or mapped where a small sweep asks for few.
//! [`SketchPlaces`] holds nothing and finds one sketch by the places.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::blocks::{BlockReader, FileEntry};
use crate::collection::entry::SketchHead;
use crate::storage::{Storage, StorageError};

/// Documents whose place is not written down between two whose place is.
pub(crate) const STRIDE: u32 = 64;

/// The sketches of one segment, to be looked up one by one.
#[derive(Debug)]
pub struct SketchPlaces {
    base: u32,
    heads: BlockReader,
    places: BlockReader,
    samples: BlockReader,
}

impl SketchPlaces {
    /// Opens the sketches of the documents from `base` on. Nothing is read.
    pub fn open(
        storage: &dyn Storage,
        base: u32,
        heads: &FileEntry,
        places: &FileEntry,
        samples: &FileEntry,
    ) -> Result<SketchPlaces, StorageError> {
        Ok(SketchPlaces {
            base,
            heads: BlockReader::open(storage, heads)?,
            places: BlockReader::open(storage, places)?,
            samples: BlockReader::open(storage, samples)?,
        })
    }

    /// How large the sketch of a document is; nothing for a copy.
    pub fn head(&self, doc: u32) -> Result<SketchHead, StorageError> {
        let index = doc.checked_sub(self.base).map(u64::from);
        self.heads.record(index.unwrap_or(u64::MAX)).map(SketchHead)
    }

    /// The samples of a document, increasing.
    pub fn samples(&self, doc: u32, out: &mut Vec<u64>) -> Result<(), StorageError> {
        let head = self.head(doc)?;
        let stride = (doc - self.base) / STRIDE;
        let mut from: u64 = self.places.record(u64::from(stride))?;
        let (before, after) = (stride * STRIDE, doc - self.base);
        let heads = |part: &[u8]| {
            let heads = part.as_chunks().0.iter();
            let heads = heads.map(|head| SketchHead(u32::from_le_bytes(*head)));
            from += heads.map(|head| head.samples() as u64).sum::<u64>();
        };
        let offset = |doc: u32| 4 * u64::from(doc);
        self.heads
            .parts(offset(before), offset(after - before), heads)?;
        out.clear();
        let end = from + head.samples() as u64;
        self.samples.read_words(from..end, out)
    }

    /// Calls `each` with every document that is no copy, and its samples, in order.
    pub(crate) fn each(&self, mut each: impl FnMut(u32, &[u64])) -> Result<(), StorageError> {
        let mut heads = self.heads.all_records::<u32>(8)?;
        let (mut doc, mut from, mut samples) = (self.base, 0, Vec::new());
        while let Some(head) = heads.next_record()? {
            let end = from + SketchHead(head).samples() as u64;
            samples.clear();
            self.samples.read_words(from..end, &mut samples)?;
            if !samples.is_empty() {
                each(doc, &samples);
            }
            (doc, from) = (doc + 1, end);
        }
        Ok(())
    }
}

/// The sketches of one segment.
#[derive(Debug)]
pub struct SketchFile {
    base: u32,
    heads: Vec<SketchHead>,
    /// Where the samples of every 64th document begin.
    starts: Vec<u64>,
    samples: BlockReader,
    loaded: Option<Vec<u64>>,
}

/// Levels above its own at which a document's samples are counted beforehand: documents
/// of up to sixteen times its length are compared with it there.
pub(crate) const ABOVE: usize = 4;

/// How many samples a document has at each of these levels.
pub(crate) type Above = [u16; ABOVE];

/// Counts the samples of one document above its level.
pub(crate) fn above(samples: &[u64], level: u32) -> Above {
    let mut counts = Above::default();
    count_above(&mut counts, samples, level);
    counts
}

/// Adds some samples of a document to its counts, which end where they are as large as can
/// be. All four are added at once, in one number: in so many samples none runs over.
fn count_above(counts: &mut Above, samples: &[u64], level: u32) {
    const MOST: usize = u16::MAX as usize;
    // By how many levels a sample is above: a one for each count up to there.
    const ONES: [u64; ABOVE + 1] = [0, 0x1, 0x1_0001, 0x1_0001_0001, 0x1_0001_0001_0001];
    for some in samples.chunks(MOST) {
        let over = |sample: &u64| sample.trailing_zeros().saturating_sub(level) as usize;
        let sum = some.iter().map(|sample| ONES[over(sample).min(ABOVE)]);
        for (count, more) in counts.iter_mut().zip(unpacked(sum.sum())) {
            *count = count.saturating_add(more);
        }
    }
}

/// Counts as one number, which is that of counts nobody made where all are as large as can
/// be: those are made again each time.
fn packed(counts: Above) -> u64 {
    let [a, b, c, d] = counts.map(u64::from);
    a | b << 16 | c << 32 | d << 48
}

fn unpacked(counts: u64) -> Above {
    [0, 16, 32, 48].map(|shift| (counts >> shift & 0xffff) as u16)
}

/// Of a document whose samples nobody counted.
const UNCOUNTED: u64 = u64::MAX;

/// How many samples a sketch has at a level, if that is known.
#[inline]
pub(crate) fn samples_at(head: SketchHead, above: Option<&Above>, level: u32) -> Option<usize> {
    match level.checked_sub(head.level())? as usize {
        0 => Some(head.samples()),
        over => {
            let count = *above?.get(over - 1)?;
            (count < u16::MAX).then_some(count.into())
        }
    }
}

impl SketchFile {
    /// Opens the sketches of the documents from `base` on.
    pub fn open(
        storage: &dyn Storage,
        base: u32,
        heads: &FileEntry,
        samples: &FileEntry,
    ) -> Result<SketchFile, StorageError> {
        let mut stream = BlockReader::open(storage, heads)?.all_records::<u32>(4)?;
        let mut all = Vec::new();
        let mut starts = Vec::new();
        let mut position = 0;
        while let Some(batch) = stream.next_batch()? {
            for &head in batch {
                if all.len() % STRIDE as usize == 0 {
                    starts.push(position);
                }
                all.push(SketchHead(head));
                position += SketchHead(head).samples() as u64;
            }
        }
        let reader = BlockReader::open(storage, samples)?;
        if reader.record_count::<u64>()? != position {
            let what = "it has another number of samples than its documents";
            return Err(StorageError::damaged(&samples.name, what, None));
        }
        Ok(SketchFile {
            base,
            heads: all,
            starts,
            samples: reader,
            loaded: None,
        })
    }
}

/// Samples of one document after the other, counted by level.
struct Counting<'a> {
    heads: std::slice::Iter<'a, SketchHead>,
    /// Of the document at hand.
    level: u32,
    /// Samples of it that are still to come.
    left: usize,
    counts: Above,
    above: Vec<AtomicU64>,
}

impl Counting<'_> {
    fn take(&mut self, mut samples: &[u64]) {
        while !samples.is_empty() {
            while self.left == 0 {
                let Some(head) = self.heads.next() else {
                    return;
                };
                (self.left, self.level) = (head.samples(), head.level());
                if self.left == 0 {
                    self.above.push(AtomicU64::default());
                }
            }
            let (of_doc, rest) = samples.split_at(self.left.min(samples.len()));
            count_above(&mut self.counts, of_doc, self.level);
            self.left -= of_doc.len();
            if self.left == 0 {
                let counts = packed(std::mem::take(&mut self.counts));
                self.above.push(AtomicU64::new(counts));
            }
            samples = rest;
        }
    }
}

/// The sketches of all documents of a collection.
#[derive(Debug, Default)]
pub struct Sketches {
    /// In the order of their documents.
    segments: Vec<SketchFile>,
    /// Of all documents.
    heads: Vec<SketchHead>,
    /// How many samples each document has at the levels above its own, as far as that was
    /// counted.
    above: Vec<AtomicU64>,
    /// Whether few samples will be asked for, and are not read before.
    is_mapped: bool,
}

impl Sketches {
    /// Of segments in the order of their documents.
    pub fn new(mut segments: Vec<SketchFile>) -> Sketches {
        let mut heads = Vec::new();
        for file in &mut segments {
            if heads.is_empty() {
                heads = std::mem::take(&mut file.heads);
            } else {
                heads.append(&mut file.heads);
            }
        }
        Sketches {
            segments,
            heads,
            above: Vec::new(),
            is_mapped: false,
        }
    }

    /// How many documents there are, copies too.
    pub fn documents(&self) -> u32 {
        u32::try_from(self.heads.len()).unwrap_or(u32::MAX)
    }

    /// How many samples the largest sketch has.
    pub fn most_samples(&self) -> usize {
        let samples = self.heads.iter().map(|head| head.samples());
        samples.max().unwrap_or(0)
    }

    /// Bytes of all samples.
    fn byte_len(&self) -> u64 {
        self.segments.iter().map(|file| file.samples.len()).sum()
    }

    /// Has all samples at hand if they take no more bytes than this, without reading more of
    /// them than will be asked for.
    pub fn map_if_small(&mut self, storage: &dyn Storage, most: u64) -> Result<(), StorageError> {
        if self.byte_len() > most {
            return Ok(());
        }
        for file in &mut self.segments {
            file.samples = BlockReader::open_mapped(storage, file.samples.entry())?;
        }
        self.is_mapped = true;
        Ok(())
    }

    /// Reads all samples into memory if they take no more bytes than this.
    pub fn load_if_small(&mut self, most: u64) -> Result<(), StorageError> {
        if self.byte_len() > most {
            return Ok(());
        }
        for file in &mut self.segments {
            // Block by block: a buffer for several would be as large as most of these files. By
            // a cursor: the block that a thread keeps would lie behind all that is freed later.
            let count = file.samples.record_count::<u64>()?;
            let mut samples = Vec::with_capacity(usize::try_from(count).unwrap_or(0));
            file.samples.cursor().read_words(0..count, &mut samples)?;
            file.loaded = Some(samples);
        }
        Ok(())
    }

    /// Counts the samples of documents at the levels above their own, 8 bytes a document:
    /// of each when it is asked for, where few are, else of all of them in one pass.
    pub fn count_levels(&mut self) -> Result<(), StorageError> {
        if self.is_mapped {
            let uncounted = self.heads.iter().map(|_| AtomicU64::new(UNCOUNTED));
            self.above = uncounted.collect();
            return Ok(());
        }
        let mut counting = Counting {
            heads: self.heads.iter(),
            level: 0,
            left: 0,
            counts: Above::default(),
            above: Vec::with_capacity(self.heads.len()),
        };
        for file in &self.segments {
            if let Some(samples) = &file.loaded {
                counting.take(samples);
                continue;
            }
            let mut stream = file.samples.all_records::<u64>(8)?;
            while let Some(batch) = stream.next_batch()? {
                counting.take(batch);
            }
        }
        let mut above = counting.above;
        above.resize_with(self.heads.len(), AtomicU64::default);
        self.above = above;
        Ok(())
    }

    /// How many samples a document has at a level, if that is known or quickly counted.
    #[inline]
    pub fn samples_at(&self, doc: u32, level: u32) -> Option<usize> {
        let head = self.heads[doc as usize];
        if level == head.level() {
            return Some(head.samples());
        }
        let counts = self.above.get(doc as usize)?;
        let known = match counts.load(Ordering::Relaxed) {
            UNCOUNTED => {
                // Whoever cannot read them now is told so when they are needed.
                let mut buffer = Vec::new();
                let samples = self.samples(doc, &mut buffer).ok()?;
                let known = packed(above(samples, head.level()));
                counts.store(known, Ordering::Relaxed);
                known
            }
            known => known,
        };
        samples_at(head, Some(&unpacked(known)), level)
    }

    /// How large a document's sketch is; nothing for a copy.
    #[inline]
    pub fn head(&self, doc: u32) -> SketchHead {
        self.heads[doc as usize]
    }

    /// The file with the samples of a document, where they begin and how many they are.
    fn place(&self, doc: u32) -> (&SketchFile, u64, usize) {
        let at = self.segments.partition_point(|file| file.base <= doc) - 1;
        let file = &self.segments[at];
        let (base, doc) = (file.base as usize, doc as usize);
        let stride = (doc - base) / STRIDE as usize;
        let before = self.heads[base + stride * STRIDE as usize..doc].iter();
        let before: u64 = before.map(|head| head.samples() as u64).sum();
        (
            file,
            file.starts[stride] + before,
            self.heads[doc].samples(),
        )
    }

    /// The samples of a document, increasing. `buffer` holds them where they are not in
    /// memory already.
    pub fn samples<'a>(
        &'a self,
        doc: u32,
        buffer: &'a mut Vec<u64>,
    ) -> Result<&'a [u64], StorageError> {
        let (file, from, count) = self.place(doc);
        if let Some(loaded) = &file.loaded {
            let from = usize::try_from(from).unwrap_or(usize::MAX);
            return Ok(&loaded[from..from + count]);
        }
        buffer.clear();
        file.samples.read_words(from..from + count as u64, buffer)?;
        Ok(buffer)
    }
}

#[cfg(test)]
mod tests {
    use lookalike_testkit::texts::Draw;

    use super::*;

    #[test]
    fn samples_are_counted_at_each_level_above() {
        let mut draw = Draw::new(3);
        for (count, level) in [(0, 0), (1, 3), (300, 2), (70_000, 0), (140_000, 5)] {
            let sample = |draw: &mut Draw| (draw.below(1 << 20) << draw.below(10)) << level;
            let samples: Vec<u64> = (0..count).map(|_| sample(&mut draw)).collect();
            let at = |i: u32| {
                let modulus = 1_u64 << (level + i);
                let hits = samples.iter().filter(|x| *x % modulus == 0).count();
                u16::try_from(hits).unwrap_or(u16::MAX)
            };
            let expected = [1, 2, 3, 4].map(at);
            assert_eq!(above(&samples, level), expected);
            assert_eq!(unpacked(packed(expected)), expected);
        }
    }
}
