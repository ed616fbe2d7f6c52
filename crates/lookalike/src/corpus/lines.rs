//! JSONL: one JSON object a line.
//!
//! ```text
//! stream ─► buffers of whole lines ─► for each line: text, id, url, date ─► Record
//! ```
//!
//! The offset of a record is that of its line in the unpacked stream. A blank line is
//! no record; a byte order mark may come first and a line end may have a carriage
//! return. A line past the limit is refused without being held, and reading goes on
//! behind it.
//!
//! Cost: the reading thread looks for line ends only, at the speed of memory; parsing is
//! one walk over the line (see [`super::json`]).

use std::borrow::Cow;

use lookalike_core::canonical::TokenKind;
use memchr::{memchr, memchr_iter, memrchr};

use super::batch::{BATCH_LEN, Each, Gather, Piece};
use super::date;
use super::document::weights_of;
use super::json::{self, Fault, Scalar};
use super::options::ReadOptions;
use super::read::{Halt, Wanted};
use super::record::{Archived, Body, Offset, Record, Refused, When};
use super::unpack::{Event, Unpacked};

/// The field that features stand in.
const FEATURES_FIELD: &str = "features";

const BOM: &[u8] = b"\xef\xbb\xbf";

/// What takes lines.
pub(crate) trait LineSink {
    /// Whole lines; the first stands at an offset and has a number from 1.
    fn lines(&mut self, lines: Vec<u8>, offset: u64, line: u64) -> Result<(), Halt>;

    /// What is no line.
    fn refuse(&mut self, refused: Refused) -> Result<(), Halt>;

    /// How many bytes of the source were read.
    fn position(&mut self, position: u64);

    /// An empty buffer, perhaps a used one.
    fn buffer(&mut self) -> Vec<u8> {
        Vec::new()
    }
}

impl LineSink for Gather<'_> {
    fn lines(&mut self, lines: Vec<u8>, offset: u64, line: u64) -> Result<(), Halt> {
        let line = Some(line);
        Ok(self.add_buffer(lines, |range| Piece::Lines {
            range,
            offset,
            line,
        })?)
    }

    fn refuse(&mut self, refused: Refused) -> Result<(), Halt> {
        Ok(Gather::refuse(self, refused)?)
    }

    fn position(&mut self, position: u64) {
        self.position = position;
    }

    fn buffer(&mut self) -> Vec<u8> {
        Gather::buffer(self)
    }
}

/// Reads a stream to its end.
pub(crate) fn read(
    unpacked: &mut Unpacked,
    options: &ReadOptions,
    sink: &mut impl LineSink,
) -> Result<(), Halt> {
    let limit = options.limits.line;
    let mut buffer: Vec<u8> = Vec::new();
    // The offset of the buffer in the stream, and the number of its first line.
    let (mut offset, mut line) = (0_u64, 1_u64);
    // Bytes of the buffer that are known to hold no line end.
    let mut searched = 0;
    loop {
        let goal = buffer.len().max(searched) + BATCH_LEN;
        buffer.reserve(goal - buffer.len());
        let mut event = Event::Bytes;
        while buffer.len() < goal && matches!(event, Event::Bytes | Event::MemberEnd) {
            let most = goal - buffer.len();
            event = unpacked.read(&mut buffer, most)?;
        }
        sink.position(unpacked.input.offset());
        let is_end = event == Event::End;
        let fresh = buffer.get(searched..).unwrap_or_default();
        let end = match memrchr(b'\n', fresh) {
            Some(last) => Some(searched + last + 1),
            None if is_end => Some(buffer.len()).filter(|len| *len > 0),
            None => None,
        };
        if let Some(end) = end {
            let end = if is_end { buffer.len() } else { end };
            let mut tail = sink.buffer();
            tail.extend_from_slice(buffer.get(end..).unwrap_or_default());
            buffer.truncate(end);
            let lines = memchr_iter(b'\n', &buffer).count() as u64;
            sink.lines(std::mem::replace(&mut buffer, tail), offset, line)?;
            offset += end as u64;
            line += lines;
        }
        searched = buffer.len();
        match event {
            Event::End => return Ok(()),
            Event::Damaged(why) => {
                sink.refuse(Refused::damaged(unpacked.member(), why))?;
                // What is left is a part of a line.
                offset += buffer.len() as u64;
                buffer.clear();
                searched = 0;
                if !unpacked.resync()? {
                    return Ok(());
                }
            }
            Event::Bytes | Event::MemberEnd if buffer.len() > limit => {
                sink.refuse(too_long(line, true, limit))?;
                offset += skip_line(unpacked, &mut buffer)?;
                line += 1;
                searched = 0;
            }
            Event::Bytes | Event::MemberEnd => {}
        }
    }
}

/// Drops the rest of a line; leaves what follows it, and gives how far that is.
fn skip_line(unpacked: &mut Unpacked, buffer: &mut Vec<u8>) -> Result<u64, Halt> {
    let mut skipped = 0;
    loop {
        skipped += buffer.len() as u64;
        buffer.clear();
        match unpacked.read(buffer, BATCH_LEN)? {
            Event::Bytes | Event::MemberEnd => {}
            // The next read gives the same event.
            Event::End | Event::Damaged(_) => return Ok(skipped),
        }
        if let Some(end) = memchr(b'\n', buffer) {
            buffer.drain(..=end);
            return Ok(skipped + end as u64 + 1);
        }
    }
}

fn too_long(at: u64, is_line: bool, limit: usize) -> Refused {
    Refused {
        at,
        is_line,
        code: "too large",
        message: format!("the line is longer than {limit} bytes (limit `line`)"),
        is_rejected: true,
    }
}

/// Parses whole lines. Numbers of lines are known only when all were read before.
pub(crate) fn for_each(
    bytes: &[u8],
    offset: u64,
    first_line: Option<u64>,
    options: &ReadOptions,
    each: &mut Each<'_>,
) {
    let names = names(options);
    each_line(bytes, offset, |number, line_offset, line| {
        let number = first_line.map(|first| first + number);
        if let Some(record) = record(line, line_offset, number, &names, options) {
            each(record);
        }
    });
}

/// Calls back for each line, without its end, with its number from 0 and its offset.
fn each_line(bytes: &[u8], offset: u64, mut each: impl FnMut(u64, u64, &[u8])) {
    let mut start = 0;
    let mut number = 0;
    while start < bytes.len() {
        let rest = bytes.get(start..).unwrap_or_default();
        let len = memchr(b'\n', rest).unwrap_or(rest.len());
        each(
            number,
            offset + start as u64,
            rest.get(..len).unwrap_or_default(),
        );
        start += len + 1;
        number += 1;
    }
}

/// Text, id, URL, date, features.
type Names<'o> = [&'o str; 5];

fn names(options: &ReadOptions) -> Names<'_> {
    let features = match options.tokens {
        TokenKind::Feature => FEATURES_FIELD,
        // Not looked for.
        _ => options.text_field.as_str(),
    };
    [
        &options.text_field,
        &options.id_field,
        &options.url_field,
        &options.date_field,
        features,
    ]
}

/// The record on a line; `None` if the line is blank.
fn record<'a>(
    line: &'a [u8],
    offset: u64,
    number: Option<u64>,
    names: &Names<'_>,
    options: &ReadOptions,
) -> Option<Result<Record<'a>, Refused>> {
    let line = match offset {
        0 => line.strip_prefix(BOM).unwrap_or(line),
        _ => line,
    };
    let line = line.trim_ascii();
    if line.is_empty() {
        return None;
    }
    let (at, is_line) = number.map_or((offset, false), |number| (number, true));
    if line.len() > options.limits.line {
        return Some(Err(too_long(at, is_line, options.limits.line)));
    }
    Some(
        parse(line, offset, names, options).map_err(|fault| Refused {
            at,
            is_line,
            code: fault.0,
            message: fault.1,
            is_rejected: true,
        }),
    )
}

/// A code for counting, and what exactly.
type BadLine = (&'static str, String);

fn parse<'a>(
    line: &'a [u8],
    offset: u64,
    names: &Names<'_>,
    options: &ReadOptions,
) -> Result<Record<'a>, BadLine> {
    let [text, id, url, when, features] = json::fields(line, names).map_err(bad_json)?;
    let mut repaired = 0;
    let mut string = |raw, name, number: Number| field(raw, name, number, &mut repaired);
    let id = string(id, &options.id_field, Number::Digits)?;
    let url = string(url, &options.url_field, Number::WrongType)?;
    check_len(id.as_deref(), &options.id_field, "id", options.limits.id)?;
    check_len(
        url.as_deref(),
        &options.url_field,
        "url",
        options.limits.url,
    )?;
    let body = match features {
        Some(raw) if options.tokens == TokenKind::Feature && raw != b"null" => {
            if raw.starts_with(b"{") {
                Body::Weighted(feature_weights(raw, &mut repaired)?)
            } else {
                Body::Features(feature_list(raw, &mut repaired)?)
            }
        }
        _ => field(text, &options.text_field, Number::WrongType, &mut repaired)?
            .map(Body::Text)
            .ok_or_else(|| no_text(options))?,
    };
    Ok(Record {
        offset: Offset(offset),
        id,
        url,
        date: when_of(when),
        body,
        archived: Archived::default(),
        repaired,
    })
}

fn no_text(options: &ReadOptions) -> BadLine {
    let name = match options.tokens {
        TokenKind::Feature => FEATURES_FIELD,
        _ => &options.text_field,
    };
    ("no text", format!("there is no field `{name}`"))
}

/// What a number is where a string is expected.
#[derive(Clone, Copy)]
enum Number {
    /// The string of its digits.
    Digits,
    /// A value of a wrong type.
    WrongType,
}

fn bad_json(fault: Fault) -> BadLine {
    match fault {
        Fault::Broken(at) => ("bad json", format!("the JSON is broken at byte {}", at + 1)),
        Fault::NotObject => ("not an object", "the line is no JSON object".to_owned()),
        Fault::TooDeep => (
            "too deep",
            format!(
                "the JSON is nested deeper than {} (limit `depth`)",
                super::options::JSON_DEPTH
            ),
        ),
    }
}

fn wrong_type(name: &str, expected: &str) -> BadLine {
    (
        "wrong type",
        format!("the field `{name}` is not {expected}"),
    )
}

fn field<'a>(
    raw: Option<&'a [u8]>,
    name: &str,
    number: Number,
    repaired: &mut usize,
) -> Result<Option<Cow<'a, str>>, BadLine> {
    let Some(raw) = raw else {
        return Ok(None);
    };
    let bad_escape = || {
        (
            "bad json",
            format!("the field `{name}` has a broken escape"),
        )
    };
    match (json::scalar(raw).ok_or_else(bad_escape)?, number) {
        (Scalar::Text(text, bad), _) => {
            *repaired += bad;
            Ok(Some(text))
        }
        (Scalar::Null, _) => Ok(None),
        (Scalar::Integer(digits), Number::Digits) => Ok(Some(Cow::Borrowed(digits))),
        (_, Number::Digits) => Err(wrong_type(name, "a string or an integer")),
        (_, Number::WrongType) => Err(wrong_type(name, "a string")),
    }
}

pub(crate) fn check_len(
    value: Option<&str>,
    name: &str,
    limit_name: &str,
    limit: usize,
) -> Result<(), BadLine> {
    match value {
        Some(value) if value.len() > limit => Err((
            "too large",
            format!(
                "the field `{name}` has {} bytes, more than {limit} (limit `{limit_name}`)",
                value.len()
            ),
        )),
        _ => Ok(()),
    }
}

fn feature_list(raw: &[u8], repaired: &mut usize) -> Result<Vec<String>, BadLine> {
    let elements =
        json::elements(raw).ok_or_else(|| wrong_type(FEATURES_FIELD, "a list of features"))?;
    let feature = |(i, raw): (usize, &[u8])| match json::scalar(raw) {
        Some(Scalar::Text(text, bad)) => {
            *repaired += bad;
            Ok(text.into_owned())
        }
        Some(Scalar::Integer(digits)) => Ok(digits.to_owned()),
        _ => Err((
            "wrong type",
            format!("feature {} is neither a string nor an integer", i + 1),
        )),
    };
    elements.into_iter().enumerate().map(feature).collect()
}

fn feature_weights(raw: &[u8], repaired: &mut usize) -> Result<Vec<(String, f64)>, BadLine> {
    let (text, bad) = json::lossy(raw);
    *repaired += bad;
    weights_of(&text).map_err(|why| (why.code(), why.to_string()))
}

fn when_of(raw: Option<&[u8]>) -> When {
    match raw.map(json::scalar) {
        None | Some(Some(Scalar::Null)) => When::Unsaid,
        Some(Some(Scalar::Text(text, _))) => date::when(&text),
        // A number may count seconds, milliseconds or days, or be a year: not guessed.
        Some(_) => When::Unreadable,
    }
}

/// Gives the wanted lines of a stream and drops the others.
struct Pick<'p, 'w> {
    options: &'p ReadOptions,
    wanted: &'p mut Wanted<'w>,
}

impl LineSink for Pick<'_, '_> {
    fn lines(&mut self, lines: Vec<u8>, offset: u64, _: u64) -> Result<(), Halt> {
        let end = offset + lines.len() as u64;
        while let Some(next) = self.wanted.next().filter(|next| *next < end) {
            let at = next.checked_sub(offset);
            let at = at.and_then(|at| usize::try_from(at).ok());
            let rest = at.and_then(|at| lines.get(at..)).unwrap_or_default();
            let len = memchr(b'\n', rest).unwrap_or(rest.len());
            let line = rest.get(..len).unwrap_or_default();
            let read = record(line, next, None, &names(self.options), self.options);
            self.wanted.give(read);
        }
        self.wanted.halt_if_done()
    }

    fn refuse(&mut self, _: Refused) -> Result<(), Halt> {
        Ok(())
    }

    fn position(&mut self, _: u64) {}
}

/// Reads the wanted lines of a packed stream, passing over the others.
pub(crate) fn pick(
    unpacked: &mut Unpacked,
    options: &ReadOptions,
    wanted: &mut Wanted<'_>,
) -> Result<(), Halt> {
    read(unpacked, options, &mut Pick { options, wanted })
}

/// How many bytes between two wanted places are read rather than jumped over.
const NEAR: usize = 32 << 10;

/// Reads the wanted lines of a plain file, jumping from one to the next.
pub(crate) fn jump(
    unpacked: &mut Unpacked,
    options: &ReadOptions,
    wanted: &mut Wanted<'_>,
) -> Result<(), Halt> {
    let names = names(options);
    // What was read last, and where it stands.
    let (mut buffer, mut offset) = (Vec::new(), 0_u64);
    while let Some(next) = wanted.next() {
        let end = offset + buffer.len() as u64;
        if next < offset || next > end + NEAR as u64 {
            buffer.clear();
            offset = next;
            unpacked.seek(next)?;
        }
        let mut searched = 0;
        let line = loop {
            let start = usize::try_from(next - offset).unwrap_or(usize::MAX);
            let rest = buffer.get(start..).unwrap_or_default();
            let fresh = rest.get(searched..).unwrap_or_default();
            if let Some(len) = memchr(b'\n', fresh) {
                break start..start + searched + len;
            }
            searched = rest.len();
            if searched > options.limits.line {
                break start..buffer.len();
            }
            if start > NEAR {
                // Never so far past the buffer's end, so this makes it shorter.
                let used = start.min(buffer.len());
                buffer.drain(..used);
                offset += used as u64;
                continue;
            }
            if unpacked.read(&mut buffer, 32 << 10)? == Event::End {
                break start..buffer.len();
            }
        };
        let read = record(
            buffer.get(line).unwrap_or_default(),
            next,
            None,
            &names,
            options,
        );
        wanted.give(read);
    }
    Ok(())
}
