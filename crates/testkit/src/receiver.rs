//! A webhook receiver on a real socket. It records requests and sends configurable replies.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rustls::ServerConfig;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

/// A request that the receiver got.
#[derive(Debug, Clone)]
pub struct ReceivedRequest {
    pub path: String,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl ReceivedRequest {
    /// A header's value; empty if it is missing.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("notifications are JSON")
    }

    /// The sequence number of the notification in the log.
    pub fn sequence(&self) -> i64 {
        self.json()["sequence"].as_i64().expect("a notification of the log")
    }
}

/// A configured reply.
#[derive(Debug, Clone)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    pub body: Bytes,
    pub after: Duration,
}

impl Reply {
    /// The same reply with one more header.
    #[must_use]
    pub fn with_header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    /// The same reply, sent after a delay.
    #[must_use]
    pub fn after(self, after: Duration) -> Self {
        Self { after, ..self }
    }
}

impl From<u16> for Reply {
    fn from(status: u16) -> Self {
        Self { status, headers: Vec::new(), body: Bytes::new(), after: Duration::ZERO }
    }
}

#[derive(Default)]
struct State {
    received: Vec<ReceivedRequest>,
    queued_replies: VecDeque<Reply>,
    default_reply: Option<Reply>,
    /// While set, replies wait until its sender is dropped.
    hold: Option<watch::Receiver<()>>,
    /// The webhook ids of the requests in flight.
    in_flight: Vec<String>,
    max_in_flight: usize,
    duplicates_in_flight: usize,
}

/// Counts one request as in flight until it is dropped.
struct InFlightRequest<'b> {
    state: &'b Mutex<State>,
    id: String,
}

impl<'b> InFlightRequest<'b> {
    fn start(state: &'b Mutex<State>, id: String) -> Self {
        let mut locked = state.lock().unwrap();
        locked.duplicates_in_flight += usize::from(locked.in_flight.contains(&id));
        locked.in_flight.push(id.clone());
        locked.max_in_flight = locked.max_in_flight.max(locked.in_flight.len());
        drop(locked);
        Self { state, id }
    }
}

impl Drop for InFlightRequest<'_> {
    fn drop(&mut self) {
        let mut state = self.state.lock().unwrap();
        let index = state.in_flight.iter().position(|id| *id == self.id).unwrap();
        state.in_flight.swap_remove(index);
    }
}

/// While this guard exists, the receiver does not reply. Tests need no sleep to keep requests in flight.
#[must_use]
pub struct HoldGuard {
    _until_dropped: watch::Sender<()>,
}

/// A webhook receiver. Dropping it stops it.
pub struct Receiver {
    pub address: SocketAddr,
    encrypted: bool,
    state: Arc<Mutex<State>>,
    serving: JoinHandle<()>,
}

impl Receiver {
    /// Starts a receiver that replies 200.
    pub async fn start() -> Self {
        Self::serve(None).await
    }

    /// Starts a receiver with TLS.
    pub async fn start_encrypted(config: ServerConfig) -> Self {
        Self::serve(Some(TlsAcceptor::from(Arc::new(config)))).await
    }

    async fn serve(tls: Option<TlsAcceptor>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(Mutex::new(State::default()));
        let (shared, encrypted) = (state.clone(), tls.is_some());
        let serving = tokio::task::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (state, tls) = (shared.clone(), tls.clone());
                tokio::task::spawn(async move {
                    match tls {
                        None => serve_connection(&state, stream).await,
                        Some(tls) => {
                            if let Ok(stream) = tls.accept(stream).await {
                                serve_connection(&state, stream).await;
                            }
                        }
                    }
                });
            }
        });
        Self { address, encrypted, state, serving }
    }

    /// The webhook URL.
    pub fn url(&self) -> String {
        let scheme = if self.encrypted { "https" } else { "http" };
        format!("{scheme}://{}/hook", self.address)
    }

    /// All requests so far.
    pub fn received(&self) -> Vec<ReceivedRequest> {
        self.state.lock().unwrap().received.clone()
    }

    /// Sets the reply to all further requests.
    pub fn set_reply(&self, reply: impl Into<Reply>) {
        self.state.lock().unwrap().default_reply = Some(reply.into());
    }

    /// Queues replies to the next requests, one each.
    pub fn queue_replies(&self, replies: impl IntoIterator<Item = impl Into<Reply>>) {
        self.state.lock().unwrap().queued_replies.extend(replies.into_iter().map(Into::into));
    }

    /// Records requests but holds their replies until the returned guard is dropped.
    pub fn hold_replies(&self) -> HoldGuard {
        let (sender, hold) = watch::channel(());
        self.state.lock().unwrap().hold = Some(hold);
        HoldGuard { _until_dropped: sender }
    }

    /// Replies to further requests; replies that are already held stay held.
    pub fn stop_holding(&self) {
        self.state.lock().unwrap().hold = None;
    }

    /// The highest number of concurrent requests so far.
    pub fn max_in_flight(&self) -> usize {
        self.state.lock().unwrap().max_in_flight
    }

    /// How many requests arrived while one with the same webhook id was in flight.
    pub fn duplicates_in_flight(&self) -> usize {
        self.state.lock().unwrap().duplicates_in_flight
    }

    /// Waits until it has received this many requests; fails after 30 seconds.
    pub async fn wait_for(&self, count: usize) -> Vec<ReceivedRequest> {
        for _ in 0..3_000 {
            let received = self.received();
            if received.len() >= count {
                return received;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("{} of {count} notifications arrived", self.received().len());
    }

    /// Waits until no request is in flight; fails after 30 seconds.
    pub async fn wait_until_idle(&self) {
        for _ in 0..3_000 {
            if self.state.lock().unwrap().in_flight.is_empty() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("requests are still in flight");
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn serve_connection(state: &Mutex<State>, stream: impl AsyncRead + AsyncWrite + Unpin) {
    let service = service_fn(|request| answer(state, request));
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

async fn answer(
    state: &Mutex<State>,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (parts, body) = request.into_parts();
    let id = parts.headers.get("webhook-id").and_then(|id| id.to_str().ok()).unwrap_or_default();
    let _in_flight = InFlightRequest::start(state, id.to_owned());
    let body = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    let path = parts.uri.path().to_owned();
    let (reply, hold) = {
        let mut state = state.lock().unwrap();
        state.received.push(ReceivedRequest { path, headers: parts.headers, body });
        let queued = state.queued_replies.pop_front();
        let reply = queued.or_else(|| state.default_reply.clone()).unwrap_or_else(|| 200.into());
        (reply, state.hold.clone())
    };
    if let Some(mut hold) = hold {
        // Nothing is ever sent on this channel; it closes when the guard is dropped.
        while hold.changed().await.is_ok() {}
    }
    tokio::time::sleep(reply.after).await;
    let mut response = Response::new(Full::new(reply.body));
    *response.status_mut() = reply.status.try_into().unwrap();
    for (name, value) in reply.headers {
        response.headers_mut().append(name, value.parse().unwrap());
    }
    Ok(response)
}
