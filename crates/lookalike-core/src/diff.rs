//! What must be changed to make one row of tokens of another.
//!
//! ```text
//! tokens of both ─► numbers ─► equal ends off ─► middle of a shortest way ─► both halves so
//! ```
//!
//! Myers' algorithm (1986) in linear space, k a diagonal, d the changes so far: time O((N + M)·D) for D changed tokens, memory
//! O(N + M). The answer is a shortest one, as long as the two rows together have no more
//! than [`EXACT_UP_TO`] tokens or differ in few. Past that a way is cut short where it
//! got furthest: the changes are still right, perhaps not the fewest, and time stays
//! bounded by a constant times [`MOST_STEPS`].

use crate::canonical::Tokens;
use hashbrown::HashMap;
use std::ops::Range;

/// Two rows of so many tokens together are compared to the end, however they differ: some
/// hundred million steps, a second, at worst.
pub const EXACT_UP_TO: usize = 24_000;

/// About so many steps are taken for longer ones.
pub const MOST_STEPS: usize = 1 << 28;

/// A stretch that differs: what the first row has where the second has something else.
/// One of the two may be empty, not both.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Change {
    /// The tokens of the first.
    pub a: Range<usize>,
    /// The tokens of the second.
    pub b: Range<usize>,
}

/// The tokens of both as numbers, equal ones alike.
///
/// # Panics
///
/// Past 2^32 different tokens, which do not fit in memory here.
pub fn numbered(a: &Tokens, b: &Tokens) -> (Vec<u32>, Vec<u32>) {
    let mut vocabulary: HashMap<&[u8], u32> = HashMap::new();
    let mut number = |token| {
        let next = u32::try_from(vocabulary.len()).expect("fewer than 2^32 different tokens");
        *vocabulary.entry(token).or_insert(next)
    };
    let xs = a.iter().map(&mut number).collect();
    (xs, b.iter().map(&mut number).collect())
}

/// What differs between two rows, in order; stretches between changes are equal, and no
/// two changes touch.
pub fn changes<T: Eq>(xs: &[T], ys: &[T]) -> Vec<Change> {
    let all = xs.len() + ys.len();
    let cap = if all <= EXACT_UP_TO {
        usize::MAX
    } else {
        (MOST_STEPS / all).max(1 << 8)
    };
    let mut ways = Ways::default();
    let mut found: Vec<Change> = Vec::new();
    // What is still to be compared, the first on top.
    let mut rest = vec![(0..xs.len(), 0..ys.len())];
    while let Some((mut a, mut b)) = rest.pop() {
        let same = equal(xs[a.clone()].iter(), ys[b.clone()].iter());
        (a.start, b.start) = (a.start + same, b.start + same);
        let same = equal(xs[a.clone()].iter().rev(), ys[b.clone()].iter().rev());
        (a.end, b.end) = (a.end - same, b.end - same);
        if a.is_empty() && b.is_empty() {
            continue;
        }
        let middle = if a.is_empty() || b.is_empty() {
            None
        } else {
            ways.middle(&xs[a.clone()], &ys[b.clone()], cap)
        };
        let Some((x, y)) = middle else {
            push(&mut found, Change { a, b });
            continue;
        };
        let (x, y) = (a.start + x, b.start + y);
        rest.push((x..a.end, y..b.end));
        rest.push((a.start..x, b.start..y));
    }
    found
}

/// How many tokens two rows have in common at their front.
fn equal<'a, T: Eq + 'a>(
    xs: impl Iterator<Item = &'a T>,
    ys: impl Iterator<Item = &'a T>,
) -> usize {
    xs.zip(ys).take_while(|(x, y)| x == y).count()
}

/// Adds a change; one that touches the last makes it longer.
fn push(found: &mut Vec<Change>, next: Change) {
    match found.last_mut() {
        Some(last) if last.a.end == next.a.start && last.b.end == next.b.start => {
            (last.a.end, last.b.end) = (next.a.end, next.b.end);
        }
        _ => found.push(next),
    }
}

/// No way gets here.
const NOWHERE: isize = isize::MIN / 2;

/// How far ways of so many steps get on each diagonal, from both ends.
#[derive(Default)]
struct Ways {
    forward: Vec<isize>,
    backward: Vec<isize>,
}

impl Ways {
    /// A point in the middle of a shortest way through two rows that begin and end
    /// differently, or where the longest of `cap` changes ends. `None` where nothing is
    /// gained by a point: all differs.
    #[expect(
        clippy::cast_possible_wrap,
        clippy::cast_sign_loss,
        clippy::many_single_char_names,
        reason = "lengths of slices fit, and points lie inside; the names are those of the paper"
    )]
    fn middle<T: Eq>(&mut self, xs: &[T], ys: &[T], cap: usize) -> Option<(usize, usize)> {
        let (n, m) = (xs.len() as isize, ys.len() as isize);
        let delta = n - m;
        let is_odd = delta % 2 != 0;
        let most = (n + m + 1) / 2;
        // Diagonals from -(most + 1) to most + 1.
        let zero = most + 1;
        let size = (2 * zero + 1) as usize;
        self.forward.resize(self.forward.len().max(size), 0);
        self.backward.resize(self.backward.len().max(size), 0);
        let at = |k: isize| (zero + k) as usize;
        for d in 0..=most {
            if d as usize > cap {
                return self.furthest(d - 1, zero, n, m);
            }
            for is_forward in [true, false] {
                let (own, other) = if is_forward {
                    (&mut self.forward, &self.backward)
                } else {
                    (&mut self.backward, &self.forward)
                };
                // What no way of fewer steps reached holds what another call left there.
                for k in [-d - 1, -d, d, d + 1] {
                    if k.abs() <= zero {
                        own[at(k)] = NOWHERE;
                    }
                }
                let mut k = -d;
                while k <= d {
                    if k < -m || k > n {
                        own[at(k)] = NOWHERE;
                        k += 2;
                        continue;
                    }
                    let x = if d == 0 {
                        0
                    } else {
                        own[at(k + 1)].max(own[at(k - 1)] + 1)
                    };
                    let y = x - k;
                    if x < 0 || x > n || y > m {
                        own[at(k)] = NOWHERE;
                        k += 2;
                        continue;
                    }
                    let run = if is_forward {
                        equal(xs[x as usize..].iter(), ys[y as usize..].iter())
                    } else {
                        let (to_x, to_y) = ((n - x) as usize, (m - y) as usize);
                        equal(xs[..to_x].iter().rev(), ys[..to_y].iter().rev())
                    };
                    let end = x + run as isize;
                    own[at(k)] = end;
                    // The other way's diagonal that is the same line.
                    let (twin, reached) = (delta - k, if is_forward { d - 1 } else { d });
                    let can_meet = is_forward == is_odd && twin.abs() <= reached;
                    if can_meet && other[at(twin)] >= 0 && end + other[at(twin)] >= n {
                        let (x, y) = if is_forward {
                            (end, end - k)
                        } else {
                            (n - end, m - (end - k))
                        };
                        return inside(x, y, n, m);
                    }
                    k += 2;
                }
            }
        }
        None
    }

    /// Where the way forward of `d` changes got furthest.
    #[expect(
        clippy::cast_sign_loss,
        clippy::many_single_char_names,
        reason = "diagonals are counted from the first on; the names are those of the paper"
    )]
    fn furthest(&self, d: isize, zero: isize, n: isize, m: isize) -> Option<(usize, usize)> {
        let ends = (-d..=d).step_by(2).filter_map(|k| {
            let x = self.forward[(zero + k) as usize];
            (x >= 0).then_some((x, x - k))
        });
        let (x, y) = ends.max_by_key(|(x, y)| x + y)?;
        inside(x, y, n, m)
    }
}

/// A point that cuts both rows into less than they are.
#[expect(clippy::cast_sign_loss, reason = "the point lies inside")]
fn inside(x: isize, y: isize, n: isize, m: isize) -> Option<(usize, usize)> {
    let is_corner = (x, y) == (0, 0) || (x, y) == (n, m);
    (!is_corner).then_some((x as usize, y as usize))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The slow definition: the longest common subsequence, by the table.
    fn fewest(xs: &[u32], ys: &[u32]) -> usize {
        let mut row = vec![0_usize; ys.len() + 1];
        for x in xs {
            let mut diagonal = 0;
            for (j, y) in ys.iter().enumerate() {
                let above = row[j + 1];
                row[j + 1] = if x == y {
                    diagonal + 1
                } else {
                    above.max(row[j])
                };
                diagonal = above;
            }
        }
        xs.len() + ys.len() - 2 * row[ys.len()]
    }

    fn applied(xs: &[u32], ys: &[u32], changes: &[Change]) -> Vec<u32> {
        let mut out = Vec::new();
        let mut at = 0;
        for change in changes {
            out.extend_from_slice(&xs[at..change.a.start]);
            out.extend_from_slice(&ys[change.b.clone()]);
            at = change.a.end;
        }
        out.extend_from_slice(&xs[at..]);
        out
    }

    fn cost(changes: &[Change]) -> usize {
        changes.iter().map(|one| one.a.len() + one.b.len()).sum()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn changes_make_the_one_of_the_other_and_are_the_fewest(
            xs in prop::collection::vec(0_u32..4, 0..40), ys in prop::collection::vec(0_u32..4, 0..40),
        ) {
            let found = changes(&xs, &ys);
            prop_assert_eq!(applied(&xs, &ys, &found), &ys[..]);
            prop_assert_eq!(cost(&found), fewest(&xs, &ys));
            for two in found.windows(2) {
                prop_assert!(two[0].a.end < two[1].a.start && two[0].b.end < two[1].b.start);
            }
        }
    }

    #[test]
    fn long_rows_that_have_little_in_common_come_to_an_end() {
        let mut draw = crate::draw::Draw::new(1);
        let mut row = |of: u64| -> Vec<u32> {
            let number = |_| u32::try_from(draw.next_u64() % of).expect("small");
            (0..14_000).map(number).collect()
        };
        for of in [3, 1_000_000] {
            let (xs, ys) = (row(of), row(of));
            let found = changes(&xs, &ys);
            assert_eq!(applied(&xs, &ys, &found), ys);
        }
    }
}
