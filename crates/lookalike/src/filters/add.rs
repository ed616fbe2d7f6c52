//! Documents → features, and nothing else.
//!
//! ```text
//! inputs ─► sketches of k·s permutations, by several threads ─► features ─► files ─► commit
//! ```
//!
//! Interrupted by whatever, the collection is the old one, and the same command starts over.

use std::path::Path;
use std::sync::Arc;

use lookalike_core::recipe::Recipe;

use super::collection::{FilterState, FilterSweep};
use super::packed::PackedWriter;
use super::places::{Place, key_of};
use super::{Filtered, Spec, cluster};
use crate::add::contents::Contents;
use crate::add::sketching::{Position, Reading, Sketched, sketch_all};
use crate::add::tally::Tally;
use crate::add::{AddError, AddOptions, Event, IN_FLIGHT, Phase};
use crate::blocks::{BlockWriter, FileKind};
use crate::collection::entry::{Entry, Flag};
use crate::collection::lock::Lock;
use crate::collection::lookup::each_in_order;
use crate::collection::manifest::{self, Manifest, collect_garbage, commit};
use crate::collection::segment::StoredSource;
use crate::collection::state::{Counts, StoredReading, StoredRecipe};
use crate::collection::{Collection, CollectionError, file_name};
use crate::corpus::inputs::Inputs;
use crate::storage::disk::Disk;
use crate::storage::{Storage, StorageError};

/// What adding to a filter's collection came to.
#[derive(Clone, Debug)]
pub struct Added {
    /// What became of what was read.
    pub tally: Tally,
    /// New documents.
    pub added: u64,
    /// What was rejected: which input, and why.
    pub rejects: Vec<(String, crate::corpus::record::Refused)>,
}

impl Added {
    /// As the counts of any sweep: no copies are set aside, so that all documents are
    /// distinct, and no pairs are kept.
    pub fn counts(&self) -> Counts {
        Counts {
            distinct: self.added,
            ..counts_of(&self.tally)
        }
    }
}

/// Adds documents to the filter's collection in a folder, which is made if it is not there.
/// The recipe's sketch is the filter's, whatever it says.
pub fn add(
    folder: &Path,
    inputs: &Inputs,
    spec: Spec,
    options: &AddOptions,
    watch: &mut dyn FnMut(Event<'_>),
) -> Result<Added, AddError> {
    let is_new_folder = !folder.exists();
    let io = |error| StorageError::io(".", error);
    std::fs::create_dir_all(folder).map_err(io)?;
    let lock = Lock::acquire(folder)?;
    let storage: Arc<dyn Storage> = Arc::new(Disk::new(folder));
    let added = add_in(folder, &storage, inputs, spec, options, watch);
    if let (true, Err(AddError::Nothing(_))) = (is_new_folder, &added) {
        drop(lock);
        drop(std::fs::remove_dir_all(folder));
    }
    added
}

pub(super) fn add_in(
    folder: &Path,
    storage: &Arc<dyn Storage>,
    inputs: &Inputs,
    spec: Spec,
    options: &AddOptions,
    watch: &mut dyn FnMut(Event<'_>),
) -> Result<Added, AddError> {
    let recipe = Recipe {
        sketch: spec.sketch(),
        ..options.recipe.clone()
    };
    collect_garbage(&**storage)?;
    let mut manifest = match Filtered::open_in(folder, Arc::clone(storage))? {
        Some(before) if before.spec() != spec || before.manifest().recipe_id() != recipe.id() => {
            let (old, new) = (before.manifest().recipe_id(), recipe.id());
            return Err(AddError::OtherRecipe(old, new));
        }
        Some(before) => before.manifest().next(before.state().clone()),
        None => match Collection::open_in(folder, Arc::clone(storage)) {
            Err(CollectionError::NotACollection) => Manifest::first(
                &recipe,
                FilterState {
                    filter: spec.to_string(),
                    recipe: StoredRecipe::new(&recipe),
                    sweeps: Vec::new(),
                    clusterings: Vec::new(),
                },
            ),
            Err(error) => return Err(error.into()),
            Ok(other) => {
                return Err(AddError::OtherRecipe(
                    other.manifest().recipe_id(),
                    recipe.id(),
                ));
            }
        },
    };
    watch(Event::Phase(Phase::Sketch));
    let mut rejects = Vec::new();
    for (input, refused) in &inputs.refused {
        watch(Event::Refused { input, refused });
    }
    let last = manifest.state.sweeps.last();
    let base = last.map_or(0, |last| last.base + last.documents);
    let mut writers = Writers::new(&**storage, &manifest, spec, base)?;
    let contents = Contents::default();
    let reading = Reading {
        sources: &inputs.sources,
        options: &options.reading,
        recipe: &recipe,
        contents: &contents,
        threads: options.threads,
        in_flight: (options.memory / 4).min(options.threads.get() as u64 * IN_FLIGHT),
        keeps_text: false,
    };
    sketch_all(&reading, Position::default(), |_, source, sketched| {
        for refused in &sketched.refused {
            let input = &inputs.sources[source].name;
            watch(Event::Refused { input, refused });
            if refused.is_rejected {
                rejects.push((input.clone(), refused.clone()));
            }
        }
        writers.take(&sketched)?;
        watch(Event::Read {
            records: writers.tally.read,
            bytes: 0,
            of: 0,
        });
        Ok(())
    })?;
    let mut tally = std::mem::take(&mut writers.tally);
    for (_, refused) in &inputs.refused {
        tally.refuse(refused);
    }
    let documents = writers.next - base;
    if documents == 0 {
        drop(writers);
        collect_garbage(&**storage)?;
        return Err(AddError::Nothing(Box::new(counts_of(&tally))));
    }
    writers.finish(&mut manifest, inputs, folder, options.memory / 4)?;
    let generation = manifest.generation();
    manifest.state.sweeps.push(FilterSweep {
        generation,
        base,
        documents,
        date: options.date.map(|date| date.0),
        reading: StoredReading::new(&options.reading),
        tally: tally.clone(),
    });

    watch(Event::Phase(Phase::Clusters));
    let now = Filtered::of(folder, Arc::clone(storage), manifest.clone())?;
    cluster::make(
        &now,
        &mut manifest,
        None,
        &recipe,
        options.threads,
        options.memory,
    )?;
    commit(&**storage, &manifest)?;
    Ok(Added {
        tally,
        added: documents.into(),
        rejects,
    })
}

/// The counts that a sweep of features has.
pub(super) fn counts_of(tally: &Tally) -> Counts {
    Counts {
        read: tally.read,
        skipped: tally.skipped.clone(),
        rejected: tally.rejected.clone(),
        short: tally.short,
        repaired: tally.repaired,
        dates_unreadable: tally.dates_unreadable,
        bytes: tally.bytes,
        tokens: tally.tokens,
        ..Counts::default()
    }
}

/// The files of a sweep, as they grow.
struct Writers<'a> {
    storage: &'a dyn Storage,
    spec: Spec,
    features: BlockWriter,
    counts: Option<BlockWriter>,
    places: PackedWriter<Place>,
    strings: BlockWriter,
    /// Keys of the documents, in order, until they are sorted: 8 bytes a document.
    keys: Vec<u64>,
    base: u32,
    next: u32,
    tally: Tally,
}

impl<'a> Writers<'a> {
    fn new(
        storage: &'a dyn Storage,
        manifest: &Manifest<FilterState>,
        spec: Spec,
        base: u32,
    ) -> Result<Writers<'a>, StorageError> {
        let create = |what: &str, kind| {
            let name = file_name(what, manifest.generation());
            BlockWriter::create(storage, &name, kind, manifest.file_id(&name))
        };
        let counts = match spec.words() {
            None => Some(create("counts", FileKind::Sketches)?),
            Some(_) => None,
        };
        Ok(Writers {
            storage,
            spec,
            features: create("features", FileKind::Sketches)?,
            counts,
            places: PackedWriter::new(create("places", FileKind::Documents)?),
            strings: create("strings", FileKind::Names)?,
            keys: Vec::new(),
            base,
            next: base,
            tally: Tally::default(),
        })
    }

    /// Takes the documents of a batch.
    fn take(&mut self, sketched: &Sketched) -> Result<(), StorageError> {
        self.tally.add(&sketched.tally);
        let mut rest = &sketched.bodies[..];
        for entry in &sketched.entries {
            let (samples, behind) = rest.split_at(8 * entry.sketch.samples());
            let (id, behind) = behind.split_at(entry.id_len as usize);
            let (url, behind) = behind.split_at(entry.url_len as usize);
            rest = &behind[usize::from(entry.facts.mime)..];
            if entry.is_blank() {
                // It was counted when it was refused.
                continue;
            }
            if entry.has(Flag::Revisit) {
                let skipped = self.tally.skipped.entry("revisit".to_owned());
                *skipped.or_insert(0) += 1;
                continue;
            }
            let words = samples.as_chunks().0.iter();
            let samples = words.map(|word| u64::from_le_bytes(*word)).collect();
            self.document(entry, samples, id, url)?;
        }
        Ok(())
    }

    fn document(
        &mut self,
        entry: &Entry,
        samples: Vec<u64>,
        id: &[u8],
        url: &[u8],
    ) -> Result<(), StorageError> {
        let features = self.spec.reduce(samples);
        if let Some(counts) = &mut self.counts {
            counts.append_record(u32::try_from(features.len()).unwrap_or(u32::MAX))?;
        }
        self.features.append_records(&features)?;
        let has_id = entry.has(Flag::HasId);
        self.places.append(Place {
            source: entry.source,
            offset: entry.offset,
            minutes: entry.when().map(|date| date.0.div_euclid(60)),
            names: self.strings.position(),
            id_len: has_id.then_some(entry.id_len),
            url_len: entry.url_len,
        })?;
        self.strings.append(id)?;
        self.strings.append(url)?;
        let (id, url) = (String::from_utf8_lossy(id), String::from_utf8_lossy(url));
        self.keys.push(key_of(has_id.then_some(&*id), &url));
        self.next = self
            .next
            .checked_add(1)
            .filter(|&doc| doc < crate::add::segment::MOST_DOCUMENTS)
            .ok_or_else(|| StorageError::io("places", crate::add::segment::too_many()))?;
        Ok(())
    }

    /// Ends all files, and names them in the manifest.
    fn finish(
        self,
        manifest: &mut Manifest<FilterState>,
        inputs: &Inputs,
        folder: &Path,
        budget: u64,
    ) -> Result<(), StorageError> {
        let create = |what: &str, kind| {
            let name = file_name(what, manifest.generation());
            BlockWriter::create(self.storage, &name, kind, manifest.file_id(&name))
        };
        let (base, keys) = (self.base, &self.keys);
        let count = keys.len() as u64;
        let mut sorted = create("keys", FileKind::Lookup)?;
        let all = |each: &mut dyn FnMut(u64, u32)| {
            (base..).zip(keys).for_each(|(doc, &key)| each(key, doc));
            Ok(())
        };
        each_in_order(count, budget, all, |named| {
            named.iter().try_for_each(|one| sorted.append_record(one.1))
        })?;
        let mut sources = create("sources", FileKind::Names)?;
        for source in &inputs.sources {
            let mut line = serde_json::to_vec(&StoredSource::new(source, folder))
                .map_err(|error| StorageError::io("sources", std::io::Error::other(error)))?;
            line.push(b'\n');
            sources.append(&line)?;
        }
        let all = [self.features, self.strings, sorted, sources];
        for file in all.into_iter().chain(self.counts) {
            let file = file.finish()?;
            manifest.add_file(file);
        }
        manifest.add_file(self.places.finish()?);
        Ok(())
    }
}

/// Whether a folder holds a filter's collection.
pub(crate) fn is_filtered(storage: &dyn Storage) -> bool {
    manifest::latest::<FilterState>(storage).is_ok()
}
