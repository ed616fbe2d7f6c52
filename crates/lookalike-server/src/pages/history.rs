//! One page through time.

use std::fmt::Write;

use askama::Template;
use axum::extract::State;
use serde::Deserialize;

use super::clusters::encoded;
use super::{Menu, Page, show};
use crate::Shared;
use crate::ask::{Filled, unknown};
use crate::history::{CaptureRow, Told};
use crate::plots::{self, Dot};
use crate::refusal::Refusal;
use crate::state::Snapshot;
use crate::words::{count, counted};

/// Which page.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct HistoryParams {
    pub(crate) url: Option<String>,
}

#[derive(Template)]
#[template(path = "history.html")]
struct HistoryPage {
    menu: Menu,
    url: String,
    told: Option<Shown>,
}

struct Shown {
    told: Told,
    drawn: String,
    /// The document shown before each capture, if it is another.
    before: Vec<Option<u32>>,
}

impl Shown {
    fn summary(&self) -> String {
        let told = &self.told;
        let versions = {
            let mut docs: Vec<u32> = told.captures.iter().map(|row| row.doc).collect();
            docs.sort_unstable();
            docs.dedup();
            docs.len()
        };
        let mut words = format!(
            "{} of {}",
            counted(told.captures.len(), "capture"),
            counted(versions, "version")
        );
        if !told.missed.is_empty() {
            let missed = counted(told.missed.len(), "sweep");
            let _ = write!(words, ", not seen by {missed} since");
        }
        words
    }

    fn rows(&self) -> impl Iterator<Item = (&CaptureRow, &Option<u32>)> {
        self.told.captures.iter().zip(&self.before)
    }
}

pub(super) async fn page(
    State(service): State<Shared>,
    Filled(params): Filled<HistoryParams>,
) -> Page {
    let snapshot = service.newest.snapshot();
    let work = move || {
        let url = params.url.unwrap_or_default();
        let told = if url.is_empty() {
            None
        } else {
            Some(shown(&snapshot, &url)?)
        };
        Ok(HistoryPage {
            menu: Menu::Changes,
            url,
            told,
        })
    };
    Ok(show(&service.desk.long(work).await?))
}

fn shown(snapshot: &Snapshot, url: &str) -> Result<Shown, Refusal> {
    let trail = snapshot.trail()?;
    let timeline = &trail.timeline;
    let told = Told::of(&snapshot.finder, timeline, url)?.ok_or_else(|| unknown(url))?;
    let docs = told.captures.iter().map(|row| row.doc);
    let earlier = std::iter::once(None).chain(docs.clone().map(Some));
    let before = docs
        .zip(earlier)
        .map(|(doc, before)| before.filter(|before| *before != doc));
    let before = before.collect();
    let drawn = draw(&told, timeline);
    Ok(Shown {
        told,
        drawn,
        before,
    })
}

/// A dot for each sweep from the first that saw the page: the last capture of each.
fn draw(told: &Told, timeline: &lookalike::sweeps::Timeline) -> String {
    let sweeps = timeline.sweeps();
    let first = told.captures.first().map_or(0, |row| row.sweep.number);
    let date = |number: usize| sweeps[number].date.map(|date| date.0 as f64);
    let ends = [date(first), date(sweeps.len() - 1)];
    let are_dated = (first..sweeps.len()).all(|number| date(number).is_some());
    let place = |number: usize| match (ends, date(number)) {
        ([Some(from), Some(to)], Some(date)) if are_dated && to > from => {
            (date - from) / (to - from)
        }
        _ => (number - first) as f64 / (sweeps.len() - 1 - first).max(1) as f64,
    };
    let dots = (first..sweeps.len()).map(|number| {
        let name = timeline.name(number);
        let mut rows = told
            .captures
            .iter()
            .filter(|row| row.sweep.number == number);
        let row = rows.next_back();
        let class = match row.map(|row| row.change) {
            None => "gap",
            Some("first") => "first",
            Some("identical") => "same",
            Some("same_words") => "words",
            Some(_) => "changed",
        };
        let title = match row {
            None => format!("{name}: not seen"),
            Some(row) => format!(
                "{name}: {}, {} tokens",
                row.change_shown(),
                count(row.tokens)
            ),
        };
        Dot {
            place: place(number),
            name: name.get(..10).unwrap_or(&name).to_owned(),
            class,
            title,
            alike: row
                .and_then(|row| row.resemblance)
                .map(|share| share.value()),
        }
    });
    plots::life("The page from sweep to sweep", &dots.collect::<Vec<_>>())
}

/// The address of a page's history.
pub(super) fn link(url: &str) -> String {
    format!("/history?url={}", encoded(url))
}
