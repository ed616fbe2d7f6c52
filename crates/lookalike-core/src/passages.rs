//! The passages two documents share, with the words that were changed inside them.
//!
//! ```text
//! tokens ─► hashes ─► exact runs: every shingle that both have, as far as it goes
//!                      └─► runs with little between them are one passage
//!                          └─► its ends go on over small changes ─► what differs inside
//!                              └─► what is left of B and stands in A: B repeats it
//! ```
//!
//! A passage is anchored: it has a shingle in a row that both documents have. (Of a
//! document shorter than a shingle, all of it.) Around that it may differ: between two
//! runs that stand up to a shingle apart in both documents, and at its ends, where a
//! changed word or a few are stepped over if more words than that agree behind them, or
//! fewer that are so rare that chance hardly put them there.
//!
//! Passages are in A's reading order, and every token of a shingle of A that B has lies in
//! one. A part that either repeats is told for each of its places: no shingle of B that A
//! has is without a token in a passage. [`of_numbers`] leaves the repeats of B out: its
//! passages do not overlap in A.
//!
//! Time O(|A| + |B|) for a given shingle, whatever the text: a shingle that stands at very
//! many places of B is tried at [`TRIES`] of them, and where the last passage would go on.

use crate::canonical::Tokens;
use crate::diff::{Change, changes, numbered};
use crate::shingle::{Width, token_hashes, window_hashes};
use hashbrown::{HashTable, hash_table};
use std::cell::OnceCell;
use std::cmp::Reverse;
use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};
use std::ops::Range;

/// How many places of B are tried for one shingle of A. A page of a thousand equal lines
/// would otherwise cost a thousand times a thousand.
pub const TRIES: usize = 16;

/// The longest change that the end of a passage steps over, in tokens; no more than half a
/// shingle either. Of longer ones chance finds too many.
const STEP: usize = 6;

/// How often chance may put words behind a change that would be taken for a passage going
/// on: once in so many ends. At one in 256, and some five words each time, it is a word in
/// fifty ends.
const CHANCE: f64 = 1.0 / 256.0;

/// A stretch of text that stands in both documents, but for some words.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Passage {
    /// The tokens of A, from the first to the last that B has.
    pub a: Range<usize>,
    /// The tokens of B.
    pub b: Range<usize>,
    /// What differs inside, in order. Between changes all tokens are the same.
    pub changes: Vec<Change>,
}

impl Passage {
    /// How many tokens both have in it.
    pub fn len(&self) -> usize {
        let changed: usize = self.changes.iter().map(|change| change.a.len()).sum();
        self.a.len() - changed
    }

    /// Never: a passage has at least one token.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The stretches that are the same, in order: of A, and of B.
    pub fn same(&self) -> impl Iterator<Item = (Range<usize>, Range<usize>)> {
        let ends = self.changes.iter().map(|change| (&change.a, &change.b));
        let starts = std::iter::once((self.a.start, self.b.start));
        let starts = starts.chain(ends.clone().map(|(a, b)| (a.end, b.end)));
        let ends = ends.map(|(a, b)| (a.start, b.start));
        let ends = ends.chain(std::iter::once((self.a.end, self.b.end)));
        let both = starts
            .zip(ends)
            .map(|(from, to)| (from.0..to.0, from.1..to.1));
        both.filter(|(a, _)| !a.is_empty())
    }
}

/// The shared passages of at least one shingle, in A's reading order.
pub fn passages(a: &Tokens, b: &Tokens, width: Width) -> Vec<Passage> {
    // Hashes in place of numbers: a table of all words costs more than all the rest.
    let secret = RandomState::new().hash_one(0_u8);
    let found = with_repeats(&token_hashes(a, secret), &token_hashes(b, secret), width);
    // Two words may have one hash. Nobody has seen it; who has gets the right answer.
    let is_same = |(x, y): (Range<usize>, Range<usize>)| a.is_same(x, b, y);
    if found.iter().all(|passage| passage.same().all(is_same)) {
        return found;
    }
    let (xs, ys) = numbered(a, b);
    with_repeats(&xs, &ys, width)
}

fn with_repeats<T: Token>(xs: &[T], ys: &[T], width: Width) -> Vec<Passage> {
    let mut all = of_numbers(xs, ys, width);
    all.extend(repeats(xs, ys, &all, width));
    all.sort_by_key(|passage| (passage.a.start, passage.b.start));
    all
}

/// What B has in none of some passages and A has: B repeats it. The first place of A that
/// has a shingle will do.
fn repeats<T: Token>(xs: &[T], ys: &[T], told: &[Passage], width: Width) -> Vec<Passage> {
    if told.is_empty() {
        return Vec::new(); // a shingle that both have would have been told of A
    }
    let len = width.get().min(xs.len()).min(ys.len());
    let mut told: Vec<&Range<usize>> = told.iter().map(|passage| &passage.b).collect();
    told.sort_unstable_by_key(|b| (b.start, b.end));
    let mut left: Vec<Range<usize>> = Vec::new();
    let mut at = 0;
    for b in told.into_iter().chain([&(ys.len()..ys.len())]) {
        if b.start >= at + len {
            left.push(at..b.start);
        }
        at = at.max(b.end);
    }
    if left.is_empty() {
        return Vec::new();
    }
    let places = Places::of(xs, len);
    let mut found = Vec::new();
    for part in left {
        let windows = window_hashes(&ys[part.clone()], len);
        let mut start = part.start;
        while start + len <= part.end {
            let window = &ys[start..start + len];
            let Some(a) = places.find(xs, windows[start - part.start], window).next() else {
                start += 1;
                continue;
            };
            let run = xs[a + len..].iter().zip(&ys[start + len..part.end]);
            let run = len + run.take_while(|(x, y)| x == y).count();
            // In B's reading order, as if B were the first.
            found.push(Passage {
                a: start..start + run,
                b: a..a + run,
                changes: Vec::new(),
            });
            start += run;
        }
    }
    let mut found = joined(ys, xs, found, width);
    if width.get() > 1 {
        extend(ys, xs, &mut found, width);
        found = joined(ys, xs, found, width);
    }
    let swap = |Change { a, b }| Change { a: b, b: a };
    let swapped = found.into_iter().map(|Passage { a, b, changes }| Passage {
        a: b,
        b: a,
        changes: changes.into_iter().map(swap).collect(),
    });
    swapped.collect()
}

/// The same for tokens that are numbers already, equal ones alike, and without what B
/// repeats.
pub fn of_numbers<T: Token>(xs: &[T], ys: &[T], width: Width) -> Vec<Passage> {
    let runs = runs(xs, ys, width);
    let all = runs.into_iter().map(|run| Passage {
        a: run.a,
        b: run.b,
        changes: Vec::new(),
    });
    let mut all = joined(xs, ys, all, width);
    if width.get() > 1 {
        extend(xs, ys, &mut all, width);
        all = joined(xs, ys, all, width);
    }
    all
}

/// What stands for a token: equal ones are alike.
pub trait Token: Copy + Eq + Into<u64> {}

impl<T: Copy + Eq + Into<u64>> Token for T {}

/// A run of tokens that stands in both documents.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Run {
    a: Range<usize>,
    /// Equally many.
    b: Range<usize>,
}

/// Exact runs: every shingle of A that B has lies in them, each token of A in one at most.
///
/// Greedy in A's reading order: at each place of A the continuation in B that reaches
/// furthest is taken, unless one that goes on with the last run reaches half as far.
fn runs<T: Token>(xs: &[T], ys: &[T], width: Width) -> Vec<Run> {
    let len = width.get().min(xs.len()).min(ys.len());
    let mut all: Vec<Run> = Vec::new();
    if len == 0 {
        return all;
    }
    let places = Places::of(ys, len);
    let of_a = window_hashes(xs, len);
    let count = of_a.len();
    // Places of B that are tried have the shingle: only what follows is compared.
    let run = |a: usize, b: usize| {
        let pairs = xs[a + len..].iter().zip(&ys[b + len..]);
        len + pairs.take_while(|(x, y)| x == y).count()
    };
    // Where the shingle at a place of A leads: how far it goes on in B, and from where.
    let follow = |start: usize, last: Option<&Run>| -> Option<Reach> {
        let window = &xs[start..start + len];
        let after = last.map_or(0, |last| last.b.end);
        let is_near = |b: usize| {
            last.is_some_and(|last| {
                start.saturating_sub(last.a.end) <= len && (after..=after + len).contains(&b)
            })
        };
        // The same distance behind the last run as in A.
        let ahead = last.and_then(|last| (after + start).checked_sub(last.a.end));
        let ahead = ahead.filter(|&b| ys.get(b..b + len) == Some(window));
        let found = places.find(ys, of_a[start], window).chain(ahead);
        let reach = |b: usize| (run(start, b), b);
        let mut best: Option<(usize, usize)> = None;
        let mut near = best;
        let order = |&(len, b): &(usize, usize)| (len, b >= after, Reverse(b.abs_diff(after)));
        for one in found.map(reach) {
            if best.is_none_or(|best| order(&one) > order(&best)) {
                best = Some(one);
            }
            if is_near(one.1) && near.is_none_or(|near| order(&one) > order(&near)) {
                near = Some(one);
            }
        }
        let (far, b) = match (best?, near) {
            (best, Some(near)) if 2 * near.0 >= best.0 => near,
            (best, _) => best,
        };
        Some(Reach {
            end: start + far,
            a: start,
            b,
        })
    };
    let mut covered = 0; // tokens before here are told, or in no shared shingle
    let mut looked = 0; // shingles that begin before here are done with
    // Where those from there on lead, as far as they were looked at.
    let mut known: VecDeque<Option<Reach>> = VecDeque::new();
    while looked < count {
        while looked + known.len() < count.min(covered + 1) {
            known.push_back(follow(looked + known.len(), all.last()));
        }
        // A shingle may begin inside the last run and stick out of it: of those that
        // reach on, the one that reaches furthest is taken, and what is new of it told.
        let reaches = known.iter().flatten().copied();
        let next = reaches
            .filter(|reach| reach.end > covered)
            .max_by_key(|reach| (reach.end, reach.a));
        let before = looked;
        if let Some(Reach { end, a, b }) = next {
            let from = covered.max(a);
            all.push(Run {
                a: from..end,
                b: b + (from - a)..b + (end - a),
            });
            // Shingles that begin and end inside are covered.
            looked = (end + 1).saturating_sub(len).max(looked + 1);
            covered = end;
        } else {
            looked = covered + 1;
            covered += 1;
        }
        known.drain(..known.len().min(looked - before));
    }
    all
}

/// A place of A, the place of B it is like, and where in A the likeness ends.
#[derive(Clone, Copy)]
struct Reach {
    end: usize,
    a: usize,
    b: usize,
}

/// Where each shingle of a document stands, up to [`TRIES`] times.
struct Places {
    /// The first place, the last, and how many.
    table: HashTable<(u32, u32, u32)>,
    /// The next place of the same shingle; its own for the last.
    next: Vec<u32>,
}

impl Places {
    fn of<T: Token>(ys: &[T], len: usize) -> Places {
        let hashes = window_hashes(ys, len);
        let mut table: HashTable<(u32, u32, u32)> = HashTable::with_capacity(hashes.len());
        let mut next: Vec<u32> = Vec::with_capacity(hashes.len());
        for (start, &hash) in hashes.iter().enumerate() {
            // A text of 2^32 tokens does not fit in memory beside all this.
            let Ok(place) = u32::try_from(start) else {
                break;
            };
            next.push(place);
            let window = &ys[start..start + len];
            let same = |entry: &(u32, u32, u32)| ys[entry.0 as usize..].starts_with(window);
            match table.entry(hash, same, |entry| hashes[entry.0 as usize]) {
                hash_table::Entry::Vacant(free) => {
                    free.insert((place, place, 1));
                }
                hash_table::Entry::Occupied(mut found) => {
                    let (_, last, count) = found.get_mut();
                    if (*count as usize) < TRIES {
                        next[*last as usize] = place;
                        (*last, *count) = (place, *count + 1);
                    }
                }
            }
        }
        Places { table, next }
    }

    /// The places of a shingle, in order.
    fn find<T: Token>(&self, ys: &[T], hash: u64, window: &[T]) -> impl Iterator<Item = usize> {
        let same = |entry: &(u32, u32, u32)| ys[entry.0 as usize..].starts_with(window);
        let first = self.table.find(hash, same).map(|entry| entry.0);
        let after = |&place: &u32| Some(self.next[place as usize]).filter(|next| *next != place);
        std::iter::successors(first, after).map(|place| place as usize)
    }
}

/// Neighbours with no more than a shingle between them, in both documents, made one.
fn joined<T: Token>(
    xs: &[T],
    ys: &[T],
    all: impl IntoIterator<Item = Passage>,
    width: Width,
) -> Vec<Passage> {
    // Single tokens in a row say nothing of what is between them.
    let most = if width.get() == 1 { 0 } else { width.get() };
    let mut out: Vec<Passage> = Vec::new();
    for next in all {
        let Some(last) = out.last_mut() else {
            out.push(next);
            continue;
        };
        // What B has once and A twice, or the other way round, may belong to both runs.
        let back = last.b.end.saturating_sub(next.b.start);
        let first_run = next.changes.first().map_or(next.a.end, |one| one.a.start) - next.a.start;
        let (a, b) = (next.a.start + back, next.b.start + back);
        let gap = (last.a.end..a, last.b.end..b);
        let is_near = back < first_run && gap.0.len() <= most && gap.1.len() <= most;
        if !is_near {
            out.push(next);
            continue;
        }
        let inside = changes(&xs[gap.0.clone()], &ys[gap.1.clone()]);
        let moved = inside.into_iter().map(|change| Change {
            a: change.a.start + gap.0.start..change.a.end + gap.0.start,
            b: change.b.start + gap.1.start..change.b.end + gap.1.start,
        });
        last.changes.extend(moved);
        last.changes.extend(next.changes);
        (last.a.end, last.b.end) = (next.a.end, next.b.end);
    }
    out
}

/// Lets the ends of passages go on over small changes, as far as the next passage.
fn extend<T: Token>(xs: &[T], ys: &[T], all: &mut [Passage], width: Width) {
    let step = STEP.min(width.get() / 2);
    let common = Commonness::of(xs, ys);
    let mut before = 0;
    for i in 0..all.len() {
        let after = all.get(i + 1).map_or(xs.len(), |next| next.a.start);
        // Where the next passage goes on in B, this one ends.
        let until = all.get(i + 1).map(|next| next.b.start);
        let passage = &mut all[i];
        let until = until.filter(|&b| b >= passage.b.end).unwrap_or(ys.len());
        let (mut a, mut b) = (passage.a.end, passage.b.end);
        let room = (&xs[a..after], &ys[b..until]);
        steps(
            &room.0.iter(),
            &room.1.iter(),
            step,
            &common,
            |skip, run| {
                if skip != (0, 0) {
                    passage.changes.push(Change {
                        a: a..a + skip.0,
                        b: b..b + skip.1,
                    });
                }
                (a, b) = (a + skip.0 + run, b + skip.1 + run);
            },
        );
        (passage.a.end, passage.b.end) = (a, b);
        let (mut a, mut b) = (passage.a.start, passage.b.start);
        let room = (&xs[before..a], &ys[..b]);
        let mut found = Vec::new();
        steps(
            &room.0.iter().rev(),
            &room.1.iter().rev(),
            step,
            &common,
            |skip, run| {
                if skip != (0, 0) {
                    found.push(Change {
                        a: a - skip.0..a,
                        b: b - skip.1..b,
                    });
                }
                (a, b) = (a - skip.0 - run, b - skip.1 - run);
            },
        );
        (passage.a.start, passage.b.start) = (a, b);
        found.reverse();
        passage.changes.splice(..0, found);
        before = passage.a.end;
    }
}

/// Goes on from where two rows begin: over a change, the smallest that will do, and over
/// the run of equal tokens behind it, which must be longer than the change or of tokens
/// so rare that it is none of chance. Tells each.
fn steps<'a, I, T>(
    xs: &I,
    ys: &I,
    most: usize,
    common: &Commonness<'_, T>,
    mut each: impl FnMut((usize, usize), usize),
) where
    I: ExactSizeIterator<Item = &'a T> + Clone,
    T: Token + 'a,
{
    let run = |i: usize, j: usize| {
        let both = xs.clone().skip(i).zip(ys.clone().skip(j));
        both.take_while(|(x, y)| x == y).count()
    };
    let (mut i, mut j) = (0, 0);
    loop {
        let here = run(i, j);
        if here > 0 {
            each((0, 0), here);
            (i, j) = (i + here, j + here);
        }
        // By the longer side, and then by how much is changed at all.
        let skips = (1..=most).flat_map(|long| {
            let uneven = (0..long).flat_map(move |short| [(short, long), (long, short)]);
            uneven.chain([(long, long)])
        });
        let mut found = skips.map(|skip| (skip, run(i + skip.0, j + skip.1)));
        let goes_on = |&(skip, run): &((usize, usize), usize)| {
            let long = skip.0.max(skip.1);
            // All changes up to this long were tried, each as good an occasion for chance.
            let tried = (long + 1) * (long + 1) - 1;
            run > long || common.is_no_chance(tried, xs.clone().skip(i + skip.0).take(run))
        };
        let Some((skip, run)) = found.find(goes_on) else {
            return;
        };
        each(skip, run);
        (i, j) = (i + skip.0 + run, j + skip.1 + run);
    }
}

/// How common each token is in two documents, counted when it is first asked: between
/// texts that differ in whole sentences or not at all nobody asks.
struct Commonness<'a, T> {
    both: [&'a [T]; 2],
    counts: OnceCell<HashTable<(T, u32)>>,
}

impl<'a, T: Token> Commonness<'a, T> {
    fn of(xs: &'a [T], ys: &'a [T]) -> Commonness<'a, T> {
        Commonness {
            both: [xs, ys],
            counts: OnceCell::new(),
        }
    }

    /// Of all tokens of both, the share that are like this one.
    fn share(&self, token: T) -> f64 {
        let hash = |token: T| crate::draw::mix(token.into());
        let counts = self.counts.get_or_init(|| {
            let mut counts: HashTable<(T, u32)> = HashTable::new();
            for &token in self.both.into_iter().flatten() {
                let same = |known: &(T, u32)| known.0 == token;
                let known = counts.entry(hash(token), same, |known| hash(known.0));
                known.or_insert((token, 0)).get_mut().1 += 1;
            }
            counts
        });
        let found = counts.find(hash(token), |known| known.0 == token);
        let all: usize = self.both.iter().map(|tokens| tokens.len()).sum();
        found.map_or(0.0, |known| f64::from(known.1)) / all as f64
    }

    /// Whether so many attempts would hardly find these tokens in a row where all are drawn
    /// as often as the documents have them.
    fn is_no_chance<'t>(&self, attempts: usize, run: impl IntoIterator<Item = &'t T>) -> bool
    where
        T: 't,
    {
        let mut expected = attempts as f64;
        run.into_iter().any(|&token| {
            expected *= self.share(token);
            expected <= CHANCE
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canonical::{Case, TokenKind};
    use crate::shingle::windows;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn words(text: &str) -> Tokens {
        Tokens::of_text(text, TokenKind::Word, Case::Fold)
    }

    fn width(w: usize) -> Width {
        Width::new(w).expect("not zero")
    }

    fn found(a: &str, b: &str, w: usize) -> Vec<Passage> {
        passages(&words(a), &words(b), width(w))
    }

    fn plain(a: Range<usize>, b: Range<usize>) -> Passage {
        Passage {
            a,
            b,
            changes: Vec::new(),
        }
    }

    #[test]
    fn a_copied_sentence_is_one_passage() {
        let got = found(
            "new head one two three four five new tail",
            "one two three four five",
            3,
        );
        assert_eq!(got, [plain(2..7, 0..5)]);
    }

    #[test]
    fn moved_passages_are_found_where_they_went() {
        let got = found("a b c d e f", "d e f a b c", 3);
        assert_eq!(got, [plain(0..3, 3..6), plain(3..6, 0..3)]);
    }

    #[test]
    fn a_short_document_that_the_other_holds_is_a_passage() {
        assert_eq!(found("two words", "Two words.", 10), [plain(0..2, 0..2)]);
        assert_eq!(
            found("two words", "these are two words more", 10),
            [plain(0..2, 2..4)]
        );
        assert_eq!(found("two words", "two more words", 10), []);
        assert_eq!(found("", "two words", 10), []);
    }

    #[test]
    fn changed_words_are_inside_a_passage() {
        let got = found(
            "head one two three four X five six seven eight tail",
            "other one two three four Y Z five six seven eight end",
            4,
        );
        let change = Change { a: 5..6, b: 5..7 };
        let passage = Passage {
            a: 1..10,
            b: 1..11,
            changes: vec![change],
        };
        assert_eq!(got, [passage]);
        assert_eq!(got[0].len(), 8);
        let same: Vec<_> = got[0].same().collect();
        assert_eq!(same, [(1..5, 1..5), (6..10, 7..11)]);
    }

    #[test]
    fn an_end_goes_on_over_a_changed_word() {
        // Two words behind the change are fewer than a shingle, and more than the change.
        let got = found("1 2 3 4 5 6 X 7 8 p", "1 2 3 4 5 6 Y 7 8 q", 6);
        assert_eq!((&got[0].a, got[0].len()), (&(0..9), 8));
        let got = found("p 1 2 X 3 4 5 6 7 8", "q 1 2 3 4 5 6 7 8", 6);
        assert_eq!((&got[0].a, got[0].len()), (&(1..10), 8));
        // One is as likely chance.
        let got = found("1 2 3 4 5 6 X 7 p", "1 2 3 4 5 6 Y 7 q", 6);
        assert_eq!(got, [plain(0..6, 0..6)]);
    }

    #[test]
    fn an_end_goes_on_to_few_words_if_they_are_rare() {
        let numbers = |from: usize, to: usize| (from..to).map(|n| format!("{n} "));
        let text = |words: [&str; 3]| -> String {
            let [head, inside, tail] = words;
            let around = [head, "a b ", inside];
            let passage = numbers(0, 400).chain([tail.to_owned()]);
            around
                .map(str::to_owned)
                .into_iter()
                .chain(passage)
                .collect()
        };
        // Two words are fewer than the three before them, and none has them elsewhere.
        let a = text(["p ", "X X X ", "Y Y Y c d q"]);
        let b = text(["r ", "Z ", "c d s"]);
        let got = found(&a, &b, 10);
        assert_eq!(got.len(), 1, "{got:?}");
        assert_eq!((&got[0].a, &got[0].b), (&(1..411), &(1..406)));
        assert_eq!(got[0].len(), 404);
        // The same words where every fourth word is one of them.
        let common: String = numbers(1000, 1040)
            .map(|n| "a b c d ".to_owned() + &n)
            .collect();
        let (a, b) = (format!("{common}{a}"), format!("{b} {common}"));
        let got = found(&a, &b, 10);
        assert!(got.iter().any(|passage| passage.a.len() == 400), "{got:?}");
    }

    #[test]
    fn a_word_that_was_doubled_does_not_part_a_passage() {
        let got = found("1 2 3 4 4 5 6 7", "1 2 3 4 5 6 7", 4);
        assert_eq!(got.len(), 1, "{got:?}");
        assert_eq!((got[0].a.clone(), got[0].len()), (0..8, 7));
    }

    #[test]
    fn equal_lines_without_end_are_told_in_order() {
        let line = "the same line again ";
        let (a, b) = (line.repeat(5000), line.repeat(4000) + "end");
        let got = found(&a, &b, 10);
        assert_eq!(got[0], plain(0..16_000, 0..16_000));
        assert_eq!(got.iter().map(Passage::len).sum::<usize>(), 20_000);
        let got = found(&"a ".repeat(30_000), &"a ".repeat(30_000), 10);
        assert_eq!(got, [plain(0..30_000, 0..30_000)]);
    }

    #[test]
    fn what_either_repeats_is_told_at_each_place() {
        let (once, twice) = ("x 1 2 3 4 5 y", "1 2 3 4 5 p q 1 2 3 4 5 r s 1 2 3 4 5");
        let places = [0..5, 7..12, 14..19];
        let got = found(once, twice, 3);
        assert_eq!(got, places.clone().map(|b| plain(1..6, b)));
        assert_eq!(found(twice, once, 3), places.map(|a| plain(a, 1..6)));
        // With a word changed in the second.
        let got = found("x 1 2 3 4 5 6 7 y", "1 2 3 4 5 6 7 p q 1 2 3 X 5 6 7", 3);
        assert_eq!(got.len(), 2, "{got:?}");
        assert_eq!((&got[1].a, &got[1].b, got[1].len()), (&(1..8), &(9..16), 6));
    }

    fn shingles(t: &Tokens, width: Width) -> Vec<Vec<Vec<u8>>> {
        let all = windows(t.len(), width);
        all.map(|r| r.map(|i| t.canonical(i).to_vec()).collect())
            .collect()
    }

    proptest! {
        #[test]
        fn runs_cover_exactly_the_shared_shingles(a in "[abc ]{0,60}", b in "[abc ]{0,60}", w in 1_usize..5) {
            let (x, y) = (words(&a), words(&b));
            let (xs, ys) = numbered(&x, &y);
            let width = width(w);
            let got = runs(&xs, &ys, width);
            let mut covered = BTreeSet::new();
            for run in &got {
                prop_assert_eq!(run.a.len(), run.b.len());
                for (i, j) in run.a.clone().zip(run.b.clone()) {
                    prop_assert_eq!(x.canonical(i), y.canonical(j));
                    prop_assert!(covered.insert(i), "token {} in two runs", i);
                }
            }
            let short = w.min(xs.len()).min(ys.len()).max(1);
            let theirs: BTreeSet<_> = shingles(&y, self::width(short)).into_iter().collect();
            let mut shared = BTreeSet::new();
            for (window, shingle) in windows(x.len(), self::width(short)).zip(shingles(&x, self::width(short))) {
                if theirs.contains(&shingle) {
                    shared.extend(window);
                }
            }
            prop_assert_eq!(covered, shared);
        }

        #[test]
        fn no_shingle_that_both_have_is_left_out(a in "[abcd ]{0,80}", b in "[abcd ]{0,160}", w in 1_usize..7) {
            let (x, y) = (words(&a), words(&b));
            let got = passages(&x, &y, width(w));
            for passage in &got {
                for (p, q) in passage.same() {
                    for (i, j) in p.zip(q) {
                        prop_assert_eq!(x.canonical(i), y.canonical(j));
                    }
                }
            }
            prop_assert!(got.is_sorted_by_key(|passage| passage.a.start));
            let short = width(w.min(x.len()).min(y.len()).max(1));
            let (ours, theirs) = (shingles(&x, short), shingles(&y, short));
            let told = |window: &Range<usize>, b: &Range<usize>| window.start < b.end && b.start < window.end;
            for (window, shingle) in windows(y.len(), short).zip(&theirs) {
                let is_told = got.iter().any(|passage| told(&window, &passage.b));
                prop_assert!(is_told || !ours.contains(shingle), "{:?} of B", window);
            }
            for (window, shingle) in windows(x.len(), short).zip(&ours) {
                let is_told = got.iter().any(|passage| told(&window, &passage.a));
                prop_assert!(is_told || !theirs.contains(shingle), "{:?} of A", window);
            }
        }

        #[test]
        fn passages_hold_all_runs_and_say_what_differs(a in "[abcd ]{0,120}", b in "[abcd ]{0,120}", w in 1_usize..7) {
            let (x, y) = (words(&a), words(&b));
            let (xs, ys) = numbered(&x, &y);
            let got = of_numbers(&xs, &ys, width(w));
            let mut covered = BTreeSet::new();
            let mut last = 0;
            for passage in &got {
                prop_assert!(passage.a.start >= last, "in order, apart");
                last = passage.a.end;
                covered.extend(passage.a.clone());
                let mut at = (passage.a.start, passage.b.start);
                let mut told = 0;
                for (p, q) in passage.same() {
                    prop_assert_eq!(&xs[p.clone()], &ys[q.clone()]);
                    prop_assert!(p.start >= at.0 && q.start >= at.1);
                    at = (p.end, q.end);
                    told += p.len();
                }
                prop_assert_eq!(at, (passage.a.end, passage.b.end), "it ends with what is the same");
                prop_assert_eq!(told, passage.len());
                for change in &passage.changes {
                    prop_assert!(!change.a.is_empty() || !change.b.is_empty());
                }
            }
            for run in runs(&xs, &ys, width(w)) {
                for i in run.a {
                    prop_assert!(covered.contains(&i), "token {} of a run", i);
                }
            }
        }
    }
}
