//! What became of every record that was read: the sums add up.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::corpus::record::Refused;

/// Counts of what was read. `read = added + skipped + rejected`, once all is done.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct Tally {
    /// Records met, of whatever kind.
    pub read: u64,
    /// Left out by their nature, by reason.
    pub skipped: BTreeMap<String, u64>,
    /// Asked for and not to be had, by reason.
    pub rejected: BTreeMap<String, u64>,
    /// Documents with malformed bytes, which became U+FFFD.
    pub repaired: u64,
    /// Documents whose date is no date.
    pub dates_unreadable: u64,
    /// Documents with fewer tokens than a shingle.
    pub short: u64,
    /// Bytes of all bodies.
    pub bytes: u64,
    /// Tokens of all documents.
    pub tokens: u64,
}

impl Tally {
    /// Counts a record that is not taken.
    pub(crate) fn refuse(&mut self, refused: &Refused) {
        self.read += 1;
        let map = if refused.is_rejected {
            &mut self.rejected
        } else {
            &mut self.skipped
        };
        *map.entry(refused.code.to_owned()).or_insert(0) += 1;
    }

    /// Adds another tally.
    pub(crate) fn add(&mut self, other: &Tally) {
        self.read += other.read;
        self.repaired += other.repaired;
        self.dates_unreadable += other.dates_unreadable;
        self.short += other.short;
        self.bytes += other.bytes;
        self.tokens += other.tokens;
        for (mine, theirs) in [
            (&mut self.skipped, &other.skipped),
            (&mut self.rejected, &other.rejected),
        ] {
            for (code, count) in theirs {
                *mine.entry(code.clone()).or_insert(0) += count;
            }
        }
    }

    /// How many records were rejected, whatever the reason.
    pub fn rejects(&self) -> u64 {
        self.rejected.values().sum()
    }

    /// How many records were skipped, whatever the reason.
    pub fn skips(&self) -> u64 {
        self.skipped.values().sum()
    }
}
