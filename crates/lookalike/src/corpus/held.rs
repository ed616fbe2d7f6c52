//! Rows at hand in memory, as one of the sources: batches of Arrow, as other programs hand
//! them over.
//!
//! ```text
//! batches ─► pieces of some hundred rows ─► views of their text ─► records
//!            (Held: any number of readers)   (in the worker that parses)
//! ```
//!
//! Text is never copied: a piece is made of views of 16 bytes a row while it is worked on,
//! and a record borrows from the batch. So rows can be read as often as somebody wants,
//! and pairs near a threshold are decided on true values as they are for files. A record's
//! offset is the number of its row, from 0. What a row must hold is what a row of
//! [Parquet](super::parquet) must, and the refusals have the same words.
//!
//! Of the foreign types this engine is built from, [`RecordBatch`] is the one that its
//! callers see, here and in [`tables`](crate::tables): it is what data in memory is
//! handed over as, between programs of any language.
//!
//! Time O(rows) to cut them up; memory some 40 bytes a piece.

use std::fmt;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_cast::cast;
use arrow_schema::{ArrowError, DataType, Schema, SchemaRef};

use super::batch::{BATCH_LEN, Batch, Each, RawRecords};
use super::inputs::{Source, SourceKind};
use super::options::ReadOptions;
use super::parquet::columns::{Columns, Values};
use super::parquet::source::{checked, fields};
use super::parquet::{BATCH_ROWS, Fault, schema};
use super::read::EachAgain;
use super::record::{Offset, Refused};

/// Rows at hand in memory. A copy is another handle to the same rows.
#[derive(Clone)]
pub struct Held(Arc<Rows>);

struct Rows {
    /// The columns that are read, as they were handed over.
    batches: Vec<RecordBatch>,
    /// What they are looked at as: text is views of bytes.
    seen: SchemaRef,
    columns: Columns,
    pieces: Vec<Piece>,
    count: u64,
    bytes: u64,
}

/// Some rows of a batch, in a row.
#[derive(Clone, Copy, Debug)]
struct Piece {
    /// The number of the first.
    first: u64,
    batch: usize,
    from: usize,
    len: usize,
    /// Bytes of text, about.
    bytes: usize,
    /// Those of all pieces up to the end of this one.
    position: u64,
}

impl Held {
    /// Takes batches of one schema. Columns that are not read are let go. Of the names of the
    /// columns besides the text, the default ones may be absent, any other must be there.
    pub fn new(
        batches: &[RecordBatch],
        schema: &Schema,
        options: &ReadOptions,
    ) -> Result<Held, Fault> {
        let names = fields(options);
        let columns = Columns::find(&schema::with_views(schema), &names)?;
        if let Some(name) = columns.missing(&names) {
            let columns = schema.fields().iter().map(|field| field.name().clone());
            return Err(Fault::NoColumn {
                name: name.to_owned(),
                columns: columns.collect(),
            });
        }
        let wanted = columns.tops();
        let places: Vec<usize> = (0..schema.fields().len())
            .filter(|&i| wanted.contains(&schema.field(i).name().as_str()))
            .collect();
        let wrong = |error: ArrowError| Fault::Invalid(error.to_string());
        let projected = schema.project(&places).map_err(wrong)?;
        let batches: Result<Vec<RecordBatch>, ArrowError> =
            batches.iter().map(|batch| batch.project(&places)).collect();
        let mut rows = Rows {
            batches: batches.map_err(wrong)?,
            seen: schema::with_views(&projected),
            columns,
            pieces: Vec::new(),
            count: 0,
            bytes: 0,
        };
        rows.cut();
        Ok(Held(Arc::new(rows)))
    }

    /// How many rows there are.
    pub fn rows(&self) -> u64 {
        self.0.count
    }

    /// The source that these rows are, under a name to be shown.
    pub fn source(&self, name: &str) -> Source {
        Source {
            name: name.to_owned(),
            path: PathBuf::from(name),
            kind: SourceKind::Memory,
            len: self.0.bytes,
            modified: 0,
            held: Some(self.clone()),
        }
    }

    pub(crate) fn read(
        &self,
        options: &ReadOptions,
        sink: &mut dyn FnMut(Batch) -> ControlFlow<()>,
    ) {
        let options = Arc::new(options.clone());
        for (number, piece) in self.0.pieces.iter().enumerate() {
            let raw = HeldPiece {
                rows: Arc::clone(&self.0),
                number,
                options: Arc::clone(&options),
            };
            if sink(Batch::new(raw, piece.position)).is_break() {
                return;
            }
        }
    }

    /// Gives some rows again, whose numbers increase.
    pub(crate) fn fetch(
        &self,
        offsets: &[Offset],
        options: &ReadOptions,
        each: &mut EachAgain<'_>,
    ) {
        let mut rest = offsets;
        while let Some(&Offset(row)) = rest.first() {
            let after = self.0.pieces.partition_point(|piece| piece.first <= row);
            let piece = after.checked_sub(1).and_then(|at| self.0.pieces.get(at));
            let piece = piece.filter(|piece| row < piece.first + piece.len as u64);
            let Some(piece) = piece else {
                let gone = Refused::rejected(row, "gone", "there is no record here any more");
                each(Offset(row), Err(gone));
                rest = &rest[1..];
                continue;
            };
            let end = piece.first + piece.len as u64;
            let (here, later) = rest.split_at(rest.partition_point(|one| one.0 < end));
            rest = later;
            // Only as much of the piece as they span.
            let last = here.last().map_or(row, |last| last.0);
            let local = |row: u64| usize::try_from(row - piece.first).unwrap_or(usize::MAX);
            let (from, to) = (piece.from + local(row), piece.from + local(last) + 1);
            match self.0.values(piece.batch, from, to - from) {
                Ok(values) => {
                    for &Offset(wanted) in here {
                        let at = usize::try_from(wanted - row).unwrap_or(usize::MAX);
                        let record = checked(values.record(at, wanted), options);
                        each(Offset(wanted), record);
                    }
                }
                Err(error) => {
                    for &offset in here {
                        each(offset, Err(unreadable(offset.0, &error)));
                    }
                }
            }
        }
    }
}

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Held")
            .field("rows", &self.0.count)
            .field("bytes", &self.0.bytes)
            .finish_non_exhaustive()
    }
}

impl PartialEq for Held {
    /// Whether they are the same rows, not equal ones.
    fn eq(&self, other: &Held) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Held {}

impl Rows {
    /// Cuts batches into pieces of about [`BATCH_LEN`] bytes.
    fn cut(&mut self) {
        for (number, batch) in self.batches.iter().enumerate() {
            let rows = batch.num_rows();
            let bytes: usize = batch.columns().iter().map(text_len).sum();
            let in_piece = BATCH_LEN.saturating_mul(rows) / bytes.max(1);
            let in_piece = in_piece.clamp(1, BATCH_ROWS);
            for from in (0..rows).step_by(in_piece) {
                let len = in_piece.min(rows - from);
                let share = bytes / rows.max(1) * len;
                self.bytes += share as u64;
                self.pieces.push(Piece {
                    first: self.count,
                    batch: number,
                    from,
                    len,
                    bytes: share,
                    position: self.bytes,
                });
                self.count += len as u64;
            }
        }
    }

    /// Some rows of a batch, to be read one by one.
    fn values(&self, batch: usize, from: usize, len: usize) -> Result<Values, ArrowError> {
        let batch = self.batches[batch].slice(from, len);
        let columns = batch.columns().iter().zip(self.seen.fields());
        let columns: Result<Vec<ArrayRef>, ArrowError> = columns
            .map(|(column, field)| seen_as(column, field.data_type()))
            .collect();
        // Rows that a schema calls never absent may be all the same, from elsewhere.
        let fields = self.seen.fields().iter();
        let fields: Vec<_> = fields
            .map(|field| field.as_ref().clone().with_nullable(true))
            .collect();
        let seen = Arc::new(Schema::new(fields));
        self.columns.values(&RecordBatch::try_new(seen, columns?)?)
    }
}

/// A column as views of its text; nothing is copied but the places of values.
fn seen_as(column: &ArrayRef, kind: &DataType) -> Result<ArrayRef, ArrowError> {
    if column.data_type() == kind {
        return Ok(Arc::clone(column));
    }
    if let Some(dictionary) = column.as_any_dictionary_opt() {
        let values = seen_as(dictionary.values(), kind)?;
        return cast(&dictionary.with_values(values), kind);
    }
    cast(column, kind)
}

/// Bytes of the text in a column, about.
fn text_len(column: &ArrayRef) -> usize {
    let between = |offsets: Option<(i64, i64)>| {
        let len = offsets.map_or(0, |(first, last)| last.saturating_sub(first));
        usize::try_from(len).unwrap_or(0)
    };
    if let Some(text) = column.as_string_opt::<i32>() {
        let offsets = text.value_offsets();
        return between(
            offsets
                .first()
                .zip(offsets.last())
                .map(|(a, b)| ((*a).into(), (*b).into())),
        );
    }
    if let Some(text) = column.as_string_opt::<i64>() {
        let offsets = text.value_offsets();
        return between(offsets.first().zip(offsets.last()).map(|(a, b)| (*a, *b)));
    }
    if let Some(text) = column.as_string_view_opt() {
        return text.lengths().map(|len| len as usize).sum();
    }
    let len = column.to_data().get_slice_memory_size();
    len.unwrap_or_else(|_| column.get_buffer_memory_size())
}

fn unreadable(row: u64, error: &ArrowError) -> Refused {
    Refused::rejected(row, "unreadable", format!("row {row}: {error}"))
}

/// A piece on its way to a worker.
struct HeldPiece {
    rows: Arc<Rows>,
    number: usize,
    options: Arc<ReadOptions>,
}

impl HeldPiece {
    fn piece(&self) -> Piece {
        self.rows.pieces[self.number]
    }
}

impl RawRecords for HeldPiece {
    fn for_each(&self, each: &mut Each<'_>) {
        let piece = self.piece();
        let values = self.rows.values(piece.batch, piece.from, piece.len);
        for row in 0..piece.len {
            let number = piece.first + row as u64;
            match &values {
                Ok(values) => each(checked(values.record(row, number), &self.options)),
                Err(error) => each(Err(unreadable(number, error))),
            }
        }
    }

    fn byte_len(&self) -> usize {
        self.piece().bytes
    }
}

#[cfg(test)]
mod tests;
