//! RSVPs: many members answer an event with limited capacity at the same time.
//!
//! The run fails if more members attend than the capacity allows, or if the waiting list does not move up in
//! order.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use store::{Db, Scope, bind};
use tokio::sync::Barrier;
use tokio::task::JoinSet;
use touchline::error::Error;
use touchline::ids::{EventId, MemberId};

use crate::Result;
use crate::http::{Connection, EVENTS, get_request, request_json, request_with_body};
use crate::load::{self, writers};
use crate::schedule_fixture::Fixture;
use crate::season::LARGE_TEAM_MEMBERS;
use crate::stats::{Measurement, Rounds};
use crate::table::Row;

const CAPACITY: usize = 100;
const DECLINING: usize = 50;
/// The number of events per round.
const EVENTS_PER_ROUND: usize = 10;

/// The results of all rounds.
#[derive(Default)]
struct Results {
    teams: Rounds,
    accepting: Rounds,
    declining: Rounds,
}

pub(crate) async fn measure(fixture: &Fixture, ours: SocketAddr) -> Result<Vec<Row>> {
    let mut connections = Vec::new();
    for _ in 0..LARGE_TEAM_MEMBERS {
        connections.push(Connection::open(ours).await?);
    }
    let mut members = RsvpClients { fixture, ours, connections, db: fixture.database.open()? };
    let mut results = Results::default();
    for round in 0..fixture.timing.rounds {
        eprintln!("  RSVPs, round {}", round + 1);
        let clients = writers(ours, &[fixture.create_teams()], LARGE_TEAM_MEMBERS).await?;
        results.teams.add(load::measure(clients, fixture.timing).await?);
        let (mut coming, mut leaving) = (Burst::default(), Burst::default());
        for _ in 0..if fixture.quick { 2 } else { EVENTS_PER_ROUND } {
            members.run_event(&mut coming, &mut leaving).await?;
        }
        results.accepting.add(coming.into_measurement());
        results.declining.add(leaving.into_measurement());
    }
    members.db.close();
    let answer = "`PUT /events/{id}/rsvps/{member}`";
    Ok(vec![
        Row::compare_rates(
            format!("{answer}, {LARGE_TEAM_MEMBERS} clients for {CAPACITY} places"),
            &results.accepting,
            &results.teams,
        ),
        Row::compare_rates(
            format!("{answer}, {DECLINING} decline, {DECLINING} move up"),
            &results.declining,
            &results.teams,
        ),
    ])
}

/// The latencies of concurrent requests, and the time that all of them took together.
#[derive(Default)]
struct Burst {
    micros: Vec<u32>,
    within: Duration,
}

impl Burst {
    fn into_measurement(self) -> Measurement {
        Measurement::new(self.micros, self.within)
    }
}

/// The answer of each member.
type Answers = HashMap<MemberId, String>;

/// The members of the large team, each with a connection.
struct RsvpClients<'s> {
    fixture: &'s Fixture,
    ours: SocketAddr,
    connections: Vec<Connection>,
    /// For the order of the waiting list, which the API does not return.
    db: Db,
}

impl RsvpClients<'_> {
    /// Creates an event that all members accept and some then decline, and checks the waiting list.
    async fn run_event(&mut self, coming: &mut Burst, leaving: &mut Burst) -> Result<()> {
        let event = self.create_event().await?;
        let members = self.fixture.season.members.clone();
        self.send_answers(event, "yes", &members, coming).await?;
        let before = self.read_answers(event).await?;
        check_counts(&before, [CAPACITY, 0, LARGE_TEAM_MEMBERS - CAPACITY])?;
        let waiting = self.waiting_list(event).await?;
        if waiting.len() != LARGE_TEAM_MEMBERS - CAPACITY {
            return Err(format!("{} members are on the waiting list", waiting.len()));
        }
        let attending = members.iter().filter(|member| before[*member] == "yes");
        let declining: Vec<_> = attending.take(DECLINING).copied().collect();
        self.send_answers(event, "no", &declining, leaving).await?;
        let after = self.read_answers(event).await?;
        check_counts(&after, [CAPACITY, DECLINING, LARGE_TEAM_MEMBERS - CAPACITY - DECLINING])?;
        let (first, rest) = waiting.split_at(DECLINING);
        let moved_up = first.iter().all(|member| after[member] == "yes");
        let still_waiting = rest.iter().all(|member| after[member] == "waitlisted");
        if moved_up && still_waiting && self.waiting_list(event).await? == rest {
            return Ok(());
        }
        Err(format!("{event}: the waiting list did not move up in order"))
    }

    async fn create_event(&mut self) -> Result<EventId> {
        let team = self.fixture.season.large_team;
        let body = format!(
            r#"{{"team_id":"{team}","type":"game","starts_at":"2099-05-01T18:00","capacity":{CAPACITY}}}"#
        );
        let request = request_with_body("POST", EVENTS, &self.fixture.club.key, "", &body);
        let created = request_json(&mut self.connections[0], &request, 201).await?;
        let id = created["data"]["id"].as_str().and_then(|id| id.parse().ok());
        id.ok_or_else(|| "the created event has no id".to_owned())
    }

    /// Sends the answers of these members at the same moment.
    async fn send_answers(
        &mut self,
        event: EventId,
        answer: &str,
        members: &[MemberId],
        burst: &mut Burst,
    ) -> Result<()> {
        let ready = Arc::new(Barrier::new(members.len() + 1));
        let mut running = JoinSet::new();
        for member in members {
            let mut connection = self.connections.pop().ok_or("more members than connections")?;
            let (path, ready) = (format!("{EVENTS}/{event}/rsvps/{member}"), ready.clone());
            let body = format!(r#"{{"answer":"{answer}"}}"#);
            let request = request_with_body("PUT", &path, &self.fixture.club.key, "", &body);
            running.spawn(async move {
                ready.wait().await;
                let started = Instant::now();
                connection.request(&request).await?.expect(200)?;
                Ok::<_, String>((started.elapsed().as_micros(), connection))
            });
        }
        ready.wait().await;
        let started = Instant::now();
        while let Some(joined) = running.join_next().await {
            let (micros, connection) =
                joined.map_err(|error| format!("a client panicked: {error}"))??;
            burst.micros.push(u32::try_from(micros).unwrap_or(u32::MAX));
            self.connections.push(connection);
        }
        burst.within += started.elapsed();
        Ok(())
    }

    /// Reads all answers to an event and checks that the event's counts match.
    async fn read_answers(&mut self, event: EventId) -> Result<Answers> {
        let mut connection = Connection::open(self.ours).await?;
        let key = &self.fixture.club.key;
        let list = format!("{EVENTS}/{event}/rsvps?limit=100");
        let (mut answers, mut cursor) = (Answers::new(), String::new());
        loop {
            let request = get_request(&format!("{list}{cursor}"), key);
            let page = request_json(&mut connection, &request, 200).await?;
            for rsvp in page["data"].as_array().into_iter().flatten() {
                let field = |name: &str| rsvp[name].as_str().unwrap_or_default();
                let member = field("member_id").parse().map_err(|_| "an RSVP has no member id")?;
                answers.insert(member, field("answer").to_owned());
            }
            match page["next_cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => break,
            }
        }
        let read =
            request_json(&mut connection, &get_request(&format!("{EVENTS}/{event}"), key), 200)
                .await?;
        for answer in ["yes", "no", "maybe", "waitlisted"] {
            let reported = &read["data"]["rsvp_counts"][answer];
            let listed = count(&answers, answer);
            if *reported != listed {
                return Err(format!("{event} counts {reported} {answer}, but lists {listed}"));
            }
        }
        Ok(answers)
    }

    /// The waiting list, in order.
    async fn waiting_list(&self, event: EventId) -> Result<Vec<MemberId>> {
        let read = self.db.read(Scope::account(self.fixture.club.account, "bench"), move |db| {
            let rows: Vec<(MemberId,)> = db.all(
                "select member_id from rsvp
                 where account_id = :account and event_id = :event and place is not null
                 order by place",
                bind! { event },
            )?;
            Ok::<_, Error>(rows.into_iter().map(|(member,)| member).collect())
        });
        read.await.map_err(|error| format!("cannot read the waiting list: {error:?}"))
    }
}

fn count(answers: &Answers, answer: &str) -> usize {
    answers.values().filter(|other| *other == answer).count()
}

/// Checks the numbers of members who attend, decline and wait.
fn check_counts(answers: &Answers, expected: [usize; 3]) -> Result<()> {
    let counts = ["yes", "no", "waitlisted"].map(|answer| count(answers, answer));
    if counts == expected && answers.len() == LARGE_TEAM_MEMBERS {
        return Ok(());
    }
    Err(format!("yes, no and waiting are {counts:?}, expected {expected:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exceeding_the_capacity_is_an_error() {
        let mut answers = Answers::new();
        for number in 0..LARGE_TEAM_MEMBERS {
            let answer = if number < CAPACITY { "yes" } else { "waitlisted" };
            answers.insert(MemberId::from_bits(number as u128), answer.to_owned());
        }
        assert!(check_counts(&answers, [CAPACITY, 0, LARGE_TEAM_MEMBERS - CAPACITY]).is_ok());
        answers.insert(MemberId::from_bits(CAPACITY as u128), "yes".to_owned());
        assert!(check_counts(&answers, [CAPACITY, 0, LARGE_TEAM_MEMBERS - CAPACITY]).is_err());
    }
}
