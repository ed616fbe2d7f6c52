//! `lookalike members COLLECTION URL`: the cluster of a document, as it was made before.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use lookalike::clusters::table::Member;
use lookalike::collection::Collection;
use lookalike::collection::entry::Grade;
use lookalike::corpus::date::rfc3339;
use lookalike::storage::StorageError;
use serde_json::{Value, json};

use crate::args::Global;
use crate::collection::{date_of, find_newest, open};
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

/// A document as it is shown.
struct Row {
    doc: u32,
    id: Option<String>,
    url: Option<String>,
    date: Option<String>,
    member: Member,
    resemblance: Option<f64>,
    containment: Option<f64>,
}

impl MembersArgs {
    pub(crate) fn run(self, global: Global) -> Result<Exit, Stop> {
        let collection = open(&self.collection)?;
        let damaged =
            |error: StorageError| Failure::from_collection(&self.collection, &error.into());
        let stored = find_clustering(&collection, self.policy.as_deref())?;
        let asked = find_newest(&collection, &self.name).map_err(damaged)?;
        let asked = asked.ok_or_else(|| Failure {
            exit: Exit::NotFound,
            message: format!("there is no document `{}`", text::excerpt(&self.name, 200)),
            hint: "give a URL or an id just as it stands in the input".to_owned(),
        })?;
        let rows = rows(&collection, stored, asked).map_err(damaged)?;
        let mut out = text::stdout();
        if global.json {
            for row in &rows {
                writeln!(out, "{}", row.json(asked))?;
            }
        } else {
            let mut table = vec![
                ["document", "date", "grade", "resemblance", "contained", ""]
                    .map(str::to_owned)
                    .to_vec(),
            ];
            table.extend(rows.iter().map(|row| row.cells(asked)));
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
) -> Result<Vec<Row>, StorageError> {
    let clustering = collection.clustering(stored)?;
    let cluster = clustering.member(asked)?.cluster;
    let mut docs = clustering.roster(cluster)?;
    if docs.is_empty() {
        docs.push(asked);
    }
    let kind = collection.sketch_kind();
    let mut rows = Vec::with_capacity(docs.len());
    for doc in docs {
        let member = clustering.member(doc)?;
        let entry = collection.entry(doc)?;
        let (id, url) = collection.strings(doc, &entry)?;
        rows.push(Row {
            doc,
            id,
            url,
            date: date_of(collection, doc, &entry).map(rfc3339),
            resemblance: member.resemblance(doc, kind),
            containment: member.containment(doc, kind),
            member,
        });
    }
    rows.sort_by(|x, y| {
        let is_other = |row: &Row| row.doc != row.member.representative;
        let share = |row: &Row| row.resemblance.unwrap_or(0.0);
        is_other(x)
            .cmp(&is_other(y))
            .then(share(y).total_cmp(&share(x)))
            .then(x.doc.cmp(&y.doc))
    });
    Ok(rows)
}

impl Row {
    fn json(&self, asked: u32) -> Value {
        json!({
            "doc": self.doc,
            "id": self.id,
            "url": self.url,
            "date": self.date,
            "grade": self.member.grade().map(Grade::name),
            "resemblance": self.resemblance,
            "containment": self.containment,
            "cluster": self.member.cluster,
            "cluster_size": self.member.size,
            "representative": self.member.representative,
            "is_representative": self.member.representative == self.doc,
            "is_asked": self.doc == asked,
        })
    }

    fn cells(&self, asked: u32) -> Vec<String> {
        let share = |share: Option<f64>| share.map_or_else(String::new, text::percent);
        let name = self.url.as_ref().or(self.id.as_ref());
        let name = name.map_or_else(
            || format!("document {}", self.doc),
            |name| text::excerpt(name, 120),
        );
        let mut marks = Vec::new();
        if self.doc == self.member.representative {
            marks.push("representative");
        }
        if self.doc == asked {
            marks.push("asked for");
        }
        vec![
            name,
            self.date.clone().unwrap_or_default(),
            self.member.grade().map_or("", Grade::name).to_owned(),
            share(self.resemblance),
            share(self.containment),
            marks.join(", "),
        ]
    }
}
