//! Tokens that are renewed: every client has a grant of its own and always sends the refresh token it
//! was given last.

use std::net::SocketAddr;

use serde::Deserialize;

use crate::Result;
use crate::ceiling::Ceiling;
use crate::figures::Rounds;
use crate::holders::Holders;
use crate::http::Connection;
use crate::load::{self, Client, Pace};
use crate::site::Site;
use crate::table::{Row, Verdict};

const CLIENTS: [usize; 3] = [1, 64, 256];

/// How many refresh tokens so many rounds begin with.
pub(crate) fn needed(rounds: usize) -> usize {
    rounds * CLIENTS.iter().sum::<usize>()
}

/// What each round adds to.
#[derive(Default)]
struct Seen {
    ours: [Rounds; CLIENTS.len()],
    ceiling: [Rounds; CLIENTS.len()],
}

pub(crate) async fn measure(
    site: &Site,
    ours: SocketAddr,
    holders: &Holders,
    pace: Pace,
) -> Result<Vec<Row>> {
    let ceiling = Ceiling::open(site).await?;
    let mut tokens = holders.renewals.iter();
    let mut seen = Seen::default();
    for round in 0..pace.rounds {
        eprintln!("  renewals, round {}", round + 1);
        for (at, many) in CLIENTS.into_iter().enumerate() {
            let mut clients = Vec::new();
            for token in tokens.by_ref().take(many) {
                clients.push(Renewer::connect(ours, &holders.client, token).await?);
            }
            if clients.len() < many {
                return Err("there are too few refresh tokens".to_owned());
            }
            seen.ceiling[at].add(ceiling.measure(many, pace).await?);
            seen.ours[at].add(load::measure(clients, pace).await?);
        }
    }
    Ok((0..CLIENTS.len()).map(|at| seen.row(at)).collect())
}

impl Seen {
    fn row(&self, at: usize) -> Row {
        let (ours, ceiling) = (&self.ours[at], &self.ceiling[at]);
        let many = CLIENTS[at];
        let plural = if many == 1 { "" } else { "s" };
        let name = format!("`POST /oauth/token`, a refresh token, {many} client{plural}");
        let met = ours.rate_against(ceiling) >= 0.5;
        Row { ask: "≥ 0.5", verdict: Verdict::Shown(met), ..Row::of_rates(name, ours, ceiling) }
    }
}

/// An app that renews its tokens again and again.
struct Renewer {
    connection: Connection,
    client: String,
    token: String,
}

/// What matters of the answer.
#[derive(Debug, Deserialize)]
struct Given {
    refresh_token: String,
}

impl Renewer {
    async fn connect(address: SocketAddr, client: &str, token: &str) -> Result<Self> {
        let connection = Connection::open(address).await?;
        Ok(Self { connection, client: client.to_owned(), token: token.to_owned() })
    }
}

impl Client for Renewer {
    async fn once(&mut self) -> Result<()> {
        let answer = self.connection.ask(&request(&self.client, &self.token)).await?.expect(200)?;
        let given: Given = serde_json::from_slice(answer)
            .map_err(|error| format!("an answer has no refresh token: {error}"))?;
        if given.refresh_token == self.token {
            return Err("a refresh token was not replaced".to_owned());
        }
        self.token = given.refresh_token;
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
