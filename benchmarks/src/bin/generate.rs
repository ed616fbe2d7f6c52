//! `generate --documents N --seed S [--words-mean 700] [--truth FILE]`: synthetic documents
//! as JSONL on standard output, `{"id","url","text"}`, about 5 KB each; and the planted pairs.
//!
//! ```text
//! seed ─► synthetic documents ─► standard output
//!                 └─► FILE: kind, id_a, id_b, resemblance, a_in_b (TSV)
//! ```
//!
//! In a hundred documents: 2 exact copies, 2 lexical ones, 8 edited, 1 containing another,
//! 5 with a header that some fifty share; and one family of a thousand near-copies. A closed
//! pipe ends it quietly.

use anyhow::{Context, Result, bail};
use lookalike_benchmarks::synthetic::{Generator, Shape, id};
use std::fs::File;
use std::io::{BufWriter, ErrorKind, Write};

/// Written at once: enough that the call costs nothing, little enough to stay in the cache.
const BATCH: usize = 1 << 19;

fn main() -> Result<()> {
    let mut shape = Shape {
        documents: 0,
        seed: 1,
        words_mean: 700.0,
    };
    let mut truth = None;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let value = arguments.next().context("a value is missing")?;
        match argument.as_str() {
            "--documents" => shape.documents = value.parse()?,
            "--seed" => shape.seed = value.parse()?,
            "--words-mean" => shape.words_mean = value.parse()?,
            "--truth" => truth = Some(BufWriter::new(File::create(value)?)),
            other => bail!("unknown option `{other}`"),
        }
    }
    if shape.documents == 0 {
        bail!("usage: generate --documents N --seed S [--words-mean 700] [--truth FILE]");
    }
    let mut generator = Generator::new(shape);
    let mut out = std::io::stdout().lock();
    let mut batch = Vec::with_capacity(2 * BATCH);
    loop {
        let made = generator.next_line(&mut batch);
        if batch.len() >= BATCH || made.is_none() {
            match out.write_all(&batch).and_then(|()| out.flush()) {
                Err(closed) if closed.kind() == ErrorKind::BrokenPipe => return Ok(()),
                other => other?,
            }
            batch.clear();
        }
        let Some(planted) = made else { break };
        if let (Some(truth), Some(pair)) = (&mut truth, planted) {
            let (kind, a, b) = (pair.kind.name(), id(pair.a), id(pair.b));
            writeln!(
                truth,
                "{kind}\t{a}\t{b}\t{:.6}\t{:.6}",
                pair.resemblance, pair.a_in_b
            )?;
        }
    }
    if let Some(truth) = &mut truth {
        truth.flush()?;
    }
    Ok(())
}
