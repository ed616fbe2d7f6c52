//! Which document of each cluster stays.

use std::cmp::Reverse;

use hashbrown::HashMap;

use super::Keep;
use crate::collection::Collection;
use crate::collection::entry::{Capture, Entry};
use crate::collection::state::StoredClustering;
use crate::storage::StorageError;

/// What was decided about the documents from `base` on.
pub(super) struct Decided {
    pub(super) base: u32,
    /// For each, the document that stays in its place; itself if it stays.
    instead: Vec<u32>,
    /// Of documents that stay, those of which another capture than the first does: its
    /// source and offset.
    captures: HashMap<u32, (u32, u64)>,
    /// Whether the newest was asked for, and no document has a date.
    pub(super) is_undated: bool,
}

impl Decided {
    /// The document that stays in the place of another.
    pub(super) fn instead(&self, doc: u32) -> u32 {
        let index = doc.checked_sub(self.base).map(|index| index as usize);
        let found = index.and_then(|index| self.instead.get(index));
        found.copied().unwrap_or(doc)
    }

    /// Whether the first capture of a document stays.
    pub(super) fn keeps(&self, doc: u32) -> bool {
        self.instead(doc) == doc && !self.captures.contains_key(&doc)
    }

    /// Whether another capture of it does.
    pub(super) fn keeps_capture(&self, capture: &Capture) -> bool {
        let place = (capture.source, capture.offset);
        self.instead(capture.doc) == capture.doc && self.captures.get(&capture.doc) == Some(&place)
    }
}

/// What makes a document the one to stay: an older one always, then the greatest figure,
/// then the first.
type Merit = (bool, i64, Reverse<u32>);

/// Decides, in two passes over the members of a clustering.
pub(super) fn decide(
    collection: &Collection,
    stored: &StoredClustering,
    base: u32,
    keep: Keep,
) -> Result<Decided, StorageError> {
    let newest = match keep {
        Keep::Newest => newest_captures(collection, base)?,
        _ => HashMap::new(),
    };
    let own_date = |doc: u32, entry: &Entry| {
        let sweep = &collection.state().sweeps[collection.sweep_of(doc)];
        entry.when().map(|when| when.0).or(sweep.date)
    };
    let mut captures = HashMap::new();
    let mut is_undated = keep == Keep::Newest;
    let mut best: HashMap<u32, Merit> = HashMap::new();
    let mut members = collection.clustering(stored)?.members()?;
    let mut trouble = None;
    let mut weigh = |doc: u32, entry: &Entry| -> Result<(), StorageError> {
        let Some(member) = members.next_record()? else {
            return Ok(());
        };
        let figure = match keep {
            Keep::First => 0,
            Keep::Longest => i64::try_from(entry.tokens).unwrap_or(i64::MAX),
            Keep::Newest => {
                let own = own_date(doc, entry).unwrap_or(i64::MIN);
                match newest.get(&doc) {
                    Some(&(date, source, offset)) if date > own => {
                        captures.insert(doc, (source, offset));
                        date
                    }
                    _ => own,
                }
            }
        };
        is_undated &= doc < base || figure == i64::MIN;
        if member.size > 1 {
            let merit = (
                doc < base,
                if doc < base { 0 } else { figure },
                Reverse(doc),
            );
            let known = best.entry(member.cluster).or_insert(merit);
            *known = merit.max(*known);
        }
        Ok(())
    };
    collection.each_entry(|doc, entry| {
        if trouble.is_none() {
            trouble = weigh(doc, entry).err();
        }
    })?;
    if let Some(trouble) = trouble {
        return Err(trouble);
    }
    let mut instead = Vec::new();
    let mut members = collection.clustering(stored)?.members()?;
    let mut doc = 0;
    while let Some(member) = members.next_record()? {
        if doc >= base {
            let stays = best.get(&member.cluster);
            instead.push(stays.map_or(doc, |(_, _, Reverse(stays))| *stays));
        }
        doc += 1;
    }
    Ok(Decided {
        base,
        instead,
        captures,
        is_undated,
    })
}

/// The newest further capture of each new document: date, source, offset.
fn newest_captures(
    collection: &Collection,
    base: u32,
) -> Result<HashMap<u32, (i64, u32, u64)>, StorageError> {
    let mut newest: HashMap<u32, (i64, u32, u64)> = HashMap::new();
    let Some(last) = collection.state().sweeps.len().checked_sub(1) else {
        return Ok(newest);
    };
    let mut captures = collection.captures(last)?;
    while let Some(capture) = captures.next_record()? {
        if capture.doc < base {
            continue;
        }
        let found = (capture.date, capture.source, capture.offset);
        let known = newest.entry(capture.doc).or_insert(found);
        // Of several from one moment, the first.
        if found.0 > known.0 {
            *known = found;
        }
    }
    Ok(newest)
}
