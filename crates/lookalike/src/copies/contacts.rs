//! The e-mail addresses on a page: in links (`mailto:`) and in the text.
//!
//! ```text
//! page ─► mailto: … up to its end, references and percent signs undone ─┐
//! text ─► something @ host.domain ───────────────────────────────────────┴─► each once, in order
//! ```
//!
//! What an address may look like is less than the standard allows: what nobody writes on a
//! page (quotes, comments) is none. Nothing is guessed: `name at host` is no address. Time
//! O(page).

use crate::corpus::html;

/// The longest address there may be (RFC 5321).
const LONGEST: usize = 254;

/// Endings of files, which stand behind an `@` in names of pictures: `logo@2x.png`.
const FILES: [&str; 12] = [
    "png", "jpg", "jpeg", "gif", "svg", "webp", "avif", "css", "js", "mjs", "map", "json",
];

/// The addresses of a page, given its source and its text.
pub(super) fn of_page(source: Option<&str>, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    if let Some(source) = source {
        links(source, &mut found);
    }
    plain(text, &mut found);
    found
}

/// Adds an address that is not there yet; domains are alike in capitals and small letters.
fn add(address: &str, found: &mut Vec<String>) {
    let Some(address) = checked(address) else {
        return;
    };
    if !found
        .iter()
        .any(|known| known.eq_ignore_ascii_case(&address))
    {
        found.push(address);
    }
}

/// An address with its host in small letters, if it is one.
fn checked(address: &str) -> Option<String> {
    let (local, host) = address.rsplit_once('@')?;
    let is_local = !local.is_empty()
        && local.len() <= 64
        && local.bytes().all(is_local_byte)
        && !local.starts_with('.')
        && !local.ends_with('.')
        && !local.contains("..");
    let host = host.to_ascii_lowercase();
    let labels: Vec<&str> = host.split('.').collect();
    let is_label = |label: &&str| {
        let is_inside = label
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'-');
        !label.is_empty() && is_inside && !label.starts_with('-') && !label.ends_with('-')
    };
    let last = labels.last()?;
    let is_domain = last.len() >= 2
        && (last.bytes().all(|b| b.is_ascii_alphabetic()) || last.starts_with("xn--"))
        && !FILES.contains(last);
    let is_host = labels.len() >= 2 && labels.iter().all(is_label) && is_domain;
    (is_local && is_host && address.len() <= LONGEST).then(|| format!("{local}@{host}"))
}

fn is_local_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b".!#$%&'*+/=?^_{|}~-".contains(&byte)
}

/// Those of links.
fn links(source: &str, found: &mut Vec<String>) {
    const SCHEME: &str = "mailto:";
    let bytes = source.as_bytes();
    for at in memchr::memchr_iter(b':', bytes) {
        let end = at + 1;
        let begin = end.checked_sub(SCHEME.len());
        let Some(scheme) = begin.and_then(|begin| source.get(begin..end)) else {
            continue;
        };
        if !scheme.eq_ignore_ascii_case(SCHEME) {
            continue;
        }
        let rest = &source[end..];
        let len = rest.find(['"', '\'', '<', '>', '?', ' ', '\n', '\t', '\r']);
        let link = &rest[..len
            .unwrap_or(rest.len())
            .min(rest.floor_char_boundary(4 * LONGEST))];
        // References are undone as in any text of a page.
        let link = percent_decoded(&html::text(link));
        let link = link.split('?').next().unwrap_or_default();
        for address in link.split([',', ';']) {
            add(address.trim(), found);
        }
    }
}

fn percent_decoded(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let hex = |byte: u8| {
            char::from(byte)
                .to_digit(16)
                .and_then(|d| u8::try_from(d).ok())
        };
        if let (b'%', [high, low, behind @ ..]) = (*first, after)
            && let (Some(high), Some(low)) = (hex(*high), hex(*low))
        {
            out.push(high << 4 | low);
            rest = behind;
        } else {
            out.push(*first);
            rest = after;
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Those of the text.
fn plain(text: &str, found: &mut Vec<String>) {
    let bytes = text.as_bytes();
    for at in memchr::memchr_iter(b'@', bytes) {
        // `mailto:` and `=` stand before addresses and are no part of them.
        let is_before = |byte: &&u8| is_local_byte(**byte) && **byte != b'=' && **byte != b'/';
        let before = bytes[..at].iter().rev().take(64).take_while(is_before);
        let from = at - before.count();
        if bytes[..from].ends_with(b"@") {
            continue; // behind another address
        }
        let is_host = |byte: &&u8| byte.is_ascii_alphanumeric() || b".-".contains(byte);
        let to = at
            + 1
            + bytes[at + 1..]
                .iter()
                .take(LONGEST)
                .take_while(is_host)
                .count();
        let address = text.get(from..to).unwrap_or_default();
        let marks = ['.', '-', '\'', '*', '_', '?', '!', '#', '{', '}', '|', '~'];
        let address = address
            .trim_end_matches(['.', '-'])
            .trim_start_matches(marks);
        add(address, found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_found_in_links_and_in_the_text() {
        let page = r#"<a href="mailto:web%2Bmaster@Example.ORG?subject=x">x</a>
            <a href='MAILTO:a.b&#64;example.org,c@example.net'>y</a> <a href=mailto:not-an-address>z</a>"#;
        let text = "Write to info@example.com, (sales@shop.example.co.uk). Or A.B@example.org; <me@localhost> logo@2x.png x@y @me user@-a.org";
        assert_eq!(
            of_page(Some(page), text),
            [
                "web+master@example.org",
                "a.b@example.org",
                "c@example.net",
                "info@example.com",
                "sales@shop.example.co.uk",
            ]
        );
    }

    #[test]
    fn any_bytes_are_taken() {
        for text in [
            "@",
            "mailto:",
            "mailto:%",
            "ä@ö.de",
            "mailto:%4",
            "a@b.c@d.ef",
            "ımailto:é@é",
        ] {
            of_page(Some(text), text);
        }
        assert_eq!(of_page(None, "a@b.cc@d.ef"), ["a@b.cc"]);
    }
}
