//! A capture of an address: its text as text, and the ways to what is around it.

use askama::Template;
use axum::response::Response;

use super::{Menu, document, show};
use crate::refusal::Refusal;
use crate::state::Snapshot;

/// What the page says of a capture.
pub(crate) struct Capture {
    pub(crate) url: String,
    pub(crate) date: String,
    pub(crate) doc: u32,
    /// Where its bytes are.
    pub(crate) raw: String,
    /// Where all captures of its address are told.
    pub(crate) history: String,
    /// Where the capture before it is, and its date.
    pub(crate) earlier: Option<(String, String)>,
    /// The same of the one after it.
    pub(crate) later: Option<(String, String)>,
    /// The document before it, if it is another.
    pub(crate) before: Option<u32>,
}

#[derive(Template)]
#[template(path = "memento.html")]
struct Memento {
    menu: Menu,
    capture: Capture,
    text: Result<String, String>,
    is_cut: bool,
}

/// Draws the page.
pub(crate) fn page(snapshot: &Snapshot, capture: Capture) -> Result<Response, Refusal> {
    let (text, is_cut) = document::text(snapshot, capture.doc)?;
    Ok(show(&Memento {
        menu: Menu::Other,
        capture,
        text,
        is_cut,
    }))
}
