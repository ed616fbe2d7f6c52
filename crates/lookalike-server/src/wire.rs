//! The shapes of JSON that the service and the commands share.

use std::ops::Range;

use lookalike::clusters::policy::Policy;
use lookalike::clusters::table::Member;
use lookalike::collection::Collection;
use lookalike::collection::entry::{Entry, Grade};
use lookalike::collection::state::{Counts, Summary};
use lookalike::core::estimate::Estimate;
use lookalike::core::passages::Passage;
use lookalike::corpus::date::rfc3339;
use lookalike::dedup::Deduped;
use lookalike::find::{Finder, Match};
use lookalike::storage::StorageError;
use lookalike::sweeps::Whereabouts;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::words;

/// `{"value":…,"low":…,"high":…,"samples":…}`, and the exact value where it is known.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Share {
    value: f64,
    low: f64,
    high: f64,
    samples: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    exact: Option<f64>,
}

impl Share {
    /// An estimate, and the true value where it is known.
    pub fn new(estimate: Estimate, exact: Option<f64>) -> Share {
        let Estimate {
            value,
            low,
            high,
            samples,
        } = estimate;
        Share {
            value,
            low,
            high,
            samples,
            exact,
        }
    }
}

impl Share {
    /// An estimate whose true value is not known.
    pub fn estimated(estimate: Estimate) -> Share {
        Share::new(estimate, None)
    }

    /// The estimate alone.
    pub fn value(&self) -> f64 {
        self.value
    }

    /// The exact value, if it is known, else the estimate.
    pub fn best(&self) -> f64 {
        self.exact.unwrap_or(self.value)
    }

    /// The value for people: the exact one, if it is known.
    pub fn shown(&self) -> String {
        words::percent(self.exact.unwrap_or(self.value))
    }

    /// Its 95 % interval, or that it is exact.
    pub fn interval(&self) -> String {
        if self.exact.is_some() || self.low >= self.high {
            return "exact".to_owned();
        }
        let low = words::percent(self.low);
        let low = low.trim_end_matches(" %");
        format!("{low} to {}", words::percent(self.high))
    }

    /// Both in one, as on the terminal.
    pub fn with_interval(&self) -> String {
        if self.exact.is_some() {
            return self.shown();
        }
        let shown = [self.value, self.low, self.high].map(words::percent);
        format!("{} ({} to {})", shown[0], shown[1], shown[2])
    }

    /// Whether the true value is known.
    pub fn is_exact(&self) -> bool {
        self.exact.is_some()
    }

    /// On how many samples it rests.
    pub fn samples(&self) -> usize {
        self.samples
    }
}

/// `{"exact":…,"estimate":…}`, without what there is no evidence for.
pub fn measure(exact: Option<f64>, estimated: Option<Estimate>) -> Value {
    let mut out = Map::new();
    if let Some(exact) = exact {
        out.insert("exact".to_owned(), json!(exact));
    }
    if let Some(estimated) = estimated {
        out.insert("estimate".to_owned(), json!(Share::new(estimated, None)));
    }
    Value::Object(out)
}

/// `{"a":[from,to],"b":[from,to],"tokens":N,"changed":[…]}`: where a passage stands in both
/// documents, how many tokens both have in it, and where it differs. `changed` is absent
/// where nothing does; of what only one has, the other side is a point.
pub fn passage(
    passage: &Passage,
    place_a: impl Fn(&Range<usize>) -> Range<usize>,
    place_b: impl Fn(&Range<usize>) -> Range<usize>,
) -> Value {
    let both = |a: &Range<usize>, b: &Range<usize>| {
        let (a, b) = (place_a(a), place_b(b));
        json!({ "a": [a.start, a.end], "b": [b.start, b.end] })
    };
    let mut out = both(&passage.a, &passage.b);
    out["tokens"] = json!(passage.len());
    if !passage.changes.is_empty() {
        let changed = passage.changes.iter().map(|one| both(&one.a, &one.b));
        out["changed"] = changed.collect();
    }
    out
}

/// What a clustering came to.
pub fn clustering(policy: &Policy, summary: &Summary) -> Value {
    json!({
        "policy": policy.to_string(),
        "documents": summary.documents,
        "clusters": summary.clusters,
        "clustered_documents": summary.clustered_documents,
        "identical_only_clusters": summary.identical_only_clusters,
        "largest": summary.largest,
        "flagged": summary.flagged,
        "verified": summary.verified,
        "by_estimate": summary.by_estimate,
    })
}

/// What adding a sweep came to, but for what it cost.
pub fn added(counts: &Counts, added: u64) -> Value {
    json!({
        "read": counts.read,
        "added": added,
        "skipped": counts.skipped,
        "rejected": counts.rejected,
        "identical": counts.identical,
        "lexical": counts.lexical,
        "shingle": counts.shingle,
        "distinct": counts.distinct,
        "captures": counts.again,
        "versions": counts.versions,
        "short": counts.short,
        "repaired": counts.repaired,
        "dates_unreadable": counts.dates_unreadable,
        "bytes": counts.bytes,
        "tokens": counts.tokens,
        "postings": counts.postings,
        "shared_fingerprints": counts.groups,
        "common_fingerprints": counts.common,
        "common_from": counts.common_from,
        "pairs": counts.pairs,
        "pairs_set_aside": counts.pairs_set_aside,
    })
}

/// What removing duplicates came to.
pub fn deduped(deduped: &Deduped) -> Value {
    let mut out = json!({
        "read": deduped.read,
        "kept": deduped.kept,
        "removed": deduped.removed,
        "skipped": deduped.skipped,
        "rejected": deduped.rejected,
        "clusters": deduped.clusters,
        "by_estimate": deduped.by_estimate,
        "policy": deduped.policy,
    });
    if deduped.is_undated {
        out["undated"] = json!(true);
    }
    out
}

/// Where a page is now.
pub fn whereabouts(url: &str, place: &Whereabouts) -> Value {
    let share = |estimate: Option<Estimate>| estimate.map(|estimate| Share::new(estimate, None));
    let now = place.now.iter().map(|now| {
        let mut out = json!({
            "url": now.url,
            "date": now.date.map(rfc3339),
            "confidence": now.confidence,
            "how": now.how.name(),
            "same_host": now.is_same_host,
            "present": now.is_present,
            "doc": now.doc,
        });
        let shares = [
            ("resemblance", now.resemblance),
            ("containment", now.held),
            ("contained", now.own),
        ];
        for (name, estimate) in shares {
            if let Some(share) = share(estimate) {
                out[name] = json!(share);
            }
        }
        if let Some(via) = &now.via {
            out["via"] = json!(via);
        }
        out
    });
    let now: Vec<Value> = now.collect();
    json!({
        "url": url,
        "status": place.status.name(),
        "last_seen": place.last_seen.map(rfc3339),
        "confidence": place.confidence,
        "tie": place.is_tie,
        "visited_since": place.last_sweep.map(|_| !place.is_unvisited),
        "now": now,
    })
}

/// What a document goes by.
#[derive(Clone, Debug, Serialize)]
pub struct Named {
    /// Its number.
    pub doc: u32,
    /// The id its input gave.
    pub id: Option<String>,
    /// Its address.
    pub url: Option<String>,
    /// When it was captured.
    pub date: Option<String>,
    /// Where it was read, for a document that has neither.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
}

impl Named {
    /// Looks up what a document goes by.
    pub fn of(collection: &Collection, doc: u32) -> Result<Named, StorageError> {
        Named::with(collection, doc, &collection.entry(doc)?)
    }

    /// The same for one whose entry is at hand.
    pub fn with(collection: &Collection, doc: u32, entry: &Entry) -> Result<Named, StorageError> {
        let (id, url) = collection.strings(doc, entry)?;
        let place = match (&id, &url) {
            (None, None) => Some(collection.place(doc)?.to_string()),
            _ => None,
        };
        Ok(Named {
            doc,
            place,
            id,
            url,
            date: collection.date(doc, entry).map(rfc3339),
        })
    }

    /// URL, or id, or place.
    pub fn title(&self) -> String {
        let name = self.url.as_ref().or(self.id.as_ref());
        name.or(self.place.as_ref())
            .cloned()
            .unwrap_or_else(|| format!("document {}", self.doc))
    }

    /// The same with the day it was captured: one address may have several documents.
    pub fn dated_title(&self) -> String {
        let day = self.date.as_deref().and_then(|date| date.get(..10));
        let title = self.title();
        day.map_or_else(|| title.clone(), |day| format!("{title} ({day})"))
    }
}

/// A match of `find`.
#[derive(Clone, Debug, Serialize)]
pub struct Found {
    /// Which document.
    #[serde(flatten)]
    pub named: Named,
    /// Its resemblance to the document looked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resemblance: Option<Share>,
    /// How much of the document looked for is in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query_in_doc: Option<Share>,
    /// How much of it is in the document looked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub doc_in_query: Option<Share>,
    /// How it is the same.
    pub grade: &'static str,
    /// Its cluster.
    pub cluster: Option<u32>,
}

impl Found {
    /// Looks up what is told of a match.
    pub fn of(finder: &Finder, found: &Match) -> Result<Found, StorageError> {
        let exact = found.exact();
        let share = |estimate: Option<Estimate>, which: usize| {
            Some(Share::new(estimate?, exact.map(|exact| exact[which])))
        };
        Ok(Found {
            named: Named::of(finder.collection(), found.doc)?,
            resemblance: share(found.resemblance(), 0),
            query_in_doc: share(found.query_in_doc(), 1),
            doc_in_query: share(found.doc_in_query(), 2),
            grade: found.grade.name(),
            cluster: finder.cluster(found.doc)?,
        })
    }
}

/// A document of a cluster.
#[derive(Clone, Debug, Serialize)]
pub struct MemberRow {
    /// Which document.
    #[serde(flatten)]
    pub named: Named,
    /// How it is the same as another.
    pub grade: Option<&'static str>,
    /// Its resemblance to the representative.
    pub resemblance: Option<f64>,
    /// How much of it the representative contains.
    pub containment: Option<f64>,
    /// Its cluster.
    pub cluster: u32,
    /// How many documents that has.
    pub cluster_size: u32,
    /// The document that stands for it.
    pub representative: u32,
    /// Whether this is it.
    pub is_representative: bool,
}

impl MemberRow {
    /// What a clustering says of a document.
    pub fn of(
        collection: &Collection,
        doc: u32,
        member: &Member,
    ) -> Result<MemberRow, StorageError> {
        let kind = collection.sketch_kind();
        Ok(MemberRow {
            named: Named::of(collection, doc)?,
            grade: member.grade().map(Grade::name),
            resemblance: member.resemblance(doc, kind),
            containment: member.containment(doc, kind),
            cluster: member.cluster,
            cluster_size: member.size,
            representative: member.representative,
            is_representative: member.representative == doc,
        })
    }

    /// The order members are shown in: the representative, then the most like it.
    pub fn order(&self, other: &MemberRow) -> std::cmp::Ordering {
        let share = |row: &MemberRow| row.resemblance.unwrap_or(0.0);
        let is_other = |row: &MemberRow| !row.is_representative;
        is_other(self)
            .cmp(&is_other(other))
            .then(share(other).total_cmp(&share(self)))
            .then(self.named.doc.cmp(&other.named.doc))
    }
}
