//! `compare`: two texts, as the command of that name compares two files.

use std::ops::Range;

use lookalike::core::recipe::{Recipe, SketchKind};
use lookalike::core::sketcher::Sketcher;
use lookalike::corpus::document::{Document, Origin, Reading};
use lookalike::corpus::unusable::Unusable;
use lookalike_server::compared::{Compared, Side};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::Value;

use crate::failure::unusable;
use crate::options::{Given, RECIPE};
use crate::sketch::Text;
use crate::value::to_python;
use crate::work::or_leave;

/// A side with the way back to what the caller handed over.
struct Mapped<'a> {
    side: Side<'a>,
    origin: Option<Origin>,
    /// The characters of a string that has some of several bytes.
    characters: Option<Characters<'a>>,
}

/// Counts the characters before a byte, from marks on the way.
struct Characters<'a> {
    text: &'a str,
    /// Those before every [`MARK`]th byte.
    marks: Vec<usize>,
}

/// Bytes between two marks: what a look-up reads, for 8 bytes of memory.
const MARK: usize = 1024;

impl<'a> Characters<'a> {
    fn new(text: &'a str) -> Characters<'a> {
        let mut count = 0;
        let marks = text.as_bytes().chunks(MARK).map(|chunk| {
            let before = count;
            count += begun(chunk);
            before
        });
        Characters {
            marks: marks.collect(),
            text,
        }
    }

    fn before(&self, byte: usize) -> usize {
        let byte = byte.min(self.text.len());
        let mark = (byte / MARK).min(self.marks.len().saturating_sub(1));
        let rest = self.text.as_bytes().get(mark * MARK..byte);
        self.marks.get(mark).copied().unwrap_or(0) + begun(rest.unwrap_or_default())
    }
}

/// How many characters begin in some bytes of UTF-8.
fn begun(bytes: &[u8]) -> usize {
    bytes.iter().filter(|&&byte| byte & 0xC0 != 0x80).count()
}

impl<'a> Mapped<'a> {
    fn new(text: &'a Text, recipe: &Recipe, reading: Reading<'_>) -> Result<Mapped<'a>, Unusable> {
        let mapped = |bytes: &'a [u8]| -> Result<(Document<'a>, Option<Origin>), Unusable> {
            let (document, origin) = Document::read_mapped(bytes, reading)?;
            Ok((document, Some(origin)))
        };
        let (document, origin) = match text {
            Text::Str(text) => mapped(text.as_bytes())?,
            Text::Bytes(bytes) => mapped(bytes)?,
            Text::Features(_) => (text.document(reading)?, None),
        };
        let side = Side::new(String::new(), document, recipe);
        if side.tokens.is_empty() {
            return Err(Unusable::NoTokens);
        }
        let characters = match text {
            Text::Str(text) if !text.is_ascii() => Some(Characters::new(text)),
            _ => None,
        };
        Ok(Mapped {
            side,
            origin,
            characters,
        })
    }

    /// Where tokens stand: characters of a string, bytes of bytes, members of a list.
    fn place(&self, tokens: &Range<usize>) -> Range<usize> {
        let Some(origin) = &self.origin else {
            return tokens.clone();
        };
        let bytes = origin.bytes(self.side.source(tokens));
        match &self.characters {
            None => bytes,
            Some(all) => all.before(bytes.start)..all.before(bytes.end),
        }
    }
}

/// From how many bytes on a signal may come before the answer: shorter ones take less time
/// than a person notices.
const LONG: usize = 1 << 20;

/// Compares two texts.
#[pyfunction]
#[pyo3(signature = (a, b, *, passages = true, **options))]
pub(crate) fn compare<'py>(
    py: Python<'py>,
    a: &Bound<'py, PyAny>,
    b: &Bound<'py, PyAny>,
    passages: bool,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let given = Given::new(py, options, &[RECIPE, &["format"]])?;
    let recipe = given.recipe(SketchKind::default())?;
    let reading = Reading {
        name: None,
        format: given.format()?,
        tokens: recipe.tokens,
    };
    let (a, b) = (Text::new("a", a, &recipe)?, Text::new("b", b, &recipe)?);
    let is_long = [&a, &b].iter().any(|text| text.len() > LONG);
    let work = move || compared(&a, &b, &recipe, reading, passages);
    let answer = if is_long {
        or_leave(py, work)?
    } else {
        py.detach(work)
    };
    match answer {
        Ok(answer) => to_python(py, &answer),
        Err((name, why)) => Err(unusable(py, name, why)),
    }
}

fn compared(
    a: &Text,
    b: &Text,
    recipe: &Recipe,
    reading: Reading<'_>,
    passages: bool,
) -> Result<Value, (&'static str, Unusable)> {
    let a = Mapped::new(a, recipe, reading).map_err(|why| ("a", why))?;
    let b = Mapped::new(b, recipe, reading).map_err(|why| ("b", why))?;
    let mut sketcher = Sketcher::new(recipe);
    let mut compared = Compared::new(&a.side, &b.side, recipe, &mut sketcher);
    if !passages {
        compared.passages.clear();
    }
    let mut answer = compared.json(|x| a.place(x), |x| b.place(x));
    if let (false, Some(answer)) = (passages, answer.as_object_mut()) {
        answer.shift_remove("passages");
    }
    Ok(answer)
}
