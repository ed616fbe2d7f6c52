//! Character references: what `&eacute;`, `&#233;` and `&ampere` stand for.

use super::entities::{CLOSED, OPEN};

/// The text a character reference stands for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Reference {
    /// A named one: one or two characters.
    Named(&'static str),
    /// A numeric one.
    Char(char),
}

/// Longest name with its semicolon left off (`CounterClockwiseContourIntegral`).
const LONGEST: usize = 31;

/// Longest name that counts without a semicolon (`Aacute`).
const LONGEST_OPEN: usize = 6;

/// Reads the reference at the `&` that `bytes` begins with: what it stands for and
/// its length. `None` when that `&` is only an ampersand.
///
/// Costs the length of the reference: a name too long for the table is given up
/// after [`LONGEST`] letters.
pub(super) fn read(bytes: &[u8]) -> Option<(Reference, usize)> {
    let after = bytes.get(1..)?;
    // The four that escaping writes are nearly all there are.
    match after {
        [b'l', b't', b';', ..] => return Some((Reference::Named("<"), 4)),
        [b'g', b't', b';', ..] => return Some((Reference::Named(">"), 4)),
        [b'a', b'm', b'p', b';', ..] => return Some((Reference::Named("&"), 5)),
        [b'q', b'u', b'o', b't', b';', ..] => return Some((Reference::Named("\""), 6)),
        [b'#', b'x' | b'X', digits @ ..] => return numeric(digits, 16, 3),
        [b'#', digits @ ..] => return numeric(digits, 10, 2),
        _ => {}
    }
    let letters = after.iter().take(LONGEST + 1);
    let len = letters.take_while(|b| b.is_ascii_alphanumeric()).count();
    if after.get(len) == Some(&b';')
        && let Some(text) = find(&CLOSED, after.get(..len)?)
    {
        return Some((Reference::Named(text), 1 + len + 1));
    }
    // A name has no semicolon but at its end, so what is left is the longest old
    // name that the letters begin with.
    (2..=len.min(LONGEST_OPEN)).rev().find_map(|len| {
        let text = find(&OPEN, after.get(..len)?)?;
        Some((Reference::Named(text), 1 + len))
    })
}

fn find(table: &[(&str, &'static str)], name: &[u8]) -> Option<&'static str> {
    let at = table.binary_search_by(|(known, _)| known.as_bytes().cmp(name));
    table.get(at.ok()?).map(|(_, text)| *text)
}

/// `digits` follow a prefix (`&#` or `&#x`) of `prefix` bytes.
fn numeric(digits: &[u8], radix: u32, prefix: usize) -> Option<(Reference, usize)> {
    let (mut value, mut len) = (0_u32, 0);
    while let Some(digit) = digits.get(len).and_then(|&b| char::from(b).to_digit(radix)) {
        value = value.saturating_mul(radix).saturating_add(digit);
        len += 1;
    }
    if len == 0 {
        return None;
    }
    let semicolon = usize::from(digits.get(len) == Some(&b';'));
    Some((Reference::Char(character(value)), prefix + len + semicolon))
}

/// The character of a number: as the number says, but 80 to 9F hexadecimal mean
/// what windows-1252 means by them, and what is no character is U+FFFD.
fn character(value: u32) -> char {
    if value == 0 {
        return char::REPLACEMENT_CHARACTER;
    }
    let c1 = value
        .checked_sub(0x80)
        .and_then(|i| usize::try_from(i).ok());
    let windows = c1.and_then(|i| WINDOWS_1252.get(i));
    match windows {
        Some(&known) => known,
        None => char::from_u32(value).unwrap_or(char::REPLACEMENT_CHARACTER),
    }
}

/// 80 to 9F; five of them are unassigned and stay as they are.
#[rustfmt::skip]
const WINDOWS_1252: [char; 32] = [
    '\u{20ac}', '\u{81}', '\u{201a}', '\u{192}', '\u{201e}', '\u{2026}', '\u{2020}', '\u{2021}',
    '\u{2c6}', '\u{2030}', '\u{160}', '\u{2039}', '\u{152}', '\u{8d}', '\u{17d}', '\u{8f}',
    '\u{90}', '\u{2018}', '\u{2019}', '\u{201c}', '\u{201d}', '\u{2022}', '\u{2013}', '\u{2014}',
    '\u{2dc}', '\u{2122}', '\u{161}', '\u{203a}', '\u{153}', '\u{9d}', '\u{17e}', '\u{178}',
];

#[cfg(test)]
mod tests {
    use super::*;

    fn named(text: &'static str, len: usize) -> (Reference, usize) {
        (Reference::Named(text), len)
    }

    fn number(c: char, len: usize) -> (Reference, usize) {
        (Reference::Char(c), len)
    }

    #[test]
    fn all_2231_names_are_read() {
        assert_eq!(CLOSED.len() + OPEN.len(), 2231);
        assert!(CLOSED.is_sorted() && OPEN.is_sorted());
        for (name, text) in &CLOSED {
            let source = format!("&{name};");
            assert_eq!(
                read(source.as_bytes()),
                Some(named(text, source.len())),
                "{name}"
            );
            assert!(name.len() <= LONGEST);
        }
        for (name, text) in &OPEN {
            let source = format!("&{name}");
            assert_eq!(
                read(source.as_bytes()),
                Some(named(text, source.len())),
                "{name}"
            );
            assert!(name.len() <= LONGEST_OPEN);
        }
    }

    #[test]
    fn the_longest_name_wins() {
        assert_eq!(read(b"&notin;"), Some(named("\u{2209}", 7)));
        assert_eq!(read(b"&notit;"), Some(named("\u{ac}", 4)));
        assert_eq!(read(b"&notin"), Some(named("\u{ac}", 4)));
        assert_eq!(read(b"&ampere"), Some(named("&", 4)));
        assert_eq!(read(b"&AMP"), Some(named("&", 4)));
    }

    #[test]
    fn an_ampersand_alone_is_none() {
        for source in [
            "&",
            "& ",
            "&;",
            "&x",
            "&unknown;",
            "&#",
            "&#;",
            "&#x",
            "&#xg",
            "&Amp;",
            "&eacut;",
        ] {
            assert_eq!(read(source.as_bytes()), None, "{source}");
        }
        assert_eq!(read("&é;".as_bytes()), None);
        assert_eq!(read(&[b"&".as_slice(), &[b'a'; 1000]].concat()), None);
    }

    #[test]
    fn numbers_are_characters_with_or_without_a_semicolon() {
        assert_eq!(read(b"&#233;"), Some(number('é', 6)));
        assert_eq!(read(b"&#xE9 "), Some(number('é', 5)));
        assert_eq!(read(b"&#X1F600;"), Some(number('😀', 9)));
        assert_eq!(read(b"&#128;"), Some(number('€', 6)));
        assert_eq!(read(b"&#x81;"), Some(number('\u{81}', 6)));
        assert_eq!(read(b"&#13;"), Some(number('\r', 5)));
    }

    #[test]
    fn numbers_of_no_character_are_the_replacement_character() {
        for source in [
            "&#0;",
            "&#xd800;",
            "&#xdfff;",
            "&#x110000;",
            "&#99999999999999999999;",
        ] {
            assert_eq!(
                read(source.as_bytes()),
                Some(number('\u{fffd}', source.len())),
                "{source}"
            );
        }
    }
}
