//! What the pages of the admin area have in common: who looks at them, and how they are sent.

use axum::response::Response;
use http::StatusCode;

use crate::accounts::permits::AdminArea;
use crate::accounts::user::Role;
use crate::web::visitor::{Outcome, Visitor};

/// Somebody who looks after the club.
pub(super) type Admin = Visitor<AdminArea>;

/// Whether the visitor owns the club.
pub(super) fn is_owner(visitor: &Admin) -> bool {
    visitor.visit.role == Some(Role::Owner)
}

/// Sends a page.
pub(super) fn show<T: askama::Template>(status: StatusCode, page: &T) -> Outcome<Response> {
    Ok(crate::web::page::html(status, page)?)
}
