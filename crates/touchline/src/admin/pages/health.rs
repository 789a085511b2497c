//! Health: the results of `touchline doctor` with advice. Admins of a club need not be operators of the
//! server, so the page never shows paths, addresses or credentials of the server.

use std::time::Duration;

use kit::Timestamp;

use super::shared::Admin;
use crate::doctor::{self, CheckStatus, Finding, LastDoctorRun};
use crate::web::prelude::*;

/// How long results are cached: a full check takes a while.
const CACHE_TTL: Duration = Duration::from_secs(60);

pub(super) fn router() -> Router<App> {
    Router::new().route("/admin/health", get(show_health))
}

/// A finding, formatted for the page.
struct FindingView {
    title: &'static str,
    badge: (&'static str, &'static str),
    text: String,
    /// What to do; empty if the check passed.
    advice: &'static str,
}

impl FindingView {
    fn new(finding: &Finding) -> Self {
        let (title, advice) = title_and_advice(finding.check);
        let badge = match finding.verdict {
            CheckStatus::Passed => ("good", t!("OK")),
            CheckStatus::Warning => ("warn", t!("Warning")),
            CheckStatus::Failed => ("bad", t!("Failed")),
        };
        let passed = finding.verdict == CheckStatus::Passed;
        Self { title, badge, text: result_text(finding), advice: if passed { "" } else { advice } }
    }
}

/// The title of a check, and what to do if it fails.
fn title_and_advice(check: &str) -> (&'static str, &'static str) {
    match check {
        "database" => (
            t!("Database"),
            t!(
                "Run touchline doctor on the server to see what is wrong. If the file is damaged, restore the last backup."
            ),
        ),
        "schema" => (
            t!("Database schema"),
            t!(
                "Run touchline migrate on the server, or run the version that last migrated the database."
            ),
        ),
        "logs" => (
            t!("Logs"),
            t!(
                "Keep a copy of the database, find out who had access to it, and restore the last backup with intact logs."
            ),
        ),
        "folder" => (
            t!("Data folder"),
            t!(
                "Allow only the user that runs the service to read and write the data folder. touchline doctor shows its path."
            ),
        ),
        "space" => {
            (t!("Disk space"), t!("Free up disk space, or move the data folder to a larger disk."))
        }
        "webhooks" => {
            (t!("Webhooks"), t!("Open Webhooks, then fix or turn off the failing receivers."))
        }
        "clock" => (t!("Clock"), t!("Set the server’s clock and keep it synchronized with NTP.")),
        "zones" => (t!("Time zones"), t!("Install a complete build of Touchline.")),
        "address" => (
            t!("Address"),
            t!("Put an HTTPS proxy in front of Touchline and set base_url to the public address."),
        ),
        "mail" => (
            t!("Email"),
            t!(
                "Set smtp_url to a mail server that accepts our email, and add ?tls=required. touchline doctor shows the server’s answer."
            ),
        ),
        "backup" => (
            t!("Backups"),
            t!("Run touchline backup create every night, and keep the files on another machine."),
        ),
        "cards" => (
            t!("Card payments"),
            t!("Set stripe_webhook_secret, so that Stripe confirms payments at once."),
        ),
        _ => (t!("Other"), t!("Run touchline doctor on the server to see what is wrong.")),
    }
}

/// The result of a check. Details that name paths, servers or other accounts are replaced by a summary.
fn result_text(finding: &Finding) -> String {
    let summary = match (finding.check, finding.verdict) {
        ("space" | "clock" | "zones" | "backup" | "schema" | "cards", _)
        | ("webhooks", CheckStatus::Passed | CheckStatus::Warning) => {
            return finding.detail.to_string();
        }
        ("database", CheckStatus::Passed) => t!("The database answers and is intact."),
        ("database", _) => t!("The database is damaged or does not answer."),
        ("logs", CheckStatus::Passed) => t!("The logs of all clubs are intact."),
        ("logs", _) => t!("A log was altered or could not be read."),
        ("folder", CheckStatus::Passed) => {
            t!("The data folder is writable, and only the service can access it.")
        }
        ("folder", CheckStatus::Warning) => {
            t!("Other users of the server can read the data folder.")
        }
        ("folder", CheckStatus::Failed) => t!("The data folder is not writable."),
        ("address", CheckStatus::Passed) => {
            t!("People reach the service over HTTPS, or it runs only on this machine.")
        }
        ("address", _) => t!("The public address is not set, or does not use HTTPS."),
        ("mail", CheckStatus::Passed) => t!("The mail server accepts our email."),
        ("mail", CheckStatus::Warning) => {
            t!("No mail server is set, or the connection to it is not encrypted.")
        }
        ("mail", CheckStatus::Failed) => t!("The mail server does not accept our email."),
        (_, CheckStatus::Passed) => t!("The check passed."),
        _ => t!("This needs attention."),
    };
    summary.to_owned()
}

#[derive(Template)]
#[template(path = "admin/health.html")]
struct HealthPage {
    frame: Frame,
    findings: Vec<FindingView>,
    /// How many findings need attention.
    open: usize,
    at: Timestamp,
    now: Timestamp,
    version: &'static str,
}

async fn show_health(visitor: Admin) -> PageResult {
    let app = visitor.app();
    let now = app.clock.now();
    // The lock makes concurrent visitors wait for one check and share its results.
    let last_run = app.state::<LastDoctorRun>();
    let mut cached = last_run.0.lock().await;
    let recent = cached.take().filter(|(at, _)| now < at.plus(CACHE_TTL) && *at <= now);
    let (at, findings) = match recent {
        Some(recent) => recent,
        None => (now, doctor::run_checks(&app.db, &app.config, now).await),
    };
    let views: Vec<_> = findings.iter().map(FindingView::new).collect();
    let open = findings.iter().filter(|finding| finding.verdict != CheckStatus::Passed).count();
    *cached = Some((at, findings));
    drop(cached);
    let frame = visitor.frame(t!("Health"), Section::Health);
    let version = env!("CARGO_PKG_VERSION");
    render(StatusCode::OK, &HealthPage { frame, findings: views, open, at, now, version })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn details_of_the_server_are_not_shown() {
        let checks = ["database", "logs", "folder", "address", "mail", "something new"];
        for check in checks {
            for verdict in [CheckStatus::Passed, CheckStatus::Warning, CheckStatus::Failed] {
                let detail = "/srv/data postgres://u:hunter2@db/x acc_1".into();
                let view = FindingView::new(&Finding { check, verdict, detail });
                assert!(!view.text.contains("hunter2") && !view.text.contains("/srv"), "{check}");
            }
        }
    }
}
