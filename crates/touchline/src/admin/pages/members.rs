//! Members and roles: who may sign in to the club, and as what.

use axum::Router;

use crate::app::App;

pub(super) fn router() -> Router<App> {
    Router::new()
}
