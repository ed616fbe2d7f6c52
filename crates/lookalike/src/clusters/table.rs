//! A clustering on disk.
//!
//! ```text
//! members  Member × documents             by number, singletons too
//! roster   (cluster, document) …          of clusters of two and more, sorted
//! quality  Quality …                      one a cluster of two and more, sorted
//! exact    Pair …                         whose true values were learnt, sorted
//! ```
//!
//! A cluster goes by its first document's number.

use lookalike_core::recipe::SketchKind;

use crate::blocks::{BlockReader, FileEntry, Record};
use crate::collection::entry::Grade;
use crate::pairs::{Basis, Measure, Pair};
use crate::storage::{Storage, StorageError};

/// What a clustering says of one document: 32 bytes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Member {
    /// Its cluster: the number of the first document in it.
    pub cluster: u32,
    /// How many documents that has.
    pub size: u32,
    /// The document that stands for it.
    pub representative: u32,
    /// What it has in common with the representative.
    pub common: u32,
    /// Out of how many.
    pub of: u32,
    /// And the representative out of how many.
    pub of_representative: u32,
    basis: u32,
    grade: u32,
}

const BASES: [Basis; 4] = [
    Basis::Level(0),
    Basis::Modulus,
    Basis::Resemblance,
    Basis::Exact,
];

impl Member {
    /// A document alone.
    pub(crate) fn alone(doc: u32) -> Member {
        Member {
            cluster: doc,
            size: 1,
            representative: doc,
            common: 1,
            of: 1,
            of_representative: 1,
            basis: Member::code(Basis::Exact),
            grade: 0,
        }
    }

    fn code(basis: Basis) -> u32 {
        let kind = BASES
            .iter()
            .position(|known| std::mem::discriminant(known) == std::mem::discriminant(&basis));
        let level = match basis {
            Basis::Level(level) => u32::from(level),
            _ => 0,
        };
        u32::try_from(kind.unwrap_or(0)).unwrap_or(0) << 8 | level
    }

    /// Notes how it compares with the representative.
    pub(crate) fn set_pair(&mut self, pair: &Pair) {
        self.common = pair.common;
        self.of = pair.of_a;
        self.of_representative = pair.of_b;
        self.basis = Member::code(pair.basis);
    }

    /// Itself and its representative, in this order.
    pub fn pair(&self, doc: u32) -> Pair {
        let basis = match BASES.get((self.basis >> 8) as usize) {
            Some(Basis::Level(_)) | None => Basis::Level((self.basis & 0xff) as u8),
            Some(other) => *other,
        };
        Pair {
            a: doc,
            b: self.representative,
            common: self.common,
            of_a: self.of,
            of_b: self.of_representative,
            basis,
        }
    }

    /// Its resemblance to the representative; 1 for the representative itself.
    pub fn resemblance(&self, doc: u32, kind: SketchKind) -> Option<f64> {
        if doc == self.representative {
            return Some(1.0);
        }
        Some(self.pair(doc).estimate(Measure::Resemblance, kind)?.value)
    }

    /// How much of it the representative contains.
    pub fn containment(&self, doc: u32, kind: SketchKind) -> Option<f64> {
        if doc == self.representative {
            return Some(1.0);
        }
        Some(self.pair(doc).estimate(Measure::AInB, kind)?.value)
    }

    pub(crate) fn set_grade(&mut self, grade: Option<Grade>) {
        self.grade = grade.map_or(0, |grade| grade as u32);
    }

    /// How it is the same as another document: of copies, as an earlier one; of others,
    /// as the representative.
    pub fn grade(&self) -> Option<Grade> {
        [
            Grade::Identical,
            Grade::Lexical,
            Grade::Shingle,
            Grade::Similar,
            Grade::Contained,
        ]
        .into_iter()
        .find(|grade| *grade as u32 == self.grade)
    }
}

impl Record for Member {
    type Bytes = [u8; 32];
    const LEN: usize = 32;

    fn to_bytes(self) -> [u8; 32] {
        let words = [
            self.cluster,
            self.size,
            self.representative,
            self.common,
            self.of,
            self.of_representative,
            self.basis,
            self.grade,
        ];
        let mut bytes = [0; 32];
        for (place, word) in bytes.as_chunks_mut().0.iter_mut().zip(words) {
            *place = word.to_le_bytes();
        }
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Member {
        let word = |i: usize| <u32 as Record>::from_bytes(&bytes[4 * i..4 * i + 4]);
        Member {
            cluster: word(0),
            size: word(1),
            representative: word(2),
            common: word(3),
            of: word(4),
            of_representative: word(5),
            basis: word(6),
            grade: word(7),
        }
    }
}

/// Something about a cluster that a reader should know.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Mark {
    /// Not all members are linked to the representative.
    Chain = 1,
    /// What members share is the same in nearly all of them: a frame around other text.
    Template = 2,
    /// More than a hundredth of the collection.
    Large = 4,
}

impl Mark {
    /// All there are, with their names.
    pub const ALL: [(Mark, &'static str); 3] = [
        (Mark::Chain, "chain"),
        (Mark::Template, "template"),
        (Mark::Large, "large"),
    ];
}

/// How good a cluster is: 32 bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quality {
    /// The number of its first document.
    pub cluster: u32,
    /// How many documents it has.
    pub size: u32,
    /// The document that stands for it.
    pub representative: u32,
    /// [`Mark`]s.
    pub marks: u32,
    /// The lowest resemblance of a member to the representative.
    pub lowest: f64,
    /// The median of all but the representative.
    pub median: f64,
}

impl Quality {
    /// The names of its marks.
    pub fn marks(&self) -> impl Iterator<Item = &'static str> {
        let marks = self.marks;
        let set = Mark::ALL
            .iter()
            .filter(move |(mark, _)| marks & *mark as u32 != 0);
        set.map(|(_, name)| *name)
    }
}

impl Record for Quality {
    type Bytes = [u8; 32];
    const LEN: usize = 32;

    fn to_bytes(self) -> [u8; 32] {
        let mut bytes = [0; 32];
        let words = [self.cluster, self.size, self.representative, self.marks];
        for (place, word) in bytes.as_chunks_mut().0.iter_mut().zip(words) {
            *place = word.to_le_bytes();
        }
        bytes[16..24].copy_from_slice(&self.lowest.to_le_bytes());
        bytes[24..].copy_from_slice(&self.median.to_le_bytes());
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Quality {
        let word = |i: usize| <u32 as Record>::from_bytes(&bytes[4 * i..4 * i + 4]);
        let share = |at: usize| f64::from_bits(<u64 as Record>::from_bytes(&bytes[at..at + 8]));
        Quality {
            cluster: word(0),
            size: word(1),
            representative: word(2),
            marks: word(3),
            lowest: share(16),
            median: share(24),
        }
    }
}

/// A clustering, opened.
#[derive(Debug)]
pub struct Clustering {
    members: BlockReader,
    roster: BlockReader,
    quality: BlockReader,
}

impl Clustering {
    /// Opens its three files.
    pub fn open(
        storage: &dyn Storage,
        members: &FileEntry,
        roster: &FileEntry,
        quality: &FileEntry,
    ) -> Result<Clustering, StorageError> {
        Ok(Clustering {
            members: BlockReader::open(storage, members)?,
            roster: BlockReader::open(storage, roster)?,
            quality: BlockReader::open(storage, quality)?,
        })
    }

    /// What it says of a document.
    pub fn member(&self, doc: u32) -> Result<Member, StorageError> {
        self.members.record(u64::from(doc))
    }

    /// All documents, in order.
    pub fn members(&self) -> Result<crate::blocks::RecordStream<Member>, StorageError> {
        self.members.all_records(8)
    }

    /// All clusters of two and more, in order.
    pub fn clusters(&self) -> Result<crate::blocks::RecordStream<Quality>, StorageError> {
        self.quality.all_records(8)
    }

    /// The documents of a cluster, in order; nothing for a document alone.
    pub fn roster(&self, cluster: u32) -> Result<Vec<u32>, StorageError> {
        self.first_of_roster(cluster, usize::MAX)
    }

    /// The first of them, at most so many.
    pub fn first_of_roster(&self, cluster: u32, most: usize) -> Result<Vec<u32>, StorageError> {
        let from = first_not_below(&self.roster, cluster)?;
        let count = self.roster.record_count::<(u32, u32)>()?;
        let mut stream = self.roster.records::<(u32, u32)>(from..count, 1)?;
        let mut docs = Vec::new();
        while docs.len() < most
            && let Some((found, doc)) = stream.next_record()?
            && found == cluster
        {
            docs.push(doc);
        }
        Ok(docs)
    }

    /// How good a cluster is.
    pub fn quality(&self, cluster: u32) -> Result<Option<Quality>, StorageError> {
        let (mut low, mut high) = (0, self.quality.record_count::<Quality>()?);
        while low < high {
            let middle = low + (high - low) / 2;
            let found: Quality = self.quality.record(middle)?;
            match found.cluster.cmp(&cluster) {
                std::cmp::Ordering::Equal => return Ok(Some(found)),
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        Ok(None)
    }
}

fn first_not_below(reader: &BlockReader, cluster: u32) -> Result<u64, StorageError> {
    let (mut low, mut high) = (0, reader.record_count::<(u32, u32)>()?);
    while low < high {
        let middle = low + (high - low) / 2;
        if reader.record::<(u32, u32)>(middle)?.0 < cluster {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    Ok(low)
}
