//! A ranked list of results with one place for each cluster, as JSON.
//!
//! ```text
//! {"results":[…],"show":"newest"} ─► POST /api/v1/collapse ─► {"groups":[…],…}
//! ```
//!
//! The shapes of results and groups are those of `lookalike collapse` too.

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use lookalike::collapse::{Collapsed, Ground, Group, Ranked, Show, collapse};
use lookalike::corpus::date::when;
use lookalike::corpus::record::When;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::refusal::Refusal;
use crate::state::Snapshot;
use crate::{Shared, ask, board, words};

/// A result, and what else its list says of it.
#[derive(Clone, Debug, Default)]
pub struct Listed {
    /// What it is grouped by.
    pub ranked: Ranked,
    /// Fields that mean nothing here, as they came.
    pub fields: Map<String, Value>,
}

impl Listed {
    /// A result that is an address and nothing else.
    pub fn of_url(rank: u32, url: &str) -> Listed {
        let ranked = Ranked {
            rank,
            url: Some(url.to_owned()),
            ..Ranked::default()
        };
        Listed {
            ranked,
            fields: Map::new(),
        }
    }

    /// A result as JSON has it: an address, or an object with `url`, `text` or both.
    pub fn of_json(rank: u32, value: Value) -> Result<Listed, String> {
        let mut fields = match value {
            Value::String(url) => return Ok(Listed::of_url(rank, &url)),
            Value::Object(fields) => fields,
            _ => return Err("it is neither an address nor an object".to_owned()),
        };
        let mut take = |name: &str| match fields.shift_remove(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(format!("`{name}` is not a string")),
        };
        let (url, text, date) = (take("url")?, take("text")?, take("date")?);
        let url = url.filter(|url| !url.is_empty());
        if url.is_none() && text.is_none() {
            return Err("it has neither `url` nor `text`".to_owned());
        }
        // What is no date is none, as everywhere.
        let date = date.and_then(|date| match when(&date) {
            When::At(date) => Some(date),
            _ => None,
        });
        let ranked = Ranked {
            rank,
            url,
            text,
            date,
        };
        Ok(Listed { ranked, fields })
    }
}

/// Groups a list.
pub fn collapsed(
    listed: &[Listed],
    ground: Ground<'_>,
    show: Show,
) -> Result<Collapsed, lookalike::storage::StorageError> {
    let ranked: Vec<Ranked> = listed.iter().map(|one| one.ranked.clone()).collect();
    collapse(&ranked, ground, show)
}

/// `{"rank":…,"url":…,"cluster":…,"also":[…]}`; `shown_rank` where another than the best-ranked
/// shows, `fields` where the list has more.
pub fn group(group: &Group, listed: &[Listed]) -> Value {
    let best = &listed[group.results[0]].ranked;
    let shown = &listed[group.shown];
    let others = group.results.iter().filter(|one| **one != group.shown);
    let also = others.map(|&other| {
        let other = &listed[other];
        let mut out = json!({ "url": other.ranked.url, "rank": other.ranked.rank });
        with_fields(&mut out, &other.fields);
        out
    });
    let also: Vec<Value> = also.collect();
    let mut out = json!({
        "rank": best.rank,
        "url": shown.ranked.url,
        "cluster": group.cluster,
        "also": also,
    });
    if shown.ranked.rank != best.rank {
        out["shown_rank"] = json!(shown.ranked.rank);
    }
    with_fields(&mut out, &shown.fields);
    out
}

fn with_fields(out: &mut Value, fields: &Map<String, Value>) {
    if !fields.is_empty() {
        out["fields"] = Value::Object(fields.clone());
    }
}

pub(crate) fn routes() -> Router<Shared> {
    Router::new().route("/api/v1/collapse", post(posted))
}

/// The most results of a list, and of these with a text: what two texts share may cost its
/// square.
const MOST_RESULTS: usize = 10_000;
const MOST_TEXTS: usize = 1000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Posted {
    results: Vec<Value>,
    show: Option<String>,
    policy: Option<String>,
}

async fn posted(State(service): State<Shared>, body: Body) -> Result<Response, Refusal> {
    let bytes = ask::body(body, service.max_body).await?;
    let snapshot = service.newest.snapshot();
    // Texts are looked for one by one; addresses are a lookup each.
    let has_texts = bytes.windows(6).any(|six| six == br#""text""#);
    let work = move || {
        let answer = answer(&snapshot, &bytes)?;
        let broken = |_| Refusal::broken("the answer cannot be written");
        serde_json::to_vec(&answer).map_err(broken)
    };
    let answer = if has_texts {
        service.desk.long(work).await?
    } else {
        service.desk.short(work).await?
    };
    Ok(([(header::CONTENT_TYPE, "application/json")], answer).into_response())
}

fn answer(snapshot: &Snapshot, bytes: &[u8]) -> Result<Value, Refusal> {
    let posted: Posted = serde_json::from_slice(bytes).map_err(|wrong| {
        Refusal::bad(format!("the body is not what is asked for: {wrong}"))
            .hint(r#"{"results": [{"url": "…"}, {"url": "…", "text": "…"}], "show": "newest"}"#)
    })?;
    let show = match posted.show.as_deref() {
        None => Show::default(),
        Some(name) => Show::named(name).ok_or_else(|| {
            let all = Show::ALL.map(Show::name).join(", ");
            Refusal::bad(format!("`show` is one of {all}"))
        })?,
    };
    if posted.results.len() > MOST_RESULTS {
        return Err(too_many("results", MOST_RESULTS));
    }
    let listed = posted.results.into_iter().zip(1..).map(|(value, rank)| {
        let wrong = |why| Refusal::bad(format!("result {rank}: {why}"));
        Listed::of_json(rank, value).map_err(wrong)
    });
    let listed: Vec<Listed> = listed.collect::<Result<_, _>>()?;
    let texts = listed.iter().filter(|one| one.ranked.text.is_some());
    let texts = texts.count();
    if texts > MOST_TEXTS {
        return Err(too_many("texts", MOST_TEXTS));
    }
    let collection = snapshot.collection();
    let (mut stored, mut clustering) = board::clustering(snapshot)?;
    let other;
    if let Some(policy) = &posted.policy
        && stored.policy.to_string() != *policy
    {
        let all = &collection.state().clusterings;
        let found = all.iter().find(|one| one.policy.to_string() == *policy);
        stored = found.ok_or_else(|| {
            Refusal::not_found("the collection has no such clustering")
                .hint("/api/v1/collection lists those it has")
        })?;
        other = collection.clustering(stored)?;
        clustering = &other;
    }
    let group_all = |sketcher: Option<&mut lookalike::core::sketcher::Sketcher>| {
        let ground = Ground {
            clustered: Some((collection, clustering)),
            finder: Some(&snapshot.finder),
            sketcher,
            policy: stored.policy,
        };
        collapsed(&listed, ground, show)
    };
    let found = if texts > 0 {
        snapshot.sketching(|sketcher| group_all(Some(sketcher)))?
    } else {
        group_all(None)?
    };
    let groups: Vec<Value> = found.groups.iter().map(|one| group(one, &listed)).collect();
    Ok(json!({
        "generation": collection.manifest().generation(),
        "policy": stored.policy.to_string(),
        "results": listed.len(),
        "unknown": found.unknown,
        "groups": groups,
    }))
}

fn too_many(what: &str, most: usize) -> Refusal {
    let most = words::count(most as u64);
    Refusal::new(
        StatusCode::PAYLOAD_TOO_LARGE,
        format!("there are more than {most} {what}"),
    )
    .hint("`lookalike collapse` takes any number")
}
