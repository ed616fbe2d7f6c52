//! The loops without special instructions: the twin every other level must equal.

use super::masks::{Carry, Edges, Masks, drop_underscores, positions};
use super::{Kernel, Ranks, Scratch};
use crate::canonical::Case;
use crate::fingerprint::Rabin;
use crate::fingerprint::gf2::Modulus;

/// Multiplication by one constant as table look-ups: `table[i][b]` is the product of byte
/// `b` at position `i`. 16 KiB each.
type Product = Box<[[u64; 256]; 8]>;

/// The products the loops need: token chunks, the window's step, the leaving token.
#[derive(Clone, Debug)]
pub(super) struct Tables {
    token_step: Product,
    window_step: Product,
    leaving: Product,
}

impl Tables {
    pub(super) fn new(rabin: &Rabin, leaving: u64) -> Tables {
        Tables {
            token_step: product(rabin.token, rabin.token.low()),
            window_step: product(rabin.window, rabin.window.low()),
            leaving: product(rabin.window, leaving),
        }
    }

    /// [`Rabin::token_value`] by table.
    #[inline]
    pub(super) fn token_value(&self, bytes: &[u8]) -> u64 {
        let (chunks, rest) = bytes.as_chunks();
        let mut value = 0;
        for (i, chunk) in chunks.iter().enumerate() {
            let step = if i == 0 {
                0
            } else {
                times(&self.token_step, value)
            };
            value = step ^ u64::from_le_bytes(*chunk);
        }
        match (chunks.len(), rest.len()) {
            (_, 0) => value,
            (0, _) => short(rest),
            _ => times(&self.token_step, value) ^ short(rest),
        }
    }
}

/// Up to seven bytes as the lowest of a number: loads that overlap, for a call of a copying
/// function costs more than all the rest.
#[inline]
pub(super) fn short(bytes: &[u8]) -> u64 {
    let len = bytes.len();
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        let last = u64::from(u32::from_le_bytes(*last));
        return u64::from(u32::from_le_bytes(*first)) | last << (8 * (len - 4));
    }
    let at = |i: usize| u64::from(bytes[i]) << (8 * i);
    if len == 0 {
        0
    } else {
        at(0) | at(len / 2) | at(len - 1)
    }
}

fn product(modulus: Modulus, constant: u64) -> Product {
    let mut table = Box::new([[0_u64; 256]; 8]);
    let mut power = constant;
    for row in table.iter_mut() {
        for bit in 0..8 {
            // Linear: what a bit adds, it adds to every entry that has it.
            let half = 1 << bit;
            for low in 0..half {
                row[half + low] = row[low] ^ power;
            }
            power = power << 1 ^ if power >> 63 == 1 { modulus.low() } else { 0 };
        }
    }
    table
}

#[inline(always)]
fn times(table: &Product, value: u64) -> u64 {
    let bytes = value.to_le_bytes();
    (0..8).fold(0, |sum, i| sum ^ table[i][bytes[i] as usize])
}

/// Two stretches of the document slide at once: each look-up waits for the one before it,
/// and two keep the loads busy.
pub(super) fn windows(kernel: &Kernel, tokens: &[u64], out: &mut Vec<u64>) {
    let Tables {
        window_step,
        leaving,
        ..
    } = &kernel.tables;
    let width = kernel.width;
    let count = tokens.len() - width + 1;
    let half = count / 2;
    let base = out.len();
    out.resize(base + count, 0);
    let (first, second) = out[base..].split_at_mut(half);
    let start = |tokens: &[u64]| {
        let all_but_one = tokens[..width - 1].iter();
        all_but_one.fold(0, |value, &token| times(window_step, value) ^ token)
    };
    // The token that leaves has been multiplied as often as the window is wide.
    let step = |value: u64, left: u64, token: u64| {
        times(window_step, value) ^ times(leaving, left) ^ token
    };
    let (mut a, mut b) = (start(tokens), start(&tokens[half..]));
    let mut lefts = [0; 2];
    for k in 0..half {
        a = step(a, lefts[0], tokens[k + width - 1]);
        b = step(b, lefts[1], tokens[half + k + width - 1]);
        (first[k], second[k]) = (a, b);
        lefts = [tokens[k], tokens[half + k]];
    }
    if let Some(last) = second.get_mut(half) {
        *last = step(b, lefts[1], tokens[count + width - 2]);
    }
}

pub(super) fn plain_words(
    kernel: &Kernel,
    text: &[u8],
    scratch: &mut Scratch,
    values: &mut Vec<u64>,
) {
    let count = find_tokens(text, kernel.case, scratch, |_| {}, classify, positions);
    values_of_tokens(scratch, count, values, |lower, [start, end]| {
        let token = &lower[usize::from(start)..usize::from(end)];
        kernel.tables.token_value(token)
    });
}

/// One masked load for each token; those of more than 8 bytes are set aside and left to
/// `fold` in a second loop, because a branch on the length would be guessed wrong too often.
#[inline(always)]
pub(super) fn values_of_tokens(
    scratch: &mut Scratch,
    count: usize,
    values: &mut Vec<u64>,
    fold: impl Fn(&[u8], [u16; 2]) -> u64,
) {
    let Scratch {
        lower, edges, long, ..
    } = scratch;
    let tokens = &edges.as_chunks().0[..count];
    let base = values.len();
    let mut set_aside = 0;
    values.extend(tokens.iter().enumerate().map(|(i, &[start, end])| {
        long[set_aside] = i as u32;
        set_aside += usize::from(end - start > 8);
        // The mask of a token of up to 8 bytes; the others are done again below.
        let len = u32::from(end - start);
        load(lower, start) & u64::MAX.wrapping_shr((8 * len).wrapping_neg())
    }));
    for &i in &long[..set_aside] {
        values[base + i as usize] = fold(lower, tokens[i as usize]);
    }
}

/// The eight bytes at `at`.
#[inline(always)]
pub(super) fn load(lower: &[u8], at: u16) -> u64 {
    debug_assert!(usize::from(at) + 8 <= lower.len());
    // SAFETY: `find_tokens` keeps a block behind the last, and `at` is a place inside a
    // block.
    unsafe {
        lower
            .as_ptr()
            .add(usize::from(at))
            .cast::<u64>()
            .read_unaligned()
    }
    .to_le()
}

/// Without a branch on each: at low levels it would be guessed wrong half the time.
#[inline(always)]
pub(super) fn without_bits(from: &[u64], mask: u64, out: &mut [u64]) -> usize {
    let (out, mut count) = (&mut out[..=from.len()], 0);
    for &number in from {
        out[count] = number;
        count += usize::from(number & mask == 0);
    }
    count
}

/// [`Ranks::mark`]: a bit in the first quarter of the words for all numbers.
///
/// Four numbers at a time, each with a quarter of the words to itself: one that sets a bit
/// in a word has to wait for the last one that did, if only it might be the same word.
#[inline(always)]
pub(super) fn mark(ranks: &mut Ranks, numbers: &[u64]) -> usize {
    let (shift, words) = (64 - ranks.bits, ranks.met.len() / 4);
    let (first, second) = ranks.met.split_at_mut(2 * words);
    let (a, b) = first.split_at_mut(words);
    let (c, d) = second.split_at_mut(words);
    let set = |words: &mut [u64], number: u64| {
        let slot = number >> shift;
        words[(slot / 64) as usize] |= 1 << (slot % 64);
    };
    let (fours, rest) = numbers.as_chunks();
    for &[i, j, k, l] in fours {
        set(a, i);
        set(b, j);
        set(c, k);
        set(d, l);
    }
    for &number in rest {
        set(a, number);
    }
    let mut count = 0;
    for (a, ((b, c), d)) in a.iter_mut().zip(b.iter().zip(c).zip(d)) {
        *a |= *b | *c | *d;
        count += a.count_ones();
    }
    count as usize
}

/// [`Ranks::place`], for numbers that are marked.
#[inline(always)]
pub(super) fn place(
    ranks: &mut Ranks,
    numbers: &[u64],
    placed: &mut [u64],
    late: &mut [u64],
) -> usize {
    let mut sum = 0;
    for (before, word) in ranks.before.iter_mut().zip(&ranks.met) {
        *before = sum;
        sum += word.count_ones() as u16;
    }
    let mut each = std::mem::take(&mut ranks.each);
    for (rank, &number) in each.iter_mut().zip(numbers) {
        let place = ranks.rank(number);
        *rank = place as u16;
        placed[place] = number;
    }
    let mut count = 0;
    for (&rank, &number) in each.iter().zip(numbers) {
        late[count] = number;
        count += usize::from(placed[usize::from(rank)] != number);
    }
    ranks.each = each;
    count
}

/// Fills `scratch` with the canonical copy of `text` and the places of its tokens, and
/// says how many those are. `soon` is told how far the work has come, `classify` writes the canonical copy of 64 bytes and says what
/// they are, `positions` writes down where edges are: closures of the caller's, so that
/// they are compiled with its instructions.
#[inline(always)]
pub(super) fn find_tokens(
    text: &[u8],
    case: Case,
    scratch: &mut Scratch,
    soon: impl Fn(usize),
    classify: impl Fn(&[u8; 64], &mut [u8; 64], Case) -> Masks,
    positions: impl Fn(Edges, bool, u16, &mut [u16; 64]) -> usize,
) -> usize {
    scratch.make_room(text.len());
    let Scratch { lower, edges, .. } = scratch;
    let (mut count, mut suspect) = (0, false);
    let mut carry = Carry::default();
    // Spaces behind the text end the last token. (One loop and no iterator in two parts: a
    // closure called from two places would be no part of the caller.)
    let (blocks, rest) = text.as_chunks();
    let mut tail = [[b' '; 64]; 2];
    tail[0][..rest.len()].copy_from_slice(rest);
    let (copies, _) = lower.as_chunks_mut();
    for (i, copy) in copies[..blocks.len() + 2].iter_mut().enumerate() {
        let at = 64 * i;
        soon(at);
        let block = blocks.get(i).unwrap_or_else(|| &tail[i - blocks.len()]);
        let masks = classify(block, copy, case);
        let inside = carry.is_inside();
        let mut found = masks.edges(&mut carry);
        let Some(room) = edges[count..].first_chunk_mut() else {
            unreachable!("there is room for an edge at every byte and 64 more");
        };
        suspect |= found.remove_bare();
        count += positions(found, inside, at.wrapping_sub(1) as u16, room);
    }
    let tokens = edges[..count].as_chunks_mut().0;
    if suspect {
        drop_underscores(lower, tokens)
    } else {
        tokens.len()
    }
}

fn classify(block: &[u8; 64], lower: &mut [u8; 64], case: Case) -> Masks {
    let fold = if case == Case::Fold { 0x20 } else { 0 };
    let mut is = [[0_u8; 64]; 5];
    for i in 0..64 {
        let byte = block[i];
        let letter = u8::from((byte | 0x20).wrapping_sub(b'a') < 26);
        lower[i] = byte | (letter * fold);
        let both = u8::from(byte == b'\'') | u8::from(byte == b'.');
        is[0][i] = letter | byte >> 7;
        is[1][i] = u8::from(byte.wrapping_sub(b'0') < 10);
        is[2][i] = u8::from(byte == b'_');
        is[3][i] = both | u8::from(byte == b':');
        is[4][i] = both | u8::from(byte == b',') | u8::from(byte == b';');
    }
    let [letter, digit, underscore, mid_letter, mid_digit] = is.map(|flags| gather(&flags));
    Masks {
        letter,
        digit,
        underscore,
        mid_letter,
        mid_digit,
    }
}

/// 64 bytes of 0 or 1 to 64 bits. Multiplying eight of them by this constant moves each
/// to its own bit of the top byte, without carries.
#[inline(always)]
fn gather(flags: &[u8; 64]) -> u64 {
    let mut bits = 0;
    for (i, eight) in flags.chunks_exact(8).enumerate() {
        let mut word = [0; 8];
        word.copy_from_slice(eight);
        let byte = u64::from_le_bytes(word).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        bits |= byte << (8 * i);
    }
    bits
}
