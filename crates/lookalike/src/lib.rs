//! Work in progress.

pub use lookalike_core as core;

pub mod corpus;
