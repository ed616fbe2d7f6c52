//! Records of one fixed width in a block file.

use std::fmt;

use super::stream::BlockStream;
use crate::storage::StorageError;

/// A value that is the same number of bytes each time, little-endian on disk whatever the
/// processor. Numbers, and tuples of them, in order and without gaps.
pub trait Record: Copy + fmt::Debug + Send + 'static {
    /// Its bytes: an array.
    type Bytes: AsRef<[u8]> + AsMut<[u8]> + Default;
    /// How many they are.
    const LEN: usize;
    /// The record as bytes.
    fn to_bytes(self) -> Self::Bytes;
    /// The record of the first [`Record::LEN`] bytes. Panics on fewer.
    fn from_bytes(bytes: &[u8]) -> Self;
}

macro_rules! number {
    ($($number:ty)*) => {$(
        impl Record for $number {
            type Bytes = [u8; size_of::<$number>()];
            const LEN: usize = size_of::<$number>();
            #[inline]
            fn to_bytes(self) -> Self::Bytes {
                self.to_le_bytes()
            }
            #[inline]
            fn from_bytes(bytes: &[u8]) -> Self {
                let mut own = [0; size_of::<$number>()];
                own.copy_from_slice(&bytes[..Self::LEN]);
                <$number>::from_le_bytes(own)
            }
        }
    )*};
}

number!(u8 u16 u32 u64);

macro_rules! tuple {
    ($($member:ident $place:tt),*; $($number:ty),*) => {
        impl Record for ($($number,)*) {
            type Bytes = [u8; { 0 $(+ size_of::<$number>())* }];
            const LEN: usize = 0 $(+ size_of::<$number>())*;
            #[inline]
            fn to_bytes(self) -> Self::Bytes {
                let mut bytes = Self::Bytes::default();
                let mut at = 0;
                $(
                    let $member = self.$place.to_le_bytes();
                    bytes[at..at + $member.len()].copy_from_slice(&$member);
                    at += $member.len();
                )*
                debug_assert_eq!(at, Self::LEN);
                bytes
            }
            #[inline]
            fn from_bytes(bytes: &[u8]) -> Self {
                let bytes = &bytes[..Self::LEN];
                let mut at = 0;
                $(
                    let $member = <$number as Record>::from_bytes(&bytes[at..]);
                    at += size_of::<$number>();
                )*
                debug_assert_eq!(at, Self::LEN);
                ($($member,)*)
            }
        }
    };
}

tuple!(a 0, b 1; u32, u32);
tuple!(a 0, b 1; u64, u32);
tuple!(a 0, b 1; u64, u64);
tuple!(a 0, b 1, c 2; u32, u32, u32);
tuple!(a 0, b 1, c 2; u64, u32, u32);
tuple!(a 0, b 1, c 2, d 3; u32, u32, u32, u32);

/// Records of a block file, from front to back.
pub struct RecordStream<R: Record> {
    stream: BlockStream,
    /// The whole records of the last chunk.
    batch: Vec<R>,
    /// The first of them not given out yet.
    next: usize,
    /// A record that one block begins and the next one ends, as far as it was read.
    cut: R::Bytes,
    cut_len: usize,
}

impl<R: Record> fmt::Debug for RecordStream<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordStream")
            .field("remaining", &self.remaining())
            .finish_non_exhaustive()
    }
}

impl<R: Record> RecordStream<R> {
    pub(super) fn new(stream: BlockStream) -> RecordStream<R> {
        RecordStream {
            stream,
            batch: Vec::new(),
            next: 0,
            cut: R::Bytes::default(),
            cut_len: 0,
        }
    }

    /// Records not given out yet.
    pub fn remaining(&self) -> u64 {
        let ahead = self.stream.remaining() + self.cut_len as u64;
        ahead / R::LEN as u64 + (self.batch.len() - self.next) as u64
    }

    /// The next record; `None` at the end.
    #[inline]
    pub fn next_record(&mut self) -> Result<Option<R>, StorageError> {
        if self.next == self.batch.len() {
            self.fill()?;
        }
        let record = self.batch.get(self.next).copied();
        self.next += usize::from(record.is_some());
        Ok(record)
    }

    /// The next record, which stays the next.
    #[inline]
    pub fn peek(&mut self) -> Result<Option<R>, StorageError> {
        if self.next == self.batch.len() {
            self.fill()?;
        }
        Ok(self.batch.get(self.next).copied())
    }

    /// As many of the next records as lie at hand, at least one; `None` at the end.
    pub fn next_batch(&mut self) -> Result<Option<&[R]>, StorageError> {
        if self.next == self.batch.len() {
            self.fill()?;
        }
        let from = self.next;
        self.next = self.batch.len();
        Ok((from < self.next).then(|| &self.batch[from..]))
    }

    /// Decodes the records of the next chunk, those of the next but one where a chunk
    /// ends no record. Empty only at the end.
    fn fill(&mut self) -> Result<(), StorageError> {
        self.batch.clear();
        self.next = 0;
        while self.batch.is_empty() {
            let Some(mut chunk) = self.stream.next_chunk()? else {
                break;
            };
            if self.cut_len > 0 {
                let missing = (R::LEN - self.cut_len).min(chunk.len());
                let (end, after) = chunk.split_at(missing);
                self.cut.as_mut()[self.cut_len..self.cut_len + missing].copy_from_slice(end);
                self.cut_len += missing;
                chunk = after;
                if self.cut_len < R::LEN {
                    continue;
                }
                self.batch.push(R::from_bytes(self.cut.as_ref()));
                self.cut_len = 0;
            }
            let whole = chunk.chunks_exact(R::LEN);
            let rest = whole.remainder();
            self.cut.as_mut()[..rest.len()].copy_from_slice(rest);
            self.cut_len = rest.len();
            self.batch.extend(whole.map(R::from_bytes));
        }
        Ok(())
    }
}
