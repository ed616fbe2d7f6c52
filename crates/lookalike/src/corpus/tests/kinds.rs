//! Sound inputs of every kind.

use lookalike_core::canonical::TokenKind;

use super::super::document::Format;
use super::super::inputs::SourceKind;
use super::super::options::InputFormat;
use super::super::read::read_stream_of;
use super::super::record::{Timestamp, When};
use super::*;

#[test]
fn json_lines_give_their_fields_packed_or_not() {
    let lines = concat!(
        "\u{feff}{\"text\":\"one\",\"id\":7,\"url\":\"http://x/1\",\"date\":\"2026-11-16\"}\r\n",
        "\n  \r\n",
        "{\"id\":\"b\",\"extra\":[{}],\"text\":\"two\\nlines\"}\n",
        "{\"text\":\"\u{e9}t\u{e9}\",\"id\":null}",
    );
    let lines = lines.as_bytes();
    for (name, bytes) in [
        ("a.jsonl", lines.to_vec()),
        ("a.ndjson", lines.to_vec()),
        ("a.jsonl.gz", gzip(lines)),
        ("a.jsonl.zst", zstd(lines)),
        ("a.jsonl", gzip(lines)),
        ("a.jsonl.gz", lines.to_vec()),
        ("data", zstd(lines)),
        ("a.json.gz", gzip(lines)),
        (
            "a.jsonl.gz",
            [gzip(&lines[..50]), gzip(&lines[50..])].concat(),
        ),
    ] {
        let got = read(name, &bytes);
        assert_eq!(got.texts(), ["one", "two\nlines", "été"], "{name}");
        let ids: Vec<_> = got.records.iter().map(|got| got.id.as_deref()).collect();
        assert_eq!(ids, [Some("7"), Some("b"), None], "{name}");
        assert_eq!(got.records[0].url.as_deref(), Some("http://x/1"));
        let date = format!("{:?}", When::At(Timestamp(1_794_787_200)));
        assert!(
            got.records[0].all.starts_with(&date),
            "{:?}",
            got.records[0]
        );
        assert!(got.refused.is_empty() && got.errors.is_empty(), "{got:?}");
    }
}

#[test]
fn other_field_names_reach_into_objects() {
    let options = ReadOptions {
        text_field: "doc.body".to_owned(),
        id_field: "doc.meta.key".to_owned(),
        ..ReadOptions::default()
    };
    let line = br#"{"doc":{"meta":{"key":1},"body":"text"}}"#;
    let got = read_with("a.jsonl", line, &options);
    assert_eq!(got.texts(), ["text"]);
    assert_eq!(got.records[0].id.as_deref(), Some("1"));
}

#[test]
fn features_come_as_a_list_of_strings_and_integers() {
    let options = ReadOptions {
        tokens: TokenKind::Feature,
        ..ReadOptions::default()
    };
    let lines = br#"{"id":1,"features":["a b",7,-3]}
{"id":2,"text":"x\ny"}
{"id":3,"features":[1.5]}
{"id":4,"features":"a"}
{"id":5}"#;
    let got = read_with("a.jsonl", lines, &options);
    assert_eq!(got.texts(), ["a b\n7\n-3", "x\ny"]);
    assert_eq!(got.codes(), ["wrong type", "wrong type", "no text"]);
}

#[test]
fn rows_give_the_same_fields_as_lines() {
    let rows = concat!(
        "\u{feff}id,\"text\",url,other\r\n",
        "7,\"one, \"\"quoted\"\"\",http://x/1,x\r\n",
        "\r\n",
        "8,\"two\nlines\"\r\n",
        "9\n",
        ",last,,",
    );
    for (name, bytes) in [
        ("a.csv", rows.as_bytes().to_vec()),
        ("a.csv.gz", gzip(rows.as_bytes())),
        ("a.csv", zstd(rows.as_bytes())),
    ] {
        let got = read(name, &bytes);
        assert_eq!(got.texts(), ["one, \"quoted\"", "two\nlines", "last"]);
        let ids: Vec<_> = got.records.iter().map(|got| got.id.as_deref()).collect();
        assert_eq!(ids, [Some("7"), Some("8"), None]);
        assert_eq!(got.codes(), ["no text"]);
    }
    let got = read("a.csv", b"a,b\n1,2\n");
    let error = std::error::Error::source(&got.errors[0]).map(ToString::to_string);
    assert_eq!(
        error.as_deref(),
        Some("there is no column `text`; there are: a, b")
    );
}

/// One dictionary frame, then a frame for each record.
fn with_dictionary(records: &[Vec<u8>], dictionary: &[u8], stored: &[u8]) -> Vec<u8> {
    let mut out = b"\x5d\x2a\x4d\x18".to_vec();
    out.extend(u32::try_from(stored.len()).expect("small").to_le_bytes());
    out.extend(stored);
    for record in records {
        let mut packer = zstd::bulk::Compressor::with_dictionary(3, dictionary).expect("memory");
        out.extend(packer.compress(record).expect("memory"));
    }
    out
}

#[test]
fn a_warc_gives_its_pages_however_it_is_packed() {
    let pages = three_pages();
    let plain = pages.concat();
    let dictionary = plain.repeat(3);
    for (name, bytes) in [
        ("a.warc", plain.clone()),
        ("a.warc.gz", plain.clone()),
        (
            "a.warc.gz",
            pages.iter().flat_map(|page| gzip(page)).collect(),
        ),
        ("a.warc", pages.iter().flat_map(|page| gzip(page)).collect()),
        ("a", pages.iter().flat_map(|page| gzip(page)).collect()),
        ("a.warc.gz", gzip(&plain)),
        ("a.warc.zst", zstd(&plain)),
        (
            "a.warc.zst",
            pages.iter().flat_map(|page| zstd(page)).collect(),
        ),
        (
            "a.warc.zst",
            with_dictionary(&pages, &dictionary, &dictionary),
        ),
        (
            "a.warc.zst",
            with_dictionary(&pages, &dictionary, &zstd(&dictionary)),
        ),
        // In blocks that end anywhere, as bgzip makes them.
        ("a.warc.gz", plain.chunks(100).flat_map(gzip).collect()),
        // One record alone, then two together.
        (
            "a.warc.gz",
            [gzip(&pages[0]), gzip(&pages[1..].concat())].concat(),
        ),
        ("a.wet.gz", [gzip(b""), gzip(&plain), gzip(b"")].concat()),
        // Zeros behind the end are no loss.
        ("a.warc.gz", [gzip(&plain), vec![0; 5000]].concat()),
    ] {
        let got = read(name, &bytes);
        assert_eq!(got.texts(), ["one", "two", "three"], "{name} {got:?}");
        assert!(got.refused.is_empty() && got.errors.is_empty(), "{got:?}");
    }
    let members: Vec<u8> = pages.iter().flat_map(|page| gzip(page)).collect();
    let offsets: Vec<u64> = read("a.warc.gz", &members)
        .records
        .iter()
        .map(|got| got.offset)
        .collect();
    let (one, two) = (gzip(&pages[0]).len() as u64, gzip(&pages[1]).len() as u64);
    assert_eq!(offsets, [0, one, one + two], "those of the members");
}

#[test]
fn a_wacz_gives_the_pages_of_its_warc_files() {
    let pages = three_pages();
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let stored =
        zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    let deflated = stored.compression_method(zip::CompressionMethod::Deflated);
    for (name, options, bytes) in [
        ("datapackage.json", deflated, b"{}".to_vec()),
        ("archive/b.warc", deflated, pages[2].clone()),
        (
            "archive/a.warc.gz",
            stored,
            [gzip(&pages[0]), gzip(&pages[1])].concat(),
        ),
        ("indexes/index.cdx", stored, b"x".to_vec()),
    ] {
        archive.start_file(name, options).expect("memory");
        archive.write_all(&bytes).expect("memory");
    }
    let bytes = archive.finish().expect("memory").into_inner();
    let got = read("a.wacz", &bytes);
    assert_eq!(got.texts(), ["one", "two", "three"], "{got:?}");
    assert_eq!(read("a.wacz", &bytes[..bytes.len() / 2]).errors.len(), 1);
}

#[test]
fn types_of_records_are_told_apart() {
    let all = [
        warc("warcinfo", "", b"software: x\r\n"),
        warc("request", "", b"GET / HTTP/1.1\r\n\r\n"),
        page("<http://x/brackets>", "page"),
        warc("metadata", "", b"x"),
        warc(
            "revisit",
            "WARC-Target-URI: http://x/again\r\nWARC-Payload-Digest: sha1:AAA\r\nWARC-Refers-To-Target-URI: http://x/\r\n",
            b"HTTP/1.1 200 OK\r\n\r\n",
        ),
        warc("resource", "Content-Type: text/plain\r\n", b"resource"),
        warc("conversion", "Content-Type: text/plain\r\n", b"conv\xff"),
        warc("response", "", b"HTTP/1.1 301 Moved\r\n\r\n"),
        warc("response", "", b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n\r\nx"),
        warc("resource", "WARC-Target-URI: metadata://gnu.org/x\r\n", b"log"),
        warc("response", "Content-Type: text/dns\r\nWARC-Target-URI: dns:x\r\n", b"20260101"),
        warc("novelty", "", b"x"),
        page("http://x/jpeg", "").iter().chain(b"").copied().collect(),
    ]
    .concat();
    let got = read("a.warc", &all);
    assert_eq!(
        got.texts(),
        ["page", "revisit", "resource", "conv\u{fffd}", ""]
    );
    assert_eq!(got.records[0].url.as_deref(), Some("http://x/brackets"));
    assert_eq!(
        got.codes(),
        [
            "warcinfo",
            "request",
            "metadata",
            "status",
            "not text",
            "metadata",
            "not text",
            "unknown type"
        ]
    );
    assert!(got.refused.iter().all(|refused| !refused.is_rejected));
}

#[test]
fn the_charset_of_the_response_is_obeyed() {
    let block = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=KOI8-R\r\n\r\n<meta charset=utf-8>\xd4\xc5\xcb\xd3\xd4";
    let got = read("a.warc", &warc("response", "", block));
    assert_eq!(got.texts(), ["текст"]);
}

#[test]
fn bodies_in_chunks_and_packed_give_equal_text() {
    let text = "<p>the same text in every body";
    let mut chunked = String::new();
    for part in text.as_bytes().chunks(7) {
        let part = str::from_utf8(part).expect("ASCII");
        for part in [&format!("{:x}", part.len()), "\r\n", part, "\r\n"] {
            chunked.push_str(part);
        }
    }
    chunked += "0\r\n\r\n";
    let response = |fields: &str, body: &[u8]| {
        let mut block =
            format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n{fields}\r\n").into_bytes();
        block.extend(body);
        warc("response", "", &block)
    };
    let all = [
        response("", text.as_bytes()),
        response("Transfer-Encoding: chunked\r\n", chunked.as_bytes()),
        response("Transfer-Encoding: chunked\r\n", text.as_bytes()),
        response("Content-Encoding: gzip\r\n", &gzip(text.as_bytes())),
        response("Content-Encoding: gzip\r\n", text.as_bytes()),
        response("Content-Encoding : gzip\n", &gzip(text.as_bytes())),
    ]
    .concat();
    let got = read("a.warc", &all);
    assert_eq!(got.texts(), ["the same text in every body"; 6], "{got:?}");
}

#[test]
fn a_folder_gives_its_files_and_containers() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = |name: &str| folder.path().join(name);
    for (name, bytes) in [
        ("a.html", b"<p>page".to_vec()),
        ("b.md", b"<div># Title".to_vec()),
        ("c", b"<div>page".to_vec()),
        ("d.json", b"{\"text\":\"a document\"}".to_vec()),
        ("e.jsonl", b"{\"text\":\"a record\"}\n".to_vec()),
        ("f.warc.gz", gzip(&page("http://x/", "a page"))),
        ("g.gz", gzip(b"packed")),
        (".hidden", b"x".to_vec()),
    ] {
        std::fs::write(at(name), bytes).expect("a file");
    }
    let got = read_path(folder.path(), &ReadOptions::default());
    assert_eq!(
        got.texts(),
        [
            "page",
            "<div># Title",
            "page",
            "{\"text\":\"a document\"}",
            "a record",
            "a page",
            "binary"
        ]
    );
    assert_eq!(got.codes(), ["hidden"]);
    // Named itself, a packed document is unpacked.
    assert_eq!(
        read_path(&at("g.gz"), &ReadOptions::default()).texts(),
        ["packed"]
    );
    let pattern = at("[abc]*");
    assert_eq!(
        read_path(&pattern, &ReadOptions::default()).records.len(),
        3
    );
    let none = read_path(&at("z*"), &ReadOptions::default());
    assert_eq!(none.codes(), ["missing"]);
}

#[test]
fn a_format_that_is_asked_for_is_taken() {
    let options = ReadOptions {
        input: InputFormat::Document,
        format: Format::Text,
        ..ReadOptions::default()
    };
    let got = read_with("a.jsonl", b"{\"text\":\"a\"}\n", &options);
    assert_eq!(got.texts(), ["{\"text\":\"a\"}\n"]);
    let options = ReadOptions {
        input: InputFormat::Jsonl,
        ..ReadOptions::default()
    };
    assert_eq!(
        read_with("a.txt", b"{\"text\":\"a\"}\n", &options).texts(),
        ["a"]
    );
}

#[test]
fn standard_input_is_one_source_and_is_not_read_again() {
    let options = ReadOptions::default();
    let inputs = Inputs::expand(&["-", "-"], &options);
    assert_eq!(inputs.sources.len(), 1);
    let source = &inputs.sources[0];
    assert_eq!(
        (source.kind, source.name.as_str()),
        (SourceKind::Stdin, "-")
    );
    let error = fetch(source, &[Offset(0)], &options, &mut |_, _| {}).expect_err("no file");
    assert!(matches!(
        error.fault,
        super::super::read::SourceFault::NotAgain
    ));
    for kind in ["jsonl", "warc", "packed document"] {
        let known = SourceKind::from_name(kind).map(SourceKind::name);
        assert_eq!(known, Some(kind));
    }
}

#[test]
fn formats_that_are_not_read_say_what_to_do() {
    let got = read("a.arc", b"filedesc://x 0.0.0.0");
    assert_eq!(got.codes(), ["not supported"]);
    assert!(got.refused[0].message.contains("ARC"), "{got:?}");
}

#[test]
fn batches_are_about_as_large_as_promised_and_always_the_same() {
    let mut lines = Vec::new();
    for i in 0..20_000 {
        lines.extend(format!("{{\"id\":{i},\"text\":\"{}\"}}\n", "word ".repeat(i % 40)).bytes());
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("a.jsonl");
    std::fs::write(&path, &lines).expect("a file");
    let options = ReadOptions::default();
    let inputs = Inputs::expand(&[&path], &options);
    let lens = || {
        let mut lens = Vec::new();
        let read = read_source(&inputs.sources[0], &options, &mut |batch| {
            lens.push(batch.byte_len());
            ControlFlow::Continue(())
        });
        read.expect("readable");
        lens
    };
    let first = lens();
    assert_eq!(first, lens());
    assert_eq!(first.iter().sum::<usize>(), lines.len());
    assert!(
        first.len() > 3 && first.iter().all(|len| *len <= 1 << 20),
        "{first:?}"
    );
    // Whoever has enough is asked no more.
    let mut calls = 0;
    read_source(&inputs.sources[0], &options, &mut |_| {
        calls += 1;
        ControlFlow::Break(())
    })
    .expect("to have enough is no error");
    assert_eq!(calls, 1);
    assert_eq!(read("a.jsonl", &lines).records.len(), 20_000);
    assert_eq!(read("a.jsonl.gz", &gzip(&lines)).records.len(), 20_000);
}

#[test]
fn a_stream_without_a_name_is_told_by_its_first_bytes() {
    let line = b"{\"text\":\"line\"}\n".to_vec();
    let text = |bytes: &[u8]| {
        let options = ReadOptions::default();
        let mut texts = Vec::new();
        let reader = Box::new(std::io::Cursor::new(bytes.to_vec()));
        let read = read_stream_of(reader, &options, &mut |batch| {
            batch.for_each(&mut |read| {
                texts.push(match read {
                    Ok(record) => Got::of(&record, &options).text,
                    Err(refused) => refused.code.to_owned(),
                });
            });
            ControlFlow::Continue(())
        });
        read.map(|()| texts).map_err(|fault| fault.to_string())
    };
    let one = |text: &str| Ok(vec![text.to_owned()]);
    assert_eq!(text(&page("http://x/", "page")), one("page"));
    assert_eq!(text(&gzip(&page("http://x/", "page"))), one("page"));
    assert_eq!(text(&zstd(&page("http://x/", "page"))), one("page"));
    assert_eq!(text(&line), one("line"));
    assert_eq!(text(&gzip(&line)), one("line"));
    assert_eq!(text(b"{\n"), one("bad json"));
    assert_eq!(text(b"plain text"), one("plain text"));
    assert_eq!(text(b"<div>page"), one("page"));
    assert_eq!(text(&gzip(b"plain text")), one("plain text"));
    let parquet = text(b"PAR1....");
    assert_eq!(
        parquet,
        Err("give Parquet as a file, not on standard input".to_owned())
    );
    assert_eq!(text(b""), one("empty"));
}
