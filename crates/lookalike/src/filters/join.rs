//! Who shares r features: found by sorting, without counting pairs.
//!
//! ```text
//! features ─► a bit for each value met, one for each met again ─► documents that can share
//!             r of them ─► for each choice of r places: their names sorted ─► runs of equal
//! ```
//!
//! A run is a set of documents of which every two share these r features. Two documents
//! stand in a run together if and only if they share r. N documents of k features: two
//! passes, 2 bits of 16 a feature, and C(k, r) sorts of those few that share anything.

use lookalike_core::sketch::features::EightBytes;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::truth::host;
use super::{Filtered, Spec};
use crate::storage::StorageError;

/// Documents that may share something, each with what its parts are called.
pub(super) struct Candidates {
    spec: Spec,
    docs: Vec<u32>,
    /// The parts of all of them, one after the other.
    parts: Vec<u64>,
    /// Where those of each begin; one more than documents.
    begins: Vec<usize>,
}

/// Values met once and met again: by their last bits, so that some that were met once
/// seem met again, and never the other way round.
struct Met {
    once: Vec<u64>,
    again: Vec<u64>,
    mask: u64,
}

impl Met {
    /// For so many values; no more than `budget` bytes.
    fn new(values: u64, budget: u64) -> Met {
        let bits = values.saturating_mul(16).next_power_of_two();
        let most = 1_u64 << (budget.max(1 << 10) * 4).ilog2();
        let bits = bits.clamp(64, most.max(64));
        let words = usize::try_from(bits / 64).unwrap_or(1);
        Met {
            once: vec![0; words],
            again: vec![0; words],
            mask: bits - 1,
        }
    }

    fn place(&self, value: u64) -> (usize, u64) {
        let at = value & self.mask;
        (usize::try_from(at / 64).unwrap_or(0), 1 << (at % 64))
    }

    fn meet(&mut self, value: u64) {
        let (word, bit) = self.place(value);
        self.again[word] |= self.once[word] & bit;
        self.once[word] |= bit;
    }

    fn is_shared(&self, value: u64) -> bool {
        let (word, bit) = self.place(value);
        self.again[word] & bit != 0
    }
}

impl Candidates {
    /// Reads all features, and keeps what may be shared.
    pub(super) fn of(collection: &Filtered, budget: u64) -> Result<Candidates, StorageError> {
        let spec = collection.spec();
        let mut found = Candidates {
            spec,
            docs: Vec::new(),
            parts: Vec::new(),
            begins: vec![0],
        };
        if let Spec::EightBytes(_) = spec {
            // Bytes are shared by all: whoever has a host is compared within it.
            let hosts = (0..collection.documents()).map(|doc| host(collection, doc));
            let hosts: Vec<u64> = hosts.collect::<Result<_, _>>()?;
            collection.each(|doc, features| {
                if let [bytes] = features {
                    let bytes = EightBytes(bytes.to_le_bytes());
                    found.push(doc, &byte_parts(bytes, hosts[doc as usize]));
                }
            })?;
            return Ok(found);
        }
        let words: u64 = collection
            .parts
            .iter()
            .map(|part| part.features.len() / 8)
            .sum();
        let mut met = Met::new(words, budget / 4);
        collection.each(|_, features| features.iter().for_each(|&value| met.meet(value)))?;
        collection.each(|doc, features| {
            let shared = features.iter().filter(|&&value| met.is_shared(value));
            if shared.count() >= spec.common() {
                found.push(doc, features);
            }
        })?;
        Ok(found)
    }

    fn push(&mut self, doc: u32, parts: &[u64]) {
        self.docs.push(doc);
        self.parts.extend_from_slice(parts);
        self.begins.push(self.parts.len());
    }

    fn parts(&self, i: usize) -> &[u64] {
        &self.parts[self.begins[i]..self.begins[i + 1]]
    }

    /// Calls `each` with every set of two or more documents that share r features, in
    /// order; the same set may come again by other features.
    pub(super) fn each_run(&self, mut each: impl FnMut(&[u32])) {
        let mut named: Vec<(u64, u32)> = Vec::with_capacity(self.docs.len());
        let mut run = Vec::new();
        let mut join = |named: &mut Vec<(u64, u32)>| {
            named.sort_unstable();
            for same in named.chunk_by(|x, y| x.0 == y.0) {
                if same.len() > 1 {
                    run.clear();
                    run.extend(same.iter().map(|(_, doc)| *doc));
                    run.dedup();
                    if run.len() > 1 {
                        each(&run);
                    }
                }
            }
            named.clear();
        };
        let Some(places) = self.places() else {
            // Names of runs of fingerprints: any one in common is enough.
            for (i, &doc) in self.docs.iter().enumerate() {
                named.extend(self.parts(i).iter().map(|&part| (part, doc)));
            }
            join(&mut named);
            return;
        };
        let mut choice: Vec<usize> = (0..self.spec.common()).collect();
        loop {
            for (i, &doc) in self.docs.iter().enumerate() {
                let parts = self.parts(i);
                let name = choice.iter().fold(0, |name, &place| {
                    xxh3_64_with_seed(&parts[place].to_le_bytes(), name)
                });
                named.push((name, doc));
            }
            join(&mut named);
            if !next_choice(&mut choice, places) {
                return;
            }
        }
    }

    /// How many parts a document has, where all have equally many, each at its place.
    fn places(&self) -> Option<usize> {
        match self.spec {
            Spec::Features(spec) => Some(spec.groups()),
            Spec::EightBytes(_) => Some(8),
            Spec::SuperShingles { .. } => None,
        }
    }
}

/// The bytes as parts, which are equal at the same place within the same host only.
fn byte_parts(bytes: EightBytes, host: u64) -> [u64; 8] {
    let mut place = 0_u8;
    bytes.0.map(|byte| {
        place += 1;
        xxh3_64_with_seed(&[place, byte], host)
    })
}

/// The next choice of places below `places`, in order; `false` after the last.
fn next_choice(choice: &mut [usize], places: usize) -> bool {
    let chosen = choice.len();
    let Some(i) = (0..chosen)
        .rev()
        .find(|&i| choice[i] < places - (chosen - i))
    else {
        return false;
    };
    choice[i] += 1;
    for j in i + 1..chosen {
        choice[j] = choice[j - 1] + 1;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_choice_comes_once() {
        let mut choice = vec![0, 1, 2];
        let mut all = vec![choice.clone()];
        while next_choice(&mut choice, 8) {
            all.push(choice.clone());
        }
        assert_eq!(all.len(), 56);
        assert!(all.windows(2).all(|two| two[0] < two[1]));
        assert!(all.iter().flatten().all(|&place| place < 8));
    }
}
