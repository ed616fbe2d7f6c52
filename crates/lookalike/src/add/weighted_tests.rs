//! Features with weights, from a line of JSON to clusters and what is found.

use std::fs;
use std::path::Path;

use lookalike_core::canonical::TokenKind;
use lookalike_core::permutation::Family;
use lookalike_core::recipe::{Recipe, SketchKind};
use lookalike_core::shingle::Width;

use super::fault_tests::options;
use super::{AddOptions, add};
use crate::clusters::policy::{Policy, Verify};
use crate::clusters::{ClusterOptions, recluster};
use crate::collection::Collection;
use crate::corpus::document::Document;
use crate::corpus::inputs::Inputs;
use crate::find::{FindOptions, Finder, Reread};
use crate::pairs::Measure;

fn weighted() -> AddOptions {
    let mut options = options(1, 32 << 20);
    options.recipe = Recipe {
        tokens: TokenKind::Feature,
        width: Width::MIN,
        sketch: SketchKind::Perm {
            samples: 256,
            family: Family::Weighted,
        },
        ..Recipe::default()
    };
    options.reading.tokens = TokenKind::Feature;
    options
}

fn made(folder: &Path, lines: &str, options: &AddOptions) -> super::Report {
    let path = folder.join("a.jsonl");
    fs::write(&path, lines).unwrap();
    let inputs = Inputs::expand(&[path], &options.reading);
    add(&folder.join("c"), &inputs, options, &mut |_| {}).unwrap()
}

#[test]
fn what_is_no_weight_is_rejected_with_its_reason() {
    let lines = r#"{"id":"good","features":{"a":1,"b":2.5e-3}}
{"id":"zero","features":{"a":0}}
{"id":"negative","features":{"a":-1}}
{"id":"infinite","features":{"a":1e999}}
{"id":"text","features":{"a":"NaN"}}
{"id":"null","features":{"a":null}}
{"id":"twice","features":{"a":1,"a":2}}
{"id":"none","features":{}}
{"id":"list","features":["a","b","a"]}
"#;
    let folder = tempfile::tempdir().unwrap();
    let report = made(folder.path(), lines, &weighted());
    assert_eq!((report.counts.read, report.added), (9, 2));
    assert_eq!(
        report.counts.rejected.get("bad weight"),
        Some(&6),
        "{:?}",
        report.counts
    );
    let told = String::from_utf8(report.rejects).unwrap();
    for why in [
        "leave it out",
        "not negative",
        "finite number",
        "has two weights",
    ] {
        assert!(told.contains(why), "{why}: {told}");
    }
    // A recipe without weights does not drop them unasked.
    let folder = tempfile::tempdir().unwrap();
    let mut plain = weighted();
    plain.recipe.sketch = SketchKind::default();
    let report = made(folder.path(), lines, &plain);
    assert_eq!(report.added, 1);
    assert_eq!(
        report.counts.rejected.get("bad weight"),
        Some(&7),
        "{:?}",
        report.counts
    );
}

#[test]
fn weights_decide_who_is_alike() {
    // 60 features; a and b differ in the weight of one that outweighs all others, a and c
    // in half of the light ones.
    let features = |heavy: f64, from: usize| {
        let light = (from..from + 60).map(|i| format!("\"f{i}\":1"));
        let light: Vec<String> = light.collect();
        format!("{{\"heavy\":{heavy},{}}}", light.join(","))
    };
    let line =
        |id: &str, features: String| format!("{{\"id\":\"{id}\",\"features\":{features}}}\n");
    let lines = [
        line("a", features(600.0, 0)),
        line("b", features(60.0, 0)),
        line("c", features(600.0, 30)),
        line("a again", features(600.0, 0)),
    ];
    for keep_text in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let options = AddOptions {
            keep_text,
            ..weighted()
        };
        let report = made(folder.path(), &lines.concat(), &options);
        assert_eq!((report.counts.identical, report.counts.distinct), (1, 3));
        let place = folder.path().join("c");
        if keep_text {
            fs::remove_file(folder.path().join("a.jsonl")).unwrap();
        }
        let policy = Policy {
            resemblance: Some(0.8),
            verify: Verify::Exact,
            ..Policy::default()
        };
        let clustering = ClusterOptions {
            threads: options.threads,
            memory: options.memory,
        };
        recluster(&place, &options.recipe, &policy, &clustering).unwrap();
        let collection = Collection::open(&place).unwrap();
        let mut exact = Vec::new();
        collection.each_exact(|pair| exact.push(*pair)).unwrap();
        let kind = options.recipe.sketch;
        let value = |a, b| {
            let pair = exact
                .iter()
                .find(|pair| (pair.a, pair.b) == (a, b))
                .unwrap();
            pair.exact(Measure::Resemblance, kind).unwrap()
        };
        // a and c: 600 + 30 of 600 + 90.
        assert!((value(2, 0) - 630.0 / 690.0).abs() < 1e-8);
        let stored = &collection.state().clusterings[1];
        let found = collection.clustering(stored).unwrap();
        let cluster = |doc| found.member(doc).unwrap().cluster;
        assert_eq!(
            [cluster(0), cluster(1), cluster(2), cluster(3)],
            [0, 1, 0, 0]
        );
        // And from outside, by estimate and exactly: b is 60 + 60 of 660.
        let finder = Finder::open(&place, None).unwrap();
        let mut all: Vec<(String, f64)> = (0..60).map(|i| (format!("f{i}"), 1.0)).collect();
        all.push(("heavy".to_owned(), 60.0));
        let document = Document::of_weighted(all);
        let query = finder.query(&document, None, &mut finder.sketcher(), Reread::Always);
        let options = FindOptions {
            min_resemblance: Some(0.1),
            ..FindOptions::default()
        };
        let matches = finder.find(&query, &options).unwrap();
        assert_eq!(matches[0].doc, 1);
        let a = matches.iter().find(|one| one.doc == 0).unwrap();
        let exact = a.exact().unwrap();
        assert!((exact[0] - 120.0 / 660.0).abs() < 1e-8, "{exact:?}");
    }
}
