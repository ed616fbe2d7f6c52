//! Three hundred ways to damage a collection: all are noticed, and no answer is wrong.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use lookalike::clusters::policy::Policy;
use lookalike::clusters::{ClusterOptions, recluster};
use lookalike::collection::verify::verify;
use lookalike::collection::{Collection, CollectionError};
use lookalike::core::recipe::Recipe;
use lookalike::storage::StorageError;
use lookalike::storage::sim::SimFs;
use lookalike_testkit::texts::{Draw, edited, line, words};

use super::{add_files, contents, options};

type Files = BTreeMap<String, Vec<u8>>;

/// Two sweeps with every grade of copy.
fn make(folder: &Path) {
    let doc = |id: String, words: &[String]| line(&id, &words.join(" "));
    for sweep in 0..2_u64 {
        let mut lines = String::new();
        for family in 0..12 {
            let text = words(family + 4 * sweep, 60);
            lines += &doc(format!("{sweep}-{family}"), &text);
            lines += &doc(format!("{sweep}-{family}-copy"), &text);
            lines += &doc(format!("{sweep}-{family}-edit"), &edited(&text, 20, 40));
            lines += &doc("again".to_owned(), &words(99, 60));
        }
        let input = folder.join(format!("{sweep}.jsonl"));
        fs::write(&input, lines).expect("a file");
        add_files(&folder.join("collection"), &[input], &options()).expect("a sweep");
    }
}

/// Does one kind of damage, and says what it did. `None` when nothing changed.
fn damage(files: &mut Files, draw: &mut Draw) -> Option<String> {
    let names: Vec<String> = files.keys().cloned().collect();
    let pick = |draw: &mut Draw| names[below(draw, names.len())].clone();
    let name = pick(draw);
    let before = files.clone();
    let bytes = files.get_mut(&name).expect("it was listed");
    let what = match draw.below(8) {
        0 | 1 if !bytes.is_empty() => {
            let at = below(draw, bytes.len());
            bytes[at] ^= 1 << draw.below(8);
            format!("flip at {at}")
        }
        2 if !bytes.is_empty() => {
            let len = below(draw, bytes.len());
            bytes.truncate(len);
            format!("cut to {len}")
        }
        3 if !bytes.is_empty() => {
            let from = below(draw, bytes.len());
            let to = (from + 1 + below(draw, 600)).min(bytes.len());
            bytes[from..to].fill(0);
            format!("zeros at {from}..{to}")
        }
        4 => {
            files.remove(&name);
            "removed".to_owned()
        }
        5 => {
            let more = 1 + below(draw, 70_000);
            bytes.resize(bytes.len() + more, 7);
            format!("{more} bytes more")
        }
        6 => {
            let other = pick(draw);
            let theirs = before[&other].clone();
            files.insert(other.clone(), before[&name].clone());
            files.insert(name.clone(), theirs);
            format!("swapped with {other}")
        }
        _ => {
            bytes.clear();
            "emptied".to_owned()
        }
    };
    (*files != before).then(|| format!("{name}: {what}"))
}

fn below(draw: &mut Draw, most: usize) -> usize {
    usize::try_from(draw.below(most as u64)).expect("small")
}

fn is_noticed(disk: &SimFs) -> bool {
    match verify(disk, |_| {}) {
        Ok(verified) => !verified.faults.is_empty(),
        Err(CollectionError::Storage(error)) => error.is_damage(),
        Err(_) => true,
    }
}

/// Everything that can be asked, each answer apart: what is asked of sound parts must be
/// answered as before.
fn answers(disk: &SimFs) -> Vec<Result<String, String>> {
    let opened = Collection::open_in(Path::new("/sim"), Arc::new(disk.clone()));
    let collection = match opened {
        Ok(collection) => collection,
        Err(error) => return vec![Err(error.to_string())],
    };
    let told = |answer: Result<String, StorageError>| answer.map_err(|error| error.to_string());
    let mut all = vec![Ok(format!("{:?}", collection.state()))];
    all.push(told((|| {
        let mut text = String::new();
        collection.each_entry(|doc, entry| {
            let _ = writeln!(text, "{doc} {entry:?}");
        })?;
        Ok(text)
    })()));
    for doc in 0..collection.documents() {
        all.push(told((|| {
            let strings = collection.strings(doc, &collection.entry(doc)?)?;
            Ok(format!("{strings:?}"))
        })()));
    }
    all.push(told((|| {
        let mut text = String::new();
        collection.each_pair(|pair| {
            let _ = writeln!(text, "{pair:?}");
            Ok(())
        })?;
        collection.each_exact(|pair| {
            let _ = writeln!(text, "{pair:?}");
        })?;
        Ok(text)
    })()));
    for sweep in 0..collection.state().sweeps.len() {
        all.push(told((|| {
            let mut captures = collection.captures(sweep)?;
            let mut text = format!("{:?}", collection.stored_sources(sweep)?);
            while let Some(capture) = captures.next_record()? {
                let _ = writeln!(text, "{capture:?}");
            }
            Ok(text)
        })()));
    }
    all.push(told((|| {
        let mut sketches = collection.sketches()?;
        sketches.load_if_small(u64::MAX)?;
        let (mut text, mut buffer) = (String::new(), Vec::new());
        for doc in 0..collection.documents() {
            let _ = write!(text, "{:?}", sketches.samples(doc, &mut buffer)?);
        }
        Ok(text)
    })()));
    all.push(told((|| {
        let mut text = String::new();
        let mut out = Vec::new();
        for postings in collection.postings()? {
            postings.buckets(0..1 << 16, &mut out)?;
            let _ = write!(text, "{out:?}");
        }
        Ok(text)
    })()));
    for name in ["0-3", "1-3-edit", "again", "nobody"] {
        all.push(told(
            collection.find_named(name).map(|docs| format!("{docs:?}")),
        ));
    }
    for stored in &collection.state().clusterings {
        all.push(told((|| {
            let clustering = collection.clustering(stored)?;
            let mut text = String::new();
            let mut members = clustering.members()?;
            while let Some(member) = members.next_record()? {
                let _ = writeln!(text, "{member:?} {:?}", clustering.roster(member.cluster)?);
                let _ = writeln!(text, "{:?}", clustering.quality(member.cluster)?);
            }
            Ok(text)
        })()));
    }
    all
}

fn damages(count: usize, seed: u64) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    make(folder.path());
    let mut sound = contents(&folder.path().join("collection"));
    // It is empty, and nothing is kept in it.
    assert_eq!(sound.remove("LOCK").as_deref(), Some(&b""[..]));
    let disk_of = |files: &Files| {
        let disk = SimFs::new();
        for (name, bytes) in files {
            disk.put(name, bytes.clone());
        }
        disk
    };
    let right = answers(&disk_of(&sound));
    assert!(right.iter().all(Result::is_ok), "{right:?}");
    assert!(!is_noticed(&disk_of(&sound)));
    let policy = Policy {
        resemblance: Some(0.6),
        ..Policy::default()
    };
    let cluster_options = ClusterOptions {
        threads: options().threads,
        memory: options().memory,
    };
    let cluster = |files: &Files| {
        let copy = folder.path().join("copy");
        let _ = fs::remove_dir_all(&copy);
        fs::create_dir(&copy).expect("a folder");
        for (name, bytes) in files {
            fs::write(copy.join(name), bytes).expect("a file");
        }
        recluster(&copy, &Recipe::default(), &policy, &cluster_options)
            .map(|made| made.summary)
            .map_err(|error| error.to_string())
    };
    let summary = cluster(&sound).expect("clusters");
    let mut draw = Draw::new(seed);
    let (mut done, mut refused, mut answered) = (0, 0, 0);
    while done < count {
        let mut files = sound.clone();
        let Some(what) = damage(&mut files, &mut draw) else {
            continue;
        };
        done += 1;
        let disk = disk_of(&files);
        assert!(is_noticed(&disk), "not noticed: {what}");
        let found = answers(&disk);
        if found.len() == 1 {
            refused += 1;
            assert!(found[0].is_err(), "{what}");
        } else {
            answered += 1;
            assert_eq!(found.len(), right.len(), "{what}");
            for (found, right) in found.iter().zip(&right) {
                assert!(found.is_err() || found == right, "{what}: {found:?}");
            }
        }
        if done % 4 == 0 {
            let found = cluster(&files);
            let is_right = found.as_ref().map_or(true, |found| *found == summary);
            assert!(is_right, "{what}: {found:?}");
        }
    }
    assert!(
        refused > 0 && answered > 0,
        "{refused} refused, {answered} answered"
    );
}

#[test]
fn every_damage_is_noticed_and_no_answer_is_wrong() {
    damages(300, 1);
}

#[test]
#[ignore = "takes minutes: part of `make soak`"]
fn soak_five_thousand_damages() {
    damages(5_000, 2);
}
