//! Writing a block file, from front to back.

use std::fmt;
use std::io;

use super::records::Record;
use super::{
    BLOCK_LEN, FileEntry, FileKind, FileSum, HEADER_LEN, PAYLOAD_LEN, block_sum, file_len_of,
    header,
};
use crate::storage::{Append, Storage, StorageError};

/// A block file being written. Memory: one block.
///
/// After an error the file is lost: every later call fails too, and the file is removed
/// by the next writer that finds it.
pub struct BlockWriter {
    file: Box<dyn Append>,
    name: String,
    kind: FileKind,
    id: u64,
    /// The payload of the block being filled. Never a whole block between two calls.
    block: Vec<u8>,
    blocks: u64,
    sum: FileSum,
    state: State,
}

#[derive(Clone, Copy, Eq, PartialEq)]
enum State {
    Sound,
    Failed,
}

impl fmt::Debug for BlockWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlockWriter")
            .field("name", &self.name)
            .field("kind", &self.kind)
            .field("position", &self.position())
            .finish_non_exhaustive()
    }
}

impl BlockWriter {
    /// Starts a file. `id` must differ from every other file's: see [`super::file_id`].
    pub fn create(
        storage: &dyn Storage,
        name: &str,
        kind: FileKind,
        id: u64,
    ) -> Result<BlockWriter, StorageError> {
        BlockWriter::start(storage.create(name), name, kind, id)
    }

    /// The same, where it may share a file with others as long as it is small.
    pub(crate) fn create_small(
        storage: &dyn Storage,
        name: &str,
        kind: FileKind,
        id: u64,
    ) -> Result<BlockWriter, StorageError> {
        BlockWriter::start(storage.create_small(name), name, kind, id)
    }

    fn start(
        file: io::Result<Box<dyn Append>>,
        name: &str,
        kind: FileKind,
        id: u64,
    ) -> Result<BlockWriter, StorageError> {
        let mut block = Vec::with_capacity(BLOCK_LEN);
        block.extend_from_slice(&header(kind, id));
        Ok(BlockWriter {
            file: file.map_err(|error| StorageError::io(name, error))?,
            name: name.to_owned(),
            kind,
            id,
            block,
            blocks: 0,
            sum: FileSum::new(id),
            state: State::Sound,
        })
    }

    /// Bytes appended so far: where the next one will be found.
    pub fn position(&self) -> u64 {
        let payloads = self.blocks * PAYLOAD_LEN as u64 + self.block.len() as u64;
        // After a failure the block is empty, and the position of no use.
        payloads.saturating_sub(HEADER_LEN as u64)
    }

    /// Adds bytes at the end. Time O(bytes); the disk is touched once a block.
    pub fn append(&mut self, mut bytes: &[u8]) -> Result<(), StorageError> {
        while !bytes.is_empty() {
            let room = PAYLOAD_LEN - self.block.len();
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            self.block.extend_from_slice(now);
            bytes = later;
            if self.block.len() == PAYLOAD_LEN {
                self.write_block()?;
            }
        }
        Ok(())
    }

    /// Adds one record.
    pub fn append_record<R: Record>(&mut self, record: R) -> Result<(), StorageError> {
        let bytes = record.to_bytes();
        let bytes = bytes.as_ref();
        // Nearly always there is room to spare in the block.
        if self.block.len() + bytes.len() < PAYLOAD_LEN {
            self.block.extend_from_slice(bytes);
            return Ok(());
        }
        self.append(bytes)
    }

    /// Adds records, one after the other.
    pub fn append_records<R: Record>(&mut self, records: &[R]) -> Result<(), StorageError> {
        records
            .iter()
            .try_for_each(|record| self.append_record(*record))
    }

    /// Writes the last block and makes the file last. The folder is not synced: that is
    /// done once, when the manifest that names the file is committed.
    pub fn finish(mut self) -> Result<FileEntry, StorageError> {
        self.flush()?;
        match self.file.sync() {
            Ok(()) => Ok(self.entry()),
            Err(error) => Err(StorageError::io(&self.name, error)),
        }
    }

    /// Writes the last block and leaves the rest to the kernel: for files that nobody
    /// needs after a crash.
    pub fn finish_scratch(mut self) -> Result<FileEntry, StorageError> {
        self.flush()?;
        Ok(self.entry())
    }

    fn entry(self) -> FileEntry {
        let payload_len = self.position();
        FileEntry {
            name: self.name,
            kind: self.kind,
            id: self.id,
            payload_len,
            // No disk holds 2^64 bytes.
            file_len: file_len_of(payload_len).unwrap_or(u64::MAX),
            checksum: self.sum.0,
            packed: None,
        }
    }

    fn flush(&mut self) -> Result<(), StorageError> {
        if self.state == State::Failed {
            return Err(self.failed_before());
        }
        // The position counts what is in the block, so it stays there. Without a byte of the
        // stream there is no file.
        if !self.block.is_empty() && self.position() > 0 {
            let len = self.block.len();
            self.put_block()?;
            self.block.truncate(len);
        }
        Ok(())
    }

    /// Writes a whole block and starts the next.
    fn write_block(&mut self) -> Result<(), StorageError> {
        self.put_block()?;
        self.block.clear();
        self.blocks += 1;
        Ok(())
    }

    fn put_block(&mut self) -> Result<(), StorageError> {
        if self.state == State::Failed {
            return Err(self.failed_before());
        }
        let sum = block_sum(self.id, self.blocks, &self.block);
        self.sum.add(sum);
        self.block.extend_from_slice(&sum.to_le_bytes());
        self.file.append(&self.block).map_err(|error| {
            self.state = State::Failed;
            // Later appends must find room in the block, and fail here again.
            self.block.clear();
            StorageError::io(&self.name, error)
        })
    }

    fn failed_before(&self) -> StorageError {
        let error = io::Error::other("an earlier write to it failed");
        StorageError::io(&self.name, error)
    }
}
