//! Addresses of captures, and the links between them (RFC 7089, RFC 8288).
//!
//! Readers of links are simple: every value is quoted, and no address holds `;`, `,` or
//! anything else that ends one.

use std::fmt::Write;
use std::ops::Range;

use axum::http::HeaderValue;
use lookalike::archive::cdx::digits;
use lookalike::archive::index::{Index, Slot};
use lookalike::corpus::date::http_date;
use lookalike::corpus::record::Timestamp;

use super::Site;
use crate::words;

/// An address as it may stand in a header, in a link and in a path.
pub(super) fn safe(url: &str) -> String {
    let is_safe = |byte: u8| byte.is_ascii_graphic() && !b"<>\"\\^`{|};,#".contains(&byte);
    words::encoded(url, is_safe)
}

/// An address with a scheme: that of the web, if none is named.
pub(super) fn with_scheme(url: &str) -> String {
    let is_named = url.split_once(':').is_some_and(|(scheme, _)| {
        let rest = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
        scheme.starts_with(|c: char| c.is_ascii_alphabetic()) && scheme.chars().all(rest)
    });
    if is_named {
        url.to_owned()
    } else {
        format!("http://{url}")
    }
}

impl Site {
    pub(super) fn timegate(&self, url: &str) -> String {
        format!("{}{}/{}", self.origin, self.path, safe(url))
    }

    pub(super) fn timemap(&self, kind: &str, url: &str) -> String {
        format!("{}{}/timemap/{kind}/{}", self.origin, self.path, safe(url))
    }

    pub(super) fn memento(&self, date: i64, url: &str) -> String {
        format!("{}{}", self.origin, self.here(date, "", url))
    }

    /// The address of a capture on this site; `how` is `id_` for its bytes.
    pub(super) fn here(&self, date: i64, how: &str, url: &str) -> String {
        let date = digits(date).unwrap_or_default();
        format!("{}/{date}{how}/{}", self.path, safe(url))
    }
}

/// Links, one after the other.
#[derive(Debug, Default)]
pub(super) struct Links(Vec<String>);

impl Links {
    /// Adds one; attributes without a value are left out.
    pub(super) fn add(&mut self, url: &str, rel: &str, more: &[(&str, &str)]) {
        let mut link = format!("<{url}>; rel=\"{rel}\"");
        for (name, value) in more.iter().filter(|(_, value)| !value.is_empty()) {
            let _ = write!(link, "; {name}=\"{value}\"");
        }
        self.0.push(link);
    }

    /// All of them as a header.
    pub(super) fn header(&self) -> Option<HeaderValue> {
        HeaderValue::from_str(&self.0.join(", ")).ok()
    }

    /// All of them as a document, one a line.
    pub(super) fn text(&self) -> String {
        self.0.join(",\n") + "\n"
    }
}

/// The type of such a document.
pub(super) const LINK_FORMAT: &str = "application/link-format";

/// The captures of one address at different seconds: of several at one, that read last.
pub(super) fn mementos(index: &Index, captures: Range<u32>) -> impl Iterator<Item = u32> {
    let end = captures.end;
    captures.filter(move |at| at + 1 == end || index.date(at + 1) != index.date(*at))
}

/// The captures of an address before and after a date.
pub(super) fn neighbours(slots: &[Slot], date: i64) -> (Option<Slot>, Option<Slot>) {
    let before = slots.partition_point(|slot| slot.date < date);
    let after = slots.partition_point(|slot| slot.date <= date);
    let prev = before.checked_sub(1).map(|at| slots[at]);
    (prev, slots.get(after).copied())
}

impl Links {
    /// Links to the first and the last capture of an address, to one, and to those next to it.
    pub(super) fn add_around(&mut self, site: &Site, slots: &[Slot], date: i64, url: &str) {
        let (prev, next) = neighbours(slots, date);
        let [prev, next] = [prev, next].map(|slot| slot.map(|slot| slot.date));
        let ends = [slots.first(), slots.last()].map(|slot| slot.map(|slot| slot.date));
        let mut dates: Vec<i64> = ends
            .into_iter()
            .chain([prev, Some(date), next])
            .flatten()
            .collect();
        dates.sort_unstable();
        dates.dedup();
        for one in dates {
            let names = [
                (ends[0], "first "),
                (ends[1], "last "),
                (prev, "prev "),
                (next, "next "),
            ];
            let names = names.iter().filter(|(date, _)| *date == Some(one));
            let rel: String = names.map(|(_, name)| *name).chain(["memento"]).collect();
            self.add_dated(&site.memento(one, url), &rel, one);
        }
    }

    /// A link to a capture.
    pub(super) fn add_memento(&mut self, site: &Site, date: i64, url: &str) {
        self.add_dated(&site.memento(date, url), "memento", date);
    }

    fn add_dated(&mut self, place: &str, rel: &str, date: i64) {
        let when = http_date(Timestamp(date));
        self.add(place, rel, &[("datetime", &when)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_ends_no_link() {
        let url = safe("http://a.example/<b>;c,d\"e\r\nf#g ä");
        assert_eq!(
            url,
            "http://a.example/%3Cb%3E%3Bc%2Cd%22e%0D%0Af%23g%20%C3%A4"
        );
        assert_eq!(with_scheme("a.example/b:c"), "http://a.example/b:c");
        assert_eq!(with_scheme("urn:x"), "urn:x");
    }

    #[test]
    fn a_capture_leads_to_those_around_it() {
        let slot = |date| Slot {
            date,
            doc: 0,
            nth: 0,
        };
        let site = Site {
            origin: "http://h".to_owned(),
            path: "/c".to_owned(),
        };
        let rels = |dates: &[i64], date| {
            let slots: Vec<Slot> = dates.iter().copied().map(slot).collect();
            let mut links = Links::default();
            links.add_around(&site, &slots, date, "http://a.example/");
            let rel = |link: &String| link.split('"').nth(1).unwrap_or_default().to_owned();
            links.0.iter().map(rel).collect::<Vec<_>>().join(", ")
        };
        assert_eq!(rels(&[5], 5), "first last memento");
        assert_eq!(rels(&[5, 6], 5), "first memento, last next memento");
        assert_eq!(
            rels(&[1, 2, 3, 3, 4, 5], 3),
            "first memento, prev memento, memento, next memento, last memento"
        );
    }
}
