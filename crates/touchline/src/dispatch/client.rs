//! The client that speaks to receivers: it looks up and checks the machine each time it connects, follows no
//! redirect, uses no proxy, keeps no cookie, unpacks nothing, reads little and waits for nobody long.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT_ENCODING, CONTENT_TYPE, HeaderValue, RETRY_AFTER, USER_AGENT};
use http::{HeaderMap, Request, Uri};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_util::client::legacy::{self, Client as Pool};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tokio::time::{Instant, timeout_at};
use tokio_rustls::TlsConnector;

use crate::config::Config;
use crate::doorway::{Doorway, Refused};
use crate::webhooks::guard::Guard;

/// As much of an answer as is read, its head included or not.
const READ: usize = 16 * 1024;
/// As much of an answer as is kept.
const KEPT: usize = 4 * 1024;
/// How long a connection is kept open for the next notification.
const IDLE: Duration = Duration::from_secs(15);
const AGENT: HeaderValue = HeaderValue::from_static("Touchline-Webhooks/1");

/// What a receiver answered, or why it did not.
#[derive(Debug)]
pub struct Answer {
    pub result: Result<u16, &'static str>,
    pub excerpt: Option<String>,
    /// How long it asks to be left in peace.
    pub retry_after: Option<String>,
    /// Whether it wants this notification no more, whatever it answered.
    pub unwanted: bool,
    pub took: Duration,
}

/// Speaks to receivers. Cheap to clone.
#[derive(Clone)]
pub struct Client {
    pool: Pool<Doorway, Full<Bytes>>,
    doorway: Doorway,
}

impl Client {
    /// The client as the settings want it.
    pub fn new(config: &Config) -> Result<Self, String> {
        let guard = Guard::new(config.webhook_allow_cidrs.clone());
        Ok(Self::with(Doorway {
            guard: Some(Arc::new(guard)),
            tls: encryption(config)?,
            patience: config.webhook_timeout.0,
        }))
    }

    fn with(doorway: Doorway) -> Self {
        let pool = Pool::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE)
            .pool_max_idle_per_host(64)
            .http1_max_headers(100)
            .http1_max_buf_size(READ)
            .retry_canceled_requests(true)
            .build(doorway.clone());
        Self { pool, doorway }
    }

    /// The same client, waiting this long for a receiver.
    #[must_use]
    pub fn patience(self, patience: Duration) -> Self {
        Self::with(Doorway { patience, ..self.doorway })
    }

    /// Sends a body with these headers, and says what came of it.
    pub async fn post(&self, to: &str, headers: HeaderMap, body: Bytes) -> Answer {
        let began = Instant::now();
        let answered = self.exchange(to, headers, body, began + self.doorway.patience).await;
        let mut answer = answered.unwrap_or_else(failed);
        answer.took = began.elapsed();
        answer
    }

    async fn exchange(
        &self,
        to: &str,
        headers: HeaderMap,
        body: Bytes,
        until: Instant,
    ) -> Result<Answer, &'static str> {
        let uri: Uri = to.parse().map_err(|_| "not_http")?;
        let mut request = Request::post(uri).body(Full::new(body)).map_err(|_| "not_http")?;
        *request.headers_mut() = headers;
        let own = request.headers_mut();
        own.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        own.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        own.insert(USER_AGENT, AGENT);
        let answered = timeout_at(until, self.pool.request(request)).await;
        let response = answered.map_err(|_| "timeout")?.map_err(|error| class(&error))?;
        let status = response.status().as_u16();
        let text = |name| response.headers().get(name).and_then(|value| value.to_str().ok());
        let retry_after = text(RETRY_AFTER.as_str()).map(str::to_owned);
        let unwanted = text("webhook-delivery") == Some("abort-message");
        // A receiver that said yes or no has said so, whatever becomes of the rest of its answer.
        let mut kept = Vec::new();
        let _ = timeout_at(until, read(response.into_body(), &mut kept)).await;
        let excerpt = Some(printable(&kept)).filter(|excerpt| !excerpt.is_empty());
        Ok(Answer { result: Ok(status), excerpt, retry_after, unwanted, took: Duration::ZERO })
    }
}

fn failed(error: &'static str) -> Answer {
    let result = Err(error);
    Answer { result, excerpt: None, retry_after: None, unwanted: false, took: Duration::ZERO }
}

/// Reads an answer as far as it is read at all; what is beyond is left, and the connection closed.
async fn read(mut body: Incoming, kept: &mut Vec<u8>) {
    let mut read = 0;
    while let Some(Ok(frame)) = body.frame().await {
        let Some(data) = frame.data_ref() else { continue };
        read += data.len();
        kept.extend_from_slice(&data[..data.len().min(KEPT - kept.len())]);
        if read >= READ {
            break;
        }
    }
}

/// Text that can be kept and shown, whatever the receiver sent.
fn printable(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.chars()
        .map(|c| if c.is_control() && c != '\n' && c != '\t' { '\u{fffd}' } else { c })
        .collect()
}

/// Why an attempt failed, in one word, and nothing of our network.
fn class(error: &legacy::Error) -> &'static str {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if let Some(Refused(class)) = error.downcast_ref() {
            return class;
        }
        if let Some(error) = error.downcast_ref::<hyper::Error>()
            && error.is_parse()
        {
            return "not_http";
        }
        cause = error.source();
    }
    if error.is_connect() { "connection_failed" } else { "connection_lost" }
}

/// Encryption that trusts public authorities, and the one the operator names.
fn encryption(config: &Config) -> Result<TlsConnector, String> {
    let trusting = store::tls::trusting(config.webhook_authority.as_deref());
    let trusting = trusting.map_err(|fault| format!("webhook_authority: {fault}"))?;
    Ok(TlsConnector::from(Arc::new(trusting)))
}
