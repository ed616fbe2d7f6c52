//! Batches: raw records on their way from the thread that reads to one that parses.
//!
//! ```text
//! reader thread: bytes, unpacked and cut ─► Batch ─► worker: for_each ─► Record or Refused
//! ```
//!
//! The reader does only what must be done in order. JSON, HTTP and content encodings
//! are the worker's. Where a batch ends depends on the bytes of the source alone, never
//! on timing.

use std::ops::{ControlFlow, Range};
use std::sync::{Arc, Mutex, PoisonError};

use super::comma::{self, Columns};
use super::lines;
use super::options::ReadOptions;
use super::record::{Archived, Body, Kind, Offset, Record, Refused, When};
use super::warc::{self, Extent};

/// About how many bytes a batch holds. Half a mebibyte is a hundred documents or so:
/// handing it over costs nothing beside them, and two for each thread are small change
/// in any memory budget.
pub const BATCH_LEN: usize = 512 << 10;

/// How many pieces a batch holds at most, for records that are skipped hold no bytes.
const BATCH_PIECES: usize = 8 << 10;

/// What receives records: one call each, in order.
pub type Each<'e> = dyn FnMut(Result<Record<'_>, Refused>) + 'e;

/// What receives batches; [`ControlFlow::Break`] ends the reading.
pub type Sink<'s> = dyn FnMut(Batch) -> ControlFlow<()> + 's;

/// Some raw records, to be parsed on any thread.
pub trait RawRecords: Send {
    /// Calls back once for each raw record, in order.
    fn for_each(&self, each: &mut Each<'_>);

    /// How many bytes they take up.
    fn byte_len(&self) -> usize;
}

/// Some raw records of one source.
pub struct Batch {
    raw: Box<dyn RawRecords>,
    position: u64,
}

impl Batch {
    /// A batch; `position` bytes of the source were read up to its end.
    pub fn new(raw: impl RawRecords + 'static, position: u64) -> Batch {
        Batch {
            raw: Box::new(raw),
            position,
        }
    }

    /// Parses the records, in order, one call each. The time of reading goes here.
    pub fn for_each(&self, each: &mut Each<'_>) {
        self.raw.for_each(each);
    }

    /// How many bytes the batch holds.
    pub fn byte_len(&self) -> usize {
        self.raw.byte_len()
    }

    /// How many bytes of the source, as it is stored, were read up to here: for progress.
    pub fn position(&self) -> u64 {
        self.position
    }
}

/// A piece of a batch; ranges are of its bytes.
pub(crate) enum Piece {
    /// Whole lines of JSON, the first at this offset and with this number from 1.
    Lines {
        range: Range<usize>,
        offset: u64,
        line: Option<u64>,
    },
    /// One row of CSV.
    Row {
        range: Range<usize>,
        offset: u64,
        columns: Arc<Columns>,
    },
    /// A WARC record, from its version line to the end of its block.
    Warc {
        range: Range<usize>,
        head_len: usize,
        extent: Extent,
    },
    /// A file that is one document.
    File { range: Range<usize>, kind: Kind },
    /// What gives no record.
    Refused(Refused),
}

struct Pieces {
    options: Arc<ReadOptions>,
    bytes: Vec<u8>,
    list: Vec<Piece>,
    pool: Pool,
}

impl Drop for Pieces {
    fn drop(&mut self) {
        self.pool.give(std::mem::take(&mut self.bytes));
    }
}

/// Buffers that go round between the reader and the workers. Given back to the system
/// each time, their pages would be handed out and cleared once for every byte read.
#[derive(Clone, Default)]
struct Pool(Arc<Mutex<Vec<Vec<u8>>>>);

thread_local! {
    /// The buffers of a thread that reads: those of one source serve for the next.
    static POOL: Pool = Pool::default();
}

/// Buffers that wait in a pool at most.
const POOLED: usize = 8;

impl Pool {
    fn take(&self) -> Vec<u8> {
        let mut pool = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        pool.pop().unwrap_or_default()
    }

    fn give(&self, mut buffer: Vec<u8>) {
        let mut pool = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // One that a long record has blown up is not kept.
        if pool.len() < POOLED && buffer.capacity() <= 4 * BATCH_LEN {
            buffer.clear();
            pool.push(buffer);
        }
    }
}

impl RawRecords for Pieces {
    fn for_each(&self, each: &mut Each<'_>) {
        let bytes = |range: &Range<usize>| self.bytes.get(range.clone()).unwrap_or_default();
        let options = &*self.options;
        for piece in &self.list {
            match piece {
                Piece::Lines {
                    range,
                    offset,
                    line,
                } => lines::for_each(bytes(range), *offset, *line, options, each),
                Piece::Row {
                    range,
                    offset,
                    columns,
                } => each(comma::record(bytes(range), *offset, columns, options)),
                Piece::Warc {
                    range,
                    head_len,
                    extent,
                } => each(warc::record(bytes(range), *head_len, *extent, options)),
                Piece::File { range, kind } => each(Ok(Record {
                    offset: Offset(0),
                    id: None,
                    url: None,
                    date: When::Unsaid,
                    body: Body::Bytes {
                        bytes: bytes(range).into(),
                        kind: *kind,
                        charset: None,
                        payload_digest: None,
                    },
                    archived: Archived::default(),
                    repaired: 0,
                })),
                Piece::Refused(refused) => each(Err(refused.clone())),
            }
        }
    }

    fn byte_len(&self) -> usize {
        self.bytes.len()
    }
}

/// Gathers pieces and hands them on, a batch at a time.
pub(crate) struct Gather<'s> {
    options: Arc<ReadOptions>,
    sink: &'s mut Sink<'s>,
    bytes: Vec<u8>,
    pieces: Vec<Piece>,
    pool: Pool,
    /// Bytes of the source read so far.
    pub(crate) position: u64,
}

/// Whoever receives the batches wants no more.
pub(crate) struct Stopped;

impl<'s> Gather<'s> {
    pub(crate) fn new(options: &ReadOptions, sink: &'s mut Sink<'s>) -> Gather<'s> {
        Gather {
            options: Arc::new(options.clone()),
            sink,
            bytes: Vec::new(),
            pieces: Vec::new(),
            pool: POOL.with(Pool::clone),
            position: 0,
        }
    }

    /// An empty buffer, perhaps a used one.
    pub(crate) fn buffer(&self) -> Vec<u8> {
        self.pool.take()
    }

    /// Adds a refusal.
    pub(crate) fn refuse(&mut self, refused: Refused) -> Result<(), Stopped> {
        self.pieces.push(Piece::Refused(refused));
        self.flush_if_full()
    }

    /// Adds bytes, and the piece made of the range they come to stand in.
    pub(crate) fn add(
        &mut self,
        bytes: &[u8],
        piece: impl FnOnce(Range<usize>) -> Piece,
    ) -> Result<(), Stopped> {
        if self.bytes.capacity() == 0 {
            // Room for a batch at once: grown bit by bit, it would be moved many times.
            self.bytes.reserve(BATCH_LEN + BATCH_LEN / 2);
        }
        let start = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        self.pieces.push(piece(start..self.bytes.len()));
        self.flush_if_full()
    }

    /// Hands on a buffer as a batch of its own, after what was gathered before.
    pub(crate) fn add_buffer(
        &mut self,
        buffer: Vec<u8>,
        piece: impl FnOnce(Range<usize>) -> Piece,
    ) -> Result<(), Stopped> {
        if !self.bytes.is_empty() {
            self.flush()?;
        }
        self.pieces.push(piece(0..buffer.len()));
        self.pool.give(std::mem::replace(&mut self.bytes, buffer));
        self.flush()
    }

    fn flush_if_full(&mut self) -> Result<(), Stopped> {
        if self.bytes.len() >= BATCH_LEN || self.pieces.len() >= BATCH_PIECES {
            self.flush()?;
        }
        Ok(())
    }

    /// Hands on what there is.
    pub(crate) fn flush(&mut self) -> Result<(), Stopped> {
        if self.pieces.is_empty() {
            return Ok(());
        }
        let pieces = Pieces {
            options: Arc::clone(&self.options),
            bytes: std::mem::replace(&mut self.bytes, self.pool.take()),
            list: std::mem::take(&mut self.pieces),
            pool: self.pool.clone(),
        };
        match (self.sink)(Batch::new(pieces, self.position)) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(Stopped),
        }
    }
}
