//! All documents that hold some of another, however many they are.
//!
//! [`Finder::find`] tells the best few and looks at no more postings than that takes. Who
//! must know of every copy asks here: O(postings of all samples + candidates).

use lookalike_core::recipe::SketchKind;

use super::{Finder, Match, Query, copied};
use crate::collection::entry::Grade;
use crate::pairs::{Measure, Pair};
use crate::storage::StorageError;

/// What a document must have to be told of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Least {
    /// This share of the document looked for,
    pub held: f64,
    /// or this share of its own must be of it.
    pub own: f64,
}

impl Finder {
    /// Every document that may have so much of another: by the upper end of its interval,
    /// so that who then looks at the texts misses none. In the order of their numbers.
    ///
    /// Sketches that tell no containment tell everything that has something in common.
    pub fn find_every(&self, query: &Query, least: Least) -> Result<Vec<Match>, StorageError> {
        let kind: SketchKind = self.recipe.sketch;
        let mut lists = Vec::with_capacity(query.samples.len());
        for (sweep, postings) in self.postings.iter().enumerate() {
            postings.find_each(query.keys(kind), |_, list| lists.push((list, sweep)))?;
        }
        let mut docs = Vec::new();
        for (list, sweep) in lists {
            self.postings[sweep].docs(list, &mut docs)?;
        }
        docs.sort_unstable();
        let mut matches = Vec::new();
        let mut samples = Vec::new();
        for same in docs.chunk_by(|x, y| x == y) {
            let class = same[0];
            let met = u32::try_from(same.len()).unwrap_or(u32::MAX);
            let pair = self.judge(query, class, met, &mut samples)?;
            let reaches = |measure, least: f64| {
                let estimate = pair.estimate(measure, kind);
                estimate.is_none_or(|estimate| estimate.high >= least)
            };
            if !reaches(Measure::AInB, least.held) && !reaches(Measure::BInA, least.own) {
                continue;
            }
            let name = self.collection.entry(class)?.sketch_name;
            self.collection.each_named_sketch(name, |doc, entry| {
                matches.push(Match {
                    doc,
                    grade: copied(query, entry).unwrap_or(Grade::Contained),
                    pair: Pair { b: doc, ..pair },
                    kind,
                    exact: None,
                });
            })?;
        }
        matches.sort_by_key(|one| one.doc);
        Ok(matches)
    }
}
