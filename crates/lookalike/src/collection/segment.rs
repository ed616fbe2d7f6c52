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
//! captures   Capture …                    of documents that were captured before
//! pairs      Pair …                       counted, with a later document of this sweep
//! sources    one JSON object a line
//! ```

use std::ffi::OsString;
use std::fmt::Write;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::entry::Entry;
use super::file_name;
use super::lookup::Lookup;
use super::manifest::Manifest;
use super::state::{State, Sweep};
use crate::blocks::BlockReader;
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
}

impl Segment {
    /// Opens the files of a sweep.
    pub fn open(
        storage: &dyn Storage,
        manifest: &Manifest<State>,
        sweep: &Sweep,
    ) -> Result<Segment, StorageError> {
        let entry = |what| manifest.file(&file_name(what, sweep.generation));
        let entries = BlockReader::open(storage, entry("documents")?)?;
        if entries.record_count::<Entry>()? != u64::from(sweep.documents) {
            let what = "it has another number of documents than the manifest says";
            return Err(StorageError::damaged(&entries.entry().name, what, None));
        }
        Ok(Segment {
            base: sweep.base,
            documents: sweep.documents,
            generation: sweep.generation,
            entries,
            strings: BlockReader::open(storage, entry("strings")?)?,
            sketch_names: Lookup::open(storage, entry("names")?)?,
            keys: Lookup::open(storage, entry("keys")?)?,
            payloads: Lookup::open(storage, entry("payloads")?)?,
        })
    }

    /// What is known of a document of this sweep.
    pub fn entry(&self, doc: u32) -> Result<Entry, StorageError> {
        let index = doc.checked_sub(self.base).map(u64::from);
        self.entries.record(index.unwrap_or(u64::MAX))
    }

    /// All of them, in order.
    pub(crate) fn entries(&self) -> Result<crate::blocks::RecordStream<Entry>, StorageError> {
        self.entries.all_records(8)
    }

    /// A document's id and URL.
    pub fn strings(&self, entry: &Entry) -> Result<(Option<String>, Option<String>), StorageError> {
        use super::entry::Flag;
        let mut bytes = vec![0; (entry.id_len as usize).saturating_add(entry.url_len as usize)];
        self.strings.read_at(entry.strings, &mut bytes)?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (id, url) = bytes.split_at(entry.id_len as usize);
        Ok((
            entry.has(Flag::HasId).then(|| text(id)),
            entry.has(Flag::HasUrl).then(|| text(url)),
        ))
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
}

impl StoredSource {
    /// What is written down of a source, for a collection in `folder`.
    pub(crate) fn new(source: &Source, folder: &Path) -> StoredSource {
        let path = if source.path.is_absolute() || source.kind == SourceKind::Stdin {
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
            path: if kind == SourceKind::Stdin {
                path
            } else {
                folder.join(path)
            },
            kind,
            len: self.len,
            modified: 0,
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
