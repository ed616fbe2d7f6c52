//! Which of some texts are alike, on all their shingles.
//!
//! ```text
//! sets ─► each with its rarest shingles first ─► who shares one of the first few ─► counted
//! ```
//!
//! Two sets with resemblance t have t of either in common. So of n shingles all but the
//! last ⌈t·n⌉ - 1 are enough to meet each other by, in one order for all; rare ones first,
//! so that what everybody has is looked at last or never. Containment leaves no such bound
//! for the longer of two, and all shingles are looked at. No pair is missed.
//!
//! Time: all shingles, and for each text those before it that share one. Memory: about 40
//! bytes for each shingle that two texts have.

use hashbrown::HashMap;
use lookalike_core::recipe::SketchKind;

use super::Groups;
use crate::clusters::policy::{Link, Policy};
use crate::pairs::Pair;

/// Joins the texts that a policy links. Under `star` a text joins the best-ranked that
/// leads a group, and leads one itself where there is none.
pub(super) fn join(sets: &[(usize, Vec<u64>)], policy: &Policy, groups: &mut Groups) {
    let sets = different(sets, groups);
    let mut order = Order::of(&sets);
    let mut met = vec![usize::MAX; sets.len()];
    let mut candidates = Vec::new();
    for (i, (result, set)) in sets.iter().enumerate() {
        let first = order.first_few(set, policy);
        candidates.clear();
        for shingle in &first {
            for &other in order.index.get(shingle).map_or(&[][..], Vec::as_slice) {
                if met[other] != i {
                    met[other] = i;
                    candidates.push(other);
                }
            }
        }
        candidates.sort_unstable();
        let mut leads = true;
        for &other in &candidates {
            let (other, its) = sets[other];
            let is_one = groups.root(*result) == groups.root(other);
            if is_one {
                leads = false;
            } else if policy.links(&Pair::of_sets(0, 1, set, its), SketchKind::default())
                && groups.join(*result, other)
            {
                leads = false;
                if policy.link == Link::Star {
                    break;
                }
            }
        }
        if leads || policy.link == Link::Chain {
            for shingle in first {
                order.index.entry(shingle).or_default().push(i);
            }
        }
    }
}

/// A result, and all shingles of its text.
type Text<'s> = (usize, &'s Vec<u64>);

/// One of each set; those that are the same are one group.
fn different<'s>(sets: &'s [(usize, Vec<u64>)], groups: &mut Groups) -> Vec<Text<'s>> {
    let mut firsts: HashMap<&[u64], usize> = HashMap::new();
    let mut different = Vec::new();
    for (result, set) in sets {
        let first = *firsts.entry(set).or_insert(*result);
        // Of two clusters they may be, if they are told apart by more than their shingles.
        if first == *result || !groups.join(first, *result) {
            different.push((*result, set));
        }
    }
    different
}

/// The order of all shingles, and who has been met by them.
struct Order {
    counts: HashMap<u64, u32>,
    index: HashMap<u64, Vec<usize>>,
}

impl Order {
    fn of(sets: &[Text<'_>]) -> Order {
        let mut counts = HashMap::new();
        for shingle in sets.iter().flat_map(|(_, set)| *set) {
            *counts.entry(*shingle).or_insert(0) += 1;
        }
        Order {
            counts,
            index: HashMap::new(),
        }
    }

    /// The shingles of a set by which all that a policy links with it are met, without
    /// those that nobody else has.
    fn first_few(&self, set: &[u64], policy: &Policy) -> Vec<u64> {
        let count = |shingle: &u64| self.counts.get(shingle).copied().unwrap_or(0);
        let mut all = set.to_vec();
        if let (Some(threshold), None) = (policy.resemblance, policy.containment) {
            all.sort_unstable_by_key(|shingle| (count(shingle), *shingle));
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a share of a length; what rounding takes is looked at in vain"
            )]
            let common = (threshold * set.len() as f64 - 1e-6).ceil().max(1.0) as usize;
            all.truncate((set.len() + 1).saturating_sub(common));
        }
        all.retain(|shingle| count(shingle) > 1);
        all
    }
}
