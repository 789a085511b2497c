//! The webhook: an address that is told what happens.

use std::collections::HashMap;

use kit::{Timestamp, words};
use serde::Serialize;
use store::{Bound, Column, Reader, Tx, Value, bind, record, sql, word_column};
use utoipa::ToSchema;

use super::ears::Ears;
use super::kinds;
use super::signature::Secret;
use crate::accounts::rights::Listed;
use crate::error::{Code, Result};
use crate::ids::{AccountId, TeamId, WebhookId};
use crate::secrets::SealKey;
use crate::signals::{self, Notification, Tell};
use crate::thing::thing;

/// How many numbers of the log are looked at together.
const STRIDE: i64 = 200;
/// Into how many shares the work is divided among nodes.
pub const SLOTS: i64 = 64;

words! {
    /// In which order a webhook is told.
    pub enum Ordering as WebhookOrdering {
        /// Several at once; one that fails does not hold up the others.
        Parallel = "parallel",
        /// One after the other, in the order in which things happened; one that fails holds up the rest.
        Strict = "strict",
    }
}
word_column!(Ordering);

words! {
    /// Whether a webhook is told anything.
    pub enum Status as WebhookStatus {
        Enabled = "enabled",
        Disabled = "disabled",
    }
}
word_column!(Status);

words! {
    /// Why a webhook was turned off.
    pub enum Reason as WebhookDisabledReason {
        /// Somebody turned it off.
        ByHand = "by_hand",
        /// Its receiver answered 410: it is gone for good.
        Gone = "gone",
        /// It failed for days.
        Failing = "failing",
        /// The key or user that made it may have no webhooks any more.
        CreatorGone = "creator_gone",
    }
}
word_column!(Reason);

/// Secrets from before rotations, sealed, and until when each of them also signs; the latest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Earlier(pub Vec<(Vec<u8>, i64)>);

impl Earlier {
    /// Those that still sign.
    pub fn at(&self, now: Timestamp) -> impl Iterator<Item = &(Vec<u8>, i64)> {
        self.0.iter().filter(move |(_, until)| now.micros() < *until)
    }
}

impl Bound for Earlier {
    fn write(&self) -> Value<'_> {
        Value::Text(serde_json::to_string(&self.0).expect("secrets are bytes").into())
    }
}

impl Column for Earlier {
    fn read(value: Value<'_>) -> store::Result<Self> {
        let earlier = serde_json::from_str(&String::read(value)?);
        earlier.map(Self).map_err(|_| store::Error::Corrupt("secrets of a webhook".to_owned()))
    }
}

record! {
    /// An address that is told what happens.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
    #[serde(tag = "object", rename = "webhook")]
    pub struct Webhook in webhook {
        pub id: WebhookId,
        #[serde(skip)]
        pub account_id: AccountId,
        /// Where notifications are sent.
        #[schema(examples("https://hooks.example.org/touchline"))]
        pub url: String,
        pub description: Option<String>,
        /// What it is told of: kinds such as `event.created`, `event.*` for all of a sort, or `*`.
        #[schema(value_type = Vec<String>, examples("event.*", "message.posted"))]
        pub events: Listed<String>,
        /// The teams it is told of; `null` for all.
        #[schema(value_type = Option<Vec<TeamId>>)]
        pub team_ids: Option<Listed<TeamId>>,
        pub ordering: Ordering,
        pub status: Status,
        pub disabled_reason: Option<Reason>,
        pub disabled_at: Option<Timestamp>,
        #[serde(skip)]
        pub secret: Vec<u8>,
        #[serde(skip)]
        pub previous_secrets: Earlier,
        /// Until when the secret before the last rotation also signs.
        pub previous_secret_until: Option<Timestamp>,
        /// The key or user that made it. It is told no more than they may read.
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
        /// Since when there were nothing but failures.
        pub failing_since: Option<Timestamp>,
        #[serde(skip)]
        pub resting_until: Option<Timestamp>,
        #[serde(skip)]
        pub recovered_at: Option<Timestamp>,
        pub created_at: Timestamp,
        pub updated_at: Timestamp,
        /// Rises with every change.
        pub version: i64,
    }
}

thing!(Webhook by WebhookId: Subject Versioned Paged);

/// One webhook.
pub fn find(db: &Reader<'_>, id: WebhookId) -> Result<Webhook> {
    Ok(db.one(sql!(Webhook::SELECT, " where account_id = :account and id = :id"), bind! { id })?)
}

const SOME: &str = sql!(Webhook::SELECT, " where account_id = :account and id in (:ids)");

/// For a job that will want them once it has asked for other things.
pub fn some_ahead(db: &Reader<'_>, ids: &[WebhookId]) -> Result<()> {
    Ok(db.ahead(SOME, bind! { ids: ids.to_vec() })?)
}

/// Those of these webhooks that there are.
pub fn some(db: &Reader<'_>, ids: &[WebhookId]) -> Result<HashMap<WebhookId, Webhook>> {
    let found: Vec<Webhook> = db.all(SOME, bind! { ids: ids.to_vec() })?;
    Ok(found.into_iter().map(|webhook| (webhook.id, webhook)).collect())
}

impl Webhook {
    /// Whether it is to be told this: it was asked for, and whoever made the webhook may read it.
    pub fn wants(&self, ears: &Ears, news: &Notification) -> bool {
        let Listed(wishes) = &self.events;
        wishes.iter().any(|wish| kinds::means(wish, &news.kind))
            && ears.hear(&news.kind, &news.body)
    }

    /// What whoever made it may be told of the teams it is for; `None` if they may have no webhooks any more.
    pub fn ears(&self, db: &Reader<'_>) -> Result<Option<Ears>> {
        Ok(self.creators_ears(db)?.map(|ears| self.narrow(ears)))
    }

    /// What whoever made it may be told; `None` if they are gone or may have no webhooks any more.
    pub fn creators_ears(&self, db: &Reader<'_>) -> Result<Option<Ears>> {
        match Ears::of_creator(db, &self.creator, self.creator_app.as_deref()) {
            Err(error) if error.code == Code::NotFound => Ok(None),
            found => found,
        }
    }

    /// As much of what they may be told as is of the teams it is for.
    pub fn narrow(&self, ears: Ears) -> Ears {
        ears.narrowed(self.team_ids.as_ref().map(|Listed(teams)| teams.as_slice()))
    }

    /// Goes on in the log past what the webhook does not want, and says how far it has come then. Carriers write
    /// that down only now and then; whoever rests on it, or changes what is wanted, has to know it.
    pub fn pass_over(&self, tx: &Tx<'_>) -> Result<i64> {
        let Some(ears) = self.ears(tx)? else { return Ok(self.position) };
        let mut position = self.position;
        'log: loop {
            let news = signals::notifications(tx, position, STRIDE)?;
            for one in &news {
                if self.wants(&ears, one) {
                    break 'log;
                }
                position = one.sequence;
            }
            if news.is_empty() {
                break;
            }
        }
        tx.run(
            "update webhook set position = :position
             where account_id = :account and id = :id and position < :position",
            bind! { id: self.id, position },
        )?;
        Ok(position)
    }

    /// The secrets that sign now, the newest first.
    pub fn secrets(&self, key: &SealKey, now: Timestamp) -> Vec<Secret> {
        let about = self.id.to_string();
        let open = |sealed: &[u8]| key.open(about.as_bytes(), sealed).map(Secret::from_bytes);
        let before = self.previous_secrets.at(now).map(|(sealed, _)| sealed.as_slice());
        std::iter::once(self.secret.as_slice()).chain(before).filter_map(open).collect()
    }
}

/// Turns a webhook off, unless it is off. Says whether it was on. Nothing it was told or would have been told
/// is forgotten.
pub fn disable(tx: &Tx<'_>, id: WebhookId, reason: Reason) -> Result<Option<Webhook>> {
    let turned = tx.run(
        "update webhook set status = 'disabled', disabled_reason = :reason, disabled_at = :now,
             updated_at = :now, version = version + 1
         where account_id = :account and id = :id and status = 'enabled'",
        bind! { id, reason },
    )?;
    if turned == 0 {
        return Ok(None);
    }
    let webhook = find(tx, id)?;
    tx.tell("webhook.disabled", &webhook)?;
    Ok(Some(webhook))
}
