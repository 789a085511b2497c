//! The apps that somebody has connected, and the way to disconnect them.

use std::collections::BTreeMap;

use askama::Template;
use http::StatusCode;
use kit::Timestamp;
use store::{Scope, Tx};

use crate::accounts::rights::Scopes;
use crate::error::{Error, Result};
use crate::ids::{AccountId, AppId};
use crate::oauth::grant::{self, Held};
use crate::oauth::words::{self, Words};
use crate::signin::session;
use crate::web::caller::OwnAccount;
use crate::web::page::{Flash, Frame, Section, html};
use crate::web::path::At;
use crate::web::visitor::{Outcome, Posted, Visitor, see_other};

type Me = Visitor<OwnAccount>;

/// The list.
const PAGE: &str = "/account/apps";

/// An app with all that it was allowed, on however many devices.
struct Connected {
    id: AppId,
    account: AccountId,
    name: String,
    club: String,
    scopes: Vec<Words>,
    since: Timestamp,
    last_used: Option<Timestamp>,
}

#[derive(Template)]
#[template(path = "account/apps.html")]
struct ListPage {
    frame: Frame,
    apps: Vec<Connected>,
    now: Timestamp,
}

#[derive(Template)]
#[template(path = "oauth/revoke.html")]
struct RevokePage {
    frame: Frame,
    app: Connected,
}

/// `GET /account/apps`.
pub(super) async fn list(me: Me) -> Outcome {
    let apps = connected(&me).await?;
    let done = me.guest.asked.ends_with("?done");
    let flash = done.then(|| Flash::good("The app is disconnected."));
    let frame = me.frame("Connected apps", Section::ConnectedApps).flash(flash);
    Ok(html(StatusCode::OK, &ListPage { frame, apps, now: me.app().clock.now() })?)
}

/// `GET /account/apps/{app}/revoke`: what will happen.
pub(super) async fn confirm(At(id): At<AppId>, me: Me) -> Outcome {
    let app = one(&me, id).await?;
    let frame = me.guest.frame("Disconnect this app?");
    Ok(html(StatusCode::OK, &RevokePage { frame, app })?)
}

/// `POST /account/apps/{app}/revoke`.
pub(super) async fn revoke(At(id): At<AppId>, posted: Posted<OwnAccount>) -> Outcome {
    let me = posted.visitor;
    let app = one(&me, id).await?;
    let user = me.visit.user;
    let scope = Scope::account(app.account, user.to_string()).for_request(me.guest.context.id());
    let session = me.visit.session;
    let revoke = move |tx: &Tx<'_>| {
        session::check_open(tx, session)?;
        grant::revoke_of_user_for_app(tx, user, id, "revoked_by_user")
    };
    me.app().db.write(scope, revoke).await?;
    Ok(see_other(&format!("{PAGE}?done")))
}

async fn one(me: &Me, id: AppId) -> Result<Connected> {
    let apps = connected(me).await?;
    apps.into_iter().find(|app| app.id == id).ok_or_else(Error::not_found)
}

async fn connected(me: &Me) -> Result<Vec<Connected>> {
    let user = me.visit.user;
    let look = me.guest.scope("connected apps");
    let held = me.app().db.read(look, move |db| grant::grants_of_user(db, user)).await?;
    let mut by_app: BTreeMap<AppId, Vec<Held>> = BTreeMap::new();
    for grant in held {
        by_app.entry(grant.app_id).or_default().push(grant);
    }
    Ok(by_app.into_values().rev().filter_map(together).collect())
}

fn together(grants: Vec<Held>) -> Option<Connected> {
    let scopes = Scopes::of(grants.iter().flat_map(|grant| grant.scopes.names()));
    let since = grants.iter().map(|grant| grant.created_at).min()?;
    let last_used = grants.iter().filter_map(|grant| grant.last_used_at).max();
    let first = grants.into_iter().next()?;
    Some(Connected {
        id: first.app_id,
        account: first.account_id,
        name: first.app,
        club: first.club,
        scopes: words::of_all(scopes),
        since,
        last_used,
    })
}
