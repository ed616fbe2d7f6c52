//! The HTTP message in a WARC record: its status, its type, and its content decoded.
//!
//! ```text
//! block ─► status line, header lines ─► body ─► chunks joined ─► gzip, deflate, br undone
//! ```
//!
//! What a header claims and the body is not is passed over: archives store bodies
//! decoded under headers that say otherwise. Content that unfolds past a limit is
//! refused before it is held.

use std::borrow::Cow;
use std::io::Read;

use flate2::bufread::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};

use super::super::options::{Limits, RATIO_FROM, ZSTD_WINDOW_LOG};
use super::super::record::Kind;
use super::header::{Fields, head_end, split_line};

/// A message taken apart.
pub(crate) struct Message<'a> {
    /// The status, where there is one.
    pub(crate) status: Option<u16>,
    /// The header lines.
    pub(crate) fields: Fields<'a>,
    /// What follows them.
    pub(crate) body: &'a [u8],
}

/// Takes a message apart. What has no head is all body.
pub(crate) fn message(block: &[u8]) -> Message<'_> {
    let blank = |&&byte: &&u8| matches!(byte, b'\r' | b'\n');
    let start = block.iter().take_while(blank).count();
    let rest = block.get(start..).unwrap_or_default();
    let (first, after) = split_line(rest);
    let is_status = first
        .get(..5)
        .is_some_and(|start| start.eq_ignore_ascii_case(b"HTTP/"));
    if !is_status && !is_header_line(first) {
        return Message {
            status: None,
            fields: Fields(&[]),
            body: block,
        };
    }
    let end = head_end(rest).unwrap_or(rest.len());
    let head = rest.get(..end).unwrap_or_default();
    let fields = if is_status {
        // Without any header line, the empty line follows at once.
        after
            .get(..end.saturating_sub(rest.len() - after.len()))
            .unwrap_or_default()
    } else {
        head
    };
    let status = first.split(u8::is_ascii_whitespace).nth(1);
    let status = status.and_then(|status| str::from_utf8(status).ok()?.parse().ok());
    Message {
        status: status.filter(|_| is_status),
        fields: Fields(fields),
        body: rest.get(end..).unwrap_or_default(),
    }
}

/// Whether a line looks like `Name: value`.
fn is_header_line(line: &[u8]) -> bool {
    let colon = memchr::memchr(b':', line).unwrap_or(0);
    let name = line.get(..colon).unwrap_or_default().trim_ascii_end();
    let is_token = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    !name.is_empty() && name.iter().all(is_token)
}

/// What a type says of a content.
#[derive(Debug, Eq, PartialEq)]
pub(crate) enum ContentType<'a> {
    /// Text of some kind, perhaps in a charset.
    Text(Kind, Option<&'a str>),
    /// No text.
    Other,
}

/// Reads a `Content-Type`.
pub(crate) fn content_type(value: Option<&str>) -> ContentType<'_> {
    let Some(value) = value else {
        return ContentType::Text(Kind::Unsaid, None);
    };
    let mut parts = value.split(';');
    let mime = parts.next().unwrap_or_default().trim().to_ascii_lowercase();
    let charset = parts.find_map(|part| {
        let (name, value) = part.split_once('=')?;
        let value = value.trim().trim_matches(['"', '\'']);
        (name.trim().eq_ignore_ascii_case("charset") && !value.is_empty()).then_some(value)
    });
    match mime.as_str() {
        "text/html" | "application/xhtml+xml" => ContentType::Text(Kind::Html, charset),
        // Answers of name servers, style and script are no documents.
        "text/dns" | "text/css" | "text/javascript" | "text/ecmascript" => ContentType::Other,
        "" => ContentType::Text(Kind::Unsaid, charset),
        mime if mime.starts_with("text/") => ContentType::Text(Kind::Text, charset),
        _ => ContentType::Other,
    }
}

/// A message as it is served again: its body joined if it came in chunks, and otherwise as
/// it stood.
pub(crate) struct Served<'a> {
    pub(crate) status: Option<u16>,
    /// All of them, in order; of `Transfer-Encoding` what is still true of the body.
    pub(crate) headers: Vec<(String, Vec<u8>)>,
    pub(crate) body: Cow<'a, [u8]>,
}

/// Takes a message apart to be served again.
pub(crate) fn served(block: &[u8]) -> Served<'_> {
    let message = message(block);
    let mut served = Served {
        status: message.status,
        headers: Vec::new(),
        body: Cow::Borrowed(message.body),
    };
    for (name, mut value) in message.fields.all() {
        if name.eq_ignore_ascii_case("transfer-encoding") {
            // Not in chunks, though it says so, is as good as joined.
            let codings = String::from_utf8_lossy(&value).into_owned();
            let is_chunked = |coding: &&str| coding.trim().eq_ignore_ascii_case("chunked");
            if codings.split(',').any(|coding| is_chunked(&coding))
                && let Some(joined) = dechunk(&served.body)
            {
                served.body = Cow::Owned(joined);
            }
            let others = codings.split(',').filter(|coding| !is_chunked(coding));
            let others: Vec<&str> = others.map(str::trim).collect();
            value = others.join(", ").into_bytes();
            if value.is_empty() {
                continue;
            }
        }
        served.headers.push((name, value));
    }
    served
}

/// Why a body cannot be had.
#[derive(Debug, Eq, PartialEq)]
pub(crate) enum BodyFault {
    /// It unfolds past a limit, of this name.
    TooLarge(&'static str, usize),
    /// Its encoding breaks off or is broken.
    Damaged(&'static str),
}

/// The content of a message.
pub(crate) fn content<'a>(
    message: &Message<'a>,
    limits: &Limits,
) -> Result<Cow<'a, [u8]>, BodyFault> {
    let mut body = Cow::Borrowed(message.body);
    let transfer = message.fields.get("transfer-encoding").unwrap_or_default();
    if transfer.to_ascii_lowercase().contains("chunked")
        && let Some(joined) = dechunk(message.body)
    {
        body = Cow::Owned(joined);
    }
    let codings = message.fields.get("content-encoding").unwrap_or_default();
    // The last that was applied is undone first. Nobody applies more than two.
    for coding in codings.rsplit(',').take(4) {
        if let Some(decoded) = decode(&body, coding.trim(), limits)? {
            body = Cow::Owned(decoded);
        }
    }
    Ok(body)
}

/// The chunks of a body joined; `None` if it is not in chunks at all. What breaks off
/// gives the chunks before, as browsers show them.
fn dechunk(body: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut rest = body;
    let mut is_first = true;
    loop {
        let (line, after) = split_line(rest);
        let digits = line.split(|&byte| byte == b';').next().unwrap_or_default();
        let digits = str::from_utf8(digits.trim_ascii()).unwrap_or_default();
        let size = usize::from_str_radix(digits, 16).ok();
        let Some(size) = size.filter(|_| !digits.starts_with('+')) else {
            return (!is_first).then_some(out);
        };
        if size == 0 {
            return Some(out);
        }
        // A number that runs past the end is no size but text, unless it is cut short.
        if is_first && size > after.len() && line.len() == rest.len() {
            return None;
        }
        is_first = false;
        let chunk = after.get(..size).unwrap_or(after);
        out.extend_from_slice(chunk);
        rest = after.get(size..).unwrap_or_default();
        if rest.is_empty() {
            return Some(out);
        }
        rest = split_line(rest).1;
    }
}

/// Undoes one coding; `None` if the body is not in it.
fn decode(body: &[u8], coding: &str, limits: &Limits) -> Result<Option<Vec<u8>>, BodyFault> {
    if body.is_empty() {
        return Ok(None);
    }
    match coding.to_ascii_lowercase().as_str() {
        "gzip" | "x-gzip" if body.starts_with(b"\x1f\x8b") => {
            match unfold(MultiGzDecoder::new(body), body.len(), limits)? {
                Unfolded::Whole(out) => Ok(Some(out)),
                // Bytes behind the end of the content are nobody's loss.
                Unfolded::Broken(out) if !out.is_empty() && is_whole_gzip(body, out.len()) => {
                    Ok(Some(out))
                }
                Unfolded::Broken(_) => Err(BodyFault::Damaged("the gzip content is damaged")),
            }
        }
        "deflate" => {
            // Some servers send it bare, without the wrapping the standard asks for.
            if let Unfolded::Whole(out) = unfold(ZlibDecoder::new(body), body.len(), limits)? {
                return Ok(Some(out));
            }
            match unfold(DeflateDecoder::new(body), body.len(), limits)? {
                Unfolded::Whole(out) => Ok(Some(out)),
                Unfolded::Broken(_) => Ok(None),
            }
        }
        "br" => {
            let decoder = brotli_decompressor::Decompressor::new(body, 16 << 10);
            match unfold(decoder, body.len(), limits)? {
                Unfolded::Whole(out) => Ok(Some(out)),
                Unfolded::Broken(_) => Ok(None),
            }
        }
        "zstd" if body.starts_with(b"\x28\xb5\x2f\xfd") => {
            let damaged = BodyFault::Damaged("the zstd content is damaged");
            let Ok(mut decoder) = zstd::stream::read::Decoder::with_buffer(body) else {
                return Err(damaged);
            };
            if decoder.window_log_max(ZSTD_WINDOW_LOG).is_err() {
                return Err(damaged);
            }
            match unfold(decoder, body.len(), limits)? {
                Unfolded::Whole(out) => Ok(Some(out)),
                Unfolded::Broken(_) => Err(damaged),
            }
        }
        _ => Ok(None),
    }
}

/// Whether the first member of a gzip content is sound and this long.
fn is_whole_gzip(body: &[u8], len: usize) -> bool {
    let mut decoder = flate2::bufread::GzDecoder::new(body);
    let copied = std::io::copy(&mut decoder, &mut std::io::sink());
    copied.is_ok_and(|copied| copied == len as u64)
}

enum Unfolded {
    Whole(Vec<u8>),
    /// What came before the error.
    Broken(Vec<u8>),
}

fn unfold(decoder: impl Read, len: usize, limits: &Limits) -> Result<Unfolded, BodyFault> {
    let by_ratio = len.saturating_mul(limits.ratio).max(RATIO_FROM);
    let (name, limit) = if by_ratio < limits.record {
        ("ratio", by_ratio)
    } else {
        ("record", limits.record)
    };
    let mut out = Vec::new();
    let read = decoder.take(limit as u64 + 1).read_to_end(&mut out);
    if out.len() > limit {
        return Err(BodyFault::TooLarge(name, limit));
    }
    Ok(match read {
        Ok(_) => Unfolded::Whole(out),
        Err(_) => Unfolded::Broken(out),
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};

    use super::*;

    fn read(block: &[u8]) -> (Option<u16>, Vec<u8>) {
        let message = message(block);
        let content = content(&message, &Limits::default()).expect("content");
        (message.status, content.into_owned())
    }

    #[test]
    fn heads_are_read_leniently() {
        for block in [
            &b"HTTP/1.1 200 OK\r\nA: b\r\n\r\nbody"[..],
            b"HTTP/1.1 200 OK\nA: b\n\nbody",
            b"http/1.0 200\r\n\r\nbody",
            b"\r\nHTTP/1.1 200 OK\r\nno colon\r\nA : b\r\n c\r\n\r\nbody",
        ] {
            let text = String::from_utf8_lossy(block);
            assert_eq!(read(block), (Some(200), b"body".to_vec()), "{text}");
        }
        assert_eq!(read(b"A: b\r\n\r\nbody"), (None, b"body".to_vec()));
        assert_eq!(read(b"HTTP/1.1\r\n\r\nbody"), (None, b"body".to_vec()));
        assert_eq!(read(b"<p>a: b\n\nc"), (None, b"<p>a: b\n\nc".to_vec()));
        assert_eq!(read(b"HTTP/1.1 404 No\r\nA: b"), (Some(404), Vec::new()));
        let mut many = b"HTTP/1.1 200 OK\r\n".to_vec();
        for i in 0..5000 {
            many.extend(format!("X-{i}: y\r\n").bytes());
        }
        many.extend(b"\r\nbody");
        assert_eq!(read(&many), (Some(200), b"body".to_vec()));
    }

    fn coded(coding: &str, body: &[u8]) -> Vec<u8> {
        let mut block =
            format!("HTTP/1.1 200 OK\r\nContent-Encoding: {coding}\r\n\r\n").into_bytes();
        block.extend(body);
        block
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(bytes).expect("memory");
        encoder.finish().expect("memory")
    }

    #[test]
    fn codings_are_undone_and_false_ones_passed_over() {
        let text = b"the same text".as_slice();
        let mut zlib = ZlibEncoder::new(Vec::new(), Compression::default());
        zlib.write_all(text).expect("memory");
        let mut bare = DeflateEncoder::new(Vec::new(), Compression::default());
        bare.write_all(text).expect("memory");
        let zstd = zstd::encode_all(text, 0).expect("memory");
        for block in [
            coded("gzip", &gzip(text)),
            coded("x-gzip", &gzip(text)),
            coded("GZIP, gzip", &gzip(&gzip(text))),
            coded("gzip", &[&gzip(text)[..], b"rubbish"].concat()),
            coded("deflate", &zlib.finish().expect("memory")),
            coded("deflate", &bare.finish().expect("memory")),
            coded("zstd", &zstd),
            coded("gzip", text),
            coded("deflate", text),
            coded("br", text),
            coded("identity", text),
            coded("nonsense", text),
        ] {
            let head = String::from_utf8_lossy(&block);
            assert_eq!(read(&block).1, text, "{head}");
        }
    }

    #[test]
    fn a_brotli_content_is_undone() {
        // One meta-block with 5 bytes as they are, and an empty last one.
        let got = decode(b"\x0b\x02\x80hello\x03", "br", &Limits::default());
        assert_eq!(got, Ok(Some(b"hello".to_vec())));
    }

    #[test]
    fn a_damaged_gzip_content_is_no_content() {
        let mut body = gzip(b"the same text, long enough to be cut");
        body.truncate(body.len() - 12);
        let block = coded("gzip", &body);
        let got = content(&message(&block), &Limits::default());
        assert_eq!(got, Err(BodyFault::Damaged("the gzip content is damaged")));
    }

    #[test]
    fn bombs_are_refused_by_the_name_of_the_limit() {
        let zeros = gzip(&vec![0; 70 << 20]);
        let limits = Limits::default();
        let got = content(&message(&coded("gzip", &zeros)), &limits).map(|_| ());
        assert!(matches!(got, Err(BodyFault::TooLarge(_, _))), "{got:?}");
        let small = Limits {
            record: 2 << 20,
            ..limits
        };
        let got = content(&message(&coded("gzip", &zeros)), &small).map(|_| ());
        assert_eq!(got, Err(BodyFault::TooLarge("record", 2 << 20)));
        let strict = Limits {
            ratio: 10,
            ..limits
        };
        let got = content(&message(&coded("gzip", &zeros)), &strict).map(|_| ());
        assert!(
            matches!(got, Err(BodyFault::TooLarge("ratio", _))),
            "{got:?}"
        );
    }

    #[test]
    fn chunks_are_joined_and_what_is_in_none_is_left() {
        let chunked = |body: &str| {
            let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n";
            let (_, content) = read(format!("{head}{body}").as_bytes());
            String::from_utf8(content).expect("UTF-8")
        };
        assert_eq!(
            chunked("4\r\nwiki\r\n6;x=y\r\npedia \r\n0\r\n\r\n"),
            "wikipedia "
        );
        assert_eq!(chunked("4\nwiki\n0\n\n"), "wiki");
        assert_eq!(chunked("<p>not chunked"), "<p>not chunked");
        assert_eq!(chunked("4\r\nwiki\r\n6\r\nped"), "wikiped");
        assert_eq!(
            chunked("ffffffffffffffffffff\r\nx"),
            "ffffffffffffffffffff\r\nx"
        );
        assert_eq!(chunked("7fffffffffffffff\r\nx"), "x");
        assert_eq!(chunked("4\r\nwiki\r\nzzz\r\n"), "wiki");
        assert_eq!(chunked(""), "");
    }

    #[test]
    fn a_message_is_served_as_it_stood_but_for_its_chunks() {
        let shown = |block: &[u8]| {
            let served = served(block);
            let headers = served.headers.iter().map(|(name, value)| {
                let value = String::from_utf8_lossy(value).into_owned();
                format!("{name}: {value}")
            });
            (
                headers.collect::<Vec<_>>().join("|"),
                served.body.into_owned(),
            )
        };
        let coded = gzip(b"a page");
        let mut block = b"HTTP/1.1 200 OK\r\nA: b\r\nContent-Encoding: gzip\r\nX: caf\xe9\r\n a b\r\nTransfer-Encoding: Chunked\r\nA: c\r\n\r\n".to_vec();
        block.extend(format!("{:x}\r\n", coded.len()).bytes());
        block.extend(&coded);
        block.extend(b"\r\n0\r\n\r\n");
        let headers = "A: b|Content-Encoding: gzip|X: caf\u{fffd} a b|A: c".to_owned();
        assert_eq!(shown(&block), (headers, coded));
        let block = b"HTTP/1.1 200 OK\nTransfer-Encoding: gzip, chunked\n\n2\nab\n0\n\n";
        assert_eq!(
            shown(block),
            ("Transfer-Encoding: gzip".to_owned(), b"ab".to_vec())
        );
        let block = b"HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n<p>in no chunks";
        assert_eq!(shown(block), (String::new(), b"<p>in no chunks".to_vec()));
        assert_eq!(shown(b""), (String::new(), Vec::new()));
    }

    #[test]
    fn types_tell_text_from_the_rest() {
        use ContentType::{Other, Text};
        for (value, expected) in [
            (None, Text(Kind::Unsaid, None)),
            (Some("text/html"), Text(Kind::Html, None)),
            (
                Some("Text/HTML; Charset=\"koi8-r\""),
                Text(Kind::Html, Some("koi8-r")),
            ),
            (
                Some("application/xhtml+xml;charset=utf-8"),
                Text(Kind::Html, Some("utf-8")),
            ),
            (Some("text/plain"), Text(Kind::Text, None)),
            (Some("image/jpeg"), Other),
            (Some("application/pdf"), Other),
            (Some(""), Text(Kind::Unsaid, None)),
        ] {
            assert_eq!(content_type(value), expected, "{value:?}");
        }
    }
}
