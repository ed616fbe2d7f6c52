//! One sweep into a collection, in the paper's phases.
//!
//! ```text
//! inputs ─► sketch ─► copies ─► sort ─► pairs ─► clusters ─► commit
//!           chunks,   set aside  postings  counted  of every policy kept
//!           journal
//! ```
//!
//! Interrupted by whatever, the collection holds the old state; the same command again
//! finds the chunks that were done in the journal and goes on behind them. What is
//! written depends on the inputs alone, not on threads or memory.

pub mod tally;

pub(crate) mod captures;
pub(crate) mod contents;
pub(crate) mod intake;
pub(crate) mod names;
pub(crate) mod recent;
pub(crate) mod segment;
pub(crate) mod sketching;
pub(crate) mod texts;

#[cfg(test)]
pub(crate) mod fault_tests;

#[cfg(test)]
mod kill_tests;

#[cfg(test)]
mod same_tests;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lookalike_core::recipe::{Recipe, RecipeId, SketchKind};
use xxhash_rust::xxh3::xxh3_64;

use crate::blocks::{BlockWriter, FileKind};
use crate::clusters::policy::Policy;
use crate::clusters::{self, ClusterOptions, PARTS, Writers};
use crate::collection::journal::{load_journal, remove_journal};
use crate::collection::lock::Lock;
use crate::collection::manifest::{self, Manifest, collect_garbage, commit};
use crate::collection::segment::Segment;
use crate::collection::sketches::Sketches;
use crate::collection::state::{
    Counts, State, StoredClustering, StoredReading, StoredRecipe, Sweep,
};
use crate::collection::{Collection, CollectionError, file_name};
use crate::corpus::inputs::{Inputs, Source, SourceKind};
use crate::corpus::options::ReadOptions;
use crate::corpus::record::{Refused, Timestamp};
use crate::pairs::count::{Counted, count};
use crate::pairs::groups::Groups;
use crate::pairs::judge::{Floor, Judging};
use crate::pairs::postings::{PARTITIONS, Partitions, Postings, PostingsWriter, Sortable};
use crate::parallel;
use crate::storage::disk::Disk;
use crate::storage::{Storage, StorageError};
use captures::Captures;
use contents::Contents;
use intake::{Collector, Intake};
use segment::Files;
use sketching::{Position, Reading};

/// How a sweep is added.
#[derive(Clone, Debug)]
pub struct AddOptions {
    /// How documents are sketched; must be the collection's, if there is one.
    pub recipe: Recipe,
    /// How inputs are read.
    pub reading: ReadOptions,
    /// Whether the texts of documents are kept in the collection.
    pub keep_text: bool,
    /// The date of the sweep, for documents that have none of their own.
    pub date: Option<Timestamp>,
    /// Which pairs are kept.
    pub floor: Floor,
    /// The clustering of a new collection.
    pub policy: Policy,
    /// Threads that parse and sketch.
    pub threads: NonZeroUsize,
    /// Bytes of memory.
    pub memory: u64,
    /// Where what does not fit in memory goes; the collection's own folder for none.
    pub scratch: Option<PathBuf>,
}

impl Default for AddOptions {
    /// The default recipe and policy, one thread, 256 MiB.
    fn default() -> AddOptions {
        AddOptions {
            recipe: Recipe::default(),
            reading: ReadOptions::default(),
            keep_text: false,
            date: None,
            floor: Floor::default(),
            policy: Policy::default(),
            threads: NonZeroUsize::MIN,
            memory: 256 << 20,
            scratch: None,
        }
    }
}

/// The least memory that makes sense: buffers alone need some of it.
pub const LEAST_MEMORY: u64 = 16 << 20;

/// Something that happens while a sweep is added.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A phase begins.
    Phase(Phase),
    /// So many records were read, in so many bytes of so many.
    Read {
        /// Records.
        records: u64,
        /// Bytes of the sources, as they are stored.
        bytes: u64,
        /// All bytes there are; 0 where that is not known.
        of: u64,
    },
    /// A record was skipped or rejected, or an input. Of a try that is gone on with, what
    /// was refused before is in [`Report::rejects`] alone.
    Refused {
        /// Which input.
        input: &'a str,
        /// Where and why.
        refused: &'a Refused,
    },
    /// Work of an earlier try is used.
    Resumed {
        /// Records that need not be sketched again.
        records: u64,
    },
    /// So many of so many pieces of a phase are done.
    Done {
        /// Pieces.
        done: u64,
        /// All there are.
        of: u64,
    },
}

/// The phases, in order.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Phase {
    /// Documents become sketches.
    Sketch,
    /// Copies are set aside.
    Copies,
    /// Postings are sorted, and fingerprints found that documents share.
    Sort,
    /// Pairs are counted.
    Pairs,
    /// Clusters are made.
    Clusters,
}

impl Phase {
    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Sketch => "sketch",
            Phase::Copies => "copies",
            Phase::Sort => "sort",
            Phase::Pairs => "pairs",
            Phase::Clusters => "clusters",
        }
    }
}

/// What adding a sweep came to.
#[derive(Clone, Debug)]
pub struct Report {
    /// What became of what was read, and the sizes of every stage.
    pub counts: Counts,
    /// New documents.
    pub added: u64,
    /// Bytes written to scratch and removed again.
    pub scratch: u64,
    /// The clusterings as they are now.
    pub clusterings: Vec<StoredClustering>,
    /// What was rejected, also before an interruption: one JSON object a line.
    pub rejects: Vec<u8>,
}

/// Why a sweep was not added.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AddError {
    /// The collection cannot be written to.
    #[error(transparent)]
    Collection(#[from] CollectionError),
    /// The collection has another recipe.
    #[error("the collection was made with recipe {0}, which is not {1}")]
    OtherRecipe(RecipeId, RecipeId),
    /// No document came of it: nothing was written.
    #[error("there are no documents in the input")]
    Nothing(Box<Counts>),
    /// Too little memory was allowed.
    #[error("{given} bytes of memory are too few; this takes at least {least}")]
    Memory {
        /// What was allowed.
        given: u64,
        /// What it takes.
        least: u64,
    },
}

impl From<StorageError> for AddError {
    fn from(error: StorageError) -> AddError {
        AddError::Collection(error.into())
    }
}

/// Adds a sweep to the collection in a folder, which is made if it is not there.
pub fn add(
    folder: &Path,
    inputs: &Inputs,
    options: &AddOptions,
    watch: &mut dyn FnMut(Event<'_>),
) -> Result<Report, AddError> {
    if options.memory < LEAST_MEMORY {
        return Err(AddError::Memory {
            given: options.memory,
            least: LEAST_MEMORY,
        });
    }
    let is_new_folder = !folder.exists();
    let io = |error| StorageError::io(".", error);
    std::fs::create_dir_all(folder).map_err(io)?;
    let storage: Arc<dyn Storage> = Arc::new(Disk::new(folder));
    let lock = Lock::acquire(folder)?;
    let added = match &options.scratch {
        None => add_in(folder, &storage, &*storage, inputs, options, watch),
        Some(scratch) => {
            // One for each collection, whatever is added: the next writer finds what a
            // killed one left there. Nothing in it is used again.
            let place = folder.canonicalize().map_err(io)?;
            let name = xxh3_64(place.as_os_str().as_encoded_bytes());
            let own = scratch.join(format!("lookalike-{name:016x}"));
            drop(std::fs::remove_dir_all(&own));
            std::fs::create_dir_all(&own).map_err(io)?;
            let added = add_in(folder, &storage, &Disk::new(&own), inputs, options, watch);
            drop(std::fs::remove_dir_all(own));
            added
        }
    };
    if let (true, Err(AddError::Nothing(_))) = (is_new_folder, &added) {
        drop(lock);
        drop(std::fs::remove_dir_all(folder));
    }
    added
}

/// What was asked for, as one number: the same command again has the same.
fn command(inputs: &Inputs, options: &AddOptions) -> u64 {
    let sources = inputs.sources.iter();
    let sources: Vec<_> = sources
        .map(|source| format!("{} {} {}", source.name, source.len, source.modified))
        .collect();
    let text = format!(
        "{:?} {} {:?} {:?} {}",
        sources, options.recipe, options.reading, options.date, options.keep_text
    );
    xxh3_64(text.as_bytes())
}

/// The same in any storage.
#[expect(
    clippy::too_many_lines,
    reason = "the phases, one after the other, as the module draws them"
)]
pub(crate) fn add_in(
    folder: &Path,
    storage: &Arc<dyn Storage>,
    scratch: &dyn Storage,
    inputs: &Inputs,
    options: &AddOptions,
    watch: &mut dyn FnMut(Event<'_>),
) -> Result<Report, AddError> {
    collect_garbage(&**storage)?;
    let before = match manifest::latest::<State>(&**storage) {
        Ok(manifest) => Some(manifest),
        Err(CollectionError::NotACollection) => None,
        Err(error) => return Err(error.into()),
    };
    let recipe = &options.recipe;
    let mut manifest = match &before {
        Some(before) if before.recipe_id() != recipe.id() => {
            return Err(AddError::OtherRecipe(before.recipe_id(), recipe.id()));
        }
        Some(before) => before.next(before.state.clone()),
        None => Manifest::first(
            recipe,
            State {
                recipe: StoredRecipe::new(recipe),
                sweeps: Vec::new(),
                clusterings: Vec::new(),
                recounted: None,
                exact: None,
                floor: options.floor.reaching(&options.policy),
            },
        ),
    };
    let older = manifest.state.sweeps.iter();
    let older: Result<Vec<Segment>, StorageError> = older
        .map(|sweep| Segment::open(&**storage, &manifest, sweep))
        .collect();
    let older = older?;
    let base = segment::base_after(&older);

    watch(Event::Phase(Phase::Sketch));
    for (input, refused) in &inputs.refused {
        watch(Event::Refused { input, refused });
    }
    let intake = sketch(&**storage, &manifest, inputs, options, watch)?;
    let mut counts = counts_of(&intake, inputs);
    let mut rejects = Vec::new();
    intake.rejects(&**storage, |lines| rejects.extend_from_slice(lines))?;
    if intake.entries == 0 {
        remove_journal(&**storage)?;
        collect_garbage(&**storage)?;
        return Err(AddError::Nothing(Box::new(counts)));
    }

    watch(Event::Phase(Phase::Copies));
    let files = Files {
        storage: &**storage,
        manifest: &manifest,
    };
    let verdicts = names::judge_names(
        &**storage,
        &intake,
        &older,
        options.keep_text,
        options.memory / 4,
    )?;
    let bodies = intake.chunks.iter().map(|chunk| chunk.bodies.file_len);
    let expected = bodies.sum::<u64>() / 8;
    let mut partitions = Partitions::new(scratch, options.memory / 2, expected);
    let written = segment::write_documents(
        &files,
        &intake,
        &verdicts,
        &older,
        recipe.sketch,
        &mut partitions,
        Captures::new(scratch, options.memory / 8),
    )?;
    let mut texts = Vec::new();
    if options.keep_text && written.documents > 0 {
        let written = texts::write_texts(&files, &intake, &verdicts, base, options.threads)?;
        texts.extend(written);
    }
    drop(verdicts);
    take_over(&mut counts, &written.counts);
    if written.documents == 0 && counts.again == 0 {
        remove_journal(&**storage)?;
        collect_garbage(&**storage)?;
        return Err(AddError::Nothing(Box::new(counts)));
    }
    let documents = &written.files[0];
    let mut new_files = segment::write_lookups(&files, documents, base, options.memory / 4)?;
    counts.versions = segment::versions(&files, &new_files[1], &older)?;
    new_files.push(segment::write_sources(&files, &inputs.sources, folder)?);
    new_files.extend(written.files);
    let keeps_text = !texts.is_empty();
    new_files.extend(texts);

    watch(Event::Phase(Phase::Sort));
    let older_postings = match written.counts.distinct {
        0 => Vec::new(),
        _ => older_postings(&**storage, &manifest)?,
    };
    let sortable = partitions.finish()?;
    let mut groups = Groups::new(scratch, base, options.memory / 6);
    let postings = PostingsWriter::new(files.create("postings", FileKind::Fingerprints)?);
    let (postings, fences) = sort(&sortable, postings, &mut groups, &older_postings, options)?;
    sortable.remove()?;
    let mut fence_file = files.create("fences", FileKind::Lookup)?;
    fence_file.append(&fences)?;
    new_files.push(postings);
    new_files.push(fence_file.finish()?);
    counts.groups = groups.sizes.groups;
    counts.memberships = groups.sizes.memberships;
    let mut scratch_len = sortable.spilled_len;
    drop(sortable);

    watch(Event::Phase(Phase::Pairs));
    let mut pairs = files.create("pairs", FileKind::Pairs)?;
    for file in new_files {
        manifest.add_file(file);
    }
    let generation = manifest.generation();
    manifest.state.sweeps.push(Sweep {
        generation,
        base,
        documents: written.documents,
        date: options.date.map(|date| date.0),
        reading: StoredReading::new(&options.reading),
        mimes: written.mimes,
        keeps_text,
        counts: Counts::default(),
    });
    // Of sketches that nobody has anything in common with, none is read.
    let sketches = match groups.sizes.groups {
        0 => None,
        _ => Some(sketches_of(folder, storage, &manifest, options)?),
    };
    let mut counted = Counted::default();
    if let Some(sketches) = &sketches {
        let judging = Judging::new(sketches, recipe.sketch, manifest.state.floor);
        counted = count(scratch, &mut groups, &judging, options.threads, |pair| {
            pairs.append_record(*pair)
        })?;
    }
    groups.remove()?;
    drop(groups);
    manifest.add_file(pairs.finish()?);
    counts.pairs = counted.pairs;
    counts.pairs_set_aside = counted.set_aside;
    counts.common = counted.common;
    counts.common_from = if counted.common > 0 {
        counted.cap as u64 + 1
    } else {
        0
    };
    scratch_len += counted.scratch;
    if let Some(sweep) = manifest.state.sweeps.last_mut() {
        sweep.counts = counts.clone();
    }

    watch(Event::Phase(Phase::Clusters));
    // Without a new document the clusters are what they were.
    if written.documents > 0 {
        cluster_anew(folder, storage, &mut manifest, sketches, options)?;
    }
    commit(&**storage, &manifest)?;
    Ok(Report {
        counts,
        added: u64::from(written.documents),
        scratch: scratch_len,
        clusterings: manifest.state.clusterings,
        rejects,
    })
}

/// The sketches of all documents, those of a sweep being added too, ready to be judged by.
fn sketches_of(
    folder: &Path,
    storage: &Arc<dyn Storage>,
    manifest: &Manifest<State>,
    options: &AddOptions,
) -> Result<Sketches, StorageError> {
    let collection = Collection::open_as(folder, Arc::clone(storage), manifest.clone())?;
    let mut sketches = collection.sketches()?;
    sketches.load_if_small(options.memory / 2)?;
    if matches!(options.recipe.sketch, SketchKind::Nested { .. }) {
        sketches.count_levels()?;
    }
    Ok(sketches)
}

/// Makes every clustering that the collection has again, or its first.
fn cluster_anew(
    folder: &Path,
    storage: &Arc<dyn Storage>,
    manifest: &mut Manifest<State>,
    sketches: Option<Sketches>,
    options: &AddOptions,
) -> Result<(), StorageError> {
    let clusterings = manifest.state.clusterings.iter();
    let mut policies: Vec<Policy> = clusterings.map(|one| one.policy).collect();
    if policies.is_empty() {
        policies.push(options.policy);
    }
    let collection = Collection::open_as(folder, Arc::clone(storage), manifest.clone())?;
    let sketches = if let Some(sketches) = sketches {
        sketches
    } else {
        let mut sketches = collection.sketches()?;
        sketches.load_if_small(options.memory / 2)?;
        sketches
    };
    cluster_all(
        &collection,
        manifest,
        &options.recipe,
        &policies,
        Kept::None,
        &sketches,
        &ClusterOptions {
            threads: options.threads,
            memory: options.memory,
        },
    )
}

fn sketch(
    storage: &dyn Storage,
    manifest: &Manifest<State>,
    inputs: &Inputs,
    options: &AddOptions,
    watch: &mut dyn FnMut(Event<'_>),
) -> Result<Intake, StorageError> {
    let command = command(inputs, options);
    let generation = manifest.generation();
    let intake = if let Some(known) = known_intake(storage, generation, inputs, command)? {
        watch(Event::Resumed {
            records: known.tally.read,
        });
        known
    } else {
        remove_journal(storage)?;
        Intake {
            command,
            ..Intake::default()
        }
    };
    if intake.is_complete {
        return Ok(intake);
    }
    let contents = Contents::open(storage, manifest, options.memory / 2)?;
    let reading = Reading {
        sources: &inputs.sources,
        options: &options.reading,
        recipe: &options.recipe,
        contents: &contents,
        threads: options.threads,
        in_flight: (options.memory / 4).min(options.threads.get() as u64 * IN_FLIGHT),
        keeps_text: options.keep_text,
    };
    let of: u64 = inputs.sources.iter().map(|source| source.len).sum();
    let mut behind: u64 = inputs.sources[..intake.position.source.min(inputs.sources.len())]
        .iter()
        .map(|source| source.len)
        .sum();
    let from: Position = intake.position;
    let mut current = from.source;
    let mut collector = Collector::new(
        storage,
        manifest.collection(),
        generation,
        &inputs.sources,
        intake,
    );
    sketching::sketch_all(&reading, from, |position, source, sketched| {
        for refused in &sketched.refused {
            watch(Event::Refused {
                input: &inputs.sources[source].name,
                refused,
            });
        }
        collector.take(position, source, &sketched)?;
        if source != current {
            behind += inputs.sources[current].len;
            current = source;
        }
        watch(Event::Read {
            records: collector.intake.tally.read,
            bytes: behind + sketched.position.min(inputs.sources[source].len),
            of,
        });
        Ok(())
    })?;
    collector.finish()
}

/// What an earlier try of the same command left behind.
fn known_intake(
    storage: &dyn Storage,
    generation: u64,
    inputs: &Inputs,
    command: u64,
) -> Result<Option<Intake>, StorageError> {
    // What comes through a pipe the second time may be anything.
    let is_repeatable = |source: &Source| source.kind != SourceKind::Stdin;
    if !inputs.sources.iter().all(is_repeatable) {
        return Ok(None);
    }
    let known = load_journal::<Intake>(storage, generation).and_then(|journal| {
        let known = journal.map(|journal| journal.state);
        let known = known.filter(|known| known.command == command);
        if let Some(known) = &known {
            known.verify(storage)?;
        }
        Ok(known)
    });
    match known {
        // Damage means starting over, nothing worse.
        Err(error) if error.is_damage() => Ok(None),
        other => other,
    }
}

fn counts_of(intake: &Intake, inputs: &Inputs) -> Counts {
    let mut tally = intake.tally.clone();
    for (_, refused) in &inputs.refused {
        tally.refuse(refused);
    }
    Counts {
        read: tally.read,
        skipped: tally.skipped,
        rejected: tally.rejected,
        short: tally.short,
        repaired: tally.repaired,
        dates_unreadable: tally.dates_unreadable,
        bytes: tally.bytes,
        tokens: tally.tokens,
        ..Counts::default()
    }
}

fn take_over(counts: &mut Counts, written: &Counts) {
    for (reason, count) in &written.skipped {
        *counts.skipped.entry(reason.clone()).or_insert(0) += count;
    }
    if written.again > 0 {
        *counts.skipped.entry("same again".to_owned()).or_insert(0) += written.again;
    }
    counts.again = written.again;
    counts.identical = written.identical;
    counts.lexical = written.lexical;
    counts.shingle = written.shingle;
    counts.distinct = written.distinct;
    counts.postings = written.postings;
}

fn older_postings(
    storage: &dyn Storage,
    manifest: &Manifest<State>,
) -> Result<Vec<Postings>, StorageError> {
    let open = |sweep: &Sweep| {
        let file = |what| manifest.file(&file_name(what, sweep.generation));
        Postings::open(storage, file("postings")?, file("fences")?)
    };
    manifest.state.sweeps.iter().map(open).collect()
}

/// Postings that one thread sorts in a few milliseconds.
const FEW: u64 = 1 << 16;

fn sort(
    sortable: &Sortable<'_>,
    mut postings: PostingsWriter,
    groups: &mut Groups<'_>,
    older: &[Postings],
    options: &AddOptions,
) -> Result<(crate::blocks::FileEntry, Vec<u8>), StorageError> {
    let mut older: Vec<_> = older.iter().map(Postings::by_bucket).collect();
    // Waking threads for so little takes longer than the work.
    let threads = match sortable.len() {
        0..FEW => NonZeroUsize::MIN,
        _ => options.threads,
    };
    parallel::in_order(
        threads,
        PARTITIONS,
        || (),
        |(), partition| sortable.sort(partition),
        |partition, sorted| {
            postings.partition(&sorted)?;
            groups.partition(partition, &sorted, &mut older)
        },
    )?;
    postings.finish()
}

/// Bytes on their way to a thread: enough that it never waits, few enough that they are
/// still in the processor's cache when it comes to them.
const IN_FLIGHT: u64 = 8 << 20;

/// What becomes of the clusterings that a collection has when others are made.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Kept {
    /// They are replaced.
    None,
    /// Those of other policies stay.
    Others,
}

/// Makes clusterings and puts them into a manifest.
pub(crate) fn cluster_all(
    collection: &Collection,
    manifest: &mut Manifest<State>,
    recipe: &Recipe,
    policies: &[Policy],
    kept: Kept,
    sketches: &Sketches,
    options: &ClusterOptions,
) -> Result<(), StorageError> {
    let storage = &**collection.storage();
    let generation = manifest.generation();
    let mut made = Vec::new();
    let mut exact = Vec::new();
    for (part, policy) in policies.iter().enumerate() {
        let part = u32::try_from(part).unwrap_or(u32::MAX);
        let create = |(what, kind): (&str, FileKind)| {
            let name = format!("{what}-{generation}-{part}.lk");
            BlockWriter::create(storage, &name, kind, manifest.file_id(&name))
        };
        let [members, roster, quality] = PARTS.map(create);
        let writers = Writers {
            members: members?,
            roster: roster?,
            quality: quality?,
        };
        let one = clusters::cluster(collection, sketches, recipe, policy, options, writers)?;
        exact.extend(one.exact);
        let stored = StoredClustering {
            policy: *policy,
            generation,
            part,
            summary: one.summary,
        };
        made.push((stored, [one.members, one.roster, one.quality]));
    }
    exact.sort_unstable_by_key(|pair| (pair.a, pair.b));
    exact.dedup();
    let name = file_name("exact", generation);
    let id = manifest.file_id(&name);
    let mut file = BlockWriter::create(storage, &name, FileKind::Pairs, id)?;
    file.append_records(&exact)?;
    let file = file.finish()?;
    // One of the same policy keeps its place: the first is what is shown unasked.
    let mut all = std::mem::take(&mut manifest.state.clusterings);
    if kept == Kept::None {
        all.clear();
    }
    let mut new_files = vec![file];
    for (stored, files) in made {
        new_files.extend(files);
        match all.iter_mut().find(|one| one.policy == stored.policy) {
            Some(one) => *one = stored,
            None => all.push(stored),
        }
    }
    let is_used = |name: &str| {
        all.iter().any(|one| {
            let names = PARTS.map(|(what, _)| format!("{what}-{}-{}.lk", one.generation, one.part));
            names.iter().any(|used| used == name)
        })
    };
    manifest.retain_files(|file| {
        let what = file.name.split('-').next().unwrap_or("");
        match what {
            "members" | "roster" | "quality" => is_used(&file.name),
            "exact" => false,
            _ => true,
        }
    });
    for file in new_files {
        manifest.add_file(file);
    }
    manifest.state.clusterings = all;
    manifest.state.exact = Some(generation);
    Ok(())
}
