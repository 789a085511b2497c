//! The pages of the admin area, one or more files per menu entry.

mod adults;
mod apps;
mod apps_actions;
mod apps_form;
mod audit;
mod claims;
mod health;
mod invitations;
mod key_requests;
mod keys;
mod keys_form;
mod members;
mod overview;
mod settings;
mod shared;
mod usage;

use axum::Router;

use crate::web::app::App;

/// The routes of the admin area.
pub fn router() -> Router<App> {
    Router::new()
        .merge(overview::router())
        .merge(members::router())
        .merge(invitations::router())
        .merge(claims::router())
        .merge(adults::router())
        .merge(settings::router())
        .merge(keys::router())
        .merge(key_requests::router())
        .merge(apps::router())
        .merge(usage::router())
        .merge(audit::router())
        .merge(health::router())
}
