//! Files inside a `.tar.gz`, for corpora that are kept packed.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use flate2::read::GzDecoder;

/// The regular files of a `.tar.gz`, with their paths, in the order they stand.
///
/// Plain ustar only: the corpora have no long names. Reads everything into memory.
pub fn files(path: &Path) -> io::Result<Vec<(String, Vec<u8>)>> {
    let mut tar = Vec::new();
    GzDecoder::new(File::open(path)?).read_to_end(&mut tar)?;
    let mut files = Vec::new();
    let mut rest = tar.as_slice();
    while let Some((header, after)) = rest.split_at_checked(512) {
        let field = |at: usize, len: usize| {
            let bytes = header.get(at..at + len).unwrap_or_default();
            let text = bytes.split(|&byte| byte == 0).next().unwrap_or_default();
            String::from_utf8_lossy(text).trim().to_owned()
        };
        let name = field(0, 100);
        if name.is_empty() {
            break;
        }
        let size = usize::from_str_radix(&field(124, 12), 8).map_err(io::Error::other)?;
        let data = after.get(..size).ok_or(io::ErrorKind::UnexpectedEof)?;
        if matches!(header.get(156), Some(b'0' | 0)) {
            files.push((name, data.to_vec()));
        }
        rest = after.get(size.next_multiple_of(512)..).unwrap_or_default();
    }
    Ok(files)
}
