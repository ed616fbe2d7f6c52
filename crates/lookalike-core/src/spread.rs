//! Sorting numbers that are spread evenly, as fingerprints are, into a set.
//!
//! ```text
//! numbers ─► counted by their top bits ─► each to its bucket ─► one after the other
//! ```
//!
//! Two to four buckets a number, so that few have to be moved in the last step: O(n) where
//! comparing takes O(n log n). Numbers that are not spread cost what comparing costs.

/// Sorts; keeps its memory for the next time.
#[derive(Clone, Debug, Default)]
pub struct SpreadSort {
    /// Where each bucket's next number goes, for four buckets at a time.
    next: Vec<[u16; 4]>,
    spread: Vec<u64>,
}

/// Fewer are sorted by comparing.
const FEW: usize = 48;

/// More are sorted by comparing: places in the order have 16 bits.
const MANY: usize = 1 << 16;

/// More buckets than this would not stay in the first cache.
const MOST_BITS: u32 = 14;

/// With as many in a bucket, comparing is the better way.
const CROWD: u16 = 32;

/// A product by this has in each quarter the sum of the other factor's quarters up to it.
const ONES: u64 = 0x0001_0001_0001_0001;

impl SpreadSort {
    /// Sorts and removes repetitions: how many are left, at the front.
    pub fn sort_and_dedup(&mut self, numbers: &mut [u64]) -> usize {
        if !(FEW..MANY).contains(&numbers.len()) || !self.spread(numbers) {
            numbers.sort_unstable();
            return front(numbers);
        }
        let (mut last, mut len) = (0, 0);
        for &number in &self.spread[..numbers.len()] {
            if number > last || len == 0 {
                last = number;
                numbers[len] = number;
                len += 1;
            } else {
                // Its place is among the last few.
                let smaller = numbers[..len].iter().rposition(|&other| other < number);
                let place = smaller.map_or(0, |i| i + 1);
                if numbers[place] != number {
                    numbers.copy_within(place..len, place + 1);
                    numbers[place] = number;
                    len += 1;
                }
            }
        }
        len
    }

    /// Puts numbers in the order of their buckets, unless some bucket is crowded.
    fn spread(&mut self, numbers: &[u64]) -> bool {
        let bits = (numbers.len().ilog2() + 2).min(MOST_BITS);
        // The shift leaves `bits` bits.
        let bucket = |number: u64| usize::try_from(number >> (64 - bits)).unwrap_or(0);
        self.next.clear();
        self.next.resize(1 << (bits - 2), [0; 4]);
        let next = self.next.as_flattened_mut();
        for &number in numbers {
            next[bucket(number)] += 1;
        }
        // Sums of all counts before each, four at a time.
        let (mut sum, mut any) = (0_u64, 0);
        for four in &mut self.next {
            let counts = (0..4).fold(0, |all, i| all | u64::from(four[i]) << (16 * i));
            let sums = counts.wrapping_mul(ONES);
            let before = (sums << 16).wrapping_add(sum.wrapping_mul(ONES));
            let bytes = before.to_le_bytes();
            *four = std::array::from_fn(|i| u16::from_le_bytes([bytes[2 * i], bytes[2 * i + 1]]));
            sum += sums >> 48;
            any |= counts;
        }
        if any & ONES.wrapping_mul(u64::from(!(CROWD - 1))) != 0 {
            return false;
        }
        if self.spread.len() < numbers.len() {
            self.spread.resize(numbers.len(), 0);
        }
        let next = self.next.as_flattened_mut();
        for &number in numbers {
            let next = &mut next[bucket(number)];
            self.spread[usize::from(*next)] = number;
            *next += 1;
        }
        true
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
            let mut sort = SpreadSort::default();
            let crowded = crowded.into_iter().map(|number| number << shift);
            for mut numbers in [spread.clone(), crowded.chain(spread).collect()] {
                let mut expected = numbers.clone();
                expected.sort_unstable();
                expected.dedup();
                let left = sort.sort_and_dedup(&mut numbers);
                prop_assert_eq!(&numbers[..left], expected);
            }
        }
    }
}
