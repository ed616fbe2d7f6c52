//! A fresh sample: the same collection as if it had been made with the new key; nothing
//! lost in silence; the old state or the new; and a document tuned to the old sample found.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use lookalike_core::estimate::Overlap;
use lookalike_core::recipe::{Recipe, SketchKind};
use lookalike_core::seed::{Key, Seed};
use lookalike_core::sketcher::Sketcher;
use lookalike_testkit::texts::{edited, line, words};

use super::fault_tests::{add_to, assert_same, contents, options};
use super::redraw::{RedrawError, Redrew, Unread, redraw, redraw_in};
use super::{AddError, AddOptions, Report, add};
use crate::collection::entry::{Entry, Flag};
use crate::collection::texts::Lost;
use crate::collection::verify::{contradictions, verify};
use crate::collection::{Collection, CollectionError};
use crate::corpus::document::Document;
use crate::corpus::inputs::Inputs;
use crate::corpus::options::ReadOptions;
use crate::corpus::tests::{page, warc};
use crate::find::{FindOptions, Finder, Reread};
use crate::storage::sim::{Crash, Failure, SimFs, Times};

/// Adds, also while a process that another test starts has our lock for a moment.
fn added(place: &Path, inputs: &Inputs, options: &AddOptions) -> Report {
    loop {
        match add(place, inputs, options, &mut |_| {}) {
            Err(AddError::Collection(CollectionError::Locked)) => std::thread::yield_now(),
            other => return other.unwrap(),
        }
    }
}

/// Draws again, also while a process that another test starts has our lock for a moment.
fn drawn(
    place: &Path,
    number: u64,
    unread: Unread,
    options: &AddOptions,
) -> Result<Redrew, RedrawError> {
    loop {
        let done = redraw(
            place,
            Seed::Secret(key(number)),
            unread,
            options,
            &mut |_| {},
        );
        match done {
            Err(RedrawError::Add(AddError::Collection(CollectionError::Locked))) => {
                std::thread::yield_now();
            }
            other => return other,
        }
    }
}

fn key(seed: u64) -> Key {
    Key::from_bytes(format!("the key with the number {seed}").as_bytes()).unwrap()
}

fn with_key(options: &AddOptions, seed: u64) -> AddOptions {
    let mut options = options.clone();
    options.recipe.seed = Seed::Secret(key(seed));
    options
}

/// Two sweeps with copies of every kind, revisits, captures and an empty page.
fn sweeps(folder: &Path) -> Vec<Inputs> {
    let text = |seed: u64| words(seed, 600).join(" ");
    let of = |head: &str, digest: &str| {
        format!("WARC-Target-URI: http://x/{head}\r\nWARC-Payload-Digest: sha1:{digest}\r\n")
    };
    let block = |body: &str| {
        format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n{body}").into_bytes()
    };
    let near = edited(&words(1, 600), 5, 40).join(" ");
    let first = [
        warc("revisit", &of("early", "A"), b""),
        warc("response", &of("a", "A"), &block(&text(1))),
        page("http://x/b", &text(1)),
        page("http://x/c", &format!("<p>{}!</p>", text(1))),
        page("http://x/d", &near),
        page("http://x/e", &text(2)),
        page("http://x/blank", "<br>"),
        page("http://x/e", &text(2)),
    ];
    // Two that differ at the end alone: by most samples they are one.
    let ending = |end: &str| format!("{} {end}", text(3));
    let second = [
        page("http://x/f", &ending("one")),
        page("http://x/g", &ending("two")),
        page("http://x/h", &ending("two")),
        warc("revisit", &of("late", "A"), b""),
        page("http://x/e", &text(2)),
        page("http://x/i", &edited(&words(2, 600), 9, 50).join(" ")),
    ];
    let write = |(name, records): (&str, Vec<Vec<u8>>)| {
        let path = folder.join(name);
        fs::write(&path, records.concat()).unwrap();
        Inputs::expand(&[path], &ReadOptions::default())
    };
    [
        ("first.warc", first.to_vec()),
        ("second.warc", second.to_vec()),
    ]
    .map(write)
    .into()
}

/// Few samples, so that documents with one sketch and other words are met.
fn few_samples(keep_text: bool) -> AddOptions {
    AddOptions {
        keep_text,
        recipe: Recipe {
            sketch: SketchKind::Nested { samples: 32 },
            ..Recipe::default()
        },
        ..options(2, 32 << 20)
    }
}

/// All that follows from the sample, and all that must not change.
#[derive(Debug, PartialEq)]
struct Seen {
    entries: Vec<(Entry, Option<String>, Option<String>)>,
    samples: Vec<Vec<u64>>,
    pairs: Vec<crate::pairs::Pair>,
    captures: Vec<crate::collection::entry::Capture>,
    members: Vec<(u32, u32)>,
    counts: Vec<crate::collection::state::Counts>,
}

fn seen(collection: &Collection) -> Seen {
    assert_eq!(contradictions(collection.manifest()).len(), 0);
    let entry = |doc| {
        let mut entry = collection.entry(doc).unwrap();
        let (id, url) = collection.strings(doc, &entry).unwrap();
        // A missing sketch of a copy is not looked at by anyone.
        if entry.has(Flag::Revisit) {
            entry.way = 0;
        }
        (entry, id, url)
    };
    let sketches = collection.sketches().unwrap();
    let samples = |doc| sketches.samples(doc, &mut Vec::new()).unwrap().to_vec();
    let mut pairs = Vec::new();
    collection
        .each_pair(|pair| {
            pairs.push(*pair);
            Ok(())
        })
        .unwrap();
    let mut captures = Vec::new();
    for sweep in 0..collection.state().sweeps.len() {
        let mut stream = collection.captures(sweep).unwrap();
        while let Some(capture) = stream.next_record().unwrap() {
            captures.push(capture);
        }
    }
    let clustering = collection.clustering(&collection.state().clusterings[0]);
    let clustering = clustering.unwrap();
    let member = |doc| (doc, clustering.member(doc).unwrap().cluster);
    let documents = collection.documents();
    let sweeps = collection.state().sweeps.iter();
    Seen {
        entries: (0..documents).map(entry).collect(),
        samples: (0..documents).map(samples).collect(),
        pairs,
        captures,
        members: (0..documents).map(member).collect(),
        counts: sweeps.map(|sweep| sweep.counts.clone()).collect(),
    }
}

#[test]
fn a_fresh_sample_is_that_of_a_collection_made_with_the_key() {
    for keep_text in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let sweeps = sweeps(folder.path());
        let options = few_samples(keep_text);
        let make = |name: &str, options: &AddOptions| {
            let place = folder.path().join(name);
            for inputs in &sweeps {
                added(&place, inputs, options);
            }
            place
        };
        let old = make("old", &options);
        let before = seen(&Collection::open(&old).unwrap());
        if keep_text {
            // Nothing but the collection is needed.
            fs::rename(folder.path().join("first.warc"), folder.path().join("x")).unwrap();
        }
        let (mut grades, mut changed) = (BTreeSet::new(), 0);
        for number in 0..8 {
            let done = drawn(&old, number, Unread::Refused, &options).unwrap();
            let collection = Collection::open(&old).unwrap();
            let now = seen(&collection);
            if keep_text {
                fs::rename(folder.path().join("x"), folder.path().join("first.warc")).unwrap();
            }
            let fresh = make(&format!("fresh-{number}"), &with_key(&options, number));
            if keep_text {
                fs::rename(folder.path().join("first.warc"), folder.path().join("x")).unwrap();
            }
            let fresh = Collection::open(&fresh).unwrap();
            assert_eq!(done.recipe, fresh.manifest().recipe_id());
            assert_eq!(done.missing, 0);
            assert_eq!(now, seen(&fresh), "key {number}, texts kept: {keep_text}");
            grades.extend(now.entries.iter().map(|(entry, ..)| entry.grade));
            changed += usize::from(now.samples != before.samples);
            let texts: Vec<u32> = (0..collection.documents()).collect();
            let texts = collection.texts(&texts).unwrap();
            assert!(texts.iter().all(Result::is_ok), "{texts:?}");
            let verified = verify(&**collection.storage(), |_| {}).unwrap();
            assert!(verified.faults.is_empty(), "{:?}", verified.faults);
        }
        assert_eq!(changed, 8);
        assert!(grades.len() >= 3, "too little was tried: {grades:?}");
        if keep_text {
            fs::rename(folder.path().join("x"), folder.path().join("first.warc")).unwrap();
        }
        // And the next sweep goes on from there.
        let again = added(&old, &sweeps[0], &with_key(&options, 7));
        assert_eq!(again.added, 0);
    }
}

#[test]
fn a_text_that_is_gone_is_said_and_stays_a_document() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let text = |seed: u64| words(seed, 200).join(" ");
    fs::write(path("a.txt"), text(1)).unwrap();
    fs::write(path("b.txt"), format!("{}!", text(1))).unwrap();
    fs::write(path("c.txt"), text(2)).unwrap();
    fs::write(path("d.txt"), format!("{}?", text(2))).unwrap();
    let options = AddOptions {
        keep_text: false,
        ..options(1, 32 << 20)
    };
    let inputs = ["a.txt", "b.txt", "c.txt", "d.txt"].map(path);
    let inputs = Inputs::expand(&inputs, &options.reading);
    let place = path("c");
    add(&place, &inputs, &options, &mut |_| {}).unwrap();
    let draw = |number, unread| drawn(&place, number, unread, &options);
    // Another with the same tokens stands in for the first.
    fs::remove_file(path("a.txt")).unwrap();
    let done = draw(1, Unread::Refused).unwrap();
    assert_eq!((done.missing, done.distinct), (0, 2));
    assert!(matches!(draw(1, Unread::Refused), Err(RedrawError::Same)));
    // Of the other two nothing is left, or something else.
    fs::write(path("c.txt"), "something else").unwrap();
    fs::remove_file(path("d.txt")).unwrap();
    let bytes = || {
        let files = fs::read_dir(&place).unwrap();
        let mut files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
        files.sort();
        files
            .into_iter()
            .map(|path| (fs::read(&path).unwrap(), path))
            .collect::<Vec<_>>()
    };
    let before = bytes();
    match draw(2, Unread::Refused) {
        Err(RedrawError::Missing {
            count: 2,
            doc: 2,
            why: Lost::Changed(name),
        }) => {
            assert!(name.ends_with("c.txt"), "{name}");
        }
        other => panic!("{other:?}"),
    }
    let after: Vec<_> = bytes()
        .into_iter()
        .filter(|file| before.contains(file))
        .collect();
    assert_eq!(after, before, "something was changed");
    let done = draw(2, Unread::Kept).unwrap();
    assert_eq!((done.documents, done.missing), (4, 2));
    let collection = Collection::open(&place).unwrap();
    let copies: Vec<u32> = (0..4)
        .map(|doc| collection.entry(doc).unwrap().copy_of)
        .collect();
    assert_eq!(copies, [0, 0, 2, 2], "what was a copy is one");
    assert_eq!(collection.sketches().unwrap().head(2).samples(), 0);
}

#[test]
fn a_failure_or_a_crash_leaves_the_old_sample_or_the_new() {
    let folder = tempfile::tempdir().unwrap();
    let inputs = sweeps(folder.path());
    let options = AddOptions {
        memory: 1 << 12,
        threads: std::num::NonZeroUsize::MIN,
        ..few_samples(true)
    };
    let start = SimFs::new();
    for sweep in &inputs {
        add_to(&start, sweep, &options, &mut |_| {}).unwrap();
    }
    let start = start.copy();
    let open = |disk: &SimFs| Collection::open_in(Path::new("/sim"), Arc::new(disk.clone()));
    let draw = |disk: &SimFs| {
        let collection = open(disk).map_err(RedrawError::from)?;
        redraw_in(
            &collection,
            Seed::Secret(key(1)),
            Unread::Refused,
            &options,
            &mut |_| {},
        )
    };
    let whole = start.copy();
    draw(&whole).unwrap();
    let operations = whole.operations();
    let old = open(&start).unwrap().manifest().recipe_id();
    let new = open(&whole).unwrap().manifest().recipe_id();
    assert_ne!(old, new);
    let check = |disk: &SimFs, is_done: bool| {
        let now = open(disk).unwrap().manifest().recipe_id();
        assert!(now == new || now == old && !is_done, "{now}");
        let verified = verify(disk, |_| {}).unwrap();
        assert!(verified.faults.is_empty(), "{:?}", verified.faults);
        if now == old {
            draw(disk).unwrap();
        } else {
            crate::collection::manifest::collect_garbage(disk).unwrap();
        }
        assert_same(&contents(disk), &contents(&whole));
    };
    let all: Vec<Crash> = Crash::all(1).collect();
    for k in (0..=operations).filter(|k| k % 41 == 0 || k + 30 > operations) {
        for failure in [Failure::Eio, Failure::Enospc] {
            let disk = start.copy();
            disk.fail_at(k, failure, Times::Once);
            let done = draw(&disk);
            disk.heal();
            check(&disk, done.is_ok());
        }
        let disk = start.copy();
        disk.crash_at(k);
        let is_done = draw(&disk).is_ok();
        let crash = &all[usize::try_from(k).unwrap() % all.len()];
        check(&disk.after_crash(crash), is_done);
    }
}

/// A document that a cheat has altered: one word of each shingle that the recipe samples is
/// another, until no sampled fingerprint is left of the original.
fn altered(original: &[String], recipe: &Recipe) -> Vec<String> {
    let mut sketcher = Sketcher::new(recipe);
    let width = recipe.width.get();
    let kept: BTreeSet<u64> = sketcher
        .sketch(&original.join(" "))
        .samples()
        .iter()
        .copied()
        .collect();
    let mut words = original.to_vec();
    for round in 0.. {
        let mut all = Vec::new();
        sketcher.fingerprints(&words.join(" "), |block| all.extend_from_slice(block));
        // Of shingles that overlap one changed word undoes up to ten: the last of the first.
        let (mut next, mut is_clean) = (0, true);
        for (at, fingerprint) in all.iter().enumerate() {
            if at >= next && kept.contains(fingerprint) {
                words[at + width - 1] = format!("x{round}y{at}");
                next = at + width;
                is_clean = false;
            }
        }
        if is_clean {
            break;
        }
    }
    words
}

/// The chance that a sample of `n` of `union` shingles has at least `least` of the `common`
/// ones: hypergeometric, summed from its logarithms.
fn at_least(least: usize, n: usize, common: usize, union: usize) -> f64 {
    let log_factorials: Vec<f64> = (0..=union)
        .scan(0.0, |sum, i| {
            *sum += if i == 0 { 0.0 } else { (i as f64).ln() };
            Some(*sum)
        })
        .collect();
    let choose = |n: usize, k: usize| log_factorials[n] - log_factorials[k] - log_factorials[n - k];
    let possible = least.max((n + common).saturating_sub(union))..=n.min(common);
    possible
        .map(|k| (choose(common, k) + choose(union - common, n - k) - choose(union, n)).exp())
        .sum()
}

#[test]
fn who_avoids_a_public_sample_is_found_by_a_secret_one_as_often_as_predicted() {
    // Level 6 keeps 1 in 64 of 10,000 shingles: some 156 words must be changed.
    let original = words(42, 10_000);
    let public = Recipe::default();
    let cheat = altered(&original, &public);
    let (original, cheat) = (original.join(" "), cheat.join(" "));
    let mut sketcher = Sketcher::new(&public);
    let mut set = |text: &str| {
        let mut all = Vec::new();
        sketcher.fingerprints(text, |block| all.extend_from_slice(block));
        all.sort_unstable();
        all.dedup();
        all
    };
    let overlap = Overlap::of_sorted(&set(&original), &set(&cheat));
    let (common, union) = (overlap.common, overlap.union());
    let truth = common as f64 / union as f64;
    assert!(
        (0.65..0.85).contains(&truth),
        "most shingles survive: {truth}"
    );
    let compare = |recipe: &Recipe| {
        let mut sketcher = Sketcher::new(recipe);
        let (a, b) = (sketcher.sketch(&original), sketcher.sketch(&cheat));
        a.compare(&b).unwrap().resemblance.unwrap()
    };
    let avoided = compare(&public);
    assert!(avoided.value == 0.0 && avoided.samples > 100, "{avoided:?}");
    // By a key that the cheat does not know each shingle is as likely to be sampled as any:
    // of the n of the union that are, the common ones are hypergeometric. So the chance that
    // the estimate reaches a threshold is known for each key, given n, and the number of
    // keys that find it is a sum of independent trials. A threshold at the truth, where
    // about half of the keys find it, and one far below, where all do.
    for (threshold, keys) in [(truth, 300), (0.5, 40)] {
        let (mut found, mut expected, mut variance) = (0.0, 0.0, 0.0);
        for number in 0..keys {
            let recipe = Recipe {
                seed: Seed::Secret(key(number)),
                ..Recipe::default()
            };
            let estimate = compare(&recipe);
            let n = estimate.samples;
            let reaches = |hits: &usize| *hits as f64 / n as f64 >= threshold;
            let least = (0..=n).find(reaches).unwrap();
            let chance = at_least(least, n, common, union);
            found += f64::from(u8::from(estimate.value >= threshold));
            expected += chance;
            variance += chance * (1.0 - chance);
        }
        // Four standard deviations: wrong once in 16,000 seeds; half a key for rounding.
        let slack = 4.0 * variance.sqrt() + 0.5;
        let off: f64 = found - expected;
        assert!(
            off.abs() <= slack,
            "{found} found, {expected} expected ± {slack}"
        );
    }
}

#[test]
fn who_avoids_the_sample_of_a_collection_is_found_after_it_is_drawn_again() {
    let folder = tempfile::tempdir().unwrap();
    let options = AddOptions {
        keep_text: true,
        ..options(2, 64 << 20)
    };
    let original = words(42, 10_000);
    let cheat = altered(&original, &options.recipe).join(" ");
    let path = folder.path().join("a.jsonl");
    let lines = [
        line("original", &original.join(" ")),
        line("other", &words(1, 300).join(" ")),
    ];
    fs::write(&path, lines.concat()).unwrap();
    let inputs = Inputs::expand(&[path], &options.reading);
    let place = folder.path().join("c");
    add(&place, &inputs, &options, &mut |_| {}).unwrap();
    let find = |secret: Option<&Key>| {
        let finder = Finder::open(&place, secret).unwrap();
        let document = Document::of_text(cheat.as_str());
        let query = finder.query(&document, None, &mut finder.sketcher(), Reread::Never);
        let found = finder.find(&query, &FindOptions::default()).unwrap();
        found.into_iter().map(|one| one.doc).collect::<Vec<_>>()
    };
    assert_eq!(find(None), [0; 0]);
    for number in 0..5 {
        let secret = key(number);
        drawn(&place, number, Unread::Refused, &options).unwrap();
        assert_eq!(find(Some(&secret)), [0], "key {number}");
    }
}
