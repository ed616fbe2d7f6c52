//! Figures as people and programs read them.

pub(crate) mod file;

pub(crate) mod page;

pub(crate) mod plot;

pub(crate) mod progress;

pub(crate) mod redirects;

pub(crate) mod text;

pub(crate) mod times;
