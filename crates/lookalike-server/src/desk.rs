//! Where work for the processor is done: off the threads that serve connections, by few
//! at a time, and refused when too many wait.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;

use crate::refusal::Refusal;

/// How long a piece of work may wait for its turn.
const PATIENCE: Duration = Duration::from_secs(10);

/// Pieces of short work that may be under way or waiting.
const QUEUE: usize = 128;

/// Pieces of long work that may wait.
const LONG_QUEUE: usize = 16;

/// Gives out work.
#[derive(Debug)]
pub(crate) struct Desk {
    short: Arc<Semaphore>,
    long: Arc<Semaphore>,
    long_turns: Arc<Semaphore>,
}

/// Long work that is done at once. As many threads are kept for it beside the others.
pub(crate) const LONG_TURNS: usize = 2;

impl Desk {
    pub(crate) fn new() -> Desk {
        Desk {
            short: Arc::new(Semaphore::new(QUEUE)),
            long: Arc::new(Semaphore::new(LONG_QUEUE)),
            long_turns: Arc::new(Semaphore::new(LONG_TURNS)),
        }
    }

    /// Work of about a millisecond.
    pub(crate) async fn short<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let place = self.short.clone().try_acquire_owned();
        let _place = place.map_err(|_| Refusal::full())?;
        run(work).await
    }

    /// Work that may take longer: reading sources, whole tables. It never keeps short work
    /// from its turn.
    pub(crate) async fn long<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let place = self.long.clone().try_acquire_owned();
        let _place = place.map_err(|_| Refusal::full())?;
        let turn = tokio::time::timeout(PATIENCE, self.long_turns.clone().acquire_owned()).await;
        let _turn = turn.map_err(|_| Refusal::full())?;
        run(work).await
    }
}

async fn run<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Refusal> + Send + 'static,
) -> Result<T, Refusal> {
    let asked = Instant::now();
    let done = tokio::task::spawn_blocking(move || {
        // Whoever asked so long ago is no longer waiting.
        if asked.elapsed() > PATIENCE {
            return Err(Refusal::full());
        }
        work()
    });
    done.await
        .unwrap_or_else(|_| Err(Refusal::broken("the work on this request broke off")))
}
