//! The settings of the club.

use axum::Router;

use crate::app::App;

pub(super) fn router() -> Router<App> {
    Router::new()
}
