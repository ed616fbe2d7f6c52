use std::process::Stdio;

use crate::{Folder, Ran, assert_snapshot};
use serde_json::Value;

const TEXT: &str = "The quick brown fox jumps over the lazy dog, and then it goes on to do a good many other things that foxes do when nobody is there to look at them.";

/// One of everything a folder may hold.
fn folder() -> Folder {
    let similar = TEXT.replace("to look at them", "to see it all");
    let lexical = TEXT.to_uppercase().replace(' ', "\n");
    let page = format!("<!doctype html><title></title><p>{TEXT}<script>x()</script>");
    Folder::with(&[
        ("docs/1-first.txt", TEXT.as_bytes()),
        ("docs/2-copy.txt", TEXT.as_bytes()),
        ("docs/3-lexical.txt", lexical.as_bytes()),
        ("docs/4-page.html", page.as_bytes()),
        ("docs/5-similar.txt", similar.as_bytes()),
        ("docs/6-copy-of-similar.txt", similar.as_bytes()),
        (
            "docs/7-unrelated.txt",
            b"Nothing of this has anything to do with foxes or with what they may do at night.",
        ),
        ("docs/short/a.txt", b"too short"),
        ("docs/short/b.txt", b"Too short!"),
        ("docs/short/c.txt", b"short too"),
        ("docs/left/.hidden", b"hidden"),
        ("docs/left/binary", b"\x00\x01\x02"),
        ("docs/left/empty", b""),
        ("docs/left/punctuation", b" ... !\n"),
    ])
}

#[test]
fn groups_are_listed_or_told_in_json() {
    let folder = folder();
    assert_snapshot(
        "scan",
        &[
            folder.run("scan docs"),
            folder.run("scan docs --json --min-size 3"),
            folder.run("scan docs --resemblance 0.95 --quiet"),
            folder.run("scan docs --hidden --verbose --min-size 9"),
        ],
    );
}

#[test]
fn a_quotation_is_found_by_containment() {
    let own: Vec<String> = (0..200).map(|i| format!("word{i}")).collect();
    let own = own.join(" ");
    let quoted = format!("{own}, as somebody wrote: {TEXT}");
    let folder = Folder::with(&[("a.txt", quoted.as_bytes()), ("b.txt", TEXT.as_bytes())]);
    assert_snapshot(
        "scan_containment",
        &[folder.run("scan ."), folder.run("scan . --containment 0.9")],
    );
}

#[test]
fn records_of_a_file_go_by_their_names() {
    let line = |id: &str, text: &str| {
        let mut line = serde_json::json!({ "text": text });
        if !id.is_empty() {
            line["id"] = serde_json::json!(id);
        }
        format!("{line}\n")
    };
    let lines = [
        line("one", TEXT),
        line("", &format!("{TEXT} And so on.")),
        line("two", TEXT),
        "{\"text\": 3\n".to_owned(),
        line("other", "nothing of the kind"),
    ]
    .concat();
    let folder = Folder::with(&[("a.jsonl", lines.as_bytes()), ("b.txt", TEXT.as_bytes())]);
    assert_snapshot(
        "scan_records",
        &[
            folder.run("scan a.jsonl b.txt"),
            folder.run("scan a.jsonl --json --allow-rejects"),
        ],
    );
}

#[test]
fn the_end_of_a_chain_is_not_similar_to_its_beginning() {
    let folder = Folder::with(&[
        ("1", b"a b c d e f g"),
        ("2", b"c d e f g h i"),
        ("3", b"e f g h i j k"),
    ]);
    assert_snapshot(
        "scan_chain",
        &[
            folder.run("scan . --shingle 1"),
            folder.run("scan . --shingle 1 --json"),
        ],
    );
}

#[test]
fn two_runs_and_any_number_of_threads_say_the_same() {
    let folder = folder();
    let one = folder.run("scan docs --json --threads 1");
    assert_eq!(
        one.stdout,
        folder.run("scan docs --json --threads 1").stdout
    );
    assert_eq!(
        one.stdout,
        folder.run("scan docs --json --threads 7").stdout
    );
    assert!(!one.stdout.is_empty());
}

#[test]
fn what_could_not_be_read_is_named_and_changes_the_status() {
    let folder = folder();
    let rejected = folder.run("scan docs none --min-size 9 --rejects rejects.jsonl");
    assert_snapshot(
        "scan_rejects",
        &[
            rejected,
            folder.run("scan docs none --min-size 9 --allow-rejects"),
            folder.run("scan docs/7-unrelated.txt docs/short docs/1-first.txt --max-document 100"),
        ],
    );
    let line: Value = serde_json::from_str(&folder.read("rejects.jsonl")).expect("one line");
    assert_eq!(line["reason"], "missing");
}

#[test]
fn nothing_usable_is_an_error() {
    let folder = Folder::with(&[("empty/.hidden", b"x"), ("blank.txt", b" \n")]);
    assert_snapshot(
        "scan_nothing",
        &[
            folder.run("scan empty"),
            folder.run("scan blank.txt"),
            folder.run("scan none gone"),
        ],
    );
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let folder = folder();
    for args in [
        "scan docs",
        "scan docs --json",
        "curve",
        "compare docs/1-first.txt docs/5-similar.txt",
        "--help",
    ] {
        let mut child = folder
            .command(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        // Closed before a byte is read.
        drop(child.stdout.take());
        let ran = Ran::new(args, &child.wait_with_output().expect("the program ends"));
        assert_eq!(ran.status, Some(0), "{ran}");
        assert!(!ran.stderr.contains("error"), "{ran}");
    }
}

#[cfg(unix)]
#[test]
fn names_that_are_no_text_are_escaped() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let folder = Folder::with(&[("a", TEXT.as_bytes())]);
    for name in [&b"caf\xe9"[..], b"new\nline", b"\x1b[31mred"] {
        let path = folder.0.path().join(OsStr::from_bytes(name));
        std::fs::write(path, TEXT).expect("a file");
    }
    assert_snapshot(
        "scan_names",
        &[folder.run("scan ."), folder.run("scan . --json")],
    );
}

#[cfg(unix)]
#[test]
fn pipes_and_links_do_not_block() {
    let folder = folder();
    let made = std::process::Command::new("mkfifo")
        .arg(folder.at("docs/pipe"))
        .status();
    assert!(made.is_ok_and(|status| status.success()));
    std::os::unix::fs::symlink("/dev/zero", folder.at("docs/zero")).expect("a link");
    std::os::unix::fs::symlink("..", folder.at("docs/short/up")).expect("a link");
    assert_snapshot("scan_pipes", &[folder.run("scan docs --min-size 9")]);
}
