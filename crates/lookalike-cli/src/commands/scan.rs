//! `lookalike scan PATH…`: the near-duplicate groups of some files.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use anstyle::{AnsiColor, Style};
use clap::Args;
use lookalike::corpus::folder::{MAX_SIZE, WalkOptions};
use lookalike::corpus::unusable::{Unusable, UnusableFile, shown};
use lookalike::scan::{Grade, Group, Member, Scan, ScanOptions, scan};
use serde_json::{Value, json};

use crate::args::{Global, ShingleArgs, threshold};
use crate::failure::{Exit, Failure, Stop};
use crate::output::{file, text};

/// Find the groups of near-duplicates among some files
///
/// Exact and in memory; nothing is kept. Two files are in one group when their resemblance
/// reaches the threshold, or when a chain of such pairs leads from one to the other. Members
/// are shown with their resemblance to the group's representative: the one with the most
/// shingles, of several the first by name. Links inside a folder are not followed.
#[derive(Args)]
#[command(after_help = "\
Examples:
  lookalike scan docs/
  lookalike scan docs/ --resemblance 0.9
  lookalike scan a.txt b.txt mirror/ --containment 0.8 --json")]
pub(crate) struct ScanArgs {
    /// Files and folders
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,

    /// The least resemblance that joins two files
    #[arg(long, value_name = "R", default_value = "0.5", value_parser = threshold)]
    resemblance: f64,

    /// Also join two files when this share of one is in the other
    #[arg(long, value_name = "C", value_parser = threshold)]
    containment: Option<f64>,

    /// Show groups of at least N files
    #[arg(long, value_name = "N", default_value = "2")]
    min_size: usize,

    /// Also look at files and folders whose name begins with a dot
    #[arg(long)]
    hidden: bool,

    /// Refuse files of more bytes
    #[arg(long, value_name = "BYTES", default_value_t = MAX_SIZE)]
    max_size: u64,

    /// Name every file that was left out, with the reason
    #[arg(long, short)]
    verbose: bool,

    /// List what could not be read in a file, one JSON object a line
    #[arg(long, value_name = "FILE")]
    rejects: Option<PathBuf>,

    /// Exit with 0 even when something could not be read
    #[arg(long)]
    allow_rejects: bool,

    /// How many threads read; the answer is the same [default: one a processor]
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,

    #[command(flatten)]
    shingles: ShingleArgs,
}

/// How many rejects are named before only their number is.
const NAMED: usize = 20;

impl ScanArgs {
    pub(crate) fn run(self, global: Global) -> Result<Exit, Stop> {
        let default = ScanOptions::default();
        let options = ScanOptions {
            recipe: self.shingles.recipe(),
            resemblance: self.resemblance,
            containment: self.containment,
            format: self.shingles.format,
            walk: WalkOptions {
                hidden: self.hidden,
                max_size: self.max_size,
            },
            threads: self.threads.unwrap_or(default.threads),
        };
        let progress = Progress::new(global);
        let found = scan(&self.paths, &options, |done, all| progress.show(done, all));
        progress.clear();
        let (rejected, skipped): (Vec<_>, Vec<_>) =
            found.left.iter().partition(|left| left.why.is_rejected());
        if let Some(path) = &self.rejects {
            let lines: String = rejected.iter().map(|left| reject_line(left)).collect();
            file::write(path, lines.as_bytes())?;
        }
        if !global.quiet {
            say_left(&rejected, if self.verbose { usize::MAX } else { NAMED });
            if self.verbose {
                say_left(&skipped, usize::MAX);
            }
        }
        if found.documents.is_empty() {
            return Err(nothing_usable(&found, &self.paths).into());
        }
        let mut out = text::stdout();
        for (number, group) in (1..).zip(self.shown(&found)) {
            if global.json {
                writeln!(out, "{}", group_json(number, group, &found))?;
            } else {
                write_group(&mut out, number, group, &found)?;
            }
        }
        out.flush()?;
        drop(out);
        if !global.quiet {
            self.summarise(&found, &rejected, &skipped, &options);
        }
        Ok(if rejected.is_empty() || self.allow_rejects {
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
    fn summarise(
        &self,
        found: &Scan,
        rejected: &[&UnusableFile],
        skipped: &[&UnusableFile],
        options: &ScanOptions,
    ) {
        let shown: Vec<&Group> = self.shown(found).collect();
        let copies: usize = shown.iter().map(|group| spare(group).count()).sum();
        let savable: u64 = shown.iter().map(|group| spare_bytes(group, found)).sum();
        // Every path met is one of the three.
        let all = found.documents.len() + found.left.len();
        let mut first = format!(
            "{}: {} compared",
            text::counted(all, "path"),
            text::count(found.documents.len() as u64)
        );
        for (what, left) in [("skipped", skipped), ("rejected", rejected)] {
            if !left.is_empty() {
                let _ = write!(first, ", {what} {}", reasons(left));
            }
        }
        let second = if found.groups.is_empty() {
            format!("no two of them are alike: {}", self.policy())
        } else if shown.is_empty() {
            format!("no group of {} or more files", self.min_size)
        } else {
            format!(
                "{}; {} ({}) could go if one of each group were kept",
                text::counted(shown.len(), "group"),
                text::counted(copies, "file"),
                text::bytes(savable)
            )
        };
        let mut lines = vec![first, second];
        let width = options.recipe.width.get();
        let short = found.documents.iter().filter(|one| one.tokens < width);
        let short = short.count();
        if short > 0 {
            let files = text::counted(short, "file");
            lines.push(format!(
                "{files} shorter than a shingle of {width} tokens, each compared as a whole"
            ));
        }
        let malformed = found.documents.iter().filter(|one| one.replaced > 0);
        let malformed = malformed.count();
        if malformed > 0 {
            let files = text::counted(malformed, "file");
            lines.push(format!("{files} with malformed characters, read as U+FFFD"));
        }
        // Where standard error is gone there is nobody left to tell.
        let _ = writeln!(anstream::stderr(), "{}", lines.join("\n"));
    }
}

/// How many were left out, and how many for each reason.
fn reasons(left: &[&UnusableFile]) -> String {
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for one in left {
        *reasons.entry(one.why.code()).or_default() += 1;
    }
    let counts = reasons.iter();
    let counts = counts.map(|(reason, count)| format!("{} {reason}", text::count(*count as u64)));
    let counts: Vec<String> = counts.collect();
    format!("{} ({})", text::count(left.len() as u64), counts.join(", "))
}

/// The bytes of all members but the representative.
fn spare_bytes(group: &Group, found: &Scan) -> u64 {
    spare(group)
        .map(|member| found.documents[member.document].bytes)
        .sum()
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

fn nothing_usable(found: &Scan, paths: &[PathBuf]) -> Failure {
    let named: Vec<String> = paths
        .iter()
        .map(|path| format!("`{}`", shown(path)))
        .collect();
    let message = match found.left.as_slice() {
        [] => format!("there are no files in {}", named.join(", ")),
        [only] => format!("cannot use `{}`: {}", shown(&only.path), reason(only)),
        many => format!("none of {} can be used", text::counted(many.len(), "file")),
    };
    let hint = if found.left.iter().any(|left| left.why.code() == "hidden") {
        "--hidden looks at hidden files too; --verbose tells why each file was left out"
    } else if found.left.iter().all(|left| left.why.is_rejected()) {
        "check the names, and that you may read them"
    } else if found.left.len() > 1 {
        "--verbose tells why each file was left out"
    } else {
        "name a folder or files with text or HTML in them"
    };
    Failure {
        exit: Exit::NothingUsable,
        message,
        hint: hint.to_owned(),
    }
}

fn reason(left: &UnusableFile) -> String {
    let why = &left.why;
    if let Unusable::TooLarge(_) = why {
        return format!("{why}, the limit of --max-size");
    }
    why.source()
        .map_or_else(|| why.to_string(), |source| format!("{why}: {source}"))
}

fn say_left(left: &[&UnusableFile], most: usize) {
    let yellow = AnsiColor::Yellow.on_default().bold();
    let mut err = anstream::stderr().lock();
    for one in left.iter().take(most) {
        let (path, why) = (shown(&one.path), reason(one));
        let _ = writeln!(err, "{yellow}left out:{yellow:#} {path}: {why}");
    }
    if left.len() > most {
        let more = text::count((left.len() - most) as u64);
        let _ = writeln!(err, "{yellow}left out:{yellow:#} {more} more");
    }
}

fn reject_line(left: &UnusableFile) -> String {
    let line = json!({
        "input": name(&left.path),
        "reason": left.why.code(),
        "message": reason(left),
    });
    format!("{line}\n")
}

/// A path in JSON: as it is where it is text.
fn name(path: &Path) -> String {
    path.to_str().map_or_else(|| shown(path), str::to_owned)
}

fn group_json(number: usize, group: &Group, found: &Scan) -> Value {
    let path = |document: usize| name(&found.documents[document].path);
    let member = |(place, member): (usize, &Member)| {
        let document = &found.documents[member.document];
        let mut line = json!({
            "path": path(member.document),
            "bytes": document.bytes,
            "tokens": document.tokens,
            "shingles": document.shingles,
            "is_representative": place == group.representative,
            "resemblance": member.resemblance,
            "containment": member.containment,
            "representative_in_member": member.covers,
        });
        // What there is no grade or original for is absent.
        if let Some(grade) = member.grade {
            line["grade"] = json!(grade.name());
        }
        if let Some((first, grade)) = member.copy_of {
            line["copy_of"] = json!({ "path": path(first), "grade": grade.name() });
        }
        line
    };
    let members: Vec<Value> = group.members.iter().enumerate().map(member).collect();
    json!({
        "group": number,
        "size": group.members.len(),
        "representative": path(group.members[group.representative].document),
        "lowest_resemblance": group.lowest,
        "chain": group.is_chain,
        "spare_bytes": spare_bytes(group, found),
        "members": members,
    })
}

fn write_group(out: &mut impl Write, number: usize, group: &Group, found: &Scan) -> io::Result<()> {
    let (bold, dim) = (Style::new().bold(), Style::new().dimmed());
    let size = text::counted(group.members.len(), "file");
    let lowest = if group.lowest >= 1.0 {
        "all alike".to_owned()
    } else {
        format!("down to {}", text::percent(group.lowest))
    };
    let chain = if group.is_chain {
        ", a chain: not all are like the first"
    } else {
        ""
    };
    writeln!(out, "{bold}group {number}: {size}, {lowest}{chain}{bold:#}")?;
    let path = |member: &Member| shown(&found.documents[member.document].path);
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
        write!(out, "  {style}{how:>14}{style:#}  {}", path(member))?;
        // Of a copy of the representative the first column has said it all.
        if let (Some((first, grade)), false) = (member.copy_of, is_copy) {
            let first = shown(&found.documents[first].path);
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

/// One line on a terminal that counts the files; nothing elsewhere.
struct Progress {
    is_shown: bool,
}

impl Progress {
    fn new(global: Global) -> Progress {
        Progress {
            is_shown: !global.quiet && io::stderr().is_terminal(),
        }
    }

    fn show(&self, done: usize, all: usize) {
        if self.is_shown {
            let (done, all) = (text::count(done as u64), text::count(all as u64));
            let mut err = io::stderr().lock();
            let _ = write!(err, "\r\x1b[Kreading: {done} of {all} files");
            let _ = err.flush();
        }
    }

    fn clear(&self) {
        if self.is_shown {
            let _ = write!(io::stderr().lock(), "\r\x1b[K");
        }
    }
}
