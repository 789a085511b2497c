//! Pages of attendance: recording it at an event, and the overview of a team.

mod overview;
mod take;

use crate::web::prelude::*;

/// Routes of the attendance pages.
pub fn router() -> Router<App> {
    Router::new()
        .route("/events/{event}/attendance", get(take::form).post(take::save))
        .route("/teams/{team}/attendance", get(overview::overview))
        .route("/teams/{team}/attendance.csv", get(overview::export))
}
