//! Sweeps through time: `changes`, `history`, `where`.

use std::fs;

use crate::{Folder, assert_snapshot};
use serde_json::{Value, json};

/// A text of 40 words that no other name shares.
fn words(name: &str) -> String {
    let words = (0..40).map(|i| format!("{name}{i}"));
    words.collect::<Vec<_>>().join(" ")
}

fn line(url: &str, date: &str, text: &str) -> String {
    let mut line = json!({ "url": url, "text": text });
    if !date.is_empty() {
        line["date"] = json!(date);
    }
    format!("{line}\n")
}

/// Three sweeps of three hosts: pages stay, change, keep their words, move within and
/// between hosts, die, return, swap places, and are not looked for.
fn sweeps() -> [String; 3] {
    let at = |day: &str, pages: &[(&str, &str)]| -> String {
        let pages = pages.iter();
        pages
            .map(|(place, text)| line(&format!("http://{place}"), day, text))
            .collect()
    };
    let text = |name: &str| words(name);
    let edited = text("edit").replace("edit7 ", "");
    [
        at(
            "2020-01-01",
            &[
                ("a.org/stay", &text("stay")),
                ("a.org/edit", &text("edit")),
                ("a.org/case", &text("case")),
                ("a.org/old/move", &text("move")),
                ("a.org/leave", &text("leave")),
                ("a.org/dead", &text("dead")),
                ("a.org/back", &text("back")),
                ("a.org/one", &text("one")),
                ("a.org/two", &text("two")),
                ("c.org/far", &text("far")),
            ],
        ),
        at(
            "2021-01-01",
            &[
                ("a.org/stay", &text("stay")),
                ("a.org/edit", &edited),
                ("a.org/case", &text("case").to_uppercase()),
                ("a.org/new/move", &text("move")),
                ("b.org/leave", &text("leave")),
                ("a.org/one", &text("two")),
                ("a.org/two", &text("one")),
            ],
        ),
        at(
            "2022-01-01",
            &[
                ("a.org/stay", &text("stay")),
                ("a.org/edit", &edited),
                ("a.org/case", &text("case")),
                ("a.org/new/move", &text("move")),
                ("b.org/leave", &text("leave")),
                ("a.org/back", &text("back")),
                ("a.org/one", &text("two")),
                ("a.org/two", &text("one")),
                ("c.org/far", &text("far")),
            ],
        ),
    ]
}

fn with_sweeps() -> Folder {
    let folder = Folder::with(&[("all.jsonl", sweeps().concat().as_bytes())]);
    let ran = folder.run("add c.lk all.jsonl --quiet");
    assert_eq!(ran.status, Some(0), "{ran}");
    folder
}

#[test]
fn changes_are_told_in_tables() {
    let folder = with_sweeps();
    fs::write(
        folder.at("one.jsonl"),
        line("http://a.org/", "2020-01-01", "one page"),
    )
    .expect("a file");
    let ran = folder.run("add one.lk one.jsonl --quiet");
    assert_eq!(ran.status, Some(0), "{ran}");
    let shown = folder.run("changes c.lk");
    for line in shown.stdout.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
    assert_snapshot(
        "changes",
        &[
            shown,
            folder.run("changes c.lk --host B.org"),
            folder.run("changes c.lk --host nowhere.org"),
            folder.run("changes one.lk"),
            folder.run("changes none.lk"),
            folder.run("changes c.lk --html c.lk/report.html"),
        ],
    );
}

#[test]
fn changes_in_json_add_up() {
    let folder = with_sweeps();
    let told = folder.json("changes c.lk --json");
    let first = &told["intervals"][0];
    let expected = json!({
        "unchanged": 1, "changed": 4, "same_words": 1, "moved_within_host": 1,
        "moved_between_hosts": 1, "died": 2, "not_visited": 1, "born": 2,
        "moved_here": 2, "returned": 0, "newly_visited": 1,
    });
    for (name, number) in expected.as_object().expect("an object") {
        assert_eq!(&first[name], number, "{name}");
    }
    assert_eq!(
        (&first["from"], &first["to"]),
        (&json!("2020-01-01"), &json!("2021-01-01"))
    );
    assert_eq!(told["intervals"][1]["returned"], 2);
    let histogram = first["change"]["histogram"].as_array().expect("bars");
    let sum: u64 = histogram.iter().filter_map(Value::as_u64).sum();
    assert_eq!((histogram.len(), sum), (20, 4));
    for (interval, sweeps) in [(0, [0, 1]), (1, [1, 2])] {
        let of = |name: &str| {
            told["intervals"][interval][name]
                .as_u64()
                .expect("a number")
        };
        let pages = |sweep: usize| told["sweeps"][sweep]["pages"].as_u64().expect("a number");
        let stayed = of("unchanged") + of("changed");
        let lost =
            of("moved_within_host") + of("moved_between_hosts") + of("died") + of("not_visited");
        assert_eq!(stayed + lost, pages(sweeps[0]));
        assert_eq!(stayed + of("born"), pages(sweeps[1]));
    }
}

#[test]
fn a_page_without_a_word_is_a_page() {
    let page = |day: &str, name: &str, text: &str| line(&format!("http://a.org/{name}"), day, text);
    let at = |day: &str, pages: &[(&str, &str)]| -> String {
        let pages = pages.iter();
        pages.map(|(name, text)| page(day, name, text)).collect()
    };
    let full = words("full");
    let first = at(
        "2020-01-01",
        &[
            ("full", &full),
            ("empty", ""),
            ("blank", "\n"),
            ("gone", ""),
        ],
    );
    let second = at(
        "2021-01-01",
        &[
            ("full", &full),
            ("empty", ""),
            ("blank", &full),
            ("born", ""),
        ],
    );
    let folder = Folder::with(&[
        ("1.jsonl", first.as_bytes()),
        ("2.jsonl", second.as_bytes()),
    ]);
    for sweep in ["1", "2"] {
        let ran = folder.run(&format!("add c.lk {sweep}.jsonl -q"));
        assert_eq!(ran.status, Some(0), "{ran}");
    }
    let ran = folder.run("changes c.lk --json");
    let answer: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let interval = &answer["intervals"][0];
    let counts = ["unchanged", "changed", "born", "died"].map(|what| &interval[what]);
    assert_eq!(
        counts,
        [&json!(2), &json!(1), &json!(1), &json!(1)],
        "{ran}"
    );
}

#[test]
fn sweeps_one_by_one_give_the_bytes_of_all_at_once() {
    let folder = with_sweeps();
    for (number, sweep) in sweeps().iter().enumerate() {
        let name = format!("{number}.jsonl");
        fs::write(folder.at(&name), sweep).expect("a file");
        let ran = folder.run(&format!("add apart.lk {name} --quiet"));
        assert_eq!(ran.status, Some(0), "{ran}");
    }
    let json = |name: &str| folder.run(&format!("changes {name} --json")).stdout;
    assert_eq!(json("c.lk"), json("apart.lk"));
}

#[test]
fn the_report_needs_nothing_else() {
    let folder = with_sweeps();
    let ran = folder.run("changes c.lk --html out.html");
    assert_eq!((ran.status, ran.stdout.as_str()), (Some(0), ""), "{ran}");
    let page = folder.read("out.html");
    for part in [
        "<svg",
        "How long pages live",
        "What the words mean",
        "a.org",
    ] {
        assert!(page.contains(part), "{part}");
    }
    for part in ["href=", "src=", "style=\"", "<script", "url("] {
        assert!(!page.contains(part), "{part}");
    }
}

#[test]
fn a_page_has_a_history() {
    let folder = with_sweeps();
    assert_snapshot(
        "history",
        &[
            folder.run("history c.lk http://a.org/edit"),
            folder.run("history c.lk http://a.org/back"),
            folder.run("history c.lk http://a.org/one"),
            folder.run("history c.lk http://a.org/leave"),
            folder.run("history c.lk http://a.org/case --json"),
            folder.run("history c.lk http://a.org/nothing"),
        ],
    );
}

#[test]
fn dates_may_be_missing_impossible_or_out_of_order() {
    let folder = Folder::with(&[
        (
            "late.jsonl",
            line("http://a.org/", "2022-05-01", &words("b")).as_bytes(),
        ),
        (
            "early.jsonl",
            line("http://a.org/", "2021-05-01", &words("a")).as_bytes(),
        ),
        (
            "undated.jsonl",
            line("http://a.org/", "", &words("c")).as_bytes(),
        ),
        (
            "odd.jsonl",
            [
                line("http://a.org/", "2020-05-01T00:00:01Z", &words("d")),
                line("http://a.org/", "2020-05-01T00:00:01Z", &words("e")),
                line("http://a.org/x", "2020-02-30", &words("x")),
            ]
            .concat()
            .as_bytes(),
        ),
    ]);
    for input in ["late", "early", "undated", "odd"] {
        let ran = folder.run(&format!("add c.lk {input}.jsonl --quiet"));
        assert_eq!(ran.status, Some(0), "{ran}");
    }
    assert_snapshot(
        "odd_dates",
        &[
            folder.run("changes c.lk"),
            folder.run("history c.lk http://a.org/"),
        ],
    );
}

#[test]
fn a_lost_page_is_found() {
    let folder = with_sweeps();
    let asked = [
        "http://a.org/stay",
        "http://a.org/old/move",
        "http://a.org/leave",
        "http://a.org/dead",
        "http://a.org/one",
        "http://c.org/far",
    ];
    assert_snapshot(
        "where",
        &[
            folder.run(&format!("where c.lk {}", asked.join(" "))),
            folder.run("where c.lk http://a.org/dead"),
            folder.run("where c.lk http://a.org/never"),
            folder.run("where c.lk http://a.org/old/move --json"),
            folder.run("where c.lk"),
            folder.run("where c.lk --urls missing.txt"),
            folder.run("where c.lk http://a.org/stay --map nginx --json"),
        ],
    );
}

#[test]
fn what_moved_is_a_map_of_redirects() {
    let folder = with_sweeps();
    let list = "# dead links\nhttp://a.org/old/move\n\nhttp://a.org/leave\nhttp://a.org/dead\n";
    fs::write(folder.at("dead.txt"), list).expect("a file");
    let map = |format: &str| folder.run(&format!("where c.lk --urls dead.txt --map {format} -q"));
    assert_snapshot(
        "where_maps",
        &["csv", "nginx", "apache", "netlify"].map(map),
    );
    let written = folder.run("where c.lk --urls dead.txt --map csv -o map.csv -q");
    assert_eq!(written.status, Some(0));
    assert_eq!(folder.read("map.csv").lines().count(), 4);
}
