//! CDX: captures of many addresses at once, in the languages of pywb and the Wayback Machine.

use axum::extract::{Request, State};
use axum::http::{Uri, header};
use axum::response::{IntoResponse, Response};
use axum::{Json, extract};
use lookalike::archive::cdx::{Dialect, Malformed, Output, Query, digits, first_moment};
use serde::Deserialize;
use serde_json::json;

use super::capture::Teller;
use super::links::{LINK_FORMAT, Links};
use super::{Site, captures_of, index_of, no_captures};
use crate::Shared;
use crate::ask::Params;
use crate::refusal::Refusal;

impl From<Malformed> for Refusal {
    fn from(wrong: Malformed) -> Refusal {
        Refusal::bad(wrong.to_string())
    }
}

/// The media type of an answer.
pub(super) fn kind_of(output: Output, dialect: Dialect) -> &'static str {
    match (output, dialect) {
        (Output::Json, Dialect::Wayback) => "application/json",
        (Output::Json, Dialect::Pywb) => "text/x-ndjson; charset=utf-8",
        (Output::Cdxj, _) => "text/x-cdxj; charset=utf-8",
        (Output::Text, _) => "text/plain; charset=utf-8",
        (Output::Link, _) => LINK_FORMAT,
    }
}

/// `/C-cdx`.
pub(super) async fn pywb(
    State(service): State<Shared>,
    request: Request,
) -> Result<Response, Refusal> {
    let path = request.uri().path();
    let name = path
        .strip_prefix('/')
        .and_then(|path| path.strip_suffix("-cdx"));
    let site = Site::new(request.headers(), name.unwrap_or_default());
    answer_pywb(service, site, request.uri()).await
}

/// `/C/cdx`.
pub(super) async fn answer_pywb(
    service: Shared,
    site: Site,
    uri: &Uri,
) -> Result<Response, Refusal> {
    answer(service, site, Dialect::Pywb, uri).await
}

/// `/cdx/search/cdx`.
pub(super) async fn wayback(
    State(service): State<Shared>,
    request: Request,
) -> Result<Response, Refusal> {
    let site = Site::new(request.headers(), &service.name);
    answer(service, site, Dialect::Wayback, request.uri()).await
}

async fn answer(
    service: Shared,
    site: Site,
    dialect: Dialect,
    uri: &Uri,
) -> Result<Response, Refusal> {
    let wrong = |_| Refusal::bad("the parameters cannot be read");
    let params = extract::Query::<Vec<(String, String)>>::try_from_uri(uri);
    let extract::Query(params) = params.map_err(wrong)?;
    // Regular expressions are compiled, which is work too.
    let parse = move || {
        let params = params.iter().map(|(name, value)| (&**name, &**value));
        Ok(Query::parse(dialect, params)?)
    };
    let query = service.desk.short(parse).await?;
    let snapshot = service.newest.snapshot();
    index_of(&service, &snapshot).await?;
    // One address has few captures; of a domain there may be millions.
    let is_short = query.is_exact() && snapshot.has_trail();
    let work = move || {
        let index = snapshot.index()?;
        if query.counts_pages {
            let kind = match dialect {
                Dialect::Pywb => "application/json",
                Dialect::Wayback => kind_of(Output::Text, dialect),
            };
            return Ok((kind, query.page_count(index)));
        }
        let mut teller = Teller::new(&snapshot, index);
        teller.resolves_revisits = query.resolves_revisits();
        teller.tells_moves = query.is_exact();
        let selected = query.select(index, |capture| teller.row(capture))?;
        if selected.captures.is_empty() && dialect == Dialect::Pywb {
            return Err(no_captures(&query.url));
        }
        let text = if query.output == Output::Link {
            let mut links = Links::default();
            for &capture in &selected.captures {
                let url = teller.row(capture)?.url;
                links.add_memento(&site, index.date(capture), &url);
            }
            links.text()
        } else {
            query.write(&selected, |capture| teller.row(capture))?
        };
        Ok((kind_of(query.output, dialect), text))
    };
    let (kind, text) = if is_short {
        service.desk.short(work).await?
    } else {
        service.desk.long(work).await?
    };
    Ok(([(header::CONTENT_TYPE, kind)], text).into_response())
}

#[derive(Deserialize)]
pub(super) struct AvailableParams {
    url: String,
    timestamp: Option<String>,
}

/// `/wayback/available`: the nearest capture.
pub(super) async fn available(
    State(service): State<Shared>,
    Params(asked): Params<AvailableParams>,
    request: Request,
) -> Result<Response, Refusal> {
    let site = Site::new(request.headers(), &service.name);
    let timestamp = asked.timestamp.filter(|timestamp| !timestamp.is_empty());
    let moment = match &timestamp {
        None => i64::MAX,
        Some(timestamp) => first_moment("timestamp", timestamp)?,
    };
    let snapshot = service.newest.snapshot();
    index_of(&service, &snapshot).await?;
    let work = move || {
        let index = snapshot.index()?;
        let mut answer = json!({ "url": asked.url, "archived_snapshots": {} });
        if let Some(timestamp) = timestamp {
            answer["timestamp"] = json!(timestamp);
        }
        let captures = captures_of(index, &asked.url);
        let nearest = captures.and_then(|(_, captures)| index.nearest(captures, moment));
        if let Some(capture) = nearest {
            let row = Teller::new(&snapshot, index).row(capture)?;
            let date = index.date(capture);
            answer["archived_snapshots"]["closest"] = json!({
                "status": row.status.map_or_else(|| "-".to_owned(), |status| status.to_string()),
                "available": true,
                "url": site.memento(date, &row.url),
                "timestamp": digits(date),
            });
        }
        Ok(answer)
    };
    Ok(Json(service.desk.short(work).await?).into_response())
}
