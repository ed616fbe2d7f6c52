use std::fs;
use std::path::Path;

use super::*;
use crate::add::{AddOptions, add};
use crate::corpus::inputs::Inputs;

const MEMORY: u64 = 64 << 20;

/// Adds texts as a sweep.
fn sweep(folder: &Path, number: usize, texts: &[&str]) {
    let line = |(i, text): (usize, &&str)| {
        let line = serde_json::json!({ "url": format!("http://a/{number}/{i}"), "text": text });
        format!("{line}\n")
    };
    let lines: String = texts.iter().enumerate().map(line).collect();
    let file = folder.join(format!("{number}.jsonl"));
    fs::write(&file, lines).expect("a file");
    let options = AddOptions {
        memory: MEMORY,
        ..AddOptions::default()
    };
    let inputs = Inputs::expand(&[&file], &options.reading);
    add(&folder.join("c.lk"), &inputs, &options, &mut |_| {}).expect("documents");
}

fn collection(folder: &Path) -> Collection {
    Collection::open(&folder.join("c.lk")).expect("a collection")
}

fn built(folder: &Path) -> Built {
    build(&collection(folder), MEMORY, |_| {}).expect("an index")
}

fn found(folder: &Path, query: &str) -> Vec<u32> {
    let index = SearchIndex::open(&collection(folder)).expect("an index");
    let hits = index.search(query, 100).expect("an answer");
    assert_eq!(hits.total, hits.hits.len());
    hits.hits.iter().map(|hit| hit.doc).collect()
}

const TEXTS: [&str; 5] = [
    "The lost ships sailed from the old port, and none came back.",
    "Ships at sea are lost at times; ships ships ships.",
    "日本語の文書 über Straße and naïve SHIPS",
    "Nothing of the kind.",
    "Nothing of the kind.",
];

#[test]
fn words_phrases_and_what_must_not_be_there() {
    let folder = tempfile::tempdir().expect("a folder");
    sweep(folder.path(), 0, &TEXTS);
    assert_eq!(built(folder.path()).documents, 5);
    let found = |query| found(folder.path(), query);
    let sorted = |query| {
        let mut docs = found(query);
        docs.sort_unstable();
        docs
    };
    assert_eq!(sorted("ships"), [0, 1, 2]);
    assert_eq!(found("ships")[0], 1, "the one with most of it is first");
    assert_eq!(sorted("lost ships"), [0, 1]);
    assert_eq!(found("\"lost ships\""), [0]);
    assert_eq!(sorted("ships -port"), [1, 2]);
    assert_eq!(found("STRASSE"), [2]);
    assert_eq!(found("文書"), [2]);
    assert_eq!(found("nothing"), [3, 4], "of equal ones the lower is first");
    for nothing in ["", "-ships", "\"\"", "unheard", "((("] {
        assert_eq!(found(nothing), Vec::<u32>::new(), "{nothing}");
    }
}

#[test]
fn an_index_lacks_no_sweep_and_is_the_same_made_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    sweep(folder.path(), 0, &TEXTS[..2]);
    assert!(matches!(
        SearchIndex::open(&collection(folder.path())),
        Err(SearchError::Missing)
    ));
    built(folder.path());
    sweep(folder.path(), 1, &TEXTS[2..]);
    assert!(matches!(
        SearchIndex::open(&collection(folder.path())),
        Err(SearchError::Behind)
    ));
    let more = built(folder.path());
    assert_eq!((more.documents, more.added), (5, 3));
    assert_eq!(built(folder.path()).added, 0);
    let queries = ["ships", "nothing", "lost ships", "the"];
    let scores = |queries: [&str; 4]| {
        let index = SearchIndex::open(&collection(folder.path())).expect("an index");
        queries.map(|query| {
            let hits = index.search(query, 10).expect("an answer").hits;
            hits.iter()
                .map(|hit| (hit.doc, hit.score))
                .collect::<Vec<_>>()
        })
    };
    let one_by_one = scores(queries);
    fs::remove_dir_all(folder.path().join("c.lk/search")).expect("it is there");
    assert_eq!(built(folder.path()).added, 5);
    assert_eq!(scores(queries), one_by_one);
}

#[test]
fn a_damaged_index_is_refused_and_made_again() {
    let folder = tempfile::tempdir().expect("a folder");
    sweep(folder.path(), 0, &TEXTS);
    built(folder.path());
    let place = folder.path().join("c.lk/search");
    let files = || {
        let files = fs::read_dir(&place).expect("a folder").flatten();
        let mut files: Vec<_> = files.map(|file| file.path()).collect();
        files.retain(|file| !file.ends_with("meta.json") && !file.ends_with(".managed.json"));
        files.retain(|file| fs::metadata(file).is_ok_and(|facts| facts.len() > 0));
        files.sort();
        files
    };
    let kinds = files().len();
    assert!(kinds >= 5, "{:?}", files());
    let damages: [fn(&mut Vec<u8>); 4] = [
        |bytes| bytes[0] ^= 1,
        |bytes| *bytes.last_mut().expect("not empty") ^= 1,
        |bytes| bytes.truncate(bytes.len() / 2),
        Vec::clear,
    ];
    for kind in 0..kinds {
        for damage in damages {
            // The list of its files may be lost too.
            drop(fs::remove_file(place.join(".managed.json")));
            let file = files()[kind].clone();
            let mut bytes = fs::read(&file).expect("a file");
            damage(&mut bytes);
            fs::write(&file, bytes).expect("a file");
            let opened = SearchIndex::open(&collection(folder.path()));
            assert!(
                matches!(opened, Err(SearchError::Damaged(_))),
                "{}: {opened:?}",
                file.display()
            );
            assert_eq!(built(folder.path()).documents, 5);
            assert_eq!(found(folder.path(), "nothing"), [3, 4]);
        }
        fs::remove_file(&files()[kind]).expect("it is there");
        assert!(SearchIndex::open(&collection(folder.path())).is_err());
        assert_eq!(built(folder.path()).added, 5);
    }
    fs::write(place.join("meta.json"), "{").expect("a file");
    assert!(SearchIndex::open(&collection(folder.path())).is_err());
    assert_eq!(built(folder.path()).added, 5);
}

#[test]
fn a_snippet_has_what_was_asked_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = format!(
        "# A title\n\n{} <b>lost</b> ships & sails {}",
        "some words ".repeat(50),
        "more ".repeat(50)
    );
    sweep(folder.path(), 0, &[&text, "short"]);
    built(folder.path());
    let index = SearchIndex::open(&collection(folder.path())).expect("an index");
    let hits = index.search("ships lost", 10).expect("an answer");
    let shown = index.show(&hits.hits[0], "ships lost").expect("its text");
    assert_eq!(shown.title, "A title");
    let asked: Vec<&str> = shown
        .snippet
        .iter()
        .filter(|piece| piece.is_asked)
        .map(|piece| piece.text.as_str())
        .collect();
    assert_eq!(asked, ["lost", "ships"]);
    let all: String = shown
        .snippet
        .iter()
        .map(|piece| piece.text.as_str())
        .collect();
    assert!(all.starts_with("… ") && all.ends_with(" …"), "{all}");
    assert!(all.contains("<b>lost</b> ships & sails"), "{all}");
    assert!(all.len() < 400, "{all}");
}
