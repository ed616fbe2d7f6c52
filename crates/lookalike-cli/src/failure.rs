//! What goes wrong, as the user sees it: one line, the way out, an exit status.

use std::error::Error;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use anstyle::{AnsiColor, Style};
use lookalike::add::AddError;
use lookalike::collection::state::RecipeFault;
use lookalike::corpus::unusable::{Unusable, UnusableFile, shown};

/// The exit statuses of the program. Scripts rely on them.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[repr(u8)]
pub(crate) enum Exit {
    /// All done.
    Done = 0,
    /// What was asked for is not there.
    NotFound = 1,
    /// The arguments make no sense, or not together.
    Usage = 2,
    /// Done, but something asked for could not be read.
    Rejected = 3,
    /// There was nothing to work on; nothing was written.
    NothingUsable = 4,
    /// A file of ours that is damaged, or of another version.
    Damaged = 5,
    /// The machine refused: disk, memory, input or output.
    Machine = 6,
    /// Another writer holds the collection.
    Locked = 7,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}

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

/// Something went wrong.
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    /// What, on one line, without a full stop.
    pub(crate) message: String,
    /// What to do about it.
    pub(crate) hint: String,
}

impl Failure {
    pub(crate) fn usage(message: impl Into<String>, hint: impl Into<String>) -> Failure {
        Failure {
            exit: Exit::Usage,
            message: message.into(),
            hint: hint.into(),
        }
    }

    /// A sweep that was not added, or a clustering not made.
    pub(crate) fn from_add(folder: &Path, error: AddError) -> Failure {
        match error {
            AddError::Collection(error) => Failure::from_collection(folder, &error),
            AddError::OtherRecipe(old, new) => Failure::usage(
                format!("`{}` was made with recipe {old}, not {new}", shown(folder)),
                "leave out the options of the recipe, or make another collection",
            ),
            other => Failure {
                exit: Exit::Machine,
                message: other.to_string(),
                hint: "allow more with --memory".to_owned(),
            },
        }
    }

    /// A collection whose recipe cannot be had.
    pub(crate) fn from_recipe(folder: &Path, fault: &RecipeFault) -> Failure {
        let exit = match fault {
            RecipeFault::Damaged => Exit::Damaged,
            _ => Exit::Usage,
        };
        Failure {
            exit,
            message: format!("cannot use collection `{}`: {fault}", shown(folder)),
            hint: "see what it was made with: lookalike stats COLLECTION".to_owned(),
        }
    }

    /// A file that could not be written.
    pub(crate) fn writing(path: &Path, error: &io::Error) -> Failure {
        Failure {
            exit: Exit::Machine,
            message: format!("cannot write `{}`: {error}", shown(path)),
            hint: "name a file in a folder that exists, may be written to and has room".to_owned(),
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

    pub(crate) fn show(&self) {
        let red = AnsiColor::Red.on_default().bold();
        let bold = Style::new().bold();
        // Where standard error itself is gone there is nobody left to tell.
        let _ = writeln!(
            anstream::stderr(),
            "{red}error:{red:#} {}\n{bold}hint:{bold:#} {}",
            self.message,
            self.hint
        );
    }
}

impl From<UnusableFile> for Failure {
    fn from(error: UnusableFile) -> Failure {
        let UnusableFile { path, why } = &error;
        let reason = why
            .source()
            .map_or_else(|| why.to_string(), |source| format!("{why}: {source}"));
        let is_stdin = path == Path::new("-");
        let hint = match why {
            Unusable::Missing => "check the name; `-` stands for standard input".to_owned(),
            Unusable::Folder => format!("name a file, or see `lookalike scan {}`", shown(path)),
            Unusable::Binary("a lookalike sketch") => {
                "saved sketches are compared with `lookalike compare`".to_owned()
            }
            Unusable::Binary(_) => {
                "turn it into text first; --format text reads it as it stands".to_owned()
            }
            Unusable::Empty if is_stdin => "send a document into standard input".to_owned(),
            Unusable::Empty => "name a file that holds a document".to_owned(),
            Unusable::NoTokens => {
                "there is only white space and punctuation in it; --token char or byte counts more"
                    .to_owned()
            }
            Unusable::NotRegular => "copy its contents to a file, or pipe them into `-`".to_owned(),
            Unusable::ManyDocuments => "give each document a file of its own".to_owned(),
            Unusable::BadFeature(_) | Unusable::BadFeatures => {
                "write features as in {\"features\":[\"red\",\"blue\",7]}".to_owned()
            }
            _ => "check that you may read it".to_owned(),
        };
        let exit = match why {
            Unusable::Unreadable(error) if error.kind() != io::ErrorKind::PermissionDenied => {
                Exit::Machine
            }
            _ => Exit::NothingUsable,
        };
        let name = if is_stdin {
            "standard input".to_owned()
        } else {
            format!("`{}`", shown(path))
        };
        Failure {
            exit,
            message: format!("cannot use {name}: {reason}"),
            hint,
        }
    }
}
