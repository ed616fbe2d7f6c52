use std::collections::BTreeMap;
use std::fs;

use lookalike_core::estimate::Overlap;
use lookalike_core::shingle::{ShingleIds, Width};
use proptest::prelude::*;

use super::*;
use crate::add::{AddOptions, add};
use crate::corpus::document::Reading;
use crate::corpus::inputs::Inputs;

fn options(width: usize, kind: SketchKind) -> AddOptions {
    AddOptions {
        recipe: Recipe {
            width: Width::new(width).expect("not zero"),
            sketch: kind,
            ..Recipe::default()
        },
        memory: 64 << 20,
        ..AddOptions::default()
    }
}

/// A collection of these texts, so many a sweep.
fn collection(texts: &[String], each: usize, options: &AddOptions) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (sweep, texts) in texts.chunks(each).enumerate() {
        let line = |(i, text): (usize, &String)| {
            format!(
                "{}\n",
                serde_json::json!({ "id": format!("{sweep}-{i}"), "text": text })
            )
        };
        let lines: String = texts.iter().enumerate().map(line).collect();
        let file = folder.path().join(format!("{sweep}.jsonl"));
        fs::write(&file, lines).expect("a file");
        let inputs = Inputs::expand(&[&file], &options.reading);
        add(&folder.path().join("c.lk"), &inputs, options, &mut |_| {}).expect("documents");
    }
    folder
}

fn finder(folder: &tempfile::TempDir) -> Finder {
    Finder::open(&folder.path().join("c.lk"), None).expect("a collection")
}

fn asked_for(finder: &Finder, text: &str, is_exact: bool) -> Query {
    let document = Document::read(text.as_bytes(), Reading::default()).expect("text");
    let bytes = Some(text.as_bytes());
    let reread = if is_exact {
        Reread::Always
    } else {
        Reread::Never
    };
    finder.query(&document, bytes, &mut finder.sketcher(), reread)
}

fn ask(finder: &Finder, text: &str, options: &FindOptions, is_exact: bool) -> Vec<Match> {
    let query = asked_for(finder, text, is_exact);
    finder.find(&query, options).expect("an answer")
}

fn words(words: impl IntoIterator<Item = u32>) -> String {
    let words = words.into_iter().map(|word| format!("w{word}"));
    words.collect::<Vec<_>>().join(" ")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Short documents are kept whole: what is found is what comparing with every one finds.
    #[test]
    fn it_finds_what_comparing_with_every_document_finds(
        texts in prop::collection::vec(prop::collection::vec(0_u32..5, 1..20), 1..20),
        asked in prop::collection::vec(0_u32..5, 1..20),
        each in 1_usize..20,
    ) {
        let texts: Vec<String> = texts.into_iter().map(words).collect();
        let options = options(2, SketchKind::default());
        let folder = collection(&texts, each, &options);
        let asked = words(asked);
        let all = FindOptions { top: 1000, ..FindOptions::default() };
        let found = ask(&finder(&folder), &asked, &all, false);
        let mut ids = ShingleIds::new(options.recipe.width, options.recipe.shingling);
        let mut set = |text: &str| {
            let document = Document::read(text.as_bytes(), Reading::default()).expect("text");
            ids.set(&document.tokens(&options.recipe))
        };
        let query = set(&asked);
        let mut expected = BTreeMap::new();
        for (doc, text) in (0_u32..).zip(&texts) {
            let overlap = Overlap::of_sorted(&query, &set(text));
            let shares = [overlap.resemblance(), overlap.a_in_b(), overlap.b_in_a()];
            let shares = shares.map(|share| share.unwrap_or(0.0));
            if shares[0] >= 0.3 || shares[1] >= 0.5 || shares[2] >= 0.5 {
                expected.insert(doc, (shares, *text == asked));
            }
        }
        let told: BTreeMap<u32, ([f64; 3], bool)> = found
            .iter()
            .map(|one| (one.doc, (one.exact().expect("whole"), one.grade == Grade::Identical)))
            .collect();
        prop_assert_eq!(told, expected);
        // What is alike first, then what holds it, then the rest.
        let order = |one: &Match| {
            let [resemblance, in_doc, in_query] = one.exact().expect("whole");
            if resemblance >= 0.5 {
                (2, resemblance)
            } else if in_doc >= 0.8 {
                (1, in_doc)
            } else {
                (0, in_doc.max(in_query / 2.0))
            }
        };
        prop_assert!(found.is_sorted_by(|x, y| order(x) >= order(y)));
    }

    /// Whatever the kind of sketch and the lengths, figures are those of the two sketches.
    #[test]
    fn figures_are_those_of_the_sketches(
        lens in prop::collection::vec((1_u32..2000, 0_u32..300), 1..8),
        asked in (1_u32..2000, 0_u32..300),
        kind in prop::sample::select(vec!["nested:64", "mod:7", "min:50", "min-mod:40,3", "perm:32"]),
    ) {
        let kind: SketchKind = kind.parse().expect("a kind");
        let options = options(2, kind);
        let text = |&(len, from): &(u32, u32)| words(from..from + len);
        let texts: Vec<String> = lens.iter().map(text).collect();
        let folder = collection(&texts, 3, &options);
        let all = FindOptions { top: 1000, min_resemblance: Some(1e-9), min_containment: Some(1e-9) };
        let asked = text(&asked);
        let mut sketcher = Sketcher::new(&options.recipe);
        let query = sketcher.sketch(&asked);
        let finder = finder(&folder);
        let mut queries = vec![asked_for(&finder, &asked, false)];
        queries.extend(texts.iter().map(|text| asked_for(&finder, text, false)));
        for options in [all, FindOptions { top: 2, ..FindOptions::default() }] {
            let together = finder.find_all(&queries, &options).expect("answers");
            prop_assert_eq!(together.len(), queries.len());
            for (query, found) in queries.iter().zip(together) {
                prop_assert_eq!(&finder.find(query, &options).expect("an answer"), &found);
                prop_assert_eq!(finder.find_by_scan(query, &options).expect("an answer"), found);
            }
        }
        for one in ask(&finder, &asked, &all, false) {
            let other = sketcher.sketch(&texts[one.doc as usize]);
            let compared = query.compare(&other).expect("one recipe");
            let shown = |estimate: Option<Estimate>| estimate.map(|e| (e.value, e.samples));
            prop_assert_eq!(shown(one.resemblance()), shown(compared.resemblance));
            if let SketchKind::Nested { .. } | SketchKind::Mod { .. } = kind {
                // Of the others a collection does not know what share of all was seen.
                prop_assert_eq!(one.resemblance(), compared.resemblance);
            }
            prop_assert_eq!(one.query_in_doc(), compared.a_in_b);
            prop_assert_eq!(one.doc_in_query(), compared.b_in_a);
        }
    }
}

#[test]
fn copies_are_found_with_what_they_are_copies_of() {
    let text = words(0..40);
    let texts = [
        text.clone(),
        text.to_uppercase(),
        words(100..140),
        text.clone(),
        format!("{text} {}", words(500..520)),
    ];
    let folder = collection(&texts, 2, &options(3, SketchKind::default()));
    let finder = finder(&folder);
    let found = ask(&finder, &text, &FindOptions::default(), false);
    let told: Vec<(u32, &str)> = found
        .iter()
        .map(|one| (one.doc, one.grade.name()))
        .collect();
    assert_eq!(
        told,
        [
            (0, "identical"),
            (1, "lexical"),
            (3, "identical"),
            (4, "similar")
        ]
    );
    assert_eq!(finder.cluster(3).expect("clusters"), Some(0));
    // A document of the collection is found by its own sketch.
    let query = finder.query_of(4, Reread::Always).expect("its sketch");
    let found = finder
        .find(&query, &FindOptions::default())
        .expect("matches");
    assert_eq!((found[0].doc, found[0].grade), (4, Grade::Identical));
    assert_eq!(found[1].exact(), Some([38.0 / 58.0, 38.0 / 58.0, 1.0]));
}

#[test]
fn a_quotation_finds_its_source_and_exact_values_are_read_again() {
    let texts: Vec<String> = (0..30)
        .map(|i| words(10_000 * i..10_000 * i + 3000))
        .collect();
    let folder = collection(&texts, 10, &options(5, SketchKind::default()));
    let finder = finder(&folder);
    for doc in [0_u32, 13, 29] {
        let quoted = words(10_000 * doc + 700..10_000 * doc + 900);
        let found = ask(&finder, &quoted, &FindOptions::default(), true);
        assert_eq!(found[0].doc, doc);
        assert_eq!(found[0].grade, Grade::Contained);
        assert_eq!(
            found[0].exact(),
            Some([196.0 / 2996.0, 1.0, 196.0 / 2996.0])
        );
        let share = found[0].query_in_doc().expect("samples");
        assert!(share.samples < 40 && share.high >= 1.0, "{share:?}");
    }
    // Without the source only the estimate is left.
    fs::remove_file(folder.path().join("0.jsonl")).expect("it was there");
    let found = ask(&finder, &words(700..900), &FindOptions::default(), true);
    assert_eq!((found[0].doc, found[0].exact()), (0, None));
}

#[test]
fn long_lists_cost_little_and_lose_nothing() {
    // All share a header; three share more.
    let header = words(0..30);
    let own = |i: u32| words(1000 * (i + 1)..1000 * (i + 1) + 30);
    let mut texts: Vec<String> = (0..900).map(|i| format!("{header} {}", own(i))).collect();
    texts.push(format!("{header} {} one", own(5)));
    let folder = collection(&texts, 400, &options(2, SketchKind::default()));
    let finder = finder(&folder);
    let top = FindOptions {
        top: 3,
        ..FindOptions::default()
    };
    let found = ask(&finder, &texts[5], &top, false);
    let docs: Vec<u32> = found.iter().map(|one| one.doc).collect();
    assert_eq!(docs[..2], [5, 900]);
    assert_eq!(found[0].exact(), Some([1.0; 3]));
    assert_eq!(found[2].exact().map(|all| all[0] < 0.5), Some(true));
    assert!(ask(&finder, &words(5_000_000..5_000_050), &top, false).is_empty());
}

#[test]
fn a_text_is_found_among_thousands_that_hold_it() {
    // Every list is as long as every other, and there are more candidates than are judged.
    let held = words(0..100);
    let own = |i: u32| words(1000 * (i + 1)..1000 * (i + 1) + 50);
    let mut texts: Vec<String> = (0..2000).map(|i| format!("{held} {}", own(i))).collect();
    texts.push(words(0..95));
    let folder = collection(&texts, 5000, &options(2, SketchKind::default()));
    let found = ask(&finder(&folder), &held, &FindOptions::default(), false);
    assert_eq!(found[0].doc, 2000);
    assert_eq!(found[0].exact(), Some([94.0 / 99.0, 94.0 / 99.0, 1.0]));
    assert_eq!(found[1].exact(), Some([99.0 / 149.0, 1.0, 99.0 / 149.0]));
}

#[test]
fn damage_is_an_error_and_never_an_answer() {
    let texts: Vec<String> = (0..40).map(|i| words(50 * i..50 * i + 60)).collect();
    let folder = collection(&texts, 20, &options(2, SketchKind::default()));
    let right = ask(&finder(&folder), &texts[7], &FindOptions::default(), false);
    let place = folder.path().join("c.lk");
    for entry in fs::read_dir(&place).expect("a folder").flatten() {
        let path = entry.path();
        let whole = fs::read(&path).expect("a file");
        for at in [
            whole.len() / 3,
            whole.len() / 2,
            whole.len().saturating_sub(9),
        ] {
            let mut bad = whole.clone();
            if let Some(byte) = bad.get_mut(at) {
                *byte ^= 0x10;
            }
            fs::remove_file(&path).expect("it was there");
            fs::write(&path, &bad).expect("a file");
            let Ok(finder) = Finder::open(&place, None) else {
                continue;
            };
            let document = Document::read(texts[7].as_bytes(), Reading::default()).expect("text");
            let bytes = Some(texts[7].as_bytes());
            let query = finder.query(&document, bytes, &mut finder.sketcher(), Reread::Never);
            if let Ok(found) = finder.find(&query, &FindOptions::default()) {
                assert_eq!(found, right, "{path:?} at {at}");
            }
        }
        fs::remove_file(&path).expect("it was there");
        fs::write(&path, whole).expect("a file");
    }
}

#[test]
fn what_few_samples_cannot_tell_is_read_again() {
    // Long versions of one text, each with one more piece changed: the excerpt stands whole
    // in the last only, and a few samples see no difference.
    let version = |changed: u32| {
        let word = |i: u32| {
            if i / 40 < changed {
                100_000 * changed + i
            } else {
                i
            }
        };
        words((0..6000).map(word))
    };
    let mut texts: Vec<String> = (60..75).map(version).collect();
    texts.push(words(0..6000));
    let options = options(10, SketchKind::default());
    let folder = collection(&texts, 100, &options);
    let finder = finder(&folder);
    let excerpt = words(2350..3050);
    let document = Document::read(excerpt.as_bytes(), Reading::default()).expect("text");
    let ask = |reread: Reread| {
        let query = finder.query(&document, None, &mut finder.sketcher(), reread);
        finder
            .find(&query, &FindOptions::default())
            .expect("an answer")
    };
    let found = ask(Reread::Doubtful);
    assert_eq!(found[0].doc, 15);
    assert_eq!(found[0].exact().map(|exact| exact[1]), Some(1.0));
    assert_eq!(found, ask(Reread::Always));
    assert!(ask(Reread::Never).iter().all(|one| one.exact().is_none()));
    // A document that resembles leaves no doubt, and is not read again.
    let query = finder.query_of(15, Reread::Doubtful).expect("its sketch");
    let found = finder
        .find(&query, &FindOptions::default())
        .expect("an answer");
    assert_eq!((found[0].doc, found[0].exact()), (15, Some([1.0; 3])));
    assert!(found[1..].iter().all(|one| one.exact().is_none()));
}
