//! `/account/apps`: the user's connected apps, and disconnecting them.

use std::collections::BTreeMap;

use crate::accounts::scope_text::{self, ScopeText};
use crate::accounts::session;
use crate::oauth::grant::{self, GrantSummary};
use crate::prelude::*;
use crate::signin::pages::{AccountForm, AccountVisitor};
use crate::web::confirm::ConfirmPage;
use crate::web::prelude::*;
use crate::web::sentence::Sentence;

const PAGE: &str = "/account/apps";

#[derive(Template)]
#[template(path = "account/apps.html")]
struct ListPage {
    frame: Frame,
    apps: Vec<GrantSummary>,
    now: Timestamp,
}

impl GrantSummary {
    fn scope_texts(&self) -> Vec<ScopeText> {
        scope_text::describe_all(self.scopes)
    }
}

/// `GET /account/apps`.
pub(super) async fn list(me: AccountVisitor) -> PageResult {
    let apps = list_connected(&me).await?;
    let done = me.guest.path_and_query.ends_with("?done");
    let flash = done.then(|| Flash::success(t!("The app was disconnected.")));
    let frame = me.frame(t!("Connected apps"), Section::ConnectedApps).flash(flash);
    render(StatusCode::OK, &ListPage { frame, apps, now: me.app().clock.now() })
}

/// `GET /account/apps/{app}/revoke`: the confirmation page.
pub(super) async fn confirm(PathParams(id): PathParams<AppId>, me: AccountVisitor) -> PageResult {
    let app = find_connected(&me, id).await?;
    let frame = me.guest.frame(t!("Disconnect this app?"));
    let lead = Sentence::new("{app} will no longer be able to use {club} on your behalf.");
    ConfirmPage::new(frame, "Disconnect", PAGE)
        .lead(lead.name("app", &app.app).name("club", &app.club))
        .effect("The app is signed out immediately on every device.")
        .effect("Data that it has already read or changed is not affected.")
        .effect("You can connect it again from the app at any time.")
        .back_label("Keep app")
        .respond()
}

/// `POST /account/apps/{app}/revoke`.
pub(super) async fn revoke(
    PathParams(id): PathParams<AppId>,
    AccountForm { visitor: me, .. }: AccountForm,
) -> PageResult {
    let app = find_connected(&me, id).await?;
    let (user, session) = (me.visit.user, me.visit.session);
    let scope = me.guest.scope_in(app.account_id, user);
    let revoke = move |tx: &Tx<'_>| {
        session::check_active(tx, session)?;
        grant::revoke_of_user_for_app(tx, user, id, "revoked_by_user")
    };
    me.app().db.write(scope, revoke).await?;
    Ok(see_other(&format!("{PAGE}?done")))
}

async fn find_connected(me: &AccountVisitor, id: AppId) -> Result<GrantSummary> {
    let apps = list_connected(me).await?;
    apps.into_iter().find(|app| app.app_id == id).ok_or_else(Error::not_found)
}

/// The apps with the combined scopes of all their grants; each device has its own.
async fn list_connected(me: &AccountVisitor) -> Result<Vec<GrantSummary>> {
    let user = me.visit.user;
    let read = move |db: &Reader<'_>| grant::grants_of_user(db, user);
    let grants = me.guest.read("connected apps", read).await?;
    let mut apps: BTreeMap<AppId, GrantSummary> = BTreeMap::new();
    for grant in grants {
        let Some(app) = apps.get_mut(&grant.app_id) else {
            apps.insert(grant.app_id, grant);
            continue;
        };
        app.scopes = Scopes::of(app.scopes.names().chain(grant.scopes.names()));
        app.created_at = app.created_at.min(grant.created_at);
        app.last_used_at = app.last_used_at.max(grant.last_used_at);
    }
    Ok(apps.into_values().rev().collect())
}
