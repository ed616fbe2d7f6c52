//! `surprise [NAME…]`: inputs that make other programs slow or wrong, at n, 2n and 4n.
//!
//! ```text
//! input written ─► this program again, for its memory alone: add ─► time, memory, found
//! ```
//!
//! Exit status 1 when something was found that should not be, or time grows faster than
//! the input by more than the power 1.15.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};
use lookalike::add::{AddOptions, add};
use lookalike::collection::Collection;
use lookalike::corpus::inputs::Inputs;
use lookalike_testkit::texts::{line, words};
use rustix::time::{ClockId, clock_gettime};

/// What time may grow like, as a power of the size.
const MOST_POWER: f64 = 1.15;

struct Case {
    name: &'static str,
    /// The size that is promised; a quarter and a half of it come first.
    size: u64,
    text: fn(u64, u64) -> Vec<String>,
    /// Clusters, documents in them, and a mark that must be there, given the size.
    expected: fn(u64) -> (u64, u64, Option<&'static str>),
}

const NONE: fn(u64) -> (u64, u64, Option<&'static str>) = |_| (0, 0, None);

const CASES: [Case; 6] = [
    Case {
        name: "identical",
        size: 20_000,
        text: |_, _| words(1, 400),
        expected: |n| (1, n, Some("large")),
    },
    Case {
        name: "header",
        size: 20_000,
        text: |i, _| [words(0, 60), words(i + 1, 340)].concat(),
        expected: NONE,
    },
    Case {
        name: "one-shingle",
        size: 20_000,
        text: |i, _| [words(i + 1, 150), words(0, 10), words(i + (1 << 32), 150)].concat(),
        expected: NONE,
    },
    Case {
        name: "chain",
        size: 2_000,
        text: |i, _| chain(i),
        expected: |n| (1, n, Some("chain")),
    },
    Case {
        name: "short",
        size: 200_000,
        text: |i, _| words(i, 12),
        expected: NONE,
    },
    // One document of so many megabytes.
    Case {
        name: "long",
        size: 200,
        text: |_, n| words(5, usize::try_from(n * 1_000_000 / 7 + 1).unwrap_or(1)),
        expected: NONE,
    },
];

/// Document `i` shares nine tenths of its shingles with the next: 120 words, six of them
/// new.
fn chain(i: u64) -> Vec<String> {
    (6 * i..6 * i + 120)
        .map(|place| words(place, 1).remove(0))
        .collect()
}

fn main() -> Result<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [one, size, folder] = &arguments[..]
        && let Some(name) = one.strip_prefix("--one=")
    {
        return child(name, size.parse()?, Path::new(folder));
    }
    println!(
        "| input | documents | bytes | CPU s | power | wall s | peak MiB | clusters | documents in them | marks | common | as it should be |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|--:|--:|---|--:|---|");
    let mut all_met = true;
    for case in &CASES {
        if !arguments.is_empty() && !arguments.iter().any(|name| name == case.name) {
            continue;
        }
        let mut before = None;
        for size in [case.size / 4, case.size / 2, case.size] {
            let text = best_of_three(case.name, size)?;
            let mut fields = text.trim().split('\t');
            let mut next = || fields.next().context("a field is missing");
            let (documents, bytes, cpu) = (next()?, next()?, next()?.parse::<f64>()?);
            let (wall, peak) = (next()?, next()?);
            let found = (next()?.parse::<u64>()?, next()?.parse::<u64>()?);
            let (marks, common) = (next()?, next()?);
            let power = before.map(|before: f64| (cpu / before).log2());
            before = Some(cpu);
            let count = if case.name == "long" { 1 } else { size };
            let (clusters, clustered, mark) = (case.expected)(count);
            // A tenth of a second is mostly the start of the program.
            let is_linear = power.is_none_or(|power| power <= MOST_POWER || cpu < 0.5);
            let is_met = documents == count.to_string()
                && found == (clusters, clustered)
                && mark.is_none_or(|mark| marks.contains(mark))
                && is_linear;
            all_met &= is_met;
            println!(
                "| {} | {documents} | {bytes} | {cpu:.2} | {} | {wall} | {peak} | {} | {} | {marks} | {common} | {} |",
                case.name,
                power.map_or(String::new(), |power| format!("{power:.2}")),
                found.0,
                found.1,
                if is_met { "yes" } else { "NO" },
            );
        }
    }
    Ok(if all_met {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// What the fastest of three runs printed: another program's busy second is no answer.
fn best_of_three(name: &str, size: u64) -> Result<String> {
    let mut best: Option<(f64, String)> = None;
    for _ in 0..3 {
        let folder = Folder::new()?;
        let output = Command::new(std::env::current_exe()?)
            .arg(format!("--one={name}"))
            .arg(size.to_string())
            .arg(&folder.0)
            .output()?;
        if !output.status.success() {
            bail!("{name} {size}: {}", String::from_utf8_lossy(&output.stderr));
        }
        let text = String::from_utf8(output.stdout)?;
        let cpu = text.split('\t').nth(2).context("a field is missing")?;
        let cpu: f64 = cpu.parse()?;
        if best.as_ref().is_none_or(|(least, _)| cpu < *least) {
            best = Some((cpu, text));
        }
    }
    Ok(best.map(|(_, text)| text).unwrap_or_default())
}

/// A folder that goes when it is dropped.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Folder> {
        let name = format!("lookalike-surprise-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).with_context(|| format!("cannot make `{}`", path.display()))?;
        Ok(Folder(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Writes one input, adds it, and prints what came of it.
fn child(name: &str, size: u64, folder: &Path) -> Result<ExitCode> {
    let case = CASES.iter().find(|case| case.name == name);
    let case = case.context("no such case")?;
    let input = folder.join("input.jsonl");
    let mut file = BufWriter::new(File::create(&input)?);
    let count = if name == "long" { 1 } else { size };
    for i in 0..count {
        let text = (case.text)(i, size).join(" ");
        file.write_all(line(&i.to_string(), &text).as_bytes())?;
    }
    file.into_inner()?.sync_all()?;
    let mut options = AddOptions {
        threads: NonZeroUsize::new(2).context("two")?,
        memory: 512 << 20,
        ..AddOptions::default()
    };
    if name == "long" {
        options.reading.limits.document = 1 << 30;
        options.reading.limits.line = 1 << 30;
        options.reading.limits.record = 1 << 30;
    }
    let collection = folder.join("collection");
    let inputs = Inputs::expand(&[input], &options.reading);
    forget_peak();
    let (cpu, wall) = (cpu_seconds(), std::time::Instant::now());
    let report = add(&collection, &inputs, &options, &mut |_| {})?;
    let (cpu, wall) = (cpu_seconds() - cpu, wall.elapsed().as_secs_f64());
    let opened = Collection::open(&collection)?;
    let summary = &report.clusterings[0].summary;
    let clustering = opened.clustering(&report.clusterings[0])?;
    let mut marks = String::new();
    let mut clusters = clustering.clusters()?;
    while let Some(quality) = clusters.next_record()? {
        for mark in quality.marks() {
            if !marks.contains(mark) {
                let _ = write!(marks, "{mark} ");
            }
        }
    }
    println!(
        "{}\t{}\t{cpu:.3}\t{wall:.2}\t{}\t{}\t{}\t{}\t{}",
        report.added,
        report.counts.bytes,
        peak_memory() >> 20,
        summary.clusters,
        summary.clustered_documents,
        marks.trim(),
        report.counts.common,
    );
    Ok(ExitCode::SUCCESS)
}

/// The kernel counts the peak from here on: what wrote the input does not count.
fn forget_peak() {
    let _ = fs::write("/proc/self/clear_refs", "5");
}

fn peak_memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse().ok());
    kilobytes.unwrap_or(0_u64) * 1024
}
