//! `/account/password`: a new password for somebody who has one, or none yet.

use askama::Template;
use axum::Router;
use axum::response::Response;
use axum::routing::get;
use http::StatusCode;
use kit::secret::Token;
use serde_json::json;
use store::Tx;

use super::account::me;
use super::reset::tell_of_new_password;
use super::sign_in::proof_of;
use super::{attempt, failed, flash, forget_place, note};
use crate::accounts::permits::OwnAccount;
use crate::accounts::user;
use crate::app::App;
use crate::error::{Code, Result};
use crate::signin::throttle::{self, Proof};
use crate::signin::{entry, session};
use crate::web::form::Faults;
use crate::web::page::{self, Frame, Section};
use crate::web::visitor::{Outcome, Posted, Visitor, see_other, signed_in};

pub(super) fn router() -> Router<App> {
    Router::new().route("/account/password", get(show).post(change))
}

#[derive(Template)]
#[template(path = "account/password.html")]
struct PasswordPage<'a> {
    frame: Frame,
    email: &'a str,
    /// Whether they have one, which is then asked for.
    has_one: bool,
    faults: Faults,
}

async fn show(visitor: Visitor<OwnAccount>) -> Outcome {
    let has_one = me(&visitor).await?.password_hash.is_some();
    Ok(password_page(&visitor, has_one, Faults::default())?)
}

fn password_page(visitor: &Visitor<OwnAccount>, has_one: bool, faults: Faults) -> Result<Response> {
    let status = if faults.is_empty() { StatusCode::OK } else { StatusCode::UNPROCESSABLE_ENTITY };
    let frame = visitor.frame("Password", Section::Password).flash(flash(&visitor.guest));
    page::html(status, &PasswordPage { frame, email: &visitor.visit.email, has_one, faults })
}

/// What became of a new password.
enum Kept {
    /// The current password is no longer the one that was typed.
    Wrong,
    /// The current password is right, but the new one was refused.
    Nothing,
    /// It is set; the browser gets this cookie.
    New(Token),
}

async fn change(Posted { visitor, form }: Posted<OwnAccount>) -> Outcome {
    let (app, guest) = (visitor.app(), &visitor.guest);
    let user = me(&visitor).await?;
    let has_one = user.password_hash.is_some();
    if !has_one {
        visitor.fresh("/account/password")?;
    }
    let tried = attempt(guest, Proof::Password, &user.email).await?;
    let wrong = || {
        failed(guest, Some(&user), &tried, "password change");
        let mut faults = Faults::default();
        faults.add("current", "This is not your current password.");
        password_page(&visitor, has_one, faults)
    };
    let proof = if has_one {
        let typed = form.get("current").unwrap_or_default();
        let verdict = app.passwords.verify(typed, user.password_hash.clone()).await?;
        let Some(proof) = proof_of(&user, verdict) else { return Ok(wrong()?) };
        Some(proof)
    } else {
        None
    };
    let typed = form.get("password").unwrap_or_default();
    let hashed = app.passwords.hash(typed, &[&user.name, &user.email]).await;
    let (id, session) = (user.id, visitor.visit.session);
    let (hash, refused) = match hashed {
        Ok(hash) => (Some(hash), None),
        Err(error) if error.code == Code::ValidationFailed => (None, Some(error)),
        Err(error) => return Err(error.into()),
    };
    let keep = move |tx: &Tx<'_>| {
        let right = match proof {
            Some(proof) => proof.holds(tx)?,
            // Whoever has a password by now is asked for it.
            None => user::find(tx, id)?.password_hash.is_none(),
        };
        if !right {
            return Ok(Kept::Wrong);
        }
        throttle::forgive(tx, tried)?;
        let Some(hash) = hash else { return Ok(Kept::Nothing) };
        entry::new_password(tx, id, &hash, Some(session))?;
        session::renew(tx, session).map(Kept::New)
    };
    let kept = visitor.write_own("account", keep).await?;
    if matches!(kept, Kept::Wrong) {
        return Ok(wrong()?);
    }
    forget_place(guest);
    let (Kept::New(token), None) = (kept, &refused) else {
        let faults = refused.as_ref().map(Faults::from).unwrap_or_default();
        return Ok(password_page(&visitor, has_one, faults)?);
    };
    note(guest, user.id, "user.password_changed", json!({})).await?;
    tell_of_new_password(app, &user);
    Ok(signed_in(see_other("/account/password?done=password"), &token))
}
