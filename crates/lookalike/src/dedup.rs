//! One of each group: inputs in, copies of them without the duplicates out.
//!
//! ```text
//! inputs ─► add: a collection of their own ─► clusters ─► who stays ─► copies of inputs
//!           against another: on top of it                             or marks, or lists
//! ```
//!
//! The collection is made in a folder for the work and removed with it. A collection to
//! hold against is not copied: its files are never changed, so links to them do, and the
//! inputs become one more sweep of what is seen through the links.
//!
//! Time: that of [`add`](crate::add), and the inputs are read once more. Memory: that of
//! `add`, then 4 bytes a document and 40 a cluster, and 24 a record of one input.

mod copies;

mod decide;

mod work;

use std::io;
use std::path::{Path, PathBuf};

use crate::add::{AddError, AddOptions, Event, Report, add};
use crate::clusters::{ClusterOptions, recluster_holding};
use crate::collection::state::{Counts, RecipeFault, StoredClustering};
use crate::collection::{Collection, CollectionError};
use crate::corpus::inputs::{Inputs, SourceKind};
use crate::corpus::read::SourceError;
use crate::corpus::unusable::shown;
use crate::passing::add_passing;
use crate::shards::{Existing, Mark, ShardError, ShardKind};
use crate::storage::StorageError;

pub use work::work_folder;

/// Which document of a cluster stays.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Keep {
    /// The first of the inputs.
    #[default]
    First,
    /// The one with the most tokens; of several the first.
    Longest,
    /// The one with the latest date; of several the first.
    Newest,
}

/// What is written.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Form {
    /// Copies of the inputs with only what stays.
    #[default]
    Filtered,
    /// Copies of the inputs with marks on every document.
    Annotated,
    /// Lists of what goes, as datatrove reads them: `000000.remove` for the first input.
    RemoveLists,
}

/// How duplicates are removed.
#[derive(Clone, Debug)]
pub struct DedupOptions {
    /// How the inputs are read, sketched and clustered.
    pub add: AddOptions,
    /// Which document of a cluster stays.
    pub keep: Keep,
    /// What is written.
    pub form: Form,
    /// What to do with files that are there already.
    pub existing: Existing,
    /// A collection: what it has goes from the inputs.
    pub against: Option<PathBuf>,
}

/// Where the copy of each input goes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Outputs {
    /// One for each source.
    paths: Vec<PathBuf>,
    /// Where lists go.
    folder: PathBuf,
}

/// A document, by the names that a user knows.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Named {
    /// Its number in the collection made for this, or in the one held against.
    pub doc: u32,
    /// Its id.
    pub id: Option<String>,
    /// Its URL.
    pub url: Option<String>,
    /// The file it was read from.
    pub file: String,
    /// Where in it.
    pub offset: u64,
}

/// A record that goes, and the document that stays in its place.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Removed {
    /// What goes.
    pub record: Named,
    /// What stays.
    pub because: Named,
}

/// What removing duplicates came to.
///
/// `read` is `kept`, `removed`, `skipped` and `rejected` together.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Deduped {
    /// Records read.
    pub read: u64,
    /// Documents that stay.
    pub kept: u64,
    /// Documents that go, and further captures of one and the same.
    pub removed: u64,
    /// Records with nothing in them to compare, by reason.
    pub skipped: std::collections::BTreeMap<String, u64>,
    /// Records that were rejected, by reason.
    pub rejected: std::collections::BTreeMap<String, u64>,
    /// The rejected records as lines of JSON, those of an interrupted try too. Inputs that
    /// could not be read at all are in [`Inputs::refused`].
    pub rejects: Vec<u8>,
    /// Clusters of two and more documents, those of the other collection too.
    pub clusters: u64,
    /// The policy, in words.
    pub policy: String,
    /// Pairs too near the threshold to tell that were decided by estimate all the same.
    pub by_estimate: u64,
    /// Whether the newest were asked for, and no document has a date: the first stayed.
    pub is_undated: bool,
}

/// Why duplicates were not removed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DedupError {
    /// The inputs could not be sketched or clustered.
    #[error(transparent)]
    Add(#[from] AddError),
    /// The collection to hold against needs another key.
    #[error(transparent)]
    Recipe(#[from] RecipeFault),
    /// Two inputs would become one file.
    #[error("`{}` and `{}` would both become `{}`", shown(.0), shown(.1), shown(.2))]
    SameName(PathBuf, PathBuf, PathBuf),
    /// An output is an input.
    #[error("`{}` is an input and would be overwritten", shown(.0))]
    IsInput(PathBuf),
    /// There is such a file already.
    #[error("`{}` is there already", shown(.0))]
    Exists(PathBuf),
    /// No copy can be made of such an input.
    #[error("no {what} can be made of `{}`: it is {why}", shown(.input))]
    Kind {
        /// Which input.
        input: PathBuf,
        /// What was asked for.
        what: &'static str,
        /// What it is.
        why: &'static str,
    },
    /// An input is not what it was when it was read first.
    #[error("`{}` changed while it was read", shown(.0))]
    Changed(PathBuf),
    /// An input could not be copied.
    #[error(transparent)]
    Shard(#[from] ShardError),
    /// An input could not be read again.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// A file could not be written.
    #[error("cannot write `{}`", shown(.0))]
    Write(PathBuf, #[source] io::Error),
}

impl From<StorageError> for DedupError {
    fn from(error: StorageError) -> DedupError {
        DedupError::Add(error.into())
    }
}

impl From<CollectionError> for DedupError {
    fn from(error: CollectionError) -> DedupError {
        DedupError::Add(error.into())
    }
}

impl Outputs {
    /// Names below a folder: those of the files, and of files in folders that were named
    /// their paths from there. With one input that is a file, `out` may be a file too: if
    /// it is no folder and its name has an ending.
    pub fn plan(inputs: &Inputs, arguments: &[PathBuf], out: &Path) -> Outputs {
        let folders: Vec<&PathBuf> = arguments.iter().filter(|path| path.is_dir()).collect();
        let ends_in_slash = out.as_os_str().as_encoded_bytes().ends_with(b"/");
        if inputs.sources.len() == 1
            && folders.is_empty()
            && !ends_in_slash
            && !out.is_dir()
            && out.extension().is_some()
        {
            return Outputs {
                paths: vec![out.to_owned()],
                folder: out.to_owned(),
            };
        }
        let name = |path: &Path| {
            let inside = folders
                .iter()
                .find_map(|folder| path.strip_prefix(folder).ok());
            let inside = inside.filter(|inside| !inside.as_os_str().is_empty());
            let inside = inside.map(Path::to_owned);
            inside.unwrap_or_else(|| PathBuf::from(path.file_name().unwrap_or_default()))
        };
        let sources = inputs.sources.iter();
        Outputs {
            paths: sources.map(|source| out.join(name(&source.path))).collect(),
            folder: out.to_owned(),
        }
    }

    /// Says what stands in the way, before hours of work.
    fn check(&self, inputs: &Inputs, options: &DedupOptions) -> Result<(), DedupError> {
        let mut seen = std::collections::BTreeMap::new();
        for (number, (source, path)) in inputs.sources.iter().zip(&self.paths).enumerate() {
            shard_kind(&source.path, source.kind, options.form)?;
            if options.form == Form::RemoveLists {
                let list = self.list_path(number);
                if options.existing == Existing::Refuse && list.exists() {
                    return Err(DedupError::Exists(list));
                }
                continue;
            }
            if let Some(other) = seen.insert(path, &source.path) {
                let (other, own) = (other.clone(), source.path.clone());
                return Err(DedupError::SameName(other, own, path.clone()));
            }
            let Ok(there) = path.canonicalize() else {
                continue;
            };
            let mut sources = inputs.sources.iter();
            if sources.any(|one| one.path.canonicalize().is_ok_and(|one| one == there)) {
                return Err(DedupError::IsInput(path.clone()));
            }
            if options.existing == Existing::Refuse {
                return Err(DedupError::Exists(path.clone()));
            }
        }
        Ok(())
    }
}

/// How a source is copied: as a shard, or whole or not at all.
fn shard_kind(path: &Path, kind: SourceKind, form: Form) -> Result<Option<ShardKind>, DedupError> {
    let what = match form {
        Form::Filtered => "filtered copy",
        Form::Annotated => "annotated copy",
        Form::RemoveLists => "list",
    };
    let no = |why| {
        let input = path.to_owned();
        Err(DedupError::Kind { input, what, why })
    };
    match kind {
        SourceKind::Stdin => no("standard input, which cannot be read twice"),
        SourceKind::Memory => no("a table in memory"),
        SourceKind::Wacz => no("a WACZ file; unpack it, and give the WARC files in it"),
        SourceKind::Warc if form == Form::Annotated => no("a WARC file, which has no fields"),
        SourceKind::Document | SourceKind::PackedDocument if form == Form::Annotated => {
            no("one document, which has no fields")
        }
        SourceKind::Document | SourceKind::PackedDocument => Ok(None),
        SourceKind::Jsonl => Ok(Some(ShardKind::Jsonl)),
        SourceKind::Csv => Ok(Some(ShardKind::Csv)),
        SourceKind::Warc => Ok(Some(ShardKind::Warc)),
        SourceKind::Parquet => Ok(Some(ShardKind::Parquet)),
    }
}

/// What is told while the work goes on.
pub trait Watch {
    /// Something happened while the inputs were added.
    fn event(&mut self, event: Event<'_>);

    /// The copies begin: so many bytes are to be read.
    fn copies(&mut self, _bytes: u64) {}

    /// An input was copied, of so many bytes.
    fn copied(&mut self, _bytes: u64) {}

    /// Whether to be told what goes: it costs a look at each.
    fn wants_removed(&self) -> bool {
        false
    }

    /// A record goes.
    fn removed(&mut self, _removed: &Removed) -> io::Result<()> {
        Ok(())
    }
}

/// Removes duplicates. `work` is a folder for the work, made and removed; left behind by
/// a try that was interrupted, it is used again.
pub fn dedup(
    inputs: &Inputs,
    outputs: &Outputs,
    work: &Path,
    options: &DedupOptions,
    watch: &mut dyn Watch,
) -> Result<Deduped, DedupError> {
    if let Err(error) = outputs.check(inputs, options) {
        // Only if it is empty: another try may have left its work there.
        drop(std::fs::remove_dir(work));
        return Err(error);
    }
    let prepared = work::prepare(work, options.against.as_deref())?;
    let done = run(inputs, outputs, work, prepared.base, options, watch);
    match &done {
        // The same command again goes on where this one stopped.
        Err(DedupError::Add(AddError::Collection(_))) => {}
        _ => work::remove(work),
    }
    done
}

/// What becomes of one record.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Fate {
    /// Which input.
    pub source: usize,
    /// Where in it.
    pub offset: u64,
    /// Whether it stays.
    pub is_kept: bool,
    /// With [`Form::Annotated`], what else is told of it.
    pub mark: Option<Mark>,
}

/// Decides what stays, and writes nothing: `each` learns of every document, input by
/// input in their order. The folder for the work is gone afterwards.
pub fn decide(
    inputs: &Inputs,
    options: &DedupOptions,
    watch: &mut dyn Watch,
    each: &mut dyn FnMut(Fate),
) -> Result<Deduped, DedupError> {
    let Some(against) = &options.against else {
        let passed = add_passing(inputs, &options.add, &mut |event| watch.event(event))?;
        let collection = &passed.collection;
        let stored = &collection.state().clusterings[0];
        return conclude(inputs, options, passed.report.counts, collection, stored, 0)
            .with(|job, deduped| job.tell(each, deduped));
    };
    let work = work::Unnamed::beside(against).map_err(|error| StorageError::io(".", error))?;
    let prepared = work::prepare(&work.folder, Some(against))?;
    let (report, stored) = add_and_cluster(inputs, &work.folder, options, &mut |event| {
        watch.event(event);
    })?;
    let collection = Collection::open(&work.folder)?;
    conclude(
        inputs,
        options,
        report.counts,
        &collection,
        &stored,
        prepared.base,
    )
    .with(|job, deduped| job.tell(each, deduped))
}

fn run(
    inputs: &Inputs,
    outputs: &Outputs,
    work: &Path,
    base: u32,
    options: &DedupOptions,
    watch: &mut dyn Watch,
) -> Result<Deduped, DedupError> {
    let mut rejected_at = copies::RejectedAt::new(inputs);
    let (report, stored) = add_and_cluster(inputs, work, options, &mut |event| {
        rejected_at.note(&event);
        watch.event(event);
    })?;
    let collection = Collection::open(work)?;
    let mut deduped = conclude(inputs, options, report.counts, &collection, &stored, base)
        .with(|job, deduped| job.run(outputs, &rejected_at, watch, deduped))?;
    deduped.rejects = report.rejects;
    Ok(deduped)
}

/// Adds the inputs to what is in the folder for the work.
fn add_and_cluster(
    inputs: &Inputs,
    work: &Path,
    options: &DedupOptions,
    watch: &mut dyn FnMut(Event<'_>),
) -> Result<(Report, StoredClustering), DedupError> {
    let policy = options.add.policy;
    let report = add(work, inputs, &options.add, watch)?;
    let kept = report.clusterings.iter().find(|one| one.policy == policy);
    let stored = if let Some(stored) = kept {
        stored.clone()
    } else {
        let cluster = ClusterOptions {
            threads: options.add.threads,
            memory: options.add.memory,
        };
        let sources = &inputs.sources;
        recluster_holding(work, &options.add.recipe, &policy, &cluster, sources)?
    };
    Ok((report, stored))
}

/// All that is known before anything is decided.
struct Conclusion<'a> {
    inputs: &'a Inputs,
    options: &'a DedupOptions,
    counts: Counts,
    collection: &'a Collection,
    stored: &'a StoredClustering,
    base: u32,
}

fn conclude<'a>(
    inputs: &'a Inputs,
    options: &'a DedupOptions,
    counts: Counts,
    collection: &'a Collection,
    stored: &'a StoredClustering,
    base: u32,
) -> Conclusion<'a> {
    Conclusion {
        inputs,
        options,
        counts,
        collection,
        stored,
        base,
    }
}

impl Conclusion<'_> {
    /// Decides, and has it carried out.
    fn with(
        self,
        carry_out: impl FnOnce(&copies::Job<'_>, &mut Deduped) -> Result<(), DedupError>,
    ) -> Result<Deduped, DedupError> {
        let Conclusion {
            inputs,
            options,
            mut counts,
            collection,
            stored,
            base,
        } = self;
        let decided = decide::decide(collection, stored, base, options.keep)?;
        counts.skipped.remove("same again");
        let mut deduped = Deduped {
            read: counts.read,
            skipped: counts.skipped,
            rejected: counts.rejected,
            clusters: stored.summary.clusters,
            policy: options.add.policy.to_string(),
            by_estimate: stored.summary.by_estimate,
            is_undated: decided.is_undated,
            ..Deduped::default()
        };
        let job = copies::Job {
            inputs,
            options,
            collection,
            stored,
            decided: &decided,
        };
        carry_out(&job, &mut deduped)?;
        Ok(deduped)
    }
}

#[cfg(test)]
mod tests;
