//! A club in the middle of its season: teams with people, past and future events, RSVPs and calendars.
//!
//! The data layer creates it, many rows per transaction. On PostgreSQL it creates a few teams, and the others are
//! copies. Most of the data is not in the audit log and the notification log, which the measured requests do not read.

use std::time::{Duration, Instant};

use kit::{Timestamp, text};
use store::{Db, Scope, Tx};
use touchline::error::Error;
use touchline::events::duty::Duties;
use touchline::events::event::{Event, HomeAway, Kind, Status};
use touchline::events::feed::{self, NewFeed};
use touchline::events::location::{self, NewLocation};
use touchline::events::rsvp::{self, Answer, Rsvp};
use touchline::ids::{LocationId, MemberId, TeamId};
use touchline::metadata::Metadata;
use touchline::rights::TeamAccess;
use touchline::roster::membership::{MemberStatus, Membership, Positions, Role};
use touchline::roster::person::Person;
use touchline::teams::team::{self, NewTeam, Team};

use crate::Result;
use crate::club::{Club, new_team};
use crate::environment::{Database, run_sql};
use crate::load::Counter;
use crate::table::thousands;

/// The number of events of a team, half of them in the past.
pub(crate) const EVENTS: usize = 500;
/// The number of members of a team.
const MEMBERS: usize = 10;
/// The number of a team's next events that all members have answered.
const EVENTS_WITH_RSVPS: usize = 10;
/// The number of events of the team with the calendars. Calendars include all of them.
pub(crate) const BUSY_EVENTS: usize = 1000;
/// The number of calendars of that team: more than the service caches.
const CALENDARS: usize = 200;
/// The number of members of the team whose events have limited capacity.
pub(crate) const LARGE_TEAM_MEMBERS: usize = 256;
/// The number of teams that are created in one transaction.
const BATCH_SIZE: usize = 10;
const DAY: Duration = Duration::from_secs(86_400);
const EVENING: Duration = Duration::from_secs(18 * 3600);

/// The created data.
#[derive(Debug)]
pub(crate) struct Season {
    pub(crate) teams: Vec<TeamId>,
    /// The team with many members.
    pub(crate) large_team: TeamId,
    pub(crate) members: Vec<MemberId>,
    /// The tokens of one team's calendars.
    pub(crate) calendars: Vec<String>,
    /// The number of RSVPs.
    pub(crate) rsvps: usize,
}

/// A team and its members.
type CreatedTeam = (TeamId, Vec<MemberId>);

/// What to create for one team.
#[derive(Debug, Clone, Copy)]
struct TeamPlan {
    people: usize,
    past_events: usize,
    future_events: usize,
    events_with_rsvps: usize,
}

const REGULAR_TEAM: TeamPlan = TeamPlan {
    people: MEMBERS,
    past_events: EVENTS / 2,
    future_events: EVENTS - EVENTS / 2,
    events_with_rsvps: EVENTS_WITH_RSVPS,
};
const BUSY_TEAM: TeamPlan = TeamPlan {
    people: 0,
    past_events: 300,
    future_events: BUSY_EVENTS - 300,
    events_with_rsvps: 0,
};
const LARGE_TEAM: TeamPlan =
    TeamPlan { people: LARGE_TEAM_MEMBERS, past_events: 0, future_events: 0, events_with_rsvps: 0 };

/// Creates a season with this number of teams.
pub(crate) async fn create_season(
    database: &Database,
    club: &Club,
    teams: usize,
    numbers: &Counter,
) -> Result<Season> {
    let started = Instant::now();
    let db = database.open()?;
    let teams = match &database.url {
        None => create_teams(&db, club, teams, numbers).await?,
        // Creating all rows one by one would take many minutes on PostgreSQL.
        Some(url) => {
            copy_teams(url, create_teams(&db, club, BATCH_SIZE, numbers).await?, teams).await?
        }
    };
    let (busy, _) = create_single(&db, club, BUSY_TEAM, numbers).await?;
    let calendars = create_calendars(&db, club, busy).await?;
    let (crowd, members) = create_single(&db, club, LARGE_TEAM, numbers).await?;
    db.close();
    if let Some(url) = &database.url {
        // Now, so that autovacuum does not run during a round.
        run_sql(url, &["vacuum analyze".to_owned()]).await?;
    }
    let (events, seconds) = (teams.len() * EVENTS + BUSY_EVENTS, started.elapsed().as_secs_f64());
    eprintln!("  {} events in {seconds:.0} s", thousands(events as f64));
    let answers = teams.len() * MEMBERS * EVENTS_WITH_RSVPS;
    Ok(Season { teams, large_team: crowd, members, calendars, rsvps: answers })
}

/// Creates teams with the regular plan.
async fn create_teams(
    db: &Db,
    club: &Club,
    count: usize,
    numbers: &Counter,
) -> Result<Vec<TeamId>> {
    let mut teams = Vec::new();
    for done in (0..count).step_by(BATCH_SIZE) {
        let batch = (BATCH_SIZE.min(count - done), REGULAR_TEAM);
        teams.extend(create(db, club, batch, numbers).await?.into_iter().map(|(team, _)| team));
    }
    Ok(teams)
}

/// Copies these teams with all their rows until there are `count` teams. The number of the copy replaces the
/// first two bytes of each id.
async fn copy_teams(url: &str, teams: Vec<TeamId>, count: usize) -> Result<Vec<TeamId>> {
    let copies = count / teams.len() - 1;
    for table in ["team", "location", "person", "member", "event", "rsvp", "rsvp_change"] {
        let columns = format!(
            "select column_name from information_schema.columns
             where table_schema = 'public' and table_name = '{table}'"
        );
        let columns = run_sql(url, &[columns]).await?;
        let values: Vec<_> = columns.iter().map(|column| copied_value(table, column)).collect();
        let insert = format!(
            "insert into {table} ({}) select {} from {table}, generate_series(1, {copies}) as number",
            columns.join(", "),
            values.join(", ")
        );
        run_sql(url, &[insert]).await?;
    }
    let numbers = 0..=copies as u128;
    Ok(numbers.flat_map(|number| teams.iter().map(move |team| copy_of(*team, number))).collect())
}

fn copied_value(table: &str, column: &str) -> String {
    match (table, column) {
        (_, "id" | "team_id" | "location_id" | "person_id" | "member_id" | "event_id") => {
            format!("overlay({column} placing int2send(number::int2) from 1 for 2)")
        }
        ("team", "name" | "name_folded") => format!("concat({column}, ' ', number)"),
        _ => column.to_owned(),
    }
}

/// The id of a copy. The original is number zero.
fn copy_of(team: TeamId, number: u128) -> TeamId {
    match number {
        0 => team,
        _ => TeamId::from_bits(team.bits() << 16 >> 16 | number << 112),
    }
}

/// Creates teams with one plan, in one transaction.
async fn create(
    db: &Db,
    club: &Club,
    (count, plan): (usize, TeamPlan),
    numbers: &Counter,
) -> Result<Vec<CreatedTeam>> {
    let numbers = numbers.clone();
    let write = db.write(Scope::account(club.account, "bench"), move |tx| {
        let create = |_| create_one(tx, plan, numbers.next());
        (0..count).map(create).collect::<Result<Vec<_>, Error>>()
    });
    write.await.map_err(|error| format!("cannot create the season: {error:?}"))
}

/// Creates a single team.
async fn create_single(
    db: &Db,
    club: &Club,
    plan: TeamPlan,
    numbers: &Counter,
) -> Result<CreatedTeam> {
    let created = create(db, club, (1, plan), numbers).await?.pop();
    created.ok_or_else(|| "no team was created".to_owned())
}

/// Creates a team with this number of members and no events.
pub(crate) async fn create_team_with_members(
    db: &Db,
    club: &Club,
    people: usize,
    numbers: &Counter,
) -> Result<TeamId> {
    let plan = TeamPlan { people, ..LARGE_TEAM };
    create_single(db, club, plan, numbers).await.map(|(team, _)| team)
}

fn create_one(tx: &Tx<'_>, plan: TeamPlan, number: u64) -> Result<CreatedTeam, Error> {
    let timezone = "Europe/Lisbon".parse().ok();
    let team = team::create(tx, NewTeam { timezone, ..new_team(number) })?;
    let location = create_location(tx, number)?;
    let members = (0..plan.people).map(|person| create_member(tx, team.id, person));
    let members = members.collect::<Result<Vec<_>, Error>>()?;
    let count = to_i64(plan.people);
    team::adjust_roster_count(tx, team.id, count)?;
    let today = Timestamp::from_micros(tx.now().seconds() / 86_400 * 86_400_000_000);
    let first =
        today.plus(EVENING).minus(DAY * u32::try_from(plan.past_events).unwrap_or_default());
    for day in 0..plan.past_events + plan.future_events {
        let starts_at = first.plus(DAY * u32::try_from(day).unwrap_or_default());
        // Not today's event, which may be over already.
        let has_rsvps =
            (plan.past_events + 1..=plan.past_events + plan.events_with_rsvps).contains(&day);
        let mut event = new_event(tx, &team, location, (day, starts_at));
        event.asked_count = count;
        if has_rsvps {
            (event.yes_count, event.no_count, event.maybe_count) = answer_counts(members.len());
        }
        tx.execute_deferred(Event::INSERT, &event.bind())?;
        if has_rsvps {
            members
                .iter()
                .enumerate()
                .try_for_each(|(index, member)| create_rsvp(tx, &event, *member, index))?;
        }
    }
    Ok((team.id, members))
}

fn create_location(tx: &Tx<'_>, number: u64) -> Result<LocationId, Error> {
    let new = NewLocation {
        name: format!("Lower pitch {number}"),
        address: Some("12 Quay Street, Harbour".to_owned()),
        latitude: Some(38.7071),
        longitude: Some(-9.1355),
        ..NewLocation::default()
    };
    location::create(tx, &TeamAccess::AllTeams, new).map(|location| location.id)
}

/// Creates a person and adds them to a team.
fn create_member(tx: &Tx<'_>, team_id: TeamId, number: usize) -> Result<MemberId, Error> {
    let (first, last) = (format!("Inês {number}"), "Duarte".to_owned());
    let person = Person {
        account_id: tx.account(),
        id: tx.new_id(),
        name_folded: text::fold_case(&format!("{first} {last}")),
        first_name: first,
        last_name: Some(last),
        preferred_name: None,
        preferred_folded: None,
        birth_date: None,
        email: None,
        email_folded: None,
        phone: None,
        phone_normalized: None,
        address: None,
        emergency_contact: None,
        medical_note: None,
        photo_file_id: None,
        email_opt_in: true,
        user_id: None,
        known_minor: false,
        adult_confirmed_at: None,
        adult_confirmed_by: None,
        email_confirmed_at: None,
        erased_at: None,
        created_at: tx.now(),
        updated_at: tx.now(),
        version: 1,
    };
    let member = Membership {
        account_id: tx.account(),
        id: tx.new_id(),
        team_id,
        person_id: person.id,
        role: Role::Player,
        has_played: true,
        jersey_number: Some(number.to_string()),
        positions: Positions::default(),
        status: MemberStatus::Active,
        joined_on: None,
        left_on: None,
        external_id: None,
        metadata: Metadata::default(),
        created_at: tx.now(),
        updated_at: tx.now(),
        version: 1,
    };
    tx.execute_deferred(Person::INSERT, &person.bind())?;
    tx.execute_deferred(Membership::INSERT, &member.bind())?;
    Ok(member.id)
}

/// Every fifth event is a game, the others are practices.
fn new_event(
    tx: &Tx<'_>,
    team: &Team,
    location: LocationId,
    (day, starts_at): (usize, Timestamp),
) -> Event {
    let game = day.is_multiple_of(5);
    Event {
        id: tx.new_id(),
        account_id: tx.account(),
        team_id: team.id,
        series_id: None,
        recurrence: None,
        occurrence: None,
        edited: false,
        kind: if game { Kind::Game } else { Kind::Practice },
        title: if game { "vs Breakwater".to_owned() } else { "Practice".to_owned() },
        starts_at,
        ends_at: starts_at.plus(Duration::from_secs(5400)),
        timezone: team.timezone.clone(),
        all_day: false,
        arrival_minutes: Some(30),
        location_id: Some(location),
        opponent: game.then(|| "Breakwater".to_owned()),
        home_away: game.then_some(HomeAway::Home),
        uniform: game.then(|| "blue".to_owned()),
        notes: Some("Bring water and a warm layer.".to_owned()),
        rsvp_enabled: true,
        rsvp_deadline: None,
        capacity: None,
        duties: Duties::default(),
        status: Status::Scheduled,
        cancel_reason: None,
        cancelled_at: None,
        result: None,
        asked_count: 0,
        yes_count: 0,
        no_count: 0,
        maybe_count: 0,
        waitlisted_count: 0,
        revision: 0,
        revised_at: tx.now(),
        changed_at: None,
        external_id: None,
        metadata: Metadata::default(),
        created_at: tx.now(),
        updated_at: tx.now(),
        version: 1,
    }
}

fn to_i64(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// The answer of the member at this index of the roster. Most attend.
fn answer_at(index: usize) -> Answer {
    match index % 10 {
        7 | 8 => Answer::No,
        9 => Answer::Maybe,
        _ => Answer::Yes,
    }
}

/// The numbers of members who answer yes, no and maybe.
fn answer_counts(members: usize) -> (i64, i64, i64) {
    let count = |answer| to_i64((0..members).filter(|index| answer_at(*index) == answer).count());
    (count(Answer::Yes), count(Answer::No), count(Answer::Maybe))
}

fn create_rsvp(tx: &Tx<'_>, event: &Event, member: MemberId, index: usize) -> Result<(), Error> {
    let rsvp = Rsvp {
        id: tx.new_id(),
        account_id: tx.account(),
        event_id: event.id,
        member_id: member,
        answer: answer_at(index),
        note: None,
        place: None,
        answered_by: tx.actor().to_owned(),
        answered_at: tx.now(),
        created_at: tx.now(),
        updated_at: tx.now(),
        version: 1,
    };
    tx.execute_deferred(Rsvp::INSERT, &rsvp.bind())?;
    rsvp::add_history_entry(tx, &rsvp, Some(rsvp.answer), tx.actor())
}

/// Creates the calendars of a team and returns their tokens.
async fn create_calendars(db: &Db, club: &Club, team: TeamId) -> Result<Vec<String>> {
    let write = db.write(Scope::account(club.account, "bench"), move |tx| {
        let create = |_| {
            let new = NewFeed { team_id: Some(team), ..NewFeed::default() };
            feed::create(tx, &TeamAccess::AllTeams, new).map(|(_, token)| token)
        };
        (0..CALENDARS).map(create).collect::<Result<Vec<_>, Error>>()
    });
    write.await.map_err(|error| format!("cannot create calendars: {error:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_differ_in_their_first_bytes() {
        let team = TeamId::from_bits(0x019a_0000_0000_0000_0000_0000_0000_0007);
        assert_eq!(copy_of(team, 0), team);
        assert_eq!(copy_of(team, 0x63).bits(), 0x0063_0000_0000_0000_0000_0000_0000_0007);
    }

    #[test]
    fn every_member_is_counted_once() {
        assert_eq!(answer_counts(MEMBERS), (7, 2, 1));
        let (yes, no, maybe) = answer_counts(LARGE_TEAM_MEMBERS);
        assert_eq!(yes + no + maybe, i64::try_from(LARGE_TEAM_MEMBERS).unwrap());
    }
}
