//! WACZ: a zip archive with WARC files under `archive/`.
//!
//! ```text
//! zip directory ─► archive/*.warc[.gz|.zst], by name ─► each read as a WARC file
//! ```
//!
//! The offset of a record is its offset in its WARC file, and from bit 40 on the number
//! of that file in the order of the names. A file past 1 TiB is refused.

use std::borrow::Cow;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use zip::{CompressionMethod, ZipArchive};

use super::batch::Gather;
use super::options::ReadOptions;
use super::read::{Halt, Wanted};
use super::record::Offset;
use super::record::Refused;
use super::unpack::{Input, Unpacked};
use super::warc::{self, Numbered};

/// How many bits of an offset count inside one file.
const FILE_BITS: u32 = 40;

/// Which WARC file of the archive an offset is in, from 0, and where in it.
pub(crate) fn place(offset: Offset) -> (u64, u64) {
    (offset.0 >> FILE_BITS, offset.0 & ((1 << FILE_BITS) - 1))
}

/// A WARC file in the archive.
struct Entry {
    start: u64,
    len: u64,
    method: CompressionMethod,
    is_readable: bool,
}

fn entries(path: &Path) -> Result<Vec<Entry>, Halt> {
    let bad = |error: zip::result::ZipError| match error {
        zip::result::ZipError::Io(error) => Halt::from(error),
        error => Halt::format(format!("it is no valid WACZ file: {error}")),
    };
    let mut archive = ZipArchive::new(File::open(path)?).map_err(bad)?;
    let mut found = Vec::new();
    for i in 0..archive.len() {
        let file = archive.by_index_raw(i).map_err(bad)?;
        let Ok(name) = file.name().map(Cow::into_owned) else {
            continue;
        };
        let lower = name.to_ascii_lowercase();
        let is_warc = [".warc", ".warc.gz", ".warc.zst"]
            .iter()
            .any(|end| lower.ends_with(end));
        if name.starts_with("archive/") && is_warc {
            let len = file.compressed_size();
            let start = file.data_start();
            found.push((
                name,
                Entry {
                    start: start.unwrap_or(0),
                    len,
                    method: file.compression(),
                    is_readable: start.is_some() && !file.encrypted() && len >> FILE_BITS == 0,
                },
            ));
        }
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(found.into_iter().map(|(_, entry)| entry).collect())
}

/// Opens a file in the archive; `None` if it is packed in a way that is not read.
fn open(path: &Path, entry: &Entry) -> Result<Option<Unpacked>, Halt> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(entry.start))?;
    let stored = file.take(entry.len);
    let reader: Box<dyn Read + Send> = match entry.method {
        _ if !entry.is_readable => return Ok(None),
        CompressionMethod::Stored => Box::new(stored),
        CompressionMethod::Deflated => Box::new(flate2::read::DeflateDecoder::new(stored)),
        _ => return Ok(None),
    };
    Ok(Some(Unpacked::new(Input::new(reader, 0))?))
}

/// Reads the archive to its end.
pub(crate) fn read(
    path: &Path,
    options: &ReadOptions,
    gather: &mut Gather<'_>,
) -> Result<(), Halt> {
    for (number, entry) in (0..).zip(entries(path)?) {
        let base = number << FILE_BITS;
        gather.position = entry.start + entry.len;
        match open(path, &entry)? {
            Some(mut unpacked) => {
                let mut sink = Numbered { sink: gather, base };
                warc::read(&mut unpacked, options, &mut sink)?;
            }
            None => gather.refuse(Refused::rejected(
                base,
                "not supported",
                "a WARC file in the archive is encrypted or packed in a way that is not read",
            ))?,
        }
    }
    Ok(())
}

/// Reads the wanted records again.
pub(crate) fn fetch(
    path: &Path,
    options: &ReadOptions,
    wanted: &mut Wanted<'_>,
) -> Result<(), Halt> {
    for (number, entry) in (0_u64..).zip(entries(path)?) {
        if wanted.next().is_none_or(|next| next >> FILE_BITS != number) {
            continue;
        }
        if let Some(mut unpacked) = open(path, &entry)? {
            warc::pick_at(&mut unpacked, number << FILE_BITS, options, wanted)?;
        }
        wanted.pass((number + 1) << FILE_BITS);
    }
    Ok(())
}
