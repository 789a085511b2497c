//! Payment reminders: scheduled (in the morning of the team's time zone) and manual.
//!
//! A reminder is recorded in the same transaction that queues its email, so each scheduled reminder is sent only once.
//! A payment cancels emails that are not sent yet.

use std::collections::BTreeSet;
use std::time::Duration;

use kit::LocalTime;
use macros::input;

use super::due::{self, Due, DueWithPlan};
use super::plan;
use crate::mail::email::{self, NewEmail};
use crate::messages::people;
use crate::money::settings;
use crate::prelude::*;
use crate::roster::notification_settings::EmailKind;
use crate::roster::person::{self, Person};
use crate::roster::preferences::RecipientLocales;
use crate::roster::{guardian, safeguarding};
use crate::teams::team::{self, Team};

/// Local hour from which scheduled reminders are sent.
const SEND_HOUR: i8 = 8;
/// A scheduled reminder that is late by more than this is skipped.
const MAX_DELAY: Duration = Duration::from_secs(2 * 86_400);
/// Minimum time between an email about a due and the next scheduled one.
const MIN_INTERVAL: Duration = Duration::from_secs(12 * 3600);
/// Minimum time between an email about a due and a manual reminder.
const MIN_MANUAL_INTERVAL: Duration = Duration::from_secs(3600);
/// A reminder to a team covers dues that are overdue or due within this time.
const UPCOMING_WINDOW: Duration = Duration::from_secs(7 * 86_400);
/// How many rows are loaded per query.
const BATCH_SIZE: i64 = 100;

/// Which team to remind.
#[input(as = RemindTeamRequest)]
pub struct RemindRequest {
    pub team_id: TeamId,
}

/// The reminders that were queued.
#[macros::object("reminders")]
#[derive(Debug, Serialize, ToSchema)]
pub struct ReminderResult {
    pub team_id: TeamId,
    /// The dues that reminders were created for.
    pub due_ids: Vec<DueId>,
    /// Number of queued emails. Families without an email address get none. Without a mail server they get
    /// the status `unsent` and are not sent later.
    pub emails: i64,
}

/// The next batch of account ids after `last`.
pub fn accounts(db: &Reader<'_>, last: AccountId) -> Result<Vec<AccountId>> {
    let accounts: Vec<(AccountId,)> = db.all(
        "select id from account where id > :last order by id limit :limit /* any account */",
        bind! { last, limit: BATCH_SIZE },
    )?;
    Ok(accounts.into_iter().map(|(id,)| id).collect())
}

/// The account's reminder schedule: days relative to the due date.
pub fn schedule(db: &Reader<'_>) -> Result<Vec<i64>> {
    Ok(settings::load(db)?.reminder_days.0)
}

row! {
    struct Candidate {
        due_id: DueId,
        due_on: Day,
        timezone: Zone,
        created_at: Timestamp,
    }
}

/// A batch of scheduled reminders: those to send now, and the position to continue from.
#[derive(Debug, Default)]
pub struct ReminderBatch {
    pub ready: Vec<(DueId, Day)>,
    pub last: Option<(Day, DueId)>,
}

/// The next batch of installments after `after` whose reminder for one day of the schedule must be sent now.
pub fn list_ready(
    db: &Reader<'_>,
    offset: i64,
    after: Option<(Day, DueId)>,
) -> Result<ReminderBatch> {
    let today = Zone::utc().day(db.now());
    let (from, to) = (today.plus_days(-3 - offset), today.plus_days(1 - offset));
    let (Some(from), Some(to)) = (from, to) else { return Ok(ReminderBatch::default()) };
    let (from, after) = after.unwrap_or((from, DueId::MIN));
    // Installments are paid in order, so those from `next_due_on` on are unpaid.
    let candidates: Vec<Candidate> = db.all(
        "select i.due_id, i.due_on, t.timezone, d.created_at
         from installment i
         join due d on d.account_id = i.account_id and d.id = i.due_id
         join team t on t.account_id = d.account_id and t.id = d.team_id
         where i.account_id = :account and (i.due_on, i.due_id) > (:from, :after)
           and i.due_on <= :to and d.next_due_on <= i.due_on
           and not exists (select 1 from reminder r
               where r.account_id = i.account_id and r.due_id = i.due_id and r.due_on = i.due_on
                 and r.occasion = :occasion)
         order by i.due_on, i.due_id limit :limit",
        bind! { from, to, after, occasion: offset.to_string(), limit: BATCH_SIZE },
    )?;
    let last = candidates.last().map(|one| (one.due_on, one.due_id));
    let ready = candidates.into_iter().filter(|one| is_time(one, offset, db.now()));
    Ok(ReminderBatch { ready: ready.map(|one| (one.due_id, one.due_on)).collect(), last })
}

/// Whether the send time has come and is not too long ago. No reminder is sent on the day of the charge.
fn is_time(one: &Candidate, offset: i64, now: Timestamp) -> bool {
    let day = one.due_on.plus_days(offset);
    let morning = day.and_then(|day| LocalTime::new(day, SEND_HOUR, 0, 0));
    let morning = morning.and_then(|local| one.timezone.resolve(local));
    let charged_before = day.is_some_and(|day| one.timezone.day(one.created_at) < day);
    morning.is_some_and(|at| at <= now && now < at.plus(MAX_DELAY)) && charged_before
}

/// Sends scheduled reminders for these installments, except those already sent or paid meanwhile.
pub fn send_scheduled(tx: &Tx<'_>, offset: i64, ready: &[(DueId, Day)]) -> Result<()> {
    for (id, day) in ready {
        let record = due::load(tx, *id)?;
        let open = record.due.next_due_on.is_some_and(|next| next <= *day);
        if !open {
            continue;
        }
        let too_soon = was_reminded(tx, *id, MIN_INTERVAL)?;
        let recipients = if too_soon { Vec::new() } else { recipients(tx, &record.due)? };
        if record_reminder(tx, *id, *day, &offset.to_string(), &recipients)? {
            let team = team::find(tx, record.due.team_id)?;
            queue_emails(tx, &team, &record, *day, recipients)?;
        }
    }
    Ok(())
}

/// Records a reminder. Returns `false` if it was already recorded.
fn record_reminder(
    tx: &Tx<'_>,
    due: DueId,
    due_on: Day,
    occasion: &str,
    recipients: &[Person],
) -> Result<bool> {
    let inserted = tx.execute(
        "insert into reminder (account_id, due_id, due_on, occasion, emails, created_at)
         values (:account, :due, :due_on, :occasion, :emails, :now) on conflict do nothing",
        bind! { due, due_on, occasion, emails: count(recipients) },
    )?;
    Ok(inserted > 0)
}

/// Whether a reminder with an email was recorded for a due within this time.
fn was_reminded(tx: &Tx<'_>, due: DueId, within: Duration) -> Result<bool> {
    let since = tx.now().minus(within);
    Ok(last_reminded_at(tx, due)?.is_some_and(|last| last > since))
}

/// Cancels unsent emails after a due was changed, since their content is outdated. If no email of the last reminder was
/// sent, its record is deleted, so that the schedule sends it again with the new content.
pub fn cancel_after_change(tx: &Tx<'_>, due: DueId) -> Result<()> {
    let unsent = cancel_unsent_emails(tx, due)?;
    tx.execute(sql!("delete from reminder", WHERE_LAST_UNSENT), bind! { due, unsent })?;
    Ok(())
}

/// Cancels unsent emails after a payment. The record of the reminder stays, so that the schedule does not email a payer
/// who has just paid. If none of its emails was sent, it counts as no reminder, and a manual one is possible at once.
pub fn cancel_after_payment(tx: &Tx<'_>, due: DueId) -> Result<()> {
    let unsent = cancel_unsent_emails(tx, due)?;
    tx.execute(sql!("update reminder set emails = 0", WHERE_LAST_UNSENT), bind! { due, unsent })?;
    Ok(())
}

/// Cancels the unsent emails about a due and returns their number.
fn cancel_unsent_emails(tx: &Tx<'_>, due: DueId) -> Result<i64> {
    Ok(i64::try_from(email::cancel(tx, &due.to_string())?).unwrap_or(i64::MAX))
}

/// Selects the last reminder of a due if none of its emails was sent.
const WHERE_LAST_UNSENT: &str = "
    where account_id = :account and due_id = :due and emails = :unsent
        and emails > 0 and created_at =
            (select max(r.created_at) from reminder r
             where r.account_id = :account and r.due_id = :due and r.emails > 0)";

/// When the last reminder of a due was created, not counting the current transaction.
pub fn last_reminded_at(db: &Reader<'_>, due: DueId) -> Result<Option<Timestamp>> {
    let (last,): (Option<Timestamp>,) = db.one(
        "select max(created_at) as last from reminder
         where account_id = :account and due_id = :due and emails > 0 and created_at < :now",
        bind! { due },
    )?;
    Ok(last)
}

/// Sends a manual reminder for one due.
pub fn remind(
    tx: &Tx<'_>,
    access: &TeamAccess,
    id: DueId,
    expected: &IfMatch,
) -> Result<ReminderResult> {
    let record = expected.check(due::find_managed(tx, access, id))?;
    if record.due.balance() == 0 {
        return Err(Error::invalid_state("This due has no open balance."));
    }
    let team = team::find(tx, record.due.team_id)?;
    let Some(emails) = send_manually(tx, &team, &record)? else {
        return Err(Error::invalid_state("A reminder for this due was sent within the last hour."));
    };
    Ok(ReminderResult { team_id: team.id, due_ids: vec![id], emails })
}

/// Sends reminders for a team's dues that are overdue or due within a week, except those reminded within the last hour.
pub fn remind_team(
    tx: &Tx<'_>,
    access: &TeamAccess,
    new: &RemindRequest,
) -> Result<ReminderResult> {
    let mut violations = Violations::default();
    let team = access.check(new.team_id).and_then(|()| team::find(tx, new.team_id));
    let team = violations.collect_reference("/team_id", team)?;
    violations.finish()?;
    let team = team.ok_or_else(Error::not_found)?;
    let text = sql!(
        Due::SELECT,
        " where account_id = :account and team_id = :team and overdue_at <= :soon order by id"
    );
    let dues = tx.all(text, bind! { team: team.id, soon: tx.now().plus(UPCOMING_WINDOW) })?;
    let mut reminded = ReminderResult { team_id: team.id, due_ids: Vec::new(), emails: 0 };
    for record in due::with_plans(tx, dues)? {
        if let Some(emails) = send_manually(tx, &team, &record)? {
            reminded.due_ids.push(record.due.id);
            reminded.emails += emails;
        }
    }
    Ok(reminded)
}

/// Sends reminders for all overdue dues of the account, except those reminded within the last hour. Returns the number
/// of dues and of emails.
pub fn remind_overdue(tx: &Tx<'_>) -> Result<(i64, i64)> {
    let (mut dues, mut emails) = (0, 0);
    for record in due::with_plans(tx, list_overdue(tx)?)? {
        let team = team::find(tx, record.due.team_id)?;
        if let Some(queued) = send_manually(tx, &team, &record)? {
            dues += 1;
            emails += queued;
        }
    }
    Ok((dues, emails))
}

/// All overdue dues of the account.
pub fn list_overdue(db: &Reader<'_>) -> Result<Vec<Due>> {
    let text = sql!(Due::SELECT, " where account_id = :account and overdue_at <= :now order by id");
    Ok(db.all(text, bind! {})?)
}

/// Sends a manual reminder and returns the number of emails; `None` if one was sent within the last hour.
fn send_manually(tx: &Tx<'_>, team: &Team, record: &DueWithPlan) -> Result<Option<i64>> {
    let Some(day) = record.due.next_due_on else { return Ok(None) };
    let occasion = format!("manual at {}", tx.now());
    let id = record.due.id;
    if was_reminded(tx, id, MIN_MANUAL_INTERVAL)? {
        return Ok(None);
    }
    let recipients = recipients(tx, &record.due)?;
    let emails = count(&recipients);
    if !record_reminder(tx, id, day, &occasion, &recipients)? {
        return Ok(None);
    }
    queue_emails(tx, team, record, day, recipients)?;
    tx.audit("dues.reminded", &id.to_string(), &json!({ "emails": emails }))?;
    Ok(Some(emails))
}

fn count(recipients: &[Person]) -> i64 {
    i64::try_from(recipients.len()).unwrap_or(i64::MAX)
}

/// Queues the reminder emails about a due.
fn queue_emails(
    tx: &Tx<'_>,
    team: &Team,
    record: &DueWithPlan,
    day: Day,
    recipients: Vec<Person>,
) -> Result<()> {
    let due = &record.due;
    let member = person::display_name(&person::find(tx, due.person_id)?);
    let locales = RecipientLocales::load(tx, &recipients)?;
    let mut emails = Vec::new();
    for recipient in recipients {
        let locale = locales.of(&recipient);
        let to_name = person::display_name(&recipient);
        let Some(to_address) = recipient.email else { continue };
        let write = || {
            let (team, title, balance) = (&team.name, &due.title, money(due, due.balance()));
            let subject = t!("[{team}] {title}: {balance}", team, title, balance);
            (subject, email_body(record, day, tx.now(), &to_name, &member))
        };
        let (subject, body_text) = locale.run(write);
        emails.push(NewEmail {
            person_id: Some(recipient.id),
            kind: EmailKind::DuesReminder,
            team_id: Some(team.id),
            is_urgent: false,
            about: due.id.to_string(),
            to_name,
            to_address,
            subject,
            body_text,
            html_body: None,
            locale,
        });
    }
    email::enqueue_all(tx, emails).map(drop)
}

/// Who gets the email: the payer, and the guardians who get messages if the payer is a minor or has no address. If the
/// payer's address is also the address of a minor, the guardians of that minor get it too.
fn recipients(tx: &Tx<'_>, due: &Due) -> Result<Vec<Person>> {
    let payer = person::find(tx, due.payer_id)?;
    let minors = safeguarding::minors_at(tx, &payer)?;
    let mut recipients: BTreeSet<PersonId> = [payer.id].into();
    if payer.email.is_none() || !minors.is_empty() {
        let dependents: Vec<_> = minors.into_iter().chain([payer.id, due.person_id]).collect();
        let links = guardian::list_for(tx, &dependents)?.into_iter();
        let receiving = links.filter(|link| link.guardianship.receives_messages);
        recipients.extend(receiving.map(|link| link.guardian.id));
    }
    let recipients = people::email_recipients(tx, &recipients, |_| Some(EmailKind::DuesReminder))?;
    Ok(recipients.into_iter().map(|(person, _)| person).collect())
}

fn money(due: &Due, minor: i64) -> Money {
    Money { minor, currency: due.currency }
}

/// The text of the email: what is owed, for whom, the due date, and how to pay.
fn email_body(record: &DueWithPlan, day: Day, now: Timestamp, name: &str, member: &str) -> String {
    let due = &record.due;
    let (title, balance) = (&due.title, money(due, due.balance()));
    let until = record.plan.iter().filter(|part| part.due_on <= day);
    let by_then = until.map(|part| part.amount).sum::<i64>() - due.paid;
    let by_then = if by_then > 0 { by_then } else { due.balance() };
    let overdue =
        plan::next_unpaid(&record.plan, due.paid).is_some_and(|part| part.overdue_at <= now);
    let amount = money(due, by_then);
    let due_on = if overdue {
        message!("{amount} was due on {day}", amount, day)
    } else {
        message!("{amount} is due on {day}", amount, day)
    };
    let note = due.note.as_ref().map(|note| format!("{note}\n\n")).unwrap_or_default();
    t!(
        "Hello {name},\n\nThis is a payment reminder for {member}:\n\n\
         {title}\n{due_on}\nOpen balance: {balance}\n\n{note}\
         Please pay the way your club asks for, and use \"{title}, {member}\" as the payment reference. If you do not know how to pay, ask your club. \
         If you have already paid, thank you. You do not need to do anything else.\n",
        name,
        member,
        title,
        due_on,
        balance,
        note
    )
}
