//! Counted pair + sketches → worth keeping or not.
//!
//! ```text
//! (a, b, common) ─► can it reach the floor? ─► sizes at a level both have ─► Pair
//!                   no: forgotten              above the floor, by how much it may be off
//! ```
//!
//! The floor is well below the thresholds that clusters are made with, so that they can
//! be made again and again from the pairs alone.

use std::ops::RangeInclusive;

use lookalike_core::estimate::Overlap;
use lookalike_core::recipe::SketchKind;
use lookalike_core::sketch::min;

use super::count::Common;
use super::{Basis, Measure, Pair, Side};
use crate::clusters::policy::Policy;
use crate::collection::entry::SketchHead;
use crate::collection::sketches::Sketches;
use crate::storage::StorageError;

/// Which pairs are kept.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Floor {
    /// At least this resemblance, as far as can be told.
    pub resemblance: f64,
    /// Or this containment, one way or the other.
    pub containment: f64,
}

impl Default for Floor {
    fn default() -> Floor {
        Floor {
            resemblance: 0.4,
            containment: 0.5,
        }
    }
}

impl Floor {
    /// The floor lowered as far as a policy needs it.
    pub(crate) fn reaching(self, policy: &Policy) -> Floor {
        let least = |floor: f64, threshold: Option<f64>| threshold.map_or(floor, |t| t.min(floor));
        Floor {
            resemblance: least(self.resemblance, policy.resemblance),
            containment: least(self.containment, policy.containment),
        }
    }
}

/// How many standard errors below the floor a pair is still kept.
const ERRORS: f64 = 3.0;

/// How many standard errors below the floor a containment is still kept.
const CONTAINMENT_ERRORS: f64 = 1.0;

/// Up to how many samples of two documents together the least common count is looked up.
const TABLE: usize = 2048;

/// Earlier documents a document is paired with: its best, and besides them the earliest,
/// to which most others lead as well.
///
/// Whoever has more loses links, and which ones depends on the order of the input; so this
/// is a guard against collections of one template, not a saving. On 128,055 documents of
/// Debian packages 64 of them set a quarter of the pairs aside, 1,024 a four-hundredth, in
/// the same time. Clusters of 10,000 documents, half of them manual pages of one template,
/// changed with every shuffle under 64 and with none under 1,024.
const BEST: usize = 1024;
const EARLIEST: usize = 8;

/// What a judge asks about sketches.
pub(crate) trait Heads {
    /// How large the sketch of a document is.
    fn head(&self, doc: u32) -> SketchHead;

    /// How many samples the largest sketch has.
    fn most_samples(&self) -> usize;

    /// How many samples a document has at a level, if that is known without them.
    fn samples_at(&self, doc: u32, level: u32) -> Option<usize>;

    /// The samples of a document, increasing; `buffer` may hold them.
    fn samples<'a>(&'a self, doc: u32, buffer: &'a mut Vec<u64>)
    -> Result<&'a [u64], StorageError>;
}

impl Heads for Sketches {
    #[inline]
    fn head(&self, doc: u32) -> SketchHead {
        Sketches::head(self, doc)
    }

    fn most_samples(&self) -> usize {
        Sketches::most_samples(self)
    }

    #[inline]
    fn samples_at(&self, doc: u32, level: u32) -> Option<usize> {
        Sketches::samples_at(self, doc, level)
    }

    fn samples<'a>(
        &'a self,
        doc: u32,
        buffer: &'a mut Vec<u64>,
    ) -> Result<&'a [u64], StorageError> {
        Sketches::samples(self, doc, buffer)
    }
}

/// What every judge needs.
#[derive(Debug)]
pub(crate) struct Judging<'a, S> {
    sketches: &'a S,
    kind: SketchKind,
    floor: Floor,
    /// By the samples of both documents together: how many at least are common where the
    /// floor of resemblance is reached, however little was sampled.
    least_resembling: Vec<u32>,
    /// By the samples of one document: the same for containment.
    least_contained: Vec<u32>,
}

impl<'a, S: Heads> Judging<'a, S> {
    pub(crate) fn new(sketches: &'a S, kind: SketchKind, floor: Floor) -> Judging<'a, S> {
        let reaches = |common, of_a, of_b, measure, threshold, errors| {
            let pair = Pair {
                a: 1,
                b: 0,
                common,
                of_a,
                of_b,
                // Nothing known of the rest: the widest margin there is.
                basis: Basis::Level(64),
            };
            pair.side(measure, kind, threshold, errors) >= Side::Near
        };
        let resembling = |both: u32, common: u32| {
            reaches(
                common,
                both - common,
                common,
                Measure::Resemblance,
                floor.resemblance,
                ERRORS,
            )
        };
        let contained = |of: u32, common: u32| {
            reaches(
                common,
                of,
                common,
                Measure::AInB,
                floor.containment,
                CONTAINMENT_ERRORS,
            )
        };
        // Nobody asks for more than two documents have.
        let most = sketches.most_samples();
        let table = |most: usize| to_u32(most.saturating_add(1).min(TABLE));
        let both = table(most.saturating_mul(2));
        let least_resembling = growing(both, |both| 0..=both / 2, resembling);
        let least_contained = growing(table(most), |of| of.clamp(1, 2)..=of, contained);
        let sure = (0..both).zip(least_resembling);
        Judging {
            sketches,
            kind,
            floor,
            least_resembling: sure.map(|(both, least)| least.unwrap_or(both)).collect(),
            least_contained: least_contained
                .map(|least| least.unwrap_or(u32::MAX))
                .collect(),
        }
    }

    pub(crate) fn sketches(&self) -> &'a S {
        self.sketches
    }

    /// Whether so few in common can never be enough, told without division or root: most
    /// documents that meet have hardly anything in common.
    #[inline]
    fn is_hopeless(&self, common: u32, of_a: usize, of_b: usize) -> bool {
        let least = |table: &[u32], at: usize| table.get(at).copied().unwrap_or(0);
        common < least(&self.least_resembling, of_a + of_b)
            && common < least(&self.least_contained, of_a.min(of_b))
    }

    /// The estimated number of shingles of a document, up to a common factor.
    pub(crate) fn size(&self, doc: u32) -> u64 {
        self.sketches.head(doc).size()
    }
}

/// For each number of samples below `table` the least of a range that is enough, if any is. More samples
/// never need fewer, so each search goes on where the one before ended.
fn growing(
    table: u32,
    range: impl Fn(u32) -> RangeInclusive<u32>,
    is_enough: impl Fn(u32, u32) -> bool,
) -> impl Iterator<Item = Option<u32>> {
    let mut from = 0;
    (0..table).map(move |samples| {
        let range = range(samples);
        let mut rest = from.max(*range.start())..=*range.end();
        let least = rest.find(|common| is_enough(samples, *common));
        from = least.unwrap_or(from);
        least
    })
}

/// Judges the pairs of one later document after the other.
#[derive(Debug)]
pub(crate) struct Judge<'a, S> {
    judging: &'a Judging<'a, S>,
    /// Common fingerprints, which meetings do not count.
    common: &'a Common,
    doc: u32,
    head: SketchHead,
    has_samples: bool,
    samples: Vec<u64>,
    buffer: Vec<u64>,
    of_doc: Vec<Pair>,
    pairs: Vec<Pair>,
    set_aside: u64,
}

impl<'a, S: Heads> Judge<'a, S> {
    pub(crate) fn new(judging: &'a Judging<'a, S>, common: &'a Common) -> Judge<'a, S> {
        Judge {
            judging,
            common,
            doc: 0,
            head: SketchHead(0),
            has_samples: false,
            samples: Vec::new(),
            buffer: Vec::new(),
            of_doc: Vec::new(),
            pairs: Vec::new(),
            set_aside: 0,
        }
    }

    /// Pairs of this document are next.
    pub(crate) fn begin(&mut self, doc: u32) {
        self.doc = doc;
        self.head = self.judging.sketches.head(doc);
        self.has_samples = false;
    }

    /// An earlier document that was met so often.
    pub(crate) fn consider(&mut self, other: u32, met: u32) -> Result<(), StorageError> {
        let (kind, sketches) = (self.judging.kind, self.judging.sketches);
        let (mine, theirs) = (self.common.of(self.doc), self.common.of(other));
        let most = met + to_u32(mine.len().min(theirs.len()));
        let pair = match kind {
            SketchKind::Nested { .. } | SketchKind::Mod { .. } => {
                let level = (self.head.level()).max(sketches.head(other).level());
                let of_a = sketches.samples_at(self.doc, level);
                let of_b = sketches.samples_at(other, level);
                if let (Some(of_a), Some(of_b)) = (of_a, of_b)
                    && self.judging.is_hopeless(most, of_a, of_b)
                {
                    return Ok(());
                }
                let basis = match kind {
                    SketchKind::Mod { .. } => Basis::Modulus,
                    _ => Basis::Level(u8::try_from(level).unwrap_or(64)),
                };
                let (common, of_a, of_b) = if let (Some(of_a), Some(of_b)) = (of_a, of_b) {
                    let common = met + to_u32(self.common.shared(self.doc, other));
                    if self.judging.is_hopeless(common, of_a, of_b) {
                        return Ok(());
                    }
                    (common, of_a, of_b)
                } else {
                    // At best: all uncounted ones in common, and nothing else in the one
                    // whose size is not known.
                    let least = |of: Option<usize>| of.map_or(most, to_u32).max(most);
                    let best = Pair {
                        a: self.doc,
                        b: other,
                        common: most,
                        of_a: least(of_a),
                        of_b: least(of_b),
                        basis,
                    };
                    if !self.reaches_floor(&best) {
                        return Ok(());
                    }
                    let overlap = self.overlap_at(other, level)?;
                    (to_u32(overlap.common), overlap.a, overlap.b)
                };
                Pair {
                    a: self.doc,
                    b: other,
                    common,
                    of_a: to_u32(of_a),
                    of_b: to_u32(of_b),
                    basis,
                }
            }
            SketchKind::Perm { samples, .. } => Pair {
                a: self.doc,
                b: other,
                common: met + to_u32(self.common.shared(self.doc, other)),
                of_a: to_u32(samples),
                of_b: 0,
                basis: Basis::Resemblance,
            },
            SketchKind::Min { samples } | SketchKind::MinMod { samples, .. } => {
                let (hits, of) = self.smallest_of_both(other, samples)?;
                Pair {
                    a: self.doc,
                    b: other,
                    common: to_u32(hits),
                    of_a: to_u32(of),
                    of_b: 0,
                    basis: Basis::Resemblance,
                }
            }
        };
        if self.reaches_floor(&pair) {
            self.of_doc.push(pair);
        }
        Ok(())
    }

    fn reaches_floor(&self, pair: &Pair) -> bool {
        let Judging { kind, floor, .. } = *self.judging;
        let side =
            |measure, threshold, errors| pair.side(measure, kind, threshold, errors) >= Side::Near;
        // One sample in common is no evidence of containment, unless it is all there is.
        let is_evidence = pair.common >= 2 || pair.basis == Basis::Level(0);
        side(Measure::Resemblance, floor.resemblance, ERRORS)
            || is_evidence
                && (side(Measure::AInB, floor.containment, CONTAINMENT_ERRORS)
                    || side(Measure::BInA, floor.containment, CONTAINMENT_ERRORS))
    }

    fn load(&mut self) -> Result<(), StorageError> {
        if !self.has_samples {
            let mut buffer = std::mem::take(&mut self.buffer);
            let samples = self.judging.sketches.samples(self.doc, &mut buffer)?;
            self.samples.clear();
            self.samples.extend_from_slice(samples);
            self.buffer = buffer;
            self.has_samples = true;
        }
        Ok(())
    }

    fn overlap_at(&mut self, other: u32, level: u32) -> Result<Overlap, StorageError> {
        self.load()?;
        let theirs = self.judging.sketches.samples(other, &mut self.buffer)?;
        Ok(overlap_at(&self.samples, theirs, level))
    }

    fn smallest_of_both(
        &mut self,
        other: u32,
        samples: usize,
    ) -> Result<(usize, usize), StorageError> {
        self.load()?;
        let theirs = self.judging.sketches.samples(other, &mut self.buffer)?;
        Ok(min::smallest_of_both(&self.samples, theirs, samples))
    }

    /// No more pairs of this document: the best and the earliest are kept, by document.
    pub(crate) fn end(&mut self) {
        self.set_aside += keep_best(&mut self.of_doc, self.judging.kind);
        self.pairs.append(&mut self.of_doc);
    }

    /// No more pairs of this document: all that are above the floor, in no order.
    pub(crate) fn above_floor(&mut self) -> std::vec::Drain<'_, Pair> {
        self.of_doc.drain(..)
    }

    /// What was kept since the last time, and how much was set aside.
    pub(crate) fn take(&mut self) -> (Vec<Pair>, u64) {
        (
            std::mem::take(&mut self.pairs),
            std::mem::take(&mut self.set_aside),
        )
    }
}

/// Of the pairs of one later document keeps the best and the earliest, by earlier document,
/// and says how many are left out.
pub(crate) fn keep_best(of_doc: &mut Vec<Pair>, kind: SketchKind) -> u64 {
    of_doc.sort_unstable_by_key(|pair| pair.b);
    if of_doc.len() <= BEST + EARLIEST {
        return 0;
    }
    let value = |pair: &Pair| {
        let of = |measure| pair.value(measure, kind).unwrap_or(0.0);
        let contained = of(Measure::AInB).max(of(Measure::BInA));
        of(Measure::Resemblance).max(0.5 * contained)
    };
    let mut later: Vec<(f64, Pair)> = (of_doc.drain(EARLIEST..))
        .map(|pair| (value(&pair), pair))
        .collect();
    later.select_nth_unstable_by(BEST, |(x, one), (y, other)| {
        y.total_cmp(x).then(one.b.cmp(&other.b))
    });
    let set_aside = (later.len() - BEST) as u64;
    later.truncate(BEST);
    later.sort_unstable_by_key(|(_, pair)| pair.b);
    of_doc.extend(later.into_iter().map(|(_, pair)| pair));
    set_aside
}

/// What two lists have in common among those that are 0 modulo 2^level.
pub(crate) fn overlap_at(a: &[u64], b: &[u64], level: u32) -> Overlap {
    let of_level = |x: &&u64| x.trailing_zeros() >= level;
    if a.iter().chain(b).all(|x| of_level(&x)) {
        // As mostly they are: then nothing is passed over, and the walk takes no branch that
        // depends on the samples.
        return Overlap::of_sorted(a, b);
    }
    let (mut xs, mut ys) = (a.iter().filter(of_level), b.iter().filter(of_level));
    let (mut x, mut y) = (xs.next(), ys.next());
    let mut overlap = Overlap::default();
    while let (Some(first), Some(second)) = (x, y) {
        overlap.common += usize::from(first == second);
        if first <= second {
            overlap.a += 1;
            x = xs.next();
        }
        if second <= first {
            overlap.b += 1;
            y = ys.next();
        }
    }
    overlap.a += usize::from(x.is_some()) + xs.count();
    overlap.b += usize::from(y.is_some()) + ys.count();
    overlap
}

fn to_u32(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tables by their definition: every count is tried, from the least on.
    fn by_definition(kind: SketchKind, floor: Floor) -> (Vec<u32>, Vec<u32>) {
        let pair = |common, of_a| Pair {
            a: 1,
            b: 0,
            common,
            of_a,
            of_b: common,
            basis: Basis::Level(64),
        };
        let resembling = |both: u32| {
            let is_enough = |&common: &u32| {
                let pair = pair(common, both - common);
                pair.side(Measure::Resemblance, kind, floor.resemblance, ERRORS) >= Side::Near
            };
            (0..=both / 2).find(is_enough).unwrap_or(both)
        };
        let contained = |of: u32| {
            let is_enough = |&common: &u32| {
                let (floor, errors) = (floor.containment, CONTAINMENT_ERRORS);
                pair(common, of).side(Measure::AInB, kind, floor, errors) >= Side::Near
            };
            (of.clamp(1, 2)..=of).find(is_enough).unwrap_or(u32::MAX)
        };
        let all = 0..to_u32(TABLE);
        (
            all.clone().map(resembling).collect(),
            all.map(contained).collect(),
        )
    }

    /// Sketches of which only the largest is known.
    struct Largest(usize);

    impl Heads for Largest {
        fn head(&self, _: u32) -> SketchHead {
            SketchHead::new(self.0, 0)
        }

        fn most_samples(&self) -> usize {
            self.0
        }

        fn samples_at(&self, _: u32, _: u32) -> Option<usize> {
            None
        }

        fn samples<'a>(&'a self, _: u32, _: &'a mut Vec<u64>) -> Result<&'a [u64], StorageError> {
            Ok(&[])
        }
    }

    #[test]
    fn tables_are_what_trying_every_count_gives() {
        let kind = SketchKind::default();
        for (resemblance, containment) in [(0.4, 0.5), (0.05, 0.05), (0.9, 0.99), (1.0, 1.0)] {
            let floor = Floor {
                resemblance,
                containment,
            };
            let (resembling, contained) = by_definition(kind, floor);
            for most in [0, 1, 100, 256, TABLE, usize::MAX] {
                let sketches = Largest(most);
                let judging = Judging::new(&sketches, kind, floor);
                let both = most.saturating_mul(2).saturating_add(1).min(TABLE);
                let one = most.saturating_add(1).min(TABLE);
                assert!(judging.least_resembling == resembling[..both], "{floor:?}");
                assert!(judging.least_contained == contained[..one], "{floor:?}");
            }
        }
    }

    #[test]
    fn an_overlap_is_that_of_the_samples_of_a_level() {
        // Every pair of subsets of six values, of levels 0 to 5 and one of any.
        let values = [1_u64, 2, 4, 8, 0, 32].map(|value| value | u64::from(value > 0) << 40);
        let subset = |bits: usize| {
            let members = (0..6).filter(|i| bits >> i & 1 == 1);
            let mut all: Vec<u64> = members.map(|i| values[i]).collect();
            all.sort_unstable();
            all
        };
        for (x, y) in (0..64).flat_map(|x| (0..64).map(move |y| (x, y))) {
            let (a, b) = (subset(x), subset(y));
            for level in 0..8 {
                let of_level = |all: &[u64]| -> Vec<u64> {
                    let modulus = 1_u64 << level;
                    all.iter().copied().filter(|x| x % modulus == 0).collect()
                };
                let expected = Overlap::of_sorted(&of_level(&a), &of_level(&b));
                assert_eq!(overlap_at(&a, &b, level), expected, "{a:?} {b:?} {level}");
            }
        }
    }
}
