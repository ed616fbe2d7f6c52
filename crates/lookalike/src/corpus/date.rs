//! Dates: whatever an input calls one, as a moment in UTC.
//!
//! ```text
//! 2026-11-16 · 2026-11-16T01:02:03+01:00 · 20261116010203 · Sun, 06 Nov 1994 08:49:37 GMT
//! ```
//!
//! Without an offset, UTC is meant; without a time, the day's beginning. A number is no
//! date, for it may count seconds, milliseconds or days. What does not exist, such as
//! `2026-02-30`, is [`When::Unreadable`] and never a moment near it; only a leap second
//! is taken for the second before.

use jiff::civil;
use jiff::fmt::rfc2822;

use super::record::{Timestamp, When};

/// Reads a date.
///
/// ```
/// use lookalike::corpus::date::when;
/// use lookalike::corpus::record::{Timestamp, When};
///
/// assert_eq!(when("1970-01-02"), When::At(Timestamp(86400)));
/// assert_eq!(when("2026-02-30"), When::Unreadable);
/// ```
pub fn when(text: &str) -> When {
    let text = text.trim();
    if text.is_empty() {
        return When::Unsaid;
    }
    match moment(text) {
        Some(moment) => When::At(Timestamp(moment)),
        None => When::Unreadable,
    }
}

fn moment(text: &str) -> Option<i64> {
    if text.len() > 64 {
        return None;
    }
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return digits(text);
    }
    if let Ok(moment) = text.parse::<jiff::Timestamp>() {
        return Some(moment.as_second());
    }
    let local = text.parse::<civil::DateTime>();
    if let Ok(local) = local {
        // Time zone names in brackets are a notation of their own.
        return (!text.contains('[')).then(|| utc(local)).flatten();
    }
    if let Ok(moment) = rfc2822::DateTimeParser::new().parse_timestamp(text) {
        return Some(moment.as_second());
    }
    // The two older forms that HTTP still allows.
    ["%A, %d-%b-%y %H:%M:%S GMT", "%a %b %e %H:%M:%S %Y"]
        .iter()
        .find_map(|format| civil::DateTime::strptime(format, text).ok())
        .and_then(utc)
}

/// `YYYYMMDDhhmmss`, or only its day.
fn digits(text: &str) -> Option<i64> {
    let part = |from: usize, to: usize| text.get(from..to)?.parse::<i8>().ok();
    let year = text.get(..4)?.parse().ok()?;
    let date = civil::Date::new(year, part(4, 6)?, part(6, 8)?).ok()?;
    match text.len() {
        8 => utc(date.at(0, 0, 0, 0)),
        14 => {
            let second = part(12, 14).map(|second| if second == 60 { 59 } else { second })?;
            let time = civil::Time::new(part(8, 10)?, part(10, 12)?, second, 0).ok()?;
            utc(date.to_datetime(time))
        }
        _ => None,
    }
}

fn utc(local: civil::DateTime) -> Option<i64> {
    let moment = jiff::tz::TimeZone::UTC.to_timestamp(local).ok()?;
    Some(moment.as_second())
}

/// A moment as in RFC 3339: `2026-11-16T01:02:03Z`. Empty past the year 9999.
pub fn rfc3339(moment: Timestamp) -> String {
    write("%Y-%m-%dT%H:%M:%SZ", moment)
}

/// A moment in 14 digits, as web archives write it: `20261116010203`. Empty past the
/// year 9999.
pub fn digits14(moment: Timestamp) -> String {
    write("%Y%m%d%H%M%S", moment)
}

/// A moment as HTTP writes it: `Mon, 16 Nov 2026 01:02:03 GMT`. Empty past the year 9999.
pub fn http_date(moment: Timestamp) -> String {
    write("%a, %d %b %Y %H:%M:%S GMT", moment)
}

fn write(format: &str, moment: Timestamp) -> String {
    jiff::Timestamp::from_second(moment.0).map_or_else(
        |_| String::new(),
        |moment| moment.strftime(format).to_string(),
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_notation_gives_the_same_moment() {
        let moment = When::At(Timestamp(1_794_790_923));
        for text in [
            "2026-11-16T01:02:03Z",
            "2026-11-16T01:02:03.999Z",
            "2026-11-16T02:02:03+01:00",
            "2026-11-15 20:02:03-05:00",
            "2026-11-16T01:02:03",
            " 2026-11-16 01:02:03\n",
            "20261116010203",
            "Mon, 16 Nov 2026 01:02:03 GMT",
            "Monday, 16-Nov-26 01:02:03 GMT",
            "Mon Nov 16 01:02:03 2026",
        ] {
            assert_eq!(when(text), moment, "{text}");
        }
        assert_eq!(when("2026-11-16"), when("20261116000000"));
        assert_eq!(when("2026-11-16"), when("20261116"));
    }

    #[test]
    fn a_leap_second_is_the_second_before() {
        let last = when("2016-12-31T23:59:59Z");
        assert_eq!(when("2016-12-31T23:59:60Z"), last);
        assert_eq!(when("20161231235960"), last);
    }

    #[test]
    fn what_is_no_date_is_unreadable_and_never_1970() {
        for text in [
            "2026-02-30",
            "2026-13-01",
            "20260230000000",
            "2026-11-16T25:00:00Z",
            "yesterday",
            "0",
            "1700000000",
            "1700000000000",
            "2026",
            "-1",
            "+292277026596-01-01",
            "292277026596-01-01T00:00:00Z",
            "Mon, 30 Feb 2026 01:02:03 GMT",
            "\u{0}",
            &"9".repeat(100_000),
        ] {
            assert_eq!(when(text), When::Unreadable, "{}", text.len());
        }
        assert_eq!(when(" "), When::Unsaid);
    }

    proptest! {
        #[test]
        fn what_is_written_reads_the_same(second in -62_000_000_000_i64..250_000_000_000) {
            let moment = Timestamp(second);
            prop_assert_eq!(when(&rfc3339(moment)), When::At(moment));
            prop_assert_eq!(when(&digits14(moment)), When::At(moment));
            prop_assert_eq!(when(&http_date(moment)), When::At(moment));
        }

        #[test]
        fn any_text_is_read_or_not(text in "\\PC{0,40}") {
            when(&text);
        }
    }
}
