//! `find [NAME] [--documents 1000000] [--work DIR]`: how fast a document is
//! found in a collection of a million. `make bench-find` runs it.
//!
//! ```text
//! generate ─► lookalike add ─► DIR/find-1m.lk, if it is not there; also with --sketch mod:25
//! documents of 1,000 words: in it, edited, new ─► find ─► median, p99; against a scan
//! ```
//!
//! Exit status 1 when a target is missed. Named, it writes `benchmarks/record/NAME.md`.
//! Times are CPU time of the thread, which does not grow while another program has the
//! core; the wall clock's are told besides. Of each query it is the middle one of three, in
//! three passes over all of them. Everything is in memory and every block has been checked
//! before: other queries went first.

use anyhow::{Context, Result, ensure};
use lookalike::core::sketcher::Sketcher;
use lookalike::corpus::document::{Document, Reading};
use lookalike::find::{FindOptions, Finder, Match, Query, Reread};
use lookalike_benchmarks::child;
use lookalike_benchmarks::clock;
use lookalike_benchmarks::figures::{Figures, Target};
use lookalike_benchmarks::synthetic::{Generator, Shape};
use lookalike_benchmarks::vocabulary::Random;
use rustix::time::{ClockId, clock_gettime};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

/// The sketches that are measured, with what is added to the name of the collection.
const SKETCHES: [(&str, &str); 2] = [("nested:256", ""), ("mod:25", "-mod25")];

/// Queries of each sort that are timed; as many others go first.
const QUERIES: usize = 1000;
/// Queries in a batch.
const BATCH: usize = 10_000;
/// Queries that the scan is asked as well.
const SCANNED: usize = 12;

/// What a query is to the collection.
const SORTS: [&str; 3] = ["in it", "edited", "new"];

const SHAPE: Shape = Shape {
    documents: 0,
    seed: 1,
    words_mean: 700.0,
};

fn main() -> Result<ExitCode> {
    let mut name = None;
    let mut documents = 1_000_000;
    let mut work = std::env::var_os("BENCH_DATA").map(PathBuf::from);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().context("a value is missing");
        match argument.as_str() {
            "--documents" => documents = value()?.parse()?,
            "--work" => work = Some(value()?.into()),
            other => {
                ensure!(!other.starts_with('-'), "unknown option `{other}`");
                name = Some(other.to_owned());
            }
        }
    }
    let passing = tempfile::tempdir()?;
    let work = work.unwrap_or_else(|| passing.path().to_owned());
    let shape = Shape { documents, ..SHAPE };
    let mut figures = Figures::begin();
    for (sketch, suffix) in SKETCHES {
        let size = match documents / 1_000_000 {
            millions if documents == 1_000_000 * millions => format!("{millions}m"),
            _ => documents.to_string(),
        };
        let folder = work.join(format!("find-{size}{suffix}.lk"));
        if !folder.join("LOCK").is_file() {
            build(&folder, shape, sketch)?;
        }
        measure(&mut figures, &folder, shape, sketch)?;
    }
    if let Some(name) = name {
        let record = format!(
            "# Finding: {name}\n\n```sh\nmake bench-find NAME={name}\n```\n\n- processor: {}\n\
             - {documents} documents of the generator; queries of 900 to 1,100 words: a third \
             in the collection, a third edited, a third new\n\n{}",
            clock::processor(),
            figures.table(),
        );
        let path = Path::new("benchmarks/record").join(format!("{name}.md"));
        fs::write(&path, record).with_context(|| format!("cannot write `{}`", path.display()))?;
    }
    Ok(if figures.end() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Makes the collection, by the programs built with this one.
fn build(folder: &Path, shape: Shape, sketch: &str) -> Result<()> {
    eprintln!("making `{}`", folder.display());
    let beside = std::env::current_exe()?;
    let mut source = Command::new(beside.with_file_name("generate"))
        .args(["--documents", &shape.documents.to_string()])
        .args(["--seed", &shape.seed.to_string()])
        .stdout(Stdio::piped())
        .spawn()?;
    let pipe = source.stdout.take().context("a pipe")?;
    let mut add = Command::new(beside.with_file_name("lookalike"));
    add.arg("add").arg(folder).arg("-").stdin(pipe);
    add.args(["--sketch", sketch, "--quiet"]);
    child::run(&mut add)?;
    child::finish(source)?;
    Ok(())
}

/// Documents of about a thousand words, one of each sort in turn.
struct Texts {
    inside: Generator,
    outside: Generator,
    documents: u64,
    random: Random,
    line: Vec<u8>,
}

impl Texts {
    fn new(shape: Shape) -> Texts {
        let outside = Shape {
            seed: shape.seed + 1,
            ..shape
        };
        Texts {
            inside: Generator::new(shape),
            outside: Generator::new(outside),
            documents: shape.documents,
            random: Random::new(42),
            line: Vec::new(),
        }
    }

    fn next(&mut self, sort: usize) -> Result<String> {
        let generator = match SORTS[sort] {
            "new" => &mut self.outside,
            _ => &mut self.inside,
        };
        loop {
            generator.seek(self.random.below(self.documents));
            self.line.clear();
            generator.next_line(&mut self.line);
            if (900..=1100).contains(&generator.words().len()) {
                break;
            }
        }
        let line: Value = serde_json::from_slice(&self.line)?;
        let text = line["text"].as_str().context("a document has a text")?;
        if SORTS[sort] != "edited" {
            return Ok(text.to_owned());
        }
        // One word in 20 to 200: resemblance 0.43 to 0.91.
        let every = 20 + self.random.below(181);
        let words = text.split(' ').map(|word| match self.random.below(every) {
            0 => format!("edited{}", self.random.below(1 << 40)),
            _ => word.to_owned(),
        });
        Ok(words.collect::<Vec<_>>().join(" "))
    }
}

fn measure(figures: &mut Figures, folder: &Path, shape: Shape, sketch: &str) -> Result<()> {
    let mut opening: Vec<f64> = Vec::new();
    for _ in 0..5 {
        let start = now();
        drop(Finder::open(folder, None)?);
        opening.push(now() - start);
    }
    let finder = Finder::open(folder, None)?;
    let documents = finder.collection().documents() as usize;
    figures.count(&format!("{sketch}: documents"), documents, Target::None);
    figures.number(
        &format!("{sketch}: opening, ms"),
        middle(&mut opening),
        2,
        Target::AtMost(10.0),
    );
    let mut run = Run {
        sketcher: finder.sketcher(),
        finder: &finder,
        texts: Texts::new(shape),
        sketch,
    };
    let (asked, median) = run.one_by_one(figures)?;
    run.against_a_scan(figures, &asked[..SCANNED], median)?;
    run.together(figures)
}

/// One collection, being measured.
struct Run<'a> {
    finder: &'a Finder,
    sketcher: Sketcher,
    texts: Texts,
    sketch: &'a str,
}

impl Run<'_> {
    fn row(&self, what: &str) -> String {
        format!("{}: {what}", self.sketch)
    }

    fn query(&mut self, text: &str) -> Result<Query> {
        let document = Document::read(text.as_bytes(), Reading::default())?;
        let bytes = Some(text.as_bytes());
        Ok(self
            .finder
            .query(&document, bytes, &mut self.sketcher, Reread::Never))
    }

    fn find(&self, query: &Query) -> Result<Vec<Match>> {
        Ok(self.finder.find(query, &FindOptions::default())?)
    }

    /// So many texts, one of each sort in turn.
    fn some(&mut self, count: usize) -> Result<Vec<String>> {
        (0..count)
            .map(|i| self.texts.next(i % SORTS.len()))
            .collect()
    }

    /// Queries one by one; what was asked, and the median.
    fn one_by_one(&mut self, figures: &mut Figures) -> Result<(Vec<String>, f64)> {
        let mut first = None;
        for text in self.some(2 * QUERIES * SORTS.len())? {
            let start = now();
            let query = self.query(&text)?;
            self.find(&query)?;
            first = first.or(Some(now() - start));
        }
        let asked = self.some(QUERIES * SORTS.len())?;
        let mut passes = vec![[0.0; 3]; asked.len()];
        let (mut by_wall, mut sketching, mut matches) = (Vec::new(), Vec::new(), 0);
        for pass in 0..3 {
            for (text, passes) in asked.iter().zip(&mut passes) {
                let (start, wall) = (now(), Instant::now());
                let query = self.query(text)?;
                sketching.push(now() - start);
                matches += self.find(&query)?.len();
                passes[pass] = now() - start;
                by_wall.push(1e3 * wall.elapsed().as_secs_f64());
            }
        }
        let each: Vec<f64> = passes.iter_mut().map(|passes| middle(passes)).collect();
        let mut all = each.clone();
        let median = middle(&mut all);
        figures.number(
            &self.row("sketch and find, median, ms"),
            median,
            4,
            Target::AtMost(0.2),
        );
        figures.number(
            &self.row("the same, p99, ms"),
            p99(&all),
            4,
            Target::AtMost(2.0),
        );
        let last = all[all.len() - 1];
        figures.note(
            &self.row("the slowest; the first of all, blocks unchecked, ms"),
            &format!("{last:.3}; {:.2}", first.unwrap_or_default()),
        );
        let mut both = |what: &str, mut all: Vec<f64>| {
            let shown = format!("{:.4}, {:.4}", middle(&mut all), p99(&all));
            figures.note(&self.row(&format!("{what}: median, p99, ms")), &shown);
        };
        for (sort, name) in SORTS.iter().enumerate() {
            let of_sort = each.iter().skip(sort).step_by(SORTS.len());
            both(name, of_sort.copied().collect());
        }
        both("sketching alone", sketching);
        both("by the wall clock", by_wall);
        figures.note(
            &self.row("matches a query"),
            &format!("{:.2}", matches as f64 / (3 * asked.len()) as f64),
        );
        Ok((asked, median))
    }

    /// What comparing with every sketch costs, and whether it answers the same.
    fn against_a_scan(
        &mut self,
        figures: &mut Figures,
        asked: &[String],
        median: f64,
    ) -> Result<()> {
        let (mut scans, mut differ) = (Vec::new(), 0);
        for text in asked {
            let query = self.query(text)?;
            let start = now();
            let scanned = self.finder.find_by_scan(&query, &FindOptions::default())?;
            scans.push(now() - start);
            differ += usize::from(self.find(&query)? != scanned);
        }
        let scan = middle(&mut scans);
        figures.number(
            &self.row("a scan of all sketches, median, ms"),
            scan,
            1,
            Target::None,
        );
        figures.number(
            &self.row("… times as long as finding"),
            scan / median,
            0,
            Target::AtLeast(20.0),
        );
        figures.count(
            &self.row(&format!(
                "… queries of {} that it answers in another way",
                asked.len()
            )),
            differ,
            Target::Is(0.0),
        );
        Ok(())
    }

    /// Many queries at once.
    fn together(&mut self, figures: &mut Figures) -> Result<()> {
        let texts = self.some(BATCH)?;
        let batch: Vec<Query> = texts
            .iter()
            .map(|text| self.query(text))
            .collect::<Result<_>>()?;
        let start = now();
        let singly: Vec<Vec<Match>> = batch
            .iter()
            .map(|query| self.find(query))
            .collect::<Result<_>>()?;
        let between = now();
        let together = self.finder.find_all(&batch, &FindOptions::default())?;
        let end = now();
        let row = |what: &str| self.row(&format!("a batch of {BATCH}, sketched before: {what}"));
        for (what, ms) in [
            ("queries a second, one by one", between - start),
            ("in one pass", end - between),
        ] {
            figures.number(&row(what), BATCH as f64 / ms * 1e3, 0, Target::None);
        }
        let differ = singly.iter().zip(&together).filter(|(x, y)| x != y);
        figures.count(&row("answers that differ"), differ.count(), Target::Is(0.0));
        Ok(())
    }
}

/// CPU milliseconds of this thread.
fn now() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e3 + time.tv_nsec as f64 / 1e6
}

/// The middle one; sorts them.
fn middle(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Of sorted ones.
fn p99(times: &[f64]) -> f64 {
    times[times.len() * 99 / 100]
}
