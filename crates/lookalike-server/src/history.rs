//! One page through time, for programs and for people.

use lookalike::corpus::date::rfc3339;
use lookalike::find::Finder;
use lookalike::storage::StorageError;
use lookalike::sweeps::Timeline;
use lookalike::sweeps::history::{Alike, Capture, Change, History};
use serde::Serialize;

use crate::wire::{Named, Share};

/// Every capture of a page, and the sweeps that did not see it.
#[derive(Clone, Debug, Serialize)]
pub struct Told {
    /// The URL or id that was asked for.
    pub url: String,
    /// Whether the last sweep saw it.
    pub is_present: bool,
    /// Every capture, in order of time.
    pub captures: Vec<CaptureRow>,
    /// Sweeps since the first that saw it which did not.
    pub missed: Vec<SweepName>,
    /// Captures without a date that belong to no sweep.
    pub undated: usize,
}

/// Which sweep.
#[derive(Clone, Debug, Serialize)]
pub struct SweepName {
    /// Its place in time, from 0.
    pub number: usize,
    /// Its date, or its place.
    pub sweep: String,
}

/// One capture.
#[derive(Clone, Debug, Serialize)]
pub struct CaptureRow {
    /// Which sweep.
    #[serde(flatten)]
    pub sweep: SweepName,
    /// When it was captured.
    pub date: Option<String>,
    /// The document.
    pub doc: u32,
    /// How many tokens it has.
    pub tokens: u64,
    /// `first`, `identical`, `same_words` or `changed`, compared with the capture before.
    pub change: &'static str,
    /// How alike it is to the capture before, if it changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resemblance: Option<Share>,
    /// How much of the capture before is in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous_in_this: Option<Share>,
    /// How much of it was in the capture before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub this_in_previous: Option<Share>,
    /// Pages of other URLs that were in its cluster in the same sweep, the best few.
    pub neighbours: Vec<AlikeRow>,
    /// How many there were.
    pub neighbours_total: usize,
    /// Pages of other URLs that have this text in the last sweep, where this one has not.
    pub now: Vec<AlikeRow>,
}

/// Another document.
#[derive(Clone, Debug, Serialize)]
pub struct AlikeRow {
    /// Which.
    #[serde(flatten)]
    pub named: Named,
    /// How alike it is to the capture.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resemblance: Option<Share>,
}

impl Told {
    /// The history of a page by its URL or id; nothing if there is no such page.
    pub fn of(
        finder: &Finder,
        timeline: &Timeline,
        name: &str,
    ) -> Result<Option<Told>, StorageError> {
        let Some(history) = History::of(finder, timeline, name)? else {
            return Ok(None);
        };
        let sweep = |number: usize| SweepName {
            number,
            sweep: timeline.name(number),
        };
        let rows = history
            .captures
            .iter()
            .map(|capture| row(finder, capture, sweep(capture.sweep)));
        let last = timeline.sweeps().len().checked_sub(1);
        Ok(Some(Told {
            url: name.to_owned(),
            is_present: last.is_some_and(|last| timeline.at(last, history.key).is_some()),
            captures: rows.collect::<Result<_, _>>()?,
            missed: history.missed.iter().map(|&number| sweep(number)).collect(),
            undated: history.undated,
        }))
    }
}

fn row(finder: &Finder, capture: &Capture, sweep: SweepName) -> Result<CaptureRow, StorageError> {
    let alike = |all: &[Alike]| -> Result<Vec<AlikeRow>, StorageError> {
        let rows = all.iter().map(|one| {
            Ok(AlikeRow {
                named: Named::of(finder.collection(), one.doc)?,
                resemblance: one.resemblance().map(Share::estimated),
            })
        });
        rows.collect()
    };
    let (change, before) = match &capture.change {
        None => ("first", None),
        Some(Change::Unchanged) => ("identical", None),
        Some(Change::SameWords) => ("same_words", None),
        Some(Change::Changed(before)) => ("changed", Some(before)),
    };
    Ok(CaptureRow {
        sweep,
        date: capture.date.map(rfc3339),
        doc: capture.doc,
        tokens: capture.tokens,
        change,
        resemblance: before.and_then(Alike::resemblance).map(Share::estimated),
        previous_in_this: before
            .and_then(Alike::other_in_capture)
            .map(Share::estimated),
        this_in_previous: before
            .and_then(Alike::capture_in_other)
            .map(Share::estimated),
        neighbours: alike(&capture.neighbours)?,
        neighbours_total: capture.neighbour_count,
        now: alike(&capture.now)?,
    })
}

impl CaptureRow {
    /// What happened, in words.
    pub fn change_shown(&self) -> String {
        match self.change {
            "first" => "first seen".to_owned(),
            "identical" => "identical".to_owned(),
            "same_words" => "same words".to_owned(),
            _ => "changed".to_owned(),
        }
    }
}
