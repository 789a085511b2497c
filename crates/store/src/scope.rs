//! What a job holds in its hands: whose job it is, and the connection to look or to change with.

use std::cell::Cell;
use std::ops::Deref;
use std::sync::Arc;

use kit::{Clock, Dice, Id, IdMaker, Timestamp};

use crate::sql::{Bind, Named};
use crate::{Bell, Dialect, Error, Record, Result, Row, Value};

/// How many rows one statement inserts at most.
const TOGETHER: usize = 1000;

/// Whose job this is. `:account` and `:actor` of every statement come from here.
#[derive(Debug, Clone)]
pub struct Scope {
    account: Option<u128>,
    /// Jobs with the same lane never overlap. An account is its own lane.
    lane: u64,
    actor: Arc<str>,
    /// Through what the actor acts, such as an app.
    via: Option<Arc<str>>,
    request: Option<Arc<str>>,
    /// Whether the job is known to take long.
    long: bool,
}

impl Scope {
    /// Work inside one account.
    pub fn account<K>(account: Id<K>, actor: impl Into<Arc<str>>) -> Self {
        let bits = account.bits();
        let lane = (bits >> 64) as u64 ^ bits as u64;
        let actor = actor.into();
        Self { account: Some(bits), lane, actor, via: None, request: None, long: false }
    }

    /// Work that belongs to no account, such as looking up a credential. Jobs of one errand never
    /// overlap; different errands may.
    pub fn system(errand: &'static str) -> Self {
        let (lane, actor) = (lane_of(errand), "system".into());
        Self { account: None, lane, actor, via: None, request: None, long: false }
    }

    /// The same scope in a lane of its own, for an errand that must not wait behind the account's writes
    /// and touches nothing they touch, or only after a row that both touch first.
    #[must_use]
    pub fn beside(self, errand: &'static str) -> Self {
        Self { lane: self.lane ^ lane_of(errand), ..self }
    }

    /// The same scope, where the actor acts through something, such as an app.
    #[must_use]
    pub fn via(self, what: impl Into<Arc<str>>) -> Self {
        Self { via: Some(what.into()), ..self }
    }

    /// The same scope, on behalf of a request.
    #[must_use]
    pub fn for_request(self, request: impl Into<Arc<str>>) -> Self {
        Self { request: Some(request.into()), ..self }
    }

    /// The same scope for a job that is known to take long, such as a migration: nobody need be warned.
    #[must_use]
    pub fn at_length(self) -> Self {
        Self { long: true, ..self }
    }

    pub(crate) fn is_long(&self) -> bool {
        self.long
    }

    pub(crate) fn bits(&self) -> Option<u128> {
        self.account
    }

    pub(crate) fn lane(&self) -> u64 {
        self.lane
    }
}

/// The lane of an errand: its name, hashed (FNV-1a), the same on every node.
fn lane_of(errand: &str) -> u64 {
    errand.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// The clock, the dice and the ids of the process, shared by all connections.
#[derive(Debug)]
pub(crate) struct Tools {
    pub(crate) clock: Clock,
    pub(crate) dice: Arc<Dice>,
    pub(crate) ids: IdMaker,
    pub(crate) bell: Bell,
}

/// A connection, as [`Reader`] and [`Tx`] use it.
pub(crate) trait Conn {
    fn dialect(&self) -> Dialect;
    fn each(
        &self,
        sql: &'static str,
        bind: &Params<'_>,
        take: &mut dyn FnMut(&mut Row<'_>) -> Result<()>,
    ) -> Result<()>;
    fn run(&self, sql: &'static str, bind: &Params<'_>) -> Result<u64>;
    /// Like `run`, but the answer may be awaited later, before the job ends.
    fn later(&self, sql: &'static str, bind: &Params<'_>) -> Result<()>;
    /// The same for an insert, once for several rows.
    fn later_rows(&self, sql: &'static str, rows: &[Params<'_>]) -> Result<()>;
    /// Asks for what the same `each` will want later in the job. Where asking costs nothing, it need not be done early.
    fn ahead(&self, _sql: &'static str, _bind: &Params<'_>) -> Result<()> {
        Ok(())
    }
    /// Runs a text of several statements without parameters.
    fn script(&self, sql: &str) -> Result<()>;
}

/// The parameters of a statement: those of the scope and those that were bound.
pub(crate) struct Params<'a> {
    scope: [(&'static str, Value<'a>); 3],
    bind: Bind<'a>,
}

impl Params<'_> {
    /// The value of a parameter, which mostly stands at this place: a record is bound in the order of its columns.
    pub(crate) fn get(&self, place: usize, name: &str) -> Result<&Value<'_>> {
        let there = self.bind.get(place).filter(|(known, _)| *known == name);
        let anywhere = || self.bind.iter().chain(&self.scope).find(|(known, _)| *known == name);
        match there.or_else(anywhere) {
            Some((_, Value::Null)) if name == "account" => {
                Err(Error::Database("a statement of one account in a job of none".to_owned()))
            }
            // A row of another account cannot be written, whatever the record says.
            Some((_, value)) if name == "account_id" && self.is_foreign(value) => {
                Err(Error::Database("a row of another account".to_owned()))
            }
            Some((_, value)) => Ok(value),
            None => Err(Error::Database(format!("the parameter :{name} was not bound"))),
        }
    }

    fn is_foreign(&self, value: &Value<'_>) -> bool {
        let own = &self.scope[0].1;
        *own != Value::Null && own != value
    }

    /// The lists among the values, with the number of places each is given.
    pub(crate) fn lists(&self) -> Vec<(&'static str, usize)> {
        let of = |value: &Value<'_>| match value {
            Value::List(values) => Some(crate::sql::places(values.len())),
            _ => None,
        };
        self.bind.iter().filter_map(|(name, value)| Some((*name, of(value)?))).collect()
    }
}

/// A job that may only look.
pub struct Reader<'c> {
    conn: &'c dyn Conn,
    scope: &'c Scope,
    now: Timestamp,
}

impl<'c> Reader<'c> {
    pub(crate) fn new(conn: &'c dyn Conn, scope: &'c Scope, now: Timestamp) -> Self {
        Self { conn, scope, now }
    }

    /// Every row.
    pub fn all<R: Record>(&self, sql: &'static str, bind: Bind<'_>) -> Result<Vec<R>> {
        let mut rows = Vec::new();
        self.each(sql, bind, |row| {
            rows.push(R::read(row)?);
            Ok(())
        })?;
        Ok(rows)
    }

    /// The first row, if there is one.
    pub fn maybe<R: Record>(&self, sql: &'static str, bind: Bind<'_>) -> Result<Option<R>> {
        let mut first = None;
        self.each(sql, bind, |row| {
            if first.is_none() {
                first = Some(R::read(row)?);
            }
            Ok(())
        })?;
        Ok(first)
    }

    /// The first row; none is [`Error::Missing`].
    pub fn one<R: Record>(&self, sql: &'static str, bind: Bind<'_>) -> Result<R> {
        self.maybe(sql, bind)?.ok_or(Error::Missing)
    }

    /// Hands over row by row, for results too large to hold.
    pub fn each(
        &self,
        sql: &'static str,
        bind: Bind<'_>,
        mut take: impl FnMut(&mut Row<'_>) -> Result<()>,
    ) -> Result<()> {
        self.conn.each(sql, &self.params(bind), &mut take)
    }

    /// Asks a database server now for what the job will certainly ask for later, with the same text and values: several
    /// questions then take one round trip. The answer is as things stand now, so nothing that the job does in between
    /// may change it.
    pub fn ahead(&self, sql: &'static str, bind: Bind<'_>) -> Result<()> {
        self.conn.ahead(sql, &self.params(bind))
    }

    /// The moment this job began. It stands still for the whole job.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// The account this job works in.
    pub fn account<K>(&self) -> Id<K> {
        Id::from_bits(self.scope.account.expect("the job was given an account"))
    }

    /// Who does this.
    pub fn actor(&self) -> &str {
        &self.scope.actor
    }

    /// Who does this and through what, as the logs say it.
    pub fn actor_via(&self) -> String {
        match &self.scope.via {
            Some(via) => format!("{} via {via}", self.scope.actor),
            None => self.scope.actor.to_string(),
        }
    }

    /// The request that asked for it, if one did.
    pub fn request(&self) -> Option<&str> {
        self.scope.request.as_deref()
    }

    /// Which database this is; only for work on the schema itself.
    pub fn dialect(&self) -> Dialect {
        self.conn.dialect()
    }

    fn params<'a>(&'a self, bind: Bind<'a>) -> Params<'a> {
        let account = self.scope.account.map_or(Value::Null, |id| Value::Id(id.to_be_bytes()));
        let actor = Value::Text(self.actor().into());
        let now = Value::Int(self.now.micros());
        Params { scope: [("account", account), ("actor", actor), ("now", now)], bind }
    }
}

/// A job that may also change: everything or nothing of it is kept.
pub struct Tx<'c> {
    reader: Reader<'c>,
    tools: &'c Tools,
    news: Cell<bool>,
}

impl<'c> Tx<'c> {
    pub(crate) fn new(reader: Reader<'c>, tools: &'c Tools) -> Self {
        Self { reader, tools, news: Cell::new(false) }
    }

    /// Rings the bell for the account once the job's changes are durable.
    pub fn ring(&self) {
        self.news.set(true);
    }

    pub(crate) fn has_news(&self) -> bool {
        self.news.get()
    }

    /// Runs a statement and says how many rows it changed.
    pub fn run(&self, sql: &'static str, bind: Bind<'_>) -> Result<u64> {
        self.conn.run(sql, &self.params(bind))
    }

    /// Runs a statement whose outcome nobody waits for: if it fails, the whole job fails. Saves a
    /// round trip to a database server.
    pub fn later(&self, sql: &'static str, bind: Bind<'_>) -> Result<()> {
        self.conn.later(sql, &self.params(bind))
    }

    /// Inserts rows whose outcome nobody waits for, many with one statement: `sql` is an `insert … values (…)` of
    /// nothing but one row's parameters, and has none outside of it.
    pub fn later_all(&self, sql: &'static str, rows: &[Vec<Named<'_>>]) -> Result<()> {
        for some in rows.chunks(TOGETHER) {
            let params: Vec<_> = some.iter().map(|row| self.params(row)).collect();
            self.conn.later_rows(sql, &params)?;
        }
        Ok(())
    }

    /// Runs a text of several statements, such as a migration.
    pub fn script(&self, sql: &str) -> Result<()> {
        self.conn.script(sql)
    }

    /// A fresh id, greater than every one this process made before.
    pub fn new_id<K>(&self) -> Id<K> {
        self.tools.ids.make(self.now(), &self.tools.dice)
    }

    /// The dice, for secrets that are made inside a job.
    pub fn dice(&self) -> &Dice {
        &self.tools.dice
    }
}

impl<'c> Deref for Tx<'c> {
    type Target = Reader<'c>;

    fn deref(&self) -> &Reader<'c> {
        &self.reader
    }
}
