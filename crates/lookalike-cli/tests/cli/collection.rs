//! Commands that look at a collection: `stats`, `members`, `verify`; and what is printed
//! for shells and readers.

use std::fs;

use crate::{Folder, assert_snapshot};
use serde_json::json;

/// A text of 40 words that no other number shares.
fn words(number: u32) -> String {
    let words = (0..40).map(|i| format!("w{number}x{i}"));
    words.collect::<Vec<_>>().join(" ")
}

fn line(id: &str, url: Option<&str>, text: &str) -> String {
    let mut line = json!({ "id": id, "text": text, "date": "2024-05-01" });
    if let Some(url) = url {
        line["url"] = json!(url);
    }
    format!("{line}\n")
}

/// Five pages in one collection: a page, its copy, one with another last word, one alone,
/// and a new version of that.
pub(crate) fn with_collection() -> Folder {
    let (a, b) = (words(1), words(2));
    let first = [
        line("a", Some("http://x.org/a"), &a),
        line("a2", Some("http://y.org/a"), &a),
        line("a3", Some("http://z.org/a"), &format!("{a} more")),
        line("b", Some("http://x.org/b"), &b),
        line("empty", None, "…"),
    ];
    let second = [
        line("b", Some("http://x.org/b"), &words(3)),
        line("c", None, &words(4)),
    ];
    let folder = Folder::with(&[
        ("first.jsonl", first.concat().as_bytes()),
        ("second.jsonl", second.concat().as_bytes()),
        ("note.txt", b"no collection"),
    ]);
    for (input, date) in [
        ("first.jsonl", "2024-05-02"),
        ("second.jsonl", "2024-06-02"),
    ] {
        let ran = folder.run(&format!("add c.lk {input} --date {date} --quiet"));
        assert_eq!(ran.status, Some(0), "{ran}");
    }
    folder
}

#[test]
fn captures_are_an_index_of_an_archive() {
    let folder = with_collection();
    let ran = folder.run("export c.lk cdxj");
    assert_snapshot("cdxj", &[ran]);
    let ran = folder.run("export c.lk cdxj -o index.cdxj --format csv");
    assert_eq!(ran.status, Some(2), "{ran}");
    let ran = folder.run("export c.lk cdxj -o first.jsonl");
    assert_eq!(ran.status, Some(2), "{ran}");
}

#[test]
fn a_document_finds_what_is_like_it() {
    let folder = with_collection();
    let part = words(1);
    let part = part.split(' ').take(25).collect::<Vec<_>>().join(" ");
    fs::write(folder.at("part.txt"), part).expect("a file");
    fs::write(folder.at("page.html"), format!("<p>{}</p>", words(2))).expect("a file");
    fs::write(folder.at("other.txt"), "nothing of the kind is there").expect("a file");
    assert_snapshot(
        "find",
        &[
            folder.run("find c.lk part.txt"),
            folder.run("find c.lk page.html other.txt --json"),
            folder.run("find c.lk --url http://z.org/a --min-resemblance 0.9 --exact --json"),
            folder.run("find c.lk other.txt"),
            folder.run("find c.lk --url http://nowhere.org/"),
            folder.run("find c.lk gone.txt"),
            folder.run("find note.txt part.txt"),
            folder.run("find c.lk"),
        ],
    );
}

#[cfg(unix)]
#[test]
fn a_table_goes_through_links_and_into_pipes() {
    use std::os::unix::fs::{FileTypeExt, symlink};
    let folder = with_collection();
    fs::write(folder.at("table.csv"), "old").expect("a file");
    symlink("table.csv", folder.at("link.csv")).expect("a link");
    let ran = folder.run("export c.lk documents -o link.csv");
    assert_eq!(ran.status, Some(0), "{ran}");
    let is_link = fs::symlink_metadata(folder.at("link.csv")).expect("it is there");
    assert!(is_link.is_symlink());
    assert!(folder.read("table.csv").starts_with("doc,id,url"));

    let made = std::process::Command::new("mkfifo")
        .arg(folder.at("pipe.csv"))
        .status();
    assert!(made.is_ok_and(|status| status.success()));
    let pipe = folder.at("pipe.csv");
    let reader = std::thread::spawn(move || fs::read_to_string(pipe).expect("text"));
    let ran = folder.run("export c.lk documents -o pipe.csv");
    assert_eq!(ran.status, Some(0), "{ran}");
    assert_eq!(reader.join().expect("it ends"), folder.read("table.csv"));
    let pipe = fs::metadata(folder.at("pipe.csv")).expect("it is there");
    assert!(pipe.file_type().is_fifo());
}

#[test]
fn a_collection_tells_what_is_in_it() {
    let folder = with_collection();
    // Times and disk depend on the machine and the format: they are looked at below.
    let mut shown = folder.run("stats c.lk");
    let end = shown.stdout.find("\nDisk\n").expect("a table of files");
    shown.stdout.truncate(end + 1);
    assert_snapshot(
        "stats",
        &[
            shown,
            folder.run("stats none.lk"),
            folder.run("stats note.txt"),
            folder.run("stats ."),
        ],
    );
    let all = folder.json("stats c.lk --json");
    assert_eq!(all["documents"], json!(6));
    assert_eq!(all["totals"]["read"], json!(7));
    assert_eq!(all["sweeps"][0]["skipped"], json!({ "no tokens": 1 }));
    assert_eq!(all["sweeps"][1]["date"], json!("2024-06-02T00:00:00Z"));
    assert_eq!(
        all["clusterings"][0]["sizes"],
        json!([
            { "from": 1, "to": 1, "clusters": 3, "documents": 3 },
            { "from": 3, "to": 4, "clusters": 1, "documents": 3 },
        ])
    );
    let kinds = all["disk"]["kinds"].as_object().expect("kinds of files");
    let bytes: u64 = kinds.values().filter_map(serde_json::Value::as_u64).sum();
    assert_eq!(all["disk"]["bytes"], json!(bytes));
}

#[test]
fn the_cluster_of_a_page_is_listed() {
    let folder = with_collection();
    assert_snapshot(
        "members",
        &[
            folder.run("members c.lk http://y.org/a"),
            folder.run("members c.lk a3 --json"),
            folder.run("members c.lk http://x.org/b"),
            folder.run("members c.lk c"),
            folder.run("members c.lk http://x.org/none"),
            folder.run("members c.lk a --policy other"),
            folder.run("members none.lk a"),
        ],
    );
}

#[test]
fn a_flipped_bit_is_found() {
    let folder = with_collection();
    let sound = folder.run("verify c.lk");
    assert_eq!(sound.status, Some(0), "{sound}");
    assert!(sound.stdout.starts_with("sound: "), "{sound}");
    let path = folder.at("c.lk/sweep-1.lk");
    let mut bytes = fs::read(&path).expect("a file of the collection");
    let url = bytes.windows(7).position(|part| part == b"x.org/a");
    bytes[url.expect("the address of a page")] ^= 1;
    fs::write(&path, bytes).expect("written");
    assert_snapshot(
        "verify",
        &[
            folder.run("verify c.lk"),
            folder.run("verify none.lk"),
            folder.run("verify note.txt"),
        ],
    );
    let ran = folder.run("verify c.lk --json");
    assert_eq!(ran.status, Some(5), "{ran}");
    let answer: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(answer["sound"], json!(false));
    assert_eq!(answer["faults"][0]["file"], json!("sweep-1.lk"));
    let asked = folder.run("members c.lk http://x.org/a");
    assert_eq!(asked.status, Some(5), "{asked}");
}

#[test]
fn a_missing_file_and_a_damaged_manifest_are_found() {
    let folder = with_collection();
    fs::remove_file(folder.at("c.lk/sweep-2.lk")).expect("removed");
    let ran = folder.run("verify c.lk");
    assert_eq!(ran.status, Some(5), "{ran}");
    assert_eq!(
        ran.stdout.matches("sweep-2.lk: it is missing").count(),
        1,
        "{ran}"
    );
    fs::write(folder.at("c.lk/MANIFEST-2"), b"{}").expect("written");
    let ran = folder.run("verify c.lk");
    assert_eq!(ran.status, Some(5), "{ran}");
    assert!(ran.stdout.contains("MANIFEST-2"), "{ran}");
    assert_eq!(folder.run("stats c.lk").status, Some(5));
}

#[test]
fn shells_and_readers_are_served() {
    let folder = Folder::with(&[]);
    for shell in ["bash", "zsh", "fish"] {
        let ran = folder.run(&format!("completions {shell}"));
        assert_eq!(ran.status, Some(0), "{ran}");
        assert!(ran.stdout.contains("dedup"), "{shell}");
    }
    assert_eq!(folder.run("completions none").status, Some(2));
    let page = folder.run("man");
    assert!(page.stdout.contains(".TH lookalike 1"), "{page}");
    let ran = folder.run("man --output pages");
    assert_eq!(ran.status, Some(0), "{ran}");
    assert!(folder.read("pages/lookalike.1").contains("lookalike"));
    assert!(
        folder
            .read("pages/lookalike-members.1")
            .contains("alternatives")
    );
}

#[test]
fn a_fresh_sample_is_drawn_or_refused() {
    let folder = with_collection();
    fs::write(folder.at("new.key"), "a secret of sixteen bytes or more").expect("a key");
    let refused = [
        folder.run("resketch c.lk --key-file none.key"),
        folder.run("resketch note.txt --key-file new.key"),
    ];
    fs::rename(folder.at("second.jsonl"), folder.at("moved.jsonl")).expect("renamed");
    let gone = folder.run("resketch c.lk --key-file new.key --quiet");
    fs::rename(folder.at("moved.jsonl"), folder.at("second.jsonl")).expect("renamed");
    let drawn = folder.run("resketch c.lk --key-file new.key --quiet");
    let rest = [
        folder.run("resketch c.lk --key-file new.key"),
        folder.run("find c.lk --url http://x.org/a"),
        folder.run("find c.lk --url http://x.org/a --key-file new.key"),
        folder.run("verify c.lk --json"),
    ];
    let all: Vec<_> = refused
        .into_iter()
        .chain([gone, drawn])
        .chain(rest)
        .collect();
    assert_snapshot("resketch", &all);
}

#[test]
fn a_filter_tells_what_it_knows_and_no_more() {
    let folder = with_collection();
    let ran = [
        folder.run("add f.lk first.jsonl --filter 8x2/1 --quiet"),
        folder.run("add f.lk second.jsonl --json"),
        folder.run("cluster f.lk"),
        folder.run("cluster f.lk --resemblance 0.9 --json"),
        folder.run("cluster f.lk --containment 0.9"),
        folder.run("cluster f.lk --link star"),
        folder.run("cluster f.lk --resemblance 0.9 --verify none"),
        folder.run("members f.lk http://x.org/a"),
        folder.run("find f.lk --url a --json"),
        folder.run("find f.lk --url a --exact"),
        folder.run("export f.lk clusters --format csv"),
        folder.run("export f.lk pairs"),
        folder.run("where f.lk http://x.org/a"),
        folder.run("stats f.lk"),
        folder.run("verify f.lk"),
        folder.run("add f.lk second.jsonl --filter 6x14/2"),
        folder.run("add c.lk second.jsonl --filter 6x14/2"),
        folder.run("add g.lk second.jsonl --filter 6x14"),
        folder.run("add g.lk second.jsonl --filter 6x14/2 --search"),
        folder.run("add g.lk second.jsonl --filter 6x14/2 --weighted"),
        folder.run("add f.lk second.jsonl --search"),
        folder.run("cluster f.lk --min-size 4 --json"),
        folder.run("members f.lk http://x.org/a --json"),
        folder.run("cluster f.lk -o first.jsonl"),
        folder.run("export f.lk documents -o second.jsonl"),
    ];
    assert_eq!(ran[1].status, Some(0), "{}", ran[1]);
    let report: serde_json::Value = serde_json::from_str(&ran[1].stdout).expect("JSON");
    assert_eq!((&report["read"], &report["added"]), (&json!(2), &json!(2)));
    // Every field that is relied on: no copies are set aside, and no pairs kept.
    for (name, value) in [
        ("identical", 0),
        ("lexical", 0),
        ("shingle", 0),
        ("distinct", 2),
        ("pairs", 0),
    ] {
        assert_eq!(report[name], json!(value), "{name}");
    }
    assert!(report["cpu_seconds"]["sketch"].is_number(), "{report}");
    // Its times differ.
    let told = ran.into_iter().enumerate().filter(|(i, _)| *i != 1);
    assert_snapshot("filter", &told.map(|(_, ran)| ran).collect::<Vec<_>>());
}

#[test]
fn weights_are_counted_or_refused() {
    let folder = Folder::with(&[
        ("a.json", br#"{"features":{"red":2,"blue":0.5,"green":1}}"#),
        ("b.json", br#"{"features":{"red":1,"blue":0.5,"grey":3}}"#),
        ("zero.json", br#"{"features":{"red":0}}"#),
        ("endless.json", br#"{"features":{"red":1e999}}"#),
        (
            "two.jsonl",
            br#"{"id":"a","features":{"red":2,"blue":0.5,"green":1}}
{"id":"b","features":{"red":1.5,"blue":0.5,"green":1}}
"#,
        ),
        ("huge.json", br#"{"features":{"red":1e308}}"#),
        ("huger.json", br#"{"features":{"red":1e308,"blue":1e308}}"#),
        ("twice.json", br#"{"features":{"red":1,"red":2}}"#),
    ]);
    assert_snapshot(
        "weights",
        &[
            folder.run("compare a.json b.json --weighted"),
            folder.run("compare a.json b.json --weighted --json"),
            folder.run("compare a.json b.json --token feature"),
            folder.run("compare a.json b.json --token word --sketch perm:9,weighted"),
            folder.run("compare a.json zero.json --weighted"),
            folder.run("compare a.json endless.json --weighted"),
            folder.run("compare huge.json huge.json --weighted"),
            folder.run("compare huge.json huger.json --weighted"),
            folder.run("sketch twice.json --weighted"),
            folder.run("add w.lk two.jsonl --weighted --quiet"),
            folder.run("export w.lk pairs --format csv"),
            folder.run("cluster w.lk --verify exact --quiet"),
            // Parts of a sum are not told for samples.
            folder.run("export w.lk pairs --format csv"),
        ],
    );
}
