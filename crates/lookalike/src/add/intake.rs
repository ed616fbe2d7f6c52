//! What sketching leaves on disk, chunk by chunk, so that the same command again goes on
//! where it was stopped.
//!
//! ```text
//! batches, in order ─► chunk: heads    an Entry each; its grade says whether samples follow
//!                                      a revisit has the capture that it names where
//!                                      the name of its bytes will stand
//!                             bodies   samples u64 × n | id | URL | media type, each
//!                                      document's; how long the last is stands where
//!                                      its number will
//!                             rejects  one JSON object a line
//!                             texts    of each document, if they are kept; how long
//!                                      stands where its strings will
//! ```
//!
//! A chunk is done when some tens of megabytes of text are in it: its files are synced,
//! and the journal names them and the place in the input behind them. Where all is in one
//! chunk, to sketch it again takes no longer than to go on would save, and neither is done.

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::sketching::{Position, Sketched};
use super::tally::Tally;
use crate::blocks::{
    BlockReader, BlockStream, BlockWriter, FileEntry, FileKind, RecordStream, file_id, verify,
};
use crate::collection::entry::Entry;
use crate::collection::journal::{Journal, save_journal};
use crate::corpus::inputs::Source;
use crate::corpus::record::Refused;
use crate::storage::{Storage, StorageError};

/// Bytes of text in a chunk. Half a second of work is what an interruption may cost.
/// Tests have as many chunks as batches.
const CHUNK_LEN: u64 = if cfg!(test) { 1 } else { 64 << 20 };

/// Entries in a chunk at most: short documents take up more than their text.
const CHUNK_ENTRIES: u64 = if cfg!(test) { 1 << 6 } else { 1 << 18 };

/// In place of the grade of an entry: an older sweep has the content, so that it needs no
/// samples.
pub(crate) const OLDER: u8 = 0xff;

/// A chunk on disk.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub(crate) struct Chunk {
    pub(crate) heads: FileEntry,
    pub(crate) bodies: FileEntry,
    pub(crate) rejects: Option<FileEntry>,
    pub(crate) texts: Option<FileEntry>,
}

/// How far sketching has come: what the journal holds.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub(crate) struct Intake {
    /// What was asked for: the same command again has the same.
    pub(crate) command: u64,
    pub(crate) chunks: Vec<Chunk>,
    pub(crate) tally: Tally,
    pub(crate) position: Position,
    pub(crate) entries: u64,
    pub(crate) is_complete: bool,
}

impl Intake {
    fn files(&self) -> Vec<FileEntry> {
        let files = self.chunks.iter().flat_map(|chunk| {
            let sure = [chunk.heads.clone(), chunk.bodies.clone()];
            let others = [chunk.rejects.clone(), chunk.texts.clone()];
            sure.into_iter().chain(others.into_iter().flatten())
        });
        files.collect()
    }

    /// Reads every byte of what it names: an error if that is not what was written.
    pub(crate) fn verify(&self, storage: &dyn Storage) -> Result<(), StorageError> {
        self.files()
            .iter()
            .try_for_each(|file| verify(storage, file))
    }

    /// Writes it down.
    pub(crate) fn save(&self, storage: &dyn Storage, generation: u64) -> Result<(), StorageError> {
        let journal = Journal::new(generation, self.files(), self.clone());
        save_journal(storage, &journal)
    }

    /// All entries, in order.
    pub(crate) fn heads<'a>(&'a self, storage: &'a dyn Storage) -> Heads<'a> {
        Heads {
            storage,
            chunks: &self.chunks,
            stream: None,
        }
    }

    /// Calls `each` with every line of the lists of rejects.
    pub(crate) fn rejects(
        &self,
        storage: &dyn Storage,
        mut each: impl FnMut(&[u8]),
    ) -> Result<(), StorageError> {
        for entry in self
            .chunks
            .iter()
            .filter_map(|chunk| chunk.rejects.as_ref())
        {
            each(&BlockReader::open(storage, entry)?.read_all()?);
        }
        Ok(())
    }
}

/// Entries of all chunks, from the first to the last.
pub(crate) struct Heads<'a> {
    storage: &'a dyn Storage,
    chunks: &'a [Chunk],
    stream: Option<RecordStream<Entry>>,
}

impl Heads<'_> {
    /// The next entry; `None` at the end.
    pub(crate) fn next_entry(&mut self) -> Result<Option<Entry>, StorageError> {
        loop {
            if let Some(stream) = &mut self.stream
                && let Some(entry) = stream.next_record()?
            {
                return Ok(Some(entry));
            }
            let Some((chunk, rest)) = self.chunks.split_first() else {
                return Ok(None);
            };
            let reader = BlockReader::open(self.storage, &chunk.heads)?;
            self.stream = Some(reader.all_records(8)?);
            self.chunks = rest;
        }
    }
}

/// The bodies of all chunks, from the first to the last.
pub(crate) struct Bodies<'a> {
    storage: &'a dyn Storage,
    chunks: &'a [Chunk],
    stream: Option<BlockStream>,
}

impl<'a> Bodies<'a> {
    pub(crate) fn new(storage: &'a dyn Storage, chunks: &'a [Chunk]) -> Bodies<'a> {
        Bodies {
            storage,
            chunks,
            stream: None,
        }
    }

    /// Reads the body of the next entry.
    pub(crate) fn next_body(
        &mut self,
        entry: &Entry,
        samples: &mut Vec<u64>,
        strings: &mut Vec<u8>,
    ) -> Result<(), StorageError> {
        while self
            .stream
            .as_ref()
            .is_none_or(|stream| stream.remaining() == 0)
        {
            let Some((chunk, rest)) = self.chunks.split_first() else {
                // Only entries without anything stand here.
                samples.clear();
                strings.clear();
                return Ok(());
            };
            let reader = BlockReader::open(self.storage, &chunk.bodies)?;
            self.stream = Some(reader.stream(0..reader.len(), 8)?);
            self.chunks = rest;
        }
        let Some(stream) = &mut self.stream else {
            return Ok(());
        };
        let count = if entry.grade == OLDER {
            0
        } else {
            entry.sketch.samples()
        };
        let mut bytes = vec![0; 8 * count];
        stream.read_exact(&mut bytes)?;
        samples.clear();
        let words = bytes.as_chunks().0.iter();
        samples.extend(words.map(|word| u64::from_le_bytes(*word)));
        let names = (entry.id_len + entry.url_len) as usize;
        strings.resize(names + usize::from(entry.facts.mime), 0);
        stream.read_exact(strings)
    }
}

/// What a batch came to, ready to be written.
pub(crate) struct Taken<'a> {
    /// Behind it.
    pub(crate) position: Position,
    pub(crate) entries: &'a [Entry],
    pub(crate) bodies: &'a [u8],
    pub(crate) texts: &'a [u8],
    pub(crate) tally: &'a Tally,
    /// One JSON object a line.
    pub(crate) rejects: &'a [u8],
}

/// A rejected record of an input as a line of JSON.
pub(crate) fn reject_line(input: &str, refused: &Refused) -> String {
    let place = if refused.is_line { "line" } else { "offset" };
    let line = json!({
        "input": input,
        place: refused.at,
        "reason": refused.code,
        "message": refused.message,
    });
    format!("{line}\n")
}

/// Writes chunks as batches come in.
pub(crate) struct Collector<'a> {
    storage: &'a dyn Storage,
    collection: u64,
    generation: u64,
    sources: &'a [Source],
    pub(crate) intake: Intake,
    open: Option<Open>,
}

struct Open {
    heads: BlockWriter,
    bodies: BlockWriter,
    rejects: Option<BlockWriter>,
    texts: Option<BlockWriter>,
    bytes: u64,
    entries: u64,
}

impl<'a> Collector<'a> {
    pub(crate) fn new(
        storage: &'a dyn Storage,
        collection: u64,
        generation: u64,
        sources: &'a [Source],
        intake: Intake,
    ) -> Collector<'a> {
        Collector {
            storage,
            collection,
            generation,
            sources,
            intake,
            open: None,
        }
    }

    fn create(&self, what: &str) -> Result<BlockWriter, StorageError> {
        let (generation, chunk) = (self.generation, self.intake.chunks.len());
        let name = format!("intake-{generation}-{chunk:05}-{what}.lk");
        let id = file_id(self.collection, generation, &name);
        BlockWriter::create(self.storage, &name, FileKind::Scratch, id)
    }

    /// Takes the next batch.
    pub(crate) fn take(
        &mut self,
        position: Position,
        source: usize,
        sketched: &Sketched,
    ) -> Result<(), StorageError> {
        let rejects = sketched.refused.iter().filter(|one| one.is_rejected);
        let lines = rejects.map(|one| reject_line(&self.sources[source].name, one));
        self.append(&Taken {
            position,
            entries: &sketched.entries,
            bodies: &sketched.bodies,
            texts: &sketched.texts,
            tally: &sketched.tally,
            rejects: lines.collect::<String>().as_bytes(),
        })
    }

    /// Takes what a batch came to.
    pub(crate) fn append(&mut self, taken: &Taken<'_>) -> Result<(), StorageError> {
        self.intake.tally.add(taken.tally);
        self.intake.position = taken.position;
        self.intake.entries += taken.entries.len() as u64;
        if !taken.entries.is_empty() || !taken.rejects.is_empty() {
            let mut open = match self.open.take() {
                Some(open) => open,
                None => Open {
                    heads: self.create("heads")?,
                    bodies: self.create("bodies")?,
                    rejects: None,
                    texts: None,
                    bytes: 0,
                    entries: 0,
                },
            };
            open.heads.append_records(taken.entries)?;
            open.bodies.append(taken.bodies)?;
            if !taken.texts.is_empty() {
                let mut texts = match open.texts.take() {
                    Some(texts) => texts,
                    None => self.create("texts")?,
                };
                texts.append(taken.texts)?;
                open.texts = Some(texts);
            }
            open.bytes += taken.tally.bytes;
            open.entries += taken.entries.len() as u64;
            if !taken.rejects.is_empty() {
                let mut rejects = match open.rejects.take() {
                    Some(rejects) => rejects,
                    None => self.create("rejects")?,
                };
                rejects.append(taken.rejects)?;
                open.rejects = Some(rejects);
            }
            self.open = Some(open);
        }
        if self
            .open
            .as_ref()
            .is_some_and(|open| open.bytes >= CHUNK_LEN || open.entries >= CHUNK_ENTRIES)
        {
            self.close(BlockWriter::finish)?;
            self.intake.save(self.storage, self.generation)?;
        }
        Ok(())
    }

    /// Ends the open chunk, its files written by `finish`.
    fn close(
        &mut self,
        finish: fn(BlockWriter) -> Result<FileEntry, StorageError>,
    ) -> Result<(), StorageError> {
        if let Some(open) = self.open.take() {
            let chunk = Chunk {
                heads: finish(open.heads)?,
                bodies: finish(open.bodies)?,
                rejects: open.rejects.map(finish).transpose()?,
                texts: open.texts.map(finish).transpose()?,
            };
            self.intake.chunks.push(chunk);
        }
        Ok(())
    }

    /// All batches have come.
    pub(crate) fn finish(mut self) -> Result<Intake, StorageError> {
        let is_small = self.intake.chunks.is_empty();
        self.close(if is_small {
            BlockWriter::finish_scratch
        } else {
            BlockWriter::finish
        })?;
        self.intake.is_complete = true;
        if !is_small {
            self.intake.save(self.storage, self.generation)?;
        }
        Ok(self.intake)
    }
}
