//! Full-text search over the texts of a collection.
//!
//! ```text
//! texts, sweep by sweep ─► words ─► an index in the folder `search`, beside the collection's files
//! query ─► words, phrases, what must not be there ─► documents by score ─► snippets
//! ```
//!
//! The index is made of the collection and can be made again: it is no part of a
//! generation, but says which sweeps it has. One that has others is refused, one that
//! lacks the last is continued ([`build`]). Its commits are whole: interrupted, it has the
//! sweeps it had. Checksums of all its files are read when it is opened.
//!
//! Words are those of the token rule, in lower case, whatever the recipe. Scores are BM25
//! over the whole collection; of equal ones the lower document is first. So an answer does
//! not depend on how often or by how many the index was written.
//!
//! | step | time | memory |
//! |---|---|---|
//! | [`build`] | O(text), one thread | what is allowed, 15 MB at least |
//! | [`SearchIndex::open`] | O(bytes of the index) | mapped |
//! | [`SearchIndex::search`] | O(documents with the rarest word) | the matches wanted |

mod query;

mod snippet;

mod words;

#[cfg(test)]
mod tests;

pub use snippet::{Piece, Shown};

use std::cmp::Reverse;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tantivy::collector::{Count, TopDocs};
use tantivy::directory::error::{LockError, OpenReadError};
use tantivy::schema::{
    FAST, Field, IndexRecordOption, STORED, Schema, TextFieldIndexing, TextOptions, Value,
};
use tantivy::{
    DocAddress, DocId, Index, IndexReader, IndexSettings, IndexWriter, ReloadPolicy, Score,
    Searcher, SegmentReader, TantivyDocument, TantivyError,
};

use crate::collection::Collection;
use crate::storage::StorageError;

/// The folder of the index, in that of the collection.
const FOLDER: &str = "search";

/// What the index calls its fields and its words.
const DOC: &str = "doc";
const TEXT: &str = "text";
const WORDS: &str = "words";

/// The least memory that words are gathered in, and the most: more makes nothing faster.
const LEAST: u64 = 15 << 20;
const MOST: u64 = 256 << 20;

/// The format of what is written down with the index.
const FORMAT: u32 = 1;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SearchError {
    /// No index was made.
    #[error("the collection has no search index")]
    Missing,
    /// It has other sweeps than the collection.
    #[error("the search index is not of this generation: sweeps were added since")]
    Behind,
    /// Somebody is writing it.
    #[error("another writer holds the search index")]
    Locked,
    /// Its files are not as they were written.
    #[error("the search index is damaged: {0}")]
    Damaged(String),
    /// The collection cannot be read.
    #[error(transparent)]
    Collection(#[from] StorageError),
    /// The machine refused.
    #[error("the search index cannot be written or read")]
    Io(#[from] io::Error),
}

impl From<TantivyError> for SearchError {
    fn from(error: TantivyError) -> SearchError {
        match error {
            TantivyError::LockFailure(LockError::LockBusy, _) => SearchError::Locked,
            TantivyError::IoError(error) => {
                SearchError::Io(io::Error::new(error.kind(), error.to_string()))
            }
            TantivyError::OpenReadError(OpenReadError::IoError { io_error, .. }) => {
                SearchError::Io(io::Error::new(io_error.kind(), io_error.to_string()))
            }
            other => SearchError::Damaged(other.to_string()),
        }
    }
}

/// Which documents an index has: written with every commit.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
struct Contents {
    format: u32,
    collection: u64,
    /// The generations that added its sweeps.
    sweeps: Vec<u64>,
    documents: u64,
    /// Documents whose text could not be read any more.
    lost: u64,
}

impl Contents {
    /// Those of a collection.
    fn of(collection: &Collection) -> Contents {
        let sweeps = &collection.state().sweeps;
        Contents {
            format: FORMAT,
            collection: collection.manifest().collection(),
            sweeps: sweeps.iter().map(|sweep| sweep.generation).collect(),
            ..Contents::default()
        }
    }

    fn is_of(&self, other: &Contents) -> bool {
        self.format == other.format && self.collection == other.collection
    }
}

/// What was made.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Built {
    /// Documents that the index has.
    pub documents: u64,
    /// Of these the ones that are new.
    pub added: u64,
    /// Documents whose text could not be read any more: they are not found.
    pub lost: u64,
}

fn folder(collection: &Collection) -> PathBuf {
    collection.folder().join(FOLDER)
}

fn schema() -> (Schema, Field, Field) {
    let mut schema = Schema::builder();
    let doc = schema.add_u64_field(DOC, FAST);
    let indexing = TextFieldIndexing::default()
        .set_tokenizer(WORDS)
        .set_index_option(IndexRecordOption::WithFreqsAndPositions);
    let text = TextOptions::default().set_indexing_options(indexing) | STORED;
    let text = schema.add_text_field(TEXT, text);
    (schema.build(), doc, text)
}

/// Opens what is in the folder, with what is written down of it.
fn open(collection: &Collection) -> Result<(Index, Contents), SearchError> {
    let folder = folder(collection);
    if !folder.join("meta.json").is_file() {
        return Err(SearchError::Missing);
    }
    let index = Index::open_in_dir(&folder)?;
    index.tokenizers().register(WORDS, words::Words::default());
    let (schema, ..) = schema();
    if index.schema() != schema {
        return Err(SearchError::Damaged("its fields are others".to_owned()));
    }
    let payload = index.load_metas()?.payload.unwrap_or_default();
    let wrong = |_| SearchError::Damaged("it does not say what it has".to_owned());
    let contents = serde_json::from_str(&payload).map_err(wrong)?;
    Ok((index, contents))
}

/// The files of a segment.
const PARTS: [&str; 6] = ["idx", "pos", "term", "store", "fast", "fieldnorm"];

/// Reads every file of the index; an error names the first that is not as it was written.
fn check(index: &Index, folder: &Path) -> Result<(), SearchError> {
    let segments = index.searchable_segment_ids()?;
    let mut names: Vec<PathBuf> = fs::read_dir(folder)?
        .map(|file| Ok(PathBuf::from(file?.file_name())))
        .collect::<io::Result<_>>()?;
    // Not those that the index says it manages: that list may be lost too.
    names.retain(|name| {
        let name = name.to_string_lossy();
        segments
            .iter()
            .any(|id| name.starts_with(&id.uuid_string()))
    });
    names.sort();
    for name in names {
        let is_sound = index.directory().validate_checksum(&name);
        if !is_sound.unwrap_or(false) {
            let name = name.display();
            let what = format!("`{FOLDER}/{name}` is not as it was written");
            return Err(SearchError::Damaged(what));
        }
    }
    // What is not there has no checksum, and not all of it is missed when it is opened.
    for id in &segments {
        for part in PARTS {
            let name = format!("{}.{part}", id.uuid_string());
            if !folder.join(&name).is_file() {
                let what = format!("`{FOLDER}/{name}` is missing");
                return Err(SearchError::Damaged(what));
            }
        }
    }
    match reader(index) {
        Err(SearchError::Io(error)) => Err(SearchError::Damaged(error.to_string())),
        other => other.map(drop),
    }
}

fn reader(index: &Index) -> Result<IndexReader, SearchError> {
    let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual);
    Ok(reader.try_into()?)
}

/// Reads every byte of the index, if there is one. An index of other sweeps is sound.
pub fn verify(collection: &Collection) -> Result<(), SearchError> {
    match open(collection) {
        Ok((index, _)) => check(&index, &folder(collection)),
        Err(SearchError::Missing) if !exists(collection) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Whether a collection has an index at all.
pub fn exists(collection: &Collection) -> bool {
    folder(collection).is_dir()
}

/// Makes the index of a collection, or adds the sweeps that it lacks. `step` hears how many
/// documents are done.
pub fn build(
    collection: &Collection,
    memory: u64,
    mut step: impl FnMut(u64),
) -> Result<Built, SearchError> {
    let wanted = Contents::of(collection);
    let known = open(collection).and_then(|(index, contents)| {
        check(&index, &folder(collection))?;
        Ok((index, contents))
    });
    let (index, mut contents) = match known {
        Ok((index, known)) if known.is_of(&wanted) && wanted.sweeps.starts_with(&known.sweeps) => {
            (index, known)
        }
        Err(SearchError::Io(error)) => return Err(SearchError::Io(error)),
        // Of something else, or no use any more.
        _ => (
            create(collection)?,
            Contents {
                sweeps: Vec::new(),
                ..wanted.clone()
            },
        ),
    };
    let before = contents.documents;
    let (_, doc_field, text_field) = schema();
    let budget = usize::try_from((memory / 4).clamp(LEAST, MOST)).unwrap_or(1 << 24);
    // One thread: documents stand in the order they came.
    let mut writer: IndexWriter = index.writer_with_num_threads(1, budget)?;
    for sweep in contents.sweeps.len()..wanted.sweeps.len() {
        let of_sweep = &collection.state().sweeps[sweep];
        let end = of_sweep.base + of_sweep.documents;
        let docs: Vec<u32> = (of_sweep.base..end).collect();
        for part in docs.chunks(PART) {
            let mut failed = None;
            collection.each_text(part, |doc, text| {
                let Ok(text) = text else {
                    contents.lost += 1;
                    return;
                };
                let mut document = TantivyDocument::default();
                document.add_u64(doc_field, doc.into());
                document.add_text(text_field, text);
                match writer.add_document(document) {
                    Ok(_) => contents.documents += 1,
                    Err(error) => failed = failed.take().or(Some(error)),
                }
            })?;
            if let Some(error) = failed {
                return Err(error.into());
            }
            step(contents.documents - before);
        }
        contents.sweeps.push(of_sweep.generation);
    }
    let mut commit = writer.prepare_commit()?;
    let payload = serde_json::to_string(&contents).unwrap_or_default();
    commit.set_payload(&payload);
    commit.commit()?;
    writer.wait_merging_threads()?;
    Ok(Built {
        documents: contents.documents,
        added: contents.documents - before,
        lost: contents.lost,
    })
}

/// Documents that are read in one go: a source that cannot be jumped in is read once for
/// each.
const PART: usize = 1 << 16;

/// An empty index; what was there is gone.
fn create(collection: &Collection) -> Result<Index, SearchError> {
    let folder = folder(collection);
    match fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
        _ => fs::create_dir(&folder)?,
    }
    // It has the texts.
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    fs::set_permissions(&folder, private)?;
    let settings = IndexSettings {
        docstore_compression: tantivy::store::Compressor::Zstd(
            tantivy::store::ZstdCompressor::default(),
        ),
        ..IndexSettings::default()
    };
    let index = Index::builder().schema(schema().0).settings(settings);
    let index = index.create_in_dir(&folder)?;
    index.tokenizers().register(WORDS, words::Words::default());
    Ok(index)
}

/// An index, ready to be searched by any number of threads. What it has stays as it is,
/// also when it is written again.
pub struct SearchIndex {
    searcher: Searcher,
    text: Field,
    contents: Contents,
}

/// A document that has what was asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit {
    /// Its number.
    pub doc: u32,
    /// How well it has it.
    pub score: f32,
    place: DocAddress,
}

/// The best documents of a search.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hits {
    /// How many there are in all.
    pub total: usize,
    /// The best of them, the best first.
    pub hits: Vec<Hit>,
}

impl SearchIndex {
    /// Opens the index of a collection, if it has just its documents.
    pub fn open(collection: &Collection) -> Result<SearchIndex, SearchError> {
        let (index, contents) = open(collection)?;
        let wanted = Contents::of(collection);
        if !contents.is_of(&wanted) || contents.sweeps != wanted.sweeps {
            return Err(SearchError::Behind);
        }
        check(&index, &folder(collection))?;
        let (_, _, text) = schema();
        Ok(SearchIndex {
            searcher: reader(&index)?.searcher(),
            text,
            contents,
        })
    }

    /// Whether it has just the documents of a collection.
    pub fn is_of(&self, collection: &Collection) -> bool {
        let wanted = Contents::of(collection);
        self.contents.is_of(&wanted) && self.contents.sweeps == wanted.sweeps
    }

    /// How many documents it has.
    pub fn documents(&self) -> u64 {
        self.contents.documents
    }

    /// The best documents that have all words of a query. Words in quotation marks must
    /// stand together, and what follows a minus must not be there. Any text is a query.
    pub fn search(&self, query: &str, top: usize) -> Result<Hits, SearchError> {
        let Some(query) = query::Asked::of(query).query(self.text) else {
            return Ok(Hits::default());
        };
        let by_score = move |segment: &SegmentReader| {
            let docs = segment.fast_fields().u64(DOC).ok();
            let docs = docs.map(|docs| docs.first_or_default_col(u64::MAX));
            move |doc: DocId, score: Score| {
                let number = docs.as_ref().map_or(u64::MAX, |docs| docs.get_val(doc));
                (score, Reverse(number))
            }
        };
        let best = TopDocs::with_limit(top.max(1)).tweak_score(by_score);
        let (best, total) = self.searcher.search(&query, &(best, Count))?;
        let hit = |((score, Reverse(doc)), place): ((Score, Reverse<u64>), DocAddress)| {
            let doc = u32::try_from(doc);
            let doc =
                doc.map_err(|_| SearchError::Damaged("a document has no number".to_owned()))?;
            Ok(Hit { doc, score, place })
        };
        let hits: Result<Vec<Hit>, SearchError> = best.into_iter().map(hit).collect();
        Ok(Hits { total, hits: hits? })
    }

    /// How a document begins, and where in it the words of a query stand.
    pub fn show(&self, hit: &Hit, query: &str) -> Result<Shown, SearchError> {
        let document: TantivyDocument = self.searcher.doc(hit.place)?;
        let text = document.get_first(self.text);
        let text = text.as_ref().and_then(Value::as_str).unwrap_or_default();
        Ok(Shown::of(text, &query::Asked::of(query)))
    }
}

impl std::fmt::Debug for SearchIndex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SearchIndex")
            .field("contents", &self.contents)
            .finish_non_exhaustive()
    }
}
