//! Dates as texts write them.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use crate::corpus::record::{Timestamp, When};

/// Reads a date: RFC 3339, ISO 8601 with or without a time, or the 14 digits of web
/// archives. Without a zone it is UTC.
pub(super) fn read(text: &str) -> When {
    let text = text.trim();
    if text.is_empty() {
        return When::Unsaid;
    }
    match moment(text) {
        Some(moment) => When::At(Timestamp(moment.as_second())),
        None => When::Unreadable,
    }
}

fn moment(text: &str) -> Option<jiff::Timestamp> {
    if let Ok(moment) = text.parse::<jiff::Timestamp>() {
        return Some(moment);
    }
    let civil = if text.len() == 14 && text.bytes().all(|b| b.is_ascii_digit()) {
        DateTime::strptime("%Y%m%d%H%M%S", text).ok()?
    } else {
        // A zone that could not be read must not be dropped in silence.
        text.parse::<DateTime>().ok()?
    };
    TimeZone::UTC.to_timestamp(civil).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read_as_people_write_them() {
        let at = |seconds| When::At(Timestamp(seconds));
        assert_eq!(read("2023-11-14T22:13:20Z"), at(1_700_000_000));
        assert_eq!(read("2023-11-14T23:13:20.5+01:00"), at(1_700_000_000));
        assert_eq!(read("2023-11-14 22:13:20"), at(1_700_000_000));
        assert_eq!(read("20231114221320"), at(1_700_000_000));
        assert_eq!(read("1970-01-02"), at(86_400));
        assert_eq!(read(" "), When::Unsaid);
        for bad in ["2026-02-30", "yesterday", "20261314221320", "17"] {
            assert_eq!(read(bad), When::Unreadable, "{bad}");
        }
    }
}
