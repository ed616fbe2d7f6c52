//! How a document begins, and the part of it that has most of what was asked for.
//!
//! One pass over the words of its first 256 KiB.

use std::collections::BTreeSet;

use super::query::Asked;
use super::words::words_of;

/// Text, and whether it is what was asked for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Piece {
    /// A part of the document's text; white space is one space.
    pub text: String,
    /// Whether it was asked for.
    pub is_asked: bool,
}

/// What is shown of a document.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Shown {
    /// Its first line, or as much of it as fits.
    pub title: String,
    /// Text around what was asked for, piece by piece.
    pub snippet: Vec<Piece>,
}

/// Bytes of a text that are looked at, letters of a title, words of a snippet.
const LOOKED_AT: usize = 256 << 10;
const TITLE: usize = 100;
const WORDS: usize = 40;

impl Shown {
    pub(super) fn of(text: &str, asked: &Asked) -> Shown {
        let mut end = text.len().min(LOOKED_AT);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let text = &text[..end];
        Shown {
            title: title(text),
            snippet: snippet(text, asked),
        }
    }
}

fn title(text: &str) -> String {
    let lines = text.lines().map(spaced);
    let first = lines.into_iter().find(|line| !line.trim().is_empty());
    let first = first.unwrap_or_default();
    let line = first.trim().trim_start_matches('#').trim_start();
    let mut title: String = line.chars().take(TITLE).collect();
    if line.chars().nth(TITLE).is_some() {
        title.push('…');
    }
    title
}

/// Text with one space for all that is white.
fn spaced(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        let is_white = letter.is_whitespace() || letter.is_control();
        if !is_white {
            out.push(letter);
        } else if !out.ends_with(' ') {
            out.push(' ');
        }
    }
    out
}

fn snippet(text: &str, asked: &Asked) -> Vec<Piece> {
    let wanted: BTreeSet<&[u8]> = asked.words().map(str::as_bytes).collect();
    let words = words_of(text);
    let is_asked = |at: usize| wanted.contains(words.canonical(at));
    // Where most different words stand together; of equal places the first.
    let mut best = (0, 0);
    let all: Vec<usize> = (0..words.len()).filter(|at| is_asked(*at)).collect();
    for (i, &from) in all.iter().enumerate() {
        let here = all[i..].iter().take_while(|at| **at < from + WORDS / 2);
        let here: BTreeSet<&[u8]> = here.map(|at| words.canonical(*at)).collect();
        if here.len() > best.0 {
            best = (here.len(), from);
        }
        if here.len() == wanted.len() {
            break;
        }
    }
    let from = best.1.saturating_sub(WORDS / 4);
    let to = (from + WORDS).min(words.len());
    if from >= to {
        return Vec::new();
    }
    let mut pieces = Vec::new();
    let mut put = |text: &str, is_asked: bool| {
        let text = spaced(text);
        if !text.is_empty() {
            pieces.push(Piece { text, is_asked });
        }
    };
    if from > 0 {
        put("… ", false);
    }
    let mut done = words.source(from).start;
    for at in (from..to).filter(|at| is_asked(*at)) {
        let place = words.source(at);
        if place.start < done {
            continue;
        }
        put(&text[done..place.start], false);
        put(&text[place.clone()], true);
        done = place.end;
    }
    put(&text[done..words.source(to - 1).end.max(done)], false);
    if to < words.len() {
        put(" …", false);
    }
    pieces
}
