//! What goes wrong, in the words of a user: one line, the way out, an exit status. The
//! command line prints it, the Python package raises it.

use std::error::Error;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use lookalike::add::AddError;
use lookalike::collection::state::{Counts, RecipeFault};
use lookalike::collection::{Collection, CollectionError};
use lookalike::corpus::unusable::{Unusable, UnusableFile, shown};
use lookalike::find::FindError;

use crate::words;

/// The exit statuses of the program. Scripts rely on them.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[repr(u8)]
pub enum Exit {
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

/// Something went wrong.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Failure {
    /// What a program that stops for it says.
    pub exit: Exit,
    /// What, on one line, without a full stop.
    pub message: String,
    /// What to do about it.
    pub hint: String,
}

impl Failure {
    /// The arguments make no sense.
    pub fn usage(message: impl Into<String>, hint: impl Into<String>) -> Failure {
        Failure {
            exit: Exit::Usage,
            message: message.into(),
            hint: hint.into(),
        }
    }

    /// A sweep that was not added, or a clustering not made.
    pub fn from_add(folder: &Path, error: AddError) -> Failure {
        match error {
            AddError::Collection(error) => Failure::from_collection(folder, &error),
            AddError::OtherRecipe(old, new) => Failure::usage(
                format!("`{}` was made with recipe {old}, not {new}", shown(folder)),
                "leave out the options of the recipe, or make another collection",
            ),
            AddError::NotNew => Failure::usage(
                format!("there is a collection `{}` already", shown(folder)),
                "take another folder, or add to it with `lookalike add`",
            ),
            AddError::NoContainment(_) => Failure::usage(
                error.to_string(),
                "leave --containment out, or make the collection with --sketch nested:256 or mod:25",
            ),
            AddError::Nothing(counts) => Failure::nothing("the input", &counts),
            AddError::TooMany(_) => Failure {
                exit: Exit::Machine,
                message: error.to_string(),
                hint: "make several collections of it".to_owned(),
            },
            other => Failure {
                exit: Exit::Machine,
                message: other.to_string(),
                hint: "allow more with --memory".to_owned(),
            },
        }
    }

    /// No document came of some inputs, which are named.
    pub fn nothing(inputs: &str, counts: &Counts) -> Failure {
        let why = reasons(counts);
        let why = if why.is_empty() {
            why
        } else {
            format!(": {why}")
        };
        let hint = if counts.rejected.contains_key("too large") {
            "nothing was written; --max-document raises the limit"
        } else {
            "nothing was written; check the names, and the fields with --text-field"
        };
        Failure {
            exit: Exit::NothingUsable,
            message: format!("there are no documents in {inputs}{why}"),
            hint: hint.to_owned(),
        }
    }

    /// A collection whose recipe cannot be had.
    pub fn from_recipe(folder: &Path, fault: &RecipeFault) -> Failure {
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
    pub fn writing(path: &Path, error: &io::Error) -> Failure {
        Failure {
            exit: Exit::Machine,
            message: format!("cannot write `{}`: {error}", shown(path)),
            hint: "name a file in a folder that exists, may be written to and has room".to_owned(),
        }
    }

    /// A collection that cannot be used.
    pub fn from_collection(folder: &Path, error: &CollectionError) -> Failure {
        let name = shown(folder);
        let (exit, message, hint) = match error {
            CollectionError::NotACollection if !folder.exists() => (
                Exit::NothingUsable,
                format!("there is no collection `{name}`"),
                format!("make one with: lookalike add {name} INPUT…"),
            ),
            CollectionError::NotACollection if Collection::is_begun(folder) => (
                Exit::NothingUsable,
                format!(
                    "`{name}` is not a collection: a writer was here, but there is no manifest"
                ),
                "if the first `add` was interrupted, the same command again goes on".to_owned(),
            ),
            CollectionError::FeaturesOnly => (
                Exit::Usage,
                format!("cannot use `{name}` for this: {error}"),
                "add, cluster, find, members, export documents, stats and verify work with it"
                    .to_owned(),
            ),
            CollectionError::NotACollection => (
                Exit::NothingUsable,
                format!("`{name}` is not a collection"),
                format!("make one with: lookalike add COLLECTION {name}"),
            ),
            CollectionError::Locked => (
                Exit::Locked,
                format!("another writer holds `{name}`"),
                "wait until it is done".to_owned(),
            ),
            CollectionError::Storage(error) => {
                let why = error.source().map_or_else(String::new, ToString::to_string);
                let place = error.folder().map_or_else(|| name.clone(), shown);
                let message = format!("`{place}`, file `{}`: {why}", error.file);
                if error.is_damage() {
                    let hint = format!("see what else is wrong with: lookalike verify {name}");
                    (Exit::Damaged, message, hint)
                } else if error.is_full_disk() {
                    let hint =
                        "make room, then run the same command again: it goes on where it stopped";
                    (Exit::Machine, message, hint.to_owned())
                } else {
                    let hint = "run the same command again when the machine is well: it goes on where it stopped";
                    let cause = error
                        .source()
                        .and_then(Error::source)
                        .map_or_else(String::new, |cause| format!(": {cause}"));
                    (Exit::Machine, format!("{message}{cause}"), hint.to_owned())
                }
            }
            _ => (Exit::Damaged, format!("`{name}`: {error}"), String::new()),
        };
        Failure {
            exit,
            message,
            hint,
        }
    }

    /// A collection that cannot be searched.
    pub fn from_find(folder: &Path, error: FindError) -> Failure {
        match error {
            FindError::Recipe(fault) => Failure::from_recipe(folder, &fault),
            FindError::Collection(error) => Failure::from_collection(folder, &error),
            other => Failure {
                exit: Exit::Damaged,
                message: other.to_string(),
                hint: String::new(),
            },
        }
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
            Unusable::Weights => "count them with --weighted, or list the features".to_owned(),
            Unusable::BadWeight(..) | Unusable::TwoWeights(_) => {
                "write weights as in {\"features\":{\"red\":2,\"blue\":0.5}}".to_owned()
            }
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

/// What was left out, in words.
pub fn reasons(counts: &Counts) -> String {
    let all = counts.skipped.iter().chain(&counts.rejected);
    let all = all.map(|(reason, count)| format!("{} {reason}", words::count(*count)));
    all.collect::<Vec<_>>().join(", ")
}
