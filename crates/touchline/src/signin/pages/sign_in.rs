//! `/sign-in`, `/sign-in/code` and `/sign-out`.

use askama::Template;
use axum::Router;
use axum::response::Response;
use axum::routing::{get, post};
use http::StatusCode;
use kit::text;
use serde_json::json;
use store::{Reader, Tx};

use super::{attempt, failed, flash, forget_place, note, query, write_to};
use crate::accounts::own;
use crate::accounts::user::{self, User};
use crate::app::App;
use crate::error::{Error, Result};
use crate::passwords::Verdict;
use crate::signin::entry::{self, Entry};
use crate::signin::session::{self, Method, Visit};
use crate::signin::throttle::{self, Attempt, Proof};
use crate::signin::two_step;
use crate::web::page::{self, Frame};
use crate::web::visitor::{
    Guest, GuestPosted, Outcome, encoded, own_path, see_other, signed_in, signed_out,
};

pub(super) fn router() -> Router<App> {
    Router::new()
        .route("/sign-in", get(ask).post(take))
        .route("/sign-in/code", get(ask_code).post(take_code))
        .route("/sign-out", post(leave))
}

#[derive(Template)]
#[template(path = "signin/sign_in.html")]
struct SignInPage<'a> {
    frame: Frame,
    email: &'a str,
    next: &'a str,
    wrong: &'static str,
}

#[derive(Template)]
#[template(path = "signin/code.html")]
struct CodePage<'a> {
    frame: Frame,
    next: &'a str,
    wrong: &'static str,
}

async fn ask(guest: Guest) -> Outcome {
    let query = query(&guest);
    let next = own_path(query.text("next"));
    match &guest.visit {
        Some(visit) if visit.pending => Ok(see_other(&code_address(next))),
        Some(_) => Ok(see_other(next)),
        None => Ok(sign_in_page(&guest, StatusCode::OK, "", next, "")?),
    }
}

fn sign_in_page(
    guest: &Guest,
    status: StatusCode,
    email: &str,
    next: &str,
    wrong: &'static str,
) -> Result<Response> {
    let frame = guest.frame("Sign in").flash(flash(guest));
    let page = SignInPage { frame, email, next, wrong };
    Ok(guest.with_cookie(page::html(status, &page)?))
}

fn code_address(next: &str) -> String {
    format!("/sign-in/code?next={}", encoded(next))
}

async fn take(GuestPosted { guest, form }: GuestPosted) -> Outcome {
    let (email, next) = (form.text("email"), own_path(form.text("next")));
    let password = form.get("password").unwrap_or_default();
    let tried = attempt(&guest, Proof::Password, email).await?;
    let address = text::normalised(email).into_owned();
    let look = move |db: &Reader<'_>| user::find_by_email(db, &address);
    let found = guest.app.db.read(guest.scope("sign-in"), look).await?;
    let kept = found.as_ref().and_then(|user| user.password_hash.clone());
    let verdict = guest.app.passwords.verify(password, kept).await?;
    let user = match found {
        Some(user) if verdict != Verdict::Wrong && user.disabled_at.is_none() => user,
        found => {
            failed(&guest, found.as_ref(), &tried, "password");
            let wrong = "Email or password is not right.";
            let status = StatusCode::UNPROCESSABLE_ENTITY;
            return Ok(sign_in_page(&guest, status, email, next, wrong)?);
        }
    };
    if let (Verdict::Renewed(hash), Some(before)) = (verdict, user.password_hash.clone()) {
        let renew = move |tx: &Tx<'_>| own::renew_hash(tx, user.id, &before, &hash);
        guest.app.db.write(guest.scope("sign-in"), renew).await?;
    }
    let entry = Entry {
        user: user.id,
        method: Method::Password,
        browser: guest.browser(),
        before: guest.visit.as_ref().map(|visit| (visit.user, visit.session)),
    };
    let come_in = move |tx: &Tx<'_>| {
        let (session, token) = entry::enter(tx, entry)?;
        // Whoever only has the password so far has not come in: their attempt still counts.
        if !session.pending {
            throttle::forgive(tx, tried)?;
        }
        Ok::<_, Error>((session, token))
    };
    let (session, token) = guest.app.db.write(guest.scope("sign-in"), come_in).await?;
    if session.pending {
        return Ok(signed_in(see_other(&code_address(next)), &token));
    }
    arrived(&guest, &user, Method::Password).await?;
    Ok(signed_in(see_other(next), &token))
}

/// Notes that somebody has come in.
async fn arrived(guest: &Guest, user: &User, method: Method) -> Result<()> {
    forget_place(guest);
    note(guest, user.id, "user.signed_in", json!({ "method": method })).await
}

async fn ask_code(guest: Guest) -> Outcome {
    let query = query(&guest);
    let next = own_path(query.text("next"));
    match &guest.visit {
        Some(visit) if visit.pending => Ok(code_page(&guest, StatusCode::OK, next, "")?),
        Some(_) => Ok(see_other(next)),
        None => Ok(see_other("/sign-in")),
    }
}

fn code_page(
    guest: &Guest,
    status: StatusCode,
    next: &str,
    wrong: &'static str,
) -> Result<Response> {
    let page = CodePage { frame: guest.frame("One more step"), next, wrong };
    page::html(status, &page)
}

async fn take_code(GuestPosted { guest, form }: GuestPosted) -> Outcome {
    let next = own_path(form.text("next"));
    let Some(visit) = guest.visit.clone().filter(|visit| visit.pending) else {
        return Ok(see_other("/sign-in"));
    };
    let id = visit.user;
    let tried = attempt(&guest, Proof::Code, &visit.email).await?;
    let look = move |db: &Reader<'_>| user::find(db, id);
    let user = guest.app.db.read(guest.scope("sign-in"), look).await?;
    let Some((method, token)) = second_step(&guest, &visit, &tried, form.text("code")).await?
    else {
        failed(&guest, Some(&user), &tried, "code");
        if worn_out(&guest, &visit).await? {
            return Ok(signed_out(see_other("/sign-in?done=codes")));
        }
        let wrong = "This code is not right, or was used before. Wait for the next one.";
        return Ok(code_page(&guest, StatusCode::UNPROCESSABLE_ENTITY, next, wrong)?);
    };
    arrived(&guest, &user, method).await?;
    if method == Method::RecoveryCode {
        let text = "One of your recovery codes was just used to sign in.\n\nIf that was not you, choose a new \
            password and sign out all other browsers on the page of your account.\n";
        write_to(&guest.app, &user, "A recovery code was used", text.to_owned());
    }
    Ok(signed_in(see_other(next), &token))
}

/// Counts a code that was wrong. After too many the session ends, and with it what the password was worth.
async fn worn_out(guest: &Guest, visit: &Visit) -> Result<bool> {
    let (user, id) = (visit.user, visit.session);
    let key = guest.app.secrets.key("sign-in attempts");
    let count = move |tx: &Tx<'_>| {
        let over = throttle::too_many_codes(tx, &key, id)?;
        if over {
            session::end(tx, user, id)?;
        }
        Ok::<_, Error>(over)
    };
    guest.app.db.write(guest.scope("attempts"), count).await
}

/// Lets somebody in whose code is right. The code is used up in the same step.
async fn second_step(
    guest: &Guest,
    visit: &Visit,
    tried: &Attempt,
    code: &str,
) -> Result<Option<(Method, kit::secret::Token)>> {
    let (user, code, tried) = (visit.user, code.to_owned(), *tried);
    let key = guest.app.secrets.key("totp");
    let (browser, before) = (guest.browser(), Some((visit.user, visit.session)));
    let come_in = move |tx: &Tx<'_>| {
        let method = if two_step::accept(tx, &key, user, &code)? {
            Method::Totp
        } else if two_step::accept_paper(tx, user, &code)? {
            Method::RecoveryCode
        } else {
            return Ok(None);
        };
        throttle::forgive(tx, tried)?;
        let (_, token) = entry::enter(tx, Entry { user, method, browser, before })?;
        Ok(Some((method, token)))
    };
    guest.app.db.write(guest.scope("sign-in"), come_in).await
}

async fn leave(GuestPosted { guest, .. }: GuestPosted) -> Outcome {
    if let Some(visit) = &guest.visit {
        let (user, id) = (visit.user, visit.session);
        let end = move |tx: &Tx<'_>| session::end(tx, user, id);
        guest.app.db.write(guest.scope("sessions"), end).await?;
        note(&guest, user, "user.signed_out", json!({})).await?;
    }
    Ok(signed_out(see_other("/sign-in?done=signed-out")))
}
