//! Sweeps through time: what each saw of every page, and what became of it.
//!
//! ```text
//! captures of all adds ─► sweeps, told by date ─► Timeline: (page, document) for each sweep
//!                                                    ├─► hosts: what was visited
//!                                                    ├─► moves: where vanished pages are
//!                                                    ├─► changes, survival: Changes
//!                                                    └─► history: one page
//! ```
//!
//! A page is what a document goes by: its URL, or its id, or file and place. A sweep is a
//! set of captures that belong together in time, whichever `add` brought them: ten
//! sweeps added one by one and all of them added at once are the same ten.
//!
//! You probably want [`Followed::of`] and then [`Changes::of`], or [`history::History`].

pub mod timeline;

pub mod hosts;

mod address;

pub mod trail;

pub mod moves;

pub mod whereabouts;

pub mod follow;

pub mod survival;

pub mod flows;

pub mod changes;

pub mod history;

#[cfg(test)]
mod story;

#[cfg(test)]
mod whereabouts_tests;

pub use changes::Changes;
pub use follow::Followed;
pub use hosts::Hosts;
pub use moves::{MOVED, Move};
pub use timeline::{Moment, Seen, Timeline};
pub use trail::{Evidence, How, Trace, Trail};
pub use whereabouts::{Place, Prefer, Status, Whereabouts};
