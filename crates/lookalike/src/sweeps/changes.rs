//! How pages change: how often, how much, where they move, how long they live.
//!
//! ```text
//! Followed: timeline, hosts, moves ─► page by page ─► intervals, how often, lives
//!                                     └─► two documents of one page: sketches compared
//! ```
//!
//! Between a sweep and the next a page is
//!
//! - *unchanged*: at its address, with the same bytes;
//! - *changed*: at its address, with others; perhaps still in the same words;
//! - *moved*: not there, and its text is found at an address that the sweep before did not
//!   have, on the same host or on another one;
//! - *not visited*: not there, not moved, and the sweep has no page of its host: nobody
//!   looked;
//! - *died*: none of these;
//! - *born*: there now and not before. It may have moved there, or have returned after a
//!   sweep that did not see it, or its host was not visited before.
//!
//! So `pages(from) = unchanged + changed + moved + not visited + died` and
//! `pages(to) = unchanged + changed + born`.
//!
//! Lives: a page is born when it is first seen, for nothing is known of the time before,
//! and dies when a sweep that visits its host is the first to miss it for good. One that
//! returns was not dead meanwhile. What the last sweep sees is alive, and what nobody
//! looked for was alive when last seen.
//!
//! One pass over the timeline; sketches are compared for pages that changed. Memory: some
//! hundred bytes a host, and something for each page that moved.

use hashbrown::HashMap;
use lookalike_core::recipe::SketchKind;

use super::flows::Flows;
use super::follow::Followed;
use super::survival::{Ending, Lives, Survival};
use super::timeline::{Moment, Timeline};
use crate::find::Finder;
use crate::pairs::Measure;
use crate::storage::StorageError;

/// What happened in a collection from sweep to sweep.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Changes {
    /// The host whose pages these are; nothing for all.
    pub host: Option<String>,
    /// The sweeps.
    pub sweeps: Vec<Sweep>,
    /// Captures that belong to none.
    pub undated: u64,
    /// Pages that any sweep saw.
    pub pages: u64,
    /// What happened from each sweep to the next.
    pub intervals: Vec<Interval>,
    /// How often pages changed.
    pub often: Often,
    /// How long they live.
    pub lifetime: Lifetime,
    /// Where they moved.
    pub flows: Flows,
    /// The same for each host: the one with the most pages first, then by name.
    pub hosts: Vec<HostChanges>,
}

/// A sweep and what it goes by.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Sweep {
    /// Its date, or its place.
    pub name: String,
    /// When it was and how much it saw: of one host, if one was asked for.
    pub moment: Moment,
}

/// What happened between a sweep and the next: numbers of pages.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Interval {
    /// Days from the beginning of one to that of the other; nothing without dates.
    pub days: Option<f64>,
    /// What became of the pages.
    pub fates: Fates,
    /// How alike the pages that changed are to what they were.
    pub degree: Degree,
}

/// What became of pages, and where new ones are from.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Fates {
    /// At its address, the same bytes.
    pub unchanged: u64,
    /// At its address, other bytes.
    pub changed: u64,
    /// Of these, in the same words.
    pub same_words: u64,
    /// At another address of its host.
    pub moved_within_host: u64,
    /// At an address of another host.
    pub moved_between_hosts: u64,
    /// Its host was not visited.
    pub not_visited: u64,
    /// Nowhere.
    pub died: u64,
    /// There, and not before.
    pub born: u64,
    /// Of these, where others moved to.
    pub moved_here: u64,
    /// Of the born, seen by an earlier sweep.
    pub returned: u64,
    /// Of the born, those of hosts that were not visited before.
    pub newly_visited: u64,
}

impl Fates {
    /// Pages that were at their address before.
    pub fn before(&self) -> u64 {
        let moved = self.moved_within_host + self.moved_between_hosts;
        self.unchanged + self.changed + moved + self.not_visited + self.died
    }

    /// Adds those of another interval, or of another page.
    pub fn add(&mut self, other: &Fates) {
        let Fates {
            unchanged,
            changed,
            same_words,
            moved_within_host,
            moved_between_hosts,
            not_visited,
            died,
            born,
            moved_here,
            returned,
            newly_visited,
        } = *other;
        self.unchanged += unchanged;
        self.changed += changed;
        self.same_words += same_words;
        self.moved_within_host += moved_within_host;
        self.moved_between_hosts += moved_between_hosts;
        self.not_visited += not_visited;
        self.died += died;
        self.born += born;
        self.moved_here += moved_here;
        self.returned += returned;
        self.newly_visited += newly_visited;
    }
}

/// Bars of the histogram of resemblances.
pub const BARS: usize = 20;

/// How alike pages are to what they were before: only those that changed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Degree {
    /// By resemblance, in steps of a twentieth; what is the same is in the last.
    pub histogram: [u64; BARS],
    sum: f64,
}

impl Degree {
    fn add(&mut self, resemblance: f64) {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a share times the bars"
        )]
        let bar = (resemblance.clamp(0.0, 1.0) * BARS as f64) as usize;
        self.histogram[bar.min(BARS - 1)] += 1;
        self.sum += resemblance;
    }

    /// Adds those of another interval.
    pub fn merge(&mut self, other: &Degree) {
        for (own, more) in self.histogram.iter_mut().zip(other.histogram) {
            *own += more;
        }
        self.sum += other.sum;
    }

    /// How many pages it is of.
    pub fn pages(&self) -> u64 {
        self.histogram.iter().sum()
    }

    /// The mean resemblance; nothing where nothing changed.
    pub fn mean(&self) -> Option<f64> {
        let pages = self.pages();
        (pages > 0).then(|| self.sum / pages as f64)
    }
}

/// How often pages changed, of those seen more than once.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Often {
    /// How many pages changed never, once, twice…: from one sweep that saw them to the next
    /// that did.
    pub pages_by_changes: Vec<u64>,
    /// How fast.
    pub rate: Rate,
}

/// Changes seen in a time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rate {
    /// Pages seen more than once.
    pub pages: u64,
    /// How often any of them was found changed.
    pub changes: u64,
    /// How often one was looked at again.
    pub looks: u64,
    /// The days between looks, all together; nothing without dates.
    pub page_days: Option<f64>,
}

impl Rate {
    /// Changes of a page in a day, at least: several between two looks count as one.
    pub fn per_day(&self) -> Option<f64> {
        let days = self.page_days.filter(|days| *days > 0.0)?;
        Some(self.changes as f64 / days)
    }

    fn add(&mut self, other: &Rate) {
        self.pages += other.pages;
        self.changes += other.changes;
        self.looks += other.looks;
        if let Some(days) = other.page_days {
            *self.page_days.get_or_insert(0.0) += days;
        }
    }
}

/// How long pages live.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lifetime {
    /// Whether ages are in days; else, where a sweep has no date, in sweeps.
    pub is_in_days: bool,
    /// Pages that the first sweep saw: they may be of any age, and count from there.
    pub birth_unknown: u64,
    /// At their address.
    pub by_address: Survival,
    /// Wherever they moved.
    pub by_content: Survival,
}

/// What happened to the pages of a host.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostChanges {
    /// Its name.
    pub host: String,
    /// Pages that any sweep saw.
    pub pages: u64,
    /// All intervals together.
    pub fates: Fates,
    /// How fast they change.
    pub rate: Rate,
}

/// How a page is at its address compared with before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Difference {
    /// The same bytes.
    Unchanged,
    /// Other bytes, the same words.
    SameWords,
    /// Other words: how alike they are, as far as sketches tell.
    Changed(Option<f64>),
}

impl Difference {
    /// Between two documents.
    pub fn of(finder: &Finder, old: u32, new: u32) -> Result<Difference, StorageError> {
        if old == new {
            return Ok(Difference::Unchanged);
        }
        let collection = finder.collection();
        let (before, after) = (collection.entry(old)?, collection.entry(new)?);
        Ok(if before.bytes_name == after.bytes_name {
            Difference::Unchanged
        } else if before.tokens_name == after.tokens_name {
            Difference::SameWords
        } else {
            let kind: SketchKind = finder.recipe().sketch;
            let pair = finder.pair(new, old)?;
            Difference::Changed(pair.value(Measure::Resemblance, kind))
        })
    }
}

/// What is needed of a page to follow others that moved to it.
#[derive(Clone, Copy, Debug)]
struct Later {
    last: usize,
    end: Option<usize>,
    next: Option<u64>,
}

/// A page that moved when it was seen last.
struct Mover {
    first: usize,
    to: u64,
}

struct Counting<'a> {
    finder: &'a Finder,
    followed: &'a Followed,
    days: Option<Vec<f64>>,
    intervals: Vec<Interval>,
    often: Often,
    by_address: Lives,
    by_content: Lives,
    movers: Vec<Mover>,
    birth_unknown: u64,
    pages: u64,
    seen: Vec<u32>,
    hosts: Vec<HostChanges>,
}

impl Changes {
    /// Counts what happened to the pages of a host, or to all.
    pub fn of(
        finder: &Finder,
        followed: &Followed,
        host: Option<u32>,
    ) -> Result<Changes, StorageError> {
        let (timeline, hosts) = (&followed.trail.timeline, &followed.trail.hosts);
        let sweeps = timeline.sweeps().len();
        let mut counting = Counting {
            finder,
            followed,
            days: days(timeline),
            intervals: vec![Interval::default(); sweeps.saturating_sub(1)],
            often: Often::default(),
            by_address: Lives::default(),
            by_content: Lives::default(),
            movers: Vec::new(),
            birth_unknown: 0,
            pages: 0,
            seen: vec![0; sweeps],
            hosts: vec![HostChanges::default(); hosts.len()],
        };
        let mut later: HashMap<u64, Later> = HashMap::new();
        timeline.each_page(|key, sightings| {
            let (first, doc) = sightings[0];
            let own = hosts.of_doc(doc);
            if followed.was_target(key) {
                later.insert(key, counting.later(key, own, sightings));
            }
            if host.is_none() || own == host {
                let has_moved_here = first > 0 && followed.is_target(first - 1, key);
                counting.page(key, own, sightings, has_moved_here)?;
            }
            Ok(())
        })?;
        counting.follow(&later);
        counting.finish(host)
    }
}

/// The days of each sweep since the first one, if all have dates.
fn days(timeline: &Timeline) -> Option<Vec<f64>> {
    let sweeps = timeline.sweeps();
    let first = sweeps.first()?.date?.0;
    let day = |moment: &Moment| Some(moment.date?.0.saturating_sub(first) as f64 / DAY);
    sweeps.iter().map(day).collect()
}

/// Seconds.
const DAY: f64 = 86_400.0;

impl Counting<'_> {
    /// The first sweep that misses a page for good and visits its host.
    fn end(&self, host: Option<u32>, last: usize) -> Option<usize> {
        let after = last + 1..self.seen.len();
        let mut visits = after
            .filter(|&sweep| host.is_none_or(|host| self.followed.trail.hosts.visits(sweep, host)));
        visits.next()
    }

    fn later(&self, key: u64, host: Option<u32>, sightings: &[(usize, u32)]) -> Later {
        let last = sightings[sightings.len() - 1].0;
        Later {
            last,
            end: self.end(host, last),
            next: self.followed.moved(last, key).map(|to| to.key),
        }
    }

    /// All that happened to one page.
    fn page(
        &mut self,
        key: u64,
        host: Option<u32>,
        sightings: &[(usize, u32)],
        has_moved_here: bool,
    ) -> Result<(), StorageError> {
        self.pages += 1;
        for &(sweep, _) in sightings {
            self.seen[sweep] += 1;
        }
        let mut fates = Fates::default();
        let mut rate = Rate {
            pages: u64::from(sightings.len() > 1),
            page_days: self.days.is_some().then_some(0.0),
            ..Rate::default()
        };
        let (first, last) = (sightings[0].0, sightings[sightings.len() - 1].0);
        if first > 0 {
            self.born(key, host, first, Birth::First, &mut fates);
        }
        for pair in sightings.windows(2) {
            let ((from, old), (to, new)) = (pair[0], pair[1]);
            let difference = Difference::of(self.finder, old, new)?;
            rate.looks += 1;
            rate.changes += u64::from(difference != Difference::Unchanged);
            if let (Some(sum), Some(days)) = (&mut rate.page_days, &self.days) {
                *sum += days[to] - days[from];
            }
            if to == from + 1 {
                self.stayed(from, difference, &mut fates);
            } else {
                self.vanished(key, host, from, &mut fates);
                self.born(key, host, to, Birth::Again, &mut fates);
            }
        }
        if last + 1 < self.seen.len() {
            self.vanished(key, host, last, &mut fates);
        }
        if rate.pages > 0 {
            let changes = usize::try_from(rate.changes).unwrap_or(usize::MAX);
            let by_changes = &mut self.often.pages_by_changes;
            if by_changes.len() <= changes {
                by_changes.resize(changes + 1, 0);
            }
            by_changes[changes] += 1;
        }
        self.often.rate.add(&rate);
        if let Some(host) = host {
            let host = &mut self.hosts[host as usize];
            host.pages += 1;
            host.fates.add(&fates);
            host.rate.add(&rate);
        }
        self.life(key, host, first, last, has_moved_here);
        Ok(())
    }

    /// A page was there in a sweep and in the next.
    fn stayed(&mut self, from: usize, difference: Difference, fates: &mut Fates) {
        let interval = &mut self.intervals[from];
        let mut now = Fates::default();
        match difference {
            Difference::Unchanged => now.unchanged = 1,
            Difference::SameWords => {
                (now.changed, now.same_words) = (1, 1);
                interval.degree.add(1.0);
            }
            Difference::Changed(resemblance) => {
                now.changed = 1;
                if let Some(resemblance) = resemblance {
                    interval.degree.add(resemblance);
                }
            }
        }
        interval.fates.add(&now);
        fates.add(&now);
    }

    /// A page was there in a sweep and not in the next.
    fn vanished(&mut self, key: u64, host: Option<u32>, from: usize, fates: &mut Fates) {
        let hosts = &self.followed.trail.hosts;
        let mut now = Fates::default();
        match self.followed.moved(from, key) {
            Some(to) if hosts.of_doc(to.doc) == host => now.moved_within_host = 1,
            Some(_) => now.moved_between_hosts = 1,
            None if host.is_some_and(|host| !hosts.visits(from + 1, host)) => now.not_visited = 1,
            None => now.died = 1,
        }
        self.intervals[from].fates.add(&now);
        fates.add(&now);
    }

    /// A page is there in a sweep and was not in the one before.
    fn born(&mut self, key: u64, host: Option<u32>, to: usize, birth: Birth, fates: &mut Fates) {
        let hosts = &self.followed.trail.hosts;
        let is_new = host.is_some_and(|host| !hosts.visits(to - 1, host));
        let now = Fates {
            born: 1,
            moved_here: u64::from(self.followed.is_target(to - 1, key)),
            returned: u64::from(birth == Birth::Again),
            newly_visited: u64::from(is_new),
            ..Fates::default()
        };
        self.intervals[to - 1].fates.add(&now);
        fates.add(&now);
    }

    /// How long a page lived at its address, and as what it is.
    fn life(
        &mut self,
        key: u64,
        host: Option<u32>,
        first: usize,
        last: usize,
        has_moved_here: bool,
    ) {
        self.birth_unknown += u64::from(first == 0);
        let end = self.end(host, last);
        let (age, ending) = self.age(first, last, end);
        self.by_address.add(age, ending);
        if has_moved_here {
            return; // it is the life of another that goes on
        }
        match self.followed.moved(last, key) {
            Some(to) => self.movers.push(Mover { first, to: to.key }),
            None => self.by_content.add(age, ending),
        }
    }

    /// An age in seconds, or in sweeps.
    fn age(&self, first: usize, last: usize, end: Option<usize>) -> (i64, Ending) {
        let to = end.unwrap_or(last);
        let sweeps = self.followed.trail.timeline.sweeps();
        let age = match (self.days.is_some(), sweeps[first].date, sweeps[to].date) {
            (true, Some(first), Some(to)) => to.0.saturating_sub(first.0),
            _ => i64::try_from(to - first).unwrap_or(i64::MAX),
        };
        let ending = end.map_or(Ending::Alive, |_| Ending::Died);
        (age, ending)
    }

    /// Lives of pages that moved go on where they moved to.
    fn follow(&mut self, later: &HashMap<u64, Later>) {
        for Mover { first, to } in std::mem::take(&mut self.movers) {
            // Each is seen later than the one before, so this ends.
            let mut place = later.get(&to).copied();
            while let Some(next) = place.and_then(|here| here.next) {
                match later.get(&next) {
                    Some(there) => place = Some(*there),
                    None => break,
                }
            }
            if let Some(Later { last, end, .. }) = place {
                let (age, ending) = self.age(first, last, end);
                self.by_content.add(age, ending);
            }
        }
    }

    fn finish(mut self, host: Option<u32>) -> Result<Changes, StorageError> {
        let (timeline, hosts) = (&self.followed.trail.timeline, &self.followed.trail.hosts);
        if let Some(days) = &self.days {
            for (interval, days) in self.intervals.iter_mut().zip(days.windows(2)) {
                interval.days = Some(days[1] - days[0]);
            }
        }
        let sweeps = timeline.sweeps().iter().zip(&self.seen).enumerate();
        let sweeps = sweeps.map(|(sweep, (&moment, &seen))| Sweep {
            name: timeline.name(sweep),
            moment: Moment {
                pages: seen,
                ..moment
            },
        });
        let mut of_hosts: Vec<HostChanges> = (0..)
            .zip(self.hosts)
            .filter(|(_, of)| of.pages > 0)
            .map(|(number, of)| HostChanges {
                host: hosts.name(number).to_owned(),
                ..of
            })
            .collect();
        of_hosts.sort_by(|x, y| y.pages.cmp(&x.pages).then_with(|| x.host.cmp(&y.host)));
        let unit = if self.days.is_some() { DAY } else { 1.0 };
        Ok(Changes {
            host: host.map(|host| hosts.name(host).to_owned()),
            sweeps: sweeps.collect(),
            undated: timeline.undated(),
            pages: self.pages,
            intervals: self.intervals,
            often: self.often,
            lifetime: Lifetime {
                is_in_days: self.days.is_some(),
                birth_unknown: self.birth_unknown,
                by_address: self.by_address.survival(unit),
                by_content: self.by_content.survival(unit),
            },
            flows: Flows::of(self.finder.collection(), self.followed, host)?,
            hosts: of_hosts,
        })
    }
}

/// Whether a page is seen for the first time.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Birth {
    First,
    Again,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweeps::story::{Page, Story, page};

    /// Forty words that no other text has.
    fn text(name: &str) -> String {
        let words: Vec<String> = (0..40).map(|i| format!("{name}{i}")).collect();
        words.join(" ")
    }

    fn changes(story: &Story, host: Option<&str>) -> Changes {
        let finder = Finder::open(&story.path(), None).expect("a collection");
        let followed = Followed::of(&finder).expect("pages followed");
        let host = host.map(|host| followed.trail.hosts.number(host).expect("a host"));
        Changes::of(&finder, &followed, host).expect("changes")
    }

    /// Sweeps of pages on one host, a year apart, all in one add.
    fn years(sweeps: &[&[(&str, &str)]]) -> Story {
        let mut story = Story::default();
        story.add(None, &dated(sweeps));
        story
    }

    fn dated(sweeps: &[&[(&str, &str)]]) -> Vec<Page> {
        let years = (2001..).zip(sweeps);
        let pages = years.flat_map(|(year, pages)| {
            pages.iter().map(move |(name, text)| {
                let url = if name.contains('/') {
                    format!("http://{name}")
                } else {
                    format!("http://a.example/{name}")
                };
                page(&url, &format!("{year}-01-01"), text)
            })
        });
        pages.collect()
    }

    #[test]
    fn every_page_has_one_fate() {
        let [a, b, c, d] = ["a", "b", "c", "d"].map(text);
        let (loud, half) = (
            b.to_uppercase(),
            format!("{} {}", &c[..c.len() / 2], text("x")),
        );
        let story = years(&[
            &[
                ("a", &a),
                ("b", &b),
                ("c", &c),
                ("d", &d),
                ("e", &text("e")),
            ],
            &[
                ("a", &a),
                ("b", &loud),
                ("c", &half),
                ("d2", &d),
                ("f", &text("f")),
            ],
        ]);
        let told = changes(&story, None);
        let expected = Fates {
            unchanged: 1,
            changed: 2,
            same_words: 1,
            moved_within_host: 1,
            died: 1,
            born: 2,
            moved_here: 1,
            ..Fates::default()
        };
        let interval = &told.intervals[0];
        assert_eq!(interval.fates, expected);
        assert_eq!(
            interval.fates.before(),
            u64::from(told.sweeps[0].moment.pages)
        );
        assert_eq!(interval.days, Some(365.0));
        // 20 of 40 words are kept, 40 are new: 19 of 39 + 59 - 19 shingles of two words.
        assert_eq!(interval.degree.histogram[BARS - 1], 1);
        let mean = interval.degree.mean().expect("two changed");
        assert!(
            (mean - f64::midpoint(1.0, 19.0 / 79.0)).abs() < 0.01,
            "{mean}"
        );
        assert_eq!(told.often.pages_by_changes, [1, 2]);
        assert_eq!((told.often.rate.pages, told.often.rate.changes), (3, 2));
        let rate = told.often.rate.per_day().expect("dates");
        assert!((rate - 2.0 / (3.0 * 365.0)).abs() < 1e-12);
        assert_eq!(told.flows.all, [("/".to_owned(), "/".to_owned(), 1)]);
        assert_eq!(told.pages, 7);
    }

    #[test]
    fn pages_move_between_hosts_and_what_nobody_looked_for_is_not_dead() {
        let (a, b, c) = (text("a"), text("b"), text("c"));
        let story = years(&[
            &[
                ("a.example/a", &a),
                ("a.example/x", &text("x")),
                ("b.example/b", &b),
                ("c.example/c", &c),
            ],
            &[
                ("b.example/a", &a),
                ("a.example/z", &text("z")),
                ("b.example/b", &b),
            ],
            &[
                ("b.example/a", &a),
                ("c.example/y", &text("y")),
                ("d.example/b", &b),
            ],
        ]);
        let told = changes(&story, None);
        let first = told.intervals[0].fates;
        assert_eq!((first.moved_between_hosts, first.moved_within_host), (1, 0));
        assert_eq!((first.died, first.not_visited, first.unchanged), (1, 1, 1));
        assert_eq!(
            (first.born, first.moved_here, first.newly_visited),
            (2, 1, 0)
        );
        let second = told.intervals[1].fates;
        assert_eq!((second.moved_between_hosts, second.not_visited), (1, 1));
        assert_eq!((second.born, second.newly_visited), (2, 2));
        let flows = [("a.example", "b.example"), ("b.example", "d.example")];
        let flows = flows.map(|(from, to)| (from.to_owned(), to.to_owned(), 1));
        assert_eq!(told.flows.all, flows);
        assert!(told.flows.are_hosts);

        // c was missed by the third sweep, the first to visit its host again; z by none, and
        // three were seen once and never looked for again: of eight five lived a year.
        let address = &told.lifetime.by_address;
        let deaths: Vec<(f64, u64, u64)> = address
            .steps
            .iter()
            .map(|step| (step.age, step.at_risk, step.died))
            .collect();
        assert_eq!(deaths, [(365.0, 5, 2), (730.0, 2, 2)]);

        let only = changes(&story, Some("A.example"));
        assert_eq!((only.pages, only.hosts.len()), (3, 1));
        assert_eq!(only.sweeps[0].moment.pages, 2);
        assert_eq!(only.intervals[0].fates.moved_between_hosts, 1);
        assert_eq!(only.intervals[0].fates.born, 1);
        assert_eq!(only.flows.all.len(), 1);
        let of_host = told.hosts.iter().find(|host| host.host == "a.example");
        assert_eq!(of_host.map(|host| host.fates.died), Some(1));
    }

    #[test]
    fn a_page_that_returns_was_not_dead_meanwhile() {
        let (a, b) = (text("a"), text("b"));
        let story = years(&[
            &[("a", &a), ("b", &b)],
            &[("b", &b)],
            &[("a", &a), ("b", &b)],
        ]);
        let told = changes(&story, None);
        assert_eq!(told.intervals[0].fates.died, 1);
        let back = told.intervals[1].fates;
        assert_eq!((back.born, back.returned), (1, 1));
        assert_eq!(told.lifetime.by_address.died, 0);
        assert_eq!(told.often.pages_by_changes, [2], "it came back as it was");
        assert_eq!(told.often.rate.page_days, Some(4.0 * 365.0));
    }

    #[test]
    fn a_page_without_a_word_was_there_all_the_same() {
        let (a, b, blank) = (text("a"), text("b"), "?!".to_owned());
        let story = years(&[
            &[("a", &a), ("b", &b)],
            &[("a", &blank), ("b", &b)],
            &[("a", &blank), ("b", &b)],
            &[("a", &a), ("b", &b)],
            &[("b", &b)],
        ]);
        let told = changes(&story, None);
        let fates = |interval: usize| {
            let fates = told.intervals[interval].fates;
            (fates.unchanged, fates.changed, fates.born, fates.died)
        };
        assert_eq!(fates(0), (1, 1, 0, 0));
        assert_eq!(fates(1), (2, 0, 0, 0));
        assert_eq!(fates(2), (1, 1, 0, 0));
        assert_eq!(fates(3), (1, 0, 0, 1));
    }

    #[test]
    fn pages_that_swap_places_are_kept_and_changed() {
        let (a, b) = (text("a"), text("b"));
        let story = years(&[&[("a", &a), ("b", &b)], &[("a", &b), ("b", &a)]]);
        let told = changes(&story, None);
        let expected = Fates {
            changed: 2,
            ..Fates::default()
        };
        assert_eq!(told.intervals[0].fates, expected);
        assert_eq!(told.intervals[0].degree.mean(), Some(0.0));
    }

    #[test]
    fn a_life_goes_on_where_the_page_moved_to() {
        let (a, b, c) = (text("a"), text("b"), text("c"));
        // a moves twice and dies; b dies at once; c stays.
        let story = years(&[
            &[("a", &a), ("b", &b), ("c", &c)],
            &[("a2", &a), ("c", &c)],
            &[("a3", &a), ("c", &c)],
            &[("c", &c)],
        ]);
        let told = changes(&story, None);
        let curve = |survival: &Survival| -> Vec<(f64, u64, u64)> {
            let steps = survival.steps.iter();
            steps
                .map(|step| (step.age, step.at_risk, step.died))
                .collect()
        };
        // By address a, b, a2 and a3 live one year each, and c three and more.
        assert_eq!(curve(&told.lifetime.by_address), [(365.0, 5, 4)]);
        // By content b lives one year, a three, c three and more.
        let content = &told.lifetime.by_content;
        assert_eq!(curve(content), [(365.0, 3, 1), (1095.0, 2, 1)]);
        assert_eq!(content.lives, 3);
        assert!((content.at(1095.0) - 2.0 / 3.0 * 0.5).abs() < 1e-12);
        assert_eq!(content.median(), Some((365.0, 1095.0)));
        assert_eq!(told.lifetime.birth_unknown, 3);
    }

    #[test]
    fn without_dates_lives_are_counted_in_sweeps() {
        let (a, b) = (text("a"), text("b"));
        let mut story = Story::default();
        story.add(None, &[page("a", "", &a), page("b", "", &b)]);
        story.add(None, &[page("a", "", &a)]);
        story.add(None, &[page("a", "", &b)]);
        let told = changes(&story, None);
        assert!(!told.lifetime.is_in_days);
        assert!((told.lifetime.by_address.steps[0].age - 1.0).abs() < 1e-12);
        assert_eq!(told.intervals[0].days, None);
        assert_eq!(told.often.rate.per_day(), None);
        assert_eq!(told.sweeps[2].name, "sweep 3");
        assert!(
            told.hosts.is_empty(),
            "pages without an address have no host"
        );
        assert_eq!(told.intervals[1].fates.changed, 1);
    }

    #[test]
    fn one_sweep_has_no_interval_and_none_has_nothing() {
        let told = changes(&years(&[&[("a", "one page")]]), None);
        assert_eq!(
            (told.sweeps.len(), told.intervals.len(), told.pages),
            (1, 0, 1)
        );
        assert_eq!(told.lifetime.by_address.died, 0);
    }

    #[test]
    fn ten_sweeps_one_by_one_are_the_ten_sweeps_at_once() {
        let texts: Vec<String> = (0..6).map(|i| text(&format!("t{i}"))).collect();
        let mut sweeps = Vec::new();
        for sweep in 0..10_usize {
            let at = |i: usize| (sweep * 7 + i * 3) % 6;
            let pages = (0..4).map(|i| {
                let url = format!("http://h{}.example/p{}", at(i) % 2, (sweep / 3 + i) % 5);
                page(
                    &url,
                    &format!("20{:02}-03-0{}", sweep, i + 1),
                    &texts[at(i)],
                )
            });
            sweeps.push(pages.collect::<Vec<_>>());
        }
        let mut together = Story::default();
        together.add(None, &sweeps.concat());
        let mut apart = Story::default();
        for sweep in &sweeps {
            apart.add(None, sweep);
        }
        let told = changes(&together, None);
        assert_eq!(told, changes(&apart, None));
        assert_eq!(told.sweeps.len(), 40, "a day each");
        for (interval, sweep) in told.intervals.iter().zip(&told.sweeps) {
            assert_eq!(interval.fates.before(), u64::from(sweep.moment.pages));
        }
    }
}
