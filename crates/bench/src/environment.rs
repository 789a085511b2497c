//! The environment of one section: new databases of one kind, and the service on them.

use std::fs::File;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;

use kit::{Clock, Rng};
use store::Db;
use tokio::task::JoinSet;

use crate::Result;
use crate::options::{Measure, Section};
use crate::process::Process;

/// Rate limits that are never reached. Requests are still counted.
const LIMITS: &str = "free=100000000,club=100000000,league=100000000";
/// High enough for all clients, which have the same address.
const CONNECTIONS: &str = "5000";
/// High enough for all clients, which use the same app.
const OAUTH_REQUESTS: &str = "100000000";

/// Which database the service runs on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DatabaseKind {
    Sqlite,
    /// With the URL of the server.
    Postgres(String),
}

impl DatabaseKind {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Sqlite => "SQLite",
            Self::Postgres(_) => "PostgreSQL",
        }
    }

    pub(crate) fn is_postgres(&self) -> bool {
        *self != Self::Sqlite
    }
}

/// A folder and databases that are removed afterwards.
pub(crate) struct Environment {
    pub(crate) kind: DatabaseKind,
    pub(crate) folder: PathBuf,
    service: PathBuf,
    section: Section,
}

impl Environment {
    pub(crate) async fn prepare(
        measure: &Measure,
        kind: &DatabaseKind,
        section: Section,
    ) -> Result<Self> {
        let name = format!("{}-{}-{}", kind.name(), section.name(), std::process::id());
        let folder = measure.folder.join(name.to_lowercase());
        std::fs::create_dir_all(&folder)
            .map_err(|error| format!("cannot create {}: {error}", folder.display()))?;
        let service = measure.service.clone();
        let environment = Self { kind: kind.clone(), folder, service, section };
        environment.drop_databases().await?;
        Ok(environment)
    }

    /// A new, empty database with its schema.
    pub(crate) async fn database(&self, name: &str) -> Result<Database> {
        let url = match &self.kind {
            DatabaseKind::Sqlite => None,
            DatabaseKind::Postgres(server) => {
                let name = format!("{}{name}", self.prefix());
                run_sql(server, &[format!("create database {name}")]).await?;
                let base = server.rsplit_once('/').map_or(server.as_str(), |(base, _)| base);
                Some(format!("{base}/{name}"))
            }
        };
        let data = self.folder.join(name);
        std::fs::create_dir_all(&data)
            .map_err(|error| format!("cannot create a folder: {error}"))?;
        let database = Database { service: self.service.clone(), data, url };
        database.run(&["migrate"])?;
        Ok(database)
    }

    /// Drops the databases. The folder is removed when this is dropped.
    pub(crate) async fn remove(self) -> Result<()> {
        self.drop_databases().await
    }

    fn prefix(&self) -> String {
        format!("touchline_bench_{}_", self.section.name())
    }

    async fn drop_databases(&self) -> Result<()> {
        let DatabaseKind::Postgres(server) = &self.kind else { return Ok(()) };
        let pattern = self.prefix().replace('_', "\\_");
        let sql = format!("select datname from pg_database where datname like '{pattern}%'");
        let names = run_sql(server, &[sql]).await?;
        let drops: Vec<_> =
            names.iter().map(|name| format!("drop database {name} with (force)")).collect();
        run_sql(server, &drops).await.map(drop)
    }
}

impl Drop for Environment {
    fn drop(&mut self) {
        // A leftover folder does not invalidate the run.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Runs statements on the PostgreSQL server and returns the first column of all rows.
pub(crate) async fn run_sql(server: &str, statements: &[String]) -> Result<Vec<String>> {
    let failed = |error: tokio_postgres::Error| format!("PostgreSQL: {error}");
    let (client, connection) =
        tokio_postgres::connect(server, tokio_postgres::NoTls).await.map_err(failed)?;
    let mut tasks = JoinSet::new();
    tasks.spawn(connection);
    let mut values = Vec::new();
    for sql in statements {
        for message in client.simple_query(sql).await.map_err(failed)? {
            if let tokio_postgres::SimpleQueryMessage::Row(row) = message {
                values.extend(row.get(0).map(str::to_owned));
            }
        }
    }
    Ok(values)
}

/// One database and the data folder of its service.
pub(crate) struct Database {
    service: PathBuf,
    data: PathBuf,
    /// `None` for the SQLite file in the data folder.
    pub(crate) url: Option<String>,
}

impl Database {
    /// A command of the service, without the `TOUCHLINE_` variables of our own environment.
    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.service);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("TOUCHLINE_") {
                command.env_remove(name);
            }
        }
        command.args(args).arg("--data").arg(&self.data).stdin(Stdio::null());
        if let Some(url) = &self.url {
            command.args(["--database", url]);
        }
        command
    }

    /// Runs a command of the service and returns what it prints.
    pub(crate) fn run(&self, args: &[&str]) -> Result<String> {
        let name = args.join(" ");
        let output =
            self.command(args).output().map_err(|error| format!("cannot run {name}: {error}"))?;
        if output.status.success() {
            Ok(String::from_utf8_lossy(&output.stdout).into_owned())
        } else {
            Err(format!("{name}: {}", String::from_utf8_lossy(&output.stderr)))
        }
    }

    /// Opens the database directly, the way the service does.
    pub(crate) fn open(&self) -> Result<Db> {
        let defaults = touchline::config::Config::defaults();
        let file = || format!("sqlite:{}", self.data.join("touchline.db").display());
        Db::open(store::Options {
            url: self.url.clone().unwrap_or_else(file),
            ca_file: None,
            connections: defaults.postgres_connections.get(),
            queue_limit: defaults.queue.get(),
            clock: Clock::system(),
            rng: Arc::new(Rng::system()),
        })
        .map_err(|error| format!("cannot open the database: {error}"))
    }

    /// Runs `analyze` on PostgreSQL, as the server does automatically within a minute.
    pub(crate) async fn analyze(&self) -> Result<()> {
        match &self.url {
            Some(url) => run_sql(url, &["analyze".to_owned()]).await.map(drop),
            None => Ok(()),
        }
    }

    /// Starts the service and waits until it listens.
    pub(crate) async fn serve(&self, flags: &[&str]) -> Result<Process> {
        self.analyze().await?;
        let mut args = vec!["serve", "--listen", "127.0.0.1:0"];
        args.extend(flags);
        let mut command = self.command(&args);
        command
            .env("TOUCHLINE_RATE_LIMITS", LIMITS)
            .env("TOUCHLINE_MAX_CONNECTIONS_PER_ADDRESS", CONNECTIONS)
            .env("TOUCHLINE_OAUTH_REQUESTS", OAUTH_REQUESTS)
            .stdout(Stdio::null());
        Process::start(command, &self.data).await
    }

    /// Creates a folder inside the data folder.
    pub(crate) fn create_folder(&self, name: &str) -> Result<PathBuf> {
        let path = self.data.join(name);
        std::fs::create_dir_all(&path)
            .map(|()| path)
            .map_err(|error| format!("cannot create a folder: {error}"))
    }

    /// Writes a file into the data folder.
    pub(crate) fn write_file(&self, name: &str, bytes: &[u8]) -> Result<PathBuf> {
        let path = self.data.join(name);
        let failed = |error| format!("cannot write {}: {error}", path.display());
        let mut file = File::create(&path).map_err(failed)?;
        std::io::Write::write_all(&mut file, bytes).map_err(failed)?;
        Ok(path)
    }
}
