//! `bench-corpus OUT [--corpora DIR] [--rust-docs DIR]`: real text and real HTML for
//! `speed` and `soak`, at least 128 MB of each. `scripts/bench-corpus` calls it.

use anyhow::{Context, Result, bail, ensure};
use lookalike::corpus::html;
use lookalike_benchmarks::bench_corpus;
use lookalike_benchmarks::corpora;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use walkdir::WalkDir;

/// Bytes wanted of each: more than any cache holds, and 100 MB with a margin.
const ENOUGH: usize = 128_000_000;

fn main() -> Result<()> {
    let (mut out, mut shared, mut rust_docs) = (None, None, None);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut path = || arguments.next().map(PathBuf::from);
        match argument.as_str() {
            "--corpora" => shared = path(),
            "--rust-docs" => rust_docs = path(),
            other if other.starts_with('-') => bail!("unknown option `{other}`"),
            other => out = Some(PathBuf::from(other)),
        }
    }
    let out = out.context("usage: bench-corpus OUT [--corpora DIR] [--rust-docs DIR]")?;
    let mut made = Made::default();
    if let Some(shared) = &shared {
        // Not the sets of numbers: they are no text.
        for name in corpora::NAMES.into_iter().skip(1) {
            made.corpus(shared, name)?;
        }
    }
    if let Some(folder) = &rust_docs {
        made.rust_docs(folder)?;
    }
    let (text, pages) = (made.text.bytes, made.pages.bytes);
    ensure!(
        text >= ENOUGH && pages >= ENOUGH,
        "only {text} bytes of text and {pages} of HTML, {ENOUGH} wanted; \
         hint: rustup component add rust-docs"
    );
    bench_corpus::write(&out, "text", &made.text.documents)?;
    bench_corpus::write(&out, "html", &made.pages.documents)?;
    let sources = format!(
        "# What text and html were made of\n\n\
         | source | documents | bytes of text | bytes of HTML |\n|---|--:|--:|--:|\n{}\n\
         text: {} documents, {text} bytes, {:.2} % of them not ASCII\n\n\
         html: {} documents, {pages} bytes\n",
        made.sources,
        made.text.documents.len(),
        100.0 * made.text.other_than_ascii() as f64 / text as f64,
        made.pages.documents.len(),
    );
    fs::write(out.join("SOURCES.md"), &sources)?;
    print!("{sources}");
    Ok(())
}

#[derive(Default)]
struct Pile {
    documents: Vec<String>,
    bytes: usize,
}

impl Pile {
    /// With a line end, so that documents end to end do not share a word.
    fn push(&mut self, mut document: String) {
        document.push('\n');
        self.bytes += document.len();
        self.documents.push(document);
    }

    fn other_than_ascii(&self) -> usize {
        let bytes = self
            .documents
            .iter()
            .flat_map(|text| text.as_bytes().iter());
        bytes.filter(|byte| !byte.is_ascii()).count()
    }
}

#[derive(Default)]
struct Made {
    text: Pile,
    pages: Pile,
    sources: String,
}

impl Made {
    fn corpus(&mut self, shared: &Path, name: &'static str) -> Result<()> {
        let corpus = corpora::read(shared, name)?;
        let before = (self.text.bytes, self.pages.bytes);
        let documents = corpus.documents.len();
        for document in corpus.documents {
            self.text.push(document.text);
            if let Some(page) = document.page {
                self.pages.push(page);
            }
        }
        self.source(name, documents, before)
    }

    /// The handbooks first, which are prose, then the reference; the listings of source
    /// code only if all else is not enough. Until both piles are high enough.
    fn rust_docs(&mut self, folder: &Path) -> Result<()> {
        let mut books = Vec::new();
        for entry in
            fs::read_dir(folder).with_context(|| format!("cannot read `{}`", folder.display()))?
        {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                books.push(entry.file_name().to_string_lossy().into_owned());
            }
        }
        let rank = |name: &String| match name.as_str() {
            "src" => 3,
            "core" => 2,
            "std" | "alloc" => 1,
            _ => 0,
        };
        books.sort_by_key(|name| (rank(name), name.clone()));
        for book in books {
            let before = (self.text.bytes, self.pages.bytes);
            let mut taken = 0;
            let walk = WalkDir::new(folder.join(&book)).sort_by_file_name();
            for entry in walk {
                let entry = entry?;
                let is_page = entry.path().extension().is_some_and(|end| end == "html");
                if !is_page || entry.metadata()?.len() < 2000 {
                    continue; // Redirections, mostly.
                }
                let page = String::from_utf8_lossy(&fs::read(entry.path())?).into_owned();
                self.text.push(html::text(&page));
                if self.pages.bytes < ENOUGH {
                    self.pages.push(page);
                }
                taken += 1;
                if taken % 64 == 0 && self.is_enough() {
                    break;
                }
            }
            if taken > 0 {
                self.source(&format!("Rust documentation, {book}"), taken, before)?;
            }
            if self.is_enough() {
                break;
            }
        }
        Ok(())
    }

    fn is_enough(&self) -> bool {
        self.text.bytes >= ENOUGH && self.pages.bytes >= ENOUGH
    }

    fn source(&mut self, name: &str, documents: usize, before: (usize, usize)) -> Result<()> {
        let (text, pages) = (self.text.bytes - before.0, self.pages.bytes - before.1);
        writeln!(self.sources, "| {name} | {documents} | {text} | {pages} |")?;
        Ok(())
    }
}
