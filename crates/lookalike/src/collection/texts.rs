//! The text of documents, again: from the collection where it is kept, else from where
//! they were read.
//!
//! ```text
//! documents ─► kept: frame by frame ─────────────────────────────► text
//!          └─► by source, in the order they stand there ─► fetch ─► still the same?
//!                                                                  └─► text, or Lost
//! ```
//!
//! A source that is gone, or has something else where a document stood, gives no text:
//! bytes and tokens must have the names that were written down. (Those of a collection
//! with a secret key are judged by their bytes alone, unless the key is at hand.)
//!
//! | read from | cost of one document |
//! |---|---|
//! | the collection | up to 64 KiB of text |
//! | a file of its own, packed or not | that file |
//! | plain JSONL, CSV, WARC | that record |
//! | WARC packed record by record | its member |
//! | Parquet | the pages of its row group up to it, of the columns that are read |
//! | JSONL, CSV, WARC packed as a whole; WACZ | the file up to it |
//!
//! Several of one source are read in one pass. Memory: the largest record.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use lookalike_core::sketcher::Sketcher;

use super::Collection;
use super::entry::{Entry, Flag};
use super::kept::{Kept, TextKind, TextPlace, Unpacked};
use crate::add::sketching::body_name;
use crate::corpus::decode::{Hints, decode};
use crate::corpus::document::Document;
use crate::corpus::inputs::{Source, SourceKind};
use crate::corpus::options::ReadOptions;
use crate::corpus::read::{SourceFault, fetch};
use crate::corpus::record::{Body, Offset, Record, Refused};
use crate::corpus::unusable::shown;
use crate::corpus::wacz;
use crate::storage::StorageError;

/// Why a text cannot be shown again.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Lost {
    /// It came through standard input.
    #[error("it was read from standard input, and its text was not kept")]
    NotKept,
    /// It was handed over in memory.
    #[error("it was handed over in memory, and its text was not kept")]
    LetGo,
    /// It is a revisit, and nothing in the collection has the payload.
    #[error("it is a revisit of something that is not in the collection")]
    NoOriginal,
    /// Its file is gone.
    #[error("`{0}` is not there any more")]
    Missing(String),
    /// Something else stands where it stood.
    #[error("`{0}` has changed since it was read")]
    Changed(String),
    /// Its file is there and cannot be read.
    #[error("`{path}` cannot be read: {why}")]
    Unreadable {
        /// Which file, as it may be shown.
        path: String,
        /// Why.
        why: String,
    },
}

/// Where a document was read.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Place {
    /// The file; `None` for standard input and for a table in memory.
    pub path: Option<PathBuf>,
    /// Its path as it was given, on one line.
    pub name: String,
    /// What the file holds.
    pub kind: SourceKind,
    /// Where in it; `None` for a file that is one document.
    pub offset: Option<Offset>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            SourceKind::Stdin => f.write_str("standard input")?,
            _ => f.write_str(&self.name)?,
        }
        match (self.kind, self.offset) {
            (_, None) => Ok(()),
            (SourceKind::Parquet | SourceKind::Memory, Some(Offset(row))) => {
                write!(f, ", row {row}")
            }
            (SourceKind::Wacz, Some(offset)) => {
                let (file, offset) = wacz::place(offset);
                write!(f, ", WARC file {file}, offset {offset}")
            }
            (_, Some(Offset(offset))) => write!(f, ", offset {offset}"),
        }
    }
}

impl Collection {
    /// The text of a document as it was cut into tokens, markup and charset undone;
    /// features one a line. Or why it cannot be had.
    pub fn text(&self, doc: u32) -> Result<Result<String, Lost>, StorageError> {
        let mut texts = self.texts(&[doc])?;
        Ok(texts.pop().unwrap_or(Err(Lost::NotKept)))
    }

    /// The same for several documents, in their order; each source is read once.
    pub fn texts(&self, docs: &[u32]) -> Result<Vec<Result<String, Lost>>, StorageError> {
        let mut wanted: Vec<(u32, usize)> = docs.iter().copied().zip(0..).collect();
        wanted.sort_unstable();
        let mut unique: Vec<u32> = wanted.iter().map(|(doc, _)| *doc).collect();
        unique.dedup();
        let mut texts = vec![Err(Lost::NotKept); docs.len()];
        self.each_text(&unique, |doc, text| {
            let from = wanted.partition_point(|one| one.0 < doc);
            let of_doc = wanted[from..].iter().take_while(|one| one.0 == doc);
            for &(_, i) in of_doc {
                texts[i].clone_from(&text);
            }
        })?;
        Ok(texts)
    }

    /// A document as it was sketched, features and weights and all. Or why it cannot be had.
    pub fn document(&self, doc: u32) -> Result<Result<Document<'static>, Lost>, StorageError> {
        let mut found = Err(Lost::NotKept);
        self.each_again(&[doc], |_, document| {
            found = document.map(|document| document.clone().into_owned());
        })?;
        Ok(found)
    }

    /// Calls back with the text of each of some documents, whose numbers increase, in the
    /// order they are read: one text in memory at a time.
    pub(crate) fn each_text(
        &self,
        docs: &[u32],
        mut each: impl FnMut(u32, Result<String, Lost>),
    ) -> Result<(), StorageError> {
        self.each_again(docs, |doc, document| {
            each(doc, document.map(|document| document.text().into_owned()));
        })
    }

    /// The same with the documents themselves.
    fn each_again(
        &self,
        docs: &[u32],
        mut each: impl FnMut(u32, Result<&Document<'_>, Lost>),
    ) -> Result<(), StorageError> {
        let mut sketcher = self.recipe(None).ok().map(|recipe| Sketcher::new(&recipe));
        for task in tasks(self, docs)? {
            task.read(&mut |doc, entry, again| {
                each(
                    doc,
                    again.and_then(|again| again.judged(entry, sketcher.as_mut())),
                );
            })?;
        }
        Ok(())
    }

    /// Where the text of a document is kept, if it is: the sweep, and where in it.
    fn kept(&self, doc: u32) -> Result<Option<(usize, TextPlace)>, StorageError> {
        let (mut holder, mut is_same) = (doc, false);
        loop {
            let sweep = self.sweep_of(holder);
            let segment = self.segment(sweep);
            let Some(kept) = &segment.kept else {
                return Ok(None);
            };
            let (kind, place) = kept.place(holder - segment.base)?;
            match kind {
                TextKind::None => return Ok(None),
                TextKind::Text | TextKind::Features => return Ok(Some((sweep, place))),
                // The one that has the text has it itself.
                TextKind::Same if !is_same => is_same = true,
                TextKind::Same => {
                    let name = super::file_name("texts-places", segment.generation);
                    let what = "a text is said to be that of another, and that of a third";
                    return Err(StorageError::damaged(&name, what, None));
                }
            }
            holder = u32::try_from(place.frame).unwrap_or(u32::MAX);
        }
    }

    /// Where a document was read.
    pub fn place(&self, doc: u32) -> Result<Place, StorageError> {
        let entry = self.entry(doc)?;
        let source = self.source(self.sweep_of(doc), entry.source)?;
        let is_alone = matches!(
            source.kind,
            SourceKind::Document | SourceKind::PackedDocument
        );
        Ok(Place {
            path: source.kind.is_file().then_some(source.path),
            name: source.name,
            kind: source.kind,
            offset: (!is_alone).then(|| entry.place()),
        })
    }
}

/// Documents that are read in one go.
pub(crate) enum Task<'c> {
    /// From one source.
    Source(OfSource<'c>),
    /// From the texts that a sweep keeps.
    Kept(&'c Kept, Vec<(TextPlace, u32, Entry)>),
}

/// Documents of one source.
pub(crate) struct OfSource<'c> {
    options: &'c ReadOptions,
    source: Source,
    /// By where they stand.
    wanted: Vec<Wanted>,
}

/// Where a document stands, its number, and what is known of what is there.
type Wanted = (u64, u32, Entry);

/// Records read in one go, where it is possible to jump to them.
const TASK: usize = 512;

/// Where texts are read from.
#[derive(Clone, Copy, Eq, PartialEq)]
enum From {
    /// From the collection, where it keeps them.
    Anywhere,
    /// Of those that it keeps, from where they were read.
    Sources,
}

/// Puts documents, whose numbers increase, together by where they are read again.
pub(crate) fn tasks<'c>(
    collection: &'c Collection,
    docs: &[u32],
) -> Result<Vec<Task<'c>>, StorageError> {
    tasks_from(collection, docs, From::Anywhere)
}

/// Those of them whose text is kept, to be read from where they came all the same.
pub(crate) fn source_tasks<'c>(
    collection: &'c Collection,
    docs: &[u32],
) -> Result<Vec<Task<'c>>, StorageError> {
    tasks_from(collection, docs, From::Sources)
}

fn tasks_from<'c>(
    collection: &'c Collection,
    docs: &[u32],
    from: From,
) -> Result<Vec<Task<'c>>, StorageError> {
    let mut by_source: BTreeMap<(usize, u32), Vec<Wanted>> = BTreeMap::new();
    let mut kept: BTreeMap<usize, Vec<(TextPlace, u32, Entry)>> = BTreeMap::new();
    for &doc in docs {
        let (mut holder, mut entry) = (doc, collection.entry(doc)?);
        if entry.has(Flag::Revisit) {
            // It has the content of another, and only that one's record has it.
            (holder, entry) = (entry.copy_of, collection.entry(entry.copy_of)?);
        }
        match (collection.kept(holder)?, from) {
            (Some((sweep, place)), From::Anywhere) => {
                kept.entry(sweep).or_default().push((place, doc, entry));
                continue;
            }
            (None, From::Sources) => continue,
            _ => {}
        }
        let of_source = by_source.entry((collection.sweep_of(holder), entry.source));
        of_source.or_default().push((entry.offset, doc, entry));
    }
    let mut tasks = Vec::new();
    for (sweep, mut texts) in kept {
        texts.sort_unstable_by_key(|(place, ..)| (place.frame, place.at));
        if let Some(kept) = &collection.segment(sweep).kept {
            let parts = texts.chunks(TASK);
            tasks.extend(parts.map(|part| Task::Kept(kept, part.to_vec())));
        }
    }
    for ((sweep, number), mut wanted) in by_source {
        let source = collection.source(sweep, number)?;
        wanted.sort_unstable_by_key(|one| (one.0, one.1));
        let step = if can_jump(&source) { TASK } else { usize::MAX };
        for part in wanted.chunks(step) {
            tasks.push(Task::Source(OfSource {
                options: collection.reading(sweep),
                source: source.clone(),
                wanted: part.to_vec(),
            }));
        }
    }
    Ok(tasks)
}

/// Whether records of a source can be read without reading all before them.
fn can_jump(source: &Source) -> bool {
    let is_packed = || {
        let mut head = [0; 4];
        let read = File::open(&source.path).and_then(|mut file| file.read_exact(&mut head));
        read.is_ok() && (head.starts_with(b"\x1f\x8b") || head == *b"\x28\xb5\x2f\xfd")
    };
    match source.kind {
        SourceKind::Warc | SourceKind::Parquet | SourceKind::Memory => true,
        SourceKind::Jsonl | SourceKind::Csv => !is_packed(),
        _ => false,
    }
}

/// What receives documents that are read again: number, what is known, and what came.
pub(crate) type EachDocument<'e> = dyn FnMut(u32, &Entry, Result<&Again<'_>, Lost>) + 'e;

impl Task<'_> {
    /// Calls back once for each document. Whether it is the one that was read before,
    /// the caller judges.
    pub(crate) fn read(&self, each: &mut EachDocument<'_>) -> Result<(), StorageError> {
        match self {
            Task::Source(of_source) => of_source.read(each),
            Task::Kept(kept, wanted) => {
                let mut unpacked = Unpacked::default();
                for (place, doc, entry) in wanted {
                    let again = Again {
                        document: kept.document(*place, &mut unpacked)?,
                        read: None,
                    };
                    each(*doc, entry, Ok(&again));
                }
            }
        }
        Ok(())
    }
}

impl OfSource<'_> {
    fn read(&self, each: &mut EachDocument<'_>) {
        let options = self.options;
        let path = &self.source.path;
        let mut offsets: Vec<Offset> = self.wanted.iter().map(|one| Offset(one.0)).collect();
        offsets.dedup();
        let mut rest = &self.wanted[..];
        let mut take = |offset: Offset, record: Result<Record<'_>, Refused>| {
            let record = record.map_err(|refused| refused_lost(path, &refused));
            let again = record.as_ref().map_err(Lost::clone).and_then(|record| {
                let document = record.document(options);
                let document = document.map_err(|_| Lost::Changed(shown(path)))?;
                let read = Some((record, path.as_path()));
                Ok(Again { document, read })
            });
            let here = rest.partition_point(|one| one.0 <= offset.0);
            let (now, later) = rest.split_at(here);
            rest = later;
            for (_, doc, entry) in now {
                each(*doc, entry, again.as_ref().map_err(Lost::clone));
            }
        };
        let lost = match is_file(&self.source) {
            Ok(true) => match fetch(&self.source, &offsets, options, &mut take) {
                Ok(()) => Lost::Changed(shown(path)),
                Err(error) => source_lost(path, &error.fault),
            },
            Ok(false) => Lost::Changed(shown(path)),
            Err(error) => source_lost(path, &error.into()),
        };
        for (_, doc, entry) in rest {
            each(*doc, entry, Err(lost.clone()));
        }
    }
}

/// Whether reading a source comes to an end: a pipe that stands there now may never.
pub(crate) fn is_file(source: &Source) -> io::Result<bool> {
    if !source.kind.is_file() {
        return Ok(true);
    }
    Ok(fs::metadata(&source.path)?.is_file())
}

/// What was a document is refused now.
pub(super) fn refused_lost(path: &Path, refused: &Refused) -> Lost {
    let name = shown(path);
    match refused.code {
        "missing" => Lost::Missing(name),
        "unreadable" => Lost::Unreadable {
            path: name,
            why: refused.message.clone(),
        },
        _ => Lost::Changed(name),
    }
}

/// A source that cannot be read now.
pub(super) fn source_lost(path: &Path, fault: &SourceFault) -> Lost {
    let name = shown(path);
    match fault {
        SourceFault::NotAgain => Lost::NotKept,
        SourceFault::LetGo => Lost::LetGo,
        SourceFault::Format(_) => Lost::Changed(name),
        SourceFault::Io(error) => match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Lost::Missing(name),
            io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData => Lost::Changed(name),
            _ => Lost::Unreadable {
                path: name,
                why: error.to_string(),
            },
        },
    }
}

/// A document again.
pub(crate) struct Again<'r> {
    pub(crate) document: Document<'r>,
    /// What stands now where it was read; `None` for a text that was kept.
    read: Option<(&'r Record<'r>, &'r Path)>,
}

impl Again<'_> {
    /// The page as it stands there now, markup and all; `None` for what is only kept.
    pub(crate) fn source(&self) -> Option<Cow<'_, str>> {
        match &self.read?.0.body {
            Body::Text(text) => Some(Cow::Borrowed(text)),
            Body::Bytes { bytes, charset, .. } => {
                let hints = Hints {
                    http_charset: charset.as_deref(),
                    html: self.document.is_html(),
                };
                Some(decode(bytes, hints).text)
            }
            Body::Features(_) | Body::Weighted(_) | Body::Revisit { .. } => None,
        }
    }

    /// Whether what stands there now has the bytes that were read then.
    pub(crate) fn has_bytes_of(&self, entry: &Entry) -> bool {
        let name = |(record, _): (&Record<'_>, _)| body_name(&record.body).1;
        self.read.map(name) == Some(entry.bytes_name)
    }

    /// Whether it has the bytes of the document that was read then; a text that was kept
    /// is that one's.
    pub(crate) fn is_of(&self, entry: &Entry) -> Result<(), Lost> {
        match self.read {
            Some((record, path)) if body_name(&record.body).1 != entry.bytes_name => {
                Err(Lost::Changed(shown(path)))
            }
            _ => Ok(()),
        }
    }

    /// It, if it is the document that was read then.
    fn judged(
        &self,
        entry: &Entry,
        sketcher: Option<&mut Sketcher>,
    ) -> Result<&Document<'_>, Lost> {
        let has_tokens = |sketcher: &mut Sketcher| {
            self.document.sketch(sketcher);
            sketcher.tokens_name().0 == entry.tokens_name
        };
        self.is_of(entry)?;
        match self.read {
            Some((_, path)) if !sketcher.is_none_or(has_tokens) => Err(Lost::Changed(shown(path))),
            _ => Ok(&self.document),
        }
    }
}
