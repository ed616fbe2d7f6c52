//! Inputs that make work in proportion to the square of their number, or clusters of what
//! is not alike, unless somebody thought of them. Here in small, by counts and not by the
//! clock; `make surprise` is the same in large, with times.

use lookalike::pairs::Measure;
use lookalike_testkit::texts::{line, words};

use super::{Made, add_files, options};

fn lines(count: u64, text: impl Fn(u64) -> Vec<String>) -> String {
    let line = |i: u64| line(&i.to_string(), &text(i).join(" "));
    (0..count).map(line).collect()
}

#[test]
fn identical_documents_are_one_cluster_of_few_pairs() {
    for count in [500, 1_000] {
        let made = Made::of(&lines(count, |_| words(1, 200)), &options());
        let counts = &made.report.counts;
        assert_eq!((counts.distinct, counts.identical), (1, count - 1));
        assert_eq!((counts.pairs, counts.memberships), (0, 0));
        assert_eq!(made.clusters()[0].0, u32::try_from(count).unwrap());
    }
}

#[test]
fn a_shared_header_joins_nothing() {
    let header = words(0, 60);
    let text = |i: u64| [&header[..], &words(i + 1, 340)].concat();
    // From some fifteen hundred on the header's fingerprints are too common for every two
    // documents to meet.
    for count in [1_000, 4_000] {
        let made = Made::of(&lines(count, text), &options());
        let counts = &made.report.counts;
        assert_eq!(counts.distinct, count);
        assert_eq!(made.clusters(), []);
        assert_eq!(counts.pairs, 0);
        assert!(counts.memberships <= 70 * count, "{}", counts.memberships);
        assert_eq!(counts.common > 0, count > 1_500, "{}", counts.common);
    }
}

#[test]
fn common_fingerprints_hide_no_likeness() {
    // As above, and a hundred of them once more, edited.
    let header = words(0, 60);
    let text = |i: u64| {
        let mut own = words(i % 4_000 + 1, 340);
        if i >= 4_000 {
            own[170] = "edited".to_owned();
        }
        [&header[..], &own].concat()
    };
    let made = Made::of(&lines(4_100, text), &options());
    assert!(made.report.counts.common > 0);
    let clusters = made.clusters();
    assert_eq!(clusters.len(), 100);
    assert!(clusters.iter().all(|(size, _)| *size == 2));
}

#[test]
fn one_shingle_in_every_document_joins_nothing() {
    let shared = words(0, 10);
    let text = |i: u64| [&words(i + 1, 40)[..], &shared, &words(i + 90_000, 40)].concat();
    for count in [500, 1_000] {
        let made = Made::of(&lines(count, text), &options());
        assert_eq!(made.report.counts.distinct, count);
        assert_eq!(made.clusters(), []);
        assert!(made.report.counts.memberships <= 2 * count);
    }
}

#[test]
fn a_chain_is_marked_and_its_ends_are_not_alike() {
    let count: u32 = 200;
    let all = words(0, 6 * 200 + 120);
    let text = |i: u64| all[6 * usize::try_from(i).unwrap()..][..120].to_vec();
    let made = Made::of(&lines(count.into(), text), &options());
    let clusters = made.clusters();
    assert_eq!(clusters.len(), 1);
    assert_eq!(clusters[0].0, count);
    assert!(clusters[0].1.contains(&"chain"), "{clusters:?}");
    let collection = made.collection();
    let kind = collection.sketch_kind();
    let mut seen = 0;
    let each = collection.each_pair(|pair| {
        seen += 1;
        assert!(pair.a - pair.b < 20, "{pair:?}");
        let resemblance = pair.estimate(Measure::Resemblance, kind).unwrap().value;
        assert!(pair.a - pair.b > 1 || resemblance > 0.8, "{pair:?}");
        Ok(())
    });
    each.unwrap();
    assert!(seen >= count - 1 && seen < 20 * count, "{seen}");
    let clustering = collection.clustering(&collection.state().clusterings[0]);
    let quality = clustering.unwrap().quality(0).unwrap().unwrap();
    assert!(quality.lowest < 0.01, "{}", quality.lowest);
}

#[test]
fn short_documents_stay_apart() {
    for count in [1_000, 4_000] {
        let made = Made::of(&lines(count, |i| words(i, 12)), &options());
        assert_eq!(made.report.counts.distinct, count);
        assert_eq!(made.clusters(), []);
        assert!(made.report.counts.postings <= 3 * count);
    }
}

#[test]
fn a_long_document_needs_its_limit_raised() {
    let long = |i| words(i, 400_000);
    let lines = lines(2, long);
    let mut options = options();
    options.reading.limits.document = 1 << 20;
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("input.jsonl");
    std::fs::write(&input, &lines).unwrap();
    let collection = folder.path().join("collection");
    assert!(add_files(&collection, &[input], &options).is_err());
    assert!(!collection.exists());
    options.reading.limits.document = 16 << 20;
    let made = Made::of(&lines, &options);
    assert_eq!(made.report.counts.distinct, 2);
    assert_eq!(made.clusters(), []);
}
