//! A club in the middle of its season: teams with people, events behind and ahead, answers and calendars.
//!
//! It is filled by the data layer, many rows to a transaction, as an import would; on PostgreSQL a few
//! teams are, and the others are copies of them. The logs of what happened know nothing of most of it;
//! what is measured here does not look there.

use std::time::{Duration, Instant};

use kit::{Timestamp, text};
use store::{Db, Scope, Tx, bind};
use touchline::accounts::rights::Reach;
use touchline::error::Error;
use touchline::events::duty::Duties;
use touchline::events::event::{Event, HomeAway, Kind, Status};
use touchline::events::feed::{self, NewFeed};
use touchline::events::location::{self, NewLocation};
use touchline::events::rsvp::{Answer, Rsvp};
use touchline::ids::{LocationId, MemberId, TeamId};
use touchline::metadata::Metadata;
use touchline::roster::membership::{MemberStatus, Membership, Positions, Role};
use touchline::roster::person::Person;
use touchline::teams::team::{self, NewTeam, Team};

use crate::Result;
use crate::club::{Club, new_team};
use crate::load::Numbers;
use crate::site::{Database, admin};
use crate::table::thousands;

/// How many events a team has, half of them behind.
pub(crate) const EVENTS: usize = 500;
/// How many people are on a team.
const PEOPLE: usize = 10;
/// How many of a team's coming events everybody on it has answered.
const ANSWERED: usize = 10;
/// How many events the team with the calendars has, all within the year that calendars go back.
pub(crate) const BUSY_EVENTS: usize = 1000;
/// How many calendars of that team there are: more than the service remembers.
const CALENDARS: usize = 200;
/// How many people are on the team whose events are too small for all of them.
pub(crate) const CROWD: usize = 256;
/// How many teams are made in one job.
const TOGETHER: usize = 10;
const DAY: Duration = Duration::from_secs(86_400);
const EVENING: Duration = Duration::from_secs(18 * 3600);

/// What there is, once it was filled.
#[derive(Debug)]
pub(crate) struct Season {
    pub(crate) teams: Vec<TeamId>,
    /// The team of the many members.
    pub(crate) crowd: TeamId,
    pub(crate) members: Vec<MemberId>,
    /// The secret parts of the addresses of one team's calendars.
    pub(crate) calendars: Vec<String>,
    /// How many answers there are.
    pub(crate) answers: usize,
}

/// A team and its members.
type Made = (TeamId, Vec<MemberId>);

/// What one team is given.
#[derive(Debug, Clone, Copy)]
struct Plan {
    people: usize,
    behind: usize,
    ahead: usize,
    answered: usize,
}

const USUAL: Plan =
    Plan { people: PEOPLE, behind: EVENTS / 2, ahead: EVENTS - EVENTS / 2, answered: ANSWERED };
const BUSY: Plan = Plan { people: 0, behind: 300, ahead: BUSY_EVENTS - 300, answered: 0 };
const CROWDED: Plan = Plan { people: CROWD, behind: 0, ahead: 0, answered: 0 };

/// Gives the club a season with this many teams.
pub(crate) async fn fill(
    database: &Database,
    club: &Club,
    teams: usize,
    numbers: &Numbers,
) -> Result<Season> {
    let began = Instant::now();
    let db = database.open()?;
    let teams = match &database.url {
        None => created(&db, club, teams, numbers).await?,
        // Statement by statement it would take many minutes there.
        Some(url) => copied(url, created(&db, club, TOGETHER, numbers).await?, teams).await?,
    };
    let (busy, _) = alone(&db, club, BUSY, numbers).await?;
    let calendars = calendars(&db, club, busy).await?;
    let (crowd, members) = alone(&db, club, CROWDED, numbers).await?;
    db.close();
    if let Some(url) = &database.url {
        // What the server would do by itself sooner or later must not fall into a round.
        admin(url, &["vacuum analyze".to_owned()]).await?;
    }
    let (events, seconds) = (teams.len() * EVENTS + BUSY_EVENTS, began.elapsed().as_secs_f64());
    eprintln!("  {} events in {seconds:.0} s", thousands(events as f64));
    let answers = teams.len() * PEOPLE * ANSWERED;
    Ok(Season { teams, crowd, members, calendars, answers })
}

/// So many teams by the usual plan.
async fn created(db: &Db, club: &Club, many: usize, numbers: &Numbers) -> Result<Vec<TeamId>> {
    let mut teams = Vec::new();
    for done in (0..many).step_by(TOGETHER) {
        let some = (TOGETHER.min(many - done), USUAL);
        teams.extend(create(db, club, some, numbers).await?.into_iter().map(|(team, _)| team));
    }
    Ok(teams)
}

/// Copies everything that these teams have until there are so many teams. Whatever has an id is known by
/// the number of its copy in the first two bytes.
async fn copied(url: &str, teams: Vec<TeamId>, many: usize) -> Result<Vec<TeamId>> {
    let copies = many / teams.len() - 1;
    for table in ["team", "location", "person", "member", "event", "rsvp", "rsvp_change"] {
        let columns = format!(
            "select column_name from information_schema.columns
             where table_schema = 'public' and table_name = '{table}'"
        );
        let columns = admin(url, &[columns]).await?;
        let values: Vec<_> = columns.iter().map(|column| copied_value(table, column)).collect();
        let insert = format!(
            "insert into {table} ({}) select {} from {table}, generate_series(1, {copies}) as number",
            columns.join(", "),
            values.join(", ")
        );
        admin(url, &[insert]).await?;
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

/// The id of a copy; the original is number zero.
fn copy_of(team: TeamId, number: u128) -> TeamId {
    match number {
        0 => team,
        _ => TeamId::from_bits(team.bits() << 16 >> 16 | number << 112),
    }
}

/// Creates so many teams by one plan, in one transaction.
async fn create(
    db: &Db,
    club: &Club,
    (many, plan): (usize, Plan),
    numbers: &Numbers,
) -> Result<Vec<Made>> {
    let numbers = numbers.clone();
    let made = db.write(Scope::account(club.account, "bench"), move |tx| {
        let one = |_| create_one(tx, plan, numbers.next());
        (0..many).map(one).collect::<Result<Vec<_>, Error>>()
    });
    made.await.map_err(|error| format!("cannot fill the season: {error:?}"))
}

/// Creates one team by a plan of its own.
async fn alone(db: &Db, club: &Club, plan: Plan, numbers: &Numbers) -> Result<Made> {
    let made = create(db, club, (1, plan), numbers).await?.pop();
    made.ok_or_else(|| "no team was made".to_owned())
}

/// A team with so many people and nothing else.
pub(crate) async fn crowd(
    db: &Db,
    club: &Club,
    people: usize,
    numbers: &Numbers,
) -> Result<TeamId> {
    let plan = Plan { people, ..CROWDED };
    alone(db, club, plan, numbers).await.map(|(team, _)| team)
}

fn create_one(tx: &Tx<'_>, plan: Plan, number: u64) -> Result<Made, Error> {
    let timezone = "Europe/Lisbon".parse().ok();
    let team = team::create(tx, NewTeam { timezone, ..new_team(number) })?;
    let ground = ground(tx, number)?;
    let members = (0..plan.people).map(|person| join(tx, team.id, person));
    let members = members.collect::<Result<Vec<_>, Error>>()?;
    let count = whole(plan.people);
    tx.run(
        "update team set roster_count = :count where account_id = :account and id = :id",
        bind! { count, id: team.id },
    )?;
    let today = Timestamp::from_micros(tx.now().seconds() / 86_400 * 86_400_000_000);
    let first = today.plus(EVENING).minus(DAY * u32::try_from(plan.behind).unwrap_or_default());
    for day in 0..plan.behind + plan.ahead {
        let starts_at = first.plus(DAY * u32::try_from(day).unwrap_or_default());
        // Today's may be over already.
        let answered = (plan.behind + 1..=plan.behind + plan.answered).contains(&day);
        let mut event = event(tx, &team, ground, (day, starts_at));
        event.asked_count = count;
        if answered {
            (event.yes_count, event.no_count, event.maybe_count) = counts(members.len());
        }
        tx.later(Event::INSERT, &event.bind())?;
        if answered {
            members
                .iter()
                .enumerate()
                .try_for_each(|(at, member)| answer(tx, &event, *member, at))?;
        }
    }
    Ok((team.id, members))
}

fn ground(tx: &Tx<'_>, number: u64) -> Result<LocationId, Error> {
    let new = NewLocation {
        name: format!("Lower pitch {number}"),
        address: Some("12 Quay Street, Harbour".to_owned()),
        latitude: Some(38.7071),
        longitude: Some(-9.1355),
        url: None,
        notes: None,
        shared: None,
        external_id: None,
        metadata: Metadata::default(),
    };
    location::create(tx, &Reach::Everywhere, new).map(|location| location.id)
}

/// Somebody new joins a team.
fn join(tx: &Tx<'_>, team_id: TeamId, number: usize) -> Result<MemberId, Error> {
    let (first, last) = (format!("Inês {number}"), "Duarte".to_owned());
    let person = Person {
        account_id: tx.account(),
        id: tx.new_id(),
        name_folded: text::folded(&format!("{first} {last}")),
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
        wants_email: true,
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
    tx.later(Person::INSERT, &person.bind())?;
    tx.later(Membership::INSERT, &member.bind())?;
    Ok(member.id)
}

/// Every fifth is a game, the others are practices.
fn event(
    tx: &Tx<'_>,
    team: &Team,
    ground: LocationId,
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
        location_id: Some(ground),
        opponent: game.then(|| "Breakwater".to_owned()),
        home_away: game.then_some(HomeAway::Home),
        uniform: game.then(|| "blue".to_owned()),
        notes: Some("Bring water and a warm layer.".to_owned()),
        asks_rsvp: true,
        rsvp_deadline: None,
        capacity: None,
        duties: Duties::default(),
        status: Status::Scheduled,
        cancel_reason: None,
        cancelled_at: None,
        asked_count: 0,
        yes_count: 0,
        no_count: 0,
        maybe_count: 0,
        waiting_count: 0,
        revision: 0,
        revised_at: tx.now(),
        external_id: None,
        metadata: Metadata::default(),
        created_at: tx.now(),
        updated_at: tx.now(),
        version: 1,
    }
}

fn whole(many: usize) -> i64 {
    i64::try_from(many).unwrap_or(i64::MAX)
}

/// What the member at this place of the roster answers: most come.
fn choice(at: usize) -> Answer {
    match at % 10 {
        7 | 8 => Answer::No,
        9 => Answer::Maybe,
        _ => Answer::Yes,
    }
}

/// How many of so many members come, do not, and may.
fn counts(members: usize) -> (i64, i64, i64) {
    let of = |answer| whole((0..members).filter(|at| choice(*at) == answer).count());
    (of(Answer::Yes), of(Answer::No), of(Answer::Maybe))
}

fn answer(tx: &Tx<'_>, event: &Event, member: MemberId, at: usize) -> Result<(), Error> {
    let rsvp = Rsvp {
        id: tx.new_id(),
        account_id: tx.account(),
        event_id: event.id,
        member_id: member,
        answer: choice(at),
        note: None,
        place: None,
        answered_by: tx.actor().to_owned(),
        answered_at: tx.now(),
        created_at: tx.now(),
        updated_at: tx.now(),
        version: 1,
    };
    tx.later(Rsvp::INSERT, &rsvp.bind())?;
    Ok(tx.later(
        "insert into rsvp_change
             (account_id, event_id, member_id, position, answer, note, answered_by, answered_at)
         values (:account, :event_id, :member_id, 1, :answer, :note, :answered_by, :answered_at)",
        &rsvp.bind(),
    )?)
}

/// Makes the calendars of a team and answers with the secret parts of their addresses.
async fn calendars(db: &Db, club: &Club, team: TeamId) -> Result<Vec<String>> {
    let made = db.write(Scope::account(club.account, "bench"), move |tx| {
        let one = |_| {
            let new =
                NewFeed { name: None, team_id: Some(team), person_id: None, games_only: false };
            feed::create(tx, &Reach::Everywhere, new).map(|(_, token)| token)
        };
        (0..CALENDARS).map(one).collect::<Result<Vec<_>, Error>>()
    });
    made.await.map_err(|error| format!("cannot make calendars: {error:?}"))
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
    fn everybody_is_counted_once() {
        assert_eq!(counts(PEOPLE), (7, 2, 1));
        let (yes, no, maybe) = counts(CROWD);
        assert_eq!(yes + no + maybe, i64::try_from(CROWD).unwrap());
    }
}
