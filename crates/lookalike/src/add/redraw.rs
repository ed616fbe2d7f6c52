//! A fresh sample for a whole collection: what someone tuned to the old one is found again.
//!
//! ```text
//! documents with tokens of their own ─► read again ─► sketched by the new recipe ─► scratch
//! lost? ─► another with the same tokens is read in its place
//! sweep by sweep, in the order of numbers: copies judged anew ─► documents, sketches
//!          ─► postings ─► pairs        then every clustering again, and one commit
//! ```
//!
//! Numbers, ids, URLs, dates, captures, kept texts and true values stay as they are; what
//! follows from the sample is what `add` with the new recipe would have written, sweep by
//! sweep. Interrupted by whatever, the collection is the old one.
//!
//! Time: that of sketching, sorting and counting again. Memory: the budget, and 8 bytes a
//! document for where its new sketch stands.

use std::path::Path;
use std::sync::Arc;

use hashbrown::HashMap;
use lookalike_core::recipe::{Recipe, RecipeId};
use lookalike_core::seed::Seed;
use lookalike_core::sketch::Kept as KeptSamples;
use lookalike_core::sketcher::Sketcher;

use super::names::{CopyOf, Target, Verdicts, What, judge_again};
use super::segment::{Files, write_lookups};
use super::sketching::sketch_name;
use super::{AddError, AddOptions, Event, LEAST_MEMORY, Phase, Work, cluster_anew};
use crate::blocks::{BlockReader, BlockWriter, FileEntry, FileKind, Record};
use crate::collection::entry::{Entry, Flag, SketchHead};
use crate::collection::journal::remove_journal;
use crate::collection::lock::Lock;
use crate::collection::manifest::{Manifest, collect_garbage, commit};
use crate::collection::sketches::STRIDE;
use crate::collection::state::{
    Counts, DRAWN, RecipeFault, Redrawn, State, StoredClustering, StoredRecipe,
};
use crate::collection::texts::{Lost, Task, tasks};
use crate::collection::{Collection, CollectionError};
use crate::pairs::postings::{Partitions, key};
use crate::parallel;
use crate::storage::{Storage, StorageError};

/// What becomes of documents whose text cannot be had again.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Unread {
    /// They are an error: nothing is written.
    #[default]
    Refused,
    /// They stay, without a sketch: known by number, URL and date, and as copies of one
    /// another, but like nothing else.
    Kept,
}

/// What a fresh sample came to.
#[derive(Clone, Debug)]
pub struct Redrew {
    /// The recipe now.
    pub recipe: RecipeId,
    /// All documents.
    pub documents: u32,
    /// Of these, read and sketched again.
    pub sketched: u64,
    /// Of these, without a text, and so without a sketch.
    pub missing: u64,
    /// With a sketch of their own.
    pub distinct: u64,
    /// Counted pairs.
    pub pairs: u64,
    /// The clusterings as they are now.
    pub clusterings: Vec<StoredClustering>,
}

/// Why no fresh sample was drawn.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RedrawError {
    /// The collection cannot be written to, or too little memory was allowed.
    #[error(transparent)]
    Add(#[from] AddError),
    /// Its recipe makes no sense.
    #[error(transparent)]
    Recipe(#[from] RecipeFault),
    /// It has that sample already.
    #[error("the collection is sketched by that key already")]
    Same,
    /// Texts are missing; the first of them, and why.
    #[error("the texts of {count} documents cannot be had again; document {doc}: {why}")]
    Missing {
        /// How many documents.
        count: u64,
        /// The first of them.
        doc: u32,
        /// Why that one.
        why: Lost,
    },
}

impl From<StorageError> for RedrawError {
    fn from(error: StorageError) -> RedrawError {
        RedrawError::Add(error.into())
    }
}

impl From<CollectionError> for RedrawError {
    fn from(error: CollectionError) -> RedrawError {
        RedrawError::Add(error.into())
    }
}

/// Sketches all documents of a collection again, with another seed. Of `options` only what
/// the machine may be used for counts.
pub fn redraw(
    folder: &Path,
    seed: Seed,
    unread: Unread,
    options: &AddOptions,
    watch: &mut dyn FnMut(Event<'_>),
) -> Result<Redrew, RedrawError> {
    if options.memory < LEAST_MEMORY {
        return Err(RedrawError::Add(AddError::Memory {
            given: options.memory,
            least: LEAST_MEMORY,
        }));
    }
    // Nothing is locked or made in a folder that is no collection.
    Collection::open(folder)?;
    let _lock = Lock::acquire(folder)?;
    let collection = Collection::open(folder)?;
    redraw_in(&collection, seed, unread, options, watch)
}

/// The same in any storage, with the lock in hand.
pub(crate) fn redraw_in(
    collection: &Collection,
    seed: Seed,
    unread: Unread,
    options: &AddOptions,
    watch: &mut dyn FnMut(Event<'_>),
) -> Result<Redrew, RedrawError> {
    let (folder, storage) = (collection.folder(), Arc::clone(collection.storage()));
    let recipe = collection.state().recipe.with_seed(seed)?;
    let before = collection.manifest();
    if recipe.id() == before.recipe_id() {
        return Err(RedrawError::Same);
    }
    // What an interrupted `add` has sketched is of the old recipe.
    remove_journal(&*storage)?;
    collect_garbage(&*storage)?;
    let options = AddOptions {
        recipe,
        ..options.clone()
    };
    let old = collection.state();
    let mut manifest = before.redrawn(
        &options.recipe,
        State {
            recipe: StoredRecipe::new(&options.recipe),
            sweeps: Vec::new(),
            recounted: None,
            ..old.clone()
        },
    );
    manifest.retain_files(|file| {
        let what = file.name.split('-').next().unwrap_or("");
        !DRAWN.contains(&what)
    });

    watch(Event::Phase(Phase::Sketch));
    let drawn = Sketched::of(collection, &manifest, &options, watch)?;
    let missing = drawn.missing();
    if let (Unread::Refused, Some((doc, why))) = (unread, &drawn.first_lost) {
        let (count, doc, why) = (missing, *doc, why.clone());
        return Err(RedrawError::Missing { count, doc, why });
    }

    watch(Event::Phase(Phase::Copies));
    let verdicts = judge_again(
        collection.documents(),
        |each| drawn.each(collection, &mut |doc, entry| each(doc, entry)),
        options.memory / 4,
    )?;
    let work = Work {
        storage: &storage,
        scratch: &*storage,
        options: &options,
    };
    let (mut sketches, mut distinct, mut pairs) = (None, 0, 0);
    for (part, sweep) in (0..).zip(&old.sweeps) {
        let redrawn = Some(Redrawn {
            generation: manifest.generation(),
            part,
        });
        let expected = drawn.file.file_len / 8;
        let mut partitions = Partitions::new(&*storage, options.memory / 2, expected);
        let files = Files {
            storage: &*storage,
            manifest: &manifest,
            redrawn,
        };
        let (mut counts, mut new_files) = (sweep.counts.clone(), Vec::new());
        let part = Part {
            files: &files,
            sketched: &drawn,
            verdicts: &verdicts,
            sweep: part as usize,
        };
        part.write(
            collection,
            &options,
            &mut counts,
            &mut partitions,
            &mut new_files,
        )?;
        let sweep = crate::collection::state::Sweep {
            redrawn,
            counts,
            ..sweep.clone()
        };
        let counted = work.sort_and_count(&mut manifest, partitions, sweep, new_files, watch)?;
        sketches = counted.sketches.or(sketches);
        distinct += counted.counts.distinct;
        pairs += counted.counts.pairs;
    }

    watch(Event::Phase(Phase::Clusters));
    // Sketches that were opened for an earlier sweep are not those of all documents.
    drop(sketches);
    cluster_anew(folder, &storage, &mut manifest, None, &[], &options)?;
    let (count, scratch) = (drawn.count, drawn.file.name.clone());
    drop(drawn);
    storage
        .remove(&scratch)
        .map_err(|error| StorageError::io(&scratch, error))?;
    commit(&*storage, &manifest)?;
    Ok(Redrew {
        recipe: options.recipe.id(),
        documents: collection.documents(),
        sketched: count,
        missing,
        distinct,
        pairs,
        clusterings: manifest.state.clusterings,
    })
}

/// What a document's new sketch comes to besides the samples, which stand behind it.
///
/// ```text
///  0 name of tokens u128 | name of sketch u128 | tokens u64 | samples and level u32 | 0 u32
/// ```
#[derive(Clone, Copy, Debug)]
struct Fresh {
    tokens_name: u128,
    sketch_name: u128,
    tokens: u64,
    sketch: SketchHead,
}

impl Fresh {
    const LEN: usize = 48;

    fn to_bytes(self) -> [u8; Fresh::LEN] {
        let mut bytes = [0; Fresh::LEN];
        bytes[..16].copy_from_slice(&self.tokens_name.to_le_bytes());
        bytes[16..32].copy_from_slice(&self.sketch_name.to_le_bytes());
        bytes[32..40].copy_from_slice(&self.tokens.to_le_bytes());
        bytes[40..44].copy_from_slice(&self.sketch.0.to_le_bytes());
        bytes
    }

    fn from_bytes(bytes: &[u8; Fresh::LEN]) -> Fresh {
        let name = |at: usize| {
            let mut own = [0; 16];
            own.copy_from_slice(&bytes[at..at + 16]);
            u128::from_le_bytes(own)
        };
        Fresh {
            tokens_name: name(0),
            sketch_name: name(16),
            tokens: <u64 as Record>::from_bytes(&bytes[32..40]),
            sketch: SketchHead(<u32 as Record>::from_bytes(&bytes[40..44])),
        }
    }
}

/// Where the sketch of a document that has none stands.
const NOWHERE: u64 = u64::MAX;

/// The new sketches, in the order they were read in.
struct Sketched {
    /// Of each document, where its sketch stands.
    places: Vec<u64>,
    file: FileEntry,
    reader: BlockReader,
    /// Documents that were read.
    count: u64,
    first_lost: Option<(u32, Lost)>,
}

/// A document with its sketch, as bytes; or why it has none.
type Read = Vec<(u32, Result<Vec<u8>, Lost>)>;

/// Bytes that a document takes up while it waits to be read again, about.
const WAITING: u64 = 256;

impl Sketched {
    /// Reads and sketches all documents again that have tokens of their own.
    fn of(
        collection: &Collection,
        manifest: &Manifest<State>,
        options: &AddOptions,
        watch: &mut dyn FnMut(Event<'_>),
    ) -> Result<Sketched, StorageError> {
        let storage: &dyn Storage = &**collection.storage();
        let documents = collection.documents() as usize;
        let name = crate::collection::file_name("fresh", manifest.generation());
        let id = manifest.file_id(&name);
        let mut drawing = Drawing {
            collection,
            options,
            places: vec![NOWHERE; documents],
            writer: BlockWriter::create(storage, &name, FileKind::Scratch, id)?,
            count: 0,
            lost: HashMap::new(),
        };
        let most = usize::try_from(options.memory / 4 / WAITING).unwrap_or(usize::MAX);
        let most = most.max(1 << 8);
        let mut wanted = Vec::new();
        for doc in 0..collection.documents() {
            let entry = collection.entry(doc)?;
            if has_own_tokens(doc, &entry) {
                wanted.push(doc);
            }
            if wanted.len() == most || doc + 1 == collection.documents() {
                drawing.read(&wanted)?;
                wanted.clear();
                watch(Event::Read {
                    records: drawing.count,
                    bytes: 0,
                    of: 0,
                });
            }
        }
        drawing.stand_in()?;
        let Drawing {
            mut places,
            writer,
            count,
            lost,
            ..
        } = drawing;
        // Copies have the sketch of whom they have the tokens of. That is the first of their
        // class, but for a revisit of one that has only the class's sketch.
        let mut apart: HashMap<u128, u64> = HashMap::new();
        collection.each_copy(|doc, entry| {
            if has_own_tokens(doc, entry) {
                apart.insert(entry.tokens_name, places[doc as usize]);
            }
        })?;
        collection.each_copy(|doc, entry| {
            if !has_own_tokens(doc, entry) {
                places[doc as usize] = if entry.is_apart() {
                    apart.get(&entry.tokens_name).copied().unwrap_or(NOWHERE)
                } else {
                    places[entry.copy_of as usize]
                };
            }
        })?;
        let file = writer.finish_scratch()?;
        let first_lost = lost.into_iter().min_by_key(|(doc, _)| *doc);
        Ok(Sketched {
            places,
            reader: BlockReader::open(storage, &file)?,
            file,
            count,
            first_lost,
        })
    }

    /// Documents without a sketch.
    fn missing(&self) -> u64 {
        self.places
            .iter()
            .filter(|&&place| place == NOWHERE)
            .count() as u64
    }

    fn fresh(&self, doc: u32) -> Result<Option<(Fresh, u64)>, StorageError> {
        let place = self.places[doc as usize];
        if place == NOWHERE {
            return Ok(None);
        }
        let mut bytes = [0; Fresh::LEN];
        self.reader.read_at(place, &mut bytes)?;
        Ok(Some((Fresh::from_bytes(&bytes), place + Fresh::LEN as u64)))
    }

    /// A document as it will be, but for whose copy it is; and where its samples stand.
    fn entry(&self, doc: u32, mut entry: Entry) -> Result<(Entry, Option<u64>), StorageError> {
        let Some((fresh, samples)) = self.fresh(doc)? else {
            // It goes by its old tokens, so that copies of it stay copies.
            entry.sketch = SketchHead::default();
            entry.sketch_name = entry.tokens_name;
            return Ok((entry, None));
        };
        entry.tokens_name = fresh.tokens_name;
        entry.sketch_name = fresh.sketch_name;
        entry.tokens = fresh.tokens;
        entry.sketch = fresh.sketch;
        Ok((entry, Some(samples)))
    }

    /// All documents as they will be, but for whose copies they are.
    fn each(
        &self,
        collection: &Collection,
        each: &mut dyn FnMut(u32, &Entry),
    ) -> Result<(), StorageError> {
        for doc in 0..collection.documents() {
            let (entry, _) = self.entry(doc, collection.entry(doc)?)?;
            each(doc, &entry);
        }
        Ok(())
    }
}

/// Whether a document's tokens are known of no document before it.
fn has_own_tokens(doc: u32, entry: &Entry) -> bool {
    !entry.has(Flag::Revisit) && (entry.copy_of == doc || entry.is_apart())
}

/// New sketches as they come.
struct Drawing<'a> {
    collection: &'a Collection,
    options: &'a AddOptions,
    places: Vec<u64>,
    writer: BlockWriter,
    count: u64,
    lost: HashMap<u32, Lost>,
}

impl Drawing<'_> {
    /// Reads documents, whose numbers increase, and writes their sketches.
    fn read(&mut self, docs: &[u32]) -> Result<(), StorageError> {
        let tasks = tasks(self.collection, docs)?;
        let Drawing {
            places,
            writer,
            count,
            lost,
            options,
            ..
        } = self;
        parallel::in_order(
            options.threads,
            tasks.len(),
            || Sketcher::new(&options.recipe),
            |sketcher, i| sketch_again(&tasks[i], sketcher),
            |_, read: Read| {
                for (doc, sketch) in read {
                    match sketch {
                        Ok(bytes) => {
                            places[doc as usize] = writer.position();
                            writer.append(&bytes)?;
                            *count += 1;
                        }
                        Err(why) => {
                            lost.insert(doc, why);
                        }
                    }
                }
                Ok(())
            },
        )
    }

    /// For each document that was lost, those with its tokens are tried.
    fn stand_in(&mut self) -> Result<(), StorageError> {
        let mut names: HashMap<u128, Vec<u32>> = HashMap::new();
        for &doc in self.lost.keys() {
            let name = self.collection.entry(doc)?.tokens_name;
            names.entry(name).or_default().push(doc);
        }
        if names.is_empty() {
            return Ok(());
        }
        let mut others = Vec::new();
        self.collection.each_entry(|doc, entry| {
            let is_wanted = names.contains_key(&entry.tokens_name);
            if is_wanted && !has_own_tokens(doc, entry) && !entry.has(Flag::Revisit) {
                others.push((doc, entry.tokens_name));
            }
        })?;
        let before = self.lost.clone();
        for part in others.chunks(1 << 12) {
            let docs: Vec<u32> = part.iter().map(|one| one.0).collect();
            self.read(&docs)?;
            for (doc, name) in part {
                let place = self.places[*doc as usize];
                if place != NOWHERE {
                    for lost in names.get(name).into_iter().flatten() {
                        self.places[*lost as usize] = place;
                    }
                }
            }
        }
        // Who stands in, or failed to, is not what was asked for.
        self.lost = before;
        let places = &self.places;
        self.lost.retain(|doc, _| places[*doc as usize] == NOWHERE);
        Ok(())
    }
}

fn sketch_again(task: &Task<'_>, sketcher: &mut Sketcher) -> Result<Read, StorageError> {
    let mut read = Vec::new();
    task.read(&mut |doc, entry, again| {
        let fresh = again.and_then(|again| {
            again.is_of(entry)?;
            let sketch = again.document.sketch(sketcher);
            let tokens_name = sketcher.tokens_name().0;
            let level = match sketch.kept() {
                KeptSamples::Nested(kept) => kept.level(),
                _ => 0,
            };
            let samples = sketch.samples();
            let fresh = Fresh {
                tokens_name,
                sketch_name: sketch_name(&sketch, tokens_name),
                tokens: sketch.tokens(),
                sketch: SketchHead::new(samples.len(), level),
            };
            let mut bytes = fresh.to_bytes().to_vec();
            bytes.extend(samples.iter().flat_map(|sample| sample.to_le_bytes()));
            Ok(bytes)
        });
        read.push((doc, fresh));
    })?;
    Ok(read)
}

/// One sweep, written anew.
struct Part<'a> {
    files: &'a Files<'a>,
    sketched: &'a Sketched,
    verdicts: &'a Verdicts,
    sweep: usize,
}

impl Part<'_> {
    fn write(
        &self,
        collection: &Collection,
        options: &AddOptions,
        counts: &mut Counts,
        partitions: &mut Partitions<'_>,
        new_files: &mut Vec<FileEntry>,
    ) -> Result<(), StorageError> {
        let recipe: &Recipe = &options.recipe;
        let files = self.files;
        let sweep = &collection.state().sweeps[self.sweep];
        let mut documents = files.create("documents", FileKind::Documents)?;
        let mut heads = files.create("heads", FileKind::Sketches)?;
        let mut sketches = files.create("sketches", FileKind::Sketches)?;
        let mut places = files.create("places", FileKind::Lookup)?;
        for grade in [
            &mut counts.identical,
            &mut counts.lexical,
            &mut counts.shingle,
            &mut counts.distinct,
            &mut counts.postings,
        ] {
            *grade = 0;
        }
        let mut samples = Vec::new();
        let mut stream = collection.entries(self.sweep)?;
        let mut doc = sweep.base;
        while let Some(entry) = stream.next_record()? {
            let (mut entry, place) = self.sketched.entry(doc, entry)?;
            if (doc - sweep.base).is_multiple_of(STRIDE) {
                places.append_record(counts.postings)?;
            }
            // What is no flag of a copy stays.
            entry.flags &= !(Flag::Apart as u8);
            entry.grade = 0;
            if let What::Copy(copy) = self.verdicts.get(doc) {
                mark(&mut entry, &copy, counts);
                heads.append_record(SketchHead::default().0)?;
            } else {
                entry.copy_of = doc;
                counts.distinct += 1;
                samples.clear();
                if let Some(place) = place {
                    let mut bytes = vec![0; 8 * entry.sketch.samples()];
                    self.sketched.reader.read_at(place, &mut bytes)?;
                    let words = bytes.as_chunks().0.iter();
                    samples.extend(words.map(|word| u64::from_le_bytes(*word)));
                }
                heads.append_record(entry.sketch.0)?;
                sketches.append_records(&samples)?;
                counts.postings += samples.len() as u64;
                for (place, &sample) in samples.iter().enumerate() {
                    partitions.push(key(recipe.sketch, place, sample), doc)?;
                }
            }
            documents.append_record(entry)?;
            doc += 1;
        }
        let documents = documents.finish()?;
        let budget = options.memory / 4;
        new_files.extend(write_lookups(
            files,
            &["names"],
            &documents,
            sweep.base,
            budget,
        )?);
        new_files.push(documents);
        for file in [heads, sketches, places] {
            new_files.push(file.finish()?);
        }
        Ok(())
    }
}

/// Notes and counts how a document is a copy.
fn mark(entry: &mut Entry, copy: &CopyOf, counts: &mut Counts) {
    let (Target::Older(first) | Target::New(first)) = copy.first;
    super::segment::mark_copy(entry, copy, first, counts);
}
