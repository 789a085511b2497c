//! HTML pages of dues: for treasurers (in the admin area), coaches and families.

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
mod formatting;
mod team;
mod form_fields;
mod waive;

use crate::accounts::permissions::AdminArea;
use crate::dues::due::{self, DueFilter};
use crate::prelude::*;
use crate::web::prelude::*;

/// Path of the list in the admin area.
const LIST_PATH: &str = "/admin/dues";
/// Path of a family's own dues.
const OWN_DUES_PATH: &str = "/dues";

/// A visitor who may manage the club's money.
type Treasurer = Visitor<AdminArea>;
/// A form submitted by a treasurer.
type TreasurerForm = VisitorForm<AdminArea>;

/// Routes of the dues pages.
pub fn router() -> Router<App> {
    Router::new()
        .route(LIST_PATH, get(list::list))
        .route("/admin/exports/dues.csv", get(list::export))
        .route("/admin/dues/new", get(charge::new).post(charge::submit))
        .route("/admin/dues/remind", get(remind::confirm).post(remind::all_overdue))
        .route("/admin/dues/teams/{team}", get(team::of_treasurer))
        .route("/admin/dues/teams/{team}/remind", post(remind::team))
        .route("/admin/dues/{id}", get(detail::one))
        .route("/admin/dues/{id}/edit", get(edit::edit).post(edit::save))
        .route("/admin/dues/{id}/payments/new", get(pay::new).post(pay::submit))
        .route("/admin/dues/{id}/payments/{payment}/refund", get(refund::form).post(refund::refund))
        .route("/admin/dues/{id}/waive", get(waive::form).post(waive::waive))
        .route("/admin/dues/{id}/remind", post(remind::one))
        .route(OWN_DUES_PATH, get(family::list))
        .route("/dues/teams/{team}", get(team::of_coach))
        .route("/dues/{id}", get(family::one))
        .route("/dues/{id}/receipt", get(receipt::show))
}

/// The tab of a team: for staff its statement, for families what they owe it.
pub(super) fn team_tab(
    db: &Reader<'_>,
    access: &TeamAccess,
    team: TeamId,
) -> Result<Option<String>> {
    if access.has_full_access(team) {
        return Ok(Some(format!("/dues/teams/{team}")));
    }
    let filter = DueFilter { team_id: Some(team), ..DueFilter::default() };
    let page = Page { limit: 1, order: Order::Desc, last: None };
    let has_dues = !due::list(db, access, &filter, &page)?.is_empty();
    Ok(has_dues.then(|| format!("{OWN_DUES_PATH}?team={team}")))
}

/// Whether the user can fix the error in the form.
fn is_form_error(error: &Error) -> bool {
    matches!(error.code, Code::ValidationFailed | Code::InvalidState | Code::Conflict)
}

/// Path of a due's page in the admin area.
fn detail_path(id: DueId) -> String {
    format!("{LIST_PATH}/{id}")
}
