//! Any bytes as an input of any kind: read to the end, offsets increase, documents or
//! reasons for all.

#![no_main]

use std::io::Cursor;
use std::ops::ControlFlow;

use libfuzzer_sys::fuzz_target;
use lookalike::corpus::options::{InputFormat, Limits, ReadOptions};
use lookalike::corpus::read::read_stream_of;

fuzz_target!(|input: &[u8]| {
    let Some((&choice, bytes)) = input.split_first() else {
        return;
    };
    let formats = [
        InputFormat::Auto,
        InputFormat::Warc,
        InputFormat::Jsonl,
        InputFormat::Csv,
        InputFormat::Document,
    ];
    let Some(&format) = formats.get(usize::from(choice) % formats.len()) else {
        return;
    };
    let mut options = ReadOptions {
        input: format,
        text_field: "a.b".to_owned(),
        ..ReadOptions::default()
    };
    if choice >= 128 {
        // Limits that a short input can pass.
        options.limits = Limits {
            document: 64,
            line: 64,
            record: 256,
            ..Limits::default()
        };
    }
    let mut last = None;
    let _ = read_stream_of(Box::new(Cursor::new(bytes.to_vec())), &options, &mut |batch| {
        batch.for_each(&mut |read| {
            if let Ok(record) = read {
                assert!(last < Some(record.offset));
                last = Some(record.offset);
                let _ = record.document(&options);
            }
        });
        ControlFlow::Continue(())
    });
});
