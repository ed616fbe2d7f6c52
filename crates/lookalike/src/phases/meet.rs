//! Groups → meetings of documents → pairs worth keeping.
//!
//! ```text
//! groups, cap ─► meetings by ranges of documents: a, b | how often | what is known of both
//!             └► of groups larger than the cap: who is in them
//! meetings of some documents a ─► judged ─► pairs above the floor
//!                                        └► those whose samples must be looked at
//! all pairs above the floor of some a ─► its best and its earliest
//! ```
//!
//! The judge is [`crate::pairs::judge`], and what a common group lets meet is what
//! [`crate::pairs::count`] does: the same pairs come out.

use hashbrown::HashMap;
use lookalike_core::recipe::SketchKind;

use super::Garbled;
use super::join::{Met, each_group, long, word};
use crate::blocks::Record;
use crate::collection::entry::SketchHead;
use crate::collection::sketches::samples_at;
use crate::pairs::Pair;
use crate::pairs::count::{Common, met_in_common};
use crate::pairs::judge::{Floor, Heads, Judge, Judging, keep_best};
use crate::storage::StorageError;

/// Meetings that are added up before they go on their way.
const ADDED_UP: usize = 1 << 20;

/// Bytes of a meeting: both documents and how often they met.
const MEETING: usize = 2 * Met::LEN + 4;

/// What the groups of a range of keys come to.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Meetings {
    /// By ranges of the later document.
    pub by_range: Vec<Vec<u8>>,
    /// Members of common groups: key u64, document u32.
    pub common: Vec<u8>,
}

/// Lets the documents of groups meet. Pairs go to as many ranges of their later document,
/// of so many documents that there are.
pub fn meetings(
    groups: &[u8],
    cap: Option<usize>,
    documents: u32,
    ranges: usize,
) -> Result<Meetings, Garbled> {
    let ranges = ranges.max(1);
    let range_of = |doc: u32| {
        let place = u64::from(doc) * ranges as u64 / u64::from(documents.max(1));
        usize::try_from(place).unwrap_or(usize::MAX).min(ranges - 1)
    };
    let mut out = Meetings {
        by_range: vec![Vec::new(); ranges],
        common: Vec::new(),
    };
    let mut counts: HashMap<(u32, u32), u32> = HashMap::new();
    let mut known: HashMap<u32, Met> = HashMap::new();
    let mut flush = |counts: &mut HashMap<(u32, u32), u32>, known: &mut HashMap<u32, Met>| {
        let mut all: Vec<((u32, u32), u32)> = counts.drain().collect();
        all.sort_unstable();
        for ((a, b), times) in all {
            let part = &mut out.by_range[range_of(a)];
            known.get(&a).copied().unwrap_or_default().put(part);
            known.get(&b).copied().unwrap_or_default().put(part);
            part.extend_from_slice(&times.to_le_bytes());
        }
        known.clear();
    };
    let mut common = Vec::new();
    each_group(groups, |key, members| {
        for member in members {
            known.entry(member.doc).or_insert(*member);
        }
        if cap.is_some_and(|cap| members.len() > cap) {
            for member in members {
                common.extend_from_slice(&key.to_le_bytes());
                common.extend_from_slice(&member.doc.to_le_bytes());
            }
            let mut by_size = members.to_vec();
            by_size.sort_unstable_by_key(|one| (one.head().size(), one.doc));
            for (at, one) in by_size.iter().enumerate() {
                for other in met_in_common(at, by_size.len()) {
                    let other = by_size[other].doc;
                    if other < one.doc {
                        counts.entry((one.doc, other)).or_insert(0);
                    }
                }
            }
        } else {
            for (i, one) in members.iter().enumerate() {
                for other in &members[..i] {
                    *counts.entry((one.doc, other.doc)).or_insert(0) += 1;
                }
            }
        }
        if counts.len() >= ADDED_UP {
            flush(&mut counts, &mut known);
        }
    })?;
    flush(&mut counts, &mut known);
    out.common = common;
    Ok(out)
}

/// Which common fingerprints documents have, put together from all ranges of keys: what
/// [`Meetings::common`] holds, one after the other.
pub fn common_of(parts: &[u8]) -> Result<CommonLists, Garbled> {
    const MEMBER: usize = 12;
    if !parts.len().is_multiple_of(MEMBER) {
        return Err(Garbled("members of common groups"));
    }
    let members = parts.chunks_exact(MEMBER);
    let mut all: Vec<(u64, u32)> = members.map(|one| (long(one), word(&one[8..]))).collect();
    all.sort_unstable();
    let mut of_doc: Vec<(u32, u32)> = Vec::with_capacity(all.len());
    for (number, group) in (0..).zip(all.chunk_by(|x, y| x.0 == y.0)) {
        of_doc.extend(group.iter().map(|one| (one.1, number)));
    }
    of_doc.sort_unstable();
    Ok(CommonLists(Common::of_pairs(&of_doc)))
}

/// Which common fingerprints each document has.
#[derive(Debug, Default)]
pub struct CommonLists(Common);

/// What is known of the documents of some meetings.
#[derive(Debug, Default)]
struct Known {
    met: HashMap<u32, Met>,
    samples: HashMap<u32, Vec<u64>>,
}

impl Heads for Known {
    fn head(&self, doc: u32) -> SketchHead {
        self.met
            .get(&doc)
            .map_or_else(SketchHead::default, Met::head)
    }

    fn most_samples(&self) -> usize {
        let samples = self.met.values().map(|met| met.head().samples());
        samples.max().unwrap_or(0)
    }

    fn samples_at(&self, doc: u32, level: u32) -> Option<usize> {
        let met = self.met.get(&doc)?;
        samples_at(met.head(), Some(&met.above), level)
    }

    fn samples<'a>(&'a self, doc: u32, _: &'a mut Vec<u64>) -> Result<&'a [u64], StorageError> {
        // Who asks finds out that it must come again with the samples.
        let samples = self.samples.get(&doc);
        samples
            .map(Vec::as_slice)
            .ok_or_else(|| StorageError::io("samples", std::io::Error::other("not at hand")))
    }
}

/// What meetings come to.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Judged {
    /// Pairs above the floor.
    pub pairs: Vec<Pair>,
    /// Meetings that cannot be judged without samples: as they were given, one row each.
    pub unjudged: Vec<u8>,
}

/// The documents of each unjudged meeting: the later and the earlier one.
pub fn documents_of(unjudged: &[u8]) -> Result<Vec<(u32, u32)>, Garbled> {
    let rows = meetings_in(unjudged)?;
    Ok(rows.iter().map(|(a, b, _)| (a.doc, b.doc)).collect())
}

fn meetings_in(bytes: &[u8]) -> Result<Vec<(Met, Met, u32)>, Garbled> {
    if !bytes.len().is_multiple_of(MEETING) {
        return Err(Garbled("meetings"));
    }
    let rows = bytes.chunks_exact(MEETING);
    let one = |row: &[u8]| {
        let (a, b) = (Met::get(row), Met::get(&row[Met::LEN..]));
        (a, b, word(&row[2 * Met::LEN..]))
    };
    Ok(rows.map(one).collect())
}

/// Judges all meetings of some later documents.
pub fn judge<'a>(
    kind: SketchKind,
    floor: Floor,
    meetings: impl IntoIterator<Item = &'a [u8]>,
    common: &CommonLists,
) -> Result<Judged, Garbled> {
    judge_with(kind, floor, meetings, &common.0, HashMap::new())
}

/// Judges meetings by the samples of their documents.
pub fn judge_by_samples<'a>(
    kind: SketchKind,
    floor: Floor,
    meetings: impl IntoIterator<Item = &'a [u8]>,
    common: &CommonLists,
    samples: impl IntoIterator<Item = (u32, Vec<u64>)>,
) -> Result<Judged, Garbled> {
    let samples = samples.into_iter().collect();
    judge_with(kind, floor, meetings, &common.0, samples)
}

fn judge_with<'a>(
    kind: SketchKind,
    floor: Floor,
    meetings: impl IntoIterator<Item = &'a [u8]>,
    common: &Common,
    samples: HashMap<u32, Vec<u64>>,
) -> Result<Judged, Garbled> {
    let mut known = Known {
        met: HashMap::new(),
        samples,
    };
    let mut all = Vec::new();
    for part in meetings {
        for (a, b, times) in meetings_in(part)? {
            known.met.insert(a.doc, a);
            known.met.insert(b.doc, b);
            all.push((a.doc, b.doc, times));
        }
    }
    all.sort_unstable();
    let judging = Judging::new(&known, kind, floor);
    let mut judge = Judge::new(&judging, common);
    let mut judged = Judged::default();
    for of_doc in all.chunk_by(|x, y| x.0 == y.0) {
        judge.begin(of_doc[0].0);
        for same in of_doc.chunk_by(|x, y| x.1 == y.1) {
            let (a, b) = (same[0].0, same[0].1);
            let times = same.iter().map(|one| one.2).sum();
            if judge.consider(b, times).is_err() {
                for doc in [a, b] {
                    known
                        .met
                        .get(&doc)
                        .copied()
                        .unwrap_or_default()
                        .put(&mut judged.unjudged);
                }
                judged.unjudged.extend_from_slice(&u32::to_le_bytes(times));
            }
        }
        judged.pairs.extend(judge.above_floor());
    }
    Ok(judged)
}

/// Of all pairs above the floor of some later documents those that are kept, by later and
/// then by earlier document, and how many are not.
pub fn keep(kind: SketchKind, mut pairs: Vec<Pair>) -> (Vec<Pair>, u64) {
    pairs.sort_unstable_by_key(|pair| (pair.a, pair.b));
    let (mut kept, mut set_aside) = (Vec::with_capacity(pairs.len()), 0);
    for of_doc in pairs.chunk_by(|x, y| x.a == y.a) {
        let mut of_doc = of_doc.to_vec();
        set_aside += keep_best(&mut of_doc, kind);
        kept.append(&mut of_doc);
    }
    (kept, set_aside)
}

/// Pairs as bytes, 24 each.
pub fn pack(pairs: &[Pair]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(Pair::LEN * pairs.len());
    for pair in pairs {
        bytes.extend_from_slice(&pair.to_bytes());
    }
    bytes
}

/// And back.
pub fn unpack(bytes: &[u8]) -> Result<Vec<Pair>, Garbled> {
    if !bytes.len().is_multiple_of(Pair::LEN) {
        return Err(Garbled("pairs"));
    }
    Ok(bytes
        .chunks_exact(Pair::LEN)
        .map(Pair::from_bytes)
        .collect())
}
