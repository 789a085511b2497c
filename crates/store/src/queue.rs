//! The queue of waiting jobs, and the group commit that both databases share.
//!
//! Reads wait in one FIFO queue. Writes wait in lanes, usually one per account: the waiting jobs of a lane run in one
//! transaction, and different lanes run in parallel on different connections. The number of waiting jobs is
//! limited; when the limit is reached, new jobs fail immediately with [`Error::Overloaded`].

use std::any::type_name;
use std::collections::{HashMap, HashSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use crate::scope::{Conn, Tools};
use crate::{Error, Reader, Result, Scope, Tx};

/// The maximum number of writes in one transaction.
const MAX_BATCH: usize = 256;
/// Closures that take longer are logged, because they delay all jobs behind them.
const SLOW_JOB: Duration = Duration::from_millis(20);

/// A closure with its scope and the channel for its result.
pub(crate) trait Job: Send {
    fn wants_snapshot(&self) -> bool;
    /// Runs the closure. Returns whether its changes should be kept.
    fn run(&mut self, conn: &dyn Conn, tools: &Tools) -> bool;
    /// Replaces the closure's result with an error that occurred after the closure returned.
    fn fail(&mut self, error: Error);
    /// The account to notify after the commit, if the closure succeeded and asked for it.
    fn changed_account(&self) -> Option<u128>;
    /// Sends the closure's result if `outcome` is `Ok`, otherwise its error.
    fn finish(self: Box<Self>, outcome: Result<()>);
}

struct ClosureJob<F, T, E> {
    scope: Scope,
    snapshot: bool,
    closure: Option<F>,
    result: Option<Result<T, E>>,
    /// Whether listeners of the account are notified after the commit.
    should_notify: bool,
    reply: oneshot::Sender<Result<T, E>>,
}

/// Wraps a closure in a job. The receiver gets its result after the changes are durable.
pub(crate) fn job<F, T, E>(
    scope: Scope,
    snapshot: bool,
    closure: F,
) -> (Box<dyn Job>, oneshot::Receiver<Result<T, E>>)
where
    F: FnOnce(&Tx<'_>) -> Result<T, E> + Send + 'static,
    T: Send + 'static,
    E: From<Error> + Send + 'static,
{
    let (reply, receiver) = oneshot::channel();
    let job = ClosureJob {
        scope,
        snapshot,
        closure: Some(closure),
        result: None,
        should_notify: false,
        reply,
    };
    (Box::new(job), receiver)
}

impl<F, T, E> Job for ClosureJob<F, T, E>
where
    F: FnOnce(&Tx<'_>) -> Result<T, E> + Send,
    T: Send,
    E: From<Error> + Send,
{
    fn wants_snapshot(&self) -> bool {
        self.snapshot
    }

    fn run(&mut self, conn: &dyn Conn, tools: &Tools) -> bool {
        let closure = self.closure.take().expect("a job runs once");
        if self.reply.is_closed() {
            // The caller timed out or disconnected before the job started, so it doesn't run at all.
            return false;
        }
        let (result, should_notify) = run(conn, &self.scope, tools, closure);
        self.should_notify = should_notify;
        let keep = result.is_ok();
        self.result = Some(result);
        keep
    }

    fn fail(&mut self, error: Error) {
        self.result = Some(Err(E::from(error)));
    }

    fn changed_account(&self) -> Option<u128> {
        let notify = self.should_notify && matches!(self.result, Some(Ok(_)));
        notify.then(|| self.scope.account_bits()).flatten()
    }

    fn finish(mut self: Box<Self>, outcome: Result<()>) {
        let result = match outcome {
            Ok(()) => self.result.take().unwrap_or_else(|| Err(E::from(Error::Panicked))),
            Err(error) => Err(E::from(error)),
        };
        // The caller may have disconnected; the changes are kept anyway.
        let _ = self.reply.send(result);
    }
}

/// Runs a closure to completion. Returns its result and whether it asked for listeners to be notified. A panic becomes
/// [`Error::Panicked`].
pub(crate) fn run<F, T, E>(
    conn: &dyn Conn,
    scope: &Scope,
    tools: &Tools,
    closure: F,
) -> (Result<T, E>, bool)
where
    F: FnOnce(&Tx<'_>) -> Result<T, E>,
    E: From<Error>,
{
    let reader = Reader::new(conn, scope, tools.clock.now());
    let tx = Tx::new(reader, tools);
    let start = Instant::now();
    let result = catch_unwind(AssertUnwindSafe(|| closure(&tx)))
        .unwrap_or_else(|_| Err(E::from(Error::Panicked)));
    let elapsed = start.elapsed();
    if elapsed > SLOW_JOB && !scope.is_long() {
        tracing::warn!(millis = elapsed.as_millis() as u64, job = type_name::<F>(), "slow job");
    }
    (result, tx.should_notify())
}

/// A connection that can run several jobs in one transaction.
pub(crate) trait Session: Conn {
    /// Begins a transaction that excludes other transactions of the same lane.
    fn begin(&self, lane: u64) -> Result<()>;
    /// Begins a read-only transaction in which all statements see the same state.
    fn begin_snapshot(&self) -> Result<()>;
    /// Sets the savepoint of the next job.
    fn set_savepoint(&self) -> Result<()>;
    /// Releases the savepoint and keeps the job's changes.
    fn release_savepoint(&self) -> Result<()>;
    /// Rolls back to the savepoint.
    fn rollback_to_savepoint(&self) -> Result<()>;
    /// Commits the transaction. Fails if a deferred statement has failed; nothing is committed then.
    fn commit(&self) -> Result<()>;
    fn rollback(&self) -> Result<()>;
}

/// Runs the jobs of one lane in one transaction, commits once, and then sends all results. A job that fails is rolled
/// back alone. A result may depend on what an earlier job of the batch wrote, so no result is sent before the commit,
/// errors included.
pub(crate) fn group_commit(
    session: &dyn Session,
    mut jobs: Vec<Box<dyn Job>>,
    tools: &Tools,
    stats: &Counters,
) -> Result<()> {
    let outcome = run_batch(session, &mut jobs, tools, stats);
    if outcome.is_err() {
        // Fails if the transaction has ended already, for example with a lost connection.
        let _ = session.rollback();
    }
    stats.batches.fetch_add(1, Ordering::Relaxed);
    stats.jobs.fetch_add(jobs.len() as u64, Ordering::Relaxed);
    for job in jobs {
        if let Some(account) = job.changed_account().filter(|_| outcome.is_ok()) {
            tools.notifier.notify(account);
        }
        job.finish(outcome.clone());
    }
    outcome
}

fn run_batch(
    session: &dyn Session,
    jobs: &mut [Box<dyn Job>],
    tools: &Tools,
    stats: &Counters,
) -> Result<()> {
    if let [job] = jobs {
        return run_single(session, job, tools, stats);
    }
    for job in jobs {
        session.set_savepoint()?;
        let released = job.run(session, tools).then(|| session.release_savepoint());
        if !matches!(released, Some(Ok(()))) {
            session.rollback_to_savepoint()?;
        }
        if let Some(Err(error)) = released {
            job.fail(error);
        }
    }
    commit(session, stats)
}

/// Runs a batch of one job, which needs no savepoint: if it fails, the transaction is rolled back.
fn run_single(
    session: &dyn Session,
    job: &mut Box<dyn Job>,
    tools: &Tools,
    stats: &Counters,
) -> Result<()> {
    if !job.run(session, tools) {
        return session.rollback();
    }
    match commit(session, stats) {
        // A deferred statement of the job has failed, for example because of a constraint.
        Err(error) if !matches!(error, Error::Unavailable(_)) => {
            job.fail(error);
            session.rollback()
        }
        outcome => outcome,
    }
}

fn commit(session: &dyn Session, stats: &Counters) -> Result<()> {
    let start = Instant::now();
    session.commit()?;
    let micros = u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX);
    stats.commit_micros.fetch_add(micros, Ordering::Relaxed);
    Ok(())
}

/// Fails jobs that have not started.
pub(crate) fn fail_all(jobs: Vec<Box<dyn Job>>, error: &Error) {
    for job in jobs {
        job.finish(Err(error.clone()));
    }
}

/// Runs a read-only job.
pub(crate) fn run_read(session: &dyn Session, mut job: Box<dyn Job>, tools: &Tools) {
    let outcome = if job.wants_snapshot() {
        session.begin_snapshot().map(|()| {
            job.run(session, tools);
            // The transaction is read-only, so it doesn't matter how it ends.
            let _ = session.rollback();
        })
    } else {
        job.run(session, tools);
        Ok(())
    };
    job.finish(outcome);
}

/// The counters behind [`crate::Stats`].
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) batches: AtomicU64,
    pub(crate) jobs: AtomicU64,
    pub(crate) reads: AtomicU64,
    pub(crate) commit_micros: AtomicU64,
    pub(crate) rejected: AtomicU64,
}

/// The waiting jobs.
pub(crate) struct Queue {
    state: Mutex<QueueState>,
    limit: usize,
}

/// Idle threads, as a stack. The one that became idle last is woken first: its connection's caches are warm, and the
/// others can stay asleep while one is enough.
#[derive(Default)]
struct IdleThreads(Vec<Arc<Condvar>>);

impl IdleThreads {
    fn wake_one(&mut self) {
        if let Some(thread) = self.0.pop() {
            thread.notify_one();
        }
    }
}

#[derive(Default)]
struct QueueState {
    reads: VecDeque<Box<dyn Job>>,
    lanes: HashMap<u64, VecDeque<Box<dyn Job>>>,
    /// Lanes with waiting jobs that no connection is running.
    ready: VecDeque<u64>,
    /// Lanes whose jobs a connection is running.
    busy: HashSet<u64>,
    waiting_writes: usize,
    readers: IdleThreads,
    writers: IdleThreads,
    closed: bool,
}

impl Queue {
    pub(crate) fn new(limit: usize) -> Self {
        Self { state: Mutex::default(), limit }
    }

    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn push_read(&self, job: Box<dyn Job>) -> Result<()> {
        let mut state = self.lock();
        if state.closed {
            return Err(Error::Unavailable("the service is stopping".to_owned()));
        }
        if state.reads.len() >= self.limit {
            return Err(Error::Overloaded);
        }
        state.reads.push_back(job);
        state.readers.wake_one();
        Ok(())
    }

    pub(crate) fn push_write(&self, lane: u64, job: Box<dyn Job>) -> Result<()> {
        let mut state = self.lock();
        if state.closed {
            return Err(Error::Unavailable("the service is stopping".to_owned()));
        }
        if state.waiting_writes >= self.limit {
            return Err(Error::Overloaded);
        }
        state.waiting_writes += 1;
        state.lanes.entry(lane).or_default().push_back(job);
        let became_ready = !state.busy.contains(&lane) && state.lanes[&lane].len() == 1;
        if became_ready {
            state.ready.push_back(lane);
            state.writers.wake_one();
        }
        Ok(())
    }

    /// Waits for the next read. Returns `None` when the queue is closed and empty.
    pub(crate) fn next_read(&self) -> Option<Box<dyn Job>> {
        let mut state = self.lock();
        loop {
            if let Some(job) = state.reads.pop_front() {
                return Some(job);
            }
            if state.closed {
                return None;
            }
            state = wait_for_work(state, |state| &mut state.readers);
        }
    }

    /// Waits for the next lane with waiting jobs, and takes up to [`MAX_BATCH`] of them. The lane is busy until
    /// [`Queue::release_lane`]. Returns `None` when the queue is closed and empty.
    pub(crate) fn next_writes(&self) -> Option<(u64, Vec<Box<dyn Job>>)> {
        let mut state = self.lock();
        loop {
            if let Some(lane) = state.ready.pop_front() {
                let waiting = state.lanes.get_mut(&lane).expect("a ready lane has jobs");
                let count = waiting.len().min(MAX_BATCH);
                let jobs: Vec<_> = waiting.drain(..count).collect();
                state.waiting_writes -= count;
                state.busy.insert(lane);
                return Some((lane, jobs));
            }
            if state.closed && state.waiting_writes == 0 {
                // Threads that `close` woke while writes were still waiting are idle again: each thread that ends wakes
                // the next one.
                state.writers.wake_one();
                return None;
            }
            state = wait_for_work(state, |state| &mut state.writers);
        }
    }

    /// Marks the lane as no longer busy. The caller takes the next ready lane itself, so another thread is woken only
    /// if there are several.
    pub(crate) fn release_lane(&self, lane: u64) {
        let mut state = self.lock();
        state.busy.remove(&lane);
        if state.lanes.get(&lane).is_some_and(|waiting| !waiting.is_empty()) {
            state.ready.push_back(lane);
            if state.ready.len() > 1 {
                state.writers.wake_one();
            }
        } else {
            state.lanes.remove(&lane);
        }
    }

    /// Rejects new jobs from now on. Waiting jobs still run.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        let QueueState { readers, writers, .. } = &mut *state;
        for thread in readers.0.drain(..).chain(writers.0.drain(..)) {
            thread.notify_one();
        }
    }

    /// The numbers of waiting reads and writes.
    pub(crate) fn depth(&self) -> (usize, usize) {
        let state = self.lock();
        (state.reads.len(), state.waiting_writes)
    }
}

/// Registers the current thread as idle and waits until it is woken.
fn wait_for_work(
    mut state: MutexGuard<'_, QueueState>,
    idle_threads: impl Fn(&mut QueueState) -> &mut IdleThreads,
) -> MutexGuard<'_, QueueState> {
    let condvar = Arc::new(Condvar::new());
    idle_threads(&mut state).0.push(condvar.clone());
    state = condvar.wait(state).unwrap_or_else(PoisonError::into_inner);
    // A spurious wake-up leaves the thread registered.
    idle_threads(&mut state).0.retain(|idle| !Arc::ptr_eq(idle, &condvar));
    state
}

/// Starts a named thread.
pub(crate) fn spawn_thread(
    name: &str,
    work: impl FnOnce() + Send + 'static,
) -> Result<std::thread::JoinHandle<()>> {
    std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(work)
        .map_err(|error| Error::Unavailable(format!("cannot start a database thread: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn push(queue: &Queue) {
        let (job, _) = job(Scope::system("test"), false, |_: &Tx<'_>| Ok::<_, Error>(()));
        queue.push_write(1, job).unwrap();
    }

    #[test]
    fn idle_threads_end_when_the_queue_is_closed_and_the_last_write_is_done() {
        let queue = Arc::new(Queue::new(9));
        push(&queue);
        let (lane, _) = queue.next_writes().unwrap();
        push(&queue);
        let idle: Vec<_> = (0..3)
            .map(|_| {
                let queue = queue.clone();
                std::thread::spawn(move || queue.next_writes().is_none())
            })
            .collect();
        let wait_until_all_idle = || {
            while queue.lock().writers.0.len() < 3 {
                std::thread::yield_now();
            }
        };
        wait_until_all_idle();
        queue.close();
        // They wake up, find only a write of a busy lane, and become idle again.
        wait_until_all_idle();
        queue.release_lane(lane);
        let (lane, jobs) = queue.next_writes().unwrap();
        assert_eq!(jobs.len(), 1);
        queue.release_lane(lane);
        assert!(queue.next_writes().is_none());
        assert!(idle.into_iter().all(|thread| thread.join().unwrap()));
    }
}
