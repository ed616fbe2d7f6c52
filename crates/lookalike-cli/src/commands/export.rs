//! `lookalike export COLLECTION TABLE`: any table of a collection, as Parquet, JSONL or CSV,
//! and its captures as an index of web archives.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use lookalike::archive::captures::Captures;
use lookalike::archive::index::Index;
use lookalike::collection::Collection;
use lookalike::collection::state::{StoredClustering, Summary};
use lookalike::storage::StorageError;
use lookalike::tables::of_collection::{TableError as Trouble, Tables};
use lookalike::tables::{Format, Tabled, Writer};

use crate::args::Global;
use crate::collection::{open, open_mapped};
use crate::failure::{Exit, Failure, Stop};
use crate::input::note;
use crate::output::file::{self, Place};
use crate::output::text::counted;

/// Write a table of a collection: documents, clusters, pairs, quality, sketches or cdxj
#[derive(Args)]
#[command(after_help = "\
Examples:
  lookalike export crawl.lk documents -o documents.parquet
  lookalike export crawl.lk pairs --format csv
  lookalike export crawl.lk cdxj -o index.cdxj
  lookalike export crawl.lk clusters -o clusters.jsonl --policy \"resemblance>=0.9 link=chain verify=auto\"")]
pub(crate) struct ExportArgs {
    /// The collection
    collection: PathBuf,

    /// Which table
    table: TableName,

    /// Where to [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,

    /// parquet, jsonl or csv [default: by the file's name, on standard output jsonl]
    #[arg(long, value_name = "FORMAT")]
    format: Option<Format>,

    /// Which of its clusterings, by its policy [default: the first]
    #[arg(long, value_name = "POLICY")]
    policy: Option<String>,
}

#[derive(Clone, Copy, ValueEnum)]
enum TableName {
    /// One row a document, with its cluster
    Documents,
    /// The same rows: every document is in a cluster, if only in one of its own
    Clusters,
    /// The counted pairs
    Pairs,
    /// One row a cluster of two and more: its representative, how like it the others are, flags
    Quality,
    /// What is kept of each document: as secret as the document
    Sketches,
    /// Every dated capture of an address, as an index that web archives read: sorted lines
    Cdxj,
}

impl ExportArgs {
    pub(crate) fn run(self, global: Global) -> Result<Exit, Stop> {
        if matches!(self.table, TableName::Cdxj) {
            return self.cdxj(global);
        }
        if let (TableName::Documents | TableName::Clusters, Some(filtered)) = (
            self.table,
            crate::commands::filtered::open(&self.collection)?,
        ) {
            let format = format_of(self.format, self.output.as_deref())?;
            let policy = self.policy.as_deref();
            let made = crate::commands::filtered::clustering(&filtered, policy)?;
            let output = self.output.as_deref();
            crate::commands::filtered::spare(&filtered, output)?;
            crate::commands::filtered::export(&self.collection, &made, output, format, 2)?;
            return Ok(Exit::Done);
        }
        let collection = open(&self.collection)?;
        let format = format_of(self.format, self.output.as_deref())?;
        let stored = find_clustering(&collection, self.policy.as_deref())?;
        spare(self.output.as_deref(), &collection, &self.collection)?;
        let target = Target::create(self.output.as_deref())?;
        let tables = Tables {
            collection: &collection,
            stored,
        };
        let written = match self.table {
            TableName::Documents | TableName::Clusters => {
                filled(format, target.writer()?, |to| tables.documents(to, 1))
            }
            TableName::Pairs => filled(format, target.writer()?, |to| tables.pairs(to)),
            TableName::Quality => filled(format, target.writer()?, |to| tables.quality(to)),
            TableName::Sketches => filled(format, target.writer()?, |to| tables.sketches(to)),
            TableName::Cdxj => unreachable!("it is no table of rows and was written above"),
        };
        target.finish(written, &self.collection)?;
        Ok(Exit::Done)
    }

    fn cdxj(self, global: Global) -> Result<Exit, Stop> {
        if self.format.is_some() {
            let failure = Failure::usage("cdxj is a format of its own", "leave --format away");
            return Err(failure.into());
        }
        let collection = open_mapped(&self.collection)?;
        let stored = match (&self.policy, collection.state().clusterings.is_empty()) {
            (None, true) => None,
            (policy, _) => Some(find_clustering(&collection, policy.as_deref())?),
        };
        spare(self.output.as_deref(), &collection, &self.collection)?;
        let target = Target::create(self.output.as_deref())?;
        let written = cdxj(&collection, stored, target.writer()?);
        let (written, left_out) = match written {
            Ok(left_out) => (Ok(()), left_out),
            Err(trouble) => (Err(trouble), Vec::new()),
        };
        target.finish(written, &self.collection)?;
        for line in left_out {
            note(global, &line);
        }
        Ok(Exit::Done)
    }
}

/// Writes the captures of a collection in the order of an index; gives what is to be said of
/// those that have no place in one.
fn cdxj(
    collection: &Collection,
    stored: Option<&StoredClustering>,
    mut out: Out,
) -> Result<Vec<String>, Trouble> {
    let clustering = stored.map(|stored| collection.clustering(stored));
    let clustering = clustering.transpose()?;
    let index = Index::of(collection)?;
    let mut captures = Captures::new(collection, clustering.as_ref());
    // Of one key and date they are in the order of the lines.
    let mut same = Vec::new();
    for capture in 0..index.len() {
        same.push(captures.row(&index, capture)?.cdxj());
        let place = |capture| (index.date(capture), index.key(capture));
        let next = capture + 1;
        if next == index.len() || place(next) != place(capture) {
            same.sort();
            for line in same.drain(..) {
                writeln!(out, "{line}")?;
            }
        }
    }
    out.flush()?;
    let left_out = [
        (index.undated, "without a date"),
        (index.unnamed, "without an address"),
    ];
    let left_out = left_out.into_iter().filter(|(count, _)| *count > 0);
    let said = |(count, why)| format!("left out: {} {why}", counted(count, "capture"));
    Ok(left_out.map(said).collect())
}

/// Refuses an output that is a source of the collection, or a file of it.
pub(crate) fn spare(
    output: Option<&Path>,
    collection: &Collection,
    folder: &Path,
) -> Result<(), Failure> {
    let output = output.filter(|path| *path != Path::new("-"));
    let mut sources = Vec::new();
    if output.is_some_and(Path::exists) {
        for sweep in 0..collection.state().sweeps.len() {
            let of_sweep = collection.sources(sweep);
            let of_sweep =
                of_sweep.map_err(|error| Failure::from_collection(folder, &error.into()))?;
            sources.extend(of_sweep.into_iter().flatten().map(|source| source.path));
        }
    }
    file::spares(output, sources.iter().map(PathBuf::as_path), Some(folder))
}

/// The clustering of a policy, or the first.
pub(crate) fn find_clustering<'a>(
    collection: &'a Collection,
    policy: Option<&str>,
) -> Result<&'a StoredClustering, Failure> {
    let all = &collection.state().clusterings;
    let found = match policy {
        None => all.first(),
        Some(policy) => all.iter().find(|one| one.policy.to_string() == policy),
    };
    found.ok_or_else(|| Failure {
        exit: Exit::NotFound,
        message: "the collection has no such clustering".to_owned(),
        hint: "lookalike stats COLLECTION lists those it has".to_owned(),
    })
}

/// The format that was named, or that a file's name tells.
pub(crate) fn format_of(named: Option<Format>, output: Option<&Path>) -> Result<Format, Failure> {
    match (named, output) {
        (Some(format), _) => Ok(format),
        (None, Some(path)) => Format::of_path(path).map_err(|unknown| {
            Failure::usage(
                unknown.to_string(),
                "name the format with --format, as in --format csv",
            )
        }),
        (None, None) => Ok(Format::Jsonl),
    }
}

/// Writes the table of documents of a clustering that was just made.
pub(crate) fn write_documents(
    folder: &Path,
    made: &StoredClustering,
    path: &Path,
    format: Format,
    min_size: u32,
) -> Result<(), Stop> {
    let collection = open(folder)?;
    let tables = Tables {
        collection: &collection,
        stored: made,
    };
    let target = Target::create(Some(path))?;
    let written = filled(format, target.writer()?, |to| {
        tables.documents(to, min_size)
    });
    target.finish(written, folder)
}

/// The summary, counting only clusters of some size.
pub(crate) fn summary_from(
    folder: &Path,
    made: &StoredClustering,
    min_size: u32,
) -> Result<Summary, Failure> {
    let mut summary = made.summary.clone();
    if min_size <= 2 {
        return Ok(summary);
    }
    let collection = open(folder)?;
    let count = || -> Result<(u64, u64, u64), StorageError> {
        let mut stream = collection.clustering(made)?.clusters()?;
        let (mut clusters, mut documents, mut flagged) = (0, 0, 0);
        while let Some(quality) = stream.next_record()? {
            if quality.size >= min_size {
                clusters += 1;
                documents += u64::from(quality.size);
                flagged += u64::from(quality.marks != 0);
            }
        }
        Ok((clusters, documents, flagged))
    };
    let (clusters, documents, flagged) =
        count().map_err(|error| Failure::from_collection(folder, &error.into()))?;
    summary.clusters = clusters;
    summary.clustered_documents = documents;
    summary.flagged = flagged;
    Ok(summary)
}

/// Where a table goes: standard output, or a file that is there whole or not at all.
pub(crate) struct Target {
    path: Option<(PathBuf, Place, File)>,
}

impl Target {
    pub(crate) fn create(path: Option<&Path>) -> Result<Target, Failure> {
        let Some(path) = path.filter(|path| *path != Path::new("-")) else {
            return Ok(Target { path: None });
        };
        if path.is_dir() {
            let error = io::Error::from(io::ErrorKind::IsADirectory);
            return Err(Failure::writing(path, &error));
        }
        let created = Place::create(path).map_err(|error| Failure::writing(path, &error));
        let (place, file) = created?;
        Ok(Target {
            path: Some((path.to_owned(), place, file)),
        })
    }

    pub(crate) fn writer(&self) -> Result<Box<dyn Write + Send>, Failure> {
        match &self.path {
            None => Ok(Box::new(BufWriter::new(io::stdout()))),
            Some((path, _, file)) => match file.try_clone() {
                Ok(file) => Ok(Box::new(BufWriter::with_capacity(1 << 16, file))),
                Err(error) => Err(Failure::writing(path, &error)),
            },
        }
    }

    pub(crate) fn finish(self, written: Result<(), Trouble>, folder: &Path) -> Result<(), Stop> {
        let (path, place) = match self.path {
            None => (None, None),
            Some((path, place, file)) => (Some(path), Some((place, file))),
        };
        let done = written.and_then(|()| match place {
            None => Ok(()),
            Some((place, file)) => Ok(place.finish(&file)?),
        });
        done.map_err(|trouble| match (trouble, path) {
            (Trouble::Reading(error), _) => Failure::from_collection(folder, &error.into()).into(),
            (Trouble::Writing(error), Some(path)) => Failure::writing(&path, &error).into(),
            (Trouble::Writing(error), None) => error.into(),
        })
    }
}

/// Writes all rows of a table.
fn filled<T: Tabled>(
    format: Format,
    out: Out,
    fill: impl FnOnce(&mut Writer<T>) -> Result<(), Trouble>,
) -> Result<(), Trouble> {
    let mut writer = Writer::<T>::new(format, out)?;
    fill(&mut writer)?;
    writer.finish()?;
    Ok(())
}

type Out = Box<dyn Write + Send>;
