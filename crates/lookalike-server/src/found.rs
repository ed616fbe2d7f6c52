//! Lost and found: where a page is now.
//!
//! ```text
//! /found/URL          302 to its present place, 300 if two are as good, 404 if it is gone
//! /api/v1/where?url=  all places, ranked, with what speaks for each
//! ```
//!
//! `/found/URL` is the name server that the paper offers instead of URNs; a site can send
//! its 404s here. Which of several good places is best is the caller's choice:
//! `?prefer=newest`, `same-host` or the name of a host.

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use lookalike::corpus::date::rfc3339;
use lookalike::storage::StorageError;
use lookalike::sweeps::{MOVED, Prefer, Whereabouts};
use serde::Deserialize;
use serde_json::Value;

use crate::Shared;
use crate::ask::{self, Params};
use crate::pages;
use crate::refusal::Refusal;
use crate::state::Snapshot;
use crate::wire;
use crate::words;

pub(crate) fn routes() -> Router<Shared> {
    Router::new()
        .route("/found/{*url}", get(found))
        .route("/api/v1/where", get(where_is))
}

/// Which page, and which of its places.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct WhereParams {
    pub(crate) url: Option<String>,
    pub(crate) prefer: Option<String>,
}

async fn where_is(
    State(service): State<Shared>,
    Params(params): Params<WhereParams>,
) -> Result<axum::Json<Value>, Refusal> {
    let Some(url) = params.url else {
        return Err(Refusal::bad("`url` is missing"));
    };
    let snapshot = service.newest.snapshot();
    let work = move || {
        let place = place(&snapshot, &url, params.prefer.as_deref())?;
        Ok(wire::whereabouts(&url, &place))
    };
    Ok(axum::Json(service.desk.long(work).await?))
}

/// Where a page is now.
pub(crate) fn place(
    snapshot: &Snapshot,
    url: &str,
    prefer: Option<&str>,
) -> Result<Whereabouts, StorageError> {
    let mut place = snapshot.trail()?.whereabouts(&snapshot.finder, url)?;
    if let Some(prefer) = prefer {
        place.prefer(&Prefer::of(prefer));
    }
    Ok(place)
}

async fn found(
    State(service): State<Shared>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let Asked { urls, prefer } = Asked::of(&uri);
    let is_free = prefer.is_none();
    let snapshot = service.newest.snapshot();
    let work = move || {
        for url in &urls {
            let place = place(&snapshot, url, prefer.as_deref())?;
            if place.last_sweep.is_some() || snapshot.collection().newest_named(url)?.is_some() {
                return Ok((url.clone(), place));
            }
        }
        Err(ask::unknown(&urls[0]))
    };
    let (url, place) = service.desk.long(work).await?;
    let accept = headers
        .get(header::ACCEPT)
        .and_then(|value| value.to_str().ok());
    if accept.is_some_and(|accept| accept.contains("application/json")) {
        return Ok(axum::Json(wire::whereabouts(&url, &place)).into_response());
    }
    let best = place.present_place(MOVED);
    // What is all there may be sent to, whether or not it is a page of its own.
    let best = best.or_else(|| place.present_whole());
    if let Some(to) = best.and_then(|best| location(&best.url)) {
        let to = [(header::LOCATION, to)];
        if place.is_tie && is_free {
            let choices = pages::lost::choices(&url, &place);
            return Ok((StatusCode::MULTIPLE_CHOICES, to, choices).into_response());
        }
        return Ok((StatusCode::FOUND, to).into_response());
    }
    let when = place.last_seen.map(rfc3339);
    let when = when.as_deref().unwrap_or("an unknown day");
    Err(Refusal::not_found(format!(
        "the page was last seen on {when}; where it is now is not known"
    ))
    .hint("the page lost and found tells what is a little like it"))
}

/// What is asked for.
struct Asked {
    /// The address, as it may be meant: browsers encode, inputs may not have.
    urls: Vec<String>,
    prefer: Option<String>,
}

impl Asked {
    fn of(uri: &Uri) -> Asked {
        let path = uri.path().strip_prefix("/found/").unwrap_or_default();
        let query = uri.query().unwrap_or_default();
        let mut prefer = None;
        let own = query.split('&').filter(|part| {
            let wish = part.strip_prefix("prefer=");
            prefer = wish.map(percent_decoded).or(prefer.take());
            wish.is_none() && !part.is_empty()
        });
        let own: Vec<&str> = own.collect();
        let with = |path: &str, query: &str| match query {
            "" => path.to_owned(),
            query => format!("{path}?{query}"),
        };
        let (whole, rest) = (with(path, query), with(path, &own.join("&")));
        let mut urls = vec![rest.clone(), percent_decoded(&rest)];
        // The page may have a parameter of that name itself.
        urls.extend([percent_decoded(&whole), whole]);
        Asked { urls, prefer }
    }
}

/// Text with `%xx` decoded.
pub(crate) fn percent_decoded(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [byte, behind @ ..] = rest {
        let hex = behind.first_chunk::<2>().filter(|_| *byte == b'%');
        let hex = hex.and_then(|hex| std::str::from_utf8(hex).ok());
        let decoded = hex.and_then(|hex| u8::from_str_radix(hex, 16).ok());
        out.push(decoded.unwrap_or(*byte));
        rest = if decoded.is_some() {
            &behind[2..]
        } else {
            behind
        };
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// An address that may stand in a header; only those of the web.
fn location(url: &str) -> Option<HeaderValue> {
    let is_web = url.starts_with("http://") || url.starts_with("https://");
    let out = words::encoded(url, |byte| byte.is_ascii_graphic());
    HeaderValue::from_str(&out).ok().filter(|_| is_web)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_keep_their_own_parameters() {
        let asked = |uri: &'static str| Asked::of(&Uri::from_static(uri));
        let one = asked("/found/http://a.example/b?x=1&prefer=same-host&y=2");
        assert_eq!(one.urls[0], "http://a.example/b?x=1&y=2");
        assert_eq!(one.urls[3], "http://a.example/b?x=1&prefer=same-host&y=2");
        assert_eq!(one.prefer.as_deref(), Some("same-host"));
        let one = asked("/found/http%3A%2F%2Fa.example%2F%E6%97%A5");
        assert_eq!(one.urls[1], "http://a.example/日");
    }

    #[test]
    fn only_the_web_is_led_to() {
        assert!(location("javascript:alert(1)").is_none());
        let place = location("http://a.example/ä\r\nSet-Cookie: x").expect("an address");
        assert_eq!(place, "http://a.example/%C3%A4%0D%0ASet-Cookie:%20x");
    }
}
