//! The answers of a visitor's family to events: the data of the part of a page where they answer.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::event::{self, Event, EventView, Status};
use super::rsvp::{self, Answer, ClosedReason};
use super::undo;
use crate::accounts::roster_access::RosterAccess;
use crate::prelude::*;

/// The first events from this time on whose answers are due before it, in the teams that the caller can access.
pub fn list_due(
    db: &Reader<'_>,
    access: &TeamAccess,
    from: Timestamp,
    limit: i64,
) -> Result<Vec<EventView>> {
    let (_, teams) = access.team_filter();
    let text = sql!(
        Event::SELECT,
        " where account_id = :account and team_id in (:teams) and starts_at >= :from
            and rsvp_enabled and status = 'scheduled'
            and rsvp_deadline > :now and rsvp_deadline < :from
          order by starts_at, id limit :limit"
    );
    event::views(db, db.all(text, bind! { teams, from, limit })?)
}

/// The answers of a visitor and their dependents to one event.
#[derive(Debug, Clone)]
pub struct AnswerBlock {
    pub event_id: EventId,
    pub team_id: TeamId,
    /// The people who are asked, the visitor first. Empty if nobody of the family is asked.
    pub people: Vec<PersonAnswer>,
    /// Why no answer is accepted, in English. `None` if answers are accepted.
    pub closed: Option<&'static str>,
    /// Whether the next yes goes on the waiting list.
    pub is_full: bool,
}

/// The answer of one person.
#[derive(Debug, Clone)]
pub struct PersonAnswer {
    pub member_id: MemberId,
    pub person_id: PersonId,
    /// The first name, or the name that the person prefers.
    pub name: String,
    /// Whether this is the visitor, as opposed to a dependent.
    pub is_self: bool,
    pub answer: Option<Answer>,
    pub note: Option<String>,
    /// The position on the waiting list, from 1.
    pub place: Option<i64>,
    /// Whether the answer comes from the dates on which the person is away.
    pub by_away_date: bool,
    /// The version of the answer; 0 if there is none.
    pub version: i64,
    /// The version of the answer, if the visitor gave it a moment ago and can undo it.
    pub undoable: Option<i64>,
}

row! {
    struct AskedMember {
        id: MemberId,
        person_id: PersonId,
        team_id: TeamId,
        first_name: String,
        preferred_name: Option<String>,
    }
}

row! {
    struct GivenAnswer {
        event_id: EventId,
        member_id: MemberId,
        answer: Answer,
        note: Option<String>,
        answered_by: String,
        answered_at: Timestamp,
        version: i64,
        place: Option<i64>,
    }
}

impl AnswerBlock {
    /// The answers of the visitor's family to each of these events, in the same order. Takes two queries.
    pub fn load(
        db: &Reader<'_>,
        roster_access: &RosterAccess,
        events: &[EventView],
    ) -> Result<Vec<Self>> {
        let members = asked_members(db, roster_access, events)?;
        let answers = given_answers(db, &members, events)?;
        let own = &roster_access.own_person_ids;
        let undoable = |given: &GivenAnswer| {
            undo::can_undo(db, &given.answered_by, given.answered_at).then_some(given.version)
        };
        let block = |view: &EventView| {
            let event = &view.event;
            let asked = members.iter().filter(|one| one.team_id == event.team_id);
            let asked = asked.filter(|_| event.rsvp_enabled);
            let person = |one: &AskedMember| {
                let given = answers.get(&(event.id, one.id));
                PersonAnswer {
                    undoable: given.and_then(undoable),
                    ..person_answer(one, own, given)
                }
            };
            Self {
                event_id: event.id,
                team_id: event.team_id,
                people: asked.map(person).collect(),
                closed: rsvp::closed_reason(event, db.now()).map(explain),
                is_full: event.capacity.is_some_and(|max| event.yes_count >= max),
            }
        };
        Ok(events.iter().map(block).collect())
    }

    /// Whether nobody of the family is asked.
    pub fn is_empty(&self) -> bool {
        self.people.is_empty()
    }

    /// The number of people who have not answered yet. Zero if no answers are accepted.
    pub fn unanswered_count(&self) -> usize {
        let open = self.people.iter().filter(|one| one.answer.is_none());
        if self.closed.is_some() { 0 } else { open.count() }
    }

    /// Whether somebody has not answered yet and still can.
    pub fn needs_answer(&self) -> bool {
        self.unanswered_count() > 0
    }
}

fn person_answer(one: &AskedMember, own: &[PersonId], given: Option<&GivenAnswer>) -> PersonAnswer {
    PersonAnswer {
        member_id: one.id,
        person_id: one.person_id,
        name: one.preferred_name.as_ref().unwrap_or(&one.first_name).clone(),
        is_self: own.contains(&one.person_id),
        answer: given.map(|given| given.answer),
        note: given.and_then(|given| given.note.clone()),
        place: given.and_then(|given| given.place),
        by_away_date: given.is_some_and(|given| given.answered_by == rsvp::BY_AWAY_DATE),
        version: given.map_or(0, |given| given.version),
        undoable: None,
    }
}

/// Why no answer is accepted, for families.
pub(super) fn explain(closed: ClosedReason) -> &'static str {
    match closed {
        ClosedReason::TurnedOff => mark!("No answers are needed for this event."),
        ClosedReason::NotScheduled(Status::Cancelled) => {
            mark!("This event is cancelled, so no answer is needed.")
        }
        ClosedReason::NotScheduled(Status::Postponed) => {
            mark!("This event is postponed. You can answer when it has a new time.")
        }
        ClosedReason::NotScheduled(Status::Completed) => {
            mark!("The result of this game is recorded, so no answer is needed.")
        }
        ClosedReason::NotScheduled(_) | ClosedReason::Over => mark!("This event is over."),
        ClosedReason::DeadlinePassed => {
            mark!("It is too late to answer here. Call or write to a coach of the team.")
        }
    }
}

/// The members of the family who are asked to come to events of these teams, the visitor first.
fn asked_members(
    db: &Reader<'_>,
    roster_access: &RosterAccess,
    events: &[EventView],
) -> Result<Vec<AskedMember>> {
    let on_team = |team| events.iter().any(|view| view.event.team_id == team);
    let family = roster_access.memberships.iter().filter(|one| on_team(one.team_id));
    let members: Vec<_> = family.map(|one| one.member_id).collect();
    if members.is_empty() {
        return Ok(Vec::new());
    }
    let mut asked: Vec<AskedMember> = db.all(
        "select m.id, m.person_id, m.team_id, p.first_name, p.preferred_name
         from member m join person p on p.account_id = m.account_id and p.id = m.person_id
         where m.account_id = :account and m.id in (:members) and m.status in ('active', 'injured')
           and p.erased_at is null
         order by m.id",
        bind! { members },
    )?;
    asked.sort_by_key(|one| Reverse(roster_access.own_person_ids.contains(&one.person_id)));
    Ok(asked)
}

/// The answers of these members to these events.
fn given_answers(
    db: &Reader<'_>,
    members: &[AskedMember],
    events: &[EventView],
) -> Result<BTreeMap<(EventId, MemberId), GivenAnswer>> {
    if members.is_empty() {
        return Ok(BTreeMap::new());
    }
    let members: Vec<_> = members.iter().map(|one| one.id).collect();
    let events: Vec<_> = events.iter().map(|view| view.event.id).collect();
    // The position on the waiting list: how many members are ahead, plus one.
    let answers: Vec<GivenAnswer> = db.all(
        "select r.event_id, r.member_id, r.answer, r.note, r.answered_by, r.answered_at,
                r.version,
                case when r.place is null then null else
                    (select count(*) from rsvp o
                     where o.account_id = r.account_id and o.event_id = r.event_id
                       and o.place <= r.place) end as place
         from rsvp r
         where r.account_id = :account and r.member_id in (:members) and r.event_id in (:events)",
        bind! { members, events },
    )?;
    Ok(answers.into_iter().map(|one| ((one.event_id, one.member_id), one)).collect())
}

/// The names of a person of this family and of the team, if the person has left the team of the event.
pub fn former_member(
    db: &Reader<'_>,
    family: &[PersonId],
    event: EventId,
    member: MemberId,
) -> Result<Option<(String, String)>> {
    let family = family.to_vec();
    Ok(db.optional(
        "select coalesce(p.preferred_name, p.first_name) as name, t.name as team
         from member m
         join person p on p.account_id = m.account_id and p.id = m.person_id
         join event e on e.account_id = m.account_id and e.team_id = m.team_id and e.id = :event
         join team t on t.account_id = m.account_id and t.id = m.team_id
         where m.account_id = :account and m.id = :member and m.person_id in (:family)
           and m.status = 'removed'",
        bind! { family, event, member },
    )?)
}
