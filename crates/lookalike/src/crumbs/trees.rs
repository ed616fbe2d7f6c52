//! Directories with the same pages that do not stand side by side: on another host, or at
//! another depth.
//!
//! ```text
//! addresses of one content ─► where two of them differ: /pub/docs │ /a.html, / │ /a.html
//!                          ─► enough contents for one such fork? ─► every page of both
//! ```
//!
//! Contents at very many addresses say nothing and are left out. Of hosts, and of two names
//! in one directory, [`super::aliases`] tells; but where all that two hosts share is in one
//! directory of both, that directory is told here.
//!
//! Half of the pages under the name that can be done without must be there under the other:
//! who copies a few pages of another has pages of his own beside them.
//!
//! Pages that all stand in a directory of one name further down, as `node_modules`, say that
//! two places ship the same library, and nothing of the places.

use std::cmp::Reverse;

use hashbrown::HashMap;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::aliases::{Which, next_of, of_page};
use super::evidence::Tally;
use super::pages::Site;
use super::rule::{Prefix, Rule};
use super::{CrumbOptions, Learnt};

/// A content at more addresses is that of a page "not found", or has rules still to come.
const FEW: usize = 16;

/// Two names for one directory, the one that can be done without first.
type Fork<'s> = [Prefix<'s>; 2];

pub(super) fn learn(site: &Site<'_>, options: &CrumbOptions) -> Vec<Learnt> {
    let forks = directed(site, candidates(site, options));
    let forks = narrowed(site, &forks);
    let mut learnt: Vec<(usize, Learnt)> = Vec::new();
    for (i, (tally, pages)) in compare(site, &forks).into_iter().enumerate() {
        if tally.parts() < 2 || tally.is_confined() {
            continue;
        }
        let evidence = tally.evidence(|url| site.name(url));
        if options.accepts(&evidence) && 2 * evidence.pages >= pages {
            let rule = rule(&forks[i]);
            learnt.push((i, Learnt { rule, evidence }));
        }
    }
    learnt.sort_by(|x, y| {
        (Reverse(x.1.evidence.support), &x.1.rule).cmp(&(Reverse(y.1.evidence.support), &y.1.rule))
    });
    // One at a time of what hangs together: the next round sees what is left of the others.
    let mut taken: Vec<usize> = Vec::new();
    let mut out = Vec::new();
    for (i, one) in learnt {
        let [from, to] = &forks[i];
        let touches = |one: &Prefix<'_>, other: &Prefix<'_>| one.holds(other) || other.holds(one);
        let is_free = taken.iter().all(|&other| {
            let [its_from, its_to] = &forks[other];
            !touches(from, its_from) && !touches(to, its_from) && !touches(from, its_to)
        });
        if is_free {
            taken.push(i);
            out.push(one);
        }
    }
    out
}

fn rule([from, to]: &Fork<'_>) -> Rule {
    Rule::Tree {
        origin: from.origin.to_owned(),
        path: from.path.to_owned(),
        to_origin: to.origin.to_owned(),
        to_path: to.path.to_owned(),
    }
}

fn hash(prefix: &Prefix<'_>) -> u64 {
    xxh3_64_with_seed(prefix.path.as_bytes(), xxh3_64(prefix.origin.as_bytes()))
}

/// Whether other rules are for this: two names in one directory, and a directory that need
/// not be there.
fn is_known([one, other]: &Fork<'_>) -> bool {
    if one.origin != other.origin {
        return false;
    }
    let (above, above_other) = (one.above(), other.above());
    above == above_other || above.as_ref() == Some(other) || above_other.as_ref() == Some(one)
}

/// Forks that enough different contents have.
fn candidates<'s>(site: &'s Site<'_>, options: &CrumbOptions) -> Vec<Fork<'s>> {
    let mut by_content: Vec<(u32, u32, u32)> = Vec::with_capacity(site.seen.len());
    by_content.extend(
        site.seen
            .iter()
            .map(|one| (one.sweep, one.content, one.url)),
    );
    by_content.sort_unstable();
    let fork = |one: u32, other: u32| {
        let fork = Rule::fork(&site.urls[one as usize], &site.urls[other as usize])?;
        let [x, y] = fork;
        let fork = if x <= y { [x, y] } else { [y, x] };
        (!is_known(&fork)).then_some(fork)
    };
    let mut shared: HashMap<[u64; 2], ((u32, u32), Tally)> = HashMap::new();
    for same in by_content.chunk_by(|x, y| (x.0, x.1) == (y.0, y.1)) {
        if same.len() > FEW {
            continue;
        }
        for (i, one) in same.iter().enumerate() {
            for other in &same[i + 1..] {
                if let Some([x, y]) = fork(one.2, other.2) {
                    let pair = (one.2, other.2);
                    let known = shared.entry([hash(&x), hash(&y)]);
                    let (_, tally) = known.or_insert_with(|| (pair, Tally::default()));
                    tally.agree(one.1, (0, 0));
                }
            }
        }
    }
    let mut forks: Vec<Fork<'_>> = Vec::new();
    // Sorted below.
    for ((one, other), mut tally) in shared.into_values() {
        if tally.support() >= options.min_support {
            forks.extend(fork(one, other));
        }
    }
    forks.sort_unstable();
    forks
}

/// The same, the name that can be done without first: the longer one of two that hold one
/// another, else the one with fewer pages.
fn directed<'s>(site: &'s Site<'_>, forks: Vec<Fork<'s>>) -> Vec<Fork<'s>> {
    let mut pages: HashMap<u64, usize> = HashMap::new();
    for prefix in forks.iter().flatten() {
        pages.insert(hash(prefix), 0);
    }
    for url in &site.urls {
        Rule::each_prefix(url, |prefix, _| {
            if let Some(count) = pages.get_mut(&hash(&prefix)) {
                *count += 1;
            }
        });
    }
    let rank = |one: &Prefix<'_>| {
        let is_plain = !one.origin.starts_with("https:");
        let len = one.origin.len() + one.path.len();
        (Reverse(pages[&hash(one)]), is_plain, len)
    };
    let directed = forks.into_iter().map(|[x, y]| {
        let is_first = if x.holds(&y) || y.holds(&x) {
            x.path.len() < y.path.len()
        } else {
            (rank(&x), x) < (rank(&y), y)
        };
        if is_first { [y, x] } else { [x, y] }
    });
    directed.collect()
}

/// The same: of two hosts the directory that all pages are in which speak for a fork. Hosts
/// as a whole are left out.
fn narrowed<'s>(site: &'s Site<'_>, forks: &[Fork<'s>]) -> Vec<Fork<'s>> {
    let tallies = compare(site, forks);
    let mut out: Vec<Fork<'_>> = Vec::new();
    for ([from, to], (tally, _)) in forks.iter().zip(&tallies) {
        let deeper = |prefix: &Prefix<'_>, url: u32| {
            let depth = prefix.path.matches('/').count() + tally.leading();
            Rule::prefix(&site.urls[url as usize], depth)
        };
        let fork = match tally.example() {
            Some((own, its)) if from.origin != to.origin && tally.leading() > 0 => {
                deeper(from, own).zip(deeper(to, its)).map(|(x, y)| [x, y])
            }
            _ => Some([*from, *to]),
        };
        let is_host = |[from, to]: &Fork<'_>| from.path.is_empty() && to.path.is_empty();
        out.extend(fork.filter(|fork| !is_host(fork)));
    }
    out.sort_unstable();
    out.dedup();
    out
}

/// Every page of the one name against the same page of the other; and how many the one has.
fn compare(site: &Site<'_>, forks: &[Fork<'_>]) -> Vec<(Tally, usize)> {
    let mut tallies = vec![(Tally::default(), 0); forks.len()];
    if forks.is_empty() {
        return tallies;
    }
    let mut by_from: HashMap<u64, Vec<usize>> = HashMap::new();
    for (i, [from, _]) in forks.iter().enumerate() {
        by_from.entry(hash(from)).or_default().push(i);
    }
    let numbers: HashMap<&str, u32> = site.urls.iter().map(String::as_str).zip(0..).collect();
    let mut there = String::new();
    for (url, address) in (0..).zip(&site.urls) {
        Rule::each_prefix(address, |prefix, [rest, query]| {
            for &i in by_from.get(&hash(&prefix)).into_iter().flatten() {
                let to = forks[i][1];
                let (tally, pages) = &mut tallies[i];
                *pages += 1;
                there.clear();
                there.extend([to.origin, to.path, rest, query]);
                let Some(&its) = numbers.get(there.as_str()) else {
                    continue;
                };
                let is_host = prefix.origin != to.origin;
                let which = if is_host {
                    Which::Origins
                } else {
                    Which::Directories
                };
                if of_page(site, which, (url, its), next_of(rest), tally) {
                    let directories = rest.split('/').skip(1);
                    let count = directories.clone().count().saturating_sub(1);
                    let names = directories.map(|name| xxh3_64(name.as_bytes()));
                    tally.note_directories(names.take(count));
                }
            }
        });
    }
    tallies
}
