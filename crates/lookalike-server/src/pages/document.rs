//! One document: what is known of it, and its text where that is still to be had.

use askama::Template;
use axum::extract::{Path, State};
use lookalike::storage::StorageError;

use super::clusters::encoded;
use super::{Menu, Page, cluster, history, show};
use crate::Shared;
use crate::ask::numbered;
use crate::refusal::Refusal;
use crate::state::Snapshot;
use crate::wire::Named;
use crate::words::{bytes, count};

/// How much of a text is shown.
const SHOWN: usize = 256 << 10;

#[derive(Template)]
#[template(path = "document.html")]
struct Document {
    menu: Menu,
    named: Named,
    title: String,
    tokens: String,
    length: String,
    place: String,
    cluster: Option<(u32, String)>,
    captures: Vec<String>,
    text: Result<String, String>,
    is_cut: bool,
    lookup: String,
    history: Option<String>,
}

/// The text of a document as far as it is shown, or why not; and whether that is not all.
pub(super) fn text(
    snapshot: &Snapshot,
    doc: u32,
) -> Result<(Result<String, String>, bool), StorageError> {
    let text = snapshot.collection().text(doc)?;
    let mut text = text.map_err(|lost| lost.to_string());
    let mut is_cut = false;
    if let Ok(text) = &mut text
        && text.len() > SHOWN
    {
        text.truncate(text.floor_char_boundary(SHOWN));
        is_cut = true;
    }
    Ok((text, is_cut))
}

pub(super) async fn page(State(service): State<Shared>, Path(id): Path<String>) -> Page {
    let wrong = |_| Refusal::not_found("a document goes by its number here");
    let id: u32 = id.parse().map_err(wrong)?;
    let snapshot = service.newest.snapshot();
    let work = move || {
        let collection = snapshot.collection();
        let doc = numbered(&snapshot, id)?;
        let entry = collection.entry(doc)?;
        let named = Named::with(collection, doc, &entry)?;
        let member = snapshot
            .clustering()
            .map(|(_, clustering)| clustering.member(doc))
            .transpose()?;
        let cluster = member.filter(|member| member.size > 1);
        let captures = cluster::captures(&snapshot, &[doc])?.remove(&doc);
        let (text, is_cut) = text(&snapshot, doc)?;
        let title = named.title();
        Ok(Document {
            menu: Menu::Other,
            lookup: match &named.url {
                Some(url) => format!("/lookup?url={}", encoded(url)),
                None => format!("/lookup?doc={doc}"),
            },
            history: named.url.as_deref().map(history::link),
            title,
            tokens: count(entry.tokens),
            length: bytes(entry.body_len),
            place: collection.place(doc)?.to_string(),
            cluster: cluster.map(|member| (member.cluster, count(u64::from(member.size)))),
            captures: captures
                .into_iter()
                .flatten()
                .map(|(_, shown)| shown)
                .collect(),
            named,
            text,
            is_cut,
        })
    };
    Ok(show(&service.desk.long(work).await?))
}
