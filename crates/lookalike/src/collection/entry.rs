//! What a collection knows of one document, as 160 bytes.
//!
//! ```text
//!   0 name of the bytes u128 | name of the tokens u128 | name of the sketch u128
//!  48 key u64 | payload u64 | tokens u64 | body bytes u64 | offset u64 | date i64
//!  96 place of its strings u64
//! 104 source u32 | sketch head u32 | id bytes u32 | URL bytes u32
//! 120 copy of u32 | grade u8 | flags u8 | 0 u16
//! 128 digest 20 bytes | record bytes u32 | way of reading u32 | status u16 | media type u16
//! ```
//!
//! Entries stand in the order of the documents' numbers, so a number is a place.

use crate::blocks::Record;
use crate::corpus::record::{Offset, Timestamp, When};

/// How two documents are the same, from the closest to the loosest.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Grade {
    /// The same bytes.
    Identical = 1,
    /// The same tokens.
    Lexical = 2,
    /// The same sketch.
    Shingle = 3,
    /// Alike by resemblance.
    Similar = 4,
    /// One is roughly contained in the other.
    Contained = 5,
}

impl Grade {
    /// Its name in tables and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Grade::Identical => "identical",
            Grade::Lexical => "lexical",
            Grade::Shingle => "shingle",
            Grade::Similar => "similar",
            Grade::Contained => "contained",
        }
    }

    fn from_code(code: u8) -> Option<Grade> {
        Some(match code {
            1 => Grade::Identical,
            2 => Grade::Lexical,
            3 => Grade::Shingle,
            _ => return None,
        })
    }
}

/// How many fingerprints a sketch keeps, and at which level: 24 and 8 bits.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct SketchHead(pub u32);

impl SketchHead {
    /// Of a sketch of so many samples at a level. The samples a recipe may ask for fit.
    pub fn new(samples: usize, level: u32) -> SketchHead {
        let samples = u32::try_from(samples).unwrap_or(u32::MAX).min(0xff_ffff);
        SketchHead(samples | level.min(64) << 24)
    }

    /// How many samples.
    pub fn samples(self) -> usize {
        (self.0 & 0xff_ffff) as usize
    }

    /// The level of a nested sketch, otherwise 0.
    pub fn level(self) -> u32 {
        self.0 >> 24
    }

    /// The estimated number of shingles, up to a factor that all of one recipe share.
    pub(crate) fn size(self) -> u64 {
        (self.samples() as u64) << self.level().min(40)
    }
}

/// Something about a document that is true or not.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Flag {
    /// The input named a date.
    Dated = 1,
    /// The input named something for a date that is none.
    DateUnreadable = 2,
    /// It has fewer tokens than a shingle.
    Short = 4,
    /// It had malformed bytes, which became U+FFFD.
    Repaired = 8,
    /// A revisit: the content is that of another capture.
    Revisit = 16,
    /// The input named an id.
    HasId = 32,
    /// The input named an address.
    HasUrl = 64,
    /// It has the sketch of the document it is a copy of, and not its tokens.
    Apart = 128,
}

/// From this number on they are not of documents, but of captures without a word.
pub const BLANK: u32 = 1 << 31;

/// What is known of one document.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Entry {
    /// BLAKE3 of its bytes, the first half.
    pub bytes_name: u128,
    /// Of its tokens in order.
    pub tokens_name: u128,
    /// Of its sketch; documents with one such name are one class.
    pub sketch_name: u128,
    /// Of what it goes by: URL, id, or file and place.
    pub key: u64,
    /// Of the payload digest that WARC gave, 0 for none.
    pub payload: u64,
    /// How many tokens.
    pub tokens: u64,
    /// How many bytes the body had.
    pub body_len: u64,
    /// Where it stands in its source.
    pub offset: u64,
    /// Seconds since 1970; means something only with [`Flag::Dated`].
    pub date: i64,
    /// Where its id and URL stand among the strings.
    pub strings: u64,
    /// Which source.
    pub source: u32,
    /// Its sketch's size and level.
    pub sketch: SketchHead,
    /// Bytes of its id.
    pub id_len: u32,
    /// Bytes of its URL.
    pub url_len: u32,
    /// The first document with its sketch, or itself.
    pub copy_of: u32,
    /// How it is a copy: a [`Grade`], 0 for none.
    pub grade: u8,
    /// [`Flag`]s.
    pub flags: u8,
    /// What its archive says of the record.
    pub facts: Facts,
    /// How its bytes were read: of two documents with the same bytes and the same way, all
    /// names are the same.
    pub way: u32,
}

/// What a web archive says of a capture: all 0 for what was read from anything else.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub struct Facts {
    /// SHA-1 of the payload as the archive has it; 0 where it has none.
    pub digest: [u8; 20],
    /// Bytes of the record as it is stored: of its packed member, or of the plain record
    /// to the end of its block. What CDX calls its length; 0 where it is not known.
    pub record_len: u32,
    /// Status of the HTTP response; 0 where there is none.
    pub status: u16,
    /// Which of the media types of its sweep, from 1; 0 where it is not known.
    pub mime: u16,
}

impl Facts {
    /// SHA-1 of the payload, where the archive has it.
    pub fn digest(&self) -> Option<[u8; 20]> {
        (self.digest != [0; 20]).then_some(self.digest)
    }
}

impl Entry {
    /// Whether it is of a capture without a word: no document, but its page was there.
    pub fn is_blank(&self) -> bool {
        self.tokens == 0 && !self.has(Flag::Revisit)
    }

    /// Whether a flag is set.
    pub fn has(&self, flag: Flag) -> bool {
        self.flags & flag as u8 != 0
    }

    /// Sets a flag.
    pub fn set(&mut self, flag: Flag) {
        self.flags |= flag as u8;
    }

    /// How it is a copy of an earlier document, if it is.
    pub fn grade(&self) -> Option<Grade> {
        Grade::from_code(self.grade)
    }

    /// Whether only the sketch is known to be that of the document it is a copy of.
    pub fn is_apart(&self) -> bool {
        self.has(Flag::Apart) || self.grade() == Some(Grade::Shingle)
    }

    /// Its date, if it has one.
    pub fn when(&self) -> Option<Timestamp> {
        self.has(Flag::Dated).then_some(Timestamp(self.date))
    }

    /// Notes what an input says of the date.
    pub fn set_when(&mut self, when: When) {
        match when {
            When::At(Timestamp(seconds)) => {
                self.date = seconds;
                self.set(Flag::Dated);
            }
            When::Unsaid => {}
            When::Unreadable => self.set(Flag::DateUnreadable),
        }
    }

    /// Where it stands in its source.
    pub fn place(&self) -> Offset {
        Offset(self.offset)
    }

    /// The estimated number of its distinct shingles; `one_in` is the share of all
    /// fingerprints that level 0 keeps.
    pub fn shingles(&self, one_in: u64) -> u64 {
        let kept = self.sketch.samples() as u64;
        kept.saturating_mul(one_in)
            .saturating_mul(1_u64.checked_shl(self.sketch.level()).unwrap_or(u64::MAX))
    }
}

impl Record for Entry {
    type Bytes = EntryBytes;
    const LEN: usize = 160;

    fn to_bytes(self) -> EntryBytes {
        let mut bytes = EntryBytes::default();
        let mut at = 0;
        let mut put = |field: &[u8]| {
            bytes.0[at..at + field.len()].copy_from_slice(field);
            at += field.len();
        };
        for name in [self.bytes_name, self.tokens_name, self.sketch_name] {
            put(&name.to_le_bytes());
        }
        let words = [
            self.key,
            self.payload,
            self.tokens,
            self.body_len,
            self.offset,
            self.date.cast_unsigned(),
            self.strings,
        ];
        for word in words {
            put(&word.to_le_bytes());
        }
        let halves = [
            self.source,
            self.sketch.0,
            self.id_len,
            self.url_len,
            self.copy_of,
        ];
        for half in halves {
            put(&half.to_le_bytes());
        }
        put(&[self.grade, self.flags, 0, 0]);
        put(&self.facts.digest);
        put(&self.facts.record_len.to_le_bytes());
        put(&self.way.to_le_bytes());
        put(&self.facts.status.to_le_bytes());
        put(&self.facts.mime.to_le_bytes());
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Entry {
        let name = |at: usize| {
            let mut own = [0; 16];
            own.copy_from_slice(&bytes[at..at + 16]);
            u128::from_le_bytes(own)
        };
        let word = |at: usize| <u64 as Record>::from_bytes(&bytes[at..at + 8]);
        let half = |at: usize| <u32 as Record>::from_bytes(&bytes[at..at + 4]);
        Entry {
            bytes_name: name(0),
            tokens_name: name(16),
            sketch_name: name(32),
            key: word(48),
            payload: word(56),
            tokens: word(64),
            body_len: word(72),
            offset: word(80),
            date: word(88).cast_signed(),
            strings: word(96),
            source: half(104),
            sketch: SketchHead(half(108)),
            id_len: half(112),
            url_len: half(116),
            copy_of: half(120),
            grade: bytes[124],
            flags: bytes[125],
            facts: Facts {
                digest: digest(&bytes[128..148]),
                record_len: half(148),
                status: <u16 as Record>::from_bytes(&bytes[156..158]),
                mime: <u16 as Record>::from_bytes(&bytes[158..160]),
            },
            way: half(152),
        }
    }
}

fn digest(bytes: &[u8]) -> [u8; 20] {
    let mut digest = [0; 20];
    digest.copy_from_slice(bytes);
    digest
}

/// An entry on disk.
#[derive(Clone, Copy, Debug)]
pub struct EntryBytes([u8; 160]);

impl Default for EntryBytes {
    fn default() -> EntryBytes {
        EntryBytes([0; 160])
    }
}

impl AsRef<[u8]> for EntryBytes {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl AsMut<[u8]> for EntryBytes {
    fn as_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

/// Another capture of a document that was captured before: 56 bytes.
///
/// ```text
///  0 document u32 | source u32 | offset u64 | date i64
/// 24 digest 20 bytes | record bytes u32 | status u16 | media type u16 | flags u16 | 0 u16
/// ```
///
/// Captures are in the order of their fields: by document, and then by date.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Capture {
    /// Which document.
    pub doc: u32,
    /// Seconds since 1970; `i64::MIN` for a date that is not known.
    pub date: i64,
    /// Which source.
    pub source: u32,
    /// Where in it.
    pub offset: u64,
    /// What its archive says of the record.
    pub facts: Facts,
    /// Whether it is a revisit: the content is that of another capture.
    pub is_revisit: bool,
}

impl Capture {
    /// That an entry is one more capture of a document.
    pub(crate) fn of(doc: u32, entry: &Entry) -> Capture {
        Capture {
            doc,
            date: entry.when().map_or(i64::MIN, |when| when.0),
            source: entry.source,
            offset: entry.offset,
            facts: entry.facts,
            is_revisit: entry.has(Flag::Revisit),
        }
    }

    /// Its own date, if it has one.
    pub fn when(&self) -> Option<Timestamp> {
        (self.date != i64::MIN).then_some(Timestamp(self.date))
    }
}

impl Record for Capture {
    type Bytes = CaptureBytes;
    const LEN: usize = 56;

    fn to_bytes(self) -> CaptureBytes {
        let mut bytes = [0; 56];
        bytes[..4].copy_from_slice(&self.doc.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.source.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.offset.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.date.to_le_bytes());
        bytes[24..44].copy_from_slice(&self.facts.digest);
        bytes[44..48].copy_from_slice(&self.facts.record_len.to_le_bytes());
        bytes[48..50].copy_from_slice(&self.facts.status.to_le_bytes());
        bytes[50..52].copy_from_slice(&self.facts.mime.to_le_bytes());
        bytes[52] = u8::from(self.is_revisit);
        CaptureBytes(bytes)
    }

    fn from_bytes(bytes: &[u8]) -> Capture {
        Capture {
            doc: <u32 as Record>::from_bytes(&bytes[..4]),
            source: <u32 as Record>::from_bytes(&bytes[4..8]),
            offset: <u64 as Record>::from_bytes(&bytes[8..16]),
            date: <u64 as Record>::from_bytes(&bytes[16..24]).cast_signed(),
            facts: Facts {
                digest: digest(&bytes[24..44]),
                record_len: <u32 as Record>::from_bytes(&bytes[44..48]),
                status: <u16 as Record>::from_bytes(&bytes[48..50]),
                mime: <u16 as Record>::from_bytes(&bytes[50..52]),
            },
            is_revisit: bytes[52] & 1 != 0,
        }
    }
}

/// A capture on disk.
#[derive(Clone, Copy, Debug)]
pub struct CaptureBytes([u8; 56]);

impl Default for CaptureBytes {
    fn default() -> CaptureBytes {
        CaptureBytes([0; 56])
    }
}

impl AsRef<[u8]> for CaptureBytes {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl AsMut<[u8]> for CaptureBytes {
    fn as_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn facts() -> impl Strategy<Value = Facts> {
        let all = (any::<[u8; 20]>(), any::<u32>(), any::<u16>(), any::<u16>());
        all.prop_map(|(digest, record_len, status, mime)| Facts {
            digest,
            record_len,
            status,
            mime,
        })
    }

    proptest! {
        #[test]
        fn entries_come_back_as_they_were(words in prop::array::uniform7(any::<u64>()), names in prop::array::uniform3(any::<u128>()),
            halves in prop::array::uniform6(any::<u32>()), grade in any::<u8>(), flags in any::<u8>(), facts in facts()) {
            let entry = Entry {
                bytes_name: names[0], tokens_name: names[1], sketch_name: names[2],
                key: words[0], payload: words[1], tokens: words[2], body_len: words[3], offset: words[4],
                date: words[5].cast_signed(), strings: words[6],
                source: halves[0], sketch: SketchHead(halves[1]), id_len: halves[2], url_len: halves[3], copy_of: halves[4],
                grade, flags, facts, way: halves[5],
            };
            prop_assert_eq!(Entry::from_bytes(entry.to_bytes().as_ref()), entry);
        }

        #[test]
        fn captures_come_back_as_they_were(doc in any::<u32>(), source in any::<u32>(), offset in any::<u64>(),
            date in any::<i64>(), facts in facts(), is_revisit in any::<bool>()) {
            let capture = Capture { doc, date, source, offset, facts, is_revisit };
            prop_assert_eq!(Capture::from_bytes(capture.to_bytes().as_ref()), capture);
        }
    }

    #[test]
    fn a_head_holds_what_a_recipe_may_ask_for() {
        let head = SketchHead::new(1 << 20, 64);
        assert_eq!((head.samples(), head.level()), (1 << 20, 64));
    }
}
