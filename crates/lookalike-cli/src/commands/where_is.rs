//! `lookalike where COLLECTION URL`: lost and found.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use lookalike::find::Finder;
use lookalike::storage::StorageError;
use lookalike::sweeps::{MOVED, Place, Prefer, Status, Trail, Whereabouts};
use lookalike_server::wire;

use crate::args::{Global, KeyArgs, threshold};
use crate::collection::searchable;
use crate::failure::{Exit, Failure, Stop};
use crate::input::note;
use crate::output::redirects::{Format, Redirects};
use crate::output::{file, text};

/// Say where a page lives now, how sure that is, or that it is gone
///
/// From the last good capture of the address its text is looked for in later sweeps. Places
/// are ranked by what speaks for them; what many pages have in common speaks for none.
/// Confidence was fitted to sites whose moves are known: there, answers above 80 % were
/// right 99 times in 100.
#[derive(Args)]
#[command(after_help = "\
Examples:
  lookalike where crawl.lk https://example.org/old-page
  lookalike where crawl.lk --urls dead-links.txt --map nginx -o moved.conf
  lookalike where crawl.lk --urls - --json < dead-links.txt")]
pub(crate) struct WhereArgs {
    /// The collection
    collection: PathBuf,

    /// Addresses, or ids, just as they stood in the input
    #[arg(value_name = "URL", required_unless_present = "list")]
    urls: Vec<String>,

    /// A file of addresses, one a line; `-` for standard input
    #[arg(long = "urls", value_name = "FILE")]
    list: Option<PathBuf>,

    /// A redirect map of what moved
    #[arg(long, value_name = "FORMAT", conflicts_with = "json")]
    map: Option<MapFormat>,

    /// Where the map goes [default: standard output]
    #[arg(short, long, value_name = "FILE", requires = "map")]
    output: Option<PathBuf>,

    /// The least confidence of a redirect
    #[arg(long, value_name = "P", default_value_t = MOVED, value_parser = threshold)]
    min_confidence: f64,

    /// Of several good places, the first: newest, same-host, or the name of a host
    #[arg(long, value_name = "WHICH")]
    prefer: Option<String>,

    #[command(flatten)]
    key: KeyArgs,
}

/// How redirects are written down.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum MapFormat {
    /// A table of all addresses that were asked for
    Csv,
    /// A `map` block
    Nginx,
    /// `Redirect` and `RedirectMatch`
    Apache,
    /// A `_redirects` file
    Netlify,
}

impl WhereArgs {
    pub(crate) fn run(self, global: Global) -> Result<Exit, Stop> {
        let sources = self.list.iter().map(PathBuf::as_path);
        file::spares(self.output.as_deref(), sources, Some(&self.collection))?;
        let urls = self.asked()?;
        let damaged =
            |error: StorageError| Failure::from_collection(&self.collection, &error.into());
        let key = self.key.key()?;
        let finder = searchable(&self.collection, key.as_ref())?;
        let trail = Trail::of(finder.collection()).map_err(damaged)?;
        let prefer = self.prefer.as_deref().map(Prefer::of);
        let mut found = Vec::with_capacity(urls.len());
        for url in &urls {
            let mut place = trail.whereabouts(&finder, url).map_err(damaged)?;
            if let Some(prefer) = &prefer {
                place.prefer(prefer);
            }
            if self.map.is_none() {
                tell(url, &place, global)?;
            }
            found.push(place);
        }
        if let Some(format) = self.map {
            self.write_map(&finder, format, &urls, &found)
                .map_err(damaged)??;
        }
        if urls.len() > 1 && !global.quiet {
            let count = |status| found.iter().filter(|place| place.status == status).count();
            let told = [
                Status::Present,
                Status::Moved,
                Status::Gone,
                Status::Unknown,
            ]
            .map(|status| format!("{} {}", text::count(count(status) as u64), status.name()));
            let all = text::count(urls.len() as u64);
            note(global, &format!("{all} addresses: {}", told.join(", ")));
        }
        let is_there =
            |place: &Whereabouts| matches!(place.status, Status::Present | Status::Moved);
        Ok(if urls.len() > 1 || found.iter().any(is_there) {
            Exit::Done
        } else {
            Exit::NotFound
        })
    }

    /// The addresses that are asked for, each once.
    fn asked(&self) -> Result<Vec<String>, Stop> {
        let mut urls = self.urls.clone();
        if let Some(list) = &self.list {
            let lines = read_lines(list).map_err(|error| Failure {
                exit: Exit::NothingUsable,
                message: format!(
                    "cannot read `{}`: {error}",
                    lookalike::corpus::unusable::shown(list)
                ),
                hint: "give a text file with one address a line".to_owned(),
            })?;
            urls.extend(lines);
        }
        let mut known = std::collections::HashSet::new();
        urls.retain(|url| known.insert(url.clone()));
        if urls.is_empty() {
            return Err(Failure {
                exit: Exit::NothingUsable,
                message: "there is no address to look for".to_owned(),
                hint: "give a text file with one address a line".to_owned(),
            }
            .into());
        }
        Ok(urls)
    }

    fn write_map(
        &self,
        finder: &Finder,
        format: MapFormat,
        urls: &[String],
        found: &[Whereabouts],
    ) -> Result<Result<(), Stop>, StorageError> {
        let format = match format {
            MapFormat::Csv => Format::Csv,
            MapFormat::Nginx => Format::Nginx,
            MapFormat::Apache => Format::Apache,
            MapFormat::Netlify => Format::Netlify,
        };
        let mut redirects = Redirects::new(format, self.min_confidence);
        for (url, place) in urls.iter().zip(found) {
            redirects.add(url, place);
        }
        let map = redirects.write(finder.collection())?;
        Ok(if let Some(path) = &self.output {
            file::write(path, map.as_bytes()).map_err(Stop::from)
        } else {
            let mut out = text::stdout();
            let written = out.write_all(map.as_bytes()).and_then(|()| out.flush());
            written.map_err(Stop::from)
        })
    }
}

/// Prints where one page is.
fn tell(url: &str, place: &Whereabouts, global: Global) -> Result<(), Stop> {
    let mut out = text::stdout();
    if global.json {
        writeln!(out, "{}", wire::whereabouts(url, place))?;
    } else {
        writeln!(out, "{}", text::excerpt(url, 400))?;
        write!(out, "{}", told(place))?;
    }
    out.flush()?;
    Ok(())
}

/// The lines of a file that say something.
fn read_lines(path: &Path) -> std::io::Result<Vec<String>> {
    let mut reader: Box<dyn Read> = if path.as_os_str() == "-" {
        Box::new(std::io::stdin().lock())
    } else {
        Box::new(std::fs::File::open(path)?)
    };
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes)?;
    // An address that is not text is in no collection: it is asked for, and not found.
    let text = String::from_utf8_lossy(&bytes);
    let lines = text.trim_start_matches('\u{feff}').lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    Ok(lines.map(str::to_owned).collect())
}

/// Where a page is, for people.
fn told(place: &Whereabouts) -> String {
    let day = |date: Option<lookalike::corpus::record::Timestamp>| {
        let date = date.map(lookalike::corpus::date::rfc3339);
        date.map_or_else(
            || "an unknown day".to_owned(),
            |date| date.trim_end_matches("T00:00:00Z").to_owned(),
        )
    };
    let last = day(place.last_seen);
    let sure = text::percent(place.confidence.unwrap_or(0.0));
    let mut out = match place.status {
        Status::Present => format!("  present: it is where it was, seen {last}\n"),
        Status::Moved if place.confidence < Some(MOVED) => {
            format!("  perhaps moved, {sure} sure; last seen {last}\n")
        }
        Status::Moved => format!("  moved, {sure} sure; last seen {last}\n"),
        Status::Gone => format!("  gone, {sure} sure; last seen {last}\n"),
        Status::Unknown if place.last_seen.is_none() && place.doc.is_none() => {
            "  unknown: no sweep has this address\n".to_owned()
        }
        Status::Unknown => {
            format!("  unknown: last seen {last}, and no later sweep visited its host\n")
        }
    };
    if place.is_tie {
        out.push_str("  the first two places are as good as each other\n");
    }
    let others = place.now.iter().filter(|_| place.status != Status::Present);
    let former = place
        .now
        .iter()
        .skip(1)
        .filter(|_| place.status == Status::Present);
    let mut rows: Vec<Vec<String>> = others.chain(former).map(|now| row(now, &day)).collect();
    if rows.is_empty() {
        return out;
    }
    if place.status == Status::Present {
        out.push_str("  what stood there before is another page now:\n");
    }
    if place.status == Status::Gone {
        out.push_str("  what is a little like it:\n");
    }
    let head = [
        "",
        "now",
        "sure",
        "how",
        "resemblance",
        "of it there",
        "last seen",
        "",
    ];
    rows.insert(0, head.map(str::to_owned).to_vec());
    out.push_str(&text::columns(&rows));
    out
}

fn row(
    place: &Place,
    day: &dyn Fn(Option<lookalike::corpus::record::Timestamp>) -> String,
) -> Vec<String> {
    let share = |share: Option<lookalike::core::estimate::Estimate>| {
        share.map_or_else(String::new, |share| text::percent(share.value))
    };
    let mut remarks = Vec::new();
    if !place.is_present {
        remarks.push("vanished since".to_owned());
    }
    if !place.is_same_host {
        remarks.push("other host".to_owned());
    }
    if let Some(via) = &place.via {
        remarks.push(format!("by way of {}", text::excerpt(via, 80)));
    }
    vec![
        String::new(),
        text::excerpt(&place.url, 120),
        text::percent(place.confidence),
        place.how.words().to_owned(),
        share(place.resemblance),
        share(place.held),
        day(place.date),
        remarks.join(", "),
    ]
}
