//! `lookalike copies COLLECTION DOC`: who holds a text.

use std::fmt::Write as _;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use lookalike::copies::{Copies, CopiesOptions, Now, copies};
use lookalike::corpus::document::{Document, Format};
use lookalike::corpus::unusable::Unusable;
use lookalike::find::{Finder, Reread};
use lookalike::storage::StorageError;
use lookalike_server::holders::{Holder, judged_by, told_version};

use crate::args::{Global, KeyArgs, threshold};
use crate::collection::searchable;
use crate::failure::{Exit, Failure, Stop};
use crate::input::{Input, note};
use crate::output::{file, text};

/// List who holds a text: identical, full, altered or partial copies, and whom to write to
///
/// Every document of the collection that has enough of the text is judged by its own text,
/// kept or read again: identical (the same words and no others), full (all its words among
/// others), altered (the whole of it with words changed), partial (a part). Copies with the
/// same words carry one version. Newest first; `now` says whether the address still has it,
/// has a newer copy (changed), or none any more (gone).
#[derive(Args)]
#[command(after_help = "\
Examples:
  lookalike copies crawl.lk statement.html
  lookalike copies crawl.lk --url https://example.org/article --csv contacts.csv
  lookalike copies crawl.lk LICENSE --json --min-containment 0.5")]
pub(crate) struct CopiesArgs {
    /// The collection
    collection: PathBuf,

    /// The text; `-` for standard input
    #[arg(value_name = "DOC", required_unless_present = "url")]
    document: Option<PathBuf>,

    /// The text of a document of the collection, by its URL or id
    #[arg(long, value_name = "URL", conflicts_with = "document")]
    url: Option<String>,

    /// A copy has at least this share of the text, or is half made of it
    #[arg(long, value_name = "C", default_value_t = CopiesOptions::default().least, value_parser = threshold)]
    min_containment: f64,

    /// A table for a mail merge, one row a contact
    #[arg(long, short = 'o', value_name = "FILE")]
    csv: Option<PathBuf>,

    /// What the document is: auto, html or text
    #[arg(long, value_name = "FORMAT", default_value_t)]
    format: Format,

    #[command(flatten)]
    key: KeyArgs,
}

impl CopiesArgs {
    pub(crate) fn run(self, global: Global) -> Result<Exit, Stop> {
        let damaged =
            |error: StorageError| Failure::from_collection(&self.collection, &error.into());
        let inputs: Vec<&Path> = self.document.iter().map(PathBuf::as_path).collect();
        file::spares(
            self.csv.as_deref(),
            inputs.into_iter(),
            Some(&self.collection),
        )?;
        let key = self.key.key()?;
        let finder = searchable(&self.collection, key.as_ref())?;
        crate::commands::export::spare(self.csv.as_deref(), finder.collection(), &self.collection)?;
        let (name, found) = match (&self.url, &self.document) {
            (Some(url), _) => (text::excerpt(url, 200), self.of_url(&finder, url)?),
            (None, Some(path)) => {
                let input = Input::read(path)?;
                let document = input.document(self.format, finder.recipe().tokens, global)?;
                let found = self.found(&finder, &document, None, global)?;
                let found = found.ok_or_else(|| input.unusable(Unusable::NoTokens))?;
                (input.name(), found)
            }
            (None, None) => return Err(Failure::usage("name a document", "or --url").into()),
        };
        let holders: Result<Vec<Holder>, StorageError> = found
            .copies
            .iter()
            .map(|copy| Holder::of(&finder, copy))
            .collect();
        let holders = holders.map_err(damaged)?;
        if let Some(path) = &self.csv {
            file::write(path, &csv(&holders))?;
        }
        let mut out = text::stdout();
        if global.json {
            for holder in &holders {
                writeln!(out, "{}", holder.json())?;
            }
        } else {
            write!(out, "{}", told(&found, &holders))?;
        }
        out.flush()?;
        if holders.is_empty() {
            note(global, &format!("nothing in the collection holds {name}"));
            return Ok(Exit::NotFound);
        }
        let gone = holders
            .iter()
            .filter(|one| one.copy.holding.is_none())
            .count();
        if gone > 0 {
            let gone = text::count(gone as u64);
            let message = format!(
                "of {gone} of them the source is gone or changed: their kind is an estimate"
            );
            note(global, &message);
        }
        if let Some(path) = &self.csv {
            let newest = holders.iter().filter(|one| one.copy.now != Now::Changed);
            let contacts: usize = newest.map(|one| one.copy.contacts.len()).sum();
            let shown = lookalike::corpus::unusable::shown(path);
            note(
                global,
                &format!("{}: {shown}", text::counted(contacts, "contact")),
            );
        }
        Ok(Exit::Done)
    }

    fn of_url(&self, finder: &Finder, url: &str) -> Result<Copies, Stop> {
        let damaged =
            |error: StorageError| Failure::from_collection(&self.collection, &error.into());
        let collection = finder.collection();
        let asked = collection.newest_named(url).map_err(damaged)?;
        let doc = asked.ok_or_else(|| Failure {
            exit: Exit::NotFound,
            message: format!("there is no document `{}`", text::excerpt(url, 200)),
            hint: "give a URL or an id just as it stands in the input".to_owned(),
        })?;
        let own = collection.text(doc).map_err(damaged)?;
        let own = own.map_err(|lost| Failure {
            exit: Exit::NothingUsable,
            message: format!("its text is not there: {lost}"),
            hint: "give the text as a file, or keep texts with: add --keep-text".to_owned(),
        })?;
        let document = Document::of_text(own);
        let found = copies_of(finder, &document, Some(doc), self.min_containment);
        Ok(found.map_err(damaged)?.unwrap_or_default())
    }

    /// The copies of a document; nothing for one without tokens.
    fn found(
        &self,
        finder: &Finder,
        document: &Document<'_>,
        own: Option<u32>,
        global: Global,
    ) -> Result<Option<Copies>, Failure> {
        let damaged =
            |error: StorageError| Failure::from_collection(&self.collection, &error.into());
        let mut sketcher = finder.sketcher();
        let query = finder.query(document, None, &mut sketcher, Reread::Never);
        if let Some(length) = query.may_be_missed_in(finder.recipe().sketch) {
            let shingles = text::count(length);
            let has_longer = longest(finder).map_err(damaged)? > length;
            if has_longer && query.samples() > 0 {
                let message = format!(
                    "documents of more than {shingles} shingles may hold it and not be found: they keep too few samples to tell (add --samples keeps more)"
                );
                note(global, &message);
            }
        }
        copies_of(finder, document, own, self.min_containment).map_err(damaged)
    }
}

/// The shingles of the longest document, about.
fn longest(finder: &Finder) -> Result<u64, StorageError> {
    let collection = finder.collection();
    let one_in = collection.one_in();
    let mut longest = 0;
    collection.each_entry(|_, entry| longest = longest.max(entry.shingles(one_in)))?;
    Ok(longest)
}

fn copies_of(
    finder: &Finder,
    document: &Document<'_>,
    own: Option<u32>,
    least: f64,
) -> Result<Option<Copies>, StorageError> {
    let mut sketcher = finder.sketcher();
    let query = finder.query(document, None, &mut sketcher, Reread::Never);
    if query.samples() == 0 {
        return Ok(None);
    }
    let options = CopiesOptions {
        least,
        ..CopiesOptions::default()
    };
    copies(finder, document, &query, own, options).map(Some)
}

/// Changes of a version that are shown.
const SHOWN: usize = 6;

/// The copies for people, by version.
fn told(found: &Copies, holders: &[Holder]) -> String {
    let mut out = String::new();
    for (number, version) in found.versions.iter().enumerate() {
        let many = match version.copies {
            1 => "1 copy".to_owned(),
            n => format!("{} copies", text::count(n as u64)),
        };
        let what = told_version(version, SHOWN);
        let _ = writeln!(out, "version {}, {many}: {what}", number + 1);
        let share = |share: Option<lookalike_server::wire::Share>| {
            share.map_or_else(String::new, |share| share.with_interval())
        };
        let mut rows = Vec::new();
        for holder in holders.iter().filter(|one| one.copy.version == number) {
            let date = holder.date.as_deref().and_then(|date| date.get(..10));
            rows.push(vec![
                format!("  {}", text::excerpt(&holder.named.title(), 120)),
                date.unwrap_or("").to_owned(),
                holder.copy.now.name().to_owned(),
                holder.copy.kind.name().to_owned(),
                share(holder.doc_in_copy),
                share(holder.copy_in_doc),
                holder.copy.contacts.join(" "),
            ]);
        }
        let head = [
            "  copy",
            "date",
            "now",
            "kind",
            "of the text there",
            "of it in the text",
            "contacts",
        ];
        rows.insert(0, head.map(str::to_owned).to_vec());
        out.push_str(&text::columns(&rows));
    }
    out
}

/// One row a contact; a copy without one has a row without. Of each address its newest copy
/// alone: nobody is to get a letter about each.
fn csv(holders: &[Holder]) -> Vec<u8> {
    let mut out = String::from(
        "contact,host,url,date,kind,version,doc_in_copy,copy_in_doc,judged_by,changes,now\n",
    );
    let newest = |holder: &&Holder| holder.copy.now != Now::Changed;
    for holder in holders.iter().filter(newest) {
        let copy = &holder.copy;
        let share = |share: Option<lookalike_server::wire::Share>| {
            share.map_or_else(String::new, |share| format!("{:.4}", share.best()))
        };
        let changes = copy.holding.as_ref().map_or(0, |own| own.edits.len());
        let none = [String::new()];
        let contacts = if copy.contacts.is_empty() {
            &none[..]
        } else {
            &copy.contacts[..]
        };
        for contact in contacts {
            let cells = [
                contact.clone(),
                holder.host.clone().unwrap_or_default(),
                holder.named.title(),
                holder.date.clone().unwrap_or_default(),
                copy.kind.name().to_owned(),
                (copy.version + 1).to_string(),
                share(holder.doc_in_copy),
                share(holder.copy_in_doc),
                judged_by(copy).to_owned(),
                changes.to_string(),
                copy.now.name().to_owned(),
            ];
            let cells: Vec<String> = cells.iter().map(|cell| quoted(cell)).collect();
            out.push_str(&cells.join(","));
            out.push('\n');
        }
    }
    out.into_bytes()
}

/// A cell that no spreadsheet takes for a formula: the text is other people's.
fn quoted(cell: &str) -> String {
    let is_formula =
        cell.trim_start().starts_with(['=', '+', '-', '@']) || cell.starts_with(['\t', '\r', '\n']);
    let cell = if is_formula {
        format!("'{cell}")
    } else {
        cell.to_owned()
    };
    if cell.contains([',', '"', '\n', '\r', ';', '\t']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_cell_is_a_formula() {
        let cases = [
            ("=1+1", "'=1+1"),
            ("@x", "'@x"),
            ("+a@b.example", "'+a@b.example"),
            (" =cmd", "' =cmd"),
            ("-2", "'-2"),
            ("a,\"b\"", "\"a,\"\"b\"\"\""),
            ("\t=1", "\"'\t=1\""),
            ("https://example.org/", "https://example.org/"),
        ];
        for (cell, expected) in cases {
            assert_eq!(quoted(cell), expected);
        }
    }
}
