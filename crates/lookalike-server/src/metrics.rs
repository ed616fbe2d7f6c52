//! `/healthz` and `/metrics`: whether it runs, and what it did, for Prometheus.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use axum::Router;
use axum::extract::{MatchedPath, Request, State};
use axum::http::header;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use crate::Shared;

/// Upper ends of the histogram, in seconds.
const BUCKETS: [f64; 8] = [0.0005, 0.001, 0.0025, 0.01, 0.05, 0.25, 1.0, 10.0];

/// What the service counts.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    routes: Mutex<BTreeMap<(String, u16), u64>>,
    buckets: [AtomicU64; BUCKETS.len()],
    requests: AtomicU64,
    nanoseconds: AtomicU64,
}

impl Metrics {
    fn add(&self, route: &str, status: u16, seconds: f64) {
        let mut routes = self.routes.lock().unwrap_or_else(PoisonError::into_inner);
        *routes.entry((route.to_owned(), status)).or_insert(0) += 1;
        drop(routes);
        for (count, _) in self
            .buckets
            .iter()
            .zip(BUCKETS)
            .filter(|(_, end)| seconds <= *end)
        {
            count.fetch_add(1, Ordering::Relaxed);
        }
        self.requests.fetch_add(1, Ordering::Relaxed);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "seconds of one request"
        )]
        let nanoseconds = (seconds * 1e9) as u64;
        self.nanoseconds.fetch_add(nanoseconds, Ordering::Relaxed);
    }
}

/// Counts a request and how long it took.
pub(crate) async fn count(State(service): State<Shared>, request: Request, next: Next) -> Response {
    let asked = Instant::now();
    // The pattern, not the path: there are few of them, whatever is asked.
    let route = request.extensions().get::<MatchedPath>();
    let route = route.map_or("other", MatchedPath::as_str).to_owned();
    let response = next.run(request).await;
    let seconds = asked.elapsed().as_secs_f64();
    service
        .metrics
        .add(&route, response.status().as_u16(), seconds);
    response
}

pub(crate) fn routes() -> Router<Shared> {
    Router::new()
        .route("/healthz", get(async || "ok\n"))
        .route("/metrics", get(metrics))
}

async fn metrics(State(service): State<Shared>) -> impl IntoResponse {
    let counted = &service.metrics;
    let mut out = String::new();
    let mut family = |name: &str, kind: &str, help: &str, lines: &[(String, String)]| {
        let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
        for (labels, value) in lines {
            let _ = writeln!(out, "{name}{labels} {value}");
        }
    };
    let routes = counted
        .routes
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    let lines: Vec<(String, String)> = routes
        .iter()
        .map(|((route, status), count)| {
            let labels = format!("{{route=\"{route}\",status=\"{status}\"}}");
            (labels, count.to_string())
        })
        .collect();
    drop(routes);
    let help = "Requests answered, by route and status.";
    family("lookalike_requests_total", "counter", help, &lines);
    let load = |count: &AtomicU64| count.load(Ordering::Relaxed).to_string();
    let mut lines: Vec<(String, String)> = BUCKETS
        .iter()
        .zip(&counted.buckets)
        .map(|(end, count)| (format!("_bucket{{le=\"{end}\"}}"), load(count)))
        .collect();
    let requests = load(&counted.requests);
    let seconds = counted.nanoseconds.load(Ordering::Relaxed) as f64 / 1e9;
    lines.push(("_bucket{le=\"+Inf\"}".to_owned(), requests.clone()));
    lines.push(("_sum".to_owned(), seconds.to_string()));
    lines.push(("_count".to_owned(), requests));
    let help = "How long requests took.";
    family("lookalike_request_seconds", "histogram", help, &lines);
    let snapshot = service.newest.snapshot();
    let collection = snapshot.collection();
    for (name, help, value) in [
        (
            "lookalike_documents",
            "Documents of the collection.",
            u64::from(collection.documents()),
        ),
        (
            "lookalike_sweeps",
            "Sweeps of the collection.",
            collection.state().sweeps.len() as u64,
        ),
        (
            "lookalike_generation",
            "The generation that is served.",
            collection.manifest().generation(),
        ),
    ] {
        family(name, "gauge", help, &[(String::new(), value.to_string())]);
    }
    if let Some(bytes) = snapshot.index_bytes() {
        let help = "Memory of the captures in order, once they were asked for.";
        let lines = [(String::new(), bytes.to_string())];
        family("lookalike_capture_index_bytes", "gauge", help, &lines);
    }
    if let Some(bytes) = resident() {
        let help = "Resident memory apart from mapped files.";
        let lines = [(String::new(), bytes.to_string())];
        family("lookalike_resident_bytes", "gauge", help, &lines);
    }
    let kind = "text/plain; version=0.0.4; charset=utf-8";
    ([(header::CONTENT_TYPE, kind)], out)
}

/// Resident memory that is not of files, where the system tells.
fn resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("RssAnon:"))?;
    let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes << 10)
}
