//! The Python package `lookalike`, as an extension module: what the engine does, for
//! objects that Python has at hand.
//!
//! ```text
//! text ─► sketch, compare ────────────────────────┐
//! table ─► arrow: held, not copied ─► work ────────┼─► values, Arrow tables
//! folder ─► collection: add, cluster, find, where ─┘   └─ failure: exceptions
//! ```
//!
//! Every long call runs without the interpreter's lock, on a thread of its own; the thread
//! that called waits, passes on what is told of the progress, and ends the work when Python
//! has a signal. Python's own part, in `python/lookalike`, has the names and the
//! documentation that users see.

mod arrow;

mod collection;

mod compare;

mod failure;

mod options;

mod phases;

mod sketch;

mod tables;

mod value;

mod work;

use pyo3::prelude::*;

#[pymodule]
fn _lookalike(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<sketch::Sketch>()?;
    module.add_function(wrap_pyfunction!(sketch::sketch, module)?)?;
    module.add_function(wrap_pyfunction!(compare::compare, module)?)?;
    module.add_class::<arrow::Table>()?;
    module.add_class::<tables::Decided>()?;
    module.add_class::<collection::Collection>()?;
    module.add_function(wrap_pyfunction!(tables::cluster, module)?)?;
    module.add_function(wrap_pyfunction!(tables::dedup, module)?)?;
    phases::add_to(module)
}
