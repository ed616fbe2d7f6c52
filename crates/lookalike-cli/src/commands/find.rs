//! `lookalike find COLLECTION DOC…`: what in a collection is like a document, on the fly.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use lookalike::core::sketcher::Sketcher;
use lookalike::corpus::document::Format;
use lookalike::find::{FindOptions, Finder, Query, Reread};
use lookalike::storage::StorageError;
use lookalike_server::wire::{Found, Share};
use serde_json::json;

use crate::args::{Global, KeyArgs, threshold};
use crate::collection::searchable;
use crate::failure::{Exit, Failure, Stop};
use crate::input::{Input, note};
use crate::output::text;

/// Find what resembles a document, contains it or is contained in it
///
/// The document is a file, `-`, or with --url one of the collection. Those that are
/// alike come first, then those that hold it, then those that share something with it.
/// Figures are estimates with 95 % intervals; where few samples must tell which long
/// documents hold a short text, and with --exact always, sources that are still there are
/// read again and figures are true values.
#[derive(Args)]
#[command(after_help = "\
Examples:
  lookalike find crawl.lk page.html
  lookalike find crawl.lk --url https://example.org/page --exact
  lookalike find crawl.lk *.txt --json --min-containment 0.8 --top 3")]
pub(crate) struct FindArgs {
    /// The collection
    collection: PathBuf,

    /// Documents to look for; `-` for standard input
    #[arg(value_name = "DOC", required_unless_present = "url")]
    documents: Vec<PathBuf>,

    /// Look for a document of the collection, by its URL or id
    #[arg(long, value_name = "URL", conflicts_with = "documents")]
    url: Option<String>,

    /// At most so many matches for each document
    #[arg(long, value_name = "N", default_value = "10")]
    top: std::num::NonZeroUsize,

    /// Find what resembles it by so much [default: 0.3, unless --min-containment is given]
    #[arg(long, value_name = "R", value_parser = threshold)]
    min_resemblance: Option<f64>,

    /// Find what contains it, or is contained in it, by so much [default: 0.5, unless
    /// --min-resemblance is given]
    #[arg(long, value_name = "C", value_parser = threshold)]
    min_containment: Option<f64>,

    /// Read the sources of matches again and tell true values
    #[arg(long)]
    exact: bool,

    /// What the documents are: auto, html or text
    #[arg(long, value_name = "FORMAT", default_value_t)]
    format: Format,

    #[command(flatten)]
    key: KeyArgs,
}

impl FindArgs {
    pub(crate) fn run(self, global: Global) -> Result<Exit, Stop> {
        let damaged =
            |error: StorageError| Failure::from_collection(&self.collection, &error.into());
        let key = self.key.key()?;
        let finder = searchable(&self.collection, key.as_ref())?;
        let options = FindOptions::new(self.top.get(), self.min_resemblance, self.min_containment);
        let mut found_any = false;
        let mut out = text::stdout();
        let (queries, is_rejected) = self.queries(&finder, global)?;
        let (names, queries): (Vec<String>, Vec<Query>) = queries.into_iter().unzip();
        let found = finder.find_all(&queries, &options).map_err(damaged)?;
        for ((name, query), matches) in names.iter().zip(&queries).zip(&found) {
            found_any |= !matches.is_empty();
            let rows: Result<Vec<Found>, StorageError> =
                matches.iter().map(|one| Found::of(&finder, one)).collect();
            let rows = rows.map_err(damaged)?;
            let is_one_of_many = self.documents.len() > 1;
            if global.json {
                for row in &rows {
                    let mut line = json!(row);
                    line["query"] = json!(name);
                    writeln!(out, "{line}")?;
                }
            } else {
                if is_one_of_many {
                    writeln!(out, "{name}")?;
                }
                write!(out, "{}", table(&rows, self.exact && query.knows_all()))?;
            }
            if self.exact && !query.knows_all() {
                note(
                    global,
                    &format!("the source of {name} is gone or changed: figures are estimates"),
                );
            }
            if matches.is_empty() && !global.quiet {
                note(global, &format!("nothing in the collection is like {name}"));
                let kind = finder.recipe().sketch;
                if let Some(length) = query.may_be_missed_in(kind).filter(|_| self.url.is_none()) {
                    let length = text::count(length);
                    note(
                        global,
                        &format!(
                            "documents of more than {length} shingles may hold it all the same: they keep too few samples to tell (add --samples keeps more)"
                        ),
                    );
                }
            }
        }
        out.flush()?;
        Ok(if is_rejected {
            Exit::Rejected
        } else if found_any {
            Exit::Done
        } else {
            Exit::NotFound
        })
    }

    fn reread(&self) -> Reread {
        if self.exact {
            Reread::Always
        } else {
            Reread::Doubtful
        }
    }

    /// What is looked for, with its name, and whether something of it cannot be.
    fn queries(
        &self,
        finder: &Finder,
        global: Global,
    ) -> Result<(Vec<(String, Query)>, bool), Stop> {
        if let Some(url) = &self.url {
            let damaged =
                |error: StorageError| Failure::from_collection(&self.collection, &error.into());
            let asked = finder.collection().newest_named(url).map_err(damaged)?;
            let asked = asked.ok_or_else(|| Failure {
                exit: Exit::NotFound,
                message: format!("there is no document `{}`", text::excerpt(url, 200)),
                hint: "give a URL or an id just as it stands in the input".to_owned(),
            })?;
            let query = finder.query_of(asked, self.reread()).map_err(damaged)?;
            return Ok((vec![(text::excerpt(url, 200), query)], false));
        }
        let mut sketcher = finder.sketcher();
        let (mut queries, mut is_rejected) = (Vec::new(), false);
        for path in &self.documents {
            match self.query(finder, path, &mut sketcher, global) {
                Ok(query) => queries.push(query),
                Err(failure) if self.documents.len() == 1 => return Err(failure.into()),
                Err(failure) => {
                    failure.show();
                    is_rejected = true;
                }
            }
        }
        if queries.is_empty() {
            return Err(Failure {
                exit: Exit::NothingUsable,
                message: "none of the documents can be looked for".to_owned(),
                hint: "each of them is told above".to_owned(),
            }
            .into());
        }
        Ok((queries, is_rejected))
    }

    fn query(
        &self,
        finder: &Finder,
        path: &Path,
        sketcher: &mut Sketcher,
        global: Global,
    ) -> Result<(String, Query), Failure> {
        let input = Input::read(path)?;
        let document = input.document(self.format, finder.recipe().tokens, global)?;
        let query = finder.query(&document, Some(input.bytes()), sketcher, self.reread());
        if query.samples() == 0 {
            return Err(input.unusable(lookalike::corpus::unusable::Unusable::NoTokens));
        }
        Ok((input.name(), query))
    }
}

/// The matches, for people.
fn table(rows: &[Found], is_exact: bool) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let head = [
        "document",
        "date",
        "grade",
        "resemblance",
        "query in it",
        "it in query",
        "samples",
    ];
    let mut table = vec![head.map(str::to_owned).to_vec()];
    for row in rows {
        let share =
            |share: Option<Share>| share.map_or_else(String::new, |share| share.with_interval());
        let samples = row.resemblance.map_or(0, |share| share.samples());
        let is_estimate = is_exact && !row.resemblance.is_some_and(|share| share.is_exact());
        table.push(vec![
            text::excerpt(&row.named.title(), 120),
            row.named.date.clone().unwrap_or_default(),
            row.grade.to_owned(),
            share(row.resemblance),
            share(row.query_in_doc),
            share(row.doc_in_query),
            if is_estimate {
                format!("{samples}, source gone")
            } else {
                samples.to_string()
            },
        ]);
    }
    text::columns(&table)
}
