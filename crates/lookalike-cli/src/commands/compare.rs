//! `lookalike compare A B`: how much two documents have in common, and where.

use std::io::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};

use anstyle::Style;
use clap::Args;
use lookalike::core::canonical::Tokens;
use lookalike::core::estimate::{Comparison, Estimate, Overlap};
use lookalike::core::passages::{Passage, passages};
use lookalike::core::recipe::{Recipe, RecipeId, SketchKind};
use lookalike::core::shingle::overlap;
use lookalike::core::simd::Level;
use lookalike::core::sketch::{Sketch, TwoRecipes};
use lookalike::core::sketcher::Sketcher;
use lookalike::corpus::document::{Document, Format, Origin};
use lookalike::corpus::unusable::{Unusable, shown};
use serde_json::{Map, Value, json};

use crate::args::{Global, RecipeArgs};
use crate::failure::{Exit, Failure, Stop};
use crate::input::{Input, note};
use crate::output::{file, json as shapes, page, text};

/// Compare two documents: resemblance, both containments, and the shared passages
///
/// Exact figures are of the whole shingle sets; estimates are what the two sketches alone
/// would say, with their 95 % interval. Files saved by `lookalike sketch -o` can be compared
/// too: they give estimates only.
#[derive(Args)]
#[command(after_help = "\
Examples:
  lookalike compare old.html new.html
  lookalike compare a.txt b.txt --shingle 3 --json
  lookalike compare old.html new.html --html difference.html
  curl -s https://example.org/ | lookalike compare saved.html -")]
pub(crate) struct CompareArgs {
    /// A file, or - for standard input
    a: PathBuf,

    /// Another one
    b: PathBuf,

    /// Also write a page that shows both side by side
    #[arg(long, value_name = "OUT")]
    html: Option<PathBuf>,

    #[command(flatten)]
    recipe: RecipeArgs,
}

impl CompareArgs {
    pub(crate) fn run(self, global: Global, level: Level) -> Result<Exit, Stop> {
        if self.a == Path::new("-") && self.b == Path::new("-") {
            return Err(Failure::usage(
                "standard input can be read only once, and is named twice",
                "give one of the two as a file",
            )
            .into());
        }
        file::is_no_input(self.html.as_deref(), &[&self.a, &self.b])?;
        // The recipe first: a wrong key file should not wait for standard input.
        self.recipe.recipe(SketchKind::default())?;
        let (a, b) = (Input::read(&self.a)?, Input::read(&self.b)?);
        let format = self.recipe.shingles.format;
        if a.is_sketch(format) || b.is_sketch(format) {
            return self.run_on_sketches(&a, &b, global, level);
        }
        let recipe = self.recipe.recipe(SketchKind::default())?;
        let a = Side::read(&a, &recipe, self.recipe.shingles.format, global)?;
        let b = Side::read(&b, &recipe, self.recipe.shingles.format, global)?;
        for side in [&a, &b] {
            side.say_if_short(&recipe, global);
        }
        let report = Report::new(&a, &b, &recipe, level);
        if let Some(path) = &self.html {
            file::write(path, page::draw(&report).as_bytes())?;
        }
        let mut out = text::stdout();
        if global.json {
            writeln!(out, "{}", report.json())?;
        } else {
            report.write(&mut out)?;
        }
        out.flush()?;
        match &self.html {
            Some(path) => note(global, &format!("both side by side: {}", shown(path))),
            None if !global.json && !report.passages.is_empty() => {
                note(global, "--html OUT draws both side by side");
            }
            None => {}
        }
        Ok(Exit::Done)
    }

    /// At least one of the two is a sketch: only estimates can be had.
    fn run_on_sketches(
        &self,
        a: &Input<'_>,
        b: &Input<'_>,
        global: Global,
        level: Level,
    ) -> Result<Exit, Stop> {
        if self.html.is_some() {
            return Err(Failure::usage(
                "--html needs two texts: a sketch does not hold the words",
                "compare the files the sketches were made of",
            )
            .into());
        }
        let format = self.recipe.shingles.format;
        let saved = |input: &Input<'_>| input.is_sketch(format).then(|| input.sketch());
        let (saved_a, saved_b) = (saved(a).transpose()?, saved(b).transpose()?);
        // Beside a saved sketch a text is sketched the same way, if nothing else is said.
        let kind = saved_a.as_ref().or(saved_b.as_ref()).map(Sketch::kind);
        let recipe = self.recipe.recipe(kind.unwrap_or_default())?;
        let mut sketcher = Sketcher::with_level(&recipe, level);
        let mut fresh = |input: &Input<'_>| -> Result<Sketch, Failure> {
            let document = input.document(format, recipe.tokens, global)?;
            let sketch = document.sketch(&mut sketcher);
            if sketch.tokens() == 0 {
                return Err(input.unusable(Unusable::NoTokens));
            }
            Ok(sketch)
        };
        let both_saved = saved_a.is_some() && saved_b.is_some();
        let sketch_a = saved_a.map_or_else(|| fresh(a), Ok)?;
        let sketch_b = saved_b.map_or_else(|| fresh(b), Ok)?;
        let compared = sketch_a.compare(&sketch_b).map_err(|TwoRecipes(x, y)| {
            let message = format!("sketches of two recipes cannot be compared: {x} and {y}");
            let hint = if both_saved {
                "make one of them again with the options of the other".to_owned()
            } else {
                format!(
                    "give the options the sketch was made with (its kind is {})",
                    kind.unwrap_or_default()
                )
            };
            Failure::usage(message, hint)
        })?;
        let mut out = text::stdout();
        if global.json {
            let mut answer = measures(None, &compared);
            answer.insert(
                "tokens".to_owned(),
                json!({ "a": sketch_a.tokens(), "b": sketch_b.tokens() }),
            );
            answer.insert("recipe_id".to_owned(), json!(sketch_a.recipe().to_string()));
            writeln!(out, "{}", Value::Object(answer))?;
        } else {
            for (input, sketch) in [(a, &sketch_a), (b, &sketch_b)] {
                let tokens = text::count(sketch.tokens());
                let kept = text::counted(sketch.samples().len(), "fingerprint");
                writeln!(out, "{}: {tokens} tokens, {kept} kept", input.name())?;
            }
            writeln!(out)?;
            write_measures(&mut out, None, &compared)?;
        }
        out.flush()?;
        if !global.json {
            note(
                global,
                "sketches give estimates only; compare the texts for exact figures and passages",
            );
        }
        Ok(Exit::Done)
    }
}

/// One of the two documents.
pub(crate) struct Side<'a> {
    pub(crate) name: String,
    pub(crate) document: Document<'a>,
    pub(crate) tokens: Tokens,
    pub(crate) bytes: usize,
    /// Whether it has fewer tokens than a shingle and so is one shingle as a whole.
    pub(crate) is_short: bool,
    origin: Origin,
}

impl<'a> Side<'a> {
    fn read(
        input: &'a Input<'_>,
        recipe: &Recipe,
        format: Format,
        global: Global,
    ) -> Result<Side<'a>, Failure> {
        let (document, origin) = input.document_mapped(format, recipe.tokens, global)?;
        let tokens = document.tokens(recipe);
        if tokens.is_empty() {
            return Err(input.unusable(Unusable::NoTokens));
        }
        Ok(Side {
            name: input.name(),
            document,
            bytes: input.len(),
            is_short: tokens.len() < recipe.width.get(),
            tokens,
            origin,
        })
    }

    fn say_if_short(&self, recipe: &Recipe, global: Global) {
        if self.is_short {
            let tokens = text::counted(self.tokens.len(), "token");
            let (name, width) = (&self.name, recipe.width);
            note(
                global,
                &format!(
                    "{name} has {tokens}, fewer than a shingle's {width}: it counts as one shingle"
                ),
            );
        }
    }

    /// From the first of some tokens to the end of the last, in the text tokens are
    /// read from.
    fn source(&self, tokens: &Range<usize>) -> Range<usize> {
        let start = self.tokens.source(tokens.start).start;
        let end = self.tokens.source(tokens.end - 1).end;
        start..end.max(start)
    }

    /// Where some tokens stand in the shown text.
    pub(crate) fn text_range(&self, tokens: &Range<usize>) -> Range<usize> {
        self.document.text_range(self.source(tokens))
    }

    /// Where some tokens stand in the file.
    fn file_range(&self, tokens: &Range<usize>) -> Range<usize> {
        self.origin.bytes(self.source(tokens))
    }
}

/// All that is known of two documents.
pub(crate) struct Report<'a> {
    pub(crate) a: &'a Side<'a>,
    pub(crate) b: &'a Side<'a>,
    pub(crate) exact: Overlap,
    pub(crate) estimated: Comparison,
    pub(crate) passages: Vec<Passage>,
    pub(crate) recipe: String,
    recipe_id: RecipeId,
}

/// How many passages are listed on the terminal, and how long their excerpts are.
const LISTED: usize = 10;
const EXCERPT: usize = 60;

impl<'a> Report<'a> {
    fn new(a: &'a Side<'a>, b: &'a Side<'a>, recipe: &Recipe, level: Level) -> Report<'a> {
        let mut sketcher = Sketcher::with_level(recipe, level);
        let (sketch_a, sketch_b) = (
            a.document.sketch(&mut sketcher),
            b.document.sketch(&mut sketcher),
        );
        // One sketcher made both, so there is one recipe.
        let estimated = sketch_a.compare(&sketch_b).unwrap_or_default();
        Report {
            a,
            b,
            exact: overlap(&a.tokens, &b.tokens, recipe.width, recipe.shingling),
            estimated,
            passages: passages(&a.tokens, &b.tokens, recipe.width),
            recipe: recipe.to_string(),
            recipe_id: recipe.id(),
        }
    }

    fn json(&self) -> Value {
        let Overlap { a, b, common } = self.exact;
        let mut answer = Map::new();
        answer.insert(
            "shingles".to_owned(),
            json!({ "a": a, "b": b, "common": common }),
        );
        answer.append(&mut measures(Some(self.exact), &self.estimated));
        let passage = |passage: &Passage| {
            let (a, b) = (self.a.file_range(&passage.a), self.b.file_range(&passage.b));
            json!({ "a": [a.start, a.end], "b": [b.start, b.end], "tokens": passage.len() })
        };
        let passages: Vec<Value> = self.passages.iter().map(passage).collect();
        let more = [
            ("passages", json!(passages)),
            (
                "tokens",
                json!({ "a": self.a.tokens.len(), "b": self.b.tokens.len() }),
            ),
            (
                "short",
                json!({ "a": self.a.is_short, "b": self.b.is_short }),
            ),
            ("recipe", json!(self.recipe)),
            ("recipe_id", json!(self.recipe_id.to_string())),
        ];
        answer.extend(more.map(|(name, value)| (name.to_owned(), value)));
        Value::Object(answer)
    }

    fn write(&self, out: &mut impl Write) -> std::io::Result<()> {
        let sides = [("A", self.a, self.exact.a), ("B", self.b, self.exact.b)];
        let rows = sides.map(|(letter, side, shingles)| {
            vec![
                format!("{letter}  {}", side.name),
                text::bytes(side.bytes as u64),
                text::counted(side.tokens.len(), "token"),
                text::counted(shingles, "shingle"),
            ]
        });
        write!(out, "{}", text::columns(&rows))?;
        let common = text::counted(self.exact.common, "shingle");
        writeln!(out, "{common} in common; {}\n", self.recipe)?;
        write_measures(out, Some(self.exact), &self.estimated)?;
        self.write_passages(out)
    }

    fn write_passages(&self, out: &mut impl Write) -> std::io::Result<()> {
        let (bold, dim) = (Style::new().bold(), Style::new().dimmed());
        if self.passages.is_empty() {
            return writeln!(out, "\nno passage of a shingle or more in common");
        }
        let mut longest: Vec<usize> = (0..self.passages.len()).collect();
        longest.sort_by_key(|&i| (std::cmp::Reverse(self.passages[i].len()), i));
        longest.truncate(LISTED);
        longest.sort_unstable();
        let all = text::counted(self.passages.len(), "shared passage");
        let which = if longest.len() < self.passages.len() {
            format!(", the {LISTED} longest")
        } else {
            String::new()
        };
        writeln!(out, "\n{bold}{all}{which}{bold:#}")?;
        let rows: Vec<Vec<String>> = longest
            .iter()
            .map(|&i| {
                let passage = &self.passages[i];
                let (a, b) = (self.a.file_range(&passage.a), self.b.file_range(&passage.b));
                vec![
                    format!("{}", i + 1),
                    text::counted(passage.len(), "token"),
                    format!("A {}..{}", a.start, a.end),
                    format!("B {}..{}", b.start, b.end),
                ]
            })
            .collect();
        let full = self.a.document.text();
        for (line, i) in text::columns(&rows).lines().zip(longest) {
            let range = self.a.text_range(&self.passages[i].a);
            let words = text::excerpt(full.get(range).unwrap_or_default(), EXCERPT);
            writeln!(out, "{line}   {dim}{words}{dim:#}")?;
        }
        Ok(())
    }
}

/// The three measures under their names in JSON.
fn measures(exact: Option<Overlap>, estimated: &Comparison) -> Map<String, Value> {
    rows(exact, estimated)
        .map(|(_, name, exact, estimate)| (name.to_owned(), shapes::measure(exact, estimate)))
        .into_iter()
        .collect()
}

/// The three measures: their title, their name in JSON, the exact value, the estimate.
type Measure = (&'static str, &'static str, Option<f64>, Option<Estimate>);

fn rows(exact: Option<Overlap>, estimated: &Comparison) -> [Measure; 3] {
    let exact = |value: fn(&Overlap) -> Option<f64>| exact.as_ref().and_then(value);
    [
        (
            "resemblance",
            "resemblance",
            exact(Overlap::resemblance),
            estimated.resemblance,
        ),
        ("A in B", "a_in_b", exact(Overlap::a_in_b), estimated.a_in_b),
        ("B in A", "b_in_a", exact(Overlap::b_in_a), estimated.b_in_a),
    ]
}

fn write_measures(
    out: &mut impl Write,
    exact: Option<Overlap>,
    estimated: &Comparison,
) -> std::io::Result<()> {
    let mut table = vec![vec![String::new()]];
    if exact.is_some() {
        table[0].push("exact".to_owned());
    }
    table[0].extend(["estimate", "95 % interval", "samples"].map(str::to_owned));
    for (title, _, share, estimate) in rows(exact, estimated) {
        let mut row = vec![title.to_owned()];
        if exact.is_some() {
            row.push(share.map_or("-".to_owned(), text::percent));
        }
        match estimate {
            Some(found) => row.extend([
                text::percent(found.value),
                interval(found),
                text::count(found.samples as u64),
            ]),
            None => row.extend(["-", "-", "-"].map(str::to_owned)),
        }
        table.push(row);
    }
    let bold = Style::new().bold();
    let table = text::columns(&table);
    let (head, rest) = table.split_once('\n').unwrap_or((&table, ""));
    write!(out, "{bold}{head}{bold:#}\n{rest}")
}

/// The interval of an estimate in a few characters.
pub(crate) fn interval(estimate: Estimate) -> String {
    if estimate.low >= estimate.high {
        return "certain".to_owned();
    }
    let (low, high) = (text::percent(estimate.low), text::percent(estimate.high));
    format!("{} to {high}", low.trim_end_matches(" %"))
}
