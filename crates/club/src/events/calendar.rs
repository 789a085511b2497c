//! Calendar feeds in the iCalendar format (RFC 5545).

use std::borrow::Cow;
use std::time::Duration;

use kit::ics::{self, Calendar, Entry};

use super::event::{Event, Status};
use super::feed::{self, Subscription};
use super::location::{self, Location};
use crate::accounts::user;
use crate::i18n::{Locale, format};
use crate::prelude::*;

/// Older events are left out.
const MAX_AGE: Duration = Duration::from_secs(366 * 86_400);
/// Maximum number of events in a calendar.
const MAX_EVENTS: i64 = 10_000;
/// The refresh interval suggested to calendar apps.
const REFRESH_INTERVAL: Duration = Duration::from_secs(3600);

/// Renders the calendar of a feed, in the language that its creator chose.
pub fn render(db: &Reader<'_>, feed: &Subscription) -> Result<String> {
    feed::check_creator(db, feed)?;
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
    let locations = location::find_all(db, events.iter().filter_map(|event| event.location_id))?;
    let of_person = feed.person_id.is_some();
    let write = || {
        let name = match (&names[..], of_person) {
            ([(_, name)], false) => name.as_str(),
            _ => t!("My teams"),
        };
        let name = if feed.games_only { t!("{name} (games)", name).into() } else { name.into() };
        let product = "-//Touchline//Calendar//EN".into();
        let entries = events.iter().map(|event| {
            let location = locations.iter().find(|location| Some(location.id) == event.location_id);
            let team = names.iter().find(|(id, _)| *id == event.team_id).filter(|_| of_person);
            entry(event, location, team.map(|(_, name)| name.as_str()))
        });
        let entries = entries.collect();
        Calendar { name, product, refresh: REFRESH_INTERVAL, entries }.text()
    };
    Ok(creator_locale(db, feed)?.run(write))
}

/// The language that the creator of a feed chose; English for a feed of a key.
fn creator_locale(db: &Reader<'_>, feed: &Subscription) -> Result<Locale> {
    let creator = feed.created_by.parse::<UserId>().ok();
    let chosen = user::locales(db, creator.into_iter().collect())?;
    Ok(chosen.into_values().next().unwrap_or(Locale::ENGLISH))
}

fn events(db: &Reader<'_>, teams: Vec<TeamId>, games_only: bool) -> Result<Vec<Event>> {
    let (since, limit) = (db.now().minus(MAX_AGE), MAX_EVENTS);
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

fn entry<'a>(event: &'a Event, location: Option<&'a Location>, team: Option<&str>) -> Entry<'a> {
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
        location: location.map(address),
        geo: location.and_then(|location| Some((location.latitude?, location.longitude?))),
        url: location.and_then(|location| location.url.as_deref()).map(Cow::Borrowed),
        status: match event.status {
            Status::Scheduled | Status::Completed => ics::Status::Confirmed,
            Status::Postponed => ics::Status::Tentative,
            Status::Cancelled => ics::Status::Cancelled,
        },
        when,
        categories: vec![event.kind.as_str().into()],
    }
}

/// The event's title, prefixed with the status: some calendar apps show cancelled events like any other.
fn summary<'a>(event: &'a Event, team: Option<&str>) -> Cow<'a, str> {
    let title: Cow<'_, str> = match team {
        Some(team) => format!("{team}: {}", event.shown_title()).into(),
        None => event.shown_title(),
    };
    match event.status {
        Status::Cancelled => t!("Cancelled: {title}", title).into(),
        Status::Postponed => t!("Postponed: {title}", title).into(),
        Status::Scheduled | Status::Completed => title,
    }
}

fn address(location: &Location) -> Cow<'_, str> {
    match &location.address {
        Some(address) => format!("{}, {}", location.name, address.replace('\n', ", ")).into(),
        None => Cow::Borrowed(&location.name),
    }
}

/// What people need on the day: arrival time, uniform and notes.
fn description(event: &Event) -> Option<Cow<'_, str>> {
    let mut lines: Vec<Cow<'_, str>> = Vec::new();
    if let Some(reason) = &event.cancel_reason {
        lines.push(t!("Cancelled: {reason}", reason).into());
    }
    if let Some(minutes) = event.arrival_minutes.filter(|_| !event.all_day) {
        let early = Duration::from_secs(u64::try_from(minutes).unwrap_or(0) * 60);
        let arrival = event.timezone.local(event.starts_at.minus(early));
        let time = format::time(Locale::current_or_english(), arrival);
        lines.push(t!("Arrive by {time}.", time).into());
    }
    lines.extend(event.uniform.as_ref().map(|uniform| t!("Uniform: {uniform}", uniform).into()));
    lines.extend(event.notes.as_deref().map(Cow::Borrowed));
    match lines.len() {
        0 => None,
        1 => lines.pop(),
        _ => Some(lines.join("\n").into()),
    }
}
