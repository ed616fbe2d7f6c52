//! Any bytes under any label: no panic, and the mapped reading is the reading.

#![no_main]

use libfuzzer_sys::fuzz_target;
use lookalike::corpus::decode::{Hints, decode, decode_mapped};

/// The first byte chooses one of these, or none.
const LABELS: &[&str] = &[
    "utf-8",
    "utf-16le",
    "utf-16be",
    "shift_jis",
    "euc-jp",
    "iso-2022-jp",
    "big5",
    "gb18030",
    "euc-kr",
    "windows-1252",
    "windows-874",
    "koi8-r",
    "iso-2022-kr",
    "x-user-defined",
    "utf-7",
];

fuzz_target!(|input: &[u8]| {
    let Some((&choice, bytes)) = input.split_first() else {
        return;
    };
    let hints = Hints {
        http_charset: LABELS.get(usize::from(choice) % 32).copied(),
        html: choice >= 128,
    };
    let plain = decode(bytes, hints);
    let (mapped, map) = decode_mapped(bytes, hints);
    assert_eq!(plain, mapped);
    assert_eq!(map.text_len(), mapped.text.len());
    let mut before = 0;
    for (at, c) in mapped.text.char_indices() {
        let source = map.source_range(at..at + c.len_utf8());
        assert!(before <= source.start && source.start <= source.end);
        assert!(source.end <= bytes.len());
        before = source.start;
    }
});
