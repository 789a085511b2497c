//! The HTTP client for webhook receivers. It resolves and checks the host on every connection, follows no redirects,
//! uses no proxy, keeps no cookies, decompresses nothing, reads only the beginning of a response and has a timeout.

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

use crate::address_policy::AddressPolicy;
use crate::config::Config;
use crate::outbound::{ConnectError, Connector};

/// The most bytes read of a response head, and of a response body.
const MAX_READ_BYTES: usize = 16 * 1024;
/// The most bytes of a response body that are stored.
const MAX_EXCERPT_BYTES: usize = 4 * 1024;
/// How long an idle connection is kept open for the next notification.
const IDLE_TIMEOUT: Duration = Duration::from_secs(15);
const AGENT: HeaderValue = HeaderValue::from_static("Touchline-Webhooks/1");

/// A receiver's response, or why there was none.
#[derive(Debug)]
pub struct ReceiverResponse {
    /// The status code, or the class of the error.
    pub result: Result<u16, &'static str>,
    /// The beginning of the body.
    pub excerpt: Option<String>,
    /// The `Retry-After` header, not parsed yet.
    pub retry_after: Option<String>,
    /// Whether the receiver asks for no more attempts of this notification (`webhook-delivery: abort-message`),
    /// whatever the status code.
    pub abort: bool,
    pub elapsed: Duration,
}

impl From<Result<u16, &'static str>> for ReceiverResponse {
    fn from(result: Result<u16, &'static str>) -> Self {
        let elapsed = Duration::ZERO;
        Self { result, excerpt: None, retry_after: None, abort: false, elapsed }
    }
}

/// Sends requests to receivers. Cheap to clone.
#[derive(Clone)]
pub struct Client {
    pool: Pool<Connector, Full<Bytes>>,
    connector: Connector,
}

impl Client {
    /// A client with the configured settings.
    pub fn new(config: &Config) -> Result<Self, String> {
        let guard = AddressPolicy::new(config.webhook_allow_cidrs.clone());
        // Trusts public certificate authorities and the one that the operator configured.
        let tls = store::tls::client_config(config.webhook_authority.as_deref());
        let tls = tls.map_err(|error| format!("webhook_authority: {error}"))?;
        Ok(Self::with_connector(Connector {
            guard: Some(Arc::new(guard)),
            tls: TlsConnector::from(Arc::new(tls)),
            timeout: config.webhook_timeout.0,
        }))
    }

    fn with_connector(connector: Connector) -> Self {
        let pool = Pool::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_TIMEOUT)
            .pool_max_idle_per_host(64)
            .http1_max_headers(100)
            .http1_max_buf_size(MAX_READ_BYTES)
            .retry_canceled_requests(true)
            .build(connector.clone());
        Self { pool, connector }
    }

    /// The same client with another timeout.
    #[must_use]
    pub fn with_timeout(self, timeout: Duration) -> Self {
        Self::with_connector(Connector { timeout, ..self.connector })
    }

    /// Sends a POST request with these headers and this body.
    pub async fn post(&self, url: &str, headers: HeaderMap, body: Bytes) -> ReceiverResponse {
        let started = Instant::now();
        let result = self.exchange(url, headers, body, started + self.connector.timeout).await;
        let response = result.unwrap_or_else(|class| Err(class).into());
        ReceiverResponse { elapsed: started.elapsed(), ..response }
    }

    async fn exchange(
        &self,
        url: &str,
        headers: HeaderMap,
        body: Bytes,
        deadline: Instant,
    ) -> Result<ReceiverResponse, &'static str> {
        let uri: Uri = url.parse().map_err(|_| "not_http")?;
        let mut request = Request::post(uri).body(Full::new(body)).map_err(|_| "not_http")?;
        *request.headers_mut() = headers;
        let headers = request.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        headers.insert(USER_AGENT, AGENT);
        let result = timeout_at(deadline, self.pool.request(request)).await;
        let response = result.map_err(|_| "timeout")?.map_err(|error| error_class(&error))?;
        let status = response.status().as_u16();
        let header = |name| response.headers().get(name).and_then(|value| value.to_str().ok());
        let retry_after = header(RETRY_AFTER.as_str()).map(str::to_owned);
        let abort = header("webhook-delivery") == Some("abort-message");
        // The status code counts even if reading the body fails or takes too long.
        let mut excerpt = Vec::new();
        let _ = timeout_at(deadline, read_excerpt(response.into_body(), &mut excerpt)).await;
        let excerpt = Some(printable(&excerpt)).filter(|excerpt| !excerpt.is_empty());
        Ok(ReceiverResponse { excerpt, retry_after, abort, ..Ok(status).into() })
    }
}

/// Reads the beginning of a response body. If there is more than the limit, the rest is not read and the connection is
/// closed.
async fn read_excerpt(mut body: Incoming, excerpt: &mut Vec<u8>) {
    let mut bytes_read = 0;
    while let Some(Ok(frame)) = body.frame().await {
        let Some(data) = frame.data_ref() else { continue };
        bytes_read += data.len();
        excerpt.extend_from_slice(&data[..data.len().min(MAX_EXCERPT_BYTES - excerpt.len())]);
        if bytes_read >= MAX_READ_BYTES {
            break;
        }
    }
}

/// The bytes as text that can be stored and shown, with control characters and invalid UTF-8 replaced.
fn printable(bytes: &[u8]) -> String {
    let is_printable = |c: char| !c.is_control() || c == '\n' || c == '\t';
    let replace = |c| if is_printable(c) { c } else { '\u{fffd}' };
    String::from_utf8_lossy(bytes).chars().map(replace).collect()
}

/// The class of an error, such as `timeout`. It reveals nothing about our network.
fn error_class(error: &legacy::Error) -> &'static str {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if let Some(ConnectError(class)) = error.downcast_ref() {
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
