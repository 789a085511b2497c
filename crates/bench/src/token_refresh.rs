//! Token refreshes: every client has its own grant and always sends the refresh token that it got last.

use std::net::SocketAddr;

use serde::Deserialize;

use crate::Result;
use crate::credentials::Credentials;
use crate::environment::Environment;
use crate::http::Connection;
use crate::load::{self, Client, Timing};
use crate::stats::Rounds;
use crate::store_baseline::StoreBaseline;
use crate::table::{Row, TargetResult};

const CLIENTS: [usize; 3] = [1, 64, 256];

/// The number of refresh tokens that this number of rounds needs.
pub(crate) fn required_tokens(rounds: usize) -> usize {
    rounds * CLIENTS.iter().sum::<usize>()
}

/// The results of all rounds.
#[derive(Default)]
struct Results {
    ours: [Rounds; CLIENTS.len()],
    baseline: [Rounds; CLIENTS.len()],
}

pub(crate) async fn measure(
    environment: &Environment,
    ours: SocketAddr,
    credentials: &Credentials,
    timing: Timing,
) -> Result<Vec<Row>> {
    let store_baseline = StoreBaseline::open(environment).await?;
    let mut tokens = credentials.refresh_tokens.iter();
    let mut results = Results::default();
    for round in 0..timing.rounds {
        eprintln!("  token refreshes, round {}", round + 1);
        for (index, count) in CLIENTS.into_iter().enumerate() {
            let mut clients = Vec::new();
            for token in tokens.by_ref().take(count) {
                clients.push(RefreshClient::connect(ours, &credentials.client, token).await?);
            }
            if clients.len() < count {
                return Err("there are too few refresh tokens".to_owned());
            }
            results.baseline[index].add(store_baseline.measure(count, timing).await?);
            results.ours[index].add(load::measure(clients, timing).await?);
        }
    }
    Ok((0..CLIENTS.len()).map(|index| results.row(index)).collect())
}

impl Results {
    fn row(&self, index: usize) -> Row {
        let (ours, baseline) = (&self.ours[index], &self.baseline[index]);
        let clients = CLIENTS[index];
        let plural = if clients == 1 { "" } else { "s" };
        let name = format!("`POST /oauth/token`, a refresh token, {clients} client{plural}");
        let met = ours.rate_ratio(baseline) >= 0.5;
        Row {
            target: "≥ 0.5",
            verdict: TargetResult::Reference(met),
            ..Row::compare_rates(name, ours, baseline)
        }
    }
}

/// A client that refreshes its tokens repeatedly.
struct RefreshClient {
    connection: Connection,
    client: String,
    token: String,
}

/// The relevant field of the response.
#[derive(Debug, Deserialize)]
struct TokenResponse {
    refresh_token: String,
}

impl RefreshClient {
    async fn connect(address: SocketAddr, client: &str, token: &str) -> Result<Self> {
        let connection = Connection::open(address).await?;
        Ok(Self { connection, client: client.to_owned(), token: token.to_owned() })
    }
}

impl Client for RefreshClient {
    async fn run_once(&mut self) -> Result<()> {
        let body =
            self.connection.request(&request(&self.client, &self.token)).await?.expect(200)?;
        let response: TokenResponse = serde_json::from_slice(body)
            .map_err(|error| format!("a response has no refresh token: {error}"))?;
        if response.refresh_token == self.token {
            return Err("a refresh token was not replaced".to_owned());
        }
        self.token = response.refresh_token;
        Ok(())
    }
}

fn request(client: &str, token: &str) -> Vec<u8> {
    let body = format!("grant_type=refresh_token&client_id={client}&refresh_token={token}");
    format!(
        "POST /oauth/token HTTP/1.1\r\nHost: localhost\r\n\
         Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into()
}
