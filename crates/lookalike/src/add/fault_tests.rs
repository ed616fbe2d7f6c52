//! Two sweeps on a disk that fails at every operation in every way: the collection is the
//! old one or the new one, and the same command again leads to the very same bytes.

use std::collections::BTreeMap;
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lookalike_testkit::texts::{edited, line, words};
use tempfile::TempDir;

use super::intake::Intake;
use super::{AddError, AddOptions, Event, Report, add_in};
use crate::collection::journal::load_journal;
use crate::collection::manifest::{collect_garbage, latest};
use crate::collection::state::State;
use crate::collection::verify::verify;
use crate::collection::{Collection, CollectionError};
use crate::corpus::inputs::Inputs;
use crate::corpus::options::ReadOptions;
use crate::storage::Storage;
use crate::storage::sim::{Crash, Failure, Names, SimFs, Tails, Times};

/// So little that everything is spilled, and read again.
const TIGHT: u64 = 1 << 10;

pub(crate) fn options(threads: usize, memory: u64) -> AddOptions {
    AddOptions {
        keep_text: true,
        threads: NonZeroUsize::new(threads).unwrap(),
        memory,
        ..AddOptions::default()
    }
}

/// Adds a sweep to a collection on a simulated disk.
pub(super) fn add_to(
    disk: &SimFs,
    inputs: &Inputs,
    options: &AddOptions,
    watch: &mut dyn FnMut(Event<'_>),
) -> Result<Report, AddError> {
    let storage: Arc<dyn Storage> = Arc::new(disk.clone());
    add_in(
        Path::new("/sim"),
        &storage,
        &*storage,
        inputs,
        options,
        watch,
    )
}

/// All files, with their bytes.
pub(super) fn contents(disk: &SimFs) -> BTreeMap<String, Vec<u8>> {
    let names = disk.list().unwrap();
    let bytes = |name: String| (name.clone(), disk.bytes(&name).unwrap());
    names.into_iter().map(bytes).collect()
}

#[track_caller]
pub(super) fn assert_same(found: &BTreeMap<String, Vec<u8>>, whole: &BTreeMap<String, Vec<u8>>) {
    let names = |all: &BTreeMap<String, Vec<u8>>| all.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(found), names(whole));
    for (name, bytes) in found {
        assert!(*bytes == whole[name], "`{name}` has other bytes");
    }
}

/// What is added: two sweeps of three files each, so several chunks each.
struct Sweeps {
    _folder: TempDir,
    files: [Vec<PathBuf>; 2],
}

impl Sweeps {
    fn new() -> Sweeps {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, lines: String| {
            let path = folder.path().join(name);
            fs::write(&path, lines).unwrap();
            path
        };
        let text = |seed: u64| words(seed, 60);
        let doc = |id: &str, words: &[String]| line(id, &words.join(" "));
        let first = vec![
            write("a.jsonl", [doc("1", &text(1)), doc("2", &text(2))].concat()),
            write(
                "b.jsonl",
                [
                    doc("3", &edited(&text(1), 25, 99)),
                    doc("4", &text(2)),
                    "{ broken\n".to_owned(),
                ]
                .concat(),
            ),
            write("c.jsonl", [doc("5", &text(5)), doc("1", &text(1))].concat()),
        ];
        let second = vec![
            write("d.jsonl", [doc("6", &text(6)), doc("2", &text(2))].concat()),
            write("e.jsonl", doc("7", &edited(&text(5), 25, 99))),
            write(
                "f.jsonl",
                doc("8", &text(5))
                    .to_uppercase()
                    .replace("TEXT", "text")
                    .replace("ID", "id"),
            ),
        ];
        Sweeps {
            _folder: folder,
            files: [first, second],
        }
    }

    fn inputs(&self, sweep: usize) -> Inputs {
        Inputs::expand(&self.files[sweep], &ReadOptions::default())
    }

    /// Adds a sweep, and says how many records need not be read again.
    fn add(&self, disk: &SimFs, sweep: usize) -> (Result<Report, AddError>, Option<u64>) {
        let mut resumed = None;
        let added = add_to(
            disk,
            &self.inputs(sweep),
            &options(1, TIGHT),
            &mut |event| {
                if let Event::Resumed { records } = event {
                    resumed = Some(records);
                }
            },
        );
        (added, resumed)
    }

    /// A disk with so many sweeps.
    fn at(&self, sweeps: usize) -> SimFs {
        let disk = SimFs::new();
        for sweep in 0..sweeps {
            self.add(&disk, sweep).0.unwrap();
        }
        disk.copy()
    }

    fn operations(&self, sweep: usize) -> u64 {
        let disk = self.at(sweep);
        self.add(&disk, sweep).0.unwrap();
        disk.operations()
    }
}

/// Asserts that the disk holds a whole generation that can be read, and gives its number.
fn generation(disk: &SimFs) -> u64 {
    let collection = match Collection::open_in(Path::new("/sim"), Arc::new(disk.clone())) {
        Ok(collection) => collection,
        Err(CollectionError::NotACollection) => return 0,
        Err(error) => panic!("{error:?}"),
    };
    let verified = verify(disk, |_| {}).unwrap();
    assert!(verified.faults.is_empty(), "{:?}", verified.faults);
    collection.manifest().generation()
}

/// The old state or the new one; the same command again completes, and nothing is left
/// over.
fn check(sweeps: &Sweeps, found: &SimFs, sweep: usize, is_done: bool, whole: &SimFs) {
    let now = generation(found);
    assert!(
        now == sweep as u64 + 1 || now == sweep as u64 && !is_done,
        "generation {now} of {sweep}, done: {is_done}"
    );
    if now == sweep as u64 {
        let journal = load_journal::<Intake>(found, now + 1).unwrap();
        let known = journal.map(|journal| journal.state.tally.read);
        let (added, resumed) = sweeps.add(found, sweep);
        added.unwrap();
        assert_eq!(resumed, known, "it starts over");
    } else {
        collect_garbage(found).unwrap();
    }
    assert_same(&contents(found), &contents(whole));
    assert_eq!(generation(&found.after_crash(&QUIET)), sweep as u64 + 1);
}

const QUIET: Crash = Crash {
    tails: Tails::Dropped,
    names: Names::Dropped,
    seed: 0,
};

/// Every `step`th operation, and all of the last, which commit.
fn moments(operations: u64, step: u64) -> impl Iterator<Item = u64> {
    (0..=operations).filter(move |k| k % step == 0 || k + 40 > operations)
}

fn crashes(step: u64, every: usize) {
    let sweeps = Sweeps::new();
    let all: Vec<Crash> = Crash::all(1).collect();
    for sweep in 0..2 {
        let (start, whole) = (sweeps.at(sweep), sweeps.at(sweep + 1));
        for k in moments(sweeps.operations(sweep), step) {
            let disk = start.copy();
            disk.crash_at(k);
            let is_done = sweeps.add(&disk, sweep).0.is_ok();
            let first = usize::try_from(k).unwrap() % every;
            for crash in all.iter().skip(first).step_by(every) {
                check(&sweeps, &disk.after_crash(crash), sweep, is_done, &whole);
            }
        }
    }
}

fn failures(step: u64) {
    let sweeps = Sweeps::new();
    for sweep in 0..2 {
        let (start, whole) = (sweeps.at(sweep), sweeps.at(sweep + 1));
        for k in moments(sweeps.operations(sweep), step) {
            for failure in [Failure::Eio, Failure::Enospc] {
                for times in [Times::Once, Times::Forever] {
                    let disk = start.copy();
                    disk.fail_at(k, failure, times);
                    let added = sweeps.add(&disk, sweep).0;
                    disk.heal();
                    match (&added, failure) {
                        (Err(AddError::Collection(CollectionError::Storage(error))), _) => {
                            assert!(!error.is_damage(), "{error:?}");
                            let is_full = failure == Failure::Enospc;
                            assert_eq!(error.is_full_disk(), is_full, "{error:?}");
                        }
                        (Err(error), _) => panic!("{error:?}"),
                        (Ok(_), _) => {}
                    }
                    check(
                        &sweeps,
                        &disk.after_crash(&QUIET),
                        sweep,
                        added.is_ok(),
                        &whole,
                    );
                    check(&sweeps, &disk, sweep, added.is_ok(), &whole);
                }
            }
        }
    }
}

#[test]
fn a_crash_leaves_the_old_state_or_the_new() {
    crashes(23, 7);
}

#[test]
fn a_failed_call_leaves_the_old_state_or_the_new() {
    failures(37);
}

#[test]
#[ignore = "takes many minutes: part of `make soak`"]
fn soak_crash_at_every_operation() {
    crashes(1, 1);
}

#[test]
#[ignore = "takes many minutes: part of `make soak`"]
fn soak_failure_of_every_operation() {
    failures(1);
}

#[test]
fn the_sweeps_do_what_they_are_for() {
    let sweeps = Sweeps::new();
    let disk = SimFs::new();
    let (added, _) = sweeps.add(&disk, 0);
    let counts = added.unwrap().counts;
    assert_eq!(counts.read, 7);
    assert_eq!((counts.distinct, counts.identical, counts.again), (4, 1, 1));
    assert_eq!(counts.rejected.values().sum::<u64>(), 1);
    assert!(counts.pairs > 0);
    // More than one chunk of groups.
    assert!(counts.memberships > 80, "{}", counts.memberships);
    let (added, _) = sweeps.add(&disk, 1);
    let report = added.unwrap();
    assert_eq!((report.counts.lexical, report.counts.again), (1, 1));
    assert!(report.counts.pairs > 0);
    assert!(report.scratch > 0, "nothing was spilled");
    assert_eq!(report.clusterings[0].summary.clusters, 3);
}

/// What is half done goes wrong as well: starting over is better than never ending.
#[test]
fn a_damaged_chunk_is_made_again() {
    let sweeps = Sweeps::new();
    let whole = contents(&sweeps.at(1));
    let half = (0..sweeps.operations(0))
        .map(|k| {
            let disk = SimFs::new();
            disk.crash_at(k);
            drop(sweeps.add(&disk, 0));
            disk.after_crash(&QUIET)
        })
        .find(|disk| {
            let journal = load_journal::<Intake>(disk, 1).unwrap();
            journal.is_some_and(|journal| journal.state.chunks.len() == 2)
        })
        .unwrap();
    let names: Vec<String> = half.list().unwrap();
    assert!(names.iter().any(|name| name.starts_with("intake-")));
    for name in names {
        for damage in 0..3 {
            let disk = half.copy();
            let mut bytes = disk.bytes(&name).unwrap();
            match damage {
                0 => {
                    let middle = bytes.len() / 2;
                    bytes[middle] ^= 1;
                    disk.put(&name, bytes);
                }
                1 => disk.put(&name, Vec::new()),
                _ => disk.remove(&name).unwrap(),
            }
            let (added, resumed) = sweeps.add(&disk, 0);
            added.unwrap();
            assert_eq!(resumed, None, "{name}");
            assert_same(&contents(&disk), &whole);
        }
    }
}

/// Going on in the middle of a source, behind one that could not be read.
#[test]
fn a_source_that_fails_does_not_shift_those_behind_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let long = |seed: u64| line(&seed.to_string(), &words(seed, 2_000).join(" "));
    fs::write(path("a.jsonl"), long(1)).unwrap();
    fs::write(path("b.jsonl"), long(2)).unwrap();
    // Three batches and a half.
    fs::write(path("c.jsonl"), (3..130).map(long).collect::<String>()).unwrap();
    let files = ["a.jsonl", "b.jsonl", "c.jsonl"].map(path);
    let inputs = Inputs::expand(&files, &ReadOptions::default());
    fs::remove_file(&files[1]).unwrap();
    let options = options(1, 1 << 20);
    let whole = SimFs::new();
    let mut seen = Vec::new();
    let report = add_to(&whole, &inputs, &options, &mut |event| {
        if let Event::Read { records, .. } = event {
            seen.push(records);
        }
    });
    assert_eq!(report.unwrap().counts.rejected["unreadable"], 1);
    seen.dedup();
    assert!(seen.len() > 5, "{seen:?}");
    for stop in seen {
        let disk = SimFs::new();
        let stopped = add_to(&disk, &inputs, &options, &mut |event| {
            if matches!(event, Event::Read { records, .. } if records == stop) {
                disk.crash_at(disk.operations());
            }
        });
        assert!(stopped.is_err());
        let found = disk.after_crash(&QUIET);
        add_to(&found, &inputs, &options, &mut |_| {}).unwrap();
        assert_same(&contents(&found), &contents(&whole));
    }
}

#[test]
fn a_collection_of_no_documents_is_not_made() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.jsonl");
    fs::write(&path, "{ broken\n").unwrap();
    let inputs = Inputs::expand(&[path], &ReadOptions::default());
    let disk = SimFs::new();
    let added = add_to(&disk, &inputs, &options(1, TIGHT), &mut |_| {});
    assert!(matches!(added, Err(AddError::Nothing(_))));
    assert!(disk.list().unwrap().is_empty(), "{:?}", disk.list());
    let found = latest::<State>(&disk);
    assert!(matches!(found, Err(CollectionError::NotACollection)));
}
