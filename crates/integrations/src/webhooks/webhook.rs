//! The webhook: a URL that receives notifications.

use std::collections::HashMap;

use kit::string_enum;
use store::{Column, ToValue, Value};

use super::signature::Secret;
use super::visibility::EventVisibility;
use crate::notification_kinds;
use crate::prelude::*;
use crate::rights::SpaceSeparated;
use crate::secrets::SealKey;
use crate::signals::{self, Notification};

/// How many notifications of the log are read at once.
const SCAN_BATCH: i64 = 200;
/// The number of slots that divide the webhooks among nodes.
pub const SLOTS: i64 = 64;

string_enum! {
    /// The order in which notifications are sent to a webhook.
    pub enum Ordering as WebhookOrdering {
        /// Several at once; a failed delivery does not delay the others.
        Parallel = "parallel",
        /// One after the other, in the order of the log; a failed delivery delays all that follow.
        Strict = "strict",
    }
}
enum_column!(Ordering);

string_enum! {
    /// Whether notifications are sent to a webhook.
    pub enum Status as WebhookStatus {
        Enabled = "enabled",
        Disabled = "disabled",
    }
}
enum_column!(Status);

string_enum! {
    /// Why a webhook was disabled.
    pub enum Reason as WebhookDisabledReason {
        /// It was disabled manually.
        Manual = "manual",
        /// Its receiver answered with status 410, which means that it is permanently gone.
        Gone = "gone",
        /// Every delivery failed for several days.
        Failing = "failing",
        /// The key or user it belongs to can no longer have webhooks.
        CreatorRemoved = "creator_removed",
    }
}
enum_column!(Reason);

/// The encrypted secrets from before rotations, and until when each is used for signing, in microseconds; newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PreviousSecrets(pub Vec<(Vec<u8>, i64)>);

impl PreviousSecrets {
    /// The secrets that are still used for signing.
    pub fn active_at(&self, now: Timestamp) -> impl Iterator<Item = &(Vec<u8>, i64)> {
        self.0.iter().filter(move |(_, until)| now.micros() < *until)
    }
}

impl ToValue for PreviousSecrets {
    fn to_value(&self) -> Value<'_> {
        Value::Text(serde_json::to_string(&self.0).expect("secrets can be serialized").into())
    }
}

impl Column for PreviousSecrets {
    fn from_value(value: Value<'_>) -> store::Result<Self> {
        let secrets = serde_json::from_str(&String::from_value(value)?);
        secrets.map(Self).map_err(|_| store::Error::Corrupt("secrets of a webhook".to_owned()))
    }
}

record! {
    /// A URL that receives notifications.
    #[macros::object("webhook")]
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
    pub struct Webhook in webhook {
        /// Unique ID of the webhook.
        pub id: WebhookId,
        #[serde(skip)]
        pub account_id: AccountId,
        /// URL that receives the notifications.
        #[schema(examples("https://hooks.example.org/touchline"))]
        pub url: String,
        /// What the webhook is for.
        #[schema(examples("Our website"))]
        pub description: Option<String>,
        /// Notification types that it subscribes to, such as `event.created`; `event.*` for all types of a group, or `*` for all.
        #[schema(value_type = Vec<String>, examples("event.*", "message.posted"))]
        pub events: SpaceSeparated<String>,
        /// Only notifications about these teams are sent; `null` for all.
        #[schema(value_type = Option<Vec<TeamId>>)]
        pub team_ids: Option<SpaceSeparated<TeamId>>,
        /// Order in which notifications are sent: `parallel` (several at once; a failed delivery does not delay the
        /// others) or `strict` (one after the other, by `sequence`; a failed delivery delays all that follow).
        pub ordering: Ordering,
        /// Whether notifications are sent: `enabled` or `disabled`.
        pub status: Status,
        /// Why the webhook was disabled: `manual`, `gone` (its receiver responded with 410), `failing` (every delivery
        /// failed for several days) or `creator_removed` (the key or user it belongs to lost access); `null` while it
        /// is enabled.
        pub disabled_reason: Option<Reason>,
        /// When the webhook was disabled; `null` while it is enabled.
        pub disabled_at: Option<Timestamp>,
        #[serde(skip)]
        pub secret: Vec<u8>,
        #[serde(skip)]
        pub previous_secrets: PreviousSecrets,
        /// Until when requests are also signed with the previous secret; `null` if the secret was never rotated.
        pub previous_secret_until: Option<Timestamp>,
        /// ID of the key or user that owns the webhook: the one that created it, or last changed or enabled it. The
        /// webhook receives only what its owner can read.
        #[serde(rename = "created_by")]
        #[schema(examples("key_01kbm2x5q8f7vr0n3hd9tzc4wy"))]
        pub creator: String,
        #[serde(skip)]
        pub creator_app: Option<String>,
        #[serde(skip)]
        pub slot: i64,
        #[serde(skip)]
        pub position: i64,
        #[serde(skip)]
        pub replay_after: Option<i64>,
        #[serde(skip)]
        pub replay_until: Option<i64>,
        #[serde(skip)]
        pub replay_missed: bool,
        #[serde(skip)]
        pub failures: i64,
        /// Since when every attempt has failed; `null` if the last attempt succeeded.
        pub failing_since: Option<Timestamp>,
        #[serde(skip)]
        pub paused_until: Option<Timestamp>,
        #[serde(skip)]
        pub recovered_at: Option<Timestamp>,
        /// When the webhook was created.
        pub created_at: Timestamp,
        /// When the webhook was last changed.
        pub updated_at: Timestamp,
        /// Version of the webhook. It rises with every change.
        pub version: i64,
    }
}

impl_resource!(Webhook by WebhookId: Subject Versioned Paged);

/// Finds a webhook.
pub fn find(db: &Reader<'_>, id: WebhookId) -> Result<Webhook> {
    Ok(db.one(sql!(Webhook::SELECT, " where account_id = :account and id = :id"), bind! { id })?)
}

const SELECT_MANY: &str = sql!(Webhook::SELECT, " where account_id = :account and id in (:ids)");

/// Prefetches the rows that [`find_many`] reads.
pub fn prefetch_many(db: &Reader<'_>, ids: &[WebhookId]) -> Result<()> {
    Ok(db.prefetch(SELECT_MANY, bind! { ids: ids.to_vec() })?)
}

/// Finds several webhooks. Ids that do not exist are left out.
pub fn find_many(db: &Reader<'_>, ids: &[WebhookId]) -> Result<HashMap<WebhookId, Webhook>> {
    let webhooks: Vec<Webhook> = db.all(SELECT_MANY, bind! { ids: ids.to_vec() })?;
    Ok(webhooks.into_iter().map(|webhook| (webhook.id, webhook)).collect())
}

impl Webhook {
    /// Whether a notification is to be sent to this webhook: the webhook subscribes to it, and its creator can read it.
    pub fn should_receive(
        &self,
        visibility: &EventVisibility,
        notification: &Notification,
    ) -> bool {
        let Notification { kind, body, .. } = notification;
        notification_kinds::any_pattern_matches(&self.events.0, kind)
            && visibility.can_see(kind, body)
    }

    /// What its creator can see of the webhook's teams; `None` if they can no longer have webhooks.
    pub fn visibility(&self, db: &Reader<'_>) -> Result<Option<EventVisibility>> {
        Ok(self.creator_visibility(db)?.map(|visibility| self.limit_to_teams(visibility)))
    }

    /// What its creator can see; `None` if they no longer exist or can no longer have webhooks.
    pub fn creator_visibility(&self, db: &Reader<'_>) -> Result<Option<EventVisibility>> {
        match EventVisibility::of_creator(db, &self.creator, self.creator_app.as_deref()) {
            Err(error) if error.code == Code::NotFound => Ok(None),
            result => result,
        }
    }

    /// Limits a visibility to the webhook's teams.
    pub fn limit_to_teams(&self, visibility: EventVisibility) -> EventVisibility {
        visibility.limited_to(self.team_ids.as_ref().map(|SpaceSeparated(teams)| teams.as_slice()))
    }

    /// Moves the webhook's position past notifications that it does not receive, and returns the new position. Delivery
    /// workers store the position only from time to time, so this is needed before a change of the subscription, and before
    /// anything that depends on the exact position.
    pub fn skip_unwanted(&self, tx: &Tx<'_>) -> Result<i64> {
        let Some(visibility) = self.visibility(tx)? else { return Ok(self.position) };
        let mut position = self.position;
        'log: loop {
            let notifications = signals::notifications(tx, position, SCAN_BATCH)?;
            for notification in &notifications {
                if self.should_receive(&visibility, notification) {
                    break 'log;
                }
                position = notification.sequence;
            }
            if notifications.is_empty() {
                break;
            }
        }
        tx.execute(
            "update webhook set position = :position
             where account_id = :account and id = :id and position < :position",
            bind! { id: self.id, position },
        )?;
        Ok(position)
    }

    /// The secrets that are used for signing now, newest first.
    pub fn secrets(&self, key: &SealKey, now: Timestamp) -> Vec<Secret> {
        let context = self.id.to_string();
        let decrypt = |sealed: &[u8]| key.open(context.as_bytes(), sealed).map(Secret::from_bytes);
        let previous = self.previous_secrets.active_at(now).map(|(sealed, _)| sealed.as_slice());
        std::iter::once(self.secret.as_slice()).chain(previous).filter_map(decrypt).collect()
    }
}

/// Disables a webhook. Returns it, or `None` if it was already disabled. Its deliveries and its position in the log stay.
pub fn disable(tx: &Tx<'_>, id: WebhookId, reason: Reason) -> Result<Option<Webhook>> {
    let updated = tx.execute(
        "update webhook set status = 'disabled', disabled_reason = :reason, disabled_at = :now,
             updated_at = :now, version = version + 1
         where account_id = :account and id = :id and status = 'enabled'",
        bind! { id, reason },
    )?;
    if updated == 0 {
        return Ok(None);
    }
    let webhook = find(tx, id)?;
    tx.publish("webhook.disabled", &webhook)?;
    Ok(Some(webhook))
}
