//! The demo club's season: practices and games from ten weeks ago to sixteen weeks ahead, with RSVPs.

use kit::LocalTime;

use crate::demo_club::DemoClub;
use crate::events::duty::NewDuty;
use crate::events::edit::{self, ApplyTo, Cancellation};
use crate::events::event::{self, EventFilter, HomeAway, Kind};
use crate::events::event_time::EventTime;
use crate::events::location::{self, NewLocation};
use crate::events::result::{self, NewResult};
use crate::events::rsvp::{self, Choice, NewAnswer};
use crate::events::schedule::{self, NewEvent};
use crate::events::volunteers;
use crate::prelude::*;
use crate::roster::demo::DemoTeam;
use crate::roster::member::Member;
use crate::teams::team::Team;

const WEEKS_BEHIND: i64 = 10;
const WEEKS_AHEAD: i64 = 16;
/// RSVPs exist for events from this many weeks ago to this many weeks ahead.
const RSVP_WEEKS: (i64, i64) = (4, 3);
/// The weeks, from now, in which a practice of the first team is cancelled and a parent takes a duty.
const CANCELLATION_WEEK: i64 = 1;
const DUTY_WEEK: i64 = 2;

/// Creates the events of all teams.
pub(super) fn create(tx: &Tx<'_>, club: &mut DemoClub) -> Result<()> {
    club.get::<Vec<DemoTeam>>()?.iter().try_for_each(|demo| create_events(tx, demo))
}

/// Creates the events of a team and their RSVPs.
fn create_events(tx: &Tx<'_>, demo: &DemoTeam) -> Result<()> {
    let (name, address, latitude, longitude) = demo.sample.home_ground;
    let ground = NewLocation {
        name: name.to_owned(),
        address: Some(address.to_owned()),
        latitude: Some(latitude),
        longitude: Some(longitude),
        ..NewLocation::default()
    };
    let ground = location::create(tx, &TeamAccess::AllTeams, ground)?;
    create_practices(tx, demo, ground.id)?;
    for week in -WEEKS_BEHIND..WEEKS_AHEAD {
        create_game(tx, demo, week, ground.id)?;
    }
    create_rsvps(tx, &demo.team, &demo.roster)?;
    record_results(tx, demo)?;
    if demo.number == 0 { cancel_practice(tx, &demo.team) } else { Ok(()) }
}

/// The Monday `week` weeks from now.
fn monday(tx: &Tx<'_>, zone: &Zone, week: i64) -> Result<Day> {
    let today = zone.day(tx.now());
    let since_monday = today.weekday().days_after(kit::time::Weekday::Monday);
    let monday = today.plus_days(week * 7 - since_monday);
    monday.ok_or_else(|| Error::internal("The demo week is outside the calendar."))
}

fn local_time(day: Day, days: i64, hour: i8, minute: i8) -> Result<EventTime> {
    let local = day.plus_days(days).and_then(|day| LocalTime::new(day, hour, minute, 0));
    local
        .map(EventTime::Local)
        .ok_or_else(|| Error::internal("The demo time is outside the calendar."))
}

fn empty_event(team: &Team, kind: Kind, starts_at: EventTime) -> NewEvent {
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
        rsvp_enabled: true,
        rsvp_deadline: None,
        capacity: None,
        duties: Vec::new(),
        recurrence: None,
        external_id: None,
        metadata: Metadata::default(),
    }
}

fn create_practices(tx: &Tx<'_>, demo: &DemoTeam, ground: LocationId) -> Result<()> {
    let (team, (days, hour)) = (&demo.team, demo.sample.practices);
    let first = monday(tx, &team.timezone, -WEEKS_BEHIND)?;
    let each_week = i64::try_from(days.split(',').count()).unwrap_or(1);
    let new = NewEvent {
        ends_at: Some(local_time(first, 0, hour + 1, 30)?),
        location_id: Some(ground),
        notes: Some("Bring water and a warm layer.".to_owned()),
        recurrence: Some(format!(
            "FREQ=WEEKLY;BYDAY={days};COUNT={}",
            each_week * (WEEKS_BEHIND + WEEKS_AHEAD)
        )),
        ..empty_event(team, Kind::Practice, local_time(first, 0, hour, 0)?)
    };
    schedule::create(tx, &TeamAccess::AllTeams, new).map(drop)
}

/// Records the scores of all games that are over.
fn record_results(tx: &Tx<'_>, demo: &DemoTeam) -> Result<()> {
    const SCORES: [(i64, i64); 7] = [(3, 1), (2, 2), (0, 1), (4, 2), (1, 1), (2, 0), (1, 3)];
    let filter = EventFilter {
        team_id: Some(demo.team.id),
        to: Some(tx.now()),
        kind: Some(Kind::Game),
        status: Some(event::Status::Scheduled),
        ..EventFilter::default()
    };
    let page = Page { limit: 100, order: Order::Asc, last: None };
    let games = event::list(tx, &TeamAccess::AllTeams, &filter, &page)?.into_iter();
    let over = games.filter(|game| game.event.is_over(tx.now()));
    for (game, (scored, against)) in over.zip(SCORES.into_iter().cycle().skip(demo.number)) {
        let new = NewResult {
            status: result::Status::Final,
            score_for: Some(scored),
            score_against: Some(against),
            periods: Vec::new(),
            overtime: false,
            shootout: None,
            forfeited_by: None,
        };
        result::record(tx, &TeamAccess::AllTeams, game.event.id, &IfMatch::Absent, new)?;
    }
    Ok(())
}

/// A Saturday game; every other one is at home.
fn create_game(tx: &Tx<'_>, demo: &DemoTeam, week: i64, ground: LocationId) -> Result<()> {
    let DemoTeam { number, sample, team, .. } = demo;
    let round = usize::try_from(week + WEEKS_BEHIND).unwrap_or(0);
    let (home, hour) = (round.is_multiple_of(2), i8::try_from(9 + number).unwrap_or(9));
    let monday = monday(tx, &team.timezone, week)?;
    let duty = |name: &str, slots| NewDuty { id: None, name: name.to_owned(), slots };
    let at_home = || vec![duty("Set up the field", 2), duty("Snacks", 1)];
    let duties = if home { at_home() } else { vec![duty("Drive", 3)] };
    let new = NewEvent {
        ends_at: Some(local_time(monday, 5, hour + 1, 45)?),
        arrival_minutes: Some(if home { 45 } else { 60 }),
        location_id: home.then_some(ground),
        opponent: Some(sample.opponents[(round / 2 + round) % sample.opponents.len()].to_owned()),
        home_away: Some(if home { HomeAway::Home } else { HomeAway::Away }),
        uniform: Some(if home { "home colors" } else { "white" }.to_owned()),
        capacity: Some(11),
        duties,
        ..empty_event(team, Kind::Game, local_time(monday, 5, hour, 30)?)
    };
    let event = schedule::create(tx, &TeamAccess::AllTeams, new)?.event;
    if week == 3 && *number == 3 {
        cancel(tx, event.id, "The opponent cannot field a team.")?;
    }
    if week == DUTY_WEEK
        && let (Some(duty), Some(person)) = (event.duties.0.last(), first_adult(demo))
    {
        let volunteer = (event.id, duty.id, person);
        volunteers::take(tx, &TeamAccess::AllTeams, volunteer, &IfMatch::Absent)?;
    }
    Ok(())
}

/// The first player or, for a minor, the first guardian.
fn first_adult(demo: &DemoTeam) -> Option<PersonId> {
    let player = demo.roster.first()?;
    let guardians = player.private.as_ref().map(|private| &private.guardians);
    let guardian = guardians.and_then(|guardians| guardians.first());
    Some(guardian.map_or(player.person_id, |guardian| guardian.id))
}

fn cancel(tx: &Tx<'_>, event: EventId, reason: &str) -> Result<()> {
    let cancellation = Cancellation { reason: Some(reason.to_owned()), apply_to: ApplyTo::This };
    edit::cancel(tx, &TeamAccess::AllTeams, event, &IfMatch::Absent, cancellation).map(drop)
}

/// Cancels the first practice of a coming week.
fn cancel_practice(tx: &Tx<'_>, team: &Team) -> Result<()> {
    let from = monday(tx, &team.timezone, CANCELLATION_WEEK)?;
    let filter = EventFilter {
        team_id: Some(team.id),
        from: team.timezone.resolve(from.at_midnight()),
        kind: Some(Kind::Practice),
        ..EventFilter::default()
    };
    let page = Page { limit: 1, order: Order::Asc, last: None };
    let found = event::list(tx, &TeamAccess::AllTeams, &filter, &page)?;
    match found.first() {
        Some(practice) => cancel(tx, practice.event.id, "The pitch is being reseeded."),
        None => Ok(()),
    }
}

/// Most people answer most of the time; a few never do.
fn create_rsvps(tx: &Tx<'_>, team: &Team, roster: &[Member]) -> Result<()> {
    let from = monday(tx, &team.timezone, -RSVP_WEEKS.0)?;
    let to = monday(tx, &team.timezone, RSVP_WEEKS.1)?;
    let filter = EventFilter {
        team_id: Some(team.id),
        from: team.timezone.resolve(from.at_midnight()),
        to: team.timezone.resolve(to.at_midnight()),
        status: Some(event::Status::Scheduled),
        ..EventFilter::default()
    };
    let page = Page { limit: 100, order: Order::Asc, last: None };
    let listed = event::list(tx, &TeamAccess::AllTeams, &filter, &page)?;
    for (event_index, listed) in listed.into_iter().enumerate() {
        for (member_index, member) in roster.iter().enumerate() {
            create_rsvp(tx, listed.event.id, member, event_index * 5 + member_index * 3)?;
        }
    }
    Ok(())
}

/// The seed decides deterministically what a member answers.
fn create_rsvp(tx: &Tx<'_>, event: EventId, member: &Member, seed: usize) -> Result<()> {
    let (answer, note) = match seed % 11 {
        0 | 4 => return Ok(()),
        2 => (Choice::No, Some("Away with the family")),
        7 => (Choice::Maybe, None),
        _ => (Choice::Yes, None),
    };
    let new = NewAnswer { answer, note: note.map(str::to_owned), on_behalf_of: None };
    // Each answer changes the event's counts, so read it again.
    let event = event::find(tx, &TeamAccess::AllTeams, event)?;
    rsvp::record_answer(tx, event, member.id, new, tx.actor()).map(drop)
}
