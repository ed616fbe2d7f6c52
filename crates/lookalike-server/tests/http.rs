//! The service over real connections, as a client sees it.

mod archive;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use lookalike::add::{AddOptions, add};
use lookalike::corpus::inputs::Inputs;
use lookalike::corpus::record::Timestamp;
use lookalike_server::{Options, serve};
use serde_json::Value;

const ROSE: &str = "a rose is a rose is a rose and nothing else in the whole wide garden is \
    a rose but what the gardener has called a rose since he was a boy";

/// A collection of three documents and a service for it.
struct Service {
    address: SocketAddr,
    folder: tempfile::TempDir,
}

impl Service {
    /// Nothing yet: neither collection nor service.
    fn new() -> Service {
        Service {
            address: SocketAddr::from(([127, 0, 0, 1], 0)),
            folder: tempfile::tempdir().expect("a folder"),
        }
    }

    fn start(token: Option<&str>) -> Service {
        let service = Service::new();
        service.sweep(&[
            ("http://a.example/rose", ROSE),
            ("http://b.example/rose", &ROSE.replace("boy", "child")),
            ("http://c.example/<b>", "quite another text about the sea and the ships that went out to it and did not come back"),
        ]);
        service.serve(token)
    }

    /// Serves what was added.
    fn serve(self, token: Option<&str>) -> Service {
        let service = self;
        let options = Options {
            listen: service.address,
            token: token.map(str::to_owned),
            hosts: vec!["docs.example.org".to_owned()],
            threads: NonZeroUsize::MIN,
            max_body: 1 << 20,
            key: None,
            search: service.collection().join("search").is_dir(),
        };
        let (send, receive) = mpsc::channel();
        let collection = service.collection();
        std::thread::spawn(move || {
            serve(&collection, &options, |address| {
                send.send(address).expect("somebody waits");
            })
            .expect("it serves");
        });
        let address = receive.recv_timeout(Duration::from_secs(20));
        Service {
            address: address.expect("it listens"),
            ..service
        }
    }

    fn collection(&self) -> std::path::PathBuf {
        self.folder.path().join("c.lk")
    }

    /// Adds documents as a sweep.
    fn sweep(&self, documents: &[(&str, &str)]) {
        self.dated_sweep(documents, None);
    }

    fn dated_sweep(&self, documents: &[(&str, &str)], day: Option<i64>) {
        let mut lines = String::new();
        for (url, text) in documents {
            let line = serde_json::json!({ "url": url, "text": text });
            lines.push_str(&line.to_string());
            lines.push('\n');
        }
        let path = self
            .folder
            .path()
            .join(format!("{}.jsonl", documents[0].0.len()));
        std::fs::write(&path, lines).expect("written");
        self.add(&path, day);
    }

    /// Adds a file as a sweep.
    fn add(&self, path: &Path, day: Option<i64>) {
        let options = AddOptions {
            date: day.map(|day| Timestamp(day * 86_400)),
            memory: 64 << 20,
            ..AddOptions::default()
        };
        self.add_by(path, &options);
    }

    fn add_by(&self, path: &Path, options: &AddOptions) {
        let inputs = Inputs::expand(&[path], &options.reading);
        add(&self.collection(), &inputs, options, &mut |_| {}).expect("added");
    }

    /// Sends a head and a body as they stand.
    fn send(&self, head: &str, body: &[u8]) -> Answer {
        self.exchange(head, body, true)
    }

    /// Sends a head to which only a head is the answer.
    fn send_head(&self, head: &str) -> Answer {
        self.exchange(head, b"", false)
    }

    fn exchange(&self, head: &str, body: &[u8], has_body: bool) -> Answer {
        let mut stream = TcpStream::connect(self.address).expect("a connection");
        stream
            .set_read_timeout(Some(Duration::from_secs(20)))
            .expect("a time-out");
        stream.write_all(head.as_bytes()).expect("sent");
        // A refused body is not read to its end.
        let _ = stream.write_all(body);
        let mut reader = BufReader::new(stream);
        let mut status = String::new();
        reader.read_line(&mut status).expect("a status");
        let status = status.split(' ').nth(1).and_then(|code| code.parse().ok());
        let mut headers = Vec::new();
        let mut length = 0;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).expect("a header");
            let Some((name, value)) = line.trim_end().split_once(": ") else {
                break;
            };
            if name == "content-length" && has_body {
                length = value.parse().expect("a number");
            }
            headers.push((name.to_owned(), value.to_owned()));
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).expect("a body");
        Answer {
            status: status.expect("a status"),
            headers,
            body: String::from_utf8(body).expect("text"),
        }
    }

    fn get(&self, path: &str) -> Answer {
        self.send(
            &format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n"),
            b"",
        )
    }

    fn post(&self, path: &str, kind: &str, body: &[u8]) -> Answer {
        let length = body.len();
        self.send(
            &format!("POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n"),
            body,
        )
    }
}

struct Answer {
    status: u16,
    headers: Vec<(String, String)>,
    body: String,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("no JSON: {}", self.body))
    }

    fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }
}

#[test]
fn a_document_is_found_by_its_text_and_by_its_address() {
    let service = Service::start(None);
    let posted = service.post("/api/v1/find", "text/plain", ROSE.as_bytes());
    assert_eq!(posted.status, 200, "{}", posted.body);
    let matches = &posted.json()["matches"];
    assert_eq!(matches[0]["url"], "http://a.example/rose");
    assert_eq!(matches[0]["grade"], "identical");
    assert_eq!(matches[1]["url"], "http://b.example/rose");
    assert_eq!(matches[1]["grade"], "similar");
    assert!(matches[1]["resemblance"]["samples"].as_u64() > Some(10));
    let named = service.get("/api/v1/find?url=http://b.example/rose&top=1&exact=true");
    let named = named.json();
    assert_eq!(named["matches"].as_array().map(Vec::len), Some(1));
    assert_eq!(named["matches"][0]["resemblance"]["exact"], 1.0);
    assert_eq!(service.get("/api/v1/find?url=nobody").status, 404);
    for wrong in [
        "",
        "?url=x&top=0",
        "?url=x&top=x",
        "?url=x&min_resemblance=2",
        "?url=x&min_containment=NaN",
    ] {
        assert_eq!(
            service.get(&format!("/api/v1/find{wrong}")).status,
            400,
            "{wrong}"
        );
    }
    let nothing = service.post("/api/v1/find", "text/plain", b" ... ");
    assert_eq!(nothing.status, 422, "{}", nothing.body);
}

#[test]
fn objects_are_found_by_their_features() {
    use lookalike::core::canonical::TokenKind;
    use lookalike::core::shingle::Width;
    let service = Service::new();
    let path = service.folder.path().join("features.jsonl");
    let line = |id: &str, from: u32| {
        let features: Vec<String> = (from..from + 40).map(|i| format!("part {i}")).collect();
        format!(
            "{}\n",
            serde_json::json!({ "id": id, "features": features })
        )
    };
    std::fs::write(&path, line("one", 0) + &line("two", 10) + &line("far", 500)).expect("written");
    let mut options = AddOptions::default();
    options.recipe.tokens = TokenKind::Feature;
    options.recipe.width = Width::MIN;
    options.reading.tokens = TokenKind::Feature;
    service.add_by(&path, &options);
    let service = service.serve(None);
    let asked = line("asked", 5);
    let found = service.post("/api/v1/find", "text/plain", asked.as_bytes());
    assert_eq!(found.status, 200, "{}", found.body);
    let found = found.json();
    let ids: Vec<_> = found["matches"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| &one["id"])
        .collect();
    assert_eq!(ids, ["one", "two"]);
    // 35 of 45, all of them counted.
    let value = found["matches"][0]["resemblance"]["value"].as_f64();
    assert!(
        (value.expect("a value") - 35.0 / 45.0).abs() < 1e-3,
        "{found}"
    );
    assert_eq!(service.get("/api/v1/find?url=one").status, 200);
    assert_eq!(service.get("/").status, 200);
    // Weights that nothing would count are refused, not dropped.
    let weights = br#"{"features":{"part 1":2}}"#;
    assert_eq!(
        service.post("/api/v1/find", "text/plain", weights).status,
        422
    );
}

#[test]
fn weights_are_compared_as_weights() {
    use lookalike::core::canonical::TokenKind;
    use lookalike::core::permutation::Family;
    use lookalike::core::recipe::SketchKind;
    use lookalike::core::shingle::Width;
    let lines = r#"{"id":"a","features":{"red":2,"blue":0.5,"two\nlines":1}}
{"id":"b","features":{"red":1,"blue":0.5,"two\nlines":3}}
"#;
    for keep_text in [false, true] {
        let service = Service::new();
        let path = service.folder.path().join("weights.jsonl");
        std::fs::write(&path, lines).expect("written");
        let mut options = AddOptions {
            keep_text,
            ..AddOptions::default()
        };
        options.recipe.tokens = TokenKind::Feature;
        options.recipe.width = Width::MIN;
        options.recipe.sketch = SketchKind::Perm {
            samples: 256,
            family: Family::Weighted,
        };
        options.reading.tokens = TokenKind::Feature;
        service.add_by(&path, &options);
        let service = service.serve(None);
        let body = serde_json::json!({ "a": { "doc": 0 }, "b": { "text": lines.lines().nth(1) } });
        let posted = br#"{"a":{"url":"a"},"b":{"features":{"red":1,"blue":0.5,"two\nlines":3}}}"#;
        let twice = br#"{"a":{"url":"a"},"b":{"features":{"red":1,"red":2}}}"#;
        let refused = service.post("/api/v1/compare", "application/json", twice);
        assert_eq!(refused.status, 422, "{}", refused.body);
        for compared in [
            service.get("/api/v1/compare?a=a&b=b"),
            service.post("/api/v1/compare", "application/json", posted),
            service.post(
                "/api/v1/compare",
                "application/json",
                body.to_string().as_bytes(),
            ),
        ] {
            assert_eq!(compared.status, 200, "{}", compared.body);
            let compared = compared.json();
            // 1 + 0.5 + 1 of 2 + 0.5 + 3.
            for (measure, value) in [("resemblance", 2.5 / 5.5), ("a_in_b", 2.5 / 3.5)] {
                let exact = compared[measure]["exact"].as_f64().expect("a value");
                assert!((exact - value).abs() < 1e-12, "{compared}");
            }
            assert_eq!(
                compared["shingles"],
                serde_json::json!({ "a": 3, "b": 3, "common": 3 })
            );
            assert_eq!(
                compared["weights"],
                serde_json::json!({ "a": 3.5, "b": 4.5, "common": 2.5 })
            );
        }
        let page = service.get("/pair?a=0&b=1");
        assert!(page.body.contains("45.45 %"), "{}", page.body);
        assert!(page.body.contains("3 shingles in common"), "{}", page.body);
    }
}

#[test]
fn two_documents_are_compared() {
    let service = Service::start(None);
    let body =
        serde_json::json!({ "a": { "text": ROSE }, "b": { "url": "http://b.example/rose" } });
    let compared = service.post(
        "/api/v1/compare",
        "application/json",
        body.to_string().as_bytes(),
    );
    assert_eq!(compared.status, 200, "{}", compared.body);
    let features = br#"{"a":{"features":["rose"]},"b":{"doc":0}}"#;
    let refused = service.post("/api/v1/compare", "application/json", features);
    assert_eq!(refused.status, 422, "{}", refused.body);
    let exact = compared.json()["resemblance"]["exact"].as_f64();
    assert!(exact.is_some_and(|r| (0.8..1.0).contains(&r)), "{exact:?}");
    let page = service.get("/pair?a=0&b=1");
    assert_eq!(page.status, 200);
    assert!(page.body.contains("<mark class=\"c1\" data-p=\"1\">"));
    let posted = service.post(
        "/pair",
        "application/x-www-form-urlencoded",
        b"b=1&text=a+rose+is+a+rose+is+a+rose+and+nothing+else+in+the+whole+wide+garden",
    );
    assert!(posted.body.contains("<mark"), "{}", posted.body);
    // The source is gone: a page that says so.
    for file in std::fs::read_dir(service.folder.path()).expect("a folder") {
        let path = file.expect("a file").path();
        if path.is_file() {
            std::fs::remove_file(path).expect("removed");
        }
    }
    let gone = service.get("/pair?a=0&b=1");
    assert_eq!(gone.status, 409);
    assert!(gone.body.contains("cannot be shown again"), "{}", gone.body);
}

#[test]
fn clusters_and_their_members_are_told() {
    let service = Service::start(None);
    let board = service.get("/api/v1/clusters").json();
    assert_eq!(board["total"], 1);
    assert_eq!(board["clusters"][0]["hosts"][1], "b.example");
    let cluster = service.get("/api/v1/clusters/0").json();
    assert_eq!(
        cluster["members"][1]["joined"]["to"],
        cluster["members"][0]["doc"]
    );
    assert_eq!(
        service.get("/api/v1/clusters?host=b.example").json()["total"],
        1
    );
    assert_eq!(
        service.get("/api/v1/clusters?host=c.example").json()["total"],
        0
    );
    assert_eq!(service.get("/api/v1/clusters?flag=odd").status, 400);
    assert_eq!(service.get("/api/v1/clusters/2").status, 404);
    let members = service
        .get("/api/v1/members?url=http://a.example/rose")
        .json();
    assert_eq!(members["size"], 2);
    for page in [
        "/",
        "/clusters",
        "/clusters/0",
        "/documents/2",
        "/lookup?doc=0",
    ] {
        let page_of = service.get(page);
        assert_eq!(page_of.status, 200, "{page}: {}", page_of.body);
        assert!(!page_of.body.contains("<b>"), "{page}");
    }
    assert!(
        service
            .get("/documents/2")
            .body
            .contains("c.example/&#60;b&#62;")
    );
}

#[test]
fn only_those_who_may_are_answered() {
    let service = Service::start(Some("secret"));
    assert_eq!(service.get("/healthz").status, 200);
    let stranger = service.get("/");
    assert_eq!(stranger.status, 401);
    assert!(stranger.header("www-authenticate").is_some());
    let ask = |host: &str, more: &str| {
        let head = format!("GET /api/v1/collection HTTP/1.1\r\nHost: {host}\r\n{more}\r\n");
        service.send(&head, b"").status
    };
    assert_eq!(ask("localhost", "Authorization: Bearer secret\r\n"), 200);
    // user:secret
    assert_eq!(
        ask("[::1]:80", "Authorization: Basic dXNlcjpzZWNyZXQ=\r\n"),
        200
    );
    assert_eq!(
        ask("docs.example.org", "Authorization: Bearer secret\r\n"),
        200
    );
    assert_eq!(ask("localhost", "Authorization: Bearer secret2\r\n"), 401);
    assert_eq!(ask("evil.example", "Authorization: Bearer secret\r\n"), 421);
    assert_eq!(
        ask(
            "localhost\r\nHost: localhost",
            "Authorization: Bearer secret\r\n"
        ),
        400
    );
}

#[test]
fn what_is_too_large_is_refused_by_its_decoded_size() {
    let service = Service::start(None);
    let head =
        "POST /api/v1/find HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1099511627776\r\n\r\n";
    assert_eq!(service.send(head, b"").status, 413);
    let long = vec![b'a'; (1 << 20) + 1];
    assert_eq!(
        service.post("/api/v1/find", "text/plain", &long).status,
        413
    );
    assert_eq!(
        service
            .post("/lookup", "multipart/form-data; boundary=x", &long)
            .status,
        413
    );
}

#[test]
fn a_new_sweep_is_seen_without_a_restart() {
    let service = Service::start(None);
    assert_eq!(service.get("/api/v1/collection").json()["generation"], 1);
    service.sweep(&[(
        "http://d.example/a-new-page",
        "a page that came later and speaks of nothing that was there before it",
    )]);
    let seen = (0..100).any(|_| {
        std::thread::sleep(Duration::from_millis(50));
        service.get("/api/v1/collection").json()["generation"] == 2
    });
    assert!(seen);
    assert_eq!(
        service
            .get("/api/v1/find?url=http://d.example/a-new-page")
            .status,
        200
    );
    // Pages of the first sweep are gone; one that is there leads to itself.
    let there = service.get("/found/http://d.example/a-new-page");
    assert_eq!(
        (there.status, there.header("location")),
        (302, Some("http://d.example/a-new-page"))
    );
    assert_eq!(service.get("/found/http://a.example/rose").status, 404);
    assert_eq!(service.get("/found/http://nobody.example/").status, 404);
}

#[test]
fn a_page_is_where_it_was_seen_last() {
    let service = Service::start(None);
    let moved =
        "a page that moved from its old address to a new one and kept nearly all of its words";
    // The later sweep is added first.
    service.dated_sweep(
        &[
            ("http://a.example/new", moved),
            ("http://a.example/日", moved),
        ],
        Some(200),
    );
    service.dated_sweep(
        &[("http://a.example/older", &format!("{moved} on the way"))],
        Some(100),
    );
    let seen = (0..100).any(|_| {
        std::thread::sleep(Duration::from_millis(50));
        service.get("/api/v1/collection").json()["generation"] == 3
    });
    assert!(seen);
    let to = |path: &str| {
        let answer = service.get(path);
        (answer.status, answer.header("location").map(str::to_owned))
    };
    let new = Some("http://a.example/new".to_owned());
    // Two places have the same text: which is meant is not for us to say.
    assert_eq!(to("/found/http://a.example/older"), (300, new.clone()));
    let preferred = to("/found/http://a.example/older?prefer=newest");
    assert_eq!(preferred, (302, new.clone()));
    let told = service
        .get("/api/v1/where?url=http://a.example/older")
        .json();
    assert_eq!(told["status"], "moved");
    assert_eq!(told["tie"], true);
    assert_eq!(told["now"].as_array().expect("places").len(), 2);
    assert_eq!(to("/found/http://a.example/new"), (302, new));
    let encoded = (302, Some("http://a.example/%E6%97%A5".to_owned()));
    assert_eq!(to("/found/http://a.example/%E6%97%A5"), encoded);
    assert_eq!(to("/found/http%3A%2F%2Fa.example%2F%E6%97%A5"), encoded);
}

#[test]
fn a_page_that_became_part_of_a_longer_one_leads_there() {
    let service = Service::start(None);
    let words = |name: &str, count: u32| {
        let words: Vec<String> = (0..count).map(|i| format!("{name}{i}")).collect();
        words.join(" ")
    };
    let (part, rest) = (words("part", 60), words("rest", 400));
    service.dated_sweep(&[("http://a.example/part", &part)], Some(100));
    let whole = format!("{rest} {part}");
    service.dated_sweep(&[("http://a.example/handbook", &whole)], Some(200));
    let seen = (0..100).any(|_| {
        std::thread::sleep(Duration::from_millis(50));
        service.get("/api/v1/collection").json()["generation"] == 3
    });
    assert!(seen);
    let told = service.get("/api/v1/where?url=http://a.example/part");
    let told = told.json();
    assert_eq!(
        (&told["status"], &told["now"][0]["how"]),
        (&"moved".into(), &"folded".into())
    );
    // Not a page of its own any more, but the place to look.
    assert!(
        told["confidence"].as_f64().is_some_and(|sure| sure < 0.5),
        "{told}"
    );
    let there = service.get("/found/http://a.example/part");
    assert_eq!(
        (there.status, there.header("location")),
        (302, Some("http://a.example/handbook"))
    );
}

#[test]
fn answers_carry_their_policy() {
    let service = Service::start(None);
    for path in [
        "/",
        "/api/v1/collection",
        "/nowhere",
        "/static/style.css",
        "/api/openapi.json",
    ] {
        let answer = service.get(path);
        let policy = answer.header("content-security-policy").expect("a policy");
        assert!(!policy.contains("unsafe"), "{path}");
        assert_eq!(
            answer.header("x-content-type-options"),
            Some("nosniff"),
            "{path}"
        );
        assert!(
            answer
                .headers
                .iter()
                .all(|(name, _)| !name.starts_with("access-control"))
        );
    }
    let wrong = service.send(
        "DELETE /api/v1/find HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"",
    );
    assert_eq!(wrong.status, 405);
    assert_eq!(wrong.header("allow"), Some("GET,HEAD,POST"));
}

#[test]
fn changes_and_histories_are_told() {
    let service = Service::start(None);
    let one = service.get("/changes");
    assert!(one.body.contains("Changes need two sweeps"), "{}", one.body);
    let sea =
        "quite another text about the sea and the ships that went out to it and did not come back";
    let newer = ROSE.replace("whole wide", "little");
    service.dated_sweep(
        &[
            ("http://a.example/rose", newer.as_str()),
            ("http://c.example/moved", sea),
        ],
        Some(20_000),
    );
    // The service looks for a newer generation twice a second.
    let told = (0..100).find_map(|_| {
        std::thread::sleep(Duration::from_millis(100));
        let told = service.get("/api/v1/changes").json();
        (told["sweeps"].as_array().map(Vec::len) == Some(2)).then_some(told)
    });
    let told = told.expect("two sweeps");
    let interval = &told["intervals"][0];
    assert_eq!(
        (&interval["from"], &interval["to"]),
        (&"sweep 1".into(), &"2024-10-04".into())
    );
    assert_eq!(interval["changed"], 1);
    assert_eq!(interval["moved_within_host"], 1);
    assert_eq!(interval["not_visited"], 1);
    assert_eq!(told["lifetime"]["unit"], "sweeps");
    let only = service.get("/api/v1/changes?host=c.example").json();
    assert_eq!(only["intervals"][0]["changed"], 0);
    assert_eq!(service.get("/api/v1/changes?host=nowhere").status, 404);

    let history = service
        .get("/api/v1/history?url=http://a.example/rose")
        .json();
    assert_eq!(history["captures"][0]["change"], "first");
    assert_eq!(history["captures"][1]["change"], "changed");
    assert!(history["captures"][1]["resemblance"]["samples"].as_u64() > Some(10));
    assert_eq!(service.get("/api/v1/history?url=nobody").status, 404);
    assert_eq!(service.get("/api/v1/history").status, 400);
    for page in [
        "/changes",
        "/changes?host=c.example",
        "/history",
        "/history?url=http://a.example/rose",
        "/history?url=http://c.example/%3Cb%3E",
    ] {
        let page_of = service.get(page);
        assert_eq!(page_of.status, 200, "{page}: {}", page_of.body);
        assert!(!page_of.body.contains("<b>"), "{page}");
        assert!(!page_of.body.contains("style=\""), "{page}");
    }
    assert_eq!(service.get("/history?url=nobody").status, 404);
}

#[test]
fn results_are_collapsed() {
    let service = Service::start(None);
    let ask = |body: &str| service.post("/api/v1/collapse", "application/json", body.as_bytes());
    let body = serde_json::json!({ "results": [
        { "url": "http://c.example/<b>", "title": "sea" },
        "http://b.example/rose",
        { "url": "http://x.example/copy", "text": ROSE },
        { "url": "http://a.example/rose" },
        { "url": "http://x.example/other" },
    ] });
    let told = ask(&body.to_string()).json();
    let groups = told["groups"].as_array().expect("groups");
    assert_eq!(groups.len(), 3, "{told}");
    assert_eq!(groups[0]["url"], "http://c.example/<b>");
    assert_eq!(groups[0]["fields"]["title"], "sea");
    assert_eq!(groups[1]["rank"], 2);
    let also = groups[1]["also"].as_array().expect("others");
    assert_eq!(also.len(), 2);
    assert_eq!(also[1]["rank"], 4);
    assert_eq!(groups[2]["cluster"], Value::Null);
    assert_eq!((&told["results"], &told["unknown"]), (&5.into(), &2.into()));

    assert_eq!(
        ask(r#"{"results":[]}"#).json()["groups"],
        serde_json::json!([])
    );
    let refused = |body: &str, status: u16, says: &str| {
        let answer = ask(body);
        assert_eq!(answer.status, status, "{body}: {}", answer.body);
        assert!(answer.body.contains(says), "{body}: {}", answer.body);
    };
    refused("", 400, "not what is asked for");
    refused(r#"{"results":[{}]}"#, 400, "result 1: it has neither");
    refused(r#"{"results":[{"url":5}]}"#, 400, "`url` is not a string");
    refused(r#"{"results":[],"show":"best"}"#, 400, "representative");
    refused(r#"{"results":[],"policy":"x"}"#, 404, "no such clustering");
    let many = serde_json::json!({ "results": vec!["http://a.example/rose"; 10_001] });
    refused(&many.to_string(), 413, "more than 10,000 results");
    let texts = serde_json::json!({ "results": vec![serde_json::json!({ "text": "x" }); 1001] });
    refused(&texts.to_string(), 413, "more than 1,000 texts");
    assert_eq!(service.get("/api/v1/collapse").status, 405);
}

#[test]
fn who_holds_a_text_is_told() {
    let service = Service::new();
    let page = format!("{ROSE} and by whoever may write to me@b.example");
    service.sweep(&[
        ("http://a.example/rose", ROSE),
        ("http://b.example/rose", &page),
        ("http://c.example/rose", &ROSE.replace("wide garden", "wide park")),
        ("http://d.example/sea", "quite another text about the sea and the ships that went out to it and did not come back"),
    ]);
    let service = service.serve(None);
    let answer = service
        .get("/api/v1/copies?url=http://a.example/rose")
        .json();
    let told = |answer: &Value| -> Vec<(String, String, u64)> {
        let copies = answer["copies"].as_array().expect("a list");
        let text = |copy: &Value, name: &str| copy[name].as_str().expect("a text").to_owned();
        copies
            .iter()
            .map(|copy| {
                (
                    text(copy, "host"),
                    text(copy, "kind"),
                    copy["version"].as_u64().expect("a number"),
                )
            })
            .collect()
    };
    let held = |host: &str, kind: &str, version| (host.to_owned(), kind.to_owned(), version);
    assert_eq!(
        told(&answer),
        [
            held("b.example", "full", 1),
            held("c.example", "altered", 2)
        ]
    );
    assert_eq!(
        answer["copies"][0]["contacts"],
        serde_json::json!(["me@b.example"])
    );
    assert_eq!(answer["versions"][1]["changes"][0]["copy"], "park");
    let posted = service
        .post("/api/v1/copies", "text/plain", ROSE.as_bytes())
        .json();
    assert_eq!(told(&posted)[0], held("a.example", "identical", 1));
    let page = service.get("/copies?url=http://a.example/rose");
    assert_eq!(page.status, 200);
    assert!(page.body.contains("“garden” → “park”"), "{}", page.body);
    assert!(page.body.contains("me@b.example"));
    assert_eq!(service.get("/copies").status, 200);
    assert_eq!(
        service.get("/copies?url=http://nobody.example/").status,
        404
    );
    assert_eq!(service.get("/api/v1/copies").status, 400);
    assert_eq!(
        service
            .get("/api/v1/copies?url=http://a.example/rose&min_containment=2")
            .status,
        400
    );
}

#[test]
fn words_are_found_one_place_for_each_cluster() {
    let service = Service::new();
    service.sweep(&[
        ("http://a.example/rose", ROSE),
        ("http://b.example/rose", &ROSE.replace("boy", "child")),
        (
            "http://c.example/<b>",
            "<b>a rose</b> & the <script>alert(1)</script> sea, as text and not as a page",
        ),
    ]);
    let collection = lookalike::collection::Collection::open(&service.collection());
    let collection = collection.expect("a collection");
    lookalike::search::build(&collection, 64 << 20, |_| {}).expect("an index");
    let service = service.serve(None);
    let told = service.get("/api/v1/search?q=rose").json();
    assert_eq!(told["total"], 3);
    let groups = told["groups"].as_array().expect("groups");
    assert_eq!(groups.len(), 2, "{told}");
    let roses = groups
        .iter()
        .find(|group| group["cluster"] == 0)
        .expect("a cluster");
    assert_eq!(roses["also"].as_array().map(Vec::len), Some(1));
    assert_eq!(
        service.get("/api/v1/search?q=rose%20-garden").json()["total"],
        1
    );
    assert_eq!(service.get("/api/v1/search?q=%22(((").json()["total"], 0);
    assert_eq!(service.get("/api/v1/search").status, 400);
    assert_eq!(service.get("/api/v1/search?q=a&top=0").status, 400);
    let long = "x".repeat(1001);
    assert_eq!(service.get(&format!("/api/v1/search?q={long}")).status, 400);
    let page = service.get("/search?q=rose+sea");
    assert_eq!(page.status, 200);
    assert!(
        !page.body.contains("<script>alert") && !page.body.contains("<b>"),
        "{}",
        page.body
    );
    assert!(page.body.contains("<mark>rose</mark>"), "{}", page.body);
    assert!(
        service
            .get("/search?q=rose")
            .body
            .contains("1 more like this")
    );
    assert_eq!(service.get("/search").status, 200);

    // A sweep that is not indexed: no answer is better than half of one.
    service.sweep(&[(
        "http://d.example/",
        "quite another text about roses that nobody has read so far",
    )]);
    let behind = (0..100).any(|_| {
        std::thread::sleep(Duration::from_millis(50));
        service.get("/api/v1/search?q=rose").status == 409
    });
    assert!(behind);
    let collection = lookalike::collection::Collection::open(&service.collection());
    let collection = collection.expect("a collection");
    lookalike::search::build(&collection, 64 << 20, |_| {}).expect("an index");
    assert_eq!(service.get("/api/v1/search?q=roses").json()["total"], 1);
}

#[test]
fn there_is_no_search_unless_it_is_asked_for() {
    let service = Service::start(None);
    assert_eq!(service.get("/api/v1/search?q=rose").status, 404);
    let page = service.get("/search?q=rose");
    assert_eq!(page.status, 200);
    assert!(page.body.contains("--search"), "{}", page.body);
}
