//! Orders on the fingerprints, drawn from a seed.
//!
//! Under a random order of all `u64`, the first element of a set is a fair sample
//! of it, and two sets have the same first element with probability equal to
//! their resemblance. A truly random order of 2^64 numbers cannot be written
//! down, so one is drawn from a family that can:
//!
//! ```text
//! linear       a·x + b mod 2^64, a odd                 16 bytes
//! matrix       M·x ⊕ c over GF(2), M invertible        16 KiB as tables
//! tabulation   T0[byte 0] ⊕ … ⊕ T7[byte 7]             16 KiB
//! lead-byte    one byte of a matrix, then a mixed tail  2 KiB, 8 orders at once
//! ```
//!
//! All but tabulation are injections, so what is kept of a minimum names the
//! element without doubt. None is min-wise independent: how far each one is from
//! that, on good and on bad sets, is measured in `docs/PERMUTATIONS.md`. The
//! recipe's fingerprints are mixed before they come here, and then all four do
//! well; raw counters are what tells them apart.

use std::fmt;
use std::str::FromStr;

use crate::draw::{Draw, mix};

/// From which family the orders are drawn: a choice of the recipe.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Family {
    /// [`Linear`]: least memory, and the most sensitive to patterns in the input.
    Linear,
    /// [`Matrix`]: linear over bits instead of numbers.
    Matrix,
    /// [`Tables`] filled at random: the best behaved.
    Tabulation,
    /// [`LeadBytes`]: eight orders for little more than the price of one.
    LeadByte,
    /// Consistent weighted sampling ([`crate::weighted`]): elements with weights, of which
    /// one without has 1. No permutation, and slower than all of them.
    Weighted,
}

impl Family {
    /// Every family of permutations, in the order of the documentation.
    pub const ALL: [Family; 4] = [
        Family::Linear,
        Family::Matrix,
        Family::Tabulation,
        Family::LeadByte,
    ];

    const fn name(self) -> &'static str {
        match self {
            Family::Linear => "linear",
            Family::Matrix => "matrix",
            Family::Tabulation => "tabulation",
            Family::LeadByte => "lead-byte",
            Family::Weighted => "weighted",
        }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that is no family's.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error(
    "`{0}` is no family of permutations; use linear, matrix, tabulation, lead-byte or weighted"
)]
pub struct UnknownFamily(pub String);

impl FromStr for Family {
    type Err = UnknownFamily;

    fn from_str(name: &str) -> Result<Family, UnknownFamily> {
        let mut all = Family::ALL.into_iter().chain([Family::Weighted]);
        all.find(|family| family.name() == name)
            .ok_or_else(|| UnknownFamily(name.to_owned()))
    }
}

/// x → a·x + b modulo 2^64, the slides' "linear transformation".
///
/// A permutation, because `a` is odd. The modulus is 2^64 and no prime: a prime
/// below 2^64 would map several fingerprints to one value, and its reduction
/// costs several times the multiplication. What the choice gives up is that a
/// set of multiples of 2^k sees only the low 64-k bits of `a`; the minimum is
/// decided by the *high* bits of the value, which depend on every bit of x, so
/// the well-known weakness of the low bits does no harm.
///
/// With `b` uniform, an element is the minimum with probability equal to the gap
/// before a·x on the circle of 2^64. Of an arithmetic progression those gaps take
/// at most three lengths, far from equal: its ends win too often (see
/// `docs/PERMUTATIONS.md`). On random sets the gaps are fair.
#[derive(Clone, Copy, Debug)]
pub struct Linear {
    a: u64,
    b: u64,
}

impl Linear {
    /// Draws two numbers.
    pub const fn draw(draw: &mut Draw) -> Linear {
        Linear {
            a: draw.next_u64() | 1,
            b: draw.next_u64(),
        }
    }

    /// The value that orders x.
    #[must_use]
    pub const fn image(self, x: u64) -> u64 {
        self.a.wrapping_mul(x).wrapping_add(self.b)
    }
}

/// x → M·x ⊕ c over the field of two elements, M invertible: a permutation.
///
/// Exactly fair on two kinds of sets: those without an affine relation (any three
/// elements; the powers of two), because the draw treats them all alike, and those
/// closed under adding three (blocks of 2^k numbers), because c moves them about.
/// What lies between is biased: part of a block sees the block's structure.
///
/// This is the definition, 64 steps long; [`Matrix::tables`] is the fast form.
#[derive(Clone, Debug)]
pub struct Matrix {
    /// Column i is the image of bit i.
    columns: [u64; 64],
    /// c: without it 0 would be the minimum of every set that holds it.
    shift: u64,
}

impl Matrix {
    /// Draws 64 columns until they are independent, then c. A random matrix is
    /// invertible with probability 0.289, so about 3.5 attempts.
    pub fn draw(draw: &mut Draw) -> Matrix {
        loop {
            let columns = std::array::from_fn(|_| draw.next_u64());
            if independent(&columns) {
                let shift = draw.next_u64();
                return Matrix { columns, shift };
            }
        }
    }

    /// The value that orders x: c and the columns at the bits of x, added.
    #[must_use]
    pub fn image(&self, x: u64) -> u64 {
        let chosen = (0..64).filter(|bit| x >> bit & 1 == 1);
        chosen.fold(self.shift, |sum, bit| sum ^ self.columns[bit])
    }

    /// The same map as eight look-ups.
    #[must_use]
    pub fn tables(&self) -> Tables {
        let mut tables = Tables::zero();
        for (byte, table) in tables.0.iter_mut().enumerate() {
            let columns = &self.columns[8 * byte..][..8];
            for value in 1..256_usize {
                // Its lowest bit's column, and the rest, which stands before it.
                let rest = table[value & (value - 1)];
                table[value] = rest ^ columns[value.trailing_zeros() as usize];
            }
        }
        for entry in &mut tables.0[0] {
            *entry ^= self.shift;
        }
        tables
    }
}

/// Whether no non-empty selection of the columns adds up to zero: elimination.
fn independent(columns: &[u64; 64]) -> bool {
    // basis[i] is a reduced column whose highest bit is i, or 0 for none yet.
    let mut basis = [0_u64; 64];
    columns.iter().all(|&column| {
        let mut column = column;
        while column != 0 {
            let highest = column.ilog2() as usize;
            if basis[highest] == 0 {
                basis[highest] = column;
                return true;
            }
            column ^= basis[highest];
        }
        false
    })
}

/// x → T0[byte 0 of x] ⊕ … ⊕ T7[byte 7 of x]: eight look-ups in 16 KiB.
///
/// Filled at random this is simple tabulation (Zobrist; Pǎtraşcu and Thorup show
/// that an element of a set of n is its minimum with probability
/// `(1 ± O(log² n / n^(1/8)))/n`; practice is far better than that bound).
/// It is *not* a permutation: two given fingerprints meet with probability 2^-64.
/// It acts as an order on `u64` all the same, the smaller fingerprint standing
/// first where values tie; a sample is the value, so the tie cannot be seen in it.
#[derive(Clone, Debug)]
pub struct Tables(Box<[[u64; 256]; 8]>);

impl Tables {
    fn zero() -> Tables {
        Tables(Box::new([[0; 256]; 8]))
    }

    /// Draws all 2,048 entries: simple tabulation.
    pub fn draw(draw: &mut Draw) -> Tables {
        let mut tables = Tables::zero();
        for entry in tables.0.as_flattened_mut() {
            *entry = draw.next_u64();
        }
        tables
    }

    /// The value that orders x.
    #[must_use]
    #[inline]
    pub fn image(&self, x: u64) -> u64 {
        let tables = &*self.0;
        let [b0, b1, b2, b3, b4, b5, b6, b7] = x.to_le_bytes().map(usize::from);
        // As a tree, so that the loads and not a chain of eight decide the time.
        ((tables[0][b0] ^ tables[1][b1]) ^ (tables[2][b2] ^ tables[3][b3]))
            ^ ((tables[4][b4] ^ tables[5][b5]) ^ (tables[6][b6] ^ tables[7][b7]))
    }
}

/// Two [`Tables`] entry by entry side by side: one look-up of 16 bytes serves both.
/// With 84 orders a shingle takes 175 ns instead of 250.
#[derive(Clone, Debug)]
pub struct TablePair(Box<[[[u64; 2]; 256]; 8]>);

impl TablePair {
    /// Lays two tables side by side.
    #[expect(
        clippy::large_stack_arrays,
        reason = "32 KiB on their way to the heap, once for each pair"
    )]
    pub fn new(left: &Tables, right: &Tables) -> TablePair {
        let mut pair = TablePair(Box::new([[[0; 2]; 256]; 8]));
        let sides = left.0.as_flattened().iter().zip(right.0.as_flattened());
        for (entry, (&left, &right)) in pair.0.as_flattened_mut().iter_mut().zip(sides) {
            *entry = [left, right];
        }
        pair
    }

    /// The values that order x, left and right.
    #[must_use]
    #[inline]
    pub fn images(&self, x: u64) -> [u64; 2] {
        let look_ups = self.0.iter().zip(x.to_le_bytes());
        look_ups.fold([0; 2], |[left, right], (table, byte)| {
            let entry = table[usize::from(byte)];
            [left ^ entry[0], right ^ entry[1]]
        })
    }
}

/// Eight orders at once, after Broder, Burrows and Manasse (the 2005 slides).
///
/// Order j compares byte j of one random invertible affine map over GF(2), the
/// *lead byte*, and only among equal lead bytes the *tail*, eight bytes that are a
/// permutation of `u64` for themselves: the mix of x ⊕ key j. Lead and tail
/// together are an injection into nine bytes; the tail alone already names x.
///
/// The slides say "no theory, but it works". A reason it works: the lead byte is
/// as fair as [`Matrix`] is, and whatever structure it leaves among the one in 256
/// elements that tie, the tail shares no algebra with it.
#[derive(Clone, Debug)]
pub struct LeadBytes {
    leads: Tables,
    keys: [u64; 8],
}

impl LeadBytes {
    /// Draws a matrix and eight keys.
    pub fn draw(draw: &mut Draw) -> LeadBytes {
        LeadBytes {
            leads: Matrix::draw(draw).tables(),
            keys: std::array::from_fn(|_| draw.next_u64()),
        }
    }

    /// The lead bytes of x in all eight orders: byte j, counted from the low end,
    /// is that of order j.
    #[must_use]
    #[inline]
    pub fn leads(&self, x: u64) -> u64 {
        self.leads.image(x)
    }

    /// The tail of x in order `j`: a permutation of `u64`.
    ///
    /// # Panics
    ///
    /// Unless j is below 8.
    #[must_use]
    #[inline]
    pub const fn tail(&self, j: usize, x: u64) -> u64 {
        mix(x ^ self.keys[j])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_read_back_what_they_print() {
        for family in Family::ALL.into_iter().chain([Family::Weighted]) {
            assert_eq!(family.to_string().parse(), Ok(family));
        }
        let error = "Linear".parse::<Family>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "`Linear` is no family of permutations; use linear, matrix, tabulation, lead-byte or weighted"
        );
    }

    #[test]
    fn linear_can_be_undone() {
        let mut draw = Draw::new(1);
        for _ in 0..100 {
            let linear = Linear::draw(&mut draw);
            // Newton: each step doubles the bits that are right, from 3 to 96.
            let inverse = (0..5).fold(linear.a, |i, _| {
                i.wrapping_mul(2_u64.wrapping_sub(linear.a.wrapping_mul(i)))
            });
            let x = draw.next_u64();
            let back = linear.image(x).wrapping_sub(linear.b).wrapping_mul(inverse);
            assert_eq!(back, x);
        }
    }

    #[test]
    fn elimination_knows_independent_columns() {
        let unit: [u64; 64] = std::array::from_fn(|i| 1 << i);
        assert!(independent(&unit));
        let triangle: [u64; 64] = std::array::from_fn(|i| u64::MAX >> i);
        assert!(independent(&triangle));
        let mut sum = unit;
        sum[63] = sum[3] ^ sum[17] ^ sum[40];
        assert!(!independent(&sum));
        let mut twice = unit;
        twice[0] = twice[1];
        assert!(!independent(&twice));
        let mut zero = unit;
        zero[5] = 0;
        assert!(!independent(&zero));
    }

    #[test]
    fn three_in_ten_random_matrices_are_invertible() {
        // The share is the product of 1 - 2^-i over i = 1..64, 0.28879. Of 4,000
        // draws the standard deviation is 28.7: four of them are 115.
        let mut draw = Draw::new(2);
        let all = (0..4000).map(|_| std::array::from_fn(|_| draw.next_u64()));
        let count = all.filter(independent).count();
        assert!((1155 - 115..=1155 + 115).contains(&count), "{count}");
    }

    #[test]
    fn eight_look_ups_are_the_matrix() {
        let mut draw = Draw::new(3);
        for _ in 0..4 {
            let matrix = Matrix::draw(&mut draw);
            let tables = matrix.tables();
            let single = (0..64).map(|bit| 1_u64 << bit);
            let random: Vec<u64> = (0..1000).map(|_| draw.next_u64()).collect();
            for x in single.chain([0, u64::MAX]).chain(random) {
                assert_eq!(tables.image(x), matrix.image(x), "{x:#x}");
            }
        }
    }

    #[test]
    fn a_matrix_is_affine() {
        let mut draw = Draw::new(4);
        let matrix = Matrix::draw(&mut draw);
        let (x, y) = (draw.next_u64(), draw.next_u64());
        let sum = matrix.image(x) ^ matrix.image(y) ^ matrix.image(0);
        assert_eq!(matrix.image(x ^ y), sum);
        assert_ne!(matrix.image(0), 0);
    }

    #[test]
    fn tabulation_is_not_affine() {
        let mut draw = Draw::new(5);
        let tables = Tables::draw(&mut draw);
        let sum = tables.image(1) ^ tables.image(2) ^ tables.image(0);
        assert_ne!(tables.image(3), sum);
    }

    #[test]
    fn tabulation_reads_every_byte_in_its_own_table() {
        let tables = Tables::draw(&mut Draw::new(6));
        let by_definition = |x: u64| {
            let bytes = x.to_le_bytes().into_iter().enumerate();
            bytes.fold(0, |sum, (i, byte)| sum ^ tables.0[i][usize::from(byte)])
        };
        for x in [0, 1, 0x0102_0304_0506_0708, u64::MAX] {
            assert_eq!(tables.image(x), by_definition(x));
        }
    }

    #[test]
    fn tables_side_by_side_are_the_tables() {
        let mut draw = Draw::new(9);
        let (left, right) = (Tables::draw(&mut draw), Tables::draw(&mut draw));
        let pair = TablePair::new(&left, &right);
        for x in [0, 1, u64::MAX, draw.next_u64(), draw.next_u64()] {
            assert_eq!(pair.images(x), [left.image(x), right.image(x)]);
        }
    }

    #[test]
    fn every_lead_byte_is_equally_common() {
        // Byte j of an invertible map takes each value once on any 8 input bits
        // that span it; over 2^16 random inputs each of 256 values is expected 256
        // times, standard deviation 16. The largest of 8 x 256 deviations stays
        // under 5 of them with probability above 0.998.
        let mut draw = Draw::new(7);
        let group = LeadBytes::draw(&mut draw);
        let mut count = vec![[0_i32; 256]; 8];
        for _ in 0..1 << 16 {
            let leads = group.leads(draw.next_u64()).to_le_bytes();
            for (j, lead) in leads.into_iter().enumerate() {
                count[j][usize::from(lead)] += 1;
            }
        }
        let worst = count.iter().flatten().map(|n| (n - 256).abs()).max();
        assert!(worst < Some(80), "{worst:?}");
    }

    #[test]
    fn tails_come_as_seldom_as_the_slides_say() {
        // Fingerprints arrive at random. Until the first lead byte 0, a tail is due
        // whenever the lead byte is at most the least so far. A value v > 0 is due 1/v
        // times on average, for it must come before the v smaller ones again
        // and again; 0 is due once: H(255) + 1 = 7.1204. The number for v is geometric
        // with variance 1/v + 1/v², together under 7.8; over 8 x 1,000 runs the
        // standard error is sqrt(7.8/8000) = 0.0312 and four of them 0.125.
        let mut draw = Draw::new(8);
        let mut due = 0_u32;
        for _ in 0..1000 {
            let group = LeadBytes::draw(&mut draw);
            let mut least = [u8::MAX; 8];
            while least != [0; 8] {
                let leads = group.leads(draw.next_u64()).to_le_bytes();
                for (least, lead) in least.iter_mut().zip(leads) {
                    if *least > 0 && lead <= *least {
                        *least = lead;
                        due += 1;
                    }
                }
            }
        }
        let mean = f64::from(due) / 8000.0;
        assert!((mean - 7.1204).abs() < 0.125, "{mean}");
    }
}
