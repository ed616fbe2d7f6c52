//! An allocator that counts, thread by thread.
//!
//! ```text
//! #[global_allocator]
//! static ALLOCATOR: Counting = Counting;
//! ```

#![expect(unsafe_code, reason = "an allocator cannot be written without")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator, with what this thread asked of it written down.
pub struct Counting;

/// What a piece of work asked of the allocator.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Asked {
    /// Allocations and re-allocations.
    pub calls: usize,
    /// The most bytes held at once, beyond those held before.
    pub peak: usize,
}

thread_local! {
    // `const`, and nothing to drop: reading them allocates nothing.
    static CALLS: Cell<usize> = const { Cell::new(0) };
    static HELD: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

/// Runs `work` and tells what it asked of the allocator. What it returns is dropped after
/// the count.
pub fn asked<T>(work: impl FnOnce() -> T) -> Asked {
    let (calls, held) = (CALLS.get(), HELD.get());
    PEAK.set(held);
    let result = std::hint::black_box(work());
    let asked = Asked {
        calls: CALLS.get() - calls,
        peak: (PEAK.get() - held).unsigned_abs(),
    };
    drop(result);
    asked
}

fn note(calls: usize, bytes: isize) {
    CALLS.set(CALLS.get() + calls);
    HELD.set(HELD.get() + bytes);
    PEAK.set(PEAK.get().max(HELD.get()));
}

// SAFETY: every call goes to the system's allocator as it came; counting touches only
// thread-local cells, which neither allocate nor unwind.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(1, layout.size().cast_signed());
        // SAFETY: the caller keeps `alloc`'s contract, which is the system's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(1, layout.size().cast_signed());
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        note(0, -layout.size().cast_signed());
        // SAFETY: the caller had `memory` from here, so from the system, with this layout.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note(1, size.cast_signed() - layout.size().cast_signed());
        // SAFETY: as above, and the caller vouches for `size`.
        unsafe { System.realloc(memory, layout, size) }
    }
}
