//! Sends emails with secrets, such as a link to reset a password, directly to the mail server. These emails are not
//! stored in the outbox, where admins could read them. If one does not arrive, the user requests another.

use std::sync::Arc;
use std::time::Duration;

use kit::{Clock, Rng};
use lettre::message::Mailbox;
use tokio::sync::{Semaphore, watch};

use super::message;
use super::server::{SendOutcome, Server};
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
    clock: Clock,
    rng: Arc<Rng>,
}

impl DirectMailer {
    /// Creates the mailer from the configuration.
    pub fn new(config: &Config, clock: Clock, rng: Arc<Rng>) -> Result<Self> {
        let server = Server::new(config).map_err(Error::internal)?;
        let sender =
            |server| config.email_sender().map(|from| (server, from)).map_err(Error::internal);
        let server = server.map(sender).transpose()?;
        Ok(Self { server, permits: Arc::new(Semaphore::new(MAX_IN_FLIGHT)), clock, rng })
    }

    /// Whether a mail server is configured.
    pub fn has_server(&self) -> bool {
        self.server.is_some()
    }

    /// The task that sends an email, until `stop` turns true. Its content and recipient are not logged. `None` if the
    /// email cannot be sent.
    pub fn prepare(
        &self,
        email: &DirectEmail,
        stop: watch::Receiver<bool>,
    ) -> Option<impl Future<Output = ()> + Send + 'static> {
        let (server, from) = self.server.clone()?;
        let Ok(permit) = self.permits.clone().try_acquire_owned() else {
            tracing::warn!("email dropped: too many emails in flight");
            return None;
        };
        let Ok(message) = message::compose_direct(&self.clock, &self.rng, &from, email) else {
            tracing::warn!("email dropped: the message could not be built");
            return None;
        };
        Some(async move {
            let _permit = permit;
            for delay in RETRY_DELAYS.into_iter().map(Some).chain([None]) {
                match (server.send(message.clone(), SEND_TIMEOUT).await, delay) {
                    (SendOutcome::Sent, _) => return tracing::debug!("email sent"),
                    (SendOutcome::TemporaryFailure(_), Some(delay)) if !*stop.borrow() => {
                        tokio::time::sleep(delay).await;
                    }
                    _ => return tracing::warn!("email could not be sent"),
                }
            }
        })
    }
}
