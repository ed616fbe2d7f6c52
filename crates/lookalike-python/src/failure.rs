//! What goes wrong, as Python exceptions with the words of the command line.

use std::fmt::Display;

use lookalike::corpus::unusable::{Unusable, UnusableFile};
use lookalike_server::failure::{Exit, Failure};
use pyo3::prelude::*;
use pyo3::types::PyString;

/// An exception that the Python part defines.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    /// By the exit status that the command line has for it.
    Exit(Exit),
    /// There is no such column.
    Column,
    /// A column or an argument holds something else.
    Type,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Column => "ColumnError",
            Kind::Type => "KindError",
            Kind::Exit(exit) => match exit {
                Exit::Done => "Error",
                Exit::NotFound => "NotFoundError",
                Exit::Usage => "UsageError",
                Exit::Rejected => "RejectedError",
                Exit::NothingUsable => "EmptyError",
                Exit::Damaged => "DamagedError",
                Exit::Machine => "MachineError",
                Exit::Locked => "LockedError",
            },
        }
    }
}

/// The exception for a failure.
pub(crate) fn raised(py: Python<'_>, failure: &Failure) -> PyErr {
    let message = in_python(&failure.message);
    error(
        py,
        Kind::Exit(failure.exit),
        &message,
        &in_python(&failure.hint),
    )
}

/// What the command line says of its own options, and what Python has in their place.
const WORDS: &[(&str, &str)] = &[
    ("--format text reads", "format=\"text\" reads"),
    (
        "--token char or byte counts",
        "token=\"char\" or \"byte\" counts",
    ),
    (
        "give the same one with --key-file",
        "give the same one with key=",
    ),
    ("the fields with --text-field", "the fields with text="),
    ("--max-document raises", "max_document= raises"),
    ("allow more with --memory", "allow more with memory="),
    (
        "name a file that holds a document",
        "give a text that holds something",
    ),
    (
        "make one with: lookalike add",
        "make one with Collection.create, or in a shell: lookalike add",
    ),
    (
        "see what it was made with: lookalike stats",
        "see what it was made with, in a shell: lookalike stats",
    ),
];

fn in_python(words: &str) -> String {
    let mut out = words.to_owned();
    for (command, python) in WORDS {
        out = out.replace(command, python);
    }
    out
}

/// An exception with a message and a way out.
pub(crate) fn error(py: Python<'_>, kind: Kind, message: &str, hint: &str) -> PyErr {
    let class = py
        .import("lookalike.errors")
        .and_then(|module| module.getattr(kind.name()));
    match class.and_then(|class| class.call1((message, hint))) {
        Ok(exception) => PyErr::from_value(exception),
        Err(error) => error,
    }
}

/// Arguments that make no sense.
pub(crate) fn usage(py: Python<'_>, message: impl Display) -> PyErr {
    let message = format!("{message}");
    error(py, Kind::Exit(Exit::Usage), &message, "")
}

/// An argument of another type than it should be.
pub(crate) fn kind(py: Python<'_>, message: &str) -> PyErr {
    error(py, Kind::Type, message, "")
}

/// A string as UTF-8, which has no lone surrogates.
pub(crate) fn utf8<'a>(name: &str, text: &'a Bound<'_, PyString>) -> PyResult<&'a str> {
    let py = text.py();
    text.to_str().map_err(|error| {
        let why = error.value(py);
        usage(py, format!("cannot use `{name}`: {why}"))
    })
}

/// A text that gives no document.
pub(crate) fn unusable(py: Python<'_>, name: &str, why: Unusable) -> PyErr {
    let path = name.into();
    raised(py, &Failure::from(UnusableFile { path, why }))
}
