//! The doctor: named checks that tell an operator what is wrong and what to do about it.

use std::path::Path;
use std::time::Duration;

use kit::Timestamp;
use serde::Serialize;
use store::{Db, Dialect, Scope, bind};

use crate::backup;
use crate::config::{BaseUrl, Config};
use crate::migrations::STEPS;
use crate::post::smtp::{self, Server};
use crate::webhooks::summary;

/// What a check found.
#[derive(Debug, Serialize)]
pub struct Finding {
    /// What was looked at.
    pub check: &'static str,
    pub verdict: Verdict,
    /// What was found, and what to do if it is not well.
    pub detail: String,
}

/// How well it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    Well,
    /// Works, but deserves attention.
    Look,
    /// Does not work.
    Ill,
}

/// Less free space than this deserves attention.
const LITTLE_SPACE: u64 = 512 * 1024 * 1024;
/// A backup older than this deserves attention.
pub const OLD_BACKUP_DAYS: i64 = 7;

/// How long the mail server may take to answer.
const MAIL_PATIENCE: Duration = Duration::from_secs(15);

/// Looks at everything.
pub async fn examine(db: &Db, config: &Config, now: Timestamp) -> Vec<Finding> {
    let mut findings =
        vec![database(db).await, schema(db).await, logs(db).await, webhooks(db).await];
    findings.extend(surroundings(config, now));
    findings.push(mail(config).await);
    findings.push(cards(config));
    findings
}

/// Looks at what there is when the database cannot even be opened.
pub fn examine_without(config: &Config, now: Timestamp, why: &str) -> Vec<Finding> {
    let mut findings = vec![found("database", Verdict::Ill, format!("{why}."))];
    findings.extend(surroundings(config, now));
    findings
}

fn surroundings(config: &Config, now: Timestamp) -> [Finding; 6] {
    [
        folder(config),
        space(&config.data),
        clock(now),
        zones(),
        address(config),
        last_backup(&config.data, now),
    ]
}

fn found(check: &'static str, verdict: Verdict, detail: impl Into<String>) -> Finding {
    Finding { check, verdict, detail: detail.into() }
}

/// Whether the database is whole, as far as it can say itself, and sorts text as we expect.
async fn database(db: &Db) -> Finding {
    let (sound, well) = match db.dialect() {
        Dialect::Sqlite => {
            ("select integrity_check from pragma_integrity_check /* any account */", "ok")
        }
        Dialect::Postgres => (
            "select cast(datcollate as text) from pg_database where datname = current_database() /* any account */",
            "C",
        ),
    };
    let looked =
        db.snapshot(Scope::system("doctor"), move |db| db.one::<(String,)>(sound, bind! {})).await;
    match looked {
        Ok((word,)) if word == well => {
            found("database", Verdict::Well, "The database answers and is whole.")
        }
        Ok((collation,)) if db.dialect() == Dialect::Postgres => {
            let detail = format!(
                "The database sorts text by {collation}. Create it with LC_COLLATE 'C' and restore a backup into it."
            );
            found("database", Verdict::Look, detail)
        }
        Ok((fault,)) => {
            let detail = format!("The file is damaged ({fault}). Restore the last backup.");
            found("database", Verdict::Ill, detail)
        }
        Err(error) => found("database", Verdict::Ill, format!("{error}.")),
    }
}

async fn schema(db: &Db) -> Finding {
    match db.applied().await {
        Ok(applied) if applied.len() == STEPS.len() => found(
            "schema",
            Verdict::Well,
            format!("Up to date at {}.", STEPS[STEPS.len() - 1].name),
        ),
        Ok(applied) if applied.len() > STEPS.len() => {
            let detail =
                "The database was migrated by a newer version of touchline. Use that version.";
            found("schema", Verdict::Ill, detail)
        }
        Ok(applied) => {
            let detail = format!(
                "{} of {} steps are applied. Run touchline migrate.",
                applied.len(),
                STEPS.len()
            );
            found("schema", Verdict::Ill, detail)
        }
        Err(error) => found("schema", Verdict::Ill, format!("{error}.")),
    }
}

async fn logs(db: &Db) -> Finding {
    match backup::check_journals(db).await {
        Ok(None) => found("logs", Verdict::Well, "The logs of every account are whole."),
        Ok(Some(fault)) => found(
            "logs",
            Verdict::Ill,
            format!("{fault}. Somebody or something altered the database."),
        ),
        Err(error) => found("logs", Verdict::Ill, format!("The logs could not be read: {error}.")),
    }
}

/// Whether webhooks keep up with what happens, and their receivers take it.
async fn webhooks(db: &Db) -> Finding {
    let counted = |count: i64| match count {
        1 => "1 webhook".to_owned(),
        count => format!("{count} webhooks"),
    };
    match db.snapshot(Scope::system("doctor"), summary::backlog).await {
        Ok((0, 0)) => {
            found("webhooks", Verdict::Well, "No webhook is far behind or fails for long.")
        }
        Ok((far, failing)) => {
            let far = (far > 0).then(|| {
                let most = summary::FAR;
                format!("More than {most} notifications wait for {}.", counted(far))
            });
            let failing = (failing > 0).then(|| {
                let own = if failing == 1 { "receiver" } else { "receivers" };
                format!("The {own} of {} failed for more than an hour.", counted(failing))
            });
            let told: Vec<_> = far.into_iter().chain(failing).collect();
            let detail = format!("{} See Webhooks in the admin area.", told.join(" "));
            found("webhooks", Verdict::Look, detail)
        }
        Err(error) => found(
            "webhooks",
            Verdict::Ill,
            format!("Webhooks could not be looked at: {}", error.detail),
        ),
    }
}

/// Whether the data folder can be written and is closed to others.
fn folder(config: &Config) -> Finding {
    use std::os::unix::fs::PermissionsExt;
    let data = &config.data;
    let shown = data.display();
    if config.database.is_some() && !data.exists() {
        return found(
            "folder",
            Verdict::Well,
            format!("{shown} is made when something is kept there."),
        );
    }
    if let Err(error) = tempfile::tempfile_in(data) {
        return found("folder", Verdict::Ill, format!("{shown} cannot be written: {error}."));
    }
    let is_open = |path: &Path| {
        std::fs::metadata(path).is_ok_and(|metadata| metadata.permissions().mode() & 0o077 != 0)
    };
    if is_open(data) {
        return found(
            "folder",
            Verdict::Look,
            format!("Other users of this machine can look into {shown}. Run chmod 700 on it."),
        );
    }
    let url = config.database_url();
    let file = url.strip_prefix("sqlite:").map(Path::new).filter(|file| is_open(file));
    match file {
        Some(file) => {
            let detail = format!(
                "Other users of this machine can read {0}. Run chmod 600 on it.",
                file.display()
            );
            found("folder", Verdict::Look, detail)
        }
        None => found(
            "folder",
            Verdict::Well,
            format!("{shown} can be written and is closed to others."),
        ),
    }
}

fn space(data: &Path) -> Finding {
    let data = if data.exists() { data } else { Path::new(".") };
    match rustix::fs::statvfs(data) {
        Ok(disk) => {
            let free = disk.f_bavail.saturating_mul(disk.f_frsize);
            let verdict = if free < LITTLE_SPACE { Verdict::Look } else { Verdict::Well };
            found("space", verdict, format!("{} MB are free for data.", free / 1_000_000))
        }
        Err(error) => found("space", Verdict::Look, format!("The free space is unknown: {error}.")),
    }
}

/// A clock that is years off gives tokens and events wrong times.
fn clock(now: Timestamp) -> Finding {
    let built: Timestamp = "2026-11-01T00:00:00Z".parse().unwrap_or(now);
    if now < built {
        found("clock", Verdict::Ill, format!("The clock says {now}, which is in the past. Set it."))
    } else {
        found("clock", Verdict::Well, format!("The clock says {now}."))
    }
}

fn zones() -> Finding {
    match "Europe/Lisbon".parse::<kit::Zone>() {
        Ok(_) => found("zones", Verdict::Well, "Time zones are known."),
        Err(_) => found("zones", Verdict::Ill, "Time zones are missing from this build."),
    }
}

fn address(config: &Config) -> Finding {
    match config.base_url.as_ref().map(BaseUrl::as_str) {
        Some(base) if base.starts_with("https://") => {
            found("address", Verdict::Well, format!("People reach the service at {base}."))
        }
        Some(base) => found(
            "address",
            Verdict::Look,
            format!("{base} is not encrypted. Put a proxy with HTTPS in front."),
        ),
        None if config.listen.ip().is_loopback() => {
            found("address", Verdict::Well, "Only this machine can reach the service.")
        }
        None => found(
            "address",
            Verdict::Look,
            "Set base_url to the address under which people reach the service.",
        ),
    }
}

/// Whether the mail server takes us.
async fn mail(config: &Config) -> Finding {
    let server = match Server::new(config) {
        Ok(Some(server)) => server,
        Ok(None) => {
            let detail = "No mail is sent; letters stay in the outbox. Set smtp_url to send them.";
            return found("mail", Verdict::Look, detail);
        }
        Err(fault) => return found("mail", Verdict::Ill, format!("{fault}.")),
    };
    match server.greet(MAIL_PATIENCE).await {
        Ok(()) if config.smtp_url.as_ref().is_some_and(smtp::tells_password) => {
            let detail = "The mail server takes our letters, but our password can be read on the way. \
                Put ?tls=required behind smtp_url.";
            found("mail", Verdict::Look, detail)
        }
        Ok(()) => found("mail", Verdict::Well, "The mail server takes our letters."),
        Err(fault) => {
            let detail = format!("The mail server does not take us ({fault}). Look at smtp_url.");
            found("mail", Verdict::Ill, detail)
        }
    }
}

/// Whether orders and dues can be paid by card.
fn cards(config: &Config) -> Finding {
    if config.stripe_secret_key.is_none() {
        let detail = "Nothing is paid by card. Set stripe_secret_key to take cards with Stripe.";
        return found("cards", Verdict::Well, detail);
    }
    if config.stripe_webhook_secret.is_none() {
        let detail = "Orders and dues can be paid by card, but Stripe cannot tell us at once. Set \
            stripe_webhook_secret.";
        return found("cards", Verdict::Look, detail);
    }
    found("cards", Verdict::Well, "Orders and dues can be paid by card with Stripe.")
}

/// How old the newest backup in the data folder is, in days; none if there is no backup.
pub fn backup_age(data: &Path, now: Timestamp) -> Option<i64> {
    let files = std::fs::read_dir(data.join("backups")).into_iter().flatten().flatten();
    let ages = files.filter_map(|file| file.metadata().ok()?.modified().ok());
    let newest = ages.max()?.duration_since(std::time::UNIX_EPOCH).ok()?;
    Some((now.seconds() - i64::try_from(newest.as_secs()).unwrap_or(0)) / 86_400)
}

fn last_backup(data: &Path, now: Timestamp) -> Finding {
    let Some(days) = backup_age(data, now) else {
        return found(
            "backup",
            Verdict::Look,
            "There is no backup yet. Run touchline backup create.",
        );
    };
    let verdict = if days > OLD_BACKUP_DAYS { Verdict::Look } else { Verdict::Well };
    found("backup", verdict, format!("The last backup is {days} days old."))
}
