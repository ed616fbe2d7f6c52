//! What is written is read back by others' readers: Arrow's, serde's and the csv crate's.

use std::sync::{Arc, Mutex};

use ::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use ::parquet::file::metadata::RowGroupMetaData;
use ::parquet::file::reader::{FileReader, SerializedFileReader};
use arrow_array::cast::AsArray;
use arrow_array::types::{TimestampMillisecondType, UInt32Type, UInt64Type};
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, TimeUnit};

use super::*;

/// Somewhere to write that can be looked at afterwards.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn written<T: Tabled>(format: Format, rows: &[T::Row<'_>]) -> Vec<u8> {
    let out = Shared::default();
    let mut writer = Writer::<T>::new(format, Box::new(out.clone())).unwrap();
    for row in rows {
        writer.write(row).unwrap();
    }
    assert_eq!(writer.finish().unwrap(), rows.len() as u64);
    out.0.lock().unwrap().clone()
}

fn read_back(bytes: &[u8]) -> Vec<RecordBatch> {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
    reader.build().unwrap().map(Result::unwrap).collect()
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

fn full() -> DocumentRow<'static> {
    DocumentRow {
        doc: 7,
        id: Some("a,\"b\"\n"),
        url: Some(""),
        date: Some(Timestamp(1_700_000_000)),
        file: "in.jsonl",
        offset: u64::MAX,
        tokens: 3,
        shingles: 1,
        grade: Some("similar"),
        cluster: Some(2),
        cluster_size: Some(5),
        representative: Some(1),
        is_representative: Some(false),
        resemblance: Some(0.1 + 0.2),
        containment: Some(1.0),
    }
}

fn bare() -> DocumentRow<'static> {
    DocumentRow {
        doc: 8,
        id: None,
        url: None,
        date: None,
        file: "-",
        offset: 0,
        tokens: 0,
        shingles: 0,
        grade: None,
        cluster: None,
        cluster_size: None,
        representative: None,
        is_representative: None,
        resemblance: Some(f64::NAN),
        containment: None,
    }
}

#[test]
fn columns_are_those_of_the_contract() {
    let names = |table: Table| {
        let names: Vec<&str> = table.columns.iter().map(|column| column.name).collect();
        names.join(" ")
    };
    assert_eq!(
        names(DocumentRow::TABLE),
        "doc id url date file offset tokens shingles grade cluster cluster_size \
         representative is_representative resemblance containment"
    );
    assert_eq!(
        names(PairRow::TABLE),
        "a b id_a id_b url_a url_b common resemblance resemblance_low resemblance_high \
         a_in_b b_in_a exact"
    );
    assert_eq!(names(SketchRow::TABLE), "doc id url level samples");
    assert_eq!(
        names(QualityRow::TABLE),
        "cluster size representative representative_id representative_url \
         lowest_resemblance median_resemblance flags"
    );
}

#[test]
fn json_has_every_column_in_every_row() {
    let lines = text(written::<Documents>(Format::Jsonl, &[full(), bare()]));
    assert_eq!(
        lines,
        "{\"doc\":7,\"id\":\"a,\\\"b\\\"\\n\",\"url\":\"\",\"date\":\"2023-11-14T22:13:20Z\",\
         \"file\":\"in.jsonl\",\"offset\":18446744073709551615,\"tokens\":3,\"shingles\":1,\
         \"grade\":\"similar\",\"cluster\":2,\"cluster_size\":5,\"representative\":1,\
         \"is_representative\":false,\"resemblance\":0.30000000000000004,\"containment\":1.0}\n\
         {\"doc\":8,\"id\":null,\"url\":null,\"date\":null,\"file\":\"-\",\"offset\":0,\
         \"tokens\":0,\"shingles\":0,\"grade\":null,\"cluster\":null,\"cluster_size\":null,\
         \"representative\":null,\"is_representative\":null,\"resemblance\":null,\
         \"containment\":null}\n"
    );
    for line in lines.lines() {
        serde_json::from_str::<serde_json::Value>(line).unwrap();
    }
}

#[test]
fn csv_tells_nothing_from_empty_text() {
    let bytes = written::<Documents>(Format::Csv, &[full(), bare()]);
    assert_eq!(
        text(bytes.clone()),
        "doc,id,url,date,file,offset,tokens,shingles,grade,cluster,cluster_size,\
         representative,is_representative,resemblance,containment\n\
         7,\"a,\"\"b\"\"\n\",\"\",2023-11-14T22:13:20Z,in.jsonl,18446744073709551615,3,1,\
         similar,2,5,1,false,0.30000000000000004,1.0\n\
         8,,,,-,0,0,0,,,,,,,\n"
    );
    let mut reader = csv::Reader::from_reader(&bytes[..]);
    let records: Vec<_> = reader.records().map(Result::unwrap).collect();
    assert_eq!(records[0].get(1), Some("a,\"b\"\n"));
    assert_eq!(records[1].len(), 15);
}

#[test]
fn parquet_reads_back_with_its_types_and_nulls() {
    let batches = read_back(&written::<Documents>(Format::Parquet, &[full(), bare()]));
    assert_eq!(batches.len(), 1);
    let batch = &batches[0];
    let column = |name: &str| batch.column_by_name(name).unwrap();
    assert_eq!(column("doc").as_primitive::<UInt32Type>().values(), &[7, 8]);
    assert_eq!(
        column("offset").as_primitive::<UInt64Type>().values(),
        &[u64::MAX, 0]
    );
    assert_eq!(column("id").as_string::<i32>().value(0), "a,\"b\"\n");
    assert_eq!(column("url").as_string::<i32>().value(0), "");
    assert_eq!(
        column("date").data_type(),
        &DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into()))
    );
    let dates = column("date").as_primitive::<TimestampMillisecondType>();
    assert_eq!(dates.value(0), 1_700_000_000_000);
    assert!(!column("is_representative").as_boolean().value(0));
    for name in ["id", "url", "date", "grade", "cluster", "resemblance"] {
        assert!(column(name).is_valid(0), "{name}");
        assert!(column(name).is_null(1), "{name}");
    }
    assert!(
        !batch
            .schema()
            .field_with_name("file")
            .unwrap()
            .is_nullable()
    );
}

#[test]
fn lists_are_lists_in_each_format() {
    let rows = [[1, u64::MAX].as_slice(), &[]].map(|samples| SketchRow {
        doc: 1,
        id: None,
        url: None,
        level: 3,
        samples,
    });
    assert!(
        text(written::<Sketches>(Format::Jsonl, &rows))
            .contains("\"samples\":[1,18446744073709551615]}\n{\"doc\":1")
    );
    assert!(
        text(written::<Sketches>(Format::Csv, &rows))
            .ends_with("1,,,3,1 18446744073709551615\n1,,,3,\n")
    );
    let batches = read_back(&written::<Sketches>(Format::Parquet, &rows));
    let lists = batches[0].column(4).as_list::<i32>();
    let first = lists.value(0);
    assert_eq!(first.as_primitive::<UInt64Type>().values(), &[1, u64::MAX]);
    assert_eq!(lists.value(1).len(), 0);
}

#[test]
fn row_groups_are_bounded_in_rows_and_in_bytes() {
    let group_rows = |bytes: &[u8]| {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        let reader = SerializedFileReader::new(file).unwrap();
        let groups = reader.metadata().row_groups();
        groups
            .iter()
            .map(RowGroupMetaData::num_rows)
            .collect::<Vec<i64>>()
    };
    let rows = vec![bare(); GROUP_ROWS + 10];
    assert_eq!(
        group_rows(&written::<Documents>(Format::Parquet, &rows)),
        [i64::try_from(GROUP_ROWS).unwrap(), 10]
    );
    // 24 lists of 4 MiB that do not compress: no group holds them all.
    let mut noise = 1_u64;
    let samples: Vec<u64> = (0..1 << 19)
        .map(|_| {
            noise = noise.wrapping_mul(6_364_136_223_846_793_005) + 1;
            noise ^ noise >> 29
        })
        .collect();
    let row = SketchRow {
        doc: 1,
        id: None,
        url: None,
        level: 0,
        samples: &samples,
    };
    let groups = group_rows(&written::<Sketches>(Format::Parquet, &[row; 24]));
    assert_eq!(groups.iter().sum::<i64>(), 24);
    assert!(groups.iter().all(|&rows| rows <= 10), "{groups:?}");
}

#[test]
fn the_same_rows_give_the_same_bytes() {
    let rows: Vec<_> = (0..5000).map(|doc| DocumentRow { doc, ..full() }).collect();
    for format in [Format::Parquet, Format::Jsonl, Format::Csv] {
        assert_eq!(
            written::<Documents>(format, &rows),
            written::<Documents>(format, &rows),
            "{format}"
        );
    }
}

#[test]
fn a_table_without_rows_opens() {
    let none: [PairRow<'_>; 0] = [];
    assert!(read_back(&written::<Pairs>(Format::Parquet, &none)).is_empty());
    assert_eq!(written::<Pairs>(Format::Jsonl, &none), b"");
    assert!(written::<Pairs>(Format::Csv, &none).starts_with(b"a,b,id_a"));
}

#[test]
fn formats_go_by_name_or_suffix() {
    for (path, format) in [
        ("x/pairs.parquet", Format::Parquet),
        ("pairs.JSONL", Format::Jsonl),
        ("pairs.ndjson", Format::Jsonl),
        ("a.b.csv", Format::Csv),
    ] {
        assert_eq!(Format::of_path(Path::new(path)), Ok(format));
    }
    for path in ["pairs", "pairs.txt", "csv"] {
        let error = Format::of_path(Path::new(path)).unwrap_err().to_string();
        assert!(error.contains("parquet, jsonl or csv"), "{error}");
    }
    assert_eq!("csv".parse(), Ok(Format::Csv));
    assert!("xml".parse::<Format>().is_err());
}

/// A disk with room for so many bytes.
struct Full(usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0 < bytes.len() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.0 -= bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_is_called_one() {
    for format in [Format::Parquet, Format::Jsonl, Format::Csv] {
        let write = || {
            let mut writer = Writer::<Documents>::new(format, Box::new(Full(1000)))?;
            for doc in 0..3000 {
                writer.write(&DocumentRow { doc, ..full() })?;
            }
            writer.finish()
        };
        let kind = write().map_err(|error| error.kind());
        assert_eq!(kind, Err(io::ErrorKind::StorageFull), "{format}");
    }
}
