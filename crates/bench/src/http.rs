//! Just enough HTTP/1.1 for a load generator: requests as ready bytes, answers read to their end.
//!
//! The less the generator does, the more of the machine is left for what it measures. What it leaves
//! out it refuses: an answer without `Content-Length`, or with more behind it, is an error.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::Result;

/// The address of the teams.
pub(crate) const TEAMS: &str = "/api/public/v1/teams";
/// The address of the events.
pub(crate) const EVENTS: &str = "/api/public/v1/events";
/// Below this address lie the files that can be downloaded.
pub(crate) const EXPORTS: &str = "/api/public/v1/exports";

/// A request without a body.
pub(crate) fn get(path: &str, key: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n\r\n").into()
}

/// A request with a body; `more` are whole header lines.
pub(crate) fn send(method: &str, path: &str, key: &str, more: &str, body: &str) -> Vec<u8> {
    format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n{more}\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into()
}

/// An answer; the body lies in the connection until the next request.
pub(crate) struct Answer<'c> {
    pub(crate) status: u16,
    head: &'c [u8],
    pub(crate) body: &'c [u8],
}

impl<'c> Answer<'c> {
    /// A header of the answer.
    pub(crate) fn header(&self, name: &str) -> Option<&'c str> {
        let lines = std::str::from_utf8(self.head).ok()?.lines();
        let mut pairs = lines.filter_map(|line| line.split_once(':'));
        pairs.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
    }

    /// The body, if the status is the one that was expected.
    pub(crate) fn expect(self, status: u16) -> Result<&'c [u8]> {
        if self.status == status {
            return Ok(self.body);
        }
        let start = &self.body[..self.body.len().min(300)];
        let text = String::from_utf8_lossy(start);
        Err(format!("an answer was {} and not {status}: {text}", self.status))
    }
}

/// A connection that is kept open.
pub(crate) struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Connection {
    pub(crate) async fn open(address: SocketAddr) -> Result<Self> {
        let told = |error| format!("cannot connect to {address}: {error}");
        let stream = TcpStream::connect(address).await.map_err(told)?;
        stream.set_nodelay(true).map_err(told)?;
        Ok(Self { stream, buffer: vec![0; 32 * 1024] })
    }

    /// Sends a request and reads the whole answer.
    pub(crate) async fn ask(&mut self, request: &[u8]) -> Result<Answer<'_>> {
        let told = |error: std::io::Error| format!("a connection broke: {error}");
        self.stream.write_all(request).await.map_err(told)?;
        let mut filled = 0;
        let mut head = None;
        loop {
            if let Some(Head { status, length, body }) = head {
                let end: usize = body + length;
                if filled > end {
                    return Err("an answer has more than its length behind it".to_owned());
                }
                if filled == end {
                    let (head, body) = self.buffer[..end].split_at(body);
                    return Ok(Answer { status, head, body });
                }
                if self.buffer.len() < end {
                    self.buffer.resize(end, 0);
                }
            } else if filled == self.buffer.len() {
                return Err("the head of an answer is too long".to_owned());
            }
            let read = self.stream.read(&mut self.buffer[filled..]).await.map_err(told)?;
            if read == 0 {
                return Err("the server hung up".to_owned());
            }
            filled += read;
            if head.is_none() {
                head = Head::parse(&self.buffer[..filled])?;
            }
        }
    }
}

/// What matters of an answer's head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Head {
    status: u16,
    length: usize,
    /// Where the body begins.
    body: usize,
}

impl Head {
    /// `None` as long as its end has not come.
    fn parse(bytes: &[u8]) -> Result<Option<Self>> {
        let mut headers = [httparse::EMPTY_HEADER; 48];
        let mut response = httparse::Response::new(&mut headers);
        let parsed = response.parse(bytes).map_err(|error| format!("not HTTP: {error}"))?;
        let httparse::Status::Complete(body) = parsed else { return Ok(None) };
        let status = response.code.unwrap_or_default();
        let said = response
            .headers
            .iter()
            .find(|header| header.name.eq_ignore_ascii_case("content-length"))
            .and_then(|header| std::str::from_utf8(header.value).ok()?.parse().ok());
        // "You already have it" comes without a body, whatever length it names.
        let length = if status == 304 { Some(0) } else { said };
        let length = length.ok_or("an answer does not say its length")?;
        Ok(Some(Self { status, length, body }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::net::TcpListener;

    #[test]
    fn a_head_is_read_once_it_is_whole() {
        let text = b"HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n{}";
        assert_eq!(Head::parse(&text[..30]), Ok(None));
        let head = Head { status: 201, length: 2, body: text.len() - 2 };
        assert_eq!(Head::parse(text), Ok(Some(head)));
        assert!(Head::parse(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n").is_err());
        let known = Head::parse(b"HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n");
        assert_eq!(known.unwrap().unwrap().length, 0);
    }

    /// A server that sends these pieces, each on its own, to whatever it is asked.
    async fn answering(pieces: &'static [&'static str]) -> Connection {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut server = tokio::task::JoinSet::new();
        server.spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut asked = [0; 1024];
            while stream.read(&mut asked).await.is_ok_and(|read| read > 0) {
                for piece in pieces {
                    stream.write_all(piece.as_bytes()).await.unwrap();
                    tokio::time::sleep(std::time::Duration::from_millis(5)).await;
                }
            }
        });
        server.detach_all();
        Connection::open(address).await.unwrap()
    }

    #[tokio::test]
    async fn an_answer_in_pieces_is_put_together() {
        let pieces = &["HTTP/1.1 200 OK\r\nContent-", "Length: 5\r\n\r\nhe", "llo"];
        let mut connection = answering(pieces).await;
        for _ in 0..2 {
            let answer = connection.ask(&get("/", "key")).await.unwrap();
            assert_eq!((answer.header("content-length"), answer.header("etag")), (Some("5"), None));
            assert_eq!(answer.expect(200).unwrap(), b"hello");
        }
        assert!(connection.ask(b"GET").await.unwrap().expect(201).is_err());
    }

    #[tokio::test]
    async fn more_than_was_announced_is_refused() {
        let mut connection = answering(&["HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nno"]).await;
        assert!(connection.ask(&get("/", "key")).await.is_err());
    }
}
