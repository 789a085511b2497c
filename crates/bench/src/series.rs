//! A series of as many events as one may have, planned with one call.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use kit::Clock;
use touchline::ids::TeamId;

use crate::Result;
use crate::figures::Rounds;
use crate::http::{Connection, EVENTS, get, send};
use crate::load::{self, Asker, Numbers, Script};
use crate::schedule::{Stage, asked};
use crate::table::{Row, Verdict, thousands};

const CLIENTS: [usize; 2] = [1, 4];
const OCCURRENCES: usize = 400;

pub(crate) async fn measure(stage: &Stage, ours: SocketAddr) -> Result<Vec<Row>> {
    let tomorrow = Clock::system().now().plus(Duration::from_secs(86_400));
    let script = NewSeries {
        key: stage.club.key.clone(),
        teams: stage.season.teams.clone().into(),
        day: tomorrow.to_string().chars().take(10).collect(),
        numbers: Numbers::default(),
        request: Vec::new(),
    };
    check(stage, ours, script.clone()).await?;
    let mut seen = [Rounds::default(), Rounds::default()];
    for round in 0..stage.pace.rounds {
        eprintln!("  series, round {}", round + 1);
        for (rounds, many) in seen.iter_mut().zip(CLIENTS) {
            let mut clients = Vec::new();
            for _ in 0..many {
                clients.push(Asker::connect(ours, script.clone(), 201).await?);
            }
            rounds.add(load::measure(clients, stage.pace).await?);
        }
    }
    Ok(seen.iter().zip(CLIENTS).map(|(rounds, many)| row(rounds, many)).collect())
}

/// One series, and whether all of its events are there.
async fn check(stage: &Stage, ours: SocketAddr, mut script: NewSeries) -> Result<()> {
    let mut connection = Connection::open(ours).await?;
    let made = asked(&mut connection, script.next(), 201).await?;
    let word = |name: &str| made["data"][name].as_str().unwrap_or_default().to_owned();
    let of_series =
        format!("{EVENTS}?team_id={}&series_id={}&limit=100", word("team_id"), word("series_id"));
    let (mut found, mut cursor) = (0, String::new());
    loop {
        let request = get(&format!("{of_series}{cursor}"), &stage.club.key);
        let page = asked(&mut connection, &request, 200).await?;
        found += page["data"].as_array().map_or(0, Vec::len);
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    if found == OCCURRENCES {
        return Ok(());
    }
    Err(format!("a series has {found} of {OCCURRENCES} events"))
}

fn row(rounds: &Rounds, many: usize) -> Row {
    let plural = if many == 1 { "" } else { "s" };
    let events = rounds.median().per_second * OCCURRENCES as f64;
    Row {
        against: String::new(),
        ratio: format!("{} events/s", thousands(events)),
        verdict: Verdict::Nothing,
        ..Row::of_rates(
            format!("`POST /events`, a series of {OCCURRENCES}, {many} client{plural}"),
            rounds,
            rounds,
        )
    }
}

/// A new series with every request, for one team after the other, in the mornings, when there is nothing
/// else.
#[derive(Clone)]
struct NewSeries {
    key: String,
    teams: Arc<[TeamId]>,
    day: String,
    numbers: Numbers,
    request: Vec<u8>,
}

impl Script for NewSeries {
    fn next(&mut self) -> &[u8] {
        let number = usize::try_from(self.numbers.next()).unwrap_or_default();
        let (team, day) = (self.teams[number % self.teams.len()], &self.day);
        // Once every team has one, the next is an hour later.
        let hour = 5 + number / self.teams.len() % 12;
        let body = format!(
            r#"{{"team_id":"{team}","type":"practice","starts_at":"{day}T{hour:02}:00","recurrence":"FREQ=DAILY;COUNT={OCCURRENCES}"}}"#
        );
        self.request = send("POST", EVENTS, &self.key, "", &body);
        &self.request
    }
}
