//! `lookalike add COLLECTION INPUT…`: one sweep into a collection.

use std::ffi::OsString;
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;
use lookalike::add::{AddError, AddOptions, Event, Report, add};
use lookalike::collection::Collection;
use lookalike::collection::state::Counts;
use lookalike::core::recipe::{Recipe, SketchKind};
use lookalike::corpus::inputs::Inputs;
use lookalike::corpus::record::{Refused, Timestamp, When};
use lookalike::corpus::unusable::shown;
use serde_json::{Value, json};

use lookalike::filters::{Filtered, Spec};

use crate::args::{Global, InputArgs, MachineArgs, RecipeArgs};
use crate::failure::{Exit, Failure, Stop};
use crate::input::note;
use crate::memory::hold_if_short;
use crate::output::progress::Progress;
use crate::output::{file, text};
use lookalike_server::failure::reasons;
use lookalike_server::wire;

/// Create a collection, or extend it by one sweep
///
/// Reads WARC, WET, WACZ, JSONL, CSV, Parquet, HTML and text, packed or not, files, folders
/// and patterns, and `-` for standard input. Documents are sketched, copies set aside, pairs
/// counted and clusters made. Interrupted, the collection is as it was before, and the same
/// command again goes on where it stopped.
#[derive(Args)]
#[command(after_help = "\
Examples:
  lookalike add crawl.lk 2024-09.warc.gz --date 2024-09-26
  lookalike add books.lk shards/*.jsonl.zst --text-field body
  zcat pages.jsonl.gz | lookalike add pages.lk - --json")]
pub(crate) struct AddArgs {
    /// The collection: a folder
    #[arg(value_name = "COLLECTION")]
    collection: PathBuf,

    /// Files, folders, patterns, or `-`
    #[arg(required = true, value_name = "INPUT")]
    inputs: Vec<OsString>,

    /// The date of the sweep, as in 2026-11-16
    #[arg(long, value_name = "DATE", value_parser = date)]
    date: Option<Timestamp>,

    /// Keep nothing but the features of a filter, for huge collections: KxS/R as in 6x14/2 (48
    /// bytes a document), super-shingles:N/W, or eight:3 and eight:7 (8 bytes, compared
    /// within a host)
    #[arg(long, value_name = "FILTER", conflicts_with_all = ["sketch", "samples", "weighted", "keep_text", "search"])]
    filter: Option<Spec>,

    /// Keep the text of documents in the collection, packed, for when the inputs are gone
    #[arg(long)]
    keep_text: bool,

    /// Index the texts for `search`, and those of earlier sweeps that are not indexed yet
    #[arg(long)]
    search: bool,

    /// List what was rejected in a file, one JSON object a line
    #[arg(long, value_name = "FILE")]
    rejects: Option<PathBuf>,

    /// Exit with 0 even when something was rejected; with a number or a share, up to so many
    #[arg(long, value_name = "N|P%", num_args = 0..=1, require_equals = true, default_missing_value = "100%", value_parser = allowance)]
    allow_rejects: Option<Allowance>,

    #[command(flatten)]
    reading: InputArgs,

    #[command(flatten)]
    machine: MachineArgs,

    #[command(flatten)]
    recipe: RecipeArgs,
}

fn date(text: &str) -> Result<Timestamp, String> {
    match lookalike::corpus::date::when(text) {
        When::At(moment) => Ok(moment),
        _ => Err("a date is written 2026-11-16 or 2026-11-16T09:30:00Z".to_owned()),
    }
}

/// How many rejects are no reason to complain.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Allowance {
    Number(u64),
    Percent(f64),
}

fn allowance(text: &str) -> Result<Allowance, String> {
    let wrong = || "give a number, or a share as in 2%".to_owned();
    match text.strip_suffix('%') {
        Some(share) => match share.trim().parse() {
            Ok(share) if (0.0..=100.0).contains(&share) => Ok(Allowance::Percent(share)),
            _ => Err(wrong()),
        },
        None => text.parse().map(Allowance::Number).map_err(|_| wrong()),
    }
}

impl Allowance {
    fn covers(self, rejected: u64, read: u64) -> bool {
        match self {
            Allowance::Number(most) => rejected <= most,
            Allowance::Percent(share) => rejected as f64 <= share / 100.0 * read as f64,
        }
    }
}

impl AddArgs {
    pub(crate) fn run(self, global: Global) -> Result<Exit, Stop> {
        if let Some(spec) = self.filter_of()? {
            return self.run_filtered(spec, global);
        }
        let recipe = self.chosen_recipe()?;
        let reading = self.reading.options(&self.recipe.shingles, recipe.tokens);
        let options = AddOptions {
            recipe,
            reading,
            keep_text: self.keep_text,
            date: self.date,
            threads: self.machine.threads(),
            memory: self.machine.memory()?,
            scratch: self.machine.scratch.clone(),
            ..AddOptions::default()
        };
        let inputs = Inputs::expand(&self.inputs, &options.reading);
        hold_if_short(&inputs, options.memory);
        let sources = inputs.sources.iter().map(|source| source.path.as_path());
        file::spares(self.rejects.as_deref(), sources, Some(&self.collection))?;
        let mut progress = Progress::new(global);
        let mut seen = Vec::new();
        let added = add(&self.collection, &inputs, &options, &mut |event| {
            if let Event::Refused { input, refused } = &event
                && refused.is_rejected
            {
                seen.extend_from_slice(reject_line(input, refused).as_bytes());
            }
            progress.event(&event);
        });
        let seconds = progress.finish();
        if let Some(path) = &self.rejects {
            // What was rejected before an interruption is known to the report alone.
            let all = match &added {
                Ok(report) => reject_lines(&inputs, &report.rejects),
                Err(_) => seen,
            };
            file::write(path, &all)?;
        }
        let report = match added {
            Ok(report) => report,
            Err(AddError::Nothing(counts)) => return Err(self.nothing(&counts, global)?),
            Err(error) => return Err(Failure::from_add(&self.collection, error).into()),
        };
        crate::output::times::record(&self.collection, "add", &seconds);
        let peak = crate::output::times::peak_memory();
        if global.json {
            let line = report_json(&report.counts, report.added, &seconds, peak, report.scratch);
            let mut out = text::stdout();
            writeln!(out, "{line}")?;
            out.flush()?;
        } else if !global.quiet {
            say(&self.collection, &report, &seconds, peak);
        }
        if self.keep_text && report.counts.again > 0 {
            let again = text::counted(report.counts.again, "document");
            note(
                global,
                &format!(
                    "{again} of this sweep were known before: --keep-text keeps the texts of new ones only"
                ),
            );
        }
        if self.search {
            crate::commands::search::build(&self.collection, options.memory, global)?;
        }
        let rejected: u64 = report.counts.rejected.values().sum();
        let is_fine = rejected == 0
            || self
                .allow_rejects
                .is_some_and(|allowed| allowed.covers(rejected, report.counts.read));
        Ok(if is_fine { Exit::Done } else { Exit::Rejected })
    }

    /// The filter, if one was named or the collection has one.
    fn filter_of(&self) -> Result<Option<Spec>, Failure> {
        let known = Filtered::open(&self.collection)
            .map_err(|error| Failure::from_collection(&self.collection, &error))?;
        Ok(self.filter.or(known.map(|known| known.spec())))
    }

    fn run_filtered(self, spec: Spec, global: Global) -> Result<Exit, Stop> {
        if self.keep_text || self.search || self.recipe.weighted {
            return Err(Failure::usage(
                "a filter keeps features alone: no texts, no index of words, no weights",
                "leave out --keep-text, --search and --weighted, or make a collection without --filter",
            )
            .into());
        }
        let recipe = match Filtered::open(&self.collection) {
            Ok(Some(known)) if self.recipe.is_default() => known
                .recipe(self.recipe.key()?.as_ref())
                .map_err(|fault| Failure::from_recipe(&self.collection, &fault))?,
            _ => self.recipe.recipe(spec.sketch())?,
        };
        let options = AddOptions {
            reading: self.reading.options(&self.recipe.shingles, recipe.tokens),
            recipe,
            date: self.date,
            threads: self.machine.threads(),
            memory: self.machine.memory()?,
            ..AddOptions::default()
        };
        let inputs = Inputs::expand(&self.inputs, &options.reading);
        hold_if_short(&inputs, options.memory);
        let sources = inputs.sources.iter().map(|source| source.path.as_path());
        file::spares(self.rejects.as_deref(), sources, Some(&self.collection))?;
        let mut progress = Progress::new(global);
        let added =
            lookalike::filters::add(&self.collection, &inputs, spec, &options, &mut |event| {
                progress.event(&event);
            });
        let seconds = progress.finish();
        let added = match added {
            Ok(added) => added,
            Err(AddError::Nothing(counts)) => return Err(self.nothing(&counts, global)?),
            Err(error) => return Err(Failure::from_add(&self.collection, error).into()),
        };
        if let Some(path) = &self.rejects {
            let lines = added.rejects.iter();
            let lines: String = lines.map(|(input, why)| reject_line(input, why)).collect();
            file::write(path, lines.as_bytes())?;
        }
        crate::output::times::record(&self.collection, "add", &seconds);
        crate::commands::filtered::say_added(&self.collection, &added, &seconds, global)?;
        crate::commands::filtered::warn_of_hosts(&self.collection, global)?;
        let rejected: u64 = added.tally.rejected.values().sum();
        let allows = |allowed: Allowance| allowed.covers(rejected, added.tally.read);
        let is_fine = rejected == 0 || self.allow_rejects.is_some_and(allows);
        Ok(if is_fine { Exit::Done } else { Exit::Rejected })
    }

    /// The recipe as typed; what was not typed is as in the collection, if there is one.
    fn chosen_recipe(&self) -> Result<Recipe, Failure> {
        let typed = self.recipe.recipe(SketchKind::default())?;
        if !self.recipe.is_default() {
            return Ok(typed);
        }
        let key = self.recipe.key()?;
        match Collection::recipe_in(&self.collection, key.as_ref()) {
            None => Ok(typed),
            Some(recipe) => recipe.map_err(|fault| Failure::from_recipe(&self.collection, &fault)),
        }
    }

    fn nothing(&self, counts: &Counts, global: Global) -> Result<Stop, Stop> {
        if global.json {
            let line = report_json(counts, 0, &[], crate::output::times::peak_memory(), 0);
            let mut out = text::stdout();
            writeln!(out, "{line}")?;
            out.flush()?;
        }
        let named: Vec<String> = self
            .inputs
            .iter()
            .map(|input| format!("`{}`", shown(input.as_ref())))
            .collect();
        Ok(Stop::Failure(Failure::nothing(&named.join(", "), counts)))
    }
}

/// All that was rejected, as `--rejects` lists it: inputs as a whole, then records.
pub(crate) fn reject_lines(inputs: &Inputs, records: &[u8]) -> Vec<u8> {
    let named = inputs.refused.iter();
    let named = named.filter(|(_, refused)| refused.is_rejected);
    let mut all: Vec<u8> = named
        .flat_map(|(input, refused)| reject_line(input, refused).into_bytes())
        .collect();
    all.extend_from_slice(records);
    all
}

/// A record that was rejected, as `--rejects` lists it.
pub(crate) fn reject_line(input: &str, refused: &Refused) -> String {
    let place = if refused.is_line { "line" } else { "offset" };
    let line = json!({
        "input": input,
        place: refused.at,
        "reason": refused.code,
        "message": refused.message,
    });
    format!("{line}\n")
}

/// The report of `add --json`.
pub(crate) fn report_json(
    counts: &Counts,
    added: u64,
    seconds: &[(&'static str, f64, f64)],
    peak: u64,
    scratch: u64,
) -> Value {
    let wall: serde_json::Map<String, Value> = seconds
        .iter()
        .map(|(phase, wall, _)| ((*phase).to_owned(), json!(wall)))
        .collect();
    let cpu: serde_json::Map<String, Value> = seconds
        .iter()
        .map(|(phase, _, cpu)| ((*phase).to_owned(), json!(cpu)))
        .collect();
    let mut report = wire::added(counts, added);
    report["seconds"] = json!(wall);
    report["cpu_seconds"] = json!(cpu);
    report["peak_memory"] = json!(peak);
    report["scratch"] = json!(scratch);
    report
}

fn say(
    collection: &std::path::Path,
    report: &Report,
    seconds: &[(&'static str, f64, f64)],
    peak: u64,
) {
    let counts = &report.counts;
    let mut err = anstream::stderr().lock();
    let copies = counts.identical + counts.lexical + counts.shingle;
    let all: f64 = seconds.iter().map(|(_, wall, _)| wall).sum();
    let _ = writeln!(
        err,
        "{}: {} read, {} added ({} copies: {} identical, {} lexical, {} shingle), {} pairs; {:.1} s, {} of memory",
        shown(collection),
        text::count(counts.read),
        text::count(report.added),
        text::count(copies),
        text::count(counts.identical),
        text::count(counts.lexical),
        text::count(counts.shingle),
        text::count(counts.pairs),
        all,
        text::bytes(peak),
    );
    let left = reasons(counts);
    if !left.is_empty() {
        let _ = writeln!(err, "left out: {left}");
    }
    for (count, what) in [
        (
            counts.repaired,
            "documents had malformed bytes, which became U+FFFD",
        ),
        (
            counts.dates_unreadable,
            "documents have a date that is none",
        ),
        (
            counts.short,
            "documents are shorter than a shingle: each is one shingle of all its tokens",
        ),
        (
            counts.versions,
            "documents are new versions of one with the same name",
        ),
        (
            counts.common,
            "fingerprints were too common for every two documents to be compared by them",
        ),
        (
            counts.pairs_set_aside,
            "pairs were set aside: their documents have many better ones",
        ),
    ] {
        if count > 0 {
            let _ = writeln!(err, "note: {} {what}", text::count(count));
        }
    }
    for clustering in &report.clusterings {
        let summary = &clustering.summary;
        let _ = writeln!(
            err,
            "{}: {} clusters with {} documents, the largest {}{}",
            clustering.policy,
            text::count(summary.clusters),
            text::count(summary.clustered_documents),
            text::count(summary.largest),
            if summary.flagged > 0 {
                format!(", {} flagged", text::count(summary.flagged))
            } else {
                String::new()
            },
        );
    }
}

/// Threads unless told otherwise.
pub(crate) fn processors() -> NonZeroUsize {
    std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}
