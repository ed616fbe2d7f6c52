//! Stars: components split so that every member is linked to its representative.
//!
//! Paper 002, section 4.4. Within a component the document with most shingles comes
//! first and takes all that are linked to it; of the rest the next does the same. Stars
//! lie within components, so no other pairs need be looked at, and the cap on kept pairs
//! does not show.

use hashbrown::HashMap;

use super::policy::Verify;
use super::truth::Sets;
use super::{Run, Side};
use crate::pairs::{Basis, Pair};
use crate::storage::StorageError;

impl Run<'_> {
    /// Splits every component into stars.
    pub(super) fn split_into_stars(&mut self) -> Result<(), StorageError> {
        let mut components: HashMap<u32, Vec<(u128, u32)>> = HashMap::new();
        let mut roots = Vec::new();
        let sets = &mut self.sets;
        self.collection.each_entry(|doc, entry| {
            if entry.copy_of == doc {
                let root = sets.find(doc);
                components
                    .entry(root)
                    .or_insert_with(|| {
                        roots.push(root);
                        Vec::new()
                    })
                    .push((entry.sketch_name, doc));
            }
        })?;
        let mut stars = HashMap::new();
        for root in roots {
            let mut named = components.remove(&root).unwrap_or_default();
            if named.len() < 2 {
                continue;
            }
            let docs: Vec<u32> = named.iter().map(|one| one.1).collect();
            let full = if self.policy.verify != Verify::None && self.truth.fits(&docs)? {
                Some(self.truth.sets(&docs)?)
            } else {
                None
            };
            // Of several the first by what they say: their numbers follow from the order
            // they were read in.
            let size = |doc: u32| self.sketches.head(doc).size();
            named.sort_by_key(|&(name, doc)| (std::cmp::Reverse(size(doc)), name, doc));
            let largest_first = named.into_iter().map(|one| one.1).collect();
            self.stars_of(largest_first, full.as_ref(), &mut stars)?;
        }
        self.stars = Some(stars);
        Ok(())
    }

    /// The stars of a component, given largest first; `full` holds its sets where they
    /// fit the budget.
    fn stars_of(
        &mut self,
        mut left: Vec<u32>,
        full: Option<&Sets<'_>>,
        stars: &mut HashMap<u32, u32>,
    ) -> Result<(), StorageError> {
        let mut buffers = [Vec::new(), Vec::new()];
        let errors = self.policy.errors();
        while let Some((&centre, others)) = left.split_first() {
            let mut pairs = Vec::with_capacity(others.len());
            let mut unsure = Vec::new();
            for &other in others {
                let pair = self.compare(centre, other, &mut buffers)?;
                let is_unsure = self.policy.verify == Verify::Exact
                    || self.policy.side(&pair, self.kind, errors) == Side::Near;
                if is_unsure && pair.basis != Basis::Exact {
                    unsure.push(other);
                }
                pairs.push((other, pair, is_unsure));
            }
            unsure.sort_unstable();
            self.learn(centre, &unsure, full)?;
            let mut rest = Vec::new();
            for (other, mut pair, is_unsure) in pairs {
                if is_unsure {
                    if let Some(exact) = self.exact.get(&(pair.a, pair.b)) {
                        self.summary.verified += 1;
                        pair = *exact;
                    } else {
                        self.summary.by_estimate += 1;
                    }
                }
                if self.policy.links(&pair, self.kind) {
                    stars.insert(other, centre);
                } else {
                    rest.push(other);
                }
            }
            left = rest;
        }
        Ok(())
    }

    /// Learns the true values of one document and others, from sets at hand or by reading.
    fn learn(
        &mut self,
        centre: u32,
        others: &[u32],
        full: Option<&Sets<'_>>,
    ) -> Result<(), StorageError> {
        let exact = &mut self.exact;
        let mut keep = |pair: &Pair| {
            exact.insert((pair.a, pair.b), *pair);
        };
        match full {
            Some(full) => {
                for &other in others {
                    let pair = full.pair(centre.max(other), centre.min(other));
                    pair.iter().for_each(&mut keep);
                }
                Ok(())
            }
            None => self.truth.with(centre, others, keep),
        }
    }
}
