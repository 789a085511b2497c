//! A feed's events as calendar programs read them (RFC 5545).

use std::borrow::Cow;
use std::time::Duration;

use kit::Timestamp;
use kit::ics::{self, Calendar, Entry};
use kit::word::Word;
use store::{Reader, bind, sql};

use super::event::{Event, Status};
use super::feed::{self, Subscribed};
use super::location::{self, Location};
use crate::error::Result;
use crate::ids::TeamId;

/// Events that ended longer ago are left out.
const PAST: Duration = Duration::from_secs(366 * 86_400);
/// No calendar has more events.
const MOST: i64 = 10_000;
/// How often programs are asked to look again.
const REFRESH: Duration = Duration::from_secs(3600);

/// The text of a feed's calendar.
pub fn write(db: &Reader<'_>, feed: &Subscribed) -> Result<String> {
    feed::check_maker(db, feed)?;
    let teams = match (feed.team_id, feed.person_id) {
        (Some(team), _) => vec![team],
        (None, Some(person)) => feed::teams_of(db, person)?,
        (None, None) => Vec::new(),
    };
    let names: Vec<(TeamId, String)> = db.all(
        "select id, name from team where account_id = :account and id in (:teams) order by id",
        bind! { teams },
    )?;
    let events = events(db, teams, feed.games_only)?;
    let places = location::find_all(db, events.iter().filter_map(|event| event.location_id))?;
    let of_person = feed.person_id.is_some();
    let (base, games) = match (&names[..], of_person) {
        ([(_, name)], false) => (name.as_str(), feed.games_only),
        _ => ("My teams", feed.games_only),
    };
    let name = if games { format!("{base} (games)").into() } else { base.into() };
    let product = "-//Touchline//Calendar//EN".into();
    let entries = events.iter().map(|event| {
        let place = places.iter().find(|place| Some(place.id) == event.location_id);
        let team = names.iter().find(|(id, _)| *id == event.team_id).filter(|_| of_person);
        entry(event, place, team.map(|(_, name)| name.as_str()))
    });
    let entries = entries.collect();
    Ok(Calendar { name, product, refresh: REFRESH, entries }.text())
}

fn events(db: &Reader<'_>, teams: Vec<TeamId>, games_only: bool) -> Result<Vec<Event>> {
    let (since, limit) = (db.now().minus(PAST), MOST);
    Ok(db.all(
        sql!(
            Event::SELECT,
            " where account_id = :account and team_id in (:teams) and starts_at > :since
                and (not cast(:games_only as boolean) or kind in ('game', 'tournament'))
              order by starts_at + 0, id limit :limit"
        ),
        bind! { teams, games_only, since, limit },
    )?)
}

fn entry<'a>(event: &'a Event, place: Option<&'a Location>, team: Option<&str>) -> Entry<'a> {
    let zone = &event.timezone;
    let when = if event.all_day {
        let (first, last_exclusive) = (zone.day(event.starts_at), zone.day(event.ends_at));
        ics::When::AllDay { first, last_exclusive }
    } else {
        let (start, end) = (event.starts_at, event.ends_at);
        ics::When::Timed { start, end, zone: zone.clone() }
    };
    Entry {
        uid: format!("{}@touchline", event.id).into(),
        sequence: event.revision,
        created: event.created_at,
        last_modified: event.revised_at,
        summary: summary(event, team),
        description: description(event),
        location: place.map(address),
        geo: place.and_then(|place| Some((place.latitude?, place.longitude?))),
        url: place.and_then(|place| place.url.as_deref()).map(Cow::Borrowed),
        status: match event.status {
            Status::Scheduled | Status::Completed => ics::Status::Confirmed,
            Status::Postponed => ics::Status::Tentative,
            Status::Cancelled => ics::Status::Cancelled,
        },
        when,
        categories: vec![event.kind.word().into()],
    }
}

/// The event's title; programs that show cancelled events like any other should not mislead.
fn summary<'a>(event: &'a Event, team: Option<&str>) -> Cow<'a, str> {
    let standing = match event.status {
        Status::Cancelled => "Cancelled: ",
        Status::Postponed => "Postponed: ",
        Status::Scheduled | Status::Completed => "",
    };
    match (standing, team) {
        ("", None) => Cow::Borrowed(&event.title),
        (standing, None) => format!("{standing}{}", event.title).into(),
        (standing, Some(team)) => format!("{standing}{team}: {}", event.title).into(),
    }
}

fn address(place: &Location) -> Cow<'_, str> {
    match &place.address {
        Some(address) => format!("{}, {}", place.name, address.replace('\n', ", ")).into(),
        None => Cow::Borrowed(&place.name),
    }
}

/// What people want to read on the day: when to be there, what to wear, and the notes.
fn description(event: &Event) -> Option<Cow<'_, str>> {
    let mut lines: Vec<Cow<'_, str>> = Vec::new();
    if let Some(reason) = &event.cancel_reason {
        lines.push(format!("Cancelled: {reason}").into());
    }
    if let Some(minutes) = event.arrival_minutes.filter(|_| !event.all_day) {
        let early = Duration::from_secs(u64::try_from(minutes).unwrap_or(0) * 60);
        lines.push(format!("Be there at {}.", clock(event, event.starts_at.minus(early))).into());
    }
    lines.extend(event.uniform.as_ref().map(|uniform| format!("Uniform: {uniform}").into()));
    lines.extend(event.notes.as_deref().map(Cow::Borrowed));
    match lines.len() {
        0 => None,
        1 => lines.pop(),
        _ => Some(lines.join("\n").into()),
    }
}

/// What the clocks show, without the day.
fn clock(event: &Event, moment: Timestamp) -> String {
    let local = event.timezone.local(moment);
    format!("{:02}:{:02}", local.hour(), local.minute())
}
