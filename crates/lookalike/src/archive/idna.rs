//! Names of hosts in ASCII, by the rules of 2003 (RFC 3490 and 3491).
//!
//! Web archives keep their keys by these rules, under which `ß` is `ss`: the newer rules
//! (UTS #46) would look for a page where no archive has it.

use std::iter;

use stringprep::tables;
use unicode_normalization::UnicodeNormalization;

/// A host's name in ASCII; `None` for what the rules do not allow. O(length²) within a
/// label, none of which is longer than [`LONGEST`].
pub(super) fn to_ascii(name: &str) -> Option<String> {
    if name.is_ascii() {
        let Some((labels, last)) = name.rsplit_once('.') else {
            return (name.len() < 64).then(|| name.to_owned());
        };
        // The last one may be empty: the root.
        let is_fit = labels
            .split('.')
            .all(|label| (1..64).contains(&label.len()));
        return (is_fit && last.len() < 64).then(|| name.to_owned());
    }
    let is_dot = |c| matches!(c, '.' | '\u{3002}' | '\u{ff0e}' | '\u{ff61}');
    let mut labels: Vec<&str> = name.split(is_dot).collect();
    let is_rooted = labels.pop_if(|last| last.is_empty()).is_some();
    let labels: Option<Vec<String>> = labels.into_iter().map(label_to_ascii).collect();
    let root = if is_rooted { "." } else { "" };
    Some(labels?.join(".") + root)
}

/// Bytes of the longest label that is looked at. At most 63 may come out, and what is so
/// much longer gets there only by characters that are mapped to nothing.
const LONGEST: usize = 4096;

fn label_to_ascii(label: &str) -> Option<String> {
    if label.len() > LONGEST {
        return None;
    }
    let ascii = if label.is_ascii() {
        label.to_owned()
    } else {
        let prepared = nameprep(label)?;
        if prepared.is_ascii() {
            prepared
        } else if prepared.starts_with("xn--") {
            return None;
        } else {
            format!("xn--{}", punycode(&prepared)?)
        }
    };
    (1..64).contains(&ascii.len()).then_some(ascii)
}

/// RFC 3491, with characters younger than its Unicode 3.2 left as they are.
fn nameprep(label: &str) -> Option<String> {
    let mut mapped = String::new();
    for c in label
        .chars()
        .filter(|c| !tables::commonly_mapped_to_nothing(*c))
    {
        if is_young(c) {
            mapped.extend(c.to_lowercase());
        } else {
            mapped.extend(tables::case_fold_for_nfkc(c));
        }
    }
    let normal = normalized(&mapped);
    let is_prohibited = |c: char| {
        tables::non_ascii_space_character(c)
            || tables::non_ascii_control_character(c)
            || tables::private_use(c)
            || tables::non_character_code_point(c)
            || tables::inappropriate_for_plain_text(c)
            || tables::inappropriate_for_canonical_representation(c)
            || tables::change_display_properties_or_deprecated(c)
            || tables::tagging_character(c)
    };
    if normal.chars().any(is_prohibited) {
        return None;
    }
    let is_right = |c: char| !is_young(c) && tables::bidi_r_or_al(c);
    let is_left = |c: char| !is_young(c) && tables::bidi_l(c);
    if normal.chars().any(is_right) {
        let ends = [normal.chars().next(), normal.chars().next_back()];
        let is_fit = ends.into_iter().flatten().all(is_right);
        if !is_fit || normal.chars().any(is_left) {
            return None;
        }
    }
    Some(normal)
}

/// Whether a character came after Unicode 3.2.
fn is_young(c: char) -> bool {
    tables::unassigned_code_point(c)
}

/// NFKC, around characters that are too young to have one.
fn normalized(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((at, c)) = rest.char_indices().find(|(_, c)| is_young(*c)) {
        out.extend(rest[..at].nfkc().chain(iter::once(c)));
        rest = &rest[at + c.len_utf8()..];
    }
    out.extend(rest.nfkc());
    out
}

/// RFC 3492; `None` past what 32 bits hold.
fn punycode(label: &str) -> Option<String> {
    const BASE: u32 = 36;
    const T_MIN: u32 = 1;
    const T_MAX: u32 = 26;
    const DIGITS: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";
    let digit = |value: u32| DIGITS.get(value as usize).copied().map(char::from);
    let mut out: String = label.chars().filter(char::is_ascii).collect();
    let basic = u32::try_from(out.len()).ok()?;
    if basic > 0 {
        out.push('-');
    }
    let total = u32::try_from(label.chars().count()).ok()?;
    let (mut code, mut delta, mut bias, mut done) = (128_u32, 0_u32, 72_u32, basic);
    while done < total {
        let next = label.chars().map(u32::from).filter(|c| *c >= code).min()?;
        delta = delta.checked_add((next - code).checked_mul(done + 1)?)?;
        code = next;
        for c in label.chars().map(u32::from) {
            if c < code {
                delta = delta.checked_add(1)?;
            }
            if c != code {
                continue;
            }
            let mut rest = delta;
            for k in (1..).map(|i| i * BASE) {
                let threshold = k.saturating_sub(bias).clamp(T_MIN, T_MAX);
                if rest < threshold {
                    break;
                }
                out.push(digit(threshold + (rest - threshold) % (BASE - threshold))?);
                rest = (rest - threshold) / (BASE - threshold);
            }
            out.push(digit(rest)?);
            // How the next differences will be cut into digits.
            let mut spread = if done == basic {
                delta / 700
            } else {
                delta / 2
            };
            spread += spread / (done + 1);
            let mut steps = 0;
            while spread > (BASE - T_MIN) * T_MAX / 2 {
                spread /= BASE - T_MIN;
                steps += BASE;
            }
            bias = steps + (BASE - T_MIN + 1) * spread / (spread + 38);
            delta = 0;
            done += 1;
        }
        delta = delta.checked_add(1)?;
        code += 1;
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_2003() {
        for (name, ascii) in [
            ("bücher.de", Some("xn--bcher-kva.de")),
            ("BÜCHER.de", Some("xn--bcher-kva.de")),
            ("straße.de", Some("strasse.de")),
            ("日本語。jp", Some("xn--wgv71a119e.jp")),
            ("ﬃ.example", Some("ffi.example")),
            ("a..ü", None),
            ("\u{200e}ü.de", None),
            ("xn--ü.de", None),
        ] {
            assert_eq!(to_ascii(name).as_deref(), ascii, "{name}");
        }
    }
}
