//! The loops with AVX2 and carry-less multiplication.

use super::masks::{Masks, positions};
use super::portable::{self, find_tokens, load, short, values_of_tokens};
use super::{Fold, Kernel, Ranks, Scratch};
use crate::canonical::Case;
use crate::fingerprint::Mix;
use std::arch::asm;
use std::arch::x86_64::{
    __m128i, __m256i, _MM_HINT_T0, _mm_clmulepi64_si128, _mm_cvtsi64_si128, _mm_cvtsi128_si64,
    _mm_loadu_si128, _mm_prefetch, _mm_set_epi64x, _mm_slli_si128, _mm_storeu_si128, _mm_xor_si128,
    _mm256_add_epi8, _mm256_and_si256, _mm256_broadcastsi128_si256, _mm256_bslli_epi128,
    _mm256_bsrli_epi128, _mm256_castsi256_pd, _mm256_castsi256_si128, _mm256_clmulepi64_epi128,
    _mm256_cmpeq_epi8, _mm256_cmpeq_epi64, _mm256_cmpgt_epi8, _mm256_extracti128_si256,
    _mm256_loadu_si256, _mm256_movemask_pd, _mm256_or_si256, _mm256_permutevar8x32_epi32,
    _mm256_set_m128i, _mm256_set1_epi8, _mm256_set1_epi64x, _mm256_setzero_si256,
    _mm256_storeu_si256, _mm256_unpacklo_epi64, _mm256_xor_si256,
};

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt,pclmulqdq")]
pub(super) fn plain_words(
    kernel: &Kernel,
    text: &[u8],
    next: &[u8],
    scratch: &mut Scratch,
    values: &mut Vec<u64>,
) {
    let count = find_tokens(
        text,
        kernel.case,
        scratch,
        |at| soon(next, at),
        |block, lower, case| classify(block, lower, case),
        #[expect(
            clippy::redundant_closure,
            reason = "compiled with this function's instructions"
        )]
        |edges, inside, base, room| positions(edges, inside, base, room),
    );
    values_of_tokens(scratch, count, values, |lower, token| {
        fold_token(kernel.token, lower, token)
    });
}

/// Asks for text whose turn comes soon, so that it is in the cache by then.
#[inline(always)]
pub(super) fn soon(next: &[u8], at: usize) {
    // SAFETY: every x86-64 has SSE; no address is a wrong one to ask for.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(next.as_ptr().wrapping_add(at).cast()) };
}

/// The classes of 64 bytes.
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
        let ascii_letter = within(_mm256_or_si256(bytes, _mm256_set1_epi8(0x20)), b'a', b'z');
        let both = _mm256_or_si256(is(b'\''), is(b'.'));
        Half {
            lower: _mm256_or_si256(bytes, _mm256_and_si256(ascii_letter, fold)),
            // Only sign bits are looked at.
            letter: _mm256_or_si256(ascii_letter, bytes),
            digit: within(bytes, b'0', b'9'),
            underscore: is(b'_'),
            mid_letter: _mm256_or_si256(both, is(b':')),
            mid_digit: _mm256_or_si256(both, _mm256_or_si256(is(b','), is(b';'))),
        }
    }
}

/// A mask for the first `len` bytes of eight, for `len` from 1.
#[inline(always)]
fn first_bytes(len: u16) -> u64 {
    u64::MAX >> (64 - 8 * len.min(8))
}

/// The value of a token of more than 8 bytes.
#[inline]
#[target_feature(enable = "avx2,pclmulqdq")]
fn fold_token(fold: Fold, lower: &[u8], [start, end]: [u16; 2]) -> u64 {
    let constants = Constants::new(fold);
    let mut value = load(lower, start);
    let mut at = start + 8;
    while at < end {
        let chunk = load(lower, at) & first_bytes(end - at);
        value = low(constants.times_x64(word(value))) ^ chunk;
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
    let step = |value: u64| low(constants.times_x64(word(value)));
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
    /// Barrett's quotient and the modulus.
    barrett: __m128i,
}

impl Constants {
    #[inline]
    #[target_feature(enable = "avx2,pclmulqdq")]
    fn new(fold: Fold) -> Constants {
        Constants {
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

    /// The low half times `x^64`, reduced, in the low half.
    #[inline]
    #[target_feature(enable = "avx2,pclmulqdq")]
    fn times_x64(self, value: __m128i) -> __m128i {
        self.reduce(_mm_slli_si128::<8>(value))
    }
}

/// How many stretches of the document slide at once. A step waits for two
/// multiplications one after another; four stretches keep the multiplier busy meanwhile.
const STREAMS: usize = 4;

#[target_feature(enable = "avx2,pclmulqdq")]
pub(super) fn windows(kernel: &Kernel, tokens: &[u64], out: &mut Vec<u64>) {
    match Stretches::of(tokens.len() - kernel.width + 1, kernel.width) {
        None => one_stream(kernel, tokens, out),
        // SAFETY: `wide` says that the processor has it.
        Some(stretches) if kernel.wide => unsafe { wide_windows(kernel, tokens, &stretches, out) },
        Some(stretches) => four_streams(kernel, tokens, &stretches, out),
    }
}

/// `N` stretches that cover `count` windows, of an even length so that turns of two come
/// out. The last ends with the last window, and does again what the one before has done.
pub(super) struct Stretches<const N: usize> {
    pub(super) starts: [usize; N],
    pub(super) len: usize,
}

impl<const N: usize> Stretches<N> {
    /// `None` when starting so many windows from nothing would cost more than it gains.
    pub(super) fn of(count: usize, width: usize) -> Option<Stretches<N>> {
        let len = count.div_ceil(N).next_multiple_of(2);
        let last = count.saturating_sub(len);
        (len >= 2 * width && len <= count).then(|| Stretches {
            starts: std::array::from_fn(|i| (i * len).min(last)),
            len,
        })
    }

    /// The first `count` pairs of words of each stretch, from its word `at` on.
    #[inline(always)]
    pub(super) fn pairs<'a>(
        &self,
        words: &'a [u64],
        at: usize,
        count: usize,
    ) -> [&'a [[u64; 2]]; N] {
        self.starts
            .map(|start| &words[start + at..].as_chunks().0[..count])
    }
}

#[inline]
#[target_feature(enable = "avx2,pclmulqdq")]
fn four_streams(
    kernel: &Kernel,
    tokens: &[u64],
    stretches: &Stretches<STREAMS>,
    out: &mut Vec<u64>,
) {
    let width = kernel.width;
    let slide = Slide::new(kernel);
    let base = out.len();
    out.resize(base + tokens.len() - width + 1, 0);
    let windows = &mut out[base..];
    let Stretches { starts, len } = *stretches;
    // What leaves and enters each window but the first.
    let left = starts.map(|start| &tokens[start..][..len - 1]);
    let entering = starts.map(|start| &tokens[start + width..][..len - 1]);
    let mut values = starts.map(|start| slide.start(&tokens[start..][..width]));
    for k in 0..len {
        for (start, value) in starts.iter().zip(values) {
            windows[start + k] = low(value);
        }
        if k + 1 < len {
            values = std::array::from_fn(|s| slide.step(values[s], left[s][k], entering[s][k]));
        }
    }
}

/// The same with two stretches in one register, where the processor multiplies both
/// halves of it at once (VPCLMULQDQ without AVX-512: Zen 3, Alder Lake). Two steps a turn,
/// because a lane holds two tokens.
#[target_feature(enable = "avx2,pclmulqdq,vpclmulqdq")]
fn wide_windows(
    kernel: &Kernel,
    tokens: &[u64],
    stretches: &Stretches<STREAMS>,
    out: &mut Vec<u64>,
) {
    let width = kernel.width;
    let count = tokens.len() - width + 1;
    let slide = Slide::new(kernel);
    let twice = |lane: __m128i| _mm256_broadcastsi128_si256(lane);
    let (barrett, leaving) = (twice(slide.constants.barrett), twice(slide.leaving));
    let reduce = |value: __m256i| {
        let quotient = _mm256_xor_si256(_mm256_clmulepi64_epi128::<0x01>(value, barrett), value);
        _mm256_xor_si256(_mm256_clmulepi64_epi128::<0x11>(quotient, barrett), value)
    };
    let base = out.len();
    out.reserve(count);
    let windows = out.spare_capacity_mut()[..count].as_mut_ptr();
    let starts = stretches.starts;
    // Stretches 0 and 1 in the first register, 2 and 3 in the second. All but the last
    // token of each first window; nothing leaves yet.
    let start = |s: usize| slide.start(&tokens[starts[s]..][..width - 1]);
    let mut values = [0, 2].map(|s| _mm256_set_m128i(start(s + 1), start(s)));
    let two = |words: &[u64; 2]| {
        // SAFETY: two words are 16 bytes.
        unsafe { _mm_loadu_si128(words.as_ptr().cast::<__m128i>()) }
    };
    let lanes = |words: [&[u64; 2]; STREAMS]| {
        let [a, b, c, d] = words.map(two);
        [_mm256_set_m128i(b, a), _mm256_set_m128i(d, c)]
    };
    // Window k needs token k + width − 1 to enter and token k − 1 to leave, two at a time.
    let turns = stretches.len / 2;
    let entering = stretches.pairs(tokens, width - 1, turns);
    let leaving_next = stretches.pairs(tokens, 1, turns - 1);
    // Nothing leaves the very first window.
    let mut left = lanes(starts.map(|start| [0, tokens[start]]).each_ref());
    for k in 0..turns {
        let entering = lanes(entering.map(|pairs| &pairs[k]));
        for i in [0, 1] {
            let moved = _mm256_bslli_epi128::<8>(values[i]);
            let gone = _mm256_clmulepi64_epi128::<0x00>(left[i], leaving);
            let even = _mm256_xor_si256(reduce(_mm256_xor_si256(moved, gone)), entering[i]);
            let moved = _mm256_bslli_epi128::<8>(even);
            let gone = _mm256_clmulepi64_epi128::<0x01>(left[i], leaving);
            let rest = reduce(_mm256_xor_si256(moved, gone));
            let odd = _mm256_xor_si256(rest, _mm256_bsrli_epi128::<8>(entering[i]));
            values[i] = odd;
            let both = _mm256_unpacklo_epi64(even, odd);
            // SAFETY: as many windows as a stretch is long, from each of the starts on, lie
            // within the `count` that room was made for, and 2k + 1 is less than that.
            unsafe {
                let at = |s: usize| windows.add(starts[s] + 2 * k).cast::<__m128i>();
                _mm_storeu_si128(at(2 * i), _mm256_castsi256_si128(both));
                _mm_storeu_si128(at(2 * i + 1), _mm256_extracti128_si256::<1>(both));
            }
        }
        if k + 1 < turns {
            left = lanes(leaving_next.map(|pairs| &pairs[k]));
        }
    }
    // SAFETY: room for so many was reserved, and the four stretches cover them all.
    unsafe { out.set_len(base + count) };
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
        let moved = _mm_slli_si128::<8>(value);
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

/// [`super::Filter::without_bits`], four at a time.
#[target_feature(enable = "avx2,popcnt")]
pub(super) fn without_bits(from: &[u64], mask: u64, out: &mut [u64]) -> usize {
    let bits = _mm256_set1_epi64x(mask.cast_signed());
    let (fours, rest) = from.as_chunks::<4>();
    let mut count = 0;
    for four in fours {
        // SAFETY: 4 words are 32 bytes.
        let numbers = unsafe { _mm256_loadu_si256(four.as_ptr().cast::<__m256i>()) };
        let none = _mm256_cmpeq_epi64(_mm256_and_si256(numbers, bits), _mm256_setzero_si256());
        let chosen = _mm256_movemask_pd(_mm256_castsi256_pd(none)).cast_unsigned();
        let order = &FRONT[chosen as usize % 16];
        let room = &mut out[count..count + 4];
        // SAFETY: `order` has 8 words of 4 bytes, `room` 4 of 8.
        unsafe {
            let order = _mm256_loadu_si256(order.as_ptr().cast::<__m256i>());
            _mm256_storeu_si256(
                room.as_mut_ptr().cast::<__m256i>(),
                _mm256_permutevar8x32_epi32(numbers, order),
            );
        }
        count += chosen.count_ones() as usize;
    }
    count + portable::without_bits(rest, mask, &mut out[count..])
}

/// [`Ranks::mark`], with an instruction that counts bits.
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
pub(super) fn mark(ranks: &mut Ranks, numbers: &[u64]) -> usize {
    portable::mark(ranks, numbers)
}

/// [`Ranks::place`], with the same.
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
pub(super) fn place(
    ranks: &mut Ranks,
    numbers: &[u64],
    placed: &mut [u64],
    late: &mut [u64],
) -> usize {
    portable::place(ranks, numbers, placed, late)
}

/// For each choice among four numbers: which halves of them come first.
const FRONT: [[u32; 8]; 16] = {
    let mut all = [[0; 8]; 16];
    let mut choice = 0;
    while choice < 16 {
        let (mut number, mut at) = (0, 0);
        while number < 4 {
            if choice >> number & 1 == 1 {
                all[choice][at] = 2 * number;
                all[choice][at + 1] = 2 * number + 1;
                at += 2;
            }
            number += 1;
        }
        choice += 1;
    }
    all
};
