//! Taking and giving up volunteer duties.

use super::duty::Duties;
use super::event::{self, Event, EventView, Status};
use super::event_time::MAX_DURATION;
use crate::prelude::*;
use crate::teams::team;

/// Assigns a duty to a member of the team or a guardian of one. Assigning it twice changes nothing.
pub fn take(
    tx: &Tx<'_>,
    access: &TeamAccess,
    (event, duty, person): (EventId, DutyId, PersonId),
    expected: &IfMatch,
) -> Result<EventView> {
    let before = find_open_event(tx, access, (event, person), expected)?;
    Error::not_found().fail_if(!belongs_to_team(tx, &before, person)?)?;
    let duties = before.duties.assign(duty, person)?;
    update(tx, before, duties)
}

/// Removes a person from a duty.
pub fn release(
    tx: &Tx<'_>,
    access: &TeamAccess,
    (event, duty, person): (EventId, DutyId, PersonId),
    expected: &IfMatch,
) -> Result<EventView> {
    let before = find_open_event(tx, access, (event, person), expected)?;
    let duties = before.duties.unassign(duty, person)?;
    update(tx, before, duties)
}

/// The coming events at which a person has a duty, by start.
pub fn list_of_person(
    db: &Reader<'_>,
    access: &TeamAccess,
    person: PersonId,
    limit: i64,
) -> Result<Vec<EventView>> {
    let (is_limited, teams) = access.team_filter();
    let (earliest, pattern) = (db.now().minus(MAX_DURATION), format!("%\"{person}\"%"));
    let text = sql!(
        Event::SELECT,
        " where account_id = :account and starts_at > :earliest and ends_at > :now
            and (not cast(:is_limited as boolean) or team_id in (:teams))
            and status = 'scheduled' and duties like :pattern
          order by starts_at, id limit :limit"
    );
    event::views(db, db.all(text, bind! { earliest, is_limited, teams, pattern, limit })?)
}

fn find_open_event(
    tx: &Tx<'_>,
    access: &TeamAccess,
    (event, person): (EventId, PersonId),
    expected: &IfMatch,
) -> Result<Event> {
    let event = event::find(tx, access, event)
        .and_then(|event| access.check_person(event.team_id, person).map(|()| event));
    let event = expected.check(event)?;
    team::find_active(tx, event.team_id)?;
    Error::invalid_state("The event is cancelled.").fail_if(event.status == Status::Cancelled)?;
    Error::invalid_state("The event is over.").fail_if(event.is_over(tx.now()))?;
    Ok(event)
}

/// Removes people who no longer belong to a team from the duties of its upcoming events.
pub fn release_former_members(tx: &Tx<'_>, team: TeamId) -> Result<()> {
    // No event lasts longer, so earlier ones are over.
    let earliest = tx.now().minus(MAX_DURATION);
    let upcoming: Vec<Event> = tx.all(
        sql!(
            Event::SELECT,
            " where account_id = :account and team_id = :team and starts_at > :earliest
                and ends_at > :now and status <> 'cancelled' and duties like '%\"per\\_%' escape '\\'
              order by starts_at, id"
        ),
        bind! { team, earliest },
    )?;
    for event in upcoming {
        let mut duties = event.duties.clone();
        for person in event.duties.assignees() {
            if !belongs_to_team(tx, &event, person)? {
                duties = duties.without_person(person);
            }
        }
        update(tx, event, duties)?;
    }
    Ok(())
}

/// Whether the person is on the event's team, or is a guardian of somebody who is.
fn belongs_to_team(tx: &Tx<'_>, event: &Event, person: PersonId) -> Result<bool> {
    let team = event.team_id;
    tx.exists(
        "select person_id from member
         where account_id = :account and team_id = :team and status in ('active', 'injured')
           and (person_id = :person or person_id in (
               select person_id from guardianship
               where account_id = :account and guardian_id = :person))
         limit 1",
        bind! { team, person },
    )
}

/// Saves changed duties and publishes the change.
pub(super) fn update(tx: &Tx<'_>, before: Event, duties: Duties) -> Result<EventView> {
    if duties == before.duties {
        return event::view(tx, before);
    }
    let after =
        Event { duties, updated_at: tx.now(), version: before.version + 1, ..before.clone() };
    event::update(tx, &after)?;
    let (before, after) = (event::view(tx, before)?, event::view(tx, after)?);
    tx.publish_change("event.updated", &before, &after)?;
    Ok(after)
}
