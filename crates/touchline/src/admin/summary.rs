//! What the overview counts and what waits for somebody.

use std::time::Duration;

use kit::Timestamp;
use store::{Reader, bind, row, sql};

use super::people;
use crate::accounts::account::{self, Account};
use crate::error::Result;
use crate::ids::{EventId, MailId};
use crate::joining::{claim, invitation};
use crate::paging::{Order, Page, Paged};
use crate::signals::AuditEntry;
use crate::thing::thing;
use crate::webhooks::summary::{self as webhooks, Waiting};

/// A key that is older deserves to be replaced.
const OLD_KEY: Duration = Duration::from_secs(90 * 86_400);
/// A key that expires so soon deserves a look.
const SOON: Duration = Duration::from_secs(14 * 86_400);
/// The week that lies ahead.
const WEEK: Duration = Duration::from_secs(7 * 86_400);

/// What the overview tells.
#[derive(Debug)]
pub struct Summary {
    pub account: Account,
    pub people: i64,
    pub events: i64,
    pub failed_letters: i64,
    pub webhooks: Waiting,
    pub claims: i64,
    pub invitations: i64,
    pub old_keys: i64,
    pub expiring_keys: i64,
    pub owners_without_two_step: i64,
    pub latest: Vec<AuditEntry>,
}

/// Looks at everything the overview tells.
pub fn of(db: &Reader<'_>) -> Result<Summary> {
    let (events,) = db.one(
        "select count(*) from event
         where account_id = :account and starts_at >= :now and starts_at < :until
           and status <> 'cancelled'",
        bind! { until: db.now().plus(WEEK) },
    )?;
    let (failed_letters,) = db.one(
        "select count(*) from mail where account_id = :account and status = 'failed'",
        bind! {},
    )?;
    let (old_keys, expiring_keys) = keys(db)?;
    let latest = db.all(
        sql!(AuditEntry::SELECT, " where account_id = :account order by position desc limit 10"),
        bind! {},
    )?;
    Ok(Summary {
        account: account::find(db)?,
        people: people::count(db)?,
        events,
        failed_letters,
        webhooks: webhooks::waiting(db)?,
        claims: claim::count_open(db)?,
        invitations: invitation::count_open(db)?,
        old_keys,
        expiring_keys,
        owners_without_two_step: people::owners_without_two_step(db)?,
        latest,
    })
}

/// How many keys are old, and how many expire soon.
fn keys(db: &Reader<'_>) -> Result<(i64, i64)> {
    let live: Vec<(Timestamp, Option<Timestamp>)> = db.all(
        "select created_at, expires_at from api_key
         where account_id = :account and revoked_at is null
           and (expires_at is null or expires_at > :now)",
        bind! {},
    )?;
    let (old, soon) = (db.now().minus(OLD_KEY), db.now().plus(SOON));
    let count = |found: usize| i64::try_from(found).unwrap_or(i64::MAX);
    let expiring = |(_, end): &&(_, Option<Timestamp>)| end.is_some_and(|end| end < soon);
    Ok((
        count(live.iter().filter(|(made, _)| *made < old).count()),
        count(live.iter().filter(expiring).count()),
    ))
}

row! {
    /// An event of the week that lies ahead.
    #[derive(Debug)]
    pub struct Ahead {
        pub id: EventId,
        pub title: String,
        pub team: String,
        pub starts_at: Timestamp,
    }
}

impl Paged for Ahead {
    type Place = (Timestamp, EventId);

    fn place(&self) -> Self::Place {
        (self.starts_at, self.id)
    }
}

/// A page of the events of the next seven days, by start.
pub fn week(db: &Reader<'_>, page: &Page<(Timestamp, EventId)>) -> Result<Vec<Ahead>> {
    let (time, after) = page.last.unwrap_or((db.now(), EventId::LEAST));
    Ok(db.all(
        "select e.id, e.title, t.name as team, e.starts_at
         from event e join team t on t.account_id = e.account_id and t.id = e.team_id
         where e.account_id = :account and e.starts_at < :until and e.status <> 'cancelled'
           and e.starts_at >= :now and (e.starts_at, e.id) > (:time, :after)
         order by e.starts_at, e.id limit :limit",
        bind! { until: db.now().plus(WEEK), time, after, limit: page.fetch() },
    )?)
}

row! {
    /// A letter that did not arrive.
    #[derive(Debug)]
    pub struct Failed {
        pub id: MailId,
        pub to_name: String,
        pub to_address: String,
        pub subject: String,
        pub last_error: Option<String>,
        pub updated_at: Timestamp,
    }
}

thing!(Failed by MailId: Paged);

/// A page of the letters that did not arrive, newest first.
pub fn failed_letters(db: &Reader<'_>, page: &Page<MailId>) -> Result<Vec<Failed>> {
    debug_assert_eq!(page.order, Order::Desc);
    let after = page.after(MailId::LEAST, MailId::GREATEST);
    Ok(db.all(
        "select id, to_name, to_address, subject, last_error, updated_at from mail
         where account_id = :account and status = 'failed' and id < :after
         order by id desc limit :limit",
        bind! { after, limit: page.fetch() },
    )?)
}
