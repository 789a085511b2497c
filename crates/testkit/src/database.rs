//! A fresh database for each story, gone when the story ends.

use std::path::Path;
use std::sync::Arc;

use kit::secret::{hex, sha256};
use kit::{Clock, Dice};
use store::{Db, Migration, Options};
use tempfile::TempDir;
use tokio_postgres::NoTls;
use touchline::migrations::STEPS;

/// Which database a story runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    Sqlite,
    Postgres,
}

/// A database that only one story uses.
pub struct TestDatabase {
    /// The address, as the service takes it.
    pub url: String,
    /// A folder for whatever else the story needs.
    pub folder: TempDir,
    postgres: Option<String>,
}

impl TestDatabase {
    /// An empty, migrated database. `None` where there is no PostgreSQL and nobody insists.
    pub async fn new(engine: Engine) -> Option<Self> {
        let folder = fast_folder();
        let (url, postgres) = match engine {
            Engine::Sqlite => {
                let url = format!("sqlite:{}", folder.path().join("touchline.db").display());
                migrate(&url, STEPS).await;
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

    /// A database with the first steps of the schema only, as an earlier version left it.
    pub async fn with_steps(engine: Engine, steps: usize) -> Option<Self> {
        let folder = fast_folder();
        let (url, postgres) = match engine {
            Engine::Sqlite => {
                (format!("sqlite:{}", folder.path().join("touchline.db").display()), None)
            }
            Engine::Postgres => {
                let server = server()?;
                let name = format!("old_{}", hex(&Dice::system().bytes::<8>()));
                let create = format!("create database {name}");
                connect(&server).await.batch_execute(&create).await.unwrap();
                (database_url(&server, &name), Some(name))
            }
        };
        migrate(&url, &STEPS[..steps]).await;
        Some(Self { url, folder, postgres })
    }

    /// A connection of its own to the PostgreSQL database, for what the service does not offer.
    pub async fn postgres_client(&self) -> Option<tokio_postgres::Client> {
        self.postgres.as_ref()?;
        Some(connect(&self.url).await)
    }

    /// Opens the database with another clock.
    pub fn open(&self, clock: Clock) -> Db {
        Db::open(options(&self.url, clock)).unwrap()
    }

    /// Waits until nobody is connected any more: of a service that was killed, the server may still be committing
    /// what it was told last.
    pub async fn left_alone(&self) {
        let Some(client) = self.postgres_client().await else { return };
        let others = "select 1 from pg_stat_activity
            where datname = current_database() and pid <> pg_backend_pid()";
        while !client.query(others, &[]).await.unwrap().is_empty() {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    }

    /// Removes a PostgreSQL database; a file goes with its folder.
    pub async fn remove(&self) {
        if let (Some(name), Some(server)) = (&self.postgres, server()) {
            let admin = connect(&server).await;
            admin.batch_execute(&format!("drop database {name} with (force)")).await.unwrap();
        }
    }
}

/// How a test opens a database.
pub fn options(url: &str, clock: Clock) -> Options {
    let dice = Arc::new(Dice::system());
    Options { url: url.to_owned(), authority: None, connections: 4, queue: 4096, clock, dice }
}

/// The server that `cargo xtask test` started.
fn server() -> Option<String> {
    if let Ok(server) = std::env::var("TOUCHLINE_TEST_POSTGRES") {
        return Some(server);
    }
    assert!(
        std::env::var("TOUCHLINE_TEST_REQUIRE_POSTGRES").is_err() && std::env::var("CI").is_err(),
        "there is no PostgreSQL to test on; run `cargo xtask test`"
    );
    eprintln!("SKIPPED: there is no PostgreSQL to test on; run `cargo xtask test`");
    None
}

/// Files of tests lie in memory where possible: they need not outlive the machine.
fn fast_folder() -> TempDir {
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

/// A copy of the migrated template, which whoever comes first makes.
async fn copy_of_template(server: &str) -> String {
    let schema: String = STEPS.iter().map(|step| step.sql).collect();
    let template = format!("template_{}", &hex(&sha256(schema.as_bytes()))[..16]);
    let admin = connect(server).await;
    admin.batch_execute("select pg_advisory_lock(7)").await.unwrap();
    let exists = "select 1 from pg_database where datname = $1";
    if admin.query(exists, &[&template]).await.unwrap().is_empty() {
        // Made under another name first: a half-made template must never be copied.
        let draft = format!("{template}_draft");
        admin.batch_execute(&format!("drop database if exists {draft}")).await.unwrap();
        admin.batch_execute(&format!("create database {draft}")).await.unwrap();
        migrate(&database_url(server, &draft), STEPS).await;
        let rename = format!("alter database {draft} rename to {template}");
        while admin.batch_execute(&rename).await.is_err() {
            // The connections that migrated it may take a moment to end.
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    }
    admin.batch_execute("select pg_advisory_unlock(7)").await.unwrap();
    // The numbers of processes are used again, and a story that failed leaves its database behind.
    let name = format!("story_{}", hex(&Dice::system().bytes::<12>()));
    admin.batch_execute(&format!("create database {name} template {template}")).await.unwrap();
    name
}
