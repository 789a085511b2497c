//! Who may manage a webhook: one rule for every operation, through the API and on the pages.
//!
//! Anybody with the right `webhooks:write` sees webhooks and creates their own. Whoever is narrowed to certain teams sees
//! only those they answer for. Everything else (change, rotate the secret, test, replay, redeliver, disable, enable, delete,
//! read deliveries) is open to whoever answers for the webhook, and to those who may read all that it is sent. Otherwise a
//! credential with few rights could read, forge or stop what a credential with more rights has set up.

use store::Reader;

use super::delivery::{self, Delivery};
use super::ears::Ears;
use super::edit::Means;
use super::kinds;
use super::webhook::{self, Webhook};
use crate::accounts::rights::Reach;
use crate::error::{Code, Error, Result};
use crate::ids::{DeliveryId, WebhookId};

/// Who asks.
#[derive(Debug, Clone)]
pub struct Manager {
    /// The app through which somebody acts.
    pub app: Option<String>,
    /// The teams they reach.
    pub reach: Reach,
}

impl Manager {
    /// Somebody who acts in their own name and reaches every team, such as an admin on the pages.
    pub fn everywhere() -> Self {
        Self { app: None, reach: Reach::Everywhere }
    }
}

impl From<&Means> for Manager {
    fn from(means: &Means) -> Self {
        Self { app: means.app.clone(), reach: means.reach.clone() }
    }
}

/// A webhook that the caller sees.
pub fn visible(db: &Reader<'_>, reach: &Reach, id: WebhookId) -> Result<Webhook> {
    let found = webhook::find(db, id)?;
    let own = answerable_creator(db, reach).is_none_or(|creator| found.creator == creator);
    if own { Ok(found) } else { Err(Error::not_found()) }
}

/// Who must answer for the webhooks that the caller sees; `None` if that does not matter.
pub(super) fn answerable_creator<'a>(db: &'a Reader<'_>, reach: &Reach) -> Option<&'a str> {
    (*reach != Reach::Everywhere).then(|| db.actor())
}

/// A webhook that the caller may manage.
pub fn managed(db: &Reader<'_>, who: &Manager, id: WebhookId) -> Result<Webhook> {
    let webhook = visible(db, &who.reach, id)?;
    check(db, who, &webhook)?;
    Ok(webhook)
}

/// A delivery of a webhook that the caller may manage.
pub fn managed_delivery(db: &Reader<'_>, who: &Manager, id: DeliveryId) -> Result<Delivery> {
    let found = delivery::find(db, id)?;
    managed(db, who, found.webhook_id).map(|_| found)
}

/// Fails if somebody else answers for the webhook and it is sent something that the caller may not read.
fn check(db: &Reader<'_>, who: &Manager, webhook: &Webhook) -> Result<()> {
    if webhook.creator == db.actor() && webhook.creator_app == who.app {
        return Ok(());
    }
    let own = Ears::of_creator(db, db.actor(), who.app.as_deref())?;
    let theirs = Ears::ever_of_creator(db, &webhook.creator, webhook.creator_app.as_deref())?;
    let hidden = kinds::sent().map(|kind| kind.name).find(|kind| {
        webhook.events.0.iter().any(|wish| kinds::means(wish, kind))
            && theirs.may_hear(kind)
            && own.as_ref().is_none_or(|own| !own.may_hear(kind))
    });
    let Some(kind) = hidden else { return Ok(()) };
    let detail = format!(
        "You cannot manage this webhook: it is sent {kind} notifications, which you may not read."
    );
    Err(Error::new(Code::Forbidden, detail))
}
