//! The files under some paths, in a fixed order.
//!
//! ```text
//! paths as typed ─► walk, sorted by name ─► files to read
//!                                       └─► left out: hidden, link, pipe, missing, …
//! ```
//!
//! Every path met ends in one of the two lists. Only regular files are opened, so
//! nothing blocks: pipes, sockets and devices are named and left. Symbolic links are
//! followed where the user typed them and nowhere else, so that no file is read under
//! two names and no loop is walked.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use walkdir::{DirEntry, WalkDir};

use super::unusable::{Unusable, UnusableFile};

/// What a walk takes.
#[derive(Clone, Copy, Debug, Default)]
pub struct WalkOptions {
    /// Also files and folders whose name begins with a dot.
    pub hidden: bool,
}

/// A regular file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Found {
    /// Its path, beginning as the user typed it.
    pub path: PathBuf,
    /// How many bytes it had when it was found.
    pub size: u64,
}

/// What was found under some paths.
#[derive(Debug, Default)]
pub struct Walk {
    /// The files to read, in the order of the paths typed and by name below them.
    pub files: Vec<Found>,
    /// What is not to be read.
    pub left: Vec<UnusableFile>,
}

/// Finds the files under some paths. A file reached by two of them counts once.
pub fn walk(paths: &[PathBuf], options: WalkOptions) -> Walk {
    let mut found = Walk::default();
    // One path never leads to a file twice: links are not followed.
    let mut known = (paths.len() > 1).then(HashSet::new);
    for path in paths {
        found.path(path, options, known.as_mut());
    }
    found
}

impl Walk {
    fn path(
        &mut self,
        root: &Path,
        options: WalkOptions,
        mut known: Option<&mut HashSet<PathBuf>>,
    ) {
        let mut entries = WalkDir::new(root).sort_by_file_name().into_iter();
        // No link below it is followed: what is not one itself is where its path says.
        let real_root = known.as_ref().and_then(|_| fs::canonicalize(root).ok());
        let real = |entry: &DirEntry| {
            let below = entry.path().strip_prefix(root).ok()?;
            match &real_root {
                Some(root) if entry.depth() > 0 && !entry.path_is_symlink() => {
                    Some(root.join(below))
                }
                _ => fs::canonicalize(entry.path()).ok(),
            }
        };
        while let Some(entry) = entries.next() {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    let path = error.path().unwrap_or(root).to_owned();
                    let why = error
                        .into_io_error()
                        .map_or(Unusable::NotRegular, Unusable::from);
                    self.left.push(UnusableFile { path, why });
                    continue;
                }
            };
            if !options.hidden && entry.depth() > 0 && is_hidden(entry.file_name()) {
                if entry.file_type().is_dir() {
                    entries.skip_current_dir();
                }
                self.leave(entry, Unusable::Hidden);
                continue;
            }
            if entry.file_type().is_dir() {
                continue;
            }
            let seen_before = known.as_deref_mut().is_some_and(|known| {
                let real = real(&entry);
                real.is_some_and(|real| !known.insert(real))
            });
            if seen_before {
                continue;
            }
            match size(&entry) {
                Ok(Some(size)) => self.files.push(Found {
                    path: entry.into_path(),
                    size,
                }),
                Ok(None) => {}
                Err(why) => self.leave(entry, why),
            }
        }
    }

    fn leave(&mut self, entry: DirEntry, why: Unusable) {
        let path = entry.into_path();
        self.left.push(UnusableFile { path, why });
    }
}

fn is_hidden(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".")
}

/// The size of a regular file; `None` for a typed link to a folder, which the walk
/// itself goes into.
fn size(entry: &DirEntry) -> Result<Option<u64>, Unusable> {
    let is_link = entry.path_is_symlink();
    // Of a link, what it leads to.
    let facts = fs::metadata(entry.path())?;
    if facts.is_dir() {
        return if entry.depth() == 0 {
            Ok(None)
        } else {
            Err(Unusable::Link)
        };
    }
    if !facts.is_file() {
        return Err(Unusable::NotRegular);
    }
    if is_link && entry.depth() > 0 {
        return Err(Unusable::Link);
    }
    Ok(Some(facts.len()))
}

/// Reads a file a walk has found. What has grown past the limit since is refused.
pub fn read(path: &Path, max_size: u64) -> Result<Vec<u8>, Unusable> {
    let mut file = File::open(path)?;
    // Its length, and a byte to see that it ends there: two reads for nearly all.
    let len = file.metadata()?.len().min(max_size);
    let mut bytes = vec![0; usize::try_from(len).unwrap_or(0).saturating_add(1)];
    let mut filled = 0;
    loop {
        match file.read(&mut bytes[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
    bytes.truncate(filled);
    if filled as u64 > len {
        let rest = max_size.saturating_add(1).saturating_sub(filled as u64);
        file.take(rest).read_to_end(&mut bytes)?;
    }
    if bytes.len() as u64 > max_size {
        return Err(Unusable::TooLarge(max_size));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with these files; `None` makes a folder.
    fn folder(names: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (name, text) in names {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().expect("inside")).expect("a folder");
            fs::write(path, text).expect("a file");
        }
        folder
    }

    fn names(walk: &Walk, root: &Path) -> Vec<String> {
        let name = |path: &Path| {
            path.strip_prefix(root)
                .unwrap_or(path)
                .display()
                .to_string()
        };
        walk.files.iter().map(|file| name(&file.path)).collect()
    }

    #[test]
    fn files_come_sorted_by_name_and_hidden_ones_are_counted() {
        let folder = folder(&[
            ("b/2.txt", "x"),
            ("b/10.txt", "x"),
            ("a.txt", "x"),
            (".git/config", "x"),
            ("c/.hidden", "x"),
        ]);
        let all = walk(&[folder.path().to_owned()], WalkOptions::default());
        assert_eq!(names(&all, folder.path()), ["a.txt", "b/10.txt", "b/2.txt"]);
        assert_eq!(all.left.len(), 2);
        assert!(all.left.iter().all(|left| left.why.code() == "hidden"));
        let hidden = WalkOptions { hidden: true };
        assert_eq!(walk(&[folder.path().to_owned()], hidden).files.len(), 5);
    }

    #[test]
    fn a_file_reached_by_two_paths_counts_once() {
        let folder = folder(&[("a/1.txt", "x")]);
        let paths = [folder.path().to_owned(), folder.path().join("a/./1.txt")];
        assert_eq!(walk(&paths, WalkOptions::default()).files.len(), 1);
    }

    #[test]
    fn what_is_missing_or_too_large_is_named() {
        let folder = folder(&[("large", "12345")]);
        let paths = [folder.path().to_owned(), folder.path().join("none")];
        let all = walk(&paths, WalkOptions::default());
        assert_eq!(names(&all, folder.path()), ["large"]);
        assert_eq!(all.left.len(), 1);
        assert_eq!(all.left[0].why.code(), "missing");
        let large = folder.path().join("large");
        assert_eq!(read(&large, 5).expect("five bytes"), b"12345");
        assert_eq!(read(&large, 4).expect_err("too large").code(), "too large");
    }

    #[cfg(unix)]
    #[test]
    fn links_and_sockets_neither_loop_nor_block() {
        use std::os::unix::fs::symlink;
        use std::os::unix::net::UnixListener;
        let folder = folder(&[("a.txt", "x")]);
        let at = |name: &str| folder.path().join(name);
        symlink("a.txt", at("to_file")).expect("a link");
        symlink(".", at("to_folder")).expect("a link");
        symlink("gone", at("to_nothing")).expect("a link");
        symlink("to_itself", at("to_itself")).expect("a link");
        symlink("/dev/zero", at("to_zero")).expect("a link");
        let _socket = UnixListener::bind(at("socket")).expect("a socket");
        let all = walk(&[folder.path().to_owned()], WalkOptions::default());
        assert_eq!(names(&all, folder.path()), ["a.txt"]);
        let codes: Vec<&str> = all.left.iter().map(|left| left.why.code()).collect();
        assert_eq!(
            codes,
            [
                "not a regular file",
                "link",
                "link",
                "unreadable",
                "missing",
                "not a regular file"
            ]
        );
        // A link the user typed is followed.
        let typed = walk(&[at("to_file"), at("to_folder")], WalkOptions::default());
        assert_eq!(typed.files.len(), 1, "the same file by two ways");
        let typed = walk(&[at("to_folder")], WalkOptions::default());
        assert_eq!(typed.files.len(), 1);
    }
}
