//! `lookalike members COLLECTION URL`: the cluster of a document, as it was made before.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use lookalike::collection::Collection;
use lookalike::storage::StorageError;
use lookalike_server::wire::MemberRow;
use serde_json::json;

use crate::args::Global;
use crate::collection::open;
use crate::commands::export::find_clustering;
use crate::failure::{Exit, Failure, Stop};
use crate::output::text;

/// List the cluster that a document is in: the highly similar alternatives
///
/// The document is named by its URL or id; of several versions the newest counts. The
/// representative comes first, then the others by their resemblance to it.
#[derive(Args)]
#[command(after_help = "\
Examples:
  lookalike members crawl.lk https://example.org/page
  lookalike members crawl.lk doc-17 --json --policy \"resemblance>=0.9 link=chain verify=auto\"")]
pub(crate) struct MembersArgs {
    /// The collection
    collection: PathBuf,

    /// The URL of a document, or its id
    #[arg(value_name = "URL")]
    name: String,

    /// Which of its clusterings, by its policy [default: the first]
    #[arg(long, value_name = "POLICY")]
    policy: Option<String>,
}

impl MembersArgs {
    pub(crate) fn run(self, global: Global) -> Result<Exit, Stop> {
        if let Some(filtered) = crate::commands::filtered::open(&self.collection)? {
            return crate::commands::filtered::members(
                &filtered,
                &self.name,
                self.policy.as_deref(),
                global,
            );
        }
        let collection = open(&self.collection)?;
        let damaged =
            |error: StorageError| Failure::from_collection(&self.collection, &error.into());
        let stored = find_clustering(&collection, self.policy.as_deref())?;
        let asked = collection.newest_named(&self.name).map_err(damaged)?;
        let asked = asked.ok_or_else(|| Failure {
            exit: Exit::NotFound,
            message: format!("there is no document `{}`", text::excerpt(&self.name, 200)),
            hint: "give a URL or an id just as it stands in the input".to_owned(),
        })?;
        let rows = rows(&collection, stored, asked).map_err(damaged)?;
        let mut out = text::stdout();
        if global.json {
            for row in &rows {
                let mut line = json!(row);
                line["is_asked"] = json!(row.named.doc == asked);
                writeln!(out, "{line}")?;
            }
        } else {
            let mut table = vec![
                ["document", "date", "grade", "resemblance", "contained", ""]
                    .map(str::to_owned)
                    .to_vec(),
            ];
            table.extend(rows.iter().map(|row| cells(row, asked)));
            write!(out, "{}", text::columns(&table))?;
        }
        out.flush()?;
        if rows.len() == 1 && !global.quiet {
            let policy = stored.policy;
            let _ = writeln!(
                anstream::stderr(),
                "no alternatives: it is alone under {policy}"
            );
        }
        Ok(Exit::Done)
    }
}

/// The documents of the cluster, the representative first.
fn rows(
    collection: &Collection,
    stored: &lookalike::collection::state::StoredClustering,
    asked: u32,
) -> Result<Vec<MemberRow>, StorageError> {
    let clustering = collection.clustering(stored)?;
    let cluster = clustering.member(asked)?.cluster;
    let mut docs = clustering.roster(cluster)?;
    if docs.is_empty() {
        docs.push(asked);
    }
    let row = |doc: u32| MemberRow::of(collection, doc, &clustering.member(doc)?);
    let mut rows: Vec<MemberRow> = docs.into_iter().map(row).collect::<Result<_, _>>()?;
    rows.sort_by(MemberRow::order);
    Ok(rows)
}

fn cells(row: &MemberRow, asked: u32) -> Vec<String> {
    let share = |share: Option<f64>| share.map_or_else(String::new, text::percent);
    let mut marks = Vec::new();
    if row.is_representative {
        marks.push("representative");
    }
    if row.named.doc == asked {
        marks.push("asked for");
    }
    vec![
        text::excerpt(&row.named.title(), 120),
        row.named.date.clone().unwrap_or_default(),
        row.grade.unwrap_or("").to_owned(),
        share(row.resemblance),
        share(row.containment),
        marks.join(", "),
    ]
}
