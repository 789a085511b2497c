//! Where a part of the benchmark takes place: fresh databases of one kind, and the service on them.

use std::fs::File;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;

use kit::{Clock, Dice};
use store::Db;
use tokio::task::JoinSet;

use crate::Result;
use crate::options::{Measure, Section};
use crate::process::Process;

/// So high that nobody is refused, while every request is still counted.
const LIMITS: &str = "free=100000000,club=100000000,league=100000000";
/// All clients of the benchmark come from one address.
const CONNECTIONS: &str = "5000";
/// All of them use one app.
const OAUTH_REQUESTS: &str = "100000000";

/// Which database the service runs on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    Sqlite,
    /// With the address of the server.
    Postgres(String),
}

impl Kind {
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

/// A folder and a set of databases that are gone afterwards.
pub(crate) struct Site {
    pub(crate) kind: Kind,
    pub(crate) folder: PathBuf,
    service: PathBuf,
    section: Section,
}

impl Site {
    pub(crate) async fn prepare(measure: &Measure, kind: &Kind, section: Section) -> Result<Self> {
        let name = format!("{}-{}-{}", kind.name(), section.name(), std::process::id());
        let folder = measure.folder.join(name.to_lowercase());
        std::fs::create_dir_all(&folder)
            .map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
        let service = measure.service.clone();
        let site = Self { kind: kind.clone(), folder, service, section };
        site.drop_databases().await?;
        Ok(site)
    }

    /// A new, empty database with its schema.
    pub(crate) async fn database(&self, name: &str) -> Result<Database> {
        let url = match &self.kind {
            Kind::Sqlite => None,
            Kind::Postgres(server) => {
                let name = format!("{}{name}", self.prefix());
                admin(server, &[format!("create database {name}")]).await?;
                let base = server.rsplit_once('/').map_or(server.as_str(), |(base, _)| base);
                Some(format!("{base}/{name}"))
            }
        };
        let data = self.folder.join(name);
        std::fs::create_dir_all(&data).map_err(|error| format!("cannot make a folder: {error}"))?;
        let database = Database { service: self.service.clone(), data, url };
        database.said(&["migrate"])?;
        Ok(database)
    }

    /// Removes the databases; the folder goes by itself.
    pub(crate) async fn clear(self) -> Result<()> {
        self.drop_databases().await
    }

    fn prefix(&self) -> String {
        format!("touchline_bench_{}_", self.section.name())
    }

    async fn drop_databases(&self) -> Result<()> {
        let Kind::Postgres(server) = &self.kind else { return Ok(()) };
        let pattern = self.prefix().replace('_', "\\_");
        let sql = format!("select datname from pg_database where datname like '{pattern}%'");
        let names = admin(server, &[sql]).await?;
        let drops: Vec<_> =
            names.iter().map(|name| format!("drop database {name} with (force)")).collect();
        admin(server, &drops).await.map(drop)
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        // A folder that stays behind is no reason to fail a run that is over.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Runs statements on the server itself, one by one, and answers with the texts they return.
pub(crate) async fn admin(server: &str, statements: &[String]) -> Result<Vec<String>> {
    let told = |error: tokio_postgres::Error| format!("PostgreSQL: {error}");
    let (client, connection) =
        tokio_postgres::connect(server, tokio_postgres::NoTls).await.map_err(told)?;
    let mut tasks = JoinSet::new();
    tasks.spawn(connection);
    let mut found = Vec::new();
    for sql in statements {
        for message in client.simple_query(sql).await.map_err(told)? {
            if let tokio_postgres::SimpleQueryMessage::Row(row) = message {
                found.extend(row.get(0).map(str::to_owned));
            }
        }
    }
    Ok(found)
}

/// One database, as the service is told of it.
pub(crate) struct Database {
    service: PathBuf,
    data: PathBuf,
    /// `None` is the file in the data folder.
    pub(crate) url: Option<String>,
}

impl Database {
    /// The service's program, without the settings of whoever runs the benchmark.
    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.service);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("TOUCHLINE_") {
                command.env_remove(name);
            }
        }
        command.args(words).arg("--data").arg(&self.data).stdin(Stdio::null());
        if let Some(url) = &self.url {
            command.args(["--database", url]);
        }
        command
    }

    /// What a command of the service prints.
    pub(crate) fn said(&self, words: &[&str]) -> Result<String> {
        let name = words.join(" ");
        let output =
            self.command(words).output().map_err(|error| format!("cannot run {name}: {error}"))?;
        if output.status.success() {
            Ok(String::from_utf8_lossy(&output.stdout).into_owned())
        } else {
            Err(format!("{name}: {}", String::from_utf8_lossy(&output.stderr)))
        }
    }

    /// The database without the service, as the service itself opens it.
    pub(crate) fn open(&self) -> Result<Db> {
        let defaults = touchline::config::Config::defaults();
        let file = || format!("sqlite:{}", self.data.join("touchline.db").display());
        Db::open(store::Options {
            url: self.url.clone().unwrap_or_else(file),
            authority: None,
            connections: defaults.postgres_connections.get(),
            queue: defaults.queue.get(),
            clock: Clock::system(),
            dice: Arc::new(Dice::system()),
        })
        .map_err(|error| format!("cannot open the database: {error}"))
    }

    /// Lets a database server look what its tables hold, as it does by itself within a minute.
    pub(crate) async fn settle(&self) -> Result<()> {
        match &self.url {
            Some(url) => admin(url, &["analyze".to_owned()]).await.map(drop),
            None => Ok(()),
        }
    }

    /// The service, ready to answer.
    pub(crate) async fn serve(&self, flags: &[&str]) -> Result<Process> {
        self.settle().await?;
        let mut words = vec!["serve", "--listen", "127.0.0.1:0"];
        words.extend(flags);
        let mut command = self.command(&words);
        command
            .env("TOUCHLINE_RATE_LIMITS", LIMITS)
            .env("TOUCHLINE_MAX_CONNECTIONS_PER_ADDRESS", CONNECTIONS)
            .env("TOUCHLINE_OAUTH_REQUESTS", OAUTH_REQUESTS)
            .stdout(Stdio::null());
        Process::start(command, &self.data).await
    }

    /// A new folder beside the data.
    pub(crate) fn folder(&self, name: &str) -> Result<PathBuf> {
        let path = self.data.join(name);
        let made = std::fs::create_dir_all(&path);
        made.map(|()| path).map_err(|error| format!("cannot make a folder: {error}"))
    }

    /// A file beside the data.
    pub(crate) fn keep(&self, name: &str, bytes: &[u8]) -> Result<PathBuf> {
        let path = self.data.join(name);
        let told = |error| format!("cannot write {}: {error}", path.display());
        let mut file = File::create(&path).map_err(told)?;
        std::io::Write::write_all(&mut file, bytes).map_err(told)?;
        Ok(path)
    }
}
