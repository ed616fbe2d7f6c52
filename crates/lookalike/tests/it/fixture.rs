//! A collection of every format there was opens for ever, and a newer one is refused.
//!
//! `tests/fixtures/v1` holds two tiny inputs and the collection made of them. While format
//! 1 is not released it may be made anew:
//!
//! ```text
//! LOOKALIKE_FIXTURE=write cargo test -p lookalike --test it fixture
//! ```

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Once;

use lookalike::collection::verify::verify;
use lookalike::collection::{Collection, CollectionError};
use lookalike::corpus::record::Timestamp;
use lookalike::storage::Fault;
use lookalike::storage::disk::Disk;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::{add_files, contents, options};

/// From the package's folder, where tests run: what is stored does not depend on where
/// the tree is.
const FOLDER: &str = "tests/fixtures/v1";

fn inputs() -> [PathBuf; 2] {
    ["first.jsonl", "second.jsonl"].map(|name| Path::new(FOLDER).join(name))
}

/// Makes the collection of format 1 from its inputs.
fn make(folder: &Path) {
    for (sweep, input) in inputs().into_iter().enumerate() {
        let mut options = options();
        options.date = Some(Timestamp(
            1_000_000_000 + 86_400 * i64::try_from(sweep).unwrap(),
        ));
        add_files(folder, &[input], &options).unwrap();
    }
}

/// The collection that is kept, made anew if that is asked for.
fn kept() -> PathBuf {
    static ONCE: Once = Once::new();
    let folder = Path::new(FOLDER).join("collection");
    ONCE.call_once(|| {
        if std::env::var("LOOKALIKE_FIXTURE").is_ok_and(|what| what == "write") {
            let _ = fs::remove_dir_all(&folder);
            make(&folder);
        }
    });
    folder
}

#[test]
fn format_1_opens() {
    let folder = kept();
    let verified = verify(&Disk::new(&folder), |_| {}).unwrap();
    assert!(verified.faults.is_empty(), "{:?}", verified.faults);
    assert_eq!(verified.generation, 2);
    let collection = Collection::open(&folder).unwrap();
    assert_eq!(collection.documents(), 7);
    assert_eq!(collection.find_named("rose").unwrap(), [0]);
    assert_eq!(
        collection.find_named("https://example.org/rose").unwrap(),
        [2]
    );
    assert!(collection.find_named("nobody").unwrap().is_empty());
    let clustering = collection.clustering(&collection.state().clusterings[0]);
    let clustering = clustering.unwrap();
    let cluster = clustering.member(0).unwrap().cluster;
    assert_eq!(clustering.roster(cluster).unwrap(), [0, 1, 2, 5]);
    let counts = |sweep: usize| &collection.state().sweeps[sweep].counts;
    assert_eq!((counts(0).read, counts(0).rejected.len()), (6, 1));
    assert_eq!((counts(1).read, counts(1).again), (3, 1));
}

/// While format 1 is what is written, the same input still gives the same bytes.
#[test]
fn format_1_is_what_is_written() {
    let folder = Path::new(FOLDER).join("made");
    let _ = fs::remove_dir_all(&folder);
    make(&folder);
    let made = contents(&folder);
    fs::remove_dir_all(&folder).unwrap();
    let kept = contents(&kept());
    assert!(made.keys().eq(kept.keys()), "{:?}", made.keys());
    for (name, bytes) in &made {
        assert!(*bytes == kept[name], "`{name}` has other bytes");
    }
}

#[test]
fn format_2_is_refused_by_naming_both() {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in contents(&kept()) {
        fs::write(folder.path().join(name), bytes).unwrap();
    }
    let path = folder.path().join("MANIFEST-2");
    let text = fs::read_to_string(&path).unwrap();
    let text = text.replacen("\"format\": 1", "\"format\": 2", 1);
    let text = &text[..text.rfind("checksum ").unwrap()];
    let sum = xxh3_64_with_seed(text.as_bytes(), xxh3_64(b"MANIFEST-2"));
    fs::write(&path, format!("{text}checksum {sum:016x}\n")).unwrap();
    match Collection::open(folder.path()) {
        Err(CollectionError::Storage(error)) => {
            assert!(matches!(
                error.fault,
                Fault::Version {
                    found: 2,
                    supported: 1
                }
            ));
            let text = error.fault.to_string();
            assert_eq!(text, "it has format 2, this program reads format 1");
        }
        other => panic!("{other:?}"),
    }
}
