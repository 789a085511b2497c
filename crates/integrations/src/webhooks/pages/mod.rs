//! The pages on which admins manage webhooks.

mod actions;
mod delivery;
mod detail;
mod form;
mod list;
mod replay;
mod display;

use super::edit::EditContext;
use super::webhook::Webhook;
use crate::names::Names;
use crate::prelude::*;
use crate::web::prelude::*;
use crate::webhooks::WebhooksManage;

/// The path of the list of webhooks.
const LIST: &str = "/admin/webhooks";

/// A visitor who can manage webhooks.
type WebhookAdmin = Visitor<WebhooksManage>;
/// A form sent by such a visitor.
type PostedForm = VisitorForm<WebhooksManage>;

/// The routes of webhooks.
pub fn router() -> Router<App> {
    Router::new()
        .route(LIST, get(list::list))
        .route("/admin/webhooks/new", get(form::new).post(form::create))
        .route("/admin/webhooks/{id}", get(detail::one))
        .route("/admin/webhooks/{id}/edit", get(form::edit).post(form::save))
        .route("/admin/webhooks/{id}/test", post(actions::test))
        .route("/admin/webhooks/{id}/rotate", get(actions::confirm_rotate).post(actions::rotate))
        .route("/admin/webhooks/{id}/off", get(actions::confirm_off).post(actions::turn_off))
        .route("/admin/webhooks/{id}/on", post(actions::turn_on))
        .route("/admin/webhooks/{id}/replay", get(replay::replay_page).post(replay::replay))
        .route("/admin/webhooks/{id}/delete", get(actions::confirm_delete).post(actions::delete))
        .route("/admin/webhooks/{id}/deliveries/{delivery}", get(delivery::one))
        .route("/admin/webhooks/{id}/deliveries/{delivery}/again", post(delivery::redeliver))
}

/// The context for creating and changing webhooks.
fn edit_context(visitor: &WebhookAdmin) -> EditContext {
    EditContext::new(visitor.app(), None, TeamAccess::AllTeams)
}

/// Loads the names of a webhook's creator, app and teams.
fn load_names(db: &Reader<'_>, webhook: &Webhook) -> Result<Names> {
    let teams = webhook.team_ids.iter().flat_map(|teams| &teams.0).map(ToString::to_string);
    let app = webhook.creator_app.iter().cloned();
    let ids: Vec<_> = teams.chain(app).chain([webhook.creator.clone()]).collect();
    Names::load(db, ids.iter().map(String::as_str))
}
