//! The folder that the work is done in.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_64;

use crate::collection::lock::Lock;
use crate::collection::manifest::{self, Manifest};
use crate::collection::state::State;
use crate::collection::{Collection, CollectionError};
use crate::storage::StorageError;
use crate::storage::disk::Disk;

/// A folder that is ready.
pub(super) struct Prepared {
    /// The first number of the new documents.
    pub(super) base: u32,
}

/// Where to work: beside the collection held against, for the paths of its sources start
/// there, if a folder can be made there; otherwise in `scratch`, or beside the output. The
/// name follows from the output, so that the same command again finds it.
pub fn work_folder(out: &Path, scratch: Option<&Path>, against: Option<&Path>) -> PathBuf {
    let out = std::path::absolute(out).unwrap_or_else(|_| out.to_owned());
    let name = xxh3_64(out.as_os_str().as_encoded_bytes());
    let name = format!(".lookalike-dedup-{name:016x}");
    let beside = |path: &Path| path.parent().map(|parent| parent.join(&name));
    let against = against.and_then(|path| beside(&path.canonicalize().ok()?));
    let against = against.filter(|place| fs::create_dir_all(place).is_ok());
    let place = against
        .or_else(|| scratch.map(|scratch| scratch.join(&name)))
        .or_else(|| beside(&out));
    place.unwrap_or_else(|| PathBuf::from(&name))
}

/// A folder for work that nobody goes on with, gone when it is dropped.
pub(super) struct Unnamed {
    pub(super) folder: PathBuf,
}

impl Unnamed {
    /// One beside a collection, for the paths of its sources start there.
    pub(super) fn beside(collection: &Path) -> io::Result<Unnamed> {
        let place = collection.canonicalize()?;
        let place = place.parent().map_or_else(PathBuf::new, Path::to_owned);
        for number in 0.. {
            let name = format!(".lookalike-dedup-{}-{number}", std::process::id());
            let folder = place.join(name);
            let mut private = fs::DirBuilder::new();
            std::os::unix::fs::DirBuilderExt::mode(&mut private, 0o700);
            match private.create(&folder) {
                Ok(()) => return Ok(Unnamed { folder }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        unreachable!("there are always more numbers")
    }
}

impl Drop for Unnamed {
    fn drop(&mut self) {
        remove(&self.folder);
    }
}

/// Makes the folder ready: with what was done before, if the inputs were not yet added.
pub(super) fn prepare(work: &Path, against: Option<&Path>) -> Result<Prepared, CollectionError> {
    let failed = |error| StorageError::io(".", error);
    let against = against.map(Collection::open_folder).transpose()?;
    fs::create_dir_all(work).map_err(failed)?;
    let lock = Lock::acquire(work)?;
    let generation = match manifest::latest::<State>(&Disk::new(work)) {
        Ok(manifest) => manifest.generation(),
        Err(_) => 0,
    };
    let wanted = against.as_ref().map_or(0, |(_, one)| one.generation());
    if generation != wanted {
        // Of another try, or another collection.
        fs::remove_dir_all(work).map_err(failed)?;
        fs::create_dir_all(work).map_err(failed)?;
    }
    drop(lock);
    let Some((folder, manifest)) = against else {
        return Ok(Prepared { base: 0 });
    };
    if generation != wanted {
        link_all(&folder, &manifest, work)?;
    }
    let sweeps = manifest.state.sweeps.last();
    Ok(Prepared {
        base: sweeps.map_or(0, |sweep| sweep.base + sweep.documents),
    })
}

/// Makes the files of a collection files of another folder too: nothing is copied where
/// links are possible.
fn link_all(from: &Path, manifest: &Manifest<State>, to: &Path) -> Result<(), StorageError> {
    let mut names: Vec<String> = manifest
        .files()
        .iter()
        // A stream without a byte has no file.
        .filter(|file| file.file_len > 0)
        .map(|file| file.file().to_owned())
        .collect();
    // Several may share one.
    names.sort();
    names.dedup();
    // The newest manifest comes last: with it, the folder is a collection.
    names.push(format!("MANIFEST-{}", manifest.generation() - 1));
    names.push(manifest.name());
    for name in names {
        let (old, new) = (from.join(&name), to.join(&name));
        let linked = fs::hard_link(&old, &new).or_else(|error| match error.kind() {
            io::ErrorKind::NotFound => Err(error),
            _ => fs::copy(&old, &new).map(drop),
        });
        linked.map_err(|error| StorageError::io(&name, error))?;
    }
    Ok(())
}

/// The work is done, or cannot be.
pub(super) fn remove(work: &Path) {
    // What stays behind costs room and nothing else, and the next try uses it.
    drop(fs::remove_dir_all(work));
}

impl Collection {
    /// The folder of a collection and its newest manifest.
    fn open_folder(folder: &Path) -> Result<(PathBuf, Manifest<State>), CollectionError> {
        let collection = Collection::open(folder)?;
        Ok((folder.to_owned(), collection.manifest().clone()))
    }
}
