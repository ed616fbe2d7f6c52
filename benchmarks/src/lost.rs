//! What `where` tells of pages that vanished, against what became of them.
//!
//! ```text
//! two sweeps ─► add ─► where, for each page of the first that the second has not ─┐
//! what the site's history says of it ────────────────────────────────────────────┴─► figures
//! ```

use std::path::{Path, PathBuf};

use anyhow::Result;
use lookalike::add::{AddOptions, add};
use lookalike::corpus::inputs::Inputs;
use lookalike::find::Finder;
use lookalike::sweeps::{Evidence, Status, Trail, Whereabouts};
use tempfile::TempDir;

use crate::clock;
use crate::corpora::read_text;
use crate::figures::{Figures, Target};
use crate::sweeps::columns;

/// A page that the next sweep has not, and what became of it.
#[derive(Clone)]
pub struct Vanished {
    /// The sweep that saw it last.
    pub from: String,
    /// Its address.
    pub url: String,
    /// Where its history says it went.
    pub recorded: Option<String>,
    /// How sure that is: `A`, `B`, `C`, or nothing.
    pub grade: String,
    /// The best resemblance of any page of the next sweep.
    pub best_resemblance: f64,
    /// Whether that page is where its history says it went.
    pub is_found_by_force: bool,
}

/// All pages of a site that vanished from one sweep to the next.
pub fn vanished(site: &Path) -> Result<Vec<Vanished>> {
    let text = read_text(&site.join("lost_oracle.tsv"))?;
    let page = |line| {
        let [from, _, url, _, recorded, grade, _, best, resemblance] = columns(line)?;
        Ok(Vanished {
            is_found_by_force: !recorded.is_empty() && best == recorded,
            from: from.to_owned(),
            url: url.to_owned(),
            recorded: (!recorded.is_empty()).then(|| recorded.to_owned()),
            grade: grade.to_owned(),
            best_resemblance: resemblance.parse().unwrap_or(0.0),
        })
    };
    text.lines().skip(1).map(page).collect()
}

/// The sweeps of a site, by date.
pub fn sweeps(site: &Path) -> Result<Vec<(String, PathBuf)>> {
    let mut sweeps = Vec::new();
    for entry in std::fs::read_dir(site.join("sweeps"))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        sweeps.push((name.chars().take(10).collect(), path));
    }
    sweeps.sort();
    Ok(sweeps)
}

/// A collection of some sweeps.
pub fn collection(paths: &[&Path]) -> Result<(Finder, Trail, TempDir)> {
    let folder = tempfile::tempdir()?;
    let place = folder.path().join("c");
    let options = AddOptions::default();
    for path in paths {
        let inputs = Inputs::expand(&[path], &options.reading);
        add(&place, &inputs, &options, &mut |_| {})?;
    }
    let finder = Finder::open(&place, None)?;
    let trail = Trail::of(finder.collection())?;
    Ok((finder, trail, folder))
}

/// What is told of every page that vanished, by collections of two sweeps.
pub fn told(site: &Path) -> Result<Vec<(Vanished, Whereabouts)>> {
    let sweeps = sweeps(site)?;
    let mut told = Vec::new();
    let mut all = vanished(site)?;
    for pair in sweeps.windows(2) {
        let [(from, old), (_, new)] = pair else {
            continue;
        };
        let (finder, trail, _folder) = collection(&[old, new])?;
        let (now, later) = all.into_iter().partition(|page| page.from == *from);
        all = later;
        let now: Vec<Vanished> = now;
        for page in now {
            let place = trail.whereabouts(&finder, &page.url)?;
            told.push((page, place));
        }
    }
    Ok(told)
}

/// Addresses, and what speaks for each.
type Places = Vec<(String, Evidence)>;

/// What speaks for each place of every page that vanished.
pub fn traced(site: &Path) -> Result<Vec<(Vanished, Places)>> {
    let mut traced = Vec::new();
    let all = vanished(site)?;
    let sweeps = sweeps(site)?;
    for pair in sweeps.windows(2) {
        let [(from, old), (_, new)] = pair else {
            continue;
        };
        let (finder, trail, _folder) = collection(&[old, new])?;
        for page in all.iter().filter(|page| page.from == *from) {
            traced.push((page.clone(), trail.evidence(&finder, &page.url)?));
        }
    }
    Ok(traced)
}

/// How the moves of a site are known.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Known {
    /// From its history, commit by commit.
    Recorded,
    /// From its releases: what was rewritten between two of them passes for gone, so only
    /// what brute force over full texts finds is asked for.
    Released,
}

impl Known {
    /// What is asked for where every move is recorded.
    fn target(self, target: Target) -> Target {
        match self {
            Known::Recorded => target,
            Known::Released => Target::None,
        }
    }
}

/// Where the recorded place stands among those that are told; past all if it does not.
fn place(page: &Vanished, said: &Whereabouts) -> usize {
    let is_it = |url: &String| Some(url) == page.recorded.as_ref();
    let there = said.now.iter().position(|now| is_it(&now.url));
    there.unwrap_or(usize::MAX)
}

/// Lost and found on a site whose moves are known.
pub fn judge_lost(figures: &mut Figures, site: &Path, name: &str, known: Known) -> Result<()> {
    let begin = clock::process()?;
    let told = told(site)?;
    let seconds = clock::process()? - begin;
    let sure = |page: &Vanished| page.grade == "A";
    let moved: Vec<usize> = told
        .iter()
        .filter(|(page, _)| sure(page))
        .map(|(page, said)| place(page, said))
        .collect();
    let within = |n: usize| moved.iter().filter(|place| **place < n).count();
    let count = moved.len();
    let by_force = told
        .iter()
        .filter(|(page, _)| sure(page) && page.is_found_by_force);
    let by_force = by_force.count() as f64;
    figures.count(
        &format!("{name}: where has the recorded place first, of {count} moves"),
        within(1),
        Target::AtLeast(by_force),
    );
    figures.count(
        &format!("{name}: among the first three, of {count}"),
        within(3),
        known.target(Target::AtLeast(283.0)),
    );
    let gone = told
        .iter()
        .filter(|(page, _)| page.recorded.is_none() && page.best_resemblance < 0.5);
    let gone: Vec<bool> = gone
        .map(|(_, said)| {
            said.status == Status::Gone || said.confidence.is_none_or(|sure| sure < 0.5)
        })
        .collect();
    let kept = gone.iter().filter(|is_right| **is_right).count();
    figures.share(
        &format!(
            "{name}: gone or doubtful, of {} pages that are gone",
            gone.len()
        ),
        kept as f64 / gone.len() as f64,
        known.target(Target::AtLeast(0.97)),
    );
    figures.number(
        &format!(
            "{name}: CPU for all {} pages, adding the sweeps too, s",
            told.len()
        ),
        seconds,
        2,
        Target::AtMost(10.0),
    );
    judge_confidence(figures, &told, name, known);
    Ok(())
}

/// How often what is said with some confidence is so.
fn judge_confidence(
    figures: &mut Figures,
    told: &[(Vanished, Whereabouts)],
    name: &str,
    known: Known,
) {
    let mut bins = [(0_u32, 0.0, 0_u32); 5];
    for (page, said) in told {
        let is_doubtful = page.recorded.is_none() && page.best_resemblance >= 0.5;
        let Some(best) = said.now.first() else {
            continue;
        };
        if is_doubtful || page.grade == "C" {
            continue;
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a share of five"
        )]
        let bin = &mut bins[((best.confidence * 5.0) as usize).min(4)];
        bin.0 += 1;
        bin.1 += best.confidence;
        bin.2 += u32::from(place(page, said) == 0);
    }
    let (mut all, mut off) = (0.0, 0.0);
    for (number, (count, sum, right)) in bins.iter().enumerate() {
        let mean = sum / f64::from((*count).max(1));
        let name = format!(
            "{name}: right when confidence is {:.1} to {:.1}, said {:.0} %, of {count}",
            number as f64 / 5.0,
            (number + 1) as f64 / 5.0,
            100.0 * mean,
        );
        let share = f64::from(*right) / f64::from((*count).max(1));
        all += f64::from(*count);
        off += f64::from(*count) * (share - mean).abs();
        // Chance alone moves a share by two standard errors.
        let chance = 2.0 * (mean * (1.0 - mean) / f64::from((*count).max(1))).sqrt();
        let low = (mean - 0.1 - chance).max(0.0);
        let high = (mean + 0.1 + chance).min(1.0);
        figures.share(&name, share, known.target(Target::Within(low, high)));
    }
    figures.number(
        &format!("{name}: how far confidence is off, on average"),
        off / all,
        3,
        known.target(Target::AtMost(0.08)),
    );
}
