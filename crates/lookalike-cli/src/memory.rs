//! How the allocator holds memory while a short job runs.
//!
//! A sweep of a few megabytes is added in some thirty milliseconds, and a fifth of them went
//! into pages: glibc gives every thread a heap of its own and hands large buffers back to the
//! system as soon as they are free, so each phase had its pages cleared and mapped anew, 4 KiB
//! at a time. A short job is better served by one heap that keeps what it has, the first of
//! it in large pages. A long one is not: its threads would wait for each other, and its budget
//! wants what is free given back. So this is for commands that know how little they will read.
//!
//! Only glibc has these settings; elsewhere nothing is done. The answers are the same.

use lookalike::corpus::inputs::{Inputs, SourceKind};

/// Bytes of input, as stored, up to which a job is short: about a second of one processor.
const SHORT: u64 = 32 << 20;

/// The least budget that has room for what is held. Under it every page counts.
const ROOM: u64 = 128 << 20;

/// Sets the allocator up if the job is short and its budget allows. Called before the first
/// thread is started: one that has a heap keeps it.
pub(crate) fn hold_if_short(inputs: &Inputs, budget: u64) {
    if budget >= ROOM && is_short(inputs) {
        hold();
    }
}

fn is_short(inputs: &Inputs) -> bool {
    let len = inputs.sources.iter().try_fold(0_u64, |sum, source| {
        // How much comes through a pipe nobody knows before.
        let is_known = source.kind != SourceKind::Stdin;
        sum.checked_add(source.len).filter(|_| is_known)
    });
    len.is_some_and(|len| len <= SHORT)
}

/// One heap for all threads that keeps what is free, its first part in large pages.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(
    unsafe_code,
    reason = "the allocator is set up by calls into the C library"
)]
fn hold() {
    /// Buffers of this size and more are mapped one by one, and free space of more than this
    /// at the end of the heap is given back: the most that is held without being used.
    const HELD: i32 = 32 << 20;
    /// The part of the heap in large pages: about what adding two megabytes of packed pages
    /// touches. Half as much took 1 to 3 % more time one by one, twice as much no less.
    const LARGE: usize = 16 << 20;
    const PAGE: usize = 4 << 10;

    // SAFETY: `mallopt` takes numbers, and refuses those it does not know. It may be called at
    // any time; heaps that exist already stay as they are.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
        libc::mallopt(libc::M_MMAP_THRESHOLD, HELD);
        libc::mallopt(libc::M_TRIM_THRESHOLD, HELD);
    }
    // Under both thresholds: it comes from the end of the heap, and stays there once dropped.
    let mut room = Vec::<u8>::with_capacity(LARGE);
    let pages = room.spare_capacity_mut();
    let skipped = pages.as_ptr().align_offset(PAGE);
    let len = pages.len().saturating_sub(skipped) / PAGE * PAGE;
    let Some(first) = pages.get_mut(skipped..) else {
        return;
    };
    // SAFETY: the range lies within an allocation of ours, in whole pages, and the advice
    // changes no byte of it. Where the system has no large pages it is refused, which is no
    // harm: the answer is not needed.
    unsafe {
        libc::madvise(first.as_mut_ptr().cast(), len, libc::MADV_HUGEPAGE);
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn hold() {}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use lookalike::corpus::inputs::Source;

    use super::*;

    fn inputs(all: &[(SourceKind, u64)]) -> Inputs {
        let source = |&(kind, len): &(SourceKind, u64)| Source {
            name: String::new(),
            path: PathBuf::new(),
            kind,
            len,
            modified: 0,
            held: None,
        };
        Inputs {
            sources: all.iter().map(source).collect(),
            refused: Vec::new(),
        }
    }

    #[test]
    fn a_job_is_short_when_all_it_reads_is() {
        let warc = SourceKind::Warc;
        assert!(is_short(&inputs(&[])));
        assert!(is_short(&inputs(&[(warc, SHORT - 1), (warc, 1)])));
        assert!(!is_short(&inputs(&[(warc, SHORT), (warc, 1)])));
        assert!(!is_short(&inputs(&[(warc, u64::MAX), (warc, u64::MAX)])));
    }

    #[test]
    fn what_comes_through_a_pipe_may_be_long() {
        assert!(!is_short(&inputs(&[(SourceKind::Stdin, 0)])));
    }
}
