//! Touchline: a service for sports teams.
//!
//! The rooms stand here in reading order; a room uses only rooms above it. `ARCHITECTURE.md` is the
//! map of the house.

pub mod accounts;
pub mod signin;
pub mod teams;
pub mod roster;
pub mod events;
pub mod mail;
pub mod messages;
pub mod money;
pub mod shop;
pub mod dues;
pub mod exports;
pub mod privacy;
pub mod joining;
pub mod oauth;
pub mod webhooks;
pub mod admin;

pub mod app;
pub mod backup;
pub mod bounded;
pub mod cards;
pub mod cli;
pub mod config;
pub mod demo;
pub mod dispatch;
pub mod doctor;
mod doorway;
pub mod error;
pub mod expected;
pub mod ids;
pub mod jobs;
pub mod metadata;
pub mod migrations;
pub mod names;
pub mod paging;
pub mod passwords;
pub mod post;
pub mod reactions;
pub mod redaction;
pub mod secrets;
pub mod signals;
mod thing;
pub mod web;

use axum::Router;
use axum::response::Response;

use crate::app::App;
use crate::error::{Code, Error, Result};
use crate::web::routes::Routes;
use crate::web::{assets, docs, health};

/// The API's routes with their description: every room adds its own.
fn api() -> Routes {
    let routes = accounts::api::routes(Routes::empty());
    let routes = teams::api::routes(routes);
    let routes = roster::api::routes(routes);
    let routes = events::api::routes(routes);
    let routes = mail::api::routes(routes);
    let routes = messages::api::routes(routes);
    let routes = money::api::routes(routes);
    let routes = shop::api::routes(routes);
    let routes = dues::api::routes(routes);
    let routes = cards::api::routes(routes);
    let routes = exports::api::routes(routes);
    let routes = privacy::api::routes(routes);
    let routes = webhooks::notifications::api::routes(routes);
    webhooks::api::routes(routes)
}

/// The OpenAPI document of the API, as it is checked in and served.
pub fn document() -> String {
    docs::json(api().parts().1)
}

/// Everything the service answers to.
pub fn service(app: App) -> Router {
    let (routes, document) = api().parts();
    Router::new()
        .merge(routes)
        .merge(health::router())
        .merge(docs::router(document))
        .merge(assets::router())
        .merge(events::api::calendars::router())
        .merge(teams::pages::router())
        .merge(mail::pages::router())
        .merge(roster::pages::router())
        .merge(cards::incoming::router())
        .merge(cards::pages::router())
        .merge(money::pages::router())
        .merge(dues::pages::router())
        .merge(exports::pages::router())
        .merge(joining::pages::router())
        .merge(shop::pages::router())
        .merge(webhooks::pages::router())
        .merge(admin::pages::router())
        .merge(signin::pages::router())
        .merge(oauth::api::router())
        .merge(oauth::pages::router())
        .fallback(nothing_here)
        .method_not_allowed_fallback(wrong_method)
        .with_state(app)
}

async fn nothing_here() -> Result<Response> {
    Err(Error::new(Code::NotFound, "There is nothing at this address."))
}

async fn wrong_method() -> Result<Response> {
    Err(Error::new(Code::MethodNotAllowed, "This address does not take that method."))
}
