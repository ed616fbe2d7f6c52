//! Where documents come from: paths and bytes in, text out.
//!
//! ```text
//! paths ─► folder: files ─► bytes ─► decode ─► html ─► document ─► core: tokens
//!             └─ unusable: what was left out, and why
//! ```
//!
//! [`source_map`] leads back from a place in the text to the bytes it came from.

pub mod unusable;

pub mod folder;

pub mod decode;

pub mod html;

pub mod source_map;

pub mod document;
