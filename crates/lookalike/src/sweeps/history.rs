//! One page through time: every capture, how it differs from the one before, what was like
//! it then, and where its old texts are now.
//!
//! ```text
//! URL ─► page ─► its documents ─► captures, gaps ─► neighbours: its cluster in that sweep
//!                                               └─► now: the last sweep's pages with that text
//! ```

use lookalike_core::estimate::Estimate;
use lookalike_core::recipe::SketchKind;

use super::timeline::{Captured, Timeline};
use crate::add::sketching::{id_key, url_key};
use crate::collection::Collection;
use crate::collection::entry::BLANK;
use crate::corpus::record::Timestamp;
use crate::find::{FindOptions, Finder, Reread};
use crate::pairs::{Measure, Pair};
use crate::storage::StorageError;

/// What is known of a page through time.
#[derive(Clone, Debug, PartialEq)]
pub struct History {
    /// What the page goes by.
    pub key: u64,
    /// Every capture, in order of time. A sweep may have several.
    pub captures: Vec<Capture>,
    /// Sweeps since the first that saw it which did not.
    pub missed: Vec<usize>,
    /// Captures that belong to no sweep.
    pub undated: usize,
}

/// A page as it was captured.
#[derive(Clone, Debug, PartialEq)]
pub struct Capture {
    /// In which sweep.
    pub sweep: usize,
    /// When, as far as known.
    pub date: Option<Timestamp>,
    /// The document.
    pub doc: u32,
    /// How many tokens it has.
    pub tokens: u64,
    /// How it differs from the capture before, if there is one.
    pub change: Option<Change>,
    /// Other pages that were in its cluster in the same sweep, the most alike first.
    pub neighbours: Vec<Alike>,
    /// How many there were.
    pub neighbour_count: usize,
    /// Other pages that have this text in the last sweep, if this page no longer has.
    pub now: Vec<Alike>,
}

/// How a capture differs from the one before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Change {
    /// The same bytes.
    Unchanged,
    /// Other bytes, the same words.
    SameWords,
    /// Other words.
    Changed(Alike),
}

/// Another document, and what it has in common with a capture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Alike {
    /// The document.
    pub doc: u32,
    /// The capture is `a`.
    pair: Pair,
    kind: SketchKind,
}

impl Alike {
    fn new(finder: &Finder, capture: u32, other: u32) -> Result<Alike, StorageError> {
        Ok(Alike {
            doc: other,
            pair: finder.pair(capture, other)?,
            kind: finder.recipe().sketch,
        })
    }

    /// The resemblance of the two.
    pub fn resemblance(&self) -> Option<Estimate> {
        self.pair.estimate(Measure::Resemblance, self.kind)
    }

    /// How much of the capture is in the other.
    pub fn capture_in_other(&self) -> Option<Estimate> {
        self.pair.estimate(Measure::AInB, self.kind)
    }

    /// How much of the other is in the capture.
    pub fn other_in_capture(&self) -> Option<Estimate> {
        self.pair.estimate(Measure::BInA, self.kind)
    }

    /// Resemblance for ordering.
    fn value(&self) -> f64 {
        let value = self.pair.value(Measure::Resemblance, self.kind);
        value.unwrap_or(0.0)
    }
}

/// Other pages told of each capture.
const TOLD: usize = 5;

/// Members of a cluster looked at, from its first document on.
const LOOKED_AT: usize = 1000;

impl History {
    /// The history of a page by its URL or id; nothing if no sweep saw it.
    pub fn of(
        finder: &Finder,
        timeline: &Timeline,
        name: &str,
    ) -> Result<Option<History>, StorageError> {
        let Some(key) = key_of(finder, timeline, name)? else {
            return Ok(None);
        };
        let mut docs = finder.collection().with_key(key)?;
        docs.extend(blanks_of(finder.collection(), key)?);
        let all = timeline.captures(finder.collection(), &docs)?;
        let mut captures: Vec<Capture> = Vec::new();
        let mut undated = 0;
        for Captured { sweep, date, doc } in all {
            let Some(sweep) = sweep else {
                undated += 1;
                continue;
            };
            let before = captures.last();
            // What is told of a text in a sweep is told of its first capture there.
            let is_again = before.is_some_and(|last| (last.sweep, last.doc) == (sweep, doc));
            captures.push(if let Some(last) = before.filter(|_| is_again) {
                Capture {
                    date,
                    change: Some(Change::Unchanged),
                    ..last.clone()
                }
            } else {
                let old = before.map(|last| last.doc);
                capture(finder, timeline, key, (sweep, date, doc), old)?
            });
        }
        let Some(first) = captures.first().map(|first| first.sweep) else {
            return Ok(None);
        };
        let missed = first..timeline.sweeps().len();
        Ok(Some(History {
            key,
            missed: missed
                .filter(|&sweep| timeline.at(sweep, key).is_none())
                .collect(),
            captures,
            undated,
        }))
    }
}

/// The captures of a page that have no word. One pass over all such captures.
fn blanks_of(collection: &Collection, key: u64) -> Result<Vec<u32>, StorageError> {
    let mut own = Vec::new();
    for blank in BLANK..BLANK + collection.blanks() {
        if collection.entry(blank)?.key == key {
            own.push(blank);
        }
    }
    Ok(own)
}

/// The page with a URL, or an id.
fn key_of(finder: &Finder, timeline: &Timeline, name: &str) -> Result<Option<u64>, StorageError> {
    for key in [url_key(name), id_key(name)] {
        if timeline.sightings(key).next().is_some() {
            return Ok(Some(key));
        }
    }
    // An id of documents that go by their URL.
    let collection = finder.collection();
    let newest = collection.newest_named(name)?;
    let entry = newest.map(|doc| collection.entry(doc)).transpose()?;
    Ok(entry.map(|entry| entry.key))
}

fn capture(
    finder: &Finder,
    timeline: &Timeline,
    key: u64,
    (sweep, date, doc): (usize, Option<Timestamp>, u32),
    before: Option<u32>,
) -> Result<Capture, StorageError> {
    let collection = finder.collection();
    let entry = collection.entry(doc)?;
    let change = match before {
        None => None,
        Some(old) if old == doc => Some(Change::Unchanged),
        Some(old) => {
            let older = collection.entry(old)?;
            Some(if older.bytes_name == entry.bytes_name {
                Change::Unchanged
            } else if older.tokens_name == entry.tokens_name {
                Change::SameWords
            } else {
                Change::Changed(Alike::new(finder, doc, old)?)
            })
        }
    };
    // Nothing is like what has no word, and nobody has it now.
    let (near, now) = if entry.is_blank() {
        ((Vec::new(), 0), Vec::new())
    } else {
        (
            neighbours(finder, timeline, key, sweep, doc)?,
            now(finder, timeline, key, doc)?,
        )
    };
    Ok(Capture {
        sweep,
        date,
        doc,
        tokens: entry.tokens,
        change,
        neighbours: near.0,
        neighbour_count: near.1,
        now,
    })
}

/// Other pages of the capture's cluster that the same sweep saw.
fn neighbours(
    finder: &Finder,
    timeline: &Timeline,
    key: u64,
    sweep: usize,
    doc: u32,
) -> Result<(Vec<Alike>, usize), StorageError> {
    let Some(clustering) = finder.clustering() else {
        return Ok((Vec::new(), 0));
    };
    let cluster = clustering.member(doc)?.cluster;
    let mut all = Vec::new();
    for other in clustering.first_of_roster(cluster, LOOKED_AT)? {
        let own = finder.collection().entry(other)?.key;
        if own != key && timeline.at(sweep, own) == Some(other) {
            all.push(Alike::new(finder, doc, other)?);
        }
    }
    let count = all.len();
    all.sort_by(|x, y| y.value().total_cmp(&x.value()).then(x.doc.cmp(&y.doc)));
    all.truncate(TOLD);
    Ok((all, count))
}

/// Who has this text in the last sweep, if the page itself has another one there or is not
/// there.
fn now(
    finder: &Finder,
    timeline: &Timeline,
    key: u64,
    doc: u32,
) -> Result<Vec<Alike>, StorageError> {
    let Some(last) = timeline.sweeps().len().checked_sub(1) else {
        return Ok(Vec::new());
    };
    let collection = finder.collection();
    if let Some(own) = timeline.at(last, key) {
        let (own, old) = (collection.entry(own)?, collection.entry(doc)?);
        if own.copy_of == old.copy_of {
            return Ok(Vec::new());
        }
    }
    let options = FindOptions {
        top: LOOKED_AT,
        min_resemblance: Some(0.5),
        min_containment: Some(0.8),
    };
    let query = finder.query_of(doc, Reread::Never)?;
    let mut all = Vec::new();
    for one in finder.find(&query, &options)? {
        let own = collection.entry(one.doc)?.key;
        if timeline.at(last, own) != Some(one.doc) {
            continue;
        }
        if own == key {
            // What it has become is as like it as anything: it changed, and did not go.
            break;
        }
        all.push(Alike::new(finder, doc, one.doc)?);
        if all.len() == TOLD {
            break;
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweeps::story::{Story, page};

    fn history(story: &Story, url: &str) -> Option<History> {
        let finder = Finder::open(&story.path(), None).expect("a collection");
        let timeline = Timeline::of(finder.collection()).expect("a timeline");
        History::of(&finder, &timeline, url).expect("a history")
    }

    fn text(name: &str) -> String {
        let words: Vec<String> = (0..40).map(|i| format!("{name}{i}")).collect();
        words.join(" ")
    }

    #[test]
    fn captures_gaps_and_changes_are_told_in_order() {
        let (a, b) = (text("a"), text("b"));
        let longer = format!("{a} and more of it");
        let mut story = Story::default();
        story.add(
            None,
            &[
                page("b", "2000-01-01", &b),
                page("a", "2001-01-01", &a),
                page("a", "2002-01-01", &a),
                page("b", "2003-01-01", &b),
                page("a", "2004-01-01", &a.to_uppercase()),
                page("a", "2005-01-01", &longer),
            ],
        );
        let told = history(&story, "a").expect("a page");
        let seen: Vec<usize> = told.captures.iter().map(|one| one.sweep).collect();
        assert_eq!((seen, &told.missed), (vec![1, 2, 4, 5], &vec![3]));
        let change = |place: usize| told.captures[place].change;
        assert_eq!(change(0), None);
        assert_eq!(change(1), Some(Change::Unchanged));
        assert_eq!(change(2), Some(Change::SameWords));
        let Some(Change::Changed(alike)) = change(3) else {
            panic!("{:?}", change(3));
        };
        // 39 shingles of two words became 43.
        let value = alike.resemblance().expect("samples").value;
        assert!((value - 39.0 / 43.0).abs() < 1e-9, "{value}");
        assert!(alike.other_in_capture().expect("samples").value > 1.0 - 1e-9);
        assert!(alike.capture_in_other().expect("samples").value < 1.0);
        assert_eq!(history(&story, "c"), None);
    }

    #[test]
    fn every_capture_of_a_sweep_is_told() {
        let (a, b) = (text("a"), text("b"));
        let mut story = Story::default();
        story.add(
            None,
            &[
                page("a", "2001-01-01T03:00:00Z", &b),
                page("a", "2001-01-01T01:00:00Z", &a),
                page("a", "2001-01-01T02:00:00Z", &a),
                page("a", "2001-01-01T03:00:00Z", &a),
                page("a", "2002-01-01", &a),
                page("a", "no date", &b),
            ],
        );
        let told = history(&story, "a").expect("a page");
        let seen: Vec<(usize, String, &str)> = told
            .captures
            .iter()
            .map(|one| {
                let hour = one
                    .date
                    .map(crate::corpus::date::rfc3339)
                    .unwrap_or_default();
                let how = match one.change {
                    None => "first",
                    Some(Change::Unchanged) => "same",
                    Some(_) => "changed",
                };
                (one.sweep, hour[..13].to_owned(), how)
            })
            .collect();
        let expected = [
            (0, "2001-01-01T01", "first"),
            (0, "2001-01-01T02", "same"),
            (0, "2001-01-01T03", "changed"),
            (0, "2001-01-01T03", "changed"),
            (1, "2002-01-01T00", "same"),
        ];
        let expected = expected.map(|(sweep, hour, how)| (sweep, hour.to_owned(), how));
        assert_eq!(seen, expected);
        assert_eq!(told.undated, 1);
    }

    #[test]
    fn a_capture_without_a_word_is_told_too() {
        let a = text("a");
        let mut story = Story::default();
        story.add(
            None,
            &[
                page("a", "2001-01-01", &a),
                page("b", "2001-01-01", "\n"),
                page("a", "2002-01-01", " "),
                page("b", "2002-01-01", "-"),
                page("a", "2003-01-01", &a),
            ],
        );
        let told = history(&story, "a").expect("a page");
        let seen: Vec<(usize, u64)> = told
            .captures
            .iter()
            .map(|one| (one.sweep, one.tokens))
            .collect();
        assert_eq!(seen, [(0, 40), (1, 0), (2, 40)]);
        assert_eq!(told.missed, [0; 0]);
        for place in [1, 2] {
            let change = told.captures[place].change;
            assert!(matches!(change, Some(Change::Changed(_))), "{change:?}");
        }
        let told = history(&story, "b").expect("a page that never had a word");
        assert_eq!((told.captures.len(), told.missed), (2, vec![2]));
        assert_eq!(told.captures[1].change, Some(Change::SameWords));
    }

    #[test]
    fn of_pages_that_swap_places_each_knows_where_its_text_is() {
        let (a, b) = (text("a"), text("b"));
        let mut story = Story::default();
        story.add(
            None,
            &[
                page("a", "2001-01-01", &a),
                page("b", "2001-01-01", &b),
                page("a", "2002-01-01", &b),
                page("b", "2002-01-01", &a),
            ],
        );
        let told = history(&story, "a").expect("a page");
        let captures = &told.captures;
        assert_eq!(captures.len(), 2);
        let finder = Finder::open(&story.path(), None).expect("a collection");
        let now = captures[0].now.first().expect("it is somewhere");
        let entry = finder.collection().entry(now.doc).expect("an entry");
        assert_eq!(entry.key, story.key("b"));
        assert!(now.resemblance().expect("samples").value > 1.0 - 1e-9);
        assert_eq!(captures[1].now, [], "that text is here");
        assert!(matches!(captures[1].change, Some(Change::Changed(_))));
    }

    #[test]
    fn neighbours_are_pages_of_the_same_sweep() {
        let a = text("a");
        let mut story = Story::default();
        story.add(
            None,
            &[
                page("a", "2001-01-01", &a),
                page("b", "2001-01-01", &a),
                page("c", "2002-01-01", &a),
                page("a", "2002-01-01", &a),
            ],
        );
        let told = history(&story, "a").expect("a page");
        let finder = Finder::open(&story.path(), None).expect("a collection");
        let keys: Vec<Vec<u64>> = told
            .captures
            .iter()
            .map(|capture| {
                let docs = capture.neighbours.iter().map(|one| one.doc);
                docs.map(|doc| finder.collection().entry(doc).expect("an entry").key)
                    .collect()
            })
            .collect();
        assert_eq!(keys, [[story.key("b")], [story.key("c")]]);
    }
}
