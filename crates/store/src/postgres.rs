//! PostgreSQL: every connection is a thread with a small runtime of its own, half of them write.
//!
//! Writes of one account hold an advisory lock from the first statement to the durable commit, so
//! that reading and then writing means the same as with SQLite's single writer. Statements are
//! prepared once per connection. A lost connection is made anew before the next job.

mod herald;
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

use self::values::{ServerRow, Written};
use crate::db::{Options, thread};
use crate::queue::{Counters, Queue, Session, commit_together, look, refuse};
use crate::scope::{Conn, Params, Tools};
use crate::sql::{Place, Prepared, Statements};
use crate::tls::connector;
use crate::{Dialect, Error, Result, Row, Value};

/// Limits that the server keeps for us, so that no lost peer holds a lock for ever. And everything we ask for has an index:
/// what the server planned while a table was small, it would do long after that.
const SERVER_LIMITS: &str = "-c statement_timeout=25s -c lock_timeout=20s \
    -c idle_in_transaction_session_timeout=30s -c client_min_messages=warning \
    -c enable_seqscan=off -c jit=off";
/// A connection that was idle this long is looked at before it is trusted.
const TRUSTED: Duration = Duration::from_millis(200);

/// So many statements may be sent before their answers are looked at.
const MOST_SENT: usize = 256;

/// Of so many rows it is looked what they have in common.
const ALIKE: usize = 16;

/// Connects and starts the threads.
pub(crate) fn start(
    options: &Options,
    queue: &Arc<Queue>,
    tools: &Arc<Tools>,
    stats: &Arc<Counters>,
) -> Result<Vec<std::thread::JoinHandle<()>>> {
    let mut config: Config = options.url.parse().map_err(|error: tokio_postgres::Error| {
        Error::Unavailable(format!("the PostgreSQL address is not understood: {error}"))
    })?;
    config
        .options(SERVER_LIMITS)
        .application_name("touchline")
        .connect_timeout(Duration::from_secs(5))
        .keepalives_idle(Duration::from_secs(30));
    let encrypted = config.get_ssl_mode() == SslMode::Require;
    let tls = encrypted.then(|| connector(options.authority.as_deref())).transpose()?;
    let (tell, told) = mpsc::channel();
    let mut threads = Vec::new();
    for number in 0..options.connections.max(2) {
        let mut line =
            Line { config: config.clone(), tls: tls.clone(), server: None, used: Instant::now() };
        let (queue, tools, stats) = (queue.clone(), tools.clone(), stats.clone());
        let first = (number == 0).then(|| tell.clone());
        let name = if number % 2 == 0 { "postgres-read" } else { "postgres-write" };
        threads.push(thread(name, move || {
            if let Some(first) = first {
                // The opener waits for this; it cannot be gone.
                let _ = first.send(line.connect());
            }
            if number % 2 == 0 {
                read_loop(line, &queue, &tools);
            } else {
                write_loop(line, &queue, &tools, &stats);
            }
        })?);
    }
    // One connects at once: a wrong address is told at start, not at the first request.
    let reached = told.recv().unwrap_or(Err(Error::Panicked));
    if let Err(error) = reached {
        queue.close();
        return Err(error);
    }
    let (down, tools) = (tools.bell.herald_it(), tools.clone());
    threads.push(thread("postgres-bell", move || herald::run(&config, tls, down, &tools))?);
    Ok(threads)
}

fn read_loop(mut line: Line, queue: &Queue, tools: &Tools) {
    while let Some(job) = queue.next_read() {
        match line.server() {
            Ok(server) => {
                look(server, job, tools);
                // What was asked for and not wanted after all is no answer to the next, and the server is rid of it.
                let _ = server.settle();
            }
            Err(error) => job.finish(Err(error)),
        }
    }
}

fn write_loop(mut line: Line, queue: &Queue, tools: &Tools, stats: &Counters) {
    while let Some((lane, jobs)) = queue.next_writes() {
        match line.begin(lane) {
            Ok(server) => {
                if let Err(error) = commit_together(server, jobs, tools, stats) {
                    tracing::error!(%error, "a commit failed and was rolled back");
                }
            }
            Err(error) => refuse(jobs, &error),
        }
        queue.done(lane);
    }
}

/// A thread's connection, made anew when it was lost.
struct Line {
    config: Config,
    tls: Option<MakeRustlsConnect>,
    server: Option<Server>,
    used: Instant,
}

impl Line {
    fn connect(&mut self) -> Result<()> {
        self.server = None;
        let connected = Server::connect(&self.config, self.tls.as_ref());
        // Whatever the server says to refuse us, it is not our statement that was wrong.
        self.server = Some(connected.map_err(|error| match error {
            Error::Database(why) => Error::Unavailable(why),
            other => other,
        })?);
        Ok(())
    }

    fn server(&mut self) -> Result<&Server> {
        let lost = self.server.as_ref().is_none_or(|server| {
            let idle = self.used.elapsed() > TRUSTED;
            server.client.is_closed() || (idle && server.text("").is_err())
        });
        if lost {
            self.connect()?;
        }
        self.used = Instant::now();
        Ok(self.server.as_ref().expect("it was just connected"))
    }

    /// Begins a transaction; if the connection turns out to be lost, once more on a new one, since
    /// nothing has been done yet.
    fn begin(&mut self, lane: u64) -> Result<&Server> {
        let begun = self.server()?.begin(lane);
        match begun {
            Err(Error::Unavailable(_)) => {
                self.connect()?;
                self.server()?.begin(lane)?;
            }
            Err(error) => {
                let _ = self.server()?.rollback();
                return Err(error);
            }
            Ok(()) => {}
        }
        self.server()
    }
}

type Pending<T> = Pin<Box<dyn Future<Output = Result<T, tokio_postgres::Error>> + Send>>;

/// A connection to the server.
struct Server {
    runtime: Runtime,
    client: Arc<Client>,
    statements: Statements<tokio_postgres::Statement>,
    /// Answers of statements that were sent and not waited for.
    sent: RefCell<Vec<Pending<()>>>,
    /// Questions that were asked before the job needed their answers.
    asked: RefCell<Vec<Asked>>,
}

/// A question whose answer is on its way.
struct Asked {
    sql: &'static str,
    values: Vec<Value<'static>>,
    rows: JoinHandle<Rows>,
}

type Rows = Result<Vec<tokio_postgres::Row>, tokio_postgres::Error>;

impl Server {
    fn connect(config: &Config, tls: Option<&MakeRustlsConnect>) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Error::Unavailable(error.to_string()))?;
        let client = if let Some(tls) = tls {
            let (client, connection) = runtime.block_on(config.connect(tls.clone()))?;
            runtime.spawn(attend(connection));
            client
        } else {
            let (client, connection) = runtime.block_on(config.connect(NoTls))?;
            runtime.spawn(attend(connection));
            client
        };
        Ok(Self {
            runtime,
            client: Arc::new(client),
            statements: Statements::new(),
            sent: RefCell::default(),
            asked: RefCell::default(),
        })
    }

    fn prepared(
        &self,
        sql: &'static str,
        params: &Params<'_>,
    ) -> Result<Arc<Prepared<tokio_postgres::Statement>>> {
        self.statements.get(sql, Dialect::Postgres, params, |text| self.prepare(&text))
    }

    fn prepare(&self, text: &str) -> Result<tokio_postgres::Statement> {
        self.runtime.block_on(self.client.prepare(text)).map_err(|error| self.first(error.into()))
    }

    /// What failed first: after a statement that nobody waited for has failed, every other one does.
    fn first(&self, error: Error) -> Error {
        self.settle().err().unwrap_or(error)
    }

    /// Sends a statement whose answer is awaited when the job ends.
    fn send_values<V: ToSql + Sync + Send + 'static>(
        &self,
        prepared: Arc<Prepared<tokio_postgres::Statement>>,
        values: Vec<V>,
    ) -> Result<()> {
        let client = self.client.clone();
        self.send(Box::pin(async move {
            let values = values.iter().map(|value| value as &(dyn ToSql + Sync));
            client.execute_raw(&prepared.handle, values).await.map(drop)
        }));
        // A job that sends very much must not pile up answers.
        if self.sent.borrow().len() < MOST_SENT { Ok(()) } else { self.settle_sent() }
    }

    /// Sends something now and looks at the answer when the job ends.
    fn send(&self, answer: Pending<()>) {
        self.sent.borrow_mut().push(begun(answer));
    }

    /// The answer to a question that was asked before, if it was.
    fn take_asked(&self, sql: &'static str, values: &[&Value<'_>]) -> Option<JoinHandle<Rows>> {
        let mut asked = self.asked.borrow_mut();
        let same =
            |known: &Asked| known.sql == sql && known.values.iter().eq(values.iter().copied());
        let place = asked.iter().position(same)?;
        Some(asked.remove(place).rows)
    }

    /// Forgets what was sent and asked: the transaction it belonged to is over.
    fn forget(&self) {
        self.sent.borrow_mut().clear();
        self.asked.borrow_mut().clear();
    }

    fn send_text(&self, text: &'static str) {
        let client = self.client.clone();
        self.send(Box::pin(async move { client.batch_execute(text).await }));
    }

    /// Waits for the answers of everything that was sent or asked.
    fn settle(&self) -> Result<()> {
        let asked = std::mem::take(&mut *self.asked.borrow_mut());
        let answered = self.runtime.block_on(async {
            let mut outcome = Ok(());
            for question in asked {
                outcome = outcome.and(answer(question.rows).await.map(drop));
            }
            outcome
        });
        // If a statement failed before a question, the question only says that one did.
        self.settle_sent().and(answered)
    }

    /// Waits for the answers of statements that were sent.
    fn settle_sent(&self) -> Result<()> {
        let sent = std::mem::take(&mut *self.sent.borrow_mut());
        let outcome = self.runtime.block_on(async {
            let mut outcome = Ok(());
            for answer in sent {
                outcome = outcome.and(answer.await);
            }
            outcome
        });
        Ok(outcome?)
    }

    fn text(&self, text: &str) -> Result<()> {
        Ok(self.runtime.block_on(self.client.batch_execute(text))?)
    }
}

/// Something that was begun: the first poll hands the message to the connection, which keeps the order.
fn begun<T: Send + 'static>(mut answer: Pending<T>) -> Pending<T> {
    match answer.as_mut().now_or_never() {
        Some(early) => Box::pin(std::future::ready(early)),
        None => answer,
    }
}

/// The answer to a question that was asked ahead.
async fn answer(rows: JoinHandle<Rows>) -> Result<Vec<tokio_postgres::Row>> {
    Ok(rows.await.map_err(|_| Error::Panicked)??)
}

fn owned(values: &[&Value<'_>]) -> Vec<Value<'static>> {
    values.iter().map(|value| (*value).clone().into_owned()).collect()
}

/// Moves bytes between client and server until the connection ends.
async fn attend(connection: impl Future<Output = Result<(), tokio_postgres::Error>>) {
    if let Err(error) = connection.await {
        tracing::warn!(%error, "a PostgreSQL connection ended");
    }
}

impl Conn for Server {
    fn dialect(&self) -> Dialect {
        Dialect::Postgres
    }

    fn each(
        &self,
        sql: &'static str,
        params: &Params<'_>,
        take: &mut dyn FnMut(&mut Row<'_>) -> Result<()>,
    ) -> Result<()> {
        let prepared = self.prepared(sql, params)?;
        let values = prepared.values(params)?;
        if let Some(rows) = self.take_asked(sql, &values) {
            let rows = self.runtime.block_on(answer(rows)).map_err(|error| self.first(error))?;
            return rows.into_iter().try_for_each(|row| take(&mut Row::new(&ServerRow(row))));
        }
        let each = self.runtime.block_on(async {
            let rows = self.client.query_raw(&prepared.handle, values).await?;
            let mut rows = std::pin::pin!(rows);
            while let Some(row) = rows.try_next().await? {
                take(&mut Row::new(&ServerRow(row)))?;
            }
            Ok(())
        });
        each.map_err(|error| self.first(error))
    }

    fn run(&self, sql: &'static str, params: &Params<'_>) -> Result<u64> {
        let prepared = self.prepared(sql, params)?;
        let values = prepared.values(params)?;
        let ran = self.runtime.block_on(self.client.execute_raw(&prepared.handle, values));
        ran.map_err(|error| self.first(error.into()))
    }

    fn later(&self, sql: &'static str, params: &Params<'_>) -> Result<()> {
        let prepared = self.prepared(sql, params)?;
        let values = owned(&prepared.values(params)?);
        self.send_values(prepared, values)
    }

    /// Lists cost the server less than places for each row, and need one text however many there are; what is the same in
    /// all rows costs it nearly nothing.
    fn later_rows(&self, sql: &'static str, rows: &[Params<'_>]) -> Result<()> {
        let [first, _, ..] = rows else {
            return rows.iter().try_for_each(|row| self.later(sql, row));
        };
        let one = self.prepared(sql, first)?;
        let columns = one.columns(rows)?;
        let places = one.handle.params().iter().zip(&columns).map(|(kind, column)| Place {
            kind: kind.name(),
            same: rows.len() >= ALIKE && column.iter().all(|value| *value == column[0]),
        });
        let prepare = |text: String| self.prepare(&text);
        let prepared = self.statements.get_lists(sql, places.collect(), prepare)?;
        let written = prepared.handle.params().iter().zip(&columns);
        let written: Result<Vec<_>> = written.map(|(kind, all)| Written::of(kind, all)).collect();
        self.send_values(prepared, written?)
    }

    fn ahead(&self, sql: &'static str, params: &Params<'_>) -> Result<()> {
        let prepared = self.prepared(sql, params)?;
        let values = owned(&prepared.values(params)?);
        let (client, bound) = (self.client.clone(), values.clone());
        let rows = begun(Box::pin(async move {
            client.query_raw(&prepared.handle, bound).await?.try_collect().await
        }));
        // It is read as it comes: an answer that nobody reads would hold up those behind it.
        let rows = self.runtime.spawn(rows);
        self.asked.borrow_mut().push(Asked { sql, values, rows });
        Ok(())
    }

    fn script(&self, sql: &str) -> Result<()> {
        self.text(sql)
    }
}

impl Session for Server {
    fn begin(&self, lane: u64) -> Result<()> {
        self.forget();
        self.text(&format!("begin; select pg_advisory_xact_lock({})", lane.cast_signed()))
    }

    fn begin_moment(&self) -> Result<()> {
        // A backup reads for longer than a request may, and everything.
        self.text(
            "begin isolation level repeatable read read only; set local statement_timeout = 0; \
             set local enable_seqscan = on",
        )
    }

    fn mark(&self) -> Result<()> {
        self.send_text("savepoint job");
        Ok(())
    }

    fn keep(&self) -> Result<()> {
        self.send_text("release savepoint job");
        self.settle()
    }

    fn undo(&self) -> Result<()> {
        // What was sent and not awaited belongs to the job that is undone.
        let _ = self.settle();
        self.text("rollback to savepoint job; release savepoint job")
    }

    fn commit(&self) -> Result<()> {
        // After a statement that failed, the server takes a commit for a rollback; the failure is told first.
        self.send_text("commit");
        self.settle()
    }

    fn rollback(&self) -> Result<()> {
        self.forget();
        self.text("rollback")
    }
}
