//! Pages for signing in and for managing your own account.

pub mod account;
pub mod confirm;
pub mod fields;
pub mod passkeys;
pub mod password;
pub mod reset;
pub mod sessions;
pub mod set_up;
pub mod sign_in;
pub mod start;
pub mod two_step;

use super::throttle::{self, Attempt, Factor, ThrottleKeys};
use crate::accounts::permissions::OwnAccount;
use crate::accounts::user::{self, Club, User};
use crate::i18n::Message;
use crate::prelude::*;
use crate::smtp::direct::DirectEmail;
use crate::web::prelude::*;
use crate::web::throttle::{RateLimit, client_network};
use crate::web::visitor::Guest;

/// The signed-in user on a page of their own account, and a form that they sent.
pub(crate) type AccountVisitor = Visitor<OwnAccount>;
pub(crate) type AccountForm = VisitorForm<OwnAccount>;

/// All pages of this module.
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

/// The session that this browser has, with its user.
fn current_session(guest: &Guest) -> Option<(UserId, SessionId)> {
    guest.visit.as_ref().map(|visit| (visit.user, visit.session))
}

/// Messages shown after a form was submitted, by the value of `done` in the URL.
const DONE_MESSAGES: [(&str, &str); 13] = [
    ("joined", mark!("Welcome. You have joined the club.")),
    ("signed-out", mark!("You are signed out.")),
    ("reset", mark!("Your password was changed. Sign in with the new password.")),
    (
        "reset-all",
        mark!(
            "Your password was changed. Your passkeys and two-step sign-in were removed. Sign in to set them up again."
        ),
    ),
    ("verified", mark!("Your email address is confirmed.")),
    ("codes", mark!("Too many incorrect codes. Sign in with your password again.")),
    ("saved", mark!("Your changes were saved.")),
    ("password", mark!("Your password was changed. All other browsers were signed out.")),
    ("email", mark!("Your email address was changed. Use the new address to sign in.")),
    (
        "email-sent",
        mark!("We sent an email to the new address. Open the link in it within 30 minutes."),
    ),
    ("off", mark!("Two-step sign-in is off.")),
    ("ended", mark!("The browser was signed out.")),
    ("others", mark!("All other browsers were signed out.")),
];

/// The message for the `done` parameter of the request.
fn flash(guest: &Guest) -> Option<Flash> {
    guest.done_flash(&DONE_MESSAGES)
}

/// The limit on sign-in attempts per IP address. Successful attempts do not count.
fn sign_in_limit(app: &App) -> RateLimit {
    let rate = app.config.sign_in_rate.get();
    let every = std::time::Duration::from_secs(60) / rate;
    RateLimit { name: "sign-in", burst: rate.div_ceil(2), interval: every }
}

/// Counts an authentication attempt. Fails if there were too many from the same IP address or with the same
/// email address.
async fn attempt(guest: &Guest, factor: Factor, email: &str) -> Result<Attempt> {
    let app = &guest.app;
    app.throttle.check(sign_in_limit(app), guest.context.address())?;
    let keys = throttle_keys(guest, factor, email);
    guest.write("attempts", move |tx| throttle::attempt(tx, keys)).await
}

/// The counters for attempts with this email address from the guest's location.
fn throttle_keys(guest: &Guest, factor: Factor, email: &str) -> ThrottleKeys {
    let location = client_network(guest.context.address()).to_string();
    ThrottleKeys::new(&guest.app.secrets, factor, email, &location)
}

/// Undoes the count of a successful attempt against the limit of its IP address.
fn uncount_attempt(guest: &Guest) {
    guest.app.throttle.uncount(sign_in_limit(&guest.app), guest.context.address());
}

/// Writes a failed attempt of an existing user to the audit log. The response does not wait for this, so that timing
/// does not reveal whether the user exists. After five failures only every power of two is logged, so that guessing
/// does not fill the log.
fn audit_failure(guest: &Guest, user: Option<&User>, attempt: &Attempt, step: &'static str) {
    let is_logged = attempt.failures <= 5 || attempt.failures.count_ones() == 1;
    let Some(user) = user.filter(|_| is_logged) else { return };
    let details = json!({ "step": step, "failures": attempt.failures });
    let (app, id, entry) = (guest.app.clone(), user.id, AuditEntry::new(guest, details));
    guest.app.spawn(async move {
        if let Err(error) = entry.write(&app, id, "user.sign_in_failed").await {
            tracing::warn!(cause = ?error.cause, "could not write a failed sign-in to the audit log");
        }
    });
}

/// An entry for the audit log, with the browser and request it comes from.
struct AuditEntry {
    details: Value,
    request: String,
}

impl AuditEntry {
    fn new(guest: &Guest, mut details: Value) -> Self {
        let browser = guest.browser();
        details["address"] = browser.address.into();
        details["user_agent"] = browser.user_agent.into();
        Self { details, request: guest.context.id().to_owned() }
    }

    /// Writes the entry to the audit log of every club that the user belongs to.
    async fn write(self, app: &App, user: UserId, action: &'static str) -> Result<()> {
        for club in clubs(app, user).await? {
            let (details, subject) = (self.details.clone(), user.to_string());
            let scope = Scope::account(club.id, user.to_string()).for_request(self.request.clone());
            app.db.write(scope, move |tx| tx.audit(action, &subject, &details)).await?;
        }
        Ok(())
    }
}

/// Writes a change of a user's sign-in to the audit log of every club that the user belongs to.
async fn audit(guest: &Guest, user: UserId, action: &'static str, details: Value) -> Result<()> {
    AuditEntry::new(guest, details).write(&guest.app, user, action).await
}

/// Sends an email to a user about their sign-in, in the background. Users of the demo club get none, because their
/// addresses do not exist.
fn email_user(app: &App, user: &User, subject: Message, text: Message) {
    if !app.direct_mailer.has_server() {
        return;
    }
    let (id, task_app) = (user.id, app.clone());
    let to_name = user.email_verified_at.map(|_| user.name.clone());
    let note = DirectEmail {
        // Empty until the user has confirmed their address: otherwise somebody could sign up with a stranger's address
        // and put a message to the stranger into the name.
        to_name: to_name.unwrap_or_default(),
        to_address: user.email.clone(),
        subject: user.locale().run(|| subject.to_string()),
        text: user.locale().run(|| text.to_string()),
    };
    app.spawn(async move {
        match is_real_user(&task_app, id).await {
            Ok(true) => task_app.send_email(&note),
            Ok(false) => {}
            Err(error) => tracing::warn!(cause = ?error.cause, "could not send an email to a user"),
        }
    });
}

async fn clubs(app: &App, user: UserId) -> Result<Vec<Club>> {
    app.db.read(Scope::system("clubs"), move |db| user::clubs(db, user)).await
}

/// Whether a user belongs to a real club or to none, not only to the demo club.
async fn is_real_user(app: &App, user: UserId) -> Result<bool> {
    let clubs = clubs(app, user).await?;
    for club in &clubs {
        let scope = Scope::account(club.id, "system");
        if !app.db.read(scope, crate::accounts::account::find).await?.demo {
            return Ok(true);
        }
    }
    Ok(clubs.is_empty())
}
