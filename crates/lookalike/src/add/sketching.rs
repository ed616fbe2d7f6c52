//! Inputs → sketches, by several threads, in the order of the input.
//!
//! ```text
//! reader: sources ─► batches ─► workers: parse, decode, sketch ─► collector: in order
//!         as many bytes at a time as the budget allows            chunks on disk
//! ```
//!
//! The collector is the calling thread. What it writes depends on the input alone.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::thread;

use lookalike_core::recipe::{Recipe, SketchKind};
use lookalike_core::sketch::{Kept, Sketch};
use lookalike_core::sketcher::Sketcher;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed, xxh3_128};

use super::contents::Contents;
use super::intake::OLDER;
use super::recent::{Key, Known, Recent};
use super::tally::Tally;
use crate::collection::entry::{Entry, Facts, Flag, SketchHead};
use crate::collection::state::MIME_LEN;
use crate::corpus::batch::Batch;
use crate::corpus::document::Document;
use crate::corpus::inputs::Source;
use crate::corpus::options::ReadOptions;
use crate::corpus::read::{SourceError, read_source};
use crate::corpus::record::{Body, Kind, Record, Refused, Timestamp, When};
use crate::corpus::unusable::Unusable;
use crate::storage::StorageError;

/// What a batch of records came to.
#[derive(Debug, Default)]
pub(crate) struct Sketched {
    /// One for each document, its place in `bodies` in order.
    pub(crate) entries: Vec<Entry>,
    /// For each document: samples, id, URL, media type.
    pub(crate) bodies: Vec<u8>,
    /// The text of each document, if texts are kept.
    pub(crate) texts: Vec<u8>,
    /// What was skipped or rejected.
    pub(crate) refused: Vec<Refused>,
    pub(crate) tally: Tally,
    /// Bytes of the source read up to here.
    pub(crate) position: u64,
}

/// Marks the length of a text that is a list of features.
pub(crate) const FEATURES: u64 = 1 << 63;

/// Bytes for documents that may come again: some four thousand.
pub(crate) const RECENT: u64 = 10 << 20;

/// Where the reading stands: so many batches of a source are done, and all sources
/// before it.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Position {
    pub(crate) source: usize,
    pub(crate) batch: u64,
}

/// What is read, and how.
pub(crate) struct Reading<'a> {
    pub(crate) sources: &'a [Source],
    pub(crate) options: &'a ReadOptions,
    pub(crate) recipe: &'a Recipe,
    /// What older sweeps have.
    pub(crate) contents: &'a Contents,
    pub(crate) threads: NonZeroUsize,
    /// Bytes of raw records that may be on their way at a time.
    pub(crate) in_flight: u64,
    /// Whether texts are kept.
    pub(crate) keeps_text: bool,
}

/// A batch on its way.
enum Work {
    Batch(Batch),
    /// The source ended here, perhaps for a reason.
    End(Option<Refused>),
}

/// Reads all sources from a position on. `take` gets every batch, in order, with the
/// position behind it.
pub(crate) fn sketch_all(
    reading: &Reading<'_>,
    from: Position,
    mut take: impl FnMut(Position, usize, Sketched) -> Result<(), StorageError>,
) -> Result<(), StorageError> {
    let gate = Gate::new(reading.in_flight);
    let recent = &Recent::new((reading.in_flight / 2).min(RECENT));
    let (to_workers, work) = channel::<Vec<Numbered>>();
    let work = Mutex::new(work);
    let (to_collector, done) = channel();
    let first = Arc::<OnceLock<Sketcher>>::default();
    thread::scope(|scope| {
        let gate = &gate;
        // However this ends, nobody waits for ever.
        let _open = OpenAtEnd(gate);
        scope.spawn(move || read_all(reading, from, gate, &to_workers));
        for _ in 0..reading.threads.get() {
            let (work, to_collector, first) = (&work, to_collector.clone(), Arc::clone(&first));
            scope.spawn(move || {
                let worker = Worker::new(reading, recent, first);
                sketch_batches(reading, worker, work, &to_collector);
            });
        }
        drop(to_collector);
        let mut waiting = BTreeMap::new();
        let (mut next, mut position) = (0, from);
        for (number, source, len, sketched) in done.into_iter().flatten() {
            waiting.insert(number, (source, len, sketched));
            while let Some((source, len, sketched)) = waiting.remove(&next) {
                next += 1;
                gate.leave(len);
                let sketched = sketched?;
                position = match &sketched {
                    Piece::Batch(_) => Position {
                        source,
                        batch: position.batch + 1,
                    },
                    Piece::Last(_) => Position {
                        source: source + 1,
                        batch: 0,
                    },
                };
                let (Piece::Batch(sketched) | Piece::Last(sketched)) = sketched;
                take(position, source, sketched)?;
            }
        }
        Ok(())
    })
}

/// Lets so many bytes pass at a time, and always one piece.
struct Gate {
    most: u64,
    inside: Mutex<u64>,
    changed: Condvar,
    is_open: AtomicBool,
}

impl Gate {
    fn new(most: u64) -> Gate {
        Gate {
            most,
            inside: Mutex::new(0),
            changed: Condvar::new(),
            is_open: AtomicBool::new(false),
        }
    }

    /// Whether nobody need wait.
    fn has_room(&self, len: u64) -> bool {
        let inside = *self.inside.lock().unwrap_or_else(PoisonError::into_inner);
        inside == 0 || inside + len <= self.most
    }

    /// Waits for room. `false` when there is no use in going on.
    fn enter(&self, len: u64) -> bool {
        let mut inside = self.inside.lock().unwrap_or_else(PoisonError::into_inner);
        while *inside > 0 && *inside + len > self.most && !self.is_open.load(Ordering::Relaxed) {
            inside = self
                .changed
                .wait(inside)
                .unwrap_or_else(PoisonError::into_inner);
        }
        *inside += len;
        !self.is_open.load(Ordering::Relaxed)
    }

    fn leave(&self, len: u64) {
        *self.inside.lock().unwrap_or_else(PoisonError::into_inner) -= len;
        self.changed.notify_all();
    }
}

struct OpenAtEnd<'a>(&'a Gate);

impl Drop for OpenAtEnd<'_> {
    fn drop(&mut self) {
        // With the lock in hand: the reader is not between looking and waiting.
        let _inside = self.0.inside.lock().unwrap_or_else(PoisonError::into_inner);
        self.0.is_open.store(true, Ordering::Relaxed);
        self.0.changed.notify_all();
    }
}

/// Work with its number among all work, and its source.
type Numbered = (u64, usize, Work);

/// Pieces of work that are handed over together at most, and their bytes: of small files,
/// each a source with one batch and an end, a thread would otherwise be woken for each.
const TOGETHER: usize = 64;
const TOGETHER_LEN: usize = 128 << 10;

/// What is on its way to the workers.
struct Outbox<'a> {
    gate: &'a Gate,
    to_workers: &'a Sender<Vec<Numbered>>,
    together: Vec<Numbered>,
    bytes: usize,
    /// All that were put here.
    count: u64,
}

impl Outbox<'_> {
    /// Takes a piece of work for which there must be so much room. `false` when there is no
    /// use in going on.
    fn put(&mut self, source: usize, work: Work, cost: u64) -> bool {
        // What waits here would never leave, and so make no room.
        if !self.gate.has_room(cost) && !self.send() || !self.gate.enter(cost) {
            return false;
        }
        if let Work::Batch(batch) = &work {
            self.bytes += batch.byte_len();
        }
        self.together.push((self.count, source, work));
        self.count += 1;
        if self.together.len() < TOGETHER && self.bytes < TOGETHER_LEN {
            return true;
        }
        self.send()
    }

    fn send(&mut self) -> bool {
        self.bytes = 0;
        let together = std::mem::take(&mut self.together);
        self.to_workers.send(together).is_ok()
    }
}

fn read_all(
    reading: &Reading<'_>,
    from: Position,
    gate: &Gate,
    to_workers: &Sender<Vec<Numbered>>,
) {
    let mut outbox = Outbox {
        gate,
        to_workers,
        together: Vec::new(),
        bytes: 0,
        count: 0,
    };
    let sources = reading.sources.iter().enumerate();
    for (index, source) in sources.skip(from.source) {
        let mut to_skip = if index == from.source { from.batch } else { 0 };
        let mut is_over = false;
        let read = read_source(source, reading.options, &mut |batch| {
            if to_skip > 0 {
                to_skip -= 1;
                return ControlFlow::Continue(());
            }
            let cost = cost(reading, &batch);
            if !outbox.put(index, Work::Batch(batch), cost) {
                is_over = true;
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        });
        if is_over {
            return;
        }
        let refused = read.err().map(|error| unreadable(&error));
        // The end is a piece of its own, after all batches, and the error is part of it.
        if !outbox.put(index, Work::End(refused), 0) {
            return;
        }
    }
    // Who is not there to take it has told why.
    outbox.send();
}

/// A source that cannot be read, or no further.
fn unreadable(error: &SourceError) -> Refused {
    use std::error::Error;
    let why = error.source().map_or_else(String::new, ToString::to_string);
    Refused::rejected(0, "unreadable", why)
}

/// What a batch takes up while it is worked on: itself, and what is made of it.
fn cost(reading: &Reading<'_>, batch: &Batch) -> u64 {
    let times = if reading.keeps_text { 3 } else { 2 };
    times * batch.byte_len() as u64 + (64 << 10)
}

/// What became of one piece of a source.
enum Piece {
    Batch(Sketched),
    /// Nothing of the source comes after this.
    Last(Sketched),
}

type Done = (u64, usize, u64, Result<Piece, StorageError>);

fn sketch_batches(
    reading: &Reading<'_>,
    mut worker: Worker<'_>,
    work: &Mutex<Receiver<Vec<Numbered>>>,
    to_collector: &Sender<Vec<Done>>,
) {
    loop {
        let next = work.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(together) = next else {
            return;
        };
        let done = together
            .into_iter()
            .map(|(number, source, work)| match work {
                Work::Batch(batch) => {
                    let name = (
                        u32::try_from(source).unwrap_or(u32::MAX),
                        reading.sources[source].name.as_str(),
                    );
                    let sketched = worker.sketch(name, &batch).map(Piece::Batch);
                    (number, source, cost(reading, &batch), sketched)
                }
                Work::End(None) => (number, source, 0, Ok(Piece::Last(Sketched::default()))),
                Work::End(Some(refused)) => {
                    let mut sketched = Sketched::default();
                    sketched.refuse(refused);
                    sketched.position = u64::MAX;
                    (number, source, 0, Ok(Piece::Last(sketched)))
                }
            });
        if to_collector.send(done.collect()).is_err() {
            return;
        }
    }
}

impl Sketched {
    /// Nothing but a source that cannot be read, or no further.
    pub(crate) fn unreadable(error: &SourceError) -> Sketched {
        let mut sketched = Sketched::default();
        sketched.refuse(unreadable(error));
        sketched
    }

    /// Adds an entry; its samples are there already.
    fn push(&mut self, entry: Entry, strings: [Option<&str>; 3]) {
        for text in strings.into_iter().flatten() {
            self.bodies.extend_from_slice(text.as_bytes());
        }
        self.entries.push(entry);
    }

    fn refuse(&mut self, refused: Refused) {
        self.tally.refuse(&refused);
        self.refused.push(refused);
    }
}

/// Makes entries of records.
pub(crate) struct Worker<'a> {
    options: &'a ReadOptions,
    recent: &'a Recent,
    contents: &'a Contents,
    way: Way,
    recipe: &'a Recipe,
    /// Made when something is to be sketched, like that of whoever came first.
    sketcher: Option<Sketcher>,
    first: Arc<OnceLock<Sketcher>>,
    keeps_text: bool,
}

impl<'a> Worker<'a> {
    fn new(
        reading: &Reading<'a>,
        recent: &'a Recent,
        first: Arc<OnceLock<Sketcher>>,
    ) -> Worker<'a> {
        Worker {
            options: reading.options,
            recent,
            contents: reading.contents,
            way: Way::new(reading.options),
            recipe: reading.recipe,
            sketcher: None,
            first,
            keeps_text: reading.keeps_text,
        }
    }

    /// One that works without others, and keeps no texts.
    pub(crate) fn alone(
        options: &'a ReadOptions,
        recipe: &'a Recipe,
        recent: &'a Recent,
        contents: &'a Contents,
    ) -> Worker<'a> {
        Worker {
            options,
            recent,
            contents,
            way: Way::new(options),
            recipe,
            sketcher: None,
            first: Arc::default(),
            keeps_text: false,
        }
    }

    /// Makes entries of a batch of a source, which goes by its number and its name.
    pub(crate) fn sketch(
        &mut self,
        source: (u32, &str),
        batch: &Batch,
    ) -> Result<Sketched, StorageError> {
        let mut out = Sketched {
            position: batch.position(),
            ..Sketched::default()
        };
        let mut done = Ok(());
        batch.for_each(&mut |record| match record {
            _ if done.is_err() => {}
            Ok(record) => done = self.record(source, &record, &mut out),
            Err(refused) => out.refuse(refused),
        });
        done.map(|()| out)
    }

    /// What the content of a record comes to, or came to before.
    fn known(
        &mut self,
        record: &Record<'_>,
        key: Key,
        texts: &mut Vec<u8>,
        text_len: &mut u64,
    ) -> Result<Result<Arc<Known>, Unusable>, StorageError> {
        let (known, has_text) = if let Some(known) = self.recent.get(&key) {
            (known, false)
        } else if let Some(found) = self.contents.find(key.0, key.1)? {
            (
                Arc::new(Known::older(&found.entry, &record.body)),
                found.has_text,
            )
        } else {
            let read = self.read(record, texts, text_len);
            return Ok(read.map(|known| self.recent.add(key, known)));
        };
        if self.keeps_text
            && !has_text
            && let Ok(document) = record.document(self.options)
        {
            *text_len = self.keep(&document, texts);
        }
        Ok(Ok(known))
    }

    /// Keeps the text of a document, if texts are kept, and says how long it is.
    fn keep(&self, document: &Document<'_>, texts: &mut Vec<u8>) -> u64 {
        let before = texts.len();
        let mut of_features = 0;
        match document.features_json() {
            _ if !self.keeps_text => {}
            None => texts.extend_from_slice(document.text().as_bytes()),
            Some(list) => {
                of_features = FEATURES;
                texts.extend_from_slice(list.as_bytes());
            }
        }
        (texts.len() - before) as u64 | of_features
    }

    /// Reads and sketches a document.
    fn read(
        &mut self,
        record: &Record<'_>,
        texts: &mut Vec<u8>,
        text_len: &mut u64,
    ) -> Result<Known, Unusable> {
        let document = record.document(self.options)?;
        document.check(self.recipe)?;
        let sketcher = self.sketcher.get_or_insert_with(|| {
            let first = self.first.get_or_init(|| Sketcher::new(self.recipe));
            first.another()
        });
        let sketch = document.sketch(sketcher);
        if sketch.tokens() == 0 {
            return Err(Unusable::NoTokens);
        }
        let tokens_name = sketcher.tokens_name().0;
        *text_len = self.keep(&document, texts);
        let level = match sketch.kept() {
            Kept::Nested(kept) => kept.level(),
            _ => 0,
        };
        let mut samples = Vec::with_capacity(8 * sketch.samples().len());
        for sample in sketch.samples() {
            samples.extend_from_slice(&sample.to_le_bytes());
        }
        Ok(Known {
            tokens: sketch.tokens(),
            tokens_name,
            sketch: SketchHead::new(sketch.samples().len(), level),
            sketch_name: sketch_name(&sketch, tokens_name),
            is_repaired: document.replaced() > 0,
            samples: Some(samples.into_boxed_slice()),
        })
    }

    fn record(
        &mut self,
        (source, name): (u32, &str),
        record: &Record<'_>,
        out: &mut Sketched,
    ) -> Result<(), StorageError> {
        let mut entry = Entry {
            key: key(record, name, self.options.by_place),
            offset: record.offset.0,
            source,
            ..Entry::default()
        };
        let (id, url) = (record.id.as_deref(), record.url.as_deref());
        let archived = &record.archived;
        let mime = archived.mime.as_deref().unwrap_or("");
        let mime = if mime.len() > MIME_LEN { "" } else { mime };
        entry.facts = Facts {
            digest: archived.digest.unwrap_or_default(),
            record_len: archived.record_len,
            status: archived.status.unwrap_or(0),
            mime: u16::try_from(mime.len()).unwrap_or(0),
        };
        entry.set_when(record.date);
        for (text, flag, len) in [
            (id, Flag::HasId, &mut entry.id_len),
            (url, Flag::HasUrl, &mut entry.url_len),
        ] {
            if let Some(text) = text {
                entry.flags |= flag as u8;
                *len = u32::try_from(text.len()).unwrap_or(u32::MAX);
            }
        }
        if let Body::Revisit { payload_digest, .. } = &record.body {
            let (payload, original) = (payload_digest.as_deref(), Original::of(&record.body));
            if payload.is_none() && original.is_none() {
                out.refuse(Refused::skipped(
                    record.offset.0,
                    "revisit of nothing",
                    "it says neither what it revisits nor the digest of it",
                ));
                return Ok(());
            }
            entry.payload = payload.map_or(0, payload_name);
            // Until it is known whose bytes it has.
            entry.bytes_name = original.map_or(0, Original::name);
            entry.set(Flag::Revisit);
        } else {
            let refused = |why: &Unusable| {
                let mut refused = Refused::skipped(record.offset.0, why.code(), why.to_string());
                refused.is_rejected = why.is_rejected();
                refused
            };
            let (body_len, bytes_name) = body_name(&record.body);
            entry.way = self.way.of(&record.body);
            let key = (bytes_name, entry.way);
            let known = match self.known(record, key, &mut out.texts, &mut entry.strings)? {
                Ok(known) => known,
                Err(why) => {
                    out.refuse(refused(&why));
                    // That a page was there without a word is known all the same.
                    let has_no_word = matches!(why, Unusable::NoTokens | Unusable::Empty);
                    if has_no_word && url.is_some() {
                        (entry.body_len, entry.bytes_name) = (body_len, bytes_name);
                        entry.set(Flag::Short);
                        out.push(entry, [id, url, Some(mime)]);
                    }
                    return Ok(());
                }
            };
            let width = self.recipe.width.get() as u64;
            if known.tokens < width {
                entry.set(Flag::Short);
                out.tally.short += 1;
            }
            if record.repaired > 0 || known.is_repaired {
                entry.set(Flag::Repaired);
                out.tally.repaired += 1;
            }
            entry.body_len = body_len;
            entry.bytes_name = bytes_name;
            entry.tokens_name = known.tokens_name;
            entry.tokens = known.tokens;
            if let Body::Bytes {
                payload_digest: Some(digest),
                ..
            } = &record.body
            {
                entry.payload = payload_name(digest);
            }
            entry.sketch = known.sketch;
            entry.sketch_name = known.sketch_name;
            match &known.samples {
                Some(samples) => out.bodies.extend_from_slice(samples),
                None => entry.grade = OLDER,
            }
            out.tally.bytes += entry.body_len;
            out.tally.tokens += entry.tokens;
        }
        out.tally.read += 1;
        out.tally.dates_unreadable += u64::from(entry.has(Flag::DateUnreadable));
        out.push(entry, [id, url, Some(mime)]);
        Ok(())
    }
}

/// How documents are read, as far as it is the same for all: everything but their bytes
/// that their text follows from, or that there is none. The number after `reading` is to be
/// raised when the same bytes would give another text: by another reader of HTML, say.
#[derive(Clone, Copy)]
struct Way(u64);

impl Way {
    fn new(options: &ReadOptions) -> Way {
        let ReadOptions {
            format,
            tokens,
            limits,
            ..
        } = options;
        let said = format!("reading 1: {format} {tokens} {}", limits.document);
        Way(xxh3_64(said.as_bytes()))
    }

    /// Of two documents with the same bytes, whether they are read alike.
    fn of(self, body: &Body<'_>) -> u32 {
        let way = match body {
            Body::Text(_) => self.0,
            Body::Features(_) => self.0 ^ 1,
            Body::Weighted(_) => self.0 ^ 6,
            Body::Revisit { .. } => 0,
            Body::Bytes { kind, charset, .. } => {
                let charset = charset.as_deref().unwrap_or_default();
                let kind = match kind {
                    Kind::Html => 2,
                    Kind::Text => 3,
                    Kind::Unsaid => 4,
                    Kind::Named => 5,
                };
                xxh3_64_with_seed(charset.as_bytes(), self.0 ^ kind)
            }
        };
        // As many bits as an entry has room for: this tells ways apart that one and the
        // same content is read in, of which there are a few.
        (way & 0xffff_ffff) as u32
    }
}

/// What a document goes by: its URL, or its id, or where it stands.
fn key(record: &Record<'_>, source: &str, by_place: bool) -> u64 {
    match (&record.url, &record.id) {
        (Some(url), _) if !by_place => url_key(url),
        (None, Some(id)) if !by_place => named('i', id),
        _ => named('f', &format!("{}\n{source}", record.offset.0)),
    }
}

fn named(what: char, name: &str) -> u64 {
    xxh3_64(format!("{what}{name}").as_bytes())
}

/// What a document with this URL is found under.
pub(crate) fn url_key(url: &str) -> u64 {
    named('u', url)
}

/// What a document with this id, and no URL, is found under.
pub(crate) fn id_key(id: &str) -> u64 {
    named('i', id)
}

/// The capture that a revisit names: an address, and a date.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Original {
    /// What a document with the address is found under.
    pub(crate) key: u64,
    pub(crate) date: Timestamp,
}

impl Original {
    /// The one that a record names, if it is a revisit that does.
    pub(crate) fn of(body: &Body<'_>) -> Option<Original> {
        match body {
            Body::Revisit {
                refers_to: Some(url),
                refers_to_date: When::At(date),
                ..
            } => Some(Original {
                key: url_key(url),
                date: *date,
            }),
            _ => None,
        }
    }

    /// Both as one number.
    pub(crate) fn name(self) -> u128 {
        (u128::from(self.key) << 64) | u128::from(self.date.0.cast_unsigned())
    }
}

/// What a payload digest is found under.
pub(crate) fn payload_name(digest: &str) -> u64 {
    // 0 is for documents without one.
    xxh3_64(digest.as_bytes()).max(1)
}

/// The name of some bytes: the first half of their BLAKE3.
pub(crate) fn name_of_bytes(bytes: &[u8]) -> u128 {
    half(blake3::hash(bytes))
}

fn half(hash: blake3::Hash) -> u128 {
    let mut first = [0; 16];
    first.copy_from_slice(&hash.as_bytes()[..16]);
    u128::from_le_bytes(first)
}

/// How long a body is, and its name.
pub(crate) fn body_name(body: &Body<'_>) -> (u64, u128) {
    match body {
        Body::Text(text) => (text.len() as u64, name_of_bytes(text.as_bytes())),
        Body::Bytes { bytes, .. } => (bytes.len() as u64, name_of_bytes(bytes)),
        Body::Features(features) => {
            let mut hasher = blake3::Hasher::new();
            let mut len = 0;
            for feature in features {
                hasher.update(&(feature.len() as u64).to_le_bytes());
                hasher.update(feature.as_bytes());
                len += feature.len() as u64;
            }
            (len, half(hasher.finalize()))
        }
        Body::Weighted(features) => {
            let mut hasher = blake3::Hasher::new();
            let mut len = 0;
            for (feature, weight) in features {
                hasher.update(&(feature.len() as u64).to_le_bytes());
                hasher.update(feature.as_bytes());
                hasher.update(&weight.to_le_bytes());
                len += feature.len() as u64 + 8;
            }
            (len, half(hasher.finalize()))
        }
        Body::Revisit { .. } => (0, 0),
    }
}

/// Fewer samples than this do not make two documents the same, unless they are all there
/// is: two short pages may share the one or two shingles that were sampled.
const ENOUGH: usize = 16;

/// What documents of one class have in common.
pub(crate) fn sketch_name(sketch: &Sketch, tokens_name: u128) -> u128 {
    let samples = sketch.samples();
    let (level, is_whole) = match (sketch.kept(), sketch.kind()) {
        (Kept::Nested(kept), _) => (kept.level(), kept.level() == 0),
        (_, SketchKind::Mod { modulus }) => (0, modulus == 1),
        (_, SketchKind::Min { samples: most }) => (0, samples.len() < most),
        _ => (0, false),
    };
    if samples.is_empty() || !is_whole && samples.len() < ENOUGH {
        return tokens_name;
    }
    let mut bytes = Vec::with_capacity(8 * samples.len() + 8);
    bytes.extend_from_slice(&u64::from(level).to_le_bytes());
    for sample in samples {
        bytes.extend_from_slice(&sample.to_le_bytes());
    }
    xxh3_128(&bytes)
}
