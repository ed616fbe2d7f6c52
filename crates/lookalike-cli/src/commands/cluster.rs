//! `lookalike cluster COLLECTION`: clusters under a policy.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use lookalike::clusters::policy::{Link, Policy, Verify};
use lookalike::clusters::{ClusterOptions, recluster};
use lookalike::collection::state::StoredClustering;
use lookalike_server::wire;

use crate::args::{Global, KeyArgs, MachineArgs, threshold};
use crate::collection::open;
use crate::failure::{Exit, Failure, Stop};
use crate::input::note;
use crate::output::times::Stopwatch;
use crate::output::{text, times};

/// Cluster a collection under a policy, from the pairs it keeps
///
/// Several clusterings live side by side, each named by its policy. Pairs too near the
/// threshold to tell by their sketches are decided on their true value, from the sources
/// read again, where these are still there.
#[derive(Args)]
#[command(after_help = "\
Examples:
  lookalike cluster crawl.lk --resemblance 0.9
  lookalike cluster crawl.lk --containment 0.8 --link star -o clusters.parquet")]
pub(crate) struct ClusterArgs {
    /// The collection
    collection: PathBuf,

    #[command(flatten)]
    policy: PolicyArgs,

    /// Count only clusters of at least N documents, and list only those
    #[arg(long, value_name = "N", default_value = "2")]
    min_size: u32,

    /// Write the table of documents and clusters: .parquet, .jsonl or .csv
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,

    /// The format of the table, where the file's name does not tell
    #[arg(long, value_name = "FORMAT")]
    format: Option<lookalike::tables::Format>,

    #[command(flatten)]
    key: KeyArgs,

    #[command(flatten)]
    machine: MachineArgs,
}

/// Which pairs are linked, and how links become clusters.
#[derive(Args, Clone, Copy)]
#[command(next_help_heading = "Policy")]
pub(crate) struct PolicyArgs {
    /// The least resemblance that joins two documents [default: 0.5, unless --containment
    /// is given]
    #[arg(long, value_name = "R", value_parser = threshold)]
    resemblance: Option<f64>,

    /// Also join two documents when this share of one is in the other
    #[arg(long, value_name = "C", value_parser = threshold)]
    containment: Option<f64>,

    /// How links become clusters: chain (connected components) or star (every member is
    /// linked to its representative)
    #[arg(long, value_name = "LINK", default_value = "chain")]
    link: Link,

    /// What is decided on true values: auto (pairs near the threshold), exact (every pair)
    /// or none (sketches only; what may be at the threshold is joined)
    #[arg(long, value_name = "WHAT", default_value = "auto")]
    verify: Verify,
}

impl PolicyArgs {
    /// The least true resemblance that a filter's pairs are joined by; `None` for all that
    /// it accepts.
    fn of_filter(self) -> Result<Option<f64>, Failure> {
        let wrong = |what: &str| {
            Failure::usage(
                format!("a filter {what}"),
                "leave the policy out to join all that it accepts, or give --resemblance, which reads them again",
            )
        };
        if self.containment.is_some() {
            return Err(wrong("tells nothing of containment"));
        }
        if self.link == Link::Star {
            return Err(wrong("joins by chains only"));
        }
        if self.resemblance.is_some() && self.verify == Verify::None {
            return Err(wrong("knows no resemblance that is not read again"));
        }
        Ok(self.resemblance)
    }

    pub(crate) fn policy(self) -> Policy {
        let neither = self.resemblance.is_none() && self.containment.is_none();
        Policy {
            resemblance: if neither { Some(0.5) } else { self.resemblance },
            containment: self.containment,
            link: self.link,
            verify: self.verify,
        }
    }
}

impl ClusterArgs {
    pub(crate) fn run(self, global: Global) -> Result<Exit, Stop> {
        if let Some(filtered) = crate::commands::filtered::open(&self.collection)? {
            let options = ClusterOptions {
                threads: self.machine.threads(),
                memory: self.machine.memory()?,
            };
            let resemblance = self.policy.of_filter()?;
            let format = crate::commands::export::format_of(self.format, self.output.as_deref())?;
            crate::commands::filtered::spare(&filtered, self.output.as_deref())?;
            let made = crate::commands::filtered::cluster(
                &filtered,
                resemblance,
                self.key.key()?.as_ref(),
                &options,
                self.min_size,
                global,
            )?;
            if let Some(path) = &self.output {
                crate::commands::filtered::export(
                    &self.collection,
                    &made,
                    Some(path),
                    format,
                    self.min_size,
                )?;
            }
            return Ok(Exit::Done);
        }
        let collection = open(&self.collection)?;
        let recipe = self.key.recipe(&collection, &self.collection)?;
        let policy = self.policy.policy();
        let format = crate::commands::export::format_of(self.format, self.output.as_deref())?;
        crate::commands::export::spare(self.output.as_deref(), &collection, &self.collection)?;
        drop(collection);
        let options = ClusterOptions {
            threads: self.machine.threads(),
            memory: self.machine.memory()?,
        };
        let watch = Stopwatch::start();
        let made = recluster(&self.collection, &recipe, &policy, &options)
            .map_err(|error| Failure::from_add(&self.collection, error))?;
        times::record(
            &self.collection,
            "cluster",
            &[("clusters", watch.wall(), watch.cpu())],
        );
        if let Some(path) = &self.output {
            crate::commands::export::write_documents(
                &self.collection,
                &made,
                path,
                format,
                self.min_size,
            )?;
        }
        let summary =
            crate::commands::export::summary_from(&self.collection, &made, self.min_size)?;
        let mut out = text::stdout();
        if global.json {
            writeln!(out, "{}", wire::clustering(&made.policy, &summary))?;
        } else {
            write!(out, "{}", summary_text(&made, &summary))?;
        }
        out.flush()?;
        if policy.containment.is_some() {
            note(global, FEW_SAMPLES);
        }
        Ok(Exit::Done)
    }
}

/// What sketches do not see.
pub(crate) const FEW_SAMPLES: &str = "a short text within one many times as long may have no \
    sample in common with it, and is not found then; `add --samples` keeps more of each";

fn summary_text(
    made: &StoredClustering,
    summary: &lookalike::collection::state::Summary,
) -> String {
    format!("{}\n{}", made.policy, text::columns(&summary_rows(summary)))
}

/// What a clustering came to, as rows of a table.
pub(crate) fn summary_rows(summary: &lookalike::collection::state::Summary) -> Vec<Vec<String>> {
    let row = |what: &str, number: u64| vec![what.to_owned(), text::count(number)];
    let mut rows = vec![
        row("documents", summary.documents),
        row("clusters", summary.clusters),
        row("documents in clusters", summary.clustered_documents),
        row(
            "clusters of identical documents only",
            summary.identical_only_clusters,
        ),
        row("largest cluster", summary.largest),
        row("flagged: chain, template or large", summary.flagged),
        row("pairs decided on true values", summary.verified),
    ];
    if summary.by_estimate > 0 {
        rows.push(row(
            "near pairs decided by estimate alone",
            summary.by_estimate,
        ));
    }
    rows
}
