//! `lookalike find COLLECTION DOC…`: what in a collection is like a document, on the fly.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use lookalike::core::estimate::Estimate;
use lookalike::core::sketcher::Sketcher;
use lookalike::corpus::date::rfc3339;
use lookalike::corpus::document::Format;
use lookalike::find::{FindError, FindOptions, Finder, Match, Query};
use lookalike::storage::StorageError;
use serde_json::{Value, json};

use crate::args::{Global, KeyArgs, threshold};
use crate::failure::{Exit, Failure, Stop};
use crate::input::{Input, note};
use crate::output::text;

/// Find what resembles a document, contains it or is contained in it
///
/// The document is a file, `-`, or with --url one of the collection. Those that resemble it
/// come first, then those that share much of it; figures are estimates with 95 % intervals,
/// and with --exact true values where the sources are still there.
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
    top: usize,

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
        let finder = Finder::open(&self.collection, key.as_ref()).map_err(|error| match error {
            FindError::Recipe(fault) => Failure::from_recipe(&self.collection, &fault),
            FindError::Collection(error) => Failure::from_collection(&self.collection, &error),
            other => Failure {
                exit: Exit::Damaged,
                message: other.to_string(),
                hint: String::new(),
            },
        })?;
        let options = self.options();
        let mut found_any = false;
        let mut out = text::stdout();
        let queries = self.queries(&finder, global)?;
        let (names, queries): (Vec<String>, Vec<Query>) = queries.into_iter().unzip();
        let found = finder.find_all(&queries, &options).map_err(damaged)?;
        for (name, matches) in names.iter().zip(&found) {
            found_any |= !matches.is_empty();
            let rows = rows(&finder, matches).map_err(damaged)?;
            let is_one_of_many = self.documents.len() > 1;
            if global.json {
                for row in &rows {
                    let mut line = row.json();
                    if is_one_of_many {
                        line["query"] = json!(name);
                    }
                    writeln!(out, "{line}")?;
                }
            } else {
                if is_one_of_many {
                    writeln!(out, "{name}")?;
                }
                write!(out, "{}", table(&rows, self.exact))?;
            }
            if matches.is_empty() && !global.quiet {
                note(global, &format!("nothing in the collection is like {name}"));
            }
        }
        out.flush()?;
        Ok(if found_any {
            Exit::Done
        } else {
            Exit::NotFound
        })
    }

    /// A threshold that was typed is the only one, unless both were.
    fn options(&self) -> FindOptions {
        let default = FindOptions::default();
        let (min_resemblance, min_containment) = match (self.min_resemblance, self.min_containment)
        {
            (None, None) => (default.min_resemblance, default.min_containment),
            typed => typed,
        };
        FindOptions {
            top: self.top,
            min_resemblance,
            min_containment,
        }
    }

    /// What is looked for, with its name.
    fn queries(&self, finder: &Finder, global: Global) -> Result<Vec<(String, Query)>, Stop> {
        if let Some(url) = &self.url {
            let damaged =
                |error: StorageError| Failure::from_collection(&self.collection, &error.into());
            let asked = finder.collection().newest_named(url).map_err(damaged)?;
            let asked = asked.ok_or_else(|| Failure {
                exit: Exit::NotFound,
                message: format!("there is no document `{}`", text::excerpt(url, 200)),
                hint: "give a URL or an id just as it stands in the input".to_owned(),
            })?;
            let query = finder.query_of(asked, self.exact).map_err(damaged)?;
            return Ok(vec![(text::excerpt(url, 200), query)]);
        }
        let mut sketcher = finder.sketcher();
        let documents = self.documents.iter();
        let queries = documents.map(|path| self.query(finder, path, &mut sketcher, global));
        Ok(queries.collect::<Result<_, Failure>>()?)
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
        let query = finder.query(&document, Some(input.bytes()), sketcher, self.exact);
        if query.samples() == 0 {
            return Err(input.unusable(lookalike::corpus::unusable::Unusable::NoTokens));
        }
        Ok((input.name(), query))
    }
}

/// A match as it is shown.
struct Row<'a> {
    id: Option<String>,
    url: Option<String>,
    date: Option<String>,
    cluster: Option<u32>,
    found: &'a Match,
}

fn rows<'a>(finder: &Finder, matches: &'a [Match]) -> Result<Vec<Row<'a>>, StorageError> {
    let collection = finder.collection();
    let row = |found: &'a Match| {
        let entry = collection.entry(found.doc)?;
        let (id, url) = collection.strings(found.doc, &entry)?;
        Ok(Row {
            id,
            url,
            date: collection.date(found.doc, &entry).map(rfc3339),
            cluster: finder.cluster(found.doc)?,
            found,
        })
    };
    matches.iter().map(row).collect()
}

impl Row<'_> {
    fn json(&self) -> Value {
        let mut line = json!({
            "doc": self.found.doc,
            "id": self.id,
            "url": self.url,
            "date": self.date,
        });
        let exact = self.found.exact();
        let figures = [
            ("resemblance", self.found.resemblance(), 0),
            ("query_in_doc", self.found.query_in_doc(), 1),
            ("doc_in_query", self.found.doc_in_query(), 2),
        ];
        for (name, estimate, which) in figures {
            // Without a sample there is nothing to say.
            if let Some(estimate) = estimate {
                line[name] = json!({
                    "value": estimate.value,
                    "low": estimate.low,
                    "high": estimate.high,
                    "samples": estimate.samples,
                });
                if let Some(exact) = exact {
                    line[name]["exact"] = json!(exact[which]);
                }
            }
        }
        line["grade"] = json!(self.found.grade.name());
        line["cluster"] = json!(self.cluster);
        line
    }

    fn name(&self) -> String {
        let name = self.url.as_ref().or(self.id.as_ref());
        name.map_or_else(
            || format!("document {}", self.found.doc),
            |name| text::excerpt(name, 120),
        )
    }
}

/// The matches, for people.
fn table(rows: &[Row<'_>], is_exact: bool) -> String {
    let share = |estimate: Option<Estimate>, exact: Option<f64>| match (estimate, exact) {
        (_, Some(exact)) => text::percent(exact),
        (Some(e), None) => format!(
            "{} ({} to {})",
            text::percent(e.value),
            text::percent(e.low),
            text::percent(e.high)
        ),
        (None, None) => String::new(),
    };
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
        let exact = row.found.exact();
        let is_estimate = is_exact && exact.is_none();
        let which = |which: usize| exact.map(|exact| exact[which]);
        let samples = row.found.resemblance().map_or(0, |e| e.samples);
        table.push(vec![
            row.name(),
            row.date.clone().unwrap_or_default(),
            row.found.grade.name().to_owned(),
            share(row.found.resemblance(), which(0)),
            share(row.found.query_in_doc(), which(1)),
            share(row.found.doc_in_query(), which(2)),
            if is_estimate {
                format!("{samples}, source gone")
            } else {
                samples.to_string()
            },
        ]);
    }
    if rows.is_empty() {
        return String::new();
    }
    text::columns(&table)
}
