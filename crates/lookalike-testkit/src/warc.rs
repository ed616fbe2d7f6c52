//! The pages in a WARC file, read the shortest way: for tests, on good files.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;

/// Each response record of a `.warc.gz`: its URL and the body of the HTTP message,
/// as stored. Reads everything into memory.
pub fn responses(path: &Path) -> io::Result<Vec<(String, Vec<u8>)>> {
    let mut warc = Vec::new();
    MultiGzDecoder::new(File::open(path)?).read_to_end(&mut warc)?;
    let mut responses = Vec::new();
    let mut rest = warc.as_slice();
    while !rest.is_empty() {
        let (head, after) = split_head(rest)?;
        let field = |name: &str| {
            let mut lines = head.lines().filter_map(|line| line.split_once(':'));
            let found = lines.find(|(key, _)| key.eq_ignore_ascii_case(name));
            found.map_or("", |(_, value)| value.trim())
        };
        let len = field("content-length").parse().map_err(io::Error::other)?;
        let block: &[u8] = after.get(..len).ok_or(io::ErrorKind::UnexpectedEof)?;
        if field("warc-type") == "response" {
            let (_, body) = split_head(block)?;
            responses.push((field("warc-target-uri").to_owned(), body.to_vec()));
        }
        // Two line ends close a record.
        rest = after.get(len + 4..).unwrap_or_default();
    }
    Ok(responses)
}

/// Header lines, and what follows the empty line after them.
fn split_head(bytes: &[u8]) -> io::Result<(String, &[u8])> {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n");
    let end = end.ok_or(io::ErrorKind::UnexpectedEof)?;
    let (head, rest) = bytes.split_at(end);
    let head = String::from_utf8_lossy(head).into_owned();
    Ok((head, rest.get(4..).unwrap_or_default()))
}
