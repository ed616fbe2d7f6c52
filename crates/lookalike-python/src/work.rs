//! Long work without the interpreter's lock, that a signal ends.
//!
//! ```text
//! calling thread: waits ─► progress(phase, done, total), signals ─► stop
//! thread of the work: the engine ─► what it tells ─┘
//! ```

use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use lookalike::add::{Event, Phase};
use lookalike::storage::Stop;
use pyo3::prelude::*;

/// How long a signal may wait.
const LOOK: Duration = Duration::from_millis(50);

/// How far a phase is; no total where it is not known.
#[derive(Clone, Copy, Debug)]
struct Told {
    phase: &'static str,
    done: u64,
    of: Option<u64>,
}

/// What the work tells.
#[derive(Default)]
pub(crate) struct Board {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    told: Vec<Told>,
    /// Whether the work waits until all of that was passed on.
    is_waiting: bool,
    is_over: bool,
}

impl Board {
    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, told: Told) {
        let mut state = self.lock();
        // Of one phase, only the latest is worth telling.
        match state.told.last_mut() {
            Some(last) if last.phase == told.phase => *last = told,
            _ => state.told.push(told),
        }
    }

    /// Waits until all was passed on: an exception that comes of it has stopped the work.
    fn settle(&self) {
        let mut state = self.lock();
        state.is_waiting = true;
        self.changed.notify_all();
        let waited = self.changed.wait_while(state, |state| state.is_waiting);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }

    /// What was told since, and whether there is more to come.
    fn wait(&self) -> (Vec<Told>, bool) {
        let state = self.lock();
        let waited = self
            .changed
            .wait_timeout_while(state, LOOK, |state| !state.is_over && !state.is_waiting);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        (std::mem::take(&mut state.told), state.is_over)
    }

    /// What was taken was passed on.
    fn passed_on(&self) {
        let mut state = self.lock();
        // More may have been told meanwhile.
        if state.told.is_empty() {
            state.is_waiting = false;
            self.changed.notify_all();
        }
    }
}

/// What the engine says while it works, as the board has it.
pub(crate) struct Watcher<'a> {
    board: &'a Board,
    phase: Phase,
    rows: Option<u64>,
}

impl<'a> Watcher<'a> {
    /// For so many rows, where that is known.
    pub(crate) fn new(board: &'a Board, rows: Option<u64>) -> Watcher<'a> {
        Watcher {
            board,
            phase: Phase::Sketch,
            rows,
        }
    }

    pub(crate) fn event(&mut self, event: &Event<'_>) {
        let (done, of) = match event {
            Event::Phase(phase) => {
                self.phase = *phase;
                (0, None)
            }
            Event::Read { records, bytes, of } => match self.rows {
                Some(rows) => (*records, Some(rows)),
                None => (*bytes, Some(*of).filter(|of| *of > 0)),
            },
            Event::Done { done, of } => (*done, Some(*of)),
            Event::Ready(_) => return self.board.settle(),
            _ => return,
        };
        let phase = self.phase.name();
        self.board.tell(Told { phase, done, of });
    }
}

impl lookalike::dedup::Watch for Watcher<'_> {
    fn event(&mut self, event: Event<'_>) {
        Watcher::event(self, &event);
    }
}

/// Ends the waiting, also when the work panics.
struct Over<'a>(&'a Board);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.lock().is_over = true;
        self.0.changed.notify_all();
    }
}

/// Does the work on a thread of its own. A signal, or an exception of `progress`, ends it
/// and is raised when it has ended; what would be written last is then not there.
pub(crate) fn run<T: Send>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&Stop, &Board) -> T + Send,
) -> PyResult<T> {
    let (stop, board) = (Stop::default(), Board::default());
    let (stop, board) = (&stop, &board);
    thread::scope(|scope| {
        let worker = scope.spawn(move || {
            let _over = Over(board);
            work(stop, board)
        });
        let mut raised = None;
        loop {
            let (told, is_over) = py.detach(|| board.wait());
            if raised.is_none() {
                let tell = || -> PyResult<()> {
                    py.check_signals()?;
                    if let Some(progress) = progress {
                        for Told { phase, done, of } in told {
                            progress.call1((phase, done, of))?;
                        }
                    }
                    Ok(())
                };
                if let Err(error) = tell() {
                    stop.stop();
                    raised = Some(error);
                }
            }
            board.passed_on();
            if is_over {
                break;
            }
        }
        let done = py.detach(|| worker.join());
        match (raised, done) {
            (_, Err(panic)) => std::panic::resume_unwind(panic),
            (Some(error), Ok(_)) => Err(error),
            (None, Ok(done)) => Ok(done),
        }
    })
}

/// Does work that knows no stop on a thread of its own. A signal is raised at once: the work
/// goes on to its end, and nobody takes what comes of it.
pub(crate) fn or_leave<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let (give, take) = mpsc::channel();
    let worker = thread::spawn(move || drop(give.send(work())));
    // The lock is never waited for: it is what lets a closure borrow the receiver.
    let take = Mutex::new(take);
    loop {
        let look = || {
            let take = take.lock().unwrap_or_else(PoisonError::into_inner);
            take.recv_timeout(LOOK)
        };
        match py.detach(look) {
            Ok(done) => return Ok(done),
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
            Err(RecvTimeoutError::Disconnected) => match worker.join() {
                Err(panic) => std::panic::resume_unwind(panic),
                Ok(()) => unreachable!("it gives what it made, or panics"),
            },
        }
    }
}
