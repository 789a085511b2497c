//! Receivers that misbehave, byte by byte, where a server of HTTP would be too polite.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// What a receiver does after its first words.
#[derive(Debug, Clone)]
pub enum Then {
    /// Nothing, for as long as the other side has patience.
    Wait,
    /// Hangs up.
    Close,
    /// Hangs up so that the other side notices an error.
    Reset,
    /// Says this again and again, one byte at a time.
    Drip(Vec<u8>),
    /// Says this again and again, as fast as it is taken.
    Flood(Vec<u8>),
}

#[derive(Default)]
struct Tally {
    connections: AtomicUsize,
    open: AtomicUsize,
    said: AtomicUsize,
}

/// A receiver that reads a request, says something, and then misbehaves. It stops when it is dropped.
pub struct Rough {
    pub address: SocketAddr,
    tally: Arc<Tally>,
    serving: JoinHandle<()>,
}

impl Rough {
    /// Starts a receiver with these first words.
    pub async fn start(words: impl Into<Vec<u8>>, then: Then) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (tally, words) = (Arc::new(Tally::default()), Arc::new(words.into()));
        let shared = tally.clone();
        let serving = tokio::task::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                shared.connections.fetch_add(1, Ordering::SeqCst);
                shared.open.fetch_add(1, Ordering::SeqCst);
                let (words, then, tally) = (words.clone(), then.clone(), shared.clone());
                tokio::task::spawn(async move {
                    misbehave(stream, &words, then, &tally).await;
                    tally.open.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        Self { address, tally, serving }
    }

    /// Where it is reached.
    pub fn url(&self) -> String {
        format!("http://{}/hook", self.address)
    }

    /// How often somebody connected.
    pub fn connections(&self) -> usize {
        self.tally.connections.load(Ordering::SeqCst)
    }

    /// How many bytes it could say.
    pub fn said(&self) -> usize {
        self.tally.said.load(Ordering::SeqCst)
    }

    /// Waits until the other side has hung up, however busy the machine is.
    pub async fn left(&self) {
        for _ in 0..3000 {
            if self.tally.open.load(Ordering::SeqCst) == 0 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("the connection is still open");
    }
}

impl Drop for Rough {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn misbehave(mut stream: TcpStream, words: &[u8], then: Then, tally: &Tally) {
    if hear(&mut stream).await.is_none() || stream.write_all(words).await.is_err() {
        return;
    }
    match then {
        Then::Close => {}
        Then::Reset => stream.set_zero_linger().unwrap(),
        Then::Wait => while matches!(stream.read(&mut [0; 64]).await, Ok(1..)) {},
        Then::Drip(text) => {
            for byte in text.iter().cycle() {
                tokio::time::sleep(Duration::from_millis(5)).await;
                if stream.write_all(&[*byte]).await.is_err() {
                    return;
                }
                tally.said.fetch_add(1, Ordering::SeqCst);
            }
        }
        Then::Flood(text) => {
            while let Ok(1..) = stream.write(&text).await {
                tally.said.fetch_add(text.len(), Ordering::SeqCst);
            }
        }
    }
}

/// Reads one request to its end.
async fn hear(stream: &mut TcpStream) -> Option<()> {
    let mut heard = Vec::new();
    loop {
        let mut part = [0; 4096];
        let count = stream.read(&mut part).await.ok().filter(|count| *count > 0)?;
        heard.extend_from_slice(&part[..count]);
        let mut headers = [httparse::EMPTY_HEADER; 32];
        let mut request = httparse::Request::new(&mut headers);
        if let Ok(httparse::Status::Complete(head)) = request.parse(&heard) {
            let length = headers.iter().find(|one| one.name.eq_ignore_ascii_case("content-length"));
            let length = length.and_then(|one| std::str::from_utf8(one.value).ok()?.parse().ok());
            if heard.len() >= head + length.unwrap_or(0_usize) {
                return Some(());
            }
        }
    }
}
