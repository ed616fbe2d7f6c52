//! The tables of a collection: its rows, one after the other, into any writer.

use std::collections::BTreeMap;
use std::io;

use super::{
    DocumentRow, Documents, PairRow, Pairs, Quality, QualityRow, SketchRow, Sketches, Writer,
};
use crate::collection::Collection;
use crate::collection::entry::{Entry, Grade};
use crate::collection::state::StoredClustering;
use crate::corpus::record::Timestamp;
use crate::pairs::{Measure, Pair};
use crate::storage::StorageError;

/// Why a table was not written.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// The collection could not be read.
    #[error(transparent)]
    Reading(#[from] StorageError),
    /// The table could not be written.
    #[error(transparent)]
    Writing(#[from] io::Error),
}

/// The tables of a collection under one of its clusterings.
#[derive(Clone, Copy, Debug)]
pub struct Tables<'a> {
    /// The collection.
    pub collection: &'a Collection,
    /// The clustering.
    pub stored: &'a StoredClustering,
}

impl Tables<'_> {
    /// One row a document, in clusters of at least so many.
    pub fn documents(
        self,
        writer: &mut Writer<Documents>,
        min_size: u32,
    ) -> Result<(), TableError> {
        let collection = self.collection;
        let (kind, one_in) = (collection.sketch_kind(), collection.one_in());
        // However many a sketch makes it seem.
        let width = collection.state().recipe.width() as u64;
        let most = |tokens: u64| (tokens + 1).saturating_sub(width).max(1);
        let mut members = collection.clustering(self.stored)?.members()?;
        let mut sources = (usize::MAX, Vec::new());
        let mut trouble = None;
        let mut row = |doc: u32, entry: &Entry| -> Result<(), TableError> {
            let sweep = collection.sweep_of(doc);
            if sources.0 != sweep {
                sources = (sweep, collection.stored_sources(sweep)?);
            }
            let Some(member) = members.next_record()? else {
                return Ok(());
            };
            if member.size < min_size && min_size > 2 {
                return Ok(());
            }
            let (id, url) = collection.strings(doc, entry)?;
            let source = sources.1.get(entry.source as usize);
            let date = entry
                .when()
                .or(collection.state().sweeps[sweep].date.map(Timestamp));
            writer.write(&DocumentRow {
                doc,
                id: id.as_deref(),
                url: url.as_deref(),
                date,
                file: source.map_or("", |source| &source.name),
                offset: entry.offset,
                tokens: entry.tokens,
                shingles: entry.shingles(one_in).min(most(entry.tokens)),
                grade: member.grade().map(Grade::name),
                cluster: Some(member.cluster),
                cluster_size: Some(u64::from(member.size)),
                representative: Some(member.representative),
                is_representative: Some(member.representative == doc),
                resemblance: member.resemblance(doc, kind),
                containment: member.containment(doc, kind),
            })?;
            Ok(())
        };
        collection.each_entry(|doc, entry| {
            if trouble.is_none() {
                trouble = row(doc, entry).err();
            }
        })?;
        if let Some(trouble) = trouble {
            return Err(trouble);
        }
        Ok(())
    }

    /// The counted pairs.
    pub fn pairs(self, writer: &mut Writer<Pairs>) -> Result<(), TableError> {
        let collection = self.collection;
        let kind = collection.sketch_kind();
        let mut exact = BTreeMap::new();
        collection.each_exact(|pair| {
            exact.insert((pair.a, pair.b), *pair);
        })?;
        let mut trouble = None;
        let mut row = |pair: &Pair| -> Result<(), TableError> {
            let known = exact.get(&(pair.a, pair.b)).copied();
            let strings = |doc| -> Result<_, StorageError> {
                collection.strings(doc, &collection.entry(doc)?)
            };
            let ((id_a, url_a), (id_b, url_b)) = (strings(pair.a)?, strings(pair.b)?);
            let best = known.unwrap_or(*pair);
            // True values of weights are parts of a sum, which are no samples and no features.
            let counted = if kind.is_weighted() { *pair } else { best };
            let estimate = best.estimate(Measure::Resemblance, kind);
            let value = |measure| best.estimate(measure, kind).map(|estimate| estimate.value);
            writer.write(&PairRow {
                a: pair.a,
                b: pair.b,
                id_a: id_a.as_deref(),
                id_b: id_b.as_deref(),
                url_a: url_a.as_deref(),
                url_b: url_b.as_deref(),
                common: u64::from(counted.common),
                resemblance: estimate.map(|estimate| estimate.value),
                resemblance_low: estimate.map(|estimate| estimate.low),
                resemblance_high: estimate.map(|estimate| estimate.high),
                a_in_b: value(Measure::AInB),
                b_in_a: value(Measure::BInA),
                exact: best.exact(Measure::Resemblance, kind),
            })?;
            Ok(())
        };
        collection.each_pair(|pair| {
            if trouble.is_none() {
                trouble = row(pair).err();
            }
            Ok(())
        })?;
        if let Some(trouble) = trouble {
            return Err(trouble);
        }
        Ok(())
    }

    /// One row a cluster of two and more.
    pub fn quality(self, writer: &mut Writer<Quality>) -> Result<(), TableError> {
        let collection = self.collection;
        let mut clusters = collection.clustering(self.stored)?.clusters()?;
        while let Some(quality) = clusters.next_record()? {
            let entry = collection.entry(quality.representative)?;
            let (id, url) = collection.strings(quality.representative, &entry)?;
            let flags = quality.marks().collect::<Vec<_>>().join(" ");
            writer.write(&QualityRow {
                cluster: quality.cluster,
                size: u64::from(quality.size),
                representative: quality.representative,
                representative_id: id.as_deref(),
                representative_url: url.as_deref(),
                lowest_resemblance: Some(quality.lowest),
                median_resemblance: Some(quality.median),
                flags: (!flags.is_empty()).then_some(&*flags),
            })?;
        }
        Ok(())
    }

    /// What is kept of each document.
    pub fn sketches(self, writer: &mut Writer<Sketches>) -> Result<(), TableError> {
        let collection = self.collection;
        let sketches = collection.sketches()?;
        let mut buffer = Vec::new();
        for doc in 0..collection.documents() {
            let entry = collection.entry(doc)?;
            let (id, url) = collection.strings(doc, &entry)?;
            // A copy has the sketch of what it is a copy of.
            let samples = sketches.samples(entry.copy_of, &mut buffer)?;
            writer.write(&SketchRow {
                doc,
                id: id.as_deref(),
                url: url.as_deref(),
                level: sketches.head(entry.copy_of).level(),
                samples,
            })?;
        }
        Ok(())
    }
}
