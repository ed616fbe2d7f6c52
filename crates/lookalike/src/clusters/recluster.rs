//! Another clustering of a collection: only the last phase runs again.

use std::path::Path;
use std::sync::Arc;

use lookalike_core::recipe::{Recipe, SketchKind};

use super::policy::Policy;
use super::{ClusterOptions, Means};
use crate::add::{AddError, Kept, check_policy, cluster_all};
use crate::blocks::{BlockWriter, FileKind};
use crate::collection::lock::Lock;
use crate::collection::manifest::{Manifest, collect_garbage, commit};
use crate::collection::state::{State, StoredClustering};
use crate::collection::{Collection, file_name, postings_of};
use crate::corpus::inputs::Source;
use crate::pairs::count::count;
use crate::pairs::groups::Groups;
use crate::pairs::judge::{Floor, Judging};
use crate::pairs::postings::{OlderPostings, PARTITIONS, merged};
use crate::storage::{Storage, StorageError};

/// Clusters a collection under a policy and keeps the result beside those it has. One of
/// the same policy is replaced.
///
/// A threshold below the floor that pairs were kept from has all pairs counted again,
/// from the postings, and kept from there on.
pub fn recluster(
    folder: &Path,
    recipe: &Recipe,
    policy: &Policy,
    options: &ClusterOptions,
) -> Result<StoredClustering, AddError> {
    recluster_holding(folder, recipe, policy, options, &[])
}

/// The same with the sources of the last sweep at hand, of which some may be in memory.
pub(crate) fn recluster_holding(
    folder: &Path,
    recipe: &Recipe,
    policy: &Policy,
    options: &ClusterOptions,
    sources: &[Source],
) -> Result<StoredClustering, AddError> {
    check_policy(recipe, policy)?;
    Collection::open(folder)?;
    let _lock = Lock::acquire(folder)?;
    let collection = Collection::open(folder)?;
    let storage = Arc::clone(collection.storage());
    collect_garbage(&*storage)?;
    let before = collection.manifest();
    let mut manifest = before.next(before.state.clone());
    let floor = manifest.state.floor.reaching(policy);
    let collection = if floor == manifest.state.floor {
        collection
    } else {
        recount(&collection, &mut manifest, recipe, floor, options)?;
        Collection::open_as(folder, storage.clone(), manifest.clone())?
    };
    let collection = collection.holding(sources);
    let mut sketches = collection.sketches()?;
    sketches.load_if_small(options.memory / 3)?;
    cluster_all(
        &collection,
        &mut manifest,
        recipe,
        std::slice::from_ref(policy),
        Kept::Others,
        &sketches,
        Means::here(options),
    )?;
    commit(&*storage, &manifest)?;
    let made = manifest
        .state
        .clusterings
        .iter()
        .find(|one| one.policy == *policy);
    Ok(made
        .cloned()
        .unwrap_or_else(|| unreachable!("it was made a moment ago")))
}

/// Counts all pairs again, from a lower floor on.
fn recount(
    collection: &Collection,
    manifest: &mut Manifest<State>,
    recipe: &Recipe,
    floor: Floor,
    options: &ClusterOptions,
) -> Result<(), StorageError> {
    let storage: &dyn Storage = &**collection.storage();
    let mut postings = postings_of(storage, manifest, OlderPostings::open)?;
    let mut sketches = collection.sketches()?;
    sketches.load_if_small(options.memory / 2)?;
    if matches!(recipe.sketch, SketchKind::Nested { .. }) {
        sketches.count_levels()?;
    }
    let mut groups = Groups::new(storage, 0, options.memory / 6);
    for partition in 0..PARTITIONS {
        groups.partition(partition, &merged(&mut postings, partition)?, &mut [])?;
    }
    let name = file_name("pairs", manifest.generation());
    let id = manifest.file_id(&name);
    let mut pairs = BlockWriter::create(storage, &name, FileKind::Pairs, id)?;
    let judging = Judging::new(&sketches, recipe.sketch, floor);
    count(storage, &mut groups, &judging, options.threads, |pair| {
        pairs.append_record(*pair)
    })?;
    groups.remove()?;
    manifest.retain_files(|file| !file.name.starts_with("pairs-"));
    manifest.add_file(pairs.finish()?);
    manifest.state.recounted = Some(manifest.generation());
    manifest.state.floor = floor;
    Ok(())
}
