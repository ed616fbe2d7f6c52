//! Where documents come from: paths and bytes in, text out.
//!
//! ```text
//! paths ─► folder: files ─► bytes ─► decode ─► html ─► document ─► core: tokens
//!             └─ unusable: what was left out, and why
//! arguments ─► inputs: sources ─► read: batches ─► record ─┘
//!                                 (lines, comma, warc, wacz, parquet, each by unpack; held)
//! ```
//!
//! [`source_map`] leads back from a place in the text to the bytes it came from.

pub mod unusable;

pub mod folder;

pub mod decode;

pub mod html;

pub mod source_map;

pub mod document;

pub mod record;

pub mod options;

pub mod date;

mod unpack;

mod json;

mod lines;

mod comma;

pub(crate) mod warc;

pub(crate) mod wacz;

pub mod parquet;

pub mod held;

pub mod batch;

pub mod inputs;

pub mod read;

#[cfg(test)]
pub(crate) mod tests;
