//! Where a recipe's random choices come from: a public number or a secret key.
//!
//! Core has no randomness of its own. Every drawn constant (moduli, mix, permutations)
//! is read from a [`Stream`]: BLAKE3's extendable output, keyed by the seed and named
//! by what it is for, so that one choice more never shifts the others.

use std::fmt;

/// The fewest bytes a key file may hold: 128 bits.
pub const SHORTEST_KEY: usize = 16;

/// A recipe's seed.
#[derive(Clone, Eq, PartialEq)]
pub enum Seed {
    /// Anyone can compute the same sketches, also a hostile author who wants to avoid
    /// or hit the sample.
    Public(u64),
    /// Only holders of the key can.
    Secret(Key),
}

/// A secret of 256 bits, made from a key file. Never printed, never serialised.
#[derive(Clone, Eq, PartialEq)]
pub struct Key([u8; 32]);

/// A key file with too little in it.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("a key needs at least {SHORTEST_KEY} bytes, this has {0}")]
pub struct KeyTooShort(pub usize);

impl Key {
    /// The key of a file's bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Key, KeyTooShort> {
        if bytes.len() < SHORTEST_KEY {
            return Err(KeyTooShort(bytes.len()));
        }
        Ok(Key(blake3::derive_key("lookalike v1 key file", bytes)))
    }

    /// What may be told of the key: enough to notice the wrong one, nothing to compute with.
    pub fn id(&self) -> u64 {
        first_u64(&blake3::derive_key("lookalike v1 key id", &self.0))
    }
}

impl fmt::Debug for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Seed::Public(n) => write!(f, "Public({n})"),
            Seed::Secret(key) => write!(f, "Secret(key {:016x})", key.id()),
        }
    }
}

impl Seed {
    /// The stream of random words for one purpose.
    pub fn stream(&self, purpose: &str) -> Stream {
        let key = match self {
            Seed::Public(n) => blake3::derive_key("lookalike v1 public seed", &n.to_le_bytes()),
            Seed::Secret(key) => key.0,
        };
        let mut hasher = blake3::Hasher::new_keyed(&key);
        hasher.update(purpose.as_bytes());
        Stream {
            words: hasher.finalize_xof(),
            secret: matches!(self, Seed::Secret(_)),
        }
    }
}

/// An endless sequence of random words, the same for the same seed and purpose.
pub struct Stream {
    words: blake3::OutputReader,
    secret: bool,
}

impl Stream {
    /// The next word.
    pub fn next_u64(&mut self) -> u64 {
        let mut bytes = [0; 8];
        self.words.fill(&mut bytes);
        u64::from_le_bytes(bytes)
    }

    /// Whether the seed is a key.
    pub fn is_secret(&self) -> bool {
        self.secret
    }
}

pub(crate) fn first_u64(hash: &[u8; 32]) -> u64 {
    let (first, _) = hash.as_chunks::<8>();
    u64::from_le_bytes(first[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_by_seed_and_by_purpose_and_repeat() {
        let first = |seed: u64, purpose| Seed::Public(seed).stream(purpose).next_u64();
        assert_eq!(first(1, "rabin"), first(1, "rabin"));
        assert_ne!(first(1, "rabin"), first(2, "rabin"));
        assert_ne!(first(1, "rabin"), first(1, "perm"));
    }

    #[test]
    fn a_key_shows_its_id_and_not_itself() {
        let key = Key::from_bytes(b"0123456789abcdef").expect("16 bytes");
        let shown = format!("{:?}", Seed::Secret(key.clone()));
        assert_eq!(shown, format!("Secret(key {:016x})", key.id()));
        assert_eq!(Key::from_bytes(b"short").map(|_| ()), Err(KeyTooShort(5)));
    }
}
