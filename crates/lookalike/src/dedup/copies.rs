//! Decisions → copies of the inputs, input by input.

use std::fs::{self, File};
use std::io;
use std::ops::ControlFlow;
use std::path::Path;

use hashbrown::{HashMap, HashSet};

use super::decide::Decided;
use super::{
    DedupError, DedupOptions, Deduped, Fate, Form, Named, Outputs, Removed, Watch, shard_kind,
};
use crate::add::Event;
use crate::blocks::RecordStream;
use crate::collection::Collection;
use crate::collection::entry::Entry;
use crate::collection::segment::StoredSource;
use crate::collection::state::StoredClustering;
use crate::corpus::inputs::{Inputs, Source};
use crate::corpus::read::read_source;
use crate::corpus::record::{Body, Offset};
use crate::shards::{
    Decision, Mark, NewFile, Output, ShardKind, annotate_shard, filter_shard, remove_file_name,
    write_numbers,
};
use crate::storage::StorageError;

/// Where records were rejected in inputs whose other records are copied as they stand.
pub(super) struct RejectedAt {
    /// By the name of the input.
    inputs: HashMap<String, HashSet<u64>>,
}

impl RejectedAt {
    pub(super) fn new(inputs: &Inputs) -> RejectedAt {
        use crate::corpus::inputs::SourceKind;
        let warcs = inputs
            .sources
            .iter()
            .filter(|source| source.kind == SourceKind::Warc);
        RejectedAt {
            inputs: warcs
                .map(|source| (source.name.clone(), HashSet::new()))
                .collect(),
        }
    }

    pub(super) fn note(&mut self, event: &Event<'_>) {
        if let Event::Refused { input, refused } = event
            && refused.is_rejected
            && let Some(places) = self.inputs.get_mut(*input)
        {
            places.insert(refused.at);
        }
    }

    fn has(&self, input: &str, offset: Offset) -> bool {
        let places = self.inputs.get(input);
        places.is_some_and(|places| places.contains(&offset.0))
    }
}

/// A record of an input: where it stands, which document it is, and what becomes of it.
#[derive(Clone, Copy, Debug)]
struct Choice {
    offset: u64,
    doc: u32,
    is_kept: bool,
}

/// Where the copy of one input goes.
#[derive(Clone, Copy)]
struct To<'a> {
    outputs: &'a Outputs,
    rejected_at: &'a RejectedAt,
    number: usize,
}

/// All there is to do.
pub(super) struct Job<'a> {
    pub(super) inputs: &'a Inputs,
    pub(super) options: &'a DedupOptions,
    pub(super) collection: &'a Collection,
    pub(super) stored: &'a StoredClustering,
    pub(super) decided: &'a Decided,
}

impl Job<'_> {
    /// Makes the copies and counts.
    pub(super) fn run(
        &self,
        outputs: &Outputs,
        rejected_at: &RejectedAt,
        watch: &mut dyn Watch,
        deduped: &mut Deduped,
    ) -> Result<(), DedupError> {
        watch.copies(self.inputs.sources.iter().map(|source| source.len).sum());
        let mut records = Records::new(self)?;
        let mut names = Names::new(self.collection);
        for (number, source) in self.inputs.sources.iter().enumerate() {
            let choices = records.of_source(number)?;
            let kept = choices.iter().filter(|choice| choice.is_kept).count() as u64;
            deduped.kept += kept;
            deduped.removed += choices.len() as u64 - kept;
            if watch.wants_removed() {
                for choice in choices.iter().filter(|choice| !choice.is_kept) {
                    let removed = self.removed(number, choice, &mut names)?;
                    let told = watch.removed(&removed);
                    told.map_err(|error| DedupError::Write("the report".into(), error))?;
                }
            }
            let to = To {
                outputs,
                rejected_at,
                number,
            };
            self.write(to, source, &choices, &mut names)?;
            watch.copied(source.len);
        }
        Ok(())
    }

    /// Tells what becomes of every document, and counts.
    pub(super) fn tell(
        &self,
        each: &mut dyn FnMut(Fate),
        deduped: &mut Deduped,
    ) -> Result<(), DedupError> {
        let mut records = Records::new(self)?;
        let mut names = Names::new(self.collection);
        for source in 0..self.inputs.sources.len() {
            for choice in records.of_source(source)? {
                deduped.kept += u64::from(choice.is_kept);
                deduped.removed += u64::from(!choice.is_kept);
                let mark = match self.options.form {
                    Form::Annotated => Some(self.mark(&choice, &mut names)?),
                    _ => None,
                };
                each(Fate {
                    source,
                    offset: choice.offset,
                    is_kept: choice.is_kept,
                    mark,
                });
            }
        }
        Ok(())
    }

    fn removed(
        &self,
        source: usize,
        choice: &Choice,
        names: &mut Names<'_>,
    ) -> Result<Removed, StorageError> {
        let mut record = names.of(choice.doc)?;
        // Of a further capture, its own place.
        record.file.clone_from(&self.inputs.sources[source].name);
        record.offset = choice.offset;
        Ok(Removed {
            record,
            because: names.of(self.decided.instead(choice.doc))?,
        })
    }

    fn write(
        &self,
        to: To<'_>,
        source: &Source,
        choices: &[Choice],
        names: &mut Names<'_>,
    ) -> Result<(), DedupError> {
        let To {
            outputs,
            rejected_at,
            number,
        } = to;
        let path = &outputs.paths[number];
        let existing = self.options.existing;
        let form = self.options.form;
        if form == Form::RemoveLists {
            return self.write_list(&outputs.list_path(number), source, choices);
        }
        if let Some(folder) = path.parent() {
            let made = fs::create_dir_all(folder);
            made.map_err(|error| DedupError::Write(folder.to_owned(), error))?;
        }
        let output = Output { path, existing };
        let mut met = 0;
        let mut find = |offset: Offset| {
            let found = choices.binary_search_by_key(&offset.0, |choice| choice.offset);
            met += u64::from(found.is_ok());
            found.ok().map(|index| choices[index])
        };
        match shard_kind(&source.path, source.kind, form)? {
            None => {
                met = choices.len() as u64;
                if choices.iter().any(|choice| choice.is_kept) {
                    let copied = copy(&source.path, output);
                    copied.map_err(|error| DedupError::Write(path.clone(), error))?;
                }
            }
            Some(kind) if form == Form::Annotated => {
                let mut trouble = None;
                let mut mark = |offset| {
                    let choice = find(offset)?;
                    match self.mark(&choice, names) {
                        Ok(mark) => Some(mark),
                        Err(error) => {
                            trouble = Some(error);
                            None
                        }
                    }
                };
                annotate_shard(&source.path, kind, &mut mark, output)?;
                if let Some(trouble) = trouble {
                    return Err(trouble.into());
                }
            }
            Some(kind) => {
                // A WARC file has records that are no documents: they stay.
                let stays =
                    |offset| kind == ShardKind::Warc && !rejected_at.has(&source.name, offset);
                let mut keep = |offset| {
                    let is_kept = find(offset).map_or_else(|| stays(offset), |one| one.is_kept);
                    if is_kept {
                        Decision::Keep
                    } else {
                        Decision::Drop
                    }
                };
                filter_shard(&source.path, kind, &mut keep, output)?;
            }
        }
        if met == choices.len() as u64 {
            return Ok(());
        }
        // What was copied is not what was read.
        drop(fs::remove_file(path));
        Err(DedupError::Changed(source.path.clone()))
    }

    fn mark(&self, choice: &Choice, names: &mut Names<'_>) -> Result<Mark, StorageError> {
        let stays = self.decided.instead(choice.doc);
        let stayed = names.of(stays)?;
        let place = || format!("{}:{}", stayed.file, stayed.offset);
        Ok(Mark {
            cluster: names.cluster(self.stored, choice.doc)?,
            is_duplicate: !choice.is_kept,
            representative: stayed
                .id
                .clone()
                .or(stayed.url.clone())
                .unwrap_or_else(place),
        })
    }

    /// The numbers of the documents that go, as a reader counts who takes every record
    /// with text for a document.
    fn write_list(
        &self,
        path: &Path,
        source: &Source,
        choices: &[Choice],
    ) -> Result<(), DedupError> {
        if let Some(folder) = path.parent() {
            let made = fs::create_dir_all(folder);
            made.map_err(|error| DedupError::Write(folder.to_owned(), error))?;
        }
        let (mut next, mut met) = (0_u32, 0);
        let mut goes = Vec::new();
        read_source(source, &self.options.add.reading, &mut |batch| {
            batch.for_each(&mut |record| {
                let Ok(record) = record else {
                    return;
                };
                if matches!(&record.body, Body::Text(text) if text.is_empty()) {
                    return;
                }
                let offset = record.offset.0;
                if let Ok(index) = choices.binary_search_by_key(&offset, |choice| choice.offset) {
                    met += 1;
                    if !choices[index].is_kept {
                        goes.push(next);
                    }
                }
                next = next.saturating_add(1);
            });
            ControlFlow::Continue(())
        })
        .or_else(|error| {
            // What cannot be read was rejected the first time already.
            if met == choices.len() {
                Ok(())
            } else {
                Err(error)
            }
        })?;
        if met != choices.len() {
            return Err(DedupError::Changed(source.path.clone()));
        }
        write_numbers(path, self.options.existing, goes)
            .map_err(|error| DedupError::Write(path.to_owned(), error))
    }
}

impl Outputs {
    /// Where the list for the n-th input goes.
    pub(super) fn list_path(&self, number: usize) -> std::path::PathBuf {
        self.folder.join(remove_file_name(number))
    }
}

fn copy(from: &Path, output: Output<'_>) -> io::Result<()> {
    let mut file = NewFile::create(output.path, output.existing)?;
    io::copy(&mut File::open(from)?, &mut file)?;
    file.commit()
}

/// The records of the last sweep, source by source.
struct Records<'a> {
    decided: &'a Decided,
    entries: RecordStream<Entry>,
    next_entry: Option<Entry>,
    doc: u32,
    /// Further captures, by where they stand.
    captures: std::iter::Peekable<std::vec::IntoIter<(u32, Choice)>>,
}

impl<'a> Records<'a> {
    fn new(job: &Job<'a>) -> Result<Records<'a>, StorageError> {
        let last = job.collection.state().sweeps.len().saturating_sub(1);
        let mut entries = job.collection.entries(last)?;
        let mut captures = Vec::new();
        let mut stream = job.collection.captures(last)?;
        while let Some(capture) = stream.next_record()? {
            let choice = Choice {
                offset: capture.offset,
                doc: capture.doc,
                is_kept: job.decided.keeps_capture(&capture),
            };
            captures.push((capture.source, choice));
        }
        captures.sort_unstable_by_key(|(source, choice)| (*source, choice.offset));
        Ok(Records {
            decided: job.decided,
            next_entry: entries.next_record()?,
            entries,
            doc: job.decided.base,
            captures: captures.into_iter().peekable(),
        })
    }

    /// The records of a source, in order; sources come in order too.
    fn of_source(&mut self, source: usize) -> Result<Vec<Choice>, StorageError> {
        let is_of = |one: u32| one as usize == source;
        let mut choices = Vec::new();
        while let Some(entry) = self.next_entry
            && is_of(entry.source)
        {
            choices.push(Choice {
                offset: entry.offset,
                doc: self.doc,
                is_kept: self.decided.keeps(self.doc),
            });
            self.doc += 1;
            self.next_entry = self.entries.next_record()?;
        }
        while let Some((_, choice)) = self.captures.next_if(|(of, _)| is_of(*of)) {
            choices.push(choice);
        }
        choices.sort_unstable_by_key(|choice| choice.offset);
        Ok(choices)
    }
}

/// The names of documents.
struct Names<'a> {
    collection: &'a Collection,
    /// Of the sweep asked for last.
    sources: Option<(usize, Vec<StoredSource>)>,
    clustering: Option<crate::clusters::table::Clustering>,
}

impl<'a> Names<'a> {
    fn new(collection: &'a Collection) -> Names<'a> {
        Names {
            collection,
            sources: None,
            clustering: None,
        }
    }

    fn of(&mut self, doc: u32) -> Result<Named, StorageError> {
        let entry = self.collection.entry(doc)?;
        let (id, url) = self.collection.strings(doc, &entry)?;
        let sweep = self.collection.sweep_of(doc);
        let sources = match &mut self.sources {
            Some((of, sources)) if *of == sweep => sources,
            other => {
                &mut other
                    .insert((sweep, self.collection.stored_sources(sweep)?))
                    .1
            }
        };
        let source = sources.get(entry.source as usize);
        Ok(Named {
            doc,
            id,
            url,
            file: source.map_or_else(String::new, |source| source.name.clone()),
            offset: entry.offset,
        })
    }

    fn cluster(&mut self, stored: &StoredClustering, doc: u32) -> Result<u32, StorageError> {
        let clustering = match &mut self.clustering {
            Some(clustering) => clustering,
            none => none.insert(self.collection.clustering(stored)?),
        };
        Ok(clustering.member(doc)?.cluster)
    }
}
