//! Why a request gets no answer: a status, one line, and the way out.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use lookalike::corpus::unusable::Unusable;
use lookalike::storage::StorageError;
use serde_json::json;

/// What is said in place of an answer.
#[derive(Clone, Debug)]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    pub(crate) message: String,
    pub(crate) hint: String,
}

impl Refusal {
    pub(crate) fn new(status: StatusCode, message: impl Into<String>) -> Refusal {
        Refusal {
            status,
            message: message.into(),
            hint: String::new(),
        }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Refusal {
        self.hint = hint.into();
        self
    }

    pub(crate) fn bad(message: impl Into<String>) -> Refusal {
        Refusal::new(StatusCode::BAD_REQUEST, message)
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Refusal {
        Refusal::new(StatusCode::NOT_FOUND, message)
    }

    pub(crate) fn too_large(limit: usize) -> Refusal {
        let message = format!(
            "the body is longer than {}",
            crate::words::bytes(limit as u64)
        );
        Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, message)
            .hint("the limit counts decoded bytes; --max-body raises it")
    }

    /// More waits than can be done.
    pub(crate) fn full() -> Refusal {
        Refusal::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "too many requests wait for their turn",
        )
        .hint("try again in a second")
    }

    pub(crate) fn broken(message: impl Into<String>) -> Refusal {
        Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, message)
    }
}

impl From<StorageError> for Refusal {
    fn from(error: StorageError) -> Refusal {
        eprintln!("error: {error}");
        Refusal::broken(format!("the collection cannot be read: {error}"))
            .hint("`lookalike verify` tells what is damaged")
    }
}

impl From<Unusable> for Refusal {
    fn from(why: Unusable) -> Refusal {
        Refusal::new(StatusCode::UNPROCESSABLE_ENTITY, why.to_string())
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let mut body = json!({ "error": self.message });
        if !self.hint.is_empty() {
            body["hint"] = json!(self.hint);
        }
        let mut response = (self.status, Json(body)).into_response();
        if self.status == StatusCode::SERVICE_UNAVAILABLE {
            let headers = response.headers_mut();
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        // For those who ask with a browser it is drawn as a page on its way out.
        response.extensions_mut().insert(self);
        response
    }
}
