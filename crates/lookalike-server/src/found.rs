//! `/found/URL`: where a page is now. The name server that the paper offers instead of
//! URNs; a site can send its 404s here.
//!
//! A page is where it was if the newest sweep, by date, has it; else it is at the best match
//! that was seen later than it. Which of several good places is best is the caller's choice:
//! `?prefer=newest`, `same-host` or the name of a host.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use lookalike::corpus::date::rfc3339;
use lookalike::corpus::record::Timestamp;
use lookalike::find::{FindOptions, Reread};
use lookalike::storage::StorageError;
use serde_json::{Value, json};

use crate::Shared;
use crate::api::look;
use crate::ask;
use crate::hosts::host_of;
use crate::refusal::Refusal;
use crate::state::Snapshot;
use crate::wire::Found;
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
    let Asked { urls, prefer } = Asked::of(&uri);
    let snapshot = service.newest.snapshot();
    let work = move || places(&snapshot, &urls, prefer.as_deref());
    let places = service.desk.long(work).await?;
    let accept = headers
        .get(header::ACCEPT)
        .and_then(|value| value.to_str().ok());
    if accept.is_some_and(|accept| accept.contains("application/json")) {
        return Ok(axum::Json(places.json()).into_response());
    }
    let place = places.now.first().and_then(|now| location(&now.url));
    if let Some(place) = place {
        return Ok((StatusCode::FOUND, [(header::LOCATION, place)]).into_response());
    }
    let when = places.last_seen.as_deref().unwrap_or("an unknown day");
    Err(Refusal::not_found(format!(
        "the page was last seen on {when}; no later sweep has it, or anything like it"
    )))
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

/// Where a page is now.
struct Places {
    url: String,
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
    fn json(&self) -> Value {
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
        json!({ "url": self.url, "status": self.status, "last_seen": self.last_seen, "now": now })
    }
}

fn places(snapshot: &Snapshot, urls: &[String], prefer: Option<&str>) -> Result<Places, Refusal> {
    let collection = snapshot.collection();
    let mut known = None;
    for url in urls {
        if let Some(doc) = collection.newest_named(url)? {
            known = Some((url, doc));
            break;
        }
    }
    let Some((url, doc)) = known else {
        return Err(ask::unknown(&urls[0]));
    };
    let host = host_of(url).map(str::to_owned);
    let query = snapshot.finder.query_of(doc, Reread::Never)?;
    let options = FindOptions {
        top: CANDIDATES,
        ..FindOptions::default()
    };
    let matches = look(snapshot, &query, &options)?;
    let mut docs: Vec<u32> = matches.iter().map(|found| found.named.doc).collect();
    docs.push(doc);
    let seen = last_seen(snapshot, &docs)?;
    let last = seen.get(&doc).copied();
    let shown = |seen: Option<Seen>| seen.and_then(|seen| seen.0).map(|s| rfc3339(Timestamp(s)));
    if last >= newest_sweep(snapshot) {
        let date = shown(last);
        return Ok(Places {
            url: url.clone(),
            status: "present",
            last_seen: date.clone(),
            now: vec![Place {
                url: url.clone(),
                date,
                is_same_host: true,
                evidence: None,
            }],
        });
    }
    // Where it is now, it was seen later than here.
    let later = matches.into_iter().filter_map(|found| {
        let seen = seen.get(&found.named.doc).copied();
        let there = found.named.url.clone().filter(|there| there != url)?;
        (seen > last).then(|| Place {
            is_same_host: host.is_some() && host_of(&there) == host.as_deref(),
            date: shown(seen),
            url: there,
            evidence: Some(found),
        })
    });
    let mut now: Vec<Place> = later.collect();
    match prefer {
        Some("newest") => now.sort_by_key(|place| Reverse(place.date.clone())),
        Some("same-host") => now.sort_by_key(|place| !place.is_same_host),
        Some(host) => now.sort_by_key(|place| host_of(&place.url) != Some(host)),
        None => {}
    }
    Ok(Places {
        url: url.clone(),
        status: if now.is_empty() { "gone" } else { "moved" },
        last_seen: shown(last),
        now,
    })
}

/// When something was seen: the date of the sweep, and of sweeps without dates or with the
/// same the one that was added last.
type Seen = (Option<i64>, usize);

fn newest_sweep(snapshot: &Snapshot) -> Option<Seen> {
    let sweeps = snapshot.collection().state().sweeps.iter().enumerate();
    sweeps.map(|(number, sweep)| (sweep.date, number)).max()
}

/// The sweep in which each of some documents was seen last. A pass over further captures.
fn last_seen(snapshot: &Snapshot, docs: &[u32]) -> Result<BTreeMap<u32, Seen>, StorageError> {
    let collection = snapshot.collection();
    let sweeps = &collection.state().sweeps;
    let mut seen: BTreeMap<u32, Seen> = BTreeMap::new();
    for &doc in docs {
        let number = collection.sweep_of(doc);
        seen.insert(doc, (sweeps[number].date, number));
    }
    for (number, sweep) in sweeps.iter().enumerate() {
        let mut captures = collection.captures(number)?;
        while let Some(capture) = captures.next_record()? {
            if let Some(last) = seen.get_mut(&capture.doc) {
                *last = (*last).max((sweep.date, number));
            }
        }
    }
    Ok(seen)
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
