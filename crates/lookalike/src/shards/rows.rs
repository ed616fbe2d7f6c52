//! Parquet, filtered or marked, column by column.
//!
//! ```text
//! row group ─► which rows? ─► for each column: levels and values ─► those of kept rows
//! ```
//!
//! Values are copied as Parquet stores them, with their repetition and definition
//! levels, and are never made into anything else: so every type comes through, nested
//! ones and INT96 too. Schema, metadata, codec and row groups stay; a row group of
//! which no row is kept is left out. Pages and encodings are made anew.

use std::fs::File;
use std::io::{BufWriter, IntoInnerError};
use std::sync::Arc;

use parquet::arrow::{ARROW_SCHEMA_META_KEY, encode_arrow_schema, parquet_to_arrow_schema};
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_column_reader};
use parquet::column::writer::ColumnWriterImpl;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, Int32Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::{KeyValue, RowGroupMetaData};
use parquet::file::properties::{ReaderProperties, WriterProperties};
use parquet::file::reader::RowGroupReader;
use parquet::file::serialized_reader::SerializedRowGroupReader;
use parquet::file::writer::{
    SerializedColumnWriter, SerializedFileWriter, SerializedRowGroupWriter,
};
use parquet::schema::types::{Type, TypePtr};

use super::packing::STEP;
use super::{Decision, Keep, MARKS, Mark, Marker, NewFile, ShardFault};
use crate::corpus::parquet::guard::{self, Opened, decoding, invalid};
use crate::corpus::record::Offset;
use crate::tables::{CREATED_BY, io_error};

/// Records of a column that are copied at once.
const STEP_ROWS: usize = 1024;

type Out = SerializedFileWriter<BufWriter<NewFile>>;

pub(super) fn filter(file: File, keep: Keep<'_>, new: NewFile) -> Result<NewFile, ShardFault> {
    let opened = guard::open(file)?;
    let schema = opened.metadata.file_metadata().schema_descr();
    let mut out = start(&opened, schema.root_schema_ptr(), metadata(&opened), new)?;
    let mut row = 0_u64;
    for group in opened.metadata.row_groups() {
        let rows = checked_rows(&opened, group)?;
        let mut kept = Vec::new();
        for _ in 0..rows {
            kept.push(keep(Offset(row)) == Decision::Keep);
            row += 1;
        }
        if kept.contains(&true) {
            decoding(|| {
                let mut to = out.next_row_group()?;
                copy_columns(&opened, group, &kept, &mut to)?;
                to.close()?;
                Ok(())
            })?;
        }
    }
    finish(out)
}

pub(super) fn annotate(file: File, mark: Marker<'_>, new: NewFile) -> Result<NewFile, ShardFault> {
    let opened = guard::open(file)?;
    let schema = opened.metadata.file_metadata().schema_descr();
    let root = schema.root_schema();
    for name in MARKS {
        if root.get_fields().iter().any(|field| field.name() == name) {
            return Err(ShardFault::NameTaken(name));
        }
    }
    let (root, metadata) = decoding(|| with_marks(&opened))?;
    let mut out = start(&opened, root, metadata, new)?;
    let mut row = 0_u64;
    for group in opened.metadata.row_groups() {
        let rows = checked_rows(&opened, group)?;
        let (mut kept, mut marks) = (Vec::new(), Vec::new());
        for _ in 0..rows {
            kept.push(true);
            marks.push(mark(Offset(row)));
            row += 1;
        }
        decoding(|| {
            let mut to = out.next_row_group()?;
            copy_columns(&opened, group, &kept, &mut to)?;
            put_marks(&marks, &mut to)?;
            to.close()?;
            Ok(())
        })?;
    }
    finish(out)
}

fn start(
    opened: &Opened,
    root: TypePtr,
    metadata: Option<Vec<KeyValue>>,
    new: NewFile,
) -> Result<Out, ShardFault> {
    let mut properties = WriterProperties::builder()
        .set_created_by(CREATED_BY.to_owned())
        .set_key_value_metadata(metadata);
    if let Some(group) = opened.metadata.row_groups().first() {
        for column in group.columns() {
            properties = properties
                .set_column_compression(column.column_path().clone(), column.compression());
        }
        // The added columns are packed as the first one is.
        if let Some(column) = group.columns().first() {
            properties = properties.set_compression(column.compression());
        }
        properties = properties.set_sorting_columns(group.sorting_columns().cloned());
    }
    let out = BufWriter::with_capacity(STEP, new);
    let writer = decoding(|| SerializedFileWriter::new(out, root, Arc::new(properties.build())))?;
    Ok(writer)
}

fn finish(out: Out) -> Result<NewFile, ShardFault> {
    let out = out.into_inner().map_err(io_error)?;
    Ok(out.into_inner().map_err(IntoInnerError::into_error)?)
}

/// The rows of a row group. There are not more of them than its pages hold values.
fn checked_rows(opened: &Opened, group: &RowGroupMetaData) -> Result<u64, ShardFault> {
    let rows = u64::try_from(group.num_rows())
        .map_err(|_| invalid("a row group has a negative number of rows"))?;
    if group.columns().is_empty() && rows > 0 {
        return Err(invalid("it has rows and no columns").into());
    }
    for column in group.columns() {
        if guard::check_pages(&opened.source, column)? < rows {
            return Err(invalid("a row group has not as many rows as it says").into());
        }
    }
    Ok(rows)
}

fn copy_columns<W: std::io::Write + Send>(
    opened: &Opened,
    group: &RowGroupMetaData,
    kept: &[bool],
    to: &mut SerializedRowGroupWriter<'_, W>,
) -> Result<(), ParquetError> {
    let source = Arc::new(opened.source.clone());
    let properties = Arc::new(ReaderProperties::builder().build());
    let from = SerializedRowGroupReader::new(source, group, None, properties)?;
    for leaf in 0..group.num_columns() {
        let descriptor = group.schema_descr().column(leaf);
        let levels = Levels {
            definition: descriptor.max_def_level(),
            repetition: descriptor.max_rep_level(),
        };
        let reader = get_column_reader(descriptor, from.get_column_page_reader(leaf)?);
        let mut writer = next_column(to)?;
        match reader {
            ColumnReader::BoolColumnReader(r) => copy(r, writer.typed(), kept, levels),
            ColumnReader::Int32ColumnReader(r) => copy(r, writer.typed(), kept, levels),
            ColumnReader::Int64ColumnReader(r) => copy(r, writer.typed(), kept, levels),
            ColumnReader::Int96ColumnReader(r) => copy(r, writer.typed(), kept, levels),
            ColumnReader::FloatColumnReader(r) => copy(r, writer.typed(), kept, levels),
            ColumnReader::DoubleColumnReader(r) => copy(r, writer.typed(), kept, levels),
            ColumnReader::ByteArrayColumnReader(r) => copy(r, writer.typed(), kept, levels),
            ColumnReader::FixedLenByteArrayColumnReader(r) => copy(r, writer.typed(), kept, levels),
        }?;
        writer.close()?;
    }
    Ok(())
}

fn next_column<'a, W: std::io::Write + Send>(
    to: &'a mut SerializedRowGroupWriter<'_, W>,
) -> Result<SerializedColumnWriter<'a>, ParquetError> {
    to.next_column()?
        .ok_or_else(|| ParquetError::General("its row groups differ in columns".into()))
}

/// The highest levels of a column: 0 where it is flat, or never absent.
#[derive(Clone, Copy)]
struct Levels {
    definition: i16,
    repetition: i16,
}

fn copy<T: DataType>(
    mut from: ColumnReaderImpl<T>,
    to: &mut ColumnWriterImpl<'_, T>,
    kept: &[bool],
    highest: Levels,
) -> Result<(), ParquetError> {
    let has = |level: i16| level > 0;
    let mismatch = || ParquetError::General("its columns differ in rows".into());
    let (mut values, mut definition, mut repetition) = (Vec::new(), Vec::new(), Vec::new());
    let mut rest = kept;
    loop {
        values.clear();
        definition.clear();
        repetition.clear();
        let (records, _, _) = from.read_records(
            STEP_ROWS,
            has(highest.definition).then_some(&mut definition),
            has(highest.repetition).then_some(&mut repetition),
            &mut values,
        )?;
        if records == 0 {
            break;
        }
        let (here, later) = rest.split_at_checked(records).ok_or_else(mismatch)?;
        rest = later;
        if here.iter().all(|kept| !kept) {
            continue;
        }
        if !here.iter().all(|kept| *kept) {
            retain(here, highest, &mut values, &mut definition, &mut repetition);
        }
        to.write_batch(
            &values,
            has(highest.definition).then_some(&definition[..]),
            has(highest.repetition).then_some(&repetition[..]),
        )?;
    }
    if rest.is_empty() {
        Ok(())
    } else {
        Err(mismatch())
    }
}

/// Leaves what belongs to kept records.
///
/// A record begins with every repetition level 0; a level is followed by a value only
/// where its definition is the highest.
fn retain<T>(
    kept: &[bool],
    highest: Levels,
    values: &mut Vec<T>,
    definition: &mut Vec<i16>,
    repetition: &mut Vec<i16>,
) {
    let mut record = 0_usize;
    // For each level, whether its record is kept.
    let of_levels: Vec<bool> = if highest.repetition > 0 {
        let levels = repetition.iter().map(|&level| {
            record += usize::from(level == 0);
            kept.get(record.wrapping_sub(1)).copied().unwrap_or(false)
        });
        levels.collect()
    } else {
        kept.to_vec()
    };
    let mut of_values: Vec<bool> = of_levels.clone();
    if highest.definition > 0 {
        let with_value = of_levels.iter().zip(&*definition);
        of_values = with_value
            .filter(|(_, level)| **level == highest.definition)
            .map(|(kept, _)| *kept)
            .collect();
    }
    only(values, &of_values);
    only(definition, &of_levels);
    only(repetition, &of_levels);
}

fn only<T>(all: &mut Vec<T>, kept: &[bool]) {
    let mut kept = kept.iter();
    all.retain(|_| kept.next().copied().unwrap_or(false));
}

fn metadata(opened: &Opened) -> Option<Vec<KeyValue>> {
    opened
        .metadata
        .file_metadata()
        .key_value_metadata()
        .cloned()
}

/// The schema with the columns of marks, and the metadata, in which Arrow's own copy of
/// the schema has them too, if there is one.
fn with_marks(opened: &Opened) -> Result<(TypePtr, Option<Vec<KeyValue>>), ParquetError> {
    let schema = opened.metadata.file_metadata().schema_descr();
    let optional = |name, physical| {
        Type::primitive_type_builder(name, physical).with_repetition(Repetition::OPTIONAL)
    };
    let [cluster, is_duplicate, representative] = MARKS;
    let mut fields = schema.root_schema().get_fields().to_vec();
    fields.push(Arc::new(
        optional(cluster, Physical::INT32)
            .with_logical_type(Some(LogicalType::integer(32, false)))
            .build()?,
    ));
    fields.push(Arc::new(optional(is_duplicate, Physical::BOOLEAN).build()?));
    fields.push(Arc::new(
        optional(representative, Physical::BYTE_ARRAY)
            .with_logical_type(Some(LogicalType::String))
            .build()?,
    ));
    let root = Type::group_type_builder(schema.root_schema().name())
        .with_fields(fields)
        .build()?;

    let mut metadata = metadata(opened);
    if let Some(arrow) = metadata
        .iter_mut()
        .flatten()
        .find(|entry| entry.key == ARROW_SCHEMA_META_KEY)
    {
        use arrow_schema::{DataType, Field, Schema};
        let old = opened.metadata.file_metadata().key_value_metadata();
        let known = parquet_to_arrow_schema(schema, old)?;
        let mut fields: Vec<_> = known.fields().iter().cloned().collect();
        for (name, kind) in
            MARKS
                .into_iter()
                .zip([DataType::UInt32, DataType::Boolean, DataType::Utf8])
        {
            fields.push(Arc::new(Field::new(name, kind, true)));
        }
        let marked = Schema::new_with_metadata(fields, known.metadata().clone());
        arrow.value = Some(encode_arrow_schema(&marked));
    }
    Ok((Arc::new(root), metadata))
}

fn put_marks<W: std::io::Write + Send>(
    marks: &[Option<Mark>],
    to: &mut SerializedRowGroupWriter<'_, W>,
) -> Result<(), ParquetError> {
    let definition: Vec<i16> = marks.iter().map(|m| i16::from(m.is_some())).collect();
    let there = || marks.iter().flatten();

    let clusters: Vec<i32> = there().map(|mark| mark.cluster.cast_signed()).collect();
    let mut column = next_column(to)?;
    let writer = column.typed::<Int32Type>();
    writer.write_batch(&clusters, Some(&definition), None)?;
    column.close()?;

    let duplicates: Vec<bool> = there().map(|mark| mark.is_duplicate).collect();
    let mut column = next_column(to)?;
    let writer = column.typed::<BoolType>();
    writer.write_batch(&duplicates, Some(&definition), None)?;
    column.close()?;

    let names: Vec<ByteArray> = there()
        .map(|mark| ByteArray::from(mark.representative.as_str()))
        .collect();
    let mut column = next_column(to)?;
    let writer = column.typed::<ByteArrayType>();
    writer.write_batch(&names, Some(&definition), None)?;
    column.close()
}
