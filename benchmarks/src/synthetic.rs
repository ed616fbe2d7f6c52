//! Synthetic documents with known truth, as many as wanted and none stored.
//!
//! ```text
//! seed, number ─► plan: original, or a copy of an earlier original ─► words ─► a JSON line
//!                            └─► truth: how much the two resemble, by construction
//! ```
//!
//! A document is a function of the seed and its number, so a copy makes its original anew
//! instead of remembering it. Words come from a vocabulary of 200,000 with Zipf's
//! frequencies, so no ten words in a row come twice by chance (some 10^-25 a pair of places), and
//! the common shingles of two documents are those of the stretches that one took from the
//! other: a stretch of n words gives n − 9. Time O(words), memory one document.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "lengths are drawn as real numbers, and numbers of documents are places here"
)]

use crate::vocabulary::{Random, Vocabulary};

/// Words in a shingle, for the truth.
pub const WIDTH: usize = 10;

/// Documents in which a family of templates has its members.
const BLOCK: u64 = 20_000;
/// Families in a block: 5 % of its documents in 20 families of about 50.
const FAMILIES: u64 = 20;
/// Documents at the start that are all originals, so that there is something to copy.
const FIRST: u64 = 16;

/// What the documents are.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// How many documents.
    pub documents: u64,
    /// Everything follows from it.
    pub seed: u64,
    /// Words in a document, on average.
    pub words_mean: f64,
}

/// How a document came about.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Kind {
    /// Its own words.
    Original,
    /// An original, byte for byte.
    Exact,
    /// An original with other capitals, punctuation and white space.
    Lexical,
    /// An original with words replaced, left out and put in.
    Edited,
    /// An original with words before and after it.
    Containing,
    /// A header that its family shares, then its own words.
    Template,
    /// A member of the one large family of near-copies.
    Family,
}

impl Kind {
    /// Its name in the truth file.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Original => "original",
            Kind::Exact => "exact",
            Kind::Lexical => "lexical",
            Kind::Edited => "edited",
            Kind::Containing => "containing",
            Kind::Template => "template",
            Kind::Family => "family",
        }
    }
}

/// A planted pair.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Planted {
    /// How the later one was made.
    pub kind: Kind,
    /// The earlier document.
    pub a: u64,
    /// The later one.
    pub b: u64,
    /// |A ∩ B| / |A ∪ B| over shingles of [`WIDTH`] words.
    pub resemblance: f64,
    /// |A ∩ B| / |A|.
    pub a_in_b: f64,
}

/// A document with a family's header.
#[derive(Clone, Copy)]
struct Member {
    number: u64,
    words: usize,
    /// Its first word after the header.
    own: u32,
}

/// Makes one document after another.
pub struct Generator {
    shape: Shape,
    vocabulary: Vocabulary,
    /// The last member of each family in this block.
    families: Vec<Option<Member>>,
    words: Vec<u32>,
    source: Vec<u32>,
    next: u64,
}

impl Generator {
    /// Before the first document.
    pub fn new(shape: Shape) -> Generator {
        Generator {
            shape,
            vocabulary: Vocabulary::new(),
            families: vec![None; FAMILIES as usize],
            words: Vec::new(),
            source: Vec::new(),
            next: 0,
        }
    }

    /// Appends the next document's line to `out`, or says that there is none; and what it
    /// was planted to resemble.
    pub fn next_line(&mut self, out: &mut Vec<u8>) -> Option<Option<Planted>> {
        let number = self.next;
        if number == self.shape.documents {
            return None;
        }
        self.next += 1;
        if number.is_multiple_of(BLOCK) {
            self.families.fill(None);
        }
        let planted = self.make(number);
        out.extend_from_slice(b"{\"id\":\"");
        out.extend_from_slice(id(number).as_bytes());
        out.extend_from_slice(b"\",\"url\":\"https://host");
        decimal(mix(number) % 1000, 1, out);
        out.extend_from_slice(b".example/");
        decimal(number, 1, out);
        out.extend_from_slice(b".html\",\"text\":\"");
        let kind = planted.map_or(Kind::Original, |planted| planted.kind);
        // An exact copy has the style of its original too.
        let style = match (kind, planted) {
            (Kind::Exact, Some(planted)) => planted.a,
            _ => number,
        };
        let mut random = Random::new(self.seed_of(style) ^ 0x5717);
        let style = if kind == Kind::Lexical {
            &crate::vocabulary::SHOUTED
        } else {
            &crate::vocabulary::PLAIN
        };
        self.vocabulary.render(&self.words, style, &mut random, out);
        out.extend_from_slice(b"\"}\n");
        Some(planted)
    }

    /// Goes on with this document. The first word of a template's own part is kept apart
    /// from that of the one made before, so it may be another here.
    pub fn seek(&mut self, number: u64) {
        self.next = number;
    }

    /// The words of the document last made.
    pub fn words(&self) -> &[u32] {
        &self.words
    }

    fn seed_of(&self, number: u64) -> u64 {
        mix(self.shape.seed ^ mix(number))
    }

    /// Every so many documents, one of the large family; none in small sets.
    fn family_stride(&self) -> u64 {
        (self.shape.documents / 1000).max(20)
    }

    fn kind(&self, number: u64) -> Kind {
        if number < FIRST {
            return Kind::Original;
        }
        if (number + 1).is_multiple_of(self.family_stride()) {
            return Kind::Family;
        }
        match mix(self.seed_of(number) ^ 0x4b1d) % 100 {
            0..2 => Kind::Exact,
            2..4 => Kind::Lexical,
            4..12 => Kind::Edited,
            12 => Kind::Containing,
            13..18 => Kind::Template,
            _ => Kind::Original,
        }
    }

    /// An earlier original: any of them, near or far.
    fn earlier_original(&self, number: u64, random: &mut Random) -> u64 {
        let mut draws = (0..32).map(|_| random.below(number));
        let found = draws.find(|&other| self.kind(other) == Kind::Original);
        found.unwrap_or(0)
    }

    /// Fills `words`; the planted pair, if any.
    fn make(&mut self, number: u64) -> Option<Planted> {
        let kind = self.kind(number);
        let mut random = Random::new(self.seed_of(number) ^ 0x91a7);
        match kind {
            Kind::Original => {
                original(
                    &self.vocabulary,
                    self.seed_of(number),
                    self.shape.words_mean,
                    &mut self.words,
                );
                None
            }
            Kind::Template => self.template(number, &mut random),
            Kind::Family => self.family(number, &mut random),
            Kind::Exact | Kind::Lexical | Kind::Edited | Kind::Containing => {
                let from = self.earlier_original(number, &mut random);
                original(
                    &self.vocabulary,
                    self.seed_of(from),
                    self.shape.words_mean,
                    &mut self.source,
                );
                let common = match kind {
                    Kind::Edited => {
                        let target = 0.3 + 0.68 * random.unit();
                        self.edit(target, &mut random)
                    }
                    Kind::Containing => self.surround(&mut random),
                    _ => {
                        self.words.clone_from(&self.source);
                        shingles(self.source.len())
                    }
                };
                Some(self.planted(kind, from, number, common))
            }
        }
    }

    fn planted(&self, kind: Kind, a: u64, b: u64, common: usize) -> Planted {
        planted(kind, (a, self.source.len()), (b, self.words.len()), common)
    }

    /// Words before and after: between half as many and four times as many as there are.
    fn surround(&mut self, random: &mut Random) -> usize {
        let extra = (self.source.len() as f64 * (0.5 + 3.5 * random.unit())) as usize;
        let before = random.below(extra as u64 + 1) as usize;
        self.words.clear();
        self.vocabulary.draw(before, random, &mut self.words);
        self.words.extend_from_slice(&self.source);
        self.vocabulary
            .draw(extra - before, random, &mut self.words);
        shingles(self.source.len())
    }

    /// Copies `source` into `words` with so many edits that about `resemblance` is left;
    /// how many shingles are.
    ///
    /// An edit spoils the ten shingles it stands in, so of n words with k edits e^(-10k/n)
    /// stay: q of each document, where resemblance is q / (2 − q).
    fn edit(&mut self, resemblance: f64, random: &mut Random) -> usize {
        let kept = 2.0 * resemblance / (1.0 + resemblance);
        let gap = WIDTH as f64 / -kept.ln();
        let Generator {
            vocabulary,
            words,
            source,
            ..
        } = self;
        words.clear();
        let (mut from, mut common) = (0, 0);
        loop {
            let next = from + 2 + (gap * -random.unit().max(1e-12).ln()) as usize;
            if next + 2 >= source.len() {
                break;
            }
            let (before, here, after) = (source[next - 1], source[next], source[next + 1]);
            // Between twins neither place nor word would be certain: "the the" less one
            // "the" is "the", whichever went.
            let is_clear = before != here && here != after;
            let mut other = vocabulary.word(random);
            while [before, here, after].contains(&other) {
                other = vocabulary.word(random);
            }
            words.extend_from_slice(&source[from..next]);
            common += shingles_of_stretch(next - from);
            match random.below(10) {
                0..2 if is_clear => from = next + 1,
                0..4 => {
                    words.push(other);
                    from = next;
                }
                _ => {
                    words.push(other);
                    from = next + 1;
                }
            }
        }
        words.extend_from_slice(&source[from..]);
        common + shingles_of_stretch(source.len() - from)
    }

    fn template(&mut self, number: u64, random: &mut Random) -> Option<Planted> {
        let family = random.below(FAMILIES);
        let family_seed = mix(self.shape.seed ^ mix(number / BLOCK * FAMILIES + family) ^ 0x7e3a);
        let mut own = Random::new(family_seed);
        let header = 60 + own.below(141) as usize;
        let length = length(random, self.shape.words_mean);
        self.words.clear();
        self.vocabulary.draw(header, &mut own, &mut self.words);
        self.vocabulary.draw(length, random, &mut self.words);
        let last = self.families[family as usize];
        // The header ends where it ends: two members do not go on with the same word.
        while last.is_some_and(|last| last.own == self.words[header]) {
            self.words[header] = self.vocabulary.word(random);
        }
        let member = Member {
            number,
            words: self.words.len(),
            own: self.words[header],
        };
        self.families[family as usize] = Some(member);
        let common = shingles_of_stretch(header);
        last.map(|a| {
            planted(
                Kind::Template,
                (a.number, a.words),
                (number, member.words),
                common,
            )
        })
    }

    /// The first member is the text itself, the others have an edit in 400 words.
    fn family(&mut self, number: u64, random: &mut Random) -> Option<Planted> {
        let first = self.family_stride() - 1;
        let mut own = Random::new(mix(self.shape.seed ^ 0xfa31));
        self.source.clear();
        self.vocabulary.draw(800, &mut own, &mut self.source);
        if number == first {
            self.words.clone_from(&self.source);
            return None;
        }
        let common = self.edit(0.9512, random);
        Some(self.planted(Kind::Family, first, number, common))
    }
}

fn planted(kind: Kind, a: (u64, usize), b: (u64, usize), common: usize) -> Planted {
    let (left, right) = (shingles(a.1), shingles(b.1));
    Planted {
        kind,
        a: a.0,
        b: b.0,
        resemblance: common as f64 / (left + right - common) as f64,
        a_in_b: common as f64 / left as f64,
    }
}

/// Shingles of a document of so many words; no document here is shorter than one.
fn shingles(words: usize) -> usize {
    words - WIDTH + 1
}

fn shingles_of_stretch(words: usize) -> usize {
    (words + 1).saturating_sub(WIDTH)
}

fn original(vocabulary: &Vocabulary, seed: u64, mean: f64, words: &mut Vec<u32>) {
    let mut random = Random::new(seed);
    let length = length(&mut random, mean);
    words.clear();
    vocabulary.draw(length, &mut random, words);
}

/// Log-normal, σ = 0.8: half of the documents have less than 0.73 of the mean.
fn length(random: &mut Random, mean: f64) -> usize {
    // Twelve uniform numbers less six are as good as normal here.
    let normal = (0..12).map(|_| random.unit()).sum::<f64>() - 6.0;
    let length = mean * (0.8 * normal - 0.32).exp();
    length.clamp(30.0, 50_000.0) as usize
}

/// A document's id.
pub fn id(number: u64) -> String {
    format!("g{number:09}")
}

fn decimal(number: u64, least: usize, out: &mut Vec<u8>) {
    let mut digits = [b'0'; 20];
    let (mut rest, mut at) = (number, 20);
    while rest > 0 || 20 - at < least {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    out.extend_from_slice(&digits[at..]);
}

/// A permutation of 64-bit numbers without visible pattern: the finaliser of splitmix64.
fn mix(mut x: u64) -> u64 {
    x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lookalike::core::canonical::{Case, TokenKind, Tokens};
    use lookalike::core::shingle::{Shingling, Width, overlap};
    use std::collections::BTreeMap;

    const SHAPE: Shape = Shape {
        documents: 6000,
        seed: 7,
        words_mean: 200.0,
    };

    fn all(shape: Shape) -> (Vec<String>, Vec<Planted>) {
        let mut generator = Generator::new(shape);
        let (mut texts, mut pairs) = (Vec::new(), Vec::new());
        let mut line = Vec::new();
        while let Some(planted) = generator.next_line(&mut line) {
            let value: serde_json::Value = serde_json::from_slice(&line).expect("JSON");
            assert_eq!(value["id"], id(texts.len() as u64));
            texts.push(value["text"].as_str().expect("text").to_owned());
            pairs.extend(planted);
            line.clear();
        }
        (texts, pairs)
    }

    #[test]
    fn the_stated_resemblance_is_the_exact_one() {
        let (texts, pairs) = all(SHAPE);
        let tokens = |i: u64| Tokens::of_text(&texts[i as usize], TokenKind::Word, Case::Fold);
        let width = Width::new(WIDTH).expect("not zero");
        let mut checked = BTreeMap::<_, usize>::new();
        for pair in &pairs {
            let exact = overlap(&tokens(pair.a), &tokens(pair.b), width, Shingling::Set);
            let resemblance = exact.resemblance().expect("no document is empty");
            assert!(
                (resemblance - pair.resemblance).abs() < 1e-12,
                "{pair:?} {exact:?}"
            );
            let contained = exact.common as f64 / exact.a as f64;
            assert!(
                (contained - pair.a_in_b).abs() < 1e-12,
                "{pair:?} {exact:?}"
            );
            *checked.entry(pair.kind.name()).or_default() += 1;
        }
        let names: Vec<_> = checked.keys().copied().collect();
        assert_eq!(
            names,
            [
                "containing",
                "edited",
                "exact",
                "family",
                "lexical",
                "template"
            ]
        );
        assert!(checked.values().all(|&count| count > 30), "{checked:?}");
    }

    #[test]
    fn exact_copies_are_the_same_text_and_lexical_ones_are_not() {
        let (texts, pairs) = all(SHAPE);
        for pair in pairs {
            let same = texts[pair.a as usize] == texts[pair.b as usize];
            match pair.kind {
                Kind::Exact => assert!(same, "{pair:?}"),
                Kind::Lexical => assert!(!same && pair.resemblance >= 1.0, "{pair:?}"),
                _ => {}
            }
        }
    }

    #[test]
    fn the_same_seed_makes_the_same_documents_and_another_one_others() {
        let small = Shape {
            documents: 300,
            ..SHAPE
        };
        let again = all(small);
        assert_eq!(all(small), again);
        assert_ne!(all(Shape { seed: 8, ..small }).0, again.0);
    }

    #[test]
    fn edits_spread_over_the_whole_range() {
        let (_, pairs) = all(SHAPE);
        let edited = pairs.iter().filter(|pair| pair.kind == Kind::Edited);
        let mut bands = [0_usize; 10];
        for pair in edited {
            bands[((pair.resemblance * 10.0) as usize).min(9)] += 1;
        }
        assert!(bands[3..].iter().all(|&count| count > 20), "{bands:?}");
    }
}
