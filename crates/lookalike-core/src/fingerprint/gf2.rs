//! Polynomials over GF(2): the arithmetic under Rabin's fingerprints.
//!
//! A `u64` is a polynomial of degree below 64, bit `i` the coefficient of `x^i`;
//! addition is `^`. [`Modulus`] is an irreducible polynomial of degree 64, drawn at
//! random and *tested*: Rabin's collision bound holds for irreducible ones only.
//!
//! Everything here is the obvious slow version, but for the drawing of a modulus, which
//! looks for small factors first. It runs a few thousand times when a recipe is made, and
//! judges the table-driven and vector code in [`crate::simd`].

/// The product of two polynomials, unreduced: degree up to 126.
pub fn multiply(a: u64, b: u64) -> u128 {
    (0..64)
        .filter(|i| b >> i & 1 == 1)
        .fold(0, |sum, i| sum ^ (u128::from(a) << i))
}

/// An irreducible polynomial of degree 64, without its leading term `x^64`.
///
/// # Invariants
///
/// Irreducible: the only constructors test it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Modulus(u64);

impl Modulus {
    /// The modulus `x^64 + low`, or `None` when that polynomial has a factor.
    pub fn new(low: u64) -> Option<Modulus> {
        is_irreducible(low).then_some(Modulus(low))
    }

    /// Draws candidates until one is irreducible. One in 32 of those with a constant
    /// term is, so about 32 draws.
    pub fn draw(mut next: impl FnMut() -> u64) -> Modulus {
        loop {
            // Without a constant term x would be a factor.
            if let Some(modulus) = Modulus::new(next() | 1) {
                return modulus;
            }
        }
    }

    /// The coefficients below `x^64`.
    pub fn low(self) -> u64 {
        self.0
    }

    /// The remainder of a polynomial of degree up to 127.
    pub fn reduce(self, a: u128) -> u64 {
        reduce(a, self.0)
    }

    /// The product of two residues.
    pub fn product(self, a: u64, b: u64) -> u64 {
        self.reduce(multiply(a, b))
    }

    /// `x^n`, by repeated squaring.
    pub fn power_of_x(self, mut n: u64) -> u64 {
        let (mut result, mut square) = (1_u64, 2_u64);
        while n > 0 {
            if n & 1 == 1 {
                result = self.product(result, square);
            }
            square = self.product(square, square);
            n >>= 1;
        }
        result
    }

    /// `x^128` divided by the modulus, without its own leading term `x^64`: what
    /// Barrett's reduction multiplies by.
    pub fn barrett(self) -> u64 {
        // Long division of x^128: the first quotient digit, x^64, leaves low·x^64.
        let (mut rest, mut quotient) = (u128::from(self.0) << 64, 0_u64);
        for i in (0..64).rev() {
            if rest >> (64 + i) & 1 == 1 {
                quotient |= 1 << i;
                rest ^= (1 << (64 + i)) ^ (u128::from(self.0) << i);
            }
        }
        quotient
    }
}

/// The coefficients below `x^64`.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the low half is what is asked for"
)]
pub(crate) fn low_word(a: u128) -> u64 {
    a as u64
}

fn reduce(mut a: u128, low: u64) -> u64 {
    for i in (64..128).rev() {
        if a >> i & 1 == 1 {
            a ^= (1_u128 << i) ^ (u128::from(low) << (i - 64));
        }
    }
    low_word(a)
}

/// Rabin's test for degree 64, whose only prime divisor is 2: `P` is irreducible
/// if and only if `x^(2^64) = x` modulo `P` and `x^(2^32) - x` has no factor in
/// common with `P`.
fn is_irreducible(low: u64) -> bool {
    // An even number of terms, `x^64` among them: x + 1 is a factor. Half of all
    // candidates end here, and of the others nine in ten by another small factor.
    if low.count_ones() % 2 == 1 || (4..=6).any(|degree| has_factor_of_degree(degree, low)) {
        return false;
    }
    let squares = Squares::new(low);
    let square_times = |power, times| (0..times).fold(power, |power, _| squares.of(power));
    let half = square_times(2, 32);
    square_times(half, 32) == 2 && gcd(1 << 64 | u128::from(low), u128::from(half ^ 2)) == 1
}

/// Whether `x^64 + low` has an irreducible factor whose degree divides `degree`, which is 6
/// at most: `x^(2^degree) - x` is the product of all of them.
fn has_factor_of_degree(degree: u32, low: u64) -> bool {
    // Modulo that product `x^e` is `x^(e - (2^degree - 1))`: the coefficients but the first
    // are cut into pieces of that length and added up.
    let period = (1 << degree) - 1;
    let mut rest = 1 << 63 | low >> 1;
    let mut folded = 0;
    while rest != 0 {
        folded ^= rest & ((1 << period) - 1);
        rest >>= period;
    }
    let remainder = u128::from(folded) << 1 | u128::from(low & 1);
    gcd(1 << (period + 1) | 2, remainder) != 1
}

/// Squares modulo `x^64 + low`. A square has every other coefficient only, and those from
/// `x^64` on are looked up: the square of a sum is the sum of the squares.
struct Squares {
    /// `x^64`, `x^66` and so on, reduced.
    upper: [u64; 32],
}

impl Squares {
    fn new(low: u64) -> Squares {
        let times_x = |a: u64| a << 1 ^ if a >> 63 == 1 { low } else { 0 };
        let mut upper = [low; 32];
        for i in 1..upper.len() {
            upper[i] = times_x(times_x(upper[i - 1]));
        }
        Squares { upper }
    }

    fn of(&self, a: u64) -> u64 {
        let mut sum = low_word(square(a & 0xffff_ffff));
        let mut high = a >> 32;
        while high != 0 {
            sum ^= self.upper[high.trailing_zeros() as usize];
            high &= high - 1;
        }
        sum
    }
}

/// The product of a polynomial with itself: its coefficients, every other place empty.
fn square(a: u64) -> u128 {
    let spread = |half: u64| {
        let steps = [
            (16, 0x0000_ffff_0000_ffff),
            (8, 0x00ff_00ff_00ff_00ff),
            (4, 0x0f0f_0f0f_0f0f_0f0f),
            (2, 0x3333_3333_3333_3333),
            (1, 0x5555_5555_5555_5555_u64),
        ];
        let half = half & 0xffff_ffff;
        let spread = |bits: u64, (by, mask): (u32, u64)| (bits | bits << by) & mask;
        u128::from(steps.into_iter().fold(half, spread))
    };
    spread(a >> 32) << 64 | spread(a)
}

fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        // The remainder of a by b, then swap.
        while a != 0 && a.leading_zeros() <= b.leading_zeros() {
            a ^= b << (b.leading_zeros() - a.leading_zeros());
        }
        (a, b) = (b, a);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_irreducible_and_reducible_polynomials_are_told_apart() {
        // x^64 + x^4 + x^3 + x + 1 is the usual lexicographically least one.
        assert!(is_irreducible(0b1_1011));
        // A factor x; a factor x + 1 (even number of terms); a square.
        assert!(!is_irreducible(0b1_1010));
        assert!(!is_irreducible(0b1_1001));
        assert!(!is_irreducible(1));
    }

    #[test]
    fn a_product_of_two_irreducible_polynomials_of_degree_32_is_caught() {
        // x^(2^64) = x holds for such a product too: only the gcd tells.
        // Both irreducible of degree 32: x^32+x^7+x^3+x^2+1 and x^32+x^7+x^6+x^2+1.
        let (p, q) = (1_u64 << 32 | 0b1000_1101, 1_u64 << 32 | 0b1100_0101);
        let product = multiply(p, q);
        assert_eq!(product >> 64, 1);
        let low = low_word(product);
        let fixed = (0..64).fold(2, |power, _| reduce(multiply(power, power), low));
        assert_eq!(fixed, 2, "both factors are irreducible of degree 32");
        assert!(!is_irreducible(low_word(product)));
    }

    /// The test by definition, without what ends it early.
    fn is_irreducible_by_definition(low: u64) -> bool {
        let power = |n: u32| (0..n).fold(2, |power, _| reduce(multiply(power, power), low));
        power(64) == 2 && gcd(1 << 64 | u128::from(low), u128::from(power(32) ^ 2)) == 1
    }

    #[test]
    fn small_factors_are_found_and_squares_reduced_as_by_definition() {
        let mut state = 3_u64;
        for _ in 0..4096 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let low = state ^ state >> 29;
            assert_eq!(square(low), multiply(low, low));
            let modulus = state | 1;
            assert_eq!(Squares::new(modulus).of(low), reduce(square(low), modulus));
            for degree in 4..=6 {
                let power = (0..degree).fold(2, |power, _| reduce(square(power), modulus));
                let common = gcd(1 << 64 | u128::from(modulus), u128::from(power ^ 2));
                assert_eq!(has_factor_of_degree(degree, modulus), common != 1);
            }
            assert_eq!(
                is_irreducible(low | 1),
                is_irreducible_by_definition(low | 1)
            );
        }
    }

    #[test]
    fn one_odd_candidate_in_32_is_irreducible() {
        // 2^64/64 irreducible polynomials, all odd, among 2^63 odd ones: 1/32.
        // 4,096 candidates: mean 128, standard deviation 11.1; four of them allowed.
        let mut state = 1_u64;
        let found = (0..4096)
            .filter(|_| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                is_irreducible(state ^ state >> 29 | 1)
            })
            .count();
        assert!((84..=172).contains(&found), "{found}");
    }

    #[test]
    fn powers_of_x_add_their_exponents() {
        let p = Modulus::new(0b1_1011).expect("irreducible");
        for (a, b) in [(0, 0), (3, 61), (64, 64), (640, 1), (1 << 40, 12_345)] {
            assert_eq!(
                p.product(p.power_of_x(a), p.power_of_x(b)),
                p.power_of_x(a + b)
            );
        }
        assert_eq!(p.power_of_x(64), p.low());
    }

    #[test]
    fn barrett_quotient_reduces_like_long_division() {
        let p = Modulus::draw({
            let mut n = 7_u64;
            move || {
                n = n.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(99);
                n
            }
        });
        let mut a = 0x1234_5678_9abc_def0_0fed_cba9_8765_4321_u128;
        for _ in 0..100 {
            a = a.wrapping_mul(0xda94_2042_e4dd_58b5).rotate_left(17);
            let (high, low) = (low_word(a >> 64), low_word(a));
            // q = high·x^64 / P exactly, because the cut-off terms have no carry.
            let q = high ^ low_word(multiply(high, p.barrett()) >> 64);
            assert_eq!(low ^ low_word(multiply(q, p.low())), p.reduce(a));
        }
    }
}
