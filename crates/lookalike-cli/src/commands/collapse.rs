//! `lookalike collapse [COLLECTION]`: a ranked list of results, one place for each cluster.

use std::io::{self, BufRead, Read, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use lookalike::clusters::policy::Policy;
use lookalike::collapse::{Collapsed, Ground, Group, Show};
use lookalike::core::recipe::Recipe;
use lookalike::core::shingle::Width;
use lookalike::core::sketcher::Sketcher;
use lookalike::storage::StorageError;
use lookalike_server::collapse::{Listed, collapsed, group};

use crate::args::{Global, KeyArgs, threshold, width};
use crate::collection::{open_mapped, searchable};
use crate::commands::export::find_clustering;
use crate::failure::{Exit, Failure, Stop};
use crate::input::note;
use crate::output::text;

/// Group a ranked list of results by cluster, the best-ranked first
///
/// The list comes on standard input, the best first: an address a line, or a JSON object a
/// line with `url`, `text` or both. An address has the cluster of its newest document. What
/// the collection does not have stands alone, unless its text is alike to another. Without a
/// collection texts alone decide.
#[derive(Args)]
#[command(after_help = "\
Examples:
  search 'lost ships' | lookalike collapse crawl.lk
  lookalike collapse crawl.lk --show newest --json < results.jsonl
  lookalike collapse --resemblance 0.8 < results-with-texts.jsonl")]
pub(crate) struct CollapseArgs {
    /// The collection; none, or `-`, where texts alone decide
    collection: Option<PathBuf>,

    /// Which of its clusterings, by its policy [default: the first]
    #[arg(long, value_name = "POLICY", requires = "collection")]
    policy: Option<String>,

    /// Which result of a group shows; its place is that of the best-ranked
    #[arg(long, value_name = "WHICH", default_value = "best-ranked")]
    show: ShowName,

    /// Without a collection: texts are alike from this resemblance on [default: 0.5]
    #[arg(long, value_name = "R", value_parser = threshold)]
    resemblance: Option<f64>,

    /// Without a collection: or from this containment on, one way or the other
    #[arg(long, value_name = "C", value_parser = threshold)]
    containment: Option<f64>,

    /// Without a collection: tokens of a shingle [default: 10]
    #[arg(long, value_name = "W", value_parser = width, allow_negative_numbers = true)]
    shingle: Option<Width>,

    /// Exit with 0 even if some lines are no results
    #[arg(long)]
    allow_rejects: bool,

    #[command(flatten)]
    key: KeyArgs,
}

/// Which result of a group shows.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum ShowName {
    /// The one that stood first
    BestRanked,
    /// The one with the latest date
    Newest,
    /// The one with the most words
    Longest,
    /// The one that stands for the cluster, or the most like it
    Representative,
}

impl From<ShowName> for Show {
    fn from(name: ShowName) -> Show {
        match name {
            ShowName::BestRanked => Show::BestRanked,
            ShowName::Newest => Show::Newest,
            ShowName::Longest => Show::Longest,
            ShowName::Representative => Show::Representative,
        }
    }
}

impl CollapseArgs {
    pub(crate) fn run(self, global: Global) -> Result<Exit, Stop> {
        let folder = self.collection.clone();
        let folder = folder.filter(|folder| folder != Path::new("-"));
        let is_free = self.resemblance.is_none() && self.containment.is_none();
        if folder.is_some() && !(is_free && self.shingle.is_none()) {
            let message = "a collection has its own shingles and thresholds";
            let hint = "choose one of its clusterings with --policy, or leave the collection away";
            return Err(Failure::usage(message, hint).into());
        }
        let list = List::read(&mut io::stdin().lock()).map_err(|error| Failure {
            exit: Exit::Machine,
            message: format!("cannot read standard input: {error}"),
            hint: String::new(),
        })?;
        for (line, why) in list.rejected.iter().take(SAID) {
            note(global, &format!("line {line} is no result: {why}"));
        }
        if list.listed.is_empty() && !list.rejected.is_empty() {
            return Err(Failure {
                exit: Exit::NothingUsable,
                message: "no line of standard input is a result".to_owned(),
                hint: "give an address a line, or JSON objects with `url` or `text`".to_owned(),
            }
            .into());
        }
        let found = match &folder {
            Some(folder) => self.in_collection(folder, &list.listed)?,
            None => self.by_texts(&list.listed),
        };
        tell(&found, &list.listed, global)?;
        self.say(&found, &list, global);
        let is_whole = list.rejected.is_empty() || self.allow_rejects;
        Ok(if is_whole { Exit::Done } else { Exit::Rejected })
    }

    fn in_collection(&self, folder: &Path, listed: &[Listed]) -> Result<Collapsed, Failure> {
        let damaged = |error: StorageError| Failure::from_collection(folder, &error.into());
        // Addresses need no key and no postings.
        if !listed.iter().any(|one| one.ranked.text.is_some()) {
            let collection = open_mapped(folder)?;
            let stored = find_clustering(&collection, self.policy.as_deref())?;
            let clustering = collection.clustering(stored).map_err(damaged)?;
            let ground = Ground {
                clustered: Some((&collection, &clustering)),
                finder: None,
                sketcher: None,
                policy: stored.policy,
            };
            return collapsed(listed, ground, self.show.into()).map_err(damaged);
        }
        let finder = searchable(folder, self.key.key()?.as_ref())?;
        let stored = find_clustering(finder.collection(), self.policy.as_deref())?;
        let clustering = finder.collection().clustering(stored).map_err(damaged)?;
        let ground = Ground {
            clustered: Some((finder.collection(), &clustering)),
            finder: Some(&finder),
            sketcher: Some(&mut finder.sketcher()),
            policy: stored.policy,
        };
        collapsed(listed, ground, self.show.into()).map_err(damaged)
    }

    fn by_texts(&self, listed: &[Listed]) -> Collapsed {
        let mut recipe = Recipe::default();
        recipe.width = self.shingle.unwrap_or(recipe.width);
        let default = Policy::default();
        let policy = Policy {
            // A threshold that is given is the only one, unless both are.
            resemblance: match (self.resemblance, self.containment) {
                (None, None) => default.resemblance,
                (given, _) => given,
            },
            containment: self.containment,
            ..default
        };
        let ground = Ground {
            clustered: None,
            finder: None,
            sketcher: Some(&mut Sketcher::new(&recipe)),
            policy,
        };
        let done = collapsed(listed, ground, self.show.into());
        done.unwrap_or_else(|_| unreachable!("no collection is read"))
    }

    /// Counts what came in and what came out, on standard error.
    fn say(&self, found: &Collapsed, list: &List, global: Global) {
        let (results, groups) = (list.listed.len(), found.groups.len());
        let mut said = vec![format!(
            "{} in {}",
            text::counted(results, "result"),
            text::counted(groups, "group")
        )];
        let mut more = |count: usize, what: &str| {
            if count > 0 {
                said.push(format!("{} {what}", text::count(count as u64)));
            }
        };
        let has_collection = self
            .collection
            .as_deref()
            .is_some_and(|at| at != Path::new("-"));
        if has_collection {
            more(found.unknown, "not in the collection");
            more(found.by_text, "of these alike to a document of it");
        }
        more(found.wordless, "with a text without words");
        more(list.repaired, "repaired, for they were not UTF-8");
        more(list.rejected.len(), "rejected");
        note(global, &said.join("; "));
    }
}

/// Rejected lines that are named.
const SAID: usize = 20;

/// The longest line, in bytes.
const LONGEST: u64 = 64 << 20;

/// A list of results, as it came.
#[derive(Default)]
struct List {
    listed: Vec<Listed>,
    /// Lines that are no result, and why.
    rejected: Vec<(u64, String)>,
    /// Lines with malformed bytes, which became U+FFFD.
    repaired: usize,
}

impl List {
    /// Reads a list: blank lines are none, all others have a rank.
    fn read(input: &mut dyn BufRead) -> io::Result<List> {
        let mut list = List::default();
        let (mut number, mut rank) = (0, 0);
        let mut line = Vec::new();
        loop {
            line.clear();
            if input.take(LONGEST + 1).read_until(b'\n', &mut line)? == 0 {
                return Ok(list);
            }
            number += 1;
            let is_too_long = line.len() as u64 > LONGEST && line.last() != Some(&b'\n');
            if is_too_long {
                skip_line(input)?;
            }
            let bytes = match number {
                1 => line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&line),
                _ => &line,
            };
            let bytes = bytes.trim_ascii();
            if bytes.is_empty() {
                continue;
            }
            rank += 1;
            if is_too_long {
                let most = text::bytes(LONGEST);
                let why = format!("it is longer than {most}");
                list.rejected.push((number, why));
                continue;
            }
            let shown = String::from_utf8_lossy(bytes);
            list.repaired += usize::from(matches!(shown, std::borrow::Cow::Owned(_)));
            match result(rank, &shown) {
                Ok(result) => list.listed.push(result),
                Err(why) => list.rejected.push((number, why)),
            }
        }
    }
}

/// A line as a result.
fn result(rank: u32, line: &str) -> Result<Listed, String> {
    if !line.starts_with(['{', '"']) {
        return Ok(Listed::of_url(rank, line));
    }
    let value = serde_json::from_str(line).map_err(|wrong| format!("it is no JSON: {wrong}"))?;
    Listed::of_json(rank, value)
}

/// Reads up to the end of a line and keeps nothing of it.
fn skip_line(input: &mut dyn BufRead) -> io::Result<()> {
    loop {
        let buffer = input.fill_buf()?;
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let read = end.map_or(buffer.len(), |end| end + 1);
        input.consume(read);
        if end.is_some() || read == 0 {
            return Ok(());
        }
    }
}

/// Prints the groups.
fn tell(found: &Collapsed, listed: &[Listed], global: Global) -> Result<(), Stop> {
    let mut out = text::stdout();
    if global.json {
        for one in &found.groups {
            writeln!(out, "{}", group(one, listed))?;
        }
    } else if !found.groups.is_empty() {
        let mut table = vec![
            ["rank", "result", "cluster", "also"]
                .map(str::to_owned)
                .to_vec(),
        ];
        table.extend(found.groups.iter().map(|group| cells(group, listed)));
        write!(out, "{}", text::columns(&table))?;
    }
    out.flush()?;
    Ok(())
}

/// Results behind the shown one that a table names.
const NAMED: usize = 3;

fn cells(group: &Group, listed: &[Listed]) -> Vec<String> {
    let name = |result: usize, most: usize| {
        let ranked = &listed[result].ranked;
        let text = || {
            ranked
                .text
                .as_deref()
                .map(|text| format!("“{}”", text::excerpt(text, 40)))
        };
        let url = ranked.url.as_deref().map(|url| text::excerpt(url, most));
        url.or_else(text).unwrap_or_default()
    };
    let others = group.results.iter().filter(|one| **one != group.shown);
    let named = others.map(|&other| {
        let rank = listed[other].ranked.rank;
        format!("{} ({rank})", name(other, 60))
    });
    let mut also: Vec<String> = named.take(NAMED).collect();
    let more = group.results.len() - 1 - also.len();
    if more > 0 {
        also.push(format!("{} more", text::count(more as u64)));
    }
    vec![
        listed[group.results[0]].ranked.rank.to_string(),
        name(group.shown, 120),
        group
            .cluster
            .map_or_else(String::new, |cluster| cluster.to_string()),
        also.join(", "),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_may_come_from_any_editor() {
        let bytes =
            b"\xef\xbb\xbfhttp://a/1\r\n\r\n  \n{\"url\":\"http://a/\xff\"}\r\nnot { json\n\
            {\"url\":5}\n{}\n{\"text\":\"x\",\"score\":2}";
        let list = List::read(&mut &bytes[..]).expect("bytes in memory");
        let seen: Vec<_> = list
            .listed
            .iter()
            .map(|one| (one.ranked.rank, one.ranked.url.as_deref()))
            .collect();
        let expected = [
            (1, Some("http://a/1")),
            (2, Some("http://a/\u{fffd}")),
            (3, Some("not { json")),
            (6, None),
        ];
        assert_eq!(seen, expected);
        assert_eq!(list.listed[3].fields["score"], 2);
        let lines: Vec<u64> = list.rejected.iter().map(|(line, _)| *line).collect();
        assert_eq!(lines, [6, 7]);
        assert_eq!(list.repaired, 1);
    }
}
