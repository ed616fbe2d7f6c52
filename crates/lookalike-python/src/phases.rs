//! The engine's phases for Spark: bytes in, bytes out. `lookalike.spark` calls these in its
//! executors and its driver; they are not for users.

#![expect(
    clippy::needless_pass_by_value,
    reason = "Python hands over lists and paths, not borrows of them"
)]

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use lookalike::add::{AddError, AddOptions};
use lookalike::core::recipe::{Recipe, SketchKind};
use lookalike::core::seed::Key;
use lookalike::corpus::inputs::{Inputs, Source, SourceKind};
use lookalike::corpus::options::ReadOptions;
use lookalike::corpus::record::Refused;
use lookalike::phases::draft::Draft as Engine;
use lookalike::phases::join::{self, GroupSizes};
use lookalike::phases::meet::{self, CommonLists};
use lookalike::phases::sketch::{Notes, sketch_source};
use lookalike::phases::verify::{self, Wanted};
use lookalike::phases::{Garbled, Job};
use lookalike_server::failure::Failure;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use serde::{Deserialize, Serialize};

use crate::failure::{raised, usage};
use crate::options::{Given, MACHINE, POLICY, READING, RECIPE};

/// What the module has of this.
pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Common>()?;
    module.add_class::<Draft>()?;
    module.add_class::<LeftOut>()?;
    module.add_function(wrap_pyfunction!(phase_job, module)?)?;
    module.add_function(wrap_pyfunction!(phase_inputs, module)?)?;
    module.add_function(wrap_pyfunction!(phase_sketch, module)?)?;
    module.add_function(wrap_pyfunction!(phase_postings, module)?)?;
    module.add_function(wrap_pyfunction!(phase_samples, module)?)?;
    module.add_function(wrap_pyfunction!(phase_groups, module)?)?;
    module.add_function(wrap_pyfunction!(phase_cap, module)?)?;
    module.add_function(wrap_pyfunction!(phase_meetings, module)?)?;
    module.add_function(wrap_pyfunction!(phase_judge, module)?)?;
    module.add_function(wrap_pyfunction!(phase_judge_rest, module)?)?;
    module.add_function(wrap_pyfunction!(phase_sets, module)?)?;
    module.add_function(wrap_pyfunction!(phase_exact, module)?)?;
    Ok(())
}

type Blob<'py> = Bound<'py, PyBytes>;

/// A source as it travels.
#[derive(Serialize, Deserialize)]
struct Travelling {
    name: String,
    path: PathBuf,
    kind: String,
    len: u64,
    modified: i64,
}

impl Travelling {
    fn source(self, py: Python<'_>) -> PyResult<Source> {
        let kind = SourceKind::from_name(&self.kind);
        Ok(Source {
            kind: kind.ok_or_else(|| usage(py, format!("no kind of source: {}", self.kind)))?,
            name: self.name,
            path: self.path,
            len: self.len,
            modified: self.modified,
            held: None,
        })
    }
}

fn parsed<'a, T: Deserialize<'a>>(py: Python<'_>, text: &'a str) -> PyResult<T> {
    serde_json::from_str(text).map_err(|error| usage(py, error))
}

fn text(py: Python<'_>, value: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| usage(py, error))
}

fn garbled(py: Python<'_>) -> impl Fn(Garbled) -> PyErr + '_ {
    move |error| usage(py, error)
}

fn failed<'a>(py: Python<'a>, folder: &'a Path) -> impl Fn(AddError) -> PyErr + 'a {
    move |error| raised(py, &Failure::from_add(folder, error))
}

/// What a task works by: recipe, reading, and which pairs are kept.
struct Tools {
    recipe: Recipe,
    reading: ReadOptions,
}

impl Tools {
    fn new(py: Python<'_>, job: &str, key: Option<&[u8]>) -> PyResult<Tools> {
        let job: Job = parsed(py, job)?;
        let key = key.map(Key::from_bytes).transpose();
        let key = key.map_err(|short| usage(py, short))?;
        let recipe = job.recipe(key.as_ref()).map_err(|fault| usage(py, fault))?;
        let reading = job.reading();
        Ok(Tools { recipe, reading })
    }
}

fn add_options(py: Python<'_>, options: Option<&Bound<'_, PyDict>>) -> PyResult<AddOptions> {
    let given = Given::new(py, options, &[RECIPE, READING, POLICY, MACHINE])?;
    let recipe = given.recipe(SketchKind::default())?;
    let mut add = AddOptions {
        reading: given.reading(recipe.tokens)?,
        recipe,
        policy: given.policy()?,
        ..AddOptions::default()
    };
    given.machine(&mut add, u64::MAX)?;
    Ok(add)
}

/// What every task must know, as text.
#[pyfunction]
#[pyo3(signature = (**options))]
fn phase_job(py: Python<'_>, options: Option<&Bound<'_, PyDict>>) -> PyResult<String> {
    let add = add_options(py, options)?;
    if add.recipe.sketch.is_weighted() {
        return Err(usage(py, "weighted features are not sketched on Spark"));
    }
    let job = Job::new(&add.recipe, &add.reading, add.floor, &add.policy);
    text(py, &job)
}

/// Files that are left out by their nature: hidden ones, and such.
#[pyclass(frozen)]
pub(crate) struct LeftOut(Vec<(String, Refused)>);

/// What some paths name: sources, and what is left out. What cannot be had is an error.
#[pyfunction]
fn phase_inputs(
    py: Python<'_>,
    job: &str,
    paths: Vec<PathBuf>,
) -> PyResult<(Vec<String>, LeftOut)> {
    let job: Job = parsed(py, job)?;
    let inputs = py.detach(|| Inputs::expand(&paths, &job.reading()));
    let mut sources = Vec::with_capacity(inputs.sources.len());
    for source in inputs.sources {
        sources.push(text(
            py,
            &Travelling {
                name: source.name,
                path: source.path,
                kind: source.kind.name().to_owned(),
                len: source.len,
                modified: source.modified,
            },
        )?);
    }
    if let Some((name, why)) = inputs.refused.iter().find(|(_, why)| why.is_rejected) {
        return Err(usage(py, format!("cannot read `{name}`: {}", why.message)));
    }
    Ok((sources, LeftOut(inputs.refused)))
}

type PieceOfBytes<'py> = (Blob<'py>, Blob<'py>, String);

/// Sketches a source: its pieces. `place` is where its bytes are, if not at its own path.
#[pyfunction]
#[pyo3(signature = (job, number, source, *, key=None, place=None))]
fn phase_sketch<'py>(
    py: Python<'py>,
    job: &str,
    number: u32,
    source: &str,
    key: Option<&[u8]>,
    place: Option<PathBuf>,
) -> PyResult<Vec<PieceOfBytes<'py>>> {
    let tools = Tools::new(py, job, key)?;
    let mut source = parsed::<Travelling>(py, source)?.source(py)?;
    source.path = place.unwrap_or(source.path);
    let mut pieces = Vec::new();
    let done = py.detach(|| {
        sketch_source(&source, number, &tools.recipe, &tools.reading, |piece| {
            pieces.push(piece);
            ControlFlow::Continue(())
        })
    });
    done.map_err(|error| failed(py, &source.path)(error.into()))?;
    let mut out = Vec::with_capacity(pieces.len());
    for piece in pieces {
        out.push((
            PyBytes::new(py, &piece.heads),
            PyBytes::new(py, &piece.bodies),
            text(py, &piece.notes)?,
        ));
    }
    Ok(out)
}

/// Numbers as they travel: four bytes each.
fn numbers(py: Python<'_>, bytes: &[u8]) -> PyResult<Vec<u32>> {
    match bytes.as_chunks() {
        (words, []) => Ok(words.iter().map(|word| u32::from_le_bytes(*word)).collect()),
        _ => Err(usage(py, "numbers are not as they were written")),
    }
}

fn packed(numbers: impl IntoIterator<Item = u32>) -> Vec<u8> {
    numbers.into_iter().flat_map(u32::to_le_bytes).collect()
}

/// The postings of a piece, by ranges of keys.
#[pyfunction]
fn phase_postings<'py>(
    py: Python<'py>,
    job: &str,
    heads: &[u8],
    bodies: &[u8],
    of_entries: &[u8],
    ranges: usize,
) -> PyResult<Vec<Blob<'py>>> {
    let kind = sketch_kind(py, job)?;
    let of_entries = numbers(py, of_entries)?;
    let parts = py.detach(|| join::postings(kind, heads, bodies, &of_entries, ranges));
    let parts = parts.map_err(garbled(py))?;
    Ok(parts.iter().map(|part| PyBytes::new(py, part)).collect())
}

/// The samples of some documents of a piece: number and bytes. `wanted` increases.
#[pyfunction]
fn phase_samples<'py>(
    py: Python<'py>,
    heads: &[u8],
    bodies: &[u8],
    of_entries: &[u8],
    wanted: &[u8],
) -> PyResult<Vec<(u32, Blob<'py>)>> {
    let (of_entries, wanted) = (numbers(py, of_entries)?, numbers(py, wanted)?);
    let mut found = Vec::new();
    join::each_sketch(heads, bodies, &of_entries, |doc, _, samples| {
        if wanted.binary_search(&doc).is_ok() {
            let bytes: Vec<u8> = samples
                .iter()
                .flat_map(|sample| sample.to_le_bytes())
                .collect();
            found.push((doc, PyBytes::new(py, &bytes)));
        }
    })
    .map_err(garbled(py))?;
    Ok(found)
}

fn sketch_kind(py: Python<'_>, job: &str) -> PyResult<SketchKind> {
    Ok(parsed::<Job>(py, job)?.sketch_kind())
}

/// The groups of a range of keys, and how many there are of each size.
#[pyfunction]
fn phase_groups<'py>(py: Python<'py>, postings: Vec<Blob<'py>>) -> PyResult<(Blob<'py>, String)> {
    let parts: Vec<&[u8]> = postings.iter().map(PyBytesMethods::as_bytes).collect();
    let (groups, sizes) = py.detach(|| join::groups(parts)).map_err(garbled(py))?;
    Ok((PyBytes::new(py, &groups), text(py, &sizes.0)?))
}

fn all_sizes(py: Python<'_>, sizes: &[String]) -> PyResult<GroupSizes> {
    let mut all = GroupSizes::default();
    for some in sizes {
        all.add(&GroupSizes(parsed(py, some)?));
    }
    Ok(all)
}

/// The largest size of a group whose documents all meet; `None` for any.
#[pyfunction]
fn phase_cap(py: Python<'_>, sizes: Vec<String>) -> PyResult<Option<usize>> {
    Ok(all_sizes(py, &sizes)?.cap())
}

/// Lets the documents of groups meet: meetings by ranges of documents, and the members of
/// common groups.
#[pyfunction]
fn phase_meetings<'py>(
    py: Python<'py>,
    groups: &[u8],
    cap: Option<usize>,
    documents: u32,
    ranges: usize,
) -> PyResult<(Vec<Blob<'py>>, Blob<'py>)> {
    let met = py.detach(|| meet::meetings(groups, cap, documents, ranges));
    let met = met.map_err(garbled(py))?;
    let by_range = met.by_range.iter().map(|part| PyBytes::new(py, part));
    Ok((by_range.collect(), PyBytes::new(py, &met.common)))
}

/// Which common fingerprints documents have.
#[pyclass(frozen)]
pub(crate) struct Common(CommonLists);

#[pymethods]
impl Common {
    #[new]
    fn new(py: Python<'_>, members: &[u8]) -> PyResult<Common> {
        meet::common_of(members).map(Common).map_err(garbled(py))
    }
}

type Judged<'py> = (Blob<'py>, u64, Blob<'py>, Blob<'py>);

/// Judges the meetings of a range of documents: the pairs that are kept and how many are
/// not. Where some cannot be judged without samples: all pairs above the floor, those
/// meetings, and their documents, increasing.
#[pyfunction]
fn phase_judge<'py>(
    py: Python<'py>,
    job: &str,
    meetings: Vec<Blob<'py>>,
    common: &Common,
) -> PyResult<Judged<'py>> {
    let job: Job = parsed(py, job)?;
    let (kind, floor) = (job.sketch_kind(), job.floor);
    let parts: Vec<&[u8]> = meetings.iter().map(PyBytesMethods::as_bytes).collect();
    let judged = py.detach(|| {
        let judged = meet::judge(kind, floor, parts, &common.0)?;
        let docs = meet::documents_of(&judged.unjudged)?;
        let (pairs, set_aside) = if docs.is_empty() {
            meet::keep(kind, judged.pairs)
        } else {
            (judged.pairs, 0)
        };
        let mut docs: Vec<u32> = docs.into_iter().flat_map(|(a, b)| [a, b]).collect();
        docs.sort_unstable();
        docs.dedup();
        Ok((meet::pack(&pairs), set_aside, judged.unjudged, docs))
    });
    let (pairs, set_aside, unjudged, docs) = judged.map_err(garbled(py))?;
    Ok((
        PyBytes::new(py, &pairs),
        set_aside,
        PyBytes::new(py, &unjudged),
        PyBytes::new(py, &packed(docs)),
    ))
}

/// Judges what was left, by the samples of its documents: with the pairs above the floor
/// those that are kept, and how many are not.
#[pyfunction]
fn phase_judge_rest<'py>(
    py: Python<'py>,
    job: &str,
    pairs: &[u8],
    unjudged: &[u8],
    common: &Common,
    samples: Vec<(u32, Blob<'py>)>,
) -> PyResult<(Blob<'py>, u64)> {
    let job: Job = parsed(py, job)?;
    let (kind, floor) = (job.sketch_kind(), job.floor);
    let samples = samples.iter().map(|(doc, bytes)| {
        let words = bytes.as_bytes().as_chunks().0.iter();
        (*doc, words.map(|word| u64::from_le_bytes(*word)).collect())
    });
    let samples: Vec<(u32, Vec<u64>)> = samples.collect();
    let judged = py.detach(|| {
        let mut pairs = meet::unpack(pairs)?;
        let rest = meet::judge_by_samples(kind, floor, [unjudged], &common.0, samples)?;
        if !rest.unjudged.is_empty() {
            return Ok(None);
        }
        pairs.extend(rest.pairs);
        let (kept, set_aside) = meet::keep(kind, pairs);
        Ok(Some((meet::pack(&kept), set_aside)))
    });
    let judged = judged.map_err(garbled(py))?;
    let (kept, set_aside) = judged.ok_or_else(|| usage(py, "samples are missing"))?;
    Ok((PyBytes::new(py, &kept), set_aside))
}

const WANTED: usize = 28;

/// Reads documents of a source again: of those that are what they were, the sets of their
/// fingerprints. `wanted` is what [`Draft::places`] gave.
#[pyfunction]
#[pyo3(signature = (job, source, wanted, *, key=None, place=None))]
fn phase_sets<'py>(
    py: Python<'py>,
    job: &str,
    source: &str,
    wanted: &[u8],
    key: Option<&[u8]>,
    place: Option<PathBuf>,
) -> PyResult<Vec<(u32, Blob<'py>)>> {
    let tools = Tools::new(py, job, key)?;
    let mut source = parsed::<Travelling>(py, source)?.source(py)?;
    source.path = place.unwrap_or(source.path);
    let wanted: Vec<Wanted> = wanted.chunks_exact(WANTED).map(unpacked).collect();
    let mut found = Vec::new();
    // Who cannot be read again is missing, and is decided by estimate.
    let _ = py.detach(|| {
        verify::sets(
            &source,
            &wanted,
            &tools.recipe,
            &tools.reading,
            |doc, set| {
                found.push((doc, set));
            },
        )
    });
    let found = found.into_iter();
    Ok(found
        .map(|(doc, set)| (doc, PyBytes::new(py, &set)))
        .collect())
}

fn unpacked(bytes: &[u8]) -> Wanted {
    let mut doc = [0; 4];
    let mut offset = [0; 8];
    let mut name = [0; 16];
    doc.copy_from_slice(&bytes[..4]);
    offset.copy_from_slice(&bytes[4..12]);
    name.copy_from_slice(&bytes[12..WANTED]);
    Wanted {
        doc: u32::from_le_bytes(doc),
        offset: u64::from_le_bytes(offset),
        tokens_name: u128::from_le_bytes(name),
    }
}

/// The true pair of two documents, from their sets.
#[pyfunction]
fn phase_exact<'py>(
    py: Python<'py>,
    a: u32,
    b: u32,
    of_a: &[u8],
    of_b: &[u8],
) -> PyResult<Blob<'py>> {
    let pair = verify::exact(a, b, of_a, of_b).map_err(garbled(py))?;
    Ok(PyBytes::new(py, &meet::pack(&[pair])))
}

/// A collection in the making.
#[pyclass(unsendable)]
pub(crate) struct Draft {
    folder: PathBuf,
    engine: Option<Engine>,
}

fn pairs_of(py: Python<'_>, bytes: &[u8]) -> PyResult<Vec<(u32, u32)>> {
    let all = numbers(py, bytes)?;
    Ok(all.as_chunks().0.iter().map(|&[a, b]| (a, b)).collect())
}

impl Draft {
    fn with<T>(
        &mut self,
        py: Python<'_>,
        work: impl FnOnce(&mut Engine) -> Result<T, AddError>,
    ) -> PyResult<T> {
        match &mut self.engine {
            Some(engine) => work(engine).map_err(failed(py, &self.folder)),
            None => Err(usage(py, "the collection is committed")),
        }
    }
}

#[pymethods]
impl Draft {
    /// Begins a collection in a folder that has none.
    #[new]
    #[pyo3(signature = (folder, sources, left_out, **options))]
    fn new(
        py: Python<'_>,
        folder: PathBuf,
        sources: Vec<String>,
        left_out: Vec<PyRef<'_, LeftOut>>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Draft> {
        let options = add_options(py, options)?;
        let mut inputs = Inputs::default();
        for some in left_out {
            inputs.refused.extend_from_slice(&some.0);
        }
        for source in &sources {
            inputs
                .sources
                .push(parsed::<Travelling>(py, source)?.source(py)?);
        }
        let engine = Engine::begin(&folder, inputs, options).map_err(failed(py, &folder))?;
        Ok(Draft {
            folder,
            engine: Some(engine),
        })
    }

    /// Takes all pieces from an iterator of heads, bodies and notes: for each the numbers of
    /// its documents.
    fn number<'py>(
        &mut self,
        py: Python<'py>,
        pieces: &Bound<'py, PyAny>,
    ) -> PyResult<Vec<Blob<'py>>> {
        let mut pieces = pieces.try_iter()?;
        let mut wrong = None;
        let mut numbers = Vec::new();
        let next = || {
            let Some(piece) = pieces.next() else {
                return Ok(None);
            };
            let taken = piece.and_then(|piece| {
                let (heads, bodies, notes): (Vec<u8>, Vec<u8>, String) = piece.extract()?;
                Ok((heads, bodies, parsed::<Notes>(py, &notes)?))
            });
            taken.map(Some).map_err(|error| {
                wrong = Some(error);
                AddError::from(Garbled::pieces())
            })
        };
        let each = |of_piece: &[u32]| {
            numbers.push(PyBytes::new(py, &packed(of_piece.iter().copied())));
        };
        let done = self.with(py, |engine| engine.number(next, each));
        match wrong {
            Some(error) => Err(error),
            None => done.map(|()| numbers),
        }
    }

    /// How many documents and postings there are.
    fn totals(&mut self, py: Python<'_>) -> PyResult<(u64, u64)> {
        self.with(py, |engine| Ok((engine.documents(), engine.postings())))
    }

    /// Takes pairs that were kept, by later and then by earlier document.
    fn pairs(&mut self, py: Python<'_>, pairs: &[u8]) -> PyResult<()> {
        let pairs = meet::unpack(pairs).map_err(garbled(py))?;
        self.with(py, |engine| engine.pairs(&pairs))
    }

    /// All pairs are there.
    fn counted(&mut self, py: Python<'_>, sizes: Vec<String>, set_aside: u64) -> PyResult<()> {
        let sizes = all_sizes(py, &sizes)?;
        self.with(py, |engine| engine.counted(&sizes, set_aside))
    }

    /// Clusters by what is known: the pairs that must be told true first, or none.
    fn cluster<'py>(&mut self, py: Python<'py>) -> PyResult<Blob<'py>> {
        let asked = self.with(py, Engine::cluster)?;
        let asked = asked.into_iter().flat_map(|(a, b)| [a, b]);
        Ok(PyBytes::new(py, &packed(asked)))
    }

    /// Where the documents of some pairs stand: source, and what to look for there.
    fn places<'py>(&mut self, py: Python<'py>, asked: &[u8]) -> PyResult<Vec<(u32, Blob<'py>)>> {
        let asked = pairs_of(py, asked)?;
        let mut places = self.with(py, |engine| engine.places(&asked))?;
        places.sort_by_key(|(source, one)| (*source, one.offset));
        let of_source = places.chunk_by(|x, y| x.0 == y.0);
        let packed = of_source.map(|some| {
            let mut bytes = Vec::with_capacity(WANTED * some.len());
            for (_, one) in some {
                bytes.extend_from_slice(&one.doc.to_le_bytes());
                bytes.extend_from_slice(&one.offset.to_le_bytes());
                bytes.extend_from_slice(&one.tokens_name.to_le_bytes());
            }
            (some[0].0, PyBytes::new(py, &bytes))
        });
        Ok(packed.collect())
    }

    /// Of pairs that were asked for those that could be told true.
    fn tell(&mut self, py: Python<'_>, asked: &[u8], told: &[u8]) -> PyResult<()> {
        let (asked, told) = (
            pairs_of(py, asked)?,
            meet::unpack(told).map_err(garbled(py))?,
        );
        self.with(py, |engine| {
            engine.tell(&asked, &told);
            Ok(())
        })
    }

    /// The clusters are final: the collection is whole. What became of what was read.
    fn commit(&mut self, py: Python<'_>) -> PyResult<String> {
        let Some(engine) = self.engine.take() else {
            return Err(usage(py, "the collection is committed"));
        };
        let report = engine.commit().map_err(failed(py, &self.folder))?;
        text(
            py,
            &serde_json::json!({
                "read": report.counts.read,
                "added": report.added,
                "skipped": report.counts.skipped,
                "rejected": report.counts.rejected,
                "pairs": report.counts.pairs,
                "clusters": report.clusterings.first().map_or(0, |one| one.summary.clusters),
                "rejects": String::from_utf8_lossy(&report.rejects),
            }),
        )
    }
}
