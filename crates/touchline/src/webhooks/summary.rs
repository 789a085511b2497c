//! Webhooks at a glance: how the last day went, what did not arrive, and what was missed.

use std::collections::HashMap;
use std::time::Duration;

use kit::{Timestamp, text};
use store::{Reader, bind, row, sql};

use super::asking::missing_since;
use super::delivery::{Delivery, Status};
use super::ears::Ears;
use super::webhook::Webhook;
use crate::accounts::rights::Listed;
use crate::accounts::usage::{HOUR, hour_of};
use crate::error::Result;
use crate::ids::{DeliveryId, NotificationId, WebhookId};
use crate::paging::Page;
use crate::signals;

/// So many hours are looked back on.
pub const HOURS: u32 = 24;
/// So much of the log is looked through to count what a webhook missed.
const COUNTED: i64 = 1_000;
/// A webhook that is further behind than this deserves a look.
pub const FAR: i64 = 5_000;
/// And so does one that has failed for so long.
const LONG: Duration = Duration::from_secs(3600);

/// What became of the attempts of one hour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hour {
    pub hour: Timestamp,
    pub succeeded: i64,
    pub failed: i64,
}

/// The last day of a webhook, hour by hour, the oldest first.
#[derive(Debug, Clone)]
pub struct Day(pub Vec<Hour>);

impl Day {
    /// A day that ends now and in which nothing happened.
    fn empty(now: Timestamp) -> Self {
        let last = hour_of(now);
        let hours = (0..HOURS).rev().map(|back| last.minus(HOUR * back));
        Self(hours.map(|hour| Hour { hour, succeeded: 0, failed: 0 }).collect())
    }

    pub fn succeeded(&self) -> i64 {
        self.0.iter().map(|hour| hour.succeeded).sum()
    }

    pub fn failed(&self) -> i64 {
        self.0.iter().map(|hour| hour.failed).sum()
    }
}

row! {
    #[derive(Debug)]
    struct Counted {
        webhook_id: WebhookId,
        hour: Timestamp,
        succeeded: i64,
        failed: i64,
    }
}

/// The last day of each of these webhooks.
pub fn days(db: &Reader<'_>, ids: &[WebhookId]) -> Result<HashMap<WebhookId, Day>> {
    let mut days: HashMap<_, _> = ids.iter().map(|id| (*id, Day::empty(db.now()))).collect();
    if ids.is_empty() {
        return Ok(days);
    }
    let first = hour_of(db.now()).minus(HOUR * (HOURS - 1));
    let found: Vec<Counted> = db.all(
        "select webhook_id, hour, succeeded, failed from webhook_hour
         where account_id = :account and webhook_id in (:ids) and hour >= :first",
        bind! { ids: ids.to_vec(), first },
    )?;
    for Counted { webhook_id, hour, succeeded, failed } in found {
        let day = days.get_mut(&webhook_id).map(|Day(hours)| hours);
        let known = day.and_then(|hours| hours.iter_mut().find(|known| known.hour == hour));
        if let Some(known) = known {
            *known = Hour { hour, succeeded, failed };
        }
    }
    Ok(days)
}

/// The last day of one webhook.
pub fn day(db: &Reader<'_>, id: WebhookId) -> Result<Day> {
    Ok(days(db, &[id])?.remove(&id).unwrap_or_else(|| Day::empty(db.now())))
}

/// When the newest of what a webhook was told was first put on its way.
pub fn last(db: &Reader<'_>, webhook_id: WebhookId) -> Result<Option<Timestamp>> {
    let found: Option<(Timestamp,)> = db.maybe(
        "select created_at from delivery
         where account_id = :account and webhook_id = :webhook_id order by id desc limit 1",
        bind! { webhook_id },
    )?;
    Ok(found.map(|(at,)| at))
}

/// What has not arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Open {
    /// To be tried again.
    pub pending: i64,
    /// Given up.
    pub failed: i64,
    /// The first and the last number of what was given up.
    pub numbers: Option<(i64, i64)>,
}

/// What has not arrived at a webhook.
pub fn open(db: &Reader<'_>, webhook_id: WebhookId) -> Result<Open> {
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
    Ok(Open { pending, failed, numbers: first.zip(last) })
}

/// How many notifications a webhook would be told if whoever looks turned it on: what happened since it was
/// turned off, as far as it was looked through, and what did not arrive before. Says also whether there may be more.
pub fn missed(db: &Reader<'_>, webhook: &Webhook) -> Result<(i64, bool)> {
    let teams = webhook.team_ids.as_ref().map(|Listed(teams)| teams.as_slice());
    let ears = Ears::of_creator(db, db.actor(), None)?.map(|ears| ears.narrowed(teams));
    let news = signals::notifications(db, webhook.position, COUNTED)?;
    let wanted = |ears: &Ears| news.iter().filter(|news| webhook.wants(ears, news)).count();
    let wanted = ears.as_ref().map_or(0, wanted);
    // The same as is told again: what was given up before stays so, and pings are not told again.
    let (waiting,): (i64,) = db.one(
        "select count(*) from delivery
         where account_id = :account and webhook_id = :id and sequence is not null
           and (status = 'pending' or status = 'failed' and finished_at >= :since)",
        bind! { id: webhook.id, since: missing_since(webhook) },
    )?;
    let more = i64::try_from(news.len()).unwrap_or(COUNTED) == COUNTED;
    Ok((i64::try_from(wanted).unwrap_or(COUNTED) + waiting, more))
}

/// Which deliveries are wanted.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    pub status: Option<Status>,
    pub search: Search,
}

/// What is looked for.
#[derive(Debug, Clone, Default)]
pub enum Search {
    #[default]
    Everything,
    Delivery(DeliveryId),
    Notification(NotificationId),
    /// Kinds that look like this.
    Kinds(String),
}

impl Search {
    /// What somebody means who types an id, a kind or a part of one.
    pub fn read(typed: &str) -> Self {
        let typed = typed.trim();
        if typed.is_empty() {
            return Self::Everything;
        }
        if let Ok(id) = typed.parse() {
            return Self::Delivery(id);
        }
        if let Ok(id) = typed.parse() {
            return Self::Notification(id);
        }
        Self::Kinds(text::contains_pattern(typed.trim_end_matches('*')))
    }
}

/// A page of a webhook's deliveries, the newest first.
pub fn deliveries(
    db: &Reader<'_>,
    webhook_id: WebhookId,
    wanted: &Wanted,
    page: &Page<DeliveryId>,
) -> Result<Vec<Delivery>> {
    let after = page.after(DeliveryId::LEAST, DeliveryId::GREATEST);
    let (status, limit) = (wanted.status, page.fetch());
    Ok(match &wanted.search {
        Search::Everything => {
            db.all(sql!(LISTED, NEWEST), bind! { webhook_id, status, after, limit })?
        }
        Search::Delivery(id) => db.all(
            sql!(LISTED, " and id = :id", NEWEST),
            bind! { webhook_id, status, after, limit, id },
        )?,
        Search::Notification(id) => db.all(
            sql!(LISTED, " and notification_id = :id", NEWEST),
            bind! { webhook_id, status, after, limit, id },
        )?,
        Search::Kinds(pattern) => db.all(
            sql!(LISTED, " and kind like :pattern escape '\\'", NEWEST),
            bind! { webhook_id, status, after, limit, pattern },
        )?,
    })
}

const LISTED: &str = sql!(
    Delivery::SELECT,
    " where account_id = :account and webhook_id = :webhook_id
        and (cast(:status as text) is null or status = :status)"
);
const NEWEST: &str = " and id < :after order by id desc limit :limit";

/// What of an account's webhooks waits for somebody.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Waiting {
    /// How many webhooks there are.
    pub all: i64,
    /// Those that were turned off, and not by hand.
    pub turned_off: Vec<WebhookId>,
    /// Those with nothing but failures lately.
    pub failing: Vec<WebhookId>,
    /// Deliveries that were given up.
    pub failed: i64,
}

/// What of the account's webhooks waits for somebody.
pub fn waiting(db: &Reader<'_>) -> Result<Waiting> {
    let (all,) = db.one("select count(*) from webhook where account_id = :account", bind! {})?;
    let (failed,) = db.one(
        "select count(*) from delivery where account_id = :account and status = 'failed'",
        bind! {},
    )?;
    let turned_off: Vec<(WebhookId,)> = db.all(
        "select id from webhook
         where account_id = :account and status = 'disabled' and disabled_reason <> 'by_hand'",
        bind! {},
    )?;
    let failing: Vec<(WebhookId,)> = db.all(
        "select id from webhook
         where account_id = :account and status = 'enabled' and failing_since is not null",
        bind! {},
    )?;
    let ids = |found: Vec<(WebhookId,)>| found.into_iter().map(|(id,)| id).collect();
    Ok(Waiting { all, turned_off: ids(turned_off), failing: ids(failing), failed })
}

/// Of all accounts: how many webhooks are far behind their log, and how many have failed for long.
pub fn backlog(db: &Reader<'_>) -> Result<(i64, i64)> {
    let (far,): (i64,) = db.one(
        "select count(*) from webhook w join journal j on j.account_id = w.account_id
         where w.status = 'enabled' and w.slot >= 0 and j.sequence - w.position > :far
         /* any account */",
        bind! { far: FAR },
    )?;
    let (failing,): (i64,) = db.one(
        "select count(*) from webhook
         where status = 'enabled' and slot >= 0 and failing_since <= :long_ago /* any account */",
        bind! { long_ago: db.now().minus(LONG) },
    )?;
    Ok((far, failing))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_typed_is_an_id_or_a_part_of_a_kind() {
        assert!(matches!(Search::read("Team.*"), Search::Kinds(pattern) if pattern == "%team.%"));
        assert!(matches!(Search::read("100%"), Search::Kinds(pattern) if pattern == "%100\\%%"));
        assert!(matches!(Search::read("  "), Search::Everything));
        let id = DeliveryId::from_bits(7 << 76).to_string();
        assert!(matches!(Search::read(&id), Search::Delivery(_)));
        let id = NotificationId::from_bits(7 << 76).to_string();
        assert!(matches!(Search::read(&id), Search::Notification(_)));
    }
}
