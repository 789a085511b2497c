//! Lists of webhooks and of their deliveries. See [`access`] for who can see and manage which.

use macros::query;

use super::access::{self, Manager};
use super::delivery::{Delivery, Status as DeliveryStatus};
use super::notifications::api::read_types;
use super::webhook::{Status, Webhook};
use crate::notification_kinds;
use crate::paging::page_sql;
use crate::prelude::*;

/// Which webhooks to list.
#[query(items = "webhooks")]
#[derive(Default)]
pub struct WebhookFilter {
    /// Filter by webhook status.
    pub status: Option<Status>,
}

/// A page of webhooks, in order of creation.
pub fn webhooks(
    db: &Reader<'_>,
    access: &TeamAccess,
    filter: &WebhookFilter,
    page: &Page<WebhookId>,
) -> Result<Vec<Webhook>> {
    let (status, maker) = (filter.status, access::required_creator(db, access));
    let (after, limit) = page.bounds();
    let text = page_sql!(page, Webhook::SELECT, WEBHOOK_FILTER);
    Ok(db.all(text, bind! { status, maker, after, limit })?)
}

const WEBHOOK_FILTER: &str = "
    where account_id = :account
      and (cast(:status as text) is null or status = :status)
      and (cast(:maker as text) is null or creator = :maker)";

/// Which deliveries to list.
#[query(items = "deliveries", order = Desc)]
#[derive(Default)]
pub struct DeliveryFilter {
    /// Filter by delivery status.
    pub status: Option<DeliveryStatus>,
    /// Only these notification types, separated by commas, such as `event.created`, `event.*` or `ping`.
    #[param(name = "type", with(read_types))]
    pub patterns: Vec<String>,
}

/// A page of a webhook's deliveries, in the order of the log.
pub fn deliveries(
    db: &Reader<'_>,
    manager: &Manager,
    webhook_id: WebhookId,
    filter: &DeliveryFilter,
    page: &Page<DeliveryId>,
) -> Result<Vec<Delivery>> {
    access::find_managed(db, manager, webhook_id)?;
    let status = filter.status;
    let any_kind = filter.patterns.is_empty();
    let mut kinds: Vec<_> = notification_kinds::all_kinds().map(|kind| kind.name).collect();
    kinds.retain(|kind| notification_kinds::any_pattern_matches(&filter.patterns, kind));
    let (after, limit) = page.bounds();
    // Only few deliveries fail, so failed ones have their own partial index.
    let text = match status {
        Some(DeliveryStatus::Failed) => page_sql!(page, Delivery::SELECT, DELIVERY_FILTER, FAILED),
        _ => page_sql!(page, Delivery::SELECT, DELIVERY_FILTER),
    };
    Ok(db.all(text, bind! { webhook_id, status, any_kind, kinds, after, limit })?)
}

const DELIVERY_FILTER: &str = "
    where account_id = :account and webhook_id = :webhook_id
      and (cast(:status as text) is null or status = :status)
      and (cast(:any_kind as boolean) or kind in (:kinds))";
const FAILED: &str = " and status = 'failed'";
