//! Header lines, of WARC and of HTTP alike, read as leniently as archives demand.
//!
//! Lines may end in LF alone, a space may stand before the colon, a value may go on in
//! lines that begin with white space, and lines without a colon are passed over.

use std::borrow::Cow;

use memchr::{memchr, memchr_iter};

/// Where the head ends: behind its first empty line.
pub(crate) fn head_end(bytes: &[u8]) -> Option<usize> {
    memchr_iter(b'\n', bytes).find_map(|at| match bytes.get(at + 1..)? {
        [b'\n', ..] => Some(at + 2),
        [b'\r', b'\n', ..] => Some(at + 3),
        _ => None,
    })
}

/// Header lines.
#[derive(Clone, Copy)]
pub(crate) struct Fields<'a>(pub(crate) &'a [u8]);

impl<'a> Fields<'a> {
    /// The value of a field, the first that has one; its bytes if they are UTF-8.
    pub(crate) fn get(self, name: &str) -> Option<Cow<'a, str>> {
        self.raw(name).map(|value| {
            let mut text = String::from_utf8_lossy(value);
            if memchr(b'\n', value).is_some() {
                let parts: Vec<&str> = text.lines().map(str::trim).collect();
                text = Cow::Owned(parts.join(" "));
            }
            text
        })
    }

    /// All fields, in order, their lines joined; lines without a colon are passed over.
    pub(crate) fn all(self) -> Vec<(String, Vec<u8>)> {
        let mut fields: Vec<(String, Vec<u8>)> = Vec::new();
        let mut next = 0;
        while next < self.0.len() {
            let start = next;
            next = self.line_end(start);
            let line = self.0.get(start..next).unwrap_or_default();
            if let ([b' ' | b'\t', ..], Some((_, value))) = (line, fields.last_mut()) {
                value.push(b' ');
                value.extend_from_slice(line.trim_ascii());
            } else if let Some(colon) = memchr(b':', line) {
                let (name, value) = line.split_at(colon);
                let name = String::from_utf8_lossy(name.trim_ascii()).into_owned();
                let value = value.get(1..).unwrap_or_default();
                fields.push((name, value.trim_ascii().to_vec()));
            }
        }
        fields
    }

    fn raw(self, name: &str) -> Option<&'a [u8]> {
        let mut next = 0;
        while next < self.0.len() {
            let start = next;
            next = self.line_end(start);
            let line = self.0.get(start..next)?;
            let Some(colon) = memchr(b':', line) else {
                continue;
            };
            let key = line.get(..colon)?.trim_ascii_end();
            if !key.eq_ignore_ascii_case(name.as_bytes()) {
                continue;
            }
            // A line that begins with white space goes on with the value.
            while matches!(self.0.get(next), Some(b' ' | b'\t')) {
                next = self.line_end(next);
            }
            let value = self.0.get(start + colon + 1..next)?.trim_ascii();
            if !value.is_empty() {
                return Some(value);
            }
        }
        None
    }

    /// Where the next line begins.
    fn line_end(self, start: usize) -> usize {
        let rest = self.0.get(start..).unwrap_or_default();
        memchr(b'\n', rest).map_or(self.0.len(), |at| start + at + 1)
    }
}

/// The first line without its end, and what follows.
pub(crate) fn split_line(bytes: &[u8]) -> (&[u8], &[u8]) {
    let end = memchr(b'\n', bytes).unwrap_or(bytes.len());
    let line = bytes.get(..end).unwrap_or_default();
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    (line, bytes.get(end + 1..).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_however_they_are_written() {
        let head = b"WARC/1.0\r\nA: 1\r\nb :2\nno colon\nC:\nC: x\r\n y\r\n\tz \r\nD: caf\xe9\n\n";
        let fields = Fields(head);
        let get = |name| fields.get(name).map(Cow::into_owned);
        assert_eq!(get("a").as_deref(), Some("1"));
        assert_eq!(get("B").as_deref(), Some("2"));
        assert_eq!(get("c").as_deref(), Some("x y z"));
        assert_eq!(get("d").as_deref(), Some("caf\u{fffd}"));
        assert_eq!(get("e"), None);
    }

    #[test]
    fn a_head_ends_behind_its_first_empty_line() {
        assert_eq!(head_end(b"a\r\nb\r\n\r\nc"), Some(8));
        assert_eq!(head_end(b"a\n\nb\n\n"), Some(3));
        assert_eq!(head_end(b"a\r\n\nb"), Some(4));
        assert_eq!(head_end(b"a\r\nb\r\n"), None);
    }
}
