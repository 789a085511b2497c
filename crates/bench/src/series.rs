//! Creating a series with the maximum number of events in one request.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use kit::Clock;
use touchline::ids::TeamId;

use crate::Result;
use crate::http::{Connection, EVENTS, get_request, request_json, request_with_body};
use crate::load::{self, Counter, HttpClient, Script};
use crate::schedule_fixture::Fixture;
use crate::stats::Rounds;
use crate::table::{Row, TargetResult, thousands};

const CLIENTS: [usize; 2] = [1, 4];
const OCCURRENCES: usize = 400;

pub(crate) async fn measure(fixture: &Fixture, ours: SocketAddr) -> Result<Vec<Row>> {
    let tomorrow = Clock::system().now().plus(Duration::from_secs(86_400));
    let script = CreateSeries {
        key: fixture.club.key.clone(),
        teams: fixture.season.teams.clone().into(),
        day: tomorrow.to_string().chars().take(10).collect(),
        numbers: Counter::default(),
        request: Vec::new(),
    };
    check(fixture, ours, script.clone()).await?;
    let mut results = [Rounds::default(), Rounds::default()];
    for round in 0..fixture.timing.rounds {
        eprintln!("  series, round {}", round + 1);
        for (rounds, count) in results.iter_mut().zip(CLIENTS) {
            let mut clients = Vec::new();
            for _ in 0..count {
                clients.push(HttpClient::connect(ours, script.clone(), 201).await?);
            }
            rounds.add(load::measure(clients, fixture.timing).await?);
        }
    }
    Ok(results.iter().zip(CLIENTS).map(|(rounds, clients)| row(rounds, clients)).collect())
}

/// Creates one series and checks that all of its events exist.
async fn check(fixture: &Fixture, ours: SocketAddr, mut script: CreateSeries) -> Result<()> {
    let mut connection = Connection::open(ours).await?;
    let created = request_json(&mut connection, script.next(), 201).await?;
    let field = |name: &str| created["data"][name].as_str().unwrap_or_default().to_owned();
    let list =
        format!("{EVENTS}?team_id={}&series_id={}&limit=100", field("team_id"), field("series_id"));
    let (mut count, mut cursor) = (0, String::new());
    loop {
        let request = get_request(&format!("{list}{cursor}"), &fixture.club.key);
        let page = request_json(&mut connection, &request, 200).await?;
        count += page["data"].as_array().map_or(0, Vec::len);
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    if count == OCCURRENCES {
        return Ok(());
    }
    Err(format!("the series has {count} of {OCCURRENCES} events"))
}

fn row(rounds: &Rounds, clients: usize) -> Row {
    let plural = if clients == 1 { "" } else { "s" };
    let events = rounds.median().per_second * OCCURRENCES as f64;
    Row {
        baseline: String::new(),
        ratio: format!("{} events/s", thousands(events)),
        verdict: TargetResult::NoTarget,
        ..Row::compare_rates(
            format!("`POST /events`, a series of {OCCURRENCES}, {clients} client{plural}"),
            rounds,
            rounds,
        )
    }
}

/// A script that creates a series in each request, for one team after the other, at times without other events.
#[derive(Clone)]
struct CreateSeries {
    key: String,
    teams: Arc<[TeamId]>,
    day: String,
    numbers: Counter,
    request: Vec<u8>,
}

impl Script for CreateSeries {
    fn next(&mut self) -> &[u8] {
        let number = usize::try_from(self.numbers.next()).unwrap_or_default();
        let (team, day) = (self.teams[number % self.teams.len()], &self.day);
        // After each round of all teams, the next series starts an hour later.
        let hour = 5 + number / self.teams.len() % 12;
        let body = format!(
            r#"{{"team_id":"{team}","type":"practice","starts_at":"{day}T{hour:02}:00","recurrence":"FREQ=DAILY;COUNT={OCCURRENCES}"}}"#
        );
        self.request = request_with_body("POST", EVENTS, &self.key, "", &body);
        &self.request
    }
}
