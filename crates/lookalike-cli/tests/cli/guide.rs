//! The pages of the guide do what they say: every command of a `console` block is run, in
//! one folder a page, and must print what stands below it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::Folder;

/// The root of the source tree.
fn root() -> PathBuf {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    crate_folder.ancestors().nth(2).expect("two above").into()
}

/// A command, and what it prints.
struct Step {
    command: String,
    printed: String,
}

/// The commands of all `console` blocks. A command begins with `$ ` and goes on after a
/// backslash; up to the next one stands what it prints.
fn steps(page: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut is_console = false;
    for line in page.lines() {
        if line.starts_with("```") {
            is_console = line == "```console";
        } else if !is_console {
        } else if let Some(command) = line.strip_prefix("$ ") {
            steps.push(Step {
                command: command.to_owned(),
                printed: String::new(),
            });
        } else if let Some(step) = steps.last_mut() {
            if step.command.ends_with('\\') {
                step.command.push('\n');
                step.command.push_str(line);
            } else {
                step.printed.push_str(line);
                step.printed.push('\n');
            }
        }
    }
    steps
}

/// Runs a page. What may differ from machine to machine must not be printed.
fn run(page: &str) {
    let path = root().join("docs/guide").join(page);
    let steps = steps(&fs::read_to_string(path).expect("the page"));
    assert!(!steps.is_empty(), "{page} has no command");
    let folder = Folder::with(&[]);
    std::os::unix::fs::symlink(root().join("examples"), folder.at("examples")).expect("a link");
    let program = Path::new(env!("CARGO_BIN_EXE_lookalike"));
    let programs = program.parent().expect("a folder").display();
    let others = std::env::var("PATH").unwrap_or_default();
    for step in steps {
        let ran = Command::new("sh")
            .args(["-c", &step.command])
            .current_dir(folder.at("."))
            .env("PATH", format!("{programs}:{others}"))
            .env("LC_ALL", "C.UTF-8")
            .env_remove("LOOKALIKE_SIMD")
            .stdin(Stdio::null())
            .output()
            .expect("a shell");
        let printed = String::from_utf8_lossy(&ran.stdout);
        let said = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success(), "{page}: {}\n{said}", step.command);
        assert_eq!(printed, step.printed, "{page}: {}\n{said}", step.command);
    }
}

#[test]
fn a_cheat_who_knows_the_sample_is_found_by_another() {
    run("resketch.md");
}

#[test]
fn copied_functions_are_found() {
    run("code.md");
}

#[test]
fn strains_of_a_genome_are_found() {
    run("dna.md");
}

#[test]
fn a_tune_in_another_key_is_found() {
    run("music.md");
}

#[test]
fn changed_pictures_are_found() {
    run("images.md");
}

#[test]
fn rows_written_twice_are_found() {
    run("rows.md");
}

#[test]
fn weights_count() {
    run("weights.md");
}

#[test]
fn a_filter_finds_what_is_nearly_the_same() {
    run("filters.md");
}
