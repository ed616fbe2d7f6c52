//! A collection as its readers see it: one whole generation.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use lookalike_core::recipe::{Recipe, SketchKind};
use lookalike_core::seed::Key;

use super::entry::{BLANK, Capture, Entry, Flag};
use super::manifest::{self, Manifest};
use super::segment::{Segment, StoredSource};
use super::sketches::{SketchFile, Sketches};
use super::state::{RecipeFault, State, StoredClustering, Sweep};
use super::{CollectionError, file_name};
use crate::add::sketching::{id_key, url_key};
use crate::blocks::{BlockReader, FileEntry, RecordStream};
use crate::clusters::table::Clustering;
use crate::corpus::inputs::Source;
use crate::corpus::options::ReadOptions;
use crate::corpus::record::Timestamp;
use crate::filters;
use crate::pairs::Pair;
use crate::pairs::postings::Postings;
use crate::storage::disk::Disk;
use crate::storage::{Storage, StorageError};

/// A collection, opened for reading.
#[derive(Debug)]
pub struct Collection {
    folder: PathBuf,
    storage: Arc<dyn Storage>,
    manifest: Manifest<State>,
    segments: Vec<Segment>,
    readings: Vec<ReadOptions>,
    /// The sources of the last sweep, if some of them are in memory.
    held: Vec<Source>,
}

impl Collection {
    /// Whether a writer has been here: where no collection is, its first `add` was
    /// interrupted, or somebody took the manifests away.
    pub fn is_begun(folder: &Path) -> bool {
        folder.join(super::lock::LOCK).exists()
    }

    /// Opens the newest generation of the collection in a folder.
    pub fn open(folder: &Path) -> Result<Collection, CollectionError> {
        if !folder.is_dir() {
            return Err(CollectionError::NotACollection);
        }
        Collection::open_in(folder, Arc::new(Disk::new(folder)))
    }

    /// The same with another storage.
    pub fn open_in(
        folder: &Path,
        storage: Arc<dyn Storage>,
    ) -> Result<Collection, CollectionError> {
        let opened = manifest::open_latest::<State, _>(&*storage, |manifest| {
            let sweeps = manifest.state.sweeps.iter();
            sweeps
                .map(|sweep| Segment::open(&*storage, manifest, sweep))
                .collect()
        });
        let (manifest, segments) = opened.map_err(|error| match error {
            // Its manifest says other things, and is sound.
            CollectionError::Storage(_) if filters::is_filtered(&*storage) => {
                CollectionError::FeaturesOnly
            }
            other => other,
        })?;
        Ok(Collection::new(folder, storage, manifest, segments))
    }

    /// A generation that need not be committed.
    pub(crate) fn open_as(
        folder: &Path,
        storage: Arc<dyn Storage>,
        manifest: Manifest<State>,
    ) -> Result<Collection, StorageError> {
        let sweeps = manifest.state.sweeps.iter();
        let segments: Result<Vec<Segment>, StorageError> = sweeps
            .map(|sweep| Segment::open(&*storage, &manifest, sweep))
            .collect();
        let segments = segments?;
        Ok(Collection::new(folder, storage, manifest, segments))
    }

    fn new(
        folder: &Path,
        storage: Arc<dyn Storage>,
        manifest: Manifest<State>,
        segments: Vec<Segment>,
    ) -> Collection {
        let sweeps = manifest.state.sweeps.iter();
        Collection {
            folder: folder.to_owned(),
            readings: sweeps.map(|sweep| sweep.reading.options()).collect(),
            storage,
            manifest,
            segments,
            held: Vec::new(),
        }
    }

    /// The same with the sources of the last sweep at hand: those in memory can be read
    /// again then.
    pub(crate) fn holding(mut self, sources: &[Source]) -> Collection {
        if sources.iter().any(|source| source.held.is_some()) {
            self.held = sources.to_vec();
        }
        self
    }

    /// Its manifest.
    pub fn manifest(&self) -> &Manifest<State> {
        &self.manifest
    }

    /// Whether no newer generation has been committed since. Lists the folder, no more.
    pub fn is_newest(&self) -> Result<bool, StorageError> {
        let newest = manifest::newest(&*self.storage)?;
        Ok(newest.is_none_or(|newest| newest <= self.manifest.generation()))
    }

    /// What the manifest says besides files.
    pub fn state(&self) -> &State {
        &self.manifest.state
    }

    /// Its folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn storage(&self) -> &Arc<dyn Storage> {
        &self.storage
    }

    /// How many documents it has, copies too.
    pub fn documents(&self) -> u32 {
        let last = self.segments.last();
        last.map_or(0, |segment| segment.base + segment.documents)
    }

    /// Its recipe; one with a secret needs it.
    pub fn recipe(&self, key: Option<&Key>) -> Result<Recipe, RecipeFault> {
        recipe_of(&self.manifest, key)
    }

    /// The recipe of the collection in a folder, of which only the manifest is read; `None`
    /// where there is none, or none that can be read.
    pub fn recipe_in(folder: &Path, key: Option<&Key>) -> Option<Result<Recipe, RecipeFault>> {
        let manifest = manifest::latest::<State>(&Disk::new(folder)).ok()?;
        Some(recipe_of(&manifest, key))
    }

    /// Which fingerprints its sketches keep.
    pub fn sketch_kind(&self) -> SketchKind {
        self.state().recipe.sketch_kind()
    }

    /// One in how many fingerprints level 0 keeps.
    pub fn one_in(&self) -> u64 {
        match self.sketch_kind() {
            SketchKind::Mod { modulus } => modulus,
            _ => 1,
        }
    }

    /// The sweep that a document came with, or a capture without a word.
    pub fn sweep_of(&self, doc: u32) -> usize {
        if doc >= BLANK {
            return self.blank_place(doc).0;
        }
        let after = self.segments.partition_point(|segment| segment.base <= doc);
        after.saturating_sub(1)
    }

    /// The sweep that a capture without a word came with, and its place there.
    fn blank_place(&self, blank: u32) -> (usize, u32) {
        let mut index = blank - BLANK;
        let sweeps = &self.state().sweeps;
        for (number, sweep) in sweeps.iter().enumerate() {
            match index.checked_sub(sweep.blanks) {
                Some(rest) => index = rest,
                None => return (number, index),
            }
        }
        (sweeps.len().saturating_sub(1), u32::MAX)
    }

    /// How many captures without a word there are: numbers from [`BLANK`] on.
    pub fn blanks(&self) -> u32 {
        self.state().sweeps.iter().map(|sweep| sweep.blanks).sum()
    }

    /// What is known of a document, or of a capture without a word.
    pub fn entry(&self, doc: u32) -> Result<Entry, StorageError> {
        if doc >= BLANK {
            let (sweep, index) = self.blank_place(doc);
            return self.segments[sweep].blank(index);
        }
        self.segments[self.sweep_of(doc)].entry(doc)
    }

    /// A document's id and URL.
    pub fn strings(
        &self,
        doc: u32,
        entry: &Entry,
    ) -> Result<(Option<String>, Option<String>), StorageError> {
        self.segments[self.sweep_of(doc)].strings(entry)
    }

    /// When a document was captured, as far as known: by itself, or with its sweep.
    pub fn date(&self, doc: u32, entry: &Entry) -> Option<Timestamp> {
        let sweep = &self.state().sweeps[self.sweep_of(doc)];
        entry.when().or(sweep.date.map(Timestamp))
    }

    /// How the documents of a sweep were read.
    pub fn reading(&self, sweep: usize) -> &ReadOptions {
        &self.readings[sweep]
    }

    /// The sources of a sweep as they are stored.
    pub fn stored_sources(&self, sweep: usize) -> Result<Vec<StoredSource>, StorageError> {
        self.segments[sweep].stored_sources()
    }

    /// The sources of a sweep, to be read again.
    pub fn sources(&self, sweep: usize) -> Result<Vec<Option<Source>>, StorageError> {
        let stored = self.stored_sources(sweep)?;
        Ok(stored
            .iter()
            .map(|source| source.source(&self.folder))
            .collect())
    }

    pub(crate) fn segment(&self, sweep: usize) -> &Segment {
        &self.segments[sweep]
    }

    /// One source of a sweep, to be read again.
    pub(crate) fn source(&self, sweep: usize, number: u32) -> Result<Source, StorageError> {
        if sweep + 1 == self.segments.len()
            && let Some(source) = self.held.get(number as usize)
        {
            return Ok(source.clone());
        }
        self.segments[sweep].source(number, &self.folder)
    }

    /// The documents of a sweep, in order.
    pub fn entries(&self, sweep: usize) -> Result<RecordStream<Entry>, StorageError> {
        self.segments[sweep].entries()
    }

    /// All documents, in order.
    pub fn each_entry(&self, mut each: impl FnMut(u32, &Entry)) -> Result<(), StorageError> {
        for segment in &self.segments {
            let mut stream = segment.entries()?;
            let mut doc = segment.base;
            while let Some(batch) = stream.next_batch()? {
                for entry in batch {
                    each(doc, entry);
                    doc += 1;
                }
            }
        }
        Ok(())
    }

    /// All documents that are copies of others, in order.
    pub(crate) fn each_copy(&self, mut each: impl FnMut(u32, &Entry)) -> Result<(), StorageError> {
        self.each_entry(|doc, entry| {
            if entry.copy_of != doc {
                each(doc, entry);
            }
        })
    }

    /// All counted pairs, by later document and then by earlier one.
    pub fn each_pair(
        &self,
        each: impl FnMut(&Pair) -> Result<(), StorageError>,
    ) -> Result<(), StorageError> {
        self.pairs()?.each(each)
    }

    /// The counted pairs, to be looked up. Their files stay open: a later generation may
    /// do without them.
    pub fn pairs(&self) -> Result<Pairs, StorageError> {
        let state = self.state();
        let open = |name: String| BlockReader::open(&*self.storage, self.manifest.file(&name)?);
        let recounted = state
            .recounted
            .map(|generation| file_name("pairs", generation));
        let since = state.recounted.unwrap_or(0);
        let sweeps = state.sweeps.iter();
        let sweeps = sweeps.filter(|sweep| sweep.generation > since);
        let names = (recounted.into_iter()).chain(sweeps.map(|sweep| sweep.file_name("pairs")));
        let counted: Result<_, StorageError> = names.map(open).collect();
        let exact = state
            .exact
            .map(|generation| open(file_name("exact", generation)));
        Ok(Pairs {
            counted: counted?,
            exact: exact.transpose()?,
        })
    }

    /// All pairs whose true values are known.
    pub fn each_exact(&self, mut each: impl FnMut(&Pair)) -> Result<(), StorageError> {
        let Some(generation) = self.state().exact else {
            return Ok(());
        };
        let entry = self.manifest.file(&file_name("exact", generation))?;
        let mut stream = BlockReader::open(&*self.storage, entry)?.all_records::<Pair>(8)?;
        while let Some(batch) = stream.next_batch()? {
            batch.iter().for_each(&mut each);
        }
        Ok(())
    }

    /// The further captures of documents that were read with a sweep, by document and then
    /// by date.
    pub fn captures(&self, sweep: usize) -> Result<RecordStream<Capture>, StorageError> {
        self.segments[sweep].captures()
    }

    /// The sketches of all documents.
    pub fn sketches(&self) -> Result<Sketches, StorageError> {
        sketches_of(&*self.storage, &self.manifest)
    }

    /// The postings of each sweep.
    pub fn postings(&self) -> Result<Vec<Postings>, StorageError> {
        postings_of(&*self.storage, &self.manifest, Postings::open)
    }

    /// The documents with a URL, or with that for an id, in order.
    pub fn find_named(&self, name: &str) -> Result<Vec<u32>, StorageError> {
        let mut keys = [url_key(name), id_key(name)];
        keys.sort_unstable();
        let mut docs = Vec::new();
        for segment in &self.segments {
            segment.keys.find_all(&keys, |_, doc| {
                let (id, url) = segment.strings(&segment.entry(doc)?)?;
                if [id, url].iter().any(|text| text.as_deref() == Some(name)) {
                    docs.push(doc);
                }
                Ok(())
            })?;
        }
        docs.sort_unstable();
        docs.dedup();
        Ok(docs)
    }

    /// The documents that go by a key, in order.
    pub(crate) fn with_key(&self, key: u64) -> Result<Vec<u32>, StorageError> {
        let mut docs = Vec::new();
        for segment in &self.segments {
            segment.keys.find_all(&[key], |_, doc| {
                docs.push(doc);
                Ok(())
            })?;
        }
        docs.sort_unstable();
        Ok(docs)
    }

    /// The newest document with a URL, or with that for an id.
    pub fn newest_named(&self, name: &str) -> Result<Option<u32>, StorageError> {
        let mut docs = self.find_named(name)?;
        if docs.is_empty() && !name.contains("://") {
            docs = self.with_id(name)?;
        }
        let mut newest = None;
        for doc in docs {
            let date = self.date(doc, &self.entry(doc)?);
            newest = newest.max(Some((date, doc)));
        }
        Ok(newest.map(|(_, doc)| doc))
    }

    /// Documents that go by a URL are found by it; that they have an id too takes a pass
    /// over all of them.
    fn with_id(&self, id: &str) -> Result<Vec<u32>, StorageError> {
        let mut candidates = Vec::new();
        self.each_entry(|doc, entry| {
            let has_both = entry.has(Flag::HasId) && entry.has(Flag::HasUrl);
            if has_both && entry.id_len as usize == id.len() {
                candidates.push((doc, *entry));
            }
        })?;
        let mut docs = Vec::new();
        for (doc, entry) in candidates {
            if self.strings(doc, &entry)?.0.as_deref() == Some(id) {
                docs.push(doc);
            }
        }
        Ok(docs)
    }

    /// All documents that have a sketch of this name, in order.
    pub(crate) fn each_named_sketch(
        &self,
        name: u128,
        mut each: impl FnMut(u32, &Entry),
    ) -> Result<(), StorageError> {
        for segment in &self.segments {
            segment
                .sketch_names
                .find_all(&[(name >> 64) as u64], |_, doc| {
                    let entry = segment.entry(doc)?;
                    if entry.sketch_name == name {
                        each(doc, &entry);
                    }
                    Ok(())
                })?;
        }
        Ok(())
    }

    /// A clustering that is kept.
    pub fn clustering(&self, stored: &StoredClustering) -> Result<Clustering, StorageError> {
        let file = |what: &str| {
            let name = format!("{what}-{}-{}.lk", stored.generation, stored.part);
            self.manifest.file(&name)
        };
        Clustering::open(
            &*self.storage,
            file("members")?,
            file("roster")?,
            file("quality")?,
        )
    }
}

fn recipe_of(manifest: &Manifest<State>, key: Option<&Key>) -> Result<Recipe, RecipeFault> {
    let recipe = manifest.state.recipe.recipe(key)?;
    if recipe.id() == manifest.recipe_id() {
        return Ok(recipe);
    }
    Err(RecipeFault::Damaged)
}

/// The sketches of all documents of a generation.
pub(crate) fn sketches_of(
    storage: &dyn Storage,
    manifest: &Manifest<State>,
) -> Result<Sketches, StorageError> {
    let open = |sweep: &Sweep| {
        let file = |what| manifest.file(&sweep.file_name(what));
        SketchFile::open(storage, sweep.base, file("heads")?, file("sketches")?)
    };
    let files: Result<_, StorageError> = manifest.state.sweeps.iter().map(open).collect();
    Ok(Sketches::new(files?))
}

/// The postings of each sweep of a generation, `open` for what is wanted of them.
pub(crate) fn postings_of<P>(
    storage: &dyn Storage,
    manifest: &Manifest<State>,
    open: impl Fn(&dyn Storage, &FileEntry, &FileEntry) -> Result<P, StorageError>,
) -> Result<Vec<P>, StorageError> {
    let open = |sweep: &Sweep| {
        let file = |what| manifest.file(&sweep.file_name(what));
        open(storage, file("postings")?, file("fences")?)
    };
    manifest.state.sweeps.iter().map(open).collect()
}

/// The counted pairs of a collection, by later document and then by earlier one.
#[derive(Debug)]
pub struct Pairs {
    /// No later document is in two of them.
    counted: Vec<BlockReader>,
    exact: Option<BlockReader>,
}

impl Pairs {
    /// All of them, as they were counted.
    pub fn each(
        &self,
        mut each: impl FnMut(&Pair) -> Result<(), StorageError>,
    ) -> Result<(), StorageError> {
        for pairs in &self.counted {
            let mut stream = pairs.all_records::<Pair>(8)?;
            while let Some(batch) = stream.next_batch()? {
                batch.iter().try_for_each(&mut each)?;
            }
        }
        Ok(())
    }

    /// The pairs in which some documents are the later one, true values in place of
    /// estimates where they are known. O(documents · log pairs).
    pub fn of(&self, docs: &[u32]) -> Result<Vec<Pair>, StorageError> {
        let mut pairs = Vec::new();
        // The true ones first, so that of the same two they are kept.
        for file in self.exact.iter().chain(&self.counted) {
            for &doc in docs {
                of_later(file, doc, &mut pairs)?;
            }
        }
        pairs.sort_by_key(|pair| (pair.a, pair.b));
        pairs.dedup_by_key(|pair| (pair.a, pair.b));
        Ok(pairs)
    }
}

/// Adds the pairs of a later document.
fn of_later(file: &BlockReader, doc: u32, pairs: &mut Vec<Pair>) -> Result<(), StorageError> {
    let count = file.record_count::<Pair>()?;
    let mut next = file.partition_point(|pair: &Pair| pair.a < doc)?;
    while next < count {
        let pair: Pair = file.record(next)?;
        if pair.a != doc {
            break;
        }
        pairs.push(pair);
        next += 1;
    }
    Ok(())
}
