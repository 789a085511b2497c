//! The pages of signing in and of one's own account.

pub mod account;
pub mod confirm;
pub mod passkeys;
pub mod password;
pub mod reset;
pub mod sessions;
pub mod set_up;
pub mod sign_in;
pub mod start;
pub mod two_step;

use axum::Router;
use serde_json::{Value, json};
use store::{Reader, Scope};

use super::throttle::{self, Attempt, Proof, Subject};
use crate::accounts::account as club;
use crate::accounts::user::{self, User};
use crate::app::App;
use crate::error::Result;
use crate::ids::UserId;
use crate::post::courier::Note;
use crate::signals::Tell;
use crate::web::form::Form;
use crate::web::pace::{Pace, neighbourhood};
use crate::web::page::Flash;
use crate::web::visitor::Guest;

/// Every page of this room.
pub fn router() -> Router<App> {
    Router::new()
        .merge(start::router())
        .merge(sign_in::router())
        .merge(confirm::router())
        .merge(reset::router())
        .merge(set_up::router())
        .merge(account::router())
        .merge(passkeys::router())
        .merge(password::router())
        .merge(two_step::router())
        .merge(sessions::router())
}

/// The fields of the address that was asked for.
fn query(guest: &Guest) -> Form {
    guest.query().unwrap_or_default()
}

/// What is said on top of a page that follows a form.
const DONE: [(&str, &str); 13] = [
    ("joined", "Welcome. You belong to the club now."),
    ("signed-out", "You are signed out."),
    ("reset", "Your new password is set. Sign in with it."),
    (
        "reset-all",
        "Your new password is set. Passkeys and two-step sign-in that were set up before are gone; set them up \
         anew once you have signed in.",
    ),
    ("verified", "Your address is confirmed."),
    ("codes", "These were too many codes that are not right. Begin again with your password."),
    ("saved", "Saved."),
    ("password", "Your new password is set. All other browsers were signed out."),
    ("email", "Your address is changed. Sign in with the new one from now on."),
    ("letter", "We have sent a letter to the address. Open the link in it within 30 minutes."),
    ("off", "Two-step sign-in is off."),
    ("ended", "That browser is signed out."),
    ("others", "All other browsers are signed out."),
];

/// The line on top of a page that follows a form, by the word in its address.
fn flash(guest: &Guest) -> Option<Flash> {
    guest.done(&DONE)
}

/// How often an address may try to sign in; attempts that succeed do not count.
fn pace(app: &App) -> Pace {
    let rate = app.config.sign_in_rate.get();
    let every = std::time::Duration::from_secs(60) / rate;
    Pace { what: "sign-in", burst: rate.div_ceil(2), every }
}

/// Lets an attempt to prove something in, unless there were too many from the same place or for the
/// same address of mail.
async fn attempt(guest: &Guest, proof: Proof, email: &str) -> Result<Attempt> {
    let app = &guest.app;
    app.paces.take(pace(app), guest.context.address())?;
    let subject = subject(guest, proof, email);
    app.db.write(guest.scope("attempts"), move |tx| throttle::attempt(tx, subject)).await
}

/// Whose attempts are counted, and where.
fn subject(guest: &Guest, proof: Proof, email: &str) -> Subject {
    let place = neighbourhood(guest.context.address()).to_string();
    Subject::new(&guest.app.secrets, proof, email, &place)
}

/// The attempt was a good one.
fn forget_place(guest: &Guest) {
    guest.app.paces.give_back(pace(&guest.app), guest.context.address());
}

/// Notes an attempt that failed, if it is somebody we know. Nobody waits for it, so that time does not
/// tell whether we do; and of many only some are noted, so that guessing does not fill the log.
fn failed(guest: &Guest, user: Option<&User>, attempt: &Attempt, step: &'static str) {
    let telling = attempt.failures <= 5 || attempt.failures.count_ones() == 1;
    let Some(user) = user.filter(|_| telling) else { return };
    let details = json!({ "step": step, "failures": attempt.failures });
    let (app, id, noted) = (guest.app.clone(), user.id, Noted::new(guest, details));
    guest.app.spawn(async move {
        if let Err(error) = noted.enter(&app, id, "user.sign_in_failed").await {
            tracing::warn!(cause = ?error.cause, "could not note a failed sign-in");
        }
    });
}

/// What the audit log is told beside who did what.
struct Noted {
    details: Value,
    request: String,
}

impl Noted {
    fn new(guest: &Guest, mut details: Value) -> Self {
        let browser = guest.browser();
        details["address"] = browser.address.into();
        details["user_agent"] = browser.user_agent.into();
        Self { details, request: guest.context.id().to_owned() }
    }

    /// Enters it into the audit log of every club that the user belongs to.
    async fn enter(self, app: &App, user: UserId, action: &'static str) -> Result<()> {
        let look = move |db: &Reader<'_>| user::clubs(db, user);
        for club in app.db.read(Scope::system("clubs"), look).await? {
            let (details, subject) = (self.details.clone(), user.to_string());
            let scope = Scope::account(club.id, user.to_string()).for_request(self.request.clone());
            app.db.write(scope, move |tx| tx.audit(action, &subject, &details)).await?;
        }
        Ok(())
    }
}

/// Enters into the audit logs what a user did to how they sign in.
async fn note(guest: &Guest, user: UserId, action: &'static str, details: Value) -> Result<()> {
    Noted::new(guest, details).enter(&guest.app, user, action).await
}

/// The name in the header of an email to a user. Nobody writes to a stranger by giving themselves a name and the
/// stranger's address: the name is left out until the address is confirmed.
fn name_for_email(user: &User) -> String {
    if user.email_verified_at.is_some() { user.name.clone() } else { String::new() }
}

/// Writes to a user about how they sign in; nobody waits for it, and nobody lives at the addresses of
/// the demo club.
fn write_to(app: &App, user: &User, subject: &'static str, text: String) {
    if !app.courier.has_server() {
        return;
    }
    let (id, watched) = (user.id, app.clone());
    let note = Note {
        to_name: name_for_email(user),
        to_address: user.email.clone(),
        subject: subject.to_owned(),
        text,
    };
    app.spawn(async move {
        match is_real(&watched, id).await {
            Ok(true) => watched.courier.send(&watched, note),
            Ok(false) => {}
            Err(error) => tracing::warn!(cause = ?error.cause, "could not write to a user"),
        }
    });
}

/// Whether a user is more than somebody of the demo club.
async fn is_real(app: &App, user: UserId) -> Result<bool> {
    let clubs = app.db.read(Scope::system("clubs"), move |db| user::clubs(db, user)).await?;
    for belonging in &clubs {
        let scope = Scope::account(belonging.id, "system");
        if !app.db.read(scope, club::find).await?.demo {
            return Ok(true);
        }
    }
    Ok(clubs.is_empty())
}
