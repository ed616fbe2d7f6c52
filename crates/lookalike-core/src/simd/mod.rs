//! The hot loops, three times each: portable, AVX2 and AVX-512, bit for bit equal.
//!
//! ```text
//! plain text ─► class masks of 64 bytes ─► token starts and ends ─► token values (Rabin, P₁)
//! token values ─► sliding window (Rabin, P₂) ─► mix ─► fingerprints
//! ```
//!
//! `Kernel` holds what a recipe draws and is the only door to these: it picks the best
//! [`Level`] the processor has, or the one it is told. What each level does:
//!
//! | | classes of 64 bytes | token values | window step |
//! |---|---|---|---|
//! | portable | byte arithmetic LLVM can vectorise, bits gathered by multiplication | one masked load a token; 8 look-ups for each further 8 bytes | 16 look-ups, two stretches of the document at once |
//! | AVX2 | 2 × 32 bytes, compares and `movemask` | the same loads; carry-less multiplication | 3 carry-less multiplications, four stretches of the document at once; two in each register where there is VPCLMULQDQ |
//! | AVX-512 | 64 bytes at once, classes by table | positions by byte compression, 8 tokens at once | the same, eight stretches in two registers |
//!
//! This is the only module of the crate with `unsafe`: calls across a feature
//! check, and vector loads and stores through pointers.

#![expect(
    unsafe_code,
    reason = "vector instructions; the only place in this crate"
)]
#![expect(
    clippy::inline_always,
    reason = "a closure or helper that stays a call loses the vector features"
)]
#![expect(
    clippy::cast_ptr_alignment,
    reason = "all vector loads and stores are the unaligned ones"
)]
#![expect(
    clippy::cast_possible_truncation,
    reason = "a stretch is shorter than 2^16 bytes, asserted in make_room"
)]

pub mod bytes;

mod masks;

mod portable;

#[cfg(target_arch = "x86_64")]
mod avx2;

#[cfg(target_arch = "x86_64")]
mod avx512;

use crate::canonical::Case;
use crate::fingerprint::Rabin;
use std::fmt;
use std::str::FromStr;

/// Which instructions the hot loops use. The answers are the same.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Level {
    /// None in particular.
    Portable,
    /// AVX2, BMI1, BMI2, POPCNT, PCLMULQDQ: x86-64 since 2013.
    Avx2,
    /// AVX-512 F, BW, DQ, VL, VBMI, VBMI2 and VPCLMULQDQ: Ice Lake, Zen 4 and later.
    Avx512,
}

impl Level {
    const ALL: [(Level, &'static str); 3] = [
        (Level::Portable, "portable"),
        (Level::Avx2, "avx2"),
        (Level::Avx512, "avx512"),
    ];

    /// The best one this processor has.
    pub fn best() -> Level {
        Level::available().last().unwrap_or(Level::Portable)
    }

    /// All that this processor has, slowest first.
    pub fn available() -> impl Iterator<Item = Level> {
        Level::ALL
            .into_iter()
            .map(|(level, _)| level)
            .filter(|level| level.is_available())
    }

    /// Whether this processor has it.
    pub fn is_available(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        match self {
            Level::Portable => true,
            Level::Avx2 => {
                is_x86_feature_detected!("avx2")
                    && is_x86_feature_detected!("bmi1")
                    && is_x86_feature_detected!("bmi2")
                    && is_x86_feature_detected!("popcnt")
                    && is_x86_feature_detected!("pclmulqdq")
            }
            Level::Avx512 => {
                Level::Avx2.is_available()
                    && is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512vl")
                    && is_x86_feature_detected!("avx512vbmi")
                    && is_x86_feature_detected!("avx512vbmi2")
                    && is_x86_feature_detected!("vpclmulqdq")
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        (self == Level::Portable)
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            Level::ALL
                .iter()
                .find(|(level, _)| level == self)
                .map_or("", |(_, name)| name),
        )
    }
}

/// A level that does not exist, or not here.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum NoSuchLevel {
    /// Not a name of one.
    #[error("unknown instruction level `{0}`; there are portable, avx2 and avx512")]
    Unknown(String),
    /// This processor lacks it.
    #[error("this processor has no `{0}`; the best it has is `{best}`", best = Level::best())]
    Unavailable(Level),
}

impl FromStr for Level {
    type Err = NoSuchLevel;

    fn from_str(name: &str) -> Result<Level, NoSuchLevel> {
        let known = Level::ALL.iter().find(|(_, known)| *known == name);
        let level = known
            .map(|(level, _)| *level)
            .ok_or_else(|| NoSuchLevel::Unknown(name.to_owned()))?;
        if level.is_available() {
            Ok(level)
        } else {
            Err(NoSuchLevel::Unavailable(level))
        }
    }
}

/// The constants of one recipe, ready for the loops.
#[derive(Clone, Debug)]
pub(crate) struct Kernel {
    level: Level,
    /// Whether two products fit one AVX2 register (VPCLMULQDQ).
    wide: bool,
    rabin: Rabin,
    width: usize,
    case: Case,
    token: Fold,
    window: Fold,
    /// `x^(64·w)` modulo P₂: what the token that leaves the window has become.
    leaving: u64,
    tables: portable::Tables,
}

fn has_wide_products() -> bool {
    #[cfg(target_arch = "x86_64")]
    let has = is_x86_feature_detected!("vpclmulqdq");
    #[cfg(not(target_arch = "x86_64"))]
    let has = false;
    has
}

/// What multiplying by `x^64` and reducing needs, for one modulus.
#[derive(Clone, Copy, Debug)]
struct Fold {
    /// `x^64` modulo P: P without its leading term.
    x64: u64,
    /// Barrett's quotient.
    quotient: u64,
}

impl Fold {
    fn new(modulus: crate::fingerprint::gf2::Modulus) -> Fold {
        Fold {
            x64: modulus.low(),
            quotient: modulus.barrett(),
        }
    }
}

/// Room for one stretch: the canonical copy and the places of its tokens. Kept from
/// stretch to stretch so that nothing is allocated per token.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    /// The stretch, lower-cased, and two blocks more: they end the last token, and loads may
    /// touch them.
    lower: Vec<u8>,
    /// Where tokens begin and have ended, by turns.
    edges: Vec<u16>,
    /// Tokens set aside for a second look: their number, and their edges.
    long: Vec<u32>,
    long_edges: Vec<[u16; 2]>,
}

impl Scratch {
    fn make_room(&mut self, len: usize) {
        assert!(u16::try_from(len).is_ok(), "a stretch is a few kilobytes");
        // It only grows, and soon stops: stretches have one length.
        if self.lower.len() < len.next_multiple_of(64) + 128 {
            self.lower.resize(len.next_multiple_of(64) + 128, 0);
            self.edges.resize(len + 128, 0);
            self.long.resize(len + 8, 0);
            self.long_edges.resize(len + 8, [0; 2]);
        }
    }
}

impl Kernel {
    /// `level` must be available here (its `FromStr` and [`Level::best`] see to that).
    pub(crate) fn new(rabin: &Rabin, width: usize, case: Case, level: Level) -> Kernel {
        assert!(level.is_available(), "the processor has no {level}");
        let leaving = rabin.window.power_of_x(64 * width as u64);
        Kernel {
            level,
            wide: has_wide_products(),
            width,
            case,
            token: Fold::new(rabin.token),
            window: Fold::new(rabin.window),
            leaving,
            tables: portable::Tables::new(rabin, leaving),
            rabin: rabin.clone(),
        }
    }

    /// The recipe's fingerprint function.
    pub(crate) fn rabin(&self) -> &Rabin {
        &self.rabin
    }

    /// Appends the values of the words of a plain text, as
    /// [`alternate`](crate::canonical::words::alternate) has it. `next` will be wanted soon.
    pub(crate) fn plain_words(
        &self,
        text: &[u8],
        next: &[u8],
        scratch: &mut Scratch,
        values: &mut Vec<u64>,
    ) {
        match self.level {
            Level::Portable => portable::plain_words(self, text, scratch, values),
            // SAFETY: `new` asserted that the processor has the level's features.
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => unsafe { avx2::plain_words(self, text, next, scratch, values) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => unsafe { avx512::plain_words(self, text, next, scratch, values) },
            #[cfg(not(target_arch = "x86_64"))]
            Level::Avx2 | Level::Avx512 => portable::plain_words(self, text, scratch, values),
        }
    }

    /// The value of one token: [`Rabin::token_value`], faster.
    pub(crate) fn token_value(&self, bytes: &[u8]) -> u64 {
        match self.level {
            // SAFETY: `new` asserted that the processor has the level's features; those of
            // AVX-512 come with AVX2's.
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 | Level::Avx512 => unsafe { avx2::token_value(self.token, bytes) },
            _ => self.tables.token_value(bytes),
        }
    }

    /// Appends the fingerprint of every window of `w` tokens: `tokens.len() − w + 1` of
    /// them, none when there are fewer tokens than that. O(tokens) whatever `w`.
    pub(crate) fn fingerprints(&self, tokens: &[u64], out: &mut Vec<u64>) {
        if tokens.len() < self.width {
            return;
        }
        let start = out.len();
        match self.level {
            // SAFETY: `new` asserted that the processor has the level's features.
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => unsafe {
                avx2::windows(self, tokens, out);
                avx2::mix(&self.rabin.mix, &mut out[start..]);
            },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => unsafe { avx512::fingerprints(self, tokens, out) },
            _ => {
                portable::windows(self, tokens, out);
                self.rabin.mix.apply_all(&mut out[start..]);
            }
        }
    }

    /// The same before the mix.
    pub(crate) fn residues(&self, tokens: &[u64], out: &mut Vec<u64>) {
        if tokens.len() < self.width {
            return;
        }
        match self.level {
            Level::Portable => portable::windows(self, tokens, out),
            // SAFETY: `new` asserted that the processor has the level's features.
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => unsafe { avx2::windows(self, tokens, out) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => unsafe { avx512::windows(self, tokens, out) },
            #[cfg(not(target_arch = "x86_64"))]
            Level::Avx2 | Level::Avx512 => portable::windows(self, tokens, out),
        }
    }
}

/// Chooses fingerprints by their low bits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Filter(Level);

impl Filter {
    /// Words behind the last one chosen that may be written to.
    pub(crate) const MORE: usize = 8;

    /// `level` must be available here, as for [`Kernel::new`].
    pub(crate) fn new(level: Level) -> Filter {
        assert!(level.is_available(), "the processor has no {level}");
        Filter(level)
    }

    /// Its instructions.
    pub(crate) fn level(self) -> Level {
        self.0
    }

    /// Writes the numbers that have none of the bits of `mask` to the front of `out`, in
    /// their order, and says how many. `out` must have room for all of them and
    /// [`Filter::MORE`].
    pub(crate) fn without_bits(self, from: &[u64], mask: u64, out: &mut [u64]) -> usize {
        assert!(out.len() >= from.len() + Filter::MORE, "room for all");
        match self.0 {
            // SAFETY: `new` asserted that the processor has the level's features.
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => unsafe { avx2::without_bits(from, mask, out) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => unsafe { avx512::without_bits(from, mask, out) },
            _ => portable::without_bits(from, mask, out),
        }
    }
}

/// Finds the places of numbers among others that are spread evenly: a bit is set for the top
/// bits of each, and the bits set before it are counted.
#[derive(Clone, Debug)]
pub(crate) struct Ranks {
    level: Level,
    /// How many of the top bits count.
    bits: u32,
    /// One bit for each value of them; and three times as many again for the making.
    met: Vec<u64>,
    /// How many bits are set before each word of them.
    before: Vec<u16>,
    /// The place of each number.
    each: Vec<u16>,
}

impl Ranks {
    /// So many are too many: places have 16 bits.
    pub(crate) const MANY: usize = 1 << 16;

    /// More bits than this would not stay in the second cache.
    const MOST_BITS: u32 = 18;

    /// `level` must be available here, as for [`Kernel::new`].
    pub(crate) fn new(level: Level) -> Ranks {
        assert!(level.is_available(), "the processor has no {level}");
        Ranks {
            level,
            bits: 0,
            met: Vec::new(),
            before: Vec::new(),
            each: Vec::new(),
        }
    }

    /// Forgets all numbers; so many are to come.
    pub(crate) fn clear(&mut self, count: usize) {
        self.bits = (count.max(2).ilog2() + 5).min(Ranks::MOST_BITS);
        self.met.clear();
        self.met.resize(4 << (self.bits - 6), 0);
    }

    /// Marks numbers, besides those that are marked; says how many different top bits there
    /// are among all of them.
    pub(crate) fn mark(&mut self, numbers: &[u64]) -> usize {
        match self.level {
            // SAFETY: `new` asserted that the processor has the level's features; those of
            // AVX-512 come with AVX2's.
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 | Level::Avx512 => unsafe { avx2::mark(self, numbers) },
            _ => portable::mark(self, numbers),
        }
    }

    /// Writes to `placed` a number for each top bits, in order, and to `late` those that
    /// differ from it; says how many of both. Both must have room for all.
    pub(crate) fn place(
        &mut self,
        numbers: &[u64],
        placed: &mut [u64],
        late: &mut [u64],
    ) -> (usize, usize) {
        assert!(numbers.len() < Ranks::MANY, "more than a place can name");
        self.clear(numbers.len());
        let count = self.mark(numbers);
        self.before.resize(self.met.len() / 4, 0);
        self.each.resize(numbers.len(), 0);
        let late = match self.level {
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 | Level::Avx512 => unsafe { avx2::place(self, numbers, placed, late) },
            _ => portable::place(self, numbers, placed, late),
        };
        (count, late)
    }

    /// How many of the numbers placed last have smaller top bits.
    #[inline(always)]
    pub(crate) fn rank(&self, number: u64) -> usize {
        let slot = number >> (64 - self.bits);
        let (word, bit) = ((slot / 64) as usize, 1 << (slot % 64));
        let here = (self.met[word] & (bit - 1)).count_ones();
        usize::from(self.before[word]) + here as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canonical::Tokens;
    use crate::seed::Seed;
    use proptest::prelude::*;

    fn rabin() -> Rabin {
        Rabin::draw(&mut Seed::Public(7).stream("test"))
    }

    #[test]
    fn the_processor_has_the_level_that_is_asked_for() {
        // Set by `make avx512`, so that an emulator without AVX-512 cannot pass for one.
        if let Ok(level) = std::env::var("LOOKALIKE_TEST_LEVEL") {
            assert_eq!(Level::best().to_string(), level);
        }
    }

    /// ASCII that is mostly words, some of them long, and every joining character.
    fn ascii_text() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            4 => "[a-zA-Z]{1,7}",
            2 => "[a-zA-Z0-9_]{8,40}",
            2 => "[a-z0-9'.:,;_\"]{1,12}",
            3 => Just(" ".to_owned()),
            1 => "[ -~\t\n\r]{1,10}",
            1 => "[\\x00-\\x7f]{1,6}",
        ];
        prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases * 4))]

        #[test]
        fn every_level_gives_the_values_of_the_unicode_path(text in ascii_text()) {
            let rabin = rabin();
            for case in [Case::Fold, Case::Keep] {
                let expected: Vec<u64> = Tokens::of_text(&text, crate::canonical::TokenKind::Word, case)
                    .iter().map(|token| rabin.token_value(token)).collect();
                for level in Level::available() {
                    let mut values = vec![1, 2];
                    Kernel::new(&rabin, 3, case, level).plain_words(text.as_bytes(), &[], &mut Scratch::default(), &mut values);
                    prop_assert_eq!(&values[..2], &[1, 2]);
                    prop_assert_eq!(&values[2..], &expected, "{}", level);
                }
            }
        }

        #[test]
        fn every_level_gives_the_windows_of_the_definition(
            tokens in prop::collection::vec(any::<u64>(), 0..200), width in 1_usize..40,
        ) {
            let rabin = rabin();
            let expected: Vec<u64> = tokens.windows(width).map(|window| rabin.shingle(window).0).collect();
            for level in Level::available() {
                let mut kernel = Kernel::new(&rabin, width, Case::Fold, level);
                for wide in [kernel.wide, false] {
                    kernel.wide = wide;
                    let mut out = vec![9];
                    kernel.fingerprints(&tokens, &mut out);
                    prop_assert_eq!(&out[1..], &expected, "{} {}", level, wide);
                }
            }
        }

        #[test]
        fn every_level_chooses_the_same(numbers in prop::collection::vec(any::<u64>(), 0..100), bits in 0_u32..5) {
            let mask = (1 << bits) - 1;
            let expected: Vec<u64> = numbers.iter().copied().filter(|number| number & mask == 0).collect();
            for level in Level::available() {
                let mut out = vec![7; numbers.len() + Filter::MORE];
                let count = Filter::new(level).without_bits(&numbers, mask, &mut out);
                prop_assert_eq!(&out[..count], &expected, "{}", level);
            }
        }

        #[test]
        fn token_values_are_those_of_the_definition(token in prop::collection::vec(1_u8.., 1..60)) {
            let rabin = rabin();
            for level in Level::available() {
                let kernel = Kernel::new(&rabin, 1, Case::Fold, level);
                prop_assert_eq!(kernel.token_value(&token), rabin.token_value(&token));
            }
        }
    }
}
