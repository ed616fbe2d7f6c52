//! Keyword arguments, as the engine's options: same names, defaults and words as on the
//! command line.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::thread;

use lookalike::add::{AddOptions, LEAST_MEMORY, quarter_of_the_machine};
use lookalike::clusters::policy::Policy;
use lookalike::core::canonical::{Case, TokenKind};
use lookalike::core::recipe::{DEFAULT_SEED, MOST_SAMPLES, Recipe, SketchKind};
use lookalike::core::seed::{Key, Seed};
use lookalike::core::shingle::{Shingling, WIDEST, Width};
use lookalike::corpus::document::Format;
use lookalike::corpus::options::ReadOptions;
use lookalike_server::failure::{Exit, Failure};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt};

use crate::failure::{raised, usage};

/// Keyword arguments that were given, by name. `None` is as good as nothing.
pub(crate) struct Given<'a, 'py> {
    py: Python<'py>,
    options: Option<&'a Bound<'py, PyDict>>,
}

impl<'a, 'py> Given<'a, 'py> {
    /// What was given, of which all must be known.
    pub(crate) fn new(
        py: Python<'py>,
        options: Option<&'a Bound<'py, PyDict>>,
        known: &[&[&str]],
    ) -> PyResult<Given<'a, 'py>> {
        for name in options.into_iter().flat_map(PyDictMethods::keys) {
            let name: String = name.extract()?;
            if !known.iter().any(|some| some.contains(&&*name)) {
                let message = format!("there is no option `{name}`");
                return Err(crate::failure::kind(py, &message));
            }
        }
        Ok(Given { py, options })
    }

    fn get(&self, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(options) = self.options else {
            return Ok(None);
        };
        Ok(options.get_item(name)?.filter(|value| !value.is_none()))
    }

    /// The value of an option, if it was given.
    pub(crate) fn value<T>(&self, name: &str, what: &str) -> PyResult<Option<T>>
    where
        T: for<'b> FromPyObject<'b, 'py>,
    {
        let Some(value) = self.get(name)? else {
            return Ok(None);
        };
        if let Ok(value) = value.extract() {
            return Ok(Some(value));
        }
        // Only a number is shown: anything else may be long, or a secret.
        let given = match value.cast::<PyInt>() {
            Ok(number) => number.to_string(),
            Err(_) => value.get_type().name()?.to_string(),
        };
        let message = format!("`{name}` must be {what}, and is {given}");
        Err(crate::failure::kind(self.py, &message))
    }

    fn text(&self, name: &str) -> PyResult<Option<String>> {
        self.value(name, "a string")
    }

    fn flag(&self, name: &str) -> PyResult<bool> {
        Ok(self.value(name, "True or False")?.unwrap_or(false))
    }

    fn parsed<T>(&self, name: &str) -> PyResult<Option<T>>
    where
        T: std::str::FromStr<Err: ToString>,
    {
        let parse = |text: String| {
            text.parse()
                .map_err(|error: T::Err| usage(self.py, error.to_string()))
        };
        self.text(name)?.map(parse).transpose()
    }
}

/// The options of a recipe.
pub(crate) const RECIPE: &[&str] = &[
    "token",
    "shingle",
    "labelled",
    "keep_case",
    "sketch",
    "samples",
    "seed",
    "key",
];

impl Given<'_, '_> {
    /// Whether nothing was given that another recipe would follow from.
    pub(crate) fn has_default_recipe(&self) -> PyResult<bool> {
        for name in RECIPE.iter().filter(|name| **name != "key") {
            if self.get(name)?.is_some() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The secret, if one was given.
    pub(crate) fn key(&self) -> PyResult<Option<Key>> {
        let bytes: Option<Vec<u8>> = self.value("key", "bytes")?;
        let key = bytes.map(|bytes| Key::from_bytes(&bytes));
        key.transpose().map_err(|short| usage(self.py, short))
    }

    /// The recipe; `otherwise` is the sketch where none was named.
    pub(crate) fn recipe(&self, otherwise: SketchKind) -> PyResult<Recipe> {
        let py = self.py;
        let default = Recipe::default();
        let tokens: TokenKind = self.parsed("token")?.unwrap_or_default();
        let own = match tokens {
            TokenKind::Feature => Width::MIN,
            _ => default.width,
        };
        let width = match self.value::<i128>("shingle", "a whole number")? {
            None => own,
            Some(width) => usize::try_from(width)
                .ok()
                .filter(|width| *width <= WIDEST)
                .and_then(Width::new)
                .ok_or_else(|| usage(py, format!("a shingle has 1 to {WIDEST} tokens")))?,
        };
        let samples = match self.value::<i128>("samples", "a whole number")? {
            None => None,
            Some(samples) => {
                let samples = usize::try_from(samples).ok();
                let samples = samples.filter(|n| (1..=MOST_SAMPLES).contains(n));
                let wrong = || usage(py, format!("a sketch keeps 1 to {MOST_SAMPLES} samples"));
                Some(SketchKind::Nested {
                    samples: samples.ok_or_else(wrong)?,
                })
            }
        };
        let named: Option<SketchKind> = self.parsed("sketch")?;
        if samples.is_some() && named.is_some() {
            return Err(usage(
                py,
                "`samples` is short for sketch=\"nested:N\": give one of the two",
            ));
        }
        let seed = match self.value::<i128>("seed", "a whole number")? {
            None => None,
            Some(seed) => {
                let wrong = || {
                    usage(
                        py,
                        format!("a seed is a whole number from 0 to {}", u64::MAX),
                    )
                };
                Some(u64::try_from(seed).map_err(|_| wrong())?)
            }
        };
        let seed = match (seed, self.key()?) {
            (Some(_), Some(_)) => {
                return Err(usage(
                    py,
                    "a key stands in place of the seed: give one of the two",
                ));
            }
            (seed, None) => Seed::Public(seed.unwrap_or(DEFAULT_SEED)),
            (None, Some(key)) => Seed::Secret(key),
        };
        Ok(Recipe {
            tokens,
            case: if self.flag("keep_case")? {
                Case::Keep
            } else {
                Case::Fold
            },
            width,
            shingling: if self.flag("labelled")? {
                Shingling::Labelled
            } else {
                Shingling::Set
            },
            seed,
            sketch: named.or(samples).unwrap_or(otherwise),
        })
    }

    /// What a text is taken for.
    pub(crate) fn format(&self) -> PyResult<Format> {
        Ok(self.parsed("format")?.unwrap_or_default())
    }
}

/// The options of reading.
pub(crate) const READING: &[&str] = &["text", "id", "url", "date", "format", "max_document"];

impl Given<'_, '_> {
    /// How rows are read.
    pub(crate) fn reading(&self, tokens: TokenKind) -> PyResult<ReadOptions> {
        let mut options = ReadOptions {
            tokens,
            format: self.format()?,
            ..ReadOptions::default()
        };
        let fields = [
            ("text", &mut options.text_field),
            ("id", &mut options.id_field),
            ("url", &mut options.url_field),
            ("date", &mut options.date_field),
        ];
        for (name, field) in fields {
            if let Some(given) = self.text(name)? {
                *field = given;
            }
        }
        if let Some(most) = self.value::<usize>("max_document", "a number of bytes")? {
            options.limits.document = most;
            options.limits.line = options.limits.line.max(most);
            options.limits.record = options.limits.record.max(most);
        }
        Ok(options)
    }
}

/// The options of a policy.
pub(crate) const POLICY: &[&str] = &["resemblance", "containment", "link", "verify"];

impl Given<'_, '_> {
    /// A threshold: above 0, at most 1.
    pub(crate) fn threshold(&self, name: &str) -> PyResult<Option<f64>> {
        match self.value::<f64>(name, "a number")? {
            Some(share) if !(share > 0.0 && share <= 1.0) => Err(usage(
                self.py,
                "a threshold is above 0 and at most 1, as in 0.5",
            )),
            share => Ok(share),
        }
    }

    /// Which pairs are linked, and how links become clusters.
    pub(crate) fn policy(&self) -> PyResult<Policy> {
        let (resemblance, containment) = (
            self.threshold("resemblance")?,
            self.threshold("containment")?,
        );
        let neither = resemblance.is_none() && containment.is_none();
        let default = Policy::default();
        Ok(Policy {
            resemblance: if neither { Some(0.5) } else { resemblance },
            containment,
            link: self.parsed("link")?.unwrap_or(default.link),
            verify: self.parsed("verify")?.unwrap_or(default.verify),
        })
    }
}

/// The options of the machine.
pub(crate) const MACHINE: &[&str] = &["threads", "memory", "scratch"];

impl Given<'_, '_> {
    /// Threads and memory; `most` is how much of it is used unasked.
    pub(crate) fn machine(&self, options: &mut AddOptions, most: u64) -> PyResult<()> {
        let processors = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        let threads: Option<usize> = self.value("threads", "a whole number from 1")?;
        options.threads = match threads.map(NonZeroUsize::new) {
            None => processors,
            Some(None) => return Err(usage(self.py, "there must be a thread to do the work")),
            Some(Some(threads)) => {
                let most = NonZeroUsize::new(256)
                    .unwrap_or(NonZeroUsize::MIN)
                    .max(processors);
                threads.min(most)
            }
        };
        let memory: Option<u64> = self.value("memory", "a number of bytes")?;
        options.memory = memory.unwrap_or_else(|| quarter_of_the_machine().min(most));
        if options.memory < LEAST_MEMORY {
            let failure = Failure {
                exit: Exit::Machine,
                message: format!("memory={} is too little", options.memory),
                hint: format!("give at least {} MiB", LEAST_MEMORY >> 20),
            };
            return Err(raised(self.py, &failure));
        }
        options.scratch = self.value::<PathBuf>("scratch", "a path")?;
        Ok(())
    }
}
