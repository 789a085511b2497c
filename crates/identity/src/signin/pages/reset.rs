//! `/forgot` and `/reset/{token}`: password reset with a link sent by email.

use std::time::Duration;

use kit::text;

use super::{audit, email_user, fields, throttle_keys};
use crate::accounts::user::{self, User};
use crate::prelude::*;
use crate::signin::authentication::{self, ResetOutcome};
use crate::signin::passkey;
use crate::signin::throttle::Factor;
use crate::web::form::FilledForm;
use crate::web::page;
use crate::web::prelude::*;
use crate::web::throttle::RateLimit;
use crate::web::visitor::{Guest, GuestForm};

/// The limit on reset requests per IP address.
const REQUESTS_PER_ADDRESS: RateLimit =
    RateLimit { name: "forgot", burst: 3, interval: Duration::from_secs(20 * 60) };
/// The limit on reset requests per IP address and email address.
const REQUESTS_PER_ADDRESS_AND_EMAIL: RateLimit =
    RateLimit { name: "reset request", burst: 3, interval: Duration::from_secs(3600) };
/// The limit on reset emails per email address. It is high, so that strangers cannot use it up and keep the user from
/// resetting their password.
const EMAILS_PER_USER: RateLimit =
    RateLimit { name: "reset emails", burst: 20, interval: Duration::from_secs(180) };

pub(super) fn router() -> Router<App> {
    Router::new()
        .route("/forgot", get(show_form).post(send))
        .route("/reset/{token}", get(show_reset_form).post(set_password))
}

#[derive(Template)]
#[template(path = "signin/forgot.html")]
struct ForgotPage {
    frame: Frame,
    /// Whether a mail server is configured.
    mail: bool,
    sent: bool,
    form: FilledForm,
}

async fn show_form(guest: Guest) -> PageResult {
    forgot_page(&guest, false)
}

fn forgot_page(guest: &Guest, sent: bool) -> PageResult {
    let mail = guest.app.direct_mailer.has_server();
    let title = if sent { t!("Check your email") } else { t!("Forgot your password?") };
    let form = FilledForm::empty(&[fields::EMAIL]);
    let page = ForgotPage { frame: guest.frame(title), mail, sent, form };
    Ok(guest.with_cookie(page::html(StatusCode::OK, &page)?))
}

/// Sends the same response whether or not a user has the address; the lookup runs in the background.
async fn send(GuestForm { guest, form }: GuestForm) -> PageResult {
    if !guest.app.direct_mailer.has_server() {
        return forgot_page(&guest, false);
    }
    let throttle = &guest.app.throttle;
    throttle.check(REQUESTS_PER_ADDRESS, guest.context.address())?;
    let email = text::to_nfc(form.text("email")).into_owned();
    let (here, anywhere) = throttle_keys(&guest, Factor::Password, &email).hashes();
    let allowed = || {
        throttle.check(REQUESTS_PER_ADDRESS_AND_EMAIL, here).is_ok()
            && throttle.check(EMAILS_PER_USER, anywhere).is_ok()
    };
    if email.len() <= 254 && allowed() {
        let app = guest.app.clone();
        guest.app.spawn(async move {
            if let Err(error) = send_reset_email(&app, email).await {
                tracing::warn!(cause = ?error.cause, "could not send a password reset email");
            }
        });
    }
    forgot_page(&guest, true)
}

async fn send_reset_email(app: &App, email: String) -> Result<()> {
    let create = move |tx: &Tx<'_>| authentication::create_reset_link(tx, &email);
    let (user, token) = match app.db.write(Scope::system("reset"), create).await {
        Err(error) if error.code == Code::NotFound => return Ok(()),
        link => link?,
    };
    let text = message!(
        "Somebody asked to reset your Touchline password.\n\nTo choose a new password, open this link within 30 \
         minutes:\n\n{link}\n\nIf you did not request this, ignore this email. Your password stays the same.\n",
        // It uses the configured base URL, never the `Host` header of a request.
        link = app.url(&format!("/reset/{}", token.reveal()))
    );
    email_user(app, &user, message!("Reset your password"), text);
    Ok(())
}

#[derive(Template)]
#[template(path = "signin/reset.html")]
struct ResetPage<'a> {
    frame: Frame,
    email: &'a str,
    form: FilledForm,
}

async fn show_reset_form(guest: Guest, PathParams(token): PathParams<String>) -> PageResult {
    let user = find_user(&guest, &token).await?;
    reset_page(&guest, &user, Faults::default())
}

async fn find_user(guest: &Guest, token: &str) -> Result<User> {
    let token = token.to_owned();
    let find = move |db: &Reader<'_>| {
        let link = authentication::find_reset_link(db, &token)?;
        user::find(db, link.user_id.ok_or_else(Error::not_found)?)
    };
    guest.read("reset", find).await
}

fn reset_page(guest: &Guest, user: &User, faults: Faults) -> PageResult {
    let frame = guest.frame(t!("Choose a new password"));
    let form = FilledForm::empty(&[fields::NEW_PASSWORD]).with_faults(faults);
    let page = ResetPage { frame, email: &user.email, form };
    Ok(guest.with_cookie(page::html(page.form.status(), &page)?))
}

async fn set_password(
    PathParams(token): PathParams<String>,
    GuestForm { guest, form }: GuestForm,
) -> PageResult {
    let user = find_user(&guest, &token).await?;
    let hash = match hash_password(&guest.app, &user, &form).await? {
        Ok(hash) => hash,
        Err(faults) => return reset_page(&guest, &user, faults),
    };
    let change = move |tx: &Tx<'_>| authentication::reset_password(tx, &token, &hash);
    let (_, reset) = guest.write("reset", change).await?;
    audit_reset(&guest, &user, &reset).await?;
    send_password_changed_email(&guest.app, &user);
    let done = if reset.removed_sign_in_methods() { "reset-all" } else { "reset" };
    Ok(see_other(&format!("/sign-in?done={done}")))
}

/// The hash of the user's new password in the form, or why it is not acceptable.
pub(super) async fn hash_password(
    app: &App,
    user: &User,
    form: &Form,
) -> Result<std::result::Result<String, Faults>> {
    let password = form.get("password").unwrap_or_default();
    match app.passwords.hash(password, &[&user.name, &user.email]).await {
        Err(error) if error.code == Code::ValidationFailed => Ok(Err(Faults::from(&error))),
        hash => hash.map(Ok),
    }
}

async fn audit_reset(guest: &Guest, user: &User, reset: &ResetOutcome) -> Result<()> {
    audit(guest, user.id, "user.password_reset", json!({})).await?;
    if reset.email_verified {
        audit(guest, user.id, "user.email_verified", json!({})).await?;
    }
    if reset.two_step_turned_off {
        audit(guest, user.id, "user.two_step_off", json!({})).await?;
    }
    for passkey in &reset.removed_passkeys {
        audit(guest, user.id, "passkey.removed", passkey::audit_details(*passkey)).await?;
    }
    Ok(())
}

/// Sends the user an email that their password was changed.
pub(super) fn send_password_changed_email(app: &App, user: &User) {
    let text = message!(
        "Your Touchline password was changed. All other browsers were signed out, and all apps were \
         disconnected.\n\nIf you did not do this, reset your password immediately: {link}\n",
        link = app.url("/forgot")
    );
    email_user(app, user, message!("Your password was changed"), text);
}
