//! A disk in memory that fails, crashes and forgets on demand: for tests.
//!
//! ```text
//!            append ─► visible bytes ── sync ──────► durable bytes
//! create, rename, remove ─► visible names ── sync_folder ─► durable names
//!                                    │
//!      crash_at(k) … after_crash ────┴─► durable, and of the rest what the crash left
//! ```
//!
//! Every call counts as one operation, so a test can loop over the k at which things go
//! wrong. It is meaner than most disks: names reach the disk in any order until the
//! folder is synced, and a sync that failed once never tells the truth again. The same
//! seed gives the same damage. Memory: every byte ever written.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::{Append, ReadAt, Storage};

/// A disk in memory. Clones are the same disk.
#[derive(Clone, Debug, Default)]
pub struct SimFs {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    files: Vec<Contents>,
    /// Name to place in `files`, as calls see it.
    visible: BTreeMap<String, usize>,
    /// The same as of the last sync of the folder.
    durable: BTreeMap<String, usize>,
    /// What was done to names since.
    pending: Vec<Change>,
    operations: u64,
    plan: Option<Plan>,
}

#[derive(Clone, Debug, Default)]
struct Contents {
    bytes: Vec<u8>,
    /// How many of them a crash cannot touch.
    durable: usize,
    sync: Sync,
}

/// Whether syncing a file still works.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
enum Sync {
    #[default]
    Works,
    /// It failed once. The kernel has forgotten what it could not write, so later calls
    /// succeed and do nothing.
    Lies,
}

#[derive(Clone, Debug)]
enum Change {
    Name(String, usize),
    Rename(String, String, usize),
    Remove(String),
}

#[derive(Clone, Copy, Debug)]
enum Plan {
    Fail(u64, Failure, Times),
    Crash(u64),
}

/// How a call fails.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Failure {
    /// The device reports an error.
    Eio,
    /// No room. Reading and removing still work.
    Enospc,
}

/// How often calls fail.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Times {
    /// One call only.
    Once,
    /// That call and every later one.
    Forever,
}

/// What a crash left of bytes that were not synced.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Tails {
    /// Nothing.
    Dropped,
    /// A part, cut at a sector of 512 bytes.
    Torn,
    /// Their number, but each is zero.
    Zeroed,
    /// All of them, one bit wrong.
    Flipped,
    /// All of them.
    Kept,
}

/// What a crash left of names that were not synced.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Names {
    /// The folder is as it was when it was synced last.
    Dropped,
    /// The first few changes.
    First,
    /// Some changes, in no order that a journal would keep.
    Some,
    /// The folder is as the process saw it.
    Kept,
}

/// What a machine finds after a crash.
#[derive(Clone, Copy, Debug)]
pub struct Crash {
    /// Of bytes not synced.
    pub tails: Tails,
    /// Of names not synced.
    pub names: Names,
    /// Decides what the two leave open.
    pub seed: u64,
}

impl Crash {
    /// Every kind of tail with every kind of name, `seeds` times each.
    pub fn all(seeds: u64) -> impl Iterator<Item = Crash> {
        use {Names as N, Tails as T};
        let tails = [T::Dropped, T::Torn, T::Zeroed, T::Flipped, T::Kept];
        let names = [N::Dropped, N::First, N::Some, N::Kept];
        tails.into_iter().flat_map(move |tails| {
            names
                .into_iter()
                .flat_map(move |names| (0..seeds).map(move |seed| Crash { tails, names, seed }))
        })
    }
}

/// What a call needs of the disk.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Needs {
    Room,
    NoRoom,
}

impl SimFs {
    /// An empty disk that works.
    pub fn new() -> SimFs {
        SimFs::default()
    }

    /// How many operations there were.
    pub fn operations(&self) -> u64 {
        self.lock().operations
    }

    /// Makes operation `k` fail, counted from 0 and from the birth of the disk.
    pub fn fail_at(&self, k: u64, failure: Failure, times: Times) {
        self.lock().plan = Some(Plan::Fail(k, failure, times));
    }

    /// Makes operation `k` and all later ones fail without effect: the machine is off.
    pub fn crash_at(&self, k: u64) {
        self.lock().plan = Some(Plan::Crash(k));
    }

    /// Nothing fails any more.
    pub fn heal(&self) {
        self.lock().plan = None;
    }

    /// What the machine finds when it is switched on again.
    #[must_use]
    pub fn after_crash(&self, crash: &Crash) -> SimFs {
        let state = self.lock();
        let draw = |what: u64, i: usize| {
            xxh3_64_with_seed(&what.to_le_bytes(), crash.seed ^ (i as u64) << 32)
        };
        let mut names = state.durable.clone();
        let first = draw(1, 0) % (state.pending.len() as u64 + 1);
        for (i, change) in state.pending.iter().enumerate() {
            let kept = match crash.names {
                Names::Dropped => false,
                Names::First => (i as u64) < first,
                Names::Some => draw(2, i) & 1 == 0,
                Names::Kept => true,
            };
            if kept {
                change.apply(&mut names);
            }
        }
        let mut files = Vec::new();
        let mut visible = BTreeMap::new();
        for (name, file) in names {
            let found = state.files[file].after_crash(crash.tails, draw(3, file));
            visible.insert(name, files.len());
            files.push(found);
        }
        SimFs {
            state: Arc::new(Mutex::new(State {
                files,
                durable: visible.clone(),
                visible,
                ..State::default()
            })),
        }
    }

    /// A disk with the same files that can be damaged without touching this one. All of
    /// it is durable.
    #[must_use]
    pub fn copy(&self) -> SimFs {
        let copy = self.after_crash(&Crash {
            tails: Tails::Kept,
            names: Names::Kept,
            seed: 0,
        });
        copy.heal();
        copy
    }

    /// The bytes of a file, without an operation.
    pub fn bytes(&self, name: &str) -> Option<Vec<u8>> {
        let state = self.lock();
        let file = *state.visible.get(name)?;
        Some(state.files[file].bytes.clone())
    }

    /// Gives a file other bytes, durable and without an operation: as rot or a clumsy
    /// hand would.
    pub fn put(&self, name: &str, bytes: Vec<u8>) {
        let mut state = self.lock();
        let file = state.files.len();
        state.files.push(Contents {
            durable: bytes.len(),
            bytes,
            sync: Sync::Works,
        });
        state.visible.insert(name.to_owned(), file);
        state.durable.insert(name.to_owned(), file);
    }

    /// Another thread's panic leaves counters and bytes whole.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts an operation; an error if it is one that must fail.
    fn operation(&self, needs: Needs) -> io::Result<MutexGuard<'_, State>> {
        let mut state = self.lock();
        let now = state.operations;
        state.operations += 1;
        match state.plan {
            Some(Plan::Crash(k)) if now >= k => Err(io::Error::other("crashed")),
            Some(Plan::Fail(k, failure, times))
                if now == k || (now > k && times == Times::Forever) =>
            {
                match (failure, needs) {
                    (Failure::Eio, _) => Err(io::Error::from(rustix::io::Errno::IO)),
                    (Failure::Enospc, Needs::Room) => {
                        Err(io::Error::from(rustix::io::Errno::NOSPC))
                    }
                    (Failure::Enospc, Needs::NoRoom) => Ok(state),
                }
            }
            _ => Ok(state),
        }
    }
}

impl Change {
    fn apply(&self, names: &mut BTreeMap<String, usize>) {
        match self {
            Change::Name(name, file) => {
                names.insert(name.clone(), *file);
            }
            Change::Rename(from, to, file) => {
                names.remove(from);
                names.insert(to.clone(), *file);
            }
            Change::Remove(name) => {
                names.remove(name);
            }
        }
    }
}

impl State {
    fn change(&mut self, change: Change) {
        change.apply(&mut self.visible);
        self.pending.push(change);
    }

    fn find(&self, name: &str) -> io::Result<usize> {
        let found = self.visible.get(name).copied();
        found.ok_or_else(|| io::Error::from(rustix::io::Errno::NOENT))
    }
}

impl Contents {
    fn after_crash(&self, tails: Tails, draw: u64) -> Contents {
        let mut bytes = self.bytes.clone();
        let tail = bytes.len() - self.durable;
        if tail > 0 {
            let draw = usize::try_from(draw >> 32).unwrap_or(0);
            match tails {
                Tails::Dropped => bytes.truncate(self.durable),
                Tails::Torn => {
                    let sector = (self.durable + draw % tail) / 512 * 512;
                    bytes.truncate(sector.max(self.durable));
                }
                Tails::Zeroed => bytes[self.durable..].fill(0),
                Tails::Flipped => bytes[self.durable + draw % tail] ^= 1 << (draw % 8),
                Tails::Kept => {}
            }
        }
        Contents {
            durable: bytes.len(),
            bytes,
            sync: Sync::Works,
        }
    }
}

impl Storage for SimFs {
    fn create(&self, name: &str) -> io::Result<Box<dyn Append>> {
        drop(self.operation(Needs::Room)?);
        Ok(Box::new(Writing {
            disk: self.clone(),
            name: name.to_owned(),
            file: None,
        }))
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn ReadAt>> {
        let state = self.operation(Needs::NoRoom)?;
        let file = state.find(name)?;
        let len = state.files[file].bytes.len() as u64;
        drop(state);
        Ok(Box::new(Reading {
            disk: self.clone(),
            file,
            len,
        }))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut state = self.operation(Needs::Room)?;
        let file = state.find(from)?;
        state.change(Change::Rename(from.to_owned(), to.to_owned(), file));
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let mut state = self.operation(Needs::NoRoom)?;
        state.find(name)?;
        state.change(Change::Remove(name.to_owned()));
        Ok(())
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let state = self.operation(Needs::NoRoom)?;
        Ok(state.visible.keys().cloned().collect())
    }

    fn sync_folder(&self) -> io::Result<()> {
        let mut state = self.operation(Needs::Room)?;
        state.durable = state.visible.clone();
        state.pending.clear();
        Ok(())
    }
}

struct Writing {
    disk: SimFs,
    name: String,
    /// From the first byte on.
    file: Option<usize>,
}

impl Writing {
    fn put(&mut self, state: &mut State, bytes: &[u8]) {
        let file = *self.file.get_or_insert_with(|| {
            let file = state.files.len();
            state.files.push(Contents::default());
            state.change(Change::Name(self.name.clone(), file));
            file
        });
        state.files[file].bytes.extend_from_slice(bytes);
    }
}

impl Append for Writing {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let disk = self.disk.clone();
        match disk.operation(Needs::Room) {
            Ok(mut state) => {
                self.put(&mut state, bytes);
                Ok(())
            }
            Err(error) => {
                // Half of it was written before the disk was full.
                if error.kind() == io::ErrorKind::StorageFull {
                    self.put(&mut disk.lock(), &bytes[..bytes.len() / 2]);
                }
                Err(error)
            }
        }
    }

    fn sync(&mut self) -> io::Result<()> {
        let operation = self.disk.operation(Needs::Room);
        let Some(file) = self.file else {
            return operation.map(drop);
        };
        match operation {
            Ok(mut state) => {
                let file = &mut state.files[file];
                if file.sync == Sync::Works {
                    file.durable = file.bytes.len();
                }
                Ok(())
            }
            Err(error) => {
                self.disk.lock().files[file].sync = Sync::Lies;
                Err(error)
            }
        }
    }
}

struct Reading {
    disk: SimFs,
    file: usize,
    len: u64,
}

impl ReadAt for Reading {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let state = self.disk.operation(Needs::NoRoom)?;
        let bytes = &state.files[self.file].bytes;
        let part = usize::try_from(offset)
            .ok()
            .and_then(|from| bytes.get(from..)?.get(..buffer.len()));
        match part {
            Some(part) => {
                buffer.copy_from_slice(part);
                Ok(())
            }
            None => Err(io::Error::from(io::ErrorKind::UnexpectedEof)),
        }
    }
}

#[cfg(test)]
mod tests;
