use std::io::Write;

use ::parquet::arrow::ArrowWriter;
use ::parquet::basic::{Compression, GzipLevel, ZstdLevel};
use ::parquet::file::properties::WriterProperties;
use arrow_array::builder::{ListBuilder, StringBuilder, UInt64Builder};
use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, BinaryArray, Date32Array, Date64Array, DictionaryArray, Int64Array, LargeStringArray,
    StringArray, StringViewArray, StructArray, TimestampMicrosecondArray, TimestampNanosecondArray,
    UInt16Array,
};
use proptest::prelude::*;

use super::*;
use crate::corpus::record::{Body, Timestamp, When};

fn file(bytes: &[u8]) -> File {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    file
}

pub(crate) fn parquet(
    columns: Vec<(&str, ArrayRef)>,
    group: usize,
    compression: Compression,
) -> Vec<u8> {
    let batch =
        RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(n, c)| (n, c, true)))
            .unwrap();
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(group))
        .set_compression(compression)
        .build();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    bytes
}

/// A record in a form that can be compared: row, id, url, date, text or features.
pub(crate) type Seen = (
    u64,
    Option<String>,
    Option<String>,
    When,
    Result<String, &'static str>,
);

pub(crate) fn seen(record: Result<Record<'_>, Refused>) -> Seen {
    match record {
        Ok(record) => (
            record.offset.0,
            record.id.map(Into::into),
            record.url.map(Into::into),
            record.date,
            Ok(match record.body {
                Body::Text(text) => text.into(),
                Body::Features(features) => format!("{features:?}"),
                _ => unreachable!("Parquet has only these two"),
            }),
        ),
        Err(refused) => {
            assert!(refused.is_rejected && !refused.is_line);
            (refused.at, None, None, When::Unsaid, Err(refused.code))
        }
    }
}

fn read(bytes: &[u8], fields: &FieldNames) -> Result<Vec<Seen>, Fault> {
    let mut all = Vec::new();
    ParquetRecords::open(file(bytes), fields)?.for_each(&mut |record| all.push(seen(record)))?;
    Ok(all)
}

fn texts(column: ArrayRef) -> Vec<Result<String, &'static str>> {
    let bytes = parquet(vec![("text", column)], 1000, Compression::SNAPPY);
    let all = read(&bytes, &FieldNames::default()).unwrap();
    all.into_iter().map(|seen| seen.4).collect()
}

#[test]
fn text_may_have_any_type_that_holds_text() {
    let expected = [Ok("a".to_owned()), Err("missing text"), Ok("ü".to_owned())];
    let values = vec![Some("a"), None, Some("ü")];
    assert_eq!(texts(Arc::new(StringArray::from(values.clone()))), expected);
    assert_eq!(
        texts(Arc::new(LargeStringArray::from(values.clone()))),
        expected
    );
    assert_eq!(
        texts(Arc::new(StringViewArray::from(values.clone()))),
        expected
    );
    let dictionary: DictionaryArray<Int32Type> = values.into_iter().collect();
    assert_eq!(texts(Arc::new(dictionary)), expected);
}

#[test]
fn one_bad_text_is_one_rejected_record() {
    let values: Vec<Option<&[u8]>> = vec![Some(b"a"), Some(b"\xff"), Some("ü".as_bytes())];
    let expected = [Ok("a".to_owned()), Err("not utf-8"), Ok("ü".to_owned())];
    assert_eq!(texts(Arc::new(BinaryArray::from(values))), expected);
    // The same in a column that says it is UTF-8.
    let good = parquet(
        vec![(
            "text",
            Arc::new(StringArray::from(vec!["aaaa", "bbXb", "cccc"])),
        )],
        10,
        Compression::UNCOMPRESSED,
    );
    let at = good.windows(4).position(|w| w == b"bbXb").unwrap();
    let mut bad = good.clone();
    bad[at + 2] = 0xff;
    let codes: Vec<_> = read(&bad, &FieldNames::default())
        .unwrap()
        .into_iter()
        .map(|seen| seen.4.err())
        .collect();
    assert_eq!(codes, [None, Some("not utf-8"), None]);
}

#[test]
fn every_codec_is_read() {
    for codec in [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::GZIP(GzipLevel::default()),
        Compression::ZSTD(ZstdLevel::default()),
        Compression::LZ4_RAW,
    ] {
        let column: ArrayRef = Arc::new(StringArray::from(vec!["a b c"; 100]));
        let bytes = parquet(vec![("text", column)], 30, codec);
        assert_eq!(
            read(&bytes, &FieldNames::default()).unwrap().len(),
            100,
            "{codec:?}"
        );
    }
}

#[test]
fn fields_may_be_nested_numbers_and_dates_of_any_unit() {
    let within = StructArray::from(vec![
        (
            Arc::new(arrow_schema::Field::new(
                "url",
                arrow_schema::DataType::Utf8,
                true,
            )),
            Arc::new(StringArray::from(vec![Some("u:0"), None, Some("u:2")])) as ArrayRef,
        ),
        (
            Arc::new(arrow_schema::Field::new(
                "other",
                arrow_schema::DataType::Int64,
                true,
            )),
            Arc::new(Int64Array::from(vec![1, 2, 3])) as ArrayRef,
        ),
    ]);
    let fields = FieldNames {
        url: "meta.url".to_owned(),
        ..FieldNames::default()
    };
    let second = 1_700_000_000_i64;
    let at = When::At(Timestamp(second));
    let day = When::At(Timestamp(19_675 * 86_400));
    let dates: Vec<(ArrayRef, When)> = vec![
        (
            Arc::new(TimestampMicrosecondArray::from(vec![
                Some(second * 1_000_000 + 5),
                None,
                None,
            ])),
            at,
        ),
        (
            Arc::new(
                TimestampNanosecondArray::from(vec![Some(second * 1_000_000_000), None, None])
                    .with_timezone("+02:00"),
            ),
            at,
        ),
        (
            Arc::new(Date32Array::from(vec![Some(19_675), None, None])),
            day,
        ),
        (
            Arc::new(Date64Array::from(vec![
                Some(19_675 * 86_400_000),
                None,
                None,
            ])),
            day,
        ),
        (
            Arc::new(StringArray::from(vec![
                Some("2023-11-14T22:13:20Z"),
                None,
                None,
            ])),
            at,
        ),
        (
            Arc::new(Int64Array::from(vec![Some(17), None, None])),
            When::Unreadable,
        ),
    ];
    for (dates, expected) in dates {
        let bytes = parquet(
            vec![
                ("text", Arc::new(StringArray::from(vec!["a", "b", "c"]))),
                (
                    "id",
                    Arc::new(UInt16Array::from(vec![Some(7), Some(8), None])),
                ),
                ("meta", Arc::new(within.clone())),
                ("date", dates),
            ],
            2,
            Compression::SNAPPY,
        );
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(
            read(&bytes, &fields).unwrap(),
            [
                (0, text("7"), text("u:0"), expected, Ok("a".to_owned())),
                (1, text("8"), None, When::Unsaid, Ok("b".to_owned())),
                (2, None, text("u:2"), When::Unsaid, Ok("c".to_owned())),
            ]
        );
    }
}

#[test]
fn features_stand_in_for_text() {
    let mut words = ListBuilder::new(StringBuilder::new());
    words.append_value([Some("x"), Some("y")]);
    words.append_value([Some("x"), None]);
    words.append_null();
    let mut numbers = ListBuilder::new(UInt64Builder::new());
    numbers.append_value([Some(1), Some(u64::MAX)]);
    numbers.append_value([None]);
    numbers.append_null();
    let lists: [(ArrayRef, &str); 2] = [
        (Arc::new(words.finish()), r#"["x", "y"]"#),
        (
            Arc::new(numbers.finish()),
            r#"["1", "18446744073709551615"]"#,
        ),
    ];
    for (list, first) in lists {
        let bytes = parquet(vec![("features", list)], 10, Compression::SNAPPY);
        let got: Vec<_> = read(&bytes, &FieldNames::default())
            .unwrap()
            .into_iter()
            .map(|seen| seen.4)
            .collect();
        assert_eq!(
            got,
            [
                Ok(first.to_owned()),
                Err("bad feature"),
                Err("missing text")
            ]
        );
    }
}

#[test]
fn a_column_that_is_missing_or_of_another_kind_is_named() {
    let column: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    let bytes = parquet(
        vec![("body", column.clone()), ("text", column)],
        10,
        Compression::SNAPPY,
    );
    let error = read(&bytes, &FieldNames::default()).unwrap_err();
    assert_eq!(error.to_string(), "its column `text` holds Int64, not text");
    let fields = FieldNames {
        text: "content".to_owned(),
        ..FieldNames::default()
    };
    let error = read(&bytes, &fields).unwrap_err();
    assert_eq!(
        error.to_string(),
        "it has no column `content`, only body, text"
    );
}

#[test]
fn a_dictionary_value_that_many_rows_share_is_held_once() {
    // Seen by its place in memory: repeated, a row group of a few bytes could fill it.
    let values = vec!["a text of more than twelve bytes"; 100];
    let column: ArrayRef = Arc::new(StringArray::from(values));
    let bytes = parquet(vec![("text", column)], 100, Compression::SNAPPY);
    let mut records = ParquetRecords::open(file(&bytes), &FieldNames::default()).unwrap();
    let batch = records.next_batch().unwrap().unwrap();
    let mut places = std::collections::BTreeSet::new();
    batch.for_each(&mut |record| {
        if let Body::Text(text) = record.unwrap().body {
            places.insert(text.as_ptr() as usize);
        }
    });
    assert_eq!((batch.len(), places.len()), (100, 1));
}

fn sample() -> Vec<u8> {
    let texts: Vec<String> = (0..500).map(|i| format!("text {i} {}", i * i)).collect();
    let ids: Vec<i64> = (0..500).collect();
    parquet(
        vec![
            ("text", Arc::new(StringArray::from(texts))),
            ("id", Arc::new(Int64Array::from(ids))),
        ],
        128,
        Compression::SNAPPY,
    )
}

proptest! {
    #[test]
    fn fetch_gives_what_reading_gave(rows in prop::collection::btree_set(0..500_u64, 0..80)) {
        let bytes = sample();
        let all = read(&bytes, &FieldNames::default()).unwrap();
        let rows: Vec<u64> = rows.into_iter().collect();
        let mut got = Vec::new();
        fetch(file(&bytes), &rows, &FieldNames::default(), &mut |r| got.push(seen(r))).unwrap();
        let expected: Vec<Seen> =
            rows.iter().map(|&row| all[usize::try_from(row).unwrap()].clone()).collect();
        prop_assert_eq!(got, expected);
    }
}

#[test]
fn a_row_past_the_end_is_named() {
    let got = fetch(
        file(&sample()),
        &[3, 500],
        &FieldNames::default(),
        &mut |_| {},
    );
    assert_eq!(got.unwrap_err().to_string(), "it has no row 500");
}

#[test]
fn files_that_are_none_are_called_so() {
    let good = sample();
    let mut long_footer = good.clone();
    let len = long_footer.len();
    long_footer[len - 8..len - 4].copy_from_slice(&0x7fff_ffff_u32.to_le_bytes());
    let garbage: Vec<u8> = (0..4096_u32)
        .map(|i| ((i * 7919) >> 3).to_le_bytes()[0])
        .collect();
    let mut framed = b"PAR1".to_vec();
    framed.extend_from_slice(&garbage);
    framed.extend_from_slice(&1000_u32.to_le_bytes());
    framed.extend_from_slice(b"PAR1");
    // Footers that declare 2^31 - 1 row groups, and a root with as many children.
    let forged = |footer: &[u8]| {
        let mut bytes = b"PAR1".to_vec();
        bytes.extend_from_slice(footer);
        bytes.extend_from_slice(&u32::try_from(footer.len()).unwrap().to_le_bytes());
        bytes.extend_from_slice(b"PAR1");
        bytes
    };
    let schema = b"\x15\x02\x19\x1c\x48\x01r\x15\x00\x00";
    let groups = [schema.as_slice(), b"\x16\x00\x19\xfc\xff\xff\xff\xff\x07"].concat();
    let children = b"\x15\x02\x19\x1c\x48\x01r\x15\xfe\xff\xff\xff\x0f\x00";
    // 100,000 elements with one child each.
    let mut deep = b"\x15\x02\x19\xfc\xa0\x8d\x06".to_vec();
    for _ in 0..100_000 {
        deep.extend_from_slice(b"\x48\x01r\x15\x02\x00");
    }
    for (name, bytes) in [
        ("empty", Vec::new()),
        ("magics only", b"PAR1PAR1".to_vec()),
        ("magics and no footer", b"PAR1\0\0\0\0PAR1".to_vec()),
        ("garbage", garbage.clone()),
        ("garbage in a frame", framed),
        ("footer of 2 GiB", long_footer),
        ("cut", good[..good.len() - 1].to_vec()),
        ("beginning only", good[..100].to_vec()),
        ("row groups", forged(&groups)),
        ("children", forged(children)),
        ("depth", forged(&deep)),
    ] {
        let error = read(&bytes, &FieldNames::default())
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("not a valid Parquet file: "),
            "{name}: {error}"
        );
    }
}

#[test]
fn a_page_that_claims_to_become_huge_is_refused() {
    let column: ArrayRef = Arc::new(StringArray::from(vec!["a b c"; 10]));
    let good = parquet(vec![("text", column)], 10, Compression::SNAPPY);
    // The first page begins behind the magic: field 1 its type, field 2 its decoded size.
    assert_eq!(good[4..7], [0x15, 0x04, 0x15]);
    let size = 7 + good[7..].iter().position(|&b| b < 0x80).unwrap();
    let mut forged = good[..7].to_vec();
    forged.extend_from_slice(b"\xfe\xff\xff\xff\x0f");
    forged.extend_from_slice(&good[size + 1..]);
    let error = read(&forged, &FieldNames::default()).unwrap_err();
    assert!(error.to_string().starts_with("not a valid Parquet file"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Whatever the damage, there is an answer: records or a fault. The process ends in
    /// any other case.
    #[test]
    fn damage_is_an_answer(
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        in_footer in any::<bool>(),
    ) {
        let mut bytes = sample();
        let from = if in_footer { bytes.len() - 900 } else { 0 };
        for (at, value) in flips {
            let at = from + at.index(bytes.len() - from);
            bytes[at] = value;
        }
        if let Ok(all) = read(&bytes, &FieldNames::default()) {
            prop_assert!(all.len() <= 1_000_000);
        }
    }
}

#[test]
fn batches_can_be_read_in_other_threads() {
    let bytes = sample();
    let mut records = ParquetRecords::open(file(&bytes), &FieldNames::default()).unwrap();
    let mut rows = 0;
    while let Some(batch) = records.next_batch().unwrap() {
        assert!(!batch.is_empty() && batch.len() <= BATCH_ROWS);
        rows += std::thread::spawn(move || {
            let mut rows = 0;
            batch.for_each(&mut |record| rows += u64::from(record.is_ok()));
            rows
        })
        .join()
        .unwrap();
    }
    assert_eq!(rows, records.declared_rows());
}
