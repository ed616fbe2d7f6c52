//! `bench-documents OUT`: Debian packages become `OUT/documents.jsonl`, one documentation page
//! a line, `{"id","url","text"}`. `scripts/bench-documents` calls it.
//!
//! ```text
//! stdin: every, package ─► ar, xz ─► tar ─► pages ─► HTML, roff or text ─► a line
//! ```
//!
//! The order is that of the list and of the packages, so the same packages make the same
//! bytes. `OUT/documents.md` says what each gave. Memory: one page.

use anyhow::{Context, Result, ensure};
use flate2::read::MultiGzDecoder;
use lookalike::core::canonical::TokenKind;
use lookalike::corpus::document::{Document, Format, Reading};
use lookalike_benchmarks::{roff, tar};
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Bytes of text below which a page is a redirection, a stub or a bare list of links.
const LEAST: usize = 800;

/// Bytes above which a page is a whole book or an index once more.
const MOST: u64 = 1_000_000;

fn main() -> Result<()> {
    let out = std::env::args_os().nth(1).map(PathBuf::from);
    let out = out.context("usage: bench-documents OUT < LIST")?;
    fs::create_dir_all(&out)?;
    let (unfinished, finished) = (
        out.join("documents.jsonl.part"),
        out.join("documents.jsonl"),
    );
    let mut lines = Lines {
        out: BufWriter::with_capacity(1 << 20, File::create(&unfinished)?),
        documents: 0,
        bytes: 0,
    };
    let mut table = String::new();
    let mut left = Left::default();
    for order in std::io::stdin().lock().lines() {
        let order = order?;
        let (every, path) = order.split_once(' ').context("a line is `every path`")?;
        let before = (lines.documents, lines.bytes);
        let path = Path::new(path);
        package(path, every.parse()?, &mut lines, &mut left)
            .with_context(|| format!("cannot read `{}`", path.display()))?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let (documents, bytes) = (lines.documents - before.0, lines.bytes - before.1);
        writeln!(table, "| {name} | {documents} | {bytes} |")?;
    }
    lines.out.flush()?;
    ensure!(lines.documents > 0, "no package, no documents");
    fs::rename(&unfinished, &finished)?;
    let summary = format!(
        "{} documents, {} bytes of JSONL. Left out: {} shorter than {LEAST} bytes of text, {} longer \
         than {MOST} bytes, {} by the list's one in n, {} unreadable.",
        lines.documents, lines.bytes, left.short, left.long, left.by_list, left.unreadable
    );
    eprintln!("{}: {summary}", finished.display());
    let record = format!(
        "# What documents.jsonl was made of\n\n{summary}\n\n\
         | package | documents | bytes |\n|---|--:|--:|\n{table}\n"
    );
    fs::write(out.join("documents.md"), record)?;
    Ok(())
}

#[derive(Default)]
struct Left {
    short: usize,
    long: usize,
    by_list: usize,
    unreadable: usize,
}

struct Lines {
    out: BufWriter<File>,
    documents: usize,
    bytes: usize,
}

impl Lines {
    fn push(&mut self, url: &str, text: &str) -> Result<()> {
        self.documents += 1;
        let line = serde_json::json!({
            "id": format!("d{:06}", self.documents),
            "url": url,
            "text": text,
        });
        let line = format!("{line}\n");
        self.bytes += line.len();
        self.out.write_all(line.as_bytes())?;
        Ok(())
    }
}

fn package(path: &Path, every: u64, lines: &mut Lines, left: &mut Left) -> Result<()> {
    let mut ar = Command::new("ar")
        .arg("p")
        .arg(path)
        .arg("data.tar.xz")
        .stdout(Stdio::piped())
        .spawn()
        .context("`ar` is needed (binutils)")?;
    let packed = ar.stdout.take().context("a pipe")?;
    let mut xz = Command::new("xz")
        .arg("-dc")
        .stdin(packed)
        .stdout(Stdio::piped())
        .spawn()
        .context("`xz` is needed")?;
    let unpacked = BufReader::with_capacity(1 << 20, xz.stdout.take().context("a pipe")?);
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    // `package_version_architecture`
    let package = stem.rsplit_once('_').map_or(&*stem, |(name, _)| name);
    let mut page = Page::default();
    let wanted = |name: &str, _| Kind::of(name).is_some();
    tar::for_each_file(unpacked, wanted, |entry| {
        if !is_chosen(&entry.path, every) {
            left.by_list += 1;
            return Ok(());
        }
        let Some(text) = page.read(&entry) else {
            left.unreadable += 1;
            return Ok(());
        };
        let text = text.trim();
        if text.len() < LEAST {
            left.short += 1;
        } else if text.len() as u64 > MOST {
            left.long += 1;
        } else {
            let path = entry.path.trim_start_matches("./");
            lines.push(&format!("deb:{package}/{path}"), text)?;
        }
        Ok(())
    })?;
    ensure!(
        ar.wait()?.success() && xz.wait()?.success(),
        "not a package with data.tar.xz"
    );
    Ok(())
}

/// One page in `every`, by the file's own name: all versions of a page or none.
fn is_chosen(path: &str, every: u64) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    let name = name.strip_suffix(".gz").unwrap_or(name);
    // FNV-1a: the choice must be the same for ever, and need not be good.
    let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    (hash >> 32).is_multiple_of(every.max(1))
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Kind {
    Html,
    Roff,
    Text,
}

impl Kind {
    fn of(path: &str) -> Option<Kind> {
        let path = path.trim_start_matches("./");
        if !path.starts_with("usr/share/") && !path.starts_with("usr/lib/") {
            return None;
        }
        let name = path.rsplit('/').next()?;
        let name = name.strip_suffix(".gz").unwrap_or(name);
        if path.contains("/man/") {
            return Some(Kind::Roff);
        }
        if name == "copyright" || name.starts_with("changelog") || name == "README" {
            return Some(Kind::Text);
        }
        match name.rsplit_once('.')?.1 {
            "html" | "htm" | "xhtml" | "page" | "docbook" => Some(Kind::Html),
            "txt" | "rst" | "md" | "pod" | "adoc" => Some(Kind::Text),
            _ => None,
        }
    }
}

#[derive(Default)]
struct Page {
    unpacked: Vec<u8>,
}

impl Page {
    fn read(&mut self, entry: &tar::Entry) -> Option<String> {
        let kind = Kind::of(&entry.path)?;
        self.unpacked.clear();
        let bytes = if entry.path.strip_suffix(".gz").is_some() {
            // A limit, since a package may hold anything.
            let unpacked = MultiGzDecoder::new(entry.bytes.as_slice()).take(64 * MOST);
            { unpacked }.read_to_end(&mut self.unpacked).ok()?;
            &self.unpacked
        } else {
            &entry.bytes
        };
        let format = match kind {
            Kind::Html => Format::Html,
            Kind::Roff | Kind::Text => Format::Text,
        };
        let reading = Reading {
            name: None,
            format,
            tokens: TokenKind::Word,
        };
        let document = Document::read(bytes, reading).ok()?;
        let text = document.text().into_owned();
        Some(match kind {
            Kind::Roff => roff::text(&text),
            Kind::Html | Kind::Text => text,
        })
    }
}
