use arrow_array::builder::StringDictionaryBuilder;
use arrow_array::types::Int16Type;
use arrow_array::{
    BinaryArray, Int64Array, LargeStringArray, StringArray, StringViewArray, StructArray,
};
use parquet::basic::Compression;
use proptest::prelude::*;

use super::super::parquet::tests::{Seen, parquet, seen};
use super::super::parquet::{FieldNames, ParquetRecords};
use super::*;

type Texts = Vec<Option<String>>;

/// The text in every type that strings come in.
fn kinds(texts: &Texts) -> Vec<ArrayRef> {
    let mut dictionary = StringDictionaryBuilder::<Int16Type>::new();
    dictionary.extend(texts.iter().map(Option::as_ref));
    let bytes = texts.iter().map(|text| text.as_ref().map(String::as_bytes));
    vec![
        Arc::new(StringArray::from_iter(texts)),
        Arc::new(LargeStringArray::from_iter(texts)),
        Arc::new(StringViewArray::from_iter(texts)),
        Arc::new(dictionary.finish()),
        Arc::new(bytes.collect::<BinaryArray>()),
    ]
}

fn batch(text: ArrayRef) -> RecordBatch {
    let ids: ArrayRef = Arc::new((0_i64..).take(text.len()).map(Some).collect::<Int64Array>());
    let dates = (0..text.len()).map(|n| (n % 3 > 0).then(|| format!("2026-01-{:02}", n % 40)));
    let dates: ArrayRef = Arc::new(dates.collect::<StringArray>());
    let columns = [
        ("id", ids),
        ("other", Arc::clone(&text)),
        ("text", text),
        ("date", dates),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.map(|(n, c)| (n, c, true))).unwrap()
}

fn held(batches: &[RecordBatch]) -> Held {
    Held::new(batches, batches[0].schema_ref(), &ReadOptions::default()).unwrap()
}

fn all(held: &Held) -> Vec<Seen> {
    let mut records = Vec::new();
    held.read(&ReadOptions::default(), &mut |batch| {
        batch.for_each(&mut |record| records.push(seen(record)));
        ControlFlow::Continue(())
    });
    records
}

proptest! {
    #[test]
    fn rows_in_memory_are_rows_of_parquet(
        texts in prop::collection::vec(prop::option::weighted(0.9, ".{0,30}"), 1..60),
        cuts in prop::collection::vec(0..60_usize, 0..4),
        wanted in prop::collection::btree_set(0..70_u64, 0..20),
    ) {
        for text in kinds(&texts) {
            let whole = batch(text);
            let columns = whole.schema_ref().fields().iter().zip(whole.columns());
            let columns = columns.map(|(field, column)| (field.name().as_str(), column.clone()));
            let bytes = parquet(columns.collect(), 7, Compression::UNCOMPRESSED);
            let mut file = tempfile::tempfile().unwrap();
            std::io::Write::write_all(&mut file, &bytes).unwrap();
            let mut expected = Vec::new();
            ParquetRecords::open(file, &FieldNames::default())
                .unwrap()
                .for_each(&mut |record| expected.push(seen(record)))
                .unwrap();

            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (texts.len() + 1)).collect();
            cuts.extend([0, texts.len()]);
            cuts.sort_unstable();
            let parts = cuts.windows(2).map(|cut| whole.slice(cut[0], cut[1] - cut[0]));
            let held = held(&parts.collect::<Vec<_>>());
            prop_assert_eq!(held.rows(), texts.len() as u64);
            prop_assert_eq!(&all(&held), &expected);

            let offsets: Vec<Offset> = wanted.iter().copied().map(Offset).collect();
            let mut again = Vec::new();
            held.fetch(&offsets, &ReadOptions::default(), &mut |offset, record| {
                again.push((offset.0, seen(record)));
            });
            prop_assert_eq!(again.len(), offsets.len());
            for (row, record) in again {
                if let Some(there) = expected.get(usize::try_from(row).unwrap()) {
                    prop_assert_eq!(&record, there);
                } else {
                    prop_assert_eq!(record.4, Err("gone"));
                }
            }
        }
    }
}

#[test]
fn columns_that_are_not_read_are_let_go() {
    let other: ArrayRef = Arc::new(StringArray::from(vec!["x"]));
    let weak = Arc::downgrade(&other);
    let text: ArrayRef = Arc::new(StringArray::from(vec!["a text"]));
    let batch = RecordBatch::try_from_iter([("other", other), ("text", text)]).unwrap();
    let held = held(&[batch]);
    assert!(weak.upgrade().is_none());
    assert_eq!(held.rows(), 1);
}

#[test]
fn structures_are_reached_and_wrong_columns_named() {
    let text: ArrayRef = Arc::new(LargeStringArray::from(vec![Some("one"), None]));
    let deep = StructArray::try_from(vec![("body", text)]).unwrap();
    let batch = RecordBatch::try_from_iter([("meta", Arc::new(deep) as ArrayRef)]).unwrap();
    let options = |field: &str| ReadOptions {
        text_field: field.to_owned(),
        ..ReadOptions::default()
    };
    let open = |field| {
        Held::new(
            std::slice::from_ref(&batch),
            batch.schema_ref(),
            &options(field),
        )
    };
    let texts: Vec<_> = all(&open("meta.body").unwrap())
        .into_iter()
        .map(|one| one.4)
        .collect();
    assert_eq!(texts, [Ok("one".to_owned()), Err("missing text")]);
    assert!(matches!(open("text"), Err(Fault::NoColumn { .. })));
    assert!(matches!(open("meta"), Err(Fault::WrongKind { .. })));
}
