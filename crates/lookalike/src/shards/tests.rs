//! Filtering is compared with filtering by hand, for random records and decisions.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::sync::Arc;

use ::parquet::arrow::ArrowWriter;
use ::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use ::parquet::basic::{Compression, ZstdLevel};
use ::parquet::data_type::{Int96, Int96Type};
use ::parquet::file::metadata::{KeyValue, RowGroupMetaData};
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::reader::{FileReader, SerializedFileReader};
use ::parquet::file::writer::SerializedFileWriter;
use ::parquet::record::RowAccessor;
use ::parquet::schema::parser::parse_message_type;
use arrow_array::builder::{ListBuilder, StringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, UInt32Type};
use arrow_array::{ArrayRef, BooleanArray, DictionaryArray, Float64Array, Int64Array, RecordBatch};
use arrow_select::concat::concat_batches;
use arrow_select::filter::filter_record_batch;
use proptest::prelude::*;

use super::*;

fn pack(bytes: &[u8], packing: Packing) -> Vec<u8> {
    match packing {
        Packing::Plain => bytes.to_vec(),
        Packing::Gzip => {
            let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            out.write_all(bytes).unwrap();
            out.finish().unwrap()
        }
        Packing::Zstd => zstd::encode_all(bytes, 1).unwrap(),
    }
}

fn unpack(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    if bytes.starts_with(b"\x1f\x8b") {
        flate2::read::MultiGzDecoder::new(bytes)
            .read_to_end(&mut out)
            .unwrap();
        return out;
    }
    if bytes.starts_with(b"\x28\xb5\x2f\xfd") {
        return zstd::decode_all(bytes).unwrap();
    }
    bytes.to_vec()
}

const PACKINGS: [Packing; 3] = [Packing::Plain, Packing::Gzip, Packing::Zstd];

/// Filters bytes; gives the copy, what was counted, and what was asked about.
fn filtered(
    bytes: &[u8],
    kind: ShardKind,
    dropped: &BTreeSet<u64>,
) -> Result<(Vec<u8>, Copied, Vec<u64>), ShardError> {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("in"), folder.path().join("out"));
    fs::write(&input, bytes).unwrap();
    let mut asked = Vec::new();
    let done = filter_shard(
        &input,
        kind,
        &mut |offset| {
            asked.push(offset.0);
            if dropped.contains(&offset.0) {
                Decision::Drop
            } else {
                Decision::Keep
            }
        },
        Output {
            path: &output,
            existing: Existing::Refuse,
        },
    );
    let left: Vec<_> = fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left.len(), 1 + usize::from(done.is_ok()), "{left:?}");
    let copied = done?;
    Ok((fs::read(&output).unwrap(), copied, asked))
}

fn annotated(
    bytes: &[u8],
    kind: ShardKind,
    mark: &mut dyn FnMut(Offset) -> Option<Mark>,
) -> Result<Vec<u8>, ShardError> {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("in"), folder.path().join("out"));
    fs::write(&input, bytes).unwrap();
    let output = Output {
        path: &output,
        existing: Existing::Refuse,
    };
    annotate_shard(&input, kind, mark, output)?;
    Ok(fs::read(output.path).unwrap())
}

/// Pieces of a file: what each holds, and whether it is a record.
fn by_hand(
    pieces: &[(Vec<u8>, bool)],
    drop: &[bool],
) -> (Vec<u8>, BTreeSet<u64>, Vec<u64>, Vec<u8>) {
    let (mut all, mut expected) = (Vec::new(), Vec::new());
    let (mut dropped, mut records) = (BTreeSet::new(), Vec::new());
    for ((bytes, is_record), drop) in pieces.iter().zip(drop.iter().cycle()) {
        if *is_record {
            records.push(all.len() as u64);
        }
        if *is_record && *drop {
            dropped.insert(all.len() as u64);
        } else {
            expected.extend_from_slice(bytes);
        }
        all.extend_from_slice(bytes);
    }
    (all, dropped, records, expected)
}

proptest! {
    // Each case syncs several files.
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn lines_are_filtered_as_by_hand(
        lines in prop::collection::vec("(\\{\"a\":\"[a-zü\\\\]{0,9}\"\\}|[ \t]{0,3}|x)\r?\n", 0..20),
        last in "(\\{\"b\":1\\})?",
        drop in prop::collection::vec(any::<bool>(), 1..9),
    ) {
        let mut pieces: Vec<(Vec<u8>, bool)> = lines
            .iter()
            .chain([&last])
            .map(|line| (line.clone().into_bytes(), !line.trim().is_empty()))
            .collect();
        pieces.retain(|piece| !piece.0.is_empty());
        let (all, dropped, records, expected) = by_hand(&pieces, &drop);
        for packing in PACKINGS {
            let (got, copied, asked) =
                filtered(&pack(&all, packing), ShardKind::Jsonl, &dropped).unwrap();
            prop_assert_eq!(unpack(&got), &expected[..]);
            prop_assert_eq!(&asked, &records);
            prop_assert_eq!(copied.records - copied.kept, dropped.len() as u64);
        }
    }

    #[test]
    fn comma_separated_records_are_filtered_as_by_hand(
        mark in prop::bool::ANY,
        records in prop::collection::vec(
            (prop::collection::vec("([a-z\"]?[a-zü \"]{0,3}|[a-z,\"\n\r]{0,6})", 2..4), "(\n|\r\n|\r)", "\n{0,2}"),
            0..12,
        ),
        drop in prop::collection::vec(any::<bool>(), 1..9),
    ) {
        let mut pieces = vec![(b"\"a\nb\",c\r\n".to_vec(), false)];
        if mark {
            pieces[0].0.splice(0..0, *b"\xef\xbb\xbf");
        }
        for (fields, end, blank) in &records {
            let fields: Vec<String> = fields
                .iter()
                .map(|field| {
                    // In quotes where it must be; a quote within plain text is legal too.
                    if field.contains([',', '\n', '\r']) || field.starts_with('"') {
                        format!("\"{}\"", field.replace('"', "\"\""))
                    } else {
                        field.clone()
                    }
                })
                .collect();
            pieces.push((format!("{}{end}", fields.join(",")).into_bytes(), true));
            // A line feed behind a carriage return would be of the same line end.
            if end != "\r" && !blank.is_empty() {
                pieces.push((blank.clone().into_bytes(), false));
            }
        }
        let (all, dropped, expected_asked, expected) = by_hand(&pieces, &drop);
        for packing in PACKINGS {
            let (got, _, asked) =
                filtered(&pack(&all, packing), ShardKind::Csv, &dropped).unwrap();
            prop_assert_eq!(String::from_utf8(unpack(&got)), String::from_utf8(expected.clone()));
            prop_assert_eq!(&asked, &expected_asked);
        }
        // The csv crate sees as many records as were asked about.
        let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(&all[..]);
        prop_assert_eq!(reader.byte_records().count(), expected_asked.len());
    }

    #[test]
    fn archives_are_filtered_as_by_hand(
        blocks in prop::collection::vec("[a-z\r\n]{0,40}", 1..8),
        drop in prop::collection::vec(any::<bool>(), 1..9),
    ) {
        let records: Vec<(Vec<u8>, bool)> = blocks
            .iter()
            .map(|block| {
                let head = format!("WARC/1.0\r\nWARC-Type: resource\r\ncontent-length:  {}\r\n\r\n", block.len());
                (format!("{head}{block}\r\n\r\n").into_bytes(), true)
            })
            .collect();
        // Plain, or packed as a whole: unpacked offsets.
        let (all, dropped, asked, expected) = by_hand(&records, &drop);
        for packing in PACKINGS {
            // One record in one member is packed record by record.
            if packing != Packing::Plain && records.len() == 1 {
                continue;
            }
            let got = filtered(&pack(&all, packing), ShardKind::Warc, &dropped).unwrap();
            prop_assert_eq!(unpack(&got.0), &expected[..]);
            prop_assert_eq!(&got.2, &asked);
        }
        // Packed record by record: the members as they were, offsets in the packed file.
        for packing in [Packing::Gzip, Packing::Zstd] {
            let members: Vec<(Vec<u8>, bool)> =
                records.iter().map(|record| (pack(&record.0, packing), true)).collect();
            let (all, dropped, asked, expected) = by_hand(&members, &drop);
            let got = filtered(&all, ShardKind::Warc, &dropped).unwrap();
            prop_assert_eq!(&got.0, &expected);
            prop_assert_eq!(&got.2, &asked);
        }
    }
}

#[test]
fn a_dictionary_before_the_frames_is_copied() {
    let mut dictionary = b"\x5d\x2a\x4d\x18\x05\0\0\0abcde".to_vec();
    let frame = pack(
        b"WARC/1.0\r\nContent-Length: 0\r\n\r\n\r\n\r\n",
        Packing::Zstd,
    );
    let at = dictionary.len() as u64;
    dictionary.extend_from_slice(&frame);
    let both = [&dictionary[..], &frame[..]].concat();
    let (got, copied, asked) = filtered(&both, ShardKind::Warc, &BTreeSet::from([at])).unwrap();
    assert_eq!(got, dictionary);
    assert_eq!(asked, [at, at + frame.len() as u64]);
    assert_eq!((copied.records, copied.kept), (2, 1));
}

#[test]
fn a_member_that_is_no_archive_is_copied() {
    let record = pack(
        b"WARC/1.0\r\nContent-Length: 0\r\n\r\n\r\n\r\n",
        Packing::Gzip,
    );
    let other = pack(b"hello", Packing::Gzip);
    let all = [&record[..], &other[..], &record[..]].concat();
    let dropped = BTreeSet::from([0, (record.len() + other.len()) as u64]);
    let (got, copied, _) = filtered(&all, ShardKind::Warc, &dropped).unwrap();
    assert_eq!(got, other);
    assert_eq!((copied.records, copied.kept), (2, 0));
}

#[test]
fn damage_leaves_no_output() {
    let lines = pack("{\"a\":1}\n".repeat(1000).as_bytes(), Packing::Gzip);
    let record = pack(
        b"WARC/1.0\r\nContent-Length: 0\r\n\r\n\r\n\r\n",
        Packing::Gzip,
    );
    let frame = pack(
        b"WARC/1.0\r\nContent-Length: 0\r\n\r\n\r\n\r\n",
        Packing::Zstd,
    );
    let cut = |bytes: &[u8]| bytes[..bytes.len() - 3].to_vec();
    let none = BTreeSet::new();
    for (bytes, kind) in [
        (cut(&lines), ShardKind::Jsonl),
        (cut(&lines), ShardKind::Csv),
        ([record.clone(), cut(&record)].concat(), ShardKind::Warc),
        (
            [record.clone(), b"rubbish".to_vec()].concat(),
            ShardKind::Warc,
        ),
        ([frame.clone(), cut(&frame)].concat(), ShardKind::Warc),
        (
            b"WARC/1.0\r\nContent-Length: 9\r\n\r\nabc".to_vec(),
            ShardKind::Warc,
        ),
        (b"WARC/1.0\r\n\r\n".to_vec(), ShardKind::Warc),
        (b"PAR1 no".to_vec(), ShardKind::Parquet),
    ] {
        filtered(&bytes, kind, &none).unwrap_err();
    }
}

#[test]
fn lines_are_marked_before_the_last_brace() {
    let shard = "{\"a\": {\"b\":1} } \r\n\n{}\nno json\n{\"c\":\"}\"}";
    let mut asked = Vec::new();
    let got = annotated(shard.as_bytes(), ShardKind::Jsonl, &mut |offset| {
        asked.push(offset.0);
        (offset.0 != 19).then(|| Mark {
            cluster: 7,
            is_duplicate: true,
            representative: "x\"y".to_owned(),
        })
    })
    .unwrap();
    let marks = "\"lookalike_cluster\":7,\"lookalike_is_duplicate\":true,\
                 \"lookalike_representative\":\"x\\\"y\"";
    let nulls = "\"lookalike_cluster\":null,\"lookalike_is_duplicate\":null,\
                 \"lookalike_representative\":null";
    assert_eq!(
        String::from_utf8(got).unwrap(),
        format!(
            "{{\"a\": {{\"b\":1}} ,{marks}}} \r\n\n{{{nulls}}}\nno json\n{{\"c\":\"}}\",{marks}}}"
        )
    );
    assert_eq!(asked, [0, 19, 22, 30]);
}

#[test]
fn records_are_marked_at_their_end() {
    let shard = "a,\"b\nc\"\r\n1,\"2\n\"\r\n\r\n3,4";
    let mut first = true;
    let got = annotated(shard.as_bytes(), ShardKind::Csv, &mut |_| {
        std::mem::take(&mut first).then(|| Mark {
            cluster: 1,
            is_duplicate: false,
            representative: "x,y".to_owned(),
        })
    })
    .unwrap();
    assert_eq!(
        String::from_utf8(got).unwrap(),
        "a,\"b\nc\",lookalike_cluster,lookalike_is_duplicate,lookalike_representative\r\n\
         1,\"2\n\",1,false,\"x,y\"\r\n\r\n3,4,,,"
    );
}

#[test]
fn names_that_are_taken_are_refused() {
    let json = b"{\"a\":1}\n{\"lookalike_is_\\u0064uplicate\":1}\n";
    let csv = b"a,\"lookalike_cluster\"\n1,2\n";
    let column: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    let batch = RecordBatch::try_from_iter([("lookalike_representative", column)]).unwrap();
    for (bytes, kind, name) in [
        (json.to_vec(), ShardKind::Jsonl, "lookalike_is_duplicate"),
        (csv.to_vec(), ShardKind::Csv, "lookalike_cluster"),
        (
            parquet(&batch, 10, Compression::SNAPPY),
            ShardKind::Parquet,
            "lookalike_representative",
        ),
    ] {
        let error = annotated(&bytes, kind, &mut |_| None).unwrap_err();
        assert!(matches!(error.fault, ShardFault::NameTaken(taken) if taken == name));
    }
    let error = annotated(b"WARC/1.0", ShardKind::Warc, &mut |_| None).unwrap_err();
    assert!(matches!(error.fault, ShardFault::NoPlaceForMarks));
}

#[test]
fn an_output_that_exists_is_replaced_only_when_told() {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("in"), folder.path().join("out"));
    fs::write(&input, "{}\n").unwrap();
    fs::write(&output, "old").unwrap();
    let run = |existing| {
        let output = Output {
            path: &output,
            existing,
        };
        filter_shard(&input, ShardKind::Jsonl, &mut |_| Decision::Keep, output)
    };
    let error = run(Existing::Refuse).unwrap_err();
    assert!(matches!(error.fault, ShardFault::Io(e) if e.kind() == io::ErrorKind::AlreadyExists));
    assert_eq!(fs::read(&output).unwrap(), b"old");
    run(Existing::Overwrite).unwrap();
    assert_eq!(fs::read(&output).unwrap(), b"{}\n");
    // In place: the input is read to its end before it is replaced.
    filter_shard(
        &input,
        ShardKind::Jsonl,
        &mut |_| Decision::Drop,
        Output {
            path: &input,
            existing: Existing::Overwrite,
        },
    )
    .unwrap();
    assert_eq!(fs::read(&input).unwrap(), b"");
}

#[test]
fn numbers_are_little_endian_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(remove_file_name(3), "000003.remove");
    let path = folder.path().join(remove_file_name(3));
    write_numbers(&path, Existing::Refuse, [2, 258]).unwrap();
    assert_eq!(fs::read(&path).unwrap(), [2, 0, 0, 0, 2, 1, 0, 0]);
    write_pairs(&path, Existing::Overwrite, [(1, 2)]).unwrap();
    assert_eq!(fs::read(&path).unwrap(), [1, 0, 0, 0, 2, 0, 0, 0]);
}

fn parquet(batch: &RecordBatch, group: usize, compression: Compression) -> Vec<u8> {
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(group))
        .set_compression(compression)
        .set_key_value_metadata(Some(vec![KeyValue::new("k".to_owned(), "v".to_owned())]))
        .build();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
    bytes
}

fn reopened(bytes: &[u8]) -> SerializedFileReader<bytes::Bytes> {
    SerializedFileReader::new(bytes::Bytes::copy_from_slice(bytes)).unwrap()
}

fn read_back(bytes: &[u8]) -> RecordBatch {
    let bytes = bytes::Bytes::copy_from_slice(bytes);
    let reader = ParquetRecordBatchReaderBuilder::try_new(bytes).unwrap();
    let schema = reader.schema().clone();
    let batches: Vec<RecordBatch> = reader.build().unwrap().map(Result::unwrap).collect();
    concat_batches(&schema, &batches).unwrap()
}

/// Rows with nulls, lists of lists, and a dictionary.
fn table(rows: usize) -> RecordBatch {
    let mut lists = ListBuilder::new(ListBuilder::new(StringBuilder::new()));
    for row in 0..rows {
        match row % 5 {
            0 => lists.append_null(),
            1 => lists.append(true),
            inner => {
                for member in 0..inner {
                    if member == 1 {
                        lists.values().append_null();
                    } else {
                        lists.values().append_value([Some(format!("{row}")), None]);
                    }
                }
                lists.append(true);
            }
        }
    }
    let numbers: Int64Array = (0_i64..).take(rows).collect();
    let measures: Float64Array = (0..rows).map(|r| (r % 3 > 0).then_some(r as f64)).collect();
    let words: DictionaryArray<Int32Type> = (0..rows)
        .map(|r| (r % 4 > 0).then_some(["a", "b"][r % 2]))
        .collect();
    let columns: [(&str, ArrayRef, bool); 4] = [
        ("numbers", Arc::new(numbers), false),
        ("lists", Arc::new(lists.finish()), true),
        ("measures", Arc::new(measures), true),
        ("words", Arc::new(words), true),
    ];
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn rows_are_filtered_as_arrow_does(
        keep in prop::collection::vec(any::<bool>(), 1..120),
        group in 10_usize..60,
        none_in_first in any::<bool>(),
    ) {
        let mut keep = keep;
        if none_in_first {
            keep.iter_mut().take(group).for_each(|keep| *keep = false);
        }
        let batch = table(keep.len());
        let bytes = parquet(&batch, group, Compression::ZSTD(ZstdLevel::default()));
        let dropped: BTreeSet<u64> =
            (0..keep.len()).filter(|&row| !keep[row]).map(|row| row as u64).collect();
        let (got, copied, asked) = filtered(&bytes, ShardKind::Parquet, &dropped).unwrap();
        prop_assert_eq!(asked, (0..keep.len() as u64).collect::<Vec<_>>());
        prop_assert_eq!(copied.kept, (keep.len() - dropped.len()) as u64);
        let mask = BooleanArray::from(keep.clone());
        let expected = filter_record_batch(&batch, &mask).unwrap();
        let read = read_back(&got);
        prop_assert_eq!(read.columns(), expected.columns());

        let (old, new) = (reopened(&bytes), reopened(&got));
        let (old, new) = (old.metadata(), new.metadata());
        let facts = |m: &::parquet::file::metadata::FileMetaData| {
            (m.schema().clone(), m.key_value_metadata().cloned())
        };
        prop_assert_eq!(facts(old.file_metadata()), facts(new.file_metadata()));
        let groups: Vec<i64> = keep
            .chunks(group)
            .map(|group| group.iter().map(|&keep| i64::from(keep)).sum())
            .filter(|rows| *rows > 0)
            .collect();
        let got_groups: Vec<i64> = new.row_groups().iter().map(RowGroupMetaData::num_rows).collect();
        prop_assert_eq!(groups, got_groups);
        for column in new.row_groups().iter().flat_map(RowGroupMetaData::columns) {
            prop_assert_eq!(column.compression(), Compression::ZSTD(ZstdLevel::default()));
        }
        // And once more, for the same bytes.
        prop_assert_eq!(filtered(&bytes, ShardKind::Parquet, &dropped).unwrap().0, got);
    }
}

#[test]
fn each_column_keeps_its_codec_and_old_timestamps_pass() {
    let schema = "message m { required int96 t; optional int32 n; }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_column_compression("n".into(), Compression::LZ4_RAW)
        .build();
    let mut bytes = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut bytes, schema, Arc::new(properties)).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let moment = |word| {
        let mut value = Int96::new();
        value.set_data(word, 2, 3);
        value
    };
    let mut column = group.next_column().unwrap().unwrap();
    column
        .typed::<Int96Type>()
        .write_batch(&[moment(7), moment(8), moment(9)], None, None)
        .unwrap();
    column.close().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column
        .typed::<::parquet::data_type::Int32Type>()
        .write_batch(&[5], Some(&[0, 0, 1]), None)
        .unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();

    let (got, _, _) = filtered(&bytes, ShardKind::Parquet, &BTreeSet::from([1])).unwrap();
    let got = reopened(&got);
    let columns = got.metadata().row_group(0).columns();
    assert_eq!(columns[0].compression(), Compression::SNAPPY);
    assert_eq!(columns[1].compression(), Compression::LZ4_RAW);
    let old = reopened(&bytes);
    let rows = |reader: &SerializedFileReader<bytes::Bytes>| -> Vec<String> {
        let rows = reader.get_row_iter(None).unwrap();
        rows.map(|row| row.unwrap().to_string()).collect()
    };
    let mut expected = rows(&old);
    expected.remove(1);
    assert_eq!(rows(&got), expected);
    assert_eq!(
        got.get_row_iter(None)
            .unwrap()
            .nth(1)
            .unwrap()
            .unwrap()
            .get_int(1)
            .unwrap(),
        5
    );
}

#[test]
fn rows_are_marked_in_columns_behind_the_others() {
    let batch = table(50);
    let bytes = parquet(&batch, 20, Compression::SNAPPY);
    let got = annotated(&bytes, ShardKind::Parquet, &mut |offset| {
        (offset.0 != 3).then(|| Mark {
            cluster: u32::MAX,
            is_duplicate: offset.0 == 49,
            representative: format!("r{}", offset.0),
        })
    })
    .unwrap();
    let got = read_back(&got);
    assert_eq!(
        got.project(&[0, 1, 2, 3]).unwrap().columns(),
        batch.columns()
    );
    let clusters = got
        .column_by_name(MARKS[0])
        .unwrap()
        .as_primitive::<UInt32Type>();
    let duplicates = got.column_by_name(MARKS[1]).unwrap().as_boolean();
    let names = got.column_by_name(MARKS[2]).unwrap().as_string::<i32>();
    assert_eq!(clusters.value(49), u32::MAX);
    assert_eq!((duplicates.value(48), duplicates.value(49)), (false, true));
    assert_eq!(names.value(49), "r49");
    for column in &got.columns()[4..] {
        assert_eq!((column.null_count(), column.is_null(3)), (1, true));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Damage of a Parquet shard is an error, or a copy that can be read; the process
    /// ends in any other case.
    #[test]
    fn damaged_rows_are_an_answer(
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let mut bytes = parquet(&table(60), 20, Compression::SNAPPY);
        for (at, value) in flips {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if let Ok((got, copied, _)) = filtered(&bytes, ShardKind::Parquet, &BTreeSet::new()) {
            let rows = reopened(&got).metadata().file_metadata().num_rows();
            prop_assert_eq!(u64::try_from(rows).unwrap(), copied.kept);
        }
    }
}
