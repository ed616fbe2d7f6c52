//! A collection for one answer: made in a folder for the work, gone when it is dropped.
//!
//! ```text
//! inputs ─► add, nothing synced ─► Passed: a collection to read ─► dropped: folder removed
//! ```
//!
//! Cost: that of [`add`](crate::add), without the waiting for the disk. What a killed
//! process leaves behind, the next one in the same place removes.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::add::{AddError, AddOptions, Event, Report, add_in};
use crate::collection::lock::{LOCK, Lock};
use crate::collection::{Collection, CollectionError};
use crate::corpus::inputs::Inputs;
use crate::storage::disk::Disk;
use crate::storage::{Storage, StorageError};

/// A collection that is gone when this is dropped.
pub struct Passed {
    /// What adding came to.
    pub report: Report,
    /// The collection; its first clustering is that of the options' policy.
    pub collection: Collection,
    // Dropped last: what is open in it is closed by then.
    _work: Work,
}

/// Adds inputs to a new collection in a folder for the work: below the options' `scratch`,
/// or where the system has such folders.
pub fn add_passing(
    inputs: &Inputs,
    options: &AddOptions,
    watch: &mut dyn FnMut(Event<'_>),
) -> Result<Passed, AddError> {
    let temporary = std::env::temp_dir();
    let work = Work::make(options.scratch.as_deref().unwrap_or(&temporary))?;
    let disk = Disk::passing(&work.folder).stopped_by(&options.stop);
    let storage: Arc<dyn Storage> = Arc::new(disk);
    let report = add_in(&work.folder, &storage, &*storage, inputs, options, watch)
        .map_err(|error| error.or_stopped(&options.stop))?;
    let collection = Collection::open_in(&work.folder, storage)?;
    Ok(Passed {
        report,
        collection: collection.holding(&inputs.sources),
        _work: work,
    })
}

/// A folder that is gone when it is dropped.
struct Work {
    folder: PathBuf,
    lock: Option<Lock>,
}

/// How the names of such folders begin.
const WORK: &str = "lookalike-scan-";

impl Work {
    /// Makes one, and removes those that killed processes have left.
    fn make(scratch: &Path) -> Result<Work, CollectionError> {
        let failed = |error| CollectionError::Storage(StorageError::io(WORK, error));
        fs::create_dir_all(scratch).map_err(failed)?;
        for entry in fs::read_dir(scratch).map_err(failed)?.flatten() {
            let is_ours = entry
                .file_name()
                .as_encoded_bytes()
                .starts_with(WORK.as_bytes());
            let path = entry.path();
            // One that is in use is locked; one of another user cannot be.
            if is_ours
                && path.join(LOCK).is_file()
                && let Ok(lock) = Lock::acquire(&path)
            {
                drop(fs::remove_dir_all(&path));
                drop(lock);
            }
        }
        for number in 0.. {
            let folder = scratch.join(format!("{WORK}{}-{number}", std::process::id()));
            match fs::create_dir(&folder) {
                Ok(()) => {
                    let private = std::os::unix::fs::PermissionsExt::from_mode(0o700);
                    fs::set_permissions(&folder, private).map_err(failed)?;
                    // Another scan may have taken it for a dead one's before it was locked.
                    match Lock::acquire(&folder) {
                        Ok(lock) if folder.join(LOCK).is_file() => {
                            let lock = Some(lock);
                            return Ok(Work { folder, lock });
                        }
                        Err(error) if number > 16 => return Err(error),
                        _ => {}
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(failed(error)),
            }
        }
        unreachable!("there are always more numbers")
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        // What stays behind costs room and nothing else, and the next scan removes it.
        drop(fs::remove_dir_all(&self.folder));
        self.lock = None;
    }
}
