//! Tables as Parquet: cells are gathered in column builders, batches of them encoded,
//! and row groups closed by rows or bytes.
//!
//! The file holds Parquet's own types only, without Arrow's copy of the schema: what
//! every reader understands alike. Memory: one row group as encoded, and a batch.

use std::io::{self, Write};
use std::sync::Arc;

use arrow_array::builder::{
    BooleanBuilder, Float64Builder, ListBuilder, StringBuilder, TimestampMillisecondBuilder,
    UInt32Builder, UInt64Builder,
};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use parquet::arrow::arrow_writer::{ArrowWriter, ArrowWriterOptions};
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;

use super::{Cell, Column, GROUP_BYTES, GROUP_ROWS, Kind};

/// Rows in a batch at most.
const BATCH_ROWS: usize = 1024;

/// Bytes of text and lists in a batch, about: one row may exceed it.
const BATCH_BYTES: usize = 1 << 20;

/// Written into every file: a name and a version as Parquet wants them, nothing of the
/// machine.
pub(crate) const CREATED_BY: &str = concat!("lookalike version ", env!("CARGO_PKG_VERSION"));

/// Writes rows as Parquet.
pub(super) struct Sink {
    writer: ArrowWriter<Box<dyn Write + Send>>,
    schema: Arc<Schema>,
    columns: Vec<Builder>,
    /// Rows in the batch being gathered, and their variable bytes.
    rows: usize,
    bytes: usize,
}

enum Builder {
    U32(UInt32Builder),
    U64(UInt64Builder),
    F64(Float64Builder),
    Bool(BooleanBuilder),
    Str(StringBuilder),
    Timestamp(TimestampMillisecondBuilder),
    U64List(ListBuilder<UInt64Builder>),
}

impl Sink {
    pub(super) fn new(columns: &[Column], out: Box<dyn Write + Send>) -> io::Result<Sink> {
        let fields: Vec<Field> = columns.iter().map(field).collect();
        let schema = Arc::new(Schema::new(fields));
        let properties = WriterProperties::builder()
            .set_created_by(CREATED_BY.to_owned())
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_max_row_group_row_count(Some(GROUP_ROWS))
            .build();
        let options = ArrowWriterOptions::new()
            .with_properties(properties)
            .with_skip_arrow_metadata(true);
        let writer = ArrowWriter::try_new_with_options(out, Arc::clone(&schema), options)
            .map_err(io_error)?;
        Ok(Sink {
            writer,
            schema,
            columns: columns.iter().map(Builder::new).collect(),
            rows: 0,
            bytes: 0,
        })
    }

    pub(super) fn put(&mut self, column: usize, cell: Cell<'_>) {
        self.bytes += match cell {
            Cell::Str(text) => text.len(),
            Cell::U64List(numbers) => size_of_val(numbers),
            _ => 0,
        };
        self.columns[column].put(cell);
    }

    pub(super) fn end_row(&mut self) -> io::Result<()> {
        self.rows += 1;
        if self.rows == BATCH_ROWS || self.bytes >= BATCH_BYTES {
            self.end_batch()?;
        }
        Ok(())
    }

    pub(super) fn finish(mut self) -> io::Result<()> {
        self.end_batch()?;
        let mut out = self.writer.into_inner().map_err(io_error)?;
        out.flush()
    }

    fn end_batch(&mut self) -> io::Result<()> {
        if self.rows == 0 {
            return Ok(());
        }
        let arrays = self.columns.iter_mut().map(Builder::finish).collect();
        let batch =
            RecordBatch::try_new(Arc::clone(&self.schema), arrays).map_err(io::Error::other)?;
        self.writer.write(&batch).map_err(io_error)?;
        if self.writer.in_progress_size() >= GROUP_BYTES {
            self.writer.flush().map_err(io_error)?;
        }
        self.rows = 0;
        self.bytes = 0;
        Ok(())
    }
}

fn field(column: &Column) -> Field {
    let kind = match column.kind {
        Kind::U32 => DataType::UInt32,
        Kind::U64 => DataType::UInt64,
        Kind::F64 => DataType::Float64,
        Kind::Bool => DataType::Boolean,
        Kind::Str => DataType::Utf8,
        Kind::Timestamp => DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into())),
        Kind::U64List => DataType::List(Arc::new(element())),
    };
    Field::new(column.name, kind, column.is_nullable)
}

/// The member of a list, under the name that Parquet's own rules give it.
fn element() -> Field {
    Field::new("element", DataType::UInt64, false)
}

impl Builder {
    fn new(column: &Column) -> Builder {
        match column.kind {
            Kind::U32 => Builder::U32(UInt32Builder::new()),
            Kind::U64 => Builder::U64(UInt64Builder::new()),
            Kind::F64 => Builder::F64(Float64Builder::new()),
            Kind::Bool => Builder::Bool(BooleanBuilder::new()),
            Kind::Str => Builder::Str(StringBuilder::new()),
            Kind::Timestamp => {
                Builder::Timestamp(TimestampMillisecondBuilder::new().with_timezone("UTC"))
            }
            Kind::U64List => {
                Builder::U64List(ListBuilder::new(UInt64Builder::new()).with_field(element()))
            }
        }
    }

    fn put(&mut self, cell: Cell<'_>) {
        match (self, cell) {
            (Builder::U32(to), Cell::U32(number)) => to.append_value(number),
            (Builder::U32(to), Cell::Null) => to.append_null(),
            (Builder::U64(to), Cell::U64(number)) => to.append_value(number),
            (Builder::U64(to), Cell::Null) => to.append_null(),
            (Builder::F64(to), Cell::F64(number)) => to.append_value(number),
            (Builder::F64(to), Cell::Null) => to.append_null(),
            (Builder::Bool(to), Cell::Bool(yes)) => to.append_value(yes),
            (Builder::Bool(to), Cell::Null) => to.append_null(),
            (Builder::Str(to), Cell::Str(text)) => to.append_value(text),
            (Builder::Str(to), Cell::Null) => to.append_null(),
            // No product of seconds within the years 0 to 9999 exceeds 64 bits.
            (Builder::Timestamp(to), Cell::Timestamp(moment)) => {
                to.append_value(moment.0.saturating_mul(1000));
            }
            (Builder::Timestamp(to), Cell::Null) => to.append_null(),
            (Builder::U64List(to), Cell::U64List(numbers)) => {
                to.values().append_slice(numbers);
                to.append(true);
            }
            (Builder::U64List(to), Cell::Null) => to.append(false),
            (_, cell) => unreachable!("a row's cells are of its columns' kinds, not {cell:?}"),
        }
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Builder::U32(from) => Arc::new(from.finish()),
            Builder::U64(from) => Arc::new(from.finish()),
            Builder::F64(from) => Arc::new(from.finish()),
            Builder::Bool(from) => Arc::new(from.finish()),
            Builder::Str(from) => Arc::new(from.finish()),
            Builder::Timestamp(from) => Arc::new(from.finish()),
            Builder::U64List(from) => Arc::new(from.finish()),
        }
    }
}

/// The operating system's own error where there is one, so that a full disk or a closed
/// pipe is known as such.
pub(crate) fn io_error(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(inner) => *inner,
            Err(other) => io::Error::other(other),
        },
        other => io::Error::other(other),
    }
}
