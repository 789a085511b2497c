//! The mailer: a background worker on every node that sends the emails in the outbox, and a direct mailer for emails
//! that are not stored.
//!
//! The worker takes a lease on an email in one short transaction, sends it outside of any transaction, and records the
//! outcome in another one. If the node dies in between, the lease expires and another node sends the email again.

mod message;
mod summary;

use std::time::Duration;

use lettre::message::Mailbox;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::accounts::account;
use crate::mail::email::{self, Email};
use crate::prelude::*;
use crate::roster::notification_settings::EmailKind;
use crate::smtp::server::{SendOutcome, Server};
use crate::web::app::App;
use crate::web::server::stop_requested;

/// How often the worker looks for due emails.
const POLL_INTERVAL: Duration = Duration::from_secs(2);
/// Maximum number of emails in flight.
const MAX_IN_FLIGHT: usize = 4;
/// Timeout of one attempt.
const SEND_TIMEOUT: Duration = Duration::from_secs(60);
/// How long to wait for emails in flight when the service stops.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);
/// Number of due emails to read at once. More than can be in flight, because other nodes may have leases on some.
const BATCH_SIZE: i64 = 50;
/// Actor of the worker's transactions.
const ACTOR: &str = "mailer";

/// Sends the emails in the outbox. Cheap to clone.
#[derive(Clone)]
pub struct MailWorker {
    app: App,
    /// The mail server and the sender address, if a server is configured.
    server: Option<(Server, Mailbox)>,
    timeout: Duration,
}

impl MailWorker {
    /// Creates the worker from the configuration.
    pub fn new(app: App) -> Result<Self, String> {
        let server = match Server::new(&app.config)? {
            Some(server) => Some((server, app.config.email_sender()?)),
            None => None,
        };
        Ok(Self { app, server, timeout: SEND_TIMEOUT })
    }

    /// Sets the timeout of one attempt.
    #[must_use]
    pub fn with_timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// Sends due emails until the service stops.
    pub async fn run(self, mut stop: watch::Receiver<bool>) {
        let mut in_flight = JoinSet::new();
        loop {
            self.start_due(&mut in_flight).await;
            tokio::select! {
                Some(_) = in_flight.join_next() => {}
                () = tokio::time::sleep(POLL_INTERVAL) => {}
                () = stop_requested(&mut stop) => break,
            }
        }
        // Emails that are not done in time stay in the outbox and are sent when their lease expires.
        let all_done = async { while in_flight.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, all_done).await;
    }

    /// Sends all emails that are due now.
    pub async fn send_due(&self) {
        let mut in_flight = JoinSet::new();
        loop {
            self.start_due(&mut in_flight).await;
            if in_flight.join_next().await.is_none() {
                return;
            }
        }
    }

    /// Starts sending due emails, up to the maximum in flight.
    async fn start_due(&self, in_flight: &mut JoinSet<()>) {
        if in_flight.len() >= MAX_IN_FLIGHT {
            return;
        }
        let read = self.app.db.read(Scope::system("mailer"), |db| email::list_due(db, BATCH_SIZE));
        let due = read.await.unwrap_or_else(|error| {
            warn(&error, "could not read due emails");
            Vec::new()
        });
        for (account, id) in due {
            if in_flight.len() >= MAX_IN_FLIGHT {
                return;
            }
            let Some(email) = self.lease(account, id).await else { continue };
            let worker = self.clone();
            in_flight.spawn(async move {
                let outcome = worker.send(&email).await;
                worker.record_outcome(email, outcome).await;
            });
        }
    }

    /// Takes a lease on an email. If no server is configured, or the account is the demo club, marks it as unsent.
    async fn lease(&self, account: AccountId, id: EmailId) -> Option<Email> {
        let send = self.server.is_some();
        let work = move |tx: &Tx<'_>| {
            // The addresses of the demo club are not real.
            let send = send && !account::find(tx)?.demo;
            if send { email::lease(tx, id) } else { email::mark_unsent(tx, id).map(|()| None) }
        };
        match self.app.db.write(Scope::account(account, ACTOR), work).await {
            Ok(email) => email,
            // The account was deleted in the meantime, with all its emails.
            Err(error) if error.code == Code::NotFound => None,
            Err(error) => {
                warn(&error, "could not take the lease on an email");
                None
            }
        }
    }

    /// Sends a leased email, outside of any transaction.
    pub async fn send(&self, email: &Email) -> SendOutcome {
        let Some((server, from)) = &self.server else {
            return SendOutcome::TemporaryFailure(
                mark!("No mail server is configured (TOUCHLINE_SMTP_URL).").to_owned(),
            );
        };
        let email = match self.with_content(email).await {
            Ok(email) => email,
            Err(error) => {
                warn(&error, "could not read the emails of a summary");
                let reason = mark!("The emails of the summary could not be read.");
                return SendOutcome::TemporaryFailure(reason.to_owned());
            }
        };
        match message::compose(&self.app, from, &email) {
            Ok(message) => server.send(message, self.timeout).await,
            Err(reason) => SendOutcome::PermanentFailure(reason),
        }
    }

    /// The email, with the text of a daily summary, which is not stored.
    async fn with_content(&self, email: &Email) -> Result<Email> {
        if email.kind != EmailKind::Summary {
            return Ok(email.clone());
        }
        let id = email.id;
        let read = move |db: &Reader<'_>| crate::mail::summary::items(db, id);
        let items = self.app.db.read(Scope::system(ACTOR), read).await?;
        let written = email.locale().run(|| summary::write(&items, |path| self.app.url(path)));
        let (subject, body_text, html_body) = (written.subject, written.text, Some(written.html));
        Ok(Email { subject, body_text, html_body, ..email.clone() })
    }

    /// Records the outcome of an attempt.
    async fn record_outcome(&self, email: Email, outcome: SendOutcome) {
        let (id, attempt) = (email.id, email.attempts);
        // The error of a server may contain the recipient's address, so it is stored with the email and not logged.
        match &outcome {
            SendOutcome::Sent => tracing::debug!(%id, attempt, "email sent"),
            SendOutcome::TemporaryFailure(_) => {
                tracing::info!(%id, attempt, "email not sent: temporary failure");
            }
            SendOutcome::PermanentFailure(_) => {
                tracing::info!(%id, attempt, "email not sent: permanent failure");
            }
        }
        let schedule = self.app.config.mail_retries.clone();
        let scope = Scope::account(email.account_id, ACTOR);
        let work = move |tx: &Tx<'_>| match outcome {
            SendOutcome::Sent => email::mark_sent(tx, &email),
            SendOutcome::TemporaryFailure(reason) => {
                email::schedule_retry(tx, &email, &reason, &schedule)
            }
            SendOutcome::PermanentFailure(reason) => email::mark_failed(tx, &email, &reason),
        };
        if let Err(error) = self.app.db.write(scope, work).await {
            warn(&error, "could not record the outcome of an email");
        }
    }
}

fn warn(error: &Error, message: &str) {
    tracing::warn!(cause = ?error.cause, "{message}");
}
