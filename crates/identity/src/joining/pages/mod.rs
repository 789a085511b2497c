//! The pages for joining a club and for deciding about requests to join.

mod claims;
mod join;
pub mod link;

use axum::Router;

use crate::web::app::App;

/// Routes of the joining pages.
pub fn router() -> Router<App> {
    Router::new().merge(join::router()).merge(claims::router())
}
