//! The database handle: passes closures to the threads that own the connections.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use kit::IdGenerator;

use crate::options::Options;
use crate::queue::{Counters, Queue, job, run, spawn_thread};
use crate::scope::Tools;
use crate::sqlite::InlinePool;
use crate::{ChangeNotifier, Dialect, Error, Reader, Result, Scope, Tx, postgres, sqlite};

/// A database, SQLite or PostgreSQL. Cheap to clone.
#[derive(Clone)]
pub struct Db {
    inner: Arc<Inner>,
}

struct Inner {
    dialect: Dialect,
    /// The path of the SQLite file.
    path: Option<String>,
    /// SQLite connections for [`Db::read_inline`].
    inline_pool: Option<InlinePool>,
    tools: Arc<Tools>,
    queue: Arc<Queue>,
    stats: Arc<Counters>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// Counters of the data layer since the process started, and the current queue lengths.
#[derive(Debug, Clone, Copy)]
pub struct Stats {
    /// Write transactions; each contains one or more jobs.
    pub batches: u64,
    /// Write jobs.
    pub jobs: u64,
    /// Read jobs.
    pub reads: u64,
    /// Microseconds spent waiting for commits.
    pub commit_micros: u64,
    /// Jobs that were rejected because the queue was full.
    pub rejected: u64,
    /// Reads that are waiting now.
    pub waiting_reads: usize,
    /// Writes that are waiting now.
    pub waiting_writes: usize,
}

impl Db {
    /// Opens the database and starts its threads. Creates the SQLite file if it doesn't exist.
    pub fn open(options: Options) -> Result<Self> {
        let queue = Arc::new(Queue::new(options.queue_limit));
        let stats = Arc::new(Counters::default());
        let tools = Arc::new(Tools {
            clock: options.clock.clone(),
            rng: options.rng.clone(),
            ids: IdGenerator::default(),
            notifier: ChangeNotifier::default(),
        });
        let (dialect, inline_pool, threads) = if let Some(path) =
            options.url.strip_prefix("sqlite:")
        {
            let threads = sqlite::start(path, &queue, &tools, &stats)?;
            (Dialect::Sqlite, Some(InlinePool::open(path)?), threads)
        } else if options.url.starts_with("postgres://") || options.url.starts_with("postgresql://")
        {
            let threads = postgres::start(&options, &queue, &tools, &stats)?;
            (Dialect::Postgres, None, threads)
        } else {
            let hint = "use sqlite:PATH or postgres://USER@HOST/DATABASE";
            return Err(Error::Unavailable(format!("the database URL is not valid; {hint}")));
        };
        let threads = Mutex::new(threads);
        let path = options.url.strip_prefix("sqlite:").map(str::to_owned);
        let inner = Inner { dialect, path, inline_pool, tools, queue, stats, threads };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Which database this is.
    pub fn dialect(&self) -> Dialect {
        self.inner.dialect
    }

    /// Reports which accounts have new notifications.
    pub fn change_notifier(&self) -> &ChangeNotifier {
        &self.inner.tools.notifier
    }

    /// Generates an id that is greater than every id this process generated before.
    pub fn new_id<K>(&self) -> kit::Id<K> {
        let tools = &self.inner.tools;
        tools.ids.generate(tools.clock.now(), &tools.rng)
    }

    /// Runs a read-only closure.
    pub async fn read<T, E>(
        &self,
        scope: Scope,
        work: impl FnOnce(&Reader<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        self.queue_read(scope, false, work).await
    }

    /// Runs a read-only closure that fetches one or two rows by their keys. On SQLite it runs on the caller's
    /// thread: that takes a few microseconds, less than waking another thread.
    pub async fn read_inline<T, E>(
        &self,
        scope: Scope,
        work: impl FnOnce(&Reader<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        let mut work = Some(work);
        if let Some(pool) = &self.inner.inline_pool {
            let result = pool.with_connection(|connection| {
                let work = work.take().expect("the closure has not run yet");
                run(connection, &scope, &self.inner.tools, move |tx: &Tx<'_>| work(tx)).0
            });
            if let Some(result) = result {
                self.inner.stats.reads.fetch_add(1, Ordering::Relaxed);
                return result;
            }
        }
        let work = work.expect("the closure has not run yet");
        self.queue_read(scope, false, work).await
    }

    /// Runs a read-only closure in one transaction: all its statements see the same state of the database.
    pub async fn snapshot<T, E>(
        &self,
        scope: Scope,
        work: impl FnOnce(&Reader<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        self.queue_read(scope, true, work).await
    }

    async fn queue_read<T, E>(
        &self,
        scope: Scope,
        snapshot: bool,
        work: impl FnOnce(&Reader<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        let (job, reply) = job(scope, snapshot, move |tx: &Tx<'_>| work(tx));
        self.inner.count_rejection(self.inner.queue.push_read(job))?;
        self.inner.stats.reads.fetch_add(1, Ordering::Relaxed);
        reply.await.unwrap_or_else(|_| Err(E::from(Error::Panicked)))
    }

    /// Runs a closure that may write. Returns its result after the changes are durable.
    pub async fn write<T, E>(
        &self,
        scope: Scope,
        work: impl FnOnce(&Tx<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        // SQLite has one writer, so jobs of all accounts can share a transaction.
        let lane = if self.inner.dialect == Dialect::Sqlite { 0 } else { scope.lane() };
        let (job, reply) = job(scope, false, work);
        self.inner.count_rejection(self.inner.queue.push_write(lane, job))?;
        reply.await.unwrap_or_else(|_| Err(E::from(Error::Panicked)))
    }

    /// Removes deleted data from SQLite's write-ahead log. Does nothing on PostgreSQL, which vacuums by itself.
    pub async fn truncate_wal(&self) {
        let Some(path) = self.inner.path.clone() else { return };
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let spawned = spawn_thread("sqlite-wal", move || {
            // The receiver is gone if the process is shutting down.
            let _ = sender.send(sqlite::truncate_wal(&path));
        });
        let outcome = match spawned {
            Ok(_) => receiver.await.unwrap_or(Err(Error::Panicked)),
            Err(error) => Err(error),
        };
        if let Err(error) = outcome {
            tracing::warn!(%error, "deleted data may still be in the SQLite write-ahead log");
        }
    }

    /// Returns the current counters.
    pub fn stats(&self) -> Stats {
        let stats = &self.inner.stats;
        let (waiting_reads, waiting_writes) = self.inner.queue.depth();
        Stats {
            batches: stats.batches.load(Ordering::Relaxed),
            jobs: stats.jobs.load(Ordering::Relaxed),
            reads: stats.reads.load(Ordering::Relaxed),
            commit_micros: stats.commit_micros.load(Ordering::Relaxed),
            rejected: stats.rejected.load(Ordering::Relaxed),
            waiting_reads,
            waiting_writes,
        }
    }

    /// Runs the jobs that are waiting, then stops the threads and closes the connections.
    pub fn close(&self) {
        self.inner.queue.close();
        self.inner.tools.notifier.disable_remote();
        let mut threads = self.inner.threads.lock().unwrap_or_else(PoisonError::into_inner);
        for thread in threads.drain(..) {
            // Panics of jobs are caught, so the threads don't panic.
            let _ = thread.join();
        }
    }
}

impl Inner {
    fn count_rejection(&self, pushed: Result<()>) -> Result<()> {
        if pushed == Err(Error::Overloaded) {
            self.stats.rejected.fetch_add(1, Ordering::Relaxed);
        }
        pushed
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.queue.close();
        self.tools.notifier.disable_remote();
    }
}
