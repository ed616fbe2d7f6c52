//! The loops with AVX2 and carry-less multiplication.

use super::masks::{Masks, positions};
use super::portable::{find_tokens, short};
use super::{Fold, Kernel, Scratch};
use crate::canonical::Case;
use crate::fingerprint::Mix;
use std::arch::asm;
use std::arch::x86_64::{
    __m128i, __m256i, _mm_clmulepi64_si128, _mm_cvtsi64_si128, _mm_cvtsi128_si64, _mm_loadu_si128,
    _mm_set_epi64x, _mm_storeu_si128, _mm_xor_si128, _mm256_add_epi8, _mm256_and_si256,
    _mm256_broadcastsi128_si256, _mm256_bsrli_epi128, _mm256_castsi256_si128,
    _mm256_clmulepi64_epi128, _mm256_cmpeq_epi8, _mm256_cmpgt_epi8, _mm256_extracti128_si256,
    _mm256_loadu_si256, _mm256_or_si256, _mm256_set_m128i, _mm256_set1_epi8, _mm256_setzero_si256,
    _mm256_storeu_si256, _mm256_unpacklo_epi64, _mm256_xor_si256,
};

#[target_feature(enable = "avx2,bmi1,bmi2,pclmulqdq")]
pub(super) fn ascii_words(
    kernel: &Kernel,
    text: &[u8],
    scratch: &mut Scratch,
    values: &mut Vec<u64>,
) {
    let count = find_tokens(
        text,
        kernel.case,
        scratch,
        |block, lower, case| classify(block, lower, case),
        #[expect(
            clippy::redundant_closure,
            reason = "compiled with this function's instructions"
        )]
        |bits, base, room| positions(bits, base, room),
    );
    values_of_tokens(kernel, scratch, count, values);
}

/// The classes of 64 ASCII bytes; signed compares do, for ASCII has no sign bit.
#[inline]
#[target_feature(enable = "avx2")]
fn classify(block: &[u8; 64], lower: &mut [u8; 64], case: Case) -> Masks {
    let fold = _mm256_set1_epi8(if case == Case::Fold { 0x20 } else { 0 });
    // SAFETY: both halves lie inside the 64 bytes of `block`.
    let (low, high) = unsafe {
        let at = block.as_ptr().cast::<__m256i>();
        (_mm256_loadu_si256(at), _mm256_loadu_si256(at.add(1)))
    };
    let (low, high) = (Half::of(low, fold), Half::of(high, fold));
    // SAFETY: both halves lie inside the 64 bytes of `lower`.
    unsafe {
        let at = lower.as_mut_ptr().cast::<__m256i>();
        _mm256_storeu_si256(at, low.lower);
        _mm256_storeu_si256(at.add(1), high.lower);
    }
    Masks {
        letter: bits(low.letter, high.letter),
        digit: bits(low.digit, high.digit),
        underscore: bits(low.underscore, high.underscore),
        mid_letter: bits(low.mid_letter, high.mid_letter),
        mid_digit: bits(low.mid_digit, high.mid_digit),
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn bits(low: __m256i, high: __m256i) -> u64 {
    u64::from(sign_bits(low)) | u64::from(sign_bits(high)) << 32
}

/// `_mm256_movemask_epi8`, but opaque: LLVM 21 sees through the intrinsic, carries the
/// bit logic that follows back into vectors, and extracts them byte by byte (360
/// `vpextrb`; 300 MB/s in place of 800).
#[inline]
#[target_feature(enable = "avx2")]
fn sign_bits(bytes: __m256i) -> u32 {
    let mask;
    // SAFETY: one register-to-register instruction that AVX2 has; it touches no memory.
    unsafe {
        asm!("vpmovmskb {0:e}, {1}", out(reg) mask, in(ymm_reg) bytes, options(pure, nomem, nostack, preserves_flags));
    }
    mask
}

/// 32 bytes, lower-cased, and which of them belong to a class.
struct Half {
    lower: __m256i,
    letter: __m256i,
    digit: __m256i,
    underscore: __m256i,
    mid_letter: __m256i,
    mid_digit: __m256i,
}

impl Half {
    #[inline]
    #[target_feature(enable = "avx2")]
    fn of(bytes: __m256i, fold: __m256i) -> Half {
        let is = |byte: u8| _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(byte.cast_signed()));
        // x in first..=last, by moving `first` to the lowest signed value.
        let within = |x: __m256i, first: u8, last: u8| {
            let moved = _mm256_add_epi8(
                x,
                _mm256_set1_epi8(0x80_u8.wrapping_sub(first).cast_signed()),
            );
            _mm256_cmpgt_epi8(
                _mm256_set1_epi8((0x80_u8.wrapping_add(last - first + 1)).cast_signed()),
                moved,
            )
        };
        let letter = within(_mm256_or_si256(bytes, _mm256_set1_epi8(0x20)), b'a', b'z');
        let both = _mm256_or_si256(is(b'\''), is(b'.'));
        Half {
            lower: _mm256_or_si256(bytes, _mm256_and_si256(letter, fold)),
            letter,
            digit: within(bytes, b'0', b'9'),
            underscore: is(b'_'),
            mid_letter: _mm256_or_si256(both, is(b':')),
            mid_digit: _mm256_or_si256(both, _mm256_or_si256(is(b','), is(b';'))),
        }
    }
}

/// One masked load for each token; those of more than 8 bytes are set aside and folded
/// in a second loop, because a branch on the length would be guessed wrong too often.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2,pclmulqdq")]
fn values_of_tokens(kernel: &Kernel, scratch: &mut Scratch, count: usize, values: &mut Vec<u64>) {
    let Scratch { lower, edges, long } = scratch;
    let tokens = &edges.as_chunks().0[..count];
    let base = values.len();
    let mut set_aside = 0;
    values.extend(tokens.iter().enumerate().map(|(i, &[start, end])| {
        long[set_aside] = i as u32;
        set_aside += usize::from(end - start > 8);
        load(lower, start) & first_bytes(end - start)
    }));
    for &i in &long[..set_aside] {
        values[base + i as usize] = fold_token(kernel.token, lower, tokens[i as usize]);
    }
}

/// A mask for the first `len` bytes of eight, for `len` from 1.
#[inline(always)]
fn first_bytes(len: u32) -> u64 {
    u64::MAX >> (64 - 8 * len.min(8))
}

/// The eight bytes at `at`.
#[inline(always)]
fn load(lower: &[u8], at: u32) -> u64 {
    debug_assert!(at as usize + 8 <= lower.len());
    // SAFETY: `find_tokens` keeps 64 bytes behind the last block, and `at` is a place
    // inside a block.
    unsafe {
        lower
            .as_ptr()
            .add(at as usize)
            .cast::<u64>()
            .read_unaligned()
    }
    .to_le()
}

/// The value of a token of more than 8 bytes.
#[inline]
#[target_feature(enable = "avx2,pclmulqdq")]
pub(super) fn fold_token(fold: Fold, lower: &[u8], [start, end]: [u32; 2]) -> u64 {
    let constants = Constants::new(fold);
    let mut value = load(lower, start);
    let mut at = start + 8;
    while at < end {
        let chunk = load(lower, at) & first_bytes(end - at);
        let product =
            _mm_clmulepi64_si128::<0x00>(_mm_cvtsi64_si128(value.cast_signed()), constants.step);
        value = low(constants.reduce(product)) ^ chunk;
        at += 8;
    }
    value
}

/// The value of any token.
#[inline]
#[target_feature(enable = "avx2,pclmulqdq")]
pub(super) fn token_value(fold: Fold, bytes: &[u8]) -> u64 {
    let (chunks, rest) = bytes.as_chunks();
    let Some((first, more)) = chunks.split_first() else {
        return short(rest);
    };
    let constants = Constants::new(fold);
    let step = |value: u64| {
        let value = _mm_cvtsi64_si128(value.cast_signed());
        low(constants.reduce(_mm_clmulepi64_si128::<0x00>(value, constants.step)))
    };
    let mut value = u64::from_le_bytes(*first);
    for chunk in more {
        value = step(value) ^ u64::from_le_bytes(*chunk);
    }
    if rest.is_empty() {
        value
    } else {
        step(value) ^ short(rest)
    }
}

/// A modulus in vector registers.
#[derive(Clone, Copy)]
struct Constants {
    /// `x^64` and `x^128`.
    step: __m128i,
    /// Barrett's quotient and the modulus.
    barrett: __m128i,
}

impl Constants {
    #[inline]
    #[target_feature(enable = "avx2,pclmulqdq")]
    fn new(fold: Fold) -> Constants {
        Constants {
            step: _mm_set_epi64x(fold.x128.cast_signed(), fold.x64.cast_signed()),
            barrett: _mm_set_epi64x(fold.x64.cast_signed(), fold.quotient.cast_signed()),
        }
    }

    /// The remainder of 128 bits, in the low half: `q = h + ⌊h·μ / x^64⌋`, then `l + q·P`.
    /// The high half is left-over.
    #[inline]
    #[target_feature(enable = "avx2,pclmulqdq")]
    fn reduce(self, value: __m128i) -> __m128i {
        let quotient = _mm_xor_si128(_mm_clmulepi64_si128::<0x01>(value, self.barrett), value);
        _mm_xor_si128(_mm_clmulepi64_si128::<0x11>(quotient, self.barrett), value)
    }
}

/// How many stretches of the document slide at once. A step waits for three
/// multiplications one after another; four stretches keep the multiplier busy meanwhile.
const STREAMS: usize = 4;

#[target_feature(enable = "avx2,pclmulqdq")]
pub(super) fn windows(kernel: &Kernel, tokens: &[u64], out: &mut Vec<u64>) {
    let width = kernel.width;
    let count = tokens.len() - width + 1;
    // Even, so that turns of two come out.
    let stretch = (count / STREAMS) & !1;
    if stretch < 2 * width {
        // Starting four windows from nothing would cost more than it gains.
        return one_stream(kernel, tokens, out);
    }
    if kernel.wide {
        // SAFETY: `wide` says that the processor has it.
        unsafe { wide_windows(kernel, tokens, stretch, out) };
    } else {
        four_streams(kernel, tokens, stretch, out);
    }
    // What four equal stretches leave over.
    if count > STREAMS * stretch {
        one_stream(kernel, &tokens[STREAMS * stretch..], out);
    }
}

#[inline]
#[target_feature(enable = "avx2,pclmulqdq")]
fn four_streams(kernel: &Kernel, tokens: &[u64], stretch: usize, out: &mut Vec<u64>) {
    let width = kernel.width;
    let slide = Slide::new(kernel);
    let base = out.len();
    out.resize(base + STREAMS * stretch, 0);
    let windows = &mut out[base..];
    // Stretch s: windows s·stretch onwards. What leaves and enters each of them.
    let left = |s: usize| &tokens[s * stretch..][..stretch - 1];
    let entering = |s: usize| &tokens[s * stretch + width..][..stretch - 1];
    let mut values: [__m128i; STREAMS] =
        std::array::from_fn(|s| slide.start(&tokens[s * stretch..][..width]));
    for k in 0..stretch {
        for (s, value) in values.iter().enumerate() {
            windows[s * stretch + k] = low(*value);
        }
        if k + 1 < stretch {
            values = std::array::from_fn(|s| slide.step(values[s], left(s)[k], entering(s)[k]));
        }
    }
}

/// The same with two stretches in one register, where the processor multiplies both
/// halves of it at once (VPCLMULQDQ without AVX-512: Zen 3, Alder Lake). Two steps a turn,
/// because a lane holds two tokens.
#[target_feature(enable = "avx2,pclmulqdq,vpclmulqdq")]
fn wide_windows(kernel: &Kernel, tokens: &[u64], stretch: usize, out: &mut Vec<u64>) {
    let width = kernel.width;
    let Slide { constants, leaving } = Slide::new(kernel);
    let twice = |lane: __m128i| _mm256_broadcastsi128_si256(lane);
    let (step, barrett, leaving) = (
        twice(constants.step),
        twice(constants.barrett),
        twice(leaving),
    );
    let reduce = |value: __m256i| {
        let quotient = _mm256_xor_si256(_mm256_clmulepi64_epi128::<0x01>(value, barrett), value);
        _mm256_xor_si256(_mm256_clmulepi64_epi128::<0x11>(quotient, barrett), value)
    };
    let base = out.len();
    out.resize(base + STREAMS * stretch, 0);
    let windows = &mut out[base..];
    // Stretches 0 and 1 in the first register, 2 and 3 in the second. All but the last
    // token of each first window; nothing leaves yet.
    let slide = Slide::new(kernel);
    let start = |s: usize| slide.start(&tokens[s * stretch..][..width - 1]);
    let mut values = [0, 2].map(|s| _mm256_set_m128i(start(s + 1), start(s)));
    let two = |at: usize| -> __m128i {
        let words: &[u64; 2] = tokens[at..].first_chunk().unwrap_or(&[0; 2]);
        // SAFETY: two words are 16 bytes.
        unsafe { _mm_loadu_si128(words.as_ptr().cast::<__m128i>()) }
    };
    let pair =
        |s: usize, k: usize| _mm256_set_m128i(two((s + 1) * stretch + k), two(s * stretch + k));
    for k in (0..stretch).step_by(2) {
        for (s, value) in [0, 2].into_iter().zip(&mut values) {
            // Window k: token k + width − 1 enters, token k − 1 leaves; none from the first.
            let entering = pair(s, k + width - 1);
            let left = if k == 0 {
                _mm256_unpacklo_epi64(_mm256_setzero_si256(), pair(s, 0))
            } else {
                pair(s, k - 1)
            };
            let moved = _mm256_clmulepi64_epi128::<0x00>(*value, step);
            let gone = _mm256_clmulepi64_epi128::<0x00>(left, leaving);
            let even = _mm256_xor_si256(reduce(_mm256_xor_si256(moved, gone)), entering);
            let moved = _mm256_clmulepi64_epi128::<0x00>(even, step);
            let gone = _mm256_clmulepi64_epi128::<0x01>(left, leaving);
            let rest = reduce(_mm256_xor_si256(moved, gone));
            let odd = _mm256_xor_si256(rest, _mm256_bsrli_epi128::<8>(entering));
            *value = odd;
            let both = _mm256_unpacklo_epi64(even, odd);
            let mut store = |s: usize, lane: __m128i| {
                if let Some(words) = windows[s * stretch + k..].first_chunk_mut::<2>() {
                    // SAFETY: two words are 16 bytes.
                    unsafe { _mm_storeu_si128(words.as_mut_ptr().cast::<__m128i>(), lane) };
                }
            };
            store(s, _mm256_castsi256_si128(both));
            store(s + 1, _mm256_extracti128_si256::<1>(both));
        }
    }
}

/// The same, one window after the other.
#[target_feature(enable = "avx2,pclmulqdq")]
pub(super) fn one_stream(kernel: &Kernel, tokens: &[u64], out: &mut Vec<u64>) {
    let slide = Slide::new(kernel);
    let (first, entering) = tokens.split_at(kernel.width);
    let mut value = slide.start(first);
    out.reserve(entering.len() + 1);
    out.push(low(value));
    out.extend(entering.iter().zip(tokens).map(|(&token, &left)| {
        value = slide.step(value, left, token);
        low(value)
    }));
}

/// The window's modulus, and what a token has become when it leaves.
#[derive(Clone, Copy)]
struct Slide {
    constants: Constants,
    leaving: __m128i,
}

impl Slide {
    #[inline]
    #[target_feature(enable = "avx2,pclmulqdq")]
    fn new(kernel: &Kernel) -> Slide {
        Slide {
            constants: Constants::new(kernel.window),
            leaving: word(kernel.leaving),
        }
    }

    /// The first window.
    #[inline]
    #[target_feature(enable = "avx2,pclmulqdq")]
    fn start(self, tokens: &[u64]) -> __m128i {
        tokens
            .iter()
            .fold(word(0), |value, &token| self.step(value, 0, token))
    }

    /// The next window: everything times `x^64`, one token leaves, one enters.
    #[inline]
    #[target_feature(enable = "avx2,pclmulqdq")]
    fn step(self, value: __m128i, left: u64, token: u64) -> __m128i {
        let moved = _mm_clmulepi64_si128::<0x00>(value, self.constants.step);
        let gone = _mm_clmulepi64_si128::<0x00>(word(left), self.leaving);
        let rest = self.constants.reduce(_mm_xor_si128(moved, gone));
        _mm_xor_si128(rest, word(token))
    }
}

/// The low half of a vector.
#[inline]
#[target_feature(enable = "avx2")]
fn low(value: __m128i) -> u64 {
    _mm_cvtsi128_si64(value).cast_unsigned()
}

/// A word in the low half of a vector.
#[inline]
#[target_feature(enable = "avx2")]
fn word(value: u64) -> __m128i {
    _mm_cvtsi64_si128(value.cast_signed())
}

/// The mix, as far as AVX2 helps: the cipher's rounds, not 64-bit multiplication.
#[target_feature(enable = "avx2,bmi2")]
pub(super) fn mix(mix: &Mix, residues: &mut [u64]) {
    mix.apply_all(residues);
}
