//! Helpers that the admin pages share.

use axum::response::Response;
use http::StatusCode;

use crate::accounts::permissions::AdminArea;
use crate::accounts::user::Role;
use crate::web::visitor::{PageResult, Visitor};

/// A signed-in admin or owner of the club.
pub(super) type Admin = Visitor<AdminArea>;

/// Whether the visitor is an owner of the club.
pub(super) fn is_owner(visitor: &Admin) -> bool {
    visitor.visit.role == Some(Role::Owner)
}

/// Renders a page as the response.
pub(super) fn show<T: askama::Template>(status: StatusCode, page: &T) -> PageResult<Response> {
    Ok(crate::web::page::html(status, page)?)
}
