//! The pages of the admin area, one file for each entry of its menu.

mod claims;
mod invitations;
mod members;
mod overview;
mod settings;

use axum::Router;

use crate::app::App;

/// The routes of the admin area.
pub fn router() -> Router<App> {
    Router::new()
        .merge(overview::router())
        .merge(members::router())
        .merge(invitations::router())
        .merge(claims::router())
        .merge(settings::router())
}
