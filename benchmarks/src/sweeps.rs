//! What `changes` counts from sweep to sweep, against what is recorded.
//!
//! ```text
//! dated files ─► add, all at once and one by one ─► changes ─┐
//! fates.tsv, lost_oracle.tsv: every page of every sweep ─────┴─► differences, per interval
//! ```

use anyhow::{Context, Result};
use lookalike::add::add;
use lookalike::core::recipe::Recipe;
use lookalike::corpus::inputs::Inputs;
use lookalike::corpus::read::read_source;
use lookalike::find::Finder;
use lookalike::sweeps::{Changes, Followed};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use crate::collections::{Files, options};
use crate::corpora::read_text;
use crate::figures::{Figures, Target};

/// Whether moves are judged.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Moves {
    /// They are: how many were recorded, and of how many the text is findable, is known.
    Recorded,
    /// They are not.
    Unrecorded,
}

/// What happened in a collection of files, added part by part.
fn changes(parts: &[&[PathBuf]], files: &Files<'_>) -> Result<Changes> {
    let folder = tempfile::tempdir()?;
    let place = folder.path().join("c");
    let options = options(files, &Recipe::default());
    for part in parts {
        let inputs = Inputs::expand(part, &options.reading);
        add(&place, &inputs, &options, &mut |_| {})?;
    }
    let finder = Finder::open(&place, None)?;
    Ok(Changes::of(&finder, &Followed::of(&finder)?, None)?)
}

/// What is recorded of one interval.
#[derive(Default)]
struct Recorded {
    unchanged: BTreeSet<String>,
    changed: BTreeSet<String>,
    moved: BTreeSet<String>,
    gone: BTreeSet<String>,
    /// Of what disappeared, pages that some page resembles by half.
    findable: BTreeSet<String>,
}

/// The days of an interval.
type Days = (String, String);

fn recorded(folder: &Path) -> Result<BTreeMap<Days, Recorded>> {
    let mut all: BTreeMap<Days, Recorded> = BTreeMap::new();
    for line in read_text(&folder.join("fates.tsv.gz"))?.lines().skip(1) {
        let [from, to, url, fate] = columns(line)?;
        let interval = all.entry((from.to_owned(), to.to_owned())).or_default();
        let set = match fate {
            "unchanged" => &mut interval.unchanged,
            "changed" => &mut interval.changed,
            "moved" => &mut interval.moved,
            _ => &mut interval.gone,
        };
        set.insert(url.to_owned());
    }
    for line in read_text(&folder.join("lost_oracle.tsv"))?.lines().skip(1) {
        let [from, to, url, _, _, _, _, _, resemblance] = columns(line)?;
        if resemblance.parse().unwrap_or(0.0) >= 0.5 {
            let interval = all.entry((from.to_owned(), to.to_owned())).or_default();
            interval.findable.insert(url.to_owned());
        }
    }
    Ok(all)
}

/// The first columns of a line with tabs between.
pub(crate) fn columns<const N: usize>(line: &str) -> Result<[&str; N]> {
    let columns: Vec<&str> = line.split('\t').take(N).collect();
    let columns = columns.try_into();
    columns
        .ok()
        .with_context(|| format!("too few columns: {line}"))
}

/// The URLs of each file, by the day that the file is named after.
fn seen(files: &Files<'_>) -> Result<BTreeMap<String, BTreeSet<String>>> {
    let options = options(files, &Recipe::default());
    let mut all = BTreeMap::new();
    for source in &Inputs::expand(&files.paths, &options.reading).sources {
        let mut urls = BTreeSet::new();
        read_source(source, &options.reading, &mut |batch| {
            batch.for_each(&mut |record| {
                if let Ok(record) = record {
                    urls.extend(record.url.as_deref().map(str::to_owned));
                }
            });
            ControlFlow::Continue(())
        })?;
        let name = source.path.file_name().unwrap_or_default();
        all.insert(name.to_string_lossy().chars().take(10).collect(), urls);
    }
    Ok(all)
}

/// Every interval of a corpus of dated sweeps, judged.
pub fn judge_sweeps(
    figures: &mut Figures,
    folder: &Path,
    files: &Files<'_>,
    moves: Moves,
) -> Result<()> {
    let name = files.name;
    let told = changes(&[&files.paths], files)?;
    let parts: Vec<&[PathBuf]> = files.paths.chunks(1).collect();
    let apart = changes(&parts, files)?;
    figures.count(
        &format!("{name}: sweeps, of so many files in one add"),
        told.sweeps.len(),
        Target::Is(files.paths.len() as f64),
    );
    figures.count(
        &format!("{name}: whether adding one by one tells anything else"),
        usize::from(told != apart),
        Target::Is(0.0),
    );
    let (recorded, seen) = (recorded(folder)?, seen(files)?);
    let day = |name: &str| name.chars().take(10).collect::<String>();
    for (sweeps, interval) in told.sweeps.windows(2).zip(&told.intervals) {
        let days = (day(&sweeps[0].name), day(&sweeps[1].name));
        let expected = recorded
            .get(&days)
            .context("an interval that is recorded")?;
        let (before, after) = (&seen[&days.0], &seen[&days.1]);
        let row = |what: &str| format!("{name}, {} to {}: {what}", days.0, days.1);
        let exact = |number: usize| Target::Is(number as f64);
        let count = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let fates = &interval.fates;
        let (unchanged, changed) = (expected.unchanged.len(), expected.changed.len());
        figures.count(&row("unchanged"), count(fates.unchanged), exact(unchanged));
        figures.count(&row("changed"), count(fates.changed), exact(changed));
        let born = after.difference(before).count();
        figures.count(&row("born"), count(fates.born), exact(born));
        let elsewhere = count(fates.moved_within_host + fates.moved_between_hosts);
        figures.count(
            &row("moved and died"),
            elsewhere + count(fates.died),
            exact(expected.moved.len() + expected.gone.len()),
        );
        let (findable, on_record) = (expected.findable.len(), expected.moved.len());
        let target = match moves {
            Moves::Recorded => Target::Within(
                findable.min(on_record) as f64,
                findable.max(on_record) as f64,
            ),
            Moves::Unrecorded => Target::None,
        };
        figures.count(
            &row("moved, between what is findable and what is recorded"),
            elsewhere,
            target,
        );
    }
    Ok(())
}
