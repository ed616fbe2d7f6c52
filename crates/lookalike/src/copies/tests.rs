use super::*;
use crate::add::{AddOptions, add};
use crate::corpus::inputs::Inputs;
use crate::find::Reread;
use lookalike_core::shingle::Width;
use lookalike_testkit::texts::words;
use serde_json::json;

fn recipe() -> Recipe {
    Recipe {
        width: Width::new(5).expect("not zero"),
        ..Recipe::default()
    }
}

fn kind(text: &str, copy: &str) -> Kind {
    let recipe = recipe();
    let words = |text: &str| Words::of_text(text, &recipe);
    holding(&words(text), &words(copy), &recipe).kind
}

const TEXT: &str = "a b c d e f g h i j k l m n o p q r s t";

#[test]
fn a_person_would_agree_with_every_kind() {
    let cases = [
        ("A b, c d e f g h i j k l m n o p q r s T!", Kind::Identical),
        (
            "menu a b c d e f g h i j k l m n o p q r s t imprint",
            Kind::Full,
        ),
        // Something stands between two passages.
        (
            "a b c d e f g h i j one two three four five six k l m n o p q r s t",
            Kind::Full,
        ),
        ("a b c d e f X h i j k l m n o p q r s t", Kind::Altered),
        (
            "menu a b c d e f h i j k l m n o p q r s t imprint",
            Kind::Altered,
        ),
        ("a b c d e f g h i j k l m n o p q r and s t", Kind::Altered),
        // Moved: the words are the same, the text is not.
        ("k l m n o p q r s t a b c d e f g h i j", Kind::Altered),
        ("a b c d e f g h i j k l", Kind::Partial),
        ("menu h i j k l m n o imprint", Kind::Partial),
    ];
    for (copy, expected) in cases {
        assert_eq!(kind(TEXT, copy), expected, "{copy}");
    }
    // Shorter than a shingle.
    assert_eq!(kind("a b c", "a b c"), Kind::Identical);
    assert_eq!(kind("a b c", "see a b c d"), Kind::Full);
}

#[test]
fn copies_are_told_newest_first_with_versions_and_contacts() {
    let own = words(1, 300);
    let changed = |at: usize| {
        let mut own = own.clone();
        own[at] = "changed".to_owned();
        own.join(" ")
    };
    let page = |text: &str, mail: &str| {
        format!(
            "<!doctype html><p>{text}</p><a href='mailto:me@{mail}'>write</a> or ask info@{mail}"
        )
    };
    let rows = [
        (
            "http://a.example/1",
            "2020-01-01",
            page(&own.join(" "), "a.example"),
        ),
        (
            "http://b.example/2",
            "2024-01-01",
            page(&changed(50), "b.example"),
        ),
        (
            "http://c.example/3",
            "2022-01-01",
            page(&changed(50), "c.example"),
        ),
        (
            "http://c.example/3",
            "2021-01-01",
            page(&own.join(" "), "c.example"),
        ),
        ("http://d.example/4", "2023-01-01", own[100..250].join(" ")),
        ("http://e.example/5", "2025-01-01", words(2, 300).join(" ")),
        ("http://d.example/4", "2024-06-01", words(3, 300).join(" ")),
    ];
    for keeps in [false, true] {
        let folder = tempfile::tempdir().expect("a folder");
        let input = folder.path().join("in.jsonl");
        let lines: Vec<String> = rows
            .iter()
            .map(|(url, date, text)| json!({ "url": url, "date": date, "text": text }).to_string())
            .collect();
        std::fs::write(&input, lines.join("\n")).expect("a file");
        let options = AddOptions {
            keep_text: keeps,
            ..AddOptions::default()
        };
        let inputs = Inputs::expand(&[&input], &options.reading);
        let place = folder.path().join("c");
        add(&place, &inputs, &options, &mut |_| {}).expect("documents");
        let finder = Finder::open(&place, None).expect("a collection");
        let document = Document::of_text(own.join(" "));
        let mut sketcher = finder.sketcher();
        let query = finder.query(&document, None, &mut sketcher, Reread::Never);
        let ask = || {
            let options = CopiesOptions::default();
            copies(&finder, &document, &query, None, options).expect("sound")
        };
        let found = ask();
        let told: Vec<(u32, Kind, usize, usize, Now)> = found
            .copies
            .iter()
            .map(|copy| (copy.doc, copy.kind, copy.version, copy.earlier, copy.now))
            .collect();
        let expected = [
            (1, Kind::Altered, 1, 0, Now::There),
            (4, Kind::Partial, 2, 0, Now::Gone),
            (2, Kind::Altered, 1, 1, Now::There),
            (3, Kind::Full, 0, 0, Now::Changed),
            (0, Kind::Full, 0, 0, Now::There),
        ];
        assert_eq!(told, expected);
        assert_eq!(found.copies[0].contacts, ["me@b.example", "info@b.example"]);
        let edits: Vec<(&str, &str)> = found.versions[1]
            .edits
            .iter()
            .map(|edit| (&*edit.from, &*edit.to))
            .collect();
        assert_eq!(edits, [(&*own[50], "changed")]);
        // What is gone is judged by the sketches.
        if !keeps {
            std::fs::remove_file(&input).expect("it was there");
            let found = ask();
            let kinds: Vec<Kind> = found.copies.iter().map(|copy| copy.kind).collect();
            assert_eq!(kinds[3], Kind::Full);
            assert!(found.copies.iter().all(|copy| copy.holding.is_none()));
        }
    }
}
