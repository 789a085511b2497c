//! Runs expensive work on blocking threads, away from database jobs and async tasks. Only a few pieces of work run at a
//! time, and the number of waiting callers is bounded.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Semaphore;

use crate::error::{Code, Error, Result};

/// A pool for one kind of work.
#[derive(Debug)]
pub struct BlockingPool {
    permits: Arc<Semaphore>,
    waiting: AtomicUsize,
    max_waiting: usize,
    /// The error for callers above the maximum.
    overloaded: &'static str,
}

impl BlockingPool {
    /// Runs `concurrent` pieces of work at a time. Up to `max_waiting` callers wait or are being served; further ones get
    /// [`Code::Overloaded`].
    pub fn new(concurrent: usize, max_waiting: usize, overloaded: &'static str) -> Self {
        let permits = Arc::new(Semaphore::new(concurrent));
        Self { permits, waiting: AtomicUsize::new(0), max_waiting, overloaded }
    }

    /// Runs the work. Fails if it panics.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T> {
        let _guard = self.begin_waiting()?;
        let closed = |_| Error::internal("the semaphore of a blocking pool is closed");
        let permit = self.permits.clone().acquire_owned().await.map_err(closed)?;
        let task = tokio::task::spawn_blocking(move || {
            let result = work();
            // Held until the work is done, even if the caller has disconnected.
            drop(permit);
            result
        });
        task.await.map_err(|_| Error::internal("work on a blocking thread panicked"))
    }

    fn begin_waiting(&self) -> Result<WaitingGuard<'_>> {
        let guard = WaitingGuard(&self.waiting);
        if self.waiting.fetch_add(1, Ordering::Relaxed) < self.max_waiting {
            return Ok(guard);
        }
        Err(Error::new(Code::Overloaded, self.overloaded).retry_after(5))
    }
}

/// Counts a caller as waiting until it is dropped.
struct WaitingGuard<'a>(&'a AtomicUsize);

impl Drop for WaitingGuard<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
