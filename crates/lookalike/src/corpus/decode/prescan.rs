//! The charset a page declares in its first bytes.
//!
//! This is the standard's "prescan a byte stream to determine its encoding", followed
//! step by step: it is not quite how HTML is parsed, and pages rely on the difference.
//! What is cut off by the end of the stretch declares nothing.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252, X_USER_DEFINED};
use memchr::{memchr, memmem};

/// How much of a page is looked at.
///
/// The standard scans 1,024 bytes before it parses, and starts again when the parser
/// meets a `meta` later on; one longer scan does for both. Pages with more than this
/// before their `meta` are left to the guess.
const PRESCAN_LEN: usize = 16 << 10;

/// The charset that a `meta` element or an XML declaration names.
pub(super) fn declared(page: &[u8]) -> Option<&'static Encoding> {
    let head = page.get(..PRESCAN_LEN).unwrap_or(page);
    if head.starts_with(b"<\0?\0x\0") {
        return Some(UTF_16LE);
    }
    if head.starts_with(b"\0<\0?\0x") {
        return Some(UTF_16BE);
    }
    by_meta(head).or_else(|| by_xml(head)).map(readable)
}

/// A page whose declaration could be read as ASCII is not in UTF-16 whatever it says.
fn readable(encoding: &'static Encoding) -> &'static Encoding {
    if encoding == UTF_16LE || encoding == UTF_16BE {
        UTF_8
    } else if encoding == X_USER_DEFINED {
        WINDOWS_1252
    } else {
        encoding
    }
}

fn by_meta(head: &[u8]) -> Option<&'static Encoding> {
    let mut at = 0;
    loop {
        at += memchr(b'<', head.get(at..)?)?;
        let rest = head.get(at..)?;
        match rest {
            // The dashes that open a comment may close it.
            [b'<', b'!', b'-', b'-', ..] => at += 2 + memmem::find(rest.get(2..)?, b"-->")? + 2,
            [b'<', _, _, _, _, after, ..]
                if is_meta(rest) && (is_space(*after) || *after == b'/') =>
            {
                let (charset, end) = meta(head, at + 5)?;
                if charset.is_some() {
                    return charset;
                }
                at = end;
            }
            [b'<', letter, ..] | [b'<', b'/', letter, ..] if letter.is_ascii_alphabetic() => {
                let ends = |&byte: &u8| is_space(byte) || byte == b'>';
                at += rest.iter().position(ends)?;
                while let Next::Attribute { .. } = next(head, &mut at)? {}
            }
            [b'<', b'!' | b'/' | b'?', ..] => at += memchr(b'>', rest)?,
            _ => {}
        }
        at += 1;
    }
}

fn is_meta(tag: &[u8]) -> bool {
    tag.get(1..5)
        .is_some_and(|name| name.eq_ignore_ascii_case(b"meta"))
}

/// The charset of the `meta` element whose attributes begin at `at`, and where they
/// end. The outer `None` says that the stretch ended first.
fn meta(head: &[u8], mut at: usize) -> Option<(Option<&'static Encoding>, usize)> {
    let (mut seen_equiv, mut seen_content, mut seen_charset) = (false, false, false);
    let mut is_content_type = false;
    let mut charset = None;
    // Whether the charset counts only beside `http-equiv=content-type`.
    let mut needs_equiv = None;
    while let Next::Attribute { name, value } = next(head, &mut at)? {
        match name.as_slice() {
            b"http-equiv" if !seen_equiv => {
                seen_equiv = true;
                is_content_type = value == b"content-type";
            }
            b"content" if !seen_content => {
                seen_content = true;
                if charset.is_none()
                    && needs_equiv != Some(false)
                    && let Some(named) = in_content(&value)
                {
                    charset = Some(named);
                    needs_equiv = Some(true);
                }
            }
            b"charset" if !seen_charset => {
                seen_charset = true;
                charset = Encoding::for_label(&value);
                needs_equiv = Some(false);
            }
            _ => {}
        }
    }
    let counts = needs_equiv == Some(false) || needs_equiv == Some(true) && is_content_type;
    Some((charset.filter(|_| counts), at))
}

/// What comes next in a tag.
enum Next {
    /// An attribute, in lower case.
    Attribute { name: Vec<u8>, value: Vec<u8> },
    /// The `>`.
    TagEnd,
}

/// What stands at `at`, which moves past an attribute; `None` when the stretch ends
/// within it.
fn next(head: &[u8], at: &mut usize) -> Option<Next> {
    while is_space(*head.get(*at)?) || *head.get(*at)? == b'/' {
        *at += 1;
    }
    if *head.get(*at)? == b'>' {
        return Some(Next::TagEnd);
    }
    let (mut name, mut value) = (Vec::new(), Vec::new());
    loop {
        let byte = *head.get(*at)?;
        match byte {
            b'=' if !name.is_empty() => break,
            b'/' | b'>' => return Some(Next::Attribute { name, value }),
            _ if is_space(byte) => break,
            _ => name.push(byte.to_ascii_lowercase()),
        }
        *at += 1;
    }
    while is_space(*head.get(*at)?) {
        *at += 1;
    }
    if *head.get(*at)? != b'=' {
        return Some(Next::Attribute { name, value });
    }
    *at += 1;
    while is_space(*head.get(*at)?) {
        *at += 1;
    }
    let quote = *head.get(*at)?;
    if matches!(quote, b'"' | b'\'') {
        let rest = head.get(*at + 1..)?;
        let len = memchr(quote, rest)?;
        value = rest.get(..len)?.to_ascii_lowercase();
        *at += len + 2;
    } else {
        while !is_space(*head.get(*at)?) && *head.get(*at)? != b'>' {
            value.push(head.get(*at)?.to_ascii_lowercase());
            *at += 1;
        }
    }
    Some(Next::Attribute { name, value })
}

/// The charset in the `content` of a `meta`, as in `text/html; charset=utf-8`.
fn in_content(content: &[u8]) -> Option<&'static Encoding> {
    let mut rest = content;
    loop {
        let word = b"charset";
        let at = memmem::find(rest, word)?;
        rest = rest.get(at + word.len()..)?.trim_ascii_start();
        if let Some(after) = rest.strip_prefix(b"=") {
            rest = after.trim_ascii_start();
            break;
        }
    }
    let label = match rest.first()? {
        quote @ (b'"' | b'\'') => {
            let rest = rest.get(1..)?;
            rest.get(..memchr(*quote, rest)?)?
        }
        _ => rest.split(|&byte| is_space(byte) || byte == b';').next()?,
    };
    Encoding::for_label(label)
}

/// The charset of an XML declaration, the fallback of pages without a `meta`.
fn by_xml(head: &[u8]) -> Option<&'static Encoding> {
    let declaration = head.strip_prefix(b"<?xml")?;
    let declaration = declaration.get(..memchr(b'>', declaration)?)?;
    let word = b"encoding";
    let at = memmem::find(declaration, word)? + word.len();
    let rest = skip_low(declaration.get(at..)?).strip_prefix(b"=")?;
    let rest = skip_low(rest);
    let quote = *rest.first().filter(|byte| matches!(byte, b'"' | b'\''))?;
    let rest = rest.get(1..)?;
    let label = rest.get(..memchr(quote, rest)?)?;
    let plain = label.iter().all(|&byte| byte > b' ');
    plain.then(|| Encoding::for_label(label))?
}

fn skip_low(bytes: &[u8]) -> &[u8] {
    let low = bytes.iter().take_while(|&&byte| byte <= b' ').count();
    bytes.get(low..).unwrap_or_default()
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | b'\x0c' | b'\r' | b' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_declare_what_the_standard_says_they_do() {
        for (page, expected) in [
            ("<meta charset=koi8-r>", Some("KOI8-R")),
            ("<META\nCharSet = 'KOI8-R' />", Some("KOI8-R")),
            ("<meta/charset=koi8-r>", Some("KOI8-R")),
            ("<meta charset=koi8-r", None),
            ("<meta charset='koi8-r>", None),
            ("<metacharset=koi8-r>", None),
            ("<meta charset=utf-7><meta charset=koi8-r>", Some("KOI8-R")),
            ("<meta charset=utf-16>", Some("UTF-8")),
            ("<meta charset=x-user-defined>", Some("windows-1252")),
            ("<meta charset=koi8-r charset=utf-8>", Some("KOI8-R")),
            (
                "<meta http-equiv=content-type content='text/html; charset=koi8-r'>",
                Some("KOI8-R"),
            ),
            (
                "<meta content='a; charset=\"koi8-r\"' http-equiv=Content-Type>",
                Some("KOI8-R"),
            ),
            ("<meta content='charset=koi8-r'>", None),
            ("<meta http-equiv=refresh content='charset=koi8-r'>", None),
            (
                "<meta http-equiv=content-type content='charset charset = koi8-r;'>",
                Some("KOI8-R"),
            ),
            (
                "<meta http-equiv=content-type content='charset=\"koi8-r'>",
                None,
            ),
            (
                "<!-- <meta charset=utf-8> --><meta charset=koi8-r>",
                Some("KOI8-R"),
            ),
            ("<!--><meta charset=koi8-r>", Some("KOI8-R")),
            ("<!-- <meta charset=koi8-r>", None),
            (
                "<a b='<meta charset=utf-8>'><meta charset=koi8-r>",
                Some("KOI8-R"),
            ),
            (
                "</a b='<meta charset=utf-8>'><meta charset=koi8-r>",
                Some("KOI8-R"),
            ),
            (
                "<!a <meta charset=utf-8><meta charset=koi8-r>",
                Some("KOI8-R"),
            ),
            ("<script>'<meta charset=koi8-r>'</script>", Some("KOI8-R")),
            ("<?xml version='1.0' encoding='koi8-r'?><p>", Some("KOI8-R")),
            (
                "<?xml encoding = \"koi8-r\"?><meta charset=utf-8>",
                Some("UTF-8"),
            ),
            ("<?xml encoding=\"utf-16\"?>", Some("UTF-8")),
            (" <?xml encoding='koi8-r'?>", None),
            ("<\0?\0x\0m\0", Some("UTF-16LE")),
            ("\0<\0?\0x\0m", Some("UTF-16BE")),
            ("", None),
            ("<", None),
            ("<meta", None),
        ] {
            let got = declared(page.as_bytes()).map(Encoding::name);
            assert_eq!(got, expected, "{page}");
        }
    }

    #[test]
    fn only_the_start_of_a_page_counts() {
        let page = |before: usize| " ".repeat(before) + "<meta charset=koi8-r>";
        assert!(declared(page(PRESCAN_LEN - 21).as_bytes()).is_some());
        assert!(declared(page(PRESCAN_LEN - 20).as_bytes()).is_none());
    }
}
