//! Who signs in at a club: an owner and a coach with an app that acts for them, and many others whose
//! apps renew their tokens.

use std::time::Duration;

use store::{Db, Scope, Tx};
use touchline::accounts::api_key::{self, NewKey};
use touchline::accounts::rights::Scopes;
use touchline::accounts::user::{self, NewUser, Role, User};
use touchline::demo;
use touchline::error::Error;
use touchline::ids::TeamId;
use touchline::oauth::app::{self, App, Kind, NewApp};
use touchline::oauth::grant;
use touchline::oauth::token::{self, Lives, Pair};
use touchline::roster::arrival;
use touchline::signin::session::{self, Browser, Method, NewSession};
use touchline::teams::team;

use crate::Result;
use crate::club::{Club, new_team};
use crate::load::Numbers;
use crate::site::Database;

/// What the app may do for everybody.
const SCOPES: &str = "teams:read";
/// How many teams the coach leads.
pub(crate) const COACHED: usize = 2;
/// How many people are made in one job.
const TOGETHER: usize = 100;
/// As the service has them unless told otherwise.
const LIVES: Lives = Lives {
    access: Duration::from_secs(3600),
    refresh: Duration::from_secs(30 * 86_400),
    grace: Duration::from_secs(60),
};

/// What everybody holds in their hands.
pub(crate) struct Holders {
    /// The `client_id` of the app.
    pub(crate) client: String,
    /// Access tokens.
    pub(crate) owner: String,
    pub(crate) coach: String,
    /// A key that reaches the coach's teams and no others.
    pub(crate) narrowed: String,
    /// Refresh tokens, each of a user and a grant of its own.
    pub(crate) renewals: Vec<String>,
}

impl Holders {
    /// Lets them join the club, so many with a refresh token.
    pub(crate) async fn join(
        database: &Database,
        club: &Club,
        many: usize,
        numbers: &Numbers,
    ) -> Result<Self> {
        let db = database.open()?;
        let numbers = numbers.clone();
        let (app, mut holders) = written(&db, club, move |tx| settle(tx, &numbers)).await?;
        for first in (0..many).step_by(TOGETHER) {
            let (app, until) = (app.clone(), many.min(first + TOGETHER));
            let some = move |tx: &Tx<'_>| {
                let one = |number| {
                    let user = new_user(tx, &format!("user-{number}"), Role::Member)?;
                    Ok(tokens(tx, &app, &user)?.refresh.reveal().to_owned())
                };
                (first..until).map(one).collect::<Result<Vec<_>, Error>>()
            };
            holders.renewals.extend(written(&db, club, some).await?);
        }
        db.close();
        Ok(holders)
    }
}

async fn written<T: Send + 'static>(
    db: &Db,
    club: &Club,
    work: impl FnOnce(&Tx<'_>) -> Result<T, Error> + Send + 'static,
) -> Result<T> {
    let done = db.write(Scope::account(club.account, "bench"), work).await;
    done.map_err(|error| format!("cannot let people join: {error:?}"))
}

/// The app, the owner, and the coach with their teams.
fn settle(tx: &Tx<'_>, numbers: &Numbers) -> Result<(App, Holders), Error> {
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
    for _ in 0..COACHED {
        let team = team::create(tx, new_team(numbers.next()))?;
        arrival::as_coach(tx, team.id, &coach)?;
        teams.push(team.id);
    }
    let holders = Holders {
        client: app.id.to_string(),
        owner: tokens(tx, &app, &owner)?.access.reveal().to_owned(),
        coach: tokens(tx, &app, &coach)?.access.reveal().to_owned(),
        narrowed: narrowed_key(tx, teams)?,
        renewals: Vec::new(),
    };
    Ok((app, holders))
}

fn scopes() -> Result<Scopes, Error> {
    Scopes::parse(SCOPES).map_err(|_| Error::internal("a scope has another name now"))
}

/// Somebody who never signs in with a password.
fn new_user(tx: &Tx<'_>, name: &str, role: Role) -> Result<User, Error> {
    let (email, name) = (format!("{name}@bench.example"), name.to_owned());
    user::create(tx, NewUser { email, name, role, password_hash: None }).map(|(user, _)| user)
}

fn tokens(tx: &Tx<'_>, app: &App, user: &User) -> Result<Pair, Error> {
    let grant = grant::create(tx, app, user.id, app.scopes, &app.redirect_uris.0[0])?;
    token::give_first(tx, &grant, LIVES)
}

fn narrowed_key(tx: &Tx<'_>, teams: Vec<TeamId>) -> Result<String, Error> {
    let new = NewKey {
        name: "narrowed".to_owned(),
        scopes: scopes()?,
        team_ids: Some(teams),
        cidrs: None,
        expires_at: None,
    };
    api_key::create(tx, new).map(|(_, value)| value.reveal().to_owned())
}

/// Loads the demo club, and hands out the cookie of an owner who has just signed in there.
pub(crate) async fn demo_owner(database: &Database) -> Result<String> {
    database.said(&["seed", "demo"])?;
    let db = database.open()?;
    let begun = db.write(Scope::account(demo::ACCOUNT, "bench"), |tx| {
        let user = new_user(tx, "demo-owner", Role::Owner)?.id;
        let (club, browser) = (Some(demo::ACCOUNT), Browser::default());
        let new = NewSession { user, club, pending: false, method: Method::Password, browser };
        session::begin(tx, new)
    });
    let begun = begun.await.map_err(|error| format!("cannot sign in: {error:?}"))?;
    db.close();
    Ok(begun.1.reveal().to_owned())
}
