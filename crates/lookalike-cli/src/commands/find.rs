//! `lookalike find COLLECTION DOC…`: what in a collection is like a document, on the fly.

use std::fmt::Write as _;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use lookalike::add::AddError;
use lookalike::core::passages::{Passage, passages};
use lookalike::core::seed::Key;
use lookalike::core::sketcher::Sketcher;
use lookalike::corpus::document::{Document, Format};
use lookalike::filters::Filtered;
use lookalike::find::{FindOptions, Finder, Match, Query, Reread};
use lookalike::storage::StorageError;
use lookalike_server::compared::Side;
use lookalike_server::wire::{self, Found, Share};
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

    /// Tell the passages that each match shares with the document, where its text is kept or
    /// its source still there
    #[arg(long)]
    passages: bool,

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
        if let Some(filtered) = crate::commands::filtered::open(&self.collection)? {
            return self.run_filtered(&filtered, key.as_ref(), global);
        }
        let finder = searchable(&self.collection, key.as_ref())?;
        if self.min_containment.is_some() && !finder.recipe().sketch.tells_containment() {
            let error = AddError::NoContainment(finder.recipe().sketch);
            return Err(Failure::usage(
                error.to_string(),
                "give --min-resemblance, or make the collection with --sketch nested:256 or mod:25",
            )
            .into());
        }
        let options = FindOptions::new(self.top.get(), self.min_resemblance, self.min_containment);
        let mut found_any = false;
        let mut out = text::stdout();
        let (queries, is_rejected) = self.queries(&finder, global)?;
        let (asked, queries): (Vec<Asked>, Vec<Query>) = queries.into_iter().unzip();
        let found = finder.find_all(&queries, &options).map_err(damaged)?;
        for ((Asked { name, text: own }, query), matches) in asked.iter().zip(&queries).zip(&found)
        {
            found_any |= !matches.is_empty();
            let rows: Result<Vec<Found>, StorageError> =
                matches.iter().map(|one| Found::of(&finder, one)).collect();
            let rows = rows.map_err(damaged)?;
            let shared = match own {
                Some(own) => shared(&finder, own, matches).map_err(damaged)?,
                None => Vec::new(),
            };
            let is_one_of_many = self.documents.len() > 1;
            if global.json {
                for (i, row) in rows.iter().enumerate() {
                    let mut line = json!(row);
                    line["query"] = json!(name);
                    if let Some(Some(shared)) = shared.get(i) {
                        line["passages"] = shared.iter().map(|one| one.json.clone()).collect();
                    }
                    writeln!(out, "{line}")?;
                }
            } else {
                if is_one_of_many {
                    writeln!(out, "{name}")?;
                }
                write!(out, "{}", table(&rows, self.exact && query.knows_all()))?;
                write!(out, "{}", told(&rows, &shared))?;
            }
            let gone = shared.iter().filter(|one| one.is_none()).count();
            if self.passages && (gone > 0 || own.is_none()) {
                let all = matches.len();
                let gone = if own.is_none() { all } else { gone };
                let message = format!(
                    "of {gone} of {all} matches no passages can be shown: a text is gone or changed"
                );
                note(global, &message);
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

    fn run_filtered(
        &self,
        filtered: &Filtered,
        key: Option<&Key>,
        global: Global,
    ) -> Result<Exit, Stop> {
        let recipe = filtered
            .recipe(key)
            .map_err(|fault| Failure::from_recipe(&self.collection, &fault))?;
        if self.exact || self.min_resemblance.is_some() || self.min_containment.is_some() {
            let hint = "cluster --resemblance reads again what it accepts";
            let failure = Failure::usage("a filter tells no resemblance", hint);
            return Err(failure.into());
        }
        let mut sketcher = Sketcher::new(&recipe);
        let mut out = text::stdout();
        let mut found_any = false;
        let damaged =
            |error: StorageError| Failure::from_collection(&self.collection, &error.into());
        if let Some(url) = &self.url {
            let docs = filtered.find_named(url).map_err(damaged)?;
            let asked = docs.last().ok_or_else(|| Failure {
                exit: Exit::NotFound,
                message: format!("there is no document `{}`", text::excerpt(url, 200)),
                hint: "give a URL or an id just as it stands in the input".to_owned(),
            })?;
            let found = lookalike::filters::find_like(filtered, *asked).map_err(damaged)?;
            found_any |= !found.is_empty();
            let name = text::excerpt(url, 200);
            super::filtered::write_found(&mut out, filtered, &name, &found, self.top, global)?;
        }
        for path in &self.documents {
            let input = Input::read(path)?;
            let document = input.document(self.format, recipe.tokens, global)?;
            document.check(&recipe).map_err(|why| input.unusable(why))?;
            let found = lookalike::filters::find(filtered, &document, None, &mut sketcher);
            let found = found.map_err(damaged)?;
            found_any |= !found.is_empty();
            super::filtered::write_found(
                &mut out,
                filtered,
                &input.name(),
                &found,
                self.top,
                global,
            )?;
        }
        out.flush()?;
        Ok(if found_any {
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
    ) -> Result<(Vec<(Asked, Query)>, bool), Stop> {
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
            let own = if self.passages {
                finder.collection().text(asked).map_err(damaged)?.ok()
            } else {
                None
            };
            let asked = Asked {
                name: text::excerpt(url, 200),
                text: own,
            };
            return Ok((vec![(asked, query)], false));
        }
        let mut sketcher = finder.sketcher();
        let (mut queries, mut is_rejected) = (Vec::new(), false);
        for path in &self.documents {
            match self.query(finder, path, &mut sketcher, global) {
                Ok(query) => queries.push(query),
                Err(failure) if self.documents.len() == 1 => return Err(failure.into()),
                Err(failure) => {
                    crate::failure::show(&failure);
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
    ) -> Result<(Asked, Query), Failure> {
        let input = Input::read(path)?;
        let document = input.document(self.format, finder.recipe().tokens, global)?;
        let fits = document.check(finder.recipe());
        fits.map_err(|why| input.unusable(why))?;
        let query = finder.query(&document, Some(input.bytes()), sketcher, self.reread());
        if query.samples() == 0 {
            return Err(input.unusable(lookalike::corpus::unusable::Unusable::NoTokens));
        }
        let asked = Asked {
            name: input.name(),
            text: self.passages.then(|| document.text().into_owned()),
        };
        Ok((asked, query))
    }
}

/// A document that is looked for.
struct Asked {
    name: String,
    /// Its text, where passages are to be told.
    text: Option<String>,
}

/// A passage that a match shares.
struct Shared {
    tokens: usize,
    words: String,
    json: serde_json::Value,
}

/// The passages of each match; nothing for one whose text is gone.
fn shared(
    finder: &Finder,
    own: &str,
    matches: &[Match],
) -> Result<Vec<Option<Vec<Shared>>>, StorageError> {
    let recipe = finder.recipe();
    let side = |text: String| Side::new(String::new(), Document::of_text(text), recipe);
    let a = side(own.to_owned());
    let mut all = Vec::with_capacity(matches.len());
    // Few texts at a time are held.
    for some in matches.chunks(16) {
        let docs: Vec<u32> = some.iter().map(|one| one.doc).collect();
        for text in finder.collection().texts(&docs)? {
            let b = text.ok().map(side);
            all.push(b.map(|b| {
                let found = passages(&a.tokens, &b.tokens, recipe.width);
                let told = |passage: &Passage| Shared {
                    tokens: passage.len(),
                    words: own
                        .get(a.text_range(&passage.a))
                        .unwrap_or_default()
                        .to_owned(),
                    json: wire::passage(passage, |x| a.text_range(x), |x| b.text_range(x)),
                };
                found.iter().map(told).collect()
            }));
        }
    }
    Ok(all)
}

/// The passages of matches, for people: the longest of each.
fn told(rows: &[Found], shared: &[Option<Vec<Shared>>]) -> String {
    let mut out = String::new();
    for (row, shared) in rows.iter().zip(shared) {
        let Some(shared) = shared else { continue };
        let name = text::excerpt(&row.named.title(), 120);
        let all = text::counted(shared.len(), "shared passage");
        let _ = writeln!(out, "{name}: {all}");
        let mut longest: Vec<&Shared> = shared.iter().collect();
        longest.sort_by_key(|one| std::cmp::Reverse(one.tokens));
        for one in longest.into_iter().take(3) {
            let tokens = text::counted(one.tokens, "token");
            let words = text::excerpt(&one.words, 80);
            let _ = writeln!(out, "  {tokens}: {words}");
        }
    }
    out
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
