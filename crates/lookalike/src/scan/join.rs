//! Sets → which of them hang together: every pair that reaches a threshold, exactly,
//! without looking at every pair.
//!
//! ```text
//! sets, smallest first ─► rare shingles of each ─► earlier sets that share one ─► count ─► join
//! ```
//!
//! Two sets that share much must share one of the *rarest* shingles of each: of n
//! shingles in a fixed order, a set that must share k of them shares one of the first
//! n − k + 1. So only those few are looked up and written down, and a header that all
//! documents share is never among them unless it is most of the document.
//!
//! What is wanted are connected components, not pairs. The sets written down under one
//! shingle are therefore kept by component, and a component is passed over as soon as
//! the new set belongs to it: 20,000 variants of one page cost 20,000 comparisons and
//! not 200 million. The worst case is still quadratic: many sets of which all pairs
//! just fail the threshold on the same shingles.

use lookalike_core::components::DisjointSets;
use lookalike_core::estimate::Overlap;

/// What joins two sets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Thresholds {
    /// The least resemblance, above 0.
    pub(super) resemblance: f64,
    /// The least containment of either in the other, above 0; or only resemblance counts.
    pub(super) containment: Option<f64>,
}

impl Thresholds {
    /// How two sets are joined, if they are.
    pub(super) fn link(&self, overlap: Overlap) -> Option<Link> {
        let reaches = |share: Option<f64>, least: f64| share.is_some_and(|share| share >= least);
        if reaches(overlap.resemblance(), self.resemblance) {
            return Some(Link::Similar);
        }
        let least = self.containment?;
        let contained = reaches(overlap.a_in_b(), least) || reaches(overlap.b_in_a(), least);
        contained.then_some(Link::Contained)
    }
}

/// By what two sets are joined.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Link {
    /// Resemblance.
    Similar,
    /// Containment, and not resemblance.
    Contained,
}

/// Joins all sets that reach a threshold with each other or by way of others.
///
/// `sets` are strictly increasing numbers below `shingles`. The answer does not depend
/// on the order of the sets but for their numbers.
pub(super) fn join(sets: &[Vec<u32>], shingles: usize, thresholds: Thresholds) -> DisjointSets {
    join_counted(sets, shingles, thresholds).0
}

/// The same, and at how many pairs of sets it had to look.
fn join_counted(
    sets: &[Vec<u32>],
    shingles: usize,
    thresholds: Thresholds,
) -> (DisjointSets, usize) {
    let count = u32::try_from(sets.len()).expect("fewer than 2^32 documents");
    let ranked = Ranked::new(sets, shingles);
    let mut joiner = Joiner {
        ranked: &ranked,
        components: DisjointSets::new(count),
        lists: Vec::new(),
        last_asked: vec![u32::MAX; sets.len()],
        looks: 0,
    };
    let t = thresholds.resemblance;
    joiner.pass(&Pass {
        // r ≥ t needs t·n of n in common, whatever the other's size; and with one that
        // is no smaller, 2t/(1+t)·n.
        asked: &|n| prefix(n, t * n as f64),
        kept: &|n| prefix(n, 2.0 * t / (1.0 + t) * n as f64),
        needed: &|n, m| at_least(t / (1.0 + t) * (n + m) as f64),
        reached: &|overlap| overlap.resemblance().is_some_and(|r| r >= t),
    });
    if let Some(c) = thresholds.containment {
        joiner.pass(&Pass {
            // The smaller one, kept, must be found by any of the larger one's shingles.
            asked: &|n| n,
            kept: &|n| prefix(n, c * n as f64),
            needed: &|n, m| at_least(c * n.min(m) as f64),
            reached: &|overlap| {
                let shares = [overlap.a_in_b(), overlap.b_in_a()];
                shares.iter().flatten().any(|&share| share >= c)
            },
        });
    }
    (joiner.components, joiner.looks)
}

/// The least whole number a count must reach, on the safe side of rounding: what it
/// lets through is decided by the true ratio afterwards.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share of a count, so not negative and no larger than a count"
)]
fn at_least(share: f64) -> usize {
    (share - 1e-6).ceil().max(1.0) as usize
}

/// How many of `n` shingles must be looked at to meet one of the common ones.
fn prefix(n: usize, common: f64) -> usize {
    n - at_least(common).min(n) + usize::from(n > 0)
}

/// The sets in terms of how rare each shingle is.
struct Ranked {
    /// Each set's shingles by rank, rarest first.
    sets: Vec<Vec<u32>>,
    /// The first rank of a shingle that is in two sets or more.
    first_shared: u32,
    /// How many ranks there are from there on.
    shared: usize,
    /// The sets by size.
    order: Vec<u32>,
}

impl Ranked {
    fn new(sets: &[Vec<u32>], shingles: usize) -> Ranked {
        let mut frequency = vec![0_u32; shingles];
        for &shingle in sets.iter().flatten() {
            frequency[shingle as usize] += 1;
        }
        let count = u32::try_from(shingles).expect("numbered with 32 bits");
        let mut by_rarity: Vec<u32> = (0..count).collect();
        by_rarity.sort_by_key(|&shingle| frequency[shingle as usize]);
        let alone = by_rarity.partition_point(|&shingle| frequency[shingle as usize] < 2);
        let mut rank = frequency; // every entry is written anew
        for (at, &shingle) in (0..).zip(&by_rarity) {
            rank[shingle as usize] = at;
        }
        let ranked = |set: &Vec<u32>| {
            let mut ranks: Vec<u32> = set.iter().map(|&shingle| rank[shingle as usize]).collect();
            ranks.sort_unstable();
            ranks
        };
        let mut order: Vec<u32> = (0..).take(sets.len()).collect();
        order.sort_by_key(|&set| sets[set as usize].len());
        Ranked {
            sets: sets.iter().map(ranked).collect(),
            first_shared: u32::try_from(alone).expect("numbered with 32 bits"),
            shared: shingles - alone,
            order,
        }
    }

    fn set(&self, number: u32) -> &[u32] {
        &self.sets[number as usize]
    }

    /// The shared ones among the first `len` shingles of a set: place and list.
    fn lists(&self, number: u32, len: usize) -> impl Iterator<Item = (usize, usize)> {
        let set = &self.set(number)[..len];
        let start = set.partition_point(|&rank| rank < self.first_shared);
        let lists = set[start..]
            .iter()
            .map(|rank| (rank - self.first_shared) as usize);
        (start..).zip(lists)
    }
}

/// One way of being alike: how far to look and what to ask.
struct Pass<'a> {
    /// How many of n shingles are looked up.
    asked: &'a dyn Fn(usize) -> usize,
    /// How many of n are written down for later, larger sets; no more than are asked.
    kept: &'a dyn Fn(usize) -> usize,
    /// How many two sets of these sizes must have in common, or fewer.
    needed: &'a dyn Fn(usize, usize) -> usize,
    /// Whether they are alike.
    reached: &'a dyn Fn(Overlap) -> bool,
}

/// The sets written down under one shingle that hang together.
struct Cluster {
    entries: Vec<Entry>,
}

#[derive(Clone, Copy)]
struct Entry {
    set: u32,
    /// Where in the set the shingle stands.
    place: u32,
}

struct Joiner<'a> {
    ranked: &'a Ranked,
    components: DisjointSets,
    /// For each shared shingle the sets written down, by component.
    lists: Vec<Vec<Cluster>>,
    /// The last set that each set was compared with in this pass.
    last_asked: Vec<u32>,
    /// How many sets were met in lists, alike or not.
    looks: usize,
}

impl Joiner<'_> {
    fn pass(&mut self, pass: &Pass<'_>) {
        let ranked = self.ranked;
        self.lists.clear();
        self.lists.resize_with(ranked.shared, Vec::new);
        self.last_asked.fill(u32::MAX);
        for &set in &ranked.order {
            let size = ranked.set(set).len();
            for (place, list) in ranked.lists(set, (pass.asked)(size)) {
                self.ask(pass, set, place, list);
            }
            for (place, list) in ranked.lists(set, (pass.kept)(size)) {
                self.keep(set, place, list);
            }
        }
    }

    /// Compares a set with those written down under one shingle of its own.
    fn ask(&mut self, pass: &Pass<'_>, set: u32, place: usize, list: usize) {
        let Joiner {
            ranked,
            components,
            lists,
            last_asked,
            looks,
        } = self;
        let ours = ranked.set(set);
        for cluster in &lists[list] {
            let other = cluster.entries[0].set;
            if components.find(other) == components.find(set) {
                continue;
            }
            for entry in &cluster.entries {
                *looks += 1;
                if std::mem::replace(&mut last_asked[entry.set as usize], set) == set {
                    continue;
                }
                let theirs = ranked.set(entry.set);
                let needed = (pass.needed)(ours.len(), theirs.len());
                // The first shingle the two share: what stands before it is not common.
                let possible = (ours.len() - place).min(theirs.len() - entry.place as usize);
                if possible < needed {
                    continue;
                }
                let overlap = overlap(&ours[place..], &theirs[entry.place as usize..], needed).map(
                    |common| Overlap {
                        a: ours.len(),
                        b: theirs.len(),
                        common,
                    },
                );
                if overlap.is_some_and(|overlap| (pass.reached)(overlap)) {
                    components.join(set, entry.set);
                    break;
                }
            }
        }
    }

    /// Writes a set down under one of its shingles, with those it hangs together with.
    fn keep(&mut self, set: u32, place: usize, list: usize) {
        let components = &mut self.components;
        let clusters = &mut self.lists[list];
        let component = components.find(set);
        let place = u32::try_from(place).expect("a set has fewer than 2^32 shingles");
        let mut own = Cluster {
            entries: vec![Entry { set, place }],
        };
        let mut i = 0;
        while i < clusters.len() {
            if components.find(clusters[i].entries[0].set) == component {
                let mut found = clusters.swap_remove(i);
                if found.entries.len() < own.entries.len() {
                    std::mem::swap(&mut found, &mut own);
                }
                found.entries.append(&mut own.entries);
                own = found;
            } else {
                i += 1;
            }
        }
        clusters.push(own);
    }
}

/// How many two increasing slices have in common, or `None` as soon as it is certain
/// that they are fewer than `needed`.
fn overlap(a: &[u32], b: &[u32], needed: usize) -> Option<usize> {
    let (small, large) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    let mut common = 0;
    // A search in the larger one pays when it is some times as long as the smaller.
    if small.len() < large.len() / 16 {
        let mut rest = large;
        for (i, x) in small.iter().enumerate() {
            rest = &rest[rest.partition_point(|y| y < x)..];
            common += usize::from(rest.first() == Some(x));
            if common + (small.len() - i - 1) < needed {
                return None;
            }
        }
        return Some(common);
    }
    let (mut i, mut j) = (0, 0);
    while i < small.len() && j < large.len() {
        match small[i].cmp(&large[j]) {
            std::cmp::Ordering::Equal => {
                (i, j) = (i + 1, j + 1);
                common += 1;
            }
            std::cmp::Ordering::Less => {
                i += 1;
                if common + (small.len() - i) < needed {
                    return None;
                }
            }
            std::cmp::Ordering::Greater => {
                j += 1;
                if common + (large.len() - j) < needed {
                    return None;
                }
            }
        }
    }
    Some(common)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// The components by definition: every pair is looked at.
    fn by_all_pairs(sets: &[Vec<u32>], thresholds: Thresholds) -> Vec<u32> {
        let mut components = DisjointSets::new(u32::try_from(sets.len()).expect("few"));
        for (j, b) in (0..).zip(sets) {
            for (i, a) in (0..j).zip(sets) {
                if thresholds.link(Overlap::of_sorted(a, b)).is_some() {
                    components.join(i, j);
                }
            }
        }
        (0..).take(sets.len()).map(|i| components.find(i)).collect()
    }

    fn joined(sets: &[Vec<u32>], shingles: usize, thresholds: Thresholds) -> Vec<u32> {
        let mut components = join(sets, shingles, thresholds);
        (0..).take(sets.len()).map(|i| components.find(i)).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]

        #[test]
        fn joining_agrees_with_all_pairs(
            sets in prop::collection::vec(prop::collection::btree_set(0_u32..30, 1..20), 0..25),
            resemblance in prop::sample::select(vec![0.05, 0.2, 1.0 / 3.0, 0.5, 0.6, 0.75, 0.9, 1.0]),
            containment in prop::option::of(prop::sample::select(vec![0.1, 0.5, 2.0 / 3.0, 0.8, 0.9, 1.0])),
        ) {
            // In `scan` equal sets are one; here they may come again.
            let sets: Vec<Vec<u32>> = sets.into_iter().map(|set| set.into_iter().collect()).collect();
            let thresholds = Thresholds { resemblance, containment };
            prop_assert_eq!(joined(&sets, 30, thresholds), by_all_pairs(&sets, thresholds));
        }

        #[test]
        fn variants_of_few_pages_agree_with_all_pairs(
            edits in prop::collection::vec((0_u32..3, prop::collection::btree_set(0_u32..40, 0..14)), 0..25),
            resemblance in prop::sample::select(vec![0.3, 0.5, 0.7, 0.9]),
            containment in prop::option::of(Just(0.8)),
        ) {
            // Page p has shingles 40p.., and a variant lacks some or has others instead.
            let sets: Vec<Vec<u32>> = edits.iter().map(|(page, edit)| {
                let all: BTreeSet<u32> = (0..40).filter(|i| !edit.contains(i)).map(|i| 40 * page + i)
                    .chain(edit.iter().filter(|&i| i % 2 == 0).map(|i| 120 + i)).collect();
                all.into_iter().collect()
            }).collect();
            let thresholds = Thresholds { resemblance, containment };
            prop_assert_eq!(joined(&sets, 160, thresholds), by_all_pairs(&sets, thresholds));
        }

        #[test]
        fn a_bounded_overlap_is_the_overlap_or_too_small(
            a in prop::collection::btree_set(0_u32..400, 0..20), b in prop::collection::btree_set(0_u32..400, 0..390), needed in 0_usize..20,
        ) {
            let (a, b): (Vec<u32>, Vec<u32>) = (a.into_iter().collect(), b.into_iter().collect());
            let common = Overlap::of_sorted(&a, &b).common;
            for got in [overlap(&a, &b, needed), overlap(&b, &a, needed)] {
                prop_assert!(got == Some(common) || (got.is_none() && common < needed));
            }
        }
    }

    const HALF: Thresholds = Thresholds {
        resemblance: 0.5,
        containment: None,
    };

    /// `count` sets of `own` shingles of their own and `header` that all have.
    fn with_header(count: u32, own: u32, header: u32) -> (Vec<Vec<u32>>, usize) {
        let set = |i: u32| (0..header).chain(header + i * own..header + (i + 1) * own);
        let sets = (0..count).map(|i| set(i).collect()).collect();
        (sets, (header + count * own) as usize)
    }

    #[test]
    fn a_header_that_all_share_is_not_looked_at_pair_by_pair() {
        // There are 200 million pairs. Below 26 of their own the sets are alike.
        for own in [290, 30, 26] {
            let (sets, shingles) = with_header(20_000, own, 51);
            let (mut components, looks) = join_counted(&sets, shingles, HALF);
            assert!((0..20_000).all(|i| components.find(i) == i), "{own}");
            assert_eq!(looks, 0, "{own}");
        }
    }

    #[test]
    fn variants_that_are_all_alike_are_not_looked_at_pair_by_pair() {
        for own in [25, 10, 1] {
            let (sets, shingles) = with_header(20_000, own, 51);
            let (mut components, looks) = join_counted(&sets, shingles, HALF);
            assert!((0..20_000).all(|i| components.find(i) == 0), "{own}");
            assert!(looks <= 20_000, "{own}: {looks}");
        }
    }
}
