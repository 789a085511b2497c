//! A receiver of webhooks that does as little as it can: it counts, notes when each arrived, and says yes. Below
//! `/hang` it never answers, below `/slow` after a long while.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::Result;

const YES: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
const LONG: Duration = Duration::from_secs(12);
/// What stands in a body before the name of the team it is about.
const NAME: &[u8] = br#""name":""#;

/// What arrived.
#[derive(Default)]
pub(crate) struct Book {
    pub(crate) count: AtomicU64,
    /// When the news of a team of that name arrived first, while somebody wants to know.
    arrivals: Mutex<Option<HashMap<String, Instant>>>,
}

impl Book {
    /// Begins to note when news of which team arrive.
    pub(crate) fn note(&self) {
        *self.arrivals.lock().unwrap_or_else(PoisonError::into_inner) = Some(HashMap::new());
    }

    /// When the news of this team arrived.
    pub(crate) fn arrival(&self, name: &str) -> Option<Instant> {
        let arrivals = self.arrivals.lock().unwrap_or_else(PoisonError::into_inner);
        arrivals.as_ref()?.get(name).copied()
    }

    fn enter(&self, body: &[u8]) {
        self.count.fetch_add(1, Ordering::Relaxed);
        let mut arrivals = self.arrivals.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(arrivals) = arrivals.as_mut() else { return };
        let place = body.windows(NAME.len()).position(|part| part == NAME);
        let rest = place.map(|at| &body[at + NAME.len()..]).unwrap_or_default();
        let name = rest.split(|byte| *byte == b'"').next().unwrap_or_default();
        arrivals.entry(String::from_utf8_lossy(name).into_owned()).or_insert_with(Instant::now);
    }
}

/// A receiver, gone when it is dropped.
pub(crate) struct Sink {
    pub(crate) address: SocketAddr,
    pub(crate) book: Arc<Book>,
    _serving: JoinSet<()>,
}

impl Sink {
    pub(crate) async fn open() -> Result<Self> {
        let told = |error: std::io::Error| format!("the receiver: {error}");
        let listener = TcpListener::bind("127.0.0.1:0").await.map_err(told)?;
        let address = listener.local_addr().map_err(told)?;
        let book = Arc::new(Book::default());
        let shared = book.clone();
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(receive(stream, shared.clone()));
                while connections.try_join_next().is_some() {}
            }
        });
        Ok(Self { address, book, _serving: serving })
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn count(&self) -> u64 {
        self.book.count.load(Ordering::Relaxed)
    }
}

/// Takes requests of one connection until it ends.
async fn receive(mut stream: TcpStream, book: Arc<Book>) {
    let _ = stream.set_nodelay(true);
    let (mut buffer, mut filled) = (vec![0; 64 * 1024], 0);
    loop {
        while let Some((head, length)) = head(&buffer[..filled]) {
            if filled < head + length {
                break;
            }
            if buffer.starts_with(b"POST /hang") {
                std::future::pending::<()>().await;
            }
            if buffer.starts_with(b"POST /slow") {
                tokio::time::sleep(LONG).await;
            }
            book.enter(&buffer[head..head + length]);
            buffer.copy_within(head + length..filled, 0);
            filled -= head + length;
            if stream.write_all(YES).await.is_err() {
                return;
            }
        }
        match stream.read(&mut buffer[filled..]).await {
            Ok(0) | Err(_) => return,
            Ok(read) => filled += read,
        }
    }
}

/// Where the body begins and how long it is, once the whole head is there.
fn head(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut headers = [httparse::EMPTY_HEADER; 32];
    let mut request = httparse::Request::new(&mut headers);
    let httparse::Status::Complete(head) = request.parse(bytes).ok()? else { return None };
    let length = request.headers.iter().find(|h| h.name.eq_ignore_ascii_case("content-length"))?;
    Some((head, std::str::from_utf8(length.value).ok()?.parse().ok()?))
}
