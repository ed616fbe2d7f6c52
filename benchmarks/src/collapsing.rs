//! Ranked lists over real sweeps, and whether one place for each cluster is what they become.
//!
//! ```text
//! sweeps ─► add ─► a hundred words ─► pages that have each, the most of it first ─► collapse
//!             └─► clusters, looked up one by one ─────────────────────────────────┴─► figures
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result};
use lookalike::add::{AddOptions, add};
use lookalike::collapse::{Ground, Ranked, Show, collapse};
use lookalike::corpus::inputs::Inputs;
use lookalike::find::Finder;
use tempfile::TempDir;

use crate::figures::{Figures, Target};
use crate::lost;

/// Results of a list.
pub const RESULTS: usize = 100;

/// Lists.
pub const QUERIES: usize = 100;

/// A collection of all sweeps of a site.
pub fn collection(site: &Path) -> Result<(Finder, TempDir)> {
    let folder = tempfile::tempdir()?;
    let place = folder.path().join("c.lk");
    let options = AddOptions::default();
    for (_, path) in lost::sweeps(site)? {
        let inputs = Inputs::expand(&[&path], &options.reading);
        add(&place, &inputs, &options, &mut |_| {})?;
    }
    Ok((Finder::open(&place, None)?, folder))
}

/// Addresses in the order of how often their page has a word, for a hundred words that
/// many pages have.
pub fn ranked_lists(finder: &Finder) -> Result<Vec<(String, Vec<String>)>> {
    let collection = finder.collection();
    let docs: Vec<u32> = (0..collection.documents()).collect();
    let mut words: BTreeMap<String, BTreeMap<u32, u32>> = BTreeMap::new();
    for (doc, text) in docs.iter().zip(collection.texts(&docs)?) {
        let text = text.context("the sources are there")?.to_lowercase();
        for word in text.split(|letter: char| !letter.is_ascii_alphabetic()) {
            if word.len() >= 5 {
                *words
                    .entry(word.to_owned())
                    .or_default()
                    .entry(*doc)
                    .or_default() += 1;
            }
        }
    }
    words.retain(|_, docs| docs.len() >= 2 * RESULTS);
    let step = (words.len() / QUERIES).max(1);
    let chosen = words.into_iter().step_by(step).take(QUERIES);
    let mut lists = Vec::new();
    for (word, docs) in chosen {
        let mut docs: Vec<(u32, u32)> = docs.into_iter().collect();
        docs.sort_by_key(|(doc, count)| (std::cmp::Reverse(*count), *doc));
        let mut urls = Vec::new();
        for (doc, _) in docs.into_iter().take(RESULTS) {
            let (_, url) = collection.strings(doc, &collection.entry(doc)?)?;
            urls.push(url.context("pages have addresses")?);
        }
        lists.push((word, urls));
    }
    Ok(lists)
}

/// Every list against its clusters.
pub fn judge_collapsed(figures: &mut Figures, site: &Path, name: &str) -> Result<()> {
    let (finder, _folder) = collection(site)?;
    let collection = finder.collection();
    let clustering = finder.clustering().context("`add` makes one")?;
    let (mut twice, mut lost, mut disordered, mut missing) = (0, 0, 0, 0);
    let lists = ranked_lists(&finder)?;
    for (_, urls) in &lists {
        let result = |(rank, url): (u32, &String)| Ranked {
            rank,
            url: Some(url.clone()),
            ..Ranked::default()
        };
        let results: Vec<Ranked> = (1..).zip(urls).map(result).collect();
        let ground = Ground {
            clustered: Some((collection, clustering)),
            finder: None,
            sketcher: None,
            policy: collection.state().clusterings[0].policy,
        };
        let found = collapse(&results, ground, Show::BestRanked)?;
        let mut of_list = BTreeSet::new();
        for url in urls {
            let doc = collection.newest_named(url)?.context("it is known")?;
            of_list.insert(clustering.member(doc)?.cluster);
        }
        let mut shown = BTreeSet::new();
        for group in &found.groups {
            let doc = collection.newest_named(&urls[group.shown])?;
            let cluster = clustering.member(doc.context("it is known")?)?.cluster;
            twice += usize::from(!shown.insert(cluster));
        }
        lost += of_list.difference(&shown).count();
        let places: Vec<usize> = found.groups.iter().map(|group| group.results[0]).collect();
        disordered += usize::from(!places.is_sorted());
        let told: usize = found.groups.iter().map(|group| group.results.len()).sum();
        missing += urls.len().abs_diff(told);
    }
    let all = lists.len();
    let none = Target::AtMost(0.0);
    figures.count(
        &format!("{name}: shown results of a cluster shown before, {all} lists"),
        twice,
        none,
    );
    figures.count(
        &format!("{name}: clusters of a list that do not show"),
        lost,
        none,
    );
    figures.count(
        &format!("{name}: lists whose order changed"),
        disordered,
        none,
    );
    figures.count(&format!("{name}: results lost or invented"), missing, none);
    Ok(())
}
