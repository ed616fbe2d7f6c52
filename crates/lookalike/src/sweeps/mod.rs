//! Sweeps through time: what each saw of every page.
//!
//! ```text
//! captures of all adds ─► sweeps, told by date ─► Timeline: (page, document) for each sweep
//!                                                    └─► hosts: what was visited
//! ```
//!
//! A page is what a document goes by: its URL, or its id, or file and place. A sweep is a
//! set of captures that belong together in time, whichever `add` brought them: ten
//! sweeps added one by one and all of them added at once are the same ten.

pub mod timeline;

pub mod hosts;

mod address;

pub mod trail;

pub mod moves;

pub mod whereabouts;

#[cfg(test)]
mod story;

pub use hosts::Hosts;
pub use moves::{MOVED, Move};
pub use timeline::{Moment, Seen, Timeline};
pub use trail::{Evidence, How, Trace, Trail};
pub use whereabouts::{Place, Status, Whereabouts};
