//! How a shard is packed, and its copy after it.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::os::unix::fs::FileExt;

use flate2::Compression;
use flate2::bufread::MultiGzDecoder;
use flate2::write::GzEncoder;

use super::NewFile;

/// Bytes read or written at once.
pub(super) const STEP: usize = 1 << 17;

/// The largest window a zstd frame may ask for: 2^27 bytes are 128 MiB.
pub(super) const ZSTD_WINDOW_LOG: u32 = 27;

/// The skippable frame that holds the dictionary of a packed WARC file.
pub(super) const ZSTD_DICTIONARY: [u8; 4] = *b"\x5d\x2a\x4d\x18";

/// How a stream is packed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Packing {
    Plain,
    Gzip,
    Zstd,
}

impl Packing {
    /// What the first bytes tell.
    pub(super) fn of_file(file: &File) -> io::Result<Packing> {
        let mut head = [0_u8; 4];
        let mut len = 0;
        while len < head.len() {
            match file.read_at(&mut head[len..], len as u64)? {
                0 => break,
                read => len += read,
            }
        }
        Ok(match head {
            [0x1f, 0x8b, 8, _] => Packing::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd] | [0x50..=0x5f, 0x2a, 0x4d, 0x18] => Packing::Zstd,
            _ => Packing::Plain,
        })
    }

    /// The unpacked stream: all members of it.
    pub(super) fn reader(self, file: File) -> io::Result<Box<dyn BufRead>> {
        let file = BufReader::with_capacity(STEP, file);
        Ok(match self {
            Packing::Plain => Box::new(file),
            Packing::Gzip => Box::new(BufReader::with_capacity(STEP, MultiGzDecoder::new(file))),
            Packing::Zstd => {
                let mut decoder = zstd::stream::read::Decoder::with_buffer(file)?;
                decoder.window_log_max(ZSTD_WINDOW_LOG)?;
                Box::new(BufReader::with_capacity(STEP, decoder))
            }
        })
    }
}

/// Packs what is written. Neither time nor name is stored.
pub(super) enum Packer {
    Plain(BufWriter<NewFile>),
    Gzip(GzEncoder<BufWriter<NewFile>>),
    Zstd(zstd::stream::write::Encoder<'static, BufWriter<NewFile>>),
}

impl Packer {
    pub(super) fn new(packing: Packing, file: NewFile) -> io::Result<Packer> {
        let file = BufWriter::with_capacity(STEP, file);
        Ok(match packing {
            Packing::Plain => Packer::Plain(file),
            Packing::Gzip => Packer::Gzip(GzEncoder::new(file, Compression::default())),
            Packing::Zstd => {
                let level = zstd::DEFAULT_COMPRESSION_LEVEL;
                let mut encoder = zstd::stream::write::Encoder::new(file, level)?;
                encoder.include_checksum(true)?;
                Packer::Zstd(encoder)
            }
        })
    }

    pub(super) fn finish(self) -> io::Result<NewFile> {
        let file = match self {
            Packer::Plain(file) => file,
            Packer::Gzip(encoder) => encoder.finish()?,
            Packer::Zstd(encoder) => encoder.finish()?,
        };
        file.into_inner().map_err(io::IntoInnerError::into_error)
    }
}

impl Write for Packer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Packer::Plain(out) => out.write(bytes),
            Packer::Gzip(out) => out.write(bytes),
            Packer::Zstd(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Packer::Plain(out) => out.flush(),
            Packer::Gzip(out) => out.flush(),
            Packer::Zstd(out) => out.flush(),
        }
    }
}
