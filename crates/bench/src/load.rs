//! The load generator: clients that send the next request as soon as they have the response.
//!
//! The same loop measures the service, the bare route and the data layer, so their numbers are comparable.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use crate::Result;
use crate::http::{Connection, TEAMS, request_with_body};
use crate::stats::Measurement;

/// The duration and number of rounds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timing {
    /// The time before the measurement in each round.
    pub(crate) warm_up: Duration,
    pub(crate) measured: Duration,
    pub(crate) rounds: usize,
}

/// A client that repeats one operation.
pub(crate) trait Client: Send + 'static {
    /// Runs the operation once. An error ends the run.
    fn run_once(&mut self) -> impl Future<Output = Result<()>> + Send;
}

/// Runs the clients concurrently and counts the operations that finish in the measured time.
pub(crate) async fn measure<C: Client>(clients: Vec<C>, timing: Timing) -> Result<Measurement> {
    let count = clients.len();
    let from = Instant::now() + timing.warm_up;
    let until = from + timing.measured;
    let mut running = JoinSet::new();
    for client in clients {
        running.spawn(run(client, from, until));
    }
    let (mut micros, mut failures) = (Vec::new(), Vec::new());
    while let Some(joined) = running.join_next().await {
        match joined.map_err(|error| format!("a client panicked: {error}"))? {
            Ok(mut latencies) => micros.append(&mut latencies),
            Err(error) => failures.push(error),
        }
    }
    match failures.first() {
        Some(first) => Err(format!("{} of {count} clients failed: {first}", failures.len())),
        None => Ok(Measurement::new(micros, timing.measured)),
    }
}

async fn run<C: Client>(mut client: C, from: Instant, until: Instant) -> Result<Vec<u32>> {
    let mut micros = Vec::new();
    loop {
        let started = Instant::now();
        client.run_once().await?;
        let finished = Instant::now();
        if finished > until {
            return Ok(micros);
        }
        if finished >= from {
            let latency = (finished - started).as_micros();
            micros.push(u32::try_from(latency).unwrap_or(u32::MAX));
        }
    }
}

/// Produces the requests of one client.
pub(crate) trait Script: Send + 'static {
    fn next(&mut self) -> &[u8];
}

/// A client that sends the requests of a script over HTTP.
pub(crate) struct HttpClient<S> {
    connection: Connection,
    script: S,
    expected: u16,
}

impl<S: Script> HttpClient<S> {
    pub(crate) async fn connect(address: SocketAddr, script: S, expected: u16) -> Result<Self> {
        Ok(Self { connection: Connection::open(address).await?, script, expected })
    }
}

impl<S: Script> Client for HttpClient<S> {
    async fn run_once(&mut self) -> Result<()> {
        self.connection.request(self.script.next()).await?.expect(self.expected).map(drop)
    }
}

/// Repeats a list of requests. Each client starts at another one.
#[derive(Clone)]
pub(crate) struct RequestCycle {
    requests: Arc<[Vec<u8>]>,
    at: usize,
    expected: u16,
}

impl RequestCycle {
    /// The list must not be empty.
    pub(crate) fn new(requests: Vec<Vec<u8>>) -> Self {
        Self { requests: requests.into(), at: 0, expected: 200 }
    }

    /// The same, with another expected status.
    pub(crate) fn with_expected_status(self, expected: u16) -> Self {
        Self { expected, ..self }
    }

    fn starting_at(&self, at: usize) -> Self {
        Self { requests: self.requests.clone(), at, expected: self.expected }
    }
}

impl Script for RequestCycle {
    fn next(&mut self) -> &[u8] {
        // The prime step visits every request before it repeats, in an irregular order.
        self.at = (self.at + 7919) % self.requests.len();
        &self.requests[self.at]
    }
}

/// Clients that send the same requests, starting at evenly spread positions.
pub(crate) async fn readers(
    address: SocketAddr,
    requests: &RequestCycle,
    count: usize,
) -> Result<Vec<HttpClient<RequestCycle>>> {
    let mut clients = Vec::new();
    for number in 0..count {
        let at = number * requests.requests.len() / count;
        clients
            .push(HttpClient::connect(address, requests.starting_at(at), requests.expected).await?);
    }
    Ok(clients)
}

/// A counter of unique numbers, shared by all clients of a database.
#[derive(Debug, Clone, Default)]
pub(crate) struct Counter(Arc<AtomicU64>);

impl Counter {
    pub(crate) fn next(&self) -> u64 {
        self.take(1)
    }

    /// Takes several numbers and returns the first.
    pub(crate) fn take(&self, count: u64) -> u64 {
        self.0.fetch_add(count, Ordering::Relaxed)
    }
}

/// The width of a number in a request.
const DIGITS: usize = 12;

/// A script that creates a team with a unique name in each request.
#[derive(Clone)]
pub(crate) struct CreateTeams {
    request: Vec<u8>,
    /// The offsets of the number.
    offsets: Vec<usize>,
    numbers: Counter,
}

impl CreateTeams {
    /// If `keyed`, each request has a unique idempotency key.
    pub(crate) fn new(key: &str, keyed: bool, numbers: &Counter) -> Self {
        let digits = "#".repeat(DIGITS);
        let headers =
            if keyed { format!("Idempotency-Key: bench-{digits}\r\n") } else { String::new() };
        let body =
            format!(r#"{{"name":"Harbour Hawks {digits}","sport":"soccer","season":"2026/27"}}"#);
        let request = request_with_body("POST", TEAMS, key, &headers, &body);
        let is_placeholder = |at: &usize| request[*at..].starts_with(digits.as_bytes());
        let places = (0..request.len()).filter(is_placeholder).collect();
        Self { request, offsets: places, numbers: numbers.clone() }
    }
}

impl Script for CreateTeams {
    fn next(&mut self) -> &[u8] {
        let digits = format!("{:0DIGITS$}", self.numbers.next());
        for at in &self.offsets {
            self.request[*at..*at + DIGITS].copy_from_slice(digits.as_bytes());
        }
        &self.request
    }
}

/// Clients that create teams. The scripts are assigned to the clients in turn.
pub(crate) async fn writers(
    address: SocketAddr,
    scripts: &[CreateTeams],
    count: usize,
) -> Result<Vec<HttpClient<CreateTeams>>> {
    let mut clients = Vec::new();
    for script in scripts.iter().cycle().take(count) {
        clients.push(HttpClient::connect(address, script.clone(), 201).await?);
    }
    Ok(clients)
}

/// Measures clients while another client runs without pause.
pub(crate) async fn measure_with_background<C: Client, O: Client>(
    clients: Vec<C>,
    mut background: O,
    timing: Timing,
) -> Result<Measurement> {
    let mut running = JoinSet::new();
    running.spawn(async move {
        loop {
            if let Err(error) = background.run_once().await {
                return error;
            }
        }
    });
    tokio::select! {
        // Without the background client the measurement is not valid.
        biased;
        joined = running.join_next() => match joined {
            Some(Ok(error)) => Err(format!("the background client failed: {error}")),
            _ => Err("the background client panicked".to_owned()),
        },
        measured = measure(clients, timing) => measured,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU32;

    use super::*;

    #[test]
    fn new_teams_have_unique_names_and_keys() {
        let numbers = Counter::default();
        let mut one = CreateTeams::new("tl_live_x", true, &numbers);
        let mut other = one.clone();
        let text = |script: &mut CreateTeams| String::from_utf8(script.next().to_vec()).unwrap();
        let (first, second) = (text(&mut one), text(&mut other));
        assert!(first.contains("Hawks 000000000000") && first.contains("bench-000000000000"));
        assert!(second.contains("Hawks 000000000001") && second.contains("bench-000000000001"));
        let (head, body) = first.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("Content-Length: {}", body.len())));
    }

    #[test]
    fn cycle_visits_every_request() {
        for count in [1, 200, 10_000] {
            let mut cycle =
                RequestCycle::new((0..count).map(|n: u32| n.to_be_bytes().to_vec()).collect());
            let mut requests: Vec<_> = (0..count).map(|_| cycle.next().to_vec()).collect();
            requests.sort();
            requests.dedup();
            assert_eq!(requests.len(), count as usize);
        }
    }

    struct Sleeper(Option<&'static str>);

    impl Client for Sleeper {
        async fn run_once(&mut self) -> Result<()> {
            tokio::time::sleep(Duration::from_millis(10)).await;
            self.0.map_or(Ok(()), |error| Err(error.to_owned()))
        }
    }

    const TIMING: Timing = Timing {
        warm_up: Duration::from_millis(50),
        measured: Duration::from_millis(200),
        rounds: 1,
    };

    /// Counts the operations of several clients.
    #[derive(Default)]
    struct Operations {
        running: AtomicU32,
        max_running: AtomicU32,
        finished: AtomicU32,
    }

    struct CountingClient(Arc<Operations>);

    impl Client for CountingClient {
        async fn run_once(&mut self) -> Result<()> {
            let running = self.0.running.fetch_add(1, Ordering::SeqCst) + 1;
            self.0.max_running.fetch_max(running, Ordering::SeqCst);
            Sleeper(None).run_once().await?;
            self.0.running.fetch_sub(1, Ordering::SeqCst);
            self.0.finished.fetch_add(1, Ordering::SeqCst);
            Ok(())
        }
    }

    #[tokio::test]
    async fn operations_in_the_measured_time_are_counted() {
        let operations = Arc::new(Operations::default());
        let clients = (0..5).map(|_| CountingClient(operations.clone())).collect();
        let measured = measure(clients, TIMING).await.unwrap();
        assert_eq!(operations.max_running.load(Ordering::SeqCst), 5, "clients run concurrently");
        // On any machine, each client's last operation is too late, and at most five are too early.
        let finished = f64::from(operations.finished.load(Ordering::SeqCst));
        let counted = measured.per_second * TIMING.measured.as_secs_f64();
        assert!((finished - 30.5..=finished - 4.5).contains(&counted), "{finished} {measured:?}");
        assert!(counted < 0.5 || measured.p50 >= Duration::from_millis(10), "{measured:?}");
    }

    #[tokio::test]
    async fn failure_of_a_client_is_an_error() {
        let clients = vec![Sleeper(None), Sleeper(Some("broken"))];
        assert!(
            measure(clients, TIMING).await.unwrap_err().contains("1 of 2 clients failed: broken")
        );
        let result =
            measure_with_background(vec![Sleeper(None)], Sleeper(Some("gone")), TIMING).await;
        assert!(result.unwrap_err().contains("gone"));
    }
}
