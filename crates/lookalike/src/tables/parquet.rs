//! Tables as Parquet: cells are gathered in column builders, batches of them encoded,
//! and row groups closed by rows or bytes.
//!
//! The file holds Parquet's own types only, without Arrow's copy of the schema: what
//! every reader understands alike. Memory: one row group as encoded, and a batch.

use std::io::{self, Write};
use std::sync::Arc;

use arrow_array::RecordBatch;
use parquet::arrow::arrow_writer::{ArrowWriter, ArrowWriterOptions};
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;

use super::batches::Batcher;
use super::{Cell, Column, GROUP_BYTES, GROUP_ROWS};

/// Written into every file: a name and a version as Parquet wants them, nothing of the
/// machine.
pub(crate) const CREATED_BY: &str = concat!("lookalike version ", env!("CARGO_PKG_VERSION"));

/// Writes rows as Parquet.
pub(super) struct Sink {
    writer: ArrowWriter<Box<dyn Write + Send>>,
    batcher: Batcher,
}

impl Sink {
    pub(super) fn new(columns: &[Column], out: Box<dyn Write + Send>) -> io::Result<Sink> {
        let batcher = Batcher::new(columns);
        let properties = WriterProperties::builder()
            .set_created_by(CREATED_BY.to_owned())
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_max_row_group_row_count(Some(GROUP_ROWS))
            .build();
        let options = ArrowWriterOptions::new()
            .with_properties(properties)
            .with_skip_arrow_metadata(true);
        let schema = Arc::clone(&batcher.schema);
        let writer = ArrowWriter::try_new_with_options(out, schema, options).map_err(io_error)?;
        Ok(Sink { writer, batcher })
    }

    pub(super) fn put(&mut self, column: usize, cell: Cell<'_>) {
        self.batcher.put(column, cell);
    }

    pub(super) fn end_row(&mut self) -> io::Result<()> {
        match self.batcher.end_row()? {
            Some(batch) => self.write(&batch),
            None => Ok(()),
        }
    }

    pub(super) fn finish(mut self) -> io::Result<()> {
        if let Some(batch) = self.batcher.end_batch()? {
            self.write(&batch)?;
        }
        let mut out = self.writer.into_inner().map_err(io_error)?;
        out.flush()
    }

    fn write(&mut self, batch: &RecordBatch) -> io::Result<()> {
        self.writer.write(batch).map_err(io_error)?;
        if self.writer.in_progress_size() >= GROUP_BYTES {
            self.writer.flush().map_err(io_error)?;
        }
        Ok(())
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
