//! Texts read again, so that true values decide; and how often a filter accepts, measured.
//!
//! ```text
//! documents ─► by source, in the order they stand there ─► the features that were kept?
//!                                                          └─► all fingerprints, sorted
//! ```
//!
//! No name of a text is kept, but its features are one: what does not have them any more is
//! another text, and tells nothing.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use hashbrown::HashMap;
use lookalike_core::estimate::Overlap;
use lookalike_core::recipe::Recipe;
use lookalike_core::sketcher::Sketcher;
use xxhash_rust::xxh3::xxh3_64;

use super::Filtered;
use crate::corpus::read::fetch;
use crate::corpus::record::Offset;
use crate::parallel;
use crate::storage::StorageError;
use crate::sweeps::hosts::host_of;

/// Reads documents again.
pub(super) struct Texts<'a> {
    collection: &'a Filtered,
    recipe: &'a Recipe,
    threads: NonZeroUsize,
}

/// The fingerprints of some documents.
#[derive(Default)]
pub(super) struct Known(HashMap<u32, Box<[u64]>>);

impl Known {
    /// The true resemblance of two documents, where both could be read.
    pub(super) fn resemblance(&self, a: u32, b: u32) -> Option<f64> {
        let overlap = Overlap::of_sorted(self.0.get(&a)?, self.0.get(&b)?);
        let union = overlap.union();
        (union > 0).then(|| overlap.common as f64 / union as f64)
    }
}

/// Documents with their fingerprints.
type Found = Vec<(u32, Box<[u64]>)>;

/// Documents of one source: where they stand, and their numbers.
type OfSource = Vec<(u64, u32)>;

impl<'a> Texts<'a> {
    pub(super) fn new(
        collection: &'a Filtered,
        recipe: &'a Recipe,
        threads: NonZeroUsize,
    ) -> Texts<'a> {
        Texts {
            collection,
            recipe,
            threads,
        }
    }

    /// Those of all documents of some pairs.
    pub(super) fn sets_of(&self, pairs: &[(u32, u32)]) -> Result<Known, StorageError> {
        let mut docs: Vec<u32> = pairs.iter().flat_map(|&(a, b)| [a, b]).collect();
        docs.sort_unstable();
        docs.dedup();
        self.sets(&docs)
    }

    /// Those of some documents; whoever cannot be read is missing.
    pub(super) fn sets(&self, docs: &[u32]) -> Result<Known, StorageError> {
        let mut by_source: BTreeMap<(usize, u32), OfSource> = BTreeMap::new();
        for &doc in docs {
            let (part, place) = self.collection.place(doc)?;
            let of_source = by_source.entry((part, place.source)).or_default();
            of_source.push((place.offset, doc));
        }
        let tasks: Vec<((usize, u32), OfSource)> = by_source.into_iter().collect();
        let mut known = Known::default();
        parallel::in_order(
            self.threads,
            tasks.len(),
            || Sketcher::new(self.recipe),
            |sketcher, i| {
                let ((part, source), wanted) = &tasks[i];
                self.read(*part, *source, wanted, sketcher)
            },
            |_, found| {
                known.0.extend(found);
                Ok(())
            },
        )?;
        Ok(known)
    }

    fn read(
        &self,
        part: usize,
        source: u32,
        wanted: &OfSource,
        sketcher: &mut Sketcher,
    ) -> Result<Found, StorageError> {
        let spec = self.collection.spec();
        let (mut found, mut kept, mut failed) = (Vec::new(), Vec::new(), None);
        let Some(source) = self.collection.source(part, source) else {
            return Ok(found);
        };
        if !crate::collection::texts::is_file(source).unwrap_or(false) {
            return Ok(found);
        }
        let options = self.collection.state().sweeps[part].reading.options();
        let mut offsets: Vec<Offset> = wanted.iter().map(|one| Offset(one.0)).collect();
        offsets.sort_unstable();
        offsets.dedup();
        let read = fetch(source, &offsets, &options, &mut |offset, record| {
            let Ok(record) = record else { return };
            let Ok(document) = record.document(&options) else {
                return;
            };
            let now = spec.reduce(document.sketch(sketcher).samples().to_vec());
            let mut all = Vec::new();
            document.fingerprints(sketcher, &mut all);
            all.sort_unstable();
            all.dedup();
            for (_, doc) in wanted.iter().filter(|one| one.0 == offset.0) {
                // Another text than was sketched then tells nothing of it.
                match self.collection.features(*doc, &mut kept) {
                    Ok(()) if kept == now => found.push((*doc, all.clone().into_boxed_slice())),
                    Ok(()) => {}
                    Err(error) => failed = Some(error),
                }
            }
        });
        // Whoever is not there is missing from the answer.
        drop(read);
        failed.map_or(Ok(found), Err)
    }
}

/// Pairs of one range of true resemblance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bin {
    /// From this resemblance on,
    pub low: f64,
    /// below this one; the last bin is of equal texts.
    pub high: f64,
    /// Pairs whose true resemblance is known.
    pub pairs: u64,
    /// Of these, accepted by the filter.
    pub accepted: u64,
    /// How many of them the curve lets expect.
    pub expected: f64,
}

/// How often a filter accepts, measured on the collection's own texts.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// Documents that were read again.
    pub documents: u64,
    /// By true resemblance, rising.
    pub bins: Vec<Bin>,
}

/// Where bins begin.
const BINS: [f64; 10] = [0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 1.0];

/// Of the fingerprints of a document of more than [`SHORT`] every so manyth is used to find
/// pairs: those that share three in ten of a hundred share some of an eighth of them, but
/// for one pair in thirty thousand.
const ONE_IN: u64 = 8;
const SHORT: usize = 100;

/// Of documents that share a fingerprint with more others than this, pairs with the first
/// ones only are looked at.
const MANY: usize = 100;

/// Reads the first documents of a collection again, finds all pairs of them that truly
/// resemble each other, whatever the filter says of them, and counts those it accepts.
/// Time that of sketching them; 16 bytes a shingle in memory.
pub fn acceptance(
    collection: &Filtered,
    recipe: &Recipe,
    most: u32,
    threads: NonZeroUsize,
) -> Result<Measured, StorageError> {
    let docs: Vec<u32> = (0..collection.documents().min(most)).collect();
    let known = Texts::new(collection, recipe, threads).sets(&docs)?;
    let mut named: Vec<(u64, u32)> = Vec::new();
    for doc in &docs {
        let Some(set) = known.0.get(doc) else {
            continue;
        };
        let is_used = |one: &&u64| set.len() <= SHORT || one.is_multiple_of(ONE_IN);
        named.extend(set.iter().filter(is_used).map(|&one| (one, *doc)));
    }
    named.sort_unstable();
    let mut pairs = Vec::new();
    for group in named.chunk_by(|x, y| x.0 == y.0) {
        for (i, &(_, a)) in group.iter().enumerate() {
            let others = &group[..i.min(MANY)];
            pairs.extend(others.iter().map(|&(_, b)| (a, b)));
        }
    }
    drop(named);
    pairs.sort_unstable();
    pairs.dedup();
    let (spec, curve) = (collection.spec(), collection.spec().curve());
    let bounds = BINS.iter().zip(BINS.iter().skip(1).chain([&f64::INFINITY]));
    let mut bins: Vec<Bin> = bounds
        .map(|(&low, &high)| Bin {
            low,
            high,
            pairs: 0,
            accepted: 0,
            expected: 0.0,
        })
        .collect();
    let (mut of_a, mut of_b) = (Vec::new(), Vec::new());
    for (a, b) in pairs {
        let Some(value) = known.resemblance(a, b) else {
            continue;
        };
        let Some(bin) = bins
            .iter_mut()
            .find(|bin| (bin.low..bin.high).contains(&value))
        else {
            continue;
        };
        if spec.is_within_host() && host(collection, a)? != host(collection, b)? {
            continue;
        }
        collection.features(a, &mut of_a)?;
        collection.features(b, &mut of_b)?;
        bin.pairs += 1;
        bin.accepted += u64::from(spec.accepts(&of_a, &of_b));
        bin.expected += curve.odds(value).accept;
    }
    Ok(Measured {
        documents: known.0.len() as u64,
        bins,
    })
}

/// The host of a document, by which eight bytes are compared.
pub(super) fn host(collection: &Filtered, doc: u32) -> Result<u64, StorageError> {
    let (_, url) = collection.strings(doc)?;
    Ok(host_key(url.as_deref()))
}

/// What a host goes by; 0 for none.
pub(super) fn host_key(url: Option<&str>) -> u64 {
    let host = url.and_then(host_of);
    host.map_or(0, |host| xxh3_64(host.to_ascii_lowercase().as_bytes()))
}
