//! The delivery: one notification on its way to one webhook, with all attempts.

use std::collections::HashMap;

use kit::secret::sha256;
use kit::{Timestamp, words};
use serde::{Deserialize, Serialize};
use store::{Bound, Column, Reader, Value, bind, record, row, sql, word_column};
use utoipa::ToSchema;

use crate::error::Result;
use crate::ids::{AccountId, DeliveryId, NotificationId, WebhookId};
use crate::thing::thing;

words! {
    /// What has become of a delivery.
    pub enum Status as DeliveryStatus {
        /// It is to be tried again.
        Pending = "pending",
        /// The receiver took it.
        Succeeded = "succeeded",
        /// It was tried as often as it is tried.
        Failed = "failed",
    }
}
word_column!(Status);

/// One attempt to deliver.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = DeliveryAttempt)]
pub struct Attempt {
    pub at: Timestamp,
    pub duration_ms: i64,
    /// What the receiver answered, if it did.
    #[schema(examples(200))]
    pub status_code: Option<u16>,
    /// Why it failed, if it did: `timeout`, `dns_failed`, `address_blocked`, `connection_failed`, `tls_failed`, `connection_lost`, `not_http`, `redirected` or `refused`; `not_kept` or `not_allowed` if it was not sent any more.
    #[schema(examples("timeout"))]
    pub error: Option<String>,
    /// The beginning of the answer.
    pub response_excerpt: Option<String>,
}

/// The attempts of a delivery, the oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, ToSchema)]
#[serde(transparent)]
#[schema(as = DeliveryAttempts)]
pub struct Attempts(pub Vec<Attempt>);

/// An attempt as it is kept: without names, as there are more of these than of anything else.
type Kept<Text> = (i64, i64, Option<u16>, Option<Text>, Option<Text>);

impl Bound for Attempts {
    fn write(&self) -> Value<'_> {
        let kept = self.0.iter().map(|one| {
            let (error, excerpt) = (one.error.as_deref(), one.response_excerpt.as_deref());
            (one.at.micros(), one.duration_ms, one.status_code, error, excerpt)
        });
        let all: Vec<Kept<&str>> = kept.collect();
        Value::Text(serde_json::to_string(&all).expect("attempts are plain").into())
    }
}

impl Column for Attempts {
    fn read(value: Value<'_>) -> store::Result<Self> {
        let all: serde_json::Result<Vec<Kept<String>>> =
            serde_json::from_str(&String::read(value)?);
        let all = all.map_err(|_| store::Error::Corrupt("attempts of a delivery".to_owned()))?;
        let attempt = |(at, duration_ms, status_code, error, response_excerpt)| Attempt {
            at: Timestamp::from_micros(at),
            duration_ms,
            status_code,
            error,
            response_excerpt,
        };
        Ok(Self(all.into_iter().map(attempt).collect()))
    }
}

record! {
    /// One notification on its way to one webhook.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
    #[serde(tag = "object", rename = "delivery")]
    pub struct Delivery in delivery {
        pub id: DeliveryId,
        #[serde(skip)]
        pub account_id: AccountId,
        pub webhook_id: WebhookId,
        /// The notification's number in the account's log; a ping has none.
        pub sequence: Option<i64>,
        pub notification_id: NotificationId,
        #[serde(rename = "type")]
        #[schema(examples("event.created"))]
        pub kind: String,
        #[serde(skip)]
        pub body: Option<String>,
        pub status: Status,
        #[serde(skip)]
        pub tries: i64,
        /// Every attempt so far, the oldest first.
        pub attempts: Attempts,
        /// When it is tried next, while it is pending and the webhook is on. While an attempt takes long: when the next
        /// begins if nothing more is heard of this one.
        pub next_attempt_at: Option<Timestamp>,
        pub created_at: Timestamp,
        pub finished_at: Option<Timestamp>,
        pub updated_at: Timestamp,
        /// Rises with every attempt, when one takes long, and when it is asked for again.
        pub version: i64,
    }
}

thing!(Delivery by DeliveryId: Versioned Paged);

/// How many bits of an id tell the webhooks apart that are told of the same.
const OWN_BITS: u32 = 54;

/// The id of the delivery of a notification to a webhook. It follows from both, so its key alone sees to it that there is
/// never a second one, whoever tries; and those of a webhook lie in the order of the log. In the layout of all ids: when it
/// was told, the last 20 bits of its number, and what is the webhook's own.
pub fn id_of(webhook: WebhookId, notification: NotificationId, sequence: i64) -> DeliveryId {
    let both = [webhook.bits().to_be_bytes(), notification.bits().to_be_bytes()].concat();
    let own = sha256(&both).into_iter().fold(0u128, |bits, byte| bits << 8 | u128::from(byte));
    let (least, _) = ids_of(notification, sequence);
    DeliveryId::from_bits(least.bits() | own & ((1 << OWN_BITS) - 1))
}

/// The least and the greatest id that a delivery of a notification can have, whichever webhook it is for.
pub fn ids_of(notification: NotificationId, sequence: i64) -> (DeliveryId, DeliveryId) {
    let number = u128::from(sequence.unsigned_abs());
    let (high, low) = (number >> 8 & 0xfff, number & 0xff);
    let least = DeliveryId::laid_out(notification.millis(), high << 64 | low << OWN_BITS);
    (least, DeliveryId::from_bits(least.bits() | ((1 << OWN_BITS) - 1)))
}

/// One delivery, whichever webhook it is for.
pub fn find(db: &Reader<'_>, id: DeliveryId) -> Result<Delivery> {
    let anywhere = sql!(
        Delivery::SELECT,
        " where account_id = :account and id = :id
            and webhook_id in (select w.id from webhook w where w.account_id = :account)"
    );
    Ok(db.one(anywhere, bind! { id })?)
}

/// One delivery of a webhook.
pub fn find_of(db: &Reader<'_>, webhook_id: WebhookId, id: DeliveryId) -> Result<Delivery> {
    let here = sql!(
        Delivery::SELECT,
        " where account_id = :account and webhook_id = :webhook_id and id = :id"
    );
    Ok(db.one(here, bind! { webhook_id, id })?)
}

row! {
    /// A delivery that is due, with what is to be sent.
    #[derive(Debug, Clone)]
    pub struct Due {
        pub id: DeliveryId,
        pub sequence: Option<i64>,
        pub notification_id: NotificationId,
        pub kind: String,
        /// `None` if it is no longer kept.
        pub body: Option<String>,
    }
}

/// The deliveries of a webhook that are due, the longest due first.
pub fn due(db: &Reader<'_>, webhook_id: WebhookId, limit: i64) -> Result<Vec<Due>> {
    Ok(db.all(
        sql!(
            DUE,
            " and d.next_attempt_at <= :now order by d.next_attempt_at, d.sequence limit :limit"
        ),
        bind! { webhook_id, limit },
    )?)
}

/// The pings that are due. They stand in no log, so they wait for nothing and nothing waits for them.
pub fn pings(db: &Reader<'_>, webhook_id: WebhookId) -> Result<Vec<Due>> {
    Ok(db.all(
        sql!(DUE, " and d.sequence is null and d.next_attempt_at <= :now order by d.id"),
        bind! { webhook_id },
    )?)
}

/// The pending delivery that comes first in the log, and when it is due.
pub fn first(db: &Reader<'_>, webhook_id: WebhookId) -> Result<Option<(Due, Timestamp)>> {
    let due: Option<Due> = db.maybe(
        sql!(DUE, " and d.sequence is not null order by d.sequence limit 1"),
        bind! { webhook_id },
    )?;
    let Some(due) = due else { return Ok(None) };
    let next = find_of(db, webhook_id, due.id)?.next_attempt_at.unwrap_or(db.now());
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

/// When the next pending delivery of each of these webhooks is due, where there is one.
pub fn next_due(db: &Reader<'_>, webhooks: &[WebhookId]) -> Result<HashMap<WebhookId, Timestamp>> {
    let due: Vec<(WebhookId, Option<Timestamp>)> =
        db.all(NEXT_DUE, bind! { webhooks: webhooks.to_vec() })?;
    Ok(due.into_iter().filter_map(|(id, at)| Some((id, at?))).collect())
}

/// For a job that will want that once it has asked for other things.
pub fn next_due_ahead(db: &Reader<'_>, webhooks: &[WebhookId]) -> Result<()> {
    Ok(db.ahead(NEXT_DUE, bind! { webhooks: webhooks.to_vec() })?)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Deliveries of a webhook lie in the order of the log, each within what its notification's can be, and none
        /// is that of another webhook.
        #[test]
        fn an_id_follows_from_webhook_and_notification(
            webhook in any::<u128>(), other in any::<u128>(), sequence in 1i64..1 << 40,
            told in any::<u128>(), later in 0u128..3, next in 1i64..1000,
        ) {
            let told = told >> 2;
            let id = |webhook: u128, told: u128, sequence: i64| {
                id_of(WebhookId::from_bits(webhook), NotificationId::from_bits(told), sequence)
            };
            let own = id(webhook, told, sequence);
            prop_assert_eq!(own, id(webhook, told, sequence));
            prop_assert!(webhook == other || own != id(other, told, sequence));
            let (least, greatest) = ids_of(NotificationId::from_bits(told), sequence);
            prop_assert!(least <= own && own <= greatest);
            prop_assert_eq!(own.bits() >> 80, told >> 80);
            // Numbers are counted anew every 2^20; so many are not told in a millisecond.
            prop_assume!(later > 0 || sequence % (1 << 20) + next < 1 << 20);
            let after = id(webhook, told + (later << 80), sequence + next);
            prop_assert!(after > own);
        }
    }
}
