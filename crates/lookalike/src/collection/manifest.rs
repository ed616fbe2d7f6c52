//! Manifests: which files are the state of a collection, and how one state becomes the
//! next.
//!
//! ```text
//! files written, synced ─► MANIFEST-n.tmp ─► synced ─► renamed ─► MANIFEST-n ─► garbage
//!                                     folder synced ┘         └ folder synced
//! ```
//!
//! Before the rename lasts the collection is generation n − 1, from then on n, and
//! nothing in between. The last two generations are kept: should the newest manifest be
//! damaged, [`latest`] says so and [`previous`] still opens. There are always two in a
//! row, the first generation follows an empty `MANIFEST-0`: so a newest manifest that
//! somebody removed is missed, and the one before does not take its place unasked.
//!
//! Committing costs five syncs and one short file, whatever the size of the collection.

use std::collections::BTreeSet;
use std::io;

use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::envelope::{FORMAT, TEMPORARY, seal, unseal, write_atomic};
use super::journal::{JOURNAL, load_journal, remove_journal};
use super::{CollectionError, file_name, is_file_name};
use crate::blocks::{FileEntry, Packed, file_id, hex};
use crate::core::recipe::{Recipe, RecipeId};
use crate::storage::held::Held;
use crate::storage::{Fault, Storage, StorageError};

/// The first part of a manifest's name.
const MANIFEST: &str = "MANIFEST-";

/// One generation of a collection. `T` is what its owner keeps in it besides files.
///
/// # Invariants
///
/// Every file has a name of ours, and no two have the same.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Manifest<T> {
    format: u32,
    generation: u64,
    /// The generation before; 0 when there was none.
    parent: u64,
    #[serde(with = "hex")]
    collection: u64,
    recipe: String,
    #[serde(with = "hex")]
    recipe_id: u64,
    /// What else the owner keeps.
    pub state: T,
    files: Vec<FileEntry>,
}

impl<T> Manifest<T> {
    /// The first generation of a new collection, without files.
    pub fn first(recipe: &Recipe, state: T) -> Manifest<T> {
        let id = recipe.id().0;
        Manifest {
            format: FORMAT,
            generation: 1,
            parent: 0,
            // No clock and no chance: the same input gives the same bytes.
            collection: xxh3_64_with_seed(b"collection", id),
            recipe: recipe.to_string(),
            recipe_id: id,
            state,
            files: Vec::new(),
        }
    }

    /// The generation after this one: the same files, another state.
    pub fn next<U>(&self, state: U) -> Manifest<U> {
        Manifest {
            generation: self.generation.saturating_add(1),
            parent: self.generation,
            ..self.with(state)
        }
    }

    /// The generation after this one, whose documents are sketched by another recipe.
    pub(crate) fn redrawn<U>(&self, recipe: &Recipe, state: U) -> Manifest<U> {
        Manifest {
            recipe: recipe.to_string(),
            recipe_id: recipe.id().0,
            ..self.next(state)
        }
    }

    /// The same with another state.
    fn with<U>(&self, state: U) -> Manifest<U> {
        Manifest {
            format: FORMAT,
            generation: self.generation,
            parent: self.parent,
            collection: self.collection,
            recipe: self.recipe.clone(),
            recipe_id: self.recipe_id,
            state,
            files: self.files.clone(),
        }
    }

    /// Its number, from 1 on.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// What sets files of this collection apart from those of other recipes.
    pub fn collection(&self) -> u64 {
        self.collection
    }

    /// The recipe, in words.
    pub fn recipe(&self) -> &str {
        &self.recipe
    }

    /// The recipe's name.
    pub fn recipe_id(&self) -> RecipeId {
        RecipeId(self.recipe_id)
    }

    /// The files, in the order in which they were added.
    pub fn files(&self) -> &[FileEntry] {
        &self.files
    }

    /// The file of a name.
    pub fn file(&self, name: &str) -> Result<&FileEntry, StorageError> {
        let found = self.files.iter().find(|file| file.name == name);
        found.ok_or_else(|| StorageError {
            file: name.to_owned(),
            fault: Fault::Missing,
        })
    }

    /// The id for a file that this generation is the first to name.
    pub fn file_id(&self, name: &str) -> u64 {
        file_id(self.collection, self.generation, name)
    }

    /// Adds a file that is finished.
    ///
    /// # Panics
    ///
    /// On a name that is not ours or not new.
    pub fn add_file(&mut self, entry: FileEntry) {
        assert!(
            is_file_name(&entry.name),
            "`{}` is no name of ours",
            entry.name
        );
        assert!(
            self.file(&entry.name).is_err(),
            "`{}` is there already",
            entry.name
        );
        self.files.push(entry);
    }

    /// Keeps only the files that `keep` says. The others go when two more generations
    /// were committed.
    pub fn retain_files(&mut self, keep: impl FnMut(&FileEntry) -> bool) {
        self.files.retain(keep);
    }

    /// Its file name.
    pub fn name(&self) -> String {
        manifest_name(self.generation)
    }
}

fn manifest_name(generation: u64) -> String {
    format!("{MANIFEST}{generation}")
}

/// The generation that a manifest's name says; `None` for other names.
fn generation_of(name: &str) -> Option<u64> {
    let generation = name.strip_prefix(MANIFEST)?.parse().ok()?;
    // One name each: no leading zero or sign.
    (manifest_name(generation) == name).then_some(generation)
}

/// The generations that have a manifest, newest first.
fn generations(storage: &dyn Storage) -> Result<Vec<u64>, StorageError> {
    Ok(generations_of(&list(storage)?))
}

/// The same among the names of all files.
fn generations_of(names: &[String]) -> Vec<u64> {
    let mut found: Vec<u64> = names
        .iter()
        .filter_map(|name| generation_of(name))
        .collect();
    found.sort_unstable_by(|a, b| b.cmp(a));
    found
}

/// The newest generation that has a manifest.
pub(super) fn newest(storage: &dyn Storage) -> Result<Option<u64>, StorageError> {
    Ok(generations(storage)?.first().copied())
}

fn list(storage: &dyn Storage) -> Result<Vec<String>, StorageError> {
    let folder = |error| StorageError {
        file: ".".to_owned(),
        fault: Fault::Io(error),
    };
    storage.list().map_err(folder)
}

fn load<T: DeserializeOwned>(
    storage: &dyn Storage,
    generation: u64,
) -> Result<Manifest<T>, StorageError> {
    let name = manifest_name(generation);
    let manifest: Manifest<T> = unseal(storage, &name)?;
    let mut names = BTreeSet::new();
    let is_inside = |file: &FileEntry| {
        let end = |packed: &Packed| packed.at.checked_add(file.file_len);
        let is_inside = |packed: &Packed| end(packed).is_some_and(|end| end <= packed.of);
        file.packed.as_ref().is_none_or(is_inside)
    };
    let fits = manifest.generation == generation
        && manifest.parent == generation.saturating_sub(1)
        && manifest.files.iter().all(|file| {
            is_file_name(&file.name)
                && is_file_name(file.file())
                && names.insert(&file.name)
                && is_inside(file)
        });
    if fits {
        return Ok(manifest);
    }
    Err(StorageError::damaged(&name, "it contradicts itself", None))
}

/// The newest generation. A newest manifest that is damaged, missing or of another format
/// is an error that names it: no older state is shown in its place unasked.
pub fn latest<T: DeserializeOwned>(storage: &dyn Storage) -> Result<Manifest<T>, CollectionError> {
    let mut before = Vec::new();
    loop {
        let found = generations(storage)?;
        let newest = match found[..] {
            [] | [0] => return Err(CollectionError::NotACollection),
            [newest, ..] => newest,
        };
        let result = if newest == 0 || found.contains(&(newest - 1)) {
            load(storage, newest)
        } else {
            Err(StorageError {
                file: manifest_name(newest - 1),
                fault: Fault::Missing,
            })
        };
        match result {
            // Writers may have moved on while the folder was listed. If so, the next list
            // is another one.
            Err(error) if matches!(error.fault, Fault::Missing) && before != found => {
                before = found;
            }
            other => return Ok(other?),
        }
    }
}

/// What there is besides a newest manifest that cannot be used: the generation before it,
/// or the only one there is.
pub fn previous<T: DeserializeOwned>(
    storage: &dyn Storage,
) -> Result<Manifest<T>, CollectionError> {
    match generations(storage)?[..] {
        [] | [0] => Err(CollectionError::NotACollection),
        [only] | [only, 0] => Ok(load(storage, only)?),
        [_, second, ..] => Ok(load(storage, second)?),
    }
}

/// Opens what a reader needs of the newest generation. When a file was gone because
/// writers moved on meanwhile, it is tried again with what is newest by then.
pub fn open_latest<T: DeserializeOwned, R>(
    storage: &dyn Storage,
    open: impl Fn(&Manifest<T>) -> Result<R, StorageError>,
) -> Result<(Manifest<T>, R), CollectionError> {
    loop {
        let manifest = latest(storage)?;
        match open(&manifest) {
            Ok(opened) => return Ok((manifest, opened)),
            Err(error) => {
                let gone = matches!(error.fault, Fault::Missing);
                let moved = || {
                    generations(storage).is_ok_and(|all| all.first() > Some(&manifest.generation))
                };
                if !(gone && moved()) {
                    return Err(error.into());
                }
            }
        }
    }
}

/// What a clustering is stored in: files that the next one replaces.
const REPLACED: [&str; 4] = ["members", "roster", "quality", "exact"];

/// Puts the small files that a generation is the first to name into two: one that stays,
/// and one with its clusters, which go when there are others. To make, sync and open a file
/// takes longer than to read or write a hundred kilobytes.
pub(crate) fn pack<T>(held: &Held, manifest: &mut Manifest<T>) -> Result<(), StorageError> {
    let is_replaced = |file: &FileEntry| {
        let stem = file.name.split('-').next();
        stem.is_some_and(|stem| REPLACED.contains(&stem))
    };
    for (stem, replaced) in [("sweep", false), ("clusters", true)] {
        let name = file_name(stem, manifest.generation);
        let mut files: Vec<&mut FileEntry> = (manifest.files.iter_mut())
            .filter(|file| file.packed.is_none() && is_replaced(file) == replaced)
            .filter(|file| held.is_small(&file.name))
            .collect();
        if files.is_empty() {
            continue;
        }
        let of = files.iter().map(|file| file.file_len).sum();
        let names = files.iter().map(|file| file.name.as_str());
        held.put_together(&name, names)
            .map_err(|error| StorageError::io(&name, error))?;
        let mut at = 0;
        for file in &mut files {
            file.packed = Some(Packed {
                file: name.clone(),
                at,
                of,
            });
            at += file.file_len;
        }
    }
    Ok(())
}

/// Makes a manifest the state of the collection. All files it names must be finished.
///
/// An error means that the state is the old one or, when only the last step failed, the
/// new one. What cannot be cleaned up after a success is left to the next writer.
pub fn commit<T: Serialize>(
    storage: &dyn Storage,
    manifest: &Manifest<T>,
) -> Result<(), StorageError> {
    let name = manifest.name();
    if manifest.parent == 0 {
        let before = Manifest {
            generation: 0,
            files: Vec::new(),
            ..manifest.with(())
        };
        let name = before.name();
        write_atomic(storage, &name, &seal(&name, &before)?)?;
    }
    write_atomic(storage, &name, &seal(&name, manifest)?)?;
    // The state is the new one already; what stays behind costs room and nothing else.
    drop(clean(storage, Some(manifest)));
    Ok(())
}

/// Removes what an interrupted writer left behind: for the next writer, before it starts
/// and with the lock in its hand. Readers never call this. What the last two manifests
/// and the journal name is kept, and so is everything whose name is not ours.
///
/// Should one of those be damaged, nothing is removed, for nobody knows what it names.
pub fn collect_garbage(storage: &dyn Storage) -> Result<(), StorageError> {
    collect_garbage_but::<()>(storage, None)
}

/// The same, where a manifest was read already.
fn collect_garbage_but<T>(
    storage: &dyn Storage,
    known: Option<&Manifest<T>>,
) -> Result<(), StorageError> {
    // What is seen may be the work of a writer whose last sync failed. Only from here on
    // is it certain to last.
    storage
        .sync_folder()
        .map_err(|error| StorageError::io(".", error))?;
    match clean(storage, known) {
        Err(error) if error.is_damage() => Ok(()),
        other => other,
    }
}

/// What a writer begins with: removes what an interrupted one left behind, and gives the
/// newest generation if there is one.
pub(crate) fn begin<T: DeserializeOwned>(
    storage: &dyn Storage,
) -> Result<Option<Manifest<T>>, CollectionError> {
    let newest = match latest(storage) {
        Ok(newest) => Some(newest),
        Err(CollectionError::NotACollection) => None,
        Err(error) => return Err(error),
    };
    collect_garbage_but(storage, newest.as_ref())?;
    Ok(newest)
}

/// The manifests that are kept, newest first, whatever the owner's part of them holds.
pub(super) fn kept_manifests(
    storage: &dyn Storage,
) -> Result<Vec<Manifest<IgnoredAny>>, CollectionError> {
    let newest: Manifest<IgnoredAny> = latest(storage)?;
    let before = load(storage, newest.parent)?;
    Ok(vec![newest, before])
}

/// Removes all files of ours that nothing names. A manifest that is known is not read again.
fn clean<T>(storage: &dyn Storage, known: Option<&Manifest<T>>) -> Result<(), StorageError> {
    let names = list(storage)?;
    let generations = generations_of(&names);
    let newest = generations.first().copied().unwrap_or(0);
    let mut kept: BTreeSet<String> = BTreeSet::new();
    let in_work = newest.saturating_add(1);
    if names.iter().any(|name| name == JOURNAL) {
        match load_journal::<IgnoredAny>(storage, in_work)? {
            Some(journal) => kept.extend(journal.files.into_iter().map(|file| file.name)),
            // It is that of a generation committed since.
            None => remove_journal(storage)?,
        }
    }
    for generation in generations.iter().take(2) {
        let mut keep = |files: &[FileEntry]| {
            kept.extend(files.iter().map(|file| file.file().to_owned()));
        };
        match known.filter(|known| known.generation == *generation) {
            Some(known) => keep(&known.files),
            None => keep(&load::<IgnoredAny>(storage, *generation)?.files),
        }
        kept.insert(manifest_name(*generation));
    }
    for name in &names {
        let ours = is_file_name(name)
            || generation_of(name).is_some()
            || name
                .strip_suffix(TEMPORARY)
                .is_some_and(|name| name == JOURNAL || generation_of(name).is_some());
        if ours && !kept.contains(name) {
            match storage.remove(name) {
                // The journal's may have gone with it.
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(StorageError::io(name, error));
                }
                _ => {}
            }
        }
    }
    Ok(())
}
