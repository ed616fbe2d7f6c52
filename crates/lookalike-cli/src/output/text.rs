//! Words and numbers for people: shares, counts, excerpts, columns.

use std::fmt::Write;
use std::io::{self, BufWriter};

use anstream::AutoStream;

/// Standard output: buffered, and coloured only where a terminal will show it.
pub(crate) fn stdout() -> BufWriter<AutoStream<io::StdoutLock<'static>>> {
    BufWriter::new(AutoStream::auto(io::stdout().lock()))
}

/// A share as a percentage. Only 0 is shown as 0 and only 1 as 100: what is merely
/// close to them is not rounded to them.
pub(crate) fn percent(share: f64) -> String {
    if share <= 0.0 {
        "0 %".to_owned()
    } else if share >= 1.0 {
        "100 %".to_owned()
    } else {
        format!("{:.2} %", (share * 100.0).clamp(0.01, 99.99))
    }
}

/// A whole number with a comma for every three digits.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A number of things: `1 file`, `2 files`.
pub(crate) fn counted(number: impl TryInto<u64>, thing: &str) -> String {
    let number = number.try_into().unwrap_or(u64::MAX);
    let s = if number == 1 { "" } else { "s" };
    format!("{} {thing}{s}", count(number))
}

/// A number of bytes in the largest unit that leaves a whole part.
pub(crate) fn bytes(number: u64) -> String {
    let units = ["KiB", "MiB", "GiB", "TiB"];
    let mut size = number as f64;
    let mut shown = None;
    for unit in units {
        if size < 1024.0 {
            break;
        }
        size /= 1024.0;
        shown = Some(unit);
    }
    match shown {
        Some(unit) => format!("{size:.1} {unit}"),
        None => counted(usize::try_from(number).unwrap_or(usize::MAX), "byte"),
    }
}

/// A stretch of text on one line of at most `most` characters, with nothing in it
/// that a terminal would obey; what is left out stands as `…` in the middle.
pub(crate) fn excerpt(text: &str, most: usize) -> String {
    // Only the two ends can be shown, however long the text.
    let words = |text: &str| -> Vec<char> {
        let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let harmless = |c: char| if c.is_control() { '\u{fffd}' } else { c };
        line.chars().map(harmless).collect()
    };
    let near = 16 * most;
    let (head, tail) = if text.len() <= 2 * near {
        (words(text), Vec::new())
    } else {
        let head = &text[..text.floor_char_boundary(near)];
        let tail = &text[text.ceil_char_boundary(text.len() - near)..];
        (words(head), words(tail))
    };
    if tail.is_empty() && head.len() <= most {
        return head.into_iter().collect();
    }
    let end = if tail.is_empty() { &head } else { &tail };
    let keep_end = (most / 3).min(end.len());
    let keep_start = (most - keep_end - 3).min(head.len());
    let start: String = head.iter().take(keep_start).collect();
    let end: String = end.iter().skip(end.len() - keep_end).collect();
    format!("{} … {}", start.trim_end(), end.trim_start())
}

/// Rows of cells, each column as wide as its widest; all but the first to the right.
pub(crate) fn columns(rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let mut out = String::new();
    for row in rows {
        let mut line = String::new();
        for (i, cell) in row.iter().enumerate() {
            let width = width(i);
            let _ = if i == 0 {
                write!(line, "{cell:<width$}")
            } else {
                write!(line, "   {cell:>width$}")
            };
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_certainty_is_shown_as_certainty() {
        assert_eq!(percent(1.0), "100 %");
        assert_eq!(percent(0.999_999), "99.99 %");
        assert_eq!(percent(1e-9), "0.01 %");
        assert_eq!(percent(3.0 / 7.0), "42.86 %");
    }

    #[test]
    fn numbers_are_grouped_and_sized() {
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(count(999), "999");
        assert_eq!(bytes(1), "1 byte");
        assert_eq!(bytes(1536), "1.5 KiB");
        assert_eq!(bytes(5 << 40), "5.0 TiB");
    }

    #[test]
    fn an_excerpt_is_one_short_harmless_line() {
        assert_eq!(excerpt("one\n two", 20), "one two");
        assert_eq!(excerpt("a\u{1b}[31m", 20), "a\u{fffd}[31m");
        let long = "word ".repeat(100_000);
        let shown = excerpt(&long, 40);
        assert!(
            shown.chars().count() <= 40 && shown.contains(" … "),
            "{shown}"
        );
    }
}
