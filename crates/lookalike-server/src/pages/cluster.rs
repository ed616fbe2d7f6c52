//! One cluster: its members, why each is in it, and when they were captured.

use std::collections::BTreeMap;

use askama::Template;
use axum::extract::{Path, State};
use lookalike::corpus::date::rfc3339;
use lookalike::corpus::record::Timestamp;
use lookalike::storage::StorageError;

use super::draw::{Life, time_line};
use super::{Menu, Page, show};
use crate::Shared;
use crate::api::cluster_number;
use crate::ask::Params;
use crate::board::{self, ClusterPage, PageParams};
use crate::state::Snapshot;
use crate::words::count;

#[derive(Template)]
#[template(path = "cluster.html")]
struct Cluster {
    menu: Menu,
    page: ClusterPage,
    title: String,
    representative: u32,
    time_line: Option<String>,
    earlier: Option<usize>,
    later: Option<usize>,
}

impl Cluster {
    fn size(&self) -> String {
        count(self.page.size as u64)
    }

    fn has_flag(&self, name: &str) -> bool {
        self.page.flags.contains(&name)
    }
}

/// Rows of a page, and of a time line.
const ROWS: usize = 100;
const LIVES: usize = 30;

pub(super) async fn page(
    State(service): State<Shared>,
    Path(id): Path<String>,
    Params(asked): Params<PageParams>,
) -> Page {
    let id = cluster_number(&id)?;
    let snapshot = service.newest.snapshot();
    let work = move || {
        let asked = PageParams {
            limit: Some(ROWS),
            ..asked
        };
        let cluster = board::cluster(&snapshot, id, asked)?;
        let lives = lives(&snapshot, &cluster)?;
        let (_, clustering) = board::clustering(&snapshot)?;
        let representative = clustering.member(id)?.representative;
        let named = crate::wire::Named::of(snapshot.collection(), representative)?;
        let end = asked.offset.saturating_add(cluster.members.len());
        Ok(Cluster {
            menu: Menu::Clusters,
            title: named.title(),
            representative,
            time_line: time_line(&lives),
            earlier: (asked.offset > 0).then(|| asked.offset.saturating_sub(ROWS)),
            later: (end < cluster.size).then_some(end),
            page: cluster,
        })
    };
    Ok(show(&service.desk.long(work).await?))
}

/// When the first members of the page were captured.
fn lives(snapshot: &Snapshot, cluster: &ClusterPage) -> Result<Vec<Life>, StorageError> {
    let docs: Vec<u32> = cluster
        .members
        .iter()
        .take(LIVES)
        .map(|member| member.row.named.doc)
        .collect();
    let captures = captures(snapshot, &docs)?;
    let life = |doc: &u32| {
        let member = cluster
            .members
            .iter()
            .find(|one| one.row.named.doc == *doc)?;
        Some(Life {
            name: member.row.named.title(),
            captures: captures.get(doc)?.clone(),
        })
    };
    Ok(docs.iter().filter_map(life).collect())
}

/// The known dates of captures of some documents. A pass over all further captures.
pub(super) fn captures(
    snapshot: &Snapshot,
    docs: &[u32],
) -> Result<BTreeMap<u32, Vec<(i64, String)>>, StorageError> {
    let collection = snapshot.collection();
    let mut all: BTreeMap<u32, Vec<(i64, String)>> =
        docs.iter().map(|doc| (*doc, Vec::new())).collect();
    let mut add = |doc: u32, when: Option<Timestamp>| {
        if let (Some(captures), Some(when)) = (all.get_mut(&doc), when) {
            captures.push((when.0, rfc3339(when)));
        }
    };
    for &doc in docs {
        add(doc, collection.date(doc, &collection.entry(doc)?));
    }
    for (number, sweep) in collection.state().sweeps.iter().enumerate() {
        let mut stream = collection.captures(number)?;
        while let Some(capture) = stream.next_record()? {
            let own = (capture.date != i64::MIN).then_some(capture.date);
            add(capture.doc, own.or(sweep.date).map(Timestamp));
        }
    }
    for captures in all.values_mut() {
        captures.sort();
        captures.dedup();
    }
    Ok(all)
}
