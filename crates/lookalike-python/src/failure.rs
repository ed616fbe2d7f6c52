//! What goes wrong, as Python exceptions with the words of the command line.

use std::fmt::Display;

use lookalike::corpus::unusable::{Unusable, UnusableFile};
use lookalike_server::failure::{Exit, Failure};
use pyo3::prelude::*;

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
    error(
        py,
        Kind::Exit(failure.exit),
        &failure.message,
        &failure.hint,
    )
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

/// A text that gives no document.
pub(crate) fn unusable(py: Python<'_>, name: &str, why: Unusable) -> PyErr {
    let path = name.into();
    raised(py, &Failure::from(UnusableFile { path, why }))
}
