//! The files a command was given, as bytes and as documents.

use std::fs;
use std::io::{self, Read, Write};
use std::path::Path;

use lookalike::core::canonical::TokenKind;
use lookalike::core::sketch::Sketch;
use lookalike::core::sketch::serial::MAGIC;
use lookalike::corpus::decode::EncodingSource;
use lookalike::corpus::document::{Document, Format, Origin, Reading};
use lookalike::corpus::unusable::{Unusable, UnusableFile, shown};

use crate::args::Global;
use crate::failure::{Exit, Failure};

/// The bytes of one argument.
pub(crate) struct Input<'a> {
    path: &'a Path,
    bytes: Vec<u8>,
}

impl<'a> Input<'a> {
    /// Reads a file, or standard input for `-`. Pipes are read as well, so that a
    /// shell's `<(…)` can be compared; devices are not, for they may have no end.
    pub(crate) fn read(path: &'a Path) -> Result<Input<'a>, Failure> {
        let bytes = if path == Path::new("-") {
            let mut bytes = Vec::new();
            let read = io::stdin().lock().read_to_end(&mut bytes);
            read.map(|_| bytes).map_err(Unusable::from)
        } else {
            read_file(path)
        };
        match bytes {
            Ok(bytes) => Ok(Input { path, bytes }),
            Err(why) => Err(unusable(path, why)),
        }
    }

    /// What to call it.
    pub(crate) fn name(&self) -> String {
        if self.path == Path::new("-") {
            "standard input".to_owned()
        } else {
            shown(self.path)
        }
    }

    /// The bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// How many bytes.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether it is a sketch that was saved.
    pub(crate) fn is_sketch(&self, format: Format) -> bool {
        format == Format::Auto && self.bytes.starts_with(&MAGIC)
    }

    /// The saved sketch.
    pub(crate) fn sketch(&self) -> Result<Sketch, Failure> {
        Sketch::from_bytes(&self.bytes).map_err(|bad| Failure {
            exit: Exit::Damaged,
            message: format!("cannot use sketch `{}`: {bad}", self.name()),
            hint: "make it again with: lookalike sketch FILE -o FILE.sketch".to_owned(),
        })
    }

    /// The document. Says how it was read where a reader might wonder.
    pub(crate) fn document(
        &self,
        format: Format,
        tokens: TokenKind,
        global: Global,
    ) -> Result<Document<'_>, Failure> {
        let read = Document::read(&self.bytes, self.reading(format, tokens));
        let document = read.map_err(|why| self.unusable(why))?;
        self.say_how_it_was_read(&document, global);
        Ok(document)
    }

    /// The same with the way back to the bytes.
    pub(crate) fn document_mapped(
        &self,
        format: Format,
        tokens: TokenKind,
        global: Global,
    ) -> Result<(Document<'_>, Origin), Failure> {
        let read = Document::read_mapped(&self.bytes, self.reading(format, tokens));
        let (document, origin) = read.map_err(|why| self.unusable(why))?;
        self.say_how_it_was_read(&document, global);
        Ok((document, origin))
    }

    fn reading(&self, format: Format, tokens: TokenKind) -> Reading<'_> {
        Reading {
            name: Some(self.path),
            format,
            tokens,
        }
    }

    fn say_how_it_was_read(&self, document: &Document<'_>, global: Global) {
        let guessed = document.encoding_source() == EncodingSource::Detected;
        if !guessed && document.replaced() == 0 {
            return;
        }
        let how = if guessed { ", a guess" } else { "" };
        let replaced = match document.replaced() {
            0 => String::new(),
            1 => "; 1 malformed sequence became U+FFFD".to_owned(),
            n => format!("; {n} malformed sequences became U+FFFD"),
        };
        let (name, encoding) = (self.name(), document.encoding());
        note(
            global,
            &format!("{name} was read as {encoding}{how}{replaced}"),
        );
    }

    /// Why this input gives no document.
    pub(crate) fn unusable(&self, why: Unusable) -> Failure {
        unusable(self.path, why)
    }
}

fn unusable(path: &Path, why: Unusable) -> Failure {
    let path = path.to_owned();
    UnusableFile { path, why }.into()
}

fn read_file(path: &Path) -> Result<Vec<u8>, Unusable> {
    let kind = fs::metadata(path)?.file_type();
    if kind.is_dir() {
        return Err(Unusable::Folder);
    }
    #[cfg(unix)]
    let is_pipe = std::os::unix::fs::FileTypeExt::is_fifo(&kind);
    #[cfg(not(unix))]
    let is_pipe = false;
    if !kind.is_file() && !is_pipe {
        return Err(Unusable::NotRegular);
    }
    Ok(fs::read(path)?)
}

/// Says something beside the answer.
pub(crate) fn note(global: Global, text: &str) {
    if !global.quiet {
        let bold = anstyle::Style::new().bold();
        // Where standard error is gone there is nobody left to tell.
        let _ = writeln!(anstream::stderr(), "{bold}note:{bold:#} {text}");
    }
}
