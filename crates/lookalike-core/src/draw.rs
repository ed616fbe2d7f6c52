//! Numbers that look random and follow from a seed, so that a recipe that names
//! its seed names every table and multiplier drawn from it.
//!
//! ```text
//! seed ─► mix ─► state ─┬─► + golden ratio, mix ─► u64, u64, u64, …
//! ```
//!
//! This is Steele, Lea and Flood's `SplitMix64`: one addition, two
//! multiplications and three shifts a number, period 2^64. It is good for
//! sampling and no secret: whoever sees one number can compute all the others.

/// 2^64 divided by the golden ratio: the odd step that spreads states best.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// What [`mix`] multiplies by, for who mixes several at a time.
pub(crate) const FACTORS: [u64; 2] = [0xBF58_476D_1CE4_E5B9, 0x94D0_49BB_1331_11EB];

/// An endless row of numbers, the same for the same seed on every machine.
#[derive(Clone, Debug)]
pub struct Draw {
    state: u64,
}

impl Draw {
    /// Starts the row named by `seed`.
    ///
    /// The seed is mixed first: seeds one apart, or one step of the generator
    /// apart, would otherwise give rows that overlap or run in parallel.
    pub const fn new(seed: u64) -> Draw {
        Draw { state: mix(seed) }
    }

    /// The next number of the row.
    pub const fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GOLDEN);
        mix(self.state)
    }
}

/// Shuffles the bits of one number so that each input bit moves about half of
/// the output bits. A bijection of `u64`: no two numbers meet. It keeps 0.
#[inline]
#[must_use]
pub const fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(FACTORS[0]);
    x = (x ^ (x >> 27)).wrapping_mul(FACTORS[1]);
    x ^ (x >> 31)
}

/// Names a short row of numbers, order and length included, by one number.
///
/// `label` tells apart rows that mean different things. Two rows that differ in
/// one place never meet, because each step is a bijection of what it adds; rows
/// that differ in more meet with probability about 2^-64 when their numbers are
/// spread, as samples and fingerprints are.
#[must_use]
pub(crate) fn fold(label: u64, row: &[u64]) -> u64 {
    let start = mix(label.wrapping_add(GOLDEN)) ^ row.len() as u64;
    row.iter().fold(mix(start), |name, &number| {
        // The addition makes the step depend on its place: with XOR alone the
        // first number and the label would be interchangeable.
        mix(name.wrapping_add(GOLDEN) ^ number)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seed_zero_gives_the_published_row() {
        // The mix keeps 0, so this is plain SplitMix64 from state 0.
        let mut draw = Draw::new(0);
        let got = [draw.next_u64(), draw.next_u64(), draw.next_u64()];
        let published = [
            0xE220_A839_7B1D_CDAF,
            0x6E78_9E6A_A1B9_65F4,
            0x06C4_5D18_8009_454F,
        ];
        assert_eq!(got, published);
    }

    #[test]
    fn equal_seeds_give_equal_rows_and_neighbours_do_not() {
        let first = |seed| Draw::new(seed).next_u64();
        assert_eq!(first(7), first(7));
        assert_ne!(first(7), first(8));
        // One step of the generator apart: unmixed, this row would be the other
        // one less its first number.
        let mut other = Draw::new(7);
        other.next_u64();
        assert_ne!(first(7_u64.wrapping_add(GOLDEN)), other.next_u64());
    }

    #[test]
    fn the_mix_can_be_undone() {
        // A multiplication by an odd number and a xor-shift each have an inverse.
        // x ^ x>>s is undone by repeating it until the shift leaves the word.
        let undo_shift = |y: u64, by: u32| (1..=64 / by).fold(y, |x, _| y ^ (x >> by));
        let inverse = |odd: u64| {
            (0..6).fold(odd, |i, _| {
                i.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(i)))
            })
        };
        let mut draw = Draw::new(1);
        for _ in 0..1000 {
            let x = draw.next_u64();
            let y = undo_shift(mix(x), 31).wrapping_mul(inverse(0x94D0_49BB_1331_11EB));
            let y = undo_shift(y, 27).wrapping_mul(inverse(0xBF58_476D_1CE4_E5B9));
            assert_eq!(undo_shift(y, 30), x);
        }
    }

    #[test]
    fn rows_of_another_order_length_or_label_get_another_name() {
        let rows: [(u64, &[u64]); 8] = [
            (0, &[]),
            (0, &[0]),
            (0, &[0, 0]),
            (0, &[1, 2]),
            (0, &[2, 1]),
            (1, &[1, 2]),
            (2, &[1, 1]),
            (0, &[1, 2, 0]),
        ];
        for (i, &(label, row)) in rows.iter().enumerate() {
            for &(other_label, other) in &rows[..i] {
                assert_ne!(
                    fold(label, row),
                    fold(other_label, other),
                    "{row:?} {other:?}"
                );
            }
        }
    }

    #[test]
    fn a_row_keeps_its_name_for_ever() {
        // Features and super-shingles are kept on disk. From an independent program.
        assert_eq!(fold(0, &[]), 0x4821_8226_FF3C_D4BF);
        assert_eq!(fold(3, &[1, u64::MAX, 7]), 0x2324_37DA_4F76_0680);
    }
}
