//! Work in progress.

pub mod fingerprint;
