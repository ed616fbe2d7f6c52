//! How a collection changes, for programs and for people: the JSON, and one report that the
//! service shows and `changes --html` writes as a file that needs nothing else.
//!
//! Names of hosts and of files are untrusted: templates and plots escape them.

use std::fmt::Write;

use askama::Template;
use lookalike::corpus::date::rfc3339;
use lookalike::sweeps::changes::{BARS, Changes, Degree, Fates, Interval, Rate};
use lookalike::sweeps::survival::Survival;
use serde_json::{Value, json};

use crate::plots::{self, Bar, Curve, Names, Part, Stack};
use crate::words::{count, counted, duration, percent};

/// Style of plots of change and time.
pub const STYLE: &str = include_str!("../static/changes.css");

const BASE_STYLE: &str = include_str!("../static/style.css");

/// Hosts that are told one by one in JSON.
const MOST_HOSTS: usize = 1000;

/// And in a report.
const HOSTS_SHOWN: usize = 50;

/// Moves that are told one by one in JSON.
const MOST_FLOWS: usize = 1000;

/// All that is known of changes.
pub fn json(changes: &Changes) -> Value {
    let sweeps = changes.sweeps.iter().map(|sweep| {
        json!({
            "name": sweep.name,
            "date": sweep.moment.date.map(rfc3339),
            "until": sweep.moment.until.map(rfc3339),
            "pages": sweep.moment.pages,
        })
    });
    let pairs = changes.sweeps.windows(2).zip(&changes.intervals);
    let intervals = pairs.map(|(sweeps, interval)| {
        let mut out = fates(&interval.fates);
        out["from"] = json!(sweeps[0].name);
        out["to"] = json!(sweeps[1].name);
        out["days"] = json!(interval.days);
        out["change"] = json!({
            "pages": interval.degree.pages(),
            "mean_resemblance": interval.degree.mean(),
            "histogram": interval.degree.histogram,
        });
        out
    });
    let hosts = changes.hosts.iter().take(MOST_HOSTS).map(|host| {
        let mut out = fates(&host.fates);
        out["host"] = json!(host.host);
        out["pages"] = json!(host.pages);
        out["how_often"] = rate(&host.rate);
        out
    });
    let flows = changes.flows.all.iter().take(MOST_FLOWS);
    let flows = flows.map(|(from, to, pages)| json!({ "from": from, "to": to, "pages": pages }));
    let mut often = rate(&changes.often.rate);
    often["pages_by_changes"] = json!(changes.often.pages_by_changes);
    let lifetime = &changes.lifetime;
    json!({
        "host": changes.host,
        "pages": changes.pages,
        "undated": changes.undated,
        "sweeps": sweeps.collect::<Vec<_>>(),
        "intervals": intervals.collect::<Vec<_>>(),
        "how_often": often,
        "lifetime": {
            "unit": if lifetime.is_in_days { "days" } else { "sweeps" },
            "birth_unknown": lifetime.birth_unknown,
            "by_address": survival(&lifetime.by_address),
            "by_content": survival(&lifetime.by_content),
        },
        "moves": {
            "between": if changes.flows.are_hosts { "hosts" } else { "directories" },
            "flows": flows.collect::<Vec<_>>(),
        },
        "hosts": hosts.collect::<Vec<_>>(),
        "hosts_total": changes.hosts.len(),
    })
}

fn fates(fates: &Fates) -> Value {
    json!({
        "unchanged": fates.unchanged,
        "changed": fates.changed,
        "same_words": fates.same_words,
        "moved_within_host": fates.moved_within_host,
        "moved_between_hosts": fates.moved_between_hosts,
        "not_visited": fates.not_visited,
        "died": fates.died,
        "born": fates.born,
        "moved_here": fates.moved_here,
        "returned": fates.returned,
        "newly_visited": fates.newly_visited,
    })
}

fn rate(rate: &Rate) -> Value {
    json!({
        "pages": rate.pages,
        "looks": rate.looks,
        "changes": rate.changes,
        "page_days": rate.page_days,
        "changes_per_day": rate.per_day(),
    })
}

fn survival(survival: &Survival) -> Value {
    let curve = survival.steps.iter().map(|step| {
        json!({
            "age": step.age, "at_risk": step.at_risk, "died": step.died,
            "survival": step.survival, "low": step.low, "high": step.high,
        })
    });
    let median = survival.median();
    json!({
        "pages": survival.lives,
        "died": survival.died,
        "alive": survival.lives - survival.died,
        "median": median.map(|(after, by)| json!({ "after": after, "by": by })),
        "until": survival.until,
        "curve": curve.collect::<Vec<_>>(),
    })
}

/// Where a report stands.
#[derive(Clone, Copy, Eq, PartialEq)]
pub(crate) enum Place {
    /// In the service: hosts are links.
    Service,
    /// In a file of its own.
    File,
}

#[derive(Template)]
#[template(path = "changes_report.html")]
struct File<'a> {
    name: &'a str,
    style: String,
    body: String,
}

/// The report of a collection of this name as one file.
pub fn report(changes: &Changes, name: &str) -> Result<String, askama::Error> {
    let file = File {
        name,
        style: format!("{BASE_STYLE}\n{STYLE}"),
        body: body(changes, name, Place::File)?,
    };
    file.render()
}

#[derive(Template)]
#[template(path = "changes_body.html")]
struct Body<'a> {
    changes: &'a Changes,
    name: &'a str,
    is_file: bool,
    tiles: Vec<Tile>,
    figures: Option<Figures>,
    rows: Vec<Row>,
    hosts: Vec<HostRow>,
    more_hosts: String,
}

struct Tile {
    name: &'static str,
    value: String,
    help: String,
}

/// What is drawn where there are two sweeps or more.
struct Figures {
    fates: String,
    /// Class, name and number of each part there is.
    legend: Vec<(&'static str, &'static str, String)>,
    degree: Option<String>,
    degree_words: String,
    often: Option<String>,
    often_words: String,
    survival: String,
    by_address: String,
    by_content: String,
    matrix: Option<String>,
    moves: String,
}

struct Row {
    from: String,
    to: String,
    days: String,
    cells: Vec<String>,
    /// Where the born are from.
    origins: Vec<String>,
}

struct HostRow {
    host: String,
    link: String,
    cells: Vec<String>,
}

impl Body<'_> {
    fn span(&self) -> String {
        let sweeps = &self.changes.sweeps;
        match (sweeps.first(), sweeps.last()) {
            (Some(first), Some(last)) if sweeps.len() > 1 => {
                format!("{} sweeps, {} to {}", sweeps.len(), first.name, last.name)
            }
            (Some(only), _) => format!("one sweep, {}", only.name),
            _ => "no sweep".to_owned(),
        }
    }

    fn birth_unknown(&self) -> String {
        counted(self.changes.lifetime.birth_unknown, "page")
    }

    fn undated(&self) -> String {
        counted(self.changes.undated, "capture")
    }
}

/// What both the service and the file show.
pub(crate) fn body(changes: &Changes, name: &str, place: Place) -> Result<String, askama::Error> {
    let hosts = changes.hosts.iter().take(HOSTS_SHOWN).map(host_row);
    let more = changes.hosts.len().saturating_sub(HOSTS_SHOWN);
    Body {
        changes,
        name,
        is_file: place == Place::File,
        tiles: tiles(changes),
        figures: (changes.sweeps.len() > 1).then(|| figures(changes)),
        rows: rows(changes),
        hosts: hosts.collect(),
        more_hosts: if more > 0 {
            counted(more, "host")
        } else {
            String::new()
        },
    }
    .render()
}

/// All intervals together.
fn total(changes: &Changes) -> Fates {
    let mut sum = Fates::default();
    for Interval { fates, .. } in &changes.intervals {
        sum.add(fates);
    }
    sum
}

fn share(part: u64, of: u64) -> String {
    if of == 0 {
        return "–".to_owned();
    }
    percent(part as f64 / of as f64)
}

fn tiles(changes: &Changes) -> Vec<Tile> {
    let all = total(changes);
    let hosts = match changes.hosts.len() {
        0 => "addresses or ids that any sweep saw".to_owned(),
        hosts => format!(
            "addresses that any sweep saw, on {}",
            counted(hosts, "host")
        ),
    };
    let mut tiles = vec![Tile {
        name: "Pages",
        value: count(changes.pages),
        help: hosts,
    }];
    if changes.sweeps.len() < 2 {
        return tiles;
    }
    let rate = &changes.often.rate;
    let every = rate.per_day().filter(|per_day| *per_day > 0.0);
    let every = every.map(|per_day| {
        format!(
            "; a page changes every {} or more often",
            duration(1.0 / per_day)
        )
    });
    tiles.push(Tile {
        name: "Changed",
        value: share(rate.changes, rate.looks),
        help: format!(
            "of the {} that a page was looked at again{}",
            counted(rate.looks, "time"),
            every.unwrap_or_default()
        ),
    });
    let moved = all.moved_within_host + all.moved_between_hosts;
    tiles.push(Tile {
        name: "Moved",
        value: count(moved),
        help: format!(
            "{} within a host, {} to another; {} died",
            count(all.moved_within_host),
            count(all.moved_between_hosts),
            count(all.died)
        ),
    });
    let lifetime = &changes.lifetime;
    let content = match lifetime.by_content.median() {
        Some((_, by)) => format!("{} where moves are followed", age(by, lifetime.is_in_days)),
        None => "more than half outlive it where moves are followed".to_owned(),
    };
    tiles.push(match lifetime.by_address.median() {
        Some((_, by)) => Tile {
            name: "Half are gone after",
            value: age(by, lifetime.is_in_days),
            help: format!("from their address; {content}"),
        },
        None => Tile {
            name: "Half are gone after",
            value: format!("> {}", age(lifetime.by_address.until, lifetime.is_in_days)),
            help: "more than half outlive the observation".to_owned(),
        },
    });
    tiles
}

fn age(age: f64, is_in_days: bool) -> String {
    if is_in_days {
        return duration(age);
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a number of sweeps"
    )]
    counted(age as u64, "sweep")
}

fn figures(changes: &Changes) -> Figures {
    let all = total(changes);
    let mut degree = Degree::default();
    for interval in &changes.intervals {
        degree.merge(&interval.degree);
    }
    let often = &changes.often;
    let moves = all.moved_within_host + all.moved_between_hosts;
    let places = if changes.flows.are_hosts {
        "hosts"
    } else {
        "directories"
    };
    Figures {
        fates: stacks(changes),
        legend: [above(&all), below(&all)]
            .concat()
            .into_iter()
            .filter(|part| part.2 > 0)
            .map(|(class, name, number)| (class, name, count(number)))
            .collect(),
        degree: (degree.pages() > 0).then(|| histogram(&degree)),
        degree_words: degree_words(&degree, &all),
        often: (often.rate.pages > 0).then(|| how_often(&often.pages_by_changes)),
        often_words: often_words(changes),
        survival: curves(changes),
        by_address: life_words(&changes.lifetime.by_address, changes.lifetime.is_in_days),
        by_content: life_words(&changes.lifetime.by_content, changes.lifetime.is_in_days),
        matrix: plots::matrix(
            &format!("How many pages moved between which {places}"),
            &changes.flows.all,
        ),
        moves: format!("{}, between {places}", counted(moves, "move")),
    }
}

fn above(fates: &Fates) -> Vec<Part> {
    vec![
        ("unchanged", "unchanged", fates.unchanged),
        ("changed", "changed", fates.changed),
        ("born", "born", fates.born),
    ]
}

fn below(fates: &Fates) -> Vec<Part> {
    vec![
        ("moved", "moved within its host", fates.moved_within_host),
        ("left", "moved to another host", fates.moved_between_hosts),
        ("died", "died", fates.died),
        ("unvisited", "host not visited", fates.not_visited),
    ]
}

fn stacks(changes: &Changes) -> String {
    let pairs = changes.sweeps.windows(2).zip(&changes.intervals);
    let stacks = pairs.map(|(sweeps, interval)| {
        let (above, below) = (above(&interval.fates), below(&interval.fates));
        let parts = above.iter().chain(&below).filter(|part| part.2 > 0);
        let parts: Vec<String> = parts
            .map(|(_, name, number)| format!("{name} {}", count(*number)))
            .collect();
        Stack {
            name: sweeps[1]
                .name
                .get(..10)
                .unwrap_or(&sweeps[1].name)
                .to_owned(),
            title: format!(
                "{} to {}: {}",
                sweeps[0].name,
                sweeps[1].name,
                parts.join(", ")
            ),
            above,
            below,
        }
    });
    plots::stacks(
        "What became of pages from each sweep to the next",
        "the later of two sweeps",
        "pages gone | pages there",
        &stacks.collect::<Vec<_>>(),
    )
}

fn histogram(degree: &Degree) -> String {
    let bar = |(i, pages): (usize, &u64)| {
        let (from, to) = (100 * i / BARS, 100 * (i + 1) / BARS);
        Bar {
            name: if i % 2 == 0 {
                format!("{from} %")
            } else {
                String::new()
            },
            title: format!("{}: {from} to {to} %", counted(*pages, "page")),
            count: *pages,
        }
    };
    plots::bars(
        "How alike pages that changed are to what they were",
        "resemblance to the version before",
        "pages",
        &degree
            .histogram
            .iter()
            .enumerate()
            .map(bar)
            .collect::<Vec<_>>(),
        Names::Edge("100 %"),
    )
}

fn degree_words(degree: &Degree, all: &Fates) -> String {
    match degree.mean() {
        None => "No page changed from one sweep to the next.".to_owned(),
        Some(mean) => format!(
            "{} at their address from one sweep to the next; their mean resemblance to the version before is {}. Of these {} in other bytes and the same words.",
            counted(all.changed, "page") + " changed",
            percent(mean),
            match all.same_words {
                1 => "1 is".to_owned(),
                number => format!("{} are", count(number)),
            }
        ),
    }
}

/// Bars of how often pages changed; what is beyond is one more.
const OFTEN_BARS: usize = 20;

fn how_often(pages: &[u64]) -> String {
    let mut bars: Vec<Bar> = pages
        .iter()
        .take(OFTEN_BARS)
        .enumerate()
        .map(|(changes, pages)| Bar {
            name: changes.to_string(),
            title: format!(
                "{}: {}",
                counted(*pages, "page"),
                counted(changes, "change")
            ),
            count: *pages,
        })
        .collect();
    let beyond: u64 = pages.iter().skip(OFTEN_BARS).sum();
    if beyond > 0 {
        bars.push(Bar {
            name: format!("{OFTEN_BARS}+"),
            title: format!("{}: {OFTEN_BARS} changes or more", counted(beyond, "page")),
            count: beyond,
        });
    }
    plots::bars(
        "How many pages were found changed how often",
        "times that a page was found changed",
        "pages",
        &bars,
        Names::Middle,
    )
}

fn often_words(changes: &Changes) -> String {
    let rate = &changes.often.rate;
    if rate.pages == 0 {
        return "No page was seen by more than one sweep.".to_owned();
    }
    let never = changes.often.pages_by_changes.first().copied().unwrap_or(0);
    let mut words = format!(
        "{} were seen more than once, {} of them never changed.",
        counted(rate.pages, "page"),
        share(never, rate.pages)
    );
    match (rate.per_day(), rate.page_days) {
        (Some(per_day), Some(days)) if per_day > 0.0 => {
            let _ = write!(
                words,
                " {} in {} page-days of watching: one every {} for each page, at least, for several changes between two sweeps are seen as one.",
                counted(rate.changes, "change"),
                count_float(days),
                duration(1.0 / per_day)
            );
        }
        _ => {}
    }
    words
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a number of days for people"
)]
fn count_float(number: f64) -> String {
    count(number.round().max(0.0) as u64)
}

fn curves(changes: &Changes) -> String {
    let lifetime = &changes.lifetime;
    let curve = |class, survival: &Survival| Curve {
        class,
        steps: survival
            .steps
            .iter()
            .map(|step| [step.age, step.survival, step.low, step.high])
            .collect(),
        until: survival.until,
    };
    let until = lifetime.by_content.until.max(lifetime.by_address.until);
    let (unit, words) = match (lifetime.is_in_days, until) {
        (false, _) => (1.0, "age in sweeps since a page was first seen"),
        (true, days) if days > 2.0 * 365.25 => (365.25, "age in years since a page was first seen"),
        (true, _) => (1.0, "age in days since a page was first seen"),
    };
    plots::survival(
        "Which share of pages is still there at which age",
        (words, "share still there"),
        &[
            curve("content", &lifetime.by_content),
            curve("address", &lifetime.by_address),
        ],
        unit,
        if lifetime.is_in_days { 0.0 } else { 1.0 },
    )
}

fn life_words(survival: &Survival, is_in_days: bool) -> String {
    if survival.lives == 0 {
        return "no page began its life here".to_owned();
    }
    let median = match survival.median() {
        Some((after, by)) => format!(
            "half are gone between {} and {}",
            age(after, is_in_days),
            age(by, is_in_days)
        ),
        None => format!(
            "more than half outlive the {} observed",
            age(survival.until, is_in_days)
        ),
    };
    format!(
        "{median}; {}, {} died, {} were alive when last looked for",
        counted(survival.lives, "page"),
        count(survival.died),
        count(survival.lives - survival.died)
    )
}

fn rows(changes: &Changes) -> Vec<Row> {
    let pairs = changes.sweeps.windows(2).zip(&changes.intervals);
    let row = pairs.map(|(sweeps, interval)| {
        let fates = &interval.fates;
        let numbers = |all: &[u64]| all.iter().copied().map(count).collect::<Vec<_>>();
        let mut cells = numbers(&[fates.before(), fates.unchanged, fates.changed]);
        let mean = interval.degree.mean();
        cells.push(mean.map_or_else(|| "–".to_owned(), percent));
        cells.extend(numbers(&[
            fates.moved_within_host,
            fates.moved_between_hosts,
            fates.died,
            fates.not_visited,
            fates.born,
        ]));
        Row {
            from: sweeps[0].name.clone(),
            to: sweeps[1].name.clone(),
            days: interval.days.map_or_else(|| "–".to_owned(), duration),
            cells,
            origins: numbers(&[fates.moved_here, fates.returned, fates.newly_visited]),
        }
    });
    row.collect()
}

fn host_row(host: &lookalike::sweeps::changes::HostChanges) -> HostRow {
    let (fates, rate) = (&host.fates, &host.rate);
    let every = rate.per_day().filter(|per_day| *per_day > 0.0);
    HostRow {
        host: host.host.clone(),
        link: format!(
            "/changes?host={}",
            crate::words::encoded(&host.host, |byte| byte.is_ascii_alphanumeric()
                || b"-._~".contains(&byte))
        ),
        cells: vec![
            count(host.pages),
            share(rate.changes, rate.looks),
            every.map_or_else(|| "–".to_owned(), |per_day| duration(1.0 / per_day)),
            count(fates.moved_within_host),
            count(fates.moved_between_hosts),
            count(fates.died),
            count(fates.born),
            count(fates.not_visited),
        ],
    }
}
