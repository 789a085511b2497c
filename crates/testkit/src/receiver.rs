//! A receiver of webhooks on a real socket: takes down what it is sent and answers as it is told.

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

/// What a receiver was sent.
#[derive(Debug, Clone)]
pub struct Received {
    pub path: String,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Received {
    /// A header's text, empty if it is not there.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("notifications are JSON")
    }

    /// The notification's number in the log.
    pub fn sequence(&self) -> i64 {
        self.json()["sequence"].as_i64().expect("a notification of the log")
    }
}

/// How a receiver answers.
#[derive(Debug, Clone)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    pub body: Bytes,
    pub after: Duration,
}

impl Reply {
    /// The same answer with one more header.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    /// The same answer, given so much later.
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
struct Book {
    received: Vec<Received>,
    next: VecDeque<Reply>,
    always: Option<Reply>,
    /// Ends when answers may go.
    held: Option<watch::Receiver<()>>,
    /// The ids of what is being answered.
    at_once: Vec<String>,
    most_at_once: usize,
    doubles: usize,
}

/// One request that is being answered, or was hung up on.
struct Turn<'b> {
    book: &'b Mutex<Book>,
    id: String,
}

impl<'b> Turn<'b> {
    fn take(book: &'b Mutex<Book>, id: String) -> Self {
        let mut own = book.lock().unwrap();
        own.doubles += usize::from(own.at_once.contains(&id));
        own.at_once.push(id.clone());
        own.most_at_once = own.most_at_once.max(own.at_once.len());
        drop(own);
        Self { book, id }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut book = self.book.lock().unwrap();
        let place = book.at_once.iter().position(|id| *id == self.id).unwrap();
        book.at_once.swap_remove(place);
    }
}

/// As long as there is this, a receiver answers nobody: stories need not hope that it is slow enough.
#[must_use]
pub struct Held {
    _until_dropped: watch::Sender<()>,
}

/// A receiver, which stops when it is dropped.
pub struct Receiver {
    pub address: SocketAddr,
    encrypted: bool,
    book: Arc<Mutex<Book>>,
    serving: JoinHandle<()>,
}

impl Receiver {
    /// Starts a receiver that answers 200.
    pub async fn start() -> Self {
        Self::serve(None).await
    }

    /// Starts a receiver that is reached encrypted, and shows this certificate.
    pub async fn start_encrypted(config: ServerConfig) -> Self {
        Self::serve(Some(TlsAcceptor::from(Arc::new(config)))).await
    }

    async fn serve(tls: Option<TlsAcceptor>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let book = Arc::new(Mutex::new(Book::default()));
        let (shared, encrypted) = (book.clone(), tls.is_some());
        let serving = tokio::task::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (book, tls) = (shared.clone(), tls.clone());
                tokio::task::spawn(async move {
                    match tls {
                        None => converse(&book, stream).await,
                        Some(tls) => {
                            if let Ok(stream) = tls.accept(stream).await {
                                converse(&book, stream).await;
                            }
                        }
                    }
                });
            }
        });
        Self { address, encrypted, book, serving }
    }

    /// Where it is reached.
    pub fn url(&self) -> String {
        let scheme = if self.encrypted { "https" } else { "http" };
        format!("{scheme}://{}/hook", self.address)
    }

    /// Everything it was sent so far.
    pub fn received(&self) -> Vec<Received> {
        self.book.lock().unwrap().received.clone()
    }

    /// Answers like this from now on.
    pub fn always(&self, reply: impl Into<Reply>) {
        self.book.lock().unwrap().always = Some(reply.into());
    }

    /// Answers the next requests like this, one each.
    pub fn next(&self, replies: impl IntoIterator<Item = impl Into<Reply>>) {
        self.book.lock().unwrap().next.extend(replies.into_iter().map(Into::into));
    }

    /// Takes everything down from now on, but answers it only once what this gives back is dropped.
    pub fn hold(&self) -> Held {
        let (sender, held) = watch::channel(());
        self.book.lock().unwrap().held = Some(held);
        Held { _until_dropped: sender }
    }

    /// Answers what comes from now on; what is held stays held.
    pub fn answer_others(&self) {
        self.book.lock().unwrap().held = None;
    }

    /// How many requests there were at once, at most.
    pub fn most_at_once(&self) -> usize {
        self.book.lock().unwrap().most_at_once
    }

    /// How often it was sent something that it was just being sent.
    pub fn doubles(&self) -> usize {
        self.book.lock().unwrap().doubles
    }

    /// Waits until it was sent so many, at most thirty seconds.
    pub async fn wait_for(&self, count: usize) -> Vec<Received> {
        for _ in 0..3_000 {
            let received = self.received();
            if received.len() >= count {
                return received;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("{} of {count} notifications arrived", self.received().len());
    }

    /// Waits until it is answering nobody, at most thirty seconds.
    pub async fn wait_for_quiet(&self) {
        for _ in 0..3_000 {
            if self.book.lock().unwrap().at_once.is_empty() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("something is still being answered");
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn converse(book: &Mutex<Book>, stream: impl AsyncRead + AsyncWrite + Unpin) {
    let service = service_fn(|request| answer(book, request));
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

async fn answer(
    book: &Mutex<Book>,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (parts, body) = request.into_parts();
    let id = parts.headers.get("webhook-id").and_then(|id| id.to_str().ok()).unwrap_or_default();
    let _turn = Turn::take(book, id.to_owned());
    let body = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    let path = parts.uri.path().to_owned();
    let (reply, held) = {
        let mut book = book.lock().unwrap();
        book.received.push(Received { path, headers: parts.headers, body });
        let next = book.next.pop_front();
        let reply = next.or_else(|| book.always.clone()).unwrap_or_else(|| 200.into());
        (reply, book.held.clone())
    };
    if let Some(mut held) = held {
        // Nothing is ever sent: it ends with whoever holds it.
        while held.changed().await.is_ok() {}
    }
    tokio::time::sleep(reply.after).await;
    let mut response = Response::new(Full::new(reply.body));
    *response.status_mut() = reply.status.try_into().unwrap();
    for (name, value) in reply.headers {
        response.headers_mut().append(name, value.parse().unwrap());
    }
    Ok(response)
}
