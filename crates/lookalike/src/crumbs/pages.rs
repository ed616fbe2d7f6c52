//! Addresses and what was seen at them, as a collection has it and as rules leave it.
//!
//! ```text
//! collection ─► pages: address, sweep, content ─► site: the same by plainer addresses
//!                                        rules ─┘
//! ```
//!
//! 16 bytes a page and sweep, and the addresses.

use hashbrown::HashMap;

use super::rule::{Rule, plain};
use crate::collection::Collection;
use crate::collection::entry::BLANK;
use crate::storage::StorageError;
use crate::sweeps::Timeline;

/// A page as a sweep saw it.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct Seen {
    pub(super) url: u32,
    pub(super) sweep: u32,
    /// The same for pages with the same words: the first document with its sketch.
    pub(super) content: u32,
    pub(super) cluster: u32,
}

/// Addresses and what was seen at them.
#[derive(Clone, Debug, Default)]
pub struct Pages {
    pub(super) urls: Vec<String>,
    pub(super) seen: Vec<Seen>,
    numbers: HashMap<String, u32>,
    without: u64,
}

impl Pages {
    /// Reads all that a collection saw.
    pub fn of(collection: &Collection) -> Result<Pages, StorageError> {
        let timeline = Timeline::of(collection)?;
        let stored = collection.state().clusterings.first();
        let clustering = stored.map(|stored| collection.clustering(stored));
        let clustering = clustering.transpose()?;
        let mut pages = Pages::default();
        let mut contents: HashMap<u128, u32> = HashMap::new();
        for sweep in 0..timeline.sweeps().len() {
            let mut docs: Vec<u32> = timeline.pages(sweep).iter().map(|seen| seen.doc).collect();
            // In the order they are stored.
            docs.sort_unstable();
            for doc in docs.into_iter().filter(|doc| *doc < BLANK) {
                let entry = collection.entry(doc)?;
                let (_, url) = collection.strings(doc, &entry)?;
                let cluster = clustering.as_ref().map(|all| all.member(doc));
                let cluster = cluster.transpose()?.map(|member| member.cluster);
                let number = u32::try_from(sweep).unwrap_or(u32::MAX);
                // By all words: pages with the same samples may differ in the rest of them.
                let content = *contents.entry(entry.tokens_name).or_insert(doc);
                pages.add(url.as_deref(), number, content, cluster.unwrap_or(content));
            }
        }
        Ok(pages)
    }

    /// Adds a page as a sweep saw it: contents that are the same have one number.
    pub fn add(&mut self, url: Option<&str>, sweep: u32, content: u32, cluster: u32) {
        let Some(url) = url.and_then(plain) else {
            self.without += 1;
            return;
        };
        let next = u32::try_from(self.urls.len()).unwrap_or(u32::MAX);
        let number = *self.numbers.entry_ref(&url).or_insert(next);
        if number == next {
            self.urls.push(url);
        }
        self.seen.push(Seen {
            url: number,
            sweep,
            content,
            cluster,
        });
    }

    /// How many addresses there are.
    pub fn addresses(&self) -> usize {
        self.urls.len()
    }

    /// Pages that have no address of the web.
    pub fn without_address(&self) -> u64 {
        self.without
    }
}

/// Rules, by the host that each is of.
pub(super) struct Applied<'r>(HashMap<&'r str, Vec<usize>>, &'r [Rule]);

/// So many changes of one address, and no more: rules of hosts may lead in a circle.
const CHANGES: usize = 32;

impl<'r> Applied<'r> {
    pub(super) fn new(rules: &'r [Rule]) -> Applied<'r> {
        let mut by_origin: HashMap<&str, Vec<usize>> = HashMap::new();
        for (number, rule) in rules.iter().enumerate() {
            by_origin.entry(rule.origin()).or_default().push(number);
        }
        Applied(by_origin, rules)
    }

    /// What all rules leave of an address; `used` hears which changed it.
    pub(super) fn apply(&self, url: &str, mut used: impl FnMut(usize)) -> String {
        let mut url = url.to_owned();
        for _ in 0..CHANGES {
            let begin = url.find("://").map_or(0, |at| at + 3);
            let end = url[begin..].find('/').map_or(url.len(), |at| begin + at);
            let rules = self.0.get(&url[..end]).map_or(&[][..], Vec::as_slice);
            let changed = rules.iter().find_map(|&number| {
                let changed = self.1[number].apply(&url)?;
                used(number);
                Some(changed)
            });
            match changed {
                Some(changed) => url = changed,
                None => break,
            }
        }
        url
    }
}

/// Pages by the addresses that rules leave, each with one content in a sweep.
pub(super) struct Site<'p> {
    pages: &'p Pages,
    pub(super) urls: Vec<String>,
    /// By address and sweep.
    pub(super) seen: Vec<Seen>,
    /// Where those of each address begin, and the end.
    starts: Vec<u32>,
    /// An address that each stands for.
    originals: Vec<u32>,
}

impl<'p> Site<'p> {
    /// Where an address that is left has several contents in a sweep, the one that stood
    /// there unchanged counts, else that of the first address: mirrors lag behind.
    pub(super) fn of(pages: &'p Pages, rules: &[Rule]) -> Site<'p> {
        let applied = Applied::new(rules);
        let mut numbers: HashMap<String, u32> = HashMap::new();
        let mut site = Site {
            pages,
            urls: Vec::new(),
            seen: Vec::new(),
            starts: Vec::new(),
            originals: Vec::new(),
        };
        let mut left = Vec::with_capacity(pages.urls.len());
        for (original, url) in (0..).zip(&pages.urls) {
            let form = applied.apply(url, |_| {});
            let is_same = form == *url;
            let next = u32::try_from(site.urls.len()).unwrap_or(u32::MAX);
            let number = *numbers.entry_ref(&form).or_insert(next);
            if number == next {
                site.urls.push(form);
                site.originals.push(original);
            } else if is_same {
                site.originals[number as usize] = original;
            }
            left.push((number, !is_same));
        }
        let mut seen: Vec<(u32, u32, bool, u32, Seen)> = Vec::with_capacity(pages.seen.len());
        for one in &pages.seen {
            let (number, is_changed) = left[one.url as usize];
            let now = Seen {
                url: number,
                ..*one
            };
            seen.push((number, one.sweep, is_changed, one.url, now));
        }
        seen.sort_unstable();
        seen.dedup_by_key(|one| (one.0, one.1));
        site.seen = seen.into_iter().map(|one| one.4).collect();
        let mut next = 0;
        for url in 0..=site.urls.len() {
            let rest = &site.seen[next as usize..];
            let before = rest.partition_point(|one| (one.url as usize) < url);
            next += u32::try_from(before).unwrap_or(u32::MAX);
            site.starts.push(next);
        }
        site
    }

    /// An address that was seen, of one that is left.
    pub(super) fn name(&self, url: u32) -> String {
        self.pages.urls[self.originals[url as usize] as usize].clone()
    }

    /// What was seen at an address.
    pub(super) fn at(&self, url: u32) -> &[Seen] {
        let place = |url: usize| self.starts[url] as usize;
        &self.seen[place(url as usize)..place(url as usize + 1)]
    }
}
