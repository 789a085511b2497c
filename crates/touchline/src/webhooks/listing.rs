//! Lists of webhooks and of their deliveries. Who sees and manages which stands in [`access`].

use kit::text;
use store::{Reader, bind, sql};

use super::access::{self, Manager};
use super::delivery::{Delivery, Status as DeliveryStatus};
use super::webhook::{Status, Webhook};
use crate::accounts::rights::Reach;
use crate::error::Result;
use crate::ids::{DeliveryId, WebhookId};
use crate::paging::{Order, Page};

/// Which webhooks to list.
#[derive(Debug, Default)]
pub struct WebhookFilter {
    pub status: Option<Status>,
}

/// A page of webhooks, in order of creation.
pub fn webhooks(
    db: &Reader<'_>,
    reach: &Reach,
    filter: &WebhookFilter,
    page: &Page<WebhookId>,
) -> Result<Vec<Webhook>> {
    let (status, maker, limit) =
        (filter.status, access::answerable_creator(db, reach), page.fetch());
    let after = page.after(WebhookId::LEAST, WebhookId::GREATEST);
    let text = match page.order {
        Order::Asc => sql!(Webhook::SELECT, OPEN, " and id > :after order by id limit :limit"),
        Order::Desc => {
            sql!(Webhook::SELECT, OPEN, " and id < :after order by id desc limit :limit")
        }
    };
    Ok(db.all(text, bind! { status, maker, after, limit })?)
}

const OPEN: &str = "
    where account_id = :account
      and (cast(:status as text) is null or status = :status)
      and (cast(:maker as text) is null or creator = :maker)";

/// Which deliveries to list.
#[derive(Debug, Default)]
pub struct DeliveryFilter {
    pub status: Option<DeliveryStatus>,
    /// The kind of notification, or several as in `team.*`.
    pub kind: Option<String>,
}

/// A page of a webhook's deliveries, in the order of the log.
pub fn deliveries(
    db: &Reader<'_>,
    who: &Manager,
    webhook_id: WebhookId,
    filter: &DeliveryFilter,
    page: &Page<DeliveryId>,
) -> Result<Vec<Delivery>> {
    access::managed(db, who, webhook_id)?;
    let status = filter.status;
    let kind = filter.kind.as_deref().map(|wish| match wish.strip_suffix('*') {
        Some(start) => format!("{}%", text::literal(start)),
        None => text::literal(wish),
    });
    let (after, limit) = (page.after(DeliveryId::LEAST, DeliveryId::GREATEST), page.fetch());
    // Few of many fail, so those have an index of their own.
    let text = match (status, page.order) {
        (Some(DeliveryStatus::Failed), Order::Asc) => {
            sql!(Delivery::SELECT, TOLD, FAILED, ASCENDING)
        }
        (Some(DeliveryStatus::Failed), Order::Desc) => {
            sql!(Delivery::SELECT, TOLD, FAILED, DESCENDING)
        }
        (_, Order::Asc) => sql!(Delivery::SELECT, TOLD, ASCENDING),
        (_, Order::Desc) => sql!(Delivery::SELECT, TOLD, DESCENDING),
    };
    Ok(db.all(text, bind! { webhook_id, status, kind, after, limit })?)
}

const TOLD: &str = "
    where account_id = :account and webhook_id = :webhook_id
      and (cast(:status as text) is null or status = :status)
      and (cast(:kind as text) is null or kind like :kind escape '\\')";
const FAILED: &str = " and status = 'failed'";
const ASCENDING: &str = " and id > :after order by id limit :limit";
const DESCENDING: &str = " and id < :after order by id desc limit :limit";
