//! Credentials for the benchmarks: access tokens of an owner and a coach, refresh tokens of many users, and a session
//! cookie.

use std::time::Duration;

use store::{Db, Scope, Tx};
use touchline::accounts::api_key::{self, NewKey};
use touchline::accounts::session::{self, Browser, Method, NewSession};
use touchline::accounts::user::{self, NewUser, Role, User};
use touchline::demo;
use touchline::error::Error;
use touchline::ids::TeamId;
use touchline::oauth::app::{self, App, Kind, NewApp};
use touchline::oauth::grant;
use touchline::oauth::token::{self, TokenLifetimes, TokenPair};
use touchline::rights::Scopes;
use touchline::roster::enrollment;
use touchline::teams::team;

use crate::Result;
use crate::club::{Club, new_team};
use crate::environment::Database;
use crate::load::Counter;

/// The scopes of the app.
const SCOPES: &str = "teams:read";
/// The number of the coach's teams.
pub(crate) const COACH_TEAMS: usize = 2;
/// The number of users that are created in one transaction.
const BATCH_SIZE: usize = 100;
/// The service's defaults.
const LIFETIMES: TokenLifetimes = TokenLifetimes {
    access: Duration::from_secs(3600),
    refresh: Duration::from_secs(30 * 86_400),
    grace: Duration::from_secs(60),
};

/// The created credentials.
pub(crate) struct Credentials {
    /// The `client_id` of the app.
    pub(crate) client: String,
    /// Access tokens.
    pub(crate) owner: String,
    pub(crate) coach: String,
    /// An API key for the coach's teams only.
    pub(crate) coach_key: String,
    /// Refresh tokens, each of another user and grant.
    pub(crate) refresh_tokens: Vec<String>,
}

impl Credentials {
    /// Creates the users and their tokens, with `count` refresh tokens.
    pub(crate) async fn create(
        database: &Database,
        club: &Club,
        count: usize,
        numbers: &Counter,
    ) -> Result<Self> {
        let db = database.open()?;
        let numbers = numbers.clone();
        let (app, mut credentials) =
            write(&db, club, move |tx| create_main_users(tx, &numbers)).await?;
        for first in (0..count).step_by(BATCH_SIZE) {
            let (app, until) = (app.clone(), count.min(first + BATCH_SIZE));
            let batch = move |tx: &Tx<'_>| {
                let one = |number| {
                    let user = new_user(tx, &format!("user-{number}"), Role::Member)?;
                    Ok(issue_tokens(tx, &app, &user)?.refresh.reveal().to_owned())
                };
                (first..until).map(one).collect::<Result<Vec<_>, Error>>()
            };
            credentials.refresh_tokens.extend(write(&db, club, batch).await?);
        }
        db.close();
        Ok(credentials)
    }
}

async fn write<T: Send + 'static>(
    db: &Db,
    club: &Club,
    work: impl FnOnce(&Tx<'_>) -> Result<T, Error> + Send + 'static,
) -> Result<T> {
    let result = db.write(Scope::account(club.account, "bench"), work).await;
    result.map_err(|error| format!("cannot create users: {error:?}"))
}

/// Creates the app, the owner, and the coach with their teams.
fn create_main_users(tx: &Tx<'_>, numbers: &Counter) -> Result<(App, Credentials), Error> {
    let new = NewApp {
        name: "Bench".to_owned(),
        kind: Kind::Native,
        redirect_uris: vec!["http://127.0.0.1/callback".to_owned()],
        scopes: scopes()?,
    };
    let app = app::create(tx, new)?;
    let owner = new_user(tx, "owner", Role::Owner)?;
    let coach = new_user(tx, "coach", Role::Member)?;
    let mut teams = Vec::new();
    for _ in 0..COACH_TEAMS {
        let team = team::create(tx, new_team(numbers.next()))?;
        enrollment::enroll_coach(tx, team.id, &coach)?;
        teams.push(team.id);
    }
    let credentials = Credentials {
        client: app.id.to_string(),
        owner: issue_tokens(tx, &app, &owner)?.access.reveal().to_owned(),
        coach: issue_tokens(tx, &app, &coach)?.access.reveal().to_owned(),
        coach_key: create_team_key(tx, teams)?,
        refresh_tokens: Vec::new(),
    };
    Ok((app, credentials))
}

fn scopes() -> Result<Scopes, Error> {
    Scopes::parse(SCOPES).map_err(|_| Error::internal("The scopes of the benchmark are unknown."))
}

/// Creates a user without a password.
fn new_user(tx: &Tx<'_>, name: &str, role: Role) -> Result<User, Error> {
    let (email, name) = (format!("{name}@bench.example"), name.to_owned());
    user::create(tx, NewUser { email, name, role, password_hash: None }).map(|(user, _)| user)
}

fn issue_tokens(tx: &Tx<'_>, app: &App, user: &User) -> Result<TokenPair, Error> {
    let grant = grant::create(tx, app, user.id, app.scopes, &app.redirect_uris.0[0])?;
    token::issue_pair(tx, &grant, LIFETIMES)
}

fn create_team_key(tx: &Tx<'_>, teams: Vec<TeamId>) -> Result<String, Error> {
    let new = NewKey {
        name: "coach".to_owned(),
        scopes: scopes()?,
        team_ids: Some(teams),
        cidrs: None,
        expires_at: None,
    };
    api_key::create(tx, new).map(|(_, value)| value.reveal().to_owned())
}

/// Loads the demo club and returns the session cookie of an owner.
pub(crate) async fn demo_owner(database: &Database) -> Result<String> {
    database.run(&["seed", "demo"])?;
    let db = database.open()?;
    let begin = db.write(Scope::account(demo::ACCOUNT, "bench"), |tx| {
        let user = new_user(tx, "demo-owner", Role::Owner)?.id;
        let (club, browser) = (Some(demo::ACCOUNT), Browser::default());
        let new = NewSession { user, club, pending: false, method: Method::Password, browser };
        session::begin(tx, new)
    });
    let (_, cookie) = begin.await.map_err(|error| format!("cannot sign in: {error:?}"))?;
    db.close();
    Ok(cookie.reveal().to_owned())
}
