//! CSV, filtered or marked, one byte after the other: a record may have line ends in its
//! quotes, and is never held.
//!
//! ```text
//! header ─► copied │ record ─► keep? ─► its bytes with its line end
//! ```
//!
//! A quote opens a field only where the field begins; doubled it stands for itself.
//! Records end in `\n`, `\r\n` or `\r`.

use std::io::{BufRead, Write};

use super::{Decision, Keep, MARKS, Mark, Marker, ShardFault};
use crate::corpus::record::Offset;
use crate::tables::put_csv_text;

/// The longest header that is looked at for names that are taken.
const HEADER_LIMIT: usize = 1 << 20;

/// Where in a record the stream stands.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Place {
    /// Before a record: what comes now is a record or a blank line.
    Start,
    /// Behind a carriage return that ended a record: a line feed still belongs to it.
    AfterReturn,
    /// Where a field begins.
    Field,
    /// In a field without quotes.
    Plain,
    /// Within quotes.
    Quoted,
    /// Behind a quote within quotes.
    Quote,
}

/// What is met on the way.
trait Sink {
    /// A record begins, the header being the first.
    fn begin(&mut self, at: u64) -> Result<(), ShardFault>;
    /// Bytes of the record, without its line end.
    fn bytes(&mut self, bytes: &[u8]) -> Result<(), ShardFault>;
    /// The record ends; its line end follows, or the end of the file.
    fn end(&mut self) -> Result<(), ShardFault>;
    /// Bytes of the line end behind the record.
    fn line_end(&mut self, bytes: &[u8]) -> Result<(), ShardFault>;
    /// A blank line, which is no record.
    fn blank(&mut self, bytes: &[u8]) -> Result<(), ShardFault>;
}

fn walk(input: &mut dyn BufRead, sink: &mut dyn Sink) -> Result<(), ShardFault> {
    let mut place = Place::Start;
    let mut at = 0_u64;
    loop {
        let chunk = input.fill_buf()?;
        let len = chunk.len();
        if len == 0 {
            break;
        }
        // Where the bytes of the record that are not yet given begin.
        let mut from = 0;
        for (i, &byte) in chunk.iter().enumerate() {
            let is_end = matches!(byte, b'\n' | b'\r');
            match place {
                Place::AfterReturn if byte == b'\n' => {
                    sink.line_end(&chunk[i..=i])?;
                    place = Place::Start;
                    continue;
                }
                Place::Start | Place::AfterReturn if is_end => {
                    sink.blank(&chunk[i..=i])?;
                    place = Place::Start;
                    continue;
                }
                Place::Start | Place::AfterReturn => {
                    sink.begin(at + i as u64)?;
                    from = i;
                    place = Place::Field;
                }
                _ => {}
            }
            place = match (place, byte) {
                // A byte order mark before the first field is not part of it.
                (Place::Field, 0xef | 0xbb | 0xbf) if at + (i as u64) < 3 => Place::Field,
                (Place::Quoted, b'"') => Place::Quote,
                (Place::Field | Place::Quote, b'"') | (Place::Quoted, _) => Place::Quoted,
                (_, b',') => Place::Field,
                (_, b'\n' | b'\r') => {
                    sink.bytes(&chunk[from..i])?;
                    sink.end()?;
                    sink.line_end(&chunk[i..=i])?;
                    if byte == b'\r' {
                        Place::AfterReturn
                    } else {
                        Place::Start
                    }
                }
                _ => Place::Plain,
            };
        }
        if !matches!(place, Place::Start | Place::AfterReturn) {
            sink.bytes(&chunk[from..])?;
        }
        input.consume(len);
        at += len as u64;
    }
    if !matches!(place, Place::Start | Place::AfterReturn) {
        sink.end()?;
    }
    Ok(())
}

pub(super) fn filter(
    mut input: Box<dyn BufRead>,
    keep: Keep<'_>,
    out: &mut dyn Write,
) -> Result<(), ShardFault> {
    let mut sink = Filter {
        keep,
        out,
        part: Part::BeforeHeader,
    };
    walk(&mut *input, &mut sink)
}

enum Part {
    BeforeHeader,
    Kept,
    Dropped,
}

struct Filter<'a> {
    keep: Keep<'a>,
    out: &'a mut dyn Write,
    part: Part,
}

impl Filter<'_> {
    fn put(&mut self, bytes: &[u8]) -> Result<(), ShardFault> {
        if !matches!(self.part, Part::Dropped) {
            self.out.write_all(bytes)?;
        }
        Ok(())
    }
}

impl Sink for Filter<'_> {
    fn begin(&mut self, at: u64) -> Result<(), ShardFault> {
        self.part = match self.part {
            Part::BeforeHeader => Part::Kept,
            _ if (self.keep)(Offset(at)) == Decision::Keep => Part::Kept,
            _ => Part::Dropped,
        };
        Ok(())
    }

    fn bytes(&mut self, bytes: &[u8]) -> Result<(), ShardFault> {
        self.put(bytes)
    }

    fn end(&mut self) -> Result<(), ShardFault> {
        Ok(())
    }

    fn line_end(&mut self, bytes: &[u8]) -> Result<(), ShardFault> {
        self.put(bytes)
    }

    fn blank(&mut self, bytes: &[u8]) -> Result<(), ShardFault> {
        Ok(self.out.write_all(bytes)?)
    }
}

pub(super) fn annotate(
    mut input: Box<dyn BufRead>,
    mark: Marker<'_>,
    out: &mut dyn Write,
) -> Result<(), ShardFault> {
    let mut sink = Annotate {
        mark,
        out,
        now: Now::Header(Vec::new()),
    };
    walk(&mut *input, &mut sink)
}

/// The record that is being copied.
enum Now {
    /// The header, as far as it has come.
    Header(Vec<u8>),
    /// The header is through.
    Between,
    /// A record, and what is said of it.
    Record(Option<Mark>),
}

struct Annotate<'a> {
    mark: Marker<'a>,
    out: &'a mut dyn Write,
    now: Now,
}

impl Sink for Annotate<'_> {
    fn begin(&mut self, at: u64) -> Result<(), ShardFault> {
        if !matches!(self.now, Now::Header(_)) {
            self.now = Now::Record((self.mark)(Offset(at)));
        }
        Ok(())
    }

    fn bytes(&mut self, bytes: &[u8]) -> Result<(), ShardFault> {
        if let Now::Header(header) = &mut self.now {
            if header.len() + bytes.len() > HEADER_LIMIT {
                return Err(ShardFault::Damaged {
                    at: 0,
                    what: "its header has no end".to_owned(),
                });
            }
            header.extend_from_slice(bytes);
        }
        Ok(self.out.write_all(bytes)?)
    }

    fn end(&mut self) -> Result<(), ShardFault> {
        let mut cells = Vec::new();
        match std::mem::replace(&mut self.now, Now::Between) {
            Now::Header(header) => {
                if let Some(taken) = taken(&header) {
                    return Err(ShardFault::NameTaken(taken));
                }
                for name in MARKS {
                    cells.push(b',');
                    cells.extend_from_slice(name.as_bytes());
                }
            }
            Now::Record(Some(mark)) => {
                let _ = write!(cells, ",{},{},", mark.cluster, mark.is_duplicate);
                put_csv_text(&mut cells, &mark.representative);
            }
            Now::Record(None) | Now::Between => cells.extend_from_slice(b",,,"),
        }
        Ok(self.out.write_all(&cells)?)
    }

    fn line_end(&mut self, bytes: &[u8]) -> Result<(), ShardFault> {
        Ok(self.out.write_all(bytes)?)
    }

    fn blank(&mut self, bytes: &[u8]) -> Result<(), ShardFault> {
        Ok(self.out.write_all(bytes)?)
    }
}

fn taken(header: &[u8]) -> Option<&'static str> {
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .from_reader(header);
    let mut names = csv::ByteRecord::new();
    if !reader.read_byte_record(&mut names).is_ok_and(|read| read) {
        return None;
    }
    MARKS
        .into_iter()
        .find(|mark| names.iter().any(|name| name == mark.as_bytes()))
}
