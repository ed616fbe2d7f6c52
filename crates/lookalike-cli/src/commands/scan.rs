//! `lookalike scan PATH…`: the near-duplicate groups of some files.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anstyle::{AnsiColor, Style};
use clap::Args;
use lookalike::add::{AddError, Event};
use lookalike::corpus::inputs::Inputs;
use lookalike::corpus::record::Refused;
use lookalike::corpus::unusable::shown;
use lookalike::scan::{Grade, Group, Member, Scan, ScanOptions, scan};
use serde_json::{Value, json};

use crate::args::{Global, InputArgs, MachineArgs, ShingleArgs, threshold};
use crate::commands::add::reject_line;
use crate::failure::{Exit, Failure, Stop};
use crate::memory::hold_if_short;
use crate::output::progress::Progress;
use crate::output::{file, text};

/// Find the groups of near-duplicates among some files
///
/// Reads what `add` reads and keeps nothing. Two documents are in one group when their
/// resemblance reaches the threshold, or when a chain of such pairs leads from one to the
/// other; that and all figures are exact, from the inputs read a second time. Members are
/// shown with their resemblance to the group's representative: the one with the most
/// shingles as far as sketches tell, of several the first. What comes through a pipe is not
/// read again: figures of long documents are estimates then. Links inside a folder are not
/// followed.
#[derive(Args)]
#[command(after_help = "\
Examples:
  lookalike scan docs/
  lookalike scan docs/ --resemblance 0.9
  lookalike scan a.txt b.txt mirror/ --containment 0.8 --json
  lookalike scan shards/*.jsonl.gz --text-field body")]
pub(crate) struct ScanArgs {
    /// Files, folders, patterns, or `-`
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<OsString>,

    /// The least resemblance that joins two documents
    #[arg(long, value_name = "R", default_value = "0.5", value_parser = threshold)]
    resemblance: f64,

    /// Also join two documents when this share of one is in the other
    #[arg(long, value_name = "C", value_parser = threshold)]
    containment: Option<f64>,

    /// Show groups of at least N documents
    #[arg(long, value_name = "N", default_value = "2")]
    min_size: usize,

    /// Name all that was left out, with the reason
    #[arg(long, short)]
    verbose: bool,

    /// List what was rejected in a file, one JSON object a line
    #[arg(long, value_name = "FILE")]
    rejects: Option<PathBuf>,

    /// Exit with 0 even when something was rejected
    #[arg(long)]
    allow_rejects: bool,

    #[command(flatten)]
    reading: InputArgs,

    #[command(flatten)]
    machine: MachineArgs,

    #[command(flatten)]
    shingles: ShingleArgs,
}

/// How many rejects are named before only their number is.
const NAMED: usize = 20;

/// What was left out, as it is to be told.
#[derive(Default)]
struct Left {
    /// All, up to as many as are named: input and reason.
    rejected: Vec<String>,
    skipped: Vec<String>,
    /// How many there are.
    rejects: usize,
    skips: usize,
    has_hidden: bool,
    reject_lines: String,
}

impl Left {
    fn note(&mut self, input: &str, refused: &Refused, most: usize) {
        let (named, count) = if refused.is_rejected {
            self.reject_lines.push_str(&reject_line(input, refused));
            (&mut self.rejected, &mut self.rejects)
        } else {
            (&mut self.skipped, &mut self.skips)
        };
        *count += 1;
        self.has_hidden |= refused.code == "hidden";
        if named.len() < most {
            let place = match (refused.is_line, refused.at) {
                (true, line) => format!(" line {line}"),
                (false, 0) => String::new(),
                (false, offset) => format!(" offset {offset}"),
            };
            named.push(format!("{input}{place}: {}", refused.message));
        }
    }

    fn say(&self, is_verbose: bool) {
        let yellow = AnsiColor::Yellow.on_default().bold();
        let mut err = anstream::stderr().lock();
        let mut say = |named: &[String], count: usize| {
            for one in named {
                let _ = writeln!(err, "{yellow}left out:{yellow:#} {one}");
            }
            if count > named.len() {
                let more = text::count((count - named.len()) as u64);
                let _ = writeln!(err, "{yellow}left out:{yellow:#} {more} more");
            }
        };
        say(&self.rejected, self.rejects);
        if is_verbose {
            say(&self.skipped, self.skips);
        }
    }
}

impl ScanArgs {
    pub(crate) fn run(self, global: Global) -> Result<Exit, Stop> {
        let options = ScanOptions {
            recipe: self.shingles.recipe(),
            reading: self.reading.options(&self.shingles, self.shingles.token),
            resemblance: self.resemblance,
            containment: self.containment,
            threads: self.machine.threads(),
            memory: self.machine.memory()?,
            scratch: self.machine.scratch.clone(),
        };
        let inputs = Inputs::expand(&self.paths, &options.reading);
        hold_if_short(&inputs, options.memory);
        let sources = inputs.sources.iter().map(|source| source.path.as_path());
        file::spares(self.rejects.as_deref(), sources, None)?;
        let mut progress = Progress::bar_only(global);
        let mut left = Left::default();
        let most = if self.verbose { usize::MAX } else { NAMED };
        let found = scan(&inputs, &options, &mut |event| match event {
            Event::Refused { input, refused } => left.note(input, refused, most),
            other => progress.event(&other),
        });
        progress.finish();
        if let Some(path) = &self.rejects {
            file::write(path, left.reject_lines.as_bytes())?;
        }
        let found = match found {
            Ok(found) => found,
            Err(AddError::Nothing(_)) => return Err(self.nothing(&left, global).into()),
            Err(error) => {
                let scratch = self.machine.scratch.clone();
                let scratch = scratch.unwrap_or_else(std::env::temp_dir);
                return Err(Failure::from_add(&scratch, error).into());
            }
        };
        if !global.quiet {
            left.say(self.verbose);
        }
        let mut out = text::stdout();
        for (number, group) in (1..).zip(self.shown(&found)) {
            if global.json {
                writeln!(out, "{}", group_json(number, group))?;
            } else {
                write_group(&mut out, number, group)?;
            }
        }
        out.flush()?;
        drop(out);
        if !global.quiet {
            self.summarise(&found, &options);
        }
        Ok(if left.rejects == 0 || self.allow_rejects {
            Exit::Done
        } else {
            Exit::Rejected
        })
    }

    /// The groups that are large enough.
    fn shown<'a>(&self, found: &'a Scan) -> impl Iterator<Item = &'a Group> {
        let least = self.min_size;
        let groups = found.groups.iter();
        groups.filter(move |group| group.members.len() >= least)
    }

    /// What joins two files, in words.
    fn policy(&self) -> String {
        let least = text::percent(self.resemblance);
        let containment = self.containment.map(text::percent);
        let containment =
            containment.map_or(String::new(), |c| format!(" or a containment of {c}"));
        format!("none reach a resemblance of {least}{containment}")
    }

    /// The last lines, on standard error: what was read and what came of it.
    fn summarise(&self, found: &Scan, options: &ScanOptions) {
        let shown: Vec<&Group> = self.shown(found).collect();
        let copies: usize = shown.iter().map(|group| spare(group).count()).sum();
        let savable: u64 = shown.iter().map(|group| spare_bytes(group)).sum();
        let counts = &found.counts;
        // Every record met is one of the three.
        let mut first = format!(
            "{} read: {} compared",
            text::count(counts.read),
            text::count(found.documents)
        );
        for (what, left) in [("skipped", &counts.skipped), ("rejected", &counts.rejected)] {
            if !left.is_empty() {
                let _ = write!(first, ", {what} {}", reasons(left));
            }
        }
        let second = if found.groups.is_empty() {
            format!("no two of them are alike: {}", self.policy())
        } else if shown.is_empty() {
            format!("no group of {} or more documents", self.min_size)
        } else {
            format!(
                "{}; could go, being like a representative: {} ({})",
                text::counted(shown.len(), "group"),
                text::counted(copies, "document"),
                text::bytes(savable)
            )
        };
        let mut lines = vec![first, second];
        let width = options.recipe.width.get();
        let documents = |count| text::counted(count, "document");
        if counts.short > 0 {
            lines.push(format!(
                "{} shorter than a shingle of {width} tokens, each compared as a whole",
                documents(counts.short)
            ));
        }
        if counts.repaired > 0 {
            lines.push(format!(
                "{} with malformed characters, read as U+FFFD",
                documents(counts.repaired)
            ));
        }
        if found.by_estimate > 0 {
            lines.push(format!(
                "{} decided by estimate: what comes through a pipe is not read again",
                text::counted(found.by_estimate, "pair")
            ));
        }
        // Where standard error is gone there is nobody left to tell.
        let _ = writeln!(anstream::stderr(), "{}", lines.join("\n"));
    }

    fn nothing(&self, left: &Left, global: Global) -> Failure {
        let named = self.paths.iter().map(|path| shown(Path::new(path)));
        let named: Vec<String> = named.map(|path| format!("`{path}`")).collect();
        let all: Vec<&String> = left.rejected.iter().chain(&left.skipped).collect();
        let count = left.rejects + left.skips;
        let message = match (all.as_slice(), count) {
            ([], 0) => format!("there are no files in {}", named.join(", ")),
            ([only], 1) => format!("nothing to compare in {only}"),
            _ => {
                if !global.quiet {
                    left.say(self.verbose);
                }
                format!("none of {} can be used", text::counted(count, "document"))
            }
        };
        let hint = if left.has_hidden {
            "--hidden looks at hidden files too; --verbose tells why each was left out"
        } else if left.skips == 0 {
            "check the names, and that you may read them"
        } else if count > 1 {
            "--verbose tells why each was left out"
        } else {
            "name a folder or files with text or HTML in them"
        };
        Failure {
            exit: Exit::NothingUsable,
            message,
            hint: hint.to_owned(),
        }
    }
}

/// How many were left out, and how many for each reason.
fn reasons(left: &BTreeMap<String, u64>) -> String {
    let counts = left.iter();
    let counts = counts.map(|(reason, count)| format!("{} {reason}", text::count(*count)));
    let counts: Vec<String> = counts.collect();
    format!(
        "{} ({})",
        text::count(left.values().sum()),
        counts.join(", ")
    )
}

/// The bytes of all members but the representative.
fn spare_bytes(group: &Group) -> u64 {
    spare(group).map(|member| member.bytes).sum()
}

/// The members that are like the representative: those of a chain are not spare.
fn spare(group: &Group) -> impl Iterator<Item = &Member> {
    let others = group
        .members
        .iter()
        .enumerate()
        .filter(|(i, _)| *i != group.representative);
    others
        .map(|(_, member)| member)
        .filter(|member| member.grade.is_some())
}

/// A path in JSON: as it is where it is text.
fn name(path: &Path) -> String {
    path.to_str().map_or_else(|| shown(path), str::to_owned)
}

/// A document, for people: its file, and which of the documents in it.
fn title(member: &Member) -> String {
    let file = shown(&member.path);
    let harmless = |name: &String| shown(Path::new(name));
    match (&member.id, &member.url, member.offset) {
        (Some(name), _, _) | (None, Some(name), _) => format!("{file}: {}", harmless(name)),
        (None, None, Some(offset)) => format!("{file}: offset {offset}"),
        (None, None, None) => file,
    }
}

/// Which document, in JSON.
fn identity(member: &Member) -> Value {
    let mut line = json!({ "path": name(&member.path) });
    if let Some(offset) = member.offset {
        line["offset"] = json!(offset);
    }
    for (field, value) in [("id", &member.id), ("url", &member.url)] {
        if let Some(value) = value {
            line[field] = json!(value);
        }
    }
    line
}

fn group_json(number: usize, group: &Group) -> Value {
    let member = |(place, member): (usize, &Member)| {
        let mut line = identity(member);
        line["bytes"] = json!(member.bytes);
        line["tokens"] = json!(member.tokens);
        // What there is no count, grade or original for is absent.
        if let Some(shingles) = member.shingles {
            line["shingles"] = json!(shingles);
        }
        line["is_representative"] = json!(place == group.representative);
        line["resemblance"] = json!(member.resemblance);
        line["containment"] = json!(member.containment);
        line["representative_in_member"] = json!(member.covers);
        if let Some(grade) = member.grade {
            line["grade"] = json!(grade.name());
        }
        if let Some((first, grade)) = member.copy_of {
            let mut of = identity(&group.members[first]);
            of["grade"] = json!(grade.name());
            line["copy_of"] = of;
        }
        line
    };
    let members: Vec<Value> = group.members.iter().enumerate().map(member).collect();
    json!({
        "group": number,
        "size": group.members.len(),
        "representative": name(&group.members[group.representative].path),
        "lowest_resemblance": group.lowest,
        "chain": group.is_chain,
        "template": group.is_template,
        "spare_bytes": spare_bytes(group),
        "members": members,
    })
}

fn write_group(out: &mut impl Write, number: usize, group: &Group) -> io::Result<()> {
    let (bold, dim) = (Style::new().bold(), Style::new().dimmed());
    let size = text::counted(group.members.len(), "document");
    let lowest = if group.lowest >= 1.0 {
        "all alike".to_owned()
    } else {
        format!("down to {}", text::percent(group.lowest))
    };
    let flag = match (group.is_chain, group.is_template) {
        (true, _) => ", a chain: not all are like the first",
        (false, true) => ", a template: a frame around other text",
        (false, false) => "",
    };
    writeln!(out, "{bold}group {number}: {size}, {lowest}{flag}{bold:#}")?;
    // The representative first, then the closest: the order in which one reads.
    let mut order: Vec<usize> = (0..group.members.len()).collect();
    order.sort_by(|&x, &y| {
        let (one, other) = (&group.members[x], &group.members[y]);
        (y == group.representative)
            .cmp(&(x == group.representative))
            .then(other.resemblance.total_cmp(&one.resemblance))
            .then(one.grade.cmp(&other.grade))
            .then(x.cmp(&y))
    });
    for i in order {
        let member = &group.members[i];
        let how = if i == group.representative {
            "representative".to_owned()
        } else {
            match member.grade {
                Some(copy @ (Grade::Identical | Grade::Lexical | Grade::Shingle)) => {
                    words_for(copy).to_owned()
                }
                Some(Grade::Similar) => text::percent(member.resemblance),
                Some(Grade::Contained) if member.containment >= member.covers => {
                    format!("{} within", text::percent(member.containment))
                }
                Some(Grade::Contained) => format!("holds {}", text::percent(member.covers)),
                None => format!("chain, {}", text::percent(member.resemblance)),
            }
        };
        let is_copy = member.grade.is_some_and(|grade| grade <= Grade::Shingle);
        let style = match (i == group.representative, is_copy) {
            (true, _) => bold,
            (false, true) => AnsiColor::Green.on_default(),
            (false, false) => dim,
        };
        write!(out, "  {style}{how:>14}{style:#}  {}", title(member))?;
        // Of a copy of the representative the first column has said it all.
        if let (Some((first, grade)), false) = (member.copy_of, is_copy) {
            let first = title(&group.members[first]);
            let how = words_for(grade);
            write!(out, "  {dim}({how} as {first}){dim:#}")?;
        }
        writeln!(out)?;
    }
    writeln!(out)
}

/// What a copy has the same as what it is a copy of.
fn words_for(grade: Grade) -> &'static str {
    match grade {
        Grade::Identical => "same bytes",
        Grade::Lexical => "same tokens",
        Grade::Shingle => "same shingles",
        Grade::Similar => "similar",
        Grade::Contained => "contained",
    }
}
