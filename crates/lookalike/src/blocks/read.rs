//! Reading a block file anywhere.

use std::cell::RefCell;
use std::fmt;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::records::{Record, RecordStream};
use super::stream::BlockStream;
use super::{
    BLOCK_LEN, FileEntry, FileSum, HEADER_LEN, PAYLOAD_LEN, TRAILER_LEN, block_offset, block_sum,
    check_header, file_len_of,
};
use crate::storage::{ReadAt, Storage, StorageError};

/// A block file to be read, from any number of threads. Clones share the open file.
#[derive(Clone)]
pub struct BlockReader {
    shared: Arc<Shared>,
}

struct Shared {
    file: Box<dyn ReadAt>,
    entry: FileEntry,
    /// Which reader of this process: files may share a name over time, readers never a
    /// serial number.
    serial: u64,
    /// A bit for each block of a mapped file: whether it was checked.
    checked: Option<Box<[AtomicU64]>>,
}

impl fmt::Debug for BlockReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("BlockReader")
            .field(&self.shared.entry)
            .finish()
    }
}

/// The block that was read last, checked.
#[derive(Debug, Default)]
struct LastBlock {
    /// Serial number of the reader, and block. `None` while the bytes are in doubt.
    holds: Option<(u64, u64)>,
    bytes: Vec<u8>,
}

/// In place of the file of an empty stream.
struct NoFile;

impl ReadAt for NoFile {
    fn len(&self) -> u64 {
        0
    }

    fn read_at(&self, _: u64, buffer: &mut [u8]) -> io::Result<()> {
        match buffer {
            [] => Ok(()),
            _ => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

/// One of the block files that share a file.
struct Part {
    whole: Arc<dyn ReadAt>,
    at: u64,
    len: u64,
}

impl ReadAt for Part {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let end = offset.checked_add(buffer.len() as u64);
        let place = self.at.checked_add(offset);
        match (end, place) {
            (Some(end), Some(place)) if end <= self.len => self.whole.read_at(place, buffer),
            _ => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    fn mapped(&self) -> Option<&[u8]> {
        let from = usize::try_from(self.at).ok()?;
        let len = usize::try_from(self.len).ok()?;
        self.whole.mapped()?.get(from..)?.get(..len)
    }
}

/// An error for a file that is not as long as it was.
fn check_len(entry: &FileEntry, found: u64, expected: u64) -> Result<(), StorageError> {
    let what = match found {
        len if len < expected => "it is shorter than it was",
        len if len > expected => "it is longer than it was",
        _ => return Ok(()),
    };
    Err(StorageError::damaged(entry.file(), what, found))
}

thread_local! {
    static LAST_BLOCK: RefCell<LastBlock> = const {
        RefCell::new(LastBlock { holds: None, bytes: Vec::new() })
    };
}

impl BlockReader {
    /// Opens the file that `entry` speaks of. Its length and its header are compared,
    /// nothing else is read.
    pub fn open(storage: &dyn Storage, entry: &FileEntry) -> Result<BlockReader, StorageError> {
        BlockReader::open_as(storage, entry, |name| storage.open(name))
    }

    /// The same for many small reads all over the file: mapped into memory, where that can
    /// be done.
    pub fn open_mapped(
        storage: &dyn Storage,
        entry: &FileEntry,
    ) -> Result<BlockReader, StorageError> {
        BlockReader::open_as(storage, entry, |name| storage.open_mapped(name))
    }

    fn open_as(
        storage: &dyn Storage,
        entry: &FileEntry,
        open: impl FnOnce(&str) -> io::Result<Box<dyn ReadAt>>,
    ) -> Result<BlockReader, StorageError> {
        let io = |error| StorageError::io(entry.file(), error);
        if file_len_of(entry.payload_len) != Some(entry.file_len) {
            let what = "the two lengths that the manifest gives for it do not fit";
            return Err(StorageError::damaged(entry.file(), what, None));
        }
        if entry.payload_len == 0 {
            if entry.checksum != FileSum::new(entry.id).0 {
                let what = "the manifest gives no length and a checksum for it";
                return Err(StorageError::damaged(entry.file(), what, None));
            }
            return Ok(BlockReader::of(entry, Box::new(NoFile), None));
        }
        let file: Box<dyn ReadAt> = match &entry.packed {
            None => {
                let file = open(&entry.name).map_err(io)?;
                check_len(entry, file.len(), entry.file_len)?;
                file
            }
            Some(packed) => {
                let whole = storage.open_shared(&packed.file).map_err(io)?;
                check_len(entry, whole.len(), packed.of)?;
                Box::new(Part {
                    whole,
                    at: packed.at,
                    len: entry.file_len,
                })
            }
        };
        let mut header = [0; HEADER_LEN];
        file.read_at(0, &mut header).map_err(io)?;
        check_header(&header, entry)?;
        // A mapping is as long as the file was when it was opened: that was compared.
        let is_whole = file
            .mapped()
            .is_some_and(|map| map.len() as u64 == entry.file_len);
        let words = is_whole.then(|| entry.file_len.div_ceil(64 * BLOCK_LEN as u64));
        let checked = words.map(|words| (0..words).map(|_| AtomicU64::new(0)).collect());
        Ok(BlockReader::of(entry, file, checked))
    }

    fn of(
        entry: &FileEntry,
        file: Box<dyn ReadAt>,
        checked: Option<Box<[AtomicU64]>>,
    ) -> BlockReader {
        static SERIAL: AtomicU64 = AtomicU64::new(0);
        BlockReader {
            shared: Arc::new(Shared {
                file,
                entry: entry.clone(),
                serial: SERIAL.fetch_add(1, Ordering::Relaxed),
                checked,
            }),
        }
    }

    /// What the manifest knows of it.
    pub fn entry(&self) -> &FileEntry {
        &self.shared.entry
    }

    /// Bytes of the stream.
    pub fn len(&self) -> u64 {
        self.shared.entry.payload_len
    }

    /// Whether the stream has no byte.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Fills `buffer` from an offset of the stream on. A range beyond the end is damage:
    /// offsets come from other files.
    pub fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), StorageError> {
        let (len, mut rest) = (buffer.len() as u64, buffer);
        self.parts(offset, len, |part| {
            let (now, later) = std::mem::take(&mut rest).split_at_mut(part.len());
            now.copy_from_slice(part);
            rest = later;
        })
    }

    /// Appends some of the numbers that a file holds. None is cut in two by a block.
    pub fn read_words(&self, words: Range<u64>, out: &mut Vec<u64>) -> Result<(), StorageError> {
        let (offset, len) = words_place(words);
        self.parts(offset, len, |part| extend_words(part, out))
    }

    /// The numbers that a file holds, to be looked at here and there.
    pub fn words(&self) -> Words<'_> {
        let checked = self.shared.checked.as_deref().unwrap_or_default();
        Words {
            reader: self,
            checked,
            map: self.shared.file.mapped().unwrap_or_default(),
            len: self.len() / 8,
        }
    }

    /// Calls `take` with a stretch of the stream, block by block.
    #[inline]
    pub(crate) fn parts(
        &self,
        offset: u64,
        len: u64,
        mut take: impl FnMut(&[u8]),
    ) -> Result<(), StorageError> {
        self.check_range(offset, len)?;
        for (block, part) in stretch(offset, len) {
            self.with_block(block, |bytes| take(&bytes[part]))?;
        }
        Ok(())
    }

    /// The file, to be read here and there by one reader who moves slowly through it.
    pub fn cursor(&self) -> BlockCursor {
        BlockCursor {
            reader: self.clone(),
            last: LastBlock::default(),
        }
    }

    /// The whole stream, and the checksum over all of it besides.
    pub fn read_all(&self) -> Result<Vec<u8>, StorageError> {
        // The file is as long as the manifest says: that was compared when it was opened.
        let mut all = Vec::with_capacity(usize::try_from(self.len()).unwrap_or(0));
        self.read_every(|chunk| all.extend_from_slice(chunk))?;
        Ok(all)
    }

    /// Record `index` of a file of records of one kind.
    pub fn record<R: Record>(&self, index: u64) -> Result<R, StorageError> {
        let mut bytes = R::Bytes::default();
        let offset = index.saturating_mul(R::LEN as u64);
        self.read_at(offset, bytes.as_mut())?;
        Ok(R::from_bytes(bytes.as_ref()))
    }

    /// How many records of one kind the file holds.
    pub fn record_count<R: Record>(&self) -> Result<u64, StorageError> {
        let len = R::LEN as u64;
        if self.len().is_multiple_of(len) {
            return Ok(self.len() / len);
        }
        let what = "it does not hold a whole number of records";
        Err(StorageError::damaged(self.entry().file(), what, None))
    }

    /// How many records stand before the first of which something is not true, that being
    /// so of all that follow. O(log records).
    pub fn partition_point<R: Record>(
        &self,
        is_before: impl Fn(&R) -> bool,
    ) -> Result<u64, StorageError> {
        let (mut low, mut high) = (0, self.record_count::<R>()?);
        while low < high {
            let middle = low + (high - low) / 2;
            if is_before(&self.record(middle)?) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(low)
    }

    /// A part of the stream, from front to back, through a buffer of `blocks` blocks.
    pub fn stream(&self, range: Range<u64>, blocks: usize) -> Result<BlockStream, StorageError> {
        self.check_range(range.start, range.end.saturating_sub(range.start))?;
        Ok(BlockStream::new(self.clone(), range, blocks))
    }

    /// Some of the records, from front to back, through a buffer of `blocks` blocks.
    pub fn records<R: Record>(
        &self,
        range: Range<u64>,
        blocks: usize,
    ) -> Result<RecordStream<R>, StorageError> {
        self.record_count::<R>()?;
        let place = |index: u64| index.saturating_mul(R::LEN as u64);
        let stream = self.stream(place(range.start)..place(range.end), blocks)?;
        Ok(RecordStream::new(stream))
    }

    /// All records of the file.
    pub fn all_records<R: Record>(&self, blocks: usize) -> Result<RecordStream<R>, StorageError> {
        self.records(0..self.record_count::<R>()?, blocks)
    }

    fn check_range(&self, offset: u64, len: u64) -> Result<(), StorageError> {
        match offset.checked_add(len) {
            Some(end) if end <= self.len() => Ok(()),
            _ => {
                let what = "something else points beyond its end";
                Err(StorageError::damaged(self.entry().file(), what, None))
            }
        }
    }

    /// Payload bytes in a block of this file.
    fn payload_of(&self, block: u64) -> usize {
        let before = block * PAYLOAD_LEN as u64;
        below_block((self.len() + HEADER_LEN as u64 - before).min(PAYLOAD_LEN as u64))
    }

    /// Calls `read` with the checked payload of a block.
    fn with_block(&self, block: u64, read: impl FnOnce(&[u8])) -> Result<(), StorageError> {
        if let Some(payload) = self.mapped_block(block)? {
            read(payload);
            return Ok(());
        }
        LAST_BLOCK.with_borrow_mut(|last| {
            read(self.block_in(block, last)?);
            Ok(())
        })
    }

    /// The checked payload of a block, read unless it is the one that was read last.
    fn block_in<'l>(&self, block: u64, last: &'l mut LastBlock) -> Result<&'l [u8], StorageError> {
        let payload = self.payload_of(block);
        if last.holds != Some((self.shared.serial, block)) {
            last.holds = None;
            self.fetch(block, 1, &mut last.bytes)?;
            self.check_block(block, &last.bytes)?;
            last.holds = Some((self.shared.serial, block));
        }
        Ok(&last.bytes[..payload])
    }

    /// The payload of a block, checked, where the file is mapped. It is checked when it is
    /// asked for first.
    #[inline]
    fn mapped_block(&self, block: u64) -> Result<Option<&[u8]>, StorageError> {
        let Some(checked) = &self.shared.checked else {
            return Ok(None);
        };
        let from = usize::try_from(block_offset(block)).unwrap_or(usize::MAX);
        let len = self.payload_of(block);
        let map = self.shared.file.mapped().unwrap_or_default();
        let Some(raw) = map
            .get(from..)
            .and_then(|rest| rest.get(..len + TRAILER_LEN))
        else {
            return Ok(None);
        };
        let (word, bit) = (&checked[from / (64 * BLOCK_LEN)], 1 << (block % 64));
        if word.load(Ordering::Relaxed) & bit == 0 {
            self.check_block(block, raw)?;
            word.fetch_or(bit, Ordering::Relaxed);
        }
        Ok(Some(&raw[..len]))
    }

    /// All blocks as they are on disk, unchecked, where the file is mapped.
    pub(super) fn mapped(&self) -> Option<&[u8]> {
        self.shared.checked.as_ref()?;
        self.shared.file.mapped()
    }

    /// Reads up to `count` blocks as they are on disk, unchecked.
    pub(super) fn fetch(
        &self,
        first: u64,
        count: usize,
        raw: &mut Vec<u8>,
    ) -> Result<(), StorageError> {
        let from = block_offset(first);
        let len = (self.entry().file_len - from).min((count * BLOCK_LEN) as u64);
        // No larger than the buffer that the caller wants, and the file has that much.
        raw.resize(usize::try_from(len).unwrap_or(count * BLOCK_LEN), 0);
        self.shared
            .file
            .read_at(from, raw)
            .map_err(|error| StorageError::io(self.entry().file(), error))
    }

    /// Checks one block as it is on disk and gives its checksum.
    pub(super) fn check_block(&self, block: u64, raw: &[u8]) -> Result<u64, StorageError> {
        let entry = self.entry();
        if let Some((payload, trailer)) = raw.split_last_chunk::<TRAILER_LEN>() {
            let sum = block_sum(entry.id, block, payload);
            if sum.to_le_bytes() == *trailer {
                return Ok(sum);
            }
        }
        let what = "a block does not fit its checksum";
        Err(StorageError::damaged(
            entry.file(),
            what,
            entry.place(block_offset(block)),
        ))
    }

    /// Reads every byte; `take` gets the payload of block after block.
    fn read_every(&self, mut take: impl FnMut(&[u8])) -> Result<(), StorageError> {
        let mut stream = BlockStream::with_header(self.clone(), 4);
        let mut sum = FileSum::new(self.entry().id);
        let mut header = HEADER_LEN;
        while let Some(chunk) = stream.next_chunk()? {
            // The first block holds the header, if nothing else.
            take(chunk.get(header..).unwrap_or_default());
            header = 0;
            sum.add(stream.last_sum());
        }
        if sum.0 == self.entry().checksum {
            return Ok(());
        }
        let what = "it is another file than the manifest names";
        Err(StorageError::damaged(self.entry().file(), what, None))
    }
}

/// A reader of a file with a block of its own: where several files are read in turns, the
/// one block that a thread has would be read and checked anew at every turn.
#[derive(Debug)]
pub struct BlockCursor {
    reader: BlockReader,
    last: LastBlock,
}

impl BlockCursor {
    /// Appends some of the numbers that the file holds. None is cut in two by a block.
    pub fn read_words(
        &mut self,
        words: Range<u64>,
        out: &mut Vec<u64>,
    ) -> Result<(), StorageError> {
        let (offset, len) = words_place(words);
        self.reader.check_range(offset, len)?;
        for (block, part) in stretch(offset, len) {
            let bytes = match self.reader.mapped_block(block)? {
                Some(payload) => payload,
                None => self.reader.block_in(block, &mut self.last)?,
            };
            extend_words(&bytes[part], out);
        }
        Ok(())
    }
}

/// Where some numbers of eight bytes stand, and how many bytes they are.
fn words_place(words: Range<u64>) -> (u64, u64) {
    let len = words.end.saturating_sub(words.start).saturating_mul(8);
    (words.start.saturating_mul(8), len)
}

fn extend_words(bytes: &[u8], out: &mut Vec<u64>) {
    let words = bytes.as_chunks().0.iter();
    out.extend(words.map(|word| u64::from_le_bytes(*word)));
}

/// The blocks that a stretch of the stream lies in, and what of the payload of each.
#[inline]
fn stretch(offset: u64, len: u64) -> impl Iterator<Item = (u64, Range<usize>)> {
    let payload = PAYLOAD_LEN as u64;
    let place = offset + HEADER_LEN as u64;
    let (mut block, mut skip, mut left) = (place / payload, place % payload, len);
    std::iter::from_fn(move || {
        if left == 0 {
            return None;
        }
        let now = left.min(payload - skip);
        let part = (block, below_block(skip)..below_block(skip + now));
        (block, skip, left) = (block + 1, 0, left - now);
        Some(part)
    })
}

/// The numbers of a file, eight bytes each.
#[derive(Clone, Copy, Debug)]
pub struct Words<'a> {
    reader: &'a BlockReader,
    checked: &'a [AtomicU64],
    map: &'a [u8],
    len: u64,
}

impl Words<'_> {
    /// One of them. In a mapped block that was checked before this is a few instructions,
    /// so that a processor has many of them under way at once.
    #[inline]
    pub fn get(&self, index: u64) -> Result<u64, StorageError> {
        let place = index.saturating_mul(8).saturating_add(HEADER_LEN as u64);
        let (block, skip) = (place / PAYLOAD_LEN as u64, place % PAYLOAD_LEN as u64);
        let word = usize::try_from(block / 64).unwrap_or(usize::MAX);
        let checked = self.checked.get(word);
        let is_checked =
            checked.is_some_and(|word| word.load(Ordering::Relaxed) >> (block % 64) & 1 == 1);
        let at = usize::try_from(block_offset(block) + skip).unwrap_or(usize::MAX);
        let bytes = self.map.get(at..).and_then(<[u8]>::first_chunk);
        match bytes {
            Some(bytes) if is_checked && index < self.len => Ok(u64::from_le_bytes(*bytes)),
            _ => self.reader.record(index),
        }
    }
}

/// Reads every byte of a file and says whether it is the one that was written.
pub fn verify(storage: &dyn Storage, entry: &FileEntry) -> Result<(), StorageError> {
    BlockReader::open(storage, entry)?.read_every(|_| {})
}

/// A number no larger than a block as a `usize`.
fn below_block(n: u64) -> usize {
    usize::try_from(n).unwrap_or(PAYLOAD_LEN)
}
