//! Reading some records of a WARC file again.

use std::path::Path;

use super::super::options::ReadOptions;
use super::super::read::{Halt, Wanted};
use super::super::record::Refused;
use super::super::unpack::{Packing, Unpacked};
use super::{
    Extent, Mode, Numbered, Opening, RecordSink, Stream, member, member_extent, read, read_member,
    record,
};

/// Gives the wanted records of a stream and drops the others.
struct Pick<'p, 'w> {
    options: &'p ReadOptions,
    wanted: &'p mut Wanted<'w>,
}

impl RecordSink for Pick<'_, '_> {
    fn record(&mut self, bytes: &[u8], head: usize, extent: Extent) -> Result<(), Halt> {
        self.wanted.pass(extent.offset);
        if self.wanted.next() == Some(extent.offset) {
            let read = record(bytes, head, extent, self.options);
            self.wanted.give(Some(read));
        }
        self.wanted.halt_if_done()
    }

    fn refuse(&mut self, _: Refused) -> Result<(), Halt> {
        Ok(())
    }

    fn position(&mut self, _: u64) {}
}

/// Reads the wanted records of a stream, passing over the others.
pub(crate) fn pick(
    unpacked: &mut Unpacked,
    options: &ReadOptions,
    wanted: &mut Wanted<'_>,
) -> Result<(), Halt> {
    read(unpacked, options, &mut Pick { options, wanted })
}

/// As [`pick`], with a number added to all offsets.
pub(crate) fn pick_at(
    unpacked: &mut Unpacked,
    base: u64,
    options: &ReadOptions,
    wanted: &mut Wanted<'_>,
) -> Result<(), Halt> {
    let sink = &mut Pick { options, wanted };
    read(unpacked, options, &mut Numbered { sink, base })
}

/// Takes one record and ends the reading.
struct Single<'p, 'w> {
    options: &'p ReadOptions,
    wanted: &'p mut Wanted<'w>,
    offset: u64,
}

impl RecordSink for Single<'_, '_> {
    fn record(&mut self, bytes: &[u8], head: usize, extent: Extent) -> Result<(), Halt> {
        let is_it = extent.offset == self.offset;
        let read = is_it.then(|| record(bytes, head, extent, self.options));
        self.wanted.give(read);
        Err(Halt::Stopped)
    }

    fn refuse(&mut self, refused: Refused) -> Result<(), Halt> {
        self.wanted.give(Some(Err(refused)));
        Err(Halt::Stopped)
    }

    fn position(&mut self, _: u64) {}
}

/// Reads the wanted records of a file, jumping where its packing allows it.
pub(crate) fn fetch(
    path: &Path,
    options: &ReadOptions,
    wanted: &mut Wanted<'_>,
) -> Result<(), Halt> {
    let mut unpacked = Unpacked::open(path)?;
    let mode = Opening::read(&mut unpacked, options)?.mode;
    if mode == Mode::Stream && unpacked.packing() != Packing::Plain {
        return pick(&mut Unpacked::open(path)?, options, wanted);
    }
    let mut buffer = Vec::new();
    while let Some(offset) = wanted.next() {
        unpacked.seek(offset)?;
        let mut single = Single {
            options,
            wanted,
            offset,
        };
        let read = if mode == Mode::Members {
            if !unpacked.is_at_member()? {
                // Not the first record of its member: found only from the beginning.
                return pick(&mut Unpacked::open(path)?, options, wanted);
            }
            let event = read_member(&mut unpacked, &mut buffer, options)?;
            let extent = member_extent(&unpacked);
            member(&mut buffer, extent, &event, options, &mut single)
        } else {
            Stream {
                unpacked: &mut unpacked,
                options,
                buffer: std::mem::take(&mut buffer),
                offset,
                pending: None,
            }
            .read(&mut single)
        };
        match read {
            Ok(()) if wanted.next() == Some(offset) => wanted.give(None),
            Ok(()) | Err(Halt::Stopped) => {}
            Err(halt) => return Err(halt),
        }
        buffer.clear();
    }
    Ok(())
}
