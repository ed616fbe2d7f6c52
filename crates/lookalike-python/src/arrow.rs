//! Tables in and out, by the Arrow C stream.

use std::sync::Arc;

use arrow_array::builder::{LargeStringBuilder, ListBuilder};
use arrow_array::{ArrayRef, RecordBatch, RecordBatchReader};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyString};
use pyo3_arrow::PyTable;
use pyo3_arrow::input::AnyRecordBatch;

use crate::failure::{Kind, error, kind, usage, utf8};
use lookalike::corpus::options::ReadOptions;

/// The batches of whatever speaks the Arrow C stream; their buffers stay where they are.
pub(crate) fn batches(table: &Bound<'_, PyAny>) -> PyResult<(SchemaRef, Vec<RecordBatch>)> {
    let py = table.py();
    let given = table.get_type().name()?;
    if !speaks_arrow(table)? {
        let message = format!(
            "a table must speak the Arrow C stream, as those of Polars, DuckDB, pyarrow and pandas do, and is {given}"
        );
        return Err(kind(py, &message));
    }
    let extracted = table.extract::<AnyRecordBatch>();
    let reader = extracted.and_then(AnyRecordBatch::into_reader);
    let reader = reader.map_err(|error| {
        // It is no stream of rows; whatever else the table raises is its own.
        if !error.is_instance_of::<PyValueError>(py) {
            return error;
        }
        let message = format!("a table has columns with names, and {given} has none");
        let wrong = kind(py, &message);
        wrong.set_cause(py, Some(error));
        wrong
    })?;
    let schema = reader.schema();
    let batches: Result<Vec<RecordBatch>, _> = reader.collect();
    let batches = batches.map_err(|error| usage(py, format!("the table cannot be read: {error}")));
    Ok((schema, batches?))
}

/// Whether an object gives batches.
pub(crate) fn speaks_arrow(table: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(table.hasattr("__arrow_c_stream__")? || table.hasattr("__arrow_c_array__")?)
}

/// A table, for whoever takes the Arrow C stream.
#[pyclass(frozen, module = "lookalike")]
pub(crate) struct Table {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

impl Table {
    pub(crate) fn new(schema: SchemaRef, batches: Vec<RecordBatch>) -> Table {
        Table { schema, batches }
    }

    fn exported<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTable>> {
        let table = PyTable::try_new(self.batches.clone(), Arc::clone(&self.schema))?;
        Bound::new(py, table)
    }
}

#[pymethods]
impl Table {
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let exported = self.exported(py)?;
        exported.call_method1("__arrow_c_stream__", (requested_schema,))
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.exported(py)?.call_method0("__arrow_c_schema__")
    }

    #[getter]
    fn column_names(&self) -> Vec<String> {
        let fields = self.schema.fields().iter();
        fields.map(|field| field.name().clone()).collect()
    }

    #[getter]
    fn num_rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    fn __len__(&self) -> usize {
        self.num_rows()
    }

    fn __repr__(&self) -> String {
        let columns = self.column_names().join(", ");
        format!("<lookalike.Table of {} rows: {columns}>", self.num_rows())
    }
}

/// Bytes of text in a batch made of Python's objects, about.
const BATCH: usize = 16 << 20;

/// Makes batches of dictionaries or strings, one at a time; the text is copied.
pub(crate) fn gathered(
    rows: &Bound<'_, PyAny>,
    options: &ReadOptions,
) -> PyResult<(SchemaRef, Vec<RecordBatch>)> {
    let py = rows.py();
    if rows.is_instance_of::<PyString>() || rows.is_instance_of::<PyDict>() {
        return Err(kind(
            py,
            "`rows` must be many documents: put a single one into a list",
        ));
    }
    let Ok(rows) = rows.try_iter() else {
        let given = rows.get_type().name()?;
        let message = format!("`rows` must be a table, or dictionaries or strings, and is {given}");
        return Err(kind(py, &message));
    };
    let mut gather = Gather::new(options);
    let mut batches = Vec::new();
    for (number, row) in rows.enumerate() {
        gather.take(number, &row?)?;
        if gather.bytes >= BATCH {
            batches.push(gather.finish(py)?);
        }
    }
    let is_empty = batches.is_empty() && gather.rows == 0;
    if batches.is_empty() || gather.rows > 0 {
        batches.push(gather.finish(py)?);
    }
    if let Some(name) = gather.missing().filter(|_| !is_empty) {
        let message = format!("no row has a field `{name}`");
        return Err(error(py, Kind::Column, &message, ""));
    }
    Ok((gather.schema(), batches))
}

struct Gather<'a> {
    names: [&'a str; 4],
    columns: [LargeStringBuilder; 4],
    /// Which of them some row had.
    seen: [bool; 4],
    features: ListBuilder<LargeStringBuilder>,
    has_features: bool,
    rows: usize,
    bytes: usize,
}

impl<'a> Gather<'a> {
    fn new(options: &'a ReadOptions) -> Gather<'a> {
        use lookalike::core::canonical::TokenKind;
        Gather {
            names: [
                &options.text_field,
                &options.id_field,
                &options.url_field,
                &options.date_field,
            ],
            columns: std::array::from_fn(|_| LargeStringBuilder::new()),
            seen: [false; 4],
            features: ListBuilder::new(LargeStringBuilder::new()),
            has_features: options.tokens == TokenKind::Feature,
            rows: 0,
            bytes: 0,
        }
    }

    fn schema(&self) -> SchemaRef {
        let text = |name: &&str| Field::new(*name, DataType::LargeUtf8, true);
        let mut fields: Vec<Field> = self.names.iter().map(text).collect();
        if self.has_features {
            let item = Arc::new(Field::new("item", DataType::LargeUtf8, true));
            fields[0] = Field::new("features", DataType::List(item), true);
        }
        Arc::new(Schema::new(fields))
    }

    /// A field besides the text that somebody named, and no row has.
    fn missing(&self) -> Option<&'a str> {
        let usual = ReadOptions::default();
        let usual = [usual.id_field, usual.url_field, usual.date_field];
        let named = self.names[1..].iter().zip(&self.seen[1..]).zip(usual);
        let mut missing = named.filter(|((name, is_seen), usual)| !**is_seen && **name != *usual);
        missing.next().map(|((name, _), _)| *name)
    }

    fn take(&mut self, number: usize, row: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = row.py();
        self.rows += 1;
        if let Ok(text) = row.cast::<PyString>() {
            for column in &mut self.columns[1..] {
                column.append_null();
            }
            return if self.has_features {
                Err(kind(py, &format!("row {number} has no list `features`")))
            } else {
                self.text(number, text)
            };
        }
        let get = |name: &str| -> PyResult<Option<Bound<'_, PyAny>>> {
            let Ok(row) = row.cast::<PyDict>() else {
                let given = row.get_type().name()?;
                let message =
                    format!("row {number} must be a dictionary or a string, and is {given}");
                return Err(kind(py, &message));
            };
            Ok(row.get_item(name)?.filter(|value| !value.is_none()))
        };
        let first = if self.has_features {
            "features"
        } else {
            self.names[0]
        };
        match get(first)? {
            Some(features) if self.has_features => {
                let Ok(features) = features.try_iter() else {
                    let given = features.get_type().name()?;
                    let message = format!("row {number}: `{first}` must be a list, and is {given}");
                    return Err(kind(py, &message));
                };
                for feature in features {
                    let feature = feature?.str()?;
                    let feature = utf8(&format!("row {number}: {first}"), &feature)?;
                    self.features.values().append_value(feature);
                }
                self.features.append(true);
            }
            None if self.has_features => self.features.append(false),
            None => self.columns[0].append_null(),
            Some(text) => {
                let Ok(text) = text.cast::<PyString>() else {
                    let given = text.get_type().name()?;
                    let message =
                        format!("row {number}: `{first}` must be a string, and is {given}");
                    return Err(kind(py, &message));
                };
                self.text(number, text)?;
            }
        }
        for (i, name) in self.names.into_iter().enumerate().skip(1) {
            let value = get(name)?;
            self.seen[i] |= value.is_some();
            match value {
                None => self.columns[i].append_null(),
                Some(value) if value.hasattr("isoformat")? => {
                    let date = value.call_method0("isoformat")?;
                    self.columns[i].append_value(date.extract::<String>()?);
                }
                Some(value) => {
                    let value = value.str()?;
                    self.columns[i].append_value(utf8(&format!("row {number}: {name}"), &value)?);
                }
            }
        }
        Ok(())
    }

    fn text(&mut self, number: usize, text: &Bound<'_, PyString>) -> PyResult<()> {
        let text = utf8(&format!("row {number}"), text)?;
        self.bytes += text.len();
        self.columns[0].append_value(text);
        Ok(())
    }

    fn finish(&mut self, py: Python<'_>) -> PyResult<RecordBatch> {
        let finish = |column: &mut LargeStringBuilder| Arc::new(column.finish()) as ArrayRef;
        let mut columns: Vec<ArrayRef> = self.columns.iter_mut().map(finish).collect();
        if self.has_features {
            columns[0] = Arc::new(self.features.finish());
        }
        self.rows = 0;
        self.bytes = 0;
        let batch = RecordBatch::try_new(self.schema(), columns);
        batch.map_err(|fault| error(py, Kind::Type, &fault.to_string(), ""))
    }
}
