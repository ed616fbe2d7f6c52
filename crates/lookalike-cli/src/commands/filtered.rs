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
use lookalike::corpus::unusable::shown;
use lookalike::filters::{
    self, Added, FilterClustering, Filtered, FilteredDocument, Fungible, Measured,
};
use lookalike::storage::StorageError;
use lookalike::tables::of_collection::TableError as Trouble;
use lookalike::tables::{self, FilteredRow, Format, Writer};
use serde_json::{Value, json};

use lookalike_server::failure::reasons;

use crate::args::Global;
use crate::commands::add::{processors, report_json};
use crate::commands::export::Target;
use crate::failure::{Exit, Failure, Stop};
use crate::input::note;
use crate::output::times::{self, Stopwatch};
use crate::output::{file, text};

/// Opens a filter's collection; `None` where it is of another kind, or none.
pub(crate) fn open(folder: &Path) -> Result<Option<Filtered>, Failure> {
    Filtered::open(folder).map_err(|error| Failure::from_collection(folder, &error))
}

fn damaged(filtered: &Filtered) -> impl Fn(StorageError) -> Failure {
    |error| Failure::from_collection(filtered.folder(), &error.into())
}

/// Tells what was added.
pub(crate) fn say_added(
    folder: &Path,
    added: &Added,
    seconds: &[(&'static str, f64, f64)],
    global: Global,
) -> Result<(), Stop> {
    let (counts, peak) = (added.counts(), times::peak_memory());
    if global.json {
        let mut out = text::stdout();
        let line = report_json(&counts, added.added, seconds, peak, 0);
        writeln!(out, "{line}")?;
        out.flush()?;
        return Ok(());
    }
    if global.quiet {
        return Ok(());
    }
    let all: f64 = seconds.iter().map(|(_, wall, _)| wall).sum();
    let mut err = anstream::stderr().lock();
    let _ = writeln!(
        err,
        "{}: {} read, {} added; {all:.1} s, {} of memory",
        shown(folder),
        text::count(counts.read),
        text::count(added.added),
        text::bytes(peak),
    );
    let left = reasons(&counts);
    if !left.is_empty() {
        let _ = writeln!(err, "left out: {left}");
    }
    Ok(())
}

/// Documents of one host that 3 of 8 bytes are for, by the 2005 slides: of so many some 4,000
/// unrelated pairs are accepted, and of ten times as many a hundred times as many.
const SMALL_SCALE: u64 = 50_000;

/// Says if a host has more documents than its filter can tell apart.
pub(crate) fn warn_of_hosts(folder: &Path, global: Global) -> Result<(), Failure> {
    let Some(filtered) = open(folder)? else {
        return Ok(());
    };
    let is_small = u64::from(filtered.documents()) <= SMALL_SCALE;
    if is_small || filtered.spec().common() != 3 || !filtered.spec().is_within_host() {
        return Ok(());
    }
    let most = filtered.largest_host().map_err(damaged(&filtered))?;
    if most > SMALL_SCALE {
        note(
            global,
            &format!(
                "a host has {} documents: 3 of 8 bytes are for up to some {}, beyond them unrelated ones are joined; eight:7 is for any number",
                text::count(most),
                text::count(SMALL_SCALE)
            ),
        );
    }
    Ok(())
}

/// Sees to it that a table does not take the place of what it tells of.
pub(crate) fn spare(filtered: &Filtered, output: Option<&Path>) -> Result<(), Failure> {
    let output = output.filter(|path| *path != Path::new("-"));
    file::spares(output, filtered.sources(), Some(filtered.folder()))
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
    min_size: u32,
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
    let mut told = made.clone();
    if let (3.., Some(now)) = (min_size, open(folder)?) {
        (told.clusters, told.clustered_documents) = (0, 0);
        now.each_cluster(&made, |_, docs| {
            if docs.len() >= min_size as usize {
                told.clusters += 1;
                told.clustered_documents += docs.len() as u64;
            }
        })
        .map_err(damaged(&now))?;
    }
    let mut out = text::stdout();
    if global.json {
        writeln!(out, "{}", clustering_json(filtered, &told))?;
    } else {
        let rows = clustering_rows(&told);
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
        // Features do not tell identical documents from others that have them all in common.
        "identical_only_clusters": null,
        "largest": made.largest,
        "flagged": 0,
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

/// What is told of a document. No estimate is there, for there is nothing to make one of.
fn named_json(document: &FilteredDocument, cluster: u32) -> Value {
    json!({
        "doc": document.doc,
        "id": document.id,
        "url": document.url,
        "date": document.date.map(rfc3339),
        "grade": null,
        "cluster": cluster,
    })
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
    let made = clustering(filtered, None)?;
    let mut table = vec![
        ["document", "date", "features shared"]
            .map(str::to_owned)
            .to_vec(),
    ];
    for one in found.iter().take(top.get()) {
        let document = filtered.document(one.doc).map_err(&damaged)?;
        if global.json {
            let cluster = filtered.cluster_of(&made, one.doc).map_err(&damaged)?;
            let mut line = named_json(&document, cluster.unwrap_or(one.doc));
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
    let (cluster, size) = (docs[0], docs.len());
    for doc in docs {
        let document = filtered.document(doc).map_err(&damaged)?;
        if global.json {
            let mut line = named_json(&document, cluster);
            line["cluster_size"] = json!(size);
            line["representative"] = json!(cluster);
            line["is_representative"] = json!(doc == cluster);
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
    min_size: u32,
) -> Result<(), Stop> {
    // The clustering may have been made a moment ago.
    let Some(filtered) = open(folder)? else {
        return Ok(());
    };
    let target = Target::create(output)?;
    let written = rows(&filtered, made, format, target.writer()?, min_size);
    target.finish(written, folder)
}

fn rows(
    filtered: &Filtered,
    made: &FilterClustering,
    format: Format,
    out: Box<dyn Write + Send>,
    min_size: u32,
) -> Result<(), Trouble> {
    let mut clusters = vec![None; filtered.documents() as usize];
    filtered.each_cluster(made, |cluster, docs| {
        for &doc in docs {
            clusters[doc as usize] = Some((cluster, docs.len() as u64));
        }
    })?;
    let mut writer = Writer::<tables::Filtered>::new(format, out)?;
    for (doc, cluster) in (0..).zip(clusters) {
        let (cluster, size) = cluster.unwrap_or((doc, 1));
        // Every document has a row, unless some size is asked for.
        if min_size > 2 && size < u64::from(min_size) {
            continue;
        }
        let document = filtered.document(doc)?;
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
    // All but the bytes of ids and URLs themselves.
    let mut without = 0;
    for file in filtered.manifest().files() {
        let kind = file.name.split('-').next().unwrap_or_default();
        *disk.entry(kind).or_insert(0) += file.file_len;
        let names = if kind == "strings" {
            file.payload_len
        } else {
            0
        };
        without += file.file_len - names;
    }
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
                    "measured": bin.accepted as f64 / bin.pairs as f64,
                    "theoretical": bin.expected / bin.pairs as f64,
                })
            })
            .collect();
        let points = curve(filtered)
            .map(|(rho, accept)| json!({ "resemblance": rho, "accept": accept }))
            .collect::<Vec<_>>();
        let line = json!({
            "documents": filtered.documents(),
            "filter": filtered.spec().to_string(),
            "recipe": filtered.manifest().recipe(),
            "sweeps": filtered.state().sweeps.len(),
            "clusterings": clusterings,
            "disk": disk,
            "bytes_a_document_without_urls": each,
            "acceptance": { "documents": measured.documents, "bins": bins, "curve": points },
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

/// What its curve says where it is looked at.
fn curve(filtered: &Filtered) -> impl Iterator<Item = (f64, f64)> {
    let curve = filtered.spec().curve();
    let points = [0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 1.0];
    points
        .into_iter()
        .map(move |rho| (rho, curve.odds(rho).accept))
}

fn acceptance_text(filtered: &Filtered, measured: &Measured) -> String {
    let mut told = String::new();
    if measured.documents == 0 {
        let mut table = vec![["resemblance", "by the curve"].map(str::to_owned).to_vec()];
        table.extend(
            curve(filtered)
                .map(|(rho, accept)| vec![rho.to_string(), format!("{:.1} %", 100.0 * accept)]),
        );
        // Writing to a string does not fail.
        let _ = write!(
            told,
            "How often {} accepts; not measured, for no text can be read again\n{}",
            filtered.spec(),
            text::columns(&table)
        );
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
