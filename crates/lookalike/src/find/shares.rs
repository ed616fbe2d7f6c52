//! Who shares the samples of a document, and how much each sample tells.
//!
//! A shingle that many pages have is their template: that two documents share it says
//! little. So each sample counts by one over the number of pages that ever had it.

use lookalike_core::recipe::SketchKind;

use super::Finder;
use crate::pairs::postings::key;
use crate::storage::StorageError;

/// A list longer than this is not read: a sample of so many documents tells nothing.
const COMMON: u32 = 1 << 9;

/// Counts different pages without sorting: 4 bytes a page.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pages<'a> {
    /// The page that each document is of.
    of: &'a [u32],
    /// When each was counted last.
    counted: Vec<u32>,
    now: u32,
}

impl Pages<'_> {
    /// `of` tells the page of each document; there are so many pages.
    pub(crate) fn new(of: &[u32], count: usize) -> Pages<'_> {
        Pages {
            of,
            counted: vec![0; count],
            now: 0,
        }
    }

    /// How many different pages some documents are of.
    fn count(&mut self, docs: &[u32]) -> u32 {
        if self.now == u32::MAX {
            self.counted.fill(0);
            self.now = 0;
        }
        self.now += 1;
        let mut count = 0;
        for doc in docs {
            let page = self.of.get(*doc as usize).map(|page| *page as usize);
            if let Some(counted) = page.and_then(|page| self.counted.get_mut(page)) {
                count += u32::from(*counted != self.now);
                *counted = self.now;
            }
        }
        count
    }
}

/// The samples of a document and who has them too.
#[derive(Debug, Default)]
pub(crate) struct Shares {
    /// What each sample tells, from 0 to 1, in the order of the samples.
    pub(crate) weights: Vec<f64>,
    /// (document, sample), sorted. Only documents with a sketch of their own.
    pub(crate) met: Vec<(u32, u32)>,
    /// By level, from 0 on: how many samples are of that level or higher, and their weight.
    levels: Vec<(u32, f64)>,
}

impl Shares {
    /// How many samples there are of a level, and what they weigh together.
    pub(crate) fn at_level(&self, level: u32) -> (u32, f64) {
        let levels = &self.levels;
        levels.get(level as usize).copied().unwrap_or_default()
    }

    /// Calls `each` with every document met, how many samples it shares, and their weight.
    pub(crate) fn each(&self, mut each: impl FnMut(u32, u32, f64)) {
        for same in self.met.chunk_by(|x, y| x.0 == y.0) {
            let weight = same
                .iter()
                .map(|(_, sample)| self.weights[*sample as usize]);
            let count = u32::try_from(same.len()).unwrap_or(u32::MAX);
            each(same[0].0, count, weight.sum());
        }
    }

    /// How many samples a document shares, and their weight.
    pub(crate) fn with(&self, doc: u32) -> (u32, f64) {
        let from = self.met.partition_point(|met| met.0 < doc);
        let same = self.met[from..].iter().take_while(|met| met.0 == doc);
        same.fold((0, 0.0), |(count, weight), (_, sample)| {
            (count + 1, weight + self.weights[*sample as usize])
        })
    }
}

impl Finder {
    /// Looks up who shares samples, of the documents that `is_wanted`. Versions of one page
    /// count once.
    pub(crate) fn shares(
        &self,
        samples: &[u64],
        pages: &mut Pages<'_>,
        is_wanted: impl Fn(u32) -> bool,
    ) -> Result<Shares, StorageError> {
        let kind = self.recipe.sketch;
        let keys = |place| key(kind, place, samples[place]);
        let mut lists = Vec::with_capacity(samples.len());
        let mut lens = vec![0_u32; samples.len()];
        for (add, postings) in self.postings.iter().enumerate() {
            postings.find_each((0..samples.len()).map(keys), |place, list| {
                lens[place] = lens[place].saturating_add(list.len);
                lists.push((place, add, list));
            })?;
        }
        let mut shares = Shares {
            weights: lens
                .iter()
                .map(|len| 1.0 / f64::from(*len).max(1.0))
                .collect(),
            ..Shares::default()
        };
        lists.sort_unstable_by_key(|(place, add, _)| (*place, *add));
        let mut docs = Vec::new();
        for same in lists.chunk_by(|x, y| x.0 == y.0) {
            let place = same[0].0;
            if lens[place] > COMMON {
                continue;
            }
            docs.clear();
            for (_, add, list) in same {
                self.postings[*add].docs(*list, &mut docs)?;
            }
            shares.weights[place] = 1.0 / f64::from(pages.count(&docs).max(1));
            let sample = u32::try_from(place).unwrap_or(u32::MAX);
            let wanted = docs.iter().filter(|doc| is_wanted(**doc));
            shares.met.extend(wanted.map(|doc| (*doc, sample)));
        }
        shares.met.sort_unstable();
        let is_nested = matches!(kind, SketchKind::Nested { .. });
        for (sample, weight) in samples.iter().zip(&shares.weights) {
            let highest = if is_nested {
                sample.trailing_zeros()
            } else {
                0
            };
            let levels = &mut shares.levels;
            levels.resize(levels.len().max(highest as usize + 1), (0, 0.0));
            for level in &mut levels[..=highest as usize] {
                level.0 += 1;
                level.1 += weight;
            }
        }
        Ok(shares)
    }
}
