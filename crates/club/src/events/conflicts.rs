//! Scheduling conflicts: events that overlap for the same team, location or person.

use std::collections::{BTreeSet, HashSet};

use kit::string_enum;

use super::event::Event;
use super::event_time;
use crate::prelude::*;

string_enum! {
    /// What two overlapping events have in common.
    pub enum ConflictType {
        Team = "team",
        Location = "location",
        Person = "person",
    }
}

/// A warning that an event overlaps with another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = EventConflict)]
pub struct Warning {
    /// Kind of the warning. Currently always `overlap`.
    #[schema(examples("overlap"))]
    pub code: &'static str,
    /// The warning as a sentence.
    #[schema(examples("The event overlaps with \"Practice\" (same team)."))]
    pub detail: String,
    /// The event of this request.
    pub event_id: EventId,
    /// The event it overlaps with; `null` if the caller cannot access its team.
    pub other_event_id: Option<EventId>,
    /// What the two events have in common: the `team`, the `location` or a `person` who is expected at both.
    pub conflict_types: Vec<ConflictType>,
    /// The people who are expected at both events.
    pub person_ids: Vec<PersonId>,
}

/// Maximum number of warnings.
const MAX_WARNINGS: usize = 50;
/// Maximum number of events checked per query.
const MAX_CANDIDATES: i64 = 5000;

row! {
    /// The columns of another event that matter here.
    struct OtherEvent {
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

/// Warnings about events that overlap with these. All of these must belong to the same team.
pub fn find_overlaps(
    db: &Reader<'_>,
    access: &TeamAccess,
    events: &[Event],
) -> Result<Vec<Warning>> {
    let Some(first) = events.first() else { return Ok(Vec::new()) };
    let since = events.iter().map(|event| event.starts_at).min().unwrap_or(first.starts_at);
    let until = events.iter().map(|event| event.ends_at).max().unwrap_or(first.ends_at);
    let busy = people_on_other_teams(db, first.team_id)?;
    let teams: BTreeSet<_> = busy.iter().map(|(_, team)| *team).chain([first.team_id]).collect();
    let locations: BTreeSet<_> = events.iter().filter_map(|event| event.location_id).collect();
    let own_ids: HashSet<_> = events.iter().map(|event| event.id).collect();
    let mut others = candidates(db, teams, locations, (since, until))?;
    others.retain(|other| !own_ids.contains(&other.id));
    let mut warnings = Vec::new();
    for event in events {
        let overlapping = others
            .iter()
            .filter(|other| other.starts_at < event.ends_at && other.ends_at > event.starts_at);
        for other in overlapping {
            warnings.extend(warning(access, event, other, &busy));
            if warnings.len() == MAX_WARNINGS {
                return Ok(warnings);
            }
        }
    }
    Ok(warnings)
}

/// The people of a team who are also on other teams, with those teams.
fn people_on_other_teams(db: &Reader<'_>, team: TeamId) -> Result<Vec<(PersonId, TeamId)>> {
    let mut busy: Vec<_> = db.all(
        "select own.person_id, other.team_id from member own
         join member other on other.account_id = own.account_id
           and other.person_id = own.person_id and other.team_id <> own.team_id
           and other.status in ('active', 'injured')
         where own.account_id = :account and own.team_id = :team
           and own.status in ('active', 'injured')",
        bind! { team },
    )?;
    // Sorted in memory: with `order by`, SQLite would scan all members of the account by person.
    busy.sort_unstable();
    Ok(busy)
}

/// The events of these teams or at these locations that overlap a period. `starts_at + 0` keeps SQLite from using the
/// index by start, with which it would scan all events of the account in that period.
fn candidates(
    db: &Reader<'_>,
    teams: BTreeSet<TeamId>,
    locations: BTreeSet<LocationId>,
    (since, until): (Timestamp, Timestamp),
) -> Result<Vec<OtherEvent>> {
    // No event lasts longer, so earlier ones are over.
    let (earliest, limit) = (since.minus(event_time::MAX_DURATION), MAX_CANDIDATES);
    let teams = Vec::from_iter(teams);
    let mut others: Vec<OtherEvent> = db.all(
        sql!(COLUMNS, " and team_id in (:teams) order by starts_at + 0 limit :limit"),
        bind! { teams, earliest, since, until, limit },
    )?;
    if !locations.is_empty() {
        let places = Vec::from_iter(locations);
        let at_locations: Vec<OtherEvent> = db.all(
            sql!(COLUMNS, " and location_id in (:places) order by starts_at + 0 limit :limit"),
            bind! { places, earliest, since, until, limit },
        )?;
        let known: HashSet<_> = others.iter().map(|other| other.id).collect();
        others.extend(at_locations.into_iter().filter(|other| !known.contains(&other.id)));
    }
    Ok(others)
}

fn warning(
    access: &TeamAccess,
    event: &Event,
    other: &OtherEvent,
    busy: &[(PersonId, TeamId)],
) -> Option<Warning> {
    let people = busy.iter().filter(|(_, team)| *team == other.team_id);
    let person_ids: Vec<_> = people.map(|(person, _)| *person).collect();
    let same_location = event.location_id.is_some() && event.location_id == other.location_id;
    let mut conflict_types = Vec::new();
    conflict_types.extend((event.team_id == other.team_id).then_some(ConflictType::Team));
    conflict_types.extend(same_location.then_some(ConflictType::Location));
    conflict_types.extend((!person_ids.is_empty()).then_some(ConflictType::Person));
    if conflict_types.is_empty() {
        return None;
    }
    let visible = access.check(other.team_id).is_ok();
    let title =
        if visible { format!("\"{}\"", other.title) } else { "another team's event".into() };
    let words: Vec<_> = conflict_types.iter().map(ToString::to_string).collect();
    Some(Warning {
        code: "overlap",
        detail: format!("The event overlaps with {title} (same {}).", words.join(" and ")),
        event_id: event.id,
        other_event_id: visible.then_some(other.id),
        conflict_types,
        person_ids,
    })
}
