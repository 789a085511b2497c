//! The door to the database: hands closures to the threads that own the connections.

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use kit::{Clock, Dice, IdMaker};

use crate::queue::{Counters, Queue, job, run};
use crate::scope::Tools;
use crate::sqlite::Nearby;
use crate::{Bell, Dialect, Error, Reader, Result, Scope, Tx, postgres, sqlite};

/// How to open a database.
#[derive(Debug, Clone)]
pub struct Options {
    /// `sqlite:PATH` or `postgres://…`.
    pub url: String,
    /// A PEM file with the authority that vouches for a PostgreSQL server, beside the public ones.
    pub authority: Option<PathBuf>,
    /// How many connections to a PostgreSQL server; half of them write. One more hears other nodes.
    pub connections: usize,
    /// How many jobs may wait, reads and writes each, before callers are told to come back later.
    pub queue: usize,
    /// The process's clock.
    pub clock: Clock,
    /// The process's dice.
    pub dice: Arc<Dice>,
}

/// A database, SQLite or PostgreSQL. Cheap to clone.
#[derive(Clone)]
pub struct Db {
    inner: Arc<Inner>,
}

struct Inner {
    dialect: Dialect,
    /// Where SQLite's file lies.
    path: Option<String>,
    /// SQLite's connections for short looks.
    nearby: Option<Nearby>,
    tools: Arc<Tools>,
    queue: Arc<Queue>,
    stats: Arc<Counters>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// What the data layer has done and what waits.
#[derive(Debug, Clone, Copy)]
pub struct Stats {
    /// Transactions that were committed, each for one job or many.
    pub batches: u64,
    /// Jobs that were part of them.
    pub jobs: u64,
    /// Jobs that only looked.
    pub reads: u64,
    /// Microseconds spent in waiting for commits.
    pub commit_micros: u64,
    /// Jobs that were turned away because too many were waiting.
    pub refused: u64,
    /// Reads waiting now.
    pub waiting_reads: usize,
    /// Writes waiting now.
    pub waiting_writes: usize,
}

impl Db {
    /// Opens the database and starts its threads. A SQLite file is made if it is not there.
    pub fn open(options: Options) -> Result<Self> {
        let queue = Arc::new(Queue::new(options.queue));
        let stats = Arc::new(Counters::default());
        let tools = Arc::new(Tools {
            clock: options.clock.clone(),
            dice: options.dice.clone(),
            ids: IdMaker::default(),
            bell: Bell::default(),
        });
        let (dialect, nearby, threads) = if let Some(path) = options.url.strip_prefix("sqlite:") {
            let threads = sqlite::start(path, &queue, &tools, &stats)?;
            (Dialect::Sqlite, Some(Nearby::open(path)?), threads)
        } else if options.url.starts_with("postgres://") || options.url.starts_with("postgresql://")
        {
            let threads = postgres::start(&options, &queue, &tools, &stats)?;
            (Dialect::Postgres, None, threads)
        } else {
            let hint = "use sqlite:PATH or postgres://USER@HOST/DATABASE";
            return Err(Error::Unavailable(format!("the address is not understood; {hint}")));
        };
        let threads = Mutex::new(threads);
        let path = options.url.strip_prefix("sqlite:").map(str::to_owned);
        Ok(Self { inner: Arc::new(Inner { dialect, path, nearby, tools, queue, stats, threads }) })
    }

    /// Which database this is.
    pub fn dialect(&self) -> Dialect {
        self.inner.dialect
    }

    /// What rings when a change with news is durable.
    pub fn bell(&self) -> &Bell {
        &self.inner.tools.bell
    }

    /// A fresh id, greater than every one this process made before.
    pub fn new_id<K>(&self) -> kit::Id<K> {
        let tools = &self.inner.tools;
        tools.ids.make(tools.clock.now(), &tools.dice)
    }

    /// Runs a closure that only looks.
    pub async fn read<T, E>(
        &self,
        scope: Scope,
        work: impl FnOnce(&Reader<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        self.look(scope, false, work).await
    }

    /// Runs a closure that only looks at a row or two by their keys. On SQLite it is run right here: a
    /// few microseconds, less than it takes to wake another thread.
    pub async fn glance<T, E>(
        &self,
        scope: Scope,
        work: impl FnOnce(&Reader<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        let mut work = Some(work);
        if let Some(nearby) = &self.inner.nearby {
            let here = nearby.lend(|file| {
                let work = work.take().expect("it was not run yet");
                run(file, &scope, &self.inner.tools, move |tx: &Tx<'_>| work(tx)).0
            });
            if let Some(result) = here {
                self.inner.stats.reads.fetch_add(1, Ordering::Relaxed);
                return result;
            }
        }
        let work = work.expect("nobody has run it");
        self.look(scope, false, work).await
    }

    /// Runs a closure that only looks and sees one moment throughout, however long it takes.
    pub async fn snapshot<T, E>(
        &self,
        scope: Scope,
        work: impl FnOnce(&Reader<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        self.look(scope, true, work).await
    }

    async fn look<T, E>(
        &self,
        scope: Scope,
        one_moment: bool,
        work: impl FnOnce(&Reader<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        let (job, answer) = job(scope, one_moment, move |tx: &Tx<'_>| work(tx));
        self.inner.counted(self.inner.queue.push_read(job))?;
        self.inner.stats.reads.fetch_add(1, Ordering::Relaxed);
        answer.await.unwrap_or_else(|_| Err(E::from(Error::Panicked)))
    }

    /// Runs a closure that may change. The answer comes when its changes are durable.
    pub async fn write<T, E>(
        &self,
        scope: Scope,
        work: impl FnOnce(&Tx<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        // SQLite has one writer: all accounts share its transactions.
        let lane = if self.inner.dialect == Dialect::Sqlite { 0 } else { scope.lane() };
        let (job, answer) = job(scope, false, work);
        self.inner.counted(self.inner.queue.push_write(lane, job))?;
        answer.await.unwrap_or_else(|_| Err(E::from(Error::Panicked)))
    }

    /// Sees to it that nothing of what was deleted is left in a file of SQLite. A PostgreSQL server sweeps
    /// by itself.
    pub async fn scrub(&self) {
        let Some(path) = self.inner.path.clone() else { return };
        let (done, scrubbed) = tokio::sync::oneshot::channel();
        let sweep = thread("sqlite-scrub", move || {
            // Nobody waits for it when the process is about to end.
            let _ = done.send(sqlite::scrub(&path));
        });
        let outcome = match sweep {
            Ok(_) => scrubbed.await.unwrap_or(Err(Error::Panicked)),
            Err(error) => Err(error),
        };
        if let Err(error) = outcome {
            tracing::warn!(%error, "what was deleted may still lie in the database's log");
        }
    }

    /// What was done and what waits.
    pub fn stats(&self) -> Stats {
        let stats = &self.inner.stats;
        let (waiting_reads, waiting_writes) = self.inner.queue.depth();
        Stats {
            batches: stats.batches.load(Ordering::Relaxed),
            jobs: stats.jobs.load(Ordering::Relaxed),
            reads: stats.reads.load(Ordering::Relaxed),
            commit_micros: stats.commit_micros.load(Ordering::Relaxed),
            refused: stats.refused.load(Ordering::Relaxed),
            waiting_reads,
            waiting_writes,
        }
    }

    /// Does what waits, then stops the threads and closes the connections.
    pub fn close(&self) {
        self.inner.queue.close();
        self.inner.tools.bell.take_down();
        let mut threads = self.inner.threads.lock().unwrap_or_else(PoisonError::into_inner);
        for thread in threads.drain(..) {
            // A job's panic is caught around the job; a thread has nothing left to panic with.
            let _ = thread.join();
        }
    }
}

impl Inner {
    fn counted(&self, pushed: Result<()>) -> Result<()> {
        if pushed == Err(Error::Overloaded) {
            self.stats.refused.fetch_add(1, Ordering::Relaxed);
        }
        pushed
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.queue.close();
        self.tools.bell.take_down();
    }
}

/// Starts a named thread.
pub(crate) fn thread(name: &str, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>> {
    std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(work)
        .map_err(|error| Error::Unavailable(format!("no thread for the database: {error}")))
}
