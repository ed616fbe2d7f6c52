//! What web archives call a collection: captures of addresses, by key and date.
//!
//! ```text
//! URL ─► surt: key ─┐
//! captures ─────────┴─► index: by key and date ─► cdx: rows, asked for in the CDX language
//! ```
//!
//! The service speaks Memento and CDX from these; `export cdxj` writes them all.

pub mod surt;

mod idna;
