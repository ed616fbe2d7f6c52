//! Crumbs: what makes two addresses of one page, learnt from pages that are the same.
//!
//! ```text
//! collection ─► pages: address, sweep, content
//!               ─► hosts with the same pages ─► what addresses can do without ─► directories
//!                  ─► directories elsewhere: again, with what is known so far, while there is more
//!               ─► all rules together: whatever merges different pages is taken back ─► rules
//! ```
//!
//! Two pages are the same when they have the same words in the same sweep: what `add` calls
//! identical or lexical. Nothing less: pages of one template, and long ones that differ by a
//! price that no sample holds, are nearly the same, and a rule that merges them loses pages. A rule needs addresses that differ by
//! nothing but what it drops: a parameter that has another value on every page tells
//! nothing. Its support are the *different* contents that two such addresses have: a page
//! "not found" at a thousand addresses is one. Against it is every page where they have
//! different contents in one sweep; by default one such page is enough.
//!
//! No rule is wider than its evidence: what is known of one directory alone is not said of
//! the directories around it.
//!
//! Mirrors alone may be behind: a page that differs, but has been the other's in another
//! sweep or is of its cluster, is neither for nor against, up to one in ten.
//!
//! Time: some sorts of about ten records an address, at most four times over. Memory: the
//! addresses twice, 32 bytes a page and sweep and as many a content, 32 for each directory of an address, and
//! 100 MB for records.

mod aliases;

mod drops;

mod evidence;

mod pages;

mod rule;

mod trees;

#[cfg(test)]
mod tests;

pub use evidence::Evidence;
pub use pages::Pages;
pub use rule::{Letters, Rule, Scope, Shape, Substitution, plain};

use hashbrown::{HashMap, HashSet};

use aliases::Which;
use pages::{Applied, Site};

/// How sure a rule must be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CrumbOptions {
    /// Different pages that speak for it, at least.
    pub min_support: usize,
    /// The share of evidence that speaks for it, at least.
    pub min_precision: f64,
}

impl Default for CrumbOptions {
    fn default() -> CrumbOptions {
        CrumbOptions {
            min_support: 5,
            min_precision: 1.0,
        }
    }
}

impl CrumbOptions {
    fn accepts(&self, evidence: &Evidence) -> bool {
        evidence.support >= self.min_support.max(1) && evidence.precision() >= self.min_precision
    }
}

/// A rule, and what speaks for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Learnt {
    /// The rule.
    pub rule: Rule,
    /// For it and against it.
    pub evidence: Evidence,
}

/// Rules of some pages.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Crumbs {
    /// In the order they are to be applied, each until it changes nothing, and all of them
    /// again while one does.
    pub rules: Vec<Learnt>,
}

/// What a crawler would have been spared.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Savings {
    /// Pages that were fetched: addresses in all sweeps.
    pub fetched: u64,
    /// How many would have been enough.
    pub enough: u64,
    /// Pages that would have been taken for another in a sweep, though their words differ:
    /// of mirrors that lag behind, or where less than full precision was allowed.
    pub different: u64,
}

/// Rounds, each with what is known from those before.
const ROUNDS: usize = 4;

impl Crumbs {
    /// Learns the rules of some pages.
    pub fn learn(pages: &Pages, options: &CrumbOptions) -> Crumbs {
        let mut learnt: Vec<Learnt> = Vec::new();
        let mut banned: HashSet<Rule> = HashSet::new();
        for _ in 0..ROUNDS {
            let before = learnt.len();
            for stage in 0..4 {
                let rules: Vec<Rule> = learnt.iter().map(|one| one.rule.clone()).collect();
                let site = Site::of(pages, &rules);
                let found = match stage {
                    0 => aliases::learn(&site, Which::Origins, options),
                    1 => drops::learn(&site, options),
                    2 => aliases::learn(&site, Which::Directories, options),
                    _ => trees::learn(&site, options),
                };
                let new = found.into_iter().filter(|one| !banned.contains(&one.rule));
                learnt.extend(new);
                take_back(pages, &mut learnt, &mut banned, options);
            }
            if learnt.len() == before {
                break;
            }
        }
        Crumbs { rules: learnt }
    }

    fn rules(&self) -> Vec<Rule> {
        self.rules.iter().map(|one| one.rule.clone()).collect()
    }

    /// What an address is by all rules: two that are the same are the same page.
    pub fn apply(&self, url: &str) -> String {
        let rules = self.rules();
        let url = plain(url).unwrap_or_else(|| url.to_owned());
        Applied::new(&rules).apply(&url, |_| {})
    }

    /// What a crawler with these rules would have been spared.
    pub fn savings(&self, pages: &Pages) -> Savings {
        let mut savings = Savings {
            fetched: pages.seen.len() as u64,
            ..Savings::default()
        };
        each_merged(pages, &self.rules(), |merged, _| {
            savings.enough += 1;
            let first = merged[0].content;
            let others = merged.iter().filter(|one| one.content != first);
            savings.different += others.count() as u64;
        });
        savings
    }
}

/// A page that is one with others by some rules.
struct Merged {
    /// What they are.
    form: u32,
    sweep: u32,
    is_mirrored: bool,
    url: u32,
    content: u32,
    cluster: u32,
}

/// Calls back with the pages of each sweep that rules make one, those of the host itself
/// first; and with those of all sweeps.
fn each_merged(pages: &Pages, rules: &[Rule], mut each: impl FnMut(&[Merged], &[Merged])) {
    let applied = Applied::new(rules);
    let mut forms: HashMap<String, u32> = HashMap::new();
    let mut left = Vec::with_capacity(pages.urls.len());
    for url in &pages.urls {
        let mut is_mirrored = false;
        let form = applied.apply(url, |rule| {
            is_mirrored |= rules[rule].is_mirror();
        });
        let next = u32::try_from(forms.len()).unwrap_or(u32::MAX);
        left.push((*forms.entry(form).or_insert(next), is_mirrored));
    }
    let merged = |one: &pages::Seen| {
        let (form, is_mirrored) = left[one.url as usize];
        Merged {
            form,
            sweep: one.sweep,
            is_mirrored,
            url: one.url,
            content: one.content,
            cluster: one.cluster,
        }
    };
    let mut all: Vec<Merged> = pages.seen.iter().map(merged).collect();
    all.sort_unstable_by_key(|one| (one.form, one.sweep, one.is_mirrored, one.url));
    for form in all.chunk_by(|x, y| x.form == y.form) {
        for merged in form.chunk_by(|x, y| x.sweep == y.sweep) {
            each(merged, form);
        }
    }
}

/// Takes rules back until none merges different pages: two that are right alone may be
/// wrong together. Where less than full precision is allowed, nothing is taken back.
fn take_back(
    pages: &Pages,
    learnt: &mut Vec<Learnt>,
    banned: &mut HashSet<Rule>,
    options: &CrumbOptions,
) {
    if options.min_precision < 1.0 {
        return;
    }
    loop {
        let rules: Vec<Rule> = learnt.iter().map(|one| one.rule.clone()).collect();
        let applied = Applied::new(&rules);
        let mut blamed = vec![0_u32; rules.len()];
        each_merged(pages, &rules, |merged, form| {
            let first = &merged[0];
            let wrong = merged.iter().find(|one| {
                // A mirror may lag behind: how often was judged before.
                let had = |content| {
                    form.iter()
                        .any(|it| it.url != one.url && it.content == content)
                };
                let is_version = one.cluster == first.cluster || had(one.content);
                one.content != first.content && !(one.is_mirrored && is_version)
            });
            let Some(wrong) = wrong else { return };
            let mut used = Vec::new();
            for url in [first.url, wrong.url] {
                applied.apply(&pages.urls[url as usize], |rule| used.push(rule));
            }
            let weakest = used
                .into_iter()
                .min_by_key(|rule| (learnt[*rule].evidence.support, usize::MAX - rule));
            if let Some(weakest) = weakest {
                blamed[weakest] += 1;
            }
        });
        let most = (0..rules.len()).max_by_key(|rule| (blamed[*rule], usize::MAX - rule));
        let Some(worst) = most.filter(|rule| blamed[*rule] > 0) else {
            return;
        };
        banned.insert(learnt.remove(worst).rule);
    }
}
