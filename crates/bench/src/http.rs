//! A minimal HTTP/1.1 client for the load generator: requests are prepared bytes, responses are read completely.
//!
//! The less the generator does, the more of the machine is left for the service. Everything that it does not
//! implement is an error, such as a response without `Content-Length`.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use serde_json::Value;

use crate::Result;

/// The path of the teams.
pub(crate) const TEAMS: &str = "/api/public/v1/teams";
/// The path of the events.
pub(crate) const EVENTS: &str = "/api/public/v1/events";
/// The path of the CSV exports.
pub(crate) const EXPORTS: &str = "/api/public/v1/exports";

/// A request without a body.
pub(crate) fn get_request(path: &str, key: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n\r\n").into()
}

/// A request with a body; `headers` are complete header lines.
pub(crate) fn request_with_body(
    method: &str,
    path: &str,
    key: &str,
    headers: &str,
    body: &str,
) -> Vec<u8> {
    format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n{headers}\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into()
}

/// A response. It borrows the connection's buffer until the next request.
pub(crate) struct Response<'c> {
    pub(crate) status: u16,
    head: &'c [u8],
    pub(crate) body: &'c [u8],
}

impl<'c> Response<'c> {
    /// The value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&'c str> {
        let lines = std::str::from_utf8(self.head).ok()?.lines();
        let mut pairs = lines.filter_map(|line| line.split_once(':'));
        pairs.find(|(other, _)| other.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
    }

    /// The body; an error if the status differs.
    pub(crate) fn expect(self, status: u16) -> Result<&'c [u8]> {
        if self.status == status {
            return Ok(self.body);
        }
        let start = &self.body[..self.body.len().min(300)];
        let text = String::from_utf8_lossy(start);
        Err(format!("expected status {status}, got {}: {text}", self.status))
    }
}

/// A persistent connection.
pub(crate) struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Connection {
    pub(crate) async fn open(address: SocketAddr) -> Result<Self> {
        let failed = |error| format!("cannot connect to {address}: {error}");
        let stream = TcpStream::connect(address).await.map_err(failed)?;
        stream.set_nodelay(true).map_err(failed)?;
        Ok(Self { stream, buffer: vec![0; 32 * 1024] })
    }

    /// Sends a request and reads the complete response.
    pub(crate) async fn request(&mut self, request: &[u8]) -> Result<Response<'_>> {
        let failed = |error: std::io::Error| format!("a connection failed: {error}");
        self.stream.write_all(request).await.map_err(failed)?;
        let mut filled = 0;
        let mut head = None;
        loop {
            if let Some(Head { status, length, body }) = head {
                let end: usize = body + length;
                if filled > end {
                    return Err("a response is longer than its Content-Length".to_owned());
                }
                if filled == end {
                    let (head, body) = self.buffer[..end].split_at(body);
                    return Ok(Response { status, head, body });
                }
                if self.buffer.len() < end {
                    self.buffer.resize(end, 0);
                }
            } else if filled == self.buffer.len() {
                return Err("the head of a response is too long".to_owned());
            }
            let read = self.stream.read(&mut self.buffer[filled..]).await.map_err(failed)?;
            if read == 0 {
                return Err("the server closed the connection".to_owned());
            }
            filled += read;
            if head.is_none() {
                head = Head::parse(&self.buffer[..filled])?;
            }
        }
    }
}

/// The relevant parts of a response's head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Head {
    status: u16,
    length: usize,
    /// The offset of the body.
    body: usize,
}

impl Head {
    /// `None` if the head is incomplete.
    fn parse(bytes: &[u8]) -> Result<Option<Self>> {
        let mut headers = [httparse::EMPTY_HEADER; 48];
        let mut response = httparse::Response::new(&mut headers);
        let parsed =
            response.parse(bytes).map_err(|error| format!("the response is not HTTP: {error}"))?;
        let httparse::Status::Complete(body) = parsed else { return Ok(None) };
        let status = response.code.unwrap_or_default();
        let content_length = response
            .headers
            .iter()
            .find(|header| header.name.eq_ignore_ascii_case("content-length"))
            .and_then(|header| std::str::from_utf8(header.value).ok()?.parse().ok());
        // A 304 has no body, whatever its Content-Length is.
        let length = if status == 304 { Some(0) } else { content_length };
        let length = length.ok_or("a response has no Content-Length")?;
        Ok(Some(Self { status, length, body }))
    }
}

/// Sends a request and parses the response as JSON.
pub(crate) async fn request_json(
    connection: &mut Connection,
    request: &[u8],
    status: u16,
) -> Result<Value> {
    let body = connection.request(request).await?.expect(status)?;
    serde_json::from_slice(body).map_err(|error| format!("the response is not JSON: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::net::TcpListener;

    #[test]
    fn head_is_parsed_when_complete() {
        let text = b"HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n{}";
        assert_eq!(Head::parse(&text[..30]), Ok(None));
        let head = Head { status: 201, length: 2, body: text.len() - 2 };
        assert_eq!(Head::parse(text), Ok(Some(head)));
        assert!(Head::parse(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n").is_err());
        let not_modified = Head::parse(b"HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n");
        assert_eq!(not_modified.unwrap().unwrap().length, 0);
    }

    /// Connects to a server that answers every request with these pieces, sent one by one.
    async fn connect_to_server_with(pieces: &'static [&'static str]) -> Connection {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut server = tokio::task::JoinSet::new();
        server.spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = [0; 1024];
            while stream.read(&mut request).await.is_ok_and(|read| read > 0) {
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
    async fn response_in_pieces_is_assembled() {
        let pieces = &["HTTP/1.1 200 OK\r\nContent-", "Length: 5\r\n\r\nhe", "llo"];
        let mut connection = connect_to_server_with(pieces).await;
        for _ in 0..2 {
            let response = connection.request(&get_request("/", "key")).await.unwrap();
            let headers = (response.header("content-length"), response.header("etag"));
            assert_eq!(headers, (Some("5"), None));
            assert_eq!(response.expect(200).unwrap(), b"hello");
        }
        assert!(connection.request(b"GET").await.unwrap().expect(201).is_err());
    }

    #[tokio::test]
    async fn body_longer_than_content_length_is_an_error() {
        let mut connection =
            connect_to_server_with(&["HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nno"]).await;
        assert!(connection.request(&get_request("/", "key")).await.is_err());
    }
}
