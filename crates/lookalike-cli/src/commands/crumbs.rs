//! `lookalike crumbs COLLECTION`: addresses that serve the same page, as rules.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use lookalike::crumbs::{CrumbOptions, Crumbs, Learnt, Pages, Savings};
use lookalike::storage::StorageError;
use serde_json::{Value, json};

use crate::args::{Global, threshold};
use crate::collection::open_mapped;
use crate::failure::{Exit, Failure, Stop};
use crate::input::note;
use crate::output::text;

/// Learn which addresses serve the same page: session ids, parameters, mirrors
///
/// A rule is told only where the collection has the same page with and without, or under
/// both names, in one sweep, for several different pages, and no page that speaks against
/// it. Rules come as regular expressions too, for a crawler to spare itself the fetches.
#[derive(Args)]
#[command(after_help = "\
Examples:
  lookalike crumbs crawl.lk
  lookalike crumbs crawl.lk --apply
  lookalike crumbs crawl.lk --format regex > rules.tsv")]
pub(crate) struct CrumbsArgs {
    /// The collection
    collection: PathBuf,

    /// How rules are written; json gives one object a rule
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: RuleFormat,

    /// Different pages that must speak for a rule
    #[arg(long, value_name = "N", default_value_t = CrumbOptions::default().min_support)]
    min_support: usize,

    /// The share of the evidence that must speak for it
    #[arg(long, value_name = "P", default_value_t = CrumbOptions::default().min_precision, value_parser = threshold)]
    min_precision: f64,

    /// Say how many fetches the rules would have saved
    #[arg(long)]
    apply: bool,
}

/// How rules are written.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
enum RuleFormat {
    /// For people, with examples
    Text,
    /// One object a line
    Json,
    /// A regular expression, a tab, and what to put in its place
    Regex,
    /// A table with tabs between
    Tsv,
}

impl CrumbsArgs {
    pub(crate) fn run(self, global: Global) -> Result<Exit, Stop> {
        let collection = open_mapped(&self.collection)?;
        let damaged =
            |error: StorageError| Failure::from_collection(&self.collection, &error.into());
        let pages = Pages::of(&collection).map_err(damaged)?;
        let options = CrumbOptions {
            min_support: self.min_support,
            min_precision: self.min_precision,
        };
        let crumbs = Crumbs::learn(&pages, &options);
        let savings = self.apply.then(|| crumbs.savings(&pages));
        let format = if global.json {
            RuleFormat::Json
        } else {
            self.format
        };
        let mut out = text::stdout();
        match format {
            RuleFormat::Text => tell(&mut out, &crumbs)?,
            RuleFormat::Json => {
                for learnt in &crumbs.rules {
                    writeln!(out, "{}", object(learnt))?;
                }
            }
            RuleFormat::Regex => {
                for one in crumbs.rules.iter().flat_map(|one| one.rule.substitutions()) {
                    writeln!(out, "{}\t{}", one.pattern, one.replacement)?;
                }
            }
            RuleFormat::Tsv => table(&mut out, &crumbs)?,
        }
        match (savings, format) {
            (None, _) => {}
            (Some(savings), RuleFormat::Text) => writeln!(out, "{}", saved(savings))?,
            (Some(savings), RuleFormat::Json) => {
                let Savings {
                    fetched,
                    enough,
                    different,
                } = savings;
                let saved = fetched - enough;
                let told = json!({ "fetched": fetched, "enough": enough, "saved": saved, "different": different });
                writeln!(out, "{}", json!({ "apply": told }))?;
            }
            (Some(savings), _) => note(global, &saved(savings)),
        }
        out.flush()?;
        let addresses =
            text::counted(pages.addresses(), "address").replace("addresss", "addresses");
        let without = pages.without_address();
        let mut said = format!(
            "{} in {addresses}",
            text::counted(crumbs.rules.len(), "rule")
        );
        if without > 0 {
            said = format!("{said}; {} without an address", text::count(without));
        }
        note(global, &said);
        Ok(Exit::Done)
    }
}

/// What a crawler would have been spared, for people.
fn saved(savings: Savings) -> String {
    let Savings {
        fetched,
        enough,
        different,
    } = savings;
    let saved = fetched - enough;
    let share = saved as f64 / fetched.max(1) as f64;
    let mut said = format!(
        "{} of {} fetches saved ({})",
        text::count(saved),
        text::count(fetched),
        text::percent(share)
    );
    if different > 0 {
        let lag = format!("; {} of them had other words", text::count(different));
        said.push_str(&lag);
    }
    said
}

/// A rule as JSON.
fn object(learnt: &Learnt) -> Value {
    let Learnt { rule, evidence } = learnt;
    let regex = rule.substitutions().into_iter().map(|one| {
        json!({
            "pattern": one.pattern,
            "replacement": one.replacement,
        })
    });
    let regex: Vec<Value> = regex.collect();
    json!({
        "kind": rule.kind(),
        "rule": rule.to_string(),
        "host": rule.origin(),
        "support": evidence.support,
        "pages": evidence.pages,
        "against": evidence.against,
        "lagging": evidence.lagging,
        "precision": evidence.precision(),
        "precision_low": evidence.precision_low(),
        "examples": evidence.examples,
        "contradictions": evidence.contradictions,
        "regex": regex,
    })
}

/// Rules for people.
fn tell(out: &mut impl Write, crumbs: &Crumbs) -> io::Result<()> {
    for Learnt { rule, evidence } in &crumbs.rules {
        writeln!(out, "{}", text::excerpt(&rule.to_string(), 300))?;
        let mut said = vec![
            format!(
                "{} for it",
                text::counted(evidence.support, "different page")
            ),
            format!("{} against", text::count(evidence.against as u64)),
        ];
        if evidence.lagging > 0 {
            said.push(format!("{} behind", text::count(evidence.lagging as u64)));
        }
        let precision = text::percent(evidence.precision());
        let low = text::percent(evidence.precision_low());
        said.push(format!("right {precision}, at least {low}"));
        writeln!(out, "  {}", said.join(", "))?;
        for (a, b) in &evidence.examples {
            let (a, b) = (text::excerpt(a, 200), text::excerpt(b, 200));
            writeln!(out, "  = {a}\n    {b}")?;
        }
        for (a, b) in &evidence.contradictions {
            let (a, b) = (text::excerpt(a, 200), text::excerpt(b, 200));
            writeln!(out, "  ≠ {a}\n    {b}")?;
        }
    }
    Ok(())
}

/// One row for each regular expression.
fn table(out: &mut impl Write, crumbs: &Crumbs) -> io::Result<()> {
    let head =
        "kind\thost\tsupport\tagainst\tlagging\tprecision\tprecision_low\tpattern\treplacement";
    writeln!(out, "{head}")?;
    for Learnt { rule, evidence } in &crumbs.rules {
        for one in rule.substitutions() {
            writeln!(
                out,
                "{}\t{}\t{}\t{}\t{}\t{}\t{:.4}\t{}\t{}",
                rule.kind(),
                rule.origin(),
                evidence.support,
                evidence.against,
                evidence.lagging,
                evidence.precision(),
                evidence.precision_low(),
                one.pattern,
                one.replacement,
            )?;
        }
    }
    Ok(())
}
