//! The JSON endpoints of webhooks, deliveries and notification types.

pub mod deliveries;
pub mod event_types;
pub mod webhooks;

use crate::web::routes::Routes;
use crate::webhooks::actions::Ping;

/// Everything below `/webhooks`, `/deliveries` and `/event_types`.
pub fn routes(routes: Routes) -> Routes {
    let routes = routes.with_schema::<Ping>();
    let routes = webhooks::routes(routes);
    let routes = deliveries::routes(routes);
    event_types::routes(routes)
}
