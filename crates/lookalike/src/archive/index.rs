//! The captures of a collection in the order of archives: by key, then by date, then as read.
//!
//! ```text
//! keys      com,example)/a com,example)/b …     one after the other, each once
//! ends      where each ends                     8 bytes a key
//! firsts    its first capture                   4 bytes a key
//! captures  date i64, document u32, which u32   16 bytes each
//! ```
//!
//! Held in memory, built in one pass over the documents: 16 bytes a capture and 12 an
//! address, besides its key; while it is built, 64 bytes and a key for each capture more. A
//! lookup is a binary search.

use std::ops::Range;

use crate::collection::sightings::Sighting;

/// Where a capture is: a document, and which of the document's captures.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Slot {
    /// Seconds since 1970.
    pub date: i64,
    /// Which document.
    pub doc: u32,
    /// Which of its captures.
    pub nth: u32,
}

/// When a capture was read: by sweep, source and place in it.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub struct Order(usize, u32, u64);

impl Order {
    /// Of a capture.
    pub fn of(sighting: &Sighting) -> Order {
        Order(sighting.add, sighting.source, sighting.offset.0)
    }
}

/// Captures by key and date.
#[derive(Debug, Default)]
pub struct Index {
    keys: String,
    ends: Vec<usize>,
    firsts: Vec<u32>,
    captures: Vec<Slot>,
    /// Captures without a date, which nothing can be said of here.
    pub undated: u64,
    /// Captures without an address.
    pub unnamed: u64,
}

/// Keys from one on and below another, in bytes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct KeyRange {
    /// The first that may be.
    pub from: Vec<u8>,
    /// The first that may not.
    pub below: Vec<u8>,
}

impl KeyRange {
    /// One key.
    pub fn exact(key: &str) -> KeyRange {
        KeyRange {
            from: key.as_bytes().to_vec(),
            below: [key.as_bytes(), &[0]].concat(),
        }
    }

    /// Keys that begin so.
    pub fn prefix(key: &str) -> KeyRange {
        let mut below = key.as_bytes().to_vec();
        // No byte of a text is the last there is.
        if let Some(last) = below.last_mut() {
            *last += 1;
        }
        KeyRange {
            from: key.as_bytes().to_vec(),
            below,
        }
    }
}

impl Index {
    /// Puts captures in order. Each comes with its key, and when it was read.
    pub fn new(mut all: Vec<(String, Slot, Order)>) -> Index {
        all.sort_by(|(a, x, one), (b, y, other)| (a, x.date, one).cmp(&(b, y.date, other)));
        let mut index = Index::default();
        for (key, slot, _) in all {
            let last = index.ends.len().checked_sub(1);
            if last.map(|last| index.nth_key(last)) != Some(&*key) {
                index.keys.push_str(&key);
                index.ends.push(index.keys.len());
                index.firsts.push(index.len());
            }
            index.captures.push(slot);
        }
        index.keys.shrink_to_fit();
        index.ends.shrink_to_fit();
        index.firsts.shrink_to_fit();
        index.captures.shrink_to_fit();
        index
    }

    /// How many captures it has.
    pub fn len(&self) -> u32 {
        u32::try_from(self.captures.len()).unwrap_or(u32::MAX)
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.captures.is_empty()
    }

    /// Bytes it holds.
    pub fn bytes(&self) -> usize {
        self.keys.capacity()
            + self.ends.capacity() * size_of::<usize>()
            + self.firsts.capacity() * size_of::<u32>()
            + self.captures.capacity() * size_of::<Slot>()
    }

    fn nth_key(&self, nth: usize) -> &str {
        let from = nth.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.keys[from..self.ends[nth]]
    }

    /// The captures of some keys: O(log keys).
    pub fn range(&self, keys: &KeyRange) -> Range<u32> {
        let from = self.first_of(&keys.from);
        from..self.first_of(&keys.below).max(from)
    }

    /// The first capture whose key is not smaller.
    fn first_of(&self, key: &[u8]) -> u32 {
        let (mut low, mut high) = (0, self.ends.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.nth_key(middle).as_bytes() < key {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        self.firsts.get(low).copied().unwrap_or(self.len())
    }

    /// The key of a capture.
    pub fn key(&self, capture: u32) -> &str {
        let after = self.firsts.partition_point(|first| *first <= capture);
        after.checked_sub(1).map_or("", |nth| self.nth_key(nth))
    }

    /// Which document it is of.
    pub fn slot(&self, capture: u32) -> Slot {
        self.captures[capture as usize]
    }

    /// Which documents some captures are of.
    pub fn slots(&self, captures: Range<u32>) -> &[Slot] {
        &self.captures[captures.start as usize..captures.end as usize]
    }

    /// The capture of the same address before one.
    pub fn before(&self, capture: u32) -> Option<u32> {
        let is_first = self.firsts.binary_search(&capture).is_ok();
        capture.checked_sub(1).filter(|_| !is_first)
    }

    /// When it was, in seconds since 1970.
    pub fn date(&self, capture: u32) -> i64 {
        self.slot(capture).date
    }

    /// The first capture from a key and date on, and some further.
    pub fn find(&self, key: &str, date: i64, skip: usize) -> u32 {
        let Range { start, end } = self.range(&KeyRange::exact(key));
        let of_key = &self.captures[start as usize..end as usize];
        let before = of_key.partition_point(|slot| slot.date < date);
        let same = of_key[before..].partition_point(|slot| slot.date == date);
        let skip = before + skip.min(same);
        start + u32::try_from(skip).unwrap_or(0)
    }

    /// The captures of one address, by date.
    pub fn of_url(&self, url: &str) -> Range<u32> {
        self.range(&KeyRange::exact(&super::row::key_of(url)))
    }

    /// Of some captures by date the one nearest to a moment; of two as near the later, and of
    /// two at one moment the one that was read last.
    pub fn nearest(&self, captures: Range<u32>, moment: i64) -> Option<u32> {
        let of_key = self
            .captures
            .get(captures.start as usize..captures.end as usize)?;
        let at = of_key.partition_point(|slot| slot.date <= moment);
        let later = of_key.get(at).map(|slot| {
            let same = of_key[at..].partition_point(|one| one.date == slot.date);
            at + same - 1
        });
        let earlier = at.checked_sub(1);
        let distance = |at: &usize| of_key[*at].date.abs_diff(moment);
        let nearest = later.into_iter().chain(earlier).min_by_key(distance)?;
        Some(captures.start + u32::try_from(nearest).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn index(all: &[(&str, i64)]) -> Index {
        let slot = |(doc, (key, date)): (u32, &(&str, i64))| {
            let slot = Slot {
                date: *date,
                doc,
                nth: 0,
            };
            ((*key).to_owned(), slot, Order::default())
        };
        Index::new((0..).zip(all).map(slot).collect())
    }

    #[test]
    fn of_two_as_near_the_later_is_taken_and_of_one_second_the_one_read_last() {
        let index = index(&[
            ("a", 10),
            ("b", 10),
            ("b", 20),
            ("b", 20),
            ("b", 30),
            ("c", 0),
        ]);
        let doc = |moment| {
            let captures = index.range(&KeyRange::exact("b"));
            index.nearest(captures, moment).map(|at| index.slot(at).doc)
        };
        assert_eq!(doc(i64::MIN), Some(1));
        assert_eq!(doc(14), Some(1));
        assert_eq!(doc(15), Some(3));
        assert_eq!(doc(20), Some(3));
        assert_eq!(doc(25), Some(4));
        assert_eq!(doc(i64::MAX), Some(4));
        assert_eq!(index.nearest(2..2, 0), None);
        assert_eq!(index.find("b", 20, 1), 3);
        assert_eq!(index.find("b", 20, 9), 4);
        assert_eq!(index.find("bb", 20, 0), 5);
    }

    proptest! {
        #[test]
        fn ranges_are_what_a_scan_finds(
            all in prop::collection::vec(("[ab),]{0,3}", 0_i64..5), 0..30),
            asked in "[ab),]{1,3}",
        ) {
            let all: Vec<(&str, i64)> = all.iter().map(|(key, date)| (&**key, *date)).collect();
            let index = index(&all);
            for keys in [KeyRange::exact(&asked), KeyRange::prefix(&asked)] {
                let is_in = |key: &&(&str, i64)| if keys.below.ends_with(&[0]) {
                    key.0 == asked
                } else {
                    key.0.starts_with(&asked)
                };
                prop_assert_eq!(index.range(&keys).len(), all.iter().filter(is_in).count());
            }
            let mut sorted = all.clone();
            sorted.sort_unstable();
            let got: Vec<(&str, i64)> =
                (0..index.len()).map(|at| (index.key(at), index.date(at))).collect();
            prop_assert_eq!(got, sorted);
        }
    }
}
