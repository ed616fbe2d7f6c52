//! `lookalike sketch FILE`: what is kept of one document.

use std::collections::HashMap;
use std::io::Write;
use std::ops::Range;
use std::path::PathBuf;

use anstyle::Style;
use clap::Args;
use lookalike::core::canonical::for_each_token;
use lookalike::core::recipe::{Recipe, SketchKind};
use lookalike::core::shingle::windows;
use lookalike::core::simd::Level;
use lookalike::core::sketch::{Kept, Sketch};
use lookalike::core::sketcher::Sketcher;
use lookalike::corpus::document::Document;
use lookalike::corpus::unusable::{Unusable, shown};
use serde_json::{Map, Value, json};

use crate::args::{Global, RecipeArgs};
use crate::failure::{Exit, Stop};
use crate::input::{Input, note};
use crate::output::{file, text};

/// Show what is kept of a document, or save it
///
/// A saved sketch is enough to compare the document with others later, without the document:
/// see `lookalike compare`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  lookalike sketch page.html
  lookalike sketch page.html --samples 64 --json
  lookalike sketch page.html -o page.sketch")]
pub(crate) struct SketchArgs {
    /// A file, or - for standard input
    file: PathBuf,

    /// Save the sketch in a file
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,

    #[command(flatten)]
    recipe: RecipeArgs,
}

/// How many kept shingles are shown with their words, and how long those may be.
const SHOWN: usize = 5;
const EXCERPT: usize = 70;

impl SketchArgs {
    pub(crate) fn run(self, global: Global, level: Level) -> Result<Exit, Stop> {
        file::is_no_input(self.output.as_deref(), &[&self.file])?;
        let recipe = self.recipe.recipe(SketchKind::default())?;
        let input = Input::read(&self.file)?;
        let format = self.recipe.shingles.format;
        let document = input.document(format, recipe.tokens, global)?;
        document.check(&recipe).map_err(|why| input.unusable(why))?;
        let mut sketcher = Sketcher::with_level(&recipe, level);
        let sketch = document.sketch(&mut sketcher);
        if sketch.tokens() == 0 {
            return Err(input.unusable(Unusable::NoTokens).into());
        }
        let bytes = sketch.to_bytes();
        if let Some(path) = &self.output {
            file::write(path, &bytes)?;
        }
        let facts = Facts::new(&recipe, &sketch, bytes.len());
        let mut out = text::stdout();
        if global.json {
            writeln!(out, "{}", facts.json())?;
        } else {
            writeln!(out, "{}", input.name())?;
            facts.write(&mut out)?;
            let found = words_of_samples(&document, &recipe, &sketch, &mut sketcher);
            write_words(&mut out, &document, &recipe, &found, &sketch)?;
        }
        out.flush()?;
        if let Some(path) = &self.output {
            note(global, &format!("saved in {}", shown(path)));
        }
        Ok(Exit::Done)
    }
}

/// What there is to say of a sketch.
struct Facts<'a> {
    recipe: &'a Recipe,
    sketch: &'a Sketch,
    bytes: usize,
    windows: u64,
    /// The number of different shingles, where the sketch can tell.
    distinct: Option<f64>,
    /// One fingerprint in how many is kept, where that is what decides.
    one_in: Option<f64>,
    /// The standard error of an estimate for two documents like this one that share
    /// half of all their shingles; `None` without samples.
    error: Option<f64>,
}

impl<'a> Facts<'a> {
    fn new(recipe: &'a Recipe, sketch: &'a Sketch, bytes: usize) -> Facts<'a> {
        let tokens = sketch.tokens();
        let width = recipe.width.get() as u64;
        let kept = sketch.samples().len() as f64;
        let (one_in, distinct) = match (sketch.kept(), sketch.kind()) {
            (Kept::Nested(nested), _) => {
                let one_in = 2_f64.powi(nested.level().cast_signed());
                (Some(one_in), Some(nested.shingles()))
            }
            (_, SketchKind::Mod { modulus }) => {
                let one_in = modulus as f64;
                (Some(one_in), Some(kept * one_in))
            }
            (_, SketchKind::Min { samples }) => (None, of_smallest(sketch, samples, 1.0)),
            (_, SketchKind::MinMod { samples, modulus }) => {
                (None, of_smallest(sketch, samples, modulus as f64))
            }
            _ => (None, None),
        };
        let windows = if tokens < width {
            tokens.min(1)
        } else {
            tokens - width + 1
        };
        // An estimate may exceed what there can be.
        let distinct = distinct.map(|distinct: f64| distinct.min(windows as f64));
        // Half the samples are hits. Two such documents have 4/3 of one document's
        // shingles together, and that is how many samples a share of all gives.
        let union = 4.0 / 3.0;
        let (seen, share) = match (one_in, distinct) {
            (Some(one_in), _) => (kept * union, 1.0 / one_in),
            (None, Some(distinct)) => (kept, kept / (distinct * union)),
            (None, None) => (kept, 0.0),
        };
        let error = (seen > 0.0).then(|| (0.25 / seen * (1.0 - share)).max(0.0).sqrt());
        Facts {
            recipe,
            sketch,
            bytes,
            windows,
            distinct,
            one_in,
            error,
        }
    }

    fn is_whole(&self) -> bool {
        self.one_in == Some(1.0)
    }

    fn is_short(&self) -> bool {
        self.sketch.tokens() < self.recipe.width.get() as u64
    }

    fn json(&self) -> Value {
        let sketch = self.sketch;
        let mut answer = Map::new();
        let mut put = |name: &str, value: Value| {
            answer.insert(name.to_owned(), value);
        };
        put("recipe", json!(self.recipe.to_string()));
        put("recipe_id", json!(sketch.recipe().to_string()));
        put("tokens", json!(sketch.tokens()));
        put("windows", json!(self.windows));
        put("short", json!(self.is_short()));
        if let Some(distinct) = self.distinct {
            put("distinct_shingles", json!(distinct));
        }
        put("kind", json!(sketch.kind().to_string()));
        if let Kept::Nested(nested) = sketch.kept() {
            put("level", json!(nested.level()));
        }
        put("kept", json!(sketch.samples().len()));
        put("bytes", json!(self.bytes));
        if let Some(error) = self.error {
            put("standard_error", json!(error));
        }
        let fingerprints = sketch.samples().iter().copied();
        let fingerprints: Vec<String> = fingerprints.map(hex).collect();
        put("fingerprints", json!(fingerprints));
        Value::Object(answer)
    }

    fn write(&self, out: &mut impl Write) -> std::io::Result<()> {
        let sketch = self.sketch;
        let whole = if self.is_whole() { "all, " } else { "" };
        let samples = sketch.samples().len();
        let kept = match self.one_in {
            Some(one_in) if one_in > 1.0 => format!(
                "{}, 1 in {one_in} of all",
                text::counted(samples, "fingerprint")
            ),
            _ => format!("{whole}{}", text::counted(samples, "fingerprint")),
        };
        let distinct = match self.distinct {
            Some(distinct) if self.is_whole() => format!("{distinct}"),
            Some(distinct) => format!("about {distinct:.0}"),
            None => "not known from this kind of sketch".to_owned(),
        };
        let short = if self.is_short() {
            "; shorter than a shingle, so one as a whole"
        } else {
            ""
        };
        let error = match self.error {
            Some(error) if error > 0.0 => {
                format!("{:.2} % at a resemblance of 50 %", error * 100.0)
            }
            Some(_) => "none: everything is kept".to_owned(),
            None => "no estimate: nothing is kept".to_owned(),
        };
        let rows = [
            ("recipe", self.recipe.to_string()),
            ("recipe id", sketch.recipe().to_string()),
            ("tokens", text::count(sketch.tokens())),
            (
                "shingles",
                format!(
                    "{}, different: {distinct}{short}",
                    text::count(self.windows)
                ),
            ),
            ("kept", kept),
            ("size", text::bytes(self.bytes as u64)),
            ("standard error", error),
        ];
        for (name, value) in rows {
            writeln!(out, "  {name:<15} {value}")?;
        }
        Ok(())
    }
}

/// The number of different shingles by the largest of the `samples` smallest
/// fingerprints; exact when there are fewer of them.
fn of_smallest(sketch: &Sketch, samples: usize, modulus: f64) -> Option<f64> {
    let kept = sketch.samples();
    let largest = *kept.last()?;
    if kept.len() < samples {
        return Some(kept.len() as f64 * modulus);
    }
    // The s-th smallest of n random numbers lies near s/n of their range; of all
    // fingerprints, one in `modulus` was looked at.
    let considered =
        (kept.len() as f64 - 1.0).max(1.0) * 2_f64.powi(64) / (largest as f64).max(1.0);
    Some(considered * modulus)
}

/// The first kept fingerprints in reading order, and the tokens each was made of.
fn words_of_samples(
    document: &Document<'_>,
    recipe: &Recipe,
    sketch: &Sketch,
    sketcher: &mut Sketcher,
) -> Vec<(u64, Range<usize>)> {
    // A permutation keeps a rank, from which the fingerprint is not to be had.
    if matches!(sketch.kept(), Kept::Perm(_)) {
        return Vec::new();
    }
    // First places only: a shingle that comes again is no other shingle.
    let mut first: HashMap<u64, Option<usize>> =
        sketch.samples().iter().map(|&kept| (kept, None)).collect();
    let mut at = 0;
    let mut note_places = |block: &[u64]| {
        for fingerprint in block {
            if let Some(place) = first.get_mut(fingerprint) {
                place.get_or_insert(at);
            }
            at += 1;
        }
    };
    let count = match document.features() {
        None => sketcher.fingerprints(&document.text(), note_places),
        Some(features) => {
            // One window at a time: features have no running path of fingerprints.
            let everything = Recipe {
                sketch: SketchKind::Mod { modulus: 1 },
                ..recipe.clone()
            };
            let mut one = Sketcher::new(&everything);
            for window in windows(features.len(), recipe.width) {
                let window = one.sketch_features(&features[window]);
                note_places(window.samples());
            }
            features.len() as u64
        }
    };
    let len = usize::try_from(count).map_or(recipe.width.get(), |n| n.min(recipe.width.get()));
    let mut found: Vec<_> = sketch
        .samples()
        .iter()
        .filter_map(|kept| Some((*kept, first.get(kept).copied().flatten()?)))
        .map(|(kept, place)| (kept, place..place + len))
        .collect();
    found.sort_unstable_by_key(|(_, range)| range.start);
    found.truncate(SHOWN);
    found
}

fn write_words(
    out: &mut impl Write,
    document: &Document<'_>,
    recipe: &Recipe,
    found: &[(u64, Range<usize>)],
    sketch: &Sketch,
) -> std::io::Result<()> {
    if found.is_empty() {
        return Ok(());
    }
    let (bold, dim) = (Style::new().bold(), Style::new().dimmed());
    let all = sketch.samples().len();
    let which = if found.len() < all {
        format!("the first {} of {}", found.len(), text::count(all as u64))
    } else {
        "all of them".to_owned()
    };
    writeln!(out, "\n{bold}kept shingles, {which}{bold:#}")?;
    let full = document.text();
    let places = places(document, recipe, found);
    for ((fingerprint, _), range) in found.iter().zip(places) {
        let words = text::excerpt(full.get(range).unwrap_or_default(), EXCERPT);
        let fingerprint = hex(*fingerprint);
        writeln!(out, "  {dim}{fingerprint}{dim:#}  {words}")?;
    }
    Ok(())
}

/// Where the tokens of each shingle stand in the shown text. Walks the text once more
/// rather than keep a place for each of its tokens.
fn places(
    document: &Document<'_>,
    recipe: &Recipe,
    found: &[(u64, Range<usize>)],
) -> Vec<Range<usize>> {
    let mut sources: Vec<Range<usize>> = found.iter().map(|(_, tokens)| tokens.clone()).collect();
    if document.features().is_none() {
        let mut at = 0;
        for_each_token(&document.text(), recipe.tokens, recipe.case, |_, source| {
            for ((_, tokens), place) in found.iter().zip(&mut sources) {
                if at == tokens.start {
                    place.start = source.start;
                }
                if at + 1 == tokens.end {
                    place.end = source.end;
                }
            }
            at += 1;
        });
    }
    let sources = sources.into_iter();
    sources.map(|source| document.text_range(source)).collect()
}

/// A fingerprint as 16 hexadecimal digits: most readers of JSON lose digits of a
/// number past 2^53.
fn hex(fingerprint: u64) -> String {
    format!("{fingerprint:016x}")
}
