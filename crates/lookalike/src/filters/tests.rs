//! What a filter accepts is what its definition and its curve say; clusters are those of
//! all accepted pairs; a document takes up what is promised.

use std::collections::BTreeSet;
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lookalike_core::canonical::TokenKind;
use lookalike_core::components::DisjointSets;
use lookalike_core::recipe::Recipe;
use lookalike_core::shingle::Width;
use lookalike_core::sketcher::Sketcher;
use lookalike_testkit::texts::{Draw, edited, words};
use serde_json::json;
use tempfile::TempDir;

use super::add::add_in;
use super::{Filtered, Spec, acceptance, add, cluster, find, find_like};
use crate::add::{AddError, AddOptions};
use crate::clusters::ClusterOptions;
use crate::collection::verify::verify;
use crate::collection::{Collection, CollectionError};
use crate::corpus::document::Document;
use crate::corpus::inputs::Inputs;
use crate::storage::sim::{Crash, Failure, SimFs, Times};

const SPECS: [&str; 5] = [
    "6x14/2",
    "8x25/1",
    "super-shingles:50/5",
    "eight:3",
    "eight:7",
];

fn options() -> AddOptions {
    AddOptions {
        threads: NonZeroUsize::new(2).unwrap(),
        memory: 64 << 20,
        ..AddOptions::default()
    }
}

const CLUSTERING: ClusterOptions = ClusterOptions {
    threads: NonZeroUsize::MIN,
    memory: 64 << 20,
};

/// Families of edited texts on three hosts, in one JSONL file.
fn input(folder: &Path, families: u64) -> PathBuf {
    let path = folder.join("input.jsonl");
    let mut lines = String::new();
    for family in 0..families {
        let text = words(family, 150 + usize::try_from(family % 7).unwrap() * 40);
        for (i, every) in [usize::MAX, 70, 40, 25, usize::MAX].into_iter().enumerate() {
            // The first and the last have the text as it is.
            let words = match every {
                usize::MAX => text.join(" "),
                every => edited(&text, 3 * i, every).join(" "),
            };
            let url = format!("http://h{}.org/{family}/{i}", (family + i as u64 % 2) % 3);
            let line = json!({ "id": format!("{family}-{i}"), "url": url, "text": words,
                "date": "2024-05-01T10:11:12Z" });
            lines.push_str(&line.to_string());
            lines.push('\n');
        }
    }
    fs::write(&path, lines).unwrap();
    path
}

fn made(spec: Spec, families: u64) -> (TempDir, Filtered) {
    let folder = tempfile::tempdir().unwrap();
    let inputs = Inputs::expand(&[input(folder.path(), families)], &options().reading);
    let place = folder.path().join("c");
    let added = add(&place, &inputs, spec, &options(), &mut |_| {}).unwrap();
    assert_eq!(
        (added.added, added.tally.read),
        (5 * families, 5 * families)
    );
    let filtered = Filtered::open(&place).unwrap().unwrap();
    (folder, filtered)
}

/// What a writer does, also while a process that another test starts has our lock for a
/// moment.
fn unlocked<T>(mut write: impl FnMut() -> Result<T, AddError>) -> Result<T, AddError> {
    loop {
        match write() {
            Err(AddError::Collection(CollectionError::Locked)) => std::thread::yield_now(),
            other => return other,
        }
    }
}

fn features(filtered: &Filtered) -> Vec<Vec<u64>> {
    let mut all = Vec::new();
    filtered
        .each(|_, features| all.push(features.to_vec()))
        .unwrap();
    all
}

fn clusters(filtered: &Filtered, clustering: usize) -> BTreeSet<Vec<u32>> {
    let made = &filtered.state().clusterings[clustering];
    let mut all = BTreeSet::new();
    filtered
        .each_cluster(made, |_, docs| {
            all.insert(docs.to_vec());
        })
        .unwrap();
    all
}

/// Whether two documents are compared at all, and accepted.
fn accepts(filtered: &Filtered, all: &[Vec<u64>], a: u32, b: u32) -> bool {
    let spec = filtered.spec();
    let host = |doc: u32| filtered.strings(doc).unwrap().1.unwrap()[..14].to_owned();
    spec.accepts(&all[a as usize], &all[b as usize])
        && (!spec.is_within_host() || host(a) == host(b))
}

#[test]
fn clusters_are_those_of_all_accepted_pairs() {
    for spec in SPECS {
        let (_folder, filtered) = made(spec.parse().unwrap(), 40);
        let all = features(&filtered);
        let count = filtered.documents();
        let mut sets = DisjointSets::new(count);
        let mut accepted = 0;
        for a in 0..count {
            for b in 0..a {
                if accepts(&filtered, &all, a, b) {
                    sets.join(a, b);
                    accepted += 1;
                }
            }
        }
        assert!(accepted > 5, "{spec}: too little was tried");
        let mut expected: Vec<Vec<u32>> = vec![Vec::new(); count as usize];
        for doc in 0..count {
            expected[sets.find(doc) as usize].push(doc);
        }
        let expected: BTreeSet<Vec<u32>> =
            expected.into_iter().filter(|docs| docs.len() > 1).collect();
        assert_eq!(clusters(&filtered, 0), expected, "{spec}");
        let summary = &filtered.state().clusterings[0];
        assert_eq!(summary.clusters, expected.len() as u64);
        for docs in &expected {
            let cluster = filtered.cluster_of(summary, docs[1]).unwrap();
            assert_eq!(cluster, Some(docs[0]));
            assert_eq!(&filtered.roster(summary, docs[0]).unwrap(), docs);
        }
        // And what is found for a document is what is accepted with it.
        for doc in (0..count).step_by(17) {
            let found = find_like(&filtered, doc).unwrap();
            let found: BTreeSet<u32> = found.iter().map(|one| one.doc).collect();
            let expected = (0..count).filter(|&other| other != doc);
            let expected = expected.filter(|&other| accepts(&filtered, &all, doc, other));
            assert_eq!(found, expected.collect(), "{spec}");
        }
    }
}

#[test]
fn features_accept_as_often_as_their_formula_says() {
    // Pairs of random sets of exactly known resemblance. Of 10,000 pairs at acceptance p the
    // share has a standard deviation of at most 0.5 %: two percentage points are four.
    let spec: Spec = "6x14/2".parse().unwrap();
    let recipe = Recipe {
        tokens: TokenKind::Feature,
        width: Width::MIN,
        sketch: spec.sketch(),
        ..Recipe::default()
    };
    let mut sketcher = Sketcher::new(&recipe);
    let mut draw = Draw::new(6);
    let mut features = |numbers: &[u64]| {
        let sketch = sketcher.sketch_features(numbers.iter().map(|n| n.to_le_bytes()));
        spec.reduce(sketch.samples().to_vec())
    };
    // Of a union of 100 elements so many are common.
    for common in [50_usize, 80, 90, 95] {
        let (pairs, mut accepted) = (10_000, 0);
        for _ in 0..pairs {
            let union: Vec<u64> = (0..100).map(|_| draw.below(u64::MAX)).collect();
            let own = (100 - common) / 2;
            let a = features(&union[..100 - own]);
            let b = features(&union[100 - common - own..]);
            // |A| + |B| − |A ∪ B| is what they share.
            accepted += u32::from(spec.accepts(&a, &b));
        }
        let rho = {
            let own = (100 - common) / 2;
            let (a, b) = (100 - own, common + own);
            (a + b - 100) as f64 / 100.0
        };
        let (measured, exact) = (
            f64::from(accepted) / f64::from(pairs),
            spec.curve().odds(rho),
        );
        assert!(
            (measured - exact.accept).abs() <= 0.02,
            "{rho}: {measured} {exact:?}"
        );
    }
}

#[test]
fn a_document_takes_up_what_is_promised() {
    let (_folder, filtered) = made("6x14/2".parse().unwrap(), 4000);
    let count = u64::from(filtered.documents());
    let files = filtered.manifest().files();
    assert_eq!(
        files
            .iter()
            .find(|file| file.name == "features-1.lk")
            .unwrap()
            .payload_len,
        48 * count
    );
    // Every file there is, but for the bytes of the names themselves. Two texts of five at
    // the least are in a cluster here.
    let (mut all, mut names) = (0, 0);
    for file in fs::read_dir(filtered.folder()).unwrap() {
        all += file.unwrap().metadata().unwrap().len();
    }
    for doc in 0..filtered.documents() {
        let (id, url) = filtered.strings(doc).unwrap();
        names += (id.unwrap().len() + url.unwrap().len()) as u64;
    }
    let clustered = filtered.state().clusterings[0].clustered_documents;
    assert!(clustered >= count * 2 / 5);
    assert!(all - names <= 64 * count, "{} {count}", all - names);
}

#[test]
fn what_is_known_of_a_document_comes_back() {
    let (folder, filtered) = made("6x14/2".parse().unwrap(), 3);
    let document = filtered.document(7).unwrap();
    assert_eq!(document.id.as_deref(), Some("1-2"));
    assert_eq!(document.url.as_deref(), Some("http://h1.org/1/2"));
    // To the minute.
    assert_eq!(document.date.unwrap().0, 1_714_558_260);
    assert!(document.file.ends_with("input.jsonl"));
    assert_eq!(filtered.find_named("http://h1.org/1/2").unwrap(), [7]);
    assert_eq!(filtered.find_named("http://h1.org/1/3").unwrap(), [0; 0]);
    assert_eq!(filtered.find_named("1-2").unwrap(), [7]);
    for doc in 0..filtered.documents() {
        let (id, url) = filtered.strings(doc).unwrap();
        for name in [id, url] {
            assert_eq!(filtered.find_named(&name.unwrap()).unwrap(), [doc]);
        }
    }
    // The same again is added again, and other filters are not.
    let place = folder.path().join("c");
    let inputs = Inputs::expand(&[folder.path().join("input.jsonl")], &options().reading);
    let again = unlocked(|| add(&place, &inputs, filtered.spec(), &options(), &mut |_| {}));
    let again = again.unwrap();
    assert_eq!(again.added, 15);
    let now = Filtered::open(&place).unwrap().unwrap();
    assert_eq!(now.documents(), 30);
    assert_eq!(now.document(22).unwrap().url, document.url);
    assert_eq!(now.find_named("http://h1.org/1/2").unwrap(), [7, 22]);
    for doc in 0..15 {
        let found = find_like(&now, doc).unwrap();
        assert_eq!(found[0].common, 6);
    }
    let spec: Spec = "8x25/1".parse().unwrap();
    let other = unlocked(|| add(&place, &inputs, spec, &options(), &mut |_| {}));
    assert!(matches!(other, Err(AddError::OtherRecipe(..))), "{other:?}");
    let sketches = crate::add::add(&place, &inputs, &options(), &mut |_| {});
    assert!(sketches.is_err());
    assert!(matches!(
        Collection::open(&place),
        Err(CollectionError::FeaturesOnly)
    ));
    assert!(verify(&**now.storage(), |_| {}).unwrap().faults.is_empty());
}

#[test]
fn a_threshold_decides_on_true_values() {
    let (folder, filtered) = made("8x4/1".parse().unwrap(), 40);
    let place = filtered.folder().to_owned();
    let recipe = filtered.recipe(None).unwrap();
    let made = unlocked(|| cluster(&place, Some(0.9), &recipe, &CLUSTERING)).unwrap();
    assert!(made.verified > 0 && made.by_filter == 0, "{made:?}");
    let now = Filtered::open(&place).unwrap().unwrap();
    assert_eq!(now.state().clusterings.len(), 2);
    let (loose, strict) = (clusters(&now, 0), clusters(&now, 1));
    assert_ne!(loose, strict);
    // A text edited every 25 words is not at 0.9 with its original, one untouched is.
    for docs in &strict {
        assert!(
            loose
                .iter()
                .any(|all| docs.iter().all(|doc| all.contains(doc)))
        );
        assert!(
            docs.iter().all(|doc| doc % 5 != 3) || docs.len() == 1,
            "{docs:?}"
        );
    }
    assert!(
        strict
            .iter()
            .any(|docs| docs.iter().any(|doc| doc % 5 == 4))
    );
    // Without the texts the filter's word counts, and is counted.
    fs::remove_file(folder.path().join("input.jsonl")).unwrap();
    let made = unlocked(|| cluster(&place, Some(0.9), &recipe, &CLUSTERING)).unwrap();
    assert!(made.verified == 0 && made.by_filter > 0, "{made:?}");
    let now = Filtered::open(&place).unwrap().unwrap();
    assert_eq!(clusters(&now, 0), loose);
    assert_eq!(clusters(&now, 1), loose);
}

#[test]
fn acceptance_is_measured_on_the_texts_there_are() {
    let (folder, filtered) = made("8x25/1".parse().unwrap(), 300);
    let recipe = filtered.recipe(None).unwrap();
    let measured = acceptance(&filtered, &recipe, 1500, NonZeroUsize::MIN).unwrap();
    assert_eq!(measured.documents, 1500);
    let pairs: u64 = measured.bins.iter().map(|bin| bin.pairs).sum();
    assert!(pairs > 1500, "{measured:?}");
    for bin in &measured.bins {
        // Pairs of one text are not independent: ten standard deviations of such as are.
        let slack = 10.0 * (bin.pairs as f64 / 4.0).sqrt() + 1.0;
        assert!(
            (bin.accepted as f64 - bin.expected).abs() <= slack,
            "{bin:?}"
        );
    }
    let equal = measured.bins.last().unwrap();
    assert_eq!((equal.pairs, equal.accepted), (300, 300));
    fs::remove_file(folder.path().join("input.jsonl")).unwrap();
    let measured = acceptance(&filtered, &recipe, 1500, NonZeroUsize::MIN).unwrap();
    assert_eq!(measured.documents, 0);
}

#[test]
fn a_document_from_outside_is_found() {
    let (_folder, filtered) = made("6x14/2".parse().unwrap(), 5);
    let recipe = filtered.recipe(None).unwrap();
    let mut sketcher = Sketcher::new(&recipe);
    let text = words(3, 270).join(" ").to_uppercase();
    let found = find(&filtered, &Document::of_text(text), None, &mut sketcher).unwrap();
    assert!(found.iter().all(|one| one.doc / 5 == 3), "{found:?}");
    assert_eq!((found[0].doc, found[0].common, found[0].of), (15, 6, 6));
    let text = words(99, 270).join(" ");
    assert_eq!(
        find(&filtered, &Document::of_text(text), None, &mut sketcher).unwrap(),
        []
    );
}

#[test]
fn a_failure_or_a_crash_leaves_the_old_state_or_the_new() {
    let folder = tempfile::tempdir().unwrap();
    let inputs = Inputs::expand(&[input(folder.path(), 6)], &options().reading);
    let spec: Spec = "6x14/2".parse().unwrap();
    let one = AddOptions {
        threads: NonZeroUsize::MIN,
        ..options()
    };
    let put = |disk: &SimFs| {
        let storage: Arc<dyn crate::storage::Storage> = Arc::new(disk.clone());
        add_in(
            Path::new("/sim"),
            &storage,
            &inputs,
            spec,
            &one,
            &mut |_| {},
        )
    };
    let start = SimFs::new();
    put(&start).unwrap();
    let start = start.copy();
    let whole = start.copy();
    put(&whole).unwrap();
    let documents = |disk: &SimFs| {
        let found = Filtered::open_in(Path::new("/sim"), Arc::new(disk.clone()));
        found.unwrap().unwrap().documents()
    };
    let operations = whole.operations();
    let ways: Vec<Crash> = Crash::all(1).collect();
    for k in (0..=operations).step_by(3) {
        let disk = start.copy();
        disk.fail_at(k, Failure::Enospc, Times::Once);
        let done = put(&disk).is_ok();
        disk.heal();
        let crashed = start.copy();
        crashed.crash_at(k);
        let crashed_done = put(&crashed).is_ok();
        let crash = &ways[usize::try_from(k).unwrap() % ways.len()];
        for (disk, done) in [(disk, done), (crashed.after_crash(crash), crashed_done)] {
            let count = documents(&disk);
            assert!(count == 60 || count == 30 && !done, "{k}: {count}");
            assert!(verify(&disk, |_| {}).unwrap().faults.is_empty());
        }
    }
}
