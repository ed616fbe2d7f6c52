//! Any bytes are a sketch or are refused; a sketch is written again as it was read.

#![no_main]

use libfuzzer_sys::fuzz_target;
use lookalike_core::sketch::Sketch;

fuzz_target!(|input: &[u8]| {
    // The checksum would keep a fuzzer out: put it right.
    let mut bytes = input.to_vec();
    if let Some(at) = bytes.len().checked_sub(4) {
        let checksum = crc32fast::hash(&bytes[..at]);
        bytes[at..].copy_from_slice(&checksum.to_le_bytes());
    }
    if let Ok(sketch) = Sketch::from_bytes(&bytes) {
        assert_eq!(sketch.to_bytes(), bytes);
        sketch.compare(&sketch).expect("one recipe");
    }
});
