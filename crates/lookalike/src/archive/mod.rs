//! What web archives call a collection: captures of addresses, by key and date.
//!
//! ```text
//! URL ─► surt: key ─┐
//! captures ─────────┴─► index: by key and date ─► cdx: what is asked for ─► row: lines
//!                                                  └─► filter
//! ```
//!
//! The service speaks Memento and CDX from these; `export cdxj` writes them all.

pub mod surt;

pub mod row;

pub mod index;

pub mod captures;

mod filter;

pub mod cdx;

mod idna;
