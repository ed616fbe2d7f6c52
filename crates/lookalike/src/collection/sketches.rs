//! The sketches of a collection, by document.
//!
//! ```text
//! heads     one u32 a document: samples and level; 0 samples for a copy
//! sketches  the samples of all documents, one after the other, u64 each
//! ```
//!
//! The heads are held in memory, 4 bytes a document, and lead to the samples. Samples
//! are read when they are asked for, or all at once where they fit the budget.

use crate::blocks::{BlockReader, FileEntry};
use crate::collection::entry::SketchHead;
use crate::storage::{Storage, StorageError};

/// Documents whose place is not written down between two whose place is.
const STRIDE: usize = 64;

/// The sketches of one segment.
#[derive(Debug)]
pub struct SketchFile {
    base: u32,
    heads: Vec<SketchHead>,
    /// Where the samples of every 64th document begin.
    starts: Vec<u64>,
    samples: BlockReader,
    loaded: Option<Vec<u64>>,
    /// How many samples each document has at the levels above its own.
    above: Vec<[u16; ABOVE]>,
}

/// Levels above its own at which a document's samples are counted beforehand: documents
/// of up to sixteen times its length are compared with it there.
const ABOVE: usize = 4;

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
                if all.len() % STRIDE == 0 {
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
            above: Vec::new(),
        })
    }

    fn place(&self, index: usize) -> (u64, usize) {
        let from = index / STRIDE * STRIDE;
        let before: u64 = self.heads[from..index]
            .iter()
            .map(|head| head.samples() as u64)
            .sum();
        (
            self.starts[index / STRIDE] + before,
            self.heads[index].samples(),
        )
    }
}

/// The sketches of all documents of a collection.
#[derive(Debug, Default)]
pub struct Sketches {
    /// In the order of their documents.
    segments: Vec<SketchFile>,
}

impl Sketches {
    /// Of segments in the order of their documents.
    pub fn new(segments: Vec<SketchFile>) -> Sketches {
        Sketches { segments }
    }

    /// How many documents there are, copies too.
    pub fn documents(&self) -> u32 {
        self.segments.last().map_or(0, |last| {
            last.base + u32::try_from(last.heads.len()).unwrap_or(u32::MAX)
        })
    }

    /// Reads all samples into memory if they take no more bytes than this.
    pub fn load_if_small(&mut self, most: u64) -> Result<(), StorageError> {
        let all: u64 = self.segments.iter().map(|file| file.samples.len()).sum();
        if all > most {
            return Ok(());
        }
        for file in &mut self.segments {
            let mut stream = file.samples.all_records::<u64>(8)?;
            let mut samples = Vec::with_capacity(usize::try_from(stream.remaining()).unwrap_or(0));
            while let Some(batch) = stream.next_batch()? {
                samples.extend_from_slice(batch);
            }
            file.loaded = Some(samples);
        }
        Ok(())
    }

    /// Counts the samples of every document at the levels above its own, in one pass:
    /// 8 bytes a document.
    pub fn count_levels(&mut self) -> Result<(), StorageError> {
        for file in &mut self.segments {
            let mut stream = file.samples.all_records::<u64>(8)?;
            let mut above = Vec::with_capacity(file.heads.len());
            for head in &file.heads {
                let mut counts = [0_u16; ABOVE];
                for _ in 0..head.samples() {
                    let Some(sample) = stream.next_record()? else {
                        break;
                    };
                    let over = sample.trailing_zeros().saturating_sub(head.level());
                    for count in counts.iter_mut().take(over as usize) {
                        *count = count.saturating_add(1);
                    }
                }
                above.push(counts);
            }
            file.above = above;
        }
        Ok(())
    }

    /// How many samples a document has at a level, if that is known without reading them.
    pub fn samples_at(&self, doc: u32, level: u32) -> Option<usize> {
        let (file, index) = self.segment(doc);
        let head = file.heads[index];
        match level.checked_sub(head.level())? as usize {
            0 => Some(head.samples()),
            over => {
                let count = *file.above.get(index)?.get(over - 1)?;
                (count < u16::MAX).then_some(count.into())
            }
        }
    }

    fn segment(&self, doc: u32) -> (&SketchFile, usize) {
        let at = self.segments.partition_point(|file| file.base <= doc) - 1;
        let file = &self.segments[at];
        (file, (doc - file.base) as usize)
    }

    /// How large a document's sketch is; nothing for a copy.
    pub fn head(&self, doc: u32) -> SketchHead {
        let (file, index) = self.segment(doc);
        file.heads[index]
    }

    /// The samples of a document, increasing. `buffer` holds them where they are not in
    /// memory already.
    pub fn samples<'a>(
        &'a self,
        doc: u32,
        buffer: &'a mut Vec<u64>,
    ) -> Result<&'a [u64], StorageError> {
        let (file, index) = self.segment(doc);
        let (from, count) = file.place(index);
        if let Some(loaded) = &file.loaded {
            let from = usize::try_from(from).unwrap_or(usize::MAX);
            return Ok(&loaded[from..from + count]);
        }
        let mut bytes = vec![0; count * 8];
        file.samples.read_at(from * 8, &mut bytes)?;
        buffer.clear();
        let words = bytes.as_chunks().0.iter();
        buffer.extend(words.map(|word| u64::from_le_bytes(*word)));
        Ok(buffer)
    }
}
