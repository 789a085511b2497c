//! What one can ask of a webhook by hand: a test, a delivery once more, everything once more, on and off.

use std::time::Duration;

use kit::Timestamp;
use serde::Serialize;
use serde_json::json;
use store::{Reader, Tx, bind};
use utoipa::ToSchema;

use super::access::{self, Manager};
use super::delivery::{self, Attempts, Delivery, Status as DeliveryStatus};
use super::edit::{Means, taken_over};
use super::kinds::PING;
use super::outcome;
use super::webhook::{self, Reason, Status, Webhook};
use crate::error::{Code, Error, Fault, Result};
use crate::expected::Expected;
use crate::ids::{DeliveryId, NotificationId, WebhookId};
use crate::signals::{self, Tell};

/// What a test tells of.
#[derive(Debug, Serialize, ToSchema)]
#[serde(tag = "object", rename = "ping")]
pub struct Ping {
    /// The webhook that was tested.
    pub webhook_id: WebhookId,
}

/// A webhook is turned off so soon after its receiver said that it is gone.
const LAST_WORDS: Duration = Duration::from_secs(60);

/// Puts a ping on its way: signed and sent like everything else, but it stands in no log.
pub fn test(tx: &Tx<'_>, who: &Manager, id: WebhookId) -> Result<Delivery> {
    let webhook = enabled(tx, who, id)?;
    let notification_id: NotificationId = tx.new_id();
    let body = json!({
        "id": notification_id, "type": PING, "timestamp": tx.now(), "api_version": "v1",
        "account_id": webhook.account_id, "sequence": null,
        "data": { "object": Ping { webhook_id: id }, "previous": null },
    });
    let delivery = Delivery {
        id: tx.new_id(),
        account_id: tx.account(),
        webhook_id: id,
        sequence: None,
        notification_id,
        kind: PING.to_owned(),
        body: Some(body.to_string()),
        status: DeliveryStatus::Pending,
        tries: 0,
        attempts: Attempts::default(),
        next_attempt_at: Some(tx.now()),
        created_at: tx.now(),
        finished_at: None,
        updated_at: tx.now(),
        version: 1,
    };
    wake(tx, id)?;
    tx.run(Delivery::INSERT, &delivery.bind())?;
    tx.audit("webhook.tested", &id.to_string(), &json!({}))?;
    Ok(delivery)
}

/// Puts a delivery on its way once more, whatever became of it.
pub fn redeliver(tx: &Tx<'_>, who: &Manager, id: DeliveryId) -> Result<Delivery> {
    let webhook_id = access::managed_delivery(tx, who, id)?.webhook_id;
    enabled(tx, who, webhook_id)?;
    wake(tx, webhook_id)?;
    // Another attempt may have been written down meanwhile.
    let before = delivery::find_of(tx, webhook_id, id)?;
    let delivery = Delivery {
        status: DeliveryStatus::Pending,
        tries: 0,
        next_attempt_at: Some(tx.now()),
        finished_at: None,
        updated_at: tx.now(),
        version: before.version + 1,
        ..before
    };
    outcome::update(tx, &delivery)?;
    tx.audit("webhook.redelivered", &id.to_string(), &json!({}))?;
    Ok(delivery)
}

/// Which part of the log a webhook is told again.
#[derive(Debug, Clone, Copy)]
pub enum Part {
    /// Numbers from the first to the last, both included.
    Numbers(i64, i64),
    /// What happened from the first moment on and before the second.
    Time(Timestamp, Timestamp),
}

/// What will be told again.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(tag = "object", rename = "replay")]
pub struct Replay {
    pub webhook_id: WebhookId,
    /// The first number of the log that is looked at.
    pub from_sequence: i64,
    /// The last number that is looked at.
    pub to_sequence: i64,
    /// Whether only what did not arrive is told again.
    pub only_missed: bool,
}

/// Tells a webhook a part of the log again, as far as it wants it and has come.
pub fn replay(
    tx: &Tx<'_>,
    who: &Manager,
    id: WebhookId,
    part: Part,
    only_missed: bool,
) -> Result<Replay> {
    let webhook = enabled(tx, who, id)?;
    if webhook.replay_after.is_some() {
        return Err(Error::new(
            Code::Conflict,
            "The webhook is already being told something again.",
        ));
    }
    let (first, last, gone) = match part {
        Part::Numbers(first, last) => (first, last, first < oldest(tx)?),
        Part::Time(from, until) => {
            (first_since(tx, from)?, first_since(tx, until)? - 1, is_cut_off(tx, from)?)
        }
    };
    if gone {
        return Err(Error::new(
            Code::Gone,
            "That part of the log is no longer kept. The operator of this server sets how long it is kept with \
                TOUCHLINE_NEWS_KEPT.",
        ));
    }
    let last = last.min(webhook.pass_over(tx)?);
    if last < first {
        let detail = "There is nothing to tell again in this part of the log.";
        return Err(Error::invalid(vec![Fault::new("", "empty_range", detail)]));
    }
    tx.run(
        "update webhook set replay_after = :after, replay_until = :last, replay_missed = :only_missed
         where account_id = :account and id = :id",
        bind! { id, after: first - 1, last, only_missed },
    )?;
    tx.ring();
    let replay = Replay { webhook_id: id, from_sequence: first, to_sequence: last, only_missed };
    tx.audit("webhook.replayed", &id.to_string(), &json!(replay))?;
    Ok(replay)
}

/// Turns a webhook on. It goes on where it was turned off, with what it was being told again too, or, if what was missed
/// is not to be told, with what happens from now on. Whoever turns it on answers for it.
pub fn enable(
    tx: &Tx<'_>,
    means: &Means,
    id: WebhookId,
    expected: &Expected,
    replay_missed: bool,
) -> Result<Webhook> {
    let before = expected.check(access::managed(tx, &means.into(), id))?;
    if before.status == Status::Enabled {
        return Err(Error::invalid_state("The webhook is on."));
    }
    answerable(tx, means, &before)?;
    let sequence = signals::sequence(tx)?;
    let since = missing_since(&before);
    let mut after = Webhook {
        status: Status::Enabled,
        disabled_reason: None,
        disabled_at: None,
        failures: 0,
        failing_since: None,
        resting_until: None,
        // Whatever it missed comes slowly at first.
        recovered_at: Some(tx.now()),
        creator: tx.actor().to_owned(),
        creator_app: means.app.clone(),
        updated_at: tx.now(),
        version: before.version + 1,
        ..before
    };
    if replay_missed {
        after.position = after.position.max(oldest(tx)? - 1);
        if let Some(first) = first_missed(tx, id, since)? {
            let missed = first.max(oldest(tx)?) - 1;
            after.replay_missed |= after.replay_after.is_none();
            after.replay_after = Some(after.replay_after.map_or(missed, |told| told.min(missed)));
            after.replay_until = Some(after.position);
        }
    } else {
        (after.replay_after, after.replay_until) = (None, None);
        after.position = sequence;
    }
    tx.run(
        "update webhook set status = :status, disabled_reason = null, disabled_at = null,
             position = :position, replay_after = :replay_after, replay_until = :replay_until,
             replay_missed = :replay_missed, failures = 0, failing_since = null,
             resting_until = null, recovered_at = :recovered_at, creator = :creator,
             creator_app = :creator_app, updated_at = :updated_at, version = :version
         where account_id = :account and id = :id",
        &after.bind(),
    )?;
    if !replay_missed {
        tx.run(
            "update delivery set status = 'failed', next_attempt_at = null, finished_at = :now,
                 updated_at = :now, version = version + 1
             where account_id = :account and webhook_id = :id and status = 'pending'",
            bind! { id },
        )?;
    }
    tx.ring();
    tx.audit("webhook.enabled", &id.to_string(), &json!({ "replay_missed": replay_missed }))?;
    Ok(after)
}

/// Fails if it would be told less than before, or nothing, once whoever asks answers for it.
fn answerable(db: &Reader<'_>, means: &Means, before: &Webhook) -> Result<()> {
    let why = "Whoever turns a webhook on answers for it: you may not read all that it is told of.";
    match taken_over(db, means, before, before.events.0.clone()) {
        Err(error) if error.code == Code::ValidationFailed => Err(Error::new(Code::Forbidden, why)),
        done => done.map(drop),
    }
}

/// Turns a webhook off by hand. What it would have been told waits in the log.
pub fn disable(tx: &Tx<'_>, who: &Manager, id: WebhookId, expected: &Expected) -> Result<Webhook> {
    let before = expected.check(access::managed(tx, who, id))?;
    match webhook::disable(tx, before.id, Reason::ByHand)? {
        Some(webhook) => Ok(webhook),
        None => Err(Error::invalid_state("The webhook is off.")),
    }
}

/// A webhook that the caller may manage and that is enabled.
fn enabled(db: &Reader<'_>, who: &Manager, id: WebhookId) -> Result<Webhook> {
    let webhook = access::managed(db, who, id)?;
    match webhook.status {
        Status::Enabled => Ok(webhook),
        Status::Disabled => Err(Error::invalid_state("The webhook is off; turn it on first.")),
    }
}

/// Somebody waits for an answer: a receiver that is left in peace is tried once anyway. Comes before anything is written
/// to its deliveries, as everywhere: whoever has the webhook may write them, and nobody waits for the other in a circle.
fn wake(tx: &Tx<'_>, id: WebhookId) -> Result<()> {
    tx.run(
        "update webhook set resting_until = null where account_id = :account and id = :id",
        bind! { id },
    )?;
    tx.ring();
    Ok(())
}

/// Since when a webhook has missed something: since everything began to fail, or since its receiver said that it
/// is gone, whichever was first: what was under way then may have failed after it. What failed before that was given
/// up, and stays so.
pub fn missing_since(webhook: &Webhook) -> Option<Timestamp> {
    let gone = webhook.disabled_at.filter(|_| webhook.disabled_reason == Some(Reason::Gone));
    let last_words = gone.map(|at| at.minus(LAST_WORDS));
    webhook.failing_since.into_iter().chain(last_words).min()
}

/// The first number that did not arrive since then.
fn first_missed(
    db: &Reader<'_>,
    webhook_id: WebhookId,
    since: Option<Timestamp>,
) -> Result<Option<i64>> {
    let (failed,): (Option<i64>,) = db.one(
        "select min(sequence) from delivery
         where account_id = :account and webhook_id = :webhook_id and status = 'failed'
           and finished_at >= :since",
        bind! { webhook_id, since },
    )?;
    let (pending,): (Option<i64>,) = db.one(
        "select min(sequence) from delivery
         where account_id = :account and webhook_id = :webhook_id and status = 'pending'",
        bind! { webhook_id },
    )?;
    Ok(failed.into_iter().chain(pending).min())
}

/// The first number of the log that is still kept; one beyond the last if none is.
pub fn oldest(db: &Reader<'_>) -> Result<i64> {
    let (first,): (Option<i64>,) =
        db.one("select min(sequence) from notification where account_id = :account", bind! {})?;
    Ok(match first {
        Some(first) => first,
        None => signals::sequence(db)? + 1,
    })
}

/// Whether something that happened at this moment or later may be no longer kept.
fn is_cut_off(db: &Reader<'_>, moment: Timestamp) -> Result<bool> {
    let sequence = oldest(db)?;
    if sequence == 1 {
        return Ok(false);
    }
    let kept: Option<(Timestamp,)> = db.maybe(
        "select created_at from notification where account_id = :account and sequence = :sequence",
        bind! { sequence },
    )?;
    Ok(kept.is_none_or(|(at,)| moment < at))
}

/// The first number of what happened at this moment or later; one beyond the last if nothing did. Numbers rise
/// with time, so the place is found by halving.
pub fn first_since(db: &Reader<'_>, moment: Timestamp) -> Result<i64> {
    let (mut low, mut high) = (oldest(db)?, signals::sequence(db)? + 1);
    while low < high {
        let sequence = low + (high - low) / 2;
        let (at,): (Timestamp,) = db.one(
            "select created_at from notification where account_id = :account and sequence = :sequence",
            bind! { sequence },
        )?;
        if at < moment { low = sequence + 1 } else { high = sequence }
    }
    Ok(low)
}
