//! Retention: deletes old notifications, deliveries and counts, a few at a time.

use std::time::Duration;

use super::super::actions::first_sequence_since;
use super::super::delivery::{self, Attempt, Attempts};
use super::super::webhook::Webhook;
use crate::prelude::*;
use crate::signals;

/// How many accounts are checked at once.
const ACCOUNTS: i64 = 200;

/// The times before which data is deleted.
#[derive(Debug, Clone, Copy)]
pub struct Retention {
    /// Older data is deleted, unless an enabled webhook still needs it.
    cutoff: Timestamp,
    /// Older notifications are deleted even if a webhook still needs them.
    hard_cutoff: Timestamp,
}

impl Retention {
    /// The cutoffs for a retention period.
    pub fn new(now: Timestamp, period: Duration) -> Self {
        Self { cutoff: now.minus(period), hard_cutoff: now.minus(period * 2) }
    }

    /// The lowest delivery id at or after the cutoff. Delivery ids start with the time of the notification.
    fn first_delivery_id(&self) -> DeliveryId {
        DeliveryId::from_bits(u128::from(self.cutoff.millis()) << 80)
    }
}

row! {
    /// An account, and whether it has data to delete.
    #[derive(Debug, Clone, Copy)]
    pub struct PruneCandidate {
        pub id: AccountId,
        pub old: bool,
    }
}

/// The next accounts in order of their ids, each with whether it has data to delete.
pub fn accounts_to_prune(
    db: &Reader<'_>,
    retention: &Retention,
    last: AccountId,
) -> Result<Vec<PruneCandidate>> {
    Ok(db.all(
        "select a.id, (exists (select 1 from notification n
                 where n.account_id = a.id and n.created_at < :since
                     and n.sequence = (select min(m.sequence) from notification m where m.account_id = a.id)
                     and n.sequence < (select j.sequence from journal j where j.account_id = a.id))
             or exists (select 1 from webhook w join delivery d
                     on d.account_id = w.account_id and d.webhook_id = w.id and d.id < :first
                 where w.account_id = a.id and (d.status <> 'pending' or w.status <> 'enabled'))
             or exists (select 1 from webhook w join webhook_hour h
                     on h.account_id = w.account_id and h.webhook_id = w.id and h.hour < :since
                 where w.account_id = a.id)) as old
         from account a where a.id > :last order by a.id limit :limit /* any account */",
        bind! { last, since: retention.cutoff, first: retention.first_delivery_id(), limit: ACCOUNTS },
    )?)
}

/// Deletes the oldest notifications. Those that an enabled webhook still has to receive are stored for up to twice the
/// retention period.
pub fn prune_notifications(tx: &Tx<'_>, retention: &Retention) -> Result<u64> {
    // Delivery workers store their position only from time to time, so webhooks are first moved past old notifications
    // that they do not receive. These can then be deleted.
    let first_kept = first_sequence_since(tx, retention.cutoff)?;
    let behind = sql!(
        Webhook::SELECT,
        " where account_id = :account and status = 'enabled' and position + 1 < :first_kept"
    );
    for webhook in tx.all::<Webhook>(behind, bind! { first_kept })? {
        webhook.skip_unwanted(tx)?;
    }
    signals::prune_notifications(tx, retention.cutoff, first_needed(tx)?, retention.hard_cutoff)
}

/// The first sequence number that an enabled webhook still has to receive.
fn first_needed(db: &Reader<'_>) -> Result<i64> {
    let (position, replay_after): (Option<i64>, Option<i64>) = db.one(
        "select min(position), min(replay_after) from webhook
         where account_id = :account and status = 'enabled'",
        bind! {},
    )?;
    let (pending,): (Option<i64>,) = db.one(
        "select min(d.sequence) from webhook w
         join delivery d on d.account_id = w.account_id and d.webhook_id = w.id and d.status = 'pending'
         where w.account_id = :account and w.status = 'enabled'",
        bind! {},
    )?;
    let next = position.into_iter().chain(replay_after).map(|last| last + 1);
    Ok(next.chain(pending).min().unwrap_or(i64::MAX))
}

/// Deletes old deliveries that have ended, and pending ones of disabled webhooks.
pub fn prune_deliveries(tx: &Tx<'_>, retention: &Retention) -> Result<u64> {
    Ok(tx.execute(
        "delete from delivery
         where account_id = :account and (webhook_id, id) in
             (select d.webhook_id, d.id from webhook w join delivery d
                  on d.account_id = w.account_id and d.webhook_id = w.id and d.id < :first
              where w.account_id = :account and (d.status <> 'pending' or w.status <> 'enabled')
              limit 500)",
        bind! { first: retention.first_delivery_id() },
    )?)
}

/// Deletes old hourly counts of attempts.
pub fn prune_hours(tx: &Tx<'_>, retention: &Retention) -> Result<u64> {
    Ok(tx.execute(
        "delete from webhook_hour where account_id = :account and (webhook_id, hour) in
             (select h.webhook_id, h.hour from webhook w join webhook_hour h
                  on h.account_id = w.account_id and h.webhook_id = w.id and h.hour < :since
              where w.account_id = :account limit 500)",
        bind! { since: retention.cutoff },
    )?)
}

/// Deletes all deliveries of the account, which have no foreign key.
pub fn delete_all_deliveries(tx: &Tx<'_>) -> Result<()> {
    tx.execute("delete from delivery where account_id = :account", bind! {})?;
    Ok(())
}

/// Locks all webhooks of the account, as a job does that records a webhook's response.
pub fn lock_webhooks(tx: &Tx<'_>) -> Result<()> {
    tx.execute("update webhook set position = position where account_id = :account", bind! {})?;
    Ok(())
}

/// Erases the responses of receivers to a notification, and bodies stored with its deliveries. Used when personal data is
/// removed from the log.
pub fn erase_responses(tx: &Tx<'_>, notification: NotificationId, sequence: i64) -> Result<()> {
    let (least, greatest) = delivery::delivery_id_range(notification, sequence);
    let deliveries: Vec<(WebhookId, DeliveryId, Attempts)> = tx.all(
        "select d.webhook_id, d.id, d.attempts from webhook w join delivery d
             on d.account_id = w.account_id and d.webhook_id = w.id and d.id >= :least and d.id <= :greatest
                and d.sequence = :sequence
         where w.account_id = :account",
        bind! { least, greatest, sequence },
    )?;
    for (webhook_id, id, Attempts(attempts)) in deliveries {
        let without_excerpt = |attempt| Attempt { response_excerpt: None, ..attempt };
        let attempts = Attempts(attempts.into_iter().map(without_excerpt).collect());
        tx.execute(
            "update delivery set attempts = :attempts, body = null
             where account_id = :account and webhook_id = :webhook_id and id = :id",
            bind! { webhook_id, id, attempts },
        )?;
    }
    Ok(())
}
