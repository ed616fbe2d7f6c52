//! Where pages move from and to: between hosts, or where there is one, between its
//! directories.

use std::collections::BTreeMap;

use super::follow::Followed;
use super::hosts::host_of;
use crate::collection::Collection;
use crate::storage::StorageError;

/// How many pages moved from where to where.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Flows {
    /// Whether places are hosts; else they are directories of the only host.
    pub are_hosts: bool,
    /// From, to, how many: the most first, then by name.
    pub all: Vec<(String, String, u64)>,
}

/// What a place is called that has no address.
const NOWHERE: &str = "no address";

impl Flows {
    /// Of the moves that leave or reach a host, or of all.
    pub(crate) fn of(
        collection: &Collection,
        followed: &Followed,
        host: Option<u32>,
    ) -> Result<Flows, StorageError> {
        let hosts = &followed.trail.hosts;
        let url = |doc: u32| -> Result<Option<String>, StorageError> {
            Ok(collection.strings(doc, &collection.entry(doc)?)?.1)
        };
        let each = |each: &mut dyn FnMut(u32, u32) -> Result<(), StorageError>| {
            for from in 0..followed.trail.timeline.sweeps().len() {
                for (seen, to) in followed.moves(from) {
                    let ends = [hosts.of_doc(seen.doc), hosts.of_doc(to.doc)];
                    if host.is_none() || ends.contains(&host) {
                        each(seen.doc, to.doc)?;
                    }
                }
            }
            Ok::<(), StorageError>(())
        };
        let mut are_hosts = false;
        each(&mut |from, to| {
            are_hosts |= hosts.of_doc(from) != hosts.of_doc(to);
            Ok(())
        })?;
        are_hosts |= hosts.len() > 1 && host.is_none();
        let mut counts: BTreeMap<(String, String), u64> = BTreeMap::new();
        if are_hosts {
            let name = |doc| {
                let host = hosts.of_doc(doc);
                host.map_or(NOWHERE, |host| hosts.name(host)).to_owned()
            };
            each(&mut |from, to| {
                *counts.entry((name(from), name(to))).or_insert(0) += 1;
                Ok(())
            })?;
        } else {
            let mut shared: Option<String> = None;
            each(&mut |from, to| {
                for url in [url(from)?, url(to)?].into_iter().flatten() {
                    let own = folders(&url);
                    shared = Some(match shared.take() {
                        None => own.to_owned(),
                        Some(shared) => common(&shared, own).to_owned(),
                    });
                }
                Ok(())
            })?;
            let shared = shared.unwrap_or_default();
            let name = |doc| -> Result<String, StorageError> {
                let url = url(doc)?;
                Ok(url.map_or(NOWHERE.to_owned(), |url| {
                    directory(&url, &shared).to_owned()
                }))
            };
            each(&mut |from, to| {
                *counts.entry((name(from)?, name(to)?)).or_insert(0) += 1;
                Ok(())
            })?;
        }
        let mut all: Vec<(String, String, u64)> = counts
            .into_iter()
            .map(|((from, to), pages)| (from, to, pages))
            .collect();
        all.sort_by(|x, y| y.2.cmp(&x.2).then_with(|| x.cmp(y)));
        Ok(Flows { are_hosts, all })
    }
}

/// The directories of an address: `/docs/admin/` of `https://example.org/docs/admin/x`.
fn folders(url: &str) -> &str {
    let after = match host_of(url) {
        Some(_) => url.split_once("://").map_or(url, |(_, rest)| rest),
        None => url,
    };
    let path = after.find(['/', '?', '#']).map_or("", |at| &after[at..]);
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let end = path.rfind('/').map_or(0, |at| at + 1);
    &path[..end]
}

/// The directories that two paths begin with.
fn common<'a>(a: &'a str, b: &str) -> &'a str {
    let same = a.bytes().zip(b.bytes()).take_while(|(x, y)| x == y).count();
    let end = a.as_bytes()[..same].iter().rposition(|byte| *byte == b'/');
    end.map_or("", |at| &a[..=at])
}

/// The first directory of an address below those that all have.
fn directory<'a>(url: &'a str, shared: &str) -> &'a str {
    let folders = folders(url);
    let rest = &folders[shared.len().min(folders.len())..];
    let end = rest
        .find('/')
        .map_or(folders.len(), |at| folders.len() - rest.len() + at + 1);
    let path = &folders[..end];
    if path.is_empty() { "/" } else { path }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_the_first_below_what_all_share() {
        assert_eq!(folders("https://a.example/docs/x/y.html?z=/q/"), "/docs/x/");
        assert_eq!(folders("https://a.example"), "");
        assert_eq!(folders("https://a.example?x=/y/"), "");
        assert_eq!(common("/docs/admin/x/", "/docs/api/"), "/docs/");
        assert_eq!(common("/docs/", "/docs/api/"), "/docs/");
        assert_eq!(
            directory("https://a.example/docs/admin/x/y", "/docs/"),
            "/docs/admin/"
        );
        assert_eq!(directory("https://a.example/docs/x", "/docs/"), "/docs/");
        assert_eq!(directory("https://a.example/x", ""), "/");
        assert_eq!(directory("https://a.example", ""), "/");
    }
}
