//! `speed [NAME] [--rounds N] [--only WORDS] [--bench DIR]`: CPU time of every stage beside
//! `LC_ALL=C wc -w` on the very same file, interleaved, best of N rounds.
//!
//! Prints Markdown and writes it to `benchmarks/record/NAME.md` (`unnamed` without one).
//! Exit status 1 when a ratio misses its target. `--only` takes the items whose name holds
//! the words, for a profiler, and writes no record.

use anyhow::{Context, Result, bail};
use lookalike::core::canonical::{Case, TokenKind, Tokens};
use lookalike::core::recipe::{Recipe, SketchKind};
use lookalike::core::simd::Level;
use lookalike::core::sketcher::Sketcher;
use lookalike::corpus::html;
use lookalike_benchmarks::bench_corpus::Documents;
use lookalike_benchmarks::clock;
use std::fmt::Write as _;
use std::fs;
use std::hint::black_box;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

fn main() -> Result<ExitCode> {
    let options = Options::read()?;
    let text = Documents::read(&options.bench, "text")?;
    let pages = Documents::read(&options.bench, "html")?;

    let mut on_text = Bench::new(&text);
    sketching(&mut on_text, &text);
    let mut on_pages = Bench::new(&pages);
    stripping(&mut on_pages, &pages);
    if let Some(only) = &options.only {
        on_text.items.retain(|item| item.name.contains(only));
        on_pages.items.retain(|item| item.name.contains(only));
    }
    for round in 0..options.rounds {
        eprintln!("round {} of {}", round + 1, options.rounds);
        on_text.round()?;
        on_pages.round()?;
    }

    let mut report = String::new();
    writeln!(report, "# Speed: {}\n", options.name)?;
    writeln!(report, "```sh\n{}\n```\n", options.command)?;
    writeln!(report, "- processor: {}", clock::processor())?;
    writeln!(report, "- levels: {}", levels())?;
    writeln!(
        report,
        "- CPU time, one core, best of {} interleaved rounds; ratio: to `LC_ALL=C wc -w` on the same file in the same run",
        options.rounds
    )?;
    writeln!(
        report,
        "- `wc -w` without its reading of the file (as long as reading the file here takes): the others find it in memory too"
    )?;
    writeln!(report, "\n## Text: {}\n", size(&text))?;
    let mut met = on_text.report(&mut report)?;
    writeln!(report, "\n## HTML: {}\n", size(&pages))?;
    met &= on_pages.report(&mut report)?;
    for (level, _) in TARGETS {
        if !level.is_available() {
            writeln!(
                report,
                "\n{level} was not measured: this processor has not got it."
            )?;
        }
    }
    let sources = fs::read_to_string(options.bench.join("SOURCES.md"))?;
    writeln!(report, "\n#{sources}")?;
    print!("{report}");
    if options.only.is_some() {
        return Ok(ExitCode::SUCCESS);
    }
    let record = Path::new(env!("CARGO_MANIFEST_DIR")).join("record");
    fs::create_dir_all(&record)?;
    fs::write(record.join(format!("{}.md", options.name)), report)?;
    Ok(if met {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// How many times as fast as `wc -w` each level must sketch.
const TARGETS: [(Level, f64); 3] = [
    (Level::Portable, 1.5),
    (Level::Avx2, 4.0),
    (Level::Avx512, 7.0),
];

/// How many times as fast HTML must become text.
const STRIP_TARGET: f64 = 3.0;

struct Options {
    name: String,
    rounds: usize,
    only: Option<String>,
    bench: PathBuf,
    command: String,
}

impl Options {
    fn read() -> Result<Options> {
        let mut options = Options {
            name: "unnamed".to_owned(),
            rounds: 7,
            only: None,
            bench: PathBuf::from(".bench"),
            command: String::from("cargo run --release -p lookalike-benchmarks --bin speed --"),
        };
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            write!(options.command, " {argument}")?;
            match argument.as_str() {
                "--rounds" => {
                    let number = arguments.next().context("--rounds needs a number")?;
                    write!(options.command, " {number}")?;
                    options.rounds = number.parse().context("--rounds needs a number")?;
                }
                "--only" => options.only = arguments.next(),
                "--bench" => {
                    options.bench = arguments.next().context("--bench needs a folder")?.into();
                    write!(options.command, " DIR")?;
                }
                other if other.starts_with('-') => bail!("unknown option `{other}`"),
                name => name.clone_into(&mut options.name),
            }
        }
        Ok(options)
    }
}

fn levels() -> String {
    let names: Vec<String> = Level::available().map(|level| level.to_string()).collect();
    names.join(", ")
}

fn size(documents: &Documents) -> String {
    let megabytes = documents.text.len() as f64 / 1e6;
    format!("{} documents, {megabytes:.1} MB", documents.len())
}

/// One thing that is timed.
struct Item<'a> {
    name: String,
    /// Bytes it goes through; `None` for the yardsticks, which take the whole file.
    bytes: usize,
    target: Option<f64>,
    work: Box<dyn FnMut() + 'a>,
    seconds: Vec<f64>,
}

/// Everything that is timed on one file.
struct Bench<'a> {
    path: &'a Path,
    bytes: usize,
    buffer: Vec<u8>,
    wc: Vec<f64>,
    read: Vec<f64>,
    items: Vec<Item<'a>>,
}

impl<'a> Bench<'a> {
    fn new(documents: &'a Documents) -> Bench<'a> {
        Bench {
            path: &documents.path,
            bytes: documents.text.len(),
            buffer: Vec::with_capacity(documents.text.len() + 1),
            wc: Vec::new(),
            read: Vec::new(),
            items: Vec::new(),
        }
    }

    fn item(&mut self, name: &str, bytes: usize, target: Option<f64>, work: impl FnMut() + 'a) {
        self.items.push(Item {
            name: name.to_owned(),
            bytes,
            target,
            work: Box::new(work),
            seconds: Vec::new(),
        });
    }

    fn round(&mut self) -> Result<()> {
        let mut wc = Command::new("wc");
        wc.arg("-w").arg(self.path).env("LC_ALL", "C");
        self.wc.push(clock::time_child(&mut wc)?);
        let (path, buffer) = (self.path, &mut self.buffer);
        buffer.clear();
        let mut file = fs::File::open(path)?;
        self.read
            .push(clock::time(|| file.read_to_end(buffer).is_ok()));
        for item in &mut self.items {
            item.seconds.push(clock::time(&mut item.work));
        }
        Ok(())
    }

    /// Appends the table; whether all targets were met.
    fn report(&self, report: &mut String) -> Result<bool> {
        let yardstick = best(&self.wc) - best(&self.read);
        let (bytes, mut met) = (self.bytes as f64, true);
        writeln!(report, "| | MB/s | median | times `wc -w` | target | |")?;
        writeln!(report, "|---|--:|--:|--:|--:|---|")?;
        let middle = median(&self.wc) - best(&self.read);
        writeln!(
            report,
            "| `LC_ALL=C wc -w` | {:.0} | {:.0} | 1 | | |",
            bytes / yardstick / 1e6,
            bytes / middle / 1e6
        )?;
        for item in &self.items {
            let rate = |seconds: f64| item.bytes as f64 / seconds;
            let ratio = rate(best(&item.seconds)) * yardstick / bytes;
            let (target, verdict) = match item.target {
                None => (String::new(), ""),
                Some(target) if ratio >= target => (format!("{target}"), "ok"),
                Some(target) => (format!("{target}"), "**FAIL**"),
            };
            met &= verdict != "**FAIL**";
            writeln!(
                report,
                "| {} | {:.0} | {:.0} | {ratio:.2} | {target} | {verdict} |",
                item.name,
                rate(best(&item.seconds)) / 1e6,
                rate(median(&item.seconds)) / 1e6,
            )?;
        }
        Ok(met)
    }
}

fn best(seconds: &[f64]) -> f64 {
    seconds.iter().copied().fold(f64::INFINITY, f64::min)
}

fn median(seconds: &[f64]) -> f64 {
    let mut sorted = seconds.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Text to sketch, by level, kind and stage.
fn sketching<'a>(bench: &mut Bench<'a>, text: &'a Documents) {
    let whole = text.text.len();
    let mut copy = vec![1; whole];
    bench.item("memcpy", whole, None, move || {
        copy.copy_from_slice(black_box(text.text.as_bytes()));
        black_box(&copy);
    });
    bench.item("stage: is it UTF-8?", whole, None, || {
        black_box(str::from_utf8(text.text.as_bytes()).is_ok());
    });
    for (level, target) in TARGETS {
        if !level.is_available() {
            continue;
        }
        let mut sketcher = Sketcher::with_level(&Recipe::default(), level);
        let name = format!("{level}: stages tokens to fingerprints, one by one");
        bench.item(&name, whole, None, move || {
            for document in text.iter() {
                sketcher.fingerprints(document, |block| {
                    black_box(block);
                });
            }
        });
        let mut sketcher = Sketcher::with_level(&Recipe::default(), level);
        let name = format!("**{level}: text to default sketch, one by one**");
        bench.item(&name, whole, Some(target), move || {
            for document in text.iter() {
                black_box(sketcher.sketch(document));
            }
        });
        let mut sketcher = Sketcher::with_level(&Recipe::default(), level);
        let name = format!("**{level}: text to default sketch, one big document**");
        bench.item(&name, whole, Some(target), move || {
            black_box(sketcher.sketch(&text.text));
        });
    }
    // What other letters than ASCII cost: the documents without, and those with.
    let (plain, other): (Vec<&str>, Vec<&str>) = text.iter().partition(|text| text.is_ascii());
    for (name, documents) in [("all ASCII", plain), ("not all ASCII", other)] {
        let mut sketcher = Sketcher::new(&Recipe::default());
        let bytes = documents.iter().map(|document| document.len()).sum();
        let name = format!(
            "{}: text to default sketch, the {} documents that are {name}",
            Level::best(),
            documents.len()
        );
        bench.item(&name, bytes, None, move || {
            for document in &documents {
                black_box(sketcher.sketch(document));
            }
        });
    }
    // The slow ones on a part: the documents up to some 16 MB.
    let part: Vec<&str> = text
        .iter()
        .scan(0, |sum, document| {
            *sum += document.len();
            (*sum < 16_000_000).then_some(document)
        })
        .collect();
    let bytes = part.iter().map(|document| document.len()).sum();
    for kind in [
        "nested:256",
        "nested:128",
        "mod:25",
        "min:256",
        "min-mod:256,4",
        "perm:84,linear",
        "perm:84,matrix",
        "perm:84,tabulation",
        "perm:84,lead-byte",
    ] {
        let sketch: SketchKind = kind.parse().expect("a kind that exists");
        let recipe = Recipe {
            sketch,
            ..Recipe::default()
        };
        let mut sketcher = Sketcher::new(&recipe);
        let part = part.clone();
        bench.item(
            &format!("{kind}, 16 MB one by one"),
            bytes,
            None,
            move || {
                for document in &part {
                    black_box(sketcher.sketch(document));
                }
            },
        );
    }
    let name = "exact tokens with their places (`compare`, `scan`), 16 MB one by one";
    bench.item(name, bytes, None, move || {
        for document in &part {
            black_box(Tokens::of_text(document, TokenKind::Word, Case::Fold));
        }
    });
}

/// HTML to text.
fn stripping<'a>(bench: &mut Bench<'a>, pages: &'a Documents) {
    let whole = pages.text.len();
    let mut copy = vec![1; whole];
    bench.item("memcpy", whole, None, move || {
        copy.copy_from_slice(black_box(pages.text.as_bytes()));
        black_box(&copy);
    });
    let mut out = String::new();
    let name = "**HTML to text, one by one**";
    bench.item(name, whole, Some(STRIP_TARGET), move || {
        for page in pages.iter() {
            html::text_into(page, &mut out);
            black_box(&out);
        }
    });
    let mut out = String::new();
    let name = "HTML to text, all as one page";
    bench.item(name, whole, None, move || {
        html::text_into(&pages.text, &mut out);
        black_box(&out);
    });
    let (mut out, mut sketcher) = (String::new(), Sketcher::new(&Recipe::default()));
    let name = "HTML to text to default sketch, one by one";
    bench.item(name, whole, None, move || {
        for page in pages.iter() {
            html::text_into(page, &mut out);
            black_box(sketcher.sketch(&out));
        }
    });
}
