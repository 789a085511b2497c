//! The pages on which somebody joins a club.

use axum::Router;

use crate::app::App;

/// The routes of joining.
pub fn router() -> Router<App> {
    Router::new()
}
