//! Parquet as an input: rows become records, and nothing is read but the columns asked
//! for.
//!
//! ```text
//! file ─► guard: footer, pages ─► row group by row group ─► batches ─► records
//!                                  (ParquetRecords)          (ParquetBatch: any thread)
//! ```
//!
//! A record's offset is the number of its row in the file, from 0. Text is taken from
//! columns of strings or bytes, dictionary-encoded or not; that it is UTF-8 is looked at
//! row by row, so that one bad row is one rejected record. Dots in a field's name reach
//! into structures.
//!
//! Memory: the pages a batch lies on, and some dozens of bytes a row; a batch has as
//! many rows as make [`BATCH_BYTES`] bytes on average in its row group, at most
//! [`BATCH_ROWS`]. Values of a dictionary are shared, not repeated.

use std::fs::File;
use std::io;
use std::sync::Arc;

use ::parquet::arrow::ProjectionMask;
use ::parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
    ParquetRecordBatchReaderBuilder, RowSelection,
};
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::{ParquetMetaDataOptions, ParquetMetaDataReader};
use arrow_array::RecordBatch;

use self::columns::Columns;
use self::guard::{Opened, decoding, invalid};
use super::record::{Record, Refused};

pub(crate) mod guard;

pub(crate) mod columns;

pub(crate) mod schema;

pub(crate) mod source;

/// Bytes of a batch to aim at, as the row group's columns have them on average.
pub const BATCH_BYTES: usize = 4 << 20;

/// Rows of a batch at most.
pub const BATCH_ROWS: usize = 8192;

/// The names of the fields that make a record.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FieldNames {
    /// The text.
    pub text: String,
    /// The caller's id: text or a number.
    pub id: String,
    /// The address.
    pub url: String,
    /// The date: text, a date or a timestamp. Without a zone it is taken as UTC.
    pub date: String,
    /// The caller's own features, a list of texts or integers: read where there is no
    /// field of text.
    pub features: String,
}

impl Default for FieldNames {
    fn default() -> FieldNames {
        FieldNames {
            text: "text".to_owned(),
            id: "id".to_owned(),
            url: "url".to_owned(),
            date: "date".to_owned(),
            features: "features".to_owned(),
        }
    }
}

/// What can be wrong with a Parquet file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// Its bytes are not what they should be.
    #[error("not a valid Parquet file: {0}")]
    Invalid(String),
    /// There is no column to take the text from.
    #[error("it has no column `{name}`, only {}", columns.join(", "))]
    NoColumn {
        /// What was asked for.
        name: String,
        /// What there is.
        columns: Vec<String>,
    },
    /// The column that text is to be taken from holds something else.
    #[error("its column `{name}` holds {kind}, not {wanted}")]
    WrongKind {
        /// Which column.
        name: String,
        /// What it holds.
        kind: String,
        /// What it should hold.
        wanted: &'static str,
    },
    /// A row was asked for that is not there.
    #[error("it has no row {0}")]
    NoRow(u64),
    /// The operating system refused.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl From<ParquetError> for Fault {
    fn from(error: ParquetError) -> Fault {
        match error {
            ParquetError::External(inner) => match inner.downcast::<Fault>() {
                Ok(fault) => *fault,
                Err(inner) => match inner.downcast::<io::Error>() {
                    Ok(error) => Fault::Io(*error),
                    Err(other) => invalid(other.to_string()),
                },
            },
            other => invalid(other.to_string()),
        }
    }
}

/// The records of a Parquet file, batch by batch.
pub struct ParquetRecords {
    opened: Opened,
    reader: ArrowReaderMetadata,
    columns: Arc<Columns>,
    /// The leaves of the file that have to be read.
    leaves: Vec<usize>,
    /// The row group to open next.
    next_group: usize,
    /// The rows before that group.
    rows_before: u64,
    /// What is being read, and the row it stands at.
    open: Option<(ParquetRecordBatchReader, u64)>,
}

impl ParquetRecords {
    /// Opens a file: its footer is read, nothing else.
    pub fn open(file: File, fields: &FieldNames) -> Result<ParquetRecords, Fault> {
        let opened = guard::open(file)?;
        let descriptor = opened.metadata.file_metadata().schema_descr_ptr();
        // Strings are read as bytes and checked one by one: the decoder would refuse
        // them all for one that is not UTF-8.
        let reader = decoding(|| {
            let hinted = ArrowReaderMetadata::try_new(
                Arc::clone(&opened.metadata),
                ArrowReaderOptions::new(),
            )?;
            let options =
                ParquetMetaDataOptions::new().with_schema(schema::without_strings(&descriptor)?);
            let metadata = ParquetMetaDataReader::decode_metadata_with_options(
                &opened.footer,
                Some(&options),
            )?;
            ArrowReaderMetadata::try_new(
                Arc::new(metadata),
                ArrowReaderOptions::new().with_schema(schema::with_views(hinted.schema())),
            )
        })?;
        let columns = Columns::find(reader.schema(), fields)?;
        let leaves = columns.leaves(reader.parquet_schema());
        Ok(ParquetRecords {
            opened,
            reader,
            columns: Arc::new(columns),
            leaves,
            next_group: 0,
            rows_before: 0,
            open: None,
        })
    }

    /// How many rows the file declares.
    pub fn declared_rows(&self) -> u64 {
        let groups = self.reader.metadata().row_groups();
        groups
            .iter()
            .map(|group| u64::try_from(group.num_rows()).unwrap_or(0))
            .fold(0, u64::saturating_add)
    }

    /// The next batch, or none at the end. After a fault nothing more is read: what is
    /// behind it is lost.
    pub fn next_batch(&mut self) -> Result<Option<ParquetBatch>, Fault> {
        let batch = self.read_batch();
        if batch.is_err() {
            self.open = None;
            self.next_group = usize::MAX;
        }
        batch
    }

    /// Gives every record, in order.
    pub fn for_each(
        &mut self,
        take: &mut dyn FnMut(Result<Record<'_>, Refused>),
    ) -> Result<(), Fault> {
        while let Some(batch) = self.next_batch()? {
            batch.for_each(take);
        }
        Ok(())
    }

    fn read_batch(&mut self) -> Result<Option<ParquetBatch>, Fault> {
        loop {
            if let Some((reader, row)) = &mut self.open {
                let next = decoding(|| reader.next().transpose().map_err(ParquetError::from))?;
                if let Some(batch) = next {
                    let first = *row;
                    *row += batch.num_rows() as u64;
                    let rows = Rows::From(first);
                    return ParquetBatch::new(&batch, rows, &self.columns).map(Some);
                }
                if *row != self.rows_before {
                    return Err(invalid("a row group has not as many rows as it says"));
                }
                self.open = None;
            }
            let Some(group) = self.reader.metadata().row_groups().get(self.next_group) else {
                return Ok(None);
            };
            let rows = u64::try_from(group.num_rows())
                .map_err(|_| invalid("a row group has a negative number of rows"))?;
            let reader = self.open_group(self.next_group, None)?;
            self.open = Some((reader, self.rows_before));
            self.rows_before = self.rows_before.saturating_add(rows);
            self.next_group += 1;
        }
    }

    fn open_group(
        &self,
        group: usize,
        selection: Option<RowSelection>,
    ) -> Result<ParquetRecordBatchReader, Fault> {
        decoding(|| {
            let metadata = self.reader.metadata().row_group(group);
            let mut bytes = 0_u64;
            for leaf in &self.leaves {
                let column = metadata.column(*leaf);
                guard::check_pages(&self.opened.source, column)
                    .map_err(|fault| ParquetError::External(Box::new(fault)))?;
                bytes =
                    bytes.saturating_add(u64::try_from(column.uncompressed_size()).unwrap_or(0));
            }
            let rows = u64::try_from(metadata.num_rows()).unwrap_or(0).max(1);
            let in_batch = (BATCH_BYTES as u64).saturating_mul(rows) / bytes.max(1);
            let in_batch = usize::try_from(in_batch).unwrap_or(BATCH_ROWS);
            let mut builder = ParquetRecordBatchReaderBuilder::new_with_metadata(
                self.opened.source.clone(),
                self.reader.clone(),
            )
            .with_row_groups(vec![group])
            .with_projection(ProjectionMask::leaves(
                self.reader.parquet_schema(),
                self.leaves.iter().copied(),
            ))
            .with_batch_size(in_batch.clamp(1, BATCH_ROWS));
            if let Some(selection) = selection {
                builder = builder.with_row_selection(selection);
            }
            builder.build()
        })
    }
}

/// Gives the records of some rows, whose numbers increase, and reads only the row groups
/// that they are in.
pub fn fetch(
    file: File,
    rows: &[u64],
    fields: &FieldNames,
    take: &mut dyn FnMut(Result<Record<'_>, Refused>),
) -> Result<(), Fault> {
    let records = ParquetRecords::open(file, fields)?;
    let mut rest = rows;
    let mut first = 0_u64;
    for (number, group) in records.reader.metadata().row_groups().iter().enumerate() {
        let len = u64::try_from(group.num_rows()).unwrap_or(0);
        let end = first.saturating_add(len);
        let here = rest.partition_point(|&row| row < end);
        let (wanted, later) = rest.split_at(here);
        rest = later;
        if !wanted.is_empty() {
            let local = |row: u64| usize::try_from(row - first).unwrap_or(usize::MAX);
            let selection = decoding(|| {
                let ranges = wanted.iter().map(|&row| local(row)..local(row) + 1);
                let total = usize::try_from(len).unwrap_or(usize::MAX);
                Ok(RowSelection::from_consecutive_ranges(ranges, total))
            })?;
            let mut reader = records.open_group(number, Some(selection))?;
            let mut unread = wanted;
            while let Some(batch) =
                decoding(|| reader.next().transpose().map_err(ParquetError::from))?
            {
                let Some((these, others)) = unread.split_at_checked(batch.num_rows()) else {
                    return Err(invalid("a row group has more rows than it says"));
                };
                unread = others;
                let rows = Rows::These(these.to_vec());
                ParquetBatch::new(&batch, rows, &records.columns)?.for_each(take);
            }
            if let Some(row) = unread.first() {
                return Err(Fault::NoRow(*row));
            }
        }
        first = end;
    }
    match rest.first() {
        Some(row) => Err(Fault::NoRow(*row)),
        None => Ok(()),
    }
}

/// Some rows in a row, decoded but not yet looked at: a worker thread can do that.
pub struct ParquetBatch {
    rows: Rows,
    values: columns::Values,
}

/// The numbers of a batch's rows.
enum Rows {
    From(u64),
    These(Vec<u64>),
}

impl ParquetBatch {
    fn new(batch: &RecordBatch, rows: Rows, columns: &Columns) -> Result<ParquetBatch, Fault> {
        let values = decoding(|| columns.values(batch).map_err(ParquetError::from))?;
        Ok(ParquetBatch { rows, values })
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.values.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Gives every record, in order.
    pub fn for_each(&self, take: &mut dyn FnMut(Result<Record<'_>, Refused>)) {
        for row in 0..self.len() {
            let number = match &self.rows {
                Rows::From(first) => first + row as u64,
                Rows::These(numbers) => numbers.get(row).copied().unwrap_or_default(),
            };
            take(self.values.record(row, number));
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
