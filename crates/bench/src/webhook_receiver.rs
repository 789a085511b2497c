//! A minimal webhook receiver: it counts requests, records when each arrived, and answers 200. Below `/hang` it never
//! answers; below `/slow` it answers after 12 seconds.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::Result;

const OK_RESPONSE: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
const SLOW_DELAY: Duration = Duration::from_secs(12);
/// The text in a body before the name of its team.
const NAME_PREFIX: &[u8] = br#""name":""#;

/// The requests that arrived.
#[derive(Default)]
pub(crate) struct ReceiverStats {
    pub(crate) count: AtomicU64,
    /// When the first notification of each team arrived, by team name; none while not recording.
    arrivals: Mutex<Option<HashMap<String, Instant>>>,
}

impl ReceiverStats {
    /// Starts to record arrival times.
    pub(crate) fn start_recording(&self) {
        *self.arrivals.lock().unwrap_or_else(PoisonError::into_inner) = Some(HashMap::new());
    }

    /// When the notification of this team arrived.
    pub(crate) fn arrival(&self, name: &str) -> Option<Instant> {
        let arrivals = self.arrivals.lock().unwrap_or_else(PoisonError::into_inner);
        arrivals.as_ref()?.get(name).copied()
    }

    fn record(&self, body: &[u8]) {
        self.count.fetch_add(1, Ordering::Relaxed);
        let mut arrivals = self.arrivals.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(arrivals) = arrivals.as_mut() else { return };
        let position = body.windows(NAME_PREFIX.len()).position(|part| part == NAME_PREFIX);
        let rest = position.map(|at| &body[at + NAME_PREFIX.len()..]).unwrap_or_default();
        let name = rest.split(|byte| *byte == b'"').next().unwrap_or_default();
        arrivals.entry(String::from_utf8_lossy(name).into_owned()).or_insert_with(Instant::now);
    }
}

/// A receiver. Dropping it stops it.
pub(crate) struct WebhookReceiver {
    pub(crate) address: SocketAddr,
    pub(crate) stats: Arc<ReceiverStats>,
    _serving: JoinSet<()>,
}

impl WebhookReceiver {
    pub(crate) async fn start() -> Result<Self> {
        let failed = |error: std::io::Error| format!("the webhook receiver failed: {error}");
        let listener = TcpListener::bind("127.0.0.1:0").await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let stats = Arc::new(ReceiverStats::default());
        let shared = stats.clone();
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(serve_connection(stream, shared.clone()));
                while connections.try_join_next().is_some() {}
            }
        });
        Ok(Self { address, stats, _serving: serving })
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn count(&self) -> u64 {
        self.stats.count.load(Ordering::Relaxed)
    }
}

/// Handles the requests of one connection.
async fn serve_connection(mut stream: TcpStream, stats: Arc<ReceiverStats>) {
    let _ = stream.set_nodelay(true);
    let (mut buffer, mut filled) = (vec![0; 64 * 1024], 0);
    loop {
        while let Some((head, length)) = parse_head(&buffer[..filled]) {
            if filled < head + length {
                break;
            }
            if buffer.starts_with(b"POST /hang") {
                std::future::pending::<()>().await;
            }
            if buffer.starts_with(b"POST /slow") {
                tokio::time::sleep(SLOW_DELAY).await;
            }
            stats.record(&buffer[head..head + length]);
            buffer.copy_within(head + length..filled, 0);
            filled -= head + length;
            if stream.write_all(OK_RESPONSE).await.is_err() {
                return;
            }
        }
        match stream.read(&mut buffer[filled..]).await {
            Ok(0) | Err(_) => return,
            Ok(read) => filled += read,
        }
    }
}

/// The offset and length of the body; `None` if the head is incomplete.
fn parse_head(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut headers = [httparse::EMPTY_HEADER; 32];
    let mut request = httparse::Request::new(&mut headers);
    let httparse::Status::Complete(head) = request.parse(bytes).ok()? else { return None };
    let length = request.headers.iter().find(|h| h.name.eq_ignore_ascii_case("content-length"))?;
    Some((head, std::str::from_utf8(length.value).ok()?.parse().ok()?))
}
