//! How a file's columns are to be decoded: all strings as views of bytes.

use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};
use parquet::basic::Type as Physical;
use parquet::errors::ParquetError;
use parquet::schema::types::{SchemaDescriptor, Type, TypePtr};

/// The same schema, with nothing said about what byte arrays mean.
pub(super) fn without_strings(
    schema: &SchemaDescriptor,
) -> Result<Arc<SchemaDescriptor>, ParquetError> {
    let root = plain(&schema.root_schema_ptr())?;
    Ok(Arc::new(SchemaDescriptor::new(root)))
}

/// Calls itself as deep as the schema is, which the guard has bounded.
fn plain(node: &TypePtr) -> Result<TypePtr, ParquetError> {
    let info = node.get_basic_info();
    let id = info.has_id().then(|| info.id());
    if node.is_group() {
        let fields: Result<Vec<TypePtr>, ParquetError> =
            node.get_fields().iter().map(plain).collect();
        let mut builder = Type::group_type_builder(node.name())
            .with_converted_type(info.converted_type())
            .with_logical_type(info.logical_type_ref().cloned())
            .with_fields(fields?)
            .with_id(id);
        if info.has_repetition() {
            builder = builder.with_repetition(info.repetition());
        }
        return Ok(Arc::new(builder.build()?));
    }
    if node.get_physical_type() != Physical::BYTE_ARRAY {
        return Ok(Arc::clone(node));
    }
    let builder = Type::primitive_type_builder(node.name(), Physical::BYTE_ARRAY)
        .with_repetition(info.repetition())
        .with_id(id);
    Ok(Arc::new(builder.build()?))
}

/// The same schema, with views of bytes for all that is text or bytes: a value in a
/// dictionary that a million rows share is there once.
pub(crate) fn with_views(schema: &Schema) -> SchemaRef {
    let fields: Vec<FieldRef> = schema.fields().iter().map(view).collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

fn view(field: &FieldRef) -> FieldRef {
    let kind = match field.data_type() {
        kind if is_text(kind) => DataType::BinaryView,
        DataType::Dictionary(_, value) if is_text(value) => DataType::BinaryView,
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(view).collect()),
        DataType::List(inner) => DataType::List(view(inner)),
        DataType::LargeList(inner) => DataType::LargeList(view(inner)),
        _ => return Arc::clone(field),
    };
    Arc::new(Field::clone(field).with_data_type(kind))
}

fn is_text(kind: &DataType) -> bool {
    matches!(
        kind,
        DataType::Utf8
            | DataType::LargeUtf8
            | DataType::Utf8View
            | DataType::Binary
            | DataType::LargeBinary
            | DataType::BinaryView
    )
}
