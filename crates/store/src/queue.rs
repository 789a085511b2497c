//! Jobs on their way to a connection, and the group commit that both databases share.
//!
//! Reads wait in one line. Writes wait in lanes, one per account: the jobs of a lane are taken
//! together and committed together, while other lanes go beside on other connections. The number of
//! waiting jobs is bounded; past it a caller is told so at once instead of waiting for ever.

use std::any::type_name;
use std::collections::{HashMap, HashSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use crate::scope::{Conn, Tools};
use crate::{Error, Reader, Result, Scope, Tx};

/// How many writes are committed together at most.
const BATCH: usize = 256;
/// A closure that takes longer holds up everybody behind it, and is logged.
const SLOW: Duration = Duration::from_millis(20);

/// A closure with its scope and the one who waits for its result.
pub(crate) trait Job: Send {
    fn wants_one_moment(&self) -> bool;
    /// Runs the closure and says whether its changes are to be kept.
    fn run(&mut self, conn: &dyn Conn, tools: &Tools) -> bool;
    /// Replaces the closure's result by an error that only showed when its changes were kept.
    fn refuse(&mut self, error: Error);
    /// The account that has news, now that its changes are kept.
    fn news(&self) -> Option<u128>;
    /// Answers: with the closure's result if `outcome` is well, else with its error.
    fn finish(self: Box<Self>, outcome: Result<()>);
}

struct Work<F, T, E> {
    scope: Scope,
    one_moment: bool,
    closure: Option<F>,
    result: Option<Result<T, E>>,
    /// Whether the bell is to ring once this is durable.
    news: bool,
    reply: oneshot::Sender<Result<T, E>>,
}

/// Packs a closure into a job; the receiver gets its result once it is durable.
pub(crate) fn job<F, T, E>(
    scope: Scope,
    one_moment: bool,
    closure: F,
) -> (Box<dyn Job>, oneshot::Receiver<Result<T, E>>)
where
    F: FnOnce(&Tx<'_>) -> Result<T, E> + Send + 'static,
    T: Send + 'static,
    E: From<Error> + Send + 'static,
{
    let (reply, answer) = oneshot::channel();
    let work = Work { scope, one_moment, closure: Some(closure), result: None, news: false, reply };
    (Box::new(work), answer)
}

impl<F, T, E> Job for Work<F, T, E>
where
    F: FnOnce(&Tx<'_>) -> Result<T, E> + Send,
    T: Send,
    E: From<Error> + Send,
{
    fn wants_one_moment(&self) -> bool {
        self.one_moment
    }

    fn run(&mut self, conn: &dyn Conn, tools: &Tools) -> bool {
        let closure = self.closure.take().expect("a job runs once");
        if self.reply.is_closed() {
            // Whoever asked was told that it took too long, or has gone: what was not begun is not done.
            return false;
        }
        let (result, news) = run(conn, &self.scope, tools, closure);
        self.news = news;
        let keep = result.is_ok();
        self.result = Some(result);
        keep
    }

    fn refuse(&mut self, error: Error) {
        self.result = Some(Err(E::from(error)));
    }

    fn news(&self) -> Option<u128> {
        let kept = self.news && matches!(self.result, Some(Ok(_)));
        kept.then(|| self.scope.bits()).flatten()
    }

    fn finish(mut self: Box<Self>, outcome: Result<()>) {
        let result = match outcome {
            Ok(()) => self.result.take().unwrap_or_else(|| Err(E::from(Error::Panicked))),
            Err(error) => Err(E::from(error)),
        };
        // A caller who went away does not undo what was done: sent is done.
        let _ = self.reply.send(result);
    }
}

/// Runs a closure from its first statement to its last, and says whether it has news. A panic is an error
/// like any other.
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
    let began = Instant::now();
    let result = catch_unwind(AssertUnwindSafe(|| closure(&tx)))
        .unwrap_or_else(|_| Err(E::from(Error::Panicked)));
    let took = began.elapsed();
    if took > SLOW && !scope.is_long() {
        tracing::warn!(millis = took.as_millis() as u64, job = type_name::<F>(), "slow job");
    }
    (result, tx.has_news())
}

/// A connection that can hold several jobs in one transaction.
pub(crate) trait Session: Conn {
    /// Begins a transaction that no other job of the lane overlaps.
    fn begin(&self, lane: u64) -> Result<()>;
    /// Begins a transaction that sees one moment and changes nothing.
    fn begin_moment(&self) -> Result<()>;
    /// Marks where the next job begins.
    fn mark(&self) -> Result<()>;
    /// Keeps what was done since the mark.
    fn keep(&self) -> Result<()>;
    /// Undoes what was done since the mark.
    fn undo(&self) -> Result<()>;
    /// Keeps everything, unless a statement that nobody waited for has failed: then nothing.
    fn commit(&self) -> Result<()>;
    fn rollback(&self) -> Result<()>;
}

/// Runs jobs of one lane in one transaction, each undone alone if it fails, commits once, and only
/// then answers them all. An answer may rest on what an earlier job of the batch wrote, so nobody is
/// answered before the commit, refusals included.
pub(crate) fn commit_together(
    session: &dyn Session,
    mut jobs: Vec<Box<dyn Job>>,
    tools: &Tools,
    stats: &Counters,
) -> Result<()> {
    let outcome = attempt(session, &mut jobs, tools, stats);
    if outcome.is_err() {
        // The transaction may be gone already, with the connection for instance.
        let _ = session.rollback();
    }
    stats.batches.fetch_add(1, Ordering::Relaxed);
    stats.jobs.fetch_add(jobs.len() as u64, Ordering::Relaxed);
    for job in jobs {
        if let Some(account) = job.news().filter(|_| outcome.is_ok()) {
            tools.bell.ring(account);
        }
        job.finish(outcome.clone());
    }
    outcome
}

fn attempt(
    session: &dyn Session,
    jobs: &mut [Box<dyn Job>],
    tools: &Tools,
    stats: &Counters,
) -> Result<()> {
    if let [job] = jobs {
        return alone(session, job, tools, stats);
    }
    for job in jobs {
        session.mark()?;
        let kept = job.run(session, tools).then(|| session.keep());
        if !matches!(kept, Some(Ok(()))) {
            session.undo()?;
        }
        if let Some(Err(error)) = kept {
            job.refuse(error);
        }
    }
    commit(session, stats)
}

/// The transaction of one job needs no mark: it is undone as a whole.
fn alone(
    session: &dyn Session,
    job: &mut Box<dyn Job>,
    tools: &Tools,
    stats: &Counters,
) -> Result<()> {
    if !job.run(session, tools) {
        return session.rollback();
    }
    match commit(session, stats) {
        // A rule that one of its last statements broke, which nobody had waited for.
        Err(error) if !matches!(error, Error::Unavailable(_)) => {
            job.refuse(error);
            session.rollback()
        }
        committed => committed,
    }
}

fn commit(session: &dyn Session, stats: &Counters) -> Result<()> {
    let began = Instant::now();
    session.commit()?;
    let micros = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
    stats.commit_micros.fetch_add(micros, Ordering::Relaxed);
    Ok(())
}

/// Answers jobs that were never begun.
pub(crate) fn refuse(jobs: Vec<Box<dyn Job>>, error: &Error) {
    for job in jobs {
        job.finish(Err(error.clone()));
    }
}

/// Runs a job that only looks.
pub(crate) fn look(session: &dyn Session, mut job: Box<dyn Job>, tools: &Tools) {
    let outcome = if job.wants_one_moment() {
        session.begin_moment().map(|()| {
            job.run(session, tools);
            // Nothing was changed, so how the transaction ends does not matter.
            let _ = session.rollback();
        })
    } else {
        job.run(session, tools);
        Ok(())
    };
    job.finish(outcome);
}

/// What the data layer counts.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) batches: AtomicU64,
    pub(crate) jobs: AtomicU64,
    pub(crate) reads: AtomicU64,
    pub(crate) commit_micros: AtomicU64,
    pub(crate) refused: AtomicU64,
}

/// The jobs that wait.
pub(crate) struct Queue {
    lines: Mutex<Lines>,
    limit: usize,
}

/// Threads with nothing to do. Whoever has rested least is called first: what its connection has prepared and read is
/// still at hand, and the others are not disturbed while one is enough.
#[derive(Default)]
struct Idle(Vec<Arc<Condvar>>);

impl Idle {
    fn call(&mut self) {
        if let Some(thread) = self.0.pop() {
            thread.notify_one();
        }
    }
}

#[derive(Default)]
struct Lines {
    reads: VecDeque<Box<dyn Job>>,
    lanes: HashMap<u64, VecDeque<Box<dyn Job>>>,
    /// Lanes with waiting jobs that no connection works on.
    ready: VecDeque<u64>,
    busy: HashSet<u64>,
    waiting_writes: usize,
    readers: Idle,
    writers: Idle,
    closed: bool,
}

impl Queue {
    pub(crate) fn new(limit: usize) -> Self {
        Self { lines: Mutex::default(), limit }
    }

    fn lines(&self) -> MutexGuard<'_, Lines> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn push_read(&self, job: Box<dyn Job>) -> Result<()> {
        let mut lines = self.lines();
        if lines.closed {
            return Err(Error::Unavailable("the service is stopping".to_owned()));
        }
        if lines.reads.len() >= self.limit {
            return Err(Error::Overloaded);
        }
        lines.reads.push_back(job);
        lines.readers.call();
        Ok(())
    }

    pub(crate) fn push_write(&self, lane: u64, job: Box<dyn Job>) -> Result<()> {
        let mut lines = self.lines();
        if lines.closed {
            return Err(Error::Unavailable("the service is stopping".to_owned()));
        }
        if lines.waiting_writes >= self.limit {
            return Err(Error::Overloaded);
        }
        lines.waiting_writes += 1;
        lines.lanes.entry(lane).or_default().push_back(job);
        let news = !lines.busy.contains(&lane) && lines.lanes[&lane].len() == 1;
        if news {
            lines.ready.push_back(lane);
            lines.writers.call();
        }
        Ok(())
    }

    /// The next read; `None` when the queue is closed and empty.
    pub(crate) fn next_read(&self) -> Option<Box<dyn Job>> {
        let mut lines = self.lines();
        loop {
            if let Some(job) = lines.reads.pop_front() {
                return Some(job);
            }
            if lines.closed {
                return None;
            }
            lines = rest(lines, |lines| &mut lines.readers);
        }
    }

    /// The next lane with its waiting jobs; the lane is busy until [`Queue::done`].
    pub(crate) fn next_writes(&self) -> Option<(u64, Vec<Box<dyn Job>>)> {
        let mut lines = self.lines();
        loop {
            if let Some(lane) = lines.ready.pop_front() {
                let waiting = lines.lanes.get_mut(&lane).expect("a ready lane has jobs");
                let count = waiting.len().min(BATCH);
                let jobs: Vec<_> = waiting.drain(..count).collect();
                lines.waiting_writes -= count;
                lines.busy.insert(lane);
                return Some((lane, jobs));
            }
            if lines.closed && lines.waiting_writes == 0 {
                // Whoever woke while something still waited rests again: each that leaves takes one of them along.
                lines.writers.call();
                return None;
            }
            lines = rest(lines, |lines| &mut lines.writers);
        }
    }

    /// The lane may be worked on again. Whoever says so takes the next one that is ready.
    pub(crate) fn done(&self, lane: u64) {
        let mut lines = self.lines();
        lines.busy.remove(&lane);
        if lines.lanes.get(&lane).is_some_and(|waiting| !waiting.is_empty()) {
            lines.ready.push_back(lane);
            if lines.ready.len() > 1 {
                lines.writers.call();
            }
        } else {
            lines.lanes.remove(&lane);
        }
    }

    /// Takes no more jobs; those that wait are still done.
    pub(crate) fn close(&self) {
        let mut lines = self.lines();
        lines.closed = true;
        let Lines { readers, writers, .. } = &mut *lines;
        for thread in readers.0.drain(..).chain(writers.0.drain(..)) {
            thread.notify_one();
        }
    }

    /// How many reads and writes wait.
    pub(crate) fn depth(&self) -> (usize, usize) {
        let lines = self.lines();
        (lines.reads.len(), lines.waiting_writes)
    }
}

/// Rests until somebody calls.
fn rest(
    mut lines: MutexGuard<'_, Lines>,
    among: impl Fn(&mut Lines) -> &mut Idle,
) -> MutexGuard<'_, Lines> {
    let own = Arc::new(Condvar::new());
    among(&mut lines).0.push(own.clone());
    lines = own.wait(lines).unwrap_or_else(PoisonError::into_inner);
    // A thread may wake without being called.
    among(&mut lines).0.retain(|idle| !Arc::ptr_eq(idle, &own));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn push(queue: &Queue) {
        let (job, _) = job(Scope::system("test"), false, |_: &Tx<'_>| Ok::<_, Error>(()));
        queue.push_write(1, job).unwrap();
    }

    #[test]
    fn threads_that_rest_leave_when_the_last_write_is_done() {
        let queue = Arc::new(Queue::new(9));
        push(&queue);
        let (lane, _) = queue.next_writes().unwrap();
        push(&queue);
        let resting: Vec<_> = (0..3)
            .map(|_| {
                let queue = queue.clone();
                std::thread::spawn(move || queue.next_writes().is_none())
            })
            .collect();
        let all_rest = || {
            while queue.lines().writers.0.len() < 3 {
                std::thread::yield_now();
            }
        };
        all_rest();
        queue.close();
        // They look, and what waits is not theirs to do.
        all_rest();
        queue.done(lane);
        let (lane, jobs) = queue.next_writes().unwrap();
        assert_eq!(jobs.len(), 1);
        queue.done(lane);
        assert!(queue.next_writes().is_none());
        assert!(resting.into_iter().all(|thread| thread.join().unwrap()));
    }
}
