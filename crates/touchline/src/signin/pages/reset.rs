//! `/forgot` and `/reset/{token}`: a new password for whoever can read the letters of its owner.

use std::time::Duration;

use askama::Template;
use axum::Router;
use axum::response::Response;
use axum::routing::get;
use http::StatusCode;
use kit::secret::Token;
use kit::text;
use serde_json::json;
use store::{Reader, Scope, Tx};

use super::{is_real, name_for_email, note, subject, write_to};
use crate::accounts::user::{self, User};
use crate::app::App;
use crate::error::{Code, Error, Result};
use crate::post::courier::Note;
use crate::signin::entry::{self, Reset};
use crate::signin::passkey;
use crate::signin::throttle::Proof;
use crate::web::form::Faults;
use crate::web::pace::Pace;
use crate::web::page::{self, Frame};
use crate::web::path::At;
use crate::web::visitor::{Guest, GuestPosted, Outcome, see_other};

/// How often one address may ask for letters, how often for the same reader, and how many letters one
/// reader gets. The last is loose, so that no stranger uses up what the reader asks for.
const ASKED: Pace = Pace { what: "forgot", burst: 3, every: Duration::from_secs(20 * 60) };
const ASKED_FOR: Pace = Pace { what: "reset letter", burst: 3, every: Duration::from_secs(3600) };
const WRITTEN: Pace = Pace { what: "reset letters", burst: 20, every: Duration::from_secs(180) };

pub(super) fn router() -> Router<App> {
    Router::new()
        .route("/forgot", get(ask).post(send))
        .route("/reset/{token}", get(choose).post(keep))
}

#[derive(Template)]
#[template(path = "signin/forgot.html")]
struct ForgotPage {
    frame: Frame,
    /// Whether letters can be sent at all.
    mail: bool,
    sent: bool,
}

async fn ask(guest: Guest) -> Outcome {
    Ok(forgot_page(&guest, false)?)
}

fn forgot_page(guest: &Guest, sent: bool) -> Result<Response> {
    let mail = guest.app.courier.has_server();
    let title = if sent { "Look at your mail" } else { "Forgot your password?" };
    let page = ForgotPage { frame: guest.frame(title), mail, sent };
    Ok(guest.with_cookie(page::html(StatusCode::OK, &page)?))
}

/// Answers everybody alike; whether there is somebody to write to is found out afterwards.
async fn send(GuestPosted { guest, form }: GuestPosted) -> Outcome {
    if !guest.app.courier.has_server() {
        return Ok(forgot_page(&guest, false)?);
    }
    guest.app.paces.take(ASKED, guest.context.address())?;
    let email = text::normalised(form.text("email")).into_owned();
    let (here, anywhere) = subject(&guest, Proof::Password, &email).hashes();
    let paces = &guest.app.paces;
    let few = || paces.take(ASKED_FOR, here).and_then(|()| paces.take(WRITTEN, anywhere)).is_ok();
    if email.len() <= 254 && few() {
        let app = guest.app.clone();
        guest.app.spawn(async move {
            if let Err(error) = write(&app, email).await {
                tracing::warn!(cause = ?error.cause, "could not write a letter for a new password");
            }
        });
    }
    Ok(forgot_page(&guest, true)?)
}

async fn write(app: &App, email: String) -> Result<()> {
    let made = app.db.write(Scope::system("reset"), move |tx| entry::reset_link(tx, &email)).await;
    let (user, token) = match made {
        Ok(made) => made,
        Err(error) if error.code == Code::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if is_real(app, user.id).await? {
        let text = format!(
            "Somebody, hopefully you, asked for a new password for Touchline.\n\nChoose one here within 30 minutes:\n\n\
             {}\n\nIf it was not you, do nothing: your password stays as it is.\n",
            address(app, &token)
        );
        let subject = "Choose a new password".to_owned();
        app.courier.send(
            app,
            Note { to_name: name_for_email(&user), to_address: user.email, subject, text },
        );
    }
    Ok(())
}

/// Where a link leads. What a request says of the host does not matter.
fn address(app: &App, token: &Token) -> String {
    app.url(&format!("/reset/{}", token.reveal()))
}

#[derive(Template)]
#[template(path = "signin/reset.html")]
struct ResetPage<'a> {
    frame: Frame,
    email: &'a str,
    faults: Faults,
}

async fn choose(guest: Guest, At(token): At<String>) -> Outcome {
    let user = owner(&guest, &token).await?;
    Ok(reset_page(&guest, &user, Faults::default())?)
}

async fn owner(guest: &Guest, token: &str) -> Result<User> {
    let token = token.to_owned();
    let look = move |db: &Reader<'_>| {
        let link = entry::reset_of(db, &token)?;
        user::find(db, link.user_id.ok_or_else(Error::not_found)?)
    };
    guest.app.db.read(guest.scope("reset"), look).await
}

fn reset_page(guest: &Guest, user: &User, faults: Faults) -> Result<Response> {
    let status = if faults.is_empty() { StatusCode::OK } else { StatusCode::UNPROCESSABLE_ENTITY };
    let frame = guest.frame("Choose a new password");
    let page = ResetPage { frame, email: &user.email, faults };
    Ok(guest.with_cookie(page::html(status, &page)?))
}

async fn keep(At(token): At<String>, GuestPosted { guest, form }: GuestPosted) -> Outcome {
    let user = owner(&guest, &token).await?;
    let typed = form.get("password").unwrap_or_default();
    let hashed = guest.app.passwords.hash(typed, &[&user.name, &user.email]).await;
    let hash = match hashed {
        Ok(hash) => hash,
        Err(error) if error.code == Code::ValidationFailed => {
            return Ok(reset_page(&guest, &user, Faults::from(&error))?);
        }
        Err(error) => return Err(error.into()),
    };
    let change = move |tx: &Tx<'_>| entry::reset(tx, &token, &hash);
    let (_, reset) = guest.app.db.write(guest.scope("reset"), change).await?;
    note_reset(&guest, &user, &reset).await?;
    tell_of_new_password(&guest.app, &user);
    let said = if reset.removed() { "reset-all" } else { "reset" };
    Ok(see_other(&format!("/sign-in?done={said}")))
}

async fn note_reset(guest: &Guest, user: &User, reset: &Reset) -> Result<()> {
    note(guest, user.id, "user.password_reset", json!({})).await?;
    if reset.verified {
        note(guest, user.id, "user.email_verified", json!({})).await?;
    }
    if reset.two_step {
        note(guest, user.id, "user.two_step_off", json!({})).await?;
    }
    for passkey in &reset.passkeys {
        note(guest, user.id, "passkey.removed", passkey::details(*passkey)).await?;
    }
    Ok(())
}

/// Tells the owner of a password that it was changed.
pub(super) fn tell_of_new_password(app: &App, user: &User) {
    let text = format!(
        "Your password for Touchline was just changed. All browsers have to sign in again, and all apps to be \
         allowed again.\n\nIf that was not you, choose a new one at once: {}\n",
        app.url("/forgot")
    );
    write_to(app, user, "Your password was changed", text);
}
