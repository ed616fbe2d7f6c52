//! Accepted pairs → clusters, all of them or those that are true.

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;

use lookalike_core::components::DisjointSets;
use lookalike_core::recipe::Recipe;

use super::Filtered;
use super::collection::{FilterClustering, FilterState};
use super::join::Candidates;
use super::packed::PackedWriter;
use super::places::{Listed, Member};
use super::truth::Texts;
use crate::add::AddError;
use crate::blocks::{BlockWriter, FileKind};
use crate::clusters::ClusterOptions;
use crate::collection::lock::Lock;
use crate::collection::manifest::{Manifest, collect_garbage, commit};
use crate::collection::{CollectionError, file_name};
use crate::storage::StorageError;

/// A run up to this long is looked at pair by pair where true values decide; of a longer
/// one every document with the first ones and with its neighbours.
const ALL_PAIRS: usize = 32;
const FEW: usize = 8;

/// Pairs decided before texts are let go of.
const AT_ONCE: usize = 2000;

/// Clusters a filter's collection and keeps the result beside those it has: all that the
/// filter accepts, or with a threshold what truly has that resemblance, from the texts read
/// again. One of the same threshold is replaced.
pub fn cluster(
    folder: &Path,
    resemblance: Option<f64>,
    recipe: &Recipe,
    options: &ClusterOptions,
) -> Result<FilterClustering, AddError> {
    let _lock = Lock::acquire(folder)?;
    let collection = Filtered::open(folder)?.ok_or(CollectionError::NotACollection)?;
    let storage = Arc::clone(collection.storage());
    collect_garbage(&*storage)?;
    let mut manifest = collection.manifest().next(collection.state().clone());
    let (threads, memory) = (options.threads, options.memory);
    let made = make(
        &collection,
        &mut manifest,
        resemblance,
        recipe,
        threads,
        memory,
    )?;
    commit(&*storage, &manifest)?;
    Ok(made)
}

/// Makes a clustering and puts it into the manifest. Others stay if they are of as many
/// documents.
pub(super) fn make(
    collection: &Filtered,
    manifest: &mut Manifest<FilterState>,
    resemblance: Option<f64>,
    recipe: &Recipe,
    threads: NonZeroUsize,
    memory: u64,
) -> Result<FilterClustering, StorageError> {
    let candidates = Candidates::of(collection, memory)?;
    let mut sets = DisjointSets::new(collection.documents());
    let mut made = FilterClustering {
        resemblance,
        generation: manifest.generation(),
        documents: collection.documents().into(),
        clusters: 0,
        clustered_documents: 0,
        largest: 0,
        verified: 0,
        by_filter: 0,
        set_aside: 0,
    };
    match resemblance {
        None => candidates.each_run(|run| {
            for &doc in &run[1..] {
                sets.join(run[0], doc);
            }
        }),
        Some(least) => {
            let pairs = pairs(&candidates, &mut made.set_aside);
            let texts = Texts::new(collection, recipe, threads);
            decide(&texts, &pairs, least, &mut sets, &mut made)?;
        }
    }
    write(collection, manifest, &mut sets, made)
}

/// All accepted pairs, later document first, by documents.
pub(super) fn pairs(candidates: &Candidates, set_aside: &mut u64) -> Vec<(u32, u32)> {
    let mut pairs = Vec::new();
    candidates.each_run(|run| {
        if run.len() <= ALL_PAIRS {
            for (i, &a) in run.iter().enumerate() {
                pairs.extend(run[..i].iter().map(|&b| (a, b)));
            }
            return;
        }
        for (i, &a) in run.iter().enumerate() {
            let first = &run[..i.min(FEW)];
            let near = &run[i.saturating_sub(FEW).max(first.len())..i];
            *set_aside += (i - first.len() - near.len()) as u64;
            pairs.extend(first.iter().chain(near).map(|&b| (a, b)));
        }
    });
    pairs.sort_unstable();
    pairs.dedup();
    pairs
}

/// Joins the pairs that truly have a resemblance.
fn decide(
    texts: &Texts<'_>,
    pairs: &[(u32, u32)],
    least: f64,
    sets: &mut DisjointSets,
    made: &mut FilterClustering,
) -> Result<(), StorageError> {
    for part in pairs.chunks(AT_ONCE) {
        // What is joined already needs no decision.
        let open: Vec<(u32, u32)> = part
            .iter()
            .copied()
            .filter(|&(a, b)| sets.find(a) != sets.find(b))
            .collect();
        let known = texts.sets_of(&open)?;
        for (a, b) in open {
            if sets.find(a) == sets.find(b) {
                continue;
            }
            if let Some(value) = known.resemblance(a, b) {
                made.verified += 1;
                if value >= least {
                    sets.join(a, b);
                }
            } else {
                made.by_filter += 1;
                sets.join(a, b);
            }
        }
    }
    Ok(())
}

fn write(
    collection: &Filtered,
    manifest: &mut Manifest<FilterState>,
    sets: &mut DisjointSets,
    mut made: FilterClustering,
) -> Result<FilterClustering, StorageError> {
    let storage = &**collection.storage();
    let mut sizes = vec![0_u32; collection.documents() as usize];
    for doc in 0..collection.documents() {
        sizes[sets.find(doc) as usize] += 1;
    }
    let create = |what: &str| {
        let name = file_name(what, manifest.generation());
        BlockWriter::create(storage, &name, FileKind::Clusters, manifest.file_id(&name))
    };
    let mut members = PackedWriter::new(create("members")?);
    let mut roster = PackedWriter::new(create("roster")?);
    let mut of_clusters = Vec::new();
    for doc in 0..collection.documents() {
        let cluster = sets.find(doc);
        let size = sizes[cluster as usize];
        if size < 2 {
            continue;
        }
        made.clusters += u64::from(cluster == doc);
        made.clustered_documents += 1;
        made.largest = made.largest.max(size.into());
        members.append(Member { doc, cluster })?;
        of_clusters.push((cluster, doc));
    }
    of_clusters.sort_unstable();
    for (cluster, doc) in of_clusters {
        roster.append(Listed { cluster, doc })?;
    }
    let mut kept = std::mem::take(&mut manifest.state.clusterings);
    kept.retain(|one| one.resemblance != made.resemblance && one.documents == made.documents);
    // The filter's own is what is shown unasked.
    kept.push(made.clone());
    kept.sort_by(|x, y| {
        x.resemblance
            .partial_cmp(&y.resemblance)
            .unwrap_or(std::cmp::Ordering::Equal)
    });
    let files = [members.finish()?, roster.finish()?];
    manifest.retain_files(|file| {
        let what = file.name.split('-').next().unwrap_or("");
        let is_used = || kept.iter().any(|one| one.file(what) == file.name);
        !matches!(what, "members" | "roster") || is_used()
    });
    for file in files {
        manifest.add_file(file);
    }
    manifest.state.clusterings = kept;
    Ok(made)
}
