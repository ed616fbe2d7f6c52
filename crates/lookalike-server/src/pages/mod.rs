//! The web page: drawn here, usable without script, nothing loaded from elsewhere.
//!
//! ```text
//! overview ─► clusters ─► cluster ─► pair
//!    ├─► lookup: paste, file, URL ──────┘
//!    ├─► search: one place for each cluster
//!    ├─► lost and found
//!    ├─► copies: who holds a text
//!    └─► changes ─► history: one page through time
//! ```
//!
//! Templates escape all they are given. What they are given as markup (`|safe`) is drawn
//! in [`draw`], [`crate::plots`] and [`crate::sides`], from numbers and escaped text.

mod draw;

mod overview;

mod clusters;

mod cluster;

mod document;

pub(crate) mod memento;

mod pair;

mod lookup;

mod copies;

pub(crate) mod lost;

mod search;

pub(crate) mod changes;

pub(crate) mod history;

use askama::Template;
use axum::Router;
use axum::extract::Request;
use axum::http::{StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;

use crate::Shared;
use crate::refusal::Refusal;
use crate::sides;

const STYLE: &str = include_str!("../../static/style.css");
const ICON: &str = include_str!("../../static/icon.svg");
const LOOKUP: &str = include_str!("../../static/lookup.js");

pub(crate) fn routes() -> Router<Shared> {
    let file = |kind: &'static str, text: &'static str| {
        let kept = "max-age=3600";
        get(async move || {
            let headers = [(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, kept)];
            (headers, text)
        })
    };
    Router::new()
        .route("/", get(overview::page))
        .route("/clusters", get(clusters::page))
        .route("/clusters/{id}", get(cluster::page))
        .route("/documents/{id}", get(document::page))
        .route("/pair", get(pair::page).post(pair::posted))
        .route("/lookup", get(lookup::page).post(lookup::posted))
        .route("/search", get(search::page))
        .route("/where", get(lost::page))
        .route("/copies", get(copies::page))
        .route("/changes", get(changes::page))
        .route("/history", get(history::page))
        .route(
            "/static/changes.css",
            file("text/css; charset=utf-8", crate::changes::STYLE),
        )
        .route("/static/style.css", file("text/css; charset=utf-8", STYLE))
        .route(
            "/static/pair.css",
            file("text/css; charset=utf-8", sides::STYLE),
        )
        .route(
            "/static/pair.js",
            file("text/javascript; charset=utf-8", sides::SCRIPT),
        )
        .route(
            "/static/lookup.js",
            file("text/javascript; charset=utf-8", LOOKUP),
        )
        .route("/static/icon.svg", file("image/svg+xml", ICON))
}

/// A page, or why not: [`for_people`] draws that.
type Page = Result<Response, Refusal>;

/// Which entry of the menu is the page's own.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Menu {
    Overview,
    Clusters,
    Lookup,
    Search,
    Lost,
    Changes,
    Other,
}

impl Menu {
    fn current(self, entry: Menu) -> &'static str {
        if self == entry { "page" } else { "false" }
    }

    fn overview(self) -> &'static str {
        self.current(Menu::Overview)
    }

    fn clusters(self) -> &'static str {
        self.current(Menu::Clusters)
    }

    fn lookup(self) -> &'static str {
        self.current(Menu::Lookup)
    }

    fn search(self) -> &'static str {
        self.current(Menu::Search)
    }

    fn lost(self) -> &'static str {
        self.current(Menu::Lost)
    }

    fn changes(self) -> &'static str {
        self.current(Menu::Changes)
    }
}

#[derive(Template)]
#[template(path = "message.html")]
struct Message {
    menu: Menu,
    title: &'static str,
    what: String,
    hint: String,
}

/// Draws a template.
fn show(template: &impl Template) -> Response {
    match template.render() {
        Ok(page) => Html(page).into_response(),
        Err(_) => Refusal::broken("the page cannot be drawn").into_response(),
    }
}

/// An address that leads nowhere.
pub(crate) async fn missing() -> Refusal {
    Refusal::not_found("there is nothing at this address")
}

/// Whether a browser asks for a page. The API gives JSON to everybody.
pub(crate) fn is_for_people(request: &Request) -> bool {
    let accept = request.headers().get(header::ACCEPT);
    let accept = accept.and_then(|value| value.to_str().ok());
    let is_api = request.uri().path().starts_with("/api/");
    !is_api && accept.is_some_and(|accept| accept.contains("text/html"))
}

/// Why there is no answer, as a page; an answer stays as it is.
pub(crate) fn for_people(mut response: Response) -> Response {
    let Some(refusal) = response.extensions_mut().remove::<Refusal>() else {
        return response;
    };
    let title = match refusal.status {
        StatusCode::NOT_FOUND => "Not found",
        StatusCode::SERVICE_UNAVAILABLE => "Busy",
        status if status.is_server_error() => "Something is wrong",
        _ => "That did not work",
    };
    let page = show(&Message {
        menu: Menu::Other,
        title,
        what: refusal.message,
        hint: refusal.hint,
    });
    // The status and what was said about it (Allow, Retry-After) stay.
    let (mut parts, _) = response.into_parts();
    let (drawn, body) = page.into_parts();
    parts.headers.remove(header::CONTENT_LENGTH);
    parts.headers.extend(drawn.headers);
    Response::from_parts(parts, body)
}
