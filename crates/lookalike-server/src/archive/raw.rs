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
        let text = snapshot.collection().text(chosen.slot.doc)?;
        let text = text.map_err(|lost| Refusal::not_found(lost.to_string()))?;
        let mut response = text.into_response();
        response
            .headers_mut()
            .insert(header::CONTENT_SECURITY_POLICY, POLICY);
        Ok(chosen.mark(response))
    };
    service.desk.long(work).await
}
