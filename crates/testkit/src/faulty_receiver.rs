//! A webhook receiver that violates HTTP at the level of bytes, which an HTTP library would not do.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// What the receiver does after it has sent its first bytes.
#[derive(Debug, Clone)]
pub enum AfterResponse {
    /// Sends nothing more and keeps the connection open.
    Wait,
    /// Closes the connection.
    Close,
    /// Resets the connection (RST instead of FIN).
    Reset,
    /// Repeats these bytes forever, one byte at a time.
    Drip(Vec<u8>),
    /// Repeats these bytes forever, as fast as the peer reads.
    Flood(Vec<u8>),
}

#[derive(Default)]
struct Stats {
    connections: AtomicUsize,
    open: AtomicUsize,
    bytes_sent: AtomicUsize,
}

/// A receiver that reads a request, sends some bytes, and then misbehaves. Dropping it stops it.
pub struct FaultyReceiver {
    pub address: SocketAddr,
    stats: Arc<Stats>,
    serving: JoinHandle<()>,
}

impl FaultyReceiver {
    /// Starts a receiver that answers each request with these bytes.
    pub async fn start(response: impl Into<Vec<u8>>, then: AfterResponse) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stats, response) = (Arc::new(Stats::default()), Arc::new(response.into()));
        let shared = stats.clone();
        let serving = tokio::task::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                shared.connections.fetch_add(1, Ordering::SeqCst);
                shared.open.fetch_add(1, Ordering::SeqCst);
                let (response, then, stats) = (response.clone(), then.clone(), shared.clone());
                tokio::task::spawn(async move {
                    misbehave(stream, &response, then, &stats).await;
                    stats.open.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        Self { address, stats, serving }
    }

    /// The webhook URL.
    pub fn url(&self) -> String {
        format!("http://{}/hook", self.address)
    }

    /// The number of connections so far.
    pub fn connections(&self) -> usize {
        self.stats.connections.load(Ordering::SeqCst)
    }

    /// The number of bytes sent after the first response.
    pub fn bytes_sent(&self) -> usize {
        self.stats.bytes_sent.load(Ordering::SeqCst)
    }

    /// Waits until the peer has closed all connections; fails after 30 seconds.
    pub async fn wait_for_disconnect(&self) {
        for _ in 0..3000 {
            if self.stats.open.load(Ordering::SeqCst) == 0 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("the connection is still open");
    }
}

impl Drop for FaultyReceiver {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn misbehave(mut stream: TcpStream, response: &[u8], then: AfterResponse, stats: &Stats) {
    if read_request(&mut stream).await.is_none() || stream.write_all(response).await.is_err() {
        return;
    }
    match then {
        AfterResponse::Close => {}
        AfterResponse::Reset => stream.set_zero_linger().unwrap(),
        AfterResponse::Wait => while matches!(stream.read(&mut [0; 64]).await, Ok(1..)) {},
        AfterResponse::Drip(text) => {
            for byte in text.iter().cycle() {
                tokio::time::sleep(Duration::from_millis(5)).await;
                if stream.write_all(&[*byte]).await.is_err() {
                    return;
                }
                stats.bytes_sent.fetch_add(1, Ordering::SeqCst);
            }
        }
        AfterResponse::Flood(text) => {
            while let Ok(1..) = stream.write(&text).await {
                stats.bytes_sent.fetch_add(text.len(), Ordering::SeqCst);
            }
        }
    }
}

/// Reads one complete request. `None` if the connection ends first.
async fn read_request(stream: &mut TcpStream) -> Option<()> {
    let mut received = Vec::new();
    loop {
        let mut part = [0; 4096];
        let count = stream.read(&mut part).await.ok().filter(|count| *count > 0)?;
        received.extend_from_slice(&part[..count]);
        let mut headers = [httparse::EMPTY_HEADER; 32];
        let mut request = httparse::Request::new(&mut headers);
        if let Ok(httparse::Status::Complete(head)) = request.parse(&received) {
            let length = headers.iter().find(|one| one.name.eq_ignore_ascii_case("content-length"));
            let length = length.and_then(|one| std::str::from_utf8(one.value).ok()?.parse().ok());
            if received.len() >= head + length.unwrap_or(0_usize) {
                return Some(());
            }
        }
    }
}
