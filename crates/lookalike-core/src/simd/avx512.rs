//! The loops with AVX-512: 64 bytes, 8 tokens or 4 windows at a time.

use super::avx2::{self, Stretches, soon};
use super::masks::Masks;
use super::portable::{self, find_tokens};
use super::{Fold, Kernel, Scratch};
use crate::canonical::Case;
use crate::draw::FACTORS;
use crate::fingerprint::Mix;
use std::arch::x86_64::{
    __m128i, __m256i, __m512i, _mm_loadu_si128, _mm_storeu_si128, _mm256_add_epi32,
    _mm256_and_si256, _mm256_cmpgt_epi32_mask, _mm256_loadu_si256, _mm256_maskz_compress_epi32,
    _mm256_min_epi32, _mm256_set1_epi32, _mm256_setr_epi32, _mm256_slli_epi32, _mm256_srli_epi32,
    _mm256_storeu_si256, _mm256_sub_epi32, _mm512_add_epi16, _mm512_and_si512, _mm512_bslli_epi128,
    _mm512_bsrli_epi128, _mm512_castsi128_si512, _mm512_castsi512_si128, _mm512_castsi512_si256,
    _mm512_clmulepi64_epi128, _mm512_cvtepu8_epi16, _mm512_cvtepu32_epi64,
    _mm512_extracti32x4_epi32, _mm512_extracti64x4_epi64, _mm512_inserti32x4, _mm512_loadu_si512,
    _mm512_mask2_permutex2var_epi8, _mm512_maskz_compress_epi8, _mm512_maskz_compress_epi64,
    _mm512_maskz_permutex2var_epi8, _mm512_movepi8_mask, _mm512_mullo_epi64, _mm512_set1_epi8,
    _mm512_set1_epi16, _mm512_set1_epi64, _mm512_setr_epi64, _mm512_setzero_si512,
    _mm512_srli_epi64, _mm512_srlv_epi64, _mm512_storeu_si512, _mm512_test_epi8_mask,
    _mm512_testn_epi64_mask, _mm512_unpacklo_epi64, _mm512_xor_si512,
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

/// Each ASCII character, capitals as small letters.
const LOWER: [u8; 128] = {
    let mut lower = [0; 128];
    let mut byte = 0_u8;
    while byte < 128 {
        lower[byte as usize] = byte.to_ascii_lowercase();
        byte += 1;
    }
    lower
};

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn classify(block: &[u8; 64], lower: &mut [u8; 64], case: Case) -> Masks {
    // SAFETY: 64 bytes are there.
    let bytes = unsafe { _mm512_loadu_si512(block.as_ptr().cast::<__m512i>()) };
    let table = |table: &'static [u8; 128]| {
        // SAFETY: the table has 128 bytes.
        unsafe {
            let at = table.as_ptr().cast::<__m512i>();
            (_mm512_loadu_si512(at), _mm512_loadu_si512(at.add(1)))
        }
    };
    // Other bytes than ASCII are letters and stay as they are.
    let other = _mm512_movepi8_mask(bytes);
    let (first, second) = table(&CLASSES);
    let classes = _mm512_maskz_permutex2var_epi8(!other, first, bytes, second);
    let is = |class: u8| _mm512_test_epi8_mask(classes, _mm512_set1_epi8(class.cast_signed()));
    let lowered = if case == Case::Fold {
        let (first, second) = table(&LOWER);
        _mm512_mask2_permutex2var_epi8(first, bytes, !other, second)
    } else {
        bytes
    };
    // SAFETY: as above.
    unsafe { _mm512_storeu_si512(lower.as_mut_ptr().cast::<__m512i>(), lowered) };
    Masks {
        letter: is(LETTER) | other,
        digit: is(DIGIT),
        underscore: is(UNDERSCORE),
        mid_letter: is(MID_LETTER),
        mid_digit: is(MID_DIGIT),
    }
}

/// [`super::masks::positions`] by compressing the numbers 0 to 63.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,popcnt")]
fn positions(bits: u64, base: u16, out: &mut [u16; 64]) -> usize {
    let count = bits.count_ones() as usize;
    // SAFETY: `IOTA` has 64 bytes.
    let iota = unsafe { _mm512_loadu_si512(IOTA.as_ptr().cast::<__m512i>()) };
    let packed = _mm512_maskz_compress_epi8(bits, iota);
    let base = _mm512_set1_epi16(base.cast_signed());
    let (first, second) = out.split_at_mut(32);
    let write = |half: &mut [u16], packed: __m256i| {
        let places = _mm512_add_epi16(_mm512_cvtepu8_epi16(packed), base);
        // SAFETY: half of `out` has 32 places of 2 bytes.
        unsafe { _mm512_storeu_si512(half.as_mut_ptr().cast::<__m512i>(), places) };
    };
    write(first, _mm512_castsi512_si256(packed));
    // Prose has some 17 edges in 64 bytes.
    if count > 32 {
        write(second, _mm512_extracti64x4_epi64::<1>(packed));
    }
    count
}

/// The values of all tokens, eight at a time: loaded and masked to their length; those of
/// more than 8 bytes are set aside, and get 8 bytes more in each turn that follows.
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
    let Scratch {
        lower,
        edges,
        long,
        long_edges,
    } = scratch;
    let tokens = edges[..2 * padded].as_chunks().0.as_chunks().0;
    let mut set_aside = 0;
    let mut numbers = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    for (eight, slot) in tokens.iter().zip(eights) {
        let lens = lens(eight);
        let value = chunk(lower, eight, 0, lens);
        // SAFETY: `slot` has 8 words.
        unsafe { _mm512_storeu_si512(slot.as_mut_ptr().cast::<__m512i>(), value) };
        let more = _mm256_cmpgt_epi32_mask(lens, _mm256_set1_epi32(8));
        put(
            more,
            numbers,
            edges_of(eight),
            &mut long[set_aside..],
            &mut long_edges[set_aside..],
        );
        set_aside += more.count_ones() as usize;
        numbers = _mm256_add_epi32(numbers, _mm256_set1_epi32(8));
    }
    // SAFETY: room for so many was reserved, and every group of eight was written.
    unsafe { values.set_len(base + count) };
    let values = &mut values[base..];
    let constants = Constants::new(kernel.token);
    let mut at = 8_i32;
    while set_aside > 0 {
        // Eights again: the last one is filled up with its last token, done more than once.
        let padded = set_aside.next_multiple_of(8);
        let (number, token) = (long[set_aside - 1], long_edges[set_aside - 1]);
        long[set_aside..padded].fill(number);
        long_edges[set_aside..padded].fill(token);
        let mut still = 0;
        for first in (0..padded).step_by(8) {
            let numbers: [u32; 8] = *long[first..].first_chunk().unwrap_or(&[0; 8]);
            let eight: [[u16; 2]; 8] = *long_edges[first..].first_chunk().unwrap_or(&[[0; 2]; 8]);
            let left = _mm256_sub_epi32(lens(&eight), _mm256_set1_epi32(at));
            let known = words(numbers.map(|i| values[i as usize]));
            let even = constants.times_x64(known);
            let odd = constants.times_x64(_mm512_bsrli_epi128::<8>(known));
            let folded = _mm512_xor_si512(
                _mm512_unpacklo_epi64(even, odd),
                chunk(lower, &eight, at.cast_unsigned() as usize, left),
            );
            let mut results = [0_u64; 8];
            // SAFETY: eight words are 64 bytes.
            unsafe { _mm512_storeu_si512(results.as_mut_ptr().cast::<__m512i>(), folded) };
            for (i, result) in numbers.iter().zip(results) {
                values[*i as usize] = result;
            }
            let more = _mm256_cmpgt_epi32_mask(left, _mm256_set1_epi32(8))
                & 0xff_u8 >> (first + 8).saturating_sub(set_aside);
            put(
                more,
                numbers_of(&numbers),
                edges_of(&eight),
                &mut long[still..],
                &mut long_edges[still..],
            );
            still += more.count_ones() as usize;
        }
        (set_aside, at) = (still, at + 8);
    }
}

/// The edges of eight tokens, the end of each in the upper half.
#[inline]
#[target_feature(enable = "avx512f")]
fn edges_of(eight: &[[u16; 2]; 8]) -> __m256i {
    // SAFETY: 8 times 4 bytes are 32.
    unsafe { _mm256_loadu_si256(eight.as_ptr().cast::<__m256i>()) }
}

/// Eight numbers.
#[inline]
#[target_feature(enable = "avx512f")]
fn numbers_of(eight: &[u32; 8]) -> __m256i {
    // SAFETY: 8 times 4 bytes are 32.
    unsafe { _mm256_loadu_si256(eight.as_ptr().cast::<__m256i>()) }
}

/// The lengths of eight tokens.
#[inline]
#[target_feature(enable = "avx512f,avx512vl")]
fn lens(eight: &[[u16; 2]; 8]) -> __m256i {
    let edges = edges_of(eight);
    let starts = _mm256_and_si256(edges, _mm256_set1_epi32(0xffff));
    _mm256_sub_epi32(_mm256_srli_epi32::<16>(edges), starts)
}

/// Writes the chosen of eight tokens to the front of both lists, and whatever behind them.
#[inline]
#[target_feature(enable = "avx512f,avx512vl")]
fn put(
    chosen: u8,
    numbers: __m256i,
    edges: __m256i,
    long: &mut [u32],
    long_edges: &mut [[u16; 2]],
) {
    let (long, long_edges) = (&mut long[..8], &mut long_edges[..8]);
    // SAFETY: each has room for 8 times 4 bytes.
    unsafe {
        _mm256_storeu_si256(
            long.as_mut_ptr().cast::<__m256i>(),
            _mm256_maskz_compress_epi32(chosen, numbers),
        );
        _mm256_storeu_si256(
            long_edges.as_mut_ptr().cast::<__m256i>(),
            _mm256_maskz_compress_epi32(chosen, edges),
        );
    }
}

/// Eight words.
#[inline]
#[target_feature(enable = "avx512f")]
fn words(all: [u64; 8]) -> __m512i {
    let word = |i: usize| all[i].cast_signed();
    _mm512_setr_epi64(
        word(0),
        word(1),
        word(2),
        word(3),
        word(4),
        word(5),
        word(6),
        word(7),
    )
}

/// Eight bytes of each of eight tokens, from byte `at` on, or as many as are `left`.
///
/// Loads one by one: a gather takes longer on the processors at hand.
#[inline]
#[target_feature(enable = "avx512f,avx512vl")]
fn chunk(lower: &[u8], eight: &[[u16; 2]; 8], at: usize, left: __m256i) -> __m512i {
    let bytes = words(eight.map(|[start, _]| {
        // SAFETY: tokens lie inside the blocks of the stretch, `at` inside the token, and
        // `make_room` keeps 64 bytes behind the last block.
        unsafe {
            let from = lower.as_ptr().add(usize::from(start) + at);
            from.cast::<u64>().read_unaligned()
        }
    }));
    let bits = _mm256_slli_epi32::<3>(_mm256_min_epi32(left, _mm256_set1_epi32(8)));
    let none = _mm512_cvtepu32_epi64(_mm256_sub_epi32(_mm256_set1_epi32(64), bits));
    _mm512_and_si512(bytes, _mm512_srlv_epi64(_mm512_set1_epi64(-1), none))
}

/// A modulus, once in each 128-bit lane.
#[derive(Clone, Copy)]
struct Constants {
    /// Barrett's quotient and the modulus.
    barrett: __m512i,
}

impl Constants {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn new(fold: Fold) -> Constants {
        Constants {
            barrett: both(fold.quotient, fold.x64),
        }
    }

    /// The low half of each lane times `x^64`, reduced, in its low half; the high half is
    /// left-over. As in `avx2`, where what is to be reduced has a low half too.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,vpclmulqdq")]
    fn times_x64(self, value: __m512i) -> __m512i {
        let quotient = _mm512_xor_si512(
            _mm512_clmulepi64_epi128::<0x00>(value, self.barrett),
            _mm512_bslli_epi128::<8>(value),
        );
        _mm512_clmulepi64_epi128::<0x11>(quotient, self.barrett)
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

#[target_feature(enable = "avx2,pclmulqdq,avx512f,avx512bw,avx512dq,avx512vl,vpclmulqdq")]
pub(super) fn windows(kernel: &Kernel, tokens: &[u64], out: &mut Vec<u64>) {
    match Stretches::of(tokens.len() - kernel.width + 1, kernel.width) {
        Some(stretches) => slide(kernel, tokens, &stretches, None, out),
        None => avx2::windows(kernel, tokens, out),
    }
}

/// The windows and the mix. That of a public seed is made between the multiplications.
#[target_feature(enable = "avx2,pclmulqdq,avx512f,avx512bw,avx512dq,avx512vl,vpclmulqdq")]
pub(super) fn fingerprints(kernel: &Kernel, tokens: &[u64], out: &mut Vec<u64>) {
    let stretches = Stretches::of(tokens.len() - kernel.width + 1, kernel.width);
    match (stretches, &kernel.rabin.mix) {
        (Some(stretches), Mix::Public(seed)) => {
            slide(kernel, tokens, &stretches, Some(*seed), out);
        }
        (_, mix) => {
            let base = out.len();
            windows(kernel, tokens, out);
            mix.apply_all(&mut out[base..]);
        }
    }
}

/// Eight stretches of the document slide at once, one in each 128-bit lane of two registers,
/// two steps a turn because a lane holds two tokens. With a `seed` they are mixed, too.
#[inline]
#[target_feature(enable = "avx2,pclmulqdq,avx512f,avx512bw,avx512dq,avx512vl,vpclmulqdq")]
fn slide(
    kernel: &Kernel,
    tokens: &[u64],
    stretches: &Stretches<8>,
    seed: Option<u64>,
    out: &mut Vec<u64>,
) {
    let width = kernel.width;
    let count = tokens.len() - width + 1;
    let starts = stretches.starts;
    let constants = Constants::new(kernel.window);
    let leaving = _mm512_set1_epi64(kernel.leaving.cast_signed());
    let base = out.len();
    out.reserve(count);
    let windows = out.spare_capacity_mut()[..count].as_mut_ptr();

    // Two tokens of each stretch, from its token `at` on.
    let pairs = |at: usize| {
        let lane = |s: usize| {
            // SAFETY: the windows of a stretch lie within `count`, so from its start on there
            // are `len + width − 1` tokens, and `at + 1` is less than that wherever this is
            // called.
            unsafe { _mm_loadu_si128(tokens.as_ptr().add(starts[s] + at).cast::<__m128i>()) }
        };
        std::array::from_fn(|i| {
            four([
                lane(4 * i),
                lane(4 * i + 1),
                lane(4 * i + 2),
                lane(4 * i + 3),
            ])
        })
    };
    // Token k of each stretch enters alone until the first window is full but for one.
    let mut values = [_mm512_setzero_si512(); 2];
    for k in 0..width - 1 {
        let entering: [__m512i; 2] = pairs(k);
        for i in 0..2 {
            values[i] = _mm512_xor_si512(constants.times_x64(values[i]), entering[i]);
        }
    }
    // Window k needs token k + width − 1 to enter and token k − 1 to leave, two at a time.
    // What leaves has two halves: the upper one is added before the window is multiplied,
    // the lower one after. Nothing leaves the very first window.
    let mut left: [__m512i; 2] = pairs(0).map(|pair| _mm512_bslli_epi128::<8>(pair));
    let mut gone = [_mm512_setzero_si512(); 2];
    for k in 0..stretches.len / 2 {
        let entering: [__m512i; 2] = pairs(2 * k + width - 1);
        // After the last turn nothing leaves any more: any tokens will do.
        let left_next = pairs((2 * k + 1).min(stretches.len - 2));
        for i in 0..2 {
            let change = _mm512_xor_si512(gone[i], entering[i]);
            let even = _mm512_xor_si512(constants.times_x64(values[i]), change);

            let gone_odd = _mm512_clmulepi64_epi128::<0x01>(left[i], leaving);
            let value = _mm512_xor_si512(even, _mm512_bsrli_epi128::<8>(gone_odd));
            let change = _mm512_xor_si512(gone_odd, _mm512_bsrli_epi128::<8>(entering[i]));
            let odd = _mm512_xor_si512(constants.times_x64(value), change);

            gone[i] = _mm512_clmulepi64_epi128::<0x00>(left_next[i], leaving);
            values[i] = _mm512_xor_si512(odd, _mm512_bsrli_epi128::<8>(gone[i]));

            let both = _mm512_unpacklo_epi64(even, odd);
            let both = seed.map_or(both, |seed| public_mix(both, seed));
            // SAFETY: as many windows as a stretch is long, from each of the starts on, lie
            // within the `count` that room was made for, and 2k + 1 is less than that.
            unsafe {
                let at = |s: usize| windows.add(starts[4 * i + s] + 2 * k).cast::<__m128i>();
                _mm_storeu_si128(at(0), _mm512_castsi512_si128(both));
                _mm_storeu_si128(at(1), _mm512_extracti32x4_epi32::<1>(both));
                _mm_storeu_si128(at(2), _mm512_extracti32x4_epi32::<2>(both));
                _mm_storeu_si128(at(3), _mm512_extracti32x4_epi32::<3>(both));
            }
        }
        left = left_next;
    }
    // SAFETY: room for so many was reserved, and the eight stretches cover them all.
    unsafe { out.set_len(base + count) };
}

/// Two words in each lane.
#[inline]
#[target_feature(enable = "avx512f")]
fn four(lanes: [__m128i; 4]) -> __m512i {
    let all = _mm512_castsi128_si512(lanes[0]);
    let all = _mm512_inserti32x4::<1>(all, lanes[1]);
    let all = _mm512_inserti32x4::<2>(all, lanes[2]);
    _mm512_inserti32x4::<3>(all, lanes[3])
}

/// [`Mix::Public`], eight at a time.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn public_mix(residues: __m512i, seed: u64) -> __m512i {
    let [first, second] = FACTORS.map(|factor| _mm512_set1_epi64(factor.cast_signed()));
    let x = _mm512_xor_si512(residues, _mm512_set1_epi64(seed.cast_signed()));
    let x = _mm512_mullo_epi64(_mm512_xor_si512(x, _mm512_srli_epi64::<30>(x)), first);
    let x = _mm512_mullo_epi64(_mm512_xor_si512(x, _mm512_srli_epi64::<27>(x)), second);
    _mm512_xor_si512(x, _mm512_srli_epi64::<31>(x))
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
