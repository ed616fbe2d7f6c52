//! A sweep whose packed files have the bytes of the last one's: what they came to then they
//! come to now, and nothing is unpacked.
//!
//! ```text
//! names, lengths ─► BLAKE3 of the packed bytes ─► the last sweep's? ─► its documents,
//!                                                captures and blanks, as they were read
//! ```
//!
//! Of a file that is not packed no digest is kept: to read it takes little longer than to
//! hash it. What the records come to is then judged as if they had been read, so a sweep is
//! the same byte for byte whether this was used or not.

use std::fs::File;
use std::io::Read;
use std::time::UNIX_EPOCH;

use super::AddOptions;
use super::intake::OLDER;
use super::tally::Tally;
use crate::collection::entry::{Entry, Flag};
use crate::collection::manifest::Manifest;
use crate::collection::segment::Segment;
use crate::collection::state::{State, StoredReading};
use crate::corpus::inputs::{Inputs, Source, SourceKind};
use crate::storage::StorageError;

/// Records of a sweep that are held in memory: some tens of megabytes.
const MOST: u64 = 1 << 17;

/// The digests of some sources, of those that are packed.
pub(crate) type Digests = Vec<Option<String>>;

/// The last sweep, as it was read.
pub(crate) struct LastSweep {
    /// Of each source.
    pub(crate) digests: Digests,
    pub(crate) entries: Vec<Entry>,
    /// For each entry: id, URL, media type.
    pub(crate) bodies: Vec<u8>,
    pub(crate) tally: Tally,
}

/// The digest of a packed file, as long as it is the file that was found.
pub(crate) fn digest(source: &Source) -> Option<String> {
    if !matches!(
        source.kind,
        SourceKind::Jsonl | SourceKind::Csv | SourceKind::Warc
    ) || !std::fs::metadata(&source.path).ok()?.is_file()
    {
        return None;
    }
    let mut file = File::open(&source.path).ok()?;
    let mut buffer = vec![0; 128 << 10];
    let mut hasher = blake3::Hasher::new();
    let mut len = 0;
    loop {
        let read = file.read(&mut buffer).ok()?;
        let bytes = &buffer[..read];
        let is_packed = bytes.starts_with(b"\x1f\x8b") || bytes.starts_with(b"\x28\xb5\x2f\xfd");
        if len == 0 && !is_packed {
            return None;
        }
        if read == 0 {
            break;
        }
        hasher.update(bytes);
        len += read as u64;
    }
    // Whoever wrote to it meanwhile has left a mark.
    let at = file.metadata().ok()?.modified().ok()?;
    let nanoseconds = at.duration_since(UNIX_EPOCH).ok()?.as_nanos();
    let is_as_found = len == source.len && i64::try_from(nanoseconds) == Ok(source.modified);
    is_as_found.then(|| hasher.finalize().to_hex().to_string())
}

/// The last sweep, if the inputs are the files that it was read from, to be read in the
/// same way, and all that came of them is known.
pub(crate) fn last_sweep(
    older: &[Segment],
    manifest: &Manifest<State>,
    inputs: &Inputs,
    options: &AddOptions,
) -> Result<Option<LastSweep>, StorageError> {
    #[cfg(test)]
    if super::contents::tests::FORGETS.get() {
        return Ok(None);
    }
    let (Some(sweep), Some(segment)) = (manifest.state.sweeps.last(), older.last()) else {
        return Ok(None);
    };
    let counts = &sweep.counts;
    // Lines of rejects are not kept, nor revisits of what was never seen.
    if options.keep_text
        || options.reading.by_place
        || !inputs.refused.is_empty()
        || sweep.reading != StoredReading::new(&options.reading)
        || !counts.rejected.is_empty()
        || counts.skipped.contains_key("revisit of unknown")
        || u64::from(sweep.documents) + counts.again > MOST
    {
        return Ok(None);
    }
    let Some(digests) = same_digests(segment, inputs)? else {
        return Ok(None);
    };
    let Some((entries, bodies)) = records(older, segment, &sweep.mimes, sweep.blanks)? else {
        return Ok(None);
    };
    let mut skipped = counts.skipped.clone();
    skipped.remove("same again");
    Ok(Some(LastSweep {
        digests,
        entries,
        bodies,
        tally: Tally {
            read: counts.read,
            skipped,
            rejected: counts.rejected.clone(),
            repaired: counts.repaired,
            dates_unreadable: counts.dates_unreadable,
            short: counts.short,
            bytes: counts.bytes,
            tokens: counts.tokens,
        },
    }))
}

/// The digests of the inputs, if they are those of a sweep's sources.
fn same_digests(segment: &Segment, inputs: &Inputs) -> Result<Option<Digests>, StorageError> {
    let stored = segment.stored_sources()?;
    let sources = &inputs.sources;
    let may_be = stored.len() == sources.len()
        && stored.iter().zip(sources).all(|(stored, source)| {
            stored.digest.is_some() && stored.name == source.name && stored.is_like(source)
        });
    if !may_be {
        return Ok(None);
    }
    for (stored, source) in stored.iter().zip(sources) {
        if stored.digest != digest(source) {
            return Ok(None);
        }
    }
    Ok(Some(stored.into_iter().map(|one| one.digest).collect()))
}

/// Entries, and for each of them: id, URL, media type.
type Records = (Vec<Entry>, Vec<u8>);

/// Everything that a sweep read, in the order of reading, and what is written after each:
/// nothing if that is not all known.
fn records(
    older: &[Segment],
    segment: &Segment,
    mimes: &[String],
    blanks: u32,
) -> Result<Option<Records>, StorageError> {
    let mut all: Vec<(Entry, Vec<u8>)> = Vec::new();
    // All of these are captures of documents: their strings are known.
    let nameless = |mut entry: Entry| {
        (entry.id_len, entry.url_len, entry.strings) = (0, 0, 0);
        entry.grade = OLDER;
        entry
    };
    let mut entries = segment.entries()?;
    while let Some(entry) = entries.next_record()? {
        all.push((nameless(entry), Vec::new()));
    }
    let mut captures = segment.captures()?;
    while let Some(capture) = captures.next_record()? {
        let at = older.partition_point(|segment| segment.base <= capture.doc);
        let Some(of) = at.checked_sub(1).map(|at| &older[at]) else {
            return Ok(None);
        };
        let mut entry = nameless(of.entry(capture.doc)?);
        entry.flags &= !(Flag::Dated as u8);
        if let Some(when) = capture.when() {
            entry.date = when.0;
            entry.set(Flag::Dated);
        }
        if capture.is_revisit {
            return Ok(None);
        }
        (entry.source, entry.offset) = (capture.source, capture.offset);
        entry.facts = capture.facts;
        all.push((entry, Vec::new()));
    }
    for index in 0..blanks {
        let mut entry = segment.blank(index)?;
        let strings = segment.string_bytes(&entry)?;
        entry.strings = 0;
        all.push((entry, strings));
    }
    // A record that shares its place with another, or has its content from one.
    let place = |entry: &Entry| (entry.source, entry.offset);
    all.sort_by_key(|(entry, _)| place(entry));
    let is_unsure = |pair: &[(Entry, Vec<u8>)]| place(&pair[0].0) == place(&pair[1].0);
    if all.windows(2).any(is_unsure) || all.iter().any(|(entry, _)| entry.has(Flag::Revisit)) {
        return Ok(None);
    }
    let mut bodies = Vec::new();
    let mut found = Vec::with_capacity(all.len());
    for (mut entry, strings) in all {
        let number = usize::from(entry.facts.mime).checked_sub(1);
        let mime = number.map_or(Some(""), |number| mimes.get(number).map(String::as_str));
        let Some(mime) = mime else {
            return Ok(None);
        };
        entry.facts.mime = u16::try_from(mime.len()).unwrap_or(0);
        bodies.extend_from_slice(&strings);
        bodies.extend_from_slice(mime.as_bytes());
        found.push(entry);
    }
    Ok(Some((found, bodies)))
}
