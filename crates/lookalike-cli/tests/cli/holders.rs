use std::fmt::Write;

use crate::{Folder, assert_snapshot};

const NOTICE: &str = "Permission to use, copy, modify and distribute this text for any purpose \
with or without fee is hereby granted, provided that the above notice and this permission \
notice appear in all copies of it and in all that is made from it by anybody.";

fn of_pages() -> Folder {
    let altered = NOTICE.replace("with or without", "without");
    let quoted = NOTICE.split(", provided").next().expect("a beginning");
    let rows = [
        ("http://a.example/", "2020-01-01", NOTICE.to_owned()),
        (
            "http://b.example/",
            "2021-01-01",
            format!(
                "<!doctype html><p>{NOTICE}</p><p>Imprint of the site: <a href='mailto:=web@b.example'>write</a> or info@b.example</p>"
            ),
        ),
        ("http://c.example/", "2019-01-01", NOTICE.to_owned()),
        ("http://c.example/", "2020-01-01", altered.clone()),
        (
            "http://c.example/",
            "2021-06-01",
            format!("{altered} With a word of ours."),
        ),
        (
            "http://d.example/",
            "2022-01-01",
            format!(
                "{quoted}. {}",
                "And much else that has nothing to do with it at all. ".repeat(2)
            ),
        ),
        (
            "http://e.example/",
            "2022-01-01",
            "Something else stands here, of other words, and of enough of them to be a document"
                .to_owned(),
        ),
    ];
    let mut lines = String::new();
    for (url, date, text) in rows {
        let row = serde_json::json!({ "url": url, "date": date, "text": text });
        let _ = writeln!(lines, "{row}");
    }
    let folder = Folder::with(&[
        ("in.jsonl", lines.as_bytes()),
        ("notice.txt", NOTICE.as_bytes()),
    ]);
    let made = folder.run("add c.lk in.jsonl --quiet --shingle 5");
    assert_eq!(made.status, Some(0), "{made}");
    folder
}

#[test]
fn copies_tells_who_holds_a_text() {
    let folder = of_pages();
    let mut ran = vec![
        folder.run("copies c.lk notice.txt --csv out.csv"),
        folder.run("copies c.lk notice.txt --json"),
        folder.run("copies c.lk --url http://a.example/ --min-containment 0.9"),
        folder.run_with_input(
            "copies c.lk -",
            b"nobody has anything of this at all, not a word",
        ),
        folder.run("copies c.lk --url http://z.example/"),
        folder.run("copies c.lk notice.txt --csv notice.txt"),
    ];
    let csv = folder.read("out.csv");
    ran.push(folder.run("copies c.lk missing.txt"));
    assert_snapshot("copies", &ran);
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!("copies_csv", csv);
    });
}

#[test]
fn drift_tells_what_was_done_to_a_text() {
    let folder = of_pages();
    assert_snapshot(
        "drift_collection",
        &[
            folder.run("drift c.lk notice.txt"),
            folder.run("drift c.lk notice.txt --json --drifted"),
            folder.run("drift c.lk --baseline notice.txt --drifted --around count --quiet"),
            folder.run("drift c.lk"),
        ],
    );
}

#[test]
fn drift_needs_no_collection() {
    let template = "Copyright [year] {holder}. All rights that the law grants are reserved by the holder of them.";
    let copy = |names: &str| template.replace("[year] {holder}", names);
    let (good, bad) = (
        copy("2020 A. N. Other"),
        copy("2021 Me").replace("All", "No"),
    );
    let folder = Folder::with(&[
        ("notice.txt", template.as_bytes()),
        ("repo/good/LICENSE", good.as_bytes()),
        ("repo/bad/LICENSE", bad.as_bytes()),
        ("rows.jsonl", b"{}\n[]\n{\"title\":\"no text\"}\n"),
        (
            "repo/src/main.c",
            b"int main(void) { return 0; } /* and some words that are not of it */",
        ),
    ]);
    assert_snapshot(
        "drift_files",
        &[
            folder.run("drift --baseline notice.txt --template names repo --shingle 4"),
            folder.run("drift --baseline notice.txt --template names repo/good --shingle 4 --json"),
            folder.run("drift --baseline repo/good/LICENSE repo/good/LICENSE"),
            folder.run("drift --baseline missing.txt repo"),
            folder.run("drift --baseline notice.txt missing"),
            folder.run("drift --baseline notice.txt notice.txt rows.jsonl"),
        ],
    );
}

#[test]
fn find_tells_passages() {
    let folder = of_pages();
    assert_snapshot(
        "find_passages",
        &[
            folder.run("find c.lk notice.txt --passages --top 2"),
            folder.run("find c.lk --url http://d.example/ --passages --json --top 2"),
        ],
    );
}

#[test]
fn drift_has_its_status_whoever_reads() {
    let copy = NOTICE.replace("any purpose", "no purpose");
    let bad = "The fee is <<var;name=\"fee\";original=\"10\";match=\"(((\">> dollars";
    let folder = Folder::with(&[
        ("notice.txt", NOTICE.as_bytes()),
        ("bad.txt", bad.as_bytes()),
        ("in/copy.txt", copy.as_bytes()),
        ("in/empty.txt", b""),
    ]);
    let mut command = folder.command("drift --baseline notice.txt in --shingle 4");
    let mut child = command
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("the program starts");
    drop(child.stdout.take());
    let ended = child.wait_with_output().expect("it ends");
    assert_eq!(ended.status.code(), Some(1), "{ended:?}");
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(said.contains("1 altered"), "{said}");
    let refused = folder.run("drift --baseline bad.txt in");
    assert_eq!(refused.status, Some(4), "{refused}");
    assert!(refused.stderr.contains("the variable `fee`"), "{refused}");
}

#[test]
fn of_many_templates_the_one_that_fits_counts() {
    // Each has another word in the place of the variable, and more of the words.
    let holders = ["Good, not Evil", "Evil, not Good", "Study", "Trade", "Play"];
    let mut rows = String::new();
    for holder in holders {
        let text = format!("{NOTICE} It shall be used for {holder}. So say the authors of it.");
        let row = serde_json::json!({ "id": holder, "text": text });
        let _ = writeln!(rows, "{row}");
    }
    let own = NOTICE.replacen(
        "this text",
        "<<var;name=\"it\";original=\"it\";match=\".+\">>",
        1,
    );
    let own = own.replace("by anybody", "<<beginOptional>>by anybody<<endOptional>>");
    let _ = writeln!(rows, "{}", serde_json::json!({ "id": "own", "text": own }));
    let copy = NOTICE.replace("this text", "the work of some years");
    let folder = Folder::with(&[
        ("baselines.jsonl", rows.as_bytes()),
        ("copy.txt", copy.as_bytes()),
    ]);
    let ran = folder.run("drift --baseline baselines.jsonl copy.txt --json --shingle 5");
    assert_eq!(ran.status, Some(0), "{ran}");
    assert!(ran.stdout.contains("\"baseline\":\"own\""), "{ran}");
    assert!(ran.stdout.contains("\"verbatim\""), "{ran}");
}

#[test]
fn drift_in_a_collection_knows_templates_with_little_between_what_may_vary() {
    // Six words at most in a row: the collection's shingles of ten are in none of its copies.
    let words: Vec<&str> = NOTICE.split(' ').collect();
    let filled = |holder: &str| {
        words
            .chunks(6)
            .map(|some| some.join(" ") + holder)
            .collect()
    };
    let template: String = filled(" <<var;name=\"it\";original=\"it\";match=\".+\">> ");
    let copies = ["Anna", "Bert of the north", "Clementine"].map(|holder| -> String {
        let text: String = filled(&format!(" {holder} "));
        serde_json::json!({ "url": format!("http://{}.example/", holder.len()), "text": text })
            .to_string()
    });
    let folder = Folder::with(&[
        ("template.txt", template.as_bytes()),
        ("copies.jsonl", copies.join("\n").as_bytes()),
    ]);
    let added = folder.run("add c.lk copies.jsonl --quiet");
    assert_eq!(added.status, Some(0), "{added}");
    let ran = folder.run("drift --baseline template.txt copies.jsonl --json --quiet");
    assert_eq!(ran.stdout.lines().count(), copies.len(), "{ran}");
    let ran = folder.run("drift c.lk template.txt --json --quiet");
    assert_eq!(ran.stdout.lines().count(), copies.len(), "{ran}");
    assert_eq!(ran.status, Some(0), "{ran}");
}
