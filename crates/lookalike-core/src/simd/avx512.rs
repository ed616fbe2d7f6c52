//! The loops with AVX-512: 64 bytes, 8 tokens or 4 windows at a time.

use super::avx2::{self, Stretches, fold_token, soon};
use super::masks::Masks;
use super::portable::{self, find_tokens};
use super::{Fold, Kernel, Scratch};
use crate::canonical::Case;
use crate::fingerprint::Mix;
use std::arch::x86_64::{
    __m128i, __m256i, __m512i, _mm_loadu_si128, _mm_storeu_si128, _mm256_add_epi32,
    _mm256_maskz_compress_epi32, _mm256_set1_epi32, _mm256_setr_epi32, _mm256_storeu_si256,
    _mm512_add_epi32, _mm512_add_epi64, _mm512_and_si512, _mm512_bsrli_epi128,
    _mm512_castsi128_si512, _mm512_castsi512_si128, _mm512_clmulepi64_epi128,
    _mm512_cmpgt_epi64_mask, _mm512_cvtepu8_epi32, _mm512_extracti32x4_epi32,
    _mm512_i64gather_epi64, _mm512_inserti32x4, _mm512_loadu_si512, _mm512_mask_blend_epi8,
    _mm512_maskz_compress_epi8, _mm512_maskz_compress_epi64, _mm512_maskz_mov_epi64,
    _mm512_min_epi64, _mm512_movepi8_mask, _mm512_or_si512, _mm512_permutex2var_epi8,
    _mm512_set1_epi8, _mm512_set1_epi32, _mm512_set1_epi64, _mm512_setzero_si512,
    _mm512_slli_epi64, _mm512_srli_epi64, _mm512_srlv_epi64, _mm512_storeu_si512, _mm512_sub_epi64,
    _mm512_test_epi8_mask, _mm512_testn_epi64_mask, _mm512_unpacklo_epi64, _mm512_xor_si512,
};

const LETTER: u8 = 1;
const DIGIT: u8 = 2;
const UNDERSCORE: u8 = 4;
const MID_LETTER: u8 = 8;
const MID_DIGIT: u8 = 16;

/// What each ASCII character is.
const CLASSES: [u8; 128] = {
    let mut classes = [0; 128];
    let mut byte = 0;
    while byte < 128 {
        classes[byte as usize] = match byte {
            b'a'..=b'z' | b'A'..=b'Z' => LETTER,
            b'0'..=b'9' => DIGIT,
            b'_' => UNDERSCORE,
            b'\'' | b'.' => MID_LETTER | MID_DIGIT,
            b':' => MID_LETTER,
            b',' | b';' => MID_DIGIT,
            _ => 0,
        };
        byte += 1;
    }
    classes
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
        |edges, _, base, room| positions(edges.starts | edges.ends, base, room),
    );
    values_of_tokens(kernel, scratch, count, values);
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn classify(block: &[u8; 64], lower: &mut [u8; 64], case: Case) -> Masks {
    let all = |byte: u8| _mm512_set1_epi8(byte.cast_signed());
    // SAFETY: 64 bytes are there.
    let bytes = unsafe { _mm512_loadu_si512(block.as_ptr().cast::<__m512i>()) };
    let lowered = _mm512_or_si512(bytes, all(0x20));
    // SAFETY: `CLASSES` has 128 bytes.
    let (first, second) = unsafe {
        let at = CLASSES.as_ptr().cast::<__m512i>();
        (_mm512_loadu_si512(at), _mm512_loadu_si512(at.add(1)))
    };
    // The highest bit of an index does not count; other bytes than ASCII are told below.
    let classes = _mm512_permutex2var_epi8(first, bytes, second);
    let is = |class: u8| _mm512_test_epi8_mask(classes, all(class));
    let high = _mm512_movepi8_mask(bytes);
    let letter = is(LETTER) & !high;
    let fold = if case == Case::Fold { letter } else { 0 };
    // SAFETY: as above.
    unsafe {
        _mm512_storeu_si512(
            lower.as_mut_ptr().cast::<__m512i>(),
            _mm512_mask_blend_epi8(fold, bytes, lowered),
        );
    }
    Masks {
        letter: letter | high,
        digit: is(DIGIT) & !high,
        underscore: is(UNDERSCORE) & !high,
        mid_letter: is(MID_LETTER) & !high,
        mid_digit: is(MID_DIGIT) & !high,
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
    // Prose has some 17 edges in 64 bytes: a branch at 16 would be guessed wrong in every
    // other block.
    write(0, _mm512_castsi512_si128(packed));
    write(1, _mm512_extracti32x4_epi32::<1>(packed));
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
    // The last group of eight may reach past the tokens found: empty ones, harmless to load.
    let padded = count.next_multiple_of(8);
    let base = values.len();
    values.reserve(padded);
    let (eights, _) = values.spare_capacity_mut().as_chunks_mut::<8>();
    scratch.edges[2 * count..2 * padded].fill(0);
    let Scratch { lower, edges, long } = scratch;
    let (tokens, _) = edges[..2 * padded].as_chunks::<16>();
    let mut set_aside = 0;
    let mut numbers = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    for (eight, slot) in tokens.iter().zip(eights) {
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
    // SAFETY: room for so many was reserved, and every group of eight was written.
    unsafe { values.set_len(base + count) };
    let out = &mut values[base..];
    let Some(&filler) = long[..set_aside].first() else {
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
    let stretches = Stretches::of(count);
    if stretches.len < 2 * width || stretches.len > count {
        // Starting four windows from nothing would cost more than it gains.
        return avx2::windows(kernel, tokens, out);
    }
    let starts = stretches.starts;
    let constants = Constants::new(kernel.window);
    let leaving = _mm512_set1_epi64(kernel.leaving.cast_signed());
    let base = out.len();
    out.reserve(count);
    let windows = out.spare_capacity_mut()[..count].as_mut_ptr();

    // Token k of each stretch enters alone until the first window is full but for one.
    let mut value = _mm512_setzero_si512();
    for k in 0..width - 1 {
        let entering = starts.map(|start| [tokens[start + k], 0]);
        value = _mm512_xor_si512(constants.times_x64(value), lanes(entering.each_ref()));
    }
    // Window k needs token k + width − 1 to enter and token k − 1 to leave, two at a time.
    let turns = stretches.len / 2;
    let entering = stretches.pairs(tokens, width - 1, turns);
    let leaving_next = stretches.pairs(tokens, 1, turns - 1);
    // Nothing leaves the very first window.
    let mut left = lanes(starts.map(|start| [0, tokens[start]]).each_ref());
    for k in 0..turns {
        let entering = lanes(entering.map(|pairs| &pairs[k]));
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

        let both = _mm512_unpacklo_epi64(even, odd);
        // SAFETY: as many windows as a stretch is long, from each of the starts on, lie
        // within the `count` that room was made for, and 2k + 1 is less than that.
        unsafe {
            let at = |i: usize| windows.add(starts[i] + 2 * k).cast::<__m128i>();
            _mm_storeu_si128(at(0), _mm512_castsi512_si128(both));
            _mm_storeu_si128(at(1), _mm512_extracti32x4_epi32::<1>(both));
            _mm_storeu_si128(at(2), _mm512_extracti32x4_epi32::<2>(both));
            _mm_storeu_si128(at(3), _mm512_extracti32x4_epi32::<3>(both));
        }
        if k + 1 < turns {
            left = lanes(leaving_next.map(|pairs| &pairs[k]));
        }
    }
    // SAFETY: room for so many was reserved, and the four stretches cover them all.
    unsafe { out.set_len(base + count) };
}

/// Two words for each of four stretches.
#[inline]
#[target_feature(enable = "avx512f")]
fn lanes(words: [&[u64; 2]; 4]) -> __m512i {
    let lane = |i: usize| {
        // SAFETY: two words are 16 bytes.
        unsafe { _mm_loadu_si128(words[i].as_ptr().cast::<__m128i>()) }
    };
    let all = _mm512_castsi128_si512(lane(0));
    let all = _mm512_inserti32x4::<1>(all, lane(1));
    let all = _mm512_inserti32x4::<2>(all, lane(2));
    _mm512_inserti32x4::<3>(all, lane(3))
}

/// The mix, eight at a time by autovectorisation.
#[target_feature(enable = "avx2,avx512f,avx512dq,avx512vl")]
pub(super) fn mix(mix: &Mix, residues: &mut [u64]) {
    mix.apply_all(residues);
}

/// [`super::Filter::without_bits`], eight at a time.
#[target_feature(enable = "avx512f,popcnt")]
pub(super) fn without_bits(from: &[u64], mask: u64, out: &mut [u64]) -> usize {
    let bits = _mm512_set1_epi64(mask.cast_signed());
    let (eights, rest) = from.as_chunks::<8>();
    let mut count = 0;
    for eight in eights {
        // SAFETY: 8 words are 64 bytes.
        let numbers = unsafe { _mm512_loadu_si512(eight.as_ptr().cast::<__m512i>()) };
        let chosen = _mm512_testn_epi64_mask(numbers, bits);
        let room = &mut out[count..count + 8];
        // SAFETY: `room` has 8 words. Compressed in a register: to memory is slow on Zen 4.
        unsafe {
            _mm512_storeu_si512(
                room.as_mut_ptr().cast::<__m512i>(),
                _mm512_maskz_compress_epi64(chosen, numbers),
            );
        }
        count += chosen.count_ones() as usize;
    }
    count + portable::without_bits(rest, mask, &mut out[count..])
}
