//! The JSON endpoints of webhooks, deliveries and notification types.

pub mod deliveries;
pub mod event_types;
pub mod webhooks;

use crate::address_policy::AddressPolicy;
use crate::ids::AppId;
use crate::rights::TeamAccess;
use crate::web::app::App;
use crate::web::routes::Routes;
use crate::webhooks::actions::Ping;
use crate::webhooks::edit::EditContext;

/// Everything below `/webhooks`, `/deliveries` and `/event_types`.
pub fn routes(routes: Routes) -> Routes {
    let routes = routes.with_schema::<Ping>();
    let routes = webhooks::routes(routes);
    let routes = deliveries::routes(routes);
    event_types::routes(routes)
}

impl EditContext {
    /// The context of a caller who acts through an app, or directly.
    pub fn new(app: &App, via: Option<AppId>, access: TeamAccess) -> Self {
        Self {
            guard: AddressPolicy::new(app.config.webhook_allow_cidrs.clone()),
            home: app.base_url.clone(),
            key: app.secrets.key("webhook"),
            app: via.map(|app| app.to_string()),
            access,
        }
    }
}
