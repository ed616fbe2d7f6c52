//! Files in a tar stream, one at a time.
//!
//! ```text
//! Read ─► header (512 bytes) ─► name and length ─► the file's bytes ─► next header
//! ```
//!
//! What Debian packages hold: ustar, GNU long names, pax `path`. Memory: one file.

use anyhow::{Context, Result, ensure};
use std::io::{ErrorKind, Read};

const BLOCK: usize = 512;

/// A regular file.
pub struct Entry {
    /// Its path, as it stands.
    pub path: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// The regular files of a tar stream that `wanted` asks for, by path and length.
pub fn for_each_file(
    mut tar: impl Read,
    wanted: impl Fn(&str, u64) -> bool,
    mut each: impl FnMut(Entry) -> Result<()>,
) -> Result<()> {
    let mut long_name = None;
    loop {
        let mut header = [0_u8; BLOCK];
        match tar.read_exact(&mut header) {
            Err(end) if end.kind() == ErrorKind::UnexpectedEof => return Ok(()),
            other => other?,
        }
        if header.iter().all(|&byte| byte == 0) {
            continue;
        }
        let field = |at: usize, len: usize| {
            let bytes = header.get(at..at + len).unwrap_or_default();
            let text = bytes.split(|&byte| byte == 0).next().unwrap_or_default();
            String::from_utf8_lossy(text).trim().to_owned()
        };
        let size = u64::from_str_radix(&field(124, 12), 8).context("a tar header has no length")?;
        let padding = size.next_multiple_of(BLOCK as u64) - size;
        let kind = header[156];
        if matches!(kind, b'L' | b'x') {
            let bytes = take(&mut tar, size)?;
            let text = String::from_utf8_lossy(&bytes);
            let found = match kind {
                b'L' => Some(text.trim_end_matches('\0').to_owned()),
                _ => pax_path(&text),
            };
            long_name = found.or(long_name);
        } else {
            let path = long_name.take().unwrap_or_else(|| {
                let prefix = field(345, 155);
                let is_ustar = header.get(257..263) == Some(b"ustar\0");
                if is_ustar && !prefix.is_empty() {
                    format!("{prefix}/{}", field(0, 100))
                } else {
                    field(0, 100)
                }
            });
            if matches!(kind, b'0' | 0) && wanted(&path, size) {
                let bytes = take(&mut tar, size)?;
                each(Entry { path, bytes })?;
            } else {
                std::io::copy(&mut tar.by_ref().take(size), &mut std::io::sink())?;
            }
        }
        std::io::copy(&mut tar.by_ref().take(padding), &mut std::io::sink())?;
    }
}

fn take(tar: &mut impl Read, size: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    tar.take(size).read_to_end(&mut bytes)?;
    ensure!(bytes.len() as u64 == size, "the tar stream ends in a file");
    Ok(bytes)
}

/// `path` of a pax record: lines `LENGTH path=VALUE`.
fn pax_path(record: &str) -> Option<String> {
    let mut lines = record.lines().filter_map(|line| line.split_once(" path="));
    lines.next().map(|(_, path)| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(name: &str, kind: u8, bytes: &[u8]) -> Vec<u8> {
        let mut header = vec![0_u8; 512];
        header[..name.len()].copy_from_slice(name.as_bytes());
        let size = format!("{:011o}", bytes.len());
        header[124..135].copy_from_slice(size.as_bytes());
        header[156] = kind;
        header.extend_from_slice(bytes);
        header.resize(header.len().next_multiple_of(512), 0);
        header
    }

    #[test]
    fn names_longer_than_the_header_are_whole() {
        let long = format!("./{}/page.html", "folder".repeat(30));
        let tar = [
            block("././@LongLink", b'L', format!("{long}\0").as_bytes()),
            block("cut", b'0', b"one"),
            block("left-out", b'0', &[7; 600]),
            block("folder/", b'5', b""),
            block("second", b'0', b"two"),
            vec![0; 1024],
        ]
        .concat();
        let mut found = Vec::new();
        let wanted = |path: &str, _| path != "left-out";
        for_each_file(tar.as_slice(), wanted, |entry| {
            found.push((entry.path, entry.bytes));
            Ok(())
        })
        .expect("a sound archive");
        assert_eq!(
            found,
            [
                (long, b"one".to_vec()),
                ("second".to_owned(), b"two".to_vec())
            ]
        );
    }
}
