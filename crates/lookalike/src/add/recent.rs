//! What became of the documents read last: one that comes again is not sketched again.
//!
//! Copies stand near each other: mirrors of one package, pages under several addresses.
//! Of 128,055 documents of Debian packages 13,607 have the bytes of an earlier one, all
//! but fourteen of them within four thousand. What is sketched follows from the bytes and
//! how they are read alone, so the answer is the same whether one is found here or not.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use hashbrown::HashMap;

use crate::collection::entry::{Entry, Flag, SketchHead};
use crate::corpus::record::Body;

/// What a document came to.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) tokens: u64,
    pub(crate) tokens_name: u128,
    pub(crate) sketch: SketchHead,
    pub(crate) sketch_name: u128,
    /// Whether something in it was no text.
    pub(crate) is_repaired: bool,
    /// As they are written; `None` where an older sweep has the document, for whatever has
    /// its content is a copy of it or the same again.
    pub(crate) samples: Option<Box<[u8]>>,
}

impl Known {
    /// What an older document came to that has the same content and was read alike.
    pub(crate) fn older(entry: &Entry, body: &Body<'_>) -> Known {
        Known {
            tokens: entry.tokens,
            tokens_name: entry.tokens_name,
            sketch: entry.sketch,
            sketch_name: entry.sketch_name,
            // A text is repaired before it is a body, and the same one need not be.
            is_repaired: matches!(body, Body::Bytes { .. }) && entry.has(Flag::Repaired),
            samples: None,
        }
    }

    fn cost(&self) -> u64 {
        self.samples
            .as_ref()
            .map_or(0, |samples| samples.len() as u64)
            + 256
    }
}

/// A document's bytes, by name, and how they are read.
pub(crate) type Key = (u128, u32);

/// The last documents, as many as fit.
#[derive(Debug)]
pub(crate) struct Recent {
    most: u64,
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    by_key: HashMap<Key, Arc<Known>>,
    /// In the order they came.
    order: VecDeque<Key>,
    bytes: u64,
}

impl Recent {
    /// Room for so many bytes.
    pub(crate) fn new(most: u64) -> Recent {
        Recent {
            most,
            held: Mutex::default(),
        }
    }

    pub(crate) fn get(&self, key: &Key) -> Option<Arc<Known>> {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.by_key.get(key).cloned()
    }

    /// Keeps one for a while, and gives it.
    pub(crate) fn add(&self, key: Key, known: Known) -> Arc<Known> {
        let cost = known.cost();
        let known = Arc::new(known);
        // One that would drive out many others is not worth it.
        if cost > self.most / 16 {
            return known;
        }
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if held.by_key.insert(key, Arc::clone(&known)).is_none() {
            held.order.push_back(key);
            held.bytes += cost;
        }
        while held.bytes > self.most
            && let Some(first) = held.order.pop_front()
        {
            let gone = held.by_key.remove(&first);
            held.bytes -= gone.map_or(0, |gone| gone.cost());
        }
        known
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(tokens: u64) -> Known {
        Known {
            tokens,
            tokens_name: 0,
            sketch: SketchHead::default(),
            sketch_name: 0,
            is_repaired: false,
            samples: Some(Box::default()),
        }
    }

    #[test]
    fn the_last_are_known_and_the_first_forgotten() {
        let recent = Recent::new(16 * 256);
        for number in 0..40 {
            recent.add((u128::from(number), 0), known(number));
        }
        let tokens = |number: u64| recent.get(&(number.into(), 0)).map(|known| known.tokens);
        assert_eq!(tokens(39), Some(39));
        assert_eq!(tokens(24), Some(24));
        assert_eq!(tokens(23), None);
        assert!(recent.get(&(39, 1)).is_none());
    }
}
