//! The loops with AVX-512: 64 bytes, 8 tokens or 4 windows at a time.

use super::avx2::{self, fold_token};
use super::masks::Masks;
use super::portable::find_tokens;
use super::{Fold, Kernel, Scratch};
use crate::canonical::Case;
use crate::fingerprint::Mix;
use std::arch::x86_64::{
    __m128i, __m256i, __m512i, _mm_loadu_si128, _mm_storeu_si128, _mm256_add_epi32,
    _mm256_maskz_compress_epi32, _mm256_set1_epi32, _mm256_setr_epi32, _mm256_storeu_si256,
    _mm512_add_epi32, _mm512_add_epi64, _mm512_and_si512, _mm512_bsrli_epi128,
    _mm512_castsi128_si512, _mm512_castsi512_si128, _mm512_clmulepi64_epi128,
    _mm512_cmpeq_epi8_mask, _mm512_cmpgt_epi64_mask, _mm512_cmplt_epu8_mask, _mm512_cvtepu8_epi32,
    _mm512_extracti32x4_epi32, _mm512_i64gather_epi64, _mm512_inserti32x4, _mm512_loadu_si512,
    _mm512_mask_blend_epi8, _mm512_maskz_compress_epi8, _mm512_maskz_mov_epi64, _mm512_min_epi64,
    _mm512_or_si512, _mm512_set1_epi8, _mm512_set1_epi32, _mm512_set1_epi64, _mm512_setzero_si512,
    _mm512_slli_epi64, _mm512_srli_epi64, _mm512_srlv_epi64, _mm512_storeu_si512, _mm512_sub_epi8,
    _mm512_sub_epi64, _mm512_unpacklo_epi64, _mm512_xor_si512,
};

/// 0, 1, …, 63.
const IOTA: [u8; 64] = {
    let mut iota = [0; 64];
    let mut i = 0;
    while i < 64 {
        iota[i] = i as u8;
        i += 1;
    }
    iota
};

#[target_feature(
    enable = "avx2,bmi1,bmi2,popcnt,pclmulqdq,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,vpclmulqdq"
)]
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
        |bits, base, room| positions(bits, base, room),
    );
    values_of_tokens(kernel, scratch, count, values);
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn classify(block: &[u8; 64], lower: &mut [u8; 64], case: Case) -> Masks {
    let all = |byte: u8| _mm512_set1_epi8(byte.cast_signed());
    // SAFETY: 64 bytes are there.
    let bytes = unsafe { _mm512_loadu_si512(block.as_ptr().cast::<__m512i>()) };
    let is = |byte: u8| _mm512_cmpeq_epi8_mask(bytes, all(byte));
    let lowered = _mm512_or_si512(bytes, all(0x20));
    let letter = _mm512_cmplt_epu8_mask(_mm512_sub_epi8(lowered, all(b'a')), all(26));
    let fold = if case == Case::Fold { letter } else { 0 };
    // SAFETY: as above.
    unsafe {
        _mm512_storeu_si512(
            lower.as_mut_ptr().cast::<__m512i>(),
            _mm512_mask_blend_epi8(fold, bytes, lowered),
        );
    }
    let both = is(b'\'') | is(b'.');
    Masks {
        letter,
        digit: _mm512_cmplt_epu8_mask(_mm512_sub_epi8(bytes, all(b'0')), all(10)),
        underscore: is(b'_'),
        mid_letter: both | is(b':'),
        mid_digit: both | is(b',') | is(b';'),
    }
}

/// [`super::masks::positions`] by compressing the numbers 0 to 63.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,popcnt")]
fn positions(bits: u64, base: u32, out: &mut [u32; 64]) -> usize {
    let count = bits.count_ones() as usize;
    // SAFETY: `IOTA` has 64 bytes.
    let iota = unsafe { _mm512_loadu_si512(IOTA.as_ptr().cast::<__m512i>()) };
    let packed = _mm512_maskz_compress_epi8(bits, iota);
    let base = _mm512_set1_epi32(base.cast_signed());
    let mut write = |part: usize, sixteen: __m128i| {
        let places = _mm512_add_epi32(_mm512_cvtepu8_epi32(sixteen), base);
        // SAFETY: `part` is 0 to 3, and `out` has four times 16 places.
        unsafe { _mm512_storeu_si512(out.as_mut_ptr().add(16 * part).cast::<__m512i>(), places) };
    };
    write(0, _mm512_castsi512_si128(packed));
    if count > 16 {
        write(1, _mm512_extracti32x4_epi32::<1>(packed));
    }
    if count > 32 {
        write(2, _mm512_extracti32x4_epi32::<2>(packed));
        write(3, _mm512_extracti32x4_epi32::<3>(packed));
    }
    count
}

/// The values of all tokens, eight at a time: gathered, masked to their length; those of
/// more than 8 bytes set aside and folded in a second loop, the few of more than 16 one
/// by one.
#[inline]
#[target_feature(
    enable = "avx2,pclmulqdq,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi2,vpclmulqdq"
)]
fn values_of_tokens(kernel: &Kernel, scratch: &mut Scratch, count: usize, values: &mut Vec<u64>) {
    let base = values.len();
    values.resize(base + count.next_multiple_of(8), 0);
    let out = &mut values[base..];
    // The last group of eight may reach past the tokens found: empty ones, harmless to load.
    let padded = count.next_multiple_of(8);
    scratch.edges[2 * count..2 * padded].fill(0);
    let Scratch { lower, edges, long } = scratch;
    let (tokens, _) = edges[..2 * padded].as_chunks::<16>();
    let mut set_aside = 0;
    let mut numbers = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    for (eight, slot) in tokens.iter().zip(out.as_chunks_mut::<8>().0) {
        let (starts, lens) = places(eight);
        let value = chunk(lower, starts, lens);
        let more = _mm512_cmpgt_epi64_mask(lens, _mm512_set1_epi64(8));
        let room = &mut long[set_aside..set_aside + 8];
        // SAFETY: `slot` has 8 words, `room` 8 places.
        unsafe {
            _mm512_storeu_si512(slot.as_mut_ptr().cast::<__m512i>(), value);
            _mm256_storeu_si256(
                room.as_mut_ptr().cast::<__m256i>(),
                _mm256_maskz_compress_epi32(more, numbers),
            );
        }
        set_aside += more.count_ones() as usize;
        numbers = _mm256_add_epi32(numbers, _mm256_set1_epi32(8));
    }
    let Some(&filler) = long[..set_aside].first() else {
        values.truncate(base + count);
        return;
    };
    // Eights again: the last one is filled up with the first token, done twice.
    let padded = set_aside.next_multiple_of(8);
    long[set_aside..padded].fill(filler);
    let constants = Constants::new(kernel.token);
    for eight in long[..padded].as_chunks::<8>().0 {
        let token = |i: u32| [edges[2 * i as usize], edges[2 * i as usize + 1]];
        let edges = eight.map(token);
        let (starts, lens) = places(edges.as_flattened().first_chunk().unwrap_or(&[0; 16]));
        let eight_more = _mm512_set1_epi64(8);
        let first = chunk(lower, starts, lens);
        let second = chunk(
            lower,
            _mm512_add_epi64(starts, eight_more),
            _mm512_sub_epi64(lens, eight_more),
        );
        let even = constants.reduce(_mm512_clmulepi64_epi128::<0x00>(first, constants.step));
        let odd = constants.reduce(_mm512_clmulepi64_epi128::<0x01>(first, constants.step));
        let folded = _mm512_xor_si512(_mm512_unpacklo_epi64(even, odd), second);
        let mut results = [0_u64; 8];
        // SAFETY: eight words are 64 bytes.
        unsafe { _mm512_storeu_si512(results.as_mut_ptr().cast::<__m512i>(), folded) };
        for ((&i, edges), result) in eight.iter().zip(edges).zip(results) {
            let short = edges[1] - edges[0] <= 16;
            out[i as usize] = if short {
                result
            } else {
                fold_token(kernel.token, lower, edges)
            };
        }
    }
    values.truncate(base + count);
}

/// Starts and lengths of eight tokens, from their edges.
#[inline]
#[target_feature(enable = "avx512f")]
fn places(eight: &[u32; 16]) -> (__m512i, __m512i) {
    // SAFETY: 16 words of 4 bytes are 64.
    let edges = unsafe { _mm512_loadu_si512(eight.as_ptr().cast::<__m512i>()) };
    let starts = _mm512_and_si512(edges, _mm512_set1_epi64(0xffff_ffff));
    (
        starts,
        _mm512_sub_epi64(_mm512_srli_epi64::<32>(edges), starts),
    )
}

/// The first eight bytes of eight tokens, or fewer where the token is shorter.
#[inline]
#[target_feature(enable = "avx512f")]
fn chunk(lower: &[u8], starts: __m512i, lens: __m512i) -> __m512i {
    // SAFETY: starts lie inside the blocks of the stretch (or are 0), and `make_room` keeps
    // 64 bytes behind the last block.
    let bytes = unsafe { _mm512_i64gather_epi64::<1>(starts, lower.as_ptr().cast()) };
    let bits = _mm512_slli_epi64::<3>(_mm512_min_epi64(lens, _mm512_set1_epi64(8)));
    let ones = _mm512_set1_epi64(-1);
    _mm512_and_si512(
        bytes,
        _mm512_srlv_epi64(ones, _mm512_sub_epi64(_mm512_set1_epi64(64), bits)),
    )
}

/// A modulus, once in each 128-bit lane.
#[derive(Clone, Copy)]
struct Constants {
    /// `x^64` and `x^128`.
    step: __m512i,
    /// Barrett's quotient and the modulus.
    barrett: __m512i,
}

impl Constants {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn new(fold: Fold) -> Constants {
        Constants {
            step: both(fold.x64, fold.x128),
            barrett: both(fold.quotient, fold.x64),
        }
    }

    /// The residue of each lane, in its low half; the high half is left-over.
    #[inline]
    #[target_feature(enable = "avx512f,vpclmulqdq")]
    fn reduce(self, value: __m512i) -> __m512i {
        let quotient =
            _mm512_xor_si512(_mm512_clmulepi64_epi128::<0x01>(value, self.barrett), value);
        _mm512_xor_si512(
            _mm512_clmulepi64_epi128::<0x11>(quotient, self.barrett),
            value,
        )
    }

    /// Each lane times `x^64`, not reduced.
    #[inline]
    #[target_feature(enable = "avx512f,vpclmulqdq")]
    fn times_x64(self, value: __m512i) -> __m512i {
        _mm512_xor_si512(
            _mm512_clmulepi64_epi128::<0x00>(value, self.step),
            _mm512_clmulepi64_epi128::<0x11>(value, self.step),
        )
    }
}

/// The same two words in every lane.
#[inline]
#[target_feature(enable = "avx512f")]
fn both(low: u64, high: u64) -> __m512i {
    _mm512_unpacklo_epi64(
        _mm512_set1_epi64(low.cast_signed()),
        _mm512_set1_epi64(high.cast_signed()),
    )
}

/// Four stretches of the document slide at once, one in each 128-bit lane, two steps a
/// turn because a lane holds two tokens.
#[target_feature(enable = "avx2,pclmulqdq,avx512f,avx512bw,avx512dq,avx512vl,vpclmulqdq")]
pub(super) fn windows(kernel: &Kernel, tokens: &[u64], out: &mut Vec<u64>) {
    let width = kernel.width;
    let count = tokens.len() - width + 1;
    // Windows of each stretch: even, so that turns of two come out.
    let quarter = (count / 4) & !1;
    if quarter < 2 * width {
        // Starting four windows from nothing would cost more than it gains.
        return avx2::windows(kernel, tokens, out);
    }
    let constants = Constants::new(kernel.window);
    let leaving = _mm512_set1_epi64(kernel.leaving.cast_signed());
    let base = out.len();
    out.resize(base + 4 * quarter, 0);
    let windows = &mut out[base..];

    // Token k of each stretch enters alone until the first window is full but for one.
    let mut value = _mm512_setzero_si512();
    for k in 0..width - 1 {
        let entering = _mm512_maskz_mov_epi64(0x55, lanes(tokens, quarter, k));
        value = _mm512_xor_si512(constants.times_x64(value), entering);
    }
    // Window k needs token k + width − 1 to enter and token k − 1 to leave.
    for k in (0..quarter).step_by(2) {
        let entering = lanes(tokens, quarter, k + width - 1);
        // Nothing has to leave the very first window.
        let left = if k == 0 {
            let first = lanes(tokens, quarter, 0);
            _mm512_unpacklo_epi64(_mm512_setzero_si512(), first)
        } else {
            lanes(tokens, quarter, k - 1)
        };
        let gone = _mm512_clmulepi64_epi128::<0x00>(left, leaving);
        let come = _mm512_maskz_mov_epi64(0x55, entering);
        let change = _mm512_xor_si512(gone, come);
        value = _mm512_xor_si512(constants.times_x64(value), change);
        let even = constants.reduce(value);

        let gone = _mm512_clmulepi64_epi128::<0x01>(left, leaving);
        let come = _mm512_bsrli_epi128::<8>(entering);
        let change = _mm512_xor_si512(gone, come);
        value = _mm512_xor_si512(constants.times_x64(value), change);
        let odd = constants.reduce(value);

        store_lanes(windows, quarter, k, _mm512_unpacklo_epi64(even, odd));
    }
    // What four equal stretches leave over.
    if count > 4 * quarter {
        avx2::one_stream(kernel, &tokens[4 * quarter..], out);
    }
}

/// Words `k` and `k + 1` of each of four stretches.
#[inline]
#[target_feature(enable = "avx512f")]
fn lanes(words: &[u64], stretch: usize, k: usize) -> __m512i {
    let lane = |i: usize| {
        let two: &[u64; 2] = words[i * stretch + k..].first_chunk().unwrap_or(&[0; 2]);
        // SAFETY: two words are 16 bytes.
        unsafe { _mm_loadu_si128(two.as_ptr().cast::<__m128i>()) }
    };
    let all = _mm512_castsi128_si512(lane(0));
    let all = _mm512_inserti32x4::<1>(all, lane(1));
    let all = _mm512_inserti32x4::<2>(all, lane(2));
    _mm512_inserti32x4::<3>(all, lane(3))
}

/// The reverse of [`lanes`].
#[inline]
#[target_feature(enable = "avx512f")]
fn store_lanes(words: &mut [u64], stretch: usize, k: usize, all: __m512i) {
    let mut store = |i: usize, lane: __m128i| {
        let Some(two) = words[i * stretch + k..].first_chunk_mut::<2>() else {
            unreachable!("a stretch has an even number of windows");
        };
        // SAFETY: two words are 16 bytes.
        unsafe { _mm_storeu_si128(two.as_mut_ptr().cast::<__m128i>(), lane) };
    };
    store(0, _mm512_castsi512_si128(all));
    store(1, _mm512_extracti32x4_epi32::<1>(all));
    store(2, _mm512_extracti32x4_epi32::<2>(all));
    store(3, _mm512_extracti32x4_epi32::<3>(all));
}

/// The mix, eight at a time by autovectorisation.
#[target_feature(enable = "avx2,avx512f,avx512dq,avx512vl")]
pub(super) fn mix(mix: &Mix, residues: &mut [u64]) {
    mix.apply_all(residues);
}
