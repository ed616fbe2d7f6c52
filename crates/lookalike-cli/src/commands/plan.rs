//! `lookalike plan INPUT…`: memory, disk and time, predicted from a sample.
//!
//! ```text
//! inputs ─► some of them, evenly spread ─► read and sketched, on one thread ─► scaled up
//! ```

use std::ffi::OsString;
use std::io::Write;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use clap::Args;
use lookalike::add::LEAST_MEMORY;
use lookalike::core::recipe::SketchKind;
use lookalike::core::sketcher::Sketcher;
use lookalike::corpus::batch::Batch;
use lookalike::corpus::inputs::{Inputs, Source, SourceKind};
use lookalike::corpus::options::ReadOptions;
use lookalike::corpus::read::read_source;
use lookalike::corpus::record::Body;
use lookalike::corpus::unusable::shown;
use serde_json::{Value, json};

use crate::args::{Global, InputArgs, MachineArgs, RecipeArgs};
use crate::failure::{Exit, Failure, Stop};
use crate::output::text;
use crate::output::times::cpu_seconds;

/// Predict memory, disk and time of `add` from a sample of the inputs
///
/// Reads up to 64 MiB of inputs, evenly spread, for at most 5 seconds; writes nothing.
/// Every document counts as distinct and pairs are not counted: where many are copies the
/// collection will be smaller, and 24 bytes a pair come on top.
#[derive(Args)]
#[command(after_help = "\
Examples:
  lookalike plan crawl/*.warc.gz
  lookalike plan shards/ --samples 128 --memory 1G --json")]
pub(crate) struct PlanArgs {
    /// Files, folders or patterns
    #[arg(required = true, value_name = "INPUT")]
    inputs: Vec<OsString>,

    #[command(flatten)]
    reading: InputArgs,

    #[command(flatten)]
    machine: MachineArgs,

    #[command(flatten)]
    recipe: RecipeArgs,
}

/// How much of the inputs is read, at most.
const SAMPLE_BYTES: u64 = 64 << 20;

/// And for how long.
const SAMPLE_TIME: Duration = Duration::from_secs(5);

/// And of how many inputs.
const SAMPLE_SOURCES: usize = 1000;

/// What a document takes in a collection besides strings and samples: its entry 160, head
/// 4, sketch name 12, key 12, content 12, member 32, and its place in a roster 8.
const DOCUMENT_LEN: u64 = 160 + 4 + 12 + 12 + 12 + 32 + 8;

/// A payload digest to be looked up.
const PAYLOAD_LEN: u64 = 12;

/// What a sample takes: 8 in its sketch, 8 among the sorted fingerprints.
const SAMPLE_LEN: u64 = 8 + 8;

/// What a sample takes while it is sorted.
const LOOSE_LEN: u64 = 12;

/// Buffers, whatever the number of documents.
const BUFFERS: u64 = 56 << 20;

/// And a document in memory: what it is a copy of, its cluster, its place.
const DOCUMENT_MEMORY: u64 = 20;

/// Processor time for a sample after sketching, in seconds: sorting, pairs, clusters. 8.5
/// million samples of documents that share nothing took 1.2 s; what is shared comes on top.
const SECONDS_PER_SAMPLE: f64 = 0.2e-6;

/// What was seen.
#[derive(Default)]
struct Seen {
    sources: u64,
    documents: u64,
    /// Bytes of the inputs, as they are stored.
    bytes: u64,
    strings: u64,
    payloads: u64,
    tokens: u64,
    samples: u64,
    refused: u64,
    seconds: f64,
    /// Whether it was all there is.
    is_all: bool,
}

impl PlanArgs {
    pub(crate) fn run(self, global: Global) -> Result<Exit, Stop> {
        let recipe = self.recipe.recipe(SketchKind::default())?;
        let options = self.reading.options(&self.recipe.shingles, recipe.tokens);
        let memory = self.machine.memory()?;
        let inputs = Inputs::expand(&self.inputs, &options);
        if inputs
            .sources
            .iter()
            .any(|one| one.kind == SourceKind::Stdin)
        {
            return Err(Failure::usage(
                "standard input cannot be planned for: how much will come is not known",
                "name files or folders",
            )
            .into());
        }
        let seen = look(&inputs.sources, &options, &mut Sketcher::new(&recipe));
        if seen.documents == 0 {
            let named: Vec<String> = self
                .inputs
                .iter()
                .map(|input| format!("`{}`", shown(input.as_ref())))
                .collect();
            return Err(Stop::Failure(Failure {
                exit: Exit::NothingUsable,
                message: format!("there are no documents in {}", named.join(", ")),
                hint: "check the names, and the fields with --text-field".to_owned(),
            }));
        }
        let plan = Plan::new(&inputs.sources, &seen, memory, self.machine.threads().get());
        let mut out = text::stdout();
        if global.json {
            writeln!(out, "{}", plan.json(&seen))?;
        } else {
            write!(out, "{}", plan.text(&seen))?;
        }
        out.flush()?;
        Ok(Exit::Done)
    }
}

/// Reads and sketches a sample.
fn look(sources: &[Source], options: &ReadOptions, sketcher: &mut Sketcher) -> Seen {
    let mut seen = Seen {
        is_all: true,
        ..Seen::default()
    };
    let step = sources.len().div_ceil(SAMPLE_SOURCES).max(1);
    let chosen: Vec<&Source> = sources.iter().step_by(step).collect();
    let share = SAMPLE_BYTES / (chosen.len() as u64).max(1);
    let (begin, cpu) = (Instant::now(), cpu_seconds());
    for (number, source) in chosen.iter().enumerate() {
        // No input may use up the time of those behind it.
        let until = SAMPLE_TIME.mul_f64((number + 1) as f64 / chosen.len() as f64);
        let mut read = source.len;
        let done = read_source(source, options, &mut |batch| {
            see(&batch, options, sketcher, &mut seen);
            let is_enough = batch.position() >= share || begin.elapsed() >= until;
            if is_enough && batch.position() < source.len {
                read = batch.position();
                seen.is_all = false;
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        });
        seen.refused += u64::from(done.is_err());
        seen.sources += 1;
        seen.bytes += read;
        if begin.elapsed() >= SAMPLE_TIME {
            break;
        }
    }
    seen.is_all &= seen.sources == sources.len() as u64;
    seen.seconds = cpu_seconds() - cpu;
    seen
}

fn see(batch: &Batch, options: &ReadOptions, sketcher: &mut Sketcher, seen: &mut Seen) {
    batch.for_each(&mut |record| {
        let Ok(record) = record else {
            seen.refused += 1;
            return;
        };
        let Ok(document) = record.document(options) else {
            seen.refused += 1;
            return;
        };
        let sketch = document.sketch(sketcher);
        if sketch.tokens() == 0 {
            seen.refused += 1;
            return;
        }
        seen.documents += 1;
        seen.tokens += sketch.tokens();
        seen.samples += sketch.samples().len() as u64;
        for text in [&record.id, &record.url].into_iter().flatten() {
            seen.strings += text.len() as u64;
        }
        if let Body::Bytes {
            payload_digest: Some(_),
            ..
        } = &record.body
        {
            seen.payloads += 1;
        }
    });
}

/// What is to be expected.
struct Plan {
    sources: u64,
    bytes: u64,
    documents: u64,
    tokens: u64,
    samples: u64,
    threads: usize,
    memory: u64,
    least_memory: u64,
    collection: u64,
    scratch: u64,
    sketch_seconds: f64,
    other_seconds: f64,
}

impl Plan {
    fn new(sources: &[Source], seen: &Seen, memory: u64, threads: usize) -> Plan {
        let bytes: u64 = sources.iter().map(|source| source.len).sum();
        let factor = if seen.is_all {
            1.0
        } else {
            bytes as f64 / (seen.bytes as f64).max(1.0)
        };
        let scaled = |number: u64| whole(number as f64 * factor);
        let (documents, samples) = (scaled(seen.documents), scaled(seen.samples));
        let (strings, payloads) = (scaled(seen.strings), scaled(seen.payloads));
        let stored =
            documents * DOCUMENT_LEN + payloads * PAYLOAD_LEN + strings + samples * SAMPLE_LEN;
        // Entries, strings and samples stand in chunks until all is sketched.
        let chunks = documents * 160 + strings + samples * 8;
        // A third of the memory holds loose fingerprints, in vectors that may be half empty.
        let loose = samples * LOOSE_LEN;
        let spilled = if loose > memory / 6 { loose } else { 0 };
        Plan {
            sources: sources.len() as u64,
            bytes,
            documents,
            tokens: scaled(seen.tokens),
            samples,
            threads,
            memory,
            least_memory: LEAST_MEMORY.max(BUFFERS + documents * DOCUMENT_MEMORY),
            // Eight bytes in each block of 65,536 are a checksum.
            collection: stored + stored / 8191,
            scratch: chunks + spilled,
            sketch_seconds: seen.seconds * factor,
            other_seconds: samples as f64 * SECONDS_PER_SAMPLE,
        }
    }

    /// On the wall clock: the sketching is shared by the threads, the rest in part.
    fn seconds(&self) -> f64 {
        self.sketch_seconds / self.threads as f64 + self.other_seconds
    }

    fn json(&self, seen: &Seen) -> Value {
        let round = |seconds: f64| (seconds * 1000.0).round() / 1000.0;
        json!({
            "sample": {
                "documents": seen.documents, "bytes": seen.bytes, "sources": seen.sources,
                "refused": seen.refused, "cpu_seconds": round(seen.seconds), "is_all": seen.is_all,
            },
            "sources": self.sources,
            "bytes": self.bytes,
            "documents": self.documents,
            "tokens": self.tokens,
            "fingerprints": self.samples,
            "memory": { "least": self.least_memory, "given": self.memory },
            "disk": { "collection": self.collection, "scratch": self.scratch },
            "cpu_seconds": { "sketch": round(self.sketch_seconds), "other": round(self.other_seconds) },
            "threads": self.threads,
            "seconds": round(self.seconds()),
        })
    }

    fn text(&self, seen: &Seen) -> String {
        let documents = text::count(seen.documents);
        let title = if seen.is_all {
            format!("Predicted from all {documents} documents, which were sketched to see")
        } else {
            format!(
                "Predicted from a sample of {documents} documents in {}",
                text::bytes(seen.bytes)
            )
        };
        let row = |what: &str, value: String| vec![what.to_owned(), value];
        let rows = [
            row("inputs", text::count(self.sources)),
            row("bytes of inputs", text::bytes(self.bytes)),
            row("documents", text::count(self.documents)),
            row("tokens", text::count(self.tokens)),
            row("fingerprints kept", text::count(self.samples)),
            row("least memory", text::bytes(self.least_memory)),
            row("memory that will be used", text::bytes(self.memory)),
            row("disk: the collection", text::bytes(self.collection)),
            row("disk: more while it is made", text::bytes(self.scratch)),
            row("processor: sketching", duration(self.sketch_seconds)),
            row("processor: all else", duration(self.other_seconds)),
            row(
                &format!("wall clock, {}", text::counted(self.threads, "thread")),
                duration(self.seconds()),
            ),
        ];
        let mut out = format!("{title}\n{}", text::columns(&rows));
        if self.memory < self.least_memory {
            out.push_str("The memory is too little: allow more with --memory\n");
        }
        out.push_str(
            "Every document counts as distinct; pairs take 24 bytes each more. Least memory is\n\
             56 MiB and 20 bytes a document; time for all else is 0.2 µs a fingerprint.\n",
        );
        out
    }
}

/// A prediction as a whole number.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a number that is not negative, and too large a one saturates"
)]
fn whole(number: f64) -> u64 {
    number.round() as u64
}

fn duration(seconds: f64) -> String {
    let all = whole(seconds);
    match all {
        0..60 => format!("{seconds:.1} s"),
        60..3600 => format!("{} min {} s", all / 60, all % 60),
        _ => format!("{} h {} min", all / 3600, all % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_of_a_tenth_is_scaled_tenfold() {
        let source = |len| Source {
            held: None,
            name: "a".to_owned(),
            path: "a".into(),
            kind: SourceKind::Jsonl,
            len,
            modified: 0,
        };
        let seen = Seen {
            sources: 1,
            documents: 100,
            bytes: 1000,
            strings: 500,
            samples: 2000,
            seconds: 0.5,
            ..Seen::default()
        };
        let plan = Plan::new(&[source(4000), source(6000)], &seen, 256 << 20, 2);
        assert_eq!((plan.documents, plan.samples), (1000, 20_000));
        let stored = 1000 * 240 + 5000 + 20_000 * 16;
        assert_eq!(plan.collection, stored + stored / 8191);
        assert_eq!(plan.scratch, 1000 * 160 + 5000 + 20_000 * 8);
        let few = Plan::new(&[source(10_000)], &seen, 1 << 20, 2);
        assert_eq!(few.scratch, plan.scratch + 20_000 * 12);
        assert_eq!(duration(3.0 * 3600.0 + 61.0), "3 h 1 min");
    }
}
