//! Lost and found: where a page is now.

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use lookalike::core::estimate::Estimate;
use lookalike::corpus::date::rfc3339;
use lookalike::corpus::record::Timestamp;
use lookalike::sweeps::{MOVED, Place, Status, Whereabouts};

use super::{Menu, Page, show};
use crate::Shared;
use crate::ask::Filled;
use crate::found::{WhereParams, place};
use crate::words;

#[derive(Template)]
#[template(path = "lost.html")]
struct LostPage {
    menu: Menu,
    url: String,
    told: Option<Told>,
}

/// An answer, in words.
struct Told {
    lead: String,
    is_tie: bool,
    /// The last text of the page, to be compared with.
    doc: Option<u32>,
    rows_are: &'static str,
    rows: Vec<Row>,
}

struct Row {
    doc: u32,
    found: u32,
    url: String,
    sure: String,
    how: &'static str,
    resemblance: String,
    held: String,
    own: String,
    date: String,
    remarks: String,
}

pub(super) async fn page(
    State(service): State<Shared>,
    Filled(params): Filled<WhereParams>,
) -> Page {
    let snapshot = service.newest.snapshot();
    let work = move || {
        let url = params.url.unwrap_or_default();
        let told = if url.is_empty() {
            None
        } else {
            Some(told(&place(&snapshot, &url, params.prefer.as_deref())?))
        };
        Ok(LostPage {
            menu: Menu::Lost,
            url,
            told,
        })
    };
    Ok(show(&service.desk.long(work).await?))
}

/// The places of a page of which two are as good as each other.
pub(crate) fn choices(url: &str, place: &Whereabouts) -> Response {
    show(&LostPage {
        menu: Menu::Lost,
        url: url.to_owned(),
        told: Some(told(place)),
    })
}

fn told(place: &Whereabouts) -> Told {
    let last = day(place.last_seen);
    let sure = words::percent(place.confidence.unwrap_or(0.0));
    let lead = match place.status {
        Status::Present => format!("It is where it was: seen there {last}."),
        Status::Moved if place.confidence < Some(MOVED) => {
            format!("It was last seen {last}. Perhaps it moved: {sure} sure.")
        }
        Status::Moved => format!("It was last seen {last}. It moved: {sure} sure."),
        Status::Gone => format!("It was last seen {last}. It is gone: {sure} sure."),
        Status::Unknown if place.doc.is_none() => "No sweep has this address.".to_owned(),
        Status::Unknown => {
            format!("It was last seen {last}. No later sweep visited its host.")
        }
    };
    let skipped = usize::from(place.status == Status::Present);
    Told {
        lead,
        is_tie: place.is_tie,
        doc: place.doc,
        rows_are: match place.status {
            Status::Present => "What stood there before",
            Status::Moved => "Where it is now",
            Status::Gone | Status::Unknown => "What is a little like it",
        },
        rows: place.now.iter().skip(skipped).map(row).collect(),
    }
}

fn row(place: &Place) -> Row {
    let share = |share: Option<Estimate>| {
        share.map_or_else(String::new, |share| words::percent(share.value))
    };
    let mut remarks = Vec::new();
    if !place.is_present {
        remarks.push("vanished since".to_owned());
    }
    if !place.is_same_host {
        remarks.push("on another host".to_owned());
    }
    if let Some(via) = &place.via {
        remarks.push(format!("by way of {}", words::excerpt(via, 60)));
    }
    Row {
        doc: place.doc,
        found: place.found,
        url: words::excerpt(&place.url, 90),
        sure: words::percent(place.confidence),
        how: place.how.words(),
        resemblance: share(place.resemblance),
        held: share(place.held),
        own: share(place.own),
        date: day(place.date),
        remarks: remarks.join(", "),
    }
}

fn day(date: Option<Timestamp>) -> String {
    let date = date.map(rfc3339);
    let day = date.as_deref().and_then(|date| date.get(..10));
    day.unwrap_or("on an unknown day").to_owned()
}
