//! Streams that may be packed: plain, gzip or zstd, told by their first bytes.
//!
//! ```text
//! file or pipe ─► Input: bytes with their offset ─► Unpacked: bytes, member by member
//!                                                └─► damage, and on at the next member
//! ```
//!
//! A *member* is what gzip calls so and zstd calls a frame. Its end and its offset are
//! reported, for a WARC has one for each record. One decoder serves all members: a
//! member costs no allocation. Memory: the decoder's window, and [`KEEP`] packed bytes
//! to go back in after damage.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use flate2::{Crc, Decompress, FlushDecompress, Status};
use zstd::stream::raw::{DParameter, Decoder, InBuffer, Operation, OutBuffer};

use super::options::ZSTD_WINDOW_LOG;

/// Bytes read or unpacked at once.
const STEP: usize = 128 << 10;

/// How many packed bytes of a member are kept, to look for the next one in after damage.
/// A record is rarely larger than this once packed.
const KEEP: usize = 4 << 20;

/// Bytes read first, at the beginning of a file, where a look may do, and after a jump: most
/// records of a WARC have fewer once packed.
const JUMP: usize = 16 << 10;

/// How many bytes are looked at to tell what a stream holds.
const PEEK: usize = 16 << 10;

/// The most a zstd dictionary may take. The usual ones have 110 kB.
const DICTIONARY_LEN: usize = 16 << 20;

/// How a stream is packed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Packing {
    Plain,
    Gzip,
    Zstd,
}

impl Packing {
    /// What the first bytes tell.
    pub(crate) fn of(head: &[u8]) -> Packing {
        if head.starts_with(GZIP) {
            Packing::Gzip
        } else if head.starts_with(ZSTD) || is_skippable(head) {
            Packing::Zstd
        } else {
            Packing::Plain
        }
    }
}

const GZIP: &[u8] = b"\x1f\x8b\x08";
const ZSTD: &[u8] = b"\x28\xb5\x2f\xfd";
/// The skippable frame that holds the dictionary of a WARC file.
const DICTIONARY: &[u8] = b"\x5d\x2a\x4d\x18";

fn is_skippable(head: &[u8]) -> bool {
    matches!(head, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..])
}

/// Bytes of a source, with their offset.
pub(crate) struct Input {
    reader: Box<dyn Read + Send>,
    buffer: Vec<u8>,
    /// The first byte of the buffer that is not used up.
    start: usize,
    /// The offset of the buffer's first byte.
    base: u64,
    /// From where bytes are kept though used up.
    mark: Option<u64>,
    /// Bytes to be read next.
    step: usize,
    has_ended: bool,
}

impl Input {
    pub(crate) fn new(reader: Box<dyn Read + Send>, offset: u64) -> Input {
        Input {
            reader,
            buffer: Vec::new(),
            start: 0,
            base: offset,
            mark: None,
            step: STEP,
            has_ended: false,
        }
    }

    /// Goes on elsewhere, where little may be wanted.
    fn jump(&mut self, reader: Box<dyn Read + Send>, offset: u64) {
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.clear();
        *self = Input {
            buffer,
            step: JUMP,
            ..Input::new(reader, offset)
        };
    }

    /// What is there and not used up.
    pub(crate) fn available(&self) -> &[u8] {
        self.buffer.get(self.start..).unwrap_or_default()
    }

    pub(crate) fn offset(&self) -> u64 {
        self.base + self.start as u64
    }

    fn consume(&mut self, len: usize) {
        self.start = self.buffer.len().min(self.start + len);
    }

    /// Reads on; false at the end.
    fn fill(&mut self) -> io::Result<bool> {
        if self.has_ended {
            return Ok(false);
        }
        let kept = self.mark.map_or(self.start, |mark| {
            usize::try_from(mark.saturating_sub(self.base)).unwrap_or(usize::MAX)
        });
        let kept = kept.min(self.start);
        let kept = if self.start - kept > KEEP {
            self.mark = None;
            self.start
        } else {
            kept
        };
        // No more bytes are moved to the front than were used up: less than reading them cost.
        if kept >= self.buffer.len() - kept {
            self.buffer.drain(..kept);
            self.start -= kept;
            self.base += kept as u64;
        }
        let read = read_up_to(&mut *self.reader, &mut self.buffer, self.step)?;
        self.has_ended = read < self.step;
        self.step = STEP;
        Ok(read > 0)
    }

    /// Has at least this many bytes at hand; false if there are not so many.
    pub(crate) fn want(&mut self, len: usize) -> io::Result<bool> {
        while self.available().len() < len {
            if !self.fill()? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Goes back to an offset, if its bytes are kept.
    fn rewind(&mut self, offset: u64) {
        let back = offset.checked_sub(self.base);
        let start = back.and_then(|start| usize::try_from(start).ok());
        if let Some(start) = start.filter(|start| *start < self.start) {
            self.start = start;
        }
    }
}

/// Reads this many bytes to the end of a buffer, fewer only at the end of the input:
/// a pipe gives what it has, and where a batch ends must not depend on that.
fn read_up_to(reader: &mut dyn Read, buffer: &mut Vec<u8>, len: usize) -> io::Result<usize> {
    buffer.reserve(len);
    reader.take(len as u64).read_to_end(buffer)
}

/// Room to unpack up to `most` bytes into. Made as it is needed: who looks at the beginning
/// of a file needs little.
fn room(scratch: &mut Vec<u8>, most: usize) -> &mut [u8] {
    let room = most.min(STEP);
    if scratch.len() < room {
        scratch.resize(room, 0);
    }
    scratch.get_mut(..room).unwrap_or_default()
}

/// What [`Unpacked::read`] came to.
#[derive(Debug, Eq, PartialEq)]
pub(crate) enum Event {
    /// Bytes were added.
    Bytes,
    /// A member ended, all its bytes were given, and its checksum is right.
    MemberEnd,
    /// The input ended.
    End,
    /// The member, or what stands in its place, is no good. [`Unpacked::resync`] goes on.
    Damaged(&'static str),
}

/// A stream, unpacked.
pub(crate) struct Unpacked {
    pub(crate) input: Input,
    packing: Packing,
    gzip: Decompress,
    crc: Crc,
    zstd: Option<Decoder<'static>>,
    scratch: Vec<u8>,
    /// What was read to look at, and what reading it came to.
    ahead: Option<(Vec<u8>, Event)>,
    /// The file, if it is one.
    file: Option<Arc<File>>,
    /// Its length.
    file_len: Option<u64>,
    /// Where the member begins.
    member: u64,
    is_inside: bool,
}

/// A file from an offset on. Where others have got to in it does not matter.
struct From {
    file: Arc<File>,
    offset: u64,
}

impl Read for From {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(buffer, self.offset)?;
        self.offset += read as u64;
        Ok(read)
    }
}

impl Unpacked {
    /// Looks at the first bytes and unpacks by them.
    pub(crate) fn new(mut input: Input) -> io::Result<Unpacked> {
        input.want(8)?;
        let packing = Packing::of(input.available());
        let mut unpacked = Unpacked {
            member: input.offset(),
            input,
            packing,
            gzip: Decompress::new(false),
            crc: Crc::new(),
            zstd: None,
            scratch: Vec::new(),
            ahead: None,
            file: None,
            file_len: None,
            is_inside: false,
        };
        if packing == Packing::Zstd {
            unpacked.zstd = Some(unpacked.zstd_decoder()?);
        }
        Ok(unpacked)
    }

    /// A file, from its beginning.
    pub(crate) fn open(path: &Path) -> io::Result<Unpacked> {
        let file = Arc::new(File::open(path)?);
        let len = file.metadata()?.len();
        let mut unpacked = Unpacked::new(Input {
            step: JUMP,
            ..Input::new(Box::new(Arc::clone(&file)), 0)
        })?;
        unpacked.file = Some(file);
        unpacked.file_len = Some(len);
        Ok(unpacked)
    }

    /// Starts again at an offset of the packed file: a member's, or any if it is plain.
    pub(crate) fn seek(&mut self, offset: u64) -> io::Result<()> {
        let file = self.file.clone().ok_or(io::ErrorKind::NotSeekable)?;
        self.input.jump(Box::new(From { file, offset }), offset);
        self.is_inside = false;
        self.ahead = None;
        self.member = offset;
        Ok(())
    }

    /// The first bytes of what is next, without taking them; none at the end or at damage.
    pub(crate) fn peek(&mut self) -> io::Result<&[u8]> {
        while self.ahead.is_none() {
            let mut bytes = Vec::new();
            let event = self.read(&mut bytes, PEEK)?;
            if bytes.is_empty() && event == Event::MemberEnd {
                continue;
            }
            self.ahead = Some((bytes, event));
        }
        Ok(self.ahead.as_ref().map_or(&[], |(bytes, _)| bytes))
    }

    /// How many bytes a plain file has; `None` for what is packed or no file.
    pub(crate) fn plain_len(&self) -> Option<u64> {
        self.file_len.filter(|_| self.packing == Packing::Plain)
    }

    /// Whether a member begins here.
    pub(crate) fn is_at_member(&mut self) -> io::Result<bool> {
        self.input.want(4)?;
        Ok(Packing::of(self.input.available()) == self.packing)
    }

    pub(crate) fn packing(&self) -> Packing {
        self.packing
    }

    /// Where the member begins that bytes come from.
    pub(crate) fn member(&self) -> u64 {
        self.member
    }

    /// Adds up to `most` bytes to a buffer, or some more that were looked at before.
    pub(crate) fn read(&mut self, out: &mut Vec<u8>, most: usize) -> io::Result<Event> {
        if let Some((bytes, event)) = self.ahead.take() {
            out.extend_from_slice(&bytes);
            return Ok(event);
        }
        match self.packing {
            Packing::Plain => self.read_plain(out, most),
            Packing::Gzip => self.read_gzip(out, most),
            Packing::Zstd => self.read_zstd(out, most),
        }
    }

    fn read_plain(&mut self, out: &mut Vec<u8>, most: usize) -> io::Result<Event> {
        let waiting = self.input.available();
        let waiting = waiting.get(..most).unwrap_or(waiting);
        let mut len = waiting.len();
        out.extend_from_slice(waiting);
        self.input.consume(len);
        if len < most && !self.input.has_ended {
            // Past the input's own buffer: no byte is moved twice.
            let direct = read_up_to(&mut *self.input.reader, out, most - len)?;
            self.input.has_ended = direct < most - len;
            self.input.base += direct as u64;
            len += direct;
        }
        Ok(if len == 0 { Event::End } else { Event::Bytes })
    }

    /// Goes to the next member; `None` when there is one.
    fn begin(&mut self, magic: &[u8]) -> io::Result<Option<Event>> {
        // Some writers fill up to a block with zeros.
        while self.input.want(1)? && self.input.available().first() == Some(&0) {
            let zeros = self.input.available().iter().take_while(|&&byte| byte == 0);
            let zeros = zeros.count();
            self.input.consume(zeros);
        }
        self.member = self.input.offset();
        self.input.mark = Some(self.member);
        if !self.input.want(1)? {
            return Ok(Some(Event::End));
        }
        if !self.input.want(magic.len())? || !self.input.available().starts_with(magic) {
            return Ok(Some(Event::Damaged("here no packed data begins")));
        }
        Ok(None)
    }

    fn read_gzip(&mut self, out: &mut Vec<u8>, most: usize) -> io::Result<Event> {
        if !self.is_inside {
            if let Some(event) = self.begin(GZIP)? {
                return Ok(event);
            }
            let Some(len) = gzip_header(&mut self.input)? else {
                return Ok(Event::Damaged("the gzip header is cut short or malformed"));
            };
            self.input.consume(len);
            self.gzip.reset(false);
            self.crc.reset();
            self.is_inside = true;
        }
        loop {
            self.input.want(1)?;
            let scratch = room(&mut self.scratch, most);
            let (total_in, total_out) = (self.gzip.total_in(), self.gzip.total_out());
            let status =
                self.gzip
                    .decompress(self.input.available(), scratch, FlushDecompress::None);
            let used = usize::try_from(self.gzip.total_in() - total_in).unwrap_or(0);
            let made = usize::try_from(self.gzip.total_out() - total_out).unwrap_or(0);
            let made_bytes = scratch.get(..made).unwrap_or_default();
            self.crc.update(made_bytes);
            out.extend_from_slice(made_bytes);
            self.input.consume(used);
            match status {
                Err(_) => return Ok(Event::Damaged("the gzip data is damaged")),
                Ok(Status::StreamEnd) => return self.gzip_trailer(),
                Ok(_) if made > 0 => return Ok(Event::Bytes),
                Ok(_) if used == 0 && self.input.has_ended => {
                    return Ok(Event::Damaged("the gzip data is cut short"));
                }
                Ok(_) => {}
            }
        }
    }

    fn gzip_trailer(&mut self) -> io::Result<Event> {
        if !self.input.want(8)? {
            return Ok(Event::Damaged("the gzip data is cut short"));
        }
        let mut trailer = [0; 8];
        let there = self.input.available().iter();
        trailer
            .iter_mut()
            .zip(there)
            .for_each(|(to, from)| *to = *from);
        let trailer = u64::from_le_bytes(trailer);
        self.input.consume(8);
        // The length counts modulo 2^32.
        let sum = u64::from(self.crc.amount()) << 32 | u64::from(self.crc.sum());
        if trailer != sum {
            return Ok(Event::Damaged("the gzip checksum is wrong"));
        }
        self.is_inside = false;
        Ok(Event::MemberEnd)
    }

    /// A decoder, with the dictionary the stream may begin with.
    fn zstd_decoder(&mut self) -> io::Result<Decoder<'static>> {
        let head = self.input.available();
        let len = match head {
            [_, _, _, _, a, b, c, d, ..] if head.starts_with(DICTIONARY) => {
                usize::try_from(u32::from_le_bytes([*a, *b, *c, *d])).ok()
            }
            _ => None,
        };
        let mut decoder = match len.filter(|len| *len <= DICTIONARY_LEN) {
            // Grown as bytes arrive: nothing is allocated by the length that is claimed.
            Some(len) if self.input.want(8 + len)? => {
                let frame = self.input.available();
                let dictionary = frame.get(8..8 + len).unwrap_or_default();
                let dictionary = if dictionary.starts_with(ZSTD) {
                    let mut unpacked = Vec::new();
                    let mut decoder = zstd::stream::read::Decoder::with_buffer(dictionary)?;
                    decoder.window_log_max(ZSTD_WINDOW_LOG)?;
                    decoder
                        .take(DICTIONARY_LEN as u64)
                        .read_to_end(&mut unpacked)?;
                    unpacked
                } else {
                    dictionary.to_vec()
                };
                Decoder::with_dictionary(&dictionary)?
            }
            _ => Decoder::new()?,
        };
        decoder.set_parameter(DParameter::WindowLogMax(ZSTD_WINDOW_LOG))?;
        Ok(decoder)
    }

    fn read_zstd(&mut self, out: &mut Vec<u8>, most: usize) -> io::Result<Event> {
        let Some(decoder) = &mut self.zstd else {
            return Ok(Event::End);
        };
        if !self.is_inside {
            decoder.reinit()?;
            if let Some(event) = self.begin(&[])? {
                return Ok(event);
            }
            self.input.want(4)?;
            let head = self.input.available();
            if !head.starts_with(ZSTD) && !is_skippable(head) {
                return Ok(Event::Damaged("here no packed data begins"));
            }
            self.is_inside = true;
        }
        let Some(decoder) = &mut self.zstd else {
            return Ok(Event::End);
        };
        loop {
            self.input.want(1)?;
            let scratch = room(&mut self.scratch, most);
            let (left, used, made) = {
                let mut from = InBuffer::around(self.input.available());
                let mut to = OutBuffer::around(&mut *scratch);
                match decoder.run(&mut from, &mut to) {
                    Ok(left) => (left, from.pos(), to.pos()),
                    Err(error) => {
                        let is_window = error.to_string().contains("memory");
                        return Ok(Event::Damaged(if is_window {
                            "the zstd window is larger than the limit of 128 MiB"
                        } else {
                            "the zstd data is damaged"
                        }));
                    }
                }
            };
            out.extend_from_slice(scratch.get(..made).unwrap_or_default());
            self.input.consume(used);
            if left == 0 {
                self.is_inside = false;
                return Ok(Event::MemberEnd);
            }
            if made > 0 {
                return Ok(Event::Bytes);
            }
            if used == 0 && self.input.has_ended {
                return Ok(Event::Damaged("the zstd data is cut short"));
            }
        }
    }

    /// Looks for the next member after damage; false if there is none.
    ///
    /// A damaged length or code may have led the decoder past the next one, so the
    /// search begins right after the member's own start, as far as its bytes are kept.
    pub(crate) fn resync(&mut self) -> io::Result<bool> {
        let magic = match self.packing {
            Packing::Plain => return Ok(false),
            Packing::Gzip => GZIP,
            Packing::Zstd => ZSTD,
        };
        self.is_inside = false;
        self.input.want(magic.len())?;
        if self.input.offset() > self.member && self.input.available().starts_with(magic) {
            return Ok(true);
        }
        self.input.rewind(self.member);
        self.input.consume(1);
        self.input.mark = None;
        let finder = memchr::memmem::Finder::new(magic);
        loop {
            if let Some(at) = finder.find(self.input.available()) {
                self.input.consume(at);
                return Ok(true);
            }
            let tail = self.input.available().len().saturating_sub(magic.len() - 1);
            self.input.consume(tail);
            if !self.input.fill()? {
                return Ok(false);
            }
        }
    }
}

/// The length of the gzip header at hand; `None` if it is malformed or does not end.
fn gzip_header(input: &mut Input) -> io::Result<Option<usize>> {
    const EXTRA: u8 = 4;
    const NAME: u8 = 8;
    const COMMENT: u8 = 16;
    const CHECKSUM: u8 = 2;
    if !input.want(10)? {
        return Ok(None);
    }
    let Some(&flags) = input.available().get(3).filter(|&&flags| flags < 32) else {
        return Ok(None);
    };
    let mut len = 10;
    if flags & EXTRA != 0 {
        if !input.want(len + 2)? {
            return Ok(None);
        }
        if let Some([low, high]) = input.available().get(len..len + 2) {
            len += 2 + usize::from(u16::from_le_bytes([*low, *high]));
        }
    }
    for flag in [NAME, COMMENT] {
        if flags & flag == 0 {
            continue;
        }
        loop {
            let rest = input.available().get(len..).unwrap_or_default();
            if let Some(end) = memchr::memchr(0, rest) {
                len += end + 1;
                break;
            }
            // Nobody's file name is this long.
            if rest.len() > STEP || !input.fill()? {
                return Ok(None);
            }
        }
    }
    if flags & CHECKSUM != 0 {
        len += 2;
    }
    Ok(input.want(len)?.then_some(len))
}
