//! What a capture gives again is what stood in its record, or nothing.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use super::Collection;
use super::raw::Raw;
use super::sightings::Sighting;
use super::texts::Lost;
use super::texts_tests::wacz;
use crate::add::{AddOptions, add, fault_tests::options};
use crate::corpus::inputs::Inputs;
use crate::corpus::tests::{gzip, warc};

/// A folder with inputs, and a collection of them beside.
struct Made {
    folder: TempDir,
}

impl Made {
    fn of(files: &[(&str, Vec<u8>)]) -> Made {
        let folder = tempfile::tempdir().unwrap();
        let made = Made { folder };
        made.add(files);
        made
    }

    fn add(&self, files: &[(&str, Vec<u8>)]) {
        let options = AddOptions {
            keep_text: false,
            ..options(2, 32 << 20)
        };
        let mut paths = Vec::new();
        for (name, bytes) in files {
            paths.push(self.path().join(name));
            fs::write(self.path().join(name), bytes).unwrap();
        }
        let inputs = Inputs::expand(&paths, &options.reading);
        add(&self.path().join("c"), &inputs, &options, &mut |_| {}).unwrap();
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn open(&self) -> Collection {
        Collection::open(&self.path().join("c")).unwrap()
    }

    /// What all captures of all documents give.
    fn raw(&self) -> Vec<Result<Raw, Lost>> {
        let collection = self.open();
        let docs = 0..collection.documents();
        let seen = docs.flat_map(|doc| collection.captures_of(doc).unwrap());
        seen.map(|one| collection.raw(&one).unwrap()).collect()
    }
}

fn fields(url: &str, day: u32, digest: &str) -> String {
    format!(
        "WARC-Target-URI: {url}\r\nWARC-Date: 2026-11-{day:02}T00:00:00Z\r\n{digest}\
         Content-Type: application/http\r\n"
    )
}

fn digest(last: char) -> String {
    let most = "A".repeat(31);
    format!("WARC-Payload-Digest: sha1:{most}{last}\r\n")
}

/// A response, served in chunks and packed.
fn coded(url: &str, day: u32, text: &str) -> Vec<u8> {
    let body = gzip(text.as_bytes());
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\
         Content-Encoding: gzip\r\nX-A: b\r\n\r\n{:x}\r\n",
        body.len()
    );
    let block = [head.as_bytes(), &body, b"\r\n0\r\n\r\n"].concat();
    warc("response", &fields(url, day, &digest('B')), &block)
}

fn revisit(url: &str, day: u32, head: &str) -> Vec<u8> {
    warc("revisit", &fields(url, day, &digest('B')), head.as_bytes())
}

fn headers(raw: &Raw) -> String {
    let line =
        |(name, value): &(String, Vec<u8>)| format!("{name}: {}", String::from_utf8_lossy(value));
    raw.headers.iter().map(line).collect::<Vec<_>>().join("|")
}

const HEADERS: &str = "Content-Type: text/html|Content-Encoding: gzip|X-A: b";

#[test]
fn a_served_page_is_given_as_it_was_stored() {
    let text = "<p>a page to be read";
    let page = coded("http://x/1", 1, text);
    for (name, bytes) in [
        ("a.warc", page.clone()),
        ("a.warc.gz", gzip(&page)),
        ("a.wacz", wacz(&[("archive/a.warc.gz", gzip(&page))])),
        (
            "whole.warc.gz",
            gzip(&[page.clone(), page.clone()].concat()),
        ),
    ] {
        for raw in Made::of(&[(name, bytes)]).raw() {
            let raw = raw.unwrap();
            assert_eq!(
                (raw.status, raw.body.clone()),
                (Some(200), gzip(text.as_bytes()))
            );
            assert_eq!(headers(&raw), HEADERS, "{name}");
            assert_eq!(raw.header("CONTENT-encoding"), Some(&b"gzip"[..]));
        }
    }
}

#[test]
fn a_revisit_has_the_payload_of_what_it_revisits() {
    let text = "<p>a page to be read";
    let own = "HTTP/1.1 203 Fine\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\nX-Own: 1\r\n\r\n";
    let made = Made::of(&[(
        "a.warc",
        [
            revisit("http://x/2", 2, ""),
            coded("http://x/1", 1, text),
            revisit("http://x/1", 3, own),
            revisit(
                "http://x/1",
                4,
                "HTTP/1.1 304 Not Modified\r\nX-Own: 2\r\n\r\n",
            ),
        ]
        .concat(),
    )]);
    made.add(&[("b.warc.gz", gzip(&revisit("http://x/3", 5, own)))]);
    let raw = made.raw();
    let given: Vec<_> = raw
        .iter()
        .map(|raw| {
            let raw = raw.as_ref().unwrap();
            assert_eq!(raw.body, gzip(text.as_bytes()));
            (raw.status.unwrap(), headers(raw))
        })
        .collect();
    let of_original = (200, HEADERS.to_owned());
    let of_own = (
        203,
        "Content-Type: text/html|Content-Encoding: gzip|X-Own: 1".to_owned(),
    );
    let expected = [
        of_original.clone(),
        of_original.clone(),
        of_own.clone(),
        of_original,
        of_own,
    ];
    assert_eq!(given, expected);
    // Its own record is there, and what it revisits is not.
    fs::remove_file(made.path().join("a.warc")).unwrap();
    assert!(matches!(made.raw().last(), Some(Err(Lost::Missing(_)))));
}

/// A revisit without a digest, or with one that nothing has, which names its original.
fn revisit_of(url: &str, digest: &str, of: (&str, u32)) -> Vec<u8> {
    let (of, day) = of;
    let fields = format!(
        "{}WARC-Refers-To-Target-URI: <{of}>\r\nWARC-Refers-To-Date: 2026-11-{day:02}T00:00:00Z\r\n",
        fields(url, 20, digest),
    );
    warc("revisit", &fields, b"")
}

#[test]
fn a_revisit_may_name_its_original_by_address_and_date() {
    let page = |url, day, digest: &str, text: &str| {
        let block = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n{text}");
        warc("response", &fields(url, day, digest), block.as_bytes())
    };
    let (old, new, other) = (
        "<p>a page to be read",
        "<p>now another one",
        "<p>of a third",
    );
    let (b, c) = (digest('B'), digest('C'));
    let revisits = [
        (revisit_of("http://x/1", "", ("http://x/1", 1)), Some(old)),
        (revisit_of("http://x/1", &c, ("http://x/1", 2)), Some(new)),
        (revisit_of("http://x/2", "", ("http://x/1", 2)), Some(new)),
        (revisit_of("http://x/2", "", ("http://x/1", 2)), Some(new)),
        // A further capture of what was there before.
        (revisit_of("http://x/3", &c, ("http://x/1", 3)), Some(old)),
        (revisit_of("http://x/4", "", ("http://x/b", 4)), Some(other)),
        // Digests that differ, a date that nothing has, an address that nothing has.
        (revisit_of("http://x/5", &c, ("http://x/b", 4)), None),
        (revisit_of("http://x/6", "", ("http://x/1", 9)), None),
        (revisit_of("http://x/7", "", ("http://x/none", 1)), None),
    ];
    let pages = [
        page("http://x/1", 1, "", old),
        page("http://x/1", 2, "", new),
        page("http://x/1", 3, "", old),
        page("http://x/b", 4, &b, other),
    ]
    .concat();
    let later: Vec<u8> = revisits.iter().flat_map(|one| one.0.clone()).collect();
    let together = Made::of(&[("a.warc", [later.clone(), pages.clone()].concat())]);
    let apart = Made::of(&[("a.warc", pages)]);
    apart.add(&[("b.warc", later)]);
    let mut expected = vec![old, new, old, other];
    expected.extend(revisits.iter().filter_map(|one| one.1));
    expected.sort_unstable();
    for made in [together, apart] {
        let raw = made.raw().into_iter();
        let mut bodies: Vec<_> = raw
            .map(|raw| String::from_utf8(raw.unwrap().body).unwrap())
            .collect();
        bodies.sort_unstable();
        assert_eq!(bodies, expected);
    }
}

#[test]
fn of_several_originals_one_that_is_there_is_enough() {
    let page = |day| coded("http://x/1", day, "<p>a page to be read");
    let made = Made::of(&[("a.warc", [page(1), revisit("http://x/2", 2, "")].concat())]);
    made.add(&[
        ("b.warc", page(3)),
        ("c.warc", revisit("http://x/1", 4, "")),
    ]);
    fs::remove_file(made.path().join("a.warc")).unwrap();
    let is_there: Vec<bool> = made.raw().iter().map(Result::is_ok).collect();
    // The first page, its capture in the second sweep, the revisit there; and the revisit
    // whose own record is gone.
    assert_eq!(is_there, [false, true, true, false]);
}

#[test]
fn what_was_not_served_has_its_bytes_and_a_type() {
    let fields = "WARC-Target-URI: http://x/r\r\nContent-Type: text/html; a=b\r\n";
    let resource = warc("resource", fields, b"<p>a resource");
    let fields = "WARC-Target-URI: http://x/t\r\nContent-Type: text/plain\r\n";
    let conversion = warc("conversion", fields, b"a text\xff");
    let made = Made::of(&[
        ("a.warc", [resource, conversion].concat()),
        (
            "b.jsonl",
            b"{\"text\":\"caf\\u00e9 au lait\"}\n{\"text\":\"<html><p>one\"}\n".to_vec(),
        ),
        ("c.html", b"<p>caf\xe9".to_vec()),
        ("d.txt", b"plain words".to_vec()),
        ("e.csv", b"id,text\n1,some words here\n".to_vec()),
    ]);
    let given: Vec<_> = made
        .raw()
        .into_iter()
        .map(|raw| raw.map(|raw| (headers(&raw), raw.body)).unwrap())
        .collect();
    let of = |mime: &str, body: &[u8]| (format!("Content-Type: {mime}"), body.to_vec());
    let expected = [
        of("text/html", b"<p>a resource"),
        of("text/plain", b"a text\xff"),
        of("text/plain; charset=utf-8", "caf\u{e9} au lait".as_bytes()),
        of("text/html; charset=utf-8", b"<html><p>one"),
        of("text/html", b"<p>caf\xe9"),
        of("text/plain", b"plain words"),
        of("text/plain; charset=utf-8", b"some words here"),
    ];
    assert_eq!(given, expected);
}

#[test]
fn what_changed_moved_or_broke_off_is_not_given() {
    let (first, second) = (
        coded("http://x/1", 1, "<p>one page"),
        coded("http://x/2", 2, "<p>another"),
    );
    let made = Made::of(&[("a.warc", [first.clone(), second.clone()].concat())]);
    assert!(made.raw().iter().all(Result::is_ok));
    let path = made.path().join("a.warc");
    let lost = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        let raw = made.raw();
        let is_changed = |raw: &Result<Raw, Lost>| match raw {
            Ok(_) => false,
            Err(Lost::Changed(_)) => true,
            Err(other) => panic!("{other:?}"),
        };
        [is_changed(&raw[0]), is_changed(&raw[1])]
    };
    let with = |page: Vec<u8>| [page, second.clone()].concat();
    // Another address, date, digest, content: of one length, so that the second stays.
    assert_eq!(
        lost(&with(coded("http://x/3", 1, "<p>one page"))),
        [true, false]
    );
    assert_eq!(
        lost(&with(coded("http://x/1", 7, "<p>one page"))),
        [true, false]
    );
    assert_eq!(
        lost(&with(coded("http://x/1", 1, "<p>One page"))),
        [true, false]
    );
    let other = String::from_utf8_lossy(&first).contains(&digest('B'));
    assert!(other);
    let mut other = first.clone();
    let at = memchr::memmem::find(&other, b"AAAB\r\n").unwrap();
    other[at + 3] = b'C';
    assert_eq!(lost(&with(other)), [true, false]);
    // Moved, cut, nothing, no archive.
    assert_eq!(lost(&[&second[..], &first].concat()), [true, true]);
    assert_eq!(lost(&first[..first.len() / 2]), [true, true]);
    assert_eq!(
        lost(&[&first[..], &second[..second.len() / 2]].concat()),
        [false, true]
    );
    assert_eq!(lost(b""), [true, true]);
    assert_eq!(lost(b"{}\n"), [true, true]);
    fs::remove_file(&path).unwrap();
    assert!(
        made.raw()
            .iter()
            .all(|raw| matches!(raw, Err(Lost::Missing(_))))
    );
}

#[test]
fn a_page_that_unfolds_too_far_is_no_longer_given() {
    let made = Made::of(&[("a.warc", coded("http://x/1", 1, "<p>one page"))]);
    let collection = made.open();
    let seen: Sighting = collection.captures_of(0).unwrap().remove(0);
    let path = made.path().join("a.warc");
    fs::write(&path, coded("http://x/1", 1, &"0".repeat(2 << 20))).unwrap();
    let raw = collection.raw(&seen).unwrap();
    assert!(matches!(raw, Err(Lost::Changed(_))), "{raw:?}");
}
