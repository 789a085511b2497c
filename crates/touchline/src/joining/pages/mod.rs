//! The pages on which somebody joins a club, and those on which coaches let them.

mod claims;
mod join;
pub mod link;

use axum::Router;

use crate::app::App;

/// The routes of joining.
pub fn router() -> Router<App> {
    Router::new().merge(join::router()).merge(claims::router())
}
