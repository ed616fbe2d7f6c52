//! The commit protocol against a disk that fails at every operation in every way.

use serde::{Deserialize, Serialize};

use super::journal::{Journal, load_journal, save_journal};
use super::manifest::{Manifest, collect_garbage, commit, latest, previous};
use super::verify::verify;
use super::{CollectionError, file_name};
use crate::blocks::{BlockWriter, FileEntry, FileKind};
use crate::core::recipe::Recipe;
use crate::storage::sim::{Crash, Failure, Names, SimFs, Tails, Times};
use crate::storage::{Fault, Storage, StorageError};

#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
struct State {
    sweeps: Vec<String>,
}

fn state_of(generation: u64) -> State {
    State {
        sweeps: (1..=generation).map(|n| format!("sweep {n}")).collect(),
    }
}

fn write(
    disk: &SimFs,
    manifest: &Manifest<State>,
    stem: &str,
    len: usize,
) -> Result<FileEntry, StorageError> {
    let name = file_name(stem, manifest.generation());
    let id = manifest.file_id(&name);
    let mut writer = BlockWriter::create(disk, &name, FileKind::Pairs, id)?;
    writer.append(&vec![manifest.generation().to_le_bytes()[0]; len])?;
    writer.finish()
}

/// A writer as they should be: cleans up, goes on where the last one stopped, commits one
/// generation after the other. Gives the names of the files it wrote.
fn advance(disk: &SimFs, target: u64) -> Result<Vec<String>, CollectionError> {
    let mut written = Vec::new();
    collect_garbage(disk)?;
    loop {
        let mut manifest = match latest::<State>(disk) {
            Ok(now) if now.generation() >= target => return Ok(written),
            Err(CollectionError::NotACollection) if target == 0 => return Ok(written),
            Ok(now) => now.next(state_of(now.generation() + 1)),
            Err(CollectionError::NotACollection) => {
                Manifest::first(&Recipe::default(), state_of(1))
            }
            Err(error) => return Err(error),
        };
        let generation = manifest.generation();
        let first = if let Some(journal) = load_journal::<String>(disk, generation)? {
            journal.files
        } else {
            let files = vec![write(disk, &manifest, "pairs", 1_500)?];
            written.push(files[0].name.clone());
            let journal = Journal::new(generation, files, "half done".to_owned());
            save_journal(disk, &journal)?;
            journal.files
        };
        // Names are written anew each time, pairs are added.
        manifest.retain_files(|file| !file.name.starts_with("names-"));
        for entry in first {
            manifest.add_file(entry);
        }
        let names = write(disk, &manifest, "names", 70_000)?;
        written.push(names.name.clone());
        manifest.add_file(names);
        commit(disk, &manifest)?;
    }
}

/// Asserts that the disk holds a whole generation, and gives its number.
fn generation(disk: &SimFs) -> u64 {
    let manifest = match latest::<State>(disk) {
        Ok(manifest) => manifest,
        Err(CollectionError::NotACollection) => return 0,
        Err(error) => panic!("{error:?}"),
    };
    assert_eq!(manifest.state, state_of(manifest.generation()));
    let verified = verify(disk, |_| {}).unwrap();
    assert!(verified.faults.is_empty(), "{:?}", verified.faults);
    assert_eq!(verified.generation, manifest.generation());
    manifest.generation()
}

fn at(target: u64) -> SimFs {
    let disk = SimFs::new();
    advance(&disk, target).unwrap();
    assert_eq!(generation(&disk), target);
    disk
}

fn contents(disk: &SimFs) -> Vec<(String, Vec<u8>)> {
    let names = disk.list().unwrap();
    let bytes = |name: &String| disk.bytes(name).unwrap();
    names
        .iter()
        .map(|name| (name.clone(), bytes(name)))
        .collect()
}

/// The same command again must lead to the very bytes of an undisturbed run, durably and
/// with nothing left over.
fn completes(disk: &SimFs, target: u64, whole: &SimFs) {
    advance(disk, target).unwrap();
    // The last clean-up may have been disturbed; the next writer's is not.
    advance(disk, target).unwrap();
    assert_eq!(generation(disk), target);
    assert!(contents(disk) == contents(whole), "{:?}", disk.list());
    let off = disk.after_crash(&QUIET);
    assert_eq!(generation(&off), target);
}

const QUIET: Crash = Crash {
    tails: Tails::Dropped,
    names: Names::Dropped,
    seed: 0,
};

/// Operations of one run from `base` to the next generation.
fn operations(base: u64) -> u64 {
    let disk = at(base).copy();
    advance(&disk, base + 1).unwrap();
    disk.operations()
}

#[test]
fn a_crash_at_any_operation_leaves_the_old_state_or_the_new() {
    let mut states = 0;
    for base in 0..3 {
        let (start, whole) = (at(base), at(base + 1));
        for k in 0..=operations(base) {
            let disk = start.copy();
            disk.crash_at(k);
            let done = advance(&disk, base + 1).is_ok();
            for crash in Crash::all(2) {
                let found = disk.after_crash(&crash);
                let generation = generation(&found);
                assert!(generation == base + 1 || (generation == base && !done));
                completes(&found, base + 1, &whole);
                states += 1;
            }
        }
    }
    assert!(states >= 3_000, "only {states} states");
}

#[test]
fn a_call_that_fails_leaves_the_old_state_or_the_new() {
    for base in 0..3 {
        let (start, whole) = (at(base), at(base + 1));
        for k in 0..operations(base) {
            for failure in [Failure::Eio, Failure::Enospc] {
                for times in [Times::Once, Times::Forever] {
                    let disk = start.copy();
                    disk.fail_at(k, failure, times);
                    let result = advance(&disk, base + 1);
                    disk.heal();
                    if let (Err(CollectionError::Storage(error)), Failure::Enospc) =
                        (&result, failure)
                    {
                        assert!(error.is_full_disk() && !error.is_damage(), "{error:?}");
                    }
                    for found in [disk.after_crash(&QUIET), disk.copy(), disk] {
                        let generation = generation(&found);
                        assert!(
                            generation == base + 1 || (generation == base && result.is_err()),
                            "{generation} after {result:?}"
                        );
                        completes(&found, base + 1, &whole);
                    }
                }
            }
        }
    }
}

#[test]
fn a_crash_during_recovery_does_no_more_harm_than_the_first() {
    let (start, whole) = (at(1), at(2));
    let crashes: Vec<Crash> = Crash::all(1).collect();
    for k in 0..=operations(1) {
        let disk = start.copy();
        disk.crash_at(k);
        drop(advance(&disk, 2));
        for (i, first) in crashes.iter().enumerate() {
            let second = crashes[(i * 7 + usize::try_from(k).unwrap()) % crashes.len()];
            let again = disk.after_crash(first);
            again.crash_at((k * 31 + i as u64 * 17) % 40);
            drop(advance(&again, 2));
            let found = again.after_crash(&second);
            assert!([1, 2].contains(&generation(&found)));
            completes(&found, 2, &whole);
        }
    }
}

#[test]
fn work_that_the_journal_knows_is_not_done_again() {
    let start = at(1);
    // The first crash that leaves a journal behind, and the old state.
    let found = (0..operations(1))
        .map(|k| {
            let disk = start.copy();
            disk.crash_at(k);
            drop(advance(&disk, 2));
            disk.after_crash(&QUIET)
        })
        .find(|disk| disk.bytes("JOURNAL").is_some())
        .expect("no crash left a journal");
    assert_eq!(generation(&found), 1);
    let journal = load_journal::<String>(&found, 2).unwrap().unwrap();
    assert_eq!(journal.state, "half done");
    assert_eq!(advance(&found, 2).unwrap(), ["names-2.lk"]);
    assert_eq!(generation(&found), 2);
    assert!(load_journal::<String>(&found, 2).unwrap().is_none());
    assert!(load_journal::<String>(&found, 3).unwrap().is_none());
}

#[test]
fn every_damage_to_every_file_is_noticed() {
    let sound = at(3);
    let noticed = |disk: &SimFs| match verify(disk, |_| {}) {
        Ok(verified) => !verified.faults.is_empty(),
        Err(CollectionError::Storage(error)) => error.is_damage(),
        Err(_) => true,
    };
    assert!(!noticed(&sound));
    let all = contents(&sound);
    for (name, bytes) in &all {
        let damaged = |bytes: Vec<u8>, what: &str| {
            let disk = sound.copy();
            disk.put(name, bytes);
            assert!(noticed(&disk), "{name}: {what}");
        };
        // Every bit of short files, some of long ones.
        let step = 1 + bytes.len() / 1_000 * 8 * 7;
        for bit in (0..8 * bytes.len()).step_by(step) {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            damaged(flipped, "flipped");
        }
        damaged(Vec::new(), "emptied");
        damaged(bytes[..bytes.len() - 1].to_vec(), "cut");
        damaged([bytes, &b" "[..]].concat(), "longer");
        damaged(vec![0; bytes.len()], "zeroed");
        let disk = sound.copy();
        disk.remove(name).unwrap();
        assert!(noticed(&disk), "{name}: removed");
        for (other, theirs) in &all {
            if other != name {
                damaged(theirs.clone(), "swapped");
            }
        }
    }
}

#[test]
fn a_damaged_newest_manifest_is_named_and_the_one_before_still_opens() {
    let disk = at(3);
    let mut bytes = disk.bytes("MANIFEST-3").unwrap();
    bytes[20] ^= 1;
    disk.put("MANIFEST-3", bytes);
    match latest::<State>(&disk) {
        Err(CollectionError::Storage(error)) => {
            assert_eq!(error.file, "MANIFEST-3");
            assert!(matches!(error.fault, Fault::Damaged(_)));
        }
        other => panic!("{other:?}"),
    }
    // Nobody knows which files it names: all stay.
    let before = disk.list().unwrap();
    collect_garbage(&disk).unwrap();
    assert_eq!(disk.list().unwrap(), before);
    let old = previous::<State>(&disk).unwrap();
    assert_eq!((old.generation(), &old.state), (2, &state_of(2)));
    // Going on from there replaces the damaged one.
    let mut next = old.next(state_of(3));
    next.retain_files(|file| !file.name.starts_with("names-"));
    for (stem, len) in [("pairs", 1_500), ("names", 70_000)] {
        let entry = write(&disk, &next, stem, len).unwrap();
        next.add_file(entry);
    }
    commit(&disk, &next).unwrap();
    assert_eq!(generation(&disk), 3);
    assert!(contents(&disk) == contents(&at(3)));
}

#[test]
fn a_removed_newest_manifest_is_missed() {
    for newest in 2..4 {
        let disk = at(newest);
        disk.remove(&format!("MANIFEST-{newest}")).unwrap();
        match latest::<State>(&disk) {
            Err(CollectionError::Storage(error)) => {
                assert!(matches!(error.fault, Fault::Missing));
            }
            other => panic!("{other:?}"),
        }
        let old = previous::<State>(&disk).unwrap();
        assert_eq!(old.generation(), newest - 1);
    }
}

#[test]
fn a_newer_format_is_refused_by_naming_both() {
    let disk = at(2);
    let text = String::from_utf8(disk.bytes("MANIFEST-2").unwrap()).unwrap();
    let text = text.replace("\"format\": 1", "\"format\": 7");
    let text = &text[..text.rfind("checksum").unwrap()];
    let line = super::envelope::checksum_line("MANIFEST-2", text.as_bytes());
    disk.put("MANIFEST-2", format!("{text}{line}").into_bytes());
    match latest::<State>(&disk) {
        Err(CollectionError::Storage(error)) => {
            let text = error.fault.to_string();
            assert_eq!(text, "it has format 7, this program reads format 1");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_folder_without_manifest_is_no_collection() {
    let disk = SimFs::new();
    for name in [
        "notes.txt",
        "MANIFEST-01",
        "MANIFEST-",
        "MANIFEST-x",
        "LOCK",
    ] {
        disk.put(name, b"mine".to_vec());
    }
    let found = latest::<State>(&disk);
    assert!(matches!(found, Err(CollectionError::NotACollection)));
    let found = previous::<State>(&disk);
    assert!(matches!(found, Err(CollectionError::NotACollection)));
}

#[test]
fn only_files_of_ours_that_nobody_names_are_removed() {
    let disk = at(2);
    let foreign = [
        "LOCK",
        "notes.txt",
        "a.lk",
        "Pairs-9.lk",
        "MANIFEST-01",
        "x.tmp",
    ];
    let garbage = [
        "pairs-9.lk",
        "names-1-7.lk",
        "MANIFEST-3.tmp",
        "JOURNAL.tmp",
    ];
    let before = disk.list().unwrap();
    for name in foreign.iter().chain(&garbage) {
        disk.put(name, b"?".to_vec());
    }
    collect_garbage(&disk).unwrap();
    let mut expected = [before, foreign.map(str::to_owned).to_vec()].concat();
    expected.sort();
    assert_eq!(disk.list().unwrap(), expected);
}

#[test]
fn a_manifest_is_text_that_says_what_it_is() {
    let text = String::from_utf8(at(1).bytes("MANIFEST-1").unwrap()).unwrap();
    assert!(text.starts_with("{\n  \"format\": 1,\n  \"generation\": 1,\n  \"parent\": 0,\n"));
    let recipe = Recipe::default();
    assert!(text.contains(&format!("\"recipe\": \"{recipe}\"")));
    assert!(text.contains(&format!("\"recipe_id\": \"{}\"", recipe.id())));
    let (_, line) = text.trim_end().rsplit_once('\n').unwrap();
    assert!(line.starts_with("checksum "), "{line}");
}
