//! Every time a document was captured.
//!
//! ```text
//! document ─► its entry: the first sighting
//!          ─► captures of its sweep and of every later one, by binary search ─► the others
//! ```
//!
//! S sweeps of up to C further captures: O(S · log C), and the captures themselves.

use super::Collection;
use super::entry::{Capture, Entry, Facts};
use crate::corpus::record::{Offset, Timestamp};
use crate::storage::StorageError;

/// One capture of a document: when, where, and what its archive says of it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Sighting {
    /// Which document.
    pub doc: u32,
    /// Which of the collection's sweeps it was read with, by its place in
    /// [`State::sweeps`](super::state::State::sweeps).
    pub add: usize,
    /// The date that its record names; `None` where it names none, or none that can be read.
    pub own_date: Option<Timestamp>,
    /// When it was captured, as far as known: its own date, or that of its sweep.
    pub date: Option<Timestamp>,
    /// Which of the sources of its sweep.
    pub source: u32,
    /// Where in it.
    pub offset: Offset,
    /// SHA-1 of the payload, where its archive has it. Anyone can write one there.
    pub digest: Option<[u8; 20]>,
    /// Bytes of the record as it is stored, as CDX counts them; 0 where that is not known.
    pub record_len: u32,
    /// Status of the HTTP response; 0 where there is none.
    pub status: u16,
    /// The media type, in lower case and without parameters.
    pub mime: Option<String>,
    /// Whether it is a revisit: its record says that the content is that of another.
    pub is_revisit: bool,
}

impl Collection {
    /// Every capture of a document: the one it was met with first, and then the others, by
    /// sweep and by their own date.
    pub fn captures_of(&self, doc: u32) -> Result<Vec<Sighting>, StorageError> {
        let first = self.sweep_of(doc);
        let mut all = vec![self.first_sighting(doc, &self.entry(doc)?)];
        for add in first..self.state().sweeps.len() {
            let captures = self.segment(add).captures_of(doc)?;
            all.extend(captures.iter().map(|capture| self.sighting(add, capture)));
        }
        Ok(all)
    }

    /// The capture that a document was met with first.
    pub fn first_sighting(&self, doc: u32, entry: &Entry) -> Sighting {
        let capture = Capture::of(doc, entry);
        self.sighting(self.sweep_of(doc), &capture)
    }

    /// A capture that was read with a sweep.
    pub fn sighting(&self, add: usize, capture: &Capture) -> Sighting {
        let sweep = &self.state().sweeps[add];
        let own_date = capture.when();
        let Facts {
            record_len, status, ..
        } = capture.facts;
        Sighting {
            doc: capture.doc,
            add,
            own_date,
            date: own_date.or(sweep.date.map(Timestamp)),
            source: capture.source,
            offset: Offset(capture.offset),
            digest: capture.facts.digest(),
            record_len,
            status,
            mime: sweep.mime(capture.facts.mime).map(str::to_owned),
            is_revisit: capture.is_revisit,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::add::{add, fault_tests::options};
    use crate::corpus::inputs::Inputs;
    use crate::corpus::tests::{gzip, warc};

    const DIGEST: &str = "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ";

    fn fields(url: &str, day: u32) -> String {
        format!(
            "WARC-Target-URI: {url}\r\nWARC-Date: 2026-11-{day:02}T00:00:00Z\r\n\
             WARC-Payload-Digest: {DIGEST}\r\nContent-Type: application/http\r\n"
        )
    }

    fn page(url: &str, day: u32, mime: &str) -> Vec<u8> {
        let block = format!("HTTP/1.1 203 OK\r\nContent-Type: {mime}\r\n\r\nsome words to read");
        warc("response", &fields(url, day), block.as_bytes())
    }

    fn revisit(url: &str, day: u32) -> Vec<u8> {
        let block = b"HTTP/1.1 200 OK\r\nContent-Type: TEXT/Plain; a=b\r\n\r\n";
        warc("revisit", &fields(url, day), block)
    }

    /// A day of November 2026.
    fn day(day: i64) -> Timestamp {
        Timestamp(1_793_491_200 + (day - 1) * 86_400)
    }

    /// Adds files as one sweep each.
    fn collection(folder: &std::path::Path, sweeps: &[&[(&str, Vec<u8>)]]) -> Collection {
        let options = options(2, 32 << 20);
        for files in sweeps {
            let mut paths = Vec::new();
            for (name, bytes) in *files {
                let path = folder.join(name);
                fs::write(&path, bytes).unwrap();
                paths.push(path);
            }
            let inputs = Inputs::expand(&paths, &options.reading);
            add(&folder.join("c"), &inputs, &options, &mut |_| {}).unwrap();
        }
        Collection::open(&folder.join("c")).unwrap()
    }

    #[test]
    fn every_capture_is_seen_with_what_its_archive_says() {
        let folder = tempfile::tempdir().unwrap();
        let records = [
            page("http://x/1", 5, "text/html; charset=utf-8"),
            revisit("http://x/1", 7),
            page("http://x/1", 2, "text/html"),
            revisit("http://x/2", 3),
        ];
        let packed: Vec<Vec<u8>> = records.iter().map(|record| gzip(record)).collect();
        let later = [page("http://x/2", 9, "text/html"), revisit("http://x/1", 9)];
        let collection = collection(
            folder.path(),
            &[
                &[("1.warc.gz", packed.concat())],
                &[("2.warc", later.concat())],
            ],
        );
        assert_eq!(collection.documents(), 2);
        let ends: Vec<u64> = packed
            .iter()
            .scan(0, |end, record| {
                *end += record.len() as u64;
                Some(*end)
            })
            .collect();
        let first = Sighting {
            doc: 0,
            add: 0,
            own_date: Some(day(5)),
            date: Some(day(5)),
            source: 0,
            offset: Offset(0),
            digest: Some([
                0xda, 0x39, 0xa3, 0xee, 0x5e, 0x6b, 0x4b, 0x0d, 0x32, 0x55, 0xbf, 0xef, 0x95, 0x60,
                0x18, 0x90, 0xaf, 0xd8, 0x07, 0x09,
            ]),
            record_len: u32::try_from(packed[0].len()).unwrap(),
            status: 203,
            mime: Some("text/html".to_owned()),
            is_revisit: false,
        };
        let at = |date, record: usize| Sighting {
            own_date: Some(date),
            date: Some(date),
            offset: Offset(ends[record - 1]),
            record_len: u32::try_from(packed[record].len()).unwrap(),
            ..first.clone()
        };
        let again = |sighting| Sighting {
            status: 200,
            mime: Some("text/plain".to_owned()),
            is_revisit: true,
            ..sighting
        };
        let in_second = |place: usize| Sighting {
            add: 1,
            own_date: Some(day(9)),
            date: Some(day(9)),
            offset: Offset(if place == 0 { 0 } else { later[0].len() as u64 }),
            // The line ends behind a plain record are not its own.
            record_len: u32::try_from(later[place].len() - 4).unwrap(),
            ..first.clone()
        };
        let expected = [
            first.clone(),
            at(day(2), 2),
            again(at(day(7), 1)),
            again(in_second(1)),
        ];
        assert_eq!(collection.captures_of(0).unwrap(), expected);
        let of = |sighting| Sighting { doc: 1, ..sighting };
        let expected = [of(again(at(day(3), 3))), of(in_second(0))];
        assert_eq!(collection.captures_of(1).unwrap(), expected);
    }

    #[test]
    fn what_is_no_archive_has_places_and_dates_only() {
        let folder = tempfile::tempdir().unwrap();
        let line =
            |date: &str| format!("{{\"url\":\"u\",\"text\":\"some words\",\"date\":\"{date}\"}}\n");
        let lines = [line("yesterday"), line("2026-11-03"), line("2026-11-02")].concat();
        let collection = collection(folder.path(), &[&[("a.jsonl", lines.into_bytes())]]);
        let seen = collection.captures_of(0).unwrap();
        let dates: Vec<_> = seen.iter().map(|one| one.own_date).collect();
        assert_eq!(dates, [None, Some(day(2)), Some(day(3))]);
        for one in seen {
            assert_eq!((one.digest, one.record_len, one.status), (None, 0, 0));
            assert_eq!(one.mime, None);
        }
    }

    #[test]
    fn media_types_past_the_limits_are_not_known() {
        let folder = tempfile::tempdir().unwrap();
        let mut types: Vec<String> = (0..300).map(|i| format!("text/x-{i}")).collect();
        types[0] = format!("text/{}", "x".repeat(100));
        let page = |(i, mime): (usize, &String)| page(&format!("http://x/{i}"), 1, mime);
        let pages: Vec<Vec<u8>> = types.iter().enumerate().map(page).collect();
        let collection = collection(folder.path(), &[&[("1.warc", pages.concat())]]);
        assert_eq!(collection.state().sweeps[0].mimes.len(), 256);
        for (doc, mime) in (0..).zip(&types) {
            let found = collection.captures_of(doc).unwrap().remove(0).mime;
            let is_known = (1..=256).contains(&doc);
            assert_eq!(found, is_known.then(|| mime.clone()), "{doc}");
        }
    }
}
