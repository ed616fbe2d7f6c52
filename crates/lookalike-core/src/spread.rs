//! Sorting numbers that are spread evenly, as fingerprints are.
//!
//! ```text
//! numbers ─► counted by their top bits ─► each to its bucket ─► neighbours put in order
//! ```
//!
//! About one number a bucket, so the last step moves each a place or two: O(n) where
//! comparing takes O(n log n). Numbers that are not spread cost what comparing costs.

/// Sorts; keeps its memory for the next time.
#[derive(Clone, Debug, Default)]
pub struct SpreadSort {
    /// Where each bucket's next number goes.
    next: Vec<u32>,
    sorted: Vec<u64>,
}

/// Fewer are sorted by comparing.
const FEW: usize = 48;

/// More buckets than this would not stay in the second cache.
const MOST_BITS: u32 = 14;

/// A bucket with more than this is sorted by comparing.
const CROWD: u32 = 32;

impl SpreadSort {
    /// Sorts, in increasing order.
    pub fn sort(&mut self, numbers: &mut [u64]) {
        if numbers.len() < FEW || u32::try_from(numbers.len()).is_err() {
            numbers.sort_unstable();
            return;
        }
        let bits = numbers.len().ilog2().min(MOST_BITS);
        // The shift leaves `bits` bits.
        let bucket = |number: u64| usize::try_from(number >> (64 - bits)).unwrap_or(0);
        self.next.clear();
        self.next.resize(1 << bits, 0);
        for &number in &*numbers {
            self.next[bucket(number)] += 1;
        }
        let (mut sum, mut most) = (0, 0);
        for next in &mut self.next {
            let count = *next;
            most = most.max(count);
            *next = sum;
            sum += count;
        }
        if self.sorted.len() < numbers.len() {
            self.sorted.resize(numbers.len(), 0);
        }
        let sorted = &mut self.sorted[..numbers.len()];
        for &number in &*numbers {
            let next = &mut self.next[bucket(number)];
            sorted[*next as usize] = number;
            *next += 1;
        }
        if most > CROWD {
            let mut start = 0;
            for &end in &self.next {
                sorted[start as usize..end as usize].sort_unstable();
                start = end;
            }
        } else {
            put_in_order(sorted);
        }
        numbers.copy_from_slice(sorted);
    }
}

/// Insertion: linear where every number is a few places from its own.
fn put_in_order(numbers: &mut [u64]) {
    for i in 1..numbers.len() {
        let number = numbers[i];
        let mut place = i;
        while place > 0 && numbers[place - 1] > number {
            numbers[place] = numbers[place - 1];
            place -= 1;
        }
        numbers[place] = number;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_sorts_as_the_standard_library_does(
            spread in prop::collection::vec(any::<u64>(), 0..3000),
            crowded in prop::collection::vec(0_u64..9, 0..300),
            shift in 0_u32..64,
        ) {
            let mut sort = SpreadSort::default();
            let crowded = crowded.into_iter().map(|number| number << shift);
            for mut numbers in [spread.clone(), crowded.chain(spread).collect()] {
                let mut expected = numbers.clone();
                expected.sort_unstable();
                sort.sort(&mut numbers);
                prop_assert_eq!(numbers, expected);
            }
        }
    }
}
