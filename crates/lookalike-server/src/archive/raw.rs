//! The bytes of a capture, as they were served.

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};

use super::memento::{Chosen, nearest};
use super::{Site, index_of};
use crate::Shared;
use crate::refusal::Refusal;

/// What a browser may do with them in our name: nothing.
const POLICY: HeaderValue = HeaderValue::from_static("sandbox; default-src 'none'");

/// What must be known to read the bytes; the other headers they were served with are told
/// under names that mean nothing to a browser, as the Wayback Machine tells them.
const OWN: [HeaderName; 2] = [header::CONTENT_TYPE, header::CONTENT_ENCODING];
const PREFIX: &str = "X-Archive-Orig-";

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
        let collection = snapshot.collection();
        let sightings = collection.captures_of(chosen.slot.doc)?;
        let sighting = sightings
            .get(chosen.slot.nth as usize)
            .or(sightings.first());
        let sighting = sighting.ok_or_else(|| Refusal::not_found("there is no such capture"))?;
        let raw = collection.raw(sighting)?.map_err(|lost| {
            Refusal::not_found(format!("the bytes of this capture cannot be had: {lost}"))
        })?;
        let mut headers = HeaderMap::new();
        for (name, value) in &raw.headers {
            let Ok(value) = HeaderValue::from_bytes(value) else {
                continue;
            };
            if let Some(own) = OWN
                .iter()
                .find(|own| name.eq_ignore_ascii_case(own.as_str()))
            {
                headers.insert(own, value);
            } else if let Ok(name) = HeaderName::try_from(format!("{PREFIX}{name}")) {
                headers.append(name, value);
            }
        }
        let unknown = HeaderValue::from_static("application/octet-stream");
        headers.entry(header::CONTENT_TYPE).or_insert(unknown);
        headers.insert(header::CONTENT_SECURITY_POLICY, POLICY);
        Ok(chosen.mark((headers, raw.body).into_response()))
    };
    service.desk.long(work).await
}
