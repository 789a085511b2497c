//! Moves answers, duties and calendar feeds to another record of the same person.

use std::collections::BTreeSet;

use super::duty::Duties;
use super::event::{self, Event};
use super::history::RsvpChange;
use super::rsvp::{self, Answer, Rsvp};
use super::rsvp_snapshot::RsvpSnapshot;
use super::volunteers;
use crate::personal_data::MergedRecords;
use crate::prelude::*;

/// The columns with the id of a person or member.
pub(super) const REFERENCES: &[&str] = &[
    "rsvp.member_id",
    "rsvp.answered_by",
    "rsvp_change.member_id",
    "rsvp_change.answered_by",
    "event.duties",
    "calendar_feed.person_id",
];

/// Moves everything that refers to the first record.
pub(super) fn run(tx: &Tx<'_>, records: &MergedRecords) -> Result<()> {
    let (from, into) = (records.from, records.into);
    let (from_text, into_text) = (from.to_string(), into.to_string());
    for text in [
        "update rsvp set answered_by = :into_text
         where account_id = :account and answered_by = :from_text",
        "update rsvp_change set answered_by = :into_text
         where account_id = :account and answered_by = :from_text",
    ] {
        tx.execute(text, bind! { from_text, into_text })?;
    }
    for (from, into) in &records.members {
        merge_answers(tx, *from, *into)?;
    }
    tx.execute(
        "update calendar_feed set person_id = :into, updated_at = :now, version = version + 1
         where account_id = :account and person_id = :from",
        bind! { from, into },
    )?;
    move_duties(tx, from, into)
}

/// Combines the answers of two members of a team. Of two answers to an event, the later one counts.
fn merge_answers(tx: &Tx<'_>, from: MemberId, into: MemberId) -> Result<()> {
    let events: BTreeSet<EventId> = tx.ids(
        "select event_id from rsvp_change where account_id = :account and member_id = :from
         union select event_id from rsvp where account_id = :account and member_id = :from",
        bind! { from },
    )?;
    for id in events {
        let answers = rsvp::find_of_members(tx, id, vec![from, into])?;
        let entries = merge_history(tx, id, (from, into))?;
        let Some(latest) = choose(&answers) else { continue };
        tx.execute(
            "delete from rsvp
             where account_id = :account and event_id = :id and member_id in (:members)",
            bind! { id, members: vec![from, into] },
        )?;
        let newest = answers.iter().map(|one| one.version).max().unwrap_or(0) + 1;
        let after = Rsvp {
            member_id: into,
            updated_at: tx.now(),
            version: newest.max(entries),
            ..latest.clone()
        };
        tx.execute(Rsvp::INSERT, &after.bind())?;
        let event = event::find(tx, &TeamAccess::AllTeams, id)?;
        publish(tx, &event, answers.iter().find(|one| one.member_id == into), &after)?;
        if let Some(dropped) = answers.iter().find(|one| one.id != after.id) {
            rsvp::remove_from_counts(tx, event, dropped.answer)?;
        }
    }
    Ok(())
}

/// The answer that counts: the later one, but a place is never given up for one on the waiting list.
fn choose(answers: &[Rsvp]) -> Option<&Rsvp> {
    let wants_to_come = |one: &Rsvp| matches!(one.answer, Answer::Yes | Answer::Waitlisted);
    if answers.iter().all(wants_to_come) {
        return answers.iter().min_by_key(|one| (one.answer == Answer::Waitlisted, one.place));
    }
    answers.iter().max_by_key(|one| one.answered_at)
}

fn publish(tx: &Tx<'_>, event: &Event, before: Option<&Rsvp>, after: &Rsvp) -> Result<()> {
    if before.is_some_and(|before| before.id == after.id) {
        return Ok(());
    }
    let previous = before.map(|before| RsvpSnapshot::new(before, event.team_id));
    let snapshot = RsvpSnapshot::new(after, event.team_id);
    tx.publish_all("rsvp.answered", &[(previous.as_ref(), &snapshot)])
}

/// Combines the histories of two members, in order of time. Returns the number of entries.
fn merge_history(tx: &Tx<'_>, event: EventId, (from, into): (MemberId, MemberId)) -> Result<i64> {
    let members = vec![from, into];
    let entries: Vec<RsvpChange> = tx.all(
        "select event_id, member_id, position, answer, note, answered_by, answered_at
         from rsvp_change
         where account_id = :account and event_id = :event and member_id in (:members)
         order by answered_at, position",
        bind! { event, members: members.clone() },
    )?;
    tx.execute(
        "delete from rsvp_change
         where account_id = :account and event_id = :event and member_id in (:members)",
        bind! { event, members },
    )?;
    let mut position = 0;
    for RsvpChange { answer, note, answered_by, answered_at, .. } in entries {
        position += 1;
        tx.execute(
            "insert into rsvp_change
                 (account_id, event_id, member_id, position, answer, note, answered_by, answered_at)
             values (:account, :event, :into, :position, :answer, :note, :answered_by, :answered_at)",
            bind! { event, into, position, answer, note, answered_by, answered_at },
        )?;
    }
    Ok(position)
}

fn move_duties(tx: &Tx<'_>, from: PersonId, into: PersonId) -> Result<()> {
    let pattern = kit::text::contains_pattern(&from.to_string());
    let events: Vec<Event> = tx.all(
        sql!(
            Event::SELECT,
            " where account_id = :account and duties like :pattern escape '\\' order by id"
        ),
        bind! { pattern },
    )?;
    for event in events {
        let duties = replace_assignee(event.duties.clone(), from, into);
        volunteers::update(tx, event, duties)?;
    }
    Ok(())
}

fn replace_assignee(mut duties: Duties, from: PersonId, into: PersonId) -> Duties {
    for duty in &mut duties.0 {
        if duty.assignees.contains(&into) {
            duty.assignees.retain(|person| *person != from);
        }
        for person in duty.assignees.iter_mut().filter(|person| **person == from) {
            *person = into;
        }
    }
    duties
}
