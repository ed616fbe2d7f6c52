use std::fs;

use proptest::prelude::*;

use super::*;
use crate::add::{AddOptions, add};
use crate::clusters::policy::Link;
use crate::corpus::inputs::Inputs;
use crate::pairs::Pair;

fn by_text(texts: &[String], policy: Policy, show: Show) -> Collapsed {
    let mut sketcher = Sketcher::new(&recipe());
    let ground = Ground {
        clustered: None,
        finder: None,
        sketcher: Some(&mut sketcher),
        policy,
    };
    let result = |(rank, text): (u32, &String)| Ranked {
        rank,
        text: Some(text.clone()),
        ..Ranked::default()
    };
    let results: Vec<Ranked> = (1..).zip(texts).map(result).collect();
    collapse(&results, ground, show).expect("nothing is read")
}

fn recipe() -> Recipe {
    Recipe {
        width: lookalike_core::shingle::Width::new(2).expect("not zero"),
        ..Recipe::default()
    }
}

fn words(words: impl IntoIterator<Item = u32>) -> String {
    let words = words.into_iter().map(|word| format!("w{word}"));
    words.collect::<Vec<_>>().join(" ")
}

/// The groups by definition: every pair compared.
fn by_every_pair(texts: &[String], policy: &Policy) -> Vec<Vec<usize>> {
    let mut sketcher = Sketcher::new(&recipe());
    let set = |text: &String| {
        let mut all = Vec::new();
        Document::of_text(text.as_str()).fingerprints(&mut sketcher, &mut all);
        all.sort_unstable();
        all.dedup();
        all
    };
    let sets: Vec<Vec<u64>> = texts.iter().map(set).collect();
    let linked = |a: usize, b: usize| {
        let pair = Pair::of_sets(0, 1, &sets[a], &sets[b]);
        policy.links(&pair, recipe().sketch)
    };
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for i in 0..texts.len() {
        let joins = |group: &Vec<usize>| match policy.link {
            Link::Chain => group.iter().any(|&other| linked(i, other)),
            Link::Star => linked(i, group[0]),
        };
        let mut joined = groups.iter().positions(joins);
        if policy.link == Link::Star {
            joined.truncate(1);
        }
        let mut own = Vec::new();
        for &place in joined.iter().rev() {
            own.extend(groups.remove(place));
        }
        own.sort_unstable();
        own.push(i);
        groups.push(own);
        groups.sort();
    }
    groups
}

trait Positions: Iterator + Sized {
    fn positions(self, is: impl Fn(Self::Item) -> bool) -> Vec<usize> {
        let places = self.enumerate().filter_map(|(i, one)| is(one).then_some(i));
        places.collect()
    }
}

impl<I: Iterator> Positions for I {}

proptest! {
    #[test]
    fn texts_are_grouped_as_comparing_every_two_groups_them(
        texts in prop::collection::vec(prop::collection::vec(0_u32..6, 1..12), 0..14),
        resemblance in 0.1_f64..1.0,
        containment in prop::option::of(0.1_f64..1.0),
        is_star in any::<bool>(),
    ) {
        let texts: Vec<String> = texts.into_iter().map(words).collect();
        let policy = Policy {
            resemblance: Some(resemblance),
            containment,
            link: if is_star { Link::Star } else { Link::Chain },
            ..Policy::default()
        };
        let found = by_text(&texts, policy, Show::BestRanked);
        let found: Vec<Vec<usize>> = found.groups.into_iter().map(|group| group.results).collect();
        prop_assert_eq!(found, by_every_pair(&texts, &policy));
    }
}

#[test]
fn the_longest_text_shows_and_the_place_stays() {
    let texts = [words(0..20), words(50..60), words(0..24), words([])];
    let found = by_text(&texts, Policy::default(), Show::Longest);
    assert_eq!(found.groups.len(), 3);
    assert_eq!(found.groups[0].results, [0, 2]);
    assert_eq!(found.groups[0].shown, 2);
    assert_eq!((found.wordless, found.unknown), (1, 4));
}

/// Two clusters of pages, the first with a page that was captured twice, and one alone.
fn collection() -> (tempfile::TempDir, Finder) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let page = |url: &str, date: &str, text: String| {
        let line = serde_json::json!({ "url": url, "date": date, "text": text });
        format!("{line}\n")
    };
    let lines = [
        page("http://a/1", "2020-01-01", words(0..100)),
        page("http://a/2", "2021-01-01", words(0..104)),
        page("http://a/3", "2022-01-01", words(0..96)),
        page("http://b/1", "2020-01-01", words(200..300)),
        page("http://b/2", "2020-01-01", words(200..301)),
        page("http://c/1", "2020-01-01", words(400..500)),
        page("http://a/1", "2019-01-01", words(600..700)),
    ];
    let file = folder.path().join("pages.jsonl");
    fs::write(&file, lines.concat()).expect("a file");
    let options = AddOptions {
        memory: 64 << 20,
        ..AddOptions::default()
    };
    let inputs = Inputs::expand(&[&file], &options.reading);
    let place = folder.path().join("c.lk");
    add(&place, &inputs, &options, &mut |_| {}).expect("documents");
    let finder = Finder::open(&place, None).expect("a collection");
    (folder, finder)
}

fn list(finder: &Finder, results: &[(&str, Option<String>)], show: Show) -> Collapsed {
    let mut sketcher = finder.sketcher();
    let ground = Ground {
        clustered: finder.clustering().map(|all| (finder.collection(), all)),
        finder: Some(finder),
        sketcher: Some(&mut sketcher),
        policy: Policy::default(),
    };
    let result = |(rank, (url, text)): (u32, &(&str, Option<String>))| Ranked {
        rank,
        url: (!url.is_empty()).then(|| (*url).to_owned()),
        text: text.clone(),
        date: None,
    };
    let results: Vec<Ranked> = (1..).zip(results).map(result).collect();
    collapse(&results, ground, show).expect("an answer")
}

fn places(collapsed: &Collapsed) -> Vec<Vec<usize>> {
    let groups = collapsed.groups.iter();
    groups.map(|group| group.results.clone()).collect()
}

#[test]
fn addresses_are_grouped_by_cluster_and_none_is_lost() {
    let (_folder, finder) = collection();
    let urls = [
        "http://b/2",
        "http://x/unknown",
        "http://a/1",
        "http://b/1",
        "http://x/unknown",
        "http://a/3",
        "http://c/1",
        "http://a/1",
        "http://a/2",
    ];
    let results = urls.map(|url| (url, None));
    let found = list(&finder, &results, Show::BestRanked);
    let expected: Vec<Vec<usize>> = vec![vec![0, 3], vec![1, 4], vec![2, 5, 7, 8], vec![6]];
    assert_eq!(places(&found), expected);
    let clusters: Vec<_> = found.groups.iter().map(|group| group.cluster).collect();
    assert_eq!(clusters, [Some(3), None, Some(0), Some(5)]);
    assert_eq!(found.unknown, 2);
    let shown = |show| list(&finder, &results, show).groups[2].shown;
    assert_eq!(shown(Show::BestRanked), 2);
    assert_eq!(shown(Show::Newest), 5);
    assert_eq!(shown(Show::Longest), 8);
    assert_eq!(shown(Show::Representative), 8);
    assert_eq!(list(&finder, &[], Show::Newest), Collapsed::default());
}

#[test]
fn a_text_is_put_beside_the_documents_it_is_alike_to() {
    let (_folder, finder) = collection();
    let results = [
        ("http://x/1", Some(words(2..100))),
        ("http://c/1", None),
        ("http://x/2", Some(words(900..990))),
        ("", Some(words(900..991))),
        ("http://a/2", None),
    ];
    let found = list(&finder, &results, Show::Representative);
    let expected: Vec<Vec<usize>> = vec![vec![0, 4], vec![1], vec![2, 3]];
    assert_eq!(places(&found), expected);
    assert_eq!(found.groups[0].cluster, Some(0));
    assert_eq!(found.groups[0].shown, 4);
    assert_eq!(found.groups[2].cluster, None);
    assert_eq!(found.groups[2].shown, 3);
    assert_eq!((found.unknown, found.by_text), (3, 1));
}

#[test]
fn no_text_joins_two_clusters() {
    let (_folder, finder) = collection();
    // Half of it is of one cluster, half of the other: linked with texts of both.
    let bridge = format!("{} {}", words(0..100), words(200..300));
    let results = [
        ("http://a/1", Some(words(0..100))),
        ("http://b/1", Some(words(200..300))),
        ("http://x/bridge", Some(bridge)),
    ];
    let mut sketcher = finder.sketcher();
    let ground = Ground {
        clustered: finder.clustering().map(|all| (finder.collection(), all)),
        finder: None,
        sketcher: Some(&mut sketcher),
        policy: Policy {
            resemblance: Some(0.3),
            ..Policy::default()
        },
    };
    let result = |(rank, (url, text)): (u32, &(&str, Option<String>))| Ranked {
        rank,
        url: Some((*url).to_owned()),
        text: text.clone(),
        date: None,
    };
    let results: Vec<Ranked> = (1..).zip(&results).map(result).collect();
    let found = collapse(&results, ground, Show::BestRanked).expect("an answer");
    let expected: Vec<Vec<usize>> = vec![vec![0, 2], vec![1]];
    assert_eq!(places(&found), expected);
}
