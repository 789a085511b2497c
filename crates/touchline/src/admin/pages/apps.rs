//! OAuth apps: the list, the page of an app, and its users.

use super::shared::Admin;
use super::{apps_actions, apps_form};
use crate::accounts::account;
use crate::admin::apps::{self, AppUser, ListedApp};
use crate::names::Names;
use crate::oauth::app::{self, App, Kind};
use crate::oauth::grant;
use crate::oauth::secret::{self, Secret};
use crate::prelude::*;
use crate::web::app::App as Service;
use crate::web::list::{Cell, Column, List, ToCell, list_page};
use crate::web::prelude::*;
use crate::web::visitor::url_encode;

/// The messages that a page shows after a redirect, by the value of `?done=`.
const FLASH_MESSAGES: [(&str, &str); 5] = [
    ("saved", mark!("The app was saved.")),
    ("secret-revoked", mark!("The secret was revoked. It no longer works.")),
    ("revoked", mark!("Everybody’s access was revoked.")),
    ("disabled", mark!("The app was disabled.")),
    (
        "enabled",
        mark!("The app was enabled. People must allow it again before it can act for them."),
    ),
];

pub(super) fn router() -> Router<Service> {
    Router::new()
        .route("/admin/apps", get(list))
        .route("/admin/apps/new", get(apps_form::new).post(apps_form::create))
        .route("/admin/apps/{id}", get(show_app))
        .route("/admin/apps/{id}/edit", get(apps_form::edit).post(apps_form::save))
        .route("/admin/apps/{id}/users", get(users))
        .route("/admin/apps/{id}/secrets", post(apps_actions::add_secret))
        .route(
            "/admin/apps/{id}/secrets/{secret}/revoke",
            get(apps_actions::confirm_revoke_secret).post(apps_actions::revoke_secret),
        )
        .route(
            "/admin/apps/{id}/revoke-all",
            get(apps_actions::confirm_revoke_all).post(apps_actions::revoke_all),
        )
        .route(
            "/admin/apps/{id}/disable",
            get(apps_actions::confirm_disable).post(apps_actions::disable),
        )
        .route("/admin/apps/{id}/enable", post(apps_actions::enable))
}

/// Label and description of an app kind.
pub(super) fn describe_kind(kind: Kind) -> (&'static str, &'static str) {
    match kind {
        Kind::Server => (
            t!("On a server"),
            t!(
                "A program on your own server, such as a website with a back end. It can keep a secret."
            ),
        ),
        Kind::Spa => (
            t!("In a browser"),
            t!("A single-page app that runs in the visitor’s browser. It cannot keep a secret."),
        ),
        Kind::Native => (
            t!("On a phone or computer"),
            t!("An app that people install. It cannot keep a secret."),
        ),
    }
}

list_page!(ListPage, "admin/apps.html");

const COLUMNS: &[Column<ListedApp>] = &[
    Column::page("Name", |app| Cell::name(&app.name).link(format!("/admin/apps/{}", app.id))),
    Column::page("Where it runs", |app| Cell::text(describe_kind(app.kind).0)),
    Column::page("Status", |app| match app.disabled_at {
        Some(_) => Cell::Badge(("bad", t!("Disabled"))),
        None => Cell::Badge(("good", t!("Enabled"))),
    }),
    Column::number("People", |app| app.users.cell().link(format!("/admin/apps/{}/users", app.id))),
    Column::page("Registered", |app| Cell::Age(app.created_at)),
];

async fn list(visitor: Admin) -> PageResult {
    let request = ListRequest::from_visitor(&visitor, Order::Desc)?;
    let apps = RowPage::read(&visitor, &request, apps::page).await?;
    let list = apps.list(t!("OAuth apps"), COLUMNS, &visitor.times());
    let frame = visitor.frame(t!("OAuth apps"), Section::OauthApps);
    render(StatusCode::OK, &ListPage { frame, list })
}

#[derive(Template)]
#[template(path = "admin/apps_one.html")]
struct AppPage {
    frame: Frame,
    app: App,
    kind: &'static str,
    rights: Vec<&'static str>,
    creator: String,
    users: i64,
    secrets: Vec<Secret>,
    max_secrets: usize,
    nonce: String,
    example: String,
    now: Timestamp,
    zone: Zone,
}

async fn show_app(visitor: Admin, PathParams(id): PathParams<AppId>) -> PageResult {
    let read = move |db: &Reader<'_>| {
        let app = app::find(db, id)?;
        let names = Names::load(db, [app.created_by.as_str()])?;
        let zone = account::find(db)?.timezone;
        Ok((app, names, grant::count_users(db, id)?, secret::list_active(db, id)?, zone))
    };
    let (app, names, users, secrets, zone) = visitor.read(read).await?;
    let frame = visitor.frame(app.name.clone(), Section::OauthApps);
    let page = AppPage {
        frame: frame.flash(visitor.guest.done_flash(&FLASH_MESSAGES)),
        kind: describe_kind(app.kind).0,
        rights: app.scopes.names().map(|scope| t!(scope.description())).collect(),
        creator: names.get_or_id(&app.created_by).to_owned(),
        users,
        secrets,
        max_secrets: secret::MAX_ACTIVE,
        nonce: new_nonce(visitor.app()),
        example: example_authorization_url(visitor.app(), &app),
        now: visitor.app().clock.now(),
        zone,
        app,
    };
    render(StatusCode::OK, &page)
}

/// An example of the authorization URL, with placeholders for what the app generates itself.
fn example_authorization_url(service: &Service, app: &App) -> String {
    let redirect_uri = app.redirect_uris.0.first().map(String::as_str).unwrap_or_default();
    format!(
        "{}?response_type=code&client_id={}&redirect_uri={}&scope={}&state=RANDOM\
         &code_challenge=S256_OF_YOUR_VERIFIER&code_challenge_method=S256",
        service.url("/oauth/authorize"),
        app.id,
        url_encode(redirect_uri),
        url_encode(&app.scopes.to_string())
    )
}

#[derive(Template)]
#[template(path = "admin/apps_users.html")]
struct UsersPage {
    frame: Frame,
    app: App,
    list: List,
}

const USER_COLUMNS: &[Column<AppUser>] = &[
    Column::page("Name", |user| Cell::name(&user.name)),
    Column::page("Email", |user| Cell::Email(&user.email)),
    Column::page("Permissions", |user| {
        let scopes = user.scopes.names().map(|scope| t!(scope.description()));
        Cell::text(scopes.collect::<Vec<_>>().join(", "))
    }),
    Column::page("Since", |user| Cell::Age(user.created_at)),
    Column::page("Last used", |user| Cell::age_or(user.last_used_at, t!("Never"))),
];

async fn users(visitor: Admin, PathParams(id): PathParams<AppId>) -> PageResult {
    let request = ListRequest::from_visitor(&visitor, Order::Desc)?;
    let app = visitor.read(move |db| app::find(db, id)).await?;
    let users =
        RowPage::read(&visitor, &request, move |db, page| apps::users(db, id, page)).await?;
    let list = users.list(t!("People with access"), USER_COLUMNS, &visitor.times());
    let frame = visitor.frame(t!("People with access"), Section::OauthApps);
    render(StatusCode::OK, &UsersPage { frame, app, list })
}
