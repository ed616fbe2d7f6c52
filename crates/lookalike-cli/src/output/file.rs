//! Files that are there whole or not at all.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use lookalike::corpus::unusable::shown;

/// Writes a file under another name first, then renames it: a reader sees the old
/// contents or the new. What exists and is no regular file (a device, a pipe) is
/// written into instead.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    write_whole(path, bytes).map_err(|error| Failure::writing(path, &error))
}

/// Refuses an output that is one of the inputs, under whatever name: before anything is
/// read, so that nothing is lost.
pub(crate) fn is_no_input(output: Option<&Path>, inputs: &[&Path]) -> Result<(), Failure> {
    let Some(Ok(target)) = output.map(fs::canonicalize) else {
        return Ok(()); // it does not exist yet
    };
    let same = |input: &&&Path| fs::canonicalize(input).is_ok_and(|input| input == target);
    match inputs.iter().find(same) {
        Some(input) => Err(Failure::usage(
            format!("`{}` is an input and would be overwritten", shown(input)),
            "write to another file",
        )),
        None => Ok(()),
    }
}

/// Refuses an output that is one of the sources, or lies in the folder of a collection:
/// before anything is read, so that nothing is lost.
pub(crate) fn spares<'a>(
    output: Option<&Path>,
    mut sources: impl Iterator<Item = &'a Path>,
    collection: Option<&Path>,
) -> Result<(), Failure> {
    use std::os::unix::fs::MetadataExt;
    let id = |path: &Path| {
        fs::metadata(path)
            .ok()
            .map(|facts| (facts.dev(), facts.ino()))
    };
    let Some(output) = output else {
        return Ok(());
    };
    let folder = match output.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let inside = collection.and_then(id);
    if inside.is_some() && id(folder) == inside {
        return Err(Failure::usage(
            format!("`{}` would be a file of the collection", shown(output)),
            "write to another folder",
        ));
    }
    let Some(target) = id(output) else {
        return Ok(()); // it does not exist yet
    };
    if sources.any(|source| id(source) == Some(target)) {
        return Err(Failure::usage(
            format!("`{}` is an input and would be overwritten", shown(output)),
            "write to another file",
        ));
    }
    Ok(())
}

fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let (place, mut file) = Place::create(path)?;
    file.write_all(bytes)?;
    place.finish(&file)
}

/// A file in the making, under another name until it is whole. Dropped before that, it
/// leaves nothing behind.
pub(crate) struct Place {
    path: PathBuf,
    /// `None` for what is no regular file, and when all is done.
    part: Option<PathBuf>,
}

impl Place {
    /// Begins a file.
    pub(crate) fn create(path: &Path) -> io::Result<(Place, File)> {
        // Through a link, what it leads to is replaced and not the link.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        if fs::metadata(&path).is_ok_and(|facts| !facts.is_file()) {
            let file = File::options().write(true).open(&path)?;
            return Ok((Place { path, part: None }, file));
        }
        let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let mut temporary = OsString::from(".");
        temporary.push(name);
        temporary.push(format!(".{}.part", std::process::id()));
        let part = path.with_file_name(temporary);
        let file = File::create(&part)?;
        let part = Some(part);
        Ok((Place { path, part }, file))
    }

    /// All is written: makes it last and gives it its name.
    pub(crate) fn finish(mut self, file: &File) -> io::Result<()> {
        if let Some(part) = &self.part {
            file.sync_all()?;
            fs::rename(part, &self.path)?;
            self.part = None;
        }
        Ok(())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(part) = &self.part {
            // The first error is the one to tell.
            let _ = fs::remove_file(part);
        }
    }
}
