//! Who may ask: the right Host, the token, nothing larger than allowed, and in time. Every
//! answer leaves with headers that keep text from being anything else.
//!
//! A page of another site that makes its own name lead here (DNS rebinding) still sends
//! that name as Host, and is refused by it. There is no CORS: no other site can read an
//! answer.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::Options;
use crate::pages;
use crate::refusal::Refusal;

/// The longest a request may take, its body included.
const WHOLE_REQUEST: Duration = Duration::from_secs(30);

/// What a page may load and run: its own files.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; \
    form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// What is asked of every request.
#[derive(Debug)]
pub(crate) struct Guard {
    token: Option<String>,
    hosts: BTreeSet<String>,
    max_body: usize,
}

impl Guard {
    pub(crate) fn new(options: &Options) -> Guard {
        let names = options.hosts.iter().map(|name| name.to_ascii_lowercase());
        Guard {
            token: options.token.clone(),
            hosts: names.chain(["localhost".to_owned()]).collect(),
            max_body: options.max_body,
        }
    }

    fn refusal(&self, request: &Request) -> Option<Refusal> {
        let headers = request.headers();
        let Some(host) = only(headers, header::HOST) else {
            return Some(Refusal::bad("the request has no Host, or several"));
        };
        // A whole address in place of a path names a host too.
        let named = [Some(name_of(host)), request.uri().host()];
        if !named.into_iter().flatten().all(|name| self.is_ours(name)) {
            let status = StatusCode::MISDIRECTED_REQUEST;
            return Some(
                Refusal::new(status, "this service does not go by that name")
                    .hint("--host NAME lets it answer to one more"),
            );
        }
        // An address that a link would have to guess, and a browser sends with forms of
        // other sites too.
        let is_post = request.method() == Method::POST;
        if is_post && let Some(origin) = headers.get(header::ORIGIN) {
            let from = origin.to_str().ok().and_then(|o| o.split_once("://"));
            if !from.is_some_and(|(_, host)| self.is_ours(name_of(host))) {
                let status = StatusCode::FORBIDDEN;
                return Some(Refusal::new(status, "forms of other sites are not taken"));
            }
        }
        if request.uri().path() != "/healthz" && !self.is_let_in(headers) {
            return Some(Refusal::new(
                StatusCode::UNAUTHORIZED,
                "the token is missing or wrong",
            ));
        }
        let declared = only(headers, header::CONTENT_LENGTH);
        let declared = declared.and_then(|length| length.parse::<u64>().ok());
        if declared.is_some_and(|length| length > self.max_body as u64) {
            return Some(Refusal::too_large(self.max_body));
        }
        None
    }

    /// Whether we go by a name. No name that somebody else could have lead here looks like
    /// an address.
    fn is_ours(&self, host: &str) -> bool {
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        bare.parse::<IpAddr>().is_ok() || self.hosts.contains(&host.to_ascii_lowercase())
    }

    /// The token as `Bearer`, or as the password of any user, which browsers ask for.
    fn is_let_in(&self, headers: &HeaderMap) -> bool {
        let Some(token) = &self.token else {
            return true;
        };
        let Some((kind, shown)) =
            only(headers, header::AUTHORIZATION).and_then(|value| value.split_once(' '))
        else {
            return false;
        };
        if kind.eq_ignore_ascii_case("bearer") {
            return is_equal(shown.trim().as_bytes(), token.as_bytes());
        }
        let user = base64(shown.trim()).unwrap_or_default();
        let password = user.iter().position(|byte| *byte == b':');
        kind.eq_ignore_ascii_case("basic")
            && password.is_some_and(|at| is_equal(&user[at + 1..], token.as_bytes()))
    }
}

/// A header that is there once.
fn only(headers: &HeaderMap, name: header::HeaderName) -> Option<&str> {
    let mut all = headers.get_all(name).iter();
    let value = all.next()?.to_str().ok()?;
    all.next().is_none().then_some(value)
}

/// A host without its port.
fn name_of(host: &str) -> &str {
    match host.rfind(']') {
        Some(end) => &host[..=end],
        None => host.split(':').next().unwrap_or_default(),
    }
}

/// In a time that does not tell where the two differ.
fn is_equal(shown: &[u8], token: &[u8]) -> bool {
    let differ = |(x, y): (&u8, &u8)| x ^ y;
    let all = shown.iter().zip(token).map(differ);
    shown.len() == token.len() && std::hint::black_box(all.fold(0, |any, bits| any | bits)) == 0
}

fn base64(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| {
        Some(match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        })
    };
    let mut out = Vec::new();
    for chunk in text.trim_end_matches('=').as_bytes().chunks(4) {
        let mut word = 0_u32;
        for byte in chunk {
            word = word << 6 | u32::from(digit(*byte)?);
        }
        word <<= 6 * (4 - chunk.len());
        out.extend_from_slice(&word.to_be_bytes()[1..chunk.len()]);
    }
    Some(out)
}

/// Refuses what may not ask, and sends answers off with their headers.
pub(crate) async fn check(
    State(guard): State<Arc<Guard>>,
    request: Request,
    next: Next,
) -> Response {
    let is_for_people = pages::is_for_people(&request);
    let mut response = match guard.refusal(&request) {
        None => next.run(request).await,
        Some(refusal) => {
            let is_stranger = refusal.status == StatusCode::UNAUTHORIZED;
            let mut response = refusal.into_response();
            if is_stranger {
                let ask = HeaderValue::from_static("Basic realm=\"lookalike\", charset=\"UTF-8\"");
                response.headers_mut().insert(header::WWW_AUTHENTICATE, ask);
            }
            response
        }
    };
    if is_for_people {
        response = pages::for_people(response);
    }
    let headers = response.headers_mut();
    // What is not of our making is held more tightly.
    let policy = headers.entry(header::CONTENT_SECURITY_POLICY);
    policy.or_insert(HeaderValue::from_static(POLICY));
    for (name, value) in [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        // Nothing to other sites. `no-referrer` would hide our own Origin from us too.
        (header::REFERRER_POLICY, "same-origin"),
        (header::X_FRAME_OPTIONS, "DENY"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    let same = HeaderValue::from_static("same-origin");
    headers.insert("cross-origin-resource-policy", same.clone());
    headers.insert("cross-origin-opener-policy", same);
    // A newer sweep changes every answer; a browser asks again.
    let fresh = HeaderValue::from_static("no-cache");
    headers.entry(header::CACHE_CONTROL).or_insert(fresh);
    response
}

/// Gives up on requests that do not come to an end.
pub(crate) async fn in_time(request: Request, next: Next) -> Response {
    match tokio::time::timeout(WHOLE_REQUEST, next.run(request)).await {
        Ok(response) => response,
        Err(_) => {
            Refusal::new(StatusCode::REQUEST_TIMEOUT, "the request took too long").into_response()
        }
    }
}

/// A path that is there, asked in another way.
pub(crate) async fn wrong_method() -> Refusal {
    Refusal::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "this address is not asked in that way",
    )
    .hint("the header Allow tells how; /api/openapi.json describes all")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_read_back() {
        assert_eq!(base64("dXNlcjpwYXNz").as_deref(), Some(&b"user:pass"[..]));
        assert_eq!(base64("YQ==").as_deref(), Some(&b"a"[..]));
        assert_eq!(base64("YWI=").as_deref(), Some(&b"ab"[..]));
        assert_eq!(base64("a b"), None);
    }

    #[test]
    fn tokens_are_equal_or_not() {
        assert!(is_equal(b"secret", b"secret"));
        assert!(!is_equal(b"secreT", b"secret"));
        assert!(!is_equal(b"", b"secret"));
        assert!(!is_equal(b"secret ", b"secret"));
    }

    #[test]
    fn ports_are_not_part_of_a_name() {
        assert_eq!(name_of("localhost:8080"), "localhost");
        assert_eq!(name_of("[::1]:8080"), "[::1]");
        assert_eq!(name_of("example.org"), "example.org");
    }
}
