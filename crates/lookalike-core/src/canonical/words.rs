//! Words, by the Unicode path, and where the vector path may take over.
//!
//! ```text
//! text ─► plain stretch, cut at safe places   ─► simd: masks, no branches per byte
//!      └► stretch around odder characters     ─► unicode: segment by segment
//! ```
//!
//! Plain is ASCII, and what can be written so that the same few rules hold: letters of other
//! scripts in canonical form, a space for a dash, spaces around an ideograph.
//!
//! A *safe place* is the boundary before an ASCII byte that UAX #29 never joins to what
//! stands before it: anything but letters, digits and `_ ' . : , ; "`. Cutting there
//! cannot change a word, so the two paths may take turns.

use super::Case;
use super::unicode::{CharTable, Class, Form, Plain, push, segment};
use crate::simd::bytes::{BLOCK, not_ascii};
use std::ops::Range;

/// Bytes the vector path is given at once: the lower-cased copy and the token values of a
/// stretch stay in a 32 KiB first-level cache.
pub(crate) const STRETCH: usize = 8 << 10;

/// How much plain ASCII must lie ahead before leaving the Unicode path is worth it.
const AHEAD: usize = 32;

/// Calls `each` with every word, all by the Unicode path.
pub(crate) fn for_each_word(text: &str, case: Case, mut each: impl FnMut(&[u8], Range<usize>)) {
    let table = CharTable::get(case);
    let mut canonical = Form::default();
    let mut at = 0;
    while at < text.len() {
        at = word_at(text, at, table, &mut canonical, &mut each);
    }
}

/// Tells the segment at `at`, if it is a word, and returns its end.
fn word_at(
    text: &str,
    at: usize,
    table: &CharTable,
    canonical: &mut Form,
    each: &mut impl FnMut(&[u8], Range<usize>),
) -> usize {
    let segment = segment(text, at, table, canonical);
    if segment.word && !canonical.bytes.is_empty() {
        each(&canonical.bytes, at..segment.end);
    }
    segment.end
}

/// What [`alternate`] writes to, kept from text to text.
#[derive(Debug, Default)]
pub(crate) struct Room {
    canonical: Form,
    written: Written,
}

/// The plain form of a stretch.
#[derive(Debug, Default)]
struct Written {
    plain: Vec<u8>,
    /// The runs of ASCII in it: where each begins, here and in the text, and its length.
    runs: Vec<[usize; 3]>,
}

/// Splits a text into stretches: those that the vector path can take go to `plain`, the
/// words of the others, in canonical form, to `word`. In reading order. `plain` is told too
/// what comes next in the text.
///
/// *Plain* text begins and ends at word boundaries and holds words of ASCII as UAX #29 has
/// them, in which every byte from 0x80 on is part of a letter in canonical form.
pub(crate) fn alternate<S>(
    text: &str,
    case: Case,
    room: &mut Room,
    state: &mut S,
    mut plain: impl FnMut(&mut S, &[u8], &[u8]),
    mut word: impl FnMut(&mut S, &[u8]),
) {
    let bytes = text.as_bytes();
    let Room { canonical, written } = room;
    let mut at = 0;
    while at < bytes.len() {
        let end = bytes.len().min(at + STRETCH);
        let ascii = ascii_prefix(&bytes[at..end]);
        if at + ascii == bytes.len() {
            plain(state, &bytes[at..], &bytes[bytes.len()..]);
            return;
        }
        let table = CharTable::get(case);
        if at + ascii == end {
            if let Some(safe) = bytes[at..end].iter().rposition(|&byte| is_safe(byte))
                && safe > 0
            {
                plain(state, &bytes[at..at + safe], &bytes[at + safe..]);
                at += safe;
                continue;
            }
        } else {
            let done = write_plain(text, at..end, ascii, table, written);
            if done > at {
                plain(state, &written.plain, &bytes[done..]);
                at = done;
                continue;
            }
        }
        loop {
            at = skip_others(text, at, table);
            let (mut written, mut len) = ([0; SIMPLE_BYTES], 0);
            let run = simple_word(text, at, table, &mut written, &mut len);
            if run > 0 {
                word(state, &written[..len]);
                at += run;
            } else {
                at = word_at(text, at, table, canonical, &mut |canonical, _| {
                    word(state, canonical);
                });
            }
            if at == bytes.len() || is_plain_ahead(text, at, table) {
                break;
            }
        }
    }
}

/// Writes the plain form of `text[range]`, whose first `ascii` bytes are ASCII, as far as
/// it has one and can be cut at a safe place; says how far that is.
///
/// A character that extends the one before it has no plain form, and that one is behind the
/// last safe place: so nothing is written that a later character could change.
fn write_plain(
    text: &str,
    range: Range<usize>,
    mut ascii: usize,
    table: &CharTable,
    written: &mut Written,
) -> usize {
    let bytes = text.as_bytes();
    let (mut at, mut safe) = (range.start, (range.start, 0));
    let Written { plain, runs } = written;
    plain.clear();
    runs.clear();
    'stretch: while at < range.end {
        runs.push([plain.len(), at, ascii]);
        plain.extend_from_slice(&bytes[at..at + ascii]);
        at += ascii;
        let mut rest = text[at..].chars();
        while let Some(c) = rest.next().filter(|c| !c.is_ascii()) {
            let entry = table.entry(c);
            if let Some(letter) = entry.letter() {
                push(plain, letter);
                at += c.len_utf8();
                continue;
            }
            let class = |c: Option<char>| c.map(|c| table.entry(c).class());
            match entry.plain() {
                Plain::Gap => {
                    safe = (at, plain.len());
                    plain.push(b' ');
                }
                Plain::GapBut(joined)
                    if class(rest.clone().next()).is_none_or(|next| !joined.contains(&next)) =>
                {
                    safe = (at, plain.len());
                    plain.push(b' ');
                }
                Plain::Own(c) => {
                    safe = (at, plain.len());
                    plain.push(b' ');
                    push(plain, c);
                    plain.push(b' ');
                }
                Plain::Apostrophe => plain.push(b'\''),
                Plain::Katakana(c) => {
                    let before = class(text[range.start..at].chars().next_back());
                    let after = class(rest.clone().next());
                    let joins = |class| class == Some(Class::ExtendNumLet);
                    if joins(before) || joins(after) {
                        break 'stretch;
                    }
                    if before != Some(Class::Katakana) {
                        safe = (at, plain.len());
                        plain.push(b' ');
                    }
                    push(plain, c);
                    if after != Some(Class::Katakana) {
                        plain.push(b' ');
                    }
                }
                Plain::GapBut(_) | Plain::Unknown => break 'stretch,
            }
            at += c.len_utf8();
            if at >= range.end {
                break;
            }
        }
        ascii = ascii_prefix(&bytes[at..range.end.max(at)]);
    }
    if at == bytes.len() {
        return at;
    }
    // The last safe place may be in a run of ASCII behind the one that is known.
    let behind = runs.iter().rev().take_while(|run| run[1] >= safe.0);
    let place = behind.copied().find_map(|[here, there, len]| {
        let run = &plain[here..here + len];
        let place = run.iter().rposition(|&byte| is_safe(byte))?;
        Some((there + place, here + place))
    });
    let (at, len) = place.unwrap_or(safe);
    plain.truncate(len);
    at
}

/// Whether leaving the rules is worth it: the next characters have a plain form.
fn is_plain_ahead(text: &str, at: usize, table: &CharTable) -> bool {
    let ahead = &text.as_bytes()[at..text.len().min(at + AHEAD)];
    ahead.is_ascii()
        || text[at..].chars().take(AHEAD).all(|c| {
            let entry = table.entry(c);
            let is_plain = || !matches!(entry.plain(), Plain::Unknown | Plain::GapBut(_));
            c.is_ascii() || entry.letter().is_some() || is_plain()
        })
}

/// The end of what is no word, has nothing attached to it and is attached to nothing:
/// spaces, punctuation, lines and dashes, none of which needs the rules.
#[inline]
fn skip_others(text: &str, mut at: usize, table: &CharTable) -> usize {
    let bytes = text.as_bytes();
    while let Some(&[here, next]) = bytes[at..].first_chunk() {
        if here.is_ascii() {
            // Nothing joins a safe byte to what stands before it, and none but a mark that
            // is not ASCII joins it to what follows.
            let is_alone =
                is_safe(here) && next.is_ascii() || !WORD[usize::from(here)] && is_safe(next);
            if !is_alone {
                break;
            }
            at += 1;
        } else {
            let mut chars = text[at..].chars();
            let is_other = |c: char| table.entry(c).is_other();
            let Some(other) = chars.next().filter(|&c| is_other(c)) else {
                break;
            };
            if chars.next().is_some_and(|c| table.entry(c).extends()) {
                break;
            }
            at += other.len_utf8();
        }
    }
    at
}

/// Canonical bytes of a word that [`simple_word`] takes.
const SIMPLE_BYTES: usize = 64;

/// The length of the word at `at`, if it is of letters and digits that have one canonical
/// character each, and nothing that follows joins it: most words are, and need no rules.
/// Otherwise 0. Its canonical form is written.
#[inline]
fn simple_word(
    text: &str,
    at: usize,
    table: &CharTable,
    written: &mut [u8; SIMPLE_BYTES],
    len: &mut usize,
) -> usize {
    let bytes = text.as_bytes();
    let (mut end, mut is_word) = (at, false);
    while let Some(&byte) = bytes.get(end) {
        if WORD[usize::from(byte)] {
            written[*len] = table.ascii(byte);
            *len += 1;
            end += 1;
            is_word = true;
        } else if byte.is_ascii() {
            // A mark joins letters or digits on both sides of it, and nothing else.
            let is_end = is_safe(byte)
                || byte != b'_' && bytes.get(end + 1).is_none_or(|&next| is_safe(next));
            return if is_end && is_word { end - at } else { 0 };
        } else {
            let c = text[end..].chars().next().unwrap_or_default();
            let entry = table.entry(c);
            let Some(canonical) = entry.of_run() else {
                return 0;
            };
            is_word |= entry.is_alphanumeric();
            *len += canonical.encode_utf8(&mut written[*len..]).len();
            end += c.len_utf8();
        }
        if *len > SIMPLE_BYTES - 4 {
            return 0;
        }
    }
    if is_word { end - at } else { 0 }
}

/// The bit of each of eight bytes that no ASCII byte has.
const HIGH: u64 = 0x8080_8080_8080_8080;

/// How many bytes at the front are ASCII.
fn ascii_prefix(bytes: &[u8]) -> usize {
    // Between characters of other scripts there is often but one.
    let others = bytes
        .first_chunk()
        .map_or(0, |word| u64::from_le_bytes(*word))
        & HIGH;
    if others != 0 {
        return others.trailing_zeros() as usize / 8;
    }
    // 128 bytes at a time without a branch inside, then the one that has others.
    let (blocks, rest) = bytes.as_chunks::<128>();
    let is_ascii = |block: &[u8; 128]| {
        let words = block
            .as_chunks::<8>()
            .0
            .iter()
            .map(|word| u64::from_ne_bytes(*word));
        words.fold(0, |all, word| all | word) & HIGH == 0
    };
    let at = blocks.iter().position(|block| !is_ascii(block));
    let last = at.map_or(rest, |at| &blocks[at]);
    let before = 128 * at.unwrap_or(blocks.len());
    let (halves, rest) = last.as_chunks();
    for (i, half) in halves.iter().enumerate() {
        let others = not_ascii(half);
        if others != 0 {
            return before + BLOCK * i + others.trailing_zeros() as usize;
        }
    }
    let mut padded = [0; BLOCK];
    padded[..rest.len()].copy_from_slice(rest);
    let ascii = not_ascii(&padded).trailing_zeros() as usize;
    before + BLOCK * halves.len() + ascii.min(rest.len())
}

#[inline]
fn is_safe(byte: u8) -> bool {
    SAFE[usize::from(byte)]
}

/// ASCII letters and digits.
const WORD: [bool; 256] = {
    let mut word = [false; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        word[byte as usize] = byte.is_ascii_alphanumeric();
        byte += 1;
    }
    word
};

const SAFE: [bool; 256] = {
    let mut safe = [false; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        let joins = byte.is_ascii_alphanumeric()
            || matches!(byte, b'_' | b'\'' | b'.' | b':' | b',' | b';' | b'"');
        safe[byte as usize] = !joins;
        byte += 1;
    }
    safe
};
