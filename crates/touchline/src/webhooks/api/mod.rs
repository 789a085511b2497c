//! The JSON endpoints of webhooks, deliveries and notification types.

pub mod deliveries;
pub mod event_types;
pub mod webhooks;

use crate::web::routes::Routes;

/// Everything below `/webhooks`, `/deliveries` and `/event_types`.
pub fn routes(routes: Routes) -> Routes {
    let routes = webhooks::routes(routes);
    let routes = deliveries::routes(routes);
    event_types::routes(routes)
}
