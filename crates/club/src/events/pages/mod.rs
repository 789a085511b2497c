//! Pages of the schedule.

pub mod answer;
mod cancel_page;
mod concurrent_edit;
pub mod display;
mod duties;
mod edit_page;
mod event_form;
mod event_page;
mod location_pages;
mod map_link;
mod month;
mod new_page;
mod other_club;
mod preview;
mod recurrence_form;
mod result_page;
pub mod remind;
mod schedule_page;
mod schedule_query;
mod status_pages;
mod subscribe;
mod taken_duties;

use crate::accounts::permissions::AccessLevel;
use crate::accounts::roster_access::RosterAccess;
use crate::events::EventsWrite;
use crate::events::api::calendars;
use crate::prelude::*;
use crate::web::prelude::*;

/// Routes of the pages of events, and the calendar feeds.
pub fn router() -> Router<App> {
    calendars::router()
        .merge(schedule_page::router())
        .merge(event_page::router())
        .merge(answer::router())
        .merge(duties::router())
        .merge(remind::router())
        .merge(subscribe::router())
        .merge(editing_routes())
        .merge(location_pages::router())
}

/// What the visitor may access, and their positions on the rosters. One query for both.
async fn load_access<N: Permission>(visitor: &Visitor<N>) -> Result<(TeamAccess, RosterAccess)> {
    let roster_access = visitor.roster_access().await?;
    let access = if visitor.is_admin() {
        TeamAccess::AllTeams
    } else {
        roster_access.team_access(AccessLevel::Family)
    };
    Ok((access, roster_access))
}

/// Whether the page can explain the error to the visitor.
fn is_page_error(error: &Error) -> bool {
    matches!(
        error.code,
        Code::ValidationFailed | Code::InvalidState | Code::Conflict | Code::InvalidRequest
    )
}

/// Routes to create and change events.
fn editing_routes() -> Router<App> {
    Router::new()
        .route("/events/new", get(new_page::new).post(new_page::submit))
        .route("/events/{event}/edit", get(edit_page::edit).post(edit_page::save))
        .route("/events/{event}/cancel", get(cancel_page::form).post(cancel_page::cancel))
        .route(
            "/events/{event}/postpone",
            get(status_pages::ask_postpone).post(status_pages::postpone),
        )
        .route("/events/{event}/result", get(result_page::form).post(result_page::save))
        .route(
            "/events/{event}/result/delete",
            get(result_page::ask_delete).post(result_page::delete),
        )
        .route("/events/{event}/delete", get(status_pages::ask_delete).post(status_pages::delete))
}

/// Somebody who may plan events: a coach, a manager or an admin.
type Coach = Visitor<EventsWrite>;
/// A form that they submitted.
type CoachForm = VisitorForm<EventsWrite>;

/// Path of the page of an event.
fn event_path(id: impl std::fmt::Display) -> String {
    format!("/events/{id}")
}

/// Messages of the event page after an action on another page (`?done=`).
pub const DONE: &[(&str, &str)] = &[
    ("created", mark!("Event created.")),
    ("series_created", mark!("Events created. This is the first one.")),
    ("saved", mark!("Changes saved.")),
    ("result_saved", mark!("Result saved.")),
    ("result_deleted", mark!("Result deleted.")),
    ("cancelled", mark!("Event cancelled.")),
    ("postponed", mark!("Event postponed. When you know the new time, edit the event.")),
];
