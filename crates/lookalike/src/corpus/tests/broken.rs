//! Broken and hostile inputs: what is sound around the damage is read, and what is lost
//! is told.

use proptest::prelude::*;

use super::super::options::Limits;
use super::*;

const CANARY: &str = "{\"text\":\"canary\"}\n";

#[test]
fn a_bad_line_is_named_and_the_lines_around_it_are_read() {
    let deep = format!("{{\"text\":\"x\",\"z\":{}", "[".repeat(400_000));
    let long_id = format!("{{\"text\":\"x\",\"id\":\"{}\"}}", "i".repeat(5000));
    let long_url = format!("{{\"text\":\"x\",\"url\":\"{}\"}}", "u".repeat(9000));
    let nested = "[".repeat(400_000);
    for (line, code) in [
        ("{\"text\":\"cut", "bad json"),
        ("{\"text\":\"x\",}", "bad json"),
        ("{\"text\":\"\\x\"}", "bad json"),
        ("random \u{0} rubbish", "not an object"),
        ("[1,2]", "not an object"),
        ("\"text\"", "not an object"),
        ("null", "not an object"),
        ("{\"id\":1}", "no text"),
        ("{\"text\":null}", "no text"),
        ("{\"text\":7}", "wrong type"),
        ("{\"text\":[\"a\"]}", "wrong type"),
        ("{\"text\":\"x\",\"id\":1.5}", "wrong type"),
        ("{\"text\":\"x\",\"id\":{}}", "wrong type"),
        ("{\"text\":\"x\",\"url\":7}", "wrong type"),
        (&deep, "too deep"),
        (&nested, "not an object"),
        (&long_id, "too large"),
        (&long_url, "too large"),
    ] {
        let all = format!("{CANARY}\n{line}\n{CANARY}");
        for (name, bytes) in [
            ("a.jsonl", all.clone().into_bytes()),
            ("a.jsonl.gz", gzip(all.as_bytes())),
        ] {
            let got = read(name, &bytes);
            let shown: String = line.chars().take(40).collect();
            assert_eq!(got.texts(), ["canary", "canary"], "{shown}");
            assert_eq!(got.codes(), [code], "{shown}");
            let refused = &got.refused[0];
            assert_eq!(
                (refused.at, refused.is_line, refused.is_rejected),
                (3, true, true)
            );
        }
    }
}

#[test]
fn text_that_is_none_is_repaired_and_counted() {
    let lines = b"{\"text\":\"caf\xe9\"}\n{\"text\":\"\\ud800!\"}\n{\"text\":\"a\x00\x07b\"}\n";
    let got = read("a.jsonl", lines);
    assert_eq!(got.texts(), ["caf\u{fffd}", "\u{fffd}!", "a\u{0}\u{7}b"]);
    let repaired: Vec<_> = got
        .records
        .iter()
        .map(|got| got.all.chars().last())
        .collect();
    assert_eq!(repaired, [Some('1'), Some('1'), Some('0')]);
}

#[test]
fn dates_that_do_not_exist_are_unknown() {
    for date in [
        "\"2026-02-30\"",
        "\"yesterday\"",
        "1700000000",
        "true",
        "{}",
    ] {
        let line = format!("{{\"text\":\"x\",\"date\":{date}}}");
        let got = read("a.jsonl", line.as_bytes());
        assert!(got.records[0].all.starts_with("Unreadable"), "{date}");
    }
    for line in ["{\"text\":\"x\",\"date\":null}", "{\"text\":\"x\"}"] {
        assert!(
            read("a.jsonl", line.as_bytes()).records[0]
                .all
                .starts_with("Unsaid")
        );
    }
}

#[test]
fn a_line_past_the_limit_is_refused_without_its_neighbours() {
    let options = ReadOptions {
        limits: Limits {
            line: 1000,
            ..Limits::default()
        },
        ..ReadOptions::default()
    };
    for len in [900, 1100, 600 << 10, 3 << 20] {
        let long = format!("{{\"text\":\"{}\"}}", "x".repeat(len));
        let all = format!("{CANARY}{long}\n{CANARY}");
        for (name, bytes) in [
            ("a.jsonl", all.clone().into_bytes()),
            ("a.jsonl.gz", gzip(all.as_bytes())),
        ] {
            let got = read_with(name, &bytes, &options);
            let is_over = long.len() > 1000;
            assert_eq!(got.records.len(), if is_over { 2 } else { 3 }, "{len}");
            assert_eq!(got.codes().len(), usize::from(is_over), "{len}");
            if is_over {
                assert_eq!((got.refused[0].at, got.refused[0].code), (2, "too large"));
                assert!(got.refused[0].message.contains("`line`"));
            }
        }
        let rows = format!("text\ncanary\n\"{}\"\ncanary\n", "x".repeat(len));
        let got = read_with("a.csv", rows.as_bytes(), &options);
        assert_eq!(got.codes().len(), usize::from(len > 1000), "{len}");
        assert_eq!(got.texts().last(), Some(&"canary"));
    }
    let endless = "x".repeat(2 << 20);
    let got = read_with("a.jsonl", endless.as_bytes(), &options);
    assert_eq!((got.records.len(), got.codes()), (0, vec!["too large"]));
}

#[test]
fn a_document_past_the_limit_is_refused_by_its_name() {
    let options = ReadOptions {
        limits: Limits {
            document: 10,
            record: 100,
            ..Limits::default()
        },
        ..ReadOptions::default()
    };
    let got = read_with("a.txt", &[b'x'; 11], &options);
    assert_eq!(got.texts(), ["too large"]);
    let got = read_with("a.txt", &[b'x'; 101], &options);
    assert_eq!((got.records.len(), got.codes()), (0, vec!["too large"]));
    assert!(got.refused[0].message.contains("`record`"));
    let packed = read_with("a.txt.gz", &gzip(&[b'x'; 101]), &options);
    assert_eq!(packed.codes(), ["too large"]);
}

#[test]
fn a_quote_that_never_closes_costs_its_row() {
    let got = read("a.csv", b"id,text\n1,one\n2,\"two\n3,three\n");
    assert_eq!(got.texts(), ["one", "three"]);
    assert_eq!(got.codes(), ["bad csv"]);
}

#[test]
fn empty_inputs_give_nothing_and_say_nothing() {
    for name in [
        "a.jsonl",
        "a.jsonl.gz",
        "a.csv",
        "a.warc",
        "a.warc.gz",
        "a.wet.zst",
    ] {
        for bytes in [&b""[..], b"\n\r\n\n"] {
            let got = read(name, bytes);
            let all = (got.records.len(), got.refused.len(), got.errors.len());
            assert_eq!(all, (0, 0, 0), "{name} {got:?}");
        }
    }
    assert_eq!(read("a.txt", b"").texts(), ["empty"]);
}

#[test]
fn a_damaged_member_costs_its_record_alone() {
    let pages = three_pages();
    let packed: Vec<Vec<u8>> = pages.iter().map(|page| gzip(page)).collect();
    let with_middle = |middle: &[u8]| [&packed[0], middle, &packed[2]].concat();
    let len = packed[1].len();
    let flipped = |at: usize| {
        let mut member = packed[1].clone();
        member[at] ^= 0x10;
        member
    };
    for (what, middle) in [
        ("a flipped bit", flipped(len / 2)),
        ("wrong checksum", flipped(len - 6)),
        ("wrong length", flipped(len - 2)),
        ("cut", packed[1][..len / 2].to_vec()),
        ("header only", packed[1][..10].to_vec()),
        ("part of a header", packed[1][..5].to_vec()),
        ("no trailer", packed[1][..len - 8].to_vec()),
        ("garbage", b"\x01garbage\xff".to_vec()),
    ] {
        let got = read("a.warc.gz", &with_middle(&middle));
        assert_eq!(got.texts(), ["one", "three"], "{what} {got:?}");
        assert_eq!(got.codes().first(), Some(&"damaged"), "{what}");
        assert_eq!(got.refused[0].at, packed[0].len() as u64, "{what}");
    }
    let cut = [&packed[0][..], &packed[1][..], &packed[2][..20]].concat();
    let got = read("a.warc.gz", &cut);
    assert_eq!(
        (got.texts(), got.codes()),
        (vec!["one", "two"], vec!["damaged"])
    );
    // Packed as a whole, what stands before the cut is kept.
    let whole = gzip(&pages.concat());
    let got = read("a.warc.gz", &whole[..whole.len() - 12]);
    assert_eq!(got.texts().first(), Some(&"one"), "{got:?}");
    assert!(got.codes().contains(&"damaged"));
}

#[test]
fn a_cut_packed_data_set_keeps_the_lines_before() {
    let mut lines = String::new();
    for i in 0..5000 {
        lines.push_str(&CANARY.replace("canary", &(i * 7919).to_string()));
    }
    for (name, packed) in [
        ("a.jsonl.gz", gzip(lines.as_bytes())),
        ("a.jsonl.zst", zstd(lines.as_bytes())),
    ] {
        let got = read(name, &packed[..packed.len() / 2]);
        assert_eq!(got.codes(), ["damaged"], "{name}");
        if name.ends_with("gz") {
            assert!(got.records.len() > 1000, "{}", got.records.len());
        }
    }
    // Another member behind the damage is found.
    let mut first = gzip(lines.as_bytes());
    let middle = first.len() / 2;
    first.truncate(middle);
    let got = read("a.jsonl.gz", &[first, gzip(CANARY.as_bytes())].concat());
    assert_eq!(got.texts().last(), Some(&"canary"));
    // What the decoder made of the wrong bytes before it noticed is refused as well.
    assert_eq!(got.codes().last(), Some(&"damaged"));
}

#[test]
fn wrong_lengths_never_hide_the_records_around_them() {
    let pages = three_pages();
    let middle = String::from_utf8(pages[1].clone()).expect("ASCII");
    let len = middle
        .split("Content-Length: ")
        .nth(1)
        .and_then(|rest| rest.split("\r\n").next());
    let len: u64 = len.and_then(|len| len.parse().ok()).expect("a length");
    for said in [
        "many".to_owned(),
        String::new(),
        "-5".to_owned(),
        (len + 1).to_string(),
        (len - 1).to_string(),
        (len + 100).to_string(),
        (len - 20).to_string(),
        (1_u64 << 31).to_string(),
        (i64::MAX).to_string(),
        "18446744073709551616".to_owned(),
    ] {
        let wrong = middle.replace(
            &format!("Content-Length: {len}"),
            &format!("Content-Length: {said}"),
        );
        let plain = [&pages[0], wrong.as_bytes(), &pages[2]].concat();
        let packed = [gzip(&pages[0]), gzip(wrong.as_bytes()), gzip(&pages[2])].concat();
        let whole = gzip(&plain);
        for (name, bytes) in [
            ("a.warc", plain),
            ("a.warc.gz", packed),
            ("b.warc.gz", whole),
        ] {
            let got = read(name, &bytes);
            assert_eq!(got.texts().first(), Some(&"one"), "{name} {said}");
            // In a stream of unknown length a length of gigabytes has to be believed.
            if name != "b.warc.gz" || said != "2147483648" {
                assert_eq!(got.texts().last(), Some(&"three"), "{name} {said} {got:?}");
            }
            let told = !got.refused.is_empty() || got.records.len() == 3;
            assert!(told, "{name} {said}");
        }
    }
}

#[test]
fn odd_heads_are_read_or_counted() {
    let block = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>text";
    let len = block.len();
    let record = |head: &str| format!("{head}Content-Length: {len}\r\n\r\n{block}\r\n\r\n");
    for (head, expected) in [
        ("WARC/1.0\nWARC-Type : response\nno colon\n", Ok(())),
        (
            "WARC/1.1\r\nwarc-type: Response\r\nWARC-Date: nonsense\r\n",
            Ok(()),
        ),
        ("WARC/1.0\r\nWARC-Type:\r\n response\r\n", Ok(())),
        (
            "WARC/9.9\r\nWARC-Type: response\r\n",
            Err("unknown version"),
        ),
        ("WARC/1.0\r\nX: y\r\n", Err("unknown type")),
    ] {
        let all = [
            page("http://x/1", "one"),
            record(head).into_bytes(),
            page("http://x/3", "three"),
        ]
        .concat();
        let got = read("a.warc", &all);
        match expected {
            Ok(()) => assert_eq!(got.texts(), ["one", "text", "three"], "{head}"),
            Err(code) => assert_eq!(got.codes(), [code], "{head}"),
        }
    }
    let long = page(&format!("http://x/{}", "u".repeat(100_000)), "long");
    let got = read("a.warc", &[long, page("http://x/", "short")].concat());
    assert_eq!(
        (got.texts(), got.codes()),
        (vec!["short"], vec!["too large"])
    );
    let picture = warc(
        "response",
        "",
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n\xff\xd8\xff\xe0",
    );
    assert_eq!(read("a.warc", &picture).texts(), ["binary"]);
    let inner = page("http://x/inner", "inner");
    let outer = warc("resource", "Content-Type: text/plain\r\n", &inner);
    assert_eq!(
        read("a.warc", &[outer.clone(), outer].concat())
            .records
            .len(),
        2
    );
}

#[test]
fn gzip_headers_may_have_every_field() {
    let page = page("http://x/", "text");
    let plain = gzip(&page);
    let mut fancy = plain[..10].to_vec();
    fancy[3] = 4 | 8 | 16 | 2;
    fancy.extend(b"\x04\x00abcdname\x00comment\x00\x00\x00");
    fancy.extend(&plain[10..]);
    assert_eq!(
        read("a.warc.gz", &fancy.repeat(2)).texts(),
        ["text", "text"]
    );
}

#[test]
fn bombs_are_refused_and_their_neighbours_read() {
    let options = ReadOptions {
        limits: Limits {
            record: 1 << 20,
            line: 1 << 20,
            ..Limits::default()
        },
        ..ReadOptions::default()
    };
    let zeros = vec![b'0'; 8 << 20];
    let bomb = warc("resource", "", &zeros);
    let pages = three_pages();
    for (name, bytes) in [
        (
            "a.warc.gz",
            [gzip(&pages[0]), gzip(&bomb), gzip(&pages[2])].concat(),
        ),
        (
            "a.warc.gz",
            [gzip(&pages[0]), gzip(&zeros), gzip(&pages[2])].concat(),
        ),
        (
            "a.warc.zst",
            [zstd(&pages[0]), zstd(&bomb), zstd(&pages[2])].concat(),
        ),
        (
            "a.warc",
            [pages[0].clone(), bomb.clone(), pages[2].clone()].concat(),
        ),
        (
            "a.warc.gz",
            gzip(&[pages[0].clone(), bomb, pages[2].clone()].concat()),
        ),
    ] {
        let got = read_with(name, &bytes, &options);
        assert_eq!(got.texts(), ["one", "three"], "{name} {:?}", got.refused);
        assert_eq!(got.codes(), ["too large"], "{name}");
        assert!(got.refused[0].message.contains("`record`"));
    }
    let lines = [CANARY.as_bytes(), &zeros, b"\n", CANARY.as_bytes()].concat();
    for bytes in [gzip(&lines), zstd(&lines)] {
        let got = read_with("a.jsonl", &bytes, &options);
        assert_eq!((got.records.len(), got.codes()), (2, vec!["too large"]));
    }
}

#[test]
fn a_window_past_the_limit_is_refused() {
    // A frame header that asks for a window of 3.75 TiB, and nothing more.
    let frame = b"\x28\xb5\x2f\xfd\x00\xff\x00\x00\x00\x00\x00\x00";
    let got = read("a.jsonl.zst", frame);
    assert_eq!(got.codes(), ["damaged"]);
    assert!(got.refused[0].message.contains("window"), "{got:?}");
}

#[test]
fn many_empty_members_are_passed_over() {
    let mut bytes = gzip(b"").repeat(20_000);
    bytes.extend(gzip(&page("http://x/", "text")));
    bytes.extend(gzip(b"").repeat(20_000));
    assert_eq!(read("a.warc.gz", &bytes).texts(), ["text"]);
}

#[cfg(unix)]
#[test]
fn paths_that_are_no_files_are_named_and_never_block() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::symlink;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = |name: &str| folder.path().join(name);
    symlink("gone", at("dangling.jsonl")).expect("a link");
    symlink("/dev/zero", at("zero.warc")).expect("a link");
    std::fs::write(
        folder.path().join(OsStr::from_bytes(b"caf\xe9\n.txt")),
        "text",
    )
    .expect("a file");
    std::fs::write(at("-rf"), "text").expect("a file");
    let options = ReadOptions::default();
    let inputs = Inputs::expand(
        &[
            folder.path(),
            &at("none"),
            &at("dangling.jsonl"),
            Path::new("/dev/null"),
        ],
        &options,
    );
    let codes: Vec<&str> = inputs
        .refused
        .iter()
        .map(|(_, refused)| refused.code)
        .collect();
    assert_eq!(
        codes,
        [
            "missing",
            "not a regular file",
            "missing",
            "missing",
            "not a regular file"
        ]
    );
    let names: Vec<_> = inputs
        .sources
        .iter()
        .map(|source| source.name.as_str())
        .collect();
    assert!(
        names[0].ends_with("-rf") && names[1].ends_with("caf\\xe9\\n.txt"),
        "{names:?}"
    );
    let got = read_path(folder.path(), &options);
    assert_eq!(got.texts(), ["text", "text"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn no_damage_costs_a_record_before_it(
        at in 0_usize..2000, bit in 0_u8..8, cuts in any::<bool>(), packing in 0..4,
    ) {
        let pages = three_pages();
        let parts: Vec<Vec<u8>> = match packing {
            0 => pages.iter().map(|page| gzip(page)).collect(),
            1 => pages.iter().map(|page| zstd(page)).collect(),
            2 => vec![gzip(&pages.concat())],
            _ => pages.to_vec(),
        };
        let mut bytes = parts.concat();
        let at = at % bytes.len();
        if cuts {
            bytes.truncate(at);
        } else {
            bytes[at] ^= 1 << bit;
        }
        let got = read("a.warc.gz", &bytes);
        // Whole parts before the damage; a plain record also needs the blank lines after it.
        let mut end = 0;
        for (part, text) in parts.iter().zip(["one", "two", "three"]) {
            end += part.len();
            if end > at || packing == 2 {
                break;
            }
            prop_assert!(got.texts().contains(&text), "{} {:?}", at, got);
        }
    }

    #[test]
    fn any_bytes_are_read_to_their_end(bytes in prop::collection::vec(any::<u8>(), 0..200), kind in 0_usize..5) {
        let start: &[u8] = [&b""[..], b"WARC/1.0\r\n", b"\x1f\x8b\x08\x00", b"\x28\xb5\x2f\xfd", b"PK\x03\x04"][kind];
        let bytes = [start, &bytes].concat();
        for name in ["a.jsonl", "a.csv", "a.warc", "a.wacz", "a.txt"] {
            read(name, &bytes);
        }
    }
}
