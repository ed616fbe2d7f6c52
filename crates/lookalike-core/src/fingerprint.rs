//! Work in progress.

/// The 64-bit name of one shingle: Rabin's fingerprint, then a bijective mix, so
/// that over the recipe's seed it behaves like a random permutation's value.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[repr(transparent)]
pub struct Fingerprint(pub u64);
