//! Lists of results: `collapse`, `search`; addresses of one page: `crumbs`.

use std::fmt::Write;

use crate::{Folder, assert_snapshot};
use serde_json::{Value, json};

fn words(from: u32, to: u32) -> String {
    let words = (from..to).map(|word| format!("w{word}"));
    words.collect::<Vec<_>>().join(" ")
}

/// Two clusters and a page alone.
fn with_pages() -> Folder {
    let pages = [
        ("http://a.org/1", "2020-01-01", words(0, 100)),
        ("http://a.org/2", "2021-01-01", words(0, 104)),
        ("http://b.org/1", "2020-01-01", words(200, 300)),
        ("http://b.org/2", "2019-01-01", words(200, 301)),
        ("http://c.org/1", "2020-01-01", words(400, 500)),
    ];
    let line = |(url, date, text): &(&str, &str, String)| {
        let line = json!({ "url": url, "date": date, "text": text });
        format!("{line}\n")
    };
    let lines: String = pages.iter().map(line).collect();
    let folder = Folder::with(&[("pages.jsonl", lines.as_bytes())]);
    let ran = folder.run("add c.lk pages.jsonl --quiet");
    assert_eq!(ran.status, Some(0), "{ran}");
    folder
}

#[test]
fn results_are_grouped_by_cluster() {
    let folder = with_pages();
    let list = b"http://b.org/2\nhttp://x.org/\nhttp://a.org/1\r\n\nhttp://b.org/1\nhttp://a.org/2\nhttp://c.org/1\nhttp://a.org/1\n";
    let more = json!({ "url": "http://x.org/copy", "text": words(3, 100), "score": 7 });
    let jsonl = format!("{more}\n{{\"url\":\"http://a.org/2\"}}\n{{\"url\":7}}\n");
    assert_snapshot(
        "collapse",
        &[
            folder.run_with_input("collapse c.lk", list),
            folder.run_with_input("collapse c.lk --json", list),
            folder.run_with_input("collapse c.lk --json --show newest", list),
            folder.run_with_input("collapse c.lk --json --show longest", jsonl.as_bytes()),
            folder.run_with_input("collapse c.lk --allow-rejects --quiet", jsonl.as_bytes()),
        ],
    );
}

#[test]
fn texts_need_no_collection() {
    let folder = Folder::with(&[]);
    let line = |text: String| format!("{}\n", json!({ "text": text }));
    let list = [
        line(words(0, 30)),
        "http://a.org/only\n".to_owned(),
        line(words(1, 30)),
        line(String::new()),
        line(words(0, 12)),
    ];
    let list = list.concat();
    assert_snapshot(
        "collapse_texts",
        &[
            folder.run_with_input("collapse", list.as_bytes()),
            folder.run_with_input("collapse - --containment 0.9 --json", list.as_bytes()),
            folder.run_with_input("collapse --shingle 2 --resemblance 0.3 -q", list.as_bytes()),
        ],
    );
}

#[test]
fn a_list_that_is_none_is_said_to_be() {
    let folder = with_pages();
    assert_snapshot(
        "collapse_bad",
        &[
            folder.run_with_input("collapse c.lk", b""),
            folder.run_with_input("collapse c.lk --json", b"\xef\xbb\xbf\r\n \n"),
            folder.run_with_input("collapse c.lk", b"{\"url\":\n[]\n"),
            folder.run_with_input("collapse c.lk", b"{}\n"),
            folder.run_with_input("collapse c.lk --resemblance 0.9", b"http://a.org/1\n"),
            folder.run_with_input("collapse c.lk --policy none", b"http://a.org/1\n"),
            folder.run_with_input("collapse nowhere.lk", b"http://a.org/1\n"),
        ],
    );
}

/// No result is lost, however many there are, and the order is theirs.
#[test]
fn ten_thousand_results_are_all_there() {
    let folder = with_pages();
    let known = ["http://a.org/1", "http://b.org/2", "http://c.org/1"];
    let urls = (0..10_000).map(|i| match i % 4 {
        3 => format!("http://x.org/{i}\n"),
        which => format!("{}\n", known[which]),
    });
    let list: String = urls.collect();
    let ran = folder.run_with_input("collapse c.lk --json", list.as_bytes());
    assert_eq!(ran.status, Some(0), "{ran}");
    let groups: Vec<Value> = ran
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(groups.len(), 3 + 2500);
    let ranks: Vec<u64> = groups
        .iter()
        .filter_map(|group| group["rank"].as_u64())
        .collect();
    assert!(ranks.is_sorted());
    let also = |group: &Value| group["also"].as_array().map_or(0, Vec::len);
    assert_eq!(
        groups.iter().map(also).sum::<usize>() + groups.len(),
        10_000
    );
}

#[test]
fn addresses_of_one_page_are_told_as_rules() {
    let site = lookalike_testkit::crumbs::crumb_site();
    let line = |(url, sweep, text): &(String, u32, String)| {
        let line = json!({ "url": url, "date": format!("202{sweep}-01-01"), "text": text });
        format!("{line}\n")
    };
    let lines: String = site.captures.iter().map(line).collect();
    let folder = Folder::with(&[("site.jsonl", lines.as_bytes())]);
    let ran = folder.run("add c.lk site.jsonl --quiet");
    assert_eq!(ran.status, Some(0), "{ran}");
    assert_snapshot(
        "crumbs",
        &[
            folder.run("crumbs c.lk --apply"),
            folder.run("crumbs c.lk --format regex --quiet"),
            folder.run("crumbs c.lk --format tsv --min-support 25 --apply"),
            folder.run("crumbs c.lk --json --min-support 29 --apply -q"),
            folder.run("crumbs c.lk --min-support 16 --min-precision 0.5 -q"),
            folder.run("crumbs nowhere.lk"),
        ],
    );
    let rules = folder.run("crumbs c.lk --json --quiet");
    let rules: Vec<Value> = rules
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let mut found: Vec<&str> = rules
        .iter()
        .filter_map(|rule| rule["rule"].as_str())
        .collect();
    let mut planted = site.planted.clone();
    found.sort_unstable();
    planted.sort_unstable();
    assert_eq!(found, planted);
}

#[test]
fn words_are_found_where_they_are_indexed() {
    let folder = with_pages();
    let more = json!({ "url": "http://d.org/", "text": "w1 <b>lost</b> ships & sails" });
    std::fs::write(folder.at("more.jsonl"), format!("{more}\n")).expect("a file");
    assert_snapshot(
        "search",
        &[
            folder.run("search c.lk w3"),
            folder.run("serve c.lk --search"),
            folder.run("index c.lk --json"),
            folder.run("search c.lk w3"),
            folder.run("search c.lk w3 -q --json --top 1"),
            folder.run("search c.lk unheard"),
            folder.run("add c.lk more.jsonl -q"),
            folder.run("search c.lk w3"),
            folder.run("index c.lk"),
            folder.run("search c.lk -- w1 -w2"),
            folder.run("verify c.lk -q"),
        ],
    );
    let made = Folder::with(&[("more.jsonl", format!("{more}\n").as_bytes())]);
    let ran = made.run("add c.lk more.jsonl --search -q");
    assert_eq!(ran.status, Some(0), "{ran}");
    assert_eq!(made.run("search c.lk ships -q").status, Some(0));
    let place = made.at("c.lk/search");
    let files = std::fs::read_dir(&place).expect("a folder").flatten();
    let store = files
        .map(|file| file.path())
        .find(|path| path.extension().is_some_and(|end| end == "store"));
    let store = store.expect("a file of the index");
    std::fs::write(&store, b"nothing of the kind").expect("a file");
    assert_eq!(made.run("search c.lk ships -q").status, Some(5));
    assert_eq!(made.run("verify c.lk -q").status, Some(5));
    assert_eq!(made.run("index c.lk -q").status, Some(0));
    assert_eq!(made.run("search c.lk ships -q").status, Some(0));
}

/// Words that a seed draws.
fn drawn(seed: u64, words: usize) -> String {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut text = String::new();
    for _ in 0..words {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let _ = write!(text, "w{} ", state >> 48);
    }
    text
}

#[test]
fn two_prices_of_a_long_page_are_two_pages() {
    // One word of 40,000 differs: no sample tells.
    let mut lines = String::new();
    for item in 0..6 {
        for currency in ["usd", "eur"] {
            let url = format!("http://shop.example/item/{item}?currency={currency}");
            let text = format!("{}{currency}{item}", drawn(item, 40_000));
            let row = serde_json::json!({ "url": url, "text": text });
            let _ = writeln!(lines, "{row}");
        }
    }
    let folder = Folder::with(&[("in.jsonl", lines.as_bytes())]);
    let added = folder.run("add c.lk in.jsonl --json --quiet");
    assert!(added.stdout.contains("\"shingle\":6"), "{added}");
    let learnt = folder.run("crumbs c.lk --json --quiet");
    assert!(!learnt.stdout.contains("currency"), "{learnt}");
}

#[test]
fn sketches_that_tell_nothing_of_containment_say_so() {
    let rows = "{\"text\":\"a rose is a rose\"}\n{\"text\":\"a rose is a rose is a rose\"}\n";
    let folder = Folder::with(&[
        ("in.jsonl", rows.as_bytes()),
        ("a.txt", b"a rose is a rose"),
    ]);
    assert_eq!(
        folder.run("add p.lk in.jsonl --sketch perm:84 -q").status,
        Some(0)
    );
    for wrong in [
        "cluster p.lk --containment 0.5",
        "find p.lk a.txt --min-containment 0.5",
        "dedup in.jsonl -o out --sketch min:100 --containment 0.5",
    ] {
        let ran = folder.run(wrong);
        assert_eq!(ran.status, Some(2), "{ran}");
        assert!(ran.stderr.contains("tell nothing of containment"), "{ran}");
    }
}

#[test]
fn contacts_are_not_written_over_a_source() {
    let rows = "{\"url\":\"http://a.example/\",\"text\":\"a rose is a rose is a rose\"}\n";
    let folder = Folder::with(&[("in.jsonl", rows.as_bytes())]);
    assert_eq!(folder.run("add c.lk in.jsonl -q").status, Some(0));
    let ran = folder.run("copies c.lk --url http://a.example/ --csv in.jsonl");
    assert_eq!(ran.status, Some(2), "{ran}");
    assert_eq!(
        std::fs::read(folder.at("in.jsonl")).ok().as_deref(),
        Some(rows.as_bytes())
    );
}

#[test]
fn the_tour_needs_the_program_alone() {
    let folder = Folder::with(&[]);
    let place = folder.at("").display().to_string();
    let mut command = folder.command("demo");
    let ran = crate::Ran::of("demo", command.env("TMPDIR", &place));
    assert_eq!(ran.status, Some(0), "{ran}");
    assert!(ran.stdout.contains("$ lookalike where"), "{ran}");
}
