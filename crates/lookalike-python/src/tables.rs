//! `dedup` and `cluster`: tables in memory, through a collection that passes.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, StringBuilder, UInt32Builder};
use arrow_array::{ArrayRef, BooleanArray, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use arrow_select::filter::filter_record_batch;
use lookalike::add::{AddError, AddOptions};
use lookalike::collection::state::Counts;
use lookalike::core::recipe::SketchKind;
use lookalike::corpus::held::Held;
use lookalike::corpus::inputs::Inputs;
use lookalike::corpus::parquet::Fault;
use lookalike::dedup::{DedupError, DedupOptions, Form, Keep, decide};
use lookalike::passing::add_passing;
use lookalike::shards::{Existing, MARKS, ShardFault};
use lookalike::tables::of_collection::{TableError, Tables};
use lookalike::tables::{Documents, Writer};
use lookalike_server::failure::{Exit, Failure};
use lookalike_server::wire;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};
use serde_json::{Value, json};

use crate::arrow::{Table, batches};
use crate::failure::{Kind, error, raised, usage, utf8};
use crate::options::{Given, MACHINE, POLICY, READING, RECIPE};
use crate::value::to_python;
use crate::work::{Watcher, run};

/// What a table goes by where a file would have its path.
pub(crate) const TABLE: &str = "table";

/// Bytes of memory that are used unasked: there is a table in memory already. What does not
/// fit goes to the disk, at a tenth more of the processor's time.
const MEMORY: u64 = 256 << 20;

/// The same for each row, for tables of many millions.
const MEMORY_FOR_ROW: u64 = 40;

/// A column that is not there, or holds something else.
pub(crate) fn column_fault(py: Python<'_>, fault: &Fault) -> PyErr {
    let kind = match fault {
        Fault::NoColumn { .. } => Kind::Column,
        Fault::WrongKind { .. } => Kind::Type,
        _ => Kind::Exit(Exit::Usage),
    };
    error(py, kind, &fault.to_string(), "")
}

/// Why adding rows failed.
pub(crate) fn add_failure(folder: &Path, error: AddError) -> Failure {
    match error {
        AddError::Nothing(counts) => nothing(&counts),
        other => Failure::from_add(folder, other),
    }
}

fn nothing(counts: &Counts) -> Failure {
    Failure {
        hint: "nothing was written; check the rows, and the column with text=".to_owned(),
        ..Failure::nothing("the table", counts)
    }
}

/// A table that is held, and how it is worked on.
struct Job {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
    inputs: Inputs,
    rows: u64,
    add: AddOptions,
}

impl Job {
    fn new(table: &Bound<'_, PyAny>, given: &Given<'_, '_>) -> PyResult<Job> {
        let py = table.py();
        let recipe = given.recipe(SketchKind::default())?;
        let mut add = AddOptions {
            reading: given.reading(recipe.tokens)?,
            policy: given.policy()?,
            recipe,
            ..AddOptions::default()
        };
        let (schema, batches) = batches(table)?;
        let held = Held::new(&batches, &schema, &add.reading);
        let held = held.map_err(|fault| column_fault(py, &fault))?;
        given.machine(&mut add, MEMORY.max(MEMORY_FOR_ROW * held.rows()))?;
        Ok(Job {
            schema,
            batches,
            rows: held.rows(),
            inputs: Inputs::of(held.source(TABLE)),
            add,
        })
    }
}

/// The clusters of a table, and what the clustering came to.
#[pyfunction]
#[pyo3(signature = (table, progress, **options))]
pub(crate) fn cluster<'py>(
    py: Python<'py>,
    table: &Bound<'py, PyAny>,
    progress: Option<&Bound<'py, PyAny>>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<(Table, Bound<'py, PyAny>)> {
    let given = Given::new(py, options, &[RECIPE, READING, POLICY, MACHINE])?;
    let mut job = Job::new(table, &given)?;
    let done = run(py, progress, |stop, board| {
        job.add.stop = stop.clone();
        let mut watcher = Watcher::new(board, Some(job.rows));
        let passed = add_passing(&job.inputs, &job.add, &mut |event| watcher.event(&event));
        let passed = passed.map_err(|error| add_failure(Path::new(TABLE), error))?;
        let stored = &passed.collection.state().clusterings[0];
        let tables = Tables {
            collection: &passed.collection,
            stored,
        };
        let mut report = wire::clustering(&stored.policy, &stored.summary);
        report["read"] = json!(passed.report.counts.read);
        report["skipped"] = json!(passed.report.counts.skipped);
        report["rejected"] = json!(passed.report.counts.rejected);
        let mut writer = Writer::<Documents>::held();
        let filled = tables.documents(&mut writer, 1);
        let filled = filled.and_then(|()| writer.batches().map_err(TableError::from));
        let (schema, batches) = filled.map_err(|error| machine(&error))?;
        Ok::<_, Failure>((Table::new(schema, batches), report))
    })?;
    let (table, report) = done.map_err(|failure| raised(py, &failure))?;
    Ok((table, to_python(py, &report)?))
}

fn machine(error: &TableError) -> Failure {
    Failure {
        exit: Exit::Machine,
        message: error.to_string(),
        hint: String::new(),
    }
}

/// What was decided of the rows of a table.
#[pyclass(frozen, module = "lookalike")]
pub(crate) struct Decided {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
    keep: BooleanArray,
    marks: Option<RecordBatch>,
    report: Value,
}

#[pymethods]
impl Decided {
    /// One byte a row: 1 for one that stays.
    fn mask<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let bytes: Vec<u8> = self.keep.values().iter().map(u8::from).collect();
        PyBytes::new(py, &bytes)
    }

    /// The same as a table of one column.
    fn mask_table(&self, py: Python<'_>) -> PyResult<Table> {
        let schema = Arc::new(Schema::new(vec![Field::new(
            "keep",
            DataType::Boolean,
            false,
        )]));
        let keep: ArrayRef = Arc::new(self.keep.clone());
        let batch = RecordBatch::try_new(Arc::clone(&schema), vec![keep]);
        let batch = batch.map_err(|fault| usage(py, fault))?;
        Ok(Table::new(schema, vec![batch]))
    }

    /// The rows that stay.
    fn filtered(&self, py: Python<'_>) -> PyResult<Table> {
        let mut from = 0;
        let mut out = Vec::with_capacity(self.batches.len());
        for batch in &self.batches {
            let keep = self.keep.slice(from, batch.num_rows());
            from += batch.num_rows();
            out.push(filter_record_batch(batch, &keep).map_err(|fault| usage(py, fault))?);
        }
        Ok(Table::new(Arc::clone(&self.schema), out))
    }

    /// Three columns, a row for each of the table.
    fn marks(&self) -> Option<Table> {
        let marks = self.marks.as_ref()?;
        Some(Table::new(marks.schema(), vec![marks.clone()]))
    }

    /// All rows, with three columns more.
    fn annotated(&self, py: Python<'_>) -> PyResult<Option<Table>> {
        let Some(marks) = &self.marks else {
            return Ok(None);
        };
        let fields = self
            .schema
            .fields()
            .iter()
            .chain(marks.schema_ref().fields());
        let fields: Vec<_> = fields.cloned().collect();
        let schema = Schema::new_with_metadata(fields, self.schema.metadata().clone());
        let schema = Arc::new(schema);
        let mut from = 0;
        let mut out = Vec::with_capacity(self.batches.len());
        for batch in &self.batches {
            let marks = marks.slice(from, batch.num_rows());
            from += batch.num_rows();
            let columns = batch.columns().iter().chain(marks.columns()).cloned();
            let batch = RecordBatch::try_new(Arc::clone(&schema), columns.collect());
            out.push(batch.map_err(|fault| usage(py, fault))?);
        }
        Ok(Some(Table::new(schema, out)))
    }

    #[getter]
    fn report<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.report)
    }
}

/// Decides which rows of a table stay.
#[pyfunction]
#[pyo3(signature = (table, progress, keep, annotate, against, **options))]
pub(crate) fn dedup<'py>(
    py: Python<'py>,
    table: &Bound<'py, PyAny>,
    progress: Option<&Bound<'py, PyAny>>,
    keep: &Bound<'py, PyString>,
    annotate: bool,
    against: Option<PathBuf>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Decided> {
    let given = Given::new(py, options, &[RECIPE, READING, POLICY, MACHINE])?;
    let keep = match utf8("keep", keep)? {
        "first" => Keep::First,
        "longest" => Keep::Longest,
        "newest" => Keep::Newest,
        other => {
            let message = format!("unknown keep `{other}`; there are first, longest and newest");
            return Err(usage(py, message));
        }
    };
    let mut job = Job::new(table, &given)?;
    let is_taken = |name: &&&str| job.schema.index_of(name).is_ok();
    if let Some(name) = MARKS.iter().find(is_taken).filter(|_| annotate) {
        return Err(usage(py, ShardFault::NameTaken(name)));
    }
    if let (Some(folder), true) = (&against, given.has_default_recipe()?) {
        job.add.recipe = crate::collection::recipe_of(py, folder, given.key()?.as_ref())?;
        job.add.reading.tokens = job.add.recipe.tokens;
    }
    let options = DedupOptions {
        add: job.add.clone(),
        keep,
        form: if annotate {
            Form::Annotated
        } else {
            Form::Filtered
        },
        existing: Existing::Refuse,
        against,
    };
    let done = run(py, progress, |stop, board| {
        let mut options = options;
        options.add.stop = stop.clone();
        let mut watcher = Watcher::new(board, Some(job.rows));
        let mut fates = Fates::new(job.rows, options.form);
        let deduped = decide(&job.inputs, &options, &mut watcher, &mut |fate| {
            fates.take(fate);
        });
        let folder = options.against.as_deref().unwrap_or(Path::new(TABLE));
        match deduped {
            Ok(deduped) => Ok((deduped, fates)),
            Err(DedupError::Add(error)) => Err(add_failure(folder, error)),
            Err(DedupError::Recipe(fault)) => Err(Failure::from_recipe(folder, &fault)),
            Err(other) => Err(Failure {
                exit: Exit::Machine,
                message: other.to_string(),
                hint: String::new(),
            }),
        }
    })?;
    let (deduped, fates) = done.map_err(|failure| raised(py, &failure))?;
    let (keep, marks) = fates.finish(py)?;
    Ok(Decided {
        schema: job.schema,
        batches: job.batches,
        keep,
        marks,
        report: wire::deduped(&deduped),
    })
}

/// What becomes of every row; of one that was skipped or rejected, nothing is told.
struct Fates {
    keep: Vec<bool>,
    marks: Option<(UInt32Builder, BooleanBuilder, StringBuilder)>,
    /// The row that the next mark is for.
    next: u64,
}

impl Fates {
    fn new(rows: u64, form: Form) -> Fates {
        Fates {
            keep: vec![false; usize::try_from(rows).unwrap_or(0)],
            marks: (form == Form::Annotated).then(Default::default),
            next: 0,
        }
    }

    fn take(&mut self, fate: lookalike::dedup::Fate) {
        let row = usize::try_from(fate.offset).ok();
        if let Some(keep) = row.and_then(|row| self.keep.get_mut(row)) {
            *keep = fate.is_kept;
        }
        self.fill(fate.offset);
        if let (Some(marks), Some(mark)) = (&mut self.marks, fate.mark) {
            marks.0.append_value(mark.cluster);
            marks.1.append_value(mark.is_duplicate);
            marks.2.append_value(mark.representative);
            self.next = fate.offset + 1;
        }
    }

    /// Nothing is known of the rows up to one.
    fn fill(&mut self, to: u64) {
        while let Some(marks) = self.marks.as_mut().filter(|_| self.next < to) {
            marks.0.append_null();
            marks.1.append_null();
            marks.2.append_null();
            self.next += 1;
        }
    }

    fn finish(mut self, py: Python<'_>) -> PyResult<(BooleanArray, Option<RecordBatch>)> {
        self.fill(self.keep.len() as u64);
        let marks = self
            .marks
            .map(|(mut cluster, mut is_duplicate, mut representative)| {
                let columns: [ArrayRef; 3] = [
                    Arc::new(cluster.finish()),
                    Arc::new(is_duplicate.finish()),
                    Arc::new(representative.finish()),
                ];
                let columns = MARKS.iter().zip(columns);
                let columns = columns.map(|(name, column)| (*name, column, true));
                RecordBatch::try_from_iter_with_nullable(columns)
            });
        let marks = marks.transpose().map_err(|fault| usage(py, fault))?;
        Ok((BooleanArray::from(self.keep), marks))
    }
}
