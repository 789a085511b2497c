//! A temporary database for each test.

use std::path::Path;
use std::sync::Arc;

use kit::secret::{hex, sha256};
use kit::{Clock, Rng};
use store::{Db, Migration, Options};
use tempfile::TempDir;
use tokio_postgres::NoTls;
use touchline::migrations::MIGRATIONS;

/// Which database a test runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    Sqlite,
    Postgres,
}

/// The database of one test.
pub struct TestDatabase {
    /// The database URL, as the service's settings take it.
    pub url: String,
    /// A temporary directory for the test's files.
    pub folder: TempDir,
    postgres: Option<String>,
}

impl TestDatabase {
    /// An empty, migrated database. `None` if PostgreSQL is missing and not required.
    pub async fn new(engine: Engine) -> Option<Self> {
        let folder = temp_folder();
        let (url, postgres) = match engine {
            Engine::Sqlite => {
                let url = format!("sqlite:{}", folder.path().join("touchline.db").display());
                migrate(&url, MIGRATIONS).await;
                (url, None)
            }
            Engine::Postgres => {
                let server = server()?;
                let name = copy_of_template(&server).await;
                (database_url(&server, &name), Some(name))
            }
        };
        Some(Self { url, folder, postgres })
    }

    /// A database with only the first migrations, as an earlier version left it.
    pub async fn with_migrations(engine: Engine, steps: usize) -> Option<Self> {
        let folder = temp_folder();
        let (url, postgres) = match engine {
            Engine::Sqlite => {
                (format!("sqlite:{}", folder.path().join("touchline.db").display()), None)
            }
            Engine::Postgres => {
                let server = server()?;
                let name = format!("old_{}", hex(&Rng::system().bytes::<8>()));
                let create = format!("create database {name}");
                connect(&server).await.batch_execute(&create).await.unwrap();
                (database_url(&server, &name), Some(name))
            }
        };
        migrate(&url, &MIGRATIONS[..steps]).await;
        Some(Self { url, folder, postgres })
    }

    /// A direct connection to the PostgreSQL database; `None` on SQLite.
    pub async fn postgres_client(&self) -> Option<tokio_postgres::Client> {
        self.postgres.as_ref()?;
        Some(connect(&self.url).await)
    }

    /// Opens the database with a clock.
    pub fn open(&self, clock: Clock) -> Db {
        touchline::register_modules();
        Db::open(options(&self.url, clock)).unwrap()
    }

    /// Waits until all other connections are closed: PostgreSQL may still commit the last transaction of a
    /// service that was killed.
    pub async fn wait_for_disconnects(&self) {
        let Some(client) = self.postgres_client().await else { return };
        let others = "select 1 from pg_stat_activity
            where datname = current_database() and pid <> pg_backend_pid()";
        while !client.query(others, &[]).await.unwrap().is_empty() {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    }

    /// Drops a PostgreSQL database. A SQLite file is removed with its directory.
    pub async fn remove(&self) {
        if let (Some(name), Some(server)) = (&self.postgres, server()) {
            let admin = connect(&server).await;
            admin.batch_execute(&format!("drop database {name} with (force)")).await.unwrap();
        }
    }
}

/// The store options of tests.
pub fn options(url: &str, clock: Clock) -> Options {
    let rng = Arc::new(Rng::system());
    Options { url: url.to_owned(), ca_file: None, connections: 4, queue_limit: 4096, clock, rng }
}

/// The URL of the PostgreSQL server that `cargo xtask test` started.
fn server() -> Option<String> {
    if let Ok(server) = std::env::var("TOUCHLINE_TEST_POSTGRES") {
        return Some(server);
    }
    assert!(
        std::env::var("TOUCHLINE_TEST_REQUIRE_POSTGRES").is_err() && std::env::var("CI").is_err(),
        "PostgreSQL is not running for the tests; run `cargo xtask test`"
    );
    eprintln!("SKIPPED: PostgreSQL is not running for the tests; run `cargo xtask test`");
    None
}

/// A temporary directory, in memory if possible.
fn temp_folder() -> TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() {
        tempfile::tempdir_in(memory).unwrap()
    } else {
        tempfile::tempdir().unwrap()
    }
}

async fn migrate(url: &str, steps: &'static [Migration]) {
    let db = Db::open(options(url, Clock::system())).unwrap();
    db.migrate(steps).await.unwrap();
    db.close();
}

fn database_url(server: &str, name: &str) -> String {
    let (before, _) = server.rsplit_once('/').unwrap();
    format!("{before}/{name}")
}

async fn connect(url: &str) -> tokio_postgres::Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::task::spawn(connection);
    client
}

/// Creates a copy of the migrated template database. The first caller creates the template.
async fn copy_of_template(server: &str) -> String {
    let schema: String = MIGRATIONS.iter().map(|step| step.sql).collect();
    let template = format!("template_{}", &hex(&sha256(schema.as_bytes()))[..16]);
    let admin = connect(server).await;
    admin.batch_execute("select pg_advisory_lock(7)").await.unwrap();
    let exists = "select 1 from pg_database where datname = $1";
    if admin.query(exists, &[&template]).await.unwrap().is_empty() {
        // Migrated under another name, so that an unfinished template is never copied.
        let draft = format!("{template}_draft");
        admin.batch_execute(&format!("drop database if exists {draft}")).await.unwrap();
        admin.batch_execute(&format!("create database {draft}")).await.unwrap();
        migrate(&database_url(server, &draft), MIGRATIONS).await;
        let rename = format!("alter database {draft} rename to {template}");
        while admin.batch_execute(&rename).await.is_err() {
            // The connections that migrated it may take a moment to end.
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    }
    admin.batch_execute("select pg_advisory_unlock(7)").await.unwrap();
    // A random name: process ids are reused, and a failed test leaves its database behind.
    let name = format!("story_{}", hex(&Rng::system().bytes::<12>()));
    admin.batch_execute(&format!("create database {name} template {template}")).await.unwrap();
    name
}
