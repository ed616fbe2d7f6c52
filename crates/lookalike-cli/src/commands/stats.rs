//! `lookalike stats COLLECTION`: the paper's status tables.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use lookalike::clusters::sizes::Sizes;
use lookalike::collection::Collection;
use lookalike::collection::state::{Counts, Sweep};
use lookalike::corpus::date::rfc3339;
use lookalike::corpus::record::Timestamp;
use lookalike::storage::StorageError;
use lookalike_server::wire;
use serde_json::{Map, Value, json};

use crate::args::{Global, KeyArgs};
use crate::collection::open;
use crate::commands::filtered::stats as filtered_stats;
use crate::failure::{Exit, Failure, Stop};
use crate::output::{text, times};

/// Show what a collection holds: the sizes of every stage, clusters, disk, times
///
/// Times are those of the last `add` and `cluster`, where the file system keeps notes on
/// folders.
#[derive(Args)]
#[command(after_help = "\
Examples:
  lookalike stats crawl.lk
  lookalike stats crawl.lk --json | jq .clusterings")]
pub(crate) struct StatsArgs {
    /// The collection
    collection: PathBuf,

    /// Of a filter's collection: how many documents are read again to measure how often it
    /// accepts what is alike; 0 for none
    #[arg(long, value_name = "N", default_value = "5000")]
    measure: u32,

    #[command(flatten)]
    key: KeyArgs,
}

impl StatsArgs {
    pub(crate) fn run(self, global: Global) -> Result<Exit, Stop> {
        if let Some(filtered) = crate::commands::filtered::open(&self.collection)? {
            let key = self.key.key()?;
            return filtered_stats(&filtered, key.as_ref(), self.measure, global);
        }
        let collection = open(&self.collection)?;
        let sizes: Result<Vec<Sizes>, StorageError> = collection
            .state()
            .clusterings
            .iter()
            .map(|stored| Sizes::of(&collection.clustering(stored)?, &stored.summary))
            .collect();
        let sizes =
            sizes.map_err(|error| Failure::from_collection(&self.collection, &error.into()))?;
        let seconds = times::read(&self.collection);
        let mut out = text::stdout();
        if global.json {
            writeln!(out, "{}", as_json(&collection, &sizes, &seconds))?;
        } else {
            write!(out, "{}", as_text(&collection, &sizes, &seconds))?;
        }
        out.flush()?;
        Ok(Exit::Done)
    }
}

/// What a file of a collection holds, by its name, and the bytes of all of that name.
fn disk(collection: &Collection) -> BTreeMap<&str, u64> {
    let mut kinds = BTreeMap::new();
    for file in collection.manifest().files() {
        let kind = file.name.split('-').next().unwrap_or_default();
        *kinds.entry(kind).or_insert(0) += file.file_len;
    }
    kinds
}

fn date(sweep: &Sweep) -> Option<String> {
    sweep.date.map(|seconds| rfc3339(Timestamp(seconds)))
}

/// The figures of a stage, under the names they have in JSON and in tables.
fn stages(counts: &Counts) -> [(&'static str, &'static str, u64); 20] {
    [
        ("read", "records read", counts.read),
        ("bytes", "bytes of documents", counts.bytes),
        ("tokens", "tokens", counts.tokens),
        ("identical", "copies: identical", counts.identical),
        ("lexical", "copies: lexical", counts.lexical),
        ("shingle", "copies: shingle", counts.shingle),
        ("distinct", "distinct documents", counts.distinct),
        ("captures", "captures of a document again", counts.again),
        ("versions", "new versions of a document", counts.versions),
        ("short", "shorter than a shingle", counts.short),
        ("repaired", "with malformed bytes", counts.repaired),
        (
            "dates_unreadable",
            "with a date that is none",
            counts.dates_unreadable,
        ),
        ("postings", "fingerprints kept", counts.postings),
        ("shared_fingerprints", "fingerprints shared", counts.groups),
        (
            "shared_postings",
            "documents sharing them, all together",
            counts.memberships,
        ),
        (
            "common_fingerprints",
            "common fingerprints set aside",
            counts.common,
        ),
        (
            "common_from",
            "common from so many documents on",
            counts.common_from,
        ),
        ("pairs", "pairs", counts.pairs),
        ("pairs_set_aside", "pairs set aside", counts.pairs_set_aside),
        (
            "rejected_records",
            "records rejected",
            total(&counts.rejected),
        ),
    ]
}

fn total(reasons: &BTreeMap<String, u64>) -> u64 {
    reasons.values().sum()
}

fn counts_json(counts: &Counts, added: u64) -> Map<String, Value> {
    let mut out = Map::new();
    for (name, _, number) in stages(counts) {
        if name != "rejected_records" {
            out.insert(name.to_owned(), json!(number));
        }
    }
    out.insert("added".to_owned(), json!(added));
    out.insert("skipped".to_owned(), json!(counts.skipped));
    out.insert("rejected".to_owned(), json!(counts.rejected));
    out
}

/// All sweeps together.
fn sum(collection: &Collection) -> Counts {
    let mut all = Counts::default();
    for Sweep { counts, .. } in &collection.state().sweeps {
        for (to, from) in [
            (&mut all.read, counts.read),
            (&mut all.again, counts.again),
            (&mut all.versions, counts.versions),
            (&mut all.identical, counts.identical),
            (&mut all.lexical, counts.lexical),
            (&mut all.shingle, counts.shingle),
            (&mut all.distinct, counts.distinct),
            (&mut all.short, counts.short),
            (&mut all.repaired, counts.repaired),
            (&mut all.dates_unreadable, counts.dates_unreadable),
            (&mut all.bytes, counts.bytes),
            (&mut all.tokens, counts.tokens),
            (&mut all.postings, counts.postings),
            (&mut all.groups, counts.groups),
            (&mut all.memberships, counts.memberships),
            (&mut all.common, counts.common),
            (&mut all.pairs, counts.pairs),
            (&mut all.pairs_set_aside, counts.pairs_set_aside),
        ] {
            *to = to.saturating_add(from);
        }
        // The least that any sweep found common.
        all.common_from = match (all.common_from, counts.common_from) {
            (0, from) | (from, 0) => from,
            (one, other) => one.min(other),
        };
        for (to, from) in [
            (&mut all.skipped, &counts.skipped),
            (&mut all.rejected, &counts.rejected),
        ] {
            for (reason, count) in from {
                *to.entry(reason.clone()).or_insert(0) += count;
            }
        }
    }
    all
}

fn as_json(collection: &Collection, sizes: &[Sizes], seconds: &Map<String, Value>) -> Value {
    let manifest = collection.manifest();
    let sweeps: Vec<Value> = collection
        .state()
        .sweeps
        .iter()
        .map(|sweep| {
            let mut out = counts_json(&sweep.counts, u64::from(sweep.documents));
            out.insert("date".to_owned(), json!(date(sweep)));
            out.insert("first".to_owned(), json!(sweep.base));
            Value::Object(out)
        })
        .collect();
    let clusterings: Vec<Value> = collection
        .state()
        .clusterings
        .iter()
        .zip(sizes)
        .map(|(stored, sizes)| {
            let rows = sizes.rows().map(|row| {
                json!({
                    "from": row.first, "to": row.last,
                    "clusters": row.clusters, "documents": row.documents,
                })
            });
            let mut out = wire::clustering(&stored.policy, &stored.summary);
            out["sizes"] = rows.collect();
            out
        })
        .collect();
    let kinds = disk(collection);
    json!({
        "recipe": manifest.recipe(),
        "recipe_id": manifest.recipe_id().to_string(),
        "generation": manifest.generation(),
        "documents": collection.documents(),
        "totals": counts_json(&sum(collection), u64::from(collection.documents())),
        "sweeps": sweeps,
        "clusterings": clusterings,
        "disk": { "bytes": kinds.values().sum::<u64>(), "files": manifest.files().len(), "kinds": kinds },
        "seconds": seconds,
    })
}

fn as_text(collection: &Collection, sizes: &[Sizes], seconds: &Map<String, Value>) -> String {
    let manifest = collection.manifest();
    let mut out = format!(
        "{}, {}\nrecipe {}: {}\n",
        text::counted(collection.documents(), "document"),
        text::counted(collection.state().sweeps.len(), "sweep"),
        manifest.recipe_id(),
        manifest.recipe(),
    );
    let mut table = |title: &str, rows: &[Vec<String>]| {
        let _ = write!(out, "\n{title}\n{}", text::columns(rows));
    };
    table("Sweeps", &sweeps_table(collection));
    table("Stages, all sweeps together", &stages_table(collection));
    for (stored, sizes) in collection.state().clusterings.iter().zip(sizes) {
        table(
            &format!("Clusters, {}", stored.policy),
            &crate::commands::cluster::summary_rows(&stored.summary),
        );
        let mut rows = vec![cells(["size", "clusters", "documents"])];
        for row in sizes.rows() {
            let size = if row.first == row.last {
                text::count(row.first)
            } else {
                format!("{} to {}", text::count(row.first), text::count(row.last))
            };
            let (clusters, documents) = (row.clusters, row.documents);
            rows.push(vec![size, text::count(clusters), text::count(documents)]);
        }
        table("Sizes of clusters", &rows);
    }
    let kinds = disk(collection);
    let mut rows: Vec<Vec<String>> = kinds
        .iter()
        .map(|(kind, bytes)| vec![(*kind).to_owned(), text::bytes(*bytes)])
        .collect();
    rows.push(vec![
        "all together".to_owned(),
        text::bytes(kinds.values().sum()),
    ]);
    table("Disk", &rows);
    let times = times_table(seconds);
    if times.len() > 1 {
        table("Seconds", &times);
    }
    out
}

fn cells<const N: usize>(row: [&str; N]) -> Vec<String> {
    row.map(str::to_owned).to_vec()
}

fn sweeps_table(collection: &Collection) -> Vec<Vec<String>> {
    let mut rows = vec![cells([
        "sweep", "date", "read", "added", "skipped", "rejected", "why",
    ])];
    for (number, sweep) in collection.state().sweeps.iter().enumerate() {
        let counts = &sweep.counts;
        let reasons = counts.skipped.iter().chain(&counts.rejected);
        let reasons = reasons.map(|(reason, count)| format!("{} {reason}", text::count(*count)));
        rows.push(vec![
            (number + 1).to_string(),
            date(sweep).unwrap_or_else(|| "-".to_owned()),
            text::count(counts.read),
            text::count(u64::from(sweep.documents)),
            text::count(total(&counts.skipped)),
            text::count(total(&counts.rejected)),
            reasons.collect::<Vec<_>>().join(", "),
        ]);
    }
    rows
}

fn stages_table(collection: &Collection) -> Vec<Vec<String>> {
    let counts = sum(collection);
    let mut rows = Vec::new();
    for (name, words, number) in stages(&counts) {
        // The sizes of every stage are shown, and of other things those there are.
        let is_rare = matches!(
            name,
            "captures" | "versions" | "short" | "repaired" | "dates_unreadable" | "common_from"
        );
        if number > 0 || !is_rare {
            rows.push(vec![words.to_owned(), text::count(number)]);
        }
    }
    rows
}

fn times_table(seconds: &Map<String, Value>) -> Vec<Vec<String>> {
    let mut rows = vec![cells(["command, phase", "wall clock", "processor"])];
    for (command, phases) in seconds {
        for (phase, times) in phases.as_object().into_iter().flatten() {
            let time = |which: &str| {
                let seconds = times.get(which).and_then(Value::as_f64);
                seconds.map_or_else(String::new, |seconds| format!("{seconds:.3}"))
            };
            rows.push(vec![
                format!("{command}, {phase}"),
                time("wall"),
                time("cpu"),
            ]);
        }
    }
    rows
}
