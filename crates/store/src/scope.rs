//! What a job gets: its scope (account, actor, request), and a connection to read or write with.

use std::cell::Cell;
use std::ops::Deref;
use std::sync::Arc;

use kit::{Clock, Id, IdGenerator, Rng, Timestamp};

use crate::sql::{Bind, NamedValue};
use crate::statement::Params;
use crate::{ChangeNotifier, Dialect, Error, Record, Result, Row, Value};

/// The maximum number of rows that one statement inserts.
const MAX_ROWS_PER_INSERT: usize = 1000;

/// The account and the actor that a job runs for. The parameters `:account` and `:actor` of every statement come from
/// here.
#[derive(Debug, Clone)]
pub struct Scope {
    account: Option<u128>,
    /// Write jobs with the same lane never run at the same time. By default it is derived from the account.
    lane: u64,
    actor: Arc<str>,
    /// What the actor uses, such as an app.
    via: Option<Arc<str>>,
    request: Option<Arc<str>>,
    /// Whether the job is expected to be slow.
    long: bool,
}

impl Scope {
    /// A scope within one account.
    pub fn account<K>(account: Id<K>, actor: impl Into<Arc<str>>) -> Self {
        let bits = account.bits();
        let lane = (bits >> 64) as u64 ^ bits as u64;
        let actor = actor.into();
        Self { account: Some(bits), lane, actor, via: None, request: None, long: false }
    }

    /// A scope outside of accounts, for work such as looking up a credential. Write jobs with the same task name never
    /// run at the same time.
    pub fn system(task: &'static str) -> Self {
        let (lane, actor) = (lane_of(task), "system".into());
        Self { account: None, lane, actor, via: None, request: None, long: false }
    }

    /// Moves the job to a lane of its own, so it doesn't wait for other writes of the account. It must not touch the
    /// rows that those touch, unless both first update the same row, which then serves as a lock.
    #[must_use]
    pub fn in_own_lane(self, task: &'static str) -> Self {
        Self { lane: self.lane ^ lane_of(task), ..self }
    }

    /// Records what the actor uses, such as an app.
    #[must_use]
    pub fn via(self, what: impl Into<Arc<str>>) -> Self {
        Self { via: Some(what.into()), ..self }
    }

    /// Records the request that the job belongs to.
    #[must_use]
    pub fn for_request(self, request: impl Into<Arc<str>>) -> Self {
        Self { request: Some(request.into()), ..self }
    }

    /// Marks a job that is expected to be slow, such as a migration, so it isn't logged as slow.
    #[must_use]
    pub fn long_running(self) -> Self {
        Self { long: true, ..self }
    }

    pub(crate) fn is_long(&self) -> bool {
        self.long
    }

    pub(crate) fn account_bits(&self) -> Option<u128> {
        self.account
    }

    pub(crate) fn lane(&self) -> u64 {
        self.lane
    }
}

/// The lane of a task: the FNV-1a hash of its name, so it is the same on every node.
fn lane_of(task: &str) -> u64 {
    task.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// What all connections of the process share: clock, random numbers, ids and change notifications.
#[derive(Debug)]
pub(crate) struct Tools {
    pub(crate) clock: Clock,
    pub(crate) rng: Arc<Rng>,
    pub(crate) ids: IdGenerator,
    pub(crate) notifier: ChangeNotifier,
}

/// A connection, as [`Reader`] and [`Tx`] use it.
pub(crate) trait Conn {
    fn dialect(&self) -> Dialect;
    fn for_each_row(
        &self,
        sql: &'static str,
        bind: &Params<'_>,
        take: &mut dyn FnMut(&mut Row<'_>) -> Result<()>,
    ) -> Result<()>;
    fn execute(&self, sql: &'static str, bind: &Params<'_>) -> Result<u64>;
    /// Like `execute`, but an error may be returned later, at the latest when the job ends.
    fn execute_deferred(&self, sql: &'static str, bind: &Params<'_>) -> Result<()>;
    /// Like `execute_deferred`, for an insert of several rows.
    fn execute_deferred_rows(&self, sql: &'static str, rows: &[Params<'_>]) -> Result<()>;
    /// Sends a query that `for_each_row` will run later in the job. Does nothing where a query needs no round trip.
    fn prefetch(&self, _sql: &'static str, _bind: &Params<'_>) -> Result<()> {
        Ok(())
    }
    /// Runs several statements without parameters.
    fn execute_batch(&self, sql: &str) -> Result<()>;
}

/// Gives a job read access to the database.
pub struct Reader<'c> {
    conn: &'c dyn Conn,
    scope: &'c Scope,
    now: Timestamp,
}

impl<'c> Reader<'c> {
    pub(crate) fn new(conn: &'c dyn Conn, scope: &'c Scope, now: Timestamp) -> Self {
        Self { conn, scope, now }
    }

    /// Returns all rows.
    pub fn all<R: Record>(&self, sql: &'static str, bind: Bind<'_>) -> Result<Vec<R>> {
        let mut rows = Vec::new();
        self.for_each_row(sql, bind, |row| {
            rows.push(R::read(row)?);
            Ok(())
        })?;
        Ok(rows)
    }

    /// Returns the first row, if there is one.
    pub fn optional<R: Record>(&self, sql: &'static str, bind: Bind<'_>) -> Result<Option<R>> {
        let mut first = None;
        self.for_each_row(sql, bind, |row| {
            if first.is_none() {
                first = Some(R::read(row)?);
            }
            Ok(())
        })?;
        Ok(first)
    }

    /// Returns the first row, or [`Error::RowNotFound`].
    pub fn one<R: Record>(&self, sql: &'static str, bind: Bind<'_>) -> Result<R> {
        self.optional(sql, bind)?.ok_or(Error::RowNotFound)
    }

    /// Calls the closure for each row, for results that are too large to hold in memory.
    pub fn for_each_row(
        &self,
        sql: &'static str,
        bind: Bind<'_>,
        mut take: impl FnMut(&mut Row<'_>) -> Result<()>,
    ) -> Result<()> {
        self.conn.for_each_row(sql, &self.params(bind), &mut take)
    }

    /// Sends a query that the job will run later with the same text and values, so several queries take one round trip
    /// to a database server. The result is the state at this point, so the job must not change these rows in between.
    /// Does nothing on SQLite.
    pub fn prefetch(&self, sql: &'static str, bind: Bind<'_>) -> Result<()> {
        self.conn.prefetch(sql, &self.params(bind))
    }

    /// The time at which this job began. It doesn't change during the job.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// The account of this job. Panics if the scope has none.
    pub fn account<K>(&self) -> Id<K> {
        Id::from_bits(self.scope.account.expect("the job has an account"))
    }

    /// The id of the user or key that this job runs for, or `system`.
    pub fn actor(&self) -> &str {
        &self.scope.actor
    }

    /// The actor and what they use, as recorded in the audit log.
    pub fn actor_via(&self) -> String {
        match &self.scope.via {
            Some(via) => format!("{} via {via}", self.scope.actor),
            None => self.scope.actor.to_string(),
        }
    }

    /// The id of the request that this job belongs to.
    pub fn request(&self) -> Option<&str> {
        self.scope.request.as_deref()
    }

    /// The kind of database. Only for work on the schema.
    pub fn dialect(&self) -> Dialect {
        self.conn.dialect()
    }

    fn params<'a>(&'a self, bind: Bind<'a>) -> Params<'a> {
        let account = self.scope.account.map_or(Value::Null, |id| Value::Id(id.to_be_bytes()));
        let actor = Value::Text(self.actor().into());
        let now = Value::Int(self.now.micros());
        Params::new([("account", account), ("actor", actor), ("now", now)], bind)
    }
}

/// Gives a job read and write access. All of its changes are committed, or none.
pub struct Tx<'c> {
    reader: Reader<'c>,
    tools: &'c Tools,
    notify: Cell<bool>,
}

impl<'c> Tx<'c> {
    pub(crate) fn new(reader: Reader<'c>, tools: &'c Tools) -> Self {
        Self { reader, tools, notify: Cell::new(false) }
    }

    /// Notifies listeners of the account after the job's changes are durable.
    pub fn notify_change(&self) {
        self.notify.set(true);
    }

    pub(crate) fn should_notify(&self) -> bool {
        self.notify.get()
    }

    /// Runs a statement and returns the number of affected rows.
    pub fn execute(&self, sql: &'static str, bind: Bind<'_>) -> Result<u64> {
        self.conn.execute(sql, &self.params(bind))
    }

    /// Runs a statement without waiting for its result, which saves a round trip to a database server. If it fails, the
    /// whole job fails.
    pub fn execute_deferred(&self, sql: &'static str, bind: Bind<'_>) -> Result<()> {
        self.conn.execute_deferred(sql, &self.params(bind))
    }

    /// Inserts rows without waiting for the result, many with one statement. `sql` must be an `insert … values (…)`
    /// whose values are only the parameters of one row; it must not have parameters elsewhere.
    pub fn execute_deferred_all(
        &self,
        sql: &'static str,
        rows: &[Vec<NamedValue<'_>>],
    ) -> Result<()> {
        for chunk in rows.chunks(MAX_ROWS_PER_INSERT) {
            let params: Vec<_> = chunk.iter().map(|row| self.params(row)).collect();
            self.conn.execute_deferred_rows(sql, &params)?;
        }
        Ok(())
    }

    /// Runs several statements without parameters, such as a migration.
    pub fn execute_batch(&self, sql: &str) -> Result<()> {
        self.conn.execute_batch(sql)
    }

    /// Generates an id that is greater than every id this process generated before.
    pub fn new_id<K>(&self) -> Id<K> {
        self.tools.ids.generate(self.now(), &self.tools.rng)
    }

    /// The random number generator, for secrets that are generated inside a job.
    pub fn rng(&self) -> &Rng {
        &self.tools.rng
    }
}

impl<'c> Deref for Tx<'c> {
    type Target = Reader<'c>;

    fn deref(&self) -> &Reader<'c> {
        &self.reader
    }
}
