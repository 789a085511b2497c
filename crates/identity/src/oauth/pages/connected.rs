//! `/account/apps`: the user's connected apps, and disconnecting them.

use std::collections::BTreeMap;

use crate::accounts::permissions::OwnAccount;
use crate::accounts::scope_text::{self, ScopeText};
use crate::accounts::session;
use crate::oauth::grant::{self, GrantSummary};
use crate::prelude::*;
use crate::web::confirm::ConfirmPage;
use crate::web::page::html;
use crate::web::prelude::*;
use crate::web::sentence::Sentence;

type Me = Visitor<OwnAccount>;

const PAGE: &str = "/account/apps";

/// An app with the combined scopes of all its grants; each device has its own.
struct ConnectedApp {
    id: AppId,
    account: AccountId,
    name: String,
    club: String,
    scopes: Vec<ScopeText>,
    since: Timestamp,
    last_used: Option<Timestamp>,
}

#[derive(Template)]
#[template(path = "account/apps.html")]
struct ListPage {
    frame: Frame,
    apps: Vec<ConnectedApp>,
    now: Timestamp,
}

/// `GET /account/apps`.
pub(super) async fn list(me: Me) -> PageResult {
    let apps = list_connected(&me).await?;
    let done = me.guest.path_and_query.ends_with("?done");
    let flash = done.then(|| Flash::success(t!("The app was disconnected.")));
    let frame = me.frame(t!("Connected apps"), Section::ConnectedApps).flash(flash);
    Ok(html(StatusCode::OK, &ListPage { frame, apps, now: me.app().clock.now() })?)
}

/// `GET /account/apps/{app}/revoke`: the confirmation page.
pub(super) async fn confirm(PathParams(id): PathParams<AppId>, me: Me) -> PageResult {
    let app = find_connected(&me, id).await?;
    let frame = me.guest.frame(t!("Disconnect this app?"));
    let lead = Sentence::new("{app} will no longer be able to use {club} on your behalf.");
    ConfirmPage::new(frame, "Disconnect", PAGE)
        .lead(lead.name("app", &app.name).name("club", &app.club))
        .effect("The app is signed out immediately on every device.")
        .effect("Data that it has already read or changed is not affected.")
        .effect("You can connect it again from the app at any time.")
        .back_label("Keep app")
        .respond()
}

/// `POST /account/apps/{app}/revoke`.
pub(super) async fn revoke(
    PathParams(id): PathParams<AppId>,
    posted: VisitorForm<OwnAccount>,
) -> PageResult {
    let me = posted.visitor;
    let app = find_connected(&me, id).await?;
    let user = me.visit.user;
    let scope = Scope::account(app.account, user.to_string()).for_request(me.guest.context.id());
    let session = me.visit.session;
    let revoke = move |tx: &Tx<'_>| {
        session::check_active(tx, session)?;
        grant::revoke_of_user_for_app(tx, user, id, "revoked_by_user")
    };
    me.app().db.write(scope, revoke).await?;
    Ok(see_other(&format!("{PAGE}?done")))
}

async fn find_connected(me: &Me, id: AppId) -> Result<ConnectedApp> {
    let apps = list_connected(me).await?;
    apps.into_iter().find(|app| app.id == id).ok_or_else(Error::not_found)
}

async fn list_connected(me: &Me) -> Result<Vec<ConnectedApp>> {
    let user = me.visit.user;
    let scope = me.guest.scope("connected apps");
    let grants = me.app().db.read(scope, move |db| grant::grants_of_user(db, user)).await?;
    let mut by_app: BTreeMap<AppId, Vec<GrantSummary>> = BTreeMap::new();
    for grant in grants {
        by_app.entry(grant.app_id).or_default().push(grant);
    }
    Ok(by_app.into_values().rev().filter_map(merge_grants).collect())
}

fn merge_grants(grants: Vec<GrantSummary>) -> Option<ConnectedApp> {
    let scopes = Scopes::of(grants.iter().flat_map(|grant| grant.scopes.names()));
    let since = grants.iter().map(|grant| grant.created_at).min()?;
    let last_used = grants.iter().filter_map(|grant| grant.last_used_at).max();
    let first = grants.into_iter().next()?;
    Some(ConnectedApp {
        id: first.app_id,
        account: first.account_id,
        name: first.app,
        club: first.club,
        scopes: scope_text::describe_all(scopes),
        since,
        last_used,
    })
}
