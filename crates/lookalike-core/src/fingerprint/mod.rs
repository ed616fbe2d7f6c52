//! Shingle → fingerprint: Rabin's scheme twice, then a bijective mix.
//!
//! ```text
//! token bytes ─► 8-byte chunks as one polynomial mod P₁ ─► 64-bit token value
//! w token values ─► one polynomial of degree < 64·w mod P₂ ─► sliding over the document
//!                                                          ─► mix ─► Fingerprint
//! ```
//!
//! A token of up to 8 bytes has degree below 64: its value *is* its bytes. Longer ones
//! fold chunk by chunk. Both levels step by `x^64`, so they must not share a modulus:
//! with one, the first chunk of a long token would land on the token before it, and
//! "scandir scandirat" would collide with "symlink symlinkat" (the regression test
//! below). Hence [`Rabin`] draws two.
//!
//! # The collision bound
//!
//! There are (2^64 − 2^32)/64 irreducible polynomials of degree 64. Two different
//! strings collide only under those that divide their difference, and a polynomial of
//! degree `d` has at most `d/64` such factors. So for two different shingles of `w`
//! tokens whose longest token has `b` bits, over the random choice of both moduli,
//!
//! ```text
//! Pr[collision] ≤ (w·b + 64·w) / 2^63
//! ```
//!
//! (one bound for each pair of tokens, one for the window; 2^63 instead of 2^64 covers
//! the 2^32 missing polynomials: paper 002 §4.1 states the same form). Ten-byte words,
//! w = 10: 2^-52.4 for one pair; 10^6 different shingles collide anywhere with
//! probability at most 2^-13.6 by this bound, and about 2^-25 in practice.
//!
//! # The mix
//!
//! Rabin's function is linear, so sampling on its bits would follow structure in the
//! text. [`Mix::Public`] is a fixed bijection (two multiplications); [`Mix::Secret`] is
//! the block cipher Speck64/128, because a key that only chooses polynomials can be
//! solved for from the output.

pub mod gf2;

use crate::draw::mix;
use crate::seed::Stream;
use gf2::Modulus;

/// The 64-bit name of one shingle: Rabin's fingerprint, then a bijective mix, so
/// that over the recipe's seed it behaves like a random permutation's value.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[repr(transparent)]
pub struct Fingerprint(pub u64);

/// A recipe's fingerprint function: two moduli and a mix, all drawn from its seed.
#[derive(Clone, Debug)]
pub struct Rabin {
    /// P₁: folds the chunks of one token.
    pub token: Modulus,
    /// P₂: folds the tokens of one shingle.
    pub window: Modulus,
    /// What follows, so that linear structure does not reach the sample.
    pub mix: Mix,
}

impl Rabin {
    /// Draws both moduli and the mix.
    pub fn draw(stream: &mut Stream) -> Rabin {
        let token = Modulus::draw(|| stream.next_u64());
        let window = loop {
            let other = Modulus::draw(|| stream.next_u64());
            if other != token {
                break other;
            }
        };
        Rabin {
            token,
            window,
            mix: Mix::draw(stream),
        }
    }

    /// The 64-bit value of one token: its bytes as a polynomial, modulo P₁.
    ///
    /// Injective up to Rabin's bound for tokens without NUL bytes, the only ones
    /// [`crate::canonical`] makes. O(bytes), the obvious version.
    pub fn token_value(&self, bytes: &[u8]) -> u64 {
        bytes.chunks(8).fold(0, |value, chunk| {
            let mut padded = [0; 8];
            padded[..chunk.len()].copy_from_slice(chunk);
            self.token.reduce(u128::from(value) << 64) ^ u64::from_le_bytes(padded)
        })
    }

    /// The fingerprint of one shingle, from its token values. O(w), the obvious version.
    pub fn shingle(&self, tokens: &[u64]) -> Fingerprint {
        self.mix.apply(self.residue(tokens))
    }

    /// The fingerprint of the shingle's `occurrence`-th appearance (from 1) in its
    /// document, paper 002's option A: the label is one more token, so labels of one
    /// shingle are as unrelated as different shingles.
    pub fn labelled(&self, tokens: &[u64], occurrence: u64) -> Fingerprint {
        self.mix
            .apply(self.extend(self.residue(tokens), occurrence))
    }

    /// The shingle's polynomial modulo P₂, before the mix.
    pub fn residue(&self, tokens: &[u64]) -> u64 {
        tokens
            .iter()
            .fold(0, |value, &token| self.extend(value, token))
    }

    /// One token more at the end.
    pub(crate) fn extend(&self, residue: u64, token: u64) -> u64 {
        self.window.reduce(u128::from(residue) << 64) ^ token
    }
}

/// A bijection of 64-bit words that breaks linearity.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Mix {
    /// Seeded, public: xor, then the "variant 13" finaliser of Stafford.
    Public(u64),
    /// Speck64/128 with these 27 round keys.
    Secret(Box<[u32; 27]>),
}

impl Mix {
    fn draw(stream: &mut Stream) -> Mix {
        if stream.is_secret() {
            let ((b, a), (d, c)) = (halves(stream.next_u64()), halves(stream.next_u64()));
            Mix::Secret(Box::new(speck_round_keys([a, b, c, d])))
        } else {
            Mix::Public(stream.next_u64())
        }
    }

    /// The mixed value.
    #[inline]
    pub fn apply(&self, residue: u64) -> Fingerprint {
        Fingerprint(match self {
            Mix::Public(seed) => public_mix(residue, *seed),
            Mix::Secret(keys) => speck_encrypt(residue, keys),
        })
    }

    /// Mixes every value in place.
    #[inline]
    pub(crate) fn apply_all(&self, residues: &mut [u64]) {
        match self {
            Mix::Public(seed) => residues.iter_mut().for_each(|x| *x = public_mix(*x, *seed)),
            Mix::Secret(keys) => residues
                .iter_mut()
                .for_each(|x| *x = speck_encrypt(*x, keys)),
        }
    }
}

#[inline]
fn public_mix(residue: u64, seed: u64) -> u64 {
    mix(residue ^ seed)
}

/// The high and the low half of a word.
#[inline]
#[expect(
    clippy::cast_possible_truncation,
    reason = "cutting a word in two is the point"
)]
fn halves(word: u64) -> (u32, u32) {
    ((word >> 32) as u32, word as u32)
}

#[inline]
fn speck_round(x: &mut u32, y: &mut u32, key: u32) {
    *x = x.rotate_right(8).wrapping_add(*y) ^ key;
    *y = y.rotate_left(3) ^ *x;
}

#[inline]
fn speck_encrypt(block: u64, keys: &[u32; 27]) -> u64 {
    let (mut x, mut y) = halves(block);
    for &key in keys {
        speck_round(&mut x, &mut y, key);
    }
    u64::from(x) << 32 | u64::from(y)
}

/// The key schedule of Speck64/128; `key[0]` is the first round key.
fn speck_round_keys(key: [u32; 4]) -> [u32; 27] {
    let [mut k, mut l0, mut l1, mut l2] = key;
    let mut keys = [0; 27];
    for (round, slot) in (0..).zip(&mut keys) {
        *slot = k;
        let mut l = l0;
        speck_round(&mut l, &mut k, round);
        (l0, l1, l2) = (l1, l2, l);
    }
    keys
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::Seed;

    fn rabin() -> Rabin {
        Rabin::draw(&mut Seed::Public(0).stream("test"))
    }

    #[test]
    fn a_short_token_is_its_own_value() {
        assert_eq!(
            rabin().token_value(b"rose"),
            u64::from_le_bytes(*b"rose\0\0\0\0")
        );
        assert_eq!(
            rabin().token_value(b"eighteen"),
            u64::from_le_bytes(*b"eighteen")
        );
    }

    #[test]
    fn scandir_scandirat_differs_from_symlink_symlinkat() {
        // With one modulus for both levels these collide for every modulus: the first
        // 8 bytes of "Xat…" would be added to the token before it.
        let rabin = rabin();
        let pair = |a: &str, b: &str| {
            rabin.shingle(&[
                rabin.token_value(a.as_bytes()),
                rabin.token_value(b.as_bytes()),
            ])
        };
        assert_ne!(pair("scandir", "scandirat"), pair("symlink", "symlinkat"));
        assert_ne!(pair("scandir", "scandirat"), pair("utimens", "utimensat"));
        let one = Rabin {
            window: rabin.token,
            ..rabin.clone()
        };
        let flawed = |a: &str, b: &str| {
            one.shingle(&[one.token_value(a.as_bytes()), one.token_value(b.as_bytes())])
        };
        assert_eq!(
            flawed("scandir", "scandirat"),
            flawed("symlink", "symlinkat")
        );
    }

    #[test]
    fn speck_gives_the_published_test_vector() {
        // Beaulieu et al., "The Simon and Speck families", appendix C, Speck64/128.
        let keys = speck_round_keys([0x0302_0100, 0x0b0a_0908, 0x1312_1110, 0x1b1a_1918]);
        assert_eq!(
            speck_encrypt(0x3b72_6574_7475_432d, &keys),
            0x8c6f_a548_454e_028b
        );
    }

    #[test]
    fn labels_of_one_shingle_differ_in_half_their_bits() {
        let rabin = rabin();
        // 1,000 pairs of 64 bits: mean 32 differing, standard deviation 4/√1000 of the mean.
        let total: u32 = (1..=1000)
            .map(|i| {
                (rabin.labelled(&[7, 8, 9], i).0 ^ rabin.labelled(&[7, 8, 9], i + 1).0).count_ones()
            })
            .sum();
        assert!((31_400..=32_600).contains(&total), "{total}");
    }

    /// Rabin's fingerprint for a modulus of any degree `k` ≤ 32, bit by bit.
    fn small_fingerprint(bits: &[bool], modulus: u64, k: u32) -> u64 {
        bits.iter().fold(0, |value, &bit| {
            let value = value << 1 | u64::from(bit);
            if value >> k & 1 == 1 {
                value ^ modulus
            } else {
                value
            }
        })
    }

    #[test]
    fn colliding_moduli_stay_within_the_bound_of_paper_002() {
        // Degree 12 is small enough to try every irreducible modulus there is (335) on
        // every pair: the share that makes a pair collide is the probability itself.
        const K: u32 = 12;
        let reducible = |p: u64| {
            (2_u64..1 << (K / 2 + 1)).any(|d| {
                let mut rest = p;
                while rest.leading_zeros() <= d.leading_zeros() {
                    rest ^= d << (d.leading_zeros() - rest.leading_zeros());
                    if rest == 0 {
                        return true;
                    }
                }
                false
            })
        };
        let moduli: Vec<u64> = (1 << K..1 << (K + 1)).filter(|&p| !reducible(p)).collect();
        assert_eq!(moduli.len(), 335);
        let mut state = 5_u64;
        let mut string = |len: usize| -> Vec<bool> {
            (0..len)
                .map(|_| {
                    state = state
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1);
                    state >> 62 & 1 == 1
                })
                .collect()
        };
        for len in [24, 60, 120, 400] {
            for _ in 0..50 {
                let (mut a, mut b) = (string(len), string(len));
                (a[0], b[0]) = (true, true); // leading zeros do not count in a polynomial
                if a == b {
                    continue;
                }
                let bad = moduli
                    .iter()
                    .filter(|&&p| small_fingerprint(&a, p, K) == small_fingerprint(&b, p, K))
                    .count();
                let bound = len as f64 / f64::from(1 << (K - 1));
                assert!(
                    bad as f64 / moduli.len() as f64 <= bound,
                    "{bad} of 335 at {len} bits"
                );
            }
        }
    }
}
