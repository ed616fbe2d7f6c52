//! `lookalike dedup INPUT… -o OUT`: one of each group of near-duplicates.

use std::error::Error;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use lookalike::add::{AddError, AddOptions, Event};
use lookalike::core::recipe::{Recipe, SketchKind};
use lookalike::corpus::inputs::Inputs;
use lookalike::corpus::unusable::shown;
use lookalike::dedup::{
    DedupError, DedupOptions, Deduped, Form, Keep, Named, Outputs, Removed, Watch, dedup,
    work_folder,
};
use lookalike::shards::{Existing, ShardFault};
use lookalike_server::wire;
use serde_json::{Value, json};

use crate::args::{Global, InputArgs, MachineArgs, RecipeArgs};
use crate::collection::open;
use crate::commands::add::{reject_line, reject_lines};
use crate::commands::cluster::{FEW_SAMPLES, PolicyArgs};
use crate::failure::{Exit, Failure, Stop};
use crate::input::note;
use crate::output::file::{self, Place};
use crate::output::progress::Progress;
use crate::output::text;

/// Keep one of each group of near-duplicates: filtered copies of the inputs
///
/// Copies have the names, the packing and the fields of the inputs; records that stay are
/// the same byte for byte. Records that were rejected, or have nothing to compare, are not
/// in them; of a WARC file whatever is no page stays. A file that is one document is
/// copied or not.
#[derive(Args)]
#[command(after_help = "\
Examples:
  lookalike dedup shards/*.jsonl.zst -o clean/
  lookalike dedup new.parquet -o fresh.parquet --against crawl.lk --report gone.jsonl
  lookalike dedup data/ -o marked/ --annotate --resemblance 0.8 --keep longest")]
#[expect(clippy::struct_excessive_bools, reason = "each is an option as typed")]
pub(crate) struct DedupArgs {
    /// Files, folders or patterns
    #[arg(required = true, value_name = "INPUT")]
    inputs: Vec<OsString>,

    /// The folder for the copies; with one input file, a name with an ending is a file
    #[arg(long, short, value_name = "OUT")]
    output: PathBuf,

    /// Which document of a group stays
    #[arg(long, value_name = "WHICH", default_value = "first")]
    keep: KeepName,

    /// Keep all, and mark them: `lookalike_cluster`, `lookalike_is_duplicate`,
    /// `lookalike_representative`
    #[arg(long, conflicts_with = "remove_files")]
    annotate: bool,

    /// Write lists of what is to go, as datatrove reads them: 000000.remove for the first
    /// input
    #[arg(long)]
    remove_files: bool,

    /// Also remove what this collection has something like; it is not changed
    #[arg(long, value_name = "COLLECTION")]
    against: Option<PathBuf>,

    /// List what was removed and because of what, one JSON object a line
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,

    /// Replace files that are there already
    #[arg(long)]
    overwrite: bool,

    /// List what was rejected in a file, one JSON object a line
    #[arg(long, value_name = "FILE")]
    rejects: Option<PathBuf>,

    /// Exit with 0 even when something was rejected
    #[arg(long)]
    allow_rejects: bool,

    #[command(flatten)]
    policy: PolicyArgs,

    #[command(flatten)]
    reading: InputArgs,

    #[command(flatten)]
    machine: MachineArgs,

    #[command(flatten)]
    recipe: RecipeArgs,
}

#[derive(Clone, Copy, ValueEnum)]
enum KeepName {
    /// The first in the order of the inputs
    First,
    /// The one with the most tokens
    Longest,
    /// The one with the latest date
    Newest,
}

impl DedupArgs {
    pub(crate) fn run(self, global: Global) -> Result<Exit, Stop> {
        let recipe = self.chosen_recipe()?;
        let options = DedupOptions {
            add: AddOptions {
                reading: (self.reading).options(&self.recipe.shingles, recipe.tokens),
                recipe,
                policy: self.policy.policy(),
                threads: self.machine.threads(),
                memory: self.machine.memory()?,
                scratch: self.machine.scratch.clone(),
                ..AddOptions::default()
            },
            keep: match self.keep {
                KeepName::First => Keep::First,
                KeepName::Longest => Keep::Longest,
                KeepName::Newest => Keep::Newest,
            },
            form: match (self.annotate, self.remove_files) {
                (true, _) => Form::Annotated,
                (_, true) => Form::RemoveLists,
                _ => Form::Filtered,
            },
            existing: if self.overwrite {
                Existing::Overwrite
            } else {
                Existing::Refuse
            },
            against: self.against.clone(),
        };
        if self.output == Path::new("-") {
            let message = "copies cannot go to standard output";
            return Err(
                Failure::usage(message, "give a folder, or ./- for one of that name").into(),
            );
        }
        let inputs = Inputs::expand(&self.inputs, &options.add.reading);
        for output in [&self.report, &self.rejects] {
            let sources = inputs.sources.iter().map(|source| source.path.as_path());
            file::spares(output.as_deref(), sources, self.against.as_deref())?;
        }
        let arguments: Vec<PathBuf> = self.inputs.iter().map(PathBuf::from).collect();
        let outputs = Outputs::plan(&inputs, &arguments, &self.output);
        let work = work_folder(
            &self.output,
            self.machine.scratch.as_deref(),
            self.against.as_deref(),
        );
        let mut watcher = Watcher {
            progress: Progress::new(global),
            report: self.report.as_deref().map(Report::create).transpose()?,
            rejects: Vec::new(),
        };
        let done = dedup(&inputs, &outputs, &work, &options, &mut watcher);
        watcher.progress.finish();
        if let Some(path) = &self.rejects {
            // What was rejected before an interruption is known to the answer alone.
            let all = match &done {
                Ok(deduped) => reject_lines(&inputs, &deduped.rejects),
                Err(_) => watcher.rejects,
            };
            file::write(path, &all)?;
        }
        let deduped = match done {
            Ok(deduped) => deduped,
            Err(error) => return Err(self.failure(error, &work).into()),
        };
        if let Some(report) = watcher.report {
            report.finish()?;
        }
        if global.json {
            let mut out = text::stdout();
            writeln!(out, "{}", wire::deduped(&deduped))?;
            out.flush()?;
        } else if !global.quiet {
            say(&deduped);
        }
        if self.policy.policy().containment.is_some() {
            note(global, FEW_SAMPLES);
        }
        let is_fine = deduped.rejected.is_empty() || self.allow_rejects;
        Ok(if is_fine { Exit::Done } else { Exit::Rejected })
    }

    /// The recipe as typed; what was not typed is as in the collection held against.
    fn chosen_recipe(&self) -> Result<Recipe, Failure> {
        if let Some(folder) = &self.against {
            let collection = open(folder)?;
            if self.recipe.is_default() {
                let key = self.recipe.key()?;
                let recipe = collection.recipe(key.as_ref());
                return recipe.map_err(|fault| Failure::from_recipe(folder, &fault));
            }
        }
        self.recipe.recipe(SketchKind::default())
    }

    fn failure(&self, error: DedupError, work: &Path) -> Failure {
        let folder = self.against.as_deref().unwrap_or(work);
        match &error {
            DedupError::Add(AddError::Nothing(counts)) => {
                let inputs = self
                    .inputs
                    .iter()
                    .map(|input| format!("`{}`", shown(input.as_ref())));
                let inputs: Vec<String> = inputs.collect();
                Failure::nothing(&inputs.join(", "), counts)
            }
            DedupError::Add(_) => match error {
                DedupError::Add(error) => Failure::from_add(folder, error),
                other => Failure::usage(other.to_string(), ""),
            },
            DedupError::Recipe(fault) => Failure::from_recipe(folder, fault),
            DedupError::SameName(..) => Failure::usage(
                error.to_string(),
                "give the folder they are in, so that they keep their places below it",
            ),
            DedupError::IsInput(_) => Failure::usage(error.to_string(), "write to another folder"),
            DedupError::Exists(_) => Failure::usage(
                error.to_string(),
                "write to another folder, or add --overwrite",
            ),
            DedupError::Kind { .. } => Failure::usage(
                error.to_string(),
                "name files that hold records: JSONL, CSV, Parquet or WARC",
            ),
            DedupError::Changed(_) => Failure {
                exit: Exit::Machine,
                message: error.to_string(),
                hint: "run the command again when nobody writes to it".to_owned(),
            },
            DedupError::Write(path, error) => Failure::writing(path, error),
            DedupError::Shard(shard) => {
                let exit = match &shard.fault {
                    ShardFault::NameTaken(_) | ShardFault::NoPlaceForMarks => Exit::Usage,
                    _ => Exit::Machine,
                };
                Failure {
                    exit,
                    message: format!("{shard}: {}", shard.fault),
                    hint: "leave it out, or mend it; copies made before it are complete".to_owned(),
                }
            }
            other => Failure {
                exit: Exit::Machine,
                message: other
                    .source()
                    .map_or_else(|| other.to_string(), |why| format!("{other}: {why}")),
                hint: "check that it may be read".to_owned(),
            },
        }
    }
}

/// Shows how far the work is, writes the report, and notes what is rejected.
struct Watcher {
    progress: Progress,
    report: Option<Report>,
    /// One line each.
    rejects: Vec<u8>,
}

impl Watch for Watcher {
    fn event(&mut self, event: Event<'_>) {
        if let Event::Refused { input, refused } = &event
            && refused.is_rejected
        {
            let line = reject_line(input, refused);
            self.rejects.extend_from_slice(line.as_bytes());
        }
        self.progress.event(&event);
    }

    fn copies(&mut self, bytes: u64) {
        self.progress.begin_copies(bytes);
    }

    fn copied(&mut self, bytes: u64) {
        self.progress.copied(bytes);
    }

    fn wants_removed(&self) -> bool {
        self.report.is_some()
    }

    fn removed(&mut self, removed: &Removed) -> io::Result<()> {
        match &mut self.report {
            Some(report) => report.write(removed),
            None => Ok(()),
        }
    }
}

/// What was removed, in a file that is there whole or not at all.
struct Report {
    path: PathBuf,
    place: Place,
    out: BufWriter<File>,
}

impl Report {
    fn create(path: &Path) -> Result<Report, Failure> {
        let created = Place::create(path).map_err(|error| Failure::writing(path, &error));
        let (place, file) = created?;
        Ok(Report {
            path: path.to_owned(),
            place,
            out: BufWriter::new(file),
        })
    }

    fn write(&mut self, removed: &Removed) -> io::Result<()> {
        let Removed { record, because } = removed;
        let mut line = named(record);
        line["because"] = named(because);
        writeln!(self.out, "{line}")
    }

    fn finish(mut self) -> Result<(), Failure> {
        let flushed = self.out.flush();
        let done = flushed.and_then(|()| self.place.finish(self.out.get_ref()));
        done.map_err(|error| Failure::writing(&self.path, &error))
    }
}

fn named(named: &Named) -> Value {
    let Named {
        doc,
        id,
        url,
        file,
        offset,
    } = named;
    json!({ "doc": doc, "id": id, "url": url, "file": file, "offset": offset })
}

fn say(deduped: &Deduped) {
    let mut err = anstream::stderr().lock();
    let _ = writeln!(
        err,
        "{} read, {} kept, {} removed ({})",
        text::count(deduped.read),
        text::count(deduped.kept),
        text::count(deduped.removed),
        deduped.policy,
    );
    let left = deduped.skipped.iter().chain(&deduped.rejected);
    let left: Vec<String> = left
        .map(|(reason, count)| format!("{} {reason}", text::count(*count)))
        .collect();
    if !left.is_empty() {
        let _ = writeln!(err, "left out: {}", left.join(", "));
    }
    if deduped.by_estimate > 0 {
        let _ = writeln!(
            err,
            "note: {} pairs near the threshold were decided by estimate alone",
            text::count(deduped.by_estimate)
        );
    }
}
