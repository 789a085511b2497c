//! Reminders: by the schedule of the account, in the morning where the team is, and by hand.
//!
//! That somebody was reminded is written down in the transaction that writes the letter, so nobody is
//! reminded twice of the same day; whatever is paid calls letters back that were not sent yet.

use std::collections::BTreeSet;
use std::time::Duration;

use kit::{Day, LocalTime, Money, Timestamp, Zone};
use serde::Serialize;
use serde_json::json;
use store::{Reader, Tx, bind, row, sql};
use utoipa::ToSchema;

use super::due::{self, Due, Whole};
use super::plan;
use crate::accounts::rights::Reach;
use crate::error::{Error, Result};
use crate::expected::Expected;
use crate::ids::{AccountId, DueId, PersonId, TeamId};
use crate::mail::letter::{self, NewLetter};
use crate::messages::people;
use crate::money::settings;
use crate::roster::person::{self, Person};
use crate::roster::{guardian, safeguarding};
use crate::signals::Tell;
use crate::teams::team::{self, Team};

/// The hour from which families are reminded.
const MORNING: i8 = 8;
/// A reminder that could not be sent for so long is not sent any more.
const CATCH_UP: Duration = Duration::from_secs(2 * 86_400);
/// Nobody gets another letter about the same due within this time, whatever the schedule says.
const BETWEEN: Duration = Duration::from_secs(12 * 3600);
/// How often somebody can be reminded by hand.
const BY_HAND: Duration = Duration::from_secs(3600);
/// Reminding a whole team is about what is due within this time, or overdue.
const SOON: Duration = Duration::from_secs(7 * 86_400);
/// How many are looked up at once.
const STEP: i64 = 100;

/// Whom to remind.
#[derive(Debug, ToSchema)]
pub struct Remind {
    pub team_id: TeamId,
}

/// Who was reminded.
#[derive(Debug, Serialize, ToSchema)]
#[serde(tag = "object", rename = "reminders")]
pub struct Reminded {
    pub team_id: TeamId,
    /// The dues that somebody was reminded of.
    pub due_ids: Vec<DueId>,
    /// How many letters are written: none for families without an address of mail. Where no mail server is set up, they
    /// stay unsent.
    pub letters: i64,
}

/// Accounts after this one.
pub fn accounts(db: &Reader<'_>, last: AccountId) -> Result<Vec<AccountId>> {
    let found: Vec<(AccountId,)> = db.all(
        "select id from account where id > :last order by id limit :limit /* any account */",
        bind! { last, limit: STEP },
    )?;
    Ok(found.into_iter().map(|(id,)| id).collect())
}

/// The days of the account's schedule.
pub fn schedule(db: &Reader<'_>) -> Result<Vec<i64>> {
    Ok(settings::of(db)?.reminder_days.0)
}

row! {
    struct Candidate {
        due_id: DueId,
        due_on: Day,
        timezone: Zone,
        created_at: Timestamp,
    }
}

/// What a look for reminders found: those whose time has come, and after which day and due to look on.
#[derive(Debug, Default)]
pub struct Found {
    pub ready: Vec<(DueId, Day)>,
    pub last: Option<(Day, DueId)>,
}

/// The instalments, after this day and due, of which families are to be reminded now by one day of the schedule.
pub fn due_now(db: &Reader<'_>, offset: i64, after: Option<(Day, DueId)>) -> Result<Found> {
    let today = Zone::utc().day(db.now());
    let (from, to) = (today.plus_days(-3 - offset), today.plus_days(1 - offset));
    let (Some(from), Some(to)) = (from, to) else { return Ok(Found::default()) };
    let (from, after) = after.unwrap_or((from, DueId::LEAST));
    // Instalments are paid in their order: those from the next day on are open.
    let candidates: Vec<Candidate> = db.all(
        "select i.due_id, i.due_on, t.timezone, d.created_at
         from instalment i
         join due d on d.account_id = i.account_id and d.id = i.due_id
         join team t on t.account_id = d.account_id and t.id = d.team_id
         where i.account_id = :account and (i.due_on, i.due_id) > (:from, :after)
           and i.due_on <= :to and d.next_due_on <= i.due_on
           and not exists (select 1 from reminder r
               where r.account_id = i.account_id and r.due_id = i.due_id and r.due_on = i.due_on
                 and r.occasion = :occasion)
         order by i.due_on, i.due_id limit :limit",
        bind! { from, to, after, occasion: offset.to_string(), limit: STEP },
    )?;
    let last = candidates.last().map(|one| (one.due_on, one.due_id));
    let ready = candidates.into_iter().filter(|one| is_time(one, offset, db.now()));
    Ok(Found { ready: ready.map(|one| (one.due_id, one.due_on)).collect(), last })
}

/// Whether it is the morning of the day, or lately was. Nobody is reminded on the day they were charged.
fn is_time(one: &Candidate, offset: i64, now: Timestamp) -> bool {
    let day = one.due_on.plus_days(offset);
    let morning = day.and_then(|day| LocalTime::new(day, MORNING, 0, 0));
    let morning = morning.and_then(|local| one.timezone.nearest(local));
    let charged_before = day.is_some_and(|day| one.timezone.day(one.created_at) < day);
    morning.is_some_and(|at| at <= now && now < at.plus(CATCH_UP)) && charged_before
}

/// Reminds of these instalments by a day of the schedule, unless somebody was quicker or it was paid.
pub fn remind_all(tx: &Tx<'_>, offset: i64, ready: &[(DueId, Day)]) -> Result<()> {
    for (id, day) in ready {
        let whole = due::whole(tx, *id)?;
        let open = whole.due.next_due_on.is_some_and(|next| next <= *day);
        if !open {
            continue;
        }
        let lately = was_reminded(tx, *id, BETWEEN)?;
        let readers = if lately { Vec::new() } else { readers(tx, &whole.due)? };
        if note(tx, *id, *day, &offset.to_string(), &readers)? {
            let team = team::find(tx, whole.due.team_id)?;
            write(tx, &team, &whole, *day, readers)?;
        }
    }
    Ok(())
}

/// Writes down that these are reminded, and says whether nobody had.
fn note(tx: &Tx<'_>, due: DueId, due_on: Day, occasion: &str, readers: &[Person]) -> Result<bool> {
    let noted = tx.run(
        "insert into reminder (account_id, due_id, due_on, occasion, letters, created_at)
         values (:account, :due, :due_on, :occasion, :letters, :now) on conflict do nothing",
        bind! { due, due_on, occasion, letters: count(readers) },
    )?;
    Ok(noted > 0)
}

/// Whether a letter about a due was written within some time, before this moment.
fn was_reminded(tx: &Tx<'_>, due: DueId, within: Duration) -> Result<bool> {
    let since = tx.now().minus(within);
    Ok(last(tx, due)?.is_some_and(|last| last > since))
}

/// Calls letters back that were not sent yet, as what they say is no longer so. If nobody got one, nobody was reminded,
/// and the schedule reminds them of what it is now.
pub fn call_back(tx: &Tx<'_>, due: DueId) -> Result<()> {
    let unsent = unsent(tx, due)?;
    tx.run(sql!("delete from reminder", THE_LAST), bind! { due, unsent })?;
    Ok(())
}

/// Calls letters back that were not sent yet, as something was paid. The schedule does not write once more to somebody who
/// paid a minute ago; but if nobody got one, nobody was reminded, and somebody may do so by hand.
pub fn hold_back(tx: &Tx<'_>, due: DueId) -> Result<()> {
    let unsent = unsent(tx, due)?;
    tx.run(sql!("update reminder set letters = 0", THE_LAST), bind! { due, unsent })?;
    Ok(())
}

/// Calls letters back, and says how many.
fn unsent(tx: &Tx<'_>, due: DueId) -> Result<i64> {
    Ok(i64::try_from(letter::cancel(tx, &due.to_string())?).unwrap_or(i64::MAX))
}

/// The last reminder of a due, if none of its letters was sent.
const THE_LAST: &str = "
    where account_id = :account and due_id = :due and letters = :unsent
        and letters > 0 and created_at =
            (select max(r.created_at) from reminder r
             where r.account_id = :account and r.due_id = :due and r.letters > 0)";

/// When somebody was last reminded of a due, before this moment.
pub fn last(db: &Reader<'_>, due: DueId) -> Result<Option<Timestamp>> {
    let (last,): (Option<Timestamp>,) = db.one(
        "select max(created_at) as last from reminder
         where account_id = :account and due_id = :due and letters > 0 and created_at < :now",
        bind! { due },
    )?;
    Ok(last)
}

/// Reminds of one due by hand.
pub fn remind(tx: &Tx<'_>, reach: &Reach, id: DueId, expected: &Expected) -> Result<Reminded> {
    let whole = expected.check(due::managed(tx, reach, id))?;
    if whole.due.balance() == 0 {
        return Err(Error::invalid_state("Nothing of this due is open."));
    }
    let team = team::find(tx, whole.due.team_id)?;
    let Some(letters) = by_hand(tx, &team, &whole)? else {
        return Err(Error::invalid_state("They were reminded within the last hour."));
    };
    Ok(Reminded { team_id: team.id, due_ids: vec![id], letters })
}

/// Reminds everybody on a team of what is overdue or due within a week, but those who were lately.
pub fn remind_team(tx: &Tx<'_>, reach: &Reach, new: &Remind) -> Result<Reminded> {
    let here = |error: Error| error.at("/team_id");
    reach.check(new.team_id).map_err(here)?;
    let team = team::find(tx, new.team_id).map_err(here)?;
    let text = sql!(
        Due::SELECT,
        " where account_id = :account and team_id = :team and overdue_at <= :soon order by id"
    );
    let dues = tx.all(text, bind! { team: team.id, soon: tx.now().plus(SOON) })?;
    let mut reminded = Reminded { team_id: team.id, due_ids: Vec::new(), letters: 0 };
    for whole in due::wholes(tx, dues)? {
        if let Some(letters) = by_hand(tx, &team, &whole)? {
            reminded.due_ids.push(whole.due.id);
            reminded.letters += letters;
        }
    }
    Ok(reminded)
}

/// Reminds everybody in the account of what is overdue, but those who were lately. Says how many dues that
/// were, and how many letters.
pub fn remind_late(tx: &Tx<'_>) -> Result<(i64, i64)> {
    let (mut dues, mut letters) = (0, 0);
    for whole in due::wholes(tx, late(tx)?)? {
        let team = team::find(tx, whole.due.team_id)?;
        if let Some(written) = by_hand(tx, &team, &whole)? {
            dues += 1;
            letters += written;
        }
    }
    Ok((dues, letters))
}

/// Every due of which something is overdue.
pub fn late(db: &Reader<'_>) -> Result<Vec<Due>> {
    let text = sql!(Due::SELECT, " where account_id = :account and overdue_at <= :now order by id");
    Ok(db.all(text, bind! {})?)
}

/// How many letters were written; `None` if somebody was reminded of it lately.
fn by_hand(tx: &Tx<'_>, team: &Team, whole: &Whole) -> Result<Option<i64>> {
    let Some(day) = whole.due.next_due_on else { return Ok(None) };
    let occasion = format!("by hand at {}", tx.now());
    let id = whole.due.id;
    if was_reminded(tx, id, BY_HAND)? {
        return Ok(None);
    }
    let readers = readers(tx, &whole.due)?;
    let letters = count(&readers);
    if !note(tx, id, day, &occasion, &readers)? {
        return Ok(None);
    }
    write(tx, team, whole, day, readers)?;
    tx.audit("dues.reminded", &id.to_string(), &json!({ "letters": letters }))?;
    Ok(Some(letters))
}

fn count(readers: &[Person]) -> i64 {
    i64::try_from(readers.len()).unwrap_or(i64::MAX)
}

/// Writes to these about a due.
fn write(tx: &Tx<'_>, team: &Team, whole: &Whole, day: Day, readers: Vec<Person>) -> Result<()> {
    let due = &whole.due;
    let member = person::display_name(&person::find(tx, due.person_id)?);
    let subject = format!("[{}] {}: {}", team.name, due.title, open(due, due.balance()));
    for reader in readers {
        let to_name = person::display_name(&reader);
        let Some(to_address) = reader.email else { continue };
        let text_body = text(whole, day, tx.now(), &to_name, &member);
        letter::put(
            tx,
            NewLetter {
                person_id: Some(reader.id),
                about: due.id.to_string(),
                to_name,
                to_address,
                subject: subject.clone(),
                text_body,
                html_body: None,
            },
        )?;
    }
    Ok(())
}

/// Who gets the email: the payer, and the guardians who get messages if the payer is a minor or has no address. If the
/// payer's address is that of a minor, the guardians of that minor get it, too.
fn readers(tx: &Tx<'_>, due: &Due) -> Result<Vec<Person>> {
    let payer = person::find(tx, due.payer_id)?;
    let minors = safeguarding::minors_at(tx, &payer)?;
    let mut readers: BTreeSet<PersonId> = [payer.id].into();
    if payer.email.is_none() || !minors.is_empty() {
        let wards: Vec<_> = minors.into_iter().chain([payer.id, due.person_id]).collect();
        let links = guardian::of(tx, &wards)?.into_iter();
        let receiving = links.filter(|link| link.tie.receives_messages);
        readers.extend(receiving.map(|link| link.guardian.id));
    }
    people::addressees(tx, &readers, |_| true)
}

fn open(due: &Due, minor: i64) -> Money {
    Money { minor, currency: due.currency }
}

/// What the letter says: what is open, since when or until when, for whom, and how to pay it.
fn text(whole: &Whole, day: Day, now: Timestamp, to: &str, member: &str) -> String {
    let due = &whole.due;
    let until = whole.plan.iter().filter(|part| part.due_on <= day);
    let by_then = until.map(|part| part.amount).sum::<i64>() - due.paid;
    let by_then = if by_then > 0 { by_then } else { due.balance() };
    let gone = plan::next(&whole.plan, due.paid).is_some_and(|part| part.overdue_at <= now);
    let due_by = if gone { "was due by" } else { "is due by" };
    let note = due.note.as_ref().map(|note| format!("{note}\n\n")).unwrap_or_default();
    format!(
        "Hello {to},\n\nthis is a reminder of what is open for {member}:\n\n\
         {title}\n{part} {due_by} {day}\nOpen in all: {all}\n\n{note}\
         To pay, use the way your club has told you, and name \"{title}, {member}\" so that it is found. \
         If you have paid already, thank you; there is nothing more to do.\n",
        title = due.title,
        part = open(due, by_then),
        all = open(due, due.balance()),
    )
}
