//! A file as memory: the only unsafe line outside the vector code.

use std::fs::File;

use memmap2::Mmap;

/// The bytes of a file, to be read without being copied; nothing where the system refuses.
#[expect(unsafe_code, reason = "a mapping is as good as the file behind it")]
pub(super) fn map(file: &File) -> Option<Mmap> {
    // SAFETY: files of a collection are written once, under a name of their own, and then
    // only removed: no writer of this program changes or shortens one that a reader may
    // have open. What somebody else does to them meanwhile is beyond us; the bytes are
    // checked before they are used and hold no references.
    unsafe { Mmap::map(file) }.ok()
}
