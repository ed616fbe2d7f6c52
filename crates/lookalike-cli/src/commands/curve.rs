//! `lookalike curve`: how likely filters are to accept a pair.

use std::io::{self, Write};
use std::num::NonZero;
use std::path::PathBuf;
use std::str::FromStr;

use anstyle::Style;
use clap::Args;
use lookalike::core::acceptance::{Filter, Odds};
use lookalike::core::sketch::features::{EightBytesSpec, FeatureSpec};
use serde_json::{Value, json};

use crate::args::Global;
use crate::failure::{Exit, Stop};
use crate::output::plot::{Curve, Scale, draw};
use crate::output::{file, text};

/// Print and draw the acceptance curves of filters
///
/// A filter decides from two sketches alone whether to take two documents for near-duplicates.
/// Its curve gives the probability that it does, for every resemblance. Without options: the
/// filters of the 2005 slides, all made for a resemblance of 90 %.
#[derive(Args)]
#[command(after_help = "\
Examples:
  lookalike curve
  lookalike curve --features 6x14/2 --full 84@0.9 --svg curves.svg
  lookalike curve --features 8x25/1 --super-shingles 100/10 --log --svg tails.svg")]
pub(crate) struct CurveArgs {
    /// Features: K groups of S samples, R of them equal; may be given again
    #[arg(long, value_name = "KxS/R")]
    features: Vec<FeatureSpec>,

    /// A full sketch of T samples, of which a share R is equal; may be given again
    #[arg(long, value_name = "T@R")]
    full: Vec<Full>,

    /// One super-shingle of W of the N samples in common; may be given again
    #[arg(long, value_name = "N/W")]
    super_shingles: Vec<SuperShingles>,

    /// The eight-byte sketch with 3 or with 7 of its bytes equal; may be given again
    #[arg(long, value_name = "3|7")]
    eight: Vec<Eight>,

    /// The step between two rows of the table
    #[arg(long, value_name = "STEP", default_value = "0.05", value_parser = step)]
    step: f64,

    /// Also draw the curves
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,

    /// Draw both tails in a logarithmic scale
    #[arg(long, requires = "svg")]
    log: bool,
}

/// `84@0.9`
#[derive(Clone, Copy)]
struct Full {
    of: usize,
    common: usize,
}

/// As many samples as a filter over features may have.
const MOST_SAMPLES: usize = FeatureSpec::MOST_SAMPLES;

impl FromStr for Full {
    type Err = String;

    fn from_str(text: &str) -> Result<Full, String> {
        let wrong = || {
            format!(
                "`{text}` is no full sketch; write samples @ threshold, as in 84@0.9, with at most {MOST_SAMPLES} samples"
            )
        };
        let (of, share) = text.split_once('@').ok_or_else(wrong)?;
        let of: usize = of.parse().map_err(|_| wrong())?;
        let share: f64 = share.parse().map_err(|_| wrong())?;
        let is_share = share > 0.0 && share <= 1.0;
        if !is_share || !(1..=MOST_SAMPLES).contains(&of) {
            return Err(wrong());
        }
        // 0.9 of 10 is 9 and not 10, whatever floating point makes of it.
        let common = (1..=of).find(|&common| common as f64 / of as f64 >= share - 1e-12);
        let common = common.unwrap_or(of);
        Ok(Full { of, common })
    }
}

/// `100/10`
#[derive(Clone, Copy)]
struct SuperShingles {
    samples: NonZero<usize>,
    width: NonZero<usize>,
}

/// The curve takes time in proportion to samples times width.
const MOST_SUPER: usize = 4096;

impl FromStr for SuperShingles {
    type Err = String;

    fn from_str(text: &str) -> Result<SuperShingles, String> {
        let number = |text: &str| -> Option<NonZero<usize>> {
            let number: NonZero<usize> = text.parse().ok()?;
            (number.get() <= MOST_SUPER).then_some(number)
        };
        let parts = text.split_once('/');
        let parts = parts.and_then(|(n, w)| Some((number(n)?, number(w)?)));
        let (samples, width) = parts.ok_or_else(|| {
            format!("`{text}` names no super-shingles; write samples / width, as in 100/10, each from 1 to {MOST_SUPER}")
        })?;
        Ok(SuperShingles { samples, width })
    }
}

/// `3` or `7`
#[derive(Clone, Copy)]
struct Eight(EightBytesSpec);

impl FromStr for Eight {
    type Err = String;

    fn from_str(text: &str) -> Result<Eight, String> {
        match text {
            "3" => Ok(Eight(EightBytesSpec::THREE)),
            "7" => Ok(Eight(EightBytesSpec::SEVEN)),
            _ => Err("the eight-byte sketch is compared by 3 or by 7 bytes".to_owned()),
        }
    }
}

fn step(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(step) if (0.0001..=1.0).contains(&step) => Ok(step),
        _ => Err("a step is between 0.0001 and 1".to_owned()),
    }
}

/// The acceptance probabilities whose resemblance is told for each filter.
const POINTS: [f64; 3] = [0.01, 0.5, 0.99];

impl CurveArgs {
    pub(crate) fn run(self, global: Global) -> Result<Exit, Stop> {
        let curves = self.curves();
        if let Some(path) = &self.svg {
            let scale = if self.log { Scale::Log } else { Scale::Linear };
            file::write(path, draw(&curves, scale).as_bytes())?;
        }
        let mut out = text::stdout();
        if global.json {
            writeln!(out, "{}", self.json(&curves))?;
        } else {
            self.write(&mut out, &curves)?;
        }
        out.flush()?;
        Ok(Exit::Done)
    }

    fn curves(&self) -> Vec<Curve> {
        let full = |&Full { of, common }: &Full| Curve {
            name: format!("full sketch, {common} of {of}"),
            filter: Filter::Samples { of, common },
        };
        let features = |&spec: &FeatureSpec| Curve {
            name: format!("features {spec}"),
            filter: Filter::Features(spec),
        };
        let eight = |&Eight(spec): &Eight| Curve {
            name: format!("{} of 8 bytes", spec.common()),
            filter: Filter::EightBytes(spec),
        };
        let super_shingles = |&SuperShingles { samples, width }: &SuperShingles| Curve {
            name: format!("super-shingles {samples}/{width}"),
            filter: Filter::SuperShingles { samples, width },
        };
        let asked: Vec<Curve> = self
            .full
            .iter()
            .map(full)
            .chain(self.features.iter().map(features))
            .chain(self.super_shingles.iter().map(super_shingles))
            .chain(self.eight.iter().map(eight))
            .collect();
        if !asked.is_empty() {
            return asked;
        }
        let slides = |spec: &str| spec.parse().as_ref().map(features).ok();
        // 90 % of 84 are 75.6.
        let sketch = Full { of: 84, common: 76 };
        let eights = [EightBytesSpec::THREE, EightBytesSpec::SEVEN].map(Eight);
        [Some(full(&sketch)), slides("6x14/2"), slides("8x25/1")]
            .into_iter()
            .flatten()
            .chain(eights.iter().map(eight))
            .collect()
    }

    /// The resemblances of the table, 0 and 1 among them.
    fn rows(&self) -> Vec<f64> {
        // Counted in whole steps, so that no rounding adds up; a step is at least 0.0001.
        let steps = (0..10_000).map(|i| f64::from(i) * self.step);
        let mut rows: Vec<f64> = steps.take_while(|&rho| rho < 1.0 - 1e-9).collect();
        rows.push(1.0);
        rows
    }

    fn json(&self, curves: &[Curve]) -> Value {
        let curve = |curve: &Curve| {
            let point = |rho: f64| {
                let Odds { accept, reject } = curve.filter.odds(rho);
                json!({ "resemblance": rho, "accept": accept, "reject": reject })
            };
            let points: Vec<Value> = self.rows().into_iter().map(point).collect();
            let at = |accept: f64| json!({ "accept": accept, "resemblance": curve.filter.threshold_where(accept) });
            json!({ "filter": curve.name, "reaches": POINTS.map(at), "points": points })
        };
        let all: Vec<Value> = curves.iter().map(curve).collect();
        json!({ "curves": all })
    }

    fn write(&self, out: &mut impl Write, curves: &[Curve]) -> io::Result<()> {
        let bold = Style::new().bold();
        let names = curves.iter().map(|curve| curve.name.clone());
        let mut table: Vec<Vec<String>> = vec![
            std::iter::once("resemblance".to_owned())
                .chain(names)
                .collect(),
        ];
        for rho in self.rows() {
            let chance = |curve: &Curve| probability(curve.filter.odds(rho));
            let row = std::iter::once(shortest(rho)).chain(curves.iter().map(chance));
            table.push(row.collect());
        }
        writeln!(out, "{bold}probability of acceptance{bold:#}")?;
        write!(out, "{}", text::columns(&table))?;
        table.truncate(1);
        "accepted".clone_into(&mut table[0][0]);
        for accept in POINTS {
            let reaches = |curve: &Curve| format!("{:.4}", curve.filter.threshold_where(accept));
            let row =
                std::iter::once(format!("{} %", 100.0 * accept)).chain(curves.iter().map(reaches));
            table.push(row.collect());
        }
        writeln!(
            out,
            "\n{bold}resemblance at which pairs are accepted this often{bold:#}"
        )?;
        write!(out, "{}", text::columns(&table))
    }
}

/// A resemblance as few digits as tell it.
fn shortest(rho: f64) -> String {
    let two = format!("{rho:.2}");
    let four = format!("{rho:.4}");
    if four.strip_suffix("00") == Some(&two) {
        two
    } else {
        four
    }
}

/// A probability; whichever of the two chances is small keeps its digits.
fn probability(odds: Odds) -> String {
    if odds.accept == 0.0 {
        "0".to_owned()
    } else if odds.reject == 0.0 {
        "1".to_owned()
    } else if odds.accept < 0.0001 {
        format!("{:.1e}", odds.accept)
    } else if odds.reject < 0.0001 {
        format!("1-{:.1e}", odds.reject)
    } else {
        format!("{:.4}", odds.accept)
    }
}
