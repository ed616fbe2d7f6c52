//! Same input, same bytes, whatever the threads and the memory; same clusters, whatever
//! the order and the sweeps.

use std::collections::BTreeSet;
use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;

use lookalike_testkit::texts::{Draw, edited, line, words};

use super::again::last_sweep;
use super::contents::tests::FORGETS;
use super::fault_tests::{add_to, assert_same, contents, options};
use super::{AddOptions, Report};
use crate::collection::Collection;
use crate::collection::manifest;
use crate::collection::segment::Segment;
use crate::collection::state::State;
use crate::corpus::document::Format;
use crate::corpus::inputs::Inputs;
use crate::corpus::tests::{gzip, warc};
use crate::storage::sim::SimFs;

/// Families of copies and edits, some below the threshold and some near it.
fn documents(families: u64) -> Vec<String> {
    let mut all = Vec::new();
    for family in 0..families {
        let text = words(family, 120);
        let mut doc = |what: &str, words: &[String]| {
            all.push(line(&format!("{family}-{what}"), &words.join(" ")));
        };
        doc("original", &text);
        doc("copy", &text);
        doc("lexical", &[&text[..], &["!".to_owned()]].concat());
        for every in [11, 17, 24, 35, 60] {
            let first = usize::try_from(family % 11).unwrap();
            doc(&format!("edited-{every}"), &edited(&text, first, every));
        }
        let other = words(family + 1_000_000, 120);
        doc("half", &[&text[..70], &other[..50]].concat());
    }
    all
}

fn add_files(disk: &SimFs, files: &[Vec<String>], options: &AddOptions) -> Report {
    let folder = tempfile::tempdir().unwrap();
    let paths: Vec<_> = files
        .iter()
        .enumerate()
        .map(|(i, lines)| {
            let path = folder.path().join(format!("{i}.jsonl"));
            fs::write(&path, lines.concat()).unwrap();
            path
        })
        .collect();
    let inputs = Inputs::expand(&paths, &options.reading);
    add_to(disk, &inputs, options, &mut |_| {}).unwrap()
}

/// The clusters, by the ids of their members.
fn clusters(disk: &SimFs) -> BTreeSet<BTreeSet<String>> {
    let collection = Collection::open_in(Path::new("/sim"), Arc::new(disk.clone())).unwrap();
    let clustering = collection.clustering(&collection.state().clusterings[0]);
    let clustering = clustering.unwrap();
    let mut stream = clustering.clusters().unwrap();
    let mut all = BTreeSet::new();
    while let Some(quality) = stream.next_record().unwrap() {
        let id = |doc: &u32| {
            let entry = collection.entry(*doc).unwrap();
            collection.strings(*doc, &entry).unwrap().0.unwrap()
        };
        let roster = clustering.roster(quality.cluster).unwrap();
        all.insert(roster.iter().map(id).collect());
    }
    all
}

#[test]
fn threads_and_memory_do_not_show() {
    let folder = tempfile::tempdir().unwrap();
    let all = documents(40);
    let mut paths = Vec::new();
    for (i, lines) in all.chunks(60).enumerate() {
        paths.push(folder.path().join(format!("{i}.jsonl")));
        fs::write(&paths[i], lines.concat()).unwrap();
    }
    let (first, second) = paths.split_at(4);
    let mut found = Vec::new();
    let mut spilled = Vec::new();
    for memory in [8 << 10, 256 << 10, 32 << 20, 256 << 20] {
        for threads in [1, 2, 8] {
            let options = options(threads, memory);
            let disk = SimFs::new();
            for sweep in [first, second] {
                let inputs = Inputs::expand(sweep, &options.reading);
                let report = add_to(&disk, &inputs, &options, &mut |_| {}).unwrap();
                spilled.push(report.scratch > 0);
            }
            found.push(contents(&disk));
        }
    }
    assert!(spilled.contains(&true) && spilled.contains(&false));
    for other in &found[1..] {
        assert_same(other, &found[0]);
    }
}

#[test]
fn small_files_share_one_and_go_when_nothing_in_it_is_named() {
    let small = |sweep: u64| {
        let text = words(sweep, 200).join(" ");
        vec![line("one", &text), line("other", &format!("{text} more"))]
    };
    let large = (0..600).map(|i| line(&i.to_string(), &words(9_000 + i, 300).join(" ")));
    let sweeps = [small(1), small(2), small(3), large.collect()];
    let names = |disk: &SimFs| contents(disk).into_keys().collect::<Vec<_>>().join(" ");
    let whole = SimFs::default();
    for (sweep, expected) in sweeps.iter().zip([
        "MANIFEST-0 MANIFEST-1 clusters-1.lk sweep-1.lk",
        "MANIFEST-1 MANIFEST-2 clusters-1.lk clusters-2.lk sweep-1.lk sweep-2.lk",
        "MANIFEST-2 MANIFEST-3 clusters-2.lk clusters-3.lk sweep-1.lk sweep-2.lk sweep-3.lk",
        "MANIFEST-3 MANIFEST-4 clusters-3.lk clusters-4.lk postings-4.lk sketches-4.lk \
         sweep-1.lk sweep-2.lk sweep-3.lk sweep-4.lk texts-4.lk",
    ]) {
        add_files(&whole, std::slice::from_ref(sweep), &options(2, 512 << 20));
        assert_eq!(names(&whole), expected);
    }
    let storage: Arc<dyn crate::storage::Storage> = Arc::new(whole.clone());
    let verified = crate::collection::verify::verify(&*storage, |_| {}).unwrap();
    assert!(verified.faults.is_empty(), "{:?}", verified.faults);
    // Which ones are small does not depend on the memory that there is.
    let little = SimFs::default();
    for sweep in &sweeps {
        add_files(
            &little,
            std::slice::from_ref(sweep),
            &options(1, super::LEAST_MEMORY),
        );
    }
    assert_eq!(names(&little), names(&whole));
}

#[test]
fn order_and_sweeps_do_not_show_in_clusters() {
    let mut all = documents(30);
    let options = options(2, 1 << 20);
    let disk = SimFs::new();
    add_files(&disk, std::slice::from_ref(&all), &options);
    let expected = clusters(&disk);
    assert!(expected.len() >= 30, "{expected:?}");
    let mut draw = Draw::new(7);
    for shuffle in 0..3 {
        for i in (1..all.len()).rev() {
            all.swap(i, usize::try_from(draw.below(i as u64 + 1)).unwrap());
        }
        for sweeps in [1, 5] {
            let disk = SimFs::new();
            let folder = tempfile::tempdir().unwrap();
            for (i, part) in all.chunks(all.len().div_ceil(sweeps)).enumerate() {
                let path = folder.path().join(format!("{i}.jsonl"));
                fs::write(&path, part.concat()).unwrap();
                let inputs = Inputs::expand(&[path], &options.reading);
                add_to(&disk, &inputs, &options, &mut |_| {}).unwrap();
            }
            assert_eq!(
                clusters(&disk),
                expected,
                "shuffle {shuffle}, {sweeps} sweeps"
            );
        }
    }
}

/// A large family, and one document that only its least likely member leads to: that
/// link holds wherever in the input the member stands.
#[test]
fn a_weak_link_of_a_document_with_many_better_ones_is_kept() {
    let named = |name: &str, count: usize| -> Vec<String> {
        (0..count).map(|i| format!("{name}{i}")).collect()
    };
    let (core, of_family, of_outsider) = (named("c", 60), named("f", 40), named("o", 40));
    let document = |id: &str, parts: &[&[String]]| line(id, &parts.concat().join(" "));
    // Resemblance to the bridge is 100/142 in the family and 100/150 outside of it; between
    // the two 60/152.
    let mut all: Vec<String> = (0..200)
        .map(|i| {
            let own = named(&format!("own{i}x"), 2);
            document(&format!("family-{i}"), &[&core, &of_family, &own])
        })
        .collect();
    let own = named("other", 10);
    all.push(document("outsider", &[&core, &of_outsider, &own]));
    let bridge = document("bridge", &[&core, &of_family, &of_outsider]);
    let mut options = options(2, 1 << 20);
    options.recipe.width = NonZeroUsize::MIN;
    for place in [0, 100, all.len()] {
        let mut lines = all.clone();
        lines.insert(place, bridge.clone());
        let disk = SimFs::new();
        add_files(&disk, &[lines], &options);
        let sizes: Vec<usize> = clusters(&disk).iter().map(BTreeSet::len).collect();
        assert_eq!(sizes, [202], "the bridge at {place}");
    }
}

/// What a sweep is made of, and how it is added.
struct Part {
    files: Vec<(&'static str, Vec<u8>)>,
    options: AddOptions,
}

fn response(url: &str, head: &str, body: &[u8]) -> Vec<u8> {
    let fields = format!(
        "WARC-Target-URI: {url}\r\nWARC-Date: 2026-11-16T01:02:03Z\r\n\
         WARC-Payload-Digest: sha1:{}\r\nContent-Type: application/http\r\n",
        "A".repeat(31) + &url[url.len() - 1..]
    );
    let block = [
        format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n").as_bytes(),
        body,
    ]
    .concat();
    warc("response", &fields, &block)
}

fn revisit(url: &str, of: char) -> Vec<u8> {
    let fields = format!(
        "WARC-Target-URI: {url}\r\nWARC-Payload-Digest: sha1:{}{of}\r\n",
        "A".repeat(31)
    );
    warc("revisit", &fields, b"HTTP/1.1 304 Not Modified\r\n\r\n")
}

/// Sweeps with everything in them that reading the same bytes again may depend on.
fn parts() -> Vec<Part> {
    let text = words(1, 80).join(" ");
    let html = format!("<html><p>caf\u{e9} {text}</html>");
    let latin: Vec<u8> = html
        .chars()
        .map(|c| u8::try_from(c).unwrap_or(b'?'))
        .collect();
    let broken = [html.as_bytes(), b"\xff\xfe broken"].concat();
    let (type_html, type_text) = ("Content-Type: text/html", "Content-Type: text/plain");
    let pages = [
        response("http://x/a", type_html, html.as_bytes()),
        response("http://x/b", type_text, html.as_bytes()),
        response(
            "http://x/c",
            "Content-Type: text/html; charset=latin1",
            &latin,
        ),
        response(
            "http://x/d",
            "Content-Type: text/html; charset=utf-8",
            &latin,
        ),
        response("http://x/e", type_html, &broken),
        revisit("http://x/f", 'a'),
        revisit("http://x/a", 'a'),
    ];
    let packed: Vec<u8> = pages.iter().flat_map(|page| gzip(page)).collect();
    let more = [
        response("http://x/g", type_html, &broken),
        response("http://x/h", type_text, html.as_bytes()),
        revisit("http://x/i", 'c'),
    ];
    // The same text, once repaired and once as it stands.
    let repaired = br#"{"id":"1","text":"lone \ud800 one"}"#;
    let whole = "{\"id\":\"2\",\"text\":\"lone \u{fffd} one\"}".as_bytes();
    let lines = |lines: &[&[u8]]| lines.join(&b"\n"[..]);
    let of = |keep_text, files: Vec<(&'static str, Vec<u8>)>| Part {
        files,
        options: AddOptions {
            keep_text,
            ..options(2, 1 << 20)
        },
    };
    let mut as_text = of(false, vec![("1.warc.gz", packed.clone())]);
    as_text.options.reading.format = Format::Text;
    let mut shorter = of(false, vec![("1.warc.gz", packed.clone())]);
    shorter.options.reading.limits.document = 100;
    let few = documents(3).concat().into_bytes();
    vec![
        of(
            false,
            vec![
                ("1.warc.gz", packed.clone()),
                ("a.jsonl", lines(&[repaired])),
            ],
        ),
        of(
            true,
            vec![
                ("1.warc.gz", packed.clone()),
                ("a.jsonl", lines(&[whole, repaired])),
            ],
        ),
        of(
            true,
            vec![("2.warc", more.concat()), ("b.jsonl", few.clone())],
        ),
        as_text,
        shorter,
        of(false, vec![("b.jsonl", few), ("2.warc", more.concat())]),
        of(
            true,
            vec![("1.warc.gz", packed), ("a.jsonl", lines(&[whole]))],
        ),
    ]
}

#[test]
fn that_content_is_known_does_not_show() {
    let folder = tempfile::tempdir().unwrap();
    let mut sweeps = Vec::new();
    for (number, part) in parts().into_iter().enumerate() {
        let place = folder.path().join(number.to_string());
        fs::create_dir(&place).unwrap();
        for (name, bytes) in part.files {
            fs::write(place.join(name), bytes).unwrap();
        }
        let inputs = Inputs::expand(&[place], &part.options.reading);
        sweeps.push((inputs, part.options));
    }
    let made = |forgets| {
        FORGETS.set(forgets);
        let disk = SimFs::new();
        let after = |(inputs, options): &(Inputs, AddOptions)| {
            add_to(&disk, inputs, options, &mut |_| {}).unwrap();
            contents(&disk)
        };
        let all: Vec<_> = sweeps.iter().map(after).collect();
        FORGETS.set(false);
        all
    };
    for (known, forgotten) in made(false).iter().zip(&made(true)) {
        assert_same(known, forgotten);
    }
}

/// Whether a sweep is taken over from the last one.
fn is_taken_over(disk: &SimFs, inputs: &Inputs, options: &AddOptions) -> bool {
    let manifest = manifest::latest::<State>(disk).unwrap();
    let sweeps = manifest.state.sweeps.iter();
    let older: Vec<_> = sweeps
        .map(|sweep| Segment::open(disk, &manifest, sweep).unwrap())
        .collect();
    let last = last_sweep(&older, &manifest, inputs, options).unwrap();
    last.is_some()
}

#[test]
fn that_files_are_those_of_the_last_sweep_does_not_show() {
    let folder = tempfile::tempdir().unwrap();
    let (html, text) = ("Content-Type: text/html", "Content-Type: text/plain");
    let words = words(3, 60).join(" ");
    let pages = [
        response("http://x/blank", html, b"<p>-</p>"),
        response("http://x/a", html, words.as_bytes()),
        response("http://x/b", text, words.as_bytes()),
        response("http://x/a", html, words.as_bytes()),
        response("http://x/picture", "Content-Type: image/png", b"\x89PNG"),
        response("http://x/e", html, b"caf\xff words"),
    ];
    let pages: Vec<u8> = pages.iter().flat_map(|page| gzip(page)).collect();
    let dated = r#"{"id":"7","url":"u","date":"2020-02-03","text":"a b c"}"#;
    let lines = documents(3).concat() + dated + "\n" + &dated.replace("2020", "2021") + "\n";
    let paths = ["1.warc.gz", "2.jsonl.gz", "3.jsonl"].map(|name| folder.path().join(name));
    fs::write(&paths[0], &pages).unwrap();
    fs::write(&paths[1], gzip(lines.as_bytes())).unwrap();
    fs::write(&paths[2], line("plain", "a b c d e")).unwrap();
    let options = AddOptions {
        keep_text: false,
        ..options(2, 1 << 20)
    };
    let inputs = Inputs::expand(&paths, &options.reading);
    let made = |forgets| {
        let disk = SimFs::new();
        let mut all = Vec::new();
        for _ in 0..3 {
            FORGETS.set(forgets);
            let report = add_to(&disk, &inputs, &options, &mut |_| {}).unwrap();
            FORGETS.set(false);
            assert!(is_taken_over(&disk, &inputs, &options));
            all.push((contents(&disk), report.counts));
        }
        (disk, all)
    };
    let (disk, known) = made(false);
    let (_, forgotten) = made(true);
    // All but the blank page and the picture.
    assert_eq!(known[2].1.again, known[2].1.read - 2);
    for ((known, counts), (forgotten, expected)) in known.iter().zip(&forgotten) {
        assert_same(known, forgotten);
        assert_eq!(counts, expected);
    }
    // Files of other names have the same documents, unless one goes by its place.
    let copies = ["4.warc.gz", "5.jsonl.gz", "6.jsonl"].map(|name| folder.path().join(name));
    for (path, copy) in paths.iter().zip(&copies) {
        fs::copy(path, copy).unwrap();
    }
    let copies = Inputs::expand(&copies, &options.reading);
    assert!(is_taken_over(&disk, &copies, &options));
    let again = |forgets| {
        let disk = SimFs::new();
        add_to(&disk, &inputs, &options, &mut |_| {}).unwrap();
        FORGETS.set(forgets);
        add_to(&disk, &copies, &options, &mut |_| {}).unwrap();
        FORGETS.set(false);
        contents(&disk)
    };
    assert_same(&again(false), &again(true));
    // Read in another way, in another order, or with another byte it is another sweep.
    let mut other = options.clone();
    other.reading.text_field = "body".to_owned();
    assert!(!is_taken_over(&disk, &inputs, &other));
    let turned = [&paths[1], &paths[0], &paths[2]];
    let turned = Inputs::expand(&turned, &options.reading);
    assert!(!is_taken_over(&disk, &turned, &options));
    let mut changed = pages.clone();
    *changed.last_mut().unwrap() ^= 1;
    fs::write(&paths[0], &changed).unwrap();
    let changed = Inputs::expand(&paths, &options.reading);
    assert!(!is_taken_over(&disk, &changed, &options));
    // Revisits of what is there, at its own address and at another.
    let revisits = [
        gzip(&revisit("http://x/a", 'a')),
        gzip(&revisit("http://x/z", 'a')),
    ];
    fs::write(&paths[0], [pages, revisits.concat()].concat()).unwrap();
    let inputs = Inputs::expand(&paths, &options.reading);
    let made = |forgets| {
        let disk = SimFs::new();
        for sweep in 0..3 {
            FORGETS.set(forgets);
            add_to(&disk, &inputs, &options, &mut |_| {}).unwrap();
            FORGETS.set(false);
            assert!(is_taken_over(&disk, &inputs, &options), "{sweep}");
        }
        contents(&disk)
    };
    assert_same(&made(false), &made(true));
    // One that names its original by address and date is read again.
    let by_date = "WARC-Target-URI: http://x/y\r\nWARC-Refers-To-Target-URI: http://x/a\r\n\
                   WARC-Refers-To-Date: 2026-11-16T01:02:03Z\r\n";
    let by_date = gzip(&warc("revisit", by_date, b""));
    let pages = fs::read(&paths[0]).unwrap();
    fs::write(&paths[0], [pages, by_date].concat()).unwrap();
    let inputs = Inputs::expand(&paths, &options.reading);
    let disk = SimFs::new();
    let report = add_to(&disk, &inputs, &options, &mut |_| {}).unwrap();
    assert!(!report.counts.skipped.contains_key("revisit of unknown"));
    assert!(!is_taken_over(&disk, &inputs, &options));
}

#[test]
fn a_record_without_a_name_goes_by_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let options = AddOptions {
        keep_text: false,
        ..options(2, 1 << 20)
    };
    let nameless = folder.path().join("nameless.jsonl.gz");
    let renamed = folder.path().join("renamed.jsonl.gz");
    for path in [&nameless, &renamed] {
        fs::write(path, gzip(br#"{"text":"a b c d e f g h i j k l"}"#)).unwrap();
    }
    let nameless = Inputs::expand(&[nameless], &options.reading);
    let renamed = Inputs::expand(&[renamed], &options.reading);
    let places = SimFs::new();
    add_to(&places, &nameless, &options, &mut |_| {}).unwrap();
    assert!(is_taken_over(&places, &nameless, &options));
    assert!(!is_taken_over(&places, &renamed, &options));
}
