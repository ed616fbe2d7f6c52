//! Files on a disk.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use memmap2::Mmap;
use rustix::fs::OFlags;

use super::map::map;
use super::{Append, ReadAt, Stop, Storage, in_folder};

/// A folder on a disk.
#[derive(Debug)]
pub struct Disk {
    folder: PathBuf,
    /// Whether what is synced is to outlast a power cut.
    is_lasting: bool,
    /// Whether files are mapped into memory when they are opened.
    is_mapped: bool,
    stop: Stop,
    /// Files that several readers share, by name.
    shared: Mutex<Vec<(String, Weak<Opened>)>>,
}

impl Disk {
    /// A folder that exists.
    pub fn new(folder: &Path) -> Disk {
        Disk {
            folder: folder.to_owned(),
            is_lasting: true,
            is_mapped: false,
            stop: Stop::default(),
            shared: Mutex::default(),
        }
    }

    /// A folder whose files are mapped into memory: for many small reads all over them.
    pub fn mapped(folder: &Path) -> Disk {
        Disk {
            is_mapped: true,
            ..Disk::new(folder)
        }
    }

    /// A folder for work that nobody goes on with: nothing is waited for to reach the disk.
    pub fn passing(folder: &Path) -> Disk {
        Disk {
            is_lasting: false,
            ..Disk::new(folder)
        }
    }

    /// The same, where work ends when somebody wants it to.
    #[must_use]
    pub fn stopped_by(mut self, stop: &Stop) -> Disk {
        self.stop = stop.clone();
        self
    }

    /// A folder, made if need be, that will still be there after a power cut. Only its
    /// owner may look into a new one: sketches tell what a text says.
    pub fn make(folder: &Path) -> io::Result<Disk> {
        if !folder.is_dir() {
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(folder)?;
            if let Some(parent) = folder.canonicalize()?.parent() {
                File::open(parent)?.sync_all()?;
            }
        }
        Ok(Disk::new(folder))
    }

    /// Which folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The place of a file. Names come out of manifests, so one that would lead out of
    /// the folder is refused.
    fn place(&self, name: &str) -> io::Result<PathBuf> {
        if name.is_empty() || name == "." || name == ".." || name.contains(['/', '\0']) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "not a plain file name",
            ));
        }
        Ok(self.folder.join(name))
    }

    /// Who opens the file of a name from now on gets what is there then.
    fn forget(&self, name: &str) {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        shared.retain(|known| known.0 != name);
    }

    fn open_as(&self, name: &str, is_mapped: bool) -> io::Result<Opened> {
        // Opening a pipe would wait for its other end, for ever.
        let no_wait = OFlags::NONBLOCK.bits().cast_signed();
        let file = File::options()
            .read(true)
            .custom_flags(no_wait)
            .open(self.place(name)?)?;
        let about = file.metadata()?;
        if !about.is_file() {
            return Err(io::Error::new(io::ErrorKind::NotFound, "not a file"));
        }
        let len = about.len();
        let map = is_mapped.then(|| map(&file)).flatten();
        Ok(Opened { file, len, map })
    }
}

impl Storage for Disk {
    fn is_stopped(&self) -> bool {
        self.stop.is_stopped()
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn Append>> {
        self.forget(name);
        Ok(Box::new(Written {
            place: self.place(name)?,
            file: None,
            is_lasting: self.is_lasting,
        }))
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn ReadAt>> {
        Ok(Box::new(self.open_as(name, self.is_mapped)?))
    }

    fn open_mapped(&self, name: &str) -> io::Result<Box<dyn ReadAt>> {
        Ok(Box::new(self.open_as(name, true)?))
    }

    fn open_shared(&self, name: &str) -> io::Result<Arc<dyn ReadAt>> {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        let known = shared.iter().find(|known| known.0 == name);
        if let Some(opened) = known.and_then(|known| known.1.upgrade()) {
            return Ok(opened);
        }
        let opened = Arc::new(self.open_as(name, true)?);
        shared.retain(|known| known.1.strong_count() > 0);
        shared.push((name.to_owned(), Arc::downgrade(&opened)));
        Ok(opened)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.forget(from);
        self.forget(to);
        fs::rename(self.place(from)?, self.place(to)?)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.forget(name);
        fs::remove_file(self.place(name)?)
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            // A name that is not text is none of ours.
            if let (Ok(name), true) = (
                entry.file_name().into_string(),
                entry.file_type()?.is_file(),
            ) {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }

    fn sync_folder(&self) -> io::Result<()> {
        if self.is_lasting {
            File::open(&self.folder)?.sync_all()?;
        }
        Ok(())
    }
}

struct Written {
    place: PathBuf,
    /// From the first byte on.
    file: Option<File>,
    is_lasting: bool,
}

impl Written {
    /// An error that says which of the disks in use has no room.
    fn failed(place: &Path, error: io::Error) -> io::Error {
        in_folder(place.parent().unwrap_or(place), error)
    }
}

impl Append for Written {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let failed = |error| Written::failed(&self.place, error);
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(create_anew(&self.place).map_err(failed)?),
        };
        file.write_all(bytes).map_err(failed)
    }

    fn sync(&mut self) -> io::Result<()> {
        match &self.file {
            Some(file) if self.is_lasting => file
                .sync_all()
                .map_err(|error| Written::failed(&self.place, error)),
            _ => Ok(()),
        }
    }
}

/// A new file, in place of whatever has its name.
fn create_anew(place: &Path) -> io::Result<File> {
    let create = || {
        let mut options = File::options();
        options.write(true).create_new(true).mode(0o600).open(place)
    };
    match create() {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            fs::remove_file(place)?;
            create()
        }
        other => other,
    }
}

#[derive(Debug)]
struct Opened {
    file: File,
    len: u64,
    map: Option<Mmap>,
}

impl ReadAt for Opened {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(buffer, offset)
    }

    fn mapped(&self) -> Option<&[u8]> {
        self.map.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::super::StorageError;
    use super::*;

    #[test]
    fn a_replaced_file_stays_whole_for_who_has_it_open() {
        let folder = tempfile::tempdir().unwrap();
        let disk = Disk::new(folder.path());
        disk.create("a").unwrap().append(b"old").unwrap();
        let reader = disk.open("a").unwrap();
        disk.create("a").unwrap().append(b"n").unwrap();
        let mut bytes = [0; 3];
        reader.read_at(0, &mut bytes).unwrap();
        assert_eq!(bytes, *b"old");
        assert_eq!(disk.open("a").unwrap().len(), 1);
        let beyond = reader.read_at(1, &mut bytes).unwrap_err();
        assert_eq!(beyond.kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn what_cannot_be_written_says_where() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        // No folder, so that nothing can be in it.
        let error = Disk::new(&file).create("a").unwrap().append(b"a");
        let error = error.expect_err("it is a file");
        assert_eq!(error.kind(), io::ErrorKind::NotADirectory);
        assert!(error.to_string().starts_with("Not a directory"), "{error}");
        assert_eq!(StorageError::io("a", error).folder(), Some(&*file));
        // One that has no room left says that too.
        let full = in_folder(&file, io::ErrorKind::StorageFull.into());
        assert!(StorageError::io("a", full).is_full_disk());
    }

    #[test]
    fn what_is_no_file_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let disk = Disk::new(folder.path());
        let pipe = folder.path().join("pipe");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &pipe,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR,
            0,
        )
        .unwrap();
        fs::create_dir(folder.path().join("folder")).unwrap();
        for name in ["pipe", "folder"] {
            let error = disk.open(name).err().expect("not a file");
            assert_eq!(error.kind(), io::ErrorKind::NotFound, "{name}");
        }
        assert!(disk.list().unwrap().is_empty());
    }

    #[test]
    fn only_the_owner_may_read() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let disk = Disk::make(&folder.path().join("new/deep")).unwrap();
        disk.create("a").unwrap().append(b"a").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(disk.folder()), 0o700);
        assert_eq!(mode(&disk.folder().join("a")), 0o600);
    }
}
