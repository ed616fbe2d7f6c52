//! `lookalike verify COLLECTION`: whether every byte is the one that was written.

use std::error::Error;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use lookalike::collection::manifest;
use lookalike::collection::state::State;
use lookalike::collection::verify::{contradictions, verify};
use lookalike::collection::{Collection, CollectionError};
use lookalike::corpus::unusable::shown;
use lookalike::filters::Filtered;
use lookalike::storage::StorageError;
use lookalike::storage::disk::Disk;
use serde_json::json;

use crate::args::Global;
use crate::failure::{Exit, Failure, Stop};
use crate::output::text;

/// Read every byte of a collection and say whether it is sound
///
/// Checks the checksums of all files of the last two generations, and that the numbers of
/// documents, sketches, members and records add up. Exit status 5 when something is wrong.
#[derive(Args)]
#[command(after_help = "\
Example:
  lookalike verify crawl.lk")]
pub(crate) struct VerifyArgs {
    /// The collection
    collection: PathBuf,
}

/// What is wrong with which file.
struct Wrong {
    file: String,
    what: String,
}

impl From<&StorageError> for Wrong {
    fn from(error: &StorageError) -> Wrong {
        Wrong {
            file: error.file.clone(),
            what: error.source().map_or_else(String::new, ToString::to_string),
        }
    }
}

impl VerifyArgs {
    pub(crate) fn run(self, global: Global) -> Result<Exit, Stop> {
        let folder = &self.collection;
        let failed = |error: &CollectionError| Failure::from_collection(folder, error);
        if !folder.is_dir() {
            return Err(failed(&CollectionError::NotACollection).into());
        }
        let bar = bar(global);
        let storage = Disk::new(folder);
        let verified = verify(&storage, |bytes| {
            if let Some(bar) = &bar {
                bar.inc(bytes);
            }
        });
        if let Some(bar) = &bar {
            bar.finish_and_clear();
        }
        let (mut files, mut bytes, mut generation) = (0, 0, None);
        let mut wrong: Vec<Wrong> = Vec::new();
        match verified {
            Ok(verified) => {
                (files, bytes) = (verified.files, verified.bytes);
                generation = Some(verified.generation);
                wrong.extend(verified.faults.iter().map(Wrong::from));
            }
            // A manifest: what else there is nobody knows.
            Err(CollectionError::Storage(error)) if error.is_damage() => {
                wrong.push((&error).into());
            }
            Err(error) => return Err(failed(&error).into()),
        }
        if wrong.is_empty() {
            match manifest::latest::<State>(&storage) {
                // A filter's says other things, of which opening it tells.
                Err(_) if Filtered::open(folder).is_ok_and(|found| found.is_some()) => {}
                Ok(manifest) => wrong.extend(contradictions(&manifest).iter().map(Wrong::from)),
                Err(CollectionError::Storage(error)) if error.is_damage() => {
                    wrong.push((&error).into());
                }
                Err(error) => return Err(failed(&error).into()),
            }
        }
        if wrong.is_empty() {
            match Collection::open(folder) {
                Err(CollectionError::Storage(error)) => wrong.push((&error).into()),
                Ok(collection) => {
                    if let Err(error) = lookalike::search::verify(&collection) {
                        wrong.push(Wrong {
                            file: "search".to_owned(),
                            what: format!("{error}; `lookalike index` makes it again"),
                        });
                    }
                }
                _ => {}
            }
        }
        let mut out = text::stdout();
        if global.json {
            let faults: Vec<_> = wrong
                .iter()
                .map(|wrong| json!({ "file": wrong.file, "what": wrong.what }))
                .collect();
            let answer = json!({
                "sound": wrong.is_empty(), "generation": generation,
                "files": files, "bytes": bytes, "faults": faults,
            });
            writeln!(out, "{answer}")?;
        } else if wrong.is_empty() {
            writeln!(
                out,
                "sound: {}, {}",
                text::counted(files, "file"),
                text::bytes(bytes),
            )?;
        } else {
            for Wrong { file, what } in &wrong {
                writeln!(out, "{file}: {what}")?;
            }
        }
        out.flush()?;
        if wrong.is_empty() {
            return Ok(Exit::Done);
        }
        let name = shown(folder);
        Err(Stop::Failure(Failure {
            exit: Exit::Damaged,
            message: format!(
                "`{name}` is damaged: {} at fault",
                text::counted(wrong.len(), "file")
            ),
            hint: "bring the files back from a copy, or make the collection again with `lookalike add`"
                .to_owned(),
        }))
    }
}

fn bar(global: Global) -> Option<ProgressBar> {
    let shows = !global.quiet && io::stderr().is_terminal();
    shows.then(|| {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("{spinner} verify {bytes}, {bytes_per_sec}")
        {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(200));
        bar
    })
}
