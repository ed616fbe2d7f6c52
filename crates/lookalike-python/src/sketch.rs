//! `sketch`, and what it gives: an object that is compared, pickled and put into sets.

use std::hash::{DefaultHasher, Hash, Hasher};

use lookalike::core::recipe::{Recipe, SketchKind};
use lookalike::core::sketch::{Sketch as Kept, TwoRecipes};
use lookalike::core::sketcher::Sketcher;
use lookalike::corpus::document::{Document, Reading};
use lookalike::corpus::unusable::Unusable;
use lookalike_server::failure::{Exit, Failure};
use lookalike_server::wire;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};
use serde_json::json;

use crate::failure::{kind, raised, unusable, usage, utf8};
use crate::options::{Given, RECIPE};
use crate::value::to_python;

/// What a caller hands over as a document.
pub(crate) enum Text {
    /// A string.
    Str(String),
    /// Bytes as a file has them.
    Bytes(Vec<u8>),
    /// Features.
    Features(Vec<String>),
}

impl Text {
    /// Takes a string, bytes, or a list of features.
    pub(crate) fn new(name: &str, text: &Bound<'_, PyAny>, recipe: &Recipe) -> PyResult<Text> {
        use lookalike::core::canonical::TokenKind;
        let py = text.py();
        if let Ok(text) = text.cast::<PyString>() {
            return Ok(Text::Str(utf8(name, text)?.to_owned()));
        }
        if let Ok(bytes) = text.cast::<PyBytes>() {
            return Ok(Text::Bytes(bytes.as_bytes().to_vec()));
        }
        if recipe.tokens == TokenKind::Feature
            && let Ok(features) = text.try_iter()
        {
            let feature = |one: PyResult<Bound<'_, PyAny>>| {
                let one = one?;
                let is_number =
                    one.extract::<i128>().is_ok() && !one.is_instance_of::<pyo3::types::PyBool>();
                match one.extract::<String>() {
                    Ok(text) => Ok(text),
                    Err(_) if is_number => Ok(one.str()?.to_string()),
                    Err(_) => Err(kind(py, "a feature is a string or a whole number")),
                }
            };
            return Ok(Text::Features(
                features.map(feature).collect::<PyResult<_>>()?,
            ));
        }
        let given = text.get_type().name()?;
        let wanted = match recipe.tokens {
            TokenKind::Feature => "str, bytes or a list of features",
            _ => "str or bytes",
        };
        Err(kind(
            py,
            &format!("`{name}` must be {wanted}, and is {given}"),
        ))
    }

    /// Bytes of text, or features.
    pub(crate) fn len(&self) -> usize {
        match self {
            Text::Features(list) => list.len(),
            _ => self.bytes().map_or(0, <[u8]>::len),
        }
    }

    /// Its bytes, if it has them as a file would.
    pub(crate) fn bytes(&self) -> Option<&[u8]> {
        match self {
            Text::Str(text) => Some(text.as_bytes()),
            Text::Bytes(bytes) => Some(bytes),
            Text::Features(_) => None,
        }
    }

    /// The document in it.
    pub(crate) fn document(&self, reading: Reading<'_>) -> Result<Document<'_>, Unusable> {
        match self {
            Text::Str(text) => Document::read(text.as_bytes(), reading),
            Text::Bytes(bytes) => Document::read(bytes, reading),
            Text::Features(list) if list.is_empty() => Err(Unusable::Empty),
            Text::Features(list) => Ok(Document::of_features(list.clone())),
        }
    }
}

/// What is kept of one document.
#[pyclass(frozen, module = "lookalike")]
pub(crate) struct Sketch(Kept);

/// Makes a sketch.
#[pyfunction]
#[pyo3(signature = (text, **options))]
pub(crate) fn sketch(
    py: Python<'_>,
    text: &Bound<'_, PyAny>,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<Sketch> {
    let given = Given::new(py, options, &[RECIPE, &["format"]])?;
    let recipe = given.recipe(SketchKind::default())?;
    let reading = Reading {
        name: None,
        format: given.format()?,
        tokens: recipe.tokens,
    };
    let text = Text::new("text", text, &recipe)?;
    let made = py.detach(|| {
        let sketch = text.document(reading)?.sketch(&mut Sketcher::new(&recipe));
        match sketch.tokens() {
            0 => Err(Unusable::NoTokens),
            _ => Ok(Sketch(sketch)),
        }
    });
    made.map_err(|why| unusable(py, "text", why))
}

impl Sketch {
    fn comparison(
        &self,
        py: Python<'_>,
        other: &Sketch,
    ) -> PyResult<lookalike::core::estimate::Comparison> {
        self.0
            .compare(&other.0)
            .map_err(|two: TwoRecipes| usage(py, two))
    }
}

#[pymethods]
impl Sketch {
    /// Reads what `bytes(sketch)` gave, or `lookalike sketch -o` wrote.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, data: &[u8]) -> PyResult<Sketch> {
        let read = Kept::from_bytes(data);
        read.map(Sketch).map_err(|bad| {
            let failure = Failure {
                exit: Exit::Damaged,
                message: format!("cannot use sketch: {bad}"),
                hint: "make it again".to_owned(),
            };
            raised(py, &failure)
        })
    }

    fn __bytes__<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.to_bytes())
    }

    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let read = py.get_type::<Sketch>().getattr("from_bytes")?;
        Ok((read, (self.__bytes__(py),)))
    }

    #[getter]
    fn samples(&self) -> Vec<u64> {
        self.0.samples().to_vec()
    }

    #[getter]
    fn tokens(&self) -> u64 {
        self.0.tokens()
    }

    #[getter]
    fn kind(&self) -> String {
        self.0.kind().to_string()
    }

    #[getter]
    fn recipe_id(&self) -> String {
        self.0.recipe().to_string()
    }

    /// The estimate of the resemblance.
    fn resemblance<'py>(&self, py: Python<'py>, other: &Sketch) -> PyResult<Bound<'py, PyAny>> {
        let compared = self.comparison(py, other)?;
        to_python(py, &json!(compared.resemblance.map(wire::Share::estimated)))
    }

    /// The estimate of how much of this document is in the other.
    fn containment<'py>(&self, py: Python<'py>, other: &Sketch) -> PyResult<Bound<'py, PyAny>> {
        let compared = self.comparison(py, other)?;
        to_python(py, &json!(compared.a_in_b.map(wire::Share::estimated)))
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other
            .cast::<Sketch>()
            .is_ok_and(|other| self.0 == other.get().0)
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.0.recipe(), self.0.tokens(), self.0.samples()).hash(&mut hasher);
        hasher.finish()
    }

    fn __len__(&self) -> usize {
        self.0.samples().len()
    }

    fn __repr__(&self) -> String {
        format!(
            "<lookalike.Sketch {} of {} tokens, {} samples, recipe {}>",
            self.0.kind(),
            self.0.tokens(),
            self.0.samples().len(),
            self.0.recipe()
        )
    }
}
