//! `lookalike drift`: texts that ought to be verbatim, and what was done to them.

use std::ffi::OsString;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use anstyle::Style;
use clap::{Args, ValueEnum};
use lookalike::collection::Collection;
use lookalike::core::recipe::Recipe;
use lookalike::corpus::date::rfc3339;
use lookalike::corpus::inputs::{Inputs, Source};
use lookalike::corpus::options::ReadOptions;
use lookalike::corpus::read::read_source;
use lookalike::corpus::record::{Record, Refused};
use lookalike::corpus::unusable::shown;
use lookalike::drift::{
    Around, Baseline, Baselines, DriftOptions, Drifted, DriftedCopy, Markup, Status, of_collection,
};
use lookalike::storage::StorageError;
use lookalike_server::holders::{change, told};
use lookalike_server::wire::Named;
use serde_json::{Value, json};

use crate::args::{Global, InputArgs, KeyArgs, ShingleArgs, threshold};
use crate::collection::searchable;
use crate::failure::{Exit, Failure, Stop};
use crate::input::note;
use crate::output::text;

/// Tell which copies of a text differ from it, and by which words
///
/// Texts that ought to be verbatim: licences, rulings, policies. Copies are looked for in a
/// collection (drift COLLECTION BASELINE…), or with --baseline among any inputs. Case,
/// punctuation and white space do not count; SPDX templates may vary where they say so. The
/// exit status is 1 when something drifted: an altered copy or an excerpt.
#[derive(Args)]
#[command(after_help = "\
Examples:
  lookalike drift --baseline LICENSE repo/
  lookalike drift crawl.lk policy.html --json
  lookalike drift crawl.lk templates.jsonl.gz --baseline-field template
  lookalike drift --baseline notice.txt --template names src/ vendor/")]
pub(crate) struct DriftArgs {
    /// A collection and then baselines; with --baseline, files, folders, patterns or `-`
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<OsString>,

    /// A text that ought to be verbatim, or a container of several; may be given again
    #[arg(long, value_name = "FILE")]
    baseline: Vec<OsString>,

    /// What in a baseline may vary: none, spdx (SPDX's markup), names (that, and names in
    /// brackets: {holder}, [year], <name>)
    #[arg(long, value_name = "MARKUP", default_value = "spdx")]
    template: Template,

    /// Whether words before and behind a copy are changes: auto (not in a document most of
    /// which is something else, or that has less than half of the text, unless it is the one
    /// of the baseline's own address or id), count, ignore
    #[arg(long, value_name = "WHETHER", default_value = "auto")]
    around: AroundArg,

    /// A copy has at least this share of the shingles of its baseline
    #[arg(long, value_name = "C", default_value_t = DriftOptions::default().least, value_parser = threshold)]
    min_containment: f64,

    /// The field of a baseline's text in JSONL, CSV or Parquet [default: that of --text-field]
    #[arg(long, value_name = "FIELD")]
    baseline_field: Option<String>,

    /// Tell only what drifted
    #[arg(long)]
    drifted: bool,

    #[command(flatten)]
    reading: InputArgs,

    #[command(flatten)]
    shingles: ShingleArgs,

    #[command(flatten)]
    key: KeyArgs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Template {
    /// Every word counts
    None,
    /// SPDX's markup
    Spdx,
    /// That, and names in brackets
    Names,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum AroundArg {
    /// Not in a document most of which is something else
    Auto,
    /// Yes
    Count,
    /// No
    Ignore,
}

/// What is counted on the way.
#[derive(Default)]
struct Tally {
    verbatim: usize,
    altered: usize,
    excerpt: usize,
    read: usize,
    rejected: usize,
    /// Without words: empty or binary.
    skipped: usize,
}

impl Tally {
    fn count(&mut self, status: Status) {
        match status {
            Status::Verbatim => self.verbatim += 1,
            Status::Altered => self.altered += 1,
            Status::Excerpt => self.excerpt += 1,
        }
    }

    fn has_drift(&self) -> bool {
        self.altered + self.excerpt > 0
    }
}

/// Changes of a copy that are shown on the terminal.
const SHOWN: usize = 12;

impl DriftArgs {
    pub(crate) fn run(self, global: Global) -> Result<Exit, Stop> {
        let (first, rest) = self
            .paths
            .split_first()
            .map_or((None, &[][..]), |(first, rest)| (Some(first), rest));
        let is_collection =
            |path: &OsString| Path::new(path).is_dir() && Collection::open(Path::new(path)).is_ok();
        let tally = match first {
            Some(folder) if self.baseline.is_empty() => {
                self.in_collection(Path::new(folder), rest, global)?
            }
            Some(folder) if rest.is_empty() && is_collection(folder) => {
                self.in_collection(Path::new(folder), &self.baseline, global)?
            }
            _ => self.in_inputs(global)?,
        };
        if !global.quiet {
            let Tally {
                verbatim,
                altered,
                excerpt,
                skipped,
                ..
            } = tally;
            let excerpts = text::counted(excerpt, "excerpt");
            let skipped = match skipped {
                0 => String::new(),
                some => format!("; {some} skipped (empty or binary)"),
            };
            let told = format!("{verbatim} verbatim, {altered} altered, {excerpts}{skipped}");
            note(global, &told);
            if verbatim + altered + excerpt == 0 {
                note(global, "no copy was found");
            }
        }
        Ok(match tally {
            _ if tally.has_drift() => Exit::NotFound,
            Tally { rejected: 1.., .. } => Exit::Rejected,
            _ => Exit::Done,
        })
    }

    fn options(&self) -> DriftOptions {
        DriftOptions {
            least: self.min_containment,
            around: match self.around {
                AroundArg::Auto => Around::Auto,
                AroundArg::Count => Around::Counted,
                AroundArg::Ignore => Around::Ignored,
            },
        }
    }

    /// Reads the baselines.
    fn baselines(&self, named: &[OsString], recipe: &Recipe) -> Result<Baselines, Stop> {
        let mut reading = self.reading.options(&self.shingles, recipe.tokens);
        if let Some(field) = &self.baseline_field {
            reading.text_field.clone_from(field);
        }
        let markup = match self.template {
            Template::None => Markup::None,
            Template::Spdx => Markup::Spdx,
            Template::Names => Markup::Names,
        };
        let mut all = Vec::new();
        let inputs = Inputs::expand(named, &reading);
        let mut faults: Vec<String> = Vec::new();
        for (name, refused) in &inputs.refused {
            faults.push(format!("`{name}`: {}", refused.message));
        }
        for source in &inputs.sources {
            let read = each_record(source, &reading, &mut |record| match record {
                Ok((name, record)) => match record.document(&reading) {
                    Ok(document) => match Baseline::new(&name, &document.text(), markup, recipe) {
                        Ok(baseline) if baseline.words().is_empty() => {
                            faults.push(format!("`{name}` has no words"));
                        }
                        Ok(baseline) => all.push(baseline),
                        Err(why) => faults.push(format!("`{name}`: {why}")),
                    },
                    Err(why) => faults.push(format!("`{name}`: {why}")),
                },
                Err(refused) => faults.push(format!("`{}`: {refused}", source.name)),
            });
            if let Err(failure) = read {
                faults.push(failure);
            }
        }
        // A baseline that is left out would let its copies pass.
        if let Some(fault) = faults.first() {
            return Err(Failure {
                exit: Exit::NothingUsable,
                message: format!("not every baseline can be used: {fault}"),
                hint: "name files that hold texts; --baseline-field names their field".to_owned(),
            }
            .into());
        }
        if all.is_empty() {
            return Err(Failure::usage(
                "there is no baseline",
                "lookalike drift COLLECTION BASELINE…, or --baseline FILE PATH…",
            )
            .into());
        }
        Ok(Baselines::new(all, recipe, self.options()))
    }

    fn in_collection(
        &self,
        folder: &Path,
        named: &[OsString],
        global: Global,
    ) -> Result<Tally, Stop> {
        let damaged = |error: StorageError| Failure::from_collection(folder, &error.into());
        let key = self.key.key()?;
        if named.is_empty() {
            return Err(Failure::usage(
                "there is no baseline",
                "lookalike drift COLLECTION BASELINE…, or --baseline FILE PATH…",
            )
            .into());
        }
        let finder = searchable(folder, key.as_ref())?;
        let baselines = self.baselines(named, finder.recipe())?;
        let found = of_collection(&finder, &baselines).map_err(damaged)?;
        let mut tally = Tally::default();
        let mut out = text::stdout();
        let mut is_read = true;
        for copy in &found.copies {
            tally.count(copy.drifted.status);
            let named = Named::of(finder.collection(), copy.doc).map_err(damaged)?;
            let baseline = baselines.all()[copy.baseline].name();
            let line = Line {
                baseline,
                name: named.title(),
                drifted: &copy.drifted,
                named: Some((&named, copy)),
            };
            self.write(&mut out, &line, global, &mut is_read)?;
        }
        flush(&mut out, is_read)?;
        tally.rejected = found.lost.len();
        if !found.lost.is_empty() {
            let lost = text::counted(found.lost.len(), "document");
            let message = format!(
                "{lost} may be copies, but the text is gone or changed (add --keep-text keeps texts)"
            );
            note(global, &message);
        }
        Ok(tally)
    }

    fn in_inputs(&self, global: Global) -> Result<Tally, Stop> {
        let recipe = self.shingles.recipe();
        let baselines = self.baselines(&self.baseline, &recipe)?;
        let reading = self.reading.options(&self.shingles, recipe.tokens);
        let inputs = Inputs::expand(&self.paths, &reading);
        let mut sketcher = baselines.sketcher();
        let mut tally = Tally::default();
        let mut out = text::stdout();
        let mut written = Ok(());
        let mut is_read = true;
        let reject = |name: &str, why: &str, tally: &mut Tally| {
            tally.rejected += 1;
            note(global, &format!("`{name}` is left out: {why}"));
        };
        for (name, refused) in inputs
            .refused
            .iter()
            .filter(|(_, refused)| refused.is_rejected)
        {
            reject(name, &refused.message, &mut tally);
        }
        for source in &inputs.sources {
            let mut refusals: Vec<String> = Vec::new();
            let read = each_record(source, &reading, &mut |record| match record {
                Ok((name, record)) => {
                    tally.read += 1;
                    let Ok(document) = record.document(&reading) else {
                        tally.skipped += 1;
                        return;
                    };
                    let found = baselines.judge(&document, &[&name], &mut sketcher);
                    let Some((which, drifted)) = found else {
                        return;
                    };
                    tally.count(drifted.status);
                    let line = Line {
                        baseline: baselines.all()[which].name(),
                        name,
                        drifted: &drifted,
                        named: None,
                    };
                    if written.is_ok() {
                        written = self.write(&mut out, &line, global, &mut is_read);
                    }
                }
                Err(refused) if refused.is_rejected => refusals.push(refused.to_string()),
                Err(_) => tally.skipped += 1,
            });
            std::mem::replace(&mut written, Ok(()))?;
            refusals.extend(read.err());
            // A file of another kind may have thousands, all for the same reason.
            match refusals.as_slice() {
                [] => {}
                [why] => reject(&source.name, why, &mut tally),
                [first, rest @ ..] => {
                    tally.rejected += rest.len();
                    let more = text::counted(rest.len(), "more record");
                    reject(&source.name, &format!("{first} (and {more})"), &mut tally);
                }
            }
        }
        flush(&mut out, is_read)?;
        if tally.read == 0 {
            return Err(Failure {
                exit: Exit::NothingUsable,
                message: "there is no document in the inputs".to_owned(),
                hint: "name files or folders that hold texts".to_owned(),
            }
            .into());
        }
        Ok(tally)
    }

    /// Tells of a copy. Where nobody reads any more (`| head`) the rest is judged all the
    /// same: the exit status is an answer too.
    fn write(
        &self,
        out: &mut impl Write,
        line: &Line<'_>,
        global: Global,
        is_read: &mut bool,
    ) -> Result<(), Stop> {
        if !*is_read || self.drifted && line.drifted.status == Status::Verbatim {
            return Ok(());
        }
        let written = if global.json {
            writeln!(out, "{}", line.json())
        } else {
            line.tell(out)
        };
        match written.map_err(Stop::from) {
            Err(Stop::PipeClosed) => *is_read = false,
            other => other?,
        }
        Ok(())
    }
}

/// Writes what is left, if anybody reads it.
fn flush(out: &mut impl Write, is_read: bool) -> Result<(), Stop> {
    match out.flush().map_err(Stop::from) {
        Err(Stop::PipeClosed) => Ok(()),
        other if is_read => other,
        _ => Ok(()),
    }
}

/// A copy as it is told.
struct Line<'a> {
    baseline: &'a str,
    name: String,
    drifted: &'a Drifted,
    named: Option<(&'a Named, &'a DriftedCopy)>,
}

impl Line<'_> {
    fn json(&self) -> Value {
        let drifted = self.drifted;
        let changes = drifted.changes.iter().map(|edit| change(edit, "baseline"));
        let mut out = json!({
            "baseline": self.baseline,
            "url": self.named.map_or(Some(&self.name), |(named, _)| named.url.as_ref()),
            "resemblance": drifted.resemblance,
            "status": drifted.status.name(),
            "changes": changes.collect::<Vec<_>>(),
            "around": drifted.around,
        });
        if !drifted.filled.is_empty() {
            let filled = drifted.filled.iter();
            let filled = filled.map(|one| json!({ "name": one.name, "copy": one.words }));
            out["filled"] = filled.collect();
        }
        if let Some((named, copy)) = self.named {
            out["doc"] = json!(copy.doc);
            out["id"] = json!(named.id);
            out["date"] = json!(copy.date.map(rfc3339));
            out["since"] = json!(copy.since.map(rfc3339));
            out["verbatim_until"] = json!(copy.verbatim_until.map(rfc3339));
            out["present"] = json!(copy.is_present);
            if let Some(place) = &named.place {
                out["place"] = json!(place);
            }
        }
        out
    }

    fn tell(&self, out: &mut impl Write) -> std::io::Result<()> {
        let bold = Style::new().bold();
        let drifted = self.drifted;
        let name = text::excerpt(&self.name, 200);
        let status = drifted.status.name();
        writeln!(
            out,
            "{bold}{status:<8}{bold:#}  {name}  ({})",
            text::excerpt(self.baseline, 120)
        )?;
        if let Some((_, copy)) = self.named
            && let Some(since) = copy.since
        {
            let day = |date| rfc3339(date).trim_end_matches("T00:00:00Z").to_owned();
            let until = copy.verbatim_until.map_or_else(String::new, |until| {
                format!(", verbatim until {}", day(until))
            });
            writeln!(out, "          since {}{until}", day(since))?;
        }
        for edit in drifted.changes.iter().take(SHOWN) {
            writeln!(out, "          {}", told(edit, 100))?;
        }
        let more = drifted.changes.len().saturating_sub(SHOWN);
        if more > 0 {
            writeln!(out, "          and {} more", text::counted(more, "change"))?;
        }
        Ok(())
    }
}

/// What receives records, each with the name it is told by.
type EachNamed<'e> = dyn FnMut(Result<(String, &Record<'_>), Refused>) + 'e;

/// Calls back with each record of a source, under the name it is told by.
fn each_record(
    source: &Source,
    reading: &ReadOptions,
    each: &mut EachNamed<'_>,
) -> Result<(), String> {
    let read = read_source(source, reading, &mut |batch| {
        batch.for_each(&mut |record| match record {
            Ok(record) => {
                let name = record.url.as_ref().or(record.id.as_ref());
                let name = name.map_or_else(|| source.name.clone(), ToString::to_string);
                each(Ok((name, &record)));
            }
            Err(refused) => each(Err(refused)),
        });
        ControlFlow::Continue(())
    });
    read.map_err(|error| {
        let why = std::error::Error::source(&error).map_or_else(String::new, ToString::to_string);
        format!("`{}`: {why}", shown(&PathBuf::from(&source.path)))
    })
}
