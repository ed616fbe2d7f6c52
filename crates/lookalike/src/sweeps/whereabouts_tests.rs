//! What is told of pages that vanished, in small sweeps.

use super::story::{Story, page};
use super::{How, Prefer, Status, Trail, Whereabouts};
use crate::find::Finder;

const FIRST: &str = "2020-01-01";
const SECOND: &str = "2021-01-01";
const THIRD: &str = "2022-01-01";

/// Words that nobody else has.
fn text(seed: u32, words: u32) -> String {
    let word = |i: u32| {
        let mut x = u64::from(seed) * 1_000_003 + u64::from(i);
        x = (x ^ (x >> 7)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        format!("w{:x}", x >> 40)
    };
    (0..words).map(word).collect::<Vec<_>>().join(" ")
}

/// Where a page is, in a collection of some pages, each with its date.
fn tell(url: &str, pages: &[(&str, &str, String)]) -> Whereabouts {
    let pages: Vec<_> = pages
        .iter()
        .map(|(url, date, text)| page(url, date, text))
        .collect();
    let mut story = Story::default();
    story.add(None, &pages);
    ask(&story, url)
}

fn ask(story: &Story, url: &str) -> Whereabouts {
    let finder = Finder::open(&story.path(), None).expect("a collection");
    let trail = Trail::of(finder.collection()).expect("a trail");
    trail.whereabouts(&finder, url).expect("an answer")
}

fn best(place: &Whereabouts) -> &str {
    place.now.first().map_or("", |now| now.url.as_str())
}

/// Other pages of the host, in every sweep.
fn others(dates: &[&'static str]) -> Vec<(&'static str, &'static str, String)> {
    let page = |date| ("http://a.example/other", date, text(99, 100));
    dates.iter().map(|date| page(*date)).collect()
}

#[test]
fn a_page_is_where_it_was_or_moved_or_is_gone_or_unknown() {
    let mut pages = others(&[FIRST, SECOND]);
    pages.push(("http://a.example/stays", FIRST, text(1, 100)));
    pages.push(("http://a.example/stays", SECOND, text(1, 101)));
    pages.push(("http://a.example/old", FIRST, text(2, 100)));
    pages.push(("http://a.example/new", SECOND, text(2, 105)));
    pages.push(("http://a.example/lost", FIRST, text(3, 100)));
    let stays = tell("http://a.example/stays", &pages);
    assert_eq!(
        (stays.status, best(&stays)),
        (Status::Present, "http://a.example/stays")
    );
    let moved = tell("http://a.example/old", &pages);
    assert_eq!(
        (moved.status, best(&moved)),
        (Status::Moved, "http://a.example/new")
    );
    assert!(moved.confidence > Some(0.9), "{moved:?}");
    assert!(moved.now[0].is_present && moved.now[0].is_same_host && !moved.is_tie);
    let lost = tell("http://a.example/lost", &pages);
    assert_eq!((lost.status, lost.now.len()), (Status::Gone, 0));
    assert_eq!(
        tell("http://a.example/never", &pages).status,
        Status::Unknown
    );
}

#[test]
fn what_nobody_looked_for_is_not_gone() {
    let mut pages = others(&[FIRST, SECOND]);
    pages.push(("http://b.example/page", FIRST, text(1, 100)));
    let place = tell("http://b.example/page", &pages);
    assert_eq!(place.status, Status::Unknown);
    assert!(place.is_unvisited && place.last_seen.is_some());
    // Found on another host, it is known after all.
    pages.push(("http://a.example/taken-over", SECOND, text(1, 100)));
    let place = tell("http://b.example/page", &pages);
    assert_eq!(
        (place.status, best(&place)),
        (Status::Moved, "http://a.example/taken-over")
    );
    assert!(!place.now[0].is_same_host);
}

#[test]
fn folded_split_and_template_are_told_apart() {
    let mut pages = others(&[FIRST, SECOND]);
    pages.push(("http://a.example/part", FIRST, text(1, 100)));
    pages.push(("http://a.example/rest", FIRST, text(2, 400)));
    let whole = format!("{} {}", text(2, 400), text(1, 100));
    pages.push(("http://a.example/rest", SECOND, whole));
    let place = tell("http://a.example/part", &pages);
    assert_eq!(
        (place.status, best(&place)),
        (Status::Moved, "http://a.example/rest")
    );
    assert_eq!(place.now[0].how, How::Folded);

    let mut pages = others(&[FIRST, SECOND]);
    let (one, two, three) = (text(1, 100), text(2, 100), text(3, 100));
    pages.push((
        "http://a.example/long",
        FIRST,
        format!("{one} {two} {three}"),
    ));
    pages.push(("http://a.example/one", SECOND, one));
    pages.push(("http://a.example/two", SECOND, two));
    pages.push(("http://a.example/three", SECOND, three));
    let place = tell("http://a.example/long", &pages);
    assert_eq!(place.now.len(), 3);
    assert!(
        place.now.iter().all(|now| now.how == How::Split),
        "{place:?}"
    );
}

#[test]
fn a_template_that_survives_is_not_the_page() {
    let names: Vec<String> = (0..60).map(|n| format!("http://a.example/{n}")).collect();
    let page = |number: u32| format!("{} {}", text(50, 60), text(100 + number, 40));
    let mut pages = others(&[FIRST, SECOND]);
    for (number, name) in (0..).zip(&names) {
        pages.push((name, FIRST, page(number)));
        if number > 0 {
            pages.push((name, SECOND, page(number)));
        }
    }
    let place = tell(&names[0], &pages);
    assert_eq!(place.status, Status::Gone);
    assert!(
        place.now.iter().all(|now| now.how == How::Template),
        "{place:?}"
    );
}

/// A family of pages that differ in few words.
fn member(number: u32) -> String {
    format!(
        "{} item {} {}",
        text(50, 60),
        text(100 + number, 6),
        text(51, 60)
    )
}

#[test]
fn a_sibling_is_not_the_page() {
    // Each of the family moves, but one: it is gone, though all are like it.
    let names: Vec<(String, String)> = (0..20)
        .map(|number| {
            let name = |folder| format!("http://a.example/{folder}/{number}");
            (name("old"), name("new"))
        })
        .collect();
    let mut pages = others(&[FIRST, SECOND]);
    for (number, (old, new)) in (0..).zip(&names) {
        pages.push((old, FIRST, member(number)));
        if number != 7 {
            pages.push((new, SECOND, member(number)));
        }
    }
    for (number, (old, new)) in names.iter().enumerate() {
        let place = tell(old, &pages);
        if number == 7 {
            assert!(
                place.status == Status::Gone || place.confidence < Some(0.5),
                "{place:?}"
            );
        } else {
            assert_eq!((place.status, best(&place)), (Status::Moved, new.as_str()));
            assert!(!place.is_tie);
        }
    }
}

#[test]
fn a_page_that_moved_twice_is_where_it_is_now() {
    let mut pages = others(&[FIRST, SECOND, THIRD]);
    pages.push(("http://a.example/a", FIRST, text(1, 100)));
    pages.push(("http://a.example/b", SECOND, text(1, 100)));
    pages.push(("http://a.example/c", THIRD, text(1, 100)));
    let place = tell("http://a.example/a", &pages);
    assert_eq!(
        (place.status, best(&place)),
        (Status::Moved, "http://a.example/c")
    );
    // So much of it is rewritten on the way that only step by step it is found.
    let half = |from: u32, to: u32| format!("{} {}", text(from, 100), text(to, 60));
    let mut pages = others(&[FIRST, SECOND, THIRD]);
    pages.push(("http://a.example/a", FIRST, text(1, 100)));
    pages.push(("http://a.example/b", SECOND, half(1, 2)));
    pages.push(("http://a.example/c", THIRD, half(2, 3)));
    let place = tell("http://a.example/a", &pages);
    let now = place.present_place(0.0).expect("a place");
    assert_eq!(
        (now.url.as_str(), now.via.as_deref()),
        ("http://a.example/c", Some("http://a.example/b"))
    );
    assert!(now.confidence < place.now[0].confidence);
}

#[test]
fn a_page_that_comes_back_is_present() {
    let mut pages = others(&[FIRST, SECOND, THIRD]);
    pages.push(("http://a.example/a", FIRST, text(1, 100)));
    pages.push(("http://a.example/a", THIRD, text(1, 100)));
    assert_eq!(tell("http://a.example/a", &pages).status, Status::Present);
}

#[test]
fn of_pages_that_swap_places_both_are_told() {
    let mut pages = others(&[FIRST, SECOND]);
    pages.push(("http://a.example/a", FIRST, text(1, 100)));
    pages.push(("http://a.example/b", FIRST, text(2, 100)));
    pages.push(("http://a.example/a", SECOND, text(2, 100)));
    pages.push(("http://a.example/b", SECOND, text(1, 100)));
    let place = tell("http://a.example/a", &pages);
    let urls: Vec<&str> = place.now.iter().map(|now| now.url.as_str()).collect();
    assert_eq!(place.status, Status::Present);
    assert_eq!(urls, ["http://a.example/a", "http://a.example/b"]);
}

#[test]
fn copies_are_a_tie_and_the_caller_chooses() {
    let mut pages = others(&[FIRST, SECOND]);
    pages.push(("http://a.example/x", FIRST, text(1, 100)));
    pages.push(("http://a.example/p", SECOND, text(1, 100)));
    pages.push(("http://b.example/q", SECOND, text(1, 100)));
    let mut place = tell("http://a.example/x", &pages);
    assert!(place.is_tie);
    place.prefer(&Prefer::of("B.example"));
    assert_eq!(best(&place), "http://b.example/q");
    place.prefer(&Prefer::SameHost);
    assert_eq!(best(&place), "http://a.example/p");
}

#[test]
fn two_longer_pages_that_have_all_of_one_are_a_tie() {
    let mut pages = others(&[FIRST, SECOND]);
    pages.push(("http://a.example/part", FIRST, text(1, 100)));
    for (url, seed) in [("http://a.example/x", 2), ("http://a.example/y", 3)] {
        let whole = format!("{} {}", text(seed, 300), text(1, 100));
        pages.push((url, SECOND, whole));
    }
    let place = tell("http://a.example/part", &pages);
    assert!(
        place.now.iter().all(|now| now.how == How::Folded),
        "{place:?}"
    );
    assert_eq!((place.now.len(), place.is_tie), (2, true));
}

#[test]
fn a_last_capture_without_text_is_not_what_is_looked_for() {
    let mut pages = others(&[FIRST, SECOND, THIRD]);
    pages.push(("http://a.example/a", FIRST, text(1, 100)));
    pages.push(("http://a.example/a", SECOND, "moved".to_owned()));
    pages.push(("http://a.example/b", THIRD, text(1, 100)));
    let place = tell("http://a.example/a", &pages);
    assert_eq!(
        (place.status, best(&place)),
        (Status::Moved, "http://a.example/b")
    );
    assert_eq!(place.last_sweep, Some(1));
}

#[test]
fn sweeps_one_by_one_tell_the_same_as_all_at_once() {
    let mut pages = others(&[FIRST, SECOND, THIRD]);
    pages.push(("http://a.example/a", FIRST, text(1, 100)));
    pages.push(("http://a.example/b", SECOND, text(1, 105)));
    pages.push(("http://a.example/c", THIRD, text(1, 110)));
    let at_once = tell("http://a.example/a", &pages);
    let mut story = Story::default();
    for date in [SECOND, FIRST, THIRD] {
        let of_date = pages.iter().filter(|page| page.1 == date);
        let of_date: Vec<_> = of_date
            .map(|(url, date, text)| page(url, date, text))
            .collect();
        story.add(Some(date), &of_date);
    }
    let apart = ask(&story, "http://a.example/a");
    let told = |place: &Whereabouts| {
        let now = place.now.iter();
        let now: Vec<_> = now
            .map(|now| (now.url.clone(), now.confidence, now.date))
            .collect();
        (place.status, place.confidence, now)
    };
    assert_eq!(told(&at_once), told(&apart));
}

#[test]
fn a_page_that_never_had_a_word_was_seen_all_the_same() {
    let mut pages = others(&[FIRST, SECOND, THIRD]);
    pages.push(("http://a.example/empty", FIRST, "\n".to_owned()));
    pages.push(("http://a.example/late", THIRD, " ".to_owned()));
    let empty = tell("http://a.example/empty", &pages);
    assert_eq!(
        (empty.status, empty.last_sweep, empty.now.len()),
        (Status::Gone, Some(0), 0)
    );
    assert!(empty.last_seen.is_some());
    let late = tell("http://a.example/late", &pages);
    assert_eq!((late.status, late.confidence), (Status::Present, Some(1.0)));
}

#[test]
fn a_short_page_that_was_edited_is_found_by_its_name() {
    // A page of few words that was edited has no shingle left. What came since and is
    // called the same may be it; what was there before, or is called otherwise, is not.
    let mut pages = others(&[FIRST, SECOND]);
    let names: Vec<(String, String)> = (0..10)
        .map(|number| {
            let name = |folder| format!("http://a.example/{folder}/{number}");
            (name("old"), name("new"))
        })
        .collect();
    for (number, (old, new)) in (0..).zip(&names) {
        pages.push((old, FIRST, text(100 + number, 50)));
        pages.push((new, SECOND, text(100 + number, 50)));
    }
    pages.push(("http://a.example/old/returners", FIRST, text(1, 3)));
    pages.push(("http://a.example/new/returners", SECOND, text(2, 3)));
    pages.push(("http://a.example/new/runners", SECOND, text(3, 3)));
    let place = tell("http://a.example/old/returners", &pages);
    let urls: Vec<&str> = place.now.iter().map(|now| now.url.as_str()).collect();
    assert_eq!(urls, ["http://a.example/new/returners"]);
    assert!(
        place.now[0].confidence < 0.5,
        "a name alone is no proof: {place:?}"
    );
    assert_eq!(place.now[0].resemblance.map(|share| share.value), Some(0.0));
    pages.push(("http://a.example/new/returners", FIRST, text(2, 3)));
    let place = tell("http://a.example/old/returners", &pages);
    assert_eq!((place.status, place.now.len()), (Status::Gone, 0));
}

#[test]
fn what_is_rare_in_an_address_decides_between_siblings() {
    // Two new pages have as much of the text; one has the word that only the old address
    // has, the other those that all have.
    let mut pages = others(&[FIRST, SECOND]);
    let names: Vec<String> = (0..30)
        .map(|number| format!("http://a.example/docs/reference/{number}"))
        .collect();
    for (number, name) in (0..).zip(&names) {
        pages.push((name, FIRST, text(100 + number, 50)));
        pages.push((name, SECOND, text(100 + number, 50)));
    }
    let part = |seed| format!("{} {}", text(1, 100), text(seed, 100));
    pages.push((
        "http://a.example/docs/reference/authentication",
        FIRST,
        text(1, 100),
    ));
    pages.push(("http://a.example/docs/reference/overview", SECOND, part(2)));
    pages.push(("http://a.example/security/authentication", SECOND, part(3)));
    let place = tell("http://a.example/docs/reference/authentication", &pages);
    assert_eq!(best(&place), "http://a.example/security/authentication");
    assert!(!place.is_tie, "{place:?}");
}

#[test]
fn the_order_in_which_sweeps_were_added_decides_nothing() {
    // Both versions of the new page have as much of the old one.
    let mut pages = others(&[FIRST, SECOND, THIRD]);
    pages.push(("http://a.example/a", FIRST, text(1, 100)));
    for (date, seed) in [(SECOND, 5), (THIRD, 6)] {
        let more = format!("{} {}", text(1, 100), text(seed, 20));
        pages.push(("http://a.example/b", date, more.clone()));
        pages.push(("http://a.example/c", date, more));
    }
    let mut told = Vec::new();
    for order in [[FIRST, SECOND, THIRD], [THIRD, SECOND, FIRST]] {
        let mut story = Story::default();
        for date in order {
            let of_date = pages.iter().filter(|page| page.1 == date);
            let of_date: Vec<_> = of_date
                .map(|(url, date, text)| page(url, date, text))
                .collect();
            story.add(None, &of_date);
        }
        let place = ask(&story, "http://a.example/a");
        let now = place.now.iter();
        let now: Vec<_> = now
            .map(|now| (now.url.clone(), story.text_of(now.found), now.confidence))
            .collect();
        told.push((place.status, place.is_tie, now));
    }
    assert_eq!(told[0], told[1]);
}
