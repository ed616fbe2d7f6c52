//! Stars: components split so that every member is linked to its representative.
//!
//! Paper 002, section 4.4. Within a component the document with most shingles comes
//! first and takes all that are linked to it; of the rest the next does the same. Stars
//! lie within components, so no other pairs need be looked at, and the cap on kept pairs
//! does not show.

use hashbrown::HashMap;

use super::policy::Verify;
use super::truth::{Sets, exact_pair};
use super::{Run, Side};
use crate::storage::StorageError;

impl Run<'_> {
    /// Splits every component into stars.
    pub(super) fn split_into_stars(&mut self) -> Result<(), StorageError> {
        let mut components: HashMap<u32, Vec<u32>> = HashMap::new();
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
                    .push(doc);
            }
        })?;
        let mut stars = HashMap::new();
        for root in roots {
            let mut left = components.remove(&root).unwrap_or_default();
            if left.len() < 2 {
                continue;
            }
            let full = if self.policy.verify == Verify::None {
                Sets::new()
            } else {
                self.truth.sets(&left)?
            };
            let size = |doc: u32| {
                let head = self.sketches.head(doc);
                (head.samples() as u64) << head.level().min(40)
            };
            left.sort_by_key(|&doc| (std::cmp::Reverse(size(doc)), doc));
            self.stars_of(left, &full, &mut stars)?;
        }
        self.stars = Some(stars);
        Ok(())
    }

    fn stars_of(
        &mut self,
        mut left: Vec<u32>,
        full: &Sets,
        stars: &mut HashMap<u32, u32>,
    ) -> Result<(), StorageError> {
        let mut buffers = [Vec::new(), Vec::new()];
        let errors = self.policy.errors();
        while let Some((&centre, others)) = left.split_first() {
            let mut rest = Vec::new();
            for &other in others {
                let mut pair = self.compare(centre, other, &mut buffers)?;
                let is_unsure = self.policy.side(&pair, self.kind, errors) == Side::Near
                    || self.policy.verify == Verify::Exact;
                if is_unsure {
                    match exact_pair(pair.a, pair.b, full) {
                        Some(exact) => {
                            self.summary.verified += 1;
                            self.exact.insert((exact.a, exact.b), exact);
                            pair = exact;
                        }
                        None => self.summary.by_estimate += 1,
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
}
