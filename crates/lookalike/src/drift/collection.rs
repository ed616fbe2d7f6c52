//! Drift in a collection: which copies differ now, and since when.

use std::collections::BTreeMap;

use super::{Baseline, Baselines, Drifted, Status};
use crate::collection::Collection;
use crate::collection::entry::Grade;
use crate::collection::texts::Lost;
use crate::corpus::document::Document;
use crate::corpus::record::Timestamp;
use crate::find::{Finder, Least, Reread};
use crate::storage::StorageError;

/// A copy in a collection.
#[derive(Clone, Debug)]
pub struct DriftedCopy {
    /// Its number: the newest copy that its address had.
    pub doc: u32,
    /// Which baseline, by its place among them.
    pub baseline: usize,
    /// How it differs.
    pub drifted: Drifted,
    /// When it was captured last, as far as known.
    pub date: Option<Timestamp>,
    /// The first capture since which the address had no verbatim copy; for those that
    /// differ and have a date.
    pub since: Option<Timestamp>,
    /// The last capture before that had one.
    pub verbatim_until: Option<Timestamp>,
    /// Whether the newest capture of the address has it still.
    pub is_present: bool,
}

/// All copies in a collection.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// By their numbers.
    pub copies: Vec<DriftedCopy>,
    /// Documents that may be copies, but whose text is gone.
    pub lost: Vec<u32>,
}

/// Finds the copies of baselines in a collection, and how they differ.
///
/// Candidates are found by sketches, whose shingles are those of the recipe. A template that
/// has no room for these between what may vary is known in a copy by shorter ones: for such,
/// every text is read.
pub fn of_collection(finder: &Finder, baselines: &Baselines) -> Result<Found, StorageError> {
    let collection = finder.collection();
    let mut sketcher = finder.sketcher();
    let mut candidates = BTreeMap::new();
    for (place, baseline) in baselines.all().iter().enumerate() {
        let document = baseline.document();
        let query = finder.query(&document, None, &mut sketcher, Reread::Never);
        let least = Least {
            held: baselines.options.least,
            own: f64::INFINITY,
        };
        for found in finder.find_every(&query, least)? {
            // The same tokens: nothing to be read again.
            let is_same = found.grade <= Grade::Lexical && !baseline.is_template();
            let known = candidates.entry(found.doc).or_insert(None);
            *known = known.or(is_same.then_some(place));
        }
        for doc in collection.find_named(baseline.name())? {
            candidates.entry(doc).or_insert(None);
        }
    }
    let mut judged: BTreeMap<u32, (usize, Drifted)> = BTreeMap::new();
    let mut lost = Vec::new();
    let width = finder.recipe().width;
    let is_narrow = |baseline: &Baseline| baseline.width() < width;
    let docs: Vec<u32> = if baselines.all().iter().any(is_narrow) {
        (0..collection.documents()).collect()
    } else {
        candidates.keys().copied().collect()
    };
    let mut judge = |doc: u32, text: Result<String, Lost>| -> Result<(), StorageError> {
        match (text, candidates.get(&doc)) {
            (Ok(text), _) => {
                let (id, url) = collection.strings(doc, &collection.entry(doc)?)?;
                let names = [&url, &id].into_iter().flatten();
                let names: Vec<&str> = names.map(|name| &**name).collect();
                let found = baselines.judge(&Document::of_text(text), &names, &mut sketcher);
                judged.extend(found.map(|found| (doc, found)));
            }
            (Err(_), Some(&Some(baseline))) => {
                judged.insert(doc, (baseline, Drifted::verbatim()));
            }
            (Err(_), Some(None)) => lost.push(doc),
            // Nothing says that it is a copy.
            (Err(_), None) => {}
        }
        Ok(())
    };
    let mut done = Ok(());
    collection.each_text(&docs, |doc, text| {
        if done.is_ok() {
            done = judge(doc, text);
        }
    })?;
    done?;
    lost.sort_unstable();
    let mut found = Found {
        copies: Vec::new(),
        lost,
    };
    for &doc in judged.keys() {
        if let Some(copy) = newest(collection, doc, &judged)? {
            found.copies.push(copy);
        }
    }
    Ok(found)
}

impl Drifted {
    /// Nothing became of it.
    fn verbatim() -> Drifted {
        Drifted {
            status: Status::Verbatim,
            resemblance: 1.0,
            changes: Vec::new(),
            filled: Vec::new(),
            around: 0,
        }
    }
}

/// A copy with its history, if it is the newest that its address had.
fn newest(
    collection: &Collection,
    doc: u32,
    judged: &BTreeMap<u32, (usize, Drifted)>,
) -> Result<Option<DriftedCopy>, StorageError> {
    let (_, url) = collection.strings(doc, &collection.entry(doc)?)?;
    let versions = match &url {
        Some(url) => collection.find_named(url)?,
        None => vec![doc],
    };
    // All captures of the address: those without a date first, as the oldest.
    let mut captures = Vec::new();
    for version in versions {
        let seen = collection.captures_of(version)?;
        captures.extend(seen.iter().map(|one| (one.date, version)));
    }
    captures.sort_unstable();
    let is_copy = |version: &u32| judged.contains_key(version);
    let last = captures.iter().rposition(|(_, version)| is_copy(version));
    let Some(last) = last.filter(|&i| captures[i].1 == doc) else {
        return Ok(None);
    };
    let Some((baseline, drifted)) = judged.get(&doc) else {
        return Ok(None);
    };
    let is_verbatim = |version: &u32| {
        let found = judged.get(version);
        found.is_some_and(|(_, drifted)| drifted.status == Status::Verbatim)
    };
    let mut since = last;
    let differs = |version: &u32| is_copy(version) && !is_verbatim(version);
    while since > 0 && differs(&captures[since - 1].1) {
        since -= 1;
    }
    let has_drifted = drifted.status != Status::Verbatim;
    let before = captures[..since].iter().rev();
    let mut before = before.filter(|(_, version)| is_verbatim(version));
    Ok(Some(DriftedCopy {
        doc,
        baseline: *baseline,
        drifted: drifted.clone(),
        date: captures[last].0,
        since: captures[since].0.filter(|_| has_drifted),
        verbatim_until: before
            .next()
            .and_then(|seen| seen.0)
            .filter(|_| has_drifted),
        is_present: last + 1 == captures.len(),
    }))
}
