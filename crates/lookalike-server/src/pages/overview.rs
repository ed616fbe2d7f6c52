//! What the collection is, at a glance.

use askama::Template;
use axum::extract::State;
use lookalike::clusters::policy::Policy;
use lookalike::core::acceptance::Filter;
use lookalike::core::recipe::SketchKind;
use lookalike::corpus::date::rfc3339;
use lookalike::corpus::record::Timestamp;

use super::draw::{Bar, bars, curve};
use super::{Menu, Page, show};
use crate::Shared;
use crate::board::{self, BoardParams, ClusterRow};
use crate::refusal::Refusal;
use crate::state::{BARS, Snapshot};
use crate::words::{count, counted, percent};

#[derive(Template)]
#[template(path = "overview.html")]
struct Overview {
    menu: Menu,
    name: String,
    documents: String,
    recipe: String,
    sweeps: Vec<SweepRow>,
    clusters: Option<Clusters>,
}

struct SweepRow {
    date: String,
    read: String,
    documents: String,
    copies: String,
    again: String,
}

struct Clusters {
    policy: String,
    number: String,
    clustered: String,
    share: String,
    largest: String,
    flagged: u64,
    sizes: String,
    resemblances: String,
    acceptance: Option<(String, String)>,
    top: Vec<ClusterRow>,
}

impl Clusters {
    fn flagged_shown(&self) -> String {
        counted(self.flagged, "cluster")
    }
}

pub(super) async fn page(State(service): State<Shared>) -> Page {
    let snapshot = service.newest.snapshot();
    let folder = service.folder.clone();
    let work = move || {
        let name = folder.file_name().unwrap_or(folder.as_os_str());
        overview(&snapshot, &name.to_string_lossy())
    };
    Ok(show(&service.desk.long(work).await?))
}

fn overview(snapshot: &Snapshot, name: &str) -> Result<Overview, Refusal> {
    let collection = snapshot.collection();
    let state = collection.state();
    let sweeps = state.sweeps.iter().map(|sweep| {
        let counts = &sweep.counts;
        let date = sweep.date.map(|seconds| rfc3339(Timestamp(seconds)));
        SweepRow {
            date: date.unwrap_or_else(|| "no date".to_owned()),
            read: count(counts.read),
            documents: count(u64::from(sweep.documents)),
            copies: count(counts.identical + counts.lexical + counts.shingle),
            again: count(counts.again),
        }
    });
    Ok(Overview {
        menu: Menu::Overview,
        name: name.to_owned(),
        documents: count(u64::from(collection.documents())),
        recipe: collection.manifest().recipe().to_owned(),
        sweeps: sweeps.collect(),
        clusters: clusters(snapshot)?,
    })
}

fn clusters(snapshot: &Snapshot) -> Result<Option<Clusters>, Refusal> {
    let Some((stored, _)) = snapshot.clustering() else {
        return Ok(None);
    };
    let figures = snapshot.figures()?;
    let summary = &stored.summary;
    let sizes: Vec<Bar> = figures
        .sizes
        .rows()
        .map(|row| {
            let label = count(row.last);
            let (first, clusters) = (count(row.first), count(row.clusters));
            let title = if row.first == row.last {
                format!("{clusters} of {label}")
            } else {
                format!("{clusters} of {first} to {label}")
            };
            Bar {
                label,
                title,
                count: row.clusters,
            }
        })
        .collect();
    let resemblances: Vec<Bar> = figures
        .resemblances
        .iter()
        .enumerate()
        .map(|(i, &pairs)| {
            let (from, to) = (100 * i / BARS, 100 * (i + 1) / BARS);
            Bar {
                label: from.to_string(),
                title: format!("{} pairs of {from} to {to} %", count(pairs)),
                count: pairs,
            }
        })
        .collect();
    let threshold = stored.policy.resemblance;
    let line = threshold.map(|threshold| (threshold, "threshold"));
    let params = BoardParams {
        limit: Some(5),
        ..BoardParams::default()
    };
    Ok(Some(Clusters {
        policy: stored.policy.to_string(),
        number: count(summary.clusters),
        clustered: count(summary.clustered_documents),
        share: percent(summary.clustered_documents as f64 / summary.documents.max(1) as f64),
        largest: count(summary.largest),
        flagged: summary.flagged,
        sizes: bars(
            "How many clusters there are of which size",
            "documents in a cluster, up to",
            &sizes,
            None,
        ),
        resemblances: bars(
            "How many pairs there are of which resemblance",
            "resemblance in percent",
            &resemblances,
            line,
        ),
        acceptance: acceptance(collection_kind(snapshot), &stored.policy),
        top: board::board(snapshot, &params)?.clusters,
    }))
}

fn collection_kind(snapshot: &Snapshot) -> SketchKind {
    snapshot.collection().sketch_kind()
}

/// The acceptance curve of the recipe's sketches at the policy's threshold, and how many
/// samples it is for.
fn acceptance(kind: SketchKind, policy: &Policy) -> Option<(String, String)> {
    let threshold = policy.resemblance?;
    let (of, whose) = match kind {
        SketchKind::Nested { samples } => (samples / 2, "the fewest that a long document keeps"),
        SketchKind::Min { samples }
        | SketchKind::MinMod { samples, .. }
        | SketchKind::Perm { samples, .. } => (samples, "as many as a sketch has"),
        SketchKind::Mod { modulus } => {
            let samples = usize::try_from(5000 / modulus.max(1)).unwrap_or(0);
            (samples, "those of a document of 5,000 shingles")
        }
    };
    let of = of.max(1);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of the samples"
    )]
    let common = (threshold * of as f64).ceil() as usize;
    let plot = curve(
        "How likely a pair is accepted by its samples alone",
        "true resemblance",
        Filter::Samples { of, common },
        threshold,
    );
    Some((plot, format!("{} samples, {whose}", count(of as u64))))
}
