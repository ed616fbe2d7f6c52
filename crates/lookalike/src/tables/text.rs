//! Tables as lines of text: JSON or CSV. Memory: one row.

use std::io::{self, BufWriter, Write};

use super::{Cell, Column};
use crate::corpus::record::Timestamp;

/// Writes rows as lines.
pub(super) struct Sink {
    columns: &'static [Column],
    style: Style,
    /// The line being made.
    line: Vec<u8>,
    out: BufWriter<Box<dyn Write + Send>>,
}

#[derive(Clone, Copy)]
enum Style {
    Jsonl,
    Csv,
}

impl Sink {
    pub(super) fn jsonl(columns: &'static [Column], out: Box<dyn Write + Send>) -> Sink {
        Sink {
            columns,
            style: Style::Jsonl,
            line: Vec::new(),
            out: BufWriter::with_capacity(1 << 16, out),
        }
    }

    pub(super) fn csv(columns: &'static [Column], out: Box<dyn Write + Send>) -> io::Result<Sink> {
        let mut out = BufWriter::with_capacity(1 << 16, out);
        let names: Vec<&str> = columns.iter().map(|column| column.name).collect();
        writeln!(out, "{}", names.join(","))?;
        Ok(Sink {
            columns,
            style: Style::Csv,
            line: Vec::new(),
            out,
        })
    }

    pub(super) fn put(&mut self, column: usize, cell: Cell<'_>) {
        match self.style {
            Style::Jsonl => {
                self.line.push(if column == 0 { b'{' } else { b',' });
                // Our own names need no escape.
                self.line.push(b'"');
                self.line
                    .extend_from_slice(self.columns[column].name.as_bytes());
                self.line.extend_from_slice(b"\":");
                put_json(&mut self.line, cell);
            }
            Style::Csv => {
                if column > 0 {
                    self.line.push(b',');
                }
                put_csv(&mut self.line, cell);
            }
        }
    }

    pub(super) fn end_row(&mut self) -> io::Result<()> {
        if matches!(self.style, Style::Jsonl) {
            self.line.push(b'}');
        }
        self.line.push(b'\n');
        self.out.write_all(&self.line)?;
        self.line.clear();
        Ok(())
    }

    pub(super) fn finish(mut self) -> io::Result<()> {
        self.out.flush()
    }
}

fn put_json(line: &mut Vec<u8>, cell: Cell<'_>) {
    match cell {
        Cell::Null => line.extend_from_slice(b"null"),
        Cell::Str(text) => put_json_text(line, text),
        Cell::Timestamp(moment) => put_json_text(line, &rfc_3339(moment)),
        Cell::U64List(numbers) => {
            line.push(b'[');
            put_numbers(line, numbers, b',');
            line.push(b']');
        }
        plain => put_plain(line, plain),
    }
}

/// Writes text as JSON does.
pub(crate) fn put_json_text(line: &mut Vec<u8>, text: &str) {
    // A vector takes whatever is written, and text is never refused.
    let _ = serde_json::to_writer(line, text);
}

fn put_csv(line: &mut Vec<u8>, cell: Cell<'_>) {
    match cell {
        Cell::Null => {}
        Cell::Str(text) => put_csv_text(line, text),
        Cell::Timestamp(moment) => line.extend_from_slice(rfc_3339(moment).as_bytes()),
        Cell::U64List(numbers) => put_numbers(line, numbers, b' '),
        plain => put_plain(line, plain),
    }
}

/// Writes text as a CSV field: in quotes where it would be misread, and where it is
/// empty, for nothing at all means that it is absent.
pub(crate) fn put_csv_text(line: &mut Vec<u8>, text: &str) {
    let needs_quotes = text.is_empty()
        || text
            .bytes()
            .any(|b| matches!(b, b',' | b'"' | b'\n' | b'\r'));
    if !needs_quotes {
        line.extend_from_slice(text.as_bytes());
        return;
    }
    line.push(b'"');
    for byte in text.bytes() {
        if byte == b'"' {
            line.push(b'"');
        }
        line.push(byte);
    }
    line.push(b'"');
}

/// What JSON and CSV write alike. Measures are the shortest that read back the same.
fn put_plain(line: &mut Vec<u8>, cell: Cell<'_>) {
    // A vector takes whatever is written.
    let _ = match cell {
        Cell::U32(number) => write!(line, "{number}"),
        Cell::U64(number) => write!(line, "{number}"),
        Cell::F64(number) => write!(line, "{number:?}"),
        Cell::Bool(yes) => write!(line, "{yes}"),
        Cell::Null | Cell::Str(_) | Cell::Timestamp(_) | Cell::U64List(_) => {
            unreachable!("the callers have dealt with these")
        }
    };
}

fn put_numbers(line: &mut Vec<u8>, numbers: &[u64], between: u8) {
    for (i, number) in numbers.iter().enumerate() {
        if i > 0 {
            line.push(between);
        }
        let _ = write!(line, "{number}");
    }
}

/// A moment as RFC 3339 writes it. A cell holds none that it cannot write.
fn rfc_3339(moment: Timestamp) -> String {
    jiff::Timestamp::from_second(moment.0)
        .map(|moment| moment.to_string())
        .unwrap_or_default()
}
