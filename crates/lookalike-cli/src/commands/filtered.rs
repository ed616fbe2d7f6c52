//! What commands do with a collection that was made with `add --filter`: it has features
//! alone, so that little is told, and nothing that they do not tell.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::Path;

use lookalike::clusters::ClusterOptions;
use lookalike::core::seed::Key;
use lookalike::corpus::date::rfc3339;
use lookalike::filters::{
    self, Added, FilterClustering, Filtered, FilteredDocument, Fungible, Measured,
};
use lookalike::storage::StorageError;
use lookalike::tables::of_collection::TableError as Trouble;
use lookalike::tables::{self, FilteredRow, Format, Writer};
use serde_json::{Value, json};

use crate::args::Global;
use crate::commands::add::processors;
use crate::commands::export::Target;
use crate::failure::{Exit, Failure, Stop};
use crate::output::text;
use crate::output::times::{self, Stopwatch};

/// Opens a filter's collection; `None` where it is of another kind, or none.
pub(crate) fn open(folder: &Path) -> Result<Option<Filtered>, Failure> {
    Filtered::open(folder).map_err(|error| Failure::from_collection(folder, &error))
}

fn damaged(filtered: &Filtered) -> impl Fn(StorageError) -> Failure {
    |error| Failure::from_collection(filtered.folder(), &error.into())
}

/// Tells what was added.
pub(crate) fn say_added(
    added: &Added,
    seconds: &[(&'static str, f64, f64)],
    global: Global,
) -> Result<(), Stop> {
    let mut out = text::stdout();
    if global.json {
        let phases: serde_json::Map<String, Value> = seconds
            .iter()
            .map(|(phase, wall, _)| ((*phase).to_owned(), json!(wall)))
            .collect();
        let tally = &added.tally;
        let line = json!({
            "read": tally.read, "added": added.added,
            "skipped": tally.skipped, "rejected": tally.rejected,
            "seconds": phases, "peak_memory": times::peak_memory(), "scratch": 0,
        });
        writeln!(out, "{line}")?;
    } else if !global.quiet {
        writeln!(out, "{} added", text::counted(added.added, "document"))?;
    }
    out.flush()?;
    Ok(())
}

/// One of its clusterings.
pub(crate) fn clustering(
    filtered: &Filtered,
    policy: Option<&str>,
) -> Result<FilterClustering, Failure> {
    let all = &filtered.state().clusterings;
    let found = match policy {
        None => all.first(),
        Some(name) => all.iter().find(|one| one.policy(filtered.spec()) == name),
    };
    found.cloned().ok_or_else(|| {
        let names: Vec<String> = all.iter().map(|one| one.policy(filtered.spec())).collect();
        Failure {
            exit: Exit::NotFound,
            message: "there is no such clustering".to_owned(),
            hint: format!("there are: {}", names.join("; ")),
        }
    })
}

/// Clusters it, and tells what came of it.
pub(crate) fn cluster(
    filtered: &Filtered,
    resemblance: Option<f64>,
    key: Option<&Key>,
    options: &ClusterOptions,
    global: Global,
) -> Result<FilterClustering, Stop> {
    let folder = filtered.folder();
    let recipe = filtered
        .recipe(key)
        .map_err(|fault| Failure::from_recipe(folder, &fault))?;
    let watch = Stopwatch::start();
    let made = filters::cluster(folder, resemblance, &recipe, options)
        .map_err(|error| Failure::from_add(folder, error))?;
    times::record(
        folder,
        "cluster",
        &[("clusters", watch.wall(), watch.cpu())],
    );
    let mut out = text::stdout();
    if global.json {
        writeln!(out, "{}", clustering_json(filtered, &made))?;
    } else {
        let rows = clustering_rows(&made);
        write!(
            out,
            "{}\n{}",
            made.policy(filtered.spec()),
            text::columns(&rows)
        )?;
    }
    out.flush()?;
    Ok(made)
}

fn clustering_json(filtered: &Filtered, made: &FilterClustering) -> Value {
    json!({
        "policy": made.policy(filtered.spec()),
        "documents": made.documents,
        "clusters": made.clusters,
        "clustered_documents": made.clustered_documents,
        "largest": made.largest,
        "verified": made.verified,
        "by_filter": made.by_filter,
        "set_aside": made.set_aside,
    })
}

fn clustering_rows(made: &FilterClustering) -> Vec<Vec<String>> {
    let row = |what: &str, number: u64| vec![what.to_owned(), text::count(number)];
    let mut rows = vec![
        row("documents", made.documents),
        row("clusters", made.clusters),
        row("documents in clusters", made.clustered_documents),
        row("largest cluster", made.largest),
    ];
    if made.resemblance.is_some() {
        rows.push(row("accepted pairs decided on true values", made.verified));
        rows.push(row("accepted pairs without a text, joined", made.by_filter));
        rows.push(row("pairs of large groups not looked at", made.set_aside));
    }
    rows
}

fn named_json(document: &FilteredDocument) -> Value {
    let mut line = json!({ "doc": document.doc });
    for (name, value) in [("id", &document.id), ("url", &document.url)] {
        if let Some(value) = value {
            line[name] = json!(value);
        }
    }
    if let Some(date) = document.date {
        line["date"] = json!(rfc3339(date));
    }
    line
}

fn title(document: &FilteredDocument) -> String {
    let title = document.url.as_deref().or(document.id.as_deref());
    let title = title.map_or_else(
        || format!("{}, {}", document.file, document.offset),
        str::to_owned,
    );
    text::excerpt(&title, 120)
}

/// Writes what the filter takes for a document.
pub(crate) fn write_found(
    out: &mut impl Write,
    filtered: &Filtered,
    query: &str,
    found: &[Fungible],
    top: NonZeroUsize,
    global: Global,
) -> Result<(), Stop> {
    let damaged = damaged(filtered);
    let mut table = vec![
        ["document", "date", "features shared"]
            .map(str::to_owned)
            .to_vec(),
    ];
    for one in found.iter().take(top.get()) {
        let document = filtered.document(one.doc).map_err(&damaged)?;
        if global.json {
            let mut line = named_json(&document);
            line["common"] = json!(one.common);
            if one.of > 0 {
                line["of"] = json!(one.of);
            }
            line["query"] = json!(query);
            writeln!(out, "{line}")?;
            continue;
        }
        let date = document.date.map_or_else(String::new, rfc3339);
        let shared = match one.of {
            0 => one.common.to_string(),
            of => format!("{} of {of}", one.common),
        };
        table.push(vec![title(&document), date, shared]);
    }
    if !global.json && table.len() > 1 {
        write!(out, "{}", text::columns(&table))?;
    }
    Ok(())
}

/// `members`
pub(crate) fn members(
    filtered: &Filtered,
    name: &str,
    policy: Option<&str>,
    global: Global,
) -> Result<Exit, Stop> {
    let damaged = damaged(filtered);
    let made = clustering(filtered, policy)?;
    let docs = filtered.find_named(name).map_err(&damaged)?;
    let asked = *docs.last().ok_or_else(|| Failure {
        exit: Exit::NotFound,
        message: format!("there is no document `{}`", text::excerpt(name, 200)),
        hint: "give a URL or an id just as it stands in the input".to_owned(),
    })?;
    let docs = match filtered.cluster_of(&made, asked).map_err(&damaged)? {
        Some(cluster) => filtered.roster(&made, cluster).map_err(&damaged)?,
        None => vec![asked],
    };
    let mut out = text::stdout();
    let mut table = vec![["document", "date", ""].map(str::to_owned).to_vec()];
    for doc in docs {
        let document = filtered.document(doc).map_err(&damaged)?;
        if global.json {
            let mut line = named_json(&document);
            line["is_asked"] = json!(doc == asked);
            writeln!(out, "{line}")?;
            continue;
        }
        let date = document.date.map_or_else(String::new, rfc3339);
        let asked = if doc == asked { "asked for" } else { "" };
        table.push(vec![title(&document), date, asked.to_owned()]);
    }
    if !global.json {
        write!(out, "{}", text::columns(&table))?;
    }
    out.flush()?;
    Ok(Exit::Done)
}

/// The table of documents and clusters.
pub(crate) fn export(
    folder: &Path,
    made: &FilterClustering,
    output: Option<&Path>,
    format: Format,
) -> Result<(), Stop> {
    // The clustering may have been made a moment ago.
    let Some(filtered) = open(folder)? else {
        return Ok(());
    };
    let target = Target::create(output)?;
    let written = rows(&filtered, made, format, target.writer()?);
    target.finish(written, folder)
}

fn rows(
    filtered: &Filtered,
    made: &FilterClustering,
    format: Format,
    out: Box<dyn Write + Send>,
) -> Result<(), Trouble> {
    let mut clusters = vec![None; filtered.documents() as usize];
    filtered.each_cluster(made, |cluster, docs| {
        for &doc in docs {
            clusters[doc as usize] = Some((cluster, docs.len() as u64));
        }
    })?;
    let mut writer = Writer::<tables::Filtered>::new(format, out)?;
    for (doc, cluster) in (0..).zip(clusters) {
        let document = filtered.document(doc)?;
        let (cluster, size) = cluster.unwrap_or((doc, 1));
        writer.write(&FilteredRow {
            doc,
            id: document.id.as_deref(),
            url: document.url.as_deref(),
            date: document.date,
            file: &document.file,
            offset: document.offset,
            cluster: Some(cluster),
            cluster_size: Some(size),
            representative: Some(cluster),
            is_representative: Some(cluster == doc),
            ..FilteredRow::default()
        })?;
    }
    writer.finish()?;
    Ok(())
}

/// `stats`
pub(crate) fn stats(
    filtered: &Filtered,
    key: Option<&Key>,
    measure: u32,
    global: Global,
) -> Result<Exit, Stop> {
    let recipe = filtered
        .recipe(key)
        .map_err(|fault| Failure::from_recipe(filtered.folder(), &fault))?;
    let measured =
        filters::acceptance(filtered, &recipe, measure, processors()).map_err(damaged(filtered))?;
    let mut disk: BTreeMap<&str, u64> = BTreeMap::new();
    for file in filtered.manifest().files() {
        let kind = file.name.split('-').next().unwrap_or_default();
        *disk.entry(kind).or_insert(0) += file.file_len;
    }
    let of_urls = |kind: &str| matches!(kind, "strings" | "ends" | "keys");
    let without: u64 = disk
        .iter()
        .filter(|(kind, _)| !of_urls(kind))
        .map(|(_, len)| len)
        .sum();
    let each = without as f64 / f64::from(filtered.documents().max(1));
    let mut out = text::stdout();
    if global.json {
        let clusterings = filtered.state().clusterings.iter();
        let clusterings: Vec<Value> = clusterings
            .map(|made| clustering_json(filtered, made))
            .collect();
        let bins = measured.bins.iter().filter(|bin| bin.pairs > 0);
        let bins: Vec<Value> = bins
            .map(|bin| {
                json!({
                    "low": bin.low, "high": bin.high.min(1.0), "pairs": bin.pairs,
                    "accepted": bin.accepted, "expected": bin.expected,
                })
            })
            .collect();
        let line = json!({
            "documents": filtered.documents(),
            "filter": filtered.spec().to_string(),
            "recipe": filtered.manifest().recipe(),
            "sweeps": filtered.state().sweeps.len(),
            "clusterings": clusterings,
            "disk": disk,
            "bytes_a_document_without_urls": each,
            "acceptance": { "documents": measured.documents, "bins": bins },
        });
        writeln!(out, "{line}")?;
    } else {
        writeln!(
            out,
            "{}, {}\nfilter {}; recipe {}\n{each:.1} bytes a document on disk, apart from URLs\n",
            text::counted(filtered.documents(), "document"),
            text::counted(filtered.state().sweeps.len() as u64, "sweep"),
            filtered.spec(),
            filtered.manifest().recipe(),
        )?;
        for made in &filtered.state().clusterings {
            let rows = clustering_rows(made);
            writeln!(
                out,
                "{}\n{}",
                made.policy(filtered.spec()),
                text::columns(&rows)
            )?;
        }
        write!(out, "{}", acceptance_text(filtered, &measured))?;
    }
    out.flush()?;
    Ok(Exit::Done)
}

fn acceptance_text(filtered: &Filtered, measured: &Measured) -> String {
    let mut told = String::new();
    if measured.documents == 0 {
        return told;
    }
    // Writing to a string does not fail.
    let _ = writeln!(
        told,
        "How often {} accepts, on {} read again",
        filtered.spec(),
        text::counted(measured.documents, "document"),
    );
    let head = [
        "resemblance",
        "pairs",
        "accepted",
        "measured",
        "by the curve",
    ];
    let mut table = vec![head.map(str::to_owned).to_vec()];
    for bin in measured.bins.iter().filter(|bin| bin.pairs > 0) {
        let range = if bin.high > 1.0 {
            "1".to_owned()
        } else {
            format!("{} to {}", bin.low, bin.high)
        };
        let share = |number: f64| format!("{:.1} %", 100.0 * number / bin.pairs as f64);
        table.push(vec![
            range,
            text::count(bin.pairs),
            text::count(bin.accepted),
            share(bin.accepted as f64),
            share(bin.expected),
        ]);
    }
    if table.len() == 1 {
        told.push_str("no two of them are alike\n");
    } else {
        told.push_str(&text::columns(&table));
    }
    told
}
