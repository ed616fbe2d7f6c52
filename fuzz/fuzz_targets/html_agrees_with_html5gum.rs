//! The HTML reader against html5gum, and the mapped reading against the plain one.

#![no_main]

use libfuzzer_sys::fuzz_target;
use lookalike::corpus::html::{text, text_mapped};
use lookalike_testkit::html_oracle;

fuzz_target!(|page: &str| {
    let got = text(page);
    let expected = html_oracle::text(page);
    if page.contains('\r') {
        // The engine leaves line ends as they are, so only the words agree.
        let words = |text: &str| -> Vec<String> {
            text.split_ascii_whitespace().map(str::to_owned).collect()
        };
        assert_eq!(words(&got), words(&expected));
    } else {
        assert_eq!(got, expected);
    }
    let (mapped, map) = text_mapped(page);
    assert_eq!(mapped, got);
    let mut before = 0;
    for (at, c) in mapped.char_indices() {
        let source = map.source_range(at..at + c.len_utf8());
        assert!(before <= source.start && source.end <= page.len());
        assert!(page.get(source.clone()).is_some());
        before = source.start;
    }
});
