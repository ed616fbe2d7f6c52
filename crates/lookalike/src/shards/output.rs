//! New files: written under a temporary name, synced, and then given their own.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// What to do if a file is already there.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Existing {
    /// It stays, and it is an error.
    Refuse,
    /// The new one takes its place.
    Overwrite,
}

/// A file that nobody sees under its name before it is complete.
///
/// Dropped before [`NewFile::commit`], it leaves nothing behind. A process that is
/// killed leaves `.NAME.partial`, which the next one overwrites.
#[derive(Debug)]
pub struct NewFile {
    file: File,
    path: PathBuf,
    temporary: PathBuf,
    existing: Existing,
    is_done: bool,
}

impl NewFile {
    /// Starts a file in a folder that is there.
    pub fn create(path: &Path, existing: Existing) -> io::Result<NewFile> {
        let Some(name) = path.file_name() else {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "the output has no file name",
            ));
        };
        refuse(path, existing)?;
        let mut hidden = std::ffi::OsString::from(".");
        hidden.push(name);
        hidden.push(".partial");
        let temporary = path.with_file_name(hidden);
        Ok(NewFile {
            file: File::create(&temporary)?,
            path: path.to_owned(),
            temporary,
            existing,
            is_done: false,
        })
    }

    /// Makes the file last and gives it its name.
    pub fn commit(mut self) -> io::Result<()> {
        self.file.sync_all()?;
        // Looked at again: the work may have taken hours.
        refuse(&self.path, self.existing)?;
        fs::rename(&self.temporary, &self.path)?;
        self.is_done = true;
        let folder = match self.path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        File::open(folder)?.sync_all()
    }
}

fn refuse(path: &Path, existing: Existing) -> io::Result<()> {
    match (existing, fs::symlink_metadata(path)) {
        (Existing::Refuse, Ok(_)) => Err(io::Error::new(
            io::ErrorKind::AlreadyExists,
            "the output exists already",
        )),
        (_, Err(error)) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if !self.is_done {
            // There is nobody left to tell, and the next writer overwrites it.
            let _ = fs::remove_file(&self.temporary);
        }
    }
}
