//! One minimum for each of t permutations: `perm:t` of the recipe.
//!
//! ```text
//! fingerprints ─► blocks ─► for each permutation: least image ─► t samples
//! ```
//!
//! Sample i of two documents is equal with probability equal to their
//! resemblance, whatever their lengths, and samples of different permutations are
//! independent: the number of equal ones is binomial. That simplicity is what
//! features and acceptance curves rest on. The price is time: n fingerprints cost
//! O(n·t), or about n·t/8 look-ups for the lead-byte family. Memory is the
//! drawn tables, shared by all documents, and 8·t bytes a document.

use crate::draw::Draw;
use crate::permutation::{Family, LeadBytes, Linear, Matrix, TablePair, Tables};
use crate::weighted;

/// Fingerprints taken through one pair of permutations before the next one's turn,
/// so that its 32 KiB of tables come to the first-level cache once for 512 of them
/// (documents of 100 shingles pay 40 % more a shingle for fetching them so often).
const BLOCK: usize = 512;

/// The least element under each of t permutations.
///
/// A sample is the *image* of the least element: under the permutation itself for
/// `linear` and `matrix`, the tail for `lead-byte`, the tabulated value for
/// `tabulation`. The first three are bijections of `u64`, so equal samples in one
/// place mean the same fingerprint; by tabulation, different fingerprints give
/// equal samples with probability 2^-64. Samples of different places, families or
/// seeds must not be compared.
///
/// Empty for the empty document, which has no least element, and t samples for any
/// other: a document of one shingle has t samples of that shingle.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PermSketch(Box<[u64]>);

impl PermSketch {
    /// Takes what a reader decoded: any numbers are legal samples.
    pub fn from_samples(samples: Vec<u64>) -> PermSketch {
        PermSketch(samples.into_boxed_slice())
    }

    /// Sample i is that of permutation i; empty for the empty document.
    pub fn samples(&self) -> &[u64] {
        &self.0
    }

    /// Whether the document had no shingle at all.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Counts the samples two documents have in common: `(common, t)`, whose ratio
/// estimates the resemblance without bias, with variance r(1-r)/t.
///
/// `None` when both are empty: no evidence. When one is empty it is `(0, t)`, and
/// that is no estimate but a fact.
///
/// # Panics
///
/// When both have samples and not equally many: such sketches come from different
/// recipes, and whoever brought them together should have noticed.
pub fn resemblance(a: &PermSketch, b: &PermSketch) -> Option<(usize, usize)> {
    let of = a.0.len().max(b.0.len());
    if a.is_empty() || b.is_empty() {
        return (of > 0).then_some((0, of));
    }
    assert_eq!(a.0.len(), b.0.len(), "sketches of different recipes met");
    let equal = a.0.iter().zip(&b.0).filter(|(x, y)| x == y);
    Some((equal.count(), of))
}

/// Draws t permutations once and takes the minima of any number of documents.
///
/// Permutation i depends on the family, the seed and i, and not on t: the sketch
/// for 84 is the beginning of the sketch for 200.
#[derive(Clone, Debug)]
pub struct PermSketcher {
    count: usize,
    drawn: Drawn,
}

#[derive(Clone, Debug)]
enum Drawn {
    Linear(Vec<Linear>),
    /// Matrix or tabulation: once drawn, the two are evaluated alike. Two
    /// permutations each; the last may serve one.
    Tables(Vec<TablePair>),
    /// Eight permutations each; the last may serve fewer.
    LeadBytes(Vec<LeadBytes>),
    /// A seed for each draw.
    Weighted(Vec<u64>),
}

/// The minima of the fingerprints seen so far.
#[derive(Clone, Debug)]
pub struct PermState {
    seen: bool,
    /// The least image, by permutation; for lead bytes the tail that goes with the
    /// least lead. There is room for whole pairs and groups of eight.
    least: Box<[u64]>,
    /// Lead bytes: the least lead of eight permutations, packed. Weighted: the place of the
    /// element that comes first, as bits in the order of places.
    leads: Box<[u64]>,
}

/// Where a fingerprint stands under one permutation: the smallest is the minimum.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Rank {
    /// The lead byte; 0 in families that have none.
    pub lead: u8,
    /// The image, and what is kept as the sample.
    pub image: u64,
}

impl PermSketcher {
    /// Draws the permutations: 16 bytes each for `linear`, 16 KiB for `matrix` and
    /// `tabulation`, 2 KiB for `lead-byte`.
    ///
    /// # Panics
    ///
    /// When `permutations` is 0: the sketches would say nothing.
    pub fn new(family: Family, permutations: usize, seed: u64) -> PermSketcher {
        assert!(permutations > 0, "a sketch needs at least one permutation");
        let mut draw = Draw::new(seed);
        let each = 0..permutations;
        let drawn = match family {
            Family::Linear => Drawn::Linear(each.map(|_| Linear::draw(&mut draw)).collect()),
            Family::Matrix => pairs(permutations, || Matrix::draw(&mut draw).tables()),
            Family::Tabulation => pairs(permutations, || Tables::draw(&mut draw)),
            Family::LeadByte => {
                let groups = 0..permutations.div_ceil(8);
                Drawn::LeadBytes(groups.map(|_| LeadBytes::draw(&mut draw)).collect())
            }
            Family::Weighted => Drawn::Weighted(each.map(|_| draw.next_u64()).collect()),
        };
        PermSketcher {
            count: permutations,
            drawn,
        }
    }

    /// How many permutations there are, and so how many samples a document gets.
    pub fn permutations(&self) -> usize {
        self.count
    }

    /// Where `fingerprint` stands under one permutation: the definition that the
    /// block-wise minima answer to.
    ///
    /// # Panics
    ///
    /// When there is no such permutation.
    pub fn rank(&self, permutation: usize, fingerprint: u64) -> Rank {
        assert!(permutation < self.count, "no permutation {permutation}");
        match &self.drawn {
            Drawn::Linear(all) => Rank {
                lead: 0,
                image: all[permutation].image(fingerprint),
            },
            Drawn::Tables(pairs) => Rank {
                lead: 0,
                image: pairs[permutation / 2].images(fingerprint)[permutation % 2],
            },
            Drawn::LeadBytes(groups) => {
                let (group, j) = (&groups[permutation / 8], permutation % 8);
                Rank {
                    lead: group.leads(fingerprint).to_le_bytes()[j],
                    image: group.tail(j, fingerprint),
                }
            }
            // By its place; what is kept of it is another number.
            Drawn::Weighted(seeds) => Rank {
                lead: 0,
                image: ordered(weighted::place(seeds[permutation], fingerprint, 0.0).at),
            },
        }
    }

    /// A document of which nothing has been seen: the only allocation it needs.
    pub fn start(&self) -> PermState {
        let (minima, groups) = match &self.drawn {
            Drawn::Linear(all) => (all.len(), 0),
            Drawn::Tables(pairs) => (2 * pairs.len(), 0),
            Drawn::LeadBytes(groups) => (8 * groups.len(), groups.len()),
            Drawn::Weighted(seeds) => (seeds.len(), seeds.len()),
        };
        // All ones is the last place of every order: whatever comes is no larger.
        PermState {
            seen: false,
            least: vec![u64::MAX; minima].into_boxed_slice(),
            leads: vec![u64::MAX; groups].into_boxed_slice(),
        }
    }

    /// Takes more fingerprints of the document, in any order, repeats allowed.
    ///
    /// Fastest in pieces of a few hundred: each call goes through every table.
    ///
    /// # Panics
    ///
    /// When the state was started by a sketcher of another shape.
    pub fn push(&self, state: &mut PermState, fingerprints: &[u64]) {
        state.seen |= !fingerprints.is_empty();
        for block in fingerprints.chunks(BLOCK) {
            match &self.drawn {
                Drawn::Linear(all) => least_linear(all, &mut state.least, block),
                Drawn::Tables(pairs) => {
                    let (least, rest) = state.least.as_chunks_mut();
                    assert!(rest.is_empty(), "{STRANGER}");
                    least_by_tables(pairs, least, block);
                }
                Drawn::LeadBytes(groups) => {
                    let (tails, rest) = state.least.as_chunks_mut();
                    assert!(rest.is_empty(), "{STRANGER}");
                    least_by_leads(groups, &mut state.leads, tails, block);
                }
                Drawn::Weighted(seeds) => {
                    for &x in block {
                        first_by_weight(seeds, state, x, 0.0);
                    }
                }
            }
        }
    }

    /// Takes an element with its weight, each element once.
    ///
    /// # Panics
    ///
    /// When the sketcher is of another family than [`Family::Weighted`], or the weight is
    /// not finite and above 0: whoever has a [`WeightedSet`](weighted::WeightedSet) has seen
    /// to that.
    pub fn push_weighted(&self, state: &mut PermState, fingerprint: u64, weight: f64) {
        let Drawn::Weighted(seeds) = &self.drawn else {
            panic!("permutations know no weights");
        };
        assert!(weighted::check(weight).is_ok(), "{weight} is no weight");
        state.seen = true;
        first_by_weight(seeds, state, fingerprint, weighted::ln(weight));
    }

    /// The sketch of what was pushed.
    pub fn finish(&self, state: PermState) -> PermSketch {
        let mut samples = state.least.into_vec();
        samples.truncate(if state.seen { self.count } else { 0 });
        PermSketch::from_samples(samples)
    }
}

/// Draws tables and lays them side by side. An odd one out is paired with one more,
/// whose minima are dropped in the end.
fn pairs(permutations: usize, mut draw: impl FnMut() -> Tables) -> Drawn {
    let pairs = 0..permutations.div_ceil(2);
    Drawn::Tables(pairs.map(|_| TablePair::new(&draw(), &draw())).collect())
}

/// What an assertion says of a state that belongs to another sketcher.
const STRANGER: &str = "the state was started by another sketcher";

/// Permutations in steps of four: their minima stay in registers, and no
/// comparison waits for the one before it.
fn least_linear(all: &[Linear], least: &mut [u64], block: &[u64]) {
    assert_eq!(all.len(), least.len(), "{STRANGER}");
    let (fours, rest) = all.as_chunks::<4>();
    let (least_fours, least_rest) = least.as_chunks_mut::<4>();
    for (four, least) in fours.iter().zip(least_fours) {
        let mut now = *least;
        for &x in block {
            for (now, linear) in now.iter_mut().zip(four) {
                *now = linear.image(x).min(*now);
            }
        }
        *least = now;
    }
    for (linear, least) in rest.iter().zip(least_rest) {
        *least = block
            .iter()
            .fold(*least, |now, &x| linear.image(x).min(now));
    }
}

fn least_by_tables(pairs: &[TablePair], least: &mut [[u64; 2]], block: &[u64]) {
    assert_eq!(pairs.len(), least.len(), "{STRANGER}");
    for (pair, least) in pairs.iter().zip(least) {
        let [mut left, mut right] = *least;
        for &x in block {
            let images = pair.images(x);
            left = left.min(images[0]);
            right = right.min(images[1]);
        }
        *least = [left, right];
    }
}

/// Eight lead bytes by eight look-ups; tails only for those that reach the least
/// lead so far, which is one in 256 once that is 0, and seven or so before.
fn least_by_leads(
    groups: &[LeadBytes],
    least_leads: &mut [u64],
    least_tails: &mut [[u64; 8]],
    block: &[u64],
) {
    assert_eq!(groups.len(), least_leads.len(), "{STRANGER}");
    assert_eq!(groups.len(), least_tails.len(), "{STRANGER}");
    for ((group, least), tails) in groups.iter().zip(least_leads).zip(least_tails) {
        for &x in block {
            let leads = group.leads(x);
            let mut due = bytes_at_most(leads, *least);
            while due != 0 {
                let j = due.trailing_zeros() as usize / 8;
                due &= due - 1;
                let byte = 0xFF << (8 * j);
                let tail = group.tail(j, x);
                if leads & byte < *least & byte {
                    *least = *least & !byte | leads & byte;
                    tails[j] = tail;
                } else {
                    tails[j] = tails[j].min(tail);
                }
            }
        }
    }
}

/// Of every draw the element that comes first; of two at one place, which happens by
/// chance alone, the one with the smaller sample.
fn first_by_weight(seeds: &[u64], state: &mut PermState, x: u64, log: f64) {
    assert_eq!(seeds.len(), state.leads.len(), "{STRANGER}");
    let firsts = state.leads.iter_mut().zip(&mut state.least);
    for (&seed, (first, least)) in seeds.iter().zip(firsts) {
        let place = weighted::place(seed, x, log);
        let now = (ordered(place.at), place.sample);
        if now < (*first, *least) {
            (*first, *least) = now;
        }
    }
}

/// The bits of a number that is one, in the order of numbers.
const fn ordered(x: f64) -> u64 {
    let bits = x.to_bits();
    if bits >> 63 == 0 {
        bits | 1 << 63
    } else {
        !bits
    }
}

/// Which bytes of x are no larger than those of y, as the top bit of each byte.
const fn bytes_at_most(x: u64, y: u64) -> u64 {
    const TOP: u64 = 0x8080_8080_8080_8080;
    // With the top bits set aside, 128 + y - x keeps its top bit where x ≤ y and
    // never borrows from the next byte.
    let low = (y | TOP) - (x & !TOP);
    ((y & !x) | (!(x ^ y) & low)) & TOP
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random(seed: u64, count: usize) -> Vec<u64> {
        let mut draw = Draw::new(seed);
        (0..count).map(|_| draw.next_u64()).collect()
    }

    fn sketch(sketcher: &PermSketcher, fingerprints: &[u64]) -> PermSketch {
        let mut state = sketcher.start();
        sketcher.push(&mut state, fingerprints);
        sketcher.finish(state)
    }

    /// The definition: the image of whatever ranks lowest.
    fn by_definition(sketcher: &PermSketcher, fingerprints: &[u64]) -> PermSketch {
        let least = |i| fingerprints.iter().map(move |&x| sketcher.rank(i, x)).min();
        let samples = (0..sketcher.permutations()).filter_map(least);
        PermSketch::from_samples(samples.map(|rank| rank.image).collect())
    }

    #[test]
    fn block_wise_minima_are_the_minima() {
        // Counts on both sides of the steps of 4 and 8, lengths of the block of 512.
        for family in Family::ALL {
            for permutations in [1, 4, 7, 8, 13, 84] {
                let sketcher = PermSketcher::new(family, permutations, 1);
                for length in [0, 1, 2, 100, 511, 512, 513, 1500] {
                    let random = random(length as u64, length);
                    let dense: Vec<u64> = (0..length as u64).collect();
                    for set in [random, dense] {
                        let got = sketch(&sketcher, &set);
                        assert_eq!(got, by_definition(&sketcher, &set), "{family} {length}");
                    }
                }
            }
        }
    }

    #[test]
    fn pieces_order_and_repeats_do_not_matter() {
        let all = random(2, 2000);
        for family in Family::ALL {
            let sketcher = PermSketcher::new(family, 21, 2);
            let whole = sketch(&sketcher, &all);
            for piece in [1, 3, 64, 512, 700, 1999] {
                let mut state = sketcher.start();
                for piece in all.chunks(piece) {
                    sketcher.push(&mut state, piece);
                    sketcher.push(&mut state, &[]);
                }
                assert_eq!(sketcher.finish(state), whole, "{family} {piece}");
            }
            let mut other: Vec<u64> = all.iter().rev().copied().collect();
            other.extend_from_within(500..900);
            other.rotate_left(333);
            assert_eq!(sketch(&sketcher, &other), whole, "{family}");
        }
    }

    #[test]
    fn fewer_permutations_are_the_first_of_more() {
        let all = random(3, 300);
        for family in Family::ALL {
            let many = sketch(&PermSketcher::new(family, 30, 3), &all);
            let few = sketch(&PermSketcher::new(family, 11, 3), &all);
            assert_eq!(few.samples(), &many.samples()[..11], "{family}");
        }
    }

    #[test]
    fn an_empty_document_has_no_samples_and_a_short_one_all() {
        for family in Family::ALL {
            let sketcher = PermSketcher::new(family, 20, 4);
            let (empty, short) = (sketch(&sketcher, &[]), sketch(&sketcher, &[17]));
            assert!(empty.is_empty());
            assert_eq!(short.samples().len(), 20);
            assert_eq!(resemblance(&empty, &empty), None);
            assert_eq!(resemblance(&empty, &short), Some((0, 20)));
            assert_eq!(resemblance(&short, &empty), Some((0, 20)));
            assert_eq!(resemblance(&short, &short), Some((20, 20)));
            let other = sketch(&sketcher, &[18]);
            assert_eq!(resemblance(&short, &other), Some((0, 20)));
        }
    }

    #[test]
    #[should_panic(expected = "sketches of different recipes met")]
    fn sketches_of_different_lengths_do_not_compare() {
        let of = |t| PermSketch::from_samples(vec![1; t]);
        resemblance(&of(3), &of(4));
    }

    #[test]
    #[should_panic(expected = "the state was started by another sketcher")]
    fn a_state_stays_with_its_sketcher() {
        let mut state = PermSketcher::new(Family::LeadByte, 3, 1).start();
        PermSketcher::new(Family::Linear, 3, 1).push(&mut state, &[1]);
    }

    #[test]
    fn another_seed_gives_other_samples() {
        let all = random(5, 50);
        for family in Family::ALL {
            let a = sketch(&PermSketcher::new(family, 40, 1), &all);
            let b = sketch(&PermSketcher::new(family, 40, 2), &all);
            // By chance a sample agrees with probability 2^-64.
            assert_eq!(resemblance(&a, &b), Some((0, 40)), "{family}");
        }
    }

    #[test]
    fn on_mixed_fingerprints_the_estimate_is_unbiased() {
        // Resemblance 1/2: 150 in each, 100 common, 200 in the union.
        // 400 random pairs of sets with 64 permutations are 25,600 trials; the
        // permutations are drawn once, the sets each time. Standard deviation
        // sqrt(1/4/25600) = 0.0031, four of them 0.0125.
        for family in Family::ALL {
            let sketcher = PermSketcher::new(family, 64, 6);
            let mut common = 0;
            for pair in 0..400 {
                let union = random(1000 + pair, 200);
                let (a, b) = (&union[..150], &union[50..]);
                let (a, b) = (sketch(&sketcher, a), sketch(&sketcher, b));
                common += resemblance(&a, &b).map_or(0, |(common, _)| common);
            }
            let estimate = common as f64 / 25_600.0;
            assert!((estimate - 0.5).abs() < 0.0125, "{family} {estimate}");
        }
    }

    #[test]
    fn bytes_compare_at_once_as_one_by_one() {
        // Every pair of bytes in one place, between neighbours that would lend or
        // borrow if anything did.
        for (x, y) in (0..=255).flat_map(|x| (0..=255).map(move |y| (x, y))) {
            for (before, after) in [(0, 255), (255, 0), (128, 127), (127, 128)] {
                let pack = |b: [u64; 3]| b[0] << 32 | b[1] << 24 | b[2] << 16;
                let (left, right) = (pack([before, x, after]), pack([after, y, before]));
                let bytes = left.to_le_bytes().into_iter().zip(right.to_le_bytes());
                let slow = bytes.map(|(l, r)| if l <= r { 0x80 } else { 0 });
                let slow: Vec<u8> = slow.collect();
                assert_eq!(bytes_at_most(left, right).to_le_bytes()[..], slow);
            }
        }
    }

    #[test]
    fn a_seed_draws_the_same_permutations_for_ever() {
        // Samples are kept on disk. These come from an independent program in Python
        // that follows the definitions: samples 0, 4 and 8 of nine.
        let set = [1, 2, 3, 1_000_003, 1 << 40, u64::MAX];
        let expected = [
            (
                Family::Linear,
                [
                    0x174C_D575_7579_4645,
                    0x30A5_01EA_D813_D587,
                    0x01E2_6A9D_16BC_D75B,
                ],
            ),
            (
                Family::Matrix,
                [
                    0x5ED4_6EE7_9F9A_DE67,
                    0x02AE_3649_36CD_1B79,
                    0x1E90_DEA8_5B16_E7BD,
                ],
            ),
            (
                Family::Tabulation,
                [
                    0x2C0D_DA79_5231_4C18,
                    0x8093_5BD7_FD48_F264,
                    0x225B_865E_A984_559A,
                ],
            ),
            (
                Family::LeadByte,
                [
                    0xF516_05DE_46C7_7234,
                    0x8415_47C6_52BF_D973,
                    0xDCEA_9BFB_731C_C5BC,
                ],
            ),
        ];
        for (family, expected) in expected {
            let sketch = sketch(&PermSketcher::new(family, 9, 1997), &set);
            let samples = sketch.samples();
            assert_eq!([samples[0], samples[4], samples[8]], expected, "{family}");
        }
    }
}
