//! Memento: which captures an address has, and the one nearest to a date (RFC 7089).

use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use lookalike::archive::cdx::{Dialect, MOST_ROWS, Query, first_moment};
use lookalike::archive::index::Slot;
use lookalike::corpus::date::{http_date, rfc3339, when};
use lookalike::corpus::record::{Timestamp, When};

use super::capture::{Teller, add_alike};
use super::links::{LINK_FORMAT, Links, mementos, neighbours, safe, with_scheme};
use super::{Site, captures_of, index_of, no_captures};
use crate::Shared;
use crate::pages::{self, memento::Capture};
use crate::refusal::Refusal;

const MEMENTO_DATETIME: HeaderName = HeaderName::from_static("memento-datetime");

/// The links that every answer about an address has.
fn general(site: &Site, url: &str) -> Links {
    let mut links = Links::default();
    links.add(&safe(url), "original", &[]);
    let kind = [("type", LINK_FORMAT)];
    links.add(&site.timemap("link", url), "timemap", &kind);
    links.add(&site.timegate(url), "timegate", &[]);
    links
}

/// The moment that a client prefers.
fn accepted(headers: &HeaderMap) -> Result<Option<i64>, Refusal> {
    let Some(value) = headers.get("accept-datetime") else {
        return Ok(None);
    };
    let wrong = || {
        Refusal::bad("Accept-Datetime is no date")
            .hint("it is written as in Mon, 16 Nov 2026 01:02:03 GMT")
    };
    let text = value.to_str().map_err(|_| wrong())?;
    // Nobody is refused for a wrong day of the week.
    let (_, date) = text.split_once(", ").ok_or_else(wrong)?;
    match when(date) {
        When::At(Timestamp(moment)) if date.ends_with(" GMT") => Ok(Some(moment)),
        _ => Err(wrong()),
    }
}

/// Leads to the capture that is nearest to the date a client prefers, or to the newest.
pub(super) async fn timegate(
    service: Shared,
    site: Site,
    url: &str,
    headers: &HeaderMap,
) -> Result<Response, Refusal> {
    let answer = match accepted(headers) {
        Ok(moment) => lead(service, site, url.to_owned(), moment).await,
        Err(refusal) => Err(refusal),
    };
    let mut response = answer.unwrap_or_else(Refusal::into_response);
    let vary = HeaderValue::from_static("accept-datetime");
    response.headers_mut().insert(header::VARY, vary);
    Ok(response)
}

async fn lead(
    service: Shared,
    site: Site,
    url: String,
    moment: Option<i64>,
) -> Result<Response, Refusal> {
    let snapshot = service.newest.snapshot();
    index_of(&service, &snapshot).await?;
    let work = move || {
        let index = snapshot.index()?;
        let (url, captures) = captures_of(index, &url).ok_or_else(|| no_captures(&url))?;
        let url = with_scheme(&url);
        let chosen = index.nearest(captures.clone(), moment.unwrap_or(i64::MAX));
        let chosen = index.slot(chosen.unwrap_or(captures.start));
        let mut links = general(&site, &url);
        links.add_around(&site, index.slots(captures), chosen.date, &url);
        add_alike(&mut links, &snapshot, chosen.doc)?;
        Ok((site.memento(chosen.date, &url), links))
    };
    let (location, links) = service.desk.short(work).await?;
    redirect(&location, Some(&links))
}

fn redirect(location: &str, links: Option<&Links>) -> Result<Response, Refusal> {
    let broken = |_| Refusal::broken("the place of the capture cannot be written");
    let place = HeaderValue::from_str(location).map_err(broken)?;
    let mut response = (StatusCode::FOUND, [(header::LOCATION, place)]).into_response();
    if let Some(links) = links.and_then(Links::header) {
        response.headers_mut().insert(header::LINK, links);
    }
    Ok(response)
}

/// All captures of an address.
pub(super) async fn timemap(
    service: Shared,
    site: Site,
    kind: &str,
    url: &str,
) -> Result<Response, Refusal> {
    if !matches!(kind, "link" | "json" | "cdxj") {
        let message = "a list of captures is link, json or cdxj";
        return Err(Refusal::not_found(message));
    }
    let (kind, url) = (kind.to_owned(), url.to_owned());
    let snapshot = service.newest.snapshot();
    index_of(&service, &snapshot).await?;
    let work = move || {
        let index = snapshot.index()?;
        let (url, captures) = captures_of(index, &url).ok_or_else(|| no_captures(&url))?;
        if kind == "link" {
            let url = with_scheme(&url);
            let mut links = about(&site, index.slots(captures.clone()), &url);
            for capture in mementos(index, captures).take(MOST_ROWS) {
                links.add_memento(&site, index.date(capture), &url);
            }
            return Ok((LINK_FORMAT, links.text()));
        }
        let params = [("url", &*url), ("matchType", "exact"), ("output", &*kind)];
        let query = Query::parse(Dialect::Pywb, params)?;
        let mut teller = Teller::new(&snapshot, index);
        let selected = query.select(index, |capture| teller.row(capture))?;
        let text = query.write(&selected, |capture| teller.row(capture))?;
        Ok((super::cdx::kind_of(query.output, Dialect::Pywb), text))
    };
    let (kind, text) = service.desk.long(work).await?;
    Ok(([(header::CONTENT_TYPE, kind)], text).into_response())
}

/// What a list of captures begins with.
fn about(site: &Site, slots: &[Slot], url: &str) -> Links {
    let mut links = Links::default();
    let date =
        |slot: Option<&Slot>| slot.map_or_else(String::new, |slot| http_date(Timestamp(slot.date)));
    let (from, until) = (date(slots.first()), date(slots.last()));
    let about = [("type", LINK_FORMAT), ("from", &from), ("until", &until)];
    links.add(&site.timemap("link", url), "self", &about);
    links.add(&safe(url), "original", &[]);
    links.add(&site.timegate(url), "timegate", &[]);
    links
}

/// A capture that was asked for by its date.
pub(super) struct Chosen {
    pub(super) slot: Slot,
    /// Its address.
    pub(super) url: String,
    /// The captures before and after it.
    pub(super) around: (Option<Slot>, Option<Slot>),
    links: Links,
}

impl Chosen {
    /// Finds a capture. `Err` within is the date of the nearest one, if it is at another.
    pub(super) fn find(
        snapshot: &crate::state::Snapshot,
        site: &Site,
        date: &str,
        url: &str,
    ) -> Result<Result<Chosen, (i64, String)>, Refusal> {
        let index = snapshot.index()?;
        let (url, captures) = captures_of(index, url).ok_or_else(|| no_captures(url))?;
        let moment = first_moment("the date", date)?;
        let nearest = index.nearest(captures.clone(), moment);
        let slot = index.slot(nearest.unwrap_or(captures.start));
        if slot.date != moment || date.len() != 14 {
            return Ok(Err((slot.date, with_scheme(&url))));
        }
        let collection = snapshot.collection();
        let entry = collection.entry(slot.doc)?;
        let own = collection.strings(slot.doc, &entry)?.1.unwrap_or(url);
        let slots = index.slots(captures);
        let mut links = general(site, &own);
        links.add_around(site, slots, slot.date, &own);
        add_alike(&mut links, snapshot, slot.doc)?;
        Ok(Ok(Chosen {
            slot,
            url: own,
            around: neighbours(slots, slot.date),
            links,
        }))
    }

    /// Says of a response that it is this capture.
    pub(super) fn mark(&self, mut response: Response) -> Response {
        let headers = response.headers_mut();
        let date = http_date(Timestamp(self.slot.date));
        if let Ok(date) = HeaderValue::from_str(&date) {
            headers.insert(MEMENTO_DATETIME, date);
        }
        if let Some(links) = self.links.header() {
            headers.insert(header::LINK, links);
        }
        response
    }
}

/// Leads to the capture that is nearest to a date.
pub(super) fn nearest(
    site: &Site,
    how: &str,
    (date, url): &(i64, String),
) -> Result<Response, Refusal> {
    let place = site.here(*date, how, url);
    redirect(&format!("{}{place}", site.origin), None)
}

/// A capture as a page of ours: its text as text, and ways to what is around it.
pub(super) async fn page(
    service: Shared,
    site: Site,
    date: &str,
    url: &str,
) -> Result<Response, Refusal> {
    let (date, url) = (date.to_owned(), url.to_owned());
    let snapshot = service.newest.snapshot();
    index_of(&service, &snapshot).await?;
    let work = move || {
        let chosen = match Chosen::find(&snapshot, &site, &date, &url)? {
            Ok(chosen) => chosen,
            Err(other) => return nearest(&site, "", &other),
        };
        let shown = |slot: Slot| {
            let day = rfc3339(Timestamp(slot.date));
            (site.here(slot.date, "", &chosen.url), day)
        };
        let doc = chosen.slot.doc;
        let (prev, next) = chosen.around;
        let before = prev.map(|slot| slot.doc);
        let capture = Capture {
            url: chosen.url.clone(),
            date: rfc3339(Timestamp(chosen.slot.date)),
            doc,
            raw: site.here(chosen.slot.date, "id_", &chosen.url),
            history: format!("{}/timemap/link/{}", site.path, safe(&chosen.url)),
            earlier: prev.map(shown),
            later: next.map(shown),
            before: before.filter(|before| *before != doc),
        };
        let page = pages::memento::page(&snapshot, capture)?;
        Ok(chosen.mark(page))
    };
    service.desk.long(work).await
}
