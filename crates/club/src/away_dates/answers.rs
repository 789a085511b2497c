//! Answers that away dates set: events on these days are answered with no. An answer that somebody gave is never
//! changed. When the event moves to another day or the away dates are deleted, the answer is withdrawn.

use super::away_date::{self, AwayDate};
use crate::events::event::{self, Event};
use crate::events::event_time::MAX_DURATION;
use crate::events::rsvp::{self, BY_AWAY_DATE, Choice, NewAnswer};
use crate::prelude::*;

/// The days on which an event takes place, in its time zone.
fn days(event: &Event) -> (Day, Day) {
    let last = Timestamp::from_micros(event.ends_at.micros() - 1).max(event.starts_at);
    (event.timezone.day(event.starts_at), event.timezone.day(last))
}

/// Answers the events of a person in this period, or withdraws the answers that away dates have set.
pub(super) fn sync_person(
    tx: &Tx<'_>,
    person: PersonId,
    (from, until): (Timestamp, Timestamp),
) -> Result<()> {
    let away = away_date::open_of(tx, person)?;
    // No event lasts longer, so earlier ones are over.
    let from = from.max(tx.now()).minus(MAX_DURATION);
    let invited: Vec<(MemberId, EventId)> = tx.all(
        "select m.id, e.id as event_id from member m
         join team t on t.account_id = m.account_id and t.id = m.team_id
         join event e on e.account_id = m.account_id and e.team_id = m.team_id
         where m.account_id = :account and m.status in ('active', 'injured')
           and m.id in (select id from member where account_id = :account and person_id = :person)
           and t.status = 'active'
           and e.starts_at > :from and e.starts_at < :until and e.ends_at > :now
           and e.status = 'scheduled' and e.rsvp_enabled
         order by e.starts_at, e.id",
        bind! { person, from, until },
    )?;
    for (member, event) in invited {
        // Each answer changes the event's counts, so read it again.
        let event = event::find(tx, &TeamAccess::AllTeams, event)?;
        let covered = away.iter().any(|away| away.covers(days(&event)));
        sync_answer(tx, event, member, covered)?;
    }
    Ok(())
}

/// Answers an event for a member who is away, or withdraws the answer of one who is not.
fn sync_answer(tx: &Tx<'_>, event: Event, member: MemberId, is_away: bool) -> Result<()> {
    if rsvp::check_accepts_answers(&event, tx.now()).is_err() {
        return Ok(());
    }
    match rsvp::find_optional(tx, event.id, member)? {
        None if is_away => {
            let no = NewAnswer { answer: Choice::No, note: None, on_behalf_of: None };
            rsvp::record_answer(tx, event, member, no, BY_AWAY_DATE).map(drop)
        }
        Some(answer) if !is_away && answer.answered_by == BY_AWAY_DATE => {
            rsvp::withdraw_answer(tx, event, &answer, BY_AWAY_DATE)
        }
        _ => Ok(()),
    }
}

row! {
    /// A member who may be away on the days of an event, with the days; or one whose answer an away date has set.
    struct Candidate {
        member_id: MemberId,
        starts_on: Option<Day>,
        ends_on: Option<Day>,
    }
}

/// Reacts to an event that was created or changed.
pub(super) fn event_changed(tx: &Tx<'_>, event: &str) -> Result<()> {
    let Ok(id) = event.parse::<EventId>() else { return Ok(()) };
    // Most events have no candidates, and one query must be enough for those of a long series.
    let candidates: Vec<Candidate> = tx.all(
        "select m.id as member_id, a.starts_on, a.ends_on
         from event e
         join member m on m.account_id = e.account_id and m.id in (
             select id from member where account_id = e.account_id and team_id = e.team_id)
         join away_date a on a.account_id = m.account_id and a.person_id = m.person_id
         where e.account_id = :account and e.id = :id and m.status in ('active', 'injured')
           and a.starts_at < e.ends_at and a.ends_at > e.starts_at
         union all
         select member_id, null, null from rsvp
         where account_id = :account and event_id = :id and answered_by = :away",
        bind! { id, away: BY_AWAY_DATE },
    )?;
    if candidates.is_empty() {
        return Ok(());
    }
    let event = event::find(tx, &TeamAccess::AllTeams, id)?;
    let (first, last) = days(&event);
    let is_away = |one: &&Candidate| {
        one.starts_on.is_some_and(|day| day <= last) && one.ends_on.is_some_and(|day| day >= first)
    };
    let away: Vec<_> = candidates.iter().filter(is_away).map(|one| one.member_id).collect();
    let mut members: Vec<_> = candidates.iter().map(|one| one.member_id).collect();
    members.sort_unstable();
    members.dedup();
    for member in members {
        let event = event::find(tx, &TeamAccess::AllTeams, id)?;
        sync_answer(tx, event, member, away.contains(&member))?;
    }
    Ok(())
}

/// Reacts to a member who was added or changed.
pub(super) fn member_changed(tx: &Tx<'_>, member: &str) -> Result<()> {
    let Ok(member) = member.parse::<MemberId>() else { return Ok(()) };
    let person: Vec<PersonId> = tx.ids(
        "select person_id from member
         where account_id = :account and id = :member and status in ('active', 'injured')",
        bind! { member },
    )?;
    person.into_iter().try_for_each(|person| sync_open(tx, person))
}

/// Reacts to a team that is active again.
pub(super) fn team_restored(tx: &Tx<'_>, team: &str) -> Result<()> {
    let Ok(team) = team.parse::<TeamId>() else { return Ok(()) };
    let away: Vec<PersonId> = tx.ids(
        "select distinct m.person_id from member m
         join away_date a on a.account_id = m.account_id and a.person_id = m.person_id
         where m.account_id = :account and m.status in ('active', 'injured') and a.ends_at > :now
           and m.id in (select id from member where account_id = :account and team_id = :team)",
        bind! { team },
    )?;
    away.into_iter().try_for_each(|person| sync_open(tx, person))
}

/// Answers the events on all away dates of a person.
fn sync_open(tx: &Tx<'_>, person: PersonId) -> Result<()> {
    let away: Vec<AwayDate> = away_date::open_of(tx, person)?;
    let from = away.iter().map(|one| one.starts_at).min();
    let until = away.iter().map(|one| one.ends_at).max();
    from.zip(until).map_or(Ok(()), |period| sync_person(tx, person, period))
}
