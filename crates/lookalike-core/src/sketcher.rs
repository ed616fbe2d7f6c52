//! Text → sketch in one pass: the whole flow of this crate, for one document at a time.
//!
//! ```text
//! text ─► token values ─► windows of w ─► fingerprints ─► sampler ─► Sketch
//!         a few KiB at a time: all of it stays in the first cache
//! ```
//!
//! Time O(bytes), no allocation per token or shingle. Memory besides the text itself:
//! O(sketch), and the longest token. (Labelled shingles must be counted: O(distinct
//! shingles) there.)

use std::fmt;

use crate::canonical::{self, TokenKind, words};
use crate::fingerprint::Rabin;
use crate::recipe::{Recipe, RecipeId, SketchKind};
use crate::shingle::Shingling;
use crate::simd::bytes::words_as_bytes;
use crate::simd::{Filter, Kernel, Level, Scratch};
use crate::sketch::min::MinSampler;
use crate::sketch::modulo::ModSampler;
use crate::sketch::nested::NestedSampler;
use crate::sketch::perm::{PermSketcher, PermState};
use crate::sketch::{Kept, Sketch};
use crate::weighted::{BadWeight, WeightedSet};
use hashbrown::HashMap;
use xxhash_rust::xxh3::Xxh3Default;

/// The name of a document's tokens: equal for equal sequences of tokens, and by chance
/// (2^-128 for any two) for others. Of one recipe; not for strangers to trust, who may
/// build two texts with one name as they may build two with one fingerprint.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct TokensName(pub u128);

/// Makes sketches by one recipe. Not shared between threads: each has its own.
#[derive(Debug)]
pub struct Sketcher {
    recipe: Recipe,
    id: RecipeId,
    sampler: Sampler,
    shingler: Shingler,
    level: Level,
}

impl Sketcher {
    /// A sketcher with the best instructions this processor has.
    pub fn new(recipe: &Recipe) -> Sketcher {
        Sketcher::with_level(recipe, Level::best())
    }

    /// A sketcher with given instructions, for tests and benchmarks.
    ///
    /// # Panics
    ///
    /// When the processor does not have them.
    pub fn with_level(recipe: &Recipe, level: Level) -> Sketcher {
        let rabin = Rabin::draw(&mut recipe.seed.stream("rabin"));
        let kernel = Kernel::new(&rabin, recipe.width.get(), recipe.case, level);
        Sketcher::of(recipe, level, kernel)
    }

    fn of(recipe: &Recipe, level: Level, kernel: Kernel) -> Sketcher {
        Sketcher {
            id: recipe.id(),
            sampler: Sampler::new(recipe, level),
            shingler: Shingler::new(kernel, recipe),
            level,
            recipe: recipe.clone(),
        }
    }

    /// One more, for another thread: to draw a recipe's polynomials takes as long as to
    /// sketch some tens of documents, and is done once.
    #[must_use]
    pub fn another(&self) -> Sketcher {
        Sketcher::of(&self.recipe, self.level, self.shingler.kernel.clone())
    }

    /// The recipe.
    pub fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    /// The sketch of a text.
    pub fn sketch(&mut self, text: &str) -> Sketch {
        let Sketcher {
            recipe,
            sampler,
            shingler,
            ..
        } = self;
        let tokens = shingler.text(text, recipe.tokens, &mut |block| sampler.push(block));
        Sketch::new(self.id, recipe.sketch, tokens, sampler.finish())
    }

    /// The name of the tokens that were sketched last: two documents of one name say the
    /// same, whatever their white space, case and punctuation.
    pub fn tokens_name(&self) -> TokensName {
        self.shingler.namer.name()
    }

    /// The sketch of a document given as its features, in order.
    pub fn sketch_features<F: AsRef<[u8]>>(
        &mut self,
        features: impl IntoIterator<Item = F>,
    ) -> Sketch {
        let Sketcher {
            recipe,
            sampler,
            shingler,
            ..
        } = self;
        let tokens = shingler.features(features, &mut |block| sampler.push(block));
        Sketch::new(self.id, recipe.sketch, tokens, sampler.finish())
    }

    /// A document given as features with weights, as a set of fingerprints; its name is then
    /// [`Sketcher::tokens_name`]. Features must come in an order of their own, and be no
    /// shingles: of several in a row nobody knows the weight.
    ///
    /// # Panics
    ///
    /// When the recipe's shingles are wider than one feature.
    pub fn weighted_set<F: AsRef<[u8]>>(
        &mut self,
        features: impl IntoIterator<Item = (F, f64)>,
    ) -> Result<WeightedSet, BadWeight> {
        assert_eq!(
            self.recipe.width.get(),
            1,
            "shingles of features have no weight"
        );
        let (names, weights): (Vec<F>, Vec<f64>) = features.into_iter().unzip();
        let mut all = Vec::with_capacity(names.len());
        self.shingler
            .features(&names, &mut |block| all.extend_from_slice(block));
        let bits: Vec<u64> = weights.iter().map(|weight| weight.to_bits()).collect();
        self.shingler.namer.push(&bits);
        WeightedSet::new(all.into_iter().zip(weights).collect())
    }

    /// The sketch of a document given as features with weights.
    ///
    /// # Panics
    ///
    /// When the recipe is not of [`Family::Weighted`](crate::permutation::Family::Weighted),
    /// or as [`Sketcher::weighted_set`].
    pub fn sketch_weighted<F: AsRef<[u8]>>(
        &mut self,
        features: impl IntoIterator<Item = (F, f64)>,
    ) -> Result<Sketch, BadWeight> {
        let set = self.weighted_set(features)?;
        let Sampler::Perm(sketcher, state) = &mut self.sampler else {
            panic!("the recipe knows no weights");
        };
        for &(element, weight) in set.elements() {
            sketcher.push_weighted(state, element, weight);
        }
        let tokens = set.elements().len() as u64;
        Ok(Sketch::new(
            self.id,
            self.recipe.sketch,
            tokens,
            self.sampler.finish(),
        ))
    }

    /// Calls `each` with the fingerprints of all shingles of a text, in reading order and
    /// with repetitions, a block at a time. Returns the number of tokens.
    pub fn fingerprints(&mut self, text: &str, mut each: impl FnMut(&[u64])) -> u64 {
        self.shingler.text(text, self.recipe.tokens, &mut each)
    }

    /// The same for a document given as its features, in order.
    pub fn feature_fingerprints<F: AsRef<[u8]>>(
        &mut self,
        features: impl IntoIterator<Item = F>,
        mut each: impl FnMut(&[u64]),
    ) -> u64 {
        self.shingler.features(features, &mut each)
    }
}

/// Token values waiting for their windows.
#[derive(Debug)]
struct Shingler {
    kernel: Kernel,
    width: usize,
    /// Windows are taken when so many tokens wait.
    full: usize,
    scratch: Scratch,
    waiting: Vec<u64>,
    fingerprints: Vec<u64>,
    /// Tokens that have left `waiting`.
    gone: u64,
    /// Option A: how often each residue has come.
    occurrences: Option<HashMap<u64, u64>>,
    case: canonical::Case,
    room: words::Room,
    escaped: Vec<u8>,
    namer: Namer,
}

impl Shingler {
    fn new(kernel: Kernel, recipe: &Recipe) -> Shingler {
        let width = recipe.width.get();
        Shingler {
            kernel,
            width,
            // Each batch starts its first window from nothing: w − 1 steps of overhead,
            // an eighth at most.
            full: 1024.max(width.saturating_mul(8)),
            scratch: Scratch::default(),
            waiting: Vec::new(),
            fingerprints: Vec::new(),
            gone: 0,
            occurrences: (recipe.shingling == Shingling::Labelled).then(HashMap::new),
            case: recipe.case,
            room: words::Room::default(),
            escaped: Vec::new(),
            namer: Namer::default(),
        }
    }

    fn text(&mut self, text: &str, kind: TokenKind, each: &mut dyn FnMut(&[u64])) -> u64 {
        self.begin();
        match kind {
            TokenKind::Word => {
                // It cannot be used here and be part of the state.
                let mut room = std::mem::take(&mut self.room);
                words::alternate(
                    text,
                    self.case,
                    &mut room,
                    &mut (&mut *self, &mut *each),
                    |(this, each), stretch, next| {
                        let (scratch, waiting) = (&mut this.scratch, &mut this.waiting);
                        this.kernel.plain_words(stretch, next, scratch, waiting);
                        this.flush_if_full(*each);
                    },
                    |(this, each), word| {
                        this.waiting.push(this.kernel.token_value(word));
                        this.flush_if_full(*each);
                    },
                );
                self.room = room;
            }
            _ => canonical::for_each_token(text, kind, self.case, |token, _| {
                self.waiting.push(self.kernel.token_value(token));
                self.flush_if_full(each);
            }),
        }
        self.end(each)
    }

    fn features<F: AsRef<[u8]>>(
        &mut self,
        features: impl IntoIterator<Item = F>,
        each: &mut dyn FnMut(&[u64]),
    ) -> u64 {
        self.begin();
        for feature in features {
            self.escaped.clear();
            canonical::feature_bytes(feature.as_ref(), &mut self.escaped);
            self.waiting.push(self.kernel.token_value(&self.escaped));
            self.flush_if_full(each);
        }
        self.end(each)
    }

    fn begin(&mut self) {
        self.waiting.clear();
        self.gone = 0;
        self.namer.hash.reset();
        if let Some(occurrences) = &mut self.occurrences {
            occurrences.clear();
        }
    }

    #[inline]
    fn flush_if_full(&mut self, each: &mut dyn FnMut(&[u64])) {
        if self.waiting.len() >= self.full {
            self.flush(each);
        }
    }

    /// Takes all whole windows; the last w − 1 tokens stay for the next batch.
    fn flush(&mut self, each: &mut dyn FnMut(&[u64])) {
        if self.waiting.len() < self.width {
            return;
        }
        self.fingerprints.clear();
        match &mut self.occurrences {
            None => self
                .kernel
                .fingerprints(&self.waiting, &mut self.fingerprints),
            Some(occurrences) => {
                self.kernel.residues(&self.waiting, &mut self.fingerprints);
                let rabin = self.kernel.rabin();
                for residue in &mut self.fingerprints {
                    let count = occurrences.entry(*residue).or_insert(0);
                    *count += 1;
                    *residue = rabin.mix.apply(rabin.extend(*residue, *count)).0;
                }
            }
        }
        each(&self.fingerprints);
        let done = self.waiting.len() - (self.width - 1);
        self.gone += done as u64;
        self.namer.push(&self.waiting[..done]);
        self.waiting.drain(..done);
    }

    fn end(&mut self, each: &mut dyn FnMut(&[u64])) -> u64 {
        let tokens = self.gone + self.waiting.len() as u64;
        if self.gone == 0 && (1..self.width).contains(&self.waiting.len()) {
            // Shorter than one shingle: one shingle of all there is.
            let rabin = self.kernel.rabin();
            let only = match self.occurrences {
                None => rabin.shingle(&self.waiting),
                Some(_) => rabin.labelled(&self.waiting, 1),
            };
            each(&[only.0]);
        } else {
            self.flush(each);
        }
        self.namer.push(&self.waiting);
        tokens
    }
}

/// Names a sequence of token values as they come: XXH3 of their bytes.
#[derive(Clone, Default)]
struct Namer {
    hash: Xxh3Default,
}

impl fmt::Debug for Namer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Namer({:032x})", self.hash.digest128())
    }
}

impl Namer {
    fn push(&mut self, values: &[u64]) {
        words_as_bytes(values, |bytes| self.hash.update(bytes));
    }

    fn name(&self) -> TokensName {
        TokensName(self.hash.digest128())
    }
}

/// A sketch in the making. Kept from document to document with its buffers.
#[derive(Debug)]
enum Sampler {
    Nested(Box<NestedSampler>),
    Mod(ModSampler),
    Min(MinSampler),
    Perm(PermSketcher, PermState),
}

impl Sampler {
    fn new(recipe: &Recipe, level: Level) -> Sampler {
        match recipe.sketch {
            SketchKind::Nested { samples } => {
                Sampler::Nested(Box::new(NestedSampler::new(samples, Filter::new(level))))
            }
            SketchKind::Mod { modulus } => Sampler::Mod(ModSampler::new(modulus)),
            SketchKind::Min { samples } => Sampler::Min(MinSampler::new(samples, 1)),
            SketchKind::MinMod { samples, modulus } => {
                Sampler::Min(MinSampler::new(samples, modulus))
            }
            SketchKind::Perm { samples, family } => {
                let seed = recipe.seed.stream("permutations").next_u64();
                let sketcher = PermSketcher::new(family, samples, seed);
                let state = sketcher.start();
                Sampler::Perm(sketcher, state)
            }
        }
    }

    fn push(&mut self, fingerprints: &[u64]) {
        match self {
            Sampler::Nested(sampler) => sampler.push(fingerprints),
            Sampler::Mod(sampler) => sampler.push(fingerprints),
            Sampler::Min(sampler) => sampler.push(fingerprints),
            Sampler::Perm(sketcher, state) => sketcher.push(state, fingerprints),
        }
    }

    /// What was kept; the sampler is as new.
    fn finish(&mut self) -> Kept {
        match self {
            Sampler::Nested(sampler) => Kept::Nested(sampler.finish()),
            Sampler::Mod(sampler) => Kept::Mod(sampler.finish()),
            Sampler::Min(sampler) => Kept::Min(sampler.finish()),
            Sampler::Perm(sketcher, state) => {
                let done = std::mem::replace(state, sketcher.start());
                Kept::Perm(sketcher.finish(done))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canonical::{Case, Tokens};
    use crate::shingle::{Width, windows};
    use proptest::prelude::*;

    /// Every fingerprint of a text, by definition.
    fn slow(text: &str, recipe: &Recipe) -> Vec<u64> {
        let rabin = Rabin::draw(&mut recipe.seed.stream("rabin"));
        let tokens = Tokens::of_text(text, recipe.tokens, recipe.case);
        let values: Vec<u64> = tokens
            .iter()
            .map(|token| rabin.token_value(token))
            .collect();
        let mut seen: Vec<&[u64]> = Vec::new();
        windows(values.len(), recipe.width)
            .map(|window| {
                let shingle = &values[window];
                seen.push(shingle);
                let occurrence = seen.iter().filter(|&&other| other == shingle).count() as u64;
                match recipe.shingling {
                    Shingling::Set => rabin.shingle(shingle).0,
                    Shingling::Labelled => rabin.labelled(shingle, occurrence).0,
                }
            })
            .collect()
    }

    /// Characters that have a plain form, that have one at times, and that have none.
    const ODD: &[char] = &[
        'a', 'Z', '7', '_', '\'', '.', ':', ',', '"', ' ', '\n', 'é', 'É', 'ß', 'ı', 'İ', 'ﬁ', 'К',
        'Ａ', '７', '٣', '\u{212a}', 'ª', '²', '½', '①', 'ⓐ', '각', '漢', 'の', 'ト', 'ー', 'ｶ',
        'ﾞ', 'ก', 'ำ', 'א', '’', '‘', '“', '—', '·', '…', '，', '‿', '→', '─', '\u{a0}', '\u{3000}',
        '\u{2028}', '\u{85}', '\u{301}', '\u{ad}', '\u{200d}', '\u{2c2}', '\u{37e}', '🔬', '🇩',
        '𝐀',
    ];

    fn text() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            4 => "[a-c]{1,3}",
            2 => "[a-zA-Z0-9_]{1,30}",
            2 => "[a-zé漢ア'’.:,]{1,12}",
            4 => Just(" ".to_owned()),
            1 => Just("\n".to_owned()),
            1 => "\\PC{1,6}",
            4 => prop::collection::vec(prop::sample::select(ODD), 1..6)
                .prop_map(|chars| chars.into_iter().collect::<String>()),
            1 => Just(" plain words that go on for more than the thirty-two bytes looked ahead ".to_owned()),
        ];
        prop::collection::vec(piece, 0..80).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases))]

        #[test]
        fn every_level_gives_the_fingerprints_of_the_definition(
            text in text(), width in 1_usize..12, labelled in any::<bool>(), secret in any::<bool>(), kind in 0_usize..5,
        ) {
            let recipe = Recipe {
                tokens: [TokenKind::Word, TokenKind::Char, TokenKind::Line, TokenKind::Byte, TokenKind::Feature][kind],
                width: Width::new(width).expect("not zero"),
                shingling: if labelled { Shingling::Labelled } else { Shingling::Set },
                seed: if secret {
                    crate::seed::Seed::Secret(crate::seed::Key::from_bytes(&[3; 16]).expect("long enough"))
                } else {
                    crate::seed::Seed::Public(5)
                },
                ..Recipe::default()
            };
            let expected = slow(&text, &recipe);
            for level in Level::available() {
                let mut got = Vec::new();
                Sketcher::with_level(&recipe, level).fingerprints(&text, |block| got.extend_from_slice(block));
                prop_assert_eq!(&got, &expected, "{} {}", level, recipe);
            }
        }
    }

    #[test]
    fn batches_do_not_show() {
        // 5,000 words: several batches of 1,024 and stretches of 8 KiB, in ASCII, with other
        // characters between, and without a space.
        let recipe = Recipe {
            case: Case::Keep,
            ..Recipe::default()
        };
        let mixed = ["x", "é", "漢", "ト", "—", "’s", "·", "א"].map(|odd| {
            let word = |i| format!("w{} {}", i % 700, if i % 50 == 0 { odd } else { "" });
            (0..5000).map(word).collect::<Vec<_>>().join(" ")
        });
        let dense = ["漢字とカタカナ、", "각각。", "ab—", "ﾊﾟ漢字"].map(|text| text.repeat(6000));
        for text in mixed.into_iter().chain(dense) {
            let mut got = Vec::new();
            let tokens =
                Sketcher::new(&recipe).fingerprints(&text, |block| got.extend_from_slice(block));
            assert_eq!(tokens, got.len() as u64 + 9);
            let tokens = Tokens::of_text(&text, TokenKind::Word, Case::Keep);
            let rabin = Rabin::draw(&mut recipe.seed.stream("rabin"));
            let values: Vec<u64> = tokens
                .iter()
                .map(|token| rabin.token_value(token))
                .collect();
            let expected: Vec<u64> = values
                .windows(10)
                .map(|window| rabin.shingle(window).0)
                .collect();
            assert_eq!(got, expected);
        }
    }

    #[test]
    fn a_name_tells_sequences_apart_and_not_how_they_were_written() {
        let mut sketcher = Sketcher::new(&Recipe::default());
        let mut name = |text: &str| {
            sketcher.sketch(text);
            sketcher.tokens_name()
        };
        let words: Vec<String> = (0..3001).map(|i| format!("word{}", i % 97)).collect();
        let long = words.join(" ");
        assert_eq!(name("a rose is a rose"), name("A Rose -- is a\nROSE!"));
        assert_eq!(name(&long), name(&long.replace(' ', "\n")));
        let all = [
            String::new(),
            "a".to_owned(),
            "a a".to_owned(),
            "b".to_owned(),
            "a b".to_owned(),
            "b a".to_owned(),
            "a b c".to_owned(),
            "b a c".to_owned(),
            "c b a".to_owned(),
            long.clone(),
            long.replacen("word50 word51", "word51 word50", 1),
            long + " end",
        ];
        for (i, one) in all.iter().enumerate() {
            for other in &all[..i] {
                assert_ne!(name(one), name(other));
            }
        }
    }

    proptest! {
        #[test]
        fn a_name_does_not_depend_on_the_batches(all in prop::collection::vec(any::<u64>(), 0..60), cut in 0_usize..60) {
            let mut whole = Namer::default();
            whole.push(&all);
            let mut parts = Namer::default();
            let cut = cut.min(all.len());
            parts.push(&all[..cut]);
            parts.push(&all[cut..]);
            prop_assert_eq!(whole.name(), parts.name());
        }
    }

    #[test]
    fn a_sketcher_can_be_used_again() {
        let mut sketcher = Sketcher::new(&Recipe::default());
        let first = sketcher.sketch("a rose is a rose is a rose");
        sketcher.sketch("something quite different, and a good deal longer than the first one was, so that it has windows");
        assert_eq!(sketcher.sketch("A ROSE is a rose, is a rose."), first);
    }
}
