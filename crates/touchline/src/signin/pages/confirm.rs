//! `/confirm`: asks again who somebody is, before something that matters.

use askama::Template;
use axum::Router;
use axum::response::Response;
use axum::routing::get;
use http::StatusCode;
use store::{Reader, Tx};

use super::{attempt, failed, forget_place, query};
use crate::accounts::permits::OwnAccount;
use crate::accounts::user::{self, User};
use crate::app::App;
use crate::error::Result;
use crate::passwords::Verdict;
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

async fn take(Posted { visitor, form }: Posted<OwnAccount>) -> Outcome {
    let next = own_path(form.text("next"));
    let (app, guest) = (visitor.app(), &visitor.guest);
    let user = find(&visitor).await?;
    let proof = if user.password_hash.is_some() { Proof::Password } else { Proof::Code };
    let tried = attempt(guest, proof, &user.email).await?;
    let (id, session) = (user.id, visitor.visit.session);
    let right = if let Some(kept) = &user.password_hash {
        let typed = form.get("password").unwrap_or_default();
        app.passwords.verify(typed, Some(kept.clone())).await? != Verdict::Wrong
    } else {
        let (key, code) = (app.secrets.key("totp"), form.text("code").to_owned());
        let check = move |tx: &Tx<'_>| two_step::accept(tx, &key, id, &code);
        app.db.write(guest.scope("confirm"), check).await?
    };
    if !right {
        failed(guest, Some(&user), &tried, "confirm");
        return Ok(show(&visitor, &user, next, "This is not right.")?);
    }
    let renew = move |tx: &Tx<'_>| {
        throttle::forgive(tx, tried)?;
        session::renew(tx, session)
    };
    let token = app.db.write(guest.scope("confirm"), renew).await?;
    forget_place(guest);
    Ok(signed_in(see_other(next), &token))
}
