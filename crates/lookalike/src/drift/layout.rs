//! How a template lies on a copy: which optional parts are there, which words fill which hole.
//!
//! ```text
//! items: word word hole ( word ) word      a path from the first item and the first word
//! words: ──────────────────────────►       of the copy to the ends of both, the cheapest
//! ```
//!
//! States are (item, word of the copy). A word that is the same, an optional part left out
//! and a hole that is filled cost nothing; other words and empty holes do. Dijkstra's
//! search, cheapest first: a copy that is verbatim is walked through in its length, times
//! the words that holes may take; one that is not costs up to items × words, bounded by
//! [`STEPS`].

use std::ops::Range;

/// What a template is made of, in order.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Item {
    /// A token, by its number.
    Word(usize),
    /// A place for other words, by its number.
    Hole(usize),
    /// The beginning of a part that may be left out, and at which item that ends.
    Open(usize),
    /// Its end.
    Close,
}

/// What a word costs that is gone or was put in.
pub(super) const OTHER: usize = 4;

/// What a hole costs that nothing fills: less than to fill it with a word from beside it.
pub(super) const EMPTY: usize = 3;

/// What a word costs in the place of another: less than to lose one word and to take the
/// other for a part of a name nearby.
const REPLACED: usize = 3;

/// So many states are looked at for one copy: half a second at worst.
pub(super) const STEPS: usize = 1 << 22;

/// A hole, and the words in it; `None` if no words there fit.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Fill {
    pub(super) hole: usize,
    pub(super) words: Option<Range<usize>>,
    /// Before which word of the copy it stands.
    pub(super) at: usize,
}

/// How a template lies on a copy.
#[derive(Clone, Debug, Default)]
pub(super) struct Layout {
    /// Holes, in order; none of parts that are left out.
    pub(super) fills: Vec<Fill>,
    /// The items that are left out.
    pub(super) left_out: Vec<Range<usize>>,
}

/// What a search asks.
pub(super) trait Judge {
    /// Whether a token of the template is a word of the copy.
    fn is_same(&self, token: usize, word: usize) -> bool;

    /// Whether words fit into a hole; `None` when enough was asked.
    fn fits(&mut self, hole: usize, words: Range<usize>) -> Option<bool>;

    /// What it costs that nothing fills a hole.
    fn empty(&self, hole: usize) -> usize;

    /// What it costs to leave out the part that an item opens.
    fn left_out(&self, open: usize) -> usize;
}

/// Lays some items on some words and adds what was found to a layout; `None` if that takes
/// more than the steps that are left.
pub(super) fn lay(
    items: &[Item],
    part: Range<usize>,
    words: Range<usize>,
    judge: &mut impl Judge,
    steps: &mut usize,
    layout: &mut Layout,
) -> Option<()> {
    let row = words.len() + 1;
    let states = (part.len() + 1).checked_mul(row)?;
    if states > *steps || u32::try_from(states).is_err() {
        return None;
    }
    let mut search = Search {
        costs: vec![usize::MAX; states],
        before: vec![0; states],
        open: vec![vec![0]],
    };
    search.costs[0] = 0;
    let mut cost = 0;
    while cost < search.open.len() {
        let Some(state) = search.open[cost].pop() else {
            cost += 1;
            continue;
        };
        if search.costs[state] < cost {
            continue;
        }
        if state + 1 == states {
            break;
        }
        *steps = steps.checked_sub(1)?;
        let (item, word) = (part.start + state / row, words.start + state % row);
        let has_word = word < words.end;
        if has_word {
            search.reach(state, state + 1, cost + OTHER);
        }
        if item == part.end {
            continue;
        }
        match items[item] {
            Item::Word(token) => {
                search.reach(state, state + row, cost + OTHER);
                if has_word {
                    let is_same = judge.is_same(token, word);
                    let step = if is_same { 0 } else { REPLACED };
                    search.reach(state, state + row + 1, cost + step);
                }
            }
            Item::Hole(hole) => {
                for end in word..=words.end {
                    *steps = steps.checked_sub(1)?;
                    let next = state + row + (end - word);
                    if search.costs[next] > cost && judge.fits(hole, word..end)? {
                        search.reach(state, next, cost);
                    }
                }
                search.reach(state, state + row, cost + judge.empty(hole));
            }
            Item::Open(close) => {
                search.reach(state, state + row, cost);
                if close < part.end {
                    let next = state + row * (close + 1 - item);
                    search.reach(state, next, cost + judge.left_out(item));
                }
            }
            Item::Close => search.reach(state, state + row, cost),
        }
    }
    // Back along the path.
    let mut path = vec![states - 1];
    while let Some(&state) = path.last().filter(|state| **state > 0) {
        path.push(search.before[state]);
    }
    path.reverse();
    for two in path.windows(2) {
        let (from, to) = (part.start + two[0] / row, part.start + two[1] / row);
        let (start, end) = (words.start + two[0] % row, words.start + two[1] % row);
        if from == to {
            continue;
        }
        match items[from] {
            Item::Hole(hole) => {
                let is_cheaper = search.costs[two[0]] == search.costs[two[1]];
                layout.fills.push(Fill {
                    hole,
                    words: is_cheaper.then_some(start..end),
                    at: start,
                });
            }
            Item::Open(_) if to > from + 1 => layout.left_out.push(from..to),
            _ => {}
        }
    }
    Some(())
}

/// Paths so far.
struct Search {
    /// The cheapest way to each state.
    costs: Vec<usize>,
    /// Where it comes from.
    before: Vec<usize>,
    /// States to be looked at, by cost.
    open: Vec<Vec<usize>>,
}

impl Search {
    fn reach(&mut self, from: usize, state: usize, cost: usize) {
        if self.costs[state] > cost {
            self.costs[state] = cost;
            self.before[state] = from;
            if self.open.len() <= cost {
                self.open.resize_with(cost + 1, Vec::new);
            }
            self.open[cost].push(state);
        }
    }
}
