//! `/account`: the user's name and language, and the email address they sign in with.

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

use super::{audit, email_user, flash};
use crate::accounts::permissions::OwnAccount;
use crate::accounts::profile;
use crate::accounts::user::{self, User};
use crate::error::{Code, Error, Result};
use crate::i18n::Locale;
use crate::signin::authentication;
use crate::signin::link::{self, LinkKind};
use crate::smtp::direct::DirectEmail;
use crate::web::app::App;
use crate::web::form::Faults;
use crate::web::page::{self, Frame, Section};
use crate::web::path::PathParams;
use crate::web::throttle::RateLimit;
use crate::web::visitor::{Guest, GuestForm, PageResult, Visitor, VisitorForm, see_other};

/// The limit on confirmation emails per user.
const CONFIRMATION_EMAILS: RateLimit =
    RateLimit { name: "email confirmation", burst: 5, interval: Duration::from_secs(600) };

pub(super) fn router() -> Router<App> {
    Router::new()
        .route("/account", get(show).post(update))
        .route("/account/email", get(show_email_form).post(change_email))
        .route("/account/email/{token}", get(show_confirmation).post(confirm))
}

#[derive(Template)]
#[template(path = "account/profile.html")]
struct ProfilePage<'a> {
    frame: Frame,
    name: &'a str,
    /// The chosen language. Empty if pages follow the browser.
    language: &'a str,
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
    /// Whether a mail server is configured, so that the new address has to be confirmed.
    mail: bool,
    faults: Faults,
}

#[derive(Template)]
#[template(path = "account/email_confirm.html")]
struct ConfirmEmailPage {
    frame: Frame,
    email: String,
}

/// The signed-in user.
pub(super) async fn current_user(visitor: &Visitor<OwnAccount>) -> Result<User> {
    let id = visitor.visit.user;
    let find = move |db: &Reader<'_>| user::find(db, id);
    visitor.app().db.read(visitor.guest.scope("account"), find).await
}

/// Whether the user must confirm their email address before adding other sign-in methods. Otherwise somebody who
/// signed up with another person's address could use these methods to keep that person out. Never required without
/// a mail server.
pub(super) async fn needs_email_confirmation(visitor: &Visitor<OwnAccount>) -> Result<bool> {
    let mail = visitor.app().direct_mailer.has_server();
    Ok(mail && current_user(visitor).await?.email_verified_at.is_none())
}

async fn show(visitor: Visitor<OwnAccount>) -> PageResult {
    let frame = visitor.frame("Profile", Section::Profile).flash(flash(&visitor.guest));
    let (name, email) = (&visitor.visit.name, &visitor.visit.email);
    let language = visitor.visit.language.as_deref().unwrap_or_default();
    let unconfirmed = needs_email_confirmation(&visitor).await?;
    let faults = Faults::default();
    let page = ProfilePage { frame, name, language, email, unconfirmed, faults };
    Ok(page::html(StatusCode::OK, &page)?)
}

async fn update(VisitorForm { visitor, form }: VisitorForm<OwnAccount>) -> PageResult {
    let (id, name) = (visitor.visit.user, form.text("name").to_owned());
    let language = Locale::find(form.text("language")).map(Locale::tag);
    let change = move |tx: &Tx<'_>| profile::update(tx, id, &name, language);
    match visitor.write_user("account", change).await {
        Ok(()) => {
            audit(&visitor.guest, id, "user.renamed", json!({})).await?;
            Ok(see_other("/account?done=saved"))
        }
        Err(error) if error.code == Code::ValidationFailed => {
            let frame = visitor.frame("Profile", Section::Profile);
            let (name, email) = (form.text("name"), visitor.visit.email.as_str());
            let unconfirmed = needs_email_confirmation(&visitor).await?;
            let (language, faults) = (form.text("language"), Faults::from(&error));
            let page = ProfilePage { frame, name, language, email, unconfirmed, faults };
            Ok(page::html(StatusCode::UNPROCESSABLE_ENTITY, &page)?)
        }
        Err(error) => Err(error.into()),
    }
}

async fn show_email_form(visitor: Visitor<OwnAccount>) -> PageResult {
    visitor.require_recent_authentication("/account/email")?;
    Ok(email_page(&visitor, "", Faults::default())?)
}

fn email_page(visitor: &Visitor<OwnAccount>, email: &str, faults: Faults) -> Result<Response> {
    let status = if faults.is_empty() { StatusCode::OK } else { StatusCode::UNPROCESSABLE_ENTITY };
    let frame = visitor.frame("Change your email address", Section::Profile);
    let mail = visitor.app().direct_mailer.has_server();
    page::html(status, &EmailPage { frame, email, before: &visitor.visit.email, mail, faults })
}

/// With a mail server, the new address takes effect when the user opens the link sent to it; otherwise immediately.
async fn change_email(VisitorForm { visitor, form }: VisitorForm<OwnAccount>) -> PageResult {
    visitor.require_recent_authentication("/account/email")?;
    let (app, guest) = (visitor.app(), &visitor.guest);
    let mail = app.direct_mailer.has_server();
    let changed = match profile::validate_email(form.text("email")) {
        Ok(email) if mail => send_link(&visitor, email).await,
        Ok(email) => {
            let id = visitor.visit.user;
            let change = move |tx: &Tx<'_>| {
                profile::set_email(tx, id, &email, false)?;
                // Reset links were sent to the old address.
                authentication::revoke_reset_links(tx, id)
            };
            visitor.write_user("account", change).await
        }
        Err(error) => Err(error),
    };
    match changed {
        Ok(()) if mail => Ok(see_other("/account?done=email-sent")),
        Ok(()) => {
            audit(guest, visitor.visit.user, "user.email_changed", json!({})).await?;
            Ok(see_other("/account?done=email"))
        }
        Err(error) if matches!(error.code, Code::ValidationFailed | Code::Taken) => {
            Ok(email_page(&visitor, form.text("email"), Faults::from(&error))?)
        }
        Err(error) => Err(error.into()),
    }
}

/// Sends a confirmation email to the new address. Only this email reveals whether another user has the address.
async fn send_link(visitor: &Visitor<OwnAccount>, email: String) -> Result<()> {
    let (app, id, to) = (visitor.app(), visitor.visit.user, email.clone());
    app.throttle.check(CONFIRMATION_EMAILS, sha256(id.to_string().as_bytes()))?;
    let make = move |tx: &Tx<'_>| {
        link::revoke_of_user(tx, LinkKind::Verify, id)?;
        let in_use = user::find_by_email(tx, &email)?.is_some_and(|user| user.id != id);
        Ok::<_, Error>((in_use, link::create(tx, LinkKind::Verify, Some(id), Some(email))?))
    };
    let (in_use, token) = visitor.write_user("account", make).await?;
    let link = app.url(&format!("/account/email/{}", token.reveal()));
    let text = if in_use {
        t!("Somebody asked to use this email address to sign in to Touchline, but another user already signs in with \
         it. If that was you, sign in with this address instead.\n")
            .to_owned()
    } else {
        t!(
            "Open this link within 30 minutes to confirm that you want to sign in to Touchline with this email \
             address:\n\n{link}\n\nIf you did not request this, ignore this email.\n",
            link
        )
    };
    let subject = t!("Confirm your email address").to_owned();
    // The address is not confirmed yet and may belong to somebody else.
    let to_name = String::new();
    app.send_email(&DirectEmail { to_name, to_address: to, subject, text });
    Ok(())
}

async fn show_confirmation(guest: Guest, PathParams(token): PathParams<String>) -> PageResult {
    let find = move |db: &Reader<'_>| {
        let link = link::find(db, LinkKind::Verify, &token)?;
        link.email.ok_or_else(Error::not_found)
    };
    let email = guest.app.db.read(guest.scope("account"), find).await?;
    let page = ConfirmEmailPage { frame: guest.frame("Confirm your email address"), email };
    Ok(guest.with_cookie(page::html(StatusCode::OK, &page)?))
}

async fn confirm(
    PathParams(token): PathParams<String>,
    GuestForm { guest, .. }: GuestForm,
) -> PageResult {
    let change = move |tx: &Tx<'_>| {
        let id = link::find(tx, LinkKind::Verify, &token)?.user_id;
        let before = user::find(tx, id.ok_or_else(Error::not_found)?)?;
        let (_, email) = authentication::confirm_email(tx, &token)?;
        Ok::<_, Error>((before, email))
    };
    let (before, email) = guest.app.db.write(guest.scope("account"), change).await?;
    if text::fold_case(&before.email) == text::fold_case(&email) {
        audit(&guest, before.id, "user.email_verified", json!({})).await?;
        let page = if guest.visit.is_some() { "/account" } else { "/sign-in" };
        return Ok(see_other(&format!("{page}?done=verified")));
    }
    audit(&guest, before.id, "user.email_changed", json!({})).await?;
    let text = message!(
        "The email address you sign in to Touchline with was changed to {email}.\n\nIf you did not do this, contact \
         an admin of your club immediately.\n",
        email
    );
    email_user(&guest.app, &before, message!("Your email address was changed"), text);
    let next = if guest.visit.is_some() { "/account?done=email" } else { "/sign-in?done=email" };
    Ok(see_other(next))
}
