//! A page that vanished → the places where it may be now, and what speaks for each.
//!
//! ```text
//! document ─► its samples, each by how few pages have it ─► documents of later sweeps
//!             └─► pages by what they share ─► the best few: seen from their side too
//!                                             └─► Evidence ─► rank, confidence
//! ```
//!
//! What two documents share counts by how rare it is, so that a page is not taken for the
//! next one of a generated family, whose template it has too (`find::shares`). What a page had
//! all along is not what became of another, and what an other page explains better is not
//! either: that is seen from the side of the candidate. Addresses decide between places
//! that have the text, and speak for one that has some of it.
//!
//! All from sketches: a page takes a few milliseconds, most of them for candidates seen
//! from their own side.

use std::ops::Range;

use lookalike_core::estimate::Estimate;
use lookalike_core::recipe::SketchKind;

use super::address::{Address, Addresses};
use super::hosts::Hosts;
use super::timeline::Timeline;
use crate::collection::Collection;
use crate::collection::entry::BLANK;
use crate::find::{Finder, Pages, Query, Reread, Shares};
use crate::pairs::{Basis, Measure, Pair};
use crate::storage::StorageError;

/// What is needed to follow pages through the sweeps of a collection: 16 bytes for each
/// page of each sweep, 16 to 24 a page, 8 a document, 8 more a copy, and the names of hosts.
#[derive(Debug)]
pub struct Trail {
    /// Which page each sweep saw as which document.
    pub timeline: Timeline,
    /// Which hosts it visited.
    pub hosts: Hosts,
    /// What the addresses of pages have in common.
    addresses: Addresses,
    /// The page that each document is of.
    page_of: Vec<u32>,
    /// How many there are.
    pages: usize,
    /// (the first with its sketch, document), sorted, of the documents that are copies.
    copies: Vec<(u32, u32)>,
}

/// Some documents of a collection, and the first with the sketch of each.
#[derive(Clone, Debug)]
pub(crate) struct Docs {
    docs: Bits,
    classes: Bits,
}

#[derive(Clone, Debug)]
struct Bits(Vec<u64>);

impl Bits {
    fn set(&mut self, doc: u32) {
        self.0[doc as usize / 64] |= 1 << (doc % 64);
    }

    fn has(&self, doc: u32) -> bool {
        let word = self.0.get(doc as usize / 64);
        word.is_some_and(|word| word >> (doc % 64) & 1 == 1)
    }
}

/// A place where a page may be now.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// The document that was found there.
    pub doc: u32,
    /// The first of the later sweeps that saw it.
    pub sweep: usize,
    /// What speaks for it.
    pub evidence: Evidence,
    /// Other texts for which as much speaks.
    pub rivals: u32,
    /// What the two have in common: the page that vanished is `a`, with no number.
    pair: Pair,
    kind: SketchKind,
}

/// What speaks for a place. All shares are between 0 and 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Evidence {
    /// The resemblance of the two.
    pub resemblance: f64,
    /// How much of the page is there.
    pub held: f64,
    /// How much of what is there is of the page.
    pub own: f64,
    /// The same three, each shingle counted by how rare it is.
    pub rare_resemblance: f64,
    /// How much of the page is there.
    pub rare_held: f64,
    /// How much of what is there is of the page.
    pub rare_own: f64,
    /// How much of what is there is of the best other page of the sweep that saw this one
    /// last; what stood there before is one of them.
    pub rare_other: f64,
    /// How much of the page was there already when it was last seen.
    pub held_before: f64,
    /// Whether there was nothing at that address then.
    pub is_new: bool,
    /// How alike the addresses are.
    pub address: f64,
}

/// How a page is where it is now.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum How {
    /// As a page of its own.
    Moved,
    /// As a part of a longer page.
    Folded,
    /// Only a part of it, as a page of its own.
    Split,
    /// Nothing but what it has in common with many pages.
    Template,
}

impl How {
    /// For people.
    pub fn words(self) -> &'static str {
        match self {
            How::Moved => "a page of its own",
            How::Folded => "part of a longer page",
            How::Split => "a part of it",
            How::Template => "only its template",
        }
    }

    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            How::Moved => "moved",
            How::Folded => "folded",
            How::Split => "split",
            How::Template => "template",
        }
    }
}

/// So sure at most is a place that has all of a page and much else: the histories of sites
/// call what became a part of a longer page gone more often than moved.
const FOLDED: f64 = 0.45;

/// So little of what is rare is as good as nothing.
const TRIFLE: f64 = 0.02;

impl Evidence {
    /// To what share this page, and no other, is what the place goes back to.
    fn mutual(&self) -> f64 {
        ((self.rare_own + TRIFLE) / (self.rare_other + TRIFLE)).min(1.0)
    }

    /// To what share the text came there after the page was last seen. What was there all
    /// along is a place if it has all that is rare: then the page had a copy.
    fn gained(&self) -> f64 {
        if self.is_new {
            return 1.0;
        }
        let gained = (self.held - self.held_before).max(0.0);
        let gained = if self.held > 0.0 {
            gained / self.held
        } else {
            0.0
        };
        gained.max(self.mutual() * self.rare_held)
    }

    /// How good a place is beside others.
    pub(crate) fn rank(&self) -> f64 {
        let rare = self.rare_resemblance + self.rare_held + self.rare_own;
        rare * self.gained() + self.address
    }

    /// How sure it is that this is the place. Fitted to pages whose moves are known: see
    /// `docs/MATH.md`.
    pub fn confidence(&self) -> f64 {
        let resemblance = self.resemblance * self.mutual() * self.gained();
        let held = self.rare_held * self.gained();
        let most = self.rare_held.max(self.rare_own) * self.gained();
        let sum = -2.9 + 7.3 * resemblance + 1.7 * resemblance * self.address - 1.1 * most
            + 1.6 * self.address;
        let moved = 1.0 / (1.0 + (-sum).exp());
        moved.max(FOLDED * held.powi(6))
    }

    /// How the page is there.
    pub fn how(&self) -> How {
        let rare = self.rare_held.max(self.rare_own);
        let all = self.held.max(self.own);
        if rare < 0.15 && all >= 0.3 && rare < all / 3.0 {
            How::Template
        } else if self.resemblance < 0.5 && self.held >= 0.6 && self.held >= 2.0 * self.own {
            How::Folded
        } else if self.resemblance < 0.5 && self.own >= 0.6 && self.own >= 2.0 * self.held {
            How::Split
        } else {
            How::Moved
        }
    }
}

impl Trace {
    /// How sure it is that this is the place: of several texts that are as good only one
    /// can be it.
    pub fn confidence(&self) -> f64 {
        self.evidence.confidence() / (1.0 + f64::from(self.rivals))
    }

    /// The resemblance of the page and what was found.
    pub fn resemblance(&self) -> Option<Estimate> {
        self.pair.estimate(Measure::Resemblance, self.kind)
    }

    /// How much of the page is there.
    pub fn held(&self) -> Option<Estimate> {
        self.pair.estimate(Measure::AInB, self.kind)
    }

    /// How much of what is there is of the page.
    pub fn own(&self) -> Option<Estimate> {
        self.pair.estimate(Measure::BInA, self.kind)
    }
}

/// So near in rank are two places that are as good as each other.
pub(crate) const TIE: f64 = 0.03;

/// Pages that are looked at from their own side too.
const CANDIDATES: usize = 32;

/// A name that more pages have, in all sweeps, is the name of none.
const NAMESAKES: usize = 16;

/// Addresses so much alike, and with the same last part, are perhaps of one page. Not more,
/// for in a small collection folders are as rare as names.
const CALLED_SAME: f64 = 0.2;

/// A page that shares something, before it is looked at more closely.
#[derive(Clone, Copy)]
struct Candidate {
    hope: f64,
    doc: u32,
    class: u32,
    count: u32,
    weight: f64,
}

impl Trail {
    /// Reads what is needed of a collection.
    pub fn of(collection: &Collection) -> Result<Trail, StorageError> {
        let timeline = Timeline::of(collection)?;
        let (mut keys, mut copies) = (Vec::new(), Vec::new());
        collection.each_entry(|doc, entry| {
            keys.push(entry.key);
            if entry.copy_of != doc {
                copies.push((entry.copy_of, doc));
            }
        })?;
        copies.sort_unstable();
        let mut pages = keys.clone();
        pages.sort_unstable();
        pages.dedup();
        let page = |key| pages.partition_point(|own| own < key);
        let page_of = keys
            .iter()
            .map(|key| u32::try_from(page(key)).unwrap_or(u32::MAX));
        let page_of: Vec<u32> = page_of.collect();
        // A page goes by its address: that of its first document is as good as any.
        let mut addresses = Addresses::new(pages.len());
        let mut known = Bits(vec![0; pages.len().div_ceil(64)]);
        let hosts = Hosts::reading(collection, &timeline, |doc, url| {
            let page = page_of.get(doc as usize).copied();
            if let Some(page) = page.filter(|page| !known.has(*page)) {
                known.set(page);
                addresses.add(&Address::new(url), doc);
            }
        })?;
        Ok(Trail {
            addresses: addresses.finish(),
            page_of,
            pages: pages.len(),
            timeline,
            hosts,
            copies,
        })
    }

    /// What pages are counted with.
    pub(crate) fn counting(&self) -> Pages<'_> {
        Pages::new(&self.page_of, self.pages)
    }

    /// The documents that some sweeps saw.
    pub(crate) fn seen(&self, sweeps: Range<usize>) -> Docs {
        let none = Bits(vec![0; self.page_of.len().div_ceil(64)]);
        let (mut docs, mut classes) = (none.clone(), none);
        for sweep in sweeps {
            let pages = self.timeline.pages(sweep).iter();
            for seen in pages.filter(|seen| seen.doc < BLANK) {
                docs.set(seen.doc);
                classes.set(seen.doc);
            }
        }
        for (first, copy) in &self.copies {
            if docs.has(*copy) {
                classes.set(*first);
            }
        }
        Docs { docs, classes }
    }

    /// The documents that have one sketch.
    fn class(&self, first: u32) -> impl Iterator<Item = u32> {
        let from = self.copies.partition_point(|copy| copy.0 < first);
        let copies = self.copies[from..].iter();
        let copies = copies.take_while(move |copy| copy.0 == first);
        std::iter::once(first).chain(copies.map(|copy| copy.1))
    }

    /// Where a document that was seen in sweep `from` may be in one of `later`, the best
    /// place first. `before` are the documents of `from`, `after` those of `later`.
    pub(crate) fn traces(
        &self,
        finder: &Finder,
        doc: u32,
        (from, before): (usize, &Docs),
        (later, after): (Range<usize>, &Docs),
        pages: &mut Pages<'_>,
    ) -> Result<Vec<Trace>, StorageError> {
        let query = finder.query_of(doc, Reread::Never)?;
        let page = self.page_of.get(doc as usize).copied();
        let Some(page) = page.filter(|_| !query.all_samples().is_empty()) else {
            return Ok(Vec::new()); // without a word, it may be anywhere
        };
        let is_wanted = |class| after.classes.has(class) || before.classes.has(class);
        let shares = finder.shares(query.all_samples(), pages, is_wanted)?;
        let lost = Lost {
            finder,
            query,
            shares,
            page,
            address: address(finder.collection(), doc)?,
            from,
            before,
        };
        let mut candidates = self.candidates(&lost, (later.clone(), after))?;
        self.namesakes(&lost, later.clone(), &mut candidates)?;
        let mut traces: Vec<Trace> = Vec::with_capacity(candidates.len());
        for one in &candidates {
            let key = finder.collection().entry(one.doc)?.key;
            let sweep = later
                .clone()
                .find(|sweep| self.timeline.at(*sweep, key) == Some(one.doc));
            let (pair, evidence) = self.evidence_of(&lost, one, key, pages)?;
            traces.push(Trace {
                doc: one.doc,
                sweep: sweep.unwrap_or(later.start),
                evidence,
                rivals: 0,
                pair,
                kind: finder.recipe().sketch,
            });
        }
        let ranks: Vec<f64> = traces.iter().map(|trace| trace.evidence.rank()).collect();
        for (number, trace) in traces.iter_mut().enumerate() {
            let others = candidates.iter().zip(&ranks).filter(|(other, rank)| {
                other.class != candidates[number].class && (*rank - ranks[number]).abs() <= TIE
            });
            let mut texts: Vec<u32> = others.map(|(other, _)| other.class).collect();
            texts.sort_unstable();
            texts.dedup();
            trace.rivals = u32::try_from(texts.len()).unwrap_or(u32::MAX);
        }
        let order = |x: &Trace, y: &Trace| {
            let rank = y.evidence.rank().total_cmp(&x.evidence.rank());
            let page = |trace: &Trace| self.page_of[trace.doc as usize];
            rank.then_with(|| (x.sweep, page(x)).cmp(&(y.sweep, page(y))))
        };
        traces.sort_by(order);
        Ok(traces)
    }

    /// Of the pages that share the most with a lost one, the document that shares the most.
    fn candidates(
        &self,
        lost: &Lost<'_>,
        (later, after): (Range<usize>, &Docs),
    ) -> Result<Vec<Candidate>, StorageError> {
        let Lost {
            finder,
            query,
            shares,
            ..
        } = lost;
        let (collection, kind) = (finder.collection(), finder.recipe().sketch);
        let mut samples = Vec::new();
        let mut candidates: Vec<Candidate> = Vec::new();
        let mut trouble = None;
        shares.each(|class, count, weight| {
            let there = self.class(class).filter(|doc| after.docs.has(*doc));
            let mut there = there.peekable();
            if trouble.is_some() || there.peek().is_none() {
                return;
            }
            let pair = match finder.judge(query, class, count, &mut samples) {
                Ok(pair) => pair,
                Err(error) => {
                    trouble = Some(error);
                    return;
                }
            };
            let (_, all) = shares.at_level(level(&pair));
            let share = |measure| pair.value(measure, kind).unwrap_or(0.0);
            let hope = share(Measure::Resemblance)
                .max(0.5 * share(Measure::BInA))
                .max(if all > 0.0 { weight / all } else { 0.0 });
            candidates.extend(there.map(|doc| Candidate {
                hope,
                doc,
                class,
                count,
                weight,
            }));
        });
        if let Some(error) = trouble {
            return Err(error);
        }
        // Numbers of documents say in which order sweeps were added, and must not decide
        // anything; those of pages do not.
        let page = |one: &Candidate| self.page_of[one.doc as usize];
        candidates.sort_by(|x, y| {
            let hope = y.hope.total_cmp(&x.hope);
            hope.then_with(|| (page(x), x.doc).cmp(&(page(y), y.doc)))
        });
        let mut taken: hashbrown::HashSet<u32> = [lost.page].into_iter().collect();
        let mut best = Vec::new();
        for versions in
            candidates.chunk_by(|x, y| page(x) == page(y) && x.hope.total_cmp(&y.hope).is_eq())
        {
            if taken.len() > CANDIDATES {
                break;
            }
            if taken.insert(page(&versions[0])) {
                best.push(self.earliest(collection, versions, later.clone())?);
            }
        }
        Ok(best)
    }

    /// Of versions of one page, the one that some sweeps saw first.
    fn earliest(
        &self,
        collection: &Collection,
        versions: &[Candidate],
        mut later: Range<usize>,
    ) -> Result<Candidate, StorageError> {
        let first = versions[0];
        if versions.len() == 1 {
            return Ok(first);
        }
        let key = collection.entry(first.doc)?.key;
        let seen = later.find_map(|sweep| {
            let doc = self.timeline.at(sweep, key)?;
            versions.iter().find(|one| one.doc == doc)
        });
        Ok(seen.copied().unwrap_or(first))
    }

    /// Adds the pages that came after a lost one and are called the same, though they share
    /// nothing with it: of a page of few words that was edited no shingle is left.
    fn namesakes(
        &self,
        lost: &Lost<'_>,
        later: Range<usize>,
        candidates: &mut Vec<Candidate>,
    ) -> Result<(), StorageError> {
        let collection = lost.finder.collection();
        for doc in self.addresses.namesakes(&lost.address, NAMESAKES) {
            let page = self.page_of[doc as usize];
            let is_known = |one: &Candidate| self.page_of[one.doc as usize] == page;
            if page == lost.page || candidates.iter().any(is_known) {
                continue;
            }
            let key = collection.entry(doc)?.key;
            let mut seen = later
                .clone()
                .filter_map(|sweep| self.timeline.at(sweep, key));
            let (before, first) = (self.timeline.at(lost.from, key), seen.next());
            let Some(doc) = first.filter(|doc| before.is_none() && *doc < BLANK) else {
                continue;
            };
            let there = address(collection, doc)?;
            if self.addresses.likeness(&lost.address, &there) >= CALLED_SAME {
                let class = collection.entry(doc)?.copy_of;
                let (count, weight) = lost.shares.with(class);
                candidates.push(Candidate {
                    hope: 0.0,
                    doc,
                    class,
                    count,
                    weight,
                });
            }
        }
        Ok(())
    }

    /// What speaks for a candidate, the page `key`.
    fn evidence_of(
        &self,
        lost: &Lost<'_>,
        one: &Candidate,
        key: u64,
        pages: &mut Pages<'_>,
    ) -> Result<(Pair, Evidence), StorageError> {
        let Lost {
            finder,
            query,
            shares,
            ..
        } = lost;
        let (collection, kind) = (finder.collection(), finder.recipe().sketch);
        let mut samples = Vec::new();
        let was = self.timeline.at(lost.from, key);
        let held_before = match was {
            Some(was) if was < BLANK => {
                let class = collection.entry(was)?.copy_of;
                let (count, _) = shares.with(class);
                let pair = finder.judge(query, class, count, &mut samples)?;
                share_of(&pair, Measure::AInB, kind)
            }
            _ => 0.0,
        };
        let pair = finder.judge(query, one.class, one.count, &mut samples)?;
        let side = self.side(lost, one.class, level(&pair), pages)?;
        let there = address(collection, one.doc)?;
        let (_, own) = shares.at_level(level(&pair));
        let common = one.weight.min(own).min(side.all);
        let part = |of: f64| {
            if of > 0.0 {
                (common / of).min(1.0)
            } else {
                0.0
            }
        };
        let evidence = Evidence {
            resemblance: share_of(&pair, Measure::Resemblance, kind),
            held: share_of(&pair, Measure::AInB, kind),
            own: share_of(&pair, Measure::BInA, kind),
            rare_resemblance: part(own + side.all - common),
            rare_held: part(own),
            rare_own: part(side.all),
            rare_other: if side.all > 0.0 {
                side.other / side.all
            } else {
                0.0
            },
            held_before,
            is_new: was.is_none(),
            address: self.addresses.likeness(&lost.address, &there),
        };
        Ok((Pair { b: one.doc, ..pair }, evidence))
    }

    /// What a candidate's rare shingles weigh, and how much of them the best page had that
    /// was there when the lost one was, and is not that.
    fn side(
        &self,
        lost: &Lost<'_>,
        class: u32,
        level: u32,
        pages: &mut Pages<'_>,
    ) -> Result<Side, StorageError> {
        let finder = lost.finder;
        let query = finder.query_of(class, Reread::Never)?;
        let mut samples = query.all_samples().to_vec();
        if matches!(finder.recipe().sketch, SketchKind::Nested { .. }) {
            samples.retain(|sample| sample.trailing_zeros() >= level);
        }
        let is_wanted = |class| lost.before.classes.has(class);
        let shares: Shares = finder.shares(&samples, pages, is_wanted)?;
        let mut other = 0.0_f64;
        shares.each(|class, _, weight| {
            let mut there = self.class(class).filter(|doc| lost.before.docs.has(*doc));
            if weight > other && there.any(|doc| self.page_of[doc as usize] != lost.page) {
                other = weight;
            }
        });
        Ok(Side {
            all: shares.at_level(0).1,
            other,
        })
    }
}

/// A page that is looked for.
struct Lost<'a> {
    finder: &'a Finder,
    query: Query,
    shares: Shares,
    page: u32,
    address: Address,
    /// The sweep that saw it last, and what else that saw.
    from: usize,
    before: &'a Docs,
}

/// The address of a document.
fn address(collection: &Collection, doc: u32) -> Result<Address, StorageError> {
    let (_, url) = collection.strings(doc, &collection.entry(doc)?)?;
    Ok(Address::new(url.as_deref().unwrap_or_default()))
}

/// A candidate, seen from its own side.
struct Side {
    all: f64,
    other: f64,
}

/// The level that two nested sketches were compared at.
fn level(pair: &Pair) -> u32 {
    match pair.basis {
        Basis::Level(level) => u32::from(level),
        _ => 0,
    }
}

/// A share, or the resemblance where the kind of sketch tells no containment.
fn share_of(pair: &Pair, measure: Measure, kind: SketchKind) -> f64 {
    let value = pair.value(measure, kind);
    let value = value.or_else(|| pair.value(Measure::Resemblance, kind));
    value.unwrap_or(0.0)
}
