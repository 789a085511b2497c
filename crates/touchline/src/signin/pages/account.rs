//! `/account`: one's own name, and the address one signs in with.

use std::time::Duration;

use askama::Template;
use axum::Router;
use axum::response::Response;
use axum::routing::get;
use http::StatusCode;
use kit::secret::sha256;
use kit::text;
use serde_json::json;
use store::{Reader, Tx};

use super::{flash, note, write_to};
use crate::accounts::own;
use crate::accounts::permits::OwnAccount;
use crate::accounts::user::{self, User};
use crate::app::App;
use crate::error::{Code, Error, Result};
use crate::post::courier::Note;
use crate::signin::entry;
use crate::signin::link::{self, LinkKind};
use crate::web::form::Faults;
use crate::web::pace::Pace;
use crate::web::page::{self, Frame, Section};
use crate::web::path::At;
use crate::web::visitor::{Guest, GuestPosted, Outcome, Posted, Visitor, see_other};

/// How often somebody is sent a link to confirm an address.
const LETTERS: Pace = Pace { what: "confirm letter", burst: 5, every: Duration::from_secs(600) };

pub(super) fn router() -> Router<App> {
    Router::new()
        .route("/account", get(show).post(rename))
        .route("/account/email", get(ask_email).post(change_email))
        .route("/account/email/{token}", get(ask_confirmation).post(confirm))
}

#[derive(Template)]
#[template(path = "account/profile.html")]
struct ProfilePage<'a> {
    frame: Frame,
    name: &'a str,
    email: &'a str,
    /// Whether they can confirm their address and have not.
    unconfirmed: bool,
    faults: Faults,
}

#[derive(Template)]
#[template(path = "account/email.html")]
struct EmailPage<'a> {
    frame: Frame,
    email: &'a str,
    before: &'a str,
    /// Whether the new address is confirmed by a letter.
    mail: bool,
    faults: Faults,
}

#[derive(Template)]
#[template(path = "account/email_confirm.html")]
struct ConfirmEmailPage {
    frame: Frame,
    email: String,
}

/// Whoever looks at the pages of their account.
pub(super) async fn me(visitor: &Visitor<OwnAccount>) -> Result<User> {
    let id = visitor.visit.user;
    let look = move |db: &Reader<'_>| user::find(db, id);
    visitor.app().db.read(visitor.guest.scope("account"), look).await
}

/// Whether somebody has to confirm their address before they add other ways to sign in. Whoever took the
/// address of somebody else could keep them out with these. Without mail nobody can confirm anything.
pub(super) async fn unconfirmed(visitor: &Visitor<OwnAccount>) -> Result<bool> {
    let mail = visitor.app().courier.has_server();
    Ok(mail && me(visitor).await?.email_verified_at.is_none())
}

async fn show(visitor: Visitor<OwnAccount>) -> Outcome {
    let frame = visitor.frame("Profile", Section::Profile).flash(flash(&visitor.guest));
    let (name, email) = (&visitor.visit.name, &visitor.visit.email);
    let unconfirmed = unconfirmed(&visitor).await?;
    let page = ProfilePage { frame, name, email, unconfirmed, faults: Faults::default() };
    Ok(page::html(StatusCode::OK, &page)?)
}

async fn rename(Posted { visitor, form }: Posted<OwnAccount>) -> Outcome {
    let (id, name) = (visitor.visit.user, form.text("name").to_owned());
    let change = move |tx: &Tx<'_>| own::rename(tx, id, &name);
    match visitor.write_own("account", change).await {
        Ok(()) => {
            note(&visitor.guest, id, "user.renamed", json!({})).await?;
            Ok(see_other("/account?done=saved"))
        }
        Err(error) if error.code == Code::ValidationFailed => {
            let frame = visitor.frame("Profile", Section::Profile);
            let (name, email) = (form.text("name"), visitor.visit.email.as_str());
            let unconfirmed = unconfirmed(&visitor).await?;
            let page =
                ProfilePage { frame, name, email, unconfirmed, faults: Faults::from(&error) };
            Ok(page::html(StatusCode::UNPROCESSABLE_ENTITY, &page)?)
        }
        Err(error) => Err(error.into()),
    }
}

async fn ask_email(visitor: Visitor<OwnAccount>) -> Outcome {
    visitor.fresh("/account/email")?;
    Ok(email_page(&visitor, "", Faults::default())?)
}

fn email_page(visitor: &Visitor<OwnAccount>, email: &str, faults: Faults) -> Result<Response> {
    let status = if faults.is_empty() { StatusCode::OK } else { StatusCode::UNPROCESSABLE_ENTITY };
    let frame = visitor.frame("Change your address", Section::Profile);
    let mail = visitor.app().courier.has_server();
    page::html(status, &EmailPage { frame, email, before: &visitor.visit.email, mail, faults })
}

/// With a mail server the new address counts once a letter has reached it; without one it counts at once.
async fn change_email(Posted { visitor, form }: Posted<OwnAccount>) -> Outcome {
    visitor.fresh("/account/email")?;
    let (app, guest) = (visitor.app(), &visitor.guest);
    let mail = app.courier.has_server();
    let changed = match own::address(form.text("email")) {
        Ok(email) if mail => send_link(&visitor, email).await,
        Ok(email) => {
            let id = visitor.visit.user;
            let change = move |tx: &Tx<'_>| {
                own::set_email(tx, id, &email, false)?;
                // Links to the address before say nothing about this one.
                entry::forget_resets(tx, id)
            };
            visitor.write_own("account", change).await
        }
        Err(error) => Err(error),
    };
    match changed {
        Ok(()) if mail => Ok(see_other("/account?done=letter")),
        Ok(()) => {
            note(guest, visitor.visit.user, "user.email_changed", json!({})).await?;
            Ok(see_other("/account?done=email"))
        }
        Err(error) if matches!(error.code, Code::ValidationFailed | Code::Taken) => {
            Ok(email_page(&visitor, form.text("email"), Faults::from(&error))?)
        }
        Err(error) => Err(error.into()),
    }
}

/// Writes to the new address. Whether somebody else has it shows only there.
async fn send_link(visitor: &Visitor<OwnAccount>, email: String) -> Result<()> {
    let (app, id, to) = (visitor.app(), visitor.visit.user, email.clone());
    app.paces.take(LETTERS, sha256(id.to_string().as_bytes()))?;
    let make = move |tx: &Tx<'_>| {
        link::forget_of(tx, LinkKind::Verify, id)?;
        let in_use = user::find_by_email(tx, &email)?.is_some_and(|user| user.id != id);
        Ok::<_, Error>((in_use, link::make(tx, LinkKind::Verify, Some(id), Some(email))?))
    };
    let (in_use, token) = visitor.write_own("account", make).await?;
    let link = app.url(&format!("/account/email/{}", token.reveal()));
    let text = if in_use {
        "Somebody wants to sign in to Touchline with this address, but an account has it already. If that was \
         you, sign in with it.\n"
            .to_owned()
    } else {
        format!(
            "Open this link within 30 minutes to sign in to Touchline with this address from now on:\n\n\
             {link}\n\nIf you did not ask for it, do nothing.\n"
        )
    };
    let subject = "Confirm your address".to_owned();
    // The address is not confirmed yet, and may be a stranger's.
    let to_name = String::new();
    app.courier.send(app, Note { to_name, to_address: to, subject, text });
    Ok(())
}

async fn ask_confirmation(guest: Guest, At(token): At<String>) -> Outcome {
    let look = move |db: &Reader<'_>| {
        let link = link::look(db, LinkKind::Verify, &token)?;
        link.email.ok_or_else(Error::not_found)
    };
    let email = guest.app.db.read(guest.scope("account"), look).await?;
    let page = ConfirmEmailPage { frame: guest.frame("Confirm your address"), email };
    Ok(guest.with_cookie(page::html(StatusCode::OK, &page)?))
}

async fn confirm(At(token): At<String>, GuestPosted { guest, .. }: GuestPosted) -> Outcome {
    let change = move |tx: &Tx<'_>| {
        let id = link::look(tx, LinkKind::Verify, &token)?.user_id;
        let before = user::find(tx, id.ok_or_else(Error::not_found)?)?;
        let (_, email) = entry::confirm_email(tx, &token)?;
        Ok::<_, Error>((before, email))
    };
    let (before, email) = guest.app.db.write(guest.scope("account"), change).await?;
    if text::folded(&before.email) == text::folded(&email) {
        note(&guest, before.id, "user.email_verified", json!({})).await?;
        let place = if guest.visit.is_some() { "/account" } else { "/sign-in" };
        return Ok(see_other(&format!("{place}?done=verified")));
    }
    note(&guest, before.id, "user.email_changed", json!({})).await?;
    let text = format!(
        "The address with which you sign in to Touchline was changed to {email}.\n\nIf that was not you, tell an \
         admin of your club at once.\n"
    );
    write_to(&guest.app, &before, "Your address was changed", text);
    let place = if guest.visit.is_some() { "/account?done=email" } else { "/sign-in?done=email" };
    Ok(see_other(place))
}
