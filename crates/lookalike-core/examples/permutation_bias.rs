//! How fair are the families of permutations, and what do they cost?
//!
//! ```text
//! cargo run --release -p lookalike-core --example permutation_bias
//! ```
//!
//! Prints the tables of `docs/PERMUTATIONS.md`: for sets with a pattern and for a
//! random one, as they are and mixed first as the recipe mixes its fingerprints, how
//! often which element is the minimum and what that does to estimates of
//! resemblance; then nanoseconds per shingle. Under a minute on one core.

use std::hint::black_box;
use std::time::Instant;

use lookalike_core::draw::Draw;
use lookalike_core::permutation::Family;
use lookalike_core::sketch::perm::{PermSketcher, Rank};

/// Samples in a sketch: the slides' 6 groups of 14.
const SAMPLES: usize = 84;

/// One set under test, with the set it is compared to.
struct Case {
    pattern: &'static str,
    input: &'static str,
    /// The set is the first `len` of these, its partner the last `len`.
    union: Vec<u64>,
    len: usize,
    /// Sketches drawn. Large sets get fewer, to end within the minute.
    seeds: u64,
}

impl Case {
    fn apart(&self) -> usize {
        self.union.len() - self.len
    }

    fn resemblance(&self) -> f64 {
        (self.len - self.apart()) as f64 / self.union.len() as f64
    }
}

/// What was counted for one case under one family.
struct Tally {
    /// How often each element of the set was its minimum.
    wins: Vec<u32>,
    /// Equal samples, by sketch.
    common: Vec<u32>,
}

fn main() {
    let cases = cases();
    let tallies = Family::ALL.map(|family| measure(family, &cases));
    print_table(
        "Chi-square of the minima, over n - 1 (fair: 1)",
        &cases,
        &tallies,
        |_, tally| format!("{:.2}", chi_square(&tally.wins)),
    );
    print_table(
        "Frequency times n of the first, the last and the most frequent element (fair: 1, 1)",
        &cases,
        &tallies,
        |_, tally| {
            let wins = &tally.wins;
            let share = |wins: Option<&u32>| {
                let draws: u32 = tally.wins.iter().sum();
                f64::from(*wins.unwrap_or(&0)) * tally.wins.len() as f64 / f64::from(draws)
            };
            let (first, last) = (share(wins.first()), share(wins.last()));
            format!("{first:.2} {last:.2} {:.2}", share(wins.iter().max()))
        },
    );
    print_table(
        "Resemblance: bias in percentage points (in its standard errors), spread over binomial",
        &cases,
        &tallies,
        resemblance_cell,
    );
    print_times();
}

fn cases() -> Vec<Case> {
    let mut draw = Draw::new(2005);
    let mut cases = Vec::new();
    for len in [16, 256, 4096] {
        let apart = len / 3;
        let numbers = || 0..(len + apart) as u64;
        let mut patterns: Vec<(&'static str, Vec<u64>)> = vec![
            ("0, 1, 2, …", numbers().collect()),
            ("stride 1000003", numbers().map(|i| 1_000_003 * i).collect()),
            ("stride 2^32", numbers().map(|i| i << 32).collect()),
            ("random", numbers().map(|_| draw.next_u64()).collect()),
        ];
        if len == 16 {
            // A u64 has no more powers of two than the second of these uses.
            patterns.push(("2^i", (0..21).map(|i| 1 << i).collect()));
            patterns.push(("2^i, n = 48", (0..64).map(|i| 1 << i).collect()));
        }
        for (pattern, union) in patterns {
            let len = if union.len() == 64 { 48 } else { len };
            let seeds = if len > 1000 { 150 } else { 1000 };
            let mixed = union.iter().copied().map(murmur_mix).collect();
            // A random set mixed is a random set again.
            let inputs = if pattern == "random" { 1 } else { 2 };
            for (input, union) in [("raw", union), ("mixed", mixed)].into_iter().take(inputs) {
                cases.push(Case {
                    pattern,
                    input,
                    union,
                    len,
                    seeds,
                });
            }
        }
    }
    cases
}

/// The finaliser of `MurmurHash3`: a bijection of `u64`, like the recipe's mix.
fn murmur_mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 33)).wrapping_mul(0xFF51_AFD7_ED55_8CCD);
    x = (x ^ (x >> 33)).wrapping_mul(0xC4CE_B9FE_1A85_EC53);
    x ^ (x >> 33)
}

fn measure(family: Family, cases: &[Case]) -> Vec<Tally> {
    let empty = |case: &Case| Tally {
        wins: vec![0; case.len],
        common: Vec::new(),
    };
    let mut tallies: Vec<Tally> = cases.iter().map(empty).collect();
    let most = cases.iter().map(|case| case.seeds).max().unwrap_or(0);
    for seed in 0..most {
        let sketcher = PermSketcher::new(family, SAMPLES, seed);
        for (case, tally) in cases.iter().zip(&mut tallies) {
            if seed >= case.seeds {
                continue;
            }
            let mut common = 0;
            for permutation in 0..SAMPLES {
                let (winner, shared) = minima(&sketcher, permutation, case);
                tally.wins[winner] += 1;
                common += u32::from(shared);
            }
            tally.common.push(common);
        }
    }
    tallies
}

/// Which element of the set is its minimum, and whether its partner has the same.
fn minima(sketcher: &PermSketcher, permutation: usize, case: &Case) -> (usize, bool) {
    let least = |from: usize, to: usize| -> Option<(Rank, usize)> {
        let ranks = (from..to).map(|i| (sketcher.rank(permutation, case.union[i]), i));
        ranks.min()
    };
    let (apart, len) = (case.apart(), case.len);
    let before = least(0, apart).expect("the set begins with elements of its own");
    let both = least(apart, len).expect("the sets have elements in common");
    let after = least(len, len + apart).expect("the partner ends with elements of its own");
    (before.min(both).1, both < before && both < after)
}

fn chi_square(wins: &[u32]) -> f64 {
    let draws: u32 = wins.iter().sum();
    let expected = f64::from(draws) / wins.len() as f64;
    let squares = wins.iter().map(|&n| (f64::from(n) - expected).powi(2));
    squares.sum::<f64>() / expected / (wins.len() - 1) as f64
}

fn resemblance_cell(case: &Case, tally: &Tally) -> String {
    let (truth, sketches) = (case.resemblance(), tally.common.len() as f64);
    let estimates = tally.common.iter().map(|&n| f64::from(n) / SAMPLES as f64);
    let mean = estimates.clone().sum::<f64>() / sketches;
    let squares = estimates.map(|estimate| (estimate - mean).powi(2));
    let spread = (squares.sum::<f64>() / (sketches - 1.0)).sqrt();
    let binomial = (truth * (1.0 - truth) / SAMPLES as f64).sqrt();
    let errors = (mean - truth) / (binomial / sketches.sqrt());
    let bias = 100.0 * (mean - truth);
    format!("{bias:+.2} ({errors:+.1}) {:.2}", spread / binomial)
}

fn print_table(
    title: &str,
    cases: &[Case],
    tallies: &[Vec<Tally>; 4],
    cell: impl Fn(&Case, &Tally) -> String,
) {
    let [one, two, three, four] = Family::ALL;
    println!("### {title}\n");
    println!("| set | n | input | {one} | {two} | {three} | {four} |");
    println!("|---|--:|---|--:|--:|--:|--:|");
    for (i, case) in cases.iter().enumerate() {
        let cells = tallies.each_ref().map(|all| cell(case, &all[i]));
        let Case {
            pattern,
            len,
            input,
            ..
        } = case;
        println!("| {pattern} | {len} | {input} | {} |", cells.join(" | "));
    }
    println!();
}

/// Nanoseconds per shingle for documents of 1,000 and 100 shingles: the best of 50
/// turns of a millisecond or two, some of which no other process disturbs.
fn print_times() {
    const TOTAL: usize = 10_000;
    let mut draw = Draw::new(1);
    let shingles: Vec<u64> = (0..TOTAL).map(|_| draw.next_u64()).collect();
    println!("### Nanoseconds per shingle, one core\n");
    println!("| family | t = 84 | t = 128 | t = 84, documents of 100 |");
    println!("|---|--:|--:|--:|");
    for family in Family::ALL {
        let time = |samples, document| {
            let sketcher = PermSketcher::new(family, samples, 1);
            let once = || {
                let start = Instant::now();
                for document in shingles.chunks(document) {
                    let mut state = sketcher.start();
                    sketcher.push(&mut state, black_box(document));
                    black_box(sketcher.finish(state));
                }
                start.elapsed().as_secs_f64() * 1e9 / TOTAL as f64
            };
            (0..50).map(|_| once()).fold(f64::INFINITY, f64::min)
        };
        let (few, many, short) = (time(84, 1000), time(128, 1000), time(84, 100));
        println!("| {family} | {few:.1} | {many:.1} | {short:.1} |");
    }
}
