//! Words, by the Unicode path, and where the vector path may take over.
//!
//! ```text
//! text ─► ASCII stretch, cut at safe places ─► simd: masks, no branches per byte
//!      └► stretch around other characters   ─► unicode: segment by segment
//! ```
//!
//! A *safe place* is the boundary before an ASCII byte that UAX #29 never joins to what
//! stands before it: anything but letters, digits and `_ ' . : , ; "`. Cutting there
//! cannot change a word, so the two paths may take turns.

use super::Case;
use super::unicode::{CharTable, Form, segment};
use std::ops::Range;

/// Bytes the vector path is given at once: the lower-cased copy and the token values of a
/// stretch stay in a 32 KiB first-level cache.
const STRETCH: usize = 8 << 10;

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

/// Splits a text at safe places into stretches: plain ASCII ones go to `ascii`, the words
/// of the others, in canonical form, to `word`. In reading order.
pub(crate) fn alternate<S>(
    text: &str,
    case: Case,
    state: &mut S,
    mut ascii: impl FnMut(&mut S, &[u8]),
    mut word: impl FnMut(&mut S, &[u8]),
) {
    let bytes = text.as_bytes();
    let mut canonical = Form::default();
    let mut at = 0;
    while at < bytes.len() {
        let window = &bytes[at..bytes.len().min(at + STRETCH)];
        let plain = ascii_prefix(window);
        let stretch = if at + plain == bytes.len() {
            plain
        } else {
            window[..plain]
                .iter()
                .rposition(|&byte| is_safe(byte))
                .unwrap_or(0)
        };
        if stretch > 0 {
            ascii(state, &window[..stretch]);
            at += stretch;
            continue;
        }
        let table = CharTable::get(case);
        loop {
            at = skip_others(text, at, table);
            let (mut written, mut len) = ([0; SIMPLE_BYTES], 0);
            let run = simple_word(text, at, table, &mut written, &mut len);
            if run > 0 {
                word(state, &written[..len]);
                at += run;
            } else {
                at = word_at(text, at, table, &mut canonical, &mut |canonical, _| {
                    word(state, canonical);
                });
            }
            match bytes.get(at) {
                None => break,
                Some(&byte) if is_safe(byte) => {
                    let ahead = &bytes[at..bytes.len().min(at + AHEAD)];
                    if ahead.is_ascii() {
                        break;
                    }
                }
                Some(_) => {}
            }
        }
    }
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

/// How many bytes at the front are ASCII.
fn ascii_prefix(bytes: &[u8]) -> usize {
    // 128 bytes at a time without a branch inside, then the odd ones.
    let (blocks, _) = bytes.as_chunks::<128>();
    let is_ascii = |block: &&[u8; 128]| {
        let words = block
            .as_chunks::<8>()
            .0
            .iter()
            .map(|word| u64::from_ne_bytes(*word));
        words.fold(0, |all, word| all | word) & 0x8080_8080_8080_8080 == 0
    };
    let at = 128 * blocks.iter().take_while(is_ascii).count();
    let (words, odd) = bytes[at..].as_chunks::<8>();
    for (i, word) in words.iter().enumerate() {
        let others = u64::from_le_bytes(*word) & 0x8080_8080_8080_8080;
        if others != 0 {
            return at + 8 * i + others.trailing_zeros() as usize / 8;
        }
    }
    let ascii = odd.iter().take_while(|byte| byte.is_ascii()).count();
    at + 8 * words.len() + ascii
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
