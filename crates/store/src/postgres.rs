//! PostgreSQL: every connection has a thread with a tokio runtime of its own; half of the threads write.
//!
//! A write transaction holds the advisory lock of its lane (usually the account) from the first statement to the
//! durable commit, so reading and then writing is as safe as with SQLite's single writer. Statements are prepared once
//! per connection. A lost connection is replaced before the next job.

mod listen_notify;
mod values;

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use futures_util::{FutureExt, TryStreamExt};
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;
use tokio_postgres::config::SslMode;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Config, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

use self::values::{EncodedColumn, PgRow};
use crate::options::Options;
use crate::queue::{Counters, Queue, Session, fail_all, group_commit, run_read, spawn_thread};
use crate::scope::{Conn, Tools};
use crate::sql::InsertColumn;
use crate::statement::{Params, PreparedStatement, StatementCache};
use crate::tls::postgres_connector;
use crate::{Dialect, Error, Result, Row, Value};

/// Session settings. The timeouts make sure that a lost client doesn't hold a lock forever. Sequential scans are off
/// because every query has an index: a prepared statement that was planned while a table was small would otherwise keep
/// scanning it after it has grown.
const SESSION_SETTINGS: &str = "-c statement_timeout=25s -c lock_timeout=20s \
    -c idle_in_transaction_session_timeout=30s -c client_min_messages=warning \
    -c enable_seqscan=off -c jit=off";
/// A connection that was idle for longer is tested before it is used.
const CHECK_AFTER_IDLE: Duration = Duration::from_millis(200);

/// The maximum number of deferred statements whose results have not been awaited.
const MAX_DEFERRED: usize = 256;

/// From this number of rows on, columns with the same value in all rows are sent once instead of as an array.
const MIN_ROWS_FOR_CONSTANTS: usize = 16;

/// Connects and starts the threads.
pub(crate) fn start(
    options: &Options,
    queue: &Arc<Queue>,
    tools: &Arc<Tools>,
    stats: &Arc<Counters>,
) -> Result<Vec<std::thread::JoinHandle<()>>> {
    let mut config: Config = options.url.parse().map_err(|error: tokio_postgres::Error| {
        Error::Unavailable(format!("the PostgreSQL URL is not valid: {error}"))
    })?;
    config
        .options(SESSION_SETTINGS)
        .application_name("touchline")
        .connect_timeout(Duration::from_secs(5))
        .keepalives_idle(Duration::from_secs(30));
    let encrypted = config.get_ssl_mode() == SslMode::Require;
    let tls = encrypted.then(|| postgres_connector(options.ca_file.as_deref())).transpose()?;
    let (connected, first_connected) = mpsc::channel();
    let mut threads = Vec::new();
    for number in 0..options.connections.max(2) {
        let mut connection = WorkerConnection {
            config: config.clone(),
            tls: tls.clone(),
            session: None,
            last_used: Instant::now(),
        };
        let (queue, tools, stats) = (queue.clone(), tools.clone(), stats.clone());
        let connected = (number == 0).then(|| connected.clone());
        let name = if number % 2 == 0 { "postgres-read" } else { "postgres-write" };
        threads.push(spawn_thread(name, move || {
            if let Some(connected) = connected {
                // Cannot fail: `start` waits for this message.
                let _ = connected.send(connection.connect());
            }
            if number % 2 == 0 {
                read_loop(connection, &queue, &tools);
            } else {
                write_loop(connection, &queue, &tools, &stats);
            }
        })?);
    }
    // The first thread connects at once, so a wrong URL is reported at startup and not at the first request.
    if let Err(error) = first_connected.recv().unwrap_or(Err(Error::Panicked)) {
        queue.close();
        return Err(error);
    }
    let (shutdown, tools) = (tools.notifier.enable_remote(), tools.clone());
    threads.push(spawn_thread("postgres-notify", move || {
        listen_notify::run(&config, tls, shutdown, &tools);
    })?);
    Ok(threads)
}

fn read_loop(mut connection: WorkerConnection, queue: &Queue, tools: &Tools) {
    while let Some(job) = queue.next_read() {
        match connection.session() {
            Ok(session) => {
                run_read(session, job, tools);
                // Drops prefetched results that the job didn't use, so the next job doesn't get them.
                let _ = session.await_pending();
            }
            Err(error) => job.finish(Err(error)),
        }
    }
}

fn write_loop(mut connection: WorkerConnection, queue: &Queue, tools: &Tools, stats: &Counters) {
    while let Some((lane, jobs)) = queue.next_writes() {
        match connection.begin(lane) {
            Ok(session) => {
                if let Err(error) = group_commit(session, jobs, tools, stats) {
                    tracing::error!(%error, "a commit failed and was rolled back");
                }
            }
            Err(error) => fail_all(jobs, &error),
        }
        queue.release_lane(lane);
    }
}

/// The connection of one thread. Reconnects when the connection was lost.
struct WorkerConnection {
    config: Config,
    tls: Option<MakeRustlsConnect>,
    session: Option<PgSession>,
    last_used: Instant,
}

impl WorkerConnection {
    fn connect(&mut self) -> Result<()> {
        self.session = None;
        let connected = PgSession::connect(&self.config, self.tls.as_ref());
        // A server error while connecting isn't caused by one of our statements.
        self.session = Some(connected.map_err(|error| match error {
            Error::Database(reason) => Error::Unavailable(reason),
            other => other,
        })?);
        Ok(())
    }

    /// Returns the open connection, after connecting again if it was lost.
    fn session(&mut self) -> Result<&PgSession> {
        let lost = self.session.as_ref().is_none_or(|session| {
            let idle = self.last_used.elapsed() > CHECK_AFTER_IDLE;
            session.client.is_closed() || (idle && session.execute_text("").is_err())
        });
        if lost {
            self.connect()?;
        }
        self.last_used = Instant::now();
        Ok(self.session.as_ref().expect("it was just connected"))
    }

    /// Begins a transaction. If the connection turns out to be lost, retries on a new one, which is safe because no
    /// statement has run yet.
    fn begin(&mut self, lane: u64) -> Result<&PgSession> {
        let outcome = self.session()?.begin(lane);
        match outcome {
            Err(Error::Unavailable(_)) => {
                self.connect()?;
                self.session()?.begin(lane)?;
            }
            Err(error) => {
                let _ = self.session()?.rollback();
                return Err(error);
            }
            Ok(()) => {}
        }
        self.session()
    }
}

type Pending<T> = Pin<Box<dyn Future<Output = Result<T, tokio_postgres::Error>> + Send>>;

/// An open connection to the server.
struct PgSession {
    runtime: Runtime,
    client: Arc<Client>,
    statements: StatementCache<tokio_postgres::Statement>,
    /// The pending results of deferred statements.
    deferred: RefCell<Vec<Pending<()>>>,
    /// Queries that were sent before the job needs their results.
    prefetched: RefCell<Vec<Prefetch>>,
}

/// A query that was sent ahead, and its pending result.
struct Prefetch {
    sql: &'static str,
    values: Vec<Value<'static>>,
    rows: JoinHandle<Rows>,
}

type Rows = Result<Vec<tokio_postgres::Row>, tokio_postgres::Error>;

impl PgSession {
    fn connect(config: &Config, tls: Option<&MakeRustlsConnect>) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Error::Unavailable(error.to_string()))?;
        let client = if let Some(tls) = tls {
            let (client, connection) = runtime.block_on(config.connect(tls.clone()))?;
            runtime.spawn(drive_connection(connection));
            client
        } else {
            let (client, connection) = runtime.block_on(config.connect(NoTls))?;
            runtime.spawn(drive_connection(connection));
            client
        };
        Ok(Self {
            runtime,
            client: Arc::new(client),
            statements: StatementCache::new(),
            deferred: RefCell::default(),
            prefetched: RefCell::default(),
        })
    }

    fn get_statement(
        &self,
        sql: &'static str,
        params: &Params<'_>,
    ) -> Result<Arc<PreparedStatement<tokio_postgres::Statement>>> {
        self.statements.get(sql, Dialect::Postgres, params, |text| self.prepare(&text))
    }

    fn prepare(&self, text: &str) -> Result<tokio_postgres::Statement> {
        self.runtime
            .block_on(self.client.prepare(text))
            .map_err(|error| self.first_error(error.into()))
    }

    /// Returns the error of the first deferred statement that has failed, or else `error`: after a failed statement,
    /// all others of the transaction fail too.
    fn first_error(&self, error: Error) -> Error {
        self.await_pending().err().unwrap_or(error)
    }

    /// Sends a statement without waiting for its result, which is checked when the job ends.
    fn send_values<V: ToSql + Sync + Send + 'static>(
        &self,
        prepared: Arc<PreparedStatement<tokio_postgres::Statement>>,
        values: Vec<V>,
    ) -> Result<()> {
        let client = self.client.clone();
        self.send(Box::pin(async move {
            let values = values.iter().map(|value| value as &(dyn ToSql + Sync));
            client.execute_raw(&prepared.handle, values).await.map(drop)
        }));
        // Bounds the memory of a job that sends many statements.
        if self.deferred.borrow().len() < MAX_DEFERRED { Ok(()) } else { self.await_deferred() }
    }

    /// Sends a message now; its result is checked when the job ends.
    fn send(&self, result: Pending<()>) {
        self.deferred.borrow_mut().push(poll_once(result));
    }

    /// Takes the pending result of this query if it was sent ahead.
    fn take_prefetched(
        &self,
        sql: &'static str,
        values: &[&Value<'_>],
    ) -> Option<JoinHandle<Rows>> {
        let mut prefetched = self.prefetched.borrow_mut();
        let same =
            |other: &Prefetch| other.sql == sql && other.values.iter().eq(values.iter().copied());
        let index = prefetched.iter().position(same)?;
        Some(prefetched.remove(index).rows)
    }

    /// Drops all pending results. The transaction they belong to has ended.
    fn discard_pending(&self) {
        self.deferred.borrow_mut().clear();
        self.prefetched.borrow_mut().clear();
    }

    fn send_command(&self, text: &'static str) {
        let client = self.client.clone();
        self.send(Box::pin(async move { client.batch_execute(text).await }));
    }

    /// Waits for all pending results and returns the first error.
    fn await_pending(&self) -> Result<()> {
        let prefetched = std::mem::take(&mut *self.prefetched.borrow_mut());
        let prefetched_outcome = self.runtime.block_on(async {
            let mut outcome = Ok(());
            for query in prefetched {
                outcome = outcome.and(prefetched_rows(query.rows).await.map(drop));
            }
            outcome
        });
        // Deferred statements come first: if one has failed, later queries only report that the transaction is aborted.
        self.await_deferred().and(prefetched_outcome)
    }

    /// Waits for the results of deferred statements.
    fn await_deferred(&self) -> Result<()> {
        let deferred = std::mem::take(&mut *self.deferred.borrow_mut());
        let outcome = self.runtime.block_on(async {
            let mut outcome = Ok(());
            for result in deferred {
                outcome = outcome.and(result.await);
            }
            outcome
        });
        Ok(outcome?)
    }

    fn execute_text(&self, text: &str) -> Result<()> {
        Ok(self.runtime.block_on(self.client.batch_execute(text))?)
    }
}

/// Polls the future once, so its message is queued on the connection now and messages keep their order.
fn poll_once<T: Send + 'static>(mut future: Pending<T>) -> Pending<T> {
    match future.as_mut().now_or_never() {
        Some(ready) => Box::pin(std::future::ready(ready)),
        None => future,
    }
}

/// Waits for the result of a query that was sent ahead.
async fn prefetched_rows(rows: JoinHandle<Rows>) -> Result<Vec<tokio_postgres::Row>> {
    Ok(rows.await.map_err(|_| Error::Panicked)??)
}

fn to_owned_values(values: &[&Value<'_>]) -> Vec<Value<'static>> {
    values.iter().map(|value| (*value).clone().into_owned()).collect()
}

/// Drives the connection's I/O until it ends.
async fn drive_connection(connection: impl Future<Output = Result<(), tokio_postgres::Error>>) {
    if let Err(error) = connection.await {
        tracing::warn!(%error, "a PostgreSQL connection ended");
    }
}

impl Conn for PgSession {
    fn dialect(&self) -> Dialect {
        Dialect::Postgres
    }

    fn for_each_row(
        &self,
        sql: &'static str,
        params: &Params<'_>,
        take: &mut dyn FnMut(&mut Row<'_>) -> Result<()>,
    ) -> Result<()> {
        let prepared = self.get_statement(sql, params)?;
        let values = prepared.values(params)?;
        if let Some(rows) = self.take_prefetched(sql, &values) {
            let rows = self
                .runtime
                .block_on(prefetched_rows(rows))
                .map_err(|error| self.first_error(error))?;
            return rows.into_iter().try_for_each(|row| take(&mut Row::new(&PgRow(row))));
        }
        let outcome = self.runtime.block_on(async {
            let rows = self.client.query_raw(&prepared.handle, values).await?;
            let mut rows = std::pin::pin!(rows);
            while let Some(row) = rows.try_next().await? {
                take(&mut Row::new(&PgRow(row)))?;
            }
            Ok(())
        });
        outcome.map_err(|error| self.first_error(error))
    }

    fn execute(&self, sql: &'static str, params: &Params<'_>) -> Result<u64> {
        let prepared = self.get_statement(sql, params)?;
        let values = prepared.values(params)?;
        let result = self.runtime.block_on(self.client.execute_raw(&prepared.handle, values));
        result.map_err(|error| self.first_error(error.into()))
    }

    fn execute_deferred(&self, sql: &'static str, params: &Params<'_>) -> Result<()> {
        let prepared = self.get_statement(sql, params)?;
        let values = to_owned_values(&prepared.values(params)?);
        self.send_values(prepared, values)
    }

    /// Sends one array per column (`unnest`). That costs the server less than parameters for each row, and one prepared
    /// statement serves any number of rows. Columns with the same value in all rows are sent as a single value, which
    /// costs even less.
    fn execute_deferred_rows(&self, sql: &'static str, rows: &[Params<'_>]) -> Result<()> {
        let [first, _, ..] = rows else {
            return rows.iter().try_for_each(|row| self.execute_deferred(sql, row));
        };
        let single_row = self.get_statement(sql, first)?;
        let columns = single_row.columns(rows)?;
        let parameters =
            single_row.handle.params().iter().zip(&columns).map(|(ty, values)| InsertColumn {
                type_name: ty.name(),
                is_constant: rows.len() >= MIN_ROWS_FOR_CONSTANTS
                    && values.iter().all(|value| *value == values[0]),
            });
        let prepare = |text: String| self.prepare(&text);
        let prepared = self.statements.get_multi_row(sql, parameters.collect(), prepare)?;
        let encoded = prepared.handle.params().iter().zip(&columns);
        let encoded: Result<Vec<_>> =
            encoded.map(|(ty, values)| EncodedColumn::encode(ty, values)).collect();
        self.send_values(prepared, encoded?)
    }

    fn prefetch(&self, sql: &'static str, params: &Params<'_>) -> Result<()> {
        let prepared = self.get_statement(sql, params)?;
        let values = to_owned_values(&prepared.values(params)?);
        let (client, bound) = (self.client.clone(), values.clone());
        let rows = poll_once(Box::pin(async move {
            client.query_raw(&prepared.handle, bound).await?.try_collect().await
        }));
        // A task reads the rows as they arrive: unread rows would block the results behind them.
        let rows = self.runtime.spawn(rows);
        self.prefetched.borrow_mut().push(Prefetch { sql, values, rows });
        Ok(())
    }

    fn execute_batch(&self, sql: &str) -> Result<()> {
        self.execute_text(sql)
    }
}

impl Session for PgSession {
    fn begin(&self, lane: u64) -> Result<()> {
        self.discard_pending();
        self.execute_text(&format!("begin; select pg_advisory_xact_lock({})", lane.cast_signed()))
    }

    fn begin_snapshot(&self) -> Result<()> {
        // A backup reads whole tables and takes longer than the statement timeout.
        self.execute_text(
            "begin isolation level repeatable read read only; set local statement_timeout = 0; \
             set local enable_seqscan = on",
        )
    }

    fn set_savepoint(&self) -> Result<()> {
        self.send_command("savepoint job");
        Ok(())
    }

    fn release_savepoint(&self) -> Result<()> {
        self.send_command("release savepoint job");
        self.await_pending()
    }

    fn rollback_to_savepoint(&self) -> Result<()> {
        // All pending results belong to the job that is rolled back.
        let _ = self.await_pending();
        self.execute_text("rollback to savepoint job; release savepoint job")
    }

    fn commit(&self) -> Result<()> {
        // After a failed statement the server treats a commit as a rollback; the statement's error is returned first.
        self.send_command("commit");
        self.await_pending()
    }

    fn rollback(&self) -> Result<()> {
        self.discard_pending();
        self.execute_text("rollback")
    }
}
