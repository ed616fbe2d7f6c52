//! Chunks and verdicts → the files of a sweep.
//!
//! ```text
//! chunks, in order ─► documents get their numbers ─► documents, strings, heads, sketches
//!                                                ─► captures of those that were there,
//!                                                   sorted by document
//!                                                ─► postings, to be sorted
//! ```

use std::path::Path;

use super::again::Digests;
use super::captures::Captures;
use super::contents::content_name;
use super::intake::{Bodies, Intake, OLDER};
use super::names::{CopyOf, Target, Verdicts, What};
use crate::blocks::{BlockReader, BlockWriter, FileEntry, FileKind};
use crate::collection::entry::{Capture, Entry, Flag, Grade, SketchHead};
use crate::collection::file_name;
use crate::collection::lookup::write_lookup;
use crate::collection::manifest::Manifest;
use crate::collection::segment::{Segment, StoredSource};
use crate::collection::sketches::STRIDE;
use crate::collection::state::{Counts, MOST_MIMES, Redrawn, State};
use crate::corpus::inputs::Source;
use crate::pairs::postings::{Partitions, key};
use crate::storage::{Storage, StorageError};
use lookalike_core::recipe::SketchKind;

/// Starts files of the generation that a manifest will be.
pub(crate) struct Files<'a> {
    pub(crate) storage: &'a dyn Storage,
    pub(crate) manifest: &'a Manifest<State>,
    /// Which of the sweeps that are drawn again; `None` for one that is added.
    pub(crate) redrawn: Option<Redrawn>,
}

impl Files<'_> {
    pub(crate) fn create(&self, what: &str, kind: FileKind) -> Result<BlockWriter, StorageError> {
        let name = match self.redrawn {
            None => file_name(what, self.manifest.generation()),
            Some(redrawn) => redrawn.file_name(what),
        };
        BlockWriter::create_small(self.storage, &name, kind, self.manifest.file_id(&name))
    }
}

/// What is known of the new documents, written.
pub(crate) struct Written {
    pub(crate) documents: u32,
    /// Captures without a word.
    pub(crate) blanks: u32,
    pub(crate) files: Vec<FileEntry>,
    pub(crate) counts: Counts,
    /// Media types, by number.
    pub(crate) mimes: Vec<String>,
}

/// The number of a media type among those met, from 1; 0 for none, and past the limit.
fn mime_number(mimes: &mut Vec<String>, mime: &[u8]) -> u16 {
    if mime.is_empty() {
        return 0;
    }
    let known = mimes.iter().position(|known| known.as_bytes() == mime);
    let index = known.unwrap_or(mimes.len());
    if index == MOST_MIMES {
        return 0;
    }
    if index == mimes.len() {
        mimes.push(String::from_utf8_lossy(mime).into_owned());
    }
    u16::try_from(index + 1).unwrap_or(0)
}

/// Numbers of the new documents, by their place among the entries: one bit an entry and
/// a count every 64.
pub(crate) struct Numbers {
    base: u32,
    bits: Vec<u64>,
    before: Vec<u32>,
}

impl Numbers {
    pub(crate) fn new(base: u32, verdicts: &Verdicts) -> Numbers {
        let words = (verdicts.len() as usize).div_ceil(64);
        let (mut bits, mut before) = (vec![0_u64; words], Vec::with_capacity(words));
        let mut count = 0;
        for (word, bits) in bits.iter_mut().enumerate() {
            before.push(count);
            let from = u32::try_from(word * 64).unwrap_or(u32::MAX);
            for entry in from..verdicts.len().min(from.saturating_add(64)) {
                *bits |= u64::from(verdicts.is_document(entry)) << (entry % 64);
            }
            count += bits.count_ones();
        }
        Numbers { base, bits, before }
    }

    pub(crate) fn doc(&self, target: Target) -> u32 {
        match target {
            Target::Older(doc) => doc,
            Target::New(entry) => {
                let (word, bit) = (entry as usize / 64, entry % 64);
                let below = self.bits[word] & ((1 << bit) - 1);
                self.base + self.before[word] + below.count_ones()
            }
        }
    }
}

/// The number of the first document after some sweeps.
pub(crate) fn base_after(older: &[Segment]) -> u32 {
    older.last().map_or(0, |last| last.base + last.documents)
}

/// Captures without a word: a file if there are any.
#[derive(Default)]
struct Blanks {
    file: Option<BlockWriter>,
    count: u32,
}

impl Blanks {
    fn push(
        &mut self,
        files: &Files<'_>,
        strings: &mut BlockWriter,
        names: &[u8],
        mut entry: Entry,
    ) -> Result<(), StorageError> {
        entry.strings = strings.position();
        strings.append(names)?;
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(files.create("blanks", FileKind::Documents)?),
        };
        self.count += 1;
        file.append_record(entry)
    }
}

/// Writes the documents of a sweep, and hands their samples to `partitions`.
pub(crate) fn write_documents(
    files: &Files<'_>,
    intake: &Intake,
    verdicts: &Verdicts,
    older: &[Segment],
    kind: SketchKind,
    partitions: &mut Partitions<'_>,
    mut captures: Captures<'_>,
) -> Result<Written, StorageError> {
    let base = base_after(older);
    let numbers = Numbers::new(base, verdicts);
    let mut documents = files.create("documents", FileKind::Documents)?;
    let mut strings = files.create("strings", FileKind::Names)?;
    let mut heads = files.create("heads", FileKind::Sketches)?;
    let mut sketches = files.create("sketches", FileKind::Sketches)?;
    let mut places = files.create("places", FileKind::Lookup)?;
    let mut mimes = Vec::new();
    let mut blanks = Blanks::default();
    let mut counts = Counts::default();
    let mut next = base;
    let mut entries = intake.heads(files.storage);
    let mut bodies = Bodies::new(files.storage, &intake.chunks);
    let (mut samples, mut text) = (Vec::new(), Vec::new());
    // What a revisit is of is known by its document, which may come later in the input.
    let mut revisits: Vec<(u32, Target)> = Vec::new();
    let mut number = 0;
    // Samples of the documents before.
    let mut of_earlier = 0_u64;
    while let Some(mut entry) = entries.next_entry()? {
        let what = verdicts.get(number);
        bodies.next_body(&entry, &mut samples, &mut text)?;
        number += 1;
        if entry.grade == OLDER && what == What::Distinct {
            let what = "content that an older sweep has is in none";
            return Err(StorageError::damaged("intake", what, None));
        }
        entry.grade = 0;
        let (names, mime) = text.split_at(text.len() - usize::from(entry.facts.mime));
        if what != What::Lost {
            entry.facts.mime = mime_number(&mut mimes, mime);
        }
        match what {
            What::Lost => {
                let skipped = counts.skipped.entry("revisit of unknown".to_owned());
                *skipped.or_insert(0) += 1;
                continue;
            }
            What::Blank => {
                blanks.push(files, &mut strings, names, entry)?;
                continue;
            }
            What::Again(target) => {
                counts.again += 1;
                captures.push(Capture::of(numbers.doc(target), &entry))?;
                continue;
            }
            What::Distinct => {
                counts.distinct += 1;
                entry.copy_of = next;
                heads.append_record(entry.sketch.0)?;
                sketches.append_records(&samples)?;
                counts.postings += samples.len() as u64;
                for (place, &sample) in samples.iter().enumerate() {
                    partitions.push(key(kind, place, sample), next)?;
                }
            }
            What::Copy(copy) => {
                mark_copy(&mut entry, &copy, numbers.doc(copy.first), &mut counts);
                if entry.has(Flag::Revisit) {
                    revisits.push((next, copy.first));
                }
                heads.append_record(SketchHead::default().0)?;
            }
        }
        if (next - base).is_multiple_of(STRIDE) {
            places.append_record(of_earlier)?;
        }
        if what == What::Distinct {
            of_earlier += samples.len() as u64;
        }
        entry.strings = strings.position();
        strings.append(names)?;
        documents.append_record(entry)?;
        next = next
            .checked_add(1)
            .filter(|&doc| doc < MOST_DOCUMENTS)
            .ok_or_else(|| StorageError::io("documents", too_many()))?;
    }
    let mut documents = documents.finish()?;
    if !revisits.is_empty() {
        documents = fill_in(files, &documents, base, &revisits, older)?;
    }
    counts.versions = 0;
    let mut written = vec![
        documents,
        strings.finish()?,
        heads.finish()?,
        sketches.finish()?,
        captures.write(files.create("captures", FileKind::Captures)?)?,
        places.finish()?,
    ];
    let blank_count = blanks.count;
    written.extend(blanks.file.map(BlockWriter::finish).transpose()?);
    Ok(Written {
        documents: next - base,
        blanks: blank_count,
        files: written,
        counts,
        mimes,
    })
}

/// Notes and counts how a document is a copy, and of which.
pub(crate) fn mark_copy(entry: &mut Entry, copy: &CopyOf, first: u32, counts: &mut Counts) {
    let counted = match copy.grade {
        Grade::Identical => &mut counts.identical,
        Grade::Lexical => &mut counts.lexical,
        _ => &mut counts.shingle,
    };
    *counted += 1;
    entry.grade = copy.grade as u8;
    entry.copy_of = first;
    if !copy.has_tokens_of_first {
        entry.set(Flag::Apart);
    }
}

/// A bit of a document's number is used to mark the first of a group.
pub(crate) const MOST_DOCUMENTS: u32 = 1 << 31;

pub(crate) fn too_many() -> std::io::Error {
    std::io::Error::other("a collection holds at most 2,147,483,648 documents")
}

/// Revisits at a new address are documents with the content of another: its names and
/// sizes are theirs.
fn fill_in(
    files: &Files<'_>,
    documents: &FileEntry,
    base: u32,
    revisits: &[(u32, Target)],
    older: &[Segment],
) -> Result<FileEntry, StorageError> {
    let reader = BlockReader::open(files.storage, documents)?;
    let mut all = Vec::with_capacity(revisits.len());
    for (doc, _) in revisits {
        let mut entry: Entry = reader.record(u64::from(doc - base))?;
        let of = entry.copy_of;
        let original = match of.checked_sub(base) {
            Some(index) => reader.record(u64::from(index))?,
            None => older[older.partition_point(|segment| segment.base <= of) - 1].entry(of)?,
        };
        entry.bytes_name = original.bytes_name;
        entry.tokens_name = original.tokens_name;
        entry.sketch_name = original.sketch_name;
        entry.tokens = original.tokens;
        entry.body_len = original.body_len;
        entry.sketch = original.sketch;
        all.push((*doc, entry));
    }
    // Written once more, under the name of a part, for nothing is changed in place.
    let name = format!("documents-{}-0.lk", files.manifest.generation());
    let id = files.manifest.file_id(&name);
    let mut copy = BlockWriter::create(files.storage, &name, FileKind::Documents, id)?;
    let mut stream = reader.all_records::<Entry>(8)?;
    let (mut doc, mut filled) = (base, all.iter().peekable());
    while let Some(entry) = stream.next_record()? {
        let entry = filled
            .next_if(|(of, _)| *of == doc)
            .map_or(entry, |(_, entry)| *entry);
        copy.append_record(entry)?;
        doc += 1;
    }
    drop(stream);
    let copied = copy.finish()?;
    // And back under its own name: ids bind a file to its name.
    let mut again = files.create("documents", FileKind::Documents)?;
    let mut stream = BlockReader::open(files.storage, &copied)?.all_records::<Entry>(8)?;
    while let Some(entry) = stream.next_record()? {
        again.append_record(entry)?;
    }
    let finished = again.finish()?;
    let removed = files.storage.remove(&copied.name);
    removed.map_err(|error| StorageError::io(&copied.name, error))?;
    Ok(finished)
}

/// Writes some of the [`LOOKUPS`]: the names, keys, payloads and contents of documents.
pub(crate) fn write_lookups(
    files: &Files<'_>,
    which: &[&str],
    documents: &FileEntry,
    base: u32,
    budget: u64,
) -> Result<Vec<FileEntry>, StorageError> {
    let reader = BlockReader::open(files.storage, documents)?;
    let count = reader.record_count::<Entry>()?;
    let write = |what: &str| {
        let field = |entry: &Entry| match what {
            "names" => Some((entry.sketch_name >> 64) as u64),
            "keys" => Some(entry.key),
            "payloads" => Some(entry.payload).filter(|payload| *payload != 0),
            // A revisit has the content of another, and how that was read is not its own.
            _ if entry.has(Flag::Revisit) => None,
            _ => Some(content_name(entry.bytes_name, entry.way)),
        };
        let file = files.create(what, FileKind::Lookup)?;
        write_lookup(file, count, budget, |each| {
            let mut stream = reader.all_records::<Entry>(8)?;
            let mut doc = base;
            while let Some(entry) = stream.next_record()? {
                if let Some(name) = field(&entry) {
                    each(name, doc);
                }
                doc += 1;
            }
            Ok(())
        })
    };
    which.iter().map(|what| write(what)).collect()
}

/// All that documents are looked up by.
pub(crate) const LOOKUPS: [&str; 4] = ["names", "keys", "payloads", "contents"];

/// Writes down the sources, with the digests of those that are packed.
pub(crate) fn write_sources(
    files: &Files<'_>,
    sources: &[Source],
    digests: Digests,
    folder: &Path,
) -> Result<FileEntry, StorageError> {
    let mut file = files.create("sources", FileKind::Names)?;
    for (source, digest) in sources.iter().zip(digests) {
        let mut stored = StoredSource::new(source, folder);
        stored.digest = digest;
        let mut line = serde_json::to_vec(&stored)
            .map_err(|error| StorageError::io("sources", std::io::Error::other(error)))?;
        line.push(b'\n');
        file.append(&line)?;
    }
    file.finish()
}

/// How many of the new documents go by a name that was taken, by other words.
pub(crate) fn versions(
    files: &Files<'_>,
    keys: &FileEntry,
    older: &[Segment],
) -> Result<u64, StorageError> {
    let mut stream = BlockReader::open(files.storage, keys)?.all_records::<(u64, u32)>(8)?;
    let (mut distinct, mut again) = (Vec::new(), 0);
    while let Some(batch) = stream.next_batch()? {
        for &(key, _) in batch {
            if distinct.last() == Some(&key) {
                again += 1;
            } else {
                distinct.push(key);
            }
        }
    }
    let mut taken = hashbrown::HashSet::new();
    for segment in older {
        segment.keys.find_all(&distinct, |key, _| {
            taken.insert(key);
            Ok(())
        })?;
    }
    Ok(again + taken.len() as u64)
}
