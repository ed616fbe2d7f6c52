//! `scale [NAME] [--documents 1000000,3000000] [--work DIR]`: how cost grows with the number
//! of documents, which are piped in and never stored. `make bench-scale` runs it.
//!
//! ```text
//! generate ─► /dev/null                      what the generator costs; the truth
//! generate ─► lookalike add ─► cluster at another threshold ─► recall by bands, stats
//! ```
//!
//! Writes `benchmarks/record/NAME.md`. The command lines stand in [`ADD`] and below, with
//! `{work}` for the folder; the environment can replace each (`SCALE_ADD`, …).

use anyhow::{Context, Result, ensure};
use lookalike_benchmarks::child::{self, Cost};
use lookalike_benchmarks::clock;
use serde_json::Value;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Reads JSONL from standard input; prints its JSON report.
const ADD: &str = "lookalike add {work}/collection - --sketch mod:25 --memory 512M --scratch {work} --quiet --json";
/// Only the last phase, at a threshold not used before.
const CLUSTER: &str = "lookalike cluster {work}/collection --resemblance 0.8 --quiet";
/// The same, written out for the recall; not counted.
const TABLE: &str =
    "lookalike cluster {work}/collection --resemblance 0.8 --quiet -o {work}/clusters.jsonl";
/// The tables for the record.
const STATS: &str = "lookalike stats {work}/collection";

/// The threshold in [`CLUSTER`].
const THRESHOLD: f64 = 0.8;
const SEED: &str = "1";

fn main() -> Result<()> {
    let mut name = "2026-11-scale".to_owned();
    let mut sizes = vec![1_000_000, 3_000_000];
    let mut work = std::env::temp_dir().join(format!("lookalike-scale-{}", std::process::id()));
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().context("a value is missing");
        match argument.as_str() {
            "--documents" => {
                let numbers = value()?;
                let numbers = numbers.split(',').map(str::parse);
                sizes = numbers.collect::<Result<_, _>>()?;
            }
            "--work" => work = value()?.into(),
            other => {
                ensure!(!other.starts_with('-'), "unknown option `{other}`");
                other.clone_into(&mut name);
            }
        }
    }
    let mut runs = Vec::new();
    for &documents in &sizes {
        let folder = work.join(documents.to_string());
        fs::create_dir_all(&folder)?;
        let run = Run::measure(documents, &folder);
        // The collection is as large as the sketches of all documents.
        fs::remove_dir_all(&folder)?;
        runs.push(run?);
    }
    let record = record(&name, &runs)?;
    print!("{record}");
    let path = Path::new("benchmarks/record").join(format!("{name}.md"));
    fs::write(&path, record).with_context(|| format!("cannot write `{}`", path.display()))
}

struct Run {
    documents: u64,
    bytes: u64,
    generator: Cost,
    add: Cost,
    scratch: Option<u64>,
    collection: u64,
    cluster: Cost,
    bands: Vec<Band>,
    stats: String,
}

/// Planted pairs by their true resemblance, and how many came into one cluster.
#[derive(Clone, Default)]
struct Band {
    planted: u64,
    together: u64,
}

impl Run {
    fn measure(documents: u64, work: &Path) -> Result<Run> {
        let truth = work.join("truth.tsv");
        eprintln!("{documents} documents: the generator alone");
        let mut alone = generate(documents)?;
        alone.arg("--truth").arg(&truth);
        let mut running = alone.stdout(Stdio::piped()).spawn()?;
        // Through a pipe, as below: writing into one has its cost.
        let mut pipe = running.stdout.take().context("a pipe")?;
        let bytes = std::io::copy(&mut pipe, &mut std::io::sink())?;
        let (_, generator) = child::finish(running)?;

        eprintln!("{documents} documents: add");
        let mut source = generate(documents)?.stdout(Stdio::piped()).spawn()?;
        let pipe = source.stdout.take().context("a pipe")?;
        let (report, add) = child::run(step("SCALE_ADD", ADD, work).stdin(pipe))?;
        child::finish(source)?;
        let report: Value = serde_json::from_str(&report).unwrap_or_default();

        eprintln!("{documents} documents: cluster");
        let (_, cluster) = child::run(&mut step("SCALE_CLUSTER", CLUSTER, work))?;
        child::run(&mut step("SCALE_TABLE", TABLE, work))?;
        let (stats, _) = child::run(&mut step("SCALE_STATS", STATS, work))?;
        Ok(Run {
            documents,
            bytes,
            generator,
            add,
            scratch: report["scratch"].as_u64(),
            collection: size_of(&work.join("collection"))?,
            cluster,
            bands: bands(&work.join("clusters.jsonl"), &truth)?,
            stats,
        })
    }
}

/// The programs built with this one.
fn beside(program: &str) -> Result<PathBuf> {
    let here = std::env::current_exe()?;
    Ok(here.with_file_name(program))
}

fn generate(documents: u64) -> Result<Command> {
    let mut command = Command::new(beside("generate")?);
    command.args(["--documents", &documents.to_string(), "--seed", SEED]);
    Ok(command)
}

fn step(variable: &str, line: &str, work: &Path) -> Command {
    let line = std::env::var(variable).unwrap_or_else(|_| line.to_owned());
    let line = line.replace("{work}", &work.to_string_lossy());
    let mut words = line.split_whitespace();
    let program = words.next().unwrap_or_default();
    let near = beside(program).ok().filter(|path| path.is_file());
    let mut command = Command::new(near.unwrap_or_else(|| program.into()));
    command.args(words);
    command
}

fn size_of(folder: &Path) -> Result<u64> {
    let mut total = 0;
    for entry in walkdir::WalkDir::new(folder) {
        let meta = entry?.metadata()?;
        total += if meta.is_file() { meta.len() } else { 0 };
    }
    Ok(total)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a resemblance is between 0 and 1"
)]
/// Ten bands of resemblance: which planted pairs the clustering has put together.
fn bands(clusters: &Path, truth: &Path) -> Result<Vec<Band>> {
    let read = |path: &Path| {
        let file = fs::File::open(path);
        let file = file.with_context(|| format!("cannot read `{}`", path.display()));
        file.map(BufReader::new)
    };
    let mut cluster = HashMap::new();
    for line in read(clusters)?.lines() {
        let row: Value = serde_json::from_str(&line?)?;
        if let (Some(id), Some(number)) = (row["id"].as_str(), row["cluster"].as_u64()) {
            cluster.insert(id.to_owned(), number);
        }
    }
    let mut bands = vec![Band::default(); 11];
    for line in read(truth)?.lines() {
        let line = line?;
        let mut fields = line.split('\t').skip(1);
        let mut field = || fields.next().context("a line of the truth has five fields");
        let (a, b, resemblance) = (field()?, field()?, field()?.parse::<f64>()?);
        // Equal documents have a band of their own, the last.
        let band = &mut bands[((resemblance * 10.0) as usize).min(10)];
        band.planted += 1;
        let (a, b) = (cluster.get(a), cluster.get(b));
        band.together += u64::from(a.is_some() && a == b);
    }
    Ok(bands)
}

fn record(name: &str, runs: &[Run]) -> Result<String> {
    let mut out = format!(
        "# Scale: {name}\n\n```sh\nmake bench-scale\n```\n\n- processor: {}\n\
         - CPU seconds and memory by wait4; documents piped, never stored\n\
         - add: `{ADD}`\n- cluster: `{CLUSTER}`\n\n\
         | documents | bytes | generator CPU s | add CPU s | peak MiB | scratch MB | collection MB | cluster CPU s | of add |\n\
         |--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
        clock::processor()
    );
    for run in runs {
        writeln!(
            out,
            "| {} | {} | {:.1} | {:.1} | {:.0} | {} | {:.0} | {:.2} | {:.1} % |",
            run.documents,
            run.bytes,
            run.generator.cpu_seconds,
            run.add.cpu_seconds,
            run.add.peak_memory as f64 / 1_048_576.0,
            run.scratch
                .map_or("?".to_owned(), |bytes| (bytes / 1_000_000).to_string()),
            run.collection as f64 / 1e6,
            run.cluster.cpu_seconds,
            100.0 * run.cluster.cpu_seconds / run.add.cpu_seconds,
        )?;
    }
    if let [first, .., last] = runs {
        writeln!(
            out,
            "\n{} documents cost {:.2} times as much as {}.",
            last.documents,
            last.add.cpu_seconds / first.add.cpu_seconds,
            first.documents
        )?;
    }
    for run in runs {
        writeln!(
            out,
            "\n## {} documents\n\nPlanted pairs by true resemblance, and those in one cluster at {THRESHOLD}, \
             by sketches alone:\n\n| resemblance | planted | together | % |\n|---|--:|--:|--:|",
            run.documents
        )?;
        for (i, band) in run
            .bands
            .iter()
            .enumerate()
            .filter(|(_, band)| band.planted > 0)
        {
            let range = match i {
                10 => "1".to_owned(),
                _ => format!("{:.1} to {:.1}", i as f64 / 10.0, (i + 1) as f64 / 10.0),
            };
            let share = 100.0 * band.together as f64 / band.planted as f64;
            writeln!(
                out,
                "| {range} | {} | {} | {share:.2} |",
                band.planted, band.together
            )?;
        }
        writeln!(out, "\n```text\n{}\n```", run.stats.trim_end())?;
    }
    Ok(out)
}
