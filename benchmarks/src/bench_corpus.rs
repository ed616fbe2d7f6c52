//! The text and the HTML that speed is measured on: two files of documents end to end,
//! and the length of each document.
//!
//! ```text
//! .bench/text  .bench/text.lengths    what is sketched; one decimal number a line
//! .bench/html  .bench/html.lengths    what is stripped
//! .bench/SOURCES.md                   what they were made of
//! ```

use anyhow::{Context, Result, ensure};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// Documents end to end.
pub struct Documents {
    /// The file, for programs that read it.
    pub path: PathBuf,
    /// All of them.
    pub text: String,
    ends: Vec<usize>,
}

impl Documents {
    /// Reads `FOLDER/NAME` and its lengths.
    pub fn read(folder: &Path, name: &str) -> Result<Documents> {
        let path = folder.join(name);
        let hint = || {
            let path = path.display();
            format!("cannot read `{path}`; hint: run scripts/bench-corpus first")
        };
        let text = fs::read_to_string(&path).with_context(hint)?;
        let lengths =
            fs::read_to_string(folder.join(format!("{name}.lengths"))).with_context(hint)?;
        let mut ends = Vec::new();
        for line in lengths.lines() {
            ends.push(ends.last().copied().unwrap_or(0) + line.parse::<usize>()?);
        }
        ensure!(
            ends.last() == Some(&text.len()) && ends.iter().all(|&end| text.is_char_boundary(end)),
            "`{}` does not go with its lengths; hint: make both again",
            path.display()
        );
        Ok(Documents { path, text, ends })
    }

    /// One by one.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts
            .zip(&self.ends)
            .map(|(start, &end)| &self.text[start..end])
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }
}

/// Writes documents end to end, and their lengths.
pub fn write(folder: &Path, name: &str, documents: &[String]) -> Result<()> {
    let mut lengths = String::new();
    for document in documents {
        writeln!(lengths, "{}", document.len())?;
    }
    fs::create_dir_all(folder)?;
    fs::write(folder.join(name), documents.concat())?;
    fs::write(folder.join(format!("{name}.lengths")), lengths)?;
    Ok(())
}
