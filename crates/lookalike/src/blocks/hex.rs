//! 64-bit values as 16 hexadecimal digits: most readers of JSON round numbers that large.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serializer};

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
pub(crate) fn serialize<S: Serializer>(value: &u64, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(&format_args!("{value:016x}"))
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    let text = String::deserialize(from)?;
    let digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    if text.len() != 16 || !text.bytes().all(digit) {
        return Err(D::Error::custom("not 16 hexadecimal digits"));
    }
    u64::from_str_radix(&text, 16).map_err(D::Error::custom)
}
