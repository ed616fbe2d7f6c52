//! `lookalike completions SHELL` and `lookalike man`: what shells and `man` read.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use clap::{Args, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;

use crate::failure::{Exit, Failure, Stop};
use crate::output::text;

/// Print a script that makes a shell complete commands and options
#[derive(Args)]
#[command(after_help = "\
Examples:
  lookalike completions bash > ~/.local/share/bash-completion/completions/lookalike
  lookalike completions fish > ~/.config/fish/completions/lookalike.fish")]
pub(crate) struct CompletionsArgs {
    /// Which shell
    shell: Shell,
}

/// Print the manual page, or write one for each command
#[derive(Args)]
#[command(after_help = "\
Examples:
  lookalike man | man -l -
  lookalike man --output ~/.local/share/man/man1")]
pub(crate) struct ManArgs {
    /// Write a page for the program and for each command into this folder
    #[arg(long, short, value_name = "FOLDER")]
    output: Option<PathBuf>,
}

impl CompletionsArgs {
    pub(crate) fn run(&self) -> Result<Exit, Stop> {
        // Written whole, for the generator knows no closed pipes.
        let mut script = Vec::new();
        let mut command = crate::args::Args::command();
        clap_complete::generate(self.shell, &mut command, "lookalike", &mut script);
        let mut out = text::stdout();
        out.write_all(&script)?;
        out.flush()?;
        Ok(Exit::Done)
    }
}

impl ManArgs {
    pub(crate) fn run(&self) -> Result<Exit, Stop> {
        let command = crate::args::Args::command();
        let Some(folder) = &self.output else {
            let mut out = text::stdout();
            out.write_all(&page(command)?)?;
            out.flush()?;
            return Ok(Exit::Done);
        };
        fs::create_dir_all(folder).map_err(|error| Failure::writing(folder, &error))?;
        // No page for `help`, which says what `--help` says.
        let command = command.disable_help_subcommand(true);
        let written = clap_mangen::generate_to(command, folder);
        written.map_err(|error| Failure::writing(folder, &error))?;
        Ok(Exit::Done)
    }
}

fn page(command: clap::Command) -> std::io::Result<Vec<u8>> {
    let mut page = Vec::new();
    Man::new(command).render(&mut page)?;
    Ok(page)
}
