//! The engine as its callers meet it: collections on a disk, through the public interface.
//!
//! | file | what belongs there |
//! |---|---|
//! | `cases.rs` | the case table that every way in must agree on |
//! | `damage.rs` | collections that rotted, were cut or mixed up |
//! | `evidence.rs` | passages against what was copied, drift against all words of both texts |
//! | `surprise.rs` | inputs that make other programs slow, or wrong |
//! | `fixture.rs` | collections of every format there was |

mod cases;

mod damage;

mod evidence;

mod fixture;

mod surprise;

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use lookalike::add::{AddError, AddOptions, Report, add};
use lookalike::collection::Collection;
use lookalike::corpus::inputs::Inputs;

fn options() -> AddOptions {
    AddOptions {
        threads: NonZeroUsize::new(2).expect("two"),
        memory: 64 << 20,
        ..AddOptions::default()
    }
}

fn add_files(folder: &Path, files: &[PathBuf], options: &AddOptions) -> Result<Report, AddError> {
    let inputs = Inputs::expand(files, &options.reading);
    add(folder, &inputs, options, &mut |_| {})
}

/// A folder with a collection of the documents in these lines.
struct Made {
    folder: tempfile::TempDir,
    report: Report,
}

impl Made {
    fn of(lines: &str, options: &AddOptions) -> Made {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let input = folder.path().join("input.jsonl");
        std::fs::write(&input, lines).expect("a file");
        let report = add_files(&folder.path().join("collection"), &[input], options);
        let report = report.expect("documents");
        Made { folder, report }
    }

    fn collection(&self) -> Collection {
        Collection::open(&self.folder.path().join("collection")).expect("a collection")
    }

    /// Clusters, the largest first: size, and the names of their marks.
    fn clusters(&self) -> Vec<(u32, Vec<&'static str>)> {
        let collection = self.collection();
        let clustering = collection.clustering(&collection.state().clusterings[0]);
        let clustering = clustering.expect("a clustering");
        let mut all = Vec::new();
        let mut stream = clustering.clusters().expect("clusters");
        while let Some(quality) = stream.next_record().expect("a cluster") {
            all.push((quality.size, quality.marks().collect()));
        }
        all.sort_by_key(|(size, _)| std::cmp::Reverse(*size));
        all
    }
}

/// All files of a folder, with their bytes.
fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let all = entries.map(|entry| {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy();
        (name.into_owned(), std::fs::read(&path).expect("a file"))
    });
    all.collect()
}
