//! The courier: takes letters with secrets in them, such as a link to choose a new password, straight
//! to the mail server. Such letters lie in no outbox, where others could read them; if they do not
//! arrive, whoever asked for one asks again.

use std::sync::Arc;
use std::time::Duration;

use lettre::message::Mailbox;
use tokio::sync::Semaphore;

use super::message;
use super::smtp::{Outcome, Server};
use crate::app::App;
use crate::config::Config;
use crate::error::{Error, Result};

/// How long one exchange with the mail server may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long to wait before each new attempt.
const RETRIES: [Duration; 3] =
    [Duration::from_secs(5), Duration::from_secs(30), Duration::from_secs(120)];
/// How many letters may be under way; more are given up, which their readers notice soon enough.
const UNDER_WAY: usize = 64;

/// A letter that is kept nowhere.
#[derive(Clone)]
pub struct Note {
    pub to_name: String,
    pub to_address: String,
    pub subject: String,
    pub text: String,
}

/// The courier of a node.
pub struct Courier {
    server: Option<(Server, Mailbox)>,
    places: Arc<Semaphore>,
}

impl Courier {
    /// The courier as the settings want it.
    pub fn new(config: &Config) -> Result<Self> {
        let server = Server::new(config).map_err(Error::internal)?;
        let sender = |server| config.sender().map(|from| (server, from)).map_err(Error::internal);
        let server = server.map(sender).transpose()?;
        Ok(Self { server, places: Arc::new(Semaphore::new(UNDER_WAY)) })
    }

    /// Whether there is a mail server at all.
    pub fn has_server(&self) -> bool {
        self.server.is_some()
    }

    /// Sends a letter beside requests. Nothing of it is logged.
    pub fn send(&self, app: &App, note: Note) {
        let Some((server, from)) = self.server.clone() else { return };
        let Ok(place) = self.places.clone().try_acquire_owned() else {
            tracing::warn!("too many letters are under way; one was given up");
            return;
        };
        let Ok(message) = message::plain(app, &from, &note) else {
            tracing::warn!("a letter could not be written");
            return;
        };
        let watched = app.clone();
        app.spawn(async move {
            let _place = place;
            for wait in RETRIES.into_iter().map(Some).chain([None]) {
                match (server.send(message.clone(), PATIENCE).await, wait) {
                    (Outcome::Sent, _) => return tracing::debug!("a letter with a link was sent"),
                    (Outcome::Later(_), Some(wait)) if !watched.is_stopping() => {
                        tokio::time::sleep(wait).await;
                    }
                    _ => return tracing::warn!("a letter with a link could not be sent"),
                }
            }
        });
    }
}
