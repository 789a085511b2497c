//! Who may manage a webhook: one rule for every operation, through the API and on the pages.
//!
//! A caller with the scope `webhooks:write` can list webhooks and create their own. A caller who is limited to certain
//! teams sees only their own webhooks. A webhook belongs to its creator: the key or user that created it, or that last
//! changed or enabled it. Everything else (change, rotate the secret, test, replay, redeliver, disable, enable, delete,
//! read deliveries) is allowed for the creator, and for callers who can read everything that the webhook is sent.
//! Otherwise a credential with few rights could read, forge or stop what a credential with more rights has set up.

use super::delivery::{self, Delivery};
use super::edit::EditContext;
use super::visibility::EventVisibility;
use super::webhook::{self, Webhook};
use crate::prelude::*;

/// The caller who manages a webhook.
#[derive(Debug, Clone)]
pub struct Manager {
    /// The app through which the caller acts.
    pub app: Option<String>,
    /// The teams that the caller can access.
    pub access: TeamAccess,
}

impl Manager {
    /// A caller who acts directly and can access every team, such as an admin on the pages.
    pub fn unrestricted() -> Self {
        Self { app: None, access: TeamAccess::AllTeams }
    }
}

impl From<&EditContext> for Manager {
    fn from(means: &EditContext) -> Self {
        Self { app: means.app.clone(), access: means.access.clone() }
    }
}

/// Finds a webhook that the caller can see.
pub fn find_visible(db: &Reader<'_>, access: &TeamAccess, id: WebhookId) -> Result<Webhook> {
    let webhook = webhook::find(db, id)?;
    let is_visible = required_creator(db, access).is_none_or(|creator| webhook.creator == creator);
    if is_visible { Ok(webhook) } else { Err(Error::not_found()) }
}

/// The creator that a webhook must have for the caller to see it; `None` if the caller sees all webhooks.
pub(super) fn required_creator<'a>(db: &'a Reader<'_>, access: &TeamAccess) -> Option<&'a str> {
    (*access != TeamAccess::AllTeams).then(|| db.actor())
}

/// Finds a webhook that the caller can manage.
pub fn find_managed(db: &Reader<'_>, manager: &Manager, id: WebhookId) -> Result<Webhook> {
    let webhook = find_visible(db, &manager.access, id)?;
    check_can_manage(db, manager, &webhook)?;
    Ok(webhook)
}

/// Finds a delivery of a webhook that the caller can manage.
pub fn find_managed_delivery(
    db: &Reader<'_>,
    manager: &Manager,
    id: DeliveryId,
) -> Result<Delivery> {
    let delivery = delivery::find(db, id)?;
    find_managed(db, manager, delivery.webhook_id).map(|_| delivery)
}

/// Fails if the webhook belongs to somebody else and is sent something that the caller cannot read.
fn check_can_manage(db: &Reader<'_>, manager: &Manager, webhook: &Webhook) -> Result<()> {
    if webhook.creator == db.actor() && webhook.creator_app == manager.app {
        return Ok(());
    }
    let own = EventVisibility::of_creator(db, db.actor(), manager.app.as_deref())?;
    let theirs =
        EventVisibility::maximum_of_creator(db, &webhook.creator, webhook.creator_app.as_deref())?;
    let hidden = theirs.find_hidden_from(own.as_ref(), &webhook.events.0);
    let Some(kind) = hidden else { return Ok(()) };
    let detail = message!(
        "You cannot manage this webhook: it receives {kind} notifications, which you are not allowed to read.",
        kind
    );
    Err(Error::new(Code::Forbidden, detail))
}
