//! What an address can do without: parameters, ids, index pages, slashes, capitals.
//!
//! ```text
//! address ─► every rule that shortens it, and what is left ─┐
//!         └─► itself ───────────────────────────────────────┴─► sorted by what is left:
//!                                              the same page, or not, in the same sweep
//! ```
//!
//! About ten records of 24 bytes an address, a part of them at a time.

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

fn hash(rule: &Rule) -> u64 {
    let mut hasher = Xxh3Default::new();
    rule.hash(&mut hasher);
    hasher.finish().max(1)
}

/// All rules of this kind that the evidence is enough for.
pub(super) fn learn(site: &Site<'_>, options: &CrumbOptions) -> Vec<Learnt> {
    let mut tallies: HashMap<u64, (u32, Tally)> = HashMap::new();
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
            Rule::each_drop(url, |rule, without| {
                put(xxh3_64(without.as_bytes()), hash(&rule), rule.dropped(url));
            });
        }
        left.sort_unstable();
        for group in left.chunk_by(|x, y| x.key == y.key) {
            judge(site, group, &mut tallies);
        }
    }
    let learnt = accepted(site, tallies, options);
    widest(&learnt)
}

/// Addresses of which the same is left.
fn judge(site: &Site<'_>, group: &[Left], tallies: &mut HashMap<u64, (u32, Tally)>) {
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
            note(site, of_rule, tally);
        }
    }
}

/// Notes where in its scope a rule has evidence, and by which ids.
fn note(site: &Site<'_>, of_rule: &[Left], tally: &mut Tally) {
    if tally.parts() > 1 {
        return; // ids are asked for only where there are not two parts
    }
    let url = &site.urls[of_rule[0].url as usize];
    let Some(rule) = rule_of(url, of_rule[0].rule) else {
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

/// The rule of a number, from an address that it shortens.
fn rule_of(url: &str, number: u64) -> Option<Rule> {
    let mut found = None;
    Rule::each_drop(url, |rule, _| {
        if hash(&rule) == number {
            found = Some(rule);
        }
    });
    found
}

/// Rules with enough evidence, each with the parts of its scope that have some.
fn accepted(
    site: &Site<'_>,
    tallies: HashMap<u64, (u32, Tally)>,
    options: &CrumbOptions,
) -> Vec<(Learnt, usize)> {
    let name = |url: u32| site.name(url);
    let mut learnt: Vec<(Learnt, usize)> = Vec::new();
    let mut tallies: Vec<(u64, (u32, Tally))> = tallies.into_iter().collect();
    tallies.sort_unstable_by_key(|(number, _)| *number);
    for (number, (sample, mut tally)) in tallies {
        let Some(rule) = rule_of(&site.urls[sample as usize], number) else {
            continue;
        };
        let parts = tally.parts().max(if tally.has_many_ids() { 2 } else { 0 });
        let evidence: Evidence = tally.evidence(name);
        if options.accepts(&evidence) {
            learnt.push((Learnt { rule, evidence }, parts));
        }
    }
    learnt.sort_by(|x, y| x.0.rule.cmp(&y.0.rule));
    learnt
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
