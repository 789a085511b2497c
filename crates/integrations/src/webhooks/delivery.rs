//! Deliveries: one notification to one webhook, with all attempts.

use std::collections::HashMap;
use std::time::Duration;

use kit::secret::sha256;
use kit::string_enum;
use serde::Deserialize;
use store::{Column, ToValue, Value};

use crate::notification_kinds::NotificationType;
use crate::prelude::*;
use crate::signals::Notification;

string_enum! {
    /// The status of a delivery.
    pub enum Status as DeliveryStatus {
        /// Another attempt will follow.
        Pending = "pending",
        /// The receiver accepted it.
        Succeeded = "succeeded",
        /// No further attempt will follow: all attempts failed, the receiver sent `webhook-delivery: abort-message`, or
        /// it can no longer be sent.
        Failed = "failed",
    }
}
enum_column!(Status);

/// One attempt to deliver a notification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = DeliveryAttempt)]
pub struct Attempt {
    /// When the attempt started.
    pub at: Timestamp,
    /// Duration of the attempt, in milliseconds.
    #[schema(examples(120))]
    pub duration_ms: i64,
    /// HTTP status code of the response; `null` if there was no response.
    #[schema(examples(200))]
    pub status_code: Option<u16>,
    /// Why the attempt failed; `null` if it succeeded. One of `timeout`, `dns_failed`, `address_blocked` (a private
    /// address), `connection_failed`, `tls_failed`, `connection_lost`, `not_http`, `redirected` (a status from 300 to
    /// 399) or `unsuccessful_status` (any other response that is not a success). Two values mean that nothing was sent:
    /// `notification_expired` (the notification is no longer stored) and `not_allowed` (the webhook's owner can no
    /// longer read it).
    #[schema(examples("timeout"))]
    pub error: Option<String>,
    /// The first 4 KiB of the response body.
    pub response_excerpt: Option<String>,
}

impl Attempt {
    /// When the attempt ended.
    pub fn ended_at(&self) -> Timestamp {
        self.at.plus(Duration::from_millis(self.duration_ms.unsigned_abs()))
    }
}

/// The attempts of a delivery, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, ToSchema)]
#[serde(transparent)]
#[schema(as = DeliveryAttempts)]
pub struct Attempts(pub Vec<Attempt>);

/// An attempt as it is stored. Without field names to save space, because there are more attempts than anything else.
type StoredAttempt<Text> = (i64, i64, Option<u16>, Option<Text>, Option<Text>);

impl ToValue for Attempts {
    fn to_value(&self) -> Value<'_> {
        let stored = self.0.iter().map(|one| {
            let (error, excerpt) = (one.error.as_deref(), one.response_excerpt.as_deref());
            (one.at.micros(), one.duration_ms, one.status_code, error, excerpt)
        });
        let stored: Vec<StoredAttempt<&str>> = stored.collect();
        Value::Text(serde_json::to_string(&stored).expect("attempts can be serialized").into())
    }
}

impl Column for Attempts {
    fn from_value(value: Value<'_>) -> store::Result<Self> {
        let stored: Vec<StoredAttempt<String>> = serde_json::from_str(&String::from_value(value)?)
            .map_err(|_| store::Error::Corrupt("attempts of a delivery".to_owned()))?;
        let attempt = |(at, duration_ms, status_code, error, response_excerpt)| {
            let at = Timestamp::from_micros(at);
            Attempt { at, duration_ms, status_code, error, response_excerpt }
        };
        Ok(Self(stored.into_iter().map(attempt).collect()))
    }
}

record! {
    /// The delivery of one notification to one webhook.
    #[macros::object("delivery")]
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
    pub struct Delivery in delivery {
        /// Unique ID of the delivery.
        pub id: DeliveryId,
        #[serde(skip)]
        pub account_id: AccountId,
        /// The webhook that receives the notification.
        pub webhook_id: WebhookId,
        /// Sequence number of the notification in the account's log; `null` for a ping.
        pub sequence: Option<i64>,
        /// The notification that is delivered. It is also the `webhook-id` header of every attempt.
        pub notification_id: NotificationId,
        /// Type of the notification; see `GET /event_types`.
        #[serde(rename = "type")]
        #[schema(value_type = NotificationType)]
        pub kind: String,
        #[serde(skip)]
        pub body: Option<String>,
        /// Status of the delivery.
        pub status: Status,
        #[serde(skip)]
        pub tries: i64,
        /// The attempts so far, oldest first; only the last 20 if there were more.
        pub attempts: Attempts,
        /// When the next attempt is due, while the delivery is pending and the webhook is enabled. While an attempt
        /// takes long: when the next one starts if the result of this one is lost.
        pub next_attempt_at: Option<Timestamp>,
        /// When the delivery was created.
        pub created_at: Timestamp,
        /// When the delivery succeeded or failed; `null` while it is pending.
        pub finished_at: Option<Timestamp>,
        /// When the delivery last changed.
        pub updated_at: Timestamp,
        /// Version of the delivery. It rises with every attempt, when an attempt takes long, and when a redelivery is
        /// requested.
        pub version: i64,
    }
}

impl_resource!(Delivery by DeliveryId: Versioned Paged);

impl Delivery {
    /// A delivery that is due now, without attempts. A ping has no sequence number.
    pub fn new(
        tx: &Tx<'_>,
        webhook_id: WebhookId,
        id: DeliveryId,
        (notification_id, sequence): (NotificationId, Option<i64>),
        kind: &str,
    ) -> Self {
        Self {
            id,
            account_id: tx.account(),
            webhook_id,
            sequence,
            notification_id,
            kind: kind.to_owned(),
            body: None,
            status: Status::Pending,
            tries: 0,
            attempts: Attempts::default(),
            next_attempt_at: Some(tx.now()),
            created_at: tx.now(),
            finished_at: None,
            updated_at: tx.now(),
            version: 1,
        }
    }

    /// A delivery of a notification of the log, due now and without attempts.
    pub fn of_notification(tx: &Tx<'_>, webhook_id: WebhookId, sent: &Notification) -> Self {
        let id = delivery_id(webhook_id, sent.id, sent.sequence);
        Self::new(tx, webhook_id, id, (sent.id, Some(sent.sequence)), &sent.kind)
    }
}

/// How many bits of a delivery id distinguish the webhooks that receive the same notification.
const WEBHOOK_BITS: u32 = 54;

/// The id of the delivery of a notification to a webhook. It is derived from both, so the primary key prevents a second
/// delivery, even if two nodes try; and the deliveries of a webhook are sorted in the order of the log. In the layout
/// of all ids it contains the time of the notification, the last 20 bits of its sequence number, and a hash of the
/// webhook and the notification.
pub fn delivery_id(webhook: WebhookId, notification: NotificationId, sequence: i64) -> DeliveryId {
    let both = [webhook.bits().to_be_bytes(), notification.bits().to_be_bytes()].concat();
    let hash = sha256(&both).into_iter().fold(0u128, |bits, byte| bits << 8 | u128::from(byte));
    let (least, _) = delivery_id_range(notification, sequence);
    DeliveryId::from_bits(least.bits() | hash & ((1 << WEBHOOK_BITS) - 1))
}

/// The least and the greatest id that a delivery of a notification can have, for any webhook.
pub fn delivery_id_range(notification: NotificationId, sequence: i64) -> (DeliveryId, DeliveryId) {
    let sequence = u128::from(sequence.unsigned_abs());
    let (high, low) = (sequence >> 8 & 0xfff, sequence & 0xff);
    let least = DeliveryId::from_parts(notification.millis(), high << 64 | low << WEBHOOK_BITS);
    (least, DeliveryId::from_bits(least.bits() | ((1 << WEBHOOK_BITS) - 1)))
}

/// Finds a delivery of any webhook.
pub fn find(db: &Reader<'_>, id: DeliveryId) -> Result<Delivery> {
    let query = sql!(
        Delivery::SELECT,
        " where account_id = :account and id = :id
            and webhook_id in (select w.id from webhook w where w.account_id = :account)"
    );
    Ok(db.one(query, bind! { id })?)
}

/// Finds a delivery of this webhook.
pub fn find_for_webhook(
    db: &Reader<'_>,
    webhook_id: WebhookId,
    id: DeliveryId,
) -> Result<Delivery> {
    let query = sql!(
        Delivery::SELECT,
        " where account_id = :account and webhook_id = :webhook_id and id = :id"
    );
    Ok(db.one(query, bind! { webhook_id, id })?)
}

row! {
    /// A delivery to send, with the body.
    #[derive(Debug, Clone)]
    pub struct Due {
        pub id: DeliveryId,
        pub sequence: Option<i64>,
        pub notification_id: NotificationId,
        pub kind: String,
        /// `None` if the notification is no longer stored.
        pub body: Option<String>,
    }
}

/// The deliveries of a webhook that are due, oldest due time first.
pub fn due(db: &Reader<'_>, webhook_id: WebhookId, limit: i64) -> Result<Vec<Due>> {
    let text = sql!(
        DUE,
        " and d.next_attempt_at <= :now order by d.next_attempt_at, d.sequence limit :limit"
    );
    Ok(db.all(text, bind! { webhook_id, limit })?)
}

/// The pings that are due. They are not in the log, so they are sent independently of the order of other deliveries.
pub fn due_pings(db: &Reader<'_>, webhook_id: WebhookId) -> Result<Vec<Due>> {
    let text = sql!(DUE, " and d.sequence is null and d.next_attempt_at <= :now order by d.id");
    Ok(db.all(text, bind! { webhook_id })?)
}

/// The first pending delivery in the order of the log, and when it is due.
pub fn first_pending(db: &Reader<'_>, webhook_id: WebhookId) -> Result<Option<(Due, Timestamp)>> {
    let text = sql!(DUE, " and d.sequence is not null order by d.sequence limit 1");
    let Some(due): Option<Due> = db.optional(text, bind! { webhook_id })? else { return Ok(None) };
    let next = find_for_webhook(db, webhook_id, due.id)?.next_attempt_at.unwrap_or(db.now());
    Ok(Some((due, next)))
}

const DUE: &str = "
    select d.id, d.sequence, d.notification_id, d.kind, coalesce(d.body, n.body) as body
    from delivery d
    left join notification n on n.account_id = d.account_id and n.sequence = d.sequence
    where d.account_id = :account and d.webhook_id = :webhook_id and d.status = 'pending'";

const NEXT_DUE: &str = "
    select w.id, (select min(d.next_attempt_at) from delivery d
                  where d.account_id = w.account_id and d.webhook_id = w.id
                    and d.status = 'pending') as next_due
    from webhook w where w.account_id = :account and w.id in (:webhooks)";

/// When the next pending delivery of each of these webhooks is due, for those that have one.
pub fn next_due(db: &Reader<'_>, webhooks: &[WebhookId]) -> Result<HashMap<WebhookId, Timestamp>> {
    let due: Vec<(WebhookId, Option<Timestamp>)> =
        db.all(NEXT_DUE, bind! { webhooks: webhooks.to_vec() })?;
    Ok(due.into_iter().filter_map(|(id, at)| Some((id, at?))).collect())
}

/// Prefetches the rows that [`next_due`] reads.
pub fn prefetch_next_due(db: &Reader<'_>, webhooks: &[WebhookId]) -> Result<()> {
    Ok(db.prefetch(NEXT_DUE, bind! { webhooks: webhooks.to_vec() })?)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Delivery ids of a webhook are sorted in the order of the log, each is within the range of its notification,
        /// and two webhooks never share one.
        #[test]
        fn delivery_ids_are_derived_from_webhook_and_notification(
            webhook in any::<u128>(), other in any::<u128>(), sequence in 1i64..1 << 40,
            notification in any::<u128>(), millis in 0u128..3, next in 1i64..1000,
        ) {
            let notification = notification >> 2;
            let id = |webhook: u128, notification: u128, sequence: i64| {
                delivery_id(WebhookId::from_bits(webhook), NotificationId::from_bits(notification), sequence)
            };
            let first = id(webhook, notification, sequence);
            prop_assert_eq!(first, id(webhook, notification, sequence));
            prop_assert!(webhook == other || first != id(other, notification, sequence));
            let (least, greatest) = delivery_id_range(NotificationId::from_bits(notification), sequence);
            prop_assert!(least <= first && first <= greatest);
            prop_assert_eq!(first.bits() >> 80, notification >> 80);
            // The sequence bits wrap around after 2^20 notifications, and one millisecond never has that many.
            prop_assume!(millis > 0 || sequence % (1 << 20) + next < 1 << 20);
            let second = id(webhook, notification + (millis << 80), sequence + next);
            prop_assert!(second > first);
        }
    }
}
