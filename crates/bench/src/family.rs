//! A family in the middle of the season: a parent with three children, each of them on two teams.

use std::time::Duration;

use serde_json::{Value, json};
use store::{Scope, Tx};
use touchline::accounts::session::{self, Browser, Method, NewSession};
use touchline::accounts::user::{self, NewUser, Role};
use touchline::error::Error;
use touchline::events::event::{self, EventFilter};
use touchline::events::rsvp;
use touchline::events::schedule;
use touchline::ids::{EventId, MemberId, PersonId, TeamId, UserId};
use touchline::if_match::IfMatch;
use touchline::paging::{Order, Page};
use touchline::queries::Queries;
use touchline::rights::TeamAccess;
use touchline::roster::{guardian, linking, new_members};
use touchline::web::fields::Fields;

use crate::Result;
use crate::club::Club;
use crate::environment::Database;
use crate::load::Counter;
use crate::season;

const CHILDREN: usize = 3;
const TEAMS: usize = 6;
/// The number of other members of each team.
const TEAMMATES: usize = 15;
/// The events begin this long ago.
const SINCE: Duration = Duration::from_secs(60 * 86_400);

/// What the pages are requested with.
pub(crate) struct Family {
    /// The session cookie of the parent.
    pub(crate) cookie: String,
    /// The next event of a team.
    pub(crate) event: EventId,
}

/// Creates the teams with two practices and a game per week, and the family. Most teammates and one of the children have
/// answered the next event; nobody has answered the others.
pub(crate) async fn create(database: &Database, club: &Club, numbers: &Counter) -> Result<Family> {
    let db = database.open()?;
    let mut teams = Vec::new();
    for _ in 0..TEAMS {
        let team = season::create_team_with_members(&db, club, TEAMMATES, numbers).await?;
        teams.push(team);
    }
    let failed = |error: Error| format!("cannot create the family: {error:?}");
    let scope = || Scope::account(club.account, "bench");
    let work = move |tx: &Tx<'_>| {
        teams.iter().try_for_each(|team| create_events(tx, *team))?;
        let (user, _) = create_family(tx, &teams)?;
        Ok::<_, Error>((user, answer_next_event(tx)?))
    };
    let (user, event) = db.write(scope(), work).await.map_err(failed)?;
    let account = club.account;
    let begin = move |tx: &Tx<'_>| {
        let (club, browser) = (Some(account), Browser::default());
        session::begin(
            tx,
            NewSession { user, club, pending: false, method: Method::Password, browser },
        )
    };
    let (_, cookie) = db.write(scope(), begin).await.map_err(failed)?;
    db.close();
    Ok(Family { cookie: cookie.reveal().to_owned(), event })
}

/// A weekly series of practices on two days, and one of games.
fn create_events(tx: &Tx<'_>, team: TeamId) -> Result<(), Error> {
    let first = kit::Zone::utc().day(tx.now().minus(SINCE));
    let practice = json!({
        "team_id": team, "type": "practice", "arrival_minutes": 15,
        "starts_at": format!("{first}T18:00"), "ends_at": format!("{first}T19:30"),
        "recurrence": "FREQ=WEEKLY;BYDAY=TU,TH;COUNT=60",
    });
    let game = json!({
        "team_id": team, "type": "game", "opponent": "Breakwater", "home_away": "home", "uniform": "blue",
        "starts_at": format!("{first}T10:30"), "ends_at": format!("{first}T12:00"),
        "duties": [{ "name": "Bring oranges", "slots": 2 }],
        "recurrence": "FREQ=WEEKLY;BYDAY=SA;COUNT=30",
    });
    for new in [practice, game] {
        schedule::create(tx, &TeamAccess::AllTeams, Fields::read(new)?)?;
    }
    Ok(())
}

/// The parent's user, and the children.
fn create_family(tx: &Tx<'_>, teams: &[TeamId]) -> Result<(UserId, Vec<PersonId>), Error> {
    let access = TeamAccess::AllTeams;
    let add = |team, new: Value| new_members::add(tx, &access, team, Fields::read(new)?);
    let mut parent = None;
    let mut children = Vec::new();
    for number in 0..CHILDREN {
        let guardian = match parent {
            Some(id) => json!({ "id": id }),
            None => {
                json!({ "first_name": "Ana", "last_name": "Duarte", "email": "ana@bench.example" })
            }
        };
        let child = json!({
            "first_name": format!("Mila {number}"), "last_name": "Duarte",
            "birth_date": format!("201{number}-05-01"), "guardians": [guardian],
        });
        let child: PersonId = add(teams[number], child)?.person_id;
        add(teams[CHILDREN + number], json!({ "person_id": child }))?;
        if parent.is_none() {
            let links = guardian::list_for(tx, &[child])?;
            parent = links.first().map(|link| link.guardian.id);
        }
        children.push(child);
    }
    let parent = parent.ok_or_else(|| Error::internal("The child has no guardian."))?;
    let new = NewUser {
        email: "ana@bench.example".to_owned(),
        name: "Ana Duarte".to_owned(),
        role: Role::Member,
        password_hash: None,
    };
    let user = user::create(tx, new)?.0.id;
    linking::link(tx, parent, user)?;
    Ok((user, children))
}

/// Answers the next event for its whole team.
fn answer_next_event(tx: &Tx<'_>) -> Result<EventId, Error> {
    let access = TeamAccess::AllTeams;
    let filter = EventFilter { from: Some(tx.now()), ..EventFilter::default() };
    let page = Page { limit: 1, order: Order::Asc, last: None };
    let next = event::list(tx, &access, &filter, &page)?.into_iter().next();
    let next = next.ok_or_else(|| Error::internal("There is no event."))?.event;
    let members: Vec<MemberId> = tx.ids(
        "select id from member where account_id = :account and team_id = :team",
        store::bind! { team: next.team_id },
    )?;
    for (number, member) in members.into_iter().enumerate() {
        let choice = ["yes", "yes", "yes", "no", "maybe"][number % 5];
        let answer = Fields::read(json!({ "answer": choice }))?;
        rsvp::answer(tx, &access, (next.id, member), &IfMatch::Absent, answer)?;
    }
    Ok(next.id)
}
