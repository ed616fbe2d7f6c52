//! Kept texts: the text of every document of a sweep, packed, inside the collection.
//!
//! ```text
//! texts         zstd frames, one after the other
//! texts-places  24 bytes a document, by number:
//!                 0 frame u64: where it begins among the texts; another document's
//!                   number where the text is that one's
//!                 8 length of the text u64
//!                16 where it begins in what the frame holds u32
//!                20 kind u32: 0 no text of its own, 1 text, 2 features as a JSON
//!                   array (of pairs where they have weights), 3 the text of another document
//! ```
//!
//! A frame holds whole texts, of 64 KiB together at most; a longer text stands alone, in
//! frames of up to 1 MiB. So one text costs a frame and a block or two, and no reader or
//! writer holds more than a frame besides the text itself. Documents with the same bytes
//! and the same tokens share one text, also over sweeps; one with the same tokens only
//! has its own, for what it looks like is its own.

use zstd::stream::raw::{Decoder, InBuffer, Operation, OutBuffer};

use crate::blocks::{BlockReader, FileEntry, Record};
use crate::corpus::document::Document;
use crate::storage::{Storage, StorageError};

/// Bytes of text in a frame that several share: what must be unpacked for one of them.
pub(crate) const FRAME_LEN: u64 = 64 << 10;

/// Bytes of a text in one of several frames of its own.
pub(crate) const LONG_FRAME_LEN: u64 = 1 << 20;

/// What a kept text is.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[repr(u32)]
pub enum TextKind {
    /// There is none, or it is that of what a revisit revisits.
    #[default]
    None = 0,
    /// Text as it stands.
    Text = 1,
    /// A JSON array of features.
    Features = 2,
    /// It is the text of another document, whose number stands for the frame.
    Same = 3,
}

/// Where a kept text stands.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct TextPlace {
    /// Where its first frame begins, or a document's number.
    pub frame: u64,
    /// Bytes of it.
    pub len: u64,
    /// Where in the frame it begins.
    pub at: u32,
    /// What it is; a number that means nothing is damage.
    kind: u32,
}

impl TextPlace {
    /// A place of that kind.
    pub(crate) fn new(kind: TextKind, frame: u64, at: u32, len: u64) -> TextPlace {
        TextPlace {
            frame,
            len,
            at,
            kind: kind as u32,
        }
    }

    fn kind(self) -> Option<TextKind> {
        let kinds = [
            TextKind::None,
            TextKind::Text,
            TextKind::Features,
            TextKind::Same,
        ];
        kinds.into_iter().find(|kind| *kind as u32 == self.kind)
    }
}

impl Record for TextPlace {
    type Bytes = [u8; 24];
    const LEN: usize = 24;

    fn to_bytes(self) -> [u8; 24] {
        let mut bytes = [0; 24];
        bytes[..8].copy_from_slice(&self.frame.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.len.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.at.to_le_bytes());
        bytes[20..].copy_from_slice(&self.kind.to_le_bytes());
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> TextPlace {
        TextPlace {
            frame: <u64 as Record>::from_bytes(&bytes[..8]),
            len: <u64 as Record>::from_bytes(&bytes[8..16]),
            at: <u32 as Record>::from_bytes(&bytes[16..20]),
            kind: <u32 as Record>::from_bytes(&bytes[20..24]),
        }
    }
}

/// The kept texts of one sweep.
#[derive(Debug)]
pub(crate) struct Kept {
    places: BlockReader,
    texts: BlockReader,
}

/// What was unpacked last, and where it begins: texts of one frame are asked for in a row.
#[derive(Debug, Default)]
pub(crate) struct Unpacked(Option<(u64, Vec<u8>)>);

impl Kept {
    pub(crate) fn open(
        storage: &dyn Storage,
        places: &FileEntry,
        texts: &FileEntry,
    ) -> Result<Kept, StorageError> {
        Ok(Kept {
            places: BlockReader::open(storage, places)?,
            texts: BlockReader::open(storage, texts)?,
        })
    }

    /// Where the text of a document stands, by its number in the sweep, and what it is.
    pub(crate) fn place(&self, index: u32) -> Result<(TextKind, TextPlace), StorageError> {
        let place: TextPlace = self.places.record(index.into())?;
        let kind = place.kind().ok_or_else(|| {
            let what = "a text is of no kind that there is";
            StorageError::damaged(self.places.entry().file(), what, None)
        })?;
        Ok((kind, place))
    }

    /// A text of its own, as a document.
    pub(crate) fn document<'u>(
        &self,
        place: TextPlace,
        unpacked: &'u mut Unpacked,
    ) -> Result<Document<'u>, StorageError> {
        let wrong = |what| StorageError::damaged(self.texts.entry().file(), what, None);
        let no_text = || wrong("a text is not where it should be");
        let from = place.at as usize;
        let to = usize::try_from(place.len)
            .ok()
            .and_then(|len| from.checked_add(len));
        let to = to.ok_or_else(no_text)?;
        let is_there = |held: &(u64, Vec<u8>)| held.0 == place.frame && held.1.len() >= to;
        if !unpacked.0.as_ref().is_some_and(is_there) {
            unpacked.0 = Some((place.frame, self.unpack(place.frame, to)?));
        }
        let bytes = unpacked.0.as_ref().and_then(|held| held.1.get(from..to));
        let text = bytes.and_then(|bytes| std::str::from_utf8(bytes).ok());
        let text = text.ok_or_else(no_text)?;
        if place.kind() == Some(TextKind::Features) {
            if let Ok(list) = serde_json::from_str(text) {
                return Ok(Document::of_features(list));
            }
            let list = serde_json::from_str(text);
            return Ok(Document::of_weighted(
                list.map_err(|_| wrong("features are none"))?,
            ));
        }
        Ok(Document::of_text(text))
    }

    /// Unpacks whole frames until there are so many bytes.
    fn unpack(&self, frame: u64, least: usize) -> Result<Vec<u8>, StorageError> {
        let wrong = || {
            let what = "a text does not unpack";
            StorageError::damaged(self.texts.entry().file(), what, frame)
        };
        if frame > self.texts.len() {
            return Err(wrong());
        }
        let mut stream = self.texts.stream(frame..self.texts.len(), 1)?;
        let mut decoder = Decoder::new().map_err(|_| wrong())?;
        let (mut out, mut piece) = (Vec::new(), vec![0; 64 << 10]);
        while let Some(chunk) = stream.next_chunk()? {
            let mut input = InBuffer::around(chunk);
            loop {
                let mut output = OutBuffer::around(&mut piece[..]);
                let ahead = decoder.run(&mut input, &mut output).map_err(|_| wrong())?;
                let written = output.pos();
                out.extend_from_slice(&piece[..written]);
                if ahead == 0 && out.len() >= least {
                    return Ok(out);
                }
                if input.pos == chunk.len() && written < piece.len() {
                    break;
                }
            }
        }
        Err(wrong())
    }
}
