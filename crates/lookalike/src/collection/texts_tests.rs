//! The text that is shown is the text that was sketched, or none.

use std::fs;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::{ArrayRef, StringArray};
use lookalike_testkit::texts::{line, words};
use parquet::basic::Compression;
use tempfile::TempDir;

use super::Collection;
use super::texts::{Lost, tasks};
use super::verify::verify;
use crate::add::{AddOptions, add, fault_tests::options};
use crate::core::canonical::TokenKind;
use crate::core::recipe::Recipe;
use crate::core::seed::{Key, Seed};
use crate::core::sketcher::Sketcher;
use crate::corpus::inputs::Inputs;
use crate::corpus::options::ReadOptions;
use crate::corpus::parquet::tests::parquet;
use crate::corpus::read::read_source;
use crate::corpus::tests::{gzip, page, warc, zstd};
use crate::storage::disk::Disk;

/// Inputs, and a collection of them beside.
struct Made {
    folder: TempDir,
    options: AddOptions,
}

impl Made {
    fn of(files: &[(&str, Vec<u8>)]) -> Made {
        let keep_text = false;
        Made::with(
            files,
            AddOptions {
                keep_text,
                ..options(2, 32 << 20)
            },
        )
    }

    fn with(files: &[(&str, Vec<u8>)], options: AddOptions) -> Made {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("in")).unwrap();
        for (name, bytes) in files {
            fs::write(folder.path().join("in").join(name), bytes).unwrap();
        }
        let made = Made { folder, options };
        made.add("in", made.options.keep_text);
        made
    }

    fn add(&self, input: &str, keep_text: bool) {
        let options = AddOptions {
            keep_text,
            ..self.options.clone()
        };
        let inputs = Inputs::expand(&[self.at(input)], &options.reading);
        add(&self.at("collection"), &inputs, &options, &mut |_| {}).unwrap();
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn open(&self) -> Collection {
        Collection::open(&self.at("collection")).unwrap()
    }

    /// What a reader of the inputs sees.
    fn expected(&self) -> Vec<String> {
        let reading = &self.options.reading;
        let mut texts = Vec::new();
        for source in &Inputs::expand(&[self.at("in")], reading).sources {
            read_source(source, reading, &mut |batch| {
                batch.for_each(&mut |record| {
                    let record = record.unwrap();
                    texts.push(record.document(reading).unwrap().text().into_owned());
                });
                ControlFlow::Continue(())
            })
            .unwrap();
        }
        texts
    }

    fn found(&self) -> Vec<Result<String, Lost>> {
        let collection = self.open();
        let all: Vec<u32> = (0..collection.documents()).collect();
        collection.texts(&all).unwrap()
    }
}

fn text(seed: u64) -> String {
    words(seed, 40).join(" ")
}

fn lines(seeds: std::ops::Range<u64>) -> Vec<u8> {
    let line = |seed: u64| line(&seed.to_string(), &text(seed));
    seeds.map(line).collect::<String>().into_bytes()
}

fn pages(seeds: std::ops::Range<u64>) -> Vec<Vec<u8>> {
    let page = |seed: u64| page(&format!("http://x/{seed}"), &text(seed));
    seeds.map(page).collect()
}

pub(super) fn wacz(files: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, bytes) in files {
        let options = zip::write::SimpleFileOptions::default();
        archive.start_file(*name, options).unwrap();
        archive.write_all(bytes).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

/// One of everything that is read: UTF-8 and not, HTML and not.
fn every_kind() -> Vec<(&'static str, Vec<u8>)> {
    let packed = |from: u64| pages(from..from + 3);
    let csv = (20..23).map(|seed| format!("{seed},\"{},\n\"\"x\"\"\"\n", text(seed)));
    let csv = csv.collect::<Vec<_>>().concat();
    let rows: Vec<String> = (50..55).map(text).collect();
    let column: ArrayRef = Arc::new(StringArray::from(rows));
    let latin =
        b"<meta charset=iso-8859-2><p>\xb1\xe6\xea <b>\xb3\xf1\xf3</b>\xb6\xbc\xbf &lt;x&gt;";
    let http = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=shift_jis\r\n\r\n<p>\x82\xb1\x82\xf1 \x82\xc9\x82\xbf\x82\xcd";
    let fields = "WARC-Target-URI: http://x/jp\r\nContent-Type: application/http\r\n";
    vec![
        (
            "a.html",
            format!("<title>t</title><p>{}", text(1)).into_bytes(),
        ),
        ("b.html", [&latin[..], text(2).as_bytes()].concat()),
        ("c.txt", b"\xff\xfea\x00 \x00r\x00o\x00s\x00e\x00".to_vec()),
        ("d.txt", format!("\u{feff}{}\r\n<p>", text(3)).into_bytes()),
        ("e.jsonl", lines(4..8)),
        ("f.jsonl.gz", gzip(&lines(8..12))),
        ("g.jsonl.zst", zstd(&lines(12..16))),
        ("h.csv", format!("id,text\n{csv}").into_bytes()),
        (
            "i.warc",
            [packed(24).concat(), warc("response", fields, http)].concat(),
        ),
        (
            "j.warc.gz",
            packed(27).iter().flat_map(|page| gzip(page)).collect(),
        ),
        ("k.warc.gz", gzip(&packed(30).concat())),
        ("l.warc.zst", zstd(&packed(33).concat())),
        (
            "m.wacz",
            wacz(&[
                ("archive/a.warc", packed(36).concat()),
                ("archive/b.warc", packed(39).concat()),
            ]),
        ),
        (
            "n.parquet",
            parquet(vec![("text", column)], 2, Compression::SNAPPY),
        ),
    ]
}

#[test]
fn every_kind_of_input_shows_the_text_that_was_read() {
    let made = Made::of(&every_kind());
    let collection = made.open();
    let expected = made.expected();
    assert!(expected[1].starts_with("ąćę łńóśźż <x>"), "{}", expected[1]);
    let found = made.found();
    for (found, expected) in found.iter().zip(&expected) {
        assert_eq!(found.as_ref(), Ok(expected));
    }
    assert_eq!(found.len(), expected.len());
    // One at a time, and in any order, and more than once.
    for doc in 0..collection.documents() {
        assert_eq!(
            collection.text(doc).unwrap().as_ref(),
            Ok(&expected[doc as usize])
        );
    }
    let odd = collection.texts(&[9, 0, 9, 40]).unwrap();
    let odd: Vec<&str> = odd.iter().map(|text| text.as_deref().unwrap()).collect();
    assert_eq!(odd, [9, 0, 9, 40].map(|doc: usize| &expected[doc][..]));
    // By several at once.
    std::thread::scope(|scope| {
        for first in 0..4 {
            let (collection, expected) = (&collection, &expected);
            scope.spawn(move || {
                for doc in (first..collection.documents()).step_by(3) {
                    let text = collection.text(doc).unwrap();
                    assert_eq!(text.as_ref(), Ok(&expected[doc as usize]));
                }
            });
        }
    });
}

#[test]
fn places_are_told_as_people_say_them() {
    let made = Made::of(&every_kind());
    let collection = made.open();
    let told = |name: &str| {
        let all = (0..collection.documents()).map(|doc| collection.place(doc).unwrap());
        let mut of_file = all.filter(|place| place.name.ends_with(name));
        let place = of_file.nth(1).or_else(|| of_file.next());
        place.map(|place| {
            place
                .to_string()
                .replace(made.at("in").to_str().unwrap(), "in")
        })
    };
    let second = lines(4..5).len();
    assert_eq!(
        told("e.jsonl"),
        Some(format!("in/e.jsonl, offset {second}"))
    );
    assert_eq!(told("n.parquet"), Some("in/n.parquet, row 1".to_owned()));
    let second = pages(36..37).concat().len();
    assert_eq!(
        told("m.wacz"),
        Some(format!("in/m.wacz, WARC file 0, offset {second}"))
    );
    let first = collection.place(0).unwrap();
    assert_eq!(first.path, Some(made.at("in/a.html")));
    assert_eq!((first.to_string(), first.offset), (first.name, None));
}

#[test]
fn what_is_gone_or_changed_is_said_to_be() {
    let files = every_kind();
    let made = Made::of(&files);
    let expected = made.expected();
    let shown = |name: &str| crate::corpus::unusable::shown(&made.at("in").join(name));
    for (name, bytes) in &files {
        let path = made.at("in").join(name);
        let mut lost = 0;
        let mut check = |is_lost: fn(&Lost, &str) -> bool| {
            lost = 0;
            for (found, expected) in made.found().iter().zip(&expected) {
                match found {
                    Ok(text) => assert_eq!(text, expected),
                    Err(why) => {
                        assert!(is_lost(why, &shown(name)), "{name}: {why:?}");
                        lost += 1;
                    }
                }
            }
            assert!(lost > 0, "{name}");
        };
        fs::remove_file(&path).unwrap();
        check(|lost, path| *lost == Lost::Missing(path.to_owned()));
        fs::create_dir(&path).unwrap();
        check(|lost, path| *lost == Lost::Changed(path.to_owned()));
        fs::remove_dir(&path).unwrap();
        // Cut short, empty, and with other text of the same length.
        let changed = |lost: &Lost, path: &str| *lost == Lost::Changed(path.to_owned());
        fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
        check(changed);
        fs::write(&path, b"").unwrap();
        check(changed);
        let mut other = bytes.clone();
        for byte in &mut other[bytes.len() / 2..] {
            *byte = byte.wrapping_add(u8::from(byte.is_ascii_lowercase() && *byte < b'z'));
        }
        fs::write(&path, other).unwrap();
        check(changed);
        fs::write(&path, bytes).unwrap();
    }
    assert!(made.found().iter().all(Result::is_ok));
}

#[test]
fn a_charset_that_changed_is_a_text_that_changed() {
    let fields = "WARC-Target-URI: http://x/\r\nContent-Type: application/http\r\n";
    let with = |charset: &str| {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html; charset={charset}\r\n\r\n");
        warc(
            "response",
            fields,
            &[head.as_bytes(), b"<p>\xb1\xe6\xea \xb3\xf1\xf3"].concat(),
        )
    };
    let made = Made::of(&[("a.warc", with("iso-8859-2"))]);
    assert!(made.found()[0].is_ok());
    fs::write(made.at("in/a.warc"), with("iso-8859-5")).unwrap();
    assert!(matches!(made.found()[0], Err(Lost::Changed(_))));
}

#[test]
fn a_revisit_has_the_text_of_what_it_revisits() {
    let digest = |url: &str| {
        format!(
            "WARC-Target-URI: {url}\r\nWARC-Payload-Digest: sha1:AAAA\r\nContent-Type: application/http\r\n"
        )
    };
    let block = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>a rose is a rose";
    let records = [
        warc("revisit", &digest("http://x/2"), b""),
        warc("response", &digest("http://x/1"), block),
    ];
    let made = Made::of(&[("a.warc", records.concat())]);
    let text = || Ok("a rose is a rose".to_owned());
    assert_eq!(made.found(), [text(), text()]);
}

#[test]
fn features_are_shown_one_a_line() {
    for keep_text in [false, true] {
        show_features(keep_text);
    }
}

fn show_features(keep_text: bool) {
    let mut options = options(1, 32 << 20);
    options.keep_text = keep_text;
    options.recipe = Recipe {
        tokens: TokenKind::Feature,
        ..Recipe::default()
    };
    options.reading = ReadOptions {
        tokens: TokenKind::Feature,
        ..ReadOptions::default()
    };
    let lines = b"{\"features\":[\"a b\",\"c\\nd\",7]}\n".to_vec();
    let made = Made::with(&[("a.jsonl", lines)], options);
    assert_eq!(made.found(), [Ok("a b\nc\nd\n7".to_owned())]);
    has_its_tokens(&made);
}

#[test]
fn a_collection_with_a_key_shows_texts_without_it() {
    let mut options = options(1, 32 << 20);
    options.keep_text = false;
    options.recipe.seed =
        Seed::Secret(Key::from_bytes(b"0123456789abcdef0123456789abcdef").unwrap());
    let made = Made::with(&[("a.txt", b"a rose is a rose".to_vec())], options);
    assert_eq!(made.found(), [Ok("a rose is a rose".to_owned())]);
    fs::write(made.at("in/a.txt"), "a rose is no rose").unwrap();
    assert!(matches!(made.found()[0], Err(Lost::Changed(_))));
}

/// More sources than are marked, each found.
#[test]
fn each_of_many_files_is_found() {
    let name = |i: u64| format!("{i:04}.txt");
    let names: Vec<String> = (0..300).map(name).collect();
    let files: Vec<(&str, Vec<u8>)> = names
        .iter()
        .zip(0..)
        .map(|(name, i)| (name.as_str(), text(i).into_bytes()))
        .collect();
    let made = Made::of(&files);
    let collection = made.open();
    for doc in [0, 1, 63, 64, 65, 127, 128, 299] {
        let place = collection.place(doc).unwrap();
        assert_eq!(
            place.path.as_deref(),
            Some(&*made.at("in").join(&names[doc as usize]))
        );
        assert_eq!(collection.text(doc).unwrap(), Ok(text(doc.into())));
    }
}

/// Texts that come again are cut into the tokens that were sketched.
fn has_its_tokens(made: &Made) {
    let collection = made.open();
    let mut sketcher = Sketcher::new(&made.options.recipe);
    let all: Vec<u32> = (0..collection.documents()).collect();
    let mut seen = 0;
    for task in tasks(&collection, &all).unwrap() {
        task.read(&mut |doc, entry, again| {
            again.unwrap().document.sketch(&mut sketcher);
            assert_eq!(sketcher.tokens_name().0, entry.tokens_name, "{doc}");
            seen += 1;
        })
        .unwrap();
    }
    assert_eq!(seen, all.len());
}

#[test]
fn kept_texts_outlive_their_sources() {
    let made = Made::with(&every_kind(), options(2, 32 << 20));
    let expected: Vec<_> = made.expected().into_iter().map(Ok).collect();
    fs::remove_dir_all(made.at("in")).unwrap();
    assert_eq!(made.found(), expected);
    has_its_tokens(&made);
    let collection = made.open();
    assert_eq!(collection.text(3).unwrap(), expected[3]);
}

#[test]
fn long_texts_are_kept_in_several_frames() {
    let long = |seed, count| words(seed, count).join(" ").into_bytes();
    let files = [
        ("a.txt", long(1, 20)),
        ("b.txt", long(2, 500_000)),
        ("c.txt", long(3, 20)),
        ("d.txt", long(4, 20_000)),
        ("e.txt", long(5, 8_000)),
        ("f.txt", long(6, 8_000)),
    ];
    assert!(files[1].1.len() > 3 << 20 && files[4].1.len() < 64 << 10);
    let made = Made::with(&files, options(2, 32 << 20));
    let expected: Vec<_> = made.expected().into_iter().map(Ok).collect();
    fs::remove_dir_all(made.at("in")).unwrap();
    assert_eq!(made.found(), expected);
}

/// Sweeps that keep texts and sweeps that do not.
#[test]
fn a_text_is_kept_once() {
    let rose = words(1, 5_000).join(" ");
    let html = format!("<p>{rose}");
    let at = |name: &str| (name.to_owned(), rose.clone());
    let made = Made::of(&[("a.txt", rose.clone().into_bytes())]);
    let sweep = |folder: &str, files: &[(String, String)]| {
        fs::create_dir(made.at(folder)).unwrap();
        for (name, text) in files {
            fs::write(made.at(folder).join(name), text).unwrap();
        }
        made.add(folder, true);
        let collection = made.open();
        let sweep = collection.state().sweeps.last().unwrap();
        assert!(sweep.keeps_text);
        let name = super::file_name("texts", sweep.generation);
        collection.manifest().file(&name).unwrap().payload_len
    };
    let alone = sweep("second", &[at("b.txt")]);
    assert!(alone > 1_000);
    // Other bytes with the same tokens are another text.
    let two = [
        at("c.txt"),
        at("d.txt"),
        ("e.html".to_owned(), html.clone()),
    ];
    let lexical = sweep("third", &two);
    assert!(lexical < alone + alone / 2, "{lexical} {alone}");
    assert_eq!(
        sweep("fourth", &[at("f.txt"), ("g.html".to_owned(), html)]),
        0
    );
    assert_eq!(made.found(), vec![Ok(rose.clone()); 7]);
    for folder in ["in", "second", "third", "fourth"] {
        fs::remove_dir_all(made.at(folder)).unwrap();
    }
    let found = made.found();
    assert!(matches!(found[0], Err(Lost::Missing(_))));
    assert_eq!(found[1..], vec![Ok(rose); 6]);
}

#[test]
fn damage_to_kept_texts_is_noticed() {
    let made = Made::with(&every_kind(), options(1, 32 << 20));
    for name in ["texts-1.lk", "texts-places-1.lk"] {
        let entry = made.open().manifest().file(name).unwrap().clone();
        let packed = entry.packed.as_ref().expect("it is small");
        let path = made.at("collection").join(&packed.file);
        let whole = fs::read(&path).unwrap();
        let from = usize::try_from(packed.at).unwrap();
        let len = usize::try_from(entry.file_len).unwrap();
        for at in (from + 100..from + len).step_by(97) {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            fs::write(&path, bytes).unwrap();
            let collection = made.open();
            assert!(
                collection.texts(&[0]).unwrap_err().is_damage(),
                "{name} {at}"
            );
            let verified = verify(&Disk::new(&made.at("collection")), |_| {}).unwrap();
            assert_eq!(verified.faults.len(), 1);
        }
        fs::write(&path, &whole).unwrap();
    }
    assert!(made.found().iter().all(Result::is_ok));
}
