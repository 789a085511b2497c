//! The demo club's season: practices and games, ten weeks behind and sixteen ahead, and who comes.

use kit::{Day, LocalTime, Zone};
use store::Tx;

use super::club::{Sample, TEAMS};
use crate::accounts::rights::Reach;
use crate::error::{Error, Result};
use crate::events::duty::NewDuty;
use crate::events::edit::{self, ApplyTo, Cancellation};
use crate::events::event::{self, EventFilter, HomeAway, Kind};
use crate::events::location::{self, NewLocation};
use crate::events::rsvp::{self, Choice, NewAnswer};
use crate::events::schedule::{self, NewEvent};
use crate::events::when::When;
use crate::expected::Expected;
use crate::ids::{EventId, LocationId};
use crate::metadata::Metadata;
use crate::paging::{Order, Page};
use crate::roster::member::Member;
use crate::teams::team::Team;

const BEHIND: i64 = 10;
const AHEAD: i64 = 16;
/// Answers were given for events this many weeks ago and are given this many weeks ahead.
const ANSWERED: (i64, i64) = (4, 2);

/// Plans the season of a team and lets its people answer.
pub(super) fn plan(tx: &Tx<'_>, sample: &Sample, team: &Team, roster: &[Member]) -> Result<()> {
    let (name, address, latitude, longitude) = sample.ground;
    let ground = location::create(
        tx,
        &Reach::Everywhere,
        NewLocation {
            name: name.to_owned(),
            address: Some(address.to_owned()),
            latitude: Some(latitude),
            longitude: Some(longitude),
            url: None,
            notes: None,
            shared: None,
            external_id: None,
            metadata: Metadata::default(),
        },
    )?;
    practices(tx, sample, team, ground.id)?;
    for week in -BEHIND..AHEAD {
        game(tx, sample, team, (week, ground.id))?;
    }
    answers(tx, team, roster)
}

/// Monday of the week that is so many weeks from now.
fn monday(tx: &Tx<'_>, zone: &Zone, week: i64) -> Result<Day> {
    let today = zone.day(tx.now());
    let back = today.weekday().days_after(kit::time::Weekday::Monday);
    today.plus_days(week * 7 - back).ok_or_else(|| Error::internal("a week beyond the calendar"))
}

fn at(day: Day, days: i64, hour: i8, minute: i8) -> Result<When> {
    let local = day.plus_days(days).and_then(|day| LocalTime::new(day, hour, minute, 0));
    local.map(When::Local).ok_or_else(|| Error::internal("a time beyond the calendar"))
}

fn blank(team: &Team, kind: Kind, starts_at: When) -> NewEvent {
    NewEvent {
        team_id: team.id,
        kind,
        title: None,
        starts_at,
        ends_at: None,
        timezone: None,
        all_day: false,
        arrival_minutes: None,
        location_id: None,
        opponent: None,
        home_away: None,
        uniform: None,
        notes: None,
        asks_rsvp: true,
        rsvp_deadline: None,
        capacity: None,
        duties: Vec::new(),
        recurrence: None,
        external_id: None,
        metadata: Metadata::default(),
    }
}

fn practices(tx: &Tx<'_>, sample: &Sample, team: &Team, ground: LocationId) -> Result<()> {
    let (days, hour) = sample.practices;
    let first = monday(tx, &team.timezone, -BEHIND)?;
    let each_week = i64::try_from(days.split(',').count()).unwrap_or(1);
    let new = NewEvent {
        ends_at: Some(at(first, 0, hour + 1, 30)?),
        location_id: Some(ground),
        notes: Some("Bring water and a warm layer.".to_owned()),
        recurrence: Some(format!(
            "FREQ=WEEKLY;BYDAY={days};COUNT={}",
            each_week * (BEHIND + AHEAD)
        )),
        ..blank(team, Kind::Practice, at(first, 0, hour, 0)?)
    };
    schedule::create(tx, &Reach::Everywhere, new)?;
    Ok(())
}

/// A game at the weekend, every other one at home.
fn game(
    tx: &Tx<'_>,
    sample: &Sample,
    team: &Team,
    (week, ground): (i64, LocationId),
) -> Result<()> {
    let number = TEAMS.iter().position(|known| known.name == sample.name).unwrap_or(0);
    let round = usize::try_from(week + BEHIND).unwrap_or(0);
    let (home, hour) = (round.is_multiple_of(2), i8::try_from(9 + number).unwrap_or(9));
    let monday = monday(tx, &team.timezone, week)?;
    let duty = |name: &str, needed| NewDuty { id: None, name: name.to_owned(), needed };
    let duties = if home {
        vec![duty("Set up the field", 2), duty("Snacks", 1)]
    } else {
        vec![duty("Drive", 3)]
    };
    let new = NewEvent {
        ends_at: Some(at(monday, 5, hour + 1, 45)?),
        arrival_minutes: Some(if home { 45 } else { 60 }),
        location_id: home.then_some(ground),
        opponent: Some(sample.opponents[(round / 2 + round) % sample.opponents.len()].to_owned()),
        home_away: Some(if home { HomeAway::Home } else { HomeAway::Away }),
        uniform: Some(if home { "home colours" } else { "white" }.to_owned()),
        capacity: Some(11),
        duties,
        ..blank(team, Kind::Game, at(monday, 5, hour, 30)?)
    };
    let event = schedule::create(tx, &Reach::Everywhere, new)?.event;
    if week == 3 && number.is_multiple_of(3) {
        let why = Cancellation {
            reason: Some("The opponent cannot field a team.".to_owned()),
            apply_to: ApplyTo::This,
        };
        edit::cancel(tx, &Reach::Everywhere, event.id, &Expected::Anything, why)?;
    }
    Ok(())
}

/// Most people answer most of the time, and a few never do.
fn answers(tx: &Tx<'_>, team: &Team, roster: &[Member]) -> Result<()> {
    let (from, to) =
        (monday(tx, &team.timezone, -ANSWERED.0)?, monday(tx, &team.timezone, ANSWERED.1)?);
    let filter = EventFilter {
        team_id: Some(team.id),
        from: team.timezone.nearest(from.at_midnight()),
        to: team.timezone.nearest(to.at_midnight()),
        status: Some(event::Status::Scheduled),
        ..EventFilter::default()
    };
    let page = Page { limit: 100, order: Order::Asc, last: None };
    for (turn, shown) in
        event::list(tx, &Reach::Everywhere, &filter, &page)?.into_iter().enumerate()
    {
        for (place, member) in roster.iter().enumerate() {
            answer(tx, shown.event.id, member, turn * 5 + place * 3)?;
        }
    }
    Ok(())
}

fn answer(tx: &Tx<'_>, event: EventId, member: &Member, chance: usize) -> Result<()> {
    let (answer, note) = match chance % 11 {
        0 | 4 => return Ok(()),
        2 => (Choice::No, Some("Away with the family")),
        7 => (Choice::Maybe, None),
        _ => (Choice::Yes, None),
    };
    let new = NewAnswer { answer, note: note.map(str::to_owned), on_behalf_of: None };
    // Looked up anew, since whoever answered before has taken a place.
    let event = event::find(tx, &Reach::Everywhere, event)?;
    rsvp::settle(tx, event, member.id, new, super::ACTOR)?;
    Ok(())
}
