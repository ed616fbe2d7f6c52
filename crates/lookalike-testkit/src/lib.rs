//! What the tests of every crate share: corpora, oracles and helpers. Not published.

use std::path::PathBuf;

/// Files in a `.tar.gz`.
pub mod archive;

/// The html5lib tests.
pub mod html5lib;

/// The text of a page by html5gum, the slow definition.
pub mod html_oracle;

/// Texts made of nothing.
pub mod texts;

/// Pages in a WARC file.
pub mod warc;

/// The folder of test corpora named by `LOOKALIKE_CORPORA`, if it is set.
///
/// Says so on standard error when it is not, so that a skipped test can be seen.
pub fn corpora() -> Option<PathBuf> {
    let folder = std::env::var_os("LOOKALIKE_CORPORA")
        .filter(|folder| !folder.is_empty())
        .map(PathBuf::from);
    if folder.is_none() {
        eprintln!("skipped: LOOKALIKE_CORPORA names no folder of corpora");
    }
    folder
}
