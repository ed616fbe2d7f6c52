//! Block files against the plain bytes that went in, and against every damage.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use proptest::sample::Index;

use super::*;
use crate::storage::disk::Disk;
use crate::storage::{Damage, Storage};

fn bytes(len: usize, seed: u64) -> Vec<u8> {
    let words = (0..len.div_ceil(8) as u64).map(|i| xxh3_64_with_seed(&i.to_le_bytes(), seed));
    let mut bytes: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
    bytes.truncate(len);
    bytes
}

fn write(storage: &dyn Storage, name: &str, pieces: &[&[u8]]) -> FileEntry {
    let id = file_id(1, 2, name);
    let mut writer = BlockWriter::create(storage, name, FileKind::Pairs, id).unwrap();
    let mut position = 0;
    for piece in pieces {
        writer.append(piece).unwrap();
        position += piece.len() as u64;
        assert_eq!(writer.position(), position);
    }
    writer.finish().unwrap()
}

fn folder() -> (tempfile::TempDir, Disk) {
    let folder = tempfile::tempdir().unwrap();
    let disk = Disk::new(folder.path());
    (folder, disk)
}

fn raw(folder: &tempfile::TempDir, name: &str) -> Vec<u8> {
    fs::read(folder.path().join(name)).unwrap()
}

fn damage(result: Result<impl std::fmt::Debug, StorageError>) -> Damage {
    match result.expect_err("damage must be noticed").fault {
        Fault::Damaged(damage) => damage,
        other => panic!("not called damage: {other:?}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn what_was_appended_is_read(
        lens in prop::collection::vec(prop_oneof![0..20_usize, 0..200_000_usize], 0..6),
        reads in prop::collection::vec(any::<(Index, Index)>(), 1..12),
        buffer in 1..4_usize,
    ) {
        let (folder, disk) = folder();
        let all = bytes(lens.iter().sum(), 7);
        let mut rest = &all[..];
        let pieces: Vec<&[u8]> = lens
            .iter()
            .map(|len| rest.split_off(..*len).unwrap())
            .collect();
        let entry = write(&disk, "file", &pieces);
        prop_assert_eq!(entry.payload_len, all.len() as u64);
        // Of nothing there is no file.
        let written = fs::read(folder.path().join("file")).ok();
        prop_assert_eq!(written.is_some(), !all.is_empty());
        prop_assert_eq!(entry.file_len, written.map_or(0, |raw| raw.len() as u64));
        verify(&disk, &entry).unwrap();
        for reader in [BlockReader::open(&disk, &entry).unwrap(), BlockReader::open_mapped(&disk, &entry).unwrap()] {
            prop_assert!(reader.read_all().unwrap() == all);
            for (start, end) in &reads {
                let (start, end) = (start.index(all.len() + 1), end.index(all.len() + 1));
                let (start, end) = (start.min(end), start.max(end));
                let mut part = vec![0; end - start];
                reader.read_at(start as u64, &mut part).unwrap();
                prop_assert!(part == all[start..end]);
                let mut stream = reader.stream(start as u64..end as u64, buffer).unwrap();
                let mut streamed = Vec::new();
                while let Some(chunk) = stream.next_chunk().unwrap() {
                    prop_assert!(!chunk.is_empty());
                    streamed.extend_from_slice(chunk);
                }
                prop_assert!(streamed == part);
                // The same in steps that fit no block.
                let mut stream = reader.stream(start as u64..end as u64, buffer).unwrap();
                for step in part.chunks(9_973) {
                    let mut got = vec![0; step.len()];
                    stream.read_exact(&mut got).unwrap();
                    prop_assert!(got == step);
                }
                prop_assert_eq!(stream.remaining(), 0);
                prop_assert!(stream.read_exact(&mut [0]).is_err());
            }
        }
    }

    #[test]
    fn a_cursor_reads_what_anyone_reads(count in 1..30_000_u64, places in prop::collection::vec((any::<Index>(), any::<Index>()), 1..20)) {
        let (_folder, disk) = folder();
        let words: Vec<u64> = (0..count).map(|i| i * i).collect();
        let mut writer = BlockWriter::create(&disk, "w", FileKind::Fingerprints, 3).unwrap();
        writer.append_records(&words).unwrap();
        let entry = writer.finish().unwrap();
        for reader in [BlockReader::open(&disk, &entry).unwrap(), BlockReader::open_mapped(&disk, &entry).unwrap()] {
            let mut cursor = reader.cursor();
            for (from, to) in &places {
                let (from, to) = (from.index(words.len()), to.index(words.len()));
                let (from, to) = (from.min(to), from.max(to));
                let mut out = vec![7];
                cursor.read_words(from as u64..to as u64, &mut out).unwrap();
                prop_assert_eq!(&out[1..], &words[from..to]);
            }
            prop_assert!(cursor.read_words(0..count + 1, &mut Vec::new()).is_err());
            let few = reader.partition_point(|word: &u64| *word < count).unwrap();
            prop_assert_eq!(few, words.partition_point(|word| *word < count) as u64);
        }
    }

    #[test]
    fn records_come_back(count in 0..20_000_u32, start in any::<Index>()) {
        let (_folder, disk) = folder();
        let records: Vec<(u64, u32)> = (0..count).map(|i| (u64::from(i) << 33 | 5, i)).collect();
        let start = start.index(records.len() + 1) as u64;
        let count = u64::from(count);
        let mut writer = BlockWriter::create(&disk, "r", FileKind::Pairs, 3).unwrap();
        writer.append_records(&records).unwrap();
        let entry = writer.finish().unwrap();
        prop_assert_eq!(entry.payload_len, 12 * count);
        let reader = BlockReader::open(&disk, &entry).unwrap();
        prop_assert_eq!(reader.record_count::<(u64, u32)>().unwrap(), count);
        let mut stream = reader.records::<(u64, u32)>(start..count, 2).unwrap();
        for (i, record) in (0..).zip(&records).filter(|(i, _)| *i >= start) {
            prop_assert_eq!(stream.remaining(), count - i);
            prop_assert_eq!(stream.peek().unwrap(), Some(*record));
            prop_assert_eq!(stream.next_record().unwrap(), Some(*record));
        }
        prop_assert_eq!(stream.next_record().unwrap(), None);
        let mut stream = reader.all_records::<(u64, u32)>(3).unwrap();
        let mut all = Vec::new();
        while let Some(batch) = stream.next_batch().unwrap() {
            all.extend_from_slice(batch);
        }
        prop_assert!(all == records);
        if start < count {
            let record = reader.record::<(u64, u32)>(start).unwrap();
            prop_assert_eq!(u64::from(record.1), start);
        }
        prop_assert!(reader.record::<(u64, u32)>(count).is_err());
    }
}

#[test]
fn the_bytes_on_disk_are_as_drawn() {
    let (folder, disk) = folder();
    let stream = bytes(PAYLOAD_LEN + 3, 1);
    let entry = write(&disk, "file", &[&stream]);
    let raw = raw(&folder, "file");
    assert_eq!(raw.len(), 65_536 + 24 + 3 + 8);
    assert_eq!(raw[..8], *b"LKBF\x01\x05\0\0");
    assert_eq!(raw[8..16], entry.id.to_le_bytes());
    let first = 65_528 - 24;
    assert_eq!(raw[24..65_528], stream[..first]);
    assert_eq!(raw[65_536..][..24 + 3], stream[first..]);
    // Pinned: another value means that files of this version no longer open.
    assert_eq!(entry.id, 18_409_987_219_849_029_110);
    assert_eq!(entry.checksum, 2_019_542_411_813_180_997);
}

#[test]
fn every_flipped_bit_is_noticed() {
    let (folder, disk) = folder();
    let path = folder.path().join("file");
    let entry = write(&disk, "file", &[b"a rose is a rose"]);
    let sound = raw(&folder, "file");
    for bit in 0..8 * sound.len() {
        let mut flipped = sound.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        fs::write(&path, &flipped).unwrap();
        let what = verify(&disk, &entry).expect_err("a flipped bit");
        assert!(what.is_damage(), "bit {bit}: {what:?}");
        let read = BlockReader::open(&disk, &entry).and_then(|reader| reader.read_at(0, &mut [0]));
        assert!(read.is_err(), "bit {bit} unnoticed by a read");
        let mapped = BlockReader::open_mapped(&disk, &entry);
        let streamed = mapped.and_then(|reader| reader.read_all());
        assert!(streamed.is_err(), "bit {bit} unnoticed by a stream");
    }
    fs::write(&path, &sound).unwrap();
    verify(&disk, &entry).unwrap();
}

#[test]
fn another_length_is_noticed_at_the_door() {
    let (folder, disk) = folder();
    let path = folder.path().join("file");
    let entry = write(&disk, "file", &[&bytes(70_000, 1)]);
    let sound = raw(&folder, "file");
    for len in [0, 1, 23, 24, 25, 65_560, sound.len() - 1] {
        fs::write(&path, &sound[..len]).unwrap();
        let found = damage(BlockReader::open(&disk, &entry));
        assert_eq!(found.what, "it is shorter than it was");
    }
    for extra in [1, 8, 65_536] {
        fs::write(&path, [&sound[..], &vec![0; extra]].concat()).unwrap();
        let found = damage(BlockReader::open(&disk, &entry));
        assert_eq!(found.what, "it is longer than it was");
    }
    fs::remove_file(&path).unwrap();
    let missing = BlockReader::open(&disk, &entry).unwrap_err();
    assert!(matches!(missing.fault, Fault::Missing));
}

#[test]
fn a_right_block_in_the_wrong_place_is_noticed() {
    let (folder, disk) = folder();
    let write_raw = |name: &str, raw: &[u8]| fs::write(folder.path().join(name), raw).unwrap();
    // The same payload in all blocks: only the place tells them apart.
    let payload = vec![b'x'; PAYLOAD_LEN];
    let one = write(&disk, "one", &[&payload, &payload, &payload]);
    write(&disk, "two", &[&payload, &payload, &payload]);
    let (raw_one, raw_two) = (raw(&folder, "one"), raw(&folder, "two"));
    let block = |n: usize| n * BLOCK_LEN..(n + 1) * BLOCK_LEN;

    let mut moved = raw_one.clone();
    moved.copy_within(block(1), block(2).start);
    write_raw("one", &moved);
    assert!(damage(verify(&disk, &one)).at == Some(block(2).start as u64));
    let reader = BlockReader::open(&disk, &one).unwrap();
    let before = 2 * PAYLOAD_LEN - HEADER_LEN;
    reader.read_at(0, &mut vec![0; before]).unwrap();
    damage(reader.read_at(before as u64, &mut [0]));

    let mut foreign = raw_one.clone();
    foreign[block(1)].copy_from_slice(&raw_two[block(1)]);
    write_raw("one", &foreign);
    assert!(damage(verify(&disk, &one)).at == Some(block(1).start as u64));

    // Whole files swapped, of one kind and length.
    write_raw("one", &raw_two);
    let found = damage(BlockReader::open(&disk, &one));
    assert_eq!(
        found.what,
        "it is another file than the one that was written"
    );
}

#[test]
fn an_older_file_of_the_same_id_is_noticed_by_verify() {
    let (folder, disk) = folder();
    write(&disk, "file", &[b"old"]);
    let old = raw(&folder, "file");
    let entry = write(&disk, "file", &[b"new"]);
    fs::write(folder.path().join("file"), old).unwrap();
    let found = damage(verify(&disk, &entry));
    assert_eq!(found.what, "it is another file than the manifest names");
    damage(BlockReader::open(&disk, &entry).unwrap().read_all());
}

#[test]
fn a_newer_version_is_refused_by_naming_both() {
    let (folder, disk) = folder();
    let entry = write(&disk, "file", &[b"text"]);
    let mut raw = raw(&folder, "file");
    raw[4] = 9;
    let sum = xxh3_64(&raw[..16]);
    raw[16..24].copy_from_slice(&sum.to_le_bytes());
    fs::write(folder.path().join("file"), raw).unwrap();
    let error = BlockReader::open(&disk, &entry).unwrap_err();
    let text = error.fault.to_string();
    assert_eq!(text, "it has format 9, this program reads format 1");
    assert!(error.is_damage());
}

#[test]
fn lengths_that_the_manifest_invents_are_refused() {
    let (_folder, disk) = folder();
    let entry = write(&disk, "file", &[b"text"]);
    for payload_len in [0, 5, u64::MAX, u64::MAX - 40] {
        for file_len in [entry.file_len, u64::MAX, 0] {
            let entry = FileEntry {
                payload_len,
                file_len,
                ..entry.clone()
            };
            damage(BlockReader::open(&disk, &entry));
        }
    }
    let reader = BlockReader::open(&disk, &entry).unwrap();
    damage(reader.read_at(u64::MAX, &mut [0; 2]));
    damage(reader.read_at(4, &mut [0]));
    damage(reader.stream(0..5, 1));
    damage(reader.stream(u64::MAX..u64::MAX, 1));
    damage(reader.records::<u64>(0..1, 1));
    damage(reader.record::<u64>(u64::MAX));
    reader.read_at(4, &mut []).unwrap();
}

#[test]
fn threads_share_a_reader_and_keep_their_blocks_apart() {
    let (_folder, disk) = folder();
    let streams: Vec<Vec<u8>> = (0..3).map(|seed| bytes(200_000, seed)).collect();
    let readers: Vec<BlockReader> = streams
        .iter()
        .enumerate()
        .map(|(i, stream)| {
            let entry = write(&disk, &format!("file{i}"), &[stream]);
            BlockReader::open(&disk, &entry).unwrap()
        })
        .collect();
    std::thread::scope(|scope| {
        for thread in 0..3_usize {
            let (streams, readers) = (&streams, &readers);
            scope.spawn(move || {
                for step in 0..600_usize {
                    let file = (thread + step) % 3;
                    let at = (step * 7_919 + thread * 104_729) % 199_990;
                    let mut got = [0; 10];
                    readers[file].read_at(at as u64, &mut got).unwrap();
                    assert_eq!(got, streams[file][at..at + 10]);
                }
            });
        }
    });
}

#[test]
fn names_never_lead_out_of_the_folder() {
    let (folder, _) = folder();
    let inner = folder.path().join("inner");
    let disk = Disk::make(&inner).unwrap();
    for name in ["../x", "/x", "..", ".", "", "a/b", "a\0b"] {
        assert!(disk.create(name).is_err(), "{name:?}");
        assert!(disk.open(name).is_err(), "{name:?}");
        assert!(disk.remove(name).is_err(), "{name:?}");
        assert!(disk.rename(name, "y").is_err(), "{name:?}");
    }
    assert!(Path::new(&inner).exists());
    assert_eq!(disk.list().unwrap(), Vec::<String>::new());
}
