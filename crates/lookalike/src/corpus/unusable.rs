//! Why a path or its bytes gave no document.
//!
//! Some reasons are the user's own choice or the nature of the file: those are
//! *skipped*. Others mean that something asked for could not be had: those are
//! *rejected*, and a job with rejects says so in its exit status. Nothing is left out
//! without one of these.

use std::fmt::Write;
use std::io;
use std::path::PathBuf;

use lookalike_core::weighted::BadWeight;

/// A reason to leave a path out.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Unusable {
    /// Its name begins with a dot.
    #[error("it is hidden")]
    Hidden,
    /// A symbolic link found in a folder: what it names is read under its own name.
    #[error("it is a symbolic link")]
    Link,
    /// There are no bytes.
    #[error("it is empty")]
    Empty,
    /// The bytes are not text.
    #[error("it is binary ({0})")]
    Binary(&'static str),
    /// There is text, but no token in it.
    #[error("it holds no tokens")]
    NoTokens,
    /// A link, or a path as typed, that leads nowhere.
    #[error("there is no such file")]
    Missing,
    /// A folder where a file was asked for.
    #[error("it is a folder")]
    Folder,
    /// A pipe, a socket or a device: reading might never end.
    #[error("it is not a regular file")]
    NotRegular,
    /// More bytes than the limit.
    #[error("it is larger than {0} bytes")]
    TooLarge(u64),
    /// More text than the limit.
    #[error("its text is longer than {0} bytes (limit `document`)")]
    TooLong(u64),
    /// A capture of content that an earlier one has.
    #[error("it is one more capture of content met before")]
    Revisit,
    /// Several documents where one was asked for.
    #[error("it holds several documents, one a line")]
    ManyDocuments,
    /// A feature of a kind that is none.
    #[error("its feature {0} is neither a string nor an integer")]
    BadFeature(usize),
    /// A weight that is none.
    #[error("the weight of its feature `{0}` is none: {1}")]
    BadWeight(String, BadWeight),
    /// A feature that is named twice.
    #[error("its feature `{0}` has two weights")]
    TwoWeights(String),
    /// Weights, where nothing counts them.
    #[error("its features carry weights, which this recipe does not count")]
    Weights,
    /// It begins like a JSON object of features, and is none.
    #[error("it begins like JSON, but is no object with a list `features`")]
    BadFeatures,
    /// The operating system refused.
    #[error("it cannot be read")]
    Unreadable(#[source] io::Error),
}

impl Unusable {
    /// A word for counting: stable, in reports and JSON.
    pub fn code(&self) -> &'static str {
        match self {
            Unusable::Hidden => "hidden",
            Unusable::Link => "link",
            Unusable::Empty => "empty",
            Unusable::Binary(_) => "binary",
            Unusable::NoTokens => "no tokens",
            Unusable::Missing => "missing",
            Unusable::Folder => "folder",
            Unusable::NotRegular => "not a regular file",
            Unusable::TooLarge(_) | Unusable::TooLong(_) => "too large",
            Unusable::Revisit => "revisit",
            Unusable::ManyDocuments => "several documents",
            Unusable::BadFeature(_) | Unusable::BadFeatures => "bad feature",
            Unusable::BadWeight(..) | Unusable::TwoWeights(_) | Unusable::Weights => "bad weight",
            Unusable::Unreadable(_) => "unreadable",
        }
    }

    /// Whether something that was asked for could not be had.
    pub fn is_rejected(&self) -> bool {
        !matches!(
            self,
            Unusable::Hidden
                | Unusable::Link
                | Unusable::Empty
                | Unusable::Binary(_)
                | Unusable::NoTokens
                | Unusable::Revisit
        )
    }
}

impl From<io::Error> for Unusable {
    fn from(error: io::Error) -> Unusable {
        match error.kind() {
            io::ErrorKind::NotFound => Unusable::Missing,
            io::ErrorKind::IsADirectory => Unusable::Folder,
            _ => Unusable::Unreadable(error),
        }
    }
}

/// A file that gave no document.
#[derive(Debug, thiserror::Error)]
#[error("cannot use `{}`", shown(.path))]
pub struct UnusableFile {
    /// Which file, as it was named.
    pub path: PathBuf,
    /// Why.
    #[source]
    pub why: Unusable,
}

/// A path as it may be shown: on one line, and without anything a terminal would obey.
///
/// Bytes that are not UTF-8 become `\xNN`, control characters are escaped.
pub fn shown(path: &std::path::Path) -> String {
    let mut out = String::new();
    for chunk in path.as_os_str().as_encoded_bytes().utf8_chunks() {
        for c in chunk.valid().chars() {
            if c.is_control() || is_bidi_control(c) {
                out.extend(c.escape_default());
            } else {
                out.push(c);
            }
        }
        for byte in chunk.invalid() {
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    out
}

/// Characters that reorder what stands around them, so that `gpj.exe` reads as another name.
fn is_bidi_control(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn a_shown_path_is_one_harmless_line() {
        assert_eq!(shown(Path::new("a b/ü.txt")), "a b/ü.txt");
        assert_eq!(
            shown(Path::new("a\nb\u{1b}[31m\u{202e}")),
            "a\\nb\\u{1b}[31m\\u{202e}"
        );
    }

    #[cfg(unix)]
    #[test]
    fn bytes_that_are_no_text_are_shown_as_numbers() {
        use std::ffi::OsStr;
        use std::os::unix::ffi::OsStrExt;
        let path = Path::new(OsStr::from_bytes(b"caf\xe9.txt"));
        assert_eq!(shown(path), "caf\\xe9.txt");
    }
}
