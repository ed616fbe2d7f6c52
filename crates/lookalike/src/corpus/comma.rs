//! CSV: comma-separated values, the names of the columns in the first row.
//!
//! ```text
//! stream ─► header: which columns ─► rows, cut where no quote is open ─► Record
//! ```
//!
//! As RFC 4180 has it: a field may stand in quotes, a quote in it is doubled, and line
//! ends inside quotes belong to the field. A quote inside an unquoted field is a
//! character. Empty lines are no rows. Rows may be shorter or longer than the header.
//! Where two columns have one name the last counts.
//!
//! The offset of a record is that of its row in the unpacked stream. A quote that is
//! never closed costs its row: reading goes on at the next line.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use memchr::{memchr, memchr2, memchr3};

use super::batch::{Gather, Piece};
use super::date;
use super::json::lossy;
use super::lines::check_len;
use super::options::ReadOptions;
use super::read::{Halt, Wanted};
use super::record::{Archived, Body, Offset, Record, Refused};
use super::unpack::{Event, Packing, Unpacked};

/// Bytes unpacked at once.
const STEP: usize = 256 << 10;

/// Where the wanted fields stand in a row.
pub(crate) struct Columns {
    text: usize,
    id: Option<usize>,
    url: Option<usize>,
    date: Option<usize>,
}

impl Columns {
    fn of(header: &[u8], options: &ReadOptions) -> Result<Columns, Halt> {
        let mut names = Vec::new();
        fields(header, |_, name| {
            names.push(String::from_utf8_lossy(&name).trim().to_owned());
        });
        let find = |wanted: &str| names.iter().rposition(|name| name == wanted);
        let Some(text) = find(&options.text_field) else {
            let shown: Vec<String> = names
                .iter()
                .take(20)
                .map(|name| name.chars().take(40).flat_map(char::escape_debug).collect())
                .collect();
            return Err(Halt::format(format!(
                "there is no column `{}`; there are: {}",
                options.text_field,
                shown.join(", ")
            )));
        };
        Ok(Columns {
            text,
            id: find(&options.id_field),
            url: find(&options.url_field),
            date: find(&options.date_field),
        })
    }
}

/// Where a row ends.
#[derive(Debug, Eq, PartialEq)]
enum RowEnd {
    /// The row is this long, its line end included.
    At(usize),
    /// The bytes end before it does, outside of quotes.
    Open,
    /// The bytes end inside quotes.
    Quoted,
}

fn row_end(bytes: &[u8]) -> RowEnd {
    let mut at = 0;
    loop {
        // The beginning of a field: only here a quote opens.
        if bytes.get(at) == Some(&b'"') {
            at += 1;
            loop {
                let rest = bytes.get(at..).unwrap_or_default();
                let Some(quote) = memchr(b'"', rest) else {
                    return RowEnd::Quoted;
                };
                at += quote + 1;
                if bytes.get(at) != Some(&b'"') {
                    break;
                }
                at += 1;
            }
        }
        let rest = bytes.get(at..).unwrap_or_default();
        let Some(end) = memchr3(b',', b'\n', b'\r', rest) else {
            return RowEnd::Open;
        };
        at += end + 1;
        if rest.get(end) != Some(&b',') {
            return RowEnd::At(at);
        }
    }
}

/// Calls back for each field of a row with its number.
fn fields<'a>(row: &'a [u8], mut each: impl FnMut(usize, Cow<'a, [u8]>)) {
    let row = row.strip_suffix(b"\n").unwrap_or(row);
    let row = row.strip_suffix(b"\r").unwrap_or(row);
    let (mut at, mut number) = (0, 0);
    loop {
        let rest = row.get(at..).unwrap_or_default();
        let (field, len) = field(rest);
        each(number, field);
        at += len + 1;
        number += 1;
        if at > row.len() {
            return;
        }
    }
}

/// A field, and how many bytes it takes up to its comma.
fn field(bytes: &[u8]) -> (Cow<'_, [u8]>, usize) {
    let Some(inner) = bytes.strip_prefix(b"\"") else {
        let len = memchr(b',', bytes).unwrap_or(bytes.len());
        return (Cow::Borrowed(bytes.get(..len).unwrap_or_default()), len);
    };
    let mut out = Cow::Borrowed(&[][..]);
    let mut at = 0;
    loop {
        let rest = inner.get(at..).unwrap_or_default();
        let quote = memchr(b'"', rest).unwrap_or(rest.len());
        append(&mut out, rest.get(..quote).unwrap_or_default());
        at += quote + 1;
        if inner.get(at) != Some(&b'"') {
            break;
        }
        append(&mut out, b"\"");
        at += 1;
    }
    // What follows the closing quote, though nothing should, belongs to the field.
    let rest = inner.get(at..).unwrap_or_default();
    let tail = memchr(b',', rest).unwrap_or(rest.len());
    append(&mut out, rest.get(..tail).unwrap_or_default());
    (out, (1 + at.min(inner.len()) + tail).min(bytes.len()))
}

/// Borrowed as long as there is one part only.
fn append<'a>(out: &mut Cow<'a, [u8]>, part: &'a [u8]) {
    if out.is_empty() {
        *out = Cow::Borrowed(part);
    } else if !part.is_empty() {
        out.to_mut().extend_from_slice(part);
    }
}

/// Calls back for each row with its offset.
struct Rows<'u> {
    unpacked: &'u mut Unpacked,
    options: &'u ReadOptions,
    buffer: Vec<u8>,
    /// The first byte of the buffer that is not used up.
    at: usize,
    /// Where the buffer stands in the unpacked stream.
    offset: u64,
    event: Event,
}

enum Row {
    /// A row, in the buffer from here to there.
    At(usize, usize),
    Refused(Refused),
    End,
}

impl<'u> Rows<'u> {
    fn new(unpacked: &'u mut Unpacked, options: &'u ReadOptions, offset: u64) -> Rows<'u> {
        Rows {
            unpacked,
            options,
            buffer: Vec::new(),
            at: 0,
            offset,
            event: Event::Bytes,
        }
    }

    fn bytes(&self, from: usize, to: usize) -> &[u8] {
        self.buffer.get(from..to).unwrap_or_default()
    }

    fn next(&mut self) -> Result<Row, Halt> {
        loop {
            let rest = self.buffer.get(self.at..).unwrap_or_default();
            let blanks = rest
                .iter()
                .take_while(|&&byte| matches!(byte, b'\n' | b'\r'));
            self.at += blanks.count();
            let start = self.at;
            let rest = self.buffer.get(start..).unwrap_or_default();
            let here = self.offset + start as u64;
            let limit = self.options.limits.line;
            let end = row_end(rest);
            match (&self.event, end) {
                (_, RowEnd::At(len)) if len <= limit => {
                    self.at += len;
                    return Ok(Row::At(start, self.at));
                }
                (Event::Damaged(why), _) => {
                    let refused = Refused::damaged(self.unpacked.member(), *why);
                    self.drop_buffer();
                    self.event = if self.unpacked.resync()? {
                        Event::Bytes
                    } else {
                        Event::End
                    };
                    return Ok(Row::Refused(refused));
                }
                (Event::End, _) if rest.is_empty() => return Ok(Row::End),
                (Event::End, RowEnd::Open) if rest.len() <= limit => {
                    self.at = self.buffer.len();
                    return Ok(Row::At(start, self.at));
                }
                (event, _) if *event == Event::End || rest.len() > limit => {
                    let (code, message) = if rest.len() > limit {
                        let message =
                            format!("the row is longer than {limit} bytes (limit `line`)");
                        ("too large", message)
                    } else {
                        ("bad csv", "a quote is never closed".to_owned())
                    };
                    self.skip_line()?;
                    return Ok(Row::Refused(Refused::rejected(here, code, message)));
                }
                _ => self.fill()?,
            }
        }
    }

    fn drop_buffer(&mut self) {
        self.offset += self.buffer.len() as u64;
        self.buffer.clear();
        self.at = 0;
    }

    fn fill(&mut self) -> Result<(), Halt> {
        self.buffer.drain(..self.at);
        self.offset += self.at as u64;
        self.at = 0;
        // Twice as much each time, so a long row is not looked at too often.
        let len = self.buffer.len();
        let most = self.options.limits.line.saturating_sub(len) + STEP;
        let step = STEP.max(len).min(most);
        self.event = self.unpacked.read(&mut self.buffer, step)?;
        Ok(())
    }

    /// Goes behind the next line end.
    fn skip_line(&mut self) -> Result<(), Halt> {
        loop {
            let rest = self.buffer.get(self.at..).unwrap_or_default();
            if let Some(end) = memchr2(b'\n', b'\r', rest) {
                self.at += end + 1;
                return Ok(());
            }
            self.drop_buffer();
            if self.event == Event::End || matches!(self.event, Event::Damaged(_)) {
                return Ok(());
            }
            self.fill()?;
        }
    }

    /// The columns, by the first row; `None` if there is none.
    fn header(&mut self) -> Result<Option<Columns>, Halt> {
        match self.next()? {
            Row::End => Ok(None),
            Row::Refused(refused) => Err(Halt::format(refused.message)),
            Row::At(from, to) => {
                let row = self.bytes(from, to);
                let row = row.strip_prefix(b"\xef\xbb\xbf").unwrap_or(row);
                Columns::of(row, self.options).map(Some)
            }
        }
    }
}

/// Reads a stream to its end.
pub(crate) fn read(
    unpacked: &mut Unpacked,
    options: &ReadOptions,
    gather: &mut Gather<'_>,
) -> Result<(), Halt> {
    let mut rows = Rows::new(unpacked, options, 0);
    let Some(columns) = rows.header()? else {
        return Ok(());
    };
    let columns = Arc::new(columns);
    loop {
        gather.position = rows.unpacked.input.offset();
        match rows.next()? {
            Row::End => return Ok(()),
            Row::Refused(refused) => gather.refuse(refused)?,
            Row::At(from, to) => {
                let offset = rows.offset + from as u64;
                gather.add(rows.bytes(from, to), |range| Piece::Row {
                    range,
                    offset,
                    columns: Arc::clone(&columns),
                })?;
            }
        }
    }
}

/// Reads the wanted rows again: jumps in a plain file, passes over the others in a packed one.
pub(crate) fn fetch(
    path: &Path,
    options: &ReadOptions,
    wanted: &mut Wanted<'_>,
) -> Result<(), Halt> {
    let mut unpacked = Unpacked::open(path)?;
    let can_jump = unpacked.packing() == Packing::Plain;
    let mut rows = Rows::new(&mut unpacked, options, 0);
    let Some(columns) = rows.header()? else {
        return Ok(());
    };
    while let Some(next) = wanted.next() {
        let here = rows.offset + rows.at as u64;
        if can_jump && (next < here || next > here + STEP as u64) {
            rows.unpacked.seek(next)?;
            rows = Rows::new(rows.unpacked, options, next);
        }
        match rows.next()? {
            Row::End => return Ok(()),
            // Where rows stood is now one that is none: they are not looked for again.
            Row::Refused(_) => wanted.pass(rows.offset + rows.at as u64),
            Row::At(from, to) => {
                let offset = rows.offset + from as u64;
                wanted.pass(offset);
                if wanted.next() == Some(offset) {
                    let row = rows.bytes(from, to);
                    wanted.give(Some(record(row, offset, &columns, options)));
                }
            }
        }
    }
    Ok(())
}

/// Reads one row.
pub(crate) fn record<'a>(
    row: &'a [u8],
    offset: u64,
    columns: &Columns,
    options: &ReadOptions,
) -> Result<Record<'a>, Refused> {
    let (mut text, mut id, mut url, mut when) = (None, None, None, None);
    fields(row, |number, value| {
        let take = |column: Option<usize>, slot: &mut Option<Cow<'a, [u8]>>| {
            if column == Some(number) {
                *slot = Some(value.clone());
            }
        };
        take(Some(columns.text), &mut text);
        take(columns.id, &mut id);
        take(columns.url, &mut url);
        take(columns.date, &mut when);
    });
    let mut repaired = 0;
    let mut string = |value: Cow<'a, [u8]>| -> Cow<'a, str> {
        let (text, bad) = match value {
            Cow::Borrowed(bytes) => lossy(bytes),
            Cow::Owned(bytes) => {
                let (text, bad) = lossy(&bytes);
                (Cow::Owned(text.into_owned()), bad)
            }
        };
        repaired += bad;
        text
    };
    let mut some =
        |value: Option<Cow<'a, [u8]>>| value.filter(|value| !value.is_empty()).map(&mut string);
    let (id, url, when) = (some(id), some(url), some(when));
    let Some(text) = text.map(&mut string) else {
        let message = format!("the row has no field `{}`", options.text_field);
        return Err(Refused::rejected(offset, "no text", message));
    };
    check_len(id.as_deref(), &options.id_field, "id", options.limits.id)
        .and_then(|()| {
            check_len(
                url.as_deref(),
                &options.url_field,
                "url",
                options.limits.url,
            )
        })
        .map_err(|(code, message)| Refused::rejected(offset, code, message))?;
    Ok(Record {
        offset: Offset(offset),
        id,
        url,
        date: date::when(&when.unwrap_or_default()),
        body: Body::Text(text),
        archived: Archived::default(),
        repaired,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The fields of all rows; `None` if a quote is never closed.
    fn rows(bytes: &[u8]) -> Option<Vec<Vec<Vec<u8>>>> {
        let (mut at, mut all) = (0, Vec::new());
        while at < bytes.len() {
            let rest = &bytes[at..];
            let len = match row_end(rest) {
                RowEnd::At(len) => len,
                RowEnd::Open => rest.len(),
                RowEnd::Quoted => return None,
            };
            let row = &rest[..len];
            if !matches!(row, b"\n" | b"\r") {
                let mut values = Vec::new();
                fields(row, |_, value| values.push(value.into_owned()));
                all.push(values);
            }
            at += len;
        }
        Some(all)
    }

    proptest! {
        #[test]
        fn rows_and_fields_are_those_the_csv_crate_finds(bytes in r#"[a",\n\r]{0,24}"#) {
            let reader = csv::ReaderBuilder::new()
                .has_headers(false)
                .flexible(true)
                .from_reader(bytes.as_bytes())
                .into_byte_records()
                .map(|row| row.expect("memory").iter().map(<[u8]>::to_vec).collect())
                .collect::<Vec<Vec<Vec<u8>>>>();
            if let Some(rows) = rows(bytes.as_bytes()) {
                prop_assert_eq!(rows, reader);
            }
        }
    }
}
