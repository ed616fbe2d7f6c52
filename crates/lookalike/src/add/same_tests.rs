//! Same input, same bytes, whatever the threads and the memory; same clusters, whatever
//! the order and the sweeps.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use lookalike_testkit::texts::{Draw, edited, line, words};

use super::fault_tests::{add_to, assert_same, contents, options};
use super::{AddOptions, Report};
use crate::collection::Collection;
use crate::corpus::inputs::Inputs;
use crate::storage::sim::SimFs;

/// Families of copies and edits, some below the threshold and some near it.
fn documents(families: u64) -> Vec<String> {
    let mut all = Vec::new();
    for family in 0..families {
        let text = words(family, 120);
        let mut doc = |what: &str, words: &[String]| {
            all.push(line(&format!("{family}-{what}"), &words.join(" ")));
        };
        doc("original", &text);
        doc("copy", &text);
        doc("lexical", &[&text[..], &["!".to_owned()]].concat());
        for every in [11, 17, 24, 35, 60] {
            let first = usize::try_from(family % 11).unwrap();
            doc(&format!("edited-{every}"), &edited(&text, first, every));
        }
        let other = words(family + 1_000_000, 120);
        doc("half", &[&text[..70], &other[..50]].concat());
    }
    all
}

fn add_files(disk: &SimFs, files: &[Vec<String>], options: &AddOptions) -> Report {
    let folder = tempfile::tempdir().unwrap();
    let paths: Vec<_> = files
        .iter()
        .enumerate()
        .map(|(i, lines)| {
            let path = folder.path().join(format!("{i}.jsonl"));
            fs::write(&path, lines.concat()).unwrap();
            path
        })
        .collect();
    let inputs = Inputs::expand(&paths, &options.reading);
    add_to(disk, &inputs, options, &mut |_| {}).unwrap()
}

/// The clusters, by the ids of their members.
fn clusters(disk: &SimFs) -> BTreeSet<BTreeSet<String>> {
    let collection = Collection::open_in(Path::new("/sim"), Arc::new(disk.clone())).unwrap();
    let clustering = collection.clustering(&collection.state().clusterings[0]);
    let clustering = clustering.unwrap();
    let mut stream = clustering.clusters().unwrap();
    let mut all = BTreeSet::new();
    while let Some(quality) = stream.next_record().unwrap() {
        let id = |doc: &u32| {
            let entry = collection.entry(*doc).unwrap();
            collection.strings(*doc, &entry).unwrap().0.unwrap()
        };
        let roster = clustering.roster(quality.cluster).unwrap();
        all.insert(roster.iter().map(id).collect());
    }
    all
}

#[test]
fn threads_and_memory_do_not_show() {
    let folder = tempfile::tempdir().unwrap();
    let all = documents(40);
    let mut paths = Vec::new();
    for (i, lines) in all.chunks(60).enumerate() {
        paths.push(folder.path().join(format!("{i}.jsonl")));
        fs::write(&paths[i], lines.concat()).unwrap();
    }
    let (first, second) = paths.split_at(4);
    let mut found = Vec::new();
    let mut spilled = Vec::new();
    for memory in [8 << 10, 256 << 10, 32 << 20, 256 << 20] {
        for threads in [1, 2, 8] {
            let options = options(threads, memory);
            let disk = SimFs::new();
            for sweep in [first, second] {
                let inputs = Inputs::expand(sweep, &options.reading);
                let report = add_to(&disk, &inputs, &options, &mut |_| {}).unwrap();
                spilled.push(report.scratch > 0);
            }
            found.push(contents(&disk));
        }
    }
    assert!(spilled.contains(&true) && spilled.contains(&false));
    for other in &found[1..] {
        assert_same(other, &found[0]);
    }
}

#[test]
fn order_and_sweeps_do_not_show_in_clusters() {
    let mut all = documents(30);
    let options = options(2, 1 << 20);
    let disk = SimFs::new();
    add_files(&disk, std::slice::from_ref(&all), &options);
    let expected = clusters(&disk);
    assert!(expected.len() >= 30, "{expected:?}");
    let mut draw = Draw::new(7);
    for shuffle in 0..3 {
        for i in (1..all.len()).rev() {
            all.swap(i, usize::try_from(draw.below(i as u64 + 1)).unwrap());
        }
        for sweeps in [1, 5] {
            let disk = SimFs::new();
            let folder = tempfile::tempdir().unwrap();
            for (i, part) in all.chunks(all.len().div_ceil(sweeps)).enumerate() {
                let path = folder.path().join(format!("{i}.jsonl"));
                fs::write(&path, part.concat()).unwrap();
                let inputs = Inputs::expand(&[path], &options.reading);
                add_to(&disk, &inputs, &options, &mut |_| {}).unwrap();
            }
            assert_eq!(
                clusters(&disk),
                expected,
                "shuffle {shuffle}, {sweeps} sweeps"
            );
        }
    }
}
