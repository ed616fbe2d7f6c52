//! Bytes looked at many at a time, for those who read text: which of a block are a given
//! one, and whether all are UTF-8.
//!
//! Quotes and escapes stand so close in real text, one a line or more, that a call of a
//! search function for each stretch between them costs more than the search does.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{
    __m128i, _mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_set1_epi8,
};

/// Bytes that are looked at in one go.
pub const BLOCK: usize = 64;

/// One bit for each byte of a block that is this byte, the first the lowest.
#[cfg(target_arch = "x86_64")]
#[inline]
pub fn equal(block: &[u8; BLOCK], byte: u8) -> u64 {
    sixteens(block, |bytes| {
        // SAFETY: every x86-64 has SSE2.
        unsafe { _mm_cmpeq_epi8(bytes, _mm_set1_epi8(byte.cast_signed())) }
    })
}

/// One bit for each byte of a block that is not ASCII, the first the lowest.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(crate) fn not_ascii(block: &[u8; BLOCK]) -> u64 {
    sixteens(block, |bytes| bytes)
}

/// The highest bit of each byte that `look` makes of the bytes of a block.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn sixteens(block: &[u8; BLOCK], look: impl Fn(__m128i) -> __m128i) -> u64 {
    let quarter = |bytes: &[u8; 16]| {
        // SAFETY: every x86-64 has SSE2, and 16 bytes are loaded from 16.
        let bits = unsafe { _mm_movemask_epi8(look(_mm_loadu_si128(bytes.as_ptr().cast()))) };
        u64::from(bits.cast_unsigned())
    };
    let quarters = block.as_chunks().0.iter().enumerate();
    quarters.fold(0, |bits, (i, bytes)| bits | quarter(bytes) << (16 * i))
}

/// One bit for each byte of a block that is this byte, the first the lowest.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
pub fn equal(block: &[u8; BLOCK], byte: u8) -> u64 {
    portable(block, |other| other == byte)
}

/// One bit for each byte of a block that is not ASCII, the first the lowest.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
pub(crate) fn not_ascii(block: &[u8; BLOCK]) -> u64 {
    portable(block, |byte| !byte.is_ascii())
}

#[cfg(any(test, not(target_arch = "x86_64")))]
fn portable(block: &[u8; BLOCK], is: impl Fn(u8) -> bool) -> u64 {
    let bits = block.iter().enumerate();
    bits.fold(0, |bits, (i, &byte)| bits | u64::from(is(byte)) << i)
}

/// Calls `each` with the bytes of words, the lowest first: all at once where the processor
/// has them so.
pub(crate) fn words_as_bytes(words: &[u64], mut each: impl FnMut(&[u8])) {
    #[cfg(target_endian = "little")]
    // SAFETY: the bytes of words are bytes, and there are eight for each.
    each(unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), 8 * words.len()) });
    #[cfg(not(target_endian = "little"))]
    words.iter().for_each(|word| each(&word.to_le_bytes()));
}

/// Bytes as text, if they are UTF-8.
pub fn as_text(bytes: &[u8]) -> Option<&str> {
    simdutf8::basic::from_utf8(bytes).ok()
}

/// Bytes as text without a copy, or given back if they are not UTF-8. As `String::from_utf8`,
/// at ten times the speed.
pub fn text(bytes: Vec<u8>) -> Result<String, Vec<u8>> {
    match simdutf8::basic::from_utf8(&bytes) {
        // SAFETY: these very bytes were found to be UTF-8.
        Ok(_) => Ok(unsafe { String::from_utf8_unchecked(bytes) }),
        Err(_) => Err(bytes),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_lowest_byte_of_a_word_comes_first() {
        let mut all = Vec::new();
        words_as_bytes(&[0x0807_0605_0403_0201, 9], |bytes| {
            all.extend_from_slice(bytes);
        });
        assert_eq!(all, [1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 0, 0, 0, 0, 0, 0]);
    }

    proptest! {
        #[test]
        fn both_ways_find_the_same(block in prop::collection::vec(any::<u8>(), BLOCK), byte: u8, at in 0..BLOCK) {
            let mut block: [u8; BLOCK] = block.try_into().expect("a block");
            block[at] = byte;
            prop_assert_eq!(equal(&block, byte), portable(&block, |other| other == byte));
            prop_assert_eq!(not_ascii(&block), portable(&block, |byte| !byte.is_ascii()));
            prop_assert_eq!(equal(&block, byte) >> at & 1, 1);
        }
    }
}
