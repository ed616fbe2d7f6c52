//! Tables: rows out, as Parquet, JSON lines or CSV.
//!
//! ```text
//! DocumentRow, PairRow, … ─► Writer ─┬─► parquet: batches ─► row groups, zstd
//!     (declared in `rows`)           ├─► jsonl: one object a line
//!                                    └─► csv: one record a line
//! ```
//!
//! Each table is declared once, as a row whose fields are the columns; the three
//! formats follow from that. Every row has every column, an absent value is `null` in
//! JSON, null in Parquet and an empty field in CSV (an empty *text* is `""` there).
//! The same rows give the same bytes: nothing is written of the time or the machine.
//!
//! Time O(bytes). Memory: one row for the text formats; for Parquet one row group, which
//! is closed after [`GROUP_ROWS`] rows or some [`GROUP_BYTES`] bytes.
//!
//! A table of sketches ([`Sketches`]) is as secret as the texts are: fingerprints of a
//! public recipe tell whether a given sentence is in a document. Whoever writes one
//! chooses the file's permissions accordingly.

use std::fmt;
use std::io::{self, Write};
use std::marker::PhantomData;
use std::path::Path;
use std::str::FromStr;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use self::batches::Batcher;
use crate::corpus::record::Timestamp;

pub mod of_collection;

mod rows;

mod batches;

mod parquet;

mod text;

pub(crate) use self::parquet::{CREATED_BY, io_error};
pub use self::rows::{
    DocumentRow, Documents, Filtered, FilteredRow, PairRow, Pairs, Quality, QualityRow, SketchRow,
    Sketches,
};
pub(crate) use self::text::{put_csv_text, put_json_text};

/// Rows after which a Parquet row group is closed: enough for columns to compress well
/// and for readers to share the work, few enough to hold.
pub const GROUP_ROWS: usize = 1 << 16;

/// Encoded bytes after which a Parquet row group is closed, however few its rows are:
/// 64 Ki sketches of 256 samples would be 128 MiB.
pub const GROUP_BYTES: usize = 32 << 20;

/// How a table is written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Format {
    /// Apache Parquet, compressed with zstd.
    Parquet,
    /// One JSON object a line.
    Jsonl,
    /// Fields between commas, quoted as RFC 4180 says, lines ending in a line feed.
    Csv,
}

impl Format {
    /// The format that a file's name asks for by its suffix.
    pub fn of_path(path: &Path) -> Result<Format, UnknownFormat> {
        let suffix = path.extension().and_then(|s| s.to_str());
        match suffix.map(str::to_ascii_lowercase).as_deref() {
            Some("parquet") => Ok(Format::Parquet),
            Some("jsonl" | "ndjson") => Ok(Format::Jsonl),
            Some("csv") => Ok(Format::Csv),
            _ => Err(UnknownFormat {
                asked: path.display().to_string(),
            }),
        }
    }

    /// Its name, which is also the usual suffix.
    pub fn name(self) -> &'static str {
        match self {
            Format::Parquet => "parquet",
            Format::Jsonl => "jsonl",
            Format::Csv => "csv",
        }
    }
}

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(name: &str) -> Result<Format, UnknownFormat> {
        match name {
            "parquet" => Ok(Format::Parquet),
            "jsonl" | "ndjson" => Ok(Format::Jsonl),
            "csv" => Ok(Format::Csv),
            _ => Err(UnknownFormat {
                asked: name.to_owned(),
            }),
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name or a suffix that stands for no format.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("`{asked}` names no table format: use parquet, jsonl or csv")]
pub struct UnknownFormat {
    /// What was asked for.
    pub asked: String,
}

/// What a column holds.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Kind {
    /// A number of a document or cluster.
    U32,
    /// A count, an offset.
    U64,
    /// A measure. One that is not finite is absent.
    F64,
    /// Yes or no.
    Bool,
    /// Text.
    Str,
    /// A moment: milliseconds since 1970 in UTC in Parquet, RFC 3339 elsewhere. One
    /// outside the years 0 to 9999 is absent.
    Timestamp,
    /// Numbers: a list in Parquet, an array in JSON, separated by spaces in CSV.
    U64List,
}

/// A column of a table.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Column {
    /// Its name, stable between releases.
    pub name: &'static str,
    /// What it holds.
    pub kind: Kind,
    /// Whether a value may be absent.
    pub is_nullable: bool,
}

/// A table: what it is called and what its columns are, in order.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Table {
    /// What `export` calls it.
    pub name: &'static str,
    /// Its columns.
    pub columns: &'static [Column],
}

/// A value in a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell<'a> {
    /// Nothing.
    Null,
    /// Of a column of kind [`Kind::U32`].
    U32(u32),
    /// Of a column of kind [`Kind::U64`].
    U64(u64),
    /// Of a column of kind [`Kind::F64`], finite.
    F64(f64),
    /// Of a column of kind [`Kind::Bool`].
    Bool(bool),
    /// Of a column of kind [`Kind::Str`].
    Str(&'a str),
    /// Of a column of kind [`Kind::Timestamp`], between the years 0 and 9999.
    Timestamp(Timestamp),
    /// Of a column of kind [`Kind::U64List`].
    U64List(&'a [u64]),
}

/// A row of a table that is declared in this module.
pub trait Row: rows::Declared {
    /// Its table.
    const TABLE: Table;

    /// Gives the values in the order of the columns.
    fn each<'c>(&'c self, put: &mut dyn FnMut(Cell<'c>));
}

/// A table by its rows, which may borrow from anything: [`Documents`], [`Pairs`] and so on.
pub trait Tabled: rows::Declared {
    /// What a row of it is.
    type Row<'a>: Row;
}

/// Writes the rows of one table, one after the other.
///
/// ```
/// use lookalike::tables::{Format, Pairs, PairRow, Writer};
///
/// let mut pairs = Writer::<Pairs>::new(Format::Jsonl, Box::new(std::io::sink()))?;
/// for (a, b) in [(1, 2), (1, 3)] {
///     let id = format!("id {a}");
///     pairs.write(&PairRow { a, b, id_a: Some(&id), common: 7, ..PairRow::default() })?;
/// }
/// assert_eq!(pairs.finish()?, 2);
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// Nothing is complete before [`Writer::finish`]; a writer that is dropped leaves a
/// Parquet file that no reader opens.
pub struct Writer<T> {
    sink: Sink,
    rows: u64,
    of: PhantomData<fn(&T)>,
}

enum Sink {
    Parquet(Box<parquet::Sink>),
    Text(text::Sink),
    Batches(Box<Batcher>, Vec<RecordBatch>),
}

impl<T: Tabled> Writer<T> {
    /// Starts a table. CSV gets its header now, also when no row follows.
    pub fn new(format: Format, out: Box<dyn Write + Send>) -> io::Result<Writer<T>> {
        let columns = <T::Row<'static> as Row>::TABLE.columns;
        let sink = match format {
            Format::Parquet => Sink::Parquet(Box::new(parquet::Sink::new(columns, out)?)),
            Format::Jsonl => Sink::Text(text::Sink::jsonl(columns, out)),
            Format::Csv => Sink::Text(text::Sink::csv(columns, out)?),
        };
        Ok(Writer {
            sink,
            rows: 0,
            of: PhantomData,
        })
    }

    /// Starts a table that stays in memory.
    pub fn held() -> Writer<T> {
        let columns = <T::Row<'static> as Row>::TABLE.columns;
        Writer {
            sink: Sink::Batches(Box::new(Batcher::new(columns)), Vec::new()),
            rows: 0,
            of: PhantomData,
        }
    }

    /// The schema and the rows of a table that was begun with [`Writer::held`].
    pub fn batches(self) -> io::Result<(SchemaRef, Vec<RecordBatch>)> {
        let Sink::Batches(mut gather, mut batches) = self.sink else {
            return Err(io::Error::other("the table is not in memory"));
        };
        batches.extend(gather.end_batch()?);
        Ok((gather.schema, batches))
    }

    /// Writes one row.
    pub fn write(&mut self, row: &T::Row<'_>) -> io::Result<()> {
        self.rows += 1;
        match &mut self.sink {
            Sink::Parquet(sink) => {
                let mut column = 0;
                row.each(&mut |cell| {
                    sink.put(column, cell);
                    column += 1;
                });
                sink.end_row()
            }
            Sink::Text(sink) => {
                let mut column = 0;
                row.each(&mut |cell| {
                    sink.put(column, cell);
                    column += 1;
                });
                sink.end_row()
            }
            Sink::Batches(gather, batches) => {
                let mut column = 0;
                row.each(&mut |cell| {
                    gather.put(column, cell);
                    column += 1;
                });
                batches.extend(gather.end_row()?);
                Ok(())
            }
        }
    }

    /// Writes what is still held and flushes; gives the number of rows.
    pub fn finish(self) -> io::Result<u64> {
        match self.sink {
            Sink::Parquet(sink) => sink.finish()?,
            Sink::Text(sink) => sink.finish()?,
            Sink::Batches(..) => {}
        }
        Ok(self.rows)
    }
}

impl<T> fmt::Debug for Writer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer")
            .field("rows", &self.rows)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
