//! The protocols of web archives: what each header says, which clients insist on.

use super::{Answer, ROSE, Service};

/// A record as a crawler writes it.
fn record(kind: &str, url: &str, date: &str, content_type: &str, body: &str) -> String {
    let http = format!("HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\n\r\n{body}");
    let profile = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest";
    let more = match kind {
        "revisit" => format!("WARC-Profile: {profile}\r\n"),
        _ => String::new(),
    };
    format!(
        "WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Target-URI: {url}\r\nWARC-Date: {date}\r\n\
         WARC-Payload-Digest: sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ\r\n{more}\
         Content-Type: application/http; msgtype=response\r\nContent-Length: {}\r\n\r\n{http}\r\n\r\n",
        http.len()
    )
}

const URL: &str = "http://a.example/rose//x?y=1;2";

/// Four captures of a page, one of its copy, one of what is like it.
fn archive() -> Service {
    let service = Service::new();
    let page = |text: &str| format!("<title>x</title><script>alert(1)</script><p>{text}</p>");
    let html = "text/html; charset=UTF-8";
    let (rose, child) = (page(ROSE), page(&ROSE.replace("boy", "child")));
    let records = [
        record("response", URL, "2020-01-01T00:00:00Z", html, &rose),
        record("response", URL, "2021-01-01T00:00:00Z", html, &child),
        record(
            "response",
            URL,
            "2021-01-01T00:00:00Z",
            html,
            &page(&ROSE.replace("boy", "man")),
        ),
        record(
            "response",
            "http://b.example/copy",
            "2021-06-01T00:00:00Z",
            html,
            &rose,
        ),
        record(
            "response",
            "http://c.example/<b>",
            "2021-06-01T00:00:00Z",
            html,
            &page("other words of quite another page"),
        ),
        record("response", URL, "2022-01-01T00:00:00.5Z", html, &rose),
    ];
    let path = service.folder.path().join("crawl.warc");
    std::fs::write(&path, records.concat()).expect("written");
    service.add(&path, None);
    service.serve(None)
}

impl Service {
    fn ask(&self, method: &str, path: &str, more: &str) -> Answer {
        let head = format!("{method} {path} HTTP/1.1\r\nHost: localhost:8080\r\n{more}\r\n");
        match method {
            "HEAD" => self.send_head(&head),
            _ => self.send(&head, b""),
        }
    }
}

const BASE: &str = "http://localhost:8080/c";

fn memento(digits: &str, url: &str) -> String {
    format!("{BASE}/{digits}/{}", url.replace(';', "%3B"))
}

#[test]
fn a_time_gate_leads_to_the_nearest_capture() {
    let service = archive();
    for (date, place) in [
        ("", "20220101000000"),
        (
            "Accept-Datetime: Wed, 01 Jan 2020 00:00:00 GMT\r\n",
            "20200101000000",
        ),
        (
            "Accept-Datetime: Tue, 01 Jan 1980 00:00:00 GMT\r\n",
            "20200101000000",
        ),
        (
            "Accept-Datetime: Thu, 01 Apr 2021 00:00:00 GMT\r\n",
            "20210101000000",
        ),
        (
            "Accept-Datetime: Wed, 01 Jan 2031 00:00:00 GMT\r\n",
            "20220101000000",
        ),
    ] {
        for (method, path) in [
            ("GET", "/c/"),
            ("HEAD", "/archive/"),
            ("HEAD", "/timegate/"),
        ] {
            let answer = service.ask(method, &format!("{path}{URL}"), date);
            assert_eq!(answer.status, 302, "{}", answer.body);
            assert_eq!(answer.header("vary"), Some("accept-datetime"));
            assert_eq!(answer.header("memento-datetime"), None);
            let location = answer.header("location").expect("a place");
            let expected = memento(place, URL).replace("/c/", &path.replace("timegate", "c"));
            assert_eq!(location, expected, "{method} {path} {date}");
        }
    }
    let links = service.ask("GET", &format!("/c/{URL}"), "");
    let links = links.header("link").expect("links");
    for link in [
        "<http://a.example/rose//x?y=1%3B2>; rel=\"original\"",
        "/c/timemap/link/http://a.example/rose//x?y=1%3B2>; rel=\"timemap\"; type=\"application/link-format\"",
        "/c/http://a.example/rose//x?y=1%3B2>; rel=\"timegate\"",
        "rel=\"first memento\"; datetime=\"Wed, 01 Jan 2020 00:00:00 GMT\"",
        "rel=\"prev memento\"; datetime=\"Fri, 01 Jan 2021 00:00:00 GMT\"",
        "rel=\"last memento\"; datetime=\"Sat, 01 Jan 2022 00:00:00 GMT\"",
        "<http://b.example/copy>; rel=\"duplicate\"",
    ] {
        assert!(links.contains(link), "{link} is not in {links}");
    }
    let malformed = service.ask(
        "GET",
        &format!("/c/{URL}"),
        "Accept-Datetime: 2020-01-01\r\n",
    );
    assert_eq!(
        (malformed.status, malformed.header("vary")),
        (400, Some("accept-datetime"))
    );
    let unknown = service.ask("GET", "/c/http://nobody.example/", "");
    assert_eq!(
        (unknown.status, unknown.header("vary")),
        (404, Some("accept-datetime"))
    );
    assert_eq!(service.ask("POST", &format!("/c/{URL}"), "").status, 405);
}

#[test]
fn all_captures_of_an_address_are_listed() {
    let service = archive();
    let map = service.get(&format!("/c/timemap/link/{URL}"));
    assert_eq!(map.header("content-type"), Some("application/link-format"));
    let lines: Vec<&str> = map.body.lines().collect();
    assert!(lines[0].contains(
        "; rel=\"self\"; type=\"application/link-format\"; \
         from=\"Wed, 01 Jan 2020 00:00:00 GMT\"; until=\"Sat, 01 Jan 2022 00:00:00 GMT\","
    ));
    assert!(lines[1].contains("rel=\"original\"") && lines[2].contains("rel=\"timegate\""));
    // Two of one second are one.
    assert_eq!(lines.len(), 6, "{}", map.body);
    assert_eq!(
        service
            .get(&format!("/c/timemap/cdxj/{URL}"))
            .body
            .lines()
            .count(),
        4
    );
    let json = service.get(&format!("/c/timemap/json/{URL}"));
    assert!(
        json.body
            .starts_with("{\"urlkey\": \"example,a)/rose/x?y=1;2\""),
        "{}",
        json.body
    );
    assert_eq!(service.get(&format!("/c/timemap/xml/{URL}")).status, 404);
    assert_eq!(
        service.get("/c/timemap/link/http://nobody.example/").status,
        404
    );
}

#[test]
fn a_capture_is_a_page_of_text_that_says_when_it_was() {
    let service = archive();
    let path = |date: &str| format!("/c/{date}/{URL}");
    for method in ["GET", "HEAD"] {
        let page = service.ask(method, &path("20210101000000"), "");
        assert_eq!(page.status, 200, "{}", page.body);
        let date = page.header("memento-datetime");
        assert_eq!(date, Some("Fri, 01 Jan 2021 00:00:00 GMT"));
        let links = page.header("link").expect("links");
        assert!(links.contains("; rel=\"original\""), "{links}");
        assert!(links.contains("rel=\"first prev memento\""), "{links}");
        assert!(links.contains("rel=\"last next memento\""), "{links}");
        assert!(
            links.contains("; rel=\"related\"; title=\"resemblance 0."),
            "{links}"
        );
    }
    let page = service.get(&path("20210101000000"));
    // The one that was read last, and nothing of its markup.
    assert!(page.body.contains("since he was a man"), "{}", page.body);
    assert!(!page.body.contains("<script>alert") && !page.body.contains("<title>x"));
    let elsewhere = service.get(&path("20210701"));
    assert_eq!(elsewhere.status, 302);
    let place = memento("20210101000000", URL);
    let place = place.replace("localhost:8080", "localhost");
    assert_eq!(elsewhere.header("location"), Some(&*place));
    assert_eq!(service.get(&path("20211399")).status, 400);
    let hostile = service.get("/c/20210601000000/http://c.example/%3Cb%3E");
    assert_eq!(hostile.status, 200);
    assert!(!hostile.body.contains("c.example/<b>"));
}

#[test]
fn the_bytes_of_a_capture_are_those_that_were_served_and_run_nowhere() {
    let service = archive();
    let path = |date: &str| format!("/c/{date}id_/{URL}");
    let raw = service.get(&path("20200101000000"));
    assert_eq!(raw.status, 200, "{}", raw.body);
    assert!(
        raw.body
            .starts_with("<title>x</title><script>alert(1)</script><p>a rose is")
    );
    assert_eq!(raw.header("content-type"), Some("text/html; charset=UTF-8"));
    assert_eq!(raw.header("x-content-type-options"), Some("nosniff"));
    let policy = raw.header("content-security-policy").expect("a policy");
    assert!(
        policy.split(';').any(|part| part.trim() == "sandbox"),
        "{policy}"
    );
    let date = raw.header("memento-datetime");
    assert_eq!(date, Some("Wed, 01 Jan 2020 00:00:00 GMT"));
    assert!(
        raw.header("link")
            .is_some_and(|links| links.contains("rel=\"original\""))
    );
    let head = service.ask("HEAD", &path("20200101000000"), "");
    assert_eq!(
        head.header("content-length"),
        Some(&*raw.body.len().to_string())
    );
    let elsewhere = service.ask("HEAD", &path("2020"), "");
    let place = memento("20200101000000id_", URL);
    assert_eq!(elsewhere.header("location"), Some(&*place));
    // An address as some clients quote it.
    let quoted = service.get("/c/20210601000000id_/http%3A//b.example/copy");
    assert_eq!(quoted.body, raw.body);
    std::fs::remove_file(service.folder.path().join("crawl.warc")).expect("removed");
    assert_eq!(service.get(&path("20200101000000")).status, 404);
}

#[test]
fn captures_are_asked_for_in_two_dialects() {
    let service = archive();
    for path in ["/c/cdx", "/c-cdx", "/archive/cdx", "/archive-cdx"] {
        let answer = service.get(&format!("{path}?url=a.example*&limit=1&collapse=urlkey"));
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        assert!(
            answer
                .body
                .starts_with("example,a)/rose/x?y=1;2 20200101000000 {\"url\": \"http://a."),
            "{}",
            answer.body
        );
        assert!(
            !answer.body.contains("resemblance"),
            "the first has none before it"
        );
    }
    let answer = service.get("/c/cdx?url=*.example&output=json&filter==mime:text/html");
    let lines: Vec<serde_json::Value> = answer
        .body
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(lines.len(), 6);
    assert!(lines[1]["resemblance"].as_f64() < Some(1.0));
    assert_eq!(lines[0]["cluster"], lines[4]["cluster"]);
    let one_each = service.get("/cdx/search/cdx?url=*.example&collapse=cluster");
    assert_eq!(one_each.body.lines().count(), 2, "{}", one_each.body);
    let none = service.get("/c/cdx?url=nobody.example");
    assert_eq!(none.status, 404);
    assert!(none.json()["error"].is_string());
    assert_eq!(service.get("/c/cdx?url=a.example*&page=1").status, 400);
    assert_eq!(service.get("/c/cdx?url=nobody.example&page=1").status, 400);
    assert_eq!(service.get("/c/cdx").status, 400);
    assert_eq!(service.get("/c/cdx?url=a&filter=~url:(").status, 400);
    let pages = service
        .get("/c/cdx?url=a.example*&showNumPages=true")
        .json();
    assert_eq!((&pages["pages"], &pages["blocks"]), (&1.into(), &1.into()));
    let wayback = service.get("/cdx/search/cdx?url=nobody.example");
    assert_eq!((wayback.status, &*wayback.body), (200, ""));
    let wayback = service.get("/cdx/search/cdx?url=nobody.example&output=json");
    assert_eq!(wayback.body.trim(), "[]");
    let pages = service.get("/cdx/search/cdx?url=a.example*&showNumPages=true");
    assert_eq!(pages.body.trim(), "1");
    let near = service
        .get("/wayback/available?url=a.example/rose/x?y=1;2&timestamp=2021")
        .json();
    let near = &near["archived_snapshots"]["closest"];
    assert_eq!(near["timestamp"], "20210101000000");
    assert_eq!(near["available"], true);
    let far = service.get("/wayback/available?url=nobody.example").json();
    assert_eq!(far["archived_snapshots"], serde_json::json!({}));
}

#[test]
fn captures_without_a_date_are_in_no_archive() {
    let service = Service::start(None);
    assert_eq!(service.get("/c/http://a.example/rose").status, 404);
    assert_eq!(service.get("/c/cdx?url=a.example/rose").status, 404);
    // The rest of the service is where it was.
    assert_eq!(service.get("/documents/0").status, 200);
    assert_eq!(service.get("/archive").status, 404);
}
