//! Words with Zipf's frequencies, drawn and written at memory speed.
//!
//! ```text
//! random number ─► rank: an exponential by table ─► head and tail of the word, 8 bytes copied
//! of each ─► separator, 4 bytes copied
//! ```
//!
//! A word is a head and a tail out of two small lists, so that all tables stay in the first
//! cache (11 KB). A piece is copied as 8 bytes whatever its length, and the next one overwrites what was too
//! much: no branch a word.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "random bits are cut to size everywhere here"
)]

/// Different tails; a rank's low nine bits choose one.
const TAILS: usize = 512;
/// Different heads, the first of them empty: the most frequent words are a tail only.
const HEADS: usize = 391;
/// Different words.
pub const WORDS: usize = HEADS * TAILS;

/// Shifts the ranks, as Mandelbrot did, so that the first word has 3 % and not 8.
const SHIFT: f64 = 2.7;

/// Bytes of a piece's slot: six letters at most, and the length last.
const SLOT: usize = 8;

/// Steps of the exponential's table, between which it is linear.
const STEPS: usize = 1024;

/// xoshiro256++: four words of state, no multiplication.
pub struct Random([u64; 4]);

impl Random {
    /// A stream of its own for every seed.
    pub fn new(seed: u64) -> Random {
        let mut state = seed;
        Random(std::array::from_fn(|_| {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let x = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            x ^ (x >> 31)
        }))
    }

    /// The next 64 bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        let [a, b, c, d] = &mut self.0;
        let out = a.wrapping_add(*d).rotate_left(23).wrapping_add(*a);
        let shifted = *b << 17;
        *c ^= *a;
        *d ^= *b;
        *b ^= *c;
        *a ^= *d;
        *c ^= shifted;
        *d = d.rotate_left(45);
        out
    }

    /// Below `n`, evenly but for one part in 2^32 or less.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(n)) >> 64) as u64
    }

    /// From 0 up to 1.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// What stands between two words.
#[derive(Clone, Copy)]
struct Separator {
    bytes: [u8; 4],
    len: u8,
    /// Flips a bit of the next word's first letter: 0x20 makes a capital.
    capital: u8,
}

/// One of 32 separators after each word, drawn evenly.
pub struct Style([Separator; 32]);

const fn separator(text: &[u8], capital: u8) -> Separator {
    let mut bytes = [b' '; 4];
    let mut i = 0;
    while i < text.len() {
        bytes[i] = text[i];
        i += 1;
    }
    Separator {
        bytes,
        len: text.len() as u8,
        capital,
    }
}

const fn style(usual: Separator, rare: [Separator; 4]) -> Style {
    let mut all = [usual; 32];
    let mut i = 0;
    while i < 4 {
        all[i] = rare[i];
        i += 1;
    }
    Style(all)
}

/// As people write: commas and full stops.
pub static PLAIN: Style = style(
    separator(b" ", 0),
    [
        separator(b", ", 0),
        separator(b", ", 0),
        separator(b". ", 0x20),
        separator(b".\\n", 0x20),
    ],
);

/// The same words as nobody writes them.
pub static SHOUTED: Style = style(
    separator(b"  ", 0x20),
    [
        separator(b" - ", 0),
        separator(b"! ", 0x20),
        separator(b"\\n\\n", 0x20),
        separator(b"; ", 0),
    ],
);

/// The words and how often each comes.
pub struct Vocabulary {
    heads: Vec<[u8; SLOT]>,
    tails: Vec<[u8; SLOT]>,
    /// 2^(i / STEPS), for i up to and with STEPS.
    powers: [f32; STEPS + 1],
}

impl Default for Vocabulary {
    fn default() -> Vocabulary {
        Vocabulary::new()
    }
}

impl Vocabulary {
    /// The one vocabulary: it does not depend on any seed.
    pub fn new() -> Vocabulary {
        let mut random = Random::new(1997);
        // Letters a to m and n to z: where the tail begins can be seen, so no two words
        // are the same.
        let mut heads = vec![[0; SLOT]];
        heads.extend(pieces(HEADS - 1, b'a', &mut random));
        Vocabulary {
            heads,
            tails: pieces(TAILS, b'n', &mut random),
            powers: std::array::from_fn(|i| (i as f64 / STEPS as f64).exp2() as f32),
        }
    }

    /// A word, as its rank: rank r comes with a chance of ln((r + 1 + s) / (r + s)) over
    /// ln((WORDS + s) / s), which is Zipf's 1 / r but for the first few.
    #[inline]
    pub fn word(&self, random: &mut Random) -> u32 {
        // s · 2^(u · log2((WORDS + s) / s)) − s for an even u, in 32.32 fixed point.
        const OCTAVES: u128 = 69_484_345_332; // 16.178… · 2^32
        let exponent = ((u128::from(random.bits()) * OCTAVES) >> 64) as u64;
        let (whole, fraction) = ((exponent >> 32) as u32, exponent as u32);
        let step = (fraction >> 22) as usize;
        let between = (fraction & 0x3f_ffff) as f32 / 4_194_304.0;
        let (low, high) = (self.powers[step], self.powers[step + 1]);
        let power = low + (high - low) * between;
        // 2^whole by its bits: the exponent stands above 23 bits of fraction.
        let octave = f32::from_bits((127 + whole) << 23);
        let rank = power * octave * (SHIFT as f32) - SHIFT as f32;
        (rank as u32).min(WORDS as u32 - 1)
    }

    /// Appends so many words.
    pub fn draw(&self, words: usize, random: &mut Random, out: &mut Vec<u32>) {
        out.extend((0..words).map(|_| self.word(random)));
    }

    /// Appends the words as the inside of a JSON string.
    pub fn render(&self, words: &[u32], style: &Style, random: &mut Random, out: &mut Vec<u8>) {
        let start = out.len();
        // Room for the longest there can be.
        out.resize(start + words.len() * (2 * SLOT + 4) + SLOT, 0);
        let text = &mut out[start..];
        let (mut at, mut bits, mut capital, mut end) = (0, 0, 0x20, 0);
        for (i, &word) in words.iter().enumerate() {
            if i.is_multiple_of(12) {
                bits = random.bits();
            }
            let word = word as usize;
            let (head, tail) = (&self.heads[word / TAILS], &self.tails[word % TAILS]);
            let first = at;
            text[at..at + SLOT].copy_from_slice(head);
            at += usize::from(head[SLOT - 1]);
            text[at..at + SLOT].copy_from_slice(tail);
            at += usize::from(tail[SLOT - 1]);
            text[first] ^= capital;
            end = at;
            let separator = &style.0[(bits & 31) as usize];
            bits >>= 5;
            text[at..at + 4].copy_from_slice(&separator.bytes);
            at += usize::from(separator.len);
            capital = separator.capital;
        }
        out.truncate(start + end);
        out.push(b'.');
    }
}

/// So many different pieces of one to six of the thirteen letters from `first` on, short
/// ones more often at the start.
fn pieces(count: usize, first: u8, random: &mut Random) -> Vec<[u8; SLOT]> {
    let mut all: Vec<[u8; SLOT]> = Vec::with_capacity(count);
    while all.len() < count {
        let middle = 2.0 + 3.5 * (all.len() as f64 / count as f64).sqrt();
        let length = (middle + 3.0 * (random.unit() - 0.5)).round();
        let length = length.clamp(1.0, 6.0) as u8;
        let mut piece = [0; SLOT];
        for letter in &mut piece[..usize::from(length)] {
            *letter = first + random.below(13) as u8;
        }
        piece[SLOT - 1] = length;
        // Of one letter there are thirteen only: then the next draw is longer.
        if !all.contains(&piece) {
            all.push(piece);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn frequencies_are_zipfs() {
        let vocabulary = Vocabulary::new();
        let mut counts = vec![0_u32; WORDS];
        let mut random = Random::new(3);
        let draws = 4_000_000;
        for _ in 0..draws {
            counts[vocabulary.word(&mut random) as usize] += 1;
        }
        let total = ((WORDS as f64 + SHIFT) / SHIFT).ln();
        // Single words, then ranges of them, up to the last.
        for (from, to) in [
            (0, 1),
            (1, 2),
            (10, 11),
            (100, 101),
            (1000, 1100),
            (190_000, WORDS),
        ] {
            let share = ((to as f64 + SHIFT) / (from as f64 + SHIFT)).ln() / total;
            let expected = f64::from(draws) * share;
            let count = f64::from(counts[from..to].iter().sum::<u32>());
            // Five standard deviations of a Poisson count.
            let off = (count - expected).abs();
            assert!(off < 5.0 * expected.sqrt(), "{from}: {count} {expected}");
        }
    }

    #[test]
    fn words_are_different_and_of_letters() {
        let vocabulary = Vocabulary::new();
        let mut random = Random::new(1);
        let ranks: Vec<u32> = (0..WORDS as u32).collect();
        let mut text = Vec::new();
        vocabulary.render(&ranks, &PLAIN, &mut random, &mut text);
        let text = String::from_utf8(text).expect("ASCII").replace("\\n", " ");
        let words: BTreeSet<String> = text
            .split([' ', ',', '.'])
            .filter(|word| !word.is_empty())
            .map(str::to_ascii_lowercase)
            .collect();
        assert_eq!(words.len(), WORDS);
        assert!(words.iter().all(|word| word.len() <= 12));
    }
}
