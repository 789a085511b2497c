//! `/sign-in`, `/sign-in/code` and `/sign-out`.

use askama::Template;
use axum::Router;
use axum::response::Response;
use axum::routing::{get, post};
use http::StatusCode;
use kit::secret::Token;
use kit::text;
use serde_json::json;
use store::{Reader, Tx};

use super::{attempt, failed, flash, forget_place, note, query, write_to};
use crate::accounts::user::{self, User};
use crate::app::App;
use crate::error::{Code, Error, Result};
use crate::passwords::Verdict;
use crate::signin::entry::{self, PasswordProof};
use crate::signin::session::{self, Method, Session, Visit};
use crate::signin::throttle::{self, Attempt, Proof};
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
    let entered = match found.as_ref().and_then(|user| proof_of(user, verdict)) {
        Some(proof) => enter(&guest, proof, &tried).await?,
        None => None,
    };
    let (Some(user), Some((session, token))) = (&found, entered) else {
        failed(&guest, found.as_ref(), &tried, "password");
        let wrong = "The email address or password is incorrect.";
        let status = StatusCode::UNPROCESSABLE_ENTITY;
        return Ok(sign_in_page(&guest, status, email, next, wrong)?);
    };
    if session.pending {
        return Ok(signed_in(see_other(&code_address(next)), &token));
    }
    arrived(&guest, user, Method::Password).await?;
    Ok(signed_in(see_other(next), &token))
}

/// What a right password proves; `None` if it was wrong.
pub(super) fn proof_of(user: &User, verdict: Verdict) -> Option<PasswordProof> {
    let renewed = match verdict {
        Verdict::Wrong => return None,
        Verdict::Right => None,
        Verdict::Renewed(hash) => Some(hash),
    };
    Some(PasswordProof { user: user.id, verified: user.password_hash.clone()?, renewed })
}

/// Begins the session; `None` if the password was changed since it was compared.
async fn enter(
    guest: &Guest,
    proof: PasswordProof,
    tried: &Attempt,
) -> Result<Option<(Session, Token)>> {
    let (browser, before) = (guest.browser(), guest.visit.as_ref().map(|v| (v.user, v.session)));
    let tried = *tried;
    let come_in = move |tx: &Tx<'_>| {
        let entered = entry::enter_with_password(tx, &proof, browser, before)?;
        // Whoever only has the password so far has not come in: their attempt still counts.
        if entered.as_ref().is_some_and(|(session, _)| !session.pending) {
            throttle::forgive(tx, tried)?;
        }
        Ok::<_, Error>(entered)
    };
    guest.app.db.write(guest.scope("sign-in"), come_in).await
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
    let entered = match second_step(&guest, &visit, &tried, form.text("code")).await {
        // The password was changed meanwhile, for example.
        Err(error) if error.code == Code::InvalidCredentials => {
            return Ok(signed_out(see_other("/sign-in")));
        }
        entered => entered?,
    };
    let Some((method, token)) = entered else {
        failed(&guest, Some(&user), &tried, "code");
        if worn_out(&guest, &visit).await? {
            return Ok(signed_out(see_other("/sign-in?done=codes")));
        }
        let wrong = "This code is incorrect, or was used before. Wait for the next one.";
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

/// Lets somebody in whose code is right.
async fn second_step(
    guest: &Guest,
    visit: &Visit,
    tried: &Attempt,
    code: &str,
) -> Result<Option<(Method, Token)>> {
    let (user, code, tried) = (visit.user, code.to_owned(), *tried);
    let key = guest.app.secrets.key("totp");
    let (browser, pending) = (guest.browser(), (user, visit.session));
    let come_in = move |tx: &Tx<'_>| {
        let entered = entry::enter_with_code(tx, &key, pending, &code, browser)?;
        if entered.is_some() {
            throttle::forgive(tx, tried)?;
        }
        Ok(entered)
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
