//! A sweep whose files have the bytes of the last one's: what they came to then they come to
//! now, and nothing is unpacked or parsed.
//!
//! ```text
//! lengths ─► BLAKE3 of the files ─► the last sweep's? ─► its documents, captures and
//!                                                        blanks, as they were read
//! ```
//!
//! The files may have other names: a crawl that found nothing new is packed anew. Only a
//! record without URL and id goes by the name of its file.
//!
//! To hash a file takes a fifth of the time that it takes to unpack or parse it. Where there
//! is much that is not packed it is not done all the same: reading that again takes a
//! quarter of the first time as it is, and the first time would pay for the hashing. What
//! the records come to is judged as if they had been read, so a sweep is the same byte for
//! byte whether this was used or not.

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

/// Bytes of plain sources of a sweep that are hashed.
const MOST_PLAIN: u64 = 512 << 20;

/// The digests of some sources, of those that have one.
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

/// The digests of the sources of a sweep of so many records.
pub(crate) fn digests(sources: &[Source], records: u64) -> Digests {
    let plain = match sources.iter().map(|source| source.len).sum::<u64>() {
        len if len <= MOST_PLAIN => Plain::Hashed,
        _ => Plain::Left,
    };
    let digest = |source| match records {
        0..=MOST => digest(source, plain),
        _ => None,
    };
    sources.iter().map(digest).collect()
}

/// What becomes of files that are not packed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Plain {
    Hashed,
    Left,
}

/// The digest of a file, as long as it is the file that was found.
fn digest(source: &Source, plain: Plain) -> Option<String> {
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
        if len == 0 && !is_packed && plain == Plain::Left {
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
    let Some((digests, named)) = same_digests(segment, inputs)? else {
        return Ok(None);
    };
    let Some((entries, bodies)) = records(older, segment, &sweep.mimes, sweep.blanks)? else {
        return Ok(None);
    };
    if named == Named::Otherwise && entries.iter().any(goes_by_place) {
        return Ok(None);
    }
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

/// What files are called now.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Named {
    AsBefore,
    Otherwise,
}

/// Whether the name of its file is part of what a document goes by.
fn goes_by_place(entry: &Entry) -> bool {
    !entry.has(Flag::HasUrl) && !entry.has(Flag::HasId)
}

/// The digests of the inputs, if they are those of a sweep's sources.
fn same_digests(
    segment: &Segment,
    inputs: &Inputs,
) -> Result<Option<(Digests, Named)>, StorageError> {
    let stored = segment.stored_sources()?;
    let sources = &inputs.sources;
    let may_be = stored.len() == sources.len()
        && stored
            .iter()
            .zip(sources)
            .all(|(stored, source)| stored.digest.is_some() && stored.is_like(source));
    if !may_be {
        return Ok(None);
    }
    for (stored, source) in stored.iter().zip(sources) {
        // That it was hashed then tells that it may be now.
        if stored.digest != digest(source, Plain::Hashed) {
            return Ok(None);
        }
    }
    let mut both = stored.iter().zip(sources);
    let named = if both.all(|(stored, source)| stored.name == source.name) {
        Named::AsBefore
    } else {
        Named::Otherwise
    };
    let digests = stored.into_iter().map(|one| one.digest).collect();
    Ok(Some((digests, named)))
}

/// A revisit of what a document has, as it is before anybody knows that: the payload and the
/// address are all there is of it.
fn revisit(of_doc: &Entry) -> Entry {
    let kept = [
        Flag::Revisit,
        Flag::HasId,
        Flag::HasUrl,
        Flag::Dated,
        Flag::DateUnreadable,
    ];
    let kept = kept.into_iter().fold(0, |flags, flag| flags | flag as u8);
    Entry {
        flags: of_doc.flags & kept | Flag::Revisit as u8,
        key: of_doc.key,
        payload: of_doc.payload,
        source: of_doc.source,
        offset: of_doc.offset,
        date: of_doc.date,
        id_len: of_doc.id_len,
        url_len: of_doc.url_len,
        facts: of_doc.facts,
        ..Entry::default()
    }
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
        if entry.has(Flag::Revisit) {
            all.push((revisit(&entry), segment.string_bytes(&entry)?));
        } else {
            all.push((nameless(entry), Vec::new()));
        }
    }
    let mut captures = segment.captures()?;
    while let Some(capture) = captures.next_record()? {
        let at = older.partition_point(|segment| segment.base <= capture.doc);
        let Some(of) = at.checked_sub(1).map(|at| &older[at]) else {
            return Ok(None);
        };
        let of_doc = of.entry(capture.doc)?;
        let (mut entry, strings) = if capture.is_revisit {
            (revisit(&of_doc), of.string_bytes(&of_doc)?)
        } else if of_doc.has(Flag::Revisit) {
            // Content came to what had been a revisit only, and is known by another's names.
            return Ok(None);
        } else {
            (nameless(of_doc), Vec::new())
        };
        entry.flags &= !(Flag::Dated as u8);
        entry.date = 0;
        if let Some(when) = capture.when() {
            entry.date = when.0;
            entry.set(Flag::Dated);
        }
        (entry.source, entry.offset) = (capture.source, capture.offset);
        entry.facts = capture.facts;
        all.push((entry, strings));
    }
    for index in 0..blanks {
        let mut entry = segment.blank(index)?;
        let strings = segment.string_bytes(&entry)?;
        entry.strings = 0;
        all.push((entry, strings));
    }
    // A record that shares its place with another.
    let place = |entry: &Entry| (entry.source, entry.offset);
    all.sort_by_key(|(entry, _)| place(entry));
    let is_unsure = |pair: &[(Entry, Vec<u8>)]| place(&pair[0].0) == place(&pair[1].0);
    // Nor is it known which capture a revisit named that has no payload.
    let is_nameless = |entry: &Entry| entry.has(Flag::Revisit) && entry.payload == 0;
    if all.windows(2).any(is_unsure) || all.iter().any(|(entry, _)| is_nameless(entry)) {
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
