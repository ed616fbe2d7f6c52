//! Search: what has some words, one place for each cluster.

use askama::Template;
use axum::extract::State;

use super::{Menu, Page, show};
use crate::Shared;
use crate::ask::Filled;
use crate::search::{Found, SearchParams, Searching, answer};

#[derive(Template)]
#[template(path = "search.html")]
struct Search {
    menu: Menu,
    is_on: bool,
    query: String,
    found: Option<Found>,
}

pub(super) async fn page(
    State(service): State<Shared>,
    Filled(params): Filled<SearchParams>,
) -> Page {
    let is_on = !matches!(service.searching, Searching::Off);
    let query = params.q.clone().filter(|_| is_on).unwrap_or_default();
    let found = if query.trim().is_empty() {
        None
    } else {
        Some(answer(service, query.clone(), params).await?)
    };
    Ok(show(&Search {
        menu: Menu::Search,
        is_on,
        query,
        found,
    }))
}
