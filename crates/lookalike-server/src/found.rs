//! `/found/URL`: where a page is now. The name server that the paper offers instead of
//! URNs; a site can send its 404s here.
//!
//! A page is where it was if the newest sweep has it; else it is at the best match that
//! the newest sweep has. Which of several good places is best is the caller's choice:
//! `?prefer=newest`, `same-host` or the name of a host.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use lookalike::find::{FindOptions, Reread};
use lookalike::storage::StorageError;
use serde_json::{Value, json};

use crate::Shared;
use crate::api::look;
use crate::ask::named;
use crate::hosts::host_of;
use crate::refusal::Refusal;
use crate::state::Snapshot;
use crate::wire::{Found, Named};
use crate::words;

pub(crate) fn routes() -> Router<Shared> {
    Router::new().route("/found/{*url}", get(found))
}

/// Candidates that are looked at.
const CANDIDATES: usize = 50;

async fn found(
    State(service): State<Shared>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let (url, prefer) = asked(&uri);
    let snapshot = service.newest.snapshot();
    let sought = url.clone();
    let work = move || places(&snapshot, &sought, prefer.as_deref());
    let places = service.desk.long(work).await?;
    let accept = headers
        .get(header::ACCEPT)
        .and_then(|value| value.to_str().ok());
    if accept.is_some_and(|accept| accept.contains("application/json")) {
        return Ok(axum::Json(places.json(&url)).into_response());
    }
    let place = places.now.first().and_then(|now| location(&now.url));
    if let Some(place) = place {
        return Ok((StatusCode::FOUND, [(header::LOCATION, place)]).into_response());
    }
    Err(Refusal::not_found(
        "the page is gone, and nothing like it is there now",
    ))
}

/// The address that is asked for, with its own parameters, and what is preferred.
fn asked(uri: &Uri) -> (String, Option<String>) {
    let path = uri.path().strip_prefix("/found/").unwrap_or_default();
    let mut url = if path.contains("://") {
        path.to_owned()
    } else {
        percent_decoded(path)
    };
    let mut prefer = None;
    let own = uri.query().unwrap_or_default().split('&').filter(|part| {
        match part.strip_prefix("prefer=") {
            Some(wish) => {
                prefer = Some(percent_decoded(wish));
                false
            }
            None => !part.is_empty(),
        }
    });
    let own: Vec<&str> = own.collect();
    if !own.is_empty() {
        url = format!("{url}?{}", own.join("&"));
    }
    (url, prefer)
}

/// Text with `%xx` decoded.
fn percent_decoded(text: &str) -> String {
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

/// Where a page is now.
struct Places {
    status: &'static str,
    last_seen: Option<String>,
    now: Vec<Place>,
}

struct Place {
    url: String,
    date: Option<String>,
    is_same_host: bool,
    /// What speaks for it; nothing for the page itself.
    evidence: Option<Found>,
}

impl Places {
    fn json(&self, url: &str) -> Value {
        let place = |place: &Place| {
            let mut out = json!({
                "url": place.url,
                "date": place.date,
                "same_host": place.is_same_host,
            });
            if let Some(evidence) = &place.evidence {
                out["resemblance"] = json!(evidence.resemblance);
                out["containment"] = json!(evidence.query_in_doc);
            }
            out
        };
        let now: Vec<Value> = self.now.iter().map(place).collect();
        json!({ "url": url, "status": self.status, "last_seen": self.last_seen, "now": now })
    }
}

fn places(snapshot: &Snapshot, url: &str, prefer: Option<&str>) -> Result<Places, Refusal> {
    let collection = snapshot.collection();
    let doc = named(snapshot, url)?;
    let page = Named::of(collection, doc)?;
    let host = page.url.as_deref().and_then(host_of).map(str::to_owned);
    let newest = collection.state().sweeps.len().saturating_sub(1);
    let seen = seen_again(snapshot, newest)?;
    let is_here = |doc: u32| collection.sweep_of(doc) == newest || seen.contains(&doc);
    if is_here(doc) {
        return Ok(Places {
            status: "present",
            last_seen: page.date.clone(),
            now: vec![Place {
                url: url.to_owned(),
                date: page.date,
                is_same_host: true,
                evidence: None,
            }],
        });
    }
    let options = FindOptions {
        top: CANDIDATES,
        ..FindOptions::default()
    };
    let query = snapshot.finder.query_of(doc, Reread::Never)?;
    let matches = look(snapshot, &query, &options)?.into_iter();
    let mut now: Vec<Place> = matches
        .filter(|found| is_here(found.named.doc))
        .filter_map(|found| {
            let url = found.named.url.clone().filter(|there| there != url)?;
            Some(Place {
                is_same_host: host.is_some() && host_of(&url) == host.as_deref(),
                date: found.named.date.clone(),
                url,
                evidence: Some(found),
            })
        })
        .collect();
    match prefer {
        Some("newest") => now.sort_by_key(|place| Reverse(place.date.clone())),
        Some("same-host") => now.sort_by_key(|place| !place.is_same_host),
        Some(host) => now.sort_by_key(|place| host_of(&place.url) != Some(host)),
        None => {}
    }
    Ok(Places {
        status: if now.is_empty() { "gone" } else { "moved" },
        last_seen: page.date,
        now,
    })
}

/// Documents of earlier sweeps that a sweep captured again.
fn seen_again(snapshot: &Snapshot, sweep: usize) -> Result<BTreeSet<u32>, StorageError> {
    let mut seen = BTreeSet::new();
    if snapshot.collection().state().sweeps.is_empty() {
        return Ok(seen);
    }
    let mut captures = snapshot.collection().captures(sweep)?;
    while let Some(capture) = captures.next_record()? {
        seen.insert(capture.doc);
    }
    Ok(seen)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_keep_their_own_parameters() {
        let uri = Uri::from_static("/found/http://a.example/b?x=1&prefer=same-host&y=2");
        let (url, prefer) = asked(&uri);
        assert_eq!(url, "http://a.example/b?x=1&y=2");
        assert_eq!(prefer.as_deref(), Some("same-host"));
        let (url, _) = asked(&Uri::from_static("/found/http%3A%2F%2Fa.example%2Fb"));
        assert_eq!(url, "http://a.example/b");
    }

    #[test]
    fn only_the_web_is_led_to() {
        assert!(location("javascript:alert(1)").is_none());
        let place = location("http://a.example/ä\r\nSet-Cookie: x").expect("an address");
        assert_eq!(place, "http://a.example/%C3%A4%0D%0ASet-Cookie:%20x");
    }
}
