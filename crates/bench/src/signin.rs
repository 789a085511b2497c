//! Sign-in: lists read with an access token and with an API key, token refreshes, and the first page of the admin area.

use std::net::SocketAddr;

use crate::Result;
use crate::club::{Club, create_teams, page_path};
use crate::credentials::{self, COACH_TEAMS, Credentials};
use crate::environment::Environment;
use crate::http::{Connection, get_request, request_json};
use crate::load::{self, Counter, RequestCycle, Timing, readers};
use crate::options::Measure;
use crate::schedule_fixture::LIMIT;
use crate::stats::Rounds;
use crate::table::{Row, TargetResult};
use crate::{admin_overview, token_refresh};

const TEAM_COUNT: usize = 1000;
/// The number of concurrent readers.
const CLIENTS: usize = 32;

pub(crate) async fn measure(environment: &Environment, measure: &Measure) -> Result<Vec<Row>> {
    let (database, timing) = (environment.database("club").await?, measure.timing());
    let club = Club::create(&database)?;
    let numbers = Counter::default();
    create_teams(&database, &club, measure.scaled(TEAM_COUNT), &numbers).await?;
    let refresh_tokens = token_refresh::required_tokens(timing.rounds);
    let credentials = Credentials::create(&database, &club, refresh_tokens, &numbers).await?;
    let cookie = credentials::demo_owner(&database).await?;
    let service = database.serve(&[]).await?;
    let mut rows = measure_lists(service.address, &club, &credentials, timing).await?;
    rows.extend(token_refresh::measure(environment, service.address, &credentials, timing).await?);
    rows.extend(admin_overview::measure(&database, service.address, &cookie, timing).await?);
    Ok(rows)
}

/// The same list, read with an access token and with an API key.
#[derive(Default)]
struct TokenAndKey {
    token: Rounds,
    key: Rounds,
}

impl TokenAndKey {
    async fn round(
        &mut self,
        ours: SocketAddr,
        [token, key]: [&RequestCycle; 2],
        timing: Timing,
    ) -> Result<()> {
        let read =
            async |requests| load::measure(readers(ours, requests, CLIENTS).await?, timing).await;
        self.key.add(read(key).await?);
        self.token.add(read(token).await?);
        Ok(())
    }

    fn row(&self, name: String) -> Row {
        let met = self.token.rate_ratio(&self.key) >= 0.9;
        let verdict = TargetResult::Target(met);
        Row { target: "≥ 0.9", verdict, ..Row::compare_rates(name, &self.token, &self.key) }
    }
}

/// The list of teams with the owner's token and with the coach's, each compared with a key.
async fn measure_lists(
    ours: SocketAddr,
    club: &Club,
    credentials: &Credentials,
    timing: Timing,
) -> Result<Vec<Row>> {
    let request = |bearer: &String| get_request(&page_path(LIMIT, None), bearer);
    let owner = [&credentials.owner, &club.key].map(request);
    let coach = [&credentials.coach, &credentials.coach_key].map(request);
    check_same_teams(ours, &owner, LIMIT).await?;
    check_same_teams(ours, &coach, COACH_TEAMS).await?;
    let [owner, coach] =
        [owner, coach].map(|pair| pair.map(|request| RequestCycle::new(vec![request])));
    let (mut owner_rounds, mut coach_rounds) = (TokenAndKey::default(), TokenAndKey::default());
    for round in 0..timing.rounds {
        eprintln!("  tokens and keys, round {}", round + 1);
        owner_rounds.round(ours, owner.each_ref(), timing).await?;
        coach_rounds.round(ours, coach.each_ref(), timing).await?;
    }
    let list = "`GET /teams?limit=50`";
    Ok(vec![
        owner_rounds.row(format!("{list}, an owner's token compared with an API key")),
        coach_rounds.row(format!(
            "{list}, a coach's token compared with an API key for the same {COACH_TEAMS} teams"
        )),
    ])
}

/// Fails unless both requests return the same teams, and this number of them.
async fn check_same_teams(
    ours: SocketAddr,
    requests: &[Vec<u8>; 2],
    expected: usize,
) -> Result<()> {
    let mut connection = Connection::open(ours).await?;
    let token = request_json(&mut connection, &requests[0], 200).await?;
    let key = request_json(&mut connection, &requests[1], 200).await?;
    let count = token["data"].as_array().map_or(0, Vec::len);
    if token["data"] != key["data"] || count != expected {
        return Err(format!(
            "the token returns {count} of {expected} teams, or other teams than the key"
        ));
    }
    Ok(())
}
