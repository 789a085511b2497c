//! The numbers and open tasks of the overview page.

use std::time::Duration;

use super::users::{self, UserFilter};
use crate::accounts::account::{self, Account};
use crate::accounts::api_key::{self, State};
use crate::joining::{claim, invitation};
use crate::prelude::*;
use crate::signals::AuditEntry;
use crate::webhooks::summary::{self as webhooks, WebhookAlerts};

/// How far ahead the overview lists events.
const WEEK: Duration = Duration::from_secs(7 * 86_400);

/// The data of the overview page.
#[derive(Debug)]
pub struct Summary {
    pub account: Account,
    pub people: i64,
    pub events: i64,
    pub failed_emails: i64,
    pub webhooks: WebhookAlerts,
    pub claims: i64,
    pub invitations: i64,
    pub old_keys: i64,
    pub expiring_keys: i64,
    pub owners_without_two_step: i64,
    pub latest: Vec<AuditEntry>,
}

/// Reads everything that the overview page shows.
pub fn load(db: &Reader<'_>) -> Result<Summary> {
    let (events,) = db.one(
        "select count(*) from event
         where account_id = :account and starts_at >= :now and starts_at < :until
           and status <> 'cancelled'",
        bind! { until: db.now().plus(WEEK) },
    )?;
    let (failed_emails,) = db.one(
        "select count(*) from mail where account_id = :account and status = 'failed'",
        bind! {},
    )?;
    let latest = db.all(
        sql!(AuditEntry::SELECT, " where account_id = :account order by position desc limit 10"),
        bind! {},
    )?;
    Ok(Summary {
        account: account::find(db)?,
        people: users::count(db, &UserFilter::default())?,
        events,
        failed_emails,
        webhooks: webhooks::find_alerts(db)?,
        claims: claim::count_open(db)?,
        invitations: invitation::count_open(db)?,
        old_keys: api_key::count(db, State::NeedsRotation)?,
        expiring_keys: api_key::count(db, State::Expiring)?,
        owners_without_two_step: users::count(db, &UserFilter::PASSWORD_ONLY_OWNERS)?,
        latest,
    })
}

row! {
    /// An event of the next seven days.
    #[derive(Debug)]
    pub struct UpcomingEvent {
        pub id: EventId,
        pub title: String,
        pub team: String,
        pub starts_at: Timestamp,
    }
}

impl Paged for UpcomingEvent {
    type SortKey = (Timestamp, EventId);

    fn sort_key(&self) -> Self::SortKey {
        (self.starts_at, self.id)
    }
}

/// A page of the events of the next seven days, by start.
pub fn upcoming_events(
    db: &Reader<'_>,
    page: &Page<(Timestamp, EventId)>,
) -> Result<Vec<UpcomingEvent>> {
    let (time, after) = page.last.unwrap_or((db.now(), EventId::MIN));
    Ok(db.all(
        "select e.id, e.title, t.name as team, e.starts_at
         from event e join team t on t.account_id = e.account_id and t.id = e.team_id
         where e.account_id = :account and e.starts_at < :until and e.status <> 'cancelled'
           and e.starts_at >= :now and (e.starts_at, e.id) > (:time, :after)
         order by e.starts_at, e.id limit :limit",
        bind! { until: db.now().plus(WEEK), time, after, limit: page.fetch_limit() },
    )?)
}

row! {
    /// An email that could not be delivered.
    #[derive(Debug)]
    pub struct FailedEmail {
        pub id: EmailId,
        pub to_name: String,
        pub to_address: String,
        pub subject: String,
        pub last_error: Option<String>,
        pub updated_at: Timestamp,
    }
}

impl_resource!(FailedEmail by EmailId: Paged);

/// A page of the failed emails, newest first.
pub fn failed_emails(db: &Reader<'_>, page: &Page<EmailId>) -> Result<Vec<FailedEmail>> {
    debug_assert_eq!(page.order, Order::Desc);
    let after = page.after(EmailId::MIN, EmailId::MAX);
    Ok(db.all(
        "select id, to_name, to_address, subject, last_error, updated_at from mail
         where account_id = :account and status = 'failed' and id < :after
         order by id desc limit :limit",
        bind! { after, limit: page.fetch_limit() },
    )?)
}
