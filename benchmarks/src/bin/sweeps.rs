//! `sweeps [NAME] SET=FILE,FILE,… … [--runs 3]`: what further sweeps cost beside the first.
//! `make bench-sweeps` runs it on the shared corpora and the demo's crawl.
//!
//! ```text
//! add the first ─► add it again                     the same files
//!               └► add a copy of it                 the same pages: files of other names
//! add all at once ─► add all again, or copies       the same for the whole set
//! add one by one                                    sweep after sweep
//! ```
//!
//! The same files are known by their digests and not unpacked; a crawl that finds nothing
//! new has other files, as the copies are. Each file is a sweep. Prints Markdown and writes
//! `benchmarks/record/NAME.md`. User and system time of whole processes, so starting one
//! counts; the best of some runs, for other work on the machine heats caches.

use anyhow::{Context, Result, ensure};
use lookalike_benchmarks::child;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What each run is asked for besides its inputs.
const OPTIONS: [&str; 3] = ["--memory", "512M", "--quiet"];

/// An identical sweep may cost this share of the first.
const AGAIN: f64 = 0.25;

/// Sweeps one by one may cost this many times as much as all at once.
const ONE_BY_ONE: f64 = 1.3;

/// Processor seconds, the best of all runs.
struct Costs {
    first: f64,
    again: f64,
    copied: f64,
    at_once: f64,
    all_again: f64,
    all_copied: f64,
    one_by_one: f64,
}

fn main() -> Result<()> {
    let (mut name, mut sets, mut runs) = ("2026-11-sweeps".to_owned(), Vec::new(), 3);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        if argument == "--runs" {
            runs = arguments.next().context("a value is missing")?.parse()?;
        } else if let Some((set, files)) = argument.split_once('=') {
            let files: Vec<PathBuf> = files.split(',').map(PathBuf::from).collect();
            sets.push((set.to_owned(), files));
        } else {
            ensure!(!argument.starts_with('-'), "unknown option `{argument}`");
            name = argument;
        }
    }
    ensure!(!sets.is_empty(), "name a set of sweeps: NAME=FILE,FILE,…");
    let program = std::env::var("LOOKALIKE").unwrap_or("target/release/lookalike".to_owned());
    let work = std::env::temp_dir().join(format!("lookalike-sweeps-{}", std::process::id()));
    let mut out = format!(
        "# Sweeps: {name}\n\n```sh\nmake bench-sweeps\n```\n\n\
         - user and system seconds of `lookalike add` with `{}`, best of {runs}\n\
         - *again*: the same files once more, as a share of the time before; target {AGAIN}\n\
         - *copied*: the same, but copies of the files under other names\n\
         - *one by one*: each file as a sweep of its own, times all in one; target {ONE_BY_ONE}\n\n\
         | set | sweeps | MB | first | again | share | copied | share | at once | again | share | copied | share | one by one | times |\n\
         |---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
        OPTIONS.join(" ")
    );
    for (set, files) in &sets {
        let len: u64 = files
            .iter()
            .map(|file| Ok(fs::metadata(file)?.len()))
            .sum::<Result<_>>()?;
        let costs = measure(&program, &work, files, runs)?;
        let Costs {
            first,
            again,
            copied,
            at_once,
            all_again,
            all_copied,
            one_by_one,
        } = costs;
        let (sweeps, megabytes) = (files.len(), len as f64 / 1e6);
        writeln!(
            out,
            "| {set} | {sweeps} | {megabytes:.1} | {first:.3} | {again:.3} | {:.0} % | {copied:.3} | {:.0} % | {at_once:.3} | {all_again:.3} | {:.0} % | {all_copied:.3} | {:.0} % | {one_by_one:.3} | {:.2} |",
            100.0 * again / first,
            100.0 * copied / first,
            100.0 * all_again / at_once,
            100.0 * all_copied / at_once,
            one_by_one / at_once,
        )?;
    }
    print!("{out}");
    fs::write(format!("benchmarks/record/{name}.md"), out)?;
    Ok(())
}

fn measure(program: &str, work: &Path, files: &[PathBuf], runs: usize) -> Result<Costs> {
    let collection = work.join("collection");
    let add = |files: &[PathBuf]| -> Result<f64> {
        let mut command = Command::new(program);
        command
            .arg("add")
            .arg(&collection)
            .args(files)
            .args(OPTIONS);
        Ok(child::run(command.stderr(Stdio::null()))?.1.cpu_seconds)
    };
    let anew = || -> Result<()> {
        if collection.exists() {
            fs::remove_dir_all(&collection)?;
        }
        Ok(())
    };
    fs::create_dir_all(work)?;
    let mut renamed = Vec::new();
    for file in files {
        let name = file.file_name().context("a file has a name")?;
        let copy = work.join(format!("copy-{}", name.display()));
        fs::copy(file, &copy)?;
        renamed.push(copy);
    }
    let mut best = [f64::INFINITY; 7];
    for _ in 0..runs {
        anew()?;
        let (first, again) = (add(&files[..1])?, add(&files[..1])?);
        anew()?;
        let (_, copied) = (add(&files[..1])?, add(&renamed[..1])?);
        anew()?;
        let (at_once, all_again) = (add(files)?, add(files)?);
        anew()?;
        let (_, all_copied) = (add(files)?, add(&renamed)?);
        anew()?;
        let mut one_by_one = 0.0;
        for file in files {
            one_by_one += add(std::slice::from_ref(file))?;
        }
        let costs = [
            first, again, copied, at_once, all_again, all_copied, one_by_one,
        ];
        best.iter_mut()
            .zip(costs)
            .for_each(|(best, cost)| *best = best.min(cost));
    }
    fs::remove_dir_all(work)?;
    let [
        first,
        again,
        copied,
        at_once,
        all_again,
        all_copied,
        one_by_one,
    ] = best;
    Ok(Costs {
        first,
        again,
        copied,
        at_once,
        all_again,
        all_copied,
        one_by_one,
    })
}
