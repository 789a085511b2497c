//! Volunteers: who takes a duty of an event, and who gives one back.

use store::{Tx, bind, sql};

use super::duty::Duties;
use super::event::{self, Event, Shown, Status};
use super::when::LONGEST;
use crate::accounts::rights::Reach;
use crate::error::{Error, Result};
use crate::expected::Expected;
use crate::ids::{DutyId, EventId, PersonId, TeamId};
use crate::signals::Tell;
use crate::teams::team;

/// A duty of an event and a person who takes it or gives it back.
#[derive(Debug, Clone, Copy)]
pub struct Taking {
    pub event: EventId,
    pub duty: DutyId,
    pub person: PersonId,
}

/// Somebody of the team, or a guardian of somebody, takes a duty. Taking it twice changes nothing.
pub fn take(tx: &Tx<'_>, reach: &Reach, taking: Taking, expected: &Expected) -> Result<Shown> {
    let before = open(tx, reach, taking, expected)?;
    if !belongs(tx, &before, taking.person)? {
        return Err(Error::not_found());
    }
    let duties = before.duties.taken(taking.duty, taking.person)?;
    update(tx, before, duties)
}

/// Somebody gives a duty back.
pub fn release(tx: &Tx<'_>, reach: &Reach, taking: Taking, expected: &Expected) -> Result<Shown> {
    let before = open(tx, reach, taking, expected)?;
    let duties = before.duties.released(taking.duty, taking.person)?;
    update(tx, before, duties)
}

fn open(tx: &Tx<'_>, reach: &Reach, taking: Taking, expected: &Expected) -> Result<Event> {
    let found = event::find(tx, reach, taking.event).and_then(|event| {
        reach.check_person(event.team_id, taking.person)?;
        Ok(event)
    });
    let event = expected.check(found)?;
    team::playing(tx, event.team_id)?;
    if event.status == Status::Cancelled {
        return Err(Error::invalid_state("The event is cancelled."));
    }
    if event.is_over(tx.now()) {
        return Err(Error::invalid_state("The event is over."));
    }
    Ok(event)
}

/// Frees the duties at a team's coming events of those who no longer belong to it.
pub fn let_go(tx: &Tx<'_>, team: TeamId) -> Result<()> {
    // No event lasts longer, so none that began earlier can still be going on.
    let earliest = tx.now().minus(LONGEST);
    let coming: Vec<Event> = tx.all(
        sql!(
            Event::SELECT,
            " where account_id = :account and team_id = :team and starts_at > :earliest
                and ends_at > :now and status <> 'cancelled' and duties like '%\"per\\_%' escape '\\'
              order by starts_at, id"
        ),
        bind! { team, earliest },
    )?;
    for event in coming {
        let mut duties = event.duties.clone();
        for person in event.duties.takers() {
            if !belongs(tx, &event, person)? {
                duties = duties.without(person);
            }
        }
        update(tx, event, duties)?;
    }
    Ok(())
}

/// Whether the person is on the team, or looks after somebody who is.
fn belongs(tx: &Tx<'_>, event: &Event, person: PersonId) -> Result<bool> {
    let team = event.team_id;
    let found: Option<(PersonId,)> = tx.maybe(
        "select person_id from member
         where account_id = :account and team_id = :team and status in ('active', 'injured')
           and (person_id = :person or person_id in (
               select person_id from guardianship
               where account_id = :account and guardian_id = :person))
         limit 1",
        bind! { team, person },
    )?;
    Ok(found.is_some())
}

fn update(tx: &Tx<'_>, before: Event, duties: Duties) -> Result<Shown> {
    if duties == before.duties {
        return event::show_one(tx, before);
    }
    let after =
        Event { duties, updated_at: tx.now(), version: before.version + 1, ..before.clone() };
    event::store(tx, &after)?;
    let (before, after) = (event::show_one(tx, before)?, event::show_one(tx, after)?);
    tx.tell_change("event.updated", &before, &after)?;
    Ok(after)
}
