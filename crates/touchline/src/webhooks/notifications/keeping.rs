//! Keeping only what is to be kept: old notifications, and what became of them, are forgotten a few at a time.

use std::time::Duration;

use kit::Timestamp;
use store::{Reader, Tx, bind, row, sql};

use super::super::asking::first_since;
use super::super::delivery::{self, Attempt, Attempts};
use super::super::webhook::Webhook;
use crate::error::Result;
use crate::ids::{AccountId, DeliveryId, NotificationId, WebhookId};
use crate::signals;

/// How many accounts are looked at together.
const ACCOUNTS: i64 = 200;

/// From when on things are kept.
#[derive(Debug, Clone, Copy)]
pub struct Kept {
    /// What is older goes.
    since: Timestamp,
    /// What is older than this goes even if a webhook still waits for it.
    at_most_since: Timestamp,
}

impl Kept {
    /// What is kept now, if things are kept for so long.
    pub fn until(now: Timestamp, time: Duration) -> Self {
        Self { since: now.minus(time), at_most_since: now.minus(time * 2) }
    }

    /// Deliveries of what was told since then have no smaller id: it begins with the moment.
    fn first_delivery(&self) -> DeliveryId {
        DeliveryId::from_bits(u128::from(self.since.millis()) << 80)
    }
}

row! {
    /// An account, and whether it has anything that is too old.
    #[derive(Debug, Clone, Copy)]
    pub struct Looked {
        pub id: AccountId,
        pub old: bool,
    }
}

/// The next accounts in order of their ids, each with whether there is something to forget.
pub fn look(db: &Reader<'_>, kept: &Kept, last: AccountId) -> Result<Vec<Looked>> {
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
        bind! { last, since: kept.since, first: kept.first_delivery(), limit: ACCOUNTS },
    )?)
}

/// Forgets the beginning of the log. What an enabled webhook was not told yet stays, for as long again.
pub fn forget_news(tx: &Tx<'_>, kept: &Kept) -> Result<u64> {
    pass_over(tx, kept)?;
    signals::forget(tx, kept.since, first_needed(tx)?, kept.at_most_since)
}

/// How far a webhook has come is written down only now and then: one that wants nothing of what is old does not wait for it.
fn pass_over(tx: &Tx<'_>, kept: &Kept) -> Result<()> {
    let first_kept = first_since(tx, kept.since)?;
    let behind: Vec<Webhook> = tx.all(
        sql!(
            Webhook::SELECT,
            " where account_id = :account and status = 'enabled' and position + 1 < :first_kept"
        ),
        bind! { first_kept },
    )?;
    behind.iter().try_for_each(|webhook| webhook.pass_over(tx).map(drop))
}

/// The first number that an enabled webhook still has to be told.
fn first_needed(db: &Reader<'_>) -> Result<i64> {
    let (position, again): (Option<i64>, Option<i64>) = db.one(
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
    let coming = position.into_iter().chain(again).map(|last| last + 1);
    Ok(coming.chain(pending).min().unwrap_or(i64::MAX))
}

/// Forgets deliveries that have come to an end, with what they tell of; and those that nobody will try any more.
pub fn forget_deliveries(tx: &Tx<'_>, kept: &Kept) -> Result<u64> {
    Ok(tx.run(
        "delete from delivery
         where account_id = :account and (webhook_id, id) in
             (select d.webhook_id, d.id from webhook w join delivery d
                  on d.account_id = w.account_id and d.webhook_id = w.id and d.id < :first
              where w.account_id = :account and (d.status <> 'pending' or w.status <> 'enabled')
              limit 500)",
        bind! { first: kept.first_delivery() },
    )?)
}

/// Forgets how attempts went in hours that are long past.
pub fn forget_hours(tx: &Tx<'_>, kept: &Kept) -> Result<u64> {
    Ok(tx.run(
        "delete from webhook_hour where account_id = :account and (webhook_id, hour) in
             (select h.webhook_id, h.hour from webhook w join webhook_hour h
                  on h.account_id = w.account_id and h.webhook_id = w.id and h.hour < :since
              where w.account_id = :account limit 500)",
        bind! { since: kept.since },
    )?)
}

/// Forgets what receivers answered when they were told of this, and what they were sent if a delivery kept it by itself.
pub fn forget_answers(tx: &Tx<'_>, notification: NotificationId, sequence: i64) -> Result<()> {
    let (least, greatest) = delivery::ids_of(notification, sequence);
    let told: Vec<(WebhookId, DeliveryId, Attempts)> = tx.all(
        "select d.webhook_id, d.id, d.attempts from webhook w join delivery d
             on d.account_id = w.account_id and d.webhook_id = w.id and d.id >= :least and d.id <= :greatest
                and d.sequence = :sequence
         where w.account_id = :account",
        bind! { least, greatest, sequence },
    )?;
    for (webhook_id, id, Attempts(attempts)) in told {
        let silent = |attempt| Attempt { response_excerpt: None, ..attempt };
        let attempts = Attempts(attempts.into_iter().map(silent).collect());
        tx.run(
            "update delivery set attempts = :attempts, body = null
             where account_id = :account and webhook_id = :webhook_id and id = :id",
            bind! { webhook_id, id, attempts },
        )?;
    }
    Ok(())
}
