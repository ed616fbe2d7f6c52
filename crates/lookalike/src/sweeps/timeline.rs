//! Which sweeps there are, and which document each page was in each of them.
//!
//! ```text
//! captures ─► days that have some, dates given ─► spans of time, in order ─► sweeps
//!          └─► each to its sweep ─► sorted by page ─► where two versions meet: the last
//! ```
//!
//! Which sweep a capture belongs to:
//!
//! - What was added with a date given belongs to the sweep of that date, whatever it says
//!   of itself. Two adds with one date given are one sweep.
//! - What was added without goes by its own date: a pause of a day or more between two
//!   captures, of whichever adds, separates two sweeps. So inputs that are dated by day
//!   give one sweep a day, and a crawl that runs for a week is one.
//! - A date given that lies between the first and the last capture of such a sweep means
//!   that sweep.
//! - What has no date, or one that does not exist, belongs with the rest of its add if
//!   that is one sweep. If nothing of the add has a date, the add is a sweep of its own,
//!   right after those of the add before. If the rest is several sweeps, it belongs to
//!   none, and is counted.
//!
//! Sweeps are in order of time, in whatever order they were added. A page captured several
//! times in a sweep is there once: as it was captured last, by its own date, and of
//! captures in one second by the one that was read last.
//!
//! N captures on D days: O(N log N) and two passes over entries and captures, a third if
//! pages were seen in two versions in one sweep. 16 bytes a page and sweep; while it is
//! made, 16 a capture and 8 a document, and something for each day.

use std::collections::BTreeMap;

use hashbrown::HashMap;

use crate::collection::Collection;
use crate::collection::entry::BLANK;
use crate::collection::entry::{self, Entry};
use crate::corpus::date::rfc3339;
use crate::corpus::record::Timestamp;
use crate::storage::StorageError;

/// What every sweep saw: 16 bytes for each page of each sweep.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    calendar: Calendar,
    sweeps: Vec<Moment>,
    /// As many as there are sweeps; each strictly increasing by key.
    pages: Vec<Vec<Seen>>,
    undated: u64,
}

/// One sweep.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Moment {
    /// Its first capture, or the date that was given; nothing where there is neither.
    pub date: Option<Timestamp>,
    /// Its last capture, or the date that was given.
    pub until: Option<Timestamp>,
    /// How many pages it saw.
    pub pages: u32,
    /// How many captures it has; a page may have several.
    pub captures: u64,
}

/// A page as one sweep saw it.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Seen {
    /// What the page goes by: [`Entry::key`](crate::collection::entry::Entry::key).
    pub key: u64,
    /// The document it was.
    pub doc: u32,
}

/// A capture of a document.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Captured {
    /// Which sweep it belongs to, if any.
    pub sweep: Option<usize>,
    /// When it was made, as far as known.
    pub date: Option<Timestamp>,
    /// Of which document.
    pub doc: u32,
}

/// A pause so long, in seconds, separates two sweeps.
const PAUSE: i64 = 24 * 60 * 60;

impl Timeline {
    /// Reads all captures of a collection.
    pub fn of(collection: &Collection) -> Result<Timeline, StorageError> {
        let calendar = Calendar::of(collection)?;
        let keys = Keys::of(collection)?;
        let mut sweeps = calendar.moments();
        let mut pages = vec![Vec::new(); sweeps.len()];
        let mut undated = 0;
        each_capture(collection, |capture| match calendar.sweep(capture) {
            Some(sweep) => {
                sweeps[sweep].captures += 1;
                pages[sweep].push(Seen {
                    key: keys.get(capture.doc),
                    doc: capture.doc,
                });
            }
            None => undated += 1,
        })?;
        for seen in &mut pages {
            seen.sort_unstable();
            seen.dedup();
        }
        keep_last(collection, &calendar, &keys, &mut pages)?;
        for (sweep, seen) in sweeps.iter_mut().zip(&mut pages) {
            seen.shrink_to_fit();
            sweep.pages = u32::try_from(seen.len()).unwrap_or(u32::MAX);
        }
        Ok(Timeline {
            calendar,
            sweeps,
            pages,
            undated,
        })
    }

    /// The sweeps, in order of time.
    pub fn sweeps(&self) -> &[Moment] {
        &self.sweeps
    }

    /// What a sweep goes by: the day it began, or the second if another began that day; or
    /// its place among all.
    pub fn name(&self, sweep: usize) -> String {
        let Some(Timestamp(date)) = self.sweeps[sweep].date else {
            return format!("sweep {}", sweep + 1);
        };
        let day = |date: i64| date.div_euclid(PAUSE);
        let is_same = |moment: &&Moment| moment.date.is_some_and(|own| day(own.0) == day(date));
        let text = rfc3339(Timestamp(date));
        match self.sweeps.iter().filter(is_same).count() {
            1 => text.get(..10).unwrap_or(&text).to_owned(),
            _ => text,
        }
    }

    /// The pages of a sweep: strictly increasing by key.
    pub fn pages(&self, sweep: usize) -> &[Seen] {
        &self.pages[sweep]
    }

    /// The document that a page was in a sweep, if that saw it. O(log pages).
    pub fn at(&self, sweep: usize, key: u64) -> Option<u32> {
        let pages = &self.pages[sweep];
        let found = pages.binary_search_by_key(&key, |seen| seen.key);
        found.ok().map(|place| pages[place].doc)
    }

    /// The sweeps that saw a page, in order of time, and the document it was.
    pub fn sightings(&self, key: u64) -> impl Iterator<Item = (usize, u32)> {
        (0..self.sweeps.len()).filter_map(move |sweep| Some((sweep, self.at(sweep, key)?)))
    }

    /// Captures that belong to no sweep: they have no date, and came with those of several.
    pub fn undated(&self) -> u64 {
        self.undated
    }

    /// All captures of some documents, in order of time and then of reading. What belongs to
    /// no sweep comes first. One pass over the captures of all adds.
    pub fn captures(
        &self,
        collection: &Collection,
        docs: &[u32],
    ) -> Result<Vec<Captured>, StorageError> {
        let mut found: Vec<(Option<usize>, Order, u32)> = Vec::new();
        let mut take = |capture: Capture| {
            let sweep = self.calendar.sweep(capture);
            found.push((sweep, self.calendar.order(capture), capture.doc));
        };
        for &doc in docs {
            let entry = collection.entry(doc)?;
            take(Capture::first(collection.sweep_of(doc), doc, &entry));
        }
        for add in 0..collection.state().sweeps.len() {
            let mut captures = collection.captures(add)?;
            while let Some(batch) = captures.next_batch()? {
                let of_them = batch.iter().filter(|again| docs.contains(&again.doc));
                of_them.for_each(|again| take(Capture::again(add, again)));
            }
        }
        found.sort_unstable();
        let told = found.into_iter().map(|(sweep, order, doc)| Captured {
            sweep,
            date: (order.0 != i64::MIN).then_some(Timestamp(order.0)),
            doc,
        });
        Ok(told.collect())
    }
}

/// One record that was read: the first of a document, or one more of it.
#[derive(Clone, Copy, Debug)]
struct Capture {
    add: usize,
    doc: u32,
    /// Where it was read.
    source: u32,
    offset: u64,
    /// Its own date.
    date: Option<i64>,
}

impl Capture {
    fn first(add: usize, doc: u32, entry: &Entry) -> Capture {
        Capture {
            add,
            doc,
            source: entry.source,
            offset: entry.offset,
            date: entry.when().map(|when| when.0),
        }
    }

    fn again(add: usize, again: &entry::Capture) -> Capture {
        Capture {
            add,
            doc: again.doc,
            source: again.source,
            offset: again.offset,
            date: (again.date != i64::MIN).then_some(again.date),
        }
    }
}

/// All captures. Documents of an add come before its further captures, in no order that
/// means anything.
fn each_capture(
    collection: &Collection,
    mut each: impl FnMut(Capture),
) -> Result<(), StorageError> {
    for (add, brought) in collection.state().sweeps.iter().enumerate() {
        let mut entries = collection.entries(add)?;
        let mut doc = brought.base;
        while let Some(batch) = entries.next_batch()? {
            for entry in batch {
                each(Capture::first(add, doc, entry));
                doc += 1;
            }
        }
        let documents = collection.documents();
        let mut captures = collection.captures(add)?;
        while let Some(batch) = captures.next_batch()? {
            for again in batch.iter().filter(|again| again.doc < documents) {
                each(Capture::again(add, again));
            }
        }
    }
    for blank in BLANK..BLANK + collection.blanks() {
        let add = collection.sweep_of(blank);
        each(Capture::first(add, blank, &collection.entry(blank)?));
    }
    Ok(())
}

/// What each document goes by, and each capture without a word.
struct Keys {
    docs: Vec<u64>,
    blanks: Vec<u64>,
}

impl Keys {
    fn of(collection: &Collection) -> Result<Keys, StorageError> {
        let mut docs = Vec::with_capacity(collection.documents() as usize);
        collection.each_entry(|_, entry| docs.push(entry.key))?;
        let blanks = BLANK..BLANK + collection.blanks();
        let blanks = blanks.map(|blank| Ok(collection.entry(blank)?.key));
        Ok(Keys {
            docs,
            blanks: blanks.collect::<Result<_, StorageError>>()?,
        })
    }

    fn get(&self, doc: u32) -> u64 {
        match doc.checked_sub(BLANK) {
            Some(blank) => self.blanks[blank as usize],
            None => self.docs[doc as usize],
        }
    }
}

/// Of pages that one sweep saw as two documents or more, only the last is kept.
fn keep_last(
    collection: &Collection,
    calendar: &Calendar,
    keys: &Keys,
    pages: &mut [Vec<Seen>],
) -> Result<(), StorageError> {
    // When, and where in order of reading, and what it was then.
    let mut last: HashMap<(usize, u64), Option<(Order, u32)>> = HashMap::new();
    for (sweep, pages) in pages.iter().enumerate() {
        let twice = pages.windows(2).filter(|pair| pair[0].key == pair[1].key);
        last.extend(twice.map(|pair| ((sweep, pair[0].key), None)));
    }
    if last.is_empty() {
        return Ok(());
    }
    each_capture(collection, |capture| {
        let Some(sweep) = calendar.sweep(capture) else {
            return;
        };
        if let Some(last) = last.get_mut(&(sweep, keys.get(capture.doc))) {
            *last = (*last).max(Some((calendar.order(capture), capture.doc)));
        }
    })?;
    for (sweep, pages) in pages.iter_mut().enumerate() {
        pages.retain(|seen| match last.get(&(sweep, seen.key)) {
            Some(Some((_, doc))) => *doc == seen.doc,
            _ => true,
        });
    }
    Ok(())
}

/// When a capture was made, and then where it was read.
type Order = (i64, usize, u32, u64);

/// The spans of time that are sweeps, and what becomes of the captures of each add.
#[derive(Clone, Debug, Default)]
struct Calendar {
    /// Apart from each other, in order, both ends included.
    spans: Vec<(i64, i64)>,
    /// The sweep that a span is: adds without any date may stand between.
    sweep_of_span: Vec<usize>,
    adds: Vec<Added>,
    sweeps: usize,
}

/// What is known of the captures of one add.
#[derive(Clone, Copy, Debug, Default)]
struct Added {
    /// The date that was given.
    given: Option<i64>,
    /// The first and the last date that its captures have.
    dates: Option<(i64, i64)>,
    /// Whether some have none.
    has_undated: bool,
    /// Where those belong.
    undated: Option<usize>,
}

impl Calendar {
    fn of(collection: &Collection) -> Result<Calendar, StorageError> {
        let adds = collection.state().sweeps.iter();
        let mut adds: Vec<Added> = adds
            .map(|add| Added {
                given: add.date,
                ..Added::default()
            })
            .collect();
        // No pause is shorter than a day and within one: the first and the last capture of
        // each day are enough to find all.
        let mut days: BTreeMap<i64, (i64, i64)> = BTreeMap::new();
        each_capture(collection, |capture| {
            let add = &mut adds[capture.add];
            match capture.date {
                Some(date) => {
                    let (first, last) = add.dates.get_or_insert((date, date));
                    (*first, *last) = (date.min(*first), date.max(*last));
                    if add.given.is_none() {
                        let day = days.entry(date.div_euclid(PAUSE)).or_insert((date, date));
                        *day = (date.min(day.0), date.max(day.1));
                    }
                }
                None => add.has_undated = true,
            }
        })?;
        Ok(Calendar::new(days.into_values(), adds))
    }

    /// `days` has the first and the last capture of each day, of those that go by their
    /// own date.
    fn new(days: impl Iterator<Item = (i64, i64)>, adds: Vec<Added>) -> Calendar {
        let mut spans: Vec<(i64, i64)> = Vec::new();
        for (first, last) in days {
            match spans.last_mut() {
                Some(span) if first.saturating_sub(span.1) < PAUSE => span.1 = last,
                _ => spans.push((first, last)),
            }
        }
        let mut given: Vec<i64> = adds.iter().filter_map(|add| add.given).collect();
        given.sort_unstable();
        given.dedup();
        given.retain(|date| span_of(&spans, *date).is_none());
        spans.extend(given.into_iter().map(|date| (date, date)));
        spans.sort_unstable();

        let mut calendar = Calendar {
            spans,
            adds,
            ..Calendar::default()
        };
        calendar.place_undated();
        calendar
    }

    /// Finds the places of adds that have no date at all among the spans, and with them
    /// those of all sweeps.
    fn place_undated(&mut self) {
        // By the span they come after, and then in the order they were added.
        let mut own: Vec<(Option<usize>, usize)> = Vec::new();
        let mut after = None;
        for (number, add) in self.adds.iter().enumerate() {
            match add.given.or(add.dates.map(|(_, last)| last)) {
                Some(last) => after = span_of(&self.spans, last),
                None if add.has_undated => own.push((after, number)),
                None => {}
            }
        }
        own.sort_unstable();
        let mut own = own.into_iter().peekable();
        let mut next = 0;
        for span in (0..self.spans.len()).map(Some).chain([None]) {
            // Those after an earlier span, or before all of them.
            while let Some((_, add)) = own.next_if(|(after, _)| span.is_none() || *after < span) {
                self.adds[add].undated = Some(next);
                next += 1;
            }
            if span.is_some() {
                self.sweep_of_span.push(next);
                next += 1;
            }
        }
        self.sweeps = next;
        for number in 0..self.adds.len() {
            if let Some((first, last)) = self.adds[number].dates {
                let (first, last) = (self.dated(first), self.dated(last));
                self.adds[number].undated = first.filter(|_| first == last);
            }
        }
    }

    /// The sweep of a date.
    fn dated(&self, date: i64) -> Option<usize> {
        let span = span_of(&self.spans, date)?;
        self.sweep_of_span.get(span).copied()
    }

    /// The sweep of a capture, if it belongs to one.
    fn sweep(&self, capture: Capture) -> Option<usize> {
        let add = &self.adds[capture.add];
        match add.given.or(capture.date) {
            Some(date) => self.dated(date),
            None => add.undated,
        }
    }

    fn order(&self, capture: Capture) -> Order {
        let date = capture.date.or(self.adds[capture.add].given);
        (
            date.unwrap_or(i64::MIN),
            capture.add,
            capture.source,
            capture.offset,
        )
    }

    /// The sweeps, with nothing counted.
    fn moments(&self) -> Vec<Moment> {
        let mut moments = vec![Moment::default(); self.sweeps];
        for (&(first, last), &sweep) in self.spans.iter().zip(&self.sweep_of_span) {
            moments[sweep].date = Some(Timestamp(first));
            moments[sweep].until = Some(Timestamp(last));
        }
        moments
    }
}

/// The span that a date lies in.
fn span_of(spans: &[(i64, i64)], date: i64) -> Option<usize> {
    let after = spans.partition_point(|(first, _)| *first <= date);
    let span = after.checked_sub(1)?;
    (date <= spans[span].1).then_some(span)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::sweeps::story::{Story, page};

    /// What each sweep saw: its name, and pages with the documents' texts.
    fn told(story: &Story) -> Vec<String> {
        let collection = story.collection();
        let timeline = Timeline::of(&collection).expect("a timeline");
        let tell = |sweep| {
            let pages = timeline.pages(sweep).iter();
            let mut pages: Vec<String> = pages.map(|seen| story.text_of(seen.doc)).collect();
            pages.sort_unstable();
            format!("{}: {}", timeline.name(sweep), pages.join(" "))
        };
        let mut told: Vec<String> = (0..timeline.sweeps().len()).map(tell).collect();
        if timeline.undated() > 0 {
            told.push(format!("undated: {}", timeline.undated()));
        }
        told
    }

    #[test]
    fn one_by_one_or_all_at_once_is_the_same_timeline() {
        let sweeps = [
            vec![page("a", "2020-01-01", "a1"), page("b", "2020-01-01", "b1")],
            vec![page("a", "2020-01-02", "a1"), page("b", "2020-01-02", "b2")],
            vec![page("a", "2021-05-05", "a2"), page("c", "2021-05-05", "c1")],
        ];
        let expected = [
            "2020-01-01: a1 b1",
            "2020-01-02: a1 b2",
            "2021-05-05: a2 c1",
        ];
        let mut apart = Story::default();
        let mut backwards = Story::default();
        for (sweep, last) in sweeps.iter().zip(sweeps.iter().rev()) {
            apart.add(None, sweep);
            backwards.add(None, last);
        }
        let mut together = Story::default();
        together.add(None, &sweeps.concat());
        for story in [apart, backwards, together] {
            assert_eq!(told(&story), expected);
        }
    }

    #[test]
    fn a_pause_of_a_day_separates_two_sweeps_and_a_shorter_one_does_not() {
        let mut story = Story::default();
        story.add(
            None,
            &[
                page("a", "2020-01-01T12:00:00Z", "a1"),
                page("b", "2020-01-02T11:59:59Z", "b1"),
                page("c", "2020-01-03T11:59:59Z", "c1"),
                page("d", "2020-01-04T11:59:58Z", "d1"),
            ],
        );
        assert_eq!(told(&story), ["2020-01-01: a1 b1", "2020-01-03: c1 d1"]);
    }

    #[test]
    fn a_date_given_holds_for_all_that_was_added_with_it() {
        let mut story = Story::default();
        story.add(Some("2020-06-01"), &[page("a", "2019-01-01", "a1")]);
        story.add(None, &[page("a", "2019-01-01", "a0")]);
        story.add(
            Some("2020-06-01"),
            &[page("b", "", "b1"), page("c", "2021-02-30", "c1")],
        );
        assert_eq!(
            told(&story),
            ["2019-01-01: a0", "2020-06-01: a1 b1 c1"],
            "two adds with one date given are one sweep"
        );
    }

    #[test]
    fn a_date_given_within_a_sweep_means_that_sweep() {
        let crawl = [
            page("a", "2020-01-01T06:00:00Z", "a1"),
            page("b", "2020-01-02T05:00:00Z", "b1"),
        ];
        let mut within = Story::default();
        within.add(None, &crawl);
        within.add(Some("2020-01-02"), &[page("c", "", "c1")]);
        assert_eq!(told(&within), ["2020-01-01: a1 b1 c1"]);

        let mut near = Story::default();
        near.add(Some("2020-01-01"), &[page("c", "", "c1")]);
        near.add(None, &crawl);
        assert_eq!(
            told(&near),
            ["2020-01-01T00:00:00Z: c1", "2020-01-01T06:00:00Z: a1 b1"]
        );
    }

    #[test]
    fn what_has_no_date_belongs_with_the_rest_of_its_add_if_that_is_one_sweep() {
        let mut one = Story::default();
        one.add(
            None,
            &[
                page("a", "2020-01-01", "a1"),
                page("b", "", "b1"),
                page("c", "2020-13-45", "c1"),
            ],
        );
        assert_eq!(told(&one), ["2020-01-01: a1 b1 c1"]);

        let mut several = Story::default();
        several.add(
            None,
            &[
                page("a", "2020-01-01", "a1"),
                page("b", "", "b1"),
                page("a", "2020-01-09", "a1"),
            ],
        );
        assert_eq!(
            told(&several),
            ["2020-01-01: a1", "2020-01-09: a1", "undated: 1"]
        );

        // They are one sweep once another add fills the pause.
        let hours = (1..=8).flat_map(|day| [(day, 9), (day, 18)]);
        let filling =
            hours.map(|(day, hour)| page("z", &format!("2020-01-0{day}T{hour:02}:00:00Z"), "z1"));
        several.add(None, &filling.collect::<Vec<_>>());
        assert_eq!(told(&several), ["2020-01-01: a1 b1 z1"]);
    }

    #[test]
    fn an_add_without_any_date_is_a_sweep_after_those_of_the_add_before() {
        let mut story = Story::default();
        story.add(None, &[page("a", "", "a1"), page("b", "never", "b1")]);
        story.add(
            None,
            &[page("a", "2022-01-01", "a2"), page("b", "2021-01-01", "b2")],
        );
        story.add(None, &[page("a", "", "a3")]);
        story.add(None, &[page("a", "", "a3"), page("c", "", "c1")]);
        story.add(None, &[page("a", "2023-01-01", "a4")]);
        story.add(None, &[page("a", "2021-06-01", "a5")]);
        story.add(None, &[page("a", "", "a6")]);
        story.add(Some("2022-01-01"), &[page("d", "", "d1")]);
        story.add(None, &[page("a", "", "a7")]);
        assert_eq!(
            told(&story),
            [
                "sweep 1: a1 b1",
                "2021-01-01: b2",
                "2021-06-01: a5",
                "sweep 4: a6",
                "2022-01-01: a2 d1",
                "sweep 6: a3",
                "sweep 7: a3 c1",
                "sweep 8: a7",
                "2023-01-01: a4",
            ]
        );
    }

    #[test]
    fn of_a_page_captured_twice_in_a_sweep_the_last_counts() {
        let mut story = Story::default();
        story.add(
            None,
            &[
                page("a", "2020-01-01T03:00:00Z", "a3"),
                page("a", "2020-01-01T01:00:00Z", "a1"),
                page("a", "2020-01-01T02:00:00Z", "a2"),
                page("b", "2020-01-01T01:00:00Z", "b1"),
                page("b", "2020-01-01T01:00:00Z", "b2"),
                // The first version again: its document is older than the second's.
                page("c", "2020-01-01T01:00:00Z", "c1"),
                page("c", "2020-01-01T02:00:00Z", "c2"),
                page("c", "2020-01-01T03:00:00Z", "c1"),
            ],
        );
        assert_eq!(told(&story), ["2020-01-01: a3 b2 c1"]);
        let timeline = Timeline::of(&story.collection()).expect("a timeline");
        let moment = timeline.sweeps()[0];
        assert_eq!((moment.pages, moment.captures), (3, 8));
        assert_eq!(
            moment.until.map(rfc3339).as_deref(),
            Some("2020-01-01T03:00:00Z")
        );
    }

    #[test]
    fn of_two_adds_in_one_second_the_later_counts() {
        let mut story = Story::default();
        story.add(None, &[page("a", "2020-01-01", "a1")]);
        story.add(None, &[page("a", "2020-01-01", "a2")]);
        story.add(None, &[page("a", "2020-01-01", "a1")]);
        assert_eq!(told(&story), ["2020-01-01: a1"]);
    }

    #[test]
    fn a_page_is_followed_through_the_sweeps_that_saw_it() {
        let mut story = Story::default();
        story.add(
            None,
            &[
                page("a", "2020-01-01", "a1"),
                page("b", "2021-01-01", "b1"),
                page("a", "2022-01-01", "a1"),
                page("a", "2023-01-01", "a2"),
            ],
        );
        let timeline = Timeline::of(&story.collection()).expect("a timeline");
        let seen: Vec<_> = timeline.sightings(story.key("a")).collect();
        let told: Vec<_> = seen
            .iter()
            .map(|&(sweep, doc)| (sweep, story.text_of(doc)))
            .collect();
        let expected = [(0, "a1"), (2, "a1"), (3, "a2")];
        assert_eq!(told, expected.map(|(sweep, text)| (sweep, text.to_owned())));
        assert_eq!(seen[0].1, seen[1].1, "one document, captured twice");
        assert_eq!(timeline.at(1, story.key("a")), None);
        assert_eq!(timeline.sightings(story.key("z")).count(), 0);
    }

    #[test]
    fn the_ends_of_time_are_dates() {
        let days = [(i64::MIN + 1, i64::MIN + 1), (i64::MAX, i64::MAX)];
        let calendar = Calendar::new(days.into_iter(), Vec::new());
        assert_eq!(calendar.sweeps, 2);
        assert_eq!(calendar.dated(i64::MAX), Some(1));
        assert_eq!(calendar.dated(0), None);
    }

    proptest! {
        /// By definition: dates sorted, cut where a pause is a day or more.
        #[test]
        fn days_tell_all_pauses(mut dates in prop::collection::vec(-500_000_i64..500_000, 1..40)) {
            let mut days: BTreeMap<i64, (i64, i64)> = BTreeMap::new();
            for &date in &dates {
                let day = days.entry(date.div_euclid(PAUSE)).or_insert((date, date));
                *day = (date.min(day.0), date.max(day.1));
            }
            let calendar = Calendar::new(days.into_values(), Vec::new());
            dates.sort_unstable();
            let cut = dates.chunk_by(|x, y| y - x < PAUSE);
            let expected: Vec<(i64, i64)> = cut.map(|part| (part[0], part[part.len() - 1])).collect();
            prop_assert_eq!(calendar.spans, expected);
        }
    }
}
