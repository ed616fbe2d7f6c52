//! The html5lib tests: pages that have broken parsers, with what they should give.

use std::path::Path;

use crate::archive;

/// The files of one folder (`encoding`, `tokenizer`, `tree-construction`) with this
/// extension. `None`, and a line on standard error, where there are no corpora.
///
/// # Panics
///
/// When the corpora are there but cannot be read.
pub fn files(folder: &str, extension: &str) -> Option<Vec<Vec<u8>>> {
    let path = crate::corpora()?.join("html5lib-tests/testdata.tar.gz");
    let files = archive::files(&path).expect("the html5lib tests can be read");
    let is_wanted = |path: &Path| {
        path.components().any(|part| part.as_os_str() == folder)
            && path.extension().is_some_and(|end| end == extension)
    };
    let wanted = files
        .into_iter()
        .filter(|(path, _)| is_wanted(Path::new(path)));
    Some(wanted.map(|(_, file)| file).collect())
}

/// One test of a `.dat` file: sections with their names.
pub struct DatTest(Vec<(String, Vec<u8>)>);

impl DatTest {
    /// What stands under `#name`, without its last line end.
    pub fn section(&self, name: &str) -> Option<&[u8]> {
        let (_, body) = self.0.iter().find(|(section, _)| section == name)?;
        Some(body.strip_suffix(b"\n").unwrap_or(body))
    }
}

/// Every name of a section; another line with a `#` belongs to the page.
const SECTIONS: [&str; 7] = [
    "data",
    "encoding",
    "errors",
    "document",
    "document-fragment",
    "script-on",
    "script-off",
];

/// The tests of a `.dat` file, each of which begins with `#data`.
pub fn dat_tests(file: &[u8]) -> Vec<DatTest> {
    let mut tests: Vec<DatTest> = Vec::new();
    for line in file.split(|&byte| byte == b'\n') {
        let is_name = |name: &&&str| line.strip_prefix(b"#") == Some(name.as_bytes());
        if let Some(name) = SECTIONS.iter().find(is_name) {
            if *name == "data" {
                tests.push(DatTest(Vec::new()));
            }
            if let Some(DatTest(sections)) = tests.last_mut() {
                sections.push(((*name).to_owned(), Vec::new()));
            }
        } else if let Some((_, body)) = tests.last_mut().and_then(|test| test.0.last_mut()) {
            body.extend_from_slice(line);
            body.push(b'\n');
        }
    }
    tests
}
