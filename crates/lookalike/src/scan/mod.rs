//! The near-duplicate groups of some files: exact, in memory, keeping nothing.
//!
//! ```text
//! files ─► tokens ─► same bytes, same tokens, same shingles set aside ─► numbered shingle sets
//!                         └────────── joined back ──────────┐              └─► join ─► groups
//! ```
//!
//! Resemblance and containment are of whole shingle sets, not of sketches. Time is
//! linear in the text and in the pairs that are nearly alike ([`join`](self) says
//! when it is more); memory some 50 bytes for each different shingle and 4 for each
//! token. Files are read and cut into tokens by several threads; what comes out does
//! not depend on how many.

mod join;

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use lookalike_core::canonical::Tokens;
use lookalike_core::estimate::Overlap;
use lookalike_core::recipe::Recipe;
use lookalike_core::shingle::ShingleIds;

pub use crate::collection::entry::Grade;
use crate::corpus::document::{Document, Format, Reading};
use crate::corpus::folder::{self, Found, WalkOptions};
use crate::corpus::unusable::{Unusable, UnusableFile};
use join::{Link, Thresholds};

/// What a scan looks for.
#[derive(Clone, Debug)]
pub struct ScanOptions {
    /// What a token and a shingle are; the sketch plays no part.
    pub recipe: Recipe,
    /// The least resemblance of two documents that are joined, above 0.
    pub resemblance: f64,
    /// The least containment of either in the other that joins as well, above 0.
    pub containment: Option<f64>,
    /// What files are taken for.
    pub format: Format,
    /// Which files are taken.
    pub walk: WalkOptions,
    /// How many threads read.
    pub threads: NonZeroUsize,
}

impl Default for ScanOptions {
    fn default() -> ScanOptions {
        ScanOptions {
            recipe: Recipe::default(),
            resemblance: 0.5,
            containment: None,
            format: Format::Auto,
            walk: WalkOptions::default(),
            threads: thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
        }
    }
}

/// What a scan found.
#[derive(Debug)]
pub struct Scan {
    /// The documents, in the order they were read.
    pub documents: Vec<Scanned>,
    /// The groups of two and more, the largest first, then in the order of their first
    /// member.
    pub groups: Vec<Group>,
    /// Every path that gave no document.
    pub left: Vec<UnusableFile>,
}

/// A document of a scan.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Scanned {
    /// Its file.
    pub path: PathBuf,
    /// The file's bytes.
    pub bytes: u64,
    /// Its tokens.
    pub tokens: usize,
    /// Its different shingles.
    pub shingles: usize,
    /// The malformed sequences of bytes that were read as U+FFFD.
    pub replaced: usize,
}

/// Documents that hang together: each is alike to another one of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// The member with the most shingles, of several the one read first: its place in
    /// [`Group::members`].
    pub representative: usize,
    /// All of them, in the order they were read.
    pub members: Vec<Member>,
    /// The lowest resemblance of a member to the representative.
    pub lowest: f64,
    /// Whether some member is joined by way of others only, and is itself not alike to
    /// the representative.
    pub is_chain: bool,
}

/// A document in a group.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// Its place in [`Scan::documents`].
    pub document: usize,
    /// How it is the same as the representative. `None` when it is not, and belongs here
    /// only by way of others: the end of a chain is not similar to its beginning.
    pub grade: Option<Grade>,
    /// Its resemblance to the representative.
    pub resemblance: f64,
    /// The share of its shingles that the representative has.
    pub containment: f64,
    /// The share of the representative's shingles that it has.
    pub covers: f64,
    /// Of which document read before it is a copy, and how good a one: identical,
    /// lexical or shingle.
    pub copy_of: Option<(usize, Grade)>,
}

/// Scans the files under some paths. Whatever is wrong with one file is in
/// [`Scan::left`]; the scan itself does not fail.
///
/// `progress` hears how many files of how many are done, from time to time.
///
/// # Panics
///
/// When a threshold is not above 0 and at most 1, or past 2^32 different shingles.
pub fn scan(
    paths: &[PathBuf],
    options: &ScanOptions,
    mut progress: impl FnMut(usize, usize),
) -> Scan {
    let thresholds = [Some(options.resemblance), options.containment];
    for threshold in thresholds.into_iter().flatten() {
        assert!(
            threshold > 0.0 && threshold <= 1.0,
            "{threshold} is no threshold"
        );
    }
    let walk = folder::walk(paths, options.walk);
    let mut left = walk.left;
    let mut found = Collected::new(&options.recipe);
    let mut done = 0;
    for batch in batches(&walk.files) {
        progress(done, walk.files.len());
        for (file, read) in batch.iter().zip(read_all(batch, options)) {
            match read {
                Ok(read) => found.add(file, &read),
                Err(why) => left.push(UnusableFile {
                    path: file.path.clone(),
                    why,
                }),
            }
        }
        done += batch.len();
    }
    progress(done, walk.files.len());
    let groups = found.groups(Thresholds {
        resemblance: options.resemblance,
        containment: options.containment,
    });
    Scan {
        documents: found.documents,
        groups,
        left,
    }
}

/// A file as the threads hand it over.
struct ReadFile {
    bytes: u64,
    /// The name of its bytes: equal only for equal bytes, as far as anyone knows.
    bytes_name: blake3::Hash,
    /// The same of its tokens.
    tokens_name: blake3::Hash,
    tokens: Tokens,
    replaced: usize,
}

/// The most bytes of files read before their shingles are numbered: tokens take some
/// five times as much while they wait.
const BATCH_LEN: u64 = 16 << 20;

/// The files in batches that are not too large, unless they are one file.
fn batches(mut files: &[Found]) -> impl Iterator<Item = &[Found]> {
    std::iter::from_fn(move || {
        let mut len = 0;
        let fits = |file: &&Found| {
            len += file.size;
            len <= BATCH_LEN
        };
        let count = files.iter().take(4096).take_while(fits).count().max(1);
        let (batch, rest) = files.split_at_checked(count)?;
        files = rest;
        Some(batch)
    })
}

/// Reads some files, several at a time, and answers in their order.
fn read_all(files: &[Found], options: &ScanOptions) -> Vec<Result<ReadFile, Unusable>> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let i = next.fetch_add(1, Ordering::Relaxed);
            let Some(file) = files.get(i) else {
                return done;
            };
            done.push((i, read_one(file, options)));
        }
    };
    let threads = options.threads.get().min(files.len());
    let mut all: Vec<_> = thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut all = work();
        for other in others {
            match other.join() {
                Ok(done) => all.extend(done),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        all
    });
    all.sort_unstable_by_key(|(i, _)| *i);
    all.into_iter().map(|(_, read)| read).collect()
}

fn read_one(file: &Found, options: &ScanOptions) -> Result<ReadFile, Unusable> {
    let bytes = folder::read(&file.path, options.walk.max_size)?;
    let reading = Reading {
        name: Some(&file.path),
        format: options.format,
        tokens: options.recipe.tokens,
    };
    let document = Document::read(&bytes, reading)?;
    let tokens = document.tokens(&options.recipe);
    if tokens.is_empty() {
        return Err(Unusable::NoTokens);
    }
    Ok(ReadFile {
        bytes: bytes.len() as u64,
        bytes_name: blake3::hash(&bytes),
        tokens_name: name_of(&tokens),
        tokens,
        replaced: document.replaced(),
    })
}

/// A name that only the same tokens have.
fn name_of(tokens: &Tokens) -> blake3::Hash {
    // Tokens hold no NUL, and those that do (bytes) are all of one length.
    let mut all = Vec::new();
    for token in tokens.iter() {
        all.extend_from_slice(token);
        all.push(0);
    }
    blake3::hash(&all)
}

/// The documents so far, each different one once.
struct Collected {
    documents: Vec<Scanned>,
    /// For each document, which set it has and of which earlier one it is a copy.
    set_of: Vec<usize>,
    copy_of: Vec<Option<(usize, Grade)>>,
    ids: ShingleIds,
    /// The different sets of shingles.
    sets: Vec<Vec<u32>>,
    by_bytes: HashMap<blake3::Hash, usize>,
    by_tokens: HashMap<blake3::Hash, usize>,
    by_set: HashMap<blake3::Hash, usize>,
}

impl Collected {
    fn new(recipe: &Recipe) -> Collected {
        Collected {
            documents: Vec::new(),
            set_of: Vec::new(),
            copy_of: Vec::new(),
            ids: ShingleIds::new(recipe.width, recipe.shingling),
            sets: Vec::new(),
            by_bytes: HashMap::new(),
            by_tokens: HashMap::new(),
            by_set: HashMap::new(),
        }
    }

    fn add(&mut self, file: &Found, read: &ReadFile) {
        let document = self.documents.len();
        let same_bytes = self.by_bytes.get(&read.bytes_name);
        let same_tokens = self.by_tokens.get(&read.tokens_name);
        let copy_of = match (same_bytes, same_tokens) {
            (Some(&first), _) => Some((first, Grade::Identical)),
            (None, Some(&first)) => Some((first, Grade::Lexical)),
            (None, None) => {
                let set = self.ids.set(&read.tokens);
                let bytes: Vec<u8> = set.iter().flat_map(|id| id.to_le_bytes()).collect();
                let same_set = *self.by_set.entry(blake3::hash(&bytes)).or_insert(document);
                if same_set == document {
                    self.sets.push(set);
                    None
                } else {
                    Some((same_set, Grade::Shingle))
                }
            }
        };
        self.by_bytes.entry(read.bytes_name).or_insert(document);
        self.by_tokens.entry(read.tokens_name).or_insert(document);
        let set = copy_of.map_or(self.sets.len() - 1, |(first, _)| self.set_of[first]);
        self.set_of.push(set);
        self.copy_of.push(copy_of);
        self.documents.push(Scanned {
            path: file.path.clone(),
            bytes: read.bytes,
            tokens: read.tokens.len(),
            shingles: self.sets[set].len(),
            replaced: read.replaced,
        });
    }

    fn groups(&self, thresholds: Thresholds) -> Vec<Group> {
        let mut components = join::join(&self.sets, self.ids.len(), thresholds);
        let mut members: Vec<Vec<usize>> = vec![Vec::new(); self.sets.len()];
        for (document, &set) in self.set_of.iter().enumerate() {
            let set = u32::try_from(set).expect("no more sets than documents");
            members[components.find(set) as usize].push(document);
        }
        members.retain(|members| members.len() > 1);
        // A component is found under its first set, whose first document came first of
        // all of them; so groups of one size stay in the order of their first member.
        members.sort_by_key(|members| (std::cmp::Reverse(members.len()), members[0]));
        members
            .iter()
            .map(|members| self.group(members, thresholds))
            .collect()
    }

    fn group(&self, members: &[usize], thresholds: Thresholds) -> Group {
        let size = |&i: &usize| self.documents[members[i]].shingles;
        let largest = |&i: &usize| (size(&i), std::cmp::Reverse(i));
        let representative = (0..members.len()).max_by_key(largest).unwrap_or(0);
        let shown = members[representative];
        let mut overlaps: HashMap<usize, Overlap> = HashMap::new();
        let mut member = |document: usize| {
            let (set, of) = (self.set_of[document], self.set_of[shown]);
            let overlap = *overlaps
                .entry(set)
                .or_insert_with(|| Overlap::of_sorted(&self.sets[set], &self.sets[of]));
            let grade = if set == of {
                Some(self.grade_of_copies(document, shown))
            } else {
                thresholds.link(overlap).map(|link| match link {
                    Link::Similar => Grade::Similar,
                    Link::Contained => Grade::Contained,
                })
            };
            Member {
                document,
                grade,
                resemblance: overlap.resemblance().unwrap_or(0.0),
                containment: overlap.a_in_b().unwrap_or(0.0),
                covers: overlap.b_in_a().unwrap_or(0.0),
                copy_of: self.copy_of[document],
            }
        };
        let members: Vec<Member> = members.iter().map(|&document| member(document)).collect();
        let lowest = members.iter().map(|member| member.resemblance);
        let is_chain = members.iter().any(|member| member.grade.is_none());
        Group {
            representative,
            lowest: lowest.fold(1.0, f64::min),
            members,
            is_chain,
        }
    }

    /// How two documents with one set of shingles are the same.
    fn grade_of_copies(&self, a: usize, b: usize) -> Grade {
        // Each leads to the first document with its bytes or its tokens.
        let same_bytes = |document: usize| match self.copy_of[document] {
            Some((first, Grade::Identical)) => first,
            _ => document,
        };
        let same_tokens = |document: usize| match self.copy_of[document] {
            Some((first, Grade::Lexical)) => first,
            _ => document,
        };
        let (a, b) = (same_bytes(a), same_bytes(b));
        if a == b {
            Grade::Identical
        } else if same_tokens(a) == same_tokens(b) {
            Grade::Lexical
        } else {
            Grade::Shingle
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// Scans a folder of these files; shows each group as its members' names and grades.
    fn groups(files: &[(&str, &str)], options: &ScanOptions) -> Vec<String> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (name, text) in files {
            fs::write(folder.path().join(name), text).expect("a file");
        }
        let scan = scan(&[folder.path().to_owned()], options, |_, _| {});
        let name = |document: usize| {
            let path = &scan.documents[document].path;
            path.file_name()
                .map_or(String::new(), |name| name.display().to_string())
        };
        let show = |group: &Group| {
            let representative = group.members[group.representative].document;
            let members = group.members.iter().map(|member| {
                let grade = member.grade.map_or("chained", Grade::name);
                format!("{} {grade}", name(member.document))
            });
            let chain = if group.is_chain { "chain " } else { "" };
            format!(
                "{chain}{}: {}",
                name(representative),
                members.collect::<Vec<_>>().join(", ")
            )
        };
        scan.groups.iter().map(show).collect()
    }

    fn options(width: usize) -> ScanOptions {
        let mut options = ScanOptions::default();
        options.recipe.width = NonZeroUsize::new(width).expect("not zero");
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
    fn the_number_of_threads_does_not_show() {
        let texts: Vec<(String, String)> = (0..60)
            .map(|i| {
                let words = (0..20).map(|j| format!("w{} ", (i % 7) * 10 + j));
                (format!("{i:02}"), words.collect())
            })
            .collect();
        let files: Vec<(&str, &str)> = texts
            .iter()
            .map(|(name, text)| (&**name, &**text))
            .collect();
        let with = |threads| ScanOptions {
            threads: NonZeroUsize::new(threads).expect("not zero"),
            ..options(3)
        };
        let one = groups(&files, &with(1));
        assert!(!one.is_empty());
        assert_eq!(one, groups(&files, &with(4)));
    }

    #[test]
    fn batches_are_bounded_and_lose_nothing() {
        let file = |size| Found {
            path: PathBuf::new(),
            size,
        };
        let sizes = [1, BATCH_LEN, BATCH_LEN + 1, 5, 6, 0];
        let files = sizes.map(file);
        let lens: Vec<usize> = batches(&files).map(<[Found]>::len).collect();
        assert_eq!(lens, [1, 1, 1, 3]);
    }
}
