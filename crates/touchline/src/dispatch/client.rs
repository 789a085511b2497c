//! The client that speaks to receivers: it looks up and checks the machine each time it connects, follows no
//! redirect, uses no proxy, keeps no cookie, unpacks nothing, reads little and waits for nobody long.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT_ENCODING, CONTENT_TYPE, HeaderValue, RETRY_AFTER, USER_AGENT};
use http::{HeaderMap, Request, Uri};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::client::legacy::{self, Client as Pool};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use rustls::pki_types::{CertificateDer, ServerName, pem::PemObject};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tower::Service;

use crate::config::Config;
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
            guard: Arc::new(guard),
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

/// Why there is no connection.
#[derive(Debug)]
struct Refused(&'static str);

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for Refused {}

/// The way out: looks a name up, checks every machine it names, connects and encrypts.
#[derive(Clone)]
struct Doorway {
    guard: Arc<Guard>,
    tls: TlsConnector,
    patience: Duration,
}

impl Service<Uri> for Doorway {
    type Response = Line;
    type Error = Refused;
    type Future = Pin<Box<dyn Future<Output = Result<Line, Refused>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Refused>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        let way = self.clone();
        // A connection that nobody waits for any more ends in time, too.
        let connect = async move {
            let connected = timeout(way.patience, way.connect(&to)).await;
            connected.unwrap_or(Err(Refused("timeout")))
        };
        Box::pin(connect)
    }
}

impl Doorway {
    async fn connect(&self, to: &Uri) -> Result<Line, Refused> {
        let host = to.host().ok_or(Refused("not_http"))?;
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let encrypted = to.scheme_str() == Some("https");
        let port = to.port_u16().unwrap_or(if encrypted { 443 } else { 80 });
        let stream = self.reach(&host, port, encrypted).await?;
        // A notification is small and must not wait for more to be sent.
        let _ = stream.set_nodelay(true);
        if !encrypted {
            return Ok(Line(TokioIo::new(Wire::Plain(stream))));
        }
        let name = ServerName::try_from(host).map_err(|_| Refused("tls_failed"))?;
        let stream = self.tls.connect(name, stream).await.map_err(|_| Refused("tls_failed"))?;
        Ok(Line(TokioIo::new(Wire::Encrypted(Box::new(stream)))))
    }

    /// Connects to the first machine of that name that may be reached and answers.
    async fn reach(&self, host: &str, port: u16, encrypted: bool) -> Result<TcpStream, Refused> {
        let machines = tokio::net::lookup_host((host, port)).await;
        let machines: Vec<SocketAddr> = machines.map_err(|_| Refused("dns_failed"))?.collect();
        if machines.is_empty() {
            return Err(Refused("dns_failed"));
        }
        // One forbidden machine among them is enough: the name is not what it seems. What is not encrypted
        // goes only where the operator said it may.
        let fine = |machine: &SocketAddr| {
            if encrypted { self.guard.lets(machine.ip()) } else { self.guard.allows(machine.ip()) }
        };
        if !machines.iter().all(fine) {
            return Err(Refused("address_blocked"));
        }
        // One that does not answer leaves time for the others.
        let share = self.patience / u32::try_from(machines.len()).unwrap_or(u32::MAX);
        for machine in machines {
            if let Ok(Ok(stream)) = timeout(share, TcpStream::connect(machine)).await {
                return Ok(stream);
            }
        }
        Err(Refused("connection_failed"))
    }
}

/// Encryption that trusts public authorities, and the one the operator names.
fn encryption(config: &Config) -> Result<TlsConnector, String> {
    let mut trusted = rustls::RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    if let Some(path) = &config.webhook_authority {
        let told = |why: String| format!("webhook_authority: {}: {why}", path.display());
        let certificates = CertificateDer::pem_file_iter(path).map_err(|e| told(e.to_string()))?;
        for certificate in certificates {
            let certificate = certificate.map_err(|error| told(error.to_string()))?;
            trusted.add(certificate).map_err(|error| told(error.to_string()))?;
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(trusted)
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}

enum Wire {
    Plain(TcpStream),
    Encrypted(Box<TlsStream<TcpStream>>),
}

/// A connection to a receiver.
struct Line(TokioIo<Wire>);

impl Connection for Line {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
            Self::Encrypted(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Encrypted(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(context),
            Self::Encrypted(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Encrypted(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}

impl hyper::rt::Read for Line {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: hyper::rt::ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().0).poll_read(context, buffer)
    }
}

impl hyper::rt::Write for Line {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().0).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().0).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().0).poll_shutdown(context)
    }
}
