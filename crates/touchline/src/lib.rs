//! Touchline: a service for sports teams.
//!
//! Each module uses only the modules listed above it: first the vocabulary, then the HTTP layer, then the domain, then
//! what runs the service. `ARCHITECTURE.md` describes how the parts fit together.

/// Makes `t!`, `message!` and the other macros for texts available everywhere, also in templates.
#[macro_use]
pub extern crate i18n;

pub use touchline_commerce::*;
pub use touchline_identity::*;
pub use touchline_integrations::*;

pub mod privacy;
pub mod backup;
pub mod doctor;
pub mod admin;
pub mod demo;
pub mod jobs;
pub mod reactions;
pub mod cli;

use axum::Router;
use axum::response::Response;

use crate::error::{Code, Error, Result};
use crate::web::app::App;
use crate::web::routes::Routes;
use crate::web::{assets, docs, health};

/// The API's routes with their OpenAPI descriptions. Every module adds its own.
fn api() -> Routes {
    let routes = me::routes(Routes::new());
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

/// The OpenAPI document, as it is checked in and served.
pub fn openapi_json() -> String {
    docs::json(api().into_parts().1)
}

/// The router of the whole service: API, pages, documentation and health checks.
pub fn service(app: App) -> Router {
    let (routes, document) = api().into_parts();
    Router::new()
        .merge(routes)
        .merge(health::router())
        .merge(docs::router(document))
        .merge(assets::router())
        .merge(events::api::calendars::router())
        .merge(teams::pages::router())
        .merge(mail::pages::router())
        .merge(roster::pages::router())
        .merge(cards::stripe_webhook::router())
        .merge(cards::pages::router())
        .merge(money::pages::router())
        .merge(dues::pages::router())
        .merge(exports::pages::router())
        .merge(joining::pages::router())
        .merge(shop::pages::router())
        .merge(webhooks::pages::router())
        .merge(admin::pages::router())
        .merge(demo::pages::router())
        .merge(signin::pages::router())
        .merge(oauth::api::router())
        .merge(oauth::pages::router())
        .fallback(not_found)
        .method_not_allowed_fallback(method_not_allowed)
        .with_state(app)
}

async fn not_found() -> Result<Response> {
    Err(Error::new(Code::NotFound, "There is no resource at this URL. Check the path."))
}

async fn method_not_allowed() -> Result<Response> {
    Err(Error::new(
        Code::MethodNotAllowed,
        "This URL does not support that HTTP method. See the `Allow` header.",
    ))
}
