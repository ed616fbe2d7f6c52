//! The rows that are packed: where documents were read, and which clusters they are in.
//!
//! Numbers are LEB128; what may be negative is doubled, and one less where it is.

use super::packed::Row;
use crate::add::sketching::{id_key, url_key};
use crate::blocks::varint::{put_varint, take_varint, unzigzag, zigzag};
use crate::corpus::record::Timestamp;

/// Where a document was read and when, and where its names stand.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Place {
    pub(crate) source: u32,
    pub(crate) offset: u64,
    /// Minutes since 1970.
    pub(crate) minutes: Option<i64>,
    /// Where its id begins, which its URL follows.
    pub(crate) names: u64,
    pub(crate) id_len: Option<u32>,
    pub(crate) url_len: u32,
}

/// What the first number of a place says besides the length of the URL.
const HAS_ID: u64 = 1;
const DATED: u64 = 2;
const ANOTHER_SOURCE: u64 = 4;
const MARKS: u32 = 3;

impl Place {
    /// When, to the minute.
    pub(crate) fn date(&self) -> Option<Timestamp> {
        self.minutes
            .map(|minutes| Timestamp(minutes.saturating_mul(60)))
    }

    /// Where its names end: there begin those of the next document.
    fn end(&self) -> Option<u64> {
        let len = u64::from(self.id_len.unwrap_or(0)) + u64::from(self.url_len);
        self.names.checked_add(len)
    }
}

/// `mark` if something is so.
fn mark(mark: u64, is_so: bool) -> u64 {
    if is_so { mark } else { 0 }
}

/// ```text
/// length of the URL << 3 | 4 another source, 2 dated, 1 has an id
/// source      if another: less that of the row before
/// offset      less that of the row before if of the same source
/// minutes     if dated: less those of the row before, if it is dated
/// id          if there is one: its length
/// names       in the first row of a group: where they begin
/// ```
impl Row for Place {
    fn put(self, before: Option<Place>, out: &mut Vec<u8>) {
        let same = before.filter(|before| before.source == self.source);
        let marks = mark(HAS_ID, self.id_len.is_some())
            | mark(DATED, self.minutes.is_some())
            | mark(ANOTHER_SOURCE, same.is_none());
        put_varint(out, u64::from(self.url_len) << MARKS | marks);
        if same.is_none() {
            let known = before.map_or(0, |before| before.source);
            put_varint(out, zigzag(i64::from(self.source) - i64::from(known)));
        }
        // Of two offsets, either may be the larger, and their distance past any sign: modulo
        // 2^64 it is what it is.
        let from = same.map_or(0, |same| same.offset);
        put_varint(out, zigzag(self.offset.wrapping_sub(from).cast_signed()));
        if let Some(minutes) = self.minutes {
            let from = before.and_then(|before| before.minutes).unwrap_or(0);
            put_varint(out, zigzag(minutes.wrapping_sub(from)));
        }
        if let Some(len) = self.id_len {
            put_varint(out, len.into());
        }
        if before.is_none() {
            put_varint(out, self.names);
        }
    }

    fn take(before: Option<Place>, bytes: &mut &[u8]) -> Option<Place> {
        let first = take_varint(bytes)?;
        let has = |mark: u64| first & mark != 0;
        let (mut source, mut from) = before.map_or((0, 0), |it| (it.source, it.offset));
        if has(ANOTHER_SOURCE) {
            let by = unzigzag(take_varint(bytes)?);
            source = u32::try_from(i64::from(source).checked_add(by)?).ok()?;
            from = 0;
        }
        let by = unzigzag(take_varint(bytes)?);
        let offset = from.wrapping_add(by.cast_unsigned());
        let minutes = if has(DATED) {
            let from = before.and_then(|before| before.minutes).unwrap_or(0);
            Some(from.wrapping_add(unzigzag(take_varint(bytes)?)))
        } else {
            None
        };
        let id_len = if has(HAS_ID) {
            Some(u32::try_from(take_varint(bytes)?).ok()?)
        } else {
            None
        };
        let names = match before {
            None => take_varint(bytes)?,
            Some(before) => before.end()?,
        };
        let place = Place {
            source,
            offset,
            minutes,
            names,
            id_len,
            url_len: u32::try_from(first >> MARKS).ok()?,
        };
        place.end().map(|_| place)
    }
}

/// What a document goes by: its URL, else its id, else nothing, which is 0.
pub(crate) fn key_of(id: Option<&str>, url: &str) -> u64 {
    match (url, id) {
        ("", None) => 0,
        ("", Some(id)) => id_key(id),
        (url, _) => url_key(url),
    }
}

/// A document in a cluster of two or more; by document.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Member {
    pub(crate) doc: u32,
    pub(crate) cluster: u32,
}

/// Document, less that of the row before; document less cluster.
impl Row for Member {
    fn put(self, before: Option<Member>, out: &mut Vec<u8>) {
        let from = before.map_or(0, |before| before.doc);
        put_varint(out, (self.doc - from).into());
        put_varint(out, (self.doc - self.cluster).into());
    }

    fn take(before: Option<Member>, bytes: &mut &[u8]) -> Option<Member> {
        let doc = further(before.map_or(0, |before| before.doc), take_varint(bytes)?)?;
        let by = u32::try_from(take_varint(bytes)?).ok()?;
        Some(Member {
            doc,
            cluster: doc.checked_sub(by)?,
        })
    }
}

/// The same; by cluster and document.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Listed {
    pub(crate) cluster: u32,
    pub(crate) doc: u32,
}

/// First in a group: cluster; document less cluster. Then, in the cluster of the row before:
/// document, less that of the row before, doubled. Otherwise the cluster, less that of the
/// row before, doubled, and one more: it goes by its first document.
impl Row for Listed {
    fn put(self, before: Option<Listed>, out: &mut Vec<u8>) {
        match before {
            None => {
                put_varint(out, self.cluster.into());
                put_varint(out, (self.doc - self.cluster).into());
            }
            Some(before) if before.cluster == self.cluster => {
                put_varint(out, u64::from(self.doc - before.doc) << 1);
            }
            Some(before) => {
                debug_assert_eq!(self.cluster, self.doc, "a cluster goes by its first");
                put_varint(out, u64::from(self.cluster - before.cluster) << 1 | 1);
            }
        }
    }

    fn take(before: Option<Listed>, bytes: &mut &[u8]) -> Option<Listed> {
        let number = take_varint(bytes)?;
        let Some(before) = before else {
            let cluster = further(0, number)?;
            let doc = further(cluster, take_varint(bytes)?)?;
            return Some(Listed { cluster, doc });
        };
        if number & 1 == 0 {
            let doc = further(before.doc, number >> 1)?;
            return Some(Listed { doc, ..before });
        }
        let cluster = further(before.cluster, number >> 1)?;
        let doc = cluster;
        Some(Listed { cluster, doc })
    }
}

fn further(from: u32, by: u64) -> Option<u32> {
    from.checked_add(u32::try_from(by).ok()?)
}

#[cfg(test)]
mod tests {
    use std::fmt;

    use lookalike_testkit::texts::Draw;

    use super::super::packed::{GROUP, Packed, PackedWriter};
    use super::*;
    use crate::blocks::{BlockReader, BlockWriter, FileKind};
    use crate::storage::sim::SimFs;

    /// Packs rows and gives the file.
    fn packed<R: Row>(rows: &[R]) -> BlockReader {
        let disk = SimFs::new();
        let file = BlockWriter::create(&disk, "rows", FileKind::Documents, 7).unwrap();
        let mut writer = PackedWriter::new(file);
        for &row in rows {
            writer.append(row).unwrap();
        }
        BlockReader::open(&disk, &writer.finish().unwrap()).unwrap()
    }

    /// Every row comes back, wherever one begins to read, and nothing else does.
    fn come_back<R: Row + PartialEq + fmt::Debug>(rows: &[R]) -> BlockReader {
        let file = packed(rows);
        let count = rows.len() as u64;
        let back = Packed::<R>::new(file.clone(), count).unwrap();
        for (i, row) in rows.iter().enumerate().rev() {
            assert_eq!(back.row(i as u64).unwrap(), *row, "{i}");
        }
        assert!(back.row(count).is_err());
        let mut all = Vec::new();
        let take = |row| {
            all.push(row);
            true
        };
        back.each_from(|_| false, take).unwrap();
        assert_eq!(all, rows);
        for wrong in [count + 1, count + GROUP, count.wrapping_sub(1)] {
            assert!(Packed::<R>::new(file.clone(), wrong).is_err(), "{wrong}");
        }
        file
    }

    #[test]
    fn places_come_back() {
        let mut draw = Draw::new(8);
        for count in [0, 1, 63, 64, 65, 1000] {
            let mut names = draw.below(1 << 40);
            let rows = (0..count).map(|i| {
                // Of all sizes, so that the largest are there as well as the smallest.
                let mut any = || {
                    let bits = draw.below(64);
                    draw.below(u64::MAX) >> bits
                };
                let (has_id, dated) = (any() % 2 == 0, any() % 2 == 0);
                let short = |number: u64| u32::try_from(number >> 32).unwrap();
                let place = Place {
                    source: if i % 3 == 0 { short(any()) } else { 5 },
                    offset: any(),
                    minutes: dated.then(|| any().cast_signed()),
                    names,
                    id_len: has_id.then(|| short(any())),
                    url_len: short(any()),
                };
                names = place.end().unwrap();
                place
            });
            come_back(&rows.collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_place_is_a_few_bytes() {
        let rows = (0..6400_u64).map(|i| Place {
            source: 0,
            offset: i * 5000,
            minutes: Some(28_000_000 + i.cast_signed() / 9),
            names: i * 60,
            id_len: Some(10),
            url_len: 50,
        });
        let file = come_back(&rows.collect::<Vec<_>>());
        // Two for the URL and what there is, two or three for the offset, one each for the
        // rest; and a quarter of one for the beginnings of groups.
        assert!(file.len() <= 6400 * 13 / 2, "{}", file.len());
    }

    #[test]
    fn clusters_come_back_and_are_found() {
        let mut draw = Draw::new(9);
        for count in [1, 2, 100, 3000] {
            let mut of: Vec<u32> = (0..count).collect();
            for doc in 1..count {
                if draw.below(3) == 0 {
                    let other = u32::try_from(draw.below(doc.into())).unwrap();
                    of[doc as usize] = of[other as usize];
                }
            }
            let members = (0..count).map(|doc| Member {
                doc,
                cluster: of[doc as usize],
            });
            let members: Vec<Member> = members.filter(|one| one.doc % 7 != 6).collect();
            let mut listed: Vec<Listed> = (0..count)
                .map(|doc| Listed {
                    cluster: of[doc as usize],
                    doc,
                })
                .collect();
            listed.sort_unstable_by_key(|one| (one.cluster, one.doc));
            let by_doc = Packed::<Member>::new(come_back(&members), members.len() as u64).unwrap();
            let by_cluster = Packed::<Listed>::new(come_back(&listed), count.into()).unwrap();
            for wanted in 0..=count {
                let mut found = None;
                let first = |one| {
                    found = Some(one);
                    false
                };
                by_doc.each_from(|one| one.doc < wanted, first).unwrap();
                assert_eq!(found, members.iter().copied().find(|one| one.doc >= wanted));
                let mut found = Vec::new();
                let while_of = |one: Listed| {
                    found.extend((one.cluster == wanted).then_some(one));
                    one.cluster == wanted
                };
                by_cluster
                    .each_from(|one| one.cluster < wanted, while_of)
                    .unwrap();
                let expected = listed.iter().filter(|one| one.cluster == wanted);
                assert!(expected.eq(&found), "{wanted}");
            }
        }
    }

    #[test]
    fn bytes_that_are_no_rows_are_refused() {
        // Behind every beginning of a row there is none; and numbers that do not fit are none.
        let place = Place {
            source: 3,
            offset: 1 << 40,
            minutes: Some(-5),
            names: u64::MAX - 20,
            id_len: Some(9),
            url_len: 11,
        };
        let mut bytes = Vec::new();
        place.put(None, &mut bytes);
        for len in 0..bytes.len() {
            assert_eq!(Place::take(None, &mut &bytes[..len]), None);
        }
        assert_eq!(Place::take(None, &mut &bytes[..]), Some(place));
        let mut next = Vec::new();
        place.put(Some(place), &mut next);
        assert_eq!(Place::take(Some(place), &mut &next[..]), None);
        let (doc, cluster) = (u32::MAX, 0);
        let member = Some(Member { doc, cluster });
        assert_eq!(Member::take(member, &mut &[1, 0][..]), None);
        assert_eq!(Member::take(None, &mut &[1, 2][..]), None);
        let listed = Some(Listed { cluster, doc });
        assert_eq!(Listed::take(listed, &mut &[2][..]), None);
    }
}
