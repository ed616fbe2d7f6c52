//! A sketch as bytes: versioned, checked, and refused rather than guessed at.
//!
//! ```text
//! "LKSK" | version u8 | kind u8 | level u8 | family u8 | recipe u64
//! samples u64 | modulus u64 | tokens u64 | count u64 | count × u64 | crc32 u32
//! ```
//!
//! Little-endian throughout. `samples` is the kind's N, s or t and `modulus` its m (0
//! where it has none); `level` is for nested sketches, `family` for permutations. The
//! checksum covers everything before it.

use super::nested::BadNested;
use super::{Kept, MinSketch, ModSketch, NestedSketch, NotIncreasing, PermSketch, Sketch};
use crate::permutation::Family;
use crate::recipe::{MOST_SAMPLES, RecipeId, SketchKind};

/// The first bytes of every sketch.
pub const MAGIC: [u8; 4] = *b"LKSK";

/// The version written, and the only one there is.
pub const VERSION: u8 = 1;

/// Bytes before the fingerprints.
const HEADER: usize = 48;

/// Bytes that are no sketch.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BadSketch {
    /// Something else altogether.
    #[error("it is not a sketch")]
    Magic,
    /// Made by a later program.
    #[error("it is a sketch of format {0}, this program reads format {VERSION}")]
    Version(u8),
    /// Cut off, or with something behind it.
    #[error("its length does not fit its contents")]
    Length,
    /// Changed on the way.
    #[error("its checksum is wrong: it is damaged")]
    Checksum,
    /// The checksum is right, so it was written wrong.
    #[error("its header makes no sense")]
    Header,
    /// Fingerprints out of order.
    #[error(transparent)]
    Order(#[from] NotIncreasing),
    /// Fingerprints that do not belong.
    #[error(transparent)]
    Nested(#[from] BadNested),
}

impl Sketch {
    /// The sketch as bytes: 52 and 8 for each sample.
    pub fn to_bytes(&self) -> Vec<u8> {
        let (kind, samples, modulus, family) = match self.kind {
            SketchKind::Nested { samples } => (0, samples, 0, 0),
            SketchKind::Mod { modulus } => (1, 0, modulus, 0),
            SketchKind::Min { samples } => (2, samples, 0, 0),
            SketchKind::MinMod { samples, modulus } => (3, samples, modulus, 0),
            SketchKind::Perm { samples, family } => (4, samples, 0, family_code(family)),
        };
        let level = match &self.kept {
            Kept::Nested(sketch) => u8::try_from(sketch.level()).unwrap_or(64),
            _ => 0,
        };
        let kept = self.samples();
        let mut bytes = Vec::with_capacity(HEADER + 8 * kept.len() + 4);
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&[VERSION, kind, level, family]);
        for word in [
            self.recipe.0,
            samples as u64,
            modulus,
            self.tokens,
            kept.len() as u64,
        ] {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        for fingerprint in kept {
            bytes.extend_from_slice(&fingerprint.to_le_bytes());
        }
        let checksum = crc32fast::hash(&bytes);
        bytes.extend_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// Reads what [`Sketch::to_bytes`] wrote. Never panics, whatever the bytes, and
    /// allocates no more than they hold.
    pub fn from_bytes(bytes: &[u8]) -> Result<Sketch, BadSketch> {
        let rest = bytes.strip_prefix(&MAGIC).ok_or(BadSketch::Magic)?;
        match rest.first() {
            Some(&VERSION) => {}
            Some(&other) => return Err(BadSketch::Version(other)),
            None => return Err(BadSketch::Length),
        }
        let (body, checksum) = bytes.split_last_chunk::<4>().ok_or(BadSketch::Length)?;
        let (header, kept) = body.split_at_checked(HEADER).ok_or(BadSketch::Length)?;
        if crc32fast::hash(body) != u32::from_le_bytes(*checksum) {
            return Err(BadSketch::Checksum);
        }
        let words: Vec<u64> = header[8..]
            .as_chunks()
            .0
            .iter()
            .map(|word| u64::from_le_bytes(*word))
            .collect();
        let (&[_, _, _, _, _, kind, level, family], &[recipe, samples, modulus, tokens, count]) =
            (header.first_chunk().ok_or(BadSketch::Length)?, &*words)
        else {
            return Err(BadSketch::Length);
        };
        let (fingerprints, left) = kept.as_chunks();
        if !left.is_empty() || fingerprints.len() as u64 != count {
            return Err(BadSketch::Length);
        }
        let fingerprints: Vec<u64> = fingerprints
            .iter()
            .map(|word| u64::from_le_bytes(*word))
            .collect();
        let samples = usize::try_from(samples).map_err(|_| BadSketch::Header)?;
        // What a kind has no use for is 0, what it keeps is within its limits, and only a
        // document with tokens has fingerprints.
        let unused = (kind != 0 && level != 0) || (kind != 4 && family != 0);
        if unused || samples > MOST_SAMPLES || (tokens == 0 && count > 0) {
            return Err(BadSketch::Header);
        }
        let (kind, kept) = match (kind, modulus) {
            (0, 0) if level <= 64 && fingerprints.len() <= samples => (
                SketchKind::Nested { samples },
                Kept::Nested(NestedSketch::from_sorted(level.into(), fingerprints)?),
            ),
            (1, 1..) => (
                SketchKind::Mod { modulus },
                Kept::Mod(ModSketch::from_sorted(fingerprints)?),
            ),
            (2, 0) if fingerprints.len() <= samples => (
                SketchKind::Min { samples },
                Kept::Min(MinSketch::from_sorted(fingerprints)?),
            ),
            (3, 1..) if fingerprints.len() <= samples => (
                SketchKind::MinMod { samples, modulus },
                Kept::Min(MinSketch::from_sorted(fingerprints)?),
            ),
            (4, 0) if fingerprints.is_empty() || fingerprints.len() == samples => {
                let family = family_of(family).ok_or(BadSketch::Header)?;
                (
                    SketchKind::Perm { samples, family },
                    Kept::Perm(PermSketch::from_samples(fingerprints)),
                )
            }
            _ => return Err(BadSketch::Header),
        };
        Ok(Sketch::new(RecipeId(recipe), kind, tokens, kept))
    }
}

fn family_code(family: Family) -> u8 {
    match family {
        Family::Linear => 0,
        Family::Matrix => 1,
        Family::Tabulation => 2,
        Family::LeadByte => 3,
        Family::Weighted => 4,
    }
}

fn family_of(code: u8) -> Option<Family> {
    Family::ALL
        .into_iter()
        .chain([Family::Weighted])
        .find(|&family| family_code(family) == code)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recipe::Recipe;
    use crate::sketcher::Sketcher;
    use proptest::prelude::*;

    const TEXT: &str = "One text with a good many words in it, so that a sketch of it has something to keep \
        at every setting we try here, and so that the fingerprints are many enough to be cut, \
        swapped and damaged in all the ways that disks and networks have of doing that to bytes.";

    fn sketches() -> Vec<Sketch> {
        [
            "nested:16",
            "nested:256",
            "mod:3",
            "min:8",
            "min-mod:5,2",
            "perm:9,lead-byte",
            "perm:4,linear",
        ]
        .map(|kind| Recipe {
            sketch: kind.parse().expect("valid"),
            ..Recipe::default()
        })
        .iter()
        .flat_map(|recipe| [TEXT, ""].map(|text| Sketcher::new(recipe).sketch(text)))
        .collect()
    }

    #[test]
    fn what_is_written_is_read_again() {
        for sketch in sketches() {
            assert_eq!(Sketch::from_bytes(&sketch.to_bytes()), Ok(sketch));
        }
    }

    #[test]
    fn every_single_changed_byte_and_every_cut_is_noticed() {
        for sketch in sketches() {
            let good = sketch.to_bytes();
            for i in 0..good.len() {
                let mut bad = good.clone();
                bad[i] ^= 0x10;
                assert!(
                    Sketch::from_bytes(&bad).is_err(),
                    "byte {i} of {:?}",
                    sketch.kind()
                );
                assert!(Sketch::from_bytes(&good[..i]).is_err());
            }
            assert!(Sketch::from_bytes(&[good, vec![0]].concat()).is_err());
        }
    }

    proptest! {
        #[test]
        fn random_bytes_are_refused_and_not_panicked_at(mut bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(Sketch::from_bytes(&bytes).is_err());
            // The same with everything but the inside made right.
            if bytes.len() > 8 {
                bytes[..5].copy_from_slice(&[b'L', b'K', b'S', b'K', VERSION]);
                let at = bytes.len() - 4;
                let checksum = crc32fast::hash(&bytes[..at]);
                bytes[at..].copy_from_slice(&checksum.to_le_bytes());
                let _ = Sketch::from_bytes(&bytes);
            }
        }
    }
}
