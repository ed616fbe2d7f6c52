//! `lookalike history COLLECTION URL`: one page through time.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use lookalike::storage::StorageError;
use lookalike::sweeps::Timeline;
use lookalike_server::history::{AlikeRow, Told};
use serde_json::json;

use crate::args::{Global, KeyArgs};
use crate::collection::searchable;
use crate::failure::{Exit, Failure, Stop};
use crate::input::note;
use crate::output::text;

/// Show every capture of a page, how each differs from the one before, what was like it
///
/// The page is named by its URL or id. Of each capture: how it compares with the one
/// before, the best few pages of other URLs that were in its cluster in the same sweep,
/// and where its text is now if the page itself no longer has it.
#[derive(Args)]
#[command(after_help = "\
Examples:
  lookalike history crawl.lk https://example.org/page
  lookalike history crawl.lk https://example.org/page --json | jq '.captures[].change'")]
pub(crate) struct HistoryArgs {
    /// The collection
    collection: PathBuf,

    /// The URL of a page, or its id
    #[arg(value_name = "URL")]
    name: String,

    #[command(flatten)]
    key: KeyArgs,
}

impl HistoryArgs {
    pub(crate) fn run(self, global: Global) -> Result<Exit, Stop> {
        let damaged =
            |error: StorageError| Failure::from_collection(&self.collection, &error.into());
        let finder = searchable(&self.collection, self.key.key()?.as_ref())?;
        let timeline = Timeline::of(finder.collection()).map_err(damaged)?;
        let told = Told::of(&finder, &timeline, &self.name).map_err(damaged)?;
        let told = told.ok_or_else(|| Failure {
            exit: Exit::NotFound,
            message: format!("there is no page `{}`", text::excerpt(&self.name, 200)),
            hint: "give a URL or an id just as it stands in the input".to_owned(),
        })?;
        let mut out = text::stdout();
        if global.json {
            writeln!(out, "{}", json!(told))?;
        } else {
            write!(out, "{}", as_text(&told))?;
        }
        out.flush()?;
        if told.undated > 0 {
            let captures = text::counted(told.undated, "capture");
            note(
                global,
                &format!("{captures} without a date belong to no sweep"),
            );
        }
        Ok(Exit::Done)
    }
}

fn as_text(told: &Told) -> String {
    let mut rows = vec![
        ["captured", "change", "resemblance", "kept", "old", "tokens"]
            .map(str::to_owned)
            .to_vec(),
    ];
    let mut others = Vec::new();
    let mut missed = told.missed.iter().peekable();
    let gap = |name: &str| vec![name.to_owned(), "not seen".to_owned()];
    for row in &told.captures {
        while let Some(sweep) = missed.next_if(|sweep| sweep.number < row.sweep.number) {
            rows.push(gap(&sweep.sweep));
        }
        let when = row.date.as_ref().unwrap_or(&row.sweep.sweep);
        let when = when.strip_suffix("T00:00:00Z").unwrap_or(when).to_owned();
        let share = |share: &Option<lookalike_server::wire::Share>| {
            share.map_or_else(String::new, |share| share.shown())
        };
        let mut tell = |what: &str, all: &[AlikeRow]| {
            for one in all {
                let name = text::excerpt(&one.named.title(), 56);
                let alike = one
                    .resemblance
                    .map_or_else(String::new, |share| share.shown());
                others.push(vec![format!("{when}, {what}"), name, alike]);
            }
        };
        tell("like it", &row.neighbours);
        tell("now at", &row.now);
        rows.push(vec![
            when,
            row.change_shown(),
            share(&row.resemblance),
            share(&row.previous_in_this),
            share(&row.this_in_previous),
            text::count(row.tokens),
        ]);
    }
    rows.extend(missed.map(|sweep| gap(&sweep.sweep)));
    let mut out = text::columns(&rows);
    if !others.is_empty() {
        out.push('\n');
        out += &text::columns(&others);
    }
    out
}
