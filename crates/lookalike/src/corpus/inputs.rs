//! What a user names on the command line, as sources to read.
//!
//! ```text
//! file · folder · glob · - ─► what each is, by its first bytes ─► sources, in order
//!                                                              └─► refused: named, counted
//! ```
//!
//! A file in a folder is one document, unless its name ends as that of a container
//! does: `.warc`, `.wet`, `.jsonl`, `.ndjson`, `.csv`, `.parquet`, `.wacz`, the first
//! five also packed as `.gz` or `.zst`. Of a file that was named itself, and of every
//! container, the first bytes are looked at: a wrong suffix misleads nobody.
//!
//! Each file is one source, also each of the documents in a folder: some 250 bytes a
//! file. So a document is read again by its path, whatever else comes into the folder.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use super::folder::{self, WalkOptions};
use super::held::Held;
use super::json;
use super::options::{InputFormat, ReadOptions};
use super::read::Halt;
use super::record::Refused;
use super::unpack::{Packing, Unpacked};
use super::unusable::{Unusable, shown};

/// What a source holds.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum SourceKind {
    /// One document.
    Document,
    /// One document, packed.
    PackedDocument,
    /// JSON lines, packed or not.
    Jsonl,
    /// Comma-separated values, packed or not.
    Csv,
    /// WARC or WET, packed or not.
    Warc,
    /// A zip archive of WARC files.
    Wacz,
    /// Parquet.
    Parquet,
    /// Standard input; what it holds is seen when it is read.
    Stdin,
    /// Rows at hand in memory.
    Memory,
}

impl SourceKind {
    const ALL: [(SourceKind, &'static str); 9] = [
        (SourceKind::Document, "document"),
        (SourceKind::PackedDocument, "packed document"),
        (SourceKind::Jsonl, "jsonl"),
        (SourceKind::Csv, "csv"),
        (SourceKind::Warc, "warc"),
        (SourceKind::Wacz, "wacz"),
        (SourceKind::Parquet, "parquet"),
        (SourceKind::Stdin, "stdin"),
        (SourceKind::Memory, "memory"),
    ];

    /// Whether it is a file: something that another program finds again.
    pub fn is_file(self) -> bool {
        !matches!(self, SourceKind::Stdin | SourceKind::Memory)
    }

    /// Its name, for writing it down.
    pub fn name(self) -> &'static str {
        let known = SourceKind::ALL.iter().find(|(kind, _)| *kind == self);
        known.map_or("", |(_, name)| name)
    }

    /// The kind of that name.
    pub fn from_name(name: &str) -> Option<SourceKind> {
        let known = SourceKind::ALL.iter().find(|(_, known)| *known == name);
        known.map(|(kind, _)| *kind)
    }
}

/// Something to read documents from.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Source {
    /// Its path as it may be shown and stored: valid, on one line, harmless.
    pub name: String,
    /// Its path; `-` for standard input.
    pub path: PathBuf,
    /// What it holds.
    pub kind: SourceKind,
    /// How many bytes it had when it was found; 0 for standard input.
    pub len: u64,
    /// When it was changed last, in nanoseconds since 1970; 0 where that is unknown.
    pub modified: i64,
    /// The rows of a source in memory; `None` of one that was, in another time.
    pub held: Option<Held>,
}

/// What some arguments name, or a table in memory is.
#[derive(Debug, Default)]
pub struct Inputs {
    /// What to read, in the order of the arguments and by name below them.
    pub sources: Vec<Source>,
    /// What is not read, by its name as it may be shown.
    pub refused: Vec<(String, Refused)>,
}

impl Inputs {
    /// One source alone.
    pub fn of(source: Source) -> Inputs {
        Inputs {
            sources: vec![source],
            refused: Vec::new(),
        }
    }

    /// Finds what arguments name. A file that two of them reach counts once.
    pub fn expand<A: AsRef<OsStr>>(arguments: &[A], options: &ReadOptions) -> Inputs {
        let mut inputs = Inputs::default();
        let mut paths = Vec::new();
        let mut has_stdin = false;
        for argument in arguments {
            let argument = argument.as_ref();
            if argument == "-" {
                if !has_stdin {
                    inputs.walk(&std::mem::take(&mut paths), options);
                    inputs.sources.push(Source {
                        name: "-".to_owned(),
                        path: PathBuf::from("-"),
                        kind: SourceKind::Stdin,
                        len: 0,
                        modified: 0,
                        held: None,
                    });
                }
                has_stdin = true;
            } else if fs::symlink_metadata(argument).is_err() && is_pattern(argument) {
                inputs.glob(argument, &mut paths);
            } else {
                paths.push(PathBuf::from(argument));
            }
        }
        inputs.walk(&paths, options);
        inputs
    }

    fn glob(&mut self, pattern: &OsStr, paths: &mut Vec<PathBuf>) {
        let name = shown(Path::new(pattern));
        let found = match pattern.to_str().map(glob::glob) {
            Some(Ok(found)) => found,
            Some(Err(error)) => {
                let message = format!("it is no pattern: {}", error.msg);
                self.refused
                    .push((name, Refused::rejected(0, "missing", message)));
                return;
            }
            None => {
                let message = "there is no such file, and a pattern must be UTF-8";
                self.refused
                    .push((name, Refused::rejected(0, "missing", message)));
                return;
            }
        };
        let before = paths.len();
        // Folders that cannot be opened are passed over: nothing named them.
        paths.extend(found.filter_map(Result::ok));
        if paths.len() == before {
            let message = "no file matches this pattern";
            self.refused
                .push((name, Refused::rejected(0, "missing", message)));
        }
    }

    fn walk(&mut self, paths: &[PathBuf], options: &ReadOptions) {
        let walk = folder::walk(
            paths,
            WalkOptions {
                hidden: options.hidden,
            },
        );
        for file in walk.left {
            self.refused
                .push((shown(&file.path), refused(&file.why, options)));
        }
        let typed: std::collections::HashSet<&Path> = paths.iter().map(PathBuf::as_path).collect();
        for file in walk.files {
            let way = if typed.contains(file.path.as_path()) {
                Way::Typed
            } else {
                Way::Walked
            };
            match kind_of(&file.path, way, file.size, options) {
                Ok(kind) => self.sources.push(Source {
                    name: shown(&file.path),
                    kind,
                    len: file.size,
                    modified: modified(&file.path),
                    path: file.path,
                    held: None,
                }),
                Err(refused) => self.refused.push((shown(&file.path), refused)),
            }
        }
    }
}

/// A path that gave nothing, as the reports of records say it.
pub(crate) fn refused(why: &Unusable, options: &ReadOptions) -> Refused {
    let message = match why {
        Unusable::TooLarge(_) => too_large(options),
        Unusable::Unreadable(error) => format!("{why}: {error}"),
        _ => why.to_string(),
    };
    Refused {
        at: 0,
        is_line: false,
        code: why.code(),
        message,
        is_rejected: why.is_rejected(),
    }
}

fn too_large(options: &ReadOptions) -> String {
    let limit = options.limits.record;
    format!("it is larger than {limit} bytes (limit `record`)")
}

fn is_pattern(argument: &OsStr) -> bool {
    let bytes = argument.as_encoded_bytes();
    memchr::memchr3(b'*', b'?', b'[', bytes).is_some()
}

fn modified(path: &Path) -> i64 {
    let modified = fs::metadata(path).and_then(|facts| facts.modified());
    let since = modified.ok().map(|at| at.duration_since(UNIX_EPOCH));
    let nanoseconds = match since {
        Some(Ok(after)) => i64::try_from(after.as_nanos()).ok(),
        Some(Err(before)) => i64::try_from(before.duration().as_nanos())
            .ok()
            .map(|nanoseconds| -nanoseconds),
        None => None,
    };
    nanoseconds.unwrap_or(0)
}

/// How a file was come by.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Way {
    /// The user named it.
    Typed,
    /// It is in a folder that the user named.
    Walked,
}

/// What the end of a name says.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Suffix {
    Container(SourceKind),
    /// `.json`: one object, or one a line.
    Json,
    /// Another.
    Other,
    None,
}

fn suffix(path: &Path) -> Suffix {
    let lower = path
        .file_name()
        .unwrap_or_default()
        .to_ascii_lowercase()
        .into_encoded_bytes();
    let packed = lower
        .strip_suffix(b".gz")
        .or_else(|| lower.strip_suffix(b".zst"));
    let name = packed.unwrap_or(&lower);
    let kinds: [(&[u8], Suffix); 9] = [
        (b".warc", Suffix::Container(SourceKind::Warc)),
        (b".wet", Suffix::Container(SourceKind::Warc)),
        (b".jsonl", Suffix::Container(SourceKind::Jsonl)),
        (b".ndjson", Suffix::Container(SourceKind::Jsonl)),
        (b".csv", Suffix::Container(SourceKind::Csv)),
        (b".parquet", Suffix::Container(SourceKind::Parquet)),
        (b".wacz", Suffix::Container(SourceKind::Wacz)),
        (b".wat", Suffix::Container(SourceKind::Warc)),
        (b".json", Suffix::Json),
    ];
    let known = kinds.iter().find(|(end, _)| name.ends_with(end));
    match known {
        Some((_, suffix)) => *suffix,
        None if name.iter().skip(1).any(|&byte| byte == b'.') => Suffix::Other,
        None => Suffix::None,
    }
}

fn kind_of(path: &Path, way: Way, len: u64, options: &ReadOptions) -> Result<SourceKind, Refused> {
    let suffix = suffix(path);
    let kind = match forced(options.input) {
        Some(SourceKind::Document) | None => {
            let is_plain_walk = way == Way::Walked
                && !matches!(suffix, Suffix::Container(_))
                && !is_packed_json(path, suffix);
            if is_plain_walk && options.input == InputFormat::Auto {
                SourceKind::Document
            } else {
                let unreadable = |error: io::Error| refused(&Unusable::from(error), options);
                let mut unpacked = Unpacked::open(path).map_err(unreadable)?;
                sniff(&mut unpacked, suffix, options).map_err(|halt| match halt {
                    Halt::Fault(super::read::SourceFault::Io(error)) => unreadable(error),
                    Halt::Fault(fault) => Refused::rejected(0, "not supported", fault.to_string()),
                    Halt::Stopped => Refused::rejected(0, "unreadable", "it cannot be read"),
                })?
            }
        }
        Some(kind) => kind,
    };
    let is_document = matches!(kind, SourceKind::Document | SourceKind::PackedDocument);
    if is_document && len > options.limits.record as u64 {
        return Err(Refused::rejected(0, "too large", too_large(options)));
    }
    Ok(kind)
}

/// Data sets come as `.json.gz`; a plain `.json` in a folder is most likely a document.
fn is_packed_json(path: &Path, suffix: Suffix) -> bool {
    suffix == Suffix::Json
        && path
            .extension()
            .is_some_and(|end| !end.eq_ignore_ascii_case("json"))
}

fn forced(format: InputFormat) -> Option<SourceKind> {
    match format {
        InputFormat::Auto => None,
        InputFormat::Warc => Some(SourceKind::Warc),
        InputFormat::Wacz => Some(SourceKind::Wacz),
        InputFormat::Jsonl => Some(SourceKind::Jsonl),
        InputFormat::Csv => Some(SourceKind::Csv),
        InputFormat::Parquet => Some(SourceKind::Parquet),
        InputFormat::Document => Some(SourceKind::Document),
    }
}

/// What a stream holds, by its first bytes; the suffix decides where they do not.
fn sniff(
    unpacked: &mut Unpacked,
    suffix: Suffix,
    options: &ReadOptions,
) -> Result<SourceKind, Halt> {
    let packing = unpacked.packing();
    let document = match packing {
        Packing::Plain => SourceKind::Document,
        Packing::Gzip | Packing::Zstd => SourceKind::PackedDocument,
    };
    if options.input == InputFormat::Document {
        return Ok(document);
    }
    let head = unpacked.peek()?;
    if head.starts_with(b"WARC/") {
        return Ok(SourceKind::Warc);
    }
    if head.starts_with(b"filedesc://") {
        return Err(Halt::format(
            "ARC files are not read; `warcio recompress` makes a WARC of one",
        ));
    }
    if packing == Packing::Plain && head.starts_with(b"PAR1") {
        return Ok(SourceKind::Parquet);
    }
    match suffix {
        Suffix::Container(kind) => Ok(kind),
        Suffix::Json | Suffix::None if is_json_lines(head, options) => Ok(SourceKind::Jsonl),
        _ => Ok(document),
    }
}

/// Whether these are lines of JSON rather than one document that is JSON: the first
/// line is an object, and has a field that is asked for or is followed by another object.
fn is_json_lines(head: &[u8], options: &ReadOptions) -> bool {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let head = head.trim_ascii_start();
    if !head.starts_with(b"{") {
        return false;
    }
    let Some(end) = memchr::memchr(b'\n', head) else {
        // A line longer than what is looked at, or the only one.
        return true;
    };
    let (line, rest) = head.split_at(end);
    let fields = json::fields(line, &[options.text_field.as_str(), "features"]);
    let has_field = |fields: [Option<&[u8]>; 2]| fields.iter().any(Option::is_some);
    fields.is_ok_and(|fields| has_field(fields) || rest.trim_ascii_start().starts_with(b"{"))
}

/// What comes on standard input.
pub(crate) fn stdin_kind(
    unpacked: &mut Unpacked,
    options: &ReadOptions,
) -> Result<SourceKind, Halt> {
    let kind = match forced(options.input) {
        Some(SourceKind::Document) | None => sniff(unpacked, Suffix::None, options)?,
        Some(kind) => kind,
    };
    let kind = match kind {
        // An object broken over lines is no document either.
        SourceKind::Document | SourceKind::PackedDocument
            if options.input == InputFormat::Auto && unpacked.peek()?.starts_with(b"{") =>
        {
            SourceKind::Jsonl
        }
        kind => kind,
    };
    match kind {
        SourceKind::Parquet => Err(Halt::format(
            "give Parquet as a file, not on standard input",
        )),
        SourceKind::Wacz => Err(Halt::format("give WACZ as a file, not on standard input")),
        kind => Ok(kind),
    }
}
