//! Clusters of whole corpora, made as a user makes them, against exact truth.
//!
//! ```text
//! files of a corpus ─► add, cluster ─► who is with whom ─┐
//!                  └─► all shingle sets, all pairs ─► single link ─┴─► recall, precision
//! ```
//!
//! The truth is by our own tokens: how these differ from the truth files' is another
//! table's business.

use anyhow::{Context, Result};
use lookalike::add::{AddOptions, add};
use lookalike::clusters::policy::{Link, Policy, Verify};
use lookalike::clusters::{ClusterOptions, recluster};
use lookalike::collection::Collection;
use lookalike::collection::state::StoredClustering;
use lookalike::core::components::DisjointSets;
use lookalike::core::estimate::Overlap;
use lookalike::core::recipe::Recipe;
use lookalike::core::shingle::{ShingleIds, Shingling, Width};
use lookalike::corpus::inputs::Inputs;
use lookalike::corpus::options::ReadOptions;
use lookalike::corpus::read::read_source;
use lookalike::pairs::Pair;
use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use crate::figures::{Figures, Target};

/// A corpus as files to add.
pub struct Files<'a> {
    /// What to call it.
    pub name: &'a str,
    /// The files, in order.
    pub paths: Vec<PathBuf>,
    /// The field with the text.
    pub text_field: &'a str,
}

/// Exact pairs of a corpus, and how many documents it has.
pub(crate) struct Truth {
    /// Sets of shingles, in the order the reader gives the documents.
    pub(crate) sets: Vec<Vec<u32>>,
    /// Their URLs.
    pub(crate) names: Vec<String>,
    /// Later, earlier, overlap, for all pairs with anything much in common.
    pub(crate) pairs: Vec<(u32, u32, Overlap)>,
}

/// Pairs below this are of no interest to any policy here.
const LEAST: f64 = 0.2;

pub(crate) fn options(files: &Files<'_>, recipe: &Recipe) -> AddOptions {
    AddOptions {
        recipe: recipe.clone(),
        reading: ReadOptions {
            text_field: files.text_field.to_owned(),
            ..ReadOptions::default()
        },
        threads: NonZeroUsize::new(2).unwrap_or(NonZeroUsize::MIN),
        memory: 512 << 20,
        ..AddOptions::default()
    }
}

pub(crate) fn truth(files: &Files<'_>, options: &AddOptions) -> Result<Truth> {
    let inputs = Inputs::expand(&files.paths, &options.reading);
    let mut ids = ShingleIds::new(options.recipe.width, Shingling::Set);
    let (mut sets, mut names) = (Vec::new(), Vec::new());
    for source in &inputs.sources {
        read_source(source, &options.reading, &mut |batch| {
            batch.for_each(&mut |record| {
                if let Ok(record) = record
                    && let Ok(document) = record.document(&options.reading)
                {
                    let tokens = document.tokens(&options.recipe);
                    if !tokens.is_empty() {
                        sets.push(ids.set(&tokens));
                        names.push(record.url.as_deref().unwrap_or_default().to_owned());
                    }
                }
            });
            ControlFlow::Continue(())
        })
        .with_context(|| format!("cannot read `{}`", source.name))?;
    }
    let mut holders: Vec<Vec<u32>> = vec![Vec::new(); ids.len()];
    let mut counts: HashMap<u32, usize> = HashMap::new();
    let mut pairs = Vec::new();
    for (a, set) in sets.iter().enumerate() {
        let doc = u32::try_from(a)?;
        for &shingle in set {
            let holders = &mut holders[shingle as usize];
            for &earlier in holders.iter() {
                *counts.entry(earlier).or_insert(0) += 1;
            }
            holders.push(doc);
        }
        let mut met: Vec<(u32, usize)> = counts.drain().collect();
        met.sort_unstable();
        for (b, common) in met {
            let overlap = Overlap {
                a: set.len(),
                b: sets[b as usize].len(),
                common,
            };
            let most = [overlap.resemblance(), overlap.a_in_b(), overlap.b_in_a()];
            if most.into_iter().flatten().fold(0.0, f64::max) >= LEAST {
                pairs.push((doc, b, overlap));
            }
        }
    }
    Ok(Truth { sets, names, pairs })
}

/// Two ways of putting documents together, compared pair by pair.
pub struct Agreement {
    /// The share of true pairs that are in one cluster.
    pub recall: f64,
    /// The share of pairs put together that single link puts together as well.
    pub precision: f64,
    /// Whether the clusters are the very same.
    pub is_equal: bool,
}

/// Compares clusters with single-link clusters of true pairs.
pub fn agreement(found: &[u32], single_link: &[u32], true_pairs: &[(u32, u32)]) -> Agreement {
    let together = true_pairs
        .iter()
        .filter(|(a, b)| found[*a as usize] == found[*b as usize])
        .count();
    let pairs_of = |keys: &mut dyn Iterator<Item = (u32, u32)>| -> u64 {
        let mut sizes: HashMap<(u32, u32), u64> = HashMap::new();
        for key in keys {
            *sizes.entry(key).or_insert(0) += 1;
        }
        sizes.values().map(|n| n * (n - 1) / 2).sum()
    };
    let put = pairs_of(&mut found.iter().map(|&cluster| (cluster, 0)));
    let right = pairs_of(&mut found.iter().copied().zip(single_link.iter().copied()));
    let wanted = pairs_of(&mut single_link.iter().map(|&cluster| (cluster, 0)));
    let share = |part: u64, whole: u64| {
        if whole == 0 {
            1.0
        } else {
            part as f64 / whole as f64
        }
    };
    Agreement {
        recall: share(together as u64, true_pairs.len() as u64),
        precision: share(right, put),
        is_equal: put == right && wanted == right,
    }
}

fn clusters_of(collection: &Collection, stored: &StoredClustering) -> Result<Vec<u32>> {
    let mut members = collection.clustering(stored)?.members()?;
    let mut all = Vec::new();
    while let Some(member) = members.next_record()? {
        all.push(member.cluster);
    }
    Ok(all)
}

/// Judges clusters of a corpus at several thresholds, verified in every way there is.
pub fn judge_clusters(
    figures: &mut Figures,
    files: &Files<'_>,
    width: Width,
    thresholds: &[f64],
) -> Result<()> {
    let recipe = Recipe {
        width,
        ..Recipe::default()
    };
    let options = options(files, &recipe);
    let truth = truth(files, &options)?;
    let folder = tempfile::tempdir()?;
    let folder = folder.path().join("c");
    let inputs = Inputs::expand(&files.paths, &options.reading);
    add(&folder, &inputs, &options, &mut |_| {})?;
    let name = files.name;
    // A document read twice is one: documents are in the order of reading otherwise.
    let count = Collection::open(&folder)?.documents() as usize;
    figures.count(
        &format!("{name}: documents, of those read"),
        count,
        Target::Is(truth.sets.len() as f64),
    );
    if count != truth.sets.len() {
        return Ok(());
    }
    let machine = ClusterOptions {
        threads: options.threads,
        memory: options.memory,
    };
    for &threshold in thresholds {
        let similar = |overlap: &Overlap| overlap.resemblance().is_some_and(|r| r >= threshold);
        let true_pairs: Vec<(u32, u32)> = truth
            .pairs
            .iter()
            .filter(|(_, _, overlap)| similar(overlap))
            .map(|(a, b, _)| (*a, *b))
            .collect();
        let mut sets = DisjointSets::new(u32::try_from(count)?);
        for &(a, b) in &true_pairs {
            sets.join(a, b);
        }
        let single: Vec<u32> = (0..u32::try_from(count)?)
            .map(|doc| sets.find(doc))
            .collect();
        for verify in [Verify::None, Verify::Auto, Verify::Exact] {
            let policy = Policy {
                resemblance: Some(threshold),
                containment: None,
                link: Link::Chain,
                verify,
            };
            let stored = recluster(&folder, &recipe, &policy, &machine)?;
            let collection = Collection::open(&folder)?;
            let found = clusters_of(&collection, &stored)?;
            let agreement = agreement(&found, &single, &true_pairs);
            let (recall, precision) = match verify {
                Verify::None => (Target::AtLeast(0.995), Target::None),
                Verify::Auto => (Target::AtLeast(0.999), Target::AtLeast(0.999)),
                Verify::Exact => (Target::Is(1.0), Target::Is(1.0)),
            };
            let what = format!("{name} at {threshold}, --verify {verify}");
            figures.share(
                &format!("{what}: true pairs in one cluster"),
                agreement.recall,
                recall,
            );
            figures.share(
                &format!("{what}: pairs together that single link joins too"),
                agreement.precision,
                precision,
            );
            match verify {
                Verify::None => near_enough(figures, &what, &collection, &stored, &truth)?,
                Verify::Exact => {
                    let equal = usize::from(agreement.is_equal);
                    figures.count(&format!("{what}: clusters equal"), equal, Target::Is(1.0));
                    let wrong = wrong_values(&collection, &stored, &truth)?;
                    figures.count(&format!("{what}: values not exact"), wrong, Target::Is(0.0));
                }
                Verify::Auto => figures.note(
                    &format!("{what}: verified, by estimate"),
                    &format!(
                        "{}, {}",
                        stored.summary.verified, stored.summary.by_estimate
                    ),
                ),
            }
        }
    }
    Ok(())
}

/// Of the pairs that sketches alone report, how many are not far below the threshold.
fn near_enough(
    figures: &mut Figures,
    what: &str,
    collection: &Collection,
    stored: &StoredClustering,
    truth: &Truth,
) -> Result<()> {
    let threshold = stored.policy.resemblance.unwrap_or(1.0);
    let kind = collection.sketch_kind();
    let policy = &stored.policy;
    let (mut reported, mut near) = (0_usize, 0_usize);
    collection.each_pair(|pair| {
        if policy.links(pair, kind) {
            reported += 1;
            let overlap = true_overlap(truth, pair);
            near += usize::from(overlap.resemblance().is_some_and(|r| r >= threshold - 0.1));
        }
        Ok(())
    })?;
    let share = if reported == 0 {
        1.0
    } else {
        near as f64 / reported as f64
    };
    figures.share(
        &format!("{what}: reported pairs at {threshold} − 0.1 or more"),
        share,
        Target::AtLeast(0.99),
    );
    Ok(())
}

fn true_overlap(truth: &Truth, pair: &Pair) -> Overlap {
    Overlap::of_sorted(&truth.sets[pair.a as usize], &truth.sets[pair.b as usize])
}

/// Members whose figures are not the exact ones.
fn wrong_values(
    collection: &Collection,
    stored: &StoredClustering,
    truth: &Truth,
) -> Result<usize> {
    let kind = collection.sketch_kind();
    let mut members = collection.clustering(stored)?.members()?;
    let (mut doc, mut wrong) = (0_u32, 0);
    while let Some(member) = members.next_record()? {
        let pair = Pair {
            a: doc,
            b: member.representative,
            ..member.pair(doc)
        };
        let exact = true_overlap(truth, &pair);
        let figures = [
            (member.resemblance(doc, kind), exact.resemblance()),
            (member.containment(doc, kind), exact.a_in_b()),
        ];
        let is_right = figures.iter().all(|(told, exact)| match (told, exact) {
            (Some(told), Some(exact)) => (told - exact).abs() < 1e-12,
            _ => false,
        });
        wrong += usize::from(!is_right);
        doc += 1;
    }
    Ok(wrong)
}

/// How many of some pages, each thought to be in another, containment puts together
/// with it.
pub fn judge_containment(
    figures: &mut Figures,
    files: &Files<'_>,
    width: Width,
    folded: &[(String, String)],
    target: Target,
) -> Result<()> {
    let recipe = Recipe {
        width,
        ..Recipe::default()
    };
    let options = options(files, &recipe);
    let temporary = tempfile::tempdir()?;
    let place = temporary.path().join("c");
    let inputs = Inputs::expand(&files.paths, &options.reading);
    add(&place, &inputs, &options, &mut |_| {})?;
    let policy = Policy {
        resemblance: None,
        containment: Some(0.8),
        link: Link::Chain,
        verify: Verify::Auto,
    };
    let machine = ClusterOptions {
        threads: options.threads,
        memory: options.memory,
    };
    let stored = recluster(&place, &recipe, &policy, &machine)?;
    let collection = Collection::open(&place)?;
    let clusters = clusters_of(&collection, &stored)?;
    let cluster = |url: &str| -> Result<Option<u32>> {
        let doc = collection.find_named(url)?.first().copied();
        Ok(doc.map(|doc| clusters[doc as usize]))
    };
    let mut found = 0;
    for (page, whole) in folded {
        let (page, whole) = (cluster(page)?, cluster(whole)?);
        found += usize::from(page.is_some() && page == whole);
    }
    let name = files.name;
    figures.count(
        &format!("{name}: folded pages with the page that holds them, --containment 0.8"),
        found,
        target,
    );
    let sizes = |clusters: &[u32]| {
        let mut sizes: HashMap<u32, usize> = HashMap::new();
        for &cluster in clusters {
            *sizes.entry(cluster).or_insert(0) += 1;
        }
        sizes.into_values().max().unwrap_or(0)
    };
    figures.note(
        &format!("{name}: largest cluster there"),
        &sizes(&clusters).to_string(),
    );
    Ok(())
}

/// Clusters of a corpus by URL or id, under one policy.
pub fn clusters_by_name(
    files: &Files<'_>,
    width: Width,
    policy: &Policy,
) -> Result<(HashMap<String, u32>, StoredClustering)> {
    let recipe = Recipe {
        width,
        ..Recipe::default()
    };
    let options = AddOptions {
        policy: *policy,
        ..options(files, &recipe)
    };
    let temporary = tempfile::tempdir()?;
    let folder: PathBuf = Path::new(temporary.path()).join("c");
    let inputs = Inputs::expand(&files.paths, &options.reading);
    add(&folder, &inputs, &options, &mut |_| {})?;
    let collection = Collection::open(&folder)?;
    let stored = collection.state().clusterings[0].clone();
    let clusters = clusters_of(&collection, &stored)?;
    let mut by_name = HashMap::new();
    for doc in 0..collection.documents() {
        let entry = collection.entry(doc)?;
        let (id, url) = collection.strings(doc, &entry)?;
        by_name.insert(url.or(id).unwrap_or_default(), clusters[doc as usize]);
    }
    Ok((by_name, stored))
}

/// A page of a manual in one language.
pub struct Page<'a> {
    /// Where it is.
    pub url: &'a str,
    /// The page it is a translation of.
    pub of: &'a str,
}

/// Counts translations that are put together with each other. Where a page has nothing
/// much to translate, all its languages are near-duplicates in truth: those are counted
/// apart, by their exact resemblance.
pub fn judge_translations(
    figures: &mut Figures,
    files: &Files<'_>,
    cluster_of: impl Fn(&str) -> Option<u32>,
    pages: &[Page<'_>],
) -> Result<()> {
    let options = options(files, &Recipe::default());
    let truth = truth(files, &options)?;
    let place_of: HashMap<&str, usize> = (truth.names.iter().enumerate())
        .map(|(place, name)| (name.as_str(), place))
        .collect();
    let (mut different, mut alike) = (0, Vec::new());
    for (i, one) in pages.iter().enumerate() {
        for other in pages[..i].iter().filter(|other| other.of == one.of) {
            if cluster_of(one.url) != cluster_of(other.url) {
                continue;
            }
            let place = |page: &Page<'_>| place_of.get(page.url).context("a page is not there");
            let sets = [&truth.sets[*place(one)?], &truth.sets[*place(other)?]];
            let exact = Overlap::of_sorted(sets[0], sets[1]).resemblance();
            if exact.is_some_and(|exact| exact >= 0.5) {
                alike.push(one.of);
            } else {
                different += 1;
            }
        }
    }
    let name = files.name;
    figures.count(
        &format!("{name}: translations joined, of different text"),
        different,
        Target::Is(0.0),
    );
    let pairs = alike.len();
    alike.dedup();
    figures.note(
        &format!("{name}: joined with an exact resemblance of 0.5 or more"),
        &format!("{pairs} pairs, of {}", alike.join(", ")),
    );
    Ok(())
}
