//! The texts of a sweep's documents, from chunks to frames.
//!
//! ```text
//! chunks, in order ─► who has a text of its own ─► frames, packed by several threads
//!                                               └─► texts-places, when it is known where
//! ```
//!
//! Memory: a frame or two for each thread, and the places of what is being packed.

use std::num::NonZeroUsize;
use std::ops::Range;

use super::intake::Intake;
use super::names::{Target, Verdicts};
use super::segment::{Files, Numbers};
use super::sketching::FEATURES;
use crate::blocks::{BlockReader, BlockWriter, FileEntry, FileKind};
use crate::collection::entry::{Entry, Flag};
use crate::collection::kept::{FRAME_LEN, LONG_FRAME_LEN, TextKind, TextPlace};
use crate::parallel;
use crate::storage::StorageError;

/// Frames that are packed before their places are written, and places besides.
const FRAMES: usize = 256;
const PLACES: usize = 1 << 16;

/// How hard zstd tries: its own default.
const LEVEL: i32 = 3;

/// A frame to be: pieces of the texts of chunks.
#[derive(Default)]
struct Frame {
    pieces: Vec<(usize, Range<u64>)>,
    len: u64,
}

struct Writer {
    threads: NonZeroUsize,
    /// The texts of chunks, as far as they are needed.
    chunks: Vec<Option<BlockReader>>,
    frames: Vec<Frame>,
    /// By number; those with a text have the number of their frame in its place.
    waiting: Vec<(TextKind, TextPlace)>,
    texts: BlockWriter,
    places: BlockWriter,
}

/// Writes the texts of a sweep.
pub(crate) fn write_texts(
    files: &Files<'_>,
    intake: &Intake,
    verdicts: &Verdicts,
    base: u32,
    threads: NonZeroUsize,
) -> Result<[FileEntry; 2], StorageError> {
    let numbers = Numbers::new(base, verdicts);
    let mut writer = Writer {
        threads,
        chunks: Vec::new(),
        frames: Vec::new(),
        waiting: Vec::new(),
        texts: files.create("texts", FileKind::Texts)?,
        places: files.create("texts-places", FileKind::Lookup)?,
    };
    let mut number = 0;
    for (chunk, stored) in intake.chunks.iter().enumerate() {
        let open = |file| BlockReader::open(files.storage, file);
        writer
            .chunks
            .push(stored.texts.as_ref().map(open).transpose()?);
        let heads = BlockReader::open(files.storage, &stored.heads)?;
        let mut heads = heads.all_records::<Entry>(8)?;
        let mut from = 0;
        while let Some(entry) = heads.next_record()? {
            let len = entry.strings & !FEATURES;
            let text = from..from + len;
            from += len;
            number += 1;
            if !verdicts.is_document(number - 1) {
                continue;
            }
            match verdicts.text_of(number - 1) {
                // What it revisits has the text.
                _ if entry.has(Flag::Revisit) => {
                    writer.waiting.push((TextKind::None, TextPlace::default()));
                }
                Target::New(own) if own == number - 1 => {
                    let kind = if entry.strings & FEATURES == 0 {
                        TextKind::Text
                    } else {
                        TextKind::Features
                    };
                    writer.add(kind, chunk, text)?;
                }
                other => {
                    let doc = numbers.doc(other).into();
                    let place = TextPlace::new(TextKind::Same, doc, 0, 0);
                    writer.waiting.push((TextKind::Same, place));
                }
            }
            if writer.waiting.len() >= PLACES {
                writer.flush()?;
            }
        }
    }
    writer.flush()?;
    Ok([writer.texts.finish()?, writer.places.finish()?])
}

impl Writer {
    /// Adds a text, which stands at some place of a chunk.
    fn add(&mut self, kind: TextKind, chunk: usize, text: Range<u64>) -> Result<(), StorageError> {
        let len = text.end - text.start;
        let has_room = |frame: &Frame| frame.len + len <= FRAME_LEN;
        if !self.frames.last().is_some_and(has_room) {
            self.new_frame()?;
        }
        let at = self.frames.last().map_or(0, |frame| frame.len);
        let number = self.frames.len().saturating_sub(1) as u64;
        let at = u32::try_from(at).unwrap_or(u32::MAX);
        self.waiting
            .push((kind, TextPlace::new(kind, number, at, len)));
        let mut from = text.start;
        while from < text.end {
            let to = text.end.min(from + LONG_FRAME_LEN);
            if let Some(frame) = self.frames.last_mut() {
                frame.pieces.push((chunk, from..to));
                frame.len += to - from;
            }
            from = to;
            if from < text.end {
                // A long text goes on behind its place, which must not be written twice.
                self.frames.push(Frame::default());
            }
        }
        Ok(())
    }

    fn new_frame(&mut self) -> Result<(), StorageError> {
        if self.frames.len() >= FRAMES {
            self.flush()?;
        }
        self.frames.push(Frame::default());
        Ok(())
    }

    /// Packs the frames there are, and writes the places of all that waits.
    fn flush(&mut self) -> Result<(), StorageError> {
        let Writer {
            chunks,
            frames,
            texts,
            ..
        } = self;
        let mut begins = Vec::with_capacity(frames.len());
        let failed = |error| StorageError::io("texts", error);
        parallel::in_order(
            self.threads,
            frames.len(),
            || zstd::bulk::Compressor::new(LEVEL).map_err(failed),
            |packer, i| {
                let mut bytes = Vec::new();
                for (chunk, range) in &frames[i].pieces {
                    let reader = chunks[*chunk].as_ref();
                    let reader = reader.ok_or_else(|| {
                        StorageError::damaged("intake", "a chunk has no texts", None)
                    })?;
                    let mut stream = reader.stream(range.clone(), 1)?;
                    while let Some(piece) = stream.next_chunk()? {
                        bytes.extend_from_slice(piece);
                    }
                }
                let packer = packer.as_mut().map_err(|error| {
                    StorageError::io("texts", std::io::Error::other(error.to_string()))
                })?;
                packer.compress(&bytes).map_err(failed)
            },
            |_, packed| {
                begins.push(texts.position());
                texts.append(&packed)
            },
        )?;
        for (kind, mut place) in self.waiting.drain(..) {
            if matches!(kind, TextKind::Text | TextKind::Features) {
                place.frame = begins
                    .get(usize::try_from(place.frame).unwrap_or(usize::MAX))
                    .copied()
                    .unwrap_or(u64::MAX);
            }
            self.places.append_record(place)?;
        }
        self.frames.clear();
        // Only the last is needed again: as many files are open as are in use.
        if let Some((_, done)) = self.chunks.split_last_mut() {
            done.fill_with(|| None);
        }
        Ok(())
    }
}
