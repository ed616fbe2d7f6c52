//! Looking something up: a pasted text, a file, or the address of a document.

use std::collections::BTreeMap;

use askama::Template;
use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, Multipart, Request, State};
use axum::http::{HeaderMap, header};
use lookalike::corpus::document::Format;
use lookalike::find::{FindOptions, Query, Reread};
use serde::Deserialize;

use super::{Menu, Page, show};
use crate::Shared;
use crate::api::look;
use crate::ask::{self, Params, named, numbered, sought};
use crate::refusal::Refusal;
use crate::state::Snapshot;
use crate::wire::Found;
use crate::words::{count, counted, excerpt};

/// The longest text that is sent back with the answer, so that it can be compared.
const SENT_BACK: usize = 256 << 10;

/// Matches on a page.
const MATCHES: usize = 50;

#[derive(Template)]
#[template(path = "lookup.html")]
struct Lookup {
    menu: Menu,
    url: String,
    text: String,
    answer: Option<Answer>,
}

struct Answer {
    /// What was looked for, in words.
    what: String,
    samples: String,
    matches: Vec<Found>,
    /// From how many shingles on documents may hold it unseen.
    unseen_from: Option<String>,
    /// The number of the document, where it is one of the collection.
    doc: Option<u32>,
    /// Whether a pasted text can be sent along to be compared.
    can_compare: bool,
    is_exact: bool,
}

#[derive(Deserialize)]
pub(super) struct LookupParams {
    #[serde(default)]
    url: String,
    doc: Option<u32>,
    #[serde(default)]
    exact: String,
}

pub(super) async fn page(
    State(service): State<Shared>,
    Params(asked): Params<LookupParams>,
) -> Page {
    let url = asked.url.trim().to_owned();
    if url.is_empty() && asked.doc.is_none() {
        return Ok(show(&Lookup {
            menu: Menu::Lookup,
            url,
            text: String::new(),
            answer: None,
        }));
    }
    let snapshot = service.newest.snapshot();
    let reread = wish(!asked.exact.is_empty());
    let work = move || {
        let doc = match asked.doc {
            Some(doc) => numbered(&snapshot, doc)?,
            None => named(&snapshot, &url)?,
        };
        of_collection(&snapshot, doc, url, reread)
    };
    Ok(show(&service.desk.long(work).await?))
}

pub(super) async fn posted(State(service): State<Shared>, headers: HeaderMap, body: Body) -> Page {
    let form = form(&headers, body, service.max_body).await?;
    let snapshot = service.newest.snapshot();
    let work = move || {
        let reread = wish(form.text("exact").is_some_and(|value| !value.is_empty()));
        let url = form.text("url").unwrap_or_default().trim().to_owned();
        let text = form.text("text").unwrap_or_default();
        if let Some(file) = form.0.get("file").filter(|file| !file.bytes.is_empty()) {
            let what = excerpt(&file.name, 120);
            let text = String::from_utf8_lossy(&file.bytes).into_owned();
            return from_outside(&snapshot, &file.bytes, text, what, reread);
        }
        if !text.trim().is_empty() {
            let what = format!("“{}”", excerpt(&text, 80));
            return from_outside(&snapshot, text.as_bytes(), text.clone(), what, reread);
        }
        if !url.is_empty() {
            let doc = named(&snapshot, &url)?;
            return of_collection(&snapshot, doc, url, reread);
        }
        Err(Refusal::bad("there is nothing to look up")
            .hint("paste a text, choose a file or give a URL"))
    };
    Ok(show(&service.desk.long(work).await?))
}

/// Where few samples must tell, people may wait for what is read again.
fn wish(is_exact: bool) -> Reread {
    if is_exact {
        Reread::Always
    } else {
        Reread::Doubtful
    }
}

fn of_collection(
    snapshot: &Snapshot,
    doc: u32,
    url: String,
    reread: Reread,
) -> Result<Lookup, Refusal> {
    let query = snapshot.finder.query_of(doc, reread)?;
    let what = crate::wire::Named::of(snapshot.collection(), doc)?.title();
    let mut answer = answer(snapshot, &query, excerpt(&what, 200), reread)?;
    answer.matches.retain(|found| found.named.doc != doc);
    answer.doc = Some(doc);
    Ok(Lookup {
        menu: Menu::Lookup,
        url,
        text: String::new(),
        answer: Some(answer),
    })
}

fn from_outside(
    snapshot: &Snapshot,
    bytes: &[u8],
    text: String,
    what: String,
    reread: Reread,
) -> Result<Lookup, Refusal> {
    let query = sought(snapshot, bytes, Format::Auto, reread)?;
    let mut answer = answer(snapshot, &query, what, reread)?;
    answer.can_compare = text.len() <= SENT_BACK;
    Ok(Lookup {
        menu: Menu::Lookup,
        url: String::new(),
        text: if answer.can_compare {
            text
        } else {
            String::new()
        },
        answer: Some(answer),
    })
}

fn answer(
    snapshot: &Snapshot,
    query: &Query,
    what: String,
    reread: Reread,
) -> Result<Answer, Refusal> {
    let options = FindOptions {
        top: MATCHES,
        ..FindOptions::default()
    };
    Ok(Answer {
        what,
        samples: counted(query.samples(), "sample"),
        matches: look(snapshot, query, &options)?,
        unseen_from: query
            .may_be_missed_in(snapshot.finder.recipe().sketch)
            .map(count),
        doc: None,
        can_compare: false,
        is_exact: reread == Reread::Always,
    })
}

/// A form that was sent.
pub(super) struct Form(BTreeMap<String, Field>);

struct Field {
    name: String,
    bytes: Bytes,
}

/// Fields that a form may have.
const FIELDS: usize = 16;

impl Form {
    pub(super) fn text(&self, name: &str) -> Option<String> {
        let field = self.0.get(name)?;
        Some(String::from_utf8_lossy(&field.bytes).into_owned())
    }

    pub(super) fn number(&self, name: &str) -> Option<u32> {
        self.text(name)?.trim().parse().ok()
    }
}

/// Reads a form, with or without files, within the limit.
pub(super) async fn form(headers: &HeaderMap, body: Body, most: usize) -> Result<Form, Refusal> {
    let kind = headers.get(header::CONTENT_TYPE);
    let kind = kind
        .and_then(|kind| kind.to_str().ok())
        .unwrap_or("")
        .to_owned();
    let mut fields = BTreeMap::new();
    // Whole first: parts are then found in memory, and nothing exceeds the limit.
    let bytes = ask::body(body, most).await?;
    let wrong = || Refusal::bad("the form cannot be read");
    let is_plain = kind.starts_with("application/x-www-form-urlencoded");
    let request = Request::post("/").header(header::CONTENT_TYPE, kind);
    let request = request.body(Body::from(bytes)).map_err(|_| wrong())?;
    if is_plain {
        let form = axum::Form::<Vec<(String, String)>>::from_request(request, &()).await;
        let pairs = form.map_err(|_| wrong())?.0;
        for (name, value) in pairs.into_iter().take(FIELDS) {
            let field = Field {
                name: String::new(),
                bytes: Bytes::from(value),
            };
            fields.insert(name, field);
        }
        return Ok(Form(fields));
    }
    let mut parts = Multipart::from_request(request, &())
        .await
        .map_err(|_| wrong())?;
    while let Some(part) = parts.next_field().await.map_err(|_| wrong())? {
        let name = part.name().unwrap_or_default().to_owned();
        let file = part.file_name().unwrap_or_default().to_owned();
        let bytes = part.bytes().await.map_err(|_| wrong())?;
        if fields.len() < FIELDS {
            fields.insert(name, Field { name: file, bytes });
        }
    }
    Ok(Form(fields))
}
