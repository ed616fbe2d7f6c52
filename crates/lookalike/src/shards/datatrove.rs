//! Lists that datatrove's filter for near-duplicates reads, one of each for an input
//! file: numbers of documents to remove, and what clusters they are in.
//!
//! ```text
//! 000003.remove     document u32 | document u32 | …                   increasing
//! 000003.clusters   document u32, cluster u32 | …                     .sizes alike
//! ```
//!
//! Little-endian, without header or end. A document's number counts what its reader
//! takes for documents in that file, from 0: lines without text are not counted.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use super::{Existing, NewFile};

/// The name of the list for the n-th input file, from 0: `000003.remove`.
pub fn remove_file_name(file: usize) -> String {
    format!("{file:06}.remove")
}

/// Writes the numbers of documents to remove, which increase.
pub fn write_numbers(
    path: &Path,
    existing: Existing,
    documents: impl IntoIterator<Item = u32>,
) -> io::Result<()> {
    let mut out = BufWriter::new(NewFile::create(path, existing)?);
    for document in documents {
        out.write_all(&document.to_le_bytes())?;
    }
    out.into_inner()
        .map_err(io::IntoInnerError::into_error)?
        .commit()
}

/// Writes documents with their cluster, or with its size, in the order of the documents.
pub fn write_pairs(
    path: &Path,
    existing: Existing,
    pairs: impl IntoIterator<Item = (u32, u32)>,
) -> io::Result<()> {
    let flat = pairs
        .into_iter()
        .flat_map(|(document, value)| [document, value]);
    write_numbers(path, existing, flat)
}
