//! Conflicts: which other events overlap for the same team, location or person.

use std::collections::HashSet;

use kit::{Timestamp, words};
use serde::Serialize;
use store::{Reader, bind, row};
use utoipa::ToSchema;

use super::event::Event;
use super::when;
use crate::accounts::rights::Reach;
use crate::error::Result;
use crate::ids::{EventId, LocationId, PersonId, TeamId};

words! {
    /// What two events have in common.
    pub enum Shared {
        Team = "team",
        Location = "location",
        Person = "person",
    }
}

/// Something that should be looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Warning {
    /// What it is; `overlap` for now.
    #[schema(examples("overlap"))]
    pub code: &'static str,
    pub detail: String,
    /// The event of this request that overlaps.
    pub event_id: EventId,
    /// The event it overlaps with; `null` if it belongs to a team that the key does not reach.
    pub other_event_id: Option<EventId>,
    /// What the two have in common.
    pub shares: Vec<Shared>,
    /// The people who would have to be at both.
    pub person_ids: Vec<PersonId>,
}

/// At most so many warnings are told.
const MOST: usize = 50;
/// At most so many events are looked at for one cause.
const LOOKED_AT: i64 = 5000;

row! {
    /// What of another event matters here.
    struct Other {
        id: EventId,
        team_id: TeamId,
        location_id: Option<LocationId>,
        title: String,
        starts_at: Timestamp,
        ends_at: Timestamp,
    }
}

const COLUMNS: &str = "select id, team_id, location_id, title, starts_at, ends_at from event
    where account_id = :account and status = 'scheduled'
      and starts_at > :earliest and starts_at < :until and ends_at > :since";

/// Which events overlap with these, which are all of one team.
pub fn of(db: &Reader<'_>, reach: &Reach, events: &[Event]) -> Result<Vec<Warning>> {
    let Some(first) = events.first() else { return Ok(Vec::new()) };
    let since = events.iter().map(|event| event.starts_at).min().unwrap_or(first.starts_at);
    let until = events.iter().map(|event| event.ends_at).max().unwrap_or(first.ends_at);
    let busy = busy(db, first.team_id)?;
    let mut teams: Vec<_> = busy.iter().map(|(_, team)| *team).chain([first.team_id]).collect();
    teams.sort_unstable();
    teams.dedup();
    let mut places: Vec<_> = events.iter().filter_map(|event| event.location_id).collect();
    places.sort_unstable();
    places.dedup();
    let own: HashSet<_> = events.iter().map(|event| event.id).collect();
    let mut others = others(db, teams, places, (since, until))?;
    others.retain(|other| !own.contains(&other.id));
    let mut warnings = Vec::new();
    for event in events {
        let overlapping = others
            .iter()
            .filter(|other| other.starts_at < event.ends_at && other.ends_at > event.starts_at);
        for other in overlapping {
            warnings.extend(warning(reach, event, other, &busy));
            if warnings.len() == MOST {
                return Ok(warnings);
            }
        }
    }
    Ok(warnings)
}

/// The people of a team who are on other teams too, with those teams.
fn busy(db: &Reader<'_>, team: TeamId) -> Result<Vec<(PersonId, TeamId)>> {
    let mut busy: Vec<_> = db.all(
        "select own.person_id, other.team_id from member own
         join member other on other.account_id = own.account_id
           and other.person_id = own.person_id and other.team_id <> own.team_id
           and other.status in ('active', 'injured')
         where own.account_id = :account and own.team_id = :team
           and own.status in ('active', 'injured')",
        bind! { team },
    )?;
    // Sorted here: asked to sort, SQLite walks through everybody in the account by person.
    busy.sort_unstable();
    Ok(busy)
}

/// The events of these teams, and those at these places, that touch a stretch of time. They are sorted by
/// what no index has: otherwise SQLite would walk through all events of the account in that time.
fn others(
    db: &Reader<'_>,
    teams: Vec<TeamId>,
    places: Vec<LocationId>,
    (since, until): (Timestamp, Timestamp),
) -> Result<Vec<Other>> {
    // No event lasts longer, so none that began earlier can still be going on.
    let (earliest, limit) = (since.minus(when::LONGEST), LOOKED_AT);
    let mut others: Vec<Other> = db.all(
        store::sql!(COLUMNS, " and team_id in (:teams) order by starts_at + 0 limit :limit"),
        bind! { teams, earliest, since, until, limit },
    )?;
    if !places.is_empty() {
        let there: Vec<Other> = db.all(
            store::sql!(
                COLUMNS,
                " and location_id in (:places) order by starts_at + 0 limit :limit"
            ),
            bind! { places, earliest, since, until, limit },
        )?;
        let known: HashSet<_> = others.iter().map(|other| other.id).collect();
        others.extend(there.into_iter().filter(|other| !known.contains(&other.id)));
    }
    Ok(others)
}

fn warning(
    reach: &Reach,
    event: &Event,
    other: &Other,
    busy: &[(PersonId, TeamId)],
) -> Option<Warning> {
    let people = busy.iter().filter(|(_, team)| *team == other.team_id);
    let person_ids: Vec<_> = people.map(|(person, _)| *person).collect();
    let same_place = event.location_id.is_some() && event.location_id == other.location_id;
    let mut shares = Vec::new();
    shares.extend((event.team_id == other.team_id).then_some(Shared::Team));
    shares.extend(same_place.then_some(Shared::Location));
    shares.extend((!person_ids.is_empty()).then_some(Shared::Person));
    if shares.is_empty() {
        return None;
    }
    let visible = reach.check(other.team_id).is_ok();
    let title =
        if visible { format!("\"{}\"", other.title) } else { "another team's event".into() };
    let words: Vec<_> = shares.iter().map(ToString::to_string).collect();
    Some(Warning {
        code: "overlap",
        detail: format!("It overlaps with {title} (same {}).", words.join(" and ")),
        event_id: event.id,
        other_event_id: visible.then_some(other.id),
        shares,
        person_ids,
    })
}
