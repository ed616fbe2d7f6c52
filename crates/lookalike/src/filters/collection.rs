//! A filter's collection on disk.
//!
//! ```text
//! features  u64 × k a document             by number; super-shingles: as many as `counts`
//! counts    u32 a document                 of super-shingles only
//! places    rows: source, offset, minutes since 1970, lengths of id and URL
//! strings   ids and URLs, one after the other
//! keys      u32 a document                 sorted by the keys of their names
//! sources   one JSON object a line
//! members   rows: document, cluster        of those in clusters, by document
//! roster    rows: cluster, document        of the same, by cluster
//! ```
//!
//! Rows: see `packed.rs`.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use hashbrown::HashMap;
use lookalike_core::recipe::Recipe;
use lookalike_core::seed::Key;
use serde::{Deserialize, Serialize};

use super::Spec;
use super::packed::{Packed, Row};
use super::places::{Listed, Member, Place, key_of};
use super::truth::host;
use crate::add::sketching::{id_key, url_key};
use crate::add::tally::Tally;
use crate::blocks::BlockReader;
use crate::collection::manifest::{self, Manifest};
use crate::collection::segment::StoredSource;
use crate::collection::state::{RecipeFault, StoredReading, StoredRecipe};
use crate::collection::{CollectionError, file_name};
use crate::corpus::inputs::Source;
use crate::corpus::record::Timestamp;
use crate::storage::disk::Disk;
use crate::storage::{Storage, StorageError};

/// The state of a filter's collection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FilterState {
    pub(crate) filter: String,
    pub(crate) recipe: StoredRecipe,
    /// Its sweeps.
    pub sweeps: Vec<FilterSweep>,
    /// Its clusterings, the filter's own first.
    pub clusterings: Vec<FilterClustering>,
}

/// One batch of documents.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FilterSweep {
    /// The generation that added it.
    pub generation: u64,
    /// Its first document.
    pub base: u32,
    /// How many it has.
    pub documents: u32,
    /// Its date, in seconds since 1970.
    pub date: Option<i64>,
    pub(crate) reading: StoredReading,
    /// What became of what was read.
    pub tally: Tally,
}

/// A clustering by a filter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FilterClustering {
    /// Accepted pairs that have this true resemblance; `None` for all that are accepted.
    pub resemblance: Option<f64>,
    pub(crate) generation: u64,
    /// All documents.
    pub documents: u64,
    /// Clusters of two and more.
    pub clusters: u64,
    /// Documents in them.
    pub clustered_documents: u64,
    /// Documents in the largest.
    pub largest: u64,
    /// Accepted pairs decided on their true value.
    pub verified: u64,
    /// Accepted pairs whose texts could not be had: the filter decided.
    pub by_filter: u64,
    /// Pairs of very large groups that were not looked at one by one.
    pub set_aside: u64,
}

impl FilterClustering {
    /// Its name: all that decides.
    pub fn policy(&self, spec: Spec) -> String {
        match self.resemblance {
            None => format!("filter {spec} link=chain"),
            Some(least) => format!("filter {spec} resemblance>={least} link=chain verify=exact"),
        }
    }

    pub(crate) fn file(&self, what: &str) -> String {
        file_name(what, self.generation)
    }
}

/// What is told of a document.
#[derive(Clone, Debug, PartialEq)]
pub struct FilteredDocument {
    /// Its number.
    pub doc: u32,
    /// The caller's id.
    pub id: Option<String>,
    /// Its address.
    pub url: Option<String>,
    /// When it was captured, to the minute.
    pub date: Option<Timestamp>,
    /// Where it was read.
    pub file: String,
    /// Where in it.
    pub offset: u64,
}

/// One sweep, opened.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) base: u32,
    pub(crate) documents: u32,
    pub(crate) features: BlockReader,
    counts: Option<BlockReader>,
    /// Where the features of each document begin, where they differ in number.
    starts: OnceLock<Vec<u64>>,
    places: Packed<Place>,
    strings: BlockReader,
    keys: BlockReader,
}

impl Part {
    /// A document's id and URL, which may be empty.
    fn names(&self, place: &Place) -> Result<(Option<String>, String), StorageError> {
        let text = |from: u64, len: u32| {
            if u64::from(len) > self.strings.len() {
                let what = "it is shorter than a name in it";
                let name = &self.strings.entry().name;
                return Err(StorageError::damaged(name, what, None));
            }
            let mut bytes = vec![0; len as usize];
            self.strings.read_at(from, &mut bytes)?;
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        };
        let id = place.id_len.map(|len| text(place.names, len)).transpose()?;
        let behind = place.names + u64::from(place.id_len.unwrap_or(0));
        Ok((id, text(behind, place.url_len)?))
    }

    /// Appends the documents whose names have a key. O(log documents) names are read.
    fn keyed(&self, key: u64, docs: &mut Vec<u32>) -> Result<(), StorageError> {
        let at = |index: u64| {
            let doc = self.keys.record::<u32>(index)?;
            let Some(own) = doc.checked_sub(self.base) else {
                let what = "it names a document of another sweep";
                return Err(StorageError::damaged(&self.keys.entry().name, what, None));
            };
            let (id, url) = self.names(&self.places.row(own.into())?)?;
            Ok((key_of(id.as_deref(), &url), doc))
        };
        let count = u64::from(self.documents);
        let (mut low, mut high) = (0, count);
        while low < high {
            let middle = low + (high - low) / 2;
            if at(middle)?.0 < key {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        for index in low..count {
            let (found, doc) = at(index)?;
            if found != key {
                break;
            }
            docs.push(doc);
        }
        Ok(())
    }
}

/// The collection of a filter, opened for reading.
#[derive(Debug)]
pub struct Filtered {
    folder: PathBuf,
    storage: Arc<dyn Storage>,
    manifest: Manifest<FilterState>,
    spec: Spec,
    pub(crate) parts: Vec<Part>,
    sources: Vec<Vec<Option<Source>>>,
}

impl Filtered {
    /// Opens a folder; `None` when there is no filter's collection in it, whatever else is.
    pub fn open(folder: &Path) -> Result<Option<Filtered>, CollectionError> {
        if !folder.is_dir() {
            return Ok(None);
        }
        Filtered::open_in(folder, Arc::new(Disk::new(folder)))
    }

    pub(crate) fn open_in(
        folder: &Path,
        storage: Arc<dyn Storage>,
    ) -> Result<Option<Filtered>, CollectionError> {
        // Of a collection of another kind this is damage; that one's own reader will tell.
        let Ok(manifest) = manifest::latest::<FilterState>(&*storage) else {
            return Ok(None);
        };
        Ok(Some(Filtered::of(folder, storage, manifest)?))
    }

    pub(crate) fn of(
        folder: &Path,
        storage: Arc<dyn Storage>,
        manifest: Manifest<FilterState>,
    ) -> Result<Filtered, StorageError> {
        let damaged = || StorageError::damaged(&manifest.name(), "its filter makes no sense", None);
        let spec: Spec = manifest.state.filter.parse().map_err(|_| damaged())?;
        let (mut parts, mut sources) = (Vec::new(), Vec::new());
        for sweep in &manifest.state.sweeps {
            let open = |what| {
                let entry = manifest.file(&file_name(what, sweep.generation))?;
                BlockReader::open(&*storage, entry)
            };
            let keys = open("keys")?;
            if keys.record_count::<u32>()? != u64::from(sweep.documents) {
                let what = "it has another number of documents than the manifest says";
                return Err(StorageError::damaged(&keys.entry().name, what, None));
            }
            parts.push(Part {
                base: sweep.base,
                documents: sweep.documents,
                features: open("features")?,
                counts: match spec.words() {
                    None => Some(open("counts")?),
                    Some(_) => None,
                },
                starts: OnceLock::new(),
                places: Packed::new(open("places")?, sweep.documents.into())?,
                strings: open("strings")?,
                keys,
            });
            let reader = open("sources")?;
            let wrong =
                || StorageError::damaged(&reader.entry().name, "a line makes no sense", None);
            let bytes = reader.read_all()?;
            let lines = bytes
                .split(|byte| *byte == b'\n')
                .filter(|line| !line.is_empty());
            let of_sweep: Result<Vec<_>, StorageError> = lines
                .map(|line| {
                    let stored: StoredSource = serde_json::from_slice(line).map_err(|_| wrong())?;
                    Ok(stored.source(folder))
                })
                .collect();
            sources.push(of_sweep?);
        }
        Ok(Filtered {
            folder: folder.to_owned(),
            storage,
            spec,
            parts,
            sources,
            manifest,
        })
    }

    /// Its folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn storage(&self) -> &Arc<dyn Storage> {
        &self.storage
    }

    /// Its filter.
    pub fn spec(&self) -> Spec {
        self.spec
    }

    /// What its manifest says.
    pub fn state(&self) -> &FilterState {
        &self.manifest.state
    }

    /// Its manifest: files and recipe.
    pub fn manifest(&self) -> &Manifest<FilterState> {
        &self.manifest
    }

    /// How many documents it has.
    pub fn documents(&self) -> u32 {
        self.parts
            .last()
            .map_or(0, |part| part.base + part.documents)
    }

    /// Its recipe; one with a secret needs it.
    pub fn recipe(&self, key: Option<&Key>) -> Result<Recipe, RecipeFault> {
        let recipe = self.state().recipe.recipe(key)?;
        if recipe.id() == self.manifest.recipe_id() {
            return Ok(recipe);
        }
        Err(RecipeFault::Damaged)
    }

    /// Calls `each` with every document and its features, in order.
    pub(crate) fn each(&self, mut each: impl FnMut(u32, &[u64])) -> Result<(), StorageError> {
        for part in &self.parts {
            let mut words = part.features.all_records::<u64>(8)?;
            let mut counts = part
                .counts
                .as_ref()
                .map(|counts| counts.all_records::<u32>(8));
            let mut counts = counts.take().transpose()?;
            let short = || {
                let what = "it has too few features";
                StorageError::damaged(&part.features.entry().name, what, None)
            };
            let mut own = Vec::new();
            for doc in part.base..part.base + part.documents {
                let count = match (&mut counts, self.spec.words()) {
                    (Some(counts), _) => counts.next_record()?.ok_or_else(short)? as usize,
                    (None, words) => words.unwrap_or(0),
                };
                own.clear();
                for _ in 0..count {
                    own.push(words.next_record()?.ok_or_else(short)?);
                }
                each(doc, &own);
            }
        }
        Ok(())
    }

    /// The features of one document.
    pub(crate) fn features(&self, doc: u32, out: &mut Vec<u64>) -> Result<(), StorageError> {
        let part = &self.parts[self.part_of(doc)];
        let index = u64::from(doc - part.base);
        let words = match (self.spec.words(), &part.counts) {
            (Some(words), _) => index * words as u64..(index + 1) * words as u64,
            (None, None) => 0..0,
            (None, Some(counts)) => {
                let starts = if let Some(starts) = part.starts.get() {
                    starts
                } else {
                    let mut starts = vec![0];
                    let (mut sum, mut stream) = (0, counts.all_records::<u32>(8)?);
                    while let Some(count) = stream.next_record()? {
                        sum += u64::from(count);
                        starts.push(sum);
                    }
                    part.starts.get_or_init(|| starts)
                };
                let index = (doc - part.base) as usize;
                match starts.get(index..index + 2) {
                    Some(&[from, to]) => from..to,
                    _ => 0..0,
                }
            }
        };
        out.clear();
        part.features.read_words(words, out)
    }

    fn part_of(&self, doc: u32) -> usize {
        let after = self.parts.partition_point(|part| part.base <= doc);
        after.saturating_sub(1)
    }

    pub(crate) fn place(&self, doc: u32) -> Result<(usize, Place), StorageError> {
        let part = self.part_of(doc);
        let index = doc
            .checked_sub(self.parts[part].base)
            .map_or(u64::MAX, u64::from);
        Ok((part, self.parts[part].places.row(index)?))
    }

    pub(crate) fn source(&self, part: usize, number: u32) -> Option<&Source> {
        self.sources[part].get(number as usize)?.as_ref()
    }

    /// The files that its documents were read from.
    pub fn sources(&self) -> impl Iterator<Item = &Path> {
        let all = self.sources.iter().flatten().flatten();
        all.map(|source| source.path.as_path())
    }

    /// How many documents the host with most of them has; those without a URL count as one.
    /// Reads all URLs.
    pub fn largest_host(&self) -> Result<u64, StorageError> {
        let mut counts: HashMap<u64, u64> = HashMap::new();
        for doc in 0..self.documents() {
            *counts.entry(host(self, doc)?).or_insert(0) += 1;
        }
        Ok(counts.into_values().max().unwrap_or(0))
    }

    /// A document's id and URL.
    pub fn strings(&self, doc: u32) -> Result<(Option<String>, Option<String>), StorageError> {
        let (part, place) = self.place(doc)?;
        let (id, url) = self.parts[part].names(&place)?;
        Ok((id, (!url.is_empty()).then_some(url)))
    }

    /// What is told of a document.
    pub fn document(&self, doc: u32) -> Result<FilteredDocument, StorageError> {
        let (part, place) = self.place(doc)?;
        let (id, url) = self.strings(doc)?;
        let of_sweep = self.state().sweeps[part].date.map(Timestamp);
        Ok(FilteredDocument {
            doc,
            id,
            url,
            date: place.date().or(of_sweep),
            file: self
                .source(part, place.source)
                .map_or_else(String::new, |source| source.name.clone()),
            offset: place.offset,
        })
    }

    /// The documents with a URL, or with that for an id, in order.
    pub fn find_named(&self, name: &str) -> Result<Vec<u32>, StorageError> {
        let mut docs = Vec::new();
        for part in &self.parts {
            for key in [url_key(name), id_key(name)] {
                part.keyed(key, &mut docs)?;
            }
        }
        let mut found = Vec::new();
        docs.sort_unstable();
        docs.dedup();
        for doc in docs {
            let (id, url) = self.strings(doc)?;
            if [id, url].iter().any(|text| text.as_deref() == Some(name)) {
                found.push(doc);
            }
        }
        // What has a URL goes by it; that it has an id too takes a pass over all of them.
        if found.is_empty() && !name.contains("://") {
            for doc in 0..self.documents() {
                if self.strings(doc)?.0.as_deref() == Some(name) {
                    found.push(doc);
                }
            }
        }
        Ok(found)
    }

    /// The cluster of a document, if it is in one of two or more.
    pub fn cluster_of(
        &self,
        clustering: &FilterClustering,
        doc: u32,
    ) -> Result<Option<u32>, StorageError> {
        let members = self.rows::<Member>(clustering, "members")?;
        let mut found = None;
        members.each_from(
            |member| member.doc < doc,
            |member| {
                found = (member.doc == doc).then_some(member.cluster);
                false
            },
        )?;
        Ok(found)
    }

    /// The documents of a cluster, in order.
    pub fn roster(
        &self,
        clustering: &FilterClustering,
        cluster: u32,
    ) -> Result<Vec<u32>, StorageError> {
        let roster = self.rows::<Listed>(clustering, "roster")?;
        let mut docs = Vec::new();
        roster.each_from(
            |one| one.cluster < cluster,
            |one| {
                let is_of_it = one.cluster == cluster;
                docs.extend(is_of_it.then_some(one.doc));
                is_of_it
            },
        )?;
        Ok(docs)
    }

    /// All clusters, each with its documents, in order.
    pub fn each_cluster(
        &self,
        clustering: &FilterClustering,
        mut each: impl FnMut(u32, &[u32]),
    ) -> Result<(), StorageError> {
        let roster = self.rows::<Listed>(clustering, "roster")?;
        let (mut current, mut docs) = (u32::MAX, Vec::new());
        roster.each_from(
            |_| false,
            |one| {
                if one.cluster != current && !docs.is_empty() {
                    each(current, &docs);
                    docs.clear();
                }
                current = one.cluster;
                docs.push(one.doc);
                true
            },
        )?;
        if !docs.is_empty() {
            each(current, &docs);
        }
        Ok(())
    }

    /// A file of a clustering: a row for each document in a cluster.
    fn rows<R: Row>(
        &self,
        clustering: &FilterClustering,
        what: &str,
    ) -> Result<Packed<R>, StorageError> {
        let entry = self.manifest.file(&clustering.file(what))?;
        let reader = BlockReader::open(&*self.storage, entry)?;
        Packed::new(reader, clustering.clustered_documents)
    }
}
