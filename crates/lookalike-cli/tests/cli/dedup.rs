//! `dedup` and `plan`: inputs in, copies or predictions out.

use std::fs;

use crate::collection::with_collection;
use crate::{Folder, assert_snapshot};
use serde_json::{Value, json};

fn words(number: u32, count: u32) -> String {
    let words = (0..count).map(|i| format!("w{number}x{i}"));
    words.collect::<Vec<_>>().join(" ")
}

fn line(id: &str, date: &str, text: &str) -> String {
    format!("{{\"id\":\"{id}\", \"date\":\"{date}\",  \"text\":\"{text}\"}}\n")
}

/// One group of three, two that are alone, the same record twice, and one bad line.
fn with_shards() -> Folder {
    let a = words(1, 40);
    let one = [
        line("a", "2024-01-01", &a),
        line("b", "2024-01-01", &words(2, 40)),
        line("a2", "2024-03-01", &format!("{a} and more")),
        "{\"text\":\n".to_owned(),
    ];
    let two = [
        line("c", "2024-01-01", &words(3, 40)),
        line("a3", "2024-02-01", &a),
        line("b", "2024-05-01", &words(2, 40)),
    ];
    Folder::with(&[
        ("in/one.jsonl", one.concat().as_bytes()),
        ("in/two.jsonl", two.concat().as_bytes()),
    ])
}

fn ids(folder: &Folder, name: &str) -> Vec<String> {
    let lines = folder.read(name);
    let ids = lines.lines().map(|line| {
        let line: Value = serde_json::from_str(line).expect("JSON");
        line["id"].as_str().unwrap_or_default().to_owned()
    });
    ids.collect()
}

#[test]
fn what_was_rejected_is_listed() {
    let folder = with_shards();
    let ran = folder.run("dedup in none -o out --quiet --rejects rejects.jsonl");
    assert_eq!(ran.status, Some(3), "{ran}");
    let listed = folder.read("rejects.jsonl");
    let lines = listed.lines().map(|line| {
        let line: Value = serde_json::from_str(line).expect("JSON");
        (line["input"].clone(), line["reason"].clone())
    });
    let expected = [
        (json!("none"), json!("missing")),
        (json!("in/one.jsonl"), json!("bad json")),
    ];
    assert_eq!(lines.collect::<Vec<_>>(), expected, "{listed}");
}

#[test]
fn one_of_each_group_stays() {
    let folder = with_shards();
    for (keep, one, two) in [
        ("first", &["a", "b"][..], &["c"][..]),
        ("longest", &["b", "a2"], &["c"]),
        ("newest", &["a2"], &["c", "b"]),
    ] {
        let out = format!("out-{keep}");
        let ran = folder.run(&format!("dedup in -o {out} --keep {keep} --json --quiet"));
        assert_eq!(ran.status, Some(3), "{ran}");
        assert_eq!(ids(&folder, &format!("{out}/one.jsonl")), one, "{keep}");
        assert_eq!(ids(&folder, &format!("{out}/two.jsonl")), two, "{keep}");
        let answer: Value = serde_json::from_str(&ran.stdout).expect("JSON");
        assert_eq!(answer["read"], json!(7));
        assert_eq!(answer["kept"], json!(3));
        assert_eq!(answer["removed"], json!(3));
        assert_eq!(answer["rejected"], json!({ "bad json": 1 }));
    }
    // What stays is the same byte for byte.
    assert!(
        folder
            .read("in/one.jsonl")
            .starts_with(&folder.read("out-first/one.jsonl"))
    );
    let left = fs::read_dir(folder.at(".")).expect("a folder");
    let left = left.filter(|file| {
        let name = file.as_ref().expect("a file").file_name();
        name.to_string_lossy().starts_with(".lookalike")
    });
    assert_eq!(left.count(), 0, "no work is left behind");
}

#[test]
fn what_a_collection_has_goes_and_is_named() {
    let folder = with_collection();
    let new = ["first.jsonl", "second.jsonl"]
        .map(|name| folder.read(name))
        .concat();
    let new = new + &line("fresh", "2025-01-01", &words(77, 40));
    fs::write(folder.at("new.jsonl"), new).expect("written");
    let before: Vec<Vec<u8>> = files(&folder);
    let answer = folder
        .json("dedup new.jsonl -o out.jsonl --against c.lk --report gone.jsonl --json --quiet");
    assert_eq!(answer["kept"], json!(1), "{answer}");
    assert_eq!(answer["removed"], json!(6), "{answer}");
    assert_eq!(ids(&folder, "out.jsonl"), ["fresh"]);
    assert_eq!(before, files(&folder), "the collection is as it was");
    let gone = folder.read("gone.jsonl");
    let first: Value = serde_json::from_str(gone.lines().next().expect("a line")).expect("JSON");
    assert_eq!(first["file"], json!("new.jsonl"));
    assert_eq!(first["because"]["url"], json!("http://x.org/a"));
    assert_eq!(gone.lines().count(), 6);
    assert_eq!(folder.run("verify c.lk").status, Some(0));
    let other = folder.run("dedup new.jsonl -o other.jsonl --against c.lk --shingle 3");
    assert_eq!(other.status, Some(2), "{other}");
    assert!(!folder.at("other.jsonl").exists());
}

fn files(folder: &Folder) -> Vec<Vec<u8>> {
    let all = fs::read_dir(folder.at("c.lk")).expect("a folder");
    let mut paths: Vec<_> = all.map(|file| file.expect("a file").path()).collect();
    paths.sort();
    paths
        .iter()
        .map(|path| fs::read(path).expect("a file"))
        .collect()
}

#[test]
fn marks_and_lists_say_the_same() {
    let folder = with_shards();
    folder.run("dedup in -o marked --annotate --quiet");
    let marked = folder.read("marked/two.jsonl");
    let marks: Vec<Value> = marked
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let is_duplicate = |i: usize| marks[i]["lookalike_is_duplicate"].clone();
    assert_eq!(
        [0, 1, 2].map(is_duplicate),
        [json!(false), json!(true), json!(true)]
    );
    assert_eq!(marks[1]["lookalike_representative"], json!("a"));
    let ran = folder.run("dedup in -o lists --remove-files --quiet");
    assert_eq!(ran.status, Some(3), "{ran}");
    let list = |name: &str| fs::read(folder.at(name)).expect("a list");
    assert_eq!(list("lists/000000.remove"), [2, 0, 0, 0]);
    assert_eq!(list("lists/000001.remove"), [1, 0, 0, 0, 2, 0, 0, 0]);
}

#[test]
fn single_documents_are_copied_or_not() {
    let text = words(5, 30);
    let other = words(6, 30);
    let folder = Folder::with(&[
        ("docs/a.txt", text.as_bytes()),
        ("docs/deep/b.txt", text.as_bytes()),
        ("docs/deep/c.txt", other.as_bytes()),
    ]);
    let answer = folder.json("dedup docs -o out --json --quiet");
    assert_eq!(
        (&answer["kept"], &answer["removed"]),
        (&json!(2), &json!(1))
    );
    assert!(folder.at("out/a.txt").exists());
    assert!(!folder.at("out/deep/b.txt").exists());
    assert_eq!(folder.read("out/deep/c.txt"), other);
}

#[test]
fn what_stands_in_the_way_is_said_before_the_work() {
    let folder = with_shards();
    fs::create_dir_all(folder.at("there")).expect("a folder");
    fs::write(folder.at("there/one.jsonl"), "old").expect("written");
    fs::create_dir_all(folder.at("more")).expect("a folder");
    fs::write(folder.at("more/one.jsonl"), line("x", "2024-01-01", "y")).expect("written");
    assert_snapshot(
        "dedup_refused",
        &[
            folder.run("dedup in/one.jsonl -o there/"),
            folder.run("dedup in -o in"),
            folder.run("dedup in/one.jsonl more/one.jsonl -o out"),
            folder.run("dedup - -o out.jsonl"),
            folder.run("dedup none.jsonl -o out"),
            folder.run("dedup in -o out --against none.lk"),
            folder.run("dedup in -o out --annotate --remove-files"),
        ],
    );
    assert_eq!(folder.read("there/one.jsonl"), "old");
    assert!(!folder.at("out").exists());
}

#[test]
fn a_plan_of_little_is_exact() {
    let folder = with_shards();
    let plan = folder.json("plan in --json --memory 256M");
    assert_eq!(plan["documents"], json!(6));
    assert_eq!(plan["sample"]["is_all"], json!(true));
    assert_eq!(plan["sample"]["refused"], json!(1));
    assert_eq!(plan["memory"]["least"], json!((56 << 20) + 120));
    let shown = folder.run("plan in --threads 2 --memory 256M");
    assert_eq!(shown.status, Some(0), "{shown}");
    assert!(
        shown.stdout.contains("Predicted from all 6 documents"),
        "{shown}"
    );
    assert_snapshot(
        "plan_refused",
        &[
            folder.run("plan -"),
            folder.run("plan none"),
            folder.run("plan in --text-field body"),
        ],
    );
}
