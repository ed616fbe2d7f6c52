//! What stands between a Parquet file and its decoder: nothing declared is believed
//! before it is compared with the bytes there are.
//!
//! ```text
//! file ─► length, magic ─► footer: lists and schema walked ─► decoder
//!                     └─► page headers walked: sizes        ─► decoder
//! ```
//!
//! The decoder reserves memory for a number of row groups, of children in the schema or
//! of bytes in a page as the file declares them, and a reservation that fails ends the
//! process. So these numbers are walked first, by the rules of the Thrift compact
//! protocol, which every structure of Parquet is written in. Time O(footer + pages).

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use bytes::Bytes;
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, ParquetMetaDataReader};
use parquet::file::reader::{ChunkReader, Length};

use super::Fault;

/// The largest footer that is read. Those of files with thousands of columns and row
/// groups are tens of megabytes.
const FOOTER_LIMIT: u64 = 256 << 20;

/// How deep a schema may nest, and Thrift structures within each other: the decoder
/// calls itself for each level.
const DEPTH_LIMIT: usize = 64;

/// The decoded size a page may declare whatever its size in the file. Constant columns
/// compress without bound, but a page holds about a megabyte.
const PAGE_LIMIT: u64 = 64 << 20;

/// How much larger than in the file a page beyond [`PAGE_LIMIT`] may become.
const RATIO_LIMIT: u64 = 1000;

/// A Parquet file whose footer is sound.
#[derive(Clone)]
pub(crate) struct Opened {
    pub(crate) source: Source,
    pub(crate) metadata: Arc<ParquetMetaData>,
    pub(crate) footer: Arc<[u8]>,
}

/// Opens a file and reads its footer.
pub(crate) fn open(file: File) -> Result<Opened, Fault> {
    let len = file.metadata()?.len();
    if len < 12 {
        return Err(invalid("it is too short"));
    }
    let mut tail = [0_u8; 8];
    file.read_exact_at(&mut tail, len - 8)?;
    let [a, b, c, d, magic @ ..] = tail;
    match &magic {
        b"PAR1" => {}
        b"PARE" => return Err(invalid("its footer is encrypted")),
        _ => return Err(invalid("it does not end in `PAR1`")),
    }
    let footer_len = u64::from(u32::from_le_bytes([a, b, c, d]));
    if footer_len > len - 12 {
        return Err(invalid("its footer is longer than the file"));
    }
    if footer_len > FOOTER_LIMIT {
        return Err(invalid("its footer is larger than 256 MiB"));
    }
    let source = Source {
        file: Arc::new(file),
        len,
    };
    let footer = source.read(len - 8 - footer_len, footer_len)?;
    check_footer(&footer)?;
    let metadata = decoding(|| ParquetMetaDataReader::decode_metadata(&footer))?;
    decoding(|| {
        for group in metadata.row_groups() {
            for column in group.columns() {
                let (start, compressed) = column.byte_range();
                if start.checked_add(compressed).is_none_or(|end| end > len) {
                    return Err(ParquetError::EOF("a column lies beyond its end".into()));
                }
            }
        }
        Ok(())
    })?;
    Ok(Opened {
        source,
        metadata: Arc::new(metadata),
        footer: footer.into(),
    })
}

/// Runs the decoder, and takes a panic of it for damage of the file.
///
/// The decoder answers most forged bytes with an error, but some with a failed assertion
/// or an index out of bounds. What it was working on is given up with the panic, so
/// nothing half-done is seen. The panic's message still goes to the panic hook, that is
/// to the standard error unless the program has set another hook.
pub(crate) fn decoding<T>(decode: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, Fault> {
    match catch_unwind(AssertUnwindSafe(decode)) {
        Ok(done) => done.map_err(Fault::from),
        Err(_) => Err(invalid("its decoder gave up")),
    }
}

pub(crate) fn invalid(what: impl Into<String>) -> Fault {
    Fault::Invalid(what.into())
}

/// A file that is read at offsets, so that several readers do not disturb each other,
/// and never beyond its end.
#[derive(Clone)]
pub(crate) struct Source {
    file: Arc<File>,
    len: u64,
}

impl Source {
    /// Reads bytes that the file has: the length is compared before memory is taken.
    fn read(&self, start: u64, len: u64) -> Result<Vec<u8>, Fault> {
        if start.checked_add(len).is_none_or(|end| end > self.len) {
            return Err(invalid("it points beyond its end"));
        }
        let len = usize::try_from(len).map_err(|_| invalid("it is too large"))?;
        let mut bytes = vec![0; len];
        self.file.read_exact_at(&mut bytes, start)?;
        Ok(bytes)
    }
}

impl Length for Source {
    fn len(&self) -> u64 {
        self.len
    }
}

impl ChunkReader for Source {
    type T = BufReader<Cursor>;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        let cursor = Cursor {
            file: Arc::clone(&self.file),
            at: start,
        };
        // Only page headers are read this way, each through a reader of its own.
        Ok(BufReader::with_capacity(1 << 10, cursor))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        match self.read(start, length as u64) {
            Ok(bytes) => Ok(bytes.into()),
            Err(fault) => Err(ParquetError::External(Box::new(fault))),
        }
    }
}

/// A place in a file to read on from.
pub(crate) struct Cursor {
    file: Arc<File>,
    at: u64,
}

impl Read for Cursor {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(buffer, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

/// Walks the page headers of a column chunk: every page lies within the chunk and does
/// not claim to become huge. Gives the number of values that the data pages declare.
pub(crate) fn check_pages(source: &Source, column: &ColumnChunkMetaData) -> Result<u64, Fault> {
    // A negative offset is refused when the file is opened.
    let (start, len) = column.byte_range();
    let end = start.saturating_add(len);
    let (mut at, mut values) = (start, 0_u64);
    while at < end {
        let (header_len, page) = page_header(source, at, end)?;
        at += header_len;
        if page.compressed > end - at {
            return Err(invalid("a page is longer than its column"));
        }
        at += page.compressed;
        if page.decoded > PAGE_LIMIT.max(page.compressed.saturating_mul(RATIO_LIMIT)) {
            return Err(invalid(
                "a page claims to decode to more than 1000 times its size",
            ));
        }
        values = values.saturating_add(page.values);
    }
    Ok(values)
}

struct Page {
    decoded: u64,
    compressed: u64,
    values: u64,
}

/// Reads the header at an offset. Most are below a hundred bytes; with long minima and
/// maxima they are more.
fn page_header(source: &Source, at: u64, end: u64) -> Result<(u64, Page), Fault> {
    for guess in [256, 1 << 14, 1 << 20, 1 << 24] {
        let bytes = source.read(at, guess.min(end - at))?;
        let mut walk = Walk {
            bytes: &bytes,
            at: 0,
        };
        match walk.page_header() {
            Ok(page) => return Ok((walk.at as u64, page)),
            Err(Bad::Short) if guess < end - at => {}
            Err(_) => break,
        }
    }
    Err(invalid("a page has no proper header"))
}

fn check_footer(footer: &[u8]) -> Result<(), Fault> {
    let mut walk = Walk {
        bytes: footer,
        at: 0,
    };
    walk.footer().map_err(|_| invalid("its footer is damaged"))
}

/// Why a walk ends.
enum Bad {
    /// The bytes end before the structure does.
    Short,
    /// They are not what they should be.
    Wrong,
}

/// A walk over a structure in the Thrift compact protocol.
struct Walk<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// The kinds of values that matter here, as the compact protocol numbers them.
const I32: u8 = 5;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

impl Walk<'_> {
    fn remaining(&self) -> usize {
        self.bytes.len() - self.at
    }

    fn skip(&mut self, len: u64) -> Result<(), Bad> {
        match usize::try_from(len) {
            Ok(len) if len <= self.remaining() => {
                self.at += len;
                Ok(())
            }
            _ => Err(Bad::Short),
        }
    }

    fn byte(&mut self) -> Result<u8, Bad> {
        let byte = *self.bytes.get(self.at).ok_or(Bad::Short)?;
        self.at += 1;
        Ok(byte)
    }

    fn varint(&mut self) -> Result<u64, Bad> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Bad::Wrong)
    }

    /// A number that must not be negative.
    fn count(&mut self) -> Result<u64, Bad> {
        let zigzag = self.varint()?;
        if zigzag & 1 == 1 {
            return Err(Bad::Wrong);
        }
        Ok(zigzag >> 1)
    }

    /// The kind and the number of members of a list. Each takes a byte at least.
    fn list(&mut self) -> Result<(u8, u64), Bad> {
        let head = self.byte()?;
        let len = match head >> 4 {
            15 => self.varint()?,
            short => u64::from(short),
        };
        if len > self.remaining() as u64 {
            return Err(Bad::Short);
        }
        Ok((head & 15, len))
    }

    /// Walks a structure. `known` is shown each field's id and kind first, and says
    /// whether it has walked the value itself.
    fn fields(
        &mut self,
        depth: usize,
        known: &mut dyn FnMut(&mut Self, i64, u8) -> Result<bool, Bad>,
    ) -> Result<(), Bad> {
        let mut id = 0_i64;
        loop {
            let head = self.byte()?;
            let kind = head & 15;
            if kind == 0 {
                return Ok(());
            }
            id = match head >> 4 {
                0 => {
                    let zigzag = self.varint()?;
                    (zigzag >> 1).cast_signed() ^ -(zigzag & 1).cast_signed()
                }
                delta => id.saturating_add(i64::from(delta)),
            };
            if !known(self, id, kind)? {
                self.value(kind, depth, Place::Field)?;
            }
        }
    }

    fn value(&mut self, kind: u8, depth: usize, place: Place) -> Result<(), Bad> {
        let depth = depth.checked_sub(1).ok_or(Bad::Wrong)?;
        match kind {
            // A truth value is in the field's head, but a byte in a list.
            1 | 2 if matches!(place, Place::Field) => Ok(()),
            1..=3 => self.skip(1),
            4..=6 => self.varint().map(|_| ()),
            7 => self.skip(8),
            8 => {
                let len = self.varint()?;
                self.skip(len)
            }
            LIST | 10 => {
                let (kind, len) = self.list()?;
                (0..len).try_for_each(|_| self.value(kind, depth, Place::Member))
            }
            11 => {
                let len = self.varint()?;
                if len == 0 {
                    return Ok(());
                }
                if len > self.remaining() as u64 {
                    return Err(Bad::Short);
                }
                let kinds = self.byte()?;
                (0..len).try_for_each(|_| {
                    self.value(kinds >> 4, depth, Place::Member)?;
                    self.value(kinds & 15, depth, Place::Member)
                })
            }
            STRUCT => self.fields(depth, &mut |_, _, _| Ok(false)),
            13 => self.skip(16),
            _ => Err(Bad::Wrong),
        }
    }

    /// Walks `FileMetaData`: field 2 is the schema, a tree written from the root down,
    /// in which field 5 of an element is the number of its children.
    fn footer(&mut self) -> Result<(), Bad> {
        self.fields(DEPTH_LIMIT, &mut |walk, id, kind| {
            if (id, kind) != (2, LIST) {
                return Ok(false);
            }
            let (STRUCT, elements) = walk.list()? else {
                return Err(Bad::Wrong);
            };
            // How many children are still to come, of each element above.
            let mut open: Vec<u64> = Vec::new();
            for element in 0..elements {
                let mut children = 0;
                walk.fields(DEPTH_LIMIT, &mut |walk, id, kind| {
                    if (id, kind) == (5, I32) {
                        children = walk.count()?;
                        return Ok(true);
                    }
                    Ok(false)
                })?;
                if let Some(above) = open.last_mut() {
                    *above -= 1;
                } else if element > 0 {
                    return Err(Bad::Wrong);
                }
                if children > elements {
                    return Err(Bad::Wrong);
                }
                open.push(children);
                while open.last() == Some(&0) {
                    open.pop();
                }
                if open.len() > DEPTH_LIMIT {
                    return Err(Bad::Wrong);
                }
            }
            if open.is_empty() {
                Ok(true)
            } else {
                Err(Bad::Wrong)
            }
        })
    }

    /// Walks `PageHeader`: field 2 is the decoded size, 3 that in the file, 5 and 8 are
    /// the headers of data pages, whose field 1 is the number of values.
    fn page_header(&mut self) -> Result<Page, Bad> {
        let (mut decoded, mut compressed, mut values) = (None, None, 0);
        self.fields(DEPTH_LIMIT, &mut |walk, id, kind| {
            match (id, kind) {
                (2, I32) => decoded = Some(walk.count()?),
                (3, I32) => compressed = Some(walk.count()?),
                (5 | 8, STRUCT) => walk.fields(DEPTH_LIMIT, &mut |walk, id, kind| {
                    if (id, kind) == (1, I32) {
                        values = walk.count()?;
                        return Ok(true);
                    }
                    Ok(false)
                })?,
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        match (decoded, compressed) {
            (Some(decoded), Some(compressed)) => Ok(Page {
                decoded,
                compressed,
                values,
            }),
            _ => Err(Bad::Wrong),
        }
    }
}

#[derive(Clone, Copy)]
enum Place {
    Field,
    Member,
}
