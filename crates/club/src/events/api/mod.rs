//! JSON API of the schedule, and calendar feeds.

pub mod calendars;
pub mod events;
pub mod locations;
pub mod rsvps;

use crate::events::rsvp_snapshot::RsvpSnapshot;
use crate::web::routes::Routes;

/// Routes below `/locations`, `/events` and `/calendar_feeds`.
pub fn routes(routes: Routes) -> Routes {
    let routes = routes.with_schema::<RsvpSnapshot>();
    let routes = locations::routes(routes);
    let routes = events::routes(routes);
    let routes = rsvps::routes(routes);
    calendars::routes(routes)
}
