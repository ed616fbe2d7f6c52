//! Two names for one thing: mirrored hosts, and directories with the same pages.
//!
//! ```text
//! address ─► each part that may have another name, with what stands around it
//!         ─► sorted by that: names with the same content there ─► enough of it? candidates
//!         ─► each against the one of them with the most pages ─► rules
//! ```
//!
//! Names that share nothing are never compared. 32 bytes for each part of an address.

use std::cmp::Reverse;

use hashbrown::HashMap;
use lookalike_core::components::DisjointSets;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::evidence::Tally;
use super::pages::Site;
use super::rule::{Place, Rule, first_segment};
use super::{CrumbOptions, Learnt};

/// Which parts of addresses.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Which {
    Origins,
    Directories,
}

/// A part of an address.
#[derive(Clone, Copy, Eq, Ord, PartialEq, PartialOrd)]
struct Part {
    /// Of what stands around it.
    page: u64,
    name: u32,
    url: u32,
    /// Of the directory or page behind it.
    next: u32,
}

/// A name in its place.
struct Name {
    place: u64,
    text: String,
    /// What stands before it, of a directory.
    before: Option<(String, String)>,
    pages: usize,
}

/// A name, and the one whose pages it has.
type Pair = (u32, u32);

/// Names that are all compared with each other; of more, each with the largest.
const FEW: usize = 16;

pub(super) fn learn(site: &Site<'_>, which: Which, options: &CrumbOptions) -> Vec<Learnt> {
    let (names, parts) = parts(site, which);
    let sets = candidates(site, &parts, names.len(), options);
    let members = members(&sets, &names);
    let mut tallies = compare(site, which, &parts, &members);
    let mut learnt = Vec::new();
    for set in members.sets {
        let mut rest = set;
        while let [first, others @ ..] = &rest[..] {
            let mut left = Vec::new();
            for &other in others {
                // What is known of one directory alone is not known of all.
                let tally = tallies.remove(&(other, *first));
                let tally = tally.filter(|tally| tally.parts() > 1);
                let evidence = tally.map(|tally| tally.evidence(|url| site.name(url)));
                match evidence.filter(|evidence| options.accepts(evidence)) {
                    Some(evidence) => {
                        let rule = rule(&names[other as usize], &names[*first as usize]);
                        learnt.push(Learnt { rule, evidence });
                    }
                    None => left.push(other),
                }
            }
            rest = left;
        }
    }
    learnt.sort_by(|x, y| x.rule.cmp(&y.rule));
    learnt
}

fn rule(from: &Name, to: &Name) -> Rule {
    let (text, other) = (from.text.clone(), to.text.clone());
    match &from.before {
        None => Rule::Origin {
            from: text,
            to: other,
        },
        Some((origin, prefix)) => Rule::Directory {
            origin: origin.clone(),
            prefix: prefix.clone(),
            from: text,
            to: other,
        },
    }
}

/// The directory or page behind a name, as a number.
#[expect(
    clippy::cast_possible_truncation,
    reason = "a hash is one in any length"
)]
pub(super) fn next_of(rest: &str) -> u32 {
    xxh3_64(first_segment(rest).as_bytes()) as u32
}

/// All parts of all addresses, by what stands around them.
fn parts(site: &Site<'_>, which: Which) -> (Vec<Name>, Vec<Part>) {
    let mut numbers: HashMap<(u64, u64), u32> = HashMap::new();
    let mut names: Vec<Name> = Vec::new();
    let mut parts = Vec::new();
    for (url, address) in (0..).zip(&site.urls) {
        Rule::each_name(address, |at, text, rest| {
            let (place, before) = match (at, which) {
                (Place::Origin, Which::Origins) => (0, None),
                (Place::Behind(origin, prefix), Which::Directories) => {
                    let place = xxh3_64_with_seed(prefix.as_bytes(), xxh3_64(origin.as_bytes()));
                    (place, Some((origin, prefix)))
                }
                _ => return,
            };
            let next = u32::try_from(names.len()).unwrap_or(u32::MAX);
            let number = numbers.entry((place, xxh3_64(text.as_bytes())));
            let name = *number.or_insert_with(|| {
                let owned = |(x, y): (&str, &str)| (x.to_owned(), y.to_owned());
                names.push(Name {
                    place,
                    text: text.to_owned(),
                    before: before.map(owned),
                    pages: 0,
                });
                next
            });
            names[name as usize].pages += 1;
            let page = xxh3_64_with_seed(rest[1].as_bytes(), xxh3_64(rest[0].as_bytes()) ^ place);
            let next = next_of(rest[0]);
            parts.push(Part {
                page,
                name,
                url,
                next,
            });
        });
    }
    parts.sort_unstable();
    (names, parts)
}

/// Names that have enough contents in common, at the same places.
fn candidates(
    site: &Site<'_>,
    parts: &[Part],
    names: usize,
    options: &CrumbOptions,
) -> DisjointSets {
    let mut shared: HashMap<Pair, Tally> = HashMap::new();
    let mut seen = Vec::new();
    for group in parts.chunk_by(|x, y| x.page == y.page) {
        if group.first().map(|one| one.name) == group.last().map(|one| one.name) {
            continue;
        }
        seen.clear();
        for part in group {
            let at = site.at(part.url).iter();
            seen.extend(at.map(|one| (one.sweep, one.content, part.name)));
        }
        seen.sort_unstable();
        seen.dedup();
        for same in seen.chunk_by(|x, y| (x.0, x.1) == (y.0, y.1)) {
            for pair in same.windows(2) {
                let tally = shared.entry((pair[0].2, pair[1].2)).or_default();
                tally.agree(pair[0].1, (0, 0));
            }
        }
    }
    let mut sets = DisjointSets::new(u32::try_from(names).unwrap_or(u32::MAX));
    // Sets are the same in any order.
    for ((a, b), mut tally) in shared {
        if tally.support() >= options.min_support {
            sets.join(a, b);
        }
    }
    sets
}

/// Candidates that may be one, the one with the most pages first.
struct Members {
    sets: Vec<Vec<u32>>,
    /// The set of each name.
    of: Vec<Option<u32>>,
}

fn members(sets: &DisjointSets, names: &[Name]) -> Members {
    let mut sets = sets.clone();
    let mut by_root: Vec<Vec<u32>> = vec![Vec::new(); names.len()];
    for name in 0..u32::try_from(names.len()).unwrap_or(u32::MAX) {
        by_root[sets.find(name) as usize].push(name);
    }
    let mut members = Members {
        sets: Vec::new(),
        of: vec![None; names.len()],
    };
    for mut set in by_root.into_iter().filter(|set| set.len() > 1) {
        set.sort_by_key(|name| {
            let name = &names[*name as usize];
            let is_plain = !name.text.starts_with("https:");
            (
                Reverse(name.pages),
                is_plain,
                name.text.len(),
                name.text.clone(),
            )
        });
        debug_assert!(
            set.iter()
                .all(|name| names[*name as usize].place == names[set[0] as usize].place)
        );
        let number = u32::try_from(members.sets.len()).unwrap_or(u32::MAX);
        for &name in &set {
            members.of[name as usize] = Some(number);
        }
        members.sets.push(set);
    }
    members
}

/// Every candidate against the larger ones of its set, page by page.
fn compare(
    site: &Site<'_>,
    which: Which,
    parts: &[Part],
    members: &Members,
) -> HashMap<Pair, Tally> {
    let mut ranks = vec![usize::MAX; members.of.len()];
    for (rank, name) in members.sets.iter().flat_map(|set| set.iter().enumerate()) {
        ranks[*name as usize] = rank;
    }
    let mut tallies: HashMap<Pair, Tally> = HashMap::new();
    for group in parts.chunk_by(|x, y| x.page == y.page) {
        let mut here: Vec<(u32, usize, Part)> = group
            .iter()
            .filter_map(|part| {
                let set = members.of[part.name as usize]?;
                Some((set, ranks[part.name as usize], *part))
            })
            .collect();
        here.sort_unstable();
        for of_set in here.chunk_by(|x, y| x.0 == y.0) {
            for (i, to) in of_set.iter().enumerate() {
                if to.1 >= FEW {
                    break;
                }
                for from in &of_set[i + 1..] {
                    if to.1 > 0 && from.1 >= FEW {
                        break;
                    }
                    let tally = tallies.entry((from.2.name, to.2.name)).or_default();
                    of_page(site, which, (from.2.url, to.2.url), from.2.next, tally);
                }
            }
        }
    }
    tallies
}

/// One page under two names; `next` is the directory or page behind them. Tells whether it
/// speaks for them.
pub(super) fn of_page(
    site: &Site<'_>,
    which: Which,
    (from, to): (u32, u32),
    next: u32,
    tally: &mut Tally,
) -> bool {
    let (own, its) = (site.at(from), site.at(to));
    let (mut same, mut other, mut lag) = (None, None, None);
    for one in own {
        let Ok(at) = its.binary_search_by_key(&one.sweep, |it| it.sweep) else {
            continue;
        };
        if its[at].content == one.content {
            same = same.or(Some(one.content));
            continue;
        }
        // A mirror may have what the other had before, or an edited version of it.
        let had = |all: &[super::pages::Seen], content| all.iter().any(|it| it.content == content);
        let is_version = its[at].cluster == one.cluster;
        let is_late = had(its, one.content) || had(own, its[at].content);
        if which == Which::Origins && (is_version || is_late) {
            lag = lag.or(Some(()));
        } else {
            other = other.or(Some(()));
        }
    }
    match (other, lag, same) {
        (Some(()), ..) => tally.differ((from, to)),
        (None, Some(()), _) => tally.lag((from, to)),
        (None, None, Some(content)) => {
            tally.agree(content, (from, to));
            tally.note_part(next.into());
            return true;
        }
        _ => {}
    }
    false
}
