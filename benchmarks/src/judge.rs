//! Estimates against exact values, over pairs and seeds.
//!
//! The exact values come from `ShingleIds`, which compares tokens and not fingerprints.

use crate::corpora::Corpus;
use lookalike::core::canonical::Tokens;
use lookalike::core::estimate::{Estimate, Overlap};
use lookalike::core::recipe::{Recipe, SketchKind};
use lookalike::core::seed::Seed;
use lookalike::core::shingle::{ShingleIds, Shingling, Width};
use lookalike::core::sketch::Sketch;
use lookalike::core::sketcher::Sketcher;

/// A pair of documents and their exact overlap.
pub struct ExactPair {
    /// The first document.
    pub a: usize,
    /// The second.
    pub b: usize,
    /// The exact counts.
    pub overlap: Overlap,
}

/// The exact overlaps of a corpus's true pairs.
pub fn exact_pairs(
    corpus: &Corpus,
    width: usize,
    tokens: impl Fn(usize) -> Tokens,
) -> Vec<ExactPair> {
    let mut ids = ShingleIds::new(width_of(width), Shingling::Set);
    let mut sets: Vec<Option<Vec<u32>>> = corpus.documents.iter().map(|_| None).collect();
    for pair in &corpus.pairs {
        for document in [pair.a, pair.b] {
            sets[document].get_or_insert_with(|| ids.set(&tokens(document)));
        }
    }
    let set = |i: usize| sets[i].as_deref().unwrap_or_default();
    let overlap = |a, b| Overlap::of_sorted(set(a), set(b));
    let pairs = corpus.pairs.iter();
    pairs
        .map(|pair| ExactPair {
            a: pair.a,
            b: pair.b,
            overlap: overlap(pair.a, pair.b),
        })
        .collect()
}

/// A shingle width.
///
/// # Panics
///
/// When it is 0.
pub fn width_of(width: usize) -> Width {
    Width::new(width).expect("a shingle has a token")
}

/// How estimates of one quantity did.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// Estimates made.
    pub count: usize,
    /// Asked for and absent.
    pub absent: usize,
    error: f64,
    square: f64,
    covered: usize,
    /// Those that rest on a sample, and not on everything.
    sampled: usize,
    sampled_square: f64,
    sampled_covered: usize,
    /// Those of them whose true value is neither 0 nor 1, where an interval that reaches
    /// the end of the scale would always hold it.
    open: usize,
    open_covered: usize,
}

impl Tally {
    /// Takes one estimate of a known value.
    pub fn add(&mut self, estimate: Option<Estimate>, truth: f64) {
        let Some(estimate) = estimate else {
            self.absent += 1;
            return;
        };
        let error = estimate.value - truth;
        // Values and ends are quotients of small numbers: equal ones may differ by rounding.
        let covers = estimate.low <= truth + 1e-12 && truth <= estimate.high + 1e-12;
        self.count += 1;
        self.error += error;
        self.square += error * error;
        self.covered += usize::from(covers);
        if estimate.low < estimate.high {
            self.sampled += 1;
            self.sampled_square += error * error;
            self.sampled_covered += usize::from(covers);
            if 0.0 < truth && truth < 1.0 {
                self.open += 1;
                self.open_covered += usize::from(covers);
            }
        }
    }

    /// Both together.
    #[must_use]
    pub fn and(self, other: Tally) -> Tally {
        Tally {
            count: self.count + other.count,
            absent: self.absent + other.absent,
            error: self.error + other.error,
            square: self.square + other.square,
            covered: self.covered + other.covered,
            sampled: self.sampled + other.sampled,
            sampled_square: self.sampled_square + other.sampled_square,
            sampled_covered: self.sampled_covered + other.sampled_covered,
            open: self.open + other.open,
            open_covered: self.open_covered + other.open_covered,
        }
    }

    /// The mean error.
    pub fn bias(&self) -> f64 {
        self.error / self.count as f64
    }

    /// The root of the mean squared error.
    pub fn rmse(&self) -> f64 {
        (self.square / self.count as f64).sqrt()
    }

    /// The same over estimates that rest on a sample.
    pub fn sampled_rmse(&self) -> f64 {
        (self.sampled_square / self.sampled as f64).sqrt()
    }

    /// How many rest on a sample.
    pub fn sampled(&self) -> usize {
        self.sampled
    }

    /// The share of intervals that hold the truth, of all.
    pub fn coverage(&self) -> f64 {
        self.covered as f64 / self.count as f64
    }

    /// The same of those that rest on a sample.
    pub fn sampled_coverage(&self) -> f64 {
        self.sampled_covered as f64 / self.sampled as f64
    }

    /// The same of those that rest on a sample and whose truth is neither 0 nor 1.
    pub fn open_coverage(&self) -> f64 {
        self.open_covered as f64 / self.open as f64
    }
}

/// Resemblance and containment, seed by seed.
#[derive(Clone, Debug, Default)]
pub struct Judgement {
    /// One tally a seed.
    pub resemblance: Vec<Tally>,
    /// One tally a seed, both containments in it.
    pub containment: Vec<Tally>,
}

impl Judgement {
    /// Adds another corpus judged with the same seeds.
    pub fn merge(&mut self, other: &Judgement) {
        for (mine, theirs) in [
            (&mut self.resemblance, &other.resemblance),
            (&mut self.containment, &other.containment),
        ] {
            mine.resize(theirs.len(), Tally::default());
            for (x, y) in mine.iter_mut().zip(theirs) {
                *x = x.and(*y);
            }
        }
    }
}

/// All seeds together.
pub fn total(seeds: &[Tally]) -> Tally {
    seeds.iter().copied().fold(Tally::default(), Tally::and)
}

/// The standard error of a figure over all seeds, from how the seeds differ: pairs of one
/// seed are far from independent (families of licences share their samples), seeds are.
pub fn standard_error(seeds: &[Tally], figure: impl Fn(&Tally) -> f64) -> f64 {
    let n = seeds.len() as f64;
    let mean = seeds.iter().map(&figure).sum::<f64>() / n;
    let squares = seeds.iter().map(|seed| (figure(seed) - mean).powi(2));
    (squares.sum::<f64>() / (n - 1.0) / n).sqrt()
}

/// Sketches every document of the pairs once a seed and compares all pairs whose documents
/// both have more than `longer_than` distinct shingles.
///
/// # Panics
///
/// When two sketches of one recipe cannot be compared.
pub fn judge(
    corpus: &Corpus,
    pairs: &[ExactPair],
    width: usize,
    kind: SketchKind,
    seeds: usize,
    longer_than: usize,
) -> Judgement {
    let mut judgement = Judgement::default();
    for seed in 1..=seeds as u64 {
        let recipe = Recipe {
            width: width_of(width),
            seed: Seed::Public(seed),
            sketch: kind,
            ..Recipe::default()
        };
        let mut sketcher = Sketcher::new(&recipe);
        let mut made: Vec<Option<Sketch>> = corpus.documents.iter().map(|_| None).collect();
        let (mut resemblance, mut containment) = (Tally::default(), Tally::default());
        for ExactPair { a, b, overlap } in pairs {
            if overlap.a.min(overlap.b) <= longer_than {
                continue;
            }
            for &i in [a, b] {
                made[i].get_or_insert_with(|| sketcher.sketch(&corpus.documents[i].text));
            }
            let (Some(x), Some(y)) = (&made[*a], &made[*b]) else {
                unreachable!("both were just made");
            };
            let answer = x.compare(y).expect("one recipe made both");
            let tell = |tally: &mut Tally, estimate, truth: Option<f64>| {
                if let Some(truth) = truth {
                    tally.add(estimate, truth);
                }
            };
            tell(&mut resemblance, answer.resemblance, overlap.resemblance());
            tell(&mut containment, answer.a_in_b, overlap.a_in_b());
            tell(&mut containment, answer.b_in_a, overlap.b_in_a());
        }
        judgement.resemblance.push(resemblance);
        judgement.containment.push(containment);
    }
    judgement
}
