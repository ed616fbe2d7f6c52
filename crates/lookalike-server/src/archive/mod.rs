//! The protocols of web archives over a collection: Memento (RFC 7089) and CDX.
//!
//! ```text
//! /C/URL, /timegate/URL          memento: 302 to the capture nearest to a date
//! /C/timemap/link/URL            memento: all captures of an address
//! /C/20261116010203/URL          memento: a capture as a page, its text as text
//! /C/20261116010203id_/URL       raw: its bytes
//! /C/cdx, /C-cdx                 cdx: captures of many addresses, as pywb tells of them
//! /cdx/search/cdx                cdx: as the Wayback Machine does
//! /wayback/available             cdx: the nearest capture as JSON
//! ```
//!
//! `C` is the name of the collection's folder, or `archive`. Addresses stand in paths as
//! they are, `//` and `?` included, so the path is taken as it was sent.

mod links;

mod capture;

mod memento;

mod raw;

mod cdx;

use std::path::Path;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::Response;
use axum::routing::get;
use lookalike::archive::index::Index;

use crate::Shared;
use crate::refusal::Refusal;
use crate::state::Snapshot;

/// The name that every collection has.
const ALIAS: &str = "archive";

/// Names under which something else is found, or may be one day.
const TAKEN: [&str; 20] = [
    ALIAS,
    "api",
    "cdx",
    "changes",
    "clusters",
    "copies",
    "documents",
    "drift",
    "found",
    "healthz",
    "history",
    "lookup",
    "lost",
    "metrics",
    "pair",
    "search",
    "static",
    "timegate",
    "wayback",
    "where",
];

/// What a collection is called in addresses: its folder, or the alias if that is no name.
pub(crate) fn name_of(folder: &Path) -> String {
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let name = name.strip_suffix(".lk").unwrap_or(&name);
    let plain = |c: char| {
        let is_plain = c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        if is_plain { c } else { '-' }
    };
    let name: String = name.chars().map(plain).collect();
    let is_dots = name.chars().all(|c| matches!(c, '.' | '-'));
    if is_dots || TAKEN.contains(&&*name) {
        return ALIAS.to_owned();
    }
    name
}

pub(crate) fn routes(name: &str) -> Router<Shared> {
    let mut names = vec![ALIAS, name];
    names.dedup();
    let mut router = Router::new()
        .route("/timegate/{*url}", get(timegate))
        .route("/cdx/search/cdx", get(cdx::wayback))
        .route("/wayback/available", get(cdx::available));
    for name in names {
        router = router
            .route(&format!("/{name}/{{*rest}}"), get(dispatch))
            .route(&format!("/{name}-cdx"), get(cdx::pywb));
    }
    router
}

/// What a path below a collection's name asks for.
#[derive(Debug, Eq, PartialEq)]
enum Asked<'p> {
    /// Captures in the CDX language.
    Cdx,
    /// The capture nearest to a date.
    TimeGate(&'p str),
    /// All captures, in a notation.
    TimeMap(&'p str, &'p str),
    /// One capture, by its date.
    Memento(&'p str, &'p str),
    /// Its bytes.
    Raw(&'p str, &'p str),
}

impl<'p> Asked<'p> {
    fn of(rest: &'p str) -> Asked<'p> {
        if rest == "cdx" || rest.starts_with("cdx?") {
            return Asked::Cdx;
        }
        if let Some((kind, url)) = rest
            .strip_prefix("timemap/")
            .and_then(|rest| rest.split_once('/'))
        {
            return Asked::TimeMap(kind, url);
        }
        let Some((first, url)) = rest.split_once('/') else {
            return Asked::TimeGate(rest);
        };
        let end = first.find(|c: char| !c.is_ascii_digit());
        let (date, how) = first.split_at(end.unwrap_or(first.len()));
        // `id_` is the original; what else there is (`mp_`, `im_`…) is how a page would be
        // rewritten, and here none is.
        let is_how = |how: &str| how.len() == 3 && how.ends_with('_');
        match how {
            _ if !(4..=14).contains(&date.len()) => Asked::TimeGate(rest),
            "id_" => Asked::Raw(date, url),
            how if how.is_empty() || is_how(how) => Asked::Memento(date, url),
            _ => Asked::TimeGate(rest),
        }
    }
}

async fn dispatch(State(service): State<Shared>, request: Request) -> Result<Response, Refusal> {
    let (parts, _) = request.into_parts();
    let whole = whole(&parts.uri);
    let (name, rest) = whole.split_once('/').unwrap_or_default();
    let site = Site::new(&parts.headers, name);
    match Asked::of(rest) {
        Asked::Cdx => cdx::answer_pywb(service, site, &parts.uri).await,
        Asked::TimeGate(url) => memento::timegate(service, site, url, &parts.headers).await,
        Asked::TimeMap(kind, url) => memento::timemap(service, site, kind, url).await,
        Asked::Memento(date, url) => memento::page(service, site, date, url).await,
        Asked::Raw(date, url) => raw::raw(service, site, date, url).await,
    }
}

async fn timegate(State(service): State<Shared>, request: Request) -> Result<Response, Refusal> {
    let (parts, _) = request.into_parts();
    let whole = whole(&parts.uri);
    let (_, url) = whole.split_once('/').unwrap_or_default();
    let site = Site::new(&parts.headers, &service.name);
    memento::timegate(service, site, url, &parts.headers).await
}

/// Path and query as they were sent, without the first slash.
fn whole(uri: &Uri) -> String {
    let whole = uri.path_and_query().map_or("/", |both| both.as_str());
    whole.strip_prefix('/').unwrap_or(whole).to_owned()
}

/// Where this collection is, as the client calls it.
#[derive(Clone, Debug)]
struct Site {
    /// `http://127.0.0.1:8080`
    origin: String,
    /// `/crawl`
    path: String,
}

impl Site {
    fn new(headers: &HeaderMap, name: &str) -> Site {
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
        let is_plain = |c: char| c.is_ascii_alphanumeric() || ".-_:[]".contains(c);
        let host = text(header::HOST).filter(|host| host.chars().all(is_plain));
        let host = host.unwrap_or("localhost");
        // What a proxy says is only told back.
        let forwarded = headers.get("x-forwarded-proto");
        let is_secure = forwarded.is_some_and(|protocol| protocol == "https");
        let scheme = if is_secure { "https" } else { "http" };
        Site {
            origin: format!("{scheme}://{host}"),
            path: format!("/{name}"),
        }
    }
}

/// The captures of the generation, in order. Put in order when they are first asked for,
/// which keeps nothing else from its turn.
async fn index_of(service: &Shared, snapshot: &Arc<Snapshot>) -> Result<(), Refusal> {
    if snapshot.has_index() {
        return Ok(());
    }
    let building = Arc::clone(snapshot);
    let build = move || {
        building.index()?;
        Ok(())
    };
    service.desk.long(build).await
}

/// The captures of an address as it may be meant: as it stands, or decoded.
fn captures_of(index: &Index, url: &str) -> Option<(String, std::ops::Range<u32>)> {
    let decoded = crate::found::percent_decoded(url);
    for url in [url, &decoded] {
        let captures = index.of_url(url);
        if !captures.is_empty() {
            return Some((url.to_owned(), captures));
        }
    }
    None
}

/// That an address has no captures here.
fn no_captures(url: &str) -> Refusal {
    let shown = crate::words::excerpt(url, 200);
    Refusal::new(StatusCode::NOT_FOUND, format!("no captures of `{shown}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_folders_unless_something_else_has_them() {
        for (folder, name) in [
            ("/nowhere/crawl.lk", "crawl"),
            ("/nowhere/My Crawl!.lk", "My-Crawl-"),
            ("/nowhere/api.lk", "archive"),
            ("/nowhere/found", "archive"),
            ("/nowhere/...lk", "archive"),
            ("/nowhere/日本.lk", "archive"),
            ("/nowhere/2020.lk", "2020"),
        ] {
            assert_eq!(name_of(Path::new(folder)), name, "{folder}");
        }
    }

    #[test]
    fn paths_say_what_is_asked_for() {
        let url = "http://a.example//b%2Fc?d=/e";
        let path = |before: &str| format!("{before}{url}");
        assert_eq!(Asked::of("cdx"), Asked::Cdx);
        assert_eq!(Asked::of("cdx?url=a"), Asked::Cdx);
        assert_eq!(Asked::of(url), Asked::TimeGate(url));
        assert_eq!(Asked::of("a.example"), Asked::TimeGate("a.example"));
        let at = |before: &str, is: fn(&str, &str) -> bool| {
            let path = path(before);
            match Asked::of(&path) {
                Asked::Memento(date, to) => is(date, "") && to == url,
                Asked::Raw(date, to) => is(date, "id_") && to == url,
                Asked::TimeMap(kind, to) => is(kind, "timemap") && to == url,
                Asked::TimeGate(_) | Asked::Cdx => false,
            }
        };
        assert!(at("20261116010203/", |date, how| (date, how)
            == ("20261116010203", "")));
        assert!(at("2026/", |date, how| (date, how) == ("2026", "")));
        assert!(at("2026mp_/", |date, how| (date, how) == ("2026", "")));
        assert!(at("20261116010203id_/", |date, how| (date, how)
            == ("20261116010203", "id_")));
        assert!(at("timemap/link/", |kind, how| (kind, how)
            == ("link", "timemap")));
        assert!(!at("202611160102033/", |_, _| true));
        assert!(!at("2026x/", |_, _| true));
    }
}
