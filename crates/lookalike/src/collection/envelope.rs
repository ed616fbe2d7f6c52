//! The envelope of manifests and journals: text that anybody can read, of which no letter
//! can change unnoticed.
//!
//! ```text
//! { … one JSON object, indented … }
//! checksum 0123456789abcdef
//! ```
//!
//! The checksum is XXH3 of all bytes before its line, seeded by that of the file's name:
//! a manifest under another name is damaged. This shape, and a first field `format`, stay
//! for ever, so that an older program can name the format it does not know.

use std::io;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use crate::storage::{Fault, Storage, StorageError};

/// The format of collections that this program writes, and the only one there is.
pub const FORMAT: u32 = 1;

/// Room for 200,000 files. A longer one is not ours.
const MOST_BYTES: u64 = 64 << 20;

/// Ends the name of a file while it is written.
pub(super) const TEMPORARY: &str = ".tmp";

#[derive(Deserialize)]
struct Head {
    format: u32,
}

/// The last line of a file of this name with this text.
pub(super) fn checksum_line(name: &str, text: &[u8]) -> String {
    let sum = xxh3_64_with_seed(text, xxh3_64(name.as_bytes()));
    format!("checksum {sum:016x}\n")
}

/// A value as the bytes of a file of this name. Same value, same bytes.
pub(super) fn seal<T: Serialize>(name: &str, value: &T) -> Result<Vec<u8>, StorageError> {
    let mut bytes = serde_json::to_vec_pretty(value)
        .map_err(|error| StorageError::io(name, io::Error::other(error)))?;
    bytes.push(b'\n');
    let line = checksum_line(name, &bytes);
    bytes.extend_from_slice(line.as_bytes());
    Ok(bytes)
}

/// Reads the value back, or says what is wrong with the file.
pub(super) fn unseal<T: DeserializeOwned>(
    storage: &dyn Storage,
    name: &str,
) -> Result<T, StorageError> {
    let damaged = |what| StorageError::damaged(name, what, None);
    let bytes = read_file(storage, name)?;
    // The length of the last line does not depend on what it says.
    let line_len = checksum_line(name, b"").len();
    let Some(text) = bytes.len().checked_sub(line_len) else {
        return Err(damaged("it is too short"));
    };
    let (text, line) = bytes.split_at(text);
    if line != checksum_line(name, text).as_bytes() {
        return Err(damaged("it does not fit its checksum"));
    }
    // It is the first field of all that this program wrote: nothing else is read for it.
    if !text.starts_with(format!("{{\n  \"format\": {FORMAT},\n").as_bytes()) {
        let head: Head = serde_json::from_slice(text).map_err(|_| damaged("it names no format"))?;
        if head.format != FORMAT {
            return Err(StorageError {
                file: name.to_owned(),
                fault: Fault::Version {
                    found: head.format,
                    supported: FORMAT,
                },
            });
        }
    }
    serde_json::from_slice(text).map_err(|_| damaged("it lacks something, or has a field too many"))
}

fn read_file(storage: &dyn Storage, name: &str) -> Result<Vec<u8>, StorageError> {
    let io = |error| StorageError::io(name, error);
    let file = storage.open(name).map_err(io)?;
    if file.len() > MOST_BYTES {
        return Err(StorageError::damaged(name, "it is far too long", None));
    }
    let mut bytes = vec![0; usize::try_from(file.len()).unwrap_or(0)];
    file.read_at(0, &mut bytes).map_err(io)?;
    Ok(bytes)
}

/// Replaces a file, at once or not at all, also by a crash. When this returns, the file
/// lasts, and so do all files that were synced before.
///
/// The folder is synced twice: a rename must not reach the disk before the names of what
/// it speaks of.
pub fn write_atomic(storage: &dyn Storage, name: &str, bytes: &[u8]) -> Result<(), StorageError> {
    let temporary = format!("{name}{TEMPORARY}");
    let replace = || {
        let mut file = storage.create(&temporary)?;
        file.append(bytes)?;
        file.sync()?;
        drop(file);
        storage.sync_folder()?;
        storage.rename(&temporary, name)?;
        storage.sync_folder()
    };
    replace().map_err(|error| StorageError::io(name, error))
}
