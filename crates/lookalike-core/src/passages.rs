//! The passages two documents share: maximal runs of equal tokens.
//!
//! ```text
//! tokens of A ─► for each place: where in B does the same shingle stand? ─► extend as far as it goes
//! ```
//!
//! Greedy in A's reading order: at each place of A the continuation in B that reaches
//! furthest is taken, and the search goes on behind it. Passages do not overlap in A, and
//! every token of a shingle of A that B has lies in one; the rest of a shingle that begins
//! in one passage may be a short passage of its own. (Of B, a part that A repeats is told
//! once for each time; a part that B repeats may be told for one of its places only.) Time O(|A| + |B|) for ordinary text: a shingle
//! that stands at very many places of B is tried at [`TRIES`] of them.

use crate::canonical::Tokens;
use crate::shingle::{Width, windows};
use hashbrown::HashMap;
use std::cmp::Reverse;
use std::ops::Range;

/// How many places of B are tried for one shingle of A. A page of a thousand equal lines
/// would otherwise cost a thousand times a thousand.
pub const TRIES: usize = 32;

/// A run of tokens that stands in both documents.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Passage {
    /// The tokens of A.
    pub a: Range<usize>,
    /// The tokens of B; equally many.
    pub b: Range<usize>,
}

impl Passage {
    /// How many tokens.
    pub fn len(&self) -> usize {
        self.a.len()
    }

    /// Never: a passage has at least one token.
    pub fn is_empty(&self) -> bool {
        self.a.is_empty()
    }
}

/// The shared passages of at least one shingle, in A's reading order.
pub fn passages(a: &Tokens, b: &Tokens, width: Width) -> Vec<Passage> {
    let (xs, ys) = numbered(a, b);
    let mut places: HashMap<&[u32], Vec<usize>> = HashMap::new();
    for window in windows(ys.len(), width) {
        let start = window.start;
        let found = places.entry(&ys[window]).or_default();
        if found.len() < TRIES {
            found.push(start);
        }
    }
    // Where the shingle at a place of A leads: how far it goes on in B, and from where.
    let follow = |window: Range<usize>, after: usize| -> Option<Reach> {
        let found = places.get(&xs[window.clone()])?;
        let run = |start: usize| {
            let pairs = xs[window.start..].iter().zip(&ys[start..]);
            pairs.take_while(|(x, y)| x == y).count()
        };
        // Where the last passage went on in B, this one most likely does too: first
        // among equals.
        let best = found
            .iter()
            .map(|&start| (run(start), start))
            .max_by_key(|&(len, start)| (len, start >= after, Reverse(start.abs_diff(after))))?;
        Some(Reach {
            end: window.start + best.0,
            a: window.start,
            b: best.1,
        })
    };
    let count = windows(xs.len(), width).len();
    let len = xs.len().min(width.get());
    let mut all: Vec<Passage> = Vec::new();
    let mut covered = 0; // tokens before here are told, or in no shared shingle
    let mut looked = 0; // shingles that begin before here are done with
    while looked < count {
        // A shingle may begin inside the last passage and stick out of it: of those that
        // reach on, the one that reaches furthest is taken, and what is new of it told.
        let after = all.last().map_or(0, |last| last.b.end);
        let next = (looked..count.min(covered + 1))
            .map(|start| start..start + len)
            .filter_map(|window| follow(window, after))
            .filter(|reach| reach.end > covered)
            .max_by_key(|reach| (reach.end, reach.a));
        if let Some(Reach { end, a, b }) = next {
            let from = covered.max(a);
            all.push(Passage {
                a: from..end,
                b: b + (from - a)..b + (end - a),
            });
            // Shingles that begin and end inside are covered.
            looked = (end + 1).saturating_sub(width.get()).max(looked + 1);
            covered = end;
        } else {
            looked = covered + 1;
            covered += 1;
        }
    }
    all
}

/// A place of A, the place of B it is like, and where in A the likeness ends.
struct Reach {
    end: usize,
    a: usize,
    b: usize,
}

/// The tokens of both as numbers, equal ones alike.
fn numbered(a: &Tokens, b: &Tokens) -> (Vec<u32>, Vec<u32>) {
    let mut vocabulary: HashMap<&[u8], u32> = HashMap::new();
    let all: Vec<u32> = a
        .iter()
        .chain(b.iter())
        .map(|token| {
            let next = u32::try_from(vocabulary.len()).expect("fewer than 2^32 different tokens");
            *vocabulary.entry(token).or_insert(next)
        })
        .collect();
    let (xs, ys) = all.split_at(a.len());
    (xs.to_vec(), ys.to_vec())
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

    fn found(a: &str, b: &str, w: usize) -> Vec<Passage> {
        passages(&words(a), &words(b), Width::new(w).expect("not zero"))
    }

    #[test]
    fn a_copied_sentence_is_one_passage() {
        let got = found(
            "new head one two three four five new tail",
            "one two three four five",
            3,
        );
        assert_eq!(got, [Passage { a: 2..7, b: 0..5 }]);
    }

    #[test]
    fn moved_passages_are_found_where_they_went() {
        let got = found("a b c d e f", "d e f a b c", 3);
        assert_eq!(
            got,
            [Passage { a: 0..3, b: 3..6 }, Passage { a: 3..6, b: 0..3 }]
        );
    }

    #[test]
    fn two_equal_short_documents_share_one_passage() {
        assert_eq!(
            found("two words", "Two words.", 10),
            [Passage { a: 0..2, b: 0..2 }]
        );
        assert_eq!(found("two words", "two words more", 10), []);
    }

    proptest! {
        #[test]
        fn passages_cover_exactly_the_shared_shingles(a in "[abc ]{0,60}", b in "[abc ]{0,60}", w in 1_usize..5) {
            let (x, y) = (words(&a), words(&b));
            let width = Width::new(w).expect("not zero");
            let got = passages(&x, &y, width);
            let mut covered = BTreeSet::new();
            for passage in &got {
                prop_assert_eq!(passage.a.len(), passage.b.len());
                for (i, j) in passage.a.clone().zip(passage.b.clone()) {
                    prop_assert_eq!(x.canonical(i), y.canonical(j));
                    prop_assert!(covered.insert(i), "token {} in two passages", i);
                }
            }
            let shingles = |t: &Tokens| -> Vec<Vec<Vec<u8>>> {
                windows(t.len(), width).map(|r| r.map(|i| t.canonical(i).to_vec()).collect()).collect()
            };
            let theirs: BTreeSet<_> = shingles(&y).into_iter().collect();
            for (window, shingle) in windows(x.len(), width).zip(shingles(&x)) {
                if theirs.contains(&shingle) {
                    for i in window {
                        prop_assert!(covered.contains(&i), "token {}", i);
                    }
                }
            }
        }
    }
}
