use std::collections::{BTreeMap, BTreeSet};

use lookalike_testkit::crumbs::crumb_site;
use proptest::prelude::*;
use regex::Regex;

use super::*;

/// The site of the testkit; texts with the same words have one number, those that differ by
/// a few words are of one cluster.
fn pages_of_the_site() -> (Pages, Vec<(String, String)>) {
    let site = crumb_site();
    let mut pages = Pages::default();
    let mut numbers: BTreeMap<&str, u32> = BTreeMap::new();
    let mut clusters: BTreeMap<&str, u32> = BTreeMap::new();
    for (url, sweep, text) in &site.captures {
        let next = u32::try_from(numbers.len()).expect("few");
        let content = *numbers.entry(text).or_insert(next);
        let start = &text[..text.len().min(300)];
        let cluster = *clusters.entry(start).or_insert(content);
        pages.add(Some(url), *sweep, content, cluster);
    }
    let urls = site.captures.iter().map(|one| one.0.clone());
    (pages, urls.zip(site.names).collect())
}

#[test]
fn all_that_was_planted_is_found_and_nothing_else() {
    let (pages, names) = pages_of_the_site();
    let crumbs = Crumbs::learn(&pages, &CrumbOptions::default());
    let found: BTreeSet<String> = crumbs
        .rules
        .iter()
        .map(|one| one.rule.to_string())
        .collect();
    let planted: BTreeSet<String> = crumb_site()
        .planted
        .into_iter()
        .map(str::to_owned)
        .collect();
    assert_eq!(found, planted);
    // What the rules make one is one page.
    let mut by_form: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for (url, name) in &names {
        by_form.entry(crumbs.apply(url)).or_default().insert(name);
    }
    assert!(
        by_form.values().all(|names| names.len() == 1),
        "{by_form:?}"
    );
    let savings = crumbs.savings(&pages);
    assert_eq!(savings.fetched, pages.seen.len() as u64);
    assert!(2 * savings.enough < savings.fetched, "{savings:?}");
    for one in &crumbs.rules {
        assert!(one.evidence.precision() >= 1.0, "{one:?}");
        for (a, b) in &one.evidence.examples {
            assert_eq!(crumbs.apply(a), crumbs.apply(b), "{one:?}");
        }
    }
}

/// Pages at addresses, all in one sweep.
fn one_sweep(pages: &[(&str, u32)]) -> Pages {
    let mut all = Pages::default();
    for (url, content) in pages {
        all.add(Some(url), 0, *content, *content);
    }
    all
}

fn learn(pages: &[(&str, u32)], min_support: usize) -> Vec<String> {
    let options = CrumbOptions {
        min_support,
        ..CrumbOptions::default()
    };
    let crumbs = Crumbs::learn(&one_sweep(pages), &options);
    let rules = crumbs.rules.iter();
    rules.map(|one| one.rule.to_string()).collect()
}

#[test]
fn two_rules_that_are_wrong_together_are_not_both_kept() {
    // Either parameter alone can go; without both, two pages would be one.
    let pages = [
        ("http://a/1?p=1&z", 1),
        ("http://a/1?p=2&z", 1),
        ("http://a/1?q=1&z", 2),
        ("http://a/1?q=2&z", 2),
        ("http://a/2?p=1&z", 3),
        ("http://a/2?p=2&z", 3),
        ("http://a/3?q=1&z", 4),
        ("http://a/3?q=2&z", 4),
    ];
    let options = CrumbOptions {
        min_support: 1,
        ..CrumbOptions::default()
    };
    let pages = one_sweep(&pages);
    let crumbs = Crumbs::learn(&pages, &options);
    assert_eq!(crumbs.savings(&pages).different, 0, "{crumbs:?}");
    assert!(!crumbs.rules.is_empty());
}

#[test]
fn parameters_that_never_come_alone_are_found_together() {
    let mut pages = Vec::new();
    for i in 0..6 {
        for section in ["news", "shop"] {
            let content = 2 * i + u32::from(section == "shop");
            let page = format!("http://a/{section}/page?id={i}");
            pages.push((page.clone(), content));
            pages.push((format!("{page}&utm_source=mail&utm_medium=x{i}"), content));
            pages.push((format!("{page}&utm_source=feed&utm_campaign=y"), content));
            // Two that come together too, and one of them matters.
            let shown = |view: u32| format!("http://a/{section}/{i}?view={view}&unit={view}");
            pages.push((shown(1), 100 + 2 * content));
            pages.push((shown(2), 101 + 2 * content));
        }
    }
    let pages: Vec<(&str, u32)> = pages.iter().map(|(url, page)| (&**url, *page)).collect();
    assert_eq!(
        learn(&pages, 5),
        ["utm_campaign", "utm_medium", "utm_source"]
            .map(|name| format!("http://a/…: ?{name}= does not matter"))
    );
}

#[test]
fn parameters_that_are_on_every_address_are_found_beside_the_one_that_matters() {
    // No value comes twice: nothing says that `id` matters but the pages themselves.
    let mut pages = Vec::new();
    for i in 0..6 {
        for turn in 0..2 {
            let page = format!("http://a/view?id={i}&sid=s{i}{turn}&tick=t{i}{turn}");
            pages.push((page, i));
        }
    }
    let pages: Vec<(&str, u32)> = pages.iter().map(|(url, page)| (&**url, *page)).collect();
    assert_eq!(
        learn(&pages, 5),
        ["sid", "tick"].map(|name| format!("http://a/view: ?{name}= does not matter"))
    );
}

#[test]
fn what_is_known_of_one_folder_is_not_said_of_those_around_it() {
    let page =
        |version: &str, name: &str, content: u32| (format!("http://a/{version}/{name}"), content);
    let mut pages = Vec::new();
    for version in ["v1", "v2"] {
        pages.extend((0..9).map(|i| page(version, &format!("library/{i}"), i)));
    }
    let rules = |pages: &[(String, u32)]| {
        let pages: Vec<(&str, u32)> = pages.iter().map(|(url, i)| (url.as_str(), *i)).collect();
        learn(&pages, 3)
    };
    assert_eq!(rules(&pages), Vec::<String>::new());
    for version in ["v1", "v2"] {
        pages.push(page(version, "index", 20));
    }
    assert_eq!(rules(&pages), ["http://a/v2/ has the pages of /v1/"]);
}

#[test]
fn sessions_are_many_and_versions_few() {
    // All pages in one folder: of sessions, each with a page or two, that is enough.
    let rules = |id: &dyn Fn(u32, u32) -> u32| {
        let mut pages = Vec::new();
        for page in 0..8 {
            for turn in 0..2 {
                let id = 0xa00_0001 + 7919 * id(page, turn);
                pages.push((format!("http://a/{id:07x}/shop/{page}"), page));
            }
        }
        let pages: Vec<(&str, u32)> = pages.iter().map(|(url, i)| (url.as_str(), *i)).collect();
        learn(&pages, 5)
    };
    let sessions = rules(&|page, turn| 2 * page + turn);
    assert_eq!(sessions, ["http://a/[0-9a-f]{7}/: the id does not matter"]);
    assert_eq!(rules(&|_, turn| turn), [""; 0]);
}

#[test]
fn two_hosts_may_share_one_directory() {
    let mut pages = Vec::new();
    for i in 0..8 {
        pages.push((format!("http://a/docs/en/{i}.html"), i));
        pages.push((format!("http://b/docs/en/{i}.html"), i));
        pages.push((format!("http://a/news/{i}.html"), 100 + i));
        pages.push((format!("http://b/news/{i}.html"), 200 + i));
    }
    let pages: Vec<(&str, u32)> = pages.iter().map(|(url, i)| (url.as_str(), *i)).collect();
    let rules = learn(&pages, 5);
    assert_eq!(
        rules,
        ["http://b/docs/en/ has the pages of http://a/docs/en/"]
    );
    // Not who has taken some pages over, and has others of his own there.
    let hosts = (0..60_u32).map(|i| (["a", "b"][i as usize % 2], i));
    let own = hosts.map(|(host, i)| (format!("http://{host}/docs/en/{host}{i}"), 300 + i));
    let own: Vec<(String, u32)> = own.collect();
    let own = own.iter().map(|(url, content)| (url.as_str(), *content));
    let pages: Vec<(&str, u32)> = pages.into_iter().chain(own).collect();
    assert_eq!(learn(&pages, 5), [""; 0]);
}

#[test]
fn a_library_that_is_shipped_twice_says_nothing_of_the_places() {
    let mut pages = Vec::new();
    for i in 0..9 {
        for place in ["reference", "guide/tool"] {
            let url = format!("http://a/{place}/v{}/node_modules/m{i}", i % 3);
            pages.push((url, i));
        }
    }
    let pages: Vec<(&str, u32)> = pages.iter().map(|(url, i)| (url.as_str(), *i)).collect();
    assert_eq!(learn(&pages, 5), [""; 0]);
}

#[test]
fn a_site_without_pairs_has_no_rules() {
    let pages: Vec<(String, u32)> = (0..50)
        .map(|i| (format!("http://a/p{i}?s={i}"), i))
        .collect();
    let pages: Vec<(&str, u32)> = pages.iter().map(|(url, i)| (url.as_str(), *i)).collect();
    assert_eq!(learn(&pages, 1), Vec::<String>::new());
    assert_eq!(learn(&[], 1), Vec::<String>::new());
    assert_eq!(
        learn(&[("no address", 1), ("http://", 1), ("://x", 2)], 1),
        Vec::<String>::new()
    );
}

#[test]
fn plain_addresses() {
    let cases = [
        ("HTTP://A.Example", Some("http://a.example/")),
        ("http://a.example?x#y", Some("http://a.example/?x")),
        ("http://a/B/c#d?e", Some("http://a/B/c")),
        ("doc-17", None),
        ("http://", None),
    ];
    for (url, expected) in cases {
        assert_eq!(plain(url).as_deref(), expected, "{url}");
    }
}

/// What a crawler does with the regular expressions.
fn by_regex(rule: &Rule, url: &str) -> String {
    let mut url = url.to_owned();
    for Substitution {
        pattern,
        replacement,
    } in rule.substitutions()
    {
        let regex = Regex::new(&pattern).expect("a regular expression");
        if replacement.contains(r"\L") {
            url = regex
                .replace(&url, |found: &regex::Captures<'_>| {
                    format!(
                        "{}{}{}",
                        &found[1],
                        found[2].to_ascii_lowercase(),
                        &found[3]
                    )
                })
                .into_owned();
            continue;
        }
        let replacement = replacement
            .replace('$', "$$")
            .replace(r"\1", "${1}")
            .replace(r"\2", "${2}")
            .replace(r"\3", "${3}")
            .replace(r"\4", "${4}")
            .replace(r"\\", r"\");
        loop {
            let changed = regex.replace(&url, replacement.as_str()).into_owned();
            if changed == url {
                break;
            }
            url = changed;
        }
    }
    url
}

#[test]
fn forks_of_two_addresses() {
    let cases = [
        (
            "http://a/x/y",
            "http://b/p/x/y",
            Some((("http://a", ""), ("http://b", "/p"))),
        ),
        (
            "http://a/~u/",
            "http://a/users/u/",
            Some((("http://a", "/~u"), ("http://a", "/users/u"))),
        ),
        ("http://a/xy?q", "http://a/d/y?q", None),
        ("http://a/x?q", "http://b/x?r", None),
        (
            "http://a/d/éx",
            "http://b/éx",
            Some((("http://a", "/d"), ("http://b", ""))),
        ),
        ("http://a/d/éx", "http://b/ëx", None),
    ];
    for (one, other, expected) in cases {
        let fork = Rule::fork(one, other);
        let got = fork.map(|[x, y]| ((x.origin, x.path), (y.origin, y.path)));
        assert_eq!(got, expected, "{one} {other}");
    }
}

#[test]
fn ids_have_a_shape() {
    let shape = |url: &str| {
        let mut shapes = Vec::new();
        Rule::each_drop(url, |rule, _| {
            if let Rule::Id { shape, .. } = rule {
                shapes.push(format!(
                    "{}|{:?} {}|{}",
                    shape.head, shape.letters, shape.len, shape.tail
                ));
            }
        });
        shapes.pop()
    };
    let cases = [
        ("ab12cd34", Some("|Hex 8|")),
        ("(S(x9zkab12cd34))", Some("(S(|Any 12|))")),
        ("sid-ab12cd34", Some("sid-|Hex 8|")),
        ("session=1234567890", Some("session=|Digits 10|")),
        ("550e8400-e29b-41d4-a716-446655440000", Some("|Uuid 36|")),
        ("482913", Some("|Digits 6|")),
        ("k3x9q2", Some("|Any 6|")),
        ("20181012", None),
        ("201810", None),
        ("part-2", None),
        ("chapter7", None),
        ("release-notes", None),
        ("v1.25", None),
        ("2018-10-12", None),
        ("(b)", None),
        ("", None),
    ];
    for (segment, expected) in cases {
        let got = shape(&format!("http://a/{segment}/x"));
        assert_eq!(got.as_deref(), expected, "{segment}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Rules that other addresses suggest, on addresses of a few letters that meet all cases.
    #[test]
    fn regular_expressions_do_what_rules_do(
        from in "http://[ab]\\.c(/(a|B|index\\.html|abcdef12|x\\+y|\\(S\\(ab12cd34\\)\\)|;s=1){1,2}){0,4}/?(\\?(a|b|a=1|b=2|ab=&|&){1,4})?",
        url in "http://[ab]\\.c(/(a|B|index\\.html|abcdef12|x\\+y|\\(S\\(ab12cd34\\)\\)|;s=1){1,2}){0,4}/?(\\?(a|b|a=1|b=2|ab=&|&){1,4})?",
    ) {
        let (from, url) = (plain(&from).expect("plain"), plain(&url).expect("plain"));
        let mut rules = vec![Rule::Origin { from: "http://a.c".to_owned(), to: "https://d".to_owned() }];
        Rule::each_prefix(&from, |prefix, _| rules.push(Rule::Tree {
            origin: prefix.origin.to_owned(),
            path: prefix.path.to_owned(),
            to_origin: "https://d".to_owned(),
            to_path: "/$1".to_owned(),
        }));
        Rule::each_drop(&from, |rule, _| rules.push(rule));
        Rule::each_name(&from, |place, name, _| if let rule::Place::Behind(origin, prefix) = place {
            rules.push(Rule::Directory {
                origin: origin.to_owned(),
                prefix: prefix.to_owned(),
                from: name.to_owned(),
                to: "$1".to_owned(),
            });
        });
        for rule in rules {
            for url in [&from, &url] {
                let mut expected = url.clone();
                while let Some(changed) = rule.apply(&expected) {
                    expected = changed;
                }
                prop_assert_eq!(by_regex(&rule, url), expected, "{:?} {}", rule, url);
            }
        }
    }
}
