//! `sketches CORPORA [KIND…] [--seeds N]`: all kinds of sketches side by side, as Markdown;
//! with kinds named, only those, and no filters.
//!
//! Size and time over every document of the corpora that have true pairs, emptiness over
//! every document of all corpora, errors over the true pairs.

use anyhow::{Context, Result, bail};
use lookalike::core::acceptance::Filter;
use lookalike::core::recipe::{Recipe, SketchKind};
use lookalike::core::seed::Seed;
use lookalike::core::sketch::features::{EightBytes, EightBytesSpec, FeatureSpec, Features};
use lookalike::core::sketch::super_shingle::{SuperShingles, shared};
use lookalike::core::sketch::{Kept, Sketch};
use lookalike::core::sketcher::Sketcher;
use lookalike_benchmarks::clock;
use lookalike_benchmarks::corpora::{self, Corpus};
use lookalike_benchmarks::judge::{
    ExactPair, Judgement, Tally, exact_pairs, judge, standard_error, total, width_of,
};
use std::num::NonZero;
use std::path::PathBuf;

const WIDTH: usize = 10;

const KINDS: [&str; 10] = [
    "nested:256",
    "nested:128",
    "mod:25",
    "min:256",
    "min-mod:256,4",
    "perm:84,linear",
    "perm:84,matrix",
    "perm:84,tabulation",
    "perm:84,lead-byte",
    "perm:256,tabulation",
];

fn main() -> Result<()> {
    let (mut folder, mut kinds, mut seeds) = (None, Vec::new(), 40);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--seeds" => {
                let number = arguments.next().context("--seeds needs a number")?;
                seeds = number.parse().context("--seeds needs a number")?;
            }
            other if other.starts_with('-') => bail!("unknown option `{other}`"),
            path if folder.is_none() => folder = Some(PathBuf::from(path)),
            kind => kinds.push(kind.to_owned()),
        }
    }
    let folder = folder.context("usage: sketches CORPORA [KIND…] [--seeds N]")?;
    let mut all = Vec::new();
    for name in corpora::NAMES {
        all.push(corpora::read(&folder, name)?);
    }
    // Sets of numbers are no text: their words have another length.
    let (with_pairs, without): (Vec<Corpus>, Vec<Corpus>) = all
        .into_iter()
        .partition(|corpus| !corpus.pairs.is_empty() && corpus.name != "sets-sourmash");
    let pairs: Vec<Vec<ExactPair>> = with_pairs
        .iter()
        .map(|corpus| exact_pairs(corpus, WIDTH, |i| corpus.documents[i].tokens()))
        .collect();
    println!("Processor: {}; {seeds} seeds.", clock::processor());
    let chosen = !kinds.is_empty();
    if !chosen {
        kinds = KINDS.map(str::to_owned).to_vec();
    }
    estimator_head();
    for kind in &kinds {
        estimator(kind, &with_pairs, &without, &pairs, seeds)?;
    }
    if !chosen {
        filters(&with_pairs, &pairs, seeds);
    }
    Ok(())
}

fn recipe(sketch: SketchKind, seed: u64) -> Recipe {
    Recipe {
        width: width_of(WIDTH),
        seed: Seed::Public(seed),
        sketch,
        ..Recipe::default()
    }
}

fn estimator_head() {
    println!();
    println!(
        "| sketch | bytes a document | largest | empty, of all documents | \
         resemblance: bias | RMSE | in its interval | \
         containment: bias | RMSE | in its interval | absent | ns a word | MB/s |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|");
}

/// The row of one kind that estimates.
fn estimator(
    name: &str,
    with_pairs: &[Corpus],
    without: &[Corpus],
    pairs: &[Vec<ExactPair>],
    seeds: usize,
) -> Result<()> {
    let kind: SketchKind = name.parse()?;
    let texts = || with_pairs.iter().flat_map(|corpus| &corpus.documents);
    let mut sketcher = Sketcher::new(&recipe(kind, 1997));
    let (mut size, mut largest, mut documents, mut words, mut bytes) = (0, 0, 0_usize, 0, 0);
    for document in texts() {
        let sketch = sketcher.sketch(&document.text);
        let stored = sketch.to_bytes().len();
        (size, largest) = (size + stored, largest.max(stored));
        (words, bytes) = (words + sketch.tokens(), bytes + document.text.len());
        documents += 1;
    }
    let (mut empty, mut with_words) = (0, 0);
    let others = without.iter().flat_map(|corpus| &corpus.documents);
    for document in texts().chain(others) {
        let sketch = sketcher.sketch(&document.text);
        with_words += usize::from(sketch.tokens() > 0);
        empty += usize::from(sketch.tokens() > 0 && sketch.samples().is_empty());
    }
    let mut all = || {
        clock::time(|| {
            for document in texts() {
                std::hint::black_box(sketcher.sketch(&document.text));
            }
        })
    };
    let seconds = (0..3).map(|_| all()).fold(f64::INFINITY, f64::min);
    let mut judged = Judgement::default();
    for (corpus, pairs) in with_pairs.iter().zip(pairs) {
        judged.merge(&judge(corpus, pairs, WIDTH, kind, seeds, 0));
    }
    println!(
        "| `{name}` | {:.0} | {largest} | {:.2} % | {} | {} | {} | {:.1} | {:.0} |",
        size as f64 / documents as f64,
        100.0 * empty as f64 / with_words as f64,
        columns(&judged.resemblance),
        columns(&judged.containment),
        absent(&judged),
        seconds * 1e9 / words as f64,
        bytes as f64 / seconds / 1e6,
    );
    Ok(())
}

fn columns(seeds: &[Tally]) -> String {
    let sum = total(seeds);
    if sum.count == 0 {
        return String::from("– | – | –");
    }
    format!(
        "{:+.4} ± {:.4} | {:.4} | {:.1} %",
        sum.bias(),
        standard_error(seeds, Tally::bias),
        sum.rmse(),
        100.0 * sum.open_coverage()
    )
}

/// The share of pairs of which a sketch can say nothing though it could of others.
fn absent(judged: &Judgement) -> String {
    let sum = total(&judged.resemblance);
    let share = sum.absent as f64 / (sum.count + sum.absent) as f64;
    format!("{:.2} %", 100.0 * share)
}

/// Lower ends of the classes of resemblance that acceptance is counted in.
const CLASSES: [f64; 8] = [0.0, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 1.0];

/// A filter, and what it is made from.
struct Contender {
    name: &'static str,
    from: SketchKind,
    rule: Rule,
    /// Its acceptance curve, where there is one.
    curve: Option<Filter>,
}

enum Rule {
    Features(FeatureSpec),
    EightBytes(EightBytesSpec),
    /// At least one in common.
    SuperShingles,
}

/// What a filter keeps of a document.
enum Reduced {
    Features(Features),
    EightBytes(EightBytes),
    SuperShingles(SuperShingles),
}

/// Samples in a row that make a super-shingle here.
const ROW: NonZero<usize> = NonZero::new(10).expect("not zero");

impl Rule {
    /// Nothing of an empty document.
    fn reduce(&self, sketch: &Sketch) -> Option<Reduced> {
        match (self, sketch.kept()) {
            (Rule::Features(spec), Kept::Perm(minima)) => {
                Features::new(*spec, minima).map(Reduced::Features)
            }
            (Rule::EightBytes(spec), Kept::Perm(minima)) => {
                EightBytes::new(*spec, minima).map(Reduced::EightBytes)
            }
            _ => {
                let all = SuperShingles::new(sketch.samples(), ROW);
                Some(Reduced::SuperShingles(all))
            }
        }
    }

    fn accepts(&self, a: &Reduced, b: &Reduced) -> bool {
        match (self, a, b) {
            (Rule::Features(spec), Reduced::Features(a), Reduced::Features(b)) => {
                a.fungible(b, *spec)
            }
            (Rule::EightBytes(spec), Reduced::EightBytes(a), Reduced::EightBytes(b)) => {
                a.fungible(*b, *spec)
            }
            (_, Reduced::SuperShingles(a), Reduced::SuperShingles(b)) => shared(a, b) > 0,
            _ => unreachable!("one rule reduced both"),
        }
    }
}

impl Reduced {
    fn bytes(&self) -> usize {
        match self {
            Reduced::Features(features) => 8 * features.names().len(),
            Reduced::EightBytes(_) => 8,
            Reduced::SuperShingles(all) => 8 * all.names().len(),
        }
    }
}

fn contenders() -> [Contender; 6] {
    let features = |name: &'static str, text: &str| {
        let spec: FeatureSpec = text.parse().expect("features that exist");
        Contender {
            name,
            from: kind(&format!("perm:{},linear", spec.permutations())),
            rule: Rule::Features(spec),
            curve: Some(Filter::Features(spec)),
        }
    };
    let eight_bytes = |name, spec: EightBytesSpec| Contender {
        name,
        from: kind(&format!("perm:{},linear", spec.permutations())),
        rule: Rule::EightBytes(spec),
        curve: Some(Filter::EightBytes(spec)),
    };
    let super_shingles = |name, from, curve| Contender {
        name,
        from: kind(from),
        rule: Rule::SuperShingles,
        curve,
    };
    let in_a_row = Filter::SuperShingles {
        samples: NonZero::new(256).expect("not zero"),
        width: ROW,
    };
    [
        features("features 6x14/2", "6x14/2"),
        features("features 8x25/1", "8x25/1"),
        eight_bytes("eight bytes, 3 of 8", EightBytesSpec::THREE),
        eight_bytes("eight bytes, 7 of 8", EightBytesSpec::SEVEN),
        super_shingles(
            "super-shingles, 10 in a row of `min:256`",
            "min:256",
            Some(in_a_row),
        ),
        super_shingles("super-shingles, 10 in a row of `mod:25`", "mod:25", None),
    ]
}

fn kind(text: &str) -> SketchKind {
    text.parse().expect("a kind that exists")
}

/// Kinds that say yes or no: the share accepted, by exact resemblance, and under it what
/// the acceptance curve gives for the very same pairs.
fn filters(with_pairs: &[Corpus], pairs: &[Vec<ExactPair>], seeds: usize) {
    println!();
    print!("| filter | bytes a document | ns a word |");
    for pair in CLASSES.windows(2) {
        print!(" {} to {} |", pair[0], pair[1]);
    }
    println!(" 1 |");
    println!("|---|--:|--:|{}", "--:|".repeat(CLASSES.len()));
    let mut counted = [0_usize; CLASSES.len()];
    for pair in pairs.iter().flatten() {
        counted[class(resemblance(pair))] += 1;
    }
    print!("| pairs | | |");
    for count in counted {
        print!(" {count} |");
    }
    println!();
    for contender in contenders() {
        let (mut accepted, mut expected) = ([0_usize; CLASSES.len()], [0.0; CLASSES.len()]);
        let (mut bytes, mut documents, mut words, mut seconds) = (0, 0_usize, 0, 0.0);
        for seed in 1..=seeds as u64 {
            let mut sketcher = Sketcher::new(&recipe(contender.from, seed));
            for (corpus, pairs) in with_pairs.iter().zip(pairs) {
                let mut reduced = Vec::new();
                seconds += clock::time(|| {
                    for document in &corpus.documents {
                        let sketch = sketcher.sketch(&document.text);
                        words += sketch.tokens();
                        reduced.push(contender.rule.reduce(&sketch));
                    }
                });
                documents += reduced.len();
                bytes += reduced.iter().flatten().map(Reduced::bytes).sum::<usize>();
                for pair in pairs {
                    if let (Some(a), Some(b)) = (&reduced[pair.a], &reduced[pair.b]) {
                        let class = class(resemblance(pair));
                        accepted[class] += usize::from(contender.rule.accepts(a, b));
                    }
                }
            }
        }
        print!(
            "| {} | {:.0} | {:.1} |",
            contender.name,
            bytes as f64 / documents as f64,
            seconds * 1e9 / words as f64
        );
        for (accepted, pairs) in accepted.iter().zip(counted) {
            print!(" {:.3} |", *accepted as f64 / (pairs * seeds) as f64);
        }
        println!();
        let Some(filter) = contender.curve else {
            continue;
        };
        for pair in pairs.iter().flatten() {
            let resemblance = resemblance(pair);
            expected[class(resemblance)] += filter.odds(resemblance).accept;
        }
        print!("| … by its curve | | |");
        for (expected, pairs) in expected.iter().zip(counted) {
            print!(" {:.3} |", expected / pairs as f64);
        }
        println!();
    }
}

fn resemblance(pair: &ExactPair) -> f64 {
    pair.overlap.resemblance().unwrap_or(0.0)
}

fn class(resemblance: f64) -> usize {
    CLASSES.partition_point(|&low| low <= resemblance) - 1
}
