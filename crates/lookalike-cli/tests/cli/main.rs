//! The program as its users meet it: a folder, a command, and what comes back.
//!
//! | file | what belongs there |
//! |---|---|
//! | `compare.rs` | two documents or two sketches |
//! | `scan.rs` | folders, and everything one may find in them |
//! | `sketch.rs` | what is kept, saved sketches |
//! | `curve.rs` | tables and drawings |
//! | `collection.rs` | what a collection tells of itself; pages for shells and readers |
//! | `dedup.rs` | inputs in, copies and predictions out |
//! | `holders.rs` | who holds a text, and what was done to it |
//! | `through_time.rs` | sweeps and pages through time |
//! | `results.rs` | lists of search results |
//! | `guide.rs` | pages of the guide, run as they stand |
//! | `bad_input.rs` | a line that says what is wrong, the way out, the exit status; never a panic |
//!
//! Most tests are a snapshot of status, standard output and standard error. Names of
//! recipes and fingerprints are masked: what they are is the business of the core.

mod bad_input;

mod collection;

mod compare;

mod curve;

mod dedup;

mod guide;

mod holders;

mod results;

mod scan;

mod sketch;

mod through_time;

use std::fs;
use std::io::{ErrorKind, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A folder to run commands in.
struct Folder(TempDir);

impl Folder {
    /// A folder with these files.
    fn with(files: &[(&str, &[u8])]) -> Folder {
        let folder = Folder(tempfile::tempdir().expect("a temporary folder"));
        for (name, bytes) in files {
            let path = folder.at(name);
            fs::create_dir_all(path.parent().expect("inside")).expect("a folder");
            fs::write(path, bytes).expect("a file");
        }
        folder
    }

    /// Paper 002's example.
    fn of_roses() -> Folder {
        Folder::with(&[
            ("a.txt", b"a rose is a rose is a rose\n"),
            ("b.txt", b"a rose is a flower which is a rose\n"),
        ])
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.at(name)).expect("a text file")
    }

    fn command(&self, args: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lookalike"));
        command
            .current_dir(self.0.path())
            .args(args.split_whitespace())
            .env_remove("LOOKALIKE_SIMD")
            .stdin(Stdio::null());
        command
    }

    /// Runs `lookalike` with these arguments, none of which holds white space.
    fn run(&self, args: &str) -> Ran {
        Ran::of(args, &mut self.command(args))
    }

    /// The same with something on standard input.
    fn run_with_input(&self, args: &str, input: &[u8]) -> Ran {
        let mut child = self
            .command(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut stdin = child.stdin.take().expect("a pipe");
        // A program that has ended with an error by now does not read.
        match stdin.write_all(input) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
            written => written.expect("the program reads"),
        }
        drop(stdin);
        Ran::new(args, &child.wait_with_output().expect("the program ends"))
    }

    /// The one JSON object that a command prints.
    fn json(&self, args: &str) -> Value {
        let ran = self.run(args);
        assert_eq!(ran.status, Some(0), "{ran}");
        serde_json::from_str(&ran.stdout).expect("one JSON object")
    }
}

/// What came of a command.
struct Ran {
    args: String,
    status: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Ran {
    fn of(args: &str, command: &mut Command) -> Ran {
        Ran::new(args, &command.output().expect("the program starts"))
    }

    fn new(args: &str, output: &std::process::Output) -> Ran {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("UTF-8 is written");
        Ran {
            args: args.to_owned(),
            status: output.status.code(),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
        }
    }
}

impl std::fmt::Display for Ran {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Ran {
            args,
            status,
            stdout,
            stderr,
        } = self;
        let status = status.map_or("a signal".to_owned(), |code| code.to_string());
        write!(
            f,
            "$ lookalike {args}\n{stdout}-- standard error\n{stderr}-- exit status {status}\n"
        )
    }
}

/// Holds the outcomes of some commands against the snapshot of this name.
#[track_caller]
fn assert_snapshot(name: &str, ran: &[Ran]) {
    let all: Vec<String> = ran.iter().map(Ran::to_string).collect();
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(r#"([ "])[0-9a-f]{16}\b"#, "$1[16 hex digits]");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, all.join("\n")));
}
