//! The table of clusters.

use std::fmt::Write;

use askama::Template;
use axum::extract::State;

use super::{Menu, Page, show};
use crate::Shared;
use crate::ask::Filled;
use crate::board::{self, Board, BoardParams, Sort};
use crate::words::{self, count};

#[derive(Template)]
#[template(path = "clusters.html")]
struct Clusters {
    menu: Menu,
    board: Board,
    params: BoardParams,
    sorts: Vec<(&'static str, &'static str, bool)>,
    flags: Vec<(&'static str, &'static str, bool)>,
    total: String,
    from: String,
    to: String,
    earlier: Option<String>,
    later: Option<String>,
    is_filtered: bool,
}

impl Clusters {
    #[expect(clippy::unused_self, reason = "called by the template")]
    fn encoded(&self, text: &str) -> String {
        encoded(text)
    }
}

/// Rows of a page.
const ROWS: usize = 50;

pub(super) async fn page(
    State(service): State<Shared>,
    Filled(params): Filled<BoardParams>,
) -> Page {
    let snapshot = service.newest.snapshot();
    let asked = BoardParams {
        limit: Some(ROWS),
        ..params
    };
    let work = move || Ok((board::board(&snapshot, &asked)?, asked));
    let (board, params) = service.desk.long(work).await?;
    let flag = params.flag.as_deref().unwrap_or("");
    let flags = [
        ("", "all"),
        ("any", "flagged"),
        ("chain", "chains"),
        ("template", "templates"),
        ("large", "very large"),
    ];
    let sort = params.sort;
    let host = params.host.as_deref().unwrap_or("").trim();
    let link = |offset: usize| link(&params, offset);
    let end = params.offset.saturating_add(board.clusters.len());
    Ok(show(&Clusters {
        menu: Menu::Clusters,
        sorts: Sort::ALL
            .iter()
            .map(|(which, name, title)| (*name, *title, *which == sort))
            .collect(),
        flags: flags
            .map(|(name, title)| (name, title, name == flag))
            .to_vec(),
        total: count(board.total as u64),
        from: count(params.offset.saturating_add(1) as u64),
        to: count(end as u64),
        earlier: (params.offset > 0).then(|| link(params.offset.saturating_sub(ROWS))),
        later: (end < board.total).then(|| link(end)),
        is_filtered: !host.is_empty()
            || !flag.is_empty()
            || params.min_size.is_some()
            || params.max_size.is_some(),
        board,
        params,
    }))
}

/// The same question from another row on.
fn link(params: &BoardParams, offset: usize) -> String {
    let sort = Sort::ALL.iter().find(|(which, ..)| *which == params.sort);
    let mut link = format!(
        "/clusters?sort={}",
        sort.map_or("size", |(_, name, _)| name)
    );
    let mut add = |name: &str, value: &str| {
        if !value.is_empty() {
            let _ = write!(link, "&{name}={}", encoded(value));
        }
    };
    add("host", params.host.as_deref().unwrap_or(""));
    add("flag", params.flag.as_deref().unwrap_or(""));
    let number = |n: Option<u32>| n.map_or_else(String::new, |n| n.to_string());
    add("min_size", &number(params.min_size));
    add("max_size", &number(params.max_size));
    add("offset", &offset.to_string());
    link
}

/// Text as a parameter of an address.
pub(super) fn encoded(text: &str) -> String {
    words::encoded(text, |byte| {
        byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)
    })
}
