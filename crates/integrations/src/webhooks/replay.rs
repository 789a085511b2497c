//! Replays: a part of the log is sent to a webhook again, a few notifications at a time.

use super::delivery::Delivery;
use super::webhook::{self, Webhook};
use crate::prelude::*;
use crate::signals::{self, Notification};

/// How many notifications of the log are read in one step.
const BATCH_SIZE: i64 = 200;

/// Queues the next few notifications of a replay for delivery. Returns whether there are more.
pub fn step(tx: &Tx<'_>, id: WebhookId) -> Result<bool> {
    let webhook = match webhook::find(tx, id) {
        Err(error) if error.code == Code::NotFound => return Ok(false),
        result => result?,
    };
    let (Some(after), Some(until)) = (webhook.replay_after, webhook.replay_until) else {
        return Ok(false);
    };
    let Some(visibility) = webhook.visibility(tx)? else { return Ok(false) };
    let notifications = signals::notifications(tx, after, BATCH_SIZE)?;
    // The log has no gaps, but its oldest notifications may have been deleted.
    let last = notifications.last().map_or(until, |notification| notification.sequence);
    let has_more = last < until;
    let (replay_after, replay_until) = (has_more.then_some(last), has_more.then_some(until));
    // The webhook is written first, which locks it, so that it cannot be deleted before the deliveries are written.
    // Nothing is changed if somebody has started another replay or ended this one meanwhile.
    let updated = tx.execute(
        "update webhook set replay_after = :replay_after, replay_until = :replay_until
         where account_id = :account and id = :id
           and replay_after = :after and replay_until = :until",
        bind! { id, replay_after, replay_until, after, until },
    )?;
    if updated == 0 {
        return Ok(false);
    }
    for notification in notifications.iter().filter(|one| one.sequence <= until) {
        if webhook.should_receive(&visibility, notification) {
            queue_delivery(tx, &webhook, notification)?;
        }
    }
    Ok(has_more)
}

/// Queues one notification for delivery to a webhook, whether or not it was sent before. With `replay_missed`, successful
/// deliveries are skipped.
fn queue_delivery(tx: &Tx<'_>, webhook: &Webhook, notification: &Notification) -> Result<()> {
    let (webhook_id, missed) = (webhook.id, webhook.replay_missed);
    let delivery = Delivery::of_notification(tx, webhook_id, notification);
    let insert = sql!(Delivery::INSERT, " on conflict do nothing");
    if tx.execute(insert, &delivery.bind())? == 0 {
        tx.execute_deferred(
            "update delivery set status = 'pending', tries = 0, next_attempt_at = :now, finished_at = null,
                 updated_at = :now, version = version + 1
             where account_id = :account and webhook_id = :webhook_id and id = :id
               and (not :missed or status <> 'succeeded')",
            bind! { webhook_id, id: delivery.id, missed },
        )?;
    }
    Ok(())
}
