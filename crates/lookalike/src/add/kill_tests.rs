//! Another process adds a sweep and is killed, again and again.
//!
//! This test's own program is that process: it is started with a name of a test that is
//! otherwise ignored.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use lookalike_testkit::texts::{Draw, edited, line, words};

use super::fault_tests::{assert_same, options};
use super::intake::Intake;
use super::{Event, add};
use crate::collection::journal::load_journal;
use crate::collection::manifest::collect_garbage;
use crate::collection::verify::verify;
use crate::collection::{Collection, CollectionError};
use crate::corpus::inputs::Inputs;
use crate::storage::disk::Disk;

const FOLDER: &str = "LOOKALIKE_TEST_FOLDER";
const INPUT: &str = "LOOKALIKE_TEST_INPUT";
const SCRATCH: &str = "LOOKALIKE_TEST_SCRATCH";

#[test]
#[ignore = "the process that other tests start, and kill"]
fn adds_a_sweep() {
    let path = |name| std::env::var_os(name).map(PathBuf::from);
    let mut options = options(2, super::LEAST_MEMORY);
    options.scratch = path(SCRATCH);
    let inputs = Inputs::expand(&[path(INPUT).unwrap()], &options.reading);
    let added = add(&path(FOLDER).unwrap(), &inputs, &options, &mut |event| {
        if let Event::Resumed { records } = event {
            println!("resumed {records}.");
        }
    });
    println!("added {}.", added.unwrap().added);
}

/// A child that is ended, however the test ends.
struct Adding(Child);

impl Drop for Adding {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

struct Place {
    input: PathBuf,
    scratch: PathBuf,
    working: PathBuf,
}

impl Place {
    fn start(&self, folder: &Path) -> Adding {
        let name = "add::kill_tests::adds_a_sweep";
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--nocapture", "--exact", name])
            .current_dir(&self.working)
            .env(FOLDER, folder)
            .env(INPUT, &self.input)
            .env(SCRATCH, &self.scratch)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        Adding(child.unwrap())
    }

    /// Adds undisturbed, and gives what was said.
    fn add(&self, folder: &Path) -> String {
        let mut adding = self.start(folder);
        let mut said = String::new();
        let mut stdout = adding.0.stdout.take().unwrap();
        std::io::Read::read_to_string(&mut stdout, &mut said).unwrap();
        assert!(adding.0.wait().unwrap().success(), "{said}");
        said
    }
}

fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let all = fs::read_dir(folder).unwrap().map(|entry| {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        (name, fs::read(path).unwrap())
    });
    all.collect()
}

fn write_input(path: &Path, bytes: usize) {
    let mut lines = String::new();
    let mut number = 0;
    while lines.len() < bytes {
        let text = words(number, 300);
        for (copy, words) in [text.clone(), edited(&text, 7, 50), text]
            .iter()
            .enumerate()
        {
            lines += &line(&format!("{number}.{copy}"), &words.join(" "));
        }
        number += 1;
    }
    fs::write(path, lines).unwrap();
}

fn kill(times: usize, bytes: usize) {
    let temporary = tempfile::tempdir().unwrap();
    let at = |name: &str| temporary.path().join(name);
    let place = Place {
        input: at("input.jsonl"),
        scratch: at("scratch"),
        working: temporary.path().to_owned(),
    };
    fs::create_dir(&place.scratch).unwrap();
    write_input(&place.input, bytes);
    let began = Instant::now();
    place.add(&at("whole"));
    let most = began.elapsed();
    let whole = contents(&at("whole"));
    let mut draw = Draw::new(3);
    let (mut killed, mut lives, mut gone_on) = (0, 0, 0);
    while killed < times {
        let folder = at("life");
        lives += 1;
        // Most are killed once, some are killed again while they go on.
        for _ in 0..=draw.below(3) / 2 {
            let share = draw.below(1_000) as f64 / 1_000.0;
            let mut adding = place.start(&folder);
            std::thread::sleep(most.mul_f64(share));
            killed += usize::from(adding.0.try_wait().unwrap().is_none());
            drop(adding);
            if is_there(&folder) {
                break;
            }
        }
        if !is_there(&folder) {
            let known = load_journal::<Intake>(&Disk::new(&folder), 1);
            let known = known.ok().flatten().map(|journal| journal.state.tally.read);
            let said = place.add(&folder);
            if let Some(known) = known {
                assert!(said.contains(&format!("resumed {known}.")), "{said}");
                gone_on += 1;
            }
            let left = fs::read_dir(&place.scratch).unwrap().count();
            assert_eq!(left, 0, "files are left in scratch");
        }
        collect_garbage(&Disk::new(&folder)).unwrap();
        assert_same(&contents(&folder), &whole);
        fs::remove_dir_all(&folder).unwrap();
    }
    eprintln!("{killed} kills in {lives} lives, {gone_on} went on");
}

/// Whether there is a collection, which must be sound.
fn is_there(folder: &Path) -> bool {
    match Collection::open(folder) {
        Err(CollectionError::NotACollection) => false,
        Err(error) => panic!("{error:?}"),
        Ok(_) => {
            let verified = verify(&Disk::new(folder), |_| {}).unwrap();
            assert!(verified.faults.is_empty(), "{:?}", verified.faults);
            true
        }
    }
}

#[test]
fn a_killed_writer_leaves_the_old_state_or_the_new() {
    kill(20, 3 << 20);
}

#[test]
#[ignore = "takes many minutes: part of `make soak`"]
fn soak_kill_a_hundred_times() {
    kill(100, 32 << 20);
}

/// Where a process works, and what the folder is called, is nobody's business.
#[test]
fn the_working_directory_does_not_show() {
    let temporary = tempfile::tempdir().unwrap();
    let at = |name: &str| temporary.path().join(name);
    write_input(&at("input.jsonl"), 50_000);
    let mut all = Vec::new();
    for working in ["one", "two/deep"] {
        fs::create_dir_all(at(working)).unwrap();
        let place = Place {
            input: at("input.jsonl"),
            scratch: at("scratch"),
            working: at(working),
        };
        place.add(&at(working).join("collection"));
        all.push(contents(&at(working).join("collection")));
    }
    assert_same(&all[0], &all[1]);
}
