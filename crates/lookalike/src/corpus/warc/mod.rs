//! WARC and WET: what crawlers store.
//!
//! ```text
//! stream ─► split: records ─► header: type, URI, date ─► http: status, type, content ─► Record
//! ```
//!
//! Responses, resources and conversions are documents; a revisit is one more capture of
//! content met before; other types are skipped under their own name. A response whose
//! status is not 2xx is skipped as `status`, for redirections and errors are no
//! documents. One that is neither HTML nor text is skipped as `not text`.
//!
//! **Offsets.** A file packed record by record is known by its first member, which holds
//! one record: there an offset is that of the member in the packed file, as in CDX (and
//! one more for each record before it in the same member). In any other file, plain or
//! packed as a whole, it counts unpacked bytes.
//!
//! **Damage.** What cannot be read is reported with its offset, and reading goes on at
//! the next member, or in a plain file at the next line that begins like a record.
//! Nothing is allocated by a length that a header claims.

mod header;

mod http;

mod split;

mod digest;

mod record;

mod fetch;

use super::batch::{Gather, Piece};
use super::options::ReadOptions;
use super::read::Halt;
use super::record::Refused;
use super::unpack::{Event, Packing, Unpacked};
pub(crate) use fetch::{fetch, pick_at};
pub(crate) use http::{Served, served};
pub(crate) use record::record;
use record::skipped_type;
use split::{HEAD_LEN, Reach, Step};

/// Bytes unpacked at once.
const STEP: usize = 256 << 10;

/// A length past which nobody's record goes: 1 TiB.
const ABSURD: u64 = 1 << 40;

/// Where a record stands, and how many bytes it takes up there as CDX counts them: those of
/// its member, or in a plain file from its version line to the end of its block.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Extent {
    pub(crate) offset: u64,
    /// 0 where it has no place of its own: in a member with others before it, or in a file
    /// that is packed as a whole.
    pub(crate) len: u64,
}

/// What takes raw records.
pub(crate) trait RecordSink {
    /// A record, from its version line to the end of its block.
    fn record(&mut self, bytes: &[u8], head: usize, extent: Extent) -> Result<(), Halt>;

    /// What is no record.
    fn refuse(&mut self, refused: Refused) -> Result<(), Halt>;

    /// How many bytes of the source were read.
    fn position(&mut self, position: u64);
}

impl RecordSink for Gather<'_> {
    fn record(&mut self, bytes: &[u8], head: usize, extent: Extent) -> Result<(), Halt> {
        if let Some(code) = skipped_type(bytes.get(..head).unwrap_or_default()) {
            let message = format!("a record of type {code}");
            return Ok(Gather::refuse(
                self,
                Refused::skipped(extent.offset, code, message),
            )?);
        }
        Ok(self.add(bytes, |range| Piece::Warc {
            range,
            head_len: head,
            extent,
        })?)
    }

    fn refuse(&mut self, refused: Refused) -> Result<(), Halt> {
        Ok(Gather::refuse(self, refused)?)
    }

    fn position(&mut self, position: u64) {
        self.position = position;
    }
}

/// Passes records on with a number added to their offsets.
pub(crate) struct Numbered<'s, S> {
    pub(crate) sink: &'s mut S,
    pub(crate) base: u64,
}

impl<S: RecordSink> RecordSink for Numbered<'_, S> {
    fn record(&mut self, bytes: &[u8], head: usize, extent: Extent) -> Result<(), Halt> {
        let offset = self.base + extent.offset;
        self.sink.record(bytes, head, Extent { offset, ..extent })
    }

    fn refuse(&mut self, mut refused: Refused) -> Result<(), Halt> {
        refused.at += self.base;
        self.sink.refuse(refused)
    }

    fn position(&mut self, _: u64) {}
}

/// Reads a stream to its end.
pub(crate) fn read(
    unpacked: &mut Unpacked,
    options: &ReadOptions,
    sink: &mut impl RecordSink,
) -> Result<(), Halt> {
    let opening = Opening::read(unpacked, options)?;
    match opening.mode {
        Mode::Stream => Stream {
            unpacked,
            options,
            buffer: opening.buffer,
            offset: 0,
            pending: opening.event,
        }
        .read(sink),
        Mode::Members => {
            let mut buffer = opening.buffer;
            let mut extent = opening.member;
            let mut pending = opening.event;
            loop {
                if let Some(event) = pending.take() {
                    member(&mut buffer, extent, &event, options, sink)?;
                    let is_damaged = matches!(event, Event::Damaged(why) if why != TOO_LARGE);
                    if is_damaged && !unpacked.resync()? {
                        return Ok(());
                    }
                }
                let event = read_member(unpacked, &mut buffer, options)?;
                sink.position(unpacked.input.offset());
                if event == Event::End {
                    return Ok(());
                }
                extent = member_extent(unpacked);
                pending = Some(event);
            }
        }
    }
}

/// How records stand in a stream.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Mode {
    /// One after the other, whatever members they are packed in.
    Stream,
    /// Each in a member of its own.
    Members,
}

/// The beginning of a stream, read as far as it takes to tell how records stand in it.
struct Opening {
    mode: Mode,
    buffer: Vec<u8>,
    /// Where the first member stands.
    member: Extent,
    /// What reading it came to, if that is still to be acted on.
    event: Option<Event>,
}

impl Opening {
    fn read(unpacked: &mut Unpacked, options: &ReadOptions) -> Result<Opening, Halt> {
        let mut buffer = Vec::new();
        if unpacked.packing() == Packing::Plain {
            return Ok(Opening {
                mode: Mode::Stream,
                buffer,
                member: Extent { offset: 0, len: 0 },
                event: None,
            });
        }
        let limit = options.limits.record;
        loop {
            let event = unpacked.read(&mut buffer, STEP)?;
            if buffer.is_empty() && event == Event::MemberEnd {
                continue;
            }
            let member = member_extent(unpacked);
            let opening = |mode, buffer, event| Opening {
                mode,
                buffer,
                member,
                event,
            };
            // Whether another record follows the first in the same member.
            let is_followed = match split::next(&buffer, Reach::More, limit) {
                Step::Record { end, .. } => buffer.len() > end,
                _ => false,
            } && !is_one_record(&buffer, limit);
            if is_followed || buffer.len() > limit + HEAD_LEN {
                let event = (event != Event::Bytes && event != Event::MemberEnd).then_some(event);
                return Ok(opening(Mode::Stream, buffer, event));
            }
            match event {
                Event::Bytes => {}
                Event::MemberEnd => {
                    // A record that goes on in the next member is packed in blocks, as by
                    // bgzip; unless a record begins there too.
                    let is_cut = matches!(
                        split::next(&buffer, Reach::More, limit),
                        Step::Need | Step::Huge { .. }
                    ) && !is_one_record(&buffer, limit);
                    let next = unpacked.peek()?;
                    let goes_on = is_cut && !next.is_empty() && !next.starts_with(b"WARC/");
                    return Ok(if goes_on {
                        opening(Mode::Stream, buffer, None)
                    } else {
                        opening(Mode::Members, buffer, Some(Event::MemberEnd))
                    });
                }
                Event::End | Event::Damaged(_) => {
                    return Ok(opening(Mode::Members, buffer, Some(event)));
                }
            }
        }
    }
}

/// Whether some bytes are one whole record and nothing else.
fn is_one_record(bytes: &[u8], limit: usize) -> bool {
    match split::next(bytes, Reach::End, limit) {
        Step::Record { end, .. } => {
            let rest = bytes.get(end..).unwrap_or_default();
            split::next(rest, Reach::End, limit) == Step::End
        }
        _ => false,
    }
}

/// Where the member stands that was read to its end.
fn member_extent(unpacked: &Unpacked) -> Extent {
    let offset = unpacked.member();
    Extent {
        offset,
        len: unpacked.input.offset().saturating_sub(offset),
    }
}

/// Unpacks one member, at most as much of it as may be held.
fn read_member(
    unpacked: &mut Unpacked,
    buffer: &mut Vec<u8>,
    options: &ReadOptions,
) -> Result<Event, Halt> {
    let most = options.limits.record.saturating_add(HEAD_LEN);
    buffer.clear();
    let mut is_over = false;
    loop {
        match unpacked.read(buffer, STEP)? {
            Event::Bytes if buffer.len() > most => {
                is_over = true;
                buffer.truncate(1);
            }
            Event::Bytes => {}
            Event::MemberEnd if is_over => {
                // One byte more than any limit: told as too large.
                buffer.clear();
                return Ok(Event::Damaged(TOO_LARGE));
            }
            event => return Ok(event),
        }
    }
}

/// The name that a member past the limit goes by.
const TOO_LARGE: &str = "the member unpacks to more than a record may have (limit `record`)";

/// The records of a member of the packed file.
fn member(
    buffer: &mut Vec<u8>,
    member: Extent,
    event: &Event,
    options: &ReadOptions,
    sink: &mut impl RecordSink,
) -> Result<(), Halt> {
    if let Event::Damaged(why) = event {
        buffer.clear();
        let code = if *why == TOO_LARGE {
            "too large"
        } else {
            "damaged"
        };
        return sink.refuse(Refused::rejected(member.offset, code, *why));
    }
    let mut rest = &buffer[..];
    let Extent {
        mut offset,
        mut len,
    } = member;
    loop {
        let used = match split::next(rest, Reach::End, options.limits.record) {
            Step::Need | Step::End => break,
            Step::Record { start, head, end } => {
                let bytes = rest.get(start..end).unwrap_or_default();
                sink.record(bytes, head - start, Extent { offset, len })?;
                end
            }
            Step::Lost { end, why, .. } => {
                sink.refuse(Refused::damaged(offset, why))?;
                end
            }
            Step::Huge {
                head, len: said, ..
            } => {
                sink.refuse(too_large(offset, said, options))?;
                // The member does not hold it: look for what else there is.
                let block = rest.get(head..).unwrap_or_default();
                split::find(block).map_or(rest.len(), |at| head + at)
            }
        };
        (offset, len) = (offset + 1, 0);
        rest = rest.get(used..).unwrap_or_default();
    }
    buffer.clear();
    Ok(())
}

fn too_large(offset: u64, len: u64, options: &ReadOptions) -> Refused {
    let limit = options.limits.record;
    let message = format!("Content-Length says {len}, more than {limit} (limit `record`)");
    Refused::rejected(offset, "too large", message)
}

/// Records one after the other.
struct Stream<'u> {
    unpacked: &'u mut Unpacked,
    options: &'u ReadOptions,
    buffer: Vec<u8>,
    /// Where the buffer stands in the unpacked stream.
    offset: u64,
    /// What reading came to last, if that is still to be acted on.
    pending: Option<Event>,
}

impl Stream<'_> {
    fn read(&mut self, sink: &mut impl RecordSink) -> Result<(), Halt> {
        // The first byte of the buffer that is not used up.
        let mut at = 0;
        // Inside bytes that are no record, and were told so.
        let mut is_lost = false;
        loop {
            let reach = match self.pending {
                Some(Event::End) => Reach::End,
                _ => Reach::More,
            };
            let rest = self.buffer.get(at..).unwrap_or_default();
            let base = self.offset + at as u64;
            if is_lost {
                match split::find(rest) {
                    Some(found) => {
                        at += found;
                        is_lost = false;
                        continue;
                    }
                    // The beginning of a head may stand at the end.
                    None => at = at.max(self.buffer.len().saturating_sub(8)),
                }
            }
            let step = match is_lost {
                true if reach == Reach::End => Step::End,
                true => Step::Need,
                false => split::next(rest, reach, self.options.limits.record),
            };
            match step {
                Step::End => return Ok(()),
                Step::Record { start, head, end } => {
                    let bytes = rest.get(start..end).unwrap_or_default();
                    let extent = self.extent(at, start, end);
                    sink.record(bytes, head - start, extent)?;
                    at += end;
                }
                Step::Lost { start, end, why } => {
                    sink.refuse(Refused::damaged(base + start as u64, why))?;
                    is_lost = end == rest.len();
                    at += if is_lost {
                        end.saturating_sub(8).max(start)
                    } else {
                        end
                    };
                }
                Step::Huge { start, head, len } => {
                    sink.refuse(too_large(base + start as u64, len, self.options))?;
                    at += head;
                    is_lost = !self.skip(&mut at, len)?;
                }
                Step::Need => match self.pending.take() {
                    Some(Event::Damaged(why)) => {
                        // The last record may be whole though nothing sound follows it.
                        let limit = self.options.limits.record;
                        if let Step::Record { start, head, end } =
                            split::next(rest, Reach::End, limit)
                        {
                            let bytes = rest.get(start..end).unwrap_or_default();
                            let extent = self.extent(at, start, end);
                            sink.record(bytes, head - start, extent)?;
                        }
                        sink.refuse(Refused::damaged(self.unpacked.member(), why))?;
                        self.offset += self.buffer.len() as u64;
                        self.buffer.clear();
                        at = 0;
                        if !self.unpacked.resync()? {
                            return Ok(());
                        }
                        is_lost = !self.unpacked.peek()?.starts_with(b"WARC/");
                    }
                    _ => self.fill(&mut at, sink)?,
                },
            }
        }
    }

    /// Where a record stands that was found at a place of the buffer.
    fn extent(&self, at: usize, start: usize, end: usize) -> Extent {
        let is_plain = self.unpacked.packing() == Packing::Plain;
        Extent {
            offset: self.offset + (at + start) as u64,
            len: if is_plain { (end - start) as u64 } else { 0 },
        }
    }

    /// Reads on; what is used up makes room.
    fn fill(&mut self, at: &mut usize, sink: &mut impl RecordSink) -> Result<(), Halt> {
        // A large record at hand is read on in large steps, so it is not looked at too often.
        let step = STEP.max((self.buffer.len() - *at) / 2).min(16 * STEP);
        self.buffer.drain(..*at);
        self.offset += *at as u64;
        *at = 0;
        let event = self.unpacked.read(&mut self.buffer, step)?;
        sink.position(self.unpacked.input.offset());
        self.pending = match event {
            Event::Bytes | Event::MemberEnd => None,
            event => Some(event),
        };
        Ok(())
    }

    /// Passes over a block that is too large to hold; false if its length is not to be
    /// believed, because the stream ends before.
    fn skip(&mut self, at: &mut usize, len: u64) -> Result<bool, Halt> {
        if len > ABSURD {
            return Ok(false);
        }
        if let Some(end) = self.unpacked.plain_len() {
            let here = self.offset + *at as u64;
            if here.saturating_add(len) > end {
                return Ok(false);
            }
        }
        let mut left = len;
        loop {
            let there = (self.buffer.len() - *at) as u64;
            let used = usize::try_from(left.min(there)).unwrap_or(0);
            *at += used;
            left -= used as u64;
            if left == 0 || self.pending.is_some() {
                return Ok(true);
            }
            self.offset += self.buffer.len() as u64;
            self.buffer.clear();
            *at = 0;
            match self.unpacked.read(&mut self.buffer, STEP)? {
                Event::Bytes | Event::MemberEnd => {}
                event => self.pending = Some(event),
            }
        }
    }
}
