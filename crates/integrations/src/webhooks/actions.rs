//! Actions on a webhook: test, redeliver, replay, enable and disable.

use std::time::Duration;

use super::access::{self, Manager};
use super::delivery::{self, Delivery, Status as DeliveryStatus};
use super::edit::{EditContext, validate_takeover};
use super::outcome;
use super::webhook::{self, Reason, Status, Webhook};
use crate::notification_kinds::PING;
use crate::prelude::*;
use crate::signals;

/// The object of a test notification.
#[macros::object("ping")]
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WebhookPing)]
pub struct Ping {
    /// The webhook that was tested.
    pub webhook_id: WebhookId,
}

/// The longest time between a receiver's status 410 and the moment when its webhook is turned off.
const GONE_GRACE_PERIOD: Duration = Duration::from_secs(60);

/// Sends a ping. It is signed and sent like every notification, but it is not in the log.
pub fn test(tx: &Tx<'_>, manager: &Manager, id: WebhookId) -> Result<Delivery> {
    let webhook = find_enabled(tx, manager, id)?;
    let notification_id: NotificationId = tx.new_id();
    let body = json!({
        "id": notification_id, "type": PING, "timestamp": tx.now(), "api_version": "v1",
        "account_id": webhook.account_id, "sequence": null,
        "data": { "object": Ping { webhook_id: id }, "previous": null },
    });
    let delivery = Delivery {
        body: Some(body.to_string()),
        ..Delivery::new(tx, id, tx.new_id(), (notification_id, None), PING)
    };
    clear_pause(tx, id)?;
    tx.execute(Delivery::INSERT, &delivery.bind())?;
    tx.audit("webhook.tested", &id.to_string(), &json!({}))?;
    Ok(delivery)
}

/// Sends a delivery again, whatever its status.
pub fn redeliver(tx: &Tx<'_>, manager: &Manager, id: DeliveryId) -> Result<Delivery> {
    let webhook_id = access::find_managed_delivery(tx, manager, id)?.webhook_id;
    find_enabled(tx, manager, webhook_id)?;
    clear_pause(tx, webhook_id)?;
    // Read again after `clear_pause` has locked the webhook: another attempt may have been recorded meanwhile.
    let before = delivery::find_for_webhook(tx, webhook_id, id)?;
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

/// The part of the log to replay.
#[derive(Debug, Clone, Copy)]
pub enum ReplayRange {
    /// Sequence numbers from the first to the last, both included.
    Sequences(i64, i64),
    /// A time range: the start is included, the end is not.
    Time(Timestamp, Timestamp),
}

/// A part of the log that is being sent to a webhook again.
#[macros::object("replay")]
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = WebhookReplay)]
pub struct Replay {
    /// The webhook that receives the notifications.
    pub webhook_id: WebhookId,
    /// The first sequence number to replay.
    pub from_sequence: i64,
    /// The last sequence number to replay.
    pub to_sequence: i64,
    /// Whether notifications that were delivered successfully are skipped.
    pub only_missed: bool,
}

/// Starts to send a part of the log to a webhook again: the notifications that it subscribes to, up to its position.
pub fn replay(
    tx: &Tx<'_>,
    manager: &Manager,
    id: WebhookId,
    range: ReplayRange,
    only_missed: bool,
) -> Result<Replay> {
    let webhook = find_enabled(tx, manager, id)?;
    if webhook.replay_after.is_some() {
        let detail = "A replay for this webhook is already running. Try again when it has ended.";
        return Err(Error::new(Code::Conflict, detail));
    }
    let (first, last, is_deleted) = match range {
        ReplayRange::Sequences(first, last) => (first, last, first < oldest_sequence(tx)?),
        ReplayRange::Time(from, until) => (
            first_sequence_since(tx, from)?,
            first_sequence_since(tx, until)? - 1,
            is_pruned_since(tx, from)?,
        ),
    };
    if is_deleted {
        return Err(Error::new(
            Code::Gone,
            "This part of the log has been deleted. The operator of this server sets how long notifications are stored with \
                TOUCHLINE_NOTIFICATION_RETENTION.",
        ));
    }
    let last = last.min(webhook.skip_unwanted(tx)?);
    if last < first {
        let detail = "There are no notifications to replay in this range.";
        return Err(Error::invalid(vec![Fault::new("", "empty_range", detail)]));
    }
    tx.execute(
        "update webhook set replay_after = :after, replay_until = :last, replay_missed = :only_missed
         where account_id = :account and id = :id",
        bind! { id, after: first - 1, last, only_missed },
    )?;
    tx.notify_change();
    let replay = Replay { webhook_id: id, from_sequence: first, to_sequence: last, only_missed };
    tx.audit("webhook.replayed", &id.to_string(), &json!(replay))?;
    Ok(replay)
}

/// Turns a webhook on. With `replay_missed` it continues where it was turned off, including a replay that was running.
/// Otherwise it starts with new notifications. The webhook now belongs to the caller.
pub fn enable(
    tx: &Tx<'_>,
    context: &EditContext,
    id: WebhookId,
    expected: &IfMatch,
    replay_missed: bool,
) -> Result<Webhook> {
    let before = expected.check(access::find_managed(tx, &context.into(), id))?;
    if before.status == Status::Enabled {
        return Err(Error::invalid_state("The webhook is already enabled."));
    }
    check_can_take_over(tx, context, &before)?;
    let sequence = signals::sequence(tx)?;
    let since = missed_since(&before);
    let mut after = Webhook {
        status: Status::Enabled,
        disabled_reason: None,
        disabled_at: None,
        failures: 0,
        failing_since: None,
        paused_until: None,
        // Missed notifications are sent slowly at first.
        recovered_at: Some(tx.now()),
        creator: tx.actor().to_owned(),
        creator_app: context.app.clone(),
        updated_at: tx.now(),
        version: before.version + 1,
        ..before
    };
    if replay_missed {
        after.position = after.position.max(oldest_sequence(tx)? - 1);
        if let Some(first) = first_missed(tx, id, since)? {
            let missed = first.max(oldest_sequence(tx)?) - 1;
            after.replay_missed |= after.replay_after.is_none();
            after.replay_after = after.replay_after.min(Some(missed)).or(Some(missed));
            after.replay_until = Some(after.position);
        }
    } else {
        (after.replay_after, after.replay_until) = (None, None);
        after.position = sequence;
    }
    tx.execute(
        "update webhook set status = :status, disabled_reason = null, disabled_at = null,
             position = :position, replay_after = :replay_after, replay_until = :replay_until,
             replay_missed = :replay_missed, failures = 0, failing_since = null,
             paused_until = null, recovered_at = :recovered_at, creator = :creator,
             creator_app = :creator_app, updated_at = :updated_at, version = :version
         where account_id = :account and id = :id",
        &after.bind(),
    )?;
    if !replay_missed {
        tx.execute(
            "update delivery set status = 'failed', next_attempt_at = null, finished_at = :now,
                 updated_at = :now, version = version + 1
             where account_id = :account and webhook_id = :id and status = 'pending'",
            bind! { id },
        )?;
    }
    tx.notify_change();
    tx.audit("webhook.enabled", &id.to_string(), &json!({ "replay_missed": replay_missed }))?;
    Ok(after)
}

/// Fails if the webhook would receive fewer notifications than before once it belongs to the caller.
fn check_can_take_over(db: &Reader<'_>, context: &EditContext, before: &Webhook) -> Result<()> {
    let detail = "You cannot enable this webhook: it subscribes to notifications that you are not allowed to read.";
    match validate_takeover(db, context, before, before.events.0.clone()) {
        Err(error) if error.code == Code::ValidationFailed => {
            Err(Error::new(Code::Forbidden, detail))
        }
        result => result.map(drop),
    }
}

/// Turns a webhook off manually. New notifications stay in the log until it is turned on again.
pub fn disable(
    tx: &Tx<'_>,
    manager: &Manager,
    id: WebhookId,
    expected: &IfMatch,
) -> Result<Webhook> {
    let before = expected.check(access::find_managed(tx, manager, id))?;
    let disabled = || Error::invalid_state("The webhook is already disabled.");
    webhook::disable(tx, before.id, Reason::Manual)?.ok_or_else(disabled)
}

/// Finds a webhook that the caller can manage and that is enabled.
fn find_enabled(db: &Reader<'_>, manager: &Manager, id: WebhookId) -> Result<Webhook> {
    let webhook = access::find_managed(db, manager, id)?;
    match webhook.status {
        Status::Enabled => Ok(webhook),
        Status::Disabled => Err(Error::invalid_state("The webhook is disabled. Enable it first.")),
    }
}

/// Ends a pause of the webhook, because somebody is waiting for the result of an attempt. This locks the webhook, and must
/// come before any write to its deliveries. Every transaction locks in this order, so there are no deadlocks.
fn clear_pause(tx: &Tx<'_>, id: WebhookId) -> Result<()> {
    let text = "update webhook set paused_until = null where account_id = :account and id = :id";
    tx.execute(text, bind! { id })?;
    tx.notify_change();
    Ok(())
}

/// Since when a webhook has missed notifications: since its receiver began to fail or answered 410, whichever was first.
/// Attempts that were in flight then may have failed later. Deliveries that failed before that time stay failed.
pub fn missed_since(webhook: &Webhook) -> Option<Timestamp> {
    let gone = webhook.disabled_at.filter(|_| webhook.disabled_reason == Some(Reason::Gone));
    let gone_since = gone.map(|at| at.minus(GONE_GRACE_PERIOD));
    webhook.failing_since.into_iter().chain(gone_since).min()
}

/// The first sequence number that was not delivered since then.
fn first_missed(
    db: &Reader<'_>,
    webhook_id: WebhookId,
    since: Option<Timestamp>,
) -> Result<Option<i64>> {
    const FIRST: &str = "select min(sequence) from delivery where account_id = :account and webhook_id = :webhook_id";
    let failed = sql!(FIRST, " and status = 'failed' and finished_at >= :since");
    let (failed,): (Option<i64>,) = db.one(failed, bind! { webhook_id, since })?;
    let pending = sql!(FIRST, " and status = 'pending'");
    let (pending,): (Option<i64>,) = db.one(pending, bind! { webhook_id })?;
    Ok(failed.into_iter().chain(pending).min())
}

/// The oldest sequence number that is still stored; one more than the latest if none is.
pub fn oldest_sequence(db: &Reader<'_>) -> Result<i64> {
    let (first,): (Option<i64>,) =
        db.one("select min(sequence) from notification where account_id = :account", bind! {})?;
    first.map_or_else(|| Ok(signals::sequence(db)? + 1), Ok)
}

/// Whether notifications from this time or later may have been deleted.
fn is_pruned_since(db: &Reader<'_>, time: Timestamp) -> Result<bool> {
    let sequence = oldest_sequence(db)?;
    Ok(sequence != 1 && time_of(db, sequence)?.is_none_or(|at| time < at))
}

fn time_of(db: &Reader<'_>, sequence: i64) -> Result<Option<Timestamp>> {
    let text =
        "select created_at from notification where account_id = :account and sequence = :sequence";
    Ok(db.optional::<(Timestamp,)>(text, bind! { sequence })?.map(|(at,)| at))
}

/// The first sequence number at this time or later; one more than the latest if there is none. Sequence numbers rise with
/// time, so this is a binary search.
pub fn first_sequence_since(db: &Reader<'_>, time: Timestamp) -> Result<i64> {
    let (mut low, mut high) = (oldest_sequence(db)?, signals::sequence(db)? + 1);
    while low < high {
        let sequence = low + (high - low) / 2;
        let at = time_of(db, sequence)?.ok_or_else(Error::not_found)?;
        if at < time { low = sequence + 1 } else { high = sequence }
    }
    Ok(low)
}
