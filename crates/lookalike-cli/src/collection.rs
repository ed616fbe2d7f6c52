//! A collection that a command was given.

use std::path::Path;

use lookalike::collection::{Collection, CollectionError};
use lookalike::core::seed::Key;
use lookalike::corpus::unusable::shown;
use lookalike::find::{FindError, Finder};

use crate::failure::{Exit, Failure};

/// Opens a collection, or says why not.
pub(crate) fn open(folder: &Path) -> Result<Collection, Failure> {
    Collection::open(folder).map_err(|error| Failure::from_collection(folder, &error))
}

/// Opens a collection to search it, or says why not.
pub(crate) fn searchable(folder: &Path, key: Option<&Key>) -> Result<Finder, Failure> {
    Finder::open(folder, key).map_err(|error| match error {
        FindError::Recipe(fault) => Failure::from_recipe(folder, &fault),
        FindError::Collection(error) => Failure::from_collection(folder, &error),
        other => Failure {
            exit: Exit::Damaged,
            message: other.to_string(),
            hint: String::new(),
        },
    })
}

impl Failure {
    /// A collection that cannot be used.
    pub(crate) fn from_collection(folder: &Path, error: &CollectionError) -> Failure {
        use std::error::Error;
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
                let message = format!("`{name}`, file `{}`: {why}", error.file);
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
}
