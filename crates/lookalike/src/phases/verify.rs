//! Documents read again → the sets of their fingerprints → true pairs.
//!
//! ```text
//! source, where documents stand in it ─► fingerprints of all shingles, sorted, 8 bytes each
//! two sets ─► the exact pair
//! ```

use std::collections::BTreeMap;

use lookalike_core::recipe::Recipe;
use lookalike_core::sketcher::Sketcher;
use lookalike_core::spread::SpreadSort;

use super::Garbled;
use crate::corpus::inputs::Source;
use crate::corpus::options::ReadOptions;
use crate::corpus::read::{SourceError, fetch};
use crate::corpus::record::Offset;
use crate::pairs::Pair;

/// A document that is read again.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Wanted {
    /// Its number.
    pub doc: u32,
    /// Where it stands in its source.
    pub offset: u64,
    /// The name of the tokens that it had: another text tells nothing of it.
    pub tokens_name: u128,
}

/// Calls `each` with the number of every document of a source that still is what it was,
/// and its set.
pub fn sets(
    source: &Source,
    wanted: &[Wanted],
    recipe: &Recipe,
    options: &ReadOptions,
    mut each: impl FnMut(u32, Vec<u8>),
) -> Result<(), SourceError> {
    let mut at: BTreeMap<u64, Vec<Wanted>> = BTreeMap::new();
    for one in wanted {
        at.entry(one.offset).or_default().push(*one);
    }
    let offsets: Vec<Offset> = at.keys().copied().map(Offset).collect();
    let mut sketcher = Sketcher::new(recipe);
    let mut sort = SpreadSort::default();
    fetch(source, &offsets, options, &mut |offset, record| {
        let Ok(record) = record else {
            return;
        };
        let Ok(document) = record.document(options) else {
            return;
        };
        let mut all = Vec::new();
        document.fingerprints(&mut sketcher, &mut all);
        let name = sketcher.tokens_name().0;
        let len = sort.sort_and_dedup(&mut all);
        all.truncate(len);
        for one in at.get(&offset.0).into_iter().flatten() {
            if one.tokens_name == name {
                each(one.doc, all.iter().flat_map(|x| x.to_le_bytes()).collect());
            }
        }
    })
}

/// The true pair of two documents, from their sets.
pub fn exact(a: u32, b: u32, of_a: &[u8], of_b: &[u8]) -> Result<Pair, Garbled> {
    let set = |bytes: &[u8]| -> Result<Vec<u64>, Garbled> {
        match bytes.as_chunks() {
            (words, []) => Ok(words.iter().map(|word| u64::from_le_bytes(*word)).collect()),
            _ => Err(Garbled("sets")),
        }
    };
    Ok(Pair::of_sets(a, b, &set(of_a)?, &set(of_b)?))
}
