//! A TCP connection wrapped with what the HTTP library does not do:
//!
//! - It scans request heads for ambiguities ([`RequestHeads`]), which the library accepts.
//! - It replaces the error responses that the library writes without a request id by problem documents.
//! - After an error response it reads what the client still sends before it closes (a lingering close). Otherwise the
//!   connection is reset and the client may lose the response.
//! - It closes the connection of a client that does not read its response.
//! - It notices when the client of an endless stream disconnects.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep};

use super::request_head::RequestHeads;
use crate::error::{Code, Error};
use crate::web::app::App;

/// Whether the current response is an endless stream. A client may close its sending side after the request and still
/// wait for the response. If the response never ends, a client that closes has disconnected.
#[derive(Debug, Clone, Default)]
pub struct StreamingFlag(Arc<AtomicBool>);

impl StreamingFlag {
    /// Marks the current response as endless.
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Resets the mark at the start of the next request.
    pub fn clear(&self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// A TCP connection as described in the module documentation.
pub struct Connection {
    stream: TcpStream,
    app: App,
    heads: RequestHeads,
    streaming: StreamingFlag,
    /// The bytes that replace the library's own response, and how many of them were written.
    replacement: Option<(Vec<u8>, usize)>,
    /// Whether the last response was an error, so that the client may still be sending.
    error_sent: bool,
    /// When to stop reading from a client that got an error.
    linger_deadline: Option<Pin<Box<Sleep>>>,
    /// When to close the connection of a client that does not read its response.
    write_deadline: Option<Pin<Box<Sleep>>>,
}

/// How long a client that got an error may go on sending before the connection is closed.
const LINGER_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a response may make no progress.
const WRITE_TIMEOUT: Duration = Duration::from_secs(20);
/// The same during shutdown.
const SHUTDOWN_WRITE_TIMEOUT: Duration = Duration::from_secs(3);

impl Connection {
    pub fn new(stream: TcpStream, app: App, heads: RequestHeads, streaming: StreamingFlag) -> Self {
        Self {
            stream,
            app,
            heads,
            streaming,
            replacement: None,
            error_sent: false,
            linger_deadline: None,
            write_deadline: None,
        }
    }

    /// Returns the result of a write, or a timeout error if writing has made no progress for too long.
    fn with_write_timeout<T>(
        &mut self,
        cx: &mut Context<'_>,
        result: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if result.is_ready() {
            self.write_deadline = None;
            return result;
        }
        let deadline = self.write_deadline.get_or_insert_with(|| Box::pin(sleep(WRITE_TIMEOUT)));
        let shutdown_deadline = Instant::now() + SHUTDOWN_WRITE_TIMEOUT;
        if self.app.is_stopping() && deadline.deadline() > shutdown_deadline {
            deadline.as_mut().reset(shutdown_deadline);
        }
        deadline.as_mut().poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }

    /// Whether the client has closed its side. Peeks without consuming bytes.
    fn peer_closed(&self, cx: &mut Context<'_>) -> bool {
        let mut byte = [0];
        let peeked = self.stream.poll_peek(cx, &mut ReadBuf::new(&mut byte));
        matches!(peeked, Poll::Ready(Ok(0) | Err(_)))
    }

    /// Records whether the outgoing bytes begin an error response.
    fn inspect_response(&mut self, bytes: &[u8]) {
        if let Some(status) = bytes.strip_prefix(b"HTTP/1.1 ") {
            self.error_sent = matches!(status.first(), Some(b'4' | b'5'));
        }
    }

    fn write_replacement(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let Some((bytes, written)) = &mut self.replacement {
            *written += ready!(Pin::new(&mut self.stream).poll_write(cx, &bytes[*written..]))?;
            if *written == bytes.len() {
                self.replacement = None;
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Reads and discards what the client still sends, until it ends or the time is up. Closing with unread bytes
    /// resets the connection, and the client may lose the response.
    fn drain_request(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let deadline = self.linger_deadline.get_or_insert_with(|| Box::pin(sleep(LINGER_TIMEOUT)));
        let mut discarded = [0; 8 * 1024];
        while deadline.as_mut().poll(cx).is_pending() {
            let mut buf = ReadBuf::new(&mut discarded);
            match ready!(Pin::new(&mut self.stream).poll_read(cx, &mut buf)) {
                Ok(()) if !buf.filled().is_empty() => {}
                _ => break,
            }
        }
        Poll::Ready(())
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buf))?;
        self.heads.scan(&buf.filled()[before..]);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.inspect_response(buf);
        if self.replacement.is_none() {
            let Some(status) = library_error_status(buf) else {
                let result = Pin::new(&mut self.stream).poll_write(cx, buf);
                return self.with_write_timeout(cx, result);
            };
            self.replacement = Some((problem_response(status, &self.app), 0));
        }
        let result = self.write_replacement(cx).map_ok(|()| buf.len());
        self.with_write_timeout(cx, result)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let first = bufs.first().map_or(&[][..], |first| &first[..]);
        if self.replacement.is_some() || library_error_status(first).is_some() {
            return self.poll_write(cx, first);
        }
        self.inspect_response(first);
        let result = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.with_write_timeout(cx, result)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.streaming.0.load(Ordering::Relaxed) && self.peer_closed(cx) {
            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.linger_deadline.is_none() {
            ready!(Pin::new(&mut self.stream).poll_shutdown(cx))?;
        }
        if self.error_sent { self.drain_request(cx).map(Ok) } else { Poll::Ready(Ok(())) }
    }
}

/// The last two digits of the status of an error response that the library wrote itself. Such a response comes in one
/// piece, has no body, and lacks the `Request-Id` header that all our responses have.
fn library_error_status(bytes: &[u8]) -> Option<&str> {
    let text = bytes.strip_prefix(b"HTTP/1.1 4").filter(|_| bytes.ends_with(b"\r\n\r\n"))?;
    let ours = bytes.windows(11).any(|part| part.eq_ignore_ascii_case(b"request-id:"));
    let digits = text.get(..2).filter(|_| !ours)?;
    std::str::from_utf8(digits).ok()
}

fn problem_response(last_digits: &str, app: &App) -> Vec<u8> {
    let (status, detail) = match last_digits {
        "31" => (
            "431 Request Header Fields Too Large",
            "The request has too many headers, or they are too large. The limits are 100 headers and 32 KiB.",
        ),
        "14" => {
            ("414 URI Too Long", "The URL is too long. Send fewer or shorter query parameters.")
        }
        _ => ("400 Bad Request", "The request is not valid HTTP/1.1."),
    };
    let id = app.new_request_id().to_string();
    let error = Error::new(Code::InvalidRequest, detail);
    let mut problem = error.problem(&id);
    problem.status = status[..3].parse().unwrap_or(400);
    let body = serde_json::to_string(&problem).unwrap_or_default();
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/problem+json\r\ncontent-length: {length}\r\n\
         request-id: {id}\r\nconnection: close\r\n\r\n{body}"
    )
    .into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_error_responses_of_the_library_are_replaced() {
        assert_eq!(
            library_error_status(b"HTTP/1.1 431 X\r\ncontent-length: 0\r\n\r\n"),
            Some("31")
        );
        assert_eq!(library_error_status(b"HTTP/1.1 404 X\r\nRequest-Id: req_1\r\n\r\n"), None);
        assert_eq!(library_error_status(b"HTTP/1.1 200 OK\r\n\r\n"), None);
        assert_eq!(library_error_status(b"HTTP/1.1 400 Bad Request\r\n"), None);
    }
}
