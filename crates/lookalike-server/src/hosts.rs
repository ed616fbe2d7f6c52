//! Hosts of documents, and which clusters they are in.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use lookalike::clusters::table::Clustering;
use lookalike::collection::Collection;
use lookalike::storage::StorageError;
pub(crate) use lookalike::sweeps::hosts::host_of;

/// Clusters by the hosts of their documents: 8 bytes a host and cluster.
#[derive(Debug, Default)]
pub(crate) struct Hosts(Vec<(u32, u32)>);

impl Hosts {
    pub(crate) fn of(
        collection: &Collection,
        clustering: &Clustering,
    ) -> Result<Hosts, StorageError> {
        let mut all = Vec::new();
        let mut members = clustering.members()?;
        let mut doc = 0;
        while let Some(member) = members.next_record()? {
            if member.size > 1 {
                let entry = collection.entry(doc)?;
                let (_, url) = collection.strings(doc, &entry)?;
                if let Some(host) = url.as_deref().and_then(host_of) {
                    all.push((name(host), member.cluster));
                }
            }
            doc += 1;
        }
        all.sort_unstable();
        all.dedup();
        Ok(Hosts(all))
    }

    /// Whether a cluster may have a document of a host. (Names are short: two hosts in four
    /// thousand million have the same.)
    pub(crate) fn has(&self, host: &str, cluster: u32) -> bool {
        self.0.binary_search(&(name(host), cluster)).is_ok()
    }
}

fn name(host: &str) -> u32 {
    let hash = BuildHasherDefault::<DefaultHasher>::default();
    (hash.hash_one(host.to_ascii_lowercase()) >> 32) as u32
}
