//! The shapes of JSON that several commands share.

use lookalike::core::estimate::Estimate;
use serde_json::{Map, Value, json};

/// `{"value":…,"low":…,"high":…,"samples":…}`
pub(crate) fn estimate(estimate: Estimate) -> Value {
    let Estimate {
        value,
        low,
        high,
        samples,
    } = estimate;
    json!({ "value": value, "low": low, "high": high, "samples": samples })
}

/// `{"exact":…,"estimate":…}`, without what there is no evidence for.
pub(crate) fn measure(exact: Option<f64>, estimated: Option<Estimate>) -> Value {
    let mut out = Map::new();
    if let Some(exact) = exact {
        out.insert("exact".to_owned(), json!(exact));
    }
    if let Some(estimated) = estimated {
        out.insert("estimate".to_owned(), estimate(estimated));
    }
    Value::Object(out)
}

/// A fingerprint as 16 hexadecimal digits: most readers of JSON lose digits of a
/// number past 2^53.
pub(crate) fn fingerprint(fingerprint: u64) -> String {
    format!("{fingerprint:016x}")
}
