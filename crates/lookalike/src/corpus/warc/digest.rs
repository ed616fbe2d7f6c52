//! The payload digest of a WARC record, as its bytes.
//!
//! ```text
//! WARC-Payload-Digest: sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ      base32, as nearly all write it
//! WARC-Payload-Digest: sha1:da39a3ee5e6b4b0d3255bfef95601890afd80709      or hexadecimal
//! ```

/// The SHA-1 that a digest names; `None` if it is of another algorithm or malformed.
pub(crate) fn sha1(digest: &str) -> Option<[u8; 20]> {
    let (algorithm, digits) = digest.split_once(':')?;
    let is_sha1 = ["sha1", "sha-1"]
        .iter()
        .any(|name| algorithm.trim().eq_ignore_ascii_case(name));
    let digits = digits.trim();
    let bits = match digits.len() {
        32 => 5,
        40 => 4,
        _ => return None,
    };
    if !is_sha1 {
        return None;
    }
    let (mut bytes, mut held, mut len, mut at) = ([0; 20], 0_u32, 0, 0);
    for digit in digits.chars() {
        // In base32 the letters come first, and of the digits there are 2 to 7.
        let value = match (bits, digit) {
            (4, digit) => digit.to_digit(16)?,
            (_, 'a'..='z') => u32::from(digit) - u32::from('a'),
            (_, 'A'..='Z') => u32::from(digit) - u32::from('A'),
            (_, '2'..='7') => u32::from(digit) - u32::from('2') + 26,
            _ => return None,
        };
        held = held << bits | value;
        len += bits;
        if len >= 8 {
            len -= 8;
            // The lowest byte of what is left is the one that is full.
            *bytes.get_mut(at)? = (held >> len & 0xff) as u8;
            at += 1;
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn base32(bytes: &[u8]) -> String {
        let bit = |i: usize| bytes[i / 8] >> (7 - i % 8) & 1;
        let digit = |from: usize| {
            let value = (from..from + 5).fold(0, |value, i| value << 1 | bit(i));
            char::from(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"[usize::from(value)])
        };
        (0..bytes.len() * 8).step_by(5).map(digit).collect()
    }

    proptest! {
        #[test]
        fn both_spellings_give_the_bytes(bytes in any::<[u8; 20]>()) {
            let hex = bytes.map(|byte| format!("{byte:02x}")).concat();
            let base32 = base32(&bytes);
            for digits in [hex.to_uppercase(), hex, base32.to_lowercase(), base32] {
                for name in ["sha1", "SHA1", "sha-1"] {
                    prop_assert_eq!(sha1(&format!("{name}:{digits}")), Some(bytes));
                }
            }
        }

        #[test]
        fn whatever_stands_there_is_no_panic(text in ".{0,60}", digits in "[a-zA-Z0-9é=]{28,42}") {
            sha1(&text);
            sha1(&format!("sha1:{digits}"));
        }
    }

    #[test]
    fn another_algorithm_is_none() {
        let digits = "3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ";
        assert!(sha1(&format!("sha1:{digits}")).is_some());
        for digest in [
            format!("md5:{digits}"),
            format!("sha256:{digits}"),
            digits.to_owned(),
            format!("sha1:{}", &digits[1..]),
            format!("sha1:1{}", &digits[1..]),
            String::new(),
        ] {
            assert_eq!(sha1(&digest), None, "{digest}");
        }
    }
}
