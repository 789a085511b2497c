//! A team's next events, in a club with half a million of them.
//!
//! Remembered answers would flatter the service here too: so the questions go round all teams and many
//! moments, more of them than it remembers. The same question again, and again while somebody writes,
//! show what remembering is worth.

use std::net::SocketAddr;
use std::time::Duration;

use kit::{Clock, Timestamp};
use touchline::ids::TeamId;

use crate::Result;
use crate::bare;
use crate::figures::Rounds;
use crate::http::{Connection, EVENTS, get};
use crate::load::Circle;
use crate::process::Process;
use crate::schedule::{LIMIT, Stage, asked, compared};
use crate::table::Row;

/// How many different questions are asked; the answers to all of them are more than is remembered.
const QUESTIONS: usize = 5000;

/// What each round adds to.
#[derive(Default)]
struct Seen {
    bare: Rounds,
    teams: Rounds,
    teams_amid_writes: Rounds,
    different: Rounds,
    same: Rounds,
    same_amid_writes: Rounds,
}

pub(crate) async fn measure(stage: &Stage, ours: SocketAddr) -> Result<Vec<Row>> {
    let questions = questions(stage);
    let same = Circle::new(questions[..1].to_vec());
    let bare = bare_routes(stage, ours, &questions[0]).await?;
    let different = Circle::new(questions);
    let mut seen = Seen::default();
    for round in 0..stage.pace.rounds {
        eprintln!("  lists, round {}", round + 1);
        seen.bare.add(stage.read(bare.address, &same).await?);
        seen.teams.add(stage.read(ours, &stage.plain()).await?);
        seen.different.add(stage.read(ours, &different).await?);
        seen.same.add(stage.read(ours, &same).await?);
        seen.teams_amid_writes.add(stage.read_amid_writes(ours, &stage.plain()).await?);
        seen.same_amid_writes.add(stage.read_amid_writes(ours, &same).await?);
    }
    Ok(seen.rows())
}

/// Questions for the next events of every team, seen from many moments.
pub(crate) fn questions(stage: &Stage) -> Vec<Vec<u8>> {
    let (now, teams) = (Clock::system().now(), &stage.season.teams);
    let question = |number: usize| {
        let later = Duration::from_secs((number / teams.len()) as u64);
        get(&next_events(teams[number % teams.len()], now.plus(later)), &stage.club.key)
    };
    (0..QUESTIONS).map(question).collect()
}

/// The address of a team's next events.
fn next_events(team: TeamId, from: Timestamp) -> String {
    format!("{EVENTS}?team_id={team}&from={from}&limit={LIMIT}")
}

/// The bare route, with a page that the service has just answered.
async fn bare_routes(stage: &Stage, ours: SocketAddr, question: &[u8]) -> Result<Process> {
    let mut connection = Connection::open(ours).await?;
    let page = asked(&mut connection, question, 200).await?;
    let (listed, more) = (page["data"].as_array().map_or(0, Vec::len), &page["next_cursor"]);
    if listed != LIMIT || more.is_null() {
        return Err(format!("a team's next events are {listed} and not the first {LIMIT}"));
    }
    let page = connection.ask(question).await?.expect(200)?.to_vec();
    bare::start(&stage.database, &[(EVENTS.to_owned(), page)]).await
}

impl Seen {
    fn rows(&self) -> Vec<Row> {
        let list = "`GET /events?team_id&from&limit=50`";
        vec![
            compared(
                format!("{list}, all teams, nothing remembered"),
                &self.different,
                &self.bare,
                &self.teams,
            ),
            compared(format!("{list}, the same again"), &self.same, &self.bare, &self.teams),
            compared(
                format!("{list}, the same again while a client writes"),
                &self.same_amid_writes,
                &self.bare,
                &self.teams_amid_writes,
            ),
        ]
    }
}
