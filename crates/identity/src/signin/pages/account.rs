//! `/account`: the user's name and language, and the email address they sign in with.

use std::time::Duration;

use kit::secret::sha256;
use kit::text;

use super::{AccountForm, AccountVisitor, audit, email_user, fields, flash};
use crate::accounts::profile;
use crate::accounts::user::{self, User};
use crate::i18n::Locale;
use crate::prelude::*;
use crate::signin::authentication;
use crate::signin::link::{self, LinkKind};
use crate::smtp::direct::DirectEmail;
use crate::web::form::{Choice, Field, FilledForm};
use crate::web::page;
use crate::web::prelude::*;
use crate::web::throttle::RateLimit;
use crate::web::visitor::{Guest, GuestForm};

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
    form: FilledForm,
    email: &'a str,
    /// Whether they can confirm their address and have not.
    unconfirmed: bool,
}

#[derive(Template)]
#[template(path = "account/email.html")]
struct EmailPage<'a> {
    frame: Frame,
    form: FilledForm,
    before: &'a str,
    /// Whether a mail server is configured, so that the new address has to be confirmed.
    mail: bool,
}

const PROFILE_FIELDS: &[Field] = &[
    fields::NAME,
    Field::select("language", "Language", &[Choice::new("", "Same as the browser")])
        .hint("The language of pages, and of emails to you."),
];
const EMAIL_FIELDS: &[Field] = &[fields::EMAIL.label("New email address").autocomplete("email")];

#[derive(Template)]
#[template(path = "account/email_confirm.html")]
struct ConfirmEmailPage {
    frame: Frame,
    email: String,
}

/// The signed-in user.
pub(super) async fn current_user(visitor: &AccountVisitor) -> Result<User> {
    let id = visitor.visit.user;
    visitor.guest.read("account", move |db| user::find(db, id)).await
}

/// Whether the user must confirm their email address before adding other sign-in methods. Otherwise somebody who
/// signed up with another person's address could use these methods to keep that person out. Never required without
/// a mail server.
pub(super) async fn needs_email_confirmation(visitor: &AccountVisitor) -> Result<bool> {
    let mail = visitor.app().direct_mailer.has_server();
    Ok(mail && current_user(visitor).await?.email_verified_at.is_none())
}

async fn show(visitor: AccountVisitor) -> PageResult {
    let language = visitor.visit.language.as_deref().unwrap_or_default();
    let form = FilledForm::empty(PROFILE_FIELDS).options("language", Locale::choices());
    let form = form.with("name", &*visitor.visit.name).with("language", language);
    profile_page(&visitor, form).await
}

async fn profile_page(visitor: &AccountVisitor, form: FilledForm) -> PageResult {
    let frame = visitor.frame(t!("Profile"), Section::Profile).flash(flash(&visitor.guest));
    let unconfirmed = needs_email_confirmation(visitor).await?;
    let page = ProfilePage { frame, form, email: &visitor.visit.email, unconfirmed };
    render(page.form.status(), &page)
}

async fn update(AccountForm { visitor, form }: AccountForm) -> PageResult {
    let (id, name) = (visitor.visit.user, form.text("name").to_owned());
    let language = Locale::find(form.text("language")).map(Locale::tag);
    let change = move |tx: &Tx<'_>| profile::update(tx, id, &name, language);
    let mut form =
        FilledForm::submitted(PROFILE_FIELDS, &form).options("language", Locale::choices());
    if form.accept(visitor.write_user("account", change).await)?.is_none() {
        return profile_page(&visitor, form).await;
    }
    audit(&visitor.guest, id, "user.renamed", json!({})).await?;
    Ok(see_other("/account?done=saved"))
}

async fn show_email_form(visitor: AccountVisitor) -> PageResult {
    visitor.require_recent_authentication("/account/email")?;
    email_page(&visitor, FilledForm::empty(EMAIL_FIELDS))
}

fn email_page(visitor: &AccountVisitor, form: FilledForm) -> PageResult {
    let frame = visitor.frame(t!("Change your email address"), Section::Profile);
    let mail = visitor.app().direct_mailer.has_server();
    let page = EmailPage { frame, form, before: &visitor.visit.email, mail };
    render(page.form.status(), &page)
}

/// With a mail server, the new address takes effect when the user opens the link sent to it; otherwise immediately.
async fn change_email(AccountForm { visitor, form }: AccountForm) -> PageResult {
    visitor.require_recent_authentication("/account/email")?;
    let (id, mail) = (visitor.visit.user, visitor.app().direct_mailer.has_server());
    let changed = match profile::validate_email(form.text("email")) {
        Ok(email) if mail => send_link(&visitor, email).await,
        Ok(email) => {
            let change = move |tx: &Tx<'_>| {
                profile::set_email(tx, id, &email, false)?;
                // Reset links were sent to the old address.
                authentication::revoke_reset_links(tx, id)
            };
            visitor.write_user("account", change).await
        }
        Err(error) => Err(error),
    };
    let mut form = FilledForm::submitted(EMAIL_FIELDS, &form);
    if form.accept(changed)?.is_none() {
        return email_page(&visitor, form);
    }
    if mail {
        return Ok(see_other("/account?done=email-sent"));
    }
    audit(&visitor.guest, id, "user.email_changed", json!({})).await?;
    Ok(see_other("/account?done=email"))
}

/// Sends a confirmation email to the new address. Only this email reveals whether another user has the address.
async fn send_link(visitor: &AccountVisitor, email: String) -> Result<()> {
    let (app, id, to) = (visitor.app(), visitor.visit.user, email.clone());
    app.throttle.check(CONFIRMATION_EMAILS, sha256(id.to_string().as_bytes()))?;
    let make = move |tx: &Tx<'_>| {
        link::revoke_of_user(tx, LinkKind::Verify, id)?;
        let in_use = user::find_by_email(tx, &email)?.is_some_and(|user| user.id != id);
        Ok((in_use, link::create(tx, LinkKind::Verify, Some(id), Some(email))?))
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
    app.send_email(&DirectEmail {
        // The address is not confirmed yet and may belong to somebody else.
        to_name: String::new(),
        to_address: to,
        subject: t!("Confirm your email address").to_owned(),
        text,
    });
    Ok(())
}

async fn show_confirmation(guest: Guest, PathParams(token): PathParams<String>) -> PageResult {
    let find = move |db: &Reader<'_>| link::find(db, LinkKind::Verify, &token);
    let email = guest.read("account", find).await?.email.ok_or_else(Error::not_found)?;
    let page = ConfirmEmailPage { frame: guest.frame(t!("Confirm your email address")), email };
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
        Ok((before, email))
    };
    let (before, email) = guest.write("account", change).await?;
    let next = if guest.visit.is_some() { "/account" } else { "/sign-in" };
    if text::fold_case(&before.email) == text::fold_case(&email) {
        audit(&guest, before.id, "user.email_verified", json!({})).await?;
        return Ok(see_other(&format!("{next}?done=verified")));
    }
    audit(&guest, before.id, "user.email_changed", json!({})).await?;
    let text = message!(
        "The email address you sign in to Touchline with was changed to {email}.\n\nIf you did not do this, contact \
         an admin of your club immediately.\n",
        email
    );
    email_user(&guest.app, &before, message!("Your email address was changed"), text);
    Ok(see_other(&format!("{next}?done=email")))
}
