//! Reading a part of a block file from front to back.

use std::ops::Range;

use super::read::BlockReader;
use super::{BLOCK_LEN, HEADER_LEN, PAYLOAD_LEN, TRAILER_LEN};
use crate::storage::StorageError;

/// A part of a block file, from front to back. It owns its file and its buffer, so it
/// can be sent to another thread or put into a heap of streams to merge.
///
/// Memory: the buffer, `blocks` × 64 KiB, and no more than the range needs. Where the file
/// is mapped and a buffer would hold the whole range, it is read in place: the pages of a
/// longer one would stay in memory behind the stream.
#[derive(Debug)]
pub struct BlockStream {
    reader: BlockReader,
    /// What has not been given out yet, in bytes of header and stream.
    range: Range<u64>,
    /// Blocks as they are on disk, checked one by one as they are given out; none where they
    /// are read in place.
    raw: Vec<u8>,
    is_in_place: bool,
    /// The first block in `raw`, or of the file.
    first: u64,
    /// The block whose payload lies at hand, and where among the blocks what is left of it
    /// lies.
    block: u64,
    hand: Range<usize>,
    last_sum: u64,
    buffer_blocks: usize,
}

impl BlockStream {
    /// A range of the stream. It must lie within the file, or be empty.
    pub(super) fn new(reader: BlockReader, range: Range<u64>, blocks: usize) -> BlockStream {
        let header = HEADER_LEN as u64;
        BlockStream::of_payloads(reader, range.start + header..range.end + header, blocks)
    }

    /// The whole stream, and the header before it.
    pub(super) fn with_header(reader: BlockReader, blocks: usize) -> BlockStream {
        let end = match reader.len() {
            0 => 0,
            len => len + HEADER_LEN as u64,
        };
        BlockStream::of_payloads(reader, 0..end, blocks)
    }

    fn of_payloads(reader: BlockReader, range: Range<u64>, blocks: usize) -> BlockStream {
        let payload = PAYLOAD_LEN as u64;
        let buffer_blocks = blocks.max(1);
        let wanted = range
            .end
            .div_ceil(payload)
            .saturating_sub(range.start / payload);
        BlockStream {
            block: range.start / payload,
            is_in_place: wanted <= buffer_blocks as u64 && reader.mapped().is_some(),
            reader,
            range,
            raw: Vec::new(),
            first: 0,
            hand: 0..0,
            last_sum: 0,
            buffer_blocks,
        }
    }

    /// Bytes not given out yet.
    pub fn remaining(&self) -> u64 {
        self.range.end.saturating_sub(self.range.start)
    }

    /// Where the next byte lies in the stream of the file.
    pub fn position(&self) -> u64 {
        self.range.start.saturating_sub(HEADER_LEN as u64)
    }

    /// The next bytes, at most what is left of one block; `None` at the end. Time O(1)
    /// but for the blocks that must be read.
    pub fn next_chunk(&mut self) -> Result<Option<&[u8]>, StorageError> {
        if self.remaining() == 0 {
            return Ok(None);
        }
        self.ensure_hand()?;
        let hand = std::mem::replace(&mut self.hand, 0..0);
        self.range.start += hand.len() as u64;
        Ok(Some(&self.blocks()[hand]))
    }

    /// Fills `buffer` with the next bytes. Fewer left than that is damage: the caller
    /// knows from another file how many there must be.
    pub fn read_exact(&mut self, buffer: &mut [u8]) -> Result<(), StorageError> {
        if self.remaining() < buffer.len() as u64 {
            let what = "it ends in the middle of a record";
            return Err(StorageError::damaged(
                self.reader.entry().file(),
                what,
                None,
            ));
        }
        let mut rest = buffer;
        while !rest.is_empty() {
            self.ensure_hand()?;
            let (now, later) = rest.split_at_mut(self.hand.len().min(rest.len()));
            let from = self.hand.start;
            now.copy_from_slice(&self.blocks()[from..from + now.len()]);
            self.hand.start += now.len();
            self.range.start += now.len() as u64;
            rest = later;
        }
        Ok(())
    }

    /// The checksum of the block given out last.
    pub(super) fn last_sum(&self) -> u64 {
        self.last_sum
    }

    /// The blocks from `first` on: those of the file in place, or those in the buffer.
    fn blocks(&self) -> &[u8] {
        match self.reader.mapped() {
            Some(all) if self.is_in_place => all,
            _ => &self.raw,
        }
    }

    /// Has some bytes at hand, if any are left.
    fn ensure_hand(&mut self) -> Result<(), StorageError> {
        if !self.hand.is_empty() || self.remaining() == 0 {
            return Ok(());
        }
        let payload = PAYLOAD_LEN as u64;
        self.block = self.range.start / payload;
        // Lossless: both are smaller than what the buffer holds, or the buffer is stale.
        let buffered = (self.blocks().len().div_ceil(BLOCK_LEN)) as u64;
        if self.block < self.first || self.block >= self.first + buffered {
            let last = (self.range.end - 1) / payload;
            let wanted = usize::try_from(last - self.block + 1).unwrap_or(usize::MAX);
            let count = wanted.min(self.buffer_blocks);
            self.first = self.block;
            if let Err(error) = self.reader.fetch(self.block, count, &mut self.raw) {
                self.raw.clear();
                return Err(error);
            }
        }
        let index = usize::try_from(self.block - self.first).unwrap_or(usize::MAX);
        let blocks = self.blocks();
        let from = index.saturating_mul(BLOCK_LEN).min(blocks.len());
        let to = (from + BLOCK_LEN).min(blocks.len());
        self.last_sum = self.reader.check_block(self.block, &blocks[from..to])?;
        let start = self.block * payload;
        let until = (self.range.end - start).min((to - from - TRAILER_LEN) as u64);
        let in_block = |n: u64| usize::try_from(n).unwrap_or(PAYLOAD_LEN);
        self.hand = from + in_block(self.range.start - start)..from + in_block(until);
        Ok(())
    }
}
