//! Counted pairs → clusters, under any policy, as often as one likes.
//!
//! ```text
//! pairs ─► surely linked: joined at once
//!       ─► too near the threshold: decided on the true value (truth), best first
//! joined ─► components ─► (star: each split around representatives)
//!        ─► representatives, how like each member is to its own, marks ─► table
//! ```
//!
//! Time O(documents + pairs) and the reading of the documents that are verified; 4 bytes
//! a document for the components, 24 for each document in a cluster.

pub mod policy;

pub mod table;

pub mod sizes;

pub mod explain;

pub(crate) mod truth;

mod star;

mod recluster;

pub use recluster::recluster;
pub(crate) use recluster::recluster_holding;

use std::num::NonZeroUsize;

use hashbrown::HashMap;
use lookalike_core::components::DisjointSets;
use lookalike_core::recipe::{Recipe, SketchKind};

use crate::blocks::{BlockWriter, FileEntry, FileKind};
use crate::collection::Collection;
use crate::collection::entry::{Entry, Grade};
use crate::collection::sketches::Sketches;
use crate::collection::state::Summary;
use crate::pairs::judge::overlap_at;
use crate::pairs::{Basis, Measure, Pair, Side};
use crate::storage::StorageError;
use policy::{Link, Policy, Verify};
use table::{Mark, Member, Quality};
use truth::{Told, Truth};

/// What a clustering is made with.
#[derive(Clone, Copy, Debug)]
pub struct ClusterOptions {
    /// Threads that read again and compare.
    pub threads: NonZeroUsize,
    /// Bytes of memory.
    pub memory: u64,
}

/// How a clustering comes by what is true.
#[derive(Clone, Copy)]
pub(crate) struct Means<'a> {
    pub(crate) options: &'a ClusterOptions,
    /// Who is asked, if nothing is read again here.
    pub(crate) told: Option<&'a Told>,
}

impl<'a> Means<'a> {
    /// By reading again.
    pub(crate) fn here(options: &'a ClusterOptions) -> Means<'a> {
        Means {
            options,
            told: None,
        }
    }
}

/// A clustering as it is made.
pub(crate) struct Made {
    pub(crate) summary: Summary,
    pub(crate) members: FileEntry,
    pub(crate) roster: FileEntry,
    pub(crate) quality: FileEntry,
    /// All pairs whose true values are known now, by documents.
    pub(crate) exact: Vec<Pair>,
}

/// Where a clustering is written to.
pub(crate) struct Writers {
    pub(crate) members: BlockWriter,
    pub(crate) roster: BlockWriter,
    pub(crate) quality: BlockWriter,
}

/// Clusters a collection.
pub(crate) fn cluster(
    collection: &Collection,
    sketches: &Sketches,
    recipe: &Recipe,
    policy: &Policy,
    means: Means<'_>,
    writers: Writers,
) -> Result<Made, StorageError> {
    let mut run = Run::new(collection, sketches, recipe, policy, means)?;
    run.join()?;
    if policy.link == Link::Star {
        run.split_into_stars()?;
    }
    run.write(writers)
}

struct Run<'a> {
    collection: &'a Collection,
    policy: &'a Policy,
    kind: SketchKind,
    sketches: &'a Sketches,
    truth: Truth<'a>,
    documents: u32,
    sets: DisjointSets,
    /// True values, of this clustering and earlier ones.
    exact: HashMap<(u32, u32), Pair>,
    summary: Summary,
    /// After [`Run::split_into_stars`]: the representative of each document that is in
    /// the star of another.
    stars: Option<HashMap<u32, u32>>,
}

impl<'a> Run<'a> {
    fn new(
        collection: &'a Collection,
        sketches: &'a Sketches,
        recipe: &'a Recipe,
        policy: &'a Policy,
        means: Means<'a>,
    ) -> Result<Run<'a>, StorageError> {
        let Means { options, told } = means;
        let documents = collection.documents();
        let mut exact = HashMap::new();
        collection.each_exact(|pair| {
            exact.insert((pair.a, pair.b), *pair);
        })?;
        Ok(Run {
            collection,
            policy,
            kind: recipe.sketch,
            sketches,
            truth: Truth::new(collection, recipe, options.threads, options.memory / 4)
                .told_by(told),
            documents,
            sets: DisjointSets::new(documents),
            exact,
            summary: Summary {
                documents: u64::from(documents),
                ..Summary::default()
            },
            stars: None,
        })
    }

    /// Joins all that is linked.
    fn join(&mut self) -> Result<(), StorageError> {
        let errors = self.policy.errors();
        let wants_all = self.policy.verify == Verify::Exact;
        // What is sure first: much of what is not needs no decision then.
        let mut near = Vec::new();
        let (policy, kind, sets) = (self.policy, self.kind, &mut self.sets);
        let mut consider = |pair: &Pair, near: &mut Vec<Pair>| match policy.side(pair, kind, errors)
        {
            Side::Above if !wants_all || pair.basis == Basis::Exact => {
                sets.join(pair.a, pair.b);
            }
            Side::Below => {}
            Side::Near | Side::Above => near.push(*pair),
        };
        let mut speakers = Speakers::default();
        self.collection.each_copy(|doc, entry| {
            let speaker = speakers.of(doc, entry);
            // The same tokens are the same shingles.
            let pair = if speaker == doc {
                let head = self.sketches.head(entry.copy_of);
                shingle_pair(doc, entry.copy_of, head.samples(), head.level(), kind)
            } else {
                same_pair(doc, speaker)
            };
            consider(&pair, &mut near);
        })?;
        self.collection.each_pair(|pair| {
            consider(pair, &mut near);
            Ok(())
        })?;
        if !wants_all {
            near.retain(|pair| self.sets.find(pair.a) != self.sets.find(pair.b));
        }
        self.sort_by_value(&mut near);
        self.decide(&near)
    }

    /// The best first, and in one order always.
    fn sort_by_value(&self, near: &mut [Pair]) {
        let kind = self.kind;
        let value = |pair: &Pair| {
            let of = |measure| pair.value(measure, kind).unwrap_or(0.0);
            match (self.policy.resemblance, self.policy.containment) {
                (Some(_), None) => of(Measure::Resemblance),
                _ => of(Measure::AInB).max(of(Measure::BInA)),
            }
        };
        near.sort_by_cached_key(|pair| {
            // Values are not negative: their bits are in the order of themselves.
            let value = value(pair).to_bits();
            (std::cmp::Reverse(value), pair.a, pair.b)
        });
    }

    /// Decides pairs on their true values; what others have joined meanwhile needs none,
    /// unless every value is wanted. A value known from an earlier clustering is not read
    /// again, and decides the same.
    fn decide(&mut self, near: &[Pair]) -> Result<(), StorageError> {
        let skip_joined = self.policy.verify != Verify::Exact;
        let (policy, kind, sets, exact, summary) = (
            self.policy,
            self.kind,
            &mut self.sets,
            &mut self.exact,
            &mut self.summary,
        );
        // What is known joins already, so that of a cluster that an earlier clustering made
        // nothing is read again: who is joined here is joined when it is decided.
        let mut by_known = sets.clone();
        let is_wanted = |pair: &Pair| {
            let is_joined = by_known.find(pair.a) == by_known.find(pair.b);
            match exact.get(&(pair.a, pair.b)) {
                _ if skip_joined && is_joined => false,
                None => true,
                Some(known) => {
                    if policy.links(known, kind) {
                        by_known.join(pair.a, pair.b);
                    }
                    false
                }
            }
        };
        let bundles = self.truth.bundles(near, is_wanted)?;
        for bundle in bundles {
            let full = self.truth.sets(&bundle.documents)?;
            for pair in &bundle.pairs {
                if skip_joined && sets.find(pair.a) == sets.find(pair.b) {
                    continue;
                }
                let known = exact.get(&(pair.a, pair.b)).copied();
                let known = known.or_else(|| full.pair(pair.a, pair.b));
                let decided = if let Some(known) = known {
                    summary.verified += 1;
                    exact.insert((pair.a, pair.b), known);
                    known
                } else {
                    summary.by_estimate += 1;
                    *pair
                };
                if policy.links(&decided, kind) {
                    sets.join(pair.a, pair.b);
                }
            }
        }
        Ok(())
    }

    /// What is known of two documents that are no copies: true values, or the sketches'.
    /// A policy that wants no truth is given none, so that its figures are of one kind.
    fn compare(&self, a: u32, b: u32, buffers: &mut [Vec<u64>; 2]) -> Result<Pair, StorageError> {
        let (a, b) = (a.max(b), a.min(b));
        if self.policy.verify != Verify::None
            && let Some(known) = self.exact.get(&(a, b))
        {
            return Ok(*known);
        }
        let [one, other] = buffers;
        compare_sketches(self.sketches, self.kind, a, b, one, other)
    }

    fn cluster_of(&mut self, doc: u32) -> u32 {
        self.sets.find(doc)
    }

    fn write(mut self, mut writers: Writers) -> Result<Made, StorageError> {
        let families = self.families()?;
        let mut buffers = [Vec::new(), Vec::new()];
        // Of each document in a cluster: what is written of it.
        let mut members: HashMap<u32, Member> = HashMap::new();
        let mut qualities = Vec::new();
        for family in &families {
            let quality = self.judge_family(family, &mut buffers, &mut members)?;
            qualities.push(quality);
        }
        for quality in &qualities {
            self.summary.clusters += 1;
            self.summary.clustered_documents += u64::from(quality.size);
            self.summary.largest = self.summary.largest.max(u64::from(quality.size));
            self.summary.flagged += u64::from(quality.marks != 0);
        }
        for doc in 0..self.documents {
            let member = members.get(&doc).copied();
            writers
                .members
                .append_record(member.unwrap_or_else(|| Member::alone(doc)))?;
        }
        for family in &families {
            for member in &family.members {
                writers.roster.append_record((family.cluster, member.doc))?;
            }
        }
        writers.quality.append_records(&qualities)?;
        let mut exact: Vec<Pair> = self.exact.into_values().collect();
        exact.sort_unstable_by_key(|pair| (pair.a, pair.b));
        Ok(Made {
            summary: self.summary,
            members: writers.members.finish()?,
            roster: writers.roster.finish()?,
            quality: writers.quality.finish()?,
            exact,
        })
    }

    /// All clusters of two and more, by their first document.
    fn families(&mut self) -> Result<Vec<Family>, StorageError> {
        let mut sizes = vec![0_u32; self.documents as usize];
        for doc in 0..self.documents {
            let cluster = self.cluster_of(doc);
            sizes[cluster as usize] += 1;
        }
        let mut families: Vec<Family> = Vec::new();
        let mut place_of: HashMap<u32, usize> = HashMap::new();
        let stars = self.stars.take();
        let sets = &mut self.sets;
        let mut speakers = Speakers::default();
        self.collection.each_entry(|doc, entry| {
            let component = sets.find(doc);
            if sizes[component as usize] < 2 {
                return;
            }
            let speaker = speakers.of(doc, entry);
            let class = entry.copy_of;
            // In a star's component a cluster goes by its representative, for now.
            let group = match &stars {
                None => component,
                Some(stars) => stars.get(&class).copied().unwrap_or(class),
            };
            let place = *place_of.entry(group).or_insert_with(|| {
                families.push(Family {
                    cluster: doc,
                    representative: stars.is_some().then_some(group),
                    members: Vec::new(),
                });
                families.len() - 1
            });
            families[place].members.push(Relative {
                doc,
                speaker,
                class,
                grade: entry.grade(),
            });
        })?;
        families.retain(|family| family.members.len() > 1);
        families.sort_by_key(|family| family.cluster);
        Ok(families)
    }

    /// Reads the members of a cluster again, so that what is said of each and its
    /// representative is exact.
    fn learn_members(&mut self, family: &Family, representative: u32) -> Result<(), StorageError> {
        let speakers = family.members.iter().map(|member| member.speaker);
        let mut docs: Vec<u32> = speakers.filter(|&doc| doc != representative).collect();
        docs.sort_unstable();
        docs.dedup();
        let exact = &mut self.exact;
        docs.retain(|&doc| {
            !exact.contains_key(&(doc.max(representative), doc.min(representative)))
        });
        self.truth.with(representative, &docs, |pair| {
            exact.insert((pair.a, pair.b), *pair);
        })
    }

    fn judge_family(
        &mut self,
        family: &Family,
        buffers: &mut [Vec<u64>; 2],
        out: &mut HashMap<u32, Member>,
    ) -> Result<Quality, StorageError> {
        let size = u32::try_from(family.members.len()).unwrap_or(u32::MAX);
        // A star's is a class of its own; that of a component is chosen now.
        let (representative, class_of_it) = match family.representative {
            Some(representative) => (representative, representative),
            None => self.largest(family),
        };
        if self.policy.verify == Verify::Exact {
            self.learn_members(family, representative)?;
        }
        let mut of_speaker: HashMap<u32, Pair> = HashMap::new();
        let mut resemblances = Vec::with_capacity(family.members.len());
        let (mut is_chain, mut is_identical) = (false, true);
        let mut frame = Frame::new(family);
        for of_family in &family.members {
            let &Relative {
                doc,
                speaker,
                class,
                grade,
            } = of_family;
            let mut member = Member::alone(doc);
            member.cluster = family.cluster;
            member.size = size;
            member.representative = representative;
            member.set_grade(grade);
            is_identical &= grade == Some(Grade::Identical) || speaker == doc;
            let mut resemblance = 1.0;
            if speaker != representative {
                let pair = if let Some(pair) = of_speaker.get(&speaker) {
                    *pair
                } else {
                    let to = (representative, class_of_it);
                    let pair = self.with_representative((speaker, class), to, buffers)?;
                    if class != class_of_it {
                        frame.add(self, class, class_of_it, buffers)?;
                    }
                    of_speaker.insert(speaker, pair);
                    pair
                };
                is_identical = false;
                member.set_pair(&pair);
                let links = self.policy.links(&pair, self.kind);
                is_chain |= !links;
                resemblance = pair
                    .estimate(Measure::Resemblance, self.kind)
                    .map_or(0.0, |e| e.value);
                if grade.is_none() {
                    let is_similar = self.policy.resemblance.is_some_and(|t| resemblance >= t);
                    let is_contained = !is_similar && links;
                    member.set_grade(Some(if is_contained {
                        Grade::Contained
                    } else {
                        Grade::Similar
                    }));
                }
            }
            resemblances.push(resemblance);
            out.insert(doc, member);
        }
        self.summary.identical_only_clusters += u64::from(is_identical);
        resemblances.sort_by(f64::total_cmp);
        let mut marks = 0;
        let is_large = size >= 100 && u64::from(size) * 100 > u64::from(self.documents);
        let is_template = frame.is_template(resemblances[resemblances.len() / 2]);
        for (mark, is_set) in [
            (Mark::Chain, is_chain),
            (Mark::Template, is_template),
            (Mark::Large, is_large),
        ] {
            marks |= if is_set { mark as u32 } else { 0 };
        }
        Ok(Quality {
            cluster: family.cluster,
            size,
            representative,
            marks,
            lowest: resemblances[0],
            // The representative, which is the last, is not compared with itself.
            median: resemblances[(resemblances.len() - 1) / 2],
        })
    }

    /// A document and the one that stands for it, in this order, each with the first that
    /// has its sketch: where a true value is not known, that speaks for it.
    fn with_representative(
        &self,
        (speaker, class): (u32, u32),
        (representative, class_of_it): (u32, u32),
        buffers: &mut [Vec<u64>; 2],
    ) -> Result<Pair, StorageError> {
        let key = (speaker.max(representative), speaker.min(representative));
        let is_known = self.policy.verify != Verify::None && self.exact.contains_key(&key);
        let found = if is_known || (speaker, representative) == (class, class_of_it) {
            self.compare(speaker, representative, buffers)?
        } else if class == class_of_it {
            let head = self.sketches.head(class);
            shingle_pair(
                speaker,
                representative,
                head.samples(),
                head.level(),
                self.kind,
            )
        } else {
            let of_classes = self.compare(class, class_of_it, buffers)?;
            let of_classes = if of_classes.a == class {
                of_classes
            } else {
                turned(of_classes)
            };
            return Ok(Pair {
                a: speaker,
                b: representative,
                ..of_classes
            });
        };
        Ok(if found.a == speaker {
            found
        } else {
            turned(found)
        })
    }

    /// The member with most shingles, the first of several: it stands for the others. And
    /// the first document with its sketch.
    fn largest(&self, family: &Family) -> (u32, u32) {
        let size = |class: u32| self.sketches.head(class).size();
        let members = family.members.iter();
        let best = members.max_by_key(|one| (size(one.class), std::cmp::Reverse(one.speaker)));
        best.map_or((family.cluster, family.cluster), |best| {
            (best.speaker, best.class)
        })
    }
}

/// A cluster in the making.
struct Family {
    cluster: u32,
    /// Where the policy has chosen one already.
    representative: Option<u32>,
    members: Vec<Relative>,
}

/// Finds the first document with the tokens of another, of those with its sketch, as they
/// come in order.
#[derive(Default)]
struct Speakers {
    /// Where that is not the first with the sketch.
    apart: HashMap<u128, u32>,
}

impl Speakers {
    fn of(&mut self, doc: u32, entry: &Entry) -> u32 {
        if entry.is_apart() {
            *self.apart.entry(entry.tokens_name).or_insert(doc)
        } else {
            entry.copy_of
        }
    }
}

/// A member of a cluster in the making.
struct Relative {
    doc: u32,
    /// The first document with its tokens, of those with its sketch: what is true of the
    /// one is true of the other.
    speaker: u32,
    /// The first document with its sketch.
    class: u32,
    /// Its grade as a copy.
    grade: Option<Grade>,
}

/// How much of what members share with the representative is the same in nearly all.
struct Frame {
    classes: usize,
    samples: Vec<u64>,
    counts: Vec<u32>,
    compared: u32,
}

/// Fewer documents than this are no template, whatever they share.
const LEAST_TEMPLATE: usize = 8;

impl Frame {
    fn new(family: &Family) -> Frame {
        let is_class = |member: &&Relative| member.grade.is_none();
        Frame {
            classes: family.members.iter().filter(is_class).count(),
            samples: Vec::new(),
            counts: Vec::new(),
            compared: 0,
        }
    }

    fn add(
        &mut self,
        run: &Run<'_>,
        class: u32,
        representative: u32,
        buffers: &mut [Vec<u64>; 2],
    ) -> Result<(), StorageError> {
        if self.classes < LEAST_TEMPLATE {
            return Ok(());
        }
        if self.compared == 0 {
            let samples = run.sketches.samples(representative, &mut buffers[0])?;
            self.samples = samples.to_vec();
            self.counts = vec![0; self.samples.len()];
        }
        self.compared += 1;
        let theirs = run.sketches.samples(class, &mut buffers[0])?;
        let mut rest = theirs;
        for (sample, count) in self.samples.iter().zip(&mut self.counts) {
            let skip = rest.iter().take_while(|other| *other < sample).count();
            rest = &rest[skip..];
            *count += u32::from(rest.first() == Some(sample));
        }
        Ok(())
    }

    /// Of what members share with the representative, four fifths are shared by nearly
    /// all, and each has much of its own besides.
    fn is_template(&self, median: f64) -> bool {
        if self.classes < LEAST_TEMPLATE || self.compared == 0 || median >= 0.9 {
            return false;
        }
        let nearly_all = self.compared - self.compared / 5;
        let shared: u64 = self.counts.iter().map(|&count| u64::from(count)).sum();
        let by_all = self.counts.iter().filter(|&&count| count >= nearly_all);
        let by_all: u64 = by_all.map(|&count| u64::from(count)).sum();
        by_all * 5 >= shared * 4
    }
}

/// A pair seen from the other side.
pub(crate) fn turned(pair: Pair) -> Pair {
    match pair.basis {
        Basis::Resemblance => Pair {
            a: pair.b,
            b: pair.a,
            ..pair
        },
        _ => Pair {
            a: pair.b,
            b: pair.a,
            of_a: pair.of_b,
            of_b: pair.of_a,
            ..pair
        },
    }
}

fn same_pair(doc: u32, of: u32) -> Pair {
    Pair {
        a: doc.max(of),
        b: doc.min(of),
        common: 1,
        of_a: 1,
        of_b: 1,
        basis: Basis::Exact,
    }
}

/// What a sketch says of two documents that both have it.
fn shingle_pair(doc: u32, of: u32, samples: usize, level: u32, kind: SketchKind) -> Pair {
    let samples = u32::try_from(samples).unwrap_or(u32::MAX);
    let basis = match kind {
        SketchKind::Nested { .. } => Basis::Level(u8::try_from(level).unwrap_or(64)),
        SketchKind::Mod { .. } => Basis::Modulus,
        _ => Basis::Resemblance,
    };
    Pair {
        a: doc.max(of),
        b: doc.min(of),
        common: samples,
        of_a: samples,
        of_b: samples,
        basis,
    }
}

/// What sketches say of two documents, `b < a`.
pub(crate) fn compare_sketches(
    sketches: &Sketches,
    kind: SketchKind,
    a: u32,
    b: u32,
    one: &mut Vec<u64>,
    other: &mut Vec<u64>,
) -> Result<Pair, StorageError> {
    let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    let level = sketches.head(a).level().max(sketches.head(b).level());
    let (xs, ys) = (sketches.samples(a, one)?, sketches.samples(b, other)?);
    let sampled = |hits: usize, of: usize| Pair {
        a,
        b,
        common: count(hits),
        of_a: count(of),
        of_b: 0,
        basis: Basis::Resemblance,
    };
    Ok(match kind {
        SketchKind::Nested { .. } | SketchKind::Mod { .. } => {
            let overlap = overlap_at(xs, ys, level);
            Pair {
                a,
                b,
                common: count(overlap.common),
                of_a: count(overlap.a),
                of_b: count(overlap.b),
                basis: match kind {
                    SketchKind::Mod { .. } => Basis::Modulus,
                    _ => Basis::Level(u8::try_from(level).unwrap_or(64)),
                },
            }
        }
        SketchKind::Perm { samples, .. } => {
            let equal = xs.iter().zip(ys).filter(|(x, y)| x == y).count();
            sampled(equal, samples)
        }
        SketchKind::Min { samples } | SketchKind::MinMod { samples, .. } => {
            let (hits, of) = lookalike_core::sketch::min::smallest_of_both(xs, ys, samples);
            sampled(hits, of)
        }
    })
}

/// What kind of file each part of a clustering is.
pub(crate) const PARTS: [(&str, FileKind); 3] = [
    ("members", FileKind::Clusters),
    ("roster", FileKind::Clusters),
    ("quality", FileKind::Clusters),
];
