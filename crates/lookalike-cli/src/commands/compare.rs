//! `lookalike compare A B`: how much two documents have in common, and where.

use std::io::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};

use anstyle::Style;
use clap::Args;
use lookalike::core::estimate::Comparison;
use lookalike::core::recipe::{Recipe, SketchKind};
use lookalike::core::simd::Level;
use lookalike::core::sketch::{Sketch, TwoRecipes};
use lookalike::core::sketcher::Sketcher;
use lookalike::core::weighted::WeightedOverlap;
use lookalike::corpus::document::{Format, Origin};
use lookalike::corpus::unusable::{Unusable, shown};
use lookalike_server::compared::{Compared, Exact, Side, measures, rows};
use lookalike_server::words::interval;
use serde_json::{Value, json};

use crate::args::{Global, RecipeArgs};
use crate::failure::{Exit, Failure, Stop};
use crate::input::{Input, note};
use crate::output::{file, page, text};

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
        if recipe.sketch.is_weighted() && self.html.is_some() {
            return Err(
                Failure::usage("--html draws texts, and weights are none", "leave it out").into(),
            );
        }
        let a = File::read(&a, &recipe, self.recipe.shingles.format, global)?;
        let b = File::read(&b, &recipe, self.recipe.shingles.format, global)?;
        for file in [&a, &b] {
            file.say_if_short(&recipe, global);
        }
        let mut sketcher = Sketcher::with_level(&recipe, level);
        let compared = Compared::new(&a.side, &b.side, &recipe, &mut sketcher);
        if let Some(path) = &self.html {
            file::write(path, page::draw(&compared).as_bytes())?;
        }
        let report = Report {
            a: &a,
            b: &b,
            compared,
        };
        let mut out = text::stdout();
        if global.json {
            let places = (|x: &Range<usize>| a.place(x), |x: &Range<usize>| b.place(x));
            writeln!(out, "{}", report.compared.json(places.0, places.1))?;
        } else {
            report.write(&mut out)?;
        }
        out.flush()?;
        match &self.html {
            Some(path) => note(global, &format!("both side by side: {}", shown(path))),
            None if !global.json
                && report.compared.weights.is_none()
                && !report.compared.passages.is_empty() =>
            {
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

/// One of the two files.
struct File<'a> {
    side: Side<'a>,
    bytes: usize,
    origin: Origin,
}

impl<'a> File<'a> {
    fn read(
        input: &'a Input<'_>,
        recipe: &Recipe,
        format: Format,
        global: Global,
    ) -> Result<File<'a>, Failure> {
        let (document, origin) = input.document_mapped(format, recipe.tokens, global)?;
        document.check(recipe).map_err(|why| input.unusable(why))?;
        let side = Side::new(input.name(), document, recipe);
        if side.tokens.is_empty() {
            return Err(input.unusable(Unusable::NoTokens));
        }
        Ok(File {
            side,
            bytes: input.len(),
            origin,
        })
    }

    fn say_if_short(&self, recipe: &Recipe, global: Global) {
        if self.side.is_short {
            let tokens = text::counted(self.side.tokens.len(), "token");
            let (name, width) = (&self.side.name, recipe.width);
            note(
                global,
                &format!(
                    "{name} has {tokens}, fewer than a shingle's {width}: it counts as one shingle"
                ),
            );
        }
    }

    /// Where some tokens stand in the file.
    fn place(&self, tokens: &Range<usize>) -> Range<usize> {
        self.origin.bytes(self.side.source_or_point(tokens))
    }
}

/// The two files and all that is known of them.
struct Report<'a> {
    a: &'a File<'a>,
    b: &'a File<'a>,
    compared: Compared<'a>,
}

/// How many passages are listed on the terminal, and how long their excerpts are.
const LISTED: usize = 10;
const EXCERPT: usize = 60;

impl Report<'_> {
    fn write(&self, out: &mut impl Write) -> std::io::Result<()> {
        if let Some(weights) = &self.compared.weights {
            return self.write_weights(out, weights);
        }
        let sides = [
            ("A", self.a, self.compared.shingles.a),
            ("B", self.b, self.compared.shingles.b),
        ];
        let rows = sides.map(|(letter, file, shingles)| {
            vec![
                format!("{letter}  {}", file.side.name),
                text::bytes(file.bytes as u64),
                text::counted(file.side.tokens.len(), "token"),
                text::counted(shingles, "shingle"),
            ]
        });
        write!(out, "{}", text::columns(&rows))?;
        let common = text::counted(self.compared.shingles.common, "shingle");
        writeln!(out, "{common} in common; {}\n", self.compared.recipe)?;
        write_measures(out, Some(self.compared.exact()), &self.compared.estimated)?;
        self.write_passages(out)
    }

    /// Features with weights: sums in place of counts, and no passages, for their order
    /// tells nothing.
    fn write_weights(
        &self,
        out: &mut impl Write,
        weights: &WeightedOverlap,
    ) -> std::io::Result<()> {
        let shingles = self.compared.shingles;
        for (file, count, weight) in [
            (self.a, shingles.a, weights.a),
            (self.b, shingles.b, weights.b),
        ] {
            let (features, weight) = (text::counted(count, "feature"), text::amount(weight));
            writeln!(out, "{}: {features}, weight {weight}", file.side.name)?;
        }
        let common = text::amount(weights.common);
        writeln!(out, "weight {common} in common; {}\n", self.compared.recipe)?;
        write_measures(out, Some(self.compared.exact()), &self.compared.estimated)
    }

    fn write_passages(&self, out: &mut impl Write) -> std::io::Result<()> {
        let (bold, dim) = (Style::new().bold(), Style::new().dimmed());
        if self.compared.passages.is_empty() {
            return writeln!(out, "\nno passage of a shingle or more in common");
        }
        let mut longest: Vec<usize> = (0..self.compared.passages.len()).collect();
        longest.sort_by_key(|&i| (std::cmp::Reverse(self.compared.passages[i].len()), i));
        longest.truncate(LISTED);
        longest.sort_unstable();
        let all = text::counted(self.compared.passages.len(), "shared passage");
        let which = if longest.len() < self.compared.passages.len() {
            format!(", the {LISTED} longest")
        } else {
            String::new()
        };
        writeln!(out, "\n{bold}{all}{which}{bold:#}")?;
        let has_changes = longest
            .iter()
            .any(|&i| !self.compared.passages[i].changes.is_empty());
        let rows: Vec<Vec<String>> = longest
            .iter()
            .map(|&i| {
                let passage = &self.compared.passages[i];
                let (a, b) = (self.a.place(&passage.a), self.b.place(&passage.b));
                let mut row = vec![
                    format!("{}", i + 1),
                    text::counted(passage.len(), "token"),
                    format!("A {}..{}", a.start, a.end),
                    format!("B {}..{}", b.start, b.end),
                ];
                if has_changes {
                    let changes = text::counted(passage.changes.len(), "change");
                    row.insert(2, changes);
                }
                row
            })
            .collect();
        let full = self.a.side.document.text();
        for (line, i) in text::columns(&rows).lines().zip(longest) {
            let range = self.a.side.text_range(&self.compared.passages[i].a);
            let words = text::excerpt(full.get(range).unwrap_or_default(), EXCERPT);
            writeln!(out, "{line}   {dim}{words}{dim:#}")?;
        }
        Ok(())
    }
}

fn write_measures(
    out: &mut impl Write,
    exact: Option<Exact>,
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
