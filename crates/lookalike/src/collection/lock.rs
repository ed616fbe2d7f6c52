//! One writer at a time.

use std::fs::File;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::CollectionError;
use crate::storage::StorageError;

/// The name of the file that is locked. It is empty, and stays when the lock is gone:
/// removing it would let two writers lock two files of one name.
pub const LOCK: &str = "LOCK";

/// The right to write to a collection, until dropped. The kernel takes it back when the
/// process ends, however it ends, so no lock is ever stale.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Lock {
    /// Locks a folder, without waiting.
    pub fn acquire(folder: &Path) -> Result<Lock, CollectionError> {
        let failed = |error| CollectionError::Storage(StorageError::io(LOCK, error));
        let file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(folder.join(LOCK))
            .map_err(failed)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Lock { _file: file }),
            Err(Errno::WOULDBLOCK) => Err(CollectionError::Locked),
            Err(error) => Err(failed(error.into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_second_writer_is_turned_away_until_the_first_is_done() {
        let folder = tempfile::tempdir().unwrap();
        let first = Lock::acquire(folder.path()).unwrap();
        let second = Lock::acquire(folder.path());
        assert!(matches!(second, Err(CollectionError::Locked)));
        drop(first);
        Lock::acquire(folder.path()).unwrap();
        assert!(folder.path().join(LOCK).exists());
    }

    /// Where the writer that is to be killed finds its folder.
    const FOLDER: &str = "LOOKALIKE_TEST_LOCK";

    #[test]
    #[ignore = "the writer that the next test kills"]
    fn holds_the_lock_for_a_minute() {
        let folder = std::env::var(FOLDER).unwrap();
        let _lock = Lock::acquire(Path::new(&folder)).unwrap();
        println!("locked");
        std::thread::sleep(std::time::Duration::from_mins(1));
    }

    #[test]
    fn a_killed_writer_leaves_no_lock() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--nocapture", "holds_the_lock_for_a_minute"])
            .env(FOLDER, folder.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let said = BufReader::new(writer.stdout.take().unwrap());
        let locked = said
            .lines()
            .any(|line| line.is_ok_and(|line| line.contains("locked")));
        assert!(locked, "the other writer never got the lock");
        let second = Lock::acquire(folder.path());
        assert!(matches!(second, Err(CollectionError::Locked)));
        writer.kill().unwrap();
        writer.wait().unwrap();
        Lock::acquire(folder.path()).unwrap();
    }
}
