//! Words and numbers for people: shares, counts, excerpts.

use std::fmt::Write;

use lookalike::core::estimate::Estimate;

/// A share as a percentage. Only 0 is shown as 0 and only 1 as 100: what is merely
/// close to them is not rounded to them.
pub fn percent(share: f64) -> String {
    if share <= 0.0 {
        "0 %".to_owned()
    } else if share >= 1.0 {
        "100 %".to_owned()
    } else {
        format!("{:.2} %", (share * 100.0).clamp(0.01, 99.99))
    }
}

/// A weight: as it is written, unless that takes a line of zeros.
pub fn amount(weight: f64) -> String {
    if weight == 0.0 || (1e-6..1e15).contains(&weight) {
        weight.to_string()
    } else {
        format!("{weight:e}")
    }
}

/// The interval of an estimate in a few characters.
pub fn interval(estimate: Estimate) -> String {
    if estimate.low >= estimate.high {
        return "certain".to_owned();
    }
    let (low, high) = (percent(estimate.low), percent(estimate.high));
    format!("{} to {high}", low.trim_end_matches(" %"))
}

/// A whole number with a comma for every three digits.
pub fn count(number: u64) -> String {
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
pub fn counted(number: impl TryInto<u64>, thing: &str) -> String {
    let number = number.try_into().unwrap_or(u64::MAX);
    let s = if number == 1 { "" } else { "s" };
    format!("{} {thing}{s}", count(number))
}

/// A number of bytes in the largest unit that leaves a whole part.
pub fn bytes(number: u64) -> String {
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

/// A time in the unit that suits it: `9 hours`, `12 days`, `3.4 years`.
pub fn duration(days: f64) -> String {
    let (number, unit) = if days < 2.0 {
        (days * 24.0, "hour")
    } else if days < 1000.0 {
        (days, "day")
    } else {
        (days / 365.25, "year")
    };
    if number >= 10.0 || number.fract() == 0.0 || unit == "day" {
        let number = number.round();
        let s = if (number - 1.0).abs() < 0.5 { "" } else { "s" };
        format!("{number:.0} {unit}{s}")
    } else {
        format!("{number:.1} {unit}s")
    }
}

/// A stretch of text on one line of at most `most` characters, with nothing in it
/// that a terminal would obey; what is left out stands as `…` in the middle.
pub fn excerpt(text: &str, most: usize) -> String {
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

/// Text in which every byte that may not stand as it is became `%XX`.
pub fn encoded(text: &str, may_stand: impl Fn(u8) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if may_stand(byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
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
    fn times_are_told_in_the_unit_that_suits_them() {
        let told = [1.0 / 24.0, 0.2, 1.5, 6.6, 365.0, 1826.0, 9131.0].map(duration);
        let expected = [
            "1 hour",
            "4.8 hours",
            "36 hours",
            "7 days",
            "365 days",
            "5.0 years",
            "25 years",
        ];
        assert_eq!(told, expected);
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
