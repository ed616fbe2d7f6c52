//! JSON as the values that Python has for it.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use serde_json::Value;

/// After how many members of a list other threads have a turn: some milliseconds.
const TURN: usize = 4096;

/// The value, as `json.loads` would give it.
pub(crate) fn to_python<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Null => py.None().into_bound(py),
        Value::Bool(is_true) => is_true.into_pyobject(py)?.to_owned().into_any(),
        Value::Number(number) => match (number.as_u64(), number.as_i64()) {
            (Some(number), _) => number.into_pyobject(py)?.into_any(),
            (None, Some(number)) => number.into_pyobject(py)?.into_any(),
            (None, None) => number.as_f64().into_pyobject(py)?.into_any(),
        },
        Value::String(text) => text.into_pyobject(py)?.into_any(),
        Value::Array(values) => {
            let out = PyList::empty(py);
            for (number, one) in values.iter().enumerate() {
                if number % TURN == TURN - 1 {
                    py.check_signals()?;
                    py.detach(std::thread::yield_now);
                }
                out.append(to_python(py, one)?)?;
            }
            out.into_any()
        }
        Value::Object(fields) => {
            let out = PyDict::new(py);
            for (name, value) in fields {
                out.set_item(name, to_python(py, value)?)?;
            }
            out.into_any()
        }
    })
}
