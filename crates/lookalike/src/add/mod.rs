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

pub mod redraw;

pub(crate) mod again;
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
mod redraw_tests;

#[cfg(test)]
mod weighted_tests;

#[cfg(test)]
mod same_tests;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lookalike_core::recipe::{Recipe, RecipeId, SketchKind};
use xxhash_rust::xxh3::xxh3_64;

use crate::blocks::{BlockWriter, FileEntry, FileKind};
use crate::clusters::policy::Policy;
use crate::clusters::{self, ClusterOptions, Means, PARTS, Writers};
use crate::collection::journal::{load_journal, remove_journal};
use crate::collection::lock::Lock;
use crate::collection::manifest::{Manifest, begin, collect_garbage, commit, pack};
use crate::collection::segment::Segment;
use crate::collection::sketches::Sketches;
use crate::collection::state::{
    Counts, State, StoredClustering, StoredReading, StoredRecipe, Sweep,
};
use crate::collection::{Collection, CollectionError, file_name, postings_of, sketches_of};
use crate::corpus::inputs::{Inputs, Source};
use crate::corpus::options::ReadOptions;
use crate::corpus::record::{Refused, Timestamp};
use crate::pairs::count::{Counted, count};
use crate::pairs::groups::Groups;
use crate::pairs::judge::{Floor, Judging};
use crate::pairs::postings::{OlderPostings, PARTITIONS, Partitions, PostingsWriter, Sortable};
use crate::parallel;
use crate::storage::disk::Disk;
use crate::storage::held::Held;
use crate::storage::{Stop, Storage, StorageError, go_on, in_folder};
use again::Digests;
use captures::Captures;
use contents::Contents;
use intake::{Collector, Intake, Taken};
use segment::{Files, LOOKUPS};
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
    /// By which another thread ends the work.
    pub stop: Stop,
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
            stop: Stop::default(),
        }
    }
}

/// The least memory that makes sense: buffers alone need some of it.
pub const LEAST_MEMORY: u64 = 16 << 20;

/// A quarter of the machine's memory: what may be used where nobody says how much.
pub fn quarter_of_the_machine() -> u64 {
    let facts = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let total = facts
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"));
    let kilobytes = total.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse().ok());
    let quarter: u64 = kilobytes.unwrap_or(4_u64 << 20) * 1024 / 4;
    quarter.max(LEAST_MEMORY)
}

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
    /// Everything is made, and will be there next. This is the last moment to
    /// [stop](AddOptions::stop): then nothing is added.
    Ready(&'a Counts),
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
    /// A policy asks for what the recipe's sketches do not tell.
    #[error("sketches of `{0}` tell nothing of containment")]
    NoContainment(SketchKind),
    /// Numbers of documents have 32 bits.
    #[error("{0} records are more than a collection holds, which is {MOST_RECORDS}")]
    TooMany(u64),
    /// What is made in one go cannot be added to what is there.
    #[error("there is a collection already; this makes a new one")]
    NotNew,
    /// Somebody wanted it to end: nothing was written.
    #[error("the work was stopped")]
    Stopped,
    /// Too little memory was allowed.
    #[error("{given} bytes of memory are too few; this takes at least {least}")]
    Memory {
        /// What was allowed.
        given: u64,
        /// What it takes.
        least: u64,
    },
}

/// As many documents and records of a sweep as have a number: the last two stand for none.
const MOST_RECORDS: u64 = u32::MAX as u64 - 1;

/// So many new records on top of so many documents must have numbers.
pub(crate) fn check_numbers(documents: u32, records: u64) -> Result<(), AddError> {
    let all = u64::from(documents) + records;
    if all > MOST_RECORDS {
        return Err(AddError::TooMany(all));
    }
    Ok(())
}

impl AddError {
    /// What ended the work, if it was not the wish that it ends.
    pub(crate) fn or_stopped(self, stop: &Stop) -> AddError {
        match self {
            AddError::Collection(_) if stop.is_stopped() => AddError::Stopped,
            other => other,
        }
    }
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
    check_policy(&options.recipe, &options.policy)?;
    let is_new_folder = !folder.exists();
    let io = |error| StorageError::io(".", error);
    std::fs::create_dir_all(folder).map_err(io)?;
    let storage: Arc<dyn Storage> = Arc::new(Disk::new(folder).stopped_by(&options.stop));
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
            std::fs::create_dir_all(&own).map_err(|error| io(in_folder(&own, error)))?;
            let added = add_in(
                folder,
                &storage,
                &Disk::new(&own).stopped_by(&options.stop),
                inputs,
                options,
                watch,
            );
            drop(std::fs::remove_dir_all(own));
            added
        }
    };
    let added = added.map_err(|error| error.or_stopped(&options.stop));
    // What was in memory comes no second time, so there is nothing to go on with.
    let is_over = |error: &AddError| match error {
        AddError::Nothing(_) => true,
        AddError::Stopped => inputs.sources.iter().any(|source| source.held.is_some()),
        _ => false,
    };
    if is_new_folder && added.as_ref().is_err_and(is_over) {
        drop(lock);
        drop(std::fs::remove_dir_all(folder));
    }
    added
}

/// Whether the sketches of a recipe can tell what a policy asks for.
pub(crate) fn check_policy(recipe: &Recipe, policy: &Policy) -> Result<(), AddError> {
    if policy.containment.is_some() && !recipe.sketch.tells_containment() {
        return Err(AddError::NoContainment(recipe.sketch));
    }
    Ok(())
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

/// Bytes in memory of what a sweep comes to on the way: a small one needs no file for it, and
/// for a large one a file more is nothing.
const HELD: u64 = 2 << 20;

/// The same where so much memory may be used.
pub(crate) fn held_room(memory: u64) -> u64 {
    HELD.min(memory / 16)
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
    let held = Held::new(Arc::clone(storage), held_room(options.memory));
    let storage: &Arc<dyn Storage> = &(Arc::new(held.clone()) as Arc<dyn Storage>);
    let before = begin::<State>(&**storage)?;
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
    let (intake, digests) = sketch(&**storage, &manifest, &older, inputs, options, watch)?;
    let mut counts = counts_of(&intake, inputs);
    let mut rejects = Vec::new();
    intake.rejects(&**storage, |lines| rejects.extend_from_slice(lines))?;
    if intake.entries == 0 {
        remove_journal(&**storage)?;
        collect_garbage(&**storage)?;
        return Err(AddError::Nothing(Box::new(counts)));
    }
    check_numbers(base, intake.entries)?;

    watch(Event::Phase(Phase::Copies));
    let files = Files {
        storage: &**storage,
        manifest: &manifest,
        redrawn: None,
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
    let mut new_files =
        segment::write_lookups(&files, &LOOKUPS, documents, base, options.memory / 4)?;
    counts.versions = segment::versions(&files, &new_files[1], &older)?;
    let digests = digests.unwrap_or_else(|| again::digests(&inputs.sources, intake.entries));
    new_files.push(segment::write_sources(
        &files,
        &inputs.sources,
        digests,
        folder,
    )?);
    new_files.extend(written.files);
    let keeps_text = !texts.is_empty();
    new_files.extend(texts);

    let sweep = Sweep {
        generation: manifest.generation(),
        base,
        documents: written.documents,
        blanks: written.blanks,
        date: options.date.map(|date| date.0),
        reading: StoredReading::new(&options.reading),
        mimes: written.mimes,
        keeps_text,
        redrawn: None,
        counts,
    };
    let work = Work {
        storage,
        scratch,
        options,
    };
    let counted = work.sort_and_count(&mut manifest, partitions, sweep, new_files, watch)?;

    watch(Event::Phase(Phase::Clusters));
    // Without a new document the clusters are what they were.
    if written.documents > 0 {
        cluster_anew(
            folder,
            storage,
            &mut manifest,
            counted.sketches,
            &inputs.sources,
            options,
        )?;
    }
    watch(Event::Ready(&counted.counts));
    go_on(&**storage)?;
    pack(&held, &mut manifest)?;
    commit(&**storage, &manifest)?;
    Ok(Report {
        counts: counted.counts,
        added: u64::from(written.documents),
        scratch: counted.scratch,
        clusterings: manifest.state.clusterings,
        rejects,
    })
}

/// What the last phases of a sweep work with.
pub(crate) struct Work<'a> {
    pub(crate) storage: &'a Arc<dyn Storage>,
    pub(crate) scratch: &'a dyn Storage,
    pub(crate) options: &'a AddOptions,
}

/// What became of a sweep that was sorted and counted.
pub(crate) struct SortedAndCounted {
    /// Of all documents, if they were needed.
    pub(crate) sketches: Option<Sketches>,
    pub(crate) counts: Counts,
    /// Bytes written to scratch.
    pub(crate) scratch: u64,
}

impl Work<'_> {
    /// Sorts the postings of a sweep, whose other files are written, and counts its pairs.
    /// It is then the last sweep of the manifest.
    pub(crate) fn sort_and_count(
        &self,
        manifest: &mut Manifest<State>,
        partitions: Partitions<'_>,
        mut sweep: Sweep,
        new_files: Vec<FileEntry>,
        watch: &mut dyn FnMut(Event<'_>),
    ) -> Result<SortedAndCounted, StorageError> {
        let Work {
            storage,
            scratch,
            options,
        } = *self;
        let mut counts = std::mem::take(&mut sweep.counts);
        watch(Event::Phase(Phase::Sort));
        let mut older_postings = match counts.distinct {
            0 => Vec::new(),
            _ => postings_of(&**storage, manifest, OlderPostings::open)?,
        };
        let files = Files {
            storage: &**storage,
            manifest,
            redrawn: sweep.redrawn,
        };
        let sortable = partitions.finish()?;
        let mut groups = Groups::new(scratch, sweep.base, options.memory / 6);
        let postings = PostingsWriter::new(files.create("postings", FileKind::Fingerprints)?);
        let (postings, fences) = sort(
            &**storage,
            &sortable,
            postings,
            &mut groups,
            &mut older_postings,
            options,
        )?;
        sortable.remove()?;
        let mut fence_file = files.create("fences", FileKind::Lookup)?;
        fence_file.append(&fences)?;
        let fence_file = fence_file.finish()?;
        counts.groups = groups.sizes.groups;
        counts.memberships = groups.sizes.memberships;
        let mut scratch_len = sortable.spilled_len;
        drop(sortable);

        watch(Event::Phase(Phase::Pairs));
        let mut pairs = files.create("pairs", FileKind::Pairs)?;
        for file in new_files.into_iter().chain([postings, fence_file]) {
            manifest.add_file(file);
        }
        manifest.state.sweeps.push(sweep);
        // Of sketches that nobody has anything in common with, none is read.
        let sketches = match groups.sizes.groups {
            0 => None,
            _ => Some(sketches_to_judge(&**storage, manifest, options)?),
        };
        let mut counted = Counted::default();
        if let Some(sketches) = &sketches {
            let judging = Judging::new(sketches, options.recipe.sketch, manifest.state.floor);
            counted = count(scratch, &mut groups, &judging, options.threads, |pair| {
                go_on(&**storage)?;
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
        Ok(SortedAndCounted {
            sketches,
            counts,
            scratch: scratch_len,
        })
    }
}

/// A sweep of fewer than one in so many documents asks for few of all sketches. Added to
/// 128,055 documents, 100 have their pairs counted in 6 ms in place of 87; a third as many
/// as there are take as long either way.
const FEW_OF: u64 = 8;

/// The sketches of all documents, those of a sweep being added too, ready to be judged by.
fn sketches_to_judge(
    storage: &dyn Storage,
    manifest: &Manifest<State>,
    options: &AddOptions,
) -> Result<Sketches, StorageError> {
    let mut sketches = sketches_of(storage, manifest)?;
    let new = manifest
        .state
        .sweeps
        .last()
        .map_or(0, |sweep| sweep.documents);
    if u64::from(new) * FEW_OF < u64::from(sketches.documents()) {
        sketches.map_if_small(storage, options.memory / 2)?;
    } else {
        sketches.load_if_small(options.memory / 2)?;
    }
    if matches!(options.recipe.sketch, SketchKind::Nested { .. }) {
        sketches.count_levels()?;
    }
    Ok(sketches)
}

/// Makes every clustering that the collection has again, or its first.
pub(crate) fn cluster_anew(
    folder: &Path,
    storage: &Arc<dyn Storage>,
    manifest: &mut Manifest<State>,
    sketches: Option<Sketches>,
    sources: &[Source],
    options: &AddOptions,
) -> Result<(), StorageError> {
    let clusterings = manifest.state.clusterings.iter();
    let mut policies: Vec<Policy> = clusterings.map(|one| one.policy).collect();
    if policies.is_empty() {
        policies.push(options.policy);
    }
    let collection = Collection::open_as(folder, Arc::clone(storage), manifest.clone())?;
    let collection = collection.holding(sources);
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
        Means::here(&ClusterOptions {
            threads: options.threads,
            memory: options.memory,
        }),
    )
}

/// Sketches the inputs; also gives the digests of the sources where they are known.
fn sketch(
    storage: &dyn Storage,
    manifest: &Manifest<State>,
    older: &[Segment],
    inputs: &Inputs,
    options: &AddOptions,
    watch: &mut dyn FnMut(Event<'_>),
) -> Result<(Intake, Option<Digests>), StorageError> {
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
        return Ok((intake, None));
    }
    let of: u64 = inputs.sources.iter().map(|source| source.len).sum();
    if intake.chunks.is_empty()
        && let Some(last) = again::last_sweep(older, manifest, inputs, options)?
    {
        let (sources, collection) = (&inputs.sources, manifest.collection());
        let mut collector = Collector::new(storage, collection, generation, sources, intake);
        collector.append(&Taken {
            position: Position {
                source: sources.len(),
                batch: 0,
            },
            entries: &last.entries,
            bodies: &last.bodies,
            texts: &[],
            tally: &last.tally,
            rejects: &[],
        })?;
        watch(Event::Read {
            records: last.tally.read,
            bytes: of,
            of,
        });
        return Ok((collector.finish()?, Some(last.digests)));
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
        go_on(storage)?;
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
    Ok((collector.finish()?, None))
}

/// What an earlier try of the same command left behind.
fn known_intake(
    storage: &dyn Storage,
    generation: u64,
    inputs: &Inputs,
    command: u64,
) -> Result<Option<Intake>, StorageError> {
    // What comes through a pipe, or is in memory, the second time may be anything.
    let is_repeatable = |source: &Source| source.kind.is_file();
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

pub(crate) fn counts_of(intake: &Intake, inputs: &Inputs) -> Counts {
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

pub(crate) fn take_over(counts: &mut Counts, written: &Counts) {
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

/// Postings that one thread sorts in a few hundredths of a second. A partition of so few is
/// done before another thread has woken up for it.
const FEW: u64 = 1 << 20;

pub(crate) fn sort(
    storage: &dyn Storage,
    sortable: &Sortable<'_>,
    mut postings: PostingsWriter,
    groups: &mut Groups<'_>,
    older: &mut [OlderPostings],
    options: &AddOptions,
) -> Result<(FileEntry, Vec<u8>), StorageError> {
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
            go_on(storage)?;
            postings.partition(&sorted)?;
            groups.partition(partition, &sorted, older)
        },
    )?;
    postings.finish()
}

/// Bytes on their way to a thread: enough that it never waits, few enough that they are
/// still in the processor's cache when it comes to them.
pub(crate) const IN_FLIGHT: u64 = 8 << 20;

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
    means: Means<'_>,
) -> Result<(), StorageError> {
    let storage = &**collection.storage();
    let generation = manifest.generation();
    let mut made = Vec::new();
    let mut exact = Vec::new();
    for (part, policy) in policies.iter().enumerate() {
        let part = u32::try_from(part).unwrap_or(u32::MAX);
        let create = |(what, kind): (&str, FileKind)| {
            let name = format!("{what}-{generation}-{part}.lk");
            BlockWriter::create_small(storage, &name, kind, manifest.file_id(&name))
        };
        let [members, roster, quality] = PARTS.map(create);
        let writers = Writers {
            members: members?,
            roster: roster?,
            quality: quality?,
        };
        let one = clusters::cluster(collection, sketches, recipe, policy, means, writers)?;
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
    let mut file = BlockWriter::create_small(storage, &name, FileKind::Pairs, id)?;
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
