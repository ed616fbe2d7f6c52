//! `lookalike export COLLECTION TABLE`: any table of a collection, as Parquet, JSONL or CSV,
//! and its captures as an index of web archives.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use lookalike::archive::captures::Captures;
use lookalike::archive::index::Index;
use lookalike::collection::Collection;
use lookalike::collection::entry::Entry;
use lookalike::collection::state::{StoredClustering, Summary};
use lookalike::pairs::Measure;
use lookalike::storage::StorageError;
use lookalike::tables::{self, Format, Writer};
use lookalike::tables::{DocumentRow, PairRow, QualityRow, SketchRow};

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
        let collection = open(&self.collection)?;
        let format = format_of(self.format, self.output.as_deref())?;
        let stored = find_clustering(&collection, self.policy.as_deref())?;
        spare(self.output.as_deref(), &collection, &self.collection)?;
        let target = Target::create(self.output.as_deref())?;
        let tables = Tables {
            collection: &collection,
            folder: &self.collection,
            stored,
        };
        let written = match self.table {
            TableName::Documents | TableName::Clusters => {
                tables.documents(format, target.writer()?, 1)
            }
            TableName::Pairs => tables.pairs(format, target.writer()?),
            TableName::Quality => tables.quality(format, target.writer()?),
            TableName::Sketches => tables.sketches(format, target.writer()?),
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
        folder,
        stored: made,
    };
    let target = Target::create(Some(path))?;
    let written = tables.documents(format, target.writer()?, min_size);
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

/// Why a table was not written.
pub(crate) enum Trouble {
    Reading(StorageError),
    Writing(io::Error),
}

impl From<StorageError> for Trouble {
    fn from(error: StorageError) -> Trouble {
        Trouble::Reading(error)
    }
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Trouble {
        Trouble::Writing(error)
    }
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

/// The tables of a collection under one of its clusterings.
pub(crate) struct Tables<'a> {
    pub(crate) collection: &'a Collection,
    pub(crate) folder: &'a Path,
    pub(crate) stored: &'a StoredClustering,
}

type Out = Box<dyn Write + Send>;

impl Tables<'_> {
    pub(crate) fn documents(&self, format: Format, out: Out, min_size: u32) -> Result<(), Trouble> {
        let _ = self.folder;
        let mut writer = Writer::<tables::Documents>::new(format, out)?;
        let collection = self.collection;
        let (kind, one_in) = (collection.sketch_kind(), collection.one_in());
        // However many a sketch makes it seem.
        let width = collection.state().recipe.width() as u64;
        let most = |tokens: u64| (tokens + 1).saturating_sub(width).max(1);
        let mut members = collection.clustering(self.stored)?.members()?;
        let mut sources = (usize::MAX, Vec::new());
        let mut trouble = None;
        let mut row = |doc: u32, entry: &Entry| -> Result<(), Trouble> {
            let sweep = collection.sweep_of(doc);
            if sources.0 != sweep {
                sources = (sweep, collection.stored_sources(sweep)?);
            }
            let Some(member) = members.next_record()? else {
                return Ok(());
            };
            if member.size < min_size && min_size > 2 {
                return Ok(());
            }
            let (id, url) = collection.strings(doc, entry)?;
            let source = sources.1.get(entry.source as usize);
            let date = entry.when().or(collection.state().sweeps[sweep]
                .date
                .map(lookalike::corpus::record::Timestamp));
            writer.write(&DocumentRow {
                doc,
                id: id.as_deref(),
                url: url.as_deref(),
                date,
                file: source.map_or("", |source| &source.name),
                offset: entry.offset,
                tokens: entry.tokens,
                shingles: entry.shingles(one_in).min(most(entry.tokens)),
                grade: member
                    .grade()
                    .map(lookalike::collection::entry::Grade::name),
                cluster: Some(member.cluster),
                cluster_size: Some(u64::from(member.size)),
                representative: Some(member.representative),
                is_representative: Some(member.representative == doc),
                resemblance: member.resemblance(doc, kind),
                containment: member.containment(doc, kind),
            })?;
            Ok(())
        };
        collection.each_entry(|doc, entry| {
            if trouble.is_none() {
                trouble = row(doc, entry).err();
            }
        })?;
        if let Some(trouble) = trouble {
            return Err(trouble);
        }
        writer.finish()?;
        Ok(())
    }

    fn pairs(&self, format: Format, out: Out) -> Result<(), Trouble> {
        let mut writer = Writer::<tables::Pairs>::new(format, out)?;
        let collection = self.collection;
        let kind = collection.sketch_kind();
        let mut exact = std::collections::BTreeMap::new();
        collection.each_exact(|pair| {
            exact.insert((pair.a, pair.b), *pair);
        })?;
        let mut trouble = None;
        let mut row = |pair: &lookalike::pairs::Pair| -> Result<(), Trouble> {
            let known = exact.get(&(pair.a, pair.b)).copied();
            let strings = |doc| -> Result<_, StorageError> {
                collection.strings(doc, &collection.entry(doc)?)
            };
            let ((id_a, url_a), (id_b, url_b)) = (strings(pair.a)?, strings(pair.b)?);
            let best = known.unwrap_or(*pair);
            let estimate = best.estimate(Measure::Resemblance, kind);
            let value = |measure| best.estimate(measure, kind).map(|estimate| estimate.value);
            writer.write(&PairRow {
                a: pair.a,
                b: pair.b,
                id_a: id_a.as_deref(),
                id_b: id_b.as_deref(),
                url_a: url_a.as_deref(),
                url_b: url_b.as_deref(),
                common: u64::from(best.common),
                resemblance: estimate.map(|estimate| estimate.value),
                resemblance_low: estimate.map(|estimate| estimate.low),
                resemblance_high: estimate.map(|estimate| estimate.high),
                a_in_b: value(Measure::AInB),
                b_in_a: value(Measure::BInA),
                exact: best.exact(Measure::Resemblance, kind),
            })?;
            Ok(())
        };
        collection.each_pair(|pair| {
            if trouble.is_none() {
                trouble = row(pair).err();
            }
            Ok(())
        })?;
        if let Some(trouble) = trouble {
            return Err(trouble);
        }
        writer.finish()?;
        Ok(())
    }

    fn quality(&self, format: Format, out: Out) -> Result<(), Trouble> {
        let mut writer = Writer::<tables::Quality>::new(format, out)?;
        let collection = self.collection;
        let mut clusters = collection.clustering(self.stored)?.clusters()?;
        while let Some(quality) = clusters.next_record()? {
            let entry = collection.entry(quality.representative)?;
            let (id, url) = collection.strings(quality.representative, &entry)?;
            let flags = quality.marks().collect::<Vec<_>>().join(" ");
            writer.write(&QualityRow {
                cluster: quality.cluster,
                size: u64::from(quality.size),
                representative: quality.representative,
                representative_id: id.as_deref(),
                representative_url: url.as_deref(),
                lowest_resemblance: Some(quality.lowest),
                median_resemblance: Some(quality.median),
                flags: (!flags.is_empty()).then_some(&*flags),
            })?;
        }
        writer.finish()?;
        Ok(())
    }

    fn sketches(&self, format: Format, out: Out) -> Result<(), Trouble> {
        let mut writer = Writer::<tables::Sketches>::new(format, out)?;
        let collection = self.collection;
        let sketches = collection.sketches()?;
        let mut buffer = Vec::new();
        for doc in 0..collection.documents() {
            let entry = collection.entry(doc)?;
            let (id, url) = collection.strings(doc, &entry)?;
            // A copy has the sketch of what it is a copy of.
            let samples = sketches.samples(entry.copy_of, &mut buffer)?;
            writer.write(&SketchRow {
                doc,
                id: id.as_deref(),
                url: url.as_deref(),
                level: sketches.head(entry.copy_of).level(),
                samples,
            })?;
        }
        writer.finish()?;
        Ok(())
    }
}
