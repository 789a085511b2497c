//! The load generator: clients that ask as fast as they are answered, and what was measured.
//!
//! The same loop measures the service, the bare route and the data layer, so that their numbers mean
//! the same.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use crate::Result;
use crate::figures::Measured;
use crate::http::{Connection, TEAMS, send};

/// How long and how often.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    /// What happens in this time is not counted.
    pub(crate) warm_up: Duration,
    pub(crate) counted: Duration,
    pub(crate) rounds: usize,
}

/// Somebody who does the same thing again and again.
pub(crate) trait Client: Send + 'static {
    /// Does it once. A failure ends the run.
    fn once(&mut self) -> impl Future<Output = Result<()>> + Send;
}

/// Lets the clients run side by side and counts what they finish in the counted time.
pub(crate) async fn measure<C: Client>(clients: Vec<C>, pace: Pace) -> Result<Measured> {
    let many = clients.len();
    let from = Instant::now() + pace.warm_up;
    let until = from + pace.counted;
    let mut running = JoinSet::new();
    for client in clients {
        running.spawn(run(client, from, until));
    }
    let (mut micros, mut failures) = (Vec::new(), Vec::new());
    while let Some(ended) = running.join_next().await {
        match ended.map_err(|error| format!("a client ended: {error}"))? {
            Ok(mut own) => micros.append(&mut own),
            Err(why) => failures.push(why),
        }
    }
    match failures.first() {
        Some(first) => Err(format!("{} of {many} clients failed: {first}", failures.len())),
        None => Ok(Measured::new(micros, pace.counted)),
    }
}

async fn run<C: Client>(mut client: C, from: Instant, until: Instant) -> Result<Vec<u32>> {
    let mut micros = Vec::new();
    loop {
        let began = Instant::now();
        client.once().await?;
        let ended = Instant::now();
        if ended > until {
            return Ok(micros);
        }
        if ended >= from {
            let took = (ended - began).as_micros();
            micros.push(u32::try_from(took).unwrap_or(u32::MAX));
        }
    }
}

/// The requests of one client, one after the other.
pub(crate) trait Script: Send + 'static {
    fn next(&mut self) -> &[u8];
}

/// A client of a server.
pub(crate) struct Asker<S> {
    connection: Connection,
    script: S,
    expected: u16,
}

impl<S: Script> Asker<S> {
    pub(crate) async fn connect(address: SocketAddr, script: S, expected: u16) -> Result<Self> {
        Ok(Self { connection: Connection::open(address).await?, script, expected })
    }
}

impl<S: Script> Client for Asker<S> {
    async fn once(&mut self) -> Result<()> {
        self.connection.ask(self.script.next()).await?.expect(self.expected).map(drop)
    }
}

/// The same requests in a circle; every client begins elsewhere.
#[derive(Clone)]
pub(crate) struct Circle {
    requests: Arc<[Vec<u8>]>,
    at: usize,
    expected: u16,
}

impl Circle {
    /// The requests must not be none.
    pub(crate) fn new(requests: Vec<Vec<u8>>) -> Self {
        Self { requests: requests.into(), at: 0, expected: 200 }
    }

    /// The same, answered with another status.
    pub(crate) fn expecting(self, expected: u16) -> Self {
        Self { expected, ..self }
    }

    fn from(&self, at: usize) -> Self {
        Self { requests: self.requests.clone(), at, expected: self.expected }
    }
}

impl Script for Circle {
    fn next(&mut self) -> &[u8] {
        // A step without a common divisor with round numbers goes everywhere, in no order.
        self.at = (self.at + 7919) % self.requests.len();
        &self.requests[self.at]
    }
}

/// Clients that read the same requests, spread evenly.
pub(crate) async fn readers(
    address: SocketAddr,
    circle: &Circle,
    many: usize,
) -> Result<Vec<Asker<Circle>>> {
    let mut clients = Vec::new();
    for number in 0..many {
        let at = number * circle.requests.len() / many;
        clients.push(Asker::connect(address, circle.from(at), circle.expected).await?);
    }
    Ok(clients)
}

/// Numbers that nobody else gets, shared by all clients of a database.
#[derive(Debug, Clone, Default)]
pub(crate) struct Numbers(Arc<AtomicU64>);

impl Numbers {
    pub(crate) fn next(&self) -> u64 {
        self.some(1)
    }

    /// Takes this many at once and answers with the first of them.
    pub(crate) fn some(&self, many: u64) -> u64 {
        self.0.fetch_add(many, Ordering::Relaxed)
    }
}

/// How many digits stand for a number in a request.
const DIGITS: usize = 12;

/// A new team with every request, each with a name of its own.
#[derive(Clone)]
pub(crate) struct NewTeams {
    request: Vec<u8>,
    /// Where the number stands.
    places: Vec<usize>,
    numbers: Numbers,
}

impl NewTeams {
    /// `keyed` requests carry an idempotency key, each its own.
    pub(crate) fn new(key: &str, keyed: bool, numbers: &Numbers) -> Self {
        let zeros = "#".repeat(DIGITS);
        let more =
            if keyed { format!("Idempotency-Key: bench-{zeros}\r\n") } else { String::new() };
        let body =
            format!(r#"{{"name":"Harbour Hawks {zeros}","sport":"soccer","season":"2026/27"}}"#);
        let request = send("POST", TEAMS, key, &more, &body);
        let starts = |at: &usize| request[*at..].starts_with(zeros.as_bytes());
        let places = (0..request.len()).filter(starts).collect();
        Self { request, places, numbers: numbers.clone() }
    }
}

impl Script for NewTeams {
    fn next(&mut self) -> &[u8] {
        let digits = format!("{:0DIGITS$}", self.numbers.next());
        for at in &self.places {
            self.request[*at..*at + DIGITS].copy_from_slice(digits.as_bytes());
        }
        &self.request
    }
}

/// Clients that create teams; client by client, the next key is used.
pub(crate) async fn writers(
    address: SocketAddr,
    scripts: &[NewTeams],
    many: usize,
) -> Result<Vec<Asker<NewTeams>>> {
    let mut clients = Vec::new();
    for script in scripts.iter().cycle().take(many) {
        clients.push(Asker::connect(address, script.clone(), 201).await?);
    }
    Ok(clients)
}

/// Measures while somebody else goes on without pause.
pub(crate) async fn beside<C: Client, O: Client>(
    clients: Vec<C>,
    mut other: O,
    pace: Pace,
) -> Result<Measured> {
    let mut running = JoinSet::new();
    running.spawn(async move {
        loop {
            if let Err(why) = other.once().await {
                return why;
            }
        }
    });
    tokio::select! {
        // A number that was reached without them is none.
        biased;
        ended = running.join_next() => match ended {
            Some(Ok(why)) => Err(format!("whoever was to go on beside failed: {why}")),
            _ => Err("whoever was to go on beside did not".to_owned()),
        },
        measured = measure(clients, pace) => measured,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU32;

    use super::*;

    #[test]
    fn every_new_team_has_its_own_name_and_key() {
        let numbers = Numbers::default();
        let mut one = NewTeams::new("tl_live_x", true, &numbers);
        let mut other = one.clone();
        let text = |script: &mut NewTeams| String::from_utf8(script.next().to_vec()).unwrap();
        let (first, second) = (text(&mut one), text(&mut other));
        assert!(first.contains("Hawks 000000000000") && first.contains("bench-000000000000"));
        assert!(second.contains("Hawks 000000000001") && second.contains("bench-000000000001"));
        let (head, body) = first.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("Content-Length: {}", body.len())));
    }

    #[test]
    fn a_circle_goes_everywhere() {
        for many in [1, 200, 10_000] {
            let mut circle =
                Circle::new((0..many).map(|n: u32| n.to_be_bytes().to_vec()).collect());
            let mut seen: Vec<_> = (0..many).map(|_| circle.next().to_vec()).collect();
            seen.sort();
            seen.dedup();
            assert_eq!(seen.len(), many as usize);
        }
    }

    struct Sleeper(Option<&'static str>);

    impl Client for Sleeper {
        async fn once(&mut self) -> Result<()> {
            tokio::time::sleep(Duration::from_millis(10)).await;
            self.0.map_or(Ok(()), |why| Err(why.to_owned()))
        }
    }

    const PACE: Pace =
        Pace { warm_up: Duration::from_millis(50), counted: Duration::from_millis(200), rounds: 1 };

    /// What guests of one house did together.
    #[derive(Default)]
    struct House {
        asleep: AtomicU32,
        most_asleep: AtomicU32,
        woken: AtomicU32,
    }

    struct Guest(Arc<House>);

    impl Client for Guest {
        async fn once(&mut self) -> Result<()> {
            let asleep = self.0.asleep.fetch_add(1, Ordering::SeqCst) + 1;
            self.0.most_asleep.fetch_max(asleep, Ordering::SeqCst);
            Sleeper(None).once().await?;
            self.0.asleep.fetch_sub(1, Ordering::SeqCst);
            self.0.woken.fetch_add(1, Ordering::SeqCst);
            Ok(())
        }
    }

    #[tokio::test]
    async fn what_is_finished_in_time_is_counted() {
        let house = Arc::new(House::default());
        let clients = (0..5).map(|_| Guest(house.clone())).collect();
        let measured = measure(clients, PACE).await.unwrap();
        assert_eq!(house.most_asleep.load(Ordering::SeqCst), 5, "they sleep side by side");
        // However slow the machine is: of each client the last one is late, and at most five are too early.
        let woken = f64::from(house.woken.load(Ordering::SeqCst));
        let counted = measured.per_second * PACE.counted.as_secs_f64();
        assert!((woken - 30.5..=woken - 4.5).contains(&counted), "{woken} {measured:?}");
        assert!(counted < 0.5 || measured.p50 >= Duration::from_millis(10), "{measured:?}");
    }

    #[tokio::test]
    async fn a_failure_is_not_a_number() {
        let clients = vec![Sleeper(None), Sleeper(Some("broken"))];
        assert!(
            measure(clients, PACE).await.unwrap_err().contains("1 of 2 clients failed: broken")
        );
        let beside = beside(vec![Sleeper(None)], Sleeper(Some("gone")), PACE).await;
        assert!(beside.unwrap_err().contains("gone"));
    }
}
