//! Self-checks of an installation: what is wrong and what to do about it.

use std::path::Path;
use std::time::Duration;

use store::{Db, Dialect};

use crate::backup;
use crate::config::{BaseUrl, Config};
use crate::file_store::FileStore;
use crate::i18n::Message;
use crate::migrations::MIGRATIONS;
use crate::prelude::*;
use crate::smtp::server::{self, Server};
use crate::webhooks::summary;

/// The result of a check.
#[derive(Debug, Serialize)]
pub struct Finding {
    /// The name of the check.
    pub check: &'static str,
    pub verdict: CheckStatus,
    /// The result and, if there is a problem, what to do.
    pub detail: Message,
}

/// How serious a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckStatus {
    /// No problem.
    Passed,
    /// It works, but needs attention.
    Warning,
    /// It does not work.
    Failed,
}

/// Free space below this gives a warning, in bytes.
const MIN_FREE_BYTES: u64 = 512 * 1024 * 1024;
/// A backup older than this gives a warning, in days.
pub const MAX_BACKUP_AGE_DAYS: i64 = 7;

/// How long the mail server may take to answer.
const MAIL_TIMEOUT: Duration = Duration::from_secs(15);

/// The time and the findings of the last run, which visitors of the health page share.
#[derive(Default)]
pub struct LastDoctorRun(pub tokio::sync::Mutex<Option<(Timestamp, Vec<Finding>)>>);

/// The status and the result of a check.
type Outcome = (CheckStatus, Message);

fn passed(detail: impl Into<Message>) -> Outcome {
    (CheckStatus::Passed, detail.into())
}

fn warning(detail: impl Into<Message>) -> Outcome {
    (CheckStatus::Warning, detail.into())
}

fn failed(detail: impl Into<Message>) -> Outcome {
    (CheckStatus::Failed, detail.into())
}

fn findings(outcomes: impl IntoIterator<Item = (&'static str, Outcome)>) -> Vec<Finding> {
    let finding = |(check, (verdict, detail))| Finding { check, verdict, detail };
    outcomes.into_iter().map(finding).collect()
}

/// Runs all checks.
pub async fn run_checks(db: &Db, config: &Config, now: Timestamp) -> Vec<Finding> {
    let of_database = [
        ("database", database(db).await),
        ("schema", schema(db).await),
        ("logs", logs(db).await),
        ("webhooks", webhooks(db).await),
    ];
    let of_services =
        [("files", files(config).await), ("mail", mail(config).await), ("cards", cards(config))];
    findings(of_database.into_iter().chain(environment_checks(config, now)).chain(of_services))
}

/// Runs the checks that need no database, because it cannot be opened.
pub fn run_checks_without_database(config: &Config, now: Timestamp, reason: &str) -> Vec<Finding> {
    let database = [("database", failed(format!("{reason}.")))];
    findings(database.into_iter().chain(environment_checks(config, now)))
}

fn environment_checks(config: &Config, now: Timestamp) -> [(&'static str, Outcome); 6] {
    [
        ("folder", folder(config)),
        ("space", space(&config.data)),
        ("clock", clock(now)),
        ("zones", zones()),
        ("address", address(config)),
        ("backup", last_backup(&config.data, now)),
    ]
}

/// Whether files can be written, read and deleted.
async fn files(config: &Config) -> Outcome {
    let checked = match FileStore::new(config) {
        Ok(store) => store.check().await,
        Err(fault) => Err(fault),
    };
    let place = config.files.to_string();
    match checked {
        Ok(()) => passed(message!("Files can be stored, read and deleted ({place}).", place)),
        Err(reason) => failed(message!(
            "Files cannot be stored ({place}): {reason}. Check the settings that begin with `files`, and the free space.",
            place,
            reason
        )),
    }
}

/// Whether the database passes its integrity check (SQLite) or sorts text by code point (PostgreSQL).
async fn database(db: &Db) -> Outcome {
    let (query, expected) = match db.dialect() {
        Dialect::Sqlite => {
            ("select integrity_check from pragma_integrity_check /* any account */", "ok")
        }
        Dialect::Postgres => (
            "select cast(datcollate as text) from pg_database where datname = current_database() /* any account */",
            "C",
        ),
    };
    let result =
        db.snapshot(Scope::system("doctor"), move |db| db.one::<(String,)>(query, bind! {})).await;
    match result {
        Ok((value,)) if value == expected => passed("The database answers and is intact."),
        Ok((collation,)) if db.dialect() == Dialect::Postgres => warning(format!(
            "The database uses the collation {collation}. Create one with LC_COLLATE 'C' and restore a backup into it."
        )),
        Ok((fault,)) => {
            failed(format!("The database file is damaged ({fault}). Restore the last backup."))
        }
        Err(error) => failed(format!("{error}.")),
    }
}

async fn schema(db: &Db) -> Outcome {
    let all = MIGRATIONS.len();
    match db.applied_migrations().await.map(|applied| applied.len()) {
        Ok(applied) if applied == all => passed(message!(
            "The schema is up to date at {migration}.",
            migration = MIGRATIONS[all - 1].name
        )),
        Ok(applied) if applied > all => failed(message!(
            "The database was migrated by a newer version of Touchline. Use that version."
        )),
        Ok(applied) => failed(message!(
            "{applied} of {all} migrations are applied. Run `touchline migrate`.",
            applied,
            all
        )),
        Err(error) => failed(format!("{error}.")),
    }
}

async fn logs(db: &Db) -> Outcome {
    match backup::verify_logs(db).await {
        Ok(None) => passed("The audit and notification logs of all accounts are intact."),
        Ok(Some(fault)) => failed(format!(
            "{fault}. The database was altered outside of Touchline. Compare it with a backup."
        )),
        Err(error) => failed(format!("The logs could not be read: {error}.")),
    }
}

/// Whether webhooks have a backlog or failing receivers.
async fn webhooks(db: &Db) -> Outcome {
    match db.snapshot(Scope::system("doctor"), summary::backlog).await {
        Ok((0, 0)) => passed(message!("No webhook has a large backlog or has failed for long.")),
        Ok((behind, failing)) => warning(webhook_problems(behind, failing)),
        Err(error) => failed(format!("Webhooks could not be checked: {}", error.detail)),
    }
}

/// How many webhooks are far behind, and how many have failing receivers.
fn webhook_problems(behind: i64, failing: i64) -> Message {
    let behind_text = message_n!(
        "More than {limit} notifications are waiting for {count} webhook.",
        "More than {limit} notifications are waiting for {count} webhooks.",
        behind,
        limit = summary::BACKLOG_THRESHOLD
    );
    let failing_text = message_n!(
        "The receiver of {count} webhook failed for more than an hour.",
        "The receivers of {count} webhooks failed for more than an hour.",
        failing
    );
    match (behind, failing) {
        (_, 0) => message!("{problem} See Webhooks in the admin area.", problem = behind_text),
        (0, _) => message!("{problem} See Webhooks in the admin area.", problem = failing_text),
        _ => message!(
            "{problem} {other_problem} See Webhooks in the admin area.",
            problem = behind_text,
            other_problem = failing_text
        ),
    }
}

/// Whether the data directory is writable and private.
fn folder(config: &Config) -> Outcome {
    use std::os::unix::fs::PermissionsExt;
    let data = &config.data;
    let shown = data.display();
    if config.database.is_some() && !data.exists() {
        return passed(format!(
            "The data directory {shown} does not exist yet. It is created when needed."
        ));
    }
    if let Err(error) = tempfile::tempfile_in(data) {
        return failed(format!("The data directory {shown} is not writable: {error}."));
    }
    let is_open = |path: &Path| {
        std::fs::metadata(path).is_ok_and(|metadata| metadata.permissions().mode() & 0o077 != 0)
    };
    if is_open(data) {
        return warning(format!(
            "Other users of this machine can read {shown}. Run `chmod 700 {shown}`."
        ));
    }
    let url = config.database_url();
    match url.strip_prefix("sqlite:").map(Path::new).filter(|file| is_open(file)) {
        Some(file) => warning(format!(
            "Other users of this machine can read {0}. Run `chmod 600 {0}`.",
            file.display()
        )),
        None => passed(format!("The data directory {shown} is writable and private.")),
    }
}

fn space(data: &Path) -> Outcome {
    let data = if data.exists() { data } else { Path::new(".") };
    let disk = match rustix::fs::statvfs(data) {
        Ok(disk) => disk,
        Err(error) => {
            let error = error.to_string();
            return warning(message!("The free disk space is unknown: {error}.", error));
        }
    };
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    let megabytes = free / 1_000_000;
    if free < MIN_FREE_BYTES {
        warning(message!(
            "Only {megabytes} MB of disk space are free. Free up some space.",
            megabytes
        ))
    } else {
        passed(message!("{megabytes} MB of disk space are free.", megabytes))
    }
}

/// Whether the system clock is plausible. A wrong clock gives tokens and events wrong times.
fn clock(now: Timestamp) -> Outcome {
    let built: Timestamp = "2026-11-01T00:00:00Z".parse().unwrap_or(now);
    if now < built {
        let now = now.to_string();
        return failed(message!("The system clock is wrong: it shows {now}. Set it.", now));
    }
    passed(message!("The system clock is plausible."))
}

fn zones() -> Outcome {
    match "Europe/Lisbon".parse::<kit::Zone>() {
        Ok(_) => passed(message!("The time zone database is available.")),
        Err(_) => failed(message!(
            "The time zone database is missing from this build. Install an official build."
        )),
    }
}

fn address(config: &Config) -> Outcome {
    match config.base_url.as_ref().map(BaseUrl::as_str) {
        Some(base) if base.starts_with("https://") => passed(format!("The public URL is {base}.")),
        Some(base) => warning(format!(
            "The public URL {base} is not encrypted. Put a proxy with HTTPS in front of the service."
        )),
        None if config.listen.ip().is_loopback() => {
            passed("The service listens only on this machine.")
        }
        None => warning("The public URL is not set. Set base_url."),
    }
}

/// Whether the mail server accepts connections with the configured credentials.
async fn mail(config: &Config) -> Outcome {
    let server = match Server::new(config) {
        Ok(Some(server)) => server,
        Ok(None) => {
            let detail = "No mail server is configured. Emails are stored and not sent. Set smtp_url to send them.";
            return warning(detail);
        }
        Err(fault) => return failed(format!("{fault}.")),
    };
    match server.test_connection(MAIL_TIMEOUT).await {
        Ok(()) if config.smtp_url.as_ref().is_some_and(server::sends_password_unencrypted) => {
            let detail = "The mail server is reachable, but the password is sent unencrypted. \
                Append ?tls=required to smtp_url.";
            warning(detail)
        }
        Ok(()) => passed("The mail server is reachable and accepts emails."),
        Err(fault) => failed(format!("The mail server cannot be used ({fault}). Check smtp_url.")),
    }
}

/// Whether card payments are configured.
fn cards(config: &Config) -> Outcome {
    if config.stripe_secret_key.is_none() {
        let detail =
            "Card payments are disabled. Set stripe_secret_key to accept them with Stripe.";
        return passed(detail);
    }
    if config.stripe_webhook_secret.is_none() {
        let detail = "Card payments are enabled, but payments are confirmed late without the Stripe webhook. \
            Set stripe_webhook_secret.";
        return warning(detail);
    }
    passed(message!("Card payments with Stripe are enabled."))
}

/// The age in days of the newest backup in the data directory. `None` if there is no backup.
pub fn backup_age(data: &Path, now: Timestamp) -> Option<i64> {
    let files = std::fs::read_dir(data.join("backups")).into_iter().flatten().flatten();
    let ages = files.filter_map(|file| file.metadata().ok()?.modified().ok());
    let newest = ages.max()?.duration_since(std::time::UNIX_EPOCH).ok()?;
    Some((now.seconds() - i64::try_from(newest.as_secs()).unwrap_or(0)) / 86_400)
}

fn last_backup(data: &Path, now: Timestamp) -> Outcome {
    let Some(days) = backup_age(data, now) else {
        return warning(message!("There is no backup yet. Run `touchline backup create`."));
    };
    if days > MAX_BACKUP_AGE_DAYS {
        return warning(message_n!(
            "The last backup is {count} day old. Run `touchline backup create`.",
            "The last backup is {count} days old. Run `touchline backup create`.",
            days
        ));
    }
    passed(message_n!(
        "The last backup is {count} day old.",
        "The last backup is {count} days old.",
        days
    ))
}
