//! What an address can do without: parameters, ids, index pages, slashes, capitals.
//!
//! ```text
//! address ─► every rule that shortens it, and what is left ─┐
//!         └─► itself ───────────────────────────────────────┴─► sorted by what is left:
//!                                              the same page, or not, in the same sweep
//! parameters that this says nothing of ─► several at once, in the same way
//! ```
//!
//! Some parameters never come alone: a mailing adds its source and its campaign to every
//! link. No two addresses differ by one of them, so they are looked at together, and what
//! is known of all of them is taken for each, as nothing is known against it.
//!
//! About ten records of 24 bytes an address, a part of them at a time.

use std::cmp::Reverse;
use std::hash::{Hash, Hasher};

use hashbrown::{HashMap, HashSet};
use xxhash_rust::xxh3::{Xxh3Default, xxh3_64};

use super::evidence::{Evidence, Tally};
use super::pages::{Seen, Site};
use super::rule::{Rule, Scope};
use super::{CrumbOptions, Learnt};

/// What is left of an address, by which rule.
#[derive(Clone, Copy, Eq, Ord, PartialEq, PartialOrd)]
struct Left {
    key: u64,
    /// 0 for the address itself.
    rule: u64,
    url: u32,
    /// Of what was dropped: two addresses with the same there differ by something else.
    dropped: u32,
}

/// Records that are held at once, about, and that an address has.
const AT_ONCE: usize = 1 << 22;
const EACH: usize = 12;

/// Rules that are tried together; mostly one.
fn hash(rules: &[Rule]) -> u64 {
    let mut hasher = Xxh3Default::new();
    rules.hash(&mut hasher);
    hasher.finish().max(1)
}

/// What is tried on an address: calls back with rules, and what all of them leave of it.
type Trials<'t> = dyn Fn(&str, &mut dyn FnMut(&[Rule], &str)) + 't;

/// What was dropped of addresses, and an address each where it was.
type Tallies = HashMap<u64, (u32, Tally)>;

/// All rules of this kind that the evidence is enough for.
pub(super) fn learn(site: &Site<'_>, options: &CrumbOptions) -> Vec<Learnt> {
    let singly = |url: &str, each: &mut dyn FnMut(&[Rule], &str)| {
        Rule::each_drop(url, |rule, without| {
            each(std::slice::from_ref(&rule), &without);
        });
    };
    let tallies = gather(site, &singly);
    let contradicted = tallies.iter().filter(|(_, (_, tally))| tally.is_against());
    let mut decided: HashSet<u64> = contradicted.map(|(number, _)| *number).collect();
    let alone = accepted(site, tallies, &singly, options);
    decided.extend(alone.iter().map(|one| hash(&one.rules)));
    let jointly = |url: &str, each: &mut dyn FnMut(&[Rule], &str)| {
        let is_open = |rule: &Rule| !decided.contains(&hash(std::slice::from_ref(rule)));
        Rule::each_joint_drop(url, is_open, each);
    };
    let joint = accepted(site, gather(site, &jointly), &jointly, options);
    widest(&each_its_own(alone, joint))
}

/// Tries rules on all addresses.
fn gather(site: &Site<'_>, trials: &Trials<'_>) -> Tallies {
    let mut tallies = Tallies::new();
    let passes = (site.urls.len() * EACH).div_ceil(AT_ONCE).max(1) as u64;
    for pass in 0..passes {
        let mut left = Vec::new();
        for (number, url) in (0..).zip(&site.urls) {
            let mut put = |key: u64, rule: u64, dropped: u32| {
                if key % passes == pass {
                    left.push(Left {
                        key,
                        rule,
                        url: number,
                        dropped,
                    });
                }
            };
            put(xxh3_64(url.as_bytes()), 0, 0);
            trials(url, &mut |rules, without| {
                let dropped = rules
                    .iter()
                    .fold(0_u32, |sum, rule| rule.dropped(url) ^ sum.rotate_left(7));
                put(xxh3_64(without.as_bytes()), hash(rules), dropped.max(1));
            });
        }
        left.sort_unstable();
        for group in left.chunk_by(|x, y| x.key == y.key) {
            judge(site, group, trials, &mut tallies);
        }
    }
    tallies
}

/// Addresses of which the same is left.
fn judge(site: &Site<'_>, group: &[Left], trials: &Trials<'_>, tallies: &mut Tallies) {
    let bare = group.partition_point(|one| one.rule == 0);
    let (bare, ruled) = group.split_at(bare);
    let mut seen: Vec<(Seen, u32)> = Vec::new();
    for of_rule in ruled.chunk_by(|x, y| x.rule == y.rule) {
        if of_rule.len() + bare.len() < 2 {
            continue;
        }
        seen.clear();
        let all = bare.iter().chain(of_rule);
        seen.extend(all.flat_map(|one| site.at(one.url).iter().map(|at| (*at, one.dropped))));
        seen.sort_unstable_by_key(|(one, dropped)| (one.sweep, one.content, *dropped, one.url));
        let (mut same, mut other) = (None, None);
        for sweep in seen.chunk_by(|x, y| x.0.sweep == y.0.sweep) {
            let (Some((first, without)), Some((last, with))) = (sweep.first(), sweep.last()) else {
                continue;
            };
            if first.content != last.content {
                other = other.or(Some((first.url, last.url)));
            } else if without != with {
                same = same.or(Some((first.content, (first.url, last.url))));
            }
        }
        if same.is_none() && other.is_none() {
            continue;
        }
        let sample = of_rule[0].url;
        let (_, tally) = tallies
            .entry(of_rule[0].rule)
            .or_insert_with(|| (sample, Tally::default()));
        if let Some(pair) = other {
            tally.differ(pair);
        } else if let Some((content, pair)) = same {
            tally.agree(content, pair);
            note(site, of_rule, trials, tally);
        }
    }
}

/// Notes where in its scope a rule has evidence, and by which ids.
fn note(site: &Site<'_>, of_rule: &[Left], trials: &Trials<'_>, tally: &mut Tally) {
    if tally.parts() > 1 {
        return; // ids are asked for only where there are not two parts
    }
    let url = &site.urls[of_rule[0].url as usize];
    let rules = rules_of(url, of_rule[0].rule, trials);
    // Those that are tried together are of one scope.
    let Some(rule) = rules.first() else {
        return;
    };
    if let Some(part) = rule.part(url) {
        tally.note_part(xxh3_64(part.as_bytes()));
    }
    if matches!(rule, Rule::Id { .. }) {
        for one in of_rule {
            tally.note_id(one.dropped);
        }
    }
}

/// The rules of a number, from an address that they shorten.
fn rules_of(url: &str, number: u64, trials: &Trials<'_>) -> Vec<Rule> {
    let mut found = Vec::new();
    trials(url, &mut |rules, _| {
        if hash(rules) == number {
            found = rules.to_vec();
        }
    });
    found
}

/// Rules with enough evidence, tried together.
struct Accepted {
    rules: Vec<Rule>,
    evidence: Evidence,
    /// How many parts of their scope have some of it, up to two.
    parts: usize,
}

/// Rules with enough evidence.
fn accepted(
    site: &Site<'_>,
    tallies: Tallies,
    trials: &Trials<'_>,
    options: &CrumbOptions,
) -> Vec<Accepted> {
    let name = |url: u32| site.name(url);
    let mut all = Vec::new();
    for (number, (sample, mut tally)) in tallies {
        let rules = rules_of(&site.urls[sample as usize], number, trials);
        if rules.is_empty() {
            continue;
        }
        let parts = tally.parts().max(if tally.has_many_ids() { 2 } else { 0 });
        let evidence: Evidence = tally.evidence(name);
        if options.accepts(&evidence) {
            all.push(Accepted {
                rules,
                evidence,
                parts,
            });
        }
    }
    all.sort_by(|x, y| x.rules.cmp(&y.rules));
    all
}

/// Every rule once, with the parts of its scope that have evidence: its own, or the most
/// that it has together with others.
fn each_its_own(alone: Vec<Accepted>, mut joint: Vec<Accepted>) -> Vec<(Learnt, usize)> {
    joint.sort_by_key(|one| Reverse((one.parts, one.evidence.support)));
    let mut all: Vec<(Learnt, usize)> = Vec::new();
    let mut known: HashSet<Rule> = HashSet::new();
    for one in alone.into_iter().chain(joint) {
        for rule in one.rules {
            if known.insert(rule.clone()) {
                let evidence = one.evidence.clone();
                all.push((Learnt { rule, evidence }, one.parts));
            }
        }
    }
    all.sort_by(|x, y| x.0.rule.cmp(&y.0.rule));
    all
}

/// Of a parameter's rules the widest, but none wider than where there is evidence: with
/// evidence from one part of it alone it is that part's.
fn widest(learnt: &[(Learnt, usize)]) -> Vec<Learnt> {
    let mut wide: HashSet<(String, String, Option<String>)> = HashSet::new();
    let mut out = Vec::new();
    for step in 0..3 {
        for (one, parts) in learnt {
            let Rule::Parameter {
                origin,
                scope,
                name,
            } = &one.rule
            else {
                let is_of_parts = matches!(one.rule, Rule::Id { .. } | Rule::Segment { .. });
                if step == 0 && (*parts > 1 || !is_of_parts) {
                    out.push(one.clone());
                }
                continue;
            };
            let of = |section: Option<String>| (origin.clone(), name.clone(), section);
            let is_taken = |section: &str| {
                wide.contains(&of(None)) || wide.contains(&of(Some(section.to_owned())))
            };
            let taken = match (scope, step) {
                (Scope::Site, 0) if *parts > 1 => Some(of(None)),
                (Scope::Section(section), 1) if *parts > 1 && !is_taken(section) => {
                    Some(of(Some(section.clone())))
                }
                (Scope::Path(path), 2) => {
                    let section = path.get(1..).and_then(|rest| rest.find('/'));
                    let section = section.map_or("/", |end| &path[..end + 2]);
                    (!is_taken(section)).then(|| of(Some(path.clone())))
                }
                _ => None,
            };
            if let Some(taken) = taken {
                wide.insert(taken);
                out.push(one.clone());
            }
        }
    }
    out
}
