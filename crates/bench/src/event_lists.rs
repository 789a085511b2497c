//! A team's next events, in a club with half a million events.
//!
//! The first measurement must not come from the service's response cache. So its requests cover all teams and many
//! times, more than the cache holds. The other two repeat one request, to show the effect of the cache.

use std::net::SocketAddr;
use std::time::Duration;

use kit::{Clock, Timestamp};
use touchline::ids::TeamId;

use crate::Result;
use crate::baseline_server;
use crate::http::{Connection, EVENTS, get_request, request_json};
use crate::load::RequestCycle;
use crate::process::Process;
use crate::schedule_fixture::{Fixture, LIMIT, compare_read};
use crate::stats::Rounds;
use crate::table::Row;

/// The number of different requests. Their responses do not fit into the cache.
const REQUESTS: usize = 5000;

/// The results of all rounds.
#[derive(Default)]
struct Results {
    baseline: Rounds,
    teams: Rounds,
    teams_with_writes: Rounds,
    different: Rounds,
    same: Rounds,
    same_with_writes: Rounds,
}

pub(crate) async fn measure(fixture: &Fixture, ours: SocketAddr) -> Result<Vec<Row>> {
    let requests = next_event_requests(fixture);
    let same = RequestCycle::new(requests[..1].to_vec());
    let bare = start_baseline(fixture, ours, &requests[0]).await?;
    let different = RequestCycle::new(requests);
    let mut results = Results::default();
    for round in 0..fixture.timing.rounds {
        eprintln!("  lists, round {}", round + 1);
        results.baseline.add(fixture.read(bare.address, &same).await?);
        results.teams.add(fixture.read(ours, &fixture.first_team_page()).await?);
        results.different.add(fixture.read(ours, &different).await?);
        results.same.add(fixture.read(ours, &same).await?);
        results
            .teams_with_writes
            .add(fixture.read_with_writes(ours, &fixture.first_team_page()).await?);
        results.same_with_writes.add(fixture.read_with_writes(ours, &same).await?);
    }
    Ok(results.rows())
}

/// Requests for the next events of every team, from many times.
pub(crate) fn next_event_requests(fixture: &Fixture) -> Vec<Vec<u8>> {
    let (now, teams) = (Clock::system().now(), &fixture.season.teams);
    let request = |number: usize| {
        let later = Duration::from_secs((number / teams.len()) as u64);
        get_request(
            &next_events_path(teams[number % teams.len()], now.plus(later)),
            &fixture.club.key,
        )
    };
    (0..REQUESTS).map(request).collect()
}

/// The path of a team's next events.
fn next_events_path(team: TeamId, from: Timestamp) -> String {
    format!("{EVENTS}?team_id={team}&from={from}&limit={LIMIT}")
}

/// Starts the baseline server with a response of the service.
async fn start_baseline(fixture: &Fixture, ours: SocketAddr, request: &[u8]) -> Result<Process> {
    let mut connection = Connection::open(ours).await?;
    let page = request_json(&mut connection, request, 200).await?;
    let (listed, more) = (page["data"].as_array().map_or(0, Vec::len), &page["next_cursor"]);
    if listed != LIMIT || more.is_null() {
        return Err(format!("a page has {listed} events, expected {LIMIT} and a next page"));
    }
    let page = connection.request(request).await?.expect(200)?.to_vec();
    baseline_server::start(&fixture.database, &[(EVENTS.to_owned(), page)]).await
}

impl Results {
    fn rows(&self) -> Vec<Row> {
        let list = "`GET /events?team_id&from&limit=50`";
        vec![
            compare_read(
                format!("{list}, all teams, not cached"),
                &self.different,
                &self.baseline,
                &self.teams,
            ),
            compare_read(format!("{list}, cached"), &self.same, &self.baseline, &self.teams),
            compare_read(
                format!("{list}, cached, with concurrent writes"),
                &self.same_with_writes,
                &self.baseline,
                &self.teams_with_writes,
            ),
        ]
    }
}
