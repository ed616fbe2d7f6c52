//! Who holds a text: every copy of it in a collection, and what was done to it there.
//!
//! ```text
//! text ─► sketch ─► every document that may have enough of it (find_every)
//!                   └─► its text, kept or read again ─► passages ─► kind, edits ─► version
//!                                                  └─► the page ─► contacts
//! ```
//!
//! | kind | the copy has |
//! |---|---|
//! | identical | the words of the text, all of them, in order, and no others |
//! | full | all its words in order, unchanged, and others around them or between passages |
//! | altered | four fifths of its words or more, each in a shingle of the text that the copy has; others were changed, left out or put in, or passages moved |
//! | partial | less of it |
//!
//! Words are tokens of the recipe: case, punctuation and white space do not count. Of a
//! document whose text is gone the kind is told by the estimate, and said to be.
//!
//! Copies that have the same words of the text, with the same words in place of others,
//! carry one *version*. Every text that is a copy is told, also when its address has had
//! another since: who held it when is part of the answer.
//!
//! Time: the postings of all samples, and the text of every copy once; memory: some texts.

mod contacts;

use std::collections::{BTreeMap, HashMap, HashSet};

use lookalike_core::diff::{Change, numbered};
use lookalike_core::estimate::Estimate;
use lookalike_core::passages::{Passage, of_numbers};
use lookalike_core::recipe::Recipe;
use lookalike_core::shingle::{Width, overlap};

use crate::collection::Collection;
use crate::collection::entry::Grade;
use crate::collection::texts::{source_tasks, tasks};
use crate::corpus::document::Document;
use crate::corpus::record::Timestamp;
use crate::find::{Finder, Least, Match, Query};
use crate::storage::StorageError;
use crate::wording::{Edit, Words};

/// How a document is a copy.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Kind {
    /// Nothing else, and nothing changed.
    Identical,
    /// All of it, unchanged, among other words.
    Full,
    /// All of it, changed.
    Altered,
    /// A part.
    Partial,
}

impl Kind {
    /// As it is written down.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Identical => "identical",
            Kind::Full => "full",
            Kind::Altered => "altered",
            Kind::Partial => "partial",
        }
    }
}

/// What has this share of a text has the whole of it, changed: less is a part.
pub const WHOLE: f64 = 0.8;

/// What lies in the text by this share is a copy of a part of it, however small.
const OWN: f64 = 0.5;

/// Documents that are read again at once.
const TEXTS: usize = 64;

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CopiesOptions {
    /// A copy has at least this share of the text, or is half made of it.
    pub least: f64,
    /// So many documents are read again at most: those that have the most of the text.
    pub most: usize,
}

impl Default for CopiesOptions {
    fn default() -> CopiesOptions {
        CopiesOptions {
            least: 0.2,
            most: usize::MAX,
        }
    }
}

/// What two texts have in common, word by word.
#[derive(Clone, Debug, PartialEq)]
pub struct Holding {
    /// How the one is a copy of the other.
    pub kind: Kind,
    /// What was done to the words of the text. Words around it and between passages are
    /// the copy's own business.
    pub edits: Vec<Edit>,
    /// Where it differs and by which words: two copies with the same carry one version.
    wording: Vec<(usize, usize, Vec<u8>)>,
    /// Whether passages stand in another order.
    pub is_moved: bool,
    /// The share of the text's shingles that the copy has.
    pub doc_in_copy: f64,
    /// The share of the copy's shingles that the text has.
    pub copy_in_doc: f64,
}

/// How a document holds a text.
pub fn holding(text: &Words, copy: &Words, recipe: &Recipe) -> Holding {
    let (xs, ys) = numbered(text.tokens(), copy.tokens());
    let passages = of_numbers(&xs, &ys, recipe.width);
    let held = in_shared_shingles(&xs, &ys, recipe.width);
    let is_moved = passages.windows(2).any(|two| two[1].b.start < two[0].b.end);
    let changes = left(&passages, xs.len());
    let place = |change: &Change| {
        let words = copy.canonical(&change.b);
        (change.a.start, change.a.end, words)
    };
    let wording = changes.iter().map(place).collect();
    let edits: Vec<Edit> = changes
        .into_iter()
        .map(|change| Edit::new(change, text, copy))
        .collect();
    let kind = if xs == ys {
        Kind::Identical
    } else if edits.is_empty() && !is_moved {
        Kind::Full
    } else if held as f64 >= WHOLE * xs.len() as f64 {
        Kind::Altered
    } else {
        Kind::Partial
    };
    let shares = overlap(text.tokens(), copy.tokens(), recipe.width, recipe.shingling);
    Holding {
        kind,
        edits,
        wording,
        is_moved,
        doc_in_copy: shares.a_in_b().unwrap_or(0.0),
        copy_in_doc: shares.b_in_a().unwrap_or(0.0),
    }
}

/// How many tokens of a text lie in a shingle of it that the copy has.
fn in_shared_shingles(xs: &[u32], ys: &[u32], width: Width) -> usize {
    let len = width.get().min(xs.len()).min(ys.len()).max(1);
    let theirs: HashSet<&[u32]> = ys.windows(len).collect();
    let (mut count, mut covered) = (0, 0);
    for (start, shingle) in xs.windows(len).enumerate() {
        if theirs.contains(shingle) {
            count += start + len - covered.max(start);
            covered = start + len;
        }
    }
    count
}

/// What passages leave of a text: changes inside them, and what is in none.
fn left(passages: &[Passage], len: usize) -> Vec<Change> {
    let mut all = Vec::new();
    let (mut at, mut there) = (0, 0);
    for passage in passages {
        if at < passage.a.start {
            all.push(Change {
                a: at..passage.a.start,
                b: there..there,
            });
        }
        all.extend(passage.changes.iter().cloned());
        (at, there) = (passage.a.end, passage.b.end);
    }
    if at < len {
        all.push(Change {
            a: at..len,
            b: there..there,
        });
    }
    all
}

/// A copy in a collection.
#[derive(Clone, Debug)]
pub struct Copy {
    /// Its number.
    pub doc: u32,
    /// How it is a copy.
    pub kind: Kind,
    /// What the sketches say.
    pub found: Match,
    /// What its text says, where that is still there.
    pub holding: Option<Holding>,
    /// When it was captured last, as far as known.
    pub date: Option<Timestamp>,
    /// Which version of the text it carries: a place in [`Copies::versions`].
    pub version: usize,
    /// The e-mail addresses on its page.
    pub contacts: Vec<String>,
    /// How many earlier documents of its address hold the text too.
    pub earlier: usize,
    /// What its address has now.
    pub now: Now,
}

/// What the address of a copy has at its newest capture.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Now {
    /// The copy.
    There,
    /// Another copy of the text, or a newer one was seen since.
    Changed,
    /// No copy of it any more; this was the newest.
    Gone,
}

impl Now {
    /// As it is written down.
    pub fn name(self) -> &'static str {
        match self {
            Now::There => "there",
            Now::Changed => "changed",
            Now::Gone => "gone",
        }
    }
}

/// A wording of the text that copies carry.
#[derive(Clone, Debug)]
pub struct Version {
    /// How many copies carry it.
    pub copies: usize,
    /// How it differs from the text.
    pub edits: Vec<Edit>,
    /// Whether passages stand in another order.
    pub is_moved: bool,
    /// Whether the wording is known; one version is of all copies whose text is gone.
    pub is_known: bool,
}

/// All copies of a text.
#[derive(Clone, Debug, Default)]
pub struct Copies {
    /// Newest first.
    pub copies: Vec<Copy>,
    /// That of the text itself first, then by the number of copies.
    pub versions: Vec<Version>,
    /// How many documents may hold the text and were not looked at, because there are more
    /// than [`CopiesOptions::most`].
    pub unread: usize,
}

/// Finds every copy of a text. `own` is the document of the collection that it is, if it
/// is one: that is no copy of itself.
pub fn copies(
    finder: &Finder,
    document: &Document<'_>,
    query: &Query,
    own: Option<u32>,
    options: CopiesOptions,
) -> Result<Copies, StorageError> {
    let collection = finder.collection();
    let text = Words::of(document, finder.recipe());
    let least = Least {
        held: options.least,
        own: OWN,
    };
    let mut found = finder.find_every(query, least)?;
    found.retain(|one| Some(one.doc) != own);
    let unread = found.len().saturating_sub(options.most);
    if unread > 0 {
        let held = |one: &Match| one.query_in_doc().map_or(0.0, |share| share.value);
        found.sort_by(|x, y| held(y).total_cmp(&held(x)).then(x.doc.cmp(&y.doc)));
        found.truncate(options.most);
        found.sort_by_key(|one| one.doc);
    }
    let mut all = Vec::new();
    for some in found.chunks(TEXTS) {
        let docs: Vec<u32> = some.iter().map(|one| one.doc).collect();
        let mut pages = read(collection, &docs, &text, finder.recipe())?;
        for one in some {
            let page = pages.remove(&one.doc).unwrap_or_default();
            all.extend(judged(collection, one, page, options)?);
        }
    }
    with_places(collection, &mut all)?;
    all.sort_by(|x, y| y.date.cmp(&x.date).then(x.doc.cmp(&y.doc)));
    Ok(Copies {
        unread,
        ..versions(all)
    })
}

/// What a page tells of itself.
#[derive(Default)]
struct Page {
    holding: Option<Holding>,
    contacts: Vec<String>,
}

/// Reads documents, whose numbers increase, again.
fn read(
    collection: &Collection,
    docs: &[u32],
    text: &Words,
    recipe: &Recipe,
) -> Result<HashMap<u32, Page>, StorageError> {
    let mut pages: HashMap<u32, Page> = HashMap::new();
    let mut sketcher = lookalike_core::sketcher::Sketcher::new(recipe);
    let mut judge = |doc: u32, document: &Document<'_>, source: Option<&str>| {
        let copy = Words::of(document, recipe);
        let contacts = contacts::of_page(source, copy.text());
        let holding = Some(holding(text, &copy, recipe));
        pages.insert(doc, Page { holding, contacts });
    };
    for task in tasks(collection, docs)? {
        task.read(&mut |doc, entry, again| {
            let Ok(again) = again else {
                return;
            };
            // Another text than was sketched then tells nothing of it.
            again.document.sketch(&mut sketcher);
            if sketcher.tokens_name().0 == entry.tokens_name {
                judge(doc, &again.document, again.source().as_deref());
            }
        })?;
    }
    // A kept text has no links: the page has them, if it is still there.
    let kept: Vec<u32> = docs
        .iter()
        .copied()
        .filter(|doc| pages.contains_key(doc))
        .collect();
    for task in source_tasks(collection, &kept)? {
        task.read(&mut |doc, entry, again| {
            let Some(page) = pages.get_mut(&doc) else {
                return;
            };
            if let Ok(again) = again
                && again.has_bytes_of(entry)
                && let Some(source) = again.source()
            {
                page.contacts = contacts::of_page(Some(&source), &again.document.text());
            }
        })?;
    }
    Ok(pages)
}

/// A match as a copy, if it is one.
fn judged(
    collection: &Collection,
    found: &Match,
    page: Page,
    options: CopiesOptions,
) -> Result<Option<Copy>, StorageError> {
    let value = |estimate: Option<Estimate>| estimate.map_or(0.0, |estimate| estimate.value);
    let [held, own] = match &page.holding {
        Some(holding) => [holding.doc_in_copy, holding.copy_in_doc],
        None => [found.query_in_doc(), found.doc_in_query()].map(value),
    };
    let is_same = found.grade <= Grade::Lexical;
    // A text shorter than a shingle may be held word by word and share none.
    let is_whole = page
        .holding
        .as_ref()
        .is_some_and(|holding| holding.kind <= Kind::Full);
    if !is_same && !is_whole && held < options.least && own < OWN {
        return Ok(None);
    }
    let kind = match &page.holding {
        Some(holding) => holding.kind,
        None if is_same => Kind::Identical,
        None if held >= 1.0 => Kind::Full,
        None if held >= WHOLE => Kind::Altered,
        None => Kind::Partial,
    };
    let seen = collection.captures_of(found.doc)?;
    Ok(Some(Copy {
        doc: found.doc,
        kind,
        found: found.clone(),
        holding: page.holding,
        date: seen.iter().filter_map(|one| one.date).max(),
        version: 0,
        contacts: page.contacts,
        earlier: 0,
        now: Now::There,
    }))
}

/// Notes of each copy what its address had before and has now; what has no address is there.
fn with_places(collection: &Collection, all: &mut [Copy]) -> Result<(), StorageError> {
    let mut by_url: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (place, copy) in all.iter().enumerate() {
        let (_, url) = collection.strings(copy.doc, &collection.entry(copy.doc)?)?;
        if let Some(url) = url {
            by_url.entry(url).or_default().push(place);
        }
    }
    for (url, mut places) in by_url {
        places.sort_by_key(|&place| (all[place].date, all[place].doc));
        let last = last_captured(collection, &url)?;
        let newest = places.len() - 1;
        for (earlier, place) in places.into_iter().enumerate() {
            let copy = &mut all[place];
            copy.earlier = earlier;
            copy.now = if last == Some(copy.doc) {
                Now::There
            } else if earlier < newest {
                Now::Changed
            } else {
                Now::Gone
            };
        }
    }
    Ok(())
}

/// The document that an address had when it was captured last; without a date is oldest.
fn last_captured(collection: &Collection, url: &str) -> Result<Option<u32>, StorageError> {
    let mut last = None;
    for doc in collection.find_named(url)? {
        let seen = collection.captures_of(doc)?;
        last = last.max(seen.iter().map(|one| (one.date, doc)).max());
    }
    Ok(last.map(|(_, doc)| doc))
}

/// Numbers the versions that copies carry.
fn versions(mut copies: Vec<Copy>) -> Copies {
    // What tells two versions apart: where they differ from the text, and by which words.
    type Wording = Option<(bool, Vec<(usize, usize, Vec<u8>)>)>;
    let wording = |copy: &Copy| -> Wording {
        let holding = match (&copy.holding, copy.kind) {
            (_, Kind::Identical) => return Some((false, Vec::new())),
            (holding, _) => holding.as_ref()?,
        };
        Some((holding.is_moved, holding.wording.clone()))
    };
    let mut met: Vec<(Wording, Version, usize)> = Vec::new();
    let mut numbers: HashMap<Wording, usize> = HashMap::new();
    for copy in &mut copies {
        let wording = wording(copy);
        let number = *numbers.entry(wording.clone()).or_insert_with(|| {
            let version = Version {
                copies: 0,
                edits: copy
                    .holding
                    .as_ref()
                    .map_or_else(Vec::new, |one| one.edits.clone()),
                is_moved: copy.holding.as_ref().is_some_and(|one| one.is_moved),
                is_known: wording.is_some(),
            };
            met.push((wording, version, met.len()));
            met.len() - 1
        });
        met[number].1.copies += 1;
        copy.version = number;
    }
    let is_own = |wording: &Wording| {
        wording
            .as_ref()
            .is_some_and(|own| !own.0 && own.1.is_empty())
    };
    met.sort_by_key(|(wording, version, number)| {
        let order = (!is_own(wording), !version.is_known);
        (order, std::cmp::Reverse(version.copies), *number)
    });
    let mut places = vec![0; met.len()];
    for (place, (_, _, number)) in met.iter().enumerate() {
        places[*number] = place;
    }
    for copy in &mut copies {
        copy.version = places[copy.version];
    }
    Copies {
        copies,
        versions: met.into_iter().map(|(_, version, _)| version).collect(),
        unread: 0,
    }
}

#[cfg(test)]
mod tests;
