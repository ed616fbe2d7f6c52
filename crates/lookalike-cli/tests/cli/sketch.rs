use crate::{Folder, assert_snapshot};
use serde_json::json;

fn long_text() -> Vec<u8> {
    let words = (0..3000).map(|i| format!("word{i} "));
    words.collect::<String>().into_bytes()
}

#[test]
fn what_is_kept_is_shown() {
    let folder = Folder::of_roses();
    assert_snapshot(
        "sketch",
        &[
            folder.run("sketch a.txt --shingle 4"),
            folder.run("sketch a.txt --shingle 4 --json"),
            folder.run("sketch a.txt"),
            folder.run("sketch b.txt --shingle 2 --sketch perm:4"),
            folder.run("sketch b.txt --token char --shingle 5 --labelled --keep-case"),
        ],
    );
}

#[test]
fn a_long_document_is_sampled_and_a_short_one_kept_whole() {
    let folder = Folder::with(&[("long.txt", &long_text()), ("short.txt", b"one two")]);
    let long = folder.json("sketch long.txt --json");
    let kept = long["kept"].as_u64().expect("a number");
    // Half of 256 to 256, but for chance: 3 standard deviations of sqrt(128) are 34.
    assert!((94..=256).contains(&kept), "{long}");
    assert_eq!(long["windows"], json!(2991));
    assert_eq!(
        long["fingerprints"].as_array().map(Vec::len),
        usize::try_from(kept).ok()
    );
    let short = folder.json("sketch short.txt --json");
    assert_eq!((&short["kept"], &short["short"]), (&json!(1), &json!(true)));
}

#[test]
fn every_kind_of_sketch_can_be_saved_and_compared() {
    let folder = Folder::with(&[("long.txt", &long_text())]);
    for kind in [
        "nested:64",
        "mod:25",
        "min:50",
        "min-mod:50,3",
        "perm:84",
        "perm:8,lead-byte",
    ] {
        let saved = folder.run(&format!("sketch long.txt --sketch {kind} -o it.sketch"));
        assert_eq!(saved.status, Some(0), "{saved}");
        let answer = folder.json("compare it.sketch it.sketch --json");
        assert_eq!(
            answer["resemblance"]["estimate"]["value"],
            json!(1.0),
            "{kind}"
        );
        // A text beside a sketch is sketched the way the sketch was.
        let answer = folder.json("compare it.sketch long.txt --json");
        assert_eq!(
            answer["resemblance"]["estimate"]["value"],
            json!(1.0),
            "{kind}"
        );
    }
}

#[test]
fn a_key_is_another_recipe_and_is_not_shown() {
    let folder = Folder::with(&[
        ("a.txt", b"a rose is a rose"),
        ("key", b"0123456789abcdef-secret"),
        ("other", b"another secret, long enough"),
    ]);
    let keyed = folder.run("sketch a.txt --key-file key --json");
    assert_eq!(keyed.status, Some(0));
    assert!(!keyed.stdout.contains("secret"));
    folder.run("sketch a.txt --key-file key -o key.sketch");
    folder.run("sketch a.txt --key-file other -o other.sketch");
    assert_eq!(
        folder.run("compare key.sketch other.sketch").status,
        Some(2)
    );
    assert_eq!(folder.run("compare key.sketch a.txt").status, Some(2));
    assert_eq!(
        folder.run("compare key.sketch a.txt --key-file key").status,
        Some(0)
    );
}
