//! The readers together: files of every kind, sound and broken, through the same doors
//! that callers use. Every record that is read is also read again and compared.

mod broken;

mod kinds;

mod reference;

use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::inputs::{Inputs, Source};
use super::options::ReadOptions;
use super::read::{SourceError, fetch, read_source};
use super::record::{Body, Offset, Record, Refused};

/// A record, without what it borrows.
#[derive(Clone, Debug, PartialEq)]
struct Got {
    offset: u64,
    id: Option<String>,
    url: Option<String>,
    /// Everything.
    all: String,
    /// The text of its document, or the word for why there is none.
    text: String,
}

impl Got {
    fn of(record: &Record<'_>, options: &ReadOptions) -> Got {
        let text = match (&record.body, record.document(options)) {
            (_, Ok(document)) => document.text().into_owned(),
            (_, Err(why)) => why.code().to_owned(),
        };
        let body = match &record.body {
            Body::Bytes { bytes, .. } => bytes.to_vec(),
            Body::Text(text) => text.as_bytes().to_vec(),
            _ => Vec::new(),
        };
        let (date, archived) = (record.date, &record.archived);
        let rest = format!("{date:?} {body:?} {archived:?} {}", record.repaired);
        Got {
            offset: record.offset.0,
            id: record.id.as_deref().map(str::to_owned),
            url: record.url.as_deref().map(str::to_owned),
            all: rest,
            text,
        }
    }
}

/// What a file gave.
#[derive(Debug, Default)]
struct Outcome {
    records: Vec<Got>,
    refused: Vec<Refused>,
    errors: Vec<SourceError>,
}

impl Outcome {
    fn texts(&self) -> Vec<&str> {
        self.records.iter().map(|got| got.text.as_str()).collect()
    }

    fn codes(&self) -> Vec<&str> {
        self.refused.iter().map(|refused| refused.code).collect()
    }
}

/// Reads a source, and each record again.
fn read_and_fetch(source: &Source, options: &ReadOptions, outcome: &mut Outcome) {
    let (mut records, mut refused) = (Vec::new(), Vec::new());
    let result = read_source(source, options, &mut |batch| {
        batch.for_each(&mut |read| match read {
            Ok(record) => records.push(Got::of(&record, options)),
            Err(why) => refused.push(why),
        });
        ControlFlow::Continue(())
    });
    let increases = records
        .windows(2)
        .all(|pair| pair[0].offset < pair[1].offset);
    assert!(increases, "offsets increase: {:?}", source.name);
    // All of them, and every third only.
    for step in [1, 3] {
        let expected: Vec<&Got> = records.iter().step_by(step).collect();
        let offsets: Vec<Offset> = expected.iter().map(|got| Offset(got.offset)).collect();
        let mut again = Vec::new();
        fetch(source, &offsets, options, &mut |offset, read| {
            let record = read.unwrap_or_else(|why| panic!("{offset:?}: {why}"));
            again.push(Got::of(&record, options));
        })
        .expect("readable a second time");
        assert!(
            again.iter().eq(expected),
            "the same again: {:?}",
            source.name
        );
    }
    outcome.records.extend(records);
    outcome.refused.extend(refused);
    outcome.errors.extend(result.err());
}

/// Reads what a path names.
fn read_path(path: &Path, options: &ReadOptions) -> Outcome {
    let inputs = Inputs::expand(&[path], options);
    let mut outcome = Outcome::default();
    for (_, refused) in inputs.refused {
        outcome.refused.push(refused);
    }
    for source in &inputs.sources {
        read_and_fetch(source, options, &mut outcome);
    }
    outcome
}

/// Reads bytes as a file of that name.
fn read_with(name: &str, bytes: &[u8], options: &ReadOptions) -> Outcome {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).expect("a file");
    read_path(&path, options)
}

fn read(name: &str, bytes: &[u8]) -> Outcome {
    read_with(name, bytes, &ReadOptions::default())
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

pub(crate) fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 0).expect("memory")
}

/// A WARC record.
pub(crate) fn warc(kind: &str, fields: &str, block: &[u8]) -> Vec<u8> {
    let len = block.len();
    let mut record =
        format!("WARC/1.0\r\nWARC-Type: {kind}\r\n{fields}Content-Length: {len}\r\n\r\n")
            .into_bytes();
    record.extend(block);
    record.extend(b"\r\n\r\n");
    record
}

/// A response with a page.
pub(crate) fn page(url: &str, body: &str) -> Vec<u8> {
    let fields = format!(
        "WARC-Target-URI: {url}\r\nWARC-Date: 2026-11-16T01:02:03Z\r\nContent-Type: application/http\r\n"
    );
    let block = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>{body}");
    warc("response", &fields, block.as_bytes())
}

/// Three pages, the first and the last of them the canaries.
pub(crate) fn three_pages() -> [Vec<u8>; 3] {
    ["one", "two", "three"].map(|name| page(&format!("http://x/{name}"), name))
}
