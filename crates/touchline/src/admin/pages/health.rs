//! Health: what the doctor finds, in words, with what to do. Nothing here tells where the service lies or
//! how it reaches its database.

use std::time::Duration;

use askama::Template;
use axum::Router;
use axum::response::Response;
use axum::routing::get;
use http::StatusCode;
use kit::Timestamp;

use super::shared::{Admin, show};
use crate::app::App;
use crate::doctor::{self, Finding, Verdict};
use crate::web::page::{Frame, Section};
use crate::web::visitor::Outcome;

/// A finding is shown again for so long: looking at everything takes a while.
const KEPT: Duration = Duration::from_secs(60);

pub(super) fn router() -> Router<App> {
    Router::new().route("/admin/health", get(look))
}

/// A finding as it is shown.
struct Shown {
    title: &'static str,
    badge: (&'static str, &'static str),
    text: String,
    /// What to do if it is not well.
    advice: &'static str,
}

impl Shown {
    fn new(finding: &Finding) -> Self {
        let (title, advice) = about(finding.check);
        let badge = match finding.verdict {
            Verdict::Well => ("good", "Well"),
            Verdict::Look => ("warn", "Needs a look"),
            Verdict::Ill => ("bad", "Does not work"),
        };
        let well = finding.verdict == Verdict::Well;
        Self { title, badge, text: text(finding), advice: if well { "" } else { advice } }
    }
}

/// What is looked at, and what to do if it is not well.
fn about(check: &str) -> (&'static str, &'static str) {
    match check {
        "database" => (
            "Database",
            "Run touchline doctor on the server: it says what is wrong. If the file is damaged, restore the last backup.",
        ),
        "schema" => (
            "Tables",
            "Run touchline migrate on the server, or use the version that migrated the database.",
        ),
        "logs" => (
            "Logs",
            "Keep a copy of the database, find out who had access to it, and restore the last backup in which the logs are whole.",
        ),
        "folder" => (
            "Data folder",
            "Let only the user that runs the service read and write the data folder. touchline doctor names it.",
        ),
        "space" => {
            ("Disk space", "Make room on the disk, or move the data folder to a larger one.")
        }
        "webhooks" => (
            "Webhooks",
            "Open Webhooks, look at those that fail and mend or turn off their receivers.",
        ),
        "clock" => ("Clock", "Set the clock of the server, and let it be kept by NTP."),
        "zones" => ("Time zones", "Install a build of touchline that is complete."),
        "address" => (
            "Address",
            "Put a proxy with HTTPS in front and set base_url to the address that people use.",
        ),
        "mail" => (
            "Mail",
            "Set smtp_url to a mail server that takes our letters, with ?tls=required behind it. touchline doctor says what the server answered.",
        ),
        "backup" => {
            ("Backups", "Run touchline backup create every night, and keep the files elsewhere.")
        }
        _ => ("Something else", "Run touchline doctor on the server: it says what is wrong."),
    }
}

/// What was found. Where the doctor names paths, servers or accounts, only the gist is told.
fn text(finding: &Finding) -> String {
    let told = match (finding.check, finding.verdict) {
        ("space" | "clock" | "zones" | "backup" | "schema", _)
        | ("webhooks", Verdict::Well | Verdict::Look) => return finding.detail.clone(),
        ("database", Verdict::Well) => "The database answers and is whole.",
        ("database", _) => "The database has a fault.",
        ("logs", Verdict::Well) => "The logs of every account are whole.",
        ("logs", _) => "A log was altered or could not be read.",
        ("folder", Verdict::Well) => "The data folder can be written and is closed to others.",
        ("folder", Verdict::Look) => "Other users of the server can look into the data folder.",
        ("folder", Verdict::Ill) => "The data folder cannot be written.",
        ("address", Verdict::Well) => "People reach the service at a safe address.",
        ("address", _) => "The address of the service is not set, or not encrypted.",
        ("mail", Verdict::Well) => "The mail server takes our letters.",
        ("mail", Verdict::Look) => "No mail is sent, or the password can be read on the way.",
        ("mail", Verdict::Ill) => "The mail server does not take our letters.",
        (_, Verdict::Well) => "All is well.",
        _ => "Something needs attention.",
    };
    told.to_owned()
}

#[derive(Template)]
#[template(path = "admin/health.html")]
struct HealthPage {
    frame: Frame,
    found: Vec<Shown>,
    /// How many need attention.
    open: usize,
    at: Timestamp,
    now: Timestamp,
    version: &'static str,
}

async fn look(visitor: Admin) -> Outcome<Response> {
    let app = visitor.app();
    let now = app.clock.now();
    // One at a time: whoever comes second is shown what the first one found.
    let mut kept = app.checkup.lock().await;
    let recent = kept.take().filter(|(at, _)| now < at.plus(KEPT) && *at <= now);
    let (at, findings) = match recent {
        Some(recent) => recent,
        None => (now, doctor::examine(&app.db, &app.config, now).await),
    };
    let found: Vec<_> = findings.iter().map(Shown::new).collect();
    let open = findings.iter().filter(|finding| finding.verdict != Verdict::Well).count();
    *kept = Some((at, findings));
    drop(kept);
    let frame = visitor.frame("Health", Section::Health);
    let version = env!("CARGO_PKG_VERSION");
    show(StatusCode::OK, &HealthPage { frame, found, open, at, now, version })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_secret_is_told() {
        let checks = ["database", "logs", "folder", "address", "mail", "something new"];
        for check in checks {
            for verdict in [Verdict::Well, Verdict::Look, Verdict::Ill] {
                let detail = "/srv/data postgres://u:hunter2@db/x acc_1".to_owned();
                let shown = Shown::new(&Finding { check, verdict, detail });
                assert!(!shown.text.contains("hunter2") && !shown.text.contains("/srv"), "{check}");
            }
        }
    }
}
