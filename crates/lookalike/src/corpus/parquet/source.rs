//! A Parquet file as one of the sources.

use std::fs::File;
use std::ops::ControlFlow;

use super::{Fault, FieldNames, ParquetBatch, ParquetRecords};
use crate::corpus::batch::{Batch, Each, RawRecords};
use crate::corpus::inputs::Source;
use crate::corpus::options::ReadOptions;
use crate::corpus::read::{EachAgain, SourceError, SourceFault};
use crate::corpus::record::{Offset, Record, Refused};

pub(crate) fn fields(options: &ReadOptions) -> FieldNames {
    FieldNames {
        text: options.text_field.clone(),
        id: options.id_field.clone(),
        url: options.url_field.clone(),
        date: options.date_field.clone(),
        ..FieldNames::default()
    }
}

fn failed(source: &Source, fault: Fault) -> SourceError {
    SourceError {
        name: source.name.clone(),
        fault: match fault {
            Fault::Io(error) => SourceFault::Io(error),
            other => SourceFault::Format(other.to_string()),
        },
    }
}

/// Whether the limits of names are kept.
pub(crate) fn checked<'r>(
    record: Result<Record<'r>, Refused>,
    options: &ReadOptions,
) -> Result<Record<'r>, Refused> {
    let record = record?;
    let limits = [
        (record.id.as_deref(), options.limits.id, "id"),
        (record.url.as_deref(), options.limits.url, "url"),
    ];
    for (text, limit, what) in limits {
        if text.is_some_and(|text| text.len() > limit) {
            let message = format!("its {what} is longer than {limit} bytes (limit `{what}`)");
            return Err(Refused::rejected(record.offset.0, "too large", message));
        }
    }
    Ok(record)
}

struct Checked {
    batch: ParquetBatch,
    options: ReadOptions,
}

impl RawRecords for Checked {
    fn for_each(&self, each: &mut Each<'_>) {
        self.batch
            .for_each(&mut |record| each(checked(record, &self.options)));
    }

    fn byte_len(&self) -> usize {
        // As many rows as make this much on average.
        super::BATCH_BYTES
    }
}

pub(crate) fn read_source(
    source: &Source,
    options: &ReadOptions,
    sink: &mut dyn FnMut(Batch) -> ControlFlow<()>,
) -> Result<(), SourceError> {
    let open = || -> Result<ParquetRecords, Fault> {
        ParquetRecords::open(File::open(&source.path)?, &fields(options))
    };
    let mut records = open().map_err(|fault| failed(source, fault))?;
    let (rows, mut batches) = (records.declared_rows().max(1), 0_u64);
    loop {
        match records.next_batch() {
            Err(fault) => return Err(failed(source, fault)),
            Ok(None) => return Ok(()),
            Ok(Some(batch)) => {
                batches += 1;
                let done = (batches * super::BATCH_ROWS as u64).min(rows);
                let position = u128::from(source.len) * u128::from(done) / u128::from(rows);
                let position = u64::try_from(position).unwrap_or(source.len);
                let batch = Checked {
                    batch,
                    options: options.clone(),
                };
                if sink(Batch::new(batch, position)).is_break() {
                    return Ok(());
                }
            }
        }
    }
}

pub(crate) fn fetch(
    source: &Source,
    offsets: &[Offset],
    options: &ReadOptions,
    each: &mut EachAgain<'_>,
) -> Result<(), SourceError> {
    let rows: Vec<u64> = offsets.iter().map(|offset| offset.0).collect();
    let mut wanted = offsets.iter();
    let file = File::open(&source.path).map_err(|error| failed(source, error.into()))?;
    super::fetch(file, &rows, &fields(options), &mut |record| {
        if let Some(&offset) = wanted.next() {
            each(offset, checked(record, options));
        }
    })
    .map_err(|fault| failed(source, fault))
}
