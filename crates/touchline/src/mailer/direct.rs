//! Sends emails with secrets, such as a link to reset a password, directly to the mail server. These emails are not
//! stored in the outbox, where admins could read them. If one does not arrive, the user requests another.

use std::sync::Arc;
use std::time::Duration;

use lettre::message::Mailbox;
use tokio::sync::Semaphore;

use super::message;
use super::smtp::{SendOutcome, Server};
use crate::app::App;
use crate::config::Config;
use crate::error::{Error, Result};

/// Timeout of one attempt.
const SEND_TIMEOUT: Duration = Duration::from_secs(30);
/// Delay before each retry.
const RETRY_DELAYS: [Duration; 3] =
    [Duration::from_secs(5), Duration::from_secs(30), Duration::from_secs(120)];
/// Maximum number of emails in flight. Further emails are dropped.
const MAX_IN_FLIGHT: usize = 64;

/// An email that is not stored.
#[derive(Clone)]
pub struct DirectEmail {
    pub to_name: String,
    pub to_address: String,
    pub subject: String,
    pub text: String,
}

/// Sends emails without storing them. One per node.
pub struct DirectMailer {
    server: Option<(Server, Mailbox)>,
    permits: Arc<Semaphore>,
}

impl DirectMailer {
    /// Creates the mailer from the configuration.
    pub fn new(config: &Config) -> Result<Self> {
        let server = Server::new(config).map_err(Error::internal)?;
        let sender =
            |server| config.email_sender().map(|from| (server, from)).map_err(Error::internal);
        let server = server.map(sender).transpose()?;
        Ok(Self { server, permits: Arc::new(Semaphore::new(MAX_IN_FLIGHT)) })
    }

    /// Whether a mail server is configured.
    pub fn has_server(&self) -> bool {
        self.server.is_some()
    }

    /// Sends an email in the background. Its content and recipient are not logged.
    pub fn send(&self, app: &App, email: DirectEmail) {
        let Some((server, from)) = self.server.clone() else { return };
        let Ok(permit) = self.permits.clone().try_acquire_owned() else {
            tracing::warn!("email dropped: too many emails in flight");
            return;
        };
        let Ok(message) = message::compose_direct(app, &from, &email) else {
            tracing::warn!("email dropped: the message could not be built");
            return;
        };
        let task_app = app.clone();
        app.spawn(async move {
            let _permit = permit;
            for delay in RETRY_DELAYS.into_iter().map(Some).chain([None]) {
                match (server.send(message.clone(), SEND_TIMEOUT).await, delay) {
                    (SendOutcome::Sent, _) => return tracing::debug!("email sent"),
                    (SendOutcome::TemporaryFailure(_), Some(delay)) if !task_app.is_stopping() => {
                        tokio::time::sleep(delay).await;
                    }
                    _ => return tracing::warn!("email could not be sent"),
                }
            }
        });
    }
}
