//! Two documents side by side.

use askama::Template;
use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use serde::Deserialize;

use super::{Menu, Page, lookup, show};
use crate::Shared;
use crate::api::{given_side, known_side};
use crate::ask::{Params, numbered};
use crate::compared::{Compared, Side};
use crate::refusal::Refusal;
use crate::sides;
use crate::state::Snapshot;
use crate::words::excerpt;

#[derive(Template)]
#[template(path = "pair.html")]
struct Pair {
    menu: Menu,
    a: String,
    b: String,
    a_link: Option<u32>,
    b_link: u32,
    summary: String,
    both: String,
}

#[derive(Deserialize)]
pub(super) struct PairParams {
    a: u32,
    b: u32,
}

pub(super) async fn page(State(service): State<Shared>, Params(asked): Params<PairParams>) -> Page {
    let snapshot = service.newest.snapshot();
    let work = move || {
        let (a, b) = (numbered(&snapshot, asked.a)?, numbered(&snapshot, asked.b)?);
        draw(&snapshot, &known_side(&snapshot, a)?, Some(a), b)
    };
    Ok(show(&service.desk.long(work).await?))
}

/// A text that was looked up, beside a document that was found.
pub(super) async fn posted(State(service): State<Shared>, headers: HeaderMap, body: Body) -> Page {
    let form = lookup::form(&headers, body, service.max_body).await?;
    let snapshot = service.newest.snapshot();
    let work = move || {
        let missing = || Refusal::bad("which document to compare with is missing");
        let b = numbered(&snapshot, form.number("b").ok_or_else(missing)?)?;
        let text = form.text("text").unwrap_or_default();
        let given = given_side(&snapshot, "The text you gave", &text)?;
        draw(&snapshot, &given, None, b)
    };
    Ok(show(&service.desk.long(work).await?))
}

fn draw(snapshot: &Snapshot, a: &Side<'_>, a_link: Option<u32>, b: u32) -> Result<Pair, Refusal> {
    let recipe = snapshot.finder.recipe();
    let b_side = known_side(snapshot, b)?;
    snapshot.sketching(|sketcher| {
        let compared = Compared::new(a, &b_side, recipe, sketcher);
        Ok(Pair {
            menu: Menu::Other,
            a: excerpt(&a.name, 200),
            b: excerpt(&b_side.name, 200),
            a_link,
            b_link: b,
            summary: sides::summary(&compared),
            both: sides::both(&compared),
        })
    })
}
