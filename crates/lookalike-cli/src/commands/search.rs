//! `lookalike index COLLECTION` and `lookalike search COLLECTION WORDS`: full-text search.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use lookalike::search::{self, Built, SearchError, SearchIndex};
use lookalike_server::search::{Found, FoundGroup, found};
use serde_json::json;

use crate::args::{Global, KeyArgs, MachineArgs};
use crate::collection::{open, searchable};
use crate::failure::{Exit, Failure, Stop};
use crate::input::note;
use crate::output::text;

/// Make the index of a collection's texts, for search
///
/// Sweeps that it has already are not read again. `add --search` does the same for a sweep
/// as it is added.
#[derive(Args)]
#[command(after_help = "\
Examples:
  lookalike index crawl.lk
  lookalike search crawl.lk lost ships")]
pub(crate) struct IndexArgs {
    /// The collection
    collection: PathBuf,

    #[command(flatten)]
    machine: MachineArgs,
}

impl IndexArgs {
    pub(crate) fn run(self, global: Global) -> Result<Exit, Stop> {
        let built = build(&self.collection, self.machine.memory()?, global)?;
        if global.json {
            let Built {
                documents,
                added,
                lost,
            } = built;
            let mut out = text::stdout();
            let line = json!({ "documents": documents, "added": added, "lost": lost });
            writeln!(out, "{line}")?;
            out.flush()?;
        }
        Ok(Exit::Done)
    }
}

/// Makes the index of a collection, and says what it has.
pub(crate) fn build(folder: &Path, memory: u64, global: Global) -> Result<Built, Failure> {
    let collection = open(folder)?;
    let built = search::build(&collection, memory, |_| {});
    let built = built.map_err(|error| failure(folder, error))?;
    let mut said = format!(
        "search index: {}",
        text::counted(built.documents, "document")
    );
    if built.lost > 0 {
        let lost = text::counted(built.lost, "document");
        said = format!("{said}; {lost} cannot be found, for the text is not there any more");
    }
    note(global, &said);
    Ok(built)
}

/// Why there is no search.
pub(crate) fn failure(folder: &Path, error: SearchError) -> Failure {
    let make = format!(
        "lookalike index {}",
        lookalike::corpus::unusable::shown(folder)
    );
    let again = format!("make it again with: {make}");
    let (exit, hint) = match error {
        SearchError::Collection(error) => return Failure::from_collection(folder, &error.into()),
        SearchError::Missing => (Exit::NothingUsable, format!("make one with: {make}")),
        SearchError::Behind => (
            Exit::NothingUsable,
            format!("bring it up to date with: {make}"),
        ),
        SearchError::Locked => (Exit::Locked, "wait until it is done".to_owned()),
        SearchError::Damaged(_) => (Exit::Damaged, again),
        _ => (Exit::Machine, again),
    };
    let cause = std::error::Error::source(&error);
    let cause = cause.map_or_else(String::new, |cause| format!(": {cause}"));
    Failure {
        exit,
        message: format!("{error}{cause}"),
        hint,
    }
}

/// Find documents by their words, one place for each cluster
///
/// All words must be there; those in quotation marks together, those behind a minus not at
/// all: write `--` before the words then. The collection needs an index (`index`, or
/// `add --search`).
#[derive(Args)]
#[command(after_help = "\
Examples:
  lookalike search crawl.lk lost ships
  lookalike search crawl.lk --json -- '\"lost ships\" -harbour'")]
pub(crate) struct SearchArgs {
    /// The collection
    collection: PathBuf,

    /// What is looked for
    #[arg(required = true, value_name = "WORDS")]
    words: Vec<String>,

    /// How many clusters
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=1000))]
    top: u16,

    #[command(flatten)]
    key: KeyArgs,
}

impl SearchArgs {
    pub(crate) fn run(self, global: Global) -> Result<Exit, Stop> {
        let finder = searchable(&self.collection, self.key.key()?.as_ref())?;
        let wrong = |error| failure(&self.collection, error);
        let index = SearchIndex::open(finder.collection()).map_err(wrong)?;
        let query = self.words.join(" ");
        let found = found(&finder, &index, &query, self.top.into()).map_err(wrong)?;
        let mut out = text::stdout();
        for group in &found.groups {
            if global.json {
                writeln!(out, "{}", json!(group))?;
            } else {
                tell(&mut out, group)?;
            }
        }
        out.flush()?;
        let Found { total, groups, .. } = &found;
        let documents = text::counted(*total, "document");
        let shown = text::counted(groups.len(), "cluster");
        note(
            global,
            &format!("{documents} with all of that; {shown} shown"),
        );
        Ok(if *total == 0 {
            Exit::NotFound
        } else {
            Exit::Done
        })
    }
}

fn tell(out: &mut impl Write, group: &FoundGroup) -> std::io::Result<()> {
    let bold = anstyle::Style::new().bold();
    let name = text::excerpt(&group.named.dated_title(), 120);
    writeln!(
        out,
        "{:>3}  {bold}{}{bold:#}",
        group.rank,
        text::excerpt(&group.title, 120)
    )?;
    writeln!(out, "     {name}")?;
    writeln!(out, "     {}", text::excerpt(&group.snippet, 400))?;
    for other in group.also.iter().take(3) {
        let name = text::excerpt(&other.named.dated_title(), 120);
        writeln!(out, "     = {name}")?;
    }
    if group.also.len() > 3 {
        writeln!(out, "     = {} more like this", group.also.len() - 3)?;
    }
    Ok(())
}
