//! Self-checks of an installation: what is wrong and what to do about it.

use std::path::Path;
use std::time::Duration;

use store::{Db, Dialect};

use crate::backup;
use crate::config::{BaseUrl, Config};
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
pub enum CheckStatus {
    /// No problem.
    #[serde(rename = "passed")]
    Passed,
    /// It works, but needs attention.
    #[serde(rename = "warning")]
    Warning,
    /// It does not work.
    #[serde(rename = "failed")]
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

/// Runs all checks.
pub async fn run_checks(db: &Db, config: &Config, now: Timestamp) -> Vec<Finding> {
    let mut findings =
        vec![database(db).await, schema(db).await, logs(db).await, webhooks(db).await];
    findings.extend(environment_checks(config, now));
    findings.push(mail(config).await);
    findings.push(cards(config));
    findings
}

/// Runs the checks that need no database, because it cannot be opened.
pub fn run_checks_without_database(config: &Config, now: Timestamp, reason: &str) -> Vec<Finding> {
    let mut findings = vec![finding("database", CheckStatus::Failed, format!("{reason}."))];
    findings.extend(environment_checks(config, now));
    findings
}

fn environment_checks(config: &Config, now: Timestamp) -> [Finding; 6] {
    [
        folder(config),
        space(&config.data),
        clock(now),
        zones(),
        address(config),
        last_backup(&config.data, now),
    ]
}

fn finding(check: &'static str, verdict: CheckStatus, detail: impl Into<Message>) -> Finding {
    Finding { check, verdict, detail: detail.into() }
}

/// Whether the database passes its integrity check (SQLite) or sorts text by code point (PostgreSQL).
async fn database(db: &Db) -> Finding {
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
        Ok((value,)) if value == expected => {
            finding("database", CheckStatus::Passed, "The database answers and is intact.")
        }
        Ok((collation,)) if db.dialect() == Dialect::Postgres => {
            let detail = format!(
                "The database uses the collation {collation}. Create one with LC_COLLATE 'C' and restore a backup into it."
            );
            finding("database", CheckStatus::Warning, detail)
        }
        Ok((fault,)) => {
            let detail =
                format!("The database file is damaged ({fault}). Restore the last backup.");
            finding("database", CheckStatus::Failed, detail)
        }
        Err(error) => finding("database", CheckStatus::Failed, format!("{error}.")),
    }
}

async fn schema(db: &Db) -> Finding {
    match db.applied_migrations().await {
        Ok(applied) if applied.len() == MIGRATIONS.len() => finding(
            "schema",
            CheckStatus::Passed,
            message!(
                "The schema is up to date at {migration}.",
                migration = MIGRATIONS[MIGRATIONS.len() - 1].name
            ),
        ),
        Ok(applied) if applied.len() > MIGRATIONS.len() => {
            let detail =
                "The database was migrated by a newer version of Touchline. Use that version.";
            finding("schema", CheckStatus::Failed, detail)
        }
        Ok(applied) => {
            let detail = message!(
                "{applied} of {all} migrations are applied. Run `touchline migrate`.",
                applied = applied.len(),
                all = MIGRATIONS.len()
            );
            finding("schema", CheckStatus::Failed, detail)
        }
        Err(error) => finding("schema", CheckStatus::Failed, format!("{error}.")),
    }
}

async fn logs(db: &Db) -> Finding {
    match backup::verify_logs(db).await {
        Ok(None) => finding(
            "logs",
            CheckStatus::Passed,
            "The audit and notification logs of all accounts are intact.",
        ),
        Ok(Some(fault)) => finding(
            "logs",
            CheckStatus::Failed,
            format!(
                "{fault}. The database was altered outside of Touchline. Compare it with a backup."
            ),
        ),
        Err(error) => {
            finding("logs", CheckStatus::Failed, format!("The logs could not be read: {error}."))
        }
    }
}

/// Whether webhooks have a backlog or failing receivers.
async fn webhooks(db: &Db) -> Finding {
    match db.snapshot(Scope::system("doctor"), summary::backlog).await {
        Ok((0, 0)) => finding(
            "webhooks",
            CheckStatus::Passed,
            message!("No webhook has a large backlog or has failed for long."),
        ),
        Ok((behind, failing)) => {
            finding("webhooks", CheckStatus::Warning, webhook_problems(behind, failing))
        }
        Err(error) => finding(
            "webhooks",
            CheckStatus::Failed,
            format!("Webhooks could not be checked: {}", error.detail),
        ),
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
fn folder(config: &Config) -> Finding {
    use std::os::unix::fs::PermissionsExt;
    let data = &config.data;
    let shown = data.display();
    if config.database.is_some() && !data.exists() {
        return finding(
            "folder",
            CheckStatus::Passed,
            format!("The data directory {shown} does not exist yet. It is created when needed."),
        );
    }
    if let Err(error) = tempfile::tempfile_in(data) {
        return finding(
            "folder",
            CheckStatus::Failed,
            format!("The data directory {shown} is not writable: {error}."),
        );
    }
    let is_open = |path: &Path| {
        std::fs::metadata(path).is_ok_and(|metadata| metadata.permissions().mode() & 0o077 != 0)
    };
    if is_open(data) {
        return finding(
            "folder",
            CheckStatus::Warning,
            format!("Other users of this machine can read {shown}. Run `chmod 700 {shown}`."),
        );
    }
    let url = config.database_url();
    let file = url.strip_prefix("sqlite:").map(Path::new).filter(|file| is_open(file));
    match file {
        Some(file) => {
            let detail = format!(
                "Other users of this machine can read {0}. Run `chmod 600 {0}`.",
                file.display()
            );
            finding("folder", CheckStatus::Warning, detail)
        }
        None => finding(
            "folder",
            CheckStatus::Passed,
            format!("The data directory {shown} is writable and private."),
        ),
    }
}

fn space(data: &Path) -> Finding {
    let data = if data.exists() { data } else { Path::new(".") };
    match rustix::fs::statvfs(data) {
        Ok(disk) => {
            let free = disk.f_bavail.saturating_mul(disk.f_frsize);
            let megabytes = free / 1_000_000;
            if free < MIN_FREE_BYTES {
                let detail = message!(
                    "Only {megabytes} MB of disk space are free. Free up some space.",
                    megabytes
                );
                finding("space", CheckStatus::Warning, detail)
            } else {
                finding(
                    "space",
                    CheckStatus::Passed,
                    message!("{megabytes} MB of disk space are free.", megabytes),
                )
            }
        }
        Err(error) => finding(
            "space",
            CheckStatus::Warning,
            message!("The free disk space is unknown: {error}.", error = error.to_string()),
        ),
    }
}

/// Whether the system clock is plausible. A wrong clock gives tokens and events wrong times.
fn clock(now: Timestamp) -> Finding {
    let built: Timestamp = "2026-11-01T00:00:00Z".parse().unwrap_or(now);
    if now < built {
        finding(
            "clock",
            CheckStatus::Failed,
            message!("The system clock is wrong: it shows {now}. Set it.", now = now.to_string()),
        )
    } else {
        finding("clock", CheckStatus::Passed, message!("The system clock is plausible."))
    }
}

fn zones() -> Finding {
    match "Europe/Lisbon".parse::<kit::Zone>() {
        Ok(_) => {
            finding("zones", CheckStatus::Passed, message!("The time zone database is available."))
        }
        Err(_) => finding(
            "zones",
            CheckStatus::Failed,
            message!(
                "The time zone database is missing from this build. Install an official build."
            ),
        ),
    }
}

fn address(config: &Config) -> Finding {
    match config.base_url.as_ref().map(BaseUrl::as_str) {
        Some(base) if base.starts_with("https://") => {
            finding("address", CheckStatus::Passed, format!("The public URL is {base}."))
        }
        Some(base) => finding(
            "address",
            CheckStatus::Warning,
            format!(
                "The public URL {base} is not encrypted. Put a proxy with HTTPS in front of the service."
            ),
        ),
        None if config.listen.ip().is_loopback() => {
            finding("address", CheckStatus::Passed, "The service listens only on this machine.")
        }
        None => {
            finding("address", CheckStatus::Warning, "The public URL is not set. Set base_url.")
        }
    }
}

/// Whether the mail server accepts connections with the configured credentials.
async fn mail(config: &Config) -> Finding {
    let server = match Server::new(config) {
        Ok(Some(server)) => server,
        Ok(None) => {
            let detail = "No mail server is configured. Emails are stored and not sent. Set smtp_url to send them.";
            return finding("mail", CheckStatus::Warning, detail);
        }
        Err(fault) => return finding("mail", CheckStatus::Failed, format!("{fault}.")),
    };
    match server.test_connection(MAIL_TIMEOUT).await {
        Ok(()) if config.smtp_url.as_ref().is_some_and(server::sends_password_unencrypted) => {
            let detail = "The mail server is reachable, but the password is sent unencrypted. \
                Append ?tls=required to smtp_url.";
            finding("mail", CheckStatus::Warning, detail)
        }
        Ok(()) => {
            finding("mail", CheckStatus::Passed, "The mail server is reachable and accepts emails.")
        }
        Err(fault) => {
            let detail = format!("The mail server cannot be used ({fault}). Check smtp_url.");
            finding("mail", CheckStatus::Failed, detail)
        }
    }
}

/// Whether card payments are configured.
fn cards(config: &Config) -> Finding {
    if config.stripe_secret_key.is_none() {
        let detail =
            "Card payments are disabled. Set stripe_secret_key to accept them with Stripe.";
        return finding("cards", CheckStatus::Passed, detail);
    }
    if config.stripe_webhook_secret.is_none() {
        let detail = "Card payments are enabled, but payments are confirmed late without the Stripe webhook. \
            Set stripe_webhook_secret.";
        return finding("cards", CheckStatus::Warning, detail);
    }
    finding("cards", CheckStatus::Passed, message!("Card payments with Stripe are enabled."))
}

/// The age in days of the newest backup in the data directory. `None` if there is no backup.
pub fn backup_age(data: &Path, now: Timestamp) -> Option<i64> {
    let files = std::fs::read_dir(data.join("backups")).into_iter().flatten().flatten();
    let ages = files.filter_map(|file| file.metadata().ok()?.modified().ok());
    let newest = ages.max()?.duration_since(std::time::UNIX_EPOCH).ok()?;
    Some((now.seconds() - i64::try_from(newest.as_secs()).unwrap_or(0)) / 86_400)
}

fn last_backup(data: &Path, now: Timestamp) -> Finding {
    let Some(days) = backup_age(data, now) else {
        return finding(
            "backup",
            CheckStatus::Warning,
            message!("There is no backup yet. Run `touchline backup create`."),
        );
    };
    if days > MAX_BACKUP_AGE_DAYS {
        let detail = message_n!(
            "The last backup is {count} day old. Run `touchline backup create`.",
            "The last backup is {count} days old. Run `touchline backup create`.",
            days
        );
        return finding("backup", CheckStatus::Warning, detail);
    }
    let detail = message_n!(
        "The last backup is {count} day old.",
        "The last backup is {count} days old.",
        days
    );
    finding("backup", CheckStatus::Passed, detail)
}
