//! SQLite: one thread that writes, a few that read, all on one file in WAL mode.

use std::num::NonZero;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{CachedStatement, Connection, OpenFlags, ToSql};

use crate::db::thread;
use crate::queue::{Counters, Queue, Session, commit_together, look, refuse};
use crate::scope::{Conn, Params, Tools};
use crate::sql::{Prepared, Statements};
use crate::value::Columns;
use crate::{Dialect, Error, Result, Row, Value};

/// How long another process, such as the command line, may hold the write lock.
const PATIENCE: Duration = Duration::from_secs(20);
/// How often a log that is in use is tried to be emptied.
const SCRUBS: usize = 25;

/// Opens the file and starts the threads.
pub(crate) fn start(
    path: &str,
    queue: &Arc<Queue>,
    tools: &Arc<Tools>,
    stats: &Arc<Counters>,
) -> Result<Vec<JoinHandle<()>>> {
    let writer = File::open(path, false)?;
    let readers = std::thread::available_parallelism().map_or(2, |cores| cores.get().clamp(2, 8));
    let mut threads = Vec::new();
    for _ in 0..readers {
        let (reader, queue, tools) = (File::open(path, true)?, queue.clone(), tools.clone());
        threads.push(thread("sqlite-read", move || {
            while let Some(job) = queue.next_read() {
                look(&reader, job, &tools);
            }
        })?);
    }
    let (queue, tools, stats) = (queue.clone(), tools.clone(), stats.clone());
    threads.push(thread("sqlite-write", move || {
        while let Some((lane, jobs)) = queue.next_writes() {
            if let Err(error) = writer.begin(lane) {
                refuse(jobs, &error);
            } else if let Err(error) = commit_together(&writer, jobs, &tools, &stats) {
                tracing::error!(%error, "a commit failed and was rolled back");
            }
            queue.done(lane);
        }
    })?);
    Ok(threads)
}

/// Empties the log of changes into the file, so that what was overwritten or deleted lies in neither.
/// A reader in the midst of a look is waited for a while.
pub(crate) fn scrub(path: &str) -> Result<()> {
    let file = File::open(path, false)?;
    for _ in 0..SCRUBS {
        let busy: i64 =
            file.db.query_row("pragma wal_checkpoint(truncate)", [], |row| row.get(0))?;
        if busy == 0 {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(200));
    }
    Err(Error::Busy)
}

/// Connections for looks so short that handing them to another thread would cost more than the look.
pub(crate) struct Nearby {
    idle: Mutex<Vec<File>>,
}

impl Nearby {
    /// One connection for each thread that may want one.
    pub(crate) fn open(path: &str) -> Result<Self> {
        let threads = std::thread::available_parallelism().map_or(2, NonZero::get);
        let idle: Result<Vec<_>> = (0..=threads).map(|_| File::open(path, true)).collect();
        Ok(Self { idle: Mutex::new(idle?) })
    }

    /// Lends a connection; `None` if all are in use.
    pub(crate) fn lend<T>(&self, work: impl FnOnce(&File) -> T) -> Option<T> {
        let file = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop()?;
        let result = work(&file);
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(file);
        Some(result)
    }
}

/// Creates the file, readable only by its owner, if it does not exist yet. SQLite gives its `-wal` and `-shm` files the
/// same mode. The mode of a file that exists stays as it is.
fn create_private(path: &str) -> Result<()> {
    use std::os::unix::fs::OpenOptionsExt;
    let made = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    match made {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
            Err(Error::Unavailable(format!("{path}: {error}")))
        }
        _ => Ok(()),
    }
}

/// A connection to the file.
pub(crate) struct File {
    db: Connection,
    statements: Statements<String>,
}

impl File {
    fn open(path: &str, only_reads: bool) -> Result<Self> {
        if Path::new(path).is_dir() {
            return Err(Error::Unavailable(format!("{path} is a directory, not a database file")));
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let named = |error: rusqlite::Error| match Error::from(error) {
            Error::Unavailable(why) => Error::Unavailable(format!("{path}: {why}")),
            other => other,
        };
        create_private(path)?;
        let db = Connection::open_with_flags(path, flags).map_err(named)?;
        db.busy_timeout(PATIENCE)?;
        db.set_prepared_statement_cache_capacity(512);
        // Otherwise a join with a parameter is planned anew each time the parameter is bound.
        db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        // What does not fit into a quarter of a page gets pages of its own, and most news are longer than a quarter of
        // the usual 4 kB. Counts for a new file; one that is there keeps its size.
        db.execute_batch("pragma page_size = 8192; pragma journal_mode = wal").map_err(named)?;
        db.execute_batch(
            "pragma synchronous = full;
             pragma foreign_keys = on;
             pragma temp_store = memory;
             pragma secure_delete = on;
             pragma cache_size = -8000;
             pragma wal_autocheckpoint = 2000;",
        )?;
        if only_reads {
            db.execute_batch("pragma query_only = on")?;
        }
        Ok(Self { db, statements: Statements::new() })
    }

    /// In debug builds, a statement of one account that would walk through a whole table fails the
    /// first time it is prepared, so no test can run one.
    fn refuse_scan(&self, text: &str) -> Result<()> {
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
                return Err(Error::Database(format!("{step}: a full scan in {text:?}")));
            }
        }
        Ok(())
    }

    fn prepared(&self, sql: &'static str, params: &Params<'_>) -> Result<Arc<Prepared<String>>> {
        self.statements.get(sql, Dialect::Sqlite, params, |text| {
            if cfg!(debug_assertions) {
                self.refuse_scan(&text)?;
            }
            Ok(text)
        })
    }

    fn bound(&self, sql: &'static str, params: &Params<'_>) -> Result<CachedStatement<'_>> {
        let prepared = self.prepared(sql, params)?;
        let mut statement = self.db.prepare_cached(&prepared.handle)?;
        fill(&mut statement, prepared.values(params)?)?;
        Ok(statement)
    }
}

fn fill(statement: &mut CachedStatement<'_>, values: Vec<&Value<'_>>) -> Result<()> {
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

struct FileRow<'r, 's>(&'r rusqlite::Row<'s>);

impl Columns for FileRow<'_, '_> {
    fn value(&self, index: usize) -> Result<Value<'_>> {
        Ok(match self.0.get_ref(index)? {
            ValueRef::Null => Value::Null,
            ValueRef::Integer(number) => Value::Int(number),
            ValueRef::Real(number) => Value::Real(number),
            ValueRef::Text(text) => {
                let text = std::str::from_utf8(text)
                    .map_err(|_| Error::Corrupt("text that is not UTF-8".to_owned()))?;
                Value::Text(text.into())
            }
            ValueRef::Blob(bytes) => Value::Bytes(bytes.into()),
        })
    }

    fn name(&self, index: usize) -> &str {
        self.0.as_ref().column_name(index).unwrap_or_default()
    }
}

impl Conn for File {
    fn dialect(&self) -> Dialect {
        Dialect::Sqlite
    }

    fn each(
        &self,
        sql: &'static str,
        params: &Params<'_>,
        take: &mut dyn FnMut(&mut Row<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut statement = self.bound(sql, params)?;
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next()? {
            take(&mut Row::new(&FileRow(row)))?;
        }
        Ok(())
    }

    fn run(&self, sql: &'static str, params: &Params<'_>) -> Result<u64> {
        Ok(self.bound(sql, params)?.raw_execute()? as u64)
    }

    fn later(&self, sql: &'static str, params: &Params<'_>) -> Result<()> {
        self.run(sql, params).map(drop)
    }

    fn later_rows(&self, sql: &'static str, rows: &[Params<'_>]) -> Result<()> {
        // One statement for all would have to keep the pages it changes twice, in case it fails halfway.
        let Some(first) = rows.first() else { return Ok(()) };
        let prepared = self.prepared(sql, first)?;
        let mut statement = self.db.prepare_cached(&prepared.handle)?;
        for row in rows {
            fill(&mut statement, prepared.values(row)?)?;
            statement.raw_execute()?;
        }
        Ok(())
    }

    fn script(&self, sql: &str) -> Result<()> {
        Ok(self.db.execute_batch(sql)?)
    }
}

impl File {
    /// Runs a statement without parameters that steers the transaction.
    fn steer(&self, sql: &'static str) -> Result<()> {
        self.db.prepare_cached(sql)?.raw_execute()?;
        Ok(())
    }
}

impl Session for File {
    fn begin(&self, _lane: u64) -> Result<()> {
        self.steer("begin immediate")
    }

    fn begin_moment(&self) -> Result<()> {
        self.steer("begin")
    }

    fn mark(&self) -> Result<()> {
        self.steer("savepoint job")
    }

    fn keep(&self) -> Result<()> {
        self.steer("release job")
    }

    fn undo(&self) -> Result<()> {
        self.steer("rollback to job")?;
        self.steer("release job")
    }

    fn commit(&self) -> Result<()> {
        self.steer("commit")
    }

    fn rollback(&self) -> Result<()> {
        self.steer("rollback")
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::StatementStatus;

    use super::*;

    /// SQLite passes over a wish for another size without a word once the file is in WAL mode.
    #[test]
    fn a_new_file_has_pages_that_hold_several_news() {
        let folder = tempfile::tempdir().unwrap();
        let file = File::open(folder.path().join("x.db").to_str().unwrap(), false).unwrap();
        let asked = "select page_size, journal_mode from pragma_page_size, pragma_journal_mode";
        let (size, mode): (i64, String) =
            file.db.query_row(asked, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        assert_eq!((size, mode.as_str()), (8192, "wal"));
    }

    #[test]
    fn a_join_is_planned_once() {
        let folder = tempfile::tempdir().unwrap();
        let file = File::open(folder.path().join("x.db").to_str().unwrap(), false).unwrap();
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
