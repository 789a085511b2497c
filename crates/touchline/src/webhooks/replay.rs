//! Telling again: what stands in a part of the log is put on its way once more, a few at a time.

use store::{Tx, bind, sql};

use super::delivery::{Attempts, Delivery, Status, id_of};
use super::webhook::{self, Webhook};
use crate::error::{Code, Result};
use crate::ids::WebhookId;
use crate::signals;

/// How many numbers of the log are looked at in one step.
const STEP: i64 = 200;

/// Puts the next few of what a webhook is to be told again on their way. Says whether there is more.
pub fn step(tx: &Tx<'_>, id: WebhookId) -> Result<bool> {
    let webhook = match webhook::find(tx, id) {
        Err(error) if error.code == Code::NotFound => return Ok(false),
        found => found?,
    };
    let (Some(after), Some(until)) = (webhook.replay_after, webhook.replay_until) else {
        return Ok(false);
    };
    let Some(ears) = webhook.ears(tx)? else { return Ok(false) };
    let news = signals::notifications(tx, after, STEP)?;
    // Numbers have no gaps, but the first ones may be no longer kept.
    let last = news.last().map_or(until, |news| news.sequence);
    let more = last < until;
    let (replay_after, replay_until) = (more.then_some(last), more.then_some(until));
    // First of all, so that nobody can delete it before the rest is written. Somebody may have asked for another part
    // meanwhile, or for none.
    let still = tx.run(
        "update webhook set replay_after = :replay_after, replay_until = :replay_until
         where account_id = :account and id = :id
           and replay_after = :after and replay_until = :until",
        bind! { id, replay_after, replay_until, after, until },
    )?;
    if still == 0 {
        return Ok(false);
    }
    for news in news.iter().filter(|news| news.sequence <= until) {
        if webhook.wants(&ears, news) {
            again(tx, &webhook, news)?;
        }
    }
    Ok(more)
}

/// Puts one notification on its way to a webhook, whether or not it was before; where only what was missed is
/// wanted, unless it has arrived.
fn again(tx: &Tx<'_>, webhook: &Webhook, news: &signals::Notification) -> Result<()> {
    let (webhook_id, missed) = (webhook.id, webhook.replay_missed);
    let delivery = Delivery {
        id: id_of(webhook_id, news.id, news.sequence),
        account_id: tx.account(),
        webhook_id,
        sequence: Some(news.sequence),
        notification_id: news.id,
        kind: news.kind.clone(),
        body: None,
        status: Status::Pending,
        tries: 0,
        attempts: Attempts::default(),
        next_attempt_at: Some(tx.now()),
        created_at: tx.now(),
        finished_at: None,
        updated_at: tx.now(),
        version: 1,
    };
    let insert = sql!(Delivery::INSERT, " on conflict do nothing");
    if tx.run(insert, &delivery.bind())? == 0 {
        tx.later(
            "update delivery set status = 'pending', tries = 0, next_attempt_at = :now, finished_at = null,
                 updated_at = :now, version = version + 1
             where account_id = :account and webhook_id = :webhook_id and id = :id
               and (not :missed or status <> 'succeeded')",
            bind! { webhook_id, id: delivery.id, missed },
        )?;
    }
    Ok(())
}
