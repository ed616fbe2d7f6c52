//! Rows gathered into batches of Arrow: on their way into Parquet, or to whoever takes
//! them as they are.

use std::io;
use std::sync::Arc;

use arrow_array::builder::{
    BooleanBuilder, Float64Builder, ListBuilder, StringBuilder, TimestampMillisecondBuilder,
    UInt32Builder, UInt64Builder,
};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};

use super::{Cell, Column, Kind};

/// Rows in a batch at most.
const BATCH_ROWS: usize = 1024;

/// Bytes of text and lists in a batch, about: one row may exceed it.
const BATCH_BYTES: usize = 1 << 20;

/// Gathers cells in column builders.
pub(super) struct Batcher {
    pub(super) schema: SchemaRef,
    columns: Vec<Builder>,
    /// Rows in the batch being gathered, and their variable bytes.
    rows: usize,
    bytes: usize,
}

impl Batcher {
    pub(super) fn new(columns: &[Column]) -> Batcher {
        let fields: Vec<Field> = columns.iter().map(field).collect();
        Batcher {
            schema: Arc::new(Schema::new(fields)),
            columns: columns.iter().map(Builder::new).collect(),
            rows: 0,
            bytes: 0,
        }
    }

    pub(super) fn put(&mut self, column: usize, cell: Cell<'_>) {
        self.bytes += match cell {
            Cell::Str(text) => text.len(),
            Cell::U64List(numbers) => size_of_val(numbers),
            _ => 0,
        };
        self.columns[column].put(cell);
    }

    /// A batch, when it is full.
    pub(super) fn end_row(&mut self) -> io::Result<Option<RecordBatch>> {
        self.rows += 1;
        if self.rows == BATCH_ROWS || self.bytes >= BATCH_BYTES {
            return self.end_batch();
        }
        Ok(None)
    }

    /// What there is, if there is something.
    pub(super) fn end_batch(&mut self) -> io::Result<Option<RecordBatch>> {
        if self.rows == 0 {
            return Ok(None);
        }
        let arrays = self.columns.iter_mut().map(Builder::finish).collect();
        self.rows = 0;
        self.bytes = 0;
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), arrays);
        batch.map(Some).map_err(io::Error::other)
    }
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
