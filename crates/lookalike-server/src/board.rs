//! Clusters by what is asked of them, and what is told of one.

use std::collections::BTreeSet;

use lookalike::clusters::explain::{MOST_EXPLAINED, Why, explain};
use lookalike::clusters::table::{Clustering, Mark, Quality};
use lookalike::collection::state::StoredClustering;
use lookalike::corpus::date::rfc3339;
use lookalike::corpus::record::Timestamp;
use lookalike::storage::StorageError;
use serde::{Deserialize, Serialize};

use crate::hosts::host_of;
use crate::refusal::Refusal;
use crate::state::Snapshot;
use crate::wire::{MemberRow, Named};
use crate::words;

/// The most clusters or members on one page.
pub(crate) const MOST_ROWS: usize = 500;

/// Members of a cluster that are looked at for its hosts and dates.
const LOOKED_AT: usize = 200;

/// By what clusters are sorted.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Sort {
    /// The largest first.
    #[default]
    Size,
    /// The least alike first.
    Lowest,
    /// The most alike, by their median, first.
    Median,
    /// In the order of their first documents.
    First,
}

impl Sort {
    pub(crate) const ALL: [(Sort, &'static str, &'static str); 4] = [
        (Sort::Size, "size", "largest first"),
        (Sort::Lowest, "lowest", "least alike first"),
        (Sort::Median, "median", "most alike first"),
        (Sort::First, "first", "by first document"),
    ];
}

/// Which clusters are wanted.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct BoardParams {
    #[serde(default)]
    pub(crate) sort: Sort,
    pub(crate) host: Option<String>,
    pub(crate) min_size: Option<u32>,
    pub(crate) max_size: Option<u32>,
    pub(crate) flag: Option<String>,
    #[serde(default)]
    pub(crate) offset: usize,
    pub(crate) limit: Option<usize>,
}

/// A page of something.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub(crate) struct PageParams {
    #[serde(default)]
    pub(crate) offset: usize,
    pub(crate) limit: Option<usize>,
}

/// How many rows are wanted.
pub(crate) fn limit(asked: Option<usize>, default: usize) -> Result<usize, Refusal> {
    let limit = asked.unwrap_or(default);
    if (1..=MOST_ROWS).contains(&limit) {
        return Ok(limit);
    }
    Err(Refusal::bad(format!(
        "`limit` is a number from 1 to {MOST_ROWS}"
    )))
}

/// A cluster as it is listed.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ClusterRow {
    pub(crate) cluster: u32,
    pub(crate) size: u32,
    pub(crate) representative: Named,
    pub(crate) lowest_resemblance: f64,
    pub(crate) median_resemblance: f64,
    pub(crate) flags: Vec<&'static str>,
    /// Of the first members.
    pub(crate) hosts: Vec<String>,
    pub(crate) first_seen: Option<String>,
    pub(crate) last_seen: Option<String>,
    /// Whether hosts and dates are of all members, not only the first.
    pub(crate) all_looked_at: bool,
}

/// Clusters of a page, and how many there are.
#[derive(Debug, Serialize)]
pub(crate) struct Board {
    pub(crate) policy: String,
    pub(crate) total: usize,
    pub(crate) offset: usize,
    pub(crate) clusters: Vec<ClusterRow>,
}

/// The default clustering, or that there is none.
pub(crate) fn clustering(snapshot: &Snapshot) -> Result<(&StoredClustering, &Clustering), Refusal> {
    snapshot.clustering().ok_or_else(|| {
        Refusal::not_found("the collection has no clusters yet")
            .hint("`lookalike cluster` makes them")
    })
}

/// The clusters that are asked for. O(clusters · log clusters), by host one pass over the
/// documents the first time.
pub(crate) fn board(snapshot: &Snapshot, params: &BoardParams) -> Result<Board, Refusal> {
    let (stored, clustering) = clustering(snapshot)?;
    let limit = limit(params.limit, 50)?;
    let mark = match params.flag.as_deref() {
        None => None,
        Some("any") => Some(u32::MAX),
        Some(name) => {
            let known = Mark::ALL.iter().find(|(_, known)| *known == name);
            let wrong = || Refusal::bad("`flag` is chain, template, large or any");
            Some(known.ok_or_else(wrong)?.0 as u32)
        }
    };
    let host = params.host.as_deref().map(str::trim);
    let host = host.filter(|host| !host.is_empty());
    let hosts = host.map(|_| snapshot.hosts()).transpose()?;
    let is_wanted = |quality: &Quality| {
        params.min_size.is_none_or(|least| quality.size >= least)
            && params.max_size.is_none_or(|most| quality.size <= most)
            && mark.is_none_or(|mark| quality.marks & mark != 0)
            && host
                .zip(hosts)
                .is_none_or(|(host, hosts)| hosts.has(host, quality.cluster))
    };
    let mut wanted = Vec::new();
    let mut all = clustering.clusters()?;
    while let Some(quality) = all.next_record()? {
        if is_wanted(&quality) {
            wanted.push(quality);
        }
    }
    wanted.sort_by(|x, y| {
        let by = match params.sort {
            Sort::Size => y.size.cmp(&x.size),
            Sort::Lowest => x.lowest.total_cmp(&y.lowest),
            Sort::Median => y.median.total_cmp(&x.median),
            Sort::First => std::cmp::Ordering::Equal,
        };
        by.then(x.cluster.cmp(&y.cluster))
    });
    let page = wanted.iter().skip(params.offset).take(limit);
    let rows: Result<_, StorageError> = page
        .map(|quality| row(snapshot, clustering, quality))
        .collect();
    Ok(Board {
        policy: stored.policy.to_string(),
        total: wanted.len(),
        offset: params.offset,
        clusters: rows?,
    })
}

fn row(
    snapshot: &Snapshot,
    clustering: &Clustering,
    quality: &Quality,
) -> Result<ClusterRow, StorageError> {
    let collection = snapshot.collection();
    let docs = clustering.first_of_roster(quality.cluster, LOOKED_AT)?;
    let mut hosts = BTreeSet::new();
    let mut dates: Vec<Timestamp> = Vec::new();
    for &doc in &docs {
        let entry = collection.entry(doc)?;
        let (_, url) = collection.strings(doc, &entry)?;
        hosts.extend(url.as_deref().and_then(host_of).map(str::to_owned));
        dates.extend(collection.date(doc, &entry));
    }
    Ok(ClusterRow {
        cluster: quality.cluster,
        size: quality.size,
        representative: Named::of(collection, quality.representative)?,
        lowest_resemblance: quality.lowest,
        median_resemblance: quality.median,
        flags: quality.marks().collect(),
        hosts: hosts.into_iter().collect(),
        first_seen: dates.iter().min().copied().map(rfc3339),
        last_seen: dates.iter().max().copied().map(rfc3339),
        all_looked_at: docs.len() == quality.size as usize,
    })
}

/// Why a member is in its cluster, in words and as the document to look at.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Reason {
    pub(crate) because: String,
    /// The document it is joined by.
    pub(crate) to: Option<u32>,
    /// Their resemblance, where that is why.
    pub(crate) resemblance: Option<f64>,
}

/// A member and why it is one.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Joined {
    #[serde(flatten)]
    pub(crate) row: MemberRow,
    pub(crate) joined: Reason,
}

/// A cluster with some of its members.
#[derive(Debug, Serialize)]
pub(crate) struct ClusterPage {
    pub(crate) policy: String,
    pub(crate) cluster: u32,
    pub(crate) size: usize,
    pub(crate) lowest_resemblance: f64,
    pub(crate) median_resemblance: f64,
    pub(crate) flags: Vec<&'static str>,
    pub(crate) offset: usize,
    pub(crate) members: Vec<Joined>,
}

/// A cluster by its number.
pub(crate) fn cluster(
    snapshot: &Snapshot,
    cluster: u32,
    page: PageParams,
) -> Result<ClusterPage, Refusal> {
    let (stored, clustering) = clustering(snapshot)?;
    let limit = limit(page.limit, 100)?;
    let quality = clustering.quality(cluster)?.ok_or_else(|| {
        Refusal::not_found(format!("there is no cluster {cluster}"))
            .hint("clusters go by the number of their first document, and may change with a sweep")
    })?;
    let docs = clustering.roster(cluster)?;
    let whys = explain(snapshot.collection(), &snapshot.pairs, clustering, &docs)?;
    // Sorting by likeness needs no names, which are looked up for one page.
    let collection = snapshot.collection();
    let kind = collection.sketch_kind();
    let mut order = Vec::with_capacity(docs.len());
    for (doc, why) in docs.iter().zip(whys) {
        let member = clustering.member(*doc)?;
        let share = member.resemblance(*doc, kind).unwrap_or(0.0);
        order.push((member, *doc, share, why));
    }
    order.sort_by(|x, y| {
        let is_other = |member: &(_, u32, f64, Why)| member.3 != Why::Representative;
        is_other(x)
            .cmp(&is_other(y))
            .then(y.2.total_cmp(&x.2))
            .then(x.1.cmp(&y.1))
    });
    let page_of = order.iter().skip(page.offset).take(limit);
    let members: Result<_, StorageError> = page_of
        .map(|(member, doc, _, why)| {
            Ok(Joined {
                row: MemberRow::of(collection, *doc, member)?,
                joined: reason(snapshot, why, docs.len()),
            })
        })
        .collect();
    Ok(ClusterPage {
        policy: stored.policy.to_string(),
        cluster,
        size: docs.len(),
        lowest_resemblance: quality.lowest,
        median_resemblance: quality.median,
        flags: quality.marks().collect(),
        offset: page.offset,
        members: members?,
    })
}

fn reason(snapshot: &Snapshot, why: &Why, size: usize) -> Reason {
    use lookalike::collection::entry::Grade;
    use lookalike::pairs::Measure;
    let kind = snapshot.collection().sketch_kind();
    let plain = |because: &str, to| Reason {
        because: because.to_owned(),
        to,
        resemblance: None,
    };
    match why {
        Why::Representative => plain("stands for the cluster", None),
        Why::Copy(of, Grade::Identical) => plain("has the same bytes as", Some(*of)),
        Why::Copy(of, Grade::Lexical) => plain("has the same words as", Some(*of)),
        Why::Copy(of, _) => plain("has the same sketch as", Some(*of)),
        Why::Like(to, pair) => {
            let value = |measure| pair.value(measure, kind).unwrap_or(0.0);
            let resemblance = value(Measure::Resemblance);
            let contained = value(Measure::AInB).max(value(Measure::BInA));
            let exact = pair.exact(Measure::Resemblance, kind);
            let about = if exact.is_some() { "" } else { "about " };
            let because = if contained > 0.9 && resemblance < 0.5 {
                format!("{about}{} contained, with", words::percent(contained))
            } else {
                format!("{about}{} like", words::percent(resemblance))
            };
            Reason {
                because,
                to: Some(*to),
                resemblance: Some(resemblance),
            }
        }
        Why::Unknown if size > MOST_EXPLAINED => {
            plain("too many members to tell by which it is joined", None)
        }
        Why::Unknown => plain("by pairs that were not kept", None),
    }
}
