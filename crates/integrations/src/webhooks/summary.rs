//! Summaries for the pages: the attempts of the last 24 hours, undelivered notifications, and what was missed.

use std::time::Duration;

use kit::text;

use super::actions::missed_since;
use super::delivery::{Delivery, Status};
use super::visibility::EventVisibility;
use super::webhook::Webhook;
use crate::accounts::usage::{HOUR, truncate_to_hour};
use crate::prelude::*;
use crate::signals::{self, Notification};

/// How many hours a summary covers.
pub const HOURS: u32 = 24;
/// The most notifications read to count what a webhook has missed.
const MAX_COUNTED: i64 = 1_000;
/// A webhook that is further behind than this many notifications counts as a backlog.
pub const BACKLOG_THRESHOLD: i64 = 5_000;
/// A webhook that has failed for this long counts as failing.
const FAILING_THRESHOLD: Duration = Duration::from_secs(3600);

row! {
    /// The successful and failed attempts of one hour.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Hour {
        pub hour: Timestamp,
        pub succeeded: i64,
        pub failed: i64,
    }
}

/// The last 24 hours of a webhook, oldest first.
#[derive(Debug, Clone)]
pub struct Last24Hours(pub Vec<Hour>);

impl Last24Hours {
    pub fn succeeded(&self) -> i64 {
        self.0.iter().map(|hour| hour.succeeded).sum()
    }

    pub fn failed(&self) -> i64 {
        self.0.iter().map(|hour| hour.failed).sum()
    }
}

/// The last 24 hours of a webhook. Only hours with attempts are stored.
pub fn day(db: &Reader<'_>, id: WebhookId) -> Result<Last24Hours> {
    let last = truncate_to_hour(db.now());
    let stored: Vec<Hour> = db.all(
        "select hour, succeeded, failed from webhook_hour
         where account_id = :account and webhook_id = :id and hour >= :first",
        bind! { id, first: last.minus(HOUR * (HOURS - 1)) },
    )?;
    let hours = (0..HOURS).rev().map(|back| last.minus(HOUR * back));
    let count = |hour| {
        let known = stored.iter().copied().find(|known| known.hour == hour);
        known.unwrap_or(Hour { hour, succeeded: 0, failed: 0 })
    };
    Ok(Last24Hours(hours.map(count).collect()))
}

/// When the newest delivery of a webhook was created.
pub fn last_delivery_at(db: &Reader<'_>, webhook_id: WebhookId) -> Result<Option<Timestamp>> {
    let text = "
        select created_at from delivery
        where account_id = :account and webhook_id = :webhook_id order by id desc limit 1";
    Ok(db.optional::<(Timestamp,)>(text, bind! { webhook_id })?.map(|(at,)| at))
}

/// The deliveries of a webhook that have not succeeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Undelivered {
    /// How many will be retried.
    pub pending: i64,
    /// How many have failed for good.
    pub failed: i64,
    /// The first and the last sequence number of the failed ones.
    pub failed_range: Option<(i64, i64)>,
}

/// Counts the deliveries of a webhook that have not succeeded.
pub fn count_undelivered(db: &Reader<'_>, webhook_id: WebhookId) -> Result<Undelivered> {
    let (pending,) = db.one(
        "select count(*) from delivery
         where account_id = :account and webhook_id = :webhook_id and status = 'pending'",
        bind! { webhook_id },
    )?;
    let (failed, first, last): (i64, Option<i64>, Option<i64>) = db.one(
        "select count(*), min(sequence), max(sequence) from delivery
         where account_id = :account and webhook_id = :webhook_id and status = 'failed'",
        bind! { webhook_id },
    )?;
    Ok(Undelivered { pending, failed, failed_range: first.zip(last) })
}

/// How many notifications a webhook would get if the caller turned it on and replayed what it missed: new ones since it
/// was turned off, and undelivered ones from before. Only a limited part of the log is read; also returns whether there
/// may be more.
pub fn count_missed(db: &Reader<'_>, webhook: &Webhook) -> Result<(i64, bool)> {
    let visibility = EventVisibility::of_creator(db, db.actor(), None)?;
    let visibility = visibility.map(|all| webhook.limit_to_teams(all));
    let notifications = signals::notifications(db, webhook.position, MAX_COUNTED)?;
    let is_new = |notification: &&Notification| {
        visibility.as_ref().is_some_and(|seen| webhook.should_receive(seen, notification))
    };
    let new = notifications.iter().filter(is_new).count();
    // The same deliveries that enabling with a replay sends again: no pings, and none that failed before that time.
    let (undelivered,): (i64,) = db.one(
        "select count(*) from delivery
         where account_id = :account and webhook_id = :id and sequence is not null
           and (status = 'pending' or status = 'failed' and finished_at >= :since)",
        bind! { id: webhook.id, since: missed_since(webhook) },
    )?;
    let may_have_more = i64::try_from(notifications.len()).unwrap_or(MAX_COUNTED) == MAX_COUNTED;
    Ok((i64::try_from(new).unwrap_or(MAX_COUNTED) + undelivered, may_have_more))
}

/// A search for deliveries.
#[derive(Debug, Clone)]
pub enum Search {
    All,
    Delivery(DeliveryId),
    Notification(NotificationId),
    /// Kinds that match this SQL `like` pattern.
    Kinds(String),
}

impl Search {
    /// Parses a search text: an id, or part of a kind.
    pub fn parse(input: &str) -> Self {
        let input = input.trim();
        if input.is_empty() {
            return Self::All;
        }
        if let Ok(id) = input.parse() {
            return Self::Delivery(id);
        }
        if let Ok(id) = input.parse() {
            return Self::Notification(id);
        }
        Self::Kinds(text::contains_pattern(input.trim_end_matches('*')))
    }
}

/// A page of a webhook's deliveries, newest first.
pub fn deliveries(
    db: &Reader<'_>,
    webhook_id: WebhookId,
    (status, search): (Option<Status>, &Search),
    page: &Page<DeliveryId>,
) -> Result<Vec<Delivery>> {
    let (after, limit) = (page.after(DeliveryId::MIN, DeliveryId::MAX), page.fetch_limit());
    Ok(match search {
        Search::All => db.all(
            sql!(SELECT_DELIVERIES, NEWEST_FIRST),
            bind! { webhook_id, status, after, limit },
        )?,
        Search::Delivery(id) => db.all(
            sql!(SELECT_DELIVERIES, " and id = :id", NEWEST_FIRST),
            bind! { webhook_id, status, after, limit, id },
        )?,
        Search::Notification(id) => db.all(
            sql!(SELECT_DELIVERIES, " and notification_id = :id", NEWEST_FIRST),
            bind! { webhook_id, status, after, limit, id },
        )?,
        Search::Kinds(pattern) => db.all(
            sql!(SELECT_DELIVERIES, " and kind like :pattern escape '\\'", NEWEST_FIRST),
            bind! { webhook_id, status, after, limit, pattern },
        )?,
    })
}

const SELECT_DELIVERIES: &str = sql!(
    Delivery::SELECT,
    " where account_id = :account and webhook_id = :webhook_id
        and (cast(:status as text) is null or status = :status)"
);
const NEWEST_FIRST: &str = " and id < :after order by id desc limit :limit";

/// The webhooks of an account that need attention.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WebhookAlerts {
    /// How many webhooks there are.
    pub all: i64,
    /// Webhooks that were turned off automatically.
    pub turned_off: Vec<WebhookId>,
    /// Webhooks whose recent attempts have all failed.
    pub failing: Vec<WebhookId>,
    /// How many deliveries have failed for good.
    pub failed: i64,
}

/// Finds the webhooks of the account that need attention.
pub fn find_alerts(db: &Reader<'_>) -> Result<WebhookAlerts> {
    let failed = "select count(*) from delivery where account_id = :account and status = 'failed'";
    let turned_off = "
        select id from webhook
        where account_id = :account and status = 'disabled' and disabled_reason <> 'manual'";
    let failing = "
        select id from webhook
        where account_id = :account and status = 'enabled' and failing_since is not null";
    let ids = |text| -> Result<Vec<WebhookId>> {
        Ok(db.all(text, bind! {})?.into_iter().map(|(id,)| id).collect())
    };
    Ok(WebhookAlerts {
        all: count_webhooks(db)?,
        turned_off: ids(turned_off)?,
        failing: ids(failing)?,
        failed: db.one::<(i64,)>(failed, bind! {})?.0,
    })
}

/// How many webhooks the account has.
pub(super) fn count_webhooks(db: &Reader<'_>) -> Result<i64> {
    let text = "select count(*) from webhook where account_id = :account";
    Ok(db.one::<(i64,)>(text, bind! {})?.0)
}

/// How many webhooks of all accounts are far behind their log, and how many have been failing for a long time.
pub fn backlog(db: &Reader<'_>) -> Result<(i64, i64)> {
    let (far_behind,) = db.one(
        "select count(*) from webhook w join journal j on j.account_id = w.account_id
         where w.status = 'enabled' and w.slot >= 0 and j.sequence - w.position > :far
         /* any account */",
        bind! { far: BACKLOG_THRESHOLD },
    )?;
    let (failing,): (i64,) = db.one(
        "select count(*) from webhook
         where status = 'enabled' and slot >= 0 and failing_since <= :long_ago /* any account */",
        bind! { long_ago: db.now().minus(FAILING_THRESHOLD) },
    )?;
    Ok((far_behind, failing))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn searches_are_for_an_id_or_part_of_a_kind() {
        assert!(matches!(Search::parse("Team.*"), Search::Kinds(pattern) if pattern == "%team.%"));
        assert!(matches!(Search::parse("100%"), Search::Kinds(pattern) if pattern == "%100\\%%"));
        assert!(matches!(Search::parse("  "), Search::All));
        let id = DeliveryId::from_bits(7 << 76).to_string();
        assert!(matches!(Search::parse(&id), Search::Delivery(_)));
        let id = NotificationId::from_bits(7 << 76).to_string();
        assert!(matches!(Search::parse(&id), Search::Notification(_)));
    }
}
