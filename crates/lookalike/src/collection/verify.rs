//! Whether every byte of a collection is the one that was written.

use super::CollectionError;
use super::entry::Entry;
use super::kept::TextPlace;
use super::manifest::{Manifest, kept_manifests};
use super::state::{State, Sweep};
use crate::blocks::{self, Record};
use crate::clusters::table::{Member, Quality};
use crate::pairs::Pair;
use crate::storage::{Storage, StorageError};

/// What was read, and what is wrong.
#[derive(Debug)]
pub struct Verified {
    /// The newest generation.
    pub generation: u64,
    /// Files that the last two generations name.
    pub files: u64,
    /// Their bytes on disk.
    pub bytes: u64,
    /// Files that are not as they were written.
    pub faults: Vec<StorageError>,
}

/// Reads every byte of the last two generations. An error when a manifest is at fault, or
/// the machine; otherwise all files are read, however many of them are damaged. `step` is
/// told the bytes of each file before it is read.
pub fn verify(
    storage: &dyn Storage,
    mut step: impl FnMut(u64),
) -> Result<Verified, CollectionError> {
    let manifests = kept_manifests(storage)?;
    let mut entries: Vec<_> = manifests.iter().flat_map(Manifest::files).collect();
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    // The same file in both is read once; two claims about one name are both checked.
    entries.dedup();
    let mut verified = Verified {
        generation: manifests.first().map_or(0, Manifest::generation),
        files: 0,
        bytes: 0,
        faults: Vec::new(),
    };
    for entry in entries {
        step(entry.file_len);
        verified.files += 1;
        verified.bytes = verified.bytes.saturating_add(entry.file_len);
        match blocks::verify(storage, entry) {
            Err(fault) if fault.is_damage() => {
                // A file that many share may be at fault for all of them.
                let text = fault.to_string();
                let mut told = verified.faults.iter();
                if !told.any(|told| told.to_string() == text) {
                    verified.faults.push(fault);
                }
            }
            other => other?,
        }
    }
    Ok(verified)
}

/// What a newest manifest says of its files and counts that cannot all be true: documents,
/// sketches, lookups and members are as many as one another, and what was read is what
/// was added, skipped and rejected. Reads nothing but the manifest.
pub fn contradictions(manifest: &Manifest<State>) -> Vec<StorageError> {
    let mut wrong = Vec::new();
    let state = &manifest.state;
    let mut has_records = |name: &str, records: u64, len: usize| match manifest.file(name) {
        Ok(file) if Some(file.payload_len) == records.checked_mul(len as u64) => {}
        Ok(_) => {
            let what = "it has another number of records than the manifest says";
            wrong.push(StorageError::damaged(name, what, None));
        }
        Err(missing) => wrong.push(missing),
    };
    let mut documents = 0_u64;
    for sweep in &state.sweeps {
        let name = |what| sweep.file_name(what);
        let (own, counts) = (u64::from(sweep.documents), &sweep.counts);
        has_records(&name("documents"), own, Entry::LEN);
        has_records(&name("heads"), own, <u32 as Record>::LEN);
        has_records(&name("names"), own, <(u64, u32) as Record>::LEN);
        has_records(&name("keys"), own, <(u64, u32) as Record>::LEN);
        has_records(&name("sketches"), counts.postings, <u64 as Record>::LEN);
        has_records(&name("postings"), counts.postings, <u64 as Record>::LEN);
        if sweep.keeps_text {
            has_records(&name("texts-places"), own, TextPlace::LEN);
        }
        if state.recounted.is_none() {
            has_records(&name("pairs"), counts.pairs, Pair::LEN);
        }
        documents += own;
    }
    for clustering in &state.clusterings {
        let (part, summary) = (clustering.part, &clustering.summary);
        let name = |what: &str| format!("{what}-{}-{part}.lk", clustering.generation);
        let in_clusters = summary.clustered_documents;
        has_records(&name("members"), documents, Member::LEN);
        has_records(&name("roster"), in_clusters, <(u32, u32) as Record>::LEN);
        has_records(&name("quality"), summary.clusters, Quality::LEN);
    }
    if !adds_up(&state.sweeps) {
        let what = "its numbers of documents do not add up";
        wrong.push(StorageError::damaged(&manifest.name(), what, None));
    }
    wrong
}

fn adds_up(sweeps: &[Sweep]) -> bool {
    let mut next = 0_u64;
    sweeps.iter().all(|sweep| {
        let (own, counts) = (u64::from(sweep.documents), &sweep.counts);
        let follows = u64::from(sweep.base) == next;
        next += own;
        let left = counts.skipped.values().chain(counts.rejected.values());
        let kinds = [
            counts.identical,
            counts.lexical,
            counts.shingle,
            counts.distinct,
        ];
        let sum = |numbers: &mut dyn Iterator<Item = u64>| numbers.fold(0, u64::saturating_add);
        follows
            && sum(&mut kinds.into_iter()) == own
            && sum(&mut left.copied().chain([own])) == counts.read
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collection::state::{Counts, StoredRecipe};
    use crate::core::recipe::Recipe;

    fn sweep() -> Sweep {
        Sweep {
            documents: 3,
            counts: Counts {
                read: 5,
                skipped: [("no tokens".to_owned(), 1)].into(),
                rejected: [("bad json".to_owned(), 1)].into(),
                distinct: 2,
                identical: 1,
                ..Counts::default()
            },
            ..Sweep::default()
        }
    }

    #[test]
    fn numbers_that_do_not_add_up_are_seen() {
        let second = Sweep { base: 3, ..sweep() };
        assert!(adds_up(&[sweep(), second.clone()]));
        assert!(!adds_up(&[second]));
        for change in [
            (|counts| counts.read += 1) as fn(&mut Counts),
            |counts| counts.distinct -= 1,
            |counts| counts.rejected.clear(),
        ] {
            let mut wrong = sweep();
            change(&mut wrong.counts);
            assert!(!adds_up(&[wrong]));
        }
    }

    #[test]
    fn files_that_are_not_named_are_missed() {
        let recipe = Recipe::default();
        let state = State {
            recipe: StoredRecipe::new(&recipe),
            sweeps: vec![sweep()],
            clusterings: Vec::new(),
            recounted: None,
            exact: None,
            floor: crate::pairs::judge::Floor::default(),
        };
        let wrong = contradictions(&Manifest::first(&recipe, state));
        let names: Vec<&str> = wrong.iter().map(|fault| fault.file.as_str()).collect();
        assert!(names.contains(&"documents-0.lk") && names.contains(&"pairs-0.lk"));
        assert!(!names.contains(&"MANIFEST-1"));
    }
}
