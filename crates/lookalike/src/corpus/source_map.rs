//! The way back: which bytes of the original a stretch of text came from.
//!
//! ```text
//! source  caf&eacute;   <b>au</b> lait        pieces
//! text    caf é         au      lait         copied 0..3, made from 3..11, copied ..
//! ```
//!
//! A map is a sorted list of pieces. A piece is either *copied*, byte for byte,
//! or *made* from a stretch of source of another length (a character reference, a
//! character of another charset, a line break that stands for a tag). Maps
//! compose: HTML text → decoded page → bytes of the page.
//!
//! With n pieces: building O(n), one question O(log n), 32 bytes a piece. Maps are
//! made on request only, to show a passage, never while sketching.

use std::ops::Range;

/// From byte offsets of a text to byte offsets of its source.
///
/// # Invariants
///
/// Pieces are sorted by where they start in the text, none is empty there, the
/// first starts at 0, and their source ranges do not run backwards. Offsets past
/// the end of the text are answered as the end.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SourceMap {
    pieces: Vec<Piece>,
    text_len: usize,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Piece {
    text_start: usize,
    source_start: usize,
    origin: Origin,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Origin {
    /// The same bytes stand in the source.
    Copied,
    /// The piece as a whole was made from this many bytes of source.
    Made { source_len: usize },
}

impl SourceMap {
    /// The map of a text that is its own source.
    pub fn identity(len: usize) -> SourceMap {
        let mut builder = Builder::default();
        builder.copied(len, 0);
        builder.finish()
    }

    /// How long the text is that this map describes.
    pub fn text_len(&self) -> usize {
        self.text_len
    }

    /// The bytes of source a stretch of text came from.
    ///
    /// A stretch that begins or ends inside a made piece takes in all of that
    /// piece's source. An empty stretch gives an empty range. Time O(log pieces).
    pub fn source_range(&self, text: Range<usize>) -> Range<usize> {
        let first = text.start.min(self.text_len);
        let start = self.source_start(first);
        if text.end <= text.start || first == self.text_len {
            return start..start;
        }
        let last = text.end.min(self.text_len) - 1;
        let end = self.piece_at(last).map_or(0, |piece| match piece.origin {
            Origin::Copied => piece.source_start + (last - piece.text_start) + 1,
            Origin::Made { source_len } => piece.source_start + source_len,
        });
        start..end.max(start)
    }

    /// The map that goes through `outer` as well: `self` leads from the text to a
    /// middle text, `outer` from that to the source.
    ///
    /// Time O((pieces of `self` + pieces of `outer`) · log pieces of `outer`).
    #[must_use]
    pub fn then(&self, outer: &SourceMap) -> SourceMap {
        let mut composed = Builder::default();
        for (i, piece) in self.pieces.iter().enumerate() {
            let next = self.pieces.get(i + 1);
            let text_end = next.map_or(self.text_len, |next| next.text_start);
            let len = text_end - piece.text_start;
            match piece.origin {
                Origin::Copied => outer.copy_pieces(piece.source_start, len, &mut composed),
                Origin::Made { source_len } => {
                    let middle = piece.source_start..piece.source_start + source_len;
                    composed.made(len, outer.source_range(middle));
                }
            }
        }
        composed.finish()
    }

    /// Adds to `out` the pieces that cover `len` bytes of this map's text from `at`.
    fn copy_pieces(&self, mut at: usize, len: usize, out: &mut Builder) {
        let end = at + len;
        let mut index = self.index_of(at);
        while at < end {
            let next = self.pieces.get(index + 1).map(|next| next.text_start);
            let stop = next.map_or(end, |next| next.min(end));
            match self.pieces.get(index) {
                Some(piece) => match piece.origin {
                    Origin::Copied => {
                        out.copied(stop - at, piece.source_start + (at - piece.text_start));
                    }
                    Origin::Made { source_len } => {
                        let source = piece.source_start..piece.source_start + source_len;
                        out.made(stop - at, source);
                    }
                },
                // Only a map of nothing has no pieces: there is no source at all.
                None => out.made(stop - at, 0..0),
            }
            at = stop;
            index += 1;
        }
    }

    fn index_of(&self, text: usize) -> usize {
        let after = self
            .pieces
            .partition_point(|piece| piece.text_start <= text);
        after.saturating_sub(1)
    }

    fn piece_at(&self, text: usize) -> Option<&Piece> {
        self.pieces.get(self.index_of(text))
    }

    /// Where a stretch that begins at `text` begins in the source.
    fn source_start(&self, text: usize) -> usize {
        self.piece_at(text).map_or(0, |piece| match piece.origin {
            Origin::Copied => piece.source_start + (text - piece.text_start),
            Origin::Made { source_len } if text == self.text_len => piece.source_start + source_len,
            Origin::Made { .. } => piece.source_start,
        })
    }
}

/// A map under construction: pieces in the order of the text.
#[derive(Default)]
pub(crate) struct Builder {
    pieces: Vec<Piece>,
    text_len: usize,
}

impl Builder {
    /// The next `len` bytes of text are those at `source_start`.
    pub(crate) fn copied(&mut self, len: usize, source_start: usize) {
        if len == 0 {
            return;
        }
        let goes_on = self.pieces.last().is_some_and(|last| {
            last.origin == Origin::Copied
                && last.source_start + (self.text_len - last.text_start) == source_start
        });
        if !goes_on {
            self.push(source_start, Origin::Copied);
        }
        self.text_len += len;
    }

    /// The next `len` bytes of text were made from `source`.
    pub(crate) fn made(&mut self, len: usize, source: Range<usize>) {
        if len == 0 {
            return;
        }
        let source_len = source.end.saturating_sub(source.start);
        self.push(source.start, Origin::Made { source_len });
        self.text_len += len;
    }

    fn push(&mut self, source_start: usize, origin: Origin) {
        self.pieces.push(Piece {
            text_start: self.text_len,
            source_start,
            origin,
        });
    }

    pub(crate) fn finish(self) -> SourceMap {
        SourceMap {
            pieces: self.pieces,
            text_len: self.text_len,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// `caf&eacute;<b>au` as it reads: `caf`, `é`, `au`.
    fn cafe() -> SourceMap {
        let mut builder = Builder::default();
        builder.copied(3, 0);
        builder.made(2, 3..11);
        builder.copied(2, 14);
        builder.finish()
    }

    #[test]
    fn a_copied_stretch_maps_byte_for_byte() {
        assert_eq!(cafe().source_range(1..3), 1..3);
        assert_eq!(cafe().source_range(5..7), 14..16);
    }

    #[test]
    fn a_stretch_that_touches_a_made_piece_takes_all_its_source() {
        assert_eq!(cafe().source_range(3..5), 3..11);
        assert_eq!(cafe().source_range(2..4), 2..11);
        assert_eq!(cafe().source_range(4..6), 3..15);
    }

    #[test]
    fn empty_and_outside_stretches_are_empty_ranges() {
        assert_eq!(cafe().source_range(1..1), 1..1);
        assert_eq!(cafe().source_range(7..7), 16..16);
        assert_eq!(cafe().source_range(90..99), 16..16);
        assert_eq!(SourceMap::identity(0).source_range(0..5), 0..0);
    }

    #[test]
    fn a_copied_piece_that_goes_on_is_one_piece() {
        let mut builder = Builder::default();
        builder.copied(3, 0);
        builder.copied(4, 3);
        assert_eq!(builder.finish(), SourceMap::identity(7));
    }

    /// Any map from a text to a source of at least `source_len` bytes.
    fn any_map() -> impl Strategy<Value = (SourceMap, usize)> {
        let piece = (any::<bool>(), 1_usize..5, 0_usize..5, 0_usize..4);
        prop::collection::vec(piece, 0..12).prop_map(|pieces| {
            let (mut builder, mut source) = (Builder::default(), 0);
            for (copied, len, made_from, gap) in pieces {
                source += gap;
                if copied {
                    builder.copied(len, source);
                    source += len;
                } else {
                    builder.made(len, source..source + made_from);
                    source += made_from;
                }
            }
            (builder.finish(), source)
        })
    }

    proptest! {
        #[test]
        fn composing_agrees_with_asking_one_map_after_the_other(
            (inner, middle) in any_map(),
            (outer, _) in any_map(),
        ) {
            // The outer map must describe all of the middle text.
            prop_assume!(outer.text_len() >= middle);
            let composed = inner.then(&outer);
            for at in 0..inner.text_len() {
                let by_steps = outer.source_range(inner.source_range(at..at + 1));
                prop_assert_eq!(composed.source_range(at..at + 1), by_steps, "at {}", at);
            }
        }

        #[test]
        fn composing_with_the_identity_changes_no_answer(
            (map, source) in any_map(), start in 0_usize..40, len in 0_usize..9,
        ) {
            let composed = map.then(&SourceMap::identity(source));
            prop_assert_eq!(composed.source_range(start..start + len), map.source_range(start..start + len));
        }
    }
}
