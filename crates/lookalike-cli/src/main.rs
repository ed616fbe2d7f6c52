//! The `lookalike` command: arguments in, tables and JSON out.
//!
//! ```text
//! args (as typed) ─► commands (one file each) ─► output (tables, JSON, HTML, SVG)
//!                        └─► failure: what went wrong, the way out, the exit status
//! ```
//!
//! Data goes to standard output, everything else to standard error. What the figures
//! mean is the business of the crates below; here they are only shown.

mod args;

mod failure;

mod input;

mod collection;

mod memory;

mod commands;

mod output;

use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;
use failure::{Exit, Stop};

fn main() -> ExitCode {
    let outcome = match args::Args::try_parse() {
        Ok(args) => commands::run(args),
        Err(error) if !error.use_stderr() => {
            // --help and --version: an answer, not an error.
            return match error.print() {
                Ok(()) => Exit::Done.into(),
                Err(error) => end(Err(error.into())),
            };
        }
        Err(error) if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            // Nothing was asked: all that can be asked is the answer, on standard error.
            // Where that is gone there is nobody left to tell.
            let _ = error.print();
            return Exit::Usage.into();
        }
        Err(error) => Err(failure::from_clap(&error).into()),
    };
    end(outcome)
}

/// The exit status of what a command came to; says what went wrong.
fn end(outcome: Result<Exit, Stop>) -> ExitCode {
    match outcome {
        Ok(exit) => exit.into(),
        Err(Stop::PipeClosed) => Exit::Done.into(),
        Err(Stop::Failure(failure)) => {
            failure::show(&failure);
            failure.exit.into()
        }
    }
}
