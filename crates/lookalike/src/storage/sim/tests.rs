//! The model itself: it forgets what it may forget, and nothing else.

use super::*;

const QUIET: Crash = Crash {
    tails: Tails::Dropped,
    names: Names::Dropped,
    seed: 0,
};

fn write(disk: &SimFs, name: &str, bytes: &[u8]) -> io::Result<Box<dyn Append>> {
    let mut file = disk.create(name)?;
    file.append(bytes)?;
    Ok(file)
}

fn read(disk: &SimFs, name: &str) -> io::Result<Vec<u8>> {
    let file = disk.open(name)?;
    let mut bytes = vec![0; usize::try_from(file.len()).unwrap()];
    file.read_at(0, &mut bytes)?;
    Ok(bytes)
}

#[test]
fn bytes_last_from_their_sync_on_and_names_from_that_of_the_folder() {
    let disk = SimFs::new();
    let mut file = write(&disk, "a", b"early").unwrap();
    file.sync().unwrap();
    file.append(b" late").unwrap();
    assert_eq!(read(&disk, "a").unwrap(), b"early late");
    assert!(disk.after_crash(&QUIET).list().unwrap().is_empty());
    disk.sync_folder().unwrap();
    assert_eq!(read(&disk.after_crash(&QUIET), "a").unwrap(), b"early");
    disk.rename("a", "b").unwrap();
    assert_eq!(disk.list().unwrap(), ["b"]);
    assert_eq!(disk.after_crash(&QUIET).list().unwrap(), ["a"]);
    disk.sync_folder().unwrap();
    assert_eq!(disk.after_crash(&QUIET).list().unwrap(), ["b"]);
    disk.remove("b").unwrap();
    assert_eq!(disk.after_crash(&QUIET).list().unwrap(), ["b"]);
    assert_eq!(
        read(&disk, "b").unwrap_err().kind(),
        io::ErrorKind::NotFound
    );
}

#[test]
fn tails_are_damaged_as_asked_and_synced_bytes_never() {
    let disk = SimFs::new();
    let mut file = write(&disk, "a", &[1; 700]).unwrap();
    file.sync().unwrap();
    file.append(&[2; 3_000]).unwrap();
    disk.sync_folder().unwrap();
    let mut lengths = Vec::new();
    for crash in Crash::all(20) {
        let found = read(&disk.after_crash(&crash), "a").unwrap();
        assert_eq!(found[..700], [1; 700]);
        let tail = &found[700..];
        match crash.tails {
            Tails::Dropped => assert!(tail.is_empty()),
            Tails::Torn => {
                assert!(found.len() == 700 || found.len().is_multiple_of(512));
                assert!(tail.iter().all(|byte| *byte == 2));
                lengths.push(found.len());
            }
            Tails::Zeroed => assert_eq!(tail, [0; 3_000]),
            Tails::Flipped => {
                assert_eq!(tail.iter().filter(|byte| **byte != 2).count(), 1);
            }
            Tails::Kept => assert_eq!(tail, [2; 3_000]),
        }
        assert_eq!(found, read(&disk.after_crash(&crash), "a").unwrap());
    }
    lengths.sort_unstable();
    lengths.dedup();
    assert!(lengths.len() > 3, "torn in too few places: {lengths:?}");
}

#[test]
fn names_survive_in_part() {
    let disk = SimFs::new();
    for name in ["a", "b", "c", "d"] {
        write(&disk, name, b"").unwrap();
    }
    let found = |names| {
        let mut found: Vec<Vec<String>> = (0..100)
            .map(|seed| Crash {
                names,
                seed,
                ..QUIET
            })
            .map(|crash| disk.after_crash(&crash).list().unwrap())
            .collect();
        found.sort();
        found.dedup();
        found.len()
    };
    assert_eq!(found(Names::Dropped), 1);
    assert_eq!(found(Names::First), 5);
    assert_eq!(found(Names::Some), 16);
    assert_eq!(found(Names::Kept), 1);
}

#[test]
fn the_operation_that_should_fail_fails() {
    let disk = SimFs::new();
    disk.fail_at(1, Failure::Eio, Times::Once);
    let mut file = disk.create("a").unwrap();
    assert_eq!(file.append(b"x").unwrap_err().raw_os_error(), Some(5));
    file.append(b"y").unwrap();
    assert_eq!(read(&disk, "a").unwrap(), b"y");

    disk.fail_at(disk.operations(), Failure::Enospc, Times::Forever);
    let full = file.append(b"1234").unwrap_err();
    assert_eq!(full.kind(), io::ErrorKind::StorageFull);
    assert!(disk.create("b").is_err());
    // Half of what did not fit is there, and can be read and removed.
    assert_eq!(read(&disk, "a").unwrap(), b"y12");
    disk.remove("a").unwrap();
    disk.heal();
    disk.create("b").unwrap();

    disk.crash_at(disk.operations());
    assert!(disk.list().is_err());
    assert!(disk.open("b").is_err());
}

#[test]
fn a_sync_that_failed_lies_from_then_on() {
    let disk = SimFs::new();
    let mut file = write(&disk, "a", b"text").unwrap();
    disk.sync_folder().unwrap();
    disk.fail_at(disk.operations(), Failure::Eio, Times::Once);
    assert!(file.sync().is_err());
    file.sync().unwrap();
    assert_eq!(read(&disk, "a").unwrap(), b"text");
    assert_eq!(read(&disk.after_crash(&QUIET), "a").unwrap(), b"");
}
