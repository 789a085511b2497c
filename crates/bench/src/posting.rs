//! What deliveries are compared with: a loop that only posts signed bodies of the same size, with the service's own
//! client, as many at once as the service would.
//!
//! It is a process like the service, so both share the machine with the receiver alike.

use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::time::Duration;

use bytes::Bytes;
use clap::Args;
use http::HeaderMap;
use kit::Dice;
use touchline::config::Config;
use touchline::dispatch::client::Client as Carrier;
use touchline::ids::AccountId;
use touchline::webhooks::signature::Secret;

use crate::Result;
use crate::figures::Measured;
use crate::hooks::{body, nearby};
use crate::load::{self, Client, Pace};
use crate::sink::Sink;

/// As many as are under way at once, at most.
const AT_ONCE: usize = 128;

#[derive(Debug, Args)]
pub(crate) struct Posting {
    /// The receiver
    receiver: SocketAddr,
    /// How many webhooks it stands for
    webhooks: usize,
    /// Milliseconds that are not counted
    warm_up: u64,
    /// Milliseconds that are
    counted: u64,
}

impl Posting {
    /// Posts, and prints how many were taken in a second.
    pub(crate) async fn run(self) -> Result<()> {
        let config = Config { webhook_allow_cidrs: nearby(), ..Config::defaults() };
        let client = Carrier::new(&config)?;
        let body = body(AccountId::from_bits(1), 1, "Harbour Hawks 000000000000");
        let poster = |number: usize| Poster {
            client: client.clone(),
            url: format!("http://{}/{}", self.receiver, number % self.webhooks),
            secret: Secret::make(&Dice::system()),
            body: body.clone(),
        };
        let at_once = (8 * self.webhooks).min(AT_ONCE);
        let (warm_up, counted) =
            (Duration::from_millis(self.warm_up), Duration::from_millis(self.counted));
        let pace = Pace { warm_up, counted, rounds: 1 };
        let measured = load::measure((0..at_once).map(poster).collect(), pace).await?;
        println!("{}", measured.per_second);
        Ok(())
    }
}

/// Lets such a loop post for a while.
pub(crate) async fn measure(sink: &Sink, webhooks: usize, pace: Pace) -> Result<Measured> {
    let program = std::env::current_exe().map_err(|error| format!("no program: {error}"))?;
    let mut command = Command::new(program);
    command.arg("posting").args([sink.address.to_string(), webhooks.to_string()]);
    command.args([pace.warm_up, pace.counted].map(|time| time.as_millis().to_string()));
    command.stdin(Stdio::null());
    let ended = tokio::task::spawn_blocking(move || command.output()).await;
    let told = |why: String| format!("the bare loop: {why}");
    let ended = ended.map_err(|error| told(error.to_string()))?;
    let ended = ended.map_err(|error| told(error.to_string()))?;
    let said = String::from_utf8_lossy(&ended.stdout);
    let per_second = said.trim().parse();
    let why = |_| told(String::from_utf8_lossy(&ended.stderr).into_owned());
    Ok(Measured { per_second: per_second.map_err(why)?, p50: Duration::ZERO, p99: Duration::ZERO })
}

struct Poster {
    client: Carrier,
    url: String,
    secret: Secret,
    body: String,
}

impl Client for Poster {
    async fn once(&mut self) -> Result<()> {
        let (id, now) = ("ntf_01kbm2x5q8f7vr0n3hd9tzc4wy", kit::Clock::system().now());
        let mut headers = HeaderMap::new();
        let signature = self.secret.sign(id, now, self.body.as_bytes());
        for (name, value) in [
            ("webhook-id", id.to_owned()),
            ("webhook-timestamp", now.seconds().to_string()),
            ("webhook-signature", signature),
        ] {
            headers.insert(name, value.parse().map_err(|_| "a header is not plain")?);
        }
        let body = Bytes::copy_from_slice(self.body.as_bytes());
        match self.client.post(&self.url, headers, body).await.result {
            Ok(200) => Ok(()),
            other => Err(format!("the receiver said {other:?}")),
        }
    }
}
