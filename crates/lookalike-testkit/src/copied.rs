//! Pairs of texts of which it is known what the one copied of the other.
//!
//! ```text
//! A: words │ passage 1 │ words │ passage 2 │ words
//! B: other words │ passage 2, edited │ other words │ passage 1, edited │ other words
//! ```
//!
//! Words are drawn as in a language: a few make up half of every text. Passages come in
//! any order, and words of them are replaced, left out or put in, one to three at a time.

use crate::texts::Draw;

/// Two texts.
#[derive(Clone, Debug)]
pub struct Copied {
    /// The words of the first.
    pub a: Vec<String>,
    /// The words of the second.
    pub b: Vec<String>,
    /// For each word of the first, whether the second has it from there, unchanged.
    pub is_copied: Vec<bool>,
}

/// How many different words there are.
const VOCABULARY: u64 = 5000;

/// A word, the `n`th commonest about one in `n` times as often as the commonest.
fn word(draw: &mut Draw) -> String {
    // 2^x for x even from 0 to log2(VOCABULARY) falls off just so.
    let bits = f64::from(u32::try_from(draw.below(1 << 20)).unwrap_or(0)) / f64::from(1 << 20);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 1 and the number of words"
    )]
    let rank = (VOCABULARY as f64).powf(bits) as u64;
    format!("w{rank}")
}

fn text(draw: &mut Draw, least: u64, most: u64) -> Vec<String> {
    let count = least + draw.below(most - least);
    (0..count).map(|_| word(draw)).collect()
}

/// The pair of a seed: one to six passages of 30 to 300 words, edited every 20 words, every
/// 30, every 60 or not at all.
pub fn pair(seed: u64) -> Copied {
    let edits = [20, 30, 60, u64::MAX][usize::try_from(seed % 4).unwrap_or(0)];
    edited(seed, edits)
}

/// The pair of a seed whose passages are edited every so many words.
pub fn edited(seed: u64, edits: u64) -> Copied {
    let mut draw = Draw::new(seed);
    let mut pair = Copied {
        a: text(&mut draw, 0, 200),
        b: Vec::new(),
        is_copied: Vec::new(),
    };
    pair.is_copied.resize(pair.a.len(), false);
    let mut passages = Vec::new();
    for _ in 0..=draw.below(6) {
        let passage = text(&mut draw, 30, 300);
        passages.push((pair.a.len(), passage.clone()));
        pair.is_copied.resize(pair.a.len() + passage.len(), true);
        pair.a.extend(passage);
        pair.a.extend(text(&mut draw, 20, 200));
        pair.is_copied.resize(pair.a.len(), false);
    }
    while !passages.is_empty() {
        let which = draw.below(passages.len() as u64);
        let (from, passage) = passages.swap_remove(usize::try_from(which).unwrap_or(0));
        pair.b.extend(text(&mut draw, 20, 200));
        let mut at = 0;
        while at < passage.len() {
            if draw.below(edits) > 0 {
                pair.b.push(passage[at].clone());
                at += 1;
                continue;
            }
            let many = 1 + usize::try_from(draw.below(3)).unwrap_or(0);
            let (gone, come) = match draw.below(3) {
                0 => (many, many),
                1 => (many, 0),
                _ => (0, many),
            };
            let gone = gone.min(passage.len() - at);
            pair.is_copied[from + at..from + at + gone].fill(false);
            pair.b.extend((0..come).map(|_| word(&mut draw)));
            // What comes next was kept: two edits in one place are one.
            let kept = (at + gone).min(passage.len());
            pair.b.extend(passage.get(kept).cloned());
            at = kept + 1;
        }
        pair.b.extend(text(&mut draw, 0, 200));
    }
    pair
}
