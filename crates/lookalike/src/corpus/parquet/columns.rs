//! The columns that make a record: found by name once, and read row by row.

use std::borrow::Cow;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, BinaryViewArray, Int64Array, RecordBatch, StructArray};
use arrow_buffer::NullBuffer;
use arrow_cast::cast;
use arrow_schema::ArrowError;
use arrow_schema::{DataType, Schema, TimeUnit};
use parquet::schema::types::SchemaDescriptor;

use super::{Fault, FieldNames};
use crate::corpus::date::when;
use crate::corpus::record::{Archived, Body, Offset, Record, Refused, Timestamp, When};

/// Where the fields are: the names to go down by, from the top.
pub(crate) struct Columns {
    text: Option<Vec<String>>,
    features: Option<Vec<String>>,
    id: Option<Vec<String>>,
    url: Option<Vec<String>>,
    date: Option<Vec<String>>,
}

impl Columns {
    /// Finds the fields in a schema that has views of bytes for text.
    pub(crate) fn find(schema: &Schema, names: &FieldNames) -> Result<Columns, Fault> {
        // A column whose own name has dots comes before one within a structure.
        let find = |name: &str| -> Option<(Vec<String>, DataType)> {
            let whole = vec![name.to_owned()];
            let parts = name.split('.').map(str::to_owned).collect();
            [whole, parts].into_iter().find_map(|path: Vec<String>| {
                let (first, rest) = path.split_first()?;
                let mut field = schema.fields().find(first)?.1;
                for name in rest {
                    let DataType::Struct(fields) = field.data_type() else {
                        return None;
                    };
                    field = fields.find(name)?.1;
                }
                let kind = field.data_type().clone();
                Some((path, kind))
            })
        };
        let text = find(&names.text);
        let features = if text.is_none() {
            find(&names.features)
        } else {
            None
        };
        let columns = Columns {
            id: find(&names.id).map(|found| found.0),
            url: find(&names.url).map(|found| found.0),
            date: find(&names.date).map(|found| found.0),
            text: text.as_ref().map(|found| found.0.clone()),
            features: features.as_ref().map(|found| found.0.clone()),
        };
        match (text, features) {
            (Some((_, DataType::BinaryView)), _) => Ok(columns),
            (Some((_, kind)), _) => Err(Fault::WrongKind {
                name: names.text.clone(),
                kind: kind.to_string(),
                wanted: "text",
            }),
            (None, Some((_, DataType::List(of) | DataType::LargeList(of))))
                if of.data_type().is_integer() || *of.data_type() == DataType::BinaryView =>
            {
                Ok(columns)
            }
            (None, Some((_, kind))) => Err(Fault::WrongKind {
                name: names.features.clone(),
                kind: kind.to_string(),
                wanted: "a list of texts or integers",
            }),
            (None, None) => Err(Fault::NoColumn {
                name: names.text.clone(),
                columns: schema.fields().iter().map(|f| f.name().clone()).collect(),
            }),
        }
    }

    /// A field that somebody named, other than all are named by default, and that is not there.
    pub(crate) fn missing<'n>(&self, names: &'n FieldNames) -> Option<&'n str> {
        let usual = FieldNames::default();
        let fields = [
            (&self.id, &names.id, usual.id),
            (&self.url, &names.url, usual.url),
            (&self.date, &names.date, usual.date),
        ];
        let is_missing = |(found, name, usual): &(&Option<_>, &String, String)| {
            found.is_none() && *name != usual
        };
        let missing = fields.into_iter().find(is_missing);
        missing.map(|(_, name, _)| name.as_str())
    }

    fn paths(&self) -> impl Iterator<Item = &Vec<String>> {
        let all = [&self.text, &self.features, &self.id, &self.url, &self.date];
        all.into_iter().flatten()
    }

    /// The leaves of a file that have to be read.
    pub(crate) fn leaves(&self, schema: &SchemaDescriptor) -> Vec<usize> {
        let is_wanted = |leaf: &usize| {
            let column = schema.column(*leaf);
            let parts = column.path().parts();
            self.paths().any(|path| parts.starts_with(path))
        };
        (0..schema.num_columns()).filter(is_wanted).collect()
    }

    /// The names of the columns that have to be read.
    pub(crate) fn tops(&self) -> Vec<&str> {
        self.paths()
            .filter_map(|path| path.first())
            .map(String::as_str)
            .collect()
    }

    /// The columns of one batch, in the shapes that rows are read from.
    pub(crate) fn values(&self, batch: &RecordBatch) -> Result<Values, ArrowError> {
        let text_of = |path: &Option<Vec<String>>| match path.as_ref().and_then(|p| reach(batch, p))
        {
            Some(column) => Text::new(column),
            None => Ok(None),
        };
        let date = match self.date.as_ref().and_then(|path| reach(batch, path)) {
            Some(column) => Dates::new(column)?,
            None => Dates::None,
        };
        let features = match self.features.as_ref().and_then(|path| reach(batch, path)) {
            Some(column) => Lists::new(&column)?,
            None => None,
        };
        Ok(Values {
            len: batch.num_rows(),
            text: text_of(&self.text)?,
            id: text_of(&self.id)?,
            url: text_of(&self.url)?,
            date,
            features,
        })
    }
}

/// A column, and the rows where it or a structure around it is absent.
struct Reached {
    array: ArrayRef,
    nulls: Option<NullBuffer>,
}

fn reach(batch: &RecordBatch, path: &[String]) -> Option<Reached> {
    let (first, rest) = path.split_first()?;
    let mut array = batch.column_by_name(first)?;
    let mut nulls = array.logical_nulls();
    for name in rest {
        let within: &StructArray = array.as_struct_opt()?;
        array = within.column_by_name(name)?;
        nulls = NullBuffer::union(nulls.as_ref(), array.logical_nulls().as_ref());
    }
    Some(Reached {
        array: array.clone(),
        nulls,
    })
}

/// The values of a batch.
pub(crate) struct Values {
    pub(super) len: usize,
    text: Option<Text>,
    id: Option<Text>,
    url: Option<Text>,
    date: Dates,
    features: Option<Lists>,
}

impl Values {
    /// The record in a row of the batch, which has a number in the file.
    pub(crate) fn record(&self, row: usize, number: u64) -> Result<Record<'_>, Refused> {
        Ok(Record {
            offset: Offset(number),
            id: self.id.as_ref().and_then(|id| id.lossy(row)),
            url: self.url.as_ref().and_then(|url| url.lossy(row)),
            date: self.date.get(row),
            body: self.body(row, number)?,
            archived: Archived::default(),
            repaired: 0,
        })
    }

    fn body(&self, row: usize, number: u64) -> Result<Body<'_>, Refused> {
        let refuse = |code, what: &str| Refused {
            at: number,
            is_line: false,
            code,
            message: format!("row {number}: {what}"),
            is_rejected: true,
        };
        let missing = || refuse("missing text", "missing text");
        if let Some(features) = &self.features {
            let (from, to) = features.range(row).ok_or_else(missing)?;
            let members = (from..to).map(|member| match features.members.get(member) {
                Some(Ok(feature)) => Ok(feature.to_owned()),
                Some(Err(_)) => Err(refuse("bad feature", "a feature is not UTF-8")),
                None => Err(refuse("bad feature", "a feature is null")),
            });
            return Ok(Body::Features(members.collect::<Result<_, _>>()?));
        }
        match self.text.as_ref().and_then(|text| text.get(row)) {
            Some(Ok(text)) => Ok(Body::Text(Cow::Borrowed(text))),
            Some(Err(_)) => Err(refuse("not utf-8", "the text is not UTF-8")),
            None => Err(missing()),
        }
    }
}

/// A column of text; numbers have become it.
struct Text {
    values: BinaryViewArray,
    nulls: Option<NullBuffer>,
}

impl Text {
    /// None for what is neither text nor a number: an id or address of that kind is no
    /// id.
    fn new(column: Reached) -> Result<Option<Text>, ArrowError> {
        let values = match column.array.data_type() {
            DataType::BinaryView => column.array.as_binary_view().clone(),
            kind if kind.is_numeric() => cast(&column.array, &DataType::Utf8View)?
                .as_string_view()
                .clone()
                .to_binary_view(),
            _ => return Ok(None),
        };
        Ok(Some(Text {
            values,
            nulls: column.nulls,
        }))
    }

    fn get(&self, row: usize) -> Option<Result<&str, std::str::Utf8Error>> {
        if row >= self.values.len() || self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
            return None;
        }
        Some(std::str::from_utf8(self.values.value(row)))
    }

    /// Ids and addresses name a document, but do not make it: broken bytes are shown.
    fn lossy(&self, row: usize) -> Option<Cow<'_, str>> {
        match self.get(row)? {
            Ok(text) => Some(Cow::Borrowed(text)),
            Err(_) => Some(String::from_utf8_lossy(self.values.value(row))),
        }
    }
}

/// A column of dates.
enum Dates {
    None,
    Text(Text),
    /// Numbers of units since 1970: so many seconds a unit, or units a second.
    Numbers {
        values: Int64Array,
        nulls: Option<NullBuffer>,
        seconds: i64,
        per_second: i64,
    },
    /// Something else, which is no date wherever it is there.
    Other(Option<NullBuffer>),
}

impl Dates {
    fn new(column: Reached) -> Result<Dates, ArrowError> {
        let (seconds, per_second) = match column.array.data_type() {
            DataType::BinaryView => {
                return Ok(Text::new(column)?.map_or(Dates::None, Dates::Text));
            }
            DataType::Date32 => (86_400, 1),
            DataType::Date64 | DataType::Timestamp(TimeUnit::Millisecond, _) => (1, 1_000),
            DataType::Timestamp(TimeUnit::Second, _) => (1, 1),
            DataType::Timestamp(TimeUnit::Microsecond, _) => (1, 1_000_000),
            DataType::Timestamp(TimeUnit::Nanosecond, _) => (1, 1_000_000_000),
            _ => return Ok(Dates::Other(column.nulls)),
        };
        let numbers = match column.array.data_type() {
            DataType::Date32 => cast(&column.array, &DataType::Int32)?,
            _ => column.array,
        };
        let numbers = cast(&numbers, &DataType::Int64)?;
        Ok(Dates::Numbers {
            values: numbers.as_primitive::<Int64Type>().clone(),
            nulls: column.nulls,
            seconds,
            per_second,
        })
    }

    fn get(&self, row: usize) -> When {
        let is_null =
            |nulls: &Option<NullBuffer>| nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
        match self {
            Dates::None => When::Unsaid,
            Dates::Text(text) => match text.get(row) {
                Some(Ok(text)) => when(text),
                Some(Err(_)) => When::Unreadable,
                None => When::Unsaid,
            },
            Dates::Numbers {
                values,
                nulls,
                seconds,
                per_second,
            } => {
                if is_null(nulls) {
                    return When::Unsaid;
                }
                let units = values.value(row).div_euclid(*per_second);
                When::At(Timestamp(units.saturating_mul(*seconds)))
            }
            Dates::Other(nulls) if is_null(nulls) => When::Unsaid,
            Dates::Other(_) => When::Unreadable,
        }
    }
}

/// A column of lists of texts or integers.
struct Lists {
    members: Text,
    /// Where each list begins among the members, and where the last one ends.
    starts: Vec<usize>,
    nulls: Option<NullBuffer>,
}

impl Lists {
    fn new(column: &Reached) -> Result<Option<Lists>, ArrowError> {
        let place = |offset: i64| usize::try_from(offset).unwrap_or(usize::MAX);
        let (values, starts) = if let Some(lists) = column.array.as_list_opt::<i32>() {
            let starts = lists.value_offsets().iter();
            (lists.values(), starts.map(|&o| place(o.into())).collect())
        } else if let Some(lists) = column.array.as_list_opt::<i64>() {
            let starts = lists.value_offsets().iter();
            (lists.values(), starts.map(|&o| place(o)).collect())
        } else {
            return Ok(None);
        };
        let members = Text::new(Reached {
            array: values.clone(),
            nulls: values.logical_nulls(),
        })?;
        Ok(members.map(|members| Lists {
            members,
            starts,
            nulls: column.nulls.clone(),
        }))
    }

    fn range(&self, row: usize) -> Option<(usize, usize)> {
        if self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
            return None;
        }
        Some((*self.starts.get(row)?, *self.starts.get(row + 1)?))
    }
}
