//! Which of the new documents are copies: identical, lexical and shingle-equal ones are
//! set aside, and the same document again is one more capture.
//!
//! ```text
//! entries ─► sorted by name of sketch, tokens, bytes, key ─► class by class:
//!            as many passes as the budget asks for            what each one is
//! older segments: looked up by the name of the sketch
//! ```
//!
//! N documents: O(N log N), 72 bytes each in memory while their part is sorted, and 5
//! for the answer; 4 more where texts are kept.

use hashbrown::HashMap;
use hashbrown::hash_map::Entry as Made;

use super::intake::Intake;
use super::sketching::Original;
use crate::collection::entry::{Capture, Entry, Flag, Grade};
use crate::collection::segment::Segment;
use crate::storage::{Storage, StorageError};

/// What a record turned out to be.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum What {
    /// The first with its sketch.
    Distinct,
    /// A new document with the sketch of another.
    Copy(CopyOf),
    /// A document that is there already, in the same words: one more capture of it.
    Again(Target),
    /// A revisit of something never seen.
    Lost,
    /// A capture without a word.
    Blank,
}

/// How a document is a copy.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct CopyOf {
    /// Of some document before it.
    pub(crate) grade: Grade,
    /// The first document with its sketch.
    pub(crate) first: Target,
    /// Whether that one has its tokens too, and not only its sketch.
    pub(crate) has_tokens_of_first: bool,
}

/// Another document: of this sweep by its place among the entries, or an older one.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Target {
    Older(u32),
    New(u32),
}

/// What all records of a sweep are: 5 bytes each.
#[derive(Debug)]
pub(crate) struct Verdicts {
    codes: Vec<u8>,
    targets: Vec<u32>,
    /// Whose text each has, where texts are kept.
    texts: Vec<u32>,
}

/// Marks a text that an older document has.
const OLDER_TEXT: u8 = 0x20;

impl Verdicts {
    fn new(entries: usize, keeps_text: bool) -> Verdicts {
        Verdicts {
            codes: vec![0; entries],
            targets: vec![0; entries],
            texts: vec![0; if keeps_text { entries } else { 0 }],
        }
    }

    fn set_text(&mut self, entry: u32, target: Target) {
        if let Some(text) = self.texts.get_mut(entry as usize) {
            (*text, self.codes[entry as usize]) = match target {
                Target::New(other) => (other, self.codes[entry as usize]),
                Target::Older(doc) => (doc, self.codes[entry as usize] | OLDER_TEXT),
            };
        }
    }

    /// Whose text a document has: the first with its bytes and tokens that has one.
    pub(crate) fn text_of(&self, entry: u32) -> Target {
        let number = self.texts[entry as usize];
        if self.codes[entry as usize] & OLDER_TEXT == 0 {
            Target::New(number)
        } else {
            Target::Older(number)
        }
    }

    fn set(&mut self, entry: u32, what: What) {
        let (code, target) = match what {
            What::Distinct => (0, Target::New(entry)),
            What::Copy(copy) => {
                let apart = if copy.has_tokens_of_first { 0 } else { 0x40 };
                (copy.grade as u8 | apart, copy.first)
            }
            What::Again(target) => (6, target),
            What::Lost => (7, Target::New(entry)),
            What::Blank => (8, Target::New(entry)),
        };
        let (is_older, number) = match target {
            Target::Older(doc) => (0x80, doc),
            Target::New(entry) => (0, entry),
        };
        self.codes[entry as usize] = code | is_older;
        self.targets[entry as usize] = number;
    }

    pub(crate) fn get(&self, entry: u32) -> What {
        let (code, number) = (self.codes[entry as usize], self.targets[entry as usize]);
        let target = if code & 0x80 == 0 {
            Target::New(number)
        } else {
            Target::Older(number)
        };
        let copy = |grade| {
            What::Copy(CopyOf {
                grade,
                first: target,
                has_tokens_of_first: code & 0x40 == 0,
            })
        };
        match code & 0x1f {
            0 => What::Distinct,
            1 => copy(Grade::Identical),
            2 => copy(Grade::Lexical),
            3 => copy(Grade::Shingle),
            6 => What::Again(target),
            8 => What::Blank,
            _ => What::Lost,
        }
    }

    pub(crate) fn len(&self) -> u32 {
        u32::try_from(self.codes.len()).unwrap_or(u32::MAX)
    }

    /// Whether a record is a new document.
    pub(crate) fn is_document(&self, entry: u32) -> bool {
        !matches!(self.get(entry), What::Again(_) | What::Lost | What::Blank)
    }
}

/// What is sorted. A document that is older has a target of that kind.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
struct Named {
    sketch: u128,
    tokens: u128,
    bytes: u128,
    key: u64,
    who: Target,
    /// Whether its text is kept, or will be.
    has_text: bool,
}

const NAMED_LEN: u64 = 80;

/// A revisit waits for what it revisits.
struct Revisit {
    entry: u32,
    key: u64,
    /// 0 for none.
    payload: u64,
    /// The [`Original`] that it names, 0 for none.
    original: u128,
    /// By which of the two it is found.
    name: u128,
}

/// A document with a name that a revisit is found by.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
struct Visited {
    name: u128,
    key: u64,
    who: Target,
    payload: u64,
}

impl Visited {
    fn new(name: u128, entry: &Entry, who: Target) -> Visited {
        Visited {
            name,
            key: entry.key,
            who,
            payload: entry.payload,
        }
    }

    /// Whether it may be what is revisited. Two digests that differ say that it is not,
    /// whatever address and date say.
    fn fits(&self, revisit: &Revisit) -> bool {
        self.payload == revisit.payload || self.payload == 0 || revisit.payload == 0
    }
}

/// Finds out what each new record is.
pub(crate) fn judge_names(
    storage: &dyn Storage,
    intake: &Intake,
    older: &[Segment],
    keeps_text: bool,
    budget: u64,
) -> Result<Verdicts, StorageError> {
    let count = usize::try_from(intake.entries).unwrap_or(usize::MAX);
    let mut verdicts = Verdicts::new(count, keeps_text);
    let per_pass = (budget / NAMED_LEN).max(1 << 4);
    let passes = intake.entries.div_ceil(per_pass).max(1);
    let bits = passes.next_power_of_two().trailing_zeros();
    let mut revisits = Vec::new();
    for pass in 0..1_u64 << bits {
        let mut named = Vec::new();
        let mut heads = intake.heads(storage);
        let mut number = 0;
        while let Some(entry) = heads.next_entry()? {
            let who = Target::New(number);
            number += 1;
            if entry.has(Flag::Revisit) {
                if pass == 0 {
                    revisits.push(Revisit {
                        entry: number - 1,
                        key: entry.key,
                        payload: entry.payload,
                        original: entry.bytes_name,
                        name: entry.payload.into(),
                    });
                }
                continue;
            }
            if entry.is_blank() {
                verdicts.set(number - 1, What::Blank);
                continue;
            }
            let part = entry.sketch_name.checked_shr(128 - bits).unwrap_or(0);
            if part == u128::from(pass) {
                named.push(name_of(&entry, who, true));
            }
        }
        add_older(&mut named, older)?;
        named.sort_unstable();
        for class in named.chunk_by(|x, y| x.sketch == y.sketch) {
            judge_class(class, &mut verdicts);
        }
    }
    judge_revisits(storage, intake, older, revisits, &mut verdicts)?;
    Ok(verdicts)
}

/// The same for documents that are there already and were sketched again: which are copies
/// now. `each` calls with every one of them, in order; it is called once a pass.
pub(crate) fn judge_again(
    documents: u32,
    each: impl Fn(&mut dyn FnMut(u32, &Entry)) -> Result<(), StorageError>,
    budget: u64,
) -> Result<Verdicts, StorageError> {
    let mut verdicts = Verdicts::new(documents as usize, false);
    let per_pass = (budget / NAMED_LEN).max(1 << 4);
    let passes = u64::from(documents).div_ceil(per_pass).max(1);
    let bits = passes.next_power_of_two().trailing_zeros();
    for pass in 0..1_u64 << bits {
        let (mut named, mut revisits) = (Vec::new(), Vec::new());
        each(&mut |doc, entry| {
            let part = entry.sketch_name.checked_shr(128 - bits).unwrap_or(0);
            if part != u128::from(pass) {
                return;
            }
            // They are documents already: none is a capture of another, whatever it goes by.
            let mut name = name_of(entry, Target::New(doc), false);
            name.key = u64::from(doc);
            if entry.has(Flag::Revisit) {
                revisits.push(name);
            } else {
                named.push(name);
            }
        })?;
        named.sort_unstable();
        for class in named.chunk_by(|x, y| x.sketch == y.sketch) {
            judge_class(class, &mut verdicts);
        }
        for revisit in revisits {
            // What it revisits has its tokens, and so its sketch.
            let from = named.partition_point(|one| one.sketch < revisit.sketch);
            let class = named[from..].iter();
            let class = class.take_while(|one| one.sketch == revisit.sketch);
            if let (Some(first), Target::New(doc)) = (class.min_by_key(|one| one.who), revisit.who)
            {
                let copy = CopyOf {
                    grade: Grade::Identical,
                    first: first.who,
                    has_tokens_of_first: first.tokens == revisit.tokens,
                };
                verdicts.set(doc, What::Copy(copy));
            }
        }
    }
    Ok(verdicts)
}

fn name_of(entry: &Entry, who: Target, has_text: bool) -> Named {
    Named {
        sketch: entry.sketch_name,
        tokens: entry.tokens_name,
        bytes: entry.bytes_name,
        key: entry.key,
        who,
        has_text,
    }
}

/// Adds the older documents that have the sketch of a new one.
fn add_older(named: &mut Vec<Named>, older: &[Segment]) -> Result<(), StorageError> {
    if older.is_empty() {
        return Ok(());
    }
    let mut wanted: Vec<u64> = named.iter().map(|one| (one.sketch >> 64) as u64).collect();
    wanted.sort_unstable();
    wanted.dedup();
    for segment in older {
        for (doc, _) in segment.sketch_names.found(&wanted)? {
            let entry = segment.entry(doc)?;
            let has_text = segment.kept.is_some() && !entry.has(Flag::Revisit);
            named.push(name_of(&entry, Target::Older(doc), has_text));
        }
    }
    Ok(())
}

/// Says of each new member of a class what it is. The class is sorted by tokens, bytes
/// and key, older documents first and then in order of reading.
fn judge_class(class: &[Named], verdicts: &mut Verdicts) {
    let first = |part: &[Named]| part.iter().map(|one| one.who).min();
    let Some(first_one) = class.iter().min_by_key(|one| one.who) else {
        return;
    };
    let first_of_class = first_one.who;
    for same_tokens in class.chunk_by(|x, y| x.tokens == y.tokens) {
        let first_of_tokens = first(same_tokens);
        for same_bytes in same_tokens.chunk_by(|x, y| x.bytes == y.bytes) {
            let first_of_bytes = first(same_bytes);
            let with_text = same_bytes.iter().filter(|one| one.has_text);
            let first_text = with_text.map(|one| one.who).min();
            for same in same_bytes.chunk_by(|x, y| x.key == y.key) {
                let document = same[0].who;
                for one in same {
                    let Target::New(entry) = one.who else {
                        continue;
                    };
                    let copy = |grade| {
                        What::Copy(CopyOf {
                            grade,
                            first: first_of_class,
                            has_tokens_of_first: one.tokens == first_one.tokens,
                        })
                    };
                    let what = if one.who != document {
                        What::Again(document)
                    } else if first_of_bytes != Some(one.who) {
                        copy(Grade::Identical)
                    } else if first_of_tokens != Some(one.who) {
                        copy(Grade::Lexical)
                    } else if first_of_class != one.who {
                        copy(Grade::Shingle)
                    } else {
                        What::Distinct
                    };
                    verdicts.set(entry, what);
                    verdicts.set_text(entry, first_text.unwrap_or(one.who));
                }
            }
        }
    }
}

/// A revisit is one more capture of the document with its payload: of the one at the
/// same address, or a new document, identical to the first that has it. Where no digest
/// tells, the address and the date of that one do.
fn judge_revisits(
    storage: &dyn Storage,
    intake: &Intake,
    older: &[Segment],
    mut revisits: Vec<Revisit>,
    verdicts: &mut Verdicts,
) -> Result<(), StorageError> {
    if revisits.is_empty() {
        return Ok(());
    }
    let mut known = with_payloads(storage, intake, older, &revisits)?;
    known.sort_unstable();
    let mut is_any_named = false;
    for revisit in &mut revisits {
        let is_known = known.binary_search_by_key(&revisit.name, |one| one.name);
        if is_known.is_err() && revisit.original != 0 {
            revisit.name = revisit.original;
            is_any_named = true;
        }
    }
    if is_any_named {
        known.extend(originals(storage, intake, older, &revisits)?);
        known.sort_unstable();
    }
    // A page may be revisited at a new address more than once: the first makes the
    // document, the others are captures of it.
    let mut made: HashMap<(u128, u64), u32> = HashMap::new();
    for revisit in revisits {
        let from = known.partition_point(|one| one.name < revisit.name);
        let same = known[from..].iter();
        let same = same.take_while(|one| one.name == revisit.name);
        let mut same = same.filter(|one| one.fits(&revisit));
        let here = same.clone().find(|one| one.key == revisit.key);
        let what = match (here, same.next()) {
            (Some(document), _) => What::Again(resolve(document.who, verdicts)),
            (None, None) => What::Lost,
            (None, Some(document)) => match made.entry((revisit.name, revisit.key)) {
                Made::Occupied(made) => What::Again(Target::New(*made.get())),
                Made::Vacant(place) => {
                    place.insert(revisit.entry);
                    What::Copy(copy_of(document.who, older, verdicts)?)
                }
            },
        };
        verdicts.set(revisit.entry, what);
    }
    Ok(())
}

/// Documents with the payload of a revisit.
fn with_payloads(
    storage: &dyn Storage,
    intake: &Intake,
    older: &[Segment],
    revisits: &[Revisit],
) -> Result<Vec<Visited>, StorageError> {
    let mut wanted: Vec<u64> = revisits.iter().map(|revisit| revisit.payload).collect();
    wanted.retain(|payload| *payload != 0);
    wanted.sort_unstable();
    wanted.dedup();
    let mut known: Vec<Visited> = Vec::new();
    let mut heads = intake.heads(storage);
    let mut number = 0;
    while let Some(entry) = heads.next_entry()? {
        if !entry.has(Flag::Revisit) && wanted.binary_search(&entry.payload).is_ok() {
            let name = entry.payload.into();
            known.push(Visited::new(name, &entry, Target::New(number)));
        }
        number += 1;
    }
    for segment in older {
        for (doc, payload) in segment.payloads.found(&wanted)? {
            let entry = segment.entry(doc)?;
            known.push(Visited::new(payload.into(), &entry, Target::Older(doc)));
        }
    }
    Ok(known)
}

/// Documents of which a capture is the one that a revisit goes by.
fn originals(
    storage: &dyn Storage,
    intake: &Intake,
    older: &[Segment],
    revisits: &[Revisit],
) -> Result<Vec<Visited>, StorageError> {
    let named = revisits.iter().filter(|one| one.name == one.original);
    let mut wanted: Vec<u128> = named.map(|revisit| revisit.name).collect();
    wanted.sort_unstable();
    wanted.dedup();
    let is_wanted = |key, date| {
        let name = Original { key, date }.name();
        wanted.binary_search(&name).is_ok().then_some(name)
    };
    let mut known: Vec<Visited> = Vec::new();
    let mut heads = intake.heads(storage);
    let mut number = 0;
    while let Some(entry) = heads.next_entry()? {
        let has_content = !entry.has(Flag::Revisit) && !entry.is_blank();
        let date = entry.when().filter(|_| has_content);
        if let Some(name) = date.and_then(|date| is_wanted(entry.key, date)) {
            known.push(Visited::new(name, &entry, Target::New(number)));
        }
        number += 1;
    }
    let mut keys: Vec<u64> = wanted.iter().map(|name| (name >> 64) as u64).collect();
    keys.dedup();
    for (sweep, segment) in older.iter().enumerate() {
        for (doc, key) in segment.keys.found(&keys)? {
            let entry = segment.entry(doc)?;
            let mut dates = vec![entry.when()];
            for later in &older[sweep..] {
                dates.extend(later.captures_of(doc)?.iter().map(Capture::when));
            }
            let dates = dates.into_iter().flatten();
            let found = dates.filter_map(|date| is_wanted(key, date));
            known.extend(found.map(|name| Visited::new(name, &entry, Target::Older(doc))));
        }
    }
    Ok(known)
}

/// The document that a record is, or is one more capture of.
fn resolve(target: Target, verdicts: &Verdicts) -> Target {
    match target {
        Target::New(entry) => match verdicts.get(entry) {
            What::Again(document) => document,
            _ => target,
        },
        Target::Older(_) => target,
    }
}

/// What a document with the bytes of another is.
fn copy_of(target: Target, older: &[Segment], verdicts: &Verdicts) -> Result<CopyOf, StorageError> {
    let (first, has_tokens_of_first) = match resolve(target, verdicts) {
        Target::New(entry) => match verdicts.get(entry) {
            What::Copy(copy) => (copy.first, copy.has_tokens_of_first),
            _ => (Target::New(entry), true),
        },
        Target::Older(doc) => {
            let at = older.partition_point(|segment| segment.base <= doc) - 1;
            let entry = older[at].entry(doc)?;
            (Target::Older(entry.copy_of), !entry.is_apart())
        }
    };
    Ok(CopyOf {
        grade: Grade::Identical,
        first,
        has_tokens_of_first,
    })
}
