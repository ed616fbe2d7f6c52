//! What is told of a capture besides what an index says: how like it is to others.

use lookalike::archive::captures::Captures;
use lookalike::archive::index::Index;
use lookalike::archive::row::{Row, key_of};
use lookalike::collection::entry::Grade;
use lookalike::find::{FindOptions, Match, Reread};
use lookalike::pairs::Measure;
use lookalike::storage::StorageError;
use lookalike::sweeps::MOVED;

use super::links::{Links, safe};
use crate::found::place;
use crate::refusal::Refusal;
use crate::state::Snapshot;

/// What tells of the captures of a generation.
pub(super) struct Teller<'s> {
    snapshot: &'s Snapshot,
    index: &'s Index,
    captures: Captures<'s>,
    /// Whether the records that revisits refer to are told too.
    pub(super) resolves_revisits: bool,
    /// Whether it is told where pages are now that are not where they were. Some
    /// milliseconds an address, so only where one is asked for.
    pub(super) tells_moves: bool,
    /// The address told of last, and where its page is.
    moved: Option<(String, Option<String>)>,
}

impl<'s> Teller<'s> {
    pub(super) fn new(snapshot: &'s Snapshot, index: &'s Index) -> Teller<'s> {
        let clustering = snapshot.clustering().map(|(_, clustering)| clustering);
        Teller {
            snapshot,
            index,
            captures: Captures::new(snapshot.collection(), clustering),
            resolves_revisits: false,
            tells_moves: false,
            moved: None,
        }
    }

    pub(super) fn row(&mut self, capture: u32) -> Result<Row, Refusal> {
        let mut row = self.captures.row(self.index, capture)?;
        let slot = self.index.slot(capture);
        if let Some(before) = self.index.before(capture) {
            let before = self.index.slot(before).doc;
            row.resemblance = resemblance(self.snapshot, before, slot.doc)?;
        }
        if self.resolves_revisits {
            row.original = self.captures.original(slot)?;
        }
        if self.tells_moves {
            row.moved_to = self.moved_to(&row.url)?;
        }
        Ok(row)
    }

    /// Where a page is now, if it is known to be elsewhere.
    fn moved_to(&mut self, url: &str) -> Result<Option<String>, Refusal> {
        if let Some((known, to)) = &self.moved
            && known == url
        {
            return Ok(to.clone());
        }
        let place = place(self.snapshot, url, None)?;
        let to = place.present_place(MOVED).filter(|now| now.url != url);
        let to = to.map(|now| now.url.clone());
        self.moved = Some((url.to_owned(), to.clone()));
        Ok(to)
    }
}

/// How like two documents are, if their sketches tell.
fn resemblance(snapshot: &Snapshot, a: u32, b: u32) -> Result<Option<f64>, StorageError> {
    if a == b {
        return Ok(Some(1.0));
    }
    let pair = snapshot.finder.pair(a, b)?;
    Ok(pair.value(Measure::Resemblance, snapshot.finder.recipe().sketch))
}

fn value(found: &Match) -> Option<f64> {
    let exact = found.exact().map(|[resemblance, ..]| resemblance);
    exact.or(found.resemblance().map(|estimate| estimate.value))
}

/// Links to what is the same or nearly so under other addresses.
const MOST_ALIKE: usize = 5;

/// Candidates for them: several may be captures of one address.
const CANDIDATES: usize = 50;

/// What is so like a page is related to it.
const RELATED: f64 = 0.5;

/// Adds links to other addresses with the contents of a document: `duplicate` for the same
/// bytes (RFC 6249), `related` for what is near. Never as captures of this one: they are not.
pub(super) fn add_alike(
    links: &mut Links,
    snapshot: &Snapshot,
    doc: u32,
) -> Result<(), StorageError> {
    let collection = snapshot.collection();
    let url_of = |doc| -> Result<Option<String>, StorageError> {
        Ok(collection.strings(doc, &collection.entry(doc)?)?.1)
    };
    let own = url_of(doc)?;
    let mut seen: Vec<String> = own.as_deref().map(key_of).into_iter().collect();
    let query = snapshot.finder.query_of(doc, Reread::Never)?;
    let options = FindOptions {
        top: CANDIDATES,
        min_resemblance: Some(RELATED),
        min_containment: None,
    };
    let mut added = 0;
    for found in snapshot.finder.find(&query, &options)? {
        let Some(url) = url_of(found.doc)? else {
            continue;
        };
        let key = key_of(&url);
        let is_web = url.starts_with("http://") || url.starts_with("https://");
        if !is_web || seen.contains(&key) {
            continue;
        }
        seen.push(key);
        if found.grade == Grade::Identical {
            links.add(&safe(&url), "duplicate", &[]);
        } else if let Some(value) = value(&found) {
            let title = format!("resemblance {value:.2}");
            links.add(&safe(&url), "related", &[("title", &title)]);
        }
        added += 1;
        if added == MOST_ALIKE {
            break;
        }
    }
    Ok(())
}
