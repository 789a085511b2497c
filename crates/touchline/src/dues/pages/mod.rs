//! The pages of dues: those of the treasurer in the admin area, those of coaches, and those of families.

mod charge;
mod charge_form;
mod detail;
mod edit;
mod family;
mod list;
mod pay;
mod receipt;
mod refund;
mod remind;
mod shown;
mod team;
mod typed;
mod waive;

use axum::Router;
use axum::response::Response;
use axum::routing::{get, post};
use http::StatusCode;

use crate::accounts::permits::AdminArea;
use crate::app::App;
use crate::error::{Code, Error};
use crate::ids::DueId;
use crate::web::form::Faults;
use crate::web::page;
use crate::web::visitor::{Outcome, Posted, Visitor};

/// Where dues are listed.
const LIST: &str = "/admin/dues";
/// What families owe.
const OWN: &str = "/dues";

/// Somebody who looks after the club's money.
type Treasurer = Visitor<AdminArea>;
/// And a form of theirs.
type Sent = Posted<AdminArea>;

/// The routes of dues.
pub fn router() -> Router<App> {
    Router::new()
        .route(LIST, get(list::list))
        .route("/admin/dues/new", get(charge::new).post(charge::send))
        .route("/admin/dues/remind", get(remind::ask).post(remind::everybody))
        .route("/admin/dues/teams/{team}", get(team::of_treasurer))
        .route("/admin/dues/teams/{team}/remind", post(remind::team))
        .route("/admin/dues/{id}", get(detail::one))
        .route("/admin/dues/{id}/edit", get(edit::edit).post(edit::save))
        .route("/admin/dues/{id}/payments/new", get(pay::new).post(pay::take))
        .route("/admin/dues/{id}/payments/{payment}/refund", get(refund::ask).post(refund::refund))
        .route("/admin/dues/{id}/waive", get(waive::ask).post(waive::waive))
        .route("/admin/dues/{id}/remind", post(remind::one))
        .route(OWN, get(family::list))
        .route("/dues/teams/{team}", get(team::of_coach))
        .route("/dues/{id}", get(family::one))
        .route("/dues/{id}/receipt", get(receipt::show))
}

/// Sends a page.
fn show<T: askama::Template>(status: StatusCode, page: &T) -> Outcome<Response> {
    Ok(page::html(status, page)?)
}

/// How a form is answered: as usual, or as one in which something is wrong.
fn status(faults: &Faults) -> StatusCode {
    if faults.is_empty() { StatusCode::OK } else { StatusCode::UNPROCESSABLE_ENTITY }
}

/// Whether an error can be mended in the form.
fn is_fault(error: &Error) -> bool {
    matches!(error.code, Code::ValidationFailed | Code::InvalidState | Code::Conflict)
}

/// The page of a due in the admin area.
fn place(id: DueId) -> String {
    format!("{LIST}/{id}")
}
