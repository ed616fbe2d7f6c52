//! Block files: a stream of bytes on disk of which no part can be wrong unnoticed.
//!
//! ```text
//! bytes ─► BlockWriter ─► block 0 | block 1 | … | last block ─► FileEntry
//!                                                                   │
//!                read_at, stream, records  ◄─ BlockReader ◄─ manifest
//! ```
//!
//! On disk, little-endian:
//!
//! ```text
//! file     block*, 65,536 bytes each, the last one shorter
//! block    payload, 65,528 bytes, in the last block 1 to 65,528 | checksum u64
//! payloads header, 24 bytes, then the stream
//! header   "LKBF" | version u8 | kind u8 | 0 u16 | file id u64 | checksum u64
//! ```
//!
//! A block's checksum is XXH3 of its payload, seeded by file id, block number and payload
//! length: the right block in the wrong place, or in the wrong file, is a wrong block. The
//! header is part of block 0, for blocks that start where pages start are written twice as
//! fast; its own checksum is of the 16 bytes before it. It keeps this shape in every
//! version, so that an older program can name the version it does not know.
//!
//! An empty stream has no file: its [`FileEntry`] says all there is, and to write, sync and
//! open it costs nothing. Small ones may stand one behind the other in one file, each as it
//! would be alone: [`Packed`] says where.
//!
//! What a file should be is said by its [`FileEntry`], which the manifest keeps: length,
//! kind, id, and one checksum over all block checksums. Opening compares header and
//! length, each read checks the blocks it touches, [`verify()`] reads every byte.
//!
//! Cost: 8 bytes in 65,536; a writer holds one block; a read of one byte reads and checks
//! a whole block, some 15 µs, unless it is the block that the thread read last. Of a
//! mapped file each block is checked once, when it is touched first, and nothing is copied.

pub(crate) mod hex;
mod read;
mod records;
mod stream;
#[cfg(test)]
mod tests;
pub(crate) mod varint;
mod write;

pub use read::{BlockCursor, BlockReader, Words, verify};
pub use records::{Record, RecordStream};
pub use stream::BlockStream;
pub use write::BlockWriter;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use crate::storage::{Fault, StorageError};

/// The first bytes of every block file.
pub const MAGIC: [u8; 4] = *b"LKBF";

/// The version written, and the only one there is.
pub const VERSION: u8 = 1;

/// Bytes of a whole block on disk. 64 KiB is where reading from the page cache stops
/// getting faster, and one such buffer for each of 512 open files is only 32 MiB.
pub const BLOCK_LEN: usize = 1 << 16;

/// Bytes of a block's checksum.
const TRAILER_LEN: usize = 8;

/// Bytes of the stream in a whole block: a multiple of 8, as is the header, so no `u64`
/// is cut in two.
pub const PAYLOAD_LEN: usize = BLOCK_LEN - TRAILER_LEN;

/// Bytes before the stream.
const HEADER_LEN: usize = 24;

/// What a file holds. The number is the byte in its header and is never given again.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[repr(u8)]
#[non_exhaustive]
pub enum FileKind {
    /// Work in progress that no manifest names.
    Scratch = 0,
    /// What is known of each document.
    Documents = 1,
    /// The text of names: ids, URLs, inputs.
    Names = 2,
    /// Sketches.
    Sketches = 3,
    /// Sorted pairs of fingerprint and document.
    Fingerprints = 4,
    /// Counted pairs of documents.
    Pairs = 5,
    /// Clusters.
    Clusters = 6,
    /// Documents set aside as copies of another.
    Copies = 7,
    /// When and where documents were seen.
    Captures = 8,
    /// A table to look something up in.
    Lookup = 9,
    /// Counts and reports.
    Report = 10,
    /// Texts of documents, packed.
    Texts = 11,
}

/// What a manifest knows of a file.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct FileEntry {
    /// Its name in the folder.
    pub name: String,
    /// What it holds.
    pub kind: FileKind,
    /// What its blocks are bound to. No two files have the same.
    #[serde(with = "hex")]
    pub id: u64,
    /// Bytes of the stream.
    pub payload_len: u64,
    /// Bytes on disk.
    pub file_len: u64,
    /// Of all block checksums, in order.
    #[serde(with = "hex")]
    pub checksum: u64,
    /// Where it stands, if it shares a file with others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packed: Option<Packed>,
}

/// A block file inside another file.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Packed {
    /// The name of that file.
    pub file: String,
    /// How many bytes stand before.
    pub at: u64,
    /// Bytes of all that file.
    pub of: u64,
}

impl FileEntry {
    /// Where a byte of it stands in the file on disk.
    fn place(&self, offset: u64) -> u64 {
        let before = self.packed.as_ref().map_or(0, |packed| packed.at);
        before.saturating_add(offset)
    }

    /// The name of the file on disk: another, if it shares one.
    pub fn file(&self) -> &str {
        self.packed
            .as_ref()
            .map_or(&self.name, |packed| &packed.file)
    }
}

/// The id of a file, from what sets it apart from every other file: its collection, the
/// generation that wrote it, its name. Two alike are as likely as two equal 64-bit draws.
pub fn file_id(collection: u64, generation: u64, name: &str) -> u64 {
    let mut bytes = Vec::with_capacity(16 + name.len());
    bytes.extend_from_slice(&collection.to_le_bytes());
    bytes.extend_from_slice(&generation.to_le_bytes());
    bytes.extend_from_slice(name.as_bytes());
    xxh3_64(&bytes)
}

fn header(kind: FileKind, id: u64) -> [u8; HEADER_LEN] {
    let mut header = [0; HEADER_LEN];
    header[..4].copy_from_slice(&MAGIC);
    header[4] = VERSION;
    header[5] = kind as u8;
    header[8..16].copy_from_slice(&id.to_le_bytes());
    let sum = xxh3_64(&header[..16]);
    header[16..].copy_from_slice(&sum.to_le_bytes());
    header
}

/// Says what is wrong with a header that should be that of `entry`.
fn check_header(found: &[u8; HEADER_LEN], entry: &FileEntry) -> Result<(), StorageError> {
    let damaged = |what, at| Err(StorageError::damaged(entry.file(), what, entry.place(at)));
    if found[..4] != MAGIC {
        return damaged("it does not start as its kind of file does", 0);
    }
    if found[16..] != xxh3_64(&found[..16]).to_le_bytes() {
        return damaged("its header does not fit its checksum", 4);
    }
    if found[4] != VERSION {
        return Err(StorageError {
            file: entry.file().to_owned(),
            fault: Fault::Version {
                found: found[4].into(),
                supported: VERSION.into(),
            },
        });
    }
    if *found != header(entry.kind, entry.id) {
        return damaged("it is another file than the one that was written", 5);
    }
    Ok(())
}

/// The checksum of a block.
fn block_sum(id: u64, block: u64, payload: &[u8]) -> u64 {
    let mut place = [0; 24];
    place[..8].copy_from_slice(&id.to_le_bytes());
    place[8..16].copy_from_slice(&block.to_le_bytes());
    place[16..].copy_from_slice(&(payload.len() as u64).to_le_bytes());
    xxh3_64_with_seed(payload, xxh3_64(&place))
}

/// The checksum of a file, one block checksum after the other.
#[derive(Clone, Copy, Debug)]
struct FileSum(u64);

impl FileSum {
    fn new(id: u64) -> FileSum {
        FileSum(id)
    }

    fn add(&mut self, block_sum: u64) {
        self.0 = xxh3_64_with_seed(&block_sum.to_le_bytes(), self.0);
    }
}

/// Blocks that hold the header and so many bytes of the stream; `None` past 2^64. For no
/// bytes there is no file.
fn blocks_of(payload_len: u64) -> Option<u64> {
    if payload_len == 0 {
        return Some(0);
    }
    let with_header = payload_len.checked_add(HEADER_LEN as u64)?;
    Some(with_header.div_ceil(PAYLOAD_LEN as u64))
}

/// Bytes on disk for so many bytes of the stream; `None` past 2^64.
fn file_len_of(payload_len: u64) -> Option<u64> {
    match blocks_of(payload_len)? {
        0 => Some(0),
        blocks => payload_len.checked_add(blocks * TRAILER_LEN as u64 + HEADER_LEN as u64),
    }
}

/// Where a block starts in the file. No overflow for a block of a file that was opened.
fn block_offset(block: u64) -> u64 {
    block * BLOCK_LEN as u64
}
