//! `lookalike resketch COLLECTION --key-file NEW`: a fresh sample for a whole collection.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use lookalike::add::AddOptions;
use lookalike::add::redraw::{RedrawError, Redrew, Unread, redraw};
use lookalike::core::seed::Seed;
use lookalike::corpus::unusable::shown;
use serde_json::{Map, Value, json};

use crate::args::{Global, MachineArgs, read_key};
use crate::failure::{Exit, Failure, Stop};
use crate::output::progress::Progress;
use crate::output::{text, times};

/// Draw a fresh sample for a whole collection
///
/// Who knows which fingerprints are kept can change a text so that none of them is left. With
/// a new secret the texts are read again, from the collection or from where they were added,
/// and other fingerprints are kept. Documents keep their numbers, URLs, dates and captures;
/// clusterings are made again. Interrupted, the collection is as it was before.
#[derive(Args)]
#[command(after_help = "\
Example:
  head -c 32 /dev/urandom > new.key
  lookalike resketch crawl.lk --key-file new.key")]
pub(crate) struct ResketchArgs {
    /// The collection
    collection: PathBuf,

    /// The new secret: a file of at least 16 bytes
    #[arg(long, value_name = "FILE")]
    key_file: PathBuf,

    /// Keep documents whose text cannot be had again, without a sketch: they stay known by
    /// number, URL and date, and are like nothing
    #[arg(long)]
    allow_missing: bool,

    #[command(flatten)]
    machine: MachineArgs,
}

impl ResketchArgs {
    pub(crate) fn run(self, global: Global) -> Result<Exit, Stop> {
        let key = read_key(&self.key_file)?;
        let options = AddOptions {
            threads: self.machine.threads(),
            memory: self.machine.memory()?,
            ..AddOptions::default()
        };
        let unread = if self.allow_missing {
            Unread::Kept
        } else {
            Unread::Refused
        };
        let mut progress = Progress::new(global);
        let seed = Seed::Secret(key);
        let done = redraw(&self.collection, seed, unread, &options, &mut |event| {
            progress.event(&event);
        });
        let seconds = together(&progress.finish());
        let done = done.map_err(|error| self.failure(error))?;
        times::record(&self.collection, "resketch", &seconds);
        let mut out = text::stdout();
        if global.json {
            writeln!(out, "{}", report(&done, &seconds))?;
        } else if !global.quiet {
            write!(out, "{}", text::columns(&rows(&done)))?;
        }
        out.flush()?;
        Ok(Exit::Done)
    }

    fn failure(&self, error: RedrawError) -> Failure {
        let name = shown(&self.collection);
        match error {
            RedrawError::Add(error) => Failure::from_add(&self.collection, error),
            RedrawError::Recipe(fault) => Failure::from_recipe(&self.collection, &fault),
            RedrawError::Same => Failure::usage(
                format!("`{name}` is sketched by that key already"),
                "make another with: head -c 32 /dev/urandom > key",
            ),
            other => Failure {
                exit: Exit::NotFound,
                message: format!("`{name}` is as it was: {other}"),
                hint: "bring the files back, or leave these documents without a sketch with \
                       --allow-missing"
                    .to_owned(),
            },
        }
    }
}

/// Each phase once: some are gone through sweep by sweep.
fn together(seconds: &[(&'static str, f64, f64)]) -> Vec<(&'static str, f64, f64)> {
    let mut all: Vec<(&'static str, f64, f64)> = Vec::new();
    for &(phase, wall, cpu) in seconds {
        match all.iter_mut().find(|known| known.0 == phase) {
            Some(known) => (known.1, known.2) = (known.1 + wall, known.2 + cpu),
            None => all.push((phase, wall, cpu)),
        }
    }
    all
}

fn report(done: &Redrew, seconds: &[(&'static str, f64, f64)]) -> Value {
    let times = seconds.iter();
    let times = times.map(|(phase, wall, _)| ((*phase).to_owned(), json!(wall)));
    let times: Map<String, Value> = times.collect();
    json!({
        "recipe": done.recipe.to_string(),
        "documents": done.documents,
        "sketched": done.sketched,
        "missing": done.missing,
        "distinct": done.distinct,
        "pairs": done.pairs,
        "clusterings": done.clusterings.len(),
        "seconds": times,
    })
}

fn rows(done: &Redrew) -> Vec<Vec<String>> {
    let row = |what: &str, number: u64| vec![what.to_owned(), text::count(number)];
    let mut rows = vec![
        row("documents", done.documents.into()),
        row("read and sketched again", done.sketched),
        row("with a sketch of their own", done.distinct),
        row("pairs", done.pairs),
        row("clusterings made again", done.clusterings.len() as u64),
    ];
    if done.missing > 0 {
        rows.push(row("without a text, and so without a sketch", done.missing));
    }
    rows
}
