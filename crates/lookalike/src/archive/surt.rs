//! The key of an address: `com,example)/path?a=1&b=2`, hosts from the end, so that pages of
//! one site stand together.
//!
//! ```text
//! URL ─► split ─► escapes undone, dots in paths followed ─► case, www, session ids, order of
//!                                                           parameters ─► host turned round
//! ```
//!
//! Keys equal those of the Python package `surt` 0.3.1, which wrote the indexes of nearly all
//! archives, its oddities included: `tests/clients/surt_keys.py` asks both. O(length), but
//! for the session ids, which are looked for by regular expressions in linear time each.

use std::borrow::Cow;
use std::fmt::Write;
use std::net::Ipv4Addr;
use std::sync::LazyLock;

use regex::Regex;

use super::idna;

/// The key of an address.
///
/// An address that has none, such as one with a port that is no number, is its own key, as
/// the indexers of archives have it. Nothing else is refused, whatever the text.
///
/// ```
/// use lookalike::archive::surt::surt;
///
/// let key = surt("http://www.Example.com:80/Path/?b=2&a=1#x");
/// assert_eq!(key, "com,example)/path?a=1&b=2");
/// ```
pub fn surt(url: &str) -> String {
    if url.is_empty() {
        return "-".to_owned();
    }
    if url.starts_with("filedesc") {
        return url.to_owned();
    }
    key(url).unwrap_or_else(|| url.to_owned())
}

fn key(url: &str) -> Option<String> {
    let url = stripped(url.as_bytes());
    if url.is_empty() {
        return None;
    }
    let url = last_protocol(with_scheme(url));
    let parts = Parts::of(&url)?;
    let host = match parts.host {
        Some(host) => Some(host_key(&host, parts.scheme)?),
        None => None,
    };
    let host = host.filter(|host| !host.is_empty());
    let path = path_key(parts.path.as_deref(), host.is_some());
    let query = parts.query.and_then(query_key);

    let mut key = match &host {
        Some(host) => host.rsplit('.').collect::<Vec<_>>().join(","),
        None => String::from_utf8_lossy(parts.scheme).into_owned() + ":",
    };
    if host.is_some() {
        let default = match parts.scheme.to_ascii_lowercase().as_slice() {
            b"http" => 80,
            b"https" => 443,
            _ => 0,
        };
        if let Some(port) = parts.port.filter(|port| *port != default) {
            let _ = write!(key, ":{port}");
        }
        key.push(')');
    }
    match &path {
        Some(path) if !path.is_empty() => key.push_str(path),
        _ if query.is_some() => key.push('/'),
        _ => {}
    }
    if let Some(query) = query {
        key.push('?');
        key.push_str(&query);
    }
    Some(key)
}

/// Without white space around it, and without the kinds that break lines within.
fn stripped(url: &[u8]) -> Vec<u8> {
    // The vertical tab is white space to Python, and not to Rust.
    let is_space = |byte: &u8| byte.is_ascii_whitespace() || *byte == 0x0b;
    let from = url.iter().position(|byte| !is_space(byte));
    let to = url.iter().rposition(|byte| !is_space(byte));
    let inner = from.zip(to).and_then(|(from, to)| url.get(from..=to));
    let inner = inner.unwrap_or_default().iter().copied();
    inner
        .filter(|byte| !matches!(byte, b'\n' | b'\r' | b'\t'))
        .collect()
}

/// How long a scheme an address begins with, if it does.
fn scheme_len(url: &[u8]) -> Option<usize> {
    let end = url.iter().position(|byte| *byte == b':')?;
    let is_scheme = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
    let is_named = url.first()?.is_ascii_alphabetic();
    (is_named && url[..end].iter().all(is_scheme)).then_some(end)
}

fn with_scheme(mut url: Vec<u8>) -> Vec<u8> {
    if scheme_len(&url).is_none() {
        url.splice(..0, *b"http://");
    }
    url
}

/// Of `http://https://` only the last counts.
fn last_protocol(mut url: Vec<u8>) -> Vec<u8> {
    let mut last = None;
    let mut at = 0;
    while let Some(len) = ["http://", "https://"]
        .iter()
        .find(|protocol| url[at..].starts_with(protocol.as_bytes()))
        .map(|protocol| protocol.len())
    {
        last = Some(at);
        at += len;
    }
    url.drain(..last.unwrap_or(0));
    url
}

/// An address in its parts; none of them is empty.
struct Parts<'u> {
    scheme: &'u [u8],
    host: Option<Vec<u8>>,
    port: Option<u16>,
    path: Option<Cow<'u, [u8]>>,
    query: Option<&'u [u8]>,
}

impl<'u> Parts<'u> {
    fn of(url: &'u [u8]) -> Option<Parts<'u>> {
        let (scheme, rest) = url.split_at(scheme_len(url)?);
        let rest = rest.get(1..)?;
        let cut = |text: &'u [u8], at: &[u8]| {
            let end = text.iter().position(|byte| at.contains(byte));
            text.split_at(end.unwrap_or(text.len()))
        };
        let (rest, _fragment) = cut(rest, b"#");
        let (rest, query) = cut(rest, b"?");
        let query = query.get(1..).filter(|query| !query.is_empty());
        let (authority, path) = match rest.strip_prefix(b"//") {
            Some(rest) => cut(rest, b"/"),
            None => (&b""[..], rest),
        };
        let (host, port) = host_and_port(authority)?;
        let mut parts = Parts {
            scheme,
            host,
            port,
            path: (!path.is_empty()).then_some(Cow::Borrowed(path)),
            query,
        };
        // Of http:////host/path any number of slashes is meant as two.
        if scheme.starts_with(b"http")
            && parts.host.is_none()
            && let Some(path) = parts.path.take()
        {
            let slashes = path.iter().take_while(|byte| **byte == b'/').count();
            let path = path.get(slashes..).unwrap_or_default();
            let end = path.iter().position(|byte| *byte == b'/');
            let (host, path) = path.split_at(end.unwrap_or(path.len()));
            parts.host = (!host.is_empty()).then(|| host.to_vec());
            let path = [b"/", path.get(1..).unwrap_or_default()].concat();
            parts.path = Some(Cow::Owned(path));
        }
        Some(parts)
    }
}

/// What stands between `//` and the path, without the user; `None` for a port that is none.
fn host_and_port(authority: &[u8]) -> Option<(Option<Vec<u8>>, Option<u16>)> {
    let ends = authority.iter().rposition(|byte| *byte != b':');
    let authority = authority.get(..ends.map_or(0, |end| end + 1))?;
    let split = |text: &[u8], at: u8| -> Option<(Vec<u8>, Vec<u8>)> {
        let at = text.iter().position(|byte| *byte == at)?;
        Some((text[..at].to_vec(), text[at + 1..].to_vec()))
    };
    let user = authority.iter().rposition(|byte| *byte == b'@');
    let address = &authority[user.map_or(0, |at| at + 1)..];
    let (host, port) = match split(address, b'[') {
        Some((_, inner)) => {
            let (host, behind) = split(&inner, b']').unwrap_or((inner, Vec::new()));
            (host, split(&behind, b':').map(|(_, port)| port))
        }
        None => match split(address, b':') {
            Some((host, port)) => (host, Some(port)),
            None => (address.to_vec(), None),
        },
    };
    let port = match port.filter(|port| !port.is_empty()) {
        None => None,
        Some(port) if port.iter().all(u8::is_ascii_digit) => {
            let digits = port.iter().position(|digit| *digit != b'0');
            let digits = port.get(digits.unwrap_or(port.len())..)?;
            let number = digits.iter().try_fold(0_u16, |number, digit| {
                number.checked_mul(10)?.checked_add(u16::from(digit - b'0'))
            });
            // Port 0 is no port.
            Some(number?).filter(|port| *port != 0)
        }
        Some(_) => return None,
    };
    // What stands behind a % may be the zone of an address, which has its own case.
    let zone = host.iter().position(|byte| *byte == b'%');
    let (name, zone) = host.split_at(zone.unwrap_or(host.len()));
    let host = [&name.to_ascii_lowercase(), zone].concat();
    Some(((!host.is_empty()).then_some(host), port))
}

/// A host in one way of writing; `None` for a number too long to be read.
fn host_key(host: &[u8], scheme: &[u8]) -> Option<String> {
    let mut host = unescaped(host);
    if !host.is_ascii() {
        let text: String = host.utf8_chunks().map(|chunk| chunk.valid()).collect();
        if let Some(ascii) = idna::to_ascii(&text) {
            host = ascii.into_bytes();
        }
    }
    let mut dotted = Vec::with_capacity(host.len());
    let mut rest = &host[..];
    while let [first, behind @ ..] = rest {
        dotted.push(*first);
        rest = match behind {
            [b'.', behind @ ..] if *first == b'.' => behind,
            behind => behind,
        };
    }
    let from = dotted.iter().position(|byte| *byte != b'.');
    let to = dotted.iter().rposition(|byte| *byte != b'.');
    let inner = from.zip(to).and_then(|(from, to)| dotted.get(from..=to));
    let host = inner.unwrap_or_default();

    let key = match address_of(host)? {
        Some(address) => address.to_string(),
        None => escaped(&host.to_ascii_lowercase()).to_ascii_lowercase(),
    };
    if scheme == b"dns" {
        return Some(key);
    }
    // www.example.com and www3.example.com are example.com.
    let bare = key.strip_prefix("www").and_then(|rest| {
        let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        rest.strip_prefix('.')
    });
    Some(bare.map_or_else(|| key.clone(), str::to_owned))
}

/// Digits of a host that Python reads as one number; longer ones it refuses.
const LONGEST_NUMBER: usize = 4300;

/// The IPv4 address that a host is, in the ways that C libraries read them: `127.1`,
/// `017700000001`. `None` within for a name, `None` around it for a number too long to read.
#[expect(clippy::option_option, reason = "no address, and no answer")]
fn address_of(host: &[u8]) -> Option<Option<Ipv4Addr>> {
    if !host.is_empty() && host.iter().all(u8::is_ascii_digit) {
        if host.len() > LONGEST_NUMBER {
            return None;
        }
        let add = |number: u32, digit: &u8| {
            let digit = u32::from(digit - b'0');
            number.wrapping_mul(10).wrapping_add(digit)
        };
        return Some(Some(Ipv4Addr::from(host.iter().fold(0, add))));
    }
    let read = |part: &[u8]| -> Option<u64> {
        let base = if part.len() > 1 && part[0] == b'0' {
            8
        } else {
            10
        };
        let text = std::str::from_utf8(part).ok()?;
        let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| u64::from_str_radix(text, base).ok())?
    };
    let parts: Vec<&[u8]> = host.splitn(5, |byte| *byte == b'.').collect();
    let is_octal = parts.first().is_some_and(|first| first.starts_with(b"0"));
    let is_octal_only = |part: &&[u8]| part.iter().all(|digit| *digit < b'8');
    if parts.len() > 4 || is_octal && !parts.iter().all(is_octal_only) {
        return Some(None);
    }
    let numbers: Option<Vec<u64>> = parts.into_iter().map(read).collect();
    let Some([leading @ .., last]) = numbers.as_deref() else {
        return Some(None);
    };
    // The last one is as long as what the others leave.
    let rest = 32 - 8 * leading.len();
    if leading.iter().any(|byte| *byte > 0xff) || *last >> rest != 0 {
        return Some(None);
    }
    let high = leading.iter().fold(0, |address, byte| address << 8 | byte);
    let address = high << rest | last;
    Some(u32::try_from(address).ok().map(Ipv4Addr::from))
}

fn path_key(path: Option<&[u8]>, has_host: bool) -> Option<String> {
    let path = path.map(unescaped);
    let path = if has_host {
        Some(followed(path.as_deref().unwrap_or_default()))
    } else {
        path
    };
    let mut path = escaped(&path?).to_ascii_lowercase();
    for session in &*IN_PATH {
        let Some(found) = session.captures(&path) else {
            continue;
        };
        path = format!("{}{}", &found[1], &found[2]);
    }
    if path.len() > 1 && path.ends_with('/') {
        path.pop();
    }
    Some(path)
}

/// A path with `.` and `..` followed, and many slashes as one.
fn followed(path: &[u8]) -> Vec<u8> {
    let mut kept: Vec<&[u8]> = Vec::new();
    for part in path.split(|byte| *byte == b'/').skip(1) {
        match part {
            b"." => {}
            b".." if !kept.is_empty() => {
                kept.pop();
            }
            part => kept.push(part),
        }
    }
    let mut out = b"/".to_vec();
    if let Some((last, before)) = kept.split_last() {
        for part in before.iter().filter(|part| !part.is_empty()) {
            out.extend_from_slice(part);
            out.push(b'/');
        }
        out.extend_from_slice(last);
    }
    out
}

fn query_key(query: &[u8]) -> Option<String> {
    let mut query = escaped(&unescaped(query));
    for session in &*IN_QUERY {
        let Some(found) = session.captures(&query) else {
            continue;
        };
        let behind = found.get(2).map_or("", |behind| behind.as_str());
        query = format!("{}{behind}", &found[1]);
    }
    query.make_ascii_lowercase();
    if query.len() > 1 {
        // A name without `=` comes before the same name with it.
        let split = |part| match str::split_once(part, '=') {
            Some((name, value)) => (name, Some(value)),
            None => (part, None),
        };
        let mut parts: Vec<(&str, Option<&str>)> = query.split('&').map(split).collect();
        parts.sort_unstable();
        let join = |(name, value): (&str, Option<&str>)| match value {
            Some(value) => format!("{name}={value}"),
            None => name.to_owned(),
        };
        let parts: Vec<String> = parts.into_iter().map(join).collect();
        query = parts.join("&");
    }
    (!query.is_empty()).then_some(query)
}

fn patterns<const N: usize>(patterns: [&str; N]) -> [Regex; N] {
    patterns.map(|pattern| Regex::new(pattern).expect("a pattern of ours"))
}

/// Session ids of ASP.NET: `/(S(4hqa0555fwsecu455xqckv45))/page.aspx`.
static IN_PATH: LazyLock<[Regex; 2]> = LazyLock::new(|| {
    patterns([
        r"^(.*/)\((?:[a-z]\([0-9a-z]{24}\))+\)/([^?]+\.aspx.*)$",
        r"^(.*/)\([0-9a-z]{24}\)/([^?]+\.aspx.*)$",
    ])
});

static IN_QUERY: LazyLock<[Regex; 5]> = LazyLock::new(|| {
    patterns([
        r"^(.*)(?i:jsessionid=[0-9a-zA-Z]{32})(?:&(.*))?$",
        r"^(.*)(?i:phpsessid=[0-9a-zA-Z]{32})(?:&(.*))?$",
        r"^(.*)(?i:sid=[0-9a-zA-Z]{32})(?:&(.*))?$",
        r"^(.*)(?i:ASPSESSIONID[a-zA-Z]{8}=[a-zA-Z]{24})(?:&(.*))?$",
        r"^(.*)(?i:cfid=[^&]+&cftoken=[^&]+)(?:&(.*))?$",
    ])
});

/// Bytes with `%xx` undone until there is none left. One pass: what is decoded last may be
/// the end of a further one, and nothing before it.
fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for byte in text {
        out.push(*byte);
        while let [.., b'%', high, low] = out[..]
            && let Some(high) = char::from(high).to_digit(16)
            && let Some(low) = char::from(low).to_digit(16)
        {
            out.truncate(out.len() - 3);
            out.push(u8::try_from(high * 16 + low).unwrap_or(0));
        }
    }
    out
}

/// Text with all but what prints in ASCII as `%XX`, and `#` and `%` too.
fn escaped(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for byte in bytes {
        if byte.is_ascii_graphic() && !matches!(byte, b'#' | b'%') {
            out.push(char::from(*byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Addresses and the keys of the Python package, from `scripts/surt_vectors.py`.
    const VECTORS: &str = include_str!("../../tests/fixtures/surt.jsonl");

    #[test]
    fn keys_are_those_of_the_archives() {
        let mut wrong = Vec::new();
        for line in VECTORS.lines() {
            let (url, key): (String, Option<String>) =
                serde_json::from_str(line).expect("an address and its key");
            let got = surt(&url);
            // What has no key is its own.
            let expected = key.unwrap_or_else(|| url.clone());
            if got != expected {
                wrong.push(format!("{url:?}: {got:?}, not {expected:?}"));
            }
        }
        assert!(VECTORS.lines().count() > 400);
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn escapes_of_escapes_take_one_pass() {
        let deep = format!("http://a.example/%{}41", "25".repeat(1_000_000));
        assert!(surt(&deep) == "example,a)/a");
    }

    proptest! {
        #[test]
        fn any_text_has_a_key(url in "\\PC{0,60}") {
            surt(&url);
        }

        #[test]
        fn what_looks_like_an_address_has_a_key(
            url in "(https?|ftp|dns|[a-z]{1,3}):/{0,4}([a-z0-9.:@%\\[\\]üß日]{0,12})(/[.a-zA-Z%0-9()?&=#;]{0,8}){0,4}",
        ) {
            surt(&url);
        }

        #[test]
        fn a_key_has_no_case(path in "[a-zA-Z0-9/.]{0,20}") {
            let url = format!("http://a.example/{path}");
            prop_assert_eq!(surt(&url), surt(&url.to_ascii_uppercase().replacen("HTTP", "http", 1)));
        }
    }
}
