//! The post: takes letters from the outbox to the mail server, beside requests, on every node.
//!
//! A letter is taken in hand in one short job, sent outside of any, and what has become of it is noted
//! in another. A node that dies in between leaves the letter in hand until its time is up; then
//! another sends it again.

pub mod courier;
mod message;
pub mod smtp;

use std::time::Duration;

use lettre::message::Mailbox;
use store::{Scope, Tx};
use tokio::sync::watch;
use tokio::task::JoinSet;

use self::smtp::{Outcome, Server};
use crate::accounts::account;
use crate::app::App;
use crate::error::{Code, Error};
use crate::ids::{AccountId, MailId};
use crate::mail::letter::{self, Letter};
use crate::web::server::told;

/// How often the post looks for letters.
const EVERY: Duration = Duration::from_secs(2);
/// How many letters are under way at once.
const CARRIERS: usize = 4;
/// How long one exchange with the mail server may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long letters under way may take when the service stops.
const FAREWELL: Duration = Duration::from_secs(5);
/// How many letters are looked up at once: more than are carried, as some may not be to be had.
const PILE: i64 = 50;
/// Who sends letters.
const ACTOR: &str = "post";

/// The post of a node. Cheap to clone.
#[derive(Clone)]
pub struct Post {
    app: App,
    /// The mail server and whom letters come from, if there is one.
    server: Option<(Server, Mailbox)>,
    patience: Duration,
}

impl Post {
    /// The post as the settings want it.
    pub fn new(app: App) -> Result<Self, String> {
        let server = match Server::new(&app.config)? {
            Some(server) => Some((server, app.config.sender()?)),
            None => None,
        };
        Ok(Self { app, server, patience: PATIENCE })
    }

    /// The same post, waiting this long for a mail server.
    #[must_use]
    pub fn patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// Carries letters until the service stops.
    pub async fn run(self, mut stop: watch::Receiver<bool>) {
        let mut under_way = JoinSet::new();
        loop {
            self.set_out(&mut under_way).await;
            tokio::select! {
                Some(_) = under_way.join_next() => {}
                () = tokio::time::sleep(EVERY) => {}
                () = told(&mut stop) => break,
            }
        }
        // What does not end in time stays in the outbox and is sent when it is in nobody's hand.
        let ended = async { while under_way.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(FAREWELL, ended).await;
    }

    /// Carries everything that is due now.
    pub async fn carry(&self) {
        let mut under_way = JoinSet::new();
        loop {
            self.set_out(&mut under_way).await;
            if under_way.join_next().await.is_none() {
                return;
            }
        }
    }

    /// Takes as many letters in hand as carriers are free, and sends them on their way.
    async fn set_out(&self, under_way: &mut JoinSet<()>) {
        if under_way.len() >= CARRIERS {
            return;
        }
        let looked = self.app.db.read(Scope::system("post"), |db| letter::due(db, PILE));
        let due = looked.await.unwrap_or_else(|error| {
            warn(&error, "could not look for letters");
            Vec::new()
        });
        for (account, id) in due {
            if under_way.len() >= CARRIERS {
                return;
            }
            let Some(letter) = self.take(account, id).await else { continue };
            let post = self.clone();
            under_way.spawn(async move {
                let outcome = post.send(&letter).await;
                post.note(letter, outcome).await;
            });
        }
    }

    /// Takes a letter in hand, or leaves it unsent where there is no server or nobody to read it.
    async fn take(&self, account: AccountId, id: MailId) -> Option<Letter> {
        let send = self.server.is_some();
        let work = move |tx: &Tx<'_>| {
            // Nobody lives at the addresses of the demo club.
            let send = send && !account::find(tx)?.demo;
            if send { letter::take(tx, id) } else { letter::leave_unsent(tx, id).map(|()| None) }
        };
        match self.app.db.write(Scope::account(account, ACTOR), work).await {
            Ok(letter) => letter,
            // The account may have gone in between, with all its letters.
            Err(error) if error.code == Code::NotFound => None,
            Err(error) => {
                warn(&error, "could not take a letter in hand");
                None
            }
        }
    }

    /// Sends a letter that is in hand, outside of any job.
    pub async fn send(&self, letter: &Letter) -> Outcome {
        let Some((server, from)) = &self.server else {
            return Outcome::Later("No mail server is set up (TOUCHLINE_SMTP_URL).".to_owned());
        };
        match message::compose(&self.app, from, letter) {
            Ok(message) => server.send(message, self.patience).await,
            Err(why) => Outcome::Never(why),
        }
    }

    /// Notes what has become of a letter.
    async fn note(&self, letter: Letter, outcome: Outcome) {
        let (id, attempt) = (letter.id, letter.attempts);
        // A server's reason may name the person, so it is kept beside the letter and not logged.
        match &outcome {
            Outcome::Sent => tracing::debug!(%id, attempt, "a letter was sent"),
            Outcome::Later(_) => tracing::info!(%id, attempt, "a letter could not be sent now"),
            Outcome::Never(_) => tracing::info!(%id, attempt, "a letter was refused"),
        }
        let schedule = self.app.config.mail_retries.clone();
        let scope = Scope::account(letter.account_id, ACTOR);
        let work = move |tx: &Tx<'_>| match outcome {
            Outcome::Sent => letter::sent(tx, &letter),
            Outcome::Later(why) => letter::put_off(tx, &letter, &why, &schedule),
            Outcome::Never(why) => letter::failed(tx, &letter, &why),
        };
        if let Err(error) = self.app.db.write(scope, work).await {
            warn(&error, "could not note what became of a letter");
        }
    }
}

fn warn(error: &Error, what: &str) {
    tracing::warn!(cause = ?error.cause, "{what}");
}
