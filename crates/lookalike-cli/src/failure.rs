//! What goes wrong, as the user sees it, and what ends a command.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
pub(crate) use lookalike_server::failure::{Exit, Failure};

/// Why a command ends before its time.
pub(crate) enum Stop {
    /// Nobody reads any more, as after `| head`: no error.
    PipeClosed,
    /// Something went wrong.
    Failure(Failure),
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Stop {
        Stop::Failure(failure)
    }
}

impl From<io::Error> for Stop {
    /// Of writing to standard output; files have [`Failure::writing`].
    fn from(error: io::Error) -> Stop {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Stop::PipeClosed;
        }
        Stop::Failure(Failure {
            exit: Exit::Machine,
            message: format!("cannot write the answer: {error}"),
            hint: "make room or write elsewhere, then run the command again".to_owned(),
        })
    }
}

/// clap's errors have several paragraphs: the first is the message, and a tip
/// among the others is the hint.
pub(crate) fn from_clap(error: &clap::Error) -> Failure {
    let text = error.render().to_string();
    let mut paragraphs = text.split("\n\n");
    let first = paragraphs.next().unwrap_or_default();
    let message = first.strip_prefix("error: ").unwrap_or(first);
    let words: Vec<&str> = message.split_whitespace().collect();
    let tip = paragraphs.find_map(|text| text.trim().strip_prefix("tip: "));
    let usage = text
        .lines()
        .find_map(|line| line.strip_prefix("Usage: "))
        .map(|usage| format!("usage: {usage}"));
    let hint = tip.map(str::to_owned).or(usage).unwrap_or_else(|| {
        // The command is what came first that is no option.
        let words = std::env::args().skip(1).find(|word| !word.starts_with('-'));
        let command = words.filter(|word| crate::args::Args::has_command(word));
        let command = command.map_or(String::new(), |name| format!(" {name}"));
        format!("see `lookalike{command} --help`")
    });
    Failure::usage(words.join(" "), hint)
}

/// Tells the user.
pub(crate) fn show(failure: &Failure) {
    let red = AnsiColor::Red.on_default().bold();
    let bold = Style::new().bold();
    // Where standard error itself is gone there is nobody left to tell.
    let _ = writeln!(
        anstream::stderr(),
        "{red}error:{red:#} {}\n{bold}hint:{bold:#} {}",
        failure.message,
        failure.hint
    );
}
