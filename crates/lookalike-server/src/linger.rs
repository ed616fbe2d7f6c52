//! What a client still sends when it was refused is read and thrown away for a while.
//!
//! A connection that closes on somebody who is still sending is reset, and the answer may
//! be lost with it: a browser with a file that is too long would never show why.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use http_body_util::BodyExt;
use hyper::body::{Frame, SizeHint};

/// How long the rest of a body is read, and how much of it.
const TIME: Duration = Duration::from_secs(5);
const BYTES: usize = 256 << 20;

/// A body that is read by whoever answers, and kept.
#[derive(Clone)]
struct Lent(Arc<Mutex<Body>>);

impl Lent {
    fn body(&self) -> MutexGuard<'_, Body> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn drain(mut self) {
        let mut left = BYTES;
        while let Some(Ok(frame)) = self.frame().await {
            let len = frame.data_ref().map_or(0, Bytes::len);
            let Some(less) = left.checked_sub(len) else {
                return;
            };
            left = less;
        }
    }
}

impl HttpBody for Lent {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut *self.body()).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body().is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body().size_hint()
    }
}

/// Answers, and then hears a refused client out.
pub(crate) async fn linger(request: Request, next: Next) -> Response {
    if request.body().is_end_stream() {
        return next.run(request).await;
    }
    let (parts, body) = request.into_parts();
    let body = Lent(Arc::new(Mutex::new(body)));
    let lent = Body::new(body.clone());
    let response = next.run(Request::from_parts(parts, lent)).await;
    if response.status().is_client_error() && !body.is_end_stream() {
        // The connection goes on for as long as this does.
        tokio::spawn(tokio::time::timeout(TIME, body.drain()));
    }
    response
}
