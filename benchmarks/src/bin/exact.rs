//! `exact DOCUMENTS.jsonl [--threshold 0.5] [--clusters FILE] [--pairs FILE] [--first N]`: the
//! plain program one would write first, and the truth that the others are held to.
//!
//! ```text
//! lines ─► tokens ─► shingles of ten, hashed to 64 bits ─► hash map: number ─► sets
//! sets ─► shingle ─► documents ─► overlaps with earlier documents ─► pairs ─► clusters
//! ```
//!
//! One thread, everything in memory, nothing sampled, no shingle left out however common. Two
//! shingles with one hash would be taken for one: among 10^8 shingles that happens with a
//! chance of 3 in 10,000, once. Tokens are those of `lookalike`, so that the truth is about
//! the same question; nothing else is shared.
//!
//! Time O(shingles + Σ over shingles of documents²), memory 16 to 37 bytes a shingle,
//! the more the fewer come twice.

use anyhow::{Context, Result, bail};
use lookalike::core::canonical::{Case, TokenKind, for_each_token};
use lookalike_benchmarks::clock;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::fs::File;
use std::hash::{BuildHasherDefault, Hasher};
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::PathBuf;
use xxhash_rust::xxh3::xxh3_64;

const WIDTH: usize = 10;

fn main() -> Result<()> {
    let options = Options::parse()?;
    let mut sets = Sets::default();
    let mut lines = BufReader::with_capacity(1 << 20, File::open(&options.documents)?);
    let (mut line, mut bytes) = (Vec::new(), 0);
    while sets.names.len() < options.first {
        line.clear();
        let read = lines.read_until(b'\n', &mut line)?;
        if read == 0 {
            break;
        }
        bytes += read;
        let document = parse(&line)
            .with_context(|| format!("line {} is no document", sets.names.len() + 1))?;
        sets.add(document)?;
    }
    let read = clock::now();
    // The numbers are given; the map is the largest part of the memory.
    sets.numbers = HashMap::default();
    let (mut out, mut count) = (options.pairs.as_ref().map(create).transpose()?, 0_u64);
    let mut clusters = cluster(&sets, options.threshold, |a, b, resemblance| {
        count += 1;
        if let Some(out) = &mut out {
            writeln!(
                out,
                "{}\t{}\t{resemblance:.6}",
                sets.names[a], sets.names[b]
            )?;
        }
        Ok(())
    })?;
    if let Some(out) = &mut out {
        out.flush()?;
    }
    let sizes = clusters.sizes();
    if let Some(path) = &options.clusters {
        let mut out = create(path)?;
        for (i, name) in sets.names.iter().enumerate() {
            writeln!(out, "{name}\t{}", clusters.root(i))?;
        }
        out.flush()?;
    }
    let report = json!({
        "documents": sets.names.len(),
        "bytes": bytes,
        "shingles": sets.shingles.len(),
        "distinct_shingles": sets.last.len(),
        "threshold": options.threshold,
        "pairs": count,
        "clusters": sizes.iter().filter(|&&size| size > 1).count(),
        "clustered_documents": sizes.iter().filter(|&&size| size > 1).sum::<u32>(),
        "largest": sizes.iter().max(),
        "cpu_seconds_sets": read as f64 / 1e9,
        "cpu_seconds": clock::now() as f64 / 1e9,
        "peak_memory": clock::peak_memory()?,
    });
    eprintln!("{report}");
    // What follows would only give the memory back piece by piece.
    std::process::exit(0)
}

struct Options {
    documents: PathBuf,
    clusters: Option<PathBuf>,
    pairs: Option<PathBuf>,
    threshold: f64,
    first: usize,
}

impl Options {
    fn parse() -> Result<Options> {
        let (mut documents, mut clusters, mut pairs) = (None, None, None);
        let (mut threshold, mut first) = (0.5, usize::MAX);
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().context("a value is missing");
            match argument.as_str() {
                "--clusters" => clusters = Some(value()?.into()),
                "--pairs" => pairs = Some(value()?.into()),
                "--threshold" => threshold = value()?.parse()?,
                "--first" => first = value()?.parse()?,
                other if other.starts_with('-') => bail!("unknown option `{other}`"),
                other => documents = Some(other.into()),
            }
        }
        Ok(Options {
            documents: documents.context("usage: exact DOCUMENTS.jsonl [options]")?,
            clusters,
            pairs,
            threshold,
            first,
        })
    }
}

fn create(path: &PathBuf) -> Result<BufWriter<File>> {
    let file = File::create(path).with_context(|| format!("cannot write `{}`", path.display()))?;
    Ok(BufWriter::with_capacity(1 << 20, file))
}

struct Record {
    id: String,
    text: String,
}

fn parse(line: &[u8]) -> Result<Record> {
    let value: Value = serde_json::from_slice(line)?;
    let Value::Object(mut fields) = value else {
        bail!("it is not an object");
    };
    let mut take = |name: &str| match fields.remove(name) {
        Some(Value::String(text)) => Ok(text),
        _ => bail!("it has no `{name}`"),
    };
    Ok(Record {
        id: take("id")?,
        text: take("text")?,
    })
}

/// Shingles are hashes already.
#[derive(Default)]
struct AsItIs(u64);

impl Hasher for AsItIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("only u64 is a key")
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }
}

/// Shingles numbered in the order they come, so that those of one passage have numbers in a
/// row, and later looks at their documents walk forward through memory.
#[derive(Default)]
struct Sets {
    names: Vec<String>,
    /// Every document's shingles, end to end, and where each document's end.
    shingles: Vec<u32>,
    ends: Vec<usize>,
    numbers: HashMap<u64, u32, BuildHasherDefault<AsItIs>>,
    /// The last document each shingle was seen in: a set holds it once.
    last: Vec<u32>,
    tokens: Vec<u8>,
}

impl Sets {
    /// A short document is one shingle of all its tokens.
    fn add(&mut self, document: Record) -> Result<()> {
        let number = u32::try_from(self.names.len())?;
        self.tokens.clear();
        for_each_token(&document.text, TokenKind::Word, Case::Fold, |token, _| {
            self.tokens.extend_from_slice(&xxh3_64(token).to_le_bytes());
        });
        let width = self.tokens.len().min(8 * WIDTH);
        // No tokens, no windows; and a window of no width is not allowed.
        for window in self.tokens.windows(width.max(8)).step_by(8) {
            let next = u32::try_from(self.last.len()).context("2^32 different shingles")?;
            let shingle = *self.numbers.entry(xxh3_64(window)).or_insert(next);
            match self.last.get_mut(shingle as usize) {
                Some(last) if *last == number => continue,
                Some(last) => *last = number,
                None => self.last.push(number),
            }
            self.shingles.push(shingle);
        }
        self.names.push(document.id);
        self.ends.push(self.shingles.len());
        Ok(())
    }

    fn set(&self, document: usize) -> &[u32] {
        let start = document
            .checked_sub(1)
            .map_or(0, |before| self.ends[before]);
        &self.shingles[start..self.ends[document]]
    }
}

/// Which documents hold each shingle: the lists end to end, filled in order of documents.
struct Inverted {
    starts: Vec<usize>,
    filled: Vec<u32>,
    documents: Vec<u32>,
}

impl Inverted {
    fn new(sets: &Sets) -> Inverted {
        let mut counts = vec![0_u32; sets.last.len()];
        for &shingle in &sets.shingles {
            counts[shingle as usize] += 1;
        }
        let mut total = 0;
        let starts = counts
            .iter()
            .map(|&count| {
                let start = total;
                // A shingle of one document only is common to none.
                total += if count > 1 { count as usize } else { 0 };
                start
            })
            .collect();
        Inverted {
            starts,
            filled: counts
                .iter()
                .map(|&c| if c > 1 { 0 } else { u32::MAX })
                .collect(),
            documents: vec![0; total],
        }
    }

    /// The documents so far, to which this one is added; none for a shingle of one document.
    fn meet(&mut self, shingle: u32, document: u32) -> &[u32] {
        let filled = &mut self.filled[shingle as usize];
        if *filled == u32::MAX {
            return &[];
        }
        let start = self.starts[shingle as usize];
        let end = start + *filled as usize;
        self.documents[end] = document;
        *filled += 1;
        &self.documents[start..end]
    }
}

/// Union-find.
struct Clusters {
    parent: Vec<u32>,
}

impl Clusters {
    fn root(&mut self, document: usize) -> usize {
        let mut at = document;
        while self.parent[at] as usize != at {
            self.parent[at] = self.parent[self.parent[at] as usize];
            at = self.parent[at] as usize;
        }
        at
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        self.parent[a.max(b)] = u32::try_from(a.min(b)).expect("a document's number");
    }

    fn sizes(&mut self) -> Vec<u32> {
        let mut sizes = vec![0; self.parent.len()];
        for i in 0..self.parent.len() {
            sizes[self.root(i)] += 1;
        }
        sizes
    }
}

/// Every pair of at least `threshold` goes to `pair`, by document numbers; the clusters.
fn cluster(
    sets: &Sets,
    threshold: f64,
    mut pair: impl FnMut(usize, usize, f64) -> Result<()>,
) -> Result<Clusters> {
    let mut inverted = Inverted::new(sets);
    let mut clusters = Clusters {
        parent: (0..u32::try_from(sets.names.len())?).collect(),
    };
    // Shingles in common with each earlier document; and which are not 0.
    let mut overlap = vec![0_u32; sets.names.len()];
    let mut met = Vec::new();
    for document in 0..sets.names.len() {
        let set = sets.set(document);
        for &shingle in set {
            for &other in inverted.meet(shingle, u32::try_from(document)?) {
                let overlap = &mut overlap[other as usize];
                if *overlap == 0 {
                    met.push(other);
                }
                *overlap += 1;
            }
        }
        met.sort_unstable();
        for other in met.drain(..) {
            let common = std::mem::take(&mut overlap[other as usize]) as usize;
            let union = sets.set(other as usize).len() + set.len() - common;
            let resemblance = common as f64 / union as f64;
            if resemblance >= threshold {
                pair(other as usize, document, resemblance)?;
                clusters.join(other as usize, document);
            }
        }
    }
    Ok(clusters)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlaps_are_those_of_the_definition() -> Result<()> {
        let mut sets = Sets::default();
        let text = |words: std::ops::Range<u32>| {
            let words: Vec<_> = words.map(|i| format!("w{i}")).collect();
            words.join(" ")
        };
        // 11, 11, 1, 0 and 1 shingles; the second shares 6 with the first.
        let twice = "again ".repeat(30);
        let texts = [text(0..20), text(5..25), text(0..3), String::new(), twice];
        for (i, text) in texts.into_iter().enumerate() {
            let id = i.to_string();
            sets.add(Record { id, text })?;
        }
        let mut pairs = Vec::new();
        let mut clusters = cluster(&sets, 0.3, |a, b, resemblance| {
            pairs.push((a, b, resemblance));
            Ok(())
        })?;
        assert_eq!(pairs, [(0, 1, 6.0 / 16.0)]);
        assert_eq!(clusters.sizes(), [2, 0, 1, 1, 1]);
        assert_eq!(sets.set(4).len(), 1);
        Ok(())
    }
}
