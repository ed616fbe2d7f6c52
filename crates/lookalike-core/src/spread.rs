//! Sorting numbers that are spread evenly, as fingerprints are, into a set.
//!
//! ```text
//! numbers ─► a bit for the top bits of each ─► bits before its own: its place
//!         └► those that find their bit taken: few, sorted by comparing, put in between
//! ```
//!
//! Sixteen to thirty-two bits a number, so that few find theirs taken: O(n) where comparing
//! takes O(n log n). Numbers that are not spread cost what comparing costs.

use crate::simd::{Level, Ranks};

/// Sorts; keeps its memory for the next time.
#[derive(Clone, Debug)]
pub struct SpreadSort {
    ranks: Ranks,
    spread: Vec<u64>,
    late: Vec<u64>,
}

/// Fewer are sorted by comparing.
const FEW: usize = 32;

impl Default for SpreadSort {
    fn default() -> SpreadSort {
        SpreadSort::with_level(Level::best())
    }
}

impl SpreadSort {
    /// With given instructions, which the processor must have.
    pub(crate) fn with_level(level: Level) -> SpreadSort {
        SpreadSort {
            ranks: Ranks::new(level),
            spread: Vec::new(),
            late: Vec::new(),
        }
    }

    /// Sorts and removes repetitions: how many are left, at the front.
    pub fn sort_and_dedup(&mut self, numbers: &mut [u64]) -> usize {
        if !(FEW..Ranks::MANY).contains(&numbers.len()) {
            numbers.sort_unstable();
            return front(numbers);
        }
        // It only grows, and is not cleared.
        if self.spread.len() < numbers.len() {
            self.spread.resize(numbers.len(), 0);
            self.late.resize(numbers.len(), 0);
        }
        let SpreadSort {
            ranks,
            spread,
            late,
        } = self;
        let (placed, late_ones) = ranks.place(numbers, spread, late);
        let (spread, late) = (&spread[..placed], &mut late[..late_ones]);
        late.sort_unstable();
        let (mut len, mut from) = (0, 0);
        for &mut number in late {
            let rank = ranks.rank(number);
            let to = rank + usize::from(spread[rank] < number);
            if len > 0 && from == to && numbers[len - 1] == number {
                continue;
            }
            numbers[len..len + to - from].copy_from_slice(&spread[from..to]);
            len += to - from;
            numbers[len] = number;
            (len, from) = (len + 1, to);
        }
        numbers[len..len + placed - from].copy_from_slice(&spread[from..]);
        len + placed - from
    }
}

/// Removes repetitions from sorted numbers: how many are left, at the front.
fn front(sorted: &mut [u64]) -> usize {
    let mut len = usize::from(!sorted.is_empty());
    for i in 1..sorted.len() {
        if sorted[i] != sorted[i - 1] {
            sorted[len] = sorted[i];
            len += 1;
        }
    }
    len
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_makes_the_set_that_the_standard_library_makes(
            spread in prop::collection::vec(any::<u64>(), 0..3000),
            crowded in prop::collection::vec(0_u64..9, 0..300),
            shift in 0_u32..64,
        ) {
            let crowded = crowded.into_iter().map(|number| number << shift);
            let both: Vec<u64> = crowded.chain(spread.iter().copied()).collect();
            let again = [spread.clone(), spread.clone()].concat();
            for level in Level::available() {
                let mut sort = SpreadSort::with_level(level);
                for numbers in [&spread, &both, &again] {
                    let mut numbers = numbers.clone();
                    let mut expected = numbers.clone();
                    expected.sort_unstable();
                    expected.dedup();
                    let left = sort.sort_and_dedup(&mut numbers);
                    prop_assert_eq!(&numbers[..left], expected, "{}", level);
                }
            }
        }
    }
}
