//! A ranked list of results → one place for each cluster.
//!
//! ```text
//! results, the best first ─► by address: its document's cluster ─┐
//!                         └─► by text: find, and one another ────┴─► groups ─► which one shows
//! ```
//!
//! A group stands where its best result stood, and no result is lost: those that do not show
//! stand beside the one that does. What the collection does not have is a group of its own,
//! unless its text, sent along, is alike to another. Clusters of the collection are as they
//! were made: no text joins two of them.
//!
//! | result | cost |
//! |---|---|
//! | an address | a lookup in each sweep: microseconds |
//! | a text | its shingles, 8 bytes each; one `find`, by its sketch |
//! | texts among themselves | `texts`: exact, linear but for what they share |

mod texts;

#[cfg(test)]
mod tests;

use hashbrown::HashMap;
use lookalike_core::components::DisjointSets;
use lookalike_core::recipe::Recipe;
use lookalike_core::sketcher::Sketcher;

use crate::clusters::policy::Policy;
use crate::clusters::table::Clustering;
use crate::collection::Collection;
use crate::collection::entry::Entry;
use crate::corpus::document::{Document, Format, Reading};
use crate::corpus::record::Timestamp;
use crate::find::{FindOptions, Finder, Query, Reread};
use crate::storage::StorageError;

/// One result of a list.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Ranked {
    /// Its place in the list, from 1.
    pub rank: u32,
    /// Its address, or what else its document goes by.
    pub url: Option<String>,
    /// Its text, where it was sent along: plain or HTML.
    pub text: Option<String>,
    /// When it was captured, if that is known; else the collection may know.
    pub date: Option<Timestamp>,
}

/// Which result of a group shows.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Show {
    /// The one that stood first.
    #[default]
    BestRanked,
    /// The one with the latest date.
    Newest,
    /// The one with the most tokens.
    Longest,
    /// The one that stands for the cluster, or the most like it of those in the list. Of
    /// texts without a cluster the longest.
    Representative,
}

impl Show {
    /// All there are.
    pub const ALL: [Show; 4] = [
        Show::BestRanked,
        Show::Newest,
        Show::Longest,
        Show::Representative,
    ];

    /// Its name in arguments and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Show::BestRanked => "best-ranked",
            Show::Newest => "newest",
            Show::Longest => "longest",
            Show::Representative => "representative",
        }
    }

    /// The one of a name.
    pub fn named(name: &str) -> Option<Show> {
        Show::ALL.into_iter().find(|show| show.name() == name)
    }
}

/// What results are told apart by.
pub struct Ground<'g> {
    /// The collection, and how it is clustered.
    pub clustered: Option<(&'g Collection, &'g Clustering)>,
    /// What looks for texts in the collection.
    pub finder: Option<&'g Finder>,
    /// What makes shingles of texts: of the collection's recipe, where there is one.
    /// Without it texts are not looked at.
    pub sketcher: Option<&'g mut Sketcher>,
    /// Which texts are alike: the policy of the clusters, where there are some.
    pub policy: Policy,
}

/// Results of one cluster.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Group {
    /// The cluster, if some document of the collection is in the group.
    pub cluster: Option<u32>,
    /// The result that shows, by its place in what was given.
    pub shown: usize,
    /// All of them, the shown one too, in their order.
    pub results: Vec<usize>,
}

/// A list with one place for each cluster.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Collapsed {
    /// In the order of their best results.
    pub groups: Vec<Group>,
    /// Results whose address the collection does not have.
    pub unknown: usize,
    /// Of these the ones whose text is alike to a document of the collection.
    pub by_text: usize,
    /// Results whose text has no words, or is none.
    pub wordless: usize,
}

/// What is known of one result.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    date: Option<Timestamp>,
    tokens: u64,
    /// Resemblance to the representative of its cluster.
    likeness: Option<f64>,
    is_representative: bool,
}

/// Groups a list. The results stand in the order of their ranks.
///
/// # Panics
///
/// With more than 2³² results.
pub fn collapse(
    results: &[Ranked],
    ground: Ground<'_>,
    show: Show,
) -> Result<Collapsed, StorageError> {
    let mut out = Collapsed::default();
    let mut known = vec![Known::default(); results.len()];
    let mut groups = Groups::new(results.len());
    let mut by_url: HashMap<&str, usize> = HashMap::with_capacity(results.len());
    for (i, result) in results.iter().enumerate() {
        known[i].date = result.date;
        let Some(url) = result.url.as_deref() else {
            out.unknown += 1;
            continue;
        };
        let first = *by_url.entry(url).or_insert(i);
        if first != i {
            // The same once more.
            groups.join(first, i);
            out.unknown += usize::from(groups.cluster(first).is_none());
            known[i] = Known {
                date: result.date.or(known[first].date),
                ..known[first]
            };
            continue;
        }
        match found(url, ground.clustered, &mut known[i])? {
            Some(cluster) => groups.anchor(i, cluster),
            None => out.unknown += 1,
        }
    }
    if let Some(sketcher) = ground.sketcher {
        let mut sent = Sent::read(results, sketcher, ground.finder, &mut groups, &mut known);
        out.wordless = sent.wordless;
        if let (Some(finder), Some((_, clustering))) = (ground.finder, ground.clustered) {
            out.by_text = sent.look_up(finder, clustering, &ground.policy, &mut groups)?;
        }
        texts::join(&sent.sets, &ground.policy, &mut groups);
    }
    out.groups = groups.all();
    for group in &mut out.groups {
        group.shown = shown(&group.results, &known, show);
    }
    Ok(out)
}

/// Groups results by the clusters of their documents, the best first.
pub fn by_cluster(clusters: &[u32]) -> Vec<Group> {
    let mut groups = Groups::new(clusters.len());
    for (result, cluster) in clusters.iter().enumerate() {
        groups.anchor(result, *cluster);
    }
    groups.all()
}

/// The cluster of the newest document of an address, and what is known of that.
fn found(
    url: &str,
    clustered: Option<(&Collection, &Clustering)>,
    known: &mut Known,
) -> Result<Option<u32>, StorageError> {
    let Some((collection, clustering)) = clustered else {
        return Ok(None);
    };
    let mut newest: Option<(Option<Timestamp>, u32, Entry)> = None;
    for doc in collection.find_named(url)? {
        let entry = collection.entry(doc)?;
        let date = collection.date(doc, &entry);
        if newest.is_none_or(|(known, ..)| known <= date) {
            newest = Some((date, doc, entry));
        }
    }
    let Some((date, doc, entry)) = newest else {
        return Ok(None);
    };
    let member = clustering.member(doc)?;
    *known = Known {
        date: known.date.or(date),
        tokens: entry.tokens,
        likeness: member.resemblance(doc, collection.sketch_kind()),
        is_representative: member.representative == doc,
    };
    Ok(Some(member.cluster))
}

/// The result that shows; of equal ones the best-ranked.
fn shown(results: &[usize], known: &[Known], show: Show) -> usize {
    let mut best = results[0];
    for &other in &results[1..] {
        let (now, new) = (&known[best], &known[other]);
        let is_better = match show {
            Show::BestRanked => false,
            Show::Newest => new.date > now.date,
            Show::Longest => new.tokens > now.tokens,
            Show::Representative => {
                let place = |one: &Known| (one.is_representative, one.likeness.unwrap_or(-1.0));
                let order = place(new).partial_cmp(&place(now));
                let is_alike = order == Some(std::cmp::Ordering::Equal);
                let is_free = new.likeness.is_none() && now.likeness.is_none();
                order.is_some_and(std::cmp::Ordering::is_gt)
                    || is_alike && is_free && new.tokens > now.tokens
            }
        };
        if is_better {
            best = other;
        }
    }
    best
}

/// Texts that were sent along.
struct Sent {
    /// All different shingles of each, sorted, with its result.
    sets: Vec<(usize, Vec<u64>)>,
    /// Those that the collection does not know by address.
    queries: Vec<(usize, Query)>,
    wordless: usize,
}

impl Sent {
    fn read(
        results: &[Ranked],
        sketcher: &mut Sketcher,
        finder: Option<&Finder>,
        groups: &mut Groups,
        known: &mut [Known],
    ) -> Sent {
        let recipe = sketcher.recipe().clone();
        let mut sent = Sent {
            sets: Vec::new(),
            queries: Vec::new(),
            wordless: 0,
        };
        for (i, result) in results.iter().enumerate() {
            let Some(text) = &result.text else { continue };
            let Some(document) = document(text, &recipe) else {
                sent.wordless += 1;
                continue;
            };
            let mut all = Vec::new();
            document.fingerprints(sketcher, &mut all);
            if known[i].tokens == 0 {
                // A document of t tokens has t - w + 1 windows.
                known[i].tokens = all.len() as u64 + recipe.width.get() as u64 - 1;
            }
            all.sort_unstable();
            all.dedup();
            if all.is_empty() {
                sent.wordless += 1;
                continue;
            }
            if let Some(finder) = finder
                && groups.cluster(i).is_none()
            {
                let bytes = Some(text.as_bytes());
                let query = finder.query(&document, bytes, sketcher, Reread::Never);
                sent.queries.push((i, query));
            }
            sent.sets.push((i, all));
        }
        sent
    }

    /// Gives texts the cluster of the document most like them; tells how many have one.
    fn look_up(
        &mut self,
        finder: &Finder,
        clustering: &Clustering,
        policy: &Policy,
        groups: &mut Groups,
    ) -> Result<usize, StorageError> {
        let options = FindOptions {
            top: 1,
            min_resemblance: policy.resemblance,
            min_containment: policy.containment,
        };
        let (results, queries): (Vec<usize>, Vec<Query>) = self.queries.drain(..).unzip();
        let mut by_text = 0;
        let found = finder.find_all(&queries, &options)?;
        for (&result, matches) in results.iter().zip(&found) {
            if let Some(best) = matches.first() {
                let cluster = clustering.member(best.doc)?.cluster;
                by_text += usize::from(groups.cluster(result).is_none());
                groups.anchor(result, cluster);
            }
        }
        Ok(by_text)
    }
}

fn document<'t>(text: &'t str, recipe: &Recipe) -> Option<Document<'t>> {
    let reading = Reading {
        name: None,
        format: Format::Auto,
        tokens: recipe.tokens,
    };
    Document::read(text.as_bytes(), reading).ok()
}

/// Which results belong together.
struct Groups {
    sets: DisjointSets,
    /// The cluster of each set, by its first result.
    clusters: Vec<Option<u32>>,
    /// The first result of each cluster.
    firsts: HashMap<u32, usize>,
}

/// A result's number, as the sets have it.
fn number(result: usize) -> u32 {
    u32::try_from(result).expect("fewer than 2^32 results")
}

impl Groups {
    fn new(results: usize) -> Groups {
        Groups {
            sets: DisjointSets::new(number(results)),
            clusters: vec![None; results],
            firsts: HashMap::new(),
        }
    }

    /// The first result that is in one set with another.
    fn root(&mut self, result: usize) -> usize {
        self.sets.find(number(result)) as usize
    }

    fn cluster(&mut self, result: usize) -> Option<u32> {
        let root = self.root(result);
        self.clusters[root]
    }

    /// Puts a result into a cluster, unless it is in another one.
    fn anchor(&mut self, result: usize, cluster: u32) {
        let root = self.root(result);
        if self.clusters[root].is_some() {
            return;
        }
        self.clusters[root] = Some(cluster);
        let first = *self.firsts.entry(cluster).or_insert(result);
        self.join(first, result);
    }

    /// Makes one group of two, unless they are of two clusters. Tells whether they are one.
    fn join(&mut self, a: usize, b: usize) -> bool {
        let (a, b) = (self.root(a), self.root(b));
        let cluster = match (self.clusters[a], self.clusters[b]) {
            (Some(x), Some(y)) if x != y => return false,
            (x, y) => x.or(y),
        };
        self.sets.join(number(a), number(b));
        self.clusters[a.min(b)] = cluster;
        true
    }

    /// All groups in the order of their first results.
    fn all(mut self) -> Vec<Group> {
        let mut groups: Vec<Group> = Vec::new();
        let mut places = vec![usize::MAX; self.clusters.len()];
        for result in 0..self.clusters.len() {
            let root = self.root(result);
            if root == result {
                places[result] = groups.len();
                groups.push(Group {
                    cluster: self.clusters[root],
                    shown: result,
                    results: Vec::new(),
                });
            }
            groups[places[root]].results.push(result);
        }
        groups
    }
}
