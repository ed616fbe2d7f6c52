//! Full-text search, one place for each cluster.
//!
//! ```text
//! ?q= ─► index ─► the best documents ─► by cluster ─► groups, each with title and snippet
//! ```
//!
//! The index is one of the collection's generation, or there is no answer: what `add` did
//! not index yet is said, and the index that `lookalike index` then makes is taken up
//! without a restart.

use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use axum::{Json, Router};
use lookalike::collapse::by_cluster;
use lookalike::search::{Hit, Piece, SearchError, SearchIndex};
use serde::{Deserialize, Serialize};

use crate::Shared;
use crate::ask::Params;
use crate::refusal::Refusal;
use crate::state::Snapshot;
use crate::wire::Named;

/// Whether there is search, and the index that was used last.
pub(crate) enum Searching {
    Off,
    On(Mutex<Option<Arc<SearchIndex>>>),
}

impl Searching {
    pub(crate) fn new(is_on: bool) -> Searching {
        if is_on {
            Searching::On(Mutex::default())
        } else {
            Searching::Off
        }
    }

    /// The index of a generation, if it has one.
    pub(crate) fn index(&self, snapshot: &Snapshot) -> Result<Arc<SearchIndex>, Refusal> {
        let Searching::On(last) = self else {
            return Err(Refusal::not_found("there is no search here")
                .hint("`lookalike serve --search` offers it"));
        };
        let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
        let collection = snapshot.collection();
        if let Some(known) = last.as_ref().filter(|known| known.is_of(collection)) {
            return Ok(Arc::clone(known));
        }
        let opened = Arc::new(SearchIndex::open(collection)?);
        *last = Some(Arc::clone(&opened));
        Ok(opened)
    }
}

impl From<SearchError> for Refusal {
    fn from(error: SearchError) -> Refusal {
        let status = match error {
            SearchError::Missing | SearchError::Behind | SearchError::Locked => {
                StatusCode::CONFLICT
            }
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Refusal::new(status, error.to_string()).hint("`lookalike index` makes it again")
    }
}

/// What is looked for.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct SearchParams {
    pub(crate) q: Option<String>,
    top: Option<usize>,
}

/// Groups that are told, at most and if nothing is said; documents that are looked at for
/// each; characters of a query.
const MOST: usize = 100;
const TOP: usize = 10;
const EACH: usize = 20;
const LONGEST: usize = 1000;

/// What was found.
#[derive(Serialize)]
pub struct Found {
    /// What was looked for.
    pub query: String,
    /// Documents that have it.
    pub total: usize,
    /// The best of them, one for each cluster.
    pub groups: Vec<FoundGroup>,
}

/// Documents of one cluster.
#[derive(Serialize)]
pub struct FoundGroup {
    /// The place of the best of them.
    pub rank: usize,
    /// Which document that is.
    #[serde(flatten)]
    pub named: Named,
    /// How well it has what was looked for.
    pub score: f32,
    /// Its cluster.
    pub cluster: u32,
    /// How it begins.
    pub title: String,
    /// Text around what was looked for.
    pub snippet: String,
    /// The same, piece by piece.
    #[serde(skip)]
    pub pieces: Vec<Piece>,
    /// The others.
    pub also: Vec<Also>,
}

/// A document that does not show.
#[derive(Serialize)]
pub struct Also {
    /// Which document.
    #[serde(flatten)]
    pub named: Named,
    /// Its place.
    pub rank: usize,
}

/// Looks for words: the best documents, one for each cluster.
pub fn found(
    finder: &lookalike::find::Finder,
    index: &SearchIndex,
    query: &str,
    top: usize,
) -> Result<Found, SearchError> {
    let collection = finder.collection();
    let hits = index.search(query, top.saturating_mul(EACH))?;
    let cluster = |hit: &Hit| Ok(finder.cluster(hit.doc)?.unwrap_or(hit.doc));
    let clusters: Result<Vec<u32>, SearchError> = hits.hits.iter().map(cluster).collect();
    let clusters = clusters?;
    let mut groups = Vec::new();
    for group in by_cluster(&clusters).into_iter().take(top) {
        let hit = &hits.hits[group.shown];
        let shown = index.show(hit, query)?;
        let also = group.results.iter().skip(1).map(|&other| {
            let named = Named::of(collection, hits.hits[other].doc)?;
            let rank = other + 1;
            Ok(Also { named, rank })
        });
        let also: Result<Vec<Also>, SearchError> = also.collect();
        groups.push(FoundGroup {
            rank: group.shown + 1,
            named: Named::of(collection, hit.doc)?,
            score: hit.score,
            cluster: clusters[group.shown],
            title: shown.title,
            snippet: shown
                .snippet
                .iter()
                .map(|piece| piece.text.as_str())
                .collect(),
            pieces: shown.snippet,
            also: also?,
        });
    }
    Ok(Found {
        query: query.to_owned(),
        total: hits.total,
        groups,
    })
}

pub(crate) fn routes() -> Router<Shared> {
    Router::new().route("/api/v1/search", get(search))
}

async fn search(
    State(service): State<Shared>,
    Params(params): Params<SearchParams>,
) -> Result<Json<Found>, Refusal> {
    let Some(query) = params.q.clone() else {
        return Err(Refusal::bad("`q` is missing"));
    };
    Ok(Json(answer(service, query, params).await?))
}

/// The answer to a query.
pub(crate) async fn answer(
    service: Shared,
    query: String,
    params: SearchParams,
) -> Result<Found, Refusal> {
    let top = params.top.unwrap_or(TOP);
    if !(1..=MOST).contains(&top) {
        return Err(Refusal::bad(format!("`top` is a number from 1 to {MOST}")));
    }
    if query.chars().count() > LONGEST {
        let most = format!("`q` is longer than {LONGEST} characters");
        return Err(Refusal::bad(most));
    }
    let asked = Arc::clone(&service);
    let snapshot = service.newest.snapshot();
    let work = move || {
        let index = asked.searching.index(&snapshot)?;
        Ok(found(&snapshot.finder, &index, &query, top)?)
    };
    service.desk.long(work).await
}
