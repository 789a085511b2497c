//! OAuth apps: what there is, and for whom they act.

use askama::Template;
use axum::Router;
use axum::response::Response;
use axum::routing::{get, post};
use http::StatusCode;
use kit::{Timestamp, Zone};
use store::Reader;

use super::shared::{Admin, show};
use super::{apps_ends, apps_form};
use crate::accounts::account;
use crate::accounts::rights::ScopeName;
use crate::admin::apps::{self, AppUser, ListedApp};
use crate::app::App as Service;
use crate::ids::AppId;
use crate::names::Names;
use crate::oauth::app::{self, App, Kind};
use crate::oauth::grant;
use crate::oauth::secret::{self, Secret};
use crate::paging::Order;
use crate::web::leaf::{Asked, Leaf};
use crate::web::once::new_nonce;
use crate::web::page::{Frame, Section};
use crate::web::path::At;
use crate::web::visitor::{Outcome, encoded};

/// What is said after something was done.
const DONE: [(&str, &str); 5] = [
    ("saved", "The app was saved."),
    ("secret-revoked", "The secret was revoked. Nothing opens with it any more."),
    ("revoked", "Everybody’s access was revoked."),
    ("disabled", "The app is out of service."),
    ("enabled", "The app is in service again. People are asked again before it acts for them."),
];

pub(super) fn router() -> Router<Service> {
    Router::new()
        .route("/admin/apps", get(list))
        .route("/admin/apps/new", get(apps_form::new).post(apps_form::create))
        .route("/admin/apps/{id}", get(one))
        .route("/admin/apps/{id}/edit", get(apps_form::edit).post(apps_form::save))
        .route("/admin/apps/{id}/users", get(users))
        .route("/admin/apps/{id}/secrets", post(apps_ends::add_secret))
        .route(
            "/admin/apps/{id}/secrets/{secret}/revoke",
            get(apps_ends::ask_revoke_secret).post(apps_ends::revoke_secret),
        )
        .route(
            "/admin/apps/{id}/revoke-all",
            get(apps_ends::ask_revoke_all).post(apps_ends::revoke_all),
        )
        .route("/admin/apps/{id}/disable", get(apps_ends::ask_disable).post(apps_ends::disable))
        .route("/admin/apps/{id}/enable", post(apps_ends::enable))
}

/// Where an app runs, in words.
pub(super) fn kind_in_words(kind: Kind) -> (&'static str, &'static str) {
    match kind {
        Kind::Server => (
            "On a server",
            "A program on your own server, such as a website with a back end. It keeps a secret.",
        ),
        Kind::Spa => (
            "In a browser",
            "A single page whose script runs in the visitor’s browser. It can keep no secret.",
        ),
        Kind::Native => {
            ("On a phone or computer", "An app that people install. It can keep no secret.")
        }
    }
}

#[derive(Template)]
#[template(path = "admin/apps.html")]
struct ListPage {
    frame: Frame,
    apps: Vec<ListedApp>,
    next: String,
    now: Timestamp,
}

async fn list(visitor: Admin) -> Outcome<Response> {
    let asked = Asked::of(&visitor, Order::Desc)?;
    let shown = Leaf::read(&visitor, &asked, apps::page).await?;
    let page = ListPage {
        frame: visitor.frame("OAuth apps", Section::OauthApps),
        apps: shown.rows,
        next: shown.next,
        now: visitor.app().clock.now(),
    };
    show(StatusCode::OK, &page)
}

#[derive(Template)]
#[template(path = "admin/apps_one.html")]
struct OnePage {
    frame: Frame,
    app: App,
    kind: (&'static str, &'static str),
    rights: Vec<&'static str>,
    creator: String,
    users: i64,
    secrets: Vec<Secret>,
    most_secrets: usize,
    nonce: String,
    example: String,
    now: Timestamp,
    zone: Zone,
}

async fn one(visitor: Admin, At(id): At<AppId>) -> Outcome<Response> {
    let look = move |db: &Reader<'_>| {
        let app = app::find(db, id)?;
        let names = Names::of(db, [app.created_by.as_str()])?;
        let zone = account::find(db)?.timezone;
        Ok((app, names, grant::users_of(db, id)?, secret::live(db, id)?, zone))
    };
    let (app, names, users, secrets, zone) = visitor.read(look).await?;
    let frame = visitor.frame(app.name.clone(), Section::OauthApps);
    let page = OnePage {
        frame: frame.flash(visitor.guest.done(&DONE)),
        kind: kind_in_words(app.kind),
        rights: app.scopes.names().map(ScopeName::allows).collect(),
        creator: names.or_id(&app.created_by).to_owned(),
        users,
        secrets,
        most_secrets: secret::MOST,
        nonce: new_nonce(visitor.app()),
        example: example(visitor.app(), &app),
        now: visitor.app().clock.now(),
        zone,
        app,
    };
    show(StatusCode::OK, &page)
}

/// The address to which an app sends people, with what it must fill in itself.
fn example(service: &Service, app: &App) -> String {
    let back = app.redirect_uris.0.first().map(String::as_str).unwrap_or_default();
    format!(
        "{}?response_type=code&client_id={}&redirect_uri={}&scope={}&state=RANDOM\
         &code_challenge=S256_OF_YOUR_VERIFIER&code_challenge_method=S256",
        service.url("/oauth/authorize"),
        app.id,
        encoded(back),
        encoded(&app.scopes.to_string())
    )
}

#[derive(Template)]
#[template(path = "admin/apps_users.html")]
struct UsersPage {
    frame: Frame,
    app: App,
    users: Vec<AppUser>,
    next: String,
    now: Timestamp,
}

impl UsersPage {
    fn rights(user: &AppUser) -> String {
        user.scopes.names().map(ScopeName::allows).collect::<Vec<_>>().join(", ")
    }
}

async fn users(visitor: Admin, At(id): At<AppId>) -> Outcome<Response> {
    let asked = Asked::of(&visitor, Order::Desc)?;
    let app = visitor.read(move |db| app::find(db, id)).await?;
    let shown = Leaf::read(&visitor, &asked, move |db, page| apps::users(db, id, page)).await?;
    let page = UsersPage {
        frame: visitor.frame("People with access", Section::OauthApps),
        app,
        users: shown.rows,
        next: shown.next,
        now: visitor.app().clock.now(),
    };
    show(StatusCode::OK, &page)
}
