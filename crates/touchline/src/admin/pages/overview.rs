//! The overview: four numbers, what waits for somebody, and what happened last.

use axum::Router;

use crate::app::App;

pub(super) fn router() -> Router<App> {
    Router::new()
}
