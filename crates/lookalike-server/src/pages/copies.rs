//! Who holds a text, by the version they carry.

use std::fmt::Write;

use askama::Template;
use axum::extract::State;
use lookalike::copies::CopiesOptions;
use lookalike::corpus::document::Document;
use lookalike::storage::StorageError;
use serde::Deserialize;

use super::{Menu, Page, show};
use crate::Shared;
use crate::api::text_again;
use crate::ask::{Filled, named, numbered};
use crate::holders::{Holder, MOST_READ, held, told_version};
use crate::state::Snapshot;
use crate::wire::Share;
use crate::words;

#[derive(Template)]
#[template(path = "copies.html")]
struct CopiesPage {
    menu: Menu,
    url: String,
    doc: u32,
    told: Option<Told>,
}

/// An answer, in words.
struct Told {
    name: String,
    lead: String,
    versions: Vec<VersionRows>,
}

struct VersionRows {
    title: String,
    rows: Vec<Row>,
}

struct Row {
    doc: u32,
    name: String,
    date: String,
    now: &'static str,
    kind: String,
    held: String,
    own: String,
    contacts: String,
}

/// Which document's text: by name, or by number.
#[derive(Deserialize)]
pub(super) struct CopiesParams {
    url: Option<String>,
    doc: Option<u32>,
}

pub(super) async fn page(
    State(service): State<Shared>,
    Filled(asked): Filled<CopiesParams>,
) -> Page {
    let snapshot = service.newest.snapshot();
    let work = move || {
        let doc = match (&asked.url, asked.doc) {
            (Some(url), _) => Some(named(&snapshot, url)?),
            (None, Some(doc)) => Some(numbered(&snapshot, doc)?),
            (None, None) => None,
        };
        let told = doc.map(|doc| told(&snapshot, doc)).transpose()?;
        Ok(CopiesPage {
            menu: Menu::Other,
            url: asked.url.unwrap_or_default(),
            doc: doc.unwrap_or_default(),
            told,
        })
    };
    Ok(show(&service.desk.long(work).await?))
}

fn told(snapshot: &Snapshot, doc: u32) -> Result<Told, crate::refusal::Refusal> {
    let (name, text) = text_again(snapshot, doc)?;
    let options = CopiesOptions {
        most: MOST_READ,
        ..CopiesOptions::default()
    };
    let found = held(snapshot, &Document::of_text(text), Some(doc), options)?;
    let holders: Result<Vec<Holder>, StorageError> = found
        .copies
        .iter()
        .map(|copy| Holder::of(&snapshot.finder, copy))
        .collect();
    let holders = holders?;
    let mut lead = match holders.len() {
        0 => "Nobody else in the collection holds it.".to_owned(),
        1 => "1 copy.".to_owned(),
        n => format!("{} copies.", words::count(n as u64)),
    };
    if found.unread > 0 {
        let unread = words::count(found.unread as u64);
        let _ = write!(lead, " {unread} more may hold it and were not looked at.");
    }
    let versions = found.versions.iter().enumerate().map(|(number, version)| {
        let own = holders.iter().filter(|one| one.copy.version == number);
        VersionRows {
            title: format!("Version {}: {}", number + 1, told_version(version, 6)),
            rows: own.map(row).collect(),
        }
    });
    Ok(Told {
        name: words::excerpt(&name, 200),
        lead,
        versions: versions.collect(),
    })
}

fn row(holder: &Holder) -> Row {
    let share = |share: Option<Share>| share.map_or_else(String::new, |share| share.shown());
    let copy = &holder.copy;
    let date = holder.date.as_deref().and_then(|date| date.get(..10));
    Row {
        doc: copy.doc,
        name: words::excerpt(&holder.named.title(), 90),
        date: date.unwrap_or_default().to_owned(),
        now: copy.now.name(),
        kind: if copy.holding.is_some() {
            copy.kind.name().to_owned()
        } else {
            format!("{}, by its sketch", copy.kind.name())
        },
        held: share(holder.doc_in_copy),
        own: share(holder.copy_in_doc),
        contacts: copy.contacts.join(" "),
    }
}
