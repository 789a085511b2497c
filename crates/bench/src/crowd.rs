//! Many answer at once, and there is not room for all of them.
//!
//! The numbers count only if nobody was let in who should wait, and if those who waited were let in
//! in the order in which they came to wait. Anything else ends the run.

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
use crate::figures::{Measured, Rounds};
use crate::http::{Connection, EVENTS, get, send};
use crate::load::{self, writers};
use crate::schedule::{Stage, asked};
use crate::season::CROWD;
use crate::table::Row;

const CAPACITY: usize = 100;
const LEAVING: usize = 50;
/// How many events are answered in a round.
const EVENTS_A_ROUND: usize = 10;

/// What each round adds to.
#[derive(Default)]
struct Seen {
    teams: Rounds,
    coming: Rounds,
    leaving: Rounds,
}

pub(crate) async fn measure(stage: &Stage, ours: SocketAddr) -> Result<Vec<Row>> {
    let mut connections = Vec::new();
    for _ in 0..CROWD {
        connections.push(Connection::open(ours).await?);
    }
    let mut crowd = Crowd { stage, ours, connections, db: stage.database.open()? };
    let mut seen = Seen::default();
    for round in 0..stage.pace.rounds {
        eprintln!("  answers, round {}", round + 1);
        let clients = writers(ours, &[stage.writes()], CROWD).await?;
        seen.teams.add(load::measure(clients, stage.pace).await?);
        let (mut coming, mut leaving) = (Burst::default(), Burst::default());
        for _ in 0..if stage.quick { 2 } else { EVENTS_A_ROUND } {
            crowd.event(&mut coming, &mut leaving).await?;
        }
        seen.coming.add(coming.measured());
        seen.leaving.add(leaving.measured());
    }
    crowd.db.close();
    let answer = "`PUT /events/{id}/rsvps/{member}`";
    Ok(vec![
        Row::of_rates(
            format!("{answer}, {CROWD} clients for {CAPACITY} places"),
            &seen.coming,
            &seen.teams,
        ),
        Row::of_rates(
            format!("{answer}, {LEAVING} drop out, {LEAVING} are let in"),
            &seen.leaving,
            &seen.teams,
        ),
    ])
}

/// What answers took that were given at the same time, and how long all of them together.
#[derive(Default)]
struct Burst {
    micros: Vec<u32>,
    within: Duration,
}

impl Burst {
    fn measured(self) -> Measured {
        Measured::new(self.micros, self.within)
    }
}

/// How each member's answer stands.
type Standing = HashMap<MemberId, String>;

/// The members of a team, each with a connection.
struct Crowd<'s> {
    stage: &'s Stage,
    ours: SocketAddr,
    connections: Vec<Connection>,
    /// Whose turn it is, the service does not tell; its database does.
    db: Db,
}

impl Crowd<'_> {
    /// A new event that everybody wants to come to, and that some then leave.
    async fn event(&mut self, coming: &mut Burst, leaving: &mut Burst) -> Result<()> {
        let event = self.plan().await?;
        let members = self.stage.season.members.clone();
        self.answer(event, "yes", &members, coming).await?;
        let before = self.standing(event).await?;
        expect(&before, [CAPACITY, 0, CROWD - CAPACITY])?;
        let waiting = self.waiting(event).await?;
        if waiting.len() != CROWD - CAPACITY {
            return Err(format!("{} have a place in the queue", waiting.len()));
        }
        let come = members.iter().filter(|member| before[*member] == "yes");
        let gone: Vec<_> = come.take(LEAVING).copied().collect();
        self.answer(event, "no", &gone, leaving).await?;
        let after = self.standing(event).await?;
        expect(&after, [CAPACITY, LEAVING, CROWD - CAPACITY - LEAVING])?;
        let (first, rest) = waiting.split_at(LEAVING);
        let let_in = first.iter().all(|member| after[member] == "yes");
        let still_waiting = rest.iter().all(|member| after[member] == "waiting");
        if let_in && still_waiting && self.waiting(event).await? == rest {
            return Ok(());
        }
        Err(format!("{event}: those who waited were not let in in the order they came"))
    }

    async fn plan(&mut self) -> Result<EventId> {
        let team = self.stage.season.crowd;
        let body = format!(
            r#"{{"team_id":"{team}","type":"game","starts_at":"2099-05-01T18:00","capacity":{CAPACITY}}}"#
        );
        let request = send("POST", EVENTS, &self.stage.club.key, "", &body);
        let made = asked(&mut self.connections[0], &request, 201).await?;
        let id = made["data"]["id"].as_str().and_then(|id| id.parse().ok());
        id.ok_or_else(|| "a new event has no id".to_owned())
    }

    /// All of these members answer at the same moment.
    async fn answer(
        &mut self,
        event: EventId,
        word: &str,
        members: &[MemberId],
        burst: &mut Burst,
    ) -> Result<()> {
        let ready = Arc::new(Barrier::new(members.len() + 1));
        let mut running = JoinSet::new();
        for member in members {
            let mut connection = self.connections.pop().ok_or("more members than connections")?;
            let (path, ready) = (format!("{EVENTS}/{event}/rsvps/{member}"), ready.clone());
            let body = format!(r#"{{"answer":"{word}"}}"#);
            let request = send("PUT", &path, &self.stage.club.key, "", &body);
            running.spawn(async move {
                ready.wait().await;
                let began = Instant::now();
                connection.ask(&request).await?.expect(200)?;
                Ok::<_, String>((began.elapsed().as_micros(), connection))
            });
        }
        ready.wait().await;
        let began = Instant::now();
        while let Some(ended) = running.join_next().await {
            let (micros, connection) = ended.map_err(|error| format!("a member: {error}"))??;
            burst.micros.push(u32::try_from(micros).unwrap_or(u32::MAX));
            self.connections.push(connection);
        }
        burst.within += began.elapsed();
        Ok(())
    }

    /// How everybody's answer stands, as the service lists it; its counts must say the same.
    async fn standing(&mut self, event: EventId) -> Result<Standing> {
        let mut connection = Connection::open(self.ours).await?;
        let key = &self.stage.club.key;
        let list = format!("{EVENTS}/{event}/rsvps?limit=100");
        let (mut standing, mut cursor) = (Standing::new(), String::new());
        loop {
            let request = get(&format!("{list}{cursor}"), key);
            let page = asked(&mut connection, &request, 200).await?;
            for rsvp in page["data"].as_array().into_iter().flatten() {
                let word = |name: &str| rsvp[name].as_str().unwrap_or_default();
                let member = word("member_id").parse().map_err(|_| "not a member's id")?;
                standing.insert(member, word("answer").to_owned());
            }
            match page["next_cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => break,
            }
        }
        let shown = asked(&mut connection, &get(&format!("{EVENTS}/{event}"), key), 200).await?;
        for word in ["yes", "no", "maybe", "waiting"] {
            let (counted, listed) = (&shown["data"]["rsvp_counts"][word], count(&standing, word));
            if *counted != listed {
                return Err(format!("{event} counts {counted} {word} and lists {listed}"));
            }
        }
        Ok(standing)
    }

    /// Those who wait, in order.
    async fn waiting(&self, event: EventId) -> Result<Vec<MemberId>> {
        let looked = self.db.read(Scope::account(self.stage.club.account, "bench"), move |db| {
            let found: Vec<(MemberId,)> = db.all(
                "select member_id from rsvp
                 where account_id = :account and event_id = :event and place is not null
                 order by place",
                bind! { event },
            )?;
            Ok::<_, Error>(found.into_iter().map(|(member,)| member).collect())
        });
        looked.await.map_err(|error| format!("cannot see who waits: {error:?}"))
    }
}

fn count(standing: &Standing, word: &str) -> usize {
    standing.values().filter(|answer| *answer == word).count()
}

/// So many come, do not, and wait; nobody else.
fn expect(standing: &Standing, numbers: [usize; 3]) -> Result<()> {
    let found = ["yes", "no", "waiting"].map(|word| count(standing, word));
    if found == numbers && standing.len() == CROWD {
        return Ok(());
    }
    Err(format!("yes, no and waiting are {found:?} and not {numbers:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_too_many_is_refused() {
        let mut standing = Standing::new();
        for number in 0..CROWD {
            let word = if number < CAPACITY { "yes" } else { "waiting" };
            standing.insert(MemberId::from_bits(number as u128), word.to_owned());
        }
        assert!(expect(&standing, [CAPACITY, 0, CROWD - CAPACITY]).is_ok());
        standing.insert(MemberId::from_bits(CAPACITY as u128), "yes".to_owned());
        assert!(expect(&standing, [CAPACITY, 0, CROWD - CAPACITY]).is_err());
    }
}
