//! `soak [--bench DIR]`: documents of 1 MB to 1 GB; time must be linear, memory constant.
//!
//! Needs 3 GB of memory. Exit status 1 when a bound is broken.

use anyhow::{Context, Result, bail};
use lookalike::core::recipe::Recipe;
use lookalike::core::sketcher::Sketcher;
use lookalike::corpus::html;
use lookalike_benchmarks::bench_corpus::Documents;
use lookalike_benchmarks::clock;
use lookalike_benchmarks::counting::{Asked, Counting, asked};
use std::path::PathBuf;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Between the cheapest and the dearest byte.
const MOST_SPREAD: f64 = 1.3;

/// Memory of one sketch besides the text, at any length.
const MOST_MEMORY: usize = 1 << 20;

const LARGEST: usize = 1_000_000_000;

fn main() -> Result<ExitCode> {
    let mut bench = PathBuf::from(".bench");
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--bench" => bench = arguments.next().context("--bench needs a folder")?.into(),
            other => bail!("unknown option `{other}`"),
        }
    }
    println!("| | document | documents | ns per byte | allocations | extra memory |");
    println!("|---|--:|--:|--:|--:|--:|");
    let text = grown(&Documents::read(&bench, "text")?.text);
    let mut sketcher = Sketcher::new(&Recipe::default());
    let sketching = run("text to default sketch", &text, |document| {
        sketcher.sketch(document).tokens()
    });
    drop(text);
    let pages = grown(&Documents::read(&bench, "html")?.text);
    let mut out = String::with_capacity(pages.len());
    let stripping = run("HTML to text, buffer given", &pages, |page| {
        html::text_into(page, &mut out);
        out.len() as u64
    });
    println!();
    let mut met = true;
    for (name, (spread, memory)) in [("sketching", sketching), ("stripping", stripping)] {
        let holds = spread <= MOST_SPREAD && memory <= MOST_MEMORY;
        met &= holds;
        println!(
            "{name}: dearest byte over cheapest {spread:.2} (at most {MOST_SPREAD}), \
             most extra memory {memory} bytes (at most {MOST_MEMORY}): {}",
            if holds { "ok" } else { "FAIL" }
        );
    }
    Ok(if met {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// 1 GB out of some 128 MB: each further copy has its `e`s turned into another letter, so
/// that its words, and so its shingles, are new.
fn grown(seed: &str) -> String {
    let mut all = Vec::with_capacity(LARGEST + seed.len());
    for letter in b"eaioubdf".iter().chain(b"ghjklmn").copied() {
        let copy = seed.bytes();
        all.extend(copy.map(|byte| if byte == b'e' { letter } else { byte }));
        if all.len() >= LARGEST {
            break;
        }
    }
    let mut text = String::from_utf8(all).expect("a letter for a letter is still UTF-8");
    text.truncate(text.floor_char_boundary(LARGEST));
    text
}

/// Works on documents of each length, other ones each time so that none waits in a cache,
/// best of three turns; returns the spread of the time and the most memory.
fn run(name: &str, text: &str, mut work: impl FnMut(&str) -> u64) -> (f64, usize) {
    work(&text[..text.floor_char_boundary(1_000_000)]);
    let (mut cheapest, mut dearest, mut memory) = (f64::INFINITY, 0.0_f64, 0);
    for length in [1_000_000, 10_000_000, 100_000_000, LARGEST] {
        let documents = (LARGEST / length).min(200);
        let mut best = f64::INFINITY;
        let mut most = (0, 0);
        for _ in 0..3 {
            let mut seconds = 0.0;
            for i in 0..documents {
                // Spread over the whole, not the first so many.
                let start = text.floor_char_boundary(i * (LARGEST / documents));
                let end = text.floor_char_boundary(start + length);
                let document = &text[start..end];
                let mut spent = Asked::default();
                seconds += clock::time(|| spent = asked(|| work(document)));
                most = (most.0.max(spent.calls), most.1.max(spent.peak));
            }
            best = best.min(seconds);
        }
        let rate = best * 1e9 / (documents * length) as f64;
        println!(
            "| {name} | {} MB | {documents} | {rate:.3} | {} | {} |",
            length / 1_000_000,
            most.0,
            most.1
        );
        (cheapest, dearest) = (cheapest.min(rate), dearest.max(rate));
        memory = memory.max(most.1);
    }
    (dearest / cheapest, memory)
}
