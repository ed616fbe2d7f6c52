//! Work done by several threads, taken in order: the number of threads never shows.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;

/// Does `count` pieces of work, several at a time, and hands each result to `take` in
/// their order, on the calling thread. At most a few results wait, so memory is bounded.
/// The first error of `take` or of a piece ends it.
///
/// `state` makes what each thread works with: buffers, a sketcher.
pub(crate) fn in_order<S, T: Send, E: Send>(
    threads: NonZeroUsize,
    count: usize,
    state: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, usize) -> Result<T, E> + Sync,
    mut take: impl FnMut(usize, T) -> Result<(), E>,
) -> Result<(), E> {
    if threads.get() == 1 || count < 2 {
        let mut own = state();
        return (0..count).try_for_each(|i| take(i, work(&mut own, i)?));
    }
    // So far ahead of the piece that is waited for may threads run.
    let ahead = 2 * threads.get();
    let next = AtomicUsize::new(0);
    let stop = AtomicBool::new(false);
    let shared = Mutex::new((BTreeMap::new(), 0_usize));
    let changed = Condvar::new();
    let lock = || shared.lock().unwrap_or_else(PoisonError::into_inner);
    let wake = || {
        // With the lock in hand: nobody is between looking at `stop` and waiting.
        let _guard = lock();
        stop.store(true, Ordering::Relaxed);
        changed.notify_all();
    };
    thread::scope(|scope| {
        // Whatever ends this function wakes and ends the threads.
        let _ending = AtEnd(&wake);
        for _ in 0..threads.get() {
            scope.spawn(|| {
                let ending = AtEnd(&wake);
                let mut own = state();
                loop {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    if i >= count {
                        // The others may still be at work: nothing is to end.
                        std::mem::forget(ending);
                        return;
                    }
                    let mut guard = lock();
                    while i >= guard.1 + ahead && !stop.load(Ordering::Relaxed) {
                        guard = changed.wait(guard).unwrap_or_else(PoisonError::into_inner);
                    }
                    drop(guard);
                    if stop.load(Ordering::Relaxed) {
                        return;
                    }
                    let done = work(&mut own, i);
                    lock().0.insert(i, done);
                    changed.notify_all();
                }
            });
        }
        for i in 0..count {
            let mut guard = lock();
            let done = loop {
                if let Some(done) = guard.0.remove(&i) {
                    break done;
                }
                assert!(!stop.load(Ordering::Relaxed), "a thread has panicked");
                guard = changed.wait(guard).unwrap_or_else(PoisonError::into_inner);
            };
            guard.1 = i + 1;
            drop(guard);
            changed.notify_all();
            take(i, done?)?;
        }
        Ok(())
    })
}

struct AtEnd<'a, F: Fn()>(&'a F);

impl<F: Fn()> Drop for AtEnd<'_, F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order_whatever_the_threads() {
        for threads in [1, 2, 3, 8] {
            let threads = NonZeroUsize::new(threads).expect("not zero");
            let mut got = Vec::new();
            let done: Result<(), ()> = in_order(
                threads,
                500,
                || 0_usize,
                |calls, i| {
                    *calls += 1;
                    if i % 7 == 0 {
                        thread::yield_now();
                    }
                    Ok(i * i)
                },
                |i, square| {
                    got.push((i, square));
                    Ok(())
                },
            );
            assert_eq!(done, Ok(()));
            assert!(got.iter().copied().eq((0..500).map(|i| (i, i * i))));
        }
    }

    #[test]
    fn an_error_ends_it_at_its_place() {
        for threads in [1, 4] {
            let threads = NonZeroUsize::new(threads).expect("not zero");
            let mut taken = 0;
            let done = in_order(
                threads,
                1000,
                || (),
                |(), i| if i == 300 { Err(i) } else { Ok(()) },
                |_, ()| {
                    taken += 1;
                    Ok(())
                },
            );
            assert_eq!((done, taken), (Err(300), 300));
        }
    }
}
