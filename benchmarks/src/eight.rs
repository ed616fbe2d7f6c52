//! Eight bytes a document within one host, against the true resemblance of all pairs.
//!
//! ```text
//! all sweeps of a site ─► add --filter eight:3, eight:7 ─► accepted pairs ─┐
//! exact resemblance of every two of its pages ────────────────────────────┴─► figures
//! ```

use std::num::NonZeroUsize;
use std::path::Path;

use anyhow::{Context, Result};
use lookalike::add::AddOptions;
use lookalike::core::seed::Seed;
use lookalike::corpus::inputs::Inputs;
use lookalike::filters::{Filtered, Spec, acceptance, add, find_like};

use crate::figures::{Figures, Target};

/// Recipes that are drawn.
const SEEDS: u64 = 8;

/// How far the share accepted, of all recipes together, may be from the curve. Pages of one
/// manual resemble each other in families, whose pairs are accepted together or not at all:
/// of single recipes the shares at 0.9 and more have a standard deviation of 3 to 4 %, the
/// mean of eight of 1.2 %. This is four of them.
const APART: f64 = 0.05;

/// Ranges of resemblance.
const RANGES: [(&str, f64, f64); 3] = [
    ("0.3 to 0.7", 0.3, 0.7),
    ("0.7 to 0.9", 0.7, 0.9),
    ("0.9 and more", 0.9, 2.0),
];

/// Pairs of one range, how many are accepted, and how many would be by the curve.
#[derive(Clone, Copy, Default)]
struct Share {
    pairs: u64,
    accepted: u64,
    expected: f64,
}

/// Judges 3 of 8 and 7 of 8 on the sweeps of one host.
pub fn judge_eight(figures: &mut Figures, site: &Path) -> Result<()> {
    for (spec, name) in [("eight:3", "3 of 8 bytes"), ("eight:7", "7 of 8 bytes")] {
        let spec: Spec = spec.parse()?;
        let mut shares = [Share::default(); RANGES.len()];
        let (mut accepted, mut all) = (0, 0);
        for seed in 0..SEEDS {
            let folder = tempfile::tempdir()?;
            let place = folder.path().join("c");
            let mut options = AddOptions {
                threads: NonZeroUsize::new(2).unwrap_or(NonZeroUsize::MIN),
                ..AddOptions::default()
            };
            options.recipe.seed = Seed::Public(seed);
            let inputs = Inputs::expand(&[site], &options.reading);
            add(&place, &inputs, spec, &options, &mut |_| {})?;
            let filtered = Filtered::open(&place)?.context("a filter's collection")?;
            let documents = filtered.documents();
            let recipe = filtered.recipe(None)?;
            let measured = acceptance(&filtered, &recipe, u32::MAX, options.threads)?;
            for (share, (_, from, to)) in shares.iter_mut().zip(RANGES) {
                for bin in measured
                    .bins
                    .iter()
                    .filter(|bin| (from..to).contains(&bin.low))
                {
                    share.pairs += bin.pairs;
                    share.accepted += bin.accepted;
                    share.expected += bin.expected;
                }
            }
            let mut twice = 0;
            for doc in 0..documents {
                twice += find_like(&filtered, doc)?.len() as u64;
            }
            accepted += twice / 2;
            all += u64::from(documents) * u64::from(documents - 1) / 2;
        }
        for (share, (range, ..)) in shares.iter().zip(RANGES) {
            let pairs = share.pairs as f64;
            let (measured, curve) = (share.accepted as f64 / pairs, share.expected / pairs);
            figures.share(
                &format!(
                    "Git manual, {name}: accepted at {range}, {} pairs by {SEEDS} recipes, by the curve {:.2} %",
                    share.pairs / SEEDS,
                    100.0 * curve
                ),
                measured,
                Target::Within(curve - APART, curve + APART),
            );
        }
        // What is less alike than 0.3 is accepted by chance: 56/256³ of the pairs, or 8/256⁷.
        let related = |of: fn(&Share) -> u64| shares.iter().map(of).sum::<u64>();
        let unrelated = all - related(|share| share.pairs);
        let by_chance = spec.curve().odds(0.0).accept * unrelated as f64;
        let wrong = usize::try_from(accepted - related(|share| share.accepted))?;
        figures.count(
            &format!("Git manual, {name}: accepted below 0.3, of {unrelated} pairs by {SEEDS} recipes, by chance {by_chance:.1}"),
            wrong,
            Target::AtMost((by_chance + 4.0 * by_chance.sqrt() + 10.0).ceil()),
        );
    }
    Ok(())
}
