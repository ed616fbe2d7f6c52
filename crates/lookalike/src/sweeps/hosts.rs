//! Hosts of pages, and which sweep visited which.
//!
//! A page that a sweep does not have is missing only if the sweep visited its host: what
//! was not visited has neither died nor moved.
//!
//! 4 bytes a document and the hosts' names; reads every URL once.

use hashbrown::HashMap;

use super::timeline::Timeline;
use crate::collection::Collection;
use crate::collection::entry::BLANK;
use crate::storage::StorageError;

/// The host of an address: what stands between `//` and the path, without user and port.
///
/// ```
/// use lookalike::sweeps::hosts::host_of;
///
/// assert_eq!(host_of("http://me@example.org:8080/a"), Some("example.org"));
/// assert_eq!(host_of("doc-17"), None);
/// ```
pub fn host_of(url: &str) -> Option<&str> {
    let (_, rest) = url.split_once("://")?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let authority = &rest[..end];
    let host = authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host);
    let host = match host.strip_prefix('[') {
        Some(address) => address.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    (!host.is_empty()).then_some(host)
}

/// The hosts of a collection's documents.
#[derive(Clone, Debug, Default)]
pub struct Hosts {
    /// In lower case, in the order they were met.
    names: Vec<String>,
    /// By document.
    of_docs: Vec<u32>,
    /// By capture without a word.
    of_blanks: Vec<u32>,
    /// For each sweep, a bit for each host.
    visited: Vec<Vec<u64>>,
}

/// The host of documents that have none.
const NONE: u32 = u32::MAX;

impl Hosts {
    /// Reads the URLs of all documents.
    pub fn of(collection: &Collection, timeline: &Timeline) -> Result<Hosts, StorageError> {
        Hosts::reading(collection, timeline, |_, _| {})
    }

    /// The same for who wants to see each document and its URL too.
    pub(crate) fn reading(
        collection: &Collection,
        timeline: &Timeline,
        mut each: impl FnMut(u32, &str),
    ) -> Result<Hosts, StorageError> {
        let mut hosts = Hosts::default();
        let mut numbers: HashMap<String, u32> = HashMap::new();
        let mut number = |names: &mut Vec<String>, url: Option<&str>| {
            url.and_then(host_of).map_or(NONE, |host| {
                let name = host.to_ascii_lowercase();
                *numbers.entry_ref(&name).or_insert_with(|| {
                    names.push(name.clone());
                    u32::try_from(names.len() - 1).unwrap_or(NONE)
                })
            })
        };
        for (add, brought) in collection.state().sweeps.iter().enumerate() {
            let mut entries = collection.entries(add)?;
            let mut doc = brought.base;
            while let Some(entry) = entries.next_record()? {
                let (_, url) = collection.strings(doc, &entry)?;
                each(doc, url.as_deref().unwrap_or_default());
                let host = number(&mut hosts.names, url.as_deref());
                hosts.of_docs.push(host);
                doc += 1;
            }
        }
        for blank in BLANK..BLANK + collection.blanks() {
            let (_, url) = collection.strings(blank, &collection.entry(blank)?)?;
            let host = number(&mut hosts.names, url.as_deref());
            hosts.of_blanks.push(host);
        }
        for sweep in 0..timeline.sweeps().len() {
            let mut bits = vec![0_u64; hosts.names.len().div_ceil(64)];
            for seen in timeline.pages(sweep) {
                if let Some(host) = hosts.of_doc(seen.doc) {
                    bits[host as usize / 64] |= 1 << (host % 64);
                }
            }
            hosts.visited.push(bits);
        }
        Ok(hosts)
    }

    /// How many hosts there are.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether no document has one.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The number of a document's host; nothing for a document without a URL.
    pub fn of_doc(&self, doc: u32) -> Option<u32> {
        let host = match doc.checked_sub(BLANK) {
            Some(blank) => self.of_blanks.get(blank as usize),
            None => self.of_docs.get(doc as usize),
        };
        host.copied().filter(|&host| host != NONE)
    }

    /// A host's name, in lower case.
    pub fn name(&self, host: u32) -> &str {
        &self.names[host as usize]
    }

    /// The number of a host, whatever the case of its letters. O(hosts).
    pub fn number(&self, name: &str) -> Option<u32> {
        let same = |own: &String| own.eq_ignore_ascii_case(name);
        let number = self.names.iter().position(same)?;
        u32::try_from(number).ok()
    }

    /// Whether a sweep has pages of a document's host. Documents without a host are
    /// visited by every sweep.
    pub fn visited(&self, sweep: usize, doc: u32) -> bool {
        self.of_doc(doc).is_none_or(|host| self.visits(sweep, host))
    }

    /// Whether a sweep has pages of a host.
    pub fn visits(&self, sweep: usize, host: u32) -> bool {
        let bits = self
            .visited
            .get(sweep)
            .and_then(|bits| bits.get(host as usize / 64));
        bits.is_some_and(|bits| bits >> (host % 64) & 1 == 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweeps::story::{Story, page};

    #[test]
    fn hosts_have_no_user_and_no_port() {
        let cases = [
            ("https://example.org/a", Some("example.org")),
            ("http://u:p@example.org:8080?x", Some("example.org")),
            ("http://[::1]:80/", Some("::1")),
            ("file:///tmp/x", None),
            ("doc-17", None),
        ];
        for (url, host) in cases {
            assert_eq!(host_of(url), host, "{url}");
        }
    }

    #[test]
    fn a_sweep_visits_the_hosts_it_has_pages_of() {
        let mut story = Story::default();
        story.add(
            None,
            &[
                page("http://a.example/1", "2020-01-01", "one"),
                page("http://B.example/1", "2020-01-01", "two"),
                page("http://b.example/2", "2020-02-01", "three"),
                page("no address", "2020-02-01", "four"),
            ],
        );
        let collection = story.collection();
        let timeline = Timeline::of(&collection).expect("a timeline");
        let hosts = Hosts::of(&collection, &timeline).expect("hosts");
        let a = hosts.number("A.EXAMPLE").expect("a host");
        let b = hosts.number("b.example").expect("a host");
        assert_eq!((hosts.len(), hosts.name(b)), (2, "b.example"));
        let visits = |sweep| (hosts.visits(sweep, a), hosts.visits(sweep, b));
        assert_eq!(visits(0), (true, true));
        assert_eq!(visits(1), (false, true));
        assert!(hosts.visited(0, story.doc_of("four")), "of no host");
        assert!(!hosts.visited(1, story.doc_of("one")));
    }
}
