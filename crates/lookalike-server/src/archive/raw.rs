//! The bytes of a capture, as they were served.

use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};

use super::memento::{Chosen, nearest};
use super::{Site, index_of};
use crate::Shared;
use crate::refusal::Refusal;

/// What a browser may do with them in our name: nothing.
const POLICY: HeaderValue = HeaderValue::from_static("sandbox; default-src 'none'");

/// The bytes, under their own type. A browser that shows them runs nothing and takes them
/// for a site of its own.
pub(super) async fn raw(
    service: Shared,
    site: Site,
    date: &str,
    url: &str,
) -> Result<Response, Refusal> {
    let (date, url) = (date.to_owned(), url.to_owned());
    let snapshot = service.newest.snapshot();
    index_of(&service, &snapshot).await?;
    let work = move || {
        let chosen = match Chosen::find(&snapshot, &site, &date, &url)? {
            Ok(chosen) => chosen,
            Err(other) => return nearest(&site, "id_", &other),
        };
        let raw = lookalike::archive::raw::raw(snapshot.collection(), chosen.slot.doc)?;
        let raw = raw.map_err(|lost| {
            Refusal::not_found(format!("the bytes of this capture cannot be had: {lost}"))
        })?;
        let kind = raw.content_type.and_then(|kind| kind.parse().ok());
        let kind = kind.unwrap_or(HeaderValue::from_static("application/octet-stream"));
        let headers = [
            (header::CONTENT_TYPE, kind),
            (header::CONTENT_SECURITY_POLICY, POLICY),
        ];
        Ok(chosen.mark((headers, raw.bytes).into_response()))
    };
    service.desk.long(work).await
}
