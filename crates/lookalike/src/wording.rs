//! The words of a text, and edits that make one text of another, as people read them.
//!
//! ```text
//! text ─► tokens by the recipe ─► numbers ─► changes (core) ─► edits: words as they stand
//! ```
//!
//! Two texts whose tokens are the same have no edits: case, punctuation and white space are
//! what the recipe says they are.

use std::ops::Range;

use lookalike_core::canonical::Tokens;
use lookalike_core::diff::Change;
use lookalike_core::recipe::Recipe;

use crate::corpus::document::Document;

/// So many marks at the ends of words are taken for theirs.
const MARKS: usize = 4;

/// A text and its tokens.
#[derive(Clone, Debug, Default)]
pub struct Words {
    text: String,
    tokens: Tokens,
    /// Where each token stands in the text.
    places: Vec<Range<usize>>,
}

impl Words {
    /// The words of a document.
    pub fn of(document: &Document<'_>, recipe: &Recipe) -> Words {
        let tokens = document.tokens(recipe);
        let places = (0..tokens.len()).map(|i| document.text_range(tokens.source(i)));
        Words {
            places: places.collect(),
            text: document.text().into_owned(),
            tokens,
        }
    }

    /// The words of a text that needs no decoding.
    pub fn of_text(text: &str, recipe: &Recipe) -> Words {
        Words::of(&Document::of_text(text), recipe)
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The tokens.
    pub fn tokens(&self) -> &Tokens {
        &self.tokens
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Where a token stands in the text.
    pub(crate) fn place(&self, token: usize) -> Option<Range<usize>> {
        self.places.get(token).cloned()
    }

    /// Where some tokens stand in the text; nothing of it for no tokens.
    fn range(&self, tokens: &Range<usize>) -> Range<usize> {
        let first = self.places.get(tokens.start);
        let last = tokens.end.checked_sub(1).and_then(|i| self.places.get(i));
        match (first, last) {
            (Some(first), Some(last)) if !tokens.is_empty() => first.start..last.end,
            _ => 0..0,
        }
    }

    /// The text of some words.
    pub(crate) fn part(&self, tokens: &Range<usize>) -> &str {
        self.text.get(self.range(tokens)).unwrap_or_default()
    }

    /// Some words as they stand, white space between them as one space.
    pub fn shown(&self, tokens: &Range<usize>) -> String {
        let text = self.part(tokens);
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// Some words as they stand with up to [`MARKS`] of the marks that touch them, each
    /// number of them before and behind: which marks belong to words is not known.
    pub(crate) fn with_marks(&self, tokens: &Range<usize>) -> impl Iterator<Item = &str> {
        let Range { start, end } = self.range(tokens);
        let before = tokens.start.checked_sub(1).and_then(|i| self.places.get(i));
        let from = before.map_or(0, |place| place.end);
        let to = self.places.get(tokens.end);
        let to = to.map_or(self.text.len(), |place| place.start);
        let is_mark = |c: &(usize, char)| !c.1.is_whitespace();
        let marks = self
            .text
            .get(from..start)
            .unwrap_or_default()
            .char_indices();
        let marks = marks.rev().take_while(is_mark).take(MARKS);
        let mut starts: Vec<usize> = marks.map(|(at, _)| from + at).collect();
        // And all that stands before them.
        let all = self.text.get(from..start).unwrap_or_default();
        starts.push(start - all.trim_start().len());
        let marks = self.text.get(end..to).unwrap_or_default().char_indices();
        let marks = marks.take_while(is_mark).take(MARKS);
        let ends: Vec<usize> = marks.map(|(at, c)| end + at + c.len_utf8()).collect();
        let starts = std::iter::once(start).chain(starts);
        starts.flat_map(move |start| {
            let ends = std::iter::once(end).chain(ends.clone());
            ends.filter_map(move |end| self.text.get(start..end))
        })
    }

    /// What stands between a word and the one before it.
    pub(crate) fn before(&self, token: usize) -> &str {
        let before = token.checked_sub(1).and_then(|i| self.places.get(i));
        let from = before.map_or(0, |place| place.end);
        let to = self.places.get(token);
        let to = to.map_or(self.text.len(), |place| place.start);
        self.text.get(from..to).unwrap_or_default()
    }

    /// The canonical bytes of some tokens, each with a NUL behind it.
    pub(crate) fn canonical(&self, tokens: &Range<usize>) -> Vec<u8> {
        let mut all = Vec::new();
        for i in tokens.clone().filter(|i| *i < self.len()) {
            all.extend_from_slice(self.tokens.canonical(i));
            all.push(0);
        }
        all
    }
}

/// What was done to words.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Op {
    /// They were left out.
    Delete,
    /// They were put in.
    Insert,
    /// They were put in for others.
    Replace,
}

impl Op {
    /// As it is written down.
    pub fn name(self) -> &'static str {
        match self {
            Op::Delete => "delete",
            Op::Insert => "insert",
            Op::Replace => "replace",
        }
    }
}

/// A place where two texts differ.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Edit {
    /// What was done.
    pub op: Op,
    /// The words of the first text, as they stand there.
    pub from: String,
    /// The words of the second.
    pub to: String,
    /// Which tokens of both.
    pub change: Change,
}

impl Edit {
    /// A change in words.
    pub fn new(change: Change, first: &Words, second: &Words) -> Edit {
        Edit {
            op: match (change.a.is_empty(), change.b.is_empty()) {
                (false, true) => Op::Delete,
                (true, _) => Op::Insert,
                (false, false) => Op::Replace,
            },
            from: first.shown(&change.a),
            to: second.shown(&change.b),
            change,
        }
    }

    /// How many words it is about, of both texts; at least one.
    pub fn cost(&self) -> usize {
        // A variable that is gone is no token of either.
        (self.change.a.len() + self.change.b.len()).max(1)
    }
}
