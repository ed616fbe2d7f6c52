//! WARC, filtered: the members of kept records as they stand, or their bytes where the
//! file is not packed record by record.
//!
//! ```text
//! one record in the first member? ─ yes ─► members ─► keep? ─► copied packed
//!                                 └ no ──► records ─► keep? ─► copied, packed as a whole
//! ```
//!
//! A member of several records is left out only when all of them are; one whose content
//! is no WARC is copied. Damage of the packing itself is an error, for nobody knows then
//! where the next member begins.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;

use flate2::bufread::GzDecoder;
use memchr::memchr;

use super::packing::{Packer, Packing, STEP, ZSTD_DICTIONARY, ZSTD_WINDOW_LOG};
use super::{Decision, Keep, NewFile, ShardFault};
use crate::corpus::record::Offset;

/// The longest head of a record, from its version line to the blank line.
const HEAD_LIMIT: usize = 1 << 20;

pub(super) fn filter(
    mut file: File,
    packing: Packing,
    keep: Keep<'_>,
    mut new: NewFile,
) -> Result<NewFile, ShardFault> {
    if is_by_record(&mut file, packing)? {
        members(file, packing, keep, &mut new)?;
        return Ok(new);
    }
    file.seek(SeekFrom::Start(0))?;
    let mut out = Packer::new(packing, new)?;
    let mut records = Records::new(packing.reader(file)?);
    while records.begin()? {
        let at = records.at;
        let head = records.head()?;
        match keep(Offset(at)) {
            Decision::Keep => {
                out.write_all(&head.bytes)?;
                records.block(head.length, &mut out)?;
            }
            Decision::Drop => records.block(head.length, &mut io::sink())?,
        }
    }
    Ok(out.finish()?)
}

/// Whether the first member holds one record. A file that begins with a dictionary is
/// always packed so.
fn is_by_record(file: &mut File, packing: Packing) -> Result<bool, ShardFault> {
    let mut input = BufReader::with_capacity(STEP, &mut *file);
    let first: Box<dyn BufRead + '_> = match packing {
        Packing::Plain => return Ok(false),
        Packing::Gzip => Box::new(BufReader::new(GzDecoder::new(input))),
        Packing::Zstd => {
            if input.fill_buf()?.starts_with(&ZSTD_DICTIONARY) {
                return Ok(true);
            }
            let mut decoder = zstd::stream::read::Decoder::with_buffer(input)?;
            decoder.window_log_max(ZSTD_WINDOW_LOG)?;
            Box::new(BufReader::new(decoder.single_frame()))
        }
    };
    let mut records = Records::new(first);
    if !records.begin()? {
        return Ok(true);
    }
    let head = records.head()?;
    records.block(head.length, &mut io::sink())?;
    Ok(!records.begin()?)
}

fn members(
    mut file: File,
    packing: Packing,
    keep: Keep<'_>,
    out: &mut dyn Write,
) -> Result<(), ShardFault> {
    file.seek(SeekFrom::Start(0))?;
    let mut input = Counted {
        inner: BufReader::with_capacity(STEP, file),
        at: 0,
    };
    while !input.fill_buf()?.is_empty() {
        let start = input.at;
        let fate = match packing {
            Packing::Gzip => gzip_member(&mut input, keep)?,
            Packing::Zstd | Packing::Plain => zstd_frame(&mut input, keep)?,
        };
        if fate == Decision::Keep {
            copy_range(input.inner.get_ref(), start, input.at, out)?;
        }
    }
    Ok(())
}

/// Copies a part of a file, without moving its position.
fn copy_range(file: &File, from: u64, to: u64, out: &mut dyn Write) -> Result<(), ShardFault> {
    let mut buffer = [0; 1 << 14];
    let mut at = from;
    while at < to {
        let wanted = usize::try_from(to - at).map_or(buffer.len(), |left| left.min(buffer.len()));
        let read = file.read_at(&mut buffer[..wanted], at)?;
        if read == 0 {
            return Err(damaged(at, "it became shorter while it was read"));
        }
        out.write_all(&buffer[..read])?;
        at += read as u64;
    }
    Ok(())
}

/// Unpacks a member to its end, and asks about the records in it.
fn gzip_member(input: &mut Counted, keep: Keep<'_>) -> Result<Decision, ShardFault> {
    let start = input.at;
    let member = BufReader::with_capacity(STEP, GzDecoder::new(input));
    in_member(Records::new(member), start, keep).map_err(|fault| match fault {
        ShardFault::Io(error) => unpacking(start, error),
        other => other,
    })
}

fn in_member(
    mut records: Records<impl BufRead>,
    start: u64,
    keep: Keep<'_>,
) -> Result<Decision, ShardFault> {
    let mut asked = 0_u64;
    let mut fate = Decision::Drop;
    let done = loop {
        match records.next_head() {
            Ok(Some(head)) => {
                if keep(Offset(start + asked)) == Decision::Keep {
                    fate = Decision::Keep;
                }
                asked += 1;
                if let Err(fault) = records.block(head.length, &mut io::sink()) {
                    break Err(fault);
                }
            }
            Ok(None) => break Ok(()),
            Err(fault) => break Err(fault),
        }
    };
    match done {
        Ok(()) => {}
        // No WARC, but a sound member: it is nobody's to remove.
        Err(ShardFault::Damaged { .. }) => fate = Decision::Keep,
        Err(fault) => return Err(fault),
    }
    // What stands behind the records, and the checksum behind that.
    io::copy(&mut records.input, &mut io::sink())?;
    if asked == 0 {
        fate = Decision::Keep;
    }
    Ok(fate)
}

/// Goes from block to block to the end of a frame, without unpacking it.
fn zstd_frame(input: &mut Counted, keep: Keep<'_>) -> Result<Decision, ShardFault> {
    let start = input.at;
    let cut = |_| damaged(start, "a frame has no end");
    let [magic, kind @ ..] = input.array::<4>().map_err(cut)?;
    if (0x50..=0x5f).contains(&magic) && kind == [0x2a, 0x4d, 0x18] {
        let length = u32::from_le_bytes(input.array().map_err(cut)?);
        input.skip(length.into()).map_err(cut)?;
        return Ok(Decision::Keep);
    }
    if magic != 0x28 || kind != [0xb5, 0x2f, 0xfd] {
        return Err(damaged(start, "no frame begins here"));
    }
    let [descriptor] = input.array().map_err(cut)?;
    let is_single_segment = descriptor & 0x20 != 0;
    let window = u64::from(!is_single_segment);
    let dictionary = [0, 1, 2, 4][usize::from(descriptor & 3)];
    let content = [u64::from(is_single_segment), 2, 4, 8][usize::from(descriptor >> 6)];
    input.skip(window + dictionary + content).map_err(cut)?;
    loop {
        let [a, b, c] = input.array().map_err(cut)?;
        let block = u32::from_le_bytes([a, b, c, 0]);
        let length = match block >> 1 & 3 {
            1 => 1,
            3 => return Err(damaged(start, "a frame has a block of no kind")),
            _ => block >> 3,
        };
        input.skip(length.into()).map_err(cut)?;
        if block & 1 == 1 {
            break;
        }
    }
    if descriptor & 4 != 0 {
        input.skip(4).map_err(cut)?;
    }
    Ok(keep(Offset(start)))
}

fn damaged(at: u64, what: &str) -> ShardFault {
    ShardFault::Damaged {
        at,
        what: what.to_owned(),
    }
}

/// What a decoder says is damage; what the operating system says is not.
fn unpacking(at: u64, error: io::Error) -> ShardFault {
    match error.raw_os_error() {
        Some(_) => ShardFault::Io(error),
        None => damaged(at, &error.to_string()),
    }
}

/// A stream that knows how far it is.
struct Counted {
    inner: BufReader<File>,
    at: u64,
}

impl Counted {
    fn array<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    fn skip(&mut self, length: u64) -> io::Result<()> {
        let skipped = io::copy(&mut self.take(length), &mut io::sink())?;
        if skipped < length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(())
    }
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.at += read as u64;
        Ok(read)
    }
}

impl BufRead for Counted {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.inner.fill_buf()
    }

    fn consume(&mut self, length: usize) {
        self.inner.consume(length);
        self.at += length as u64;
    }
}

/// The records of an unpacked stream.
struct Records<R> {
    input: R,
    at: u64,
}

/// The head of a record, and how long the block behind it is.
struct Head {
    bytes: Vec<u8>,
    length: u64,
}

impl<R: BufRead> Records<R> {
    fn new(input: R) -> Records<R> {
        Records { input, at: 0 }
    }

    /// Goes to the next record, if there is one.
    fn begin(&mut self) -> Result<bool, ShardFault> {
        self.line_ends(&mut io::sink())?;
        Ok(!self.fill()?.is_empty())
    }

    fn fill(&mut self) -> Result<&[u8], ShardFault> {
        Ok(self.input.fill_buf()?)
    }

    /// The head of the next record, if there is one.
    fn next_head(&mut self) -> Result<Option<Head>, ShardFault> {
        if self.begin()? {
            self.head().map(Some)
        } else {
            Ok(None)
        }
    }

    fn consume(&mut self, length: usize) {
        self.input.consume(length);
        self.at += length as u64;
    }

    /// Reads the head: a version, fields, and a blank line.
    fn head(&mut self) -> Result<Head, ShardFault> {
        let start = self.at;
        let mut bytes = Vec::new();
        loop {
            let line = bytes.len();
            loop {
                let chunk = self.fill()?;
                let end = memchr(b'\n', chunk).map(|end| end + 1);
                let used = end.unwrap_or(chunk.len());
                bytes.extend_from_slice(&chunk[..used]);
                self.consume(used);
                if end.is_some() {
                    break;
                }
                if used == 0 || bytes.len() > HEAD_LIMIT {
                    return Err(damaged(start, "a record's head has no end"));
                }
            }
            if line == 0 && !bytes.starts_with(b"WARC/") {
                return Err(damaged(start, "no record begins here"));
            }
            if bytes.len() > HEAD_LIMIT {
                return Err(damaged(start, "a record's head has no end"));
            }
            if bytes[line..].trim_ascii().is_empty() {
                break;
            }
        }
        let length = bytes
            .split(|&byte| byte == b'\n')
            .find_map(|line| {
                let colon = memchr(b':', line)?;
                let (name, value) = line.split_at(colon);
                let is_length = name.trim_ascii().eq_ignore_ascii_case(b"content-length");
                is_length.then(|| {
                    std::str::from_utf8(value[1..].trim_ascii())
                        .ok()?
                        .parse()
                        .ok()
                })
            })
            .flatten()
            .ok_or_else(|| damaged(start, "a record does not say its length"))?;
        Ok(Head { bytes, length })
    }

    /// Copies the block, and the line ends behind it.
    fn block(&mut self, length: u64, out: &mut dyn Write) -> Result<(), ShardFault> {
        let mut left = length;
        while left > 0 {
            let at = self.at;
            let chunk = self.fill()?;
            if chunk.is_empty() {
                return Err(damaged(at, "a record is cut short"));
            }
            let used = usize::try_from(left).map_or(chunk.len(), |left| left.min(chunk.len()));
            out.write_all(&chunk[..used])?;
            self.consume(used);
            left -= used as u64;
        }
        self.line_ends(out)
    }

    fn line_ends(&mut self, out: &mut dyn Write) -> Result<(), ShardFault> {
        loop {
            let chunk = self.fill()?;
            let is_other = |byte: &u8| !matches!(byte, b'\r' | b'\n');
            let used = chunk.iter().position(is_other);
            let ends = &chunk[..used.unwrap_or(chunk.len())];
            if ends.is_empty() {
                return Ok(());
            }
            out.write_all(ends)?;
            let length = ends.len();
            self.consume(length);
        }
    }
}
