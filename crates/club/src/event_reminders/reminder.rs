//! When reminders of an event are sent, and who has been reminded. A reminder is recorded in the transaction that queues its email, and
//! jobs of one account never overlap, so several nodes can look for due reminders.

use std::collections::BTreeMap;
use std::time::Duration;

use super::emails::{self, ReminderEmail};
use crate::events::event::{self, Event};
use crate::events::reminders::{ReminderSummary, ReminderTimes};
use crate::events::rsvp;
use crate::mail::pending;
use crate::personal_data::MergedRecords;
use crate::prelude::*;
use crate::roster::notification_settings::EmailKind;
use crate::teams::team::{self, Team};

/// The minimum time between the creation of an event and its automatic reminder, so that a coach can still correct it.
const GRACE: Duration = Duration::from_secs(3600);
/// Minimum time between two manual reminders to the same person.
const MIN_MANUAL_INTERVAL: Duration = Duration::from_secs(3600);
/// Minimum time between a manual reminder and the automatic one to the same person.
const MIN_INTERVAL: Duration = Duration::from_secs(12 * 3600);
/// The longest time before the deadline that a team can set.
const MAX_AHEAD: Duration = Duration::from_secs(168 * 3600);
/// How many events are loaded at once.
const BATCH_SIZE: i64 = 100;

/// When an event stops taking answers, for reminders: the deadline for answers, or else the start.
fn answers_until(event: &Event) -> Timestamp {
    event.rsvp_deadline.unwrap_or(event.starts_at)
}

/// When the team's setting says that people are reminded of an event; `None` if the team has turned reminders off.
fn remind_at(event: &Event, team: &Team) -> Option<Timestamp> {
    let hours = u64::try_from(team.rsvp_reminder_hours?).ok()?;
    Some(answers_until(event).minus(Duration::from_secs(hours * 3600)))
}

/// When the automatic reminder of an event is sent at the earliest; `None` if there is none, or it was sent. An event
/// that was moved to a later time after its reminder gets another one, to people who were not reminded yet.
fn next_automatic(db: &Reader<'_>, event: &Event, team: &Team) -> Result<Option<Timestamp>> {
    let now = db.now();
    let is_open = team.status == team::Status::Active
        && rsvp::check_accepts_answers(event, now).is_ok()
        && answers_until(event) > now;
    let Some(at) = remind_at(event, team).filter(|_| is_open) else { return Ok(None) };
    let ran: Option<(Timestamp,)> = db.optional(
        "select ran_at from event_reminder_run where account_id = :account and event_id = :event",
        bind! { event: event.id },
    )?;
    let next = at.max(event.created_at.plus(GRACE));
    let is_pending = ran.is_none_or(|(ran_at,)| ran_at < at) && next < answers_until(event);
    Ok(is_pending.then_some(next))
}

/// When reminders of an event were sent and will be sent.
pub fn reminder_times(db: &Reader<'_>, event: &Event) -> Result<ReminderTimes> {
    let last: (Option<Timestamp>, Option<Timestamp>) = db.one(
        "select max(automatic_at) as automatic, max(manual_at) as manual from event_reminder
         where account_id = :account and event_id = :event",
        bind! { event: event.id },
    )?;
    let next = next_automatic(db, event, &team::find(db, event.team_id)?)?;
    Ok(ReminderTimes { last: last.0.max(last.1), next: next.map(|at| at.max(db.now())) })
}

row! {
    /// An event whose automatic reminder is due.
    #[derive(Debug, Clone, Copy)]
    pub struct DueReminder {
        pub account_id: AccountId,
        pub id: EventId,
        pub answers_until: Timestamp,
    }
}

/// Events of all accounts whose automatic reminder is due, sorted by the end of the time for answers. `last` is the last
/// event of the previous batch.
pub fn list_due(db: &Reader<'_>, last: Option<DueReminder>) -> Result<Vec<DueReminder>> {
    let after = last.map_or(db.now(), |due| due.answers_until);
    let after_id = last.map_or(EventId::MAX, |due| due.id);
    let (horizon, settled) = (db.now().plus(MAX_AHEAD), db.now().minus(GRACE));
    Ok(db.all(
        "select e.account_id, e.id, coalesce(e.rsvp_deadline, e.starts_at) as answers_until
         from event e
         join team t on t.account_id = e.account_id and t.id = e.team_id
         where e.status = 'scheduled' and e.rsvp_enabled
           and coalesce(e.rsvp_deadline, e.starts_at) >= :after
           and coalesce(e.rsvp_deadline, e.starts_at) <= :horizon
           and (coalesce(e.rsvp_deadline, e.starts_at), e.id) > (:after, :after_id)
           and e.created_at <= :settled and t.status = 'active'
           and coalesce(e.rsvp_deadline, e.starts_at) - t.rsvp_reminder_hours * 3600000000 <= :now
           and not exists (select 1 from event_reminder_run r
               where r.account_id = e.account_id and r.event_id = e.id
                 and r.ran_at >= coalesce(e.rsvp_deadline, e.starts_at)
                     - t.rsvp_reminder_hours * 3600000000)
         order by coalesce(e.rsvp_deadline, e.starts_at), e.id limit :limit /* any account */",
        bind! { after, after_id, horizon, settled, limit: BATCH_SIZE },
    )?)
}

/// Sends the automatic reminder of an event, unless it was sent or the event was changed in the meantime.
pub fn send_due(tx: &Tx<'_>, id: EventId, event_url: &str) -> Result<()> {
    let event = event::find(tx, &TeamAccess::AllTeams, id)?;
    let team = team::find(tx, event.team_id)?;
    if next_automatic(tx, &event, &team)?.is_none_or(|at| at > tx.now()) {
        return Ok(());
    }
    tx.execute(
        "insert into event_reminder_run (account_id, event_id, ran_at)
         values (:account, :id, :now)
         on conflict (account_id, event_id) do update set ran_at = excluded.ran_at",
        bind! { id },
    )?;
    let reminded = reminded_at(tx, id)?;
    let since = tx.now().minus(MIN_INTERVAL);
    let is_wanted = |person: &PersonId| {
        let last = reminded.get(person);
        last.is_none_or(|last| last.automatic.is_none() && last.manual.is_none_or(|at| at < since))
    };
    let mailings = emails::prepare(tx, &team, &event)?.mailings;
    for mailing in mailings.iter().filter(|one| one.people.iter().all(is_wanted)) {
        emails::queue(tx, &team, &event, mailing, event_url)?;
        record(tx, id, mailing, true)?;
    }
    Ok(())
}

/// Cancels the queued reminders of an event that takes no more answers.
pub fn cancel_outdated(tx: &Tx<'_>, event: &str) -> Result<()> {
    let Ok(id) = event.parse() else { return Ok(()) };
    let event = event::find(tx, &TeamAccess::AllTeams, id)?;
    if rsvp::check_accepts_answers(&event, tx.now()).is_ok() {
        return Ok(());
    }
    let waiting = pending::list(tx, &id.to_string(), EmailKind::RsvpReminder)?;
    pending::cancel(tx, waiting.into_iter().map(|(id, _)| id).collect())
}

/// Cancels the queued reminders of an event whose recipients have answered in the meantime.
pub fn cancel_answered(tx: &Tx<'_>, rsvp: &str) -> Result<()> {
    let Ok(id) = rsvp.parse::<RsvpId>() else { return Ok(()) };
    let answered: Option<(EventId,)> = tx.optional(
        "select event_id from rsvp where account_id = :account and id = :id",
        bind! { id },
    )?;
    let Some((event,)) = answered else { return Ok(()) };
    let mut waiting = pending::list(tx, &event.to_string(), EmailKind::RsvpReminder)?;
    if waiting.is_empty() {
        return Ok(());
    }
    let event = event::find(tx, &TeamAccess::AllTeams, event)?;
    let mailings = emails::prepare(tx, &team::find(tx, event.team_id)?, &event)?.mailings;
    waiting.retain(|(_, person)| !mailings.iter().any(|one| one.people.contains(person)));
    pending::cancel(tx, waiting.into_iter().map(|(id, _)| id).collect())
}

/// Emails everybody who has not answered an event, except people who were reminded within the last hour.
pub fn remind_unanswered(
    tx: &Tx<'_>,
    access: &TeamAccess,
    id: EventId,
    event_url: &str,
) -> Result<ReminderSummary> {
    let event = event::find(tx, access, id)?;
    let team = team::find_active(tx, event.team_id)?;
    rsvp::check_accepts_answers(&event, tx.now())?;
    let reminded = reminded_at(tx, id)?;
    let since = tx.now().minus(MIN_MANUAL_INTERVAL);
    let is_recent = |person: &PersonId| {
        let last = reminded.get(person);
        last.is_some_and(|last| last.automatic.max(last.manual).is_some_and(|at| at > since))
    };
    let prepared = emails::prepare(tx, &team, &event)?;
    let (recent, wanted): (Vec<_>, Vec<_>) =
        prepared.mailings.into_iter().partition(|one| one.people.iter().any(is_recent));
    for mailing in &wanted {
        emails::queue(tx, &team, &event, mailing, event_url)?;
        record(tx, id, mailing, false)?;
    }
    let mut summary = ReminderSummary { emails: count(&wanted), ..ReminderSummary::default() };
    for person in prepared.unanswered.keys() {
        let is_in = |all: &[ReminderEmail]| all.iter().any(|one| one.unanswered.contains(person));
        let number = match (is_in(&wanted), is_in(&recent)) {
            (true, _) => &mut summary.reminded,
            (false, true) => &mut summary.recent,
            (false, false) => &mut summary.unreachable,
        };
        *number += 1;
    }
    if summary.emails > 0 {
        let details = json!({ "emails": summary.emails, "members": summary.reminded });
        tx.audit("event.reminded", &id.to_string(), &details)?;
    }
    Ok(summary)
}

fn count(mailings: &[ReminderEmail]) -> i64 {
    i64::try_from(mailings.len()).unwrap_or(i64::MAX)
}

row! {
    /// When a person was last reminded of an event.
    struct LastReminder {
        person_id: PersonId,
        automatic: Option<Timestamp>,
        manual: Option<Timestamp>,
    }
}

/// When people were reminded of an event. A reminder that was cancelled before it was sent does not count.
fn reminded_at(db: &Reader<'_>, event: EventId) -> Result<BTreeMap<PersonId, LastReminder>> {
    let rows: Vec<LastReminder> = db.all(
        "select person_id, automatic_at as automatic, manual_at as manual from event_reminder
         where account_id = :account and event_id = :event",
        bind! { event },
    )?;
    let cancelled = pending::list_cancelled(db, &event.to_string(), EmailKind::RsvpReminder)?;
    let sent = rows.into_iter().filter(|row| !cancelled.contains(&row.person_id));
    Ok(sent.map(|row| (row.person_id, row)).collect())
}

/// Records that the people who share an address were reminded.
fn record(tx: &Tx<'_>, event: EventId, mailing: &ReminderEmail, is_automatic: bool) -> Result<()> {
    let automatic = is_automatic.then_some(tx.now());
    let manual = (!is_automatic).then_some(tx.now());
    for person in &mailing.people {
        tx.execute(
            "insert into event_reminder (account_id, event_id, person_id, automatic_at, manual_at)
             values (:account, :event, :person, :automatic, :manual)
             on conflict (account_id, event_id, person_id) do update set
                 automatic_at = coalesce(excluded.automatic_at, event_reminder.automatic_at),
                 manual_at = coalesce(excluded.manual_at, event_reminder.manual_at)",
            bind! { event, person, automatic, manual },
        )?;
    }
    Ok(())
}

/// Moves the reminders to the other record of the same person, so that nobody is reminded twice.
pub fn merge_person(tx: &Tx<'_>, records: &MergedRecords) -> Result<()> {
    let (from, into) = (records.from, records.into);
    for text in [
        "delete from event_reminder
         where account_id = :account and person_id = :from and event_id in (
             select event_id from event_reminder
             where account_id = :account and person_id = :into)",
        "update event_reminder set person_id = :into
         where account_id = :account and person_id = :from",
    ] {
        tx.execute(text, bind! { from, into })?;
    }
    Ok(())
}
