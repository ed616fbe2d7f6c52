//! `filters [NAME] [--documents 1000000] [--filter 6x14/2] [--work DIR]`: a filter beside the
//! default recipe on generated documents. `make bench-filters` runs it.
//!
//! ```text
//! generate ─► lookalike add                 ─► CPU of each phase ─► cluster at 0.9 ─► pairs
//! generate ─► lookalike add --filter 6x14/2 ─► CPU of each phase ─► cluster ─► clusters
//!                                              bytes a document      └─► found and missed
//! ```
//!
//! Writes `benchmarks/record/NAME.md`. Exit status 1 when a target is missed: 64 bytes a
//! document apart from URLs, that is all files of the folder but for the bytes of ids and
//! URLs themselves; a third of the CPU of clustering.

use anyhow::{Context, Result, bail, ensure};
use lookalike_benchmarks::child::{self, Cost};
use lookalike_benchmarks::clock;
use serde_json::Value;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The threshold that both are for.
const THRESHOLD: f64 = 0.9;
/// Bytes a document on disk: every file in the folder, apart from the bytes of ids and URLs.
const MOST_BYTES: f64 = 64.0;
/// The filter's clustering takes no more than this share of the default's.
const MOST_SHARE: f64 = 1.0 / 3.0;

fn main() -> Result<()> {
    let mut name = "2026-11-filters".to_owned();
    let (mut documents, mut filter) = (1_000_000_u64, "6x14/2".to_owned());
    let mut work = std::env::temp_dir().join(format!("lookalike-filters-{}", std::process::id()));
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().context("a value is missing");
        match argument.as_str() {
            "--documents" => documents = value()?.parse()?,
            "--filter" => filter = value()?,
            "--work" => work = value()?.into(),
            other => {
                ensure!(!other.starts_with('-'), "unknown option `{other}`");
                other.clone_into(&mut name);
            }
        }
    }
    fs::create_dir_all(&work)?;
    let measured = measure(documents, &filter, &work);
    fs::remove_dir_all(&work)?;
    let (record, missed) = measured?;
    let record = format!("# Filters: {name}\n\n```sh\nmake bench-filters\n```\n\n{record}");
    print!("{record}");
    let path = Path::new("benchmarks/record").join(format!("{name}.md"));
    fs::write(&path, record).with_context(|| format!("cannot write `{}`", path.display()))?;
    if !missed.is_empty() {
        bail!("missed: {}", missed.join("; "));
    }
    Ok(())
}

/// One way of adding, and what it cost.
struct Added {
    cost: Cost,
    /// CPU seconds by phase, as the program tells them.
    phases: Vec<(String, f64)>,
}

impl Added {
    fn sketching(&self) -> f64 {
        self.phase(|name| name == "sketch")
    }

    /// All that comes after the sketches: copies, sorting, pairs, clusters.
    fn clustering(&self) -> f64 {
        self.phase(|name| name != "sketch")
    }

    fn phase(&self, which: impl Fn(&str) -> bool) -> f64 {
        let phases = self.phases.iter().filter(|(name, _)| which(name));
        phases.map(|(_, seconds)| seconds).sum()
    }
}

#[expect(
    clippy::too_many_lines,
    reason = "one table after the other, row by row"
)]
fn measure(documents: u64, filter: &str, work: &Path) -> Result<(String, Vec<String>)> {
    let (plain, filtered) = (work.join("default.lk"), work.join("filter.lk"));
    eprintln!("the default recipe");
    let by_default = add(documents, &plain, &[])?;
    let threshold = THRESHOLD.to_string();
    let verify_none = ["--resemblance", &threshold, "--verify", "none", "--quiet"];
    let (_, cluster_default) = child::run(lookalike("cluster")?.arg(&plain).args(verify_none))?;
    eprintln!("the filter");
    let by_filter = add(documents, &filtered, &["--filter", filter])?;
    let (_, cluster_filter) = child::run(lookalike("cluster")?.arg(&filtered).arg("--quiet"))?;

    eprintln!("what it found");
    let clusters = clusters(&filtered)?;
    let bands = bands(&plain, &clusters)?;
    let default_clusters = {
        let policy = format!("resemblance>={threshold} link=chain verify=none");
        clusters_of(&plain, Some(&policy))?
    };
    let (all, names) = sizes_of(&filtered)?;
    let each = (all - names) as f64 / documents as f64;
    let share = by_filter.clustering() / by_default.clustering();
    let mut missed = Vec::new();
    if each > MOST_BYTES {
        missed.push(format!("{each:.1} bytes a document"));
    }
    if share > MOST_SHARE {
        missed.push(format!(
            "clustering takes {:.0} % of the default's CPU",
            100.0 * share
        ));
    }

    let mut out = format!(
        "- processor: {}\n- {documents} generated documents, piped, never stored; CPU seconds by phase as \
         `add` tells them, of whole processes by wait4\n- default: `lookalike add`, nested:256; filter: \
         `lookalike add --filter {filter}`\n- both clustered for a resemblance of {THRESHOLD}, by sketches alone\n- bytes on disk: all files of \
         the folder, with the clusters of the generation before\n\n\
         | | default | {filter} | share | target |\n|---|--:|--:|--:|--:|\n",
        clock::processor(),
    );
    let mut row = |what: &str, one: f64, other: f64, digits: usize, target: &str| {
        writeln!(
            out,
            "| {what} | {one:.digits$} | {other:.digits$} | {:.0} % | {target} |",
            100.0 * other / one
        )
    };
    row(
        "sketching, CPU s",
        by_default.sketching(),
        by_filter.sketching(),
        1,
        "",
    )?;
    row(
        "from sketches to clusters, CPU s",
        by_default.clustering(),
        by_filter.clustering(),
        2,
        "33 %",
    )?;
    row(
        "the same again: `cluster`, CPU s",
        cluster_default.cpu_seconds,
        cluster_filter.cpu_seconds,
        2,
        "",
    )?;
    row(
        "all of `add`, CPU s",
        by_default.cost.cpu_seconds,
        by_filter.cost.cpu_seconds,
        1,
        "",
    )?;
    let mib = |cost: &Cost| cost.peak_memory as f64 / 1_048_576.0;
    row(
        "peak memory, MiB",
        mib(&by_default.cost),
        mib(&by_filter.cost),
        0,
        "",
    )?;
    let (plain_all, plain_names) = sizes_of(&plain)?;
    row(
        "bytes a document on disk, apart from those of ids and URLs",
        (plain_all - plain_names) as f64 / documents as f64,
        each,
        1,
        "64",
    )?;
    row(
        "bytes a document on disk, all",
        plain_all as f64 / documents as f64,
        all as f64 / documents as f64,
        1,
        "",
    )?;

    writeln!(
        out,
        "\nPairs that the default recipe counts, by its estimate, and how many of them the filter has in one cluster:\n\n\
         | estimate | pairs | found | missed | found % | by the curve, of each pair alone |\n|---|--:|--:|--:|--:|--:|"
    )?;
    let curve: lookalike::filters::Spec = filter.parse()?;
    for band in bands.iter().filter(|band| band.pairs > 0) {
        let middle = f64::midpoint(band.low, band.high.min(1.0));
        writeln!(
            out,
            "| {:.2} to {:.2} | {} | {} | {} | {:.1} | {:.1} |",
            band.low,
            band.high.min(1.0),
            band.pairs,
            band.found,
            band.pairs - band.found,
            100.0 * band.found as f64 / band.pairs as f64,
            100.0 * curve.curve().odds(middle).accept,
        )?;
    }
    let together = |one: &[u64], other: &[u64]| {
        // Documents that the one puts into a cluster and the other leaves alone.
        one.iter()
            .zip(other)
            .filter(|(one, other)| **one > 1 && **other == 1)
            .count()
    };
    let (of_filter, of_default) = (sizes(&clusters), sizes(&default_clusters));
    writeln!(
        out,
        "\nDocuments in clusters: {} by the default recipe, {} by the filter; {} by the default alone, {} by the filter alone.",
        of_default.iter().filter(|&&size| size > 1).count(),
        of_filter.iter().filter(|&&size| size > 1).count(),
        together(&of_default, &of_filter),
        together(&of_filter, &of_default),
    )?;
    Ok((out, missed))
}

/// The programs built with this one.
fn beside(program: &str) -> Result<PathBuf> {
    let here = std::env::current_exe()?;
    Ok(here.with_file_name(program))
}

fn lookalike(command: &str) -> Result<Command> {
    let mut lookalike = Command::new(beside("lookalike")?);
    lookalike.arg(command);
    Ok(lookalike)
}

/// Pipes generated documents into `add`.
fn add(documents: u64, folder: &Path, options: &[&str]) -> Result<Added> {
    let mut source = Command::new(beside("generate")?);
    source.args(["--documents", &documents.to_string(), "--seed", "1"]);
    let mut source = source.stdout(Stdio::piped()).spawn()?;
    let pipe = source.stdout.take().context("a pipe")?;
    let mut running = lookalike("add")?
        .arg(folder)
        .args(["-", "--memory", "1G"])
        .args(options)
        .stdin(pipe)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut told = String::new();
    let mut stderr = running.stderr.take().context("a pipe")?;
    stderr.read_to_string(&mut told)?;
    let (_, cost) = child::finish(running)?;
    child::finish(source)?;
    // `sort: 1.2 s (2.3 s of processor time)`
    let phases = told.lines().filter_map(|line| {
        let (phase, rest) = line.split_once(": ")?;
        let (_, cpu) = rest.split_once('(')?;
        let seconds = cpu.strip_suffix(" s of processor time)")?;
        Some((phase.to_owned(), seconds.parse().ok()?))
    });
    let phases: Vec<(String, f64)> = phases.collect();
    ensure!(!phases.is_empty(), "add told no phases: {told}");
    Ok(Added { cost, phases })
}

/// The cluster of each document, in order.
fn clusters(folder: &Path) -> Result<Vec<u32>> {
    clusters_of(folder, None)
}

fn clusters_of(folder: &Path, policy: Option<&str>) -> Result<Vec<u32>> {
    let mut export = lookalike("export")?;
    export.arg(folder).args(["clusters", "--format", "jsonl"]);
    if let Some(policy) = policy {
        export.args(["--policy", policy]);
    }
    let mut running = export.stdout(Stdio::piped()).spawn()?;
    let lines = BufReader::new(running.stdout.take().context("a pipe")?).lines();
    let clusters = lines.map(|line| {
        let row: Value = serde_json::from_str(&line?)?;
        let cluster = row["cluster"].as_u64().context("a cluster")?;
        Ok(u32::try_from(cluster)?)
    });
    let clusters: Result<Vec<u32>> = clusters.collect();
    child::finish(running)?;
    clusters
}

/// Of each document, how many are in its cluster.
fn sizes(clusters: &[u32]) -> Vec<u64> {
    let mut counts: HashMap<u32, u64> = HashMap::new();
    for cluster in clusters {
        *counts.entry(*cluster).or_insert(0) += 1;
    }
    clusters.iter().map(|cluster| counts[cluster]).collect()
}

/// Pairs of one range of estimates.
struct Band {
    low: f64,
    high: f64,
    pairs: u64,
    found: u64,
}

/// The pairs that the default recipe keeps, and which of them are in one cluster.
fn bands(folder: &Path, clusters: &[u32]) -> Result<Vec<Band>> {
    let bounds = [
        0.5,
        0.6,
        0.7,
        0.8,
        0.85,
        0.9,
        0.92,
        0.94,
        0.96,
        0.98,
        1.0 + f64::EPSILON,
    ];
    let mut bands: Vec<Band> = bounds
        .windows(2)
        .map(|two| Band {
            low: two[0],
            high: two[1],
            pairs: 0,
            found: 0,
        })
        .collect();
    let mut export = lookalike("export")?;
    export.arg(folder).args(["pairs", "--format", "jsonl"]);
    let mut running = export.stdout(Stdio::piped()).spawn()?;
    for line in BufReader::new(running.stdout.take().context("a pipe")?).lines() {
        let row: Value = serde_json::from_str(&line?)?;
        let value = row["resemblance"].as_f64().unwrap_or(0.0);
        let doc = |name: &str| usize::try_from(row[name].as_u64().unwrap_or(u64::MAX));
        let (a, b) = (doc("a")?, doc("b")?);
        if let Some(band) = bands
            .iter_mut()
            .find(|band| (band.low..band.high).contains(&value))
        {
            band.pairs += 1;
            band.found +=
                u64::from(clusters.get(a).is_some() && clusters.get(a) == clusters.get(b));
        }
    }
    child::finish(running)?;
    Ok(bands)
}

/// Bytes of all files of a folder, and how many of them are the bytes of ids and URLs.
fn sizes_of(folder: &Path) -> Result<(u64, u64)> {
    let (mut all, mut names) = (0, 0);
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let len = entry.metadata()?.len();
        all += len;
        if entry.file_name().to_string_lossy().starts_with("strings-") {
            // A file is blocks, each with a checksum of 8 bytes, behind a header of 24.
            names += len - 24 - 8 * len.div_ceil(65_536);
        }
    }
    Ok((all, names))
}
