//! `/confirm`: asks again who somebody is, before something that matters.

use askama::Template;
use axum::Router;
use axum::response::Response;
use axum::routing::get;
use http::StatusCode;
use store::{Reader, Tx};

use super::sign_in::proof_of;
use super::{attempt, failed, forget_place, query};
use crate::accounts::permits::OwnAccount;
use crate::accounts::user::{self, User};
use crate::app::App;
use crate::error::Result;
use crate::ids::UserId;
use crate::secrets::SealKey;
use crate::signin::entry::PasswordProof;
use crate::signin::throttle::{self, Proof};
use crate::signin::{session, two_step};
use crate::web::page::{self, Frame};
use crate::web::visitor::{Outcome, Posted, Visitor, own_path, see_other, signed_in};

pub(super) fn router() -> Router<App> {
    Router::new().route("/confirm", get(ask).post(take))
}

#[derive(Template)]
#[template(path = "signin/confirm.html")]
struct ConfirmPage<'a> {
    frame: Frame,
    email: &'a str,
    next: &'a str,
    /// Whether they have a password; else they are asked for a code.
    password: bool,
    wrong: &'static str,
}

async fn ask(visitor: Visitor<OwnAccount>) -> Outcome {
    let user = find(&visitor).await?;
    let query = query(&visitor.guest);
    Ok(show(&visitor, &user, own_path(query.text("next")), "")?)
}

async fn find(visitor: &Visitor<OwnAccount>) -> Result<User> {
    let id = visitor.visit.user;
    let look = move |db: &Reader<'_>| user::find(db, id);
    visitor.app().db.read(visitor.guest.scope("confirm"), look).await
}

fn show(
    visitor: &Visitor<OwnAccount>,
    user: &User,
    next: &str,
    wrong: &'static str,
) -> Result<Response> {
    let status = if wrong.is_empty() { StatusCode::OK } else { StatusCode::UNPROCESSABLE_ENTITY };
    let frame = visitor.guest.frame("Is it you?");
    let password = user.password_hash.is_some();
    page::html(status, &ConfirmPage { frame, email: &user.email, next, password, wrong })
}

/// What somebody proves with: a password that was found right, or a code that is still to be checked.
enum Proved {
    Password(PasswordProof),
    Code(SealKey, String),
}

impl Proved {
    fn holds(self, tx: &Tx<'_>, user: UserId) -> Result<bool> {
        match self {
            Self::Password(proof) => proof.holds(tx),
            // Whoever has a password by now is asked for that.
            Self::Code(..) if user::find(tx, user)?.password_hash.is_some() => Ok(false),
            Self::Code(key, code) => two_step::accept(tx, &key, user, &code),
        }
    }
}

async fn take(Posted { visitor, form }: Posted<OwnAccount>) -> Outcome {
    let next = own_path(form.text("next"));
    let (app, guest) = (visitor.app(), &visitor.guest);
    let user = find(&visitor).await?;
    let proof = if user.password_hash.is_some() { Proof::Password } else { Proof::Code };
    let tried = attempt(guest, proof, &user.email).await?;
    let (id, session) = (user.id, visitor.visit.session);
    let proof = if user.password_hash.is_some() {
        let typed = form.get("password").unwrap_or_default();
        let verdict = app.passwords.verify(typed, user.password_hash.clone()).await?;
        proof_of(&user, verdict).map(Proved::Password)
    } else {
        Some(Proved::Code(app.secrets.key("totp"), form.text("code").to_owned()))
    };
    let renew = move |tx: &Tx<'_>| {
        if !proof.map_or(Ok(false), |proof| proof.holds(tx, id))? {
            return Ok(None);
        }
        throttle::forgive(tx, tried)?;
        session::renew(tx, session).map(Some)
    };
    let Some(token) = visitor.write_own("confirm", renew).await? else {
        failed(guest, Some(&user), &tried, "confirm");
        return Ok(show(&visitor, &user, next, "The password or code is incorrect.")?);
    };
    forget_place(guest);
    Ok(signed_in(see_other(next), &token))
}
