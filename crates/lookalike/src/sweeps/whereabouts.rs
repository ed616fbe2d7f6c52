//! Lost and found: an address → where its page is now, how sure, or that it is gone.
//!
//! ```text
//! address ─► last good capture ─► later sweeps: the same address ─► present
//!                                               traces ─► moved, ranked ─► moved on?
//!                                               nothing ─► gone, or nobody looked
//! ```
//!
//! Places are ranked by how much speaks for them, each with a confidence of its own. A
//! place may have vanished since: then where its page went is a place too, and the answer
//! says which are still there.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use lookalike_core::estimate::Estimate;

use super::address::is_same_host;
use super::hosts::host_of;
use super::moves::MOVED;
use super::trail::{Evidence, How, TIE, Trace, Trail};
use crate::add::sketching::{id_key, url_key};
use crate::collection::Collection;
use crate::collection::entry::{BLANK, Flag};
use crate::corpus::record::Timestamp;
use crate::find::Finder;
use crate::pairs::Measure;
use crate::storage::StorageError;

/// What became of a page.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Status {
    /// It is where it was.
    Present,
    /// Its text is at another address.
    Moved,
    /// No later sweep has it.
    Gone,
    /// It was never seen, or no later sweep visited its host.
    Unknown,
}

impl Status {
    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Status::Present => "present",
            Status::Moved => "moved",
            Status::Gone => "gone",
            Status::Unknown => "unknown",
        }
    }
}

/// Where a page is.
#[derive(Clone, Debug)]
pub struct Whereabouts {
    /// What became of it.
    pub status: Status,
    /// How sure the status is; nothing if it is unknown.
    pub confidence: Option<f64>,
    /// The last good capture: the text that was looked for.
    pub doc: Option<u32>,
    /// The last sweep that saw it.
    pub last_sweep: Option<usize>,
    /// When that was, as far as known.
    pub last_seen: Option<Timestamp>,
    /// Where it may be now, the best first.
    pub now: Vec<Place>,
    /// Whether the second place is as good as the first.
    pub is_tie: bool,
    /// Whether no later sweep visited its host.
    pub is_unvisited: bool,
}

/// A place where a page may be now.
#[derive(Clone, Debug)]
pub struct Place {
    /// Its address, or id.
    pub url: String,
    /// The newest document there.
    pub doc: u32,
    /// The document that was found to have the text.
    pub found: u32,
    /// When it was last seen.
    pub date: Option<Timestamp>,
    /// Whether the newest sweep that visited its host has it.
    pub is_present: bool,
    /// Whether it is on the host of the page.
    pub is_same_host: bool,
    /// How sure it is that this is the page's place.
    pub confidence: f64,
    /// How the page is there.
    pub how: How,
    /// By way of which address, if it was found by following it there.
    pub via: Option<String>,
    /// The resemblance of the page and what was found.
    pub resemblance: Option<Estimate>,
    /// How much of the page is there.
    pub held: Option<Estimate>,
    /// How much of what is there is of the page.
    pub own: Option<Estimate>,
}

/// Sweeps that saw a page, and what it was there.
type Sightings = Vec<(usize, u32)>;

/// A place with less confidence is not told.
const FAINT: f64 = 0.05;

/// From this confidence on a page has perhaps moved; below, it is gone.
const PERHAPS: f64 = 0.15;

/// Places that are told.
const PLACES: usize = 10;

/// How often a page is followed from place to place.
const HOPS: usize = 8;

/// A page that has so little in common with what it was is another page.
const OTHER: f64 = 0.2;

impl Trail {
    /// Where the page of an address, or of an id, is now.
    pub fn whereabouts(&self, finder: &Finder, name: &str) -> Result<Whereabouts, StorageError> {
        let collection = finder.collection();
        let Some((key, sightings)) = self.sightings(collection, name)? else {
            return Ok(Whereabouts::unknown());
        };
        let (sweep, doc) = sightings[sightings.len() - 1];
        let good = last_good(collection, &sightings)?;
        let newest = self.timeline.sweeps().len() - 1;
        let visited = (sweep + 1..=newest).any(|sweep| self.hosts.visited(sweep, doc));
        let mut out = Whereabouts {
            doc: Some(good),
            last_sweep: Some(sweep),
            last_seen: self.last_seen(collection, sweep, doc)?,
            is_unvisited: sweep < newest && !visited,
            ..Whereabouts::unknown()
        };
        if sweep == newest {
            out.status = Status::Present;
            out.confidence = Some(1.0);
            out.now = vec![self.itself(finder, name, doc)?];
            // Where it was there may be another page now.
            if let Some(former) = former(finder, &sightings)? {
                let mut tried = BTreeSet::from([key]);
                let places = self.places(finder, name, former, &mut tried, None)?;
                out.now.extend(places.0);
            }
            return Ok(out);
        }
        let mut tried = BTreeSet::from([key]);
        let (places, is_tie) = self.places(finder, name, (sweep, good), &mut tried, None)?;
        let best = places.first().map_or(0.0, |best| best.confidence);
        (out.now, out.is_tie) = (places, is_tie);
        out.status = if best >= PERHAPS && (!out.is_unvisited || best >= MOVED) {
            Status::Moved
        } else if out.is_unvisited {
            Status::Unknown
        } else {
            Status::Gone
        };
        out.confidence = match out.status {
            Status::Moved => Some(best),
            // Without any evidence it may have moved and been rewritten.
            Status::Gone => Some(1.0 - best.max(Evidence::default().confidence())),
            Status::Present | Status::Unknown => None,
        };
        Ok(out)
    }

    /// What speaks for every place where the page of an address may be: for measuring.
    pub fn evidence(
        &self,
        finder: &Finder,
        name: &str,
    ) -> Result<Vec<(String, Evidence)>, StorageError> {
        let collection = finder.collection();
        let Some((_, sightings)) = self.sightings(collection, name)? else {
            return Ok(Vec::new());
        };
        let (sweep, _) = sightings[sightings.len() - 1];
        let good = last_good(collection, &sightings)?;
        let mut out = Vec::new();
        for trace in self.later_traces(finder, (sweep, good))? {
            let (_, url) = collection.strings(trace.doc, &collection.entry(trace.doc)?)?;
            out.push((url.unwrap_or_default(), trace.evidence));
        }
        Ok(out)
    }

    /// What the page of an address, or of an id, goes by, and the sweeps that saw it, in
    /// order of time: one at least. If several pages have the name, the one seen last.
    fn sightings(
        &self,
        collection: &Collection,
        name: &str,
    ) -> Result<Option<(u64, Sightings)>, StorageError> {
        // Captures without a word are of no document that could be found by its name.
        let mut keys = vec![url_key(name), id_key(name)];
        for doc in collection.find_named(name)? {
            keys.push(collection.entry(doc)?.key);
        }
        let mut last = None;
        for key in keys {
            let seen = self.timeline.sightings(key).last();
            last = last.max(seen.map(|(sweep, _)| (sweep, key)));
        }
        Ok(last.map(|(_, key)| (key, self.timeline.sightings(key).collect())))
    }

    /// Where a document that was last seen in a sweep may be in later ones.
    fn later_traces(
        &self,
        finder: &Finder,
        (from, doc): (usize, u32),
    ) -> Result<Vec<Trace>, StorageError> {
        let later = from + 1..self.timeline.sweeps().len();
        let (before, after) = (self.seen(from..from + 1), self.seen(later.clone()));
        let pages = &mut self.counting();
        self.traces(finder, doc, (from, &before), (later, &after), pages)
    }

    /// When a page that is a document in a sweep was captured there.
    fn last_seen(
        &self,
        collection: &Collection,
        sweep: usize,
        doc: u32,
    ) -> Result<Option<Timestamp>, StorageError> {
        let moment = self.timeline.sweeps()[sweep];
        if moment.date == moment.until {
            return Ok(moment.date);
        }
        let within = |date: &Timestamp| moment.date <= Some(*date) && Some(*date) <= moment.until;
        let mut last = None;
        for sighting in collection.captures_of(doc)? {
            last = last.max(sighting.date.filter(within));
        }
        Ok(last.or(moment.until))
    }

    /// The page at its own address.
    fn itself(&self, finder: &Finder, name: &str, doc: u32) -> Result<Place, StorageError> {
        let collection = finder.collection();
        let newest = self.timeline.sweeps().len() - 1;
        Ok(Place {
            url: name.to_owned(),
            doc,
            found: doc,
            date: self.last_seen(collection, newest, doc)?,
            is_present: true,
            is_same_host: true,
            confidence: 1.0,
            how: How::Moved,
            via: None,
            resemblance: Estimate::of(1, 1, 1.0),
            held: Estimate::of(1, 1, 1.0),
            own: Estimate::of(1, 1, 1.0),
        })
    }

    /// Where a document that was last seen in a sweep may be now, the best first, and
    /// whether the first two are as good as each other.
    fn places(
        &self,
        finder: &Finder,
        url: &str,
        last: (usize, u32),
        tried: &mut BTreeSet<u64>,
        via: Option<&str>,
    ) -> Result<(Vec<Place>, bool), StorageError> {
        let mut traces = self.later_traces(finder, last)?;
        traces.truncate(PLACES);
        traces.retain(|trace| trace.confidence() >= FAINT);
        let is_tie = match traces.as_slice() {
            [first, second, ..] => {
                first.evidence.rank() - second.evidence.rank() <= TIE
                    && second.evidence.confidence() >= PERHAPS
            }
            _ => false,
        };
        let places = traces.iter();
        let places = places.map(|trace| self.place(finder, url, trace, via));
        let mut places: Vec<Place> = places.collect::<Result<_, _>>()?;
        // What vanished from there again is followed, from the best place on.
        let Some(best) = places.first() else {
            return Ok((places, false));
        };
        let key = finder.collection().entry(best.doc)?.key;
        if best.confidence >= MOVED && !best.is_present && tried.insert(key) && tried.len() < HOPS {
            let last = self.timeline.sightings(key).last();
            if let Some(last) = last {
                let (there, sure) = (best.url.clone(), best.confidence);
                let (further, _) = self.places(finder, &there, last, tried, Some(&there))?;
                for mut place in further {
                    place.confidence *= sure;
                    place.is_same_host = is_same_host(url, &place.url);
                    let known = places.iter().any(|known| known.url == place.url);
                    if place.url != url && !known && place.confidence >= FAINT {
                        places.push(place);
                    }
                }
            }
        }
        // The same text in two places: the one that is still there.
        let is_sure = places
            .get(1)
            .is_some_and(|second| second.confidence >= MOVED);
        if is_tie && is_sure && !places[0].is_present && places[1].is_present {
            places.swap(0, 1);
        }
        places.truncate(PLACES);
        Ok((places, is_tie))
    }

    fn place(
        &self,
        finder: &Finder,
        url: &str,
        trace: &Trace,
        via: Option<&str>,
    ) -> Result<Place, StorageError> {
        let collection = finder.collection();
        let entry = collection.entry(trace.doc)?;
        let (id, there) = collection.strings(trace.doc, &entry)?;
        let there = there
            .or(id)
            .unwrap_or_else(|| format!("document {}", trace.doc));
        let last = self.timeline.sightings(entry.key).last();
        let (sweep, newest) = last.unwrap_or((trace.sweep, trace.doc));
        let doc = if newest < BLANK { newest } else { trace.doc };
        let visits = sweep + 1..self.timeline.sweeps().len();
        Ok(Place {
            is_same_host: is_same_host(url, &there),
            url: there,
            doc,
            found: trace.doc,
            date: self.last_seen(collection, sweep, newest)?,
            is_present: !visits
                .into_iter()
                .any(|later| self.hosts.visited(later, newest)),
            confidence: trace.confidence(),
            how: trace.evidence.how(),
            via: via.map(str::to_owned),
            resemblance: trace.resemblance(),
            held: trace.held(),
            own: trace.own(),
        })
    }
}

/// Which of several good places comes first.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Prefer {
    /// What was seen last.
    Newest,
    /// What is on the host of the page.
    SameHost,
    /// What is on this host.
    Host(String),
}

impl Prefer {
    /// `newest`, `same-host`, or the name of a host.
    pub fn of(text: &str) -> Prefer {
        match text {
            "newest" => Prefer::Newest,
            "same-host" => Prefer::SameHost,
            host => Prefer::Host(host.to_ascii_lowercase()),
        }
    }
}

impl Whereabouts {
    /// Puts what is preferred first, among places that are good enough to be told as the
    /// answer.
    pub fn prefer(&mut self, prefer: &Prefer) {
        let is_good = |place: &Place| place.confidence >= MOVED;
        let rank = |place: &Place| match prefer {
            Prefer::Newest => place.date.map_or(i64::MIN, |date| date.0),
            Prefer::SameHost => i64::from(place.is_same_host),
            Prefer::Host(host) => {
                let own = host_of(&place.url).map(str::to_ascii_lowercase);
                i64::from(own.as_ref() == Some(host))
            }
        };
        let wish = |place: &Place| Reverse((is_good(place), is_good(place).then(|| rank(place))));
        self.now.sort_by_key(wish);
    }

    fn unknown() -> Whereabouts {
        Whereabouts {
            status: Status::Unknown,
            confidence: None,
            doc: None,
            last_sweep: None,
            last_seen: None,
            now: Vec::new(),
            is_tie: false,
            is_unvisited: false,
        }
    }

    /// The best place that is still there, if it is good enough to send somebody to.
    pub fn present_place(&self, least: f64) -> Option<&Place> {
        self.now
            .iter()
            .find(|place| place.is_present && place.confidence >= least)
    }

    /// The best place, if it is a longer page that is still there and has all of this one:
    /// who looks for the text finds it there, however the page is called that it is in.
    pub fn present_whole(&self) -> Option<&Place> {
        let best = self.now.first()?;
        let is_whole = best.held.is_some_and(|held| held.value >= WHOLE);
        (best.is_present && best.how == How::Folded && is_whole && best.confidence >= PERHAPS)
            .then_some(best)
    }
}

/// What has so much of a page has all of it.
const WHOLE: f64 = 0.9;

/// What a page was when it last had a text worth looking for: not one that is shorter than
/// a shingle, if there is another.
fn last_good(collection: &Collection, sightings: &[(usize, u32)]) -> Result<u32, StorageError> {
    for &(_, doc) in sightings.iter().rev() {
        if !collection.entry(doc)?.has(Flag::Short) {
            return Ok(doc);
        }
    }
    Ok(sightings[sightings.len() - 1].1)
}

/// What a page was before it became another, if it did.
fn former(
    finder: &Finder,
    sightings: &[(usize, u32)],
) -> Result<Option<(usize, u32)>, StorageError> {
    let Some((&(_, newest), earlier)) = sightings.split_last() else {
        return Ok(None);
    };
    let Some(&(sweep, doc)) = earlier.iter().rev().find(|seen| seen.1 != newest) else {
        return Ok(None);
    };
    let pair = finder.pair(doc, newest)?;
    let kind = finder.recipe().sketch;
    let shares = [Measure::Resemblance, Measure::AInB, Measure::BInA];
    let most = shares
        .iter()
        .filter_map(|measure| pair.value(*measure, kind));
    let is_other = most.fold(0.0, f64::max) < OTHER;
    Ok(is_other.then_some((sweep, doc)))
}
