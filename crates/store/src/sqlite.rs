//! SQLite: one writer thread and several reader threads on one file in WAL mode.

use std::num::NonZero;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{CachedStatement, Connection, OpenFlags, ToSql};

use crate::queue::{Counters, Queue, Session, fail_all, group_commit, run_read, spawn_thread};
use crate::scope::{Conn, Tools};
use crate::statement::{Params, PreparedStatement, StatementCache};
use crate::value::Columns;
use crate::{Dialect, Error, Result, Row, Value};

/// How long to wait for a write lock that another process holds, such as the command line.
const BUSY_TIMEOUT: Duration = Duration::from_secs(20);
/// How often [`truncate_wal`] tries to truncate a write-ahead log that is in use.
const MAX_TRUNCATE_ATTEMPTS: usize = 25;

/// Opens the file and starts the threads.
pub(crate) fn start(
    path: &str,
    queue: &Arc<Queue>,
    tools: &Arc<Tools>,
    stats: &Arc<Counters>,
) -> Result<Vec<JoinHandle<()>>> {
    let writer = SqliteConnection::open(path, false)?;
    let readers = std::thread::available_parallelism().map_or(2, |cores| cores.get().clamp(2, 8));
    let mut threads = Vec::new();
    for _ in 0..readers {
        let (reader, queue, tools) =
            (SqliteConnection::open(path, true)?, queue.clone(), tools.clone());
        threads.push(spawn_thread("sqlite-read", move || {
            while let Some(job) = queue.next_read() {
                run_read(&reader, job, &tools);
            }
        })?);
    }
    let (queue, tools, stats) = (queue.clone(), tools.clone(), stats.clone());
    threads.push(spawn_thread("sqlite-write", move || {
        while let Some((lane, jobs)) = queue.next_writes() {
            if let Err(error) = writer.begin(lane) {
                fail_all(jobs, &error);
            } else if let Err(error) = group_commit(&writer, jobs, &tools, &stats) {
                tracing::error!(%error, "a commit failed and was rolled back");
            }
            queue.release_lane(lane);
        }
    })?);
    Ok(threads)
}

/// Checkpoints and truncates the write-ahead log, so overwritten or deleted data is neither in the log nor in the
/// file (`secure_delete` overwrites it there). Retries while reads are running.
pub(crate) fn truncate_wal(path: &str) -> Result<()> {
    let file = SqliteConnection::open(path, false)?;
    for _ in 0..MAX_TRUNCATE_ATTEMPTS {
        let busy: i64 =
            file.db.query_row("pragma wal_checkpoint(truncate)", [], |row| row.get(0))?;
        if busy == 0 {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(200));
    }
    Err(Error::Busy)
}

/// Read-only connections for reads so short that passing them to another thread would take longer than the read.
pub(crate) struct InlinePool {
    idle: Mutex<Vec<SqliteConnection>>,
}

impl InlinePool {
    /// Opens one connection per CPU core, and one more.
    pub(crate) fn open(path: &str) -> Result<Self> {
        let threads = std::thread::available_parallelism().map_or(2, NonZero::get);
        let idle: Result<Vec<_>> =
            (0..=threads).map(|_| SqliteConnection::open(path, true)).collect();
        Ok(Self { idle: Mutex::new(idle?) })
    }

    /// Runs the closure with an idle connection. Returns `None` if all are in use.
    pub(crate) fn with_connection<T>(
        &self,
        work: impl FnOnce(&SqliteConnection) -> T,
    ) -> Option<T> {
        let connection = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop()?;
        let result = work(&connection);
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
        Some(result)
    }
}

/// Creates the file, readable only by its owner, if it doesn't exist yet. SQLite gives its `-wal` and `-shm` files the
/// same mode. The mode of an existing file is not changed.
fn create_private(path: &str) -> Result<()> {
    use std::os::unix::fs::OpenOptionsExt;
    let created = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    match created {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
            Err(Error::Unavailable(format!("{path}: {error}")))
        }
        _ => Ok(()),
    }
}

/// A connection to the file.
pub(crate) struct SqliteConnection {
    db: Connection,
    statements: StatementCache<String>,
}

impl SqliteConnection {
    fn open(path: &str, read_only: bool) -> Result<Self> {
        if Path::new(path).is_dir() {
            return Err(Error::Unavailable(format!("{path} is a directory, not a database file")));
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let with_path = |error: rusqlite::Error| match Error::from(error) {
            Error::Unavailable(reason) => Error::Unavailable(format!("{path}: {reason}")),
            other => other,
        };
        create_private(path)?;
        let db = Connection::open_with_flags(path, flags).map_err(with_path)?;
        db.busy_timeout(BUSY_TIMEOUT)?;
        db.set_prepared_statement_cache_capacity(512);
        // Otherwise SQLite plans a join with a parameter again each time the parameter is bound.
        db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        // SQLite moves values longer than a quarter of a page to overflow pages, and most notifications are longer than
        // a quarter of the default 4 kB. Only affects new files; an existing file keeps its page size.
        db.execute_batch("pragma page_size = 8192; pragma journal_mode = wal")
            .map_err(with_path)?;
        db.execute_batch(
            "pragma synchronous = full;
             pragma foreign_keys = on;
             pragma temp_store = memory;
             pragma secure_delete = on;
             pragma cache_size = -8000;
             pragma wal_autocheckpoint = 2000;",
        )?;
        if read_only {
            db.execute_batch("pragma query_only = on")?;
        }
        Ok(Self { db, statements: StatementCache::new() })
    }

    /// Fails if a statement of one account would scan a whole table. Debug builds check this when a statement is first
    /// prepared, so tests find such statements.
    fn reject_full_scan(&self, text: &str) -> Result<()> {
        if text.contains("any account") {
            return Ok(());
        }
        let mut plan = self.db.prepare(&format!("explain query plan {text}"))?;
        let mut steps = plan.raw_query();
        while let Some(step) = steps.next()? {
            let step: String = step.get(3)?;
            let scans = step.starts_with("SCAN ")
                && !step.contains("CONSTANT ROW")
                && !step.starts_with("SCAN (");
            if scans {
                return Err(Error::Database(format!("full table scan ({step}) in {text:?}")));
            }
        }
        Ok(())
    }

    fn get_statement(
        &self,
        sql: &'static str,
        params: &Params<'_>,
    ) -> Result<Arc<PreparedStatement<String>>> {
        self.statements.get(sql, Dialect::Sqlite, params, |text| {
            if cfg!(debug_assertions) {
                self.reject_full_scan(&text)?;
            }
            Ok(text)
        })
    }

    fn prepare_and_bind(
        &self,
        sql: &'static str,
        params: &Params<'_>,
    ) -> Result<CachedStatement<'_>> {
        let prepared = self.get_statement(sql, params)?;
        let mut statement = self.db.prepare_cached(&prepared.handle)?;
        bind_values(&mut statement, prepared.values(params)?)?;
        Ok(statement)
    }
}

fn bind_values(statement: &mut CachedStatement<'_>, values: Vec<&Value<'_>>) -> Result<()> {
    for (index, value) in values.into_iter().enumerate() {
        statement.raw_bind_parameter(index + 1, value)?;
    }
    Ok(())
}

impl ToSql for Value<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Value::Null | Value::List(_) => ValueRef::Null,
            Value::Bool(yes) => ValueRef::Integer((*yes).into()),
            Value::Int(number) => ValueRef::Integer(*number),
            Value::Real(number) => ValueRef::Real(*number),
            Value::Text(text) => ValueRef::Text(text.as_bytes()),
            Value::Bytes(bytes) => ValueRef::Blob(bytes),
            Value::Id(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

struct SqliteRow<'r, 's>(&'r rusqlite::Row<'s>);

impl Columns for SqliteRow<'_, '_> {
    fn value(&self, index: usize) -> Result<Value<'_>> {
        Ok(match self.0.get_ref(index)? {
            ValueRef::Null => Value::Null,
            ValueRef::Integer(number) => Value::Int(number),
            ValueRef::Real(number) => Value::Real(number),
            ValueRef::Text(text) => {
                let text = std::str::from_utf8(text)
                    .map_err(|_| Error::Corrupt("text is not valid UTF-8".to_owned()))?;
                Value::Text(text.into())
            }
            ValueRef::Blob(bytes) => Value::Bytes(bytes.into()),
        })
    }

    fn name(&self, index: usize) -> &str {
        self.0.as_ref().column_name(index).unwrap_or_default()
    }
}

impl Conn for SqliteConnection {
    fn dialect(&self) -> Dialect {
        Dialect::Sqlite
    }

    fn for_each_row(
        &self,
        sql: &'static str,
        params: &Params<'_>,
        take: &mut dyn FnMut(&mut Row<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut statement = self.prepare_and_bind(sql, params)?;
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next()? {
            take(&mut Row::new(&SqliteRow(row)))?;
        }
        Ok(())
    }

    fn execute(&self, sql: &'static str, params: &Params<'_>) -> Result<u64> {
        Ok(self.prepare_and_bind(sql, params)?.raw_execute()? as u64)
    }

    fn execute_deferred(&self, sql: &'static str, params: &Params<'_>) -> Result<()> {
        self.execute(sql, params).map(drop)
    }

    fn execute_deferred_rows(&self, sql: &'static str, rows: &[Params<'_>]) -> Result<()> {
        // One insert per row: with a multi-row insert, SQLite would have to journal the changed pages a second time in
        // case the statement fails halfway.
        let Some(first) = rows.first() else { return Ok(()) };
        let prepared = self.get_statement(sql, first)?;
        let mut statement = self.db.prepare_cached(&prepared.handle)?;
        for row in rows {
            bind_values(&mut statement, prepared.values(row)?)?;
            statement.raw_execute()?;
        }
        Ok(())
    }

    fn execute_batch(&self, sql: &str) -> Result<()> {
        Ok(self.db.execute_batch(sql)?)
    }
}

impl SqliteConnection {
    /// Runs a statement that begins, ends or nests a transaction.
    fn run_command(&self, sql: &'static str) -> Result<()> {
        self.db.prepare_cached(sql)?.raw_execute()?;
        Ok(())
    }
}

impl Session for SqliteConnection {
    fn begin(&self, _lane: u64) -> Result<()> {
        self.run_command("begin immediate")
    }

    fn begin_snapshot(&self) -> Result<()> {
        self.run_command("begin")
    }

    fn set_savepoint(&self) -> Result<()> {
        self.run_command("savepoint job")
    }

    fn release_savepoint(&self) -> Result<()> {
        self.run_command("release job")
    }

    fn rollback_to_savepoint(&self) -> Result<()> {
        self.run_command("rollback to job")?;
        self.run_command("release job")
    }

    fn commit(&self) -> Result<()> {
        self.run_command("commit")
    }

    fn rollback(&self) -> Result<()> {
        self.run_command("rollback")
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::StatementStatus;

    use super::*;

    /// SQLite silently ignores `page_size` once the file is in WAL mode.
    #[test]
    fn a_new_file_has_8_kb_pages_and_wal_mode() {
        let folder = tempfile::tempdir().unwrap();
        let file =
            SqliteConnection::open(folder.path().join("x.db").to_str().unwrap(), false).unwrap();
        let sql = "select page_size, journal_mode from pragma_page_size, pragma_journal_mode";
        let (size, mode): (i64, String) =
            file.db.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        assert_eq!((size, mode.as_str()), (8192, "wal"));
    }

    #[test]
    fn a_join_is_planned_once() {
        let folder = tempfile::tempdir().unwrap();
        let file =
            SqliteConnection::open(folder.path().join("x.db").to_str().unwrap(), false).unwrap();
        let tables = "create table a (id text primary key, b text unique) strict, without rowid;
            create table c (id text primary key) strict, without rowid;";
        file.db.execute_batch(tables).unwrap();
        for _ in 0..3 {
            let join = "select c.id from a join c on c.id = a.id where a.b = ?1";
            let mut statement = file.db.prepare_cached(join).unwrap();
            statement.raw_bind_parameter(1, "x").unwrap();
            assert!(statement.raw_query().next().unwrap().is_none());
            assert_eq!(statement.get_status(StatementStatus::RePrepare), 0);
        }
    }
}
