//! One sweep on disk: all that is known of its documents.
//!
//! ```text
//! documents  Entry × n                    by number
//! strings    ids and URLs, one after the other
//! heads      u32 × n                      size and level of each sketch
//! sketches   u64 …                        samples of the documents that are no copies
//! places     u64 …                        where those of every 64th document begin
//! postings   (rest, document) …           the samples, sorted; fences: where buckets begin
//! names      (name of sketch, document)   sorted, and so are
//! keys       (key, document)
//! payloads   (payload digest, document)
//! captures   Capture …                    of documents that were captured before, by
//!                                         document and date
//! pairs      Pair …                       counted, with a later document of this sweep
//! sources    one JSON object a line
//! texts      if they are kept: zstd frames; texts-places: TextPlace × n
//! ```

use std::ffi::OsString;
use std::fmt::Write;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use super::entry::{Capture, Entry};
use super::kept::Kept;
use super::lookup::Lookup;
use super::manifest::Manifest;
use super::state::{State, Sweep};
use crate::blocks::{BlockReader, RecordStream};
use crate::corpus::inputs::{Source, SourceKind};
use crate::storage::{Storage, StorageError};

/// One sweep, opened.
#[derive(Debug)]
pub struct Segment {
    /// Its first document.
    pub base: u32,
    /// How many it has.
    pub documents: u32,
    /// The generation that added it.
    pub generation: u64,
    entries: BlockReader,
    strings: BlockReader,
    pub(crate) sketch_names: Lookup,
    pub(crate) keys: Lookup,
    pub(crate) payloads: Lookup,
    captures: BlockReader,
    sources: BlockReader,
    /// The texts of its documents, if they are kept.
    pub(crate) kept: Option<Kept>,
    /// Its captures without a word, if there are any.
    blanks: Option<BlockReader>,
    /// Where the line of every [`LINES`]th source begins, once it was asked for.
    lines: OnceLock<Vec<u64>>,
}

/// Lines of sources that are read to find one: a million sources have 16,000 marks.
const LINES: usize = 64;

impl Segment {
    /// Opens the files of a sweep.
    pub fn open(
        storage: &dyn Storage,
        manifest: &Manifest<State>,
        sweep: &Sweep,
    ) -> Result<Segment, StorageError> {
        let entry = |what| manifest.file(&sweep.file_name(what));
        let entries = BlockReader::open(storage, entry("documents")?)?;
        if entries.record_count::<Entry>()? != u64::from(sweep.documents) {
            let what = "it has another number of documents than the manifest says";
            return Err(StorageError::damaged(entries.entry().file(), what, None));
        }
        let kept = if sweep.keeps_text {
            Some(Kept::open(
                storage,
                entry("texts-places")?,
                entry("texts")?,
            )?)
        } else {
            None
        };
        let blanks = if sweep.blanks > 0 {
            Some(BlockReader::open(storage, entry("blanks")?)?)
        } else {
            None
        };
        Ok(Segment {
            base: sweep.base,
            documents: sweep.documents,
            generation: sweep.generation,
            entries,
            strings: BlockReader::open(storage, entry("strings")?)?,
            sketch_names: Lookup::open(storage, entry("names")?)?,
            keys: Lookup::open(storage, entry("keys")?)?,
            payloads: Lookup::open(storage, entry("payloads")?)?,
            captures: BlockReader::open(storage, entry("captures")?)?,
            sources: BlockReader::open(storage, entry("sources")?)?,
            kept,
            blanks,
            lines: OnceLock::new(),
        })
    }

    /// What is known of a document of this sweep.
    pub fn entry(&self, doc: u32) -> Result<Entry, StorageError> {
        let index = doc.checked_sub(self.base).map(u64::from);
        self.entries.record(index.unwrap_or(u64::MAX))
    }

    /// What is known of a capture without a word, by its place among those of this sweep.
    pub(crate) fn blank(&self, index: u32) -> Result<Entry, StorageError> {
        match &self.blanks {
            Some(blanks) => blanks.record(u64::from(index)),
            None => self.entries.record(u64::MAX), // damage, as of any number beyond the end
        }
    }

    /// All of them, in order.
    pub(crate) fn entries(&self) -> Result<RecordStream<Entry>, StorageError> {
        self.entries.all_records(8)
    }

    /// The further captures that were read with this sweep, by document and then by date.
    pub(crate) fn captures(&self) -> Result<RecordStream<Capture>, StorageError> {
        self.captures.all_records(8)
    }

    /// Those of one document. O(log captures), and the captures themselves.
    pub(crate) fn captures_of(&self, doc: u32) -> Result<Vec<Capture>, StorageError> {
        let count = self.captures.record_count::<Capture>()?;
        let mut next = self
            .captures
            .partition_point(|capture: &Capture| capture.doc < doc)?;
        let mut captures = Vec::new();
        while next < count {
            let capture: Capture = self.captures.record(next)?;
            if capture.doc != doc {
                break;
            }
            captures.push(capture);
            next += 1;
        }
        Ok(captures)
    }

    /// A document's id and URL, one after the other.
    pub(crate) fn string_bytes(&self, entry: &Entry) -> Result<Vec<u8>, StorageError> {
        let mut bytes = vec![0; (entry.id_len as usize).saturating_add(entry.url_len as usize)];
        self.strings.read_at(entry.strings, &mut bytes)?;
        Ok(bytes)
    }

    /// A document's id and URL.
    pub fn strings(&self, entry: &Entry) -> Result<(Option<String>, Option<String>), StorageError> {
        use super::entry::Flag;
        let bytes = self.string_bytes(entry)?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (id, url) = bytes.split_at(entry.id_len as usize);
        Ok((
            entry.has(Flag::HasId).then(|| text(id)),
            entry.has(Flag::HasUrl).then(|| text(url)),
        ))
    }

    /// One of its sources. The first time reads all of their names.
    pub(crate) fn source(&self, number: u32, folder: &Path) -> Result<Source, StorageError> {
        let wrong = || {
            let name = self.sources.entry().file();
            StorageError::damaged(name, "a source is not there or makes no sense", None)
        };
        let lines = if let Some(lines) = self.lines.get() {
            lines
        } else {
            let found = self.find_lines()?;
            self.lines.get_or_init(|| found)
        };
        let number = number as usize;
        let from = *lines.get(number / LINES).ok_or_else(wrong)?;
        let to = lines.get(number / LINES + 1).copied();
        let mut stream = self
            .sources
            .stream(from..to.unwrap_or(self.sources.len()), 1)?;
        let mut bytes = Vec::new();
        while let Some(chunk) = stream.next_chunk()? {
            bytes.extend_from_slice(chunk);
        }
        let line = bytes.split(|byte| *byte == b'\n').nth(number % LINES);
        let stored = line.and_then(|line| serde_json::from_slice(line).ok());
        let source = stored.and_then(|stored: StoredSource| stored.source(folder));
        source.ok_or_else(wrong)
    }

    /// All of its sources, as they are written down.
    pub(crate) fn stored_sources(&self) -> Result<Vec<StoredSource>, StorageError> {
        let name = self.sources.entry().file();
        let wrong = |_| StorageError::damaged(name, "a line makes no sense", None);
        let bytes = self.sources.read_all()?;
        let lines = bytes.split(|byte| *byte == b'\n');
        lines
            .filter(|line| !line.is_empty())
            .map(|line| serde_json::from_slice(line).map_err(wrong))
            .collect()
    }

    fn find_lines(&self) -> Result<Vec<u64>, StorageError> {
        let mut stream = self.sources.stream(0..self.sources.len(), 8)?;
        let (mut lines, mut seen, mut begin) = (vec![0], 0, 0);
        while let Some(chunk) = stream.next_chunk()? {
            for end in memchr::memchr_iter(b'\n', chunk) {
                seen += 1;
                if seen % LINES == 0 {
                    lines.push(begin + end as u64 + 1);
                }
            }
            begin += chunk.len() as u64;
        }
        Ok(lines)
    }
}

/// A source as it is written down.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct StoredSource {
    /// As it is shown.
    pub name: String,
    /// Its path: as typed when absolute, else from the folder of the collection.
    path: String,
    /// The same as bytes in hexadecimal, where it is not text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    path_bytes: Option<String>,
    kind: String,
    len: u64,
    /// BLAKE3 of all its bytes, in hexadecimal: of packed files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) digest: Option<String>,
}

impl StoredSource {
    /// Whether a source has the kind and the length of this one.
    pub(crate) fn is_like(&self, source: &Source) -> bool {
        self.kind == source.kind.name() && self.len == source.len
    }

    /// What is written down of a source, for a collection in `folder`.
    pub(crate) fn new(source: &Source, folder: &Path) -> StoredSource {
        let path = if source.path.is_absolute() || !source.kind.is_file() {
            source.path.clone()
        } else {
            relative(&source.path, folder)
        };
        let bytes = path.as_os_str().as_bytes();
        let hex = || {
            bytes.iter().fold(String::new(), |mut hex, byte| {
                // Writing to a string does not fail.
                let _ = write!(hex, "{byte:02x}");
                hex
            })
        };
        StoredSource {
            name: source.name.clone(),
            path: path.to_string_lossy().into_owned(),
            path_bytes: path.to_str().is_none().then(hex),
            kind: source.kind.name().to_owned(),
            len: source.len,
            digest: None,
        }
    }

    /// The source, as seen from here.
    pub fn source(&self, folder: &Path) -> Option<Source> {
        let kind = SourceKind::from_name(&self.kind)?;
        let path = match &self.path_bytes {
            None => PathBuf::from(&self.path),
            Some(hex) => {
                let byte = |i| u8::from_str_radix(hex.get(2 * i..2 * i + 2)?, 16).ok();
                let bytes: Option<Vec<u8>> = (0..hex.len() / 2).map(byte).collect();
                PathBuf::from(OsString::from_vec(bytes?))
            }
        };
        Some(Source {
            name: self.name.clone(),
            path: if kind.is_file() {
                folder.join(path)
            } else {
                path
            },
            kind,
            len: self.len,
            modified: 0,
            held: None,
        })
    }
}

/// A relative path as seen from a folder, which need not exist.
fn relative(path: &Path, folder: &Path) -> PathBuf {
    let here = std::env::current_dir().unwrap_or_default();
    let clean = |path: &Path| {
        let mut clean = PathBuf::new();
        for part in here.join(path).components() {
            match part {
                std::path::Component::CurDir => {}
                std::path::Component::ParentDir => {
                    clean.pop();
                }
                other => clean.push(other),
            }
        }
        clean
    };
    let (path, folder) = (clean(path), clean(folder));
    let common = path
        .components()
        .zip(folder.components())
        .take_while(|(x, y)| x == y)
        .count();
    let up = folder.components().skip(common).map(|_| Path::new(".."));
    let down = path.components().skip(common);
    let mut out: PathBuf = up.collect();
    out.extend(down);
    out
}
