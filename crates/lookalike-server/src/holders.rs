//! Who holds a text: the answer of `copies`, on the terminal, as JSON and as a page.
//!
//! ```text
//! /api/v1/copies?url=   copies of a document of the collection
//! POST /api/v1/copies   of one that is sent
//! ```

use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::routing::get;
use axum::{Json, Router};
use lookalike::copies::{Copies, CopiesOptions, Copy, Version, copies};
use lookalike::corpus::date::rfc3339;
use lookalike::corpus::document::{Document, Format};
use lookalike::corpus::unusable::Unusable;
use lookalike::find::{Finder, Reread};
use lookalike::storage::StorageError;
use lookalike::sweeps::hosts::host_of;
use lookalike::wording::Edit;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::Shared;
use crate::api::{format_of, text_again};
use crate::ask::{self, Params, format_named, named};
use crate::refusal::Refusal;
use crate::state::Snapshot;
use crate::wire::{Named, Share};

pub(crate) fn routes() -> Router<Shared> {
    Router::new().route("/api/v1/copies", get(copies_named).post(copies_posted))
}

/// So many documents are read again for an answer.
pub(crate) const MOST_READ: usize = 1000;

/// A copy as it is told.
#[derive(Clone, Debug)]
pub struct Holder {
    /// What it goes by.
    pub named: Named,
    /// Its host, if it has an address.
    pub host: Option<String>,
    /// When it was captured last.
    pub date: Option<String>,
    /// How much of the text is in it.
    pub doc_in_copy: Option<Share>,
    /// How much of it is in the text.
    pub copy_in_doc: Option<Share>,
    /// The copy itself.
    pub copy: Copy,
}

impl Holder {
    /// Looks up what is told of a copy.
    pub fn of(finder: &Finder, copy: &Copy) -> Result<Holder, StorageError> {
        let named = Named::of(finder.collection(), copy.doc)?;
        let host = named.url.as_deref().and_then(host_of);
        let exact = copy.holding.as_ref();
        let share = |estimate, exact: Option<f64>| Some(Share::new(estimate?, exact));
        Ok(Holder {
            host: host.map(str::to_ascii_lowercase),
            date: copy.date.map(rfc3339),
            doc_in_copy: share(copy.found.query_in_doc(), exact.map(|own| own.doc_in_copy)),
            copy_in_doc: share(copy.found.doc_in_query(), exact.map(|own| own.copy_in_doc)),
            copy: copy.clone(),
            named,
        })
    }

    /// A line of `copies --json`.
    pub fn json(&self) -> Value {
        let copy = &self.copy;
        let mut out = json!({
            "url": self.named.url,
            "host": self.host,
            "date": self.date,
            "kind": copy.kind.name(),
        });
        for (name, share) in [
            ("doc_in_copy", self.doc_in_copy),
            ("copy_in_doc", self.copy_in_doc),
        ] {
            if let Some(share) = share {
                out[name] = json!(share);
            }
        }
        out["contacts"] = json!(copy.contacts);
        out["version"] = json!(copy.version + 1);
        out["judged_by"] = json!(judged_by(copy));
        if let Some(holding) = &copy.holding {
            out["changes"] = holding
                .edits
                .iter()
                .map(|edit| change(edit, "doc"))
                .collect();
            out["moved"] = json!(holding.is_moved);
        }
        out["earlier"] = json!(copy.earlier);
        out["now"] = json!(copy.now.name());
        out["doc"] = json!(copy.doc);
        out["id"] = json!(self.named.id);
        if let Some(place) = &self.named.place {
            out["place"] = json!(place);
        }
        out
    }
}

/// Whether words or samples decided.
pub fn judged_by(copy: &Copy) -> &'static str {
    if copy.holding.is_some() {
        "text"
    } else {
        "estimate"
    }
}

/// `{"op":…,"doc":…,"copy":…}`; what the first text is called, the caller says.
pub fn change(edit: &Edit, first: &str) -> Value {
    json!({ "op": edit.op.name(), first: edit.from, "copy": edit.to })
}

/// An edit for people: `"shall" → "may"`.
pub fn told(edit: &Edit, most: usize) -> String {
    let shown = |words: &str| format!("“{}”", crate::words::excerpt(words, most));
    match (edit.from.is_empty(), edit.to.is_empty()) {
        (false, true) => format!("{} left out", shown(&edit.from)),
        (true, _) => format!("{} put in", shown(&edit.to)),
        (false, false) => format!("{} → {}", shown(&edit.from), shown(&edit.to)),
    }
}

/// What a version is, for people.
pub fn told_version(version: &Version, most: usize) -> String {
    if !version.is_known {
        return "wording unknown, the text is gone".to_owned();
    }
    let mut parts: Vec<String> = version
        .edits
        .iter()
        .take(most)
        .map(|edit| told(edit, 40))
        .collect();
    if version.is_moved {
        parts.push("passages in another order".to_owned());
    }
    let more = version.edits.len().saturating_sub(most);
    if more > 0 {
        parts.push(format!("and {more} more"));
    }
    if parts.is_empty() {
        return "the words of the text".to_owned();
    }
    parts.join(", ")
}

#[derive(Deserialize)]
struct CopiesParams {
    url: Option<String>,
    min_containment: Option<f64>,
    format: Option<String>,
}

impl CopiesParams {
    fn options(&self) -> Result<CopiesOptions, Refusal> {
        let least = self
            .min_containment
            .unwrap_or(CopiesOptions::default().least);
        if !(least > 0.0 && least <= 1.0) {
            return Err(Refusal::bad("a threshold is a share above 0 and at most 1"));
        }
        Ok(CopiesOptions {
            least,
            most: MOST_READ,
        })
    }
}

async fn copies_named(
    State(service): State<Shared>,
    Params(params): Params<CopiesParams>,
) -> Result<Json<Value>, Refusal> {
    let Some(url) = params.url.clone() else {
        return Err(Refusal::bad("`url` is missing").hint("or POST a document"));
    };
    let options = params.options()?;
    let snapshot = service.newest.snapshot();
    let work = move || {
        let doc = named(&snapshot, &url)?;
        let (_, text) = text_again(&snapshot, doc)?;
        answer(&snapshot, &Document::of_text(text), Some(doc), options)
    };
    Ok(Json(service.desk.long(work).await?))
}

async fn copies_posted(
    State(service): State<Shared>,
    Params(params): Params<CopiesParams>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Value>, Refusal> {
    let options = params.options()?;
    let format: Format = format_of(format_named(params.format.as_deref())?, &headers);
    let bytes = ask::body(body, service.max_body).await?;
    let snapshot = service.newest.snapshot();
    let work = move || {
        let document = ask::document(&bytes, format, snapshot.finder.recipe())?;
        answer(&snapshot, &document, None, options)
    };
    Ok(Json(service.desk.long(work).await?))
}

fn answer(
    snapshot: &Snapshot,
    document: &Document<'_>,
    own: Option<u32>,
    options: CopiesOptions,
) -> Result<Value, Refusal> {
    let found = held(snapshot, document, own, options)?;
    let line = |copy: &Copy| Ok(Holder::of(&snapshot.finder, copy)?.json());
    let lines: Result<Vec<Value>, StorageError> = found.copies.iter().map(line).collect();
    let versions = (1..).zip(&found.versions).map(|(number, version)| {
        let changes = version.edits.iter().map(|edit| change(edit, "doc"));
        json!({
            "version": number,
            "copies": version.copies,
            "known": version.is_known,
            "moved": version.is_moved,
            "changes": changes.collect::<Vec<_>>(),
        })
    });
    let versions: Vec<Value> = versions.collect();
    Ok(json!({
        "generation": snapshot.collection().manifest().generation(),
        "copies": lines?,
        "versions": versions,
        "unread": found.unread,
    }))
}

/// The copies of a text.
pub(crate) fn held(
    snapshot: &Snapshot,
    document: &Document<'_>,
    own: Option<u32>,
    options: CopiesOptions,
) -> Result<Copies, Refusal> {
    let finder = &snapshot.finder;
    let query =
        snapshot.sketching(|sketcher| finder.query(document, None, sketcher, Reread::Never));
    if query.samples() == 0 {
        return Err(Unusable::NoTokens.into());
    }
    Ok(copies(finder, document, &query, own, options)?)
}
