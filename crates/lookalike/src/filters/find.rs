//! Which documents a filter takes for a given one: one pass over all features.

use lookalike_core::sketcher::Sketcher;

use super::truth::{host, host_key};
use super::{Filtered, Spec};
use crate::corpus::document::Document;
use crate::storage::StorageError;

/// A document that the filter takes for the one looked for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Fungible {
    /// Its number.
    pub doc: u32,
    /// How many features they share.
    pub common: u32,
    /// Out of how many; 0 for super-shingles, of which there is no fixed number.
    pub of: u32,
}

/// The documents that a filter takes for `document`, those that share most first. Eight
/// bytes are compared within the host of `url` only.
pub fn find(
    collection: &Filtered,
    document: &Document<'_>,
    url: Option<&str>,
    sketcher: &mut Sketcher,
) -> Result<Vec<Fungible>, StorageError> {
    let features = collection
        .spec()
        .reduce(document.sketch(sketcher).samples().to_vec());
    accepted(collection, &features, host_key(url), None)
}

/// The documents that a filter takes for one of the collection.
pub fn find_like(collection: &Filtered, doc: u32) -> Result<Vec<Fungible>, StorageError> {
    let mut features = Vec::new();
    collection.features(doc, &mut features)?;
    accepted(collection, &features, host(collection, doc)?, Some(doc))
}

fn accepted(
    collection: &Filtered,
    features: &[u64],
    here: u64,
    asked: Option<u32>,
) -> Result<Vec<Fungible>, StorageError> {
    let spec = collection.spec();
    let of = match spec {
        Spec::EightBytes(_) => 8,
        _ => spec.words().unwrap_or(0),
    };
    let mut found = Vec::new();
    collection.each(|doc, theirs| {
        let common = spec.shared(features, theirs);
        if common >= spec.common() && asked != Some(doc) {
            found.push(Fungible {
                doc,
                common: u32::try_from(common).unwrap_or(u32::MAX),
                of: u32::try_from(of).unwrap_or(u32::MAX),
            });
        }
    })?;
    if spec.is_within_host() {
        let mut near = Vec::with_capacity(found.len());
        for one in found {
            if host(collection, one.doc)? == here {
                near.push(one);
            }
        }
        found = near;
    }
    found.sort_by_key(|one| (std::cmp::Reverse(one.common), one.doc));
    Ok(found)
}
