//! JSON lines, filtered or marked. Filtering holds no line, marking one.

use std::borrow::Cow;
use std::fmt;
use std::io::{BufRead, Read, Write};

use memchr::memchr;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};

use super::{Decision, Keep, MARKS, Mark, Marker, ShardFault};
use crate::corpus::record::Offset;
use crate::tables::put_json_text;

/// The longest line that is marked. Readers take none that is longer.
const LINE_LIMIT: u64 = 64 << 20;

/// Where in a line the stream stands.
enum Place {
    /// Nothing but blanks so far: these.
    Start(Vec<u8>),
    /// In a line that is copied.
    Kept,
    /// In a line that is left out.
    Dropped,
}

/// Blanks at the start of a line that are held until it is known whether it is blank.
const BLANKS_LIMIT: usize = 1 << 16;

pub(super) fn filter(
    mut input: Box<dyn BufRead>,
    keep: Keep<'_>,
    out: &mut dyn Write,
) -> Result<(), ShardFault> {
    let mut place = Place::Start(Vec::new());
    let (mut at, mut line) = (0_u64, 0_u64);
    loop {
        let chunk = input.fill_buf()?;
        if chunk.is_empty() {
            break;
        }
        let used = match &mut place {
            Place::Start(blanks) => {
                let byte = chunk[0];
                if byte == b'\n' {
                    blanks.push(byte);
                    out.write_all(blanks)?;
                    blanks.clear();
                    line = at + 1;
                    1
                } else if byte.is_ascii_whitespace() && blanks.len() < BLANKS_LIMIT {
                    blanks.push(byte);
                    1
                } else {
                    place = match keep(Offset(line)) {
                        Decision::Keep => {
                            out.write_all(blanks)?;
                            Place::Kept
                        }
                        Decision::Drop => Place::Dropped,
                    };
                    0
                }
            }
            Place::Kept | Place::Dropped => {
                let end = memchr(b'\n', chunk).map(|end| end + 1);
                let rest = &chunk[..end.unwrap_or(chunk.len())];
                if matches!(place, Place::Kept) {
                    out.write_all(rest)?;
                }
                if end.is_some() {
                    place = Place::Start(Vec::new());
                    line = at + rest.len() as u64;
                }
                rest.len()
            }
        };
        input.consume(used);
        at += used as u64;
    }
    if let Place::Start(blanks) = place {
        out.write_all(&blanks)?;
    }
    Ok(())
}

pub(super) fn annotate(
    mut input: Box<dyn BufRead>,
    mark: Marker<'_>,
    out: &mut dyn Write,
) -> Result<(), ShardFault> {
    let mut line = Vec::new();
    let mut marked = Vec::new();
    let mut at = 0_u64;
    loop {
        line.clear();
        // One byte more than the limit shows that a line exceeds it.
        let len = (&mut input)
            .take(LINE_LIMIT + 1)
            .read_until(b'\n', &mut line)?;
        if len == 0 {
            return Ok(());
        }
        if len as u64 > LINE_LIMIT && !line.ends_with(b"\n") {
            out.write_all(&line)?;
            at += len as u64 + copy_line(&mut input, out)?;
            continue;
        }
        if line.trim_ascii().is_empty() {
            out.write_all(&line)?;
        } else {
            let mark = mark(Offset(at));
            marked.clear();
            if put_marked(&line, mark.as_ref(), &mut marked)? == Form::Object {
                out.write_all(&marked)?;
            } else {
                out.write_all(&line)?;
            }
        }
        at += len as u64;
    }
}

/// Copies the rest of a line; gives its length.
fn copy_line(input: &mut dyn BufRead, out: &mut dyn Write) -> Result<u64, ShardFault> {
    let mut copied = 0;
    loop {
        let chunk = input.fill_buf()?;
        let end = memchr(b'\n', chunk).map(|end| end + 1);
        let len = end.unwrap_or(chunk.len());
        out.write_all(&chunk[..len])?;
        input.consume(len);
        copied += len as u64;
        if end.is_some() || len == 0 {
            return Ok(copied);
        }
    }
}

/// What a line turns out to be.
#[derive(Eq, PartialEq)]
enum Form {
    Object,
    Other,
}

/// Writes a line with its mark before the last brace, if it is an object.
fn put_marked(line: &[u8], mark: Option<&Mark>, out: &mut Vec<u8>) -> Result<Form, ShardFault> {
    let json = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    let mut reader = serde_json::Deserializer::from_slice(json);
    let Ok(keys) = reader.deserialize_map(Keys) else {
        return Ok(Form::Other);
    };
    if reader.end().is_err() {
        return Ok(Form::Other);
    }
    if let Some(taken) = keys.taken {
        return Err(ShardFault::NameTaken(taken));
    }
    let Some(end) = line.iter().rposition(|&byte| byte == b'}') else {
        return Ok(Form::Other);
    };
    out.extend_from_slice(&line[..end]);
    for (i, name) in MARKS.iter().enumerate() {
        if i > 0 || !keys.is_empty {
            out.push(b',');
        }
        put_json_text(out, name);
        out.push(b':');
        match (i, mark) {
            (_, None) => out.extend_from_slice(b"null"),
            (0, Some(mark)) => out.extend_from_slice(mark.cluster.to_string().as_bytes()),
            (1, Some(mark)) => out.extend_from_slice(mark.is_duplicate.to_string().as_bytes()),
            (_, Some(mark)) => put_json_text(out, &mark.representative),
        }
    }
    out.extend_from_slice(&line[end..]);
    Ok(Form::Object)
}

/// Looks at the keys of an object and at nothing else.
struct Keys;

struct Found {
    is_empty: bool,
    taken: Option<&'static str>,
}

impl<'de> Visitor<'de> for Keys {
    type Value = Found;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Found, A::Error> {
        let mut found = Found {
            is_empty: true,
            taken: None,
        };
        while let Some(key) = map.next_key::<Cow<'de, str>>()? {
            found.is_empty = false;
            let taken = MARKS.into_iter().find(|name| **name == *key);
            found.taken = found.taken.or(taken);
            map.next_value::<IgnoredAny>()?;
        }
        Ok(found)
    }
}
