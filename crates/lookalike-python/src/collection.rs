//! A collection in a folder: made, extended, clustered and asked.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use lookalike::add::{AddError, AddOptions, Event, add};
use lookalike::clusters::{ClusterOptions, recluster};
use lookalike::collection::state::{Counts, StoredClustering};
use lookalike::collection::{Collection as Opened, CollectionError};
use lookalike::core::recipe::{Recipe, SketchKind};
use lookalike::core::seed::Key;
use lookalike::corpus::date::when;
use lookalike::corpus::document::Reading;
use lookalike::corpus::held::Held;
use lookalike::corpus::inputs::Inputs;
use lookalike::corpus::record::When;
use lookalike::corpus::unusable::{Unusable, shown};
use lookalike::find::{FindOptions, Finder, Reread};
use lookalike::storage::StorageError;
use lookalike::sweeps::Trail;
use lookalike::tables::of_collection::{TableError, Tables};
use lookalike::tables::{Documents, Pairs, Quality, Tabled, Writer};
use lookalike_server::failure::{Exit, Failure};
use lookalike_server::wire;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use serde_json::{Value, json};

use crate::arrow::{Table, batches, gathered, speaks_arrow};
use crate::failure::{raised, unusable, usage, utf8};
use crate::options::{Given, MACHINE, POLICY, READING, RECIPE};
use crate::sketch::Text;
use crate::tables::{TABLE, add_failure, column_fault};
use crate::value::to_python;
use crate::work::{Watcher, run};

/// A collection in a folder. What is read is always its newest whole generation.
#[pyclass(frozen, module = "lookalike")]
pub(crate) struct Collection {
    folder: PathBuf,
    key: Option<Key>,
    /// The recipe of one that is not there yet.
    recipe: Option<Recipe>,
    finder: Mutex<Option<Arc<Finder>>>,
}

fn open(folder: &Path) -> Result<Opened, Failure> {
    Opened::open(folder).map_err(|error| Failure::from_collection(folder, &error))
}

/// The recipe of the collection in a folder.
pub(crate) fn recipe_of(py: Python<'_>, folder: &Path, key: Option<&Key>) -> PyResult<Recipe> {
    let collection = open(folder).map_err(|failure| raised(py, &failure))?;
    let recipe = collection.recipe(key);
    recipe.map_err(|fault| raised(py, &Failure::from_recipe(folder, &fault)))
}

impl Collection {
    fn damaged(&self, error: StorageError) -> Failure {
        Failure::from_collection(&self.folder, &error.into())
    }

    /// The newest generation, opened to be searched.
    fn finder(&self) -> Result<Arc<Finder>, Failure> {
        let mut held = self.finder.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(finder) = &*held
            && finder.collection().is_newest().unwrap_or(false)
        {
            return Ok(Arc::clone(finder));
        }
        let finder = Finder::open(&self.folder, self.key.as_ref());
        let finder = finder.map_err(|error| Failure::from_find(&self.folder, error))?;
        Ok(Arc::clone(held.insert(Arc::new(finder))))
    }

    fn recipe(&self) -> Result<Recipe, Failure> {
        match (&self.recipe, Opened::open(&self.folder)) {
            (_, Ok(collection)) => collection
                .recipe(self.key.as_ref())
                .map_err(|fault| Failure::from_recipe(&self.folder, &fault)),
            (Some(recipe), Err(_)) => Ok(recipe.clone()),
            (None, Err(error)) => Err(Failure::from_collection(&self.folder, &error)),
        }
    }

    /// Adds a sweep; nothing of it if a record is rejected and that is to be raised.
    fn sweep<'py>(
        &self,
        py: Python<'py>,
        inputs: &Inputs,
        rows: Option<u64>,
        mut options: AddOptions,
        told: &Told<'_, 'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let Told { progress, raises } = *told;
        let mut rejected = None;
        let added = run(py, progress, |stop, board| {
            options.stop = stop.clone();
            let mut watcher = Watcher::new(board, rows);
            add(&self.folder, inputs, &options, &mut |event| {
                watcher.event(&event);
                match event {
                    Event::Ready(counts) if raises && !counts.rejected.is_empty() => {
                        rejected = Some(counts.clone());
                        stop.stop();
                    }
                    _ => {}
                }
            })
        })?;
        if let Some(counts) = rejected {
            return Err(raised(py, &rejection(&counts)));
        }
        match added {
            Ok(report) => to_python(py, &wire::added(&report.counts, report.added)),
            Err(AddError::Nothing(counts)) if rows.is_none() => {
                let names = inputs
                    .sources
                    .iter()
                    .map(|source| format!("`{}`", source.name));
                let refused = inputs.refused.iter().map(|(name, _)| format!("`{name}`"));
                let names: Vec<String> = names.chain(refused).collect();
                Err(raised(py, &Failure::nothing(&names.join(", "), &counts)))
            }
            Err(error) => Err(raised(py, &add_failure(&self.folder, error))),
        }
    }

    fn add_options(&self, given: &Given<'_, '_>, py: Python<'_>) -> PyResult<AddOptions> {
        let recipe = self.recipe().map_err(|failure| raised(py, &failure))?;
        let date: Option<String> = given.value("sweep_date", "a date as text")?;
        let date = match date.as_deref().map(when) {
            None => None,
            Some(When::At(moment)) => Some(moment),
            Some(_) => {
                let message = "a date is written 2026-11-16 or 2026-11-16T09:30:00Z";
                return Err(usage(py, message));
            }
        };
        let mut options = AddOptions {
            reading: given.reading(recipe.tokens)?,
            keep_text: given.value("keep_text", "True or False")?.unwrap_or(false),
            date,
            recipe,
            ..AddOptions::default()
        };
        given.machine(&mut options, u64::MAX)?;
        Ok(options)
    }

    /// The clustering of a policy, or the first.
    fn stored<'c>(
        collection: &'c Opened,
        policy: Option<&str>,
    ) -> Result<&'c StoredClustering, Failure> {
        let all = &collection.state().clusterings;
        let found = match policy {
            None => all.first(),
            Some(policy) => all.iter().find(|one| one.policy.to_string() == policy),
        };
        found.ok_or_else(|| Failure {
            exit: Exit::NotFound,
            message: "the collection has no such clustering".to_owned(),
            hint: "cluster() makes one".to_owned(),
        })
    }

    fn table<T: Tabled + 'static>(
        &self,
        py: Python<'_>,
        policy: Option<&str>,
        fill: impl FnOnce(&Tables<'_>, &mut Writer<T>) -> Result<(), TableError> + Send,
    ) -> PyResult<Table> {
        let made = py.detach(|| {
            let collection = open(&self.folder)?;
            let tables = Tables {
                stored: Self::stored(&collection, policy)?,
                collection: &collection,
            };
            let mut writer = Writer::<T>::held();
            let filled = fill(&tables, &mut writer);
            let filled = filled.and_then(|()| writer.batches().map_err(TableError::from));
            filled.map_err(|error| match error {
                TableError::Reading(error) => self.damaged(error),
                TableError::Writing(error) => Failure {
                    exit: Exit::Machine,
                    message: error.to_string(),
                    hint: String::new(),
                },
            })
        });
        let (schema, batches) = made.map_err(|failure| raised(py, &failure))?;
        Ok(Table::new(schema, batches))
    }
}

/// Who is told of a sweep while it is added.
struct Told<'a, 'py> {
    progress: Option<&'a Bound<'py, PyAny>>,
    /// Whether a rejected record ends it.
    raises: bool,
}

/// Records were rejected, and that was not to be passed over.
fn rejection(counts: &Counts) -> Failure {
    let number: u64 = counts.rejected.values().sum();
    let reasons = counts.rejected.iter();
    let reasons: Vec<String> = reasons
        .map(|(reason, count)| format!("{count} {reason}"))
        .collect();
    Failure {
        exit: Exit::Rejected,
        message: format!(
            "{number} of {} rows were rejected: {}",
            counts.read,
            reasons.join(", ")
        ),
        hint: "nothing was added; on_reject=\"warn\" goes on without them".to_owned(),
    }
}

const SWEEP: &[&str] = &["sweep_date", "keep_text"];

#[pymethods]
impl Collection {
    /// A new one: its folder is made by the first `add`.
    #[staticmethod]
    #[pyo3(signature = (path, **options))]
    fn create(
        py: Python<'_>,
        path: PathBuf,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Collection> {
        let given = Given::new(py, options, &[RECIPE])?;
        if Opened::open(&path).is_ok() {
            let message = format!("there is a collection `{}` already", shown(&path));
            return Err(usage(py, message));
        }
        Ok(Collection {
            folder: path,
            key: given.key()?,
            recipe: Some(given.recipe(SketchKind::default())?),
            finder: Mutex::default(),
        })
    }

    /// One that is there.
    #[staticmethod]
    #[pyo3(signature = (path, **options))]
    fn open(
        py: Python<'_>,
        path: PathBuf,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Collection> {
        let given = Given::new(py, options, &[&["key"]])?;
        let key = given.key()?;
        recipe_of(py, &path, key.as_ref())?;
        Ok(Collection {
            folder: path,
            key,
            recipe: None,
            finder: Mutex::default(),
        })
    }

    #[getter]
    fn path(&self) -> PathBuf {
        self.folder.clone()
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        match Opened::open(&self.folder) {
            Ok(collection) => Ok(collection.documents() as usize),
            Err(CollectionError::NotACollection) if self.recipe.is_some() => Ok(0),
            Err(error) => {
                let failure = Failure::from_collection(&self.folder, &error);
                Err(raised(py, &failure))
            }
        }
    }

    #[pyo3(signature = (rows, progress, raises, **options))]
    fn add<'py>(
        &self,
        py: Python<'py>,
        rows: &Bound<'py, PyAny>,
        progress: Option<&Bound<'py, PyAny>>,
        raises: bool,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let given = Given::new(py, options, &[READING, MACHINE, SWEEP])?;
        let options = self.add_options(&given, py)?;
        let (schema, batches) = if speaks_arrow(rows)? {
            batches(rows)?
        } else {
            gathered(rows, &options.reading)?
        };
        let held = Held::new(&batches, &schema, &options.reading);
        let held = held.map_err(|fault| column_fault(py, &fault))?;
        drop(batches);
        let inputs = Inputs::of(held.source(TABLE));
        self.sweep(
            py,
            &inputs,
            Some(held.rows()),
            options,
            &Told { progress, raises },
        )
    }

    #[pyo3(signature = (paths, progress, raises, **options))]
    #[expect(clippy::needless_pass_by_value, reason = "Python hands over a list")]
    fn add_files<'py>(
        &self,
        py: Python<'py>,
        paths: Vec<PathBuf>,
        progress: Option<&Bound<'py, PyAny>>,
        raises: bool,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let given = Given::new(py, options, &[READING, MACHINE, SWEEP])?;
        let options = self.add_options(&given, py)?;
        if paths.iter().any(|path| path.as_os_str() == "-") {
            return Err(usage(py, "standard input is Python's own: give files"));
        }
        let inputs = py.detach(|| Inputs::expand(&paths, &options.reading));
        self.sweep(py, &inputs, None, options, &Told { progress, raises })
    }

    #[pyo3(signature = (**options))]
    fn cluster<'py>(
        &self,
        py: Python<'py>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let given = Given::new(py, options, &[POLICY, MACHINE])?;
        let policy = given.policy()?;
        let mut machine = AddOptions::default();
        given.machine(&mut machine, u64::MAX)?;
        let made = py.detach(|| {
            open(&self.folder)?;
            let recipe = self.recipe()?;
            let options = ClusterOptions {
                threads: machine.threads,
                memory: machine.memory,
            };
            recluster(&self.folder, &recipe, &policy, &options)
                .map_err(|error| Failure::from_add(&self.folder, error))
        });
        let made = made.map_err(|failure| raised(py, &failure))?;
        to_python(py, &wire::clustering(&made.policy, &made.summary))
    }

    #[pyo3(signature = (text, top, exact, **options))]
    fn find<'py>(
        &self,
        py: Python<'py>,
        text: &Bound<'py, PyAny>,
        top: &Bound<'py, PyAny>,
        exact: bool,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let known: &[&str] = &["min_resemblance", "min_containment", "format"];
        let given = Given::new(py, options, &[known])?;
        let format = given.format()?;
        let options = Self::find_options(&given, top)?;
        let finder = py
            .detach(|| self.finder())
            .map_err(|failure| raised(py, &failure))?;
        let text = Text::new("text", text, finder.recipe())?;
        let reread = if exact {
            Reread::Always
        } else {
            Reread::Doubtful
        };
        let reading = Reading {
            name: None,
            format,
            tokens: finder.recipe().tokens,
        };
        let query = py.detach(|| {
            let document = text.document(reading)?;
            let mut sketcher = finder.sketcher();
            let query = finder.query(&document, text.bytes(), &mut sketcher, reread);
            match query.samples() {
                0 => Err(Unusable::NoTokens),
                _ => Ok(query),
            }
        });
        let query = query.map_err(|why| unusable(py, "text", why))?;
        let found = py.detach(|| self.matches(&finder, &query, &options));
        let found = found.map_err(|failure| raised(py, &failure))?;
        to_python(py, &found)
    }

    #[pyo3(signature = (url, top, exact, **options))]
    fn find_url<'py>(
        &self,
        py: Python<'py>,
        url: &Bound<'py, PyString>,
        top: &Bound<'py, PyAny>,
        exact: bool,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let url = utf8("url", url)?;
        let known: &[&str] = &["min_resemblance", "min_containment"];
        let given = Given::new(py, options, &[known])?;
        let options = Self::find_options(&given, top)?;
        let reread = if exact {
            Reread::Always
        } else {
            Reread::Doubtful
        };
        let found = py.detach(|| {
            let finder = self.finder()?;
            let asked = finder.collection().newest_named(url);
            let asked = asked.map_err(|error| self.damaged(error))?;
            let asked = asked.ok_or_else(|| Failure {
                exit: Exit::NotFound,
                message: format!(
                    "there is no document `{}`",
                    lookalike_server::words::excerpt(url, 200)
                ),
                hint: "give a URL or an id just as it stands in the input".to_owned(),
            })?;
            let query = finder
                .query_of(asked, reread)
                .map_err(|error| self.damaged(error))?;
            self.matches(&finder, &query, &options)
        });
        let found = found.map_err(|failure| raised(py, &failure))?;
        to_python(py, &found)
    }

    /// Where a page is now.
    #[pyo3(name = "where")]
    fn where_is<'py>(
        &self,
        py: Python<'py>,
        url: &Bound<'py, PyString>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let url = utf8("url", url)?;
        let place = py.detach(|| {
            let finder = self.finder()?;
            let place = Trail::of(finder.collection())
                .and_then(|trail| trail.whereabouts(&finder, url))
                .map_err(|error| self.damaged(error))?;
            Ok::<Value, Failure>(wire::whereabouts(url, &place))
        });
        let place = place.map_err(|failure| raised(py, &failure))?;
        to_python(py, &place)
    }

    #[pyo3(signature = (policy = None))]
    fn documents(&self, py: Python<'_>, policy: Option<&Bound<'_, PyString>>) -> PyResult<Table> {
        let policy = policy.map(|policy| utf8("policy", policy)).transpose()?;
        self.table::<Documents>(py, policy, |tables, to| tables.documents(to, 1))
    }

    fn pairs(&self, py: Python<'_>) -> PyResult<Table> {
        self.table::<Pairs>(py, None, |tables, to| tables.pairs(to))
    }

    #[pyo3(signature = (policy = None))]
    fn clusters(&self, py: Python<'_>, policy: Option<&Bound<'_, PyString>>) -> PyResult<Table> {
        let policy = policy.map(|policy| utf8("policy", policy)).transpose()?;
        self.table::<Quality>(py, policy, |tables, to| tables.quality(to))
    }

    fn __repr__(&self) -> String {
        format!("<lookalike.Collection {}>", shown(&self.folder))
    }
}

impl Collection {
    fn find_options(given: &Given<'_, '_>, top: &Bound<'_, PyAny>) -> PyResult<FindOptions> {
        let wrong = || usage(top.py(), "`top` is a whole number from 1");
        let top: usize = top.extract().map_err(|_| wrong())?;
        if top == 0 {
            return Err(wrong());
        }
        let least = (
            given.threshold("min_resemblance")?,
            given.threshold("min_containment")?,
        );
        Ok(FindOptions::new(top, least.0, least.1))
    }

    fn matches(
        &self,
        finder: &Finder,
        query: &lookalike::find::Query,
        options: &FindOptions,
    ) -> Result<Value, Failure> {
        let found = finder.find(query, options).and_then(|matches| {
            let rows = matches.iter().map(|one| wire::Found::of(finder, one));
            rows.collect::<Result<Vec<_>, _>>()
        });
        found
            .map(|rows| json!(rows))
            .map_err(|error| self.damaged(error))
    }
}
