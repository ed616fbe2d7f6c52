//! The loops without special instructions: the twin every other level must equal.

use super::masks::{Carry, Edges, Masks, drop_underscores, positions};
use super::{Kernel, Scratch};
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

pub(super) fn windows(kernel: &Kernel, tokens: &[u64], out: &mut Vec<u64>) {
    let Tables {
        window_step,
        leaving,
        ..
    } = &kernel.tables;
    let (first, entering) = tokens.split_at(kernel.width);
    let mut value = first
        .iter()
        .fold(0, |value, &token| times(window_step, value) ^ token);
    out.reserve(entering.len() + 1);
    out.push(value);
    for (&token, &left) in entering.iter().zip(tokens) {
        value = times(window_step, value) ^ times(leaving, left) ^ token;
        out.push(value);
    }
}

pub(super) fn plain_words(
    kernel: &Kernel,
    text: &[u8],
    scratch: &mut Scratch,
    values: &mut Vec<u64>,
) {
    let count = find_tokens(text, kernel.case, scratch, |_| {}, classify, positions);
    let (tokens, lower) = (scratch.tokens(count), &scratch.lower);
    values.extend(tokens.iter().map(|&[start, end]| {
        kernel
            .tables
            .token_value(&lower[start as usize..end as usize])
    }));
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
    positions: impl Fn(Edges, bool, u32, &mut [u32; 64]) -> usize,
) -> usize {
    scratch.make_room(text.len());
    let Scratch { lower, edges, .. } = scratch;
    let (mut count, mut suspect) = (0, false);
    let mut carry = Carry::default();
    for (block, out) in lower
        .as_chunks_mut()
        .0
        .iter_mut()
        .enumerate()
        .take(text.len().div_ceil(64))
    {
        let at = block * 64;
        soon(at);
        let rest = &text[at..];
        let masks = if let Some(full) = rest.first_chunk() {
            classify(full, out, case)
        } else {
            let mut padded = [b' '; 64];
            padded[..rest.len()].copy_from_slice(rest);
            classify(&padded, out, case)
        };
        let inside = carry.is_inside();
        let mut found = masks.edges(rest.get(64).copied().unwrap_or(0), &mut carry);
        let Some(room) = edges[count..].first_chunk_mut() else {
            unreachable!("there is room for an edge at every byte and 64 more");
        };
        suspect |= found.remove_bare(&masks);
        count += positions(found, inside, at as u32, room);
    }
    if carry.is_inside() {
        edges[count] = text.len() as u32;
        count += 1;
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
