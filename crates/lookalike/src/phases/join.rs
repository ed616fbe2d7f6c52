//! Samples → postings by ranges of keys → groups of documents that share one.
//!
//! ```text
//! piece, numbers ─► for each range of keys: key u64 | doc u32 | head u32 | 4 × u16
//! all postings of a range ─► sorted ─► groups: key u64 | members u32 | 0 u32
//!                                              doc u32 | head u32 | 4 × u16, each
//! sizes of all groups ─► cap
//! ```
//!
//! What a judge must know of a document, how large its sketch is and how many samples it
//! has at the levels above its own, goes with it: 12 bytes a posting spare a join.

use std::collections::BTreeMap;

use lookalike_core::recipe::SketchKind;

use super::Garbled;
use super::sketch::entries;
use crate::collection::entry::SketchHead;
use crate::collection::sketches::{ABOVE, Above, above};
use crate::pairs::groups::Sizes;
use crate::pairs::postings::key;

/// In place of the number of an entry that is no document with a sketch of its own.
pub const NO_DOCUMENT: u32 = u32::MAX;

/// A document in a posting, a group or a meeting.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct Met {
    pub(crate) doc: u32,
    pub(crate) head: u32,
    pub(crate) above: Above,
}

impl Met {
    pub(crate) const LEN: usize = 8 + 2 * ABOVE;

    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.doc.to_le_bytes());
        out.extend_from_slice(&self.head.to_le_bytes());
        for count in self.above {
            out.extend_from_slice(&count.to_le_bytes());
        }
    }

    pub(crate) fn get(bytes: &[u8]) -> Met {
        let mut above = Above::default();
        for (count, bytes) in above.iter_mut().zip(bytes[8..].as_chunks().0) {
            *count = u16::from_le_bytes(*bytes);
        }
        Met {
            doc: word(bytes),
            head: word(&bytes[4..]),
            above,
        }
    }

    pub(crate) fn head(&self) -> SketchHead {
        SketchHead(self.head)
    }
}

pub(crate) fn word(bytes: &[u8]) -> u32 {
    let mut own = [0; 4];
    own.copy_from_slice(&bytes[..4]);
    u32::from_le_bytes(own)
}

pub(crate) fn long(bytes: &[u8]) -> u64 {
    let mut own = [0; 8];
    own.copy_from_slice(&bytes[..8]);
    u64::from_le_bytes(own)
}

const POSTING: usize = 8 + Met::LEN;

/// A key as postings keep it: its first 48 bits.
fn kept(key: u64) -> u64 {
    key >> 16
}

/// Which of so many ranges of keys a key lies in.
fn range_of(kept: u64, ranges: usize) -> usize {
    let place = (u128::from(kept) * ranges as u128) >> 48;
    usize::try_from(place).unwrap_or(0)
}

/// The postings of a piece, by ranges of keys. `numbers` has one for each entry.
pub fn postings(
    kind: SketchKind,
    heads: &[u8],
    bodies: &[u8],
    numbers: &[u32],
    ranges: usize,
) -> Result<Vec<Vec<u8>>, Garbled> {
    let mut out = vec![Vec::new(); ranges.max(1)];
    each_sketch(heads, bodies, numbers, |doc, head, samples| {
        let met = Met {
            doc,
            head: head.0,
            above: above(samples, head.level()),
        };
        for (place, &sample) in samples.iter().enumerate() {
            let key = kept(key(kind, place, sample));
            let out = &mut out[range_of(key, ranges.max(1))];
            out.extend_from_slice(&key.to_le_bytes());
            met.put(out);
        }
    })?;
    Ok(out)
}

/// Calls `each` with every document of a piece that has a number, its sketch's head and its
/// samples.
pub fn each_sketch(
    heads: &[u8],
    bodies: &[u8],
    numbers: &[u32],
    mut each: impl FnMut(u32, SketchHead, &[u64]),
) -> Result<(), Garbled> {
    let entries = entries(heads)?;
    if entries.len() != numbers.len() {
        return Err(Garbled("numbers"));
    }
    let mut samples = Vec::new();
    let mut rest = bodies;
    for (entry, &doc) in entries.iter().zip(numbers) {
        let len = 8 * entry.sketch.samples();
        let names = (entry.id_len + entry.url_len) as usize + usize::from(entry.facts.mime);
        let (own, after) = rest.split_at_checked(len).ok_or(Garbled("samples"))?;
        rest = after.get(names..).ok_or(Garbled("samples"))?;
        if doc == NO_DOCUMENT {
            continue;
        }
        samples.clear();
        samples.extend(
            own.as_chunks()
                .0
                .iter()
                .map(|word| u64::from_le_bytes(*word)),
        );
        each(doc, entry.sketch, &samples);
    }
    Ok(())
}

/// How many groups there are of each size.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct GroupSizes(pub BTreeMap<u64, u64>);

impl GroupSizes {
    /// Adds those of another range of keys.
    pub fn add(&mut self, other: &GroupSizes) {
        for (size, count) in &other.0 {
            *self.0.entry(*size).or_insert(0) += count;
        }
    }

    fn sizes(&self) -> Sizes {
        let mut sizes = Sizes::default();
        for (&size, &count) in &self.0 {
            sizes.add_many(0, usize::try_from(size).unwrap_or(usize::MAX), count);
        }
        sizes
    }

    /// The largest size up to which every two documents of a group meet; `None` for any.
    pub fn cap(&self) -> Option<usize> {
        Some(self.sizes().cap()).filter(|cap| *cap < usize::MAX)
    }

    /// Groups, documents in them all together, and groups larger than the cap.
    pub fn totals(&self) -> (u64, u64, u64) {
        let sizes = self.sizes();
        let above = self.cap().map_or(0, |cap| sizes.above(cap));
        (sizes.groups, sizes.memberships, above)
    }
}

/// The groups among all postings of a range of keys, and how many there are of each size.
pub fn groups<'a>(
    postings: impl IntoIterator<Item = &'a [u8]>,
) -> Result<(Vec<u8>, GroupSizes), Garbled> {
    let mut all: Vec<(u64, Met)> = Vec::new();
    for part in postings {
        if !part.len().is_multiple_of(POSTING) {
            return Err(Garbled("postings"));
        }
        let of_part = part.chunks_exact(POSTING);
        all.extend(of_part.map(|one| (long(one), Met::get(&one[8..]))));
    }
    all.sort_unstable();
    // Two samples of one document may share what is kept of their keys.
    all.dedup();
    let mut out = Vec::new();
    let mut sizes = GroupSizes::default();
    for group in all.chunk_by(|x, y| x.0 == y.0) {
        if group.len() < 2 {
            continue;
        }
        *sizes.0.entry(group.len() as u64).or_insert(0) += 1;
        put_group(&mut out, group[0].0, group.iter().map(|one| one.1));
    }
    Ok((out, sizes))
}

fn put_group(out: &mut Vec<u8>, key: u64, members: impl ExactSizeIterator<Item = Met>) {
    let len = u32::try_from(members.len()).unwrap_or(u32::MAX);
    out.extend_from_slice(&key.to_le_bytes());
    out.extend_from_slice(&len.to_le_bytes());
    out.extend_from_slice(&0_u32.to_le_bytes());
    members.for_each(|member| member.put(out));
}

/// Calls `each` with the key and the members of every group, in order of their numbers.
pub(crate) fn each_group(
    mut groups: &[u8],
    mut each: impl FnMut(u64, &[Met]),
) -> Result<(), Garbled> {
    let garbled = Garbled("groups");
    let mut members = Vec::new();
    while !groups.is_empty() {
        let (head, rest) = groups.split_at_checked(16).ok_or(garbled)?;
        let len = (word(&head[8..]) as usize)
            .checked_mul(Met::LEN)
            .ok_or(garbled)?;
        let (own, rest) = rest.split_at_checked(len).ok_or(garbled)?;
        groups = rest;
        members.clear();
        members.extend(own.chunks_exact(Met::LEN).map(Met::get));
        each(long(head), &members);
    }
    Ok(())
}
