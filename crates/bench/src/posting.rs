//! The baseline for webhook deliveries: a loop that only posts signed bodies of the same size, with the service's own
//! HTTP client and concurrency.
//!
//! It is a separate process, like the service, so both share the machine with the receiver equally.

use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::time::Duration;

use bytes::Bytes;
use clap::Args;
use http::HeaderMap;
use kit::{Rng, Timestamp};
use touchline::config::Config;
use touchline::dispatch::client::Client as WebhookClient;
use touchline::ids::{AccountId, NotificationId};
use touchline::webhooks::signature::Secret;

use crate::Result;
use crate::load::{self, Client, Timing};
use crate::stats::Measurement;
use crate::webhook_receiver::WebhookReceiver;

/// The service's limit of concurrent requests for one account.
const MAX_CONCURRENCY: usize = 128;

#[derive(Debug, Args)]
pub(crate) struct Posting {
    /// Address of the receiver
    receiver: SocketAddr,
    /// Number of webhooks to simulate
    webhooks: usize,
    /// Milliseconds of warm-up
    warm_up: u64,
    /// Milliseconds to measure
    counted: u64,
}

impl Posting {
    /// Posts, and prints the number of successful requests per second.
    pub(crate) async fn run(self) -> Result<()> {
        let config = Config { webhook_allow_cidrs: localhost_networks(), ..Config::defaults() };
        let client = WebhookClient::new(&config)?;
        let body = notification_body(AccountId::from_bits(1), 1, "Harbour Hawks 000000000000");
        let poster = |number: usize| Poster {
            client: client.clone(),
            url: format!("http://{}/{}", self.receiver, number % self.webhooks),
            secret: Secret::generate(&Rng::system()),
            body: body.clone(),
        };
        let concurrency = (8 * self.webhooks).min(MAX_CONCURRENCY);
        let (warm_up, counted) =
            (Duration::from_millis(self.warm_up), Duration::from_millis(self.counted));
        let timing = Timing { warm_up, measured: counted, rounds: 1 };
        let measured = load::measure((0..concurrency).map(poster).collect(), timing).await?;
        println!("{}", measured.per_second);
        Ok(())
    }
}

/// Runs the loop in a separate process and returns its rate.
pub(crate) async fn measure(
    receiver: &WebhookReceiver,
    webhooks: usize,
    timing: Timing,
) -> Result<Measurement> {
    let program = std::env::current_exe()
        .map_err(|error| format!("cannot find the path of this program: {error}"))?;
    let mut command = Command::new(program);
    command.arg("posting").args([receiver.address.to_string(), webhooks.to_string()]);
    command.args([timing.warm_up, timing.measured].map(|time| time.as_millis().to_string()));
    command.stdin(Stdio::null());
    let output = tokio::task::spawn_blocking(move || command.output()).await;
    let failed = |error: String| format!("the posting loop failed: {error}");
    let output = output.map_err(|error| failed(error.to_string()))?;
    let output = output.map_err(|error| failed(error.to_string()))?;
    let stdout = String::from_utf8_lossy(&output.stdout);
    let per_second = stdout.trim().parse();
    let stderr = |_| failed(String::from_utf8_lossy(&output.stderr).into_owned());
    let per_second = per_second.map_err(stderr)?;
    Ok(Measurement { per_second, p50: Duration::ZERO, p99: Duration::ZERO })
}

struct Poster {
    client: WebhookClient,
    url: String,
    secret: Secret,
    body: String,
}

impl Client for Poster {
    async fn run_once(&mut self) -> Result<()> {
        let (id, now) = ("ntf_01kbm2x5q8f7vr0n3hd9tzc4wy", kit::Clock::system().now());
        let mut headers = HeaderMap::new();
        let signature = self.secret.sign(id, now, self.body.as_bytes());
        for (name, value) in [
            ("webhook-id", id.to_owned()),
            ("webhook-timestamp", now.seconds().to_string()),
            ("webhook-signature", signature),
        ] {
            headers.insert(name, value.parse().map_err(|_| "a header value is invalid")?);
        }
        let body = Bytes::copy_from_slice(self.body.as_bytes());
        match self.client.post(&self.url, headers, body).await.result {
            Ok(200) => Ok(()),
            other => Err(format!("the receiver answered {other:?}")),
        }
    }
}

pub(crate) fn localhost_networks() -> Vec<ipnet::IpNet> {
    vec!["127.0.0.0/8".parse().expect("a network")]
}

/// The body of a notification about a new team.
pub(crate) fn notification_body(account: AccountId, sequence: i64, name: &str) -> String {
    let id = NotificationId::from_bits(sequence.unsigned_abs().into());
    let at = Timestamp::from_micros(1_788_600_000_000_000);
    format!(
        r#"{{"id":"{id}","type":"team.created","timestamp":"{at}","api_version":"v1","account_id":"{account}","sequence":{sequence},"data":{{"object":{{"object":"team","id":"team_01kbm2x5q8f7vr0n3hd9tzc4wy","name":"{name}","sport":"soccer","season":"2026/27","age_group":null,"gender":null,"timezone":"UTC","color":null,"description":null,"unique_jerseys":false,"roster_count":0,"status":"active","external_id":null,"metadata":{{}},"created_at":"{at}","updated_at":"{at}","version":1}},"previous":null}}}}"#
    )
}
