//! Tokens → shingles: windows of `w` tokens, as a set or with their occurrence number.
//!
//! A document shorter than `w` tokens is one shingle of all its tokens; one without
//! tokens has none. [`ShingleIds`] numbers shingles *exactly*, by comparing tokens and
//! not fingerprints: the oracle every sketch is judged by, and what `scan` calls exact;
//! [`overlap`] counts the same of two documents for `compare`.

use crate::canonical::Tokens;
use crate::estimate::Overlap;
use hashbrown::{HashMap, HashTable, hash_table};
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::num::NonZeroUsize;
use std::ops::Range;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// How many tokens make a shingle.
pub type Width = NonZeroUsize;

/// The widest shingle that may be asked for. Wider ones would only ever be whole
/// documents, and exact comparison takes time in proportion to the width.
pub const WIDEST: usize = 1 << 20;

/// Paper 002's two options.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum Shingling {
    /// Option B: the set of shingles; a shingle that comes again adds nothing.
    #[default]
    Set,
    /// Option A: the n-th occurrence of a shingle is an element of its own.
    Labelled,
}

impl fmt::Display for Shingling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Shingling::Set => "set",
            Shingling::Labelled => "labelled",
        })
    }
}

/// The token ranges of the shingles of a document of `tokens` tokens.
pub fn windows(tokens: usize, width: Width) -> impl ExactSizeIterator<Item = Range<usize>> {
    let len = tokens.min(width.get());
    let count = if tokens == 0 { 0 } else { tokens - len + 1 };
    (0..count).map(move |i| i..i + len)
}

/// Numbers shingles across documents, equal ones alike: exact, in memory.
///
/// Tokens become numbers, a shingle is a stretch of those in one long list, and a hash
/// table of places in the list finds equal stretches: 4 bytes a token and some 40 a
/// distinct shingle. The hash is keyed at random, so no text can be made to hit one
/// bucket; the numbers do not depend on it.
pub struct ShingleIds {
    width: Width,
    shingling: Shingling,
    hasher: RandomState,
    vocabulary: HashMap<Box<[u8]>, u32, RandomState>,
    /// The token numbers of all documents, one after another.
    text: Vec<u32>,
    table: HashTable<Entry>,
}

struct Entry {
    start: usize,
    len: u32,
    /// Which occurrence in its document; 0 for sets.
    label: u32,
    id: u32,
    /// The last document it was seen in, and how often there: for labels.
    document: u32,
    seen: u32,
}

impl ShingleIds {
    /// An empty numbering.
    pub fn new(width: Width, shingling: Shingling) -> ShingleIds {
        let hasher = RandomState::new();
        ShingleIds {
            width,
            shingling,
            vocabulary: HashMap::with_hasher(hasher.clone()),
            hasher,
            text: Vec::new(),
            table: HashTable::new(),
        }
    }

    /// How many distinct shingles there are so far.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    /// The set of a document's shingle numbers, strictly increasing.
    ///
    /// # Panics
    ///
    /// Past 2^32 distinct shingles, which do not fit in memory here.
    pub fn set(&mut self, tokens: &Tokens) -> Vec<u32> {
        let document = self.text.len();
        for token in tokens.iter() {
            let next =
                u32::try_from(self.vocabulary.len()).expect("fewer than 2^32 different tokens");
            let number = *self.vocabulary.entry_ref(token).or_insert(next);
            self.text.push(number);
        }
        let number = u32::try_from(document).unwrap_or(u32::MAX);
        let mut ids: Vec<u32> = windows(tokens.len(), self.width)
            .map(|window| self.id(document + window.start, window.len(), number))
            .collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    fn id(&mut self, start: usize, len: usize, document: u32) -> u32 {
        if self.shingling == Shingling::Set {
            return self.find(start, len, 0).id;
        }
        // The unlabelled entry counts occurrences; the labelled one has the number.
        let unlabelled = self.find(start, len, 0);
        if unlabelled.document != document {
            (unlabelled.document, unlabelled.seen) = (document, 0);
        }
        unlabelled.seen += 1;
        let label = unlabelled.seen;
        self.find(start, len, label).id
    }

    fn find(&mut self, start: usize, len: usize, label: u32) -> &mut Entry {
        let ShingleIds {
            hasher,
            text,
            table,
            ..
        } = self;
        let hash = |start: usize, len: usize, label: u32| {
            hasher.hash_one((&text[start..start + len], label))
        };
        let next = u32::try_from(table.len()).expect("fewer than 2^32 different shingles");
        let len32 = u32::try_from(len).expect("a shingle is shorter than 2^32 tokens");
        let entry = table.entry(
            hash(start, len, label),
            |e| {
                e.label == label
                    && e.len == len32
                    && text[e.start..e.start + len] == text[start..start + len]
            },
            |e| hash(e.start, e.len as usize, e.label),
        );
        match entry {
            hash_table::Entry::Occupied(found) => found.into_mut(),
            hash_table::Entry::Vacant(free) => {
                let new = Entry {
                    start,
                    len: len32,
                    label,
                    id: next,
                    document: u32::MAX,
                    seen: 0,
                };
                free.insert(new).into_mut()
            }
        }
    }
}

/// The exact overlap of two documents' shingles: what [`ShingleIds`] would say, which is
/// its oracle.
///
/// Hashes of all shingles are sorted, each with the shingle's place in its last bits. Only
/// those that meet are compared by their tokens, so that no table of tokens and none of
/// shingles is needed, and memory is read in order. The hash is keyed at random.
pub fn overlap(a: &Tokens, b: &Tokens, width: Width, shingling: Shingling) -> Overlap {
    let secret = RandomState::new().hash_one(0_u8);
    let hashes = |tokens: &Tokens| {
        let len = width.get().min(tokens.len());
        window_hashes(&token_hashes(tokens, secret), len)
    };
    let mut keys = hashes(a);
    let of_a = keys.len();
    keys.append(&mut hashes(b));
    let places = keys.len().next_power_of_two() as u64 - 1;
    for (key, place) in keys.iter_mut().zip(0..) {
        *key = (*key & !places) | place;
    }
    keys.sort_unstable();
    // Which document a place is of, and which tokens.
    let window = |key: u64| {
        #[expect(clippy::cast_possible_truncation, reason = "places are in memory")]
        let place = (key & places) as usize;
        let (tokens, start) = match place.checked_sub(of_a) {
            None => (a, place),
            Some(place) => (b, place),
        };
        let len = width.get().min(tokens.len());
        (place < of_a, tokens, start..start + len)
    };
    let mut all = Overlap::default();
    // The different shingles of one hash, nearly always one: where, and how often in both.
    let mut different: Vec<(u64, [usize; 2])> = Vec::new();
    for group in keys.chunk_by(|x, y| x & !places == y & !places) {
        different.clear();
        for &key in group {
            let (is_a, tokens, range) = window(key);
            let is_same = |other: u64| {
                let (_, other, there) = window(other);
                tokens.is_same(range.clone(), other, there)
            };
            let known = different.iter_mut().find(|(first, _)| is_same(*first));
            match known {
                Some((_, counts)) => counts[usize::from(!is_a)] += 1,
                None => different.push((key, [usize::from(is_a), usize::from(!is_a)])),
            }
        }
        for (_, counts) in &different {
            let [x, y] = match shingling {
                Shingling::Set => counts.map(|count| count.min(1)),
                Shingling::Labelled => *counts,
            };
            all.a += x;
            all.b += y;
            all.common += x.min(y);
        }
    }
    all
}

/// A keyed hash of every token.
pub(crate) fn token_hashes(tokens: &Tokens, secret: u64) -> Vec<u64> {
    let hash = |token| xxh3_64_with_seed(token, secret);
    tokens.iter().map(hash).collect()
}

/// A hash of every stretch of `len` tokens, each from the one before.
pub(crate) fn window_hashes<T: Copy + Into<u64>>(tokens: &[T], len: usize) -> Vec<u64> {
    // Odd, and without a pattern: 2^64 divided by the golden ratio.
    const BASE: u64 = 0x9E37_79B9_7F4A_7C15;
    let value = |token: T| crate::draw::mix(token.into().wrapping_add(1));
    let leaving = (1..len).fold(1_u64, |power, _| power.wrapping_mul(BASE));
    let mut hash = 0_u64;
    let mut all = Vec::with_capacity((tokens.len() + 1).saturating_sub(len));
    for (i, &token) in tokens.iter().enumerate() {
        if i >= len {
            hash = hash.wrapping_sub(value(tokens[i - len]).wrapping_mul(leaving));
        }
        hash = hash.wrapping_mul(BASE).wrapping_add(value(token));
        if i + 1 >= len {
            // The last bits of a sum of products are bad; tables look at those too.
            all.push(crate::draw::mix(hash));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canonical::{Case, TokenKind};
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn words(text: &str) -> Tokens {
        Tokens::of_text(text, TokenKind::Word, Case::Fold)
    }

    fn width(w: usize) -> Width {
        Width::new(w).expect("not zero")
    }

    #[test]
    fn the_rose_has_three_shingles_of_four_words() {
        // Paper 001's example.
        let mut ids = ShingleIds::new(width(4), Shingling::Set);
        assert_eq!(ids.set(&words("a rose is a rose is a rose")), [0, 1, 2]);
    }

    #[test]
    fn the_rose_and_the_flower_resemble_as_paper_002_says() {
        let (a, b) = (
            words("a rose is a rose is a rose"),
            words("a rose is a flower which is a rose"),
        );
        let resemblance = |w, option| {
            overlap(&a, &b, width(w), option)
                .resemblance()
                .expect("not empty")
        };
        for (w, labelled, set) in [(1, 0.7, 0.6), (2, 0.5, 0.5), (3, 0.3, 3.0 / 7.0)] {
            assert!(
                (resemblance(w, Shingling::Labelled) - labelled).abs() < 1e-12,
                "w = {w}"
            );
            assert!(
                (resemblance(w, Shingling::Set) - set).abs() < 1e-12,
                "w = {w}"
            );
        }
    }

    #[test]
    fn a_permutation_can_resemble_fully() {
        // Paper 002: (a, c, a, b, a) resembles (a, b, a, c, a) 100 % for size 2.
        let (a, b) = (words("a c a b a"), words("a b a c a"));
        assert_eq!(
            overlap(&a, &b, width(2), Shingling::Labelled).resemblance(),
            Some(1.0)
        );
    }

    #[test]
    fn a_short_document_is_one_shingle_and_an_empty_one_none() {
        let (short, same, empty) = (words("two words"), words("Two, words!"), words("…"));
        assert_eq!(
            overlap(&short, &same, width(10), Shingling::Set),
            Overlap {
                a: 1,
                b: 1,
                common: 1
            }
        );
        assert_eq!(
            overlap(&short, &empty, width(10), Shingling::Set),
            Overlap {
                a: 1,
                b: 0,
                common: 0
            }
        );
        // Shorter documents are no part of longer ones: their one shingle has another length.
        assert_eq!(
            overlap(&short, &words("two words more"), width(3), Shingling::Set).common,
            0
        );
    }

    #[test]
    fn shingles_of_one_text_and_other_words_are_told_apart() {
        let all = |words: &[&str]| Tokens::of_features(words);
        let (a, b) = (all(&["ab", "c", "d"]), all(&["a", "bc", "d"]));
        assert!(!a.is_same(0..2, &b, 0..2));
        assert!(a.is_same(2..3, &b, 2..3));
        assert!(!a.is_same(1..3, &b, 2..3));
    }

    proptest! {
        #[test]
        fn overlap_agrees_with_the_numbering(a in "[ab ]{0,300}", b in "[abc ]{0,300}", w in 1_usize..12) {
            let (x, y) = (words(&a), words(&b));
            for option in [Shingling::Set, Shingling::Labelled] {
                let mut ids = ShingleIds::new(width(w), option);
                let expected = Overlap::of_sorted(&ids.set(&x), &ids.set(&y));
                prop_assert_eq!(overlap(&x, &y, width(w), option), expected);
            }
        }

        #[test]
        fn numbering_agrees_with_sets_of_strings(a in "[abc ]{0,40}", b in "[abc ]{0,40}", w in 1_usize..5) {
            for option in [Shingling::Set, Shingling::Labelled] {
                let slow = |text: &str| -> BTreeSet<(Vec<String>, u32)> {
                    let tokens: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
                    let mut set = BTreeSet::new();
                    for window in windows(tokens.len(), width(w)) {
                        let mut element = (tokens[window].to_vec(), 1);
                        while option == Shingling::Labelled && set.contains(&element) {
                            element.1 += 1;
                        }
                        set.insert(element);
                    }
                    set
                };
                let (x, y) = (slow(&a), slow(&b));
                let expected = Overlap { a: x.len(), b: y.len(), common: x.intersection(&y).count() };
                prop_assert_eq!(overlap(&words(&a), &words(&b), width(w), option), expected);
            }
        }
    }
}
