//! The pages on which admins look after webhooks.

mod care;
mod delivery;
mod detail;
mod form;
mod list;
mod replay;
mod shown;

use axum::Router;
use axum::response::Response;
use axum::routing::{get, post};
use http::StatusCode;
use store::Reader;

use super::edit::Means;
use super::webhook::Webhook;
use crate::accounts::permits::WebhooksManage;
use crate::accounts::rights::Reach;
use crate::app::App;
use crate::error::Result;
use crate::names::Names;
use crate::web::page;
use crate::web::visitor::{Outcome, Posted, Visitor};

/// Where webhooks are listed.
const LIST: &str = "/admin/webhooks";

/// Somebody who may have webhooks.
type Keeper = Visitor<WebhooksManage>;
/// And a form of theirs.
type Sent = Posted<WebhooksManage>;

/// The routes of webhooks.
pub fn router() -> Router<App> {
    Router::new()
        .route(LIST, get(list::list))
        .route("/admin/webhooks/new", get(form::new).post(form::create))
        .route("/admin/webhooks/{id}", get(detail::one))
        .route("/admin/webhooks/{id}/edit", get(form::edit).post(form::save))
        .route("/admin/webhooks/{id}/test", post(care::test))
        .route("/admin/webhooks/{id}/rotate", get(care::ask_rotate).post(care::rotate))
        .route("/admin/webhooks/{id}/off", get(care::ask_off).post(care::off))
        .route("/admin/webhooks/{id}/on", post(care::on))
        .route("/admin/webhooks/{id}/replay", get(replay::ask).post(replay::replay))
        .route("/admin/webhooks/{id}/delete", get(care::ask_delete).post(care::delete))
        .route("/admin/webhooks/{id}/deliveries/{delivery}", get(delivery::one))
        .route("/admin/webhooks/{id}/deliveries/{delivery}/again", post(delivery::again))
}

/// Sends a page.
fn show<T: askama::Template>(status: StatusCode, page: &T) -> Outcome<Response> {
    Ok(page::html(status, page)?)
}

/// What a visitor needs to make or change webhooks.
fn means(visitor: &Keeper) -> Means {
    Means::of(visitor.app(), None, Reach::Everywhere)
}

/// The page of a webhook.
fn place(webhook: &Webhook) -> String {
    format!("{LIST}/{}", webhook.id)
}

/// The names of whoever made a webhook and of the teams it is for.
fn named(db: &Reader<'_>, webhook: &Webhook) -> Result<Names> {
    let teams = webhook.team_ids.iter().flat_map(|teams| &teams.0).map(ToString::to_string);
    let app = webhook.creator_app.iter().cloned();
    let ids: Vec<_> = teams.chain(app).chain([webhook.creator.clone()]).collect();
    Names::of(db, ids.iter().map(String::as_str))
}
