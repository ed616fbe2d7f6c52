//! The near-duplicate groups of some inputs, keeping nothing.
//!
//! ```text
//! inputs ─► add: a collection in a folder for the work ─► clusters ─► groups
//!           every value exact                             └─ folder removed ─┘
//! ```
//!
//! The engine is that of [`add`](crate::add), so the same inputs are read, in the same
//! memory; all that is told is decided on whole sets of shingles, from the inputs read a
//! second time. What comes out does not depend on the threads or the memory.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::thread;

use hashbrown::HashMap;
use lookalike_core::recipe::{Recipe, SketchKind};

use crate::add::{AddError, AddOptions, Event, LEAST_MEMORY};
use crate::clusters::policy::{Link, Policy, Verify};
use crate::clusters::table::{Mark, Member as Clustered, Quality};
use crate::collection::Collection;
use crate::collection::entry::Entry;
use crate::collection::state::Counts;
use crate::corpus::inputs::{Inputs, SourceKind};
use crate::corpus::options::ReadOptions;
use crate::pairs::{Basis, Measure};
use crate::passing::add_passing;
use crate::storage::StorageError;

pub use crate::collection::entry::Grade;

/// What a scan looks for.
#[derive(Clone, Debug)]
pub struct ScanOptions {
    /// What a token and a shingle are, and how candidates are found: with containment, by
    /// all shingles.
    pub recipe: Recipe,
    /// How inputs are read.
    pub reading: ReadOptions,
    /// The least resemblance of two documents that are joined, above 0.
    pub resemblance: f64,
    /// The least containment of either in the other that joins as well, above 0.
    pub containment: Option<f64>,
    /// How many threads work.
    pub threads: NonZeroUsize,
    /// Bytes of memory.
    pub memory: u64,
    /// Where the work is done; the system's folder for such things otherwise.
    pub scratch: Option<PathBuf>,
}

impl Default for ScanOptions {
    fn default() -> ScanOptions {
        ScanOptions {
            recipe: Recipe::default(),
            reading: ReadOptions::default(),
            resemblance: 0.5,
            containment: None,
            threads: thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
            memory: 1 << 30,
            scratch: None,
        }
    }
}

/// What a scan found.
#[derive(Debug)]
pub struct Scan {
    /// How many documents were compared.
    pub documents: u64,
    /// What became of what was read.
    pub counts: Counts,
    /// The groups of two and more, the largest first, then in the order of their first
    /// member.
    pub groups: Vec<Group>,
    /// Pairs decided by estimate, because their documents could not be read again.
    pub by_estimate: u64,
}

/// Documents that hang together: each is alike to another one of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// The member with the most shingles, as far as sketches tell, of several the one read
    /// first: its place in [`Group::members`].
    pub representative: usize,
    /// All of them, in the order they were read.
    pub members: Vec<Member>,
    /// The lowest resemblance of a member to the representative.
    pub lowest: f64,
    /// Whether some member is joined by way of others only, and is itself not alike to
    /// the representative.
    pub is_chain: bool,
    /// Whether what members share looks like a frame around other text.
    pub is_template: bool,
}

/// A document in a group.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// Its input.
    pub path: PathBuf,
    /// Where in it, if that is not the whole document.
    pub offset: Option<u64>,
    /// Its id, where the input has one.
    pub id: Option<String>,
    /// Its address, where the input has one.
    pub url: Option<String>,
    /// Its bytes.
    pub bytes: u64,
    /// Its tokens.
    pub tokens: u64,
    /// Its different shingles, where they were counted: not those of long documents that
    /// only have copies.
    pub shingles: Option<u64>,
    /// How it is the same as the representative. `None` when it is not, and belongs here
    /// only by way of others: the end of a chain is not similar to its beginning.
    pub grade: Option<Grade>,
    /// Its resemblance to the representative.
    pub resemblance: f64,
    /// The share of its shingles that the representative has.
    pub containment: f64,
    /// The share of the representative's shingles that it has.
    pub covers: f64,
    /// Of which earlier member it is a copy, and how good a one: the same bytes, tokens or
    /// sketch.
    pub copy_of: Option<(usize, Grade)>,
}

/// Scans what some arguments named. `watch` hears how it goes on, and of every record that
/// is left out.
///
/// # Panics
///
/// When a threshold is not above 0 and at most 1.
pub fn scan(
    inputs: &Inputs,
    options: &ScanOptions,
    watch: &mut dyn FnMut(Event<'_>),
) -> Result<Scan, AddError> {
    let thresholds = [Some(options.resemblance), options.containment];
    for threshold in thresholds.into_iter().flatten() {
        assert!(
            threshold > 0.0 && threshold <= 1.0,
            "{threshold} is no threshold"
        );
    }
    let policy = Policy {
        resemblance: Some(options.resemblance),
        containment: options.containment,
        link: Link::Chain,
        verify: Verify::Exact,
    };
    let mut recipe = options.recipe.clone();
    if options.containment.is_some() {
        recipe.sketch = SketchKind::Nested { samples: WHOLE };
    }
    let add = AddOptions {
        recipe,
        reading: ReadOptions {
            by_place: true,
            ..options.reading.clone()
        },
        policy,
        threads: options.threads,
        memory: options.memory.max(LEAST_MEMORY),
        scratch: options.scratch.clone(),
        ..AddOptions::default()
    };
    let passed = add_passing(inputs, &add, watch)?;
    let collection = &passed.collection;
    let made = &collection.state().clusterings[0];
    Ok(Scan {
        documents: passed.report.added,
        by_estimate: made.summary.by_estimate,
        groups: groups(collection, inputs, &policy)?,
        counts: passed.report.counts,
    })
}

/// So many shingles of a document are kept where containment is asked for: of a quotation
/// in a long text, an ordinary sketch of the text need not have a single one.
const WHOLE: usize = 1 << 16;

/// A document in a cluster, as the collection has it.
struct Found {
    doc: u32,
    entry: Entry,
    clustered: Clustered,
}

fn groups(
    collection: &Collection,
    inputs: &Inputs,
    policy: &Policy,
) -> Result<Vec<Group>, StorageError> {
    let clustering = collection.clustering(&collection.state().clusterings[0])?;
    let mut places: HashMap<u32, usize> = HashMap::new();
    let mut all: Vec<(Quality, Vec<Found>)> = Vec::new();
    let mut qualities = clustering.clusters()?;
    while let Some(quality) = qualities.next_record()? {
        places.insert(quality.cluster, all.len());
        all.push((quality, Vec::new()));
    }
    let mut members = clustering.members()?;
    let mut entries = collection.entries(0)?;
    let mut doc = 0;
    while let (Some(entry), Some(clustered)) = (entries.next_record()?, members.next_record()?) {
        if clustered.size > 1
            && let Some(&place) = places.get(&clustered.cluster)
        {
            all[place].1.push(Found {
                doc,
                entry,
                clustered,
            });
        }
        doc += 1;
    }
    // Clusters stand in the order of their first documents, and this sort keeps it.
    all.sort_by_key(|(quality, _)| std::cmp::Reverse(quality.size));
    let group = |(quality, found): &(Quality, Vec<Found>)| {
        group(collection, inputs, policy, quality, found)
    };
    all.iter().map(group).collect()
}

fn group(
    collection: &Collection,
    inputs: &Inputs,
    policy: &Policy,
    quality: &Quality,
    found: &[Found],
) -> Result<Group, StorageError> {
    let kind = collection.sketch_kind();
    let is_shown = |one: &Found| one.doc == quality.representative;
    let representative = found.iter().position(is_shown).unwrap_or(0);
    let shown = &found[representative];
    let copies = copies(found);
    let is_counted = |one: &&Found| {
        let basis = one.clustered.pair(one.doc).basis;
        one.entry.tokens_name != shown.entry.tokens_name
            && matches!(basis, Basis::Exact | Basis::Level(0))
    };
    let counted = found.iter().find(is_counted);
    let counted = counted.map(|one| u64::from(one.clustered.of_representative));
    let shingles_of_shown = counted.or_else(|| whole(collection, shown));
    let mut members = Vec::with_capacity(found.len());
    for (one, copy_of) in found.iter().zip(copies) {
        let (id, url) = collection.strings(one.doc, &one.entry)?;
        let source = &inputs.sources[one.entry.source as usize];
        let is_whole = matches!(
            source.kind,
            SourceKind::Document | SourceKind::PackedDocument
        );
        let has_its_tokens = one.entry.tokens_name == shown.entry.tokens_name;
        let pair = one.clustered.pair(one.doc);
        let value = |measure| {
            let known = pair.value(measure, kind).unwrap_or(0.0);
            if has_its_tokens { 1.0 } else { known }
        };
        let resemblance = value(Measure::Resemblance);
        let grade = if has_its_tokens {
            let has_its_bytes = one.entry.bytes_name == shown.entry.bytes_name;
            Some(if has_its_bytes {
                Grade::Identical
            } else {
                Grade::Lexical
            })
        } else if resemblance >= 1.0 {
            Some(Grade::Shingle)
        } else if resemblance >= policy.resemblance.unwrap_or(1.0) {
            Some(Grade::Similar)
        } else {
            let links = policy.links(&pair, kind);
            links.then_some(Grade::Contained)
        };
        members.push(Member {
            path: source.path.clone(),
            offset: (!is_whole).then_some(one.entry.offset),
            id,
            url,
            bytes: one.entry.body_len,
            tokens: one.entry.tokens,
            shingles: if has_its_tokens {
                shingles_of_shown
            } else if is_counted(&one) {
                Some(u64::from(one.clustered.of))
            } else {
                whole(collection, one)
            },
            grade,
            resemblance,
            containment: value(Measure::AInB),
            covers: value(Measure::BInA),
            copy_of,
        });
    }
    let has = |mark: Mark| quality.marks & mark as u32 != 0;
    Ok(Group {
        representative,
        lowest: quality.lowest,
        is_chain: members.iter().any(|member| member.grade.is_none()),
        is_template: has(Mark::Template),
        members,
    })
}

/// The shingles of a document that the sketch holds all of.
fn whole(collection: &Collection, one: &Found) -> Option<u64> {
    let is_whole = one.entry.sketch.level() == 0 && collection.one_in() == 1;
    is_whole.then_some(one.entry.sketch.samples() as u64)
}

/// Of which earlier one each is a copy.
fn copies(found: &[Found]) -> Vec<Option<(usize, Grade)>> {
    let mut by_bytes = HashMap::new();
    let mut by_tokens = HashMap::new();
    let mut by_sketch = HashMap::new();
    let of = |(place, one): (usize, &Found)| {
        let same_bytes = *by_bytes.entry(one.entry.bytes_name).or_insert(place);
        let same_tokens = *by_tokens.entry(one.entry.tokens_name).or_insert(place);
        let same_sketch = *by_sketch.entry(one.entry.sketch_name).or_insert(place);
        let known = [
            (same_bytes, Grade::Identical),
            (same_tokens, Grade::Lexical),
            (same_sketch, Grade::Shingle),
        ];
        known.into_iter().find(|(first, _)| *first != place)
    };
    found.iter().enumerate().map(of).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use lookalike_core::components::DisjointSets;
    use lookalike_core::estimate::Overlap;
    use lookalike_core::shingle::{ShingleIds, Width};
    use proptest::prelude::*;

    use super::*;
    use crate::collection::lock::Lock;
    use crate::corpus::document::{Document, Reading};

    /// A folder of these files.
    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (name, text) in files {
            fs::write(folder.path().join(name), text).expect("a file");
        }
        folder
    }

    fn scanned(folder: &Path, options: &ScanOptions) -> Scan {
        let inputs = Inputs::expand(&[folder], &options.reading);
        scan(&inputs, options, &mut |_| {}).expect("documents")
    }

    fn name(member: &Member) -> String {
        let name = member.path.file_name();
        name.map_or(String::new(), |name| name.display().to_string())
    }

    /// Each group as its members' names and grades.
    fn groups(files: &[(&str, &str)], options: &ScanOptions) -> Vec<String> {
        let folder = folder(files);
        let show = |group: &Group| {
            let members = group.members.iter().map(|member| {
                let grade = member.grade.map_or("chained", Grade::name);
                format!("{} {grade}", name(member))
            });
            let chain = if group.is_chain { "chain " } else { "" };
            format!(
                "{chain}{}: {}",
                name(&group.members[group.representative]),
                members.collect::<Vec<_>>().join(", ")
            )
        };
        let scan = scanned(folder.path(), options);
        scan.groups.iter().map(show).collect()
    }

    fn options(width: usize) -> ScanOptions {
        let mut options = ScanOptions::default();
        options.recipe.width = Width::new(width).expect("not zero");
        options
    }

    #[test]
    fn every_grade_is_told_apart() {
        let files = [
            ("1", "one two three four five six seven"),
            ("2", "one two three four five six seven"),
            ("3", "One, two: three four five six seven."),
            // The same shingles of two words in another order.
            ("4", "a b a c a b d"),
            ("5", "a c a b a b d"),
            ("6", "one two three four five six eight"),
            ("7", "nothing in common with them"),
        ];
        assert_eq!(
            groups(&files, &options(2)),
            [
                "1: 1 identical, 2 identical, 3 lexical, 6 similar",
                "4: 4 identical, 5 shingle"
            ]
        );
    }

    #[test]
    fn copies_of_a_copy_keep_their_grade() {
        // 2 is lexically 1; 3 has the bytes of 2.
        let files = [("1", "A b c"), ("2", "a b c"), ("3", "a b c")];
        assert_eq!(
            groups(&files, &options(2)),
            ["1: 1 identical, 2 lexical, 3 lexical"]
        );
    }

    #[test]
    fn a_quotation_is_found_by_containment_only() {
        let files = [
            ("all", "a b c d e f g h i j k l m n o p"),
            ("part", "c d e f g"),
        ];
        assert_eq!(groups(&files, &options(2)), [] as [String; 0]);
        let contained = ScanOptions {
            containment: Some(0.9),
            ..options(2)
        };
        assert_eq!(
            groups(&files, &contained),
            ["all: all identical, part contained"]
        );
    }

    #[test]
    fn a_chain_is_marked() {
        let files = [
            ("1", "a b c d e f g"),
            ("2", "c d e f g h i"),
            ("3", "e f g h i j k"),
        ];
        assert_eq!(
            groups(&files, &options(1)),
            ["chain 1: 1 identical, 2 similar, 3 chained"]
        );
    }

    #[test]
    fn long_documents_with_one_sketch_are_not_said_to_be_the_same() {
        // One word in 20,000 is another: most likely no sample notices.
        let word = |i: u32| format!("w{}", i.wrapping_mul(2_654_435_761) >> 8);
        let text = |other: u32| {
            let words = (0..20_000).map(|i| word(if i == 10_000 { other } else { i }));
            words.collect::<Vec<_>>().join(" ")
        };
        let texts = [text(10_000), text(77_777), text(77_777), text(10_000)];
        let files: Vec<(&str, &str)> = ["1", "2", "3", "4"]
            .into_iter()
            .zip(texts.iter().map(String::as_str))
            .collect();
        let folder = folder(&files);
        let scan = scanned(folder.path(), &options(2));
        let [group] = &scan.groups[..] else {
            panic!("one group: {scan:?}");
        };
        let told: Vec<_> = group
            .members
            .iter()
            .map(|member| (member.grade, member.resemblance, member.shingles))
            .collect();
        let (same, near) = (
            (Some(Grade::Identical), 1.0, Some(19_999)),
            (Some(Grade::Similar), 19_997.0 / 20_001.0, Some(19_999)),
        );
        assert_eq!(told, [same, near, near, same]);
        assert_eq!(group.representative, 0);
        let strict = ScanOptions {
            resemblance: 1.0,
            ..options(2)
        };
        assert_eq!(
            groups(&files, &strict),
            ["1: 1 identical, 4 identical", "2: 2 identical, 3 identical"]
        );
    }

    #[test]
    fn a_record_that_comes_again_is_a_copy() {
        let line = "{\"id\": \"a\", \"url\": \"http://a.org/\", \"text\": \"one two three\"}\n";
        let folder = folder(&[("1.jsonl", &format!("{line}{line}")), ("2.jsonl", line)]);
        let scan = scanned(folder.path(), &ScanOptions::default());
        assert_eq!((scan.documents, scan.groups.len()), (3, 1));
        assert_eq!(scan.groups[0].members.len(), 3);
    }

    #[test]
    fn a_group_is_represented_by_one_of_its_own() {
        // The sketches of all are equal; the second and the third are the same.
        let text: Vec<String> = (0..3000).map(|i| format!("v{i}")).collect();
        let text = text.join(" ");
        let other = format!("{text} x1 x2");
        let files = [("1", &*text), ("2", &*other), ("3", &*other)];
        let strict = ScanOptions {
            resemblance: 1.0,
            ..ScanOptions::default()
        };
        assert_eq!(groups(&files, &strict), ["2: 2 identical, 3 identical"]);
        let scan = scanned(folder(&files).path(), &strict);
        assert!(scan.groups[0].lowest >= 1.0, "{scan:?}");
    }

    #[test]
    fn nothing_is_left_behind() {
        let folder = folder(&[("1", "a b c"), ("2", "a b c"), ("3", "a b d")]);
        let scratch = tempfile::tempdir().expect("a temporary folder");
        // What a killed scan leaves, and what somebody else has there.
        let dead = scratch.path().join("lookalike-scan-1-0");
        fs::create_dir(&dead).expect("a folder");
        drop(Lock::acquire(&dead).expect("a lock"));
        fs::write(dead.join("heads-1.lk"), "x").expect("a file");
        let running = scratch.path().join("lookalike-scan-2-0");
        fs::create_dir(&running).expect("a folder");
        let _held = Lock::acquire(&running).expect("a lock");
        fs::write(scratch.path().join("lookalike-scan-notes"), "x").expect("a file");
        let options = ScanOptions {
            scratch: Some(scratch.path().to_owned()),
            ..options(2)
        };
        assert_eq!(scanned(folder.path(), &options).groups.len(), 1);
        let left = fs::read_dir(scratch.path()).expect("it is there");
        let mut left: Vec<_> = left.flatten().map(|entry| entry.file_name()).collect();
        left.sort();
        assert_eq!(left, ["lookalike-scan-2-0", "lookalike-scan-notes"]);
    }

    /// The obvious way: every two documents, all their shingles.
    fn by_hand(texts: &[String], options: &ScanOptions) -> (DisjointSets, Vec<Vec<u32>>) {
        let mut ids = ShingleIds::new(options.recipe.width, options.recipe.shingling);
        let sets: Vec<Vec<u32>> = texts
            .iter()
            .map(|text| {
                let document = Document::read(text.as_bytes(), Reading::default());
                ids.set(&document.expect("text").tokens(&options.recipe))
            })
            .collect();
        let mut components = DisjointSets::new(u32::try_from(texts.len()).expect("few"));
        for a in 0..sets.len() {
            for b in 0..a {
                let overlap = Overlap::of_sorted(&sets[a], &sets[b]);
                let resembles = overlap.resemblance() >= Some(options.resemblance);
                let contains = options.containment.is_some_and(|least| {
                    overlap.a_in_b() >= Some(least) || overlap.b_in_a() >= Some(least)
                });
                if resembles || contains {
                    components.join(
                        u32::try_from(a).expect("few"),
                        u32::try_from(b).expect("few"),
                    );
                }
            }
        }
        (components, sets)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn it_says_what_comparing_every_two_says(
            texts in prop::collection::vec(prop::collection::vec(0_u8..6, 1..24), 1..24),
            resemblance in prop::sample::select(vec![0.3, 0.5, 0.8, 1.0]),
            containment in prop::option::of(prop::sample::select(vec![0.6, 1.0])),
            threads in 1_usize..4,
        ) {
            let texts: Vec<String> = texts
                .iter()
                .map(|words| words.iter().flat_map(|word| [char::from(b'a' + word), ' ']).collect())
                .collect();
            let names: Vec<String> = (0..texts.len()).map(|i| format!("{i:02}")).collect();
            let files: Vec<(&str, &str)> = names
                .iter()
                .zip(&texts)
                .map(|(name, text)| (&**name, &**text))
                .collect();
            let options = ScanOptions {
                resemblance,
                containment,
                threads: NonZeroUsize::new(threads).expect("not zero"),
                ..options(2)
            };
            let folder = folder(&files);
            let scan = scanned(folder.path(), &options);
            let (mut components, sets) = by_hand(&texts, &options);
            let mut expected: HashMap<u32, Vec<String>> = HashMap::new();
            for (i, name) in (0..).zip(&names) {
                expected.entry(components.find(i)).or_default().push(name.clone());
            }
            let mut expected: Vec<Vec<String>> = expected.into_values().collect();
            expected.retain(|group| group.len() > 1);
            expected.sort_by_key(|group| (std::cmp::Reverse(group.len()), group[0].clone()));
            let found: Vec<Vec<String>> = scan
                .groups
                .iter()
                .map(|group| group.members.iter().map(name).collect())
                .collect();
            prop_assert_eq!(found, expected);
            for group in &scan.groups {
                let set = |member: &Member| &sets[name(member).parse::<usize>().expect("a number")];
                let shown = set(&group.members[group.representative]);
                for member in &group.members {
                    let overlap = Overlap::of_sorted(set(member), shown);
                    prop_assert_eq!(Some(member.resemblance), overlap.resemblance());
                    prop_assert_eq!(Some(member.containment), overlap.a_in_b());
                    prop_assert_eq!(Some(member.covers), overlap.b_in_a());
                    prop_assert_eq!(member.shingles, Some(set(member).len() as u64));
                }
            }
        }
    }
}
