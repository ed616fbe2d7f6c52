//! What do these inputs hold, and how fast are they read on one thread?
//!
//! ```text
//! cargo run --release --example read_inputs -- crawl.warc.gz pages/ lines.jsonl
//! ```

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use lookalike::corpus::inputs::Inputs;
use lookalike::corpus::options::ReadOptions;
use lookalike::corpus::read::read_source;
use lookalike::corpus::record::Body;

fn main() {
    let arguments: Vec<std::ffi::OsString> = std::env::args_os().skip(1).collect();
    let options = ReadOptions::default();
    let inputs = Inputs::expand(&arguments, &options);
    let mut left: BTreeMap<&str, usize> = BTreeMap::new();
    for (name, refused) in &inputs.refused {
        println!("{name}: {refused}");
        *left.entry(refused.code).or_default() += 1;
    }
    let (mut records, mut content, mut unpacked) = (0_usize, 0, 0);
    // Reading and parsing apart: they would run on two threads.
    let mut parsing = Duration::ZERO;
    let start = Instant::now();
    for source in &inputs.sources {
        let read = read_source(source, &options, &mut |batch| {
            let start = Instant::now();
            unpacked += batch.byte_len();
            batch.for_each(&mut |read| match read {
                Ok(record) => {
                    records += 1;
                    content += match &record.body {
                        Body::Text(text) => text.len(),
                        Body::Bytes { bytes, .. } => bytes.len(),
                        Body::Features(_) | Body::Weighted(_) | Body::Revisit { .. } => 0,
                    };
                }
                Err(refused) => *left.entry(refused.code).or_default() += 1,
            });
            parsing += start.elapsed();
            ControlFlow::Continue(())
        });
        if let Err(error) = read {
            println!("{error}");
        }
    }
    let reading = start.elapsed().saturating_sub(parsing);
    let rate = |bytes: u64, time: Duration| bytes as f64 / 1e6 / time.as_secs_f64();
    let stored: u64 = inputs.sources.iter().map(|source| source.len).sum();
    println!("{records} records, {content} bytes of content");
    println!("left out: {left:?}");
    println!(
        "reading {reading:.2?} ({:.0} MB/s of the files, {:.0} MB/s unpacked), parsing {parsing:.2?} ({:.0} MB/s)",
        rate(stored, reading),
        rate(unpacked as u64, reading),
        rate(unpacked as u64, parsing),
    );
}
