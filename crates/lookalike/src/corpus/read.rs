//! Reading a source from its beginning, and reading some of its records again.
//!
//! ```text
//! read_source: Source ─► batches ─► Batch::for_each ─► every record, once
//! fetch:       Source, offsets ─► those records, byte for byte as before
//! ```
//!
//! [`fetch`] jumps in plain JSONL, CSV and WARC, in WARC packed record by record and in
//! single files; what is packed as a whole is unpacked once from its beginning, and only
//! the wanted records are parsed.

use std::io;
use std::ops::ControlFlow;
use std::path::Path;

use super::batch::{Batch, Gather, Piece, Stopped};
use super::inputs::{Source, SourceKind, stdin_kind};
use super::options::ReadOptions;
use super::record::{Archived, Body, Kind, Offset, Record, Refused, When};
use super::unpack::{Event, Input, Packing, Unpacked};
use super::{comma, lines, parquet, wacz, warc};

/// A source that cannot be read, or not to its end.
#[derive(Debug, thiserror::Error)]
#[error("cannot read `{name}`")]
pub struct SourceError {
    /// Which source, as it may be shown.
    pub name: String,
    /// Why.
    #[source]
    pub fault: SourceFault,
}

/// Why a source cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SourceFault {
    /// The operating system refused.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It was standard input.
    #[error("standard input cannot be read a second time; save it to a file")]
    NotAgain,
    /// It was a table in memory.
    #[error("a table in memory cannot be read again when the program that had it is gone")]
    LetGo,
    /// Its format is not what it ought to be, or none that is read.
    #[error("{0}")]
    Format(String),
}

/// Why reading ended early.
pub(crate) enum Halt {
    /// Whoever reads has enough.
    Stopped,
    /// The source is no good.
    Fault(SourceFault),
}

impl From<Stopped> for Halt {
    fn from(_: Stopped) -> Halt {
        Halt::Stopped
    }
}

impl From<io::Error> for Halt {
    fn from(error: io::Error) -> Halt {
        Halt::Fault(error.into())
    }
}

impl Halt {
    pub(crate) fn format(message: impl Into<String>) -> Halt {
        Halt::Fault(SourceFault::Format(message.into()))
    }

    /// To have enough is no error.
    fn into_result(self, source: &Source) -> Result<(), SourceError> {
        match self {
            Halt::Stopped => Ok(()),
            Halt::Fault(fault) => Err(SourceError {
                name: source.name.clone(),
                fault,
            }),
        }
    }
}

/// Reads a source from its beginning to its end, a batch at a time.
///
/// Does what must be done in order: reading, unpacking, cutting. Every raw record comes
/// in exactly one batch; after an error, those before it have come.
pub fn read_source(
    source: &Source,
    options: &ReadOptions,
    sink: &mut dyn FnMut(Batch) -> ControlFlow<()>,
) -> Result<(), SourceError> {
    if source.kind == SourceKind::Parquet {
        return parquet::source::read_source(source, options, sink);
    }
    if let Some(held) = &source.held {
        held.read(options, sink);
        return Ok(());
    }
    let mut gather = Gather::new(options, sink);
    let read = read_all(source, options, &mut gather);
    match read.and_then(|()| Ok(gather.flush()?)) {
        Ok(()) => Ok(()),
        Err(halt) => {
            if let Halt::Fault(_) = halt {
                // What came before the error is not lost.
                let _ = gather.flush();
            }
            halt.into_result(source)
        }
    }
}

fn read_all(source: &Source, options: &ReadOptions, gather: &mut Gather<'_>) -> Result<(), Halt> {
    match source.kind {
        SourceKind::Memory => Err(Halt::Fault(SourceFault::LetGo)),
        SourceKind::Stdin => read_any(Box::new(io::stdin()), options, gather),
        SourceKind::Document => {
            let kind = name_kind(&source.path);
            match super::folder::read(&source.path, options.limits.record as u64) {
                Ok(bytes) => Ok(gather.add_buffer(bytes, |range| Piece::File { range, kind })?),
                Err(why) => Ok(gather.refuse(super::inputs::refused(&why, options))?),
            }
        }
        SourceKind::Wacz => wacz::read(&source.path, options, gather),
        kind => {
            let mut unpacked = Unpacked::open(&source.path)?;
            read_stream(&mut unpacked, kind, &source.path, options, gather)
        }
    }
}

/// Reads what is no file: standard input, a socket, bytes in memory. What it holds is
/// told by its first bytes, or by [`ReadOptions::input`].
pub fn read_stream_of(
    reader: Box<dyn io::Read + Send>,
    options: &ReadOptions,
    sink: &mut dyn FnMut(Batch) -> ControlFlow<()>,
) -> Result<(), SourceFault> {
    let mut gather = Gather::new(options, sink);
    match read_any(reader, options, &mut gather).and_then(|()| Ok(gather.flush()?)) {
        Ok(()) | Err(Halt::Stopped) => Ok(()),
        Err(Halt::Fault(fault)) => {
            let _ = gather.flush();
            Err(fault)
        }
    }
}

fn read_any(
    reader: Box<dyn io::Read + Send>,
    options: &ReadOptions,
    gather: &mut Gather<'_>,
) -> Result<(), Halt> {
    let mut unpacked = Unpacked::new(Input::new(reader, 0))?;
    let kind = stdin_kind(&mut unpacked, options)?;
    read_stream(&mut unpacked, kind, Path::new(""), options, gather)
}

fn read_stream(
    unpacked: &mut Unpacked,
    kind: SourceKind,
    path: &Path,
    options: &ReadOptions,
    gather: &mut Gather<'_>,
) -> Result<(), Halt> {
    match kind {
        SourceKind::Jsonl => lines::read(unpacked, options, gather),
        SourceKind::Csv => comma::read(unpacked, options, gather),
        SourceKind::Warc => warc::read(unpacked, options, gather),
        _ => match whole(unpacked, options)? {
            Ok(bytes) => {
                let kind = name_kind(path);
                Ok(gather.add_buffer(bytes, |range| Piece::File { range, kind })?)
            }
            Err(refused) => Ok(gather.refuse(refused)?),
        },
    }
}

/// A whole stream as one document.
fn whole(unpacked: &mut Unpacked, options: &ReadOptions) -> Result<Result<Vec<u8>, Refused>, Halt> {
    let limit = options.limits.record;
    let mut bytes = Vec::new();
    loop {
        match unpacked.read(&mut bytes, 64 << 10)? {
            Event::Bytes | Event::MemberEnd => {}
            Event::End => return Ok(Ok(bytes)),
            Event::Damaged(why) => return Ok(Err(Refused::damaged(unpacked.member(), why))),
        }
        if bytes.len() > limit {
            let message = format!("it is larger than {limit} bytes (limit `record`)");
            return Ok(Err(Refused::rejected(0, "too large", message)));
        }
    }
}

/// What a file's name says of its bytes. A packing suffix does not count.
fn name_kind(path: &Path) -> Kind {
    let ending = |path: &Path| Some(path.extension()?.to_str()?.to_ascii_lowercase());
    let inner = match ending(path).as_deref() {
        Some("gz" | "zst") => path.file_stem().map(Path::new),
        _ => Some(path),
    };
    match inner.and_then(ending).as_deref() {
        None => Kind::Unsaid,
        Some("html" | "htm" | "xhtml" | "xht" | "shtml") => Kind::Html,
        Some(_) => Kind::Named,
    }
}

/// What receives records that are read again.
pub type EachAgain<'e> = dyn FnMut(Offset, Result<Record<'_>, Refused>) + 'e;

/// The records that are still to be read again.
pub(crate) struct Wanted<'w> {
    offsets: &'w [Offset],
    each: &'w mut EachAgain<'w>,
}

impl Wanted<'_> {
    /// The next.
    pub(crate) fn next(&self) -> Option<u64> {
        self.offsets.first().map(|offset| offset.0)
    }

    /// Gives the next; `None` if there is no record any more where it was.
    pub(crate) fn give(&mut self, record: Option<Result<Record<'_>, Refused>>) {
        let Some((&offset, rest)) = self.offsets.split_first() else {
            return;
        };
        self.offsets = rest;
        let gone = || Refused::rejected(offset.0, "gone", "there is no record here any more");
        (self.each)(offset, record.unwrap_or_else(|| Err(gone())));
    }

    /// Ends the reading when all were given.
    pub(crate) fn halt_if_done(&self) -> Result<(), Halt> {
        match self.offsets {
            [] => Err(Halt::Stopped),
            _ => Ok(()),
        }
    }

    /// Says of those that should have come before an offset that they are gone.
    pub(crate) fn pass(&mut self, offset: u64) {
        while self.next().is_some_and(|next| next < offset) {
            self.give(None);
        }
    }

    fn finish(&mut self) {
        while self.next().is_some() {
            self.give(None);
        }
    }
}

/// Reads some records again, in one ordered pass. The offsets must increase.
///
/// Calls back once for each, in order. A source that changed since may give other
/// records or `gone`: compare [`Source::len`] and [`Source::modified`] first.
pub fn fetch(
    source: &Source,
    offsets: &[Offset],
    options: &ReadOptions,
    each: &mut EachAgain<'_>,
) -> Result<(), SourceError> {
    match source.kind {
        SourceKind::Parquet => return parquet::source::fetch(source, offsets, options, each),
        SourceKind::Memory => {
            let Some(held) = &source.held else {
                return Halt::Fault(SourceFault::LetGo).into_result(source);
            };
            held.fetch(offsets, options, each);
            return Ok(());
        }
        SourceKind::Stdin => {
            return Halt::Fault(SourceFault::NotAgain).into_result(source);
        }
        _ if offsets.is_empty() => return Ok(()),
        _ => {}
    }
    let mut wanted = Wanted { offsets, each };
    match fetch_all(source, options, &mut wanted) {
        Ok(()) | Err(Halt::Stopped) => {
            wanted.finish();
            Ok(())
        }
        Err(halt) => halt.into_result(source),
    }
}

fn fetch_all(source: &Source, options: &ReadOptions, wanted: &mut Wanted<'_>) -> Result<(), Halt> {
    let path = &source.path;
    match source.kind {
        SourceKind::Jsonl => {
            let mut unpacked = Unpacked::open(path)?;
            match unpacked.packing() {
                Packing::Plain => lines::jump(&mut unpacked, options, wanted),
                _ => lines::pick(&mut unpacked, options, wanted),
            }
        }
        SourceKind::Csv => comma::fetch(path, options, wanted),
        SourceKind::Warc => warc::fetch(path, options, wanted),
        SourceKind::Wacz => wacz::fetch(path, options, wanted),
        SourceKind::Document | SourceKind::PackedDocument => {
            let read = if source.kind == SourceKind::Document {
                super::folder::read(path, options.limits.record as u64)
                    .map_err(|why| super::inputs::refused(&why, options))
            } else {
                whole(&mut Unpacked::open(path)?, options)?
            };
            let record = read.map(|bytes| Record {
                offset: Offset(0),
                id: None,
                url: None,
                date: When::Unsaid,
                body: Body::Bytes {
                    bytes: bytes.into(),
                    kind: name_kind(path),
                    charset: None,
                    payload_digest: None,
                },
                archived: Archived::default(),
                repaired: 0,
            });
            if wanted.next() == Some(0) {
                wanted.give(Some(record));
            }
            Ok(())
        }
        SourceKind::Parquet | SourceKind::Stdin | SourceKind::Memory => Ok(()),
    }
}
