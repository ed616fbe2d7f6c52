//! `lookalike changes COLLECTION`: how pages change, move, are born and die from sweep to
//! sweep.

use std::fmt::Write as _;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use lookalike::storage::StorageError;
use lookalike::sweeps::changes::Lifetime;
use lookalike::sweeps::survival::Survival;
use lookalike::sweeps::{Changes, Followed};
use lookalike_server::changes::{json, report};
use lookalike_server::words::duration;

use crate::args::{Global, KeyArgs};
use crate::collection::searchable;
use crate::failure::{Exit, Failure, Stop};
use crate::input::note;
use crate::output::{file, text};

/// Tell how pages change: how often, how much, where they move, how long they live
///
/// A sweep is a set of captures told by date: those added with one --date, or those
/// without a pause of a day between them. A page goes by its URL. Figures come from
/// sketches; no source is read.
#[derive(Args)]
#[command(after_help = "\
Examples:
  lookalike changes crawl.lk
  lookalike changes crawl.lk --html changes.html
  lookalike changes crawl.lk --host example.org --json")]
pub(crate) struct ChangesArgs {
    /// The collection
    collection: PathBuf,

    /// Tell of the pages of one host
    #[arg(long, value_name = "HOST")]
    host: Option<String>,

    /// Write the report, with plots, as one HTML file
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    #[command(flatten)]
    key: KeyArgs,
}

impl ChangesArgs {
    pub(crate) fn run(self, global: Global) -> Result<Exit, Stop> {
        let damaged =
            |error: StorageError| Failure::from_collection(&self.collection, &error.into());
        file::spares(
            self.html.as_deref(),
            std::iter::empty(),
            Some(&self.collection),
        )?;
        let finder = searchable(&self.collection, self.key.key()?.as_ref())?;
        let followed = Followed::of(&finder).map_err(damaged)?;
        let host = match &self.host {
            None => None,
            Some(name) => Some(followed.trail.hosts.number(name).ok_or_else(|| Failure {
                exit: Exit::NotFound,
                message: format!("no page is of the host `{}`", text::excerpt(name, 200)),
                hint: "a host is what stands between // and the path of a URL".to_owned(),
            })?),
        };
        let changes = Changes::of(&finder, &followed, host).map_err(damaged)?;
        if let Some(path) = &self.html {
            let page = report(&changes, &name(&self.collection));
            let page = page.map_err(|error| Failure {
                exit: Exit::Machine,
                message: format!("the report cannot be drawn: {error}"),
                hint: String::new(),
            })?;
            file::write(path, page.as_bytes())?;
        }
        let mut out = text::stdout();
        if global.json {
            writeln!(out, "{}", json(&changes))?;
        } else if self.html.is_none() {
            write!(out, "{}", as_text(&changes))?;
        }
        out.flush()?;
        if changes.sweeps.len() < 2 {
            note(
                global,
                "changes need two sweeps; add another, or give each its --date",
            );
        }
        Ok(Exit::Done)
    }
}

/// What a collection is called.
fn name(folder: &Path) -> String {
    let name = folder.file_name().unwrap_or(folder.as_os_str());
    name.to_string_lossy().into_owned()
}

fn as_text(changes: &Changes) -> String {
    let mut out = format!(
        "{} in {}",
        text::counted(changes.pages, "page"),
        text::counted(changes.sweeps.len(), "sweep"),
    );
    if let Some(host) = &changes.host {
        let _ = write!(out, ", of {}", text::excerpt(host, 60));
    }
    out.push('\n');
    if changes.undated > 0 {
        let undated = text::counted(changes.undated, "capture");
        let _ = writeln!(out, "{undated} without a date belong to no sweep");
    }
    let mut table = |title: &str, rows: &[Vec<String>]| {
        let _ = write!(out, "\n{title}\n{}", text::columns(rows));
    };
    table("Sweeps", &sweeps(changes));
    if changes.intervals.is_empty() {
        return out;
    }
    table("What became of pages until the next sweep", &fates(changes));
    table(
        "Where pages of a sweep are from that are new at their address",
        &births(changes),
    );
    table(
        "How often pages changed that were seen more than once",
        &often(changes),
    );
    table("How long pages live", &lives(&changes.lifetime));
    if !changes.flows.all.is_empty() {
        table("Where pages moved", &flows(changes));
    }
    if changes.hosts.len() > 1 {
        table("Hosts with the most pages", &hosts(changes));
    }
    out
}

fn cells<const N: usize>(row: [&str; N]) -> Vec<String> {
    row.map(str::to_owned).to_vec()
}

fn numbers(name: &str, all: &[u64]) -> Vec<String> {
    let numbers = all.iter().copied().map(text::count);
    std::iter::once(name.to_owned()).chain(numbers).collect()
}

fn share(part: u64, of: u64) -> String {
    if of == 0 {
        return "-".to_owned();
    }
    text::percent(part as f64 / of as f64)
}

fn sweeps(changes: &Changes) -> Vec<Vec<String>> {
    let mut rows = vec![cells(["sweep", "pages"])];
    for sweep in &changes.sweeps {
        rows.push(numbers(&sweep.name, &[u64::from(sweep.moment.pages)]));
    }
    rows
}

fn fates(changes: &Changes) -> Vec<Vec<String>> {
    let mut rows = vec![cells([
        "since", "same", "changed", "alike", "moved", "left", "died", "unseen", "born",
    ])];
    for (sweep, interval) in changes.sweeps.iter().zip(&changes.intervals) {
        let fates = &interval.fates;
        let mean = interval.degree.mean();
        rows.push(vec![
            sweep.name.clone(),
            text::count(fates.unchanged),
            text::count(fates.changed),
            mean.map_or_else(|| "-".to_owned(), text::percent),
            text::count(fates.moved_within_host),
            text::count(fates.moved_between_hosts),
            text::count(fates.died),
            text::count(fates.not_visited),
            text::count(fates.born),
        ]);
    }
    rows
}

fn births(changes: &Changes) -> Vec<Vec<String>> {
    let mut rows = vec![cells([
        "sweep",
        "born",
        "moved here",
        "returned",
        "host is new",
    ])];
    for (sweep, interval) in changes.sweeps.iter().skip(1).zip(&changes.intervals) {
        let fates = &interval.fates;
        let origins = [
            fates.born,
            fates.moved_here,
            fates.returned,
            fates.newly_visited,
        ];
        rows.push(numbers(&sweep.name, &origins));
    }
    rows
}

/// Rows of how often pages changed; what is beyond is one more.
const OFTEN_ROWS: usize = 10;

fn often(changes: &Changes) -> Vec<Vec<String>> {
    let often = &changes.often;
    let mut rows = vec![cells(["times changed", "pages", "share"])];
    let mut row = |name: &str, pages: u64| {
        let of = often.rate.pages;
        rows.push(vec![name.to_owned(), text::count(pages), share(pages, of)]);
    };
    for (times, pages) in often.pages_by_changes.iter().take(OFTEN_ROWS).enumerate() {
        row(&times.to_string(), *pages);
    }
    let beyond: u64 = often.pages_by_changes.iter().skip(OFTEN_ROWS).sum();
    if beyond > 0 {
        row(&format!("{OFTEN_ROWS} and more"), beyond);
    }
    if let Some(per_day) = often.rate.per_day().filter(|per_day| *per_day > 0.0) {
        rows.push(cells(["a page changes every", &duration(1.0 / per_day)]));
    }
    rows
}

fn lives(lifetime: &Lifetime) -> Vec<Vec<String>> {
    let age = |age: f64| {
        if lifetime.is_in_days {
            duration(age)
        } else {
            let s = if age < 1.5 { "" } else { "s" };
            format!("{age:.0} sweep{s}")
        }
    };
    let row = |name: &str, survival: &Survival| {
        if survival.lives == 0 {
            return cells([name, "0", "0", "-", "-"]);
        }
        let median = match survival.median() {
            Some((_, by)) => age(by),
            None => format!("> {}", age(survival.until)),
        };
        let left = survival.steps.last().map_or_else(
            || text::percent(1.0),
            |step| {
                let [share, low, high] = [step.survival, step.low, step.high].map(text::percent);
                format!("{share} ({} to {high})", low.trim_end_matches(" %"))
            },
        );
        let (pages, died) = (text::count(survival.lives), text::count(survival.died));
        vec![name.to_owned(), pages, died, median, left]
    };
    vec![
        cells(["", "pages", "died", "half gone by", "left at the end"]),
        row("at their address", &lifetime.by_address),
        row("following moves", &lifetime.by_content),
    ]
}

/// Moves and hosts told one by one.
const ROWS: usize = 10;

fn flows(changes: &Changes) -> Vec<Vec<String>> {
    let mut rows = vec![cells(["from and to", "pages"])];
    for (from, to, pages) in changes.flows.all.iter().take(ROWS) {
        let (from, to) = (text::excerpt(from, 30), text::excerpt(to, 30));
        rows.push(numbers(&format!("{from} → {to}"), &[*pages]));
    }
    let rest = changes.flows.all.iter().skip(ROWS);
    let rest: u64 = rest.map(|flow| flow.2).sum();
    if rest > 0 {
        rows.push(numbers("others", &[rest]));
    }
    rows
}

fn hosts(changes: &Changes) -> Vec<Vec<String>> {
    let mut rows = vec![cells([
        "host", "pages", "changed", "moved", "left", "died", "born",
    ])];
    for host in changes.hosts.iter().take(ROWS) {
        let (fates, rate) = (&host.fates, &host.rate);
        rows.push(vec![
            text::excerpt(&host.host, 30),
            text::count(host.pages),
            share(rate.changes, rate.looks),
            text::count(fates.moved_within_host),
            text::count(fates.moved_between_hosts),
            text::count(fates.died),
            text::count(fates.born),
        ]);
    }
    let rest = changes.hosts.len().saturating_sub(ROWS);
    if rest > 0 {
        rows.push(cells([&format!("and {}", text::counted(rest, "other"))]));
    }
    rows
}
