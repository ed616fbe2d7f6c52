//! Shards out: copies of input files with only the records that are kept, or with marks
//! on all of them.
//!
//! ```text
//! shard ─► lines │ comma │ rows │ warc ─► keep(offset)? ─► its bytes ─► packed as before
//!                                                          └─ temporary name, sync, rename
//! ```
//!
//! A record is known by the [`Offset`] that its reader gives it. What is kept stays as it
//! was: lines of JSON and records of CSV byte for byte with their line ends, WARC records
//! as members of the packed file, Parquet rows with all columns, types and metadata. What
//! no reader takes for a record (blank lines) is copied too.
//!
//! | shard | offset | what is asked about |
//! |---|---|---|
//! | JSON lines | byte in the unpacked stream where the line begins | lines that are not blank |
//! | CSV | byte in the unpacked stream where the record begins, line ends skipped | records behind the header |
//! | Parquet | number of the row | rows |
//! | WARC, packed record by record | byte in the packed file where the member begins, and one more for each record before it in the member | records |
//! | other WARC | byte in the unpacked stream | records |
//!
//! Offsets are asked about in increasing order, each once. Time O(bytes). Memory: some
//! buffers; one line where lines are marked; for Parquet an encoded column of a row group.
//! The same shard and answers give the same bytes.

use std::fmt;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use crate::corpus::parquet::Fault;
use crate::corpus::record::Offset;
use crate::corpus::unusable::shown;

mod comma;

mod datatrove;

mod lines;

mod output;

mod packing;

mod rows;

mod warc;

pub use self::datatrove::{remove_file_name, write_numbers, write_pairs};
pub use self::output::{Existing, NewFile};
use self::packing::{Packer, Packing};

/// The columns that marking adds, in this order.
pub const MARKS: [&str; 3] = [
    "lookalike_cluster",
    "lookalike_is_duplicate",
    "lookalike_representative",
];

/// What a shard holds. How it is packed is told by its first bytes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ShardKind {
    /// One JSON object a line: plain, gzip or zstd.
    Jsonl,
    /// Comma-separated values with a header: plain, gzip or zstd.
    Csv,
    /// Parquet.
    Parquet,
    /// WARC or WET: plain, gzip or zstd.
    Warc,
}

/// What becomes of a record.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Decision {
    /// It is copied.
    Keep,
    /// It is left out.
    Drop,
}

/// What is said of a record where all are kept.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Mark {
    /// Its cluster.
    pub cluster: u32,
    /// Whether another one stands for it.
    pub is_duplicate: bool,
    /// The one that stands for it or for its cluster, by whatever name the user knows.
    pub representative: String,
}

/// Where a copy goes.
#[derive(Clone, Copy, Debug)]
pub struct Output<'a> {
    /// Its name. The folder is there.
    pub path: &'a Path,
    /// What to do if there is such a file.
    pub existing: Existing,
}

/// What was copied.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Copied {
    /// Records that were asked about.
    pub records: u64,
    /// Those of them that were kept, or marked.
    pub kept: u64,
}

/// A shard that could not be copied. No output was made or changed.
#[derive(Debug, thiserror::Error)]
#[error("cannot copy `{}` to `{}`", shown(.input), shown(.output))]
pub struct ShardError {
    /// Which shard.
    pub input: PathBuf,
    /// Where it was to go.
    pub output: PathBuf,
    /// What is wrong.
    #[source]
    pub fault: ShardFault,
}

/// What can be wrong with a shard or its copy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ShardFault {
    /// The shard is damaged.
    #[error("it is damaged at offset {at}: {what}")]
    Damaged {
        /// Where.
        at: u64,
        /// In what way.
        what: String,
    },
    /// There is already a column with the name of a mark.
    #[error("it has a field `{0}` already")]
    NameTaken(&'static str),
    /// The shard's format has no place for marks.
    #[error("WARC files cannot be marked; write a table instead")]
    NoPlaceForMarks,
    /// The shard is no sound Parquet file.
    #[error(transparent)]
    Parquet(Fault),
    /// The operating system refused, or there is already such a file.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl From<Fault> for ShardFault {
    /// What the operating system says stays known as such: a full disk is no damage.
    fn from(fault: Fault) -> ShardFault {
        match fault {
            Fault::Io(error) => ShardFault::Io(error),
            other => ShardFault::Parquet(other),
        }
    }
}

/// Copies a shard with only the records that `keep` keeps.
pub fn filter_shard(
    input: &Path,
    kind: ShardKind,
    keep: &mut dyn FnMut(Offset) -> Decision,
    output: Output<'_>,
) -> Result<Copied, ShardError> {
    let mut copied = Copied::default();
    let mut ask = |offset| {
        let decision = keep(offset);
        copied.records += 1;
        copied.kept += u64::from(decision == Decision::Keep);
        decision
    };
    let done = (|| {
        let file = File::open(input)?;
        let packing = Packing::of_file(&file)?;
        let new = NewFile::create(output.path, output.existing)?;
        let new = match kind {
            ShardKind::Jsonl => {
                let mut out = Packer::new(packing, new)?;
                lines::filter(packing.reader(file)?, &mut ask, &mut out)?;
                out.finish()?
            }
            ShardKind::Csv => {
                let mut out = Packer::new(packing, new)?;
                comma::filter(packing.reader(file)?, &mut ask, &mut out)?;
                out.finish()?
            }
            ShardKind::Parquet => rows::filter(file, &mut ask, new)?,
            ShardKind::Warc => warc::filter(file, packing, &mut ask, new)?,
        };
        Ok(new.commit()?)
    })();
    finished(input, output, done).map(|()| copied)
}

/// Copies a shard with all records, and adds what `mark` says of each in the columns
/// [`MARKS`]. A record that it says nothing of has nulls there; a line that is no JSON
/// object stays as it is.
pub fn annotate_shard(
    input: &Path,
    kind: ShardKind,
    mark: &mut dyn FnMut(Offset) -> Option<Mark>,
    output: Output<'_>,
) -> Result<Copied, ShardError> {
    let mut copied = Copied::default();
    let mut ask = |offset| {
        let mark = mark(offset);
        copied.records += 1;
        copied.kept += u64::from(mark.is_some());
        mark
    };
    let done = (|| {
        if kind == ShardKind::Warc {
            return Err(ShardFault::NoPlaceForMarks);
        }
        let file = File::open(input)?;
        let packing = Packing::of_file(&file)?;
        let new = NewFile::create(output.path, output.existing)?;
        let new = match kind {
            ShardKind::Jsonl => {
                let mut out = Packer::new(packing, new)?;
                lines::annotate(packing.reader(file)?, &mut ask, &mut out)?;
                out.finish()?
            }
            ShardKind::Csv => {
                let mut out = Packer::new(packing, new)?;
                comma::annotate(packing.reader(file)?, &mut ask, &mut out)?;
                out.finish()?
            }
            ShardKind::Parquet | ShardKind::Warc => rows::annotate(file, &mut ask, new)?,
        };
        Ok(new.commit()?)
    })();
    finished(input, output, done).map(|()| copied)
}

fn finished(
    input: &Path,
    output: Output<'_>,
    done: Result<(), ShardFault>,
) -> Result<(), ShardError> {
    done.map_err(|fault| ShardError {
        input: input.to_owned(),
        output: output.path.to_owned(),
        fault,
    })
}

/// Whoever decides about records.
type Keep<'a> = &'a mut dyn FnMut(Offset) -> Decision;

/// Whoever marks records.
type Marker<'a> = &'a mut dyn FnMut(Offset) -> Option<Mark>;

impl fmt::Display for ShardKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ShardKind::Jsonl => "jsonl",
            ShardKind::Csv => "csv",
            ShardKind::Parquet => "parquet",
            ShardKind::Warc => "warc",
        })
    }
}

#[cfg(test)]
mod tests;
