//! `/api/v1/`: answers as JSON, described by `/api/openapi.json`.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use lookalike::collection::texts::Lost;
use lookalike::core::canonical::TokenKind;
use lookalike::core::recipe::Recipe;
use lookalike::corpus::date::rfc3339;
use lookalike::corpus::document::{Document, Format};
use lookalike::corpus::record::Timestamp;
use lookalike::corpus::unusable::Unusable;
use lookalike::find::{FindOptions, Query};
use lookalike::storage::StorageError;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::Shared;
use crate::ask::{self, FindParams, Params, named, numbered, sought, unknown};
use crate::board::{self, Board, BoardParams, ClusterPage, PageParams};
use crate::compared::{Compared, Side};
use crate::history::Told;
use crate::pages::changes::ChangesParams;
use crate::pages::history::HistoryParams;
use crate::refusal::Refusal;
use crate::state::Snapshot;
use crate::wire::{self, Found, MemberRow, Named};

/// What the service can be asked, as `OpenAPI` 3.1.
const DESCRIPTION: &str = include_str!("../static/openapi.json");

pub(crate) fn routes() -> Router<Shared> {
    Router::new()
        .route("/api/openapi.json", get(description))
        .route("/api/v1/collection", get(collection))
        .route("/api/v1/find", get(find_named).post(find_posted))
        .route("/api/v1/compare", get(compare_named).post(compare_posted))
        .route("/api/v1/members", get(members))
        .route("/api/v1/changes", get(changes))
        .route("/api/v1/history", get(history))
        .route("/api/v1/clusters", get(clusters))
        .route("/api/v1/clusters/{id}", get(cluster))
        .route("/api/v1/{*other}", get(missing))
}

type Answer<T> = Result<Json<T>, Refusal>;

async fn description() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], DESCRIPTION)
}

async fn missing() -> Refusal {
    Refusal::not_found("there is no such question").hint("/api/openapi.json describes all")
}

async fn collection(State(service): State<Shared>) -> Answer<Value> {
    Ok(Json(described(&service.newest.snapshot())))
}

/// What a collection is.
fn described(snapshot: &Snapshot) -> Value {
    let collection = snapshot.collection();
    let (manifest, state) = (collection.manifest(), collection.state());
    let sweeps: Vec<Value> = state
        .sweeps
        .iter()
        .map(|sweep| {
            let date = sweep.date.map(|seconds| rfc3339(Timestamp(seconds)));
            json!({ "date": date, "first": sweep.base, "documents": sweep.documents })
        })
        .collect();
    let clusterings: Vec<Value> = state
        .clusterings
        .iter()
        .map(|stored| wire::clustering(&stored.policy, &stored.summary))
        .collect();
    json!({
        "documents": collection.documents(),
        "generation": manifest.generation(),
        "recipe": manifest.recipe(),
        "recipe_id": manifest.recipe_id().to_string(),
        "sweeps": sweeps,
        "clusterings": clusterings,
    })
}

async fn changes(
    State(service): State<Shared>,
    Params(params): Params<ChangesParams>,
) -> Answer<Value> {
    let snapshot = service.newest.snapshot();
    let work = move || {
        let changes = snapshot.changes(params.host.as_deref())?;
        Ok(crate::changes::json(&changes))
    };
    Ok(Json(service.desk.long(work).await?))
}

async fn history(
    State(service): State<Shared>,
    Params(params): Params<HistoryParams>,
) -> Answer<Told> {
    let Some(url) = params.url else {
        return Err(Refusal::bad("`url` is missing"));
    };
    let snapshot = service.newest.snapshot();
    let work = move || {
        let told = Told::of(&snapshot.finder, &snapshot.trail()?.timeline, &url)?;
        told.ok_or_else(|| unknown(&url))
    };
    Ok(Json(service.desk.long(work).await?))
}

/// The answer to `find`.
#[derive(Serialize)]
struct FoundAll {
    generation: u64,
    documents: u32,
    samples: usize,
    matches: Vec<Found>,
}

/// Looks for a document: the matches with all that is told of them.
pub(crate) fn look(
    snapshot: &Snapshot,
    query: &Query,
    options: &FindOptions,
) -> Result<Vec<Found>, StorageError> {
    let finder = &snapshot.finder;
    let matches = finder.find(query, options)?;
    matches.iter().map(|one| Found::of(finder, one)).collect()
}

/// How a document to look for is had from a snapshot.
type Seek = Box<dyn FnOnce(&Snapshot) -> Result<Query, Refusal> + Send>;

async fn find(service: Shared, params: FindParams, seek: Seek) -> Result<Response, Refusal> {
    let options = params.options()?;
    let snapshot = service.newest.snapshot();
    let work = move || {
        let query = seek(&snapshot)?;
        let matches = look(&snapshot, &query, &options)?;
        let collection = snapshot.collection();
        let answer = FoundAll {
            generation: collection.manifest().generation(),
            documents: collection.documents(),
            samples: query.samples(),
            matches,
        };
        // Written here, where it keeps no connection from being served.
        let broken = |_| Refusal::broken("the answer cannot be written");
        serde_json::to_vec(&answer).map_err(broken)
    };
    let answer = if params.exact {
        service.desk.long(work).await?
    } else {
        service.desk.short(work).await?
    };
    Ok(([(header::CONTENT_TYPE, "application/json")], answer).into_response())
}

async fn find_named(
    State(service): State<Shared>,
    Params(params): Params<FindParams>,
) -> Result<Response, Refusal> {
    let Some(url) = params.url.clone() else {
        return Err(Refusal::bad("`url` is missing").hint("or POST a document"));
    };
    let reread = params.reread();
    let seek = move |snapshot: &Snapshot| {
        let doc = named(snapshot, &url)?;
        Ok(snapshot.finder.query_of(doc, reread)?)
    };
    find(service, params, Box::new(seek)).await
}

async fn find_posted(
    State(service): State<Shared>,
    Params(params): Params<FindParams>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    let format = format_of(params.format()?, &headers);
    let reread = params.reread();
    let bytes = ask::body(body, service.max_body).await?;
    let seek = move |snapshot: &Snapshot| sought(snapshot, &bytes, format, reread);
    find(service, params, Box::new(seek)).await
}

/// What a body is, unless the parameter says so: a page if its type says HTML.
pub(crate) fn format_of(asked: Format, headers: &HeaderMap) -> Format {
    let kind = headers.get(header::CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or("");
    match asked {
        Format::Auto if kind.starts_with("text/html") => Format::Html,
        other => other,
    }
}

/// A document that is compared.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Which {
    Text(String),
    /// As they were sent: no number is rounded, and no name that comes twice is lost.
    Features(Box<RawValue>),
    Url(String),
    Doc(#[serde(deserialize_with = "whole")] u32),
}

/// A whole number, which JSON may also write as `5.0`.
fn whole<'de, D: serde::Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
    let number = f64::deserialize(from)?;
    let is_whole = number.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&number);
    if !is_whole {
        return Err(serde::de::Error::custom(
            "`doc` is the number of a document",
        ));
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is whole and fits"
    )]
    Ok(number as u32)
}

#[derive(Deserialize)]
struct CompareParams {
    a: String,
    b: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ComparePosted {
    a: Which,
    b: Which,
}

async fn compare_named(
    State(service): State<Shared>,
    Params(params): Params<CompareParams>,
) -> Answer<Value> {
    let (a, b) = (Which::Url(params.a), Which::Url(params.b));
    compare(service, ComparePosted { a, b }).await
}

async fn compare_posted(State(service): State<Shared>, body: Body) -> Answer<Value> {
    let bytes = ask::body(body, service.max_body).await?;
    let posted = serde_json::from_slice(&bytes).map_err(|wrong| {
        Refusal::bad(format!("the body is not what is asked for: {wrong}"))
            .hint(r#"{"a": {"text": "…"}, "b": {"url": "…"}}"#)
    })?;
    compare(service, posted).await
}

async fn compare(service: Shared, ComparePosted { a, b }: ComparePosted) -> Answer<Value> {
    let snapshot = service.newest.snapshot();
    let work = move || {
        let recipe = snapshot.finder.recipe();
        let (a, b) = (side_of(&snapshot, &a)?, side_of(&snapshot, &b)?);
        let answer = snapshot.sketching(|sketcher| {
            let compared = Compared::new(&a, &b, recipe, sketcher);
            compared.json(|x| a.text_range(x), |x| b.text_range(x))
        });
        Ok(answer)
    };
    Ok(Json(service.desk.long(work).await?))
}

/// The longest text that is compared: passages are found in memory.
pub(crate) const LONGEST: usize = 4 << 20;

/// A document as a side, if it can be one.
fn side<'a>(name: String, document: Document<'a>, recipe: &Recipe) -> Result<Side<'a>, Refusal> {
    if document.text().len() > LONGEST {
        let longest = crate::words::bytes(LONGEST as u64);
        let status = StatusCode::UNPROCESSABLE_ENTITY;
        let message = format!("{name} is longer than {longest}, too long to compare here");
        return Err(Refusal::new(status, message).hint("`lookalike compare` takes any length"));
    }
    let side = Side::new(name, document, recipe);
    if side.tokens.is_empty() {
        return Err(Unusable::NoTokens.into());
    }
    Ok(side)
}

/// One of the two that are to be compared.
fn side_of<'a>(snapshot: &Snapshot, which: &'a Which) -> Result<Side<'a>, Refusal> {
    match which {
        Which::Text(text) => given_side(snapshot, "the text", text),
        Which::Features(list) => features_side(snapshot, list),
        Which::Url(url) => known_side(snapshot, named(snapshot, url)?),
        Which::Doc(doc) => known_side(snapshot, numbered(snapshot, *doc)?),
    }
}

/// A text from outside as a side.
pub(crate) fn given_side<'a>(
    snapshot: &Snapshot,
    name: &str,
    text: &'a str,
) -> Result<Side<'a>, Refusal> {
    let recipe = snapshot.finder.recipe();
    let document = ask::document(text.as_bytes(), Format::Auto, recipe)?;
    side(name.to_owned(), document, recipe)
}

/// Features from outside as a side.
fn features_side(snapshot: &Snapshot, list: &RawValue) -> Result<Side<'static>, Refusal> {
    let recipe = snapshot.finder.recipe();
    if recipe.tokens != TokenKind::Feature {
        let status = StatusCode::UNPROCESSABLE_ENTITY;
        let message = "the documents of this collection are texts, not features";
        return Err(Refusal::new(status, message).hint(r#"{"a": {"text": "…"}, …}"#));
    }
    let object = format!(r#"{{"features":{list}}}"#);
    let document = ask::document(object.as_bytes(), Format::Auto, recipe)?;
    side("the features".to_owned(), document.into_owned(), recipe)
}

/// A document of the collection as a side: as it was sketched, for its text alone would
/// have lost where features end, and what they weigh.
pub(crate) fn known_side(snapshot: &Snapshot, doc: u32) -> Result<Side<'static>, Refusal> {
    let collection = snapshot.collection();
    let name = Named::of(collection, doc)?.dated_title();
    let document = collection.document(doc)?;
    let document = document.map_err(|lost| cannot_be_shown(&name, &lost))?;
    side(name, document, snapshot.finder.recipe())
}

/// The name and the text of a document of the collection, from where it is.
pub(crate) fn text_again(snapshot: &Snapshot, doc: u32) -> Result<(String, String), Refusal> {
    let collection = snapshot.collection();
    let name = Named::of(collection, doc)?.dated_title();
    let text = collection.text(doc)?;
    let text = text.map_err(|lost| cannot_be_shown(&name, &lost))?;
    Ok((name, text))
}

fn cannot_be_shown(name: &str, lost: &Lost) -> Refusal {
    let message = format!("the text of {name} cannot be shown again: {lost}");
    Refusal::new(StatusCode::CONFLICT, message)
        .hint("`add --keep-text` keeps texts in the collection")
}

#[derive(Deserialize)]
struct MembersParams {
    url: String,
}

async fn members(
    State(service): State<Shared>,
    Params(params): Params<MembersParams>,
) -> Answer<Value> {
    let snapshot = service.newest.snapshot();
    let work = move || {
        let (stored, clustering) = board::clustering(&snapshot)?;
        let asked = named(&snapshot, &params.url)?;
        let member = clustering.member(asked)?;
        let mut docs = clustering.first_of_roster(member.cluster, board::MOST_ROWS)?;
        if docs.is_empty() {
            docs.push(asked);
        }
        let row = |doc: u32| MemberRow::of(snapshot.collection(), doc, &clustering.member(doc)?);
        let rows: Result<Vec<MemberRow>, StorageError> = docs.into_iter().map(row).collect();
        let mut rows = rows?;
        rows.sort_by(MemberRow::order);
        Ok(json!({
            "policy": stored.policy.to_string(),
            "asked": asked,
            "cluster": member.cluster,
            "size": member.size,
            "members": rows,
        }))
    };
    Ok(Json(service.desk.long(work).await?))
}

async fn clusters(
    State(service): State<Shared>,
    Params(params): Params<BoardParams>,
) -> Answer<Board> {
    let snapshot = service.newest.snapshot();
    let work = move || board::board(&snapshot, &params);
    Ok(Json(service.desk.long(work).await?))
}

async fn cluster(
    State(service): State<Shared>,
    Path(id): Path<String>,
    Params(page): Params<PageParams>,
) -> Answer<ClusterPage> {
    let id = cluster_number(&id)?;
    let snapshot: Arc<Snapshot> = service.newest.snapshot();
    let work = move || board::cluster(&snapshot, id, page);
    Ok(Json(service.desk.long(work).await?))
}

pub(crate) fn cluster_number(id: &str) -> Result<u32, Refusal> {
    let wrong = |_| Refusal::not_found("a cluster goes by the number of its first document");
    id.parse().map_err(wrong)
}
