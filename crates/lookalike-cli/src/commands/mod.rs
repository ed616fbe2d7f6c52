//! One file for each command of the program.

pub(crate) mod add;

pub(crate) mod changes;

pub(crate) mod cluster;

pub(crate) mod collapse;

pub(crate) mod compare;

pub(crate) mod copies;

pub(crate) mod crumbs;

pub(crate) mod curve;

pub(crate) mod dedup;

pub(crate) mod demo;

pub(crate) mod drift;

pub(crate) mod export;

pub(crate) mod filtered;

pub(crate) mod find;

pub(crate) mod history;

pub(crate) mod manual;

pub(crate) mod members;

pub(crate) mod plan;

pub(crate) mod resketch;

pub(crate) mod scan;

pub(crate) mod search;

pub(crate) mod serve;

pub(crate) mod sketch;

pub(crate) mod stats;

pub(crate) mod verify;

pub(crate) mod where_is;

use std::env;

use lookalike::core::simd::Level;

use crate::args::{Args, Command};
use crate::failure::{Exit, Failure, Stop};

/// The variable that chooses the instructions.
const SIMD: &str = "LOOKALIKE_SIMD";

/// Runs the command.
pub(crate) fn run(args: Args) -> Result<Exit, Stop> {
    let level = level()?;
    match args.command {
        Command::Scan(scan) => scan.run(args.global),
        Command::Add(add) => add.run(args.global),
        Command::Cluster(cluster) => cluster.run(args.global),
        Command::Export(export) => export.run(args.global),
        Command::Dedup(dedup) => dedup.run(args.global),
        Command::Find(find) => find.run(args.global),
        Command::Members(members) => members.run(args.global),
        Command::Where(page) => page.run(args.global),
        Command::Copies(copies) => copies.run(args.global),
        Command::Drift(drift) => drift.run(args.global),
        Command::History(history) => history.run(args.global),
        Command::Changes(changes) => changes.run(args.global),
        Command::Collapse(collapse) => collapse.run(args.global),
        Command::Crumbs(crumbs) => crumbs.run(args.global),
        Command::Index(index) => index.run(args.global),
        Command::Search(search) => search.run(args.global),
        Command::Plan(plan) => plan.run(args.global),
        Command::Serve(serve) => serve.run(args.global),
        Command::Stats(stats) => stats.run(args.global),
        Command::Verify(verify) => verify.run(args.global),
        Command::Compare(compare) => compare.run(args.global, level),
        Command::Sketch(sketch) => sketch.run(args.global, level),
        Command::Resketch(resketch) => resketch.run(args.global),
        Command::Curve(curve) => curve.run(args.global),
        Command::Demo(demo) => demo.run(),
        Command::Completions(completions) => completions.run(),
        Command::Man(man) => man.run(),
    }
}

fn level() -> Result<Level, Failure> {
    match env::var_os(SIMD).filter(|name| !name.is_empty()) {
        None => Ok(Level::best()),
        Some(name) => name.to_string_lossy().parse().map_err(|wrong| {
            Failure::usage(
                format!("{SIMD}: {wrong}"),
                format!("unset {SIMD} to use the best this processor has"),
            )
        }),
    }
}
